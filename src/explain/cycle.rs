//! An attempt in one line: how it stands, who won and by how much, whom preemption would cost.

use crate::framework::preemption::{Candidate, Criterion, PreemptionEvidence};
use crate::scheduler::trace::{
    CycleOutcome, CycleTrace, FilterTrace, NodeVerdict, Phase, SelectionReason, SelectionTrace,
};

use super::{counted, listed};
use crate::api::time::human_duration;

/// How many victims a sentence names.
const N_VICTIMS_NAMED: usize = 3;

/// The verdict so far, in a line.
pub fn verdict_so_far(trace: &CycleTrace) -> String {
    match &trace.outcome {
        CycleOutcome::InProgress => so_far(trace),
        CycleOutcome::Tried { node } => format!("fits on {node}, if enough of its group do"),
        CycleOutcome::Waiting { node } => {
            let holders: Vec<&str> = trace
                .permit
                .iter()
                .flatten()
                .filter(|verdict| verdict.status.is_wait())
                .map(|verdict| verdict.plugin)
                .collect();
            match holders.as_slice() {
                [] => format!("placed on {node}; held at Permit"),
                holders => format!("placed on {node}; held at Permit by {}", listed(holders, 3)),
            }
        }
        CycleOutcome::Binding { node } => format!("placed on {node}; the binding cycle runs"),
        CycleOutcome::Bound { node } => match &trace.selection {
            Some(selection) => format!("bound to {node}: {}", selection_text(selection, node)),
            None => format!("bound to {node}"),
        },
        CycleOutcome::Unschedulable { message, nominated_node } => {
            let why = why_unschedulable(trace).unwrap_or_else(|| message.clone());
            match nominated_node {
                Some(node) => format!("nominated to {node}; {why}"),
                None => why,
            }
        }
        CycleOutcome::Error { message } => format!("failed, will be retried: {message}"),
        CycleOutcome::Skipped { reason } => format!("not tried: {reason}"),
    }
}

fn so_far(trace: &CycleTrace) -> String {
    if let Some(text) = selection(trace) {
        return text;
    }
    if let Some(post_filter) = &trace.post_filter {
        return match (&post_filter.nominated_node, &post_filter.evidence) {
            (_, Some(evidence)) => preemption(evidence),
            (Some(node), None) => format!("nominated to {node}"),
            (None, None) => String::from("no room can be made"),
        };
    }
    if trace.score.is_some() {
        return leader(trace);
    }
    if let Some(filter) = &trace.filter {
        return filtered(filter);
    }
    let n_nodes = counted(trace.nodes().len(), "node");
    let Some(verdicts) = &trace.pre_filter else {
        let after = human_duration(trace.queued_for);
        return format!("popped from {} after {after}; {n_nodes} to look at", trace.popped_from.as_str());
    };
    if let Some(rejection) =
        verdicts.iter().find(|verdict| verdict.status.is_rejected() || verdict.status.is_error())
    {
        return format!("{} turns the pod down: {}", rejection.plugin, rejection.status.message());
    }
    let narrowing =
        verdicts.iter().filter_map(|verdict| Some((verdict.plugin, verdict.node_names.as_ref()?)));
    match narrowing.min_by_key(|(_, names)| names.len()) {
        Some((plugin, names)) => {
            format!("{plugin} narrows the search to {} of {n_nodes}", names.len())
        }
        None => format!("all {n_nodes} will be looked at"),
    }
}

fn filtered(filter: &FilterTrace) -> String {
    let n_feasible = filter.n_feasible();
    let n_nodes = counted(filter.verdicts.len(), "node");
    if let Some(node) = &filter.nominated_node {
        return format!("the nominated node {node} fits; no other is looked at");
    }
    if n_feasible == 0 {
        return format!("none of {n_nodes} fits{}", reasons(filter));
    }
    let fit = if n_feasible == 1 { "fits" } else { "fit" };
    let is_cut = filter.verdicts.contains(&NodeVerdict::NotEvaluated);
    let cut = if is_cut { "; enough, so the search ended" } else { "" };
    format!("{n_feasible} of {n_nodes} {fit}{cut}")
}

/// `: 7 Insufficient cpu, 2 untolerated taint(s)`, the most frequent reason of each plugin first.
fn reasons(filter: &FilterTrace) -> String {
    let mut rejections = filter.rejections();
    rejections.sort_by_key(|(_, count, _)| std::cmp::Reverse(*count));
    let n_excluded = filter.verdicts.iter().filter(|verdict| **verdict == NodeVerdict::Excluded).count();
    let mut parts: Vec<String> = rejections
        .iter()
        .map(|(plugin, count, reason)| {
            if reason.is_empty() {
                format!("{count} by {plugin}")
            } else {
                format!("{count} {}", short_reason(reason))
            }
        })
        .collect();
    if n_excluded > 0 {
        parts.push(format!("{n_excluded} left out by PreFilter"));
    }
    if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) }
}

/// A reason without the words that all reasons begin with: `untolerated taint(s)`.
pub fn short_reason(reason: &str) -> &str {
    let rest = reason.strip_prefix("node(s) ").unwrap_or(reason);
    rest.strip_prefix("had ").or_else(|| rest.strip_prefix("were ")).unwrap_or(rest)
}

fn why_unschedulable(trace: &CycleTrace) -> Option<String> {
    match &trace.filter {
        Some(filter) if filter.n_feasible() == 0 => Some(filtered(filter)),
        Some(_) => None,
        None => {
            let rejection = trace.pre_filter.iter().flatten().find(|verdict| verdict.status.is_rejected())?;
            Some(format!("{} turns the pod down: {}", rejection.plugin, rejection.status.message()))
        }
    }
}

/// Who is ahead after Score, before the choice is made; empty before Score.
pub fn leader(trace: &CycleTrace) -> String {
    let Some(score) = &trace.score else { return String::new() };
    let totals = || score.nodes.iter().zip(score.scores.totals.iter().copied());
    let Some(best) = totals().map(|(_, total)| total).max() else { return String::new() };
    let mut leaders = totals().filter(|(_, total)| *total == best);
    let Some((first, _)) = leaders.next() else { return String::new() };
    let n_others = leaders.count();
    if n_others > 0 {
        return format!("{} tie at {best}; chance will choose", counted(n_others + 1, "node"));
    }
    match totals().filter(|(_, total)| *total < best).max_by_key(|(_, total)| *total) {
        Some((name, total)) => {
            format!("{first} leads with {best}, {} ahead of {name}", best.saturating_sub(total))
        }
        None => format!("{first} has {best}"),
    }
}

/// Why the chosen node was chosen; absent before the choice.
pub fn selection(trace: &CycleTrace) -> Option<String> {
    let selection = trace.selection.as_ref()?;
    Some(selection_text(selection, ""))
}

/// The same; `named` is the node that the sentence has named already.
fn selection_text(selection: &SelectionTrace, named: &str) -> String {
    let host = if selection.host.as_ref() == named { "it" } else { &selection.host };
    match selection.reason {
        SelectionReason::OnlyFeasible if named.is_empty() => {
            format!("only {host} fits, so nothing is scored")
        }
        SelectionReason::OnlyFeasible => String::from("the only one that fits, so nothing was scored"),
        SelectionReason::BatchHint => {
            format!(
                "{} was next in the ranking of the pod before, which is just like this one",
                selection.host
            )
        }
        SelectionReason::Nominated => {
            format!("{host} passes and the pod is nominated to it, so nothing is scored")
        }
        SelectionReason::HighestTotal => match (&selection.runner_up, selection.total) {
            (Some((runner_up, second)), Some(total)) => {
                let margin = total.saturating_sub(*second);
                let points = if margin == 1 { "point" } else { "points" };
                format!("{host} wins by {margin} {points} over {runner_up}")
            }
            (_, Some(total)) => format!("{host} wins with {total}"),
            (_, None) => format!("{host} wins"),
        },
        SelectionReason::Tie => {
            let n = counted(selection.ties.len(), "node");
            match selection.total {
                Some(total) => format!("{n} tie at {total}; {host} was drawn by chance (seeded)"),
                None => format!("{n} tie; {host} was drawn by chance (seeded)"),
            }
        }
    }
}

/// Whom preemption costs, where, and which criterion decided.
pub fn preemption(evidence: &PreemptionEvidence) -> String {
    let Some(selected) = &evidence.selected else {
        return match (evidence.candidates.len(), evidence.rejected.len()) {
            (0, 0) => String::from("preemption has no node to try"),
            (0, n) => format!("preemption helps on none of {}", counted(n, "node")),
            (n, _) => format!("preemption found {} and took none", counted(n, "candidate")),
        };
    };
    let candidate = evidence.candidates.iter().find(|candidate| candidate.node_name == *selected);
    let cost = candidate.map_or_else(String::new, |candidate| format!(" costs {}", victims(candidate)));
    let by = match evidence.criterion {
        None => String::new(),
        Some(Criterion::OnlyCandidate) => String::from("; no other node would do"),
        Some(criterion) => {
            format!("; chosen from {} by: {}", counted(evidence.candidates.len(), "node"), criterion.as_str())
        }
    };
    format!("preemption on {selected}{cost}{by}")
}

/// The victims of a candidate: `2 pods (batch/train-3 prio 10 and batch/train-4 prio 0)`.
pub fn victims(candidate: &Candidate) -> String {
    let pods = &candidate.victims.pods;
    if pods.is_empty() {
        return String::from("no pod: the room is being made already");
    }
    let named: Vec<String> =
        pods.iter().map(|pod| format!("{} prio {}", pod.pod.key(), pod.pod.priority())).collect();
    let pdb = match candidate.victims.num_pdb_violations {
        0 => String::new(),
        1 => String::from(", against 1 disruption budget"),
        n => format!(", {n} of them against disruption budgets"),
    };
    format!("{} ({}){pdb}", counted(pods.len(), "pod"), listed(&named, N_VICTIMS_NAMED))
}

/// What stands in the place of the phase that comes next.
pub fn next_phase(trace: &CycleTrace) -> Option<Phase> {
    trace.next.filter(|_| !trace.outcome.is_final())
}

/// By how many points each plugin sets the chosen node apart from the runner-up, the largest first; empty unless
/// one won by its total.
pub fn margins(trace: &CycleTrace) -> Vec<(&'static str, i64)> {
    let (Some(score), Some(selection)) = (&trace.score, &trace.selection) else { return Vec::new() };
    let wins = selection.reason == SelectionReason::HighestTotal;
    let Some((runner_up, _)) = selection.runner_up.as_ref().filter(|_| wins) else { return Vec::new() };
    let position = |name: &str| score.nodes.iter().position(|node| node.as_ref() == name);
    let (Some(winner), Some(second)) = (position(&selection.host), position(runner_up)) else {
        return Vec::new();
    };
    let mut margins: Vec<(&'static str, i64)> = score
        .scores
        .plugins
        .iter()
        .filter_map(|scores| {
            let margin = scores.normalized.get(winner)?.saturating_sub(*scores.normalized.get(second)?);
            Some((scores.plugin, margin.saturating_mul(scores.weight)))
        })
        .filter(|(_, margin)| *margin != 0)
        .collect();
    margins.sort_by_key(|(_, margin)| std::cmp::Reverse(*margin));
    margins
}
