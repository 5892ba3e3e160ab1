//! The search for pods that could make room for a group as a whole, on all nodes of the cluster
//! (`WorkloadAwarePreemption`, KEP-5710).
//!
//! Mirrors `pkg/scheduler/framework/preemption/podgrouppreemption.go`: all pods of lower priority are taken away in
//! thought, then as many as possible are put back, the most important first, each time with a trial of the group.
//! Pods of a group with the disruption mode PodGroup go together or not at all.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::{NamespacedName, Str, Time, Uid};
use crate::config::Gate;
use crate::framework::preemption::{Candidate, Victims};
use crate::framework::{Code, Framework, PodInfo, Snapshot, Status};
use crate::plugins::default_preemption::DisruptionBudget;
use crate::plugins::helper::sort::sort_slice;
use crate::plugins::names;

use super::super::Scheduler;
use super::super::pod_group_trace::{GroupStep, RunPurpose};
use super::super::preemptor::Preemptor;
use super::GroupCycle;
use super::placements::Run;

/// Pods that can only be evicted together: one, or all of a group.
#[derive(Clone, Debug)]
struct Unit {
    pods: Vec<Arc<PodInfo>>,
    priority: i32,
    /// When the pod started that was found first.
    started: Time,
}

impl Unit {
    /// Whether its pods belong to a group, whatever may be evicted together.
    fn is_of_group(&self) -> bool {
        self.pods.first().is_some_and(|info| info.pod.pod_group_name().is_some())
    }

    fn keys(&self) -> Vec<NamespacedName> {
        self.pods.iter().map(|info| info.pod.key()).collect()
    }

    /// Whether it is more important than another one (`moreImportantVictim`).
    fn is_more_important(&self, other: &Self) -> bool {
        let key = |unit: &Self| {
            let n_pods = if unit.is_of_group() { unit.pods.len() } else { 0 };
            (Reverse(unit.priority), Reverse(unit.is_of_group()), Reverse(n_pods), unit.started)
        };
        key(self) < key(other)
    }
}

/// The search, as far as it has come.
#[derive(Clone, Debug)]
pub(super) struct VictimSearch {
    /// The nodes as they are.
    backup: Snapshot,
    /// Those that are taken away and have not been put back yet, in the order in which that is tried.
    waiting: VecDeque<Unit>,
    /// The one that has been put back and may stay if the group fits.
    on_trial: Option<Unit>,
    /// Those that have to go.
    victims: Vec<Unit>,
}

impl VictimSearch {
    pub fn n_found(&self) -> usize {
        self.victims.len()
    }
}

impl Scheduler {
    /// What follows the run that schedules the group.
    pub(super) fn step_after_schedule(&self, status: &Status) -> GroupStep {
        let is_workload_aware = self.options.gates.is_enabled(Gate::WorkloadAwarePreemption);
        if is_workload_aware && status.code() == Code::Unschedulable {
            GroupStep::Preempt
        } else {
            GroupStep::Submit
        }
    }

    /// Begins the search.
    pub(super) fn search_victims(&mut self, group: &mut GroupCycle, framework: &Framework) {
        let potential = match self.potential_victims(group, framework) {
            Ok(potential) => potential,
            Err(status) => return end_search(group, &status),
        };
        let backup = self.world.snapshot.clone();
        for unit in &potential {
            self.take_away(unit);
        }
        group.search =
            Some(VictimSearch { backup, waiting: potential.into(), on_trial: None, victims: Vec::new() });
        group.run = Run::new(RunPurpose::WithoutVictims);
        group.step = GroupStep::Generate;
    }

    fn potential_victims(&self, group: &GroupCycle, framework: &Framework) -> Result<Vec<Unit>, Status> {
        if !framework.all.iter().any(|plugin| plugin.name() == names::DEFAULT_PREEMPTION) {
            let text = "default preemption plugin is not registered, workload aware preemption is disabled";
            return Err(Status::unschedulable(text));
        }
        let key = NamespacedName { namespace: group.info.namespace.clone(), name: group.info.name.clone() };
        let Some(object) = self.world.objects.pod_groups.get(&key) else {
            return Err(Status::error(format!(
                "failed to get pod group object: podgroup.scheduling.k8s.io {:?} not found",
                group.info.name
            )));
        };
        if object.topology_key().is_some() {
            let text =
                "workload aware preemption is not supported for pod groups with scheduling constraints";
            return Err(Status::unschedulable(text));
        }
        let never = |info: &crate::framework::QueuedPodInfo| {
            info.pod().spec.preemption_policy.as_deref() == Some("Never")
        };
        if group.members.iter().any(never) {
            return Err(Status::unschedulable("not eligible due to preemptionPolicy=Never."));
        }
        let priority = object.priority();
        let units: Vec<Unit> = self.units().into_iter().filter(|unit| unit.priority < priority).collect();
        if units.is_empty() {
            return Err(Status::unresolvable("No preemption victims found for incoming preemptor"));
        }
        Ok(units)
    }

    /// All pods on nodes, by what can be evicted together, in the order of the nodes.
    fn units(&self) -> Vec<Unit> {
        let mut units: Vec<Unit> = Vec::new();
        let mut of_group: BTreeMap<Uid, usize> = BTreeMap::new();
        for info in self.world.snapshot.list().iter().flat_map(|node| node.pods()) {
            let object = info.pod.pod_group_name().and_then(|name| {
                let key =
                    NamespacedName { namespace: info.pod.metadata.namespace.clone(), name: name.clone() };
                self.world.objects.pod_groups.get(&key)
            });
            let started = info.pod.status.start_time.unwrap_or(self.world.now);
            let mut unit = Unit { pods: vec![Arc::clone(info)], priority: info.pod.priority(), started };
            if let Some(object) = object.filter(|object| object.is_disrupted_as_one()) {
                let known = of_group.get(&object.metadata.uid).and_then(|index| units.get_mut(*index));
                if let Some(known) = known {
                    known.pods.push(Arc::clone(info));
                    continue;
                }
                of_group.insert(object.metadata.uid.clone(), units.len());
                unit.priority = object.priority();
            }
            units.push(unit);
        }
        units
    }

    /// A trial of the search is over.
    pub(super) fn victim_run_ended(&mut self, group: &mut GroupCycle, status: &Status) {
        let Some(mut search) = group.search.take() else { return };
        let fits = status.is_success();
        match search.on_trial.take() {
            Some(unit) if fits => drop(unit),
            Some(unit) => {
                self.take_away(&unit);
                search.victims.push(unit);
            }
            None if fits => {
                let units = std::mem::take(&mut search.waiting);
                search.waiting = self.in_order_of_reprieve(units.into());
            }
            None => {
                self.world.snapshot = search.backup;
                return end_search(group, status);
            }
        }
        match search.waiting.pop_front() {
            Some(unit) => {
                self.put_back(&unit);
                group.run = Run::new(RunPurpose::Spare(unit.keys()));
                group.step = GroupStep::Generate;
                search.on_trial = Some(unit);
                group.search = Some(search);
            }
            None => {
                self.world.snapshot = search.backup;
                let mut victims = search.victims;
                sort_slice(&mut victims, Unit::is_more_important);
                self.preempt_for_group(group, victims.into_iter().flat_map(|unit| unit.pods).collect());
            }
        }
    }

    /// The most important first; those whose eviction violates a disruption budget before all others.
    fn in_order_of_reprieve(&self, mut units: Vec<Unit>) -> VecDeque<Unit> {
        sort_slice(&mut units, Unit::is_more_important);
        let budgets = DisruptionBudget::all(&self.world.objects);
        let mut allowed: Vec<i64> = budgets.iter().map(|budget| i64::from(budget.allowed())).collect();
        let mut violates = |info: &Arc<PodInfo>| {
            budgets.iter().zip(&mut allowed).any(|(budget, allowed)| {
                if !budget.counts(&info.pod) {
                    return false;
                }
                *allowed -= 1;
                *allowed < 0
            })
        };
        let (violating, others): (Vec<Unit>, Vec<Unit>) =
            units.into_iter().partition(|unit| unit.pods.iter().any(&mut violates));
        violating.into_iter().chain(others).collect()
    }

    fn take_away(&mut self, unit: &Unit) {
        for info in &unit.pods {
            self.change_node(info, |node| {
                node.remove_pod(&info.pod);
            });
        }
    }

    fn put_back(&mut self, unit: &Unit) {
        for info in &unit.pods {
            self.change_node(info, |node| node.add_pod(Arc::clone(info)));
        }
    }

    fn change_node(&mut self, info: &PodInfo, change: impl FnOnce(&mut crate::framework::NodeInfo)) {
        let Some(node) = self.world.snapshot.get(&info.pod.spec.node_name) else { return };
        let mut node = node.as_ref().clone();
        change(&mut node);
        self.world.snapshot.replace(Arc::new(node));
    }

    /// The victims are found: the group waits until they are gone.
    fn preempt_for_group(&mut self, group: &mut GroupCycle, victims: Vec<Arc<PodInfo>>) {
        group.note(|trace| trace.victims = victims.iter().map(|info| info.pod.key()).collect());
        let key = NamespacedName { namespace: group.info.namespace.clone(), name: group.info.name.clone() };
        let Some(object) = self.world.objects.pod_groups.get(&key).cloned() else {
            // Gone since the search began: there is nobody any more who would wait for the room.
            return end_search(group, &Status::error(format!("pod group {key} is gone")));
        };
        let preemptor = Preemptor::pod_group(&object, group.info.unscheduled_pods.clone());
        let candidate = Candidate {
            node_name: Str::from("cluster"),
            victims: Victims { pods: victims, ..Victims::default() },
        };
        let is_async = self.options.gates.is_enabled(Gate::SchedulerAsyncPreemption);
        self.prepare_candidate(preemptor, candidate, Str::from(names::DEFAULT_PREEMPTION), is_async);
        if is_async {
            return end_search(group, &Status::SUCCESS);
        }
        group.is_evicting = true;
        group.step = GroupStep::Preempt;
    }

    /// Without `SchedulerAsyncPreemption`: the victims of a group are out of the way, or cannot be got there.
    pub(in crate::scheduler) fn room_made_for_group(&mut self, evicted: Result<(), String>) {
        let Some(group) = self.group.as_mut().filter(|group| group.is_evicting) else { return };
        group.is_evicting = false;
        end_search(group, &evicted.map_or_else(Status::error, |()| Status::SUCCESS));
    }
}

/// What the search came to, for the group.
fn end_search(group: &mut GroupCycle, status: &Status) {
    group.step = GroupStep::Submit;
    let Some(result) = &mut group.result else { return };
    if status.is_success() {
        result.is_waiting_on_preemption = true;
    } else if status.is_error() {
        result.status = status.clone();
    } else {
        result.status.append_reason(status.message());
    }
}
