//! DynamicResources: a pod runs where the devices that it claims can be allocated (KEP-4381).
//!
//! Follows `plugins/dynamicresources/dynamicresources.go` and `extendeddynamicresources.go`. Not built: claims and
//! their allocation. Pods without claims pass every point as upstream has it; a pod with a claim, or with an extended
//! resource that a DeviceClass stands behind, gets an error.

use std::sync::Arc;

use super::helper::normalize_score::default_normalize_score;
use super::names;
use crate::api::Str;
use crate::api::objects::{Pod, RESOURCE_DEVICE_CLASS_PREFIX};
use crate::config::{FeatureGates, Gate};
use crate::framework::resource::is_extended_resource_name;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, NodeScore, NodeToStatus, Plugin, PodInfo, PodResources, PostFilterPlugin,
    PostFilterResult, PreBindPlugin, PreBindPreFlightResult, PreBindProgress, PreEnqueuePlugin,
    PreFilterPlugin, PreFilterResult, RequestOptions, ReservePlugin, ScoreExtensions, ScorePlugin,
    SignFragment, SignPlugin, Status,
};

/// The plugin.
#[derive(Clone, Copy, Debug)]
pub struct DynamicResources {
    /// The gate DRAExtendedResource: extended resources may stand for devices.
    extended_resources: bool,
    /// The gate DRAPrioritizedList, without which it gives 0 to all.
    scores: bool,
}

impl DynamicResources {
    /// The plugin under these gates.
    pub const fn new(gates: &FeatureGates) -> Self {
        Self {
            extended_resources: gates.is_enabled(Gate::DRAExtendedResource),
            scores: gates.is_enabled(Gate::DRAPrioritizedList),
        }
    }

    /// The error for a pod that has what is not built.
    fn not_built(&self, handle: &Handle<'_>, pod: &Pod) -> Option<Status> {
        let error = |what: String| {
            let name = names::DYNAMIC_RESOURCES;
            Some(Status::error(format!("{name} is not built yet: pod uses {what}")))
        };
        if let Some(claim) = pod.spec.resource_claims.first() {
            return error(format!("the claim {:?}", claim.name));
        }
        if !self.extended_resources || handle.objects.device_classes.is_empty() {
            return None;
        }
        let requests = PodResources::with_options(pod, RequestOptions::default().of_spec()).requests;
        let may_be_devices =
            |name: &str| is_extended_resource_name(name) || name.starts_with(RESOURCE_DEVICE_CLASS_PREFIX);
        requests
            .scalar_resources
            .iter()
            .filter(|(name, amount)| **amount != 0 && may_be_devices(name))
            .find_map(|(name, _)| {
                let mut classes = handle.objects.device_classes.values();
                let class = classes.find(|class| class.backs(name))?;
                error(format!("{name} of the device class {:?}", class.metadata.name))
            })
    }
}

/// What PreFilter has found: no claims.
#[derive(Clone, Debug)]
struct StateData;

/// An error if PreFilter was not asked (`fwk.ErrNotFound`).
fn check_state(state: &CycleState) -> Result<(), Status> {
    match state.read::<StateData>() {
        Some(StateData) => Ok(()),
        None => Err(Status::error("not found")),
    }
}

impl Plugin for DynamicResources {
    fn name(&self) -> &'static str {
        names::DYNAMIC_RESOURCES
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
    fn as_reserve(&self) -> Option<&dyn ReservePlugin> {
        Some(self)
    }
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

/// Whether the claims exist is not known, so a pod with claims is let in, to fail at PreFilter.
impl PreEnqueuePlugin for DynamicResources {
    fn pre_enqueue(&self, _: &Handle<'_>, _: &Arc<Pod>) -> Status {
        Status::SUCCESS
    }
}

impl PreFilterPlugin for DynamicResources {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        state.write(self.name(), StateData);
        (None, self.not_built(handle, &pod.pod).unwrap_or_else(Status::skip))
    }
}

/// Only asked where a profile has the plugin here and not at PreFilter.
impl FilterPlugin for DynamicResources {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, _: &NodeInfo) -> Status {
        check_state(state).err().unwrap_or_default()
    }
}

impl PostFilterPlugin for DynamicResources {
    fn post_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        _: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status) {
        let status = check_state(state).err();
        (None, status.unwrap_or_else(|| Status::unschedulable("no new claims to deallocate")))
    }
}

impl ScorePlugin for DynamicResources {
    fn score(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, _: &NodeInfo) -> Result<i64, Status> {
        if self.scores {
            check_state(state)?;
        }
        Ok(0)
    }

    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        Some(self)
    }
}

impl ScoreExtensions for DynamicResources {
    fn normalize_score(
        &self,
        _: &Handle<'_>,
        _: &CycleState,
        _: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status {
        default_normalize_score(false, scores);
        Status::SUCCESS
    }
}

impl ReservePlugin for DynamicResources {
    fn reserve(&self, _: &Handle<'_>, state: &mut CycleState, _: &PodInfo, _: &Str) -> Status {
        check_state(state).err().unwrap_or_default()
    }

    fn unreserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) {}
}

impl PreBindPlugin for DynamicResources {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        _: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        let status = check_state(state).err().unwrap_or_else(Status::skip);
        (PreBindPreFlightResult { allow_parallel: true }, status)
    }

    fn pre_bind(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        _: &Str,
        _: Option<&str>,
    ) -> PreBindProgress {
        PreBindProgress::Done(check_state(state).err().unwrap_or_default())
    }
}

impl EnqueueExtensions for DynamicResources {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node_actions =
            ActionType::ADD | ActionType::UPDATE_NODE_LABEL | ActionType::UPDATE_NODE_ALLOCATABLE;
        let class_actions = ActionType::ADD | ActionType::UPDATE;
        vec![
            ClusterEventWithHint::always(ClusterEvent::new(EventResource::Node, node_actions)),
            ClusterEventWithHint::always(ClusterEvent::new(EventResource::DeviceClass, class_actions)),
        ]
    }
}

impl SignPlugin for DynamicResources {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        if pod.spec.resource_claims.is_empty() {
            return Ok(Vec::new());
        }
        Err(Status::unschedulable("pods with dra resource claims are not signable"))
    }
}
