//! Pages about the attempt: its cells, plugins and phases, and past attempts.

use super::page::Page;
use super::{devices, now, preemption};
use crate::api::Str;
use crate::api::time::human_duration;
use crate::explain::{self, CellPoint, ToWin};
use crate::framework::Code;
use crate::framework::runtime::PluginVerdict;
use crate::scheduler::trace::{CycleTrace, NodeVerdict, Phase};
use crate::tui::panes::log::outcome_text;
use crate::tui::panes::predicted;
use crate::tui::panes::{CellKind, Cx};
use crate::tui::theme::Role;

/// How many nodes are named in a line.
const N_NODES_NAMED: usize = 8;
/// How many nodes' scores are listed.
const N_SCORES: usize = 50;

const NO_ATTEMPT: &str = "No pod has been tried yet.";

fn code_role(code: Code) -> Role {
    match code {
        Code::Success => Role::StatusSuccess,
        Code::Error => Role::StatusError,
        Code::Unschedulable => Role::StatusUnschedulable,
        Code::UnschedulableAndUnresolvable => Role::StatusUnresolvable,
        Code::Wait => Role::StatusWait,
        Code::Skip => Role::StatusSkip,
        Code::Pending => Role::StatusPending,
    }
}

/// Sign and name of a code.
pub(super) fn code_parts(code: Code, cx: &Cx<'_>) -> (String, Role) {
    (format!("{} {code}", cx.glyphs.code(code)), code_role(code))
}

pub(super) fn cell(page: &mut Page, node: &Str, plugin: &Str, kind: CellKind, cx: &Cx<'_>) {
    let Some(trace) = &cx.view.scheduler.cycle else {
        page.text(NO_ATTEMPT, Role::Muted);
        return;
    };
    let point = match kind {
        CellKind::Filter => CellPoint::Filter,
        CellKind::Score => CellPoint::Score,
    };
    let explanation = explain::cell(trace, point, node, plugin);
    let mut title = vec![
        (node.to_string(), Role::Strong),
        (format!(" {} ", cx.glyphs.times), Role::Muted),
        (plugin.to_string(), Role::Strong),
    ];
    if let Some(code) = explanation.code {
        title.push((String::from("  "), Role::Text));
        title.push(code_parts(code, cx));
    }
    page.title(title);
    let said = explanation.text();
    page.text(said.as_str(), Role::Text);
    if !explanation.arithmetic.is_empty() {
        page.heading("how it came about");
        for line in explanation.arithmetic {
            page.text(line, Role::Number);
        }
    }
    if kind == CellKind::Filter
        && explain::is_about_devices(plugin)
        && let Some(info) = trace.snapshot.get(node)
    {
        devices::table(page, trace, info, cx);
    }
    to_win(page, trace, node, &said);
    page.heading("the pod");
    page.item("name", trace.pod_key().to_string());
    page.item("requests", explain::requests(&trace.pod_info).join(", "));
    for rule in explain::rules(&trace.pod_info.pod) {
        page.item(rule.kind, rule.text);
    }
    if let Some(info) = trace.snapshot.get(node) {
        page.heading("the node, as this attempt saw it");
        for used in explain::resource_uses(info) {
            page.used(used);
        }
    }
}

/// What would have to change for a node to be chosen; nothing for the chosen one. What has been `said` is left out.
pub(super) fn to_win(page: &mut Page, trace: &CycleTrace, node: &str, said: &str) {
    let Some(answer) = explain::to_win(trace, node).filter(|answer| *answer != ToWin::Chosen) else { return };
    page.heading(format!("what would bring {} to {node}", trace.pod_key()));
    let lines = answer.lines().into_iter().filter(|line| line != said);
    for (i, line) in lines.enumerate() {
        page.text(line, if i == 0 { Role::Accent } else { Role::Text });
    }
}

pub(super) fn plugin(page: &mut Page, plugin: &Str, phase: Phase, cx: &Cx<'_>) {
    let Some(trace) = &cx.view.scheduler.cycle else {
        page.title(vec![(plugin.to_string(), Role::Strong)]);
        page.text(NO_ATTEMPT, Role::Muted);
        now::plugin(page, plugin, cx);
        return;
    };
    let verdict = verdicts(trace, phase).iter().find(|verdict| *verdict.plugin == **plugin);
    let mut title = vec![(plugin.to_string(), Role::Strong), (format!(" at {phase}"), Role::Muted)];
    if let Some(verdict) = verdict {
        title.push((String::from("  "), Role::Text));
        title.push(code_parts(verdict.status.code(), cx));
    }
    page.title(title);
    if let Some(verdict) = verdict {
        answer(page, verdict, phase);
    }
    match phase {
        Phase::Filter => filter_answers(page, trace, plugin),
        Phase::Score => scores(page, trace, plugin),
        Phase::PostFilter => {
            if let Some(evidence) =
                trace.post_filter.as_ref().and_then(|post_filter| post_filter.evidence.as_ref())
            {
                preemption::preemption(page, evidence, cx);
            }
        }
        _ => {}
    }
    let mut memory = trace.cycle_state.entries().filter(|(owner, _)| **owner == **plugin).peekable();
    if memory.peek().is_some() {
        page.heading("what it remembers in this attempt");
        for (_, contents) in memory {
            page.code(&contents);
        }
    }
    now::plugin(page, plugin, cx);
}

fn verdicts(trace: &CycleTrace, phase: Phase) -> &[PluginVerdict] {
    let verdicts = match phase {
        Phase::PreFilter => &trace.pre_filter,
        Phase::PreScore => &trace.pre_score,
        Phase::Reserve => &trace.reserve,
        Phase::Permit => &trace.permit,
        Phase::PreBind => &trace.pre_bind,
        Phase::Bind => &trace.bind,
        Phase::PostFilter => {
            return trace.post_filter.as_ref().map_or(&[], |post_filter| &post_filter.verdicts);
        }
        _ => return &[],
    };
    verdicts.as_deref().unwrap_or(&[])
}

fn answer(page: &mut Page, verdict: &PluginVerdict, phase: Phase) {
    let code = verdict.status.code();
    match (&verdict.node_names, code) {
        (Some(names), _) => {
            let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            page.text(
                format!("It narrows the search to {}.", explain::listed(&names, N_NODES_NAMED)),
                Role::Text,
            );
        }
        (None, Code::Skip) if phase == Phase::PreFilter => {
            let why = explain::skip_reason(verdict.plugin);
            page.text(format!("It is left out of Filter for this pod: {why}."), Role::Text);
        }
        (None, Code::Skip) if phase == Phase::PreScore => {
            page.text("It is left out of Score for this pod.", Role::Text);
        }
        (None, _) => page.text(verdict.status.message(), code_role(code)),
    }
}

/// The nodes that a plugin turned down, by reason.
fn filter_answers(page: &mut Page, trace: &CycleTrace, plugin: &str) {
    let Some(filter) = &trace.filter else { return };
    if filter.skipped.contains(plugin) {
        page.text(format!("It was left out for this pod: {}.", explain::skip_reason(plugin)), Role::Text);
        return;
    }
    let mut by_reason: Vec<(String, Code, Vec<&str>)> = Vec::new();
    for (node, verdict) in trace.nodes().iter().zip(&filter.verdicts) {
        let NodeVerdict::Rejected(status) = verdict else { continue };
        if status.plugin() != plugin {
            continue;
        }
        let reason = status.message();
        match by_reason.iter_mut().find(|(known, ..)| *known == reason) {
            Some((.., nodes)) => nodes.push(node.name()),
            None => by_reason.push((reason, status.code(), vec![node.name()])),
        }
    }
    if by_reason.is_empty() {
        page.text("It turned no node down.", Role::Text);
        return;
    }
    by_reason.sort_by_key(|(.., nodes)| std::cmp::Reverse(nodes.len()));
    for (reason, code, nodes) in by_reason {
        page.text(format!("{}: {reason}", explain::counted(nodes.len(), "node")), code_role(code));
        page.text(explain::listed(&nodes, N_NODES_NAMED), Role::Muted);
    }
}

fn scores(page: &mut Page, trace: &CycleTrace, plugin: &str) {
    let Some(score) = &trace.score else { return };
    let Some(scores) = score.scores.plugins.iter().find(|scores| scores.plugin == plugin) else {
        page.text("It was left out of Score for this pod.", Role::Text);
        return;
    };
    page.text(
        format!("Weight {}. The points of a node are its normalized score times the weight.", scores.weight),
        Role::Text,
    );
    let mut rows: Vec<(&Str, i64, i64)> = score
        .nodes
        .iter()
        .zip(&scores.raw)
        .zip(&scores.normalized)
        .map(|((node, raw), normalized)| (node, *raw, *normalized))
        .collect();
    rows.sort_by_key(|(_, _, normalized)| std::cmp::Reverse(*normalized));
    page.heading("raw, normalized, points");
    let n_more = rows.len().saturating_sub(N_SCORES);
    for (node, raw, normalized) in rows.into_iter().take(N_SCORES) {
        let points = normalized.saturating_mul(scores.weight);
        page.item(node.to_string(), format!("{raw:>6} {normalized:>5} {points:>6}"));
    }
    if n_more > 0 {
        page.text(format!("{n_more} more nodes have no more points than these."), Role::Muted);
    }
}

pub(super) fn phase(page: &mut Page, phase: Phase, cx: &Cx<'_>) {
    page.title(vec![(phase.to_string(), Role::Strong)]);
    page.text(what_happens(phase), Role::Muted);
    let Some(trace) = &cx.view.scheduler.cycle else {
        page.text(NO_ATTEMPT, Role::Muted);
        return;
    };
    if phase > trace.phase {
        page.text("This attempt has not come to it.", Role::Text);
        return;
    }
    match phase {
        Phase::Pop => {
            page.heading("this attempt");
            page.item("pod", trace.pod_key().to_string());
            page.item("from", trace.popped_from.as_str());
            page.item("after", human_duration(trace.queued_for));
            page.item("try", trace.attempt.to_string());
            page.item("nodes", trace.nodes().len().to_string());
        }
        Phase::Filter => {
            page.text(predicted::of_attempt(explain::verdict_so_far(trace), trace.number, cx), Role::Text);
            if let Some(filter) = &trace.filter {
                page.heading("turned down by");
                for (plugin, n, reason) in filter.rejections() {
                    page.item(plugin, format!("{}: {reason}", explain::counted(n, "node")));
                }
            }
        }
        Phase::PostFilter => {
            if let Some(evidence) =
                trace.post_filter.as_ref().and_then(|post_filter| post_filter.evidence.as_ref())
            {
                preemption::preemption(page, evidence, cx);
            }
        }
        Phase::Score => page.text(explain::leader(trace), Role::Text),
        Phase::Select => {
            page.text(explain::selection(trace).unwrap_or_default(), Role::Winner);
            let margins = explain::margins(trace);
            if !margins.is_empty() {
                page.heading("what sets it apart");
                for (plugin, margin) in margins {
                    page.item(plugin, format!("{margin:+}"));
                }
            }
        }
        _ => {}
    }
    let answers = verdicts(trace, phase);
    if !answers.is_empty() {
        page.heading("answers");
        for verdict in answers {
            let code = verdict.status.code();
            let said = match verdict.status.message() {
                message if message.is_empty() => code.to_string(),
                message => format!("{code}: {message}"),
            };
            page.item_in(verdict.plugin, said, code_role(code));
        }
    }
}

const fn what_happens(phase: Phase) -> &'static str {
    match phase {
        Phase::Pop => "The pod is taken out of the queue, and the nodes are looked at as they are now.",
        Phase::PreFilter => {
            "Each plugin looks at the pod once. It may narrow the search, skip Filter, or end the attempt."
        }
        Phase::Filter => "Each plugin looks at each node; the first that refuses decides.",
        Phase::PostFilter => "No node fits. Plugins try to make room, by preemption above all.",
        Phase::PreScore => "Each plugin looks at the nodes that are left, and may skip Score.",
        Phase::Score => "Each plugin gives each node 0 to 100 points, times its weight.",
        Phase::Select => "The highest total wins; among equals chance decides.",
        Phase::Assume => "The cache counts the pod on its node from now on, before the API knows.",
        Phase::Reserve => "Plugins set aside what the pod will use.",
        Phase::Permit => "Plugins let the pod pass, hold it for a time, or turn it down.",
        Phase::WaitOnPermit => "The pod waits until every plugin that holds it has let it go.",
        Phase::PreBind => "Plugins do what must be done before the binding, for volumes above all.",
        Phase::Bind => "The binding is written to the API.",
        Phase::PostBind => "Plugins hear that the pod is bound.",
    }
}

pub(super) fn past(page: &mut Page, number: u64, cx: &Cx<'_>) {
    let view = &cx.view.scheduler;
    let Some(line) = view.history.iter().find(|line| line.number == number) else {
        page.text("This attempt is too long ago: only the newest ones are kept.", Role::Muted);
        return;
    };
    page.title(vec![(format!("attempt {number}  "), Role::Muted), (line.pod.to_string(), Role::Strong)]);
    page.text(predicted::of_attempt(outcome_text(&line.outcome), line.number, cx), Role::Text);
    page.heading("attempt");
    page.item("began", format!("{} ago", human_duration(view.now.saturating_since(line.started))));
    let known = view.pod_logs.get(&line.pod).and_then(|log| explain::attempt_of(log, number));
    if let Some((attempt, before)) = known {
        let story = explain::attempt_story(attempt, before);
        page.item("try", attempt.attempt.to_string());
        page.item("brought by", story.why);
        page.item("nodes", story.verdicts);
        if let Some(before) = before {
            page.heading(format!("what differed from attempt {}", before.number));
            for difference in story.differences {
                let role = if difference.ends_with("-> fits") { Role::Winner } else { Role::Accent };
                page.text(difference, role);
            }
        }
    }
    let is_shown = view.cycle.as_ref().is_some_and(|cycle| cycle.number == number);
    if is_shown {
        page.text("Its evidence stands in the cycle pane and in the matrix.", Role::Muted);
    }
}
