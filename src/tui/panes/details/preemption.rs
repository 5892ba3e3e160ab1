//! What preemption looked at: candidates, their victims one by one, and the rule that chose.

use super::page::Page;
use crate::explain;
use crate::framework::preemption::{Candidate, Criterion, PreemptionEvidence};
use crate::tui::panes::{Cx, names};
use crate::tui::theme::Role;

/// How many candidates are listed with their victims.
const N_CANDIDATES: usize = 20;
/// How many nodes are listed that are no candidates.
const N_REJECTED: usize = 40;

/// The rules by which candidates are told apart, in their order.
const CRITERIA: [Criterion; 5] = [
    Criterion::MinPdbViolations,
    Criterion::MinHighestPriority,
    Criterion::MinSumPriorities,
    Criterion::MinNumVictims,
    Criterion::LatestStartTime,
];

pub(super) fn preemption(page: &mut Page, evidence: &PreemptionEvidence, cx: &Cx<'_>) {
    page.text(explain::preemption(evidence), Role::Text);
    if let Some(criterion) = evidence.criterion {
        page.heading("the rule that decided");
        for rule in CRITERIA {
            let (sign, role) = match rule.cmp(&criterion) {
                std::cmp::Ordering::Less => ("equal", Role::Muted),
                std::cmp::Ordering::Equal => ("decided", Role::Winner),
                std::cmp::Ordering::Greater => ("not asked", Role::Muted),
            };
            let sign = if criterion == Criterion::OnlyCandidate { "not asked" } else { sign };
            page.item_in(sign, rule.as_str(), role);
        }
        if matches!(criterion, Criterion::OnlyCandidate | Criterion::Random) {
            page.item_in("decided", criterion.as_str(), Role::Winner);
        }
    }
    if !evidence.candidates.is_empty() {
        page.heading(format!("candidates {}", evidence.candidates.len()));
        for candidate in evidence.candidates.iter().take(N_CANDIDATES) {
            of_candidate(page, candidate, evidence.selected.as_ref() == Some(&candidate.node_name), cx);
        }
        let n_more = evidence.candidates.len().saturating_sub(N_CANDIDATES);
        if n_more > 0 {
            page.text(format!("{n_more} more"), Role::Muted);
        }
    }
    if !evidence.rejected.is_empty() {
        page.heading(format!("no candidates {}", evidence.rejected.len()));
        for (node, why) in evidence.rejected.iter().take(N_REJECTED) {
            page.item(node.to_string(), why.clone());
        }
        let n_more = evidence.rejected.len().saturating_sub(N_REJECTED);
        if n_more > 0 {
            page.text(format!("{n_more} more"), Role::Muted);
        }
    }
}

fn of_candidate(page: &mut Page, candidate: &Candidate, is_chosen: bool, cx: &Cx<'_>) {
    let role = if is_chosen { Role::Winner } else { Role::Text };
    page.item_in(candidate.node_name.to_string(), explain::victims(candidate), role);
    let Some(numbers) = explain::candidate_numbers(candidate) else { return };
    let started = numbers.started.map_or_else(|| String::from("not known"), |at| at.to_rfc3339());
    page.note(
        format!(
            "PDB violations {}, highest priority {}, sum {}, victims {}, started {started}",
            numbers.n_pdb_violations,
            names::priority(numbers.highest_priority),
            numbers.sum_priorities,
            numbers.n_victims
        ),
        Role::Number,
    );
    // The plugin spares those first whose eviction would violate a budget, then the most important ones.
    for victim in &candidate.victims.pods {
        let pod = &victim.pod;
        let budgets = explain::budgets_of(&cx.view.scheduler.pdbs, pod);
        let budgets: Vec<String> =
            budgets.iter().map(|(name, allowed)| format!("{name} allows {allowed} more now")).collect();
        let budgets =
            if budgets.is_empty() { String::new() } else { format!(", PDB {}", budgets.join(", ")) };
        page.note(
            format!("{} could not be spared: prio {}{budgets}", pod.key(), names::priority(pod.priority())),
            Role::Muted,
        );
    }
}
