//! What the queue does for pods of groups: it gives them out together.
//!
//! Mirrors `PopSpecificPod` of `pkg/scheduler/backend/queue/scheduling_queue.go` and what
//! `determineSchedulingHintForInFlightPod` says of members. Which pods belong together is decided elsewhere.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::framework::QueuedPodInfo;

use super::QueueEnv;
use super::scheduling_queue::SchedulingQueue;

impl SchedulingQueue {
    /// Takes that very pod out to be scheduled, wherever it is, as if something had activated it; `None` if it is in no
    /// queue or PreEnqueue holds it.
    pub fn pop_specific_pod(&mut self, env: &QueueEnv<'_>, pod: &Arc<Pod>) -> Option<QueuedPodInfo> {
        let key = pod.key();
        self.activate_one(env, &key);
        let info = self.active.remove(&key)?;
        self.forget_key(info.uid());
        let mut info = Arc::unwrap_or_clone(info);
        info.attempts += 1;
        let is_new = self.active.mark_in_flight(Arc::clone(info.pod()), env.handle.now);
        is_new.then_some(info)
    }

    /// Whether events that came meanwhile do not matter to a pod that comes back: nobody judges them for a group yet.
    pub(super) fn returns_by_backoff_alone(&self, info: &QueuedPodInfo) -> bool {
        self.options.has_pod_groups && info.pod().pod_group_name().is_some()
    }
}
