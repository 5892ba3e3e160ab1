//! Devices are given back when the pods are gone that they were reserved for.
//!
//! Follows `syncClaim` of `pkg/controller/resourceclaim/controller.go`. Reservations for others than pods stay.

use crate::api::objects::{Pod, ResourceClaim};
use crate::api::{Kind, NamespacedName, Str};

use super::Cx;
use super::journal::Said;

const NAME: &str = "resourceclaim";
/// Keeps an allocated claim from being deleted.
const FINALIZER: &str = "resource.kubernetes.io/delete-protection";

/// The claims that a pod uses.
pub(super) fn claims_of(pod: &Pod) -> impl Iterator<Item = NamespacedName> {
    let statuses = pod.status.resource_claim_statuses.iter();
    let generated = statuses.filter_map(|status| status.resource_claim_name.as_deref());
    let named = pod.spec.resource_claims.iter().filter_map(|claim| claim.resource_claim_name.as_deref());
    let special = pod.status.extended_resource_claim_status.as_ref();
    let special = special.map(|status| &*status.resource_claim_name);
    let namespace = pod.metadata.namespace.clone();
    named.chain(generated).chain(special).map(move |name| NamespacedName::new(namespace.clone(), name))
}

/// Takes away reservations of pods that are gone, and the allocation with the last one.
pub(super) fn sync_claim(cx: &mut Cx<'_>, key: &NamespacedName) {
    let Some(known) = cx.api.objects().resource_claims.get(key) else { return };
    let mut claim = ResourceClaim::clone(known);
    let pods = &cx.api.objects().pods;
    let is_alive = |name: &Str, uid: &Str| {
        let pod = pods.get(&NamespacedName::new(key.namespace.clone(), name.clone()));
        pod.is_some_and(|pod| pod.uid() == uid)
    };
    claim.status.reserved_for.retain(|consumer| {
        !consumer.api_group.is_empty()
            || *consumer.resource != *"pods"
            || is_alive(&consumer.name, &consumer.uid)
    });
    let n_gone = known.status.reserved_for.len() - claim.status.reserved_for.len();
    let is_unused = claim.status.reserved_for.is_empty();
    let is_protected = claim.metadata.finalizers.iter().any(|finalizer| **finalizer == *FINALIZER);
    let is_deleting = claim.metadata.deletion_timestamp.is_some();
    if n_gone == 0 && !(is_deleting && is_unused && is_protected) {
        return;
    }
    let was_allocated = claim.status.allocation.is_some();
    if is_unused && is_protected {
        claim.status.allocation = None;
        claim.metadata.finalizers.retain(|finalizer| **finalizer != *FINALIZER);
    }
    let is_free = was_allocated && claim.status.allocation.is_none();
    cx.api.store(claim.into());
    let said = match (is_free, is_deleting && is_unused) {
        (true, _) => Said::done("Deallocated", "is deallocated: the pods are gone that it was reserved for"),
        (false, true) => Said::done("Deleted", "is deleted: it is not in use"),
        (false, false) => Said::done("Unreserved", "is not reserved any more for pods that are gone"),
    };
    cx.tell(NAME, Kind::ResourceClaim, key, said);
}
