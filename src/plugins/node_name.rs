//! NodeName: a pod that names its node fits on that one alone.
//!
//! Follows `plugins/nodename/node_name.go`.

use super::helper::signers;
use super::names;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, SignFragment, SignPlugin, Status,
};

const REASON: &str = "node(s) didn't match the requested node name";

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeName;

impl Plugin for NodeName {
    fn name(&self) -> &'static str {
        names::NODE_NAME
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

impl FilterPlugin for NodeName {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let wanted = &pod.pod.spec.node_name;
        if wanted.is_empty() || wanted == node.name() {
            Status::SUCCESS
        } else {
            Status::unresolvable(REASON)
        }
    }
}

impl EnqueueExtensions for NodeName {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        vec![ClusterEventWithHint::always(ClusterEvent::new(EventResource::Node, ActionType::ADD))]
    }
}

impl SignPlugin for NodeName {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::fragment(signers::NODE_NAME, &pod.spec.node_name)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::{node_info, pod_info};

    #[test]
    fn a_named_node_is_the_only_one() {
        let world = TestWorld::default();
        let node = node_info("{metadata: {name: foo}}", &[]);
        let ask = |pod: &str| NodeName.filter(&world.handle(), &CycleState::new(), &pod_info(pod), &node);
        assert_eq!(ask("{}"), Status::SUCCESS);
        assert_eq!(ask("{spec: {nodeName: foo}}"), Status::SUCCESS);
        assert_eq!(
            ask("{spec: {nodeName: bar}}"),
            Status::unresolvable("node(s) didn't match the requested node name")
        );
    }
}
