//! The rules by example; verdicts and scores are those of kube-scheduler v1.36.3.

use super::super::fixtures::{hint, node_object, pod, pod_info, pod_object, world};
use super::InterPodAffinity;
use crate::api::Object;
use crate::api::objects::Namespace;
use crate::config::topology_args::InterPodAffinityArgs;
use crate::framework::testing::TestWorld;
use crate::framework::{
    CycleState, FilterPlugin, NodeScore, PreFilterExtensions, PreFilterPlugin, PreScorePlugin, QueueingHint,
    ScoreExtensions, ScorePlugin, SignPlugin, Status,
};

const NODES: [&str; 4] = [
    "{metadata: {name: a1, labels: {zone: a, host: a1}}}",
    "{metadata: {name: a2, labels: {zone: a, host: a2}}}",
    "{metadata: {name: b1, labels: {zone: b, host: b1}}}",
    "{metadata: {name: bare}}",
];

/// Label selectors.
const WEB: &str = "{matchLabels: {app: web}}";
const DB: &str = "{matchLabels: {app: db}}";

fn plugin() -> InterPodAffinity {
    InterPodAffinity::new(InterPodAffinityArgs::default())
}

fn pod_in(namespace: &str, name: &str, labels: &str, spec: &str) -> String {
    format!("{{metadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}, spec: {{{spec}}}}}")
}

fn pod_with(name: &str, labels: &str, spec: &str) -> String {
    pod_in("default", name, labels, spec)
}

/// A pod of the web on a node.
fn web(name: &str, node: &str) -> String {
    pod_with(name, "app: web", &format!("nodeName: {node}"))
}

fn term(key: &str, selector: &str, rest: &str) -> String {
    format!("{{topologyKey: {key}, labelSelector: {selector}{rest}}}")
}

fn required(kind: &str, terms: &[String]) -> String {
    format!(
        "affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{}]}}}}",
        terms.join(", ")
    )
}

fn preferred(kind: &str, terms: &[(i32, String)]) -> String {
    let terms: Vec<String> =
        terms.iter().map(|(weight, term)| format!("{{weight: {weight}, podAffinityTerm: {term}}}")).collect();
    format!(
        "affinity: {{{kind}: {{preferredDuringSchedulingIgnoredDuringExecution: [{}]}}}}",
        terms.join(", ")
    )
}

/// The four nodes with these pods, and a namespace `other` of team x.
fn cluster(pods: &[String]) -> TestWorld {
    let pods: Vec<&str> = pods.iter().map(String::as_str).collect();
    let mut world = world(&NODES, &pods);
    let mut namespace = Namespace::default();
    namespace.metadata.name = "other".into();
    namespace.metadata.labels.insert("team".into(), "x".into());
    world.objects.insert(Object::from(namespace));
    world
}

fn letter(status: &Status) -> char {
    match status.reasons().first().map(String::as_str) {
        None => '.',
        Some("node(s) didn't match pod affinity rules") => 'A',
        Some("node(s) didn't match pod anti-affinity rules") => 'N',
        Some("node(s) didn't satisfy existing pods anti-affinity rules") => 'E',
        Some(_) => '?',
    }
}

/// The verdict on each node as a letter, or `skip`, or what PreFilter refuses with.
fn verdicts(pod: &str, pods: &[String]) -> String {
    let (world, pod, mut state) = (cluster(pods), pod_info(pod), CycleState::new());
    let handle = world.handle();
    let nodes = world.snapshot.list();
    let (_, status) = plugin().pre_filter(&handle, &mut state, &pod, nodes);
    match status {
        status if status.is_skip() => "skip".to_owned(),
        status if !status.is_success() => status.message(),
        _ => nodes.iter().map(|node| letter(&plugin().filter(&handle, &state, &pod, node))).collect(),
    }
}

#[test]
fn required_affinity_wants_a_matching_pod_in_the_domain() {
    let wants = |terms: &[String]| pod_with("p", "", &required("podAffinity", terms));
    let (zone, host) = (|selector| term("zone", selector, ""), |selector| term("host", selector, ""));
    let there = [web("w", "a1")];
    assert_eq!(verdicts(&wants(&[zone(WEB)]), &there), "..AA", "any node of the zone will do");
    assert_eq!(verdicts(&wants(&[host(WEB)]), &there), ".AAA");
    assert_eq!(verdicts(&wants(&[zone(DB)]), &there), "AAAA");
    // One pod must match all terms; a web pod and a database side by side do not.
    let both = [web("w", "a1"), pod_with("d", "app: db", "nodeName: a1")];
    assert_eq!(verdicts(&wants(&[zone(WEB), zone(DB)]), &both), "AAAA");
    // An absent selector matches no pod; matchLabelKeys are the API server's affair.
    assert_eq!(verdicts(&wants(&["{topologyKey: zone}".to_owned()]), &there), "AAAA");
    let keyed =
        pod_with("p", "v: 1", &required("podAffinity", &[term("zone", WEB, ", matchLabelKeys: [v]")]));
    assert_eq!(verdicts(&keyed, &there), "..AA");
}

#[test]
fn the_first_of_a_group_may_begin_anywhere_in_the_topology() {
    let wants = |labels| pod_with("p", labels, &required("podAffinity", &[term("zone", WEB, "")]));
    assert_eq!(verdicts(&wants("app: web"), &[]), "...A", "only where the key is");
    assert_eq!(verdicts(&wants("app: db"), &[]), "AAAA", "the pod does not match its own term");
    assert_eq!(verdicts(&wants("app: web"), &[web("w", "a1")]), "..AA", "it is not the first");
    assert_eq!(verdicts(&wants("app: web"), &[web("w", "bare")]), "...A", "that one is in no zone");
}

#[test]
fn terms_speak_of_their_pods_namespace_of_named_ones_or_of_selected_ones() {
    let there = [pod_in("other", "w", "app: web", "nodeName: a1")];
    let wants = |rest: &str| {
        verdicts(&pod_with("p", "", &required("podAffinity", &[term("zone", WEB, rest)])), &there)
    };
    assert_eq!(wants(""), "AAAA");
    assert_eq!(wants(", namespaces: [other]"), "..AA");
    assert_eq!(wants(", namespaceSelector: {matchLabels: {team: x}}"), "..AA");
    assert_eq!(wants(", namespaceSelector: {matchLabels: {team: y}}"), "AAAA");
    assert_eq!(wants(", namespaceSelector: {}"), "..AA");
    // What no selected namespace has said: a selector that wants a label absent matches every namespace.
    let absent = ", namespaceSelector: {matchExpressions: [{key: team, operator: DoesNotExist}]}";
    assert_eq!(wants(absent), "..AA");
}

#[test]
fn required_anti_affinity_wants_no_matching_pod_in_the_domain() {
    let avoids = |terms: &[String]| pod_with("p", "", &required("podAntiAffinity", terms));
    let there = [web("w", "a1"), pod_with("d", "app: db", "nodeName: b1")];
    assert_eq!(verdicts(&avoids(&[term("zone", WEB, "")]), &there), "NN..");
    assert_eq!(verdicts(&avoids(&[term("host", WEB, "")]), &there), "N...");
    // Each term counts by itself.
    assert_eq!(verdicts(&avoids(&[term("host", WEB, ""), term("host", DB, "")]), &there), "N.N.");
    // A terminating pod is still there.
    let leaving = web("w", "a1").replace("name: w,", "name: w, deletionTimestamp: '2026-01-01T00:00:30Z',");
    assert_eq!(verdicts(&avoids(&[term("zone", WEB, "")]), &[leaving]), "NN..");
}

#[test]
fn a_pod_that_is_there_keeps_others_off_by_its_own_anti_affinity() {
    let shy = |rest: &str| {
        let terms = [term("zone", DB, rest)];
        pod_with("w", "app: web", &format!("nodeName: a1, {}", required("podAntiAffinity", &terms)))
    };
    assert_eq!(verdicts(&pod_with("p", "app: db", ""), &[shy("")]), "EE..");
    assert_eq!(verdicts(&pod_with("p", "app: web", ""), &[shy("")]), "skip", "no term is about this pod");
    // The labels of the new pod's namespace are looked at.
    let newcomer = pod_in("other", "p", "app: db", "");
    assert_eq!(verdicts(&newcomer, &[shy("")]), "skip");
    assert_eq!(verdicts(&newcomer, &[shy(", namespaceSelector: {matchLabels: {team: x}}")]), "EE..");
}

#[test]
fn a_term_that_cannot_be_parsed_ends_the_attempt() {
    let selector = "{matchExpressions: [{key: app, operator: Near}]}";
    let wants = pod_with("p", "", &required("podAffinity", &[term("zone", selector, "")]));
    assert_eq!(
        verdicts(&wants, &[]),
        "parsing pod: requiredAffinityTerms: \"Near\" is not a valid label selector operator"
    );
}

/// Taking a pod off or putting one on in thought gives what a cluster without or with it gives.
#[test]
fn dry_runs_follow_the_pods() {
    let specs = [
        required("podAffinity", &[term("zone", WEB, "")]),
        required("podAntiAffinity", &[term("host", WEB, ""), term("zone", DB, "")]),
        String::new(),
    ];
    let shy = required("podAntiAffinity", &[term("host", WEB, "")]);
    let moved = pod_with("m", "app: web", &format!("nodeName: a2, {shy}"));
    let others = [web("w", "b1"), pod_with("d", "app: db", &format!("nodeName: a1, {shy}"))];
    for spec in specs {
        let incoming = pod_with("p", "app: web", &spec);
        let all: Vec<String> = others.iter().cloned().chain([moved.clone()]).collect();
        for (start, goal, is_added) in [(&others[..], &all[..], true), (&all[..], &others[..], false)] {
            let (world, pod, mut state) = (cluster(start), pod_info(&incoming), CycleState::new());
            let (handle, nodes) = (world.handle(), world.snapshot.list());
            let (_, status) = plugin().pre_filter(&handle, &mut state, &pod, nodes);
            assert!(status.is_success(), "{incoming}");
            let untouched = state.clone();
            let before: String =
                nodes.iter().map(|node| letter(&plugin().filter(&handle, &untouched, &pod, node))).collect();
            let changed = pod_info(&moved);
            let status = if is_added {
                plugin().add_pod(&handle, &mut state, &pod, &changed, &nodes[1])
            } else {
                plugin().remove_pod(&handle, &mut state, &pod, &changed, &nodes[1])
            };
            assert!(status.is_success());
            let after: String =
                nodes.iter().map(|node| letter(&plugin().filter(&handle, &state, &pod, node))).collect();
            assert_eq!(after, verdicts(&incoming, goal), "{incoming}");
            let same: String =
                nodes.iter().map(|node| letter(&plugin().filter(&handle, &untouched, &pod, node))).collect();
            assert_eq!(same, before, "the copy of the state stays as it was");
        }
    }
}

/// Raw and normalized score by node, or nothing where the plugin is skipped.
fn scores(args: InterPodAffinityArgs, pod: &str, pods: &[String]) -> Option<Vec<(i64, i64)>> {
    let plugin = InterPodAffinity::new(args);
    let (world, pod, mut state) = (cluster(pods), pod_info(pod), CycleState::new());
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

#[test]
fn preferences_add_up_for_each_pod_in_the_domain() {
    let score = |spec: &str, pods: &[String]| {
        scores(InterPodAffinityArgs::default(), &pod_with("p", "", spec), pods).unwrap_or_default()
    };
    let near = |terms: &[(i32, String)]| preferred("podAffinity", terms);
    let (zone, host) = (term("zone", WEB, ""), term("host", WEB, ""));
    let there = [web("w", "a1")];
    assert_eq!(score(&near(&[(10, zone.clone())]), &there), [(10, 100), (10, 100), (0, 0), (0, 0)]);
    let away = preferred("podAntiAffinity", &[(10, zone.clone())]);
    assert_eq!(score(&away, &there), [(-10, 0), (-10, 0), (0, 100), (0, 100)]);
    let three = [web("w", "a1"), web("w2", "a2"), web("w3", "b1")];
    assert_eq!(score(&near(&[(3, zone.clone())]), &three), [(6, 100), (6, 100), (3, 50), (0, 0)]);
    let with_db = [web("w", "a1"), pod_with("d", "app: db", "nodeName: b1")];
    let mixed = near(&[(10, zone), (5, host), (7, term("zone", DB, ""))]);
    assert_eq!(score(&mixed, &with_db), [(15, 100), (10, 66), (7, 46), (0, 0)]);
}

#[test]
fn what_the_pods_that_are_there_prefer_counts_too() {
    let db = pod_with("p", "app: db", "");
    let defaults = InterPodAffinityArgs::default();
    let host = |spec: String| [pod_with("w", "app: web", &format!("nodeName: a1, {spec}"))];
    let likes = host(preferred("podAffinity", &[(20, term("zone", DB, ""))]));
    assert_eq!(scores(defaults, &db, &likes), Some(vec![(20, 100), (20, 100), (0, 0), (0, 0)]));
    let dislikes = host(preferred("podAntiAffinity", &[(20, term("host", DB, ""))]));
    assert_eq!(scores(defaults, &db, &dislikes), Some(vec![(-20, 0), (0, 100), (0, 100), (0, 100)]));
    // What they require is a preference of its own weight.
    let needs = host(required("podAffinity", &[term("zone", DB, "")]));
    let weighing = |weight| InterPodAffinityArgs { hard_pod_affinity_weight: weight, ..defaults };
    assert_eq!(scores(defaults, &db, &needs), Some(vec![(1, 100), (1, 100), (0, 0), (0, 0)]));
    assert_eq!(scores(weighing(50), &db, &needs), Some(vec![(50, 100), (50, 100), (0, 0), (0, 0)]));
    assert_eq!(scores(weighing(0), &db, &needs), None);
    // Unless they are to be ignored for pods that prefer nothing themselves.
    let ignoring = InterPodAffinityArgs { ignore_preferred_terms_of_existing_pods: true, ..defaults };
    assert_eq!(scores(ignoring, &db, &likes), None);
    let choosy = pod_with("p", "app: db", &preferred("podAffinity", &[(1, term("host", WEB, ""))]));
    assert_eq!(scores(ignoring, &choosy, &likes), Some(vec![(21, 100), (20, 95), (0, 0), (0, 0)]));
}

#[test]
fn scoring_is_skipped_only_where_no_term_counts_anywhere() {
    let defaults = InterPodAffinityArgs::default();
    assert_eq!(scores(defaults, &pod_with("p", "app: db", ""), &[web("w", "a1")]), None);
    // Terms that cancel each other out count.
    let torn = format!(
        "affinity: {{podAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: [{{weight: 10, \
         podAffinityTerm: {zone}}}]}}, podAntiAffinity: {{preferredDuringSchedulingIgnoredDuringExecution: \
         [{{weight: 10, podAffinityTerm: {zone}}}]}}}}",
        zone = term("zone", WEB, "")
    );
    assert_eq!(scores(defaults, &pod_with("p", "", &torn), &[web("w", "a1")]), Some(vec![(0, 0); 4]));
}

#[test]
fn hints_on_pods() {
    use QueueingHint::{Queue, QueueSkip};
    const POD_EVENTS: usize = 0;
    let other = |labels: &str, spec: &str| pod_object(&pod_with("other", labels, spec));
    let near = pod(&pod_with(
        "p",
        "",
        &required(
            "podAffinity",
            &[term("zone", WEB, ""), term("zone", "{matchExpressions: [{key: v, operator: Exists}]}", "")],
        ),
    ));
    let away = pod(&pod_with("p", "app: db", &required("podAntiAffinity", &[term("zone", WEB, "")])));
    let (on_node, matching) = ("nodeName: n", "app: web, v: 1");
    let shy =
        |selector| format!("nodeName: n, {}", required("podAntiAffinity", &[term("zone", selector, "")]));
    for (what, waiting, old, new, expected) in [
        ("a pod came that matches all affinity terms", &near, None, Some(other(matching, on_node)), Queue),
        ("a pod came that matches one of two", &near, None, Some(other("app: web", on_node)), QueueSkip),
        ("a pod came that waits itself", &near, None, Some(other(matching, "")), QueueSkip),
        (
            "a pod came to match",
            &near,
            Some(other("app: web", on_node)),
            Some(other(matching, on_node)),
            Queue,
        ),
        ("a pod ceased to match", &near, Some(other(matching, on_node)), Some(other("", on_node)), QueueSkip),
        // The pod of the domain that affinity waited for is not looked at when it goes.
        ("a pod that matched is gone", &near, Some(other(matching, on_node)), None, QueueSkip),
        ("a disliked pod is gone", &away, Some(other("app: web", on_node)), None, Queue),
        ("another pod is gone", &away, Some(other("app: mail", on_node)), None, QueueSkip),
        ("a pod that disliked this one is gone", &away, Some(other("", &shy(DB))), None, Queue),
        (
            "a pod that disliked others is gone",
            &away,
            Some(other("", &shy("{matchLabels: {app: mail}}"))),
            None,
            QueueSkip,
        ),
        ("a disliked pod changed", &away, Some(other("app: web", on_node)), Some(other("", on_node)), Queue),
        (
            "a pod came to be disliked",
            &away,
            Some(other("", on_node)),
            Some(other("app: web", on_node)),
            QueueSkip,
        ),
    ] {
        assert_eq!(hint(&plugin(), POD_EVENTS, waiting, old.as_ref(), new.as_ref()), Ok(expected), "{what}");
    }
    let own = |labels| pod_object(&pod_with("p", labels, ""));
    let (before, after) = (own("app: db"), own("app: mail"));
    assert_eq!(hint(&plugin(), POD_EVENTS, &away, Some(&before), Some(&after)), Ok(Queue), "its own labels");
    let nominated = pod_object(
        "{metadata: {name: other, namespace: default, labels: {app: web}}, status: {nominatedNodeName: n}}",
    );
    assert_eq!(hint(&plugin(), POD_EVENTS, &away, Some(&nominated), None), Ok(Queue), "a nominated pod");
}

#[test]
fn hints_on_nodes() {
    use QueueingHint::{Queue, QueueSkip};
    const NODE_EVENTS: usize = 1;
    let near = pod(&pod_with("p", "", &required("podAffinity", &[term("zone", WEB, "")])));
    let away = pod(&pod_with("p", "", &required("podAntiAffinity", &[term("zone", WEB, "")])));
    let node = |labels: &str| node_object(&format!("{{metadata: {{name: n, labels: {{{labels}}}}}}}"));
    for (what, waiting, old, new, expected) in [
        ("a node with the key", &near, None, "zone: a", Queue),
        ("a node without it", &near, None, "", QueueSkip),
        ("other labels", &near, Some("zone: a"), "zone: a, x: y", QueueSkip),
        ("another domain", &near, Some("zone: a"), "zone: b", Queue),
        ("a domain at last", &near, Some(""), "zone: a", Queue),
        ("no domain any more", &near, Some("zone: a"), "", QueueSkip),
        ("a node with the key", &away, None, "zone: a", Queue),
        ("a node without it", &away, None, "", Queue),
        ("other labels", &away, Some("zone: a"), "zone: a, x: y", QueueSkip),
        ("another domain", &away, Some("zone: a"), "zone: b", Queue),
        ("a domain at last", &away, Some(""), "zone: a", QueueSkip),
        ("no domain any more", &away, Some("zone: a"), "", Queue),
    ] {
        let old = old.map(node);
        assert_eq!(
            hint(&plugin(), NODE_EVENTS, waiting, old.as_ref(), Some(&node(new))),
            Ok(expected),
            "{what}"
        );
    }
}

#[test]
fn pods_with_affinity_are_not_signable_and_others_are_signed_by_their_labels() {
    let sign = |plugin: &InterPodAffinity, yaml: &str| plugin.sign_pod(&pod(yaml));
    let plain = pod_with("p", "app: web", "");
    let signed = sign(&plugin(), &plain).unwrap_or_default();
    assert_eq!(signed.len(), 1);
    assert_eq!((signed[0].key, signed[0].value.as_str()), ("v1.Pod.Labels", "{\"app\":\"web\"}"));
    let ignoring = InterPodAffinity::new(InterPodAffinityArgs {
        ignore_preferred_terms_of_existing_pods: true,
        ..InterPodAffinityArgs::default()
    });
    assert_eq!(sign(&ignoring, &plain), Ok(Vec::new()));
    assert_eq!(
        sign(&plugin(), &pod_with("p", "", "affinity: {podAffinity: {}}")),
        Err(Status::unschedulable("pods with InterPodAffinity are not signable"))
    );
}
