//! NodeVolumeLimits: a node can have only so many volumes of a CSI driver attached.
//!
//! Follows `plugins/nodevolumelimits/csi.go`. Not built: the count itself. Pods without volumes that count pass; a pod
//! with a claim, an ephemeral volume or an inline disk that a CSI driver has taken over gets an error. Inline CSI
//! volumes do not count, as upstream has it.

use std::sync::Arc;

use super::helper::objects::as_pods;
use super::helper::signers;
use super::helper::volumes::{self, EPHEMERAL, MIGRATED, PERSISTENT_VOLUME_CLAIM};
use super::names;
use crate::api::Object;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterPlugin, PreFilterResult, QueueingHint,
    SignFragment, SignPlugin, Status,
};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeVolumeLimits;

/// The kinds of volumes that may count.
fn kinds() -> Vec<&'static str> {
    [PERSISTENT_VOLUME_CLAIM, EPHEMERAL].into_iter().chain(MIGRATED).collect()
}

fn is_schedulable_after_pod_deleted(
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (deleted, _) = as_pods(old, new)?;
    let deleted = deleted.ok_or_else(|| "expected a Pod, but got nothing".to_owned())?;
    let had_place = deleted.is_assigned() || !deleted.status.nominated_node_name.is_empty();
    let kinds = kinds();
    let mut volumes = deleted.spec.volumes.iter();
    let counted = volumes.any(|volume| kinds.iter().any(|kind| volumes::has(volume, kind)));
    Ok(if had_place && counted { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        names::NODE_VOLUME_LIMITS
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

impl PreFilterPlugin for NodeVolumeLimits {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let status = volumes::not_built(self.name(), &pod.pod, &kinds());
        (None, status.unwrap_or_else(Status::skip))
    }
}

impl FilterPlugin for NodeVolumeLimits {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, pod: &PodInfo, _: &NodeInfo) -> Status {
        volumes::not_built(self.name(), &pod.pod, &kinds()).unwrap_or_default()
    }
}

impl EnqueueExtensions for NodeVolumeLimits {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let deleted = ClusterEvent::new(EventResource::Pod, ActionType::DELETE);
        vec![ClusterEventWithHint::hinted(deleted, |_, _, old, new| {
            is_schedulable_after_pod_deleted(old, new)
        })]
    }
}

impl SignPlugin for NodeVolumeLimits {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Code;
    use crate::plugins::fixtures::{filter, hint, pod, pod_object};

    fn with_volume(volume: &str, more: &str) -> String {
        format!("{{metadata: {{name: p}}, spec: {{{more}volumes: [{{name: v, {volume}}}]}}}}")
    }

    fn answer(volume: &str) -> (Code, String) {
        let nodes = ["{metadata: {name: n}}"];
        let status =
            filter(&NodeVolumeLimits, &with_volume(volume, ""), &nodes, &[]).err().unwrap_or_default();
        (status.code(), status.message())
    }

    #[test]
    fn volumes_that_do_not_count_skip_the_plugin() {
        for volume in ["emptyDir: {}", "hostPath: {path: /x}", "csi: {driver: d}", "rbd: {image: i}"] {
            assert_eq!(answer(volume), (Code::Skip, String::new()), "{volume}");
        }
    }

    #[test]
    fn volumes_that_would_count_are_an_error() {
        for (volume, used) in [
            ("persistentVolumeClaim: {claimName: data}", "the claim \"data\""),
            ("ephemeral: {}", "the ephemeral volume \"v\""),
            ("awsElasticBlockStore: {volumeID: x}", "the awsElasticBlockStore volume \"v\""),
            ("portworxVolume: {volumeID: x}", "the portworxVolume volume \"v\""),
        ] {
            let text = format!("NodeVolumeLimits is not built yet: pod uses {used}");
            assert_eq!(answer(volume), (Code::Error, text));
        }
    }

    #[test]
    fn the_deletion_of_a_placed_pod_with_such_a_volume_is_worth_a_retry() {
        let own = pod(&with_volume("persistentVolumeClaim: {claimName: data}", ""));
        let deleted = |volume: &str, more: &str| {
            hint(&NodeVolumeLimits, 0, &own, Some(&pod_object(&with_volume(volume, more))), None)
        };
        assert_eq!(deleted("azureDisk: {diskName: d}", "nodeName: n, "), Ok(QueueingHint::Queue));
        assert_eq!(deleted("azureDisk: {diskName: d}", ""), Ok(QueueingHint::QueueSkip));
        assert_eq!(deleted("emptyDir: {}", "nodeName: n, "), Ok(QueueingHint::QueueSkip));
    }
}
