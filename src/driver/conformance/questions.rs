//! What plugins say when each is asked alone, and what the framework concludes for each node: everything of a decision
//! that is not the attempt itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::framework::{CycleState, Diagnosis, Framework, Handle, NodeInfo, NodeToStatus, PodInfo, Status};

use super::decision::{Answer, Decision, PreFilterAnswer, Score};

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
    questions.filters(decision)
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

    fn filters(&self, decision: &mut Decision) -> Asked {
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
        if !feasible.is_empty() {
            self.scores(decision, &state, &feasible);
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

    /// Nothing is told of scores that end in an error: the attempt says the same, if it scores at all.
    fn scores(&self, decision: &mut Decision, state: &CycleState, nodes: &[Arc<NodeInfo>]) {
        let mut state = state.clone();
        let (status, _) = self.framework.run_pre_score_plugins(self.handle, &mut state, self.pod, nodes);
        if !status.is_success() {
            return;
        }
        decision.skipped_scores = names(&state.skip_score_plugins);
        let Ok(outcome) = self.framework.run_score_plugins(self.handle, &state, self.pod, nodes) else {
            return;
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
        let best = decision.totals.values().max().copied();
        let is_best = |total: &i64| Some(*total) == best;
        let best = decision.totals.iter().filter(|(_, total)| is_best(total));
        decision.best = best.map(|(node, _)| node.clone()).collect();
    }
}
