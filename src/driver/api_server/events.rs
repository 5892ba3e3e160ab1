//! What the sandbox's own scheduler says of pods, as Events.

use std::collections::BTreeMap;

use super::mirror::Changes;
use super::own;
use crate::api::{NamespacedName, Time};
use crate::driver::live::events::{EventRecorder, EventWrite};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::requests::patch::{PatchKind, patched};
use crate::driver::sandbox::resources::ResourceId;
use crate::scheduler::view::ObjectEvent;

/// Writes Events as a real scheduler does, series and all.
#[derive(Debug)]
pub(super) struct EventDesk {
    recorder: EventRecorder,
    /// When each Event was written first.
    written: BTreeMap<Time, Vec<NamespacedName>>,
}

impl Default for EventDesk {
    fn default() -> Self {
        Self { recorder: EventRecorder::new("schedscope"), written: BTreeMap::new() }
    }
}

fn resource() -> Option<ResourceId> {
    ResourceId::of("events.k8s.io", "events")
}

impl EventDesk {
    /// Writes what was said.
    pub(super) fn say(&mut self, event: &ObjectEvent, api: &SandboxApi, changes: &mut Changes<'_>) {
        let now = event.at;
        let pod = |key: &NamespacedName| api.objects().pods.get(key);
        let regarding = pod(&event.regarding);
        let profile = regarding.map(|pod| pod.spec.scheduler_name.clone()).unwrap_or_default();
        let related = event.related.as_ref().and_then(pod);
        let write = self.recorder.record(
            event,
            &profile,
            regarding.map(AsRef::as_ref),
            related.map(AsRef::as_ref),
            now,
        );
        if let Some(write) = write {
            self.carry_out(&write, now, changes);
        }
    }

    /// Writes what is due since time has gone by.
    pub(super) fn refresh(&mut self, now: Time, changes: &mut Changes<'_>) {
        for write in self.recorder.refresh(now) {
            self.carry_out(&write, now, changes);
        }
    }

    fn carry_out(
        &mut self,
        EventWrite { request, if_missing }: &EventWrite,
        now: Time,
        changes: &mut Changes<'_>,
    ) {
        let Some(id) = resource() else { return };
        let whole = if_missing.as_ref().unwrap_or(request);
        let text = |field: &str| whole.body["metadata"][field].as_str().unwrap_or_default();
        let key = NamespacedName::new(text("namespace"), text("name"));
        let mut event = match changes.get(id, &key) {
            Some(old) if if_missing.is_some() => {
                patched(&old.document(), PatchKind::Strategic, &request.body).unwrap_or_default()
            }
            _ => {
                self.written.entry(now).or_default().push(key.clone());
                whole.body.clone()
            }
        };
        if event["metadata"].get("uid").is_none() {
            event["metadata"]["uid"] = format!("event/{key}").into();
            event["metadata"]["creationTimestamp"] = now.truncate_to_second().to_rfc3339().into();
        }
        own::put(changes, id, &event);
    }

    /// The sandbox was taken back: what was said later was not said.
    pub(super) fn forget_after(&mut self, now: Time, changes: &mut Changes<'_>) {
        let Some(id) = resource() else { return };
        self.recorder = EventRecorder::new("schedscope");
        let later: Vec<Time> = self.written.range(now..).map(|(at, _)| *at).filter(|at| *at > now).collect();
        for key in later.iter().filter_map(|at| self.written.remove(at)).flatten() {
            own::remove(changes, id, &key);
        }
    }
}
