//! A session: the core and its driver on a thread of their own, steered by commands, seen through views.
//!
//! The screen and the command line talk to a [`SessionHandle`] only. Commands are answered by a new
//! [`SessionView`]; nothing here waits for the screen, and the screen never waits for the scheduler.

#![expect(clippy::disallowed_methods, reason = "a session owns its clock")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Instant;

use tokio::sync::watch;

use super::advice::{AdviceQuestion, Numbered};
use super::api_server::mirror::Mirror;
use super::api_server::publish::{Ticket, Writer};
use super::branches::{BranchComparison, BranchView};
use super::breakpoints::{DebugCommand, DebugView};
use super::desk::Desk;
use super::history::HistoryLimits;
use super::inspect::{Inspect, Inspected};
use super::latency::LatencyView;
use super::live::session::LiveCommand;
use super::live::view::LiveView;
use super::outlook::task::WhatIfView;
use super::recorder::RecorderStats;
use super::replay::scan::Scan;
use super::replay::{Ending, RecordedSession};
use super::rewind::{Moment, Rewind};
use super::sandbox::changes::Change;
use super::sandbox::simulator::Simulator;
use super::sandbox::world::{WorldOrder, WorldView};
use super::seek::SeekTo;
use super::stage::Stage;
use super::stepper::Stepper;
use super::timeline::Timeline;
use super::work::{Work, WorkView};
use crate::api::{Duration, Kind, NamespacedName, Str};
use crate::framework::runtime::Registry;
use crate::recording::{Divergence, HeaderError, Slim};
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
    /// More than one object at once: a node is drained, a workload scaled.
    Change(Change),
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
    /// Lets a pod go on that Permit plugins hold, in the name of each of them.
    Allow(NamespacedName),
    /// Turns a pod down that Permit plugins hold, in the name of the first of them.
    Reject(NamespacedName),
    /// Has a pod that waits tried at once, wherever it is in the queue.
    Activate(NamespacedName),
    /// Several changes one after the other, all or none.
    Several {
        /// What they are together.
        what: String,
        /// The changes.
        edits: Vec<Self>,
    },
    /// Tells a living cluster something.
    World(WorldOrder),
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
    /// What only a live session does.
    Live(LiveCommand),
    /// Goes to a place in what is known.
    Seek(SeekTo),
    /// Looks for the same again, on or back.
    SeekAgain {
        /// Whether before the present moment.
        is_back: bool,
    },
    /// Leaves the recording: goes on from here as a sandbox.
    Leave,
    /// Begins a branch of this moment: a paused sandbox.
    Fork,
    /// Marks the present moment.
    Mark(String),
    /// Says something about the present moment.
    Note(String),
    /// Records the session from its start on.
    Record(RecordTo),
    /// Ends the recording.
    StopRecording,
    /// Saves what happened up to now as a recording; of a very long session, the last minutes.
    SaveLast(RecordTo),
    /// Looks into the scheduler: what every plugin says of a pod, or what is inside.
    Inspect(Inspect),
    /// Compares two branches.
    Compare(usize, usize),
    /// Works something out in copies: what would fix a pod, how many more fit.
    Advise(AdviceQuestion),
    /// Does one of the fixes that were found last, counted from 0.
    TryFix(usize),
    /// Asks what would be if the cluster changed, in the words of [`super::sandbox::words`].
    WhatIf(String),
    /// Makes the changes that were asked about, in a branch.
    TakeWhatIf,
    /// The question is of no interest any more.
    ForgetWhatIf,
    /// Sets breakpoints, watches, and goes to where a condition is true.
    Debug(DebugCommand),
    /// Leaves everything, and stands at that moment of a sandbox.
    Stage(Stage),
    /// Calls the work of that number off ([`SessionHandle::work`]).
    CallOff(u64),
    /// A client of the API that is served has something written. Not counted as a command.
    Request(Ticket),
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
    /// The cluster, where the session runs on a live one.
    pub live: Option<Arc<LiveView>>,
    /// What else than the present moment of the live cluster is shown, if that is so.
    pub aside: Option<Aside>,
    /// What is known of the session besides.
    pub known: Known,
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

/// What is shown in a live session that is not the live cluster as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aside {
    /// A moment of its past. It can be looked at and forked.
    Past {
        /// How far the cluster has gone on since.
        ahead: Duration,
    },
    /// A fork: a sandbox that began as the cluster was.
    Fork,
}

/// What is known of a session besides the present moment.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// How many of the commands that were sent are carried out.
    pub n_answered: u64,
    /// What happened when, and what is marked.
    pub timeline: Arc<Timeline>,
    /// Present where a recording is played.
    pub replay: Option<Arc<ReplayView>>,
    /// Present while the session is recorded.
    pub recorder: Option<RecorderView>,
    /// How long plugins took so far, where that is measured.
    pub latency: Option<Arc<LatencyView>>,
    /// What was asked for last besides the view.
    pub inspected: Option<Arc<Inspected>>,
    /// What was worked out last in copies, with its number.
    pub advice: Option<Numbered>,
    /// What would be, if that was asked.
    pub what_if: Option<Arc<WhatIfView>>,
    /// Present where the cluster lives.
    pub world: Option<Arc<WorldView>>,
}

/// How a recording that is being made goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecorderView {
    /// The file.
    pub file: Str,
    /// What was done so far.
    pub stats: RecorderStats,
    /// What went wrong; nothing is recorded any more then.
    pub failure: Option<Str>,
}

/// Where a recording goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordTo {
    /// A new file in the present folder, named after the source.
    AnyFile,
    /// That new file.
    File(PathBuf),
}

/// What there is to say about a recording that is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayView {
    /// How it ends.
    pub ending: Ending,
    /// How many hundredths of it were looked through.
    pub percent_known: u8,
    /// Where the replay differs, if this is that moment.
    pub divergence: Option<Arc<Divergence>>,
}

/// The way to a session. Dropping it ends the session.
pub struct SessionHandle {
    commands: Box<dyn Fn(SessionCommand) -> bool + Send>,
    n_sent: AtomicU64,
    views: watch::Receiver<Arc<SessionView>>,
    work: Work,
    works: watch::Receiver<Option<WorkView>>,
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHandle").finish_non_exhaustive()
    }
}

impl SessionHandle {
    /// Puts the two ends together.
    pub fn new(
        commands: Sender<SessionCommand>,
        views: watch::Receiver<Arc<SessionView>>,
        work: Work,
    ) -> Self {
        Self::with(move |command| commands.send(command).is_ok(), views, work)
    }

    /// The same, with commands that go another way. The answer is false if the session has ended.
    pub fn with(
        commands: impl Fn(SessionCommand) -> bool + Send + 'static,
        views: watch::Receiver<Arc<SessionView>>,
        work: Work,
    ) -> Self {
        let works = work.watch();
        Self { commands: Box::new(commands), n_sent: AtomicU64::new(0), views, work, works }
    }

    /// Sends a command. False if the session has ended. What calls work off does not wait until that is done.
    pub fn send(&self, command: SessionCommand) -> bool {
        if let SessionCommand::CallOff(number) = command {
            self.work.call_off(number);
            return true;
        }
        self.n_sent.fetch_add(1, Ordering::Relaxed);
        (self.commands)(command)
    }

    /// How many commands were sent. A view with as many answered ones ([`Known::n_answered`]) has the answer to them.
    pub fn n_sent(&self) -> u64 {
        self.n_sent.load(Ordering::Relaxed)
    }

    /// The views to come, for one who looks on.
    pub fn watch(&self) -> watch::Receiver<Arc<SessionView>> {
        self.views.clone()
    }

    /// The newest view.
    pub fn view(&self) -> Arc<SessionView> {
        Arc::clone(&self.views.borrow())
    }

    /// The long work that is under way.
    pub fn work(&self) -> Option<WorkView> {
        self.works.borrow().clone()
    }

    /// What is told of long work, for one who looks on.
    pub fn watch_work(&self) -> watch::Receiver<Option<WorkView>> {
        self.works.clone()
    }

    /// Waits until there is a newer view, or something new to tell of long work. False if the session has ended.
    pub async fn changed(&mut self) -> bool {
        tokio::select! {
            changed = self.views.changed() => changed.is_ok(),
            // The handle has a part of it, so it does not end.
            _ = self.works.changed() => true,
        }
    }
}

/// Starts a paused session on a sandbox, on a thread of its own.
///
/// # Errors
/// If the system has no thread left.
pub fn spawn_sandbox(
    simulator: Simulator,
    source: Str,
    desk: Option<Desk>,
) -> std::io::Result<SessionHandle> {
    let mut stepper = Stepper::measured(simulator);
    if let Some(desk) = desk {
        stepper.set_desk(desk);
    }
    spawn(stepper, source, None)
}

/// The same, seen by the clients of an API through the mirror, and running from the beginning at `speed`, if there is one.
/// `greeting` is the first thing that it says.
/// The second part of the answer is the way of what they write.
///
/// # Errors
/// If the system has no thread left.
pub fn spawn_served(
    mut simulator: Simulator,
    source: Str,
    desk: Option<Desk>,
    mirror: Arc<Mirror>,
    speed: Option<Speed>,
    greeting: &str,
) -> std::io::Result<(SessionHandle, Writer)> {
    simulator.begin_telling();
    let mut stepper = Stepper::measured(simulator);
    if let Some(desk) = desk {
        stepper.set_desk(desk);
    }
    stepper.serve_api(mirror);
    if let Some(speed) = speed {
        stepper.command(SessionCommand::SetSpeed(speed));
        stepper.command(SessionCommand::Run);
    }
    stepper.say(NoticeLevel::Info, greeting);
    let (commands, views, work) = spawn_with(stepper, source, None)?;
    let writer = Writer::new(commands.clone());
    let quitting = QuitOnDrop(commands);
    let handle = SessionHandle::with(move |command| quitting.0.send(command).is_ok(), views, work);
    Ok((handle, writer))
}

/// Clients hold a way to the session, too: that nobody steers it any more must be said.
struct QuitOnDrop(Sender<SessionCommand>);

impl Drop for QuitOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(SessionCommand::Quit);
    }
}

/// Starts a paused session on a recording, on a thread of its own. Another thread looks through the recording ahead.
///
/// # Errors
/// If this build can make no scheduler of it, or the system has no thread left.
pub fn spawn_replay(
    recorded: &RecordedSession,
    registry: &Registry,
    source: Str,
) -> Result<SessionHandle, SpawnError> {
    let rewind = Rewind::of_recording(recorded, registry, HistoryLimits::default())?;
    let fresh = recorded.history(registry, HistoryLimits::default())?.machine().clone();
    let scan = Scan::start(fresh, recorded.ways.clone())?;
    let mut stepper = Stepper::on(rewind);
    stepper.set_desk(Desk::new(recorded.header.clone(), Slim::default(), None));
    Ok(spawn(stepper, source, Some(scan))?)
}

/// Why a session on a recording cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No scheduler can be made of the recording.
    #[error("no scheduler can be made of the recording: {0}")]
    Header(#[from] HeaderError),
    /// The system has no thread left.
    #[error("starting a thread: {0}")]
    Io(#[from] std::io::Error),
}

fn spawn(stepper: Stepper, source: Str, scan: Option<Scan>) -> std::io::Result<SessionHandle> {
    let (commands, views, work) = spawn_with(stepper, source, scan)?;
    Ok(SessionHandle::new(commands, views, work))
}

type Ways = (Sender<SessionCommand>, watch::Receiver<Arc<SessionView>>, Work);

fn spawn_with(stepper: Stepper, source: Str, mut scan: Option<Scan>) -> std::io::Result<Ways> {
    let (command_sender, commands) = std::sync::mpsc::channel();
    let mut stepper = stepper;
    let work = Work::default();
    stepper.set_work(&work);
    let (views, view_receiver) = watch::channel(Arc::new(session_view(&mut stepper, &source, 0)));
    std::thread::Builder::new().name("session".to_owned()).spawn(move || {
        let mut last_stepper = stepper;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            run(&mut last_stepper, &commands, &views, &source, &mut scan);
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
    Ok((command_sender, view_receiver, work))
}

/// How often what was found out about a recording is taken.
const SCAN_INTERVAL: Duration = Duration::from_millis(40);
/// How often it is shown how far that has come.
const SCAN_VIEW_INTERVAL: Duration = Duration::from_millis(200);

/// Whether nothing more will be found out.
fn is_over(answer: TryRecvError) -> bool {
    answer == TryRecvError::Disconnected
}

/// Whether a command is one of those that the console has sent.
const fn is_counted(command: &SessionCommand) -> bool {
    !matches!(command, SessionCommand::Request(_))
}

/// The shortest time between two views while the session runs.
const VIEW_INTERVAL: Duration = Duration::from_millis(33);

fn run(
    stepper: &mut Stepper,
    commands: &Receiver<SessionCommand>,
    views: &watch::Sender<Arc<SessionView>>,
    source: &Str,
    scan: &mut Option<Scan>,
) {
    let mut last_tick = Instant::now();
    let mut last_view = Instant::now();
    let mut n_told = 0;
    let mut n_answered = 0;
    // A command that came while the scheduler ran. It is not kept waiting for more than an attempt.
    let mut waiting = None;
    loop {
        let wait = match (stepper.next_tick(), &scan) {
            (wait, None) => wait,
            (wait, Some(_)) => Some(wait.unwrap_or(SCAN_INTERVAL).min(SCAN_INTERVAL)),
        };
        let received = match (waiting.take(), wait) {
            (Some(command), _) => Ok(command),
            (None, None) => commands.recv().map_err(|_| RecvTimeoutError::Disconnected),
            (None, Some(wait)) => commands.recv_timeout(wait),
        };
        let mut has_command = false;
        match received {
            Ok(command) => {
                has_command = true;
                if stepper.run_state() == RunState::Paused {
                    last_tick = Instant::now();
                }
                n_answered += u64::from(is_counted(&command));
                if !stepper.command(command) {
                    return;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        while let Ok(command) = commands.try_recv() {
            has_command = true;
            n_answered += u64::from(is_counted(&command));
            if !stepper.command(command) {
                return;
            }
        }
        let tick_start = Instant::now();
        let wall = tick_start.duration_since(last_tick);
        last_tick = tick_start;
        stepper.tick(wall, || {
            waiting = waiting.take().or_else(|| commands.try_recv().ok());
            waiting.is_some() || tick_start.elapsed() >= VIEW_INTERVAL
        });
        if scan.as_ref().is_some_and(|scan| is_over(stepper.take_news(scan))) {
            *scan = None;
        }
        stepper.publish();
        n_told = tell_of_deeds(stepper.simulator(), n_told);
        // While the recording is looked through, the clock of that is what wakes a paused session.
        let is_paused = stepper.run_state() == RunState::Paused
            && (scan.is_none() || last_view.elapsed() >= SCAN_VIEW_INTERVAL);
        let is_due = stepper.run_state() != RunState::Paused && last_view.elapsed() >= VIEW_INTERVAL;
        if has_command || is_paused || is_due {
            last_view = Instant::now();
            stepper.update_watches();
            views.send_replace(Arc::new(session_view(stepper, source, n_answered)));
        }
    }
}

/// Writes what the controllers have done since the first so many deeds into the log. The answer is how many there are
/// now: fewer, where the sandbox was taken back.
pub(super) fn tell_of_deeds(simulator: &Simulator, n_told: u64) -> u64 {
    let Some(journal) = simulator.controllers() else { return n_told };
    for deed in journal.since(n_told) {
        let simulated_at = deed.at.as_nanos();
        if deed.is_warning {
            tracing::warn!(target: "sandbox", simulated_at, "{deed}");
        } else {
            tracing::info!(target: "sandbox", simulated_at, "{deed}");
        }
    }
    journal.n_deeds()
}

pub(super) fn session_view(stepper: &mut Stepper, source: &Str, n_answered: u64) -> SessionView {
    let timeline = stepper.timeline();
    let replay = stepper.replay_view().map(Arc::new);
    let inspected = stepper.inspected();
    let what_if = stepper.what_if();
    let simulator = stepper.simulator();
    SessionView {
        source: source.clone(),
        run_state: stepper.run_state(),
        speed: stepper.speed(),
        elapsed: simulator.elapsed(),
        next_timeout: simulator.next_timeout().map(|(at, what)| (at - simulator.now(), what)),
        scheduler: Arc::new(simulator.scheduler().view()),
        moment: stepper.moment(),
        live: None,
        aside: None,
        known: Known {
            n_answered,
            timeline,
            replay,
            recorder: stepper.recorder_view(),
            latency: stepper.latency(),
            inspected,
            advice: stepper.advice().cloned(),
            what_if,
            world: simulator.world_view().map(Arc::new),
        },
        debug: stepper.debug_view(),
        branches: stepper.branch_views(),
        comparison: stepper.comparison().cloned(),
        notice: stepper.notice().cloned(),
        failure: None,
    }
}

pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}
