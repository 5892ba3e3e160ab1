//! A session: the core and its driver on a thread of their own, steered by commands, seen through views.
//!
//! The screen and the command line talk to a [`SessionHandle`] only. Commands are answered by a new
//! [`SessionView`]; nothing here waits for the screen, and the screen never waits for the scheduler.

#![expect(clippy::disallowed_methods, reason = "a session owns its clock")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Instant;

use tokio::sync::watch;

use super::branches::{BranchComparison, BranchView};
use super::breakpoints::{DebugCommand, DebugView};
use super::rewind::Moment;
use super::sandbox::simulator::Simulator;
use super::stepper::Stepper;
use crate::api::{Duration, Kind, NamespacedName, Str};
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
    /// Deletes an object of another kind, such as a claim.
    Delete {
        /// The kind.
        kind: Kind,
        /// The object.
        key: NamespacedName,
    },
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
    /// Another weight for a Score plugin.
    Weight {
        /// The plugin.
        plugin: Str,
        /// Its weight, from 1 on.
        weight: i64,
    },
    /// The scheduler starts again under another configuration. The name says where the text is from.
    Configure {
        /// Such as a file's name.
        source: String,
        /// A `KubeSchedulerConfiguration`.
        text: String,
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
    /// Does the trial of a pod group in one placement, or the next step of its cycle; else the next phase.
    StepPlacement,
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
    /// Takes the next higher speed.
    Faster,
    /// Takes the next lower speed.
    Slower,
    /// Moves simulated time and pauses there.
    Advance(Advance),
    /// Changes the sandbox.
    Edit(Edit),
    /// Goes back to a moment before, and pauses there.
    Back(BackTo),
    /// Goes on to the last moment that is known.
    ToEnd,
    /// Goes to the moment that much simulated time after the start.
    ToElapsed(Duration),
    /// Goes to the end of a branch.
    ToBranch(usize),
    /// Compares two branches.
    Compare(usize, usize),
    /// Sets breakpoints, watches, and goes to where a condition is true.
    Debug(DebugCommand),
    /// Ends the session.
    Quit,
}

/// Where a session goes back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackTo {
    /// Before the last phase.
    Phase,
    /// Before the attempt that is under way or was made last.
    Cycle,
    /// The beginning.
    Start,
    /// Just after an object has changed last.
    Change(Kind, NamespacedName),
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
    /// Where in what is known of it the session stands.
    pub moment: Moment,
    /// Breakpoints and watches.
    pub debug: Arc<DebugView>,
    /// The branches, in the order in which they began; empty while there is only one.
    pub branches: Arc<[BranchView]>,
    /// The two branches that were compared last, with the number of the comparison.
    pub comparison: Option<(u64, Arc<BranchComparison>)>,
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

/// Starts a paused session on a sandbox, on a thread of its own.
///
/// # Errors
/// If the system has no thread left.
pub fn spawn_sandbox(simulator: Simulator, source: Str) -> std::io::Result<SessionHandle> {
    let (command_sender, commands) = std::sync::mpsc::channel();
    let stepper = Stepper::new(simulator);
    let (views, view_receiver) = watch::channel(Arc::new(session_view(&stepper, &source, None)));
    std::thread::Builder::new().name("session".to_owned()).spawn(move || {
        let mut last_stepper = stepper;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(&mut last_stepper, &commands, &views, &source);
            last_stepper.finish_recording("the session was closed");
        }));
        if let Err(panic) = outcome {
            let text = panic_text(panic.as_ref());
            tracing::error!(target: "session", "the session has ended with a panic: {text}");
            let last = Arc::clone(&views.borrow());
            let failure = Some(Str::from(text));
            views.send_replace(Arc::new(SessionView {
                failure,
                run_state: RunState::Paused,
                ..(*last).clone()
            }));
            // The screen keeps showing the last view until the person leaves.
            while commands.recv().is_ok_and(|command| command != SessionCommand::Quit) {}
        }
    })?;
    Ok(SessionHandle::new(command_sender, view_receiver))
}

/// The shortest time between two views while the session runs.
const VIEW_INTERVAL: Duration = Duration::from_millis(33);

fn run(
    stepper: &mut Stepper,
    commands: &Receiver<SessionCommand>,
    views: &watch::Sender<Arc<SessionView>>,
    source: &Str,
) {
    let mut last_tick = Instant::now();
    let mut last_view = Instant::now();
    let mut n_told = 0;
    loop {
        let received = match stepper.next_tick() {
            None => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(wait) => commands.recv_timeout(wait),
        };
        let mut has_command = false;
        match received {
            Ok(command) => {
                has_command = true;
                if stepper.run_state() == RunState::Paused {
                    last_tick = Instant::now();
                }
                if !stepper.command(command) {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(command) = commands.try_recv() {
            has_command = true;
            if !stepper.command(command) {
                return;
            }
        }
        let tick_start = Instant::now();
        let wall = tick_start.duration_since(last_tick);
        last_tick = tick_start;
        stepper.tick(wall, || tick_start.elapsed() >= VIEW_INTERVAL);
        n_told = tell_of_deeds(stepper.simulator(), n_told);
        let is_paused = stepper.run_state() == RunState::Paused;
        if has_command || is_paused || last_view.elapsed() >= VIEW_INTERVAL {
            last_view = Instant::now();
            stepper.update_watches();
            views.send_replace(Arc::new(session_view(stepper, source, None)));
        }
    }
}

/// Writes what the controllers have done since the first so many deeds into the log. The answer is how many there are
/// now: fewer, where the sandbox was taken back.
fn tell_of_deeds(simulator: &Simulator, n_told: u64) -> u64 {
    let Some(journal) = simulator.controllers() else { return n_told };
    for deed in journal.since(n_told) {
        if deed.is_warning {
            tracing::warn!(target: "sandbox", "{deed}");
        } else {
            tracing::info!(target: "sandbox", "{deed}");
        }
    }
    journal.n_deeds()
}

fn session_view(stepper: &Stepper, source: &Str, failure: Option<Str>) -> SessionView {
    let simulator = stepper.simulator();
    SessionView {
        source: source.clone(),
        run_state: stepper.run_state(),
        speed: stepper.speed(),
        elapsed: simulator.elapsed(),
        next_timeout: simulator.next_timeout().map(|(at, what)| (at - simulator.now(), what)),
        scheduler: Arc::new(simulator.scheduler().view()),
        moment: stepper.moment(),
        debug: stepper.debug_view(),
        branches: stepper.branch_views(),
        comparison: stepper.comparison().cloned(),
        notice: stepper.notice().cloned(),
        failure,
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
