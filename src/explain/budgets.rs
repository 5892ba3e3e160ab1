//! Who could be evicted from a node, in whose favour, and which disruption budgets stand before it.
//!
//! Follows what DefaultPreemption looks at (`pkg/scheduler/framework/plugins/defaultpreemption`); it decides nothing.

use std::sync::Arc;

use crate::api::objects::{Pod, PodDisruptionBudget};
use crate::api::{NamespacedName, Selector, Str, Time};
use crate::framework::NodeInfo;
use crate::framework::preemption::Candidate;
use crate::scheduler::view::View;

/// A pod on a node that a more important one could have evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evictable {
    /// The pod.
    pub pod: NamespacedName,
    /// Its priority.
    pub priority: i32,
    /// Whether it is going already.
    pub is_terminating: bool,
    /// The budgets that count it, each with how many more evictions it allows.
    pub budgets: Vec<(Str, i32)>,
}

impl Evictable {
    /// Whether a budget allows no more evictions.
    pub fn is_protected(&self) -> bool {
        self.budgets.iter().any(|(_, allowed)| *allowed <= 0)
    }
}

/// The budgets that count a pod, each with how many more evictions it allows.
pub fn budgets_of(pdbs: &[Arc<PodDisruptionBudget>], pod: &Pod) -> Vec<(Str, i32)> {
    let counts = |budget: &PodDisruptionBudget| {
        let Ok(selector) = Selector::from_label_selector(budget.spec.selector.as_ref()) else { return false };
        !pod.metadata.labels.is_empty()
            && !selector.is_empty()
            && budget.metadata.namespace == pod.metadata.namespace
            && selector.matches(&pod.metadata.labels)
            && !budget.status.disrupted_pods.contains_key(&*pod.metadata.name)
    };
    pdbs.iter()
        .filter(|budget| counts(budget))
        .map(|budget| (budget.metadata.name.clone(), budget.status.disruptions_allowed))
        .collect()
}

/// The pods of a node below a priority, the least important first: they would go first.
pub fn evictable(view: &View, node: &NodeInfo, below: i32) -> Vec<Evictable> {
    let mut pods: Vec<Evictable> = node
        .pods()
        .iter()
        .map(|info| &info.pod)
        .filter(|pod| pod.priority() < below)
        .map(|pod| Evictable {
            pod: pod.key(),
            priority: pod.priority(),
            is_terminating: pod.is_terminating(),
            budgets: budgets_of(&view.pdbs, pod),
        })
        .collect();
    pods.sort_by(|a, b| (a.priority, &a.pod).cmp(&(b.priority, &b.pod)));
    pods
}

/// The numbers by which candidates are told apart, in the order in which they decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CandidateNumbers {
    /// Victims against disruption budgets.
    pub n_pdb_violations: i64,
    /// The priority of the most important victim.
    pub highest_priority: i32,
    /// The sum of the victims' priorities.
    pub sum_priorities: i64,
    /// How many victims.
    pub n_victims: usize,
    /// When the first of the most important victims started; absent if none is known to have.
    pub started: Option<Time>,
}

/// The numbers of a candidate; absent if it has no victims, which is taken at once.
pub fn candidate_numbers(candidate: &Candidate) -> Option<CandidateNumbers> {
    let pods = &candidate.victims.pods;
    let highest = pods.iter().map(|info| info.pod.priority()).max()?;
    let most_important = pods.iter().filter(|info| info.pod.priority() == highest);
    Some(CandidateNumbers {
        n_pdb_violations: candidate.victims.num_pdb_violations,
        highest_priority: highest,
        sum_priorities: pods.iter().map(|info| i64::from(info.pod.priority())).sum(),
        n_victims: pods.len(),
        started: most_important.filter_map(|info| info.pod.status.start_time).min(),
    })
}
