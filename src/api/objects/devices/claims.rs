//! Claims for devices and the templates that they are made from (`resource.k8s.io/v1`, KEP-4381).
//!
//! The shapes alone; how a claim is allocated is the business of the plugin DynamicResources.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{DeviceSelector, OpaqueDeviceConfiguration};
use crate::api::objects::meta::{Condition, ObjectMeta, is_zero, nullable_str, str_is_empty};
use crate::api::objects::nullable;
use crate::api::objects::pod::NodeSelector;
use crate::api::{Quantity, Str, Time, Uid};

/// A claim for devices.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceClaim {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: ResourceClaimSpec,
    #[serde(default, deserialize_with = "nullable")]
    pub status: ResourceClaimStatus,
}

/// What claims are made from, one for each pod that names it.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceClaimTemplate {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: ResourceClaimTemplateSpec,
}

/// `spec` of a template: labels, annotations and spec of the claims.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceClaimTemplateSpec {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: ResourceClaimSpec,
}

/// `spec` of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceClaimSpec {
    #[serde(default, deserialize_with = "nullable")]
    pub devices: DeviceClaim,
}

/// What is requested, and what has to hold between the devices.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceClaim {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<DeviceRequest>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub constraints: Vec<DeviceConstraint>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<DeviceClaimConfiguration>,
}

/// One request: `exactly`, or the first of several alternatives that can be had.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceRequest {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exactly: Option<ExactDeviceRequest>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub first_available: Vec<DeviceSubRequest>,
}

/// A request for devices of one class.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ExactDeviceRequest {
    #[serde(default, deserialize_with = "nullable_str")]
    pub device_class_name: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<DeviceSelector>,
    /// `ExactCount` or `All`.
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub allocation_mode: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub count: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_access: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<DeviceToleration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRequirements>,
}

/// An alternative of a request (KEP-4816).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceSubRequest {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub device_class_name: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<DeviceSelector>,
    /// `ExactCount` or `All`.
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub allocation_mode: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "is_zero")]
    pub count: i64,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<DeviceToleration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<CapacityRequirements>,
}

/// How much of a device is needed, by the name of the capacity (KEP-5075).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CapacityRequirements {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub requests: BTreeMap<Str, Quantity>,
}

/// What has to hold between the devices of some requests; of all of them if it names none.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceConstraint {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_attribute: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distinct_attribute: Option<Str>,
}

/// Configuration that goes to the driver with the devices of some requests.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceClaimConfiguration {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<OpaqueDeviceConfiguration>,
}

/// A taint of a device that is tolerated (KEP-5055). An empty operator means `Equal`, an empty effect all effects.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceToleration {
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub key: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub operator: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub value: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub effect: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toleration_seconds: Option<i64>,
}

/// `status` of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceClaimStatus {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation: Option<AllocationResult>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub reserved_for: Vec<ResourceClaimConsumerReference>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<AllocatedDeviceStatus>,
}

/// Who may use an allocated claim.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceClaimConsumerReference {
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub api_group: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub resource: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub uid: Uid,
}

/// The devices of a claim, and the nodes where they can be used; everywhere without a selector.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct AllocationResult {
    #[serde(default, deserialize_with = "nullable")]
    pub devices: DeviceAllocationResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<NodeSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_timestamp: Option<Time>,
}

/// The devices of a claim with their configuration.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceAllocationResult {
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<DeviceRequestAllocationResult>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub config: Vec<DeviceAllocationConfiguration>,
}

/// One device for one request; the request is `main/sub` where an alternative was taken.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceRequestAllocationResult {
    #[serde(default, deserialize_with = "nullable_str")]
    pub request: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub driver: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub pool: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub device: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub admin_access: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub tolerations: Vec<DeviceToleration>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub binding_conditions: Vec<Str>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub binding_failure_conditions: Vec<Str>,
    #[serde(rename = "shareID", default, skip_serializing_if = "Option::is_none")]
    pub share_id: Option<Uid>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub consumed_capacity: BTreeMap<Str, Quantity>,
}

/// Configuration that goes with an allocation; `source` is `FromClass` or `FromClaim`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceAllocationConfiguration {
    #[serde(default, deserialize_with = "nullable_str")]
    pub source: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opaque: Option<OpaqueDeviceConfiguration>,
}

/// What the driver reports of an allocated device (KEP-4817); the scheduler reads conditions.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct AllocatedDeviceStatus {
    #[serde(default, deserialize_with = "nullable_str")]
    pub driver: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub pool: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub device: Str,
    #[serde(rename = "shareID", default, skip_serializing_if = "Option::is_none")]
    pub share_id: Option<Str>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}
