//! VolumeBinding: the claims of a pod are bound to volumes that its node can reach, or volumes are provisioned there.
//!
//! Follows `plugins/volumebinding/volume_binding.go`. Not built: the binder. Pods without claims pass every point as
//! upstream has it; a pod with a claim or an ephemeral volume gets an error.

use std::sync::Arc;

use super::helper::signers;
use super::helper::volumes::{EPHEMERAL, PERSISTENT_VOLUME_CLAIM, not_built};
use super::names;
use crate::api::Str;
use crate::api::objects::Pod;
use crate::config::{FeatureGates, Gate};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreBindPlugin, PreBindPreFlightResult, PreBindProgress,
    PreFilterPlugin, PreFilterResult, PreScorePlugin, ReservePlugin, ScorePlugin, SignFragment, SignPlugin,
    Status,
};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolumeBinding {
    /// The gate StorageCapacityScoring, without which it does not score.
    scores: bool,
}

impl VolumeBinding {
    /// The plugin under these gates.
    pub const fn new(gates: &FeatureGates) -> Self {
        Self { scores: gates.is_enabled(Gate::StorageCapacityScoring) }
    }
}

/// What PreFilter has found: no claims.
#[derive(Clone, Debug, Default)]
struct StateData {
    /// Reserve has seen that all claims are bound.
    all_bound: bool,
}

/// PreFilter was not asked (`fwk.ErrNotFound`).
fn not_found() -> Status {
    Status::error("not found")
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        names::VOLUME_BINDING
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
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

impl PreFilterPlugin for VolumeBinding {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        if let Some(status) = not_built(self.name(), &pod.pod, &[PERSISTENT_VOLUME_CLAIM, EPHEMERAL]) {
            return (None, status);
        }
        state.write(self.name(), StateData::default());
        (None, Status::skip())
    }
}

/// Only asked where a profile has the plugin here and not at PreFilter.
impl FilterPlugin for VolumeBinding {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, _: &NodeInfo) -> Status {
        state.read::<StateData>().map_or_else(not_found, |_| Status::SUCCESS)
    }
}

impl PreScorePlugin for VolumeBinding {
    fn pre_score(&self, _: &Handle<'_>, state: &mut CycleState, _: &PodInfo, _: &[Arc<NodeInfo>]) -> Status {
        match (self.scores, state.read::<StateData>()) {
            (false, _) => Status::skip(),
            (true, None) => not_found(),
            (true, Some(_)) => Status::SUCCESS,
        }
    }
}

impl ScorePlugin for VolumeBinding {
    fn score(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, _: &NodeInfo) -> Result<i64, Status> {
        match (self.scores, state.read::<StateData>()) {
            (true, None) => Err(not_found()),
            (false, _) | (true, Some(_)) => Ok(0),
        }
    }
}

impl ReservePlugin for VolumeBinding {
    fn reserve(&self, _: &Handle<'_>, state: &mut CycleState, _: &PodInfo, _: &Str) -> Status {
        match state.read_mut::<StateData>() {
            None => not_found(),
            Some(data) => {
                data.all_bound = true;
                Status::SUCCESS
            }
        }
    }

    fn unreserve(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) {}
}

/// Whether PreBind has nothing to do.
fn check_all_bound(state: &CycleState, node_name: &Str) -> Result<(), Status> {
    match state.read::<StateData>() {
        None => Err(not_found()),
        Some(data) if data.all_bound => Ok(()),
        // A profile without the plugin at Reserve.
        Some(_) => Err(Status::error(format!("no pod volume found for node {node_name:?}"))),
    }
}

impl PreBindPlugin for VolumeBinding {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        node_name: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        let status = check_all_bound(state, node_name).err().unwrap_or_else(Status::skip);
        (PreBindPreFlightResult { allow_parallel: true }, status)
    }

    fn pre_bind(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        node_name: &Str,
        _: Option<&str>,
    ) -> PreBindProgress {
        PreBindProgress::Done(check_all_bound(state, node_name).err().unwrap_or_default())
    }
}

impl EnqueueExtensions for VolumeBinding {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let node = ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_LABEL);
        vec![ClusterEventWithHint::always(node)]
    }
}

impl SignPlugin for VolumeBinding {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::testing::TestWorld;
    use crate::framework::{Code, CycleState};
    use crate::plugins::fixtures::{node_info, pod_info};

    const POD: &str = "{metadata: {name: p}, spec: {volumes: [{name: tmp, emptyDir: {}}]}}";

    fn plugin(gates: &str) -> VolumeBinding {
        VolumeBinding::new(&FeatureGates::parse(gates).unwrap_or_default())
    }

    fn answer(status: &Status) -> (Code, String) {
        (status.code(), status.message())
    }

    #[test]
    fn a_pod_without_claims_passes_all_points_with_nothing_to_do() {
        let (world, pod, node) = (TestWorld::default(), pod_info(POD), "n".into());
        let (handle, plugin, mut state) = (world.handle(), plugin(""), CycleState::new());
        let (_, status) = plugin.pre_filter(&handle, &mut state, &pod, &[]);
        assert_eq!(answer(&status), (Code::Skip, String::new()));
        assert_eq!(plugin.pre_score(&handle, &mut state, &pod, &[]).code(), Code::Skip);
        let (_, status) = plugin.pre_bind_pre_flight(&handle, &mut state, &pod, &node);
        assert_eq!(
            answer(&status),
            (Code::Error, "no pod volume found for node \"n\"".to_owned()),
            "Reserve comes first"
        );
        assert!(plugin.reserve(&handle, &mut state, &pod, &node).is_success());
        let (result, status) = plugin.pre_bind_pre_flight(&handle, &mut state, &pod, &node);
        assert_eq!((result.allow_parallel, status.code()), (true, Code::Skip));
    }

    #[test]
    fn without_its_pre_filter_it_has_nothing_to_go_by() {
        let (world, pod) = (TestWorld::default(), pod_info(POD));
        let (handle, mut state) = (world.handle(), CycleState::new());
        let node = node_info("{metadata: {name: n}}", &[]);
        let plugin = plugin("StorageCapacityScoring=true");
        let not_found = (Code::Error, "not found".to_owned());
        assert_eq!(answer(&plugin.filter(&handle, &state, &pod, &node)), not_found);
        assert_eq!(answer(&plugin.pre_score(&handle, &mut state, &pod, &[])), not_found);
        assert_eq!(answer(&plugin.score(&handle, &state, &pod, &node).err().unwrap_or_default()), not_found);
        assert_eq!(answer(&plugin.reserve(&handle, &mut state, &pod, &"n".into())), not_found);
    }

    #[test]
    fn with_storage_capacity_scoring_it_gives_0_to_all() {
        let (world, pod) = (TestWorld::default(), pod_info(POD));
        let (handle, mut state) = (world.handle(), CycleState::new());
        let plugin = plugin("StorageCapacityScoring=true");
        plugin.pre_filter(&handle, &mut state, &pod, &[]);
        assert!(plugin.pre_score(&handle, &mut state, &pod, &[]).is_success());
        let node = node_info("{metadata: {name: n}}", &[]);
        assert_eq!(plugin.score(&handle, &state, &pod, &node), Ok(0));
    }

    #[test]
    fn claims_are_an_error_that_names_them() {
        let world = TestWorld::default();
        let answer = |volume: &str| {
            let pod = pod_info(&format!("{{spec: {{volumes: [{{name: v, {volume}}}]}}}}"));
            let (_, status) = plugin("").pre_filter(&world.handle(), &mut CycleState::new(), &pod, &[]);
            answer(&status)
        };
        let error = |used: &str| (Code::Error, format!("VolumeBinding is not built yet: pod uses {used}"));
        assert_eq!(answer("persistentVolumeClaim: {claimName: data}"), error("the claim \"data\""));
        assert_eq!(answer("ephemeral: {}"), error("the ephemeral volume \"v\""));
        assert_eq!(answer("csi: {driver: d}").0, Code::Skip, "an inline CSI volume is bound to nothing");
    }
}
