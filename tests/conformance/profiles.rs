//! Which plugins each profile of a configuration runs, at which point, in which order and with which weight.

use std::collections::BTreeMap;

use schedscope::config::ExtensionPoint::{
    Bind, Filter, Permit, PostBind, PostFilter, PreBind, PreEnqueue, PreFilter, PreScore, QueueSort, Reserve,
    Score,
};
use schedscope::config::{ExtensionPoint, FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::framework::Framework;
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use serde::Deserialize;

use super::archive;

#[derive(Deserialize)]
struct Golden {
    #[serde(rename = "effectivePlugins")]
    effective_plugins: BTreeMap<String, BTreeMap<String, Vec<Entry>>>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    #[serde(default)]
    weight: i64,
}

/// The plugins at a point, in order, each with its weight where it scores.
fn plugins_at(framework: &Framework, point: ExtensionPoint) -> Vec<(&'static str, i64)> {
    let points = &framework.plugins;
    let list = match point {
        PreEnqueue => &points.pre_enqueue,
        QueueSort => &points.queue_sort,
        PreFilter => &points.pre_filter,
        Filter => &points.filter,
        PostFilter => &points.post_filter,
        PreScore => &points.pre_score,
        Score => {
            let scored = points.score.iter();
            return scored.map(|weighted| (weighted.plugin.name(), weighted.weight)).collect();
        }
        Reserve => &points.reserve,
        Permit => &points.permit,
        PreBind => &points.pre_bind,
        Bind => &points.bind,
        PostBind => &points.post_bind,
        ExtensionPoint::PlacementGenerate | ExtensionPoint::PlacementScore => return Vec::new(),
    };
    list.iter().map(|plugin| (plugin.name(), 0)).collect()
}

/// The plugins as data: profile, point, then name and weight.
type Effective = BTreeMap<String, BTreeMap<String, Vec<(String, i64)>>>;

fn effective_plugins(text: &str, gates: &str) -> Result<Effective, String> {
    let gates = FeatureGates::parse(gates).map_err(|error| error.to_string())?;
    let registry = in_tree_registry();
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let config = SchedulerConfig::load(text, options).map_err(|error| error.to_string())?;
    let profiles = build_profiles(&config.profiles, &registry, &gates).map_err(|error| error.to_string())?;
    let of_profile = |framework| {
        let points = ExtensionPoint::ALL.iter().map(|point| {
            let mut name = point.as_str().to_owned();
            name[..1].make_ascii_lowercase();
            let plugins = plugins_at(framework, *point).into_iter();
            (name, plugins.map(|(plugin, weight)| (plugin.to_owned(), weight)).collect::<Vec<_>>())
        });
        points.filter(|(_, plugins)| !plugins.is_empty()).collect::<BTreeMap<_, _>>()
    };
    Ok(profiles.iter().map(|(name, framework)| (name.to_string(), of_profile(framework))).collect())
}

#[test]
#[expect(clippy::print_stdout, reason = "the figures are for a person who asks with --nocapture")]
fn profiles_run_the_plugins_that_kube_scheduler_runs() {
    let files = archive::read_packed("config.tar.zst").remove("").unwrap();
    let mut compared = 0;
    let mut mismatches = Vec::new();
    for (file, text) in files.iter().filter(|(file, _)| file.ends_with(".yaml")) {
        let name = file.trim_end_matches(".yaml");
        // What is refused has its words in another file, and extenders are not built.
        let Some(expected) = files.get(&format!("{name}.out")) else { continue };
        if text.contains("\nextenders:") {
            continue;
        }
        let document = expected.split("\n---\n").nth(1).expect("two documents");
        let golden: Golden = serde_saphyr::from_str(document).expect("effectivePlugins");
        let expected: Effective = golden
            .effective_plugins
            .into_iter()
            .map(|(profile, mut points)| {
                points.retain(|point, _| !point.starts_with("placement"));
                let entries = |list: Vec<Entry>| list.into_iter().map(|e| (e.name, e.weight)).collect();
                (profile, points.into_iter().map(|(point, list)| (point, entries(list))).collect())
            })
            .collect();
        let gates = files.get(&format!("{name}.gates")).map_or("", |gates| gates.trim());
        match effective_plugins(text, gates) {
            Ok(ours) if ours == expected => compared += 1,
            Ok(ours) => mismatches.push(format!("{file}: {ours:?}\n  expected {expected:?}")),
            Err(error) => mismatches.push(format!("{file}: {error}")),
        }
    }
    println!("{compared} configurations compared");
    assert!(mismatches.is_empty(), "{}", mismatches.join("\n"));
    assert!(compared > 0);
}
