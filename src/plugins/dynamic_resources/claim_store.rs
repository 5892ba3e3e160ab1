//! The claims of a pod: those that it names, and the one that stands for its extended resources.
//!
//! Follows `claims.go`, `foreachPodResourceClaim` of `dynamicresources.go`, and `k8s.io/dynamic-resource-allocation/`
//! `resourceclaim`. Claims of pod groups (gate DRAWorkloadResourceClaims, off by default) are not built.

use std::sync::Arc;

use crate::api::objects::{Pod, PodResourceClaim, ResourceClaim, ResourceClaimConsumerReference};
use crate::api::{NamespacedName, ObjectStore, Str, Uid};
use crate::plugins::helper::devices::Claims;

/// The name of the claim for extended resources while it is not written.
pub(super) const SPECIAL_CLAIM_NAME: &str = "<extended-resources>";

/// The claims of a pod, the one for extended resources last.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimStore {
    claims: Vec<Arc<ResourceClaim>>,
    n_of_user: usize,
    /// The UID of the claim for extended resources before it was written.
    pub initial_special_uid: Uid,
}

impl ClaimStore {
    /// The claims of the user, and the one for extended resources.
    pub(super) fn new(mut claims: Vec<Arc<ResourceClaim>>, special: Option<Arc<ResourceClaim>>) -> Self {
        let n_of_user = claims.len();
        let initial_special_uid =
            special.as_ref().map_or_else(Uid::default, |claim| claim.metadata.uid.clone());
        claims.extend(special);
        Self { claims, n_of_user, initial_special_uid }
    }

    /// Whether there is nothing to do.
    pub(super) const fn is_empty(&self) -> bool {
        self.claims.is_empty()
    }

    /// All of them.
    pub(super) fn all(&self) -> &[Arc<ResourceClaim>] {
        &self.claims
    }

    /// Those that the pod names.
    pub(super) fn of_user(&self) -> &[Arc<ResourceClaim>] {
        self.claims.get(..self.n_of_user).unwrap_or_default()
    }

    /// Those that are not allocated, with their places.
    pub(super) fn to_allocate(&self) -> impl Iterator<Item = (usize, &Arc<ResourceClaim>)> {
        self.claims.iter().enumerate().filter(|(_, claim)| claim.status.allocation.is_none())
    }

    /// The one for extended resources.
    pub(super) fn special(&self) -> Option<&Arc<ResourceClaim>> {
        self.claims.get(self.n_of_user)
    }

    /// Whether the claim at a place is the one for extended resources.
    pub(super) const fn is_special(&self, index: usize) -> bool {
        index == self.n_of_user
    }

    /// Whether the pod names none.
    pub(super) const fn has_none_of_user(&self) -> bool {
        self.n_of_user == 0
    }

    /// The claim at a place.
    pub(super) fn get(&self, index: usize) -> Option<&Arc<ResourceClaim>> {
        self.claims.get(index)
    }

    /// Puts a newer claim in its place.
    pub(super) fn set(&mut self, index: usize, claim: Arc<ResourceClaim>) {
        if let Some(place) = self.claims.get_mut(index) {
            *place = claim;
        }
    }
}

/// Whether the claim exists only in memory.
pub(super) fn is_in_memory(claim: &ResourceClaim) -> bool {
    claim.metadata.name.as_ref() == SPECIAL_CLAIM_NAME
}

/// The name of the claim that a pod means, and whether it was made for the pod. Without a name none is needed.
fn claim_name<'a>(pod: &'a Pod, claim: &'a PodResourceClaim) -> Result<Option<(&'a str, bool)>, String> {
    let (namespace, name) = (&pod.metadata.namespace, &pod.metadata.name);
    if let Some(claim) = &claim.resource_claim_name {
        return Ok(Some((claim, false)));
    }
    if claim.resource_claim_template_name.is_none() {
        let claim = &claim.name;
        return Err(format!(
            "pod \"{namespace}/{name}\", spec.resourceClaim {claim:?}: none of the supported fields are set"
        ));
    }
    let mut statuses = pod.status.resource_claim_statuses.iter();
    match statuses.find(|status| status.name == claim.name) {
        Some(status) => Ok(status.resource_claim_name.as_deref().map(|name| (name, true))),
        None => Err(format!("pod \"{namespace}/{name}\": ResourceClaim not created yet")),
    }
}

/// A claim of a pod, under the name by which its containers know it.
pub(super) type NamedClaim<'a> = (&'a str, Arc<ResourceClaim>);

/// The claims that a pod names.
///
/// # Errors
/// What upstream says about the first claim that is not there, goes away, or is not the pod's own.
pub(super) fn pod_claims<'a>(
    claims: &Claims,
    objects: &ObjectStore,
    pod: &'a Pod,
) -> Result<Vec<NamedClaim<'a>>, String> {
    let mut found = Vec::with_capacity(pod.spec.resource_claims.len());
    for named in &pod.spec.resource_claims {
        let Some((name, is_generated)) = claim_name(pod, named)? else { continue };
        let key = NamespacedName { namespace: pod.metadata.namespace.clone(), name: Str::from(name) };
        let Some(claim) = claims.get(objects, &key) else {
            return Err(format!("could not find ResourceClaim \"{}/{name}\"", key.namespace));
        };
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("resourceclaim {name:?} is being deleted"));
        }
        let is_own = || {
            let controller = claim.metadata.controller();
            controller.is_some_and(|owner| owner.uid == pod.uid().as_ref())
        };
        if is_generated && !is_own() {
            let (claim, pod) = (&key, pod.key());
            return Err(format!(
                "ResourceClaim {}/{} was not created for Pod {}/{} (Pod is not owner)",
                claim.namespace, claim.name, pod.namespace, pod.name
            ));
        }
        found.push((named.name.as_str(), Arc::clone(claim)));
    }
    Ok(found)
}

/// Whether the pod may use the claim already.
pub(super) fn is_reserved_for(pod: &Pod, claim: &ResourceClaim) -> bool {
    claim.status.reserved_for.iter().any(|consumer| consumer.uid == *pod.uid())
}

/// The pod as one that uses a claim.
pub(super) fn consumer(pod: &Pod) -> ResourceClaimConsumerReference {
    ResourceClaimConsumerReference {
        api_group: Str::from(""),
        resource: Str::from("pods"),
        name: pod.metadata.name.clone(),
        uid: pod.uid().clone(),
    }
}
