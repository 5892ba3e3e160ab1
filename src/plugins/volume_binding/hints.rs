//! Which changes may make a pod schedulable that the plugin has turned down.
//!
//! Follows `EventsToRegister` and the hints of `plugins/volumebinding/volume_binding.go`. Volumes and nodes have no
//! hint: every change of theirs counts. The hint for drivers looks at inline CSI volumes only, as upstream has it.

use crate::api::Object;
use crate::api::objects::{
    CSIDriver, CSINode, CSIStorageCapacity, MIGRATED_PLUGINS_ANNOTATION, PersistentVolumeClaim, Pod,
    StorageClass,
};
use crate::framework::{ActionType, ClusterEvent, ClusterEventWithHint, EventResource, QueueingHint};
use crate::plugins::helper::objects::changed;
use crate::plugins::helper::volumes::{source, text};

use super::claims::claim_names;
use super::provisioning::volume_limit;

/// The judgement of a hint, or why it cannot judge.
type Judged = Result<QueueingHint, String>;

/// A function that judges a change for a pod.
type Hint = fn(&Pod, Option<&Object>, Option<&Object>) -> Judged;

/// The events, each with the function that judges it.
pub fn events() -> Vec<ClusterEventWithHint> {
    let (add, update) = (ActionType::ADD, ActionType::UPDATE);
    let always = |resource, actions| ClusterEventWithHint::always(ClusterEvent::new(resource, actions));
    let judged = |resource, actions, hint: Hint| {
        ClusterEventWithHint::hinted(ClusterEvent::new(resource, actions), move |_, pod, old, new| {
            hint(pod, old, new)
        })
    };
    vec![
        judged(EventResource::StorageClass, add | update, after_storage_class_change),
        judged(EventResource::PersistentVolumeClaim, add | update, after_claim_change),
        always(EventResource::PersistentVolume, add | update),
        always(EventResource::Node, add | ActionType::UPDATE_NODE_LABEL),
        judged(EventResource::CsiNode, add | update, after_csi_node_change),
        judged(EventResource::CsiDriver, update, after_csi_driver_change),
        judged(EventResource::CsiStorageCapacity, add | update, after_capacity_change),
    ]
}

const fn queue_if(may_help: bool) -> QueueingHint {
    if may_help { QueueingHint::Queue } else { QueueingHint::QueueSkip }
}

fn after_csi_node_change(_: &Pod, old: Option<&Object>, new: Option<&Object>) -> Judged {
    if old.is_none() {
        return Ok(QueueingHint::Queue);
    }
    let (old, new) = changed::<CSINode>(old, new)?;
    let migrated = |node: &CSINode| {
        node.metadata.annotations.get(MIGRATED_PLUGINS_ANNOTATION).cloned().unwrap_or_else(|| "".into())
    };
    Ok(queue_if(old.map(|old| migrated(old)) != Some(migrated(new))))
}

fn after_claim_change(pod: &Pod, old: Option<&Object>, new: Option<&Object>) -> Judged {
    let (_, claim) = changed::<PersistentVolumeClaim>(old, new)?;
    let is_used = claim.metadata.namespace == pod.metadata.namespace
        && claim_names(pod).any(|name| name == *claim.metadata.name);
    Ok(queue_if(is_used))
}

fn after_storage_class_change(_: &Pod, old: Option<&Object>, new: Option<&Object>) -> Judged {
    let (old, new) = changed::<StorageClass>(old, new)?;
    Ok(queue_if(old.is_none_or(|old| old.allowed_topologies != new.allowed_topologies)))
}

fn after_capacity_change(_: &Pod, old: Option<&Object>, new: Option<&Object>) -> Judged {
    let (old, new) = changed::<CSIStorageCapacity>(old, new)?;
    let Some(old) = old else { return Ok(QueueingHint::Queue) };
    let limit = |capacity| volume_limit(capacity).map(crate::api::Quantity::value);
    Ok(queue_if(match (limit(old), limit(new)) {
        (_, None) => false,
        (None, Some(_)) => true,
        (Some(old), Some(new)) => new > old,
    }))
}

fn after_csi_driver_change(pod: &Pod, old: Option<&Object>, new: Option<&Object>) -> Judged {
    let (old, new) = changed::<CSIDriver>(old, new)?;
    let looks = |driver: &CSIDriver| driver.spec.storage_capacity == Some(true);
    let has_stopped_looking = old.is_some_and(|old| looks(old)) && !looks(new);
    let mut inline = pod.spec.volumes.iter().filter_map(|volume| source(volume, "csi"));
    Ok(queue_if(has_stopped_looking && inline.any(|csi| text(csi, "driver") == &*new.metadata.name)))
}
