//! VolumeZone: a volume that lives in a zone keeps its pod in that zone.
//!
//! Follows `plugins/volumezone/volume_zone.go`. Not built: the zones themselves. Pods without claims pass; a pod with
//! a claim gets an error.

use std::sync::Arc;

use super::helper::signers;
use super::helper::volumes::{PERSISTENT_VOLUME_CLAIM, not_built};
use super::names;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterPlugin, PreFilterResult, SignFragment,
    SignPlugin, Status,
};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolumeZone;

impl Plugin for VolumeZone {
    fn name(&self) -> &'static str {
        names::VOLUME_ZONE
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

impl PreFilterPlugin for VolumeZone {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let status = not_built(self.name(), &pod.pod, &[PERSISTENT_VOLUME_CLAIM]);
        (None, status.unwrap_or_else(Status::skip))
    }
}

/// Only asked where a profile has the plugin here and not at PreFilter.
impl FilterPlugin for VolumeZone {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, pod: &PodInfo, _: &NodeInfo) -> Status {
        not_built(self.name(), &pod.pod, &[PERSISTENT_VOLUME_CLAIM]).unwrap_or_default()
    }
}

impl EnqueueExtensions for VolumeZone {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL);
        vec![ClusterEventWithHint::always(node)]
    }
}

impl SignPlugin for VolumeZone {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Code;
    use crate::plugins::fixtures::filter;

    #[test]
    fn only_claims_have_zones() {
        let answer = |volume: &str| {
            let pod = format!("{{metadata: {{name: p}}, spec: {{volumes: [{{name: v, {volume}}}]}}}}");
            let status = filter(&VolumeZone, &pod, &["{metadata: {name: n}}"], &[]).err().unwrap_or_default();
            (status.code(), status.message())
        };
        assert_eq!(answer("emptyDir: {}"), (Code::Skip, String::new()));
        assert_eq!(answer("ephemeral: {}"), (Code::Skip, String::new()), "as upstream has it");
        let error = "VolumeZone is not built yet: pod uses the claim \"data\"";
        assert_eq!(answer("persistentVolumeClaim: {claimName: data}"), (Code::Error, error.to_owned()));
    }
}
