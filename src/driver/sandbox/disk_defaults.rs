//! What an API server fills in where a disk leaves out a field that decides something here.
//!
//! Follows `SetDefaults_AzureDiskVolumeSource` and `SetDefaults_RBDVolumeSource` of `pkg/apis/core/v1/defaults.go`.

use serde_json::Value;

use crate::api::objects::{PersistentVolume, Pod};

/// Gives the disks in a pod their defaults.
pub fn default_pod_disks(pod: &mut Pod) {
    for volume in &mut pod.spec.volumes {
        if let Some(disk) = volume.get_mut("azureDisk") {
            set(disk, "kind", "Shared");
        }
        if let Some(disk) = volume.get_mut("rbd") {
            set(disk, "pool", "rbd");
        }
    }
}

/// Gives the disk of a volume its defaults.
pub fn default_volume_disk(volume: &mut PersistentVolume) {
    if let Some(disk) = &mut volume.spec.azure_disk {
        set(disk, "kind", "Shared");
    }
}

/// Sets a field that is absent or `null`.
fn set(disk: &mut Value, field: &str, default: &str) {
    if let Value::Object(fields) = disk
        && fields.get(field).is_none_or(Value::is_null)
    {
        fields.insert(field.to_owned(), Value::from(default));
    }
}
