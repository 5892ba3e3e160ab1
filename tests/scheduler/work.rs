//! Long work that is called off leaves everything as it was.

use schedscope::api::{Duration, Kind, NamespacedName};
use schedscope::driver::breakpoints::{Condition, DebugCommand};
use schedscope::driver::inspect::{Found, Inspect};
use schedscope::driver::seek::{SeekTo, Wanted};
use schedscope::driver::session::{Advance, BackTo, Edit, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;
use schedscope::driver::work::Work;

use crate::support::world::{node, pod, sandbox};

/// Two nodes, pods for them and one that fits nowhere, all tried; with two branches.
fn stepper() -> Stepper {
    let nodes = node("a", "8") + &node("b", "8");
    let pods: String = (0..6).map(|n| pod(&format!("web-{n}"), "1", "", "")).collect();
    let mut stepper = Stepper::new(sandbox(&(nodes + &pods + &pod("zz-huge", "100", "", ""))));
    for _ in 0..8 {
        stepper.command(Tell::StepCycle);
    }
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::Edit(Edit::Cordon("a".into())));
    for _ in 0..8 {
        stepper.command(Tell::StepCycle);
    }
    stepper
}

fn digest(stepper: &Stepper) -> u64 {
    stepper.simulator().scheduler().digest()
}

fn notice(stepper: &Stepper) -> String {
    stepper.notice().map(|notice| notice.text.clone()).unwrap_or_default()
}

/// Does a command whose person has lost patience before it begins.
fn called_off(stepper: &mut Stepper, command: Tell) {
    let work = Work::default();
    work.call_off(1);
    stepper.set_work(&work);
    stepper.command(command);
    stepper.set_work(&Work::default());
}

#[test]
fn whoever_calls_a_going_off_stays_where_they_are() {
    let condition = Condition::parse("pod == web-0").expect("a condition");
    let ways = [
        Tell::Back(BackTo::Phase),
        Tell::Back(BackTo::Cycle),
        Tell::Back(BackTo::Start),
        Tell::Back(BackTo::Change(Kind::Pod, NamespacedName::new("default", "web-1"))),
        Tell::ToElapsed(Duration::ZERO),
        Tell::ToBranch(0),
        Tell::Seek(SeekTo::Percent(10)),
        Tell::Seek(SeekTo::Position(1)),
        Tell::Seek(SeekTo::Previous(Wanted::Text("web-1".to_owned()))),
        Tell::Debug(DebugCommand::RunBackTo(condition)),
    ];
    for way in ways {
        let mut stepper = stepper();
        // From the middle of an attempt that was made in one go, too.
        for is_inside in [false, true] {
            if is_inside {
                stepper.command(Tell::Back(BackTo::Cycle));
                stepper.command(Tell::StepPhase);
                stepper.command(Tell::StepPhase);
                assert!(stepper.moment().phases_inside > 0);
                if matches!(way, Tell::Back(BackTo::Phase | BackTo::Cycle)) {
                    // That is one step within a copy, and over before it could be called off.
                    continue;
                }
            }
            let before = (digest(&stepper), stepper.moment());
            called_off(&mut stepper, way.clone());
            assert_eq!((digest(&stepper), stepper.moment()), before, "{way:?} inside: {is_inside}");
            assert_eq!(notice(&stepper), "stopped: everything is as it was before", "{way:?}");
        }
        // And it can be done the next time.
        let before = stepper.moment();
        stepper.command(way.clone());
        assert_ne!(stepper.moment(), before, "{way:?}");
    }
}

#[test]
fn what_was_called_off_on_the_way_is_the_same_when_it_is_done_at_last() {
    let mut stepper = stepper();
    let end = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Start));
    let start = digest(&stepper);
    called_off(&mut stepper, Tell::ToEnd);
    assert_eq!(digest(&stepper), start);
    stepper.command(Tell::ToEnd);
    assert_eq!(digest(&stepper), end);
}

#[test]
fn a_comparison_that_is_called_off_is_none() {
    let mut stepper = stepper();
    called_off(&mut stepper, Tell::Compare(0, 1));
    assert!(stepper.comparison().is_none());
    assert_eq!(notice(&stepper), "stopped: everything is as it was before");
    stepper.command(Tell::Compare(0, 1));
    assert!(stepper.comparison().is_some());
}

#[test]
fn a_reading_that_is_called_off_says_so_and_is_made_when_it_is_asked_for_again() {
    let mut stepper = stepper();
    let question = Tell::Inspect(Inspect::Pod(NamespacedName::new("default", "zz-huge")));
    stepper.command(question.clone());
    let work = Work::default();
    work.call_off(1);
    stepper.set_work(&work);
    let inspected = stepper.inspected().expect("an answer");
    assert!(
        matches!(&inspected.found, Found::Nothing(why) if why.contains("You stopped this")),
        "{inspected:?}"
    );
    stepper.command(question);
    let inspected = stepper.inspected().expect("an answer");
    assert!(matches!(&inspected.found, Found::Reading(reading) if reading.nodes.len() == 2), "{inspected:?}");
}

#[test]
fn a_reading_is_made_once_for_a_moment() {
    let mut stepper = stepper();
    stepper.command(Tell::Inspect(Inspect::Pod(NamespacedName::new("default", "zz-huge"))));
    let first = stepper.inspected().expect("an answer");
    stepper.command(Tell::Faster);
    assert!(std::sync::Arc::ptr_eq(&first, &stepper.inspected().expect("an answer")));
    stepper.command(Tell::Edit(Edit::Uncordon("a".into())));
    assert!(!std::sync::Arc::ptr_eq(&first, &stepper.inspected().expect("an answer")));
}

#[test]
fn time_that_was_called_off_on_the_way_has_moved_as_far_as_it_says() {
    let mut stepper = stepper();
    let before = stepper.simulator().now();
    called_off(&mut stepper, Tell::Advance(Advance::By(Duration::from_secs(3600))));
    let by = stepper.simulator().now() - before;
    assert!(by < Duration::from_secs(3600), "{by:?}");
    assert!(notice(&stepper).starts_with("stopped on the way: time has moved on by"), "{}", notice(&stepper));
}
