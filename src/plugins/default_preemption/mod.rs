//! DefaultPreemption: a pod that fits nowhere takes the place of pods of lower priority, on the node where that
//! does the least harm. While its victims are being evicted it stays out of the queue (KEP-4832).
//!
//! Follows `plugins/defaultpreemption/default_preemption.go` and `pkg/scheduler/framework/preemption`. What is
//! not here: the evictions themselves, which the core carries out ([`HandleRequest::Preempt`]).

mod candidates;
#[cfg(test)]
mod extender_tests;
mod extenders;
#[cfg(test)]
mod tests;
mod victims;

use std::sync::Arc;

pub use candidates::{best_candidates, pick_candidate};
pub use extenders::ask_extenders;
pub use victims::DisruptionBudget;

use crate::api::NamespacedName;
use crate::api::objects::{Pod, PodGroup};
use crate::config::plugin_args::DefaultPreemptionArgs;
use crate::config::{FeatureGates, Gate};
use crate::framework::preemption::PreemptionEvidence;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, Code, CycleState, EnqueueExtensions, EventResource,
    FitError, Handle, HandleRequest, NodeToStatus, NominatingInfo, Plugin, PodInfo, PostFilterPlugin,
    PostFilterResult, PreEnqueuePlugin, QueueingHint, Status,
};
use crate::plugins::names;

/// The plugin.
#[derive(Clone, Copy, Debug)]
pub struct DefaultPreemption {
    args: DefaultPreemptionArgs,
    /// The gate SchedulerAsyncPreemption: the preemptor waits outside the queue for its victims' eviction.
    is_async: bool,
    /// The gate WorkloadAwarePreemption: room for pods of groups is made for the group as a whole.
    is_workload_aware: bool,
    /// The gate TopologyAwareWorkloadScheduling: a group is tried in several placements, and none of them may cost
    /// others their place.
    is_topology_aware: bool,
}

impl DefaultPreemption {
    /// The plugin with these arguments.
    pub const fn new(args: DefaultPreemptionArgs, gates: &FeatureGates) -> Self {
        Self {
            args,
            is_async: gates.is_enabled(Gate::SchedulerAsyncPreemption),
            is_workload_aware: gates.is_enabled(Gate::WorkloadAwarePreemption),
            is_topology_aware: gates.is_enabled(Gate::TopologyAwareWorkloadScheduling),
        }
    }

    /// Whether the pod may preempt at all (`PodEligibleToPreemptOthers`); `nominated_node_status` is what the
    /// filters said of the node to which it is nominated.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check_eligibility(
        &self,
        handle: &Handle<'_>,
        pod: &Pod,
        nominated_node_status: &Status,
    ) -> Result<(), &'static str> {
        if pod.spec.preemption_policy.as_deref() == Some("Never") {
            return Err("not eligible due to preemptionPolicy=Never.");
        }
        let nominated = &pod.status.nominated_node_name;
        // A node that has become impossible is no reason to wait for it.
        if nominated.is_empty() || nominated_node_status.code() == Code::UnschedulableAndUnresolvable {
            return Ok(());
        }
        let pods = handle.snapshot.get(nominated).map_or(&[][..], |node| node.pods());
        let is_making_room = |other: &Arc<PodInfo>| {
            other.pod.priority() < pod.priority() && other.pod.is_terminating() && other.pod.is_preempted()
        };
        if pods.iter().any(is_making_room) {
            return Err("not eligible due to a terminating pod on the nominated node.");
        }
        Ok(())
    }

    /// Why a pod of a group may not preempt by itself, if it may not.
    fn limit_of_group(&self, handle: &Handle<'_>, pod: &Pod) -> Option<&'static str> {
        pod.pod_group_name()?;
        if self.is_topology_aware {
            let Some(group) = pod_group(handle, pod) else {
                return Some("preemption: pod group for pod not found");
            };
            if group.spec.scheduling_constraints.is_some() {
                return Some(
                    "preemption: not eligible due to placement-based pod group scheduling limitation",
                );
            }
        }
        self.is_workload_aware.then_some("preemption: not eligible due to workload aware preemption enabled")
    }

    fn preempt(
        &self,
        handle: &Handle<'_>,
        state: &CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status) {
        // The watchers may know a newer version than the one that was tried.
        let Some(latest) = handle.objects.pods.get(&pod.pod.key()) else {
            return (None, Status::error(format!("pod {:?} not found", pod.pod.metadata.name)));
        };
        let nominated_node_status = node_to_status.get(&latest.status.nominated_node_name);
        if let Err(reason) = self.check_eligibility(handle, latest, nominated_node_status) {
            return (None, Status::unschedulable(reason));
        }
        let preemptor = PodInfo { pod: Arc::clone(latest), ..pod.clone() };
        let found = match self.find_candidates(handle, state, &preemptor, node_to_status) {
            Ok(found) => found,
            Err(status) => return (None, status),
        };
        let rejected = found.statuses.iter();
        let mut evidence = PreemptionEvidence {
            rejected: rejected.map(|(node, status)| (node.clone(), status.message())).collect(),
            candidates: found.candidates,
            ..PreemptionEvidence::default()
        };
        if evidence.candidates.is_empty() {
            let mut fit_error =
                FitError { num_all_nodes: handle.snapshot.num_nodes(), ..FitError::default() };
            fit_error.diagnosis.node_to_status = found.statuses;
            let absent = Status::unresolvable("Preemption is not helpful for scheduling");
            fit_error.diagnosis.node_to_status.set_absent(absent);
            let result = PostFilterResult {
                nominating_info: NominatingInfo::clear(),
                evidence: Some(Arc::new(evidence)),
            };
            return (Some(result), Status::unschedulable(fit_error.message()));
        }
        evidence.candidates = match ask_extenders(handle, latest, evidence.candidates) {
            Some(Ok(left)) => left,
            Some(Err(status)) => return (None, status),
            None => return (None, Status::error("an extender has not answered yet")),
        };
        let picked = pick_candidate(&evidence.candidates, handle.now, handle.tie_break, handle.rng);
        let Some((index, criterion)) = picked else {
            return (None, Status::unschedulable("no candidate node for preemption"));
        };
        let candidate = evidence.candidates[index].clone();
        evidence.selected = Some(candidate.node_name.clone());
        evidence.criterion = Some(criterion);
        let nominating_info = NominatingInfo::Override(candidate.node_name.clone());
        handle.request(HandleRequest::Preempt {
            preemptor: preemptor.pod,
            candidate,
            plugin: names::DEFAULT_PREEMPTION.into(),
            is_async: self.is_async,
        });
        (Some(PostFilterResult { nominating_info, evidence: Some(Arc::new(evidence)) }), Status::SUCCESS)
    }
}

fn pod_group<'a>(handle: &Handle<'a>, pod: &Pod) -> Option<&'a Arc<PodGroup>> {
    let name = pod.pod_group_name()?.clone();
    handle.objects.pod_groups.get(&NamespacedName { namespace: pod.metadata.namespace.clone(), name })
}

impl Plugin for DefaultPreemption {
    fn name(&self) -> &'static str {
        names::DEFAULT_PREEMPTION
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

impl PostFilterPlugin for DefaultPreemption {
    fn post_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status) {
        if let Some(limit) = self.limit_of_group(handle, &pod.pod) {
            return (None, Status::unschedulable(limit));
        }
        let (result, status) = self.preempt(handle, state, pod, node_to_status);
        let message = status.message();
        if message.is_empty() {
            return (result, status);
        }
        (result, Status::new(status.code(), format!("preemption: {message}")))
    }
}

impl PreEnqueuePlugin for DefaultPreemption {
    fn pre_enqueue(&self, handle: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        if !self.is_async {
            return Status::SUCCESS;
        }
        let is_with_group = self.is_workload_aware && pod.pod_group_name().is_some();
        let (uid, text) = if is_with_group {
            // Pods whose group is not there are for others to hold.
            let Some(group) = pod_group(handle, pod) else { return Status::SUCCESS };
            (&group.metadata.uid, "waiting for the preemption for this pod group to be finished")
        } else {
            (pod.uid(), "waiting for the preemption for this pod to be finished")
        };
        if !handle.preemption.preempting.contains(uid) {
            return Status::SUCCESS;
        }
        // Only the eviction of the last victim tells that the way is free: it is once that pod is gone or going.
        let last = handle.preemption.last_victims_pending_preemption.get(uid);
        let is_done = last.is_some_and(|victim| {
            let key = NamespacedName { namespace: victim.namespace.clone(), name: victim.name.clone() };
            handle.objects.pods.get(&key).is_none_or(|pod| pod.is_terminating())
        });
        if is_done {
            return Status::SUCCESS;
        }
        Status::unresolvable(text)
    }
}

impl EnqueueExtensions for DefaultPreemption {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        if !self.is_async {
            return Vec::new();
        }
        // The event opens the gate; what else rejected the pod decides whether it is worth a try.
        let event = ClusterEvent::new(EventResource::Pod, ActionType::DELETE);
        vec![ClusterEventWithHint::hinted(event, |_, _, _, _| Ok(QueueingHint::QueueSkip))]
    }
}
