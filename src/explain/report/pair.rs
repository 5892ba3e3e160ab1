//! Two nodes side by side: why the one and not the other, to the points.

use super::build::refusal_with_why;
use super::{AgainstReport, ChoiceReport, PairPoints, Points, Ranked};
use crate::explain::{ToWin, pair_headline, pair_points, selection, to_win};
use crate::framework::runtime::ScoreOutcome;
use crate::scheduler::reading::PodReading;
use crate::scheduler::trace::{CycleTrace, ScoreTrace, SelectionReason};

/// How many nodes are ranked.
const N_RANKED: usize = 10;

/// Why the chosen node was chosen.
pub(super) fn choice(trace: &CycleTrace) -> Option<ChoiceReport> {
    let chosen = trace.selection.as_ref()?;
    let score = trace.score.as_ref();
    let runner_up = chosen.runner_up.as_ref().map(|(node, _)| node);
    // Where several share the highest total the runner-up has less; without one below, another of the tie is shown.
    let other = runner_up.or_else(|| chosen.ties.iter().find(|node| **node != chosen.host));
    let points = match (score, other) {
        (Some(score), Some(other)) => points_of(score, &chosen.host, other),
        _ => Vec::new(),
    };
    let mut ranking: Vec<Ranked> = score
        .iter()
        .flat_map(|score| score.nodes.iter().zip(&score.scores.totals))
        .map(|(node, total)| Ranked { node: node.to_string(), total: *total })
        .collect();
    ranking.sort_by(|a, b| {
        let is_chosen = |ranked: &Ranked| ranked.node == *chosen.host;
        b.total.cmp(&a.total).then_with(|| is_chosen(b).cmp(&is_chosen(a))).then_with(|| a.node.cmp(&b.node))
    });
    ranking.truncate(N_RANKED);
    let is_tie = chosen.reason == SelectionReason::Tie;
    let sentence = selection(trace).unwrap_or_default();
    Some(ChoiceReport {
        node: chosen.host.to_string(),
        by: match chosen.reason {
            SelectionReason::OnlyFeasible => "onlyFeasible",
            SelectionReason::Nominated => "nominated",
            SelectionReason::BatchHint => "batchHint",
            SelectionReason::HighestTotal => "highestTotal",
            SelectionReason::Tie => "tie",
        },
        sentence: format!("{sentence}."),
        total: chosen.total,
        ties: if is_tie { chosen.ties.iter().map(ToString::to_string).collect() } else { Vec::new() },
        runner_up: runner_up.map(ToString::to_string),
        decisive: decisive(score.map(|score| &score.scores), &points).filter(|_| !is_tie),
        points,
        ranking,
    })
}

/// The plugin that sets the two furthest apart in favour of the first.
fn decisive(scores: Option<&ScoreOutcome>, points: &[PairPoints]) -> Option<&'static str> {
    let most = points.iter().filter(|pair| pair.difference > 0).max_by_key(|pair| pair.difference)?;
    scores?.plugins.iter().map(|scores| scores.plugin).find(|plugin| *plugin == most.plugin)
}

fn points_of(score: &ScoreTrace, first: &str, second: &str) -> Vec<PairPoints> {
    let at = |node: &str| score.nodes.iter().position(|name| name.as_ref() == node);
    let (Some(a), Some(b)) = (at(first), at(second)) else { return Vec::new() };
    let mut points = points_at(&score.scores, a, b);
    for (extender, added) in &score.extenders {
        let given = |at: usize| {
            let weighted = added.get(at).copied().unwrap_or_default();
            Points { raw: weighted, normalized: weighted, weighted }
        };
        points.push(pair_of(extender.to_string(), 1, given(a), given(b)));
    }
    points
}

fn points_at(scores: &ScoreOutcome, first: usize, second: usize) -> Vec<PairPoints> {
    let mut points: Vec<PairPoints> = scores
        .plugins
        .iter()
        .map(|plugin| {
            let of = |at: usize| {
                let normalized = plugin.normalized.get(at).copied().unwrap_or_default();
                Points {
                    raw: plugin.raw.get(at).copied().unwrap_or_default(),
                    normalized,
                    weighted: normalized.saturating_mul(plugin.weight),
                }
            };
            pair_of(plugin.plugin.to_owned(), plugin.weight, of(first), of(second))
        })
        .collect();
    points.sort_by_key(|pair| std::cmp::Reverse(pair.difference.saturating_abs()));
    points
}

const fn pair_of(plugin: String, weight: i64, first: Points, second: Points) -> PairPoints {
    let difference = first.weighted.saturating_sub(second.weighted);
    PairPoints { plugin, weight, first, second, difference }
}

/// What stands between the pod and the one node of `pair`.
pub(super) fn against(reading: &PodReading, pair: &PodReading) -> Option<AgainstReport> {
    let trace = &reading.trace;
    let node = pair.nodes.first()?;
    let info = pair.trace.snapshot.get(&node.node)?;
    let refusals = node.refusals.iter().map(|refusal| refusal_with_why(&pair.trace, info, refusal)).collect();
    let answer = to_win(trace, &node.node);
    let is_feasible = node.refusals.is_empty();
    let verdict = match &answer {
        _ if !is_feasible => "refused",
        Some(ToWin::Chosen) => "chosen",
        Some(ToWin::Tie { .. }) => "tie",
        Some(ToWin::Behind(_)) => "behind",
        Some(ToWin::Rejected { .. }) => "refused",
        Some(ToWin::NotTried(_)) | None => "notScored",
    };
    let mut lines = answer.as_ref().map(ToWin::lines).unwrap_or_default();
    let headline = match is_feasible && !lines.is_empty() {
        true => lines.remove(0),
        false => pair_headline(pair),
    };
    if !is_feasible {
        // Who refuses it stands below, each with its reasons.
        lines.clear();
    }
    let host = trace.selection.as_ref().map(|selection| &selection.host).filter(|host| **host != node.node);
    let mut report = AgainstReport {
        node: node.node.to_string(),
        verdict,
        headline,
        lines,
        refusals,
        compared_with: None,
        totals: None,
        decisive: None,
        points: Vec::new(),
    };
    if let Some(Ok(scores)) = &pair.scores {
        if !is_feasible {
            report.lines.push(pair_points(scores, false));
        }
        let other = host.and_then(|host| scores.nodes.iter().position(|name| name == host));
        if let (Some(other), Some(host)) = (other, host) {
            let total = |at: usize| scores.outcome.totals.get(at).copied().unwrap_or_default();
            report.compared_with = Some(host.to_string());
            report.totals = Some([total(other), total(scores.at)]);
            report.points = points_at(&scores.outcome, other, scores.at);
            report.decisive = decisive(Some(&scores.outcome), &report.points);
        }
    }
    Some(report)
}
