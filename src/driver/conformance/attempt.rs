//! The real attempt, made by the core: outcome, host, message, and what preemption does.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::api::Uid;
use crate::api::objects::Pod;
use crate::framework::preemption::Candidate;
use crate::framework::{Code, Handle, Plugin, PodInfo, QueueSortPlugin, QueuedPodInfo};
use crate::plugins::default_preemption::{DefaultPreemption, DisruptionBudget, best_candidates};
use crate::scheduler::Scheduler;
use crate::scheduler::effect::{Effect, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::trace::{CycleOutcome, CycleTrace, SelectionReason};

use super::decision::{Answer, Decision, DryRun, ExtenderCalled};
use super::questions::Asked;
use super::stage::Stage;
use super::{CaseError, WALL_CLOCK};

/// Puts one pod before all others. The order of the others does not matter: they are not tried.
#[derive(Debug)]
pub(super) struct ChosenFirst {
    /// The pod.
    pub uid: Uid,
}

impl Plugin for ChosenFirst {
    fn name(&self) -> &'static str {
        "ChosenFirst"
    }
    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        Some(self)
    }
}

impl QueueSortPlugin for ChosenFirst {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        *a.uid() == self.uid && *b.uid() != self.uid
    }
}

/// What an attempt is made with.
pub(super) struct Attempt<'a> {
    /// The pod.
    pub pod: &'a PodInfo,
    /// DefaultPreemption, if the profile has it at PostFilter.
    pub preemption: Option<&'a DefaultPreemption>,
    /// The extenders, if there are any.
    pub stage: Option<&'a Stage>,
}

impl Attempt<'_> {
    /// Makes the attempt and tells how it ended.
    pub(super) fn make(
        &self,
        decision: &mut Decision,
        mut scheduler: Scheduler,
        mut asked: Asked,
    ) -> Result<(), CaseError> {
        let pod = self.pod;
        bring_to_front(&mut scheduler, &pod.pod)?;
        let mut before = scheduler.clone();
        let mut run =
            Run { scheduler, stage: self.stage.cloned(), effects: VecDeque::new(), evicted: Vec::new() };
        let trace = run.go_to_the_choice(decision, pod.uid())?;
        if trace.nodes().is_empty()
            && let CycleOutcome::Unschedulable { message, .. } = &trace.outcome
        {
            end_with_error(decision, message);
            return Ok(());
        }
        match &trace.outcome {
            CycleOutcome::Unschedulable { message, nominated_node } => {
                "unschedulable".clone_into(&mut decision.outcome);
                decision.message.clone_from(message);
                decision.nominated_node = nominated_node.as_deref().unwrap_or_default().to_owned();
                note_rejectors(decision, &run.scheduler, pod.uid());
                run.evict();
                run.evicted.sort();
                decision.evicted = run.evicted;
                note_extenders(&mut asked, &trace);
                if let Some(preemption) = self.preemption {
                    before.ask(&pod.pod.spec.scheduler_name, |handle, _| {
                        self.dry_run(decision, handle, preemption, &asked);
                    });
                }
            }
            CycleOutcome::Error { message } | CycleOutcome::Skipped { reason: message } => {
                end_with_error(decision, message);
            }
            CycleOutcome::InProgress
            | CycleOutcome::Tried { .. }
            | CycleOutcome::Waiting { .. }
            | CycleOutcome::Binding { .. }
            | CycleOutcome::Bound { .. } => fits(decision, &trace),
        }
        Ok(())
    }

    /// What DefaultPreemption finds on every node that it may try, and what extenders leave of that.
    fn dry_run(
        &self,
        decision: &mut Decision,
        handle: &Handle<'_>,
        plugin: &DefaultPreemption,
        asked: &Asked,
    ) {
        let (pod, statuses) = (self.pod, &asked.node_to_status);
        let nominated = statuses.get(&pod.pod.status.nominated_node_name);
        if plugin.check_eligibility(handle, &pod.pod, nominated).is_err() {
            return;
        }
        let budgets = DisruptionBudget::all(handle.objects);
        let mut candidates = Vec::new();
        for node in statuses.nodes_for_status_code(handle.snapshot.list(), Code::Unschedulable) {
            let mut copy = node.as_ref().clone();
            let mut state = asked.state.clone();
            let found = plugin.select_victims_on_node(handle, &mut state, pod, &mut copy, &budgets);
            let dry_run = match &found {
                Ok(victims) => DryRun::of(victims),
                Err(status) => {
                    let Answer { code, reasons, .. } = Answer::of(status);
                    DryRun { code, reasons, ..DryRun::default() }
                }
            };
            decision.preemption_by_node.insert(node.name().to_string(), dry_run);
            if let Ok(victims) = found
                && !victims.pods.is_empty()
            {
                candidates.push(Candidate { node_name: node.name().clone(), victims });
            }
        }
        if let Some(mut stage) = self.stage.cloned().filter(|_| !candidates.is_empty()) {
            let Ok((left, was_asked)) = stage.preempt(handle, pod, &candidates) else { return };
            if was_asked {
                decision.preemption_after_extenders = left
                    .iter()
                    .map(|candidate| (candidate.node_name.to_string(), DryRun::of(&candidate.victims)))
                    .collect();
            }
            candidates = left;
        }
        let (best, _) = best_candidates(&candidates, handle.now);
        let best = best.into_iter().filter_map(|index| candidates.get(index));
        decision.nominated_tie = best.map(|candidate| candidate.node_name.to_string()).collect();
        decision.nominated_tie.sort();
    }
}

/// What extenders said of nodes goes before what plugins said.
fn note_extenders(asked: &mut Asked, trace: &CycleTrace) {
    for (node, status) in trace.filter.iter().flat_map(|filter| &filter.by_extenders) {
        asked.node_to_status.set(node.clone(), status.clone());
    }
}

fn end_with_error(decision: &mut Decision, message: &str) {
    "error".clone_into(&mut decision.outcome);
    message.clone_into(&mut decision.message);
    message.clone_into(&mut decision.error);
}

fn fits(decision: &mut Decision, trace: &CycleTrace) {
    "fits".clone_into(&mut decision.outcome);
    let Some(selection) = &trace.selection else { return };
    decision.feasible_nodes = match (&trace.score, selection.reason) {
        // Extenders may have left nodes that are in no snapshot, or one several times.
        (Some(score), _) => score.nodes.len(),
        (None, SelectionReason::Nominated | SelectionReason::OnlyFeasible) => 1,
        (None, _) => trace.filter.as_ref().map_or(0, |filter| filter.n_feasible()),
    };
    let all_were_found = decision.feasible_nodes == decision.totals.len();
    if decision.feasible_nodes == 1 || all_were_found && decision.best.len() == 1 {
        decision.host = selection.host.to_string();
    }
}

/// The pod must be the next to be tried, wherever it is in the queue.
fn bring_to_front(scheduler: &mut Scheduler, pod: &Arc<Pod>) -> Result<(), CaseError> {
    let is_first = |scheduler: &Scheduler| {
        scheduler.view().active_q.first().is_some_and(|row| row.pod.uid() == pod.uid())
    };
    if !is_first(scheduler) {
        scheduler.handle(WALL_CLOCK, Input::Command(Command::Activate(vec![Arc::clone(pod)])));
        if !is_first(scheduler) {
            return Err(CaseError::NotInQueue(pod.key()));
        }
    }
    Ok(())
}

/// An attempt under way.
struct Run {
    scheduler: Scheduler,
    stage: Option<Stage>,
    /// What the core has asked for besides calls to extenders.
    effects: VecDeque<Effect>,
    /// The pods that were deleted on the way.
    evicted: Vec<String>,
}

impl Run {
    /// Runs phase by phase until a node is chosen or the attempt is over.
    fn go_to_the_choice(&mut self, decision: &mut Decision, uid: &Uid) -> Result<Arc<CycleTrace>, CaseError> {
        loop {
            self.scheduler.handle(WALL_CLOCK, Input::Command(Command::NextPhase));
            self.call_extenders(decision)?;
            if self.scheduler.is_in_cycle() && !self.scheduler.can_schedule() {
                // The attempt waits until room is made (SchedulerAsyncPreemption is off).
                self.evict();
            }
            let trace = self.scheduler.view().cycle.filter(|trace| trace.uid() == uid);
            let trace = trace.ok_or(CaseError::NoAttempt)?;
            if trace.selection.is_some() || trace.outcome.is_final() {
                return Ok(trace);
            }
        }
    }

    /// Makes the calls and writes that the core waits for, and those that follow from their answers.
    fn call_extenders(&mut self, decision: &mut Decision) -> Result<(), CaseError> {
        while let Some(Effect { id, kind }) = self.scheduler.poll_effect() {
            match (kind, &mut self.stage) {
                (EffectKind::CallExtender(call), Some(stage)) => {
                    let played = stage.play(&call)?;
                    let answer = played.answer.clone();
                    decision.extender_calls.push(ExtenderCalled::of(played));
                    self.scheduler.handle(WALL_CLOCK, Input::ExtenderAnswered { id, answer });
                }
                (EffectKind::Write(write), _) => {
                    self.scheduler.handle(WALL_CLOCK, Input::Written { id, result: Ok(write.object) });
                }
                (kind, _) => self.effects.push_back(Effect { id, kind }),
            }
        }
        Ok(())
    }

    /// Does what the core asks for, and answers that all went well.
    fn evict(&mut self) {
        while let Some(Effect { id, kind }) =
            self.effects.pop_front().or_else(|| self.scheduler.poll_effect())
        {
            if let EffectKind::Event(_) = kind {
                continue;
            }
            let input = match kind {
                EffectKind::Write(write) => Input::Written { id, result: Ok(write.object) },
                EffectKind::DeletePod { pod, .. } => {
                    self.evicted.push(pod.to_string());
                    Input::EffectDone { id, result: Ok(()) }
                }
                _ => Input::EffectDone { id, result: Ok(()) },
            };
            self.scheduler.handle(WALL_CLOCK, input);
        }
    }
}

fn note_rejectors(decision: &mut Decision, scheduler: &Scheduler, uid: &Uid) {
    let view = scheduler.view();
    let mut rows = view.unschedulable_pods.iter().chain(&view.backoff_q).chain(&view.active_q);
    if let Some(row) = rows.find(|row| row.pod.uid() == uid) {
        decision.unschedulable_plugins = row.unschedulable_plugins.iter().map(ToString::to_string).collect();
        decision.pending_plugins = row.pending_plugins.iter().map(ToString::to_string).collect();
    }
}
