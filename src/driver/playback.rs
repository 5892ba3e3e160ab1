//! Plays a recording from the beginning to the end for somebody who looks at it on the way.
//!
//! Not a session: it goes in one direction and nobody steers it. The recording is read twice, once to see where it goes
//! back and ends, once to play it. Where it goes back, the last way counts. Everything that is decided is compared with
//! what was decided then.
//!
//! What is looked at are moments: the state behind all inputs of one time that do not begin a new step.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use crate::api::{Duration, Str, Time};
use crate::framework::runtime::Registry;
use crate::recording::{Divergence, Record, RecordingReader, Replay, decisions_check};
use crate::scheduler::Scheduler;
use crate::scheduler::input::Input;

pub use crate::recording::{Header, ReadError, ReplayError};

use super::rewind::Moment as Place;
use super::session::{Known, Notice, NoticeLevel, RunState, SessionView, Speed};

/// What somebody said about a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The name of a place.
    Marker(String),
    /// A text about it.
    Note(String),
}

impl Mark {
    /// The name or the text.
    pub fn text(&self) -> &str {
        match self {
            Self::Marker(text) | Self::Note(text) => text,
        }
    }
}

/// What a recording consists of, seen from outside.
#[derive(Clone, Debug)]
pub struct Outline {
    /// Its first line.
    pub header: Header,
    /// Inputs in the file.
    pub inputs: u64,
    /// Why it ended; absent if it was cut off.
    pub end: Option<String>,
    /// How it was cut off, in words.
    pub cut: Option<String>,
    /// The inputs that lead to the last state, the first ones first.
    way: Vec<RangeInclusive<u64>>,
    /// Marks by the input behind which they stand.
    marks: BTreeMap<u64, Vec<Mark>>,
}

impl Outline {
    /// Reads a recording without playing it.
    ///
    /// # Errors
    /// If it cannot be read. That it was cut off is no error.
    pub fn read(reader: impl BufRead) -> Result<Self, ReadError> {
        let mut reader = RecordingReader::new(reader)?;
        let mut outline = Self {
            header: reader.header().clone(),
            inputs: 0,
            end: None,
            cut: None,
            way: Vec::new(),
            marks: BTreeMap::new(),
        };
        // Inputs that do not follow the one before them in the file, each with the one that they follow.
        let mut forks: BTreeMap<u64, u64> = BTreeMap::new();
        let mut behind = 0;
        loop {
            let record = match reader.next_entry() {
                Ok(Some(entry)) => entry.record,
                Ok(None) => break,
                Err(error @ ReadError::Cut { .. }) => {
                    outline.cut = Some(error.to_string());
                    break;
                }
                Err(error) => return Err(error),
            };
            match record {
                Record::Input { .. } => {
                    if behind != outline.inputs {
                        forks.insert(outline.inputs + 1, behind);
                    }
                    outline.inputs += 1;
                    behind = outline.inputs;
                }
                Record::Rewind { input } => behind = input.min(outline.inputs),
                Record::Marker { name, .. } => outline.mark(behind, Mark::Marker(name)),
                Record::Note { text, .. } => outline.mark(behind, Mark::Note(text)),
                Record::End { reason, .. } => outline.end = Some(reason),
                Record::Digest { .. } => {}
            }
        }
        while behind > 0 {
            let fork = forks.range(..=behind).next_back();
            let (first, before) = fork.map_or((1, 0), |(child, parent)| (*child, *parent));
            outline.way.push(first..=behind);
            behind = before;
        }
        outline.way.reverse();
        Ok(outline)
    }

    fn mark(&mut self, behind: u64, mark: Mark) {
        self.marks.entry(behind).or_default().push(mark);
    }

    /// Whether the input of that number leads to the last state.
    fn is_on_the_way(&self, input: u64) -> bool {
        let leg = self.way.partition_point(|leg| *leg.end() < input);
        self.way.get(leg).is_some_and(|leg| leg.contains(&input))
    }

    /// Every input of the file leads to the last state.
    fn goes_straight(&self) -> bool {
        self.inputs == 0 || self.way == [1..=self.inputs]
    }

    /// The names of all markers on the way, in order.
    pub fn markers(&self) -> impl Iterator<Item = &str> {
        self.marks.iter().filter(|(input, _)| **input == 0 || self.is_on_the_way(**input)).flat_map(
            |(_, marks)| {
                marks.iter().filter_map(|mark| match mark {
                    Mark::Marker(name) => Some(name.as_str()),
                    Mark::Note(_) => None,
                })
            },
        )
    }

    /// Plays the recording and shows every moment, until `look` has seen enough.
    ///
    /// # Errors
    /// If it cannot be read any more, or something else is decided than was then.
    pub fn play(
        &self,
        reader: impl BufRead,
        registry: &Registry,
        look: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> Result<(), ReplayError> {
        let mut reader = RecordingReader::new(reader)?;
        let mut replay = Replay::new(reader.header(), registry, true)?;
        let mut player = Player { outline: self, at: 0, looked: None, is_begun: false };
        let mut number = 0;
        while let Some(record) = next(&mut reader)? {
            match record {
                Record::Input { at, input, decided } => {
                    number += 1;
                    if !self.is_on_the_way(number) {
                        continue;
                    }
                    let is_command = matches!(*input, Input::Command(_));
                    if (is_command || at != replay.now())
                        && player.look(&replay, Some((at, is_command)), look).is_break()
                    {
                        return Ok(());
                    }
                    player.at = number;
                    take(&mut replay, number, Record::Input { at, input, decided })?;
                }
                digest @ Record::Digest { .. } if self.goes_straight() => replay.take(digest)?,
                Record::Digest { .. }
                | Record::Marker { .. }
                | Record::Note { .. }
                | Record::Rewind { .. }
                | Record::End { .. } => {}
            }
        }
        let _ = player.look(&replay, None, look);
        Ok(())
    }
}

/// The next record; none where the recording ends or was cut off.
fn next(reader: &mut RecordingReader<impl BufRead>) -> Result<Option<Record>, ReadError> {
    match reader.next_entry() {
        Ok(entry) => Ok(entry.map(|entry| entry.record)),
        Err(ReadError::Cut { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Gives an input to the scheduler. A difference is told with the number of the input in the file.
fn take(replay: &mut Replay, number: u64, record: Record) -> Result<(), Divergence> {
    replay.take(record).map_err(|divergence| match divergence {
        Divergence::Decision { at, recorded, found, .. } => {
            let found_check = decisions_check(replay.effects());
            Divergence::Decision { input: number, at, recorded, found_check, found }
        }
        other => other,
    })
}

/// Where the player is.
struct Player<'a> {
    outline: &'a Outline,
    /// The number of the last input.
    at: u64,
    /// Behind which input somebody looked last.
    looked: Option<u64>,
    /// Whether a step has been made.
    is_begun: bool,
}

impl Player<'_> {
    fn look(
        &mut self,
        replay: &Replay,
        next: Option<(Time, bool)>,
        look: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let from = self.looked.map_or(0, |input| input + 1);
        let marks: Vec<&Mark> =
            self.outline.marks.range(from..=self.at).flat_map(|(_, marks)| marks).collect();
        let is_first_step = !self.is_begun && next.is_none_or(|(_, is_command)| is_command);
        let moment = Moment {
            outline: self.outline,
            replay,
            input: self.at,
            marks,
            next_at: next.map(|(at, _)| at),
            is_before_steps: is_first_step,
            is_setup: !self.is_begun && !is_first_step,
        };
        self.looked = Some(self.at);
        self.is_begun |= is_first_step;
        look(&moment)
    }
}

/// A recording at one moment.
#[derive(Debug)]
pub struct Moment<'a> {
    outline: &'a Outline,
    replay: &'a Replay,
    /// The number of the last input.
    pub input: u64,
    /// What was said since the moment before.
    pub marks: Vec<&'a Mark>,
    /// When the next one begins; absent at the end.
    pub next_at: Option<Time>,
    /// Whether the first step comes next: the cluster is there and nothing has been decided.
    pub is_before_steps: bool,
    /// Whether the cluster is still being made.
    pub is_setup: bool,
}

impl Moment<'_> {
    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        self.replay.scheduler()
    }

    /// The time.
    pub fn now(&self) -> Time {
        self.replay.now()
    }

    /// The time since the beginning of the recording.
    pub fn elapsed(&self) -> Duration {
        self.now() - self.outline.header.start
    }

    /// The recording as a session would show it. `number` counts notices.
    pub fn view(&self, run_state: RunState, speed: Speed, notice: Option<(u64, String)>) -> SessionView {
        let scheduler = self.scheduler();
        let now = self.now();
        SessionView {
            source: Str::from(self.outline.header.source.as_str()),
            run_state,
            speed,
            elapsed: self.elapsed(),
            next_timeout: scheduler.next_timeout_reason().map(|(at, what)| (at - now, what)),
            scheduler: Arc::new(scheduler.view()),
            moment: Place::default(),
            known: Known::default(),
            debug: Arc::default(),
            branches: Arc::default(),
            comparison: None,
            live: None,
            aside: None,
            notice: notice.map(|(number, text)| Notice { number, level: NoticeLevel::Info, text }),
            failure: None,
        }
    }
}

/// A place in a recording, as a person names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the first step.
    Start,
    /// The end.
    End,
    /// Behind the attempt of that number.
    Cycle(u64),
    /// Behind the input of that number.
    Input(u64),
    /// At the marker of that name.
    Marker(String),
    /// So long after the beginning.
    Elapsed(Duration),
}

impl Position {
    /// Whether a moment is at this place or behind it.
    pub fn is_reached(&self, moment: &Moment<'_>) -> bool {
        match self {
            Self::Start => !moment.is_setup,
            Self::End => moment.next_at.is_none(),
            Self::Cycle(number) => {
                moment.scheduler().counts().cycles >= *number && !moment.scheduler().is_in_cycle()
            }
            Self::Input(number) => moment.input >= *number,
            Self::Marker(name) => {
                moment.marks.iter().any(|mark| matches!(mark, Mark::Marker(marker) if marker == name))
            }
            Self::Elapsed(elapsed) => {
                moment.next_at.is_none_or(|next| next > moment.outline.header.start + *elapsed)
            }
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start => f.write_str("start"),
            Self::End => f.write_str("end"),
            Self::Cycle(number) => write!(f, "cycle {number}"),
            Self::Input(number) => write!(f, "input {number}"),
            Self::Marker(name) => write!(f, "marker {name:?}"),
            Self::Elapsed(elapsed) => f.write_str(&crate::api::time::human_duration(*elapsed)),
        }
    }
}
