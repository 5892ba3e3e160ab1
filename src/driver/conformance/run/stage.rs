//! The scheduler, the API and the clock of a run: what happens when, and in which order.
//!
//! Whatever upstream runs in goroutines goes on here by turns: nothing during an attempt; preemptions before binding
//! cycles; one at a time, until it ends or has to wait. Every write reaches the scheduler before the next one is made.

use std::collections::{BTreeMap, VecDeque};

use crate::api::{Duration, Kind, NamespacedName, Object, Str, Time};
use crate::driver::extender::{PlayedAnswer, Player, PlayerError};
use crate::driver::recorder::RecordingTap;
use crate::driver::sandbox::admission::PriorityClasses;
use crate::driver::sandbox::api::{ApiError, WatchEvent};
use crate::framework::extender::{Extender, ExtenderCall, ExtenderVerb};
use crate::plugins::names;
use crate::scheduler::Scheduler;
use crate::scheduler::effect::{ApiFailure, ApiFailureReason, Effect, EffectId, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::turns::{Strand, Turn};

use super::api::{ConditionPatch, RunApi, cut_to_millis};
use super::groups;
use super::lines::{self, Lines};
use super::script::{Fault, Graceful, Why};
use super::test_plugins::Calls;

/// The clock moves by this before whatever happens.
const TICK: Duration = Duration::from_micros(1);
/// How long a write to a pod takes by the clock that waits are counted by, unless the attempt under way makes it; and how
/// far that clock goes beyond the other one whenever that moves.
const CALL: Duration = Duration::from_nanos(1);
/// How often a status patch is tried while the server has trouble (`retry.DefaultBackoff`).
const PATCH_TRIES: usize = 4;
/// How long it is waited between the tries.
const PATCH_WAITS: [Duration; 3] =
    [Duration::from_millis(10), Duration::from_millis(50), Duration::from_millis(250)];

/// A call under way.
#[derive(Clone, Debug)]
struct Slow {
    due: Time,
    id: EffectId,
    call: SlowCall,
}

#[derive(Clone, Debug)]
enum SlowCall {
    Bind { pod: NamespacedName, node: Str },
    Delete { pod: NamespacedName },
    Extender(Box<PlayedAnswer>),
    Patch(Box<Patch>),
}

/// A status patch that is to be made.
#[derive(Clone, Debug)]
struct Patch {
    pod: NamespacedName,
    condition: Option<ConditionPatch>,
    nominated_node_name: Option<Str>,
    /// How often it may be tried.
    tries: usize,
}

/// The extenders and those who play them.
#[derive(Debug)]
pub(super) struct Extenders {
    pub list: Vec<Extender>,
    pub player: Player,
}

/// The scene.
#[derive(Debug)]
pub(super) struct Stage {
    pub scheduler: Scheduler,
    pub api: RunApi,
    pub now: Time,
    pub lines: Lines,
    pub graceful: Graceful,
    /// How calls fail, by verb and pod.
    pub faults: BTreeMap<(String, NamespacedName), Fault>,
    /// Which calls take how long, by verb and pod.
    pub slow: BTreeMap<(String, NamespacedName), Duration>,
    pub extenders: Option<Extenders>,
    calls: Calls,
    effects: VecDeque<Effect>,
    /// Changes of volumes by the writes of one PreBind, which the reference delivers after those of claims.
    held_back: Vec<WatchEvent>,
    under_way: Vec<Slow>,
    /// The time by which calls and waits are counted: between two stops it is behind the clock.
    moment: Time,
    /// That time as the scheduler has been told it last.
    told: Time,
    /// Whether what is being done is what the attempt that has just ended has asked for.
    is_after_attempt: bool,
    n_moves: u64,
    /// What went wrong that no command can be blamed for.
    error: Option<PlayerError>,
    /// The recording, if there is one, and behind which of its inputs the scheduler is.
    recording: Option<(RecordingTap, u64)>,
}

impl Stage {
    pub fn new(scheduler: Scheduler, calls: Calls, extenders: Option<Extenders>, now: Time) -> Self {
        Self {
            scheduler,
            api: RunApi::default(),
            now,
            lines: Lines::default(),
            graceful: Graceful::Off,
            faults: BTreeMap::new(),
            slow: BTreeMap::new(),
            extenders,
            calls,
            effects: VecDeque::new(),
            held_back: Vec::new(),
            under_way: Vec::new(),
            moment: now,
            told: now,
            is_after_attempt: false,
            n_moves: 0,
            error: None,
            recording: None,
        }
    }

    /// Records every input from now on.
    pub fn record(&mut self, tap: Option<RecordingTap>) {
        self.recording = tap.map(|tap| (tap, 0));
    }

    /// Ends the recording.
    pub fn finish_recording(&mut self) {
        if let Some((mut tap, behind)) = self.recording.take() {
            tap.finish(behind, &self.scheduler, "the script is over");
        }
    }

    /// What went wrong that no command can be blamed for, if anything did.
    pub fn take_error(&mut self) -> Option<PlayerError> {
        self.error.take()
    }

    /// Lets the clock move a little.
    pub fn tick(&mut self) {
        self.now += TICK;
        self.pass_time();
        self.settle();
    }

    /// Lets the clock move a little, without a look at what has its time.
    pub fn nudge(&mut self) {
        self.now += TICK;
    }

    /// Creates or replaces an object, and lets everything follow.
    pub fn apply(
        &mut self,
        object: Object,
        has_status: bool,
        classes: &PriorityClasses<'_>,
    ) -> Result<(), ApiError> {
        self.tick();
        self.api.apply(object, has_status, classes, self.now)?;
        self.settle();
        Ok(())
    }

    /// Gives the scheduler an input at the present time.
    pub fn handle(&mut self, input: Input) {
        if self.ends_binding_of_member(&input) {
            self.nudge();
        }
        self.handle_at(self.now, input);
    }

    fn handle_at(&mut self, now: Time, input: Input) {
        let recorded = self.recording.is_some().then(|| input.clone());
        self.scheduler.handle(now, input);
        let n_before = self.effects.len();
        self.effects.extend(std::iter::from_fn(|| self.scheduler.poll_effect()));
        if let (Some((tap, behind)), Some(input)) = (&mut self.recording, recorded) {
            *behind = tap.took(*behind, now, input, self.effects.range(n_before..), &self.scheduler);
        }
        for line in self.scheduler.moves_after(self.n_moves) {
            self.lines.add(lines::queue_move(&line.entry));
        }
        self.n_moves = self.scheduler.n_moves();
        for line in self.calls.take() {
            self.lines.add(line);
        }
    }

    /// Whether a member of a pod group comes back to the queue by that input because its binding cycle fails: the clock
    /// moves before that.
    fn ends_binding_of_member(&self, input: &Input) -> bool {
        if self.scheduler.is_in_cycle() || !self.scheduler.has_binding_of_member() {
            return false;
        }
        self.returns_member(input)
    }

    /// Whether a member of a pod group comes back to the queue by that input.
    pub fn returns_member(&self, input: &Input) -> bool {
        let before = self.calls.copy();
        let mut trial = self.scheduler.clone();
        trial.handle(self.now, input.clone());
        self.calls.restore(&before);
        let mut moves = trial.moves_after(self.n_moves);
        moves.any(|line| groups::is_return_of_member(&line.entry, self.api.objects()))
    }

    /// Lets everything happen that can happen now.
    pub fn settle(&mut self) {
        loop {
            self.go_on_without_turn();
            let Some(turn) = self.scheduler.turns().into_iter().next() else { return };
            if turn.has_waited || groups::is_of_member(&self.scheduler, &turn.strand) {
                self.now += TICK;
            }
            self.handle(Input::Command(Command::GoOn(turn.strand)));
        }
    }

    /// Lets everything happen that needs no turn: calls, and what has waited in a plugin of kube-scheduler's own.
    fn go_on_without_turn(&mut self) {
        loop {
            self.do_deeds();
            if self.told < self.moment {
                self.tell_time();
                continue;
            }
            let is_own = |turn: &Turn| {
                turn.has_waited && turn.waited_in.is_some_and(|plugin| names::ALL.contains(&plugin))
            };
            let Some(turn) = self.scheduler.turns().into_iter().find(is_own) else { return };
            self.handle(Input::Command(Command::GoOn(turn.strand)));
        }
    }

    fn tell_time(&mut self) {
        self.told = self.moment;
        self.handle_at(self.moment, Input::Timeout);
    }

    /// The time by which calls and waits are counted follows the clock; what ends on the way does it in its own moment.
    fn pass_time(&mut self) {
        loop {
            let call = self.under_way.iter().map(|slow| slow.due).min();
            let wait = self.scheduler.next_end_of_wait().filter(|at| *at > self.told);
            let next = call.into_iter().chain(wait).min().filter(|at| *at <= self.now);
            let Some(next) = next else { break };
            self.moment = self.moment.max(next);
            match self.next_due() {
                Some(index) => {
                    let slow = self.under_way.remove(index);
                    self.end_slow_call(slow);
                }
                None => self.tell_time(),
            }
            self.go_on_without_turn();
        }
        self.moment = self.moment.max(self.now) + CALL;
        self.tell_time();
    }

    /// Whether the scheduler has asked for something that is not done.
    pub fn has_deeds(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Does the next thing that the scheduler has asked for.
    pub fn do_deed(&mut self) {
        if let Some(effect) = self.effects.pop_front() {
            self.carry_out(effect);
        }
    }

    /// Does what the scheduler has asked for, and tells it of every change.
    pub fn do_deeds(&mut self) {
        let is_of_claim = |effect: &Effect| matches!(&effect.kind, EffectKind::Write(write) if write.object.kind() == Kind::ResourceClaim);
        loop {
            // A claim is written in one go, before the watch tells of it.
            if !self.effects.front().is_some_and(is_of_claim) {
                self.deliver();
            }
            if let Some(effect) = self.effects.pop_front() {
                self.carry_out(effect);
            } else if self.held_back.is_empty() {
                return;
            } else {
                let events = std::mem::take(&mut self.held_back);
                self.deliver_all(events);
            }
        }
    }

    fn deliver(&mut self) {
        let events = self.api.take_events();
        self.deliver_all(events);
    }

    fn deliver_all(&mut self, events: Vec<WatchEvent>) {
        for event in events {
            self.handle(match event {
                WatchEvent::Added(object) => Input::Added(object),
                WatchEvent::Modified { old, new } => Input::Updated { old, new },
                WatchEvent::Deleted(object) => Input::Deleted(object),
            });
        }
    }

    /// Goes to a time at which something may happen by itself.
    pub fn go_to(&mut self, time: Time) {
        self.now = time;
        self.pass_time();
        self.settle();
        for pod in self.api.ended(self.graceful, self.now) {
            if self.api.delete(Kind::Pod, &pod).is_ok() {
                self.settle();
            }
        }
        if time == time.truncate_to_second() {
            self.handle(Input::Command(Command::GoOn(Strand::BackoffFlush)));
        }
        if (time - super::super::EPOCH).as_nanos().is_multiple_of(30_000_000_000) {
            self.handle(Input::Command(Command::GoOn(Strand::LeftoverFlush)));
        }
        self.settle();
    }

    /// The call that ends first, if its time has come.
    fn next_due(&self) -> Option<usize> {
        let due = self.under_way.iter().enumerate().filter(|(_, slow)| slow.due <= self.moment);
        due.min_by_key(|(_, slow)| slow.due).map(|(index, _)| index)
    }

    fn carry_out(&mut self, Effect { id, kind }: Effect) {
        match kind {
            EffectKind::Event(event) => self.lines.add(lines::event(&event)),
            EffectKind::CallExtender(call) => self.call_extender(id, &call),
            EffectKind::Write(write) => {
                let old = self.api.objects().get(write.object.kind(), &write.object.key());
                if let Some(line) = lines::write(&write, old.as_ref()) {
                    self.lines.add(line);
                }
                let result = self.api.carry_out_write(&write, self.now);
                if write.object.kind() == Kind::PersistentVolume {
                    self.held_back.extend(self.api.take_events());
                }
                self.handle(Input::Written { id, result: result.map_err(|error| api_failure(&error)) });
            }
            EffectKind::Bind { pod, node, .. } => {
                self.take_time();
                let what = format!("bind {pod} -> {node}");
                if !self.is_slow("bind", &pod, &what, id, || SlowCall::Bind {
                    pod: pod.clone(),
                    node: node.clone(),
                }) {
                    self.bind(id, &pod, &node);
                }
            }
            EffectKind::DeletePod { pod, .. } => {
                self.take_time();
                let what = format!("delete {pod}");
                if !self.is_slow("delete", &pod, &what, id, || SlowCall::Delete { pod: pod.clone() }) {
                    self.evict(id, &pod);
                }
            }
            EffectKind::PatchPodGroupStatus { pod_group, condition, base } => {
                self.lines.add(groups::patch(&pod_group, base.condition(&condition.type_), &condition));
                let result = self.api.patch_group_status(&pod_group, condition, self.now);
                self.deliver();
                let result = result.map_err(|error| api_failure(&error));
                self.handle(Input::EffectDone { id, result });
            }
            EffectKind::PatchPodStatus { pod, condition, nominated_node_name, base, .. } => {
                let condition = condition.map(|condition| ConditionPatch::between(&base, &condition));
                self.patch(id, Patch { pod, condition, nominated_node_name, tries: PATCH_TRIES });
            }
        }
    }

    /// A write to a pod takes a little, unless the attempt makes it.
    fn take_time(&mut self) {
        if !self.is_within_attempt() {
            self.moment += CALL;
        }
    }

    fn is_within_attempt(&self) -> bool {
        self.is_after_attempt || self.scheduler.is_in_cycle()
    }

    /// Does what the attempt that has just ended has asked for.
    pub fn end_attempt(&mut self) {
        self.is_after_attempt = true;
        self.do_deeds();
        self.is_after_attempt = false;
    }

    /// Whether the call takes time; then it is under way.
    fn is_slow(
        &mut self,
        verb: &str,
        pod: &NamespacedName,
        what: &str,
        id: EffectId,
        call: impl FnOnce() -> SlowCall,
    ) -> bool {
        let takes = self.slow.remove(&(verb.to_owned(), pod.clone())).filter(|takes| !takes.is_zero());
        let Some(takes) = takes else { return false };
        self.lines.add(format!("{what} begins"));
        if self.scheduler.is_in_cycle() {
            // The attempt waits for it, and the clock with it.
            self.moment = cut_to_millis(self.moment) + takes;
            return false;
        }
        self.under_way.push(Slow { due: cut_to_millis(self.moment) + takes, id, call: call() });
        true
    }

    fn end_slow_call(&mut self, Slow { id, call, .. }: Slow) {
        match call {
            SlowCall::Bind { pod, node } => self.bind(id, &pod, &node),
            SlowCall::Delete { pod } => self.evict(id, &pod),
            SlowCall::Patch(patch) => self.patch(id, *patch),
            SlowCall::Extender(played) => self.end_extender_bind(id, *played),
        }
    }

    /// Why the next such call is to fail, if it is.
    fn fault(&mut self, verb: &str, pod: &NamespacedName) -> Option<(ApiFailure, bool)> {
        let fault = self.faults.get_mut(&(verb.to_owned(), pod.clone())).filter(|fault| fault.times > 0)?;
        fault.times -= 1;
        let name = &fault.name;
        let (reason, message, is_retried) = match fault.why {
            Why::Error => (ApiFailureReason::Other, "Internal error occurred: injected".to_owned(), true),
            Why::Conflict => (
                ApiFailureReason::Conflict,
                format!("Operation cannot be fulfilled on pods \"{name}\": injected"),
                true,
            ),
            Why::NotFound => (ApiFailureReason::NotFound, format!("pods \"{name}\" not found"), false),
            Why::Forbidden => {
                (ApiFailureReason::Other, format!("pods \"{name}\" is forbidden: injected"), false)
            }
        };
        Some((ApiFailure { reason, message }, is_retried))
    }

    fn bind(&mut self, id: EffectId, pod: &NamespacedName, node: &Str) {
        let result = match self.api.pod(pod) {
            Err(error) => Err(api_failure(&error)),
            Ok(_) => match self.fault("bind", pod) {
                Some((failure, _)) => {
                    self.lines.add(format!("bind {pod} -> {node} fails: {failure}"));
                    Err(failure)
                }
                None => {
                    self.lines.add(format!("bind {pod} -> {node}"));
                    self.api.bind(pod, node, self.now).map_err(|error| api_failure(&error))
                }
            },
        };
        self.end_call(Input::EffectDone { id, result });
    }

    fn evict(&mut self, id: EffectId, pod: &NamespacedName) {
        let result = match self.fault("delete", pod) {
            Some((failure, _)) => {
                self.lines.add(format!("delete {pod} fails: {failure}"));
                Err(failure)
            }
            None => {
                self.lines.add(format!("delete {pod}"));
                self.api.evict(pod, self.graceful, self.now).map_err(|error| api_failure(&error))
            }
        };
        self.end_call(Input::EffectDone { id, result });
    }

    /// A status patch. While the server has trouble it is tried again: at once within an attempt, which waits for it,
    /// else a little later.
    fn patch(&mut self, id: EffectId, mut patch: Patch) {
        self.take_time();
        let Patch { pod, condition, nominated_node_name, .. } = &patch;
        let (pod, condition) = (pod.clone(), condition.clone());
        let result = match self.fault("patch", &pod) {
            None => {
                self.lines.add(lines::patch(&pod, condition.as_ref(), nominated_node_name.as_ref()));
                let patched = self.api.patch_status(&pod, condition.as_ref(), nominated_node_name.as_ref());
                patched.map_err(|error| api_failure(&error))
            }
            Some((failure, is_retried)) => {
                self.lines.add(format!("patch {pod} fails: {failure}"));
                patch.tries -= 1;
                if is_retried && patch.tries > 0 {
                    if self.is_within_attempt() {
                        return self.patch(id, patch);
                    }
                    let waits = PATCH_WAITS.get(PATCH_TRIES - 1 - patch.tries).copied().unwrap_or_default();
                    let call = SlowCall::Patch(Box::new(patch));
                    self.under_way.push(Slow { due: self.moment + waits, id, call });
                    return;
                }
                Err(failure)
            }
        };
        self.end_call(Input::EffectDone { id, result });
    }

    /// The scheduler goes on with the answer to its call before the watch tells it of the change; but the calls that
    /// an attempt waits for have been seen by the handlers before it goes on.
    fn end_call(&mut self, answer: Input) {
        if self.scheduler.is_in_cycle() {
            self.deliver();
        }
        self.handle(answer);
    }

    fn call_extender(&mut self, id: EffectId, call: &ExtenderCall) {
        match self.play(call) {
            Ok(played) if call.verb == ExtenderVerb::Bind => self.begin_extender_bind(id, played),
            Ok(played) => {
                self.lines.add(played.line());
                self.handle(Input::ExtenderAnswered { id, answer: played.answer });
            }
            Err(error) => self.error = Some(error),
        }
    }

    fn play(&mut self, call: &ExtenderCall) -> Result<PlayedAnswer, PlayerError> {
        let missing = || PlayerError::Missing(call.url.clone());
        let Extenders { list, player } = self.extenders.as_mut().ok_or_else(missing)?;
        let extender = list.get(call.extender).ok_or_else(missing)?;
        player.answer(extender, call, self.api.objects())
    }

    fn begin_extender_bind(&mut self, id: EffectId, mut played: PlayedAnswer) {
        let Some(bind) = played.bind.clone() else { return };
        if bind.is_timeout {
            self.bind_as_played(&mut played);
        }
        for line in played.first_lines() {
            self.lines.add(line);
        }
        self.deliver();
        if bind.takes.is_zero() {
            return self.end_extender_bind(id, played);
        }
        let due = cut_to_millis(self.moment) + bind.takes;
        self.under_way.push(Slow { due, id, call: SlowCall::Extender(Box::new(played)) });
    }

    fn end_extender_bind(&mut self, id: EffectId, mut played: PlayedAnswer) {
        if played.bind.as_ref().is_some_and(|bind| !bind.is_timeout) {
            self.bind_as_played(&mut played);
        }
        self.lines.add(played.line());
        self.handle(Input::ExtenderAnswered { id, answer: played.answer });
    }

    /// The extender binds the pod in the API, if it does.
    fn bind_as_played(&mut self, played: &mut PlayedAnswer) {
        let Some(node) = played.bind.as_ref().and_then(|bind| bind.binds_to.clone()) else { return };
        match self.api.pod(&played.pod) {
            Err(_) => played.could_not_bind(true),
            Ok(pod) if pod.is_assigned() => played.could_not_bind(false),
            Ok(_) => {
                // It is there and has no node.
                let _ = self.api.bind(&played.pod, &node, self.now);
            }
        }
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
