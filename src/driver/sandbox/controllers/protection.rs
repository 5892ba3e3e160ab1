//! A claim that is being deleted stays while pods on nodes use it.
//!
//! Follows `pkg/controller/volume/pvcprotection`.

use crate::api::objects::{PersistentVolumeClaim, Pod};
use crate::api::{Kind, NamespacedName};
use crate::driver::sandbox::storage_defaults::CLAIM_PROTECTION;
use crate::plugins::helper::ephemeral;
use crate::plugins::helper::volumes::{EPHEMERAL, has};

use super::journal::Said;
use super::pod_claims::volume_name;
use super::{Cx, in_namespace};

const NAME: &str = "pvc-protection-controller";

/// The claims that the volumes of a pod refer to, ephemeral ones included.
pub(super) fn claims_of(pod: &Pod) -> impl Iterator<Item = NamespacedName> {
    let namespace = &pod.metadata.namespace;
    let own = pod.spec.volumes.iter().filter(|volume| has(volume, EPHEMERAL));
    let own = own.map(|volume| ephemeral::claim_name(pod, volume_name(volume)));
    let named = pod.claim_names().map(str::to_owned);
    named.chain(own).map(|name| NamespacedName::new(namespace.clone(), name))
}

/// Lets a claim go whose deletion has begun, when no pod on a node uses it any more.
pub(super) fn sync_claim(cx: &mut Cx<'_>, key: &NamespacedName) {
    let Some(claim) = cx.api.objects().persistent_volume_claims.get(key) else { return };
    let is_protected = claim.metadata.finalizers.iter().any(|finalizer| **finalizer == *CLAIM_PROTECTION);
    if claim.metadata.deletion_timestamp.is_none() || !is_protected {
        return;
    }
    let user = in_namespace(&cx.api.objects().pods, &key.namespace)
        .find(|pod| pod.is_assigned() && uses(pod, claim))
        .map(|pod| pod.metadata.name.clone());
    let mut claim = PersistentVolumeClaim::clone(claim);
    if let Some(user) = user {
        let note = format!("is being deleted, and stays as long as pod {user} uses it");
        cx.tell(NAME, Kind::PersistentVolumeClaim, key, Said::begun("Terminating", note));
        return;
    }
    claim.metadata.finalizers.retain(|finalizer| **finalizer != *CLAIM_PROTECTION);
    cx.api.store(claim.into());
    let said = Said::done("Deleted", "is deleted: no pod on a node uses it");
    cx.tell(NAME, Kind::PersistentVolumeClaim, key, said);
}

fn uses(pod: &Pod, claim: &PersistentVolumeClaim) -> bool {
    let name = &*claim.metadata.name;
    pod.claim_names().any(|used| used == name)
        || pod.spec.volumes.iter().any(|volume| {
            has(volume, EPHEMERAL)
                && ephemeral::claim_name(pod, volume_name(volume)) == name
                && ephemeral::check_is_for_pod(pod, claim).is_ok()
        })
}
