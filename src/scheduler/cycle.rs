//! The attempt under way: what the phases hand to each other.

use std::sync::Arc;

use crate::api::{Kind, Str, Time};
use crate::framework::meter::Stamp;
use crate::framework::runtime::ScoreOutcome;
use crate::framework::{
    CycleState, Diagnosis, FitError, NodeInfo, NominatingInfo, PodInfo, PreFilterResult, QueuedPodInfo,
    Status,
};
use crate::queue::QueueProfile;

use super::trace::{CycleTrace, Phase};

/// A scheduling attempt between two phases.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    /// The popped pod.
    pub queued: QueuedPodInfo,
    /// `schedulerName` of its profile.
    pub profile_name: Str,
    pub state: CycleState,
    /// When it began, by the clock of whoever measures.
    pub stamp: Option<Stamp>,
    /// What comes next.
    pub next: Phase,
    pub diagnosis: Diagnosis,
    pub pre_filter_result: Option<PreFilterResult>,
    /// The nodes that passed Filter.
    pub feasible: Vec<Arc<NodeInfo>>,
    pub scores: Option<ScoreOutcome>,
    /// Whether `feasible` has only the pod's nominated node, because that passed.
    pub is_nominated_node: bool,
    /// The attempt's number.
    pub number: u64,
    /// The pod's signature, where pods are batched and all plugins can sign it.
    pub signature: Option<Str>,
    /// The node that the last ranking proposed.
    pub node_hint: Option<Str>,
    /// The chosen node.
    pub host: Option<Str>,
    /// The pod with the chosen node in its spec.
    pub assumed: Option<Arc<PodInfo>>,
    /// Whether the binding cycle waits for a person to step it.
    pub is_stepped: bool,
    /// Where the nodes are that may be looked at, if these are not all (the placement of a pod group).
    pub placement: Option<Arc<[usize]>>,
    /// The chosen node as it was, while the pod is assumed in the snapshot alone.
    pub node_before: Option<Arc<NodeInfo>>,
    /// The evidence, if somebody wants it.
    pub trace: Option<Box<CycleTrace>>,
}

impl Cycle {
    /// The pod as it was popped.
    pub fn pod_info(&self) -> &Arc<PodInfo> {
        &self.queued.pod_info
    }

    /// Changes the evidence, if there is any.
    pub fn note(&mut self, change: impl FnOnce(&mut CycleTrace)) {
        if let Some(trace) = &mut self.trace {
            change(trace);
        }
    }
}

/// An attempt that waits until its victims are out of the way.
#[derive(Clone, Debug)]
pub(super) struct Suspended {
    pub cycle: Cycle,
    /// What becomes of the nomination if they get there.
    pub nominating_info: NominatingInfo,
}

/// A pod on its way from Permit to PostBind.
#[derive(Clone, Debug)]
pub(super) struct BindingCycle {
    pub cycle: Cycle,
    pub host: Str,
    pub since: Time,
    /// What comes next, or is under way.
    pub stage: BindingStage,
    /// When the stage began, by the clock of whoever measures.
    pub stage_stamp: Option<Stamp>,
    /// The first extender that has not been asked to bind.
    pub next_binder: usize,
    /// Whether any PreBind plugin has work.
    pub has_pre_bind_work: bool,
    /// Since when its turn has come, if it waits for that.
    pub ready_since: Option<Time>,
    /// Whether it only goes on with the turn that it has.
    pub goes_on: bool,
    /// Whether it has waited for something before.
    pub has_waited: bool,
    /// The PreBind plugin that it has waited in last, if any.
    pub waited_in: Option<&'static str>,
    /// The PreBind plugins that have been asked.
    pub pre_bind_begun: Vec<&'static str>,
    /// What the first PreBind plugin said that failed, while others that run beside it have not ended.
    pub pre_bind_failure: Option<Status>,
    /// How PreBind has ended, while the turn to go on is awaited.
    pub pre_bind_outcome: Option<Result<(), Failure>>,
    /// Set when a preemption cancels the pod in PreBind; the reason.
    pub cancelled: Option<String>,
    /// When PreBind plugins that wait want to be asked again at the latest.
    pub wake_at: Option<Time>,
    /// The kinds of objects that they watch meanwhile.
    pub watched: Vec<Kind>,
}

/// Where a binding cycle stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum BindingStage {
    /// Before anything else.
    Begin,
    /// The nomination that tells where the pod is about to go is on its way.
    NominationCalled,
    /// Permit plugins may still hold it.
    WaitOnPermit,
    /// PreBind plugins run.
    PreBind,
    /// A Bind plugin is to be asked.
    Bind,
    /// The call is on its way.
    BindCalled,
    /// The call has succeeded.
    PostBind,
}

/// Why an attempt failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Failure {
    /// The cluster has no nodes (`ErrNoNodesAvailable`).
    NoNodes,
    /// The pod fits nowhere, or was turned down at Reserve or Permit.
    Fit(FitError),
    /// Anything else.
    Status(Status),
}

impl Failure {
    /// The text of the event and the condition.
    pub fn message(&self) -> String {
        match self {
            Self::NoNodes => "no nodes available to schedule pods".to_owned(),
            Self::Fit(fit_error) => fit_error.message(),
            Self::Status(status) => status.message(),
        }
    }

    /// Whether it counts as a rejection (reason `Unschedulable`) rather than an error (`SchedulerError`).
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::NoNodes | Self::Fit(_) => true,
            Self::Status(status) => status.is_rejected(),
        }
    }
}

/// Looks a profile up that was there when the cycle began; profiles do not change while the scheduler runs.
pub(super) fn framework_of<'a>(
    profiles: &'a std::collections::BTreeMap<Str, QueueProfile>,
    name: &str,
) -> Option<&'a crate::framework::Framework> {
    profiles.get(name).map(|profile| &profile.framework)
}
