//! What a client of the sandbox's API asks to have written, done as kube-apiserver does it.
//!
//! A request is a value, so that it can be an operation of a sandbox that is taken back and done again. Beside the plain
//! writes: patches, bindings, evictions that respect disruption budgets, deletion of namespaces with what is in them and
//! of what an object owns (in the background, whatever propagation policy is asked for, unless it is to be orphaned).

pub mod patch;
mod pods;

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api::{Kind, NamespacedName, Str, Time, Uid};

use super::api::{ApiError, SandboxApi};
use super::documents::{DocumentError, Part, is_owned_by, key_of, set_metadata, strip};
use super::resources::ResourceId;
use patch::{PatchKind, patched};

/// A write that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientRequest {
    /// The resource.
    pub resource: ResourceId,
    /// The object.
    pub key: NamespacedName,
    /// What is to be done with it.
    pub verb: ClientVerb,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientVerb {
    /// POST.
    Create(Arc<Value>),
    /// PUT.
    Update(Arc<Value>, Part),
    /// PATCH.
    Patch {
        /// The language of the patch.
        kind: PatchKind,
        /// The patch.
        patch: Arc<Value>,
        /// What it is about.
        part: Part,
    },
    /// DELETE.
    Delete(Deletion),
    /// DELETE of several objects of the resource in one namespace, or in the cluster.
    DeleteMany(Arc<[NamespacedName]>, Deletion),
    /// POST of a Binding.
    Bind {
        /// The node.
        node: Str,
        /// The pod's uid, if that is a precondition.
        uid: Option<Uid>,
    },
    /// POST of an Eviction.
    Evict(Deletion),
}

/// How something is deleted.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Deletion {
    /// `gracePeriodSeconds`.
    pub grace_seconds: Option<u64>,
    /// Whether what the object owns stays.
    pub is_orphaning: bool,
    /// The uid that the object must have.
    pub uid: Option<String>,
    /// The resourceVersion that the object must have.
    pub resource_version: Option<String>,
}

/// A request that is not carried out, as a `Status` says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP code.
    pub code: u16,
    /// The reason for programs.
    pub reason: &'static str,
    /// The sentence for people.
    pub message: String,
    /// `details.causes`.
    pub causes: Vec<Value>,
    /// `details.name`, where the path of the request does not say it.
    pub name: String,
}

impl Refusal {
    /// A refusal without causes.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), causes: Vec::new(), name: String::new() }
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 404 of an object.
    pub fn not_found(resource: ResourceId, name: &str) -> Self {
        Self::new(404, "NotFound", format!("{} {name:?} not found", resource.get().qualified()))
    }

    /// The same about an object of that name.
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// 422 of a field that is found to be wrong for that reason.
    pub fn with_field(message: impl Into<String>, field: &str, reason: &str) -> Self {
        // `field.ErrorType`, and what a Status makes of it.
        let cause = match reason.split(':').next().unwrap_or_default() {
            "Required value" => "FieldValueRequired",
            "Duplicate value" => "FieldValueDuplicate",
            "Not found" => "FieldValueNotFound",
            "Unsupported value" => "FieldValueNotSupported",
            "Forbidden" => "FieldValueForbidden",
            "Too long" => "FieldValueTooLong",
            "Too many" => "FieldValueTooMany",
            _ => "FieldValueInvalid",
        };
        let causes = vec![json!({"reason": cause, "message": reason, "field": field})];
        Self { causes, ..Self::new(422, "Invalid", message) }
    }

    /// 422 of one field.
    fn invalid(resource: ResourceId, name: &str, field: &str, reason: &str) -> Self {
        let message = format!("{} {name:?} is invalid: {field}: {reason}", resource.get().qualified_kind());
        Self::with_field(message, field, reason)
    }
}

impl From<DocumentError> for Refusal {
    fn from(error: DocumentError) -> Self {
        let message = error.to_string();
        match error {
            DocumentError::Malformed(_) => Self::bad_request(message),
            DocumentError::Invalid { field, reason, .. } => Self::with_field(message, &field, &reason),
            DocumentError::Api(error) => error.into(),
        }
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        let message = error.to_string();
        match error {
            ApiError::NotFound { .. } => Self::new(404, "NotFound", message),
            ApiError::Conflict { .. } => Self::new(409, "Conflict", message),
            ApiError::AlreadyExists { .. } => Self::new(409, "AlreadyExists", message),
            ApiError::Invalid { field, reason, name, .. } if field == "spec.priorityClassName" => {
                Self::new(403, "Forbidden", format!("pods {name:?} is forbidden: {reason}"))
            }
            ApiError::Invalid { field, reason, .. } => Self::with_field(message, &field, &reason),
        }
    }
}

/// What a request came to: the object as it is now, or was last; absent where there are several.
pub type Answer = Result<Option<Arc<Value>>, Refusal>;

impl SandboxApi {
    /// Carries out a request.
    ///
    /// # Errors
    /// Why it is not; nothing has changed then.
    pub fn carry_out_request(&mut self, request: &ClientRequest, now: Time) -> Answer {
        let ClientRequest { resource, key, verb } = request;
        match verb {
            ClientVerb::Create(document) => self.create_for_client(*resource, key, document, now).map(Some),
            ClientVerb::Update(document, part) => {
                let old = self.found(*resource, key)?;
                let mut document = Value::clone(document);
                self.fit_update(*resource, key, &old, &mut document, *part)?;
                Ok(Some(self.update_document(*resource, document, *part, now)?))
            }
            ClientVerb::Patch { kind, patch, part } => {
                self.patch_for_client(*resource, key, (*kind, patch), *part, now).map(Some)
            }
            ClientVerb::Delete(deletion) => self.delete_for_client(*resource, key, deletion, now).map(Some),
            ClientVerb::DeleteMany(keys, deletion) => {
                for key in &**keys {
                    match self.delete_for_client(*resource, key, deletion, now) {
                        // What went with another one is gone as well.
                        Ok(_) | Err(Refusal { code: 404, .. }) => {}
                        Err(refusal) => return Err(refusal),
                    }
                }
                Ok(None)
            }
            ClientVerb::Bind { node, uid } => {
                let pod = self.pod(key)?;
                self.bind(key, uid.as_ref().unwrap_or(pod.uid()), node, now)?;
                Ok(self.document(*resource, key))
            }
            ClientVerb::Evict(deletion) => self.evict_for_client(key, deletion, now).map(Some),
        }
    }

    pub(super) fn found(&self, resource: ResourceId, key: &NamespacedName) -> Result<Arc<Value>, Refusal> {
        self.document(resource, key).ok_or_else(|| Refusal::not_found(resource, &key.name))
    }

    fn create_for_client(
        &mut self,
        resource: ResourceId,
        key: &NamespacedName,
        document: &Value,
        now: Time,
    ) -> Result<Arc<Value>, Refusal> {
        let mut document = document.clone();
        let is_node = resource.get().slim == Some(Kind::Node);
        if resource.get().has_status
            && !is_node
            && let Some(fields) = document.as_object_mut()
        {
            // Only a kubelet brings its own status along.
            fields.shift_remove("status");
        }
        if resource.get().is_namespaced {
            self.check_namespace(key, resource)?;
        }
        strip(&mut document);
        set_metadata(&mut document, "name", key.name.to_string().into());
        if resource.get().is_namespaced {
            set_metadata(&mut document, "namespace", key.namespace.to_string().into());
        }
        if resource.get().slim == Some(Kind::Pod) {
            pods::check_new(resource, key, &document)?;
        }
        Ok(self.create_document(resource, document, now)?)
    }

    fn check_namespace(&self, key: &NamespacedName, resource: ResourceId) -> Result<(), Refusal> {
        let namespace = self.objects().namespaces.get(&NamespacedName::cluster(key.namespace.clone()));
        let Some(namespace) = namespace else {
            let message = format!("namespaces {:?} not found", key.namespace);
            return Err(Refusal::new(404, "NotFound", message));
        };
        if namespace.metadata.deletion_timestamp.is_some() {
            let message = format!(
                "{} {:?} is forbidden: unable to create new content in namespace {} because it is being terminated",
                resource.get().qualified(),
                key.name,
                key.namespace
            );
            return Err(Refusal::new(403, "Forbidden", message));
        }
        Ok(())
    }

    fn fit_update(
        &self,
        resource: ResourceId,
        key: &NamespacedName,
        old: &Value,
        document: &mut Value,
        part: Part,
    ) -> Result<(), Refusal> {
        let named = document.pointer("/metadata/name").and_then(Value::as_str).unwrap_or(&key.name);
        if named != &*key.name {
            return Err(Refusal::bad_request(format!(
                "the name of the object ({named}) does not match the name on the URL ({})",
                key.name
            )));
        }
        set_metadata(document, "name", key.name.to_string().into());
        if resource.get().is_namespaced {
            let namespace = document.pointer("/metadata/namespace").and_then(Value::as_str);
            if namespace.is_some_and(|namespace| !namespace.is_empty() && namespace != &*key.namespace) {
                return Err(Refusal::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            set_metadata(document, "namespace", key.namespace.to_string().into());
        }
        if resource.get().slim == Some(Kind::Pod) && part == Part::Main {
            pods::check_update(resource, key, old, document)?;
        }
        Ok(())
    }

    fn patch_for_client(
        &mut self,
        resource: ResourceId,
        key: &NamespacedName,
        (kind, patch): (PatchKind, &Value),
        part: Part,
        now: Time,
    ) -> Result<Arc<Value>, Refusal> {
        let Some(old) = self.document(resource, key) else {
            if kind == PatchKind::Apply && part == Part::Main {
                return self.create_for_client(resource, key, patch, now);
            }
            return Err(Refusal::not_found(resource, &key.name));
        };
        let mut new = patched(&old, kind, patch).map_err(|wrong| {
            let code = if kind == PatchKind::Json { (422, "Invalid") } else { (400, "BadRequest") };
            Refusal::new(code.0, code.1, format!("the patch cannot be applied: {wrong}"))
        })?;
        self.fit_update(resource, key, &old, &mut new, part)?;
        Ok(self.update_document(resource, new, part, now)?)
    }

    fn delete_for_client(
        &mut self,
        resource: ResourceId,
        key: &NamespacedName,
        deletion: &Deletion,
        now: Time,
    ) -> Result<Arc<Value>, Refusal> {
        let old = self.found(resource, key)?;
        check_deletion(resource, key, &old, deletion)?;
        if resource.get().slim == Some(Kind::Namespace) {
            return self.delete_namespace(resource, key, now);
        }
        self.delete_document(resource, key, deletion.grace_seconds, now)?;
        let is_gone = self.document(resource, key).is_none();
        if is_gone && resource.get().slim != Some(Kind::Pod) {
            let uid = old.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default();
            if deletion.is_orphaning {
                self.orphan(uid, now)?;
            } else {
                self.collect(uid, now)?;
            }
        }
        Ok(self.document(resource, key).unwrap_or(old))
    }

    /// What an object of that uid owns.
    fn owned_by(&self, uid: &str) -> Vec<(ResourceId, NamespacedName)> {
        let mut owned = Vec::new();
        for id in ResourceId::all() {
            match id.get().slim {
                Some(kind) => {
                    let objects = self.objects().of_kind(kind).into_iter();
                    let is_owned = |object: &crate::api::Object| {
                        object.metadata().owner_references.iter().any(|owner| owner.uid == uid)
                    };
                    owned.extend(objects.filter(is_owned).map(|object| (id, object.key())));
                }
                None => {
                    let documents = self.documents(id).into_iter();
                    let own = documents.filter(|(_, document)| is_owned_by(document, uid));
                    owned.extend(own.map(|(key, _)| (id, key)));
                }
            }
            if id.get().slim == Some(Kind::Pod) {
                let own = self.ended_pods().filter(|(_, document)| is_owned_by(document, uid));
                owned.extend(own.map(|(key, _)| (id, key.clone())));
            }
        }
        owned
    }

    /// Deletes what an object of that uid owned, and what that owns.
    fn collect(&mut self, uid: &str, now: Time) -> Result<(), Refusal> {
        for (resource, key) in self.owned_by(uid) {
            match self.delete_for_client(resource, &key, &Deletion::default(), now) {
                Ok(_) | Err(Refusal { code: 404, .. }) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Ok(())
    }

    /// What an object of that uid owned has no owner any more.
    fn orphan(&mut self, uid: &str, now: Time) -> Result<(), Refusal> {
        for (resource, key) in self.owned_by(uid) {
            let mut document = Value::clone(&*self.found(resource, &key)?);
            if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
                let owners = metadata.shift_remove("ownerReferences");
                let mut owners = owners.and_then(|owners| owners.as_array().cloned()).unwrap_or_default();
                owners.retain(|owner| owner["uid"] != uid);
                if !owners.is_empty() {
                    metadata.insert("ownerReferences".to_owned(), owners.into());
                }
            }
            self.update_document(resource, document, Part::Whole, now)?;
        }
        Ok(())
    }

    /// Deletes what is in a namespace, and the namespace when that is gone.
    fn delete_namespace(
        &mut self,
        resource: ResourceId,
        key: &NamespacedName,
        now: Time,
    ) -> Result<Arc<Value>, Refusal> {
        let old = self.found(resource, key)?;
        if matches!(&*key.name, "default" | "kube-system" | "kube-public") {
            let message =
                format!("namespaces {:?} is forbidden: this namespace may not be deleted", key.name);
            return Err(Refusal::new(403, "Forbidden", message));
        }
        for id in ResourceId::all().filter(|id| id.get().is_namespaced) {
            for inside in self.keys(id).into_iter().filter(|inside| inside.namespace == key.name) {
                self.delete_document(id, &inside, None, now)?;
            }
        }
        if self.is_namespace_empty(&key.name) {
            self.remove(Kind::Namespace, key);
            return Ok(old);
        }
        if let Some(mut namespace) = self.objects().get(Kind::Namespace, key)
            && namespace.metadata().deletion_timestamp.is_none()
        {
            namespace.metadata_mut().deletion_timestamp = Some(now.truncate_to_second());
            self.write(namespace);
            let mut status = json!({"status": {"phase": "Terminating"}});
            set_metadata(&mut status, "name", key.name.to_string().into());
            self.update_document(resource, status, Part::Status, now)?;
            self.ending_namespaces.insert(key.name.clone());
        }
        self.found(resource, key)
    }

    fn is_namespace_empty(&self, namespace: &Str) -> bool {
        ResourceId::all()
            .filter(|id| id.get().is_namespaced)
            .all(|id| self.keys(id).iter().all(|key| key.namespace != *namespace))
    }

    /// Namespaces go that are being deleted and hold nothing any more.
    pub(super) fn end_namespaces(&mut self) {
        if self.ending_namespaces.is_empty() {
            return;
        }
        for namespace in self.ending_namespaces.clone() {
            if self.is_namespace_empty(&namespace) {
                self.remove(Kind::Namespace, &NamespacedName::cluster(namespace.clone()));
                self.ending_namespaces.remove(&namespace);
            }
        }
    }
}

fn check_deletion(
    resource: ResourceId,
    key: &NamespacedName,
    old: &Value,
    deletion: &Deletion,
) -> Result<(), Refusal> {
    let differs = |what: &str, wanted: &Option<String>, field: &str| {
        let found = old.pointer(field).and_then(Value::as_str).unwrap_or_default();
        let wanted = wanted.as_deref().filter(|wanted| *wanted != found)?;
        let message = format!(
            "Operation cannot be fulfilled on {} {:?}: the {what} in the precondition ({wanted}) does not match the \
             {what} in record ({found}). The object might have been deleted and then recreated",
            resource.get().qualified(),
            key.name
        );
        Some(Refusal::new(409, "Conflict", message))
    };
    differs("UID", &deletion.uid, "/metadata/uid")
        .or_else(|| differs("ResourceVersion", &deletion.resource_version, "/metadata/resourceVersion"))
        .map_or(Ok(()), Err)
}

impl ClientRequest {
    /// What is asked for, in a few words.
    pub fn text(&self) -> String {
        let what = format!("{} {}", self.resource.get().kind.to_lowercase(), self.key);
        match &self.verb {
            ClientVerb::Create(_) => format!("created {what}"),
            ClientVerb::Update(..) | ClientVerb::Patch { .. } => format!("changed {what}"),
            ClientVerb::Delete(_) => format!("deleted {what}"),
            ClientVerb::DeleteMany(keys, _) => {
                format!("deleted {} {}", keys.len(), self.resource.get().plural)
            }
            ClientVerb::Bind { node, .. } => format!("bound {} to {node}", self.key),
            ClientVerb::Evict(_) => format!("evicted {}", self.key),
        }
    }

    /// For an object that is given as a whole.
    pub fn create(resource: ResourceId, document: Value) -> Self {
        Self { resource, key: key_of(&document), verb: ClientVerb::Create(Arc::new(document)) }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests;
