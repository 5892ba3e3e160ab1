//! What a configuration has that differs from the default one.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Rows, extender_rows, settings, shown, weighted};
use crate::config::expansion::EffectivePlugins;
use crate::config::gates::FeatureGates;
use crate::config::plugins::{ExtensionPoint, PluginRef};
use crate::config::scheduler_config::SchedulerConfig;
use crate::config::v1::defaults::SetDefaults as _;
use crate::config::v1::{KubeSchedulerProfile, PluginArgs};

/// What differs from the default under the same feature gates: settings with both values, and for each profile the
/// plugins that it has more, less, in another order or with another weight, and arguments. Empty if nothing does.
pub fn diff(config: &SchedulerConfig) -> String {
    let default = SchedulerConfig::default_under(&config.gates);
    let mut text = String::new();
    let mut rows = Rows::default();
    changed(&mut rows, "", &general(&default), &general(config));
    for (gate, on) in config.gates.changed() {
        let word = |on: bool| if on { "on" } else { "off" };
        rows.add(gate.as_str(), &format!("{} -> {} (feature gate)", word(!on), word(on)));
    }
    rows.write(&mut text, 0);
    let (Some(default_profile), Some(default_plugins)) =
        (default.document.profiles.first(), default.effective_plugins.first())
    else {
        return text;
    };
    let is_default =
        |profile: &KubeSchedulerProfile| profile.scheduler_name == default_profile.scheduler_name;
    for (profile, plugins) in config.document.profiles.iter().zip(&config.effective_plugins) {
        let rows = profile_rows(profile, plugins, default_plugins, &config.gates);
        if !rows.rows.is_empty() || !is_default(profile) {
            let word = if is_default(profile) { "" } else { " (added)" };
            let name = shown(profile.scheduler_name.as_deref().unwrap_or(""));
            text.push_str(&format!("profile {name}{word}\n"));
            rows.write(&mut text, 2);
        }
    }
    if !config.document.profiles.iter().any(is_default) {
        let name = shown(default_profile.scheduler_name.as_deref().unwrap_or(""));
        text.push_str(&format!("profile {name} (not there)\n"));
    }
    for extender in &config.extenders {
        text.push_str(&format!("extender {} (added)\n", shown(&extender.url_prefix)));
        extender_rows(extender).write(&mut text, 2);
    }
    text
}

/// The document without profiles and extenders, which are compared by themselves.
fn general(config: &SchedulerConfig) -> Value {
    let mut document = config.document.to_document();
    if let Value::Object(map) = &mut document {
        map.remove("profiles");
        map.remove("extenders");
    }
    document
}

/// A row for every setting that differs, in the order of the default, then of the other.
fn changed(rows: &mut Rows, prefix: &str, default: &Value, own: &Value) {
    let (default, own) = (settings(default), settings(own));
    let by_path: BTreeMap<&str, &str> =
        own.iter().map(|(path, value)| (path.as_str(), value.as_str())).collect();
    let is_default = |path: &str| default.iter().any(|(other, _)| other == path);
    for (path, value) in &default {
        match by_path.get(path.as_str()) {
            Some(own) if *own == value => {}
            Some(own) => rows.add(&format!("{prefix}{path}"), &format!("{value} -> {own}")),
            None => rows.add(&format!("{prefix}{path}"), &format!("{value} -> none")),
        }
    }
    for (path, value) in own.iter().filter(|(path, _)| !is_default(path)) {
        // A switch that is off is left out of the document.
        let default = if value == "true" { "false" } else { "none" };
        rows.add(&format!("{prefix}{path}"), &format!("{default} -> {value}"));
    }
}

fn profile_rows(
    profile: &KubeSchedulerProfile,
    plugins: &EffectivePlugins,
    default: &EffectivePlugins,
    gates: &FeatureGates,
) -> Rows {
    let mut rows = Rows::default();
    if let Some(percentage) = profile.percentage_of_nodes_to_score {
        rows.add("percentageOfNodesToScore", &format!("the general one -> {percentage}"));
    }
    for point in ExtensionPoint::ALL {
        point_rows(&mut rows, point, default.at(point), plugins.at(point));
    }
    for config in &profile.plugin_config {
        let default = PluginArgs::empty(&config.name).map(|mut args| {
            args.set_defaults(gates);
            args.encode()
        });
        let prefix = format!("{} ", shown(&config.name));
        changed(&mut rows, &prefix, &default.unwrap_or(Value::Null), &config.args.encode());
    }
    rows
}

fn point_rows(rows: &mut Rows, point: ExtensionPoint, default: &[PluginRef], own: &[PluginRef]) {
    let find = |list: &[PluginRef], name: &str| list.iter().find(|plugin| plugin.name == name).cloned();
    let mut add = |text: String| rows.add(point.as_str(), &text);
    if own.is_empty() && default.len() > 1 {
        add("- all plugins".to_owned());
        return;
    }
    for plugin in default {
        match find(own, &plugin.name) {
            None => add(format!("- {}", shown(&plugin.name))),
            Some(other) if other.weight != plugin.weight => {
                add(format!("{}: weight {} -> {}", shown(&plugin.name), plugin.weight, other.weight));
            }
            Some(_) => {}
        }
    }
    for plugin in own.iter().filter(|plugin| find(default, &plugin.name).is_none()) {
        add(format!("+ {}", weighted(plugin)));
    }
    let in_both = |list: &[PluginRef], other: &[PluginRef]| -> Vec<String> {
        let kept = list.iter().filter(|plugin| find(other, &plugin.name).is_some());
        kept.map(|plugin| plugin.name.clone()).collect()
    };
    if in_both(default, own) != in_both(own, default) {
        let names: Vec<String> = own.iter().map(|plugin| shown(&plugin.name)).collect();
        add(format!("in the order {}", names.join(", ")));
    }
}
