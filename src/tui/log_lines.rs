//! What the program itself did: log lines on their way from `tracing` to the log pane.
//!
//! The sending side never waits and never grows without bound: what does not fit is dropped, counted and shown.

#![expect(clippy::disallowed_methods, reason = "log lines have the time of the wall clock")]

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use crate::api::Time;

/// The field of an event that says when it happened in the session's own time, in nanoseconds.
const SIMULATED_AT: &str = "simulated_at";
/// How many lines are kept on either side.
const CAPACITY: usize = 2_000;

/// How grave a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// Every detail.
    Trace,
    /// For people who look for a fault.
    Debug,
    /// Something was done.
    Info,
    /// Something was not as expected.
    Warn,
    /// Something failed.
    Error,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When, by the wall clock.
    pub at: SystemTime,
    /// What time it was in the session: when what it tells of happened, if it says so, else when the console took it.
    pub seen: Time,
    /// How grave it is.
    pub level: LogLevel,
    /// The module that says it.
    pub target: String,
    /// Message and fields.
    pub text: String,
}

/// The lines that the console holds; the newest last.
#[derive(Clone, Debug, Default)]
pub struct LogLines {
    /// The lines.
    pub lines: VecDeque<LogLine>,
    /// How many have been let go to stay within bounds.
    pub n_dropped: u64,
    /// The time in the session, which new lines are given.
    pub now: Time,
}

#[derive(Debug, Default)]
struct Shared {
    lines: VecDeque<LogLine>,
    n_dropped: u64,
}

/// The way of log lines to the console. Clones are the same ring.
#[derive(Clone, Debug, Default)]
pub struct LogRing {
    shared: Arc<Mutex<Shared>>,
    arrived: Arc<tokio::sync::Notify>,
}

impl LogRing {
    /// Adds a line.
    pub fn push(&self, line: LogLine) {
        {
            let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
            if shared.lines.len() == CAPACITY {
                shared.lines.pop_front();
                shared.n_dropped += 1;
            }
            shared.lines.push_back(line);
        }
        self.arrived.notify_one();
    }

    /// Waits for a line.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Moves what has come to `lines`. True if there was something.
    pub fn drain_into(&self, lines: &mut LogLines) -> bool {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        lines.n_dropped += std::mem::take(&mut shared.n_dropped);
        let new = std::mem::take(&mut shared.lines);
        drop(shared);
        let is_any = !new.is_empty();
        let now = lines.now;
        let when = |line: &LogLine| if line.seen == Time::ZERO { now } else { line.seen };
        lines.lines.extend(new.into_iter().map(|line| LogLine { seen: when(&line), ..line }));
        while lines.lines.len() > CAPACITY {
            lines.lines.pop_front();
            lines.n_dropped += 1;
        }
        is_any
    }
}

/// Puts every event into the ring: message first, then the other fields.
impl<S: Subscriber> Layer<S> for LogRing {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut line = LineText::default();
        event.record(&mut line);
        let metadata = event.metadata();
        let level = match *metadata.level() {
            Level::TRACE => LogLevel::Trace,
            Level::DEBUG => LogLevel::Debug,
            Level::INFO => LogLevel::Info,
            Level::WARN => LogLevel::Warn,
            Level::ERROR => LogLevel::Error,
        };
        let target = metadata.target().to_owned();
        let text = line.message + &line.fields;
        self.push(LogLine { at: SystemTime::now(), seen: line.at, level, target, text });
    }
}

#[derive(Default)]
struct LineText {
    message: String,
    fields: String,
    /// When it happened in simulated time; 0 if it does not say so.
    at: Time,
}

impl Visit for LineText {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a String fails only if the value's own formatting does; then it is left out.
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        match field.name() {
            SIMULATED_AT => self.at = Time::from_nanos(value),
            _ => self.record_debug(field, &value),
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => drop(write!(self.fields, " {name}={value}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    fn line(text: &str) -> LogLine {
        LogLine {
            at: SystemTime::UNIX_EPOCH,
            seen: Time::ZERO,
            level: LogLevel::Info,
            target: "t".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn what_does_not_fit_is_dropped_and_counted() {
        let ring = LogRing::default();
        for n in 0..CAPACITY + 3 {
            ring.push(line(&n.to_string()));
        }
        let mut lines = LogLines::default();
        assert!(ring.drain_into(&mut lines));
        assert!(!ring.drain_into(&mut lines));
        assert_eq!((lines.lines.len(), lines.n_dropped), (CAPACITY, 3));
        assert_eq!(lines.lines.front().map(|line| line.text.as_str()), Some("3"));
        ring.push(line("last"));
        ring.drain_into(&mut lines);
        assert_eq!((lines.lines.len(), lines.n_dropped), (CAPACITY, 4));
    }

    #[test]
    fn events_come_with_their_fields() {
        let ring = LogRing::default();
        let subscriber = tracing_subscriber::registry().with(ring.clone());
        tracing::subscriber::with_default(subscriber, || {
            tracing::warn!(target: "driver", pod = "shop/web", n = 3, "left out");
        });
        let mut lines = LogLines::default();
        ring.drain_into(&mut lines);
        let line = &lines.lines[0];
        assert_eq!((line.level, line.target.as_str()), (LogLevel::Warn, "driver"));
        assert_eq!(line.text, "left out pod=shop/web n=3");
        assert_eq!(line.seen, lines.now);
    }

    #[test]
    fn what_happened_in_simulated_time_is_dated_so() {
        let ring = LogRing::default();
        let subscriber = tracing_subscriber::registry().with(ring.clone());
        let at = Time::from_secs(1_767_225_601);
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(target: "sandbox", simulated_at = at.as_nanos(), "it runs");
        });
        let mut lines = LogLines { now: Time::from_secs(1_767_225_900), ..LogLines::default() };
        ring.drain_into(&mut lines);
        assert_eq!((lines.lines[0].text.as_str(), lines.lines[0].seen), ("it runs", at));
    }
}
