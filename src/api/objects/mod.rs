//! The Kubernetes objects that the scheduler reads, each with the fields that it reads.
//!
//! Field names and meaning are those of the Kubernetes API v1.36; where a field has no comment it is what the
//! API reference says. Absent and `null` fields are the type's empty value, as Go's decoder has it.

mod devices;
mod meta;
mod node;
mod pod;
mod policy;
mod scheduling;
mod workloads;

pub use devices::{DeviceClass, DeviceClassSpec, RESOURCE_DEVICE_CLASS_PREFIX};
pub use meta::{Condition, LabelSelector, LabelSelectorRequirement, Labels, ObjectMeta, OwnerReference};
pub use node::{ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus, Taint, TaintEffect};
pub use pod::{
    Affinity, Container, ContainerPort, ContainerRestartRule, ContainerStatus, NodeAffinity, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, Pod, PodAffinity, PodAffinityTerm, PodCondition,
    PodResourceClaim, PodResourceClaimStatus, PodSchedulingGate, PodSchedulingGroup, PodSpec, PodStatus,
    PreferredSchedulingTerm, ResourceList, ResourceRequirements, Toleration, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
pub use policy::{
    IntOrString, Namespace, PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus,
    PriorityClass,
};
pub use scheduling::{
    BasicSchedulingPolicy, GangSchedulingPolicy, PodGroup, PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy, PodGroupSpec, PodGroupStatus, TopologyConstraint,
};
pub use workloads::{LabelledSpec, ReplicaSet, ReplicationController, SelectingSpec, Service, StatefulSet};

use serde::{Deserialize, Deserializer};

/// Reads `null` as the empty value: Go writes nil slices and maps so, and dumps carry them.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}
