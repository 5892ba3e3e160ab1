//! What a plugin sees of the scheduler, and what it may ask of it.
//!
//! Mirrors `fwk.Handle`. A plugin holds no references into the scheduler: each call gets a [`Handle`] that is good
//! for that call. Deeds are requests, carried out by the core when the plugin has returned.

use std::cell::RefCell;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, ObjectStore, Rng, Str, Time, Uid};

use super::answers::{Answer, Answers, Question};
use super::api_write::{ApiWrite, WriteResult};
use super::cycle_state::CycleState;
use super::extender::{Extender, ExtenderAnswer, ExtenderCall};
use super::plugin_state::{ObjectChange, PluginState, PluginStates};
use super::pod_group::PodGroupStates;
use super::pod_info::PodInfo;
use super::preemption::{Candidate, PreemptionState};
use super::runtime::Framework;
use super::runtime::waiting_pods::WaitingPods;
use super::snapshot::Snapshot;

/// The pods that are nominated to nodes (`fwk.PodNominator`, reading side).
pub trait PodNominator {
    /// The pods that are nominated to that node, in the order in which they were.
    fn nominated_pods_for_node(&self, node_name: &str) -> &[Arc<PodInfo>];
}

/// No pod is nominated.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNominations;

impl PodNominator for NoNominations {
    fn nominated_pods_for_node(&self, _node_name: &str) -> &[Arc<PodInfo>] {
        &[]
    }
}

/// Which of several nodes that are equal by all rules is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TieBreak {
    /// One by chance, from the core's own seeded numbers, as kube-scheduler does from its own.
    #[default]
    Random,
    /// The first by name, for comparisons with other implementations.
    ByName,
}

/// A deed that a plugin asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum HandleRequest {
    /// `WaitingPod.Allow`: the plugin lets a waiting pod go on.
    AllowWaitingPod {
        /// Which pod.
        uid: Uid,
        /// Which plugin.
        plugin: Str,
    },
    /// `WaitingPod.Reject`: the plugin turns a waiting pod down.
    RejectWaitingPod {
        /// Which pod.
        uid: Uid,
        /// Which plugin.
        plugin: Str,
        /// Why.
        message: String,
    },
    /// `PodActivator.Activate`: the pods are tried at once, wherever they are in the queue.
    Activate(Vec<Arc<Pod>>),
    /// `PodsToActivate`: the same, when this cycle has succeeded.
    ActivateAfterCycle(Vec<Arc<Pod>>),
    /// Evict the victims of a candidate, for a pod that is nominated to its node.
    Preempt {
        /// The pod that needs the room.
        preemptor: Arc<Pod>,
        /// The node and its victims.
        candidate: Candidate,
        /// The plugin that decided so.
        plugin: Str,
        /// Whether the attempt goes on meanwhile (`SchedulerAsyncPreemption`); otherwise it waits until the victims
        /// are out of the way, and fails with an error if one of them cannot be got there.
        is_async: bool,
    },
    /// Write to the API. While the pod's PreBind runs, the outcome comes back through
    /// [`CycleState::take_write_result`](super::CycleState::take_write_result), and PreBind is asked again; at any
    /// other time nobody waits for it.
    Write {
        /// For which pod.
        pod: Uid,
        /// Which plugin.
        plugin: &'static str,
        /// What is written.
        write: ApiWrite,
    },
    /// Record an event about a pod (`EventRecorder`).
    Event {
        /// The pod.
        pod: NamespacedName,
        /// Such as `BindingConditionsPending`; the type is `Normal`.
        reason: &'static str,
        /// What is done, such as `Scheduling`.
        action: &'static str,
        /// The text.
        note: String,
    },
    /// Let the rejected pods judge a change that no watch has reported, such as one that is only assumed.
    TellOf(ObjectChange),
}

/// What a plugin sees during one call.
#[derive(Clone, Copy)]
pub struct Handle<'a> {
    /// The time of the input that is being handled.
    pub now: Time,
    /// The nodes as this cycle sees them.
    pub snapshot: &'a Snapshot,
    /// The objects as the watchers last reported them.
    pub objects: &'a ObjectStore,
    /// The nominated pods.
    pub nominator: &'a dyn PodNominator,
    /// How far the pods of each group have come; empty unless the gate GenericWorkload is on.
    pub pod_groups: &'a PodGroupStates,
    /// The pods of the group whose cycle runs, with those that its trial has assumed so far.
    pub snapshot_pod_groups: &'a PodGroupStates,
    /// The profile's framework, for plugins that run other plugins.
    pub framework: &'a Framework,
    /// The pods that wait at Permit.
    pub waiting_pods: &'a WaitingPods,
    /// The preemptions that are under way.
    pub preemption: &'a PreemptionState,
    /// The extenders, ignorable ones last.
    pub extenders: &'a [Extender],
    /// What plugins remember beyond an attempt.
    pub states: &'a PluginStates,
    /// Answers from outside, as far as they are at hand.
    pub answers: &'a RefCell<Answers>,
    /// How ties end.
    pub tie_break: TieBreak,
    /// The core's random numbers.
    pub rng: &'a RefCell<Rng>,
    /// Deeds asked for so far.
    pub requests: &'a RefCell<Vec<HandleRequest>>,
}

impl Handle<'_> {
    /// Asks an extender. Without an answer the plugin must return at once, with any status: the call is made, and the
    /// plugin is run again from the beginning with the answer at hand.
    pub fn call_extender(&self, call: ExtenderCall) -> Option<ExtenderAnswer> {
        match self.answers.borrow_mut().answer(Question::Extender(call))? {
            Answer::Extender(answer) => Some(answer),
            Answer::Write(_) => None,
        }
    }

    /// Writes to the API within a scheduling cycle, where the plugin has said that it may
    /// ([`PostFilterPlugin::may_write`](super::PostFilterPlugin::may_write)). Without an outcome the plugin must return
    /// at once, with any status: the write is made, and the plugin is run again from the beginning with the outcome at
    /// hand. It must decide by its [`CycleState`](super::CycleState) alone whether to write, since the objects may
    /// have changed.
    pub fn write(&self, write: ApiWrite) -> Option<WriteResult> {
        match self.answers.borrow_mut().answer(Question::Write(write))? {
            Answer::Write(result) => Some(result),
            Answer::Extender(_) => None,
        }
    }

    /// Reads a state that a plugin keeps. Absent if none of that type was added.
    pub fn state<T: PluginState, R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        self.states.read(read)
    }

    /// Changes a state that a plugin keeps. Absent if none of that type was added.
    pub fn change_state<T: PluginState, R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.states.change(change)
    }

    /// The pod groups as the attempt of `state` sees them: within the cycle of a group with what its trial has assumed.
    pub fn pod_groups_in(&self, state: &CycleState) -> &PodGroupStates {
        if state.pod_group_cycle.is_some() { self.snapshot_pod_groups } else { self.pod_groups }
    }

    /// Asks for a deed.
    pub fn request(&self, request: HandleRequest) {
        self.requests.borrow_mut().push(request);
    }
}
