//! Deployments: a replica set per template, and the way from one to the next.
//!
//! Follows `pkg/controller/deployment` (`rolling.go`, `recreate.go`, `sync.go`, `util/deployment_util.go`). Left out:
//! progress deadlines and rollbacks by annotation; changing the template back is a rollback, as upstream.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::alarms::Alarm;
use super::{Managed, REVISION, TEMPLATE_HASH, Workloads, controller_name, replica_set_spec};
use crate::api::objects::{IntOrString, ObjectMeta, OwnerReference, Pod};
use crate::api::workloads::{DeploymentSpec, Workload, WorkloadKind, WorkloadSpec, WorkloadStatus};
use crate::api::{Str, Uid};
use crate::driver::sandbox::controllers::Said;
use crate::driver::sandbox::world::Wx;

const HISTORY_LIMIT: i32 = 10;

/// How many pods may be too many and too few (`ResolveFenceposts`).
fn fenceposts(spec: &DeploymentSpec) -> (i32, i32) {
    let replicas = spec.replicas.unwrap_or(1);
    let quarter = IntOrString::String("25%".to_owned());
    let rolling = &spec.strategy.rolling_update;
    let surge = rolling.max_surge.as_ref().unwrap_or(&quarter).scaled(replicas, true).unwrap_or(0).max(0);
    let unavailable = rolling.max_unavailable.as_ref().unwrap_or(&quarter);
    let unavailable = unavailable.scaled(replicas, false).unwrap_or(0).clamp(0, replicas);
    if surge == 0 && unavailable == 0 { (0, 1) } else { (surge, unavailable) }
}

fn hash_of(set: &Managed) -> &str {
    set.workload.metadata.labels.get(TEMPLATE_HASH).map_or("", AsRef::as_ref)
}

fn revision_of(set: &Managed) -> i64 {
    let text = set.workload.metadata.annotations.get(REVISION);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// What there is of a Deployment.
struct Sets {
    new: Option<Arc<Managed>>,
    /// The oldest first.
    old: Vec<Arc<Managed>>,
}

impl Sets {
    fn of(all: &Workloads, item: &Managed) -> Self {
        let mut sets = all.owned_by(WorkloadKind::ReplicaSet, item);
        sets.sort_by(|a, b| {
            (a.created(), &a.workload.metadata.name).cmp(&(b.created(), &b.workload.metadata.name))
        });
        let at = sets.iter().position(|set| hash_of(set) == &*item.revision);
        let new = at.map(|at| sets.remove(at));
        Self { new, old: sets }
    }

    fn all(&self) -> impl Iterator<Item = &Arc<Managed>> {
        self.old.iter().chain(&self.new)
    }
}

fn total(sets: &[Arc<Managed>]) -> i32 {
    sets.iter().map(|set| set.replicas()).sum()
}

/// How many pods of a set are available; looked at again when another one will be.
fn available(all: &Workloads, wx: &mut Wx<'_>, item: &Managed, set: &Managed) -> i32 {
    let mut count = 0;
    for pod in all.active_pods_of(wx.api, set.uid()) {
        match wx.is_available(&pod, item.workload.min_ready_seconds()) {
            Ok(()) => count += 1,
            Err(Some(at)) => wx.alarms.set_by(Alarm::Workload(item.kind(), item.workload.key()), at),
            Err(None) => {}
        }
    }
    count
}

/// Gives a set another size.
fn scale(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, set: &Managed, to: i32) -> bool {
    let key = (WorkloadKind::ReplicaSet, set.workload.key());
    let wanted = item.replicas();
    let from = set.replicas();
    all.edit(&key, |set| set.desired = Some(wanted));
    if from == to {
        return false;
    }
    let mut workload = Workload::clone(&set.workload);
    if let WorkloadSpec::ReplicaSet(spec) = &mut workload.spec {
        spec.replicas = Some(to);
    }
    all.change(wx, &key, workload);
    let way = if to > from { "up" } else { "down" };
    let note = format!("scaled {way} replica set {} from {from} to {to}", set.workload.metadata.name);
    let said = Said::done("ScalingReplicaSet", note);
    wx.tell(controller_name(WorkloadKind::Deployment), "Deployment", &item.workload.key(), said);
    true
}

pub(super) fn sync(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DeploymentSpec) {
    let sets = Sets::of(all, item);
    let is_scaled =
        sets.all().any(|set| set.replicas() > 0 && set.desired.is_some_and(|was| was != item.replicas()));
    if spec.paused || is_scaled {
        return resize(all, wx, item, spec, &sets);
    }
    let is_recreate = spec.strategy.type_ == "Recreate";
    if is_recreate {
        recreate(all, wx, item, spec, &sets);
    } else {
        roll(all, wx, item, spec, &sets);
    }
    clean_up(all, wx, item, spec);
}

/// The new set, made if it is not there.
fn new_set(
    all: &mut Workloads,
    wx: &mut Wx<'_>,
    item: &Managed,
    spec: &DeploymentSpec,
    sets: &Sets,
) -> Option<Arc<Managed>> {
    let latest = sets.old.iter().map(|set| revision_of(set)).max().unwrap_or(0);
    let hash = item.revision.clone();
    if let Some(new) = &sets.new {
        let is_current = revision_of(new) > latest || (latest == 0 && revision_of(new) == 0);
        if !is_current {
            // An earlier template has come back.
            let key = (WorkloadKind::ReplicaSet, new.workload.key());
            let mut workload = Workload::clone(&new.workload);
            set_revision(&mut workload.metadata, latest + 1);
            all.change(wx, &key, workload);
            note_revision(all, item, latest + 1);
            return all.get(&key).cloned();
        }
        return Some(Arc::clone(new));
    }
    let name = Str::from(format!("{}-{hash}", item.workload.metadata.name));
    let replicas = if spec.strategy.type_ == "Recreate" {
        item.replicas()
    } else {
        new_replicas(spec, total(&sets.old), 0)
    };
    let own = replica_set_spec(spec, &hash, replicas);
    let mut metadata = ObjectMeta {
        name: name.clone(),
        namespace: item.workload.metadata.namespace.clone(),
        labels: own.template.metadata.labels.clone(),
        ..ObjectMeta::default()
    };
    set_revision(&mut metadata, latest + 1);
    let workload = Workload {
        metadata,
        spec: WorkloadSpec::ReplicaSet(Box::new(own)),
        status: WorkloadStatus::default(),
    };
    let key = (WorkloadKind::ReplicaSet, workload.key());
    if all.get(&key).is_some() {
        // Somebody else's; the next template will have another hash.
        let said =
            Said::failed("ReplicaSetCreateError", format!("there is a replica set {name} of another owner"));
        wx.tell(controller_name(WorkloadKind::Deployment), "Deployment", &item.workload.key(), said);
        return None;
    }
    all.add_owned(wx, item, workload, Some(hash));
    let wanted = item.replicas();
    all.edit(&key, |set| set.desired = Some(wanted));
    note_revision(all, item, latest + 1);
    all.get(&key).cloned()
}

fn set_revision(metadata: &mut ObjectMeta, revision: i64) {
    metadata.annotations.insert(Str::from(REVISION), Str::from(revision.to_string()));
}

fn note_revision(all: &mut Workloads, item: &Managed, revision: i64) {
    let key = (WorkloadKind::Deployment, item.workload.key());
    all.edit(&key, |item| set_revision(&mut Arc::make_mut(&mut item.workload).metadata, revision));
}

/// How large the new set may be beside old ones of that size (`NewRSNewReplicas`).
fn new_replicas(spec: &DeploymentSpec, old: i32, new: i32) -> i32 {
    let replicas = spec.replicas.unwrap_or(1);
    let room = replicas + fenceposts(spec).0 - (old + new);
    if room <= 0 { new } else { new + room.min(replicas - new) }
}

fn roll(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DeploymentSpec, sets: &Sets) {
    let Some(new) = new_set(all, wx, item, spec, sets) else { return };
    let old_total = total(&sets.old);
    let to = if new.replicas() > item.replicas() {
        item.replicas()
    } else if new.replicas() == item.replicas() {
        new.replicas()
    } else {
        new_replicas(spec, old_total, new.replicas())
    };
    if scale(all, wx, item, &new, to) {
        // The rest is for the next look.
        wx.due.insert(super::Item::Workload(item.kind(), item.workload.key()));
        return;
    }
    if old_total == 0 {
        return;
    }
    let least = item.replicas() - fenceposts(spec).1;
    let new_available = available(all, wx, item, &new);
    let mut may_go = old_total + new.replicas() - least - (new.replicas() - new_available);
    if may_go <= 0 {
        return;
    }
    // What is not available can go first: nothing is lost with it.
    let mut sizes: BTreeMap<Str, i32> = BTreeMap::new();
    let mut old_available = 0;
    for set in &sets.old {
        let there = available(all, wx, item, set);
        old_available += there;
        let unhealthy = (set.replicas() - there).clamp(0, may_go);
        may_go -= unhealthy;
        sizes.insert(set.workload.metadata.name.clone(), set.replicas() - unhealthy);
    }
    let mut spare = (new_available + old_available - least).max(0);
    for set in &sets.old {
        let Some(size) = sizes.get_mut(&set.workload.metadata.name) else { continue };
        let less = (*size).min(spare);
        spare -= less;
        *size -= less;
    }
    for set in &sets.old {
        if let Some(size) = sizes.get(&set.workload.metadata.name) {
            scale(all, wx, item, set, *size);
        }
    }
}

fn recreate(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DeploymentSpec, sets: &Sets) {
    let mut has_scaled = false;
    for set in sets.old.iter().filter(|set| set.replicas() > 0) {
        has_scaled |= scale(all, wx, item, set, 0);
    }
    let is_any_left = sets.old.iter().any(|set| !all.pods_of(wx.api, set.uid()).is_empty());
    if has_scaled || is_any_left {
        return;
    }
    if let Some(new) = new_set(all, wx, item, spec, sets) {
        scale(all, wx, item, &new, item.replicas());
    }
}

/// The Deployment has another size: its sets follow, in proportion if there are several (`scale` of `sync.go`).
fn resize(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DeploymentSpec, sets: &Sets) {
    let active: Vec<Arc<Managed>> = sets.all().filter(|set| set.replicas() > 0).cloned().collect();
    let again = super::Item::Workload(item.kind(), item.workload.key());
    match active.as_slice() {
        [] => {
            if let Some(latest) = sets.new.as_ref().or(sets.old.last()) {
                scale(all, wx, item, latest, item.replicas());
            }
            return;
        }
        [only] => {
            scale(all, wx, item, only, item.replicas());
            if !spec.paused {
                wx.due.insert(again);
            }
            return;
        }
        _ => {}
    }
    let is_saturated = sets.new.as_ref().is_some_and(|new| {
        new.replicas() == item.replicas()
            && new.desired == Some(item.replicas())
            && available(all, wx, item, new) == item.replicas()
    });
    if is_saturated {
        for set in &sets.old {
            scale(all, wx, item, set, 0);
        }
        return;
    }
    let allowed = if item.replicas() > 0 { item.replicas() + fenceposts(spec).0 } else { 0 };
    let to_add = allowed - total(&active);
    let mut by_size = active;
    by_size.sort_by(|a, b| {
        let age = if to_add > 0 { b.created().cmp(&a.created()) } else { a.created().cmp(&b.created()) };
        b.replicas().cmp(&a.replicas()).then(age)
    });
    let mut added = 0;
    let mut sizes: Vec<i32> = Vec::new();
    for set in &by_size {
        let part = proportion(item, spec, set, to_add, added);
        added += part;
        sizes.push(set.replicas() + part);
    }
    if let Some(first) = sizes.first_mut() {
        *first = (*first + to_add - added).max(0);
    }
    for (set, size) in by_size.iter().zip(sizes) {
        scale(all, wx, item, set, size);
    }
    if !spec.paused {
        wx.due.insert(again);
    }
}

/// The part of what is added or taken away that falls to a set (`GetReplicaSetProportion`).
fn proportion(item: &Managed, spec: &DeploymentSpec, set: &Managed, to_add: i32, added: i32) -> i32 {
    if set.replicas() == 0 || to_add == 0 || to_add == added {
        return 0;
    }
    if item.replicas() == 0 {
        return -set.replicas();
    }
    let size = item.replicas() + fenceposts(spec).0;
    let known = set.desired.map_or(size, |desired| desired + fenceposts(spec).0).max(1);
    let exact = i64::from(set.replicas()) * i64::from(size);
    let rounded = (exact * 2 + i64::from(known)).div_euclid(i64::from(known) * 2);
    let part = i32::try_from(rounded).unwrap_or(i32::MAX) - set.replicas();
    let allowed = to_add - added;
    if to_add > 0 { part.min(allowed) } else { part.max(allowed) }
}

/// Old sets beyond the limit of history go.
fn clean_up(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DeploymentSpec) {
    let mut old = Sets::of(all, item).old;
    old.retain(|set| set.replicas() == 0 && all.pods_of(wx.api, set.uid()).is_empty());
    old.sort_by_key(|set| revision_of(set));
    let limit = usize::try_from(spec.revision_history_limit.unwrap_or(HISTORY_LIMIT)).unwrap_or(0);
    let surplus = old.len().saturating_sub(limit);
    for set in old.iter().take(surplus) {
        let _ = all.delete(wx, &(WorkloadKind::ReplicaSet, set.workload.key()));
    }
}

/// What a Deployment of a dump goes on from: the hash of its present replica set. Replica sets that the dump leaves out
/// are made from what the pods say of them.
pub(super) fn take_over(
    all: &mut Workloads,
    wx: &mut Wx<'_>,
    deployment: &mut Workload,
    pods: &[Arc<Pod>],
) -> Option<Str> {
    let WorkloadSpec::Deployment(spec) = &deployment.spec else { return None };
    if deployment.metadata.uid.is_empty() {
        deployment.metadata.uid = all.next_uid(&(WorkloadKind::Deployment, deployment.key()));
    }
    let selector = deployment.selector();
    let mut sets: BTreeMap<Uid, (OwnerReference, Str, i32)> = BTreeMap::new();
    for pod in pods.iter().filter(|pod| pod.metadata.namespace == deployment.metadata.namespace) {
        let Some(owner) = pod.metadata.controller().filter(|owner| owner.kind == "ReplicaSet") else {
            continue;
        };
        let hash = pod.metadata.labels.get(TEMPLATE_HASH);
        let is_own =
            all.owner_of(owner).is_none() && selector.matches(&pod.metadata.labels) && super::is_active(pod);
        if let (Some(hash), true) = (hash, is_own) {
            let entry = (owner.clone(), hash.clone(), 0);
            sets.entry(Uid::from(owner.uid.as_str())).or_insert(entry).2 += 1;
        }
    }
    let newest = sets.values().max_by_key(|(owner, _, count)| (*count, owner.name.clone()));
    let newest = newest.map(|(_, hash, _)| hash.clone());
    for (number, (uid, (owner, hash, count))) in (1_i64..).zip(&sets) {
        let own = replica_set_spec(spec, hash, *count);
        let mut metadata = ObjectMeta {
            name: Str::from(owner.name.as_str()),
            namespace: deployment.metadata.namespace.clone(),
            uid: uid.clone(),
            labels: own.template.metadata.labels.clone(),
            owner_references: vec![super::templates::owner_reference(deployment)],
            ..ObjectMeta::default()
        };
        let is_newest = newest.as_ref() == Some(hash);
        set_revision(
            &mut metadata,
            if is_newest { i64::try_from(sets.len()).unwrap_or(1) + 1 } else { number },
        );
        let workload = Workload {
            metadata,
            spec: WorkloadSpec::ReplicaSet(Box::new(own)),
            status: WorkloadStatus::default(),
        };
        if all.get(&(WorkloadKind::ReplicaSet, workload.key())).is_none() {
            all.add(wx, workload, Some(hash.clone()));
        }
    }
    if newest.is_some() {
        return newest;
    }
    // The replica sets are there. The present one has the revision of the Deployment, or its template.
    let revision = deployment.metadata.annotations.get(REVISION);
    let own: Vec<&Arc<Managed>> = all
        .iter()
        .map(|(_, item)| item)
        .filter(|item| item.kind() == WorkloadKind::ReplicaSet)
        .filter(|item| {
            item.workload.metadata.controller().is_some_and(|own| *own.uid == *deployment.metadata.uid)
        })
        .collect();
    let by_revision = own
        .iter()
        .find(|set| revision.is_some() && set.workload.metadata.annotations.get(REVISION) == revision);
    by_revision.map(|set| Str::from(hash_of(set))).filter(|hash| !hash.is_empty())
}

/// How many pods are of the newest template.
pub(super) fn updated(all: &Workloads, api: &crate::driver::sandbox::api::SandboxApi, item: &Managed) -> i32 {
    let new = Sets::of(all, item).new;
    super::count(new.map_or(0, |set| all.active_pods_of(api, set.uid()).len()))
}

/// How far a rollout is.
pub(super) fn note(
    all: &Workloads,
    api: &crate::driver::sandbox::api::SandboxApi,
    item: &Managed,
    spec: &DeploymentSpec,
) -> String {
    let sets = Sets::of(all, item);
    let n_old: usize = sets.old.iter().map(|set| all.active_pods_of(api, set.uid()).len()).sum();
    if spec.paused {
        "paused".to_owned()
    } else if n_old > 0 {
        format!("rolling out: {} of {} updated", updated(all, api, item), item.replicas())
    } else {
        String::new()
    }
}
