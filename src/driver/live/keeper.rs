//! Keeps what a live session's scheduler is told, so that its past can be looked at.
//!
//! The inputs are the session. They are cut into stretches as those of a recording are, and handed on with what they came
//! to and with copies of the scheduler along the way. Nothing here looks at them again: that is done on another thread
//! ([`super::past`]), on copies, so the live scheduler is not held up.

#![expect(clippy::disallowed_methods, reason = "what it costs to do a stretch again is measured")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::{Duration as Elapsed, Instant};

use crate::api::Time;
use crate::driver::history::{CHECKPOINT_COST_MIN, COPY_COST_FACTOR};
use crate::driver::replay::chunk::{Chunk, Lead};
use crate::driver::sandbox::ops::SimulatorFact;
use crate::driver::sandbox::simulator::Simulator;
use crate::recording::{Header, Record, decisions_check};
use crate::scheduler::Scheduler;
use crate::scheduler::effect::{Effect, EffectId, EffectKind};
use crate::scheduler::input::Input;

use super::past::Word;

/// A stretch that is not over.
#[derive(Debug)]
struct Open {
    chunk: Chunk,
    /// Attempts that were over before it.
    n_outcomes: u64,
}

/// The way of what the scheduler is told to where its past is kept.
#[derive(Debug)]
pub struct Keeper {
    words: Sender<Word>,
    header: Header,
    open: Option<Open>,
    /// The number of the last input.
    number: u64,
    /// What was asked for and not answered yet.
    unanswered: BTreeMap<EffectId, Effect>,
    n_outcomes: u64,
    began: Option<Instant>,
    /// What was done since the last copy has cost so much, and that copy.
    cost: Elapsed,
    copy_cost: Elapsed,
}

impl Keeper {
    /// For a scheduler that has been told nothing yet.
    pub fn new(words: Sender<Word>, header: Header) -> Self {
        Self {
            words,
            header,
            open: None,
            number: 0,
            unanswered: BTreeMap::new(),
            n_outcomes: 0,
            began: None,
            cost: Elapsed::ZERO,
            copy_cost: Elapsed::ZERO,
        }
    }

    /// An input is about to be taken.
    pub fn begin(&mut self, at: Time, input: &Input, scheduler: &Scheduler) {
        let goes_on = self.open.as_ref().is_some_and(|open| match open.chunk.lead {
            Lead::Load => matches!(input, Input::Added(_)),
            _ => Lead::of(input) == Lead::Other && open.chunk.at == at,
        });
        if !goes_on {
            self.flush(scheduler);
        }
        self.n_outcomes = scheduler.n_outcomes();
        self.began = Some(Instant::now());
    }

    /// The scheduler has taken it, and these deeds have followed.
    pub fn took<'a>(&mut self, at: Time, input: Input, effects: impl Iterator<Item = &'a Effect> + Clone) {
        self.cost += self.began.take().map_or(Elapsed::ZERO, |began| began.elapsed());
        if let Input::EffectDone { id, .. } | Input::ExtenderAnswered { id, .. } | Input::Written { id, .. } =
            &input
        {
            self.unanswered.remove(id);
        }
        let decided = decisions_check(effects.clone());
        let deeds = effects.filter(|deed| !matches!(deed.kind, EffectKind::Event(_)));
        self.unanswered.extend(deeds.map(|deed| (deed.id, deed.clone())));
        let lead = match &input {
            Input::Added(_) if self.number == 0 => Lead::Load,
            input => Lead::of(input),
        };
        self.number += 1;
        let (number, n_outcomes) = (self.number, self.n_outcomes);
        let open = self.open.get_or_insert_with(|| Open {
            chunk: Chunk { number, at, lead, records: Vec::new() },
            n_outcomes,
        });
        open.chunk.at = at;
        open.chunk.records.push(Record::Input { at, input: Box::new(input), decided });
    }

    /// Marks the present moment, or says something about it.
    pub fn mark(&mut self, text: &str, is_note: bool, at: Time, scheduler: &Scheduler) {
        self.flush(scheduler);
        self.tell(Word::Mark { text: text.to_owned(), is_note, at });
    }

    /// What has happened up to now is told. Makes a copy of the scheduler if it is time.
    pub fn flush(&mut self, scheduler: &Scheduler) {
        let Some(Open { chunk, n_outcomes }) = self.open.take() else { return };
        let at = chunk.at;
        let changed = if chunk.lead == Lead::Load { Vec::new() } else { chunk.changed() };
        let fact = SimulatorFact::of(scheduler, chunk.at, n_outcomes, changed);
        self.tell(Word::Heard(Arc::new(chunk), Box::new(fact)));
        if self.cost >= CHECKPOINT_COST_MIN.max(self.copy_cost * COPY_COST_FACTOR) {
            let started = Instant::now();
            let copy = scheduler.clone();
            self.copy_cost = started.elapsed();
            let simulator = Simulator::following_from(copy, &self.header, at, self.unanswered.clone());
            let cost = std::mem::take(&mut self.cost);
            self.tell(Word::Checkpoint { simulator: Box::new(simulator), cost });
        }
    }

    /// Nobody keeps it any more when the session has ended.
    fn tell(&self, word: Word) {
        let _ = self.words.send(word);
    }
}
