//! The node lifecycle: nodes that are lost, taints from conditions, eviction by taints.

use schedscope::api::Duration;
use schedscope::driver::sandbox::world::WorldOrder;
use schedscope::driver::session::Edit;

use super::{SECOND, apply, deeds, deployment, is_ready, living, nodes, order, pod, pods, run_for};

fn taints(simulator: &schedscope::driver::sandbox::simulator::Simulator, node: &str) -> Vec<String> {
    let node = simulator.api().objects().node(&node.into()).unwrap();
    node.spec.taints.iter().map(ToString::to_string).collect()
}

#[test]
fn conditions_and_cordons_make_taints() {
    let mut simulator = living(&nodes(1));
    assert!(taints(&simulator, "n-1").is_empty());
    simulator.edit(&Edit::Cordon("n-1".into())).unwrap();
    assert_eq!(taints(&simulator, "n-1"), ["node.kubernetes.io/unschedulable:NoSchedule"]);
    simulator.edit(&Edit::Uncordon("n-1".into())).unwrap();
    assert!(taints(&simulator, "n-1").is_empty());
    let pressed = nodes(1).replace(
        "conditions: [",
        "conditions: [{type: MemoryPressure, status: 'True'}, {type: PIDPressure, status: 'True'}, ",
    );
    apply(&mut simulator, &pressed).unwrap();
    assert_eq!(
        taints(&simulator, "n-1"),
        ["node.kubernetes.io/memory-pressure:NoSchedule", "node.kubernetes.io/pid-pressure:NoSchedule"]
    );
    apply(&mut simulator, &nodes(1).replace("status: 'True'", "status: 'False'")).unwrap();
    assert_eq!(
        taints(&simulator, "n-1"),
        ["node.kubernetes.io/not-ready:NoSchedule", "node.kubernetes.io/not-ready:NoExecute"]
    );
    apply(&mut simulator, &nodes(1)).unwrap();
    assert!(taints(&simulator, "n-1").is_empty());
}

/// "Kubernetes automatically adds a toleration for node.kubernetes.io/not-ready and node.kubernetes.io/unreachable with
/// tolerationSeconds=300, unless you, or a controller, set those tolerations explicitly."
#[test]
fn a_lost_node_is_left_after_five_minutes() {
    let mut simulator = living(&(nodes(2) + &deployment(4, "nginx:1.14.2", "")));
    run_for(&mut simulator, 30 * SECOND);
    let lost: Vec<_> =
        pods(&simulator, "nginx").into_iter().filter(|pod| &*pod.spec.node_name == "n-1").collect();
    assert_eq!(lost.len(), 2);
    let tolerations: Vec<_> =
        lost[0].spec.tolerations.iter().map(|own| (&*own.key, own.toleration_seconds)).collect();
    assert_eq!(
        tolerations,
        [("node.kubernetes.io/not-ready", Some(300)), ("node.kubernetes.io/unreachable", Some(300))]
    );
    assert_eq!(
        order(&mut simulator, WorldOrder::NodeDown("n-1".into())).unwrap(),
        "node n-1 is down; the cluster will notice in 50s"
    );
    run_for(&mut simulator, 49 * SECOND);
    assert!(taints(&simulator, "n-1").is_empty());
    run_for(&mut simulator, 2 * SECOND);
    assert_eq!(
        taints(&simulator, "n-1"),
        ["node.kubernetes.io/unreachable:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"]
    );
    let name = lost[0].metadata.name.to_string();
    assert!(!is_ready(&pod(&simulator, &name).unwrap()));
    run_for(&mut simulator, Duration::from_secs(295));
    assert!(!pod(&simulator, &name).unwrap().is_terminating());
    run_for(&mut simulator, 30 * SECOND);
    // Nobody is there to end them; meanwhile others run elsewhere.
    assert!(pod(&simulator, &name).unwrap().is_terminating());
    let running = pods(&simulator, "nginx").iter().filter(|pod| is_ready(pod)).count();
    assert_eq!(running, 4);
    order(&mut simulator, WorldOrder::NodeUp("n-1".into())).unwrap();
    run_for(&mut simulator, 5 * SECOND);
    assert!(pod(&simulator, &name).is_none());
    assert!(taints(&simulator, "n-1").is_empty());
    assert_eq!(pods(&simulator, "nginx").len(), 4);
}

#[test]
fn a_node_that_comes_back_in_time_keeps_its_pods() {
    let mut simulator = living(&(nodes(1) + &deployment(2, "nginx:1.14.2", "")));
    run_for(&mut simulator, 30 * SECOND);
    order(&mut simulator, WorldOrder::NodeDown("n-1".into())).unwrap();
    assert!(order(&mut simulator, WorldOrder::NodeDown("n-1".into())).unwrap_err().contains("down already"));
    run_for(&mut simulator, 100 * SECOND);
    assert!(pods(&simulator, "nginx").iter().all(|pod| !is_ready(pod)));
    order(&mut simulator, WorldOrder::NodeUp("n-1".into())).unwrap();
    run_for(&mut simulator, Duration::from_secs(600));
    let there = pods(&simulator, "nginx");
    assert_eq!(there.len(), 2);
    assert!(there.iter().all(|pod| is_ready(pod) && !pod.is_terminating()));
}

#[test]
fn a_taint_without_a_toleration_evicts_at_once_and_one_with_seconds_later() {
    let with = |name: &str, tolerations: &str| {
        format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{nodeName: n-1, containers: [{{name: c, image: i}}], \
             tolerations: [{tolerations}]}}}}\n---\n"
        )
    };
    let manifest = nodes(1)
        + &with("none", "")
        + &with("short", "{key: gpu, operator: Exists, effect: NoExecute, tolerationSeconds: 60}")
        + &with("long", "{key: gpu, operator: Exists, effect: NoExecute}")
        // Of several tolerations the first counts.
        + &with(
            "first",
            "{key: gpu, operator: Exists}, {key: gpu, operator: Exists, effect: NoExecute, tolerationSeconds: 60}",
        );
    let mut simulator = living(&manifest);
    run_for(&mut simulator, SECOND);
    simulator.edit(&Edit::Taint { node: "n-1".into(), taint: "gpu=broken:NoExecute".to_owned() }).unwrap();
    let there = |simulator: &_| ["none", "short", "long", "first"].map(|name| pod(simulator, name).is_some());
    run_for(&mut simulator, 5 * SECOND);
    assert_eq!(there(&simulator), [false, true, true, true]);
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(there(&simulator), [false, false, true, true]);
    run_for(&mut simulator, Duration::from_secs(3_600));
    assert_eq!(there(&simulator), [false, false, true, true]);
}

/// `gcOrphaned` of the pod garbage collector: pods of a node that has been missing for 40 s are failed and deleted at
/// once; controllers make new ones.
#[test]
fn pods_of_a_node_that_does_not_exist_are_collected_and_replaced() {
    let cluster = nodes(3) + &deployment(6, "nginx:1.14.2", "");
    let mut simulator = living(&cluster);
    run_for(&mut simulator, 30 * SECOND);
    let on = |simulator: &_, node: &str| {
        pods(simulator, "nginx").iter().filter(|pod| &*pod.spec.node_name == node).count()
    };
    assert_eq!(on(&simulator, "n-2"), 2);
    assert_eq!(
        simulator.edit(&Edit::DeleteNode("n-2".into())).unwrap(),
        "node \"n-2\" deleted; pod garbage collection takes its 2 pods in 40s"
    );
    run_for(&mut simulator, 39 * SECOND);
    assert_eq!((on(&simulator, "n-2"), pods(&simulator, "nginx").len()), (2, 6));
    run_for(&mut simulator, 15 * SECOND);
    assert_eq!(on(&simulator, "n-2"), 0);
    let there = pods(&simulator, "nginx");
    assert_eq!((there.len(), there.iter().filter(|pod| is_ready(pod)).count()), (6, 6));
    assert_eq!(deeds(&simulator).iter().filter(|deed| deed.starts_with("DeletionByPodGC")).count(), 2);
    // One that comes back in time keeps its pods.
    simulator.edit(&Edit::DeleteNode("n-1".into())).unwrap();
    let before = on(&simulator, "n-1");
    run_for(&mut simulator, 20 * SECOND);
    apply(&mut simulator, &nodes(1)).unwrap();
    run_for(&mut simulator, 60 * SECOND);
    assert_eq!(on(&simulator, "n-1"), before);
}
