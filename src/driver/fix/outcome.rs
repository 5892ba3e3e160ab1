//! What a set of changes does to others: one run with it beside one without.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::driver::sandbox::simulator::Simulator;

/// How many pods are named in a line.
const N_NAMED: usize = 5;

/// What happens to other pods that would not have happened without the changes.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Effects {
    /// Pods that lose their node, by hand or by preemption.
    pub evicted: Vec<NamespacedName>,
    /// Pods that would have got a node and do not.
    pub stuck: Vec<NamespacedName>,
    /// Pods that get a node either way, and another one with the changes; often by chance: from, to.
    pub moved: Vec<(NamespacedName, Str, Str)>,
    /// Pods that get a node as well.
    pub also_placed: Vec<(NamespacedName, Str)>,
}

impl Effects {
    /// Whether nobody else is concerned.
    pub const fn is_empty(&self) -> bool {
        self.evicted.is_empty()
            && self.stuck.is_empty()
            && self.moved.is_empty()
            && self.also_placed.is_empty()
    }

    /// In lines, for people.
    pub fn lines(&self) -> Vec<String> {
        if self.is_empty() {
            return vec!["nobody else is concerned".to_owned()];
        }
        let mut lines = Vec::new();
        let names = |keys: &[NamespacedName]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
        if !self.evicted.is_empty() {
            lines.push(format!("evicted: {}", listed(&names(&self.evicted))));
        }
        if !self.stuck.is_empty() {
            lines.push(format!("no place any more for: {}", listed(&names(&self.stuck))));
        }
        if !self.moved.is_empty() {
            let moved = self.moved.iter().map(|(pod, from, to)| format!("{pod} (not {from} but {to})"));
            lines.push(format!("on another node: {}", listed(&moved.collect::<Vec<_>>())));
        }
        if !self.also_placed.is_empty() {
            let placed = self.also_placed.iter().map(|(pod, node)| format!("{pod} (on {node})"));
            lines.push(format!("placed as well: {}", listed(&placed.collect::<Vec<_>>())));
        }
        lines
    }

    /// What they cost: an eviction that no change has asked for 4, a pod that is stuck 10. A pod that gets a node
    /// either way costs nothing: which one may be chance.
    pub(super) fn cost(&self, n_asked: usize) -> u32 {
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let unasked = count(self.evicted.len().saturating_sub(n_asked));
        unasked.saturating_mul(4).saturating_add(count(self.stuck.len()).saturating_mul(10))
    }
}

fn listed(names: &[String]) -> String {
    let n_more = names.len().saturating_sub(N_NAMED);
    let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
    format!("{}{more}", names.iter().take(N_NAMED).cloned().collect::<Vec<_>>().join(", "))
}

/// Compares how pods ended, but for the one that it is about.
pub(super) fn effects(
    start: &Simulator,
    without: &Simulator,
    with: &Simulator,
    about: &NamespacedName,
) -> Effects {
    let [before, base, now] = [start, without, with].map(|simulator| &simulator.api().objects().pods);
    let node_of = |pods: &BTreeMap<NamespacedName, Arc<Pod>>, key: &NamespacedName| {
        let pod = pods.get(key).filter(|pod| pod.is_assigned() && !pod.is_terminating());
        pod.map(|pod| pod.spec.node_name.clone())
    };
    let mut found = Effects::default();
    for (key, pod) in base.iter().filter(|(key, _)| *key != about) {
        // Most pods stay where they are.
        if now.get(key).is_some_and(|now| Arc::ptr_eq(now, pod)) {
            continue;
        }
        match (node_of(base, key), node_of(now, key)) {
            (Some(from), Some(to)) if from != to => found.moved.push((key.clone(), from, to)),
            (Some(_), None) if node_of(before, key).is_some() => found.evicted.push(key.clone()),
            (Some(_), None) => found.stuck.push(key.clone()),
            (None, Some(to)) => found.also_placed.push((key.clone(), to)),
            _ => {}
        }
    }
    for key in now.keys().filter(|key| *key != about && !base.contains_key(*key)) {
        if let Some(to) = node_of(now, key) {
            found.also_placed.push((key.clone(), to));
        }
    }
    found
}
