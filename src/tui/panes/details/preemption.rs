//! What preemption looked at: candidates, their victims one by one, and the rule that chose.

use super::page::Page;
use crate::explain::{self, RuleStanding};
use crate::framework::preemption::{Candidate, Criterion, PreemptionEvidence};
use crate::tui::panes::{Cx, names};
use crate::tui::theme::Role;

/// How many candidates are listed with their victims.
const N_CANDIDATES: usize = 20;
/// How many pods of a candidate are listed.
const N_TRIED: usize = 30;
/// How many nodes are listed that are no candidates.
const N_REJECTED: usize = 40;

pub(super) fn preemption(page: &mut Page, evidence: &PreemptionEvidence, cx: &Cx<'_>) {
    page.text(explain::preemption(evidence), Role::Text);
    if let Some(criterion) = evidence.criterion {
        page.heading("the rule that decided");
        for rule in explain::rule_stories(evidence) {
            let (sign, role) = match rule.standing {
                RuleStanding::LeftSeveral => ("left several", Role::Text),
                RuleStanding::Decided => ("decided", Role::Winner),
                RuleStanding::NotAsked => ("not asked", Role::Muted),
            };
            let name = rule.criterion.as_str();
            let text = if rule.text.is_empty() { name.to_owned() } else { format!("{name}: {}", rule.text) };
            page.item_in(sign, text, role);
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
    if candidate.victims.tried.is_empty() {
        return page
            .note("An extender has named the victims: how it came to them is not known here.", Role::Muted);
    }
    // Those come first whose eviction would violate a budget, then the most important ones.
    let lines = explain::reprieves(candidate, &cx.view.scheduler.pdbs);
    for line in lines.iter().take(N_TRIED) {
        page.note(line.text.clone(), if line.stays { Role::Muted } else { Role::Text });
    }
    if lines.len() > N_TRIED {
        page.note(format!("{} more", lines.len() - N_TRIED), Role::Muted);
    }
}
