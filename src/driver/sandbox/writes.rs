//! The writes of plugins: claims, volumes and the status of pods, as an API server takes them.
//!
//! A resourceVersion or a uid in what is written is a precondition. Only deletions of the scheduler's own objects come
//! here, so none is graceful; finalizers count.

use std::sync::Arc;

use crate::api::objects::{PersistentVolume, PersistentVolumeClaim, Pod, ResourceClaim};
use crate::api::{Object, Time};
use crate::framework::{ApiWrite, WriteVerb};

use super::api::{ApiError, SandboxApi, not_found, resource};

/// What a server says about a stale version.
pub(super) const HAS_CHANGED: &str =
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
            self.delete_object(kind, &key, now)?;
            return Ok(old);
        }
        let new = merged(&old, write);
        self.store(new.clone());
        Ok(self.objects().get(kind, &key).unwrap_or(new))
    }
}

/// What is stored: a write of the object leaves the status as it is, a write of the status everything else.
fn merged(old: &Object, write: &ApiWrite) -> Object {
    let is_of_status = matches!(write.verb, WriteVerb::UpdateStatus | WriteVerb::PatchStatus);
    let mut new = match (old, &write.object) {
        (Object::Pod(old), Object::Pod(new)) if is_of_status => {
            // What plugins write of a pod concerns its devices; the rest may have changed meanwhile.
            let mut pod = Pod::clone(old);
            pod.status.extended_resource_claim_status.clone_from(&new.status.extended_resource_claim_status);
            pod.status
                .node_allocatable_resource_claim_statuses
                .clone_from(&new.status.node_allocatable_resource_claim_statuses);
            pod.into()
        }
        (Object::ResourceClaim(old), Object::ResourceClaim(new)) => {
            let (whole, status) = if is_of_status { (old, new) } else { (new, old) };
            let mut status = status.status.clone();
            if let Some(allocation) = &mut status.allocation {
                // Servers keep times in whole seconds.
                let at = allocation.allocation_timestamp.map(Time::truncate_to_second);
                allocation.allocation_timestamp = at;
            }
            ResourceClaim { status, ..ResourceClaim::clone(whole) }.into()
        }
        (Object::PersistentVolumeClaim(old), Object::PersistentVolumeClaim(new)) => {
            let (whole, status) = if is_of_status { (old, new) } else { (new, old) };
            PersistentVolumeClaim { status: status.status.clone(), ..PersistentVolumeClaim::clone(whole) }
                .into()
        }
        (Object::PersistentVolume(old), Object::PersistentVolume(new)) => {
            let (whole, status) = if is_of_status { (old, new) } else { (new, old) };
            PersistentVolume { status: status.status.clone(), ..PersistentVolume::clone(whole) }.into()
        }
        (_, new) => new.clone(),
    };
    let (was, is) = (old.metadata(), new.metadata_mut());
    is.uid = was.uid.clone();
    is.creation_timestamp = was.creation_timestamp;
    is.deletion_timestamp = was.deletion_timestamp;
    new
}

/// The new object of a manifest with what controllers have written about the old one.
pub(super) fn keep_bindings(old: &Object, mut new: Object) -> Object {
    match (old, &mut new) {
        (Object::PersistentVolumeClaim(old), Object::PersistentVolumeClaim(new)) => {
            let new = Arc::make_mut(new);
            if new.spec.volume_name.is_empty() {
                new.spec.volume_name = old.spec.volume_name.clone();
            }
            if new.status.phase.is_empty() {
                new.status = old.status.clone();
            }
        }
        (Object::PersistentVolume(old), Object::PersistentVolume(new)) => {
            let new = Arc::make_mut(new);
            if new.spec.claim_ref.is_none() {
                new.spec.claim_ref.clone_from(&old.spec.claim_ref);
            }
            if new.status.phase.is_empty() {
                new.status = old.status.clone();
            }
        }
        (Object::ResourceClaim(old), Object::ResourceClaim(new)) if new.status == Default::default() => {
            Arc::make_mut(new).status = old.status.clone();
        }
        _ => return new,
    }
    let (was, is) = (old.metadata(), new.metadata_mut());
    for (key, value) in &was.annotations {
        is.annotations.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if is.finalizers.is_empty() {
        is.finalizers.clone_from(&was.finalizers);
    }
    is.deletion_timestamp = was.deletion_timestamp;
    new
}
