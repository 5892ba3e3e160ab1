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
        (
            new.status.resource_claim_statuses != old.status.resource_claim_statuses,
            ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM,
        ),
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

fn is_scaled_down(new: &Pod, old: &Pod) -> bool {
    is_less(&PodResources::of(new).requests, &PodResources::of(old).requests)
}

/// Whether any amount went down or away.
fn is_less(new: &Resource, old: &Resource) -> bool {
    amounts(old).any(|(name, amount)| {
        amounts(new).find(|(other, _)| *other == name).is_none_or(|(_, other)| other < amount)
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Quantity;
    use crate::api::objects::{
        NodeCondition, PodResourceClaimStatus, PodSchedulingGate, Taint, TaintEffect, Toleration,
    };

    fn labels(events: &[ClusterEvent]) -> Vec<String> {
        events.iter().map(ClusterEvent::label).collect()
    }

    fn pod_events(change: impl FnOnce(&mut Pod)) -> Vec<String> {
        let mut old = Pod::default();
        old.spec.scheduling_gates = vec![PodSchedulingGate::default(); 2];
        let mut new = old.clone();
        change(&mut new);
        labels(&pod_scheduling_properties_change(&new, &old))
    }

    fn node_events(old: &Node, change: impl FnOnce(&mut Node)) -> Vec<String> {
        let mut new = old.clone();
        change(&mut new);
        labels(&node_scheduling_properties_change(&new, old))
    }

    #[test]
    fn each_property_of_a_pod_is_an_event_of_its_own() {
        let events = pod_events(|pod| {
            pod.metadata.labels.insert("a".into(), "b".into());
            pod.spec.scheduling_gates.clear();
            pod.spec.tolerations.push(Toleration::default());
            pod.status.resource_claim_statuses.push(PodResourceClaimStatus::default());
        });
        assert_eq!(
            events,
            [
                "UnschedulablePodUpdatePodLabel",
                "UnschedulablePodUpdatePodSchedulingGatesEliminated",
                "UnschedulablePodUpdatePodToleration",
                "UnschedulablePodUpdatePodGeneratedResourceClaim"
            ]
        );
    }

    #[test]
    fn whatever_else_changes_of_a_pod_is_the_general_update() {
        assert_eq!(pod_events(|pod| pod.status.phase = "Pending".into()), ["UnschedulablePodUpdate"]);
        // A gate that is not the last one makes nothing schedulable.
        let one_gate_less = pod_events(|pod| {
            pod.spec.scheduling_gates.pop();
        });
        assert_eq!(one_gate_less, ["UnschedulablePodUpdate"]);
        assert_eq!(pod_events(|pod| pod.spec.node_name = "n".into()), ["AssignedPodUpdate"]);
    }

    #[test]
    fn less_or_nothing_of_a_resource_is_a_scale_down() {
        let resource = |milli_cpu, gpus: Option<i64>| {
            let mut resource = Resource { milli_cpu, ..Resource::default() };
            resource.scalar_resources.extend(gpus.map(|gpus| ("example.com/gpu".into(), gpus)));
            resource
        };
        let old = resource(100, Some(1));
        assert!(is_less(&resource(50, Some(2)), &old));
        assert!(is_less(&resource(100, None), &old));
        assert!(!is_less(&resource(100, Some(1)), &old));
        assert!(!is_less(&resource(200, Some(1)), &old));
    }

    #[test]
    fn node_updates_come_in_a_fixed_order() {
        let mut old = Node::default();
        old.spec.unschedulable = true;
        let events = node_events(&old, |node| {
            node.spec.unschedulable = false;
            node.spec.taints.push(Taint {
                key: "k".into(),
                value: "".into(),
                effect: TaintEffect::NoSchedule,
            });
            node.status.allocatable.insert("cpu".into(), Quantity::from_value(1));
            node.metadata.labels.insert("l".into(), "".into());
            node.metadata.annotations.insert("a".into(), "".into());
            node.status.conditions.push(NodeCondition { type_: "Ready".into(), ..NodeCondition::default() });
            node.status.declared_features.push("Feature".into());
        });
        assert_eq!(
            events,
            [
                "NodeUpdateNodeTaint",
                "NodeUpdateNodeAllocatable",
                "NodeUpdateNodeLabel",
                "NodeUpdateNodeTaint",
                "NodeUpdateNodeCondition",
                "NodeUpdateNodeAnnotation",
                "NodeUpdateNodeDeclaredFeature"
            ]
        );
    }

    #[test]
    fn cordoning_and_heartbeats_are_no_events() {
        let mut old = Node::default();
        old.status.conditions.push(NodeCondition { type_: "Ready".into(), ..NodeCondition::default() });
        assert!(node_events(&old, |node| node.spec.unschedulable = true).is_empty());
        assert!(node_events(&old, |node| node.status.conditions[0].message = "fine".into()).is_empty());
        let not_ready = node_events(&old, |node| node.status.conditions[0].status = "False".into());
        assert_eq!(not_ready, ["NodeUpdateNodeCondition"]);
    }
}
