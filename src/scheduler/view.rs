//! The read model: what a person sees of the scheduler at one moment.
//!
//! A view is made on request, shares all objects by reference, and is never changed: a screen holds an
//! `Arc<View>` for as long as it draws. Nothing in the scheduler reads it back.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::objects::{Pod, PodDisruptionBudget, PodGroup, ResourceClaim};
use crate::api::{Duration, Kind, NamespacedName, Str, Time};
use crate::framework::explained::About;
use crate::framework::{ClusterEvent, NodeInfo};

use super::pod_group_trace::GroupTrace;
use super::pod_log::PodLog;
use super::trace::{CycleOutcome, CycleTrace, Phase};
use crate::queue::QueueMove;

/// A pod in one of the three queues.
#[derive(Clone, Debug)]
pub struct QueueRow {
    /// The pod.
    pub pod: Arc<Pod>,
    /// Attempts so far.
    pub attempts: u32,
    /// When it came into the queue, or failed last.
    pub since: Time,
    /// When its backoff ends (backoffQ only).
    pub backoff_expiration: Option<Time>,
    /// How long that backoff is in all (backoffQ only).
    pub backoff_duration: Option<Duration>,
    /// Whether it backs off because of an error rather than a rejection.
    pub is_error_backoff: bool,
    /// Errors in a row.
    pub consecutive_errors: u32,
    /// The PreEnqueue plugin that holds it.
    pub gated_by: Option<Str>,
    /// The plugins that turned it down.
    pub unschedulable_plugins: Vec<Str>,
    /// The plugins that answered Pending.
    pub pending_plugins: Vec<Str>,
    /// The node that it is nominated to.
    pub nominated_node: Option<Str>,
    /// What its last attempt said.
    pub message: Option<Str>,
    /// When the flush of pods that waited too long would move it (unschedulable ones that are not gated).
    pub flush_at: Option<Time>,
}

/// A pod that Permit plugins hold.
#[derive(Clone, Debug)]
pub struct WaitingRow {
    /// The pod.
    pub pod: Arc<Pod>,
    /// The node that it is assumed on.
    pub node: Str,
    /// Since when.
    pub since: Time,
    /// The plugins that hold it, and when each gives up.
    pub plugins: Vec<(Str, Time)>,
}

/// A pod between Permit and PostBind.
#[derive(Clone, Debug)]
pub struct BindingRow {
    /// The pod.
    pub pod: Arc<Pod>,
    /// The node that it is assumed on.
    pub node: Str,
    /// Since when the binding cycle runs.
    pub since: Time,
    /// Where it is.
    pub phase: Phase,
    /// What PreBind plugins wait for, as far as they tell.
    pub waits: Vec<BindingWait>,
}

/// What a PreBind plugin waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingWait {
    /// The plugin.
    pub plugin: &'static str,
    /// What for, one after the other.
    pub what: Vec<String>,
    /// When it gives up; absent while that is not settled.
    pub until: Option<Time>,
    /// When it looks again.
    pub next_look: Option<Time>,
}

/// Something that the scheduler takes for granted of an object and no watch has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// The plugin that assumes it.
    pub plugin: &'static str,
    /// The kind of the object.
    pub kind: Kind,
    /// The object.
    pub object: NamespacedName,
    /// What is assumed.
    pub what: String,
}

/// One line about a past attempt.
#[derive(Clone, Debug)]
pub struct CycleSummary {
    /// The attempt.
    pub number: u64,
    /// When it began.
    pub started: Time,
    /// The pod.
    pub pod: NamespacedName,
    /// The node that was chosen, whatever became of it.
    pub host: Option<Str>,
    /// How it ended.
    pub outcome: CycleOutcome,
}

/// A Kubernetes Event that the scheduler wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectEvent {
    /// When.
    pub at: Time,
    /// `Normal` or `Warning`.
    pub type_: &'static str,
    /// Such as `Scheduled` or `FailedScheduling`.
    pub reason: &'static str,
    /// What it did, such as `Binding`.
    pub action: &'static str,
    /// The pod that the event is about.
    pub regarding: NamespacedName,
    /// Another pod that it has to do with: for the victim of a preemption the pod that room is made for.
    pub related: Option<NamespacedName>,
    /// The text.
    pub note: String,
}

/// A pod that moved from one queue to another, or did not when it might have.
#[derive(Clone, Debug)]
pub struct QueueMoveLine {
    /// When.
    pub at: Time,
    /// The pod.
    pub pod: NamespacedName,
    /// In a person's words, such as `to activeQ by NodeAdd (NodeResourcesFit: Queue)`.
    pub text: String,
    /// What it was.
    pub entry: QueueMove,
}

/// How many there are of what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pods in activeQ.
    pub active: usize,
    /// Pods in backoffQ.
    pub backoff: usize,
    /// Pods in unschedulablePods, gated ones included.
    pub unschedulable: usize,
    /// Gated pods.
    pub gated: usize,
    /// Pods that wait at Permit.
    pub waiting: usize,
    /// Binding cycles that run, waiting ones not counted.
    pub binding: usize,
    /// Nodes.
    pub nodes: usize,
    /// Pods on nodes, assumed ones included.
    pub assigned: usize,
    /// Pods that this scheduler has bound.
    pub bound: u64,
    /// Attempts.
    pub cycles: u64,
    /// Attempts that have failed, in the scheduling or the binding cycle.
    pub failed: u64,
    /// Pods that it has evicted to make room.
    pub preempted: u64,
    /// Nodes that Filter looked at, over all attempts.
    pub evaluated: u64,
}

/// A plugin that is not kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnPlugin {
    /// Its name.
    pub name: &'static str,
    /// What it says of itself.
    pub about: Option<About>,
    /// Whether it is at Filter.
    pub filters: bool,
    /// Whether it is at Score.
    pub scores: bool,
}

/// The events that each plugin of each profile listens to.
pub type Listeners = BTreeMap<Str, BTreeMap<Str, Vec<ClusterEvent>>>;

/// The scheduler at one moment.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The time of the last input.
    pub now: Time,
    /// Counts.
    pub counts: Counts,
    /// activeQ in the order of popping.
    pub active_q: Vec<QueueRow>,
    /// backoffQ by expiry.
    pub backoff_q: Vec<QueueRow>,
    /// unschedulablePods by name.
    pub unschedulable_pods: Vec<QueueRow>,
    /// Waiting pods.
    pub waiting: Vec<WaitingRow>,
    /// Binding cycles.
    pub binding: Vec<BindingRow>,
    /// The pods whose attempts are not over, in the order in which they were popped.
    pub in_flight: Vec<Arc<Pod>>,
    /// The nodes with their pods, as the cache has them, by name.
    pub nodes: Vec<Arc<NodeInfo>>,
    /// The attempt under way, or the last one.
    pub cycle: Option<Arc<CycleTrace>>,
    /// The cycle of a pod group under way, or the last one; without pod groups there is none.
    pub group: Option<Arc<GroupTrace>>,
    /// Past attempts, the newest last; bounded.
    pub history: Arc<VecDeque<CycleSummary>>,
    /// Events written, the newest last; bounded.
    pub events: Arc<VecDeque<ObjectEvent>>,
    /// What is remembered of each pod, by its name; bounded.
    pub pod_logs: Arc<BTreeMap<NamespacedName, Arc<PodLog>>>,
    /// The events that each plugin listens to, by profile and plugin.
    pub listeners: Arc<Listeners>,
    /// The plugins that are not kube-scheduler's, by name.
    pub own_plugins: Arc<[OwnPlugin]>,
    /// What plugins have assumed of volumes and claims and no watch has reported.
    pub assumptions: Vec<Assumption>,
    /// The claims for devices that have some, as they are or are assumed to be.
    pub device_claims: Vec<Arc<ResourceClaim>>,
    /// The disruption budgets, by name.
    pub pdbs: Vec<Arc<PodDisruptionBudget>>,
    /// The pod groups, by name.
    pub pod_groups: Vec<Arc<PodGroup>>,
    /// Moves between queues, the newest last; bounded.
    pub moves: Arc<VecDeque<QueueMoveLine>>,
    /// How many lines of history, events and moves have been let go to stay within bounds.
    pub n_dropped: u64,
}
