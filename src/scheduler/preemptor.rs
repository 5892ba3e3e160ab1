//! Who makes room for itself: a pod, or a pod group as a whole.
//!
//! Mirrors `ExecutorPreemptor` of `pkg/scheduler/framework/preemption/executor.go`.

use std::sync::Arc;

use crate::api::objects::{Pod, PodGroup};
use crate::api::{NamespacedName, Str, Uid};

/// A pod or a pod group that preempts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Preemptor {
    uid: Uid,
    priority: i32,
    /// `schedulerName` of its pods.
    pub scheduler_name: Str,
    /// What events and conditions call it.
    pub kind: &'static str,
    /// The pods that are to be scheduled.
    pub pods: Vec<Arc<Pod>>,
}

impl Preemptor {
    /// The pod, unless it is a group.
    pub fn pod_key(&self) -> Option<NamespacedName> {
        match self.pods.as_slice() {
            [pod] if self.kind == "pod" => Some(pod.key()),
            _ => None,
        }
    }

    /// A pod by itself.
    pub fn pod(pod: Arc<Pod>) -> Self {
        Self {
            uid: pod.uid().clone(),
            priority: pod.priority(),
            scheduler_name: pod.spec.scheduler_name.clone(),
            kind: "pod",
            pods: vec![pod],
        }
    }

    /// A group with its pods that are to be scheduled.
    pub fn pod_group(group: &PodGroup, pods: Vec<Arc<Pod>>) -> Self {
        Self {
            uid: group.metadata.uid.clone(),
            priority: group.priority(),
            scheduler_name: pods.first().map(|pod| pod.spec.scheduler_name.clone()).unwrap_or_default(),
            kind: "podgroup",
            pods,
        }
    }

    /// Its uid.
    pub const fn uid(&self) -> &Uid {
        &self.uid
    }

    /// How important it is.
    pub const fn priority(&self) -> i32 {
        self.priority
    }
}
