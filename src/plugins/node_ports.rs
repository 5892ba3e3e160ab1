//! NodePorts: a pod fits where the host ports that it wants are free.
//!
//! Follows `plugins/nodeports/node_ports.go`.

use std::sync::Arc;

use super::helper::objects::as_pods;
use super::helper::signers;
use super::names;
use crate::api::Object;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, HostPort, HostPortInfo, NodeInfo, Plugin, PodInfo, PreFilterPlugin,
    PreFilterResult, QueueingHint, SignFragment, SignPlugin, Status, host_ports,
};

const REASON: &str = "node(s) didn't have free ports for the requested pod ports";

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodePorts;

/// The host ports that the pod wants.
#[derive(Debug)]
struct PreFilterState {
    wanted: Vec<HostPort>,
}

fn are_free(wanted: &[HostPort], used: &HostPortInfo) -> bool {
    !wanted.iter().any(|port| used.conflicts_with(port))
}

fn is_schedulable_after_pod_deleted(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (deleted, _) = as_pods(old, new)?;
    let deleted = deleted.ok_or_else(|| "expected a Pod, but got nothing".to_owned())?;
    if !deleted.is_assigned() && deleted.status.nominated_node_name.is_empty() {
        return Ok(QueueingHint::QueueSkip);
    }
    let mut freed = HostPortInfo::default();
    for port in host_ports(deleted) {
        freed.add(&port);
    }
    let helps = !are_free(&host_ports(pod), &freed);
    Ok(if helps { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

impl Plugin for NodePorts {
    fn name(&self) -> &'static str {
        names::NODE_PORTS
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
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

impl PreFilterPlugin for NodePorts {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let wanted = host_ports(&pod.pod);
        if wanted.is_empty() {
            return (None, Status::skip());
        }
        state.write(self.name(), PreFilterState { wanted });
        (None, Status::SUCCESS)
    }
}

impl FilterPlugin for NodePorts {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        match state.read::<PreFilterState>() {
            None => Status::error("reading \"PreFilterNodePorts\" from cycleState: not found"),
            Some(state) if are_free(&state.wanted, node.used_ports()) => Status::SUCCESS,
            Some(_) => Status::unschedulable(REASON),
        }
    }
}

impl EnqueueExtensions for NodePorts {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod = ClusterEvent::new(EventResource::Pod, ActionType::DELETE);
        let node = ClusterEvent::new(EventResource::Node, ActionType::ADD);
        vec![
            ClusterEventWithHint::hinted(pod, |_, pod, old, new| {
                is_schedulable_after_pod_deleted(pod, old, new)
            }),
            ClusterEventWithHint::always(node),
        ]
    }
}

impl SignPlugin for NodePorts {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::host_ports(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{filter, hint, pod, pod_object};

    fn with_ports(node: &str, ports: &str) -> String {
        format!(
            "{{metadata: {{name: p, uid: p}}, spec: {{nodeName: '{node}', containers: [{{ports: [{ports}]}}]}}}}"
        )
    }

    /// Upstream's own table: `protocol address port` of the pod on the node and of the pod to schedule.
    #[test]
    fn conflicts() {
        let port = |text: &str| {
            let parts: Vec<&str> = text.split(' ').collect();
            format!("{{protocol: {}, hostIP: {}, hostPort: {}}}", parts[0], parts[1], parts[2])
        };
        let busy = Status::unschedulable("node(s) didn't have free ports for the requested pod ports");
        for (wanted, used, fits) in [
            (&["UDP 127.0.0.1 8080"][..], &["UDP 127.0.0.1 9090"][..], true),
            (&["UDP 127.0.0.1 8080"], &["UDP 127.0.0.1 8080"], false),
            (&["TCP 127.0.0.1 8080"], &["UDP 127.0.0.1 8080"], true),
            (&["TCP 127.0.0.1 8080"], &["TCP 127.0.0.2 8080"], true),
            (&["UDP 127.0.0.1 8000", "UDP 127.0.0.1 8080"], &["UDP 127.0.0.1 8080"], false),
            (&["TCP 0.0.0.0 8001"], &["TCP 127.0.0.1 8001"], false),
            (&["TCP 127.0.0.1 8001"], &["TCP 0.0.0.0 8001"], false),
            (&["TCP 10.0.10.10 8001", "TCP 0.0.0.0 8001"], &["TCP 127.0.0.1 8001"], false),
            (&["UDP 127.0.0.1 8001"], &["TCP 0.0.0.0 8001"], true),
        ] {
            let list = |ports: &[&str]| ports.iter().map(|text| port(text)).collect::<Vec<_>>().join(", ");
            let (new, old) = (with_ports("", &list(wanted)), with_ports("n", &list(used)));
            let answer = filter(&NodePorts, &new, &["{metadata: {name: n}}"], &[&old]);
            let expected = if fits { Status::SUCCESS } else { busy.clone() };
            assert_eq!(answer, Ok(vec![expected]), "{wanted:?} beside {used:?}");
        }
    }

    #[test]
    fn a_pod_without_host_ports_is_skipped() {
        assert_eq!(filter(&NodePorts, &with_ports("", "{containerPort: 80}"), &[], &[]), Err(Status::skip()));
    }

    #[test]
    fn sidecars_count_and_init_containers_do_not() {
        let init = "{spec: {initContainers: [{ports: [{hostPort: 80}]}]}}";
        assert_eq!(filter(&NodePorts, init, &[], &[]), Err(Status::skip()));
        let sidecar = "{spec: {initContainers: [{restartPolicy: Always, ports: [{hostPort: 80}]}]}}";
        assert_eq!(filter(&NodePorts, sidecar, &[], &[]), Ok(vec![]));
    }

    #[test]
    fn the_deletion_of_a_placed_pod_with_a_common_port_helps() {
        let waiting = pod(&with_ports("", "{hostPort: 8080, protocol: TCP}"));
        let ask = |deleted: &str| hint(&NodePorts, 0, &waiting, Some(&pod_object(deleted)), None);
        let common = "{hostPort: 8080, protocol: TCP}";
        assert_eq!(ask(&with_ports("n", common)), Ok(QueueingHint::Queue));
        assert_eq!(ask(&with_ports("n", "{hostPort: 8081, protocol: TCP}")), Ok(QueueingHint::QueueSkip));
        assert_eq!(ask(&with_ports("n", "")), Ok(QueueingHint::QueueSkip));
        // It had no place; a nominated one counts as placed.
        assert_eq!(ask(&with_ports("", common)), Ok(QueueingHint::QueueSkip));
        let nominated = "{spec: {containers: [{ports: [{hostPort: 8080}]}]}, status: {nominatedNodeName: n}}";
        assert_eq!(ask(nominated), Ok(QueueingHint::Queue));
    }
}
