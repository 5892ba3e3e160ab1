//! VolumeRestrictions: a disk that only one node can have for writing keeps other pods with it off the node.
//!
//! Follows `plugins/volumerestrictions/volume_restrictions.go`: disks of GCE and AWS, iSCSI and RBD. Not built: claims
//! of the access mode ReadWriteOncePod; a pod with any claim gets an error.

use std::sync::Arc;

use serde_json::Value;

use super::helper::objects::as_pods;
use super::helper::volumes::{self, Volume};
use super::helper::{signers, volumes::PERSISTENT_VOLUME_CLAIM};
use super::names;
use crate::api::Object;
use crate::api::objects::Pod;
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterExtensions, PreFilterPlugin, PreFilterResult,
    QueueingHint, SignFragment, SignPlugin, Status,
};

const REASON: &str = "node(s) had no available disk";

/// The kinds of disks that conflict.
const DISKS: [&str; 4] = ["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"];

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolumeRestrictions;

/// That PreFilter has seen the pod.
#[derive(Clone, Debug)]
struct Seen;

fn has_disk(volume: &Volume) -> bool {
    DISKS.iter().any(|disk| volumes::has(volume, disk))
}

/// Whether two volumes are one disk that both cannot have.
fn conflicts(volume: &Volume, other: &Volume) -> bool {
    let is_read_only = |disk: &Value| disk.get("readOnly").and_then(Value::as_bool).unwrap_or(false);
    DISKS.iter().any(|kind| {
        let (Some(disk), Some(existing)) = (volumes::source(volume, kind), volumes::source(other, kind))
        else {
            return false;
        };
        let same = |field: &str, default: &str| {
            let value = |disk| Some(volumes::text(disk, field)).filter(|text| !text.is_empty());
            value(disk).unwrap_or(default) == value(existing).unwrap_or(default)
        };
        let both_read_only = is_read_only(disk) && is_read_only(existing);
        match *kind {
            "gcePersistentDisk" => same("pdName", "") && !both_read_only,
            // A volume of AWS is never on two pods of one node.
            "awsElasticBlockStore" => same("volumeID", ""),
            "iscsi" => same("iqn", "") && !both_read_only,
            _ => {
                // The pool is `rbd` unless it is said.
                have_common(disk, existing, "monitors")
                    && same("pool", "rbd")
                    && same("image", "")
                    && !both_read_only
            }
        }
    })
}

fn have_common(one: &Value, other: &Value, field: &str) -> bool {
    let list = |disk: &Value| disk.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
    let others = list(other);
    list(one).iter().any(|value| others.contains(value))
}

fn has_volume_conflict<'a>(pod: &Pod, mut others: impl Iterator<Item = &'a Pod>) -> bool {
    let disks: Vec<&Volume> = pod.spec.volumes.iter().filter(|volume| has_disk(volume)).collect();
    let taken = |existing: &Volume| disks.iter().any(|disk| conflicts(disk, existing));
    !disks.is_empty() && others.any(|other| other.spec.volumes.iter().any(taken))
}

fn is_schedulable_after_pod_deleted(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (deleted, _) = as_pods(old, new)?;
    let deleted = deleted.ok_or_else(|| "expected a Pod, but got nothing".to_owned())?;
    let is_there = pod.metadata.namespace == deleted.metadata.namespace;
    let had_disk = has_volume_conflict(pod, std::iter::once(deleted.as_ref()));
    let claims = |pod: &Pod| {
        let claims = pod.spec.volumes.iter().filter_map(volumes::claim_name);
        claims.map(str::to_owned).collect::<Vec<_>>()
    };
    let wanted = claims(pod);
    let had_claim = claims(deleted).iter().any(|claim| wanted.contains(claim));
    Ok(if is_there && (had_disk || had_claim) { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

impl Plugin for VolumeRestrictions {
    fn name(&self) -> &'static str {
        names::VOLUME_RESTRICTIONS
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl PreFilterPlugin for VolumeRestrictions {
    fn pre_filter(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        if let Some(status) = volumes::not_built(self.name(), &pod.pod, &[PERSISTENT_VOLUME_CLAIM]) {
            return (None, status);
        }
        if !pod.pod.spec.volumes.iter().any(has_disk) {
            return (None, Status::skip());
        }
        state.write(self.name(), Seen);
        (None, Status::SUCCESS)
    }

    fn pre_filter_extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

/// Without claims there is nothing to count.
impl PreFilterExtensions for VolumeRestrictions {
    fn add_pod(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        _: &PodInfo,
        _: &NodeInfo,
    ) -> Status {
        check_seen(state)
    }

    fn remove_pod(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        _: &PodInfo,
        _: &NodeInfo,
    ) -> Status {
        check_seen(state)
    }
}

/// An error if PreFilter was not asked.
fn check_seen(state: &CycleState) -> Status {
    match state.read::<Seen>() {
        Some(Seen) => Status::SUCCESS,
        None => Status::error("cannot read \"PreFilterVolumeRestrictions\" from cycleState"),
    }
}

impl FilterPlugin for VolumeRestrictions {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        if has_volume_conflict(&pod.pod, node.pods().iter().map(|other| other.pod.as_ref())) {
            return Status::unschedulable(REASON);
        }
        check_seen(state)
    }
}

impl EnqueueExtensions for VolumeRestrictions {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let deleted = ClusterEvent::new(EventResource::Pod, ActionType::DELETE);
        vec![
            ClusterEventWithHint::hinted(deleted, |_, pod, old, new| {
                is_schedulable_after_pod_deleted(pod, old, new)
            }),
            ClusterEventWithHint::always(ClusterEvent::new(EventResource::Node, ActionType::ADD)),
        ]
    }
}

impl SignPlugin for VolumeRestrictions {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}
