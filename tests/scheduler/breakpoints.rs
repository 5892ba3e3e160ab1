//! Breakpoints: where they stop, how they count, how one goes back to a condition; and that they change nothing.

use proptest::prelude::*;
use schedscope::api::{Duration, NamespacedName};
use schedscope::driver::breakpoints::{Condition, DebugCommand, Watched};
use schedscope::driver::session::{Advance, BackTo, Edit, RunState, SessionCommand as Tell, Speed};
use schedscope::driver::stepper::Stepper;
use schedscope::scheduler::trace::Phase;

use crate::support::world::{node, pod, sandbox};

/// Two nodes of two cores, three pods of one, and one that fits nowhere.
fn stepper() -> Stepper {
    let nodes = node("a", "2") + &node("b", "2");
    let pods = pod("one", "1", ", labels: {app: web}", "")
        + &pod("two", "1", "", "")
        + &pod("three", "1", ", labels: {app: web}", "");
    Stepper::new(sandbox(&(nodes + &pods + &pod("zz-big", "8", "", ""))))
}

fn condition(text: &str) -> Condition {
    Condition::parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn set(stepper: &mut Stepper, text: &str) {
    let condition = condition(text);
    stepper.command(Tell::Debug(DebugCommand::Break { condition, is_once: false, n_ignored: 0 }));
}

/// Runs until it stops by itself.
fn run(stepper: &mut Stepper) {
    stepper.command(Tell::SetSpeed(Speed::Max));
    stepper.command(Tell::Run);
    for _ in 0..100 {
        if stepper.run_state() == RunState::Paused {
            return;
        }
        stepper.tick(Duration::from_millis(100), || false);
    }
    panic!("it does not stop");
}

/// The pod and the phase of the attempt that is looked at.
fn place(stepper: &Stepper) -> (String, Phase) {
    let trace = stepper.simulator().scheduler().newest_trace().expect("an attempt");
    (trace.pod_key().name.to_string(), trace.phase)
}

fn notice(stepper: &Stepper) -> String {
    stepper.notice().map(|notice| notice.text.clone()).unwrap_or_default()
}

fn hits(stepper: &Stepper) -> Vec<u64> {
    stepper.debug_view().breaks.iter().map(|known| known.n_hits).collect()
}

fn digest(stepper: &Stepper) -> u64 {
    stepper.simulator().scheduler().digest()
}

#[test]
fn it_stops_at_the_phase_at_which_the_condition_becomes_true() {
    for (text, pod, phase) in [
        ("pod == two", "two", Phase::Pop),
        ("pod ~ \"default/th*\"", "three", Phase::Pop),
        ("plugin == NodeResourcesFit && code == UnschedulableAndUnresolvable", "zz-big", Phase::Filter),
        ("pod == two && point == Score", "two", Phase::Score),
        ("pod == two && chosen", "two", Phase::Select),
        ("pod == three && feasible == 2", "three", Phase::Filter),
        ("point == Filter && pod == three && node == a && plugin == TaintToleration", "three", Phase::Filter),
        ("label(app) == web && point == Reserve", "one", Phase::Reserve),
        ("score(NodeResourcesFit) > 0 && pod == three", "three", Phase::Score),
        ("feasible == 0", "zz-big", Phase::Filter),
        ("point == Bind && cycle >= 2", "two", Phase::Bind),
    ] {
        let mut stepper = stepper();
        set(&mut stepper, text);
        run(&mut stepper);
        assert!(notice(&stepper).starts_with("stopped: breakpoint 1 at "), "{text}: {}", notice(&stepper));
        let names = if text == "point == Bind && cycle >= 2" { None } else { Some(pod.to_owned()) };
        let (found, at) = place(&stepper);
        assert_eq!(at, phase, "{text}");
        if let Some(name) = names {
            assert_eq!(found, name, "{text}");
        }
        assert_eq!(hits(&stepper), [1], "{text}");
    }
}

#[test]
fn it_says_what_was_hit_with_the_values() {
    let mut stepper = stepper();
    set(&mut stepper, "plugin == NodeResourcesFit && code ~ unsched && reason ~ \"Insufficient*\"");
    run(&mut stepper);
    let said = notice(&stepper);
    let expected = "stopped: breakpoint 1 at Filter of default/zz-big (cycle 4): plugin NodeResourcesFit, \
                    code UnschedulableAndUnresolvable, reason Insufficient cpu, node ";
    assert!(said.starts_with(expected), "{said}");
    let view = stepper.debug_view();
    assert!(view.stopped.as_deref().is_some_and(|stopped| stopped.starts_with("breakpoint 1 at Filter")));
    stepper.command(Tell::StepPhase);
    assert_eq!(stepper.debug_view().stopped, None);
}

#[test]
fn going_on_from_a_stop_comes_to_the_next_hit_and_counts_each_once() {
    let mut stepper = stepper();
    set(&mut stepper, "point == Score");
    set(&mut stepper, "point == PreScore && pod == three");
    let mut stops = Vec::new();
    loop {
        run(&mut stepper);
        if !notice(&stepper).starts_with("stopped") {
            break;
        }
        stops.push(place(&stepper).1);
    }
    // One of the three pods finds both nodes free, and so do the others: all are scored.
    assert_eq!(stops.iter().filter(|phase| **phase == Phase::Score).count(), 3);
    assert_eq!(stops.iter().filter(|phase| **phase == Phase::PreScore).count(), 1);
    assert_eq!(hits(&stepper), [3, 1]);
}

#[test]
fn once_after_and_off_are_kept() {
    let mut stepper = stepper();
    let once = condition("point == Select");
    stepper.command(Tell::Debug(DebugCommand::Break { condition: once, is_once: true, n_ignored: 0 }));
    run(&mut stepper);
    assert_eq!(place(&stepper).1, Phase::Select);
    assert!(!stepper.debug_view().breaks[0].is_enabled);
    let after = condition("point == Permit");
    stepper.command(Tell::Debug(DebugCommand::Break { condition: after, is_once: false, n_ignored: 2 }));
    run(&mut stepper);
    assert_eq!((place(&stepper).1, stepper.simulator().scheduler().counts().cycles), (Phase::Permit, 3));
    assert_eq!(hits(&stepper), [1, 3]);
    stepper.command(Tell::Debug(DebugCommand::Enable(2, false)));
    run(&mut stepper);
    assert!(notice(&stepper).starts_with("at rest"), "{}", notice(&stepper));
    stepper.command(Tell::Debug(DebugCommand::Delete(1)));
    assert_eq!(stepper.debug_view().breaks.len(), 1);
    stepper.command(Tell::Debug(DebugCommand::Delete(1)));
    assert_eq!(notice(&stepper), "there is no breakpoint or watch 1");
}

#[test]
fn events_moves_and_outcomes_stop_it_too() {
    let mut stepper = stepper();
    set(&mut stepper, "outcome == Unschedulable");
    run(&mut stepper);
    assert!(notice(&stepper).contains("the end of cycle 4 (default/zz-big)"), "{}", notice(&stepper));
    set(&mut stepper, "event == Node/Update && hint == Queue");
    stepper.command(Tell::Run);
    stepper.command(Tell::Edit(Edit::Taint { node: "a".into(), taint: "gpu=yes:NoSchedule".to_owned() }));
    assert_eq!(stepper.run_state(), RunState::Paused, "{}", notice(&stepper));
    assert!(notice(&stepper).contains("event Node/UpdateNodeTaint, hint Queue"), "{}", notice(&stepper));
    // A change that no pod waits for is a change all the same.
    set(&mut stepper, "event == Namespace/Add");
    stepper.command(Tell::Run);
    let text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n".to_owned();
    stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text }));
    assert!(notice(&stepper).contains("a change of namespace shop"), "{}", notice(&stepper));
}

#[test]
fn preemption_and_a_node_other_than_the_nominated_one_stop_it() {
    let on = |node: &str| format!(", terminationGracePeriodSeconds: 5, nodeName: {node}");
    let low = pod("low-1", "2", "", &on("a")) + &pod("low-2", "2", "", &on("b"));
    let high = pod("zz-high", "2", "", ", priority: 100");
    let mut stepper = Stepper::new(sandbox(&(node("a", "2") + &node("b", "2") + &low + &high)));
    set(&mut stepper, "preemption");
    set(&mut stepper, "chosen != last");
    run(&mut stepper);
    assert_eq!(place(&stepper), ("zz-high".to_owned(), Phase::PostFilter));
    let trace = stepper.simulator().scheduler().newest_trace().unwrap();
    let nominated = trace.post_filter.as_ref().unwrap().nominated_node.clone().unwrap();
    set(&mut stepper, "victim ~ low");
    stepper.command(Tell::ToEnd);
    stepper.command(Tell::Edit(Edit::Cordon(nominated.clone())));
    stepper.command(Tell::Edit(Edit::Apply { source: "test".to_owned(), text: node("c", "2") }));
    run(&mut stepper);
    assert!(notice(&stepper).contains(&format!("chosen c, last {nominated}")), "{}", notice(&stepper));
}

#[test]
fn steps_stop_at_breakpoints_on_their_way() {
    let mut stepper = stepper();
    set(&mut stepper, "point == Filter && cycle == 2");
    stepper.command(Tell::StepCycle);
    assert_eq!(stepper.debug_view().stopped, None);
    stepper.command(Tell::StepCycle);
    assert_eq!(place(&stepper).1, Phase::Filter);
    assert!(stepper.moment().phases_inside > 0);
    stepper.command(Tell::StepCycle);
    assert_eq!(stepper.simulator().scheduler().counts().cycles, 2);
    assert!(!stepper.moment().is_past());
    for _ in 0..3 {
        stepper.command(Tell::StepPhase);
    }
    assert_eq!(hits(&stepper), [1]);
    // Going the same way again hits again.
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::Run);
    stepper.tick(Duration::from_secs(60), || false);
    assert_eq!((place(&stepper).1, hits(&stepper)[0]), (Phase::Filter, 2));
}

#[test]
fn run_to_goes_there_and_run_back_to_comes_back() {
    let mut stepper = stepper();
    stepper.command(Tell::Debug(DebugCommand::RunTo(condition("pod == zz-big && feasible == 0"))));
    while stepper.run_state() != RunState::Paused {
        stepper.tick(Duration::from_millis(10), || false);
    }
    assert_eq!(place(&stepper), ("zz-big".to_owned(), Phase::Filter));
    let there = digest(&stepper);
    stepper.command(Tell::ToEnd);
    let end = digest(&stepper);
    // Back to the same place.
    stepper.command(Tell::Debug(DebugCommand::RunBackTo(condition("feasible == 0"))));
    assert!(notice(&stepper).starts_with("back: here at Filter of default/zz-big"), "{}", notice(&stepper));
    assert_eq!(digest(&stepper), there);
    // There is none before it.
    stepper.command(Tell::Debug(DebugCommand::RunBackTo(condition("feasible == 0"))));
    assert!(notice(&stepper).starts_with("that was true at no moment before"), "{}", notice(&stepper));
    assert_eq!(digest(&stepper), there);
    // From inside an attempt to an earlier phase of it, then to the attempts before, the latest first.
    stepper.command(Tell::Debug(DebugCommand::RunBackTo(condition("point == PreFilter"))));
    assert_eq!(place(&stepper), ("zz-big".to_owned(), Phase::PreFilter));
    let mut cycles = Vec::new();
    for _ in 0..3 {
        stepper.command(Tell::Debug(DebugCommand::RunBackTo(condition("point == Select"))));
        assert_eq!(place(&stepper).1, Phase::Select);
        cycles.push(stepper.simulator().scheduler().counts().cycles);
    }
    assert_eq!(cycles, [3, 2, 1]);
    stepper.command(Tell::ToEnd);
    assert_eq!(digest(&stepper), end);
    assert_eq!(stepper.moment().n_branches, 1, "the way that is known stays as it was");
}

#[test]
fn run_to_what_never_comes_ends_at_rest() {
    let mut stepper = stepper();
    stepper.command(Tell::Debug(DebugCommand::RunTo(condition("pod == nobody"))));
    for _ in 0..50 {
        stepper.tick(Duration::from_millis(10), || false);
    }
    assert_eq!(stepper.run_state(), RunState::Paused);
    assert!(notice(&stepper).starts_with("at rest"), "{}", notice(&stepper));
}

#[test]
fn watches_show_values_as_they_change() {
    let mut stepper = stepper();
    for text in ["chosen", "feasible", "attempts > 1", "score(NodeResourcesFit)", "outcome"] {
        stepper.command(Tell::Debug(DebugCommand::Watch(Watched::parse(text).unwrap())));
    }
    let values = |stepper: &mut Stepper| {
        stepper.update_watches();
        stepper.debug_view().watches.iter().map(|watch| watch.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(values(&mut stepper), ["-", "-", "no", "-", "-"]);
    for _ in 0..3 {
        stepper.command(Tell::StepCycle);
        values(&mut stepper);
    }
    stepper.command(Tell::StepCycle);
    assert_eq!(values(&mut stepper), ["-", "0", "no", "-", "Unschedulable"]);
    let view = stepper.debug_view();
    assert_eq!(view.watches[4].before.as_deref(), Some("Bound"));
    assert_eq!((view.watches[1].before.as_deref(), view.watches[1].changed_in), (Some("2"), 4));
    assert_eq!(stepper.run_state(), RunState::Paused);
    assert!(view.watches[3].before.as_deref().is_some_and(|scores| scores.contains(' ')));
}

fn a_condition() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "point == Filter",
        "code == UnschedulableAndUnresolvable",
        "chosen",
        "outcome == Bound",
        "event == Pod/Update",
        "!(node == a)",
        "pod == one || attempts >= 2",
        "margin < 10",
        "queue == backoffQ",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn breakpoints_change_no_state(
        conditions in proptest::collection::vec(a_condition(), 1..4),
        steps in proptest::collection::vec(0_u8..6, 1..14),
    ) {
        let (mut plain, mut watched) = (stepper(), stepper());
        for text in conditions {
            set(&mut watched, text);
            watched.command(Tell::Debug(DebugCommand::Watch(Watched::parse(text).unwrap())));
        }
        for step in steps {
            let command = match step {
                0 | 1 => Tell::StepCycle,
                2 => Tell::Advance(Advance::ToNextTimeout),
                3 => Tell::Edit(Edit::Label { node: "a".into(), label: format!("x={}", plain.moment().end) }),
                4 => Tell::Edit(Edit::DeletePod(NamespacedName::new("default", "one"))),
                _ => Tell::StepPhase,
            };
            plain.command(command.clone());
            watched.command(command);
            watched.update_watches();
            // Where it has stopped within an attempt, the rest of it is the same.
            watched.command(Tell::ToEnd);
            prop_assert_eq!(digest(&plain), digest(&watched));
        }
        prop_assert_eq!(watched.moment().n_branches, 1);
        run(&mut plain);
        for _ in 0..60 {
            run(&mut watched);
            if notice(&watched).starts_with("at rest") {
                break;
            }
        }
        prop_assert_eq!(digest(&plain), digest(&watched));
    }
}

#[test]
fn a_plugin_that_no_profile_runs_is_told_of() {
    let mut stepper = stepper();
    set(&mut stepper, "plugin == NodeResourceFit && code == Unschedulable");
    assert!(notice(&stepper).contains("no profile runs a plugin NodeResourceFit"), "{}", notice(&stepper));
    let watched = Watched::parse("score(ImageLocalty)").unwrap_or_else(|error| panic!("{error}"));
    stepper.command(Tell::Debug(DebugCommand::Watch(watched)));
    assert!(notice(&stepper).contains("no profile runs a plugin ImageLocalty"), "{}", notice(&stepper));
    set(&mut stepper, "plugin == NodeResourcesFit || score(ImageLocality) > 3");
    assert!(!notice(&stepper).contains("no profile"), "{}", notice(&stepper));
}
