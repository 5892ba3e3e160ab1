//! NodeUnschedulable: a cordoned node takes only pods that tolerate the taint
//! `node.kubernetes.io/unschedulable:NoSchedule`.
//!
//! Follows `plugins/nodeunschedulable/node_unschedulable.go`.

use super::helper::objects::{changed_node, changed_pod};
use super::helper::{signers, taints};
use super::names;
use crate::api::Object;
use crate::api::objects::{Pod, TaintEffect};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, QueueingHint, SignFragment, SignPlugin, Status,
};

const REASON: &str = "node(s) were unschedulable";
const TAINT_KEY: &str = "node.kubernetes.io/unschedulable";

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeUnschedulable {
    /// The gate TaintTolerationComparisonOperators.
    pub comparison_operators: bool,
}

impl NodeUnschedulable {
    fn tolerates(self, pod: &Pod) -> bool {
        let effect = TaintEffect::NoSchedule;
        let mut tolerations = pod.spec.tolerations.iter();
        tolerations.any(|own| taints::tolerates(own, TAINT_KEY, "", &effect, self.comparison_operators))
    }

    fn is_schedulable_after_pod_toleration_change(
        self,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<QueueingHint, String> {
        let changed = changed_pod(old, new)?;
        let helps = changed.uid() == pod.uid() && self.tolerates(changed);
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::QueueSkip })
    }
}

fn is_schedulable_after_node_change(
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (original, modified) = changed_node(old, new)?;
    let was_closed = original.is_none_or(|node| node.spec.unschedulable);
    let is_opened = was_closed && !modified.spec.unschedulable;
    Ok(if is_opened { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

impl Plugin for NodeUnschedulable {
    fn name(&self) -> &'static str {
        names::NODE_UNSCHEDULABLE
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl FilterPlugin for NodeUnschedulable {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let is_cordoned = node.node().is_some_and(|node| node.spec.unschedulable);
        if is_cordoned && !self.tolerates(&pod.pod) {
            return Status::unresolvable(REASON);
        }
        Status::SUCCESS
    }
}

impl EnqueueExtensions for NodeUnschedulable {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let plugin = *self;
        let node = ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_TAINT);
        let pod = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_TOLERATION);
        vec![
            ClusterEventWithHint::hinted(node, |_, _, old, new| is_schedulable_after_node_change(old, new)),
            ClusterEventWithHint::hinted(pod, move |_, pod, old, new| {
                plugin.is_schedulable_after_pod_toleration_change(pod, old, new)
            }),
        ]
    }
}

impl SignPlugin for NodeUnschedulable {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::tolerations(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::{hint, node_info, node_object, pod, pod_info, pod_object};

    const TOLERANT: &str = "{metadata: {uid: a}, spec: {tolerations: [{key: node.kubernetes.io/unschedulable, \
                            operator: Exists, effect: NoSchedule}]}}";

    #[test]
    fn a_cordoned_node_takes_tolerant_pods_only() {
        let world = TestWorld::default();
        let ask = |pod: &str, node: &str| {
            let (pod, node) = (pod_info(pod), node_info(node, &[]));
            NodeUnschedulable::default().filter(&world.handle(), &CycleState::new(), &pod, &node)
        };
        let cordoned = "{spec: {unschedulable: true}}";
        assert_eq!(ask("{}", cordoned), Status::unresolvable("node(s) were unschedulable"));
        assert_eq!(ask(TOLERANT, cordoned), Status::SUCCESS);
        assert_eq!(ask("{}", "{}"), Status::SUCCESS);
    }

    #[test]
    fn hints() {
        use QueueingHint::{Queue, QueueSkip};
        let plugin = NodeUnschedulable::default();
        let waiting = pod("{metadata: {uid: a}}");
        let open = node_object("{}");
        let closed = node_object("{spec: {unschedulable: true}}");
        let node = |old: Option<&Object>, new| hint(&plugin, 0, &waiting, old, Some(new));
        assert_eq!(node(None, &open), Ok(Queue));
        assert_eq!(node(None, &closed), Ok(QueueSkip));
        assert_eq!(node(Some(&closed), &open), Ok(Queue));
        assert_eq!(node(Some(&open), &open), Ok(QueueSkip));
        assert_eq!(node(Some(&open), &closed), Ok(QueueSkip));
        assert!(node(None, &pod_object("{}")).is_err());

        let before = pod_object("{metadata: {uid: a}}");
        let toleration = |new: &str| hint(&plugin, 1, &waiting, Some(&before), Some(&pod_object(new)));
        assert_eq!(toleration(TOLERANT), Ok(Queue));
        assert_eq!(toleration("{metadata: {uid: a}, spec: {tolerations: [{key: x}]}}"), Ok(QueueSkip));
        assert_eq!(toleration(&TOLERANT.replace("uid: a", "uid: b")), Ok(QueueSkip));
    }
}
