//! The sources of a pod's volumes.

use indexmap::IndexMap;
use serde_json::Value;

/// A volume as it came: its name and its source.
pub type Volume = IndexMap<String, Value>;

/// A claim that exists by itself.
pub const PERSISTENT_VOLUME_CLAIM: &str = "persistentVolumeClaim";
/// A claim that is made for the pod.
pub const EPHEMERAL: &str = "ephemeral";

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
