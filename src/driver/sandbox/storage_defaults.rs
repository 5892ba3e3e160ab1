//! What an API server fills in where a storage object leaves a field out.
//!
//! Follows `pkg/apis/core/v1/defaults.go` and `pkg/apis/storage/v1/defaults.go` for the fields that a scheduler reads.
//! Of admission plugins StorageObjectInUseProtection for claims; a claim without a class does not get the default one.

use std::sync::Arc;

use crate::api::objects::{CSIDriver, PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::api::{Object, Str};

use super::admission::round_up;
use super::disk_defaults::default_volume_disk;

/// The mode of a volume that names none.
const FILESYSTEM: &str = "Filesystem";
/// Keeps a claim that is being deleted while pods use it.
pub const CLAIM_PROTECTION: &str = "kubernetes.io/pvc-protection";

/// Gives a storage object its defaults; any other object stays as it is.
pub fn default_storage(object: Object) -> Object {
    match object {
        Object::PersistentVolume(volume) => {
            let mut volume = Arc::unwrap_or_clone(volume);
            default_volume(&mut volume);
            volume.into()
        }
        Object::PersistentVolumeClaim(claim) => {
            let mut claim = Arc::unwrap_or_clone(claim);
            default_claim(&mut claim);
            claim.into()
        }
        Object::StorageClass(class) => {
            let mut class = Arc::unwrap_or_clone(class);
            default_class(&mut class);
            class.into()
        }
        Object::CSIDriver(driver) => {
            let mut driver = Arc::unwrap_or_clone(driver);
            default_driver(&mut driver);
            driver.into()
        }
        other => other,
    }
}

fn default_volume(volume: &mut PersistentVolume) {
    set(&mut volume.status.phase, "Pending");
    set(&mut volume.spec.persistent_volume_reclaim_policy, "Retain");
    volume.spec.volume_mode.get_or_insert_with(|| FILESYSTEM.to_owned());
    default_volume_disk(volume);
    round_up(&mut volume.spec.capacity);
}

fn default_claim(claim: &mut PersistentVolumeClaim) {
    set(&mut claim.status.phase, "Pending");
    claim.spec.volume_mode.get_or_insert_with(|| FILESYSTEM.to_owned());
    protect(&mut claim.metadata.finalizers, CLAIM_PROTECTION);
    round_up(&mut claim.spec.resources.requests);
    round_up(&mut claim.spec.resources.limits);
    round_up(&mut claim.status.capacity);
}

fn default_class(class: &mut StorageClass) {
    class.reclaim_policy.get_or_insert_with(|| "Delete".to_owned());
    class.volume_binding_mode.get_or_insert_with(|| "Immediate".to_owned());
}

fn default_driver(driver: &mut CSIDriver) {
    driver.spec.attach_required.get_or_insert(true);
    driver.spec.storage_capacity.get_or_insert(false);
}

/// What the admission plugin StorageObjectInUseProtection does.
fn protect(finalizers: &mut Vec<Str>, finalizer: &str) {
    if finalizers.iter().all(|known| **known != *finalizer) {
        finalizers.push(Str::from(finalizer));
    }
}

fn set(field: &mut String, default: &str) {
    if field.is_empty() {
        field.push_str(default);
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::manifest::{Source, load};

    fn defaulted(text: &str) -> Vec<Object> {
        let loaded = load(&[Source { name: "test".to_owned(), text: text.to_owned() }]).unwrap();
        loaded.objects.into_iter().map(default_storage).collect()
    }

    #[test]
    fn storage_objects_get_the_defaults_of_the_api() {
        let all = defaulted(
            "{kind: PersistentVolume, apiVersion: v1, metadata: {name: v}, spec: {capacity: {storage: 1.1Ki}}}\n---\n\
             {kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: c}, spec: {storageClassName: ''}}\n---\n\
             {kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: s}, provisioner: p}\n---\n\
             {kind: CSIDriver, apiVersion: storage.k8s.io/v1, metadata: {name: d}}\n",
        );
        let [
            Object::PersistentVolume(volume),
            Object::PersistentVolumeClaim(claim),
            Object::StorageClass(class),
            Object::CSIDriver(driver),
        ] = all.as_slice()
        else {
            unreachable!("four objects")
        };
        assert_eq!(volume.size().unwrap().to_string(), "1126400m");
        assert_eq!(
            (volume.status.phase.as_str(), volume.spec.volume_mode.as_deref()),
            ("Pending", Some("Filesystem"))
        );
        assert_eq!((claim.status.phase.as_str(), claim.class()), ("Pending", ""));
        assert_eq!(class.volume_binding_mode.as_deref(), Some("Immediate"));
        assert_eq!(driver.spec.storage_capacity, Some(false));
    }

    #[test]
    fn what_is_there_stays() {
        let all = defaulted(
            "{kind: StorageClass, apiVersion: storage.k8s.io/v1, metadata: {name: s}, volumeBindingMode: WaitForFirstConsumer}\n---\n\
             {kind: PersistentVolume, apiVersion: v1, metadata: {name: v}, spec: {volumeMode: Block}, status: {phase: Available}}\n",
        );
        let [Object::StorageClass(class), Object::PersistentVolume(volume)] = all.as_slice() else {
            unreachable!("two objects")
        };
        assert_eq!(class.volume_binding_mode.as_deref(), Some("WaitForFirstConsumer"));
        assert_eq!(
            (volume.status.phase.as_str(), volume.spec.volume_mode.as_deref()),
            ("Available", Some("Block"))
        );
    }
}
