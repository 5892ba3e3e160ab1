//! The trial of all members in one placement (`podGroupSchedulingDefaultAlgorithm`, `podGroupPodSchedulingAlgorithm`).

use std::sync::Arc;

use crate::api::Str;
use crate::framework::{Framework, NominatingInfo, Status};

use super::super::Scheduler;
use super::super::cycle::{Cycle, Failure};
use super::super::pod_group_trace::{GroupStep, MemberTrial, MemberVerdict, RunPurpose};
use super::super::schedule_one::Next;
use super::super::trace::{CycleOutcome, Phase, PoppedFrom};
use super::{GroupCycle, GroupResult, MemberEnd, MemberResult, UNSCHEDULABLE};

/// The trial in one placement, as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Where the nodes of the placement are in the snapshot; `None` if all are in it.
    pub positions: Option<Arc<[usize]>>,
    pub result: GroupResult,
    pub requires_preemption: bool,
    /// Whether no further member is tried.
    pub has_stopped: bool,
}

impl Trial {
    pub fn new(positions: Option<Arc<[usize]>>) -> Self {
        Self {
            positions,
            result: GroupResult::of_status(Status::unschedulable(UNSCHEDULABLE)),
            requires_preemption: false,
            has_stopped: false,
        }
    }

    /// A member has been tried: what follows for the group.
    fn add(&mut self, member: MemberResult) {
        let (permit, needs_room) = match &member.end {
            MemberEnd::Failed { failure, .. } => {
                if !failure.is_rejection() {
                    let text = failure.message();
                    self.result.status =
                        Status::error(format!("failed to schedule other pod from a pod group: {text}"));
                    self.result.is_waiting_on_preemption = false;
                    self.has_stopped = true;
                }
                self.result.members.push(member);
                return;
            }
            MemberEnd::Fits { permit } => (permit, false),
            MemberEnd::NeedsRoom { permit, .. } => (permit, true),
        };
        self.requires_preemption |= needs_room;
        if permit.is_success() {
            // One that may go on is enough: Permit has seen those before it.
            self.result.is_waiting_on_preemption = self.requires_preemption;
            self.result.status = if self.requires_preemption {
                let mut status = Status::unschedulable(UNSCHEDULABLE);
                status.append_reason("pod group is waiting for preemption to complete");
                status
            } else {
                Status::SUCCESS
            };
        }
        self.result.members.push(member);
    }
}

impl Scheduler {
    /// Begins the attempt of the next member, or ends the placement.
    pub(super) fn try_next_member(&mut self, group: &mut GroupCycle) {
        let trial = &group.run.trial;
        let Some(info) = group.members.get(trial.result.members.len()).filter(|_| !trial.has_stopped) else {
            group.step = GroupStep::EndPlacement;
            return;
        };
        let mut cycle = self.new_cycle(info.clone(), group.number);
        cycle.placement.clone_from(&trial.positions);
        cycle.is_stepped = group.is_stepped;
        cycle.state.pod_group_cycle = Some(group.number);
        cycle.state.skip_all_post_filter_plugins = group.run.purpose != RunPurpose::Schedule;
        let popped_from = group.trace().map_or(PoppedFrom::ActiveQ, |trace| trace.popped_from);
        self.add_trace(&mut cycle, popped_from);
        self.cycle = Some(cycle);
    }

    /// The attempt of a member has come to an end of its own, or goes on although it fits nowhere.
    pub(in crate::scheduler) fn member_tried(&mut self, mut cycle: Cycle, next: Next) {
        let Some(mut group) = self.group.take() else { return };
        cycle.is_stepped = false;
        let end = match next {
            Next::Failed(failure, NominatingInfo::Override(node)) if !node.is_empty() => {
                // The members that follow have to see this one on its node, as if room had been made there.
                cycle.host = Some(node.clone());
                cycle.next = Phase::Assume;
                cycle.note(|trace| trace.next = Some(Phase::Assume));
                group.needs_room = Some((failure, NominatingInfo::Override(node)));
                self.cycle = Some(cycle);
                self.group = Some(group);
                return;
            }
            Next::Failed(failure, nominating_info) => MemberEnd::Failed { failure, nominating_info },
            Next::Tried(permit) => match group.needs_room.take() {
                Some((failure, nominating_info)) => MemberEnd::NeedsRoom { failure, nominating_info, permit },
                None => MemberEnd::Fits { permit },
            },
            Next::Phase(_) | Next::Suspended(_) | Next::Bind => MemberEnd::Failed {
                failure: Failure::Status(Status::error("the attempt did not end with Permit")),
                nominating_info: NominatingInfo::clear(),
            },
        };
        group.needs_room = None;
        note_member(&mut group, &mut cycle, &end);
        let pods_to_activate = std::mem::take(&mut self.pods_to_activate);
        group.run.trial.add(MemberResult { cycle, end, pods_to_activate });
        self.group = Some(group);
    }

    /// The member is put onto its node in the snapshot alone.
    pub(in crate::scheduler) fn assume_in_snapshot(&mut self, cycle: &mut Cycle, host: &Str) {
        let Some(assumed) = cycle.assumed.clone() else { return };
        cycle.node_before = self.world.snapshot.get(host).cloned();
        if let Some(before) = &cycle.node_before {
            let mut node = before.as_ref().clone();
            node.add_pod(Arc::clone(&assumed));
            self.world.snapshot.replace(Arc::new(node));
        }
        self.world.snapshot_pod_groups.assume_known(&assumed.pod);
        self.world.nominator.delete_nominated_pod_if_exists(&assumed.pod);
    }

    /// The member is taken off its node in the snapshot. Members are taken off in the reverse order.
    pub(in crate::scheduler) fn forget_in_snapshot(&mut self, cycle: &mut Cycle) {
        if let Some(before) = cycle.node_before.take() {
            self.world.snapshot.replace(before);
        }
        let pod_info = Arc::clone(cycle.pod_info());
        self.world.snapshot_pod_groups.forget(&pod_info.pod);
        let nominated = pod_info.pod.status.nominated_node_name.clone();
        if !nominated.is_empty() {
            let nominating_info = NominatingInfo::Override(nominated);
            self.world.nominator.add_nominated_pod(&self.world.objects, pod_info, &nominating_info);
        }
    }

    /// Takes back all that the trial has assumed.
    pub(super) fn revert_trial(&mut self, result: &mut GroupResult, framework: &Framework) {
        for member in result.members.iter_mut().rev() {
            if !matches!(member.end, MemberEnd::Failed { .. }) {
                self.unreserve_and_forget(&mut member.cycle, framework);
            }
        }
    }
}

fn note_member(group: &mut GroupCycle, cycle: &mut Cycle, end: &MemberEnd) {
    let is_kept = group.run.purpose == RunPurpose::Schedule;
    let Some(trace) = &mut group.trace else { return };
    let Some(placement) = trace.runs.last_mut().and_then(|run| run.placements.last_mut()) else { return };
    let node = cycle.host.clone().unwrap_or_default();
    let verdict = match end {
        MemberEnd::Fits { permit } => MemberVerdict::Fits { node, permit: permit.clone() },
        MemberEnd::NeedsRoom { failure, permit, .. } => {
            MemberVerdict::NeedsRoom { node, message: failure.message(), permit: permit.clone() }
        }
        MemberEnd::Failed { failure, .. } if failure.is_rejection() => {
            MemberVerdict::Rejected { message: failure.message() }
        }
        MemberEnd::Failed { failure, .. } => MemberVerdict::Error { message: failure.message() },
    };
    cycle.note(|trace| {
        trace.next = None;
        trace.outcome = match &verdict {
            MemberVerdict::Fits { node, .. } => CycleOutcome::Tried { node: node.clone() },
            MemberVerdict::NeedsRoom { node, message, .. } => {
                CycleOutcome::Unschedulable { message: message.clone(), nominated_node: Some(node.clone()) }
            }
            MemberVerdict::Rejected { message } => {
                CycleOutcome::Unschedulable { message: message.clone(), nominated_node: None }
            }
            MemberVerdict::Error { message } => CycleOutcome::Error { message: message.clone() },
        };
    });
    placement.members.push(MemberTrial {
        pod: cycle.queued.pod().key(),
        verdict,
        selection: cycle.trace.as_ref().and_then(|trace| trace.selection.clone()),
        n_feasible: cycle.feasible.len(),
        trace: if is_kept { cycle.trace.clone().map(Arc::from) } else { None },
    });
}
