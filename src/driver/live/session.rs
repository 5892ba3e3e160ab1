//! A live session: the engine on a thread of its own, the network on others.
//!
//! Reports of the watches, outcomes of deeds, commands and time come in on one loop, and the scheduler works between
//! them in short stretches. A session begins observing; what it may write is decided by its mode alone.

#![expect(clippy::disallowed_methods, reason = "a session owns its clock")]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use kube::Client;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::{Kind, Str, Time};
use crate::driver::breakpoints::Breaks;
use crate::driver::breakpoints::list::Stop;
use crate::driver::desk::Desk;
use crate::driver::inspect::Inspector;
use crate::driver::latency::Latencies;
use crate::driver::metrics::registry::Registry;
use crate::driver::permit;
use crate::driver::rewind::Moment;
use crate::driver::sandbox::simulator::ExtenderTransport;
use crate::driver::session::{
    Edit, Known, Notice, NoticeLevel, RunState, SessionCommand, SessionHandle, SessionView, Speed,
};
use crate::driver::work::Work;
use crate::framework::extender::{ExtenderAnswer, ExtenderVerb};
use crate::framework::meter::Meter;
use crate::scheduler::effect::{Effect, EffectId, EffectKind};
use crate::scheduler::input::{Command, Input};

use super::connect::Target;
use super::elect::{Elected, LeaseName};
use super::engine::{Engine, Mode};
use super::in_turn::InTurn;
use super::informers::Report;
use super::lease::{ElectionOptions, Watchdog};
use super::others::Survey;
use super::past::{Past, PastView};
use super::steering::{Ledger, Steering};
use super::view::LiveView;
use super::writer::{Surroundings, Writer};

mod arming;

/// Reports that wait to be taken, at the most; then the watches wait.
const REPORTS: usize = 4_096;
/// The scheduler works so long before it looks for reports again.
const STRETCH: Duration = Duration::from_millis(8);
/// The shortest time between two views.
const VIEW_INTERVAL: Duration = Duration::from_millis(100);
/// The same while something else than the live cluster is shown, and nothing happens.
const ASIDE_INTERVAL: Duration = Duration::from_secs(1);
/// So long the end of an election is waited for.
const PATIENCE: Duration = Duration::from_secs(5);
/// Series of Events are looked at so often.
const EVENT_REFRESH: Duration = Duration::from_secs(60);

/// What a person can tell a live session beyond what every session can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LiveCommand {
    /// Finds out who this program would write as and who else serves its names, for a person who may arm it.
    Survey,
    /// Starts writing, unless somebody else serves the same names.
    Arm,
    /// The same, whoever serves them.
    ArmAnyway,
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
        id: EffectId,
        /// Whether it is done.
        is_wanted: bool,
    },
    /// Does every bind that waits now, or turns them all down.
    ConfirmAll {
        /// Whether they are done.
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
    /// Told of every step of the election.
    pub watchdog: Arc<Watchdog>,
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
    /// How it is steered beyond that.
    pub steering: Steering,
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
    spawn_with(setup, client, runtime, None)
}

/// The same with a past that can be looked at, forked and recorded.
///
/// # Errors
/// If the system has no thread left.
pub fn spawn_with_past(
    setup: LiveSetup,
    client: &Client,
    runtime: Runtime,
    desk: Desk,
) -> std::io::Result<(SessionHandle, SessionThread)> {
    spawn_with(setup, client, runtime, Some(desk))
}

fn spawn_with(
    mut setup: LiveSetup,
    client: &Client,
    runtime: Runtime,
    desk: Option<Desk>,
) -> std::io::Result<(SessionHandle, SessionThread)> {
    let mut started = now();
    let work = Work::default();
    let mut past = None;
    if let Some(desk) = &desk {
        started = desk.header().start;
        let source = setup.target.context.as_str().into();
        let scheduler = setup.engine.scheduler();
        let (kept, keeper) = Past::start(scheduler, desk.header(), source, Some(desk.another()), &work)?;
        setup.engine = setup.engine.kept(Some(keeper)).remembering();
        past = Some(kept);
    }
    let latencies = (!setup.engine.scheduler().is_measured()).then(Latencies::new);
    if let Some(latencies) = &latencies {
        let meter: Arc<dyn Meter> = Arc::<Latencies>::clone(latencies);
        setup.engine.scheduler_mut().measure(&meter);
    }
    let (command_sender, commands) = mpsc::unbounded_channel();
    let (report_sender, reports) = mpsc::channel(REPORTS);
    let (outcome_sender, outcomes) = mpsc::unbounded_channel();
    let writer = {
        let _context = runtime.enter();
        let writer = Writer::new(client.clone(), setup.qps, setup.burst, &setup.host);
        match &setup.served {
            Some(served) => writer.counted(Arc::clone(&served.registry), &setup.target.server),
            None => writer,
        }
    };
    let (survey_sender, surveys) = mpsc::unbounded_channel();
    let watchdog = setup.served.as_ref().map(|served| Arc::clone(&served.watchdog)).unwrap_or_default();
    let (inspections, told_of_leadership) =
        setup.served.map(|served| (served.inspections, served.leadership)).unzip();
    // Who only stands by need not know anything, if he is told so; who looks has to.
    let waits = setup.is_armed && setup.election.is_some() && setup.steering.delays_caches;
    let mut session = Live {
        told_of_leadership,
        watchdog,
        ledger: Ledger::new(setup.steering, &setup.target),
        surveys: survey_sender,
        feeds: Some((report_sender, setup.kinds)),
        recording_file: setup.recording_file,
        client: client.clone(),
        election: setup.election,
        elections: None,
        leadership: Leadership::None,
        election_task: None,
        run_state: if setup.is_running { RunState::Running } else { RunState::Paused },
        is_watched: true,
        engine: setup.engine,
        target: setup.target,
        writer,
        in_turn: InTurn::default(),
        transport: setup.transport,
        outcomes: outcome_sender,
        started,
        n_answered: 0,
        notice: None,
        n_notices: 0,
        runtime,
        past,
        past_notice: 0,
        desk,
        breaks: Breaks::default(),
        stop: None,
        inspector: Inspector::default(),
        work: work.clone(),
        latencies,
    };
    if !waits {
        session.start_feeds();
    }
    if session.ledger.wants_withheld() {
        session.engine.keep_withheld();
    }
    if setup.is_armed {
        session.arm(false);
    }
    let (views, view_receiver) = watch::channel(Arc::new(session.view()));
    let thread = std::thread::Builder::new().name("live".to_owned()).spawn(move || {
        let handle = session.runtime.handle().clone();
        handle.block_on(session.run(commands, reports, outcomes, surveys, inspections, &views));
        session.engine.finish_recording("the session was closed");
        session.end_recordings();
        session.elections = None;
        if let Some(election) = session.election_task.take() {
            // A leader gives the lease back, so that nobody has to wait for it to run out.
            let _ = handle.block_on(async { tokio::time::timeout(PATIENCE, election).await });
        }
        // Requests that are on their way are not waited for here: what has to be was waited for before.
        session.runtime.shutdown_background();
    })?;
    let handle =
        SessionHandle::with(move |command| command_sender.send(command).is_ok(), view_receiver, work);
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
    /// Somebody else serves the same pods.
    Refused {
        /// Who, in a sentence.
        why: String,
    },
}

/// What is listed and watched, and who is told.
type Feeds = (Sender<(Kind, Report)>, Vec<Kind>);

/// What a survey is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A person wants to know.
    Look,
    /// To write, if nobody else serves the names, or in any case.
    Arm { anyway: bool },
}

pub(super) struct Live {
    /// What is looked into besides the view.
    inspector: Inspector,
    pub(super) work: Work,
    /// Who measures for the console; absent where it serves, and its metrics are measured.
    latencies: Option<Arc<Latencies>>,
    /// Present where it serves.
    told_of_leadership: Option<watch::Sender<Leadership>>,
    watchdog: Arc<Watchdog>,
    /// What was done, and who said so.
    ledger: Ledger,
    surveys: UnboundedSender<(Survey, Purpose)>,
    /// What is listed and watched, before that has begun.
    feeds: Option<Feeds>,
    pub(super) recording_file: Str,
    client: Client,
    election: Option<(LeaseName, ElectionOptions)>,
    /// What the election comes to; while there is one, it takes part.
    elections: Option<UnboundedReceiver<Elected>>,
    leadership: Leadership,
    /// Whether evidence of attempts is kept.
    is_watched: bool,
    election_task: Option<JoinHandle<()>>,
    pub(super) engine: Engine,
    target: Target,
    writer: Writer,
    in_turn: InTurn,
    transport: Arc<dyn ExtenderTransport>,
    outcomes: UnboundedSender<Input>,
    pub(super) run_state: RunState,
    started: Time,
    notice: Option<Notice>,
    /// How many commands are carried out.
    n_answered: u64,
    n_notices: u64,
    runtime: Runtime,
    /// Absent where nobody looks back.
    pub(super) past: Option<Past>,
    /// The last notice from there that was told.
    pub(super) past_notice: u64,
    /// Absent where nothing can be recorded from within.
    pub(super) desk: Option<Desk>,
    pub(super) breaks: Breaks,
    pub(super) stop: Option<Stop>,
}

impl Live {
    async fn run(
        &mut self,
        mut commands: UnboundedReceiver<SessionCommand>,
        mut reports: Receiver<(Kind, Report)>,
        mut outcomes: UnboundedReceiver<Input>,
        mut surveys: UnboundedReceiver<(Survey, Purpose)>,
        mut inspections: Option<UnboundedReceiver<Inspection>>,
        views: &watch::Sender<Arc<SessionView>>,
    ) {
        let mut last_view = Instant::now();
        let mut last_refresh = Instant::now();
        let mut is_dirty = true;
        let mut past_views = self.past.as_ref().map(|past| past.views.clone());
        loop {
            let has_work = self.has_work();
            let timeout = self.until_timeout();
            let view_due = is_dirty.then(|| VIEW_INTERVAL.saturating_sub(last_view.elapsed()));
            // How far the cluster is ahead of what is shown grows by itself.
            let aside_due = self.is_aside().then(|| ASIDE_INTERVAL.saturating_sub(last_view.elapsed()));
            let wait = [timeout, view_due, aside_due, Some(EVENT_REFRESH)].into_iter().flatten().min();
            let wait = if has_work { Duration::ZERO } else { wait.unwrap_or(EVENT_REFRESH) };
            let mut has_command = false;
            tokio::select! {
                biased;
                command = commands.recv() => {
                    has_command = true;
                    self.n_answered += 1;
                    if !command.is_some_and(|command| self.command(command)) {
                        break;
                    }
                }
                outcome = outcomes.recv() => {
                    if let Some(outcome) = outcome {
                        self.settle(&outcome);
                        self.engine.input(outcome, now());
                        is_dirty = true;
                    }
                }
                elected = next_of(&mut self.elections) => match elected {
                    Some(elected) => {
                        has_command = true;
                        self.elected(elected);
                    }
                    None => self.elections = None,
                },
                survey = surveys.recv() => if let Some((survey, purpose)) = survey {
                    has_command = true;
                    self.surveyed(survey, purpose);
                },
                () = changed(&mut past_views) => {
                    has_command = true;
                    self.hear_of_the_past();
                }
                inspection = next_inspection(&mut inspections) => inspection(&self.engine),
                report = reports.recv() => {
                    let Some((kind, report)) = report else { break };
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
            if self.engine.next_look().is_some_and(|at| at <= now()) {
                self.engine.look_again(now());
                is_dirty = true;
            }
            is_dirty |= self.work();
            self.engine.flush_past();
            self.carry_out();
            self.report_problems();
            if last_refresh.elapsed() >= EVENT_REFRESH {
                last_refresh = Instant::now();
                if self.engine.mode() == Mode::Operate {
                    let writer = self.writer.clone();
                    self.runtime.spawn(async move { writer.refresh_events(now()).await });
                }
            }
            is_dirty |= self.is_aside() && last_view.elapsed() >= ASIDE_INTERVAL;
            let is_watched = self.told_of_leadership.is_none() || views.receiver_count() > 1;
            self.watch_closely(is_watched);
            is_dirty &= is_watched;
            if (has_command && is_watched) || (is_dirty && last_view.elapsed() >= VIEW_INTERVAL) {
                last_view = Instant::now();
                is_dirty = false;
                views.send_replace(Arc::new(self.view()));
            }
        }
        self.finish(&mut outcomes).await;
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
        let before = self.before_a_move();
        self.engine.report(kind, report, now());
        self.stop_at_breaks(before);
    }

    fn has_work(&self) -> bool {
        self.run_state != RunState::Paused
            && (self.engine.can_schedule() || self.engine.scheduler().has_stepped_binding_cycle())
    }

    fn until_timeout(&self) -> Option<Duration> {
        let timeout = self.engine.scheduler().poll_timeout();
        let at = timeout.into_iter().chain(self.engine.next_look()).min()?;
        Some(Duration::from_nanos(at.as_nanos().saturating_sub(now().as_nanos())))
    }

    /// Makes attempts for a short while. True if there was one.
    fn work(&mut self) -> bool {
        let start = Instant::now();
        let mut has_worked = false;
        while self.has_work() && start.elapsed() < STRETCH {
            let n_before = self.engine.scheduler().n_outcomes();
            // With breakpoints an attempt is made phase by phase, so that it stops before anything is bound.
            let before = self.before_a_move();
            let command = if before.is_some() { Command::NextPhase } else { Command::ScheduleOne };
            if !self.engine.step(command, now()) {
                break;
            }
            has_worked = true;
            if self.stop_at_breaks(before) {
                break;
            }
            if self.run_state == RunState::RunningToOutcome && self.engine.scheduler().n_outcomes() > n_before
            {
                self.run_state = RunState::Paused;
            }
        }
        has_worked
    }

    /// Sends what is to be done on its way.
    fn carry_out(&mut self) {
        for effect in self.engine.take_withheld() {
            self.ledger.withheld(&effect, self.engine.informers().objects(), now());
        }
        for effect in self.engine.take_deeds() {
            let outcomes = self.outcomes.clone();
            self.ledger.sends(&effect, self.engine.informers().objects(), now());
            if let EffectKind::CallExtender(call) = effect.kind {
                if call.verb == ExtenderVerb::Bind && self.engine.mode() == Mode::Observe {
                    let answer = ExtenderAnswer::Failed("nothing is written any more".to_owned());
                    let _ = outcomes.send(Input::ExtenderAnswered { id: effect.id, answer });
                    continue;
                }
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
            let mut turn = self.in_turn.take(&effect.kind);
            self.runtime.spawn(async move {
                turn.comes().await;
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
        let Some(command) = self.passed_on(command) else { return true };
        match command {
            SessionCommand::Quit => return false,
            SessionCommand::Run => {
                self.forget_stop();
                self.run_state = RunState::Running;
            }
            SessionCommand::RunToOutcome => {
                self.forget_stop();
                self.run_state = RunState::RunningToOutcome;
            }
            SessionCommand::Pause => self.run_state = RunState::Paused,
            SessionCommand::StepPhase | SessionCommand::StepPlacement => self.step(Command::NextPhase),
            SessionCommand::StepCycle => self.step(Command::ScheduleOne),
            SessionCommand::Live(command) => self.live_command(command),
            SessionCommand::Edit(edit @ (Edit::Allow(_) | Edit::Reject(_))) => self.signal(&edit),
            SessionCommand::Edit(_) => {
                let text =
                    "a live cluster is not edited here: fork it (:fork) and edit the fork, or use kubectl";
                self.say(NoticeLevel::Error, text);
            }
            SessionCommand::Mark(name) => self.mark(&name, false),
            SessionCommand::Note(text) => self.mark(&text, true),
            SessionCommand::StopRecording => self.stop_recording("recording was stopped"),
            SessionCommand::Record(to) => self.record(&to),
            SessionCommand::SaveLast(to) => self.save_last(&to),
            SessionCommand::Leave => {
                self.say(NoticeLevel::Info, "this is the live cluster: :fork copies it into a sandbox");
            }
            SessionCommand::WhatIf(_) | SessionCommand::TakeWhatIf => {
                let text = "what would be is asked in a sandbox: fork this moment (:fork), and ask there";
                self.say(NoticeLevel::Info, text);
            }
            SessionCommand::Inspect(question) => self.inspector.ask(question),
            SessionCommand::Request(ticket) => ticket.refuse("this is a live cluster"),
            SessionCommand::CallOff(_)
            | SessionCommand::Seek(_)
            | SessionCommand::SeekAgain { .. }
            | SessionCommand::Fork
            | SessionCommand::Compare(..)
            | SessionCommand::Advise(_)
            | SessionCommand::TryFix(_)
            | SessionCommand::ForgetWhatIf
            | SessionCommand::Debug(_)
            | SessionCommand::Stage(_)
            | SessionCommand::Back(_)
            | SessionCommand::ToEnd
            | SessionCommand::ToElapsed(_)
            | SessionCommand::ToBranch(_) => {}
            SessionCommand::SetSpeed(_)
            | SessionCommand::Faster
            | SessionCommand::Slower
            | SessionCommand::Advance(_) => {
                self.say(NoticeLevel::Info, "time in a live cluster goes at its own speed");
            }
        }
        true
    }

    /// Passes a person's word for a waiting pod on to the scheduler.
    fn signal(&mut self, edit: &Edit) {
        match permit::signals(self.engine.scheduler(), edit) {
            Ok((inputs, said)) => {
                inputs.into_iter().for_each(|input| self.engine.input(input, now()));
                self.say(NoticeLevel::Info, said);
            }
            Err(said) => self.say(NoticeLevel::Error, said),
        }
    }

    fn mark(&mut self, text: &str, is_note: bool) {
        self.engine.mark(text, is_note);
        let said = if is_note { "noted".to_owned() } else { format!("marked as {text:?}") };
        self.say(NoticeLevel::Info, said);
    }

    fn step(&mut self, command: Command) {
        self.run_state = RunState::Paused;
        self.forget_stop();
        let before = self.before_a_move();
        if self.engine.step(command, now()) {
            self.stop_at_breaks(before);
        } else {
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
            LiveCommand::Survey => self.survey(Purpose::Look),
            LiveCommand::Arm => self.arm(false),
            LiveCommand::ArmAnyway => self.arm(true),
            LiveCommand::Disarm => self.disarm(),
            LiveCommand::SetConfirming(is_confirming) => {
                self.engine.set_confirming(is_confirming);
                let text = if is_confirming {
                    "each bind waits for a person from now on"
                } else {
                    "binds wait for nobody from now on; those that wait already still do"
                };
                self.say(NoticeLevel::Info, text);
            }
            // Every command is answered by a view.
            LiveCommand::Look => {}
            LiveCommand::TakeControls | LiveCommand::GiveControls => {
                self.say(
                    NoticeLevel::Info,
                    "the controls are yours: nobody else is attached to this session",
                );
            }
            LiveCommand::Confirm { id, is_wanted } => {
                if !self.confirm(id, is_wanted) {
                    self.say(NoticeLevel::Info, "that bind does not wait any more");
                }
            }
            LiveCommand::ConfirmAll { is_wanted } => {
                let ids: Vec<EffectId> = self.engine.to_confirm().map(|bind| bind.id).collect();
                for id in ids {
                    self.confirm(id, is_wanted);
                }
            }
        }
    }

    pub(super) fn say(&mut self, level: NoticeLevel, text: impl Into<String>) {
        self.n_notices += 1;
        self.notice = Some(Notice { number: self.n_notices, level, text: text.into() });
    }

    fn view(&mut self) -> SessionView {
        self.breaks.update_watches(self.engine.scheduler());
        let scheduler = self.engine.scheduler();
        let inspected = self.inspector.view(scheduler, None, &self.work);
        let now = now();
        let view = SessionView {
            source: self.target.context.as_str().into(),
            run_state: self.run_state,
            speed: Speed::Times(1),
            elapsed: now - self.started,
            next_timeout: scheduler.next_timeout_reason().map(|(at, what)| (at - now, what)),
            scheduler: Arc::new(self.scheduler_view()),
            moment: Moment::default(),
            known: Known {
                n_answered: self.n_answered,
                recorder: self.recorder_view(),
                inspected,
                latency: self.latencies.as_ref().map(|latencies| Arc::new(latencies.view())),
                ..Known::default()
            },
            debug: self.breaks.view(self.stop()),
            branches: Arc::default(),
            comparison: None,
            live: Some(Arc::new(LiveView::new(&self.engine, &self.target, self.steering_view()))),
            aside: None,
            notice: self.notice.clone(),
            failure: None,
        };
        self.with_aside(view)
    }
}

/// Waits until there is something new to see of the past.
async fn changed(views: &mut Option<watch::Receiver<Arc<PastView>>>) {
    let is_alive = match views {
        Some(views) => views.changed().await.is_ok(),
        None => false,
    };
    if !is_alive {
        std::future::pending::<()>().await;
    }
}

/// What an election says next; nothing ever, if there is none.
async fn next_of(elections: &mut Option<UnboundedReceiver<Elected>>) -> Option<Elected> {
    match elections {
        Some(elections) => elections.recv().await,
        None => std::future::pending().await,
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
