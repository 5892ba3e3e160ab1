//! Which changes may make a rejected pod fit.
//!
//! Follows the queueing hints of `interpodaffinity/plugin.go`. Terms are compared without the namespaces that their
//! selectors select.

use super::super::helper::objects::{as_pods, changed_node};
use super::{InterPodAffinity, matches_all_terms};
use crate::api::Object;
use crate::api::objects::{Node, Pod};
use crate::framework::{
    ActionType, AffinityTerm, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource,
    PodAffinityTerms, QueueingHint,
};

type Hint = Result<QueueingHint, String>;

impl EnqueueExtensions for InterPodAffinity {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pods = ActionType::ADD | ActionType::UPDATE_POD_LABEL | ActionType::DELETE;
        let nodes = ActionType::ADD | ActionType::UPDATE_NODE_LABEL;
        vec![
            ClusterEventWithHint::hinted(ClusterEvent::new(EventResource::Pod, pods), |_, pod, old, new| {
                is_schedulable_after_pod_change(pod, old, new)
            }),
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::Node, nodes),
                |_, pod, old, new| is_schedulable_after_node_change(pod, old, new),
            ),
        ]
    }
}

const fn queue_if(condition: bool) -> Hint {
    Ok(if condition { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

/// The required terms of a pod, affinity and anti-affinity.
fn required_terms(pod: &Pod) -> Result<(Vec<AffinityTerm>, Vec<AffinityTerm>), String> {
    PodAffinityTerms::required_of(pod).map_err(|error| error.to_string())
}

fn matches_all(terms: &[AffinityTerm], pod: &Pod) -> bool {
    matches_all_terms(terms, &pod.metadata.namespace, &pod.metadata.labels)
}

fn is_schedulable_after_pod_change(pod: &Pod, old: Option<&Object>, new: Option<&Object>) -> Hint {
    let (original, modified) = as_pods(old, new)?;
    // The pod's own labels have changed, and others may have kept it off by the old ones.
    if original.is_some() && modified.is_some_and(|modified| modified.uid() == pod.uid()) {
        return Ok(QueueingHint::Queue);
    }
    let has_no_node =
        |other: &Pod| other.spec.node_name.is_empty() && other.status.nominated_node_name.is_empty();
    if original.is_some_and(|pod| has_no_node(pod)) || modified.is_some_and(|pod| has_no_node(pod)) {
        return Ok(QueueingHint::QueueSkip);
    }
    let (affinity, anti_affinity) = required_terms(pod)?;
    match (original, modified) {
        (Some(original), Some(modified)) => queue_if(
            !matches_all(&affinity, original) && matches_all(&affinity, modified)
                || matches_all(&anti_affinity, original) && !matches_all(&anti_affinity, modified),
        ),
        (None, Some(added)) => queue_if(matches_all(&affinity, added)),
        (Some(deleted), None) => {
            if matches_all(&anti_affinity, deleted) {
                return Ok(QueueingHint::Queue);
            }
            let (_, their_anti_affinity) = required_terms(deleted)?;
            queue_if(matches_all(&their_anti_affinity, pod))
        }
        (None, None) => Ok(QueueingHint::QueueSkip),
    }
}

fn is_schedulable_after_node_change(pod: &Pod, old: Option<&Object>, new: Option<&Object>) -> Hint {
    let (original, modified) = changed_node(old, new)?;
    let (affinity, anti_affinity) = required_terms(pod)?;
    let Some(original) = original else {
        // With anti-affinity a node without the key is always good, and one with it may be in a domain of its own.
        let has_key = |term: &AffinityTerm| modified.label(term.topology_key()).is_some();
        return queue_if(affinity.iter().any(has_key) || !anti_affinity.is_empty());
    };
    let values = |term: &AffinityTerm| {
        let label = |node: &Node| node.label(term.topology_key()).map(str::to_owned);
        (label(original), label(modified))
    };
    let helps_affinity = |term: &AffinityTerm| match values(term) {
        (before, Some(after)) => before.is_none_or(|before| before != after),
        (_, None) => false,
    };
    let helps_anti_affinity = |term: &AffinityTerm| match values(term) {
        (Some(before), after) => after.is_none_or(|after| before != after),
        (None, _) => false,
    };
    queue_if(affinity.iter().any(helps_affinity) || anti_affinity.iter().any(helps_anti_affinity))
}
