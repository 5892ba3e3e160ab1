//! The vocabulary of preemption, shared by the plugin that decides it and the core that carries it out.
//!
//! Mirrors `pkg/scheduler/framework/preemption`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::{Str, Uid};

use super::pod_info::PodInfo;
use super::status::Status;

/// The pods that would have to go from one node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Victims {
    /// In decreasing order of importance.
    pub pods: Vec<Arc<PodInfo>>,
    /// How many of them violate a disruption budget.
    pub num_pdb_violations: i64,
    /// Every pod of lower priority on the node, in the order in which it was tried whether it can stay. Evidence for
    /// people; empty where an extender has named the victims.
    pub tried: Vec<Reprieve>,
}

/// What came of putting a pod back on the node that all pods of lower priority had left.
#[derive(Clone, Debug, PartialEq)]
pub struct Reprieve {
    /// The pod.
    pub pod: Arc<PodInfo>,
    /// Whether its eviction would violate a disruption budget; such pods are tried first.
    pub violates_budget: bool,
    /// What the filters said of the preemptor beside it; absent if that fits, and the pod stays.
    pub refusal: Option<Status>,
}

/// A node on which the pod would fit if the victims went.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Candidate {
    /// The node.
    pub node_name: Str,
    /// The pods that would have to go.
    pub victims: Victims,
}

/// The rule that chose among several candidates, in the order in which they are applied
/// (`pickOneNodeForPreemption`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Criterion {
    /// There was one candidate.
    OnlyCandidate,
    /// Fewest violations of disruption budgets.
    MinPdbViolations,
    /// Lowest priority of the most important victim.
    MinHighestPriority,
    /// Smallest sum of the victims' priorities.
    MinSumPriorities,
    /// Fewest victims.
    MinNumVictims,
    /// Latest start of the most important victims.
    LatestStartTime,
    /// All criteria are equal: chance.
    Random,
}

impl Criterion {
    /// The rule in a few words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnlyCandidate => "the only candidate",
            Self::MinPdbViolations => "fewest PDB violations",
            Self::MinHighestPriority => "lowest highest victim priority",
            Self::MinSumPriorities => "smallest sum of victim priorities",
            Self::MinNumVictims => "fewest victims",
            Self::LatestStartTime => "latest start of the most important victims",
            Self::Random => "all criteria equal: picked at random",
        }
    }
}

/// What DefaultPreemption found, for a person to look at.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PreemptionEvidence {
    /// The candidates, in the order in which they were found.
    pub candidates: Vec<Candidate>,
    /// The node that was taken.
    pub selected: Option<Str>,
    /// The rule that decided.
    pub criterion: Option<Criterion>,
    /// Nodes that were tried and are no candidates, with the reason.
    pub rejected: Vec<(Str, String)>,
}

/// The preemptions that are under way (`Executor.preempting` and `lastVictimsPendingPreemption`).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PreemptionState {
    /// Preemptors whose victims are being evicted.
    pub preempting: BTreeSet<Uid>,
    /// The last victim that each of them waits for: uid of the preemptor to namespace, name and uid of the victim.
    pub last_victims_pending_preemption: BTreeMap<Uid, PendingVictim>,
}

/// A victim that a preemptor waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingVictim {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// Its uid.
    pub uid: Uid,
}
