//! A recording that a console plays: the whole of it in memory, cut into stretches, as a way that is known.
//!
//! What a stretch came to is learned by doing it; a second thread does them all ahead ([`scan`]), compares everything
//! with what was recorded, and leaves copies of the scheduler along the way so that any moment is near.

pub mod bundled;
pub mod chunk;
pub mod scan;

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::sync::Arc;

use crate::api::{Str, Time};
use crate::framework::runtime::Registry;
use crate::recording::{Header, HeaderError, Judge, ReadError, Record, RecordingReader};
use crate::scheduler::input::Input;

use super::history::{BranchId, Entry, History, HistoryLimits};
use super::sandbox::ops::{SimulatorOp, SimulatorOutside};
use super::sandbox::simulator::Simulator;
use chunk::{Chunk, Lead};

/// How a recording ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As it should, for this reason.
    Complete(String),
    /// It was cut off there.
    Cut(String),
    /// It is damaged there; what was before it was read.
    Damaged(String),
}

/// A place that somebody marked or said something about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The branch.
    pub branch: usize,
    /// Behind so many operations.
    pub position: usize,
    /// When.
    pub at: Time,
    /// The marker's name or the note's text.
    pub text: Str,
    /// Whether it is a note.
    pub is_note: bool,
}

/// A way of the recording: the first, or one that begins where the session had gone back to.
#[derive(Clone, Debug)]
pub struct Way {
    /// The way that it left, and after how many stretches.
    pub parent: Option<(usize, usize)>,
    /// Its stretches.
    pub chunks: Vec<Arc<Chunk>>,
}

impl Way {
    fn end(&self) -> usize {
        self.parent.map_or(0, |(_, at)| at) + self.chunks.len()
    }
}

/// A recording in memory.
#[derive(Clone, Debug)]
pub struct RecordedSession {
    /// Its first line.
    pub header: Header,
    /// Its ways, in the order in which they begin.
    pub ways: Vec<Way>,
    /// Markers and notes, in the order of the file.
    pub marks: Vec<Mark>,
    /// How it ends.
    pub ending: Ending,
    /// Inputs in the file.
    pub n_inputs: u64,
}

impl RecordedSession {
    /// Reads a recording. One that was cut off or is damaged is taken up to there.
    ///
    /// # Errors
    /// If it is no recording or of another version, or cannot be read at all.
    pub fn read(reader: impl BufRead) -> Result<Self, ReadError> {
        let mut reader = RecordingReader::new(reader)?;
        let mut records = Vec::new();
        let ending = loop {
            match reader.next_entry() {
                Ok(Some(entry)) => records.push(entry.record),
                Ok(None) => break Ending::Complete(String::new()),
                Err(error @ ReadError::Cut { .. }) => break Ending::Cut(error.to_string()),
                Err(error @ ReadError::Io(_)) => return Err(error),
                Err(error) => break Ending::Damaged(error.to_string()),
            }
        };
        let gone_back_to = records
            .iter()
            .filter_map(|record| match record {
                Record::Rewind { input } => Some(*input),
                _ => None,
            })
            .collect();
        let mut cutter = Cutter::new(gone_back_to);
        let mut session_end = None;
        for record in records {
            if let Record::End { reason, .. } = &record {
                session_end = Some(reason.clone());
            }
            cutter.take(record);
        }
        let (ways, marks, n_inputs) = cutter.finish();
        let ending = match (ending, session_end) {
            (Ending::Complete(_), Some(reason)) => Ending::Complete(reason),
            (ending, _) => ending,
        };
        Ok(Self { header: reader.header().clone(), ways, marks, ending, n_inputs })
    }

    /// Where the console opens: on the way that counts, with the cluster there and nothing done.
    pub fn opening(&self) -> (usize, usize) {
        let first = self.ways.first().and_then(|way| way.chunks.first());
        let position = usize::from(first.is_some_and(|chunk| chunk.lead == Lead::Load));
        (self.ways.len().saturating_sub(1), position)
    }

    /// The scheduler before the first input, with all that is known of what comes.
    ///
    /// # Errors
    /// If this build cannot make it of the header.
    pub fn history(
        &self,
        registry: &Registry,
        limits: HistoryLimits,
    ) -> Result<History<Simulator>, HeaderError> {
        let scheduler = self.header.scheduler(registry, true)?;
        let judge = Judge::new(&self.header);
        let simulator = Simulator::following(scheduler, judge, self.header.start, self.header.seed);
        let mut history = History::new(simulator, limits);
        for way in &self.ways {
            let parent = way.parent.map(|(way, at)| (BranchId(way), at));
            let entries = way.chunks.iter().map(|chunk| Entry {
                op: SimulatorOp::Recorded(Arc::clone(chunk)),
                outside: SimulatorOutside::default(),
                fact: chunk.fact(),
            });
            history.give(parent, entries);
        }
        Ok(history)
    }
}

/// Cuts the records into stretches and ways.
struct Cutter {
    gone_back_to: BTreeSet<u64>,
    /// Where the inputs are behind which the session has gone back.
    places: BTreeMap<u64, (usize, usize)>,
    ways: Vec<Way>,
    marks: Vec<Mark>,
    open: Option<Chunk>,
    /// Whether the next input begins a stretch.
    is_over: bool,
    /// Where the session has gone back to, until the next input.
    back_at: Option<(usize, usize)>,
    number: u64,
}

impl Cutter {
    fn new(gone_back_to: BTreeSet<u64>) -> Self {
        Self {
            gone_back_to,
            places: BTreeMap::from([(0, (0, 0))]),
            ways: vec![Way { parent: None, chunks: Vec::new() }],
            marks: Vec::new(),
            open: None,
            is_over: false,
            back_at: None,
            number: 0,
        }
    }

    fn close(&mut self) {
        self.is_over = false;
        let (Some(chunk), Some(way)) = (self.open.take(), self.ways.last_mut()) else { return };
        way.chunks.push(Arc::new(chunk));
    }

    /// The present place, with the stretch that is open behind it.
    fn place(&self) -> (usize, usize) {
        self.back_at.unwrap_or_else(|| {
            let end = self.ways.last().map_or(0, Way::end);
            (self.ways.len().saturating_sub(1), end + usize::from(self.open.is_some()))
        })
    }

    fn take(&mut self, record: Record) {
        match record {
            Record::Input { at, ref input, .. } => {
                let lead = if self.number == 0 && matches!(**input, Input::Added(_)) {
                    Lead::Load
                } else {
                    Lead::of(input)
                };
                let goes_on = !self.is_over
                    && self.back_at.is_none()
                    && self.open.as_ref().is_some_and(|open| match open.lead {
                        Lead::Load => matches!(**input, Input::Added(_)),
                        _ => lead == Lead::Other && open.at == at,
                    });
                if !goes_on {
                    self.close();
                }
                if let Some(parent) = self.back_at.take() {
                    self.ways.push(Way { parent: Some(parent), chunks: Vec::new() });
                }
                self.number += 1;
                let number = self.number;
                let chunk = self.open.get_or_insert_with(|| Chunk { number, at, lead, records: Vec::new() });
                chunk.at = at;
                chunk.records.push(record);
                if self.gone_back_to.contains(&number) {
                    let place = self.place();
                    self.places.insert(number, place);
                    self.is_over = true;
                }
            }
            Record::Digest { .. } => {
                if let (Some(open), None) = (&mut self.open, self.back_at) {
                    open.records.push(record);
                }
            }
            Record::Marker { at, name } => self.mark(at, &name, false),
            Record::Note { at, text } => self.mark(at, &text, true),
            Record::Rewind { input } => {
                self.back_at = self.places.get(&input).copied().filter(|_| input != self.number);
                self.is_over = true;
            }
            Record::End { .. } => {}
        }
    }

    fn mark(&mut self, at: Time, text: &str, is_note: bool) {
        let (branch, position) = self.place();
        self.is_over = true;
        self.marks.push(Mark { branch, position, at, text: Str::from(text), is_note });
    }

    fn finish(mut self) -> (Vec<Way>, Vec<Mark>, u64) {
        self.close();
        (self.ways, self.marks, self.number)
    }
}
