//! The last minutes of a session that is too long to be recorded from its start, as a recording of a run of its own.
//!
//! The state of a scheduler cannot be written down, so a recording cannot begin in the middle of one. What can be written
//! down is the cluster. So a scheduler is begun anew on the cluster as it was some minutes ago, at a moment at which
//! nothing was on its way if there was one, and what was done since is done with it. That run is recorded, with its own
//! decisions and states: it is true of itself. How far it decided as the session did is compared attempt by attempt,
//! told, and noted in the recording.

use std::sync::{Arc, Mutex};

use crate::api::time::human_duration;
use crate::api::{Duration, NamespacedName, Str};
use crate::recording::Header;

use super::history::Entry;
use super::recorder::take_away;
use super::sandbox::answers::{AnswerBook, AnswerCounts};
use super::sandbox::ops::SimulatorOp;
use super::sandbox::simulator::{ExtenderTransport, Simulator};
use super::session::RecordTo;
use super::stepper::Stepper;

/// So far back it goes, in simulated time.
const SPAN: Duration = Duration::from_secs(10 * 60);
/// So many operations are done again at the most.
const OPS_MAX: usize = 10_000;
/// So many attempts are made again at the most.
const ATTEMPTS_MAX: u64 = 1_000;

/// An attempt: the pod, and the node that was chosen.
type Attempt = (NamespacedName, Option<Str>);

impl Stepper {
    /// Saves the last minutes and answers what came of it.
    pub(super) fn save_last_minutes(&self, to: &RecordTo) -> Result<String, String> {
        let Some(desk) = &self.desk else { return Err("this session cannot be recorded".to_owned()) };
        let Some((from, begin)) = self.rewind.copy_when_calm(self.last_minutes_from()) else {
            return Err("nothing is kept of the last minutes".to_owned());
        };
        let header = Header { start: begin.now(), ..desk.header().clone() };
        let registry = self.rewind.machine().scheduler().registry();
        let scheduler = header.scheduler(registry, false).map_err(|error| error.to_string())?;
        let path = desk.path(to);
        let (recorder, tap) = desk.create(&path, &header).map_err(|error| error.to_string())?;
        // What extenders have answered then they answer again: nobody is called.
        let book = Arc::new(AnswerBook::default());
        for entry in self.rewind.entries(self.rewind.start()..from) {
            book.turn_to(entry.outside.answers());
        }
        let tap = (Arc::new(Mutex::new(tap)), true);
        let transport: Arc<dyn ExtenderTransport> = Arc::<AnswerBook>::clone(&book);
        book.turn_to(&[]);
        let mut run = Simulator::begun_anew(scheduler, &begin, tap, transport, None);
        let calm = if begin.is_calm() {
            "nothing was on its way"
        } else {
            "what was on its way (an attempt, bindings, evictions, pods at Permit) begins anew"
        };
        let span = human_duration(self.rewind.machine().now() - begin.now());
        run.mark("the last minutes");
        run.note(&format!(
            "The last {span} of a session that was too long to be kept. A scheduler was begun anew on the cluster as it \
             was then, when {calm}, and the same was done again. Backoffs, numbers of attempts, chance and what plugins \
             keep in memory were not carried over."
        ));
        let Some(mut outcome) = self.do_again(&mut run, from, &book) else {
            drop(run);
            // What was begun of it is of no use to anybody.
            let _ = recorder.finish();
            take_away(&path);
            return Err(format!("stopped: nothing is saved, and there is no {}", path.display()));
        };
        let AnswerCounts { same, similar, unknown } = book.counts();
        if same + similar + unknown > 0 {
            outcome.push_str(&format!(
                "; extenders were not called again: {same} requests got the answer of then, {similar} the last one about \
                 the same pod, {unknown} none"
            ));
        }
        run.note(&outcome);
        run.finish_recording("saved from the session");
        let stats = recorder.finish().map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(format!(
            "saved the last {span} as a run of their own, {} inputs, to {}: {outcome}",
            stats.inputs,
            path.display()
        ))
    }

    /// The position at which the last minutes begin.
    fn last_minutes_from(&self) -> usize {
        let here = self.rewind.position();
        let (now, cycles) = (self.rewind.machine().now(), self.rewind.machine().scheduler().counts().cycles);
        let is_recent = |position: &usize| {
            self.rewind.fact(*position).is_some_and(|fact| {
                now - fact.at.min(now) <= SPAN && cycles.saturating_sub(fact.cycles) < ATTEMPTS_MAX
            })
        };
        let first = self.rewind.start().max(here.saturating_sub(OPS_MAX));
        (first..here).rev().take_while(is_recent).last().unwrap_or(here)
    }

    /// Does with another sandbox what was done since a position, and tells how far it decided alike; nothing if that was
    /// called off.
    fn do_again(&self, run: &mut Simulator, from: usize, book: &AnswerBook) -> Option<String> {
        let mut then: Vec<Attempt> = Vec::new();
        let mut now: Vec<Attempt> = Vec::new();
        let n = self.rewind.position() - from;
        for (at, entry) in self.rewind.entries(from..self.rewind.position()).enumerate() {
            if !self.work.goes_on(at, n) {
                return None;
            }
            let Entry { op, outside, fact } = entry;
            book.turn_to(outside.answers());
            let n_outcomes = run.scheduler().n_outcomes();
            match op {
                SimulatorOp::StepPhase => _ = run.step_phase(),
                SimulatorOp::StepCycle => _ = run.step_cycle(),
                SimulatorOp::NextTimeout | SimulatorOp::TimeTo(_) => run.advance_to(fact.at, |_| true),
                // What could not be done then is not done now, or it is found out now.
                SimulatorOp::Edit(edit) => _ = run.edit(edit),
                SimulatorOp::Request(request) => _ = run.carry_out_request(request),
                SimulatorOp::Recorded(_) | SimulatorOp::Leave(_) | SimulatorOp::Anew(_) => {}
            }
            then.extend(fact.attempt.as_ref().map(|attempt| (attempt.pod.clone(), attempt.host.clone())));
            let attempt = run.scheduler().last_attempt_after(n_outcomes);
            now.extend(attempt.map(|attempt| (attempt.pod, attempt.host)));
        }
        let same = then.iter().zip(&now).take_while(|(then, now)| then == now).count();
        Some(match then.get(same) {
            None if now.len() == same => format!("all {same} attempts came out as they did then"),
            Some((pod, _)) => {
                format!("{same} of {} attempts came out as they did then, up to one of {pod}", then.len())
            }
            None => format!(
                "all {same} attempts came out as they did then, and {} more were made",
                now.len() - same
            ),
        })
    }
}
