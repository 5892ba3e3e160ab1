//! Carries out what DefaultPreemption has decided: gets the victims of a candidate out of the way.
//!
//! Mirrors `pkg/scheduler/framework/preemption/executor.go` (KEP-4832). As a rule that goes on beside the attempts:
//! all victims but the last go first; the last one goes when they are gone, so that the preemptor's gate can tell an
//! eviction that is under way from one that is over. Without `SchedulerAsyncPreemption` the attempt waits for it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::objects::{Pod, PodCondition};
use crate::api::{Str, Time, Uid};
use crate::framework::meter::{Measurement, Stamp};
use crate::framework::preemption::{Candidate, PendingVictim};

use super::Scheduler;
use super::cycle::BindingStage;
use super::effect::{ApiFailure, ApiFailureReason, EffectId, EffectKind};
use super::failure::is_new_condition;
use super::pending::PendingEffect;
use super::preemptor::Preemptor;
use super::turns::Turns;
use super::view::ObjectEvent;

/// A preemption that is under way. A preemptor may have several: its gate opens once the last victim is going, and the
/// next attempt may find other victims before the deletion of that one has been answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PreemptionRun {
    number: u64,
    pub(super) preemptor: Preemptor,
    node: Str,
    plugin: Str,
    /// Whether the attempt goes on meanwhile.
    pub(super) is_async: bool,
    /// Victims that go first and have not been dealt with.
    first: VecDeque<Arc<Pod>>,
    /// The victim that goes when all others are gone.
    last: Option<Arc<Pod>>,
    /// Victims that are being dealt with.
    active: BTreeMap<Uid, Victim>,
    /// Nominations that are being cleared.
    clearing: Vec<EffectId>,
    /// Less important pods whose nominations are to be cleared after those.
    to_clear: VecDeque<Arc<Pod>>,
    /// Whether the nominations have been looked at.
    is_cleared: bool,
    /// What the first victim that could not be got out of the way said.
    failure: Option<String>,
    /// Whether the preemptor is to be tried again at once, since no event may come that would wake it.
    has_trouble: bool,
    is_started: bool,
    /// Since when the next victim's turn has come.
    pub(super) ready_since: Option<Time>,
    /// When it was decided, by the clock of whoever measures.
    stamp: Option<Stamp>,
}

#[derive(Clone, Debug, PartialEq)]
struct Victim {
    pod: Arc<Pod>,
    /// Whether the deletion has been asked for (the condition comes first).
    is_deleting: bool,
}

impl PreemptionRun {
    fn is_blocked(&self, parallelism: usize) -> bool {
        !self.clearing.is_empty() || self.active.len() >= parallelism.max(1)
    }

    /// Whether a victim can be dealt with now.
    fn has_turn(&self, parallelism: usize) -> bool {
        self.is_started
            && self.failure.is_none()
            && !self.is_blocked(parallelism)
            && (!self.first.is_empty() || self.active.is_empty() && self.last.is_some())
    }
}

impl Scheduler {
    /// Takes a candidate over. The calls begin when the attempt is over, and the preemptor is gated until they have
    /// ended; or else the attempt waits for them.
    pub(super) fn prepare_candidate(
        &mut self,
        preemptor: Preemptor,
        candidate: Candidate,
        plugin: Str,
        is_async: bool,
    ) {
        let victims = candidate.victims.pods.iter().map(|victim| &victim.pod);
        let mut first: VecDeque<Arc<Pod>> =
            victims.filter(|victim| !victim.is_terminating()).cloned().collect();
        let last = if is_async { first.pop_back() } else { None };
        if is_async {
            if last.is_none() {
                return;
            }
            self.world.preemption.preempting.insert(preemptor.uid().clone());
        }
        // Who is less important is looked up before the attempt is over, as kube-scheduler's goroutine does: what the
        // attempt itself nominates does not count.
        let to_clear =
            if is_async { self.lower_nominations(&preemptor, &candidate.node_name) } else { VecDeque::new() };
        self.n_preemption_runs += 1;
        self.world.metering().tell(|meter| {
            let preemptor = preemptor.pods.first().map(|pod| pod.key().to_string()).unwrap_or_default();
            let (node, n) = (&*candidate.node_name, candidate.victims.pods.len());
            meter.take(Measurement::PreemptionVictims { preemptor: &preemptor, node, n });
        });
        self.preemption_runs.push(PreemptionRun {
            number: self.n_preemption_runs,
            preemptor,
            node: candidate.node_name,
            plugin,
            is_async,
            first,
            last,
            active: BTreeMap::new(),
            clearing: Vec::new(),
            to_clear,
            is_cleared: false,
            failure: None,
            has_trouble: false,
            is_started: false,
            ready_since: None,
            stamp: self.world.metering().stamp(),
        });
    }

    /// Begins the preemptions that were decided.
    pub(super) fn start_preemptions(&mut self) {
        while let Some(index) = self.preemption_runs.iter().position(|run| !run.is_started) {
            let mut run = self.preemption_runs.remove(index);
            run.is_started = true;
            if run.is_async {
                run.is_cleared = true;
                self.clear_next_nomination(&mut run);
            }
            self.go_on_with(run, index);
        }
    }

    /// Less important pods that are nominated to the node may not fit any more and look elsewhere.
    fn lower_nominations(&self, preemptor: &Preemptor, node: &str) -> VecDeque<Arc<Pod>> {
        use crate::framework::PodNominator as _;
        let nominated = self.world.nominator.nominated_pods_for_node(node).iter();
        nominated
            .filter(|other| other.pod.priority() < preemptor.priority())
            .filter(|other| !other.pod.status.nominated_node_name.is_empty())
            .map(|other| Arc::clone(&other.pod))
            .collect()
    }

    fn clear_next_nomination(&mut self, run: &mut PreemptionRun) {
        let Some(pod) = run.to_clear.pop_front() else { return };
        let id = self.emit(EffectKind::PatchPodStatus {
            pod: pod.key(),
            uid: pod.uid().clone(),
            condition: None,
            nominated_node_name: Some(Str::from("")),
            base: pod,
        });
        run.clearing.push(id);
        self.pending_effects.insert(id, PendingEffect::ClearNomination { run: run.number });
    }

    /// The outcome of clearing a nomination.
    pub(super) fn nomination_cleared(&mut self, id: EffectId, number: u64, result: Result<(), ApiFailure>) {
        let Some(index) = self.preemption_runs.iter().position(|run| run.number == number) else {
            return;
        };
        let mut run = self.preemption_runs.remove(index);
        run.clearing.retain(|known| *known != id);
        if let Err(failure) = result {
            self.note_problem(&format!("clearing a nomination: {failure}"));
            run.has_trouble = true;
        }
        self.clear_next_nomination(&mut run);
        self.go_on_with(run, index);
    }

    /// Does what can be done now. When nothing is left, the preemption is over.
    fn go_on_with(&mut self, mut run: PreemptionRun, index: usize) {
        let parallelism = self.options.parallelism;
        if run.is_started && run.clearing.is_empty() && run.first.is_empty() && run.active.is_empty() {
            self.note_last_victim(&run);
        }
        let is_own_turn = self.options.turns == Turns::AtOnce || !run.is_async;
        while is_own_turn && run.has_turn(parallelism) {
            self.preempt_next(&mut run);
        }
        if !run.has_turn(parallelism) {
            run.ready_since = None;
        } else if run.ready_since.is_none() {
            run.ready_since = Some(self.time_of_waits());
        }
        let has_victims = run.failure.is_none() && !(run.first.is_empty() && run.last.is_none());
        let is_over = run.is_started && run.active.is_empty() && run.clearing.is_empty() && !has_victims;
        if !is_over {
            self.preemption_runs.insert(index.min(self.preemption_runs.len()), run);
            return;
        }
        if !run.is_async {
            return self.end_preemption_within_attempt(run, index);
        }
        let is_success = run.failure.is_none();
        self.world.metering().take(Measurement::PreemptionEnded { is_success, since: run.stamp });
        let uid = run.preemptor.uid();
        self.world.preemption.preempting.remove(uid);
        self.world.preemption.last_victims_pending_preemption.remove(uid);
        if run.has_trouble || run.failure.is_some() {
            // Without the evictions no event may come that would wake it.
            let env = self.world.queue_env();
            self.queue.activate(&env, &run.preemptor.pods);
        }
    }

    /// Within an attempt the nominations are cleared when the victims are out of the way.
    fn end_preemption_within_attempt(&mut self, mut run: PreemptionRun, index: usize) {
        if let Some(failure) = run.failure {
            return self.resume_after_preemption(Err(failure));
        }
        if !run.is_cleared {
            run.is_cleared = true;
            run.to_clear = self.lower_nominations(&run.preemptor, &run.node);
            self.clear_next_nomination(&mut run);
            if !run.clearing.is_empty() {
                self.preemption_runs.insert(index.min(self.preemption_runs.len()), run);
                return;
            }
        }
        self.resume_after_preemption(Ok(()));
    }

    /// All others are gone: from now on the preemptor's gate looks at the last victim.
    fn note_last_victim(&mut self, run: &PreemptionRun) {
        let Some(last) = run.last.as_ref().filter(|_| run.failure.is_none()) else { return };
        self.world.preemption.last_victims_pending_preemption.insert(
            run.preemptor.uid().clone(),
            PendingVictim {
                namespace: last.metadata.namespace.clone(),
                name: last.metadata.name.clone(),
                uid: last.uid().clone(),
            },
        );
    }

    fn preempt_next(&mut self, run: &mut PreemptionRun) {
        let victim = run.first.pop_front();
        let Some(victim) = victim.or_else(|| if run.active.is_empty() { run.last.take() } else { None })
        else {
            return;
        };
        self.preempt_pod(run, victim);
        if run.first.is_empty() && run.active.is_empty() {
            self.note_last_victim(run);
        }
    }

    /// The next victim of that preemptor has its turn.
    pub(super) fn preempt_in_turn(&mut self, preemptor: &Uid) {
        let parallelism = self.options.parallelism;
        let runs = self.preemption_runs.iter().enumerate();
        let ready = runs.filter(|(_, run)| run.preemptor.uid() == preemptor && run.has_turn(parallelism));
        let Some((index, _)) = ready.min_by_key(|(_, run)| (run.ready_since, run.number)) else {
            return;
        };
        let mut run = self.preemption_runs.remove(index);
        run.ready_since = None;
        self.preempt_next(&mut run);
        self.go_on_with(run, index);
    }

    /// Gets one victim out of the way: a waiting pod is turned down, one in PreBind is cancelled, both without a
    /// call; any other is marked and deleted.
    fn preempt_pod(&mut self, run: &mut PreemptionRun, victim: Arc<Pod>) {
        let is_in_memory = self
            .world
            .waiting_pods
            .preempt(victim.uid(), &run.plugin, "preempted")
            .unwrap_or_else(|| self.cancel_in_pre_bind(&victim, &run.plugin));
        if is_in_memory {
            self.record_preempted(run, &victim, " (in kube-scheduler memory).");
            return;
        }
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: "PreemptionByScheduler".to_owned(),
            message: format!(
                "{}: preempting to accommodate a higher priority {}",
                run.preemptor.scheduler_name, run.preemptor.kind
            ),
            last_transition_time: None,
            observed_generation: victim.metadata.generation,
        };
        let is_marked = !is_new_condition(&victim, &condition);
        let kind = if is_marked {
            delete(&victim)
        } else {
            EffectKind::PatchPodStatus {
                pod: victim.key(),
                uid: victim.uid().clone(),
                condition: Some(condition),
                nominated_node_name: None,
                base: Arc::clone(&victim),
            }
        };
        self.emit_for_victim(run, kind, victim.uid());
        run.active.insert(victim.uid().clone(), Victim { pod: victim, is_deleting: is_marked });
    }

    fn emit_for_victim(&mut self, run: &PreemptionRun, kind: EffectKind, victim: &Uid) {
        let id = self.emit(kind);
        self.pending_effects
            .insert(id, PendingEffect::Preemption { run: run.number, victim: victim.clone() });
    }

    /// Cancels the victim's binding cycle if it is in PreBind. False if it is not.
    fn cancel_in_pre_bind(&mut self, victim: &Pod, plugin: &str) -> bool {
        let binding = self.binding_cycles.get_mut(victim.uid());
        match binding.filter(|binding| binding.stage == BindingStage::PreBind && binding.has_pre_bind_work) {
            Some(binding) => {
                binding.cancelled.get_or_insert_with(|| format!("preempted by {plugin}"));
                self.binding_cycles.wake(victim.uid());
                true
            }
            None => false,
        }
    }

    /// The outcome of marking or deleting a victim.
    pub(super) fn preemption_returned(&mut self, number: u64, victim: &Uid, result: Result<(), ApiFailure>) {
        let Some(index) = self.preemption_runs.iter().position(|run| run.number == number) else {
            return;
        };
        let mut run = self.preemption_runs.remove(index);
        if let Some(mut entry) = run.active.remove(victim) {
            match result {
                Ok(()) if entry.is_deleting => {
                    self.counts.preempted += 1;
                    self.record_preempted(&run, &entry.pod, "");
                }
                Ok(()) => {
                    entry.is_deleting = true;
                    self.emit_for_victim(&run, delete(&entry.pod), victim);
                    run.active.insert(victim.clone(), entry);
                }
                // Gone already: just what was wanted.
                Err(failure) if failure.reason == ApiFailureReason::NotFound => {}
                Err(failure) => {
                    self.note_problem(&format!("preempting pod {}: {failure}", entry.pod.key()));
                    run.failure.get_or_insert_with(|| failure.to_string());
                }
            }
        }
        self.go_on_with(run, index);
    }

    fn record_preempted(&mut self, run: &PreemptionRun, victim: &Pod, suffix: &str) {
        self.record_event(ObjectEvent {
            at: self.world.now,
            type_: "Normal",
            reason: "Preempted",
            action: "Preempting",
            regarding: victim.key(),
            related: run.preemptor.pod_key(),
            note: format!(
                "Preempted by {} {} on node {}{suffix}",
                run.preemptor.kind,
                run.preemptor.uid(),
                run.node
            ),
        });
    }
}

fn delete(victim: &Pod) -> EffectKind {
    EffectKind::DeletePod { pod: victim.key(), uid: victim.uid().clone() }
}
