//! The hand on a sandbox: speed, and running until something has come out.

use schedscope::api::Duration;
use schedscope::driver::session::{RunState, SessionCommand, Speed};
use schedscope::driver::stepper::Stepper;

use crate::support::world::{node, pod, sandbox};

/// No time at all goes by on the wall.
const NO_TIME: Duration = Duration::ZERO;

#[test]
fn every_press_of_faster_and_slower_counts() {
    let mut stepper = Stepper::new(sandbox(&node("a", "4")));
    for _ in 0..3 {
        stepper.command(SessionCommand::Faster);
    }
    let three_up = Speed::Times(1).faster().faster().faster();
    assert_eq!(stepper.speed(), three_up);
    stepper.command(SessionCommand::Slower);
    assert_eq!(stepper.speed(), three_up.slower());
}

#[test]
fn running_to_an_outcome_does_not_wait_for_the_wall_clock() {
    let mut stepper = Stepper::new(sandbox(&(node("a", "1") + &pod("big", "8", "", ""))));
    stepper.command(SessionCommand::StepCycle);
    let outcomes = stepper.simulator().scheduler().n_outcomes();
    let before = stepper.simulator().now();
    stepper.command(SessionCommand::RunToOutcome);
    stepper.tick(NO_TIME, || false);
    assert_eq!(stepper.run_state(), RunState::Paused);
    assert_eq!(stepper.simulator().scheduler().n_outcomes(), outcomes + 1);
    assert!(stepper.simulator().now() >= before + Duration::from_secs(300), "the flush woke it");
}
