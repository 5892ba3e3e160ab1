//! Preemption over time: victims go, the preemptor waits for them, its place is kept.

use schedscope::api::{Duration, Object};
use schedscope::config::FeatureGates;
use schedscope::scheduler::effect::{Effect, EffectKind};
use schedscope::scheduler::input::{Command, Input};
use schedscope::scheduler::{Scheduler, SchedulerOptions};

use crate::support::test_plugins::Calls;
use crate::support::world::{
    START, api_of, drain, events, frameworks_with_test_plugins, node, node_of, pod, pod_of, sandbox,
};

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

/// What the scheduler asks for of that pod.
fn asks(scheduler: &mut Scheduler, name: &str) -> Vec<Effect> {
    let effects: Vec<Effect> = std::iter::from_fn(|| scheduler.poll_effect()).collect();
    let is_of = |effect: &Effect| match &effect.kind {
        EffectKind::Bind { pod, .. } | EffectKind::DeletePod { pod, .. } => pod.name.as_ref() == name,
        EffectKind::PatchPodStatus { pod, .. } => pod.name.as_ref() == name,
        _ => false,
    };
    effects.into_iter().filter(is_of).collect()
}

/// The deletion of a victim tells the scheduler that the way is free before its own call has been answered. If the way
/// is not free after all, the preemptor makes room once more meanwhile.
#[test]
fn a_pod_makes_room_again_before_its_first_eviction_has_been_answered() {
    let gates = FeatureGates::default();
    let profiles = frameworks_with_test_plugins(&Calls::default(), &gates);
    let mut scheduler = Scheduler::new(profiles, SchedulerOptions::default()).unwrap();
    let tell = |scheduler: &mut Scheduler, manifest: &str| {
        for object in api_of(manifest).objects().iter().filter(|object| matches!(object, Object::Pod(_))) {
            scheduler.handle(START, Input::Added(object));
        }
    };
    for object in api_of(&node("a", "2")).objects().iter() {
        scheduler.handle(START, Input::Added(object));
    }
    let done = |scheduler: &mut Scheduler, effect: &Effect| {
        scheduler.handle(START, Input::EffectDone { id: effect.id, result: Ok(()) });
    };
    let gone = |scheduler: &mut Scheduler, name: &str| {
        let mut pods = scheduler.objects().pods.values();
        let pod = pods.find(|pod| pod.metadata.name.as_ref() == name).unwrap().clone();
        scheduler.handle(START, Input::Deleted(Object::Pod(pod)));
    };
    tell(&mut scheduler, &running("first", "2", "a", ""));
    tell(&mut scheduler, &pod("urgent", "2", "", ", priority: 100"));

    let mut evictions = Vec::new();
    for victim in ["first", "second"] {
        scheduler.handle(START, Input::Command(Command::ScheduleOne));
        let marks = asks(&mut scheduler, victim);
        done(&mut scheduler, &marks[0]);
        evictions.extend(asks(&mut scheduler, victim));
        gone(&mut scheduler, victim);
        if victim == "first" {
            tell(&mut scheduler, &running("second", "2", "a", ""));
        }
    }
    assert_eq!(
        evictions.len(),
        2,
        "both have been evicted, and no eviction has been answered: {evictions:?}"
    );
    for eviction in &evictions {
        done(&mut scheduler, eviction);
    }
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let last = asks(&mut scheduler, "urgent");
    assert!(matches!(last.last().unwrap().kind, EffectKind::Bind { .. }), "{last:?}");
    assert!(!scheduler.has_pending_effects() || last.len() == 1, "nothing else is under way");
}
