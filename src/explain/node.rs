//! A node in a few lines: what is scarcest there, and whom it refuses.

use std::borrow::Cow;

use crate::framework::NodeInfo;
use crate::framework::resource::names as resources;
use crate::scheduler::view::View;

use super::amount::{comparable, percent, short};
use super::{counted, listed};

/// How much of a resource of a node is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceUse {
    /// The resource.
    pub resource: Cow<'static, str>,
    /// The sum of the requests, in the resource's base unit (thousandths of a core, bytes, pieces).
    pub requested: i64,
    /// What the node has for pods, in the same unit.
    pub allocatable: i64,
}

impl ResourceUse {
    const fn of((resource, requested, allocatable): (&'static str, i64, i64)) -> Self {
        Self { resource: Cow::Borrowed(resource), requested, allocatable }
    }

    /// What is left; below 0 if more is asked for than there is.
    pub const fn free(&self) -> i64 {
        self.allocatable.saturating_sub(self.requested)
    }

    /// In per cent of what there is; absent if there is nothing.
    pub fn percent(&self) -> Option<i64> {
        percent(self.requested, self.allocatable)
    }
}

/// CPU, memory and pods, then what else the node has: ephemeral storage if some is asked for, and its extended
/// resources by name.
pub fn resource_uses(node: &NodeInfo) -> Vec<ResourceUse> {
    main_uses(node).into_iter().chain(other_uses(node)).collect()
}

/// CPU, memory and pods: what every node has.
pub fn main_uses(node: &NodeInfo) -> [ResourceUse; 3] {
    let (used, there) = (node.requested(), node.allocatable());
    let n_pods = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
    [
        (resources::CPU, used.milli_cpu, there.milli_cpu),
        (resources::MEMORY, used.memory, there.memory),
        (resources::PODS, n_pods, there.allowed_pod_number),
    ]
    .map(ResourceUse::of)
}

/// What only some nodes have.
pub(super) fn other_uses(node: &NodeInfo) -> impl Iterator<Item = ResourceUse> {
    let (used, there) = (node.requested(), node.allocatable());
    let storage = (resources::EPHEMERAL_STORAGE, used.ephemeral_storage, there.ephemeral_storage);
    let storage = (used.ephemeral_storage > 0).then(|| ResourceUse::of(storage));
    let extended = there.scalar_resources.iter().filter(|(_, amount)| **amount > 0);
    storage.into_iter().chain(extended.map(|(name, amount)| ResourceUse {
        resource: Cow::Owned(name.to_string()),
        requested: used.scalar_resources.get(name).copied().unwrap_or_default(),
        allocatable: *amount,
    }))
}

/// What is to say about a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSummary {
    /// The scarcest resource.
    pub headline: String,
    /// Whom it refuses, a line each; empty if nobody but for room.
    pub refusals: Vec<String>,
}

/// Sums a node up; `None` if there is no node of that name.
pub fn node(view: &View, name: &str) -> Option<NodeSummary> {
    let index = view.nodes.binary_search_by(|node| node.name().as_ref().cmp(name)).ok()?;
    let info = view.nodes.get(index)?;
    Some(NodeSummary { headline: scarcest(info), refusals: refusals(info) })
}

fn scarcest(info: &NodeInfo) -> String {
    let uses = resource_uses(info);
    let Some(scarcest) = uses.iter().filter(|used| used.allocatable > 0).max_by_key(|used| {
        // Of equally scarce resources the first one is named.
        (used.percent(), std::cmp::Reverse(uses.iter().position(|other| other == *used)))
    }) else {
        return String::from("The node has nothing for pods.");
    };
    let shown = comparable(&scarcest.resource, &[scarcest.free(), scarcest.allocatable]);
    let [free, allocatable] = shown.as_slice() else { return String::new() };
    let taken = scarcest.percent().unwrap_or_default();
    if scarcest.free() <= 0 {
        return format!("{} is used up: all of {allocatable} is asked for.", scarcest.resource);
    }
    format!("{} is the scarcest: {free} free of {allocatable}, {taken}% asked for.", scarcest.resource)
}

fn refusals(info: &NodeInfo) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(node) = info.node() {
        if node.spec.unschedulable {
            lines.push(String::from("Cordoned: refuses every pod that does not tolerate it."));
        }
        for taint in &node.spec.taints {
            lines.push(match taint.effect.as_str() {
                "PreferNoSchedule" => format!("Taint {taint}: avoided by pods without a toleration."),
                "NoExecute" => format!("Taint {taint}: refuses and evicts pods without a toleration."),
                _ => format!("Taint {taint}: refuses pods without a toleration."),
            });
        }
    }
    let uses = resource_uses(info);
    let room: Vec<String> = uses
        .iter()
        .filter(|used| used.resource != resources::PODS)
        .map(|used| format!("{} {}", used.resource, short(&used.resource, used.free().max(0))))
        .collect();
    let places = uses.iter().find(|used| used.resource == resources::PODS).map_or(0, ResourceUse::free);
    if places <= 0 {
        lines.push(String::from("Full: refuses every pod (too many pods)."));
    } else {
        let places = counted(usize::try_from(places).unwrap_or(usize::MAX), "more pod");
        lines.push(format!("Takes {places}, each with at most {}.", listed(&room, 6)));
    }
    if !info.used_ports().is_empty() {
        let ports: Vec<String> =
            info.used_ports().iter().map(|port| format!("{}/{}", port.port, port.protocol)).collect();
        lines.push(format!("Host ports taken: {}.", listed(&ports, 6)));
    }
    lines
}
