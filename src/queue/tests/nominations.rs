//! How nominations follow the queue.

use super::*;
use crate::framework::{NominatingInfo, PodNominator};

fn nominated(name: &str, node: &str) -> Pod {
    let mut pod = pod(name);
    pod.status.nominated_node_name = node.into();
    pod
}

fn info_of(pod: &Arc<Pod>) -> Arc<PodInfo> {
    Arc::new(PodInfo::new(Arc::clone(pod)))
}

impl Bench {
    fn nominate(&mut self, pod: &Arc<Pod>, node: &str) {
        let info = NominatingInfo::Override(node.into());
        self.nominator.add_nominated_pod(&self.world.objects, info_of(pod), &info);
    }

    fn nominations(&self) -> Vec<String> {
        self.nominator.iter().map(|(node, pod)| format!("{} -> {node}", pod.pod.metadata.name)).collect()
    }
}

#[test]
fn a_new_pod_is_nominated_as_its_status_says() {
    let mut bench = Bench::new();
    let p = bench.add(nominated("p", "n"));
    bench.add(pod("q"));
    assert_eq!(bench.nominations(), ["p -> n"]);
    assert_eq!(bench.nominator.nominated_node_of(p.uid()).map(AsRef::as_ref), Some("n"));
    assert_eq!(bench.nominator.nominated_pods_for_node("n").len(), 1);
    assert!(bench.nominator.nominated_pods_for_node("m").is_empty());
}

#[test]
fn a_gated_pod_is_not_nominated() {
    let mut bench = Bench::new();
    let mut p = nominated("p", "n");
    p.spec.scheduling_gates = gated("p").spec.scheduling_gates;
    bench.add(p);
    assert!(bench.nominator.is_empty());
}

#[test]
fn nominations_of_a_node_are_in_the_order_in_which_they_were_made() {
    let mut bench = Bench::new();
    for name in ["b", "a"] {
        bench.add(nominated(name, "n"));
    }
    assert_eq!(bench.nominations(), ["b -> n", "a -> n"]);
}

#[test]
fn an_override_goes_before_the_status_and_the_empty_one_clears() {
    let mut bench = Bench::new();
    let p = bench.add(nominated("p", "n"));
    bench.nominate(&p, "m");
    assert_eq!(bench.nominations(), ["p -> m"]);
    bench.nominator.add_nominated_pod(&bench.world.objects, info_of(&p), &NominatingInfo::clear());
    assert!(bench.nominations().is_empty());
}

#[test]
fn a_nomination_in_memory_outlives_updates_that_do_not_know_of_it() {
    let mut bench = Bench::new();
    let p = bench.add(pod("p"));
    bench.nominate(&p, "n");
    let p = bench.update(&p, |pod| pod.metadata.generation = 2);
    assert_eq!(bench.nominations(), ["p -> n"]);
    let p = bench.update(&p, |pod| pod.status.nominated_node_name = "m".into());
    assert_eq!(bench.nominations(), ["p -> m"]);
    bench.update(&p, |pod| pod.status.nominated_node_name = "".into());
    assert!(bench.nominations().is_empty());
}

#[test]
fn an_update_in_flight_changes_no_nomination() {
    let mut bench = Bench::new();
    let p = bench.add(nominated("p", "n"));
    bench.pop();
    bench.update(&p, |pod| pod.status.nominated_node_name = "m".into());
    assert_eq!(bench.nominations(), ["p -> n"]);
}

#[test]
fn an_update_among_the_unschedulable_pods_is_followed() {
    let mut bench = Bench::new();
    let p = bench.add_rejected(pod("p"), "Room");
    let p = bench.update(&p, |pod| pod.status.nominated_node_name = "n".into());
    assert_eq!(bench.nominations(), ["p -> n"]);
    let newest = bench.update(&p, |pod| pod.metadata.generation = 3);
    assert_eq!(bench.nominator.nominated_pods_for_node("n")[0].pod, newest);
}

#[test]
fn a_general_update_that_moves_the_pod_takes_the_nomination_in_memory_back() {
    let mut bench = Bench::new();
    let p = bench.add_rejected(pod("p"), "Silent");
    bench.nominate(&p, "n");
    bench.set_time(20);
    bench.update(&p, |pod| pod.metadata.generation = 2);
    assert_eq!(bench.queues(), "p||");
    assert!(bench.nominations().is_empty());
}

#[test]
fn a_deleted_pod_loses_its_nomination() {
    let mut bench = Bench::new();
    let p = bench.add(nominated("p", "n"));
    bench.delete(&p);
    assert!(bench.nominator.is_empty());
}

#[test]
fn a_pod_that_is_gone_or_has_a_node_is_not_nominated() {
    let mut bench = Bench::new();
    let gone = Arc::new(pod("gone"));
    bench.nominate(&gone, "n");
    let mut bound = pod("bound");
    bound.spec.node_name = "m".into();
    bench.world.objects.insert(bound.into());
    bench.nominate(&Arc::new(pod("bound")), "n");
    assert!(bench.nominator.is_empty());
}

#[test]
fn a_nomination_can_be_taken_back() {
    let mut bench = Bench::new();
    let p = bench.add(nominated("p", "n"));
    bench.nominator.delete_nominated_pod_if_exists(&p);
    bench.nominator.delete_nominated_pod_if_exists(&p);
    assert!(bench.nominator.is_empty());
}
