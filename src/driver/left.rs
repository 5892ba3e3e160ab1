//! What leads out of what is given: a recording that is left, a live cluster that is forked, and a session that is too
//! long to be recorded from its start and is begun anew.
//!
//! What goes on from there can be recorded. Where everything before it is kept, the new recording holds that, too. Where it
//! is not, the scheduler is started again on the cluster as it is, as kube-scheduler would be, and the session goes on with
//! it: the state of a scheduler cannot be written down.

use std::sync::{Arc, Mutex};

use super::desk::name;
use super::recorder::Message;
use super::rewind::Rewind;
use super::sandbox::ops::{Anew, SimulatorOp, TapOfBranch};
use super::sandbox::simulator::Simulator;
use super::session::{NoticeLevel, RecordTo};
use super::stepper::Stepper;
use super::tap::RecordingTap;
use crate::recording::{DIGEST_VERSION, Header, Record};

/// What a recording that was begun anew says of itself.
const BEGUN_ANEW: &str = "The session before this was too long to be kept. A scheduler was begun anew on the cluster as it \
     was, and the session has gone on with it. Backoffs, numbers of attempts, chance and what plugins keep in memory were \
     not carried over.";

impl Rewind {
    /// Lets what leaves this way be recorded, as of what `header` begins.
    pub(super) fn let_record(&mut self, header: &Header) {
        let app = env!("CARGO_PKG_VERSION").to_owned();
        self.header = Some(Header { app, digest_version: DIGEST_VERSION, ..header.clone() });
    }

    /// Leaves what is given, with a way to record what comes.
    pub(super) fn leave(&self) -> SimulatorOp {
        let Some(header) = &self.header else { return SimulatorOp::Leave(None) };
        let start = self.history.start();
        if start > 0 {
            return SimulatorOp::Leave(Some(TapOfBranch::new(RecordingTap::too_long(header.clone()))));
        }
        let mut marks: Vec<_> = self.marks_on_way().collect();
        marks.sort_by_key(|mark| mark.position);
        let mut marks = marks.into_iter().peekable();
        let mut messages = Vec::new();
        for position in 0..=self.history.position() {
            while let Some(mark) = marks.next_if(|mark| mark.position <= position) {
                let (at, text) = (mark.at, mark.text.to_string());
                messages.push(match mark.is_note {
                    true => Message::Note { at, text },
                    false => Message::Marker { at, name: text },
                });
            }
            if position == self.history.position() {
                break;
            }
            let Some(SimulatorOp::Recorded(chunk)) = self.history.entry(position).map(|entry| &entry.op)
            else {
                continue;
            };
            messages.extend(chunk.records.iter().filter_map(|record| match record {
                Record::Input { at, input, decided } => Some(Message::Input {
                    at: *at,
                    input: (**input).clone(),
                    decided: *decided,
                    deeds: Vec::new(),
                }),
                _ => None,
            }));
        }
        SimulatorOp::Leave(Some(TapOfBranch::new(RecordingTap::of_past(header.clone(), messages))))
    }
}

impl Stepper {
    /// Begins a recording of a session of which too much is not kept: with a scheduler that is begun anew, which the
    /// session goes on with.
    pub(super) fn record_anew(&mut self, to: &RecordTo) {
        let said = self.try_record_anew(to);
        match said {
            Ok(said) => self.say(NoticeLevel::Warning, said),
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    fn try_record_anew(&mut self, to: &RecordTo) -> Result<String, String> {
        let Some(desk) = &self.desk else { return Err("this session cannot be recorded".to_owned()) };
        let machine = self.rewind.simulator();
        let before = machine.tap_header().unwrap_or_else(|| desk.header().clone());
        let source = match before.source.strip_suffix(" (begun anew)") {
            Some(_) => before.source.clone(),
            None => format!("{} (begun anew)", before.source),
        };
        let header = Header { start: machine.now(), source, ..before };
        let scheduler =
            header.scheduler(machine.scheduler().registry(), true).map_err(|error| error.to_string())?;
        let path = desk.path(to);
        let (recorder, tap) = desk.create(&path, &header).map_err(|error| error.to_string())?;
        let tap = tap.with_memory().of_header(header);
        self.rewind.apply(SimulatorOp::Anew(Anew::new(scheduler, Arc::new(Mutex::new(tap)))));
        self.rewind.mark("begun anew", false);
        self.rewind.mark(BEGUN_ANEW, true);
        self.told_at = Some(self.place());
        let file = name(&path);
        if let Some(desk) = &mut self.desk {
            desk.has_begun(file.clone(), recorder);
        }
        Ok(format!(
            "recording to {file} from here on: more has happened than is kept, so the scheduler was begun anew on the \
             cluster as it is (backoffs and numbers of attempts begin again; going back a step undoes that)"
        ))
    }
}

impl Simulator {
    /// What recordings of what is kept begin with, if that is not what those of the session begin with.
    pub(super) fn tap_header(&self) -> Option<Header> {
        self.with_tap(|tap| tap.header().cloned()).flatten()
    }
}
