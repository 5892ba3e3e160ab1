//! Puts events together into a tree, expands aliases and merges.
//!
//! A merged key stands beside a key of the same name that the mapping has itself: both are there, which is the
//! error that kube-scheduler sees too.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Entry, Node, Value};
use crate::api::manifest::event::{Event, Syntax, Token};
use crate::api::manifest::scalar::{Scalar, resolve};
use crate::config::go_text::json_number;

/// The deepest nesting that is read.
const DEPTH_MAX: usize = 200;
/// How many values aliases may add, which keeps a small text from growing without bounds.
const ALIASED_MAX: usize = 50_000;

/// A container that is still open.
struct Frame {
    offset: usize,
    anchor: usize,
    items: Items,
}

enum Items {
    List(Vec<Node>),
    Map { entries: Vec<Entry>, key: Option<Key> },
}

enum Key {
    Name(String, usize),
    Merge(usize),
}

/// Puts events together.
pub(super) struct Builder {
    is_json: bool,
    frames: Vec<Frame>,
    root: Option<Node>,
    anchors: BTreeMap<usize, Node>,
    aliased: usize,
    problems: Vec<Syntax>,
}

impl Builder {
    pub(super) const fn new(is_json: bool) -> Self {
        Self {
            is_json,
            frames: Vec::new(),
            root: None,
            anchors: BTreeMap::new(),
            aliased: 0,
            problems: Vec::new(),
        }
    }

    /// Takes an event. Answers whether the outermost value is complete.
    ///
    /// # Errors
    /// A limit is passed, or an alias stands inside the value that it refers to.
    pub(super) fn feed(&mut self, token: Token<'_>) -> Result<bool, Syntax> {
        let Token { event, offset, anchor } = token;
        match event {
            Event::Plain(text) if self.expects_key() => self.plain_key(&text, offset, anchor),
            Event::Text(text) if self.expects_key() => self.name(text.into_owned(), offset, anchor),
            Event::Plain(text) => {
                let value = self.scalar(text, offset);
                self.value(Node { value, offset }, anchor);
            }
            Event::Text(text) => {
                self.value(Node { value: Value::Text(text.into_owned()), offset }, anchor);
            }
            Event::MapStart => self.open(Items::Map { entries: Vec::new(), key: None }, offset, anchor)?,
            Event::SeqStart => self.open(Items::List(Vec::new()), offset, anchor)?,
            Event::MapEnd | Event::SeqEnd => self.close(),
            Event::Alias(id) => self.alias(id, offset)?,
        }
        Ok(self.root.is_some())
    }

    /// The tree; null if there was no event.
    pub(super) fn finish(self) -> (Node, Vec<Syntax>) {
        (self.root.unwrap_or(Node { value: Value::Null, offset: 0 }), self.problems)
    }

    fn expects_key(&self) -> bool {
        matches!(self.frames.last(), Some(Frame { items: Items::Map { key: None, .. }, .. }))
    }

    fn problem(&mut self, reason: impl Into<String>, offset: usize) {
        self.problems.push(Syntax { reason: reason.into(), offset });
    }

    fn key(&mut self, new: Key) {
        if let Some(Frame { items: Items::Map { key, .. }, .. }) = self.frames.last_mut() {
            *key = Some(new);
        }
    }

    fn name(&mut self, name: String, offset: usize, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, Node { value: Value::Text(name.clone()), offset });
        }
        self.key(Key::Name(name, offset));
    }

    /// An unquoted key: numbers and booleans become text.
    fn plain_key(&mut self, text: &str, offset: usize, anchor: usize) {
        let name = match resolve(text) {
            Scalar::Text if text == "<<" && !self.is_json => return self.key(Key::Merge(offset)),
            Scalar::Text => text.to_owned(),
            Scalar::Bool(value) => value.to_string(),
            Scalar::Int(number) => number.to_string(),
            Scalar::Large(_) | Scalar::Float(_) | Scalar::Null => {
                self.problem(format!("the key {text:?} must be in quotes"), offset);
                text.to_owned()
            }
        };
        self.name(name, offset, anchor);
    }

    fn scalar(&mut self, text: Cow<'_, str>, offset: usize) -> Value {
        match resolve(&text) {
            Scalar::Null => Value::Null,
            Scalar::Bool(value) => Value::Bool(value),
            Scalar::Text => Value::Text(text.into_owned()),
            // JSON's own spelling tells 3 from 3.0; in YAML they are the same number.
            _ if self.is_json => Value::Number(text.into_owned()),
            Scalar::Int(number) => Value::Number(number.to_string()),
            Scalar::Large(number) => Value::Number(number.to_string()),
            Scalar::Float(number) if number.is_finite() => Value::Number(json_number(number)),
            Scalar::Float(_) => {
                self.problem(format!("{text} is no number that JSON can write"), offset);
                Value::Null
            }
        }
    }

    fn open(&mut self, items: Items, offset: usize, anchor: usize) -> Result<(), Syntax> {
        if self.frames.len() >= DEPTH_MAX {
            let reason = format!("values are nested deeper than {DEPTH_MAX} levels");
            return Err(Syntax { reason, offset });
        }
        if self.expects_key() {
            let reason = "a key must be text, not a mapping or a list".to_owned();
            return Err(Syntax { reason, offset });
        }
        self.frames.push(Frame { offset, anchor, items });
        Ok(())
    }

    fn close(&mut self) {
        let Some(Frame { offset, anchor, items }) = self.frames.pop() else { return };
        let value = match items {
            Items::List(items) => Value::List(items),
            Items::Map { entries, .. } => Value::Map(entries),
        };
        self.value(Node { value, offset }, anchor);
    }

    fn alias(&mut self, id: usize, offset: usize) -> Result<(), Syntax> {
        let Some(node) = self.anchors.get(&id).cloned() else {
            let reason = "this alias stands inside the value that it refers to".to_owned();
            return Err(Syntax { reason, offset });
        };
        self.aliased += size(&node);
        if self.aliased > ALIASED_MAX {
            let reason = format!("aliases expand to more than {ALIASED_MAX} values");
            return Err(Syntax { reason, offset });
        }
        match node.value {
            _ if !self.expects_key() => self.value(node, 0),
            Value::Text(name) | Value::Number(name) => self.name(name, offset, 0),
            _ => {
                let reason = "a key must be text, and this alias does not stand for one".to_owned();
                return Err(Syntax { reason, offset });
            }
        }
        Ok(())
    }

    /// Puts a complete value where it belongs.
    fn value(&mut self, node: Node, anchor: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.frames.last_mut() {
            None => self.root = Some(node),
            Some(Frame { items: Items::List(items), .. }) => items.push(node),
            Some(Frame { items: Items::Map { entries, key }, .. }) => match key.take() {
                Some(Key::Name(key, offset)) => entries.push(Entry { key, offset, value: node }),
                Some(Key::Merge(offset)) => match merged(node) {
                    Some(more) => entries.extend(more),
                    None => {
                        let reason = "<< must be given an alias of a mapping, or a list of those";
                        self.problem(reason, offset);
                    }
                },
                None => {}
            },
        }
    }
}

/// The entries of a mapping, or of all mappings of a list.
fn merged(node: Node) -> Option<Vec<Entry>> {
    match node.value {
        Value::Map(entries) => Some(entries),
        Value::List(items) => {
            let mut all = Vec::new();
            for item in items {
                let Value::Map(entries) = item.value else { return None };
                all.extend(entries);
            }
            Some(all)
        }
        _ => None,
    }
}

/// How many values the tree has.
fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(items) => items.iter().map(size).sum(),
        Value::Map(entries) => entries.iter().map(|entry| size(&entry.value)).sum(),
        _ => 0,
    }
}
