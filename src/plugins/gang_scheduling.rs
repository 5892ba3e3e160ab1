//! GangScheduling: of a group of pods that run all or none, none is tried before enough of them are there, and none is
//! bound before enough of them have found a place (KEP-4671). Behind the gate of that name, off by default.
//!
//! Follows `plugins/gangscheduling/gangscheduling.go`. Upstream finds the places of a whole group in one scheduling
//! cycle; without that cycle each pod is scheduled by itself, and Permit alone holds it until its group is complete.

use std::sync::Arc;

use super::helper::objects::{changed_pod, changed_pod_group};
use super::names;
use crate::api::objects::{Pod, PodGroup};
use crate::api::{Duration, NamespacedName, Object, Str};
use crate::framework::pod_group::PodGroupStage;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource, Handle,
    HandleRequest, PermitPlugin, Plugin, PodInfo, PreEnqueuePlugin, QueueingHint, Status,
};

/// How long a pod waits at Permit for the rest of its group.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct GangScheduling;

impl Plugin for GangScheduling {
    fn name(&self) -> &'static str {
        names::GANG_SCHEDULING
    }
    fn as_pre_enqueue(&self) -> Option<&dyn PreEnqueuePlugin> {
        Some(self)
    }
    fn as_permit(&self) -> Option<&dyn PermitPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
}

fn pod_group<'a>(handle: &Handle<'a>, pod: &Pod, name: &Str) -> Option<&'a Arc<PodGroup>> {
    let key = NamespacedName { namespace: pod.metadata.namespace.clone(), name: name.clone() };
    handle.objects.pod_groups.get(&key)
}

fn reaches(count: usize, min_count: i32) -> bool {
    i64::try_from(count).is_ok_and(|count| count >= i64::from(min_count))
}

impl PreEnqueuePlugin for GangScheduling {
    fn pre_enqueue(&self, handle: &Handle<'_>, pod: &Arc<Pod>) -> Status {
        let Some(name) = pod.pod_group_name() else { return Status::SUCCESS };
        let Some(group) = pod_group(handle, pod, name) else {
            return Status::unresolvable(format!(
                "waiting for pods's pod group {name:?} to appear in scheduling queue"
            ));
        };
        let Some(min_count) = group.gang_min_count() else { return Status::SUCCESS };
        match handle.pod_groups.get(&pod.metadata.namespace, name) {
            Err(error) => Status::error(error),
            Ok(state) if reaches(state.all_pods_count(), min_count) => Status::SUCCESS,
            Ok(_) => {
                Status::unresolvable("waiting for minCount pods from a gang to appear in scheduling queue")
            }
        }
    }
}

impl PermitPlugin for GangScheduling {
    fn permit(&self, handle: &Handle<'_>, _: &mut CycleState, pod: &PodInfo, _: &Str) -> (Status, Duration) {
        let at_once = |status| (status, Duration::ZERO);
        let Some(name) = pod.pod.pod_group_name() else { return at_once(Status::SUCCESS) };
        let namespace = &pod.pod.metadata.namespace;
        let Some(group) = pod_group(handle, &pod.pod, name) else {
            return at_once(Status::error(format!(
                "failed to get podGroup {namespace}/{name}: podgroup.scheduling.k8s.io {name:?} not found"
            )));
        };
        let Some(min_count) = group.gang_min_count() else { return at_once(Status::SUCCESS) };
        let state = match handle.pod_groups.get(namespace, name) {
            Ok(state) => state,
            Err(error) => return at_once(Status::error(error)),
        };
        if !reaches(state.scheduled_pods_count(), min_count) {
            // The others may have waited for this one.
            let unscheduled = state.pods_at(PodGroupStage::Unscheduled).cloned().collect();
            handle.request(HandleRequest::Activate(unscheduled));
            let text = "waiting for minCount pods from a gang to be scheduled";
            return (Status::new(crate::framework::Code::Wait, text), PERMIT_TIMEOUT);
        }
        for assumed in state.pods_at(PodGroupStage::Assumed) {
            if handle.waiting_pods.get(assumed.uid()).is_some() {
                let plugin = Str::from(self.name());
                handle.request(HandleRequest::AllowWaitingPod { uid: assumed.uid().clone(), plugin });
            }
        }
        at_once(Status::SUCCESS)
    }
}

impl EnqueueExtensions for GangScheduling {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let pod = ClusterEvent::new(EventResource::Pod, ActionType::ADD);
        let group = ClusterEvent::new(EventResource::PodGroup, ActionType::ADD);
        vec![
            ClusterEventWithHint::hinted(pod, |_, pod, old, new| {
                is_schedulable_after_pod_added(pod, old, new)
            }),
            ClusterEventWithHint::hinted(group, |_, pod, old, new| {
                is_schedulable_after_pod_group_added(pod, old, new)
            }),
        ]
    }
}

fn is_schedulable_after_pod_added(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let added = changed_pod(old, new)?;
    let is_member = pod.metadata.namespace == added.metadata.namespace
        && pod.pod_group_name().is_some()
        && pod.pod_group_name() == added.pod_group_name();
    Ok(if is_member { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

fn is_schedulable_after_pod_group_added(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let added = changed_pod_group(old, new)?;
    let is_its_own = pod.metadata.namespace == added.metadata.namespace
        && pod.pod_group_name() == Some(&added.metadata.name);
    Ok(if is_its_own { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}
