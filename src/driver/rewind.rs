//! A sandbox that can be taken back: phase by phase, attempt by attempt, to the last change of an object.
//!
//! What has been done is kept. In the past, steps go along the way that is known, and a change of the cluster begins a
//! branch. A whole attempt that was done in one go can still be looked at phase by phase: the phases are done on a
//! copy, and the way that is known does not change.

use crate::api::{Kind, NamespacedName, Time};
use crate::scheduler::trace::Phase;

use super::branches::{self, BranchComparison, BranchView};
use super::breakpoints::look::{Before, places};
use super::breakpoints::{Condition, Hit};
use super::history::{BranchId, Entry, History, HistoryLimits};
use super::sandbox::ops::{SimulatorFact, SimulatorOp, SimulatorSaid};
use super::sandbox::simulator::Simulator;

/// An attempt looked at from inside. The present position is before it.
#[derive(Clone, Debug)]
struct Inside {
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
}

impl Moment {
    /// Whether more is known than what lies before it.
    pub const fn is_past(&self) -> bool {
        self.position < self.end
    }
}

/// A sandbox with its past.
#[derive(Clone, Debug)]
pub struct Rewind {
    history: History<Simulator>,
    inside: Option<Inside>,
}

impl Rewind {
    /// A sandbox that has no past yet.
    pub fn new(simulator: Simulator) -> Self {
        Self { history: History::new(simulator, HistoryLimits::default()), inside: None }
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
            n_branches: self.history.branches().count(),
        }
    }

    /// Whether more is known than what lies before the present moment.
    pub fn is_past(&self) -> bool {
        self.history.position() < self.history.end()
    }

    /// When the operation that is known to come next was over.
    pub fn next_known_at(&self) -> Option<Time> {
        self.history.entry(self.history.position()).map(|entry| entry.fact.at)
    }

    /// Does an operation now. What is known of later is left for a branch if it was something else.
    pub fn apply(&mut self, op: SimulatorOp) -> SimulatorSaid {
        if let Some(inside) = self.inside.take() {
            // Only a branch can go on from the middle of an attempt that was done in one go.
            for _ in 0..inside.n_phases {
                self.history.apply(SimulatorOp::StepPhase);
            }
        }
        self.history.apply(op)
    }

    /// Goes one known operation on. False if none is known.
    pub fn follow(&mut self) -> bool {
        self.inside = None;
        self.is_past() && self.history.seek(self.history.position() + 1)
    }

    /// A step that can do nothing leaves no trace in the past.
    fn step_now(&mut self, op: SimulatorOp) -> bool {
        self.simulator().can_step() && self.history.apply(op) == SimulatorSaid::Moved(true)
    }

    /// Does one phase, along the known way in the past. False if there is nothing to do.
    pub fn step_phase(&mut self) -> bool {
        if let Some(inside) = &mut self.inside {
            inside.simulator.step_phase();
            inside.n_phases += 1;
            if is_over(&inside.simulator) {
                self.follow();
            }
            return true;
        }
        if !self.is_past() {
            return self.step_now(SimulatorOp::StepPhase);
        }
        while self.is_past() {
            match self.history.entry(self.history.position()).map(|entry| &entry.op) {
                Some(SimulatorOp::TimeTo(_)) => {
                    self.follow();
                }
                Some(SimulatorOp::StepCycle) => {
                    self.go_inside(1);
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
        let is_end = |entry: &Entry<Simulator>| entry.op.is_step() && !entry.fact.is_in_cycle;
        let to = self.history.find_on(self.history.position(), is_end).unwrap_or(self.history.end());
        self.history.seek(to)
    }

    /// Goes back to before the last phase. False at the beginning.
    pub fn back_phase(&mut self) -> bool {
        if let Some(inside) = self.inside.take() {
            if inside.n_phases > 1 {
                self.go_inside(inside.n_phases - 1);
            }
            return true;
        }
        let is_deed = |entry: &Entry<Simulator>| !matches!(entry.op, SimulatorOp::TimeTo(_));
        let Some(to) = self.history.find_back(self.history.position(), is_deed) else {
            return self.back_to_start();
        };
        let is_whole = self.history.entry(to).is_some_and(|entry| entry.op == SimulatorOp::StepCycle);
        self.history.seek(to);
        if is_whole {
            let n_phases = n_phases_of(self.history.machine());
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
        self.inside = None;
        self.history.seek(to + 1);
        self.history.entry(to).map(|entry| entry.op.clone())
    }

    /// Goes back to the beginning of what is kept. False if it is there already.
    pub fn back_to_start(&mut self) -> bool {
        let has_moved = self.inside.take().is_some() || self.history.position() > self.history.start();
        self.history.seek(self.history.start());
        has_moved
    }

    /// Goes on to the last known moment of the branch. False if it is there already.
    pub fn go_to_end(&mut self) -> bool {
        let has_moved = self.inside.take().is_some() || self.is_past();
        self.history.seek(self.history.end());
        has_moved
    }

    /// Every branch.
    pub fn branch_views(&self) -> Vec<BranchView> {
        branches::views(&self.history)
    }

    /// Two branches side by side; absent if there is no such branch.
    pub fn compare_branches(&self, branches: [usize; 2]) -> Option<BranchComparison> {
        branches::compare(&self.history, branches)
    }

    /// Goes to the end of a branch. False if there is none of that number.
    pub fn go_to_branch(&mut self, branch: usize) -> bool {
        let id = BranchId(branch);
        let end = self.history.branches().find(|(known, ..)| *known == id).map(|(_, _, end)| end);
        let Some(end) = end else { return false };
        self.inside = None;
        self.history.seek_in(id, end)
    }

    /// Goes to the first known moment at or after a time, or the last known one.
    pub fn go_to_time(&mut self, at: Time) {
        self.inside = None;
        let is_after = |entry: &Entry<Simulator>| entry.fact.at > at;
        let to = self.history.find_on(self.history.start(), is_after);
        self.history.seek(to.map_or(self.history.end(), |position| position - 1));
    }

    /// The known operations of this branch with what they came to, in order.
    pub fn known(&self) -> impl Iterator<Item = (&SimulatorOp, &SimulatorFact)> + '_ {
        (self.history.start()..self.history.end())
            .filter_map(|position| self.history.entry(position))
            .map(|entry| (&entry.op, &entry.fact))
    }

    /// How many operations lie before the present moment, those that are forgotten included.
    pub(super) fn position(&self) -> usize {
        self.history.position()
    }

    /// Whether it stands within an attempt that is known as a whole.
    pub(super) const fn is_inside(&self) -> bool {
        self.inside.is_some()
    }

    /// Marks this moment in the recording, if there is one.
    pub(super) fn mark(&mut self, name: &str) {
        self.history.machine_mut().mark(name);
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
            let is_whole = self
                .history
                .entry(self.history.position())
                .is_some_and(|entry| entry.op == SimulatorOp::StepCycle);
            if !is_whole {
                let before = Before::of(self.history.machine());
                self.history.seek(self.history.position() + 1);
                if is_there(&before, self.history.machine()) {
                    return true;
                }
                continue;
            }
            let mut simulator = self.copy_for_phases();
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
                let before = Before::of(&copy);
                self.history.redo(&mut copy, branch, position)?;
                let is_present = !is_inside && position + 1 == here;
                let earlier = places(&[condition], &before, &copy);
                let earlier = earlier.into_iter().rfind(|found| !(is_present && found.is_last));
                last = earlier.map(|found| (position, found)).or(last);
            }
            if let Some((position, found)) = last {
                self.inside = None;
                self.history.seek(position + 1);
                if let (Some(at), false) = (found.at, found.is_last) {
                    self.go_again_to(position, |_, simulator| newest(simulator) == Some(at));
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
        let mut simulator = self.copy_for_phases();
        let mut last = None;
        for n_phases in 1..n_done {
            let before = Before::of(&simulator);
            simulator.step_phase();
            let found = places(&[condition], &before, &simulator);
            if let Some(hit) = found.last().and_then(|found| found.hit_of(condition)) {
                last = Some((n_phases, hit.clone()));
            }
        }
        let (n_phases, hit) = last?;
        self.go_inside(n_phases);
        Some(hit)
    }

    /// A copy of the sandbox before the operation that comes next, in which nothing has just happened.
    fn copy_for_phases(&self) -> Simulator {
        let mut simulator = self.history.machine().clone();
        simulator.forget_events();
        simulator
    }

    fn go_inside(&mut self, n_phases: usize) {
        let mut simulator = self.copy_for_phases();
        for _ in 0..n_phases {
            simulator.step_phase();
        }
        self.inside = Some(Inside { simulator, n_phases });
    }
}

/// The newest attempt and how far it has come.
pub(super) fn newest(simulator: &Simulator) -> Option<(u64, Phase)> {
    simulator.scheduler().newest_trace().map(|trace| (trace.number, trace.phase))
}

/// Whether nothing is left of the attempt for a person who steps.
fn is_over(simulator: &Simulator) -> bool {
    let scheduler = simulator.scheduler();
    !scheduler.is_in_cycle() && !scheduler.has_stepped_binding_cycle()
}

/// How many phases the next attempt has.
fn n_phases_of(simulator: &Simulator) -> usize {
    let mut simulator = simulator.clone();
    let mut n = 0;
    while simulator.step_phase() {
        n += 1;
        if is_over(&simulator) {
            break;
        }
    }
    n
}
