//! Which changes may free a pod that NodeVolumeLimits has turned down.

use super::usage::{Counted, name_of};
use crate::api::Object;
use crate::api::objects::{CSINode, PersistentVolumeClaim, Pod, VolumeAttachment};
use crate::framework::QueueingHint;
use crate::plugins::helper::csi_translation::inline_to_csi;
use crate::plugins::helper::ephemeral;
use crate::plugins::helper::objects::{as_pods, as_type, changed};

type Hint = Result<QueueingHint, String>;

const fn queue_if(is_worth: bool) -> Hint {
    Ok(if is_worth { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

/// A pod that had a place, or was to have one, and a volume that may have counted.
pub(super) fn after_pod_deleted(old: Option<&Object>, new: Option<&Object>) -> Hint {
    let (deleted, _) = as_pods(old, new)?;
    let deleted = deleted.ok_or_else(|| "expected a Pod, but got nothing".to_owned())?;
    let had_place = deleted.is_assigned() || !deleted.status.nominated_node_name.is_empty();
    queue_if(had_place && deleted.spec.volumes.iter().any(|volume| Counted::of(volume).is_some()))
}

/// A claim that the pod needs.
pub(super) fn after_claim_added(pod: &Pod, old: Option<&Object>, new: Option<&Object>) -> Hint {
    let (_, claim) = changed::<PersistentVolumeClaim>(old, new)?;
    let name = &*claim.metadata.name;
    let is_own = pod.spec.volumes.iter().any(|volume| match Counted::of(volume) {
        Some(Counted::Claim(own)) => own == name,
        Some(Counted::Ephemeral) => ephemeral::claim_name(pod, name_of(volume)) == name,
        Some(Counted::Inline(_)) | None => false,
    });
    queue_if(claim.metadata.namespace == pod.metadata.namespace && is_own)
}

/// Any attachment, if the pod has a claim; for an inline disk one of its driver.
pub(super) fn after_attachment_deleted(pod: &Pod, old: Option<&Object>, new: Option<&Object>) -> Hint {
    let (deleted, _) = as_type::<VolumeAttachment>(old, new)?;
    let deleted = deleted.ok_or_else(|| "expected a VolumeAttachment, but got nothing".to_owned())?;
    for volume in &pod.spec.volumes {
        match Counted::of(volume) {
            None | Some(Counted::Ephemeral) => {}
            Some(Counted::Claim(_)) => return queue_if(true),
            Some(Counted::Inline(_)) => {
                let source = inline_to_csi(volume, &pod.metadata.namespace).map_err(|error| {
                    format!("converting volume({}) from inline to csi: {error}", name_of(volume))
                })?;
                if *deleted.spec.attacher == *source.driver {
                    return queue_if(true);
                }
            }
        }
    }
    queue_if(false)
}

/// A limit that has grown, of whichever driver; one without a limit counts as 0.
pub(super) fn after_csi_node_updated(old: Option<&Object>, new: Option<&Object>) -> Hint {
    let (old, new) = changed::<CSINode>(old, new)?;
    let old = old.ok_or_else(|| "expected a CSINode, but got nothing".to_owned())?;
    let limits = |node: &CSINode| -> Vec<_> {
        let drivers = node.spec.drivers.iter();
        drivers
            .map(|driver| {
                let count = driver.allocatable.and_then(|allocatable| allocatable.count);
                (driver.name.clone(), count.unwrap_or_default())
            })
            .collect()
    };
    let before = limits(old);
    let limit_before = |name| {
        // Of several entries of one name the last counts.
        before.iter().rev().find(|(other, _)| other == name).map_or(0, |(_, limit)| *limit)
    };
    queue_if(limits(new).iter().any(|(name, limit)| *limit > limit_before(name)))
}
