//! NodeDeclaredFeatures: a pod that needs a feature goes where the kubelet declares it.
//!
//! Follows `plugins/nodedeclaredfeatures` and KEP-5328. A node declares features in `status.declaredFeatures`; what a
//! pod needs follows from its spec.

mod features;

use std::sync::Arc;

use self::features::FeatureSet;
use super::helper::objects::{as_pods, changed_node};
use super::helper::signers;
use super::names;
use crate::api::Object;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterPlugin, PreFilterResult, QueueingHint,
    SignFragment, SignPlugin, Status,
};

const REASON: &str = "node(s) didn't match Pod's required features";

/// The plugin.
#[derive(Clone, Copy, Debug)]
pub struct NodeDeclaredFeatures {
    /// The gate of the same name; without it the plugin does nothing.
    pub is_enabled: bool,
}

/// What the pod needs.
#[derive(Debug)]
struct PreFilterState {
    needed: FeatureSet,
}

impl Plugin for NodeDeclaredFeatures {
    fn name(&self) -> &'static str {
        names::NODE_DECLARED_FEATURES
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

impl PreFilterPlugin for NodeDeclaredFeatures {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let needed = FeatureSet::needed_by(&pod.pod);
        if !self.is_enabled || needed.is_empty() {
            return (None, Status::skip());
        }
        state.write(self.name(), PreFilterState { needed });
        (None, Status::SUCCESS)
    }
}

impl FilterPlugin for NodeDeclaredFeatures {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        if !self.is_enabled {
            return Status::SUCCESS;
        }
        let Some(PreFilterState { needed }) = state.read::<PreFilterState>() else {
            return Status::error(
                "error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not found",
            );
        };
        let declared = node.node().map_or(&[][..], |node| &node.status.declared_features);
        if needed.is_subset(FeatureSet::declared_in(declared)) {
            Status::SUCCESS
        } else {
            Status::unresolvable(REASON)
        }
    }
}

/// The features that the pod of an attempt needs, each with whether the node declares it; `None` if the plugin was
/// skipped. For a person: nothing is decided by it.
pub fn explain_features(state: &CycleState, node: &NodeInfo) -> Option<Vec<(&'static str, bool)>> {
    let PreFilterState { needed } = state.read::<PreFilterState>()?;
    let declared = node.node().map_or(&[][..], |node| &node.status.declared_features);
    let declared: Vec<&str> = FeatureSet::declared_in(declared).names().collect();
    Some(needed.names().map(|name| (name, declared.contains(&name))).collect())
}

impl EnqueueExtensions for NodeDeclaredFeatures {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        if !self.is_enabled {
            return Vec::new();
        }
        let nodes = ActionType::ADD | ActionType::UPDATE_NODE_DECLARED_FEATURE;
        vec![
            ClusterEventWithHint::hinted(ClusterEvent::new(EventResource::Node, nodes), |_, _, old, new| {
                is_schedulable_after_node_change(old, new)
            }),
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::Pod, ActionType::UPDATE),
                |_, pod, old, new| is_schedulable_after_pod_update(pod, old, new),
            ),
        ]
    }
}

fn is_schedulable_after_node_change(
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (original, modified) = changed_node(old, new)?;
    let is_same = original
        .is_some_and(|original| original.status.declared_features == modified.status.declared_features);
    Ok(if is_same { QueueingHint::QueueSkip } else { QueueingHint::Queue })
}

fn is_schedulable_after_pod_update(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (Some(original), Some(modified)) = as_pods(old, new)? else {
        return Err("expected two Pods".to_owned());
    };
    let helps =
        pod.uid() == modified.uid() && FeatureSet::needed_by(original) != FeatureSet::needed_by(modified);
    Ok(if helps { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

impl SignPlugin for NodeDeclaredFeatures {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        if !self.is_enabled {
            return Err(Status::error("target version cannot be nil"));
        }
        let needed = FeatureSet::needed_by(pod).to_string();
        Ok(vec![signers::fragment(signers::FEATURES, &needed)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{filter, hint, node_object, pod, pod_object};

    const PLUGIN: NodeDeclaredFeatures = NodeDeclaredFeatures { is_enabled: true };
    const NODES: [&str; 3] = [
        "{metadata: {name: old}}",
        "{metadata: {name: a}, status: {declaredFeatures: [RestartAllContainersOnContainerExits]}}",
        "{metadata: {name: b}, status: {declaredFeatures: [RestartAllContainersOnContainerExits, \
         UserNamespacesHostNetworkSupport]}}",
    ];

    fn fits(pod: &str) -> Vec<bool> {
        let statuses = filter(&PLUGIN, pod, &NODES, &[]).unwrap_or_default();
        assert!(statuses.iter().all(|status| status.is_success() || *status == Status::unresolvable(REASON)));
        statuses.iter().map(Status::is_success).collect()
    }

    #[test]
    fn a_node_must_declare_what_the_pod_needs() {
        let restarts = "containers: [{name: c, restartPolicyRules: [{action: RestartAllContainers}]}]";
        let host = "hostNetwork: true, hostUsers: false";
        assert_eq!(fits(&format!("{{spec: {{{restarts}}}}}")), [false, true, true]);
        assert_eq!(
            fits(&format!("{{spec: {{init{restarts}}}}}").replace("initc", "initC")),
            [false, true, true]
        );
        assert_eq!(fits(&format!("{{spec: {{{host}}}}}")), [false, false, true]);
        assert_eq!(fits(&format!("{{spec: {{{host}, {restarts}}}}}")), [false, false, true]);
    }

    #[test]
    fn a_pod_that_needs_nothing_is_not_looked_at() {
        let skipped = |spec: &str| filter(&PLUGIN, &format!("{{spec: {{{spec}}}}}"), &NODES, &[]);
        for spec in ["", "hostNetwork: true", "hostNetwork: true, hostUsers: true", "hostUsers: false"] {
            assert_eq!(skipped(spec), Err(Status::skip()), "{spec}");
        }
        let off = NodeDeclaredFeatures { is_enabled: false };
        let pod = "{spec: {hostNetwork: true, hostUsers: false}}";
        assert_eq!(filter(&off, pod, &NODES, &[]), Err(Status::skip()));
        assert!(off.events_to_register().is_empty());
    }

    #[test]
    fn hints() {
        let waiting = pod("{metadata: {name: p}, spec: {hostNetwork: true, hostUsers: false}}");
        let [old, declaring, _] = NODES.map(node_object);
        assert_eq!(hint(&PLUGIN, 0, &waiting, None, Some(&old)), Ok(QueueingHint::Queue));
        assert_eq!(hint(&PLUGIN, 0, &waiting, Some(&old), Some(&declaring)), Ok(QueueingHint::Queue));
        assert_eq!(hint(&PLUGIN, 0, &waiting, Some(&old), Some(&old)), Ok(QueueingHint::QueueSkip));
        let (before, after) = (pod_object("{metadata: {name: p}}"), Object::Pod(Arc::clone(&waiting)));
        assert_eq!(hint(&PLUGIN, 1, &waiting, Some(&before), Some(&after)), Ok(QueueingHint::Queue));
        assert_eq!(hint(&PLUGIN, 1, &waiting, Some(&after), Some(&after)), Ok(QueueingHint::QueueSkip));
        let other = pod_object("{metadata: {name: q}}");
        assert_eq!(hint(&PLUGIN, 1, &waiting, Some(&after), Some(&other)), Ok(QueueingHint::QueueSkip));
    }
}
