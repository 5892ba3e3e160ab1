//! What follows from the trial: each member is assumed for good and bound, or goes back to the queue, and the group's
//! condition is written (`submitPodGroupAlgorithmResult`, `updatePodGroupCondition`).
//!
//! The members are dealt with one by one: the calls for one have ended before the next one's turn.

use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::Condition;
use crate::framework::{Code, Framework, NominatingInfo, Status};

use super::super::Scheduler;
use super::super::cycle::{Cycle, Failure};
use super::super::effect::{EffectId, EffectKind};
use super::super::pending::PendingEffect;
use super::super::pod_group_trace::{GroupOutcome, GroupStep};
use super::super::schedule_one::Next;
use super::super::trace::{Phase, PoppedFrom};
use super::{GroupCycle, GroupResult, MemberEnd, MemberResult, UNSCHEDULABLE};

/// The condition that tells whether a group has been scheduled (`PodGroupScheduled`).
const POD_GROUP_SCHEDULED: &str = "PodGroupScheduled";

/// What is done with a member.
pub(super) enum Deed {
    Bind,
    Return(Failure, NominatingInfo),
}

impl Scheduler {
    /// Deals with the next member, or ends the cycle.
    pub(super) fn submit_step(&mut self, mut group: Box<GroupCycle>, framework: &Framework) {
        if group.step == GroupStep::Submit && group.n_submitted < group.members.len() {
            let from = EffectId(self.next_effect_id);
            self.submit_member(&mut group, framework);
            group.calls = Some((from, EffectId(self.next_effect_id)));
            if group.n_submitted == group.members.len() {
                group.step = GroupStep::Condition;
            }
            let next = group.step;
            group.note(|trace| trace.next = Some(next));
            self.group = Some(group);
            return;
        }
        let result = group.result.take().unwrap_or_else(|| GroupResult::of_status(Status::SUCCESS));
        if !group.is_mixed {
            self.update_pod_group_condition(&group, &result.status);
        }
        let message = result.status.message();
        group.note(|trace| {
            trace.step = GroupStep::Condition;
            trace.next = None;
            trace.outcome = match result.status.code() {
                Code::Success => GroupOutcome::Scheduled,
                _ if result.is_waiting_on_preemption => GroupOutcome::WaitingOnPreemption { message },
                _ if result.status.is_rejected() => GroupOutcome::Unschedulable { message },
                _ => GroupOutcome::Error { message },
            };
        });
        self.world.snapshot.release_lists();
        self.journal.last_group = group.trace.map(Arc::from);
        self.start_preemptions();
    }

    fn submit_member(&mut self, group: &mut GroupCycle, framework: &Framework) {
        self.world.nominator.know_again();
        let index = group.n_submitted;
        let Some(info) = group.members.get(index).cloned() else { return };
        let deed = group.next_deed();
        group.n_submitted += 1;
        let Some(result) = &mut group.result else { return };
        // Each is needed once.
        let member = result.members.get_mut(index).map(|member| MemberResult {
            cycle: member.cycle.clone(),
            end: member.end.clone(),
            pods_to_activate: std::mem::take(&mut member.pods_to_activate),
        });
        let popped_from = group.trace().map_or(PoppedFrom::ActiveQ, |trace| trace.popped_from);
        let (mut cycle, pods_to_activate) = match member {
            Some(member) => (member.cycle, member.pods_to_activate),
            None => {
                let mut cycle = self.new_cycle(info, group.number);
                self.add_trace(&mut cycle, popped_from);
                (cycle, Vec::new())
            }
        };
        cycle.state.pod_group_cycle = None;
        cycle.state.skip_all_post_filter_plugins = false;
        cycle.placement = None;
        match deed {
            Deed::Bind => {
                self.pods_to_activate = pods_to_activate;
                self.assume_for_good(cycle, framework);
            }
            Deed::Return(failure, nominating_info) => {
                self.handle_scheduling_failure(cycle, failure, &nominating_info);
            }
        }
    }

    /// Assume, Reserve and Permit once more, now in the cache (`prepareForBindingCycle`).
    fn assume_for_good(&mut self, mut cycle: Cycle, framework: &Framework) {
        let mut phase = Phase::Assume;
        loop {
            let next = match phase {
                Phase::Assume => self.assume(&mut cycle),
                Phase::Reserve => self.reserve(&mut cycle, framework),
                _ => self.permit(&mut cycle, framework),
            };
            cycle.note(|trace| trace.phase = phase);
            match next {
                Next::Phase(next) => phase = next,
                Next::Failed(failure, _) => {
                    self.handle_scheduling_failure(cycle, failure, &NominatingInfo::clear());
                    return;
                }
                Next::Bind | Next::Suspended(_) | Next::Tried(_) => return self.begin_binding_cycle(cycle),
            }
        }
    }

    fn update_pod_group_condition(&mut self, group: &GroupCycle, status: &Status) {
        let key = crate::api::NamespacedName {
            namespace: group.info.namespace.clone(),
            name: group.info.name.clone(),
        };
        let Some(object) = self.world.objects.pod_groups.get(&key).cloned() else {
            return self.note_problem(&format!("pod group {key} is gone: its status is not updated"));
        };
        let (is_true, reason) = match status.code() {
            Code::Success => (true, "Scheduled"),
            _ if status.is_rejected() => (false, "Unschedulable"),
            _ => (false, "SchedulerError"),
        };
        let existing = object.condition(POD_GROUP_SCHEDULED);
        // More pods that do not fit do not make a group less scheduled.
        if !is_true && existing.is_some_and(|existing| existing.status == "True") {
            return;
        }
        let condition = Condition {
            type_: POD_GROUP_SCHEDULED.to_owned(),
            status: if is_true { "True" } else { "False" }.to_owned(),
            reason: reason.to_owned(),
            message: status.message(),
            last_transition_time: None,
            observed_generation: object.metadata.generation,
        };
        let is_known = existing.is_some_and(|old| {
            old.status == condition.status
                && old.reason == condition.reason
                && old.message == condition.message
                && old.observed_generation == condition.observed_generation
        });
        if is_known {
            return;
        }
        let id =
            self.emit(EffectKind::PatchPodGroupStatus { pod_group: key.clone(), condition, base: object });
        let what = Str::from(format!("updating the status of pod group {key}"));
        self.pending_effects.insert(id, PendingEffect::Report { what });
    }
}

impl GroupCycle {
    /// What is done with the next member.
    pub(super) fn next_deed(&self) -> Deed {
        match &self.result {
            Some(result) => deed(result, result.members.get(self.n_submitted)),
            None => {
                Deed::Return(Failure::Status(Status::unschedulable(UNSCHEDULABLE)), NominatingInfo::clear())
            }
        }
    }
}

fn deed(group: &GroupResult, member: Option<&MemberResult>) -> Deed {
    let whole = || Failure::Status(group.status.clone());
    if group.status.is_error() {
        // Its own error if it has one, else that of the group.
        let failure = match member.map(|member| &member.end) {
            Some(MemberEnd::Failed { failure, .. }) if !failure.is_rejection() => failure.clone(),
            Some(_) | None => whole(),
        };
        return Deed::Return(failure, NominatingInfo::clear());
    }
    let not_with_the_others = |permit: &Status| {
        let reasons = vec![UNSCHEDULABLE.to_owned(), permit.message()];
        let failure = Failure::Status(Status::with_reasons(Code::Unschedulable, reasons));
        Deed::Return(failure, NominatingInfo::clear())
    };
    let Some(member) = member else { return Deed::Return(whole(), NominatingInfo::Noop) };
    match &member.end {
        MemberEnd::Fits { .. } if group.status.is_success() => Deed::Bind,
        MemberEnd::Fits { .. } if group.is_waiting_on_preemption => {
            let node = member.cycle.host.clone().unwrap_or_default();
            Deed::Return(whole(), NominatingInfo::Override(node))
        }
        MemberEnd::NeedsRoom { permit, .. } if !group.is_waiting_on_preemption => not_with_the_others(permit),
        MemberEnd::Fits { permit } => not_with_the_others(permit),
        MemberEnd::NeedsRoom { failure, nominating_info, .. }
        | MemberEnd::Failed { failure, nominating_info } => {
            Deed::Return(failure.clone(), nominating_info.clone())
        }
    }
}
