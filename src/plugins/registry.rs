//! The in-tree plugins by name.
//!
//! Follows `pkg/scheduler/framework/plugins/registry.go`.

use std::sync::Arc;

use super::default_binder::DefaultBinder;
use super::default_preemption::DefaultPreemption;
use super::dynamic_resources::DynamicResources;
use super::gang_scheduling::GangScheduling;
use super::image_locality::ImageLocality;
use super::inter_pod_affinity::InterPodAffinity;
use super::names;
use super::node_affinity::NodeAffinity;
use super::node_declared_features::NodeDeclaredFeatures;
use super::node_name::NodeName;
use super::node_ports::NodePorts;
use super::node_resources::{BalancedAllocation, Fit};
use super::node_unschedulable::NodeUnschedulable;
use super::node_volume_limits::NodeVolumeLimits;
use super::pod_group_pods_count::PodGroupPodsCount;
use super::pod_topology_spread::PodTopologySpread;
use super::queue_sort::PrioritySort;
use super::scheduling_gates::SchedulingGates;
use super::taint_toleration::TaintToleration;
use super::topology_placement::TopologyPlacement;
use super::volume_binding::VolumeBinding;
use super::volume_restrictions::VolumeRestrictions;
use super::volume_zone::VolumeZone;
use crate::config::Gate;
use crate::config::plugin_args::{
    DefaultPreemptionArgs, DynamicResourcesArgs, NodeAffinityArgs, NodeResourcesBalancedAllocationArgs,
    NodeResourcesFitArgs, VolumeBindingArgs,
};
use crate::config::topology_args::{InterPodAffinityArgs, PodTopologySpreadArgs};
use crate::framework::Plugin;
use crate::framework::runtime::{FactoryContext, Registry};

type Args<'a> = Option<&'a serde_json::Value>;
type Made = Result<Arc<dyn Plugin>, String>;

/// A factory of a plugin.
type Factory = fn(Args<'_>, &FactoryContext<'_>) -> Made;

/// Every in-tree plugin that is built, with its factory.
const IN_TREE: &[(&str, Factory)] = &[
    (names::PRIORITY_SORT, |_, _| made(PrioritySort)),
    (names::SCHEDULING_GATES, |_, _| made(SchedulingGates)),
    (names::NODE_UNSCHEDULABLE, |_, context| {
        made(NodeUnschedulable { comparison_operators: comparison_operators(context) })
    }),
    (names::NODE_NAME, |_, _| made(NodeName)),
    (names::TAINT_TOLERATION, |_, context| {
        made(TaintToleration { comparison_operators: comparison_operators(context) })
    }),
    (names::NODE_AFFINITY, |args, _| {
        made(NodeAffinity::new(NodeAffinityArgs::from_value(args, "").map_err(text)?))
    }),
    (names::NODE_PORTS, |_, _| made(NodePorts)),
    (names::NODE_RESOURCES_FIT, |args, context| {
        made(Fit::new(NodeResourcesFitArgs::from_value(args, "").map_err(text)?, context.gates))
    }),
    (names::DEFAULT_PREEMPTION, |args, context| {
        let args = DefaultPreemptionArgs::from_value(args, "").map_err(text)?;
        made(DefaultPreemption::new(args, context.gates))
    }),
    (names::VOLUME_RESTRICTIONS, |_, _| made(VolumeRestrictions)),
    (names::NODE_VOLUME_LIMITS, |_, context| made(NodeVolumeLimits::new(context.gates))),
    (names::VOLUME_BINDING, |args, context| {
        let args = VolumeBindingArgs::from_value(args, "", context.gates).map_err(text)?;
        made(VolumeBinding::new(&args, context.gates))
    }),
    (names::VOLUME_ZONE, |_, _| made(VolumeZone)),
    (names::DYNAMIC_RESOURCES, |args, context| {
        let args = DynamicResourcesArgs::from_value(args, "", context.gates).map_err(text)?;
        made(DynamicResources::new(args, context.gates)?)
    }),
    (names::POD_TOPOLOGY_SPREAD, |args, context| {
        let args = PodTopologySpreadArgs::from_value(args, "").map_err(text)?;
        made(PodTopologySpread::new(args, context.gates))
    }),
    (names::INTER_POD_AFFINITY, |args, _| {
        made(InterPodAffinity::new(InterPodAffinityArgs::from_value(args, "").map_err(text)?))
    }),
    (names::NODE_RESOURCES_BALANCED_ALLOCATION, |args, context| {
        let args = NodeResourcesBalancedAllocationArgs::from_value(args, "").map_err(text)?;
        made(BalancedAllocation::new(&args, context.gates))
    }),
    (names::IMAGE_LOCALITY, |_, _| made(ImageLocality)),
    (names::NODE_DECLARED_FEATURES, |_, context| {
        made(NodeDeclaredFeatures { is_enabled: context.gates.is_enabled(Gate::NodeDeclaredFeatures) })
    }),
    (names::GANG_SCHEDULING, |_, _| made(GangScheduling)),
    (names::TOPOLOGY_PLACEMENT_GENERATOR, |_, _| made(TopologyPlacement)),
    (names::POD_GROUP_PODS_COUNT, |_, _| made(PodGroupPodsCount)),
    (names::DEFAULT_BINDER, |_, _| made(DefaultBinder)),
];

fn made(plugin: impl Plugin + 'static) -> Made {
    Ok(Arc::new(plugin))
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn text(error: impl ToString) -> String {
    error.to_string()
}

const fn comparison_operators(context: &FactoryContext<'_>) -> bool {
    context.gates.is_enabled(Gate::TaintTolerationComparisonOperators)
}

/// A registry with every in-tree plugin that is built.
pub fn in_tree_registry() -> Registry {
    let mut registry = Registry::default();
    for (name, factory) in IN_TREE {
        // The names are different, which a test keeps so.
        let _ = registry.register(name, factory);
    }
    registry
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::config::{FeatureGates, LoadOptions, SchedulerConfig};
    use crate::framework::Framework;

    #[test]
    fn every_plugin_is_registered_under_its_own_name() {
        let registry = in_tree_registry();
        assert_eq!(registry.names().count(), IN_TREE.len());
        let context = FactoryContext { gates: &FeatureGates::default(), profile_name: "p" };
        for name in registry.names() {
            assert_eq!(registry.build(name, None, &context).unwrap().name(), name);
        }
    }

    #[test]
    fn every_plugin_of_kube_scheduler_is_there() {
        let registry = in_tree_registry();
        assert!(names::ALL.iter().all(|name| registry.contains(name)));
    }

    #[test]
    fn the_default_profile_runs_the_plugins_in_upstreams_order() {
        let (registry, gates) = (in_tree_registry(), FeatureGates::default());
        let has_plugin = |name: &str| registry.contains(name);
        let options = LoadOptions { gates: &gates, has_plugin: &has_plugin };
        let config = SchedulerConfig::with_defaults(options);
        let framework = Framework::new(&config.profiles[0], &registry, &gates).unwrap();
        let names =
            |plugins: &[Arc<dyn Plugin>]| plugins.iter().map(|plugin| plugin.name()).collect::<Vec<_>>();
        let points = &framework.plugins;
        assert_eq!(names(&points.pre_enqueue), ["SchedulingGates", "DynamicResources", "DefaultPreemption"]);
        assert_eq!(names(&points.queue_sort), ["PrioritySort"]);
        assert_eq!(
            names(&points.pre_filter),
            [
                "NodeAffinity",
                "NodePorts",
                "NodeResourcesFit",
                "VolumeRestrictions",
                "NodeVolumeLimits",
                "VolumeBinding",
                "VolumeZone",
                "PodTopologySpread",
                "InterPodAffinity",
                "DynamicResources",
                "NodeDeclaredFeatures"
            ]
        );
        assert_eq!(
            names(&points.filter),
            [
                "NodeUnschedulable",
                "NodeName",
                "TaintToleration",
                "NodeAffinity",
                "NodePorts",
                "NodeResourcesFit",
                "VolumeRestrictions",
                "NodeVolumeLimits",
                "VolumeBinding",
                "VolumeZone",
                "PodTopologySpread",
                "InterPodAffinity",
                "DynamicResources",
                "NodeDeclaredFeatures"
            ]
        );
        assert_eq!(names(&points.post_filter), ["DynamicResources", "DefaultPreemption"]);
        assert_eq!(
            names(&points.pre_score),
            [
                "TaintToleration",
                "NodeAffinity",
                "NodeResourcesFit",
                "VolumeBinding",
                "PodTopologySpread",
                "InterPodAffinity",
                "NodeResourcesBalancedAllocation"
            ]
        );
        let score: Vec<_> = points.score.iter().map(|score| (score.plugin.name(), score.weight)).collect();
        assert_eq!(
            score,
            [
                ("TaintToleration", 3),
                ("NodeAffinity", 2),
                ("NodeResourcesFit", 1),
                ("VolumeBinding", 1),
                ("PodTopologySpread", 2),
                ("InterPodAffinity", 2),
                ("DynamicResources", 2),
                ("NodeResourcesBalancedAllocation", 1),
                ("ImageLocality", 1)
            ]
        );
        assert_eq!(names(&points.bind), ["DefaultBinder"]);
        assert_eq!(names(&points.reserve), ["VolumeBinding", "DynamicResources"]);
        assert_eq!(names(&points.pre_bind), ["VolumeBinding", "DynamicResources"]);
        assert!(points.permit.is_empty() && points.post_bind.is_empty());
    }
}
