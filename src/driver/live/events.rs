//! Kubernetes Events of the scheduler, as `client-go/tools/events` writes them.
//!
//! The same thing said again within six minutes is no new Event but a series of the first one; of a series the second
//! occurrence is written at once, and later ones are counted and written when the series is refreshed or ends.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Str, Time};
use crate::scheduler::view::ObjectEvent;

use super::requests::ApiRequest;

/// A series ends when nothing has been said for so long (`finishTime`).
const FINISH_TIME: Duration = Duration::from_secs(6 * 60);
/// Series are written anew so often (`refreshTime`).
const REFRESH_TIME: Duration = Duration::from_secs(30 * 60);

/// What makes two Events the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EventKey {
    type_: &'static str,
    reason: &'static str,
    action: &'static str,
    controller: Str,
    regarding: NamespacedName,
    uid: Str,
    version: Str,
    related: Option<NamespacedName>,
}

#[derive(Clone, Debug)]
struct Recorded {
    name: String,
    /// How the Event was created.
    create: ApiRequest,
    last: Time,
    count: u64,
}

impl Recorded {
    /// Writes how often it was said.
    fn series(&self) -> EventWrite {
        let series = json!({"count": self.count, "lastObservedTime": self.last.to_rfc3339_micros()});
        let mut whole = self.create.clone();
        whole.body["series"] = series.clone();
        let request = ApiRequest {
            method: "PATCH",
            path: format!("{}/{}", self.create.path, self.name),
            content_type: "application/strategic-merge-patch+json",
            body: json!({"series": series}),
        };
        EventWrite { request, if_missing: Some(whole) }
    }
}

/// What is sent for an Event.
#[derive(Clone, Debug, PartialEq)]
pub struct EventWrite {
    /// The request.
    pub request: ApiRequest,
    /// What is sent if the server has forgotten the Event.
    pub if_missing: Option<ApiRequest>,
}

/// What was said, to know what is said again.
#[derive(Clone, Debug)]
pub struct EventRecorder {
    /// `metadata.name` of the program's instance: the host's name.
    host: String,
    recorded: BTreeMap<EventKey, Recorded>,
    refreshed: Time,
}

impl EventRecorder {
    /// A recorder of an instance on this host.
    pub fn new(host: &str) -> Self {
        Self { host: host.to_owned(), recorded: BTreeMap::new(), refreshed: Time::ZERO }
    }

    /// What is to be sent for an Event about `regarding`. Absent where it is only counted. The profile's name is the
    /// reporting controller.
    pub fn record(
        &mut self,
        event: &ObjectEvent,
        profile: &Str,
        regarding: Option<&Pod>,
        related: Option<&Pod>,
        now: Time,
    ) -> Option<EventWrite> {
        let metadata = regarding.map(|pod| &pod.metadata);
        let key = EventKey {
            type_: event.type_,
            reason: event.reason,
            action: event.action,
            controller: profile.clone(),
            regarding: event.regarding.clone(),
            uid: metadata.map_or_else(|| "".into(), |metadata| metadata.uid.clone()),
            version: metadata.map_or_else(|| "".into(), |metadata| Str::from(&*metadata.resource_version)),
            related: related.map(Pod::key),
        };
        if let Some(recorded) = self.recorded.get_mut(&key) {
            recorded.count += 1;
            recorded.last = now;
            return (recorded.count == 2).then(|| recorded.series());
        }
        let namespace = &event.regarding.namespace;
        let namespace: Str = if namespace.is_empty() { "default".into() } else { namespace.clone() };
        let name = format!("{}.{:x}", event.regarding.name, now.as_nanos());
        let mut body = json!({
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": &*namespace},
            "eventTime": now.to_rfc3339_micros(),
            "reportingController": &**profile,
            "reportingInstance": format!("{profile}-{}", self.host),
            "action": event.action,
            "reason": event.reason,
            "regarding": reference(&event.regarding, regarding),
            "note": event.note,
            "type": event.type_,
        });
        // kube-scheduler v1.36 names nobody for an eviction: what it gives its recorder there is no API object (`Obj` in
        // `preemption/executor.go`), and the recorder leaves it out.
        if let Some(related) = related.filter(|_| event.reason != "Preempted") {
            body["related"] = reference(&related.key(), Some(related));
        }
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        let create = ApiRequest { method: "POST", path, content_type: "application/json", body };
        self.recorded.insert(key, Recorded { name, create: create.clone(), last: now, count: 1 });
        Some(EventWrite { request: create, if_missing: None })
    }

    /// What is to be sent since time has gone by: series that go on or have ended. Others are forgotten.
    pub fn refresh(&mut self, now: Time) -> Vec<EventWrite> {
        let is_due = now - self.refreshed >= REFRESH_TIME;
        if is_due {
            self.refreshed = now;
        }
        let mut requests = Vec::new();
        self.recorded.retain(|_, recorded| {
            let has_ended = now - recorded.last > FINISH_TIME;
            let is_series = recorded.count > 1;
            if is_series && (has_ended || is_due) {
                requests.push(recorded.series());
            }
            !has_ended
        });
        requests
    }
}

/// `reference.GetReference`.
fn reference(key: &NamespacedName, pod: Option<&Pod>) -> Value {
    let mut reference = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "namespace": &*key.namespace,
        "name": &*key.name,
    });
    if let Some(pod) = pod {
        reference["uid"] = Value::from(&**pod.uid());
        if !pod.metadata.resource_version.is_empty() {
            reference["resourceVersion"] = Value::from(&*pod.metadata.resource_version);
        }
    }
    reference
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(note: &str) -> ObjectEvent {
        ObjectEvent {
            at: Time::ZERO,
            type_: "Warning",
            reason: "FailedScheduling",
            action: "Scheduling",
            regarding: NamespacedName::new("ns", "p"),
            related: None,
            note: note.to_owned(),
        }
    }

    #[test]
    fn what_is_said_again_within_six_minutes_becomes_a_series() {
        let mut recorder = EventRecorder::new("host");
        let profile = Str::from("default-scheduler");
        let at = |secs: u64| Time::from_secs(1_000_000 + secs);
        let say = |recorder: &mut EventRecorder, secs| {
            recorder.record(&event("0/1 nodes are available"), &profile, None, None, at(secs))
        };
        let first = say(&mut recorder, 0).map(|write| (write.request.method, write.request.body));
        let instance = first.as_ref().map(|(_, body)| body["reportingInstance"].clone());
        assert_eq!(instance, Some(Value::from("default-scheduler-host")));
        assert_eq!(first.map(|(method, _)| method), Some("POST"));
        let second = say(&mut recorder, 10).map(|write| (write.request.method, write.request.body));
        let count = second.as_ref().map(|(_, body)| body["series"]["count"].clone());
        assert_eq!((second.map(|(method, _)| method), count), (Some("PATCH"), Some(Value::from(2))));
        assert_eq!(say(&mut recorder, 20), None, "the third is only counted");
        recorder.refreshed = at(0);
        assert_eq!(recorder.refresh(at(300)), []);
        let last = recorder.refresh(at(400));
        assert_eq!(
            last.first().map(|write| write.request.body["series"]["count"].clone()),
            Some(Value::from(3))
        );
        assert_eq!(say(&mut recorder, 410).map(|write| write.request.method), Some("POST"));
    }
}
