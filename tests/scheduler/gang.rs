//! Gangs with the gates on, pod by pod: none is tried before enough are there, none is bound before enough have a
//! place.

use schedscope::api::Duration;
use schedscope::config::FeatureGates;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::scheduler::SchedulerOptions;

use crate::support::test_plugins::Calls;
use crate::support::world::{apply, build, drain, node, node_of, pod, pod_of};

const GROUP: &str = "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: train}\n\
                     spec: {schedulingPolicy: {gang: {minCount: 2}}}\n---\n";

fn gang_sandbox(manifest: &str) -> Simulator {
    let gates = FeatureGates::parse("GenericWorkload=true,GangScheduling=true").unwrap();
    build(manifest, None, &Calls::default(), SchedulerOptions { gates, ..SchedulerOptions::default() })
}

fn worker(name: &str) -> String {
    pod(name, "2", "", ", schedulingGroup: {podGroupName: train}")
}

fn gated_by(simulator: &Simulator, name: &str) -> Option<String> {
    let view = simulator.scheduler().view();
    let row = view.unschedulable_pods.iter().find(|row| row.pod.metadata.name.as_ref() == name);
    row.and_then(|row| row.gated_by.as_ref().map(ToString::to_string))
}

#[test]
fn a_gang_is_let_in_when_group_and_quorum_are_there_and_bound_when_both_have_a_place() {
    let mut simulator = gang_sandbox(&(node("a", "2") + &node("b", "2") + &worker("w1")));
    assert_eq!(gated_by(&simulator, "w1").as_deref(), Some("GangScheduling"), "its group is not there");
    apply(&mut simulator, GROUP);
    assert_eq!(gated_by(&simulator, "w1").as_deref(), Some("GangScheduling"), "it is alone");
    apply(&mut simulator, &worker("w2"));
    assert_eq!((gated_by(&simulator, "w1"), gated_by(&simulator, "w2")), (None, None));
    assert!(simulator.step_cycle());
    assert_eq!(simulator.scheduler().view().waiting.len(), 1, "the first one waits for the other");
    drain(&mut simulator);
    let mut nodes = [node_of(&simulator, "w1"), node_of(&simulator, "w2")];
    nodes.sort();
    assert_eq!(nodes, ["a", "b"]);
}

#[test]
fn a_gang_that_does_not_fit_gives_its_places_back_after_five_minutes() {
    let mut simulator = gang_sandbox(&(node("a", "2") + GROUP + &worker("w1") + &worker("w2")));
    drain(&mut simulator);
    assert_eq!((node_of(&simulator, "w1"), node_of(&simulator, "w2")), (String::new(), String::new()));
    assert_eq!(simulator.scheduler().view().waiting.len(), 1);
    let to = simulator.now() + Duration::from_secs(301);
    simulator.advance_to(to, |_| true);
    let view = simulator.scheduler().view();
    assert!(view.waiting.is_empty());
    let messages = ["w1", "w2"].map(|name| {
        let condition = pod_of(&simulator, name).unwrap().condition("PodScheduled").cloned().unwrap();
        condition.message
    });
    let timed_out =
        "0/1 nodes are available: 1 rejected due to timeout after waiting 5m0s at plugin GangScheduling.";
    assert!(messages.iter().any(|message| message == timed_out), "{messages:?}");
}

#[test]
fn without_the_gates_a_group_is_nothing() {
    let manifest = node("a", "4") + &worker("w1");
    let mut simulator = build(&manifest, None, &Calls::default(), SchedulerOptions::default());
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "w1"), "a");
}
