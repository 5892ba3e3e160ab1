//! Why an answer is right or wrong, made of the evidence of the attempt that the question is about.

use crate::explain::{self, CellPoint, ToWin};
use crate::framework::runtime::PluginVerdict;
use crate::scheduler::trace::{CycleTrace, NodeVerdict};

use super::answer::folded;
use super::expression::{Call, Expression, Moment};
use super::script::object_name;

/// How many nodes are told of one by one.
const NODES_MAX: usize = 5;

/// What speaks against a wrong answer; empty where nothing is to be said without giving the right one away.
pub fn against(expression: &Expression, moment: &Moment, typed: &str) -> Vec<String> {
    if expression.is_comparison() {
        return Vec::new();
    }
    let call = expression.call();
    match (call.function.name, attempt(call, moment)) {
        ("chosen" | "node", Some(trace)) => not_chosen(trace, typed),
        ("plugin", Some(trace)) => cell_of(call, trace, typed),
        ("plugins", Some(trace)) => not_against(trace, typed),
        ("victims", Some(trace)) => costs(trace),
        ("feasible", Some(trace)) => one_node(trace, typed).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// A node that speaks against that number of feasible ones: one that was turned down if there are fewer, one that passed
/// if there are more.
fn one_node(trace: &CycleTrace, typed: &str) -> Option<String> {
    let filter = trace.filter.as_ref()?;
    let typed: usize = typed.trim().parse().ok()?;
    let is_wanted = |verdict: &NodeVerdict| match typed > filter.n_feasible() {
        true => matches!(verdict, NodeVerdict::Rejected(_)),
        false => *verdict == NodeVerdict::Feasible,
    };
    let position = filter.verdicts.iter().position(is_wanted)?;
    refusal(trace, trace.nodes().get(position)?.name())
}

/// How the right answer comes about.
pub fn for_it(expression: &Expression, moment: &Moment) -> Vec<String> {
    let call = expression.call();
    if matches!(call.function.name, "queue" | "gate" | "attempts" | "backoff" | "tried-at" | "woken-by") {
        return whereabouts(call, moment);
    }
    let Some(trace) = attempt(call, moment) else { return Vec::new() };
    match call.function.name {
        "chosen" | "node" | "domain" => chosen(trace),
        "plugin" | "code" => {
            call.argument("NODE").and_then(|node| refusal(trace, node)).into_iter().collect()
        }
        "permit" => trace
            .permit
            .iter()
            .flatten()
            .filter(|verdict| !verdict.status.is_success())
            .map(verdict_line)
            .collect(),
        "plugins" | "feasible" | "rejected" | "evaluated" | "message" => refusals(trace),
        "raw" | "score" | "weighted" => match (call.argument("PLUGIN"), call.argument("NODE")) {
            (Some(plugin), Some(node)) => {
                let cell = explain::cell(trace, CellPoint::Score, node, plugin);
                std::iter::once(cell.sentence).chain(cell.arithmetic).collect()
            }
            _ => Vec::new(),
        },
        "total" => {
            explain::leader(trace).split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect()
        }
        "victims" | "candidates" | "nominated" => preemption(trace),
        _ => Vec::new(),
    }
}

fn verdict_line(verdict: &PluginVerdict) -> String {
    let (code, reasons) = (verdict.status.code().as_str(), verdict.status.reasons().join(", "));
    format!("{}: {code}: {reasons}", verdict.plugin)
}

fn attempt<'a>(call: &Call, moment: &'a Moment) -> Option<&'a CycleTrace> {
    moment.last_attempt(&object_name(call.argument("POD")?)).map(|trace| &**trace)
}

fn sentence(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{}{}{end}", first.to_uppercase(), chars.as_str())
}

/// Why not that node.
fn not_chosen(trace: &CycleTrace, typed: &str) -> Vec<String> {
    let wanted = folded(typed);
    if wanted == "none" {
        let n = trace.filter.as_ref().map_or(0, |filter| filter.n_feasible());
        return vec![format!("There is a node: {n} passed all filters.")];
    }
    let node = trace.nodes().iter().find(|node| folded(node.name()) == wanted);
    let Some(node) = node.map(|node| node.name().to_string()) else {
        return vec![format!("There is no node {typed}.")];
    };
    match explain::to_win(trace, &node) {
        Some(ToWin::Rejected { plugin, sentence, reasons, .. }) => {
            let why = if sentence.is_empty() { format!("{}.", reasons.join(", ")) } else { sentence };
            vec![format!("{plugin} turns {node} down. {why}")]
        }
        Some(ToWin::Behind(behind)) => {
            let (_, own) = behind.totals;
            let mut lines = vec![format!(
                "{node} fits, and its total is {own}: another node has {} points more.",
                behind.distance()
            )];
            lines.extend(behind.gaps.iter().filter(|gap| gap.points != 0).take(4).map(|gap| {
                format!(
                    "{}: this node {}, the best one {} (weight {})",
                    gap.plugin, gap.scores.1, gap.scores.0, gap.weight
                )
            }));
            lines
        }
        Some(ToWin::NotTried(why)) => vec![sentence(&why)],
        Some(ToWin::Tie { n_nodes }) => {
            vec![format!("{n_nodes} nodes share the highest total; chance took another one.")]
        }
        Some(ToWin::Chosen) | None => Vec::new(),
    }
}

/// What the plugin that was named says of the node.
fn cell_of(call: &Call, trace: &CycleTrace, typed: &str) -> Vec<String> {
    let Some(node) = call.argument("NODE") else { return Vec::new() };
    let Some(filter) = &trace.filter else { return Vec::new() };
    let plugin = filter.plugins.iter().find(|plugin| folded(plugin) == folded(typed));
    match plugin {
        Some(plugin) => {
            let cell = explain::cell(trace, CellPoint::Filter, node, plugin);
            let head = format!("{plugin} on {node}: {}", cell.sentence);
            std::iter::once(head).chain(cell.arithmetic.into_iter().take(3)).collect()
        }
        None if folded(typed) == "none" => vec![format!("The node {node} did not pass.")],
        None => vec![format!("{typed} does not filter in this profile.")],
    }
}

/// Plugins that were named and turned nothing down.
fn not_against(trace: &CycleTrace, typed: &str) -> Vec<String> {
    let Some(filter) = &trace.filter else { return Vec::new() };
    let refusing: Vec<&str> = filter.rejections().iter().map(|(plugin, ..)| *plugin).collect();
    let named = typed.split([',', ' ']).filter(|word| !word.is_empty() && *word != "and");
    named
        .filter(|word| refusing.iter().all(|plugin| folded(plugin) != folded(word)))
        .filter(|word| folded(word) != "none")
        .map(|word| format!("{word} has turned no node down."))
        .collect()
}

fn chosen(trace: &CycleTrace) -> Vec<String> {
    let mut lines: Vec<String> = explain::selection(trace).iter().map(|text| sentence(text)).collect();
    let margins = explain::margins(trace);
    lines.extend(
        margins
            .iter()
            .take(4)
            .map(|(plugin, points)| format!("{plugin}: {points:+} against the second best")),
    );
    if lines.is_empty() {
        lines = refusals(trace);
    }
    lines
}

fn refusal(trace: &CycleTrace, node: &str) -> Option<String> {
    let position = trace.snapshot.position(node)?;
    match trace.filter.as_ref()?.verdicts.get(position)? {
        NodeVerdict::Rejected(status) => {
            let cell = explain::cell(trace, CellPoint::Filter, node, status.plugin());
            Some(format!("{node}: {}: {}", status.plugin(), cell.sentence))
        }
        NodeVerdict::Feasible => Some(format!("{node}: it passed all filters.")),
        NodeVerdict::Excluded | NodeVerdict::NotEvaluated => None,
    }
}

/// Who turned down what.
fn refusals(trace: &CycleTrace) -> Vec<String> {
    let Some(_) = &trace.filter else { return vec![explain::no_filter(trace)] };
    let mut lines: Vec<String> =
        trace.nodes().iter().filter_map(|node| refusal(trace, node.name())).collect();
    if lines.len() > NODES_MAX {
        let n_more = lines.len() - NODES_MAX;
        lines.truncate(NODES_MAX);
        lines.push(format!("and {n_more} nodes more; the matrix has them all"));
    }
    lines
}

fn preemption(trace: &CycleTrace) -> Vec<String> {
    let evidence = trace.post_filter.as_ref().and_then(|post| post.evidence.as_ref());
    let Some(evidence) = evidence else { return Vec::new() };
    std::iter::once(sentence(&explain::preemption(evidence))).chain(costs(trace)).collect()
}

/// What making room would cost on each node where that is possible, by name.
fn costs(trace: &CycleTrace) -> Vec<String> {
    let evidence = trace.post_filter.as_ref().and_then(|post| post.evidence.as_ref());
    let mut candidates: Vec<_> = evidence.iter().flat_map(|evidence| &evidence.candidates).collect();
    candidates.sort_by(|a, b| a.node_name.cmp(&b.node_name));
    let line = |candidate: &&crate::framework::preemption::Candidate| {
        format!("{}: {}", candidate.node_name, explain::victims(candidate))
    };
    candidates.iter().take(NODES_MAX).map(line).collect()
}

/// Where the pod is, and what brought its last attempt about.
fn whereabouts(call: &Call, moment: &Moment) -> Vec<String> {
    let Some(pod) = call.argument("POD") else { return Vec::new() };
    let key = object_name(pod);
    let story = explain::pod_story(&moment.view, &key);
    let mut lines: Vec<String> = story.iter().map(|story| sentence(&story.headline)).collect();
    let log = moment.view.pod_logs.get(&key);
    let wake = log.and_then(|log| log.attempts.back()).and_then(|attempt| attempt.woken_by.as_ref());
    if let Some(wake) = wake {
        lines.push(format!("Its last attempt was brought about by {}.", explain::woken_by(wake)));
    }
    lines
}
