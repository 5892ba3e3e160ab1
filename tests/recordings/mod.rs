//! Recordings: what is written is what is read, what is read decides the same, and damage is found.

mod bundled;
mod damage;
mod diff;
mod export;
mod extender_answers;
mod fuzz;
mod golden;
mod import;
mod leaks;
mod live_past;
mod own_plugin;
mod player;
mod privacy;
mod recorder;
mod redaction;
mod replay;
mod round_trip;
mod session;
mod what_if;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use schedscope::api::Time;
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{
    CheckReport, Compression, Header, ReadError, Record, RecordingReader, RecordingWriter, ReplayError, Slim,
    check,
};
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::input::Input;

use crate::support::world::START;

/// The configuration that holds without one, for the plugins that are there.
fn default_configuration() -> SchedulerConfig {
    let registry = in_tree_registry();
    let gates = FeatureGates::default();
    SchedulerConfig::with_defaults(LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) })
}

fn header_of(config: &SchedulerConfig) -> Header {
    Header::new(config, &SchedulerOptions::default(), START, "test").unwrap()
}

fn header() -> Header {
    header_of(&default_configuration())
}

/// A sink that can be looked at while it is written to.
#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A complete recording of these inputs, of which nothing was decided.
fn recording_of(inputs: &[(Time, Input)], compression: Compression, slim: Slim) -> Vec<u8> {
    let memory = Memory::default();
    let mut writer = RecordingWriter::new(memory.clone(), compression, &header(), slim).unwrap();
    for (at, input) in inputs {
        writer.input(*at, input, None).unwrap();
    }
    writer.end("that is all").unwrap();
    memory.bytes()
}

/// All records, up to the end or an error.
fn read(bytes: &[u8]) -> (Vec<Record>, Option<ReadError>) {
    let mut records = Vec::new();
    let mut reader = match RecordingReader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return (records, Some(error)),
    };
    loop {
        match reader.next_entry() {
            Ok(Some(entry)) => records.push(entry.record),
            Ok(None) => return (records, None),
            Err(error) => return (records, Some(error)),
        }
    }
}

/// All records of a recording that is as it should be.
fn records(bytes: &[u8]) -> Vec<Record> {
    let (records, error) = read(bytes);
    assert!(error.is_none(), "{error:?}");
    records
}

/// A recording with other records in place of its own.
fn rewritten(bytes: &[u8], change: impl FnOnce(&mut Vec<Record>)) -> Vec<u8> {
    let header = RecordingReader::new(bytes).unwrap().header().clone();
    let mut list = records(bytes);
    change(&mut list);
    let memory = Memory::default();
    let mut writer =
        RecordingWriter::new(memory.clone(), Compression::None, &header, Slim::default()).unwrap();
    for record in list {
        match record {
            Record::Input { at, input, decided } => writer.input(at, &input, decided).unwrap(),
            Record::Digest { parts, .. } => {
                let parts: Vec<(&'static str, u64)> =
                    parts.into_iter().map(|(name, digest)| (&*name.leak(), digest)).collect();
                writer.digest(&parts).unwrap();
            }
            Record::Marker { at, name } => writer.marker(at, &name).unwrap(),
            Record::Note { at, text } => writer.note(at, &text).unwrap(),
            Record::Rewind { input } => writer.rewind(input).unwrap(),
            Record::End { reason, .. } => writer.end(&reason).unwrap(),
        }
    }
    memory.bytes()
}

/// Replays and compares.
fn checked(bytes: &[u8]) -> (CheckReport, Result<(), ReplayError>) {
    let mut report = CheckReport::default();
    let outcome = check(&mut || Ok(bytes), &in_tree_registry(), &mut report);
    (report, outcome)
}
