//! Storage objects by name, with the words of an informer that does not know one.
//!
//! Follows the listers of client-go (`listers/generic_helpers.go`).

use std::sync::Arc;

use crate::api::objects::{PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::api::{NamespacedName, ObjectStore, Str};

/// The claim of that name in a namespace.
///
/// # Errors
/// There is none.
pub fn claim<'a>(
    objects: &'a ObjectStore,
    namespace: &Str,
    name: &str,
) -> Result<&'a Arc<PersistentVolumeClaim>, String> {
    let key = NamespacedName::new(namespace.clone(), name);
    objects
        .persistent_volume_claims
        .get(&key)
        .ok_or_else(|| format!("persistentvolumeclaim {name:?} not found"))
}

/// The volume of that name.
///
/// # Errors
/// There is none.
pub fn volume<'a>(objects: &'a ObjectStore, name: &Str) -> Result<&'a Arc<PersistentVolume>, String> {
    let key = NamespacedName::cluster(name.clone());
    objects.persistent_volumes.get(&key).ok_or_else(|| format!("persistentvolume {name:?} not found"))
}

/// The storage class of that name.
///
/// # Errors
/// There is none.
pub fn class<'a>(objects: &'a ObjectStore, name: &str) -> Result<&'a Arc<StorageClass>, String> {
    let key = NamespacedName::cluster(name);
    objects.storage_classes.get(&key).ok_or_else(|| format!("storageclass.storage.k8s.io {name:?} not found"))
}
