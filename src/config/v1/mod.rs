//! The types of `kubescheduler.config.k8s.io/v1`, as files have them.
//!
//! Follows `k8s.io/kube-scheduler/config/v1` and `k8s.io/component-base/config/v1alpha1`. A field is an `Option`
//! where the API has a pointer; [`KubeSchedulerConfiguration::set_defaults`] fills them in.

mod args;
mod configuration;
pub(super) mod defaults;

pub(super) use args::without_type;
pub use args::{
    DefaultPreemptionArgs, DynamicResourcesArgs, InterPodAffinityArgs, LabelSelector,
    LabelSelectorRequirement, NodeAffinity, NodeAffinityArgs, NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PluginArgs,
    PodTopologySpreadArgs, PreferredSchedulingTerm, RequestedToCapacityRatioParam, ResourceSpec,
    ScoringStrategy, TopologySpreadConstraint, UtilizationShapePoint, VolumeBindingArgs,
};
pub use configuration::{
    ClientConnectionConfiguration, Extender, ExtenderManagedResource, ExtenderTlsConfig,
    KubeSchedulerConfiguration, KubeSchedulerProfile, LeaderElectionConfiguration, PluginConfig,
};
pub use defaults::{DEFAULT_SCHEDULER_NAME, MAX_CUSTOM_PRIORITY_SCORE};

/// `apiVersion` of a configuration and of the arguments of plugins.
pub const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
/// `kind` of a configuration.
pub const KIND: &str = "KubeSchedulerConfiguration";
