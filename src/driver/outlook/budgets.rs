//! What disruption budgets mean for changes: the pods that they hold on a node that is drained, and what preemption takes
//! against them.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::changes::{Change, pods_on};
use crate::driver::sandbox::returns::{Fate, fate};
use crate::driver::sandbox::world::budgets::{counted_status, covers, refusal};
use crate::driver::session::Edit;

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

/// A pod that stays on a node that is drained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// The pod.
    pub pod: NamespacedName,
    /// Its node.
    pub node: Str,
    /// What holds it, in a sentence.
    pub cause: String,
}

/// The budgets that allow fewer evictions than there were.
pub fn violated(api: &SandboxApi, evicted: &[Arc<Pod>]) -> Vec<Budget> {
    let mut violated = Vec::new();
    for (key, budget) in &api.objects().pod_disruption_budgets {
        let is_its = covers(budget);
        let mut names: Vec<NamespacedName> =
            evicted.iter().filter(|pod| is_its(pod)).map(|pod| pod.key()).collect();
        if names.is_empty() {
            continue;
        }
        let allowed = counted_status(api, budget).disruptions_allowed;
        if i32::try_from(names.len()).unwrap_or(i32::MAX) > allowed {
            names.sort();
            violated.push(Budget { budget: key.clone(), allowed, evicted: names });
        }
    }
    violated
}

/// The pods that budgets hold on nodes that these changes drain.
pub fn held(api: &SandboxApi, changes: &[Edit]) -> Vec<Held> {
    let mut held = Vec::new();
    for change in changes {
        let Edit::Change(Change::Drain(node)) = change else { continue };
        for pod in pods_on(api, node).iter().filter(|pod| fate(pod) != Fate::OfItsNode) {
            let refusal = refusal(api, pod).map(|refusal| refusal.cause());
            held.extend(refusal.map(|cause| Held { pod: pod.key(), node: node.clone(), cause }));
        }
    }
    held.sort_by(|a, b| a.pod.cmp(&b.pod));
    held.dedup();
    held
}
