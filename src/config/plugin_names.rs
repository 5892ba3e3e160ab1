//! The names of the plugins of kube-scheduler v1.36, under which configurations, messages and events know them.
//!
//! Follows `pkg/scheduler/framework/plugins/names`. Which of them are built here, the plugin registry knows.

macro_rules! names {
    ($($constant:ident = $name:literal;)+) => {
        $(#[doc = concat!("`", $name, "`.")] pub const $constant: &str = $name;)+

        /// Every name.
        pub const ALL: &[&str] = &[$($constant),+];
    };
}

names! {
    PRIORITY_SORT = "PrioritySort";
    DEFAULT_BINDER = "DefaultBinder";
    DEFAULT_PREEMPTION = "DefaultPreemption";
    DYNAMIC_RESOURCES = "DynamicResources";
    GANG_SCHEDULING = "GangScheduling";
    IMAGE_LOCALITY = "ImageLocality";
    INTER_POD_AFFINITY = "InterPodAffinity";
    NODE_AFFINITY = "NodeAffinity";
    NODE_DECLARED_FEATURES = "NodeDeclaredFeatures";
    NODE_NAME = "NodeName";
    NODE_PORTS = "NodePorts";
    NODE_RESOURCES_BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation";
    NODE_RESOURCES_FIT = "NodeResourcesFit";
    NODE_UNSCHEDULABLE = "NodeUnschedulable";
    NODE_VOLUME_LIMITS = "NodeVolumeLimits";
    POD_TOPOLOGY_SPREAD = "PodTopologySpread";
    SCHEDULING_GATES = "SchedulingGates";
    TAINT_TOLERATION = "TaintToleration";
    VOLUME_BINDING = "VolumeBinding";
    VOLUME_RESTRICTIONS = "VolumeRestrictions";
    VOLUME_ZONE = "VolumeZone";
    TOPOLOGY_PLACEMENT_GENERATOR = "TopologyPlacementGenerator";
    POD_GROUP_PODS_COUNT = "PodGroupPodsCount";
}

/// Whether kube-scheduler v1.36 has a plugin of that name in its own tree.
pub fn is_in_tree(name: &str) -> bool {
    ALL.contains(&name)
}
