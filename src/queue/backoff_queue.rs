//! backoffQ: pods that failed not long ago.
//!
//! Mirrors `pkg/scheduler/backend/queue/backoff_queue.go` and KEP-5142. There are two queues: pods that were turned
//! down, which are tried early when activeQ is empty, and pods that ended with an error, which never are, so that
//! an API server in trouble is left alone.

use std::sync::Arc;

use crate::api::{Duration, NamespacedName, Time};
use crate::framework::{Plugin, QueuedPodInfo};

use super::QueueOptions;
use super::sorted_pods::SortedPods;

const WINDOW: Duration = Duration::from_secs(1);

/// Both backoff queues.
#[derive(Clone, Debug)]
pub(super) struct BackoffQueue {
    pods: Arc<SortedPods>,
    error_pods: Arc<SortedPods>,
    initial_backoff: Duration,
    max_backoff: Duration,
    has_windows: bool,
}

impl BackoffQueue {
    pub(super) fn new(options: &QueueOptions, queue_sort: &Arc<dyn Plugin>) -> Self {
        Self {
            pods: Arc::new(SortedPods::new(Arc::clone(queue_sort))),
            error_pods: Arc::new(SortedPods::new(Arc::clone(queue_sort))),
            initial_backoff: options.pod_initial_backoff,
            max_backoff: options.pod_max_backoff,
            has_windows: options.pop_from_backoff_q,
        }
    }

    /// The pods that were turned down, by expiry and then as activeQ has them.
    pub(super) fn pods(&self) -> &SortedPods {
        &self.pods
    }

    /// The pods that ended with an error, by expiry.
    pub(super) fn error_pods(&self) -> &SortedPods {
        &self.error_pods
    }

    pub(super) fn get(&self, key: &NamespacedName) -> Option<&Arc<QueuedPodInfo>> {
        self.pods.get(key).or_else(|| self.error_pods.get(key))
    }

    pub(super) fn has(&self, key: &NamespacedName) -> bool {
        self.get(key).is_some()
    }

    /// When the pod's backoff ends: in the second that begins then it still backs off. Zero if it has none.
    pub(super) fn expiration(&self, info: &QueuedPodInfo) -> Time {
        let count = if info.consecutive_errors_count > 0 {
            info.consecutive_errors_count
        } else {
            info.unschedulable_count
        };
        if count == 0 || self.max_backoff.is_zero() {
            return Time::ZERO;
        }
        self.align(info.timestamp + self.duration(count))
    }

    /// How long the backoff after the `count`-th failure is.
    pub(super) fn duration(&self, count: u32) -> Duration {
        let Some(shift) = count.checked_sub(1) else { return Duration::ZERO };
        let max = self.max_backoff.as_nanos();
        if self.initial_backoff.as_nanos() > max.checked_shr(shift).unwrap_or(0) {
            return self.max_backoff;
        }
        // Not above the maximum, so the shift loses nothing; only a backoff of zero comes here with a large count.
        1_u32.checked_shl(shift).map_or(self.initial_backoff, |factor| self.initial_backoff * factor)
    }

    /// Whether the pod has to wait.
    pub(super) fn is_backing_off(&self, info: &QueuedPodInfo, now: Time) -> bool {
        info.backoff_expiration >= self.align(now)
    }

    fn align(&self, time: Time) -> Time {
        if self.has_windows { time.truncate_to_second() } else { time }
    }

    /// Puts a pod in and returns one of the same name that was there.
    pub(super) fn insert(
        &mut self,
        key: NamespacedName,
        info: Arc<QueuedPodInfo>,
    ) -> Option<Arc<QueuedPodInfo>> {
        let replaced = self.remove(&key);
        let is_error = info.rejector_plugins().next().is_none();
        let queue = if is_error { &mut self.error_pods } else { &mut self.pods };
        let at = info.backoff_expiration;
        Arc::make_mut(queue).insert(key, at, info).or(replaced)
    }

    /// Puts a newer version of a pod into the queue that the pod is in, and returns the older one.
    pub(super) fn replace(
        &mut self,
        key: &NamespacedName,
        info: Arc<QueuedPodInfo>,
    ) -> Option<Arc<QueuedPodInfo>> {
        let mut queues = [&mut self.pods, &mut self.error_pods].into_iter();
        let queue = queues.find(|queue| queue.get(key).is_some())?;
        let at = info.backoff_expiration;
        Arc::make_mut(queue).insert(key.clone(), at, info)
    }

    /// Whether `a` comes before `b` where both queues are shown as one.
    pub(super) fn is_before(&self, a: &Arc<QueuedPodInfo>, b: &Arc<QueuedPodInfo>) -> bool {
        self.pods.is_before((a.backoff_expiration, a), (b.backoff_expiration, b))
    }

    pub(super) fn remove(&mut self, key: &NamespacedName) -> Option<Arc<QueuedPodInfo>> {
        for queue in [&mut self.pods, &mut self.error_pods] {
            if queue.get(key).is_some() {
                return Arc::make_mut(queue).remove(key);
            }
        }
        None
    }

    /// Takes the first pod out that is no error.
    pub(super) fn pop_first(&mut self) -> Option<Arc<QueuedPodInfo>> {
        if self.pods.is_empty() {
            return None;
        }
        Arc::make_mut(&mut self.pods).pop_first()
    }

    /// Takes out every pod whose backoff is over at that whole second.
    pub(super) fn pop_all_completed(&mut self, now: Time) -> Vec<Arc<QueuedPodInfo>> {
        let mut completed = Vec::new();
        for queue in [&mut self.pods, &mut self.error_pods] {
            while queue.first().is_some_and(|(expiration, _)| expiration < now) {
                completed.extend(Arc::make_mut(queue).pop_first());
            }
        }
        completed
    }

    /// The first whole second at which a pod is let go.
    pub(super) fn next_release(&self) -> Option<Time> {
        let first = [&self.pods, &self.error_pods].into_iter().filter_map(|queue| queue.first());
        first.map(|(expiration, _)| expiration.truncate_to_second() + WINDOW).min()
    }
}
