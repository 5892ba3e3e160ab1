//! Which changes may make a rejected pod fit.
//!
//! Follows the queueing hints of `podtopologyspread/plugin.go`.

use super::PodTopologySpread;
use super::constraints::{Constraint, has_all_keys};
use crate::api::objects::{Labels, Node, Pod};
use crate::api::{Object, ObjectStore};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource, QueueingHint,
};
use crate::plugins::helper::objects::{as_nodes, as_pods};

type Hint = Result<QueueingHint, String>;

impl EnqueueExtensions for PodTopologySpread {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pods = ActionType::ADD
            | ActionType::UPDATE_POD_LABEL
            | ActionType::UPDATE_POD_TOLERATION
            | ActionType::DELETE;
        let nodes = ActionType::ADD
            | ActionType::DELETE
            | ActionType::UPDATE_NODE_LABEL
            | ActionType::UPDATE_NODE_TAINT;
        let (on_pod, on_node) = (self.clone(), self.clone());
        vec![
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::Pod, pods),
                move |handle, pod, old, new| {
                    on_pod.is_schedulable_after_pod_change(handle.objects, pod, old, new)
                },
            ),
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::Node, nodes),
                move |handle, pod, old, new| {
                    on_node.is_schedulable_after_node_change(handle.objects, pod, old, new)
                },
            ),
        ]
    }
}

const fn queue_if(condition: bool) -> Hint {
    Ok(if condition { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

/// Whether the other pod is on a node, or will be, beside the pod that is spread; or is that pod itself.
fn is_involved(other: &Pod, pod: &Pod) -> bool {
    let has_node = !other.spec.node_name.is_empty() || !other.status.nominated_node_name.is_empty();
    other.uid() == pod.uid() || has_node && other.metadata.namespace == pod.metadata.namespace
}

fn matches_any(constraints: &[Constraint], labels: &Labels) -> bool {
    constraints.iter().any(|constraint| constraint.selector.matches(labels))
}

impl PodTopologySpread {
    fn is_schedulable_after_pod_change(
        &self,
        objects: &ObjectStore,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let (original, modified) = as_pods(old, new)?;
        if [original, modified].into_iter().flatten().any(|other| !is_involved(other, pod)) {
            return Ok(QueueingHint::QueueSkip);
        }
        let constraints = self.hard_constraints(pod, objects)?;
        match (original, modified) {
            (Some(original), Some(modified)) => {
                let has_new_tolerations = pod.uid() == modified.uid()
                    && original.spec.tolerations != modified.spec.tolerations
                    && constraints.iter().any(|constraint| constraint.honors_taints);
                let (before, after) = (&original.metadata.labels, &modified.metadata.labels);
                let joins_or_leaves = |constraint: &Constraint| {
                    constraint.selector.matches(before) != constraint.selector.matches(after)
                };
                queue_if(has_new_tolerations || constraints.iter().any(joins_or_leaves))
            }
            (None, Some(pod)) | (Some(pod), None) => {
                queue_if(matches_any(&constraints, &pod.metadata.labels))
            }
            (None, None) => Ok(QueueingHint::QueueSkip),
        }
    }

    fn is_schedulable_after_node_change(
        &self,
        objects: &ObjectStore,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Hint {
        let (original, modified) = as_nodes(old, new)?;
        let constraints = self.hard_constraints(pod, objects)?;
        let counts = |node: &Node| has_all_keys(&node.metadata.labels, &constraints);
        match (original, modified) {
            (Some(original), Some(modified)) => {
                if counts(original) != counts(modified) {
                    return Ok(QueueingHint::Queue);
                }
                let has_moved = |constraint: &Constraint| {
                    original.label(&constraint.topology_key) != modified.label(&constraint.topology_key)
                };
                queue_if(
                    counts(modified)
                        && (constraints.iter().any(has_moved)
                            || original.spec.taints != modified.spec.taints),
                )
            }
            (None, Some(node)) | (Some(node), None) => queue_if(counts(node)),
            (None, None) => Ok(QueueingHint::QueueSkip),
        }
    }
}
