//! Cells of plugins that count pods: the numbers are those that a person counts in the manifest.

use std::sync::Arc;

use schedscope::explain::{self, CellExplanation, CellPoint};
use schedscope::framework::Code;
use schedscope::scheduler::trace::CycleTrace;

use crate::support::world::sandbox;

fn node(name: &str, zone: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}, zone: {zone}}}}}\n\
         status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '110'}}}}\n---\n"
    )
}

fn running(name: &str, node: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: web}}}}\nspec: {{nodeName: {node}, \
         containers: [{{name: c, image: i}}]}}\n---\n"
    )
}

/// An attempt for a pod with label `app: web` and that spec, with three pods of the app in zone a and one in zone b.
fn attempt(spec: &str) -> Arc<CycleTrace> {
    let waiting = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: new, labels: {{app: web}}}}\nspec: {{containers: [{{name: c, \
         image: i}}], {spec}}}\n---\n"
    );
    let cluster = [
        node("a-1", "a"),
        node("a-2", "a"),
        node("b-1", "b"),
        running("w-1", "a-1"),
        running("w-2", "a-1"),
        running("w-3", "a-2"),
        running("w-4", "b-1"),
        waiting,
    ];
    let mut simulator = sandbox(&cluster.concat());
    simulator.step_cycle();
    simulator.scheduler().view().cycle.unwrap()
}

fn cell(trace: &CycleTrace, point: CellPoint, node: &str, plugin: &str) -> CellExplanation {
    explain::cell(trace, point, node, plugin)
}

fn spread(when: &str) -> String {
    format!(
        "topologySpreadConstraints: [{{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: {when}, labelSelector: \
         {{matchLabels: {{app: web}}}}}}]"
    )
}

#[test]
fn a_spread_cell_shows_domain_counts_and_skew() {
    let trace = attempt(&spread("DoNotSchedule"));
    let refused = cell(&trace, CellPoint::Filter, "a-2", "PodTopologySpread");
    assert_eq!(refused.code, Some(Code::Unschedulable));
    assert_eq!(
        refused.arithmetic,
        [
            "zone=a: 3 matching + 1 (the pod itself) - 1 (the fewest, in b) = 3 > maxSkew 2",
            "matching pods in 2 domains: a 3, b 1",
        ]
    );
    let passed = cell(&trace, CellPoint::Filter, "b-1", "PodTopologySpread");
    assert_eq!(
        passed.arithmetic[0],
        "zone=b: 1 matching + 1 (the pod itself) - 1 (the fewest, in b) = 1 <= maxSkew 2"
    );
}

#[test]
fn a_spread_score_shows_what_each_pod_counts_and_how_it_is_normalized() {
    let trace = attempt(&spread("ScheduleAnyway"));
    // ln(2 zones + 2) = 1.386; 3 x 1.386 + 1 = 5.16 and 1 x 1.386 + 1 = 2.39.
    assert_eq!(
        cell(&trace, CellPoint::Score, "a-1", "PodTopologySpread").arithmetic,
        [
            "zone=a: 3 matching x 1.386 + (maxSkew 2 - 1) = 5.16",
            "raw: 5; the fewer the better",
            "normalized: 100 x (5 (the highest) + 2 (the lowest) - 5) / 5 = 40",
        ]
    );
    let best = cell(&trace, CellPoint::Score, "b-1", "PodTopologySpread").arithmetic;
    assert_eq!(best[2], "normalized: 100 x (5 (the highest) + 2 (the lowest) - 2) / 5 = 100");
}

#[test]
fn an_affinity_cell_counts_the_pods_of_each_rule_in_the_nodes_domain() {
    let term = "[{topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]";
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let trace = attempt(&format!("affinity: {{podAntiAffinity: {{{required}: {term}}}}}"));
    let refused = cell(&trace, CellPoint::Filter, "a-1", "InterPodAffinity");
    assert_eq!(refused.code, Some(Code::Unschedulable));
    assert_eq!(
        refused.arithmetic,
        ["anti-affinity: 2 pods in kubernetes.io/hostname=a-1 match its term; none may"]
    );
    let zone = "[{topologyKey: zone, labelSelector: {matchLabels: {app: web}}}]";
    let trace = attempt(&format!("affinity: {{podAffinity: {{{required}: {zone}}}}}"));
    assert_eq!(
        cell(&trace, CellPoint::Filter, "b-1", "InterPodAffinity").arithmetic,
        ["affinity: 1 pod in zone=b match all its terms; 1 is needed"]
    );
}

#[test]
fn an_affinity_score_shows_the_sum_of_the_weights() {
    let preferred = "affinity: {podAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, \
                     podAffinityTerm: {topologyKey: zone, labelSelector: {matchLabels: {app: web}}}}]}}";
    let trace = attempt(preferred);
    assert_eq!(
        cell(&trace, CellPoint::Score, "a-2", "InterPodAffinity").arithmetic,
        [
            "zone=a: weights of matching terms add up to +30",
            "raw: 30",
            "normalized: 100 x (30 - 10 (the lowest)) / (30 (the highest) - 10) = 100",
        ]
    );
}
