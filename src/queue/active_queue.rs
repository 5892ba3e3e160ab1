//! activeQ, the pods in flight, and the events that came while they were.
//!
//! Mirrors `pkg/scheduler/backend/queue/active_queue.go`. Who is moved here and why is decided elsewhere.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Object, Time, Uid};
use crate::framework::{ClusterEvent, Plugin, QueuedPodInfo};

use super::sorted_pods::SortedPods;

/// An event that came while pods were in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlightEvent {
    /// Its place among all pops and events.
    pub(super) sequence: u64,
    /// The event.
    pub(super) event: ClusterEvent,
    /// The object as it was.
    pub(super) old: Option<Object>,
    /// The object as it is.
    pub(super) new: Option<Object>,
}

/// A pod in flight.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    /// The place of its pop among all pops and events: it is concerned by what comes later.
    pub(super) sequence: u64,
    /// The pod when it was popped.
    pub(super) pod: Arc<Pod>,
    /// When it was popped.
    pub(super) since: Time,
}

/// activeQ and what is in flight.
#[derive(Clone, Debug)]
pub(super) struct ActiveQueue {
    queue: Arc<SortedPods>,
    in_flight_pods: BTreeMap<Uid, InFlight>,
    in_flight_events: Arc<VecDeque<InFlightEvent>>,
    sequence: u64,
}

impl ActiveQueue {
    pub(super) fn new(queue_sort: Arc<dyn Plugin>) -> Self {
        Self {
            queue: Arc::new(SortedPods::new(queue_sort)),
            in_flight_pods: BTreeMap::new(),
            in_flight_events: Arc::default(),
            sequence: 0,
        }
    }

    pub(super) fn pods(&self) -> &SortedPods {
        &self.queue
    }

    pub(super) fn has(&self, key: &NamespacedName) -> bool {
        self.queue.get(key).is_some()
    }

    pub(super) fn insert(
        &mut self,
        key: NamespacedName,
        info: Arc<QueuedPodInfo>,
    ) -> Option<Arc<QueuedPodInfo>> {
        // Time plays no part in the order but through QueueSort.
        Arc::make_mut(&mut self.queue).insert(key, Time::ZERO, info)
    }

    pub(super) fn remove(&mut self, key: &NamespacedName) -> Option<Arc<QueuedPodInfo>> {
        if !self.has(key) {
            return None;
        }
        Arc::make_mut(&mut self.queue).remove(key)
    }

    pub(super) fn pop_first(&mut self) -> Option<Arc<QueuedPodInfo>> {
        if self.queue.is_empty() {
            return None;
        }
        Arc::make_mut(&mut self.queue).pop_first()
    }

    pub(super) fn is_in_flight(&self, uid: &str) -> bool {
        self.in_flight_pods.contains_key(uid)
    }

    pub(super) fn in_flight_pods(&self) -> &BTreeMap<Uid, InFlight> {
        &self.in_flight_pods
    }

    pub(super) fn in_flight_events(&self) -> &VecDeque<InFlightEvent> {
        &self.in_flight_events
    }

    /// Takes note that a pod is in flight from now on. False if it is already.
    pub(super) fn mark_in_flight(&mut self, pod: Arc<Pod>, now: Time) -> bool {
        if self.is_in_flight(pod.uid()) {
            return false;
        }
        self.sequence += 1;
        let uid = pod.uid().clone();
        self.in_flight_pods.insert(uid, InFlight { sequence: self.sequence, pod, since: now });
        true
    }

    /// Keeps an event for the pods in flight; nothing if there are none.
    pub(super) fn add_event_if_any_in_flight(
        &mut self,
        event: ClusterEvent,
        old: Option<&Object>,
        new: Option<&Object>,
    ) {
        if self.in_flight_pods.is_empty() {
            return;
        }
        self.sequence += 1;
        Arc::make_mut(&mut self.in_flight_events).push_back(InFlightEvent {
            sequence: self.sequence,
            event,
            old: old.cloned(),
            new: new.cloned(),
        });
    }

    /// The events that came since that pod was popped; `None` if it is not in flight.
    pub(super) fn cluster_events_for_pod(&self, uid: &str) -> Option<Vec<InFlightEvent>> {
        let popped_at = self.in_flight_pods.get(uid)?.sequence;
        let first = self.in_flight_events.partition_point(|event| event.sequence < popped_at);
        Some(self.in_flight_events.range(first..).cloned().collect())
    }

    /// The attempt of a pod is over: forgets it, and the events that no other pod in flight needs.
    pub(super) fn done(&mut self, uid: &str) {
        if self.in_flight_pods.remove(uid).is_none() || self.in_flight_events.is_empty() {
            return;
        }
        let oldest = self.in_flight_pods.values().map(|pod| pod.sequence).min();
        let unneeded = match oldest {
            Some(oldest) => self.in_flight_events.partition_point(|event| event.sequence < oldest),
            None => self.in_flight_events.len(),
        };
        if unneeded > 0 {
            Arc::make_mut(&mut self.in_flight_events).drain(..unneeded);
        }
    }
}
