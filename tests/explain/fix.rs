//! Fixes: what is proposed is right, and every one of them holds on a fresh copy.

use std::ops::ControlFlow;

use proptest::prelude::*;
use schedscope::api::{NamespacedName, Str};
use schedscope::driver::fix::{ChangeKind, FixError, FixQuestion, FixReport, find};
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;

use crate::support::world::{node, node_of, pod, sandbox};

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

fn look(simulator: &Simulator, question: &FixQuestion) -> FixReport {
    let report = find(simulator, question, &mut |_| ControlFlow::Continue(())).unwrap();
    for fix in &report.fixes {
        holds(simulator, question, &fix.edit(), &fix.node);
    }
    report
}

/// The changes let the pod run on a fresh copy.
fn holds(simulator: &Simulator, question: &FixQuestion, edit: &Edit, node: &str) {
    let mut copy = simulator.clone();
    copy.edit(edit).unwrap_or_else(|error| panic!("{edit:?}: {error}"));
    run_to_rest(&mut copy);
    assert_eq!(node_of(&copy, &question.pod.name), node, "{edit:?}");
}

fn fixes(manifest: &str) -> Vec<(String, String)> {
    let simulator = sandbox(manifest);
    let report = look(&simulator, &FixQuestion::any(key("web")));
    report.fixes.iter().map(|fix| (fix.title(), fix.node.to_string())).collect()
}

fn titles(manifest: &str) -> Vec<String> {
    fixes(manifest).into_iter().map(|(title, _)| title).collect()
}

fn with_spec(name: &str, labels: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}{labels}}}}}\n\
         spec: {{{spec}}}\nstatus: {{allocatable: {{cpu: '4', memory: 64Gi, pods: '110'}}}}\n---\n"
    )
}

#[test]
fn a_toleration_is_the_cheapest_way_onto_a_tainted_node() {
    let tainted = with_spec("n1", "", "taints: [{key: gpu, value: 'yes', effect: NoSchedule}]");
    let found = titles(&(tainted + &pod("web", "1", "", "")));
    assert_eq!(found[0], "tolerate gpu=yes:NoSchedule");
    assert!(found.contains(&"take gpu=yes:NoSchedule from n1".to_owned()), "{found:?}");
}

#[test]
fn a_cordoned_node_is_uncordoned() {
    let cordoned = with_spec("n1", "", "unschedulable: true");
    assert_eq!(titles(&(cordoned + &pod("web", "1", "", "")))[0], "uncordon n1");
}

#[test]
fn a_request_is_lowered_by_what_is_missing() {
    let manifest = node("n1", "4") + &pod("other", "2", "", ", nodeName: n1") + &pod("web", "2500m", "", "");
    let found = titles(&manifest);
    assert!(found.contains(&"request less: cpu from 2500m to 2".to_owned()), "{found:?}");
    assert!(found.contains(&"evict default/other from n1".to_owned()), "{found:?}");
    assert!(found.contains(&"add a node like n1 (n1-copy)".to_owned()), "{found:?}");
}

#[test]
fn others_make_room_for_a_higher_priority() {
    let manifest =
        node("n1", "2") + &pod("other", "2", "", ", priority: 5, nodeName: n1") + &pod("web", "2", "", "");
    let simulator = sandbox(&manifest);
    let report = look(&simulator, &FixQuestion::any(key("web")));
    let raised = report.fixes.iter().find(|fix| fix.changes[0].kind == ChangeKind::RaisePriority).unwrap();
    assert_eq!(raised.title(), "raise the priority from 0 to 6 (with a new PriorityClass)");
    assert_eq!(raised.effects.evicted, [key("other")]);
}

#[test]
fn a_class_whose_pods_may_not_preempt_is_no_way_to_make_room() {
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: batch}\nvalue: 10\n\
                 preemptionPolicy: Never\n---\n";
    let manifest = class.to_owned()
        + &node("n1", "2")
        + &pod("other", "2", "", ", priority: 5, nodeName: n1")
        + &pod("web", "2", "", "");
    let report = look(&sandbox(&manifest), &FixQuestion::any(key("web")));
    let raised = report.fixes.iter().find(|fix| fix.changes[0].kind == ChangeKind::RaisePriority).unwrap();
    assert_eq!(raised.title(), "raise the priority from 0 to 6 (with a new PriorityClass)");
}

#[test]
fn a_node_is_given_the_label_that_the_selector_wants() {
    let manifest = node("n1", "4") + &pod("web", "1", "", ", nodeSelector: {disk: nvme}");
    let found = titles(&manifest);
    assert_eq!(found[..2], ["label n1 with disk=nvme", "drop disk=nvme from the node selector"]);
}

#[test]
fn gates_go_first_and_what_stops_the_pod_then_goes_too() {
    let tainted = with_spec("n1", "", "taints: [{key: gpu, effect: NoSchedule}]");
    let found = titles(&(tainted + &pod("web", "1", "", ", schedulingGates: [{name: wait}]")));
    assert_eq!(found[0], "remove the scheduling gate wait + tolerate gpu:NoSchedule");
}

#[test]
fn two_and_three_changes_are_put_together_where_one_does_not_do() {
    let far = with_spec("n1", "", "unschedulable: true, taints: [{key: gpu, effect: NoSchedule}]");
    let manifest = far + &pod("web", "1", "", ", nodeSelector: {disk: nvme}");
    let found = titles(&manifest);
    assert_eq!(found[0], "uncordon n1 + tolerate gpu:NoSchedule + label n1 with disk=nvme", "{found:?}");
}

#[test]
fn spread_and_anti_affinity_are_relaxed() {
    let labels = ", labels: {app: web}";
    let spread = ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: \
                  DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]";
    let full = "apiVersion: v1\nkind: Node\nmetadata: {name: m, labels: {kubernetes.io/hostname: m}}\n\
                status: {allocatable: {cpu: '0', memory: 64Gi, pods: '110'}}\n---\n";
    let manifest = node("n1", "4")
        + full
        + &pod("first", "1", labels, ", nodeName: n1")
        + &pod("web", "1", labels, spread);
    let found = titles(&manifest);
    assert!(
        found.contains(&"allow more skew: maxSkew of kubernetes.io/hostname to 2".to_owned()),
        "{found:?}"
    );
    let anti = ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}";
    let manifest =
        node("n1", "4") + &pod("first", "1", labels, ", nodeName: n1") + &pod("web", "1", labels, anti);
    let found = titles(&manifest);
    assert_eq!(found[0], "drop the required pod anti-affinity");
    assert!(found.contains(&"evict default/first from n1".to_owned()), "{found:?}");
    assert!(found.contains(&"add a node like n1 (n1-copy)".to_owned()), "{found:?}");
}

#[test]
fn a_pod_gets_onto_the_node_that_is_wanted() {
    let manifest = node("a", "4") + &node("b", "2") + &pod("web", "1", "", "");
    let simulator = sandbox(&manifest);
    let question = FixQuestion { onto: Some(Str::from("b")), ..FixQuestion::any(key("web")) };
    let report = look(&simulator, &question);
    assert!(report.fixes.iter().all(|fix| &*fix.node == "b"));
    assert_eq!(report.fixes[0].title(), "tie the pod to b");
}

#[test]
fn what_needs_no_fix_and_what_has_none_is_said() {
    let simulator = sandbox(&(node("n1", "4") + &pod("web", "1", "", "")));
    let report = look(&simulator, &FixQuestion::any(key("web")));
    assert_eq!(report.is_fine_on.as_deref(), Some("n1"));
    // An extended resource that no node has: less than the whole of it cannot be asked for.
    let manifest = node("n1", "4")
        + "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i, resources: \
           {requests: {example.com/tpu: '1'}, limits: {example.com/tpu: '1'}}}]}\n---\n";
    let report = look(&sandbox(&manifest), &FixQuestion::any(key("web")));
    assert_eq!((report.fixes.len(), report.is_fine_on), (0, None));
    assert!(report.message.contains("1 Insufficient example.com/tpu"), "{}", report.message);
    assert_eq!(report.too_large, ["It asks for example.com/tpu 1, and no node has any"]);
    assert_eq!(report.unanswered, [("NodeResourcesFit: Insufficient example.com/tpu".to_owned(), 1)]);
    let manifest = node("n1", "4") + &node("n2", "8") + &pod("web", "500", "", "");
    let report = look(&sandbox(&manifest), &FixQuestion::any(key("web")));
    assert_eq!((report.fixes.len(), report.tried.len()), (0, 0));
    assert_eq!(report.too_large, ["It asks for cpu 500, and no node has more than 8"]);
    assert_eq!(report.unanswered, [("NodeResourcesFit: Insufficient cpu".to_owned(), 2)]);
    let lost = find(&simulator, &FixQuestion::any(key("wep")), &mut |_| ControlFlow::Continue(()));
    assert_eq!(lost, Err(FixError::NoPod(key("wep"))));
}

#[test]
fn a_search_that_is_ended_keeps_what_is_proven() {
    let manifest = node("n1", "4") + &pod("other", "2", "", ", nodeName: n1") + &pod("web", "2500m", "", "");
    let simulator = sandbox(&manifest);
    let report = find(&simulator, &FixQuestion::any(key("web")), &mut |progress| {
        if progress.n_proven > 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .unwrap();
    assert_eq!(report.fixes.len(), 1);
    assert_eq!(report.cut, Some("the time was over"));
    let bounded = FixQuestion { n_runs_max: 1, ..FixQuestion::any(key("web")) };
    let report = look(&simulator, &bounded);
    assert_eq!((report.fixes.len(), report.cut), (0, Some("the number of runs was over")));
}

#[test]
fn a_search_without_time_says_what_it_would_have_tried() {
    let manifest = node("n1", "4") + &pod("other", "2", "", ", nodeName: n1") + &pod("web", "2500m", "", "");
    let question = FixQuestion::any(key("web"));
    let report = find(&sandbox(&manifest), &question, &mut |_| ControlFlow::Break(())).unwrap();
    assert_eq!((report.fixes.len(), report.is_fine_on.as_ref()), (0, None));
    assert!(report.message.starts_with("0/1 nodes are available: 1 Insufficient cpu."), "{}", report.message);
    assert!(report.tried.contains(&("lowerRequests".to_owned(), 1)), "{:?}", report.tried);
    let said = report.not_found().concat();
    assert!(said.contains("the time was over before the other pods that wait had come to rest"), "{said}");
}

#[test]
fn kubectl_lines_fit_the_owner_of_the_pod() {
    let tainted = with_spec("n1", "", "taints: [{key: gpu, effect: NoSchedule}]");
    let owned = ", labels: {pod-template-hash: 6c9f}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: \
                 web-6c9f, uid: u, controller: true}]";
    let admitted = ", nodeSelector: {disk: nvme}, tolerations: [{key: node.kubernetes.io/not-ready, operator: Exists, \
                    effect: NoExecute, tolerationSeconds: 300}, {key: node.kubernetes.io/unreachable, operator: \
                    Exists, effect: NoExecute, tolerationSeconds: 300}]";
    let template = "kubectl --context c patch deployment web -n default --type=json -p '[{\"op\":\"add\",\"path\":\
                    \"/spec/template/spec/tolerations\",\"value\":[{\"key\":\"gpu\",\"operator\":\"Exists\",\"effect\":\
                    \"NoSchedule\"}]},{\"op\":\"remove\",\"path\":\"/spec/template/spec/nodeSelector\"}]'";
    for (metadata, spec, expected) in [
        (
            "",
            "",
            "kubectl --context c patch pod web -n default --type=json -p '[{\"op\":\"add\",\"path\":\"/spec/tolerations\",\
             \"value\":[{\"key\":\"gpu\",\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]}]'",
        ),
        (owned, ", nodeSelector: {disk: nvme}", template),
        // The template has no tolerations, whatever the pod has.
        (owned, admitted, template),
    ] {
        let simulator = sandbox(&(tainted.clone() + &pod("web", "1", metadata, spec)));
        let report = look(&simulator, &FixQuestion { n_wanted: 20, ..FixQuestion::any(key("web")) });
        let object = simulator.scheduler().objects().pods[&key("web")].clone();
        let lines: Vec<String> =
            report.fixes.iter().flat_map(|fix| fix.commands(&object, "kubectl --context c")).collect();
        assert!(lines.iter().any(|line| line == expected), "{lines:#?}");
    }
}

#[test]
fn several_changes_are_made_all_or_none() {
    let mut simulator = sandbox(&(node("n1", "4") + &pod("web", "1", "", "")));
    let edits = vec![Edit::Cordon("n1".into()), Edit::Uncordon("lost".into())];
    let error = simulator.edit(&Edit::Several { what: "both".into(), edits });
    assert!(error.is_err());
    assert!(!simulator.api().objects().nodes.values().any(|node| node.spec.unschedulable));
}

/// A node of a generated cluster.
fn any_node(name: usize) -> impl Strategy<Value = String> {
    let taint = prop_oneof![3 => Just(""), 1 => Just("taints: [{key: gpu, value: x, effect: NoSchedule}]"),
        1 => Just("unschedulable: true")];
    (1..5u32, taint, prop_oneof![Just(""), Just(", disk: nvme"), Just(", disk: hdd")], 0..3usize, 0..2u32).prop_map(
        move |(cpu, spec, label, n_pods, zone)| {
            let mut text = format!(
                "apiVersion: v1\nkind: Node\nmetadata: {{name: n{name}, labels: {{kubernetes.io/hostname: n{name}, zone: \
                 z{zone}{label}}}}}\nspec: {{{spec}}}\nstatus: {{allocatable: {{cpu: '{cpu}', memory: 8Gi, pods: \
                 '4'}}}}\n---\n"
            );
            for i in 0..n_pods {
                let spec = format!(", nodeName: n{name}, priority: {i}, terminationGracePeriodSeconds: 0");
                text += &pod(&format!("p{name}-{i}"), "700m", ", labels: {app: web}", &spec);
            }
            text
        },
    )
}

fn any_pod() -> impl Strategy<Value = String> {
    let rules = prop::sample::subsequence(
        vec![
            ", nodeSelector: {disk: nvme}",
            ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
             kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}",
            ", topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, \
             labelSelector: {matchLabels: {app: web}}}]",
            ", schedulingGates: [{name: wait}]",
            ", priority: 1",
        ],
        0..4,
    );
    (prop_oneof![Just("500m"), Just("2"), Just("4500m")], rules)
        .prop_map(|(cpu, rules)| pod("web", cpu, ", labels: {app: web}", &rules.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn applying_a_proposed_fix_to_a_fresh_copy_makes_the_pod_fit(
        nodes in (1..5usize).prop_flat_map(|n| (0..n).map(any_node).collect::<Vec<_>>()),
        web in any_pod(),
    ) {
        let simulator = sandbox(&(nodes.concat() + &web));
        let question = FixQuestion { n_wanted: 4, n_runs_max: 12, ..FixQuestion::any(key("web")) };
        // Each fix is applied there.
        let report = look(&simulator, &question);
        prop_assert!(report.fixes.windows(2).all(|pair| pair[0].cost <= pair[1].cost));
    }
}

#[test]
fn of_affinity_only_what_stands_before_it_is_dropped() {
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    let zones = format!(
        ", affinity: {{nodeAffinity: {{{required}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: zone, operator: In, \
         values: [a]}}, {{key: disk, operator: In, values: [ssd]}}]}}]}}}}}}"
    );
    let found = titles(&(with_spec("n1", ", zone: a, disk: hdd", "") + &pod("web", "1", "", &zones)));
    assert!(found.contains(&"drop disk In [ssd] from the required node affinity".to_owned()), "{found:?}");
    let at = |title: &str| found.iter().position(|other| other == title);
    assert!(
        at("drop disk In [ssd] from the required node affinity") < at("drop the required node affinity")
            || at("drop the required node affinity").is_none(),
        "{found:?}"
    );
    let term = |app: &str, key: &str| {
        format!("{{topologyKey: {key}, labelSelector: {{matchLabels: {{app: {app}}}}}}}")
    };
    let (near, far) = (term("db", "zone"), term("web", "kubernetes.io/hostname"));
    let anti = format!(", affinity: {{podAntiAffinity: {{{required}: [{near}, {far}]}}}}");
    let nodes = with_spec("n1", ", zone: a", "");
    let db = pod("first", "1", ", labels: {app: db}", ", nodeName: n1");
    let found = titles(&(nodes.clone() + &db + &pod("web", "1", ", labels: {app: web}", &anti)));
    assert_eq!(found[0], "drop term 1 (over zone) of the required pod anti-affinity", "{found:?}");
    let other = term("cache", "zone");
    let affinity = format!(", affinity: {{podAffinity: {{{required}: [{near}, {other}]}}}}");
    let found = titles(&(nodes + &db + &pod("web", "1", "", &affinity)));
    assert_eq!(found[0], "drop term 2 (over zone) of the required pod affinity", "{found:?}");
}
