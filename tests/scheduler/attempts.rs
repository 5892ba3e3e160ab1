//! Attempts: what is tried, and what becomes of a pod that fits nowhere.

use schedscope::api::Duration;
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::trace::{CycleOutcome, Phase, SelectionReason};

use crate::support::test_plugins::Calls;
use crate::support::world::{apply, build, drain, events, node, node_of, pod, pod_of, sandbox};

#[test]
fn a_pod_that_fits_is_bound_with_a_scheduled_event() {
    let mut simulator = sandbox(&(node("a", "4") + &pod("web", "1", "", "")));
    assert!(simulator.step_cycle());
    assert_eq!(node_of(&simulator, "web"), "a");
    assert_eq!(events(&simulator), ["Scheduled default/web: Successfully assigned default/web to a"]);
    assert!(!simulator.step_cycle(), "nothing is left to try");
}

#[test]
fn a_pod_that_fits_nowhere_gets_the_words_of_kube_scheduler_and_waits() {
    let mut simulator = sandbox(&(node("a", "1") + &node("b", "2") + &pod("big", "3", "", "")));
    drain(&mut simulator);
    let message = "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is \
                   not helpful for scheduling.";
    assert_eq!(events(&simulator), [format!("FailedScheduling default/big: {message}")]);
    let condition = pod_of(&simulator, "big").unwrap().condition("PodScheduled").cloned().unwrap();
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "Unschedulable"));
    assert_eq!(condition.message, message);
    let view = simulator.scheduler().view();
    assert_eq!(view.counts.unschedulable, 1);
    assert_eq!(view.unschedulable_pods[0].unschedulable_plugins, ["NodeResourcesFit".into()]);
}

#[test]
fn a_node_that_is_large_enough_wakes_it() {
    let mut simulator = sandbox(&(node("a", "1") + &pod("big", "3", "", "")));
    drain(&mut simulator);
    apply(&mut simulator, &node("small", "2"));
    assert!(!simulator.step_cycle(), "a node that cannot hold the pod does not wake it");
    apply(&mut simulator, &node("large", "8"));
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "big"), "large");
}

#[test]
fn a_cluster_without_nodes_is_an_error_that_backs_off_and_not_a_rejection() {
    let mut simulator = sandbox(&pod("web", "1", "", ""));
    drain(&mut simulator);
    assert_eq!(events(&simulator), ["FailedScheduling default/web: no nodes available to schedule pods"]);
    let view = simulator.scheduler().view();
    assert_eq!((view.counts.backoff, view.counts.unschedulable), (1, 0));
    assert!(view.backoff_q[0].is_error_backoff);
    assert!(view.backoff_q[0].unschedulable_plugins.is_empty());
}

#[test]
fn higher_priority_is_tried_first() {
    let manifest = node("a", "8") + &pod("low", "1", "", "") + &pod("high", "1", "", ", priority: 10");
    let mut simulator = sandbox(&manifest);
    simulator.step_cycle();
    assert_eq!((node_of(&simulator, "high"), node_of(&simulator, "low")), ("a".to_owned(), String::new()));
}

#[test]
fn a_gated_pod_is_not_tried_until_its_last_gate_is_gone() {
    let gates = ", schedulingGates: [{name: quota}]";
    let mut simulator = sandbox(&(node("a", "4") + &pod("web", "1", "", gates)));
    assert!(!simulator.step_cycle());
    assert_eq!(
        simulator.scheduler().view().unschedulable_pods[0].gated_by.as_deref(),
        Some("SchedulingGates")
    );
    apply(&mut simulator, &pod("web", "1", "", ""));
    assert!(simulator.step_cycle());
    assert_eq!(node_of(&simulator, "web"), "a");
}

#[test]
fn a_pod_of_another_scheduler_is_left_alone() {
    let mut simulator = sandbox(&(node("a", "4") + &pod("web", "1", "", ", schedulerName: volcano")));
    assert!(!simulator.step_cycle());
    assert_eq!(simulator.scheduler().view().counts.unschedulable, 0);
}

#[test]
fn ties_are_told_apart_from_clear_winners() {
    let mut simulator =
        sandbox(&(node("a", "4") + &node("b", "4") + &node("c", "2") + &pod("web", "1", "", "")));
    simulator.step_cycle();
    let trace = simulator.scheduler().view().cycle.unwrap();
    let selection = trace.selection.as_ref().unwrap();
    assert_eq!(selection.reason, SelectionReason::Tie);
    assert_eq!(selection.ties, ["a".into(), "b".into()]);
    assert_eq!(selection.runner_up.as_ref().map(|(name, _)| name.as_ref()), Some("c"));
}

#[test]
fn a_person_can_stop_between_all_phases() {
    let mut simulator = sandbox(&(node("a", "4") + &node("b", "4") + &pod("web", "1", "", "")));
    let mut phases = Vec::new();
    while simulator.step_phase() {
        phases.push(simulator.scheduler().view().cycle.unwrap().phase);
    }
    use Phase::{
        Assume, Bind, Filter, Permit, Pop, PostBind, PreBind, PreFilter, PreScore, Reserve, Score, Select,
    };
    let expected =
        [Pop, PreFilter, Filter, PreScore, Score, Select, Assume, Reserve, Permit, PreBind, Bind, PostBind];
    assert_eq!(phases, expected);
    let trace = simulator.scheduler().view().cycle.unwrap();
    assert!(matches!(&trace.outcome, CycleOutcome::Bound { .. }));
    assert_eq!(trace.next, None);
}

#[test]
fn nothing_has_changed_before_assume() {
    let mut simulator = sandbox(&(node("a", "4") + &node("b", "4") + &pod("web", "1", "", "")));
    for _ in 0..6 {
        simulator.step_phase();
    }
    let view = simulator.scheduler().view();
    assert_eq!(view.cycle.unwrap().next, Some(Phase::Assume));
    assert!(view.nodes.iter().all(|node| node.pods().is_empty()));
    simulator.step_phase();
    assert_eq!(simulator.scheduler().view().counts.assigned, 1, "Assume counts the pod on its node");
}

#[test]
fn an_unschedulable_pod_is_tried_again_after_five_minutes_without_a_reason() {
    let mut simulator = sandbox(&(node("a", "1") + &pod("big", "3", "", "")));
    drain(&mut simulator);
    let start = simulator.now();
    simulator.advance_to(start + Duration::from_secs(299), |_| true);
    assert!(!simulator.scheduler().can_schedule());
    simulator.advance_to(start + Duration::from_secs(331), |_| true);
    assert!(
        simulator.scheduler().can_schedule(),
        "the flush runs every 30 s and takes pods older than 5 minutes"
    );
}

#[test]
fn pods_that_are_alike_and_fill_their_nodes_share_one_ranking() {
    let nodes: String = ["a", "b", "c"].map(|name| node(name, "4")).concat();
    let pods: String = ["one", "two", "three"].map(|name| pod(name, "3", "", "")).concat();
    // The default spread constraints make every pod one of its kind.
    let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- plugins: \
                  {multiPoint: {disabled: [{name: PodTopologySpread}]}}\n";
    let mut simulator = build(&(nodes + &pods), Some(config), &Calls::default(), SchedulerOptions::default());
    let mut reasons = Vec::new();
    while simulator.step_cycle() {
        let trace = simulator.scheduler().view().cycle.unwrap();
        reasons.push((trace.selection.as_ref().unwrap().reason, trace.filter.as_ref().unwrap().n_feasible()));
    }
    let expected =
        [(SelectionReason::Tie, 3), (SelectionReason::BatchHint, 1), (SelectionReason::BatchHint, 1)];
    assert_eq!(reasons, expected);
    let hosts: std::collections::BTreeSet<String> =
        ["one", "two", "three"].map(|name| node_of(&simulator, name)).into();
    assert_eq!(hosts.len(), 3);
}

#[test]
fn a_ranking_is_not_used_while_the_node_taken_last_has_room() {
    let manifest = node("a", "8") + &node("b", "8") + &pod("one", "1", "", "") + &pod("two", "1", "", "");
    let mut simulator = sandbox(&manifest);
    simulator.step_cycle();
    simulator.step_cycle();
    let trace = simulator.scheduler().view().cycle.unwrap();
    assert_eq!(trace.filter.as_ref().unwrap().n_feasible(), 2, "the whole search was made");
}
