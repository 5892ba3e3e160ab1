//! What an update of a pod or a node means: the events that it stands for.
//!
//! Mirrors `PodSchedulingPropertiesChange` and `NodeSchedulingPropertiesChange` of
//! `pkg/scheduler/framework/events.go`.

use std::collections::BTreeMap;

use crate::api::objects::{Node, Pod};

use super::events::{ActionType, ClusterEvent, EventResource};
use super::pod_resources::PodResources;
use super::resource::Resource;

/// The events that an update of a pod stands for, in upstream's order. An update that changes none of the
/// properties that matter is the one event that only listeners for any update hear.
pub fn pod_scheduling_properties_change(new: &Pod, old: &Pod) -> Vec<ClusterEvent> {
    let resource =
        if new.is_assigned() { EventResource::AssignedPod } else { EventResource::UnschedulablePod };
    let changes = [
        (new.metadata.labels != old.metadata.labels, ActionType::UPDATE_POD_LABEL),
        (is_scaled_down(new, old), ActionType::UPDATE_POD_SCALE_DOWN),
        (
            new.spec.scheduling_gates.is_empty() && !old.spec.scheduling_gates.is_empty(),
            ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        ),
        // Tolerations can only be added, so counting them is enough.
        (new.spec.tolerations.len() != old.spec.tolerations.len(), ActionType::UPDATE_POD_TOLERATION),
    ];
    let events = events_of(resource, changes);
    if events.is_empty() { vec![ClusterEvent::new(resource, ActionType::UPDATE)] } else { events }
}

/// The events that an update of a node stands for, in upstream's order; none if nothing that matters changed.
pub fn node_scheduling_properties_change(new: &Node, old: &Node) -> Vec<ClusterEvent> {
    let changes = [
        // Cordoning makes nothing schedulable.
        (old.spec.unschedulable && !new.spec.unschedulable, ActionType::UPDATE_NODE_TAINT),
        (old.status.allocatable != new.status.allocatable, ActionType::UPDATE_NODE_ALLOCATABLE),
        (old.metadata.labels != new.metadata.labels, ActionType::UPDATE_NODE_LABEL),
        (old.spec.taints != new.spec.taints, ActionType::UPDATE_NODE_TAINT),
        (condition_statuses(old) != condition_statuses(new), ActionType::UPDATE_NODE_CONDITION),
        (old.metadata.annotations != new.metadata.annotations, ActionType::UPDATE_NODE_ANNOTATION),
        (
            old.status.declared_features != new.status.declared_features,
            ActionType::UPDATE_NODE_DECLARED_FEATURE,
        ),
    ];
    events_of(EventResource::Node, changes)
}

fn events_of<const N: usize>(resource: EventResource, changes: [(bool, ActionType); N]) -> Vec<ClusterEvent> {
    changes
        .into_iter()
        .filter(|(has_changed, _)| *has_changed)
        .map(|(_, action)| ClusterEvent::new(resource, action))
        .collect()
}

fn condition_statuses(node: &Node) -> BTreeMap<&str, &str> {
    node.status.conditions.iter().map(|c| (c.type_.as_str(), c.status.as_str())).collect()
}

/// Whether any request went down or away.
fn is_scaled_down(new: &Pod, old: &Pod) -> bool {
    let (new, old) = (PodResources::of(new).requests, PodResources::of(old).requests);
    amounts(&old)
        .any(|(name, amount)| amounts(&new).find(|(n, _)| *n == name).is_none_or(|(_, a)| a < amount))
}

fn amounts(resource: &Resource) -> impl Iterator<Item = (&str, i64)> {
    [
        ("cpu", resource.milli_cpu),
        ("memory", resource.memory),
        ("ephemeral-storage", resource.ephemeral_storage),
    ]
    .into_iter()
    .chain(resource.scalar_resources.iter().map(|(name, amount)| (name.as_ref(), *amount)))
}
