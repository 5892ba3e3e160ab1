//! What could be added to the cluster, or is a matter of the pod alone: nodes, volumes, members of a gang, a priority.

use std::sync::Arc;

use serde_json::json;

use super::change::{Change, ChangeKind, apply_command, put};
use super::patch::PatchOp;
use super::remedies::{Cx, claim_key, shortages};
use crate::api::objects::{PersistentVolume, Pod, PodGroup};
use crate::api::{NamespacedName, Object, ObjectStore, Str};
use crate::driver::sandbox::changes::{self as sandbox_changes, HOSTNAME};
use crate::driver::sandbox::returns::fresh_copy;
use crate::driver::session::Edit;
use crate::framework::{NodeInfo, PodInfo};
use crate::scheduler::reading::Probe;

/// How many priorities are tried.
const N_PRIORITIES: usize = 6;
/// The highest priority that a class of somebody's own may have.
const PRIORITY_MAX: i32 = 1_000_000_000;

/// Adds a node that is as another one, without its pods; `None` if the pod does not fit on an empty one.
pub(super) fn node_like(cx: &Cx<'_>, like: &NodeInfo) -> Option<Change> {
    let old = like.node()?;
    let name: Str = unused_name(cx.objects, &format!("{}-copy", old.name())).into();
    let objects = sandbox_changes::node_like(cx.objects, old, &name);
    let Some(Object::Node(node)) = objects.first() else { return None };
    if !shortages(cx.info(), &NodeInfo::with_node(Arc::clone(node))).is_empty() {
        return None;
    }
    let edits: Option<Vec<Edit>> = objects.iter().map(put).collect();
    let edits = edits?;
    let what = format!("add a node like {} ({name})", old.name());
    let command = format!("# scale up the node group of {}: one more node like it", old.name());
    Some(Change::of_cluster(ChangeKind::AddNode, what, 10, edits, vec![command]))
}

fn unused_name(objects: &ObjectStore, name: &str) -> String {
    let is_free = |name: &String| !objects.nodes.contains_key(&NamespacedName::cluster(name.as_str()));
    let numbered = (2..100).map(|n| format!("{name}-{n}"));
    std::iter::once(name.to_owned()).chain(numbered).find(is_free).unwrap_or_else(|| name.to_owned())
}

/// What tells groups of equal nodes apart.
pub(super) fn shape(node: &NodeInfo) -> String {
    let Some(object) = node.node() else { return String::new() };
    let labels = object.metadata.labels.iter().filter(|(key, _)| &***key != HOSTNAME);
    let labels: Vec<String> = labels.map(|(key, value)| format!("{key}={value}")).collect();
    let taints: Vec<String> = object.spec.taints.iter().map(ToString::to_string).collect();
    format!("{:?} {labels:?} {taints:?}", node.allocatable())
}

/// Volumes for the claims of the pod that are not bound.
pub(super) fn volumes(cx: &Cx<'_>) -> Option<Change> {
    let mut edits = Vec::new();
    let mut commands = Vec::new();
    let mut said = Vec::new();
    for name in cx.pod.claim_names() {
        let claim = cx.objects.persistent_volume_claims.get(&claim_key(cx.pod, name))?;
        if !claim.spec.volume_name.is_empty() {
            continue;
        }
        let request = claim.spec.resources.requests.get("storage").copied();
        let document = json!({
            "metadata": {"name": format!("{}-{name}-volume", cx.pod.metadata.namespace)},
            "spec": {
                "capacity": {"storage": request.map_or_else(|| "1Gi".to_owned(), |request| request.spelling())},
                "accessModes": claim.spec.access_modes,
                "storageClassName": claim.spec.storage_class_name.clone().unwrap_or_default(),
                "volumeMode": claim.spec.volume_mode,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": format!("/mnt/{name}")},
            },
            "status": {"phase": "Available"},
        });
        let volume: PersistentVolume = serde_json::from_value(document).ok()?;
        let object = Object::from(volume);
        edits.push(put(&object)?);
        commands.extend(apply_command(&object));
        said.push(name.to_owned());
    }
    if edits.is_empty() {
        return None;
    }
    let what = format!("add a volume for {}", said.join(", "));
    Some(Change::of_cluster(ChangeKind::AddVolumes, what, 8, edits, commands))
}

/// Takes all gates away.
pub(super) fn remove_gates(pod: &Pod) -> Option<Change> {
    let names: Vec<&str> = pod.spec.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
    if names.is_empty() {
        return None;
    }
    let what =
        format!("remove the scheduling gate{} {}", if names.len() > 1 { "s" } else { "" }, names.join(", "));
    Some(Change::of_pod(ChangeKind::RemoveGates, what, 1, vec![PatchOp::remove("/spec/schedulingGates")]))
}

/// What gives a gang that is too small its quorum.
pub(super) fn quorum(cx: &Cx<'_>) -> Vec<Change> {
    let Some(name) = cx.pod.pod_group_name() else { return Vec::new() };
    let key = NamespacedName::new(cx.pod.metadata.namespace.clone(), name.clone());
    let Some(group) = cx.objects.pod_groups.get(&key) else { return Vec::new() };
    let Some(needed) = group.gang_min_count() else { return Vec::new() };
    let members = cx.objects.pods.values().filter(|pod| {
        pod.metadata.namespace == cx.pod.metadata.namespace && pod.pod_group_name() == Some(name)
    });
    let n = i32::try_from(members.filter(|pod| !pod.is_terminal()).count()).unwrap_or(i32::MAX);
    let mut changes = Vec::new();
    let mut lower = |to: i32| {
        let mut smaller = PodGroup::clone(group);
        if let Some(gang) = &mut smaller.spec.scheduling_policy.gang {
            gang.min_count = to;
        }
        let patch = format!("{{\"spec\":{{\"schedulingPolicy\":{{\"gang\":{{\"minCount\":{to}}}}}}}}}");
        let command = format!(
            "kubectl patch podgroup {name} -n {} --type=merge -p '{patch}'",
            cx.pod.metadata.namespace
        );
        let edits = put(&Object::from(smaller)).into_iter().collect();
        let what = format!("let gang {name} begin with {to} of {needed} members");
        let cost = 3 + u32::try_from(needed - to).unwrap_or(1);
        changes.push(Change::of_cluster(ChangeKind::LowerMinCount, what, cost, edits, vec![command]));
    };
    if n < needed && n > 0 {
        lower(n);
        let missing = needed - n;
        let copies: Option<Vec<_>> =
            (1..=missing.min(50)).map(|i| member(cx.pod, i)).map(|pod| put(&pod.into())).collect();
        if let Some(edits) = copies.filter(|_| missing <= 50) {
            let what = format!("add {missing} more to gang {name}, like {}", cx.pod.metadata.name);
            let command = format!("# scale up what makes the pods of gang {name}: {missing} more");
            let cost = 4 + u32::try_from(missing).unwrap_or(50);
            changes.push(Change::of_cluster(ChangeKind::AddMembers, what, cost, edits, vec![command]));
        }
    } else if needed > 1 {
        // The members are there and do not all fit.
        for to in (1..needed).rev().take(3) {
            lower(to);
        }
    }
    changes
}

fn member(pod: &Pod, i: i32) -> Pod {
    fresh_copy(pod, format!("{}-more-{i}", pod.metadata.name).into())
}

/// The lowest priority with which others would make room.
pub(super) fn priority(cx: &Cx<'_>, probe: &Probe) -> Option<Change> {
    let own = cx.pod.priority();
    let of = |info: &Arc<PodInfo>| info.pod.priority();
    let nodes = cx.trace.nodes().iter();
    let there: std::collections::BTreeSet<i32> = nodes.flat_map(|node| node.pods().iter().map(of)).collect();
    let is_never = cx.pod.spec.preemption_policy.as_deref() == Some("Never");
    let allow = || PatchOp::add("/spec/preemptionPolicy", "PreemptLowerPriority");
    let makes_room = |ops: &[PatchOp]| {
        let change = Change::of_pod(ChangeKind::RaisePriority, "", 0, ops.to_vec());
        let pod = super::change::patched(cx.pod, [&change])?;
        let trace = probe.attempt(&pod.into())?;
        trace.post_filter?.nominated_node.map(drop)
    };
    if is_never && there.iter().any(|priority| *priority < own) {
        let ops = vec![allow()];
        if makes_room(&ops).is_some() {
            let what = "let the pod preempt (preemptionPolicy PreemptLowerPriority)";
            return Some(Change::of_pod(ChangeKind::AllowPreemption, what, 5, ops));
        }
    }
    let above = there.into_iter().filter(|priority| *priority >= own && *priority < PRIORITY_MAX);
    for priority in above.take(N_PRIORITIES) {
        let wanted = priority + 1;
        let class = class_of(cx.objects, wanted);
        let value = class.as_ref().map_or(wanted, |(_, value)| *value);
        let mut ops = vec![PatchOp::add("/spec/priority", value)];
        let what = match &class {
            Some((name, value)) => {
                ops.push(PatchOp::add("/spec/priorityClassName", name.as_str()));
                format!("raise the priority from {own} to {value} (class {name})")
            }
            None if cx.pod.spec.priority_class_name.is_empty() => {
                format!("raise the priority from {own} to {value} (with a new PriorityClass)")
            }
            None => {
                ops.push(PatchOp::remove("/spec/priorityClassName"));
                format!("raise the priority from {own} to {value} (with a new PriorityClass)")
            }
        };
        if is_never {
            ops.push(allow());
        }
        if makes_room(&ops).is_some() {
            return Some(Change::of_pod(ChangeKind::RaisePriority, what, 6, ops));
        }
    }
    None
}

/// The lowest class that is high enough and lets its pods preempt.
fn class_of(objects: &ObjectStore, wanted: i32) -> Option<(String, i32)> {
    let classes = objects
        .priority_classes
        .values()
        .filter(|class| class.value >= wanted && class.value <= PRIORITY_MAX)
        .filter(|class| class.preemption_policy.as_deref() != Some("Never"));
    let least = classes.min_by_key(|class| (class.value, class.metadata.name.clone()))?;
    Some((least.metadata.name.to_string(), least.value))
}
