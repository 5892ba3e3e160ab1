//! What plugins say when each is asked alone, and what the framework concludes for each node: everything of a decision
//! that is not the attempt itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::framework::{CycleState, Diagnosis, Framework, Handle, NodeInfo, NodeToStatus, PodInfo, Status};

use super::decision::{Answer, Decision, PreFilterAnswer, Score};
use super::stage::Stage;

/// What preemption starts from when no node is left.
#[derive(Default)]
pub(super) struct Asked {
    /// What PreFilter plugins remember.
    pub state: CycleState,
    /// The status of each node.
    pub node_to_status: NodeToStatus,
}

/// Asks everybody. The outcome stays empty unless a PreEnqueue plugin holds the pod.
pub(super) fn ask(
    decision: &mut Decision,
    handle: &Handle<'_>,
    framework: &Framework,
    pod: &PodInfo,
    stage: Option<Stage>,
) -> Asked {
    for plugin in &framework.plugins.pre_enqueue {
        let Some(pre_enqueue) = plugin.as_pre_enqueue() else { continue };
        let status = pre_enqueue.pre_enqueue(handle, &pod.pod);
        if !status.is_success() {
            decision.pre_enqueue.push(Answer::of(&status.with_plugin(plugin.name())));
            decision.outcome = "gated".to_owned();
            return Asked::default();
        }
    }
    let questions = Questions { handle, framework, pod };
    questions.pre_filters(decision);
    questions.filters(decision, stage)
}

struct Questions<'a> {
    handle: &'a Handle<'a>,
    framework: &'a Framework,
    pod: &'a PodInfo,
}

fn names(set: &BTreeSet<&'static str>) -> Vec<String> {
    set.iter().map(|name| (*name).to_owned()).collect()
}

impl Questions<'_> {
    fn pre_filters(&self, decision: &mut Decision) {
        for plugin in &self.framework.plugins.pre_filter {
            let Some(pre_filter) = plugin.as_pre_filter() else { continue };
            let mut state = CycleState::new();
            let nodes = self.handle.snapshot.list();
            let (result, status) = pre_filter.pre_filter(self.handle, &mut state, self.pod, nodes);
            if status.is_skip() || status.is_success() && result.is_none() {
                continue;
            }
            let nodes = result.map(|result| result.node_names).unwrap_or_default();
            decision.pre_filter.push(PreFilterAnswer {
                plugin: plugin.name().to_owned(),
                code: status.code().as_str().to_owned(),
                reasons: status.reasons().to_vec(),
                nodes: nodes.iter().map(ToString::to_string).collect(),
            });
        }
    }

    fn filters(&self, decision: &mut Decision, stage: Option<Stage>) -> Asked {
        let mut state = CycleState::new();
        let outcome = self.framework.run_pre_filter_plugins(self.handle, &mut state, self.pod);
        let mut diagnosis = Diagnosis { node_to_status: NodeToStatus::new(), ..Diagnosis::default() };
        if !outcome.status.is_success() {
            diagnosis.node_to_status.set_absent(outcome.status);
            return Asked { state, node_to_status: diagnosis.node_to_status };
        }
        decision.skipped_filters = names(&state.skip_filter_plugins);
        let is_excluded = |node: &NodeInfo| {
            outcome.result.as_ref().is_some_and(|result| !result.node_names.contains(node.name()))
        };
        if outcome.result.is_some() {
            diagnosis.node_to_status.set_absent(Status::unresolvable(""));
        }
        // An attempt looks at the node to which the pod is nominated first, also where PreFilter has excluded it.
        if let Some(node) = self.handle.snapshot.get(&self.pod.pod.status.nominated_node_name) {
            let framework = self.framework;
            let verdict =
                framework.run_filter_plugins_with_nominated_pods(self.handle, &state, self.pod, node);
            if !verdict.is_success() {
                diagnosis.node_to_status.set(node.name().clone(), verdict);
            }
        }
        let mut feasible = Vec::new();
        for node in self.handle.snapshot.list().iter().filter(|node| !is_excluded(node)) {
            self.filters_alone(decision, &state, node);
            let verdict =
                self.framework.run_filter_plugins_with_nominated_pods(self.handle, &state, self.pod, node);
            if verdict.is_success() {
                feasible.push(Arc::clone(node));
            } else {
                decision.verdict.insert(node.name().to_string(), Answer::of(&verdict));
                diagnosis.node_to_status.set(node.name().clone(), verdict);
            }
        }
        match stage {
            _ if feasible.is_empty() => {}
            None => {
                self.scores(decision, &state, &feasible);
            }
            Some(stage) => self.scores_after_extenders(decision, &state, feasible, stage),
        }
        Asked { state, node_to_status: diagnosis.node_to_status }
    }

    fn filters_alone(&self, decision: &mut Decision, state: &CycleState, node: &NodeInfo) {
        let mut row = BTreeMap::new();
        for plugin in &self.framework.plugins.filter {
            let Some(filter) = plugin.as_filter() else { continue };
            if state.skip_filter_plugins.contains(plugin.name()) {
                continue;
            }
            let status = filter.filter(self.handle, state, self.pod, node);
            if !status.is_success() {
                let answer = Answer { plugin: String::new(), ..Answer::of(&status) };
                row.insert(plugin.name().to_owned(), answer);
            }
        }
        if !row.is_empty() {
            decision.filter.insert(node.name().to_string(), row);
        }
    }

    /// The scores of the nodes that the extenders leave, as they leave them, and what they add to the totals. Each node
    /// is told once, also where they leave it several times.
    fn scores_after_extenders(
        &self,
        decision: &mut Decision,
        state: &CycleState,
        feasible: Vec<Arc<NodeInfo>>,
        mut stage: Stage,
    ) {
        let Some(left) = stage.filter(self.pod, feasible) else { return };
        let mut once: Vec<Arc<NodeInfo>> = Vec::new();
        for node in &left {
            if !once.iter().any(|known| known.name() == node.name()) {
                once.push(Arc::clone(node));
            }
        }
        if once.is_empty() || !self.scores(decision, state, &once) {
            return;
        }
        let mut state = state.clone();
        self.framework.run_pre_score_plugins(self.handle, &mut state, self.pod, &left);
        let scores = self.framework.run_score_plugins(self.handle, &state, self.pod, &left);
        let given = stage.prioritize(self.pod, &left);
        // Of a node that is there several times the last one counts, except for what is best.
        let mut highest = i64::MIN;
        for (node, total) in left.iter().zip(scores.map(|scores| scores.totals).unwrap_or_default()) {
            let name = node.name().to_string();
            let points =
                given.iter().filter_map(|(extender, by_node)| Some((extender, *by_node.get(node.name())?)));
            let points: BTreeMap<String, i64> =
                points.map(|(extender, points)| (extender.to_string(), points)).collect();
            let total = points.values().fold(total, |total, points| total.wrapping_add(*points));
            highest = highest.max(total);
            decision.totals.insert(name.clone(), total);
            if !points.is_empty() {
                decision.extender_scores.insert(name, points);
            }
        }
        decision.best = with_total(&decision.totals, highest);
    }

    /// Nothing is told of scores that end in an error, and the answer is false: the attempt says the same, if it scores
    /// at all.
    fn scores(&self, decision: &mut Decision, state: &CycleState, nodes: &[Arc<NodeInfo>]) -> bool {
        let mut state = state.clone();
        let (status, _) = self.framework.run_pre_score_plugins(self.handle, &mut state, self.pod, nodes);
        if !status.is_success() {
            return false;
        }
        decision.skipped_scores = names(&state.skip_score_plugins);
        let Ok(outcome) = self.framework.run_score_plugins(self.handle, &state, self.pod, nodes) else {
            return false;
        };
        for (i, node) in nodes.iter().enumerate() {
            let scores = outcome.plugins.iter().filter_map(|scores| {
                let (raw, normalized) = (*scores.raw.get(i)?, *scores.normalized.get(i)?);
                let weighted = normalized * scores.weight;
                Some(Score { plugin: scores.plugin.to_owned(), raw, normalized, weighted })
            });
            let scores: Vec<Score> = scores.collect();
            if !scores.is_empty() {
                decision.scores.insert(node.name().to_string(), scores);
            }
        }
        let totals = nodes.iter().zip(&outcome.totals);
        decision.totals = totals.map(|(node, total)| (node.name().to_string(), *total)).collect();
        let highest = decision.totals.values().max().copied().unwrap_or(i64::MIN);
        decision.best = with_total(&decision.totals, highest);
        true
    }
}

fn with_total(totals: &BTreeMap<String, i64>, wanted: i64) -> Vec<String> {
    totals.iter().filter(|(_, total)| **total == wanted).map(|(node, _)| node.clone()).collect()
}
