//! Whether the values of a configuration are allowed.
//!
//! Follows `pkg/scheduler/apis/config/validation/validation.go` and `component-base/config/validation`. The
//! configuration has its defaults already. Every complaint is made; none depends on another.

mod args;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::gates::FeatureGates;
use super::go_text::quoted;
use super::plugins::{ExtensionPoint, PluginSet};
use super::v1::{
    API_VERSION, Extender, ExtenderManagedResource, KubeSchedulerConfiguration, KubeSchedulerProfile,
    LeaderElectionConfiguration, PluginArgs,
};
use crate::api::field::{FieldError, child, index};
use crate::api::label;
pub(super) use args::Validate;

/// Plugins of earlier versions that a configuration of this one must not name.
const REMOVED_PLUGINS: [&str; 4] = ["AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits"];

/// An error about a text.
fn invalid_text(path: impl Into<String>, text: &str, detail: impl Into<String>) -> FieldError {
    FieldError::invalid(path, quoted(text), detail)
}

/// What is wrong with a configuration.
pub(super) fn validate(config: &KubeSchedulerConfiguration, gates: &FeatureGates) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let burst = config.client_connection.burst;
    if burst < 0 {
        errors.push(FieldError::invalid("clientConnection.burst", burst, "must be non-negative"));
    }
    validate_leader_election(&config.leader_election, &mut errors);
    let parallelism = config.parallelism.unwrap_or(0);
    if parallelism <= 0 {
        let detail = "should be an integer value greater than zero";
        errors.push(FieldError::invalid("parallelism", parallelism, detail));
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for (i, profile) in config.profiles.iter().enumerate() {
        let path = index("profiles", i);
        validate_profile(profile, &path, gates, &mut errors);
        let name = profile.scheduler_name.as_deref().unwrap_or("");
        if names.insert(name, i).is_some() {
            // Upstream shows the other field's path as an empty object.
            let mut error = FieldError::duplicate(child(&path, "schedulerName"), "");
            error.value = Some("{}".to_owned());
            errors.push(error);
        }
    }
    validate_queue_sort(&config.profiles, &mut errors);
    validate_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score, &mut errors);
    let initial = config.pod_initial_backoff_seconds.unwrap_or(0);
    if initial <= 0 {
        errors.push(FieldError::invalid("podInitialBackoffSeconds", initial, "must be greater than 0"));
    }
    let max = config.pod_max_backoff_seconds.unwrap_or(0);
    if max < initial {
        let detail = "must be greater than or equal to PodInitialBackoffSeconds";
        errors.push(FieldError::invalid("podMaxBackoffSeconds", max, detail));
    }
    validate_extenders(&config.extenders, &mut errors);
    errors
}

fn validate_leader_election(config: &LeaderElectionConfiguration, errors: &mut Vec<FieldError>) {
    if config.leader_elect != Some(true) {
        return;
    }
    let path = |name| child("leaderElection", name);
    for (name, duration) in [
        ("leaseDuration", config.lease_duration),
        ("renewDeadline", config.renew_deadline),
        ("retryPeriod", config.retry_period),
    ] {
        if duration.0 <= 0 {
            errors.push(invalid_text(path(name), &duration.to_string(), "must be greater than zero"));
        }
    }
    if config.lease_duration <= config.renew_deadline {
        // The value that is shown is the one that it is compared with.
        let value = config.renew_deadline.to_string();
        let detail = "must be greater than `RenewDeadline`";
        errors.push(invalid_text(path("leaseDuration"), &value, detail));
    }
    for (name, value) in [
        ("resourceLock", &config.resource_lock),
        ("resourceNamespace", &config.resource_namespace),
        ("resourceName", &config.resource_name),
    ] {
        if value.is_empty() {
            errors.push(FieldError::required(path(name), ""));
        }
    }
    if config.resource_lock != "leases" {
        let detail = "resourceLock value must be \"leases\"";
        errors.push(invalid_text(path("resourceLock"), &config.resource_lock, detail));
    }
}

fn validate_percentage(path: &str, percentage: Option<i32>, errors: &mut Vec<FieldError>) {
    if let Some(percentage) = percentage.filter(|percentage| !(0..=100).contains(percentage)) {
        errors.push(FieldError::invalid(path, percentage, "not in valid range [0-100]"));
    }
}

fn validate_profile(
    profile: &KubeSchedulerProfile,
    path: &str,
    gates: &FeatureGates,
    errors: &mut Vec<FieldError>,
) {
    if profile.scheduler_name.as_deref().unwrap_or("").is_empty() {
        errors.push(FieldError::required(child(path, "schedulerName"), ""));
    }
    let percentage_path = child(path, "percentageOfNodesToScore");
    validate_percentage(&percentage_path, profile.percentage_of_nodes_to_score, errors);
    if let Some(plugins) = &profile.plugins {
        let plugins_path = child(path, "plugins");
        // MultiPoint and the points of pod groups are not looked at.
        let points = ExtensionPoint::ALL.into_iter().filter(|point| {
            !matches!(point, ExtensionPoint::PlacementGenerate | ExtensionPoint::PlacementScore)
        });
        for point in points {
            let enabled_path = child(&child(&plugins_path, point.field_name()), "enabled");
            for (i, plugin) in plugins.at(point).enabled.iter().enumerate() {
                refuse_removed(&plugin.name, index(&enabled_path, i), errors);
            }
        }
    }
    for (i, config) in profile.plugin_config.iter().enumerate() {
        let config_path = index(&child(path, "pluginConfig"), i);
        if profile.plugin_config[..i].iter().any(|earlier| earlier.name == config.name) {
            let mut error = FieldError::duplicate(config_path.as_str(), "");
            error.value = Some(quoted(&config.name));
            errors.push(error);
        }
        refuse_removed(&config.name, config_path.clone(), errors);
        // Those of NodeResourcesFit are checked when the plugin is made.
        if !matches!(config.args, PluginArgs::NodeResourcesFit(_)) {
            errors.extend(config.args.validate(&child(&config_path, "args"), gates));
        }
    }
}

fn refuse_removed(name: &str, path: String, errors: &mut Vec<FieldError>) {
    if REMOVED_PLUGINS.contains(&name) {
        let detail =
            format!("was invalid in version \"v1\" (KubeSchedulerConfiguration is version {API_VERSION:?})");
        errors.push(invalid_text(path, name, detail));
    }
}

/// All profiles must sort the queue in the same way.
fn validate_queue_sort(profiles: &[KubeSchedulerProfile], errors: &mut Vec<FieldError>) {
    let empty = PluginSet::default();
    let set = |profile: &KubeSchedulerProfile| {
        let plugins = profile.plugins.as_ref();
        plugins.map_or(&empty, |plugins| plugins.at(ExtensionPoint::QueueSort)).clone()
    };
    let Some((first, others)) = profiles.split_first() else {
        errors.push(FieldError::required("profiles", ""));
        return;
    };
    let canon = set(first);
    if canon.enabled.len() > 1 {
        let path = "profiles[0].plugins.queueSort.Enabled";
        let detail = "only one queue sort plugin can be enabled";
        errors.push(FieldError::invalid(path, canon.enabled.len(), detail));
    }
    let sorter = canon.enabled.first().map_or("", |plugin| plugin.name.as_str());
    let is_sorter = |name: &str| !sorter.is_empty() && name == sorter;
    let first_args = first.plugin_config.iter().rfind(|config| is_sorter(&config.name));
    let first_args = first_args.map(|config| &config.args);
    for (i, profile) in others.iter().enumerate() {
        let path = index("profiles", i + 1);
        let own = set(profile);
        if own != canon {
            let path = child(&child(&path, "plugins"), "queueSort");
            errors.push(FieldError::invalid(path, set_text(&own), "must be the same for all profiles"));
        }
        for config in profile.plugin_config.iter().filter(|config| config.name == sorter) {
            let is_same = match first_args {
                Some(args) => *args == config.args,
                None => config.args == PluginArgs::default(),
            };
            if !is_same {
                let path = child(&child(&path, "pluginConfig"), "args");
                let detail = "queueSort must be the same for all profiles";
                errors.push(FieldError::invalid(path, config.args.encode(), detail));
            }
        }
    }
}

/// A set as the program that is followed shows it.
fn set_text(set: &PluginSet) -> Value {
    let list = |plugins: Vec<Value>| if plugins.is_empty() { Value::Null } else { plugins.into() };
    let entry = |name: &str, weight: i32| json!({"Name": name, "Weight": weight});
    let enabled = set.enabled.iter().map(|plugin| entry(&plugin.name, plugin.weight)).collect();
    let disabled = set.disabled.iter().map(|name| entry(name, 0)).collect();
    let mut text = Map::new();
    text.insert("Enabled".to_owned(), list(enabled));
    text.insert("Disabled".to_owned(), list(disabled));
    text.into()
}

fn validate_extenders(extenders: &[Extender], errors: &mut Vec<FieldError>) {
    let mut seen: Vec<&str> = Vec::new();
    for (i, extender) in extenders.iter().enumerate() {
        let path = index("extenders", i);
        if !extender.prioritize_verb.is_empty() && extender.weight <= 0 {
            let detail = "must have a positive weight applied to it";
            errors.push(FieldError::invalid(child(&path, "weight"), extender.weight, detail));
        }
        for (j, ExtenderManagedResource { name, .. }) in extender.managed_resources.iter().enumerate() {
            let path = child(&index(&child(&path, "managedResources"), j), "name");
            for detail in extended_resource_errors(name) {
                errors.push(invalid_text(path.as_str(), name, detail));
            }
            if seen.contains(&name.as_str()) {
                errors.push(invalid_text(path, name, "duplicate extender managed resource name"));
            }
            seen.push(name);
        }
    }
    let binders = extenders.iter().filter(|extender| !extender.bind_verb.is_empty()).count();
    if binders > 1 {
        let value = format!("found {binders} extenders implementing bind");
        errors.push(invalid_text("extenders", &value, "only one extender can implement bind"));
    }
}

/// What keeps a name from being that of an extended resource.
fn extended_resource_errors(name: &str) -> Vec<String> {
    const QUOTA_PREFIX: &str = "requests.";
    let errors = label::key_errors(name);
    if !errors.is_empty() {
        return errors;
    }
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    let is_extended = !is_native
        && !name.starts_with(QUOTA_PREFIX)
        && label::key_errors(&format!("{QUOTA_PREFIX}{name}")).is_empty();
    if is_extended { Vec::new() } else { vec!["is an invalid extended resource name".to_owned()] }
}
