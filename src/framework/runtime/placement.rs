//! PlacementGenerate and PlacementScore: where a whole pod group may go, and where it should (KEP-5732).

use std::sync::Arc;

use super::Framework;
use crate::framework::handle::Handle;
use crate::framework::node_info::NodeInfo;
use crate::framework::plugin::{MAX_NODE_SCORE, MIN_NODE_SCORE};
use crate::framework::pod_group::{Placement, PlacementScore, PodGroupAssignments, PodGroupInfo};
use crate::framework::status::Status;

/// The scores that one plugin gave, in the order of the placements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementPluginScores {
    /// The plugin.
    pub plugin: &'static str,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// What it returned.
    pub raw: Vec<i64>,
    /// The same after normalization, 0 to 100.
    pub normalized: Vec<i64>,
}

/// The scores of all placements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlacementScoreOutcome {
    /// By plugin, in the profile's order.
    pub plugins: Vec<PlacementPluginScores>,
    /// Weighted sum by placement.
    pub totals: Vec<i64>,
}

impl Framework {
    /// Runs PlacementGenerate (`RunPlacementGeneratePlugins`): the first plugin divides the nodes; without one they are
    /// one placement.
    ///
    /// # Errors
    /// The plugin failed, or found no placement.
    pub fn run_placement_generate_plugins(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<Vec<Placement>, Status> {
        let all = Placement { nodes: nodes.to_vec(), ..Placement::default() };
        let first = self.plugins.placement_generate.first();
        let Some((plugin, generate)) =
            first.and_then(|plugin| Some((plugin, plugin.as_placement_generate()?)))
        else {
            return Ok(vec![all]);
        };
        let placements = generate
            .generate_placements(handle, group, &all)
            .map_err(|status| status.with_plugin(plugin.name()))?;
        if placements.is_empty() {
            return Err(Status::unschedulable("no feasible placements found").with_plugin(plugin.name()));
        }
        Ok(placements)
    }

    /// Runs PlacementScore and NormalizePlacementScore (`RunPlacementScorePlugins`).
    ///
    /// # Errors
    /// A plugin failed, or its normalized score is not within 0 to 100.
    pub fn run_placement_score_plugins(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        assignments: &[PodGroupAssignments],
    ) -> Result<PlacementScoreOutcome, Status> {
        let mut outcome = PlacementScoreOutcome { plugins: Vec::new(), totals: vec![0; assignments.len()] };
        for weighted in &self.plugins.placement_score {
            let name = weighted.plugin.name();
            let Some(score) = weighted.plugin.as_placement_score() else { continue };
            let failed = |point: &str, status: &Status| {
                let text = status.message();
                Status::error(format!("running {point}: plugin {name:?} failed with: {text}"))
            };
            let mut scores = Vec::with_capacity(assignments.len());
            for assignment in assignments {
                let raw = score
                    .score_placement(handle, group, assignment)
                    .map_err(|status| failed("PlacementScore plugins", &status))?;
                scores.push(PlacementScore { name: assignment.placement.name.clone(), score: raw });
            }
            let raw = scores.iter().map(|score| score.score).collect();
            if let Some(extensions) = score.placement_score_extensions() {
                let status = extensions.normalize_placement_score(handle, group, &mut scores);
                if !status.is_success() {
                    return Err(failed("NormalizePlacementScore on PlacementScore plugins", &status));
                }
            }
            for (total, score) in outcome.totals.iter_mut().zip(&scores) {
                if !(MIN_NODE_SCORE..=MAX_NODE_SCORE).contains(&score.score) {
                    return Err(Status::error(format!(
                        "applying score defaultWeights on PlacementScore plugins: plugin {name:?} returns an invalid \
                         score {}, it should in the range of [{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing",
                        score.score
                    )));
                }
                *total += score.score * weighted.weight;
            }
            outcome.plugins.push(PlacementPluginScores {
                plugin: name,
                weight: weighted.weight,
                raw,
                normalized: scores.iter().map(|score| score.score).collect(),
            });
        }
        Ok(outcome)
    }
}
