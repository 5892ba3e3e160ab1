//! The pods that wait at Permit.
//!
//! Mirrors `pkg/scheduler/framework/runtime/waiting_pods_map.go`. All profiles share one map.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{Duration, Str, Time, Uid};
use crate::framework::pod_info::PodInfo;
use crate::framework::status::{Code, Status};

/// A pod that waits until every plugin that holds it allows it.
#[derive(Clone, Debug, PartialEq)]
pub struct WaitingPod {
    /// The pod, as assumed.
    pub pod_info: Arc<PodInfo>,
    /// The node that it is assumed on.
    pub node_name: Str,
    /// Since when it waits.
    pub since: Time,
    /// The plugins that hold it, and for how long each of them does.
    pub pending_plugins: BTreeMap<Str, Duration>,
    /// How the waiting ended, once it has; the first signal counts.
    pub signal: Option<Status>,
}

impl WaitingPod {
    /// A plugin lets it go on (`waitingPod.Allow`); when the last one does, the waiting ends well.
    pub fn allow(&mut self, plugin: &str) {
        self.pending_plugins.remove(plugin);
        if self.pending_plugins.is_empty() {
            self.signal(Status::SUCCESS);
        }
    }

    /// A plugin turns it down (`waitingPod.Reject`). False if it had been signalled.
    pub fn reject(&mut self, plugin: &str, message: &str) -> bool {
        self.signal(Status::unschedulable(message).with_plugin(plugin.to_owned()))
    }

    /// It has to make room for a more important pod (`waitingPod.Preempt`). False if it had been signalled.
    pub fn preempt(&mut self, plugin: &str, message: &str) -> bool {
        self.signal(Status::new(Code::Error, message).with_plugin(plugin.to_owned()))
    }

    /// When the first plugin gives up, and which; the first by name among equals.
    pub fn deadline(&self) -> Option<(Time, &Str)> {
        self.pending_plugins.iter().map(|(plugin, timeout)| (self.since + *timeout, plugin)).min()
    }

    fn signal(&mut self, status: Status) -> bool {
        let is_first = self.signal.is_none();
        if is_first {
            self.signal = Some(status);
        }
        is_first
    }
}

/// All waiting pods, in the order of their uids.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct WaitingPods {
    pods: BTreeMap<Uid, WaitingPod>,
}

impl WaitingPods {
    /// Puts a pod in.
    pub fn add(&mut self, pod: WaitingPod) {
        self.pods.insert(pod.pod_info.uid().clone(), pod);
    }

    /// Takes a pod out.
    pub fn remove(&mut self, uid: &str) -> Option<WaitingPod> {
        self.pods.remove(uid)
    }

    /// The waiting pod of that uid.
    pub fn get(&self, uid: &str) -> Option<&WaitingPod> {
        self.pods.get(uid)
    }

    /// The same for changing it.
    pub fn get_mut(&mut self, uid: &str) -> Option<&mut WaitingPod> {
        self.pods.get_mut(uid)
    }

    /// All of them (`IterateOverWaitingPods`).
    pub fn iter(&self) -> impl Iterator<Item = &WaitingPod> {
        self.pods.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.pods.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }
}
