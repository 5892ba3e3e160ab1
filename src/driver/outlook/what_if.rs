//! A sandbox with and without changes, side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::budgets::{Budget, Held, held, violated};
use super::run::{Outcome, Progress, RunError, run_out};
use crate::api::{Duration, NamespacedName, Str};
use crate::driver::runner::PodResult;
use crate::driver::sandbox::returns::{Fate, fate};
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::sandbox::words::told;
use crate::driver::session::Edit;

/// What a pod does in one of the outcomes and not in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodChange {
    /// The pod, as it is called with the changes.
    pub pod: NamespacedName,
    /// The pod whose place it takes, if that has another name.
    pub instead_of: Option<NamespacedName>,
    /// Its node without the changes.
    pub before: Option<Str>,
    /// Its node with them.
    pub after: Option<Str>,
    /// Why it has none, in the words of FailedScheduling.
    pub message: String,
    /// Its priority.
    pub priority: i32,
}

/// A pod that is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLost {
    /// The pod.
    pub pod: NamespacedName,
    /// Its node.
    pub node: Option<Str>,
}

/// An outcome in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Totals {
    /// Pods on nodes.
    pub placed: usize,
    /// Pods without a node.
    pub pending: usize,
    /// Pods that the scheduler evicted.
    pub preempted: usize,
    /// Attempts, and those that failed.
    pub attempts: (u64, u64),
    /// How long pods waited.
    pub waits: super::measures::Waits,
    /// The nodes in the end.
    pub measures: super::measures::Measures,
    /// Simulated time that went by.
    pub simulated: Duration,
}

impl Totals {
    /// Those of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        Self {
            placed: outcome.n_placed(),
            pending: outcome.n_pending(),
            preempted: outcome.victims.len(),
            attempts: outcome.attempts,
            waits: outcome.waits,
            measures: outcome.measures.clone(),
            simulated: outcome.simulated,
        }
    }
}

/// What would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIf {
    /// The changes, in words.
    pub changes: Vec<String>,
    /// The same to be made.
    pub edits: Arc<[Edit]>,
    /// What they said.
    pub said: Vec<String>,
    /// Pods that would have had a node, or are new, and have none.
    pub stuck: Vec<PodChange>,
    /// Pods on another node.
    pub moved: Vec<PodChange>,
    /// Pods that get a node only with the changes.
    pub freed: Vec<PodChange>,
    /// New pods with a node that take nobody's place.
    pub added: Vec<PodChange>,
    /// Pods that nobody makes again.
    pub lost: Vec<PodLost>,
    /// Pods that belong to their node and go with it.
    pub with_node: Vec<PodLost>,
    /// Pods that the scheduler evicts only with the changes.
    pub evicted: Vec<PodLost>,
    /// Pods that disruption budgets hold on nodes that are drained.
    pub held: Vec<Held>,
    /// Budgets that allow fewer evictions than the scheduler makes for room.
    pub budgets: Vec<Budget>,
    /// Pods that are the same in both.
    pub n_same: usize,
    /// Without the changes, and with them.
    pub totals: [Totals; 2],
}

impl WhatIf {
    /// Whether nothing is otherwise.
    pub fn is_nothing(&self) -> bool {
        self.stuck.is_empty()
            && self.moved.is_empty()
            && self.freed.is_empty()
            && self.added.is_empty()
            && self.lost.is_empty()
            && self.with_node.is_empty()
            && self.evicted.is_empty()
            && self.held.is_empty()
    }
}

/// Runs a copy of a sandbox as it is and another with the changes, until nothing moves in either.
///
/// # Errors
/// A change that cannot be made, or nobody waits any more.
pub fn what_if(simulator: &Simulator, changes: &[Edit], progress: &Progress) -> Result<WhatIf, RunError> {
    let copy = || {
        let mut copy = simulator.clone().with_returning_victims();
        copy.leave_recording();
        copy.scheduler_mut().set_tracing(false);
        copy
    };
    let mut with = copy();
    let today = with.api().clone();
    // A change that cannot be made is told before anything takes time.
    let mut trial = with.clone();
    run_changes_alone(&mut trial, changes)?;
    let before = run_out(&mut copy(), &[], Duration::ZERO, progress)?;
    let after = run_out(&mut with, changes, Duration::ZERO, progress)?;
    let mut what_if = compare(&before, &after, changes);
    what_if.held = held(with.api(), changes);
    what_if.budgets = violated(&today, &after.victims);
    Ok(what_if)
}

fn run_changes_alone(simulator: &mut Simulator, changes: &[Edit]) -> Result<(), RunError> {
    for change in changes {
        simulator.edit(change).map_err(|reason| RunError::Change { change: told(change), reason })?;
    }
    Ok(())
}

/// Puts two outcomes side by side.
fn compare(before: &Outcome, after: &Outcome, changes: &[Edit]) -> WhatIf {
    let mut what_if = WhatIf {
        changes: changes.iter().map(told).collect(),
        edits: changes.into(),
        said: after.said.clone(),
        stuck: Vec::new(),
        moved: Vec::new(),
        freed: Vec::new(),
        added: Vec::new(),
        lost: Vec::new(),
        with_node: Vec::new(),
        evicted: Vec::new(),
        held: Vec::new(),
        budgets: Vec::new(),
        n_same: 0,
        totals: [Totals::of(before), Totals::of(after)],
    };
    let instead = instead_of(before, after);
    let mut replaced: BTreeSet<&NamespacedName> = BTreeSet::new();
    for (key, pod) in &after.pods {
        let old = instead.get(key);
        replaced.extend(old);
        let known = before.pods.get(old.unwrap_or(key));
        place(&mut what_if, key, pod, old.filter(|old| *old != key), known);
    }
    for (key, pod) in &before.pods {
        if after.pods.contains_key(key) || replaced.contains(key) {
            continue;
        }
        let lost = PodLost { pod: key.clone(), node: pod.node.clone() };
        let gone = after.gone.get(key);
        match gone.map(|pod| fate(pod)) {
            Some(Fate::OfItsNode) => what_if.with_node.push(lost),
            _ => what_if.lost.push(lost),
        }
    }
    let known: BTreeSet<NamespacedName> = before.victims.iter().map(|pod| pod.key()).collect();
    for pod in after.victims.iter().filter(|pod| !known.contains(&pod.key())) {
        what_if.evicted.push(PodLost { pod: pod.key(), node: Some(pod.spec.node_name.clone()) });
    }
    for list in [&mut what_if.stuck, &mut what_if.moved, &mut what_if.freed, &mut what_if.added] {
        // The most important first.
        list.sort_by(|a, b| (-i64::from(a.priority), &a.pod).cmp(&(-i64::from(b.priority), &b.pod)));
    }
    what_if
}

fn place(
    what_if: &mut WhatIf,
    key: &NamespacedName,
    pod: &PodResult,
    old: Option<&NamespacedName>,
    known: Option<&PodResult>,
) {
    let change = PodChange {
        pod: key.clone(),
        instead_of: old.cloned(),
        before: known.and_then(|known| known.node.clone()),
        after: pod.node.clone(),
        message: pod.message.clone(),
        priority: pod.priority,
    };
    match (known, &change.before, &change.after) {
        (None, _, None) => what_if.stuck.push(change),
        (None, _, Some(_)) => what_if.added.push(change),
        (Some(_), Some(_), None) => what_if.stuck.push(change),
        (Some(_), None, Some(_)) => what_if.freed.push(change),
        (Some(_), Some(from), Some(to)) if from != to => what_if.moved.push(change),
        (Some(_), ..) => what_if.n_same += 1,
    }
}

/// For each pod that only the changes have made, the one whose place it takes: that which it was made for, else one of
/// the same controller that is gone.
fn instead_of(before: &Outcome, after: &Outcome) -> BTreeMap<NamespacedName, NamespacedName> {
    let mut instead = BTreeMap::new();
    let is_new = |key: &&NamespacedName| !before.pods.contains_key(*key);
    let is_gone = |key: &NamespacedName| before.pods.contains_key(key) && !after.pods.contains_key(key);
    for key in after.pods.keys() {
        let mut origin = key;
        // It may have been made for one that was itself made for another.
        for _ in 0..64 {
            match after.made_for.get(origin).filter(|old| *old != origin) {
                Some(old) => origin = old,
                None => break,
            }
        }
        if origin != key && is_gone(origin) {
            instead.insert(key.clone(), origin.clone());
        }
    }
    // What a controller of the sandbox has made is told by the controller alone.
    let taken: BTreeSet<NamespacedName> = instead.values().cloned().collect();
    let mut free: BTreeMap<&Str, Vec<&NamespacedName>> = BTreeMap::new();
    for (key, pod) in before.pods.iter().rev() {
        if let Some(owner) = &pod.owner
            && is_gone(key)
            && !taken.contains(key)
        {
            free.entry(owner).or_default().push(key);
        }
    }
    let new: Vec<&NamespacedName> =
        after.pods.keys().filter(is_new).filter(|key| !instead.contains_key(*key)).collect();
    for key in new {
        let owner = after.pods.get(key).and_then(|pod| pod.owner.as_ref());
        if let Some(old) = owner.and_then(|owner| free.get_mut(owner)?.pop()) {
            instead.insert(key.clone(), old.clone());
        }
    }
    instead
}
