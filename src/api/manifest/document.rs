//! The documents of a text, each with its objects.
//!
//! An object without a kind that has lists of pods, nodes and so on is a snapshot of kube-scheduler-simulator
//! (`ResourcesForSnap` in its simulator/snapshot/snapshot.go); its lists are read like typed lists.
//!
//! A text is cut at its `---` lines first, so that one bad document does not hide the others. A part that begins
//! with `{` is read as JSON, and as YAML if it is not. Items of a list are read one at a time, so the values of a
//! long dump are never all in memory.

use std::collections::BTreeMap;

use serde::Deserialize as _;

use super::decode::{DecodeError, Decoder, describe};
use super::error::Segment;
use super::event::{Event, Events, Syntax, Token};
use super::json::Json;
use super::scalar::{Scalar, resolve};
use super::tree::{Anchors, Builder, Node, Problem, Value, get, get_text, items};
use super::yaml::Yaml;
use crate::api::workloads::{Living, LivingKind};
use crate::api::{Kind, Object};

/// What a document holds.
#[derive(Default)]
pub(super) struct Document {
    /// Counted from 1.
    pub number: usize,
    pub objects: Vec<Found>,
    /// How many objects of kinds that are not read, by `apiVersion/kind`.
    pub unknown: BTreeMap<String, usize>,
    pub problems: Vec<Wrong>,
    /// What a living sandbox reads.
    pub living: Vec<Living>,
    /// What is wrong among that.
    pub living_problems: Vec<Wrong>,
    /// Whether it brings a configuration of the scheduler with it, which is not read here.
    pub has_configuration: bool,
    /// Every object as it is written, where that is asked for.
    pub whole: Option<Vec<serde_json::Value>>,
}

impl Document {
    fn new(keeps_whole: bool) -> Self {
        Self { whole: keeps_whole.then(Vec::new), ..Self::default() }
    }
}

/// The lists of a snapshot, with the API version and the kind of what they hold.
const SNAPSHOT_LISTS: &[(&str, &str, &str)] = &[
    ("pods", "v1", "Pod"),
    ("nodes", "v1", "Node"),
    ("pvs", "v1", "PersistentVolume"),
    ("pvcs", "v1", "PersistentVolumeClaim"),
    ("storageClasses", "storage.k8s.io/v1", "StorageClass"),
    ("priorityClasses", "scheduling.k8s.io/v1", "PriorityClass"),
    ("namespaces", "v1", "Namespace"),
];
/// The configuration in a snapshot.
const SNAPSHOT_CONFIGURATION: &str = "schedulerConfig";

/// An object that was read.
pub(super) struct Found {
    pub object: Object,
    pub offset: usize,
    /// Whether it named a namespace that it cannot be in.
    pub namespace_dropped: bool,
}

/// An object, or a text, that is wrong.
pub(super) struct Wrong {
    pub object: String,
    pub path: Vec<Segment>,
    pub reason: String,
    pub offset: usize,
}

/// Reads all documents of a text, and keeps every object as it is written if that is asked for.
pub(super) fn read(text: &str, keeps_whole: bool) -> Vec<Document> {
    if u32::try_from(text.len()).is_err() {
        let reason = "it is larger than 4 GiB".to_owned();
        let wrong = Wrong { object: String::new(), path: Vec::new(), reason, offset: 0 };
        return vec![Document { number: 1, problems: vec![wrong], ..Document::default() }];
    }
    let mut documents = Vec::new();
    for (base, part) in split(text) {
        let first = documents.len();
        let is_json = part.trim_start().starts_with(['{', '[']);
        let result =
            if is_json { read_part(Json::new(part, base), keeps_whole, &mut documents) } else { Ok(()) };
        let result = match result {
            Ok(()) if is_json => Ok(()),
            json => {
                documents.truncate(first);
                let yaml = read_part(Yaml::new(part, base), keeps_whole, &mut documents);
                match (yaml, json) {
                    // Where neither fits, a quoted key says that JSON was meant.
                    (Err(_), Err(json)) if looks_like_json(part) => {
                        documents.truncate(first);
                        read_part(Json::new(part, base), keeps_whole, &mut documents).and(Err(json))
                    }
                    (yaml, _) => yaml,
                }
            }
        };
        if let Err(Syntax { reason, offset }) = result {
            let wrong = Wrong { object: String::new(), path: Vec::new(), reason, offset };
            documents.push(Document { problems: vec![wrong], ..Document::default() });
        }
    }
    for (position, document) in documents.iter_mut().enumerate() {
        document.number = position + 1;
    }
    documents
}

fn looks_like_json(part: &str) -> bool {
    part.trim_start().strip_prefix('{').is_some_and(|rest| rest.trim_start().starts_with(['"', '}']))
}

/// Cuts a text in front of its `---` lines and behind its `...` lines. Comments and directives stay with the
/// document that they precede.
fn split(text: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let mut line_start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut part_start = line_start;
    // What the part that is being read has so far.
    let (mut has_content, mut has_directive) = (false, false);
    while let Some(rest) = text.get(line_start..).filter(|rest| !rest.is_empty()) {
        let length = rest.find('\n').map_or(rest.len(), |newline| newline + 1);
        let line = rest.get(..length).unwrap_or_default();
        let marked_by = |marker| {
            let after: Option<&str> = line.strip_prefix(marker);
            after.filter(|after| after.is_empty() || after.starts_with([' ', '\t', '\r', '\n']))
        };
        let start = marked_by("---");
        if start.is_some() && (has_content || !has_directive) {
            if has_content {
                parts.push((part_start, text.get(part_start..line_start).unwrap_or_default()));
            }
            part_start = line_start;
            has_content = false;
        }
        line_start += length;
        if marked_by("...").is_some() {
            if has_content {
                parts.push((part_start, text.get(part_start..line_start).unwrap_or_default()));
            }
            part_start = line_start;
            (has_content, has_directive) = (false, false);
            continue;
        }
        has_directive = !has_content && start.is_none() && (has_directive || line.starts_with('%'));
        let content = start.unwrap_or(line).trim_start();
        has_content |= !(content.is_empty() || content.starts_with('#') || line.starts_with('%'));
    }
    if has_content {
        parts.push((part_start, text.get(part_start..).unwrap_or_default()));
    }
    parts
}

/// Reads the documents of a part.
fn read_part<'a>(
    mut events: impl Events<'a>,
    keeps_whole: bool,
    documents: &mut Vec<Document>,
) -> Result<(), Syntax> {
    let mut anchors = Anchors::default();
    let mut head = Builder::default();
    let mut item = Builder::default();
    while let Some(first) = events.next()? {
        let mut document = Document::new(keeps_whole);
        read_document(&mut events, first, &mut head, &mut item, &mut anchors, &mut document)?;
        if !is_null(&head.nodes, 0) {
            documents.push(document);
        }
    }
    Ok(())
}

/// Whether a value is null, or there is none.
fn is_null(nodes: &[Node<'_>], index: usize) -> bool {
    match nodes.get(index).map(|node| &node.value) {
        Some(Value::Plain(text)) => resolve(text) == Scalar::Null,
        Some(_) => false,
        None => true,
    }
}

/// Finds the place of a field of an object that was read before, by reading its part of the text again.
pub(super) fn locate(text: &str, offset: usize, path: &[Segment]) -> Option<usize> {
    let (base, part) = split(text).into_iter().rfind(|(base, _)| *base <= offset)?;
    locate_in(Json::new(part, base), offset, path).or_else(|| locate_in(Yaml::new(part, base), offset, path))
}

fn locate_in<'a>(mut events: impl Events<'a>, offset: usize, path: &[Segment]) -> Option<usize> {
    let mut anchors = Anchors::default();
    let mut builder = Builder::default();
    loop {
        builder.clear();
        while !builder.feed(events.next().ok()??, &mut anchors).ok()? {}
        let nodes = &builder.nodes;
        let is_object = |node: &Node<'_>| node.start as usize == offset && node.value == Value::Map;
        let Some(mut index) = nodes.iter().position(is_object) else { continue };
        for segment in path {
            index = match segment {
                Segment::Key(key) => get(nodes, index, key)?,
                Segment::Index(position) => items(nodes, index).nth(*position)?,
            };
        }
        return nodes.get(index).map(|node| node.start as usize);
    }
}

/// The items of a list that wait for the kind of the list, which may come after them.
struct Waiting<'a> {
    nodes: Vec<Node<'a>>,
    problem: Option<Problem>,
    position: usize,
}

fn next<'a>(events: &mut impl Events<'a>, offset: usize) -> Result<Token<'a>, Syntax> {
    events.next()?.ok_or_else(|| Syntax { reason: "the document ends too early".to_owned(), offset })
}

fn read_document<'a>(
    events: &mut impl Events<'a>,
    first: Token<'a>,
    head: &mut Builder<'a>,
    item: &mut Builder<'a>,
    anchors: &mut Anchors<'a>,
    document: &mut Document,
) -> Result<(), Syntax> {
    head.clear();
    let mut offset = first.offset;
    let mut complete = head.feed(first, anchors)?;
    let keeps_whole = document.whole.is_some();
    let mut listed = Document::new(keeps_whole);
    let mut waiting = Vec::new();
    let mut has_items = false;
    let mut snapshot = None;
    while !complete {
        let token = next(events, offset)?;
        offset = token.offset;
        let is_list = token.event == Event::SeqStart;
        if is_list && head.is_at("items") {
            has_items = true;
            let list = List { name: "items", default: item_type(&head.nodes, 0) };
            read_items(events, offset, &list, item, anchors, &mut listed, &mut waiting)?;
            head.feed(Token { event: Event::SeqStart, ..token.clone() }, anchors)?;
            head.feed(Token { event: Event::SeqEnd, ..token }, anchors)?;
        } else if is_list && let Some(list) = snapshot_list(head) {
            let into = snapshot.get_or_insert_with(|| Document::new(keeps_whole));
            read_items(events, offset, &list, item, anchors, into, &mut waiting)?;
            head.feed(Token { event: Event::SeqStart, ..token.clone() }, anchors)?;
            head.feed(Token { event: Event::SeqEnd, ..token }, anchors)?;
        } else {
            complete = head.feed(token, anchors)?;
        }
    }
    let kind = get_text(&head.nodes, 0, "kind").unwrap_or_default();
    let has_type = get(&head.nodes, 0, "kind").or_else(|| get(&head.nodes, 0, "apiVersion")).is_some();
    if let Some(snapshot) = snapshot.filter(|_| !has_type) {
        *document = snapshot;
        document.has_configuration =
            get(&head.nodes, 0, SNAPSHOT_CONFIGURATION).is_some_and(|at| !is_null(&head.nodes, at));
        if let Some(problem) = &head.problem {
            document.problems.push(wrong(problem, String::new()));
        }
    } else if has_items && kind.ends_with("List") {
        let default = item_type(&head.nodes, 0);
        for Waiting { nodes, problem, position } in &waiting {
            let at = Some(*position);
            Reading { nodes, problem: problem.as_ref(), default: default.as_ref(), list: "items", at }
                .object(0, &mut listed);
        }
        if let Some(problem) = &head.problem {
            listed.problems.push(wrong(problem, kind.to_owned()));
        }
        *document = listed;
    } else {
        let problem = head.problem.as_ref();
        Reading { nodes: &head.nodes, problem, default: None, list: "items", at: None }.object(0, document);
    }
    Ok(())
}

/// A list whose items are read one at a time.
struct List {
    /// The field that holds it.
    name: &'static str,
    /// API version and kind that hold where an item names none.
    default: Option<(String, String)>,
}

/// The list of a snapshot that begins now.
fn snapshot_list(head: &Builder<'_>) -> Option<List> {
    let (name, version, kind) = SNAPSHOT_LISTS.iter().find(|(name, ..)| head.is_at(name))?;
    Some(List { name, default: Some(((*version).to_owned(), (*kind).to_owned())) })
}

/// API version and kind of the items of a typed list, from what is known of the list.
fn item_type(nodes: &[Node<'_>], list: usize) -> Option<(String, String)> {
    let kind = get_text(nodes, list, "kind")?.strip_suffix("List").filter(|kind| !kind.is_empty())?;
    Some((get_text(nodes, list, "apiVersion")?.to_owned(), kind.to_owned()))
}

fn read_items<'a>(
    events: &mut impl Events<'a>,
    offset: usize,
    list: &List,
    item: &mut Builder<'a>,
    anchors: &mut Anchors<'a>,
    listed: &mut Document,
    waiting: &mut Vec<Waiting<'a>>,
) -> Result<(), Syntax> {
    let List { name, default } = list;
    let mut offset = offset;
    for position in 0.. {
        let mut token = next(events, offset)?;
        if token.event == Event::SeqEnd {
            break;
        }
        item.clear();
        loop {
            offset = token.offset;
            if item.feed(token, anchors)? {
                break;
            }
            token = next(events, offset)?;
        }
        if get(&item.nodes, 0, "kind").is_none() && default.is_none() {
            waiting.push(Waiting {
                nodes: std::mem::take(&mut item.nodes),
                problem: item.problem.take(),
                position,
            });
        } else {
            let problem = item.problem.as_ref();
            let at = Some(position);
            Reading { nodes: &item.nodes, problem, default: default.as_ref(), list: name, at }
                .object(0, listed);
        }
    }
    Ok(())
}

fn wrong(problem: &Problem, object: String) -> Wrong {
    Wrong { object, path: problem.path.clone(), reason: problem.reason.clone(), offset: problem.offset }
}

/// The values of an object that is to be read.
struct Reading<'t, 'a> {
    nodes: &'t [Node<'a>],
    problem: Option<&'t Problem>,
    /// API version and kind that hold where the object names none.
    default: Option<&'t (String, String)>,
    /// The field that holds the list.
    list: &'t str,
    /// The position in the list.
    at: Option<usize>,
}

impl Reading<'_, '_> {
    fn offset(&self, index: usize) -> usize {
        self.nodes.get(index).map_or(0, |node| node.start as usize)
    }

    /// What errors call the object: its kind and name, or its place in the list.
    fn label(&self, root: usize, kind: &str) -> String {
        let metadata = get(self.nodes, root, "metadata");
        let text =
            |key| metadata.and_then(|metadata| get_text(self.nodes, metadata, key)).unwrap_or_default();
        let name = match (text("namespace"), text("name")) {
            (_, "") => self.at.map_or_else(String::new, |at| format!("{}[{at}]", self.list)),
            ("", name) => name.to_owned(),
            (namespace, name) => format!("{namespace}/{name}"),
        };
        if kind.is_empty() || name.is_empty() { format!("{kind}{name}") } else { format!("{kind} {name}") }
    }

    /// Reads the object at `root`, or the objects of the list at `root`.
    fn object(&self, root: usize, into: &mut Document) {
        let default_kind = self.default.map_or("", |(_, kind)| kind);
        let kind = get_text(self.nodes, root, "kind").unwrap_or(default_kind);
        let fail = |path: &[&str], reason: String, offset: usize, into: &mut Document| {
            let path = path.iter().map(|key| Segment::Key((*key).into())).collect();
            into.problems.push(Wrong { object: self.label(root, kind), path, reason, offset });
        };
        let offset = self.offset(root);
        match self.nodes.get(root).map(|node| &node.value) {
            Some(Value::Map) => {}
            Some(value) if self.at.is_some() || !is_null(self.nodes, root) => {
                fail(&[], format!("an object is expected here, not {}", describe(value)), offset, into);
                return;
            }
            _ => return,
        }
        if let Some(problem) = self.problem {
            into.problems.push(wrong(problem, self.label(root, kind)));
            return;
        }
        let default_version = self.default.map_or("", |(version, _)| version);
        let version = get_text(self.nodes, root, "apiVersion").unwrap_or(default_version);
        for (field, value) in [("kind", kind), ("apiVersion", version)] {
            if value.is_empty() {
                let reason = match get(self.nodes, root, field).and_then(|at| self.nodes.get(at)) {
                    Some(node) => format!("a name is expected here, not {}", describe(&node.value)),
                    None => "it is missing".to_owned(),
                };
                let place = get(self.nodes, root, field).map_or(offset, |at| self.offset(at));
                fail(&[field], reason, place, into);
                return;
            }
        }
        if kind.ends_with("List") && self.list(root, version, kind, into) {
            return;
        }
        if let Some(whole) = &mut into.whole {
            // What cannot be read so is told of where it is read as its kind.
            let value = serde_json::Value::deserialize(Decoder::new(self.nodes, root));
            whole.extend(value.ok().map(|mut value| {
                value["apiVersion"] = version.into();
                value["kind"] = kind.into();
                value
            }));
        }
        if let Some(living) = LivingKind::find(version, kind) {
            match self.read_living(root, living) {
                Ok(found) => into.living.push(found),
                Err(DecodeError { reason, mut path, offset: place }) => {
                    path.reverse();
                    let object = self.label(root, kind);
                    let wrong = Wrong { object, path, reason, offset: place.unwrap_or(offset) };
                    into.living_problems.push(wrong);
                }
            }
        }
        let Some(known) = find_kind(version, kind) else {
            *into.unknown.entry(format!("{version}/{kind}")).or_default() += 1;
            return;
        };
        match self.read(root, known) {
            Ok(found) => into.objects.push(found),
            Err(DecodeError { reason, mut path, offset: place }) => {
                path.reverse();
                let object = self.label(root, kind);
                into.problems.push(Wrong { object, path, reason, offset: place.unwrap_or(offset) });
            }
        }
    }

    /// Reads the items of a list that is itself an item, or has none. Answers whether it is a list.
    fn list(&self, root: usize, version: &str, kind: &str, into: &mut Document) -> bool {
        let is_known =
            kind.strip_suffix("List").is_some_and(|of| of.is_empty() || find_kind(version, of).is_some());
        let Some(list) = get(self.nodes, root, "items").filter(|list| !is_null(self.nodes, *list)) else {
            return is_known;
        };
        match self.nodes.get(list).map(|node| &node.value) {
            Some(Value::Seq) => {}
            Some(value) if is_known => {
                into.problems.push(Wrong {
                    object: self.label(root, kind),
                    path: vec![Segment::Key("items".into())],
                    reason: format!("a list is expected here, not {}", describe(value)),
                    offset: self.offset(list),
                });
                return true;
            }
            _ => return false,
        }
        let default = item_type(self.nodes, root);
        for (position, index) in items(self.nodes, list).enumerate() {
            let (nodes, default, at) = (self.nodes, default.as_ref(), Some(position));
            Reading { nodes, problem: None, default, list: "items", at }.object(index, into);
        }
        true
    }

    fn read_living(&self, root: usize, kind: LivingKind) -> Result<Living, DecodeError> {
        let mut object = Living::deserialize_kind(kind, Decoder::new(self.nodes, root))?;
        let metadata = object.metadata_mut();
        if metadata.name.is_empty() {
            return Err(self.nameless(root));
        }
        if !kind.is_namespaced() {
            metadata.namespace = "".into();
        } else if metadata.namespace.is_empty() {
            metadata.namespace = "default".into();
        }
        object.check().map_err(|problem| {
            let mut path = Segment::path(&problem.path);
            // As far into it as the text goes.
            let mut place = root;
            for segment in &path {
                let Segment::Key(key) = segment else { break };
                match get(self.nodes, place, key) {
                    Some(at) => place = at,
                    None => break,
                }
            }
            path.reverse();
            DecodeError { reason: problem.reason, path, offset: Some(self.offset(place)) }
        })?;
        Ok(object)
    }

    fn nameless(&self, root: usize) -> DecodeError {
        let place = get(self.nodes, root, "metadata").map_or(self.offset(root), |at| self.offset(at));
        let path = ["name", "metadata"].map(|key| Segment::Key(key.into())).to_vec();
        DecodeError { reason: "it is missing".to_owned(), path, offset: Some(place) }
    }

    fn read(&self, root: usize, kind: Kind) -> Result<Found, DecodeError> {
        let mut object = Object::deserialize_kind(kind, Decoder::new(self.nodes, root))?;
        let offset = self.offset(root);
        if object.metadata().name.is_empty() {
            return Err(self.nameless(root));
        }
        let in_namespace = !object.metadata().namespace.is_empty();
        let namespace_dropped = in_namespace && !kind.is_namespaced();
        if namespace_dropped {
            object.metadata_mut().namespace = "".into();
        } else if !in_namespace && kind.is_namespaced() {
            object.metadata_mut().namespace = "default".into();
        }
        Ok(Found { object, offset, namespace_dropped })
    }
}

/// The kind of that name in that group, in whatever version.
fn find_kind(version: &str, kind: &str) -> Option<Kind> {
    fn group(version: &str) -> &str {
        version.rsplit_once('/').map_or("", |(group, _)| group)
    }
    Kind::ALL
        .iter()
        .copied()
        .find(|known| known.as_str() == kind && group(known.api_version()) == group(version))
}
