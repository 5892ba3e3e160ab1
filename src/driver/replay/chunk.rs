//! A stretch of a recording that is done as one operation: what a person who steps sees as one thing.

use crate::api::{Kind, NamespacedName, Time};
use crate::driver::sandbox::ops::SimulatorFact;
use crate::framework::extender::ExtenderAnswer;
use crate::recording::Record;
use crate::scheduler::input::{Command, Input};

/// What a stretch begins with, which is what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// The cluster as it was when the recording began.
    Load,
    /// The rest of an attempt, or a whole one.
    Cycle,
    /// A phase of an attempt.
    Phase,
    /// Time alone.
    Timeout,
    /// A change of the cluster, an answer, or a command of another kind.
    Other,
}

impl Lead {
    /// What an input stands for at the beginning of a stretch.
    pub const fn of(input: &Input) -> Self {
        match input {
            Input::Command(Command::ScheduleOne) => Self::Cycle,
            Input::Command(Command::NextPhase) => Self::Phase,
            Input::Timeout => Self::Timeout,
            _ => Self::Other,
        }
    }
}

/// Inputs that belong together, with what the recording says of the states between them.
#[derive(Clone, Debug)]
pub struct Chunk {
    /// The number of the first input in the file, from 1.
    pub number: u64,
    /// The time of the last input.
    pub at: Time,
    /// What it begins with.
    pub lead: Lead,
    /// Inputs and digests, nothing else.
    pub records: Vec<Record>,
}

impl PartialEq for Chunk {
    fn eq(&self, other: &Self) -> bool {
        // No two stretches of a recording begin with the same input.
        (self.number, self.records.len()) == (other.number, other.records.len())
    }
}

impl Eq for Chunk {}

impl Chunk {
    /// Whether the scheduler makes a step in it.
    pub const fn is_step(&self) -> bool {
        matches!(self.lead, Lead::Cycle | Lead::Phase)
    }

    /// What extenders have answered in it.
    pub fn answers(&self) -> impl Iterator<Item = &ExtenderAnswer> {
        self.inputs().filter_map(|input| match input {
            Input::ExtenderAnswered { answer, .. } => Some(answer),
            _ => None,
        })
    }

    /// Its inputs.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.records.iter().filter_map(|record| match record {
            Record::Input { input, .. } => Some(&**input),
            _ => None,
        })
    }

    /// The objects that its inputs are about.
    pub fn changed(&self) -> Vec<(Kind, NamespacedName)> {
        self.inputs().filter_map(changed_by).collect()
    }

    /// What is known of it before it was done.
    pub fn fact(&self) -> SimulatorFact {
        SimulatorFact {
            at: self.at,
            cycles: 0,
            bound: 0,
            preempted: 0,
            failed: 0,
            is_in_cycle: false,
            attempt: None,
            changed: if self.lead == Lead::Load { Box::default() } else { self.changed().into() },
        }
    }
}

/// The object that an input is about.
pub fn changed_by(input: &Input) -> Option<(Kind, NamespacedName)> {
    match input {
        Input::Added(object) | Input::Updated { new: object, .. } | Input::Deleted(object) => {
            Some((object.kind(), object.key()))
        }
        _ => None,
    }
}
