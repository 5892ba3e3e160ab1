//! When something in the living cluster happens by itself.
//!
//! Every cause has one time at most; setting it again moves it. Of those at the same time the order of the causes
//! counts, so that equal worlds go the same way.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::workloads::WorkloadKind;
use crate::api::{NamespacedName, Str, Time};

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Alarm {
    /// A node of a group is ready.
    Boot(Str),
    /// A pod's next step on its node.
    Pod(NamespacedName),
    /// A node reports its images.
    Report(Str),
    /// A node was not heard of for too long.
    Silence(Str),
    /// A node has been missing for so long that its pods go.
    Orphans(Str),
    /// A pod tolerates a taint no longer.
    Evict(NamespacedName),
    /// A node is being drained.
    Drain(Str),
    /// A workload is looked at again.
    Workload(WorkloadKind, NamespacedName),
    /// The autoscaler looks around.
    Scan,
}

impl Alarm {
    /// What it is called where the next one is shown.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Boot(node) => format!("node {node} joins"),
            Self::Pod(pod) => format!("kubelet: pod {pod}"),
            Self::Report(node) => format!("kubelet: images of {node}"),
            Self::Silence(node) => format!("node {node} was not heard of"),
            Self::Orphans(node) => format!("pods of the lost node {node}"),
            Self::Evict(pod) => format!("taint eviction of {pod}"),
            Self::Drain(node) => format!("drain of {node}"),
            Self::Workload(kind, key) => format!("{kind} {key}"),
            Self::Scan => "the autoscaler looks around".to_owned(),
        }
    }
}

/// All alarms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Alarms {
    by_time: BTreeSet<(Time, Alarm)>,
    times: BTreeMap<Alarm, Time>,
}

impl Alarms {
    /// Sets an alarm, in place of the one with the same cause.
    pub(super) fn set(&mut self, alarm: Alarm, at: Time) {
        self.cancel(&alarm);
        self.times.insert(alarm.clone(), at);
        self.by_time.insert((at, alarm));
    }

    /// The same, unless it is set for an earlier time.
    pub(super) fn set_by(&mut self, alarm: Alarm, at: Time) {
        if self.times.get(&alarm).is_none_or(|known| *known > at) {
            self.set(alarm, at);
        }
    }

    /// When it is set for.
    pub(super) fn at(&self, alarm: &Alarm) -> Option<Time> {
        self.times.get(alarm).copied()
    }

    pub(super) fn cancel(&mut self, alarm: &Alarm) {
        if let Some(at) = self.times.remove(alarm) {
            self.by_time.remove(&(at, alarm.clone()));
        }
    }

    /// The next one.
    pub(super) fn first(&self) -> Option<&(Time, Alarm)> {
        self.by_time.first()
    }

    /// Takes the next one, if its time has come.
    pub(super) fn pop_due(&mut self, now: Time) -> Option<Alarm> {
        if self.by_time.first().is_none_or(|(at, _)| *at > now) {
            return None;
        }
        let (_, alarm) = self.by_time.pop_first()?;
        self.times.remove(&alarm);
        Some(alarm)
    }

    /// All of them, the next one first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Alarm> {
        self.by_time.iter().map(|(_, alarm)| alarm)
    }
}
