//! PostFilter: an allocated claim that keeps a pod from every node is deallocated.
//!
//! Follows `PostFilter` of `dynamicresources.go`. Upstream takes any claim that was not available on some node; this one
//! takes the first.

use std::collections::BTreeSet;

use super::DynamicResources;
use super::claim_store::is_in_memory;
use super::filtering::NOT_AVAILABLE;
use super::reservation::deletion;
use super::state::{StateData, read};
use crate::api::objects::{Pod, ResourceClaim};
use crate::framework::{
    ApiWrite, CycleState, Handle, NodeToStatus, Plugin, PodInfo, PostFilterPlugin, PostFilterResult, Status,
    WriteVerb,
};

impl PostFilterPlugin for DynamicResources {
    fn post_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        node_to_status: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status) {
        let status = match read(state) {
            Ok(data) => self.make_room(handle, data, &pod.pod, node_to_status),
            Err(status) => status,
        };
        (None, status)
    }

    fn may_write(&self, state: &CycleState) -> bool {
        read(state).is_ok_and(|data| !data.claims.is_empty())
    }
}

impl DynamicResources {
    fn make_room(
        &self,
        handle: &Handle<'_>,
        data: &StateData,
        pod: &Pod,
        node_to_status: &NodeToStatus,
    ) -> Status {
        if data.claims.is_empty() {
            return Status::unschedulable("no new claims to deallocate");
        }
        let stale = data.claims.special().filter(|claim| !is_in_memory(claim));
        for index in self.unavailable_anywhere(handle, data, node_to_status) {
            if data.claims.is_special(index) {
                continue;
            }
            let Some(claim) = data.claims.get(index).filter(|claim| can_be_deallocated(claim, pod)) else {
                continue;
            };
            let mut claim = ResourceClaim::clone(claim);
            claim.status = Default::default();
            return match handle.write(ApiWrite { verb: WriteVerb::UpdateStatus, object: claim.into() }) {
                Some(Err(failure)) => Status::error(failure),
                Some(Ok(_)) | None => Status::unschedulable("deallocation of ResourceClaim completed"),
            };
        }
        let Some(stale) = stale else { return Status::unschedulable("still not schedulable") };
        for (verb, claim) in deletion(stale) {
            let key = claim.metadata.key();
            match handle.write(ApiWrite { verb, object: claim.into() }) {
                None => break,
                Some(Ok(_)) => {}
                Some(Err(failure)) if verb == WriteVerb::Update => {
                    return Status::error(format!(
                        "update resourceclaim {}/{}: {failure}",
                        key.namespace, key.name
                    ));
                }
                Some(Err(failure)) => return Status::error(failure),
            }
        }
        Status::unschedulable("deletion of ResourceClaim completed")
    }

    /// The claims that were not available on one of the nodes that Filter has seen.
    fn unavailable_anywhere(
        &self,
        handle: &Handle<'_>,
        data: &StateData,
        node_to_status: &NodeToStatus,
    ) -> BTreeSet<usize> {
        let is_ours = |status: &Status| {
            status.plugin() == self.name() && status.reasons().iter().any(|reason| reason == NOT_AVAILABLE)
        };
        let nodes = node_to_status.iter().filter(|(_, status)| is_ours(status));
        let nodes = nodes.filter_map(|(name, _)| handle.snapshot.get(name)?.node().cloned());
        nodes.flat_map(|node| self.unavailable_claims(data, &node, handle.now)).collect()
    }
}

/// Whether nobody uses the claim but the pod itself.
fn can_be_deallocated(claim: &ResourceClaim, pod: &Pod) -> bool {
    match claim.status.reserved_for.as_slice() {
        [] => true,
        [one] => one.uid == *pod.uid(),
        _ => false,
    }
}
