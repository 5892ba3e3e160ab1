//! The binding cycle: from Permit to PostBind.
//!
//! Mirrors `bindingCycle` and `handleBindingCycleError` of `pkg/scheduler/schedule_one.go`. Upstream runs each in
//! a goroutine; here each is a value that goes on when something it waits for has happened: a Permit plugin, a
//! PreBind plugin, the outcome of a call.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, Object, Str, Time, Uid};
use crate::config::Gate;
use crate::framework::extender::ExtenderAnswer;
use crate::framework::meter::Measurement;
use crate::framework::runtime::PluginVerdict;
use crate::framework::runtime::waiting_pods::WaitingPod;
use crate::framework::{BindAction, ClusterEvent, Code, Framework, NominatingInfo, PodInfo, Status};

use super::Scheduler;
use super::binding_cycles::BindingNumber;
use super::cycle::{BindingCycle, BindingStage, Cycle, Failure, framework_of};
use super::effect::{ApiFailure, EffectKind};
use super::pending::PendingEffect;
use super::schedule_one::rejection_while_waiting;
use super::trace::{CycleOutcome, Phase};
use super::turns::Turns;
use super::view::ObjectEvent;

/// How far a binding cycle got in one go.
pub(super) enum Progress {
    /// The next stage may begin.
    Advanced,
    /// It waits for something outside.
    Blocked,
    /// It has ended well.
    Bound,
    /// It has ended badly.
    Failed(Failure),
}

impl Scheduler {
    /// The scheduling cycle is over; the pod goes on its way to the node.
    pub(super) fn begin_binding_cycle(&mut self, mut cycle: Cycle) {
        let host = cycle.host.clone().unwrap_or_default();
        let uid = cycle.queued.uid().clone();
        let outcome = if self.world.waiting_pods.get(&uid).is_some() {
            CycleOutcome::Waiting { node: host.clone() }
        } else {
            CycleOutcome::Binding { node: host.clone() }
        };
        cycle.note(|trace| {
            trace.outcome = outcome;
            trace.next = Some(Phase::WaitOnPermit);
        });
        let binding = BindingCycle {
            host,
            since: self.world.now,
            stage: BindingStage::Begin,
            stage_stamp: None,
            next_binder: 0,
            has_pre_bind_work: false,
            ready_since: Some(self.time_of_waits()),
            has_waited: false,
            waited_in: None,
            goes_on: false,
            pre_bind_begun: Vec::new(),
            pre_bind_failure: None,
            pre_bind_outcome: None,
            cancelled: None,
            wake_at: None,
            watched: Vec::new(),
            cycle,
        };
        let is_stepped = binding.cycle.is_stepped;
        self.binding_cycles.push(binding);
        if is_stepped {
            // PreBindPreFlight and the nomination belong to the end of Permit for a person who steps.
            self.advance_binding_cycle(&uid);
        }
    }

    /// Lets a binding cycle go as far as it can.
    pub(super) fn go_on_binding(&mut self, uid: &Uid) {
        while self.advance_binding_cycle(uid) {}
    }

    /// Lets every binding cycle that nobody steps go as far as it can, if something has happened to it.
    pub(super) fn run_binding_cycles(&mut self) {
        if self.group.is_some() {
            return;
        }
        self.binding_cycles.wake_late(self.world.now);
        let mut from = 0;
        loop {
            self.wake_signalled();
            match self.binding_cycles.next_ready(from) {
                Some((number, uid)) => {
                    self.go_on_binding(&uid);
                    from = number + 1;
                }
                // What one has done may let earlier ones go on.
                None if from > 0 => from = 0,
                None => return,
            }
        }
    }

    /// Those whose wait at Permit has ended have something to go on with.
    pub(super) fn wake_signalled(&mut self) {
        for uid in self.world.waiting_pods.take_signalled() {
            self.binding_cycles.wake(&uid);
        }
    }

    /// Does one phase of the binding cycle that a person steps. False if there is none.
    pub(super) fn step_binding_cycle(&mut self) -> bool {
        let stepped = self.binding_cycles.iter().rfind(|binding| binding.cycle.is_stepped);
        let Some(uid) = stepped.map(|binding| binding.cycle.queued.uid().clone()) else { return false };
        self.advance_binding_cycle(&uid)
    }

    /// Binding cycles that a person has stepped go on by themselves from now on.
    pub(super) fn release_stepped_binding_cycles(&mut self) {
        self.binding_cycles.release();
    }

    /// Does one stage. False if the cycle stands where it stood.
    pub(super) fn advance_binding_cycle(&mut self, uid: &Uid) -> bool {
        let Some((number, mut binding)) = self.binding_cycles.take(uid) else { return false };
        let profiles = Arc::clone(&self.world.profiles);
        let Some(framework) = framework_of(&profiles, &binding.cycle.profile_name) else { return false };
        let stage = binding.stage;
        let progress = match stage {
            BindingStage::Begin => self.begin_binding(&mut binding, framework),
            BindingStage::NominationCalled => Progress::Blocked,
            BindingStage::WaitOnPermit => self.wait_on_permit(&mut binding),
            BindingStage::PreBind => self.pre_bind(&mut binding, framework),
            BindingStage::Bind => self.bind(&mut binding, framework),
            BindingStage::BindCalled => Progress::Blocked,
            BindingStage::PostBind => self.post_bind(&mut binding, framework),
        };
        match progress {
            Progress::Advanced => {
                let next = match binding.stage {
                    BindingStage::Begin | BindingStage::NominationCalled | BindingStage::WaitOnPermit => {
                        Phase::WaitOnPermit
                    }
                    BindingStage::PreBind => Phase::PreBind,
                    BindingStage::Bind | BindingStage::BindCalled => Phase::Bind,
                    BindingStage::PostBind => Phase::PostBind,
                };
                binding.cycle.note(|trace| trace.next = Some(next));
                self.binding_cycles.put_back(number, binding);
                true
            }
            Progress::Blocked => {
                let has_moved = binding.stage != stage;
                binding.has_waited |= !has_moved;
                self.binding_cycles.put_back(number, binding);
                has_moved
            }
            Progress::Bound => {
                self.counts.bound += 1;
                let node = binding.host;
                binding.cycle.note(|trace| trace.next = None);
                self.finish_trace(binding.cycle, CycleOutcome::Bound { node });
                true
            }
            Progress::Failed(failure) => {
                self.handle_binding_cycle_error(binding, framework, failure);
                true
            }
        }
    }

    /// PreBindPreFlight, and the nomination that tells others where the pod is about to go if that takes a while
    /// (KEP-5278).
    fn begin_binding(&mut self, binding: &mut BindingCycle, framework: &Framework) -> Progress {
        let assumed = assumed(&binding.cycle);
        if !self.options.gates.is_enabled(Gate::NominatedNodeNameForExpectation) {
            // Nobody says beforehand whether PreBind has work, so all plugins get it.
            binding.has_pre_bind_work = true;
            binding.stage = BindingStage::WaitOnPermit;
            let will_wait = self.world.waiting_pods.get(assumed.uid()).is_some();
            return if will_wait { Progress::Advanced } else { self.wait_on_permit(binding) };
        }
        let (status, _) = framework.run_pre_bind_pre_flights(
            &self.world.handle(framework),
            &mut binding.cycle.state,
            &assumed,
            &binding.host,
        );
        if !status.is_success() && !status.is_skip() {
            return Progress::Failed(Failure::Status(status));
        }
        binding.has_pre_bind_work = status.is_success();
        let will_wait = self.world.waiting_pods.get(assumed.uid()).is_some();
        if binding.has_pre_bind_work || will_wait {
            let nomination = NominatingInfo::Override(binding.host.clone());
            if let Some(id) = self.patch_pod(&assumed.pod, None, &nomination) {
                // The cycle goes on when the API has it.
                let uid = assumed.uid().clone();
                self.pending_effects.insert(id, PendingEffect::Nomination { uid });
                binding.stage = BindingStage::NominationCalled;
                return Progress::Blocked;
            }
        }
        binding.stage = BindingStage::WaitOnPermit;
        if will_wait { Progress::Advanced } else { self.wait_on_permit(binding) }
    }

    /// What came of telling where the pod is about to go; nothing depends on it.
    pub(super) fn nomination_returned(&mut self, uid: &Uid, result: Result<(), ApiFailure>) {
        if let Err(failure) = result {
            self.note_problem(&format!("telling where a pod is about to go: {failure}"));
        }
        let now = self.time_of_waits();
        let Some(binding) = self.binding_cycles.get_mut(uid) else { return };
        binding.stage = BindingStage::WaitOnPermit;
        // The watch reports it first, as a rule; nobody else's turn comes before.
        binding.goes_on = true;
        binding.ready_since = Some(now);
        if !binding.cycle.is_stepped && self.options.turns == Turns::AtOnce {
            self.go_on_binding(uid);
        }
    }

    fn wait_on_permit(&mut self, binding: &mut BindingCycle) -> Progress {
        let uid = binding.cycle.queued.uid().clone();
        let status = match self.world.waiting_pods.get(&uid) {
            None => Status::SUCCESS,
            Some(WaitingPod { signal: None, .. }) => {
                binding.stage_stamp = binding.stage_stamp.or_else(|| self.world.metering().stamp());
                return Progress::Blocked;
            }
            Some(WaitingPod { signal: Some(signal), .. }) => {
                binding.cycle.note(|trace| trace.phase = Phase::WaitOnPermit);
                signal.clone()
            }
        };
        if let Some(since) = binding.stage_stamp.take() {
            self.world.metering().take(Measurement::PermitWait { code: status.code(), since });
        }
        self.world.waiting_pods.remove(&uid);
        if status.is_rejected() {
            return Progress::Failed(rejection_while_waiting(&binding.host, status));
        }
        if !status.is_success() {
            let text = format!("waiting on permit for pod: {}", status.message());
            return Progress::Failed(Failure::Status(Status::error(text)));
        }
        // Nothing that follows can make the pod unschedulable, so the events since its pop need not be kept.
        self.queue.done(&uid);
        let node = binding.host.clone();
        binding.cycle.note(|trace| trace.outcome = CycleOutcome::Binding { node });
        binding.stage = BindingStage::PreBind;
        binding.stage_stamp = self.world.metering().stamp();
        Progress::Advanced
    }

    fn bind(&mut self, binding: &mut BindingCycle, framework: &Framework) -> Progress {
        let assumed = assumed(&binding.cycle);
        binding.stage_stamp = framework.metering.stamp();
        if self.call_binder(binding, &assumed) {
            return Progress::Blocked;
        }
        let mut verdicts = Vec::new();
        for plugin in &framework.plugins.bind {
            let Some(bind) = plugin.as_bind() else { continue };
            let name = plugin.name();
            let action =
                bind.bind(&self.world.handle(framework), &mut binding.cycle.state, &assumed, &binding.host);
            let status = match &action {
                BindAction::Skip => Status::skip(),
                BindAction::PostBinding => Status::SUCCESS,
                BindAction::Done(status) => status.clone(),
            };
            verdicts.push(PluginVerdict { plugin: name, status: status.clone(), node_names: None });
            if action == BindAction::Skip {
                continue;
            }
            binding.cycle.note(|trace| {
                trace.bind = Some(verdicts);
                trace.phase = Phase::Bind;
            });
            if action == BindAction::PostBinding {
                let id = self.emit(EffectKind::Bind {
                    pod: assumed.pod.key(),
                    uid: assumed.uid().clone(),
                    node: binding.host.clone(),
                });
                self.pending_effects
                    .insert(id, PendingEffect::Bind { uid: assumed.uid().clone(), plugin: name });
                binding.stage = BindingStage::BindCalled;
                return Progress::Blocked;
            }
            return match bind_failure(name, status) {
                None => self.binding_done(binding),
                Some(failure) => Progress::Failed(failure),
            };
        }
        Progress::Failed(Failure::Status(Status::skip()))
    }

    /// The outcome of the call that binds the pod.
    pub(super) fn bind_returned(&mut self, uid: &Uid, plugin: &'static str, result: Result<(), ApiFailure>) {
        let Some((number, mut binding)) = self.binding_cycles.take(uid) else { return };
        let status = match result {
            Ok(()) => Status::SUCCESS,
            Err(failure) => Status::error(failure),
        };
        let verdict = PluginVerdict { plugin, status: status.clone(), node_names: None };
        binding.cycle.note(|trace| {
            if let Some(last) = trace.bind.as_mut().and_then(|verdicts| verdicts.last_mut()) {
                *last = verdict;
            }
        });
        match bind_failure(plugin, status) {
            None => {
                self.binding_done(&mut binding);
                let is_stepped = binding.cycle.is_stepped;
                self.binding_cycles.put_back(number, binding);
                if !is_stepped {
                    self.go_on_binding(uid);
                }
            }
            Some(failure) => {
                let (profile, since) = (&binding.cycle.profile_name, binding.stage_stamp);
                self.world.metering().point(profile, "Bind", Code::Error, since);
                let profiles = Arc::clone(&self.world.profiles);
                if let Some(framework) = framework_of(&profiles, &binding.cycle.profile_name) {
                    self.handle_binding_cycle_error(binding, framework, failure);
                }
            }
        }
    }

    /// What an extender that binds has answered.
    pub(super) fn extender_has_bound(&mut self, uid: &Uid, index: usize, answer: &ExtenderAnswer) {
        let extenders = Arc::clone(&self.world.extenders);
        let Some(extender) = extenders.get(index) else { return };
        let Some((number, mut binding)) = self.binding_cycles.take(uid) else { return };
        match extender.bind_answer(answer) {
            Ok(()) => {
                self.binding_done(&mut binding);
                self.go_on_after_binder(number, binding);
            }
            Err(_) if extender.ignorable => {
                binding.stage = BindingStage::Bind;
                self.go_on_after_binder(number, binding);
            }
            Err(text) => {
                let profiles = Arc::clone(&self.world.profiles);
                if let Some(framework) = framework_of(&profiles, &binding.cycle.profile_name) {
                    let failure = Failure::Status(Status::error(text));
                    self.handle_binding_cycle_error(binding, framework, failure);
                }
            }
        }
    }

    fn go_on_after_binder(&mut self, number: BindingNumber, binding: BindingCycle) {
        let uid = binding.cycle.queued.uid().clone();
        let is_stepped = binding.cycle.is_stepped;
        self.binding_cycles.put_back(number, binding);
        if !is_stepped {
            self.go_on_binding(&uid);
        }
    }

    fn binding_done(&mut self, binding: &mut BindingCycle) -> Progress {
        let pod = &assumed(&binding.cycle).pod;
        self.record_event(ObjectEvent {
            at: self.world.now,
            type_: "Normal",
            reason: "Scheduled",
            action: "Binding",
            regarding: pod.key(),
            related: None,
            note: format!("Successfully assigned {} to {}", pod.key(), binding.host),
        });
        self.last_messages.remove(pod.uid());
        self.tell_bound(binding);
        let node = binding.host.clone();
        binding.cycle.note(|trace| {
            trace.outcome = CycleOutcome::Bound { node };
            trace.next = Some(Phase::PostBind);
        });
        binding.stage = BindingStage::PostBind;
        Progress::Advanced
    }

    fn tell_bound(&self, binding: &BindingCycle) {
        let metering = self.world.metering();
        metering.point(&binding.cycle.profile_name, "Bind", Code::Success, binding.stage_stamp);
        metering.tell(|meter| {
            let (cycle, queued) = (&binding.cycle, &binding.cycle.queued);
            meter.take(Measurement::Bound {
                profile: &cycle.profile_name,
                pod: &queued.pod().key(),
                node: &binding.host,
                evaluated: cycle.feasible.len() + cycle.diagnosis.node_to_status.len(),
                feasible: cycle.feasible.len(),
                attempts: queued.attempts,
                first_tried: queued.initial_attempt_timestamp.map(|first| self.world.now - first),
                was_flushed: queued.was_flushed_from_unschedulable,
                since: cycle.stamp,
            });
        });
    }

    fn post_bind(&mut self, binding: &mut BindingCycle, framework: &Framework) -> Progress {
        let assumed = assumed(&binding.cycle);
        framework.run_post_bind_plugins(
            &self.world.handle(framework),
            &mut binding.cycle.state,
            &assumed,
            &binding.host,
        );
        self.carry_out_requests();
        self.activate_after_cycle();
        let plugins = framework.plugins.post_bind.iter().map(|plugin| plugin.name()).collect();
        binding.cycle.note(|trace| {
            trace.post_bind = Some(plugins);
            trace.phase = Phase::PostBind;
        });
        Progress::Bound
    }

    /// Gives everything back and puts the pod back into the queue (`handleBindingCycleError`).
    fn handle_binding_cycle_error(
        &mut self,
        mut binding: BindingCycle,
        framework: &Framework,
        failure: Failure,
    ) {
        let assumed_pod = Arc::clone(&assumed(&binding.cycle).pod);
        let is_forgotten = self.unreserve_and_forget(&mut binding.cycle, framework);
        let object = Object::Pod(Arc::clone(&assumed_pod));
        let is_rejection = failure.is_rejection();
        if is_forgotten && !is_rejection {
            self.move_all(ClusterEvent::ASSIGNED_POD_DELETE, Some(&object), None, None);
        }
        let report = self.handle_scheduling_failure(binding.cycle, failure, &NominatingInfo::clear());
        if !is_forgotten || !is_rejection {
            return;
        }
        match report {
            // It waits until the failure is reported.
            Some(id) => {
                self.pending_effects.insert(id, PendingEffect::RejectionReport { pod: assumed_pod });
            }
            None => self.give_back_room_of(&assumed_pod),
        }
    }

    /// Others may fit where a rejected pod was to go. The pod itself must not be woken by that.
    pub(super) fn give_back_room_of(&mut self, rejected: &Arc<Pod>) {
        let object = Object::Pod(Arc::clone(rejected));
        let is_another = |pod: &Pod| pod.uid() != rejected.uid();
        self.move_all(ClusterEvent::ASSIGNED_POD_DELETE, Some(&object), None, Some(&is_another));
    }

    /// A Permit plugin holds the pod.
    pub(super) fn add_waiting_pod(
        &mut self,
        pod_info: Arc<PodInfo>,
        node: Str,
        waits: BTreeMap<Str, Duration>,
    ) {
        let since = self.time_of_waits();
        self.world.waiting_pods.add(WaitingPod {
            pod_info,
            node_name: node,
            since,
            pending_plugins: waits,
            signal: None,
        });
    }

    /// Turns down waiting pods whose time is over.
    pub(super) fn time_out_waiting_pods(&mut self, now: Time) {
        let late: Vec<(Time, Uid, Str, Duration)> = self
            .world
            .waiting_pods
            .late(now)
            .filter_map(|waiting| {
                let (deadline, plugin) = waiting.deadline()?;
                let timeout = waiting.pending_plugins.get(plugin).copied()?;
                Some((deadline, waiting.pod_info.uid().clone(), plugin.clone(), timeout))
            })
            .collect();
        for (deadline, uid, plugin, timeout) in late {
            let message = format!(
                "rejected due to timeout after waiting {} at plugin {plugin}",
                crate::api::time::go_duration(timeout)
            );
            self.world.waiting_pods.reject(&uid, &plugin, &message);
            if let Some(binding) = self.binding_cycles.get_mut(&uid) {
                binding.ready_since.get_or_insert(deadline);
            }
        }
    }
}

/// The pod with its node in its spec.
pub(super) fn assumed(cycle: &Cycle) -> Arc<PodInfo> {
    Arc::clone(cycle.assumed.as_ref().unwrap_or_else(|| cycle.pod_info()))
}

/// How a failed bind is reported; `None` if it has not failed.
fn bind_failure(plugin: &'static str, status: Status) -> Option<Failure> {
    if status.is_success() {
        return None;
    }
    if status.is_rejected() {
        return Some(Failure::Status(status.with_plugin(plugin)));
    }
    let text = format!("running Bind plugin {plugin:?}: {}", status.message());
    Some(Failure::Status(Status::error(text)))
}
