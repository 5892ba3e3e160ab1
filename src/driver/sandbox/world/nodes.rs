//! The node lifecycle controller and taint eviction: taints follow conditions, pods leave nodes that they do not tolerate.
//!
//! Follows `pkg/controller/nodelifecycle/node_lifecycle_controller.go` and
//! `pkg/controller/tainteviction/taint_eviction.go`. A node that is silent for the grace period (50 s) has the status
//! Unknown and its pods are not ready. Left out: zones, with the slower rates in disturbed ones, and the rate at which
//! nodes get NoExecute taints (one in 10 s). A node without a condition Ready is taken to be well.

use std::collections::BTreeMap;

use super::alarms::Alarm;
use super::pods::{is_active, set_condition};
use super::settings::Part;
use super::{Item, Wx};
use crate::api::objects::{Node, NodeCondition, Pod, PodCondition, Taint, TaintEffect, Toleration};
use crate::api::{Duration, Kind, NamespacedName, Str, Time};
use crate::driver::sandbox::api::set_condition as set_pod_condition;
use crate::driver::sandbox::controllers::Said;
use crate::plugins::helper::taints::tolerates;

pub(super) const NAME: &str = "node-lifecycle-controller";
const EVICTION: &str = "taint-eviction-controller";

pub(super) const NOT_READY: &str = "node.kubernetes.io/not-ready";
pub(super) const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
pub(super) const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// Which taint a condition with that status makes.
const BY_CONDITION: &[(&str, &str, &str)] = &[
    ("Ready", "False", NOT_READY),
    ("Ready", "Unknown", UNREACHABLE),
    ("MemoryPressure", "True", "node.kubernetes.io/memory-pressure"),
    ("DiskPressure", "True", "node.kubernetes.io/disk-pressure"),
    ("NetworkUnavailable", "True", "node.kubernetes.io/network-unavailable"),
    ("PIDPressure", "True", "node.kubernetes.io/pid-pressure"),
];

/// The conditions that are unknown when nothing is heard of a node.
const TOLD_BY_KUBELET: &[&str] = &["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];

/// How long pods tolerate a lost node that say nothing of it, in seconds.
const DEFAULT_TOLERATION: i64 = 300;

/// The evictions that are planned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Evictions {
    /// Since when a pod is on borrowed time.
    since: BTreeMap<NamespacedName, Time>,
}

fn status_of<'a>(node: &'a Node, type_: &str) -> Option<&'a str> {
    let condition = node.status.conditions.iter().find(|condition| condition.type_ == type_);
    condition.map(|condition| condition.status.as_str())
}

/// Gives a node the taints that its conditions ask for.
pub(super) fn sync_taints(wx: &mut Wx<'_>, name: &Str) {
    let Some(old) = wx.api.objects().node(name).cloned() else { return };
    let mut wanted: Vec<(&str, TaintEffect)> = Vec::new();
    for (type_, status, key) in BY_CONDITION {
        if status_of(&old, type_) == Some(status) {
            wanted.push((key, TaintEffect::NoSchedule));
            if *type_ == "Ready" {
                wanted.push((key, TaintEffect::NoExecute));
            }
        }
    }
    if old.spec.unschedulable {
        wanted.push((UNSCHEDULABLE, TaintEffect::NoSchedule));
    }
    let is_ours = |taint: &Taint| match taint.effect {
        TaintEffect::NoSchedule => {
            &*taint.key == UNSCHEDULABLE || BY_CONDITION.iter().any(|(_, _, key)| **key == *taint.key)
        }
        TaintEffect::NoExecute => matches!(&*taint.key, NOT_READY | UNREACHABLE),
        _ => false,
    };
    let is_wanted =
        |taint: &Taint| wanted.iter().any(|(key, effect)| **key == *taint.key && *effect == taint.effect);
    let mut node = Node::clone(&old);
    let taken: Vec<String> = node
        .spec
        .taints
        .iter()
        .filter(|taint| is_ours(taint) && !is_wanted(taint))
        .map(ToString::to_string)
        .collect();
    node.spec.taints.retain(|taint| !is_ours(taint) || is_wanted(taint));
    let mut given = Vec::new();
    for (key, effect) in wanted {
        if !node.spec.taints.iter().any(|taint| *taint.key == *key && taint.effect == effect) {
            let taint = Taint { key: Str::from(key), value: Str::from(""), effect };
            given.push(taint.to_string());
            node.spec.taints.push(taint);
        }
    }
    if node == *old {
        return;
    }
    wx.api.write(node.into());
    let key = NamespacedName::cluster(name.clone());
    for (texts, reason, verb) in
        [(given, "Tainted", "is tainted"), (taken, "Untainted", "has lost the taint")]
    {
        if !texts.is_empty() {
            wx.tell(NAME, "Node", &key, Said::done(reason, format!("{verb} {}", texts.join(", "))));
        }
    }
}

/// Nothing was heard of a node for the grace period.
pub(super) fn is_silent(wx: &mut Wx<'_>, name: &Str) {
    let Some(old) = wx.api.objects().node(name).cloned() else { return };
    let mut node = Node::clone(&old);
    for type_ in TOLD_BY_KUBELET {
        let known = node.status.conditions.iter_mut().find(|condition| condition.type_ == *type_);
        match known {
            Some(condition) => set_status(condition, "Unknown", wx.now),
            None if *type_ == "Ready" => {
                let mut condition = NodeCondition { type_: (*type_).to_owned(), ..NodeCondition::default() };
                set_status(&mut condition, "Unknown", wx.now);
                node.status.conditions.push(condition);
            }
            None => {}
        }
    }
    wx.api.write(node.into());
    let key = NamespacedName::cluster(name.clone());
    wx.tell(
        NAME,
        "Node",
        &key,
        Said::failed("NodeNotReady", "its kubelet has stopped posting node status").again(),
    );
    for pod in wx.pods_on(name) {
        let mut lost = Pod::clone(&pod);
        set_condition(&mut lost, "Ready", false, "NodeNotReady", wx.now);
        wx.update(&pod, lost);
    }
}

/// A node is heard of again.
pub(super) fn is_heard_of(wx: &mut Wx<'_>, name: &Str) {
    let Some(old) = wx.api.objects().node(name).cloned() else { return };
    let mut node = Node::clone(&old);
    for condition in &mut node.status.conditions {
        if condition.status == "Unknown" && TOLD_BY_KUBELET.contains(&condition.type_.as_str()) {
            let status = if condition.type_ == "Ready" { "True" } else { "False" };
            set_status(condition, status, wx.now);
        }
    }
    if node != *old {
        wx.api.write(node.into());
        let key = NamespacedName::cluster(name.clone());
        wx.tell(NAME, "Node", &key, Said::done("NodeReady", "is ready again"));
    }
}

fn set_status(condition: &mut NodeCondition, status: &str, now: Time) {
    status.clone_into(&mut condition.status);
    let (reason, message) = match status {
        "Unknown" => ("NodeStatusUnknown", "Kubelet stopped posting node status."),
        "True" => ("KubeletReady", "kubelet is posting ready status"),
        _ => ("KubeletHasSufficientMemory", ""),
    };
    reason.clone_into(&mut condition.reason);
    message.clone_into(&mut condition.message);
    condition.last_transition_time = Some(now);
}

impl Evictions {
    /// Looks at whether a pod may stay on its node.
    pub(super) fn sync_pod(&mut self, wx: &mut Wx<'_>, key: &NamespacedName) {
        let pod = wx.pod(key).filter(|pod| pod.is_assigned() && is_active(pod));
        let node = pod.as_ref().and_then(|pod| wx.api.objects().node(&pod.spec.node_name).cloned());
        let (Some(pod), Some(node)) = (pod, node) else { return self.cancel(wx, key) };
        let mut least: Option<i64> = None;
        for taint in node.spec.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute) {
            // Of several tolerations the first counts.
            let mut own = pod.spec.tolerations.iter();
            let Some(own) = own.find(|own| tolerates(own, &taint.key, &taint.value, &taint.effect, false))
            else {
                self.cancel(wx, key);
                return evict(wx, &pod, &node, 0);
            };
            least = [least, own.toleration_seconds].into_iter().flatten().min();
        }
        let Some(seconds) = least else { return self.cancel(wx, key) };
        if seconds <= 0 {
            self.cancel(wx, key);
            return evict(wx, &pod, &node, 0);
        }
        if self.since.contains_key(key) {
            return;
        }
        self.since.insert(key.clone(), wx.now);
        let at = wx.now + Duration::from_secs(seconds.unsigned_abs());
        wx.alarms.set(Alarm::Evict(key.clone()), at);
    }

    fn cancel(&mut self, wx: &mut Wx<'_>, key: &NamespacedName) {
        if self.since.remove(key).is_some() {
            wx.alarms.cancel(&Alarm::Evict(key.clone()));
        }
    }

    /// A pod's time is over.
    pub(super) fn time_out(&mut self, wx: &mut Wx<'_>, key: &NamespacedName) {
        let since = self.since.remove(key);
        let Some(pod) = wx.pod(key).filter(|pod| is_active(pod)) else { return };
        let Some(node) = wx.api.objects().node(&pod.spec.node_name).cloned() else { return };
        let waited = since.map_or(0, |since| wx.now.saturating_since(since).as_secs());
        evict(wx, &pod, &node, waited);
    }
}

fn evict(wx: &mut Wx<'_>, pod: &Pod, node: &Node, waited: u64) {
    let key = pod.key();
    let mut marked = Pod::clone(pod);
    let condition = PodCondition {
        type_: "DisruptionTarget".to_owned(),
        status: "True".to_owned(),
        reason: "DeletionByTaintManager".to_owned(),
        message: "Taint manager: deleting due to NoExecute taint".to_owned(),
        ..PodCondition::default()
    };
    set_pod_condition(&mut marked.status, condition, wx.now);
    wx.update(pod, marked);
    if wx.api.delete_pod(&key, wx.now).is_ok() {
        let after = if waited == 0 { String::new() } else { format!(" after {waited} s") };
        let note = format!("is deleted{after}: it does not tolerate a taint of {}", node.name());
        wx.tell(EVICTION, Kind::Pod.as_str(), &key, Said::done("TaintManagerEviction", note));
    }
}

/// What the admission plugin DefaultTolerationSeconds gives to a pod: five minutes on a node that is lost.
pub fn default_tolerations(pod: &mut Pod) {
    for key in [NOT_READY, UNREACHABLE] {
        let is_said = |own: &Toleration| {
            (own.key.is_empty() || &*own.key == key) && (own.effect.is_empty() || own.effect == "NoExecute")
        };
        if !pod.spec.tolerations.iter().any(is_said) {
            pod.spec.tolerations.push(Toleration {
                key: Str::from(key),
                operator: "Exists".to_owned(),
                effect: "NoExecute".to_owned(),
                toleration_seconds: Some(DEFAULT_TOLERATION),
                ..Toleration::default()
            });
        }
    }
}

/// A node has changed: what is on it is looked at.
pub(super) fn sync_node(wx: &mut Wx<'_>, name: &Str) {
    if !wx.settings.has(Part::Nodes) {
        return;
    }
    sync_taints(wx, name);
    let pods: Vec<NamespacedName> = wx.pods_on(name).iter().map(|pod| pod.key()).collect();
    wx.due.extend(pods.into_iter().map(Item::Eviction));
}
