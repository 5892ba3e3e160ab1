//! The pods that wait at Permit.
//!
//! Mirrors `pkg/scheduler/framework/runtime/waiting_pods_map.go`. All profiles share one map.

use std::collections::{BTreeMap, BTreeSet};
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
    /// When the first plugin of each pod that has no signal gives up.
    deadlines: BTreeSet<(Time, Uid)>,
    /// The pods whose waiting has ended and that nobody has asked for since.
    signalled: Vec<Uid>,
}

impl WaitingPods {
    /// Puts a pod in.
    pub fn add(&mut self, pod: WaitingPod) {
        let uid = pod.pod_info.uid().clone();
        self.remove(&uid);
        self.pods.insert(uid.clone(), pod);
        self.change(&uid, |_| ());
    }

    /// Takes a pod out.
    pub fn remove(&mut self, uid: &Uid) -> Option<WaitingPod> {
        let pod = self.pods.remove(uid)?;
        if let Some((at, _)) = pod.deadline() {
            self.deadlines.remove(&(at, uid.clone()));
        }
        Some(pod)
    }

    /// The waiting pod of that uid.
    pub fn get(&self, uid: &Uid) -> Option<&WaitingPod> {
        self.pods.get(uid)
    }

    /// A plugin lets a pod go on (`waitingPod.Allow`); when the last one does, the waiting ends well.
    pub fn allow(&mut self, uid: &Uid, plugin: &str) {
        self.change(uid, |pod| {
            pod.pending_plugins.remove(plugin);
            if pod.pending_plugins.is_empty() {
                pod.signal(Status::SUCCESS);
            }
        });
    }

    /// A plugin turns a pod down (`waitingPod.Reject`). Absent if it does not wait, false if it had been signalled.
    pub fn reject(&mut self, uid: &Uid, plugin: &str, message: &str) -> Option<bool> {
        self.change(uid, |pod| pod.signal(Status::unschedulable(message).with_plugin(plugin.to_owned())))
    }

    /// A pod has to make room for a more important one (`waitingPod.Preempt`). Absent if it does not wait, false if it
    /// had been signalled.
    pub fn preempt(&mut self, uid: &Uid, plugin: &str, message: &str) -> Option<bool> {
        self.change(uid, |pod| pod.signal(Status::new(Code::Error, message).with_plugin(plugin.to_owned())))
    }

    /// When the first plugin of any pod gives up.
    pub fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// The pods whose first plugin gives up by that time, the earliest first.
    pub fn late(&self, now: Time) -> impl Iterator<Item = &WaitingPod> {
        let late = self.deadlines.iter().take_while(move |(at, _)| *at <= now);
        late.filter_map(|(_, uid)| self.pods.get(uid))
    }

    /// The pods whose waiting has ended since the last call, in the order in which it did.
    pub fn take_signalled(&mut self) -> Vec<Uid> {
        std::mem::take(&mut self.signalled)
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

    /// Changes a pod and keeps what is known of its end.
    fn change<T>(&mut self, uid: &Uid, change: impl FnOnce(&mut WaitingPod) -> T) -> Option<T> {
        let pod = self.pods.get_mut(uid)?;
        if let Some((at, _)) = pod.deadline() {
            self.deadlines.remove(&(at, uid.clone()));
        }
        let had_signal = pod.signal.is_some();
        let result = change(pod);
        if pod.signal.is_some() {
            if !had_signal {
                self.signalled.push(uid.clone());
            }
        } else if let Some((at, _)) = pod.deadline() {
            self.deadlines.insert((at, uid.clone()));
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::objects::{ObjectMeta, Pod};

    use super::*;

    fn waiting(name: &str, waits: &[(&str, u64)]) -> WaitingPod {
        let metadata = ObjectMeta { name: name.into(), uid: name.into(), ..ObjectMeta::default() };
        let pod = Pod { metadata, ..Pod::default() };
        let waits = waits.iter().map(|(plugin, seconds)| (Str::from(*plugin), Duration::from_secs(*seconds)));
        WaitingPod {
            pod_info: Arc::new(PodInfo::new(Arc::new(pod))),
            node_name: Str::from("n"),
            since: Time::from_secs(10),
            pending_plugins: waits.collect(),
            signal: None,
        }
    }

    fn late(pods: &WaitingPods, seconds: u64) -> Vec<&str> {
        pods.late(Time::from_secs(seconds)).map(|pod| pod.pod_info.uid().as_ref()).collect()
    }

    #[test]
    fn the_plugin_that_gives_up_first_sets_the_deadline() {
        let mut pods = WaitingPods::default();
        pods.add(waiting("b", &[("Long", 60), ("Short", 5)]));
        pods.add(waiting("a", &[("Middle", 20)]));
        assert_eq!(pods.next_deadline(), Some(Time::from_secs(15)));
        assert_eq!(late(&pods, 14), [""; 0]);
        assert_eq!(late(&pods, 30), ["b", "a"]);
        pods.allow(&"b".into(), "Short");
        assert_eq!(pods.next_deadline(), Some(Time::from_secs(30)));
        assert_eq!(late(&pods, 70), ["a", "b"]);
    }

    #[test]
    fn who_has_a_signal_has_no_deadline_and_is_told_of_once() {
        let mut pods = WaitingPods::default();
        pods.add(waiting("a", &[("One", 5)]));
        pods.add(waiting("b", &[("One", 5)]));
        pods.allow(&"b".into(), "One");
        assert_eq!(pods.reject(&"a".into(), "One", "no"), Some(true));
        assert_eq!(pods.reject(&"a".into(), "One", "again"), Some(false));
        assert_eq!(pods.preempt(&"absent".into(), "One", "no"), None);
        assert_eq!(pods.next_deadline(), None);
        assert_eq!(pods.take_signalled(), [Uid::from("b"), Uid::from("a")]);
        assert!(pods.take_signalled().is_empty());
        let rejected = pods.get(&"a".into()).and_then(|pod| pod.signal.as_ref().map(Status::message));
        assert_eq!(rejected.as_deref(), Some("no"));
    }

    #[test]
    fn who_is_taken_out_has_no_deadline() {
        let mut pods = WaitingPods::default();
        pods.add(waiting("a", &[("One", 5)]));
        assert!(pods.remove(&"a".into()).is_some());
        assert_eq!(pods.next_deadline(), None);
    }
}
