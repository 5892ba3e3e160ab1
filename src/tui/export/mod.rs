//! The console drawn off-screen over a recording: as a film ([`cast`]), as a picture ([`svg`]), and the evidence of its
//! attempts as a text ([`markdown`]).
//!
//! Everything here is a function of the recording and the options: no clock, no environment, no terminal. The same
//! recording gives the same bytes anywhere.

use std::io::BufRead;
use std::ops::ControlFlow;

use crate::api::Duration;
use crate::driver::playback::{Mark, Moment, Outline, Position};
use crate::driver::session::{RunState, SessionView, Speed};
use crate::framework::runtime::Registry;
use crate::scheduler::trace::CycleOutcome;
use crate::scheduler::view::{CycleSummary, View};

pub mod ansi;
pub mod cast;
pub mod markdown;
pub mod picture;
pub mod svg;

pub use crate::driver::playback::ReplayError;

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The recording cannot be played.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// There is no such place.
    #[error("the recording has no {position}: {there}")]
    NoSuchPlace {
        /// What was asked for.
        position: Position,
        /// What there is.
        there: String,
    },
    /// The end is before the beginning.
    #[error("{to} is not behind {from}")]
    Backwards {
        /// Where it should begin.
        from: Position,
        /// Where it should end.
        to: Position,
    },
    /// It cannot be written.
    #[error("writing: {0}")]
    Write(#[from] std::io::Error),
}

/// A part of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first moment.
    pub from: Position,
    /// The last one.
    pub to: Position,
}

impl Default for Range {
    fn default() -> Self {
        Self { from: Position::Start, to: Position::End }
    }
}

/// Plays a recording and shows the moments of a range, the first and the last one included.
fn play_range(
    outline: &Outline,
    reader: impl BufRead,
    registry: &Registry,
    range: &Range,
    look: &mut dyn FnMut(&Moment<'_>) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    let mut begun = false;
    let mut ended = false;
    let mut is_whole = false;
    let mut cycles = 0;
    let mut failure = None;
    outline.play(reader, registry, &mut |moment| {
        cycles = moment.scheduler().counts().cycles;
        let is_last = range.to.is_reached(moment);
        begun |= range.from.is_reached(moment);
        if begun && let Err(error) = look(moment) {
            failure = Some(error);
            return ControlFlow::Break(());
        }
        ended |= is_last;
        is_whole |= moment.next_at.is_none();
        if is_last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    let missing = |position: &Position| ExportError::NoSuchPlace {
        position: position.clone(),
        there: what_there_is(outline, position, cycles),
    };
    match (begun, ended) {
        (true, true) => Ok(()),
        // Where the last moment was seen, the first one of the range is nowhere.
        (false, true) if !is_whole => {
            Err(ExportError::Backwards { from: range.from.clone(), to: range.to.clone() })
        }
        (false, _) => Err(missing(&range.from)),
        (true, false) => Err(missing(&range.to)),
    }
}

/// What a person can ask for in place of what is not there.
fn what_there_is(outline: &Outline, position: &Position, cycles: u64) -> String {
    match position {
        Position::Cycle(_) => format!("it has {cycles} cycles"),
        Position::Input(_) => format!("it has {} inputs", outline.inputs),
        Position::Marker(_) => {
            let markers: Vec<&str> = outline.markers().collect();
            if markers.is_empty() {
                "it has no markers".to_owned()
            } else {
                format!("its markers are {}", markers.join(", "))
            }
        }
        Position::Start | Position::End | Position::Elapsed(_) => "it ends before that".to_owned(),
    }
}

/// A moment as the console shows it. Marks are shown as notices; `number` counts them.
fn session_view(moment: &Moment<'_>, state: RunState, speed: Speed, number: &mut u64) -> SessionView {
    let said: Vec<String> = moment
        .marks
        .iter()
        .map(|mark| match mark {
            Mark::Marker(name) => format!("marker {name}"),
            Mark::Note(text) => text.clone(),
        })
        .collect();
    *number += u64::from(!said.is_empty());
    let notice = (!said.is_empty()).then(|| (*number, said.join("; ")));
    moment.view(state, speed, notice)
}

/// The attempts that have ended or changed since the attempt of that number, in order, with how they stand.
fn attempts_since(view: &View, number: u64) -> Vec<CycleSummary> {
    view.history.iter().filter(|line| line.number > number).cloned().collect()
}

/// How an attempt ended, in a few words.
fn outcome_text(outcome: &CycleOutcome) -> String {
    match outcome {
        CycleOutcome::InProgress => "under way".to_owned(),
        CycleOutcome::Tried { node } => format!("fits on {node}"),
        CycleOutcome::Waiting { node } => format!("waits on {node}"),
        CycleOutcome::Binding { node } => format!("is being bound to {node}"),
        CycleOutcome::Bound { node } => format!("bound to {node}"),
        CycleOutcome::Unschedulable { nominated_node: Some(node), .. } => {
            format!("unschedulable, nominated to {node}")
        }
        CycleOutcome::Unschedulable { nominated_node: None, .. } => "unschedulable".to_owned(),
        CycleOutcome::Error { .. } => "error".to_owned(),
        CycleOutcome::Skipped { .. } => "skipped".to_owned(),
    }
}

/// A duration in whole milliseconds.
fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
