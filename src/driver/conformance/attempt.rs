//! The real attempt, made by the core: outcome, host, message, and what preemption does.

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

use super::decision::{Answer, Decision, DryRun};
use super::questions::Asked;
use super::{CaseError, EPOCH};

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

/// Makes the attempt and tells how it ended.
pub(super) fn attempt(
    decision: &mut Decision,
    mut scheduler: Scheduler,
    pod: &PodInfo,
    preemption: Option<&DefaultPreemption>,
    asked: &Asked,
) -> Result<(), CaseError> {
    bring_to_front(&mut scheduler, &pod.pod)?;
    let mut before = scheduler.clone();
    let trace = run(&mut scheduler, pod.uid())?;
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
            note_rejectors(decision, &scheduler, pod.uid());
            decision.evicted = evict(&mut scheduler);
            if let Some(preemption) = preemption {
                before.ask(&pod.pod.spec.scheduler_name, |handle, _| {
                    dry_run(decision, handle, preemption, pod, asked);
                });
            }
        }
        CycleOutcome::Error { message } | CycleOutcome::Skipped { reason: message } => {
            end_with_error(decision, message);
        }
        CycleOutcome::InProgress
        | CycleOutcome::Waiting { .. }
        | CycleOutcome::Binding { .. }
        | CycleOutcome::Bound { .. } => fits(decision, &trace),
    }
    Ok(())
}

fn end_with_error(decision: &mut Decision, message: &str) {
    "error".clone_into(&mut decision.outcome);
    message.clone_into(&mut decision.message);
    message.clone_into(&mut decision.error);
}

fn fits(decision: &mut Decision, trace: &CycleTrace) {
    "fits".clone_into(&mut decision.outcome);
    let Some(selection) = &trace.selection else { return };
    decision.feasible_nodes = match selection.reason {
        SelectionReason::Nominated | SelectionReason::OnlyFeasible => 1,
        _ => trace.filter.as_ref().map_or(0, |filter| filter.n_feasible()),
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
        scheduler.handle(EPOCH, Input::Command(Command::Activate(vec![Arc::clone(pod)])));
        if !is_first(scheduler) {
            return Err(CaseError::NotInQueue(pod.key()));
        }
    }
    Ok(())
}

/// Runs phase by phase until a node is chosen or the attempt is over.
fn run(scheduler: &mut Scheduler, uid: &Uid) -> Result<Arc<CycleTrace>, CaseError> {
    loop {
        scheduler.handle(EPOCH, Input::Command(Command::NextPhase));
        let trace = scheduler.view().cycle.filter(|trace| trace.uid() == uid);
        let trace = trace.ok_or(CaseError::NoAttempt)?;
        if trace.selection.is_some() || trace.outcome.is_final() {
            return Ok(trace);
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

/// Does what the core asks for, and answers that all went well: the pods that were deleted on the way.
fn evict(scheduler: &mut Scheduler) -> Vec<String> {
    let mut evicted = Vec::new();
    while let Some(Effect { id, kind }) = scheduler.poll_effect() {
        if let EffectKind::Event(_) = kind {
            continue;
        }
        if let EffectKind::DeletePod { pod, .. } = kind {
            evicted.push(pod.to_string());
        }
        scheduler.handle(EPOCH, Input::EffectDone { id, result: Ok(()) });
    }
    evicted.sort();
    evicted
}

/// What DefaultPreemption finds on every node that it may try.
fn dry_run(
    decision: &mut Decision,
    handle: &Handle<'_>,
    plugin: &DefaultPreemption,
    pod: &PodInfo,
    asked: &Asked,
) {
    let statuses = &asked.node_to_status;
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
            Ok(victims) => DryRun {
                victims: victims.pods.iter().map(|victim| victim.pod.key().to_string()).collect(),
                pdb_violations: victims.num_pdb_violations,
                code: Code::Success.as_str().to_owned(),
                reasons: Vec::new(),
            },
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
    let (best, _) = best_candidates(&candidates, handle.now);
    let best = best.into_iter().filter_map(|index| candidates.get(index));
    decision.nominated_tie = best.map(|candidate| candidate.node_name.to_string()).collect();
    decision.nominated_tie.sort();
}
