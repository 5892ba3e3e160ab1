//! Makes the read model.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str, Time, Uid};
use crate::framework::runtime::waiting_pods::WaitingPods;
use crate::framework::{NodeInfo, QueuedPodInfo};
use crate::queue::QueueName;

use super::Scheduler;
use super::cycle::BindingStage;
use super::pod_group_trace::GroupTrace;
use super::trace::{CycleTrace, Phase};
use super::view::{BindingRow, Counts, CycleSummary, QueueMoveLine, QueueRow, View, WaitingRow};
use super::waits;

impl Scheduler {
    /// The scheduler as a person sees it now. Costs time in proportion to pending pods and nodes, so a driver makes
    /// one when somebody looks, not for each input.
    pub fn view(&self) -> View {
        let now = self.world.now;
        let pending = self.queue.pending_pods(now);
        let active_q: Vec<QueueRow> = pending.active.iter().map(|info| self.queue_row(info)).collect();
        let backoff_q: Vec<QueueRow> = pending
            .backoff
            .iter()
            .map(|pod| QueueRow {
                backoff_expiration: Some(pod.info.backoff_expiration),
                backoff_duration: Some(pod.duration),
                is_error_backoff: pod.is_error,
                ..self.queue_row(&pod.info)
            })
            .collect();
        let unschedulable_pods: Vec<QueueRow> = pending
            .unschedulable
            .iter()
            .map(|pod| QueueRow { flush_at: pod.flush_at, ..self.queue_row(&pod.info) })
            .collect();
        let waiting: Vec<WaitingRow> = self
            .world
            .waiting_pods
            .iter()
            .filter(|waiting| waiting.signal.is_none())
            .map(|waiting| WaitingRow {
                pod: Arc::clone(&waiting.pod_info.pod),
                node: waiting.node_name.clone(),
                since: waiting.since,
                plugins: waiting
                    .pending_plugins
                    .iter()
                    .map(|(plugin, timeout)| (plugin.clone(), waiting.since + *timeout))
                    .collect(),
            })
            .collect();
        let binding = self.binding_rows();
        let nodes: Vec<Arc<NodeInfo>> =
            self.cache.nodes().filter(|node| node.node().is_some()).cloned().collect();
        let counts = Counts {
            active: active_q.len(),
            backoff: backoff_q.len(),
            unschedulable: unschedulable_pods.len(),
            gated: unschedulable_pods.iter().filter(|row| row.gated_by.is_some()).count(),
            waiting: waiting.len(),
            binding: binding.len(),
            nodes: nodes.len(),
            assigned: nodes.iter().map(|node| node.pods().len()).sum(),
            ..self.counts
        };
        View {
            now,
            counts,
            active_q,
            backoff_q,
            unschedulable_pods,
            waiting,
            binding,
            in_flight: pending.in_flight.iter().map(|in_flight| Arc::clone(&in_flight.pod)).collect(),
            nodes,
            cycle: self.current_trace(),
            group: self.group_trace(),
            history: Arc::clone(&self.journal.history),
            events: Arc::clone(&self.journal.events),
            pod_logs: Arc::clone(&self.journal.pods.logs),
            listeners: Arc::clone(&self.world.listeners),
            own_plugins: Arc::clone(&self.world.own_plugins),
            assumptions: self.assumptions(),
            device_claims: self.device_claims(),
            pdbs: self.world.objects.pod_disruption_budgets.values().map(Arc::clone).collect(),
            pod_groups: self.world.objects.pod_groups.values().map(Arc::clone).collect(),
            moves: Arc::clone(&self.journal.moves),
            n_dropped: self.journal.n_dropped,
        }
    }

    /// The attempt that has ended last, if more than so many have ended and evidence is kept.
    pub fn last_attempt_after(&self, n_outcomes: u64) -> Option<CycleSummary> {
        (self.n_outcomes > n_outcomes).then(|| self.journal.history.back().cloned()).flatten()
    }

    /// About how many bytes a copy of the scheduler keeps for itself once this one has gone on. Objects are shared;
    /// what is counted are the tables that a copy has of its own, and what is copied when it is changed.
    pub fn estimated_bytes(&self) -> usize {
        /// A place in a table: the key, the reference, what the table itself needs.
        const PLACE: usize = 100;
        /// What is kept about a pod that waits.
        const QUEUED: usize = 300;
        /// What is kept about a node, in the cache and in the snapshot.
        const NODE: usize = 600;
        /// Lines for people.
        const LINES: usize = 400_000;
        let n_nodes = self.cache.nodes().count();
        LINES + self.objects().len() * PLACE + self.n_pending() * QUEUED + n_nodes * NODE
    }

    /// The pods whose attempts are not over, in the order in which they were popped.
    pub fn in_flight_pods(&self) -> Vec<Arc<Pod>> {
        let pending = self.queue.pending_pods(self.world.now);
        pending.in_flight.into_iter().map(|in_flight| in_flight.pod).collect()
    }

    /// How many events are kept for them: none when there are none.
    pub fn n_in_flight_events(&self) -> usize {
        self.queue.n_in_flight_events()
    }

    /// The pods that count on a node and are not bound to it yet.
    pub fn assumed_pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        let pods = self.cache.nodes().flat_map(|node| node.pods()).map(|info| &info.pod);
        pods.filter(|pod| self.cache.is_assumed_pod(pod))
    }

    /// The nominations: node and pod.
    pub fn nominations(&self) -> impl Iterator<Item = (&Str, &Arc<Pod>)> {
        self.world.nominator.iter().map(|(node, info)| (node, &info.pod))
    }

    /// Whether the cache has a node of that name, or pods that are on it.
    pub fn caches_node(&self, name: &Str) -> bool {
        self.cache.has_entry(name)
    }

    /// The pods that wait at Permit.
    pub fn waiting_pods(&self) -> &WaitingPods {
        &self.world.waiting_pods
    }

    /// What comes next in the attempt under way.
    pub fn next_phase_of_attempt(&self) -> Option<Phase> {
        self.cycle.as_ref().map(|cycle| cycle.next)
    }

    /// Whether a pod of a group is on its way to its node.
    pub fn has_binding_of_member(&self) -> bool {
        self.binding_cycles.iter().any(|binding| binding.cycle.queued.pod().pod_group_name().is_some())
    }

    /// Whether the next turn of that pod begins its binding cycle, and the pod belongs to a group.
    pub fn begins_binding_of_member(&self, uid: &Uid) -> bool {
        self.binding_cycles.get(uid).is_some_and(|binding| {
            binding.stage == BindingStage::Begin && binding.cycle.queued.pod().pod_group_name().is_some()
        })
    }

    /// How many moves between queues there have been.
    pub fn n_moves(&self) -> u64 {
        self.journal.n_moves
    }

    /// The moves between queues after the first `n` there were; the oldest of very many are lost.
    pub fn moves_after(&self, n: u64) -> impl Iterator<Item = &QueueMoveLine> {
        let n_new = usize::try_from(self.journal.n_moves.saturating_sub(n)).unwrap_or(usize::MAX);
        self.journal.moves.iter().skip(self.journal.moves.len().saturating_sub(n_new))
    }

    /// Attempts, binds and evictions so far; the other counts are those of a view.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How many attempts have ended, well or badly.
    pub fn n_outcomes(&self) -> u64 {
        self.n_outcomes
    }

    /// How many pods wait to be scheduled, those under way included.
    pub fn n_pending(&self) -> usize {
        self.n_queued()
            + self.binding_cycles.len()
            + match &self.group {
                Some(group) => group.n_pending(),
                None => usize::from(self.is_in_cycle()),
            }
    }

    fn n_queued(&self) -> usize {
        [QueueName::Active, QueueName::Backoff, QueueName::Unschedulable]
            .into_iter()
            .map(|queue| self.queue.len(queue))
            .sum()
    }

    /// Whether something will go on as time passes: an attempt, a binding, a backoff, a wait at Permit, a preemption.
    pub fn is_moving(&self) -> bool {
        self.is_in_cycle()
            || !self.binding_cycles.is_empty()
            || !self.preemption_runs.is_empty()
            || !self.pending_effects.is_empty()
            || self.queue.len(QueueName::Backoff) > 0
    }

    /// Whether something goes on beside the attempts: a binding, a wait at Permit, a preemption.
    pub fn is_busy_beside_attempts(&self) -> bool {
        !self.binding_cycles.is_empty()
            || !self.preemption_runs.is_empty()
            || !self.pending_effects.is_empty()
    }

    /// Whether a profile has that `schedulerName`.
    pub fn has_profile(&self, scheduler_name: &str) -> bool {
        self.world.profile(scheduler_name).is_some()
    }

    /// The PreEnqueue plugin that holds a pod.
    pub fn gating_plugin(&self, uid: &Uid) -> Option<Str> {
        let (info, _) = self.queue.get(uid)?;
        Some(info.gating_plugin.clone()).filter(|plugin| !plugin.is_empty())
    }

    /// What the last attempt of a pending pod said.
    pub fn last_message(&self, uid: &Uid) -> Option<&Str> {
        self.last_messages.get(uid)
    }

    /// The evidence of the cycle of a pod group under way, else of the last one.
    pub fn group_trace(&self) -> Option<Arc<GroupTrace>> {
        let under_way = self.group.as_ref().and_then(|group| group.trace());
        under_way.map(|trace| Arc::new(trace.clone())).or_else(|| self.journal.last_group.clone())
    }

    /// Past attempts, the newest last; bounded, and kept only where evidence is.
    pub fn history(&self) -> &VecDeque<CycleSummary> {
        &self.journal.history
    }

    /// The evidence of the attempt under way, else of the newest that there is: of one on its way to its node, or of the
    /// last that has ended.
    pub fn newest_trace(&self) -> Option<&CycleTrace> {
        let suspended = self.suspended.iter().map(|suspended| &suspended.cycle);
        let under_way = self.cycle.iter().chain(suspended).find_map(|cycle| cycle.trace.as_deref());
        under_way.or_else(|| {
            let bindings = self.binding_cycles.iter().filter_map(|binding| binding.cycle.trace.as_deref());
            bindings.chain(self.journal.last_trace.as_deref()).max_by_key(|trace| trace.number)
        })
    }

    /// The evidence of the attempt for a pod, while it is under way or if it was the last one that ended.
    pub fn trace_of(&self, pod: &NamespacedName) -> Option<&CycleTrace> {
        let bindings = self.binding_cycles.iter().map(|binding| &binding.cycle);
        let suspended = self.suspended.iter().map(|suspended| &suspended.cycle);
        let under_way = self.cycle.iter().chain(suspended).chain(bindings);
        let under_way = under_way.filter_map(|cycle| cycle.trace.as_deref());
        under_way.chain(self.journal.last_trace.as_deref()).find(|trace| trace.pod_key() == *pod)
    }

    /// The evidence of the attempt under way, else of the one that a person steps through its binding cycle, else
    /// of the newest.
    fn current_trace(&self) -> Option<Arc<CycleTrace>> {
        let cycle = self.cycle.as_ref().or_else(|| Some(&self.suspended.as_ref()?.cycle));
        let under_way = cycle.and_then(|cycle| cycle.trace.as_ref());
        if let Some(trace) = under_way {
            return Some(Arc::new((**trace).clone()));
        }
        if let Some(group) = &self.group {
            // Between two members it is the one that was tried last, or the first one.
            let run = group.trace().and_then(|trace| trace.runs.first());
            let tried =
                run.and_then(|run| run.placements.last()).and_then(|placement| placement.members.last());
            if let Some(trace) = tried.and_then(|member| member.trace.as_ref()) {
                return Some(Arc::clone(trace));
            }
            let first = group.first_member().zip(group.trace());
            if let Some((info, trace)) = first {
                let mut cycle = self.new_cycle(info.clone(), self.counts.cycles);
                self.add_trace(&mut cycle, trace.popped_from);
                return cycle.trace.map(Arc::from);
            }
        }
        let newest_binding = self
            .binding_cycles
            .iter()
            .filter_map(|binding| binding.cycle.trace.as_ref())
            .max_by_key(|trace| trace.number);
        match (newest_binding, &self.journal.last_trace) {
            (Some(binding), Some(last)) if binding.number < last.number => Some(Arc::clone(last)),
            (Some(binding), _) => Some(Arc::new((**binding).clone())),
            (None, last) => last.clone(),
        }
    }

    fn queue_row(&self, info: &QueuedPodInfo) -> QueueRow {
        QueueRow {
            pod: Arc::clone(info.pod()),
            attempts: info.attempts,
            since: info.timestamp,
            backoff_expiration: None,
            backoff_duration: None,
            is_error_backoff: false,
            consecutive_errors: info.consecutive_errors_count,
            gated_by: Some(&info.gating_plugin).filter(|plugin| !plugin.is_empty()).cloned(),
            unschedulable_plugins: info.unschedulable_plugins.iter().cloned().collect(),
            pending_plugins: info.pending_plugins.iter().cloned().collect(),
            nominated_node: self.world.nominator.nominated_node_of(info.uid()).cloned(),
            message: self.last_messages.get(info.uid()).cloned(),
            flush_at: None,
        }
    }

    fn binding_rows(&self) -> Vec<BindingRow> {
        self.binding_cycles
            .iter()
            .filter(|binding| {
                self.world
                    .waiting_pods
                    .get(binding.cycle.queued.uid())
                    .is_none_or(|waiting| waiting.signal.is_some())
            })
            .map(|binding| BindingRow {
                pod: Arc::clone(binding.cycle.queued.pod()),
                node: binding.host.clone(),
                since: binding.since,
                phase: match binding.stage {
                    BindingStage::Begin | BindingStage::NominationCalled | BindingStage::WaitOnPermit => {
                        Phase::WaitOnPermit
                    }
                    BindingStage::PreBind => Phase::PreBind,
                    BindingStage::Bind | BindingStage::BindCalled => Phase::Bind,
                    BindingStage::PostBind => Phase::PostBind,
                },
                waits: match binding.stage {
                    BindingStage::PreBind => waits::of_binding(&binding.cycle.state),
                    _ => Vec::new(),
                },
            })
            .collect()
    }

    /// What happens by itself next, and when; for a person who moves time by hand.
    pub fn next_timeout_reason(&self) -> Option<(Time, Str)> {
        let at = self.poll_timeout()?;
        let reason = if self.world.waiting_pods.next_deadline() == Some(at) {
            "a Permit plugin gives up"
        } else if self.binding_cycles.next_wake_up() == Some(at) {
            "a PreBind plugin looks again"
        } else if self.queue.len(QueueName::Backoff) > 0 {
            "a backoff ends"
        } else {
            "the flush of unschedulable pods"
        };
        Some((at, Str::from(reason)))
    }
}
