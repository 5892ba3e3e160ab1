//! PodGroupPodsCount: the placement that has room for more pods of a group is the better one (KEP-5732). Behind the
//! gate TopologyAwareWorkloadScheduling, off by default.
//!
//! Follows `plugins/podgrouppodscount/podgroup_pods_count.go`.

use super::names;
use crate::framework::pod_group::{PlacementScore, PodGroupAssignments, PodGroupInfo};
use crate::framework::{
    Handle, MAX_NODE_SCORE, MIN_NODE_SCORE, PlacementScoreExtensions, PlacementScorePlugin, Plugin, Status,
};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct PodGroupPodsCount;

impl Plugin for PodGroupPodsCount {
    fn name(&self) -> &'static str {
        names::POD_GROUP_PODS_COUNT
    }
    fn as_placement_score(&self) -> Option<&dyn PlacementScorePlugin> {
        Some(self)
    }
}

impl PlacementScorePlugin for PodGroupPodsCount {
    /// Pods that have a place already count too, so that one pod more or less makes a small difference.
    fn score_placement(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        assignments: &PodGroupAssignments,
    ) -> Result<i64, Status> {
        let state = handle.snapshot_pod_groups.get(&group.namespace, &group.name).map_err(Status::error)?;
        let count = state.scheduled_pods_count() + assignments.proposed.len();
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }

    fn placement_score_extensions(&self) -> Option<&dyn PlacementScoreExtensions> {
        Some(self)
    }
}

impl PlacementScoreExtensions for PodGroupPodsCount {
    fn normalize_placement_score(
        &self,
        _: &Handle<'_>,
        _: &PodGroupInfo,
        scores: &mut [PlacementScore],
    ) -> Status {
        let highest = scores.iter().map(|score| score.score).max().unwrap_or(0).max(0);
        if highest == 0 {
            let text = "no pods from pod group are assigned to any of the candidate placements";
            return Status::error(text);
        }
        for score in scores {
            let range = MAX_NODE_SCORE - MIN_NODE_SCORE;
            score.score = MIN_NODE_SCORE + score.score.saturating_mul(range) / highest;
        }
        Status::SUCCESS
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use super::*;
    use crate::framework::testing::TestWorld;
    use crate::plugins::fixtures::pod;

    fn group() -> PodGroupInfo {
        PodGroupInfo { namespace: "default".into(), name: "train".into(), unscheduled_pods: Vec::new() }
    }

    #[test]
    fn pods_that_are_placed_and_pods_that_would_be_count_alike() {
        let member = |name: &str, node: &str| {
            pod(&format!(
                "{{metadata: {{name: {name}, namespace: default}}, spec: {{nodeName: '{node}', schedulingGroup: \
                 {{podGroupName: train}}}}}}"
            ))
        };
        let mut world = TestWorld::default();
        world.pod_groups.put(&member("a", "n1"));
        world.pod_groups.put(&member("b", ""));
        let proposed = vec![(member("b", ""), "n2".into())];
        let assignments = PodGroupAssignments { proposed, ..PodGroupAssignments::default() };
        assert_eq!(PodGroupPodsCount.score_placement(&world.handle(), &group(), &assignments).unwrap(), 2);
        let nobody = PodGroupInfo { name: "none".into(), ..group() };
        let status = PodGroupPodsCount.score_placement(&world.handle(), &nobody, &assignments).unwrap_err();
        assert_eq!(status.message(), "pod group state not found for pod group default/none");
        assert_eq!(Arc::strong_count(&assignments.proposed[0].0), 1);
    }

    /// The cases of upstream's test that tell the rule.
    #[test]
    fn the_highest_count_becomes_100() {
        let normalized = |counts: &[i64]| {
            let mut scores: Vec<PlacementScore> =
                counts.iter().map(|score| PlacementScore { name: "p".into(), score: *score }).collect();
            let world = TestWorld::default();
            let status = PodGroupPodsCount.normalize_placement_score(&world.handle(), &group(), &mut scores);
            (status.message(), scores.into_iter().map(|score| score.score).collect::<Vec<_>>())
        };
        assert_eq!(normalized(&[1, 2, 3]).1, [33, 66, 100]);
        assert_eq!(normalized(&[5, 5]).1, [100, 100]);
        assert_eq!(
            normalized(&[0, 0]).0,
            "no pods from pod group are assigned to any of the candidate placements"
        );
    }
}
