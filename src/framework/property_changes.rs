//! What has changed about a pod or a node, as cluster events.
//!
//! Mirrors `PodSchedulingPropertiesChange` and `NodeSchedulingPropertiesChange` of
//! `pkg/scheduler/framework/events.go`. One update may give several events, in a fixed order.

use std::collections::BTreeMap;

use crate::api::objects::{Node, Pod};

use super::events::{ActionType, ClusterEvent, EventResource};
use super::pod_resources::PodResources;

/// The events that the update of a pod stands for; the general update if nothing particular has changed.
pub fn pod_scheduling_properties_change(new: &Pod, old: &Pod) -> Vec<ClusterEvent> {
    let resource =
        if new.is_assigned() { EventResource::AssignedPod } else { EventResource::UnschedulablePod };
    let mut events = Vec::new();
    let mut push = |changed: bool, action: ActionType| {
        if changed {
            events.push(ClusterEvent::new(resource, action));
        }
    };
    push(new.metadata.labels != old.metadata.labels, ActionType::UPDATE_POD_LABEL);
    push(is_scaled_down(new, old), ActionType::UPDATE_POD_SCALE_DOWN);
    push(
        new.spec.scheduling_gates.is_empty() && !old.spec.scheduling_gates.is_empty(),
        ActionType::UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    );
    push(new.spec.tolerations.len() != old.spec.tolerations.len(), ActionType::UPDATE_POD_TOLERATION);
    if events.is_empty() {
        events.push(ClusterEvent::new(resource, ActionType::UPDATE));
    }
    events
}

/// Whether any request went down or away.
fn is_scaled_down(new: &Pod, old: &Pod) -> bool {
    let (new, old) = (PodResources::of(new).requests, PodResources::of(old).requests);
    old.milli_cpu > new.milli_cpu
        || old.memory > new.memory
        || old.ephemeral_storage > new.ephemeral_storage
        || old
            .scalar_resources
            .iter()
            .any(|(name, amount)| new.scalar_resources.get(name).is_none_or(|now| now < amount))
}

/// The events that the update of a node stands for; none if nothing that matters has changed. Cordoning is no
/// event, uncordoning is one.
pub fn node_scheduling_properties_change(new: &Node, old: &Node) -> Vec<ClusterEvent> {
    let conditions = |node: &Node| -> BTreeMap<String, String> {
        node.status.conditions.iter().map(|c| (c.type_.clone(), c.status.clone())).collect()
    };
    let changes = [
        (old.spec.unschedulable && !new.spec.unschedulable, ActionType::UPDATE_NODE_TAINT),
        (new.status.allocatable != old.status.allocatable, ActionType::UPDATE_NODE_ALLOCATABLE),
        (new.metadata.labels != old.metadata.labels, ActionType::UPDATE_NODE_LABEL),
        (new.spec.taints != old.spec.taints, ActionType::UPDATE_NODE_TAINT),
        (conditions(new) != conditions(old), ActionType::UPDATE_NODE_CONDITION),
        (new.metadata.annotations != old.metadata.annotations, ActionType::UPDATE_NODE_ANNOTATION),
        (
            new.status.declared_features != old.status.declared_features,
            ActionType::UPDATE_NODE_DECLARED_FEATURE,
        ),
    ];
    changes
        .into_iter()
        .filter(|(changed, _)| *changed)
        .map(|(_, action)| ClusterEvent::new(EventResource::Node, action))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::objects::{Taint, TaintEffect, Toleration};

    fn labels(events: &[ClusterEvent]) -> Vec<String> {
        events.iter().map(ClusterEvent::label).collect()
    }

    #[test]
    fn cordoning_is_no_event_and_uncordoning_is_a_taint_update() {
        let open = Node::default();
        let mut cordoned = open.clone();
        cordoned.spec.unschedulable = true;
        assert!(node_scheduling_properties_change(&cordoned, &open).is_empty());
        assert_eq!(labels(&node_scheduling_properties_change(&open, &cordoned)), ["NodeUpdateNodeTaint"]);
    }

    #[test]
    fn one_node_update_may_be_several_events() {
        let old = Node::default();
        let mut new = old.clone();
        new.metadata.labels.insert(Arc::from("disk"), Arc::from("ssd"));
        new.spec.taints.push(Taint {
            key: Arc::from("a"),
            value: Arc::from(""),
            effect: TaintEffect::NoSchedule,
        });
        assert_eq!(
            labels(&node_scheduling_properties_change(&new, &old)),
            ["NodeUpdateNodeLabel", "NodeUpdateNodeTaint"]
        );
    }

    #[test]
    fn a_pod_update_without_a_particular_change_is_the_general_one() {
        let old = Pod::default();
        assert_eq!(labels(&pod_scheduling_properties_change(&old, &old)), ["UnschedulablePodUpdate"]);
        let mut new = old.clone();
        new.spec.tolerations.push(Toleration::default());
        assert_eq!(
            labels(&pod_scheduling_properties_change(&new, &old)),
            ["UnschedulablePodUpdatePodToleration"]
        );
    }
}
