//! A pod's story: where it stands, why, and what would move it.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::time::human_duration;
use crate::api::{NamespacedName, Str, Uid};
use crate::framework::NodeInfo;
use crate::scheduler::pod_group_trace::MemberVerdict;
use crate::scheduler::trace::CycleOutcome;
use crate::scheduler::view::{BindingRow, QueueRow, View, WaitingRow};

use super::{group_so_far, listed, member_verdict, names, wakers};

/// Where a pod is.
#[derive(Clone, Copy, Debug)]
pub enum PodPlace<'a> {
    /// In activeQ, with its place counted from 1.
    Active(usize, &'a QueueRow),
    /// In backoffQ.
    Backoff(&'a QueueRow),
    /// Among the unschedulable pods.
    Unschedulable(&'a QueueRow),
    /// In the attempt under way.
    InCycle(&'a Arc<Pod>),
    /// In the cycle of its pod group, while another member is tried.
    InGroup(&'a Arc<Pod>),
    /// Held at Permit.
    Waiting(&'a WaitingRow),
    /// In its binding cycle.
    Binding(&'a BindingRow),
    /// On a node.
    Assigned(&'a Arc<Pod>, &'a Str),
}

impl<'a> PodPlace<'a> {
    /// The pod.
    pub const fn pod(&self) -> &'a Arc<Pod> {
        match self {
            Self::Active(_, row) | Self::Backoff(row) | Self::Unschedulable(row) => &row.pod,
            Self::InCycle(pod) | Self::InGroup(pod) | Self::Assigned(pod, _) => pod,
            Self::Waiting(row) => &row.pod,
            Self::Binding(row) => &row.pod,
        }
    }

    /// Its row in a queue, if it is in one.
    pub const fn queue_row(&self) -> Option<&'a QueueRow> {
        match self {
            Self::Active(_, row) | Self::Backoff(row) | Self::Unschedulable(row) => Some(row),
            Self::InCycle(_)
            | Self::InGroup(_)
            | Self::Waiting(_)
            | Self::Binding(_)
            | Self::Assigned(..) => None,
        }
    }
}

/// Looks for a pod everywhere; `None` if the scheduler does not know it (any more).
pub fn place_of<'a>(view: &'a View, key: &NamespacedName) -> Option<PodPlace<'a>> {
    let is_it = |pod: &Pod| pod.metadata.name == key.name && pod.metadata.namespace == key.namespace;
    let in_queue = |rows: &'a [QueueRow]| rows.iter().enumerate().find(|(_, row)| is_it(&row.pod));
    // A pod is in one place alone, so what is fast to look through comes first. There can be very many pods.
    if let Some(row) = unschedulable_row(view, key) {
        return Some(PodPlace::Unschedulable(row));
    }
    if let Some((_, row)) = in_queue(&view.backoff_q) {
        return Some(PodPlace::Backoff(row));
    }
    if let Some(row) = view.waiting.iter().find(|row| is_it(&row.pod)) {
        return Some(PodPlace::Waiting(row));
    }
    if let Some(row) = view.binding.iter().find(|row| is_it(&row.pod)) {
        return Some(PodPlace::Binding(row));
    }
    let cycle = view.cycle.as_ref().filter(|cycle| !cycle.outcome.is_final());
    if let Some(cycle) = cycle.filter(|cycle| is_it(&cycle.pod_info.pod)) {
        return Some(PodPlace::InCycle(&cycle.pod_info.pod));
    }
    let is_member =
        |uid: &Uid| view.group.as_ref().is_some_and(|group| group.members.iter().any(|m| m.uid == *uid));
    if let Some(pod) = view.in_flight.iter().find(|pod| is_it(pod)).filter(|pod| is_member(pod.uid())) {
        return Some(PodPlace::InGroup(pod));
    }
    let on_node = |node: &'a Arc<NodeInfo>| {
        let info = node.pods().iter().find(|info| is_it(&info.pod))?;
        Some(PodPlace::Assigned(&info.pod, node.name()))
    };
    // Where it was bound to it most likely is.
    let log = view.pod_logs.get(key).and_then(|log| log.attempts.back());
    let bound = log.and_then(|attempt| match &attempt.outcome {
        CycleOutcome::Bound { node } | CycleOutcome::Binding { node } => Some(node),
        _ => None,
    });
    let there = bound.and_then(|name| view.nodes.binary_search_by(|node| node.name().cmp(name)).ok());
    if let Some(place) = there.and_then(|at| view.nodes.get(at)).and_then(on_node) {
        return Some(place);
    }
    if let Some((i, row)) = in_queue(&view.active_q) {
        return Some(PodPlace::Active(i + 1, row));
    }
    view.nodes.iter().find_map(on_node)
}

/// The row of a pod in unschedulablePods, which stand by name.
fn unschedulable_row<'a>(view: &'a View, key: &NamespacedName) -> Option<&'a QueueRow> {
    let rows = &view.unschedulable_pods;
    let order = |row: &QueueRow| {
        let metadata = &row.pod.metadata;
        (&*metadata.namespace, &*metadata.name).cmp(&(&*key.namespace, &*key.name))
    };
    // A view that was made by hand may have them in any order.
    const FEW: usize = 256;
    let found = rows.binary_search_by(order).ok();
    let found = found.or_else(|| rows.iter().take(FEW).position(|row| order(row).is_eq()));
    rows.get(found?)
}

/// Whether the pod counts on a node.
pub const fn is_on_node(place: &PodPlace<'_>) -> bool {
    matches!(place, PodPlace::Waiting(_) | PodPlace::Binding(_) | PodPlace::Assigned(..))
}

/// Why a pod is where it is, and what would move it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodStory {
    /// Where it is and why.
    pub headline: String,
    /// What would move it, or when; empty for a pod that runs.
    pub next: String,
}

/// Tells a pod's story; `None` if the scheduler does not know it (any more).
pub fn pod_story(view: &View, key: &NamespacedName) -> Option<PodStory> {
    let story = match place_of(view, key)? {
        PodPlace::Active(position, row) => active(view, position, row),
        PodPlace::Backoff(row) => backoff(view, row),
        PodPlace::Unschedulable(row) => unschedulable(view, row),
        PodPlace::InCycle(_) => {
            let phase = view.cycle.as_ref().map_or("", |cycle| cycle.phase.as_str());
            PodStory {
                headline: format!("It is being tried now; {phase} is done."),
                next: String::from("The next steps decide."),
            }
        }
        PodPlace::InGroup(_) => in_group(view, key),
        PodPlace::Waiting(row) => waiting(view, row),
        PodPlace::Binding(row) => PodStory {
            headline: format!("It has a place on {} and is being bound: {}.", row.node, row.phase),
            next: String::from("A failure would bring it back into the queue."),
        },
        PodPlace::Assigned(pod, node) if pod.is_terminating() => {
            PodStory { headline: format!("It is on {node} and is going."), next: String::new() }
        }
        PodPlace::Assigned(_, node) => {
            PodStory { headline: format!("It has its place on {node}."), next: String::new() }
        }
    };
    Some(story)
}

/// A member of a group whose trial goes on with another one.
fn in_group(view: &View, key: &NamespacedName) -> PodStory {
    let Some(group) = &view.group else { return PodStory { headline: String::new(), next: String::new() } };
    let placement = group.schedule_run().and_then(|run| run.placements.last());
    let trial = placement.and_then(|placement| placement.members.iter().find(|member| member.pod == *key));
    let so_far = match (trial.map(|trial| &trial.verdict), placement) {
        (Some(MemberVerdict::Rejected { message } | MemberVerdict::Error { message }), _) => {
            format!("it was turned down ({message})")
        }
        (Some(verdict), Some(placement)) if !placement.name.is_empty() => {
            format!("in placement {} it {}", placement.name, member_verdict(verdict))
        }
        (Some(verdict), _) => format!("it {}", member_verdict(verdict)),
        (None, _) => String::from("its turn has not come"),
    };
    PodStory {
        headline: format!("It is tried together with its group {}: {so_far}.", group.group),
        next: format!("The group: {}.", group_so_far(group)),
    }
}

fn active(view: &View, position: usize, row: &QueueRow) -> PodStory {
    let waited = human_duration(view.now.saturating_since(row.since));
    if position == 1 {
        return PodStory {
            headline: format!("First in activeQ, for {waited}: {}.", first_in_queue(view)),
            next: String::from("The next attempt is its own."),
        };
    }
    let ahead = position - 1;
    let n_higher =
        view.active_q.iter().take(ahead).filter(|other| other.pod.priority() > row.pod.priority()).count();
    let because = match (n_higher, ahead - n_higher) {
        (n, 0) => format!("{n} of higher priority"),
        (0, n) => format!("{n} of the same priority that came earlier"),
        (higher, same) => format!("{higher} of higher priority and {same} that came earlier"),
    };
    PodStory {
        headline: format!("Number {position} in activeQ, for {waited}."),
        next: format!("Tried after {because}."),
    }
}

fn backoff(view: &View, row: &QueueRow) -> PodStory {
    let left = row.backoff_expiration.map(|end| human_duration(end.saturating_since(view.now)));
    let why = if row.is_error_backoff { "an error" } else { "a rejection" };
    let headline = format!("Backs off after {why} at attempt {}{}.", row.attempts, by_plugins(row));
    let when = match left {
        Some(left) => format!("Back in activeQ in {left}"),
        None => String::from("Back in activeQ when its backoff ends"),
    };
    let early = if row.is_error_backoff { "" } else { ", or as soon as activeQ is empty" };
    PodStory { headline, next: format!("{when}{early}.") }
}

fn unschedulable(view: &View, row: &QueueRow) -> PodStory {
    if let Some(gate) = &row.gated_by {
        return gated(view, row, gate);
    }
    let since = human_duration(view.now.saturating_since(row.since));
    let headline = match rejectors(row).as_slice() {
        [] => format!("Unschedulable for {since}; no plugin is named as the reason."),
        plugins => format!(
            "Unschedulable for {since}: turned down by {} at attempt {}.",
            listed(plugins, 4),
            row.attempts
        ),
    };
    let flush = row.flush_at.map(|at| human_duration(at.saturating_since(view.now)));
    let mut wakers: Vec<String> = wakers(view, row).into_iter().filter_map(|waker| waker.words).collect();
    wakers.dedup();
    let next = match (wakers.as_slice(), flush) {
        ([], Some(flush)) => format!("Nothing can wake it but the flush in {flush}."),
        ([], None) => String::from("Nothing can wake it."),
        (wakers, Some(flush)) => {
            format!("What would wake it: {}; the flush in {flush} at the latest.", wakers.join("; "))
        }
        (wakers, None) => format!("What would wake it: {}.", wakers.join("; ")),
    };
    PodStory { headline, next }
}

fn gated(view: &View, row: &QueueRow, plugin: &str) -> PodStory {
    let gates: Vec<&str> = row.pod.spec.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
    if plugin == names::SCHEDULING_GATES && !gates.is_empty() {
        let them = if gates.len() == 1 { "that gate is" } else { "the last of them is" };
        return PodStory {
            headline: format!("Gated by {}: not tried yet.", listed(&gates, 4)),
            next: format!("It enters activeQ when {them} taken away."),
        };
    }
    PodStory {
        headline: format!("Held back by {plugin} before activeQ."),
        next: match wakers(view, row).into_iter().find_map(|waker| waker.words) {
            Some(waker) => format!("What would wake it: {waker}."),
            None => format!("{plugin} must let it pass."),
        },
    }
}

fn waiting(view: &View, row: &WaitingRow) -> PodStory {
    let plugins: Vec<&str> = row.plugins.iter().map(|(plugin, _)| plugin.as_ref()).collect();
    let deadline = row.plugins.iter().map(|(_, deadline)| *deadline).min();
    let headline =
        format!("It has a place on {} and is held at Permit by {}.", row.node, listed(&plugins, 4));
    let next = match deadline {
        Some(at) => format!(
            "Each of them must let it pass; the first gives up in {}.",
            human_duration(at.saturating_since(view.now))
        ),
        None => String::from("Each of them must let it pass."),
    };
    PodStory { headline, next }
}

fn rejectors(row: &QueueRow) -> Vec<&str> {
    row.unschedulable_plugins
        .iter()
        .chain(&row.pending_plugins)
        .map(AsRef::as_ref)
        .filter(|name| !name.is_empty())
        .collect()
}

fn by_plugins(row: &QueueRow) -> String {
    let plugins = rejectors(row);
    if plugins.is_empty() { String::new() } else { format!(" by {}", listed(&plugins, 4)) }
}

/// Why the first pod of activeQ is the first, in a few words.
pub fn first_in_queue(view: &View) -> String {
    let mut rows = view.active_q.iter();
    let Some(first) = rows.next() else { return String::from("activeQ is empty") };
    let Some(second) = rows.next() else { return String::from("the only pod in activeQ") };
    let (a, b) = (first.pod.priority(), second.pod.priority());
    if a > b {
        return format!("priority {a} before {b}");
    }
    if a < b {
        // A QueueSort plugin of somebody's own orders differently.
        return String::from("first by the profile's QueueSort plugin");
    }
    let earlier = second.since.saturating_since(first.since);
    if earlier.is_zero() {
        format!("same priority {a}, same time")
    } else {
        format!("same priority {a}, came {} earlier", human_duration(earlier))
    }
}
