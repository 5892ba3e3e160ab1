//! The sources of a pod's volumes, and what is said of a volume whose plugin is not built.

use indexmap::IndexMap;
use serde_json::Value;

use crate::api::objects::Pod;
use crate::framework::Status;

/// A volume as it came: its name and its source.
pub type Volume = IndexMap<String, Value>;

/// A claim that exists by itself.
pub const PERSISTENT_VOLUME_CLAIM: &str = "persistentVolumeClaim";
/// A claim that is made for the pod.
pub const EPHEMERAL: &str = "ephemeral";
/// Inline disks that their CSI drivers have taken over, so that they count against those drivers' limits
/// (`csi-translation-lib`).
pub const MIGRATED: [&str; 7] = [
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "cinder",
    "azureDisk",
    "azureFile",
    "vsphereVolume",
    "portworxVolume",
];

/// A volume's source of that kind; `null` is none, as Go has it.
pub fn source<'a>(volume: &'a Volume, kind: &str) -> Option<&'a Value> {
    volume.get(kind).filter(|source| !source.is_null())
}

/// Whether the volume has a source of that kind.
pub fn has(volume: &Volume, kind: &str) -> bool {
    source(volume, kind).is_some()
}

/// A field of a source as text; empty if it is not there.
pub fn text<'a>(source: &'a Value, field: &str) -> &'a str {
    source.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The name of the claim that the volume refers to.
pub fn claim_name(volume: &Volume) -> Option<&str> {
    source(volume, PERSISTENT_VOLUME_CLAIM).map(|claim| text(claim, "claimName"))
}

/// The error of a plugin that would have to look at one of these kinds of volumes and cannot; absent if the pod has
/// no such volume.
pub fn not_built(plugin: &str, pod: &Pod, kinds: &[&str]) -> Option<Status> {
    let used = |volume: &Volume| {
        let kind = kinds.iter().find(|kind| has(volume, kind))?;
        Some(match claim_name(volume) {
            Some(claim) if *kind == PERSISTENT_VOLUME_CLAIM => format!("the claim {claim:?}"),
            _ => {
                let name = volume.get("name").and_then(Value::as_str).unwrap_or_default();
                format!("the {kind} volume {name:?}")
            }
        })
    };
    let what = pod.spec.volumes.iter().find_map(used)?;
    Some(Status::error(format!("{plugin} is not built yet: pod uses {what}")))
}
