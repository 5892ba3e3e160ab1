//! NodeResourcesBalancedAllocation: a node scores higher the more the pod evens out the parts of its resources
//! that are taken.
//!
//! Follows `plugins/noderesources/balanced_allocation.go`.

use std::borrow::Cow;
use std::sync::Arc;

use super::fit::backed_by_devices;
use super::resource_allocation::{Amounts, ResourceAllocationScorer, ScoredDevices};
use crate::api::objects::Pod;
use crate::config::FeatureGates;
use crate::config::plugin_args::NodeResourcesBalancedAllocationArgs;
use crate::framework::pod_resources::pod_requests;
use crate::framework::{
    CycleState, Handle, MAX_NODE_SCORE, NodeInfo, Plugin, PluginStates, PodInfo, PreScorePlugin,
    RequestOptions, Resource, ScorePlugin, SignFragment, SignPlugin, Status,
};
use crate::plugins::helper::devices::DeviceState;
use crate::plugins::helper::signers;
use crate::plugins::names;

/// The plugin.
#[derive(Clone, Debug)]
pub struct BalancedAllocation {
    scorer: ResourceAllocationScorer,
    options: RequestOptions,
    gates: FeatureGates,
}

/// What the pod requests of each resource that counts.
#[derive(Debug)]
struct PreScoreState {
    requests: Vec<i64>,
    devices: Option<ScoredDevices>,
}

impl BalancedAllocation {
    /// The plugin with these arguments.
    pub fn new(args: &NodeResourcesBalancedAllocationArgs, gates: &FeatureGates) -> Self {
        let options = RequestOptions::from_gates(gates);
        let scorer = ResourceAllocationScorer::new(&args.resources, options, true, gates);
        Self { scorer, options, gates: *gates }
    }
}

impl Plugin for BalancedAllocation {
    fn name(&self) -> &'static str {
        names::NODE_RESOURCES_BALANCED_ALLOCATION
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(DeviceState::new(&self.gates));
    }
    fn as_pre_score(&self) -> Option<&dyn PreScorePlugin> {
        Some(self)
    }
    fn as_score(&self) -> Option<&dyn ScorePlugin> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl PreScorePlugin for BalancedAllocation {
    fn pre_score(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Status {
        let requests = self.scorer.requests_of(&pod.pod);
        // All pods that request nothing would go to the node that is most in balance.
        if requests.iter().all(|request| *request == 0) {
            return Status::skip();
        }
        state.write(self.name(), PreScoreState { requests, devices: self.scorer.devices(handle) });
        Status::SUCCESS
    }
}

impl ScorePlugin for BalancedAllocation {
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
        if requests.iter().all(|request| *request == 0) {
            return Ok(0);
        }
        let amounts = self.scorer.amounts(node, &requests, devices.as_ref().as_ref());
        let with_pod = balance(amounts.clone().map(|amounts| fraction(amounts.requested, amounts)));
        let without_pod = balance(amounts.map(|amounts| fraction(amounts.allocated, amounts)));
        // Each is within 50 to 100, so their difference moves the score from 75 towards 50 or 100.
        Ok(MAX_NODE_SCORE / 2 + (MAX_NODE_SCORE / 2 + with_pod - without_pod) / 2)
    }
}

fn fraction(taken: i64, amounts: Amounts) -> f64 {
    (taken as f64 / amounts.allocatable as f64).min(1.0)
}

/// 100 where all fractions are equal, less by their standard deviation.
fn balance(fractions: impl Iterator<Item = f64> + Clone) -> i64 {
    let count = fractions.clone().count();
    let deviation = match count {
        0 | 1 => 0.0,
        // The same with fewer roundings.
        2 => {
            let mut fractions = fractions;
            let (first, second) = (fractions.next().unwrap_or(0.0), fractions.next().unwrap_or(0.0));
            ((first - second) / 2.0).abs()
        }
        _ => {
            let mean = fractions.clone().fold(0.0, |sum, fraction| sum + fraction) / count as f64;
            let squares = fractions.fold(0.0, |sum, fraction| sum + (fraction - mean) * (fraction - mean));
            (squares / count as f64).sqrt()
        }
    };
    ((1.0 - deviation) * MAX_NODE_SCORE as f64) as i64
}

impl SignPlugin for BalancedAllocation {
    fn is_signable(&self, handle: &Handle<'_>, pod: &Pod) -> bool {
        let requests = Resource::from_list(&pod_requests(pod, self.options.of_spec(), None));
        backed_by_devices(handle, &requests).is_empty()
    }

    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        let requests = Resource::from_list(&pod_requests(pod, self.options.of_spec(), None));
        Ok(vec![signers::resources(&requests)?])
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;
    use crate::plugins::fixtures::scores;

    fn plugin(resources: &serde_json::Value) -> BalancedAllocation {
        let args = json!({"resources": resources});
        let args = NodeResourcesBalancedAllocationArgs::from_value(Some(&args), "").unwrap();
        BalancedAllocation::new(&args, &FeatureGates::default())
    }

    fn pod(requests: &str) -> String {
        format!("{{spec: {{containers: [{{resources: {{requests: {{{requests}}}}}}}]}}}}")
    }

    fn raw(resources: &serde_json::Value, requests: &str, nodes: &[&str], pods: &[&str]) -> Vec<i64> {
        let scores = scores(&plugin(resources), &pod(requests), nodes, pods).unwrap();
        scores.into_iter().map(|(raw, _)| raw).collect()
    }

    const CPU_AND_MEMORY: &str = r#"[{"name": "cpu"}, {"name": "memory"}]"#;

    fn cpu_and_memory() -> serde_json::Value {
        serde_json::from_str(CPU_AND_MEMORY).unwrap()
    }

    #[test]
    fn a_pod_that_requests_nothing_is_skipped() {
        assert_eq!(scores(&plugin(&cpu_and_memory()), &pod(""), &[], &[]), Err(Status::skip()));
        assert_eq!(scores(&plugin(&cpu_and_memory()), &pod("cpu: 0"), &[], &[]), Err(Status::skip()));
    }

    /// Upstream's own values.
    #[test]
    fn the_pod_moves_the_score_from_75_by_how_it_changes_the_balance() {
        let even = "{metadata: {name: even}, status: {allocatable: {cpu: 4000m, memory: 10000}}}";
        let wide = "{metadata: {name: wide}, status: {allocatable: {cpu: 6000m, memory: 10000}}}";
        // Taken: cpu 3000 of 4000, memory 5000 of 10000, deviation 0.125; cpu 3000 of 6000 and memory 5000 of
        // 10000, deviation 0. Before, both were empty.
        assert_eq!(raw(&cpu_and_memory(), "cpu: 3000m, memory: 5000", &[even, wide], &[]), [68, 75]);
        // More than the node has counts as all of it.
        let small = "{metadata: {name: small}, status: {allocatable: {cpu: 1000m, memory: 1000}}}";
        assert_eq!(raw(&cpu_and_memory(), "cpu: 3000m, memory: 5000", &[small], &[]), [75]);
    }

    #[test]
    fn evening_out_scores_above_75() {
        let node = "{metadata: {name: n}, status: {allocatable: {cpu: 4000m, memory: 10000}}}";
        let heavy = "{metadata: {name: p, uid: p}, spec: {nodeName: n, containers: [{resources: {requests: {cpu: 2000m}}}]}}";
        // From a deviation of 0.25 to none: 50 + (50 + 100 - 75) / 2
        assert_eq!(raw(&cpu_and_memory(), "memory: 5000", &[node], &[heavy]), [87]);
    }

    #[test]
    fn extended_resources_count_where_the_pod_requests_them() {
        let three = json!([{"name": "cpu"}, {"name": "memory"}, {"name": "example.com/gpu"}]);
        let node =
            "{metadata: {name: n}, status: {allocatable: {cpu: 4000m, memory: 10000, example.com/gpu: 8}}}";
        assert_eq!(raw(&three, "cpu: 2000m, memory: 5000", &[node], &[]), [75]);
        // 0.5, 0.5 and 0.25: a deviation of 0.1178
        assert_eq!(raw(&three, "cpu: 2000m, memory: 5000, example.com/gpu: 2", &[node], &[]), [69]);
    }
}
