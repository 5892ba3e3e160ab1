//! What a person does with a sandbox, as operations of a [`Machine`]: so a sandbox can be taken back.

use std::sync::{Arc, Mutex, PoisonError};

use crate::api::{Kind, NamespacedName, Time};
use crate::driver::history::{Done, Machine};
use crate::driver::recorder::RecordingTap;
use crate::driver::replay::chunk::{Chunk, Lead};
use crate::driver::session::Edit;
use crate::scheduler::Scheduler;
use crate::scheduler::view::CycleSummary;

use super::answers::Answered;
use super::requests::{Answer, ClientRequest};
use super::simulator::{Notes, SharedTap, Simulator};

/// One thing that is done with a sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulatorOp {
    /// The next phase of the attempt, or the beginning of one.
    StepPhase,
    /// The rest of the attempt, or a whole one.
    StepCycle,
    /// Time goes to where something happens by itself next.
    NextTimeout,
    /// Time goes there without a stop on the way.
    TimeTo(Time),
    /// The cluster changes.
    Edit(Edit),
    /// A client of the API that is served has something written.
    Request(Arc<ClientRequest>),
    /// What was recorded happens again.
    Recorded(Arc<Chunk>),
    /// The recording, or the live cluster, is left: from here on it is a sandbox. What happens then can be recorded by
    /// that way, if there is one.
    Leave(Option<TapOfBranch>),
    /// The scheduler is begun anew on the cluster as it is, and recorded from there on.
    Anew(Anew),
}

/// The way to the recording of a branch.
#[derive(Clone, Debug)]
pub struct TapOfBranch {
    tap: SharedTap,
    /// Inputs in it before the branch began.
    behind: u64,
}

impl TapOfBranch {
    /// For a branch that begins now.
    pub fn new(tap: RecordingTap) -> Self {
        let behind = tap.inputs();
        Self { tap: Arc::new(Mutex::new(tap)), behind }
    }
}

impl PartialEq for TapOfBranch {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tap, &other.tap)
    }
}

impl Eq for TapOfBranch {}

/// A scheduler that knows of nothing yet, and the way to its recording.
#[derive(Clone, Debug)]
pub struct Anew {
    scheduler: Arc<Mutex<Scheduler>>,
    tap: SharedTap,
}

impl Anew {
    /// Both.
    pub fn new(scheduler: Scheduler, tap: SharedTap) -> Self {
        Self { scheduler: Arc::new(Mutex::new(scheduler)), tap }
    }
}

impl PartialEq for Anew {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.tap, &other.tap)
    }
}

impl Eq for Anew {}

impl SimulatorOp {
    /// Whether it is a step of the scheduler.
    pub fn is_step(&self) -> bool {
        match self {
            Self::StepPhase | Self::StepCycle => true,
            Self::Recorded(chunk) => chunk.is_step(),
            Self::NextTimeout
            | Self::TimeTo(_)
            | Self::Edit(_)
            | Self::Request(_)
            | Self::Leave(_)
            | Self::Anew(_) => false,
        }
    }

    /// Whether it is an attempt, or the rest of one, in one go.
    pub fn is_cycle(&self) -> bool {
        match self {
            Self::StepCycle => true,
            Self::Recorded(chunk) => chunk.lead == Lead::Cycle,
            _ => false,
        }
    }

    /// Whether nothing but the clock moves by it.
    pub fn is_time_alone(&self) -> bool {
        match self {
            Self::TimeTo(_) => true,
            Self::Recorded(chunk) => chunk.lead == Lead::Timeout && chunk.inputs().count() == 1,
            _ => false,
        }
    }
}

/// What an operation has come to, so that it can be found again.
#[derive(Clone, Debug)]
pub struct SimulatorFact {
    /// The time behind it.
    pub at: Time,
    /// Attempts so far.
    pub cycles: u64,
    /// Binds so far.
    pub bound: u64,
    /// Evictions so far.
    pub preempted: u64,
    /// Failed attempts so far.
    pub failed: u64,
    /// Whether an attempt is under way behind it.
    pub is_in_cycle: bool,
    /// The attempt that has ended in it last, if one has.
    pub attempt: Option<Arc<CycleSummary>>,
    /// The objects that it has changed.
    pub changed: Box<[(Kind, NamespacedName)]>,
}

impl SimulatorFact {
    /// What an operation has come to that a scheduler has done, with `n_outcomes` attempts over before it.
    pub fn of(
        scheduler: &Scheduler,
        at: Time,
        n_outcomes: u64,
        changed: Vec<(Kind, NamespacedName)>,
    ) -> Self {
        let counts = scheduler.counts();
        Self {
            at,
            cycles: counts.cycles,
            bound: counts.bound,
            preempted: counts.preempted,
            failed: counts.failed,
            is_in_cycle: scheduler.is_in_cycle(),
            attempt: scheduler.last_attempt_after(n_outcomes).map(Arc::new),
            changed: changed.into(),
        }
    }

    /// Whether anything but the clock has moved since an earlier operation.
    pub fn has_moved_since(&self, before: &Self) -> bool {
        let totals = |fact: &Self| (fact.cycles, fact.bound, fact.preempted, fact.failed, fact.is_in_cycle);
        totals(self) != totals(before) || !self.changed.is_empty()
    }
}

/// What a person is told about an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimulatorSaid {
    /// Whether anything could be done.
    Moved(bool),
    /// What came of a change.
    Edited(Result<String, String>),
    /// What came of a client's request.
    Answered(Answer),
}

/// What came from outside while an operation was done.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SimulatorOutside {
    /// What extenders have answered.
    answers: Box<[Answered]>,
    /// The number of the last input in the recording, if there is one.
    recorded: u64,
}

impl SimulatorOutside {
    /// What extenders have answered.
    pub fn answers(&self) -> &[Answered] {
        &self.answers
    }
}

impl Machine for Simulator {
    type Op = SimulatorOp;
    type Outside = SimulatorOutside;
    type Fact = SimulatorFact;
    type Said = SimulatorSaid;

    fn apply(&mut self, op: &SimulatorOp, outside: Option<&SimulatorOutside>) -> Done<Self> {
        let known = outside.into_iter().flat_map(|outside| outside.answers.iter());
        let known_answers = known.map(|answered| answered.answer.clone()).collect();
        // What is done again is in the recording already.
        self.set_recording(outside.is_none());
        self.notes = Some(Notes { known_answers, ..Notes::default() });
        let n_attempts = self.scheduler().n_outcomes();
        if let SimulatorOp::Leave(Some(TapOfBranch { tap, behind })) = op {
            self.share_tap(Arc::clone(tap), outside.is_none(), *behind);
        }
        if !matches!(op, SimulatorOp::Recorded(_)) {
            self.leave_recording();
        }
        let said = match op {
            SimulatorOp::StepPhase => SimulatorSaid::Moved(self.step_phase()),
            SimulatorOp::StepCycle => SimulatorSaid::Moved(self.step_cycle()),
            SimulatorOp::NextTimeout => SimulatorSaid::Moved(self.go_to_next_timeout()),
            SimulatorOp::TimeTo(to) => {
                self.let_time_go_to(*to);
                SimulatorSaid::Moved(true)
            }
            SimulatorOp::Edit(edit) => SimulatorSaid::Edited(self.edit(edit)),
            SimulatorOp::Request(request) => SimulatorSaid::Answered(self.carry_out_request(request)),
            SimulatorOp::Recorded(chunk) => {
                self.follow(chunk);
                SimulatorSaid::Moved(true)
            }
            SimulatorOp::Leave(_) => SimulatorSaid::Moved(true),
            SimulatorOp::Anew(Anew { scheduler, tap }) => {
                let scheduler = scheduler.lock().unwrap_or_else(PoisonError::into_inner).clone();
                self.begin_anew(scheduler, Arc::clone(tap), outside.is_none());
                SimulatorSaid::Moved(true)
            }
        };
        let notes = self.notes.take().unwrap_or_default();
        self.last_events = notes.events;
        if let Some(outside) = outside {
            self.set_recorded_behind(outside.recorded);
        }
        let fact = SimulatorFact::of(self.scheduler(), self.now(), n_attempts, notes.changed);
        let outside = SimulatorOutside { answers: notes.answers.into(), recorded: self.recorded_behind() };
        Done { outside, fact, said }
    }

    fn set_lean(&mut self, is_lean: bool) {
        self.scheduler_mut().set_lean(is_lean);
    }

    fn is_seen(op: &SimulatorOp) -> bool {
        op.is_step()
    }

    fn estimated_bytes(&self) -> usize {
        // The API's table stands beside the scheduler's; in a replay there is none.
        self.scheduler().estimated_bytes() + self.api().objects().len() * 64
    }
}
