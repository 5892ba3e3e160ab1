//! DynamicResources: a pod runs where the devices that it claims can be allocated (KEP-4381).
//!
//! Follows `plugins/dynamicresources/dynamicresources.go` and `extendeddynamicresources.go`. Not built: claims and
//! their allocation. Pods without claims pass every point as upstream has it; a pod with a claim, or with an extended
//! resource that a DeviceClass stands behind, gets an error.

mod allocated_devices;
mod allocator;
mod device_slices;

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

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::Object;
    use crate::framework::Code;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::{node_info, pod_info};

    fn plugin(gates: &str) -> DynamicResources {
        DynamicResources::new(&FeatureGates::parse(gates).unwrap())
    }

    fn answer(status: &Status) -> (Code, String) {
        (status.code(), status.message())
    }

    #[test]
    fn a_pod_without_claims_has_nothing_to_deallocate_and_scores_0() {
        let (world, pod, plugin) = (TestWorld::default(), pod_info("{metadata: {name: p}}"), plugin(""));
        let (handle, mut state) = (world.handle(), CycleState::new());
        let (_, status) = plugin.pre_filter(&handle, &mut state, &pod, &[]);
        assert_eq!(status.code(), Code::Skip);
        let (result, status) = plugin.post_filter(&handle, &mut state, &pod, &NodeToStatus::new());
        assert!(result.is_none());
        assert_eq!(answer(&status), (Code::Unschedulable, "no new claims to deallocate".to_owned()));
        let node = node_info("{metadata: {name: n}}", &[]);
        assert_eq!(plugin.score(&handle, &state, &pod, &node), Ok(0));
        assert!(plugin.reserve(&handle, &mut state, &pod, &"n".into()).is_success());
        let (result, status) = plugin.pre_bind_pre_flight(&handle, &mut state, &pod, &"n".into());
        assert_eq!((result.allow_parallel, status.code()), (true, Code::Skip));
    }

    #[test]
    fn where_pre_filter_had_stopped_before_it_post_filter_finds_nothing() {
        let (world, pod, plugin) = (TestWorld::default(), pod_info("{metadata: {name: p}}"), plugin(""));
        let (handle, mut state) = (world.handle(), CycleState::new());
        let (_, status) = plugin.post_filter(&handle, &mut state, &pod, &NodeToStatus::new());
        assert_eq!(answer(&status), (Code::Error, "not found".to_owned()));
        let node = node_info("{metadata: {name: n}}", &[]);
        let error = plugin.score(&handle, &state, &pod, &node).unwrap_err();
        assert_eq!(answer(&error), (Code::Error, "not found".to_owned()));
        let without_lists = super::DynamicResources { scores: false, ..plugin };
        assert_eq!(without_lists.score(&handle, &state, &pod, &node), Ok(0));
    }

    #[test]
    fn claims_and_resources_that_stand_for_devices_are_an_error() {
        let mut world = TestWorld::default();
        for class in [
            "{metadata: {name: gpu}, spec: {extendedResourceName: example.com/gpu}}",
            "{metadata: {name: nic}}",
        ] {
            let class: crate::api::objects::DeviceClass = serde_saphyr::from_str(class).unwrap();
            world.objects.insert(Object::from(class));
        }
        let ask = |gates: &str, spec: &str| {
            let pod = pod_info(&format!("{{metadata: {{name: p}}, spec: {spec}}}"));
            let (_, status) = plugin(gates).pre_filter(&world.handle(), &mut CycleState::new(), &pod, &[]);
            answer(&status)
        };
        let requests =
            |list: &str| format!("{{containers: [{{resources: {{requests: {{cpu: 1, {list}}}}}}}]}}");
        let error = |used: &str| (Code::Error, format!("DynamicResources is not built yet: pod uses {used}"));
        let claims = "{resourceClaims: [{name: accelerator, resourceClaimTemplateName: t}]}";
        assert_eq!(ask("", claims), error("the claim \"accelerator\""));
        let gpu = requests("example.com/gpu: 1");
        assert_eq!(ask("", &gpu), error("example.com/gpu of the device class \"gpu\""));
        let nic = "deviceclass.resource.kubernetes.io/nic";
        assert_eq!(
            ask("", &requests(&format!("{nic}: 2"))),
            error(&format!("{nic} of the device class \"nic\""))
        );
        assert_eq!(ask("", &requests("example.com/gpu: 0")).0, Code::Skip, "none is requested");
        assert_eq!(ask("", &requests("example.com/other: 1")).0, Code::Skip, "no class has that name");
        assert_eq!(ask("DRAExtendedResource=false", &gpu).0, Code::Skip);
    }

    #[test]
    fn pods_with_claims_cannot_be_signed() {
        let sign = |pod: &str| plugin("").sign_pod(&pod_info(pod).pod);
        assert_eq!(sign("{metadata: {name: p}}"), Ok(Vec::new()));
        let status = sign("{spec: {resourceClaims: [{name: c}]}}").unwrap_err();
        assert_eq!(
            answer(&status),
            (Code::Unschedulable, "pods with dra resource claims are not signable".to_owned())
        );
    }
}
