//! How many more fit: by scheduling, so every rule counts.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use schedscope::api::objects::Pod;
use schedscope::api::{NamespacedName, Str};
use schedscope::driver::capacity::{CapacityQuestion, CapacityReport, capacity};
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::generate::{GenerateOptions, manifests};
use schedscope::driver::sandbox::simulator::Simulator;

use crate::support::world::{api_of, apply, node, pod, pod_of, sandbox};

fn count(cluster: &str, like: &str, may_preempt: bool) -> CapacityReport {
    let simulator = sandbox(&(cluster.to_owned() + like));
    let pod: Arc<Pod> = simulator.api().objects().pods[&NamespacedName::new("default", "web")].clone();
    let question = CapacityQuestion { pod, may_preempt, n_max: 50 };
    capacity(&simulator, &question, &mut |_| ControlFlow::Continue(())).unwrap()
}

#[test]
fn room_is_filled_to_the_last_place_and_what_binds_is_named() {
    // 4 + 2 cores; the pod itself takes one of six places.
    let report = count(&(node("a", "4") + &node("b", "2")), &pod("web", "1", "", ""), false);
    assert_eq!(report.n, 5);
    let reasons: Vec<(&str, usize, usize)> = report
        .reasons
        .iter()
        .map(|reason| (reason.reason.as_str(), reason.n_nodes, reason.n_alone))
        .collect();
    assert_eq!(reasons, [("Insufficient cpu", 2, 2)]);
    assert!(report.message.starts_with("0/2 nodes are available: 2 Insufficient cpu."), "{}", report.message);
    assert_eq!(report.nodes.iter().map(|node| node.n).sum::<usize>(), 5);
}

#[test]
fn constraints_bind_where_resources_do_not() {
    let anti = ", affinity: {podAntiAffinity: {requiredDuringSchedulingIgnoredDuringExecution: [{topologyKey: \
                kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}]}}";
    let nodes = node("a", "64") + &node("b", "64") + &node("c", "64");
    let report = count(&nodes, &pod("web", "1", ", labels: {app: web}", anti), false);
    assert_eq!(report.n, 2);
    assert_eq!(report.reasons[0].plugin, "InterPodAffinity");
}

#[test]
fn copies_preempt_only_if_they_may() {
    let cluster =
        node("a", "4") + &pod("low", "3", "", ", priority: 1, nodeName: a, terminationGracePeriodSeconds: 0");
    let web = pod("web", "1", "", ", priority: 10");
    let report = count(&cluster, &web, false);
    assert_eq!((report.n, report.evicted.len()), (0, 0));
    let report = count(&cluster, &web, true);
    assert_eq!(report.n, 3);
    assert_eq!(report.evicted, [NamespacedName::new("default", "low")]);
}

#[test]
fn a_count_that_is_cut_says_so() {
    let report = count(&node("a", "100"), &pod("web", "1", "", ""), false);
    assert_eq!((report.n, report.is_cut), (50, Some("as many were tried as may be")));
}

/// Copies that are applied as manifests, one after the other, each let come to rest with all evidence kept.
fn one_by_one(simulator: &Simulator, like: &dyn Fn(usize) -> String) -> BTreeMap<Str, usize> {
    let mut simulator = simulator.clone();
    run_to_rest(&mut simulator);
    let mut by_node: BTreeMap<Str, usize> = BTreeMap::new();
    for number in 1.. {
        apply(&mut simulator, &like(number));
        run_to_rest(&mut simulator);
        let pod = pod_of(&simulator, &format!("web-{number}")).unwrap();
        if !pod.is_assigned() {
            break;
        }
        *by_node.entry(pod.spec.node_name.clone()).or_default() += 1;
    }
    by_node
}

#[test]
fn copies_get_the_places_that_they_get_one_by_one() {
    let spread = ", topologySpreadConstraints: [{maxSkew: 2, topologyKey: topology.kubernetes.io/zone, \
                  whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: web}}}]";
    for (seed, spec) in [(1, ""), (2, ""), (3, spread)] {
        let options = GenerateOptions { nodes: 8, pods: 60, pending: 0, seed, ..GenerateOptions::default() };
        let simulator = sandbox(&manifests(&options).concat());
        let text =
            |name: &str| pod(name, "2", ", labels: {app: web}", &format!(", preemptionPolicy: Never{spec}"));
        let expected = one_by_one(&simulator, &|number| text(&format!("web-{number}")));
        let pod = api_of(&text("web")).objects().pods[&NamespacedName::new("default", "web")].clone();
        let question = CapacityQuestion { pod, may_preempt: false, n_max: 1_000 };
        let report = capacity(&simulator, &question, &mut |_| ControlFlow::Continue(())).unwrap();
        let nodes = report.nodes.iter().filter(|node| node.n > 0);
        let by_node: BTreeMap<Str, usize> = nodes.map(|node| (node.node.clone(), node.n)).collect();
        assert!(expected.len() > 2, "the test means nothing");
        assert_eq!((report.n, by_node), (expected.values().sum(), expected), "seed {seed}");
    }
}
