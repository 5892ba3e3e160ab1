//! VolumeRestrictions: a disk that only one pod can have for writing keeps other pods with it away.
//!
//! Follows `plugins/volumerestrictions/volume_restrictions.go`: disks of GCE and AWS, iSCSI and RBD on one node, claims
//! of the access mode ReadWriteOncePod in the whole cluster (KEP-2485).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::helper::objects::{as_pods, changed};
use super::helper::volumes::{self, Volume};
use super::helper::{listers, signers};
use super::names;
use crate::api::objects::{PersistentVolumeClaim, Pod};
use crate::api::{NamespacedName, Object};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterExtensions, PreFilterPlugin, PreFilterResult,
    QueueingHint, SignFragment, SignPlugin, Status,
};

const DISK_REASON: &str = "node(s) had no available disk";
const CLAIM_REASON: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already \
                            in-use by another pod";
const READ_WRITE_ONCE_POD: &str = "ReadWriteOncePod";

/// The kinds of disks that conflict.
const DISKS: [&str; 4] = ["gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd"];

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct VolumeRestrictions;

/// What PreFilter has found.
#[derive(Clone, Debug)]
struct ExclusiveClaims {
    /// The pod's claims that one pod alone may use.
    names: Arc<BTreeSet<String>>,
    /// How often they are used by pods on nodes, these included that are put there or taken off in thought.
    n_uses: i64,
}

impl ExclusiveClaims {
    /// The claims of a pod, each counted once if a pod on a node has it.
    fn of(pod: &Pod, handle: &Handle<'_>) -> Result<Self, String> {
        let (mut names, mut n_uses) = (BTreeSet::new(), 0);
        for name in pod.claim_names() {
            let claim = listers::claim(handle.objects, &pod.metadata.namespace, name)?;
            let is_exclusive = claim.spec.access_modes.iter().any(|mode| mode == READ_WRITE_ONCE_POD);
            if is_exclusive && names.insert(name.to_owned()) {
                n_uses += i64::from(handle.snapshot.is_claim_used(&claim.key()));
            }
        }
        Ok(Self { names: Arc::new(names), n_uses })
    }

    /// How many volumes of another pod refer to them. Upstream compares the names alone, so a claim of another
    /// namespace counts if it has the same name.
    fn uses_of(&self, pod: &PodInfo) -> i64 {
        let uses = pod.claims.iter().filter(|claim| self.names.contains(&*claim.name));
        i64::try_from(uses.count()).unwrap_or(i64::MAX)
    }
}

fn has_disk(volume: &Volume) -> bool {
    DISKS.iter().any(|disk| volumes::has(volume, disk))
}

/// A disk that the pod cannot have beside another pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskConflict {
    /// The pod's volume.
    pub volume: String,
    /// Its kind and what tells it from others, such as `rbd rbd/image`.
    pub disk: String,
    /// Who has it.
    pub holder: NamespacedName,
    /// Whether both only read it.
    pub both_read_only: bool,
}

/// The disks that keep the pod off the node, in the order of its volumes.
pub fn disk_conflicts(pod: &Pod, node: &NodeInfo) -> Vec<DiskConflict> {
    let mut found = Vec::new();
    for volume in &pod.spec.volumes {
        for other in node.pods() {
            let conflict =
                other.pod.spec.volumes.iter().find_map(|held| Some((conflict(volume, held)?, held)));
            let Some((kind, held)) = conflict else { continue };
            let disk = volumes::source(volume, kind);
            found.push(DiskConflict {
                volume: volume.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
                disk: disk.map_or_else(String::new, |disk| describe_disk(kind, disk)),
                holder: other.pod.key(),
                both_read_only: [volume, held]
                    .into_iter()
                    .all(|one| volumes::source(one, kind).is_some_and(is_read_only)),
            });
        }
    }
    found
}

fn describe_disk(kind: &str, disk: &Value) -> String {
    let id = match kind {
        "gcePersistentDisk" => volumes::text(disk, "pdName").to_owned(),
        "awsElasticBlockStore" => volumes::text(disk, "volumeID").to_owned(),
        "iscsi" => volumes::text(disk, "iqn").to_owned(),
        _ => {
            let pool = Some(volumes::text(disk, "pool")).filter(|pool| !pool.is_empty());
            format!("{}/{}", pool.unwrap_or("rbd"), volumes::text(disk, "image"))
        }
    };
    format!("{kind} {id}")
}

/// The pod's claims that one pod alone may use, by name; none unless the attempt found them in use.
pub fn exclusive_claims(state: &CycleState) -> Vec<String> {
    let found = state.read::<ExclusiveClaims>().filter(|claims| claims.n_uses > 0);
    found.map_or_else(Vec::new, |claims| claims.names.iter().cloned().collect())
}

fn is_read_only(disk: &Value) -> bool {
    disk.get("readOnly").and_then(Value::as_bool).unwrap_or(false)
}

/// Whether two volumes are one disk that both cannot have.
fn conflicts(volume: &Volume, other: &Volume) -> bool {
    conflict(volume, other).is_some()
}

/// The kind of the disk that two volumes are and that both cannot have.
fn conflict(volume: &Volume, other: &Volume) -> Option<&'static str> {
    DISKS.into_iter().find(|kind| {
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
    let had_claim = deleted.claim_names().any(|claim| pod.claim_names().any(|own| own == claim));
    Ok(if is_there && (had_disk || had_claim) { QueueingHint::Queue } else { QueueingHint::QueueSkip })
}

fn is_schedulable_after_claim_added(
    pod: &Pod,
    old: Option<&Object>,
    new: Option<&Object>,
) -> Result<QueueingHint, String> {
    let (_, claim) = changed::<PersistentVolumeClaim>(old, new)?;
    let is_own = claim.metadata.namespace == pod.metadata.namespace
        && pod.claim_names().any(|name| *name == *claim.metadata.name);
    Ok(if is_own { QueueingHint::Queue } else { QueueingHint::QueueSkip })
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
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let claims = match ExclusiveClaims::of(&pod.pod, handle) {
            Ok(claims) => claims,
            // The only error there is: a claim is missing.
            Err(reason) => return (None, Status::unresolvable(reason)),
        };
        if claims.n_uses == 0 && !pod.pod.spec.volumes.iter().any(has_disk) {
            return (None, Status::skip());
        }
        state.write(self.name(), claims);
        (None, Status::SUCCESS)
    }

    fn pre_filter_extensions(&self) -> Option<&dyn PreFilterExtensions> {
        Some(self)
    }
}

impl PreFilterExtensions for VolumeRestrictions {
    fn add_pod(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        pod_to_add: &PodInfo,
        _: &NodeInfo,
    ) -> Status {
        let Some(claims) = state.read_mut::<ExclusiveClaims>() else { return not_found() };
        claims.n_uses += claims.uses_of(pod_to_add);
        Status::SUCCESS
    }

    fn remove_pod(
        &self,
        _: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        pod_to_remove: &PodInfo,
        _: &NodeInfo,
    ) -> Status {
        let Some(claims) = state.read_mut::<ExclusiveClaims>() else { return not_found() };
        claims.n_uses -= claims.uses_of(pod_to_remove);
        Status::SUCCESS
    }
}

/// PreFilter was not asked.
fn not_found() -> Status {
    Status::error("cannot read \"PreFilterVolumeRestrictions\" from cycleState")
}

impl FilterPlugin for VolumeRestrictions {
    fn filter(&self, _: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        if has_volume_conflict(&pod.pod, node.pods().iter().map(|other| other.pod.as_ref())) {
            return Status::unschedulable(DISK_REASON);
        }
        match state.read::<ExclusiveClaims>() {
            None => not_found(),
            Some(claims) if claims.n_uses > 0 => Status::unschedulable(CLAIM_REASON),
            Some(_) => Status::SUCCESS,
        }
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
            ClusterEventWithHint::hinted(
                ClusterEvent::new(EventResource::PersistentVolumeClaim, ActionType::ADD),
                |_, pod, old, new| is_schedulable_after_claim_added(pod, old, new),
            ),
        ]
    }
}

impl SignPlugin for VolumeRestrictions {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framework::Code;
    use crate::plugins::fixtures::{filter, filter_in, hint, object, pod, pod_info, pod_object, world_of};

    const NODE: &str = "{metadata: {name: n}}";

    fn with_volume(name: &str, volume: &str) -> String {
        format!(
            "{{metadata: {{name: {name}, namespace: default}}, spec: {{nodeName: n, volumes: [{{name: v, {volume}}}]}}}}"
        )
    }

    /// What a pod with one volume is told on a node that has a pod with another.
    fn beside(volume: &str, existing: &str) -> Result<(Code, String), Code> {
        let (pod, existing) = (with_volume("new", volume), with_volume("old", existing));
        match filter(&VolumeRestrictions, &pod, &[NODE], &[&existing]) {
            Ok(statuses) => Ok((statuses[0].code(), statuses[0].message())),
            Err(status) => Err(status.code()),
        }
    }

    #[test]
    fn a_disk_is_on_a_node_once_unless_all_only_read_it() {
        let free = Ok((Code::Success, String::new()));
        let taken = Ok((Code::Unschedulable, "node(s) had no available disk".to_owned()));
        let rbd = |more: &str| format!("rbd: {{monitors: [m1, m2], image: img{more}}}");
        let read_only = rbd(", readOnly: true");
        assert_eq!(beside(&read_only, &read_only), free);
        assert_eq!(beside(&rbd(""), &read_only), taken);
        assert_eq!(beside(&rbd(", pool: rbd"), &rbd("")), taken, "the pool is rbd unless it is said");
        assert_eq!(beside(&rbd(", pool: other"), &rbd("")), free);
        assert_eq!(beside(&rbd(""), "rbd: {monitors: [m3], image: img}"), free, "another cluster");
        assert_eq!(beside(&rbd(""), "rbd: {monitors: [m3, m2], image: img}"), taken, "a monitor in common");
        let iscsi = |iqn: &str, more: &str| format!("iscsi: {{targetPortal: t, iqn: {iqn}, lun: 0{more}}}");
        assert_eq!(beside(&iscsi("x", ", readOnly: true"), &iscsi("x", "")), taken);
        assert_eq!(beside(&iscsi("x", ", readOnly: true"), &iscsi("x", ", readOnly: true")), free);
        assert_eq!(beside(&iscsi("x", ""), &iscsi("y", "")), free);
        let gce = |more: &str| format!("gcePersistentDisk: {{pdName: d{more}}}");
        assert_eq!(beside(&gce(", readOnly: true"), &gce(", readOnly: true")), free);
        assert_eq!(beside(&gce(""), &gce(", readOnly: true")), taken);
        let aws = "awsElasticBlockStore: {volumeID: v, readOnly: true}";
        assert_eq!(beside(aws, aws), taken, "reading alone does not help");
    }

    #[test]
    fn other_volumes_are_not_looked_at() {
        for volume in
            ["emptyDir: {}", "configMap: {name: c}", "csi: {driver: d}", "nfs: {server: s}", "rbd: null"]
        {
            assert_eq!(beside(volume, volume), Err(Code::Skip), "{volume}");
        }
    }

    #[test]
    fn the_deletion_of_a_pod_with_the_same_disk_or_claim_is_worth_a_retry() {
        let disk = "gcePersistentDisk: {pdName: d}";
        let claim = "persistentVolumeClaim: {claimName: data}";
        let answer = |own: &str, deleted: &str| {
            let deleted = pod_object(&with_volume("old", deleted));
            hint(&VolumeRestrictions, 0, &pod(&with_volume("new", own)), Some(&deleted), None)
        };
        assert_eq!(answer(disk, disk), Ok(QueueingHint::Queue));
        assert_eq!(answer(claim, claim), Ok(QueueingHint::Queue));
        assert_eq!(answer(claim, "persistentVolumeClaim: {claimName: logs}"), Ok(QueueingHint::QueueSkip));
        assert_eq!(answer(disk, "emptyDir: {}"), Ok(QueueingHint::QueueSkip));
        let elsewhere = with_volume("old", disk).replace("namespace: default", "namespace: other");
        let elsewhere = pod_object(&elsewhere);
        let new = pod(&with_volume("new", disk));
        assert_eq!(hint(&VolumeRestrictions, 0, &new, Some(&elsewhere), None), Ok(QueueingHint::QueueSkip));
    }

    const CLAIM_TAKEN: &str = "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod";

    fn with_claim(name: &str, namespace: &str) -> String {
        let mode = "accessModes: [ReadWriteOnce, ReadWriteOncePod]";
        format!(
            "{{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {{name: {name}, namespace: {namespace}}}, spec: {{{mode}}}}}"
        )
    }

    fn user(name: &str, namespace: &str, claim: &str) -> String {
        let volume = format!("{{name: v, persistentVolumeClaim: {{claimName: {claim}}}}}");
        format!(
            "{{kind: Pod, apiVersion: v1, metadata: {{name: {name}, namespace: {namespace}, uid: {name}}}, spec: {{nodeName: a, volumes: [{volume}]}}}}"
        )
    }

    fn claims(objects: &[String]) -> Result<Vec<String>, (Code, String)> {
        let nodes =
            ["a", "b"].map(|name| format!("{{kind: Node, apiVersion: v1, metadata: {{name: {name}}}}}"));
        let all = [&nodes, objects].concat().join("\n---\n");
        let new = user("new", "default", "data").replace("nodeName: a, ", "");
        match filter_in(&VolumeRestrictions, &all, &new) {
            Ok(statuses) => Ok(statuses.iter().map(Status::message).collect()),
            Err(status) => Err((status.code(), status.message())),
        }
    }

    #[test]
    fn a_claim_for_one_pod_is_taken_on_all_nodes() {
        let own = with_claim("data", "default");
        let skip = Err((Code::Skip, String::new()));
        assert_eq!(
            claims(&[own.clone(), user("old", "default", "data")]),
            Ok(vec![CLAIM_TAKEN.to_owned(), CLAIM_TAKEN.to_owned()])
        );
        assert_eq!(claims(std::slice::from_ref(&own)), skip);
        assert_eq!(
            claims(&[own.clone(), user("old", "other", "data")]),
            skip,
            "a claim of another namespace"
        );
        let shared = own.replace(", ReadWriteOncePod", "");
        assert_eq!(claims(&[shared, user("old", "default", "data")]), skip);
        assert_eq!(
            claims(&[with_claim("data", "other")]),
            Err((Code::UnschedulableAndUnresolvable, "persistentvolumeclaim \"data\" not found".to_owned()))
        );
    }

    #[test]
    fn a_pod_taken_off_frees_its_claims_by_name_alone() {
        let manifest = [with_claim("data", "default"), user("old", "default", "data")].join("\n---\n");
        let node = "{kind: Node, apiVersion: v1, metadata: {name: a}}";
        let world = world_of(&format!("{node}\n---\n{manifest}"));
        let (handle, mut state) = (world.handle(), CycleState::new());
        let pod = pod_info(&user("new", "default", "data"));
        let (_, status) = VolumeRestrictions.pre_filter(&handle, &mut state, &pod, world.snapshot.list());
        assert!(status.is_success());
        let node = &world.snapshot.list()[0];
        let mut empty = NodeInfo::clone(node);
        empty.remove_pod(&node.pods()[0].pod);
        let verdict = |state: &CycleState| VolumeRestrictions.filter(&handle, state, &pod, &empty).message();
        assert_eq!(verdict(&state), CLAIM_TAKEN);
        let old = pod_info(&user("old", "default", "data"));
        let namesake = pod_info(&user("namesake", "other", "data"));
        let extensions = VolumeRestrictions.pre_filter_extensions();
        let Some(extensions) = extensions else { unreachable!("it has some") };
        extensions.remove_pod(&handle, &mut state, &pod, &old, &empty);
        assert_eq!(verdict(&state), "");
        extensions.add_pod(&handle, &mut state, &pod, &namesake, &empty);
        assert_eq!(verdict(&state), CLAIM_TAKEN);
        let unread = extensions.remove_pod(&handle, &mut CycleState::new(), &pod, &old, &empty);
        assert_eq!(unread.message(), "cannot read \"PreFilterVolumeRestrictions\" from cycleState");
    }

    #[test]
    fn a_new_claim_of_the_pod_is_worth_a_retry() {
        let new = pod(&user("new", "default", "data"));
        let answer = |claim: &str| hint(&VolumeRestrictions, 2, &new, None, Some(&object(claim)));
        assert_eq!(answer(&with_claim("data", "default")), Ok(QueueingHint::Queue));
        assert_eq!(answer(&with_claim("data", "other")), Ok(QueueingHint::QueueSkip));
        assert_eq!(answer(&with_claim("logs", "default")), Ok(QueueingHint::QueueSkip));
    }
}
