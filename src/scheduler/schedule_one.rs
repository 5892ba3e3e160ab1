//! One attempt: the scheduling cycle, phase by phase.
//!
//! Mirrors `pkg/scheduler/schedule_one.go` up to Permit. Every phase is a step of its own, so that a person can
//! stop between two of them; nothing before Assume changes more than the attempt itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::Pod;
use crate::config::Gate;
use crate::framework::extender::Extender;
use crate::framework::{
    CycleState, Diagnosis, FitError, Framework, NodeInfo, NodeToStatus, NominatingInfo, QueuedPodInfo, Status,
};

use crate::plugins::dynamic_resources::node_allocatable_claim_statuses;

use super::Scheduler;
use super::batch::RankedNode;
use super::cycle::{Cycle, Failure, Suspended};
use super::trace::{
    CycleOutcome, CycleTrace, FilterTrace, NodeVerdict, Phase, PoppedFrom, PostFilterTrace, ScoreTrace,
    SelectionReason, SelectionTrace,
};
use super::view::ObjectEvent;

/// Below this many nodes all are looked at (`minFeasibleNodesToFind`).
const MIN_FEASIBLE_NODES_TO_FIND: usize = 100;
/// The adaptive percentage never falls below this (`minFeasibleNodesPercentageToFind`).
const MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND: usize = 5;

/// What became of the attempt in one phase.
pub(super) enum Next {
    /// It goes on with this phase.
    Phase(Phase),
    /// It has failed.
    Failed(Failure, NominatingInfo),
    /// It has failed, and ends when room is made.
    Suspended(NominatingInfo),
    /// The scheduling cycle is over and the binding cycle begins.
    Bind,
    /// The trial of a member of a pod group is over: it fits, and this is what Permit said.
    Tried(Status),
}

impl Scheduler {
    /// Does one phase of the attempt under way. False if there is none and no pod can be popped.
    pub(super) fn next_phase(&mut self, is_stepped: bool) -> bool {
        let Some(mut cycle) = self.cycle.take() else {
            if self.group.is_none() {
                return self.begin_cycle(is_stepped);
            }
            self.group_step(is_stepped);
            return true;
        };
        cycle.is_stepped |= is_stepped;
        let profiles = Arc::clone(&self.world.profiles);
        let Some(framework) = super::cycle::framework_of(&profiles, &cycle.profile_name) else {
            self.queue.done(cycle.queued.uid());
            return true;
        };
        let phase = cycle.next;
        let before = self.before_questions(&cycle, framework);
        let next = match phase {
            Phase::PreFilter => self.pre_filter(&mut cycle, framework),
            Phase::Filter => self.filter(&mut cycle, framework),
            Phase::PostFilter => self.post_filter(&mut cycle, framework),
            Phase::PreScore => self.pre_score(&mut cycle, framework),
            Phase::Score => self.score(&mut cycle, framework),
            Phase::Select => self.select_host(&mut cycle),
            Phase::Assume => self.assume(&mut cycle),
            Phase::Reserve => self.reserve(&mut cycle, framework),
            Phase::Permit => self.permit(&mut cycle, framework),
            Phase::Pop | Phase::WaitOnPermit | Phase::PreBind | Phase::Bind | Phase::PostBind => Next::Bind,
        };
        if let Some(before) = before
            && self.ask_questions(before)
        {
            return true;
        }
        if cycle.trace.is_some() {
            let mut state = cycle.state.clone();
            if phase == Phase::Filter {
                let (handle, pod) = (self.world.handle(framework), cycle.pod_info());
                framework.keep_filter_evidence(&handle, &mut state, pod);
            }
            cycle.note(|trace| {
                trace.phase = phase;
                if phase == Phase::Filter {
                    trace.filter_state = state.clone();
                }
                trace.cycle_state = state;
            });
        }
        match next {
            Next::Phase(next) => {
                cycle.next = next;
                cycle.note(|trace| trace.next = Some(next));
                self.cycle = Some(cycle);
            }
            Next::Suspended(nominating_info) => {
                self.suspended = Some(Suspended { cycle, nominating_info });
                self.start_preemptions();
            }
            next if cycle.state.pod_group_cycle.is_some() => self.member_tried(cycle, next),
            Next::Failed(failure, nominating_info) => {
                self.handle_scheduling_failure(cycle, failure, &nominating_info);
                self.start_preemptions();
            }
            Next::Bind | Next::Tried(_) => self.begin_binding_cycle(cycle),
        }
        true
    }

    /// Pops a pod and looks at the nodes (`ScheduleOne` up to `schedulingCycle`).
    fn begin_cycle(&mut self, is_stepped: bool) -> bool {
        let Some(popped) = self.queue.pop(self.world.now) else { return false };
        if self.is_scheduled_with_group(popped.info.pod()) {
            self.begin_group_cycle(popped, is_stepped);
            return true;
        }
        self.world.metering().tell_popped(popped.from == PoppedFrom::BackoffQ);
        self.counts.cycles += 1;
        self.note_attempt(&popped.info.pod().key());
        let mut cycle = self.new_cycle(popped.info, self.counts.cycles);
        cycle.is_stepped = is_stepped;
        self.cache.update_snapshot(&mut self.world.snapshot);
        self.add_trace(&mut cycle, popped.from);
        match self.reason_to_skip(cycle.queued.pod()) {
            Some(reason) => self.skip_attempt(cycle, reason),
            None => self.cycle = Some(cycle),
        }
        true
    }

    /// An attempt that has not begun.
    pub(super) fn new_cycle(&self, queued: QueuedPodInfo, number: u64) -> Cycle {
        let metering = self.world.metering();
        Cycle {
            profile_name: queued.pod().spec.scheduler_name.clone(),
            state: CycleState::sampled(metering.is_sample()),
            stamp: metering.stamp(),
            next: Phase::PreFilter,
            diagnosis: Diagnosis { node_to_status: NodeToStatus::new(), ..Diagnosis::default() },
            pre_filter_result: None,
            feasible: Vec::new(),
            scores: None,
            is_nominated_node: false,
            number,
            signature: None,
            node_hint: None,
            host: None,
            assumed: None,
            is_stepped: false,
            placement: None,
            node_before: None,
            trace: None,
            queued,
        }
    }

    /// Begins the evidence of an attempt, if somebody wants it.
    pub(super) fn add_trace(&self, cycle: &mut Cycle, popped_from: PoppedFrom) {
        if !self.options.is_tracing {
            return;
        }
        cycle.trace = Some(Box::new(CycleTrace {
            number: cycle.number,
            started: self.world.now,
            pod_info: Arc::clone(cycle.pod_info()),
            attempt: cycle.queued.attempts,
            queued_for: self.world.now - cycle.queued.timestamp,
            popped_from,
            profile: cycle.profile_name.clone(),
            explainers: self.world.explainers_of(&cycle.profile_name),
            snapshot: self.world.snapshot.clone(),
            phase: Phase::Pop,
            next: Some(Phase::PreFilter),
            pre_filter: None,
            filter: None,
            post_filter: None,
            pre_score: None,
            score: None,
            selection: None,
            reserve: None,
            permit: None,
            pre_bind: None,
            bind: None,
            post_bind: None,
            cycle_state: CycleState::new(),
            filter_state: CycleState::new(),
            outcome: CycleOutcome::InProgress,
        }));
    }

    /// Why a pod that was popped is not tried after all (`skipPodSchedule`).
    pub(super) fn reason_to_skip(&mut self, pod: &Arc<Pod>) -> Option<String> {
        let profile_name = &pod.spec.scheduler_name;
        if self.world.profile(profile_name).is_none() {
            return Some(format!("profile not found for scheduler name {profile_name:?}"));
        }
        if pod.is_terminating() {
            let note = format!("skip schedule deleting pod: {}", pod.key());
            self.record_event(ObjectEvent {
                at: self.world.now,
                type_: "Warning",
                reason: "FailedScheduling",
                action: "Scheduling",
                regarding: pod.key(),
                related: None,
                note: note.clone(),
            });
            return Some(note);
        }
        self.cache.is_assumed_pod(pod).then(|| "the pod is assumed already".to_owned())
    }

    pub(super) fn skip_attempt(&mut self, mut cycle: Cycle, reason: String) {
        self.queue.done(cycle.queued.uid());
        cycle.note(|trace| trace.next = None);
        self.finish_trace(cycle, CycleOutcome::Skipped { reason });
    }

    pub(super) fn pre_filter(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        if self.num_nodes(cycle) == 0 {
            return Next::Failed(Failure::NoNodes, NominatingInfo::clear());
        }
        let pod_info = Arc::clone(cycle.pod_info());
        let outcome =
            framework.run_pre_filter_plugins(&self.world.handle(framework), &mut cycle.state, &pod_info);
        self.carry_out_requests();
        cycle.diagnosis.unschedulable_plugins = outcome.plugins_with_nodes;
        cycle.pre_filter_result = outcome.result;
        let verdicts = outcome.verdicts;
        cycle.note(|trace| trace.pre_filter = Some(verdicts));
        let status = outcome.status;
        if status.is_success() {
            return Next::Phase(Phase::Filter);
        }
        if !status.is_rejected() {
            return Next::Failed(Failure::Status(Status::error(status.message())), NominatingInfo::clear());
        }
        cycle.diagnosis.pre_filter_msg = status.message();
        cycle.diagnosis.add_plugin_status(&status);
        cycle.diagnosis.node_to_status.set_absent(status);
        self.no_node_is_left(cycle, framework)
    }

    /// Where PostFilter plugins are, they get their chance; else the attempt has failed.
    fn no_node_is_left(&self, cycle: &mut Cycle, framework: &Framework) -> Next {
        if framework.has_post_filter_plugins() {
            return Next::Phase(Phase::PostFilter);
        }
        Next::Failed(Failure::Fit(self.fit_error(cycle)), NominatingInfo::clear())
    }

    /// How many nodes may be looked at.
    fn num_nodes(&self, cycle: &Cycle) -> usize {
        cycle.placement.as_ref().map_or(self.world.snapshot.num_nodes(), |positions| positions.len())
    }

    pub(super) fn fit_error(&self, cycle: &mut Cycle) -> FitError {
        FitError { num_all_nodes: self.num_nodes(cycle), diagnosis: std::mem::take(&mut cycle.diagnosis) }
    }

    /// `findNodesThatFitPod` after PreFilter: the nominated node alone if it passes, else all nodes that PreFilter
    /// has left, from where the last attempt stopped, until enough are found.
    pub(super) fn filter(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        let nominated = cycle.queued.pod().status.nominated_node_name.clone();
        self.take_node_hint(cycle, framework);
        let nominated = match &cycle.node_hint {
            Some(hint) if nominated.is_empty() => hint.clone(),
            Some(_) | None => nominated,
        };
        let n_nodes = self.num_nodes(cycle);
        let placement = cycle.placement.clone();
        let is_in_placement =
            |position: &usize| placement.as_ref().is_none_or(|positions| positions.contains(position));
        let mut evidence = FilterTrace {
            plugins: Vec::new(),
            skipped: BTreeSet::new(),
            verdicts: Vec::new(),
            by_extenders: BTreeMap::new(),
            start_index: self.next_start_node_index,
            n_to_find: 0,
            node_hint: cycle.node_hint.clone(),
            nominated_node: None,
        };
        if cycle.trace.is_some() {
            evidence.plugins = framework.plugins.filter.iter().map(|plugin| plugin.name()).collect();
            evidence.skipped = cycle.state.skip_filter_plugins.clone();
            evidence.verdicts = (0..self.world.snapshot.num_nodes())
                .map(|position| match is_in_placement(&position) {
                    true => NodeVerdict::NotEvaluated,
                    false => NodeVerdict::Excluded,
                })
                .collect();
        }

        if !nominated.is_empty()
            && let Some(position) = self.world.snapshot.position(&nominated).filter(is_in_placement)
        {
            let mut statuses = Vec::new();
            // The error of this extra look is swallowed: the whole search follows.
            let passed =
                self.pass_filters(cycle, framework, Some(&[position]), 1, 0, &mut statuses, &mut evidence);
            self.note_statuses(cycle, statuses);
            let passed = match passed {
                Ok(feasible) => self.pass_extenders(cycle, framework, feasible, &mut evidence),
                Err(status) => Err(status),
            };
            if self.world.answers.borrow().has_missing() {
                // The phase is run again with the answer; until then nobody else is asked.
                return Next::Phase(Phase::Filter);
            }
            if let Ok(feasible) = passed
                && !feasible.is_empty()
            {
                cycle.feasible = feasible;
                cycle.is_nominated_node = true;
                evidence.nominated_node = Some(nominated);
                evidence.n_to_find = 1;
                self.counts.evaluated += 1;
                cycle.note(|trace| trace.filter = Some(evidence));
                return self.after_filter(cycle, framework);
            }
        }

        let positions: Option<Vec<usize>> = match &cycle.pre_filter_result {
            None => placement.as_ref().map(|positions| positions.to_vec()),
            Some(result) => {
                let plugins: Vec<&str> =
                    cycle.diagnosis.unschedulable_plugins.iter().map(AsRef::as_ref).collect();
                let text = format!("node(s) didn't satisfy plugin(s) [{}]", plugins.join(" "));
                cycle.diagnosis.node_to_status.set_absent(Status::unresolvable(text));
                if cycle.trace.is_some() {
                    evidence.verdicts.fill(NodeVerdict::Excluded);
                }
                let position = |name: &Str| self.world.snapshot.position(name);
                Some(result.node_names.iter().filter_map(position).filter(is_in_placement).collect())
            }
        };
        let positions = positions.as_deref();
        let n_to_find = self.num_feasible_nodes_to_find(framework, positions.map_or(n_nodes, <[usize]>::len));
        evidence.n_to_find = n_to_find;
        let start = self.next_start_node_index;
        let mut statuses = Vec::new();
        let since = framework.metering.stamp();
        let passed =
            self.pass_filters(cycle, framework, positions, n_to_find, start, &mut statuses, &mut evidence);
        framework.told_of_filter(&cycle.state, passed.as_ref().err(), since);
        // Upstream counts what it has seen even when a plugin failed, so that all nodes get their turn.
        let n_feasible = passed.as_ref().map_or(0, Vec::len);
        self.note_statuses(cycle, statuses);
        let n_processed = n_feasible + cycle.diagnosis.node_to_status.len();
        self.counts.evaluated += u64::try_from(n_processed).unwrap_or(u64::MAX);
        self.next_start_node_index = (self.next_start_node_index + n_processed) % n_nodes.max(1);
        let passed = match passed {
            Ok(feasible) => self.pass_extenders(cycle, framework, feasible, &mut evidence),
            Err(status) => Err(status),
        };
        cycle.note(|trace| trace.filter = Some(evidence));
        match passed {
            Ok(feasible) => {
                if feasible.len() != n_feasible {
                    let extender = Str::from(super::extender_calls::EXTENDER_NAME);
                    cycle.diagnosis.unschedulable_plugins.insert(extender);
                }
                cycle.feasible = feasible;
                self.after_filter(cycle, framework)
            }
            Err(status) => Next::Failed(Failure::Status(status), NominatingInfo::clear()),
        }
    }

    /// Asks the profile's batch for a node, where pods can be signed.
    fn take_node_hint(&mut self, cycle: &mut Cycle, framework: &Framework) {
        if !self.options.is_batching || !self.world.extenders.is_empty() || !framework.can_sign_pods() {
            return;
        }
        let since = framework.metering.stamp();
        cycle.signature = framework.sign_pod(&self.world.handle(framework), &cycle.queued.signed_pod);
        let batch = self.batches.entry(cycle.profile_name.clone()).or_default();
        let hint = batch.node_hint(
            &self.world,
            framework,
            &cycle.state,
            &cycle.queued.pod_info,
            cycle.signature.as_ref(),
            cycle.number,
        );
        framework.metering.tell_node_hint(&cycle.profile_name, &hint, since);
        cycle.node_hint = hint.ok();
    }

    /// Leaves the ranking of this attempt to the pods that follow it.
    fn store_batch(&mut self, cycle: &Cycle, host: &Str, totals: &[i64]) {
        if !self.options.is_batching {
            return;
        }
        let mut others = Vec::new();
        if cycle.signature.is_some() && cycle.node_hint.as_ref() != Some(host) {
            others.reserve_exact(cycle.feasible.len());
            let mut rng = self.world.rng.borrow_mut();
            for (node, total) in cycle.feasible.iter().zip(totals).filter(|(node, _)| node.name() != host) {
                let randomizer = match self.options.tie_break {
                    super::TieBreak::Random => rng.next_u64(),
                    super::TieBreak::ByName => 0,
                };
                others.push(RankedNode { total: *total, randomizer, name: node.name().clone() });
            }
        }
        let (now, since) = (self.world.now, self.world.metering().stamp());
        let n_others = cycle.feasible.len().saturating_sub(1);
        let batch = self.batches.entry(cycle.profile_name.clone()).or_default();
        batch.store(now, cycle.signature.as_ref(), cycle.node_hint.as_ref(), host, others, cycle.number);
        let is_used = cycle.node_hint.as_ref().map(|hint| hint == host);
        let is_signed = cycle.signature.is_some();
        self.world.metering().tell_stored(&cycle.profile_name, is_used, is_signed, n_others, since);
    }

    fn after_filter(&self, cycle: &mut Cycle, framework: &Framework) -> Next {
        match cycle.feasible.len() {
            0 => self.no_node_is_left(cycle, framework),
            1 => Next::Phase(Phase::Select),
            _ if framework.has_score_plugins() || !self.world.extenders.is_empty() => {
                Next::Phase(Phase::PreScore)
            }
            _ => Next::Phase(Phase::Select),
        }
    }

    fn note_statuses(&self, cycle: &mut Cycle, statuses: Vec<(usize, Status)>) {
        let diagnosis = &mut cycle.diagnosis;
        for run in statuses.chunk_by(|(_, a), (_, b)| a.is_same_as(b)) {
            if let Some((_, status)) = run.first() {
                diagnosis.add_plugin_status(status);
            }
        }
        let nodes = self.world.snapshot.list();
        let named = statuses
            .into_iter()
            .filter_map(|(position, status)| Some((nodes.get(position)?.name().clone(), status)));
        diagnosis.node_to_status.set_each(named);
    }

    /// `findNodesThatPassFilters`: visits `positions`, or all nodes, beginning at the `start`th of them, wrapping
    /// around.
    #[expect(clippy::too_many_arguments, reason = "the search has this many independent inputs")]
    fn pass_filters(
        &self,
        cycle: &Cycle,
        framework: &Framework,
        positions: Option<&[usize]>,
        n_to_find: usize,
        start: usize,
        statuses: &mut Vec<(usize, Status)>,
        evidence: &mut FilterTrace,
    ) -> Result<Vec<Arc<NodeInfo>>, Status> {
        let nodes = self.world.snapshot.list();
        let n = positions.map_or(nodes.len(), <[usize]>::len);
        let mut feasible = Vec::with_capacity(n_to_find.min(n));
        let handle = self.world.handle(framework);
        let start = start.checked_rem(n).unwrap_or(0);
        for i in (start..n).chain(0..start) {
            let position = match positions {
                None => i,
                Some(positions) => positions.get(i).copied().unwrap_or(usize::MAX),
            };
            let Some(node) = nodes.get(position) else { continue };
            let status = if framework.has_filter_plugins() {
                framework.run_filter_plugins_with_nominated_pods(
                    &handle,
                    &cycle.state,
                    cycle.pod_info(),
                    node,
                )
            } else {
                Status::SUCCESS
            };
            // As upstream, it is the first node too many that ends the search: what is turned down before it counts as
            // looked at.
            if status.is_success() && feasible.len() == n_to_find {
                break;
            }
            if let Some(verdict) = evidence.verdicts.get_mut(position) {
                *verdict = if status.is_success() {
                    NodeVerdict::Feasible
                } else {
                    NodeVerdict::Rejected(status.clone())
                };
            }
            if status.is_success() {
                feasible.push(Arc::clone(node));
            } else if status.is_error() {
                return Err(status);
            } else {
                statuses.push((position, status));
            }
        }
        Ok(feasible)
    }

    /// After how many feasible nodes the search ends (`numFeasibleNodesToFind`).
    fn num_feasible_nodes_to_find(&self, framework: &Framework, n_nodes: usize) -> usize {
        let extenders = &self.world.extenders;
        let has_scoring = framework.has_score_plugins() || extenders.iter().any(Extender::is_prioritizer);
        if !has_scoring && !extenders.iter().any(Extender::is_filter) {
            return 1;
        }
        if n_nodes < MIN_FEASIBLE_NODES_TO_FIND || self.looks_at_all_nodes {
            return n_nodes;
        }
        let configured =
            framework.percentage_of_nodes_to_score.unwrap_or(self.options.percentage_of_nodes_to_score);
        let percentage = match usize::try_from(configured) {
            Ok(0) | Err(_) => {
                50_usize.saturating_sub(n_nodes / 125).max(MIN_FEASIBLE_NODES_PERCENTAGE_TO_FIND)
            }
            Ok(percentage) => percentage,
        };
        (n_nodes * percentage / 100).max(MIN_FEASIBLE_NODES_TO_FIND)
    }

    pub(super) fn post_filter(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        let pod_info = Arc::clone(cycle.pod_info());
        let (result, status, verdicts) = framework.run_post_filter_plugins(
            &self.world.handle(framework),
            &mut cycle.state,
            &pod_info,
            &cycle.diagnosis.node_to_status,
        );
        self.carry_out_requests();
        cycle.diagnosis.post_filter_msg = status.message();
        let (nominating_info, evidence) = match result {
            Some(result) => (result.nominating_info, result.evidence),
            None => (NominatingInfo::Noop, None),
        };
        let nominated_node = match &nominating_info {
            NominatingInfo::Override(node) if !node.is_empty() => Some(node.clone()),
            NominatingInfo::Override(_) | NominatingInfo::Noop => None,
        };
        cycle.note(|trace| {
            trace.post_filter = Some(PostFilterTrace { verdicts, nominated_node, evidence });
        });
        if self.preemption_runs.iter().any(|run| !run.is_async) {
            return Next::Suspended(nominating_info);
        }
        Next::Failed(Failure::Fit(self.fit_error(cycle)), nominating_info)
    }

    /// The victims are out of the way, or cannot be got there: the attempt ends.
    pub(super) fn resume_after_preemption(&mut self, evicted: Result<(), String>) {
        let Some(Suspended { mut cycle, mut nominating_info }) = self.suspended.take() else {
            return self.room_made_for_group(evicted);
        };
        if let Err(reason) = evicted {
            // What DefaultPreemption makes of it.
            cycle.diagnosis.post_filter_msg = format!("preemption: {reason}");
            nominating_info = NominatingInfo::Noop;
        }
        let fit_error = self.fit_error(&mut cycle);
        let failure = Failure::Fit(fit_error);
        if cycle.state.pod_group_cycle.is_some() {
            return self.member_tried(cycle, Next::Failed(failure, nominating_info));
        }
        self.handle_scheduling_failure(cycle, failure, &nominating_info);
        self.is_driving = false;
    }

    pub(super) fn pre_score(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        let pod_info = Arc::clone(cycle.pod_info());
        let nodes = std::mem::take(&mut cycle.feasible);
        let (status, verdicts) = framework.run_pre_score_plugins(
            &self.world.handle(framework),
            &mut cycle.state,
            &pod_info,
            &nodes,
        );
        cycle.feasible = nodes;
        cycle.note(|trace| trace.pre_score = Some(verdicts));
        if status.is_success() {
            Next::Phase(Phase::Score)
        } else {
            Next::Failed(Failure::Status(status), NominatingInfo::clear())
        }
    }

    pub(super) fn score(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        let handle = self.world.handle(framework);
        match framework.run_score_plugins(&handle, &cycle.state, cycle.pod_info(), &cycle.feasible) {
            Ok(mut scores) => {
                let extenders = self.prioritize_with_extenders(cycle, framework, &mut scores.totals);
                if cycle.trace.is_some() {
                    let evidence = ScoreTrace {
                        nodes: cycle.feasible.iter().map(|node| node.name().clone()).collect(),
                        skipped: cycle.state.skip_score_plugins.clone(),
                        scores: scores.clone(),
                        extenders,
                    };
                    cycle.note(|trace| trace.score = Some(evidence));
                }
                cycle.scores = Some(scores);
                Next::Phase(Phase::Select)
            }
            Err(status) => Next::Failed(Failure::Status(status), NominatingInfo::clear()),
        }
    }

    /// Takes one of the best nodes: at random among equals, by the core's own numbers.
    pub(super) fn select_host(&mut self, cycle: &mut Cycle) -> Next {
        let totals: Vec<i64> = match &cycle.scores {
            Some(scores) => scores.totals.clone(),
            None => vec![1; cycle.feasible.len()],
        };
        let Some(best) = totals.iter().max().copied() else {
            return Next::Failed(
                Failure::Status(Status::error("no node to choose from")),
                NominatingInfo::clear(),
            );
        };
        let names = || cycle.feasible.iter().map(|node| node.name()).zip(&totals);
        let mut ties: Vec<&Str> =
            names().filter(|(_, total)| **total == best).map(|(name, _)| name).collect();
        let n_ties = ties.len();
        let choice = match (n_ties, self.options.tie_break) {
            (0 | 1, _) | (_, super::TieBreak::ByName) => 0,
            (n, super::TieBreak::Random) => self.world.rng.borrow_mut().below(n),
        };
        // In the order of the names, so that it does not matter where the search began.
        let host = Str::clone(ties.select_nth_unstable(choice).1);
        let evidence = cycle.trace.is_some().then(|| {
            ties.sort_unstable();
            let runner_up = names()
                .filter(|(_, total)| **total < best)
                .max_by(|(a_name, a), (b_name, b)| a.cmp(b).then(b_name.cmp(a_name)))
                .map(|(name, total)| (name.clone(), *total));
            (ties.into_iter().cloned().collect(), runner_up)
        });
        self.store_batch(cycle, &host, &totals);
        let reason = if cycle.is_nominated_node && cycle.node_hint.as_ref() == Some(&host) {
            SelectionReason::BatchHint
        } else if cycle.is_nominated_node {
            SelectionReason::Nominated
        } else if cycle.feasible.len() == 1 {
            SelectionReason::OnlyFeasible
        } else if n_ties > 1 {
            SelectionReason::Tie
        } else {
            SelectionReason::HighestTotal
        };
        let total = cycle.scores.as_ref().map(|_| best);
        if let Some((ties, runner_up)) = evidence {
            let evidence = SelectionTrace { host: host.clone(), reason, total, ties, runner_up };
            cycle.note(|trace| trace.selection = Some(evidence));
        }
        self.world.metering().tell_algorithm(cycle.stamp);
        cycle.host = Some(host);
        Next::Phase(Phase::Assume)
    }

    /// The cache counts the pod as if it were bound, so that the next attempt can begin.
    pub(super) fn assume(&mut self, cycle: &mut Cycle) -> Next {
        let host = cycle.host.clone().unwrap_or_default();
        let mut assumed = assumed_pod_info(cycle.pod_info(), &host);
        if self.options.gates.is_enabled(Gate::DRANodeAllocatableResources) {
            let statuses = node_allocatable_claim_statuses(&cycle.state, &host);
            Arc::make_mut(&mut assumed.pod).status.node_allocatable_resource_claim_statuses = statuses;
            assumed = crate::framework::PodInfo::with_options(assumed.pod, self.world.request_options);
        }
        let assumed = Arc::new(assumed);
        cycle.assumed = Some(Arc::clone(&assumed));
        if cycle.state.pod_group_cycle.is_some() {
            self.assume_in_snapshot(cycle, &host);
            return Next::Phase(Phase::Reserve);
        }
        if let Err(error) = self.cache.assume_pod(Arc::clone(&assumed)) {
            return Next::Failed(Failure::Status(Status::error(error)), NominatingInfo::clear());
        }
        if self.options.gates.is_enabled(Gate::GenericWorkload) {
            self.world.pod_groups.assume(&assumed.pod);
        }
        self.world.nominator.delete_nominated_pod_if_exists(&assumed.pod);
        Next::Phase(Phase::Reserve)
    }

    pub(super) fn reserve(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        let (assumed, host) = assumed_and_host(cycle);
        let (status, verdicts) = framework.run_reserve_plugins_reserve(
            &self.world.handle(framework),
            &mut cycle.state,
            &assumed,
            &host,
        );
        cycle.note(|trace| trace.reserve = Some(verdicts));
        self.carry_out_requests();
        if status.is_success() {
            return Next::Phase(Phase::Permit);
        }
        self.unreserve_and_forget(cycle, framework);
        Next::Failed(rejection_on_host(&host, status), NominatingInfo::clear())
    }

    pub(super) fn permit(&mut self, cycle: &mut Cycle, framework: &Framework) -> Next {
        let (assumed, host) = assumed_and_host(cycle);
        let (waits, status, verdicts) =
            framework.run_permit_plugins(&self.world.handle(framework), &mut cycle.state, &assumed, &host);
        cycle.note(|trace| trace.permit = Some(verdicts));
        if cycle.state.pod_group_cycle.is_some() && (status.is_success() || status.is_wait()) {
            self.carry_out_requests();
            return Next::Tried(status);
        }
        if status.is_wait() {
            self.add_waiting_pod(assumed, host.clone(), waits);
        }
        self.carry_out_requests();
        if status.is_success() || status.is_wait() {
            self.activate_after_cycle();
            return Next::Bind;
        }
        self.pods_to_activate.clear();
        self.unreserve_and_forget(cycle, framework);
        Next::Failed(rejection_on_host(&host, status), NominatingInfo::clear())
    }

    /// Gives back what Reserve took and takes the pod out of the cache.
    pub(super) fn unreserve_and_forget(&mut self, cycle: &mut Cycle, framework: &Framework) -> bool {
        let (assumed, host) = assumed_and_host(cycle);
        framework.run_reserve_plugins_unreserve(
            &self.world.handle(framework),
            &mut cycle.state,
            &assumed,
            &host,
        );
        self.carry_out_requests();
        if cycle.state.pod_group_cycle.is_some() {
            self.forget_in_snapshot(cycle);
            return true;
        }
        let forgotten = self.cache.forget_pod(&assumed.pod);
        let is_forgotten = forgotten.is_ok();
        self.note_cache_error(forgotten);
        self.forget_pod_group_member(&assumed.pod);
        is_forgotten
    }
}

/// The pod with the node in its spec.
fn assumed_pod_info(pod_info: &crate::framework::PodInfo, host: &Str) -> crate::framework::PodInfo {
    let mut assumed = pod_info.clone();
    Arc::make_mut(&mut assumed.pod).spec.node_name = host.clone();
    assumed
}

fn assumed_and_host(cycle: &Cycle) -> (Arc<crate::framework::PodInfo>, Str) {
    let assumed = cycle.assumed.as_ref().unwrap_or_else(|| cycle.pod_info());
    (Arc::clone(assumed), cycle.host.clone().unwrap_or_default())
}

/// How a rejection at Reserve or Permit is reported: as a pod that fits on none of one node.
fn rejection_on_host(host: &Str, status: Status) -> Failure {
    if !status.is_rejected() {
        return Failure::Status(status);
    }
    let mut diagnosis = Diagnosis { node_to_status: NodeToStatus::new(), ..Diagnosis::default() };
    diagnosis.add_plugin_status(&status);
    fit_error_on_host(host, status, diagnosis)
}

/// The same for a pod that has waited at Permit. Who turned it down may be nobody in particular.
pub(super) fn rejection_while_waiting(host: &Str, status: Status) -> Failure {
    let unschedulable_plugins = BTreeSet::from([Str::from(status.plugin())]);
    let diagnosis =
        Diagnosis { node_to_status: NodeToStatus::new(), unschedulable_plugins, ..Diagnosis::default() };
    fit_error_on_host(host, status, diagnosis)
}

fn fit_error_on_host(host: &Str, status: Status, mut diagnosis: Diagnosis) -> Failure {
    diagnosis.node_to_status.set(host.clone(), status);
    Failure::Fit(FitError { num_all_nodes: 1, diagnosis })
}
