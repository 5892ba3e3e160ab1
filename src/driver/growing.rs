//! The past of a live cluster: a way that is known up to the present, grows there and is forgotten at its beginning.
//!
//! Whoever goes back looks at copies, and what the scheduler asked for then is not done again: what came of it is known.
//! What is changed in the past, or at the present moment, begins a branch, which is a sandbox of its own (a fork).

use std::sync::Arc;

use super::history::{BranchId, Entry, History, HistoryLimits};
use super::replay::Mark;
use super::replay::chunk::Chunk;
use super::rewind::{Moment, Rewind};
use super::sandbox::ops::{SimulatorFact, SimulatorOp, SimulatorOutside};
use super::sandbox::simulator::Simulator;
use super::session::{NoticeLevel, RunState};
use super::stepper::Stepper;
use super::timeline::Timeline;
use crate::api::{Duration, Str, Time};
use crate::scheduler::input::Input;

/// The memory that the inputs of the past may take, as estimated: 128 MiB.
pub const PAST_BYTES_MAX: usize = 128 << 20;
/// The memory that copies of the scheduler along the way may take, as estimated: less than in a sandbox, for a live
/// cluster may be large.
pub const LIVE_CHECKPOINT_BYTES_MAX: usize = 96 << 20;
/// An input with the object that it brings.
const OBJECT_BYTES: usize = 4_000;
/// Any other input.
const INPUT_BYTES: usize = 250;

/// So far back the last minutes go, and over so many stretches at the most.
const LAST_SPAN: Duration = Duration::from_secs(10 * 60);
const LAST_MAX: usize = 20_000;

/// The way of the live cluster.
pub(super) const LIVE: BranchId = BranchId(0);

/// How much of a growing way is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Growing {
    bytes: usize,
    bytes_max: usize,
}

impl Rewind {
    /// The past of a live session whose scheduler has been told nothing yet.
    pub fn of_live(simulator: Simulator, bytes_max: usize) -> Self {
        let limits =
            HistoryLimits { checkpoint_bytes_max: LIVE_CHECKPOINT_BYTES_MAX, ..HistoryLimits::default() };
        let mut history = History::new(simulator, limits);
        history.give(None, []);
        let mut rewind = Self::with_history(history, None, Vec::new());
        rewind.growing = Some(Growing { bytes: 0, bytes_max });
        rewind
    }

    /// Whether this is the past of a live session, or a branch of it.
    pub fn is_live(&self) -> bool {
        self.growing.is_some()
    }

    /// The live scheduler has been told something. Whoever stands somewhere stays there; the answer is true where that is
    /// no longer kept, and the first moment that is was gone to.
    pub fn hear(&mut self, chunk: Arc<Chunk>, fact: SimulatorFact) -> bool {
        let Some(growing) = &mut self.growing else { return false };
        growing.bytes += bytes_of(&chunk);
        let is_full = growing.bytes > growing.bytes_max;
        let op = SimulatorOp::Recorded(chunk);
        self.history.grow(LIVE, Entry { op, outside: SimulatorOutside::default(), fact });
        is_full && self.forget_the_oldest_of_live()
    }

    /// Forgets a tenth of what may be kept.
    fn forget_the_oldest_of_live(&mut self) -> bool {
        let Some(Growing { bytes, bytes_max }) = self.growing else { return false };
        let first = self.history.first_of(LIVE);
        let weights: Vec<usize> = (first..self.history.end_of(LIVE))
            .map(|position| self.history.entry_in(LIVE, position).map_or(0, |entry| weight(&entry.op)))
            .collect();
        let mut to_go = bytes.saturating_sub(bytes_max - bytes_max / 10);
        let n = weights.iter().take_while(|weight| {
            let is_more = to_go > 0;
            to_go = to_go.saturating_sub(**weight);
            is_more
        });
        let wanted = first + n.count();
        let was_there = self.history.forget_before(LIVE, wanted);
        let n_gone = self.history.first_of(LIVE) - first;
        let gone: usize = weights.iter().take(n_gone).sum();
        if let Some(growing) = &mut self.growing {
            growing.bytes -= gone.min(growing.bytes);
        }
        let first = self.history.first_of(LIVE);
        self.marks.retain(|mark| mark.branch != LIVE.0 || mark.position >= first);
        if was_there {
            self.inside = None;
        }
        was_there
    }

    /// Takes over a copy of the live scheduler as it is now.
    pub fn take_live_checkpoint(&mut self, simulator: Simulator, cost: std::time::Duration) {
        let end = self.history.end_of(LIVE);
        self.history.take_checkpoint(LIVE, end, simulator, cost);
    }

    /// Somebody has marked the present moment of the live session, or has said something about it.
    pub fn mark_live(&mut self, text: &str, is_note: bool, at: Time) {
        let (branch, position) = (LIVE.0, self.history.end_of(LIVE));
        self.marks.push(Mark { branch, position, at, text: Str::from(text), is_note });
        self.marks_version += 1;
    }

    /// Goes to the present moment of the live session.
    pub fn go_to_live(&mut self) {
        self.inside = None;
        self.history.seek_in(LIVE, self.history.end_of(LIVE));
    }

    /// What happened when to the live cluster, and where it stands. To be asked on its way.
    pub fn timeline_of_live(&mut self) -> (Arc<Timeline>, Moment) {
        let moment = self.moment();
        (self.timeline(), Moment { position: moment.end, ..moment })
    }

    /// A copy of the live scheduler as it is now, with where that is.
    pub fn present_of_live(&self) -> Option<(usize, Simulator)> {
        self.copy_of_live(self.history.end_of(LIVE))
    }

    /// The same as it was some minutes ago, as far as that is kept.
    pub fn last_minutes_of_live(&self) -> Option<(usize, Simulator)> {
        let now = self.now_of_live();
        let end = self.history.end_of(LIVE);
        let first = self.history.first_of(LIVE).max(end.saturating_sub(LAST_MAX));
        let is_recent = |position: &usize| {
            let entry = self.history.entry_in(LIVE, *position);
            entry.is_some_and(|entry| now.saturating_since(entry.fact.at) <= LAST_SPAN)
        };
        let begin = (first..end).rev().take_while(is_recent).last().unwrap_or(end);
        self.copy_of_live(begin)
    }

    fn copy_of_live(&self, wanted: usize) -> Option<(usize, Simulator)> {
        let (mut position, mut copy) = self.history.copy_before(LIVE, wanted)?;
        while position < wanted {
            self.history.redo(&mut copy, LIVE, position)?;
            position += 1;
        }
        Some((position, copy))
    }

    /// When something has happened to the live scheduler last.
    pub fn now_of_live(&self) -> Time {
        let last = self.history.end_of(LIVE).checked_sub(1);
        let last = last.and_then(|last| self.history.entry_in(LIVE, last));
        last.map_or(self.simulator().start(), |entry| entry.fact.at)
    }

    /// What the live scheduler was told from a position on.
    pub fn chunks_of_live(&self, from: usize) -> impl Iterator<Item = &Arc<Chunk>> {
        let entries = (from..self.history.end_of(LIVE)).filter_map(|at| self.history.entry_in(LIVE, at));
        entries.filter_map(|entry| match &entry.op {
            SimulatorOp::Recorded(chunk) => Some(chunk),
            _ => None,
        })
    }

    /// Whether this is the present moment of the live session.
    pub fn is_at_live(&self) -> bool {
        self.is_live() && self.is_at_end_of_recording()
    }

    /// Whether this is the way of the live session, and no fork.
    pub fn is_on_live_way(&self) -> bool {
        self.is_live() && self.history.branch() == LIVE
    }
}

fn bytes_of(chunk: &Chunk) -> usize {
    let of = |input: &Input| match input {
        Input::Added(_) | Input::Updated { .. } => OBJECT_BYTES,
        _ => INPUT_BYTES,
    };
    chunk.inputs().map(of).sum()
}

fn weight(op: &SimulatorOp) -> usize {
    match op {
        SimulatorOp::Recorded(chunk) => bytes_of(chunk),
        _ => 0,
    }
}

impl Stepper {
    /// Begins a branch of this moment: a paused sandbox with the cluster, the queue and the clock as they are here.
    pub(super) fn fork(&mut self) {
        self.run_state = RunState::Paused;
        if self.rewind.moment().is_recorded && !self.rewind.is_live() {
            return self.leave_recording();
        }
        if !self.rewind.moment().is_recorded && !self.rewind.is_past() {
            let branch = self.moment().branch;
            let said = format!("this is the end of branch {branch} already: it goes on with what you change");
            return self.say(NoticeLevel::Info, said);
        }
        let is_of_live = self.rewind.is_on_live_way();
        self.rewind.apply(SimulatorOp::Leave(None));
        let branch = self.moment().branch;
        let said = if is_of_live {
            format!(
                "forked: branch {branch} is a paused sandbox, and nothing of it reaches the cluster, which goes on \
                 (:branch 0)"
            )
        } else {
            format!("this is branch {branch} now; the rest stays as it was")
        };
        self.say(NoticeLevel::Info, said);
    }
}
