//! The writes of plugins: claims, volumes and the status of pods, as an API server takes them.
//!
//! A resourceVersion or a uid in what is written is a precondition. What is whole in a write replaces the object;
//! only deletions of the scheduler's own objects come here, so none is graceful.

use crate::api::objects::Pod;
use crate::api::{Object, Time};
use crate::framework::{ApiWrite, WriteVerb};

use super::api::{ApiError, SandboxApi, not_found, resource};

/// What a server says about a stale version.
const HAS_CHANGED: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl SandboxApi {
    /// Does a write that a plugin wants. The answer is the object as it is now, or was last.
    ///
    /// # Errors
    /// If the object is not there, is there already, or is not the one that the plugin has seen.
    pub fn carry_out_write(&mut self, write: &ApiWrite, now: Time) -> Result<Object, ApiError> {
        let (kind, key) = (write.object.kind(), write.object.key());
        if write.verb == WriteVerb::Create {
            let mut object = write.object.clone();
            if object.metadata().name.ends_with('-') {
                // Servers add five random characters to a prefix; a number of its own serves as well.
                let name = format!("{}{}", object.metadata().name, self.next_version());
                object.metadata_mut().name = name.into();
            }
            let key = object.key();
            self.create(object, now)?;
            return self.objects().get(kind, &key).ok_or_else(|| not_found(kind, &key));
        }
        let old = self.objects().get(kind, &key).ok_or_else(|| not_found(kind, &key))?;
        let conflict =
            |reason: String| ApiError::Conflict { resource: resource(kind), name: key.name.clone(), reason };
        let (was, is) = (old.metadata(), write.object.metadata());
        if !is.uid.is_empty() && is.uid != was.uid {
            return Err(conflict(format!(
                "Precondition failed: UID in precondition: {}, UID in object meta: {}",
                is.uid, was.uid
            )));
        }
        let needs_version = matches!(write.verb, WriteVerb::Update | WriteVerb::UpdateStatus);
        if needs_version && !is.resource_version.is_empty() && is.resource_version != was.resource_version {
            return Err(conflict(HAS_CHANGED.to_owned()));
        }
        if write.verb == WriteVerb::Delete {
            self.remove(kind, &key);
            return Ok(old);
        }
        self.write(match (&old, &write.object) {
            (Object::Pod(was), Object::Pod(is)) if write.verb == WriteVerb::PatchStatus => {
                patched(was, is).into()
            }
            _ => write.object.clone(),
        });
        self.objects().get(kind, &key).ok_or_else(|| not_found(kind, &key))
    }
}

/// The pod with what plugins write to its status; all else is the business of others.
fn patched(was: &Pod, is: &Pod) -> Pod {
    let mut pod = was.clone();
    pod.status.extended_resource_claim_status.clone_from(&is.status.extended_resource_claim_status);
    let claims = &is.status.node_allocatable_resource_claim_statuses;
    pod.status.node_allocatable_resource_claim_statuses.clone_from(claims);
    pod
}
