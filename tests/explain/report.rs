//! Explanations in words and as JSON.

use schedscope::api::{NamespacedName, Str};
use schedscope::explain::report::{ExplainError, Form, PodStatus, explain, render};

use crate::support::world::{drain, node, pod, sandbox};

fn key(name: &str) -> NamespacedName {
    NamespacedName::new("default", name)
}

const TAINTED: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: gpu}\n\
    spec: {taints: [{key: gpu, value: 'yes', effect: NoSchedule}]}\n\
    status: {allocatable: {cpu: '8', memory: 64Gi, pods: '110'}}\n---\n";

#[test]
fn a_pending_pod_is_told_by_reason_and_what_is_one_change_away() {
    let mut simulator = sandbox(&(node("a", "1") + &node("b", "2") + TAINTED + &pod("web", "3", "", "")));
    drain(&mut simulator);
    let told = explain(simulator.scheduler(), &key("web"), None).unwrap();
    assert_eq!(told.status, PodStatus::Pending);
    let message = "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. no new claims to \
                   deallocate, preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.";
    assert_eq!(told.attempt.as_ref().unwrap().message, message);
    let counted: Vec<(&str, usize)> = told.reasons.iter().map(|reason| (reason.code, reason.nodes)).collect();
    assert_eq!(counted, [("InsufficientCpu", 2), ("UntoleratedTaint", 1)]);
    let away: Vec<(&str, &str)> =
        told.one_change_away.iter().map(|change| (change.node.as_str(), change.what.as_str())).collect();
    assert_eq!(
        away,
        [
            ("gpu", "node(s) had untolerated taint(s)"),
            ("b", "cpu 1 too little, more than the whole node has"),
            ("a", "cpu 2 too little, more than the whole node has"),
        ]
    );
    let short = &told.one_change_away[1].shortfalls[0];
    assert_eq!((short.requested, short.free, short.allocatable, short.short), (3000, 2000, 2000, 1000));
    assert_eq!(told.queue.as_ref().unwrap().place, "unschedulablePods");
    let text = render(&told, Form::Text);
    assert!(text.starts_with(&format!("Pod default/web is pending: {message}\n")), "{text}");
    assert!(text.contains("One change away: 3 nodes"), "{text}");
}

#[test]
fn a_bound_pod_is_told_as_if_it_were_not_there() {
    let manifest =
        node("a", "4") + &node("b", "2") + &pod("web", "1500m", "", "") + &pod("other", "100m", "", "");
    let mut simulator = sandbox(&manifest);
    drain(&mut simulator);
    let told = explain(simulator.scheduler(), &key("web"), Some(&Str::from("b"))).unwrap();
    assert_eq!(told.status, PodStatus::Placed);
    assert_eq!(told.assigned_to.as_deref(), Some("a"));
    assert!(told.notes[0].contains("as if it were not there"), "{:?}", told.notes);
    let against = told.against.unwrap();
    assert_eq!(against.verdict, "behind");
    assert_eq!(against.compared_with.as_deref(), Some("a"));
    let sum: i64 = against.points.iter().map(|pair| pair.difference).sum();
    let [best, own] = against.totals.unwrap();
    assert_eq!(sum, best - own);
    assert!(against.decisive.is_some());
}

#[test]
fn a_gated_pod_is_told_with_what_would_come_after() {
    let manifest = node("a", "4") + &pod("web", "1", "", ", schedulingGates: [{name: wait}]");
    let simulator = sandbox(&manifest);
    let told = explain(simulator.scheduler(), &key("web"), None).unwrap();
    assert_eq!(told.status, PodStatus::Gated);
    assert_eq!(
        told.headline,
        "Pod default/web is gated by wait and not tried. If it were, it would be placed on a now."
    );
    assert_eq!(told.queue.unwrap().gated_by.as_deref(), Some("SchedulingGates"));
}

#[test]
fn preemption_names_whom_it_would_cost() {
    let manifest = node("a", "2")
        + &pod("low", "1500m", "", ", priority: 1, nodeName: a")
        + &pod("high", "1", "", ", priority: 10");
    let simulator = sandbox(&manifest);
    let told = explain(simulator.scheduler(), &key("high"), None).unwrap();
    let preemption = told.preemption.unwrap();
    assert_eq!(preemption.outcome, "wouldPreempt");
    assert_eq!(preemption.node.as_deref(), Some("a"));
    assert_eq!(preemption.victims[0].pod, "default/low");
    // Nobody was evicted for it.
    assert!(simulator.api().objects().pods[&key("low")].is_assigned());
}

#[test]
fn what_is_not_there_is_named() {
    let simulator = sandbox(&(node("a", "4") + &pod("web", "1", "", "")));
    let scheduler = simulator.scheduler();
    assert_eq!(explain(scheduler, &key("wep"), None), Err(ExplainError::NoPod("default/wep".into())));
    let lost = Str::from("z");
    assert_eq!(explain(scheduler, &key("web"), Some(&lost)), Err(ExplainError::NoNode("z".into())));
}
