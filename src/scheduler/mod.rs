//! The scheduler core: deterministic, sans-IO, a value that can be copied.
//!
//! The contract, in three calls:
//!
//! 1. [`Scheduler::handle`] takes one [`Input`] and the time at which it came. Time never goes back.
//! 2. [`Scheduler::poll_effect`] gives the deeds that follow, one by one, until there is none. **Drain it before
//!    the next `handle`.** The outcome of each deed comes back later as [`Input::EffectDone`].
//! 3. [`Scheduler::poll_timeout`] tells when to call `handle` with [`Input::Timeout`] if nothing else comes.
//!
//! The core reads no clock, no socket, no environment and no hash order: equal inputs give equal effects and an
//! equal [`Scheduler::digest`]. It learns of the cluster from watch events alone; what it has decided itself it
//! knows as assumed pods until a watch confirms it.
//!
//! Mirrors `pkg/scheduler/scheduler.go`. Not here: how deeds are done, and when attempts are made. A driver sends
//! [`Command::ScheduleOne`] for each attempt, so that pausing is nothing but not sending it.

mod ask;
mod batch;
mod binding_cycle;
mod binding_cycles;
mod cycle;
pub mod effect;
mod evaluate;
mod event_handlers;
mod extender_calls;
mod failure;
pub mod gauges;
pub mod input;
pub mod internals;
mod journal;
mod options;
mod pending;
mod pod_group_cycle;
pub mod pod_group_trace;
pub mod pod_log;
mod pre_bind;
mod preemption;
mod preemptor;
mod questions;
pub mod reading;
mod reconfigure;
mod schedule_one;
pub mod trace;
pub mod turns;
pub mod view;
mod view_builder;
mod waits;
pub mod weights;
mod world;

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Digest, Digestible, ObjectStore, Str, Time, Uid};
use crate::cache::Cache;
use crate::config::Gate;
use crate::framework::meter::Measurement;
use crate::framework::runtime::{QueueingHintMap, Registry};
use crate::framework::{Answer, Framework, HandleRequest, Question, RequestOptions, Snapshot};
use crate::queue::{MoveLogLevel, QueueProfile, SchedulingQueue};

pub use crate::framework::TieBreak;
pub use crate::queue::{HintAnswer, HintResult, QueueMove, QueueName, QueueOptions, QueueingStrategy};
use batch::Batch;
use binding_cycles::BindingCycles;
use cycle::{Cycle, Suspended};
use effect::{Effect, EffectId, EffectKind};
use input::{Command, Input};
use journal::Journal;
pub use options::SchedulerOptions;
use pending::PendingEffect;
use pod_group_cycle::GroupCycle;
pub use pod_group_cycle::GroupDeed;
use preemption::PreemptionRun;
use preemptor::Preemptor;
pub use reconfigure::ReconfigureError;
use trace::CycleOutcome;
use turns::{Strand, Turns};
use view::{Counts, CycleSummary, ObjectEvent, QueueMoveLine};
use world::World;

/// Why a scheduler cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchedulerError {
    /// There is no profile.
    #[error("at least one profile is required")]
    NoProfile,
    /// Two profiles have one name.
    #[error("duplicate profile with scheduler name {0:?}")]
    DuplicateProfile(String),
    /// A profile has no QueueSort plugin.
    #[error("profile {0:?} has no queue sort plugin")]
    NoQueueSort(String),
}

/// A complete scheduler. See the module's text for the contract.
#[derive(Clone, Debug)]
pub struct Scheduler {
    world: World,
    queue: SchedulingQueue,
    cache: Cache,
    options: SchedulerOptions,
    next_start_node_index: usize,
    /// Whether the search for feasible nodes ends at none of them: in a look at what an attempt would come to.
    looks_at_all_nodes: bool,
    batches: BTreeMap<Str, Batch>,
    cycle: Option<Cycle>,
    /// The cycle of a pod group; the attempts of its members are `cycle` while their trial goes on.
    group: Option<Box<GroupCycle>>,
    /// The attempt under way, if it waits until room is made for its pod.
    suspended: Option<Suspended>,
    /// The questions that the attempt under way waits for, each with its answer once that has come.
    questions: BTreeMap<EffectId, Option<(Question, Answer)>>,
    /// Whether the attempt under way goes on by itself once its questions are answered.
    is_driving: bool,
    binding_cycles: BindingCycles,
    preemption_runs: Vec<PreemptionRun>,
    n_preemption_runs: u64,
    pods_to_activate: Vec<Arc<Pod>>,
    /// When waits were last ended by time.
    timeouts_seen: Time,
    effects: VecDeque<Effect>,
    next_effect_id: u64,
    pending_effects: BTreeMap<EffectId, PendingEffect>,
    /// What the last attempt of each pending pod said.
    last_messages: BTreeMap<Uid, Str>,
    counts: Counts,
    n_outcomes: u64,
    journal: Journal,
    problems: VecDeque<String>,
}

impl Scheduler {
    /// A scheduler without a cluster: objects come as inputs.
    ///
    /// # Errors
    /// If there is no profile, two have one name, or one has no QueueSort plugin.
    pub fn new(profiles: Vec<Framework>, options: SchedulerOptions) -> Result<Self, SchedulerError> {
        let mut by_name = BTreeMap::new();
        let mut queue_sort = None;
        for framework in profiles {
            let name = framework.profile_name.clone();
            let sort = framework.plugins.queue_sort.first().cloned();
            queue_sort = Some(sort.ok_or_else(|| SchedulerError::NoQueueSort(name.to_string()))?);
            let mut hints = QueueingHintMap::new(&framework);
            if !options.extenders.is_empty() {
                hints.register_every_event(extender_calls::EXTENDER_NAME);
            }
            if by_name.insert(name.clone(), QueueProfile { framework, hints }).is_some() {
                return Err(SchedulerError::DuplicateProfile(name.to_string()));
            }
        }
        let queue_sort = queue_sort.ok_or(SchedulerError::NoProfile)?;
        let has_pod_groups = options.is_grouping && options.gates.is_enabled(Gate::GenericWorkload);
        let queue_options = QueueOptions { has_pod_groups, ..options.queue };
        let mut queue = SchedulingQueue::new(queue_options, queue_sort);
        let is_measured =
            by_name.values().any(|profile: &QueueProfile| profile.framework.metering.is_there());
        queue.set_move_log_level(move_log_level(options.is_tracing, is_measured));
        Ok(Self {
            world: World::new(
                by_name,
                options.extenders.clone(),
                options.seed,
                options.tie_break,
                RequestOptions::from_gates(&options.gates),
            ),
            queue,
            cache: Cache::default(),
            options,
            next_start_node_index: 0,
            looks_at_all_nodes: false,
            batches: BTreeMap::new(),
            cycle: None,
            group: None,
            suspended: None,
            questions: BTreeMap::new(),
            is_driving: false,
            binding_cycles: BindingCycles::default(),
            preemption_runs: Vec::new(),
            n_preemption_runs: 0,
            pods_to_activate: Vec::new(),
            timeouts_seen: Time::ZERO,
            effects: VecDeque::new(),
            next_effect_id: 1,
            pending_effects: BTreeMap::new(),
            last_messages: BTreeMap::new(),
            counts: Counts::default(),
            n_outcomes: 0,
            journal: Journal::default(),
            problems: VecDeque::new(),
        })
    }

    /// Takes one input. A time before that of an earlier input is read as the earlier one's.
    pub fn handle(&mut self, now: Time, input: Input) {
        if self.world.now == Time::ZERO {
            self.queue.set_start(now);
            self.timeouts_seen = now;
        }
        if self.options.turns == Turns::OnCommand && input == Input::Timeout {
            self.timeouts_seen = self.timeouts_seen.max(now);
        } else {
            self.world.now = self.world.now.max(now);
        }
        if let Input::Added(object) | Input::Updated { new: object, .. } | Input::Deleted(object) = &input {
            self.binding_cycles.wake_watchers(object.kind());
        }
        match input {
            Input::Added(object) => self.object_added(object),
            Input::Updated { old, new } => self.object_updated(old, new),
            Input::Deleted(object) => self.object_deleted(object),
            Input::EffectDone { id, result } => self.effect_done(id, result),
            Input::ExtenderAnswered { id, answer } => self.extender_answered(id, answer),
            Input::Written { id, result } => self.written(id, result),
            Input::Timeout => {}
            Input::Command(command) => self.command(command),
        }
        self.go_on_with_group();
        match self.options.turns {
            Turns::AtOnce => {
                self.go_on(&Strand::BackoffFlush);
                self.go_on(&Strand::LeftoverFlush);
                self.time_out_waiting_pods(self.world.now);
                self.run_binding_cycles();
            }
            Turns::OnCommand => {
                self.time_out_waiting_pods(self.timeouts_seen);
                self.note_turns();
            }
        }
        self.collect_moves();
    }

    /// The next deed to be done, in order.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When something happens by itself next: a backoff ends, the flush moves a pod, Permit or PreBind time out.
    pub fn poll_timeout(&self) -> Option<Time> {
        [self.queue.next_timeout(self.world.now), self.next_end_of_wait()].into_iter().flatten().min()
    }

    /// Whether an attempt can be made: one is under way, or a pod can be popped.
    pub fn can_schedule(&self) -> bool {
        !self.is_waiting_in_cycle() && (self.is_in_cycle() || self.queue.can_pop())
    }

    /// Whether an attempt has begun and not left the scheduling cycle.
    pub fn is_in_cycle(&self) -> bool {
        self.cycle.is_some() || self.suspended.is_some() || self.group.is_some()
    }

    /// Whether the attempt under way belongs to the cycle of a pod group.
    pub fn is_in_group_cycle(&self) -> bool {
        self.group.is_some()
    }

    /// Whether the attempt under way waits for something from outside.
    fn is_waiting_in_cycle(&self) -> bool {
        !self.questions.is_empty() || self.suspended.is_some() || self.is_group_blocked()
    }

    /// Whether a person steps a binding cycle that has not ended.
    pub fn has_stepped_binding_cycle(&self) -> bool {
        self.binding_cycles.iter().any(|binding| binding.cycle.is_stepped)
    }

    /// Whether any deed is on its way, so that more may happen without time passing.
    pub fn has_pending_effects(&self) -> bool {
        !self.pending_effects.is_empty()
    }

    /// The objects as the watches last reported them.
    pub fn objects(&self) -> &ObjectStore {
        &self.world.objects
    }

    /// The nodes as the last attempt saw them.
    pub fn snapshot(&self) -> &Snapshot {
        &self.world.snapshot
    }

    /// The profiles by `schedulerName`.
    pub fn profiles(&self) -> impl Iterator<Item = &Framework> {
        self.world.profiles.values().map(|profile| &profile.framework)
    }

    /// What the plugins of the profiles were made of, and those of another configuration will be.
    pub fn registry(&self) -> &Registry {
        &self.world.any_framework().registry
    }

    /// Whether evidence of attempts is kept from now on. Has no influence on any decision.
    pub fn set_tracing(&mut self, is_tracing: bool) {
        self.options.is_tracing = is_tracing;
        self.queue.set_move_log_level(move_log_level(is_tracing, self.world.metering().is_there()));
    }

    /// Whether attempts leave their lines and no evidence from now on, as where many are made that nobody looks at. Has
    /// no influence on any decision.
    pub fn set_lean(&mut self, is_lean: bool) {
        self.options.is_tracing = !is_lean;
        self.journal.is_lean = is_lean;
    }

    /// What went wrong inside since the last call and has no other place: a failed status patch, an object that
    /// does not go with what the cache knows.
    pub fn take_problems(&mut self) -> Vec<String> {
        self.problems.drain(..).collect()
    }

    fn command(&mut self, command: Command) {
        match command {
            // An attempt that waits for an answer from outside goes on when that comes.
            Command::ScheduleOne | Command::NextPhase
                if !self.questions.is_empty() || self.suspended.is_some() => {}
            // One that waits for the calls for a member likewise.
            Command::ScheduleOne | Command::NextPhase if self.is_group_blocked() => {
                self.is_driving |= command == Command::ScheduleOne;
            }
            Command::ScheduleOne => self.schedule_one(),
            Command::NextPhase => {
                // A binding cycle that cannot go on must not hold the person up.
                if self.is_in_cycle() || !self.step_binding_cycle() {
                    self.release_stepped_binding_cycles();
                    self.next_phase(true);
                }
            }
            Command::GoOn(strand) => self.go_on(&strand),
            Command::Activate(pods) => {
                let env = self.world.queue_env();
                self.queue.activate(&env, &pods);
            }
            Command::SetWeight { plugin, weight } => self.set_weight(&plugin, weight),
            Command::Configure { configuration } => self.configure(&configuration),
            Command::AllowWaitingPod { uid, plugin } => {
                self.world.waiting_pods.allow(&uid, &plugin);
            }
            Command::RejectWaitingPod { uid, plugin, message } => {
                self.world.waiting_pods.reject(&uid, &plugin, &message);
            }
        }
    }

    /// The rest of the attempt under way, a binding cycle that a person was stepping included, or a whole one.
    fn schedule_one(&mut self) {
        let had_stepped = self.has_stepped_binding_cycle();
        self.release_stepped_binding_cycles();
        if !self.is_in_cycle() && (had_stepped || !self.next_phase(false)) {
            return;
        }
        if let Some(cycle) = &mut self.cycle {
            cycle.is_stepped = false;
        }
        if let Some(group) = &mut self.group {
            group.release();
        }
        self.drive();
    }

    /// Does phase after phase until the scheduling cycle is over, or waits for an extender.
    fn drive(&mut self) {
        let is_by_command = self.options.turns == Turns::OnCommand;
        let mut is_at_member = false;
        while !is_at_member && self.is_in_cycle() && !self.is_waiting_in_cycle() {
            self.next_phase(false);
            is_at_member = is_by_command && self.next_group_deed().is_some();
        }
        self.is_driving = self.is_in_cycle() && !is_at_member;
    }

    fn effect_done(&mut self, id: EffectId, result: Result<(), effect::ApiFailure>) {
        match self.pending_effects.remove(&id) {
            Some(PendingEffect::Bind { uid, plugin }) => self.bind_returned(&uid, plugin, result),
            Some(PendingEffect::Preemption { run, victim }) => {
                self.preemption_returned(run, &victim, result);
            }
            Some(PendingEffect::AttemptQuestion(_) | PendingEffect::ExtenderBind { .. }) => {
                self.note_problem("the outcome of a call came without its answer");
            }
            Some(PendingEffect::Write { .. }) => {
                self.note_problem("the outcome of a write came without its object");
            }
            Some(PendingEffect::ClearNomination { run }) => {
                self.nomination_cleared(id, run, result);
            }
            Some(PendingEffect::Nomination { uid }) => self.nomination_returned(&uid, result),
            Some(PendingEffect::RejectionReport { pod }) => {
                if let Err(failure) = result {
                    self.note_problem(&format!("updating the status of pod {}: {failure}", pod.key()));
                }
                self.give_back_room_of(&pod);
            }
            Some(PendingEffect::Report { what }) => {
                if let Err(failure) = result {
                    self.note_problem(&format!("{what}: {failure}"));
                }
            }
            None => {}
        }
    }

    /// Does what plugins have asked for.
    fn carry_out_requests(&mut self) {
        // A phase that is given up has asked for nothing.
        if self.world.answers.borrow().has_missing() {
            return;
        }
        for request in self.world.take_requests() {
            match request {
                HandleRequest::AllowWaitingPod { uid, plugin } => {
                    self.world.waiting_pods.allow(&uid, &plugin);
                }
                HandleRequest::RejectWaitingPod { uid, plugin, message } => {
                    self.world.waiting_pods.reject(&uid, &plugin, &message);
                }
                HandleRequest::Activate(pods) => {
                    let env = self.world.queue_env();
                    self.queue.activate(&env, &pods);
                }
                HandleRequest::ActivateAfterCycle(pods) => self.pods_to_activate.extend(pods),
                HandleRequest::Preempt { preemptor, candidate, plugin, is_async } => {
                    self.prepare_candidate(Preemptor::pod(preemptor), candidate, plugin, is_async);
                }
                HandleRequest::Write { pod, plugin, write } => {
                    let id = self.emit(EffectKind::Write(write.clone()));
                    self.pending_effects.insert(id, PendingEffect::Write { uid: pod, plugin, write });
                }
                HandleRequest::Event { pod, reason, action, note } => {
                    let at = self.world.now;
                    let (type_, regarding) = ("Normal", pod);
                    self.record_event(ObjectEvent {
                        at,
                        type_,
                        reason,
                        action,
                        regarding,
                        related: None,
                        note,
                    });
                }
                HandleRequest::TellOf((old, new)) => self.tell_of(old.as_ref(), new.as_ref()),
            }
        }
    }

    /// The attempt has succeeded: the pods that plugins wanted tried next get their turn.
    fn activate_after_cycle(&mut self) {
        let pods = std::mem::take(&mut self.pods_to_activate);
        if !pods.is_empty() {
            let env = self.world.queue_env();
            self.queue.activate(&env, &pods);
        }
    }

    fn emit(&mut self, kind: EffectKind) -> EffectId {
        let id = EffectId(self.next_effect_id);
        self.next_effect_id += 1;
        self.effects.push_back(Effect { id, kind });
        id
    }

    fn record_event(&mut self, event: ObjectEvent) {
        self.journal.add_event(event.clone());
        self.emit(EffectKind::Event(event));
    }

    fn note_problem(&mut self, text: &str) {
        const PROBLEMS_MAX: usize = 100;
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push_back(text.to_owned());
        }
    }

    fn note_cache_error<E: Display>(&mut self, result: Result<(), E>) {
        if let Err(error) = result {
            self.note_problem(&error.to_string());
        }
    }

    /// The attempt has ended: its evidence and its line in the history.
    fn finish_trace(&mut self, cycle: Cycle, outcome: CycleOutcome) {
        self.n_outcomes += 1;
        let Some(mut trace) = cycle.trace else {
            if self.journal.is_lean {
                let (number, started) = (cycle.number, self.world.now);
                let pod = cycle.pod_info().pod.key();
                self.journal.add_history(CycleSummary {
                    number,
                    started,
                    pod,
                    host: cycle.host.clone(),
                    outcome,
                });
                // What is there is that of an earlier one.
                self.journal.last_trace = None;
            }
            return;
        };
        trace.outcome = outcome.clone();
        self.journal.pods.end_attempt(&trace);
        self.journal.add_history(CycleSummary {
            number: trace.number,
            started: trace.started,
            pod: trace.pod_key(),
            host: trace.selection.as_ref().map(|selection| selection.host.clone()),
            outcome,
        });
        let is_newest = self.journal.last_trace.as_ref().is_none_or(|last| last.number <= trace.number);
        if is_newest {
            self.journal.last_trace = Some(Arc::from(trace));
        }
    }

    fn collect_moves(&mut self) {
        let at = self.world.now;
        for entry in self.queue.take_moves() {
            let (pod, text) = match &entry {
                QueueMove::Entered { pod, queue, event } => {
                    let event = event.label();
                    self.world.metering().take(Measurement::Entered { queue: queue.as_str(), event: &event });
                    (pod.clone(), format!("to {} by {event}", queue_name(*queue)))
                }
                QueueMove::Judged { pod, event, object, answers, strategy, .. } => {
                    let object = object.as_ref().map(|object| format!(" {object}")).unwrap_or_default();
                    let answers: Vec<String> = answers
                        .iter()
                        .map(|answer| match &answer.result {
                            HintResult::Skip => format!("{} Skip", answer.plugin),
                            HintResult::Queue => format!("{} Queue", answer.plugin),
                            HintResult::Error(error) => format!("{} Queue ({error})", answer.plugin),
                        })
                        .collect();
                    let (event, answers) = (event.label(), answers.join(", "));
                    (pod.clone(), format!("{event}{object}: {answers} => {strategy}"))
                }
            };
            if self.world.objects.pods.contains_key(&pod) && self.options.is_tracing {
                self.journal.pods.add_move(at, &pod, &entry);
            }
            self.journal.add_move(QueueMoveLine { at, pod, text, entry });
        }
    }

    /// A number that stands for the whole state: equal states have equal digests on every machine.
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::new();
        for (component, part) in self.digest_parts() {
            digest.str(component).u64(part);
        }
        digest.finish()
    }

    /// The digest of each component of the state, by its name.
    pub fn digest_parts(&self) -> Vec<(&'static str, u64)> {
        let part = |add: &dyn Fn(&mut Digest)| {
            let mut digest = Digest::new();
            add(&mut digest);
            digest.finish()
        };
        let (world, counts) = (&self.world, &self.counts);
        vec![
            ("clock", part(&|digest| _ = digest.u64(world.now.as_nanos()).len(self.next_start_node_index))),
            ("random", part(&|digest| _ = digest.u64(world.rng.borrow().state()))),
            (
                "counts",
                part(&|digest| {
                    digest.u64(self.next_effect_id);
                    digest.u64(counts.cycles).u64(counts.bound).u64(counts.preempted);
                }),
            ),
            ("queue", part(&|digest| self.queue.digest(digest))),
            ("cache", part(&|digest| self.cache.digest(digest))),
            ("nominator", part(&|digest| world.nominator.digest(digest))),
            (
                "podGroups",
                part(&|digest| {
                    world.pod_groups.digest(digest);
                    world.snapshot_pod_groups.digest(digest);
                }),
            ),
            ("plugins", part(&|digest| world.states.digest(digest))),
            ("batches", part(&|digest| self.batches.values().for_each(|batch| batch.digest(digest)))),
            ("cycles", part(&|digest| self.digest_cycles(digest))),
            (
                "effects",
                part(&|digest| {
                    digest.len(self.effects.len()).len(self.pending_effects.len()).len(self.questions.len());
                }),
            ),
            ("objects", part(&|digest| self.digest_objects(digest))),
        ]
    }

    fn digest_objects(&self, digest: &mut Digest) {
        for object in self.world.objects.iter() {
            let metadata = object.metadata();
            digest.str(object.kind().as_str()).str(&metadata.namespace).str(&metadata.name);
            digest.str(&metadata.uid).str(&metadata.resource_version);
        }
    }

    fn digest_cycles(&self, digest: &mut Digest) {
        digest.bool(self.cycle.is_some()).bool(self.suspended.is_some()).bool(self.group.is_some());
        if let Some(group) = &self.group {
            group.digest(digest);
        }
        if let Some(cycle) = &self.cycle {
            digest.str(cycle.queued.uid()).str(cycle.next.as_str()).len(cycle.feasible.len());
            digest.str(cycle.host.as_deref().unwrap_or_default());
            for total in cycle.scores.iter().flat_map(|scores| &scores.totals) {
                digest.i64(*total);
            }
        }
        digest.len(self.binding_cycles.len());
        for binding in self.binding_cycles.iter() {
            digest.str(binding.cycle.queued.uid()).str(&binding.host).len(binding.stage as usize);
            digest.bool(binding.cycle.is_stepped).str(binding.cancelled.as_deref().unwrap_or_default());
        }
        digest.len(self.world.waiting_pods.len());
        for waiting in self.world.waiting_pods.iter() {
            digest.str(waiting.pod_info.uid()).str(&waiting.node_name);
            digest.u64(waiting.since.as_nanos()).bool(waiting.signal.is_some());
            for (plugin, timeout) in &waiting.pending_plugins {
                digest.str(plugin).u64(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX));
            }
        }
        digest.len(self.preemption_runs.len()).len(self.world.preemption.preempting.len());
        for uid in &self.world.preemption.preempting {
            digest.str(uid);
        }
    }
}

/// The queue as people know it.
const fn queue_name(queue: QueueName) -> &'static str {
    match queue {
        QueueName::Active => "activeQ",
        QueueName::Backoff => "backoffQ",
        QueueName::Unschedulable => "unschedulablePods",
    }
}

/// Judgements are made for people only; without somebody to look at them the queue stops asking early.
const fn move_log_level(is_tracing: bool, is_measured: bool) -> MoveLogLevel {
    match (is_tracing, is_measured) {
        (true, _) => MoveLogLevel::Judgements,
        // Pods that come into queues are counted.
        (false, true) => MoveLogLevel::Moves,
        (false, false) => MoveLogLevel::Off,
    }
}
