//! What runs beside the attempts goes on when the driver says so, in any order that it likes.

use schedscope::api::{Duration, Object, Uid};
use schedscope::config::FeatureGates;
use schedscope::scheduler::effect::{Effect, EffectKind};
use schedscope::scheduler::input::{Command, Input};
use schedscope::scheduler::turns::{Strand, Turns};
use schedscope::scheduler::{Scheduler, SchedulerOptions};

use crate::support::test_plugins::Calls;
use crate::support::world::{START, annotations, api_of, frameworks_with_test_plugins, node, pod};

/// A scheduler that does nothing by itself, on the objects of a manifest.
fn scheduler(manifest: &str, gates: &str) -> Scheduler {
    let gates = FeatureGates::parse(gates).unwrap();
    let options = SchedulerOptions { turns: Turns::OnCommand, parallelism: 1, gates, ..Default::default() };
    let profiles = frameworks_with_test_plugins(&Calls::default(), &gates);
    let mut scheduler = Scheduler::new(profiles, options).unwrap();
    for object in api_of(manifest).objects().iter() {
        scheduler.handle(START, Input::Added(object));
    }
    scheduler
}

fn command(scheduler: &mut Scheduler, command: Command) {
    scheduler.handle(START, Input::Command(command));
}

fn effects(scheduler: &mut Scheduler) -> Vec<Effect> {
    std::iter::from_fn(|| scheduler.poll_effect()).collect()
}

/// What was asked for, in a word and the pod's name; Events left out.
fn deeds(effects: &[Effect]) -> Vec<String> {
    effects
        .iter()
        .filter_map(|effect| match &effect.kind {
            EffectKind::Bind { pod, node, .. } => Some(format!("bind {} to {node}", pod.name)),
            EffectKind::DeletePod { pod, .. } => Some(format!("delete {}", pod.name)),
            EffectKind::PatchPodStatus { pod, .. } => Some(format!("patch {}", pod.name)),
            _ => None,
        })
        .collect()
}

/// Answers that all went well.
fn answer(scheduler: &mut Scheduler, effects: Vec<Effect>) {
    for Effect { id, kind } in effects {
        if !matches!(kind, EffectKind::Event(_)) {
            scheduler.handle(START, Input::EffectDone { id, result: Ok(()) });
        }
    }
}

fn binding(name: &str) -> Strand {
    Strand::Binding(Uid::from(format!("pod/default/{name}")))
}

fn strands(scheduler: &Scheduler) -> Vec<Strand> {
    scheduler.turns().into_iter().map(|turn| turn.strand).collect()
}

#[test]
fn binding_cycles_go_on_in_the_order_that_the_driver_chooses() {
    let manifest = node("a", "4") + &pod("one", "1", "", "") + &pod("two", "1", "", "");
    let mut scheduler = scheduler(&manifest, "");
    command(&mut scheduler, Command::ScheduleOne);
    command(&mut scheduler, Command::ScheduleOne);
    assert!(effects(&mut scheduler).is_empty(), "nothing goes on by itself");
    assert_eq!(strands(&scheduler), [binding("one"), binding("two")], "the first attempt is first in line");
    for name in ["two", "one"] {
        command(&mut scheduler, Command::GoOn(binding(name)));
        let deeds = deeds(&effects(&mut scheduler));
        assert_eq!(deeds, [format!("bind {name} to a")]);
    }
    assert!(strands(&scheduler).is_empty(), "both wait for the answer to their call");
}

#[test]
fn a_waiting_pod_times_out_only_when_time_is_said_to_have_gone_by() {
    let waits = annotations(&[("permit-a", "wait=5s")]);
    let mut scheduler = scheduler(&(node("a", "4") + &pod("web", "1", &waits, "")), "");
    command(&mut scheduler, Command::ScheduleOne);
    command(&mut scheduler, Command::GoOn(binding("web")));
    let nomination = effects(&mut scheduler);
    assert_eq!(deeds(&nomination), ["patch web"], "it tells where it is about to go");
    answer(&mut scheduler, nomination);
    command(&mut scheduler, Command::GoOn(binding("web")));
    let late = START + Duration::from_secs(6);
    scheduler.handle(late, Input::Command(Command::Activate(Vec::new())));
    assert!(strands(&scheduler).is_empty());
    scheduler.handle(late, Input::Timeout);
    let turns = scheduler.turns();
    assert_eq!(turns.len(), 1);
    assert_eq!((turns[0].since, turns[0].has_waited), (START + Duration::from_secs(5), true));
}

#[test]
fn the_victims_of_a_preemption_go_one_by_one_and_before_bindings() {
    let running = |name: &str| pod(name, "2", "", ", nodeName: a");
    let manifest = node("a", "4") + &running("v1") + &running("v2") + &pod("high", "4", "", ", priority: 10");
    let mut scheduler = scheduler(&manifest, "");
    command(&mut scheduler, Command::ScheduleOne);
    let report = effects(&mut scheduler);
    assert_eq!(deeds(&report), ["patch high"]);
    answer(&mut scheduler, report);
    let preemption = Strand::Preemption(Uid::from("pod/default/high"));
    for victim in ["v1", "v2"] {
        assert_eq!(strands(&scheduler), std::slice::from_ref(&preemption));
        command(&mut scheduler, Command::GoOn(preemption.clone()));
        let condition = effects(&mut scheduler);
        assert_eq!(deeds(&condition), [format!("patch {victim}")]);
        assert!(strands(&scheduler).is_empty(), "one victim at a time");
        answer(&mut scheduler, condition);
        let deletion = effects(&mut scheduler);
        assert_eq!(deeds(&deletion), [format!("delete {victim}")]);
        answer(&mut scheduler, deletion);
    }
    assert!(strands(&scheduler).is_empty(), "the preemption is over");
}

#[test]
fn without_the_gate_an_attempt_waits_until_its_victims_are_gone() {
    let victim = pod("v1", "4", "", ", nodeName: a");
    let manifest = node("a", "4") + &victim + &pod("high", "4", "", ", priority: 10");
    let mut scheduler = scheduler(&manifest, "SchedulerAsyncPreemption=false");
    command(&mut scheduler, Command::ScheduleOne);
    let condition = effects(&mut scheduler);
    assert_eq!(deeds(&condition), ["patch v1"]);
    assert!(scheduler.is_in_cycle() && !scheduler.can_schedule());
    answer(&mut scheduler, condition);
    let deletion = effects(&mut scheduler);
    assert_eq!(deeds(&deletion), ["delete v1"]);
    let key = schedscope::api::NamespacedName::new("default", "v1");
    let gone = scheduler.objects().pods.get(&key).cloned().unwrap();
    scheduler.handle(START, Input::Deleted(Object::Pod(gone)));
    answer(&mut scheduler, deletion);
    assert!(!scheduler.is_in_cycle());
    assert_eq!(deeds(&effects(&mut scheduler)), ["patch high"], "the failed attempt is reported last");
    let high = &scheduler.view().backoff_q[0];
    assert_eq!(high.pod.metadata.name.as_ref(), "high", "the deletion came while it was in flight");
}
