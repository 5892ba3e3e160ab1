//! Which disruption budgets would have stood before evictions.
//!
//! What a budget allows is what its status says. Where that says nothing, as in manifests that no controller has seen, it
//! is worked out from `minAvailable` or `maxUnavailable` and the pods on nodes, as the disruption controller does
//! (`pkg/controller/disruption`), with the pods that are there as those that are wanted.

use std::sync::Arc;

use crate::api::objects::{Pod, PodDisruptionBudget, PodDisruptionBudgetStatus};
use crate::api::{NamespacedName, ObjectStore, Selector};

/// A budget, and what was evicted against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The budget.
    pub budget: NamespacedName,
    /// How many evictions it allows.
    pub allowed: i32,
    /// Its pods that were evicted, by name.
    pub evicted: Vec<NamespacedName>,
}

/// The budgets that allow fewer evictions than there were.
pub fn violated(objects: &ObjectStore, evicted: &[Arc<Pod>]) -> Vec<Budget> {
    let mut violated = Vec::new();
    for (key, budget) in &objects.pod_disruption_budgets {
        let is_its = covers(budget);
        let mut names: Vec<NamespacedName> =
            evicted.iter().filter(|pod| is_its(pod)).map(|pod| pod.key()).collect();
        if names.is_empty() {
            continue;
        }
        let allowed = allowed(budget, objects.pods.values().map(|pod| &**pod).filter(|pod| is_its(pod)));
        if i32::try_from(names.len()).unwrap_or(i32::MAX) > allowed {
            names.sort();
            violated.push(Budget { budget: key.clone(), allowed, evicted: names });
        }
    }
    violated
}

/// Which pods a budget is for, as the eviction subresource sees it: without a selector for none, with an empty one for all
/// of its namespace.
pub fn covers(budget: &PodDisruptionBudget) -> impl Fn(&Pod) -> bool + '_ {
    let selector = budget.spec.selector.as_ref();
    let selector = selector.and_then(|selector| Selector::from_label_selector(Some(selector)).ok());
    move |pod| {
        pod.metadata.namespace == budget.metadata.namespace
            && selector.as_ref().is_some_and(|selector| selector.matches(&pod.metadata.labels))
    }
}

fn allowed<'a>(budget: &PodDisruptionBudget, pods: impl Iterator<Item = &'a Pod>) -> i32 {
    if budget.status != PodDisruptionBudgetStatus::default() {
        return budget.status.disruptions_allowed;
    }
    let (mut expected, mut healthy) = (0, 0);
    for pod in pods {
        expected += 1;
        let is_ready = pod.condition("Ready").is_none_or(|condition| condition.status == "True");
        healthy += i32::from(pod.is_assigned() && !pod.is_terminating() && is_ready);
    }
    let desired = match (&budget.spec.min_available, &budget.spec.max_unavailable) {
        (Some(least), _) => least.scaled(expected, true),
        (None, Some(away)) => away.scaled(expected, true).map(|away| (expected - away).max(0)),
        (None, None) => Some(expected),
    };
    // What is neither a number nor a percentage allows nothing.
    desired.map_or(0, |desired| (healthy - desired).max(0))
}
