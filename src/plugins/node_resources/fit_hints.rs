//! What may make a pod fit that NodeResourcesFit rejected: a pod that goes or shrinks, a node that comes or
//! grows.
//!
//! Follows the second half of `plugins/noderesources/fit.go`. For nodes only their allocatable resources count,
//! not the pods that are on them.

use super::fit::{Fit, backed_by_devices, insufficient_resources, is_served_by_devices};
use crate::api::Object;
use crate::api::objects::{Node, Pod, RESOURCE_DEVICE_CLASS_PREFIX};
use crate::framework::pod_resources::pod_requests;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, EnqueueExtensions, EventResource, Handle, NodeInfo,
    QueueingHint, RequestOptions, Resource,
};
use crate::plugins::helper::objects::{as_pods, changed_class, changed_node};

impl EnqueueExtensions for Fit {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod =
            ClusterEvent::new(EventResource::Pod, ActionType::DELETE | ActionType::UPDATE_POD_SCALE_DOWN);
        let node =
            ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_ALLOCATABLE);
        let class = ClusterEvent::new(EventResource::DeviceClass, ActionType::ADD | ActionType::UPDATE);
        let (of_pod, of_node) = (self.clone(), self.clone());
        let mut events = vec![
            ClusterEventWithHint::hinted(pod, move |_, pod, old, new| {
                of_pod.is_schedulable_after_pod_event(pod, old, new)
            }),
            ClusterEventWithHint::hinted(node, move |handle, pod, old, new| {
                of_node.is_schedulable_after_node_change(handle, pod, old, new)
            }),
        ];
        if self.has_device_classes() {
            events.push(ClusterEventWithHint::hinted(class, |_, pod, old, new| {
                is_schedulable_after_device_class_event(pod, old, new)
            }));
        }
        events
    }
}

const fn queue_if(helps: bool) -> QueueingHint {
    if helps { QueueingHint::Queue } else { QueueingHint::QueueSkip }
}

impl Fit {
    fn is_schedulable_after_pod_event(
        &self,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<QueueingHint, String> {
        match as_pods(old, new)? {
            (Some(original), Some(modified)) => {
                Ok(queue_if(self.is_schedulable_after_scale_down(pod, original, modified)))
            }
            // Whoever had a place has freed something.
            (Some(deleted), None) => {
                Ok(queue_if(deleted.is_assigned() || !deleted.status.nominated_node_name.is_empty()))
            }
            (None, _) => Err("expected a Pod, but got nothing".to_owned()),
        }
    }

    /// Whether the pod itself shrank, or a placed pod shrank by something that this one requests.
    fn is_schedulable_after_scale_down(&self, pod: &Pod, original: &Pod, modified: &Pod) -> bool {
        if modified.uid() == pod.uid() {
            return true;
        }
        if !modified.is_assigned() {
            return false;
        }
        // Requests of the pod as a whole count here whatever their gate says.
        let options = RequestOptions { pod_level: true, ..self.placed_options };
        let requests = |pod: &Pod| Resource::from_list(&pod_requests(pod, options, None));
        let (wanted, before, after) = (requests(pod), requests(original), requests(modified));
        let scalar =
            |amounts: &Resource, name: &str| amounts.scalar_resources.get(name).copied().unwrap_or(0);
        let shrank = |wanted: i64, before: i64, after: i64| wanted != 0 && before.max(0) > after.max(0);
        shrank(wanted.milli_cpu, before.milli_cpu, after.milli_cpu)
            || shrank(wanted.memory, before.memory, after.memory)
            || shrank(wanted.ephemeral_storage, before.ephemeral_storage, after.ephemeral_storage)
            || wanted
                .scalar_resources
                .iter()
                .any(|(name, wanted)| shrank(*wanted, scalar(&before, name), scalar(&after, name)))
    }

    fn is_schedulable_after_node_change(
        &self,
        handle: &Handle<'_>,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<QueueingHint, String> {
        let (original, modified) = changed_node(old, new)?;
        let requests = self.requests_of(pod);
        let devices = backed_by_devices(handle, &requests);
        let empty = NodeInfo::with_node(modified.clone());
        let is_served = |name: &str| is_served_by_devices(&devices, &empty, name);
        // The ignored resources are not ignored here.
        let fits = insufficient_resources(&requests, &empty, is_served).is_empty();
        let may_have_grown = |original: &Node| {
            has_grown(&requests, original, modified) || devices.iter().any(|name| is_served(name))
        };
        Ok(queue_if(fits && original.is_none_or(|original| may_have_grown(original))))
    }
}

/// Whether a class stands behind a resource now that the pod requests (KEP-5004).
fn is_schedulable_after_device_class_event(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (original, modified) = changed_class(old, new)?;
    let requests = pod_requests(pod, RequestOptions::default().of_spec(), None);
    let name = modified.spec.extended_resource_name.as_deref().unwrap_or_default();
    let helps = match original {
        Some(original) if original.spec.extended_resource_name.as_deref().unwrap_or_default() == name => {
            false
        }
        Some(_) => requests.contains_key(name),
        None => {
            let implicit = format!("{RESOURCE_DEVICE_CLASS_PREFIX}{}", modified.metadata.name);
            requests.contains_key(implicit.as_str()) || requests.contains_key(name)
        }
    };
    Ok(queue_if(helps))
}

/// Whether the node has more of something that is requested, or room for more pods.
fn has_grown(requests: &Resource, original: &Node, modified: &Node) -> bool {
    let before = Resource::from_list(&original.status.allocatable);
    let after = Resource::from_list(&modified.status.allocatable);
    let scalar = |amounts: &Resource, name: &str| amounts.scalar_resources.get(name).copied().unwrap_or(0);
    after.allowed_pod_number > before.allowed_pod_number
        || requests.milli_cpu > 0 && after.milli_cpu > before.milli_cpu
        || requests.memory > 0 && after.memory > before.memory
        || requests.ephemeral_storage > 0 && after.ephemeral_storage > before.ephemeral_storage
        || requests
            .scalar_resources
            .iter()
            .any(|(name, amount)| *amount != 0 && scalar(&after, name) > scalar(&before, name))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::config::FeatureGates;
    use crate::config::plugin_args::NodeResourcesFitArgs;
    use crate::plugins::fixtures::{hint, node_object, pod, pod_object};
    use QueueingHint::{Queue, QueueSkip};

    fn fit() -> Fit {
        Fit::new(NodeResourcesFitArgs::from_value(None, "").unwrap(), &FeatureGates::default())
    }

    fn pod_yaml(uid: &str, node: &str, requests: &str) -> String {
        format!(
            "{{metadata: {{name: {uid}, uid: {uid}}}, spec: {{nodeName: '{node}', containers: [{{resources: \
             {{requests: {{{requests}}}}}}}]}}}}"
        )
    }

    #[test]
    fn any_placed_pod_that_goes_helps() {
        let waiting = pod(&pod_yaml("a", "", "cpu: 1"));
        let ask = |deleted: &str| hint(&fit(), 0, &waiting, Some(&pod_object(deleted)), None);
        assert_eq!(ask(&pod_yaml("b", "n", "memory: 1")), Ok(Queue));
        assert_eq!(ask(&pod_yaml("b", "", "cpu: 1")), Ok(QueueSkip));
        assert_eq!(ask("{metadata: {uid: b}, status: {nominatedNodeName: n}}"), Ok(Queue));
    }

    #[test]
    fn a_pod_that_shrinks_helps_by_what_is_wanted() {
        let waiting = pod(&pod_yaml("a", "", "cpu: 1"));
        let ask = |uid: &str, node: &str, before: &str, after: &str| {
            let (old, new) = (pod_yaml(uid, node, before), pod_yaml(uid, node, after));
            hint(&fit(), 0, &waiting, Some(&pod_object(&old)), Some(&pod_object(&new)))
        };
        assert_eq!(ask("b", "n", "cpu: 2", "cpu: 1"), Ok(Queue));
        assert_eq!(ask("b", "n", "cpu: 1, memory: 2", "cpu: 1, memory: 1"), Ok(QueueSkip));
        assert_eq!(ask("b", "", "cpu: 2", "cpu: 1"), Ok(QueueSkip));
        assert_eq!(ask("a", "", "memory: 2", "memory: 1"), Ok(Queue));
    }

    #[test]
    fn a_node_helps_that_could_hold_the_pod_and_has_grown() {
        let waiting = pod(&pod_yaml("a", "", "cpu: 1"));
        let node = |allocatable: &str| {
            node_object(&format!("{{metadata: {{name: n}}, status: {{allocatable: {{{allocatable}}}}}}}"))
        };
        let ask = |old: Option<&str>, new: &str| {
            let old = old.map(node);
            hint(&fit(), 1, &waiting, old.as_ref(), Some(&node(new)))
        };
        assert_eq!(ask(None, "cpu: 1, pods: 1"), Ok(Queue));
        assert_eq!(ask(None, "cpu: 500m, pods: 1"), Ok(QueueSkip));
        assert_eq!(ask(Some("cpu: 1, pods: 1"), "cpu: 2, pods: 1"), Ok(Queue));
        assert_eq!(ask(Some("cpu: 2, pods: 1"), "cpu: 1, pods: 1"), Ok(QueueSkip));
        assert_eq!(ask(Some("cpu: 1, pods: 1"), "cpu: 1, pods: 1, memory: 1"), Ok(QueueSkip));
        assert_eq!(ask(Some("cpu: 1, pods: 1"), "cpu: 1, pods: 2"), Ok(Queue));
        assert!(hint(&fit(), 1, &waiting, None, Some(&pod_object("{}"))).is_err());
    }
}
