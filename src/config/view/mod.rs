//! A configuration as text: the two documents of a machine, and tables for people.
//!
//! Nothing is printed here. Text from a file is shown with its control characters escaped.

mod diff;

use serde_json::{Map, Value};

use super::expansion::EffectivePlugins;
use super::go_text::quoted;
use super::plugins::{ExtensionPoint, PluginRef};
use super::scheduler_config::SchedulerConfig;
use super::v1::{Extender, KubeSchedulerProfile};
use super::yaml_writer::to_yaml;
pub use diff::diff;

/// Columns that a table takes at the most, where words can be wrapped.
const WIDTH: usize = 100;

/// The configuration with all defaults, and `effectivePlugins`: what each profile runs, in order, with weights. Two
/// YAML documents.
pub fn yaml(config: &SchedulerConfig) -> String {
    let mut profiles = Map::new();
    for (profile, effective) in config.document.profiles.iter().zip(&config.effective_plugins) {
        profiles.insert(profile.scheduler_name.clone().unwrap_or_default(), effective.to_document());
    }
    let mut effective = Map::new();
    effective.insert("effectivePlugins".to_owned(), profiles.into());
    format!("{}---\n{}", to_yaml(&config.document.to_document()), to_yaml(&effective.into()))
}

/// The same for a person to read.
pub fn table(config: &SchedulerConfig) -> String {
    let mut text = String::new();
    let document = &config.document;
    let mut rows = Rows::default();
    rows.heading("SETTING", "VALUE");
    rows.add("parallelism", &config.parallelism.to_string());
    rows.add("percentageOfNodesToScore", &percentage(config.percentage_of_nodes_to_score));
    let backoff = format!(
        "{}s after the first attempt, {}s at the most",
        config.pod_initial_backoff.as_secs(),
        config.pod_max_backoff.as_secs()
    );
    rows.add("backoff", &backoff);
    let election = &document.leader_election;
    if election.leader_elect == Some(true) {
        let lock = format!(
            "{} {}/{}, held for {}, renewed within {}, tried every {}",
            shown(&election.resource_lock),
            shown(&election.resource_namespace),
            shown(&election.resource_name),
            election.lease_duration,
            election.renew_deadline,
            election.retry_period
        );
        rows.add("leaderElection", &lock);
    } else {
        rows.add("leaderElection", "off");
    }
    let client = &document.client_connection;
    let mut connection = format!("{} queries a second, {} at once", client.qps, client.burst);
    if !client.kubeconfig.is_empty() {
        connection.push_str(&format!(", by {}", shown(&client.kubeconfig)));
    }
    rows.add("clientConnection", &connection);
    let profiling = match (document.enable_profiling, document.enable_contention_profiling) {
        (Some(true), Some(true)) => "on, also of contention",
        (Some(true), _) => "on",
        (_, Some(true)) => "of contention alone",
        _ => "off",
    };
    rows.add("profiling", profiling);
    rows.add("delayCacheUntilActive", if document.delay_cache_until_active { "true" } else { "false" });
    for (gate, on) in config.gates.changed() {
        rows.add(gate.as_str(), if on { "on (feature gate)" } else { "off (feature gate)" });
    }
    rows.write(&mut text, 0);
    for (profile, effective) in document.profiles.iter().zip(&config.effective_plugins) {
        write_profile(&mut text, profile, effective);
    }
    for (i, extender) in config.extenders.iter().enumerate() {
        text.push_str(&format!("\nEXTENDER {} {}\n", i + 1, shown(&extender.url_prefix)));
        extender_rows(extender).write(&mut text, 2);
    }
    text
}

/// One line about a configuration that has nothing wrong.
pub fn summary(config: &SchedulerConfig) -> String {
    let profiles: Vec<String> =
        config.profiles.iter().map(|profile| shown(&profile.scheduler_name)).collect();
    let word = if profiles.len() == 1 { "profile" } else { "profiles" };
    let mut text = format!("valid: {word} {}", profiles.join(", "));
    match config.extenders.len() {
        0 => {}
        1 => text.push_str("; one extender"),
        several => text.push_str(&format!("; {several} extenders")),
    }
    text.push('\n');
    text
}

fn write_profile(text: &mut String, profile: &KubeSchedulerProfile, effective: &EffectivePlugins) {
    let name = profile.scheduler_name.as_deref().unwrap_or("");
    text.push_str(&format!("\nPROFILE {}\n", shown(name)));
    let mut rows = Rows::default();
    if let Some(own) = profile.percentage_of_nodes_to_score {
        rows.add("percentageOfNodesToScore", &percentage(own));
    }
    rows.heading("POINT", "PLUGINS, IN ORDER");
    for point in ExtensionPoint::ALL {
        let plugins: Vec<String> = effective.at(point).iter().map(weighted).collect();
        if !plugins.is_empty() {
            rows.add(point.as_str(), &plugins.join(", "));
        }
    }
    rows.heading("PLUGIN", "ARGUMENTS");
    for config in &profile.plugin_config {
        let settings = settings(&config.args.encode());
        let settings: Vec<String> = settings.iter().map(|(path, value)| format!("{path}: {value}")).collect();
        let settings = if settings.is_empty() { "none".to_owned() } else { settings.join("; ") };
        rows.add(&shown(&config.name), &settings);
    }
    rows.write(text, 2);
}

fn extender_rows(extender: &Extender) -> Rows {
    let mut rows = Rows::default();
    for (path, value) in settings(&super::decode::Encode::encode(extender)) {
        if path != "urlPrefix" && !path.ends_with("Data") {
            rows.add(&path, &value);
        }
    }
    rows
}

/// A plugin with its weight where that is not 1.
fn weighted(plugin: &PluginRef) -> String {
    match plugin.weight {
        0 | 1 => shown(&plugin.name),
        weight => format!("{} x{weight}", shown(&plugin.name)),
    }
}

fn percentage(percentage: i32) -> String {
    match percentage {
        0 => "0 (adapts to the size of the cluster)".to_owned(),
        _ => format!("{percentage}"),
    }
}

/// A text as it is, or quoted where that would not be clear.
fn shown(text: &str) -> String {
    let quoted = quoted(text);
    let is_clear = !text.is_empty() && quoted.get(1..quoted.len() - 1) == Some(text);
    if is_clear { text.to_owned() } else { quoted }
}

/// Every value of a document with its path; `apiVersion` and `kind` are left out.
fn settings(document: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    collect(document, "", &mut found);
    found
}

fn collect(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map.iter().filter(|(key, _)| *key != "apiVersion" && *key != "kind") {
                collect(value, &crate::api::field::child(path, key), found);
            }
        }
        _ if path.is_empty() && value.is_null() => {}
        _ => found.push((path.to_owned(), flow(value))),
    }
}

/// A value in one line.
fn flow(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => shown(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow).collect();
            if items.is_empty() { "none".to_owned() } else { items.join(", ") }
        }
        Value::Object(map) => {
            // A resource with its weight, a point with its score.
            let mut parts = Vec::new();
            for (key, value) in map {
                match (key.as_str(), value) {
                    ("name" | "key", Value::String(text)) => parts.push(shown(text)),
                    (key, value) => parts.push(format!("{key} {}", flow(value))),
                }
            }
            format!("({})", parts.join(" "))
        }
    }
}

/// Rows of two columns, each list of words wrapped in the second one.
#[derive(Default)]
struct Rows {
    rows: Vec<(String, String)>,
}

impl Rows {
    fn add(&mut self, name: &str, value: &str) {
        self.rows.push((name.to_owned(), value.to_owned()));
    }

    fn heading(&mut self, name: &str, value: &str) {
        self.add(name, value);
    }

    fn write(&self, text: &mut String, indent: usize) {
        let margin = " ".repeat(indent);
        let width = self.rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, value) in &self.rows {
            let room = WIDTH.saturating_sub(indent + width + 2).max(20);
            for (i, line) in wrapped(value, room).iter().enumerate() {
                let name = if i == 0 { name.as_str() } else { "" };
                let row = format!("{margin}{name:<width$}  {line}");
                text.push_str(row.trim_end());
                text.push('\n');
            }
        }
    }
}

/// The words of a text in lines of at most `width` characters, longer words on lines of their own.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        let length = line.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if length > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
