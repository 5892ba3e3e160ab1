//! Drains in a cluster in which nothing lives: they heed disruption budgets, too.
//!
//! Stands for `kubectl drain` and for the disruption controller (`pkg/controller/disruption`), which counts a budget anew
//! when its pods go or come: what it allows goes up and down with the number of its pods that are healthy. It begins with
//! what its status says; where that says nothing, as in manifests that no controller has seen, it is worked out with the
//! pods that are there as those that are wanted. Nothing is waited for but that: an eviction that was refused is tried
//! again as soon as a pod has changed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::api::{SandboxApi, WatchEvent};
use super::edits::EditError;
use super::returns::{Fate, Returns, fate};
use super::world::budgets::{counted_status, evict, healthy_pods};
use crate::api::objects::{Pod, PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use crate::api::{NamespacedName, Object, Str, Time, Uid};

/// The drains that are under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Draining {
    /// What is still to be evicted from each node. As kubectl does, pods that come later are left alone.
    left: BTreeMap<Str, BTreeMap<NamespacedName, Uid>>,
    counted: BTreeMap<NamespacedName, Counted>,
    is_due: bool,
}

/// A budget as it was when it was seen first.
#[derive(Clone, Debug)]
struct Counted {
    spec: PodDisruptionBudgetSpec,
    /// How many of its pods were healthy.
    healthy: i32,
    status: PodDisruptionBudgetStatus,
}

impl Draining {
    /// Cordons a node and evicts what may go at once.
    ///
    /// # Errors
    /// If there is no such node.
    pub(super) fn begin(
        &mut self,
        api: &mut SandboxApi,
        returns: &mut Returns,
        node: &Str,
        now: Time,
    ) -> Result<String, EditError> {
        api.cordon(node)?;
        let pods: Vec<Arc<Pod>> =
            api.objects().pods.values().filter(|pod| is_evictable(pod, node)).cloned().collect();
        let left = pods.iter().map(|pod| (pod.key(), pod.uid().clone())).collect();
        self.left.insert(node.clone(), left);
        self.go_on(api, returns, now);
        let left = self.left.get(node);
        let gone = pods.iter().filter(|pod| left.is_none_or(|left| !left.contains_key(&pod.key())));
        let (n_gone, n_lost) = gone.fold((0, 0), |(n_gone, n_lost), pod| {
            (n_gone + 1, n_lost + usize::from(fate(pod) == Fate::Lost))
        });
        let (n_back, n_left) = (n_gone - n_lost, pods.len() - n_gone);
        let lost = match n_lost {
            0 => String::new(),
            n => format!(", {n} without a controller lost"),
        };
        Ok(match n_left {
            0 => format!("node/{node} drained: {n_back} pods come back elsewhere{lost}"),
            n => format!(
                "node/{node} cordoned: {n_back} pods come back elsewhere{lost}, {n} wait for disruption budgets"
            ),
        })
    }

    /// A change was reported.
    pub(super) fn observe(&mut self, event: &WatchEvent) {
        self.is_due |= !self.left.is_empty()
            && matches!(event.object(), Object::Pod(_) | Object::Node(_) | Object::PodDisruptionBudget(_));
    }

    /// Tries again, if something has changed.
    pub(super) fn work(&mut self, api: &mut SandboxApi, returns: &mut Returns, now: Time) {
        if std::mem::take(&mut self.is_due) {
            self.go_on(api, returns, now);
        }
    }

    fn go_on(&mut self, api: &mut SandboxApi, returns: &mut Returns, now: Time) {
        self.count(api);
        let mut drains = std::mem::take(&mut self.left);
        // One that is not cordoned any more is not drained further.
        drains.retain(|node, _| api.objects().node(node).is_some_and(|node| node.spec.unschedulable));
        for (node, left) in &mut drains {
            left.retain(|key, uid| {
                let pod = api.objects().pods.get(key).filter(|pod| pod.uid() == &*uid).cloned();
                let Some(pod) = pod.filter(|pod| is_evictable(pod, node)) else { return false };
                let is_refused = evict(api, key, None, now).is_err();
                if !is_refused {
                    returns.expect(&pod, None);
                }
                is_refused
            });
        }
        drains.retain(|_, left| !left.is_empty());
        self.left = drains;
        if self.left.is_empty() {
            self.counted.clear();
        }
    }

    /// Counts every budget.
    fn count(&mut self, api: &mut SandboxApi) {
        let budgets: Vec<Arc<PodDisruptionBudget>> =
            api.objects().pod_disruption_budgets.values().cloned().collect();
        self.counted.retain(|key, _| api.objects().pod_disruption_budgets.contains_key(key));
        for budget in budgets {
            let healthy = healthy_pods(api, &budget);
            let first = self.counted.get(&budget.metadata.key()).filter(|it| it.spec == budget.spec);
            let status = match first {
                Some(first) => first.status_with(healthy),
                None => {
                    let status = counted_status(api, &budget);
                    let spec = budget.spec.clone();
                    let first = Counted { spec, healthy, status: status.clone() };
                    self.counted.insert(budget.metadata.key(), first);
                    status
                }
            };
            if status != budget.status {
                let mut budget = PodDisruptionBudget::clone(&budget);
                budget.status = status;
                api.write(budget.into());
            }
        }
    }
}

impl Counted {
    /// The status with so many healthy pods.
    fn status_with(&self, healthy: i32) -> PodDisruptionBudgetStatus {
        let more = healthy - self.healthy;
        let allowed = match self.status.disruptions_allowed {
            // Some may be missing already.
            0 => (self.status.current_healthy - self.status.desired_healthy).min(0),
            allowed => allowed,
        };
        PodDisruptionBudgetStatus {
            disruptions_allowed: (allowed + more).max(0),
            current_healthy: self.status.current_healthy + more,
            disrupted_pods: BTreeMap::new(),
            ..self.status.clone()
        }
    }
}

/// Whether a drain takes a pod off a node.
fn is_evictable(pod: &Pod, node: &Str) -> bool {
    pod.spec.node_name == *node && !pod.is_terminating() && fate(pod) != Fate::OfItsNode
}
