//! PreScore, Score and NormalizeScore.

use std::sync::Arc;

use super::Framework;
use super::filter::PluginVerdict;
use crate::framework::cycle_state::CycleState;
use crate::framework::handle::Handle;
use crate::framework::meter::Measurement;
use crate::framework::node_info::NodeInfo;
use crate::framework::plugin::{MAX_NODE_SCORE, MIN_NODE_SCORE, NodeScore};
use crate::framework::pod_info::PodInfo;
use crate::framework::status::{Code, Status};

/// The scores that one plugin gave, node by node in the order of the feasible nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginScores {
    /// The plugin.
    pub plugin: &'static str,
    /// What its scores are multiplied by.
    pub weight: i64,
    /// What Score returned.
    pub raw: Vec<i64>,
    /// The same after NormalizeScore, 0 to 100.
    pub normalized: Vec<i64>,
}

/// All scores of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScoreOutcome {
    /// By plugin, in the profile's order.
    pub plugins: Vec<PluginScores>,
    /// Weighted sum by node.
    pub totals: Vec<i64>,
}

impl Framework {
    /// Runs PreScore (`RunPreScorePlugins`) and notes in `state` which Score plugins to leave out.
    pub fn run_pre_score_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> (Status, Vec<PluginVerdict>) {
        let since = self.metering.stamp();
        let (status, verdicts) = self.ask_pre_score_plugins(handle, state, pod, nodes);
        self.metering.point(&self.profile_name, "PreScore", status.code(), since);
        self.metering.tell(|meter| {
            for verdict in verdicts.iter().filter(|verdict| !verdict.status.is_skip()) {
                let (profile, plugin) = (&*self.profile_name, verdict.plugin);
                meter.take(Measurement::Evaluated { profile, plugin, point: "PreScore", n: 1 });
            }
        });
        (status, verdicts)
    }

    fn ask_pre_score_plugins(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> (Status, Vec<PluginVerdict>) {
        let mut verdicts = Vec::new();
        state.skip_score_plugins.clear();
        for plugin in &self.plugins.pre_score {
            let Some(pre_score) = plugin.as_pre_score() else { continue };
            let name = plugin.name();
            let since = self.metering.stamp_if(state.is_sample);
            let status = pre_score.pre_score(handle, state, pod, nodes);
            self.metering.plugin(name, "PreScore", status.code(), since);
            verdicts.push(PluginVerdict { plugin: name, status: status.clone(), node_names: None });
            if status.is_skip() {
                state.skip_score_plugins.insert(name);
            } else if !status.is_success() {
                let text = format!("running PreScore plugin {name:?}: {}", status.message());
                return (Status::error(text), verdicts);
            }
        }
        (Status::SUCCESS, verdicts)
    }

    /// Runs Score and NormalizeScore (`RunScorePlugins`).
    ///
    /// # Errors
    /// The status that ends the attempt: a plugin failed, or its normalized score is not within 0 to 100.
    pub fn run_score_plugins(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<ScoreOutcome, Status> {
        let since = self.metering.stamp();
        let outcome = self.ask_score_plugins(handle, state, pod, nodes);
        let code = outcome.as_ref().map_or_else(Status::code, |_| Code::Success);
        self.metering.point(&self.profile_name, "Score", code, since);
        self.metering.tell(|meter| {
            let n = u64::try_from(nodes.len()).unwrap_or(u64::MAX);
            for plugin in outcome.iter().flat_map(|outcome| &outcome.plugins) {
                let (profile, plugin) = (&*self.profile_name, plugin.plugin);
                meter.take(Measurement::Evaluated { profile, plugin, point: "Score", n });
            }
        });
        outcome
    }

    fn ask_score_plugins(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Result<ScoreOutcome, Status> {
        let mut outcome = ScoreOutcome { plugins: Vec::new(), totals: vec![0; nodes.len()] };
        // The names are the same for every plugin.
        let unscored = |node: &Arc<NodeInfo>| NodeScore { name: node.name().clone(), score: 0 };
        let mut scores: Vec<NodeScore> = nodes.iter().map(unscored).collect();
        for weighted in &self.plugins.score {
            let name = weighted.plugin.name();
            let Some(score) = weighted.plugin.as_score() else { continue };
            if state.skip_score_plugins.contains(name) {
                continue;
            }
            for (node, slot) in nodes.iter().zip(&mut scores) {
                let since = self.metering.stamp_if(state.is_sample);
                let scored = score.score(handle, state, pod, node);
                let code = scored.as_ref().map_or_else(Status::code, |_| Code::Success);
                self.metering.plugin(name, "Score", code, since);
                slot.score = scored.map_err(|status| {
                    let text = status.message();
                    Status::error(format!("running Score plugins: plugin {name:?} failed with: {text}"))
                })?;
            }
            let raw = scores.iter().map(|score| score.score).collect();
            if let Some(extensions) = score.score_extensions() {
                let since = self.metering.stamp_if(state.is_sample);
                let status = extensions.normalize_score(handle, state, pod, &mut scores);
                self.metering.plugin(name, "ScoreExtensionNormalize", status.code(), since);
                if !status.is_success() {
                    let text = status.message();
                    return Err(Status::error(format!(
                        "running Normalize on Score plugins: plugin {name:?} failed with: {text}"
                    )));
                }
            }
            for (total, score) in outcome.totals.iter_mut().zip(&scores) {
                if !(MIN_NODE_SCORE..=MAX_NODE_SCORE).contains(&score.score) {
                    return Err(Status::error(format!(
                        "applying score defaultWeights on Score plugins: plugin {name:?} returns an invalid score \
                         {}, it should in the range of [{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing",
                        score.score
                    )));
                }
                *total += score.score * weighted.weight;
            }
            outcome.plugins.push(PluginScores {
                plugin: name,
                weight: weighted.weight,
                raw,
                normalized: scores.iter().map(|score| score.score).collect(),
            });
        }
        Ok(outcome)
    }
}
