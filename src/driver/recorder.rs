//! Records a session into a file while it runs.
//!
//! The session's thread hands every input on as it is, with its objects shared; a thread of the recorder writes them
//! down. Between the two is a queue of fixed length, from which the thread takes what has gathered. Where the file cannot
//! keep up, the session waits: nothing is dropped, and how often and how long it waited is counted. What was written
//! reaches the file at least once a second.

#![expect(clippy::disallowed_methods, reason = "a recorder has a clock of its own for its flushes")]

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::api::Time;
use crate::framework::extender::ExtenderAnswer;
use crate::framework::runtime::Registry;
use crate::recording::{Compression, Header, HeaderError, LiveRedaction, RecordingWriter, Slim};
use crate::scheduler::effect::Effect;
use crate::scheduler::input::Input;

use super::batch_queue::{BatchReceiver, batch_queue};
pub use super::tap::RecordingTap;

/// Inputs that wait to be taken by the writing thread, at the most. As many may be with it, being written.
const QUEUE_LEN: usize = 4096;
/// So long inputs gather before they are taken: waking the writing thread for each would cost the session more than
/// everything else that it does for a recording.
const GATHERING: Duration = Duration::from_millis(20);
/// Bytes of extenders' answers that wait to be written, at the most, but for one answer.
pub(super) const QUEUE_BYTES: u64 = 64 << 20;
/// What was written reaches the file no later than this.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);
/// How often signals are looked at while they are the recorder's affair.
const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);
/// How often one who waits for the end and may lose patience is asked.
const LOOK_INTERVAL: Duration = Duration::from_millis(20);
/// So long the end of a recording is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a recording cannot be begun, or went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The file is there already.
    #[error("{}: it is there already, and a recording replaces nothing", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file cannot be made.
    #[error("{}: {error}", path.display())]
    Create {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// No scheduler can be made of the header, so names cannot be replaced.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The recorder has no thread, or no signals.
    #[error("starting the recorder: {0}")]
    Start(io::Error),
    /// Names are to be replaced, and that is done from a session's start on only.
    #[error(
        "this session was started with --redact, and what is saved from within would have its names: not done"
    )]
    WithNames,
    /// Something could not be written; the recording ends before it.
    #[error("writing the recording: {0}")]
    Write(String),
    /// Nobody wanted it any more. The file holds a part of it.
    #[error("stopped before everything was written")]
    GivenUp,
    /// The recorder does not end.
    #[error("the recorder has not written everything within {} s", PATIENCE.as_secs())]
    Stuck,
}

/// How a session is recorded.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// Whether the file is compressed.
    pub compression: Compression,
    /// What is kept of objects.
    pub slim: Slim,
    /// Digests are at least so many inputs apart; in a large cluster they are further apart, so that they cost no
    /// more per input there.
    pub digest_interval_min: u64,
    /// Whether the recorder ends the program upon SIGINT, SIGTERM and SIGHUP, once everything is written. For programs
    /// that do not answer these signals themselves.
    pub ends_program_on_signal: bool,
    /// With these plugins names are replaced by pseudonyms: a second scheduler is made of them, on the recorder's
    /// thread, that proves that everything is decided alike.
    pub redact_with: Option<Registry>,
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            compression: Compression::None,
            slim: Slim::default(),
            digest_interval_min: 256,
            ends_program_on_signal: false,
            redact_with: None,
        }
    }
}

/// What a recorder has done so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RecorderStats {
    /// Inputs in the recording.
    pub inputs: u64,
    /// Bytes of lines, before compression.
    pub bytes: u64,
    /// How often the session had to wait for the file.
    pub waits: u64,
    /// How long, in nanoseconds.
    pub waited_ns: u64,
}

/// What both threads see.
#[derive(Debug, Default)]
pub(super) struct Shared {
    inputs: AtomicU64,
    bytes: AtomicU64,
    pub(super) waits: AtomicU64,
    pub(super) waited_ns: AtomicU64,
    /// Bytes of answers in the queue.
    pub(super) queued_bytes: AtomicU64,
    failure: Mutex<Option<String>>,
    /// Nobody wants it any more.
    is_given_up: AtomicBool,
}

impl Shared {
    fn fail(&self, text: String) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(text);
    }

    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn stats(&self) -> RecorderStats {
        RecorderStats {
            inputs: self.inputs.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            waits: self.waits.load(Ordering::Relaxed),
            waited_ns: self.waited_ns.load(Ordering::Relaxed),
        }
    }
}

/// What the session tells the recorder.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// The deeds are told only if names are replaced.
    Input {
        at: Time,
        input: Input,
        decided: Option<u32>,
        deeds: Vec<Effect>,
    },
    Digest(Vec<(&'static str, u64)>),
    Marker {
        at: Time,
        name: String,
    },
    Note {
        at: Time,
        text: String,
    },
    Rewind {
        input: u64,
    },
    End {
        reason: String,
    },
    /// What happened before anything was recorded.
    Past(Vec<Self>),
}

impl Message {
    /// Bytes that it holds for itself alone; objects are shared.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Input { input: Input::ExtenderAnswered { answer, .. }, .. } => match answer {
                ExtenderAnswer::Http { body, .. } => body.len() as u64,
                ExtenderAnswer::Failed(text) => text.len() as u64,
            },
            _ => 0,
        }
    }
}

/// A recording that is being written.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: JoinHandle<()>,
    ended: Receiver<()>,
}

impl Recorder {
    /// Begins a recording in a new file that only its owner can read.
    ///
    /// # Errors
    /// If the file is there already or cannot be made.
    pub fn create(
        path: &Path,
        header: &Header,
        options: RecorderOptions,
    ) -> Result<(Self, RecordingTap), RecorderError> {
        let file = new_file(path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => RecorderError::Exists { path: path.to_owned() },
            _ => RecorderError::Create { path: path.to_owned(), error },
        })?;
        Self::start(Box::new(BufWriter::with_capacity(1 << 16, file)), header, options)
    }

    /// Begins a recording in any sink.
    ///
    /// # Errors
    /// If the sink does not take the header, or there is no thread left.
    pub fn start(
        sink: Box<dyn Write + Send>,
        header: &Header,
        options: RecorderOptions,
    ) -> Result<(Self, RecordingTap), RecorderError> {
        let redaction = options.redact_with.as_ref().map(|registry| LiveRedaction::new(header, registry));
        let (redaction, redacted_header) = redaction.transpose()?.unzip();
        let header = redacted_header.as_ref().unwrap_or(header);
        let writer = RecordingWriter::new(sink, options.compression, header, options.slim);
        let writer = writer.map_err(|error| RecorderError::Write(error.to_string()))?;
        let shared = Arc::new(Shared::default());
        let (sender, messages) = batch_queue(QUEUE_LEN, GATHERING);
        let (end_sender, ended) = sync_channel(1);
        let signals = if options.ends_program_on_signal { Some(Signals::new()?) } else { None };
        let is_redacting = redaction.is_some();
        let mut scribe = Scribe { writer, redaction, shared: Arc::clone(&shared), is_dirty: false };
        let thread = thread::Builder::new().name("recorder".to_owned()).spawn(move || {
            scribe.run(&messages, signals.as_ref());
            // Nobody may be waiting.
            let _ = end_sender.send(());
        });
        let thread = thread.map_err(RecorderError::Start)?;
        let tap = RecordingTap::to(sender, Arc::clone(&shared), options.digest_interval_min, is_redacting);
        Ok((Self { shared, thread, ended }, tap))
    }

    /// What was done so far.
    pub fn stats(&self) -> RecorderStats {
        self.shared.stats()
    }

    /// What went wrong, if anything did. Nothing is recorded any more then.
    pub fn failure(&self) -> Option<String> {
        self.shared.failure()
    }

    /// The same for one who may lose patience: `goes_on` is told how many inputs are written, and ends it by answering
    /// false.
    ///
    /// # Errors
    /// If something could not be written, or it was ended.
    pub fn finish_while(self, mut goes_on: impl FnMut(u64) -> bool) -> Result<RecorderStats, RecorderError> {
        loop {
            if !goes_on(self.shared.stats().inputs) {
                self.shared.is_given_up.store(true, Ordering::Relaxed);
                // Whatever else came of it is of no interest any more.
                let _ = self.finish();
                return Err(RecorderError::GivenUp);
            }
            if self.ended.recv_timeout(LOOK_INTERVAL) != Err(RecvTimeoutError::Timeout) {
                return self.finish();
            }
        }
    }

    /// Waits until everything is written. The tap must be gone, or have ended the recording.
    ///
    /// # Errors
    /// If something could not be written.
    pub fn finish(self) -> Result<RecorderStats, RecorderError> {
        if self.ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            return Err(RecorderError::Stuck);
        }
        if self.thread.join().is_err() {
            self.shared.fail("the recorder has ended with a panic".to_owned());
        }
        match self.shared.failure() {
            Some(text) => Err(RecorderError::Write(text)),
            None => Ok(self.shared.stats()),
        }
    }
}

/// Makes a file that is not there yet and that only its owner can read.
///
/// # Errors
/// If it is there, or cannot be made.
pub fn new_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Takes away what was written of a recording that nobody wants. Where that cannot be done it stays, and reads as one that
/// was cut off.
pub(super) fn take_away(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// The writing side.
struct Scribe {
    redaction: Option<LiveRedaction>,
    writer: RecordingWriter<Box<dyn Write + Send>>,
    shared: Arc<Shared>,
    is_dirty: bool,
}

impl Scribe {
    fn run(&mut self, messages: &BatchReceiver<Message>, signals: Option<&Signals>) {
        if let Err(error) = self.write_all(messages, signals) {
            self.shared.fail(error.to_string());
        }
    }

    fn write_all(&mut self, messages: &BatchReceiver<Message>, signals: Option<&Signals>) -> io::Result<()> {
        let mut flush_at = Instant::now() + FLUSH_INTERVAL;
        let mut batch = Vec::with_capacity(QUEUE_LEN);
        loop {
            let until_flush =
                self.is_dirty.then(|| flush_at.saturating_duration_since(Instant::now()).min(FLUSH_INTERVAL));
            // Where nothing waits to be flushed, sleep until something comes.
            let longest = [until_flush, signals.map(|_| SIGNAL_INTERVAL)].into_iter().flatten().min();
            if !messages.take(&mut batch, longest) {
                return self.writer.end("closed");
            }
            if !batch.is_empty() && !self.is_dirty {
                self.is_dirty = true;
                flush_at = Instant::now() + FLUSH_INTERVAL;
            }
            for message in batch.drain(..) {
                if self.write(message)? {
                    return Ok(());
                }
                // A slow file does not hold up what was written before.
                if Instant::now() >= flush_at {
                    self.writer.flush()?;
                    flush_at = Instant::now() + FLUSH_INTERVAL;
                }
            }
            if self.is_dirty && Instant::now() >= flush_at {
                self.writer.flush()?;
                self.is_dirty = false;
            }
            if let Some(signal) = signals.and_then(Signals::received) {
                return self.end_program(messages, signal);
            }
        }
    }

    /// Writes what is in the queue, ends the recording and lets the signal do what it does by default.
    fn end_program(&mut self, messages: &BatchReceiver<Message>, signal: usize) -> io::Result<()> {
        let mut batch = Vec::new();
        messages.take_now(&mut batch);
        for message in batch {
            if self.write(message)? {
                return Signals::raise(signal);
            }
        }
        self.writer.end(&format!("signal {signal}"))?;
        Signals::raise(signal)
    }

    /// Writes a message. True if it was the last one.
    fn write(&mut self, message: Message) -> io::Result<bool> {
        if self.shared.is_given_up.load(Ordering::Relaxed) {
            return Err(io::Error::other("given up"));
        }
        // What is in the past was never in the queue by itself.
        let weight = message.weight().min(self.shared.queued_bytes.load(Ordering::Acquire));
        self.shared.queued_bytes.fetch_sub(weight, Ordering::AcqRel);
        match message {
            Message::Input { at, input, decided, deeds } => match &mut self.redaction {
                None => self.writer.input(at, &input, decided)?,
                Some(redaction) => {
                    let (input, decided) = redaction.input(at, &input, &deeds).map_err(io::Error::other)?;
                    self.writer.input(at, &input, decided)?;
                }
            },
            Message::Digest(parts) => match &self.redaction {
                None => self.writer.digest(&parts)?,
                Some(redaction) => self.writer.digest(&redaction.digest_parts())?,
            },
            Message::Marker { at, name } => match &mut self.redaction {
                None => self.writer.marker(at, &name)?,
                Some(redaction) => self.writer.marker(at, &redaction.marker())?,
            },
            Message::Note { at, text } => {
                // What people write may hold anything.
                if self.redaction.is_none() {
                    self.writer.note(at, &text)?;
                }
            }
            Message::Rewind { input } => {
                if let Some(redaction) = &mut self.redaction {
                    redaction.rewind(input);
                }
                self.writer.rewind(input)?;
            }
            Message::Past(past) => {
                for message in past {
                    self.write(message)?;
                }
            }
            Message::End { reason } => {
                self.writer.end(&reason)?;
                self.count();
                return Ok(true);
            }
        }
        self.count();
        Ok(false)
    }

    fn count(&self) {
        self.shared.inputs.store(self.writer.inputs(), Ordering::Relaxed);
        self.shared.bytes.store(self.writer.bytes(), Ordering::Relaxed);
    }
}

/// Signals that end the program.
struct Signals(Arc<AtomicUsize>);

#[cfg(unix)]
impl Signals {
    fn new() -> Result<Self, RecorderError> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let received = Arc::new(AtomicUsize::new(0));
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            let number = usize::try_from(signal).unwrap_or(0);
            signal_hook::flag::register_usize(signal, Arc::clone(&received), number)
                .map_err(RecorderError::Start)?;
        }
        Ok(Self(received))
    }

    fn raise(signal: usize) -> io::Result<()> {
        signal_hook::low_level::emulate_default_handler(i32::try_from(signal).unwrap_or(0))
    }
}

#[cfg(not(unix))]
impl Signals {
    fn new() -> Result<Self, RecorderError> {
        Ok(Self(Arc::default()))
    }

    fn raise(_signal: usize) -> io::Result<()> {
        Ok(())
    }
}

impl Signals {
    fn received(&self) -> Option<usize> {
        Some(self.0.load(Ordering::Relaxed)).filter(|signal| *signal != 0)
    }
}
