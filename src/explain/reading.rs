//! A full reading of a pod in words: who refuses which node, what one change would do, and what each plugin says of a
//! pod and a node.

use std::collections::BTreeMap;

use crate::api::Str;
use crate::framework::Code;
use crate::scheduler::reading::{PairScores, PodReading, Refusal};

use super::cell::{CellExplanation, of_answer, skip_reason};
use super::{counted, filter, listed, names};

/// A node that one change away fits: exactly one plugin refuses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneChange {
    /// The node.
    pub node: Str,
    /// The plugin.
    pub plugin: &'static str,
    /// What it says, and by how much resources fall short.
    pub what: String,
    /// By how many hundredths of what the node has the scarcest resource falls short; 0 where that is not it.
    shortage: i64,
}

/// How often a plugin refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalCount {
    /// The plugin.
    pub plugin: &'static str,
    /// How many nodes it refuses, whatever others say.
    pub n: usize,
    /// How many of them nobody else refuses.
    pub n_alone: usize,
    /// Its most frequent reason.
    pub reason: String,
}

/// The nodes that one plugin alone refuses: those where the least is missing first, then by plugin, what it says, and name.
pub fn one_change_away(reading: &PodReading) -> Vec<OneChange> {
    let mut found: Vec<OneChange> = reading
        .nodes
        .iter()
        .filter_map(|node| match node.refusals.as_slice() {
            [only] => Some(one_change(reading, &node.node, only)),
            _ => None,
        })
        .collect();
    let order = |change: &OneChange| (change.shortage, change.plugin);
    found.sort_by(|a, b| order(a).cmp(&order(b)).then_with(|| (&a.what, &a.node).cmp(&(&b.what, &b.node))));
    found
}

fn one_change(reading: &PodReading, node: &Str, refusal: &Refusal) -> OneChange {
    let plugin = refusal.plugin;
    let missing = match (plugin, reading.trace.snapshot.get(node)) {
        (names::FIT, Some(info)) => filter::missing(&reading.trace.pod_info, info),
        _ => Vec::new(),
    };
    let said = refusal.status.message();
    let mut what = if missing.is_empty() {
        if said.is_empty() { refusal.status.code().to_string() } else { said }
    } else {
        let parts: Vec<&str> = missing.iter().map(|(text, _)| text.as_str()).collect();
        listed(&parts, 4)
    };
    if refusal.is_for_nominated {
        what.push_str(" (beside the pods that are nominated to it)");
    }
    let shortage = missing.iter().map(|(_, percent)| *percent).max().unwrap_or_default();
    OneChange { node: node.clone(), plugin, what, shortage }
}

/// How often each plugin refuses, the one that refuses most first.
pub fn refusal_counts(reading: &PodReading) -> Vec<RefusalCount> {
    let mut counts: BTreeMap<&'static str, (usize, usize, BTreeMap<String, usize>)> = BTreeMap::new();
    for node in &reading.nodes {
        for refusal in &node.refusals {
            let (n, n_alone, reasons) = counts.entry(refusal.plugin).or_default();
            *n += 1;
            *n_alone += usize::from(node.refusals.len() == 1);
            *reasons.entry(refusal.status.message()).or_default() += 1;
        }
    }
    let mut all: Vec<RefusalCount> = counts
        .into_iter()
        .map(|(plugin, (n, n_alone, reasons))| {
            let top = reasons.into_iter().max_by(|(a, n), (b, m)| n.cmp(m).then_with(|| b.cmp(a)));
            RefusalCount { plugin, n, n_alone, reason: top.map(|(reason, _)| reason).unwrap_or_default() }
        })
        .collect();
    all.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.plugin.cmp(b.plugin)));
    all
}

/// How many nodes are refused by how many plugins, from none on.
pub fn nodes_by_refusals(reading: &PodReading) -> Vec<(usize, usize)> {
    let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
    for node in &reading.nodes {
        *counts.entry(node.refusals.len()).or_default() += 1;
    }
    counts.into_iter().collect()
}

/// The reading of all nodes in a sentence.
pub fn reading_headline(reading: &PodReading) -> String {
    let n = reading.nodes.len();
    let n_alone = reading.nodes.iter().filter(|node| node.refusals.len() == 1).count();
    let away = match n_alone {
        0 => String::from("none is one change away"),
        1 => String::from("1 is one change away"),
        n => format!("{n} are one change away"),
    };
    match (n, reading.n_feasible) {
        (0, _) => String::from("There are no nodes."),
        (n, 0) => format!("None of {} fits; {away}.", counted(n, "node")),
        (n, fit) if fit == n => format!("It fits on every one of {}.", counted(n, "node")),
        (n, fit) => format!("It fits on {fit} of {}; of the others {away}.", counted(n, "node")),
    }
}

/// What a plugin says of a pod and a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginSays {
    /// The plugin.
    pub plugin: &'static str,
    /// Its answer, and why.
    pub explanation: CellExplanation,
}

/// What every Filter plugin says of the one node of a reading, and PreFilter plugins that turned the pod down.
pub fn pair(reading: &PodReading) -> Vec<PluginSays> {
    let Some(node) = reading.nodes.first() else { return Vec::new() };
    let Some(info) = reading.trace.snapshot.get(&node.node) else { return Vec::new() };
    let refusal = |plugin: &str| node.refusals.iter().find(|refusal| refusal.plugin == plugin);
    let at_pre_filter =
        node.refusals.iter().map(|refusal| refusal.plugin).filter(|plugin| !reading.plugins.contains(plugin));
    let plugins = at_pre_filter.chain(reading.plugins.iter().copied());
    plugins
        .map(|plugin| {
            let refusal = refusal(plugin);
            let explanation = match refusal {
                None if reading.skipped.contains(plugin) => CellExplanation {
                    code: Some(Code::Skip),
                    ..CellExplanation::not_asked(format!("Nothing to do: {}.", skip_reason(plugin)))
                },
                _ => of_answer(&reading.trace, info, plugin, refusal.map(|refusal| &refusal.status)),
            };
            let explanation = match refusal {
                Some(refusal) if refusal.is_for_nominated => explanation.with_hint(
                    "It would do without the pods of at least its priority that are nominated to the node.",
                ),
                _ => explanation,
            };
            PluginSays { plugin, explanation }
        })
        .collect()
}

/// The reading of one node in a sentence.
pub fn pair_headline(reading: &PodReading) -> String {
    let Some(node) = reading.nodes.first() else { return String::from("There is no such node.") };
    let plugins: Vec<&str> = node.refusals.iter().map(|refusal| refusal.plugin).collect();
    match plugins.as_slice() {
        [] => format!("No plugin refuses {}: the pod fits.", node.node),
        [only] => format!("{only} alone refuses {}: one change away.", node.node),
        several => format!(
            "{} plugins refuse {}: {}. All of that would have to change.",
            several.len(),
            node.node,
            listed(several, 6)
        ),
    }
}

/// How the points of the one node compare with the best, in a sentence.
pub fn pair_points(scores: &PairScores, is_feasible: bool) -> String {
    let total = scores.outcome.totals.get(scores.at).copied().unwrap_or_default();
    let others = scores.nodes.iter().zip(&scores.outcome.totals).enumerate().filter(|(i, _)| *i != scores.at);
    let best =
        others.map(|(_, (node, total))| (*total, node)).max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(a.1)));
    let has = if is_feasible { "It has" } else { "If nobody refused it, it would have" };
    match best {
        None => format!("{has} {total} points; no other node fits."),
        Some((best, node)) if best > total => {
            format!("{has} {total} points, {} fewer than {node} ({best}).", best - total)
        }
        Some((best, node)) if best == total => {
            format!("{has} {total} points, as many as {node}: chance would decide.")
        }
        Some((best, node)) => {
            format!("{has} {total} points, {} more than the next, {node} ({best}).", total - best)
        }
    }
}
