//! What a configuration says that has no effect. kube-scheduler accepts it without a word.

use super::plugin_names::{PluginCatalog, is_in_tree};
use super::plugins::ExtensionPoint;
use super::v1::{KubeSchedulerConfiguration, KubeSchedulerProfile};
use crate::api::field::{child, index};

/// Paths and what there is to say about them.
pub(super) fn warnings(
    config: &KubeSchedulerConfiguration,
    catalog: &PluginCatalog,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (i, profile) in config.profiles.iter().enumerate() {
        in_profile(profile, &index("profiles", i), catalog, &mut found);
    }
    found
}

fn in_profile(
    profile: &KubeSchedulerProfile,
    path: &str,
    catalog: &PluginCatalog,
    found: &mut Vec<(String, String)>,
) {
    let Some(plugins) = &profile.plugins else { return };
    let plugins_path = child(path, "plugins");
    let points =
        ExtensionPoint::ALL.into_iter().map(|point| (Some(point), plugins.at(point), point.field_name()));
    for (point, set, name) in std::iter::once((None, &plugins.multi_point, "multiPoint")).chain(points) {
        let disabled_path = child(&child(&plugins_path, name), "disabled");
        for (i, plugin) in set.disabled.iter().enumerate().filter(|(_, plugin)| *plugin != "*") {
            let text = match point {
                _ if catalog.points(plugin).is_none() => format!("there is no plugin {plugin:?}"),
                Some(point) if !catalog.extends(plugin, point) => {
                    format!("plugin {plugin:?} has no {} to disable", point.as_str())
                }
                _ => continue,
            };
            found.push((index(&disabled_path, i), text));
        }
    }
    let enabled = plugins.enabled_names();
    for (i, config) in profile.plugin_config.iter().enumerate() {
        let path = index(&child(path, "pluginConfig"), i);
        if !enabled.contains(&config.name.as_str()) {
            found.push((
                path,
                format!("plugin {:?} is not enabled, so these arguments have no effect", config.name),
            ));
        } else if is_in_tree(&config.name) && config.args.is_untyped_and_set() {
            found.push((path, format!("plugin {:?} takes no arguments", config.name)));
        }
    }
}
