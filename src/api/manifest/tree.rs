//! The values of one object, flat in one list, each with its place in the text.
//!
//! A container's values follow it, and it knows where they end, so that a part that nobody reads is skipped in one
//! step. The list is used again for the next object of a long dump.

use std::borrow::Cow;
use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use super::error::Segment;
use super::event::{Event, Syntax, Token};
use super::scalar::{Scalar, resolve};

/// The deepest nesting that is read. The deepest schemas of real CRDs need about a hundred.
pub(super) const MAX_DEPTH: usize = 256;
/// How many values aliases may add to one source, which keeps a small text from growing without bounds.
const MAX_ALIASED: usize = 200_000;
/// How many values anchors may keep of one part of a source: each keeps a copy of what is inside it.
const MAX_ANCHORED: usize = 1_000_000;
/// Up to this many keys are compared one by one.
const FEW_KEYS: usize = 12;

/// One value.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub value: Value<'a>,
    /// Byte offset in the source.
    pub start: u32,
    /// Index behind the last value that is inside this one.
    pub end: u32,
}

/// What a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// An unquoted scalar.
    Plain(Cow<'a, str>),
    /// Text.
    Text(Cow<'a, str>),
    /// A mapping: keys and values in turns.
    Map,
    /// A list.
    Seq,
}

/// Something wrong with the structure that does not keep the rest from being read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub reason: String,
    pub offset: usize,
    pub path: Vec<Segment>,
}

/// A container that is still open.
struct Frame {
    /// Its index.
    node: usize,
    map: bool,
    /// How many values it has so far, keys counted too.
    children: usize,
    /// The index of the latest key.
    key: usize,
    /// Whether one of its keys is `<<`.
    merge: bool,
    anchor: usize,
}

/// The values that bear an anchor, for the aliases of one part of a source.
#[derive(Default)]
pub(super) struct Anchors<'a> {
    values: BTreeMap<usize, Vec<Node<'a>>>,
    /// How many values have been kept, and how many copied to where an alias stands.
    kept: usize,
    copied: usize,
}

impl<'a> Anchors<'a> {
    /// Keeps the value that stands at `index`, the last of `nodes`.
    fn keep(&mut self, anchor: usize, nodes: &[Node<'a>], index: usize) -> Result<(), Syntax> {
        let value = nodes.get(index..).unwrap_or_default();
        self.kept += value.len();
        if self.kept > MAX_ANCHORED {
            let offset = value.first().map_or(0, |node| node.start as usize);
            return Err(Syntax { reason: format!("anchors keep more than {MAX_ANCHORED} values"), offset });
        }
        let mut value = value.to_vec();
        rebase(&mut value, -i64::from(narrow(index)));
        self.values.insert(anchor, value);
        Ok(())
    }
}

/// Puts events together.
#[derive(Default)]
pub(super) struct Builder<'a> {
    pub nodes: Vec<Node<'a>>,
    /// The first problem that was found.
    pub problem: Option<Problem>,
    frames: Vec<Frame>,
}

fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

impl<'a> Builder<'a> {
    /// Forgets everything, for the next value.
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.frames.clear();
        self.problem = None;
    }

    /// Whether the next event is the value of that key of the outermost mapping.
    pub(super) fn is_at(&self, key: &str) -> bool {
        match self.frames.as_slice() {
            [frame] if frame.map && frame.children % 2 == 1 => {
                matches!(&self.nodes.get(frame.key).map(|node| &node.value), Some(Value::Text(text)) if text == key)
            }
            _ => false,
        }
    }

    /// Takes an event. Answers whether the outermost value is complete.
    ///
    /// # Errors
    /// Where a limit is passed.
    pub(super) fn feed(&mut self, token: Token<'a>, anchors: &mut Anchors<'a>) -> Result<bool, Syntax> {
        let index = self.nodes.len();
        let Token { event, offset, anchor } = token;
        let value = match event {
            Event::MapEnd | Event::SeqEnd => {
                self.close(anchors)?;
                return Ok(self.frames.is_empty());
            }
            Event::Alias(id) => {
                self.alias(id, offset, anchors)?;
                self.child(index);
                return Ok(self.frames.is_empty());
            }
            Event::Plain(text) => Value::Plain(text),
            Event::Text(text) => Value::Text(text),
            Event::MapStart => Value::Map,
            Event::SeqStart => Value::Seq,
        };
        let container = match value {
            Value::Map => Some(true),
            Value::Seq => Some(false),
            _ => None,
        };
        self.nodes.push(Node { value, start: narrow(offset), end: narrow(index + 1) });
        self.child(index);
        if let Some(map) = container {
            if self.frames.len() >= MAX_DEPTH {
                return Err(Syntax {
                    reason: format!("values are nested deeper than {MAX_DEPTH} levels"),
                    offset,
                });
            }
            self.frames.push(Frame { node: index, map, children: 0, key: 0, merge: false, anchor });
        } else if anchor > 0 {
            anchors.keep(anchor, &self.nodes, index)?;
        }
        Ok(self.frames.is_empty())
    }

    /// Counts the value at `index` in the container that is open; a key is turned into text.
    fn child(&mut self, index: usize) {
        let Some(frame) = self.frames.last_mut() else { return };
        let is_key = frame.map && frame.children % 2 == 0;
        frame.children += 1;
        if !is_key {
            return;
        }
        frame.key = index;
        let Some(node) = self.nodes.get_mut(index) else { return };
        let offset = node.start as usize;
        let wrong = match &mut node.value {
            Value::Text(_) => None,
            Value::Plain(text) if text == "<<" => {
                frame.merge = true;
                None
            }
            Value::Plain(text) => match resolve(text) {
                Scalar::Text => {
                    node.value = Value::Text(std::mem::take(text));
                    None
                }
                Scalar::Bool(word) => {
                    node.value = Value::Text(word.to_string().into());
                    None
                }
                Scalar::Int(number) => {
                    node.value = Value::Text(number.to_string().into());
                    None
                }
                _ => Some(format!("the key {text:?} must be in quotes")),
            },
            Value::Map | Value::Seq => Some("a key must be text, not a mapping or a list".to_owned()),
        };
        if let Some(reason) = wrong {
            self.note(reason, offset);
        }
    }

    /// Keeps the first problem, with the path of the container that is open.
    fn note(&mut self, reason: String, offset: usize) {
        if self.problem.is_some() {
            return;
        }
        let mut path = Vec::new();
        for frame in self.frames.iter().take(self.frames.len().saturating_sub(1)) {
            path.push(if frame.map {
                Segment::Key(self.text(frame.key).unwrap_or_default().into())
            } else {
                Segment::Index(frame.children.saturating_sub(1))
            });
        }
        self.problem = Some(Problem { reason, offset, path });
    }

    fn text(&self, index: usize) -> Option<&str> {
        match &self.nodes.get(index)?.value {
            Value::Text(text) | Value::Plain(text) => Some(text),
            Value::Map | Value::Seq => None,
        }
    }

    fn close(&mut self, anchors: &mut Anchors<'a>) -> Result<(), Syntax> {
        let Some(frame) = self.frames.last() else { return Ok(()) };
        let (index, map, merge, anchor) = (frame.node, frame.map, frame.merge, frame.anchor);
        let end = narrow(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(index) {
            node.end = end;
        }
        if map {
            if let Some((key, offset)) = self.duplicate(index) {
                self.note(format!("the key {key:?} is there twice in this mapping"), offset);
            }
            if merge {
                self.merge(index);
            }
        }
        if anchor > 0 {
            anchors.keep(anchor, &self.nodes, index)?;
        }
        self.frames.pop();
        Ok(())
    }

    /// A key that a mapping has twice.
    fn duplicate(&self, map: usize) -> Option<(String, usize)> {
        let few = entries(&self.nodes, map).nth(FEW_KEYS).is_none();
        let mut seen = FxHashSet::default();
        for (position, (key, _)) in entries(&self.nodes, map).enumerate() {
            let text = self.text(key)?;
            let twice = if few {
                entries(&self.nodes, map).take(position).any(|(earlier, _)| self.text(earlier) == Some(text))
            } else {
                !seen.insert(text)
            };
            if twice {
                return Some((text.to_owned(), self.nodes.get(key)?.start as usize));
            }
        }
        None
    }

    /// Puts a copy of an anchor's value at the end.
    fn alias(&mut self, id: usize, offset: usize, anchors: &mut Anchors<'a>) -> Result<(), Syntax> {
        let Some(value) = anchors.values.get(&id) else {
            return Err(Syntax {
                reason: "this alias stands inside the value that it refers to".to_owned(),
                offset,
            });
        };
        anchors.copied += value.len();
        if anchors.copied > MAX_ALIASED {
            return Err(Syntax {
                reason: format!("aliases expand to more than {MAX_ALIASED} values"),
                offset,
            });
        }
        let start = self.nodes.len();
        self.nodes.extend(value.iter().cloned());
        rebase(self.nodes.get_mut(start..).unwrap_or_default(), i64::from(narrow(start)));
        Ok(())
    }

    /// Resolves `<<`: keys of the mappings that it names are added where the mapping itself lacks them.
    fn merge(&mut self, map: usize) {
        let own: Vec<(usize, usize)> = entries(&self.nodes, map).collect();
        let is_merge = |nodes: &[Node<'a>], key: usize| matches!(nodes.get(key).map(|node| &node.value), Some(Value::Plain(text)) if text == "<<");
        let mut merged: Vec<(usize, usize)> =
            own.iter().copied().filter(|(key, _)| !is_merge(&self.nodes, *key)).collect();
        let mut wrong = None;
        for (key, value) in own {
            if !is_merge(&self.nodes, key) {
                continue;
            }
            let sources = match self.nodes.get(value).map(|node| &node.value) {
                Some(Value::Map) => vec![value],
                Some(Value::Seq) => items(&self.nodes, value).collect(),
                _ => Vec::new(),
            };
            let all_maps = sources
                .iter()
                .all(|source| matches!(self.nodes.get(*source).map(|node| &node.value), Some(Value::Map)));
            if sources.is_empty() || !all_maps {
                wrong = self.nodes.get(value).map(|node| node.start as usize);
                continue;
            }
            for source in sources {
                for (key, value) in entries(&self.nodes, source) {
                    if !merged.iter().any(|(known, _)| self.text(*known) == self.text(key)) {
                        merged.push((key, value));
                    }
                }
            }
        }
        let mut tail = Vec::new();
        for (key, value) in merged {
            for index in [key, value] {
                let Some(node) = self.nodes.get(index) else { continue };
                let part = self.nodes.get(index..node.end as usize).unwrap_or_default();
                let to = map + 1 + tail.len();
                let from = tail.len();
                tail.extend(part.iter().cloned());
                let shift = i64::from(narrow(to)) - i64::from(narrow(index));
                rebase(tail.get_mut(from..).unwrap_or_default(), shift);
            }
        }
        self.nodes.truncate(map + 1);
        self.nodes.append(&mut tail);
        let end = narrow(self.nodes.len());
        if let Some(node) = self.nodes.get_mut(map) {
            node.end = end;
        }
        if let Some(offset) = wrong {
            self.note("<< must be given an alias of a mapping, or a list of those".to_owned(), offset);
        }
    }
}

/// Shifts the indices inside nodes that were moved.
fn rebase(nodes: &mut [Node<'_>], by: i64) {
    for node in nodes {
        node.end = u32::try_from(i64::from(node.end) + by).unwrap_or(u32::MAX);
    }
}

/// The indices of the values of a list.
pub(super) fn items<'t>(nodes: &'t [Node<'_>], list: usize) -> impl Iterator<Item = usize> + 't {
    let end = nodes.get(list).map_or(0, |node| node.end as usize);
    let mut next = list + 1;
    std::iter::from_fn(move || {
        let index = next;
        if index >= end {
            return None;
        }
        next = nodes.get(index)?.end as usize;
        Some(index)
    })
}

/// The indices of the keys and values of a mapping.
pub(super) fn entries<'t>(nodes: &'t [Node<'_>], map: usize) -> impl Iterator<Item = (usize, usize)> + 't {
    let mut values = items(nodes, map);
    std::iter::from_fn(move || Some((values.next()?, values.next()?)))
}

/// The index of the value of a key.
pub(super) fn get(nodes: &[Node<'_>], map: usize, key: &str) -> Option<usize> {
    if !matches!(nodes.get(map)?.value, Value::Map) {
        return None;
    }
    entries(nodes, map)
        .find(|(index, _)| matches!(&nodes.get(*index).map(|node| &node.value), Some(Value::Text(text)) if text == key))
        .map(|(_, value)| value)
}

/// The value of a key, if it is text or would be read as text.
pub(super) fn get_text<'t>(nodes: &'t [Node<'_>], map: usize, key: &str) -> Option<&'t str> {
    match &nodes.get(get(nodes, map, key)?)?.value {
        Value::Text(text) => Some(text),
        Value::Plain(text) if resolve(text) == Scalar::Text => Some(text),
        _ => None,
    }
}
