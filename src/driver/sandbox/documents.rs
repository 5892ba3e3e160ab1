//! Whole objects, as their owners wrote them, beside the slim ones that the scheduler reads.
//!
//! Of kinds that the scheduler reads the slim object is the truth: a document is kept only of what came through here,
//! and what the sandbox changes since (a bind, a condition, a taint, a claim's volume) is carried over when it is asked
//! for; an object without a document is told as its slim object has it. Of all other kinds the document is all there is.
//! Resource versions count with those of the API; uids, generations and creation times are given as kube-apiserver gives
//! them. Of the defaults that the scheduler does not read those are added that clients rely on.

mod defaults;
mod ended;
mod merge;
mod written;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::api::label::{name_errors, namespace_errors};
use crate::api::{Kind, NamespacedName, Object, Str, Time};

use super::admission::{PriorityClasses, admit};
use super::api::{ApiError, SandboxApi};
use super::resources::ResourceId;
use super::writes::HAS_CHANGED;
pub(super) use defaults::default_document;
pub(super) use ended::is_owned_by;

/// What of an object's metadata the server gives it, whoever writes it.
const OWNED_METADATA: [&str; 7] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "selfLink",
];

/// Why a document is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// The API refuses it.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// It cannot be read as an object of its kind.
    #[error("{0}")]
    Malformed(String),
    /// A field has a value that it cannot have.
    #[error("{kind} {name:?} is invalid: {field}: {reason}")]
    Invalid {
        /// The object's kind, with its group.
        kind: String,
        /// The object's name.
        name: Str,
        /// The field's path.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What of an object a write is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it, as a controller of the sandbox writes it.
    Whole,
    /// All but the status, where the kind has one that is written apart.
    Main,
    /// The status alone.
    Status,
}

/// A change of a document that no slim object stands for. The others are told as
/// [`WatchEvent`](super::api::WatchEvent).
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentChange {
    /// The resource.
    pub resource: ResourceId,
    /// The object.
    pub key: NamespacedName,
    /// As it was; absent if it is new.
    pub old: Option<Arc<Value>>,
    /// As it is; absent if it is gone.
    pub new: Option<Arc<Value>>,
}

/// Documents by resource and key.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Documents {
    stored: BTreeMap<ResourceId, BTreeMap<NamespacedName, Arc<Value>>>,
    changes: Vec<DocumentChange>,
    /// How many objects of a name there have been, for names whose object is gone.
    gone: BTreeMap<(ResourceId, NamespacedName), u32>,
    /// The pods that have ended, of which the document is all there is.
    ended: BTreeSet<NamespacedName>,
}

impl Documents {
    fn get(&self, id: ResourceId, key: &NamespacedName) -> Option<&Arc<Value>> {
        self.stored.get(&id)?.get(key)
    }

    fn put(&mut self, id: ResourceId, key: NamespacedName, document: Arc<Value>) -> Option<Arc<Value>> {
        self.stored.entry(id).or_default().insert(key, document)
    }

    fn take(&mut self, id: ResourceId, key: &NamespacedName) -> Option<Arc<Value>> {
        if id.get().slim == Some(Kind::Pod) {
            self.ended.remove(key);
        }
        self.stored.get_mut(&id)?.remove(key)
    }

    /// The slim object of that name is gone.
    pub(super) fn forget(&mut self, kind: Kind, key: &NamespacedName) {
        if !self.stored.is_empty()
            && let Some(id) = ResourceId::of_slim(kind)
        {
            self.take(id, key);
        }
    }

    /// Whether a resource has a slim object of that name no more, and a document still.
    fn has_ended(&self, id: ResourceId, key: &NamespacedName) -> bool {
        id.get().slim == Some(Kind::Pod) && self.ended.contains(key)
    }

    pub(super) const fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    pub(super) fn take_changes(&mut self) -> Vec<DocumentChange> {
        std::mem::take(&mut self.changes)
    }
}

impl SandboxApi {
    /// Adds an object, given as a whole. One that the scheduler does not read keeps a uid and an age that it brings.
    ///
    /// # Errors
    /// If it cannot be read, is there already, or admission refuses it.
    pub fn create_document(
        &mut self,
        id: ResourceId,
        mut document: Value,
        now: Time,
    ) -> Result<Arc<Value>, DocumentError> {
        let key = prepare(id, &mut document)?;
        check_names(id, &key)?;
        default_document(id.get(), &mut document);
        if self.documents.has_ended(id, &key) {
            let resource = id.get().qualified();
            return Err(ApiError::AlreadyExists { resource, name: key.name }.into());
        }
        if let Some(kind) = id.get().slim {
            strip(&mut document);
            let mut object = read_slim(id, kind, &document)?;
            if object.metadata().generation == 0 && id.get().has_status {
                object.metadata_mut().generation = 1;
            }
            self.create(object, now)?;
            // A pod that has ended is not kept.
            if self.objects().get(kind, &key).is_none() {
                return Ok(Arc::new(document));
            }
            self.documents.put(id, key.clone(), Arc::new(document));
            return self.document(id, &key).ok_or_else(|| missing(id, &key));
        }
        if self.documents.get(id, &key).is_some() {
            let resource = id.get().qualified();
            return Err(ApiError::AlreadyExists { resource, name: key.name }.into());
        }
        let given = |pointer: &str| Some(text(&document, pointer).to_owned()).filter(|text| !text.is_empty());
        let (uid, created) = (given("/metadata/uid"), given("/metadata/creationTimestamp"));
        strip(&mut document);
        let n_gone = self.documents.gone.get(&(id, key.clone())).copied().unwrap_or_default();
        let kind = id.get().kind.to_lowercase();
        let number = if n_gone == 0 { String::new() } else { format!("#{}", n_gone + 1) };
        let uid = uid.unwrap_or_else(|| format!("{kind}/{}/{}{number}", key.namespace, key.name));
        let created = created.unwrap_or_else(|| now.truncate_to_second().to_rfc3339());
        set_metadata(&mut document, "uid", uid.into());
        set_metadata(&mut document, "creationTimestamp", created.into());
        if id.get().has_status {
            set_metadata(&mut document, "generation", 1.into());
        }
        Ok(self.put_document(id, key, document))
    }

    /// Replaces an object or its status. A uid or a resourceVersion in the document is a precondition.
    ///
    /// # Errors
    /// If it cannot be read, is not there, or is not as the writer believes.
    pub fn update_document(
        &mut self,
        id: ResourceId,
        mut document: Value,
        part: Part,
        now: Time,
    ) -> Result<Arc<Value>, DocumentError> {
        let key = prepare(id, &mut document)?;
        let old = self.document(id, &key).ok_or_else(|| missing(id, &key))?;
        check_preconditions(id, &key, &old, &document)?;
        let mut new = merged(id, &old, document, part);
        default_document(id.get(), &mut new);
        if new == *old {
            return Ok(old);
        }
        let Some(kind) = id.get().slim.filter(|_| !self.documents.has_ended(id, &key)) else {
            if is_being_let_go(&new) {
                self.remove_document(id, &key);
                return Ok(Arc::new(new));
            }
            return Ok(self.put_document(id, key, new));
        };
        self.update_slim(id, kind, &key, &new, now)?;
        if self.objects().get(kind, &key).is_none() {
            if kind == Kind::Pod {
                self.keep_ended(key, new.clone());
            }
            return Ok(Arc::new(new));
        }
        let mut stored = new;
        strip(&mut stored);
        self.documents.put(id, key.clone(), Arc::new(stored));
        self.document(id, &key).ok_or_else(|| missing(id, &key))
    }

    fn update_slim(
        &mut self,
        id: ResourceId,
        kind: Kind,
        key: &NamespacedName,
        new: &Value,
        now: Time,
    ) -> Result<(), DocumentError> {
        let old = self.objects().get(kind, key).ok_or_else(|| missing(id, key))?;
        let read = read_slim(id, kind, new)?;
        let mut object = admit(read, &PriorityClasses::new(&self.objects().priority_classes), now)?;
        let (was, is) = (old.metadata(), object.metadata_mut());
        is.uid = was.uid.clone();
        is.creation_timestamp = was.creation_timestamp;
        is.deletion_timestamp = was.deletion_timestamp;
        is.resource_version.clone_from(&was.resource_version);
        if matches!(&object, Object::Pod(pod) if pod.is_terminal()) {
            self.remove(kind, key);
        } else {
            self.store(object);
        }
        Ok(())
    }

    /// Deletes an object: pods in their grace period, or in `grace_seconds` if given; others when their finalizers are
    /// gone. What an object owns is not looked at.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn delete_document(
        &mut self,
        id: ResourceId,
        key: &NamespacedName,
        grace_seconds: Option<u64>,
        now: Time,
    ) -> Result<(), DocumentError> {
        if self.documents.has_ended(id, key) {
            self.remove_document(id, key);
            return Ok(());
        }
        if let Some(kind) = id.get().slim {
            if kind == Kind::Pod && grace_seconds == Some(0) {
                return if self.remove(kind, key) { Ok(()) } else { Err(missing(id, key)) };
            }
            if kind == Kind::Pod
                && let Some(seconds) = grace_seconds
            {
                return Ok(self.delete_pod_within(key, crate::api::Duration::from_secs(seconds), now)?);
            }
            self.delete(kind, key, now)?;
            if kind == Kind::Node && self.objects().node(&key.name).is_none() {
                self.lose_pods_of(&key.name);
            }
            return Ok(());
        }
        let old = self.documents.get(id, key).cloned().ok_or_else(|| missing(id, key))?;
        let has_finalizers = old
            .pointer("/metadata/finalizers")
            .and_then(Value::as_array)
            .is_some_and(|finalizers| !finalizers.is_empty());
        if !has_finalizers {
            self.remove_document(id, key);
        } else if old.pointer("/metadata/deletionTimestamp").is_none() {
            let mut document = Value::clone(&old);
            let at = now.truncate_to_second().to_rfc3339();
            set_metadata(&mut document, "deletionTimestamp", at.into());
            self.put_document(id, key.clone(), document);
        }
        Ok(())
    }

    /// An object as a whole.
    pub fn document(&self, id: ResourceId, key: &NamespacedName) -> Option<Arc<Value>> {
        match id.get().slim {
            None => self.documents.get(id, key).cloned(),
            Some(_) if self.documents.has_ended(id, key) => self.documents.get(id, key).cloned(),
            Some(kind) => self.objects().get(kind, key).map(|object| Arc::new(self.whole(&object))),
        }
    }

    /// Whether there is such an object.
    pub(super) fn has_document(&self, id: ResourceId, key: &NamespacedName) -> bool {
        match id.get().slim {
            None => self.documents.get(id, key).is_some(),
            Some(_) if self.documents.has_ended(id, key) => true,
            Some(kind) => self.objects().get(kind, key).is_some(),
        }
    }

    /// All objects of a resource as a whole, in the order of their keys.
    pub fn documents(&self, id: ResourceId) -> Vec<(NamespacedName, Arc<Value>)> {
        match id.get().slim {
            None => {
                let stored = self.documents.stored.get(&id).into_iter().flatten();
                stored.map(|(key, document)| (key.clone(), Arc::clone(document))).collect()
            }
            Some(kind) => {
                let objects = self.objects().of_kind(kind).into_iter();
                let mut all: Vec<(NamespacedName, Arc<Value>)> =
                    objects.map(|object| (object.key(), Arc::new(self.whole(&object)))).collect();
                if kind == Kind::Pod && !self.documents.ended.is_empty() {
                    all.extend(self.ended_pods().map(|(key, document)| (key.clone(), Arc::clone(document))));
                    all.sort_by(|(a, _), (b, _)| a.cmp(b));
                }
                all
            }
        }
    }

    /// The keys of all objects of a resource.
    pub(super) fn keys(&self, id: ResourceId) -> Vec<NamespacedName> {
        match id.get().slim {
            None => {
                self.documents.stored.get(&id).into_iter().flatten().map(|(key, _)| key.clone()).collect()
            }
            Some(kind) => {
                let objects = self.objects().of_kind(kind).into_iter().map(|object| object.key());
                let ended = self.documents.ended.iter().filter(|_| kind == Kind::Pod);
                objects.chain(ended.cloned()).collect()
            }
        }
    }

    /// A slim object as a whole: its document, with what has changed since.
    pub fn whole(&self, object: &Object) -> Value {
        let kind = object.kind();
        let slim = slim_value(object);
        let stored = ResourceId::of_slim(kind)
            .filter(|_| !self.documents.stored.is_empty())
            .and_then(|id| self.documents.get(id, &object.key()));
        let Some(stored) = stored else {
            let mut whole = Map::new();
            whole.insert("apiVersion".to_owned(), kind.api_version().into());
            whole.insert("kind".to_owned(), kind.as_str().into());
            if let Value::Object(fields) = slim {
                whole.extend(fields);
            }
            return Value::Object(whole);
        };
        let before = Object::deserialize_kind(kind, &**stored).map(|before| slim_value(&before));
        before.map_or(slim.clone(), |before| merge::carry_over(stored, &before, &slim))
    }

    /// The changes of documents that no slim object stands for, since this was last asked.
    pub fn take_document_changes(&mut self) -> Vec<DocumentChange> {
        self.documents.take_changes()
    }

    /// Stores a document of a kind that the scheduler does not read under a new version, and tells of it.
    fn put_document(&mut self, id: ResourceId, key: NamespacedName, mut document: Value) -> Arc<Value> {
        let version = self.take_version();
        set_metadata(&mut document, "resourceVersion", version.to_string().into());
        let new = Arc::new(document);
        let old = self.documents.put(id, key.clone(), Arc::clone(&new));
        self.documents.changes.push(DocumentChange { resource: id, key, old, new: Some(Arc::clone(&new)) });
        new
    }

    fn remove_document(&mut self, id: ResourceId, key: &NamespacedName) {
        let old = self.documents.take(id, key);
        self.take_version();
        *self.documents.gone.entry((id, key.clone())).or_default() += 1;
        self.documents.changes.push(DocumentChange { resource: id, key: key.clone(), old, new: None });
    }
}

/// What the server says of an object that is not there.
fn missing(id: ResourceId, key: &NamespacedName) -> DocumentError {
    ApiError::NotFound { resource: id.get().qualified(), name: key.name.clone() }.into()
}

/// Gives a field of the metadata a value.
pub(super) fn set_metadata(document: &mut Value, field: &str, value: Value) {
    let metadata = document.as_object_mut().map(|document| document.entry("metadata"));
    if let Some(metadata) = metadata.map(|entry| entry.or_insert_with(|| json!({})))
        && let Some(metadata) = metadata.as_object_mut()
    {
        metadata.insert(field.to_owned(), value);
    }
}

/// Takes away what the server gives an object.
pub(super) fn strip(document: &mut Value) {
    if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in OWNED_METADATA {
            metadata.shift_remove(field);
        }
    }
}

fn text<'a>(document: &'a Value, pointer: &str) -> &'a str {
    document.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Namespace and name of an object as a whole.
pub fn key_of(document: &Value) -> NamespacedName {
    NamespacedName::new(text(document, "/metadata/namespace"), text(document, "/metadata/name"))
}

/// Makes a document one of its resource, in a namespace if that has one.
fn prepare(id: ResourceId, document: &mut Value) -> Result<NamespacedName, DocumentError> {
    let resource = id.get();
    let Some(fields) = document.as_object_mut() else {
        return Err(DocumentError::Malformed(format!("a {} is an object in JSON", resource.kind)));
    };
    fields.insert("apiVersion".to_owned(), resource.api_version().into());
    fields.insert("kind".to_owned(), resource.kind.into());
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else {
        return Err(DocumentError::Malformed(format!("{}: metadata is no object", resource.kind)));
    };
    if !resource.is_namespaced {
        metadata.shift_remove("namespace");
    } else if metadata.get("namespace").and_then(Value::as_str).is_none_or(str::is_empty) {
        metadata.insert("namespace".to_owned(), "default".into());
    }
    Ok(key_of(document))
}

/// What the API server says of a name that no object can have.
fn check_names(id: ResourceId, key: &NamespacedName) -> Result<(), DocumentError> {
    let resource = id.get();
    let refuse = |field: &str, reason: String| DocumentError::Invalid {
        kind: resource.qualified_kind(),
        name: key.name.clone(),
        field: field.to_owned(),
        reason,
    };
    if key.name.is_empty() {
        return Err(refuse("metadata.name", "Required value: name or generateName is required".to_owned()));
    }
    let wrong = |value: &str, errors: Vec<String>| {
        errors.into_iter().next().map(|error| format!("Invalid value: {value:?}: {error}"))
    };
    let of_name = match resource.group {
        // Names of roles are those of a path.
        "rbac.authorization.k8s.io" => Vec::new(),
        _ if resource.slim == Some(Kind::Namespace) => namespace_errors(&key.name),
        _ => name_errors(&key.name),
    };
    if let Some(reason) = wrong(&key.name, of_name) {
        return Err(refuse("metadata.name", reason));
    }
    if resource.is_namespaced
        && let Some(reason) = wrong(&key.namespace, namespace_errors(&key.namespace))
    {
        return Err(refuse("metadata.namespace", reason));
    }
    Ok(())
}

fn check_preconditions(
    id: ResourceId,
    key: &NamespacedName,
    old: &Value,
    new: &Value,
) -> Result<(), DocumentError> {
    let conflict = |reason: String| {
        Err(ApiError::Conflict { resource: id.get().qualified(), name: key.name.clone(), reason }.into())
    };
    let [was, is] = [old, new].map(|document| text(document, "/metadata/uid"));
    if !is.is_empty() && is != was {
        return conflict(format!(
            "Precondition failed: UID in precondition: {is}, UID in object meta: {was}"
        ));
    }
    let [was, is] = [old, new].map(|document| text(document, "/metadata/resourceVersion"));
    if !is.is_empty() && is != was { conflict(HAS_CHANGED.to_owned()) } else { Ok(()) }
}

/// The object as it is to be stored.
fn merged(id: ResourceId, old: &Value, document: Value, part: Part) -> Value {
    let has_status = id.get().has_status;
    let mut new = match part {
        Part::Status => {
            let mut new = old.clone();
            put(&mut new, "status", document.get("status").cloned());
            new
        }
        Part::Main if has_status => {
            let mut new = document;
            put(&mut new, "status", old.get("status").cloned());
            new
        }
        Part::Main | Part::Whole => document,
    };
    strip(&mut new);
    for field in ["uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp"] {
        if let Some(value) = old.get("metadata").and_then(|metadata| metadata.get(field)) {
            set_metadata(&mut new, field, value.clone());
        }
    }
    if has_status && part != Part::Status && is_other_beside_status(old, &new) {
        let generation = old.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
        set_metadata(&mut new, "generation", (generation + 1).into());
    }
    new
}

fn put(document: &mut Value, field: &str, value: Option<Value>) {
    let Some(fields) = document.as_object_mut() else { return };
    match value {
        Some(value) => fields.insert(field.to_owned(), value),
        None => fields.shift_remove(field),
    };
}

/// Whether two documents differ in anything but metadata and status.
fn is_other_beside_status(a: &Value, b: &Value) -> bool {
    let rest = |document: &Value| {
        let fields = document.as_object().into_iter().flatten();
        let fields = fields.filter(|(field, _)| !matches!(field.as_str(), "metadata" | "status"));
        fields.map(|(field, value)| (field.clone(), value.clone())).collect::<Map<String, Value>>()
    };
    rest(a) != rest(b)
}

/// Whether its deletion has begun and nobody holds it any more.
fn is_being_let_go(document: &Value) -> bool {
    let finalizers = document.pointer("/metadata/finalizers").and_then(Value::as_array);
    document.pointer("/metadata/deletionTimestamp").is_some() && finalizers.is_none_or(Vec::is_empty)
}

fn read_slim(id: ResourceId, kind: Kind, document: &Value) -> Result<Object, DocumentError> {
    Object::deserialize_kind(kind, document).map_err(|error| {
        DocumentError::Malformed(format!(
            "{} in version {:?} cannot be handled as a {}: {error}",
            id.get().kind,
            id.get().version,
            id.get().kind
        ))
    })
}

/// The fields of a slim object.
fn slim_value(object: &Object) -> Value {
    object.serialize_fields(serde_json::value::Serializer).unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
