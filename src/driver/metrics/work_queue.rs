//! The metrics of a queue of work (`component-base/metrics/prometheus/workqueue`), for work that is done where it comes up.
//!
//! What kube-scheduler has of such queues keeps its certificates and authorities up to date. Here that work does not wait
//! for a worker, so nothing is ever seen in the queue or unfinished.

#![expect(clippy::disallowed_methods, reason = "how long work takes is measured")]

use std::sync::Arc;
use std::time::Instant;

use super::families::Metric;
use super::registry::Registry;

/// A queue.
#[derive(Clone, Debug)]
pub struct WorkQueue {
    registry: Arc<Registry>,
    name: &'static str,
}

impl WorkQueue {
    /// A queue of that name.
    pub fn new(registry: &Arc<Registry>, name: &'static str) -> Self {
        for metric in [
            Metric::WorkqueueAddsTotal,
            Metric::WorkqueueDepth,
            Metric::WorkqueueLongestRunningProcessorSeconds,
            Metric::WorkqueueQueueDurationSeconds,
            Metric::WorkqueueRetriesTotal,
            Metric::WorkqueueUnfinishedWorkSeconds,
            Metric::WorkqueueWorkDurationSeconds,
        ] {
            registry.touch(metric, &[name]);
        }
        Self { registry: Arc::clone(registry), name }
    }

    /// Does a piece of work. One that fails counts as one to be tried again.
    pub fn run<T, E>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let labels = [self.name];
        let added = Instant::now();
        self.registry.add(Metric::WorkqueueAddsTotal, &labels, 1.0);
        let started = Instant::now();
        let waited = (started - added).as_secs_f64();
        self.registry.observe(Metric::WorkqueueQueueDurationSeconds, &labels, waited);
        let result = work();
        let took = started.elapsed().as_secs_f64();
        self.registry.observe(Metric::WorkqueueWorkDurationSeconds, &labels, took);
        if result.is_err() {
            self.registry.add(Metric::WorkqueueRetriesTotal, &labels, 1.0);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_of_work_is_counted_and_failures_are_tried_again() {
        let registry = Arc::new(Registry::default());
        let queue = WorkQueue::new(&registry, "q");
        assert_eq!(queue.run(|| Ok::<_, ()>(1)), Ok(1));
        assert_eq!(queue.run(|| Err::<(), _>("no")), Err("no"));
        let get = |metric| registry.get(metric, &["q"]);
        let counted = [
            Metric::WorkqueueAddsTotal,
            Metric::WorkqueueRetriesTotal,
            Metric::WorkqueueWorkDurationSeconds,
            Metric::WorkqueueQueueDurationSeconds,
            Metric::WorkqueueDepth,
        ];
        assert_eq!(counted.map(|metric| get(metric).to_string()), ["2", "1", "2", "2", "0"]);
    }
}
