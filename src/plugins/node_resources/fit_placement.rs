//! NodeResourcesFit on placements of pod groups: the fuller the better, counted over all nodes of the placement with
//! the pods of the group on them (KEP-5732). Only asked behind the gate TopologyAwareWorkloadScheduling.
//!
//! Follows `ScorePlacement` of `plugins/noderesources/fit.go` and `resource_allocation.go`.

use super::fit::Fit;
use crate::framework::pod_group::{PodGroupAssignments, PodGroupInfo};
use crate::framework::{Handle, PlacementScorePlugin, Status};

impl PlacementScorePlugin for Fit {
    fn score_placement(
        &self,
        _: &Handle<'_>,
        _: &PodGroupInfo,
        assignments: &PodGroupAssignments,
    ) -> Result<i64, Status> {
        let pods = assignments.proposed.iter().map(|(pod, _)| pod.as_ref());
        Ok(self.placement_score(pods, &assignments.placement.nodes))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::config::FeatureGates;
    use crate::config::plugin_args::NodeResourcesFitArgs;
    use crate::framework::pod_group::Placement;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::{node_info, pod};

    fn requests(list: &str) -> String {
        format!("{{metadata: {{name: p}}, spec: {{containers: [{{resources: {{requests: {{{list}}}}}}}]}}}}")
    }

    /// The score of two nodes of 5 cores, 5000 bytes and 5 GPUs; the first has `existing` on it.
    fn score(resources: &Value, pods: &[&str], existing: &str) -> i64 {
        let args = json!({"scoringStrategy": {"type": "LeastAllocated", "resources": resources}});
        let args = NodeResourcesFitArgs::from_value(Some(&args), "").unwrap();
        let gates = FeatureGates::parse("GenericWorkload=true,TopologyAwareWorkloadScheduling=true").unwrap();
        let node = |name: &str, pods: &[&str]| {
            let has = "allocatable: {cpu: 5, memory: 5000, example.com/gpu: 5, pods: 10}";
            Arc::new(node_info(&format!("{{metadata: {{name: {name}}}, status: {{{has}}}}}"), pods))
        };
        let existing = requests(existing);
        let placement =
            Placement { name: "rack".into(), nodes: vec![node("a", &[&existing]), node("b", &[])] };
        let proposed = pods.iter().map(|list| (pod(&requests(list)), "b".into())).collect();
        let group =
            PodGroupInfo { namespace: "default".into(), name: "g".into(), unscheduled_pods: Vec::new() };
        let assignments = PodGroupAssignments { placement, proposed };
        Fit::new(args, &gates).score_placement(&TestWorld::default().handle(), &group, &assignments).unwrap()
    }

    /// The cases of upstream's TestScorePlacement_Resources.
    #[test]
    fn the_part_of_all_nodes_that_the_group_and_others_take() {
        let even = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]);
        let weighted = json!([{"name": "cpu", "weight": 4}, {"name": "memory", "weight": 1}]);
        let pods = ["cpu: 1, memory: 0", "cpu: 2, memory: 2000"];
        assert_eq!(score(&even, &pods, "cpu: 0, memory: 0"), 25);
        assert_eq!(score(&weighted, &pods, "cpu: 0, memory: 0"), 28);
        assert_eq!(score(&even, &pods, "cpu: 1, memory: 0"), 30);
        let all = json!([{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1},
            {"name": "example.com/gpu", "weight": 1}]);
        let with_gpu = ["cpu: 1, memory: 0", "cpu: 1, memory: 2000, example.com/gpu: 1"];
        assert_eq!(score(&all, &with_gpu, "cpu: 1, memory: 0"), 20);
        let without = ["cpu: 1, memory: 0", "cpu: 1, memory: 2000"];
        assert_eq!(score(&all, &without, "cpu: 1, memory: 0, example.com/gpu: 1"), 25);
    }
}
