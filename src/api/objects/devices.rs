//! Device classes (`resource.k8s.io/v1`), as far as it matters which extended resources stand for devices.

use serde::{Deserialize, Serialize};

use super::meta::ObjectMeta;
use super::nullable;

/// An extended resource of this prefix and the name of a device class stands for a device of that class.
pub const RESOURCE_DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// A class of devices.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceClass {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: DeviceClassSpec,
}

impl DeviceClass {
    /// Whether an extended resource of that name stands for devices of this class (KEP-5004).
    pub fn backs(&self, resource: &str) -> bool {
        let implicit = resource.strip_prefix(RESOURCE_DEVICE_CLASS_PREFIX);
        implicit == Some(&self.metadata.name) || self.spec.extended_resource_name.as_deref() == Some(resource)
    }
}

/// `spec` of a device class.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceClassSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_resource_name: Option<String>,
}
