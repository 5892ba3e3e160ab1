//! Preemption over time: victims go, the preemptor waits for them, its place is kept.

use schedscope::api::Duration;

use crate::support::world::{drain, events, node, node_of, pod, pod_of, sandbox};

fn running(name: &str, cpu: &str, node: &str, more: &str) -> String {
    pod(name, cpu, "", &format!(", nodeName: {node}, terminationGracePeriodSeconds: 5{more}"))
}

#[test]
fn the_least_important_victim_goes_and_the_preemptor_takes_its_place() {
    let manifest = node("a", "4")
        + &node("b", "4")
        + &running("old-a", "3", "a", ", priority: 5")
        + &running("old-b", "3", "b", ", priority: 1")
        + &pod("urgent", "2", "", ", priority: 100");
    let mut simulator = sandbox(&manifest);
    simulator.step_cycle();
    let urgent = pod_of(&simulator, "urgent").unwrap();
    assert_eq!(urgent.status.nominated_node_name.as_ref(), "b", "the victim of lower priority is there");
    assert!(pod_of(&simulator, "old-b").unwrap().is_terminating());
    assert!(!pod_of(&simulator, "old-a").unwrap().is_terminating());
    let condition = pod_of(&simulator, "old-b").unwrap().condition("DisruptionTarget").cloned().unwrap();
    assert_eq!(condition.message, "default-scheduler: preempting to accommodate a higher priority pod");
    assert!(!simulator.step_cycle(), "the preemptor waits for the end of its victim");

    let to = simulator.now() + Duration::from_secs(6);
    simulator.advance_to(to, |_| true);
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "urgent"), "b");
    assert_eq!(pod_of(&simulator, "old-b"), None);
    let said = events(&simulator);
    assert!(
        said.iter().any(|line| line.starts_with("Preempted default/old-b: Preempted by pod ")),
        "{said:?}"
    );
}

#[test]
fn a_nominated_pod_keeps_its_place_against_pods_of_lower_priority() {
    let manifest = node("a", "4")
        + &running("old", "4", "a", ", priority: 1")
        + &pod("urgent", "3", "", ", priority: 100")
        + &pod("small", "2", "", ", priority: 50");
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    let to = simulator.now() + Duration::from_secs(20);
    simulator.advance_to(to, |simulator| {
        while simulator.step_cycle() {}
        true
    });
    assert_eq!(
        (node_of(&simulator, "urgent"), node_of(&simulator, "small")),
        ("a".to_owned(), String::new())
    );
}

#[test]
fn preemption_policy_never_evicts_nobody() {
    let manifest = node("a", "4")
        + &running("old", "4", "a", ", priority: 1")
        + &pod("polite", "3", "", ", priority: 100, preemptionPolicy: Never");
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    assert!(!pod_of(&simulator, "old").unwrap().is_terminating());
    assert_eq!(
        events(&simulator),
        [
            "FailedScheduling default/polite: 0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: not eligible \
             due to preemptionPolicy=Never."
        ]
    );
}
