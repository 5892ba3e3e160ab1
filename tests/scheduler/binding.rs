//! Reserve, Permit, PreBind, Bind and PostBind, with plugins that wait, fail and are slow.

use schedscope::api::{Duration, NamespacedName, Object, Str};
use schedscope::config::FeatureGates;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::scheduler::effect::{ApiFailure, ApiFailureReason, EffectKind};
use schedscope::scheduler::input::{Command, Input};
use schedscope::scheduler::{Scheduler, SchedulerOptions};

use crate::support::test_plugins::Calls;
use crate::support::world::{
    START, annotations, drain, events, frameworks, node, node_of, pod, pod_of, sandbox_with_test_plugins,
};

fn advance(simulator: &mut Simulator, seconds: u64) {
    let to = simulator.now() + Duration::from_secs(seconds);
    simulator.advance_to(to, |_| true);
}

fn one_pod(pairs: &[(&str, &str)]) -> (Simulator, Calls) {
    sandbox_with_test_plugins(&(node("a", "4") + &pod("web", "1", &annotations(pairs), "")))
}

#[test]
fn a_rejection_at_reserve_makes_every_reserve_plugin_give_back_in_reverse_order() {
    let (mut simulator, calls) = one_pod(&[("reserve-a", "unschedulable,success")]);
    simulator.step_cycle();
    assert_eq!(
        calls.take(),
        [
            "plugin default/web Reserve TestReserveA a: unschedulable",
            "plugin default/web Unreserve TestReserveB a",
            "plugin default/web Unreserve TestReserveA a",
        ]
    );
    assert_eq!(
        events(&simulator),
        ["FailedScheduling default/web: 0/1 nodes are available: 1 TestReserveA says unschedulable."]
    );
    let view = simulator.scheduler().view();
    assert_eq!(view.counts.assigned, 0, "what was assumed is forgotten");
    assert_eq!(view.unschedulable_pods[0].unschedulable_plugins, ["TestReserveA".into()]);
}

#[test]
fn a_pod_waits_at_permit_until_every_plugin_allows_it() {
    let (mut simulator, _) = one_pod(&[("permit-a", "wait=60s"), ("permit-b", "wait=60s")]);
    simulator.step_cycle();
    let view = simulator.scheduler().view();
    assert_eq!((view.counts.waiting, view.counts.assigned), (1, 1), "it holds its place while it waits");
    assert_eq!(node_of(&simulator, "web"), "");
    assert_eq!(pod_of(&simulator, "web").unwrap().status.nominated_node_name.as_ref(), "a");
    let uid = view.waiting[0].pod.uid().clone();
    for plugin in ["TestPermitA", "TestPermitB"] {
        assert_eq!(node_of(&simulator, "web"), "");
        let command = Command::AllowWaitingPod { uid: uid.clone(), plugin: plugin.to_owned() };
        simulator.input(Input::Command(command));
    }
    assert_eq!(node_of(&simulator, "web"), "a");
}

#[test]
fn a_pod_that_waits_too_long_is_rejected_with_the_plugin_and_the_time() {
    let (mut simulator, _) = one_pod(&[("permit-a", "wait=10s,success")]);
    simulator.step_cycle();
    advance(&mut simulator, 11);
    assert_eq!(
        events(&simulator),
        [
            "FailedScheduling default/web: 0/1 nodes are available: 1 rejected due to timeout after waiting 10s at \
             plugin TestPermitA."
        ]
    );
    assert_eq!(pod_of(&simulator, "web").unwrap().status.nominated_node_name.as_ref(), "", "given up");
}

#[test]
fn a_waiting_pod_that_is_deleted_gives_its_place_back() {
    let (mut simulator, _) = one_pod(&[("permit-a", "wait=60s")]);
    simulator.step_cycle();
    simulator.edit(&Edit::DeletePod(NamespacedName::new("default", "web"))).unwrap();
    let view = simulator.scheduler().view();
    assert_eq!((view.counts.waiting, view.counts.assigned), (0, 0));
}

#[test]
fn a_slow_pre_bind_does_not_hold_up_the_next_attempt() {
    let slow = pod("slow", "1", &annotations(&[("prebind", "slow=5s")]), ", priority: 5");
    let (mut simulator, calls) =
        sandbox_with_test_plugins(&(node("a", "4") + &slow + &pod("web", "1", "", "")));
    drain(&mut simulator);
    assert_eq!((node_of(&simulator, "slow"), node_of(&simulator, "web")), (String::new(), "a".to_owned()));
    advance(&mut simulator, 5);
    assert_eq!(node_of(&simulator, "slow"), "a");
    assert_eq!(
        calls.take().iter().filter(|line| line.contains(" PreBind ")).collect::<Vec<_>>(),
        [
            "plugin default/slow PreBind TestPreBind a: slow=5s",
            "plugin default/slow PreBind TestPreBind a: success"
        ]
    );
}

#[test]
fn an_error_in_pre_bind_names_the_plugin_and_backs_off_as_an_error() {
    let (mut simulator, _) = one_pod(&[("prebind", "error,success")]);
    simulator.step_cycle();
    assert_eq!(
        events(&simulator),
        ["FailedScheduling default/web: running PreBind plugin \"TestPreBind\": TestPreBind says error"]
    );
    assert!(simulator.scheduler().view().backoff_q[0].is_error_backoff);
    advance(&mut simulator, 3);
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "web"), "a");
}

/// A scheduler without a sandbox around it, so that the test decides what comes of each effect.
fn bare(manifest: &str) -> Scheduler {
    let sources = [schedscope::api::manifest::Source { name: "test".to_owned(), text: manifest.to_owned() }];
    let loaded = schedscope::api::manifest::load(&sources).unwrap();
    let (api, _) =
        schedscope::driver::sandbox::api::SandboxApi::from_manifests(loaded, &sources, START).unwrap();
    let profiles = frameworks(None, &Calls::default(), &FeatureGates::default());
    let mut scheduler = Scheduler::new(profiles, SchedulerOptions::default()).unwrap();
    for object in api.objects().iter() {
        scheduler.handle(START, Input::Added(object));
        assert_eq!(scheduler.poll_effect(), None);
    }
    scheduler
}

#[test]
fn a_bound_pod_stays_assumed_until_the_watch_reports_it() {
    let mut scheduler = bare(&(node("a", "4") + &pod("web", "3", "", "")));
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let effect = scheduler.poll_effect().expect("a binding");
    assert!(matches!(&effect.kind, EffectKind::Bind { node, .. } if node.as_ref() == "a"));
    scheduler.handle(START, Input::EffectDone { id: effect.id, result: Ok(()) });
    assert!(
        matches!(scheduler.poll_effect().unwrap().kind, EffectKind::Event(event) if event.reason == "Scheduled")
    );
    assert_eq!(scheduler.view().counts.assigned, 1);
    let key = NamespacedName::new("default", "web");
    let old = scheduler.objects().pods.get(&key).cloned().unwrap();
    assert!(!old.is_assigned(), "the scheduler knows the pod as the watch reported it");
    let mut new = (*old).clone();
    new.spec.node_name = "a".into();
    scheduler.handle(START, Input::Updated { old: Object::Pod(old), new: Object::from(new) });
    assert_eq!(scheduler.view().counts.assigned, 1);
}

#[test]
fn a_refused_binding_forgets_the_pod_and_retries_it_after_the_error_backoff() {
    let mut scheduler = bare(&(node("a", "4") + &pod("web", "3", "", "")));
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let effect = scheduler.poll_effect().expect("a binding");
    let failure =
        ApiFailure { reason: ApiFailureReason::Conflict, message: "somebody was faster".to_owned() };
    scheduler.handle(START, Input::EffectDone { id: effect.id, result: Err(failure) });
    let view = scheduler.view();
    assert_eq!(view.counts.assigned, 0);
    assert!(view.backoff_q[0].is_error_backoff);
    let EffectKind::Event(event) = scheduler.poll_effect().unwrap().kind else {
        panic!("the event comes first")
    };
    assert_eq!(event.note, "running Bind plugin \"DefaultBinder\": somebody was faster");
    let EffectKind::PatchPodStatus { condition: Some(condition), .. } = scheduler.poll_effect().unwrap().kind
    else {
        panic!("then the condition")
    };
    assert_eq!(condition.reason, "SchedulerError");
    assert_eq!(scheduler.poll_effect(), None);
    assert!(!scheduler.can_schedule(), "an error backoff is never cut short");
    let until = scheduler.poll_timeout().expect("the end of the backoff");
    scheduler.handle(until, Input::Timeout);
    assert!(scheduler.can_schedule());
}

#[test]
fn bindings_may_end_in_any_order() {
    let mut scheduler = bare(&(node("a", "4") + &pod("one", "1", "", "") + &pod("two", "1", "", "")));
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let first = scheduler.poll_effect().expect("a binding");
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let second = scheduler.poll_effect().expect("another binding");
    assert_eq!(scheduler.view().counts.binding, 2);
    for effect in [second, first] {
        scheduler.handle(START, Input::EffectDone { id: effect.id, result: Ok(()) });
        while scheduler.poll_effect().is_some() {}
    }
    assert_eq!(scheduler.view().counts.bound, 2);
}

#[test]
fn a_person_lets_a_waiting_pod_go_on_in_the_name_of_every_plugin_that_holds_it() {
    let (mut simulator, _) = one_pod(&[("permit-a", "wait=60s"), ("permit-b", "wait=90s")]);
    simulator.step_cycle();
    let said = simulator.edit(&Edit::Allow(NamespacedName::new("default", "web"))).unwrap();
    assert_eq!(said, "pod default/web was allowed, in the name of TestPermitA, TestPermitB");
    drain(&mut simulator);
    assert_eq!(node_of(&simulator, "web"), "a");
    let again = simulator.edit(&Edit::Allow(NamespacedName::new("default", "web")));
    assert_eq!(
        again.unwrap_err(),
        "pod default/web does not wait at Permit: there is nothing to allow or reject"
    );
}

#[test]
fn a_person_turns_a_waiting_pod_down_in_the_name_of_the_first_plugin_that_holds_it() {
    let (mut simulator, _) = one_pod(&[("permit-a", "wait=60s")]);
    simulator.step_cycle();
    simulator.edit(&Edit::Reject(NamespacedName::new("default", "web"))).unwrap();
    assert_eq!(
        events(&simulator),
        ["FailedScheduling default/web: 0/1 nodes are available: 1 rejected by hand."]
    );
    let view = simulator.scheduler().view();
    assert_eq!(view.unschedulable_pods[0].unschedulable_plugins, [Str::from("TestPermitA")]);
    assert_eq!((view.counts.waiting, view.counts.assigned), (0, 0), "its place is given back");
}
