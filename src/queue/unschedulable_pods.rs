//! unschedulablePods: pods that were turned down, or are held by a PreEnqueue plugin, and wait for an event.
//!
//! Mirrors `pkg/scheduler/backend/queue/unschedulable_pods.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::api::{Duration, NamespacedName, Time};
use crate::framework::{ClusterEvent, QueuedPodInfo};

use super::digest;

/// A pod with its digest, once that was asked for.
#[derive(Clone, Debug)]
struct Entry {
    info: Arc<QueuedPodInfo>,
    digest: OnceLock<u64>,
}

/// The pods by name.
#[derive(Clone, Debug, Default)]
struct Pods {
    by_key: BTreeMap<NamespacedName, Entry>,
    /// Those that the flush can move, the one that waits longest first.
    movable_by_age: BTreeSet<(Time, NamespacedName)>,
    /// The others.
    held_by_age: BTreeSet<(Time, NamespacedName)>,
}

/// The pods by name; a copy costs nothing until one of the two changes.
#[derive(Clone, Debug, Default)]
pub(super) struct UnschedulablePods(Arc<Pods>);

impl Pods {
    fn by_age(&mut self, info: &QueuedPodInfo) -> &mut BTreeSet<(Time, NamespacedName)> {
        if UnschedulablePods::can_be_flushed(info) { &mut self.movable_by_age } else { &mut self.held_by_age }
    }
}

impl UnschedulablePods {
    /// Whether the flush moves the pod when its time has come: a plugin that holds it has to listen to that.
    pub(super) fn can_be_flushed(info: &QueuedPodInfo) -> bool {
        let timeout = ClusterEvent::UNSCHEDULABLE_TIMEOUT;
        !info.is_gated() || info.gating_plugin_events.iter().any(|event| event.matches(&timeout))
    }

    pub(super) fn get(&self, key: &NamespacedName) -> Option<&Arc<QueuedPodInfo>> {
        self.0.by_key.get(key).map(|entry| &entry.info)
    }

    pub(super) fn has(&self, key: &NamespacedName) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn len(&self) -> usize {
        self.0.by_key.len()
    }

    /// The pods in the order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&NamespacedName, &Arc<QueuedPodInfo>)> {
        self.0.by_key.iter().map(|(key, entry)| (key, &entry.info))
    }

    /// The digests of all pods, in the order of their names.
    pub(super) fn digests(&self) -> impl Iterator<Item = u64> {
        self.0.by_key.values().map(|entry| *entry.digest.get_or_init(|| digest::of_pod(&entry.info)))
    }

    /// Puts a pod in, or a newer version of it, and returns the one of the same name that was there.
    pub(super) fn insert(
        &mut self,
        key: NamespacedName,
        info: Arc<QueuedPodInfo>,
    ) -> Option<Arc<QueuedPodInfo>> {
        let replaced = self.remove(&key);
        let pods = Arc::make_mut(&mut self.0);
        pods.by_age(&info).insert((info.timestamp, key.clone()));
        pods.by_key.insert(key, Entry { info, digest: OnceLock::new() });
        replaced
    }

    pub(super) fn remove(&mut self, key: &NamespacedName) -> Option<Arc<QueuedPodInfo>> {
        if !self.has(key) {
            return None;
        }
        let pods = Arc::make_mut(&mut self.0);
        let (key, Entry { info, .. }) = pods.by_key.remove_entry(key)?;
        pods.by_age(&info).remove(&(info.timestamp, key));
        Some(info)
    }

    /// The pods that have been here for more than `limit`, in the order of their names.
    pub(super) fn older_than(&self, limit: Duration, now: Time) -> Vec<NamespacedName> {
        let mut keys: Vec<_> = [&self.0.movable_by_age, &self.0.held_by_age]
            .into_iter()
            .flat_map(|by_age| by_age.iter().take_while(|(timestamp, _)| now - *timestamp > limit))
            .map(|(_, key)| key.clone())
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Takes note that the flush has looked at the pod.
    pub(super) fn mark_flushed(&mut self, key: &NamespacedName) {
        if self.get(key).is_some_and(|info| !info.was_flushed_from_unschedulable)
            && let Some(entry) = Arc::make_mut(&mut self.0).by_key.get_mut(key)
        {
            Arc::make_mut(&mut entry.info).was_flushed_from_unschedulable = true;
            entry.digest = OnceLock::new();
        }
    }

    /// The time of the pod that waits longest among those that the flush can move.
    pub(super) fn oldest_movable(&self) -> Option<Time> {
        self.0.movable_by_age.first().map(|(timestamp, _)| *timestamp)
    }

    /// The time of the pod that waits longest.
    pub(super) fn oldest(&self) -> Option<Time> {
        let held = self.0.held_by_age.first().map(|(timestamp, _)| *timestamp);
        self.oldest_movable().into_iter().chain(held).min()
    }
}
