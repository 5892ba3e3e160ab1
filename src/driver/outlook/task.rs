//! A question about what would be, answered beside a session on a thread of its own.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::run::{Progress, RunError};
use super::what_if::{WhatIf, what_if};
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::session::Edit;

/// What is known of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is worked out: so many attempts were made.
    Underway(u64),
    /// What would be.
    Known(Arc<WhatIf>),
    /// Why there is no answer.
    Failed(String),
}

/// A question as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhatIfView {
    /// Questions are numbered from 1.
    pub number: u64,
    /// The question.
    pub text: String,
    /// The answer.
    pub answer: Answer,
}

/// A question under way. Dropping it cancels it.
#[derive(Debug)]
pub struct Task {
    progress: Arc<Progress>,
    receiver: Receiver<Result<WhatIf, RunError>>,
}

impl Task {
    /// Begins to work on it.
    ///
    /// # Errors
    /// If the system has no thread left.
    pub fn start(simulator: Simulator, edits: Vec<Edit>) -> std::io::Result<Self> {
        let progress = Arc::new(Progress::default());
        let (sender, receiver) = channel();
        let seen = Arc::clone(&progress);
        std::thread::Builder::new().name("what-if".to_owned()).spawn(move || {
            let _ = sender.send(what_if(&simulator, &edits, &seen));
        })?;
        Ok(Self { progress, receiver })
    }

    /// What is known by now.
    pub fn look(&self) -> Answer {
        match self.receiver.try_recv() {
            Ok(Ok(what_if)) => Answer::Known(Arc::new(what_if)),
            Ok(Err(error)) => Answer::Failed(error.to_string()),
            Err(TryRecvError::Empty) => Answer::Underway(self.progress.attempts()),
            Err(TryRecvError::Disconnected) => Answer::Failed("it has ended without an answer".to_owned()),
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.progress.cancel();
    }
}
