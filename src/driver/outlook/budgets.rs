//! Which disruption budgets would have stood before evictions.
//!
//! What a budget allows is what its status says. Where that says nothing, as in manifests that no controller has seen, it
//! is worked out from `minAvailable` or `maxUnavailable` and the pods on nodes, as the disruption controller does
//! (`pkg/controller/disruption`), with the pods that are there as those that are wanted.

use std::sync::Arc;

use crate::api::objects::{IntOrString, Pod, PodDisruptionBudget};
use crate::api::{NamespacedName, ObjectStore, Selector};
use crate::driver::sandbox::changes::is_counted;

/// A budget, and what was evicted against it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The budget.
    pub budget: NamespacedName,
    /// How many evictions it allows.
    pub allowed: i64,
    /// Its pods that were evicted, by name.
    pub evicted: Vec<NamespacedName>,
}

/// The budgets that allow fewer evictions than there were.
pub fn violated(objects: &ObjectStore, evicted: &[Arc<Pod>]) -> Vec<Budget> {
    let mut violated = Vec::new();
    for (key, budget) in &objects.pod_disruption_budgets {
        let Ok(selector) = Selector::from_label_selector(budget.spec.selector.as_ref()) else { continue };
        let is_its = |pod: &Pod| pod.metadata.namespace == key.namespace && is_counted(&selector, pod);
        let mut names: Vec<NamespacedName> =
            evicted.iter().filter(|pod| is_its(pod)).map(|pod| pod.key()).collect();
        if names.is_empty() {
            continue;
        }
        let allowed = allowed(budget, objects.pods.values().map(|pod| &**pod).filter(|pod| is_its(pod)));
        if i64::try_from(names.len()).unwrap_or(i64::MAX) > allowed {
            names.sort();
            violated.push(Budget { budget: key.clone(), allowed, evicted: names });
        }
    }
    violated
}

fn allowed<'a>(budget: &PodDisruptionBudget, pods: impl Iterator<Item = &'a Pod>) -> i64 {
    let said = i64::from(budget.status.disruptions_allowed);
    if said > 0 {
        return said;
    }
    let (mut expected, mut healthy) = (0_i64, 0_i64);
    for pod in pods {
        expected += 1;
        let is_ready = pod.status.conditions.iter().find(|condition| condition.type_ == "Ready");
        let is_healthy =
            pod.is_assigned() && !pod.is_terminating() && is_ready.is_none_or(|it| it.status == "True");
        healthy += i64::from(is_healthy);
    }
    let desired = match (&budget.spec.min_available, &budget.spec.max_unavailable) {
        (Some(least), _) => amount(least, expected),
        (None, Some(away)) => expected - amount(away, expected),
        (None, None) => expected,
    };
    (healthy - desired).max(0)
}

/// A number, or a share of all, rounded up.
fn amount(of: &IntOrString, all: i64) -> i64 {
    match of {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => {
            let percent = text.strip_suffix('%').and_then(|text| text.parse::<i64>().ok());
            percent.map_or(0, |percent| (all * percent + 99) / 100)
        }
    }
}
