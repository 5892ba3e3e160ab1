//! Decides one pod by itself and tells everything that was answered on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use schedscope::api::Str;
use schedscope::framework::preemption::{Candidate, Victims};
use schedscope::framework::testing::TestWorld;
use schedscope::framework::{
    Code, CycleState, Diagnosis, FitError, HandleRequest, NodeInfo, NodeToStatus, NominatingInfo, PodInfo,
    Status,
};
use schedscope::plugins::default_preemption::{DisruptionBudget, best_candidates};

use super::case::{Case, Profile};
use super::golden::{Answer, Decision, DryRun, PreFilterAnswer, Score};

fn answer(status: &Status) -> Answer {
    Answer {
        code: status.code().as_str().to_owned(),
        reasons: status.reasons().to_vec(),
        plugin: status.plugin().to_owned(),
    }
    .sorted()
}

fn names(set: &BTreeSet<&'static str>) -> Vec<String> {
    set.iter().map(|name| (*name).to_owned()).collect()
}

fn victims_text(victims: &Victims) -> Vec<String> {
    victims.pods.iter().map(|victim| victim.pod.key().to_string()).collect()
}

/// Everything about one pod. `feasible` are the nodes to score: which are feasible depends on all plugins, also
/// on those that are not built.
pub fn decide(case: &Case, pod_name: &str, feasible: &BTreeSet<String>) -> Decision {
    let pod = case.objects.pods.values().find(|pod| pod.key().to_string() == pod_name);
    let pod = pod.expect("the pod of the decision");
    let mut decision = Decision {
        pod: pod_name.to_owned(),
        profile: pod.spec.scheduler_name.to_string(),
        ..Decision::default()
    };
    let Some(profile) = case.profiles.get(&pod.spec.scheduler_name) else {
        decision.no_profile = true;
        decision.outcome = "ignored".to_owned();
        return decision;
    };
    let world = case.world(&profile.framework);
    for plugin in &profile.framework.plugins.pre_enqueue {
        let Some(pre_enqueue) = plugin.as_pre_enqueue() else { continue };
        let status = pre_enqueue.pre_enqueue(&world.handle(), pod);
        if !status.is_success() {
            decision.pre_enqueue.push(answer(&status.with_plugin(plugin.name())));
            decision.outcome = "gated".to_owned();
            return decision;
        }
    }
    let info = PodInfo::with_options(Arc::clone(pod), case.options);
    Cycle { world: &world, profile, pod: &info, decision: &mut decision }.run(feasible);
    decision
}

struct Cycle<'a> {
    world: &'a TestWorld,
    profile: &'a Profile,
    pod: &'a PodInfo,
    decision: &'a mut Decision,
}

impl Cycle<'_> {
    fn run(mut self, feasible: &BTreeSet<String>) {
        self.ask_pre_filters_alone();
        let handle = self.world.handle();
        let framework = &self.profile.framework;
        let mut state = CycleState::new();
        let outcome = framework.run_pre_filter_plugins(&handle, &mut state, self.pod);
        let nodes = self.world.snapshot.list();
        let excluded = |node: &NodeInfo| {
            outcome.result.as_ref().is_some_and(|result| !result.node_names.contains(node.name()))
        };
        if !outcome.status.is_success() && !outcome.status.is_rejected() {
            return self.end_with_error(outcome.status.message());
        }
        let mut diagnosis = Diagnosis { node_to_status: NodeToStatus::new(), ..Diagnosis::default() };
        let mut found = Vec::new();
        if outcome.status.is_success() {
            self.decision.skipped_filters = names(&state.skip_filter_plugins);
            diagnosis.unschedulable_plugins.clone_from(&outcome.plugins_with_nodes);
            // The node to which the pod is nominated is tried first, also where PreFilter has excluded it.
            if let Some(node) = self.world.snapshot.get(&self.pod.pod.status.nominated_node_name) {
                let verdict =
                    framework.run_filter_plugins_with_nominated_pods(&handle, &state, self.pod, node);
                if !verdict.is_success() {
                    diagnosis.add_plugin_status(&verdict);
                    diagnosis.node_to_status.set(node.name().clone(), verdict);
                }
            }
            if outcome.result.is_some() {
                // What has rejected the nominated node is named along with what has narrowed the search.
                let plugins: Vec<&str> = diagnosis.unschedulable_plugins.iter().map(AsRef::as_ref).collect();
                let text = format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "));
                diagnosis.node_to_status.set_absent(Status::unresolvable(text));
            }
            for node in nodes.iter().filter(|node| !excluded(node)) {
                self.ask_filters_alone(&state, node);
                let verdict =
                    framework.run_filter_plugins_with_nominated_pods(&handle, &state, self.pod, node);
                if verdict.is_success() {
                    found.push(Arc::clone(node));
                } else {
                    diagnosis.add_plugin_status(&verdict);
                    self.decision.verdict.insert(node.name().to_string(), answer(&verdict));
                    diagnosis.node_to_status.set(node.name().clone(), verdict);
                }
            }
        } else {
            diagnosis.node_to_status.set_absent(outcome.status.clone());
            diagnosis.pre_filter_msg = outcome.status.message();
            diagnosis.add_plugin_status(&outcome.status);
        }
        let in_golden = |node: &&Arc<NodeInfo>| feasible.contains(node.name().as_ref());
        let to_score: Vec<_> = nodes.iter().filter(in_golden).cloned().collect();
        self.score(&state, if to_score.is_empty() { &found } else { &to_score });
        if nodes.is_empty() {
            self.end_with_error("no nodes available to schedule pods".to_owned());
        } else if found.is_empty() {
            self.fail(&mut state, diagnosis);
        } else {
            self.succeed(&found);
        }
    }

    fn end_with_error(&mut self, text: String) {
        self.decision.outcome = "error".to_owned();
        self.decision.message.clone_from(&text);
        self.decision.error = text;
    }

    /// Some nodes fit: one of them is taken without scoring where there is only one, where the pod is nominated to
    /// it, or where nobody scores.
    fn succeed(&mut self, found: &[Arc<NodeInfo>]) {
        let nominated = &self.pod.pod.status.nominated_node_name;
        let scores_anything =
            self.profile.framework.has_score_plugins() || !self.profile.absent_scores.is_empty();
        let only = match found {
            [only] => Some(only),
            _ => found.iter().find(|node| node.name() == nominated),
        };
        let only = only.or_else(|| found.first().filter(|_| !scores_anything));
        match only {
            Some(node) => {
                self.decision.error.clear();
                self.decision.feasible_nodes = 1;
                self.decision.host = node.name().to_string();
            }
            None if !self.decision.error.is_empty() => {
                return self.end_with_error(self.decision.error.clone());
            }
            None => self.decision.feasible_nodes = found.len(),
        }
        self.decision.outcome = "fits".to_owned();
    }

    fn ask_pre_filters_alone(&mut self) {
        let handle = self.world.handle();
        for plugin in &self.profile.framework.plugins.pre_filter {
            let Some(pre_filter) = plugin.as_pre_filter() else { continue };
            let mut state = CycleState::new();
            let (result, status) =
                pre_filter.pre_filter(&handle, &mut state, self.pod, self.world.snapshot.list());
            if status.is_skip() || status.is_success() && result.is_none() {
                continue;
            }
            let nodes = result.map(|result| result.node_names).unwrap_or_default();
            self.decision.pre_filter.push(PreFilterAnswer {
                plugin: plugin.name().to_owned(),
                code: status.code().as_str().to_owned(),
                reasons: status.reasons().to_vec(),
                nodes: nodes.iter().map(ToString::to_string).collect(),
            });
        }
    }

    fn ask_filters_alone(&mut self, state: &CycleState, node: &NodeInfo) {
        let handle = self.world.handle();
        let mut row = BTreeMap::new();
        for plugin in &self.profile.framework.plugins.filter {
            let Some(filter) = plugin.as_filter() else { continue };
            if state.skip_filter_plugins.contains(plugin.name()) {
                continue;
            }
            let status = filter.filter(&handle, state, self.pod, node);
            if !status.is_success() {
                // The row names the plugin, whether or not the plugin has named itself.
                let answer = Answer { plugin: String::new(), ..answer(&status) };
                row.insert(plugin.name().to_owned(), answer);
            }
        }
        if !row.is_empty() {
            self.decision.filter.insert(node.name().to_string(), row);
        }
    }

    fn score(&mut self, state: &CycleState, nodes: &[Arc<NodeInfo>]) {
        if nodes.is_empty() {
            return;
        }
        let (handle, framework) = (self.world.handle(), &self.profile.framework);
        let mut state = state.clone();
        let (status, _) = framework.run_pre_score_plugins(&handle, &mut state, self.pod, nodes);
        if !status.is_success() {
            self.decision.error = status.message();
            return;
        }
        self.decision.skipped_scores = names(&state.skip_score_plugins);
        let outcome = match framework.run_score_plugins(&handle, &state, self.pod, nodes) {
            Ok(outcome) => outcome,
            Err(status) => {
                self.decision.error = status.message();
                return;
            }
        };
        for (i, node) in nodes.iter().enumerate() {
            let scores = outcome.plugins.iter().map(|scores| Score {
                plugin: scores.plugin.to_owned(),
                raw: scores.raw[i],
                normalized: scores.normalized[i],
                weighted: scores.normalized[i] * scores.weight,
            });
            self.decision.scores.insert(node.name().to_string(), scores.collect());
            self.decision.totals.insert(node.name().to_string(), outcome.totals[i]);
        }
    }

    /// The pod fits nowhere: what preemption finds, and the text.
    fn fail(&mut self, state: &mut CycleState, diagnosis: Diagnosis) {
        self.decision.outcome = "unschedulable".to_owned();
        let strings = |set: &BTreeSet<Str>| set.iter().map(ToString::to_string).collect();
        self.decision.unschedulable_plugins = strings(&diagnosis.unschedulable_plugins);
        self.decision.pending_plugins = strings(&diagnosis.pending_plugins);
        self.dry_run(state, &diagnosis);
        let handle = self.world.handle();
        let framework = &self.profile.framework;
        let mut fit_error = FitError { num_all_nodes: self.world.snapshot.num_nodes(), diagnosis };
        if framework.has_post_filter_plugins() {
            let statuses = &fit_error.diagnosis.node_to_status;
            let (result, status, _) = framework.run_post_filter_plugins(&handle, state, self.pod, statuses);
            fit_error.diagnosis.post_filter_msg = status.message();
            if let Some(NominatingInfo::Override(node)) = result.map(|result| result.nominating_info) {
                self.decision.nominated_node = node.to_string();
            }
            for request in self.world.requests.borrow().iter() {
                if let HandleRequest::Preempt { candidate, .. } = request {
                    let victims = candidate.victims.pods.iter().filter(|victim| !victim.pod.is_terminating());
                    self.decision.evicted = victims.map(|victim| victim.pod.key().to_string()).collect();
                }
            }
            self.decision.evicted.sort();
        }
        self.decision.message = fit_error.message();
    }

    /// What DefaultPreemption finds on every node that it may try.
    fn dry_run(&mut self, state: &CycleState, diagnosis: &Diagnosis) {
        let Some(plugin) = &self.profile.preemption else { return };
        let handle = self.world.handle();
        let statuses = &diagnosis.node_to_status;
        let nominated = statuses.get(&self.pod.pod.status.nominated_node_name);
        if plugin.check_eligibility(&handle, &self.pod.pod, nominated).is_err() {
            return;
        }
        let budgets = DisruptionBudget::all(handle.objects);
        let mut candidates = Vec::new();
        for node in statuses.nodes_for_status_code(self.world.snapshot.list(), Code::Unschedulable) {
            let mut copy = node.as_ref().clone();
            let mut state = state.clone();
            let found = plugin.select_victims_on_node(&handle, &mut state, self.pod, &mut copy, &budgets);
            let dry_run = match &found {
                Ok(victims) => DryRun {
                    victims: victims_text(victims),
                    pdb_violations: victims.num_pdb_violations,
                    code: Code::Success.as_str().to_owned(),
                    reasons: Vec::new(),
                },
                Err(status) => {
                    let answer = answer(status);
                    DryRun { code: answer.code, reasons: answer.reasons, ..DryRun::default() }
                }
            };
            self.decision.preemption_by_node.insert(node.name().to_string(), dry_run);
            if let Ok(victims) = found
                && !victims.pods.is_empty()
            {
                candidates.push(Candidate { node_name: node.name().clone(), victims });
            }
        }
        let (best, _) = best_candidates(&candidates, handle.now);
        self.decision.nominated_tie =
            best.into_iter().map(|index| candidates[index].node_name.to_string()).collect();
        self.decision.nominated_tie.sort();
    }
}
