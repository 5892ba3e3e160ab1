//! The sandbox driver: the core, the in-memory API and simulated time.
//!
//! Effects are done at once, and what they change comes back to the core as watch events: the scheduler learns of
//! its own deeds no earlier than a real one would. Nothing here reads a clock; whoever owns the driver moves time.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::api::{Duration, Kind, NamespacedName, Object, Str, Time};
use crate::driver::permit;
use crate::driver::recorder::{RecorderStats, RecordingTap};
use crate::driver::session::Edit;
use crate::driver::tap::TooLong;
use crate::framework::Framework;
use crate::framework::extender::{ExtenderAnswer, ExtenderCall};
use crate::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::{Scheduler, SchedulerError, SchedulerOptions};

use super::answers::Answered;
use super::api::{ApiError, SandboxApi, WatchEvent};
use super::controllers::{Controllers, Journal};
use super::draining::Draining;
use super::following::Following;
use super::living;
use super::returns::Returns;
use super::scenario::Scenario;
use super::told::{Telling, Told};
use super::world::WorldView;

/// Attempts are at least this far apart, so that no two pods have the same time in the queue.
pub(in crate::driver) const TICK: Duration = Duration::from_micros(1);

/// How calls to extenders are made.
pub trait ExtenderTransport: std::fmt::Debug + Send + Sync {
    /// Makes the call and waits for what comes of it.
    fn call(&self, call: &ExtenderCall) -> ExtenderAnswer;
}

/// Nobody is there to be called.
#[derive(Clone, Copy, Debug, Default)]
struct NoTransport;

impl ExtenderTransport for NoTransport {
    fn call(&self, call: &ExtenderCall) -> ExtenderAnswer {
        ExtenderAnswer::Failed(format!("Post {:?}: extenders are not called here", call.url))
    }
}

/// A simulated cluster with its scheduler.
#[derive(Clone, Debug)]
pub struct Simulator {
    pub(super) scheduler: Scheduler,
    pub(super) api: SandboxApi,
    pub(super) now: Time,
    pub(super) start: Time,
    /// Deeds that the core has asked for and that are not done.
    pub(super) effects: VecDeque<Effect>,
    transport: Arc<dyn ExtenderTransport>,
    /// Absent where only the scheduler acts.
    pub(super) controllers: Option<Controllers>,
    /// Pods that come back for others.
    pub(super) returns: Returns,
    /// Nodes that are drained where nothing lives.
    pub(super) draining: Draining,
    /// What happens by itself, if anything does.
    pub(super) scenario: Option<Scenario>,
    /// Present while a recording is followed.
    pub(super) following: Option<Following>,
    /// Notes about the operation under way, if somebody wants them.
    pub(super) notes: Option<Notes>,
    /// What the watches have reported while the last operation was done.
    pub(super) last_events: Vec<WatchEvent>,
    recording: Tap,
    /// What the scheduler was started again under last, if it was.
    pub(super) configuration: Option<Arc<str>>,
    /// What has happened since it was last asked for, if somebody asks.
    pub(super) told: Option<Telling>,
}

/// The way to a recording, for a simulator and its copies.
pub type SharedTap = Arc<Mutex<RecordingTap>>;

/// The way to a recording. A copy of the simulator shares it, and records nothing until it is told to: it may be a
/// checkpoint that is done again, or a look at what could be.
#[derive(Debug, Default)]
struct Tap {
    shared: Option<SharedTap>,
    is_active: bool,
    /// The number of the input in the recording that the scheduler has taken last.
    behind: u64,
}

impl Clone for Tap {
    fn clone(&self) -> Self {
        Self { shared: self.shared.clone(), is_active: false, behind: self.behind }
    }
}

impl Tap {
    fn lock(&self) -> Option<MutexGuard<'_, RecordingTap>> {
        self.shared.as_ref().map(|tap| tap.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is noted while an operation is done.
#[derive(Clone, Debug, Default)]
pub(in crate::driver) struct Notes {
    /// What extenders have answered.
    pub answers: Vec<Answered>,
    /// What they answer, if it is known already.
    pub known_answers: VecDeque<ExtenderAnswer>,
    /// The objects that have changed.
    pub changed: Vec<(Kind, NamespacedName)>,
    /// How.
    pub events: Vec<WatchEvent>,
}

impl Simulator {
    /// A scheduler on a cluster: every object is reported to it as a watch would at the start, pods that wait to be
    /// scheduled last.
    ///
    /// # Errors
    /// If the profiles do not make a scheduler.
    pub fn new(
        profiles: Vec<Framework>,
        options: SchedulerOptions,
        api: SandboxApi,
        start: Time,
    ) -> Result<Self, SchedulerError> {
        Self::recorded(profiles, options, api, start, None)
    }

    /// The same, with every input recorded from the first on.
    ///
    /// # Errors
    /// If the profiles do not make a scheduler.
    pub fn recorded(
        profiles: Vec<Framework>,
        options: SchedulerOptions,
        mut api: SandboxApi,
        start: Time,
        recording: Option<RecordingTap>,
    ) -> Result<Self, SchedulerError> {
        let scheduler = Scheduler::new(profiles, options)?;
        api.take_events();
        let is_pending =
            |object: &Object| matches!(object, Object::Pod(pod) if !pod.is_assigned() && !pod.is_terminal());
        let (pending, settled): (Vec<_>, Vec<_>) = api.objects().iter().partition(is_pending);
        let mut simulator = Self::fresh(scheduler, api, start, recording);
        for object in settled {
            simulator.handle(Input::Added(object));
        }
        for object in pending {
            simulator.now += TICK;
            simulator.handle(Input::Added(object));
        }
        simulator.settle();
        Ok(simulator)
    }

    /// A scheduler that has heard of nothing yet.
    fn fresh(scheduler: Scheduler, api: SandboxApi, start: Time, recording: Option<RecordingTap>) -> Self {
        let shared = recording.map(|tap| Arc::new(Mutex::new(tap)));
        Self {
            scheduler,
            api,
            now: start,
            start,
            effects: VecDeque::new(),
            transport: Arc::new(NoTransport),
            controllers: None,
            returns: Returns::default(),
            draining: Draining::default(),
            scenario: None,
            following: None,
            notes: None,
            last_events: Vec::new(),
            recording: Tap { shared, is_active: true, behind: 0 },
            configuration: None,
            told: None,
        }
    }

    /// A scheduler that is begun anew on the cluster of another one, at its time, and recorded. It hears of pods that
    /// wait in an order in which they come into its queues as they stand in the other's: those that were turned down
    /// are tried first, and turned down again, then come those in backoffQ and in activeQ. Whatever else the other one
    /// has in memory it does not have: backoffs, attempts, what waits at Permit, random numbers.
    pub(in crate::driver) fn begun_anew(
        scheduler: Scheduler,
        other: &Self,
        (tap, is_active): (SharedTap, bool),
        transport: Arc<dyn ExtenderTransport>,
        notes: Option<Notes>,
    ) -> Self {
        let mut api = other.api.clone();
        api.take_events();
        let view = other.scheduler.view();
        let rows = view.unschedulable_pods.iter().chain(&view.active_q).chain(&view.backoff_q);
        let waiting: Vec<NamespacedName> = rows.map(|row| row.pod.key()).collect();
        let n_turned_down = view.unschedulable_pods.len();
        let objects: Vec<Object> = api.objects().iter().collect();
        let pods = api.objects().pods.clone();
        let mut simulator = Self::fresh(scheduler, api, other.now, None).with_transport(transport);
        simulator.recording = Tap { shared: Some(tap), is_active, behind: 0 };
        simulator.notes = notes;
        simulator.controllers.clone_from(&other.controllers);
        simulator.returns.clone_from(&other.returns);
        simulator.draining.clone_from(&other.draining);
        simulator.scenario.clone_from(&other.scenario);
        simulator.configuration.clone_from(&other.configuration);
        simulator.told.clone_from(&other.told);
        for object in objects {
            if object.kind() != Kind::Pod || !waiting.contains(&object.key()) {
                simulator.handle(Input::Added(object));
            }
        }
        if let Some(configuration) = &simulator.configuration {
            let configuration = configuration.to_string();
            simulator.handle(Input::Command(Command::Configure { configuration }));
        }
        simulator.take_weights_of(&other.scheduler);
        for (n, key) in waiting.iter().enumerate() {
            if n == n_turned_down {
                simulator.settle();
                for _ in 0..2 * n_turned_down {
                    if !simulator.step_cycle() {
                        break;
                    }
                }
            }
            simulator.now += TICK;
            if let Some(pod) = pods.get(key) {
                simulator.handle(Input::Added(Arc::clone(pod).into()));
            }
        }
        simulator.settle();
        simulator
    }

    /// The same done to this one, which keeps its clock.
    pub(super) fn begin_anew(&mut self, scheduler: Scheduler, tap: SharedTap, is_active: bool) {
        let (notes, transport) = (self.notes.take(), Arc::clone(&self.transport));
        let start = self.start;
        *self = Self::begun_anew(scheduler, self, (tap, is_active), transport, notes);
        self.start = start;
    }

    /// From now on it is recorded there, behind so many inputs.
    pub(super) fn share_tap(&mut self, tap: SharedTap, is_active: bool, behind: u64) {
        self.recording = Tap { shared: Some(tap), is_active, behind };
    }

    /// Whether nothing is on its way: no attempt, no binding, no eviction that was begun, nobody at Permit.
    pub(in crate::driver) fn is_calm(&self) -> bool {
        !self.scheduler.is_in_cycle()
            && !self.scheduler.is_busy_beside_attempts()
            && self.effects.is_empty()
            && self.api.next_timeout().is_none()
    }

    /// A scheduler whose inputs come from a recording, for now.
    pub(super) fn without_cluster(scheduler: Scheduler, start: Time, following: Following) -> Self {
        Self {
            scheduler,
            api: SandboxApi::default(),
            now: start,
            start,
            effects: VecDeque::new(),
            transport: Arc::new(NoTransport),
            controllers: None,
            returns: Returns::default(),
            draining: Draining::default(),
            scenario: None,
            following: Some(following),
            notes: None,
            last_events: Vec::new(),
            recording: Tap::default(),
            configuration: None,
            told: None,
        }
    }

    /// The same with extenders called by `transport`.
    #[must_use]
    pub fn with_transport(mut self, transport: Arc<dyn ExtenderTransport>) -> Self {
        self.transport = transport;
        self
    }

    /// The same with controllers, who at once do what is to be done in the cluster.
    #[must_use]
    pub fn with_controllers(mut self, mut controllers: Controllers) -> Self {
        controllers.start(&mut self.api, self.now);
        self.controllers = Some(controllers);
        self.settle();
        self
    }

    /// What the controllers have done, if there are any.
    pub fn controllers(&self) -> Option<&Journal> {
        self.controllers.as_ref().map(Controllers::journal)
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The same, to take its problems or switch its tracing.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// The API.
    pub fn api(&self) -> &SandboxApi {
        &self.api
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.now
    }

    /// What the watches have reported while the last operation was done.
    pub fn last_events(&self) -> &[WatchEvent] {
        &self.last_events
    }

    /// What was reported is of no interest any more.
    pub(in crate::driver) fn forget_events(&mut self) {
        self.last_events.clear();
    }

    /// When simulated time began.
    pub fn start(&self) -> Time {
        self.start
    }

    /// Simulated time since the start.
    pub fn elapsed(&self) -> Duration {
        self.now - self.start
    }

    /// Does the rest of the attempt under way, or a whole one. False if no pod can be tried.
    pub fn step_cycle(&mut self) -> bool {
        self.step(Command::ScheduleOne)
    }

    /// Does one phase, or begins an attempt. False if there is nothing to do.
    pub fn step_phase(&mut self) -> bool {
        self.step(Command::NextPhase)
    }

    /// Whether a step would do anything.
    pub fn can_step(&self) -> bool {
        self.scheduler.can_schedule() || self.scheduler.has_stepped_binding_cycle()
    }

    fn step(&mut self, command: Command) -> bool {
        let can_step = self.can_step();
        if can_step {
            self.now += TICK;
            self.input(Input::Command(command));
        }
        can_step
    }

    /// Gives the core one input at the present time, then carries out everything that follows from it.
    pub fn input(&mut self, input: Input) {
        self.handle(input);
        self.settle();
    }

    fn handle(&mut self, input: Input) {
        let recorded = (self.recording.is_active && self.recording.shared.is_some()).then(|| input.clone());
        self.scheduler.handle(self.now, input);
        let n_before = self.effects.len();
        self.effects.extend(std::iter::from_fn(|| self.scheduler.poll_effect()));
        let Some(input) = recorded else { return };
        let (behind, effects) = (self.recording.behind, self.effects.range(n_before..));
        let number =
            self.recording.lock().map(|mut tap| tap.took(behind, self.now, input, effects, &self.scheduler));
        self.recording.behind = number.unwrap_or(behind);
    }

    /// Asks the way to the recording something, if there is one.
    pub(in crate::driver) fn with_tap<R>(&self, ask: impl FnOnce(&RecordingTap) -> R) -> Option<R> {
        self.recording.lock().map(|tap| ask(&tap))
    }

    /// How many inputs were recorded, by this simulator and its copies.
    pub fn n_recorded(&self) -> u64 {
        self.recording.lock().map_or(0, |tap| tap.inputs())
    }

    /// The number of the input in the recording that the scheduler has taken last.
    pub(super) fn recorded_behind(&self) -> u64 {
        self.recording.behind
    }

    /// Whether what happens is recorded, if there is a recording: not on a copy that somebody looks at.
    pub(super) const fn is_recording(&self) -> bool {
        self.recording.is_active
    }

    /// Does something and keeps what the watches report meanwhile ([`Self::last_events`]). Whether it is recorded stays as
    /// it is.
    pub(in crate::driver) fn noting<R>(&mut self, deed: impl FnOnce(&mut Self) -> R) -> R {
        self.notes = Some(Notes::default());
        let outcome = deed(self);
        self.last_events = self.notes.take().unwrap_or_default().events;
        outcome
    }

    /// An operation begins that is recorded, or one that was recorded already.
    pub(super) fn set_recording(&mut self, is_active: bool) {
        self.recording.is_active = is_active;
    }

    /// What was recorded already was done again, up to the input of that number.
    pub(super) fn set_recorded_behind(&mut self, input: u64) {
        self.recording.behind = input;
    }

    /// Marks this moment in the recording, if there is one.
    pub fn mark(&mut self, name: &str) {
        if let Some(mut tap) = self.recording.lock() {
            tap.marker(self.recording.behind, self.now, name, &self.scheduler);
        }
    }

    /// Says something about this moment in the recording, if there is one.
    pub fn note(&mut self, text: &str) {
        if let Some(mut tap) = self.recording.lock() {
            tap.note(self.recording.behind, self.now, text);
        }
    }

    /// What the recorder has done so far, and what went wrong, if there is a recording.
    pub fn recording_state(&self) -> Option<(RecorderStats, Option<String>)> {
        let tap = self.recording.lock().filter(|tap| tap.is_writing())?;
        Some((tap.stats(), tap.failure()))
    }

    /// Whether what happened is kept from the start on.
    pub fn is_kept_whole(&self) -> bool {
        self.recording.lock().is_some_and(|tap| tap.is_whole())
    }

    /// Whether what happened is kept, so that it can be recorded later.
    pub fn has_tap(&self) -> bool {
        self.recording.shared.is_some()
    }

    /// Records from the session's start on: what has happened, and everything from now on.
    ///
    /// # Errors
    /// If what has happened is no longer kept.
    pub fn begin_recording(&mut self, to: RecordingTap) -> Result<(), TooLong> {
        self.recording.lock().ok_or(TooLong)?.begin(to)
    }

    /// Ends the recording; another may be begun.
    pub fn stop_recording(&mut self, reason: &str) {
        if let Some(mut tap) = self.recording.lock() {
            tap.stop(self.recording.behind, &self.scheduler, reason);
        }
    }

    /// Records what has happened since the session's start, and nothing that happens later.
    ///
    /// # Errors
    /// If it is no longer kept.
    pub fn save_recording(&self, to: RecordingTap, reason: &str) -> Result<(), TooLong> {
        let tap = self.recording.lock().ok_or(TooLong)?;
        tap.save(to, self.recording.behind, &self.scheduler, reason)
    }

    /// Ends the recording, if there is one, with a last look at the scheduler.
    pub fn finish_recording(&mut self, reason: &str) {
        if let Some(mut tap) = self.recording.lock() {
            tap.finish(self.recording.behind, &self.scheduler, reason);
        }
        self.recording.shared = None;
    }

    /// When something happens by itself next, and what.
    pub fn next_timeout(&self) -> Option<(Time, Str)> {
        let scheduler = self.scheduler.next_timeout_reason();
        let api = self.api.next_timeout().map(|at| (at, Str::from("a terminating pod is gone")));
        let controllers = self.controllers.as_ref().and_then(Controllers::next_timeout);
        let scenario = self.scenario.as_ref().and_then(Scenario::next_timeout);
        // Of those at the same time the scheduler's is told of last.
        [scenario, controllers, api, scheduler].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Whether nothing will move but for the flush of pods that have waited too long.
    pub fn is_at_rest(&self) -> bool {
        !self.scheduler.can_schedule()
            && !self.scheduler.is_moving()
            && self.api.next_timeout().is_none()
            && !self.controllers.as_ref().is_some_and(Controllers::is_moving)
            && !self.scenario.as_ref().is_some_and(Scenario::is_moving)
    }

    /// Moves time forward to `to`, with a stop wherever something happens by itself. `at_stop` is called at each
    /// stop and ends the way there by answering false.
    pub fn advance_to(&mut self, to: Time, mut at_stop: impl FnMut(&mut Self) -> bool) {
        while self.next_timeout().is_some_and(|(at, _)| at <= to) {
            self.go_to_next_timeout();
            if !at_stop(self) {
                return;
            }
        }
        self.let_time_go_to(to);
    }

    /// Moves time to where something happens by itself next. False if nothing will.
    pub fn go_to_next_timeout(&mut self) -> bool {
        let Some((at, _)) = self.next_timeout() else { return false };
        // A timeout that is not ahead must still not hold time up.
        self.now = at.max(self.now + TICK);
        self.let_time_pass();
        true
    }

    /// Moves time forward to `to` without a stop on the way.
    pub fn let_time_go_to(&mut self, to: Time) {
        if to > self.now {
            self.now = to;
            self.let_time_pass();
        }
    }

    /// Moves time forward to `to` for what is about to happen then, with a stop wherever something happens by itself
    /// before.
    pub fn let_clock_go_to(&mut self, to: Time) {
        while self.next_timeout().is_some_and(|(at, _)| at < to) && self.now < to {
            self.go_to_next_timeout();
        }
        self.now = self.now.max(to);
    }

    /// Does what the present time asks for.
    pub fn time_out(&mut self) {
        self.let_time_pass();
    }

    /// Changes the cluster as somebody else did, at the present time.
    pub fn change_now<R>(&mut self, change: impl FnOnce(&mut SandboxApi, Time) -> R) -> R {
        let changed = change(&mut self.api, self.now);
        self.settle();
        changed
    }

    fn let_time_pass(&mut self) {
        self.api.advance(self.now);
        if let Some(controllers) = &mut self.controllers {
            controllers.advance(&mut self.api, self.now);
        }
        self.settle();
        self.scan();
        self.input(Input::Timeout);
        self.play_scenario();
    }

    /// Lets the autoscaler ask the scheduler, if it is time to.
    fn scan(&mut self) {
        if let Some(controllers) = self.controllers.as_mut().filter(|controllers| controllers.wants_scan()) {
            controllers.scan(&self.scheduler, &mut self.api, self.now);
            self.settle();
        }
    }

    /// What there is to see of the living part of the cluster, if it has one.
    pub fn world_view(&self) -> Option<WorldView> {
        self.controllers.as_ref()?.world_view(&self.api)
    }

    /// Changes the cluster as a person asked, and says what was done.
    ///
    /// # Errors
    /// One sentence that says what is wrong; the cluster is then as it was.
    pub fn edit(&mut self, edit: &Edit) -> Result<String, String> {
        self.now += TICK;
        let (api, now) = (&mut self.api, self.now);
        let said = match edit {
            Edit::Apply { source, text } => match &mut self.controllers {
                Some(controllers) => living::apply_text(controllers, api, source, text, now),
                None => api.apply_text(source, text, now),
            },
            Edit::World(order) => {
                let controllers = self.controllers.as_mut().ok_or(living::NO_CONTROLLERS)?;
                let said = controllers.order(api, now, order);
                self.settle();
                return said;
            }
            Edit::DeletePod(key) => api.delete_pod_by_name(key, now),
            Edit::Delete { kind, key } => {
                let deleted = api.delete(*kind, key, now);
                self.settle();
                // By now the controllers have let go of what is not in use.
                return match deleted {
                    Ok(()) => Ok(self.api.said_of_deletion(*kind, key)),
                    Err(error) => Err(error.to_string()),
                };
            }
            Edit::Change(change) => {
                return self.change_cluster(change);
            }
            Edit::Weight { plugin, weight } => return self.set_weight(plugin, *weight),
            Edit::Configure { source, text } => return self.configure(source, text),
            Edit::DeleteNode(node) => api.delete_node(node),
            Edit::Cordon(node) => api.cordon(node),
            Edit::Uncordon(node) => api.uncordon(node),
            Edit::Taint { node, taint } => api.taint(node, taint),
            Edit::Label { node, label } => {
                api.label(Kind::Node, &NamespacedName::cluster(node.clone()), label)
            }
            Edit::Activate(pod) => return self.activate(pod),
            Edit::Several { what, edits } => return self.edit_all(what, edits),
            Edit::Allow(_) | Edit::Reject(_) => {
                let (inputs, said) = permit::signals(&self.scheduler, edit)?;
                inputs.into_iter().for_each(|input| self.input(input));
                return Ok(said);
            }
        };
        self.settle();
        said.map_err(|error| error.to_string())
    }

    /// Changes the cluster, then carries out everything that follows from it.
    pub(super) fn change<T>(&mut self, change: impl FnOnce(&mut SandboxApi, Time) -> T) -> T {
        self.now += TICK;
        let outcome = change(&mut self.api, self.now);
        self.settle();
        outcome
    }

    /// Reports changes to the core and does its deeds until there is neither.
    pub(super) fn settle(&mut self) {
        loop {
            self.deliver_events();
            if let Some(controllers) = &mut self.controllers {
                controllers.work(&mut self.api, self.now);
            }
            self.returns.work(&mut self.api, self.now);
            self.draining.work(&mut self.api, &mut self.returns, self.now);
            if self.api.has_events() {
                continue;
            }
            match self.effects.pop_front() {
                Some(effect) => self.carry_out(effect),
                None if self.tell_of_workloads() => {}
                None => return,
            }
        }
    }

    fn call_extender(&mut self, call: &ExtenderCall) -> ExtenderAnswer {
        let Some(notes) = &mut self.notes else { return self.transport.call(call) };
        let answer = notes.known_answers.pop_front().unwrap_or_else(|| self.transport.call(call));
        notes.answers.push(Answered::new(call, answer.clone()));
        answer
    }

    fn deliver_events(&mut self) {
        for event in self.api.take_events() {
            if let Some(notes) = &mut self.notes {
                notes.changed.push((event.object().kind(), event.object().key()));
                notes.events.push(event.clone());
            }
            if let Some(controllers) = &mut self.controllers {
                controllers.observe(&event);
            }
            self.returns.observe(&event);
            self.draining.observe(&event);
            if let Some(scenario) = &mut self.scenario {
                scenario.observe(&event, self.now);
            }
            if let Some(told) = &mut self.told {
                told.log.push(Told::Object(event.clone()));
            }
            self.handle(watch_input(event));
        }
        self.tell_of_documents();
    }

    fn carry_out(&mut self, Effect { id, kind }: Effect) {
        let result = match kind {
            EffectKind::Event(event) => return self.tell_of_event(event),
            EffectKind::CallExtender(call) => {
                let answer = self.call_extender(&call);
                self.handle(Input::ExtenderAnswered { id, answer });
                return;
            }
            EffectKind::Write(write) => {
                let result = self.api.carry_out_write(&write, self.now);
                self.deliver_events();
                let result = result.map_err(|error| api_failure(&error));
                self.handle(Input::Written { id, result });
                return;
            }
            EffectKind::Bind { pod, uid, node } => self.api.bind(&pod, &uid, &node, self.now),
            EffectKind::PatchPodStatus { pod, uid, condition, nominated_node_name, .. } => {
                self.api.patch_pod_status(&pod, &uid, condition, nominated_node_name, self.now)
            }
            EffectKind::PatchPodGroupStatus { pod_group, condition, .. } => {
                self.api.patch_pod_group_status(&pod_group, condition, self.now)
            }
            EffectKind::DeletePod { pod, uid } => {
                if let Some(victim) = self.api.objects().pods.get(&pod) {
                    let world = self.controllers.as_ref().and_then(Controllers::world);
                    self.returns.evicted(victim, world);
                }
                self.api.evict_pod(&pod, &uid, self.now)
            }
        };
        // The watch reports a change before the answer to the call that made it, as it often does in a cluster.
        self.deliver_events();
        let result = result.map_err(|error| api_failure(&error));
        self.handle(Input::EffectDone { id, result });
    }
}

fn watch_input(event: WatchEvent) -> Input {
    match event {
        WatchEvent::Added(object) => Input::Added(object),
        WatchEvent::Modified { old, new } => Input::Updated { old, new },
        WatchEvent::Deleted(object) => Input::Deleted(object),
    }
}

fn api_failure(error: &ApiError) -> ApiFailure {
    let reason = match error {
        ApiError::NotFound { .. } => ApiFailureReason::NotFound,
        ApiError::Conflict { .. } => ApiFailureReason::Conflict,
        ApiError::AlreadyExists { .. } | ApiError::Invalid { .. } => ApiFailureReason::Other,
    };
    ApiFailure { reason, message: error.to_string() }
}
