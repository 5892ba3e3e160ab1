//! VolumeBinding: the claims of a pod are bound to volumes that its node can reach, or volumes are made there.
//!
//! Follows `plugins/volumebinding/volume_binding.go`. Upstream's Filter leaves what it has found for each node in the
//! cycle's state; here PreFilter looks up all that the answer depends on, and whoever needs a node's answer works it
//! out again.

mod assume_cache;
mod binder;
mod by_label;
mod claims;
mod explain;
mod hints;
mod matching;
mod pre_bind;
mod provisioning;
mod scoring;
mod volumes;
mod wait;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::assume_cache::{Assumed, VolumeState};
pub use self::claims::{UnboundClaim, WhyImmediate};
pub use self::explain::{
    CapacityScore, CapacityTried, ClaimExplanation, ClaimOutcome, NotProvisioned, VolumeTried,
    explain_capacity, explain_match, explain_unbound,
};
pub use self::matching::{Match, Mismatch, Wanted, is_bound_to};
pub use self::scoring::ClassUse;
pub use self::volumes::{KnownCapacity, KnownVolume, KnownVolumes, Reach};
pub use self::wait::{VolumeWait, volume_wait};

use self::binder::{Found, PodVolumes};
use self::claims::{PodVolumeClaims, pod_has_claims};
use self::pre_bind::{Checker, Progress, Step};
use self::scoring::{CapacityScorer, Scoring};
use super::helper::signers;
use super::names;
use crate::api::objects::{Node, Pod};
use crate::api::{Duration, Str};
use crate::config::plugin_args::VolumeBindingArgs;
use crate::config::{FeatureGates, Gate};
use crate::framework::{
    ClusterEventWithHint, CycleState, EnqueueExtensions, FilterPlugin, Handle, HandleRequest, NodeInfo,
    Plugin, PluginStates, PodInfo, PreBindPlugin, PreBindPreFlightResult, PreBindProgress, PreFilterPlugin,
    PreFilterResult, PreScorePlugin, ReservePlugin, ScorePlugin, SignFragment, SignPlugin, Status,
};

/// On a claim: the node where its volume is to be made.
pub const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";
/// On a claim: its binding is complete, whatever the value.
pub const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";
/// On a volume or claim: the binding was not made by hand, whatever the value.
pub const BOUND_BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// The plugin.
#[derive(Clone, Debug)]
pub struct VolumeBinding {
    bind_timeout: Duration,
    /// Absent without the gate StorageCapacityScoring: it does not score then.
    scorer: Option<CapacityScorer>,
}

impl VolumeBinding {
    /// The plugin with these arguments under these gates.
    pub fn new(args: &VolumeBindingArgs, gates: &FeatureGates) -> Self {
        let scores = gates.is_enabled(Gate::StorageCapacityScoring);
        Self { bind_timeout: args.bind_timeout, scorer: scores.then(|| CapacityScorer::new(&args.shape)) }
    }
}

/// What the plugin keeps during an attempt.
#[derive(Clone, Debug, Default)]
struct StateData {
    /// Absent if the pod has no claims.
    claims: Option<Arc<PodVolumeClaims>>,
    /// Reserve has seen that all claims are bound.
    all_bound: bool,
    /// The node of Reserve and what is to be done there, once that is assumed.
    reserved: Option<(Str, PodVolumes)>,
    /// How far PreBind has come.
    progress: Option<Progress>,
}

/// Why PreFilter has turned the pod down, for the evidence.
#[derive(Clone, Debug)]
struct UnboundImmediate(Vec<UnboundClaim>);

/// PreFilter was not asked (`fwk.ErrNotFound`).
fn not_found() -> Status {
    Status::error("not found")
}

/// The states of a scheduler do not have this plugin's: whoever made them has left it out.
fn no_state() -> String {
    format!("{}: no state was added for the plugin", names::VOLUME_BINDING)
}

fn no_volumes_for(node_name: &Str) -> Status {
    Status::error(format!("no pod volume found for node {node_name:?}"))
}

/// What is to be done on a node; absent if Filter is not run for the pod, so that nobody has looked.
fn find_on(handle: &Handle<'_>, data: &StateData, node: &Node) -> Result<Option<Found>, String> {
    let is_filter = |plugin: &Arc<dyn Plugin>| plugin.name() == names::VOLUME_BINDING;
    let Some(claims) = &data.claims else { return Ok(None) };
    if !handle.framework.plugins.filter.iter().any(is_filter) {
        return Ok(None);
    }
    claims.find_on(node).map(Some)
}

/// The same for a node by its name, as Reserve has left it if that was there.
fn find_on_named(
    handle: &Handle<'_>,
    data: &StateData,
    node_name: &Str,
) -> Result<Option<PodVolumes>, String> {
    if let Some((_, volumes)) = data.reserved.as_ref().filter(|(reserved, _)| reserved == node_name) {
        return Ok(Some(volumes.clone()));
    }
    let node = handle.snapshot.get(node_name).and_then(|info| info.node());
    match node {
        Some(node) => Ok(find_on(handle, data, node)?.map(|found| found.volumes)),
        None => Ok(None),
    }
}

impl Plugin for VolumeBinding {
    fn name(&self) -> &'static str {
        names::VOLUME_BINDING
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(VolumeState::default());
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
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        match pod_has_claims(&pod.pod, handle.objects) {
            Err(reason) => return (None, Status::unresolvable(reason)),
            Ok(false) => {
                state.write(self.name(), StateData::default());
                return (None, Status::skip());
            }
            Ok(true) => {}
        }
        let profile = &handle.framework.profile_name;
        let claims = handle
            .state(|volumes: &VolumeState| PodVolumeClaims::of(&pod.pod, handle.objects, volumes, profile))
            .unwrap_or_else(|| Err(no_state()));
        let claims = match claims {
            Ok(claims) => claims,
            Err(error) => return (None, Status::error(error)),
        };
        if !claims.unbound_immediate.is_empty() {
            state.write(self.name(), UnboundImmediate(claims.unbound_immediate));
            return (None, Status::unresolvable("pod has unbound immediate PersistentVolumeClaims"));
        }
        state.write(self.name(), StateData { claims: Some(Arc::new(claims)), ..StateData::default() });
        (None, Status::SUCCESS)
    }
}

impl FilterPlugin for VolumeBinding {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        let Some(data) = state.read::<StateData>() else { return not_found() };
        // Without claims Filter is only asked where a profile has the plugin here and not at PreFilter.
        let (Some(claims), Some(node)) = (&data.claims, node.node()) else { return Status::SUCCESS };
        match claims.find_on(node) {
            Err(error) => Status::error(error),
            Ok(found) if found.reasons.is_empty() => Status::SUCCESS,
            Ok(found) => {
                let reasons = found.reasons.into_iter().map(str::to_owned).collect();
                Status::with_reasons(crate::framework::Code::UnschedulableAndUnresolvable, reasons)
            }
        }
    }
}

impl PreScorePlugin for VolumeBinding {
    fn pre_score(&self, _: &Handle<'_>, state: &mut CycleState, _: &PodInfo, _: &[Arc<NodeInfo>]) -> Status {
        match (&self.scorer, state.read::<StateData>()) {
            (None, _) => Status::skip(),
            (Some(_), None) => not_found(),
            (Some(scorer), Some(_)) => {
                let scoring = Scoring(scorer.clone());
                state.write(self.name(), scoring);
                Status::SUCCESS
            }
        }
    }
}

impl ScorePlugin for VolumeBinding {
    fn score(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        _: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let Some(scorer) = &self.scorer else { return Ok(0) };
        let data = state.read::<StateData>().ok_or_else(not_found)?;
        let Some(node) = node.node() else { return Ok(0) };
        let found = find_on(handle, data, node).map_err(Status::error)?;
        Ok(found.map_or(0, |found| scorer.score(&found.volumes)))
    }
}

impl ReservePlugin for VolumeBinding {
    fn reserve(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo, node_name: &Str) -> Status {
        let Some(data) = state.read_mut::<StateData>() else { return not_found() };
        let mut volumes = match find_on_named(handle, data, node_name) {
            Ok(Some(volumes)) => volumes,
            Ok(None) => {
                data.all_bound = true;
                return Status::SUCCESS;
            }
            Err(error) => return Status::error(error),
        };
        // A trace that holds them keeps its evidence.
        if let Some(claims) = data.claims.as_mut().and_then(Arc::get_mut) {
            claims.forget_evidence();
        }
        let profile = &handle.framework.profile_name;
        let assumed = handle
            .change_state(|state: &mut VolumeState| {
                volumes.assume(&pod.pod, node_name, handle.objects, state.assumed_mut(profile))
            })
            .unwrap_or_else(|| Err(no_state()));
        data.reserved = Some((node_name.clone(), volumes));
        match assumed {
            Ok(all_bound) => {
                data.all_bound = all_bound;
                Status::SUCCESS
            }
            Err(error) => Status::error(error),
        }
    }

    fn unreserve(&self, handle: &Handle<'_>, state: &mut CycleState, _: &PodInfo, node_name: &Str) {
        let Some(data) = state.read::<StateData>() else { return };
        // Where Reserve did not get here, what Filter has found is taken back all the same.
        if let Ok(Some(volumes)) = find_on_named(handle, data, node_name) {
            let profile = &handle.framework.profile_name;
            handle.change_state(|state: &mut VolumeState| volumes.revert(state.assumed_mut(profile)));
        }
    }
}

impl PreBindPlugin for VolumeBinding {
    fn pre_bind_pre_flight(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        node_name: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        let status = match state.read::<StateData>() {
            None => not_found(),
            Some(data) if data.all_bound => Status::skip(),
            Some(data) if has_volumes(handle, data, node_name) => Status::SUCCESS,
            // A profile without the plugin at Reserve.
            Some(_) => no_volumes_for(node_name),
        };
        (PreBindPreFlightResult { allow_parallel: true }, status)
    }

    fn pre_bind(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_name: &Str,
        cancelled: Option<&str>,
    ) -> PreBindProgress {
        let done = |status| PreBindProgress::Done(status);
        let Some(data) = state.read::<StateData>() else { return done(not_found()) };
        if data.all_bound {
            return done(Status::SUCCESS);
        }
        if data.reserved.is_none() {
            // A profile without the plugin at Reserve goes by what Filter has found, if that has anything to bind.
            let Ok(Some(found)) = find_on_named(handle, data, node_name) else {
                return done(no_volumes_for(node_name));
            };
            if found.bindings.is_empty() {
                let text = format!("failed to get cached bindings for pod {:?}", pod.pod.key().to_string());
                return done(Status::error(text));
            }
            if let Some(data) = state.read_mut::<StateData>() {
                data.reserved = Some((node_name.clone(), found));
            }
        }
        let Some(data) = state.read::<StateData>() else { return done(not_found()) };
        let is_writing = data.progress.as_ref().is_some_and(Progress::is_writing);
        let outcome = if is_writing { state.take_write_result(self.name()) } else { None };
        let Some(data) = state.read_mut::<StateData>() else { return done(not_found()) };
        let Some((_, volumes)) = &mut data.reserved else { return done(no_volumes_for(node_name)) };
        let progress = data.progress.get_or_insert_with(|| Progress::new(volumes));
        let written = match outcome {
            Some((_, result)) => progress.written(&mut volumes.bindings, result),
            None => Ok(()),
        };
        let step = match (written, cancelled) {
            (Err(error), _) => Err(error),
            (Ok(()), Some(reason)) => Err(reason.to_owned()),
            (Ok(()), None) => Ok(progress.next_step(&volumes.bindings)),
        };
        let error = match step {
            Ok(Step::Write(write)) => {
                let (pod, plugin) = (pod.uid().clone(), self.name());
                handle.request(HandleRequest::Write { pod, plugin, write });
                return PreBindProgress::Pending { wake_at: None };
            }
            Ok(Step::Wait) => return PreBindProgress::Pending { wake_at: None },
            Ok(Step::Look) => {
                let key = pod.pod.key();
                let look = handle.state(|state: &VolumeState| {
                    let checker = Checker { pod: &key, node_name, objects: handle.objects, state };
                    progress.look(handle.now, self.bind_timeout, |claims| {
                        checker.check(&volumes.bindings, claims)
                    })
                });
                return match look.unwrap_or_else(|| Err(no_state())) {
                    Ok(None) => done(Status::SUCCESS),
                    Ok(wake_at) => PreBindProgress::Pending { wake_at },
                    Err(reason) => done(Status::error(format!("binding volumes: {reason}"))),
                };
            }
            Err(error) => error,
        };
        let not_written = progress.not_written(volumes);
        let profile = &handle.framework.profile_name;
        handle.change_state(|state: &mut VolumeState| not_written.revert(state.assumed_mut(profile)));
        done(Status::error(error))
    }
}

/// Whether something is to be done on the node.
fn has_volumes(handle: &Handle<'_>, data: &StateData, node_name: &Str) -> bool {
    find_on_named(handle, data, node_name).is_ok_and(|found| found.is_some())
}

impl EnqueueExtensions for VolumeBinding {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        hints::events()
    }
}

impl SignPlugin for VolumeBinding {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}
