//! A live session: the engine on a thread of its own, the network on others.
//!
//! Reports of the watches, outcomes of deeds, commands and time come in on one loop, and the scheduler works between
//! them in short stretches. A session begins observing; what it may write is decided by its mode alone.

#![expect(clippy::disallowed_methods, reason = "a session owns its clock")]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kube::Client;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, Receiver, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::{Kind, Str, Time};
use crate::driver::metrics::registry::Registry;
use crate::driver::rewind::Moment;
use crate::driver::sandbox::simulator::ExtenderTransport;
use crate::driver::session::{
    Known, Notice, NoticeLevel, RecorderView, RunState, SessionCommand, SessionHandle, SessionView, Speed,
};
use crate::scheduler::effect::{Effect, EffectKind};
use crate::scheduler::input::{Command, Input};

use super::connect::Target;
use super::elect::{Elected, LeaseName, elect};
use super::engine::{Engine, Mode};
use super::feed::feed;
use super::informers::Report;
use super::lease::ElectionOptions;
use super::view::LiveView;
use super::writer::{Surroundings, Writer};

/// Reports that wait to be taken, at the most; then the watches wait.
const REPORTS: usize = 4_096;
/// The scheduler works so long before it looks for reports again.
const STRETCH: Duration = Duration::from_millis(8);
/// The shortest time between two views.
const VIEW_INTERVAL: Duration = Duration::from_millis(100);
/// So long the end of an election is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Series of Events are looked at so often.
const EVENT_REFRESH: Duration = Duration::from_secs(60);

/// What a person can tell a live session beyond what every session can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCommand {
    /// Starts writing.
    Arm,
    /// Stops writing.
    Disarm,
    /// Whether each bind waits for a person from now on.
    SetConfirming(bool),
    /// Makes a view: somebody has begun to look.
    Look,
    /// Takes the controls, where several people look at one session.
    TakeControls,
    /// Gives them back.
    GiveControls,
    /// Does a bind that waits, or turns it down.
    Confirm {
        /// Which one.
        id: crate::scheduler::effect::EffectId,
        /// Whether it is done.
        is_wanted: bool,
    },
}

/// A look at the scheduler between two of its steps.
pub type Inspection = Box<dyn FnOnce(&Engine) + Send>;

/// How a session is looked at from outside that no person watches.
#[derive(Debug)]
pub struct Served {
    /// Where requests are counted.
    pub registry: Arc<Registry>,
    /// Looks that are wanted.
    pub inspections: UnboundedReceiver<Inspection>,
    /// Told of every change of the leadership.
    pub leadership: watch::Sender<Leadership>,
}

/// What a live session is made of.
#[derive(Debug)]
pub struct LiveSetup {
    /// The scheduler.
    pub engine: Engine,
    /// The kinds that are watched.
    pub kinds: Vec<Kind>,
    /// The cluster, for people.
    pub target: Target,
    /// Requests a second.
    pub qps: f64,
    /// Requests at once.
    pub burst: u32,
    /// The host's name, for Events.
    pub host: String,
    /// The way to extenders.
    pub transport: Arc<dyn ExtenderTransport>,
    /// Whether pods are tried from the start.
    pub is_running: bool,
    /// How it is made sure that no other instance writes, too; absent where the person vouches for that.
    pub election: Option<(LeaseName, ElectionOptions)>,
    /// The recording's file, if there is one.
    pub recording_file: Str,
    /// Whether it writes as soon as it may.
    pub is_armed: bool,
    /// Present where it serves: then views are made only while somebody looks.
    pub served: Option<Served>,
}

/// The thread of a live session.
#[derive(Debug)]
pub struct SessionThread(std::thread::JoinHandle<()>);

impl SessionThread {
    /// Waits until the session has ended and has given back what it holds. False if it has panicked.
    #[must_use]
    pub fn wait(self) -> bool {
        self.0.join().is_ok()
    }
}

/// Starts a live session. The thread ends with it, when the lease was given back.
///
/// # Errors
/// If the system has no thread left.
pub fn spawn(
    setup: LiveSetup,
    client: &Client,
    runtime: Runtime,
) -> std::io::Result<(SessionHandle, SessionThread)> {
    let (command_sender, commands) = mpsc::unbounded_channel();
    let (report_sender, reports) = mpsc::channel(REPORTS);
    let (outcome_sender, outcomes) = mpsc::unbounded_channel();
    for kind in &setup.kinds {
        runtime.spawn(feed(client.clone(), *kind, report_sender.clone()));
    }
    let writer = {
        let _context = runtime.enter();
        let writer = Writer::new(client.clone(), setup.qps, setup.burst, &setup.host);
        match &setup.served {
            Some(served) => writer.counted(Arc::clone(&served.registry), &setup.target.server),
            None => writer,
        }
    };
    let (election_sender, elections) = mpsc::unbounded_channel();
    let (inspections, told_of_leadership) =
        setup.served.map(|served| (served.inspections, served.leadership)).unzip();
    let mut session = Live {
        told_of_leadership,
        recording_file: setup.recording_file,
        client: client.clone(),
        election: setup.election,
        elected: Some(election_sender),
        leadership: Leadership::None,
        election_task: None,
        run_state: if setup.is_running { RunState::Running } else { RunState::Paused },
        is_watched: true,
        engine: setup.engine,
        target: setup.target,
        writer,
        transport: setup.transport,
        outcomes: outcome_sender,
        started: now(),
        notice: None,
        n_notices: 0,
        runtime,
    };
    if setup.is_armed {
        session.arm();
    }
    let (views, view_receiver) = watch::channel(Arc::new(session.view()));
    let thread = std::thread::Builder::new().name("live".to_owned()).spawn(move || {
        let handle = session.runtime.handle().clone();
        handle.block_on(session.run(commands, reports, outcomes, elections, inspections, &views));
        session.engine.finish_recording("the session was closed");
        if let Some(election) = session.election_task.take() {
            // A leader gives the lease back, so that nobody has to wait for it to run out.
            let _ = handle.block_on(async { tokio::time::timeout(PATIENCE, election).await });
        }
        // Requests that are on their way are not waited for here: what has to be was waited for before.
        session.runtime.shutdown_background();
    })?;
    let handle = SessionHandle::with(move |command| command_sender.send(command).is_ok(), view_receiver);
    Ok((handle, SessionThread(thread)))
}

/// How far this instance is on the way to being the one that writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// It does not want to be.
    None,
    /// It waits for the lease.
    Waiting {
        /// Who holds it, as far as is known.
        holder: String,
    },
    /// It holds the lease.
    Leading,
    /// The person vouches that nobody else writes.
    Unguarded,
}

struct Live {
    told_of_leadership: Option<watch::Sender<Leadership>>,
    recording_file: Str,
    client: Client,
    election: Option<(LeaseName, ElectionOptions)>,
    /// Given to the election when that begins; while it is there the other end stays open.
    elected: Option<UnboundedSender<Elected>>,
    leadership: Leadership,
    /// Whether evidence of attempts is kept.
    is_watched: bool,
    election_task: Option<JoinHandle<()>>,
    engine: Engine,
    target: Target,
    writer: Writer,
    transport: Arc<dyn ExtenderTransport>,
    outcomes: UnboundedSender<Input>,
    run_state: RunState,
    started: Time,
    notice: Option<Notice>,
    n_notices: u64,
    runtime: Runtime,
}

impl Live {
    async fn run(
        &mut self,
        mut commands: UnboundedReceiver<SessionCommand>,
        mut reports: Receiver<(Kind, Report)>,
        mut outcomes: UnboundedReceiver<Input>,
        mut elections: UnboundedReceiver<Elected>,
        mut inspections: Option<UnboundedReceiver<Inspection>>,
        views: &watch::Sender<Arc<SessionView>>,
    ) {
        let mut last_view = Instant::now();
        let mut last_refresh = Instant::now();
        let mut is_dirty = true;
        let mut is_election_over = false;
        loop {
            let has_work = self.has_work();
            let timeout = self.until_timeout();
            let view_due = is_dirty.then(|| VIEW_INTERVAL.saturating_sub(last_view.elapsed()));
            let wait = [timeout, view_due, Some(EVENT_REFRESH)].into_iter().flatten().min();
            let wait = if has_work { Duration::ZERO } else { wait.unwrap_or(EVENT_REFRESH) };
            let mut has_command = false;
            tokio::select! {
                biased;
                command = commands.recv() => {
                    let Some(command) = command else { return };
                    has_command = true;
                    if !self.command(command) {
                        return;
                    }
                }
                outcome = outcomes.recv() => {
                    if let Some(outcome) = outcome {
                        self.engine.input(outcome, now());
                        is_dirty = true;
                    }
                }
                elected = elections.recv(), if !is_election_over => match elected {
                    Some(elected) => {
                        has_command = true;
                        self.elected(elected);
                    }
                    None => is_election_over = true,
                },
                inspection = next_inspection(&mut inspections) => inspection(&self.engine),
                report = reports.recv() => {
                    let Some((kind, report)) = report else { return };
                    self.report(kind, report);
                    let start = Instant::now();
                    while start.elapsed() < STRETCH && let Ok((kind, report)) = reports.try_recv() {
                        self.report(kind, report);
                    }
                    is_dirty = true;
                }
                () = tokio::time::sleep(wait) => {}
            }
            if self.engine.scheduler().poll_timeout().is_some_and(|at| at <= now()) {
                self.engine.input(Input::Timeout, now());
                is_dirty = true;
            }
            is_dirty |= self.work();
            self.carry_out();
            self.report_problems();
            if last_refresh.elapsed() >= EVENT_REFRESH {
                last_refresh = Instant::now();
                if self.engine.mode() == Mode::Operate {
                    let writer = self.writer.clone();
                    self.runtime.spawn(async move { writer.refresh_events(now()).await });
                }
            }
            let is_watched = self.told_of_leadership.is_none() || views.receiver_count() > 1;
            self.watch_closely(is_watched);
            is_dirty &= is_watched;
            if (has_command && is_watched) || (is_dirty && last_view.elapsed() >= VIEW_INTERVAL) {
                last_view = Instant::now();
                is_dirty = false;
                views.send_replace(Arc::new(self.view()));
            }
        }
    }

    /// Keeps evidence of attempts while somebody looks.
    fn watch_closely(&mut self, is_watched: bool) {
        if self.told_of_leadership.is_some() && self.is_watched != is_watched {
            self.is_watched = is_watched;
            self.engine.scheduler_mut().set_tracing(is_watched);
        }
    }

    fn tell_leadership(&self) {
        if let Some(told) = &self.told_of_leadership {
            told.send_replace(self.leadership.clone());
        }
    }

    fn report(&mut self, kind: Kind, report: Report) {
        match &report {
            Report::Forbidden { message } => {
                tracing::warn!(target: "live", "{}: forbidden: {message}", kind.resource());
            }
            Report::Failing { error } => tracing::warn!(target: "live", "{}: {error}", kind.resource()),
            Report::Unreadable { key, error } => {
                tracing::warn!(target: "live", "{kind} {key} cannot be read: {error}");
            }
            _ => {}
        }
        self.engine.report(kind, report, now());
    }

    fn has_work(&self) -> bool {
        self.run_state != RunState::Paused && self.engine.can_schedule()
    }

    fn until_timeout(&self) -> Option<Duration> {
        let at = self.engine.scheduler().poll_timeout()?;
        Some(Duration::from_nanos(at.as_nanos().saturating_sub(now().as_nanos())))
    }

    /// Makes attempts for a short while. True if there was one.
    fn work(&mut self) -> bool {
        let start = Instant::now();
        let mut has_worked = false;
        while self.has_work() && start.elapsed() < STRETCH {
            let n_before = self.engine.scheduler().n_outcomes();
            if !self.engine.step(Command::ScheduleOne, now()) {
                break;
            }
            has_worked = true;
            if self.run_state == RunState::RunningToOutcome && self.engine.scheduler().n_outcomes() > n_before
            {
                self.run_state = RunState::Paused;
            }
        }
        has_worked
    }

    /// Sends what is to be done on its way.
    fn carry_out(&mut self) {
        for effect in self.engine.take_deeds() {
            let outcomes = self.outcomes.clone();
            if let EffectKind::CallExtender(call) = effect.kind {
                let transport = Arc::clone(&self.transport);
                let id = effect.id;
                self.runtime.spawn_blocking(move || {
                    let answer = transport.call(&call);
                    // Nobody waits for it if the session has ended.
                    let _ = outcomes.send(Input::ExtenderAnswered { id, answer });
                });
                continue;
            }
            let surroundings = self.surroundings(&effect);
            let writer = self.writer.clone();
            self.runtime.spawn(async move {
                if let Some(input) = writer.carry_out(effect, surroundings, now()).await {
                    let _ = outcomes.send(input);
                }
            });
        }
    }

    fn surroundings(&self, effect: &Effect) -> Surroundings {
        let EffectKind::Event(event) = &effect.kind else { return Surroundings::default() };
        let pods = &self.engine.informers().objects().pods;
        Surroundings {
            regarding: pods.get(&event.regarding).cloned(),
            related: event.related.as_ref().and_then(|key| pods.get(key)).cloned(),
        }
    }

    fn report_problems(&mut self) {
        for problem in self.engine.scheduler_mut().take_problems() {
            tracing::warn!(target: "scheduler", "{problem}");
        }
    }

    /// False if the session is to end.
    fn command(&mut self, command: SessionCommand) -> bool {
        match command {
            SessionCommand::Quit => return false,
            SessionCommand::Run => self.run_state = RunState::Running,
            SessionCommand::RunToOutcome => self.run_state = RunState::RunningToOutcome,
            SessionCommand::Pause => self.run_state = RunState::Paused,
            SessionCommand::StepPhase | SessionCommand::StepPlacement => self.step(Command::NextPhase),
            SessionCommand::StepCycle => self.step(Command::ScheduleOne),
            SessionCommand::Live(command) => self.live_command(command),
            SessionCommand::Edit(_) => {
                self.say(NoticeLevel::Error, "a live cluster is not edited here; change it with kubectl")
            }
            SessionCommand::Mark(name) => self.mark(&name, false),
            SessionCommand::Note(text) => self.mark(&text, true),
            SessionCommand::StopRecording => {
                self.engine.finish_recording("ended by hand");
                self.say(NoticeLevel::Info, "nothing is recorded any more");
            }
            SessionCommand::Record(_) | SessionCommand::SaveLast(_) => {
                let text = "a live session is recorded from its start: schedscope live --record FILE";
                self.say(NoticeLevel::Error, text);
            }
            SessionCommand::Seek(_) | SessionCommand::SeekAgain { .. } | SessionCommand::Leave => {
                self.say(NoticeLevel::Error, "no recording is played");
            }
            SessionCommand::Compare(..) | SessionCommand::Debug(_) => {
                self.say(NoticeLevel::Error, "breakpoints and branches are there in a sandbox only");
            }
            SessionCommand::Back(_)
            | SessionCommand::ToEnd
            | SessionCommand::ToElapsed(_)
            | SessionCommand::ToBranch(_) => {
                let text =
                    "a live cluster does not go back; a recording of it does: schedscope live --record FILE";
                self.say(NoticeLevel::Info, text);
            }
            SessionCommand::SetSpeed(_)
            | SessionCommand::Faster
            | SessionCommand::Slower
            | SessionCommand::Advance(_) => {
                self.say(NoticeLevel::Info, "time in a live cluster goes at its own speed");
            }
        }
        true
    }

    fn mark(&mut self, text: &str, is_note: bool) {
        let said = match self.engine.mark(text, is_note) {
            true if is_note => "noted".to_owned(),
            true => format!("marked as {text:?}"),
            false => "nothing is recorded: schedscope live --record FILE".to_owned(),
        };
        self.say(NoticeLevel::Info, said);
    }

    fn step(&mut self, command: Command) {
        self.run_state = RunState::Paused;
        if !self.engine.step(command, now()) {
            let text = if self.engine.informers().has_started() {
                "no pod can be tried now"
            } else {
                "the cluster is not known yet: not every kind has been listed"
            };
            self.say(NoticeLevel::Info, text);
        }
    }

    fn live_command(&mut self, command: LiveCommand) {
        match command {
            LiveCommand::Arm => self.arm(),
            LiveCommand::Disarm => self.disarm(),
            LiveCommand::SetConfirming(is_confirming) => self.engine.set_confirming(is_confirming),
            // Every command is answered by a view.
            LiveCommand::Look => {}
            LiveCommand::TakeControls | LiveCommand::GiveControls => {
                self.say(
                    NoticeLevel::Info,
                    "the controls are yours: nobody else is attached to this session",
                );
            }
            LiveCommand::Confirm { id, is_wanted } => {
                if !self.engine.confirm(id, is_wanted, now()) {
                    self.say(NoticeLevel::Info, "that bind does not wait any more");
                }
            }
        }
    }

    /// Writes as soon as no other instance does.
    fn arm(&mut self) {
        match self.leadership {
            Leadership::None => {}
            Leadership::Leading if self.engine.mode() == Mode::Observe => return self.begin_to_write(),
            Leadership::Leading | Leadership::Unguarded | Leadership::Waiting { .. } => {
                return self.say(NoticeLevel::Info, "it is armed already");
            }
        }
        let Some((lease, options)) = self.election.clone() else {
            self.leadership = Leadership::Unguarded;
            self.tell_leadership();
            return self.begin_to_write();
        };
        let Some(told) = self.elected.take() else {
            return self.say(NoticeLevel::Error, "the lease was lost; start again to take part once more");
        };
        self.leadership = Leadership::Waiting { holder: String::new() };
        self.say(NoticeLevel::Info, format!("waiting for the lease {}/{}", lease.namespace, lease.name));
        let election = elect(self.client.clone(), lease, options, told);
        self.election_task = Some(self.runtime.spawn(election));
    }

    fn begin_to_write(&mut self) {
        self.engine.set_mode(Mode::Operate, now());
        let profiles: Vec<Str> =
            self.engine.scheduler().profiles().map(|profile| profile.profile_name.clone()).collect();
        self.say(
            NoticeLevel::Warning,
            format!("ARMED: pods of {} are bound from now on", profiles.join(", ")),
        );
    }

    fn disarm(&mut self) {
        self.engine.set_mode(Mode::Observe, now());
        // The lease stays: nobody is to write while a person looks.
        if self.leadership == Leadership::Unguarded {
            self.leadership = Leadership::None;
        }
        self.say(NoticeLevel::Info, "nothing is written any more");
    }

    fn elected(&mut self, elected: Elected) {
        match elected {
            Elected::Leading => {
                self.leadership = Leadership::Leading;
                self.begin_to_write();
            }
            Elected::Lost { why } => {
                self.engine.set_mode(Mode::Observe, now());
                self.leadership = Leadership::None;
                let text = format!("the lease is lost ({why}): nothing is written any more");
                self.say(NoticeLevel::Error, text);
            }
            Elected::Other { holder } => {
                if let Leadership::Waiting { holder: known } = &mut self.leadership {
                    known.clone_from(&holder);
                }
                let text = format!("standing by: {holder} holds the lease");
                self.say(NoticeLevel::Info, text);
            }
            Elected::Failing { error } => {
                tracing::warn!(target: "live", err = error, "Error retrieving or updating the lease");
                self.say(NoticeLevel::Warning, format!("the lease: {error}"));
            }
        }
        self.tell_leadership();
    }

    fn say(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.n_notices += 1;
        self.notice = Some(Notice { number: self.n_notices, level, text: text.into() });
    }

    fn recorder_view(&self) -> Option<RecorderView> {
        let (stats, failure) = self.engine.recording_state()?;
        Some(RecorderView { file: self.recording_file.clone(), stats, failure: failure.map(Str::from) })
    }

    fn view(&self) -> SessionView {
        let scheduler = self.engine.scheduler();
        let now = now();
        SessionView {
            source: self.target.context.as_str().into(),
            run_state: self.run_state,
            speed: Speed::Times(1),
            elapsed: now - self.started,
            next_timeout: scheduler.next_timeout_reason().map(|(at, what)| (at - now, what)),
            scheduler: Arc::new(scheduler.view()),
            moment: Moment::default(),
            known: Known { recorder: self.recorder_view(), ..Known::default() },
            debug: Arc::default(),
            branches: Arc::default(),
            comparison: None,
            live: Some(Arc::new(LiveView::new(&self.engine, &self.target))),
            notice: self.notice.clone(),
            failure: None,
        }
    }
}

/// The next look that is wanted; never, where nobody can want one.
async fn next_inspection(inspections: &mut Option<UnboundedReceiver<Inspection>>) -> Inspection {
    if let Some(receiver) = inspections
        && let Some(inspection) = receiver.recv().await
    {
        return inspection;
    }
    *inspections = None;
    std::future::pending().await
}

/// Wall-clock time, of which the core sees that it never goes back.
pub fn now() -> Time {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_nanos(u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX))
}
