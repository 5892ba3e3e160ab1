//! Answers that depend on which pods are where: topology spread and inter-pod affinity, with what is counted in each
//! domain; and declared features.

use crate::framework::{Code, NodeInfo};
use crate::plugins::inter_pod_affinity::{PodsInDomain, explain_affinity, explain_affinity_score};
use crate::plugins::node_declared_features::explain_features;
use crate::plugins::pod_topology_spread::{SpreadOnNode, explain_spread, explain_spread_score};
use crate::scheduler::trace::CycleTrace;

use super::cell::CellExplanation;
use super::counted;

/// How many domains are told one by one.
const N_DOMAINS: usize = 8;

/// Adds to PodTopologySpread's answer what is counted for each constraint.
pub(super) fn spread(trace: &CycleTrace, node: &NodeInfo, explanation: CellExplanation) -> CellExplanation {
    let Some(spreads) = explain_spread(&trace.filter_state, &trace.snapshot, node) else {
        return explanation;
    };
    let passes = spreads.iter().all(SpreadOnNode::is_kept);
    if passes != (explanation.code == Some(Code::Success)) {
        return explanation;
    }
    explanation.with_arithmetic(spreads.iter().flat_map(spread_lines).collect())
}

/// `topology.kubernetes.io/zone=a: 3 matching + 1 (the pod itself) - 1 (the fewest, in c) = 3 > maxSkew 2`
fn spread_lines(spread: &SpreadOnNode) -> Vec<String> {
    let SpreadOnNode { key, max_skew, min_domains, n_pods, own, fewest, n_domains, .. } = spread;
    let Some(domain) = &spread.domain else {
        return vec![format!("{key}: the node does not have that label")];
    };
    let skew = spread.skew();
    let relation = if skew > i64::from(*max_skew) { ">" } else { "<=" };
    let own = match own {
        0 => String::from(" (the pod itself does not match)"),
        own => format!(" + {own} (the pod itself)"),
    };
    let fewest = match &spread.fewest_in {
        Some(domain) => format!("{fewest} (the fewest, in {domain})"),
        None => format!("{fewest} (only {n_domains} of at least {min_domains} domains)"),
    };
    let mut lines = vec![format!(
        "{key}={domain}: {n_pods} matching{own} - {fewest} = {skew} {relation} maxSkew {max_skew}"
    )];
    let told = spread.domains.iter().take(N_DOMAINS).map(|(domain, n)| format!("{domain} {n}"));
    let told: Vec<String> = told.collect();
    let n_more = spread.domains.len().saturating_sub(told.len());
    let more = if n_more > 0 { format!(", {n_more} more domains with some") } else { String::new() };
    let n_none = n_domains.saturating_sub(spread.domains.len());
    let none = if n_none > 0 { format!(", none in {n_none}") } else { String::new() };
    lines.push(format!(
        "matching pods in {}: {}{more}{none}",
        counted(*n_domains, "domain"),
        told.join(", ")
    ));
    lines
}

/// Adds to InterPodAffinity's answer how many pods each of its rules finds in the node's domains.
pub(super) fn affinity(trace: &CycleTrace, node: &NodeInfo, explanation: CellExplanation) -> CellExplanation {
    let Some(found) = explain_affinity(&trace.filter_state, &trace.snapshot, node) else {
        return explanation;
    };
    if found.is_kept() != (explanation.code == Some(Code::Success)) {
        return explanation;
    }
    let mut lines = Vec::new();
    for pods in &found.affinity {
        // A pod that matches all terms is counted once for each of them that has this key.
        let n_terms = i64::try_from(pods.n_terms).unwrap_or(1).max(1);
        let first = match (pods.number, found.may_be_first) {
            (0, true) => " (none anywhere, and the pod matches itself: it may be the first)",
            _ => "",
        };
        lines.push(line("affinity", pods, pods.number / n_terms, "match all its terms; 1 is needed") + first);
    }
    for pods in &found.anti_affinity {
        let what = match pods.n_terms {
            0 | 1 => String::from("match its term; none may"),
            n => format!("match one of {n} terms with this key; none may"),
        };
        lines.push(line("anti-affinity", pods, pods.number, &what));
    }
    for pods in found.existing_anti_affinity.iter().filter(|pods| pods.domain.is_some()) {
        let what = "have anti-affinity to this pod; none may";
        lines.push(line("anti-affinity of others", pods, pods.number, what));
    }
    explanation.with_arithmetic(lines)
}

fn line(rule: &str, pods: &PodsInDomain, n_pods: i64, what: &str) -> String {
    match &pods.domain {
        Some(domain) => {
            let n = usize::try_from(n_pods).unwrap_or_default();
            format!("{rule}: {} in {}={domain} {what}", counted(n, "pod"), pods.key)
        }
        None => format!("{rule}: the node does not have the label {}", pods.key),
    }
}

/// Adds to NodeDeclaredFeatures' answer what is needed and what the node declares.
pub(super) fn features(trace: &CycleTrace, node: &NodeInfo, explanation: CellExplanation) -> CellExplanation {
    let Some(features) = explain_features(&trace.filter_state, node) else { return explanation };
    let lines = features.into_iter().map(|(feature, is_declared)| {
        format!("{feature}: needed, {}", if is_declared { "declared" } else { "not declared by the node" })
    });
    explanation.with_arithmetic(lines.collect())
}

/// What PodTopologySpread's constraints add to a raw score, and to what that is rounded; `None` if that is not what the
/// plugin gave.
#[expect(clippy::cast_possible_truncation, reason = "upstream rounds so")]
pub(super) fn spread_score(trace: &CycleTrace, node: &NodeInfo, raw: i64) -> Option<Vec<String>> {
    let spreads = explain_spread_score(&trace.cycle_state, &trace.snapshot, node)?;
    let sum: f64 = spreads.iter().map(|spread| spread.points).sum();
    if sum.round() as i64 != raw {
        return None;
    }
    let mut lines: Vec<String> = spreads
        .iter()
        .map(|spread| match &spread.domain {
            Some(domain) => format!(
                "{}={domain}: {} matching x {:.3} + (maxSkew {} - 1) = {:.2}",
                spread.key, spread.n_pods, spread.weight, spread.max_skew, spread.points
            ),
            None => format!("{}: the node does not have that label: 0", spread.key),
        })
        .collect();
    lines.push(format!("raw: {raw}; the fewer the better"));
    Some(lines)
}

/// What adds up to InterPodAffinity's raw score; `None` if that is not what the plugin gave.
pub(super) fn affinity_score(trace: &CycleTrace, node: &NodeInfo, raw: i64) -> Option<Vec<String>> {
    let sums = explain_affinity_score(&trace.cycle_state, &trace.snapshot, node)?;
    if sums.iter().map(|pods| pods.number).sum::<i64>() != raw {
        return None;
    }
    let lines = sums.iter().map(|pods| match &pods.domain {
        Some(domain) => {
            format!("{}={domain}: weights of matching terms add up to {:+}", pods.key, pods.number)
        }
        None => format!("{}: the node does not have that label: 0", pods.key),
    });
    let mut lines: Vec<String> = lines.collect();
    lines.push(format!("raw: {raw}"));
    Some(lines)
}
