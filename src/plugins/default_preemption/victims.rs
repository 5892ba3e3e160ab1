//! Which pods would have to go from a node: as few as will do, the least important ones, and of those that a
//! disruption budget protects as few as possible.
//!
//! Follows `SelectVictimsOnNode` and `filterPodsWithPDBViolation` of
//! `plugins/defaultpreemption/default_preemption.go`.

use std::cmp::Reverse;
use std::sync::Arc;

use super::DefaultPreemption;
use crate::api::objects::Pod;
use crate::api::{ObjectStore, Selector, Str, Time};
use crate::framework::preemption::{Reprieve, Victims};
use crate::framework::{CycleState, Handle, NodeInfo, PodInfo, Status};
use crate::plugins::helper::sort::sort_slice;

/// A disruption budget with its selector parsed.
#[derive(Clone, Debug)]
pub struct DisruptionBudget {
    namespace: Str,
    selector: Selector,
    allowed: i32,
    /// Pods whose eviction has been granted already.
    disrupted: Vec<String>,
}

impl DisruptionBudget {
    /// All budgets that can protect a pod. One without a selector, or with an empty or invalid one, protects
    /// none.
    pub fn all(objects: &ObjectStore) -> Vec<Self> {
        let budgets = objects.pod_disruption_budgets.values();
        let parsed = budgets.filter_map(|budget| {
            let selector = Selector::from_label_selector(budget.spec.selector.as_ref()).ok()?;
            let protects = !selector.is_empty() && !selector.is_nothing();
            protects.then(|| Self {
                namespace: budget.metadata.namespace.clone(),
                selector,
                allowed: budget.status.disruptions_allowed,
                disrupted: budget.status.disrupted_pods.keys().cloned().collect(),
            })
        });
        parsed.collect()
    }

    /// How many more evictions it allows.
    pub const fn allowed(&self) -> i32 {
        self.allowed
    }

    /// Whether the pod's eviction would use the budget up by one. A pod without labels belongs to no budget.
    pub fn counts(&self, pod: &Pod) -> bool {
        !pod.metadata.labels.is_empty()
            && self.namespace == pod.metadata.namespace
            && self.selector.matches(&pod.metadata.labels)
            && !self.disrupted.iter().any(|name| *name == *pod.metadata.name)
    }
}

/// When the pod started; one that has not starts now.
pub(super) fn start_time(pod: &Pod, now: Time) -> Time {
    pod.status.start_time.unwrap_or(now)
}

/// Puts the most important pods first: by priority, then by how long they run. Among equal ones the order is that
/// of kube-scheduler's sort.
fn sort_by_importance(pods: &mut [Arc<PodInfo>], now: Time) {
    let key = |info: &Arc<PodInfo>| (Reverse(info.pod.priority()), start_time(&info.pod, now));
    sort_slice(pods, |a, b| key(a) < key(b));
}

/// Those of the pods that violate a budget, if all were evicted in this order, and the others.
fn split_by_violation(
    pods: &[Arc<PodInfo>],
    budgets: &[DisruptionBudget],
) -> (Vec<Arc<PodInfo>>, Vec<Arc<PodInfo>>) {
    let mut allowed: Vec<i64> = budgets.iter().map(|budget| i64::from(budget.allowed)).collect();
    let violates = |info: &&Arc<PodInfo>| {
        let mut is_violated = false;
        for (budget, allowed) in budgets.iter().zip(&mut allowed) {
            if budget.counts(&info.pod) {
                *allowed -= 1;
                is_violated |= *allowed < 0;
            }
        }
        is_violated
    };
    let (violating, others): (Vec<&Arc<PodInfo>>, Vec<&Arc<PodInfo>>) = pods.iter().partition(violates);
    (violating.into_iter().cloned().collect(), others.into_iter().cloned().collect())
}

impl DefaultPreemption {
    /// The victims on a node; `state` and `node` are copies that are spoilt by it. No victim means that the pod
    /// fits as it is.
    ///
    /// # Errors
    /// Why the node would not do even without all pods of lower priority, or why that could not be found out.
    pub fn select_victims_on_node(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node: &mut NodeInfo,
        budgets: &[DisruptionBudget],
    ) -> Result<Victims, Status> {
        let is_below = |other: &&Arc<PodInfo>| other.pod.priority() < pod.pod.priority();
        let mut potential: Vec<Arc<PodInfo>> = node.pods().iter().filter(is_below).cloned().collect();
        let mut dry_run = DryRun { handle, state, pod, node };
        for victim in &potential {
            dry_run.remove(victim)?;
        }
        if potential.is_empty() {
            return Err(Status::unresolvable("No preemption victims found for incoming pod"));
        }
        // Affinity of the pod to one of its own victims is not found out: it is not worth the search.
        let status = dry_run.filter();
        if !status.is_success() {
            return Err(status);
        }
        sort_by_importance(&mut potential, handle.now);
        let (violating, others) = split_by_violation(&potential, budgets);
        let is_mixed = !violating.is_empty() && !others.is_empty();
        let mut victims = Victims::default();
        let of = |violates_budget| move |pod| (pod, violates_budget);
        for (pod, violates_budget) in
            violating.into_iter().map(of(true)).chain(others.into_iter().map(of(false)))
        {
            let refusal = dry_run.reprieve(&pod)?;
            if refusal.is_some() {
                victims.num_pdb_violations += i64::from(violates_budget);
                victims.pods.push(Arc::clone(&pod));
            }
            victims.tried.push(Reprieve { pod, violates_budget, refusal });
        }
        if is_mixed {
            sort_by_importance(&mut victims.pods, handle.now);
        }
        Ok(victims)
    }
}

/// A node as it would be, with the state that the filters keep about it.
struct DryRun<'a, 'h> {
    handle: &'a Handle<'h>,
    state: &'a mut CycleState,
    pod: &'a PodInfo,
    node: &'a mut NodeInfo,
}

impl DryRun<'_, '_> {
    fn remove(&mut self, other: &Arc<PodInfo>) -> Result<(), Status> {
        if self.node.remove_pod(&other.pod).is_none() {
            let (key, node) = (other.pod.key(), self.node.name());
            return Err(Status::error(format!("no corresponding pod {key} in pods of node {node}")));
        }
        let framework = self.handle.framework;
        as_result(&framework.run_pre_filter_extension_remove_pod(
            self.handle,
            self.state,
            self.pod,
            other,
            self.node,
        ))
    }

    fn add(&mut self, other: &Arc<PodInfo>) -> Result<(), Status> {
        self.node.add_pod(Arc::clone(other));
        let framework = self.handle.framework;
        as_result(&framework.run_pre_filter_extension_add_pod(
            self.handle,
            self.state,
            self.pod,
            other,
            self.node,
        ))
    }

    fn filter(&self) -> Status {
        let framework = self.handle.framework;
        framework.run_filter_plugins_with_nominated_pods(self.handle, self.state, self.pod, self.node)
    }

    /// Puts a pod back if the preemptor fits beside it; the answer is why it has to go.
    fn reprieve(&mut self, other: &Arc<PodInfo>) -> Result<Option<Status>, Status> {
        self.add(other)?;
        let status = self.filter();
        if status.is_success() {
            return Ok(None);
        }
        self.remove(other)?;
        Ok(Some(status))
    }
}

/// Any status that is no success ends the dry run as an error (`Status.AsError`).
fn as_result(status: &Status) -> Result<(), Status> {
    if status.is_success() { Ok(()) } else { Err(Status::error(status.message())) }
}
