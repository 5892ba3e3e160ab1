//! Volumes in words: what becomes of each claim of a pod on a node, which volumes were tried, and why each was not
//! taken.

use crate::framework::NodeInfo;
use crate::plugins::volume_binding::{ClaimExplanation, Mismatch, explain_match};
use crate::scheduler::trace::CycleTrace;

use super::cell::CellExplanation;
use super::counted;

/// How many volumes or capacities are told one by one for each claim.
const TOLD: usize = 12;

/// Adds to VolumeBinding's answer for a node what became of each claim there.
pub(super) fn bound(trace: &CycleTrace, node: &NodeInfo, explanation: CellExplanation) -> CellExplanation {
    let claims = node.node().and_then(|node| explain_match(&trace.filter_state, node));
    let lines = claims.unwrap_or_default().iter().flat_map(lines).collect();
    explanation.with_arithmetic(lines)
}

/// A claim, and below it what was tried for it: what came closest first.
fn lines(claim: &ClaimExplanation) -> Vec<String> {
    let mut lines = vec![format!("{} {}.", claim.claim, claim.outcome)];
    let mut tried: Vec<_> = claim.tried.iter().collect();
    tried.sort_by_key(|tried| closeness(tried.mismatch.as_ref()));
    let size =
        |size: Option<crate::api::Quantity>| size.map_or_else(String::new, |size| format!(" ({size})"));
    let volumes = tried.iter().map(|tried| match &tried.mismatch {
        Some(mismatch) => format!("  {}{} {mismatch}", tried.volume, size(tried.size)),
        None => format!("  {}{} is taken", tried.volume, size(tried.size)),
    });
    lines.extend(first(volumes, tried.len(), "volume"));
    let capacities = claim.capacities.iter().map(|capacity| format!("  {capacity}"));
    lines.extend(first(capacities, claim.capacities.len(), "capacity object"));
    lines
}

/// The first lines, and how many more there are.
fn first(lines: impl Iterator<Item = String>, count: usize, what: &str) -> Vec<String> {
    let mut first: Vec<String> = lines.take(TOLD).collect();
    if count > first.len() {
        first.push(format!("  and {} more", counted(count - first.len(), what)));
    }
    first
}

/// Volumes that would do come before those that fail for the node, and these before those that never would do.
const fn closeness(mismatch: Option<&Mismatch>) -> u8 {
    match mismatch {
        None => 0,
        Some(Mismatch::NotSmallest | Mismatch::Taken | Mismatch::NotReserved) => 1,
        Some(Mismatch::NodeAffinity) => 2,
        Some(Mismatch::OtherClaim(_)) => 4,
        Some(_) => 3,
    }
}
