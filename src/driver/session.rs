//! A session: the core and its driver on a thread of their own, steered by commands, seen through views.
//!
//! The screen and the command line talk to a [`SessionHandle`] only. Commands are answered by a new
//! [`SessionView`]; nothing here waits for the screen, and the screen never waits for the scheduler.

use std::sync::Arc;
use std::sync::mpsc::Sender;

use tokio::sync::watch;

use crate::api::{Duration, NamespacedName, Str};
use crate::scheduler::view::View;

/// How fast simulated time goes while the session runs, in thousandths of wall-clock speed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Speed {
    /// So many times wall-clock speed; ten attempts a second of simulated time at the most.
    Times(u32),
    /// As fast as the machine goes.
    Max,
}

impl Speed {
    /// The speeds that a person steps through.
    pub const STEPS: [Self; 6] =
        [Self::Times(1), Self::Times(2), Self::Times(10), Self::Times(60), Self::Times(600), Self::Max];

    /// The next faster one.
    pub fn faster(self) -> Self {
        Self::STEPS.into_iter().find(|step| *step > self).unwrap_or(self)
    }

    /// The next slower one.
    pub fn slower(self) -> Self {
        Self::STEPS.into_iter().rev().find(|step| *step < self).unwrap_or(self)
    }
}

impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Times(n) => write!(f, "×{n}"),
            Self::Max => f.write_str("max"),
        }
    }
}

/// Where simulated time is moved to while the session is paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// By that much.
    By(Duration),
    /// To the next moment at which something happens by itself: a backoff that ends, a terminating pod that goes,
    /// a Permit that times out, the flush.
    ToNextTimeout,
}

/// A change that a person makes to the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Adds the objects of a manifest (pods, nodes, ...). The name says where the text is from.
    Apply {
        /// Such as a file's name.
        source: String,
        /// YAML or JSON.
        text: String,
    },
    /// Deletes a pod.
    DeletePod(NamespacedName),
    /// Deletes a node; its pods go with it.
    DeleteNode(Str),
    /// `kubectl cordon`.
    Cordon(Str),
    /// `kubectl uncordon`.
    Uncordon(Str),
    /// `kubectl taint`: `key=value:Effect`, `key:Effect`, or with a `-` at the end to take it away.
    Taint {
        /// The node.
        node: Str,
        /// The taint.
        taint: String,
    },
    /// `kubectl label`: `key=value`, or `key-` to take it away.
    Label {
        /// The node.
        node: Str,
        /// The label.
        label: String,
    },
}

/// What a session can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCommand {
    /// Does the next phase of the attempt, or begins one.
    StepPhase,
    /// Does the rest of the attempt with its binding cycle, or a whole one.
    StepCycle,
    /// Goes on until a pod is bound or rejected, moving time where nothing else can happen.
    RunToOutcome,
    /// Runs freely.
    Run,
    /// Stops running.
    Pause,
    /// Changes the speed.
    SetSpeed(Speed),
    /// Moves simulated time and pauses there.
    Advance(Advance),
    /// Changes the sandbox.
    Edit(Edit),
    /// Ends the session.
    Quit,
}

/// Whether the session runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// Only steps are done.
    Paused,
    /// Time goes and attempts are made.
    Running,
    /// Until the next pod is bound or rejected.
    RunningToOutcome,
}

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeLevel {
    /// Something was done.
    Info,
    /// Something was not as expected.
    Warning,
    /// A command failed.
    Error,
}

/// The answer to a command, in one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Notices are numbered from 1, so that the screen knows which it has shown.
    pub number: u64,
    /// How grave it is.
    pub level: NoticeLevel,
    /// The sentence.
    pub text: String,
}

/// What a session looks like at one moment.
#[derive(Clone, Debug)]
pub struct SessionView {
    /// What is simulated, such as `sample` or the name of the first file.
    pub source: Str,
    /// Whether it runs.
    pub run_state: RunState,
    /// How fast.
    pub speed: Speed,
    /// Simulated time since the start.
    pub elapsed: Duration,
    /// What the next advance to a timeout would reach: how far ahead it is, and what happens there.
    pub next_timeout: Option<(Duration, Str)>,
    /// The scheduler.
    pub scheduler: Arc<View>,
    /// The last answer to a command.
    pub notice: Option<Notice>,
    /// Set when the session's thread has ended with a panic; the screen shows it.
    pub failure: Option<Str>,
}

/// The way to a session. Dropping it ends the session.
#[derive(Debug)]
pub struct SessionHandle {
    commands: Sender<SessionCommand>,
    views: watch::Receiver<Arc<SessionView>>,
}

impl SessionHandle {
    /// Puts the two ends together.
    pub fn new(commands: Sender<SessionCommand>, views: watch::Receiver<Arc<SessionView>>) -> Self {
        Self { commands, views }
    }

    /// Sends a command. False if the session has ended.
    pub fn send(&self, command: SessionCommand) -> bool {
        self.commands.send(command).is_ok()
    }

    /// The newest view.
    pub fn view(&self) -> Arc<SessionView> {
        Arc::clone(&self.views.borrow())
    }

    /// Waits until there is a newer view. False if the session has ended.
    pub async fn changed(&mut self) -> bool {
        self.views.changed().await.is_ok()
    }
}
