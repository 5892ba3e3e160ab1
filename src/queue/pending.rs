//! The read side of the queue: what a person sees of it.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, Time};
use crate::framework::QueuedPodInfo;

/// A pod in backoffQ.
#[derive(Clone, Debug, PartialEq)]
pub struct BackoffPod {
    /// The pod; `backoff_expiration` is when the backoff ends.
    pub info: Arc<QueuedPodInfo>,
    /// What is left of the backoff; zero in the second in which it expires.
    pub remaining: Duration,
    /// How long the backoff is in all, before it is cut to the whole second.
    pub duration: Duration,
    /// Whether it is in the queue of pods that ended with an error, which is never popped early.
    pub is_error: bool,
}

/// A pod in unschedulablePods; a gated one has a `gating_plugin`.
#[derive(Clone, Debug, PartialEq)]
pub struct UnschedulablePod {
    /// The pod.
    pub info: Arc<QueuedPodInfo>,
    /// When the flush of pods that waited too long would move it; absent if it would not.
    pub flush_at: Option<Time>,
}

/// A pod whose attempt is not over.
#[derive(Clone, Debug, PartialEq)]
pub struct InFlightPod {
    /// The pod when it was popped.
    pub pod: Arc<Pod>,
    /// When it was popped.
    pub since: Time,
}

/// Every pod of the queue.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PendingPods {
    /// activeQ in the order of popping.
    pub active: Vec<Arc<QueuedPodInfo>>,
    /// backoffQ by expiry, then as activeQ would have it; both of the two queues together.
    pub backoff: Vec<BackoffPod>,
    /// unschedulablePods by name.
    pub unschedulable: Vec<UnschedulablePod>,
    /// The pods in flight, in the order in which they were popped.
    pub in_flight: Vec<InFlightPod>,
}
