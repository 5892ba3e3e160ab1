//! A sandbox that can be taken back: phase by phase, attempt by attempt, to the last change of an object; or a recording
//! that is gone through in the same way, whose future is known, too.
//!
//! What has been done is kept. In the past, steps go along the way that is known, and a change of the cluster begins a
//! branch. A whole attempt that was done in one go can still be looked at phase by phase: the phases are done on a
//! copy, and the way that is known does not change.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{Kind, NamespacedName, Str, Time};
use crate::framework::runtime::Registry;
use crate::recording::{Divergence, Header, HeaderError};

use super::branches::{self, BranchComparison, BranchView};
use super::breakpoints::look::{Before, place_in, places};
use super::breakpoints::{Condition, Hit};
use super::growing::Growing;
use super::history::{BranchId, Entry, History, HistoryLimits};
use super::phases::{alone, in_phases, is_over, last_in_phases};
use super::replay::scan::News;
use super::replay::{Ending, Mark, RecordedSession};
use super::sandbox::ops::{SimulatorFact, SimulatorOp, SimulatorSaid};
use super::sandbox::simulator::Simulator;
use super::session::Edit;
use super::timeline::{Counter, Timeline, TimelineMark};
use super::work::Work;

/// An attempt looked at from inside. The present position is before it.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    simulator: Simulator,
    /// How many phases of it are done.
    n_phases: usize,
}

/// Where in its past and its branches a sandbox stands.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Moment {
    /// Operations before it, from the first that is kept on.
    pub position: usize,
    /// Operations that are known on this branch.
    pub end: usize,
    /// Phases into an attempt that is known as a whole.
    pub phases_inside: usize,
    /// Which branch, from 0.
    pub branch: usize,
    /// How many branches there are.
    pub n_branches: usize,
    /// Whether this branch is a recording.
    pub is_recorded: bool,
}

impl Moment {
    /// Whether more is known than what lies before it.
    pub const fn is_past(&self) -> bool {
        self.position < self.end
    }
}

/// What is known of a recording that is gone through.
#[derive(Clone, Debug)]
pub(super) struct Played {
    ending: Ending,
    /// Up to where each branch was looked through, and where each begins.
    known_to: BTreeMap<BranchId, usize>,
    /// Operations that were looked through, of how many.
    n_known: usize,
    n: usize,
}

/// A sandbox with its past.
#[derive(Clone, Debug)]
pub struct Rewind {
    pub(super) history: History<Simulator>,
    pub(super) inside: Option<Inside>,
    played: Option<Played>,
    /// Present where this is the past of a live session.
    pub(super) growing: Option<Growing>,
    /// What recordings of what leaves it begin with, if that can be recorded.
    pub(super) header: Option<Header>,
    pub(super) marks: Vec<Mark>,
    pub(super) work: Work,
    counter: Counter,
    counted: Option<(BranchId, usize)>,
    timeline: Arc<Timeline>,
    /// Changes whenever the marks do.
    pub(super) marks_version: u64,
    shown_marks: (BranchId, u64),
}

impl Rewind {
    /// A sandbox that has no past yet.
    pub fn new(simulator: Simulator) -> Self {
        Self::with_history(History::new(simulator, HistoryLimits::default()), None, Vec::new())
    }

    /// A recording, where it opens.
    ///
    /// # Errors
    /// If this build can make no scheduler of it.
    pub fn of_recording(
        recorded: &RecordedSession,
        registry: &Registry,
        limits: HistoryLimits,
    ) -> Result<Self, HeaderError> {
        let mut history = recorded.history(registry, limits)?;
        let n = recorded.ways.iter().map(|way| way.chunks.len()).sum();
        let known_to = recorded
            .ways
            .iter()
            .enumerate()
            .map(|(i, way)| (BranchId(i), way.parent.map_or(0, |(_, at)| at)));
        let known_to = known_to.collect();
        let (branch, position) = recorded.opening();
        history.seek_in(BranchId(branch), position);
        let played = Played { ending: recorded.ending.clone(), known_to, n_known: 0, n };
        let mut rewind = Self::with_history(history, Some(played), recorded.marks.clone());
        rewind.stop_at_divergence();
        Ok(rewind)
    }

    pub(super) fn with_history(
        history: History<Simulator>,
        played: Option<Played>,
        marks: Vec<Mark>,
    ) -> Self {
        let branch = history.branch();
        Self {
            history,
            inside: None,
            played,
            growing: None,
            header: None,
            marks,
            work: Work::default(),
            counter: Counter::default(),
            counted: None,
            timeline: Arc::default(),
            marks_version: 1,
            shown_marks: (branch, 0),
        }
    }

    /// Long work is told of there, and asks there whether it is still wanted.
    pub fn set_work(&mut self, work: Work) {
        self.history.set_work(work.clone());
        self.work = work;
    }

    /// The sandbox as it is at the present moment.
    pub fn simulator(&self) -> &Simulator {
        self.inside.as_ref().map_or_else(|| self.history.machine(), |inside| &inside.simulator)
    }

    /// The same, to take its problems or switch its tracing.
    pub fn simulator_mut(&mut self) -> &mut Simulator {
        match &mut self.inside {
            Some(inside) => &mut inside.simulator,
            None => self.history.machine_mut(),
        }
    }

    /// The sandbox before the attempt that is looked at from inside, if one is.
    pub fn machine(&self) -> &Simulator {
        self.history.machine()
    }

    /// The same, for its recording.
    pub fn machine_mut(&mut self) -> &mut Simulator {
        self.history.machine_mut()
    }

    /// Ends the recording, if there is one. A look into an attempt that is known as a whole is no part of it.
    pub fn finish_recording(&mut self, reason: &str) {
        self.history.machine_mut().finish_recording(reason);
    }

    /// Where it stands.
    pub fn moment(&self) -> Moment {
        let start = self.history.start();
        Moment {
            position: self.history.position() - start,
            end: self.history.end() - start,
            phases_inside: self.inside.as_ref().map_or(0, |inside| inside.n_phases),
            branch: self.history.branch().0,
            n_branches: self.history.n_branches(),
            is_recorded: self.history.is_given(),
        }
    }

    /// How the recording ends, if this is one.
    pub fn ending(&self) -> Option<&Ending> {
        self.played.as_ref().map(|played| &played.ending)
    }

    /// Where the replay differs from its recording, if this is that moment.
    pub fn divergence(&self) -> Option<&Arc<Divergence>> {
        self.history.machine().divergence()
    }

    /// Whether this is the last moment of a recording: nothing comes by itself.
    pub fn is_at_end_of_recording(&self) -> bool {
        self.inside.is_none() && self.history.is_given() && !self.is_past()
    }

    /// How many copies of the scheduler there are along the way, and about how many bytes they take.
    pub fn checkpoints(&self) -> (usize, usize) {
        (self.history.n_checkpoints(), self.history.checkpoint_bytes())
    }

    /// Whether the present moment is inside an attempt that is known as a whole.
    pub fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// The position of the present moment.
    pub fn position(&self) -> usize {
        self.history.position()
    }

    /// The first position that is kept.
    pub fn start(&self) -> usize {
        self.history.start()
    }

    /// The last known position of this branch.
    pub fn end(&self) -> usize {
        self.history.end()
    }

    /// What the operation behind a position came to.
    pub fn fact(&self, position: usize) -> Option<&SimulatorFact> {
        self.history.entry(position).map(|entry| &entry.fact)
    }

    /// The position up to which it is known what operations came to.
    pub fn known_to(&self) -> usize {
        let branch = self.history.branch();
        let known = |played: &Played| played.known_to.get(&branch).copied();
        self.played.as_ref().and_then(known).unwrap_or(self.history.end()).min(self.history.end())
    }

    /// How many hundredths of the recording were looked through.
    pub fn percent_known(&self) -> u8 {
        let Some(played) = &self.played else { return 100 };
        u8::try_from(played.n_known * 100 / played.n.max(1)).unwrap_or(100)
    }

    /// Takes what was found out about the recording ahead.
    pub fn take_news(&mut self, news: News) {
        match news {
            News::Facts { branch, from, facts } => {
                let n = facts.len();
                for (i, fact) in facts.into_iter().enumerate() {
                    self.history.learn(branch, from + i, fact);
                }
                if let Some(played) = &mut self.played {
                    played.known_to.insert(branch, from + n);
                    played.n_known += n;
                }
            }
            News::Checkpoint { branch, position, simulator, cost } => {
                self.history.take_checkpoint(branch, position, *simulator, cost);
            }
            News::Diverged { branch, position } => {
                self.history.end_branch_at(branch, position);
                if self.history.branch() == branch && self.history.position() > position {
                    self.go_to_position(position);
                }
            }
        }
    }

    /// Behind a difference nothing of the recording has any meaning: it ends there.
    fn stop_at_divergence(&mut self) {
        if self.inside.is_some() || self.is_at_end_of_recording() {
            return;
        }
        let Some(divergence) = self.divergence() else { return };
        let number = divergence.input();
        let is_before = |entry: &Entry<Simulator>| match &entry.op {
            SimulatorOp::Recorded(chunk) => chunk.number <= number,
            _ => false,
        };
        let Some(at) = self.history.find_back(self.history.position(), is_before) else { return };
        let branch = self.history.branch();
        self.history.end_branch_at(branch, at + 1);
        self.history.seek_surely(at + 1);
    }

    /// Goes to a position of this branch.
    pub fn go_to_position(&mut self, position: usize) -> bool {
        let has_moved = self.history.seek(position.min(self.history.end()));
        if has_moved {
            self.inside = None;
            self.stop_at_divergence();
        }
        has_moved
    }

    /// Marks the present moment, or says something about it.
    pub fn mark(&mut self, text: &str, is_note: bool) {
        let mark = Mark {
            branch: self.history.branch().0,
            position: self.history.position(),
            at: self.simulator().now(),
            text: Str::from(text),
            is_note,
        };
        // Who comes here again need not be told twice.
        let is_same = |known: &Mark| known.text == mark.text && known.is_note == is_note;
        if self.marks_on_way().any(|known| known.position == mark.position && is_same(known)) {
            return;
        }
        self.marks.push(mark);
        self.marks_version += 1;
        let machine = self.history.machine_mut();
        if is_note { machine.note(text) } else { machine.mark(text) }
    }

    /// The markers and notes on the present way.
    pub fn marks_on_way(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().filter(|mark| {
            mark.position >= self.start()
                && mark.position <= self.end()
                && self.history.is_on_way(BranchId(mark.branch), mark.position)
        })
    }

    /// What happened when on the present way. Costs as much as what is new.
    pub fn timeline(&mut self) -> Arc<Timeline> {
        let (branch, start, known) = (self.history.branch(), self.start(), self.known_to());
        let mut has_changed = false;
        if self.counted != Some((branch, start)) || self.counter.n() > known.saturating_sub(start) {
            self.counter = Counter::default();
            self.counted = Some((branch, start));
            has_changed = true;
        }
        for position in start + self.counter.n()..known {
            let Some(entry) = self.history.entry(position) else { break };
            self.counter.add(&entry.fact);
            has_changed = true;
        }
        let marks = if self.shown_marks == (branch, self.marks_version) {
            Arc::clone(&self.timeline.marks)
        } else {
            has_changed = true;
            self.shown_marks = (branch, self.marks_version);
            let begin = self.simulator().start();
            let mut marks: Vec<TimelineMark> = self
                .marks_on_way()
                .map(|mark| TimelineMark {
                    position: mark.position - start,
                    elapsed: mark.at - begin,
                    text: mark.text.clone(),
                    is_note: mark.is_note,
                })
                .collect();
            marks.sort_by_key(|mark| mark.position);
            Arc::new(marks)
        };
        if has_changed || self.timeline.n != self.end() - start {
            let begin = self.simulator().start();
            let end =
                self.end().checked_sub(1).and_then(|last| self.fact(last)).map_or(begin, |fact| fact.at);
            self.timeline = Arc::new(self.counter.timeline(begin, self.end() - start, end, marks));
        }
        Arc::clone(&self.timeline)
    }

    /// Whether more is known than what lies before the present moment.
    pub fn is_past(&self) -> bool {
        self.history.position() < self.history.end()
    }

    /// When the operation that is known to come next was over.
    pub fn next_known_at(&self) -> Option<Time> {
        self.history.entry(self.history.position()).map(|entry| entry.fact.at)
    }

    /// Whether the operation that is known to come next is a step of the scheduler.
    pub fn is_step_next(&self) -> bool {
        self.history.entry(self.history.position()).is_some_and(|entry| entry.op.is_step())
    }

    /// What is done next is a branch of its own.
    pub(super) fn begin_branch(&mut self) {
        if self.inside.is_none() && !self.history.is_given() && !self.is_past() {
            self.history.begin_branch();
        }
    }

    /// Does an operation now. What is known of later is left for a branch if it was something else.
    pub fn apply(&mut self, op: SimulatorOp) -> SimulatorSaid {
        if self.history.is_given() {
            let inside = self.inside.take();
            let left = self.history.apply(self.leave());
            if matches!(op, SimulatorOp::Leave(_)) && inside.is_none() {
                return left;
            }
            self.inside = inside;
        }
        if let Some(inside) = self.inside.take() {
            // Only a branch can go on from the middle of an attempt that was done in one go.
            for _ in 0..inside.n_phases {
                self.history.apply(SimulatorOp::StepPhase);
            }
        }
        self.history.apply(op)
    }

    /// Whether a change that would begin a branch can be made: tried on a copy, since one that fails begins none.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn try_for_branch(&self, edit: &Edit) -> Result<(), String> {
        if self.inside.is_none() && !self.is_past() && !self.history.is_given() {
            return Ok(());
        }
        let mut copy = self.simulator().clone();
        copy.leave_recording_alone();
        copy.edit(edit).map(drop)
    }

    /// Goes one known operation on. False if none is known.
    pub fn follow(&mut self) -> bool {
        self.inside = None;
        let has_moved = self.is_past() && self.history.seek(self.history.position() + 1);
        self.stop_at_divergence();
        has_moved
    }

    /// A step that can do nothing leaves no trace in the past.
    fn step_now(&mut self, op: SimulatorOp) -> bool {
        !self.history.is_given()
            && self.simulator().can_step()
            && self.history.apply(op) == SimulatorSaid::Moved(true)
    }

    /// Does one phase, along the known way in the past. False if there is nothing to do.
    pub fn step_phase(&mut self) -> bool {
        if let Some(inside) = &mut self.inside {
            let has_moved = inside.simulator.step_phase();
            inside.n_phases += 1;
            if !has_moved || is_over(&inside.simulator) {
                self.follow();
            }
            return true;
        }
        if !self.is_past() {
            return self.step_now(SimulatorOp::StepPhase);
        }
        while self.is_past() {
            match self.history.entry(self.history.position()).map(|entry| &entry.op) {
                Some(op) if op.is_time_alone() => {
                    self.follow();
                }
                Some(op) if op.is_cycle() => {
                    if !self.go_inside(1) {
                        return self.follow();
                    }
                    return true;
                }
                Some(_) | None => return self.follow(),
            }
        }
        true
    }

    /// Does the rest of the attempt or a whole one, along the known way in the past. False if there is nothing to do.
    pub fn step_cycle(&mut self) -> bool {
        if self.inside.is_some() {
            return self.follow();
        }
        if !self.is_past() {
            return self.step_now(SimulatorOp::StepCycle);
        }
        // What a recorded step comes to is known for sure when it is done.
        while let Some(is_step) = self.history.entry(self.history.position()).map(|entry| entry.op.is_step())
        {
            let has_moved = self.follow();
            if !has_moved || (is_step && !self.history.machine().scheduler().is_in_cycle()) {
                break;
            }
        }
        true
    }

    /// Goes back to before the last phase. False at the beginning.
    pub fn back_phase(&mut self) -> bool {
        if let Some(inside) = self.inside.take() {
            if inside.n_phases > 1 {
                self.go_inside(inside.n_phases - 1);
            }
            return true;
        }
        let is_deed = |entry: &Entry<Simulator>| !entry.op.is_time_alone();
        let Some(to) = self.history.find_back(self.history.position(), is_deed) else {
            return self.back_to_start();
        };
        let is_whole = self.history.entry(to).is_some_and(|entry| entry.op.is_cycle());
        if self.history.seek(to) && is_whole {
            let n_phases = self.alone().map_or(0, n_phases_of);
            if n_phases > 1 {
                self.go_inside(n_phases - 1);
            }
        }
        true
    }

    /// Goes back to before the attempt that is under way or was made last. False at the beginning.
    pub fn back_cycle(&mut self) -> bool {
        if self.inside.take().is_some() {
            return true;
        }
        let cycles = self.simulator().scheduler().counts().cycles;
        if cycles == 0 {
            return self.back_to_start();
        }
        let is_before = |entry: &Entry<Simulator>| entry.fact.cycles < cycles;
        let before = self.history.find_back(self.history.position(), is_before);
        // The last thing that was done before it; the clock alone may have gone on since.
        let from = before.map_or(self.history.start(), |position| position + 1);
        let is_step = |entry: &Entry<Simulator>| entry.op.is_step();
        let to = self.history.find_on(from, is_step).map_or(from, |position| position - 1);
        self.history.seek(to)
    }

    /// Goes back to the moment just after an object has changed last, or to the change before that if this is that
    /// moment. The answer is what was done then; `None` if nothing has changed it.
    pub fn back_to_change(&mut self, kind: Kind, key: &NamespacedName) -> Option<SimulatorOp> {
        let has_changed = |entry: &Entry<Simulator>| {
            entry.fact.changed.iter().any(|(changed_kind, changed)| *changed_kind == kind && changed == key)
        };
        let position = self.history.position();
        let from = if self.inside.is_some() { position } else { position.saturating_sub(1) };
        let to = self.history.find_back(from, has_changed)?;
        if !self.history.seek(to + 1) {
            return None;
        }
        self.inside = None;
        self.history.entry(to).map(|entry| entry.op.clone())
    }

    /// Goes back to the beginning of what is kept. False if it is there already.
    pub fn back_to_start(&mut self) -> bool {
        let is_elsewhere = self.inside.is_some() || self.history.position() > self.history.start();
        if self.history.seek(self.history.start()) {
            self.inside = None;
        }
        is_elsewhere
    }

    /// Goes on to the last known moment of the branch. False if it is there already.
    pub fn go_to_end(&mut self) -> bool {
        let is_elsewhere = self.inside.is_some() || self.is_past();
        self.go_to_position(self.history.end());
        is_elsewhere
    }

    /// Every branch.
    pub fn branch_views(&self) -> Vec<BranchView> {
        let mut views = branches::views(&self.history);
        if let Some(first) = views.first_mut().filter(|_| self.is_live()) {
            first.change = "the live cluster".to_owned();
        }
        views
    }

    /// Two branches side by side; absent if there is no such branch.
    pub fn compare_branches(&self, branches: [usize; 2]) -> Option<BranchComparison> {
        branches::compare(&self.history, branches, &self.work)
    }

    /// Goes to the end of a branch. False if there is none of that number.
    pub fn go_to_branch(&mut self, branch: usize) -> bool {
        let id = BranchId(branch);
        let end = self.history.branches().find(|(known, ..)| *known == id).map(|(_, _, end)| end);
        let Some(end) = end else { return false };
        let has_moved = self.history.seek_in(id, end);
        if has_moved {
            self.inside = None;
        }
        has_moved
    }

    /// Goes to the first known moment at or after a time, or the last known one.
    pub fn go_to_time(&mut self, at: Time) {
        let is_after = |entry: &Entry<Simulator>| entry.fact.at > at;
        let to = self.history.find_on(self.history.start(), is_after);
        self.go_to_position(to.map_or(self.history.end(), |position| position - 1));
    }

    /// The operations between two positions of the present way, with what they came to.
    pub fn entries(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = &Entry<Simulator>> + '_ {
        range.filter_map(|position| self.history.entry(position))
    }

    /// A copy of the sandbox as it was at a position of the present way, or later, up to the first moment at which
    /// nothing was on its way; at that position if there was none. With the position.
    pub(super) fn copy_when_calm(&self, wanted: usize) -> Option<(usize, Simulator)> {
        let branch = self.history.branch();
        let (mut position, mut copy) = self.history.copy_before(branch, wanted)?;
        let mut at_wanted = None;
        while position < self.history.position() {
            if position >= wanted {
                if copy.is_calm() {
                    return Some((position, copy));
                }
                at_wanted.get_or_insert_with(|| (position, copy.clone()));
            }
            self.history.redo(&mut copy, branch, position)?;
            position += 1;
        }
        at_wanted.or(Some((position, copy)))
    }

    /// The known operations of this branch with what they came to, in order.
    pub fn known(&self) -> impl Iterator<Item = (&SimulatorOp, &SimulatorFact)> + '_ {
        (self.history.start()..self.history.end())
            .filter_map(|position| self.history.entry(position))
            .map(|entry| (&entry.op, &entry.fact))
    }

    /// Goes over what was done since a position again, whole attempts phase by phase, to the first moment at which
    /// `is_there` answers true. False if there is none; it is then where it was.
    pub(super) fn go_again_to(
        &mut self,
        from: usize,
        mut is_there: impl FnMut(&Before, &Simulator) -> bool,
    ) -> bool {
        let to = self.history.position();
        self.inside = None;
        self.history.seek(from.min(to));
        while self.history.position() < to {
            let is_whole =
                self.history.entry(self.history.position()).is_some_and(|entry| entry.op.is_cycle());
            let alone = if is_whole { self.alone() } else { None };
            let Some(mut simulator) = alone else {
                let before = Before::of(self.history.machine());
                self.history.seek(self.history.position() + 1);
                if is_there(&before, self.history.machine()) {
                    return true;
                }
                continue;
            };
            let mut is_here = false;
            let mut n_phases = 0;
            loop {
                let before = Before::of(&simulator);
                if !simulator.step_phase() {
                    break;
                }
                n_phases += 1;
                is_here = is_there(&before, &simulator);
                let is_over = is_over(&simulator);
                if is_here && !is_over {
                    self.inside = Some(Inside { simulator, n_phases });
                    return true;
                }
                if is_here || is_over {
                    break;
                }
            }
            self.history.seek(self.history.position() + 1);
            if is_here {
                return true;
            }
        }
        false
    }

    /// Goes back to the last moment before the present one at which a condition was true. `None` if there is none; it is
    /// then where it was.
    pub fn back_to_condition(&mut self, condition: &Condition) -> Option<Hit> {
        if let Some(hit) = self.back_inside_to(condition) {
            return Some(hit);
        }
        let (here, branch, is_inside) = (self.history.position(), self.history.branch(), self.is_inside());
        let mut end = here;
        while end > self.history.start() {
            let (from, mut copy) = self.history.copy_before(branch, end - 1)?;
            let mut last = None;
            for position in from..end {
                if !self.work.goes_on(here - end + position - from, here - self.history.start()) {
                    return None;
                }
                let before = Before::of(&copy);
                let in_phases =
                    self.history.entry_in(branch, position).and_then(|entry| in_phases(&copy, entry));
                self.history.redo(&mut copy, branch, position)?;
                let is_present = !is_inside && position + 1 == here;
                if let Some(found) = in_phases
                    .filter(|_| before.needs_phases(copy.scheduler()))
                    .and_then(|alone| last_in_phases(alone, condition, is_present))
                {
                    last = Some((position, found));
                    continue;
                }
                let earlier = places(&[condition], &before, copy.scheduler(), copy.last_events());
                let earlier = earlier.into_iter().rfind(|found| !(is_present && found.is_last));
                last = earlier.map(|found| (position, found)).or(last);
            }
            if let Some((position, found)) = last {
                if !self.history.seek(position + 1) {
                    return None;
                }
                self.inside = None;
                if let (Some(at), false) = (found.at.clone(), found.is_last) {
                    self.go_again_to(position, |_, simulator| {
                        place_in(simulator.scheduler()).as_ref() == Some(&at)
                    });
                }
                return found.hit_of(condition).cloned();
            }
            end = from;
        }
        None
    }

    /// The same within the attempt that is looked at from inside.
    fn back_inside_to(&mut self, condition: &Condition) -> Option<Hit> {
        let n_done = self.inside.as_ref()?.n_phases;
        let mut simulator = self.alone()?;
        let mut last = None;
        for n_phases in 1..n_done {
            let before = Before::of(&simulator);
            simulator.step_phase();
            let found = places(&[condition], &before, simulator.scheduler(), simulator.last_events());
            if let Some(hit) = found.last().and_then(|found| found.hit_of(condition)) {
                last = Some((n_phases, hit.clone()));
            }
        }
        let (n_phases, hit) = last?;
        self.go_inside(n_phases);
        Some(hit)
    }

    /// A copy in which the next attempt can be gone through phase by phase. What extenders answer is known.
    fn alone(&self) -> Option<Simulator> {
        alone(self.history.machine(), self.history.entry(self.history.position()))
    }

    /// Goes so many phases into the next attempt. False if there is none.
    fn go_inside(&mut self, n_phases: usize) -> bool {
        let Some(mut simulator) = self.alone() else { return false };
        for _ in 0..n_phases {
            simulator.step_phase();
        }
        self.inside = Some(Inside { simulator, n_phases });
        true
    }
}

/// How many phases the next attempt has.
fn n_phases_of(mut simulator: Simulator) -> usize {
    let mut n = 0;
    while simulator.step_phase() {
        n += 1;
        if is_over(&simulator) {
            break;
        }
    }
    n
}
