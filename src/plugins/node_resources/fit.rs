//! NodeResourcesFit: a pod fits where what it requests is free; nodes are scored by what is left, by what is
//! taken, or by a function of the part that is taken.
//!
//! Follows `plugins/noderesources/fit.go`. What wakes a pod that it rejected is in [`super::fit_hints`].

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use super::resource_allocation::{ResourceAllocationScorer, ScoredDevices};
use super::strategies::Strategy;
use crate::api::Str;
use crate::api::objects::Pod;
use crate::config::plugin_args::NodeResourcesFitArgs;
use crate::config::{FeatureGates, Gate};
use crate::framework::pod_resources::pod_requests;
use crate::framework::resource::{is_extended_resource_name, names as resource_names};
use crate::framework::{
    Code, CycleState, EnqueueExtensions, FilterPlugin, Handle, NodeInfo, PlacementScorePlugin, Plugin,
    PluginStates, PodInfo, PreFilterPlugin, PreFilterResult, PreScorePlugin, RequestOptions, Resource,
    ScorePlugin, SignFragment, SignPlugin, Status,
};
use crate::plugins::helper::devices::DeviceState;
use crate::plugins::helper::signers;
use crate::plugins::names;

/// The plugin.
#[derive(Clone, Debug)]
pub struct Fit {
    ignored_resources: BTreeSet<String>,
    ignored_resource_groups: BTreeSet<String>,
    /// How the pod to schedule counts.
    options: RequestOptions,
    /// How pods on nodes count.
    pub(super) placed_options: RequestOptions,
    scorer: ResourceAllocationScorer,
    strategy: Strategy,
    gates: FeatureGates,
}

/// What the pod requests.
struct PreFilterState {
    requests: Resource,
    /// The scalar resources that devices stand behind: where the node has none of its own, DynamicResources decides.
    devices: BTreeSet<Str>,
    rejections: Rejections,
}

impl fmt::Debug for PreFilterState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreFilterState").field("requests", &self.requests).finish()
    }
}

/// The answers so far, by [`shortfall`]: nodes that turn a pod down do so for few reasons, and there may be thousands
/// of them.
#[derive(Default)]
struct Rejections([OnceLock<Status>; 32]);

/// What the pod requests of each resource that counts in the score.
#[derive(Debug)]
struct PreScoreState {
    requests: Vec<i64>,
    devices: Option<ScoredDevices>,
}

/// A resource of which a node has not enough left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InsufficientResource {
    name: Str,
    requested: i64,
    capacity: i64,
}

impl InsufficientResource {
    /// The reason in kube-scheduler's words.
    fn reason(&self) -> String {
        match self.name.as_ref() {
            resource_names::PODS => "Too many pods".to_owned(),
            name => format!("Insufficient {name}"),
        }
    }

    /// Whether the pod would not fit on the empty node either. The number of pods never counts as such.
    fn is_unresolvable(&self) -> bool {
        self.name.as_ref() != resource_names::PODS && self.requested > self.capacity
    }
}

impl Fit {
    /// The plugin with these arguments.
    pub fn new(args: NodeResourcesFitArgs, gates: &FeatureGates) -> Self {
        Self {
            ignored_resources: args.ignored_resources.into_iter().collect(),
            ignored_resource_groups: args.ignored_resource_groups.into_iter().collect(),
            options: RequestOptions::from_gates(gates).of_spec(),
            placed_options: RequestOptions::from_gates(gates),
            // Upstream sets none of the gates for this score: it counts what containers request, as the spec
            // has it, and nothing that is requested for the pod as a whole.
            scorer: ResourceAllocationScorer::new(
                &args.resources,
                RequestOptions {
                    use_status: false,
                    pod_level: false,
                    pod_level_status: false,
                    device_claims: false,
                },
                false,
                gates,
            ),
            strategy: Strategy::new(args.scoring_strategy),
            gates: *gates,
        }
    }

    /// What a pod requests that is not on a node yet (`computePodResourceRequest`).
    pub(super) fn requests_of(&self, pod: &Pod) -> Resource {
        let mut requests = Resource::from_list(&pod_requests(pod, self.options, None));
        let amounts = [&mut requests.milli_cpu, &mut requests.memory, &mut requests.ephemeral_storage];
        for amount in amounts.into_iter().chain(requests.scalar_resources.values_mut()) {
            *amount = (*amount).max(0);
        }
        requests
    }

    /// The score of nodes that are given to a group, with these of its pods on them.
    pub(super) fn placement_score<'a>(
        &self,
        pods: impl Iterator<Item = &'a Pod>,
        nodes: &[Arc<NodeInfo>],
    ) -> i64 {
        Strategy::MostAllocated.score(self.scorer.amounts_of_all(pods, nodes).into_iter())
    }

    /// Whether devices may stand behind extended resources.
    pub(super) const fn has_device_classes(&self) -> bool {
        self.gates.is_enabled(Gate::DRAExtendedResource)
    }

    /// Whether Filter does not look at that resource.
    fn ignores(&self, name: &str) -> bool {
        if self.ignored_resources.is_empty() && self.ignored_resource_groups.is_empty() {
            return false;
        }
        let group = name.split('/').next().unwrap_or(name);
        is_extended_resource_name(name)
            && (self.ignored_resources.contains(name) || self.ignored_resource_groups.contains(group))
    }
}

/// The scalar resources among the requests that a class of devices stands behind (KEP-5004). None where the gate
/// DRAExtendedResource is off, since no class is known to stand behind anything then.
pub(super) fn backed_by_devices(handle: &Handle<'_>, requests: &Resource) -> BTreeSet<Str> {
    if requests.scalar_resources.is_empty() {
        return BTreeSet::new();
    }
    let backed = handle.state(|devices: &DeviceState| {
        let scalars = requests.scalar_resources.iter().filter(|(_, amount)| **amount != 0);
        let backed = scalars.filter(|(name, _)| devices.extended_resources.class(name).is_some());
        backed.map(|(name, _)| name.clone()).collect()
    });
    backed.unwrap_or_default()
}

/// Whether DynamicResources decides about a resource on the node (`shouldDelegateResourceToDRA`).
pub(super) fn is_served_by_devices(devices: &BTreeSet<Str>, node: &NodeInfo, name: &str) -> bool {
    !devices.is_empty()
        && devices.contains(name)
        && node.allocatable().scalar_resources.get(name).is_none_or(|amount| *amount <= 0)
}

/// The resources of which the node has not enough left, in a fixed order: pods, CPU, memory, ephemeral storage,
/// then the others by name. Nothing is allocated where there is enough.
pub(super) fn insufficient_resources(
    requests: &Resource,
    node: &NodeInfo,
    ignores: impl Fn(&str) -> bool,
) -> Vec<InsufficientResource> {
    let mut insufficient = Vec::new();
    let (has, used) = (node.allocatable(), node.requested());
    let n_pods = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
    if n_pods >= has.allowed_pod_number {
        insufficient.push(InsufficientResource {
            name: Str::from(resource_names::PODS),
            requested: 1,
            capacity: has.allowed_pod_number,
        });
    }
    let mut check = |name: &str, requested: i64, used: i64, capacity: i64| {
        if requested > 0 && requested > capacity.saturating_sub(used) {
            insufficient.push(InsufficientResource { name: Str::from(name), requested, capacity });
        }
    };
    check(resource_names::CPU, requests.milli_cpu, used.milli_cpu, has.milli_cpu);
    check(resource_names::MEMORY, requests.memory, used.memory, has.memory);
    check(
        resource_names::EPHEMERAL_STORAGE,
        requests.ephemeral_storage,
        used.ephemeral_storage,
        has.ephemeral_storage,
    );
    for (name, requested) in &requests.scalar_resources {
        let amount = |resource: &Resource| resource.scalar_resources.get(name).copied().unwrap_or(0);
        if *requested > 0 && !ignores(name) {
            check(name, *requested, amount(used), amount(has));
        }
    }
    insufficient
}

/// Which of pods, CPU, memory and ephemeral storage the node has not enough left of, a bit for each, and a fifth one if
/// it would not have enough even if it were empty. 0 if there is enough of all.
fn shortfall(requests: &Resource, node: &NodeInfo) -> usize {
    let (has, used) = (node.allocatable(), node.requested());
    let n_pods = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
    let amounts = [
        (requests.milli_cpu, used.milli_cpu, has.milli_cpu),
        (requests.memory, used.memory, has.memory),
        (requests.ephemeral_storage, used.ephemeral_storage, has.ephemeral_storage),
    ];
    let mut bits = usize::from(n_pods >= has.allowed_pod_number);
    for (i, (requested, used, capacity)) in amounts.into_iter().enumerate() {
        if requested > 0 && requested > capacity.saturating_sub(used) {
            bits |= 2 << i;
            bits |= usize::from(requested > capacity) << 4;
        }
    }
    bits
}

impl Plugin for Fit {
    fn name(&self) -> &'static str {
        names::NODE_RESOURCES_FIT
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(DeviceState::new(&self.gates));
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
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_placement_score(&self) -> Option<&dyn PlacementScorePlugin> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl PreFilterPlugin for Fit {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let requests = self.requests_of(&pod.pod);
        let devices = backed_by_devices(handle, &requests);
        state.write(self.name(), PreFilterState { requests, devices, rejections: Rejections::default() });
        (None, Status::SUCCESS)
    }
}

impl FilterPlugin for Fit {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Status {
        let Some(state) = state.read::<PreFilterState>() else {
            return Status::error("error reading \"PreFilterNodeResourcesFit\" from cycleState: not found");
        };
        if !state.requests.scalar_resources.is_empty() {
            return self.answer(state, node);
        }
        match shortfall(&state.requests, node) {
            0 => Status::SUCCESS,
            bits => match state.rejections.0.get(bits) {
                Some(known) => known.get_or_init(|| self.answer(state, node)).clone(),
                None => self.answer(state, node),
            },
        }
    }
}

impl Fit {
    /// Filter's answer for a node: success if nothing falls short.
    fn answer(&self, state: &PreFilterState, node: &NodeInfo) -> Status {
        let is_left_out = |name: &str| self.ignores(name) || is_served_by_devices(&state.devices, node, name);
        let insufficient = insufficient_resources(&state.requests, node, is_left_out);
        if insufficient.is_empty() {
            return Status::SUCCESS;
        }
        let is_unresolvable = insufficient.iter().any(InsufficientResource::is_unresolvable);
        let code = if is_unresolvable { Code::UnschedulableAndUnresolvable } else { Code::Unschedulable };
        let reasons = insufficient.iter().map(InsufficientResource::reason).collect();
        Status::with_reasons(code, reasons).with_plugin(self.name())
    }
}

impl PreScorePlugin for Fit {
    fn pre_score(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Status {
        let (requests, devices) = (self.scorer.requests_of(&pod.pod), self.scorer.devices(handle));
        state.write(self.name(), PreScoreState { requests, devices });
        Status::SUCCESS
    }
}

impl ScorePlugin for Fit {
    fn score(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node: &NodeInfo,
    ) -> Result<i64, Status> {
        let (requests, devices) = match state.read::<PreScoreState>() {
            Some(state) => (Cow::Borrowed(&state.requests), Cow::Borrowed(&state.devices)),
            // PreScore is not enabled for this plugin.
            None => (Cow::Owned(self.scorer.requests_of(&pod.pod)), Cow::Owned(self.scorer.devices(handle))),
        };
        Ok(self.strategy.score(self.scorer.amounts(node, &requests, devices.as_ref().as_ref())))
    }
}

impl SignPlugin for Fit {
    fn is_signable(&self, handle: &Handle<'_>, pod: &Pod) -> bool {
        backed_by_devices(handle, &self.requests_of(pod)).is_empty()
    }

    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::resources(&self.requests_of(pod))?])
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::plugins::fixtures::{filter, scores};

    fn fit(args: &serde_json::Value) -> Fit {
        Fit::new(NodeResourcesFitArgs::from_value(Some(args), "").unwrap(), &FeatureGates::default())
    }

    fn pod(requests: &str) -> String {
        format!(
            "{{metadata: {{uid: a}}, spec: {{containers: [{{resources: {{requests: {{{requests}}}}}}}]}}}}"
        )
    }

    fn placed(name: &str, requests: &str) -> String {
        let named = format!("metadata: {{name: {name}, uid: {name}}}");
        pod(requests).replace("metadata: {uid: a}", &named).replace("spec: {", "spec: {nodeName: n, ")
    }

    fn node(allocatable: &str) -> String {
        format!("{{metadata: {{name: n}}, status: {{allocatable: {{{allocatable}}}}}}}")
    }

    /// Code and reasons of one node.
    fn answer(args: &serde_json::Value, new: &str, node: &str, pods: &[&str]) -> (Code, Vec<String>) {
        let status = filter(&fit(args), new, &[node], pods).unwrap().remove(0);
        (status.code(), status.reasons().to_vec())
    }

    #[test]
    fn what_is_requested_must_be_free() {
        let node = node("cpu: 10m, memory: 20, pods: 32, ephemeral-storage: 20, example.com/aaa: 5");
        let used = placed("used", "cpu: 5m, memory: 19");
        let ask = |requests: &str| answer(&json!({}), &pod(requests), &node, &[&used]);
        let short = |reasons: &[&str]| {
            (Code::Unschedulable, reasons.iter().map(|reason| (*reason).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(ask("cpu: 5m, memory: 1"), (Code::Success, vec![]));
        assert_eq!(ask("cpu: 6m, memory: 1"), short(&["Insufficient cpu"]));
        assert_eq!(ask("cpu: 6m, memory: 2"), short(&["Insufficient cpu", "Insufficient memory"]));
        assert_eq!(ask("ephemeral-storage: 20, example.com/aaa: 5"), (Code::Success, vec![]));
        // More than the node has: preemption cannot help, whatever else falls short.
        let (code, reasons) = ask("cpu: 11m, memory: 2, example.com/bbb: 1");
        assert_eq!(code, Code::UnschedulableAndUnresolvable);
        assert_eq!(reasons, ["Insufficient cpu", "Insufficient memory", "Insufficient example.com/bbb"]);
        // A request of 0 is none.
        assert_eq!(ask("example.com/bbb: 0, hugepages-2Mi: 0"), (Code::Success, vec![]));
    }

    #[test]
    fn the_number_of_pods_counts_for_a_pod_without_requests_too() {
        let full = node("cpu: 10m, memory: 20, pods: 1");
        let used = placed("used", "cpu: 20m");
        assert_eq!(
            answer(&json!({}), &pod(""), &full, &[&used]),
            (Code::Unschedulable, vec!["Too many pods".to_owned()])
        );
        // The node is overcommitted, and the pod requests nothing of it.
        let roomy = node("cpu: 10m, memory: 20, pods: 2");
        assert_eq!(answer(&json!({}), &pod(""), &roomy, &[&used]), (Code::Success, vec![]));
        // A node that tells no number of pods takes none.
        assert_eq!(answer(&json!({}), &pod(""), &node(""), &[]).1, ["Too many pods"]);
    }

    #[test]
    fn ignored_resources_are_extended_ones_by_name_or_domain() {
        let node = node("cpu: 10m, pods: 32");
        let args = json!({"ignoredResources": ["example.com/aaa"], "ignoredResourceGroups": ["example.org"]});
        let ask = |requests: &str| answer(&args, &pod(requests), &node, &[]).1;
        assert!(ask("example.com/aaa: 2").is_empty());
        assert!(ask("example.org/ccc: 2").is_empty());
        assert_eq!(ask("example.com/bbb: 2"), ["Insufficient example.com/bbb"]);
        assert_eq!(ask("hugepages-2Mi: 2Mi"), ["Insufficient hugepages-2Mi"]);
    }

    #[test]
    fn requests_of_the_pod_as_a_whole_are_filtered_by_and_not_scored() {
        let requests = "{metadata: {uid: a}, spec: {resources: {requests: {cpu: 2}}, containers: [{}]}}";
        let small = node("cpu: 1, memory: 1Gi, pods: 9");
        assert_eq!(answer(&json!({}), requests, &small, &[]).1, ["Insufficient cpu"]);
        let args = json!({"scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu"}]}});
        // The container requests nothing, so the default of 100m counts.
        let large = node("cpu: 4, memory: 1Gi, pods: 9");
        assert_eq!(scores(&fit(&args), requests, &[&large], &[]), Ok(vec![(2, 2)]));
    }

    /// Raw scores on a node with 4 cores and 10000 bytes, of which 1 core and 5000 bytes are taken.
    fn score(strategy: &serde_json::Value, requests: &str) -> i64 {
        let node = node("cpu: 4, memory: 10000, pods: 9, example.com/gpu: 8");
        let used = placed("used", "cpu: 1, memory: 5000");
        let plugin = fit(&json!({"scoringStrategy": strategy}));
        scores(&plugin, &pod(requests), &[&node], &[&used]).unwrap()[0].0
    }

    #[test]
    fn the_three_strategies() {
        let cpu_and_memory = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
        let strategy = |name: &str| json!({"type": name, "resources": cpu_and_memory});
        // Of cpu (4 - 2) / 4 is left, of memory (10000 - 8000) / 10000: (50 + 20) / 2.
        assert_eq!(score(&strategy("LeastAllocated"), "cpu: 1, memory: 3000"), 35);
        assert_eq!(score(&strategy("MostAllocated"), "cpu: 1, memory: 3000"), 65);
        // Beyond the capacity: nothing is left, and all is taken.
        assert_eq!(score(&strategy("LeastAllocated"), "cpu: 9, memory: 3000"), 10);
        assert_eq!(score(&strategy("MostAllocated"), "cpu: 9, memory: 3000"), 90);
        let ratio = json!({"type": "RequestedToCapacityRatio", "resources": cpu_and_memory,
            "requestedToCapacityRatio": {"shape": [
                {"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}});
        assert_eq!(score(&ratio, "cpu: 1, memory: 3000"), 65);
    }

    #[test]
    fn weights_and_resources_that_the_pod_does_not_request() {
        let weighted = |name: &str| {
            json!({"type": name, "resources": [
                {"name": "cpu", "weight": 3}, {"name": "example.com/gpu", "weight": 1}]})
        };
        // cpu alone: 2 of 4 are taken.
        assert_eq!(score(&weighted("MostAllocated"), "cpu: 1"), 50);
        // cpu 50, gpu 2 of 8: (3 * 50 + 25) / 4
        assert_eq!(score(&weighted("MostAllocated"), "cpu: 1, example.com/gpu: 2"), 43);
        let ratio = |scores: [i32; 2]| {
            json!({"type": "RequestedToCapacityRatio",
                "resources": [{"name": "cpu", "weight": 3}, {"name": "example.com/gpu", "weight": 1}],
                "requestedToCapacityRatio": {"shape": [
                    {"utilization": 0, "score": scores[0]}, {"utilization": 100, "score": scores[1]}]}})
        };
        // The same, rounded: 43.75.
        assert_eq!(score(&ratio([0, 10]), "cpu: 1, example.com/gpu: 2"), 44);
        // A resource that scores 0 does not count at all: gpu 8 of 8 gives 0, cpu gives 50.
        assert_eq!(score(&ratio([10, 0]), "cpu: 1, example.com/gpu: 8"), 50);
    }
}
