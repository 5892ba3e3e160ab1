//! A configuration in the form that the scheduler runs by: every default is filled in, and what the extenders change
//! about the profiles is done.

use super::complaint::Complaints;
use super::expansion::EffectivePlugins;
use super::gates::FeatureGates;
use super::plugin_names;
use super::plugins::{ExtensionPoint, PluginSet, Plugins};
use super::v1::{Extender, KubeSchedulerConfiguration};
use crate::api::{Duration, Str};

/// The whole configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerConfig {
    /// How many nodes are looked at side by side; a figure that has no effect on any decision.
    pub parallelism: i32,
    /// After which part of all nodes (in percent) the search for feasible ones ends; 0 lets the size of the
    /// cluster decide.
    pub percentage_of_nodes_to_score: i32,
    /// The backoff after the first failed attempt.
    pub pod_initial_backoff: Duration,
    /// The longest backoff.
    pub pod_max_backoff: Duration,
    /// The profiles, each with a name of its own.
    pub profiles: Vec<Profile>,
    /// The HTTP extenders, in the order of the file. Ignorable ones are asked last.
    pub extenders: Vec<Extender>,
    /// The feature gates that it was read under.
    pub gates: FeatureGates,
    /// What each profile runs, in the order of `profiles`.
    pub effective_plugins: Vec<EffectivePlugins>,
    /// The configuration as a document, all defaults filled in.
    pub document: KubeSchedulerConfiguration,
    /// What is no error and still not what its author can have meant.
    pub warnings: Complaints,
    /// Plugins of kube-scheduler that were left out of all profiles by [`SchedulerConfig::leave_out_unbuilt`].
    /// Sorted.
    pub left_out: Vec<String>,
}

/// What pods of one `schedulerName` are scheduled with.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The `schedulerName` of the pods.
    pub scheduler_name: Str,
    /// The profile's own [`SchedulerConfig::percentage_of_nodes_to_score`].
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The plugins; the default ones are merged in, MultiPoint is not expanded.
    pub plugins: Plugins,
    /// The arguments of the plugins that have any, with all their defaults.
    pub plugin_config: Vec<PluginConfig>,
}

/// The arguments of a plugin, as a document.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    /// The plugin.
    pub name: String,
    /// Its arguments.
    pub args: serde_json::Value,
}

impl SchedulerConfig {
    /// The extenders in the order in which they are asked: those that can be ignored last.
    pub fn extenders_in_order(&self) -> Vec<&Extender> {
        let (last, first): (Vec<&Extender>, Vec<&Extender>) =
            self.extenders.iter().partition(|extender| extender.ignorable);
        first.into_iter().chain(last).collect()
    }

    /// Leaves the plugins of kube-scheduler out of all profiles that are not there, and notes them. What else the
    /// configuration says stays as it is, the document and [`SchedulerConfig::effective_plugins`] included.
    pub fn leave_out_unbuilt(&mut self, has_plugin: &dyn Fn(&str) -> bool) {
        let is_left_out = |name: &str| plugin_names::is_in_tree(name) && !has_plugin(name);
        for profile in &mut self.profiles {
            let names = profile.plugins.enabled_names().into_iter();
            self.left_out.extend(names.filter(|name| is_left_out(name)).map(str::to_owned));
            let prune = |set: &mut PluginSet| set.enabled.retain(|plugin| !is_left_out(&plugin.name));
            prune(&mut profile.plugins.multi_point);
            for point in ExtensionPoint::ALL {
                prune(profile.plugins.at_mut(point));
            }
            profile.plugin_config.retain(|config| !is_left_out(&config.name));
        }
        self.left_out.sort();
        self.left_out.dedup();
    }
}
