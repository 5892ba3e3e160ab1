//! The digest of the queue: everything that decides what it does next, and nothing that only people read.

use crate::api::{Digest, Digestible, Object};
use crate::framework::{ClusterEvent, QueuedPodInfo};

use super::SchedulingQueue;

impl Digestible for SchedulingQueue {
    fn digest(&self, digest: &mut Digest) {
        digest.u64(self.start.as_nanos()).u64(self.flushed_at.as_nanos());
        for queue in [self.active.pods(), self.backoff.pods(), self.backoff.error_pods()] {
            digest.len(queue.len());
            queue.digests().for_each(|pod| {
                digest.u64(pod);
            });
        }
        digest.len(self.unschedulable.len());
        self.unschedulable.digests().for_each(|pod| {
            digest.u64(pod);
        });

        digest.len(self.active.in_flight_pods().len());
        for (uid, in_flight) in self.active.in_flight_pods() {
            digest.str(uid).u64(in_flight.sequence);
        }
        digest.len(self.active.in_flight_events().len());
        for in_flight in self.active.in_flight_events() {
            digest.u64(in_flight.sequence);
            event(digest, &in_flight.event);
            object(digest, in_flight.old.as_ref());
            object(digest, in_flight.new.as_ref());
        }
    }
}

/// The digest of a pod in the queue. The queues keep it until the pod changes.
pub(super) fn of_pod(info: &QueuedPodInfo) -> u64 {
    let mut digest = Digest::new();
    let metadata = &info.pod().metadata;
    digest
        .str(&metadata.uid)
        .str(&metadata.resource_version)
        .u64(info.timestamp.as_nanos())
        .u64(info.attempts.into())
        .u64(info.backoff_expiration.as_nanos())
        .u64(info.unschedulable_count.into())
        .u64(info.consecutive_errors_count.into())
        .bool(info.was_flushed_from_unschedulable)
        .u64(info.initial_attempt_timestamp.map_or(0, |time| time.as_nanos()));
    for plugins in [&info.unschedulable_plugins, &info.pending_plugins] {
        digest.len(plugins.len());
        for plugin in plugins {
            digest.str(plugin);
        }
    }
    digest.str(&info.gating_plugin).len(info.gating_plugin_events.len());
    info.gating_plugin_events.iter().for_each(|gating| event(&mut digest, gating));
    digest.finish()
}

fn event(digest: &mut Digest, event: &ClusterEvent) {
    digest
        .str(event.resource.as_str())
        .u64(event.action_type.bits().into())
        .str(event.custom_label.unwrap_or(""));
}

fn object(digest: &mut Digest, object: Option<&Object>) {
    let Some(object) = object else {
        digest.bool(false);
        return;
    };
    let metadata = object.metadata();
    digest
        .bool(true)
        .str(object.kind().as_str())
        .str(&metadata.name)
        .str(&metadata.uid)
        .str(&metadata.resource_version);
}
