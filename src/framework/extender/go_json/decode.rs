//! Reads a value that is known to be well formed (`decode.go` of `encoding/json`).

use serde_json::{Map, Value};

use super::text::{is_name, unquote};
use super::{GoField, GoStruct, GoType, time};
use crate::api::Quantity;
use crate::api::quantity::QuantityReason;

/// Reads a value.
pub(super) fn decode(text: &str, ty: &GoType) -> Result<Value, String> {
    let mut decoder = Decoder { text, at: 0, context: Context::default(), saved: None };
    let mut value = Value::Null;
    // An error that ends the reading goes before the ones that were noted on the way.
    decoder.value(&mut value, ty)?;
    decoder.saved.map_or(Ok(value), Err)
}

/// Where in the types the reader is.
#[derive(Default)]
struct Context {
    /// The innermost struct; empty outside of all structs.
    name: &'static str,
    /// The fields from the outside to the inside. Elements of arrays and maps leave no trace.
    fields: Vec<&'static str>,
}

struct Decoder<'a> {
    text: &'a str,
    at: usize,
    context: Context,
    /// The first value of a wrong type.
    saved: Option<String>,
}

impl<'a> Decoder<'a> {
    fn skip_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    /// The next byte; 0 at the end, where a well-formed text is never asked.
    fn peek(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// Goes to the end of the value that begins here and returns it.
    fn take(&mut self) -> &'a str {
        let start = self.at;
        let mut depth = 0usize;
        loop {
            match self.peek() {
                b'{' | b'[' => {
                    depth += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    self.at += 1;
                }
                b'"' => self.string(),
                0 => break,
                b' ' | b'\t' | b'\r' | b'\n' | b',' | b':' => self.at += 1,
                _ => self.word(),
            }
            if depth == 0 {
                break;
            }
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn string(&mut self) {
        self.at += 1;
        loop {
            match self.peek() {
                b'"' | 0 => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
    }

    fn word(&mut self) {
        while matches!(self.peek(), b'-' | b'+' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'E') {
            self.at += 1;
        }
    }

    /// Reads the value that begins here into the place.
    fn value(&mut self, place: &mut Value, ty: &GoType) -> Result<(), String> {
        let first = self.peek();
        if let GoType::Pointer(to) = ty {
            if first == b'n' {
                self.take();
                *place = Value::Null;
                return Ok(());
            }
            return self.value(place, to);
        }
        match (first, ty) {
            (_, GoType::Quantity | GoType::Time | GoType::Anything) => {
                *place = self.by_itself(ty)?;
                Ok(())
            }
            (b'[', GoType::Slice(_, element)) => self.array(place, element),
            (b'{', GoType::Map(_, element)) => self.map(place, element),
            (b'{', GoType::Struct(of)) => self.object(place, of),
            (b'[', _) => {
                self.wrong("array", ty);
                Ok(())
            }
            (b'{', _) => {
                self.wrong("object", ty);
                Ok(())
            }
            _ => {
                self.literal(place, ty);
                Ok(())
            }
        }
    }

    /// Goes past the value that begins here and notes that its type is wrong.
    fn wrong(&mut self, value: &str, ty: &GoType) {
        self.take();
        self.save(value, ty.name());
    }

    fn save(&mut self, value: &str, ty: &str) {
        if self.saved.is_none() {
            self.saved = Some(self.type_error(value, ty));
        }
    }

    /// `UnmarshalTypeError.Error`.
    fn type_error(&self, value: &str, ty: &str) -> String {
        if self.context.fields.is_empty() {
            return format!("json: cannot unmarshal {value} into Go value of type {ty}");
        }
        let field = self.context.fields.join(".");
        format!(
            "json: cannot unmarshal {value} into Go struct field {}.{field} of type {ty}",
            self.context.name
        )
    }

    fn literal(&mut self, place: &mut Value, ty: &GoType) {
        let item = self.take();
        match (item.as_bytes().first(), ty) {
            // Only what can be nil is emptied.
            (Some(b'n'), GoType::Slice(..) | GoType::Map(..)) => *place = Value::Null,
            (Some(b'n'), _) => {}
            (Some(b't' | b'f'), GoType::Bool) => *place = Value::Bool(item == "true"),
            (Some(b't' | b'f'), _) => self.save("bool", ty.name()),
            (Some(b'"'), GoType::Text(_)) => *place = Value::String(unquote(item)),
            (Some(b'"'), _) => self.save("string", ty.name()),
            (_, GoType::Int32) if item.parse::<i32>().is_ok() => *place = number(item),
            (_, GoType::Int64) if item.parse::<i64>().is_ok() => *place = number(item),
            (_, GoType::Int32 | GoType::Int64) => self.save(&format!("number {item}"), ty.name()),
            _ => self.save("number", ty.name()),
        }
    }

    fn array(&mut self, place: &mut Value, element: &GoType) -> Result<(), String> {
        if !place.is_array() {
            *place = Value::Array(Vec::new());
        }
        let Value::Array(elements) = place else { return Ok(()) };
        let mut count = 0;
        self.at += 1;
        self.skip_space();
        while self.peek() != b']' {
            // An array that came before in the same place is written over, element by element.
            if elements.len() == count {
                elements.push(empty(element));
            }
            if let Some(slot) = elements.get_mut(count) {
                self.value(slot, element)?;
            }
            count += 1;
            self.separator();
        }
        self.at += 1;
        elements.truncate(count);
        Ok(())
    }

    /// Goes past a comma, if there is one here, and the white space around it.
    fn separator(&mut self) {
        self.skip_space();
        if self.peek() == b',' {
            self.at += 1;
            self.skip_space();
        }
    }

    fn key(&mut self) -> String {
        let key = unquote(self.take());
        self.skip_space();
        self.at += 1;
        self.skip_space();
        key
    }

    fn map(&mut self, place: &mut Value, element: &GoType) -> Result<(), String> {
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        let Value::Object(entries) = place else { return Ok(()) };
        self.at += 1;
        self.skip_space();
        while self.peek() != b'}' {
            let key = self.key();
            let mut value = empty(element);
            self.value(&mut value, element)?;
            entries.insert(key, value);
            self.separator();
        }
        self.at += 1;
        Ok(())
    }

    fn object(&mut self, place: &mut Value, of: &'static GoStruct) -> Result<(), String> {
        if !place.is_object() {
            *place = empty_struct(of);
        }
        let Value::Object(members) = place else { return Ok(()) };
        self.at += 1;
        self.skip_space();
        while self.peek() != b'}' {
            let key = self.key();
            match find(of, &key) {
                Some(field) => {
                    let (name, depth) = (self.context.name, self.context.fields.len());
                    self.context.name = of.name;
                    if !field.embedded.is_empty() {
                        self.context.fields.push(field.embedded);
                    }
                    self.context.fields.push(field.name);
                    let slot = members.entry(field.name).or_insert(Value::Null);
                    self.value(slot, field.ty)?;
                    self.context.fields.truncate(depth);
                    self.context.name = name;
                }
                None => {
                    self.take();
                }
            }
            self.separator();
        }
        self.at += 1;
        Ok(())
    }

    /// A value of a type that reads itself. What is wrong with it ends the reading.
    fn by_itself(&mut self, ty: &GoType) -> Result<Value, String> {
        let item = self.take();
        match ty {
            _ if item == "null" => Ok(Value::Null),
            GoType::Quantity => quantity(item),
            GoType::Time => {
                let value = match item.as_bytes().first() {
                    Some(b'"') => {
                        return time::normalize(&unquote(item)).map(Value::String);
                    }
                    Some(b'[') => "array",
                    Some(b'{') => "object",
                    Some(b't' | b'f') => "bool",
                    _ => "number",
                };
                Err(self.type_error(value, "string"))
            }
            _ => Ok(Value::Null),
        }
    }
}

fn number(item: &str) -> Value {
    item.parse::<i64>().map_or(Value::Null, Value::from)
}

/// `Quantity.UnmarshalJSON`: escapes are not resolved.
fn quantity(item: &str) -> Result<Value, String> {
    let text = item.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(item).trim();
    match text.parse::<Quantity>() {
        Ok(_) => Ok(Value::String(text.to_owned())),
        Err(error) => Err(match error.reason {
            QuantityReason::Format => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            QuantityReason::Number => "unable to parse numeric part of quantity",
            QuantityReason::Suffix(_) => "unable to parse quantity's suffix",
        }
        .to_owned()),
    }
}

/// The field that a key is for: that of the same name, or else in whichever case.
fn find(of: &'static GoStruct, key: &str) -> Option<&'static GoField> {
    let exact = of.fields.iter().find(|field| field.name == key);
    exact.or_else(|| of.fields.iter().find(|field| is_name(key, field.name)))
}

fn empty(ty: &GoType) -> Value {
    match ty {
        GoType::Text(_) => Value::String(String::new()),
        GoType::Struct(of) => empty_struct(of),
        _ => Value::Null,
    }
}

/// A struct in which nothing is set: its texts are there.
fn empty_struct(of: &GoStruct) -> Value {
    let texts = of.fields.iter().filter(|field| matches!(field.ty, GoType::Text(_)));
    Value::Object(texts.map(|field| (field.name.to_owned(), empty(field.ty))).collect())
}
