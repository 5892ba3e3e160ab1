//! The scheduling cycle of a pod group: all its waiting pods are tried together on one view of the nodes, and only when
//! enough of them fit is any of them sent on its way (KEP-4671, KEP-5732, KEP-5710).
//!
//! Mirrors `pkg/scheduler/schedule_one_podgroup.go`. The cycle goes step by step, as an attempt goes phase by phase:
//! - the members are popped (`begin.rs`);
//! - PlacementGenerate divides the nodes; in each placement every member goes through the phases of an attempt up to
//!   Permit, with those before it assumed in the snapshot alone; then all of that is taken back (`trial.rs`,
//!   `placements.rs`);
//! - if nothing will do, pods are looked for that could make room for the whole group (`victims.rs`);
//! - each member is assumed for good and bound, or goes back to the queue (`submit.rs`).
//!
//! While a group's cycle runs, no binding cycle goes on.

mod begin;
mod placements;
mod submit;
mod trial;
mod victims;

use std::sync::Arc;

use crate::api::{Digest, Str};
use crate::framework::pod_group::PodGroupInfo;
use crate::framework::{Framework, NominatingInfo, QueuedPodInfo, Status};

use super::Scheduler;
use super::cycle::{Cycle, Failure, framework_of};
use super::effect::EffectId;
use super::pod_group_trace::{GroupStep, GroupTrace};
use placements::Run;
use victims::VictimSearch;

/// What is done with a member when its group's trial is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupDeed {
    /// It is assumed for good.
    Bind,
    /// It goes back to the queue.
    Return,
    /// It is gone, or has got a node elsewhere.
    Drop,
}

/// What is said of a group that does not fit (`errPodGroupUnschedulable`).
const UNSCHEDULABLE: &str = "pod group is unschedulable";

/// A group's cycle between two steps.
#[derive(Clone, Debug)]
pub(super) struct GroupCycle {
    info: PodGroupInfo,
    profile_name: Str,
    /// The members in the order in which they are tried.
    members: Vec<QueuedPodInfo>,
    /// The number of the attempt of the last member.
    number: u64,
    /// What comes next.
    step: GroupStep,
    /// The run over the placements that is under way, or was the last.
    run: Run,
    /// What the run that schedules the group has come to.
    result: Option<GroupResult>,
    search: Option<VictimSearch>,
    /// The member whose trial goes on does not fit, but would if room were made for it.
    needs_room: Option<(Failure, NominatingInfo)>,
    /// Whether the members cannot be scheduled together at all, so that nothing is said of the group.
    is_mixed: bool,
    /// How many members have been dealt with.
    n_submitted: usize,
    /// The calls that were made for the last of them; they end before the next one is dealt with.
    calls: Option<(EffectId, EffectId)>,
    /// Whether it waits until its victims are out of the way (without `SchedulerAsyncPreemption`).
    is_evicting: bool,
    /// Whether a person walks through it.
    is_stepped: bool,
    /// The evidence, if somebody wants it.
    trace: Option<Box<GroupTrace>>,
}

/// What a group came to in a placement, or in all of them.
#[derive(Clone, Debug)]
struct GroupResult {
    /// By member; those that were not tried are not there.
    members: Vec<MemberResult>,
    status: Status,
    is_waiting_on_preemption: bool,
}

impl GroupResult {
    /// The group as a whole was turned down, or something failed.
    const fn of_status(status: Status) -> Self {
        Self { members: Vec::new(), status, is_waiting_on_preemption: false }
    }
}

/// What a member came to in a trial.
#[derive(Clone, Debug)]
struct MemberResult {
    cycle: Cycle,
    end: MemberEnd,
    /// Pods that plugins want tried once the member is assumed for good.
    pods_to_activate: Vec<Arc<crate::api::objects::Pod>>,
}

#[derive(Clone, Debug)]
enum MemberEnd {
    /// It does not fit, or something failed.
    Failed { failure: Failure, nominating_info: NominatingInfo },
    /// It fits; Permit has said Success or Wait.
    Fits { permit: Status },
    /// It would fit if room were made for it.
    NeedsRoom { failure: Failure, nominating_info: NominatingInfo, permit: Status },
}

impl GroupCycle {
    fn note(&mut self, change: impl FnOnce(&mut GroupTrace)) {
        if let Some(trace) = &mut self.trace {
            change(trace);
        }
    }

    /// The evidence so far.
    pub(super) fn trace(&self) -> Option<&GroupTrace> {
        self.trace.as_deref()
    }

    /// The member that is tried first, as it was popped.
    pub(super) fn first_member(&self) -> Option<&QueuedPodInfo> {
        self.members.first()
    }

    /// How many members have not been dealt with.
    pub(super) fn n_pending(&self) -> usize {
        self.members.len().saturating_sub(self.n_submitted)
    }

    /// A person no longer walks through it.
    pub(super) const fn release(&mut self) {
        self.is_stepped = false;
    }

    pub(super) fn digest(&self, digest: &mut Digest) {
        digest.str(&self.info.namespace).str(&self.info.name).str(self.step.as_str());
        digest.len(self.members.len()).len(self.n_submitted);
        self.run.digest(digest);
        digest.bool(self.result.is_some()).bool(self.needs_room.is_some());
        digest.len(self.search.as_ref().map_or(0, VictimSearch::n_found));
    }
}

impl Scheduler {
    /// Does one step of the group's cycle under way; the phases of a member's trial are not among them.
    pub(super) fn group_step(&mut self, is_stepped: bool) {
        let Some(mut group) = self.group.take() else { return };
        group.is_stepped |= is_stepped;
        let profiles = Arc::clone(&self.world.profiles);
        let Some(framework) = framework_of(&profiles, &group.profile_name) else {
            let text = format!("profile not found for scheduler name {:?}", group.profile_name);
            group.result.get_or_insert_with(|| GroupResult::of_status(Status::error(text)));
            group.is_mixed = true;
            group.step = group.step.max(GroupStep::Submit);
            return self.submit_step(group, &Framework::default());
        };
        let step = group.step;
        group.note(|trace| trace.step = step);
        match step {
            GroupStep::Pop | GroupStep::Generate => self.generate_placements(&mut group, framework),
            GroupStep::Place => self.take_up_placement(&mut group),
            GroupStep::Members => self.try_next_member(&mut group),
            GroupStep::EndPlacement => self.end_placement(&mut group, framework),
            GroupStep::Choose => self.choose_placement(&mut group, framework),
            GroupStep::Preempt => self.search_victims(&mut group, framework),
            GroupStep::Submit | GroupStep::Condition => return self.submit_step(group, framework),
        }
        let next = group.step;
        group.note(|trace| trace.next = Some(next));
        let is_evicting = group.is_evicting;
        self.group = Some(group);
        if is_evicting {
            self.start_preemptions();
        }
    }

    /// Whether the group's cycle under way waits for the end of a call.
    pub(super) fn is_group_blocked(&self) -> bool {
        let Some(group) = &self.group else { return false };
        let has_calls =
            group.calls.is_some_and(|(from, to)| self.pending_effects.range(from..to).next().is_some());
        has_calls || group.is_evicting
    }

    /// What comes next in the group's cycle under way.
    pub fn next_group_step(&self) -> Option<GroupStep> {
        self.group.as_ref().map(|group| group.step)
    }

    /// What is done with the next member of the group's cycle under way, if that is what comes next.
    pub fn next_group_deed(&self) -> Option<GroupDeed> {
        let group = self.group.as_ref().filter(|group| group.step == GroupStep::Submit)?;
        let info = group.members.get(group.n_submitted)?;
        let known = self.world.objects.pods.get(&info.pod().key());
        let is_there = known.is_some_and(|pod| pod.uid() == info.uid() && !pod.is_assigned());
        Some(match group.next_deed() {
            submit::Deed::Bind => GroupDeed::Bind,
            submit::Deed::Return(..) if is_there => GroupDeed::Return,
            submit::Deed::Return(..) => GroupDeed::Drop,
        })
    }

    /// The group's cycle that goes on by itself may go on.
    pub(super) fn go_on_with_group(&mut self) {
        if self.is_driving && self.group.is_some() && !self.is_waiting_in_cycle() {
            self.drive();
        }
    }
}
