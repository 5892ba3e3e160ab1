//! Finding a place in what is known: a marker, the next attempt of a pod, the next failure or preemption, a text.

use crate::api::NamespacedName;
use crate::scheduler::trace::CycleOutcome;
use crate::scheduler::view::CycleSummary;

use super::rewind::Rewind;
use super::sandbox::ops::SimulatorFact;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A marker or a note.
    Mark,
    /// The end of an attempt of the pod.
    CycleOf(NamespacedName),
    /// A pod that was evicted to make room.
    Preemption,
    /// An attempt that failed.
    Failure,
    /// A text in the name of a pod, a node or another object that changed, in what an attempt came to (the node, the
    /// plugins, the message), or in a marker or a note; no matter the case.
    Text(String),
}

/// Where to go in what is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SeekTo {
    /// The next such moment.
    Next(Wanted),
    /// The last such moment before.
    Previous(Wanted),
    /// The marker of that name, wherever it is on this branch.
    Marker(String),
    /// The moment behind so many of the operations that are kept.
    Position(usize),
    /// So many hundredths of the way.
    Percent(u8),
}

/// What came of looking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// The present moment is it now; what was found, in a sentence if there is something to say.
    There(Option<String>),
    /// There is none.
    Nothing,
    /// There is none in what was looked through so far, which is so many hundredths.
    NotYet(u8),
}

impl Rewind {
    /// Goes to a place. Nothing moves where it is not found.
    pub fn seek_to(&mut self, to: &SeekTo) -> Found {
        match to {
            SeekTo::Next(wanted) => self.seek_next(wanted),
            SeekTo::Previous(wanted) => self.seek_previous(wanted),
            SeekTo::Marker(name) => {
                let found = self
                    .marks_on_way()
                    .find(|mark| !mark.is_note && mark.text.eq_ignore_ascii_case(name))
                    .map(|mark| mark.position);
                self.arrive(found)
            }
            SeekTo::Position(position) => {
                let to = self.start() + position;
                let to = to.min(self.end());
                self.arrive(Some(to))
            }
            SeekTo::Percent(percent) => {
                let whole = self.end() - self.start();
                let to = self.start() + whole * usize::from(*percent.min(&100)) / 100;
                self.arrive(Some(to))
            }
        }
    }

    fn seek_next(&mut self, wanted: &Wanted) -> Found {
        let from = self.position();
        let mark = self
            .marks_on_way()
            .filter(|mark| is_mark(wanted, &mark.text) && mark.position > from)
            .map(|mark| mark.position)
            .min();
        let known = self.known_to().max(from);
        let n = known - from;
        let found = (from..known)
            .find(|position| !self.work.goes_on(position - from, n) || self.is_wanted(wanted, *position));
        let entry = found.map(|found| found + 1);
        let found = match (mark, entry) {
            (Some(mark), Some(entry)) => Some(mark.min(entry)),
            (mark, entry) => mark.or(entry),
        };
        if found.is_none() && known < self.end() && *wanted != Wanted::Mark {
            return Found::NotYet(self.percent_known());
        }
        self.arrive(found)
    }

    fn seek_previous(&mut self, wanted: &Wanted) -> Found {
        // What was found last lies right before the present moment.
        let from = if self.is_inside() { self.position() } else { self.position().saturating_sub(1) };
        let mark = self
            .marks_on_way()
            .filter(|mark| is_mark(wanted, &mark.text) && mark.position < self.position())
            .map(|mark| mark.position)
            .max();
        let n = from.saturating_sub(self.start());
        let entry = (self.start()..from)
            .rev()
            .find(|position| !self.work.goes_on(from - position, n) || self.is_wanted(wanted, *position));
        self.arrive(mark.max(entry.map(|found| found + 1)))
    }

    fn arrive(&mut self, found: Option<usize>) -> Found {
        let Some(position) = found else { return Found::Nothing };
        if self.work.is_called_off() || !self.go_to_position(position) {
            return Found::Nothing;
        }
        let fact = position.checked_sub(1).and_then(|before| self.fact(before));
        Found::There(fact.and_then(|fact| fact.attempt.as_deref()).map(attempt_text))
    }

    fn is_wanted(&self, wanted: &Wanted, position: usize) -> bool {
        let Some(fact) = self.fact(position) else { return false };
        let before = |count: fn(&SimulatorFact) -> u64| {
            position.checked_sub(1).and_then(|before| self.fact(before)).map_or(0, count)
        };
        match wanted {
            Wanted::Mark => false,
            Wanted::CycleOf(pod) => fact.attempt.as_ref().is_some_and(|attempt| attempt.pod == *pod),
            Wanted::Preemption => fact.preempted > before(|fact| fact.preempted),
            Wanted::Failure => fact.failed > before(|fact| fact.failed),
            Wanted::Text(text) => mentions(fact, text),
        }
    }
}

fn is_mark(wanted: &Wanted, text: &str) -> bool {
    match wanted {
        Wanted::Mark => true,
        Wanted::Text(wanted) => holds(text, wanted),
        Wanted::CycleOf(_) | Wanted::Preemption | Wanted::Failure => false,
    }
}

fn mentions(fact: &SimulatorFact, wanted: &str) -> bool {
    let in_attempt = |attempt: &CycleSummary| {
        holds(&attempt.pod.to_string(), wanted) || holds(&outcome_text(&attempt.outcome), wanted)
    };
    fact.attempt.as_deref().is_some_and(in_attempt)
        || fact.changed.iter().any(|(_, key)| holds(&key.to_string(), wanted))
}

/// Whether a text holds another, no matter the case.
fn holds(text: &str, wanted: &str) -> bool {
    text.to_lowercase().contains(&wanted.to_lowercase())
}

/// An attempt in one sentence.
pub fn attempt_text(attempt: &CycleSummary) -> String {
    format!("cycle {}: {} {}", attempt.number, attempt.pod, outcome_text(&attempt.outcome))
}

fn outcome_text(outcome: &CycleOutcome) -> String {
    match outcome {
        CycleOutcome::InProgress => "is being tried".to_owned(),
        CycleOutcome::Tried { node } => format!("fits on {node} in a trial"),
        CycleOutcome::Waiting { node } => format!("waits at Permit for {node}"),
        CycleOutcome::Binding { node } => format!("goes to {node}"),
        CycleOutcome::Bound { node } => format!("is bound to {node}"),
        CycleOutcome::Unschedulable { message, nominated_node: None } => {
            format!("is unschedulable: {message}")
        }
        CycleOutcome::Unschedulable { message, nominated_node: Some(node) } => {
            format!("is nominated to {node}: {message}")
        }
        CycleOutcome::Error { message } => format!("has failed: {message}"),
        CycleOutcome::Skipped { reason } => format!("is not tried: {reason}"),
    }
}
