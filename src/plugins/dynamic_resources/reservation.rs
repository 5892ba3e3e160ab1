//! Reserve and Unreserve: devices of the chosen node are taken out of what other pods can get.
//!
//! Follows `Reserve` and `Unreserve` of `dynamicresources.go` and `unreserveExtendedResourceClaim`.

use std::sync::Arc;

use super::claim_store::{is_in_memory, is_reserved_for};
use super::state::read_mut;
use super::{DynamicResources, FINALIZER};
use crate::api::objects::{Pod, ResourceClaim};
use crate::api::{NamespacedName, Str, Uid};
use crate::framework::{
    ApiWrite, CycleState, Handle, HandleRequest, Plugin, PodInfo, ReservePlugin, Status, WriteVerb,
};
use crate::plugins::helper::devices::DeviceState;

impl ReservePlugin for DynamicResources {
    fn reserve(&self, handle: &Handle<'_>, state: &mut CycleState, _: &PodInfo, node_name: &Str) -> Status {
        reserve(handle, state, node_name).err().unwrap_or_default()
    }

    fn unreserve(&self, handle: &Handle<'_>, state: &mut CycleState, pod: &PodInfo, node_name: &Str) {
        let Ok(data) = read_mut(state) else { return };
        for claim in data.claims.of_user() {
            give_up(handle, &claim.metadata.uid, &claim.metadata.key());
            if claim.status.allocation.is_some() && is_reserved_for(&pod.pod, claim) {
                self.write(
                    handle,
                    &pod.pod,
                    WriteVerb::PatchStatus,
                    without_reservation(handle, claim, &pod.pod),
                );
            }
        }
        if let Some(special) = data.claims.special() {
            give_up(handle, &data.claims.initial_special_uid, &special.metadata.key());
            if !is_in_memory(special) {
                for (verb, claim) in deletion(special) {
                    self.write(handle, &pod.pod, verb, claim);
                }
            }
        }
        let has_statuses = || data.nodes.get(node_name).is_some_and(|found| !found.statuses.is_empty());
        if self.node_allocatable && has_statuses() {
            let mut cleared = super::binding::latest_pod(handle, &pod.pod);
            cleared.status.node_allocatable_resource_claim_statuses.clear();
            let write = ApiWrite { verb: WriteVerb::PatchStatus, object: cleared.into() };
            handle.request(HandleRequest::Write { pod: pod.uid().clone(), plugin: self.name(), write });
        }
    }
}

impl DynamicResources {
    fn write(&self, handle: &Handle<'_>, pod: &Pod, verb: WriteVerb, claim: ResourceClaim) {
        let write = ApiWrite { verb, object: claim.into() };
        handle.request(HandleRequest::Write { pod: pod.uid().clone(), plugin: self.name(), write });
    }
}

fn reserve(handle: &Handle<'_>, state: &mut CycleState, node_name: &Str) -> Result<(), Status> {
    let pod_group_cycle = state.pod_group_cycle;
    let data = read_mut(state)?;
    let to_allocate: Vec<usize> = data.claims.to_allocate().map(|(index, _)| index).collect();
    if to_allocate.is_empty() || data.allocator.is_none() {
        return Ok(());
    }
    let found = data.nodes.get(node_name).filter(|found| !found.results.is_empty());
    let Some(found) = found else {
        // A device plugin of the node serves all that the pod needs.
        let is_served = to_allocate.iter().all(|index| data.claims.is_special(*index));
        return if is_served { Ok(()) } else { Err(Status::error("claim allocation not found for node")) };
    };
    if found.results.len() != to_allocate.len() {
        let (have, want) = (found.results.len(), to_allocate.len());
        return Err(Status::error(format!(
            "internal error, have {have} allocations, {want} claims to allocate, want {want} claims"
        )));
    }
    for (index, allocation) in to_allocate.into_iter().zip(&found.results) {
        let special = found.special.as_ref().filter(|_| data.claims.is_special(index));
        let Some(claim) = special.or_else(|| data.claims.get(index)) else { continue };
        let mut claim = ResourceClaim::clone(claim);
        add_finalizer(&mut claim);
        claim.status.allocation = Some(allocation.clone());
        if let Some(information) = data.information.get_mut(index) {
            information.allocation = Some(allocation.clone());
        }
        handle.change_state(|devices: &mut DeviceState| {
            devices.claims.add_in_flight(claim.metadata.uid.clone(), Arc::new(claim), pod_group_cycle);
        });
    }
    Ok(())
}

/// Sees to it that the claim is not deleted while devices are in use. False if that had been done.
pub(super) fn add_finalizer(claim: &mut ResourceClaim) -> bool {
    let is_new = !claim.metadata.finalizers.iter().any(|finalizer| finalizer.as_ref() == FINALIZER);
    if is_new {
        claim.metadata.finalizers.push(Str::from(FINALIZER));
    }
    is_new
}

/// The allocation of a claim is not in flight any more, unless other pods share it, and not assumed either.
fn give_up(handle: &Handle<'_>, uid: &Uid, key: &NamespacedName) {
    let restored = handle.change_state(|devices: &mut DeviceState| {
        if !devices.claims.remove_in_flight(uid, false) {
            return None;
        }
        devices.claims.restore(handle.objects, key)
    });
    if let Some(change) = restored.flatten() {
        handle.request(HandleRequest::TellOf(change));
    }
}

/// The claim as it is known now, without the pod among those that may use it.
fn without_reservation(handle: &Handle<'_>, claim: &ResourceClaim, pod: &Pod) -> ResourceClaim {
    let known = handle
        .state(|devices: &DeviceState| devices.claims.get(handle.objects, &claim.metadata.key()).cloned());
    let mut claim = known.flatten().map_or_else(|| claim.clone(), Arc::unwrap_or_clone);
    claim.status.reserved_for.retain(|consumer| consumer.uid != *pod.uid());
    claim.metadata.resource_version.clear();
    claim
}

/// How a claim for extended resources is deleted: the finalizer goes first. The version does not matter, since nobody
/// else writes it.
pub(super) fn deletion(claim: &ResourceClaim) -> [(WriteVerb, ResourceClaim); 2] {
    let mut claim = claim.clone();
    claim.metadata.resource_version.clear();
    claim.metadata.finalizers.retain(|finalizer| finalizer.as_ref() != FINALIZER);
    [(WriteVerb::Update, claim.clone()), (WriteVerb::Delete, claim)]
}
