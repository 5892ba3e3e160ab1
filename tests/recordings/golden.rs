//! One recording per version of the format, kept for ever: this version reads it and decides the same.

use std::fs;
use std::path::{Path, PathBuf};

use schedscope::api::Time;
use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::sandbox::sample;
use schedscope::recording::{Compression, ReadError, RecordingReader, ReplayError};

use super::session::recorded;
use super::{checked, records};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings")
}

/// The sample cluster from beginning to end, with a marker and a note.
fn sample_recording(compression: Compression) -> Vec<u8> {
    let options = RecorderOptions { compression, digest_interval_min: 10, ..RecorderOptions::default() };
    let (mut simulator, recorder, memory) = recorded(&sample::source().text, options);
    simulator.mark("loaded");
    simulator.note("everything before this was loaded");
    schedscope::driver::runner::run_to_rest(&mut simulator);
    simulator.finish_recording("at rest");
    recorder.finish().unwrap();
    memory.bytes()
}

/// `UPDATE_RECORDINGS=1 cargo test recordings::golden` writes those of the present version that are not there.
#[test]
fn recordings_of_every_version_are_replayed() {
    let files = [("format-1.rec", Compression::None), ("format-1.rec.zst", Compression::Zstd)];
    for (name, compression) in files {
        let path = folder().join(name);
        if !path.exists() && std::env::var_os("UPDATE_RECORDINGS").is_some() {
            fs::write(&path, sample_recording(compression)).unwrap();
        }
        let bytes = fs::read(&path).unwrap();
        assert_eq!(RecordingReader::new(&bytes[..]).unwrap().header().source, "test");
        let (report, outcome) = checked(&bytes);
        assert!(outcome.is_ok(), "{name}: {}", outcome.unwrap_err());
        assert_eq!((report.marks, report.end.as_deref()), (2, Some("at rest")));
        assert!(report.inputs > 100 && report.last > Time::ZERO);
        assert!(records(&bytes).len() > 100);
    }
}

#[test]
fn a_golden_recording_that_is_cut_says_how_far_it_went() {
    let bytes = fs::read(folder().join("format-1.rec")).unwrap();
    let (report, outcome) = checked(&bytes[..bytes.len() * 2 / 3]);
    assert!(matches!(outcome, Err(ReplayError::Read(ReadError::Cut { .. }))));
    assert!(report.inputs > 10 && report.end.is_none());
}
