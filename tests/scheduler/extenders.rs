//! Extenders as effects: the attempt waits for their answers and goes on where it stopped.

use std::collections::BTreeSet;

use schedscope::api::Duration;
use schedscope::config::FeatureGates;
use schedscope::framework::extender::{Extender, ExtenderAnswer, ExtenderVerb};
use schedscope::scheduler::effect::{Effect, EffectKind};
use schedscope::scheduler::input::{Command, Input};
use schedscope::scheduler::trace::CycleOutcome;
use schedscope::scheduler::{Scheduler, SchedulerOptions};

use crate::support::test_plugins::Calls;
use crate::support::world::{START, frameworks, node, pod};

fn extender(verbs: [&str; 4], ignorable: bool) -> Extender {
    let [filter, prioritize, preempt, bind] = verbs.map(str::to_owned);
    Extender {
        url_prefix: "http://alpha.example.com/ext".to_owned(),
        filter_verb: filter,
        prioritize_verb: prioritize,
        preempt_verb: preempt,
        bind_verb: bind,
        weight: 1,
        node_cache_capable: true,
        managed_resources: BTreeSet::new(),
        ignorable,
        http_timeout: Duration::from_secs(5),
        enable_https: false,
        tls: None,
    }
}

fn scheduler(extenders: Vec<Extender>, manifest: &str) -> Scheduler {
    let options = SchedulerOptions { extenders, ..SchedulerOptions::default() };
    let mut scheduler =
        Scheduler::new(frameworks(None, &Calls::default(), &FeatureGates::default()), options).unwrap();
    let sources = [schedscope::api::manifest::Source { name: "test".to_owned(), text: manifest.to_owned() }];
    let loaded = schedscope::api::manifest::load(&sources).unwrap();
    let (api, _) =
        schedscope::driver::sandbox::api::SandboxApi::from_manifests(loaded, &sources, START).unwrap();
    for object in api.objects().iter() {
        scheduler.handle(START, Input::Added(object));
    }
    assert_eq!(scheduler.poll_effect(), None);
    scheduler
}

/// The calls that the scheduler makes now, with their verbs.
fn calls(scheduler: &mut Scheduler) -> Vec<(Effect, ExtenderVerb, String)> {
    std::iter::from_fn(|| scheduler.poll_effect())
        .filter_map(|effect| match &effect.kind {
            EffectKind::CallExtender(call) => Some((effect.clone(), call.verb, call.body.clone())),
            _ => None,
        })
        .collect()
}

fn answer(scheduler: &mut Scheduler, effect: &Effect, body: &str) {
    let answer = ExtenderAnswer::Http { status: 200, body: body.to_owned() };
    scheduler.handle(START, Input::ExtenderAnswered { id: effect.id, answer });
}

#[test]
fn filter_and_prioritize_are_asked_in_turn_and_decide() {
    let manifest = node("a", "4") + &node("b", "4") + &node("c", "4") + &pod("web", "1", "", "");
    let mut scheduler = scheduler(vec![extender(["filter", "prioritize", "", ""], false)], &manifest);
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let asked = calls(&mut scheduler);
    let [(filter, ExtenderVerb::Filter, body)] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(body.contains(r#""NodeNames":["a","b","c"]"#), "{body}");
    assert!(!scheduler.can_schedule(), "the attempt waits for the answer");
    answer(&mut scheduler, filter, r#"{"NodeNames":["a","c"],"FailedNodes":{"b":"too hot"}}"#);
    let asked = calls(&mut scheduler);
    let [(prioritize, ExtenderVerb::Prioritize, body)] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(body.contains(r#""NodeNames":["a","c"]"#), "{body}");
    answer(&mut scheduler, prioritize, r#"[{"Host":"c","Score":7}]"#);
    let bound = std::iter::from_fn(|| scheduler.poll_effect()).find_map(|effect| match effect.kind {
        EffectKind::Bind { node, .. } => Some(node),
        _ => None,
    });
    assert_eq!(bound.as_deref(), Some("c"));
    let trace = scheduler.view().cycle.unwrap();
    assert_eq!(trace.score.as_ref().unwrap().extenders[0].1, [0, 70], "a score counts ten times");
}

#[test]
fn what_an_extender_turns_down_is_in_the_message_and_wakes_on_any_event() {
    let manifest = node("a", "4") + &pod("web", "1", "", "");
    let mut scheduler = scheduler(vec![extender(["filter", "", "", ""], false)], &manifest);
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let asked = calls(&mut scheduler);
    answer(&mut scheduler, &asked[0].0, r#"{"NodeNames":[],"FailedAndUnresolvableNodes":{"a":"too hot"}}"#);
    let view = scheduler.view();
    let CycleOutcome::Unschedulable { message, .. } = &view.cycle.as_ref().unwrap().outcome else { panic!() };
    assert!(message.starts_with("0/1 nodes are available: 1 too hot."), "{message}");
    assert_eq!(view.unschedulable_pods[0].unschedulable_plugins, ["Extender".into()]);
}

#[test]
fn an_extender_that_fails_ends_the_attempt_unless_it_can_be_ignored() {
    let manifest = node("a", "4") + &pod("web", "1", "", "");
    for ignorable in [false, true] {
        let mut scheduler = scheduler(vec![extender(["filter", "", "", ""], ignorable)], &manifest);
        scheduler.handle(START, Input::Command(Command::ScheduleOne));
        let asked = calls(&mut scheduler);
        let failed = ExtenderAnswer::Http { status: 500, body: String::new() };
        scheduler.handle(START, Input::ExtenderAnswered { id: asked[0].0.id, answer: failed });
        let outcome = scheduler.view().cycle.unwrap().outcome.clone();
        if ignorable {
            assert!(matches!(outcome, CycleOutcome::Binding { .. }), "{outcome:?}");
        } else {
            let message =
                "failed filter with extender at URL http://alpha.example.com/ext/filter, code 500".to_owned();
            assert_eq!(outcome, CycleOutcome::Error { message });
        }
    }
}

#[test]
fn an_extender_can_bind_in_the_place_of_the_default_binder() {
    let manifest = node("a", "4") + &pod("web", "1", "", "");
    let mut scheduler = scheduler(vec![extender(["", "", "", "bind"], false)], &manifest);
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let asked = calls(&mut scheduler);
    let [(bind, ExtenderVerb::Bind, body)] = asked.as_slice() else { panic!("{asked:?}") };
    assert!(body.contains(r#""Node":"a""#), "{body}");
    answer(&mut scheduler, bind, "{}");
    assert_eq!(scheduler.view().counts.bound, 1);
}

#[test]
fn an_answer_in_parts_is_waited_for_also_when_stepping() {
    let manifest = node("a", "4") + &node("b", "4") + &pod("web", "1", "", "");
    let two = vec![extender(["filter", "", "", ""], false), extender(["filter", "", "", ""], false)];
    let mut scheduler = scheduler(two, &manifest);
    for _ in 0..3 {
        scheduler.handle(START, Input::Command(Command::NextPhase));
    }
    for body in [r#"{"NodeNames":["a","b"]}"#, r#"{"NodeNames":["b"]}"#] {
        let asked = calls(&mut scheduler);
        assert_eq!(asked.len(), 1);
        scheduler.handle(START, Input::Command(Command::NextPhase));
        assert!(calls(&mut scheduler).is_empty(), "a step while the answer is awaited does nothing");
        answer(&mut scheduler, &asked[0].0, body);
    }
    let trace = scheduler.view().cycle.unwrap();
    assert_eq!(trace.filter.as_ref().unwrap().n_feasible(), 1);
    assert_eq!(trace.next, Some(schedscope::scheduler::trace::Phase::Select));
}

#[test]
fn a_nominated_node_is_asked_about_alone_and_the_others_only_if_it_is_turned_down() {
    let pod = pod("web", "1", "", "").replace("---\n", "status: {nominatedNodeName: b}\n---\n");
    let manifest = node("a", "4") + &node("b", "4") + &pod;
    let nodes = |body: &str| {
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        body["NodeNames"].to_string()
    };
    let asked_first = |scheduler: &mut Scheduler| {
        scheduler.handle(START, Input::Command(Command::ScheduleOne));
        let asked = calls(scheduler);
        let [(effect, ExtenderVerb::Filter, body)] = asked.as_slice() else { panic!("{asked:?}") };
        assert_eq!(nodes(body), r#"["b"]"#);
        effect.clone()
    };

    let mut passes = scheduler(vec![extender(["filter", "", "", ""], false)], &manifest);
    let first = asked_first(&mut passes);
    answer(&mut passes, &first, r#"{"NodeNames":["b"]}"#);
    assert!(calls(&mut passes).is_empty());
    assert_eq!(passes.view().cycle.unwrap().selection.as_ref().unwrap().host.as_ref(), "b");

    // The error of the first question is swallowed.
    let mut fails = scheduler(vec![extender(["filter", "", "", ""], false)], &manifest);
    let first = asked_first(&mut fails);
    let failed = ExtenderAnswer::Failed("no connection".to_owned());
    fails.handle(START, Input::ExtenderAnswered { id: first.id, answer: failed });
    let asked = calls(&mut fails);
    let [(second, ExtenderVerb::Filter, body)] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(nodes(body), r#"["a","b"]"#);
    answer(&mut fails, second, r#"{"NodeNames":["a"]}"#);
    assert_eq!(fails.view().cycle.unwrap().selection.as_ref().unwrap().host.as_ref(), "a");
}

#[test]
fn an_extender_can_speak_of_nodes_that_it_was_not_asked_about() {
    let manifest = node("a", "4") + &node("small", "1") + &pod("web", "2", "", "");
    let mut scheduler = scheduler(vec![extender(["filter", "", "", ""], false)], &manifest);
    scheduler.handle(START, Input::Command(Command::ScheduleOne));
    let asked = calls(&mut scheduler);
    answer(&mut scheduler, &asked[0].0, r#"{"NodeNames":[],"FailedNodes":{"small":"not mine","x":"gone"}}"#);
    let trace = scheduler.view().cycle.unwrap();
    let CycleOutcome::Unschedulable { message, .. } = &trace.outcome else { panic!("{:?}", trace.outcome) };
    // Node a was dropped without a word.
    assert!(message.starts_with("0/2 nodes are available: 1 gone, 1 not mine."), "{message}");
    let said = &trace.filter.as_ref().unwrap().by_extenders;
    assert_eq!(said.keys().map(AsRef::as_ref).collect::<Vec<&str>>(), ["small", "x"]);
}
