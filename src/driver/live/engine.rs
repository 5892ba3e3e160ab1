//! A scheduler on what the watches report, without the network.
//!
//! Reports and outcomes go in, deeds for the cluster come out: none while it only observes. Then a Bind is a
//! prediction, held until the cluster's own scheduler has decided; other deeds are taken for done, and what really
//! becomes of them is seen in the watches.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Kind, NamespacedName, Object, Str, Time, Uid};
use crate::driver::recorder::{RecorderStats, RecordingTap};
use crate::driver::sandbox::api::WatchEvent;
use crate::framework::Framework;
use crate::framework::extender::{ExtenderAnswer, ExtenderVerb};
use crate::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectId, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::trace::{CycleOutcome, CycleTrace};
use crate::scheduler::{Scheduler, SchedulerError, SchedulerOptions};

use super::informers::{Informers, Report};
use super::keeper::Keeper;
use super::observer::{Decision, Observer};
use super::second_look::{Explained, SecondLooks};

/// How many deeds that were not done are kept for who asks for them.
const WITHHELD_KEPT: usize = 4_096;

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is.
    Observe,
    /// It is the scheduler of its profiles.
    Operate,
}

/// A time in which it was armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operated {
    /// The number of the first attempt.
    pub first: u64,
    /// The number of the last one; absent while the time goes on.
    pub last: Option<u64>,
    /// Since when.
    pub from: Time,
    /// Until when; absent while it goes on.
    pub to: Option<Time>,
}

/// A Bind that a person is to confirm.
#[derive(Clone, Debug)]
pub struct ToConfirm {
    /// The deed.
    pub id: EffectId,
    /// The pod.
    pub pod: NamespacedName,
    /// Its uid.
    pub uid: Uid,
    /// The node.
    pub node: Str,
    /// Since when it waits.
    pub since: Time,
    /// The attempt that chose the node, if its evidence is kept.
    pub trace: Option<Arc<CycleTrace>>,
}

/// A scheduler on a live cluster.
#[derive(Debug)]
pub struct Engine {
    scheduler: Scheduler,
    /// Knows what the watches report and never decides: what would be decided on the cluster as it is.
    judge: Scheduler,
    /// Decisions that wait for what comes after them.
    second_looks: SecondLooks,
    informers: Informers,
    mode: Mode,
    /// Whether each bind waits for a person.
    is_confirming: bool,
    to_confirm: VecDeque<ToConfirm>,
    /// Binds that were predicted and not done, by pod.
    held: BTreeMap<Uid, Effect>,
    observer: Observer,
    /// What the core has asked for and nobody has looked at.
    effects: VecDeque<Effect>,
    /// What is to be done in the cluster.
    deeds: VecDeque<Effect>,
    /// The way to the recording, if there is one.
    recording: Option<RecordingTap>,
    /// Keeps what the scheduler is told, if that is wanted.
    keeper: Option<Keeper>,
    /// What the watches have reported, if somebody asks.
    events: Option<Vec<WatchEvent>>,
    now: Time,
    /// How many deeds were not done since it only observes.
    n_withheld: u64,
    /// When it was armed.
    operated: Vec<Operated>,
    /// The last of these, if somebody asks for them.
    withheld: Option<VecDeque<Effect>>,
}

impl Engine {
    /// A scheduler that watches these kinds.
    ///
    /// # Errors
    /// If the profiles do not make a scheduler.
    pub fn new(
        profiles: Vec<Framework>,
        judging: Vec<Framework>,
        options: SchedulerOptions,
        kinds: &[Kind],
        mode: Mode,
    ) -> Result<Self, SchedulerError> {
        let judge_options = SchedulerOptions { is_tracing: false, ..options.clone() };
        Ok(Self {
            scheduler: Scheduler::new(profiles, options)?,
            judge: Scheduler::new(judging, judge_options)?,
            second_looks: SecondLooks::default(),
            informers: Informers::new(kinds),
            mode,
            is_confirming: false,
            to_confirm: VecDeque::new(),
            held: BTreeMap::new(),
            observer: Observer::default(),
            effects: VecDeque::new(),
            deeds: VecDeque::new(),
            recording: None,
            keeper: None,
            events: None,
            now: Time::ZERO,
            n_withheld: 0,
            operated: Vec::new(),
            withheld: None,
        })
    }

    /// The scheduler.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// The same, to take its problems.
    pub fn scheduler_mut(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// The kinds and how they stand.
    pub fn informers(&self) -> &Informers {
        &self.informers
    }

    /// Predictions and what came of them.
    pub fn observer(&self) -> &Observer {
        &self.observer
    }

    /// Whether anything is written.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How many deeds were not done, since it only observes.
    pub fn n_withheld(&self) -> u64 {
        self.n_withheld
    }

    /// Keeps the deeds that are not done, for [`Engine::take_withheld`].
    pub fn keep_withheld(&mut self) {
        self.withheld.get_or_insert_default();
    }

    /// The deeds that were not done since the last call.
    pub fn take_withheld(&mut self) -> impl Iterator<Item = Effect> + use<> {
        self.withheld.as_mut().map(std::mem::take).unwrap_or_default().into_iter()
    }

    /// When it was armed.
    pub fn operated(&self) -> &[Operated] {
        &self.operated
    }

    /// The binds that wait for a person, the oldest first.
    pub fn to_confirm(&self) -> impl ExactSizeIterator<Item = &ToConfirm> {
        self.to_confirm.iter()
    }

    /// The time of the last input.
    pub fn now(&self) -> Time {
        self.now
    }

    /// Starts or stops writing. Binds that were predicted are decided anew when writing starts, since the cluster may
    /// have another opinion about them by now.
    pub fn set_mode(&mut self, mode: Mode, now: Time) {
        if mode != self.mode {
            let n_cycles = self.scheduler.counts().cycles;
            match (mode, self.operated.last_mut()) {
                (Mode::Operate, _) => {
                    let first = n_cycles + u64::from(!self.scheduler.is_in_cycle());
                    self.operated.push(Operated { first, last: None, from: now, to: None });
                }
                (Mode::Observe, Some(time)) => {
                    time.last = Some(n_cycles);
                    time.to = Some(now);
                }
                (Mode::Observe, None) => {}
            }
        }
        if mode == Mode::Operate {
            // Still observing: that a prediction ends is nothing to tell the cluster.
            for (_, effect) in std::mem::take(&mut self.held) {
                let failure = failure(ApiFailureReason::Other, "it was a prediction; the pod is tried again");
                self.input(Input::EffectDone { id: effect.id, result: Err(failure) }, now);
            }
            self.mode = mode;
            return;
        }
        self.mode = mode;
        // What a person has not confirmed was not done.
        for bind in std::mem::take(&mut self.to_confirm) {
            let failure = failure(ApiFailureReason::Other, "nothing is written any more");
            self.input(Input::EffectDone { id: bind.id, result: Err(failure) }, now);
        }
    }

    /// Whether each bind waits for a person.
    pub fn is_confirming(&self) -> bool {
        self.is_confirming
    }

    /// Whether each bind waits for a person from now on. What waits already goes on waiting.
    pub fn set_confirming(&mut self, is_confirming: bool) {
        self.is_confirming = is_confirming;
    }

    /// A person has decided about a bind. False if it does not wait any more.
    pub fn confirm(&mut self, id: EffectId, is_wanted: bool, now: Time) -> bool {
        let Some(position) = self.to_confirm.iter().position(|bind| bind.id == id) else { return false };
        let Some(bind) = self.to_confirm.remove(position) else { return false };
        if is_wanted {
            let kind = EffectKind::Bind { pod: bind.pod, uid: bind.uid, node: bind.node };
            self.deeds.push_back(Effect { id, kind });
        } else {
            let text = format!("the binding to {} was turned down by the operator", bind.node);
            self.input(Input::EffectDone { id, result: Err(failure(ApiFailureReason::Other, &text)) }, now);
        }
        true
    }

    /// Takes what an informer reports.
    pub fn report(&mut self, kind: Kind, report: Report, now: Time) {
        for input in self.informers.take(kind, report, now) {
            if let (Some(events), Some(event)) = (&mut self.events, event_of(&input)) {
                events.push(event);
            }
            self.observe(&input, now);
            self.judge.handle(now, input.clone());
            self.input(input, now);
        }
        while self.judge.poll_effect().is_some() {}
        self.look_again(now);
    }

    /// Explains the decisions of the cluster that have waited long enough for what came after them.
    pub fn look_again(&mut self, now: Time) {
        while let Some(Explained { case, agreement, why }) = self.second_looks.next(now) {
            self.observer.record(case, agreement, why);
        }
    }

    /// When [`Engine::look_again`] has something to do.
    pub fn next_look(&self) -> Option<Time> {
        self.second_looks.due()
    }

    /// Takes the outcome of a deed, or a command.
    pub fn input(&mut self, input: Input, now: Time) {
        self.now = self.now.max(now);
        self.handle(input);
        self.take_effects();
    }

    /// The same with every input recorded from the first on.
    #[must_use]
    pub fn recorded(mut self, recording: Option<RecordingTap>) -> Self {
        self.recording = recording;
        self
    }

    /// What the recorder has done so far, and what went wrong, if a recording is written.
    pub fn recording_state(&self) -> Option<(RecorderStats, Option<String>)> {
        let tap = self.recording.as_ref().filter(|tap| tap.is_writing())?;
        Some((tap.stats(), tap.failure()))
    }

    /// The way to the recording, with the scheduler beside it.
    pub fn tap(&mut self) -> Option<(&mut RecordingTap, &Scheduler)> {
        Some((self.recording.as_mut()?, &self.scheduler))
    }

    /// Marks this moment in the recording and in what is kept of the past, or says something about it.
    pub fn mark(&mut self, text: &str, is_note: bool) {
        if let Some(keeper) = &mut self.keeper {
            keeper.mark(text, is_note, self.now, &self.scheduler);
        }
        let Some(tap) = &mut self.recording else { return };
        let behind = tap.inputs();
        if is_note {
            tap.note(behind, self.now, text);
        } else {
            tap.marker(behind, self.now, text, &self.scheduler);
        }
    }

    /// Ends the recording, if there is one.
    pub fn finish_recording(&mut self, reason: &str) {
        if let Some(mut tap) = self.recording.take() {
            tap.finish(tap.inputs(), &self.scheduler, reason);
        }
    }

    fn handle(&mut self, input: Input) {
        if let Some(keeper) = &mut self.keeper {
            keeper.begin(self.now, &input, &self.scheduler);
        }
        let recorded = self.recording.is_some().then(|| input.clone());
        let kept = self.keeper.is_some().then(|| input.clone());
        self.scheduler.handle(self.now, input);
        let n_before = self.effects.len();
        self.effects.extend(std::iter::from_fn(|| self.scheduler.poll_effect()));
        if let (Some(keeper), Some(input)) = (&mut self.keeper, kept) {
            keeper.took(self.now, input, self.effects.range(n_before..));
        }
        if let (Some(tap), Some(input)) = (&mut self.recording, recorded) {
            tap.took(tap.inputs(), self.now, input, self.effects.range(n_before..), &self.scheduler);
        }
    }

    /// The same with everything that the scheduler is told kept, so that its past can be looked at.
    #[must_use]
    pub fn kept(mut self, keeper: Option<Keeper>) -> Self {
        self.keeper = keeper;
        self
    }

    /// The same with what happened kept in memory, so that it can be recorded later.
    #[must_use]
    pub fn remembering(mut self) -> Self {
        let tap = self.recording.take();
        self.recording = Some(tap.map_or_else(RecordingTap::in_memory, RecordingTap::with_memory));
        self
    }

    /// Begins anew to collect what the watches report, or lets it be.
    pub fn collect_events(&mut self, is_wanted: bool) {
        self.events = is_wanted.then(Vec::new);
    }

    /// What the watches have reported since.
    pub fn events(&self) -> &[WatchEvent] {
        self.events.as_deref().unwrap_or_default()
    }

    /// What has happened up to now can be looked at.
    pub fn flush_past(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            keeper.flush(&self.scheduler);
        }
    }

    /// Whether a pod can be tried.
    pub fn can_schedule(&self) -> bool {
        self.informers.has_started() && self.scheduler.can_schedule()
    }

    /// Makes one attempt, or does one phase of it. False if there is nothing to do.
    pub fn step(&mut self, command: Command, now: Time) -> bool {
        if !self.can_schedule() && !self.scheduler.has_stepped_binding_cycle() {
            return false;
        }
        let n_before = self.scheduler.counts().failed;
        self.input(Input::Command(command), now);
        if self.mode == Mode::Observe && self.scheduler.counts().failed > n_before {
            self.predict_failure();
        }
        true
    }

    /// What is to be done in the cluster, in this order.
    pub fn take_deeds(&mut self) -> impl Iterator<Item = Effect> + use<> {
        std::mem::take(&mut self.deeds).into_iter()
    }

    fn predict_failure(&mut self) {
        let Some(trace) = self.scheduler.newest_trace() else { return };
        let (CycleOutcome::Unschedulable { message, .. } | CycleOutcome::Error { message }) = &trace.outcome
        else {
            return;
        };
        self.observer.predict(
            &trace.pod_info.pod,
            Decision::Unschedulable(message.as_str().into()),
            self.now,
        );
    }

    /// Compares what a watch reports with what was predicted. The judge does not know of the change yet.
    fn observe(&mut self, input: &Input, now: Time) {
        let (old, new) = match input {
            Input::Updated { old: Object::Pod(old), new: Object::Pod(new) } => (Some(old), new),
            Input::Added(Object::Pod(new)) => (None, new),
            Input::Deleted(Object::Pod(pod)) => {
                self.observer.forget(pod.uid());
                let gone = failure(ApiFailureReason::NotFound, "the pod is gone");
                if let Some(position) = self.to_confirm.iter().position(|bind| bind.uid == *pod.uid())
                    && let Some(bind) = self.to_confirm.remove(position)
                {
                    self.input(Input::EffectDone { id: bind.id, result: Err(gone.clone()) }, now);
                }
                self.settle_held(pod.uid(), Err(gone), now);
                return;
            }
            _ => return,
        };
        if self.mode != Mode::Observe {
            return;
        }
        let has_started = self.informers.has_started();
        let is_new_assignment = new.is_assigned() && old.is_none_or(|old| !old.is_assigned());
        if self.is_ours(new) {
            let theirs = if is_new_assignment && has_started {
                // A pod that was bound before this scheduler saw it is none that both have decided about.
                old.map(|_| Decision::Node(new.spec.node_name.clone()))
            } else {
                cannot_be_placed(new).map(Decision::Unschedulable)
            };
            if let (Some(theirs), Some(before)) = (theirs, old)
                && let Some(case) = self.observer.observe(new, theirs, now)
                && let Some(Explained { case, agreement, why }) =
                    self.second_looks.take(case, before, &self.judge)
            {
                self.observer.record(case, agreement, why);
            }
        }
        if let (true, true, Some(old)) = (is_new_assignment, has_started, old) {
            self.second_looks.bound(old, new);
        }
        if new.is_assigned() {
            self.settle_held(new.uid(), Ok(()), now);
        }
    }

    /// The cluster has decided about a pod whose bind was held.
    fn settle_held(&mut self, uid: &Uid, result: Result<(), ApiFailure>, now: Time) {
        if let Some(effect) = self.held.remove(uid) {
            self.input(Input::EffectDone { id: effect.id, result }, now);
        }
    }

    fn is_ours(&self, pod: &Pod) -> bool {
        self.scheduler.profiles().any(|profile| profile.profile_name == pod.spec.scheduler_name)
    }

    /// Sorts out what the core wants done.
    fn take_effects(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            match self.mode {
                Mode::Observe => self.withhold(effect),
                Mode::Operate => self.let_out(effect),
            }
        }
    }

    fn let_out(&mut self, effect: Effect) {
        match &effect.kind {
            EffectKind::Bind { pod, uid, node } if self.is_confirming => {
                let trace = self.scheduler.trace_of(pod).map(|trace| Arc::new(trace.clone()));
                let (pod, uid, node) = (pod.clone(), uid.clone(), node.clone());
                let since = self.now;
                self.to_confirm.push_back(ToConfirm { id: effect.id, pod, uid, node, since, trace });
            }
            _ => self.deeds.push_back(effect),
        }
    }

    fn withhold(&mut self, effect: Effect) {
        self.n_withheld += 1;
        if let Some(withheld) = &mut self.withheld
            && !matches!(&effect.kind, EffectKind::CallExtender(call) if call.verb != ExtenderVerb::Bind)
        {
            if withheld.len() == WITHHELD_KEPT {
                withheld.pop_front();
            }
            withheld.push_back(effect.clone());
        }
        let id = effect.id;
        let answer = match &effect.kind {
            EffectKind::Bind { pod, uid, node } => {
                if let Some(pod) = self.informers.objects().pods.get(pod) {
                    self.observer.predict(pod, Decision::Node(node.clone()), self.now);
                }
                self.held.insert(uid.clone(), effect);
                return;
            }
            EffectKind::Event(_) => return,
            EffectKind::CallExtender(call) if call.verb != ExtenderVerb::Bind => {
                // To ask what an extender thinks of nodes changes nothing.
                self.deeds.push_back(effect);
                return;
            }
            EffectKind::CallExtender(_) => Input::ExtenderAnswered {
                id,
                answer: ExtenderAnswer::Failed("nothing is bound while this only observes".to_owned()),
            },
            EffectKind::Write(write) => Input::Written { id, result: Ok(write.object.clone()) },
            EffectKind::PatchPodStatus { .. }
            | EffectKind::PatchPodGroupStatus { .. }
            | EffectKind::DeletePod { .. } => Input::EffectDone { id, result: Ok(()) },
        };
        self.handle(answer);
    }
}

/// What the watch has reported, if an input comes from one.
fn event_of(input: &Input) -> Option<WatchEvent> {
    match input {
        Input::Added(object) => Some(WatchEvent::Added(object.clone())),
        Input::Updated { old, new } => Some(WatchEvent::Modified { old: old.clone(), new: new.clone() }),
        Input::Deleted(object) => Some(WatchEvent::Deleted(object.clone())),
        _ => None,
    }
}

fn failure(reason: ApiFailureReason, message: &str) -> ApiFailure {
    ApiFailure { reason, message: message.to_owned() }
}

/// The words of the scheduler that could not place the pod, from its `PodScheduled` condition.
fn cannot_be_placed(pod: &Pod) -> Option<Str> {
    pod.status
        .conditions
        .iter()
        .find(|condition| condition.type_ == "PodScheduled")
        .filter(|condition| condition.status == "False" && condition.reason == "Unschedulable")
        .map(|condition| condition.message.as_str().into())
}
