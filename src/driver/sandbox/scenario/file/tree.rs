//! The text of a scenario as values that know where they stand, from YAML, JSON or TOML, and a strict reader of them.
//!
//! Every field is asked for by name; a field that nobody has asked for is wrong. All mistakes are told at once, each with
//! file, line and field.

use std::cell::RefCell;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::api::Duration;
use crate::api::manifest::printable_text;
use crate::config::GoDuration;
use crate::config::document::{Document, Entry, Node, Value};
use crate::driver::sandbox::generate::parse_share;

/// Something wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The field, such as `steps[2].at`; empty where the text as a whole is meant.
    pub field: String,
    /// What is wrong, in a sentence without a full stop.
    pub reason: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", printable_text(&self.file), self.line)?;
        if !self.field.is_empty() {
            write!(f, "{}: ", printable_text(&self.field))?;
        }
        f.write_str(&printable_text(&self.reason))
    }
}

/// All that is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioErrors(pub Vec<ScenarioError>);

impl std::error::Error for ScenarioErrors {}

impl fmt::Display for ScenarioErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.0.iter().enumerate() {
            write!(f, "{}{error}", if position > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

/// The text that is read, and what is wrong with it so far.
pub(super) struct Text<'a> {
    pub file: &'a str,
    pub text: &'a str,
    pub errors: RefCell<Vec<ScenarioError>>,
}

impl Text<'_> {
    /// The line of a byte offset, from 1.
    pub fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        1 + before.filter(|byte| **byte == b'\n').count()
    }

    pub fn wrong(&self, offset: usize, field: &str, reason: impl Into<String>) {
        self.errors.borrow_mut().push(ScenarioError {
            file: self.file.to_owned(),
            line: self.line(offset),
            field: field.to_owned(),
            reason: reason.into(),
        });
    }

    /// The values of the text. A name that ends in `.toml` says that it is TOML.
    pub fn tree(&self) -> Option<Node> {
        if self.file.ends_with(".toml") {
            let (table, errors) = DeTable::parse_recoverable(self.text);
            if let Some(error) = errors.first() {
                self.wrong(error.span().map_or(0, |span| span.start), "", error.message().to_owned());
                return None;
            }
            return Some(Node { value: table_value(table.get_ref()), offset: table.span().start });
        }
        match Document::read(self.text) {
            Ok(document) => {
                for problem in &document.problems {
                    self.wrong(problem.offset, "", problem.reason.clone());
                }
                if let Some(second) = document.second {
                    self.wrong(second, "", "a scenario is one document, and a second one begins here");
                }
                Some(document.root)
            }
            Err(error) => {
                self.wrong(error.offset, "", error.reason);
                None
            }
        }
    }
}

fn table_value(table: &DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            offset: key.span().start,
            value: toml_node(value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.offset);
    Value::Map(entries)
}

fn toml_node(value: &Spanned<DeValue<'_>>) -> Node {
    let of = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => Value::Number(number.to_string()),
            Err(_) => Value::Text(number.as_str().to_owned()),
        },
        DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(time) => Value::Text(time.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(toml_node).collect()),
        DeValue::Table(table) => table_value(table),
    };
    Node { value: of, offset: value.span().start }
}

/// A value with its place and the name of its field.
#[derive(Clone)]
pub(super) struct Field<'a> {
    pub of: &'a Text<'a>,
    pub node: &'a Node,
    /// Where a person looks: the key of a mapping's entry.
    pub offset: usize,
    pub path: String,
}

impl<'a> Field<'a> {
    pub fn wrong(&self, reason: impl Into<String>) {
        self.of.wrong(self.offset, &self.path, reason);
    }

    fn expected(&self, what: &str) {
        self.wrong(format!("{what} is expected, not {}", self.node.describe()));
    }

    pub fn line(&self) -> usize {
        self.of.line(self.offset)
    }

    /// A text; a number is one as it is written.
    pub fn text(&self) -> Option<String> {
        match &self.node.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            _ => {
                self.expected("a text");
                None
            }
        }
    }

    pub fn number(&self) -> Option<u64> {
        match &self.node.value {
            Value::Number(text) if text.parse::<u64>().is_ok() => text.parse().ok(),
            _ => {
                self.expected("a whole number");
                None
            }
        }
    }

    /// A number between 0 and 1, or such as `70%`; in thousandths.
    pub fn share(&self) -> Option<u32> {
        let read = match &self.node.value {
            Value::Number(text) | Value::Text(text) => parse_share(text),
            _ => None,
        };
        if read.is_none() {
            self.expected("a share such as 0.7 or 70%");
        }
        read
    }

    pub fn flag(&self) -> Option<bool> {
        match self.node.value {
            Value::Bool(value) => Some(value),
            _ => {
                self.expected("true or false");
                None
            }
        }
    }

    /// A duration as Go writes it, such as `1h30m`.
    pub fn duration(&self) -> Option<Duration> {
        let text = match &self.node.value {
            Value::Text(text) | Value::Number(text) => text.as_str(),
            _ => "",
        };
        match GoDuration::parse(text).filter(|duration| duration.0 >= 0) {
            Some(duration) => Some(duration.to_std()),
            None => {
                self.expected("a duration such as 90s, 5m or 1h30m");
                None
            }
        }
    }

    pub fn list(&self) -> Vec<Self> {
        match &self.node.value {
            Value::List(items) => items
                .iter()
                .enumerate()
                .map(|(index, node)| Field {
                    of: self.of,
                    node,
                    offset: node.offset,
                    path: format!("{}[{index}]", self.path),
                })
                .collect(),
            Value::Null => Vec::new(),
            _ => {
                self.expected("a list");
                Vec::new()
            }
        }
    }

    /// One value, or a list of them.
    pub fn one_or_more(&self) -> Vec<Self> {
        match &self.node.value {
            Value::List(_) => self.list(),
            _ => vec![self.clone()],
        }
    }

    pub fn is_text(&self) -> bool {
        matches!(self.node.value, Value::Text(_))
    }

    /// The fields of a mapping.
    pub fn table(&self) -> Option<Table<'a>> {
        match &self.node.value {
            Value::Map(entries) => {
                for (index, entry) in entries.iter().enumerate() {
                    if entries.iter().take(index).any(|before| before.key == entry.key) {
                        self.of.wrong(entry.offset, &child(&self.path, &entry.key), "it is there twice");
                    }
                }
                Some(Table { field: self.clone(), entries, asked: RefCell::new(Vec::new()) })
            }
            _ => {
                self.expected("a mapping");
                None
            }
        }
    }

    /// The value as JSON text, which a manifest may be.
    pub fn json(&self) -> String {
        self.node.to_json().to_string()
    }
}

fn child(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The fields of a mapping, and which of them were asked for.
pub(super) struct Table<'a> {
    pub field: Field<'a>,
    entries: &'a [Entry],
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Table<'a> {
    /// A field, if it is there.
    pub fn get(&self, key: &'static str) -> Option<Field<'a>> {
        self.asked.borrow_mut().push(key);
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        if entry.value.value == Value::Null {
            return None;
        }
        let of = self.field.of;
        Some(Field { of, node: &entry.value, offset: entry.offset, path: child(&self.field.path, key) })
    }

    pub fn wrong(&self, reason: impl Into<String>) {
        self.field.wrong(reason);
    }

    /// Every field that nobody has asked for is wrong.
    pub fn finish(self) {
        let asked = self.asked.into_inner();
        for entry in self.entries.iter().filter(|entry| !asked.contains(&entry.key.as_str())) {
            let reason = format!("there is no such field; known are {}", asked.join(", "));
            self.field.of.wrong(entry.offset, &child(&self.field.path, &entry.key), reason);
        }
    }
}
