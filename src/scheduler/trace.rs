//! The evidence of one scheduling attempt: what was asked at each extension point and what was answered.
//!
//! A trace is an output of the core, for people: nothing in the scheduler reads it back. It refers to the nodes
//! and the pod as the attempt saw them, so that every number can be explained later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::api::{Duration, NamespacedName, Str, Time, Uid};
use crate::framework::explained::Explainers;
use crate::framework::preemption::PreemptionEvidence;
use crate::framework::runtime::{PluginVerdict, ScoreOutcome};
use crate::framework::{CycleState, NodeInfo, PodInfo, Snapshot, Status};

pub use crate::queue::PoppedFrom;

/// The steps of an attempt, in their order. PostFilter replaces all that follow when no node is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// The pod is taken out of the queue and the nodes are looked at.
    Pop,
    /// PreFilter plugins look at the pod.
    PreFilter,
    /// Filter plugins look at each node.
    Filter,
    /// No node is left: PostFilter plugins try to make room.
    PostFilter,
    /// PreScore plugins look at the nodes that are left.
    PreScore,
    /// Score plugins rank them.
    Score,
    /// One of the best is chosen.
    Select,
    /// The cache takes the pod as if it were bound.
    Assume,
    /// Reserve plugins set aside what the pod will use.
    Reserve,
    /// Permit plugins let it pass, hold it or turn it down.
    Permit,
    /// Permit plugins hold it.
    WaitOnPermit,
    /// PreBind plugins prepare.
    PreBind,
    /// The binding is written to the API.
    Bind,
    /// PostBind plugins hear of it.
    PostBind,
}

impl Phase {
    /// Every phase in order.
    pub const ALL: [Self; 14] = [
        Self::Pop,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Select,
        Self::Assume,
        Self::Reserve,
        Self::Permit,
        Self::WaitOnPermit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// The phase's name; extension points have upstream's.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pop => "Pop",
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Select => "Select",
            Self::Assume => "Assume",
            Self::Reserve => "Reserve",
            Self::Permit => "Permit",
            Self::WaitOnPermit => "WaitOnPermit",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What Filter concluded for one node.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeVerdict {
    /// Every plugin agreed.
    Feasible,
    /// A plugin refused; later plugins were not asked. The status names the plugin.
    Rejected(Status),
    /// PreFilter had left the node out, or it is not in the placement of the pod's group.
    Excluded,
    /// The search had found enough nodes before it came here (`percentageOfNodesToScore`).
    NotEvaluated,
}

/// Filter over all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct FilterTrace {
    /// The Filter plugins in the profile's order.
    pub plugins: Vec<&'static str>,
    /// Those of them that PreFilter told to be left out.
    pub skipped: BTreeSet<&'static str>,
    /// A verdict per node, in the order of [`CycleTrace::snapshot`].
    pub verdicts: Vec<NodeVerdict>,
    /// What extenders said of nodes, also of such as plugins had turned down and of such as are in no snapshot.
    pub by_extenders: BTreeMap<Str, Status>,
    /// At which node of the snapshot the search began.
    pub start_index: usize,
    /// After how many feasible nodes the search ends.
    pub n_to_find: usize,
    /// The node that the ranking of the last attempt proposed.
    pub node_hint: Option<Str>,
    /// Whether the pod's nominated node passed, so that no other node was looked at.
    pub nominated_node: Option<Str>,
}

impl FilterTrace {
    /// How many nodes passed.
    pub fn n_feasible(&self) -> usize {
        self.verdicts.iter().filter(|verdict| **verdict == NodeVerdict::Feasible).count()
    }

    /// How many nodes each plugin turned down, plugins in the profile's order, with the most frequent reason.
    pub fn rejections(&self) -> Vec<(&'static str, usize, String)> {
        let mut reasons: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for verdict in &self.verdicts {
            let NodeVerdict::Rejected(status) = verdict else { continue };
            *counts.entry(status.plugin()).or_default() += 1;
            for reason in status.reasons() {
                *reasons.entry(status.plugin()).or_default().entry(reason).or_default() += 1;
            }
        }
        self.plugins
            .iter()
            .filter_map(|plugin| {
                let count = counts.get(plugin)?;
                let top = reasons.get(plugin).and_then(|by_reason| {
                    by_reason.iter().max_by_key(|(reason, n)| (**n, std::cmp::Reverse(**reason)))
                });
                Some((*plugin, *count, top.map(|(reason, _)| (*reason).to_owned()).unwrap_or_default()))
            })
            .collect()
    }
}

/// PostFilter.
#[derive(Clone, Debug, PartialEq)]
pub struct PostFilterTrace {
    /// What each plugin answered.
    pub verdicts: Vec<PluginVerdict>,
    /// The node that the pod is nominated to now, if room is made there.
    pub nominated_node: Option<Str>,
    /// The candidates and victims that DefaultPreemption looked at.
    pub evidence: Option<Arc<PreemptionEvidence>>,
}

/// Score over the feasible nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct ScoreTrace {
    /// The feasible nodes; the vectors of `scores` are in this order.
    pub nodes: Vec<Str>,
    /// Score plugins that PreScore told to be left out.
    pub skipped: BTreeSet<&'static str>,
    /// Raw, normalized and weighted scores, and totals.
    pub scores: ScoreOutcome,
    /// What each extender adds to the total of each node.
    pub extenders: Vec<(Str, Vec<i64>)>,
}

/// Why a node was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionReason {
    /// It was the only feasible one, so nothing was scored.
    OnlyFeasible,
    /// The pod was nominated to it and it passed the filters.
    Nominated,
    /// The ranking of the attempt before proposed it and it passed the filters (opportunistic batching).
    BatchHint,
    /// It has the highest total.
    HighestTotal,
    /// Several share the highest total: chance.
    Tie,
}

/// The choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionTrace {
    /// The chosen node.
    pub host: Str,
    /// Why.
    pub reason: SelectionReason,
    /// Its total, where nodes were scored.
    pub total: Option<i64>,
    /// All nodes with the highest total, by name; the chosen one included.
    pub ties: Vec<Str>,
    /// The best node below the highest total, and its total.
    pub runner_up: Option<(Str, i64)>,
}

/// How an attempt ended, or stands.
#[derive(Clone, Debug, PartialEq)]
pub enum CycleOutcome {
    /// The attempt is not over.
    InProgress,
    /// The trial of a member of a pod group: it fits there. What becomes of it depends on the others.
    Tried {
        /// The node.
        node: Str,
    },
    /// Permit plugins hold the pod on that node.
    Waiting {
        /// The node.
        node: Str,
    },
    /// The binding cycle runs.
    Binding {
        /// The node.
        node: Str,
    },
    /// The pod is bound.
    Bound {
        /// The node.
        node: Str,
    },
    /// No node will do, or a plugin turned the pod down.
    Unschedulable {
        /// The text of the event and the condition.
        message: String,
        /// The node that the pod is nominated to.
        nominated_node: Option<Str>,
    },
    /// Something failed; the pod is retried.
    Error {
        /// What.
        message: String,
    },
    /// The pod was not tried at all.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl CycleOutcome {
    /// Whether the attempt is over.
    pub const fn is_final(&self) -> bool {
        matches!(
            self,
            Self::Bound { .. } | Self::Unschedulable { .. } | Self::Error { .. } | Self::Skipped { .. }
        )
    }
}

/// The evidence of one attempt, as far as it has come.
#[derive(Clone, Debug)]
pub struct CycleTrace {
    /// Attempts are numbered from 1.
    pub number: u64,
    /// When it began.
    pub started: Time,
    /// The pod, as the attempt saw it.
    pub pod_info: Arc<PodInfo>,
    /// How often the pod has been tried, this time included.
    pub attempt: u32,
    /// How long the pod had been in the queue since it came or failed last.
    pub queued_for: Duration,
    /// Where it was popped from.
    pub popped_from: PoppedFrom,
    /// The profile (`schedulerName`).
    pub profile: Str,
    /// Its plugins that explain themselves.
    pub explainers: Explainers,
    /// The nodes as the attempt saw them.
    pub snapshot: Snapshot,
    /// The last phase that was done.
    pub phase: Phase,
    /// What comes next; absent when the attempt is over.
    pub next: Option<Phase>,
    /// What each PreFilter plugin answered.
    pub pre_filter: Option<Vec<PluginVerdict>>,
    /// What each Filter plugin answered.
    pub filter: Option<FilterTrace>,
    /// What PostFilter did.
    pub post_filter: Option<PostFilterTrace>,
    /// What each PreScore plugin answered.
    pub pre_score: Option<Vec<PluginVerdict>>,
    /// The scores.
    pub score: Option<ScoreTrace>,
    /// The choice.
    pub selection: Option<SelectionTrace>,
    /// What each Reserve plugin answered.
    pub reserve: Option<Vec<PluginVerdict>>,
    /// What each Permit plugin answered.
    pub permit: Option<Vec<PluginVerdict>>,
    /// What each PreBind plugin answered.
    pub pre_bind: Option<Vec<PluginVerdict>>,
    /// Which plugin bound the pod, and what came of it.
    pub bind: Option<Vec<PluginVerdict>>,
    /// The PostBind plugins that heard of it.
    pub post_bind: Option<Vec<&'static str>>,
    /// What plugins remember of this attempt.
    pub cycle_state: CycleState,
    /// What they remembered when Filter was over: what its answers come from.
    pub filter_state: CycleState,
    /// How it stands.
    pub outcome: CycleOutcome,
}

impl CycleTrace {
    /// Namespace and name of the pod.
    pub fn pod_key(&self) -> NamespacedName {
        self.pod_info.pod.key()
    }

    /// Uid of the pod.
    pub fn uid(&self) -> &Uid {
        self.pod_info.uid()
    }

    /// The nodes that the attempt saw, in its order.
    pub fn nodes(&self) -> &[Arc<NodeInfo>] {
        self.snapshot.list()
    }
}
