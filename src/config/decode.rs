//! From values with places to types, strictly, and back to JSON values.
//!
//! Follows `sigs.k8s.io/json` (strict, by the exact name of a field) for what fits into which type, and
//! `encoding/json` for which fields are left out. Unlike there, decoding goes on after a value that does not fit,
//! so that a person is told of everything at once.

use std::fmt;

use serde_json::Value as Json;

use super::document::{Node, Value};
use super::go_text::{GoDuration, base64, json_number32, parse_base64};

/// Where a value stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Path<'a> {
    /// A path as text, which may be empty.
    Text(&'a str),
    Field(&'a Self, &'a str),
    Index(&'a Self, usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Field(Self::Text(""), name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// Something that decoding found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    /// The field.
    pub path: String,
    /// What is wrong with it, in a sentence without a full stop.
    pub text: String,
    /// Where it stands, in bytes of the text.
    pub offset: usize,
    /// Whether only strictness forbids it; the rest of the configuration has been understood.
    pub is_strict: bool,
}

impl Finding {
    /// The field is there twice.
    pub(super) fn duplicate(path: &str, offset: usize) -> Self {
        let text = format!("duplicate field \"{path}\"");
        Self { path: path.to_owned(), text, offset, is_strict: true }
    }
}

/// What decoding finds.
#[derive(Clone, Debug, Default)]
pub(super) struct Findings {
    /// In the order of the text, as far as its fields are known.
    pub list: Vec<Finding>,
    /// Whether the text is JSON, where nobody looks into values without a type.
    pub is_json: bool,
}

impl Findings {
    /// The value does not have the type of its field.
    pub(super) fn mismatch(&mut self, path: &Path<'_>, node: &Node, expected: &str) {
        let found = node.describe();
        self.wrong(path, node.offset, format!("{path}: {expected} is expected, not {found}"));
    }

    /// Something else keeps the value from being understood.
    pub(super) fn wrong(&mut self, path: &Path<'_>, offset: usize, text: String) {
        self.list.push(Finding { path: path.to_string(), text, offset, is_strict: false });
    }

    /// Tells of keys that are there twice in a value without a type.
    pub(super) fn untyped(&mut self, path: &Path<'_>, node: &Node) {
        match &node.value {
            Value::Map(entries) if !self.is_json => {
                for (i, entry) in entries.iter().enumerate() {
                    let path = Path::Field(path, &entry.key);
                    if entries[..i].iter().any(|earlier| earlier.key == entry.key) {
                        self.list.push(Finding::duplicate(&path.to_string(), entry.offset));
                    }
                    self.untyped(&path, &entry.value);
                }
            }
            Value::List(items) if !self.is_json => {
                for (i, item) in items.iter().enumerate() {
                    self.untyped(&Path::Index(path, i), item);
                }
            }
            _ => {}
        }
    }

    fn strict(&mut self, path: &Path<'_>, offset: usize, text: String) {
        self.list.push(Finding { path: path.to_string(), text, offset, is_strict: true });
    }
}

/// A type that a value can be decoded into. What does not fit becomes the default value, and a finding.
pub(super) trait Decode: Default {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self;
}

/// A type that a JSON value can be made of.
pub(super) trait Encode {
    fn encode(&self) -> Json;

    /// Whether a field with `omitempty` leaves the value out.
    fn is_empty(&self) -> bool {
        false
    }
}

/// The fields of a mapping. Those that nobody has taken are unknown.
pub(super) struct Fields<'a> {
    node: &'a Node,
    path: &'a Path<'a>,
    known: Vec<&'a str>,
}

impl<'a> Fields<'a> {
    /// The fields of a mapping; there are none in a null.
    pub(super) fn new(node: &'a Node, path: &'a Path<'a>, findings: &mut Findings) -> Self {
        if !matches!(node.value, Value::Map(_) | Value::Null) {
            findings.mismatch(path, node, "a mapping");
        }
        Self { node, path, known: Vec::new() }
    }

    /// The value of a field that is not null, with its path.
    pub(super) fn node(&mut self, name: &'a str) -> Option<&'a Node> {
        self.known.push(name);
        self.node.get(name).map(|entry| &entry.value)
    }

    /// The field, decoded; the default where it is not there.
    pub(super) fn take<T: Decode>(&mut self, name: &'a str, findings: &mut Findings) -> T {
        match self.node(name) {
            Some(node) => T::decode(node, &Path::Field(self.path, name), findings),
            None => T::default(),
        }
    }

    /// Tells of fields that are unknown or there twice.
    pub(super) fn finish(self, findings: &mut Findings) {
        let Value::Map(entries) = &self.node.value else { return };
        for (i, entry) in entries.iter().enumerate() {
            let path = Path::Field(self.path, &entry.key);
            if entries[..i].iter().any(|earlier| earlier.key == entry.key) {
                findings.list.push(Finding::duplicate(&path.to_string(), entry.offset));
            } else if !self.known.contains(&entry.key.as_str()) {
                let hint = self
                    .known
                    .iter()
                    .filter(|name| is_alike(name, &entry.key))
                    .map(|name| format!(", did you mean {name:?}?"))
                    .next();
                let hint = hint.unwrap_or_default();
                findings.strict(&path, entry.offset, format!("unknown field \"{path}\"{hint}"));
            }
        }
    }
}

/// Whether one may be meant where the other stands: they differ in case alone, or in two characters at most.
fn is_alike(known: &str, found: &str) -> bool {
    if known.eq_ignore_ascii_case(found) {
        return true;
    }
    let (known, found): (Vec<char>, Vec<char>) = (known.chars().collect(), found.chars().take(80).collect());
    // The distance of Levenshtein, row by row.
    let mut row: Vec<usize> = (0..=found.len()).collect();
    for (i, a) in known.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in found.iter().enumerate() {
            let replaced = row[j] + usize::from(a != b);
            next.push(replaced.min(row[j + 1] + 1).min(next[j] + 1));
        }
        row = next;
    }
    let distance = row.last().copied().unwrap_or(usize::MAX);
    distance <= 2 && distance < known.len()
}

impl Decode for bool {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        match node.value {
            Value::Bool(value) => value,
            Value::Null => false,
            _ => {
                findings.mismatch(path, node, "true or false");
                false
            }
        }
    }
}

impl Encode for bool {
    fn encode(&self) -> Json {
        (*self).into()
    }
    fn is_empty(&self) -> bool {
        !self
    }
}

fn whole<T: std::str::FromStr + Default>(
    node: &Node,
    path: &Path<'_>,
    findings: &mut Findings,
    expected: &str,
) -> T {
    match &node.value {
        Value::Null => T::default(),
        Value::Number(text) if text.parse::<T>().is_ok() => text.parse().unwrap_or_default(),
        _ => {
            findings.mismatch(path, node, expected);
            T::default()
        }
    }
}

impl Decode for i32 {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        whole(node, path, findings, "a whole number of 32 bits")
    }
}

impl Encode for i32 {
    fn encode(&self) -> Json {
        (*self).into()
    }
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

impl Decode for i64 {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        whole(node, path, findings, "a whole number of 64 bits")
    }
}

impl Encode for i64 {
    fn encode(&self) -> Json {
        (*self).into()
    }
    fn is_empty(&self) -> bool {
        *self == 0
    }
}

impl Decode for f32 {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        match &node.value {
            Value::Null => 0.0,
            Value::Number(text) => match text.parse::<Self>() {
                Ok(number) if number.is_finite() => number,
                _ => {
                    findings.mismatch(path, node, "a number of 32 bits");
                    0.0
                }
            },
            _ => {
                findings.mismatch(path, node, "a number");
                0.0
            }
        }
    }
}

impl Encode for f32 {
    fn encode(&self) -> Json {
        super::document::number(&json_number32(*self))
    }
}

impl Decode for String {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        match &node.value {
            Value::Text(text) => text.clone(),
            Value::Null => Self::new(),
            Value::Number(_) | Value::Bool(_) => {
                findings.mismatch(path, node, "text (in quotes)");
                Self::new()
            }
            Value::List(_) | Value::Map(_) => {
                findings.mismatch(path, node, "text");
                Self::new()
            }
        }
    }
}

impl Encode for String {
    fn encode(&self) -> Json {
        self.as_str().into()
    }
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

impl Decode for GoDuration {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        let duration = match &node.value {
            Value::Text(text) => Self::parse(text),
            _ => None,
        };
        duration.unwrap_or_else(|| {
            findings.mismatch(path, node, "a duration such as 15s or 1m30s");
            Self::default()
        })
    }
}

impl Encode for GoDuration {
    fn encode(&self) -> Json {
        self.to_string().into()
    }
}

/// Bytes that stand in the text as base64.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Bytes(pub Vec<u8>);

impl Decode for Bytes {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        match &node.value {
            Value::Null => Self::default(),
            Value::Text(text) => match parse_base64(text) {
                Ok(bytes) => Self(bytes),
                Err(at) => {
                    let text = format!("{path}: base64 is expected, and byte {at} is none of it");
                    findings.wrong(path, node.offset, text);
                    Self::default()
                }
            },
            _ => {
                findings.mismatch(path, node, "base64");
                Self::default()
            }
        }
    }
}

impl Encode for Bytes {
    fn encode(&self) -> Json {
        base64(&self.0).into()
    }
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T: Decode> Decode for Option<T> {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        (node.value != Value::Null).then(|| T::decode(node, path, findings))
    }
}

impl<T: Encode> Encode for Option<T> {
    fn encode(&self) -> Json {
        self.as_ref().map_or(Json::Null, T::encode)
    }
    fn is_empty(&self) -> bool {
        self.is_none()
    }
}

impl<T: Decode> Decode for Vec<T> {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        match &node.value {
            Value::Null => Self::new(),
            Value::List(items) => {
                let decode = |(i, item)| T::decode(item, &Path::Index(path, i), findings);
                items.iter().enumerate().map(decode).collect()
            }
            _ => {
                findings.mismatch(path, node, "a list");
                Self::new()
            }
        }
    }
}

impl<T: Encode> Encode for Vec<T> {
    fn encode(&self) -> Json {
        self.iter().map(T::encode).collect()
    }
    fn is_empty(&self) -> bool {
        Self::is_empty(self)
    }
}

/// A list that may be missing, which is not the same as an empty one: the one is `null`, the other `[]`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Slice<T>(pub Option<Vec<T>>);

impl<T> Slice<T> {
    /// The items.
    pub fn items(&self) -> &[T] {
        self.0.as_deref().unwrap_or_default()
    }

    /// Whether there is a list without items.
    pub fn is_empty_list(&self) -> bool {
        self.0.as_ref().is_some_and(Vec::is_empty)
    }
}

impl<T: Decode> Decode for Slice<T> {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        Self(Option::decode(node, path, findings))
    }
}

impl<T: Encode> Encode for Slice<T> {
    fn encode(&self) -> Json {
        self.0.encode()
    }
    fn is_empty(&self) -> bool {
        self.items().is_empty()
    }
}

/// A type of `kubescheduler.config.k8s.io/v1`: each field with its name there, and whether it is written `always`
/// or left out where it is `empty`.
macro_rules! object {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $type:ty = $key:literal $when:ident,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Default)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $crate::config::decode::Decode for $name {
            fn decode(
                node: &$crate::config::document::Node,
                path: &$crate::config::decode::Path<'_>,
                findings: &mut $crate::config::decode::Findings,
            ) -> Self {
                let mut fields = $crate::config::decode::Fields::new(node, path, findings);
                let object = Self { $($field: fields.take($key, findings),)* };
                fields.finish(findings);
                object
            }
        }

        impl $crate::config::decode::Encode for $name {
            fn encode(&self) -> serde_json::Value {
                let mut object = serde_json::Map::new();
                $($crate::config::decode::object!(@ $when object, $key, self.$field);)*
                object.into()
            }
        }
    };
    (@ always $object:ident, $key:literal, $value:expr) => {
        $object.insert($key.to_owned(), $crate::config::decode::Encode::encode(&$value));
    };
    (@ empty $object:ident, $key:literal, $value:expr) => {
        if !$crate::config::decode::Encode::is_empty(&$value) {
            $object.insert($key.to_owned(), $crate::config::decode::Encode::encode(&$value));
        }
    };
}
pub(super) use object;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::document::Document;

    object! {
        /// A type with one field of each sort.
        pub struct Sample {
            pub name: String = "name" always,
            pub size: Option<i32> = "size" empty,
            pub wait: GoDuration = "wait" always,
            pub data: Bytes = "data" empty,
            pub rate: f32 = "rate" always,
            pub parts: Vec<Sample> = "parts" empty,
        }
    }

    fn decode(text: &str) -> (Sample, Vec<String>) {
        let root = Document::read(text).map(|document| document.root);
        let root = root.unwrap_or(Node { value: Value::Null, offset: 0 });
        let mut findings = Findings::default();
        let sample = Sample::decode(&root, &Path::Text(""), &mut findings);
        (sample, findings.list.into_iter().map(|finding| finding.text).collect())
    }

    #[test]
    fn what_fits_comes_back_as_it_went_in() {
        let text = "{\"name\":\"a\",\"size\":3,\"wait\":\"1m30s\",\"data\":\"YWJj\",\"rate\":0.1,\"parts\":[{\"name\":\"\",\"wait\":\"0s\",\"rate\":0}]}";
        let (sample, findings) = decode(text);
        assert_eq!(findings.len(), 0);
        assert_eq!(sample.encode().to_string(), text);
    }

    #[test]
    fn everything_that_does_not_fit_is_told_with_its_path() {
        let (_, findings) = decode(
            "name: 5\nsize: 3000000000\nwait: 15\nrate: 1e40\ndata: '!'\nparts: [x, {nmae: a, size: 1.5}]\nname: b\nSize: 1\nother: 1\n",
        );
        assert_eq!(
            findings,
            [
                "size: a whole number of 32 bits is expected, not the number 3000000000",
                "wait: a duration such as 15s or 1m30s is expected, not the number 15",
                "data: base64 is expected, and byte 0 is none of it",
                "rate: a number of 32 bits is expected, not the number 1e+40",
                "parts[0]: a mapping is expected, not the text \"x\"",
                "parts[1].size: a whole number of 32 bits is expected, not the number 1.5",
                "unknown field \"parts[1].nmae\", did you mean \"name\"?",
                "duplicate field \"name\"",
                "unknown field \"Size\", did you mean \"size\"?",
                "unknown field \"other\"",
            ]
        );
    }

    #[test]
    fn null_is_the_empty_value_of_everything_but_a_duration() {
        let (sample, findings) = decode("name:\nsize:\ndata:\nrate:\nparts:\n");
        assert_eq!((sample, findings.len()), (Sample::default(), 0));
        assert_eq!(decode("wait:\n").1, ["wait: a duration such as 15s or 1m30s is expected, not nothing"]);
    }
}
