//! Slices: the devices that drivers offer (`resource.k8s.io/v1`, KEP-4381).
//!
//! The shapes alone; which slices make up a pool is the business of the allocator of DynamicResources.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::objects::meta::{ObjectMeta, nullable_str, str_is_empty};
use crate::api::objects::nullable;
use crate::api::objects::pod::NodeSelector;
use crate::api::{Quantity, Str, Time};

/// Some devices, or counter sets, of a pool.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceSlice {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: ResourceSliceSpec,
}

/// `spec` of a slice. Where its devices can be used is said by exactly one of `node_name`, `node_selector`,
/// `all_nodes` and `per_device_node_selection`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourceSliceSpec {
    #[serde(default, deserialize_with = "nullable_str")]
    pub driver: Str,
    #[serde(default, deserialize_with = "nullable")]
    pub pool: ResourcePool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<NodeSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_nodes: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<Device>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_device_node_selection: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub shared_counters: Vec<CounterSet>,
}

/// The pool that a slice belongs to; only slices of the highest generation count.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct ResourcePool {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable")]
    pub generation: i64,
    #[serde(default, deserialize_with = "nullable")]
    pub resource_slice_count: i64,
}

/// Counters that devices of a pool share (KEP-4815).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CounterSet {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Str, Counter>,
}

/// An amount of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Counter {
    #[serde(default, deserialize_with = "nullable")]
    pub value: Quantity,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct Device {
    #[serde(default, deserialize_with = "nullable_str")]
    pub name: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<Str, DeviceAttribute>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub capacity: BTreeMap<Str, DeviceCapacity>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub consumes_counters: Vec<DeviceCounterConsumption>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_name: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<NodeSelector>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_nodes: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub taints: Vec<DeviceTaint>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binds_to_node: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub binding_conditions: Vec<Str>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub binding_failure_conditions: Vec<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_multiple_allocations: Option<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub node_allocatable_resource_mappings: BTreeMap<Str, NodeAllocatableResourceMapping>,
}

/// How a device counts against a resource of the node (KEP-5517).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct NodeAllocatableResourceMapping {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity_key: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allocation_multiplier: Option<Quantity>,
}

/// What a device takes from a counter set.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceCounterConsumption {
    #[serde(default, deserialize_with = "nullable_str")]
    pub counter_set: Str,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "BTreeMap::is_empty")]
    pub counters: BTreeMap<Str, Counter>,
}

/// A capacity of a device.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceCapacity {
    #[serde(default, deserialize_with = "nullable")]
    pub value: Quantity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_policy: Option<CapacityRequestPolicy>,
}

/// Which amounts of a capacity can be requested (KEP-5075).
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CapacityRequestPolicy {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Quantity>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub valid_values: Vec<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_range: Option<CapacityRequestPolicyRange>,
}

/// A range of amounts.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct CapacityRequestPolicyRange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Quantity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Quantity>,
}

/// The value of an attribute: one of the fields is set.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceAttribute {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub int: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bool: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string: Option<Str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Str>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub ints: Vec<i64>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub bools: Vec<bool>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub strings: Vec<Str>,
    #[serde(default, deserialize_with = "nullable", skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<Str>,
}

/// A taint of a device (KEP-5055); `effect` is `None`, `NoSchedule` or `NoExecute`.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct DeviceTaint {
    #[serde(default, deserialize_with = "nullable_str")]
    pub key: Str,
    #[serde(default, deserialize_with = "nullable_str", skip_serializing_if = "str_is_empty")]
    pub value: Str,
    #[serde(default, deserialize_with = "nullable_str")]
    pub effect: Str,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_added: Option<Time>,
}
