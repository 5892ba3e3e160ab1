//! Pages of a full reading: every plugin about a pod and each node, and about a pod and one node.

use std::sync::Arc;

use super::attempt::code_parts;
use super::page::Page;
use crate::api::time::human_duration;
use crate::api::{NamespacedName, Str};
use crate::driver::inspect::{Found, Inspect, Inspected};
use crate::explain::{self, OneChange};
use crate::framework::Code;
use crate::scheduler::reading::{PairScores, PodReading};
use crate::tui::action::{Action, Context};
use crate::tui::panes::Cx;
use crate::tui::theme::Role;

/// How many nodes that are one change away are listed.
const N_LISTED: usize = 40;
/// More nodes that are told the same are one entry.
const N_ALIKE: usize = 3;

/// The answer to a question of the session, if it is this one that was asked last.
pub(super) fn answer<'c>(question: &Inspect, cx: &Cx<'c>) -> Option<&'c Arc<Inspected>> {
    cx.view.known.inspected.as_ref().filter(|inspected| inspected.of == *question)
}

/// The key that goes into a thing.
pub(super) fn open_key(cx: &Cx<'_>) -> String {
    let key = cx.keymap.key_for(Action::Open, &[Context::Details, Context::List]);
    key.unwrap_or_else(|| String::from(":open"))
}

/// What stands on a page that has no answer, or an old one.
pub(super) fn how_old(page: &mut Page, inspected: Option<&Arc<Inspected>>, cx: &Cx<'_>) {
    let Some(inspected) = inspected else {
        let key = open_key(cx);
        page.text(
            format!("Nothing is shown yet: it is asked for, or something else was asked since. Press {key} here to ask again."),
            Role::Muted,
        );
        return;
    };
    let age = cx.view.scheduler.now.saturating_since(inspected.at);
    if !age.is_zero() {
        let ago = human_duration(age);
        page.text(
            format!(
                "As of {ago} ago: it is not made anew while the session runs. Press {} to ask again.",
                open_key(cx)
            ),
            Role::Warning,
        );
    }
}

pub(super) fn reading(page: &mut Page, pod: &NamespacedName, node: Option<&Str>, cx: &Cx<'_>) {
    let mut title = vec![(String::from("pod "), Role::Muted), (pod.to_string(), Role::Strong)];
    let question = match node {
        None => {
            title.push((String::from(", every plugin, each node"), Role::Muted));
            Inspect::Pod(pod.clone())
        }
        Some(node) => {
            title.push((format!(" {} ", cx.glyphs.times), Role::Muted));
            title.push((node.to_string(), Role::Strong));
            title.push((String::from(", every plugin"), Role::Muted));
            Inspect::Pair(pod.clone(), node.clone())
        }
    };
    page.title(title);
    let inspected = answer(&question, cx);
    how_old(page, inspected, cx);
    match inspected.map(|inspected| &inspected.found) {
        Some(Found::Reading(reading)) => {
            if let Some(node) = &reading.assigned_to {
                page.text(
                    format!("It is on {node}; it is read as if it were not and had to find a place now."),
                    Role::Muted,
                );
            }
            match node {
                None => all_nodes(page, reading, cx),
                Some(node) => pair(page, reading, node, cx),
            }
        }
        Some(Found::Nothing(why)) => page.text(why.clone(), Role::Muted),
        Some(Found::Internals(_) | Found::Object(_)) | None => {}
    }
}

fn all_nodes(page: &mut Page, reading: &PodReading, cx: &Cx<'_>) {
    let role = if reading.n_feasible > 0 { Role::StatusSuccess } else { Role::StatusUnschedulable };
    page.text(explain::reading_headline(reading), role);
    let away = explain::one_change_away(reading);
    if !away.is_empty() {
        page.heading(format!("one change away {}", away.len()));
        let mut n_left = away.len();
        let alike = away.chunk_by(|a, b| (a.plugin, &a.what) == (b.plugin, &b.what));
        let entries =
            alike.flat_map(|alike| alike.chunks(if alike.len() > N_ALIKE { alike.len() } else { 1 }));
        for entry in entries.take(N_LISTED) {
            one_change(page, entry, cx);
            n_left -= entry.len();
        }
        if n_left > 0 {
            page.text(format!("{n_left} more"), Role::Muted);
        }
    }
    let counts = explain::refusal_counts(reading);
    if !counts.is_empty() {
        page.heading("who refuses how many nodes, whatever the others say");
        for count in counts {
            let alone = match count.n_alone {
                0 => String::from("never alone"),
                n => format!("alone on {n}"),
            };
            let what = format!("{} {} {}: {}", count.plugin, cx.glyphs.dot, alone, count.reason);
            page.count(count.n, reading.nodes.len(), what, Role::Text);
        }
        page.heading("nodes by how many plugins refuse them");
        for (n, nodes) in explain::nodes_by_refusals(reading) {
            let what = match n {
                0 => String::from("none: the pod fits"),
                1 => String::from("one: one change away"),
                n => format!("{n} plugins"),
            };
            page.count(nodes, reading.nodes.len(), what, Role::Text);
        }
    }
    let refused: Vec<_> = reading
        .pre_filter
        .iter()
        .filter(|answer| !answer.status.is_success() && !answer.status.is_skip())
        .collect();
    if !refused.is_empty() {
        page.heading("turned down at PreFilter, for every node");
        for answer in refused {
            page.item(answer.plugin, answer.status.message());
        }
    }
    page.heading("what the search would come to");
    page.text(explain::verdict_so_far(&reading.trace), Role::Text);
    for reason in explain::report::reasons(&reading.trace) {
        let what = format!("{} {} {} ({})", reason.plugin, cx.glyphs.dot, reason.reason, reason.code);
        page.count(reason.nodes, reading.nodes.len(), what, Role::Text);
    }
    page.text("An attempt asks no plugin behind the first that refuses; here all were asked.", Role::Muted);
}

/// Nodes that one plugin refuses with the same words.
fn one_change(page: &mut Page, alike: &[OneChange], cx: &Cx<'_>) {
    let [first, others @ ..] = alike else { return };
    page.item_in(first.node.to_string(), format!("{}: {}", first.plugin, first.what), Role::Text);
    if !others.is_empty() {
        let names: Vec<&str> = others.iter().take(3).map(|change| &*change.node).collect();
        page.note(
            format!("and {} more like it: {}, {}", others.len(), names.join(", "), cx.glyphs.ellipsis),
            Role::Muted,
        );
    }
}

fn pair(page: &mut Page, reading: &PodReading, node: &Str, cx: &Cx<'_>) {
    let is_feasible = reading.nodes.first().is_some_and(|node| node.refusals.is_empty());
    let role = if is_feasible { Role::StatusSuccess } else { Role::StatusUnschedulable };
    page.text(explain::pair_headline(reading), role);
    if let Some(Ok(scores)) = &reading.scores {
        page.text(explain::pair_points(scores, is_feasible), Role::Text);
    }
    page.heading("Filter");
    for says in explain::pair(reading) {
        let explanation = says.explanation;
        let mut line = vec![];
        let code = explanation.code.unwrap_or(Code::Skip);
        let (sign, role) = code_parts(code, cx);
        line.push((sign, role));
        line.push((format!("  {}", says.plugin), Role::Strong));
        page.title(line);
        let is_refusal = !matches!(code, Code::Success | Code::Skip);
        page.note(explanation.text(), if is_refusal { Role::Text } else { Role::Muted });
        for line in explanation.arithmetic.into_iter().filter(|_| is_refusal) {
            page.note(line, Role::Number);
        }
    }
    page.heading("Score");
    match &reading.scores {
        Some(Ok(scores)) => points(page, scores),
        Some(Err(why)) => page.text(format!("There are no points: {why}."), Role::Muted),
        None => {}
    }
    if let Some(info) = reading.trace.snapshot.get(node) {
        page.heading("the node, with what is asked for");
        for used in explain::resource_uses(info) {
            page.used(used);
        }
    }
}

fn points(page: &mut Page, scores: &PairScores) {
    if scores.outcome.plugins.is_empty() {
        page.text("No plugin scores in this profile, or none has anything to do.", Role::Muted);
    }
    for plugin in &scores.outcome.plugins {
        let at = |list: &Vec<i64>| list.get(scores.at).copied().unwrap_or_default();
        let (raw, normalized) = (at(&plugin.raw), at(&plugin.normalized));
        let points = normalized.saturating_mul(plugin.weight);
        page.item(plugin.plugin, format!("{points:>5} = {normalized} x {} (raw {raw})", plugin.weight));
    }
    let total = scores.outcome.totals.get(scores.at).copied().unwrap_or_default();
    page.item_in("total", format!("{total:>5}"), Role::Strong);
    let skipped: Vec<&str> = scores.skipped.iter().copied().collect();
    if !skipped.is_empty() {
        page.item("nothing to do", explain::listed(&skipped, 8));
    }
}
