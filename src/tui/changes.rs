//! What the last step changed, so that it can be lit for a moment.
//!
//! Only steps are compared. While the session runs everything moves, and light on everything says nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::driver::session::{RunState, SessionView};
use crate::framework::NodeInfo;
use crate::scheduler::trace::Phase;
use crate::scheduler::view::{QueueRow, View};

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

/// Where pods stand in two views, but for those that stand where they stood: of very many pods few move, and only those
/// are looked up by name.
#[derive(Default)]
struct Moved {
    before: BTreeMap<NamespacedName, Place>,
    after: BTreeMap<NamespacedName, Place>,
}

impl Moved {
    fn add<R>(
        &mut self,
        (before, after): (&[R], &[R]),
        pod: impl Fn(&R) -> &Arc<Pod>,
        place: impl Fn(&R) -> Place,
    ) {
        let is_same = |(a, b): &(&R, &R)| Arc::ptr_eq(pod(a), pod(b)) && place(a) == place(b);
        let n_first = before.iter().zip(after).take_while(is_same).count();
        let (before, after) = (&before[n_first..], &after[n_first..]);
        let n_last = before.iter().rev().zip(after.iter().rev()).take_while(is_same).count();
        let placed = |row: &R| (pod(row).key(), place(row));
        self.before.extend(before[..before.len() - n_last].iter().map(placed));
        self.after.extend(after[..after.len() - n_last].iter().map(placed));
    }
}

fn changed_pods(before: &View, after: &View) -> BTreeSet<NamespacedName> {
    let mut moved = Moved::default();
    let queued = |row: &QueueRow| row.attempts;
    moved.add((&before.active_q, &after.active_q), |row| &row.pod, |row| Place::Active(queued(row)));
    moved.add((&before.backoff_q, &after.backoff_q), |row| &row.pod, |row| Place::Backoff(queued(row)));
    let unschedulable = (&before.unschedulable_pods[..], &after.unschedulable_pods[..]);
    moved.add(unschedulable, |row| &row.pod, |row| Place::Unschedulable(queued(row)));
    moved.add((&before.waiting, &after.waiting), |row| &row.pod, |_| Place::Waiting);
    moved.add((&before.binding, &after.binding), |row| &row.pod, |row| Place::Binding(row.phase));
    let Moved { before, after } = moved;
    after.into_iter().filter(|(pod, place)| before.get(pod) != Some(place)).map(|(pod, _)| pod).collect()
}

fn changed_nodes(before: &View, after: &View) -> BTreeSet<Str> {
    let is_changed = |was: &Arc<NodeInfo>, node: &Arc<NodeInfo>| !Arc::ptr_eq(was, node) && **was != **node;
    let pairs = || before.nodes.iter().zip(&after.nodes);
    let are_the_same = before.nodes.len() == after.nodes.len()
        && pairs().all(|(was, node)| Arc::ptr_eq(was, node) || was.name() == node.name());
    if are_the_same {
        return pairs()
            .filter(|(was, node)| is_changed(was, node))
            .map(|(_, node)| node.name().clone())
            .collect();
    }
    let old: BTreeMap<_, _> = before.nodes.iter().map(|node| (node.name(), node)).collect();
    after
        .nodes
        .iter()
        .filter(|node| old.get(node.name()).is_none_or(|was| is_changed(was, node)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::objects::{Node, ObjectMeta};
    use crate::driver::session::Speed;
    use crate::scheduler::view::BindingRow;

    const AT: Duration = Duration::from_secs(5);

    fn pod(name: &str) -> Arc<Pod> {
        let metadata =
            ObjectMeta { namespace: Str::from("shop"), name: Str::from(name), ..ObjectMeta::default() };
        Arc::new(Pod { metadata, ..Pod::default() })
    }

    fn binding(name: &str, phase: Phase) -> BindingRow {
        BindingRow {
            pod: pod(name),
            node: Str::from("n"),
            since: crate::api::Time::ZERO,
            phase,
            waits: Vec::new(),
        }
    }

    fn node(name: &str) -> Arc<NodeInfo> {
        let metadata = ObjectMeta { name: Str::from(name), ..ObjectMeta::default() };
        Arc::new(NodeInfo::with_node(Arc::new(Node { metadata, ..Node::default() })))
    }

    fn session(run_state: RunState, view: View) -> SessionView {
        SessionView {
            known: Default::default(),
            moment: Default::default(),
            live: None,
            aside: None,
            source: Str::from("sample"),
            run_state,
            speed: Speed::Times(1),
            elapsed: Duration::ZERO,
            next_timeout: None,
            scheduler: Arc::new(view),
            notice: None,
            debug: Default::default(),
            branches: Default::default(),
            comparison: None,
            failure: None,
        }
    }

    fn between(old: View, new: View) -> Changes {
        let paused = RunState::Paused;
        Changes::between(&session(paused, old), &session(paused, new), AT)
    }

    #[test]
    fn a_pod_that_moved_is_lit_and_one_that_stayed_is_not() {
        let view = |phase| View {
            binding: vec![binding("web", phase), binding("api", Phase::Bind)],
            ..View::default()
        };
        let changes = between(view(Phase::PreBind), view(Phase::Bind));
        assert_eq!(changes.pods, BTreeSet::from([NamespacedName::new("shop", "web")]));
    }

    #[test]
    fn a_node_is_lit_if_it_came_or_is_no_longer_the_same() {
        let same = node("same");
        let mut other = (*node("changed")).clone();
        let old =
            View { nodes: vec![same.clone(), Arc::new(other.clone()), node("copied")], ..View::default() };
        other.add_pod(Arc::new(crate::framework::PodInfo::new(pod("web"))));
        let nodes = vec![same, Arc::new(other), node("copied"), node("new")];
        let changes = between(old, View { nodes, ..View::default() });
        assert_eq!(changes.nodes, BTreeSet::from([Str::from("changed"), Str::from("new")]));
    }

    #[test]
    fn the_light_goes_out_and_there_is_none_while_everything_moves() {
        let new = || View { binding: vec![binding("web", Phase::Bind)], ..View::default() };
        let changes = between(View::default(), new());
        assert!(changes.is_lit(AT) && changes.is_lit(AT + LIGHT - Duration::from_nanos(1)));
        assert!(!changes.is_lit(AT + LIGHT));
        let old = session(RunState::Running, View::default());
        assert!(Changes::between(&old, &session(RunState::Running, new()), AT).is_empty());
    }
}
