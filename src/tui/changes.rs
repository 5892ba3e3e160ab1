//! What the last step changed, so that it can be lit for a moment.
//!
//! Only steps are compared. While the session runs everything moves, and light on everything says nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::api::{NamespacedName, Str};
use crate::driver::session::{RunState, SessionView};
use crate::scheduler::trace::Phase;
use crate::scheduler::view::View;

/// How long a change stays lit.
pub const LIGHT: Duration = Duration::from_millis(600);

/// Where a pod stands, as far as a change of it is worth light.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Active(u32),
    Backoff(u32),
    Unschedulable(u32),
    Waiting,
    Binding(Phase),
}

/// What the last step changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// When the step was seen, on the console's own clock.
    pub at: Duration,
    /// Pods that came or moved to another place.
    pub pods: BTreeSet<NamespacedName>,
    /// Nodes that came or changed, or whose pods did.
    pub nodes: BTreeSet<Str>,
    /// Phases of the attempt that the step did.
    pub phases: BTreeSet<Phase>,
}

impl Changes {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.nodes.is_empty() && self.phases.is_empty()
    }

    /// Until when there is something to light; absent if there is nothing.
    pub fn lit_until(&self) -> Option<Duration> {
        (!self.is_empty()).then(|| self.at.saturating_add(LIGHT))
    }

    /// Whether the light is on at `now`.
    pub fn is_lit(&self, now: Duration) -> bool {
        self.lit_until().is_some_and(|until| now < until)
    }

    /// Compares two views; empty while the session runs freely.
    pub fn between(old: &SessionView, new: &SessionView, at: Duration) -> Self {
        if new.run_state == RunState::Running {
            return Self::default();
        }
        let (before, after) = (&old.scheduler, &new.scheduler);
        if Arc::ptr_eq(before, after) {
            return Self::default();
        }
        Self {
            at,
            pods: changed_pods(before, after),
            nodes: changed_nodes(before, after),
            phases: new_phases(before, after),
        }
    }
}

fn places(view: &View) -> BTreeMap<NamespacedName, Place> {
    let mut places = BTreeMap::new();
    places.extend(view.active_q.iter().map(|row| (row.pod.key(), Place::Active(row.attempts))));
    places.extend(view.backoff_q.iter().map(|row| (row.pod.key(), Place::Backoff(row.attempts))));
    places.extend(
        view.unschedulable_pods.iter().map(|row| (row.pod.key(), Place::Unschedulable(row.attempts))),
    );
    places.extend(view.waiting.iter().map(|row| (row.pod.key(), Place::Waiting)));
    places.extend(view.binding.iter().map(|row| (row.pod.key(), Place::Binding(row.phase))));
    places
}

fn changed_pods(before: &View, after: &View) -> BTreeSet<NamespacedName> {
    let old = places(before);
    places(after).into_iter().filter(|(pod, place)| old.get(pod) != Some(place)).map(|(pod, _)| pod).collect()
}

fn changed_nodes(before: &View, after: &View) -> BTreeSet<Str> {
    let old: BTreeMap<_, _> = before.nodes.iter().map(|node| (node.name(), node)).collect();
    after
        .nodes
        .iter()
        .filter(|node| old.get(node.name()).is_none_or(|was| !Arc::ptr_eq(was, node) && ***was != ***node))
        .map(|node| node.name().clone())
        .collect()
}

fn new_phases(before: &View, after: &View) -> BTreeSet<Phase> {
    let Some(cycle) = &after.cycle else { return BTreeSet::new() };
    let old = before.cycle.as_ref().filter(|old| old.number == cycle.number);
    if old.is_some_and(|old| old.phase == cycle.phase) {
        return BTreeSet::new();
    }
    Phase::ALL
        .into_iter()
        .filter(|phase| *phase <= cycle.phase && old.is_none_or(|old| *phase > old.phase))
        .collect()
}
