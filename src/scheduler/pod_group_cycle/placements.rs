//! The placements, one after the other, and the choice among those that have room
//! (`podGroupSchedulingPlacementAlgorithm`).

use std::sync::Arc;

use crate::api::{Digest, Str};
use crate::config::Gate;
use crate::framework::pod_group::{Placement, PodGroupAssignments};
use crate::framework::{Framework, Status};

use super::super::pod_group_trace::{GroupStep, PlacementTrace, RunPurpose, RunTrace};
use super::super::{Scheduler, TieBreak};
use super::trial::Trial;
use super::{GroupCycle, GroupResult, MemberEnd};

/// A run over all placements, as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub purpose: RunPurpose,
    placements: Vec<Placement>,
    /// The placement that is tried.
    index: usize,
    pub trial: Trial,
    /// What the first placement came to; told of if none has room.
    first: Option<GroupResult>,
    /// The placements that have room, with what they came to.
    feasible: Vec<(usize, GroupResult)>,
}

impl Default for Run {
    fn default() -> Self {
        Self::new(RunPurpose::Schedule)
    }
}

impl Run {
    pub fn new(purpose: RunPurpose) -> Self {
        Self {
            purpose,
            placements: Vec::new(),
            index: 0,
            trial: Trial::new(None),
            first: None,
            feasible: Vec::new(),
        }
    }

    pub fn digest(&self, digest: &mut Digest) {
        digest.len(self.placements.len()).len(self.index).len(self.feasible.len());
        for member in &self.trial.result.members {
            digest.str(member.cycle.queued.uid()).str(member.cycle.host.as_deref().unwrap_or_default());
        }
        digest.str(self.trial.result.status.code().as_str());
    }
}

impl Scheduler {
    pub(super) fn generate_placements(&mut self, group: &mut GroupCycle, framework: &Framework) {
        let is_topology_aware = self.options.gates.is_enabled(Gate::TopologyAwareWorkloadScheduling);
        let nodes = self.world.snapshot.list();
        let generated = if is_topology_aware {
            framework.run_placement_generate_plugins(&self.world.handle(framework), &group.info, nodes)
        } else {
            Ok(vec![Placement { nodes: nodes.to_vec(), ..Placement::default() }])
        };
        let purpose = group.run.purpose.clone();
        group.note(|trace| {
            let names = generated.iter().flatten().map(|placement| placement.name.clone()).collect();
            trace.runs.push(RunTrace {
                purpose,
                placement_names: names,
                placements: Vec::new(),
                scores: None,
                chosen: None,
                status: None,
            });
        });
        match generated {
            Ok(placements) => {
                group.run.placements = placements;
                group.step = GroupStep::Place;
            }
            Err(status) => self.run_ended(group, GroupResult::of_status(status)),
        }
    }

    pub(super) fn take_up_placement(&mut self, group: &mut GroupCycle) {
        let n_nodes = self.world.snapshot.num_nodes();
        let placement = group.run.placements.get(group.run.index);
        let positions: Option<Arc<[usize]>> =
            placement.filter(|placement| placement.nodes.len() != n_nodes).map(|placement| {
                let position = |node: &Arc<_>| self.world.snapshot.position_of(node);
                placement.nodes.iter().filter_map(position).collect()
            });
        let (name, n_nodes) = placement.map_or_else(Default::default, |p| (p.name.clone(), p.nodes.len()));
        group.run.trial = Trial::new(positions);
        group.step = GroupStep::Members;
        group.note(|trace| {
            let placement = PlacementTrace {
                name,
                n_nodes,
                members: Vec::new(),
                status: None,
                is_waiting_on_preemption: false,
            };
            if let Some(run) = trace.runs.last_mut() {
                run.placements.push(placement);
            }
        });
    }

    pub(super) fn end_placement(&mut self, group: &mut GroupCycle, framework: &Framework) {
        let mut result = std::mem::replace(&mut group.run.trial, Trial::new(None)).result;
        self.revert_trial(&mut result, framework);
        let (status, is_waiting) = (result.status.clone(), result.is_waiting_on_preemption);
        group.note(|trace| {
            let run = trace.runs.last_mut();
            if let Some(placement) = run.and_then(|run| run.placements.last_mut()) {
                placement.status = Some(status);
                placement.is_waiting_on_preemption = is_waiting;
            }
        });
        let is_topology_aware = self.options.gates.is_enabled(Gate::TopologyAwareWorkloadScheduling);
        if !is_topology_aware || result.status.is_error() {
            return self.run_ended(group, result);
        }
        if result.status.is_success() || is_waiting {
            group.run.feasible.push((group.run.index, result));
        } else if group.run.first.is_none() && group.run.index == 0 {
            group.run.first = Some(result);
        }
        group.run.index += 1;
        let is_over = group.run.index >= group.run.placements.len();
        group.step = if is_over { GroupStep::Choose } else { GroupStep::Place };
    }

    pub(super) fn choose_placement(&mut self, group: &mut GroupCycle, framework: &Framework) {
        let n_placements = group.run.placements.len();
        let mut feasible = std::mem::take(&mut group.run.feasible);
        if feasible.is_empty() {
            let first = group.run.first.take();
            let mut result = first.unwrap_or_else(|| GroupResult::of_status(Status::SUCCESS));
            let reasons = result.status.reasons();
            let text = reasons.first().map(String::as_str).unwrap_or_default();
            result.status = Status::unschedulable(format!(
                "0/{n_placements} placements are available, first placement status: {text}"
            ));
            return self.run_ended(group, result);
        }
        let index = if feasible.len() == 1 {
            0
        } else {
            match self.best_placement(group, framework, &feasible) {
                Ok(index) => index,
                Err(status) => return self.run_ended(group, GroupResult::of_status(status)),
            }
        };
        let (placement, result) = feasible.swap_remove(index);
        let name = group.run.placements.get(placement).map(|placement| placement.name.clone());
        group.note(|trace| {
            if let Some(run) = trace.runs.last_mut() {
                run.chosen = name;
            }
        });
        self.run_ended(group, result);
    }

    /// Which of the placements that have room is the best (`findBestPlacement`).
    fn best_placement(
        &mut self,
        group: &mut GroupCycle,
        framework: &Framework,
        feasible: &[(usize, GroupResult)],
    ) -> Result<usize, Status> {
        let assignments: Vec<PodGroupAssignments> = feasible
            .iter()
            .map(|(placement, result)| PodGroupAssignments {
                placement: group.run.placements.get(*placement).cloned().unwrap_or_default(),
                proposed: result
                    .members
                    .iter()
                    .filter(|member| !matches!(member.end, MemberEnd::Failed { .. }))
                    .filter_map(|member| {
                        Some((Arc::clone(member.cycle.queued.pod()), member.cycle.host.clone()?))
                    })
                    .collect(),
            })
            .collect();
        let outcome = framework.run_placement_score_plugins(
            &self.world.handle(framework),
            &group.info,
            &assignments,
        )?;
        let best = outcome.totals.iter().max().copied();
        let mut ties: Vec<(&Str, usize)> = assignments
            .iter()
            .zip(&outcome.totals)
            .enumerate()
            .filter(|(_, (_, total))| Some(**total) == best)
            .map(|(index, (assignment, _))| (&assignment.placement.name, index))
            .collect();
        ties.sort_unstable();
        let choice = match self.options.tie_break {
            TieBreak::Random if ties.len() > 1 => self.world.rng.borrow_mut().below(ties.len()),
            TieBreak::Random | TieBreak::ByName => 0,
        };
        let chosen = ties.get(choice).map_or(0, |(_, index)| *index);
        let names = assignments.iter().map(|assignment| assignment.placement.name.clone()).collect();
        group.note(|trace| {
            if let Some(run) = trace.runs.last_mut() {
                run.scores = Some((names, outcome));
            }
        });
        Ok(chosen)
    }

    /// A run over the placements is over.
    fn run_ended(&mut self, group: &mut GroupCycle, result: GroupResult) {
        let status = result.status.clone();
        group.note(|trace| {
            if let Some(run) = trace.runs.last_mut() {
                run.status = Some(status);
            }
        });
        if group.run.purpose == RunPurpose::Schedule {
            group.step = self.step_after_schedule(&result.status);
            group.result = Some(result);
        } else {
            self.victim_run_ended(group, &result.status);
        }
    }
}
