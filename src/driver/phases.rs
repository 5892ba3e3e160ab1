//! An attempt that was made in one go, gone through phase by phase on a copy.
//!
//! The members of a pod group are tried one after the other in one go, and only the last of them leaves its evidence
//! behind. Who wants to see each goes through the phases again.

use super::breakpoints::Condition;
use super::breakpoints::look::{Before, Found, place_in, places};
use super::history::Entry;
use super::sandbox::ops::SimulatorOp;
use super::sandbox::simulator::Simulator;
use crate::scheduler::trace::{CycleOutcome, CycleTrace};

/// A copy in which the next attempt can be gone through phase by phase, where `entry` is what comes next. What extenders
/// answer is known. Nothing, if there is no attempt.
pub(super) fn alone(machine: &Simulator, entry: Option<&Entry<Simulator>>) -> Option<Simulator> {
    let mut simulator = machine.clone();
    simulator.forget_events();
    match entry {
        Some(Entry { op: SimulatorOp::Recorded(chunk), .. }) => {
            simulator.know_answers(chunk.answers().cloned());
            simulator.leave_recording_alone();
        }
        Some(entry) => {
            simulator.know_answers(entry.outside.answers().iter().map(|answered| answered.answer.clone()))
        }
        None => {}
    }
    simulator.can_step().then_some(simulator)
}

/// The same, where it is an attempt in one go and may be that of a pod group.
pub(super) fn in_phases(machine: &Simulator, entry: &Entry<Simulator>) -> Option<Simulator> {
    let has_groups = !machine.scheduler().objects().pod_groups.is_empty();
    if has_groups && entry.op.is_cycle() { alone(machine, Some(entry)) } else { None }
}

/// Whether nothing is left of the attempt for a person who steps.
pub(super) fn is_over(simulator: &Simulator) -> bool {
    let scheduler = simulator.scheduler();
    !scheduler.is_in_cycle() && !scheduler.has_stepped_binding_cycle()
}

/// The last phase of the next attempt at which a condition is true; not its very last one, where that `is_present`.
pub(super) fn last_in_phases(
    mut simulator: Simulator,
    condition: &Condition,
    is_present: bool,
) -> Option<Found> {
    let mut last = None;
    loop {
        let before = Before::of(&simulator);
        if !simulator.step_phase() {
            break;
        }
        let is_over = is_over(&simulator);
        let found = places(&[condition], &before, simulator.scheduler(), simulator.last_events());
        if let Some(found) = found.into_iter().next_back().filter(|_| !(is_over && is_present)) {
            last = Some(Found { is_last: is_over, ..found });
        }
        if is_over {
            break;
        }
    }
    last
}

/// Shows the evidence of every attempt that is made in the next step of a copy, each once it is over, until `see` answers
/// false. Whether it never did. A member of a pod group that is tried in several placements has several.
pub(super) fn each_attempt(simulator: &mut Simulator, see: &mut impl FnMut(&CycleTrace) -> bool) -> bool {
    let mut before = place_in(simulator.scheduler());
    let mut goes_on = true;
    while simulator.step_phase() {
        let place = place_in(simulator.scheduler());
        if let Some(trace) = simulator.scheduler().newest_trace()
            && place != before
            && trace.outcome != CycleOutcome::InProgress
        {
            goes_on &= see(trace);
        }
        before = place;
        if is_over(simulator) || !goes_on {
            break;
        }
    }
    goes_on
}
