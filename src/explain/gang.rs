//! A pod's gang: how many must find a place, who has one, who waits, and who blocks.

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::scheduler::view::{QueueRow, View};

use super::listed;

/// Where a member is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemberPlace {
    /// Bound to a node.
    Bound(Str),
    /// On the way to a node.
    Binding(Str),
    /// Held at Permit with a node.
    Waiting(Str),
    /// Being tried.
    InCycle,
    /// In a queue, and why.
    Pending(String),
}

impl MemberPlace {
    /// Whether it counts for the quorum.
    pub const fn has_place(&self) -> bool {
        matches!(self, Self::Bound(_) | Self::Binding(_) | Self::Waiting(_))
    }
}

/// A member of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangMember {
    /// The pod.
    pub pod: NamespacedName,
    /// Where it is.
    pub place: MemberPlace,
}

/// The group of a pod with all its members that are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gang {
    /// The group.
    pub name: NamespacedName,
    /// Whether there is an object of that name.
    pub exists: bool,
    /// How many must have a place before any is bound; absent if the group is no gang.
    pub min_count: Option<i32>,
    /// The members, those with a place first.
    pub members: Vec<GangMember>,
}

impl Gang {
    /// How many members have a place.
    pub fn n_placed(&self) -> usize {
        self.members.iter().filter(|member| member.place.has_place()).count()
    }
}

/// The group of a pod; absent if it has none.
pub fn gang(view: &View, pod: &Pod) -> Option<Gang> {
    let group = &pod.spec.scheduling_group.as_ref()?.pod_group_name;
    let namespace = &pod.metadata.namespace;
    let is_member = |other: &Pod| {
        other.metadata.namespace == *namespace
            && other.spec.scheduling_group.as_ref().is_some_and(|other| other.pod_group_name == *group)
    };
    let mut members: Vec<GangMember> = Vec::new();
    let mut add = |pod: &Pod, place: MemberPlace| {
        let pod = pod.key();
        if members.iter().all(|known| known.pod != pod) {
            members.push(GangMember { pod, place });
        }
    };
    for row in view.waiting.iter().filter(|row| is_member(&row.pod)) {
        add(&row.pod, MemberPlace::Waiting(row.node.clone()));
    }
    for row in view.binding.iter().filter(|row| is_member(&row.pod)) {
        add(&row.pod, MemberPlace::Binding(row.node.clone()));
    }
    for node in &view.nodes {
        for info in node.pods().iter().filter(|info| is_member(&info.pod)) {
            add(&info.pod, MemberPlace::Bound(node.name().clone()));
        }
    }
    let queues = [("activeQ", &view.active_q), ("backoffQ", &view.backoff_q)];
    for (queue, rows) in queues {
        for row in rows.iter().filter(|row| is_member(&row.pod)) {
            add(&row.pod, MemberPlace::Pending(format!("in {queue}")));
        }
    }
    for row in view.unschedulable_pods.iter().filter(|row| is_member(&row.pod)) {
        add(&row.pod, MemberPlace::Pending(why(row)));
    }
    for pod in view.in_flight.iter().filter(|pod| is_member(pod)) {
        add(pod, MemberPlace::InCycle);
    }
    members.sort_by(|a, b| (&a.place, &a.pod).cmp(&(&b.place, &b.pod)));
    let object = view
        .pod_groups
        .iter()
        .find(|object| object.metadata.name == *group && object.metadata.namespace == *namespace);
    Some(Gang {
        name: NamespacedName::new(namespace.clone(), group.clone()),
        exists: object.is_some(),
        min_count: object.and_then(|object| object.gang_min_count()),
        members,
    })
}

fn why(row: &QueueRow) -> String {
    if let Some(gate) = &row.gated_by {
        return format!("held by {gate} before the queue");
    }
    let plugins: Vec<&str> =
        row.unschedulable_plugins.iter().chain(&row.pending_plugins).map(AsRef::as_ref).collect();
    if plugins.is_empty() {
        return String::from("unschedulable");
    }
    format!("unschedulable: {}", listed(&plugins, 3))
}

/// How the gang stands in a sentence: the quorum, and who blocks.
pub fn gang_headline(gang: &Gang) -> String {
    let n_placed = gang.n_placed();
    let name = &gang.name;
    if !gang.exists {
        return format!("PodGroup {name} is not there: its pods wait for it.");
    }
    let Some(min) = gang.min_count else {
        return format!("Group {name} is no gang: its pods are bound one by one.");
    };
    let needed = usize::try_from(min).unwrap_or_default();
    let known = gang.members.len();
    if n_placed >= needed {
        return format!("Gang {name} has its quorum: {n_placed} have a place, {min} are needed.");
    }
    let has = format!("Gang {name}: {n_placed} of {min} have a place");
    if known < needed {
        return format!("{has}; only {known} of its pods are there, so {} must come.", needed - known);
    }
    let blocking: Vec<String> = gang
        .members
        .iter()
        .filter(|member| !member.place.has_place())
        .map(|member| member.pod.name.to_string())
        .collect();
    format!("{has}; {} it: {}.", blocks(needed - n_placed), listed(&blocking, 4))
}

fn blocks(n: usize) -> String {
    if n == 1 { String::from("1 missing place blocks") } else { format!("{n} missing places block") }
}
