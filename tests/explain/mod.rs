//! What the program says about decisions, to the letter.

mod capacity;
mod fix;
mod golden;
mod objects;
mod placement;
mod report;
mod to_win;
mod volumes;
mod why;

use std::sync::Arc;

use schedscope::api::objects::{NodeSelector, NodeSelectorTerm, TaintEffect, Toleration};
use schedscope::api::{NamespacedName, Str, Time};
use schedscope::explain::{self, CellExplanation, CellPoint};
use schedscope::framework::{Code, NodeInfo, PodInfo, Status};
use schedscope::scheduler::trace::{CycleTrace, NodeVerdict, SelectionReason};
use schedscope::scheduler::view::View;

use crate::tui::fixture::*;

fn filter_cell(stage: Stage, node: &str, plugin: &str) -> CellExplanation {
    explain::cell(&trace(stage), CellPoint::Filter, node, plugin)
}

fn score_cell(node: &str, plugin: &str) -> CellExplanation {
    explain::cell(&trace(Stage::Scored), CellPoint::Score, node, plugin)
}

/// An attempt for `pod` on one node that `plugin` turns down.
fn turned_down(pod: Arc<PodInfo>, node: NodeInfo, plugin: &str, code: Code, reason: &str) -> CycleTrace {
    let mut trace = filtered(popped(pod, vec![Arc::new(node)]));
    if let Some(filter) = &mut trace.filter {
        filter.skipped.clear();
        filter.verdicts =
            vec![NodeVerdict::Rejected(Status::new(code, reason).with_plugin(plugin.to_owned()))];
    }
    trace
}

fn explained(trace: &CycleTrace, plugin: &str) -> CellExplanation {
    explain::cell(trace, CellPoint::Filter, trace.nodes()[0].name(), plugin)
}

#[test]
fn a_shortage_names_request_free_allocatable_and_users() {
    let cell = filter_cell(Stage::Filtered, "a-1", FIT);
    assert_eq!(
        cell.text(),
        "cpu 1500m requested, 1200m free of 4000m (2800m asked for by 9 pods). Insufficient cpu. Preemption may help."
    );
    assert_eq!(cell.code, Some(Code::Unschedulable));
    assert_eq!(
        cell.arithmetic,
        [
            "pods: 1 <= 30 - 9 = 21",
            "cpu: 1500m > 4000m - 2800m = 1200m, short by 300m",
            "memory: 2Gi <= 16Gi - 10Gi = 6Gi",
        ]
    );
}

#[test]
fn a_request_above_the_whole_node_is_beyond_preemption() {
    let wanting = pod("db/pg-2").asks(9000, 20 * GI).info();
    let node = with_pods(node("a-1", 4, 16), [pod("x/y-1").asks(500, GI).on("a-1").info()]);
    let trace = filtered(popped(wanting, vec![Arc::new(node)]));
    let cell = explained(&trace, FIT);
    assert_eq!(
        cell.text(),
        "cpu 9000m requested, 3500m free of 4000m (500m asked for by 1 pod); memory 20Gi requested, 15Gi free of \
         16Gi (1Gi asked for by 1 pod). Insufficient cpu, Insufficient memory. Preemption cannot help: the whole \
         node is too small."
    );
    assert_eq!(cell.code, Some(Code::UnschedulableAndUnresolvable));
}

#[test]
fn a_resource_that_the_node_lacks_is_named() {
    let wanting = pod("ml/gpu-9").asks(500, GI).extended("example.com/gpu", 1).info();
    let trace = filtered(popped(wanting, vec![Arc::new(with_pods(node("a-1", 4, 16), []))]));
    assert_eq!(
        explained(&trace, FIT).text(),
        "example.com/gpu 1 requested, and the node has none. Insufficient example.com/gpu. Preemption cannot help: \
         the node has nothing of that kind."
    );
}

#[test]
fn a_full_node_counts_its_pods() {
    let full = with_pods(node("a-1", 4, 16), (0..30).map(|i| pod(&format!("x/y-{i}")).on("a-1").info()));
    let trace = turned_down(pod("x/z-1").info(), full, FIT, Code::Unschedulable, "Too many pods");
    assert_eq!(
        explained(&trace, FIT).text(),
        "30 pods are here, and the node takes 30. Too many pods. Preemption may help."
    );
}

#[test]
fn nominated_pods_are_named_when_the_node_alone_has_room() {
    let roomy = with_pods(node("a-1", 4, 16), []);
    let trace = turned_down(star(), roomy, FIT, Code::Unschedulable, "Insufficient cpu");
    assert_eq!(
        explained(&trace, FIT).sentence,
        "Insufficient cpu. The pods here leave room (30 places of 30 left, cpu 1500m of 4000m free, memory 2Gi of \
         16Gi free); what counts besides are pods of the same or a higher priority that are nominated to this node."
    );
}

#[test]
fn a_node_with_room_says_how_much() {
    let cell = filter_cell(Stage::Filtered, "b-1", FIT);
    assert_eq!(
        cell.text(),
        "The node has room: 26 places of 30 left, cpu 1500m of 2400m free, memory 2Gi of 12Gi free."
    );
    assert_eq!(cell.code, Some(Code::Success));
}

#[test]
fn a_taint_is_named_with_what_was_compared() {
    let cell = filter_cell(Stage::Filtered, "a-3", TAINTS);
    assert_eq!(
        cell.text(),
        "Taint gpu=true:NoSchedule is not tolerated: the pod has no toleration. Preemption cannot help: the pod needs \
         a toleration, or the node must lose the taint."
    );
    let mut tainted = node("a-3", 8, 32);
    tainted.spec.taints.push(taint("gpu", "true", TaintEffect::NoSchedule));
    tainted.spec.taints.push(taint("team", "ml", TaintEffect::NoExecute));
    let tolerant = pod("ml/x-1").spec(|pod| {
        pod.spec.tolerations = vec![Toleration {
            key: Str::from("gpu"),
            operator: String::from("Exists"),
            ..Toleration::default()
        }];
    });
    let trace = turned_down(
        tolerant.info(),
        with_pods(tainted, []),
        TAINTS,
        Code::UnschedulableAndUnresolvable,
        "node(s) had untolerated taint(s)",
    );
    let cell = explained(&trace, TAINTS);
    assert_eq!(
        cell.sentence,
        "Taint team=ml:NoExecute is not tolerated: the pod's one toleration does not cover it."
    );
    assert_eq!(
        cell.arithmetic,
        [
            "gpu=true:NoSchedule: covered by gpu (any value)",
            "team=ml:NoExecute: not covered by gpu (any value)"
        ]
    );
}

#[test]
fn a_node_affinity_term_names_the_label_and_what_the_node_has() {
    let reason = "node(s) didn't match Pod's node affinity/selector";
    let picky = pod("x/y-1").spec(|pod| {
        node_affinity(pod).required = Some(NodeSelector {
            node_selector_terms: vec![NodeSelectorTerm {
                match_expressions: vec![requirement(
                    "topology.kubernetes.io/zone",
                    "In",
                    &["zone-b", "zone-c"],
                )],
                match_fields: Vec::new(),
            }],
        });
    });
    let trace = turned_down(
        picky.info(),
        with_pods(node("a-1", 4, 16), []),
        AFFINITY,
        Code::UnschedulableAndUnresolvable,
        reason,
    );
    assert_eq!(
        explained(&trace, AFFINITY).sentence,
        "The required term wants topology.kubernetes.io/zone In [zone-b, zone-c]; the node has \
         topology.kubernetes.io/zone=zone-a."
    );
    let selecting =
        pod("x/y-1").spec(|pod| _ = pod.spec.node_selector.insert(Str::from("disk"), Str::from("ssd")));
    let trace = turned_down(
        selecting.info(),
        with_pods(node("a-1", 4, 16), []),
        AFFINITY,
        Code::UnschedulableAndUnresolvable,
        reason,
    );
    assert_eq!(
        explained(&trace, AFFINITY).sentence,
        "The node selector wants disk=ssd; the node has no label disk."
    );
}

#[test]
fn a_taken_port_names_its_holder() {
    let busy = with_pods(node("a-1", 4, 16), [pod("shop/web-1").host_port(8080).on("a-1").info()]);
    let trace = turned_down(
        pod("shop/web-2").host_port(8080).info(),
        busy,
        PORTS,
        Code::Unschedulable,
        "node(s) didn't have free ports for the requested pod ports",
    );
    assert_eq!(
        explained(&trace, PORTS).text(),
        "Port 8080/TCP of the host is taken by shop/web-1. Preemption may help."
    );
}

#[test]
fn a_cordoned_node_and_a_wrong_name_say_so() {
    assert_eq!(
        filter_cell(Stage::Filtered, "c-4", CORDON).text(),
        "The node is cordoned, and the pod does not tolerate node.kubernetes.io/unschedulable:NoSchedule. Uncordon the \
         node, or choose another."
    );
    let named = pod("x/y-1").spec(|pod| pod.spec.node_name = Str::from("b-7"));
    let trace = turned_down(
        named.info(),
        with_pods(node("a-1", 4, 16), []),
        NAME,
        Code::UnschedulableAndUnresolvable,
        "node(s) didn't match the requested node name",
    );
    assert_eq!(explained(&trace, NAME).sentence, "The pod asks for node b-7; this is a-1.");
}

#[test]
fn a_plugin_of_somebodys_own_speaks_for_itself() {
    let trace = turned_down(
        star(),
        with_pods(node("a-1", 4, 16), []),
        "EvenNames",
        Code::Unschedulable,
        "node name is odd",
    );
    let mut trace = trace;
    if let Some(filter) = &mut trace.filter {
        filter.plugins.push("EvenNames");
    }
    assert_eq!(
        explained(&trace, "EvenNames").text(),
        "EvenNames answered Unschedulable: node name is odd. Preemption may help."
    );
}

#[test]
fn cells_that_were_not_asked_say_why() {
    let said = |stage, node, plugin| filter_cell(stage, node, plugin).sentence;
    assert_eq!(said(Stage::Popped, "a-1", FIT), "Filter has not run yet.");
    assert_eq!(
        said(Stage::Filtered, "a-1", AFFINITY),
        "NodeAffinity skipped: the pod has no node affinity and the profile adds none."
    );
    assert_eq!(said(Stage::Filtered, "a-3", FIT), "Not asked: TaintToleration had turned the node down.");
    assert_eq!(said(Stage::Filtered, "z-9", FIT), "There was no node z-9 when this attempt began.");
    let mut trace = trace(Stage::Filtered);
    if let Some(filter) = &mut trace.filter {
        filter.verdicts[11] = NodeVerdict::NotEvaluated;
        filter.verdicts[10] = NodeVerdict::Excluded;
        filter.n_to_find = 3;
    }
    if let Some(verdicts) = &mut trace.pre_filter {
        verdicts[0].node_names = Some([Str::from("a-1"), Str::from("b-1")].into());
    }
    let said = |node| explain::cell(&trace, CellPoint::Filter, node, FIT).sentence;
    assert_eq!(said("c-4"), "Not looked at: the search ends at 3 feasible nodes (percentageOfNodesToScore).");
    assert_eq!(said("c-3"), "Left out: NodeAffinity had narrowed the search to 2 nodes at PreFilter.");
}

#[test]
fn a_score_shows_its_formula_where_it_gives_the_plugins_own_numbers() {
    let cell = score_cell("b-1", FIT);
    assert_eq!(cell.text(), "42 of 100, times weight 1 = 42 points. b-4 has the most: 50.");
    assert_eq!(
        cell.arithmetic,
        [
            "cpu: (4000m - 3100m) x 100 / 4000m = 22",
            "memory: (16Gi - 6Gi) x 100 / 16Gi = 62",
            "least allocated: (22 + 62) / 2 = 42",
        ]
    );
}

#[test]
fn a_score_that_the_formulas_do_not_give_stands_alone() {
    let mut trace = trace(Stage::Scored);
    if let Some(score) = &mut trace.score {
        score.scores.plugins[1].raw[0] += 1;
        score.scores.plugins[1].normalized[0] += 1;
    }
    let cell = explain::cell(&trace, CellPoint::Score, "b-1", FIT);
    assert_eq!(cell.arithmetic, Vec::<String>::new());
}

#[test]
fn balance_compares_the_node_with_and_without_the_pod() {
    let cell = score_cell("b-1", BALANCED);
    assert_eq!(
        cell.arithmetic,
        [
            "with the pod: cpu 77.5%, memory 37.5%; 100 - half the distance = 80",
            "without it: cpu 40.0%, memory 25.0%; 100 - half the distance = 92",
            "50 + (50 + 80 - 92) / 2 = 69",
        ]
    );
}

#[test]
fn soft_taints_are_counted_and_turned_round() {
    let cell = score_cell("b-4", TAINTS);
    assert_eq!(cell.text(), "1 raw, 0 of 100, times weight 3 = 0 points. 2 nodes have the most: 300.");
    assert_eq!(
        cell.arithmetic,
        [
            "spot=true:PreferNoSchedule is not tolerated: counts 1",
            "normalized: 100 - 100 x 1 / 1 (the highest raw score) = 0",
        ]
    );
}

#[test]
fn images_on_few_nodes_count_for_less() {
    let cell = score_cell("b-1", IMAGES);
    assert_eq!(
        cell.arithmetic,
        [
            "registry.example.com/shop/cart:2.3: 640Mi x 2 of 12 nodes = 106Mi",
            "0 up to 23Mi, 100 from 1000Mi: 8",
        ]
    );
    assert_eq!(cell.text(), "8 of 100, times weight 1 = 8 points. 1 other node has as much, none more.");
}

#[test]
fn scores_that_are_not_there_say_why() {
    assert_eq!(score_cell("a-1", FIT).sentence, "Not scored: the node did not pass the filters.");
    assert_eq!(
        score_cell("b-1", AFFINITY).sentence,
        "NodeAffinity skipped: the pod prefers no nodes and the profile adds no preference."
    );
    let said = |stage| explain::cell(&trace(stage), CellPoint::Score, "b-1", FIT).sentence;
    assert_eq!(said(Stage::Filtered), "Score has not run yet.");
    assert_eq!(said(Stage::NoRoom), "Not scored: no node passed the filters.");
}

#[test]
fn the_verdict_grows_with_the_attempt() {
    let verdict = |stage| explain::verdict_so_far(&trace(stage));
    assert_eq!(verdict(Stage::Popped), "popped from activeQ after 400ms; 12 nodes to look at");
    assert_eq!(verdict(Stage::PreFiltered), "all 12 nodes will be looked at");
    assert_eq!(verdict(Stage::Filtered), "3 of 12 nodes fit");
    assert_eq!(verdict(Stage::Scored), "b-1 leads with 419, 11 ahead of c-2");
    assert_eq!(verdict(Stage::Selected), "b-1 wins by 11 points over c-2");
    assert_eq!(verdict(Stage::Waiting), "placed on b-1; held at Permit by Coscheduling");
    assert_eq!(verdict(Stage::Bound), "bound to b-1: it wins by 11 points over c-2");
    assert_eq!(
        verdict(Stage::NothingFits),
        "none of 12 nodes fits: 9 Insufficient cpu, 2 untolerated taint(s), 1 unschedulable"
    );
    assert_eq!(
        verdict(Stage::Preempted),
        "nominated to b-1; none of 12 nodes fits: 9 Insufficient cpu, 2 untolerated taint(s), 1 unschedulable"
    );
}

#[test]
fn the_choice_says_why() {
    let said = |trace: &CycleTrace| explain::selection(trace).unwrap_or_default();
    assert_eq!(explain::selection(&trace(Stage::Scored)), None);
    assert_eq!(said(&trace(Stage::Tied)), "2 nodes tie at 419; b-1 was drawn by chance (seeded)");
    let mut trace = trace(Stage::Selected);
    if let Some(selection) = &mut trace.selection {
        selection.reason = SelectionReason::OnlyFeasible;
    }
    assert_eq!(said(&trace), "only b-1 fits, so nothing is scored");
    if let Some(selection) = &mut trace.selection {
        selection.reason = SelectionReason::Nominated;
    }
    assert_eq!(said(&trace), "b-1 passes and the pod is nominated to it, so nothing is scored");
}

#[test]
fn preemption_says_whom_it_costs_and_what_decided() {
    assert_eq!(
        explain::preemption(&evidence()),
        "preemption on b-1 costs 2 pods (batch/train-3 prio 10 and batch/train-4 prio 0); chosen from 3 nodes by: \
         lowest highest victim priority"
    );
    let mut none = evidence();
    none.selected = None;
    none.candidates.clear();
    assert_eq!(explain::preemption(&none), "preemption helps on none of 2 nodes");
}

fn story(view: &View, key: &str) -> (String, String) {
    let (namespace, name) = key.split_once('/').unwrap_or_default();
    let story = explain::pod_story(view, &NamespacedName::new(namespace, name));
    story.map(|story| (story.headline, story.next)).unwrap_or_default()
}

#[test]
fn a_pods_story_says_why_it_waits_and_what_would_move_it() {
    let view = scheduler(Stage::Filtered);
    let told = |key, headline: &str, next: &str| {
        assert_eq!(story(&view, key), (headline.to_owned(), next.to_owned()), "{key}");
    };
    told(
        "shop/search-1",
        "First in activeQ, for 3.0s: same priority 100, came 100ms earlier.",
        "The next attempt is its own.",
    );
    told(
        "batch/train-1",
        "Number 4 in activeQ, for 9.1s.",
        "Tried after 2 of higher priority and 1 that came earlier.",
    );
    told(
        "shop/api-2",
        "Backs off after a rejection at attempt 2 by NodeResourcesFit.",
        "Back in activeQ in 1.2s, or as soon as activeQ is empty.",
    );
    told("batch/etl-9", "Backs off after an error at attempt 3.", "Back in activeQ in 3.8s.");
    told(
        "ci/gate-1",
        "Gated by example.com/quota: not tried yet.",
        "It enters activeQ when that gate is taken away.",
    );
    told(
        "ml/gpu-7",
        "Unschedulable for 4m12s: turned down by NodeResourcesFit and TaintToleration at attempt 3.",
        "What would wake it: a pod that leaves a node, a node that comes or grows, a smaller request; a node without \
         the taint, a new toleration; the flush in 1m18s at the latest.",
    );
    told(
        "ml/gang-0",
        "It has a place on c-3 and is held at Permit by Coscheduling.",
        "Each of them must let it pass; the first gives up in 18s.",
    );
    told("shop/cart-5", "It is being tried now; Filter is done.", "The next steps decide.");
    told("shop/web-a-1-0", "It has its place on a-1.", "");
    assert_eq!(explain::pod_story(&view, &NamespacedName::new("no", "body")), None);
}

#[test]
fn a_pod_that_no_plugin_is_named_for_waits_for_the_flush() {
    let mut view = empty_view();
    view.unschedulable_pods = vec![unschedulable_row(pod("x/y-1").pod(), &[""], 200_000)];
    let (headline, next) = story(&view, "x/y-1");
    assert_eq!(headline, "Unschedulable for 3m20s; no plugin is named as the reason.");
    assert_eq!(next, "Nothing can wake it but the flush in 2m10s.");
}

#[test]
fn the_first_in_the_queue_has_a_reason() {
    let mut view = empty_view();
    assert_eq!(explain::first_in_queue(&view), "activeQ is empty");
    let row = |key: &str, priority: i32, since: Time| queue_row(pod(key).priority(priority).pod(), 1, since);
    view.active_q = vec![row("a/a-1", 1000, ago(400))];
    assert_eq!(explain::first_in_queue(&view), "the only pod in activeQ");
    view.active_q.push(row("a/b-1", 100, ago(3_000)));
    assert_eq!(explain::first_in_queue(&view), "priority 1000 before 100");
}

#[test]
fn a_node_names_its_scarcest_resource_and_whom_it_refuses() {
    let view = scheduler(Stage::Filtered);
    let summary = |name: &str| {
        explain::node(&view, name).map(|node| (node.headline, node.refusals)).unwrap_or_default()
    };
    let (headline, refusals) = summary("c-1");
    assert_eq!(headline, "cpu is the scarcest: 100m free of 4000m, 97% asked for.");
    assert_eq!(refusals, ["Takes 22 more pods, each with at most cpu 100m and memory 1Gi."]);
    let (headline, refusals) = summary("a-3");
    assert_eq!(headline, "example.com/gpu is used up: all of 2 is asked for.");
    assert_eq!(
        refusals,
        [
            "Taint gpu=true:NoSchedule: refuses pods without a toleration.",
            "Takes 29 more pods, each with at most cpu 6, memory 24Gi and example.com/gpu 0.",
        ]
    );
    assert_eq!(summary("c-4").1[0], "Cordoned: refuses every pod that does not tolerate it.");
    assert_eq!(explain::node(&view, "z-9"), None);
}
