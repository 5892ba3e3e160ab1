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
mod storage;
mod workloads;

pub use devices::{
    AllocatedDeviceStatus, AllocationResult, CapacityRequestPolicy, CapacityRequestPolicyRange,
    CapacityRequirements, CelDeviceSelector, Counter, CounterSet, Device, DeviceAllocationConfiguration,
    DeviceAllocationResult, DeviceAttribute, DeviceCapacity, DeviceClaim, DeviceClaimConfiguration,
    DeviceClass, DeviceClassSpec, DeviceConfiguration, DeviceConstraint, DeviceCounterConsumption,
    DeviceRequest, DeviceRequestAllocationResult, DeviceSelector, DeviceSubRequest, DeviceTaint,
    DeviceToleration, ExactDeviceRequest, NodeAllocatableResourceMapping, OpaqueDeviceConfiguration,
    RESOURCE_DEVICE_CLASS_PREFIX, ResourceClaim, ResourceClaimConsumerReference, ResourceClaimSpec,
    ResourceClaimStatus, ResourceClaimTemplate, ResourceClaimTemplateSpec, ResourcePool, ResourceSlice,
    ResourceSliceSpec,
};
pub use meta::{Condition, LabelSelector, LabelSelectorRequirement, Labels, ObjectMeta, OwnerReference};
pub use node::{ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus, Taint, TaintEffect};
pub use pod::{
    Affinity, Container, ContainerExtendedResourceRequest, ContainerPort, ContainerResourceClaim,
    ContainerRestartRule, ContainerStatus, NodeAffinity, NodeAllocatableResourceClaimStatus, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, Pod, PodAffinity, PodAffinityTerm, PodCondition,
    PodExtendedResourceClaimStatus, PodResourceClaim, PodResourceClaimStatus, PodSchedulingGate,
    PodSchedulingGroup, PodSpec, PodStatus, PreferredSchedulingTerm, ResourceList, ResourceRequirements,
    Toleration, TopologySpreadConstraint, WeightedPodAffinityTerm,
};
pub use policy::{
    IntOrString, Namespace, PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus,
    PriorityClass,
};
pub use scheduling::{
    BasicSchedulingPolicy, GangSchedulingPolicy, PodGroup, PodGroupSchedulingConstraints,
    PodGroupSchedulingPolicy, PodGroupSpec, PodGroupStatus, TopologyConstraint,
};
pub use storage::{
    BETA_STORAGE_CLASS_ANNOTATION, CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec,
    CSIPersistentVolumeSource, CSIStorageCapacity, MIGRATED_PLUGINS_ANNOTATION, ObjectReference,
    PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeClaimStatus,
    PersistentVolumeSpec, PersistentVolumeStatus, StorageClass, TopologySelectorLabelRequirement,
    TopologySelectorTerm, VolumeAttachment, VolumeAttachmentSource, VolumeAttachmentSpec,
    VolumeAttachmentStatus, VolumeNodeAffinity, VolumeNodeResources,
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
