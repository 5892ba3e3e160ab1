//! The plugins that every profile has unless it says otherwise, and how a profile's own are merged into them.
//!
//! Follows `pkg/scheduler/apis/config/v1/default_plugins.go`.

use super::gates::{FeatureGates, Gate};
use super::plugin_names as names;
use super::plugins::{ExtensionPoint, PluginRef, PluginSet, Plugins};

/// The default plugins of v1.36 under these gates, all of them at MultiPoint.
pub fn default_plugins(gates: &FeatureGates) -> Plugins {
    let mut enabled: Vec<(&str, i32)> = vec![
        (names::SCHEDULING_GATES, 0),
        (names::PRIORITY_SORT, 0),
        (names::NODE_UNSCHEDULABLE, 0),
        (names::NODE_NAME, 0),
        (names::TAINT_TOLERATION, 3),
        (names::NODE_AFFINITY, 2),
        (names::NODE_PORTS, 0),
        (names::NODE_RESOURCES_FIT, 1),
        (names::VOLUME_RESTRICTIONS, 0),
        (names::NODE_VOLUME_LIMITS, 0),
        (names::VOLUME_BINDING, 0),
        (names::VOLUME_ZONE, 0),
        (names::POD_TOPOLOGY_SPREAD, 2),
        (names::INTER_POD_AFFINITY, 2),
        // Ahead of DefaultPreemption: it is better to free an idle claim than to evict a pod.
        (names::DYNAMIC_RESOURCES, 2),
        (names::DEFAULT_PREEMPTION, 0),
        (names::NODE_RESOURCES_BALANCED_ALLOCATION, 1),
        (names::IMAGE_LOCALITY, 1),
        (names::DEFAULT_BINDER, 0),
    ];
    if gates.is_enabled(Gate::NodeDeclaredFeatures) {
        enabled.push((names::NODE_DECLARED_FEATURES, 0));
    }
    if gates.is_enabled(Gate::GangScheduling) {
        enabled.push((names::GANG_SCHEDULING, 0));
    }
    if gates.is_enabled(Gate::TopologyAwareWorkloadScheduling) {
        enabled.push((names::TOPOLOGY_PLACEMENT_GENERATOR, 0));
        enabled.push((names::POD_GROUP_PODS_COUNT, 1));
    }
    let enabled = enabled.into_iter().map(|(name, weight)| PluginRef { name: name.to_owned(), weight });
    let mut plugins = Plugins::default();
    plugins.multi_point.enabled.extend(enabled);
    plugins
}

/// Merges a profile's own plugins into the default ones (`mergePlugins`).
pub fn merge_plugins(mut defaults: Plugins, custom: &Plugins) -> Plugins {
    defaults.multi_point = merge_plugin_set(&defaults.multi_point, &custom.multi_point);
    for point in ExtensionPoint::ALL {
        *defaults.at_mut(point) = merge_plugin_set(defaults.at(point), custom.at(point));
    }
    defaults
}

/// A default plugin that is enabled again is replaced in its place; all others follow in their own order, also
/// those that are named twice, which is found out when the profile is built.
fn merge_plugin_set(defaults: &PluginSet, custom: &PluginSet) -> PluginSet {
    let disabled: Vec<String> = custom.disabled.iter().chain(&defaults.disabled).cloned().collect();
    let is_disabled = |name: &str| disabled.iter().any(|disabled| disabled == name);
    let mut enabled = Vec::new();
    let mut replacing = vec![false; custom.enabled.len()];
    if !is_disabled("*") {
        for plugin in defaults.enabled.iter().filter(|plugin| !is_disabled(&plugin.name)) {
            // Of two entries for one plugin the last one counts.
            match custom.enabled.iter().rposition(|own| own.name == plugin.name) {
                Some(i) => {
                    replacing[i] = true;
                    enabled.push(custom.enabled[i].clone());
                }
                None => enabled.push(plugin.clone()),
            }
        }
    }
    let appended = custom.enabled.iter().zip(&replacing).filter(|(_, replaces)| !**replaces);
    enabled.extend(appended.map(|(plugin, _)| plugin.clone()));
    PluginSet { enabled, disabled }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(enabled: &[(&str, i32)], disabled: &[&str]) -> PluginSet {
        PluginSet {
            enabled: enabled
                .iter()
                .map(|(name, weight)| PluginRef { name: (*name).to_owned(), weight: *weight })
                .collect(),
            disabled: disabled.iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// The cases of upstream's TestMergePlugins that tell the rules apart.
    #[test]
    fn merging() {
        let defaults = set(&[("A", 0), ("B", 1), ("C", 0)], &[]);
        let merged = |custom: PluginSet| {
            let enabled = merge_plugin_set(&defaults, &custom).enabled;
            enabled.into_iter().map(|plugin| (plugin.name, plugin.weight)).collect::<Vec<_>>()
        };
        let expect = |list: &[(&str, i32)]| {
            list.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect::<Vec<_>>()
        };
        assert_eq!(merged(set(&[], &["B"])), expect(&[("A", 0), ("C", 0)]), "a default is disabled");
        assert_eq!(merged(set(&[], &["*"])), expect(&[]), "all defaults are disabled");
        assert_eq!(
            merged(set(&[("B", 5)], &[])),
            expect(&[("A", 0), ("B", 5), ("C", 0)]),
            "replaced in place"
        );
        assert_eq!(
            merged(set(&[("B", 5)], &["B"])),
            expect(&[("A", 0), ("C", 0), ("B", 5)]),
            "disabled and enabled: at the end"
        );
        assert_eq!(merged(set(&[("X", 1)], &["*"])), expect(&[("X", 1)]), "own plugins alone");
        assert_eq!(
            merged(set(&[("X", 1), ("X", 2)], &["*"])),
            expect(&[("X", 1), ("X", 2)]),
            "a repeated plugin stays repeated"
        );
    }

    #[test]
    fn gates_add_default_plugins() {
        let last = |gates: &FeatureGates| {
            default_plugins(gates).multi_point.enabled.last().map(|plugin| plugin.name.clone())
        };
        assert_eq!(last(&FeatureGates::default()).as_deref(), Some(names::NODE_DECLARED_FEATURES));
        let gang = FeatureGates::parse("GenericWorkload=true,GangScheduling=true").unwrap_or_default();
        assert_eq!(last(&gang).as_deref(), Some(names::GANG_SCHEDULING));
    }
}
