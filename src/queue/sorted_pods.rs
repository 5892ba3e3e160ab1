//! Pods in the order in which they are to be taken out: activeQ, and both backoff queues.
//!
//! Stands where upstream has `pkg/scheduler/backend/heap`. An ordered set instead of a heap, so that the pods can
//! be read in order without sorting them; the order is total, so that it is the same on every run.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::api::{NamespacedName, Time};
use crate::framework::{Plugin, QueuedPodInfo};

use super::digest;

/// A pod with its place in the order: by `at`, then as QueueSort wants it, then by age, then by name.
#[derive(Clone)]
struct Ranked {
    at: Time,
    info: Arc<QueuedPodInfo>,
    queue_sort: Arc<dyn Plugin>,
    /// The digest of `info`, once it was asked for.
    digest: OnceLock<u64>,
}

impl Ranked {
    fn new(at: Time, info: Arc<QueuedPodInfo>, queue_sort: &Arc<dyn Plugin>) -> Self {
        Self { at, info, queue_sort: Arc::clone(queue_sort), digest: OnceLock::new() }
    }
}

fn compare(queue_sort: &dyn Plugin, a: (Time, &QueuedPodInfo), b: (Time, &QueuedPodInfo)) -> Ordering {
    let ((at_a, a), (at_b, b)) = (a, b);
    at_a.cmp(&at_b)
        .then_with(|| match queue_sort.as_queue_sort() {
            Some(sort) if sort.less(a, b) => Ordering::Less,
            Some(sort) if sort.less(b, a) => Ordering::Greater,
            _ => Ordering::Equal,
        })
        .then_with(|| a.timestamp.cmp(&b.timestamp))
        .then_with(|| {
            let (a, b) = (&a.pod().metadata, &b.pod().metadata);
            (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name))
        })
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.queue_sort.as_ref(), (self.at, &self.info), (other.at, &other.info))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

/// Pods by name and in order. Every operation on one pod is O(log n).
#[derive(Clone)]
pub(super) struct SortedPods {
    queue_sort: Arc<dyn Plugin>,
    by_key: FxHashMap<NamespacedName, (Time, Arc<QueuedPodInfo>)>,
    order: BTreeSet<Ranked>,
}

impl fmt::Debug for SortedPods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(|info| info.pod().key())).finish()
    }
}

impl SortedPods {
    /// An empty queue.
    pub(super) fn new(queue_sort: Arc<dyn Plugin>) -> Self {
        Self { queue_sort, by_key: FxHashMap::default(), order: BTreeSet::new() }
    }

    /// How many pods there are.
    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// The pod of that name.
    pub(super) fn get(&self, key: &NamespacedName) -> Option<&Arc<QueuedPodInfo>> {
        self.by_key.get(key).map(|(_, info)| info)
    }

    /// The first pod and its time.
    pub(super) fn first(&self) -> Option<(Time, &Arc<QueuedPodInfo>)> {
        self.order.first().map(|ranked| (ranked.at, &ranked.info))
    }

    /// Every pod in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<QueuedPodInfo>> {
        self.order.iter().map(|ranked| &ranked.info)
    }

    /// The digests of all pods, in order.
    pub(super) fn digests(&self) -> impl Iterator<Item = u64> {
        self.order.iter().map(|ranked| *ranked.digest.get_or_init(|| digest::of_pod(&ranked.info)))
    }

    /// Whether `a` would be taken out before `b`.
    pub(super) fn is_before(&self, a: (Time, &QueuedPodInfo), b: (Time, &QueuedPodInfo)) -> bool {
        compare(self.queue_sort.as_ref(), a, b) == Ordering::Less
    }

    /// Puts a pod in, in the place of one of the same name, which is returned. `at` comes first in the order.
    pub(super) fn insert(
        &mut self,
        key: NamespacedName,
        at: Time,
        info: Arc<QueuedPodInfo>,
    ) -> Option<Arc<QueuedPodInfo>> {
        let replaced = self.remove(&key);
        self.order.insert(Ranked::new(at, Arc::clone(&info), &self.queue_sort));
        self.by_key.insert(key, (at, info));
        replaced
    }

    /// Takes a pod out.
    pub(super) fn remove(&mut self, key: &NamespacedName) -> Option<Arc<QueuedPodInfo>> {
        let (at, info) = self.by_key.remove(key)?;
        let ranked = Ranked::new(at, info, &self.queue_sort);
        if !self.order.remove(&ranked) {
            // Only where the QueueSort plugin contradicts itself.
            self.order.retain(|other| !Arc::ptr_eq(&other.info, &ranked.info));
        }
        Some(ranked.info)
    }

    /// Takes the first pod out.
    pub(super) fn pop_first(&mut self) -> Option<Arc<QueuedPodInfo>> {
        let info = self.order.pop_first()?.info;
        self.by_key.remove(&info.pod().key());
        Some(info)
    }
}
