//! The names of the plugins of kube-scheduler v1.36, under which configurations, messages and events know them, and
//! the extension points that each one has.
//!
//! Follows `pkg/scheduler/framework/plugins/names` and what each plugin there implements. Which of them are built
//! here, the plugin registry knows.

use super::plugins::ExtensionPoint;

macro_rules! names {
    ($($constant:ident = $name:literal: $($point:ident)+;)+) => {
        $(#[doc = concat!("`", $name, "`.")] pub const $constant: &str = $name;)+

        /// Every name.
        pub const ALL: &[&str] = &[$($constant),+];

        /// The extension points that kube-scheduler's plugin of that name has; `None` if it has none of that name.
        pub fn in_tree_points(name: &str) -> Option<&'static [ExtensionPoint]> {
            match name {
                $($constant => Some(&[$(ExtensionPoint::$point),+]),)+
                _ => None,
            }
        }
    };
}

names! {
    PRIORITY_SORT = "PrioritySort": QueueSort;
    DEFAULT_BINDER = "DefaultBinder": Bind;
    DEFAULT_PREEMPTION = "DefaultPreemption": PreEnqueue PostFilter;
    DYNAMIC_RESOURCES = "DynamicResources": PreEnqueue PreFilter Filter PostFilter Score Reserve PreBind;
    GANG_SCHEDULING = "GangScheduling": PreEnqueue Permit;
    IMAGE_LOCALITY = "ImageLocality": Score;
    INTER_POD_AFFINITY = "InterPodAffinity": PreFilter Filter PreScore Score;
    NODE_AFFINITY = "NodeAffinity": PreFilter Filter PreScore Score;
    NODE_DECLARED_FEATURES = "NodeDeclaredFeatures": PreFilter Filter;
    NODE_NAME = "NodeName": Filter;
    NODE_PORTS = "NodePorts": PreFilter Filter;
    NODE_RESOURCES_BALANCED_ALLOCATION = "NodeResourcesBalancedAllocation": PreScore Score;
    NODE_RESOURCES_FIT = "NodeResourcesFit": PreFilter Filter PreScore Score PlacementScore;
    NODE_UNSCHEDULABLE = "NodeUnschedulable": Filter;
    NODE_VOLUME_LIMITS = "NodeVolumeLimits": PreFilter Filter;
    POD_TOPOLOGY_SPREAD = "PodTopologySpread": PreFilter Filter PreScore Score;
    SCHEDULING_GATES = "SchedulingGates": PreEnqueue;
    TAINT_TOLERATION = "TaintToleration": Filter PreScore Score;
    VOLUME_BINDING = "VolumeBinding": PreFilter Filter PreScore Score Reserve PreBind;
    VOLUME_RESTRICTIONS = "VolumeRestrictions": PreFilter Filter;
    VOLUME_ZONE = "VolumeZone": PreFilter Filter;
    TOPOLOGY_PLACEMENT_GENERATOR = "TopologyPlacementGenerator": PlacementGenerate;
    POD_GROUP_PODS_COUNT = "PodGroupPodsCount": PlacementScore;
}

/// Whether kube-scheduler v1.36 has a plugin of that name in its own tree.
pub fn is_in_tree(name: &str) -> bool {
    ALL.contains(&name)
}

/// The plugins that a configuration may enable, with their extension points: kube-scheduler's own, and others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginCatalog {
    others: Vec<(String, Vec<ExtensionPoint>)>,
}

impl PluginCatalog {
    /// The same catalog with a plugin that is not kube-scheduler's.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, points: impl Into<Vec<ExtensionPoint>>) -> Self {
        self.others.push((name.into(), points.into()));
        self
    }

    /// The points of a plugin; `None` if there is none of that name.
    pub fn points(&self, name: &str) -> Option<&[ExtensionPoint]> {
        in_tree_points(name).or_else(|| {
            let own = self.others.iter().find(|(own, _)| own == name);
            own.map(|(_, points)| points.as_slice())
        })
    }

    /// Whether there is a plugin of that name.
    pub fn knows(&self, name: &str) -> bool {
        self.points(name).is_some()
    }

    /// Whether there are plugins that are not kube-scheduler's.
    pub fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// Whether the plugin has the point.
    pub fn extends(&self, name: &str, point: ExtensionPoint) -> bool {
        self.points(name).is_some_and(|points| points.contains(&point))
    }
}
