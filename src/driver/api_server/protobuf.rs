//! What clients write in Kubernetes' protobuf, read as the JSON that it stands for.
//!
//! client-go's typed clients, kube-scheduler and `kubectl create` among them, write so by default. Which field has which
//! number stands in `protobuf.schema`, made from the `generated.proto` files of Kubernetes v1.36. What is answered is
//! always JSON, which such clients read as well. Zeros and falsehoods stay where they are written, since nobody can tell
//! from the message whether they were meant; empty texts do not. `prost` would read the wire too, but into a type for each
//! of the hundreds of messages, which would then have to be written as JSON by code of its own: a table and one reader are
//! less.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};

use super::connect::base64;
use crate::api::{Duration, Time};
use crate::driver::sandbox::requests::Refusal;

/// What comes before every message.
const MAGIC: &[u8] = b"k8s\0";
/// Messages inside messages, at most.
const DEPTH_MAX: usize = 64;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Text,
    Number,
    Bool,
    Bytes,
    Float,
    Quantity,
    IntOrString,
    /// To the second.
    Time,
    /// To the microsecond.
    MicroTime,
    /// The message of that number.
    Message(usize),
}

/// How often it does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    One,
    List,
    /// By a text.
    Map,
    /// Its fields are those of the message around it.
    Inline,
}

#[derive(Debug)]
struct Field {
    number: u64,
    name: &'static str,
    shape: Shape,
    type_: Type,
}

/// Kinds and messages.
#[derive(Debug, Default)]
struct Schema {
    kinds: BTreeMap<(&'static str, &'static str), usize>,
    messages: Vec<Vec<Field>>,
}

impl Schema {
    fn get() -> &'static Self {
        static SCHEMA: OnceLock<Schema> = OnceLock::new();
        SCHEMA.get_or_init(|| Self::parse(include_str!("protobuf.schema")))
    }

    fn parse(text: &'static str) -> Self {
        let mut schema = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(kind) = line.strip_prefix("= ") {
                let mut words = kind.split(' ');
                if let (Some(version), Some(kind), Some(Ok(message))) =
                    (words.next(), words.next(), words.next().map(str::parse))
                {
                    schema.kinds.insert((version, kind), message);
                }
            } else if let Some((_, fields)) = line.split_once(':') {
                schema.messages.push(fields.split(',').filter_map(parse_field).collect());
            }
        }
        schema
    }

    fn message_of(&self, api_version: &str, kind: &str) -> Option<usize> {
        let known = self.kinds.iter();
        let mut known = known
            .filter(|((version, name), _)| *name == kind && (*version == api_version || *version == "*"));
        known.next().map(|(_, message)| *message)
    }
}

fn parse_field(text: &'static str) -> Option<Field> {
    let mut words = text.trim().split(' ');
    let (number, name, type_) = (words.next()?.parse().ok()?, words.next()?, words.next()?);
    let (shape, type_) = match type_.split_at_checked(1)? {
        ("*", rest) => (Shape::List, rest),
        ("%", rest) => (Shape::Map, rest),
        ("^", rest) => (Shape::Inline, rest),
        _ => (Shape::One, type_),
    };
    let type_ = match type_ {
        "s" => Type::Text,
        "i" => Type::Number,
        "b" => Type::Bool,
        "y" => Type::Bytes,
        "d" => Type::Float,
        "q" => Type::Quantity,
        "o" => Type::IntOrString,
        "t" => Type::Time,
        "u" => Type::MicroTime,
        message => Type::Message(message.parse().ok()?),
    };
    Some(Field { number, name, shape, type_ })
}

/// Reads a message.
///
/// # Errors
/// 415 if it is of another kind; 400 if it cannot be read.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, Refusal> {
    let malformed = || Refusal::bad_request("the protobuf in the request cannot be read");
    let envelope = bytes.strip_prefix(MAGIC).ok_or_else(malformed)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), None);
    for entry in Entries(envelope) {
        match entry.ok_or_else(malformed)? {
            (1, Wire::Bytes(bytes)) => {
                for entry in Entries(bytes) {
                    match entry.ok_or_else(malformed)? {
                        (1, Wire::Bytes(text)) => api_version = String::from_utf8_lossy(text).into_owned(),
                        (2, Wire::Bytes(text)) => kind = String::from_utf8_lossy(text).into_owned(),
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(bytes)) => raw = Some(bytes),
            _ => {}
        }
    }
    let schema = Schema::get();
    let Some(number) = schema.message_of(&api_version, &kind) else {
        let message = format!(
            "{kind} in {api_version} is not read in protobuf here: let the client write application/json"
        );
        return Err(Refusal::new(415, "UnsupportedMediaType", message));
    };
    let mut value = Map::new();
    value.insert("apiVersion".to_owned(), api_version.into());
    value.insert("kind".to_owned(), kind.into());
    message(schema, number, raw.unwrap_or_default(), 0, &mut value).ok_or_else(malformed)?;
    Ok(Value::Object(value))
}

/// What stands on the wire.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    Eight([u8; 8]),
    /// Four bytes, which no field here has.
    Four,
}

/// The fields of a message one after the other; `None` where it is broken.
struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn entry(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => Wire::Eight(self.take(8)?.try_into().ok()?),
            2 => {
                let n = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(n)?)
            }
            5 => self.take(4).map(|_| Wire::Four)?,
            _ => return None,
        };
        Some((tag >> 3, wire))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Option<(u64, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.0 = &[];
        }
        Some(entry)
    }
}

/// Reads a message into the fields of an object.
fn message(
    schema: &Schema,
    number: usize,
    bytes: &[u8],
    depth: usize,
    into: &mut Map<String, Value>,
) -> Option<()> {
    if depth > DEPTH_MAX {
        return None;
    }
    let fields = schema.messages.get(number)?;
    for entry in Entries(bytes) {
        let (number, wire) = entry?;
        let Some(field) = fields.iter().find(|field| field.number == number) else { continue };
        match (field.shape, field.type_, wire) {
            (Shape::Inline, Type::Message(number), Wire::Bytes(bytes)) => {
                message(schema, number, bytes, depth + 1, into)?;
            }
            (Shape::Map, type_, Wire::Bytes(bytes)) => {
                let (mut key, mut held) = (String::new(), None);
                for entry in Entries(bytes) {
                    match entry? {
                        (1, Wire::Bytes(text)) => key = std::str::from_utf8(text).ok()?.to_owned(),
                        (2, wire) => held = Some(value(schema, type_, wire, depth)?),
                        _ => {}
                    }
                }
                let held = held.flatten().unwrap_or_else(|| "".into());
                into.entry(field.name).or_insert_with(|| json!({})).as_object_mut()?.insert(key, held);
            }
            (Shape::List, type_, wire) => {
                let element = value(schema, type_, wire, depth)?.unwrap_or_else(|| "".into());
                into.entry(field.name).or_insert_with(|| json!([])).as_array_mut()?.push(element);
            }
            (_, type_, wire) => {
                if let Some(value) = value(schema, type_, wire, depth)? {
                    into.insert(field.name.to_owned(), value);
                }
            }
        }
    }
    Some(())
}

/// What stands on the wire, as JSON; `Some(None)` where nothing was meant, `None` where it does not fit.
fn value(schema: &Schema, type_: Type, wire: Wire<'_>, depth: usize) -> Option<Option<Value>> {
    Some(match (type_, wire) {
        (Type::Number, Wire::Number(number)) => Some(number.cast_signed().into()),
        (Type::Bool, Wire::Number(number)) => Some((number != 0).into()),
        (Type::Float, Wire::Eight(bytes)) => Some(f64::from_le_bytes(bytes).into()),
        (Type::Text, Wire::Bytes(bytes)) => {
            let text = std::str::from_utf8(bytes).ok()?;
            (!text.is_empty()).then(|| text.into())
        }
        (Type::Bytes, Wire::Bytes(bytes)) => Some(base64(bytes).into()),
        (Type::Quantity, Wire::Bytes(bytes)) => {
            let mut text = "0";
            for entry in Entries(bytes) {
                if let (1, Wire::Bytes(bytes)) = entry? {
                    text = std::str::from_utf8(bytes).ok()?;
                }
            }
            Some(text.into())
        }
        (Type::IntOrString, Wire::Bytes(bytes)) => {
            let (mut is_text, mut number, mut text) = (false, 0, "");
            for entry in Entries(bytes) {
                match entry? {
                    (1, Wire::Number(type_)) => is_text = type_ == 1,
                    (2, Wire::Number(found)) => number = found.cast_signed(),
                    (3, Wire::Bytes(bytes)) => text = std::str::from_utf8(bytes).ok()?,
                    _ => {}
                }
            }
            Some(if is_text { text.into() } else { number.into() })
        }
        (Type::Time, Wire::Bytes(bytes)) => time(bytes)?.map(|at| at.to_rfc3339().into()),
        (Type::MicroTime, Wire::Bytes(bytes)) => time(bytes)?.map(|at| at.to_rfc3339_micros().into()),
        (Type::Message(number), Wire::Bytes(bytes)) => {
            let mut value = Map::new();
            message(schema, number, bytes, depth + 1, &mut value)?;
            Some(Value::Object(value))
        }
        _ => return None,
    })
}

/// Seconds and nanoseconds; `Some(None)` where there is no time.
fn time(bytes: &[u8]) -> Option<Option<Time>> {
    let (mut seconds, mut nanos) = (0, 0);
    for entry in Entries(bytes) {
        match entry? {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = number,
            _ => {}
        }
    }
    // Go's zero time lies before 1970.
    let Ok(seconds) = u64::try_from(seconds) else { return Some(None) };
    if (seconds, nanos) == (0, 0) {
        return Some(None);
    }
    Some(Some(Time::from_secs(seconds) + Duration::from_nanos(nanos.min(999_999_999))))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        field.extend_from_slice(bytes);
        field
    }

    fn sealed(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    #[test]
    fn a_binding_is_read() {
        let metadata = [field(1, b"web"), field(3, b"shop"), field(5, b"u"), field(2, b"")].concat();
        let raw = [field(1, &metadata), field(2, &[field(1, b"Node"), field(3, b"n1")].concat())].concat();
        assert_eq!(
            decode(&sealed("v1", "Binding", &raw)).unwrap(),
            json!({
                "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
                "target": {"kind": "Node", "name": "n1"},
                "apiVersion": "v1", "kind": "Binding",
            })
        );
    }

    #[test]
    fn every_resource_is_read_and_every_message_is_there() {
        let schema = Schema::get();
        for id in crate::driver::sandbox::resources::ResourceId::all() {
            let resource = id.get();
            assert!(schema.message_of(&resource.api_version(), resource.kind).is_some(), "{}", resource.kind);
        }
        for field in schema.messages.iter().flatten() {
            if let Type::Message(number) = field.type_ {
                assert!(schema.messages.get(number).is_some(), "{}", field.name);
            }
        }
    }

    #[test]
    fn quantities_choices_and_what_stands_in_the_message_around_are_read() {
        let quantity = field(2, &field(1, b"100m"));
        let requests = field(2, &[field(1, b"cpu"), quantity].concat());
        let volume = field(1, &[field(1, b"v"), field(2, &field(2, b""))].concat());
        let get =
            field(2, &[field(1, b"/"), field(2, &[vec![1 << 3, 1], field(3, b"http")].concat())].concat());
        let probe = field(10, &field(1, &get));
        let container = field(2, &[field(1, b"c"), field(8, &requests), probe].concat());
        let pod = decode(&sealed("v1", "Pod", &field(2, &[volume, container].concat()))).unwrap();
        assert_eq!(
            pod["spec"],
            json!({
                "volumes": [{"name": "v", "emptyDir": {}}],
                "containers": [{
                    "name": "c", "resources": {"requests": {"cpu": "100m"}},
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
                }],
            })
        );
    }

    #[test]
    fn times_lists_and_maps_are_read() {
        let label = field(11, &[field(1, b"a"), field(2, b"b")].concat());
        let metadata = [field(1, b"l"), label, field(14, b"x/y"), field(14, b"z")].concat();
        // 1,000,000 s as a varint.
        let at = field(4, &[vec![1 << 3, 0xc0, 0x84, 0x3d], vec![2 << 3, 0xe8, 0x07]].concat());
        let spec = field(2, &[field(1, b"me"), vec![2 << 3, 15], at].concat());
        let lease = decode(&sealed("coordination.k8s.io/v1", "Lease", &[field(1, &metadata), spec].concat()))
            .unwrap();
        assert_eq!(lease["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(lease["metadata"]["finalizers"], json!(["x/y", "z"]));
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
        assert_eq!(lease["spec"]["renewTime"], "1970-01-12T13:46:40.000001Z");
    }

    #[test]
    fn what_is_not_known_is_refused_and_what_is_broken_too() {
        let refusal = decode(&sealed("example.com/v1", "Widget", b"")).unwrap_err();
        assert_eq!((refusal.code, refusal.message.contains("application/json")), (415, true));
        assert_eq!(decode(b"{}").unwrap_err().code, 400);
        let good = sealed("v1", "Binding", &field(1, &field(1, b"web")));
        for end in MAGIC.len() + 1..good.len() {
            if let Err(refusal) = decode(&good[..end]) {
                assert!(matches!(refusal.code, 400 | 415), "{end}");
            }
        }
        assert_eq!(decode(&sealed("v1", "Binding", &[0xff; 12])).unwrap_err().code, 400);
    }
}
