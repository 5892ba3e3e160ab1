//! Disruption budgets, and drains that heed them.

use schedscope::api::objects::PodDisruptionBudgetStatus;
use schedscope::api::workloads::WorkloadKind;
use schedscope::api::{Duration, Kind, NamespacedName};
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::changes::Change;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::sandbox::world::WorldOrder;
use schedscope::driver::session::Edit;

use crate::support::world::apply;

use super::{SECOND, deeds, deployment, is_ready, living, nodes, order, pods, run_checked, run_for};

fn budget(spec: &str) -> String {
    format!(
        "{{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: web}}, spec: {{{spec}, selector: {{matchLabels: \
         {{app: nginx}}}}}}}}\n---\n"
    )
}

/// Allowed, healthy, needed, expected.
fn status(simulator: &Simulator) -> (i32, i32, i32, i32) {
    let budgets = &simulator.api().objects().pod_disruption_budgets;
    let PodDisruptionBudgetStatus {
        disruptions_allowed,
        current_healthy,
        desired_healthy,
        expected_pods,
        ..
    } = budgets[&NamespacedName::new("default", "web")].status;
    (disruptions_allowed, current_healthy, desired_healthy, expected_pods)
}

/// "If you set maxUnavailable to 50%, ... rounded up": the rules of the page on disruption budgets.
#[test]
fn what_a_budget_allows_is_counted_from_the_owners_scale() {
    for (spec, replicas, expected) in [
        ("minAvailable: 2", 5, (3, 5, 2, 5)),
        ("minAvailable: 50%", 7, (3, 7, 4, 7)),
        ("maxUnavailable: 1", 5, (1, 5, 4, 5)),
        ("maxUnavailable: 30%", 5, (2, 5, 3, 5)),
        ("maxUnavailable: 0", 3, (0, 3, 3, 3)),
        ("minAvailable: 100%", 3, (0, 3, 3, 3)),
    ] {
        let mut simulator = living(&(nodes(2) + &budget(spec) + &deployment(replicas, "nginx:1", "")));
        run_for(&mut simulator, 60 * SECOND);
        assert_eq!(status(&simulator), expected, "{spec}");
    }
}

#[test]
fn pods_that_are_not_ready_do_not_count_as_healthy() {
    let mut simulator = living(&(nodes(1) + &budget("minAvailable: 2") + &deployment(3, "nginx:1", "")));
    assert_eq!(status(&simulator), (0, 0, 2, 3));
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(status(&simulator), (1, 3, 2, 3));
    let key = NamespacedName::new("default", "nginx-deployment");
    let to_five = WorldOrder::Scale { kind: WorkloadKind::Deployment, key, replicas: 5 };
    assert_eq!(order(&mut simulator, to_five).unwrap(), "deployment/nginx-deployment scaled");
    assert_eq!(status(&simulator), (1, 3, 2, 5));
}

#[test]
fn a_budget_counts_anew_when_a_pod_that_it_covered_is_labelled_otherwise_or_goes() {
    let other = "{apiVersion: v1, kind: Pod, metadata: {name: other, labels: {app: nginx}}, spec: {containers: [{name: c, \
                 image: i}]}}\n---\n";
    let mut simulator = living(&(nodes(1) + &budget("minAvailable: 1") + other));
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(status(&simulator), (0, 1, 1, 1));
    apply(&mut simulator, &other.replace("nginx", "apache"));
    assert_eq!(status(&simulator), (0, 0, 1, 0));
    apply(&mut simulator, other);
    assert_eq!(status(&simulator), (0, 1, 1, 1));
    let pod = NamespacedName::new("default", "other");
    simulator.edit(&Edit::DeletePod(pod)).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(status(&simulator), (0, 0, 1, 0));
}

#[test]
fn a_drain_never_takes_more_than_a_budget_allows() {
    let manifest = nodes(3) + &budget("maxUnavailable: 1") + &deployment(6, "nginx:1", "");
    let mut simulator = living(&manifest);
    run_for(&mut simulator, 60 * SECOND);
    let said = order(&mut simulator, WorldOrder::Drain { node: "n-1".into(), is_forced: false }).unwrap();
    assert_eq!(said, "node/n-1 cordoned; evicting 2 pods as their budgets allow");
    run_checked(&mut simulator, Duration::from_secs(120), |simulator| {
        let healthy =
            pods(simulator, "nginx").iter().filter(|pod| is_ready(pod) && !pod.is_terminating()).count();
        assert!(healthy >= 5, "{healthy} of 6 are healthy");
    });
    assert!(pods(&simulator, "nginx").iter().all(|pod| &*pod.spec.node_name != "n-1"));
    assert_eq!(pods(&simulator, "nginx").len(), 6);
    let deeds = deeds(&simulator);
    assert!(deeds.contains(&"Drained n-1".to_owned()));
    assert!(deeds.iter().any(|deed| deed.starts_with("EvictionRefused")));
}

#[test]
fn a_drain_refuses_to_lose_pods_that_nobody_makes_again() {
    let bare = "{apiVersion: v1, kind: Pod, metadata: {name: alone}, spec: {nodeName: n-1, containers: [{name: c, image: i}]}}";
    let mut simulator = living(&(nodes(1) + bare));
    let drain = |is_forced| WorldOrder::Drain { node: "n-1".into(), is_forced };
    assert_eq!(
        order(&mut simulator, drain(false)).unwrap_err(),
        "cannot drain n-1: nobody would make these pods again: default/alone; `:drain n-1 --force` deletes them"
    );
    assert!(!simulator.api().objects().node(&"n-1".into()).unwrap().spec.unschedulable);
    order(&mut simulator, drain(true)).unwrap();
    run_for(&mut simulator, 10 * SECOND);
    assert!(super::pod(&simulator, "alone").is_none());
}

#[test]
fn a_drain_that_a_budget_holds_for_good_is_not_waited_for() {
    let manifest = nodes(2) + &budget("maxUnavailable: 0") + &deployment(4, "nginx:1", "");
    let mut simulator = living(&manifest);
    run_for(&mut simulator, 60 * SECOND);
    order(&mut simulator, WorldOrder::Drain { node: "n-1".into(), is_forced: false }).unwrap();
    run_to_rest(&mut simulator);
    assert_eq!(pods(&simulator, "nginx").iter().filter(|pod| &*pod.spec.node_name == "n-1").count(), 2);
    simulator
        .edit(&Edit::Delete { kind: Kind::PodDisruptionBudget, key: NamespacedName::new("default", "web") })
        .unwrap();
    run_to_rest(&mut simulator);
    assert!(pods(&simulator, "nginx").iter().all(|pod| &*pod.spec.node_name == "n-2"));
}

/// A pod names a controller that is not here: another one is made for it all the same, when its budget lets it go.
#[test]
fn a_drained_pod_of_a_controller_that_is_not_here_comes_back_elsewhere() {
    let owned = "{apiVersion: v1, kind: Pod, metadata: {name: shop-1, labels: {app: nginx}, ownerReferences: [{apiVersion: \
                 apps/v1, kind: ReplicaSet, name: shop, uid: u, controller: true}]}, spec: {nodeName: n-1, containers: \
                 [{name: c, image: i}]}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}\n---\n";
    let drain = Edit::Change(Change::Drain("n-1".into()));
    let mut simulator = living(&(nodes(2) + owned));
    simulator.edit(&drain).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    let there = pods(&simulator, "shop");
    let places: Vec<&str> = there.iter().map(|pod| &*pod.spec.node_name).collect();
    assert_eq!(places, ["n-2"]);
    let mut simulator = living(&(nodes(2) + &budget("minAvailable: 1") + owned));
    simulator.edit(&drain).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    let there = pods(&simulator, "shop");
    let places: Vec<&str> = there.iter().map(|pod| &*pod.spec.node_name).collect();
    assert_eq!(places, ["n-1"]);
}

/// `unhealthyPodEvictionPolicy`: "AlwaysAllow ... pods that are running, but not yet healthy are considered disrupted and
/// can be evicted regardless of whether the criteria in a PDB is met"; by default only if enough others are healthy.
#[test]
fn a_pod_that_is_not_ready_may_go_as_the_policy_of_its_budget_says() {
    let sick = "{apiVersion: v1, kind: Pod, metadata: {name: sick, labels: {app: nginx}, annotations: \
                {sandbox.schedscope.dev/ready-time: 10h}}, spec: {containers: [{name: c, image: i}]}}\n---\n";
    for (policy, is_gone) in [("", false), (", unhealthyPodEvictionPolicy: AlwaysAllow", true)] {
        let mut simulator = living(&(nodes(1) + &budget(&format!("minAvailable: 1{policy}")) + sick));
        run_for(&mut simulator, 60 * SECOND);
        order(&mut simulator, WorldOrder::Drain { node: "n-1".into(), is_forced: true }).unwrap();
        run_for(&mut simulator, 60 * SECOND);
        assert_eq!(super::pod(&simulator, "sick").is_none(), is_gone, "{policy}");
    }
}
