//! Reads a `KubeSchedulerConfiguration` (`kubescheduler.config.k8s.io/v1`) and fills in what it leaves out.
//!
//! Follows `pkg/scheduler/apis/config/v1/defaults.go` and, for the fields that are read, `validation.go`. The
//! settings of a process (leader election, client connection, debugging) are accepted and not kept. Extenders
//! are refused.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::default_plugins::{default_plugins, merge_plugins};
use super::gates::FeatureGates;
use super::plugin_args::{
    ArgsError, DefaultPreemptionArgs, NodeAffinityArgs, NodeResourcesBalancedAllocationArgs,
};
use super::plugin_names;
use super::types::{ExtensionPoint, PluginConfig, PluginRef, PluginSet, Plugins, Profile, SchedulerConfig};
use crate::api::field::{FieldError, FieldErrors, child, index};
use crate::api::{Duration, Str};

/// The name of the scheduler where a configuration has one profile without a name.
pub const DEFAULT_SCHEDULER_NAME: &str = "default-scheduler";

const API_VERSION: &str = "kubescheduler.config.k8s.io/v1";
const KIND: &str = "KubeSchedulerConfiguration";

/// Why a configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text is no configuration.
    #[error("{0}")]
    Form(String),
    /// It is a configuration of another version, or something else.
    #[error("no kind {kind:?} is registered for version {api_version:?}")]
    Kind {
        /// `apiVersion`.
        api_version: String,
        /// `kind`.
        kind: String,
    },
    /// Values are not allowed.
    #[error(transparent)]
    Invalid(#[from] FieldErrors),
    /// It asks for something of kube-scheduler that is not built.
    #[error("{path}: {what} is not built yet")]
    NotBuilt {
        /// Where it is asked for.
        path: String,
        /// What is asked for.
        what: String,
    },
}

/// How a configuration is read.
#[derive(Clone, Copy)]
pub struct LoadOptions<'a> {
    /// The feature gates, which add default plugins.
    pub gates: &'a FeatureGates,
    /// Whether there is a plugin of that name. A default plugin that is not there is left out; a configuration
    /// that names a plugin of kube-scheduler that is not there is refused.
    pub has_plugin: &'a dyn Fn(&str) -> bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawConfig {
    #[serde(default)]
    api_version: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    parallelism: Option<i32>,
    #[serde(default, rename = "leaderElection")]
    _leader_election: Option<IgnoredAny>,
    #[serde(default, rename = "clientConnection")]
    _client_connection: Option<IgnoredAny>,
    #[serde(default, rename = "enableProfiling")]
    _enable_profiling: Option<bool>,
    #[serde(default, rename = "enableContentionProfiling")]
    _enable_contention_profiling: Option<bool>,
    #[serde(default, rename = "delayCacheUntilActive")]
    _delay_cache_until_active: Option<bool>,
    #[serde(default)]
    percentage_of_nodes_to_score: Option<i32>,
    #[serde(default)]
    pod_initial_backoff_seconds: Option<i64>,
    #[serde(default)]
    pod_max_backoff_seconds: Option<i64>,
    #[serde(default)]
    profiles: Option<Vec<RawProfile>>,
    #[serde(default)]
    extenders: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawProfile {
    #[serde(default)]
    scheduler_name: Option<String>,
    #[serde(default)]
    percentage_of_nodes_to_score: Option<i32>,
    #[serde(default)]
    plugins: Option<RawPlugins>,
    #[serde(default)]
    plugin_config: Option<Vec<RawPluginConfig>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPluginConfig {
    name: String,
    #[serde(default)]
    args: serde_json::Value,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RawPlugins {
    #[serde(default)]
    multi_point: Option<RawPluginSet>,
    #[serde(default)]
    pre_enqueue: Option<RawPluginSet>,
    #[serde(default)]
    queue_sort: Option<RawPluginSet>,
    #[serde(default)]
    pre_filter: Option<RawPluginSet>,
    #[serde(default)]
    filter: Option<RawPluginSet>,
    #[serde(default)]
    post_filter: Option<RawPluginSet>,
    #[serde(default)]
    pre_score: Option<RawPluginSet>,
    #[serde(default)]
    score: Option<RawPluginSet>,
    #[serde(default)]
    reserve: Option<RawPluginSet>,
    #[serde(default)]
    permit: Option<RawPluginSet>,
    #[serde(default)]
    pre_bind: Option<RawPluginSet>,
    #[serde(default)]
    bind: Option<RawPluginSet>,
    #[serde(default)]
    post_bind: Option<RawPluginSet>,
    #[serde(default)]
    placement_generate: Option<RawPluginSet>,
    #[serde(default)]
    placement_score: Option<RawPluginSet>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct RawPluginSet {
    #[serde(default)]
    enabled: Option<Vec<RawPlugin>>,
    #[serde(default)]
    disabled: Option<Vec<RawPlugin>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlugin {
    name: String,
    #[serde(default)]
    weight: Option<i32>,
}

impl SchedulerConfig {
    /// The configuration that holds where none is given: one profile with the default plugins.
    pub fn with_defaults(options: LoadOptions<'_>) -> Self {
        let mut loader = Loader { options, left_out: BTreeSet::new() };
        let profile = Profile {
            scheduler_name: Str::from(DEFAULT_SCHEDULER_NAME),
            percentage_of_nodes_to_score: None,
            plugins: loader.built_defaults(),
            plugin_config: Vec::new(),
        };
        Self {
            parallelism: 16,
            percentage_of_nodes_to_score: 0,
            pod_initial_backoff: Duration::from_secs(1),
            pod_max_backoff: Duration::from_secs(10),
            profiles: vec![profile],
            left_out: loader.left_out.into_iter().collect(),
        }
    }

    /// Reads a configuration in YAML or JSON.
    ///
    /// # Errors
    /// The text has another form, a value is not allowed, or it asks for something that is not built.
    pub fn load(text: &str, options: LoadOptions<'_>) -> Result<Self, ConfigError> {
        let raw: RawConfig =
            serde_saphyr::from_str(text).map_err(|error| ConfigError::Form(error.to_string()))?;
        let api_version = raw.api_version.unwrap_or_default();
        let kind = raw.kind.unwrap_or_default();
        if api_version != API_VERSION || kind != KIND {
            return Err(ConfigError::Kind { api_version, kind });
        }
        if raw.extenders.is_some_and(|extenders| !extenders.is_empty()) {
            return Err(ConfigError::NotBuilt { path: "extenders".to_owned(), what: "extenders".to_owned() });
        }
        let mut errors = Vec::new();
        let parallelism = raw.parallelism.unwrap_or(16);
        if parallelism <= 0 {
            let detail = "should be an integer value greater than zero";
            errors.push(FieldError::invalid("parallelism", parallelism, detail));
        }
        let mut loader = Loader { options, left_out: BTreeSet::new() };
        let mut raw_profiles = raw.profiles.unwrap_or_default();
        if raw_profiles.is_empty() {
            raw_profiles.push(RawProfile::default());
        }
        let is_single = raw_profiles.len() == 1;
        let mut profiles: Vec<Profile> = Vec::new();
        for (i, profile) in raw_profiles.into_iter().enumerate() {
            let path = index("profiles", i);
            let profile = loader.profile(profile, is_single, &path, &mut errors)?;
            let same_name = |earlier: &Profile| earlier.scheduler_name == profile.scheduler_name;
            if profiles.iter().any(same_name) {
                let mut error = FieldError::duplicate(child(&path, "schedulerName"), "");
                // Upstream shows the path of the earlier one as an object without fields.
                error.value = Some("{}".to_owned());
                errors.push(error);
            }
            profiles.push(profile);
        }
        let percentage = raw.percentage_of_nodes_to_score.unwrap_or(0);
        check_percentage("percentageOfNodesToScore", percentage, &mut errors);
        let initial = raw.pod_initial_backoff_seconds.unwrap_or(1);
        let max = raw.pod_max_backoff_seconds.unwrap_or(10);
        if initial <= 0 {
            errors.push(FieldError::invalid("podInitialBackoffSeconds", initial, "must be greater than 0"));
        }
        if max < initial {
            let detail = "must be greater than or equal to PodInitialBackoffSeconds";
            errors.push(FieldError::invalid("podMaxBackoffSeconds", max, detail));
        }
        FieldErrors(errors).into_result()?;
        Ok(Self {
            parallelism,
            percentage_of_nodes_to_score: percentage,
            pod_initial_backoff: Duration::from_secs(initial.unsigned_abs()),
            pod_max_backoff: Duration::from_secs(max.unsigned_abs()),
            profiles,
            left_out: loader.left_out.into_iter().collect(),
        })
    }
}

fn check_percentage(path: &str, percentage: i32, errors: &mut Vec<FieldError>) {
    if !(0..=100).contains(&percentage) {
        errors.push(FieldError::invalid(path, percentage, "not in valid range [0-100]"));
    }
}

/// Checks the arguments of a plugin. Those of NodeResourcesFit are not looked at before the plugin is made, as it
/// is upstream.
fn check_args(
    plugin: &str,
    args: &serde_json::Value,
    path: &str,
    errors: &mut Vec<FieldError>,
) -> Result<(), ConfigError> {
    let checked = match plugin {
        plugin_names::DEFAULT_PREEMPTION => DefaultPreemptionArgs::from_value(Some(args), path).map(|_| ()),
        plugin_names::NODE_AFFINITY => NodeAffinityArgs::from_value(Some(args), path).map(|_| ()),
        plugin_names::NODE_RESOURCES_BALANCED_ALLOCATION => {
            NodeResourcesBalancedAllocationArgs::from_value(Some(args), path).map(|_| ())
        }
        _ => Ok(()),
    };
    match checked {
        Ok(()) => Ok(()),
        Err(ArgsError::Invalid(found)) => {
            errors.extend(found.0);
            Ok(())
        }
        Err(ArgsError::Form(text)) => Err(ConfigError::Form(format!("{path}: {text}"))),
    }
}

struct Loader<'a> {
    options: LoadOptions<'a>,
    left_out: BTreeSet<String>,
}

impl Loader<'_> {
    fn is_unbuilt(&self, name: &str) -> bool {
        !(self.options.has_plugin)(name) && plugin_names::is_in_tree(name)
    }

    /// The default plugins that are built; notes the others.
    fn built_defaults(&mut self) -> Plugins {
        let mut defaults = default_plugins(self.options.gates);
        defaults.multi_point.enabled.retain(|plugin| {
            let is_unbuilt = self.is_unbuilt(&plugin.name);
            if is_unbuilt {
                self.left_out.insert(plugin.name.clone());
            }
            !is_unbuilt
        });
        defaults
    }

    fn profile(
        &mut self,
        raw: RawProfile,
        is_single: bool,
        path: &str,
        errors: &mut Vec<FieldError>,
    ) -> Result<Profile, ConfigError> {
        let scheduler_name = match raw.scheduler_name {
            None if is_single => DEFAULT_SCHEDULER_NAME.to_owned(),
            name => name.unwrap_or_default(),
        };
        if scheduler_name.is_empty() {
            errors.push(FieldError::required(child(path, "schedulerName"), ""));
        }
        if let Some(percentage) = raw.percentage_of_nodes_to_score {
            check_percentage(&child(path, "percentageOfNodesToScore"), percentage, errors);
        }
        let custom = self.plugins(raw.plugins.unwrap_or_default(), &child(path, "plugins"))?;
        let mut plugin_config: Vec<PluginConfig> = Vec::new();
        for (i, config) in raw.plugin_config.unwrap_or_default().into_iter().enumerate() {
            let path = index(&child(path, "pluginConfig"), i);
            if plugin_config.iter().any(|earlier| earlier.name == config.name) {
                errors.push(FieldError::duplicate(path, &config.name));
                continue;
            }
            self.check_built(&config.name, &path)?;
            check_args(&config.name, &config.args, &child(&path, "args"), errors)?;
            plugin_config.push(PluginConfig { name: config.name, args: config.args });
        }
        Ok(Profile {
            scheduler_name: Str::from(scheduler_name),
            percentage_of_nodes_to_score: raw.percentage_of_nodes_to_score,
            plugins: merge_plugins(self.built_defaults(), &custom),
            plugin_config,
        })
    }

    /// Refuses a plugin that is named at `path`, belongs to kube-scheduler and is not built.
    fn check_built(&self, name: &str, path: &str) -> Result<(), ConfigError> {
        if self.is_unbuilt(name) {
            return Err(ConfigError::NotBuilt { path: path.to_owned(), what: format!("plugin {name:?}") });
        }
        Ok(())
    }

    fn plugins(&self, raw: RawPlugins, path: &str) -> Result<Plugins, ConfigError> {
        let mut plugins = Plugins::default();
        for (set, name) in
            [(raw.placement_generate, "placementGenerate"), (raw.placement_score, "placementScore")]
        {
            self.plugin_set(set, &child(path, name))?;
        }
        plugins.multi_point = self.plugin_set(raw.multi_point, &child(path, "multiPoint"))?;
        for (point, set, name) in [
            (ExtensionPoint::PreEnqueue, raw.pre_enqueue, "preEnqueue"),
            (ExtensionPoint::QueueSort, raw.queue_sort, "queueSort"),
            (ExtensionPoint::PreFilter, raw.pre_filter, "preFilter"),
            (ExtensionPoint::Filter, raw.filter, "filter"),
            (ExtensionPoint::PostFilter, raw.post_filter, "postFilter"),
            (ExtensionPoint::PreScore, raw.pre_score, "preScore"),
            (ExtensionPoint::Score, raw.score, "score"),
            (ExtensionPoint::Reserve, raw.reserve, "reserve"),
            (ExtensionPoint::Permit, raw.permit, "permit"),
            (ExtensionPoint::PreBind, raw.pre_bind, "preBind"),
            (ExtensionPoint::Bind, raw.bind, "bind"),
            (ExtensionPoint::PostBind, raw.post_bind, "postBind"),
        ] {
            *plugins.at_mut(point) = self.plugin_set(set, &child(path, name))?;
        }
        Ok(plugins)
    }

    /// Disabled plugins need not be there, so that a configuration may switch off what is not built.
    fn plugin_set(&self, raw: Option<RawPluginSet>, path: &str) -> Result<PluginSet, ConfigError> {
        let raw = raw.unwrap_or_default();
        let mut set = PluginSet::default();
        for (i, plugin) in raw.enabled.unwrap_or_default().into_iter().enumerate() {
            self.check_built(&plugin.name, &index(&child(path, "enabled"), i))?;
            set.enabled.push(PluginRef { name: plugin.name, weight: plugin.weight.unwrap_or(0) });
        }
        set.disabled.extend(raw.disabled.unwrap_or_default().into_iter().map(|plugin| plugin.name));
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

    fn load(body: &str) -> Result<SchedulerConfig, ConfigError> {
        let has_plugin = |name: &str| name != "VolumeBinding";
        let gates = FeatureGates::default();
        let options = LoadOptions { gates: &gates, has_plugin: &has_plugin };
        SchedulerConfig::load(&format!("{HEAD}{body}"), options)
    }

    #[test]
    fn defaults_of_v1() {
        let config = load("").unwrap();
        assert_eq!(config.parallelism, 16);
        assert_eq!(config.percentage_of_nodes_to_score, 0);
        assert_eq!(config.pod_initial_backoff, Duration::from_secs(1));
        assert_eq!(config.pod_max_backoff, Duration::from_secs(10));
        let [profile] = config.profiles.as_slice() else { unreachable!("{config:?}") };
        assert_eq!(profile.scheduler_name.as_ref(), "default-scheduler");
        assert_eq!(profile.plugins.multi_point.enabled.len(), 19);
        assert_eq!(config.left_out, ["VolumeBinding"]);
    }

    #[test]
    fn a_plugin_that_is_not_built_is_refused_where_it_is_enabled() {
        let body = "profiles:\n- plugins: {filter: {enabled: [{name: VolumeBinding}]}}\n";
        assert_eq!(
            load(body).unwrap_err().to_string(),
            "profiles[0].plugins.filter.enabled[0]: plugin \"VolumeBinding\" is not built yet"
        );
        let disabled = "profiles:\n- plugins: {multiPoint: {disabled: [{name: VolumeBinding}]}}\n";
        assert!(load(disabled).is_ok());
    }

    #[test]
    fn values_that_are_not_allowed_are_named_together() {
        let text = load(
            "parallelism: 0\npercentageOfNodesToScore: 101\npodInitialBackoffSeconds: 20\nprofiles: [{schedulerName: a}, \
             {schedulerName: a, percentageOfNodesToScore: -1}]\n",
        )
        .unwrap_err()
        .to_string();
        assert_eq!(
            text,
            "[parallelism: Invalid value: 0: should be an integer value greater than zero, \
             profiles[1].percentageOfNodesToScore: Invalid value: -1: not in valid range [0-100], \
             profiles[1].schedulerName: Duplicate value: {}, percentageOfNodesToScore: Invalid \
             value: 101: not in valid range [0-100], podMaxBackoffSeconds: Invalid value: 10: must be greater than or \
             equal to PodInitialBackoffSeconds]"
        );
    }

    #[test]
    fn arguments_are_checked_where_they_stand() {
        let body = "profiles:\n- pluginConfig: [{name: DefaultPreemption, args: {minCandidateNodesPercentage: 101}}]\n";
        assert_eq!(
            load(body).unwrap_err().to_string(),
            "profiles[0].pluginConfig[0].args.minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, \
             100]"
        );
        let body = "profiles:\n- pluginConfig: [{name: NodeAffinity, args: {affinity: {}}}]\n";
        assert!(load(body).unwrap_err().to_string().contains("unknown field `affinity`"));
    }

    #[test]
    fn unknown_fields_and_other_kinds_are_refused() {
        assert!(load("podInitialBackoff: 1\n").unwrap_err().to_string().contains("podInitialBackoff"));
        let gates = FeatureGates::default();
        let options = LoadOptions { gates: &gates, has_plugin: &|_| true };
        let error = SchedulerConfig::load("apiVersion: v1\nkind: Pod\n", options).unwrap_err();
        assert_eq!(error, ConfigError::Kind { api_version: "v1".into(), kind: "Pod".into() });
    }
}
