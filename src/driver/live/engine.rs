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
use crate::framework::Framework;
use crate::framework::extender::{ExtenderAnswer, ExtenderVerb};
use crate::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectId, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::trace::{CycleOutcome, CycleTrace};
use crate::scheduler::{Scheduler, SchedulerError, SchedulerOptions};

use super::informers::{Informers, Report};
use super::observer::{Decision, Observer};

/// How many earlier states are kept to look at: bindings arrive in another order than they were decided in.
const STATES_KEPT: usize = 16;

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nothing is.
    Observe,
    /// It is the scheduler of its profiles.
    Operate,
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
    /// The attempt that chose the node, if its evidence is kept.
    pub trace: Option<Arc<CycleTrace>>,
}

/// A scheduler on a live cluster.
#[derive(Debug)]
pub struct Engine {
    scheduler: Scheduler,
    /// Knows what the watches report and never decides: what would be decided on the cluster as it is.
    judge: Scheduler,
    /// The judge as it was before the last bindings, the newest last.
    judge_before: VecDeque<Scheduler>,
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
    now: Time,
    /// How many deeds were not done since it only observes.
    n_withheld: u64,
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
            judge_before: VecDeque::new(),
            informers: Informers::new(kinds),
            mode,
            is_confirming: false,
            to_confirm: VecDeque::new(),
            held: BTreeMap::new(),
            observer: Observer::default(),
            effects: VecDeque::new(),
            deeds: VecDeque::new(),
            recording: None,
            now: Time::ZERO,
            n_withheld: 0,
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
        self.mode = mode;
        if mode == Mode::Operate {
            for (_, effect) in std::mem::take(&mut self.held) {
                let failure = failure(ApiFailureReason::Other, "it was a prediction; the pod is tried again");
                self.input(Input::EffectDone { id: effect.id, result: Err(failure) }, now);
            }
            return;
        }
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
            let failure = failure(ApiFailureReason::Other, "turned down by the operator");
            self.input(Input::EffectDone { id, result: Err(failure) }, now);
        }
        true
    }

    /// Takes what an informer reports.
    pub fn report(&mut self, kind: Kind, report: Report, now: Time) {
        for input in self.informers.take(kind, report, now) {
            self.observe(&input, now);
            self.judge.handle(now, input.clone());
            self.input(input, now);
        }
        while self.judge.poll_effect().is_some() {}
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

    /// What the recorder has done so far, and what went wrong, if there is a recording.
    pub fn recording_state(&self) -> Option<(RecorderStats, Option<String>)> {
        self.recording.as_ref().map(|tap| (tap.stats(), tap.failure()))
    }

    /// Marks this moment in the recording, or says something about it. False if there is no recording.
    pub fn mark(&mut self, text: &str, is_note: bool) -> bool {
        let Some(tap) = &mut self.recording else { return false };
        let behind = tap.inputs();
        if is_note {
            tap.note(behind, self.now, text);
        } else {
            tap.marker(behind, self.now, text, &self.scheduler);
        }
        true
    }

    /// Ends the recording, if there is one.
    pub fn finish_recording(&mut self, reason: &str) {
        if let Some(mut tap) = self.recording.take() {
            tap.finish(tap.inputs(), &self.scheduler, reason);
        }
    }

    fn handle(&mut self, input: Input) {
        let recorded = self.recording.is_some().then(|| input.clone());
        self.scheduler.handle(self.now, input);
        let n_before = self.effects.len();
        self.effects.extend(std::iter::from_fn(|| self.scheduler.poll_effect()));
        if let (Some(tap), Some(input)) = (&mut self.recording, recorded) {
            tap.took(tap.inputs(), self.now, input, self.effects.range(n_before..), &self.scheduler);
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
                self.settle_held(pod.uid(), Err(failure(ApiFailureReason::NotFound, "the pod is gone")), now);
                return;
            }
            _ => return,
        };
        if self.mode != Mode::Observe || !self.is_ours(new) {
            return;
        }
        let is_new_assignment = new.is_assigned() && old.is_none_or(|old| !old.is_assigned());
        let theirs = if is_new_assignment && self.informers.has_started() {
            // A pod that was bound before this scheduler saw it is none that both have decided about.
            old.map(|_| Decision::Node(new.spec.node_name.clone()))
        } else {
            cannot_be_placed(new).map(Decision::Unschedulable)
        };
        if let (Some(theirs), Some(before)) = (theirs, old.cloned()) {
            let (judge, earlier) = (&self.judge, &self.judge_before);
            self.observer.observe(new, theirs, now, |n_back| match n_back {
                0 => judge.evaluate(&before),
                _ => earlier.get(earlier.len().checked_sub(n_back)?)?.evaluate(&before),
            });
        }
        // A pod that comes with its node was not decided about here, and the first list may have a hundred thousand.
        if is_new_assignment && old.is_some() && self.informers.has_started() {
            if self.judge_before.len() == STATES_KEPT {
                self.judge_before.pop_front();
            }
            self.judge_before.push_back(self.judge.clone());
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
                self.to_confirm.push_back(ToConfirm { id: effect.id, pod, uid, node, trace });
            }
            _ => self.deeds.push_back(effect),
        }
    }

    fn withhold(&mut self, effect: Effect) {
        self.n_withheld += 1;
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
