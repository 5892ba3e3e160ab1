//! Carries out what DefaultPreemption has decided: the asynchronous preparation of a candidate.
//!
//! Mirrors `prepareCandidateAsync` of `pkg/scheduler/framework/preemption/executor.go` (KEP-4832). All victims but
//! the last go at once; the last one goes when they are gone, so that the preemptor's gate can tell an eviction
//! that is under way from one that is over.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::{Pod, PodCondition};
use crate::api::{Str, Uid};
use crate::framework::preemption::{Candidate, PendingVictim};

use super::Scheduler;
use super::cycle::BindingStage;
use super::effect::{ApiFailure, ApiFailureReason, EffectKind};
use super::failure::is_new_condition;
use super::pending::PendingEffect;
use super::view::ObjectEvent;

/// A preemption that is under way.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PreemptionRun {
    preemptor: Arc<Pod>,
    node: Str,
    plugin: Str,
    /// Victims that have not been dealt with, the last one at the end.
    waiting: Vec<Arc<Pod>>,
    /// Victims that are being dealt with.
    active: BTreeMap<Uid, Victim>,
    has_failed: bool,
    is_started: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Victim {
    pod: Arc<Pod>,
    /// Whether the deletion has been asked for (the condition comes first).
    is_deleting: bool,
}

impl Scheduler {
    /// Takes a candidate over. The preemptor is gated from now on; the calls begin when its attempt is over.
    pub(super) fn prepare_candidate_async(&mut self, preemptor: Arc<Pod>, candidate: Candidate, plugin: Str) {
        let victims: Vec<Arc<Pod>> = candidate
            .victims
            .pods
            .iter()
            .filter(|victim| !victim.pod.is_terminating())
            .map(|victim| Arc::clone(&victim.pod))
            .collect();
        if victims.is_empty() {
            return;
        }
        self.world.preemption.preempting.insert(preemptor.uid().clone());
        self.preemption_runs.push(PreemptionRun {
            preemptor,
            node: candidate.node_name,
            plugin,
            waiting: victims,
            active: BTreeMap::new(),
            has_failed: false,
            is_started: false,
        });
    }

    /// Begins the preemptions that were decided.
    pub(super) fn start_preemptions(&mut self) {
        while let Some(index) = self.preemption_runs.iter().position(|run| !run.is_started) {
            let mut run = self.preemption_runs.remove(index);
            run.is_started = true;
            self.clear_lower_nominations(&run);
            let last = run.waiting.pop();
            let first_ones = std::mem::take(&mut run.waiting);
            run.waiting.extend(last);
            for victim in first_ones {
                self.preempt_pod(&mut run, victim);
            }
            self.go_on_with(run, index);
        }
    }

    /// Less important pods that are nominated to the node may not fit any more and look elsewhere.
    fn clear_lower_nominations(&mut self, run: &PreemptionRun) {
        use crate::framework::PodNominator as _;
        let lower: Vec<Arc<Pod>> = self
            .world
            .nominator
            .nominated_pods_for_node(&run.node)
            .iter()
            .filter(|other| other.pod.priority() < run.preemptor.priority())
            .map(|other| Arc::clone(&other.pod))
            .collect();
        for pod in lower {
            if pod.status.nominated_node_name.is_empty() {
                continue;
            }
            let id = self.emit(EffectKind::PatchPodStatus {
                pod: pod.key(),
                uid: pod.uid().clone(),
                condition: None,
                nominated_node_name: Some(Str::from("")),
            });
            self.pending_effects.insert(id, PendingEffect::ClearNomination);
        }
    }

    /// When nothing is under way any more, the last victim follows, or the preemption is over.
    fn go_on_with(&mut self, mut run: PreemptionRun, index: usize) {
        if run.active.is_empty()
            && !run.has_failed
            && let Some(last) = run.waiting.pop()
        {
            self.world.preemption.last_victims_pending_preemption.insert(
                run.preemptor.uid().clone(),
                PendingVictim {
                    namespace: last.metadata.namespace.clone(),
                    name: last.metadata.name.clone(),
                    uid: last.uid().clone(),
                },
            );
            self.preempt_pod(&mut run, last);
        }
        if run.active.is_empty() && (run.waiting.is_empty() || run.has_failed) {
            let uid = run.preemptor.uid();
            self.world.preemption.preempting.remove(uid);
            self.world.preemption.last_victims_pending_preemption.remove(uid);
            if run.has_failed {
                // Without the evictions no event may come that would wake it.
                let env = self.world.queue_env();
                self.queue.activate(&env, &[Arc::clone(&run.preemptor)]);
            }
        } else {
            self.preemption_runs.insert(index.min(self.preemption_runs.len()), run);
        }
    }

    /// Gets one victim out of the way: a waiting pod is turned down, one in PreBind is cancelled, both without a
    /// call; any other is marked and deleted.
    fn preempt_pod(&mut self, run: &mut PreemptionRun, victim: Arc<Pod>) {
        let is_in_memory = match self.world.waiting_pods.get_mut(victim.uid()) {
            Some(waiting) => waiting.preempt(&run.plugin, "preempted"),
            None => self.cancel_in_pre_bind(&victim, &run.plugin),
        };
        if is_in_memory {
            self.record_preempted(run, &victim, " (in kube-scheduler memory).");
            return;
        }
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: "PreemptionByScheduler".to_owned(),
            message: format!(
                "{}: preempting to accommodate a higher priority pod",
                run.preemptor.spec.scheduler_name
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
            }
        };
        self.emit_for_victim(run, kind, victim.uid());
        run.active.insert(victim.uid().clone(), Victim { pod: victim, is_deleting: is_marked });
    }

    fn emit_for_victim(&mut self, run: &PreemptionRun, kind: EffectKind, victim: &Uid) {
        let id = self.emit(kind);
        let preemptor = run.preemptor.uid().clone();
        self.pending_effects.insert(id, PendingEffect::Preemption { preemptor, victim: victim.clone() });
    }

    /// Cancels the victim's binding cycle if it is in PreBind. False if it is not.
    fn cancel_in_pre_bind(&mut self, victim: &Pod, plugin: &str) -> bool {
        let binding = self.binding_cycles.iter_mut().find(|binding| {
            binding.cycle.queued.uid() == victim.uid()
                && binding.stage == BindingStage::PreBind
                && binding.has_pre_bind_work
        });
        match binding {
            Some(binding) => {
                binding.cancelled.get_or_insert_with(|| format!("preempted by {plugin}"));
                true
            }
            None => false,
        }
    }

    /// The outcome of marking or deleting a victim.
    pub(super) fn preemption_returned(
        &mut self,
        preemptor: &Uid,
        victim: &Uid,
        result: Result<(), ApiFailure>,
    ) {
        let Some(index) = self.preemption_runs.iter().position(|run| run.preemptor.uid() == preemptor) else {
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
                    run.has_failed = true;
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
            note: format!("Preempted by pod {} on node {}{suffix}", run.preemptor.uid(), run.node),
        });
    }
}

fn delete(victim: &Pod) -> EffectKind {
    EffectKind::DeletePod { pod: victim.key(), uid: victim.uid().clone() }
}
