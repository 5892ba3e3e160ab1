//! Objects as they were written, beside what was read of them: those of manifests, and pods of templates.

use serde_json::{Value, json};

use super::{default_document, prepare, set_metadata, strip, text};
use crate::api::{Kind, NamespacedName, Time};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::resources::ResourceId;

impl SandboxApi {
    /// Clients see it from now on, and the objects of its manifests as they are written. Of kinds that the scheduler does
    /// not read those are kept that clients know; pods that have ended are there for clients, too. The answer says what is
    /// refused.
    pub fn serve_whole(&mut self, documents: impl IntoIterator<Item = Value>, now: Time) -> Vec<String> {
        self.set_served();
        let mut refused = Vec::new();
        for mut document in documents {
            let (version, kind) = (text(&document, "/apiVersion"), text(&document, "/kind"));
            // Events and Leases are the server's own.
            let id =
                ResourceId::of_kind(version, kind).filter(|id| !matches!(id.get().kind, "Event" | "Lease"));
            let Some(id) = id else { continue };
            let Some(slim) = id.get().slim else {
                if let Err(error) = self.create_document(id, document, now) {
                    refused.push(error.to_string());
                }
                continue;
            };
            let Ok(key) = prepare(id, &mut document) else { continue };
            default_document(id.get(), &mut document);
            if self.objects().get(slim, &key).is_some() {
                strip(&mut document);
                self.documents.put(id, key, document.into());
            } else if slim == Kind::Pod {
                let uid = text(&document, "/metadata/uid").to_owned();
                if uid.is_empty() {
                    set_metadata(&mut document, "uid", format!("pod/{key}").into());
                }
                self.keep_ended(key, document);
            }
        }
        refused
    }

    /// An object as it was written last, without what has become of it since.
    pub(in crate::driver::sandbox) fn written(&self, id: ResourceId, key: &NamespacedName) -> Option<&Value> {
        self.documents.get(id, key).map(AsRef::as_ref)
    }

    /// A pod was made from a template: it has all that stands there.
    pub(in crate::driver::sandbox) fn keep_template(&mut self, pod: &NamespacedName, template: &Value) {
        let Some(id) = ResourceId::of_slim(Kind::Pod) else { return };
        let part = |field: &str| template.get(field).cloned().unwrap_or_else(|| json!({}));
        let mut document =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": part("metadata"), "spec": part("spec")});
        strip(&mut document);
        default_document(id.get(), &mut document);
        if self.objects().pods.contains_key(pod) {
            self.documents.put(id, pod.clone(), document.into());
        }
    }
}
