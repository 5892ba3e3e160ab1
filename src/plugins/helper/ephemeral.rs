//! The claims of generic ephemeral volumes.
//!
//! Follows `k8s.io/component-helpers/storage/ephemeral`.

use crate::api::objects::{PersistentVolumeClaim, Pod};

/// The name of the claim that is made for a pod's volume (`VolumeClaimName`).
pub fn claim_name(pod: &Pod, volume_name: &str) -> String {
    format!("{}-{volume_name}", pod.metadata.name)
}

/// Whether the claim was made for that very pod (`VolumeIsForPod`).
///
/// # Errors
/// It was not.
pub fn check_is_for_pod(pod: &Pod, claim: &PersistentVolumeClaim) -> Result<(), String> {
    let (own, its) = (&pod.metadata, &claim.metadata);
    let is_owner = its.controller().is_some_and(|owner| owner.uid.as_str() == &*own.uid);
    if its.namespace == own.namespace && is_owner {
        return Ok(());
    }
    Err(format!(
        "PVC {}/{} was not created for pod {}/{} (pod is not owner)",
        its.namespace, its.name, own.namespace, own.name
    ))
}
