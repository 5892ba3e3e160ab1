//! The session's way to its recording, and the memory of what happened for when somebody wants it recorded later.
//!
//! The state of a scheduler cannot be written down but as the inputs that lead to it. So what is recorded later begins
//! at the session's start, too: the inputs are kept, with their objects shared, up to so many bytes.

#![expect(clippy::disallowed_methods, reason = "how long the session waits for the file is measured")]

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use crate::api::Time;
use crate::recording::{Header, decisions_check};
use crate::scheduler::Scheduler;
use crate::scheduler::effect::Effect;
use crate::scheduler::input::Input;

use super::batch_queue::{BatchSender, Sent};
use super::recorder::{Message, QUEUE_BYTES, RecorderStats, Shared};

/// The memory that what happened may take, as estimated: 256 MiB. That is about 100,000 changes of objects.
pub const LOG_BYTES_MAX: usize = 256 << 20;
/// An input with the object that it brings.
const OBJECT_BYTES: usize = 2_500;
/// Any other message.
const MESSAGE_BYTES: usize = 200;
/// Digests are at least so many inputs apart.
const DIGEST_INTERVAL_MIN: u64 = 256;

/// What happened since the session began.
#[derive(Debug)]
struct Log {
    messages: Vec<Message>,
    bytes: usize,
    bytes_max: usize,
    /// Whether it was too much: nothing of it is kept then.
    is_full: bool,
}

impl Log {
    const fn new(bytes_max: usize) -> Self {
        Self { messages: Vec::new(), bytes: 0, bytes_max, is_full: false }
    }

    fn add(&mut self, message: &Message) {
        if self.is_full {
            return;
        }
        let own = match message {
            Message::Input { input: Input::Added(_) | Input::Updated { .. }, .. } => OBJECT_BYTES,
            _ => MESSAGE_BYTES,
        };
        self.bytes += own + usize::try_from(message.weight()).unwrap_or(usize::MAX);
        if self.bytes > self.bytes_max {
            *self = Self { is_full: true, ..Self::new(self.bytes_max) };
            return;
        }
        self.messages.push(message.clone());
    }
}

/// The session is too long to be recorded from its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "what happened since the start is no longer kept: it was more than {} MiB. :save-last saves the last minutes, and \
     --record has no such limit",
    LOG_BYTES_MAX >> 20
)]
pub struct TooLong;

/// Where messages are written.
#[derive(Debug)]
struct Sink {
    sender: BatchSender<Message>,
    shared: Arc<Shared>,
    digest_interval_min: u64,
    is_redacting: bool,
}

/// The session's way to its recording. Dropping it ends the recording.
///
/// Inputs are numbered from 1 in the order in which they are recorded. Whoever records tells behind which of them the
/// scheduler was; where that is not the last one, the session has gone back, and the recording says so.
#[derive(Debug)]
pub struct RecordingTap {
    sink: Option<Sink>,
    log: Option<Log>,
    /// How many inputs were recorded.
    inputs: u64,
    /// Behind which of them the recording stands.
    at: u64,
    since_digest: u64,
    /// What recordings of what is kept in memory begin with, if that is not what those of the session do.
    header: Option<Box<Header>>,
}

impl RecordingTap {
    pub(super) fn to(
        sender: BatchSender<Message>,
        shared: Arc<Shared>,
        digest_interval_min: u64,
        is_redacting: bool,
    ) -> Self {
        let sink = Some(Sink { sender, shared, digest_interval_min, is_redacting });
        Self { sink, log: None, inputs: 0, at: 0, since_digest: 0, header: None }
    }

    /// One that keeps what happens in memory, and writes nothing yet.
    pub fn in_memory() -> Self {
        Self::in_memory_of(LOG_BYTES_MAX)
    }

    /// The same with so many bytes of memory, as estimated.
    pub fn in_memory_of(bytes: usize) -> Self {
        let log = Some(Log::new(bytes));
        Self { sink: None, log, inputs: 0, at: 0, since_digest: 0, header: None }
    }

    /// One that keeps this, which has happened, and what happens from now on.
    pub(super) fn of_past(header: Header, messages: Vec<Message>) -> Self {
        let mut tap = Self::in_memory().of_header(header);
        for message in messages {
            tap.inputs += u64::from(matches!(message, Message::Input { .. }));
            if let Some(log) = &mut tap.log {
                log.add(&message);
            }
        }
        tap.at = tap.inputs;
        tap
    }

    /// One of a session of which too much has happened already.
    pub(super) fn too_long(header: Header) -> Self {
        let mut tap = Self::in_memory().of_header(header);
        tap.log = Some(Log { is_full: true, ..Log::new(0) });
        tap
    }

    /// The same for recordings that begin with this.
    #[must_use]
    pub(super) fn of_header(mut self, header: Header) -> Self {
        self.header = Some(Box::new(header));
        self
    }

    /// What recordings of what is kept in memory begin with, if that is not what those of the session do.
    pub(super) fn header(&self) -> Option<&Header> {
        self.header.as_deref()
    }

    /// The same, that keeps what happens in memory, too.
    #[must_use]
    pub fn with_memory(mut self) -> Self {
        self.log.get_or_insert(Log::new(LOG_BYTES_MAX));
        self
    }

    /// Whether anything is written.
    pub const fn is_writing(&self) -> bool {
        self.sink.is_some()
    }

    /// What happened since the start is written there, and from now on everything that happens.
    ///
    /// # Errors
    /// If it is no longer kept.
    pub fn begin(&mut self, other: Self) -> Result<(), TooLong> {
        let past = self.past()?;
        self.sink = other.sink;
        // Long ago nobody looked at the whole state: it is time.
        self.since_digest = u64::MAX / 2;
        self.write(Message::Past(past));
        Ok(())
    }

    /// What happened since the start is written there, and that is all.
    ///
    /// # Errors
    /// If it is no longer kept.
    pub fn save(
        &self,
        mut other: Self,
        behind: u64,
        scheduler: &Scheduler,
        reason: &str,
    ) -> Result<(), TooLong> {
        let past = self.past()?;
        other.write(Message::Past(past));
        (other.inputs, other.at) = (self.inputs, self.at);
        other.finish(behind, scheduler, reason);
        Ok(())
    }

    /// Whether what happened since the start is kept.
    pub fn is_whole(&self) -> bool {
        self.log.as_ref().is_some_and(|log| !log.is_full)
    }

    fn past(&self) -> Result<Vec<Message>, TooLong> {
        let log = self.log.as_ref().filter(|log| !log.is_full).ok_or(TooLong)?;
        Ok(log.messages.clone())
    }

    /// Ends what is written behind an input; what happens is still kept in memory.
    pub fn stop(&mut self, behind: u64, scheduler: &Scheduler, reason: &str) {
        if self.sink.is_some() {
            self.finish(behind, scheduler, reason);
            self.sink = None;
        }
    }

    /// Records an input that the scheduler has taken behind input `behind`, with the deeds that followed from it. The
    /// answer is its number.
    pub fn took<'a>(
        &mut self,
        behind: u64,
        at: Time,
        input: Input,
        effects: impl IntoIterator<Item = &'a Effect> + Clone,
        scheduler: &Scheduler,
    ) -> u64 {
        self.go_to(behind);
        let deeds =
            if self.is_redacting() { effects.clone().into_iter().cloned().collect() } else { Vec::new() };
        let decided = decisions_check(effects);
        self.send(Message::Input { at, input, decided, deeds });
        self.inputs += 1;
        self.at = self.inputs;
        self.since_digest += 1;
        // A digest looks at every object, so with one per so many inputs each input pays for one object.
        let interval = self.sink.as_ref().map_or(DIGEST_INTERVAL_MIN, |sink| sink.digest_interval_min);
        let is_due = self.since_digest >= interval && self.since_digest >= scheduler.objects().len() as u64;
        if is_due && self.sink.is_some() {
            self.digest(scheduler);
        }
        self.inputs
    }

    /// The session goes on from behind that input.
    fn go_to(&mut self, input: u64) {
        if self.at != input {
            self.at = input;
            self.since_digest = 0;
            self.send(Message::Rewind { input });
        }
    }

    fn is_redacting(&self) -> bool {
        self.sink.as_ref().is_some_and(|sink| sink.is_redacting)
    }

    /// Looks at the whole state where somebody writes it down.
    fn digest(&mut self, scheduler: &Scheduler) {
        self.since_digest = 0;
        if self.sink.is_some() {
            self.send(Message::Digest(scheduler.digest_parts()));
        }
    }

    /// How many inputs were recorded.
    pub fn inputs(&self) -> u64 {
        self.inputs
    }

    /// What the recorder has done so far.
    pub fn stats(&self) -> RecorderStats {
        self.sink.as_ref().map(|sink| sink.shared.stats()).unwrap_or_default()
    }

    /// What went wrong, if anything did. Nothing is recorded any more then.
    pub fn failure(&self) -> Option<String> {
        self.sink.as_ref()?.shared.failure()
    }

    /// Marks the place behind an input, with a look at the scheduler there.
    pub fn marker(&mut self, behind: u64, at: Time, name: &str, scheduler: &Scheduler) {
        self.go_to(behind);
        self.digest(scheduler);
        self.send(Message::Marker { at, name: name.to_owned() });
    }

    /// Says something about the place behind an input.
    pub fn note(&mut self, behind: u64, at: Time, text: &str) {
        self.go_to(behind);
        self.send(Message::Note { at, text: text.to_owned() });
    }

    /// Ends the recording behind an input with a last look at the scheduler. What is recorded later is lost.
    pub fn finish(&mut self, behind: u64, scheduler: &Scheduler, reason: &str) {
        self.go_to(behind);
        self.digest(scheduler);
        self.write(Message::End { reason: reason.to_owned() });
    }

    /// Keeps a message, and writes it.
    fn send(&mut self, message: Message) {
        if let Some(log) = &mut self.log {
            log.add(&message);
        }
        self.write(message);
    }

    /// Puts a message into the queue, and waits where there is no room.
    fn write(&self, message: Message) {
        if let Some(sink) = &self.sink {
            sink.send(message);
        }
    }
}

impl Sink {
    /// Puts a message into the queue, and waits where there is no room.
    fn send(&self, message: Message) {
        let weight = message.weight();
        if weight > 0 && self.shared.queued_bytes.load(Ordering::Acquire) > QUEUE_BYTES {
            let start = Instant::now();
            while self.shared.queued_bytes.load(Ordering::Acquire) > QUEUE_BYTES
                && self.shared.failure().is_none()
            {
                thread::sleep(Duration::from_millis(1));
            }
            self.count_wait(start.elapsed());
        }
        self.shared.queued_bytes.fetch_add(weight, Ordering::AcqRel);
        let is_last = matches!(message, Message::End { .. });
        match self.sender.send(message, is_last) {
            // Where the reader is gone, the recorder has told why it ended.
            Sent::AtOnce | Sent::Lost => {}
            Sent::After(waited) => self.count_wait(waited),
        }
    }

    fn count_wait(&self, waited: Duration) {
        self.shared.waits.fetch_add(1, Ordering::Relaxed);
        let waited = u64::try_from(waited.as_nanos()).unwrap_or(u64::MAX);
        self.shared.waited_ns.fetch_add(waited, Ordering::Relaxed);
    }
}
