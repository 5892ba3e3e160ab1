//! TaintToleration: a node takes only pods that tolerate its NoSchedule and NoExecute taints; of those it can
//! have, a pod goes first where the fewest PreferNoSchedule taints are that it does not tolerate.
//!
//! Follows `plugins/tainttoleration/taint_toleration.go`.

use super::helper::normalize_score::default_normalize_score;
use super::helper::objects::{changed_node, changed_pod};
use super::helper::{signers, taints};
use super::names;
use crate::api::Object;
use crate::api::objects::{Pod, Taint, TaintEffect, Toleration};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, NodeScore, Plugin, PodInfo, PreScorePlugin, QueueingHint,
    ScoreExtensions, ScorePlugin, SignFragment, SignPlugin, Status,
};
use std::sync::Arc;

const REASON: &str = "node(s) had untolerated taint(s)";

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct TaintToleration {
    /// The gate TaintTolerationComparisonOperators.
    pub comparison_operators: bool,
}

/// The tolerations that count in the score.
#[derive(Debug)]
struct PreScoreState {
    prefer_no_schedule: Vec<Toleration>,
}

impl TaintToleration {
    fn is_schedulable_after_node_change(
        self,
        pod: &Pod,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Result<QueueingHint, String> {
        let (original, modified) = changed_node(old, new)?;
        let repels = |taints: &[Taint]| {
            taints::first_untolerated(taints, &pod.spec.tolerations, self.comparison_operators).is_some()
        };
        let did_repel = original.is_none_or(|node| repels(&node.spec.taints));
        let helps = did_repel && !repels(&modified.spec.taints);
        Ok(if helps { QueueingHint::Queue } else { QueueingHint::QueueSkip })
    }
}

fn is_schedulable_after_pod_toleration_change(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let changed = changed_pod(old, new)?;
    Ok(if changed.uid() == pod.uid() { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

impl Plugin for TaintToleration {
    fn name(&self) -> &'static str {
        names::TAINT_TOLERATION
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
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl FilterPlugin for TaintToleration {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let taints = node.node().map_or(&[][..], |node| &node.spec.taints);
        let tolerations = &pod.pod.spec.tolerations;
        match taints::first_untolerated(taints, tolerations, self.comparison_operators) {
            Some(_) => Status::unresolvable(REASON),
            None => Status::SUCCESS,
        }
    }
}

impl PreScorePlugin for TaintToleration {
    fn pre_score(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> Status {
        let counts =
            |own: &&Toleration| own.effect.is_empty() || own.effect == TaintEffect::PreferNoSchedule.as_str();
        let prefer_no_schedule = pod.pod.spec.tolerations.iter().filter(counts).cloned().collect();
        state.write(self.name(), PreScoreState { prefer_no_schedule });
        Status::SUCCESS
    }
}

impl ScorePlugin for TaintToleration {
    fn score(&self, _: &Handle<'_>, state: &CycleState, _: &PodInfo, node: &NodeInfo) -> Result<i64, Status> {
        let state = state.read::<PreScoreState>().ok_or_else(|| {
            Status::error("failed to read \"PreScoreTaintToleration\" from cycleState: not found")
        })?;
        let taints = node.node().map_or(&[][..], |node| &node.spec.taints);
        let untolerated = taints.iter().filter(|taint| {
            taint.effect == TaintEffect::PreferNoSchedule
                && !taints::any_tolerates(&state.prefer_no_schedule, taint, self.comparison_operators)
        });
        Ok(i64::try_from(untolerated.count()).unwrap_or(i64::MAX))
    }

    fn score_extensions(&self) -> Option<&dyn ScoreExtensions> {
        Some(self)
    }
}

impl ScoreExtensions for TaintToleration {
    fn normalize_score(
        &self,
        _: &Handle<'_>,
        _: &CycleState,
        _: &PodInfo,
        scores: &mut [NodeScore],
    ) -> Status {
        default_normalize_score(true, scores);
        Status::SUCCESS
    }
}

impl EnqueueExtensions for TaintToleration {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let plugin = *self;
        let node = ClusterEvent::new(EventResource::Node, ActionType::ADD | ActionType::UPDATE_NODE_TAINT);
        let pod = ClusterEvent::new(EventResource::Pod, ActionType::UPDATE_POD_TOLERATION);
        vec![
            ClusterEventWithHint::hinted(node, move |_, pod, old, new| {
                plugin.is_schedulable_after_node_change(pod, old, new)
            }),
            ClusterEventWithHint::hinted(pod, |_, pod, old, new| {
                is_schedulable_after_pod_toleration_change(pod, old, new)
            }),
        ]
    }
}

impl SignPlugin for TaintToleration {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::tolerations(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::{hint, node_object, pod, pod_object, scores, world};

    fn tainted(taints: &str) -> String {
        format!("{{metadata: {{name: n}}, spec: {{taints: [{taints}]}}}}")
    }

    #[test]
    fn repelling_taints_must_be_tolerated() {
        let filter = |pod: &str, taints: &str| {
            let world = world(&[&tainted(taints)], &[]);
            let pod = crate::plugins::fixtures::pod_info(pod);
            let node = &world.snapshot.list()[0];
            TaintToleration::default().filter(&world.handle(), &CycleState::new(), &pod, node)
        };
        let dedicated = "{key: dedicated, value: user1, effect: NoSchedule}";
        let repelled = Status::unresolvable("node(s) had untolerated taint(s)");
        assert_eq!(filter("{}", dedicated), repelled);
        let tolerant = "{spec: {tolerations: [{key: dedicated, value: user1, effect: NoSchedule}]}}";
        assert_eq!(filter(tolerant, dedicated), Status::SUCCESS);
        assert_eq!(filter(&tolerant.replace("user1", "user2"), dedicated), repelled);
        assert_eq!(filter("{}", "{key: a, effect: NoExecute}"), repelled);
        assert_eq!(filter("{}", "{key: a, effect: PreferNoSchedule}"), Status::SUCCESS);
        // A toleration for one effect does not help against another.
        assert_eq!(filter(tolerant, "{key: dedicated, value: user1, effect: NoExecute}"), repelled);
    }

    #[test]
    fn fewest_untolerated_preferences_score_highest() {
        let plugin = TaintToleration::default();
        let two = tainted("{key: a, effect: PreferNoSchedule}, {key: b, effect: PreferNoSchedule}");
        let two = two.replace("name: n", "name: two");
        let one = tainted("{key: a, effect: PreferNoSchedule}").replace("name: n", "name: one");
        let none = tainted("{key: c, effect: NoSchedule}").replace("name: n", "name: none");
        let nodes = [none.as_str(), one.as_str(), two.as_str()];
        // Raw and normalized score of each node.
        assert_eq!(scores(&plugin, "{}", &nodes, &[]), Ok(vec![(0, 100), (1, 50), (2, 0)]));
        let tolerant = "{spec: {tolerations: [{key: a, operator: Exists}]}}";
        assert_eq!(scores(&plugin, tolerant, &nodes, &[]), Ok(vec![(0, 100), (0, 100), (1, 0)]));
        // A toleration of another effect does not count.
        let other = "{spec: {tolerations: [{key: a, operator: Exists, effect: NoSchedule}]}}";
        assert_eq!(scores(&plugin, other, &nodes, &[]), Ok(vec![(0, 100), (1, 50), (2, 0)]));
    }

    #[test]
    fn hints() {
        use QueueingHint::{Queue, QueueSkip};
        let plugin = TaintToleration::default();
        let waiting = pod("{metadata: {uid: a}, spec: {tolerations: [{key: a, operator: Exists}]}}");
        let good = node_object(&tainted("{key: a, effect: NoSchedule}"));
        let bad = node_object(&tainted("{key: b, effect: NoSchedule}"));
        let node = |old: Option<&Object>, new| hint(&plugin, 0, &waiting, old, Some(new));
        assert_eq!(node(None, &good), Ok(Queue));
        assert_eq!(node(None, &bad), Ok(QueueSkip));
        assert_eq!(node(Some(&bad), &good), Ok(Queue));
        assert_eq!(node(Some(&good), &good), Ok(QueueSkip));
        // A preference never kept the pod off.
        let preference = node_object(&tainted("{key: b, effect: PreferNoSchedule}"));
        assert_eq!(node(Some(&preference), &good), Ok(QueueSkip));
        let toleration = |new: &str| {
            let new = pod_object(new);
            hint(&plugin, 1, &waiting, Some(&new), Some(&new))
        };
        assert_eq!(toleration("{metadata: {uid: a}}"), Ok(Queue));
        assert_eq!(toleration("{metadata: {uid: b}}"), Ok(QueueSkip));
    }
}
