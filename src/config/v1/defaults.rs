//! Fills in what a configuration leaves out.
//!
//! Follows `pkg/scheduler/apis/config/v1/defaults.go` and `component-base/config/v1alpha1/defaults.go`.

use std::collections::BTreeSet;

use super::args::{
    DefaultPreemptionArgs, DynamicResourcesArgs, InterPodAffinityArgs, NodeAffinityArgs,
    NodeResourcesBalancedAllocationArgs, NodeResourcesFitArgs, PluginArgs, PodTopologySpreadArgs,
    ResourceSpec, ScoringStrategy, UtilizationShapePoint, VolumeBindingArgs,
};
use super::configuration::{
    ClientConnectionConfiguration, KubeSchedulerConfiguration, KubeSchedulerProfile,
    LeaderElectionConfiguration, PluginConfig,
};
use crate::config::decode::Slice;
use crate::config::default_plugins::{default_plugins, merge_plugins};
use crate::config::gates::{FeatureGates, Gate};
use crate::config::go_text::GoDuration;
use crate::config::plugins::Plugins;

/// The name of the scheduler where a configuration has one profile without a name.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";
/// The highest score of a shape point.
pub const MAX_CUSTOM_PRIORITY_SCORE: i32 = 10;

/// The value unless it is the empty one, which means that it is not set.
fn or_default<T: Default + PartialEq>(value: &mut T, default: T) {
    if *value == T::default() {
        *value = default;
    }
}

impl KubeSchedulerConfiguration {
    /// Fills in every field that is not set, also those of the arguments of plugins.
    pub fn set_defaults(&mut self, gates: &FeatureGates) {
        self.parallelism.get_or_insert(16);
        if self.profiles.is_empty() {
            self.profiles.push(KubeSchedulerProfile::default());
        }
        // With several profiles each must have a name, which validation asks for.
        if let [profile] = self.profiles.as_mut_slice() {
            profile.scheduler_name.get_or_insert_with(|| DEFAULT_SCHEDULER_NAME.to_owned());
        }
        for profile in &mut self.profiles {
            profile.set_defaults(gates);
        }
        self.percentage_of_nodes_to_score.get_or_insert(0);
        self.leader_election.set_defaults();
        self.client_connection.set_defaults();
        self.pod_initial_backoff_seconds.get_or_insert(1);
        self.pod_max_backoff_seconds.get_or_insert(10);
        let is_profiling = *self.enable_profiling.get_or_insert(true);
        self.enable_contention_profiling.get_or_insert(is_profiling);
    }
}

impl LeaderElectionConfiguration {
    fn set_defaults(&mut self) {
        or_default(&mut self.resource_lock, "leases".to_owned());
        or_default(&mut self.resource_namespace, "kube-system".to_owned());
        or_default(&mut self.resource_name, "kube-scheduler".to_owned());
        or_default(&mut self.lease_duration, GoDuration::from_secs(15));
        or_default(&mut self.renew_deadline, GoDuration::from_secs(10));
        or_default(&mut self.retry_period, GoDuration::from_secs(2));
        self.leader_elect.get_or_insert(true);
    }
}

impl ClientConnectionConfiguration {
    fn set_defaults(&mut self) {
        or_default(&mut self.content_type, "application/vnd.kubernetes.protobuf".to_owned());
        or_default(&mut self.qps, 50.0);
        or_default(&mut self.burst, 100);
    }
}

impl KubeSchedulerProfile {
    fn set_defaults(&mut self, gates: &FeatureGates) {
        let custom = self.plugins.take().unwrap_or_default();
        let plugins = merge_plugins(default_plugins(gates), &custom);
        for config in &mut self.plugin_config {
            config.args.set_defaults(gates);
        }
        self.plugin_config.extend(missing_args(&plugins, &self.plugin_config, gates));
        self.plugins = Some(plugins);
    }
}

/// The default arguments of the plugins that are enabled and have none yet, by name.
fn missing_args(plugins: &Plugins, given: &[PluginConfig], gates: &FeatureGates) -> Vec<PluginConfig> {
    let names: BTreeSet<&str> = plugins.enabled_names().into_iter().collect();
    let missing = names.into_iter().filter(|name| given.iter().all(|config| config.name != *name));
    let default = |name: &str| {
        let mut args = PluginArgs::empty(name)?;
        args.set_defaults(gates);
        Some(PluginConfig { name: name.to_owned(), args })
    };
    missing.filter_map(default).collect()
}

/// Arguments that have defaults.
pub(in crate::config) trait SetDefaults {
    /// Fills in every field that is not set.
    fn set_defaults(&mut self, gates: &FeatureGates);
}

impl SetDefaults for PluginArgs {
    fn set_defaults(&mut self, gates: &FeatureGates) {
        match self {
            Self::DefaultPreemption(args) => args.set_defaults(gates),
            Self::DynamicResources(args) => args.set_defaults(gates),
            Self::InterPodAffinity(args) => args.set_defaults(gates),
            Self::NodeAffinity(args) => args.set_defaults(gates),
            Self::NodeResourcesBalancedAllocation(args) => args.set_defaults(gates),
            Self::NodeResourcesFit(args) => args.set_defaults(gates),
            Self::PodTopologySpread(args) => args.set_defaults(gates),
            Self::VolumeBinding(args) => args.set_defaults(gates),
            Self::Other(_) => {}
        }
    }
}

impl SetDefaults for NodeAffinityArgs {
    fn set_defaults(&mut self, _: &FeatureGates) {}
}

impl SetDefaults for DefaultPreemptionArgs {
    fn set_defaults(&mut self, _: &FeatureGates) {
        self.min_candidate_nodes_percentage.get_or_insert(10);
        self.min_candidate_nodes_absolute.get_or_insert(100);
    }
}

impl SetDefaults for InterPodAffinityArgs {
    fn set_defaults(&mut self, _: &FeatureGates) {
        self.hard_pod_affinity_weight.get_or_insert(1);
    }
}

impl SetDefaults for VolumeBindingArgs {
    fn set_defaults(&mut self, gates: &FeatureGates) {
        self.bind_timeout_seconds.get_or_insert(600);
        if self.shape.items().is_empty() && gates.is_enabled(Gate::StorageCapacityScoring) {
            self.shape = Slice(Some(vec![
                UtilizationShapePoint { utilization: 0, score: MAX_CUSTOM_PRIORITY_SCORE },
                UtilizationShapePoint { utilization: 100, score: 0 },
            ]));
        }
    }
}

/// CPU and memory where no resource is given, and a weight of 1 where none is.
fn default_resources(resources: &mut Vec<ResourceSpec>) {
    if resources.is_empty() {
        *resources = ["cpu", "memory"].map(|name| ResourceSpec { name: name.to_owned(), weight: 1 }).into();
    }
    for resource in resources {
        or_default(&mut resource.weight, 1);
    }
}

impl SetDefaults for NodeResourcesBalancedAllocationArgs {
    fn set_defaults(&mut self, _: &FeatureGates) {
        default_resources(&mut self.resources);
    }
}

impl SetDefaults for PodTopologySpreadArgs {
    fn set_defaults(&mut self, _: &FeatureGates) {
        or_default(&mut self.defaulting_type, "System".to_owned());
    }
}

impl SetDefaults for NodeResourcesFitArgs {
    fn set_defaults(&mut self, _: &FeatureGates) {
        let strategy = self.scoring_strategy.get_or_insert_with(|| ScoringStrategy {
            strategy: "LeastAllocated".to_owned(),
            ..ScoringStrategy::default()
        });
        default_resources(&mut strategy.resources);
    }
}

impl SetDefaults for DynamicResourcesArgs {
    fn set_defaults(&mut self, gates: &FeatureGates) {
        if gates.is_enabled(Gate::DRASchedulerFilterTimeout) {
            self.filter_timeout.get_or_insert(GoDuration::from_secs(10));
        }
        if has_binding_conditions(gates) {
            self.binding_timeout.get_or_insert(GoDuration::from_secs(600));
        }
    }
}

/// Whether PreBind of DynamicResources waits for the conditions of devices.
pub(in crate::config) fn has_binding_conditions(gates: &FeatureGates) -> bool {
    gates.is_enabled(Gate::DRADeviceBindingConditions) && gates.is_enabled(Gate::DRAResourceClaimDeviceStatus)
}
