//! The extension points of the Scheduling Framework as traits.
//!
//! Mirrors `staging/src/k8s.io/kube-scheduler/framework/interface.go`. A plugin implements [`Plugin`] and the
//! traits of the points that it wants, and names those points by overriding the accessors of `Plugin`:
//!
//! ```
//! use schedscope::framework::{CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, Status};
//!
//! #[derive(Debug)]
//! struct EvenNames;
//!
//! impl Plugin for EvenNames {
//!     fn name(&self) -> &'static str {
//!         "EvenNames"
//!     }
//!     fn as_filter(&self) -> Option<&dyn FilterPlugin> {
//!         Some(self)
//!     }
//! }
//!
//! impl FilterPlugin for EvenNames {
//!     fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
//!         if node.name().len() % 2 == 0 { Status::SUCCESS } else { Status::unresolvable("node name is odd") }
//!     }
//! }
//! ```
//!
//! A plugin is immutable and shared: what it must remember within an attempt goes into the [`CycleState`], so that
//! the scheduler as a whole can be copied and replayed.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, Kind, Str, Time};

use super::cycle_state::CycleState;
use super::diagnosis::NodeToStatus;
use super::events::ClusterEventWithHint;
use super::explained::ExplainPlugin;
use super::handle::Handle;
use super::node_info::NodeInfo;
use super::plugin_state::PluginStates;
use super::pod_group::{Placement, PlacementScore, PodGroupAssignments, PodGroupInfo};
use super::pod_info::{PodInfo, QueuedPodInfo};
use super::preemption::PreemptionEvidence;
use super::status::Status;

/// The highest score that a plugin may give after normalization.
pub const MAX_NODE_SCORE: i64 = 100;
/// The lowest score that a plugin may give.
pub const MIN_NODE_SCORE: i64 = 0;

macro_rules! accessors {
    ($($(#[$doc:meta])* $accessor:ident -> $trait:ident;)+) => {
        /// A plugin: a name and the extension points that it takes part in.
        pub trait Plugin: Debug + Send + Sync {
            /// The name under which configurations, messages and traces know the plugin.
            fn name(&self) -> &'static str;
            /// Adds what the plugin remembers from one attempt to the next. Called once when a scheduler is made.
            fn add_states(&self, _states: &mut PluginStates) {}
            $($(#[$doc])* fn $accessor(&self) -> Option<&dyn $trait> { None })+
        }
    };
}

accessors! {
    /// The plugin at PreEnqueue.
    as_pre_enqueue -> PreEnqueuePlugin;
    /// The plugin at QueueSort.
    as_queue_sort -> QueueSortPlugin;
    /// The events that the plugin listens to.
    as_enqueue_extensions -> EnqueueExtensions;
    /// The plugin at PreFilter.
    as_pre_filter -> PreFilterPlugin;
    /// The plugin at Filter.
    as_filter -> FilterPlugin;
    /// The plugin at PostFilter.
    as_post_filter -> PostFilterPlugin;
    /// The plugin at PreScore.
    as_pre_score -> PreScorePlugin;
    /// The plugin at Score.
    as_score -> ScorePlugin;
    /// The plugin at Reserve.
    as_reserve -> ReservePlugin;
    /// The plugin at Permit.
    as_permit -> PermitPlugin;
    /// The plugin at PreBind.
    as_pre_bind -> PreBindPlugin;
    /// The plugin at Bind.
    as_bind -> BindPlugin;
    /// The plugin at PostBind.
    as_post_bind -> PostBindPlugin;
    /// The plugin at PlacementGenerate.
    as_placement_generate -> PlacementGeneratePlugin;
    /// The plugin at PlacementScore.
    as_placement_score -> PlacementScorePlugin;
    /// The plugin's part in the signature of a pod.
    as_sign -> SignPlugin;
    /// What the plugin says of itself to people.
    as_explain -> ExplainPlugin;
}

/// Decides whether a pod may enter activeQ.
pub trait PreEnqueuePlugin: Plugin {
    /// Anything but success keeps the pod among the unschedulable pods, gated by this plugin.
    fn pre_enqueue(&self, handle: &Handle<'_>, pod: &Arc<Pod>) -> Status;
}

/// Orders activeQ. Every profile of a scheduler has the same one.
pub trait QueueSortPlugin: Plugin {
    /// Whether `a` is to be tried before `b`.
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool;
}

/// Names the events that may make a pod schedulable that the plugin rejected.
pub trait EnqueueExtensions: Plugin {
    /// The events, each with the function that judges it for a pod.
    fn events_to_register(&self) -> Vec<ClusterEventWithHint>;
}

/// Names of the nodes that are worth a look; they need not exist. Absent means all nodes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PreFilterResult {
    /// The names.
    pub node_names: BTreeSet<Str>,
}

/// Looks at the pod once before any node is filtered.
pub trait PreFilterPlugin: Plugin {
    /// Skip leaves this plugin out of Filter for this pod; a rejection ends the attempt for all nodes.
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status);

    /// How its state follows pods that are put onto a node or taken off in thought.
    fn pre_filter_extensions(&self) -> Option<&dyn PreFilterExtensions> {
        None
    }
}

/// Keeps a PreFilter state right while preemption and nominated pods change a node in thought.
pub trait PreFilterExtensions {
    /// `pod_to_add` is put onto the node.
    fn add_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_add: &PodInfo,
        node: &NodeInfo,
    ) -> Status;
    /// `pod_to_remove` is taken off the node.
    fn remove_pod(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod_to_schedule: &PodInfo,
        pod_to_remove: &PodInfo,
        node: &NodeInfo,
    ) -> Status;
}

/// Decides whether a pod can run on a node.
pub trait FilterPlugin: Plugin {
    /// Success, Unschedulable, UnschedulableAndUnresolvable or Error.
    fn filter(&self, handle: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status;

    /// A person is to see why it answered as it did. What the answers for these nodes came from goes into `state`, as far
    /// as it is not there yet and cannot be told from pod and nodes. Called when Filter is over, before anything changes.
    fn keep_evidence(
        &self,
        _handle: &Handle<'_>,
        _state: &mut CycleState,
        _pod: &PodInfo,
        _nodes: &[Arc<NodeInfo>],
    ) {
    }
}

/// How a nomination changes `status.nominatedNodeName`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum NominatingInfo {
    /// It stays as it is (`ModeNoop`).
    #[default]
    Noop,
    /// It becomes this; empty clears it (`ModeOverride`).
    Override(Str),
}

impl NominatingInfo {
    /// The nomination is cleared.
    pub fn clear() -> Self {
        Self::Override(Str::from(""))
    }
}

/// What PostFilter achieved.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PostFilterResult {
    /// What becomes of the pod's nomination.
    pub nominating_info: NominatingInfo,
    /// What was found on the way.
    pub evidence: Option<Arc<PreemptionEvidence>>,
}

/// Tries to make room for a pod that fits nowhere.
pub trait PostFilterPlugin: Plugin {
    /// Success ends PostFilter; Unschedulable lets the next plugin try.
    fn post_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status);

    /// Whether it may call [`Handle::write`] for the pod of this state, so that PostFilter can be run again.
    fn may_write(&self, _state: &CycleState) -> bool {
        false
    }
}

/// Looks at the pod and the feasible nodes once before they are scored.
pub trait PreScorePlugin: Plugin {
    /// Skip leaves this plugin out of Score for this pod.
    fn pre_score(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) -> Status;
}

/// A node's score.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeScore {
    /// The node.
    pub name: Str,
    /// The score: anything before normalization, 0 to 100 after it.
    pub score: i64,
}

/// Ranks the feasible nodes.
pub trait ScorePlugin: Plugin {
    /// The raw score of a node; an error ends the attempt.
    fn score(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status>;

    /// How raw scores become 0 to 100; absent if they are that already.
    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        None
    }
}

/// Brings the raw scores of all nodes into the range 0 to 100.
pub trait ScoreExtensions {
    /// Changes the scores in place.
    fn normalize_score(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status;
}

/// Takes what the pod will use on the chosen node out of what others can get.
pub trait ReservePlugin: Plugin {
    /// A rejection or an error makes all Reserve plugins give back.
    fn reserve(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo, node_name: &Str) -> Status;
    /// Gives back; must do no harm when nothing was taken.
    fn unreserve(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo, node_name: &Str);
}

/// Lets an assumed pod pass, holds it for a time, or turns it down.
pub trait PermitPlugin: Plugin {
    /// With Wait, for how long at the most.
    fn permit(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (Status, Duration);
}

/// What PreBindPreFlight tells about the PreBind to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PreBindPreFlightResult {
    /// Whether it may run beside other PreBind plugins that allow the same.
    pub allow_parallel: bool,
}

/// How far a PreBind plugin has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PreBindProgress {
    /// It has ended with this status.
    Done(Status),
    /// It waits. It is asked again when a write that it has asked for has an outcome, when an object of the
    /// [`PreBindPlugin::watched_kinds`] changes, when the pod is to make room for another, or at `wake_at`; nothing
    /// else lets it go on.
    Pending {
        /// When to ask again at the latest.
        wake_at: Option<Time>,
    },
}

/// Does what must be done before the pod is bound, such as binding its volumes.
pub trait PreBindPlugin: Plugin {
    /// Whether PreBind has anything to do: Success or Skip.
    fn pre_bind_pre_flight(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
    ) -> (PreBindPreFlightResult, Status);

    /// The kinds of objects whose changes may let it go on while it waits.
    fn watched_kinds(&self) -> &'static [Kind] {
        &[]
    }

    /// Begins or goes on, and tells how far it has come. `cancelled` has the reason when the pod was preempted
    /// meanwhile, or another plugin that runs beside it has failed; the plugin should then end with an error of that
    /// text.
    fn pre_bind(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
        cancelled: Option<&str>,
    ) -> PreBindProgress;
}

/// What a Bind plugin does with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BindAction {
    /// The next Bind plugin is asked.
    Skip,
    /// The pod is bound by a `Binding` to the API server.
    PostBinding,
    /// It has ended with this status without a call.
    Done(Status),
}

/// Binds the pod to its node.
pub trait BindPlugin: Plugin {
    /// Decides how the pod is bound.
    fn bind(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo, node_name: &Str)
    -> BindAction;
}

/// Hears that a pod was bound.
pub trait PostBindPlugin: Plugin {
    /// Only information; nothing can fail here.
    fn post_bind(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo, node_name: &Str);
}

/// Proposes places for a whole pod group.
pub trait PlacementGeneratePlugin: Plugin {
    /// Divides `parent` into placements that are tried one by one.
    ///
    /// # Errors
    /// The status that ends the group's attempt.
    fn generate_placements(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        parent: &Placement,
    ) -> Result<Vec<Placement>, Status>;
}

/// Ranks the placements that have room for enough pods of a group.
pub trait PlacementScorePlugin: Plugin {
    /// The raw score of a placement.
    ///
    /// # Errors
    /// The status that ends the group's attempt.
    fn score_placement(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        assignments: &PodGroupAssignments,
    ) -> Result<i64, Status>;

    /// How raw scores become 0 to 100; absent if they are that already.
    fn placement_score_extensions(&self) -> Option<&dyn PlacementScoreExtensions> {
        None
    }
}

/// Brings the raw scores of all placements into the range 0 to 100.
pub trait PlacementScoreExtensions {
    /// Changes the scores in place.
    fn normalize_placement_score(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        scores: &mut [PlacementScore],
    ) -> Status;
}

/// A part of a pod's signature: pods of equal signature get equal answers from the plugin.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignFragment {
    /// What is signed.
    pub key: &'static str,
    /// Its canonical text.
    pub value: String,
}

/// Tells which fields of a pod the plugin's answers depend on.
pub trait SignPlugin: Plugin {
    /// Whether the pod can be signed as things stand in the cluster; asked before [`SignPlugin::sign_pod`].
    fn is_signable(&self, _handle: &Handle<'_>, _pod: &Pod) -> bool {
        true
    }

    /// The fragments; a status that is no success makes the pod unsignable.
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status>;
}
