//! Pods that have ended: gone for a scheduler, whose watch selects those that have not, and there for clients.
//!
//! Only what is left of them is kept, the whole document, and only where clients see it. They go when somebody deletes
//! them, with their owner, node or namespace, or when there are too many (`pkg/controller/podgc`).

use std::sync::Arc;

use serde_json::Value;

use super::{put, text};
use crate::api::objects::Pod;
use crate::api::{Kind, NamespacedName, Object};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::resources::ResourceId;

/// So many are kept (`--terminated-pod-gc-threshold`); then the oldest go.
const ENDED_MAX: usize = 12_500;

impl SandboxApi {
    /// A pod has ended. `containers` is what its kubelet says of its containers, if it does.
    pub(in crate::driver::sandbox) fn end_pod(&mut self, pod: Pod, containers: Option<Value>) {
        let key = pod.key();
        let mut document = self.is_served().then(|| self.whole(&pod.into()));
        self.remove(Kind::Pod, &key);
        let Some(mut document) = document.take() else { return };
        if let Some(status) = document.get_mut("status").filter(|_| containers.is_some()) {
            put(status, "containerStatuses", containers);
        }
        self.keep_ended(key, document);
    }

    /// Keeps what is left of a pod that has ended, unless it is on its way out. The pod itself is gone.
    pub(super) fn keep_ended(&mut self, key: NamespacedName, document: Value) {
        let Some(id) = ResourceId::of_slim(Kind::Pod) else { return };
        if !self.is_served() || document.pointer("/metadata/deletionTimestamp").is_some() {
            return;
        }
        self.put_document(id, key.clone(), document);
        self.documents.ended.insert(key);
        if self.documents.ended.len() > ENDED_MAX {
            let made = |document: &Value| text(document, "/metadata/creationTimestamp").to_owned();
            let oldest = self.ended_pods().min_by_key(|(_, document)| made(document));
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                self.remove_document(id, &key);
            }
        }
    }

    /// The pods that have ended, in the order of their keys.
    pub(in crate::driver::sandbox) fn ended_pods(
        &self,
    ) -> impl Iterator<Item = (&NamespacedName, &Arc<Value>)> {
        let id = ResourceId::of_slim(Kind::Pod);
        self.documents.ended.iter().filter_map(move |key| Some((key, self.documents.get(id?, key)?)))
    }

    /// Pods that have ended go.
    pub(in crate::driver::sandbox) fn drop_ended(&mut self, is_unwanted: impl Fn(&Value) -> bool) {
        let Some(id) = ResourceId::of_slim(Kind::Pod) else { return };
        let unwanted = self.ended_pods().filter(|(_, document)| is_unwanted(document));
        for key in unwanted.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
            self.remove_document(id, &key);
        }
    }

    /// A pod that has ended makes room for another one of its name.
    pub(in crate::driver::sandbox) fn drop_ended_of_name(&mut self, key: &NamespacedName) {
        if self.documents.ended.contains(key)
            && let Some(id) = ResourceId::of_slim(Kind::Pod)
        {
            self.remove_document(id, key);
        }
    }

    /// Whether clients still see this very object, although it is gone for a scheduler.
    pub fn has_ended(&self, object: &Object) -> bool {
        let (kind, key) = (object.kind(), object.key());
        let left = ResourceId::of_slim(kind).filter(|id| self.documents.has_ended(*id, &key));
        let left = left.and_then(|id| self.documents.get(id, &key));
        left.is_some_and(|document| text(document, "/metadata/uid") == &*object.metadata().uid)
    }
}

/// Whether a document names that uid among its owners.
pub(in crate::driver::sandbox) fn is_owned_by(document: &Value, uid: &str) -> bool {
    let owners = document.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    owners.into_iter().flatten().any(|owner| owner["uid"] == uid)
}
