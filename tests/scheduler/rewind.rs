//! Going back: by phase, by attempt, to the last change of an object; and on from there in another way.

use proptest::prelude::*;
use schedscope::api::{Duration, Kind, NamespacedName};
use schedscope::driver::session::{Advance, BackTo, Edit, RunState, SessionCommand as Tell};
use schedscope::driver::stepper::Stepper;
use schedscope::scheduler::trace::Phase;

use crate::support::world::{node, pod, sandbox};

/// Three pods for two nodes, and one that fits nowhere.
fn stepper() -> Stepper {
    let nodes = node("a", "2") + &node("b", "2");
    let pods = pod("one", "1", "", "") + &pod("two", "1", "", "") + &pod("three", "1", "", "");
    Stepper::new(sandbox(&(nodes + &pods + &pod("zz-big", "8", "", ""))))
}

fn digest(stepper: &Stepper) -> u64 {
    stepper.simulator().scheduler().digest()
}

fn cycles(stepper: &Stepper) -> u64 {
    stepper.simulator().scheduler().counts().cycles
}

fn phase(stepper: &Stepper) -> Option<Phase> {
    stepper.simulator().scheduler().view().cycle.map(|trace| trace.phase)
}

#[test]
fn back_and_on_again_by_phases_gives_the_same_states() {
    let mut stepper = stepper();
    let mut digests = vec![digest(&stepper)];
    for _ in 0..25 {
        stepper.command(Tell::StepPhase);
        digests.push(digest(&stepper));
    }
    for expected in digests.iter().rev().skip(1) {
        stepper.command(Tell::Back(BackTo::Phase));
        assert_eq!(digest(&stepper), *expected);
    }
    assert!(stepper.moment().is_past());
    for expected in digests.iter().skip(1) {
        stepper.command(Tell::StepPhase);
        assert_eq!(digest(&stepper), *expected);
    }
    assert_eq!(stepper.moment().n_branches, 1, "the same steps are the same way");
}

#[test]
fn back_a_cycle_is_back_to_before_it_began() {
    let mut stepper = stepper();
    stepper.command(Tell::StepCycle);
    let before = digest(&stepper);
    stepper.command(Tell::StepCycle);
    let after = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Cycle));
    assert_eq!((cycles(&stepper), digest(&stepper)), (1, before));
    stepper.command(Tell::StepCycle);
    assert_eq!((cycles(&stepper), digest(&stepper)), (2, after));
    stepper.command(Tell::StepPhase);
    stepper.command(Tell::StepPhase);
    stepper.command(Tell::Back(BackTo::Cycle));
    assert_eq!(digest(&stepper), after, "from the middle of an attempt, back to its beginning");
}

#[test]
fn an_attempt_done_in_one_go_can_be_looked_at_phase_by_phase() {
    let mut stepper = stepper();
    stepper.command(Tell::StepCycle);
    let after = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Phase));
    assert_eq!(phase(&stepper), Some(Phase::Bind), "PostBind has not been done yet");
    assert!(stepper.moment().phases_inside > 0);
    stepper.command(Tell::Back(BackTo::Cycle));
    assert_eq!(cycles(&stepper), 0);
    let mut phases = Vec::new();
    for _ in 0..30 {
        stepper.command(Tell::StepPhase);
        phases.extend(phase(&stepper));
        if !stepper.moment().is_past() {
            break;
        }
    }
    assert!(phases.contains(&Phase::Filter) && phases.contains(&Phase::Score), "{phases:?}");
    assert_eq!(digest(&stepper), after);
    assert_eq!(stepper.moment().n_branches, 1);
}

#[test]
fn who_put_this_pod_here_is_the_cycle_that_bound_it() {
    let mut stepper = stepper();
    for _ in 0..4 {
        stepper.command(Tell::StepCycle);
    }
    let key = NamespacedName::new("default", "two");
    stepper.command(Tell::Back(BackTo::Change(Kind::Pod, key.clone())));
    assert_eq!(cycles(&stepper), 3);
    assert!(stepper.notice().unwrap().text.contains("pod default/two was changed in cycle 3"));
    stepper.command(Tell::Back(BackTo::Change(Kind::Pod, key)));
    assert!(stepper.notice().unwrap().text.starts_with("nothing before this moment has changed"));
}

#[test]
fn a_change_in_the_past_begins_a_branch_and_the_first_way_stays() {
    let mut stepper = stepper();
    for _ in 0..4 {
        stepper.command(Tell::StepCycle);
    }
    let first_way = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::Edit(Edit::Cordon("a".into())));
    assert!(stepper.notice().unwrap().text.contains("branch 1"), "{:?}", stepper.notice());
    for _ in 0..4 {
        stepper.command(Tell::StepCycle);
    }
    let scheduler = stepper.simulator().scheduler();
    let on_a = scheduler.objects().pods.values().filter(|pod| pod.spec.node_name.as_ref() == "a").count();
    assert_eq!(on_a, 0);
    stepper.command(Tell::ToBranch(0));
    assert_eq!(digest(&stepper), first_way);
    stepper.command(Tell::ToBranch(7));
    assert!(stepper.notice().unwrap().text.contains("branches are 0 to 1"));
}

#[test]
fn a_change_in_the_middle_of_a_known_attempt_goes_on_from_there() {
    let mut stepper = stepper();
    stepper.command(Tell::StepCycle);
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::StepPhase);
    stepper.command(Tell::StepPhase);
    let phase_before = phase(&stepper);
    stepper.command(Tell::Edit(Edit::Cordon("b".into())));
    assert_eq!(phase(&stepper), phase_before);
    assert!(!stepper.moment().is_past());
    assert_eq!(stepper.moment().branch, 1);
}

#[test]
fn running_in_the_past_plays_what_is_known_and_goes_on_live() {
    let mut stepper = stepper();
    for _ in 0..2 {
        stepper.command(Tell::StepCycle);
    }
    let known = digest(&stepper);
    stepper.command(Tell::Back(BackTo::Start));
    stepper.command(Tell::Run);
    stepper.tick(Duration::from_secs(1), || false);
    assert_eq!(digest(&stepper), known, "the known way first");
    assert_eq!(stepper.run_state(), RunState::Running);
    stepper.tick(Duration::from_secs(1), || false);
    assert_eq!(cycles(&stepper), 4);
    assert_eq!(stepper.moment().n_branches, 1);
}

#[test]
fn the_beginning_and_the_end_say_so() {
    let mut stepper = stepper();
    for to in [BackTo::Phase, BackTo::Cycle, BackTo::Start] {
        stepper.command(Tell::Back(to));
        assert_eq!(stepper.notice().unwrap().text, "this is the beginning of what is known");
    }
    stepper.command(Tell::ToEnd);
    assert_eq!(stepper.notice().unwrap().text, "this is the last moment that is known");
}

fn command() -> impl Strategy<Value = Tell> {
    prop_oneof![
        4 => Just(Tell::StepPhase),
        4 => Just(Tell::StepCycle),
        2 => Just(Tell::Advance(Advance::ToNextTimeout)),
        1 => (1_u64..40).prop_map(|secs| Tell::Advance(Advance::By(Duration::from_secs(secs)))),
        1 => Just(Tell::Edit(Edit::Cordon("a".into()))),
        1 => Just(Tell::Edit(Edit::Uncordon("a".into()))),
        1 => Just(Tell::Edit(Edit::DeletePod(NamespacedName::new("default", "one")))),
        3 => Just(Tell::Back(BackTo::Phase)),
        2 => Just(Tell::Back(BackTo::Cycle)),
        1 => Just(Tell::Back(BackTo::Start)),
        1 => Just(Tell::ToEnd),
        1 => (0_u64..60).prop_map(|secs| Tell::ToElapsed(Duration::from_secs(secs))),
        1 => (0_usize..3).prop_map(Tell::ToBranch),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn wherever_a_person_goes_every_known_moment_has_one_state(commands in proptest::collection::vec(command(), 1..60)) {
        let mut stepper = stepper();
        let mut seen = std::collections::BTreeMap::new();
        for command in commands {
            stepper.command(command);
            let moment = stepper.moment();
            let key = (moment.branch, moment.position, moment.phases_inside);
            let now = digest(&stepper);
            prop_assert_eq!(*seen.entry(key).or_insert(now), now, "{:?}", key);
        }
    }
}
