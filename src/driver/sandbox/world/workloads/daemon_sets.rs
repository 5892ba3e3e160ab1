//! DaemonSets: a pod on every node that it may run on.
//!
//! Follows `pkg/controller/daemon/daemon_controller.go`, `update.go` and `util/daemonset_util.go`. The scheduler puts the
//! pods onto their nodes: a node affinity by name says which. Updates delete at most maxUnavailable pods at a time; a
//! surge is left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::alarms::Alarm;
use super::{Managed, REVISION_HASH, Workloads, is_of_revision, replica_sets, templates};
use crate::api::Str;
use crate::api::node_selector::RequiredNodeAffinity;
use crate::api::objects::{
    Affinity, IntOrString, Node, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod,
    TaintEffect, Toleration,
};
use crate::api::workloads::DaemonSetSpec;
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::world::Wx;
use crate::plugins::helper::taints::any_tolerates;

/// Taints that the pods of every daemon set tolerate (`AddOrUpdateDaemonPodTolerations`).
const TOLERATED: &[(&str, &str)] = &[
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

/// A pod as it would be on a node.
fn pod_for(item: &Managed, node: &Str, name: Str) -> Pod {
    let mut pod = templates::pod(item, name);
    templates::set_label(&mut pod, REVISION_HASH, item.revision.clone());
    templates::set_label(&mut pod, "pod-template-generation", item.workload.metadata.generation.to_string());
    let network = pod.spec.host_network.then_some(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    for (key, effect) in TOLERATED.iter().copied().chain(network) {
        let known = pod.spec.tolerations.iter_mut().find(|own| *own.key == *key && own.effect == effect);
        let toleration = Toleration {
            key: Str::from(key),
            operator: "Exists".to_owned(),
            effect: effect.to_owned(),
            ..Toleration::default()
        };
        match known {
            Some(known) => *known = toleration,
            None => pod.spec.tolerations.push(toleration),
        }
    }
    pin(&mut pod, node);
    pod
}

/// Makes every term of the required node affinity one for that node alone (`ReplaceDaemonSetPodNodeNameNodeAffinity`).
fn pin(pod: &mut Pod, node: &Str) {
    let by_name = NodeSelectorRequirement {
        key: "metadata.name".to_owned(),
        operator: "In".to_owned(),
        values: vec![node.to_string()],
    };
    let affinity = pod.spec.affinity.get_or_insert_with(Affinity::default);
    let affinity = affinity.node_affinity.get_or_insert_with(NodeAffinity::default);
    let required = affinity.required.get_or_insert_with(NodeSelector::default);
    required.node_selector_terms =
        vec![NodeSelectorTerm { match_fields: vec![by_name], ..NodeSelectorTerm::default() }];
}

/// The node that a pod is on, or is meant for.
fn target(pod: &Pod) -> Option<Str> {
    if pod.is_assigned() {
        return Some(pod.spec.node_name.clone());
    }
    let affinity = pod.spec.affinity.as_ref()?.node_affinity.as_ref()?.required.as_ref()?;
    let fields = affinity.node_selector_terms.iter().flat_map(|term| &term.match_fields);
    let value = fields.filter(|field| field.key == "metadata.name").find_map(|field| field.values.first())?;
    Some(Str::from(value.as_str()))
}

/// Whether a pod belongs onto a node, and whether one that is there may stay (`NodeShouldRunDaemonPod`).
fn should_run(item: &Managed, node: &Node) -> (bool, bool) {
    let template = templates::pod(item, Str::from(""));
    if !RequiredNodeAffinity::of(&template).matches(node) {
        return (false, false);
    }
    let pod = pod_for(item, node.name(), Str::from(""));
    let repels = |effect: &TaintEffect| {
        node.spec
            .taints
            .iter()
            .any(|taint| taint.effect == *effect && !any_tolerates(&pod.spec.tolerations, taint, false))
    };
    let stays = !repels(&TaintEffect::NoExecute);
    (stays && !repels(&TaintEffect::NoSchedule), stays)
}

/// On how many nodes a pod belongs.
pub(super) fn desired(api: &SandboxApi, item: &Managed) -> i32 {
    let wanted = api.objects().nodes.values().filter(|node| should_run(item, node).0).count();
    i32::try_from(wanted).unwrap_or(i32::MAX)
}

pub(super) fn sync(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DaemonSetSpec) {
    let mut by_node: BTreeMap<Str, Vec<Arc<Pod>>> = BTreeMap::new();
    for pod in all.pods_of(wx.api, item.uid()).into_iter().filter(|pod| !pod.is_terminal()) {
        if let Some(node) = target(&pod) {
            by_node.entry(node).or_default().push(pod);
        }
    }
    let nodes: Vec<Arc<Node>> = wx.api.objects().nodes.values().cloned().collect();
    let mut n_wanted = 0;
    for node in &nodes {
        let there = by_node.remove(node.name()).unwrap_or_default();
        let (runs, stays) = should_run(item, node);
        n_wanted += i32::from(runs);
        if runs && there.is_empty() {
            let name = replica_sets::free_name(wx, item);
            if !all.create_pod(wx, item, pod_for(item, node.name(), name)) {
                return;
            }
        }
        let mut active: Vec<&Arc<Pod>> = there.iter().filter(|pod| !pod.is_terminating()).collect();
        // Of several the oldest stays.
        active.sort_by_key(|pod| (pod.metadata.creation_timestamp, pod.metadata.name.clone()));
        let keeps = usize::from(stays);
        for pod in active.into_iter().skip(keeps) {
            all.delete_pod(wx, item, pod);
        }
    }
    // Pods that are meant for nodes that are gone.
    for pod in by_node.values().flatten().filter(|pod| !pod.is_assigned()) {
        all.delete_pod(wx, item, pod);
    }
    if item.desired != Some(n_wanted) {
        let key = (item.kind(), item.workload.key());
        all.edit(&key, |item| item.desired = Some(n_wanted));
    }
    if spec.update_strategy.type_ != "OnDelete" {
        update(all, wx, item, spec, n_wanted);
    }
}

/// Deletes pods of earlier templates, as many as may be missing.
fn update(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &DaemonSetSpec, n_wanted: i32) {
    let one = IntOrString::Int(1);
    let most = spec.update_strategy.rolling_update.max_unavailable.as_ref().unwrap_or(&one);
    let most = most.scaled(n_wanted, true).unwrap_or(1).max(1);
    let pods = all.active_pods_of(wx.api, item.uid());
    let mut n_available = 0;
    let mut old = Vec::new();
    for pod in &pods {
        let is_available = match wx.is_available(pod, item.workload.min_ready_seconds()) {
            Ok(()) => true,
            Err(at) => {
                if let Some(at) = at {
                    wx.alarms.set_by(Alarm::Workload(item.kind(), item.workload.key()), at);
                }
                false
            }
        };
        n_available += i32::from(is_available);
        if !is_of_revision(item, pod) {
            old.push((is_available, Arc::clone(pod)));
        }
    }
    // What is not available costs nothing.
    let mut spare = (n_available - (n_wanted - most)).max(0);
    for (is_available, pod) in old {
        if is_available {
            if spare == 0 {
                continue;
            }
            spare -= 1;
        }
        all.delete_pod(wx, item, &pod);
    }
}
