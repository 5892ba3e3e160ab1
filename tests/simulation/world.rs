//! A cluster in time: the API, its controllers, the watches, the calls under way and the scheduler.
//!
//! Time goes from one thing that happens to the next; nothing happens by chance that is not in the plan.

use std::collections::BTreeSet;

use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::Pod;
use schedscope::api::{Duration, Kind, NamespacedName, Object, Str, Time};
use schedscope::config::{FeatureGates, Gate};
use schedscope::driver::sandbox::api::{ApiError, SandboxApi};
use schedscope::driver::sandbox::controllers::Controllers;
use schedscope::framework::extender::{Extender, ExtenderAnswer};
use schedscope::scheduler::effect::{ApiFailure, ApiFailureReason, EffectKind};
use schedscope::scheduler::input::{Command, Input};
use schedscope::scheduler::{QueueOptions, Scheduler, SchedulerOptions};

use crate::support::test_plugins::Calls as PluginCalls;
use crate::support::world::{START, frameworks_with_test_plugins};

use super::calls::{Call, Calls, failure, verb_of};
use super::checks::{Checks, Violation};
use super::plan::{Deed, Plan, Why};
use super::watch::Watches;

/// So long after a node has gone, pods that are bound to it go too.
const ORPHANS_STAY: Duration = Duration::from_secs(40);
/// After so many attempts between two deeds the scheduler is given a rest: some pods are tried for ever.
const ATTEMPTS_AT_ONCE: usize = 150;
/// More than the flush of what has waited too long takes, more than claims are waited for.
const QUIET: Duration = Duration::from_secs(12 * 60);
/// More steps than this between two deeds, and something turns in a circle.
const STEPS_MAX: usize = 60_000;

/// What there was of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Figures {
    pub simulated: Duration,
    pub steps: u64,
    pub attempts: u64,
    pub binds: u64,
    pub evictions: u64,
    pub calls: u64,
    pub failed_calls: u64,
    pub faults: u64,
    pub pods: u64,
}

impl Figures {
    pub fn add(&mut self, other: &Self) {
        self.simulated += other.simulated;
        self.steps += other.steps;
        self.attempts += other.attempts;
        self.binds += other.binds;
        self.evictions += other.evictions;
        self.calls += other.calls;
        self.failed_calls += other.failed_calls;
        self.faults += other.faults;
        self.pods += other.pods;
    }
}

/// A scheduler as a plan has it.
pub fn scheduler(plan: &Plan, plugin_calls: &PluginCalls) -> Scheduler {
    let gates = FeatureGates::parse(plan.gates).expect("gates");
    let extender = Extender {
        url_prefix: "http://absent.example.com".to_owned(),
        filter_verb: "filter".to_owned(),
        prioritize_verb: "prioritize".to_owned(),
        preempt_verb: "preempt".to_owned(),
        weight: 1,
        node_cache_capable: true,
        ignorable: true,
        ..Extender::default()
    };
    let options = SchedulerOptions {
        seed: plan.seed,
        queue: QueueOptions {
            pop_from_backoff_q: gates.is_enabled(Gate::SchedulerPopFromBackoffQ),
            ..QueueOptions::default()
        },
        extenders: if plan.has_extender { vec![extender] } else { Vec::new() },
        gates,
        is_tracing: false,
        ..SchedulerOptions::default()
    };
    Scheduler::new(frameworks_with_test_plugins(plugin_calls, &options.gates), options).expect("a scheduler")
}

/// The cluster.
pub struct World<'a> {
    plan: &'a Plan,
    pub core: Scheduler,
    pub api: SandboxApi,
    controllers: Controllers,
    plugin_calls: PluginCalls,
    watches: Watches,
    calls: Calls,
    checks: Checks,
    pub now: Time,
    /// When the scheduler makes its next attempt, if it can.
    next_attempt: Time,
    n_attempts: usize,
    n_steps: usize,
    orphans_go: Option<Time>,
    is_healed: bool,
    pub figures: Figures,
    /// The inputs so far with the digests after them, if somebody wants them.
    pub recorded: Option<Vec<(Time, Input, u64)>>,
}

impl<'a> World<'a> {
    pub fn new(plan: &'a Plan) -> Self {
        let plugin_calls = PluginCalls::default();
        let mut api = SandboxApi::default();
        let mut controllers = Controllers::new(plan.seed);
        controllers.start(&mut api, START);
        Self::with(plan, api, controllers, plugin_calls, START)
    }

    fn with(
        plan: &'a Plan,
        api: SandboxApi,
        controllers: Controllers,
        plugin_calls: PluginCalls,
        now: Time,
    ) -> Self {
        Self {
            core: scheduler(plan, &plugin_calls),
            plan,
            api,
            controllers,
            plugin_calls,
            watches: Watches::default(),
            calls: Calls::default(),
            checks: Checks::default(),
            now,
            next_attempt: now,
            n_attempts: 0,
            n_steps: 0,
            orphans_go: None,
            is_healed: false,
            figures: Figures::default(),
            recorded: None,
        }
    }

    /// Plays the whole plan.
    pub fn play(&mut self) -> Result<(), Violation> {
        self.play_deeds()?;
        self.end()
    }

    /// Plays the plan up to where the trouble ends.
    pub fn play_deeds(&mut self) -> Result<(), Violation> {
        let plan = self.plan;
        for op in &plan.ops {
            self.go_to(self.now + op.after)?;
            self.do_deed(&op.deed)?;
        }
        Ok(())
    }

    /// The trouble ends, and what can be bound is.
    pub fn end(&mut self) -> Result<(), Violation> {
        self.is_healed = true;
        self.calls.heal();
        self.watches.heal(self.now);
        for pod in self.api.objects().pods.clone().into_values() {
            if is_held_for_ever(&pod) {
                self.end_pod(&pod.metadata.name);
            }
        }
        for _ in 0..20 {
            let before = self.outcome();
            self.n_attempts = 0;
            self.go_to(self.now + QUIET)?;
            if !self.wake_left_behind()? && self.outcome() == before {
                break;
            }
        }
        self.figures.simulated = self.now - START;
        let counts = self.core.counts();
        self.figures.attempts = counts.cycles;
        self.figures.evictions = counts.preempted;
        self.compare_with_a_fresh_scheduler()
    }

    /// Does to preemptors that kube-scheduler leaves behind their gate what the next deletion of a pod does. Whether there
    /// are any.
    fn wake_left_behind(&mut self) -> Result<bool, Violation> {
        let uids = self.checks.left_behind().clone();
        let pods = self.api.objects().pods.values().filter(|pod| uids.contains(pod.uid()));
        let pods: Vec<_> = pods.cloned().collect();
        let is_any = !pods.is_empty();
        if is_any {
            self.handle(Input::Command(Command::Activate(pods)))?;
        }
        Ok(is_any)
    }

    fn outcome(&self) -> Vec<(Str, Str)> {
        let pods = self.api.objects().pods.values();
        pods.map(|pod| (pod.uid().clone(), pod.spec.node_name.clone())).collect()
    }

    /// A scheduler that knows nothing but the cluster as it is now finds nothing to do.
    fn compare_with_a_fresh_scheduler(&self) -> Result<(), Violation> {
        let plugin_calls = self.plugin_calls.copy();
        let mut other =
            World::with(self.plan, self.api.clone(), self.controllers.clone(), plugin_calls, self.now);
        other.is_healed = true;
        for object in self.api.objects().iter() {
            other.watches.tell(schedscope::driver::sandbox::api::WatchEvent::Added(object), self.now);
        }
        other.go_to(self.now + QUIET)?;
        let (mine, others) = (self.outcome(), other.outcome());
        if mine == others {
            return Ok(());
        }
        let changed: Vec<String> = others
            .iter()
            .filter(|pod| !mine.contains(pod))
            .map(|(uid, node)| format!("{uid} on {node:?}"))
            .chain(mine.iter().filter(|pod| !others.contains(pod)).map(|(uid, _)| format!("without {uid}")))
            .collect();
        let text = format!(
            "a scheduler that is started anew gets: {}; here {}",
            changed.join(", "),
            self.whereabouts()
        );
        Err(Violation { check: "stuck", text, at: self.now })
    }

    /// Where the pods are that have no node, and what they wait for.
    fn whereabouts(&self) -> String {
        let view = self.core.view();
        let row = |queue: &str, row: &schedscope::scheduler::view::QueueRow| {
            format!(
                "{} in {queue}: gated by {:?}, turned down by {:?}, flush at {:?}, {:?}",
                row.pod.key(),
                row.gated_by,
                row.unschedulable_plugins,
                row.flush_at,
                row.message
            )
        };
        let active = view.active_q.iter().map(|pod| row("activeQ", pod));
        let backoff = view.backoff_q.iter().map(|pod| row("backoffQ", pod));
        let unschedulable = view.unschedulable_pods.iter().map(|pod| row("unschedulablePods", pod));
        let waiting = view.waiting.iter().map(|pod| format!("{} waits", pod.pod.key()));
        let binding = view.binding.iter().map(|pod| format!("{} in {}", pod.pod.key(), pod.phase));
        let all: Vec<String> =
            active.chain(backoff).chain(unschedulable).chain(waiting).chain(binding).collect();
        all.join("; ")
    }

    fn do_deed(&mut self, deed: &Deed) -> Result<(), Violation> {
        self.now += Duration::from_micros(1);
        self.n_attempts = 0;
        self.n_steps = 0;
        self.figures.faults += u64::from(deed.is_fault());
        match deed {
            Deed::Node(plan) => {
                self.checks.excuse(&Str::from(plan.name.as_str()));
                self.apply(&plan.yaml());
            }
            Deed::Pod(plan) => self.apply_pod(&plan.name, &plan.yaml()),
            Deed::Object { yaml, .. } => self.apply(yaml),
            Deed::Delete { kind, name } => {
                // What is not there need not be deleted.
                let _ = self.api.delete(*kind, &key(*kind, name), self.now);
            }
            Deed::End { pod } => self.end_pod(pod),
            Deed::BindElsewhere { pod, node } => {
                let key = key(Kind::Pod, pod);
                if let Some(uid) = self.api.objects().pods.get(&key).map(|pod| pod.uid().clone()) {
                    let node = Str::from(node.as_str());
                    if self.api.bind(&key, &uid, &node, self.now).is_ok() {
                        self.checks.excuse(&node);
                    }
                }
            }
            Deed::Fail { verb, name, times, why } => self.calls.fail(*verb, name, *times, *why),
            Deed::Slow { verb, name, takes } => self.calls.slow(*verb, name, *takes),
            Deed::Lag { kind, by } => self.watches.set_lag(*kind, *by),
            Deed::Lose { kind, time } => self.watches.lose(*kind, self.now + *time),
            Deed::Repeat { kind } => self.watches.repeat(*kind, self.now),
            Deed::Allow { pod, plugin } => {
                if let Some(uid) = self.uid(pod) {
                    let plugin = (*plugin).to_owned();
                    self.handle(Input::Command(Command::AllowWaitingPod { uid, plugin }))?;
                }
            }
            Deed::Reject { pod, plugin } => {
                if let Some(uid) = self.uid(pod) {
                    let message = if plugin.is_some() { "the script rejects it" } else { "removed" };
                    let (plugin, message) = (plugin.unwrap_or_default().to_owned(), message.to_owned());
                    self.handle(Input::Command(Command::RejectWaitingPod { uid, plugin, message }))?;
                }
            }
            Deed::Activate { pod } => {
                let pod = self.core.objects().pods.get(&key(Kind::Pod, pod)).cloned();
                if let Some(pod) = pod.filter(|pod| !pod.is_assigned()) {
                    self.handle(Input::Command(Command::Activate(vec![pod])))?;
                }
            }
        }
        self.pump();
        Ok(())
    }

    fn uid(&self, pod: &str) -> Option<Str> {
        self.api.objects().pods.get(&key(Kind::Pod, pod)).map(|pod| pod.uid().clone())
    }

    fn apply(&mut self, yaml: &str) {
        for object in objects_of(yaml) {
            self.api.apply(object, self.now).expect("an object that the API takes");
        }
    }

    /// Creates a pod, or changes of it what can be changed.
    fn apply_pod(&mut self, name: &str, yaml: &str) {
        let known = self.api.objects().pods.get(&key(Kind::Pod, name)).cloned();
        let Some(known) = known else {
            self.figures.pods += 1;
            return self.apply(yaml);
        };
        for object in objects_of(yaml) {
            let Object::Pod(new) = object else { continue };
            let mut pod = Pod::clone(&known);
            pod.metadata.labels.clone_from(&new.metadata.labels);
            pod.spec.tolerations.clone_from(&new.spec.tolerations);
            if new.spec.scheduling_gates.is_empty() {
                pod.spec.scheduling_gates.clear();
            }
            self.api.apply(pod.into(), self.now).expect("a pod that the API takes");
        }
    }

    fn end_pod(&mut self, name: &str) {
        let Some(pod) = self.api.objects().pods.get(&key(Kind::Pod, name)) else { return };
        let mut pod = Pod::clone(pod);
        "Succeeded".clone_into(&mut pod.status.phase);
        self.api.apply(pod.into(), self.now).expect("a pod that has ended");
    }

    /// Time goes on, with everything that happens meanwhile.
    fn go_to(&mut self, end: Time) -> Result<(), Violation> {
        self.pump();
        loop {
            let attempt = self.core.can_schedule().then_some(self.next_attempt);
            let next = [
                self.watches.next(),
                self.calls.next(),
                self.api.next_timeout(),
                self.controllers.next_timeout().map(|(at, _)| at),
                self.orphans_go,
                self.core.poll_timeout(),
                attempt,
            ];
            let Some(at) = next.into_iter().flatten().min().filter(|at| *at <= end) else { break };
            self.now = self.now.max(at);
            self.n_steps += 1;
            if self.n_steps > STEPS_MAX {
                let text =
                    format!("{STEPS_MAX} steps, and no end; next {next:?}, {:?}", self.core.view().counts);
                return Err(Violation { check: "circle", text, at: self.now });
            }
            self.step()?;
            self.pump();
        }
        self.now = self.now.max(end);
        Ok(())
    }

    /// Does the first thing whose time has come.
    fn step(&mut self) -> Result<(), Violation> {
        self.figures.steps += 1;
        if let Some(input) = self.watches.take(self.api.objects(), self.now) {
            return self.handle(input);
        }
        if let Some(answer) = self.calls.take_answer(self.now) {
            return self.handle(answer);
        }
        if let Some(call) = self.calls.take_call(self.now) {
            return self.carry_out(call);
        }
        if self.api.next_timeout().is_some_and(|at| at <= self.now) {
            self.api.advance(self.now);
            return Ok(());
        }
        if self.controllers.next_timeout().is_some_and(|(at, _)| at <= self.now) {
            self.controllers.advance(&mut self.api, self.now);
            return Ok(());
        }
        if self.orphans_go.is_some_and(|at| at <= self.now) {
            self.orphans_go = None;
            for name in self.orphans() {
                self.end_pod(&name);
            }
            return Ok(());
        }
        if self.core.poll_timeout().is_some_and(|at| at <= self.now) {
            return self.handle(Input::Timeout);
        }
        self.n_attempts += 1;
        let spacing = match (self.n_attempts, self.is_healed) {
            (0..ATTEMPTS_AT_ONCE, _) => Duration::from_millis(1 + (self.n_attempts as u64 % 7) * 13),
            (_, true) => Duration::from_secs(1),
            (_, false) => Duration::from_secs(60),
        };
        self.next_attempt = self.now + spacing;
        self.handle(Input::Command(Command::ScheduleOne))
    }

    /// The pods on nodes that are not there.
    fn orphans(&self) -> BTreeSet<Str> {
        let objects = self.api.objects();
        let pods = objects.pods.values().filter(|pod| pod.is_assigned());
        let orphans = pods.filter(|pod| objects.node(&pod.spec.node_name).is_none());
        orphans.map(|pod| pod.metadata.name.clone()).collect()
    }

    /// The controllers do their work, and the watches are told of all changes.
    fn pump(&mut self) {
        loop {
            let events = self.api.take_events();
            if events.is_empty() {
                break;
            }
            for event in events {
                let is_of_orphans = matches!(event.object().kind(), Kind::Pod | Kind::Node);
                self.controllers.observe(&event);
                self.watches.tell(event, self.now);
                if is_of_orphans && self.orphans_go.is_none() && !self.orphans().is_empty() {
                    self.orphans_go = Some(self.now + ORPHANS_STAY);
                }
            }
            self.controllers.work(&mut self.api, self.now);
        }
    }

    /// Gives the scheduler an input, takes its calls, and looks whether all is as it has to be.
    fn handle(&mut self, input: Input) -> Result<(), Violation> {
        self.checks.before(&self.core, &input);
        let recorded = self.recorded.is_some().then(|| input.clone());
        self.core.handle(self.now, input);
        while let Some(effect) = self.core.poll_effect() {
            if matches!(effect.kind, EffectKind::Event(_)) {
                continue;
            }
            self.figures.calls += 1;
            self.checks.called(&effect, self.now)?;
            let latency = (self.plan.has_latency && !self.is_healed).then_some(self.plan.seed);
            self.calls.make(effect, self.now, latency);
        }
        if let (Some(list), Some(input)) = (&mut self.recorded, recorded) {
            list.push((self.now, input, self.core.digest()));
        }
        self.checks.after(&self.core, &self.api, self.now)
    }

    /// Does a call, and sends the answer on its way.
    fn carry_out(&mut self, call: Call) -> Result<(), Violation> {
        let Call { effect, answer_takes, is_answer_first, .. } = call;
        let (id, kind) = (effect.id, effect.kind);
        let fault = verb_of(&kind).and_then(|(verb, key)| self.calls.fault(verb, &key.name));
        self.figures.failed_calls += u64::from(fault.is_some());
        let is_done = fault.is_none_or(|why| why == Why::AnswerLost);
        let lost = |name: &Str| fault.map(|why| failure(why, name));
        let (api, now) = (&mut self.api, self.now);
        let answer = match kind {
            EffectKind::Event(_) => return Ok(()),
            EffectKind::CallExtender(call) => {
                let text = format!("Post {:?}: dial tcp: connection refused", call.url);
                Input::ExtenderAnswered { id, answer: ExtenderAnswer::Failed(text) }
            }
            EffectKind::Write(write) => {
                let name = write.object.metadata().name.clone();
                let result = if is_done {
                    api.carry_out_write(&write, now).map_err(|error| told(&error))
                } else {
                    Ok(write.object)
                };
                if is_done && fault.is_some() {
                    self.checks.answer_of_write_lost();
                }
                let result = match lost(&name) {
                    Some(failure) => Err(failure),
                    None => result,
                };
                Input::Written { id, result }
            }
            kind => {
                let name = verb_of(&kind).map(|(_, key)| key.name).unwrap_or_default();
                let result = if is_done { do_call(api, &kind, now) } else { Ok(()) };
                if let (EffectKind::Bind { uid, node, .. }, true) = (&kind, is_done && result.is_ok()) {
                    self.figures.binds += 1;
                    if fault.is_some() {
                        self.checks.excuse(node);
                    }
                    self.checks.bound(api, uid, node, now)?;
                }
                let result = lost(&name).map_or(result, Err);
                Input::EffectDone { id, result }
            }
        };
        if is_answer_first && answer_takes.is_zero() {
            return self.handle(answer);
        }
        self.calls.answer_at(self.now + answer_takes, answer);
        Ok(())
    }
}

pub fn do_call(api: &mut SandboxApi, kind: &EffectKind, now: Time) -> Result<(), ApiFailure> {
    let result = match kind {
        EffectKind::Bind { pod, uid, node } => api.bind(pod, uid, node, now),
        EffectKind::PatchPodStatus { pod, uid, condition, nominated_node_name, .. } => {
            api.patch_pod_status(pod, uid, condition.clone(), nominated_node_name.clone(), now)
        }
        EffectKind::PatchPodGroupStatus { pod_group, condition, .. } => {
            api.patch_pod_group_status(pod_group, condition.clone(), now)
        }
        EffectKind::DeletePod { pod, uid } => api.evict_pod(pod, uid, now),
        EffectKind::CallExtender(_) | EffectKind::Write(_) | EffectKind::Event(_) => Ok(()),
    };
    result.map_err(|error| told(&error))
}

pub fn told(error: &ApiError) -> ApiFailure {
    let reason = match error {
        ApiError::NotFound { .. } => ApiFailureReason::NotFound,
        ApiError::Conflict { .. } => ApiFailureReason::Conflict,
        ApiError::AlreadyExists { .. } | ApiError::Invalid { .. } => ApiFailureReason::Other,
    };
    ApiFailure { reason, message: error.to_string() }
}

/// Whether plugins of the test keep the pod from its node for ever.
fn is_held_for_ever(pod: &Pod) -> bool {
    let mut values =
        pod.metadata.annotations.iter().filter(|(key, _)| key.starts_with("test.schedscope.dev/"));
    values.any(|(_, value)| value.starts_with("wait=") || &**value == "unschedulable")
}

fn objects_of(yaml: &str) -> Vec<Object> {
    let sources = [Source { name: "plan".to_owned(), text: yaml.to_owned() }];
    load(&sources).expect("a manifest").objects
}

/// The key of an object of the plan.
pub fn key(kind: Kind, name: &str) -> NamespacedName {
    if kind.is_namespaced() { NamespacedName::new("default", name) } else { NamespacedName::cluster(name) }
}
