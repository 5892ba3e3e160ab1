//! The rules by example; verdicts and scores are those of kube-scheduler v1.36.3.

use serde_json::json;

use super::super::fixtures::{hint, node_object, pod, pod_info, pod_object, world};
use super::PodTopologySpread;
use crate::api::Object;
use crate::api::objects::Service;
use crate::config::topology_args::PodTopologySpreadArgs;
use crate::config::{FeatureGates, Gate};
use crate::framework::testing::TestWorld;
use crate::framework::{
    CycleState, FilterPlugin, NodeScore, PreFilterExtensions, PreFilterPlugin, PreScorePlugin, QueueingHint,
    ScoreExtensions, ScorePlugin, SignPlugin, Status,
};

const NODES: [&str; 4] = [
    "{metadata: {name: a1, labels: {zone: a, host: a1}}}",
    "{metadata: {name: a2, labels: {zone: a, host: a2, disk: ssd}}, spec: {taints: [{key: t, effect: PreferNoSchedule}]}}",
    "{metadata: {name: b1, labels: {zone: b, host: b1, disk: ssd}}, spec: {taints: [{key: gpu, effect: NoSchedule}]}}",
    "{metadata: {name: bare, labels: {host: bare}}}",
];

fn plugin() -> PodTopologySpread {
    PodTopologySpread::new(PodTopologySpreadArgs::System, &FeatureGates::default())
}

fn pod_with(name: &str, labels: &str, spec: &str) -> String {
    format!("{{metadata: {{name: {name}, namespace: default, labels: {{{labels}}}}}, spec: {{{spec}}}}}")
}

/// Pods of the web on these nodes.
fn webs(nodes: &[&str]) -> Vec<String> {
    let web =
        |(i, node): (usize, &&str)| pod_with(&format!("w{i}"), "app: web", &format!("nodeName: {node}"));
    nodes.iter().enumerate().map(web).collect()
}

/// A constraint on pods of the web.
fn constraint(max_skew: i32, key: &str, action: &str, rest: &str) -> String {
    format!(
        "{{maxSkew: {max_skew}, topologyKey: {key}, whenUnsatisfiable: {action}, labelSelector: {{matchLabels: \
         {{app: web}}}}{rest}}}"
    )
}

fn hard(max_skew: i32, key: &str, rest: &str) -> String {
    constraint(max_skew, key, "DoNotSchedule", rest)
}

fn soft(max_skew: i32, key: &str) -> String {
    constraint(max_skew, key, "ScheduleAnyway", "")
}

fn spread(constraints: &[String]) -> String {
    format!("topologySpreadConstraints: [{}]", constraints.join(", "))
}

/// A pod of the web with these constraints.
fn web(constraints: &[String]) -> String {
    pod_with("p", "app: web", &spread(constraints))
}

fn cluster(nodes: &[&str], pods: &[String]) -> TestWorld {
    let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
    world(nodes, &pods)
}

fn letter(status: &Status) -> char {
    match status.reasons().first().map(String::as_str) {
        None => '.',
        Some("node(s) didn't match pod topology spread constraints") => 'S',
        Some("node(s) didn't match pod topology spread constraints (missing required label)") => 'M',
        Some(_) => '?',
    }
}

/// The verdict on each node as a letter, or `skip`, or what PreFilter refuses with.
fn verdicts_of(plugin: &PodTopologySpread, pod: &str, pods: &[String]) -> String {
    let (world, pod, mut state) = (cluster(&NODES, pods), pod_info(pod), CycleState::new());
    let handle = world.handle();
    let nodes = world.snapshot.list();
    let (_, status) = plugin.pre_filter(&handle, &mut state, &pod, nodes);
    match status {
        status if status.is_skip() => "skip".to_owned(),
        status if !status.is_success() => status.message(),
        _ => nodes.iter().map(|node| letter(&plugin.filter(&handle, &state, &pod, node))).collect(),
    }
}

fn verdicts(pod: &str, pods: &[String]) -> String {
    verdicts_of(&plugin(), pod, pods)
}

#[test]
fn no_domain_may_have_more_than_max_skew_pods_above_the_emptiest() {
    let zone = |max_skew| web(&[hard(max_skew, "zone", "")]);
    assert_eq!(verdicts(&zone(1), &webs(&["a1", "b1"])), "...M");
    assert_eq!(verdicts(&zone(1), &webs(&["a1"])), "SS.M");
    assert_eq!(verdicts(&zone(2), &webs(&["a1"])), "...M");
    // A pod that does not match its own selector adds nothing.
    let db = pod_with("p", "app: db", &spread(&[hard(1, "zone", "")]));
    assert_eq!(verdicts(&db, &webs(&["a1"])), "...M");
    assert_eq!(verdicts(&db, &webs(&["a1", "a2"])), "SS.M");
    // All constraints must hold.
    let both = web(&[hard(1, "zone", ""), hard(1, "host", "")]);
    assert_eq!(verdicts(&both, &webs(&["a1", "b1"])), "S.SM");
    // A node that lacks one of the keys does not count for the others either.
    assert_eq!(verdicts(&both, &webs(&["bare", "bare", "a1"])), "SS.M");
}

#[test]
fn pods_count_that_match_are_in_the_namespace_and_stay() {
    let zone = web(&[hard(1, "zone", "")]);
    let elsewhere = webs(&["a1"])[0].replace("namespace: default", "namespace: other");
    assert_eq!(verdicts(&zone, &[elsewhere]), "...M");
    let leaving =
        webs(&["a1"])[0].replace("name: w0,", "name: w0, deletionTimestamp: '2026-01-01T00:00:30Z',");
    assert_eq!(verdicts(&zone, &[leaving]), "...M");
    // Neither an empty selector nor an absent one counts pods.
    let with = |selector: &str| {
        let constraint =
            format!("{{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule{selector}}}");
        verdicts(&web(&[constraint]), &webs(&["a1", "a2"]))
    };
    assert_eq!(with(", labelSelector: {}"), "...M");
    assert_eq!(with(""), "...M");
    assert_eq!(verdicts(&web(&[soft(1, "zone")]), &webs(&["a1"])), "skip");
    assert_eq!(
        with(", labelSelector: {matchExpressions: [{key: app, operator: Near}]}"),
        "get constraints from pod: obtaining pod's hard topology spread constraints: \"Near\" is not a valid label \
         selector operator"
    );
}

#[test]
fn with_too_few_domains_the_emptiest_counts_as_empty() {
    let at_least = |n: i32| web(&[hard(1, "zone", &format!(", minDomains: {n}"))]);
    assert_eq!(verdicts(&at_least(3), &webs(&["a1"])), "SS.M");
    assert_eq!(verdicts(&at_least(2), &webs(&["a1", "b1"])), "...M");
    assert_eq!(verdicts(&at_least(3), &webs(&["a1", "b1"])), "SSSM");
}

#[test]
fn the_policies_say_which_nodes_count() {
    let zone = |policy: &str, rest: &str| {
        pod_with("p", "app: web", &format!("{}, {rest}", spread(&[hard(1, "zone", policy)])))
    };
    let (in_b, none) = ("nodeSelector: {zone: b}", "priority: 0");
    assert_eq!(verdicts(&zone("", in_b), &webs(&["b1"])), "...M", "zone a is out of the question");
    assert_eq!(verdicts(&zone(", nodeAffinityPolicy: Ignore", in_b), &webs(&["b1"])), "..SM");
    assert_eq!(verdicts(&zone("", none), &webs(&["a1"])), "SS.M", "taints do not matter by default");
    assert_eq!(verdicts(&zone(", nodeTaintsPolicy: Honor", none), &webs(&["a1"])), "...M");
    let tolerant = "tolerations: [{key: gpu, operator: Exists}]";
    assert_eq!(verdicts(&zone(", nodeTaintsPolicy: Honor", tolerant), &webs(&["a1"])), "SS.M");
}

#[test]
fn match_label_keys_narrow_the_selector_to_the_pods_own_values() {
    let there = [pod_with("w", "app: web, v: 1", "nodeName: a1")];
    let keyed = |labels, key: &str| {
        pod_with("p", labels, &spread(&[hard(1, "zone", &format!(", matchLabelKeys: [{key}]"))]))
    };
    assert_eq!(verdicts(&keyed("app: web, v: 2", "v"), &there), "...M");
    assert_eq!(verdicts(&keyed("app: web, v: 1", "v"), &there), "SS.M");
    assert_eq!(verdicts(&keyed("app: web, v: 2", "x"), &there), "SS.M", "a key that the pod lacks");
    let gates = FeatureGates::parse(
        "MatchLabelKeysInPodTopologySpreadSelectorMerge=false,MatchLabelKeysInPodTopologySpread=false",
    );
    let gates = gates.unwrap_or_default();
    assert!(!gates.is_enabled(Gate::MatchLabelKeysInPodTopologySpread));
    let without = PodTopologySpread::new(PodTopologySpreadArgs::System, &gates);
    assert_eq!(verdicts_of(&without, &keyed("app: web, v: 2", "v"), &there), "SS.M");
}

/// Taking a pod off or putting one on in thought gives what a cluster without or with it gives.
#[test]
fn dry_runs_follow_the_pods() {
    for constraints in [
        vec![hard(1, "zone", "")],
        vec![hard(1, "zone", ""), hard(1, "host", "")],
        vec![hard(1, "host", ", minDomains: 5")],
    ] {
        let incoming = web(&constraints);
        let (few, all) = (webs(&["a1", "b1"]), webs(&["a1", "b1", "a2"]));
        for (start, goal, is_added) in [(&few, &all, true), (&all, &few, false)] {
            let (world, pod, mut state) = (cluster(&NODES, start), pod_info(&incoming), CycleState::new());
            let (handle, nodes) = (world.handle(), world.snapshot.list());
            assert!(plugin().pre_filter(&handle, &mut state, &pod, nodes).1.is_success());
            let untouched = state.clone();
            let changed = pod_info(&all[2]);
            let status = if is_added {
                plugin().add_pod(&handle, &mut state, &pod, &changed, &nodes[1])
            } else {
                plugin().remove_pod(&handle, &mut state, &pod, &changed, &nodes[1])
            };
            assert!(status.is_success());
            let by = |state| -> String {
                nodes.iter().map(|node| letter(&plugin().filter(&handle, state, &pod, node))).collect()
            };
            assert_eq!(by(&state), verdicts(&incoming, goal), "{incoming}");
            assert_eq!(by(&untouched), verdicts(&incoming, start), "the copy of the state stays as it was");
        }
    }
}

/// Raw and normalized score by node, or nothing where the plugin is skipped.
fn scores_of(plugin: &PodTopologySpread, world: &TestWorld, pod: &str) -> Option<Vec<(i64, i64)>> {
    let (pod, mut state) = (pod_info(pod), CycleState::new());
    let (handle, nodes) = (world.handle(), world.snapshot.list());
    let status = plugin.pre_score(&handle, &mut state, &pod, nodes);
    if status.is_skip() {
        return None;
    }
    assert!(status.is_success(), "{status:?}");
    let raw = nodes.iter().map(|node| plugin.score(&handle, &state, &pod, node));
    let raw: Vec<i64> = raw.collect::<Result<_, _>>().unwrap_or_default();
    let mut scores: Vec<NodeScore> = nodes
        .iter()
        .zip(&raw)
        .map(|(node, raw)| NodeScore { name: node.name().clone(), score: *raw })
        .collect();
    assert!(plugin.normalize_score(&handle, &state, &pod, &mut scores).is_success());
    Some(raw.into_iter().zip(scores.into_iter().map(|score| score.score)).collect())
}

fn scores(pod: &str, pods: &[String]) -> Option<Vec<(i64, i64)>> {
    scores_of(&plugin(), &cluster(&NODES, pods), pod)
}

/// The same nodes with the well-known labels.
fn well_known_nodes() -> Vec<String> {
    let well_known = |node: &&str| {
        node.replace("zone: ", "topology.kubernetes.io/zone: ").replace("host: ", "kubernetes.io/hostname: ")
    };
    NODES.iter().map(well_known).collect()
}

#[test]
fn the_fewer_pods_the_better_and_a_node_without_a_key_gets_nothing() {
    let zone = |max_skew| web(&[soft(max_skew, "zone")]);
    assert_eq!(scores(&zone(1), &webs(&["a1", "a2", "b1"])), Some(vec![(3, 33), (3, 33), (1, 100), (0, 0)]));
    // maxSkew adds to all, so that a difference counts for less.
    let four = webs(&["a1", "a2", "a1", "b1"]);
    assert_eq!(scores(&zone(4), &four), Some(vec![(7, 57), (7, 57), (4, 100), (0, 0)]));
    assert_eq!(scores(&zone(1), &[]), Some(vec![(0, 100), (0, 100), (0, 100), (0, 0)]));
    assert_eq!(scores(&web(&[hard(9, "zone", "")]), &webs(&["a1"])), None);
}

#[test]
fn a_pod_counts_the_more_the_more_domains_there_are() {
    let both = web(&[soft(1, "zone"), soft(1, "host")]);
    let three = webs(&["a1", "a1", "b1"]);
    assert_eq!(scores(&both, &three), Some(vec![(6, 50), (3, 100), (3, 100), (0, 0)]));
    let nine = webs(&["a1", "a1", "a1", "a1", "a1", "a1", "a1", "b1", "b1"]);
    let uneven = web(&[soft(1, "zone"), soft(2, "host")]);
    assert_eq!(scores(&uneven, &nine), Some(vec![(22, 31), (11, 81), (7, 100), (0, 0)]));
    // The well-known host name is counted node by node.
    let nodes = well_known_nodes();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let world = cluster(&nodes, &webs(&["a1", "a1", "a2"]));
    let host = web(&[soft(1, "kubernetes.io/hostname")]);
    assert_eq!(scores_of(&plugin(), &world, &host), Some(vec![(4, 0), (2, 50), (0, 100), (0, 100)]));
}

#[test]
fn pods_of_a_service_are_spread_without_asking() {
    let plain = pod_with("p", "app: web", "");
    let nodes = well_known_nodes();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let mut world = cluster(&nodes, &webs(&["a1", "a1", "b1", "bare"]));
    assert_eq!(scores_of(&plugin(), &world, &plain), None, "the pod belongs to nothing");
    let service: Service = serde_json::from_value(
        json!({"metadata": {"name": "s", "namespace": "default"}, "spec": {"selector": {"app": "web"}}}),
    )
    .unwrap_or_default();
    world.objects.insert(Object::from(service));
    // kube-scheduler's own constraints spread over hosts also where there is no zone.
    assert_eq!(scores_of(&plugin(), &world, &plain), Some(vec![(13, 30), (9, 61), (9, 61), (4, 100)]));
    let listed = |constraints: serde_json::Value| {
        let args = json!({"defaultingType": "List", "defaultConstraints": constraints});
        let args = PodTopologySpreadArgs::from_value(Some(&args), "").unwrap_or_default();
        PodTopologySpread::new(args, &FeatureGates::default())
    };
    let zone = json!([{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway"}]);
    assert_eq!(scores_of(&listed(zone), &world, &plain), Some(vec![(3, 33), (3, 33), (1, 100), (0, 0)]));
    assert_eq!(scores_of(&listed(json!([])), &world, &plain), None);
    // Constraints of its own take the place of all of them.
    assert_eq!(scores_of(&plugin(), &world, &web(&[hard(1, "zone", "")])), None);
}

#[test]
fn hints_on_pods() {
    use QueueingHint::{Queue, QueueSkip};
    const POD_EVENTS: usize = 0;
    let waiting = pod(&web(&[hard(1, "zone", ", nodeTaintsPolicy: Honor")]));
    let other = |labels: &str, spec: &str| pod_object(&pod_with("other", labels, spec));
    let on_node = "nodeName: n";
    for (what, old, new, expected) in [
        ("a matching pod came", None, Some(other("app: web", on_node)), Queue),
        ("a matching pod is gone", Some(other("app: web", on_node)), None, Queue),
        ("another pod came", None, Some(other("app: db", on_node)), QueueSkip),
        ("a pod came that waits itself", None, Some(other("app: web", "")), QueueSkip),
        ("a pod came to match", Some(other("", on_node)), Some(other("app: web", on_node)), Queue),
        ("a pod ceased to match", Some(other("app: web", on_node)), Some(other("", on_node)), Queue),
        ("other labels", Some(other("a: b", on_node)), Some(other("a: c", on_node)), QueueSkip),
    ] {
        assert_eq!(hint(&plugin(), POD_EVENTS, &waiting, old.as_ref(), new.as_ref()), Ok(expected), "{what}");
    }
    let elsewhere = pod_object(&pod_with("other", "app: web", on_node).replace("default", "elsewhere"));
    assert_eq!(
        hint(&plugin(), POD_EVENTS, &waiting, None, Some(&elsewhere)),
        Ok(QueueSkip),
        "another namespace"
    );
    let nominated = pod_object(
        "{metadata: {name: other, namespace: default, labels: {app: web}}, status: {nominatedNodeName: n}}",
    );
    assert_eq!(hint(&plugin(), POD_EVENTS, &waiting, Some(&nominated), None), Ok(Queue), "a nominated pod");
    // Its own tolerations matter only where a constraint honors taints.
    let own = |spec: &str| pod_object(&pod_with("p", "app: web", spec));
    let (before, after) = (own(""), own("tolerations: [{operator: Exists}]"));
    assert_eq!(hint(&plugin(), POD_EVENTS, &waiting, Some(&before), Some(&after)), Ok(Queue));
    let careless = pod(&web(&[hard(1, "zone", "")]));
    assert_eq!(hint(&plugin(), POD_EVENTS, &careless, Some(&before), Some(&after)), Ok(QueueSkip));
}

#[test]
fn hints_on_nodes() {
    use QueueingHint::{Queue, QueueSkip};
    const NODE_EVENTS: usize = 1;
    let waiting = pod(&web(&[hard(1, "zone", ""), hard(1, "host", "")]));
    let node = |labels: &str| {
        let (labels, taint) = labels.split_once('+').unwrap_or((labels, ""));
        let taints =
            if taint.is_empty() { String::new() } else { format!("{{key: {taint}, effect: NoSchedule}}") };
        node_object(&format!("{{metadata: {{name: n, labels: {{{labels}}}}}, spec: {{taints: [{taints}]}}}}"))
    };
    for (what, old, new, expected) in [
        ("a node with both keys came", None, Some("zone: a, host: h"), Queue),
        ("a node with one key came", None, Some("zone: a"), QueueSkip),
        ("a node with both keys is gone", Some("zone: a, host: h"), None, Queue),
        ("a node with one key is gone", Some("zone: a"), None, QueueSkip),
        ("it got the other key", Some("zone: a"), Some("zone: a, host: h"), Queue),
        ("it lost a key", Some("zone: a, host: h"), Some("host: h"), Queue),
        ("it moved", Some("zone: a, host: h"), Some("zone: b, host: h"), Queue),
        ("it moved without the other key", Some("zone: a"), Some("zone: b"), QueueSkip),
        ("other labels", Some("zone: a, host: h"), Some("zone: a, host: h, x: y"), QueueSkip),
        ("other taints", Some("zone: a, host: h+t"), Some("zone: a, host: h+u"), Queue),
        ("other taints with one key", Some("zone: a+t"), Some("zone: a+u"), QueueSkip),
    ] {
        let (old, new) = (old.map(node), new.map(node));
        assert_eq!(
            hint(&plugin(), NODE_EVENTS, &waiting, old.as_ref(), new.as_ref()),
            Ok(expected),
            "{what}"
        );
    }
}

#[test]
fn a_pod_that_is_spread_is_not_signable_and_by_default_every_pod_is() {
    let own = plugin().sign_pod(&pod(&web(&[soft(1, "zone")])));
    assert_eq!(own, Err(Status::unschedulable("pods with topology constraints are not signable")));
    let plain = pod(&pod_with("p", "", ""));
    assert_eq!(
        plugin().sign_pod(&plain),
        Err(Status::unschedulable("pods with default topology constraints are not signable"))
    );
    let none = PodTopologySpread::new(PodTopologySpreadArgs::List(Vec::new()), &FeatureGates::default());
    assert_eq!(none.sign_pod(&plain), Ok(Vec::new()));
}
