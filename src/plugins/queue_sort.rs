//! PrioritySort: the pod of higher priority is tried first; of two with equal priority, the one that came into
//! the queue first.
//!
//! Follows `plugins/queuesort/priority_sort.go`.

use super::names;
use crate::framework::{Plugin, QueueSortPlugin, QueuedPodInfo};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrioritySort;

impl Plugin for PrioritySort {
    fn name(&self) -> &'static str {
        names::PRIORITY_SORT
    }
    fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
        Some(self)
    }
}

impl QueueSortPlugin for PrioritySort {
    fn less(&self, a: &QueuedPodInfo, b: &QueuedPodInfo) -> bool {
        let (first, second) = (a.pod().priority(), b.pod().priority());
        first > second || first == second && a.timestamp < b.timestamp
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::Time;
    use crate::framework::PodInfo;
    use crate::plugins::fixtures::pod;

    fn queued(spec: &str, secs: u64) -> QueuedPodInfo {
        QueuedPodInfo::new(Arc::new(PodInfo::new(pod(spec))), Time::from_secs(secs))
    }

    #[test]
    fn higher_priority_first_then_the_one_that_waits_longer() {
        let less = |a: &QueuedPodInfo, b: &QueuedPodInfo| PrioritySort.less(a, b);
        let (low, high) = (queued("{spec: {priority: 10}}", 1), queued("{spec: {priority: 100}}", 2));
        assert!(less(&high, &low) && !less(&low, &high));
        let (early, late) = (queued("{spec: {priority: 10}}", 1), queued("{spec: {priority: 10}}", 2));
        assert!(less(&early, &late) && !less(&late, &early));
        // No priority is priority 0, and no pod is before itself.
        let (none, negative) = (queued("{}", 5), queued("{spec: {priority: -1}}", 1));
        assert!(less(&none, &negative) && !less(&none, &none));
    }
}
