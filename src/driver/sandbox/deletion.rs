//! How an object goes that has finalizers: its deletion begins, and when the last finalizer is gone so is the object.
//!
//! Follows the store of kube-apiserver. Where no controllers run, nobody would take a finalizer away: none counts
//! there. Pods have a rule of their own, the grace period.

use crate::api::{Kind, NamespacedName, Object, Time};

use super::api::{ApiError, SandboxApi, not_found};

impl SandboxApi {
    /// Deletes an object that is no pod: at once, or when its finalizers are gone. A second deletion changes nothing.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn delete_object(&mut self, kind: Kind, key: &NamespacedName, now: Time) -> Result<(), ApiError> {
        let mut object = self.objects().get(kind, key).ok_or_else(|| not_found(kind, key))?;
        if !self.has_controllers() || object.metadata().finalizers.is_empty() {
            self.remove(kind, key);
        } else if object.metadata().deletion_timestamp.is_none() {
            object.metadata_mut().deletion_timestamp = Some(now.truncate_to_second());
            self.write(object);
        }
        Ok(())
    }

    /// Stores a changed object; one that is being deleted goes with its last finalizer.
    pub(super) fn store(&mut self, object: Object) {
        let (kind, metadata) = (object.kind(), object.metadata());
        // What is in a namespace holds it.
        let has_rule_of_its_own = matches!(kind, Kind::Pod | Kind::Namespace);
        if !has_rule_of_its_own && metadata.deletion_timestamp.is_some() && metadata.finalizers.is_empty() {
            self.remove(kind, &object.key());
        } else {
            self.write(object);
        }
    }
}
