//! Extenders: the questions that an attempt has for them, and what their answers do to it.
//!
//! Mirrors `findNodesThatPassExtenders`, the extender part of `prioritizeNodes` and `extendersBinding` of
//! `pkg/scheduler/schedule_one.go`. How questions are asked is told in
//! `questions.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::Str;
use crate::framework::extender::ExtenderAnswer;
use crate::framework::{Framework, NodeInfo, PodInfo, Status};

use super::Scheduler;
use super::cycle::{BindingCycle, BindingStage, Cycle};
use super::effect::EffectKind;
use super::pending::PendingEffect;
use super::trace::{FilterTrace, NodeVerdict};

/// The name under which pods that an extender rejected are filed (`framework.ExtenderName`).
pub(super) const EXTENDER_NAME: &str = "Extender";

/// An extender's scores go to 10, a plugin's to 100 (`MaxExtenderPriority`).
const SCORE_SCALE: i64 = 10;

impl Scheduler {
    /// Asks the extenders one after the other which of the nodes they let pass. What they turn down is noted in the
    /// diagnosis; nodes that they drop without a word are not.
    pub(super) fn pass_extenders(
        &self,
        cycle: &mut Cycle,
        framework: &Framework,
        mut feasible: Vec<Arc<NodeInfo>>,
        evidence: &mut FilterTrace,
    ) -> Result<Vec<Arc<NodeInfo>>, Status> {
        let before = if evidence.verdicts.is_empty() { Vec::new() } else { feasible.clone() };
        let pod = Arc::clone(cycle.queued.pod());
        let handle = self.world.handle(framework);
        let mut said: BTreeMap<Str, Status> = BTreeMap::new();
        for (index, extender) in self.world.extenders.iter().enumerate() {
            if feasible.is_empty() {
                break;
            }
            if !extender.is_interested(&pod) || !extender.is_filter() {
                continue;
            }
            // Without an answer the phase is given up, so that what is returned here does not matter.
            let Some(answer) = handle.call_extender(extender.filter_call(index, &pod, &feasible)) else {
                return Ok(Vec::new());
            };
            match extender.filter_answer(&answer, &feasible) {
                Ok(result) => {
                    let unresolvable = &result.failed_and_unresolvable;
                    for (node, reason) in unresolvable {
                        said.insert(node.clone(), Status::unresolvable(reason));
                    }
                    for (node, reason) in
                        result.failed.iter().filter(|(node, _)| !unresolvable.contains_key(*node))
                    {
                        said.insert(node.clone(), Status::unschedulable(reason));
                    }
                    feasible = result.nodes;
                }
                Err(_) if extender.ignorable => {}
                Err(text) => {
                    note_statuses(cycle, evidence, said);
                    return Err(Status::error(text));
                }
            }
        }
        for node in before {
            let position = self.world.snapshot.position(node.name());
            let is_left = feasible.iter().any(|left| left.name() == node.name());
            let Some(verdict) = position.and_then(|position| evidence.verdicts.get_mut(position)) else {
                continue;
            };
            if !is_left {
                // Preemption does not try a node that has no status.
                let silent = || Status::unresolvable("left out by an extender without a reason");
                let status = said.get(node.name()).cloned().unwrap_or_else(silent);
                *verdict = NodeVerdict::Rejected(status.with_plugin(EXTENDER_NAME));
            }
        }
        note_statuses(cycle, evidence, said);
        Ok(feasible)
    }

    /// Adds what extenders think of the nodes to the totals. An extender that fails has no opinion.
    pub(super) fn prioritize_with_extenders(
        &self,
        cycle: &Cycle,
        framework: &Framework,
        totals: &mut [i64],
    ) -> Vec<(Str, Vec<i64>)> {
        let handle = self.world.handle(framework);
        let pod = cycle.queued.pod();
        let asked: Vec<(usize, Option<ExtenderAnswer>)> = self
            .world
            .extenders
            .iter()
            .enumerate()
            .filter(|(_, extender)| extender.is_interested(pod) && extender.is_prioritizer())
            .map(|(index, extender)| {
                (index, handle.call_extender(extender.prioritize_call(index, pod, &cycle.feasible)))
            })
            .collect();
        let mut evidence = Vec::new();
        for (index, answer) in asked {
            let (Some(extender), Some(answer)) = (self.world.extenders.get(index), answer) else { continue };
            let Ok(scores) = extender.prioritize_answer(&answer) else { continue };
            let mut by_node: BTreeMap<&str, i64> = BTreeMap::new();
            for (host, score) in &scores {
                let points = score.wrapping_mul(extender.weight).wrapping_mul(SCORE_SCALE);
                let sum = by_node.entry(host).or_default();
                *sum = sum.wrapping_add(points);
            }
            let points: Vec<i64> = cycle
                .feasible
                .iter()
                .map(|node| by_node.get(node.name().as_ref()).copied().unwrap_or(0))
                .collect();
            for (total, points) in totals.iter_mut().zip(&points) {
                *total = total.wrapping_add(*points);
            }
            evidence.push((Str::from(extender.name()), points));
        }
        evidence
    }

    /// Lets the next extender bind the pod that binds and is interested. False if none is left.
    pub(super) fn call_binder(&mut self, binding: &mut BindingCycle, assumed: &PodInfo) -> bool {
        let extenders = Arc::clone(&self.world.extenders);
        let binder = extenders
            .iter()
            .enumerate()
            .skip(binding.next_binder)
            .find(|(_, extender)| extender.is_binder() && extender.is_interested(&assumed.pod));
        let Some((index, extender)) = binder else { return false };
        let call = extender.bind_call(index, &assumed.pod, &binding.host);
        let id = self.emit(EffectKind::CallExtender(call));
        let uid = assumed.uid().clone();
        self.pending_effects.insert(id, PendingEffect::ExtenderBind { uid, extender: index });
        binding.next_binder = index + 1;
        binding.stage = BindingStage::BindCalled;
        true
    }
}

fn note_statuses(cycle: &mut Cycle, evidence: &mut FilterTrace, statuses: BTreeMap<Str, Status>) {
    for (node, status) in statuses {
        if cycle.trace.is_some() {
            evidence.by_extenders.insert(node.clone(), status.clone());
        }
        cycle.diagnosis.node_to_status.set(node, status);
    }
}
