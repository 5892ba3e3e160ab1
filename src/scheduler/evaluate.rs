//! What an attempt for a pod would come to, without making it; to the choice of a node, or to the end of PostFilter.

use std::sync::Arc;

use crate::api::objects::Pod;
use crate::framework::{NominatingInfo, PodInfo, QueuedPodInfo};

use super::Scheduler;
use super::cycle::framework_of;
use super::schedule_one::Next;
use super::trace::{CycleOutcome, CycleTrace, Phase, PoppedFrom};

impl Scheduler {
    /// What an attempt for the pod would come to on the cluster as it is now, up to the choice of a node: every node is
    /// looked at, no ranking of an earlier attempt is used, and extenders are not asked. Nobody is preempted, and the
    /// scheduler stays as it is. Absent if no profile is responsible for the pod.
    ///
    /// Costs a copy of the scheduler, which shares all objects, and one attempt.
    pub fn evaluate(&self, pod: &Arc<Pod>) -> Option<CycleTrace> {
        self.tried(pod, false)
    }

    /// The same, and where no node will do, what PostFilter plugins come to: whom preemption would cost. Nobody is
    /// evicted for it.
    pub fn evaluate_with_post_filter(&self, pod: &Arc<Pod>) -> Option<CycleTrace> {
        self.tried(pod, true)
    }

    /// Whether the configuration names extenders, which no evaluation asks.
    pub fn has_extenders(&self) -> bool {
        !self.world.extenders.is_empty()
    }

    fn tried(&self, pod: &Arc<Pod>, has_post_filter: bool) -> Option<CycleTrace> {
        self.clone().try_out(pod, has_post_filter)
    }

    /// The same for a copy, which is then good for other questions and for nothing else.
    pub(super) fn try_out(&mut self, pod: &Arc<Pod>, has_post_filter: bool) -> Option<CycleTrace> {
        let profiles = Arc::clone(&self.world.profiles);
        let framework = framework_of(&profiles, &pod.spec.scheduler_name)?;
        self.options.is_tracing = true;
        self.options.is_batching = false;
        self.looks_at_all_nodes = true;
        self.world.extenders = Arc::default();
        if has_post_filter {
            // Plugins look up the newest version of the pod, which may be one that is only thought of.
            self.world.objects.pods.insert(pod.key(), Arc::clone(pod));
        }
        self.cache.update_snapshot(&mut self.world.snapshot);
        let pod_info = PodInfo::with_options(Arc::clone(pod), self.world.request_options);
        let queued = QueuedPodInfo::new(Arc::new(pod_info), self.world.now);
        let mut cycle = self.new_cycle(queued, self.counts.cycles);
        self.add_trace(&mut cycle, PoppedFrom::ActiveQ);
        let outcome = loop {
            let phase = cycle.next;
            let next = match phase {
                Phase::PreFilter => self.pre_filter(&mut cycle, framework),
                Phase::Filter => self.filter(&mut cycle, framework),
                Phase::PreScore => self.pre_score(&mut cycle, framework),
                Phase::Score => self.score(&mut cycle, framework),
                Phase::Select => self.select_host(&mut cycle),
                Phase::PostFilter if has_post_filter => self.post_filter(&mut cycle, framework),
                _ => {
                    break match cycle.host.take() {
                        Some(node) => CycleOutcome::Tried { node },
                        None => CycleOutcome::Unschedulable {
                            message: self.fit_error(&mut cycle).message(),
                            nominated_node: None,
                        },
                    };
                }
            };
            let state = cycle.state.clone();
            cycle.note(|trace| {
                trace.phase = phase;
                if phase == Phase::Filter {
                    trace.filter_state = state.clone();
                }
                trace.cycle_state = state;
            });
            match next {
                Next::Phase(next) => cycle.next = next,
                Next::Failed(failure, nominating) if failure.is_rejection() => {
                    break unschedulable(failure.message(), nominating);
                }
                // Where evictions are waited for, the attempt is over once they are: nobody is evicted here.
                Next::Suspended(nominating) => {
                    break unschedulable(self.fit_error(&mut cycle).message(), nominating);
                }
                Next::Failed(failure, _) => break CycleOutcome::Error { message: failure.message() },
                Next::Bind | Next::Tried(_) => break CycleOutcome::InProgress,
            }
        };
        cycle.note(|trace| {
            trace.outcome = outcome;
            trace.next = None;
        });
        cycle.trace.map(|trace| *trace)
    }
}

fn unschedulable(message: String, nominating: NominatingInfo) -> CycleOutcome {
    let nominated_node = match nominating {
        NominatingInfo::Override(node) if !node.is_empty() => Some(node),
        NominatingInfo::Override(_) | NominatingInfo::Noop => None,
    };
    CycleOutcome::Unschedulable { message, nominated_node }
}
