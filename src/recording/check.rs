//! Plays a recording and compares what the scheduler decides now with what it decided then.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::RangeInclusive;

use indexmap::IndexMap;

use crate::api::Time;
use crate::framework::runtime::Registry;
use crate::scheduler::Scheduler;
use crate::scheduler::effect::Effect;
use crate::scheduler::input::Input;

use super::decisions::{decisions_check, describe};
use super::header::{DIGEST_VERSION, Header, HeaderError};
use super::reader::{ReadError, RecordingReader};
use super::record::Record;

/// Where a replay first differs from its recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Divergence {
    /// Another deed follows an input, or none, or one where there was none.
    #[error(
        "input {input} at {at:?}: the scheduler decides otherwise (checksum {}, recorded {}): {found}",
        checksum(*found_check),
        checksum(*recorded)
    )]
    Decision {
        /// The input, counted from 1.
        input: u64,
        /// Its time.
        at: Time,
        /// The recorded checksum of what was decided.
        recorded: Option<u32>,
        /// That of what is decided now.
        found_check: Option<u32>,
        /// What is decided now.
        found: String,
    },
    /// A component is in another state.
    #[error(
        "input {input} at {at:?}: {component} differs ({found:016x}, recorded {recorded:016x}); it was equal after input {since}"
    )]
    Component {
        /// The last input before the state was compared.
        input: u64,
        /// Its time.
        at: Time,
        /// The component.
        component: String,
        /// Its recorded digest.
        recorded: u64,
        /// Its digest now.
        found: u64,
        /// The input after which the states were compared before.
        since: u64,
    },
    /// The inputs are not counted as they were.
    #[error("the recording counts {recorded} inputs here, and there are {found}")]
    Count {
        /// As the recording says.
        recorded: u64,
        /// As they were read.
        found: u64,
    },
}

impl Divergence {
    /// The last input before the difference was found.
    pub const fn input(&self) -> u64 {
        match self {
            Self::Decision { input, .. } | Self::Component { input, .. } => *input,
            Self::Count { found, .. } => *found,
        }
    }
}

fn checksum(value: Option<u32>) -> String {
    value.map_or_else(|| "of nothing".to_owned(), |value| format!("{value:08x}"))
}

/// Why a replay cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// No scheduler can be made of the header.
    #[error("no scheduler can be made of the recording: {0}")]
    Header(#[from] HeaderError),
    /// The recording cannot be read further.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The replay differs from the recording.
    #[error("the replay differs: {0}")]
    Diverged(#[from] Divergence),
    /// The recording goes back to an input that it does not have yet.
    #[error("the recording goes back to input {to}, and there are {inputs}")]
    RewindAhead {
        /// Where it goes back to.
        to: u64,
        /// How many inputs there are.
        inputs: u64,
    },
}

/// Compares a replay with its recording as it goes.
#[derive(Clone, Debug)]
pub struct Judge {
    inputs: u64,
    at: Time,
    /// The input after which the states were compared last.
    compared: u64,
    compares_digests: bool,
}

impl Judge {
    /// Before the first input.
    pub fn new(header: &Header) -> Self {
        let compares_digests = header.digest_version == DIGEST_VERSION;
        Self { inputs: 0, at: header.start, compared: 0, compares_digests }
    }

    /// The number of the last input in the recording.
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// The replay goes on behind the input of that number, and the next one in the file has the number after `inputs`.
    pub fn go_to(&mut self, behind: u64, inputs: u64) {
        self.inputs = inputs;
        self.compared = behind;
    }

    /// Counts an input that is not compared.
    pub fn count(&mut self, at: Time) {
        self.inputs += 1;
        self.at = at;
    }

    /// Compares the deeds that followed an input with what was decided then.
    ///
    /// # Errors
    /// The difference.
    pub fn took(&mut self, at: Time, effects: &[Effect], decided: Option<u32>) -> Result<(), Divergence> {
        self.count(at);
        let found_check = decisions_check(effects);
        if found_check == decided {
            return Ok(());
        }
        let (input, recorded) = (self.inputs, decided);
        Err(Divergence::Decision { input, at, recorded, found_check, found: describe_all(effects) })
    }

    /// Compares the state of the scheduler with the one that was recorded here.
    ///
    /// # Errors
    /// The first component that differs.
    pub fn compare(
        &mut self,
        inputs: u64,
        parts: &IndexMap<String, u64>,
        scheduler: &Scheduler,
    ) -> Result<(), Divergence> {
        self.compare_count(inputs)?;
        if !self.compares_digests {
            return Ok(());
        }
        for (component, found) in scheduler.digest_parts() {
            let recorded = parts.get(component).copied().unwrap_or_default();
            if recorded != found {
                return Err(Divergence::Component {
                    input: self.inputs,
                    at: self.at,
                    component: component.to_owned(),
                    recorded,
                    found,
                    since: self.compared,
                });
            }
        }
        self.compared = self.inputs;
        Ok(())
    }

    fn compare_count(&self, recorded: u64) -> Result<(), Divergence> {
        let found = self.inputs;
        if recorded == found { Ok(()) } else { Err(Divergence::Count { recorded, found }) }
    }
}

/// Deeds in a person's words.
pub(super) fn describe_all(effects: &[Effect]) -> String {
    let described: Vec<String> = effects.iter().filter_map(describe).collect();
    if described.is_empty() { "nothing follows".to_owned() } else { described.join("; ") }
}

/// A scheduler that is given the inputs of a recording.
#[derive(Clone, Debug)]
pub struct Replay {
    scheduler: Scheduler,
    judge: Judge,
    effects: Vec<Effect>,
}

impl Replay {
    /// The scheduler before the first input.
    ///
    /// # Errors
    /// If this build cannot make it.
    pub fn new(header: &Header, registry: &Registry, is_tracing: bool) -> Result<Self, HeaderError> {
        let scheduler = header.scheduler(registry, is_tracing)?;
        Ok(Self { scheduler, judge: Judge::new(header), effects: Vec::new() })
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The same, to switch its tracing or take its problems.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// The number of the last input in the recording.
    pub fn inputs(&self) -> u64 {
        self.judge.inputs
    }

    /// The time of the last input.
    pub fn now(&self) -> Time {
        self.judge.at
    }

    /// The deeds that followed the last input. They are not done: what came of them is in the recording.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }

    /// Gives the scheduler an input.
    pub fn input(&mut self, at: Time, input: Input) {
        self.give(at, input);
        self.judge.count(at);
    }

    fn give(&mut self, at: Time, input: Input) {
        self.scheduler.handle(at, input);
        self.effects.clear();
        self.effects.extend(std::iter::from_fn(|| self.scheduler.poll_effect()));
    }

    /// Takes a record: gives the scheduler the input, or compares its state. Markers, notes, rewinds and the end
    /// change nothing.
    ///
    /// # Errors
    /// The first difference.
    pub fn take(&mut self, record: Record) -> Result<(), Divergence> {
        match record {
            Record::Input { at, input, decided } => {
                self.give(at, *input);
                self.judge.took(at, &self.effects, decided)
            }
            Record::Digest { inputs, parts } => self.judge.compare(inputs, &parts, &self.scheduler),
            Record::End { inputs, .. } => self.judge.compare_count(inputs),
            Record::Marker { .. } | Record::Note { .. } | Record::Rewind { .. } => Ok(()),
        }
    }

    /// The deeds of the last input in a person's words.
    pub(super) fn describe_effects(&self) -> String {
        describe_all(&self.effects)
    }
}

/// What a replay came to.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct CheckReport {
    /// Lines that were read, the header included.
    pub lines: u64,
    /// Inputs that were given to the scheduler.
    pub inputs: u64,
    /// How often states were compared.
    pub digests: u64,
    /// Whether digests were compared at all: those of another version are not.
    pub compares_digests: bool,
    /// How often the recording goes back.
    pub rewinds: u64,
    /// Markers and notes.
    pub marks: u64,
    /// The time of the last input.
    pub last: Time,
    /// Why the recording ended, once its end was read.
    pub end: Option<String>,
}

/// Plays a recording from the beginning to the end and compares everything. `open` opens it anew: where it goes back,
/// the way up to there is played again. The report tells how far it came, also where it ended with an error.
///
/// # Errors
/// Why it ended before the end of the recording.
pub fn check<R: BufRead>(
    open: &mut dyn FnMut() -> Result<R, ReadError>,
    registry: &Registry,
    report: &mut CheckReport,
) -> Result<(), ReplayError> {
    let mut reader = RecordingReader::new(open()?)?;
    let mut replay = Replay::new(reader.header(), registry, false)?;
    report.lines = 1;
    report.compares_digests = replay.judge.compares_digests;
    let mut tree = Tree::default();
    while let Some(entry) = reader.next_entry()? {
        report.lines = entry.line;
        match &entry.record {
            Record::Input { .. } => tree.add(),
            Record::Digest { .. } => report.digests += 1,
            Record::Marker { .. } | Record::Note { .. } => report.marks += 1,
            Record::Rewind { input } => {
                if *input > replay.inputs() {
                    return Err(ReplayError::RewindAhead { to: *input, inputs: replay.inputs() });
                }
                report.rewinds += 1;
                tree.rewind(*input);
                replay = play_again(open()?, registry, &tree)?;
            }
            Record::End { reason, .. } => report.end = Some(reason.clone()),
        }
        let outcome = replay.take(entry.record);
        report.inputs = replay.inputs();
        report.last = replay.now();
        outcome?;
    }
    Ok(())
}

/// The inputs that lead to the last state of a recording, up to where it was cut off: where it goes back, those in
/// between do not count. Ranges of numbers, the last ones first.
///
/// # Errors
/// If it cannot be read.
pub fn last_way<R: BufRead>(reader: R) -> Result<Vec<RangeInclusive<u64>>, ReadError> {
    let mut reader = RecordingReader::new(reader)?;
    let mut tree = Tree::default();
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => match entry.record {
                Record::Input { .. } => tree.add(),
                Record::Rewind { input } => tree.rewind(input.min(tree.inputs)),
                _ => {}
            },
            Ok(None) | Err(ReadError::Cut { .. }) => return Ok(tree.way()),
            Err(error) => return Err(error),
        }
    }
}

/// Plays the inputs that lead to the state of the tree.
fn play_again<R: BufRead>(reader: R, registry: &Registry, tree: &Tree) -> Result<Replay, ReplayError> {
    let mut reader = RecordingReader::new(reader)?;
    let mut replay = Replay::new(reader.header(), registry, false)?;
    let way = tree.way();
    let mut number = 0;
    while number < tree.at {
        let Some(entry) = reader.next_entry()? else { break };
        if let Record::Input { at, input, .. } = entry.record {
            number += 1;
            if way.iter().any(|leg| leg.contains(&number)) {
                replay.input(at, *input);
            }
        }
    }
    replay.judge.go_to(tree.at, tree.inputs);
    Ok(replay)
}

/// Which input follows which, where one does not follow the one before it in the file.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// Inputs in the file so far.
    inputs: u64,
    /// The input that led to the present state; 0 is the beginning.
    at: u64,
    /// Inputs that follow another one than that before them, each with the one that it follows.
    forks: BTreeMap<u64, u64>,
}

impl Tree {
    pub(super) fn add(&mut self) {
        let before = self.inputs;
        self.inputs += 1;
        if self.at != before {
            self.forks.insert(self.inputs, self.at);
        }
        self.at = self.inputs;
    }

    pub(super) fn rewind(&mut self, to: u64) {
        self.at = to;
    }

    /// The inputs that lead to the present state, the last ones first.
    pub(super) fn way(&self) -> Vec<RangeInclusive<u64>> {
        let mut legs = Vec::new();
        let mut at = self.at;
        while at > 0 {
            let fork = self.forks.range(..=at).next_back();
            let (first, before) = fork.map_or((1, 0), |(child, parent)| (*child, *parent));
            legs.push(first..=at);
            at = before;
        }
        legs
    }
}
