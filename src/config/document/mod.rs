//! The text of a configuration as a tree of values that know where they stand.
//!
//! Follows `sigs.k8s.io/yaml` over go-yaml v2 and the JSON reader of apimachinery: a text that begins with `{` is
//! JSON and nothing else; of several YAML documents the first one counts; numbers keep the form that they have in
//! JSON, since that decides into which fields they go. What the values mean is not known here.

mod builder;

use serde_json::{Map, Number};

use super::go_text::json_number;
use crate::api::manifest::event::{Events, Syntax};
use crate::api::manifest::json::Json;
use crate::api::manifest::yaml::Yaml;
use builder::Builder;

/// A value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    /// The value.
    pub value: Value,
    /// Where it begins, in bytes of the text.
    pub offset: usize,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number as JSON writes it.
    Number(String),
    Text(String),
    List(Vec<Node>),
    /// Every entry in its order, also those whose key is there twice.
    Map(Vec<Entry>),
}

/// An entry of a mapping.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    /// Where the key begins, in bytes of the text.
    pub offset: usize,
    pub value: Node,
}

/// A text that was read.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// The value of the first document; null if there is none.
    pub root: Node,
    pub is_json: bool,
    /// What keeps values from being those of JSON.
    pub problems: Vec<Syntax>,
    /// Where the second document begins.
    pub second: Option<usize>,
}

impl Document {
    /// Reads a text.
    ///
    /// # Errors
    /// It is neither YAML nor JSON.
    pub(crate) fn read(text: &str) -> Result<Self, Syntax> {
        if text.trim_start().starts_with('{') {
            let mut reader = Json::new(text, 0);
            let document = Self::build(&mut reader, true)?;
            return match document.second {
                Some(offset) => {
                    Err(Syntax { reason: "the JSON value must be the only one".to_owned(), offset })
                }
                // The reader tells of what is no second value either.
                None => reader.next().map(|_| document),
            };
        }
        Self::build(&mut Yaml::new(first_document(text), 0), false).map(|mut document| {
            if document.second.is_none() && first_document(text).len() < text.len() {
                document.second = Some(first_document(text).len());
            }
            document
        })
    }

    fn build<'a>(events: &mut dyn Events<'a>, is_json: bool) -> Result<Self, Syntax> {
        let mut builder = Builder::new(is_json);
        while let Some(token) = events.next()? {
            if builder.feed(token)? {
                break;
            }
        }
        let (root, problems) = builder.finish();
        let second = match events.next() {
            Ok(token) => token.map(|token| token.offset),
            Err(error) if is_json => return Err(error),
            Err(error) => Some(error.offset),
        };
        Ok(Self { root, is_json, problems, second })
    }
}

/// The text up to the line that begins the second document.
fn first_document(text: &str) -> &str {
    let mut offset = 0;
    let mut has_content = false;
    for line in text.split_inclusive('\n') {
        let is_marker = |marker: &str| {
            line.strip_prefix(marker)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
        };
        let is_start = is_marker("---");
        if has_content && is_start {
            return text.get(..offset).unwrap_or(text);
        }
        let rest = line.get(3..).filter(|_| is_start).unwrap_or(line).trim();
        has_content |= !(rest.is_empty() || rest.starts_with(['#', '%', '\u{feff}'])) || is_start;
        offset += line.len();
    }
    text
}

impl Node {
    /// The entry of a mapping with that key; the last one if there are several.
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().rfind(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The same where the case of letters does not count.
    pub(crate) fn get_in_any_case(&self, key: &str) -> Option<&Entry> {
        match &self.value {
            Value::Map(entries) => entries.iter().rfind(|entry| entry.key.eq_ignore_ascii_case(key)),
            _ => None,
        }
    }

    /// The value at `path`, such as `profiles[0].plugins`.
    pub(crate) fn resolve(&self, path: &str) -> Option<&Self> {
        let (node, _, is_complete) = self.walk(path);
        is_complete.then_some(node)
    }

    /// Where the field at `path` stands; if it is not there, the nearest field around it that is.
    pub(crate) fn locate(&self, path: &str) -> usize {
        self.walk(path).1
    }

    /// The value at `path` or the nearest one around it, where it stands, and whether the whole path led there.
    fn walk(&self, path: &str) -> (&Self, usize, bool) {
        let mut found = (self, self.offset);
        for part in path.split(['.', '[']) {
            let (node, _) = found;
            let step = match part.strip_suffix(']').map(str::parse::<usize>) {
                Some(Ok(index)) => match &node.value {
                    Value::List(items) => items.get(index).map(|item| (item, item.offset)),
                    _ => None,
                },
                Some(Err(_)) => None,
                None => node
                    .get(part)
                    .or_else(|| node.get(&lower_camel(part)))
                    // A preferred term is left out of the paths of what is inside.
                    .or_else(|| node.get("preference")?.value.get(part))
                    .map(|entry| (&entry.value, entry.place())),
            };
            match step {
                Some(step) => found = step,
                None => return (found.0, found.1, false),
            }
        }
        (found.0, found.1, true)
    }

    /// The value as JSON; of entries with one key the last one counts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(text) => number(text),
            Value::Text(text) => text.as_str().into(),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    map.insert(entry.key.clone(), entry.value.to_json());
                }
                map.into()
            }
        }
    }

    /// The tree of a JSON value, without places.
    pub(crate) fn from_json(value: &serde_json::Value) -> Self {
        let value = match value {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => Value::Number(match number.as_f64() {
                Some(float) if number.is_f64() => json_number(float),
                _ => number.to_string(),
            }),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => Value::List(items.iter().map(Self::from_json).collect()),
            serde_json::Value::Object(map) => Value::Map(
                map.iter()
                    .map(|(key, value)| Entry { key: key.clone(), offset: 0, value: Self::from_json(value) })
                    .collect(),
            ),
        };
        Self { value, offset: 0 }
    }

    /// What the value is, for a sentence that says what it should be.
    pub(crate) fn describe(&self) -> String {
        match &self.value {
            Value::Null => "nothing".to_owned(),
            Value::Bool(value) => format!("the boolean {value}"),
            Value::Number(text) => format!("the number {text}"),
            Value::Text(text) => format!("the text {}", crate::config::go_quoted(text)),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a mapping".to_owned(),
        }
    }
}

impl Entry {
    /// What a person looks at: the value where it is a plain one, else the key.
    fn place(&self) -> usize {
        match self.value.value {
            Value::List(_) | Value::Map(_) | Value::Null => self.offset,
            _ => self.value.offset,
        }
    }
}

/// `Enabled` as the file spells it. Some complaints name fields as the program's own types do.
fn lower_camel(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// The JSON number of that spelling.
pub(crate) fn number(text: &str) -> serde_json::Value {
    if let Ok(number) = text.parse::<i64>() {
        return number.into();
    }
    if let Ok(number) = text.parse::<u64>() {
        return number.into();
    }
    text.parse::<f64>().ok().and_then(Number::from_f64).map_or(serde_json::Value::Null, Into::into)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use serde_json::json;

    fn read(text: &str) -> serde_json::Value {
        Document::read(text).unwrap().root.to_json()
    }

    #[test]
    fn scalars_are_those_of_yaml_1_1_in_the_spelling_of_json() {
        assert_eq!(
            read("{a}: 1\nb: yes\nc: 1_000\nd: 0x10\ne: 3.0\nf: 1e3\ng: '5'\nh: ~\ni: 2020-01-01\nj: 1e21\ny: z\n3: x\n"
                .strip_prefix("{a}: 1\n")
                .unwrap()),
            json!({"b": true, "c": 1000, "d": 16, "e": 3, "f": 1000, "g": "5", "h": null, "i": "2020-01-01",
                "j": 1e21, "true": "z", "3": "x"})
        );
        let Value::Map(entries) = Document::read("{\"a\": 3.0, \"b\": 3e1}").unwrap().root.value else {
            unreachable!()
        };
        let spelling: Vec<_> = entries.iter().map(|entry| entry.value.value.clone()).collect();
        assert_eq!(spelling, [Value::Number("3.0".into()), Value::Number("3e1".into())]);
    }

    #[test]
    fn the_first_document_counts() {
        for text in ["a: 1\n---\nb: 2\n", "---\na: 1\n--- # more\nb: : [\n", "# c\n---\na: 1\n---\n"] {
            let document = Document::read(text).unwrap();
            assert_eq!(document.root.to_json(), json!({"a": 1}), "{text:?}");
            assert!(document.second.is_some(), "{text:?}");
        }
        assert!(Document::read("---\na: 1\n...\n").unwrap().second.is_none());
        assert_eq!(read("# nothing\n"), json!(null));
        assert!(Document::read("{\"a\": 1} {\"b\": 2}").is_err());
        assert!(Document::read("{\"a\": 1} x").is_err());
        assert!(Document::read("{a: 1}").is_err());
    }

    #[test]
    fn anchors_are_expanded_and_merged_keys_stay_beside_the_own_ones() {
        assert_eq!(read("a: &x {b: 1}\nc: *x\n"), json!({"a": {"b": 1}, "c": {"b": 1}}));
        let document = Document::read("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n").unwrap();
        assert_eq!(document.root.to_json()["c"], json!({"b": 1, "d": 2}));
        let document = Document::read("a: &x {b: 1}\nc:\n  <<: [*x]\n  b: 2\n").unwrap();
        let Value::Map(entries) = &document.root.get("c").unwrap().value.value else { unreachable!() };
        assert_eq!(entries.len(), 2, "both are kept, so that the double key is found");
        assert_eq!(Document::read("a: {<<: 3}\n").unwrap().problems.len(), 1);
        assert!(Document::read("a: &x [*x]\n").is_err());
    }

    #[test]
    fn a_place_is_found_by_its_path() {
        let text = "profiles:\n- schedulerName: a\n  plugins:\n    score:\n      enabled:\n      - name: X\n";
        let root = Document::read(text).unwrap().root;
        let at = |path: &str| text.get(root.locate(path)..).and_then(|rest| rest.lines().next());
        assert_eq!(at("profiles[0].schedulerName"), Some("a"));
        assert_eq!(at("profiles[0].plugins.score.Enabled"), Some("enabled:"));
        assert_eq!(at("profiles[0].plugins.score.enabled[0].name"), Some("X"));
        assert_eq!(at("profiles[0].plugins.filter"), Some("plugins:"));
        assert_eq!(at("profiles[3]"), Some("profiles:"));
        assert_eq!(at(""), Some("profiles:"));
    }
}
