//! The recorder: a file of its owner alone, flushed every second, ended upon a signal; nothing is dropped.

#![expect(clippy::disallowed_methods, reason = "a slow disk and the recorder's own clock are what is tested")]

use std::io::{self, Write};
use std::time::{Duration, Instant};

use schedscope::driver::recorder::{Recorder, RecorderError, RecorderOptions};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::Record;
use schedscope::scheduler::input::Input;

use super::{Memory, header, read, records};
use crate::support::world::START;

/// A disk that takes its time over each write, or is full at once.
struct Disk {
    memory: Memory,
    pause: Duration,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        std::thread::sleep(self.pause);
        self.room = self.room.checked_sub(bytes.len()).ok_or_else(|| io::Error::other("no space left"))?;
        self.memory.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_slow_disk_makes_the_session_wait_and_loses_nothing() {
    let memory = Memory::default();
    let disk = Disk { memory: memory.clone(), pause: Duration::from_micros(50), room: usize::MAX };
    let (recorder, mut tap) = Recorder::start(Box::new(disk), &header(), RecorderOptions::default()).unwrap();
    let scheduler = header().scheduler(&in_tree_registry(), false).unwrap();
    for behind in 0..10_000 {
        tap.took(behind, START, Input::Timeout, [], &scheduler);
    }
    tap.finish(10_000, &scheduler, "done");
    let stats = recorder.finish().unwrap();
    assert_eq!(stats.inputs, 10_000);
    assert!(stats.waits > 0 && stats.waited_ns > 0, "{stats:?}");
    let n_inputs =
        records(&memory.bytes()).iter().filter(|record| matches!(record, Record::Input { .. })).count();
    assert_eq!(n_inputs, 10_000);
}

#[test]
fn a_full_disk_ends_the_recording_and_not_the_session() {
    let memory = Memory::default();
    let disk = Disk { memory: memory.clone(), pause: Duration::ZERO, room: 20_000 };
    let (recorder, mut tap) = Recorder::start(Box::new(disk), &header(), RecorderOptions::default()).unwrap();
    let scheduler = header().scheduler(&in_tree_registry(), false).unwrap();
    for behind in 0..20_000 {
        tap.took(behind, START, Input::Timeout, [], &scheduler);
    }
    assert_eq!(tap.failure().as_deref(), Some("no space left"));
    tap.finish(20_000, &scheduler, "done");
    assert_eq!(recorder.finish().unwrap_err().to_string(), "writing the recording: no space left");
    let (records, error) = read(&memory.bytes());
    assert!(!records.is_empty() && error.is_some(), "what was written can be read");
}

#[test]
fn what_is_recorded_reaches_the_sink_within_a_second_or_so() {
    let memory = Memory::default();
    let sink = io::BufWriter::with_capacity(1 << 20, memory.clone());
    let (recorder, mut tap) = Recorder::start(Box::new(sink), &header(), RecorderOptions::default()).unwrap();
    let scheduler = header().scheduler(&in_tree_registry(), false).unwrap();
    tap.took(0, START, Input::Timeout, [], &scheduler);
    let start = Instant::now();
    while read(&memory.bytes()).0.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(10));
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(tap);
    recorder.finish().unwrap();
    let all = records(&memory.bytes());
    assert_eq!(all.last(), Some(&Record::End { inputs: 1, reason: "closed".to_owned() }));
}

#[test]
fn a_file_that_is_there_is_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rec");
    std::fs::write(&path, "mine").unwrap();
    let error = Recorder::create(&path, &header(), RecorderOptions::default()).unwrap_err();
    assert!(matches!(error, RecorderError::Exists { .. }));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    let elsewhere = folder.path().join("no/a.rec");
    let error = Recorder::create(&elsewhere, &header(), RecorderOptions::default()).unwrap_err();
    assert!(matches!(error, RecorderError::Create { .. }));
}

#[cfg(unix)]
#[test]
fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.rec");
    let (recorder, tap) = Recorder::create(&path, &header(), RecorderOptions::default()).unwrap();
    drop(tap);
    recorder.finish().unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}
