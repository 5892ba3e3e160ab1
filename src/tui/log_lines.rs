//! What the program itself did: log lines on their way from `tracing` to the log pane.
//!
//! The sending side never waits and never grows without bound: what does not fit is dropped, counted and shown.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

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
        lines.lines.extend(new);
        while lines.lines.len() > CAPACITY {
            lines.lines.pop_front();
            lines.n_dropped += 1;
        }
        is_any
    }
}
