//! Score: the earlier the alternatives that a node can give, the better (KEP-4816).
//!
//! Follows `computeScore` of `dynamicresources.go`.

use std::collections::BTreeSet;

use super::DynamicResources;
use crate::api::NamespacedName;

use super::state::{NodeAllocation, StateData, read};
use crate::framework::{
    CycleState, Handle, NodeInfo, NodeScore, PodInfo, ScoreExtensions, ScorePlugin, Status,
};
use crate::plugins::helper::normalize_score::default_normalize_score;

/// How many alternatives a request can have at most (`FirstAvailableDeviceRequestMaxSize`).
const MAX_ALTERNATIVES: i64 = 8;

impl ScorePlugin for DynamicResources {
    fn score(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Result<i64, Status> {
        if !self.features.prioritized_list {
            return Ok(0);
        }
        let data = read(state)?;
        if data.claims.is_empty() {
            return Ok(0);
        }
        match data.nodes.get(node.name()) {
            Some(allocation) => compute_score(data, &allocation),
            None => Ok(0),
        }
    }

    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        Some(self)
    }
}

impl ScoreExtensions for DynamicResources {
    fn normalize_score(
        &self,
        _: &Handle<'_>,
        _: &CycleState,
        _: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status {
        default_normalize_score(false, scores);
        Status::SUCCESS
    }
}

/// An alternative that a node gives: of which request, its place in the list from 0, and the points for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlternativePoints {
    /// The claim.
    pub claim: NamespacedName,
    /// The request and the alternative.
    pub request: String,
    /// The place of the alternative, from 0.
    pub place: i64,
    /// 8 for the first, 7 for the second, and so on.
    pub points: i64,
}

/// What the points of a node are for; absent if devices were not looked for there.
pub fn explain_points(state: &CycleState, node: &str) -> Option<Vec<AlternativePoints>> {
    let data = read(state).ok()?;
    let allocation = data.nodes.get(node)?;
    let mut all = Vec::new();
    let mut new = allocation.results.iter();
    for claim in data.claims.all() {
        let allocation = claim.status.allocation.as_ref().or_else(|| new.next())?;
        let taken: BTreeSet<&str> =
            allocation.devices.results.iter().map(|result| result.request.as_ref()).collect();
        for request in claim.spec.devices.requests.iter().filter(|request| request.exactly.is_none()) {
            for (place, alternative) in (0_i64..).zip(&request.first_available) {
                let request = format!("{}/{}", request.name, alternative.name);
                if taken.contains(request.as_str()) {
                    let points = MAX_ALTERNATIVES - place;
                    all.push(AlternativePoints { claim: claim.metadata.key(), request, place, points });
                }
            }
        }
    }
    Some(all)
}

fn compute_score(data: &StateData, on_node: &NodeAllocation) -> Result<i64, Status> {
    let mut score = 0;
    let mut new = on_node.results.iter();
    for claim in data.claims.all() {
        let Some(allocation) = claim.status.allocation.as_ref().or_else(|| new.next()) else {
            return Err(Status::error(format!(
                "number of allocations {} is smaller than number of claims needing allocation",
                on_node.results.len()
            )));
        };
        let taken: BTreeSet<&str> =
            allocation.devices.results.iter().map(|result| result.request.as_ref()).collect();
        for request in claim.spec.devices.requests.iter().filter(|request| request.exactly.is_none()) {
            for (i, alternative) in (0_i64..).zip(&request.first_available) {
                if taken.contains(format!("{}/{}", request.name, alternative.name).as_str()) {
                    score += MAX_ALTERNATIVES - i;
                }
            }
        }
    }
    Ok(score)
}
