//! What wakes a pod that the plugin rejected.
//!
//! Follows `EventsToRegister` and the hints of `dynamicresources.go`. Any claim that loses its allocation wakes every
//! pod whose own claims are all there.

use std::sync::Arc;

use super::claim_store::{NamedClaim, pod_claims};
use crate::api::Object;
use crate::api::objects::Pod;
use crate::framework::{ActionType, ClusterEvent, ClusterEventWithHint, EventResource, Handle, QueueingHint};
use crate::plugins::helper::devices::DeviceState;
use crate::plugins::helper::objects::{changed_claim, changed_pod};

/// The events.
pub(super) fn events() -> Vec<ClusterEventWithHint> {
    let node = ActionType::ADD | ActionType::UPDATE_NODE_LABEL | ActionType::UPDATE_NODE_ALLOCATABLE;
    let change = ActionType::ADD | ActionType::UPDATE;
    let generated = ActionType::UPDATE_POD_GENERATED_RESOURCE_CLAIM;
    vec![
        ClusterEventWithHint::always(ClusterEvent::new(EventResource::Node, node)),
        ClusterEventWithHint::hinted(
            ClusterEvent::new(EventResource::ResourceClaim, change),
            is_schedulable_after_claim_change,
        ),
        ClusterEventWithHint::hinted(
            ClusterEvent::new(EventResource::Pod, generated),
            is_schedulable_after_pod_change,
        ),
        ClusterEventWithHint::always(ClusterEvent::new(EventResource::DeviceClass, change)),
        ClusterEventWithHint::always(ClusterEvent::new(EventResource::ResourceSlice, change)),
    ]
}

/// The claims that a pod names, as the scheduler knows them.
pub(super) fn claims_of<'a>(handle: &Handle<'_>, pod: &'a Pod) -> Result<Vec<NamedClaim<'a>>, String> {
    let found = handle.state(|devices: &DeviceState| pod_claims(&devices.claims, handle.objects, pod));
    found.unwrap_or_else(|| Ok(Vec::new()))
}

fn is_schedulable_after_claim_change(
    handle: &Handle<'_>,
    pod: &Arc<Pod>,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (old, new) = changed_claim(old, new)
        .map_err(|error| format!("unexpected object in isSchedulableAfterClaimChange: {error}"))?;
    let Ok(claims) = claims_of(handle, pod) else { return Ok(QueueingHint::QueueSkip) };
    if old.is_some_and(|old| old.status.allocation.is_some()) && new.status.allocation.is_none() {
        return Ok(QueueingHint::Queue);
    }
    if !claims.iter().any(|(_, claim)| claim.metadata.uid == new.metadata.uid) {
        return Ok(QueueingHint::QueueSkip);
    }
    Ok(match old {
        Some(old) if old.status == new.status => QueueingHint::QueueSkip,
        _ => QueueingHint::Queue,
    })
}

fn is_schedulable_after_pod_change(
    handle: &Handle<'_>,
    pod: &Arc<Pod>,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let changed = changed_pod(old, new)
        .map_err(|error| format!("unexpected object in isSchedulableAfterClaimChange: {error}"))?;
    if pod.uid() != changed.uid() || claims_of(handle, changed).is_err() {
        return Ok(QueueingHint::QueueSkip);
    }
    Ok(QueueingHint::Queue)
}
