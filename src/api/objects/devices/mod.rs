//! Devices (`resource.k8s.io/v1`, KEP-4381): the classes of devices, and in the modules below claims and slices.

mod claims;
mod slices;

pub use claims::{
    AllocatedDeviceStatus, AllocationResult, CapacityRequirements, DeviceAllocationConfiguration,
    DeviceAllocationResult, DeviceClaim, DeviceClaimConfiguration, DeviceConstraint, DeviceRequest,
    DeviceRequestAllocationResult, DeviceSubRequest, DeviceToleration, ExactDeviceRequest, ResourceClaim,
    ResourceClaimConsumerReference, ResourceClaimSpec, ResourceClaimStatus, ResourceClaimTemplate,
    ResourceClaimTemplateSpec,
};
pub use slices::{
    CapacityRequestPolicy, CapacityRequestPolicyRange, Counter, CounterSet, Device, DeviceAttribute,
    DeviceCapacity, DeviceCounterConsumption, DeviceTaint, NodeAllocatableResourceMapping, ResourcePool,
    ResourceSlice, ResourceSliceSpec,
};

use serde::{Deserialize, Serialize};

use super::meta::{ObjectMeta, nullable_str};
use super::nullable;
use crate::api::Str;

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
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<DeviceSelector>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<DeviceConfiguration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_resource_name: Option<String>,
}

/// What a device has to be like.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceSelector {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cel: Option<CelDeviceSelector>,
}

/// A condition in CEL over `device`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CelDeviceSelector {
    #[serde(default, deserialize_with = "nullable_str")]
    pub expression: Str,
}

/// Configuration for a driver.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceConfiguration {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<OpaqueDeviceConfiguration>,
}

/// Configuration that only the driver understands.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct OpaqueDeviceConfiguration {
    #[serde(default, deserialize_with = "nullable_str")]
    pub driver: Str,
    #[serde(default, deserialize_with = "nullable")]
    pub parameters: serde_json::Value,
}
