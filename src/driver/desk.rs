//! Recording from within a session: begun, ended and saved while it goes on.

use std::path::{Path, PathBuf};

use crate::api::Str;
use crate::recording::{Compression, Header, Slim};

use super::recorder::{Recorder, RecorderError, RecorderOptions, RecorderStats, take_away};
use super::session::{NoticeLevel, RecordTo, RecorderView};
use super::stepper::Stepper;
use super::work::Work;

/// What recordings of a session are made with.
#[derive(Debug)]
pub struct Desk {
    header: Header,
    slim: Slim,
    /// The file that is being written, and its recorder if the session has begun it.
    file: Option<Str>,
    recorder: Option<Recorder>,
    /// Whether nothing is to be written with its names.
    is_nameless: bool,
}

impl Desk {
    /// For a session that is recorded into `file` from the start, if there is one.
    pub fn new(header: Header, slim: Slim, file: Option<&Path>) -> Self {
        Self { header, slim, file: file.map(name), recorder: None, is_nameless: false }
    }

    /// The same for a session of which nothing is to be written with its names. What is begun in the middle would have
    /// them, so that is not done.
    #[must_use]
    pub const fn nameless(mut self, is_nameless: bool) -> Self {
        self.is_nameless = is_nameless;
        self
    }

    /// One for another session that is recorded in the same way.
    #[must_use]
    pub fn another(&self) -> Self {
        let (header, slim, is_nameless) = (self.header.clone(), self.slim.clone(), self.is_nameless);
        Self { header, slim, file: None, recorder: None, is_nameless }
    }

    /// The file that is being written.
    pub(super) const fn file(&self) -> Option<&Str> {
        self.file.as_ref()
    }

    /// A recording was begun from within.
    pub(super) fn has_begun(&mut self, file: Str, recorder: Recorder) {
        (self.file, self.recorder) = (Some(file), Some(recorder));
    }

    /// It has ended: the file, and its recorder if it was begun from within.
    pub(super) fn take(&mut self) -> (Option<Str>, Option<Recorder>) {
        (self.file.take(), self.recorder.take())
    }

    /// The first line of recordings.
    pub(super) const fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn create(
        &self,
        path: &Path,
        header: &Header,
    ) -> Result<(Recorder, super::recorder::RecordingTap), RecorderError> {
        if self.is_nameless {
            return Err(RecorderError::WithNames);
        }
        let options = RecorderOptions {
            compression: Compression::of_name(&path.to_string_lossy()),
            slim: self.slim.clone(),
            ..RecorderOptions::default()
        };
        Recorder::create(path, header, options)
    }

    /// The file that is meant; a new name after the source where none was given.
    pub(super) fn path(&self, to: &RecordTo) -> PathBuf {
        let source = match to {
            RecordTo::File(path) => return path.clone(),
            RecordTo::AnyFile => &self.header.source,
        };
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let stem: String = source.chars().map(|c| if is_plain(c) { c } else { '-' }).collect();
        let named = |n: u32| PathBuf::from(format!("{stem}-{n}.rec"));
        (1..10_000).map(named).find(|path| !path.exists()).unwrap_or_else(|| named(10_000))
    }
}

/// Waits until everything is written. What was called off is taken away again.
pub(super) fn finish(
    path: &Path,
    recorder: Recorder,
    total: u64,
    work: &Work,
) -> Result<RecorderStats, String> {
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let goes_on = |done: u64| work.goes_on(usize::try_from(done).unwrap_or(usize::MAX), total);
    recorder.finish_while(goes_on).map_err(|error| match error {
        RecorderError::GivenUp => {
            take_away(path);
            format!("stopped: nothing is saved, and there is no {}", path.display())
        }
        error => format!("{}: {error}", path.display()),
    })
}

pub(super) fn name(path: &Path) -> Str {
    Str::from(path.to_string_lossy().as_ref())
}

impl Stepper {
    /// Lets the session be recorded.
    pub fn set_desk(&mut self, desk: Desk) {
        self.rewind.let_record(desk.header());
        self.desk = Some(desk);
    }

    /// How the recording goes, if one is being made.
    pub fn recorder_view(&self) -> Option<RecorderView> {
        let (stats, failure) = self.simulator().recording_state()?;
        let file = self.desk.as_ref().and_then(|desk| desk.file.clone()).unwrap_or_default();
        Some(RecorderView { file, stats, failure: failure.map(Str::from) })
    }

    /// Begins a recording. What is no longer kept is no beginning: then the scheduler is begun anew.
    pub(super) fn record(&mut self, to: &RecordTo) {
        if self.simulator().recording_state().is_some() {
            return self.say(NoticeLevel::Info, "this session is being recorded: :record stop ends that");
        }
        if self.rewind.machine().has_tap() && !self.rewind.machine().is_kept_whole() {
            return self.record_anew(to);
        }
        let outcome = self.with_new_file(to, |stepper, tap| {
            stepper.rewind.machine_mut().begin_recording(tap).map_err(|error| error.to_string())
        });
        match outcome {
            Ok((path, recorder)) => {
                let file = name(&path);
                if let Some(desk) = &mut self.desk {
                    desk.has_begun(file.clone(), recorder);
                }
                self.say(NoticeLevel::Info, format!("recording to {file}, from the session's start on"));
            }
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    /// Ends the recording.
    pub(super) fn stop_recording(&mut self) {
        if self.simulator().recording_state().is_none() {
            return self.say(NoticeLevel::Info, "this session is not being recorded");
        }
        self.rewind.machine_mut().stop_recording("recording was stopped");
        let (file, recorder) = self.desk.as_mut().map(Desk::take).unwrap_or_default();
        let file = file.unwrap_or_default();
        match recorder.map(Recorder::finish) {
            Some(Err(error)) => self.say(NoticeLevel::Error, format!("{file}: {error}")),
            Some(Ok(stats)) => {
                self.say(NoticeLevel::Info, format!("recorded {} inputs to {file}", stats.inputs));
            }
            None => self.say(NoticeLevel::Info, format!("the recording {file} is complete")),
        }
    }

    /// Saves what has happened; of a session that is too long for that, the last minutes.
    pub(super) fn save_last(&mut self, to: &RecordTo) {
        if self.rewind.machine().has_tap() && !self.rewind.machine().is_kept_whole() {
            return match self.save_last_minutes(to) {
                Ok(said) => self.say(NoticeLevel::Info, said),
                Err(said) => self.say(NoticeLevel::Error, said),
            };
        }
        let outcome = self.with_new_file(to, |stepper, tap| {
            let machine = stepper.rewind.machine();
            machine.save_recording(tap, "saved from the session").map_err(|error| error.to_string())
        });
        let total = self.rewind.machine().n_recorded();
        let said = outcome.and_then(|(path, recorder)| {
            let stats = finish(&path, recorder, total, &self.work)?;
            Ok(format!("saved {} inputs to {}", stats.inputs, path.display()))
        });
        match said {
            Ok(said) => self.say(NoticeLevel::Info, said),
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    fn with_new_file(
        &mut self,
        to: &RecordTo,
        begin: impl FnOnce(&mut Self, super::recorder::RecordingTap) -> Result<(), String>,
    ) -> Result<(PathBuf, Recorder), String> {
        if !self.rewind.machine().has_tap() {
            let said = "a recording that is played is not recorded again; what goes on from it is, after :leave or a change";
            return Err(said.to_owned());
        }
        let Some(desk) = &self.desk else { return Err("this session cannot be recorded".to_owned()) };
        let path = desk.path(to);
        let header = self.rewind.machine().tap_header().unwrap_or_else(|| desk.header.clone());
        let (recorder, tap) = desk.create(&path, &header).map_err(|error| error.to_string())?;
        begin(self, tap)?;
        Ok((path, recorder))
    }
}
