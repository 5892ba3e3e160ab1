//! ReplicaSets: so many pods, no more and no fewer.
//!
//! Follows `pkg/controller/replicaset/replica_set.go`. Which pods go first is `ActivePodsWithRanks` of
//! `controller_utils.go`, with ages as they are rather than in powers of two.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::kubelets::Kubelets;
use super::super::pods::{annotation, ready_since};
use super::{Managed, Workloads, templates};
use crate::api::objects::Pod;
use crate::api::workloads::{ReplicaSetSpec, WorkloadKind};
use crate::api::{Str, Time};
use crate::driver::sandbox::world::Wx;

/// Pods that are made or deleted in one go at the most (`burstReplicas`).
const BURST: usize = 500;
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";

pub(super) fn sync(
    all: &mut Workloads,
    wx: &mut Wx<'_>,
    kubelets: &Kubelets,
    item: &Managed,
    spec: &ReplicaSetSpec,
) {
    let mut active = all.active_pods_of(wx.api, item.uid());
    let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
    if active.len() < wanted {
        for _ in 0..(wanted - active.len()).min(BURST) {
            let name = free_name(wx, item);
            if !all.create_pod(wx, item, templates::pod(item, name)) {
                break;
            }
        }
    } else if active.len() > wanted {
        let related = related_pods(all, wx, item);
        sort_for_deletion(wx, kubelets, &mut active, &related);
        let surplus = active.len() - wanted;
        for pod in active.iter().take(surplus.min(BURST)) {
            all.delete_pod(wx, item, pod);
        }
    }
}

/// A generated name that nobody has.
pub(super) fn free_name(wx: &mut Wx<'_>, item: &Managed) -> Str {
    let prefix = format!("{}-", item.workload.metadata.name);
    loop {
        let name = templates::generated_name(wx.rng, &prefix);
        let key = crate::api::NamespacedName::new(item.workload.metadata.namespace.clone(), name.clone());
        if !wx.api.objects().pods.contains_key(&key) {
            return name;
        }
    }
}

/// The pods of all replica sets of the same Deployment, or of this one alone.
fn related_pods(all: &Workloads, wx: &Wx<'_>, item: &Managed) -> Vec<Arc<Pod>> {
    let owner = item.workload.metadata.controller().and_then(|owner| all.owner_of(owner));
    let owner = owner.and_then(|key| all.get(key)).cloned();
    let Some(owner) = owner else { return all.active_pods_of(wx.api, item.uid()) };
    let sets = all.owned_by(WorkloadKind::ReplicaSet, &owner);
    sets.iter().flat_map(|set| all.active_pods_of(wx.api, set.uid())).collect()
}

/// Puts pods in the order in which they are deleted.
pub(super) fn sort_for_deletion(
    wx: &Wx<'_>,
    kubelets: &Kubelets,
    pods: &mut [Arc<Pod>],
    related: &[Arc<Pod>],
) {
    let mut per_node: BTreeMap<&Str, usize> = BTreeMap::new();
    for pod in related.iter().filter(|pod| pod.is_assigned()) {
        *per_node.entry(&pod.spec.node_name).or_default() += 1;
    }
    let phase = |pod: &Pod| match pod.status.phase.as_str() {
        "Pending" => 0,
        "Running" => 2,
        _ => 1,
    };
    let cost = |pod: &Pod| {
        let cost = pod.metadata.annotations.get(DELETION_COST).map(AsRef::as_ref);
        cost.or_else(|| annotation(pod, "deletion-cost"))
            .and_then(|cost| cost.parse::<i32>().ok())
            .unwrap_or(0)
    };
    let rank = |pod: &Pod| per_node.get(&pod.spec.node_name).copied().unwrap_or(0);
    pods.sort_by_cached_key(|pod| {
        let is_ready = wx.is_ready(pod);
        let since = if is_ready { ready_since(pod).unwrap_or(Time::ZERO) } else { Time::ZERO };
        let created = pod.metadata.creation_timestamp.unwrap_or(Time::MAX);
        (
            (pod.is_assigned(), phase(pod), is_ready, cost(pod)),
            Reverse(rank(pod)),
            Reverse(since),
            Reverse(kubelets.restarts(&pod.key())),
            Reverse(created),
            pod.uid().clone(),
        )
    });
}
