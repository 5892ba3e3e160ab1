//! Values as objects: a serde deserializer over the values of one object.
//!
//! It follows Go's decoder where that differs from what Rust does by itself: `null` is the empty value of every
//! type, and an unquoted number or boolean is not text. An error knows its path and its place.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Visitor,
    value::StrDeserializer,
};
use serde::forward_to_deserialize_any;

use super::error::Segment;
use super::scalar::{Scalar, resolve};
use super::tree::{Node, Value};

/// Why a value cannot be read as what it is to be.
#[derive(Debug)]
pub(super) struct DecodeError {
    pub reason: String,
    /// From the inside to the outside.
    pub path: Vec<Segment>,
    /// Byte offset in the source.
    pub offset: Option<usize>,
}

impl DecodeError {
    fn at(mut self, offset: usize) -> Self {
        self.offset.get_or_insert(offset);
        self
    }

    fn inside(mut self, segment: Segment) -> Self {
        self.path.push(segment);
        self
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for DecodeError {}

impl serde::de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { reason: message.to_string(), path: Vec::new(), offset: None }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::custom(format_args!("the field {field:?} is missing"))
    }

    fn invalid_type(found: serde::de::Unexpected<'_>, expected: &dyn serde::de::Expected) -> Self {
        Self::custom(format_args!("{expected} is expected here, not {found}"))
    }
}

/// A value to read.
#[derive(Clone, Copy)]
pub(super) struct Decoder<'t, 'a> {
    nodes: &'t [Node<'a>],
    index: usize,
}

/// Stands for a value that is not there; never seen with a complete tree.
static NOTHING: Value<'static> = Value::Plain(std::borrow::Cow::Borrowed(""));

impl<'t, 'a> Decoder<'t, 'a> {
    /// The value at `index`.
    pub(super) const fn new(nodes: &'t [Node<'a>], index: usize) -> Self {
        Self { nodes, index }
    }

    fn value(self) -> &'t Value<'a> {
        self.nodes.get(self.index).map_or(&NOTHING, |node| &node.value)
    }

    fn start(self) -> usize {
        self.nodes.get(self.index).map_or(0, |node| node.start as usize)
    }

    fn end(self) -> usize {
        self.nodes.get(self.index).map_or(0, |node| node.end as usize)
    }

    fn is_null(self) -> bool {
        matches!(self.value(), Value::Plain(text) if resolve(text) == Scalar::Null)
    }

    fn error(self, reason: impl fmt::Display) -> DecodeError {
        DecodeError::custom(reason).at(self.start())
    }

    /// The error of a value of the wrong type.
    fn not(self, expected: &str) -> DecodeError {
        self.error(format_args!("{expected} is expected here, not {}", describe(self.value())))
    }

    fn map<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor
            .visit_map(Entries { nodes: self.nodes, next: self.index + 1, end: self.end(), key: "" })
            .map_err(|error| error.at(self.start()))
    }

    fn seq<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor
            .visit_seq(Items { nodes: self.nodes, next: self.index + 1, end: self.end(), position: 0 })
            .map_err(|error| error.at(self.start()))
    }

    fn text<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value() {
            Value::Text(text) => visitor.visit_str(text),
            Value::Plain(text) => match resolve(text) {
                Scalar::Text => visitor.visit_str(text),
                Scalar::Null => visitor.visit_str(""),
                Scalar::Bool(_) => {
                    return Err(self.error(format_args!(
                        "text is expected here, and {text} without quotes is a boolean: write \"{text}\""
                    )));
                }
                _ => {
                    return Err(self.error(format_args!(
                        "text is expected here, and {text} without quotes is a number: write \"{text}\""
                    )));
                }
            },
            Value::Map | Value::Seq => return Err(self.not("text")),
        }
        .map_err(|error: DecodeError| error.at(self.start()))
    }

    fn boolean(self) -> Result<bool, DecodeError> {
        match self.value() {
            Value::Plain(text) => match resolve(text) {
                Scalar::Bool(value) => Ok(value),
                Scalar::Null => Ok(false),
                _ => Err(self.not("true or false")),
            },
            Value::Text(text) if matches!(resolve(text), Scalar::Bool(_)) => {
                Err(self.error(format_args!("true or false is expected here: write {text} without quotes")))
            }
            _ => Err(self.not("true or false")),
        }
    }

    /// A whole number within bounds. A float without a fraction is one too: it has passed through JSON.
    fn whole(self, min: i64, max: i64) -> Result<i64, DecodeError> {
        const EXPECTED: &str = "a whole number";
        let text = match self.value() {
            Value::Plain(text) => text,
            Value::Text(text) if matches!(resolve(text), Scalar::Int(_)) => {
                return Err(
                    self.error(format_args!("{EXPECTED} is expected here: write {text} without quotes"))
                );
            }
            _ => return Err(self.not(EXPECTED)),
        };
        let number = match resolve(text) {
            Scalar::Null => Some(0),
            Scalar::Int(number) => Some(number),
            #[expect(clippy::cast_possible_truncation, reason = "it is small and has no fraction")]
            Scalar::Float(float) if float.fract().abs() < f64::EPSILON && float.abs() < 9e15 => {
                Some(float as i64)
            }
            Scalar::Float(float) if float.fract().abs() < f64::EPSILON => None,
            Scalar::Large(_) => None,
            _ => return Err(self.not(EXPECTED)),
        };
        match number {
            Some(number) if (min..=max).contains(&number) => Ok(number),
            _ => Err(self.error(format_args!("{text} is out of range, which is {min} to {max}"))),
        }
    }
}

/// What a value is, to be put after "not".
pub(super) fn describe(value: &Value<'_>) -> String {
    match value {
        Value::Map => "a mapping".to_owned(),
        Value::Seq => "a list".to_owned(),
        Value::Text(text) => format!("the text {:?}", shorten(text)),
        Value::Plain(text) => match resolve(text) {
            Scalar::Null => "null".to_owned(),
            Scalar::Bool(_) => format!("the boolean {text}"),
            Scalar::Int(_) | Scalar::Large(_) | Scalar::Float(_) => format!("the number {}", shorten(text)),
            Scalar::Text => format!("the text {:?}", shorten(text)),
        },
    }
}

/// At most 40 characters of a text.
fn shorten(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}\u{2026}", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The methods for the integer types that all do the same.
macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ty),+ $(,)?) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            let number = self.whole(i64::from(<$type>::MIN), i64::from(<$type>::MAX))?;
            let number = <$type>::try_from(number).map_err(|_| self.not("a whole number"))?;
            visitor.$visit(number).map_err(|error: DecodeError| error.at(self.start()))
        })+
    };
}

impl<'de> Deserializer<'de> for Decoder<'_, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value() {
            Value::Map => return self.map(visitor),
            Value::Seq => return self.seq(visitor),
            Value::Text(text) => visitor.visit_str(text),
            Value::Plain(text) => match resolve(text) {
                Scalar::Null => visitor.visit_unit(),
                Scalar::Bool(value) => visitor.visit_bool(value),
                Scalar::Int(value) => visitor.visit_i64(value),
                Scalar::Large(value) => visitor.visit_u64(value),
                Scalar::Float(value) if value.is_finite() => visitor.visit_f64(value),
                Scalar::Float(_) => {
                    return Err(self.error(format_args!("{text} is not a number that JSON has")));
                }
                Scalar::Text => visitor.visit_str(text),
            },
        }
        .map_err(|error: DecodeError| error.at(self.start()))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_bool(self.boolean()?)
    }

    whole_numbers!(
        deserialize_i8 visit_i8 i8,
        deserialize_i16 visit_i16 i16,
        deserialize_i32 visit_i32 i32,
        deserialize_i64 visit_i64 i64,
        deserialize_u8 visit_u8 u8,
        deserialize_u16 visit_u16 u16,
        deserialize_u32 visit_u32 u32,
    );

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let number = self.whole(0, i64::MAX)?;
        visitor.visit_i64(number).map_err(|error: DecodeError| error.at(self.start()))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value() {
            Value::Seq => self.seq(visitor),
            // A scalar ends right behind itself: as a list it is empty.
            _ if self.is_null() => self.seq(visitor),
            _ => Err(self.not("a list")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.value() {
            Value::Map => self.map(visitor),
            _ if self.is_null() => self.map(visitor),
            _ => Err(self.not("a mapping")),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        f32 f64 i128 u128 char bytes byte_buf unit unit_struct tuple tuple_struct enum
    }
}

/// The entries of a mapping.
struct Entries<'t, 'a> {
    nodes: &'t [Node<'a>],
    next: usize,
    end: usize,
    key: &'t str,
}

impl<'de, 't> MapAccess<'de> for Entries<'t, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        if self.next >= self.end {
            return Ok(None);
        }
        let key = Decoder::new(self.nodes, self.next);
        self.key = match key.value() {
            Value::Text(text) | Value::Plain(text) => text,
            Value::Map | Value::Seq => return Err(key.not("a key")),
        };
        self.next = key.end();
        let deserializer: StrDeserializer<'t, DecodeError> = self.key.into_deserializer();
        seed.deserialize(deserializer).map(Some).map_err(|error| error.at(key.start()))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, DecodeError> {
        let value = Decoder::new(self.nodes, self.next);
        self.next = value.end();
        seed.deserialize(value).map_err(|error| error.at(value.start()).inside(Segment::Key(self.key.into())))
    }
}

/// The values of a list.
struct Items<'t, 'a> {
    nodes: &'t [Node<'a>],
    next: usize,
    end: usize,
    position: usize,
}

impl<'de> SeqAccess<'de> for Items<'_, '_> {
    type Error = DecodeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, DecodeError> {
        if self.next >= self.end {
            return Ok(None);
        }
        let value = Decoder::new(self.nodes, self.next);
        self.next = value.end();
        let position = self.position;
        self.position += 1;
        seed.deserialize(value)
            .map(Some)
            .map_err(|error| error.at(value.start()).inside(Segment::Index(position)))
    }
}
