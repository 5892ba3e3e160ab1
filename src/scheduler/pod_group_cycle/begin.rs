//! The members are taken out of the queue and looked at (`podGroupInfoForPod`, `scheduleOnePodGroup`).

use std::cmp::Reverse;
use std::sync::Arc;

use crate::api::NamespacedName;
use crate::api::objects::Pod;
use crate::config::Gate;
use crate::framework::pod_group::{PodGroupInfo, PodGroupStage};
use crate::framework::{NominatingInfo, QueuedPodInfo, Status};
use crate::queue::Popped;

use super::super::Scheduler;
use super::super::cycle::Failure;
use super::super::pod_group_trace::{GroupMember, GroupOutcome, GroupStep, GroupTrace};
use super::super::trace::PoppedFrom;
use super::placements::Run;
use super::{GroupCycle, GroupResult};

impl Scheduler {
    /// Whether the pod is scheduled with its group.
    pub(in crate::scheduler) fn is_scheduled_with_group(&self, pod: &Pod) -> bool {
        let is_grouping = self.options.is_grouping && self.options.gates.is_enabled(Gate::GenericWorkload);
        is_grouping && pod.pod_group_name().is_some()
    }

    /// A member was popped: the others that wait come with it.
    pub(in crate::scheduler) fn begin_group_cycle(&mut self, popped: Popped, is_stepped: bool) {
        let pod = Arc::clone(popped.info.pod());
        let namespace = pod.metadata.namespace.clone();
        let name = pod.pod_group_name().cloned().unwrap_or_default();
        let popped_from = popped.from;
        let mut unscheduled: Vec<(u64, Arc<Pod>)> = match self.world.pod_groups.get(&namespace, &name) {
            Ok(state) => {
                let pods = state.pods_at(PodGroupStage::Unscheduled);
                pods.map(|pod| (state.arrival(pod.uid()), Arc::clone(pod))).collect()
            }
            Err(error) => {
                self.counts.cycles += 1;
                let mut cycle = self.new_cycle(popped.info, self.counts.cycles);
                self.add_trace(&mut cycle, popped_from);
                let text = format!("error while retrieving pod group state: {error}");
                let failure = Failure::Status(Status::error(text));
                self.handle_scheduling_failure(cycle, failure, &NominatingInfo::Noop);
                return;
            }
        };
        unscheduled.sort_by_key(|(arrival, _)| *arrival);
        let uid = popped.info.uid().clone();
        let mut members = vec![popped.info];
        for (_, other) in unscheduled.iter().filter(|(_, other)| other.key() != pod.key()) {
            let env = self.world.queue_env();
            members.extend(self.queue.pop_specific_pod(&env, other));
        }
        let arrival_of = |info: &QueuedPodInfo| {
            let found = unscheduled.iter().find(|(_, pod)| pod.uid() == info.uid());
            found.map_or(u64::MAX, |(arrival, _)| *arrival)
        };
        members.sort_by_cached_key(|info| {
            (Reverse(info.pod().priority()), info.initial_attempt_timestamp, arrival_of(info))
        });
        for member in &members {
            self.note_attempt(&member.pod().key());
        }
        let first_number = self.counts.cycles + 1;
        self.counts.cycles += u64::try_from(members.len()).unwrap_or_default();

        let scheduler_name = members.first().map(|info| info.pod().spec.scheduler_name.clone());
        let scheduler_name = scheduler_name.unwrap_or_default();
        let other =
            members.iter().map(|info| &info.pod().spec.scheduler_name).find(|n| **n != scheduler_name);
        let mixture = other.map(|other| {
            Status::error(format!(
                "all pods in a single pod group should have the same .spec.schedulerName set, got: \
                 {other:?} and {scheduler_name:?}"
            ))
        });
        let group = NamespacedName { namespace: namespace.clone(), name: name.clone() };
        let mut trace = self.options.is_tracing.then(|| {
            let member = |info: &QueuedPodInfo| GroupMember {
                pod: info.pod().key(),
                uid: info.uid().clone(),
                attempt: info.attempts,
                is_popped: *info.uid() == uid,
            };
            Box::new(GroupTrace {
                number: first_number,
                started: self.world.now,
                group,
                popped_from,
                members: members.iter().map(member).collect(),
                runs: Vec::new(),
                victims: Vec::new(),
                step: GroupStep::Pop,
                next: Some(GroupStep::Generate),
                outcome: GroupOutcome::InProgress,
            })
        });
        if mixture.is_none() {
            members = self.skip_members(members, popped_from);
            if members.is_empty() {
                if let Some(trace) = &mut trace {
                    trace.next = None;
                }
                self.journal.last_group = trace.map(Arc::from);
                return;
            }
        }
        self.cache.update_snapshot(&mut self.world.snapshot);
        self.world.snapshot.keep_lists();
        self.world.snapshot_pod_groups = self.world.pod_groups.snapshot_of(&namespace, &name);
        self.world.nominator.know_by_name(members.iter().map(|info| info.uid().clone()));
        let unscheduled_pods = members.iter().map(|info| Arc::clone(info.pod())).collect();
        let is_mixed = mixture.is_some();
        self.group = Some(Box::new(GroupCycle {
            info: PodGroupInfo { namespace, name, unscheduled_pods },
            profile_name: scheduler_name,
            members,
            number: self.counts.cycles,
            step: if is_mixed { GroupStep::Submit } else { GroupStep::Generate },
            run: Run::default(),
            result: mixture.map(GroupResult::of_status),
            search: None,
            needs_room: None,
            is_mixed,
            n_submitted: 0,
            calls: None,
            is_evicting: false,
            is_stepped,
            trace,
        }));
    }

    /// Leaves out members that need not be scheduled any more (`skipPodGroupPodSchedule`).
    fn skip_members(&mut self, members: Vec<QueuedPodInfo>, popped_from: PoppedFrom) -> Vec<QueuedPodInfo> {
        let mut left = Vec::with_capacity(members.len());
        for info in members {
            let Some(reason) = self.reason_to_skip(info.pod()) else {
                left.push(info);
                continue;
            };
            let mut cycle = self.new_cycle(info, self.counts.cycles);
            self.add_trace(&mut cycle, popped_from);
            self.skip_attempt(cycle, reason);
        }
        left
    }
}
