//! The evidence of the scheduling cycle of a pod group: the placements that were tried, what each member came to in
//! each of them, and what was decided.
//!
//! An output, as [`CycleTrace`] is: nothing in the scheduler reads it back.

use std::fmt;
use std::sync::Arc;

use crate::api::{NamespacedName, Str, Time, Uid};
use crate::framework::Status;
use crate::framework::runtime::PlacementScoreOutcome;

use super::trace::{CycleTrace, PoppedFrom, SelectionTrace};

/// The steps of a group's cycle. Within [`GroupStep::Members`] each member goes through the phases of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupStep {
    /// All members are taken out of the queue and the nodes are looked at.
    Pop,
    /// PlacementGenerate divides the nodes.
    Generate,
    /// A placement is taken up.
    Place,
    /// The next member is tried in it.
    Members,
    /// All members have been tried: their places are given back.
    EndPlacement,
    /// One of the placements that have room is chosen.
    Choose,
    /// Nothing will do: a search for pods that could make room (`WorkloadAwarePreemption`).
    Preempt,
    /// One member is sent on its way, or back to the queue.
    Submit,
    /// The group's condition is written.
    Condition,
}

impl GroupStep {
    /// The step's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pop => "Pop",
            Self::Generate => "PlacementGenerate",
            Self::Place => "Placement",
            Self::Members => "Member",
            Self::EndPlacement => "EndPlacement",
            Self::Choose => "PlacementScore",
            Self::Preempt => "PodGroupPostFilter",
            Self::Submit => "Submit",
            Self::Condition => "Condition",
        }
    }
}

impl fmt::Display for GroupStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A member that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupMember {
    /// The pod.
    pub pod: NamespacedName,
    /// Its uid.
    pub uid: Uid,
    /// How often it has been tried, this time included.
    pub attempt: u32,
    /// Whether it is the one that was popped; the others came with it.
    pub is_popped: bool,
}

/// What a member came to in a trial.
#[derive(Clone, Debug, PartialEq)]
pub enum MemberVerdict {
    /// It fits.
    Fits {
        /// Where.
        node: Str,
        /// Success or Wait.
        permit: Status,
    },
    /// It would fit if pods that it preempts were gone.
    NeedsRoom {
        /// Where.
        node: Str,
        /// Why it does not fit now.
        message: String,
        /// Success or Wait.
        permit: Status,
    },
    /// It does not fit.
    Rejected {
        /// Why.
        message: String,
    },
    /// Its trial went wrong, which ends that of the group.
    Error {
        /// How.
        message: String,
    },
}

/// A member's trial in a placement.
#[derive(Clone, Debug)]
pub struct MemberTrial {
    /// The pod.
    pub pod: NamespacedName,
    /// What came of it.
    pub verdict: MemberVerdict,
    /// The choice among the nodes, if it came to that.
    pub selection: Option<SelectionTrace>,
    /// How many nodes were feasible.
    pub n_feasible: usize,
    /// The attempt phase by phase; not kept for runs in search of victims.
    pub trace: Option<Arc<CycleTrace>>,
}

/// A placement that was tried.
#[derive(Clone, Debug)]
pub struct PlacementTrace {
    /// What it is called; empty if it is all nodes.
    pub name: Str,
    /// How many nodes it has.
    pub n_nodes: usize,
    /// The members in the order of their trial; fewer than all if one went wrong.
    pub members: Vec<MemberTrial>,
    /// What the group came to; absent while the trial goes on.
    pub status: Option<Status>,
    /// Whether it would fit if pods that its members preempt were gone.
    pub is_waiting_on_preemption: bool,
}

/// What a run over the placements is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunPurpose {
    /// To schedule the group.
    Schedule,
    /// To see whether it fits without any of the pods that it may preempt.
    WithoutVictims,
    /// To see whether these may stay.
    Spare(Vec<NamespacedName>),
}

/// One run over the placements.
#[derive(Clone, Debug)]
pub struct RunTrace {
    /// What it is for.
    pub purpose: RunPurpose,
    /// The placements that PlacementGenerate gave, by name; those that have been tried first.
    pub placement_names: Vec<Str>,
    /// The placements that have been tried.
    pub placements: Vec<PlacementTrace>,
    /// The scores of those that have room, if there are several: name and total, and how they came about.
    pub scores: Option<(Vec<Str>, PlacementScoreOutcome)>,
    /// The placement that was chosen.
    pub chosen: Option<Str>,
    /// What the group came to.
    pub status: Option<Status>,
}

/// How a group's cycle ended, or stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupOutcome {
    /// It is not over.
    InProgress,
    /// It has room; the members that fit are on their way.
    Scheduled,
    /// It will be tried again when pods have made room.
    WaitingOnPreemption {
        /// The text of the condition.
        message: String,
    },
    /// It has no room.
    Unschedulable {
        /// The text of the condition.
        message: String,
    },
    /// Something failed.
    Error {
        /// What.
        message: String,
    },
}

/// The evidence of one cycle of a group, as far as it has come.
#[derive(Clone, Debug)]
pub struct GroupTrace {
    /// The number of its first attempt.
    pub number: u64,
    /// When it began.
    pub started: Time,
    /// The group.
    pub group: NamespacedName,
    /// Where the first member was popped from.
    pub popped_from: PoppedFrom,
    /// The members in the order in which they are tried.
    pub members: Vec<GroupMember>,
    /// The runs over the placements: one to schedule the group, the others in search of victims.
    pub runs: Vec<RunTrace>,
    /// The pods that are evicted for the group as a whole.
    pub victims: Vec<NamespacedName>,
    /// The step that was done last.
    pub step: GroupStep,
    /// What comes next; absent when the cycle is over.
    pub next: Option<GroupStep>,
    /// How it stands.
    pub outcome: GroupOutcome,
}

impl GroupTrace {
    /// The run that schedules the group.
    pub fn schedule_run(&self) -> Option<&RunTrace> {
        self.runs.first()
    }
}
