//! The scheduling queue: where every pod that is not yet on a node is, and when it is tried next.
//!
//! Mirrors `pkg/scheduler/backend/queue`. A pod is in exactly one place:
//! - *activeQ*: it is tried next, in the order of the QueueSort plugin;
//! - *backoffQ*: it failed not long ago and waits for its backoff to end. Pods that ended with an error wait in a
//!   queue of their own, which is never popped early;
//! - *unschedulablePods*: it was turned down, or a PreEnqueue plugin holds it, and it waits for an event;
//! - *in flight*: it was popped, and the attempt is not over.
//!
//! The queue reads no clock and calls nobody but plugins: time comes with every call. It does not own the
//! [`Nominator`], since plugins read that during a call; what an operation means for the nominations is returned
//! as [`NominationChanges`].

mod active_queue;
mod backoff_queue;
mod digest;
mod judge;
mod move_log;
mod nominator;
mod pending;
mod pod_groups;
mod scheduling_queue;
mod sorted_pods;
#[cfg(test)]
mod tests;
mod unschedulable_pods;

pub use move_log::{HintAnswer, HintResult, MoveLogLevel, QueueMove};
pub use nominator::{NominationChanges, Nominator};
pub use pending::{BackoffPod, InFlightPod, PendingPods, UnschedulablePod};
pub use scheduling_queue::SchedulingQueue;

use std::collections::BTreeMap;
use std::fmt;

use crate::api::{Duration, NamespacedName, Str};
use crate::framework::runtime::QueueingHintMap;
use crate::framework::{Framework, Handle, QueuedPodInfo};

/// How long pods wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueOptions {
    /// The backoff after the first failure; it doubles with each further one.
    pub pod_initial_backoff: Duration,
    /// The longest backoff; zero switches backoff off.
    pub pod_max_backoff: Duration,
    /// How long a pod may stay in unschedulablePods before it is tried without a reason.
    pub pod_max_in_unschedulable_pods_duration: Duration,
    /// Whether backoffQ is popped when activeQ is empty, and backoff therefore counted in whole seconds
    /// (`SchedulerPopFromBackoffQ`).
    pub pop_from_backoff_q: bool,
    /// Whether pods of groups are scheduled together (`GenericWorkload`): a member that comes back waits for the end of
    /// its backoff and for nothing else.
    pub has_pod_groups: bool,
}

impl Default for QueueOptions {
    fn default() -> Self {
        Self {
            pod_initial_backoff: Duration::from_secs(1),
            pod_max_backoff: Duration::from_secs(10),
            pod_max_in_unschedulable_pods_duration: Duration::from_secs(5 * 60),
            pop_from_backoff_q: true,
            has_pod_groups: false,
        }
    }
}

/// What the queue needs of a profile.
#[derive(Clone, Debug, Default)]
pub struct QueueProfile {
    /// The profile's plugins; PreEnqueue is run from here.
    pub framework: Framework,
    /// Which events they listen to.
    pub hints: QueueingHintMap,
}

/// What queue operations need of the outside.
#[derive(Clone, Copy)]
pub struct QueueEnv<'a> {
    /// What PreEnqueue plugins and hints see; its framework is replaced by that of the pod's profile.
    pub handle: Handle<'a>,
    /// The profiles by `schedulerName`.
    pub profiles: &'a BTreeMap<Str, QueueProfile>,
}

/// One of the queues that a pod can enter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QueueName {
    /// activeQ.
    Active,
    /// backoffQ, either of the two.
    Backoff,
    /// unschedulablePods.
    Unschedulable,
}

impl QueueName {
    /// The queue's name in logs and metrics.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "Active",
            Self::Backoff => "Backoff",
            Self::Unschedulable => "Unschedulable",
        }
    }
}

impl fmt::Display for QueueName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What an event does to a pod, all plugins taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueingStrategy {
    /// It stays where it is.
    Skip,
    /// It goes to activeQ, or to backoffQ if its backoff is not over.
    AfterBackoff,
    /// It goes to activeQ.
    Immediately,
}

impl QueueingStrategy {
    /// The strategy as upstream spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skip => "Skip",
            Self::AfterBackoff => "QueueAfterBackoff",
            Self::Immediately => "QueueImmediately",
        }
    }
}

impl fmt::Display for QueueingStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a pod was popped from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoppedFrom {
    /// activeQ.
    ActiveQ,
    /// backoffQ, because activeQ was empty.
    BackoffQ,
}

impl PoppedFrom {
    /// The queue's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ActiveQ => "activeQ",
            Self::BackoffQ => "backoffQ",
        }
    }
}

/// A pod that was taken out to be scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct Popped {
    /// The pod; its attempt is counted, and the plugins that turned it down last time are still there (the failure
    /// handler replaces them).
    pub info: QueuedPodInfo,
    /// Where it was.
    pub from: PoppedFrom,
}

/// Why a pod could not be put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// A pod of that name is there already.
    #[error("Pod {pod} is already present in {}", place(*.queue))]
    AlreadyPresent {
        /// The pod.
        pod: NamespacedName,
        /// Where it is.
        queue: QueueName,
    },
}

const fn place(queue: QueueName) -> &'static str {
    match queue {
        QueueName::Active => "the active queue",
        QueueName::Backoff => "the backoff queue",
        QueueName::Unschedulable => "unschedulable queue",
    }
}
