//! How much there is of what, for metrics (`pending_pods`, `cache_size`, `unschedulable_pods` and their like).

use std::collections::BTreeMap;

use crate::api::Str;

use super::Scheduler;

/// The scheduler in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gauges {
    /// Pods in activeQ.
    pub active: usize,
    /// Pods in backoffQ.
    pub backoff: usize,
    /// Pods in unschedulablePods that are not gated.
    pub unschedulable: usize,
    /// Gated pods.
    pub gated: usize,
    /// Pods whose attempts are not over.
    pub in_flight: usize,
    /// Binding cycles that are not over.
    pub binding: usize,
    /// Nodes in the cache.
    pub nodes: usize,
    /// Pods in the cache, assumed ones included.
    pub pods: usize,
    /// Assumed pods.
    pub assumed_pods: usize,
    /// Pods in the queues that a plugin has turned down, by plugin and profile.
    pub unschedulable_by: BTreeMap<(Str, Str), u64>,
}

impl Scheduler {
    /// The numbers of now. Costs time in proportion to pending pods and nodes.
    pub fn gauges(&self) -> Gauges {
        let pending = self.queue.pending_pods(self.world.now);
        let gated = pending.unschedulable.iter().filter(|pod| pod.info.is_gated()).count();
        let mut unschedulable_by: BTreeMap<(Str, Str), u64> = BTreeMap::new();
        let backoff = pending.backoff.iter().map(|pod| &pod.info);
        let unschedulable = pending.unschedulable.iter().map(|pod| &pod.info);
        for info in pending.active.iter().chain(backoff).chain(unschedulable) {
            for plugin in info.rejector_plugins() {
                let key = (plugin.clone(), info.pod().spec.scheduler_name.clone());
                *unschedulable_by.entry(key).or_default() += 1;
            }
        }
        let nodes = self.cache.nodes().filter(|node| node.node().is_some()).count();
        Gauges {
            active: pending.active.len(),
            backoff: pending.backoff.len(),
            unschedulable: pending.unschedulable.len() - gated,
            gated,
            in_flight: pending.in_flight.len(),
            binding: self.binding_cycles.len(),
            nodes,
            pods: self.cache.nodes().map(|node| node.pods().len()).sum(),
            assumed_pods: self.cache.n_assumed(),
            unschedulable_by,
        }
    }
}
