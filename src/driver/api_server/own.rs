//! Objects that the server keeps for its clients and that are no part of the sandbox: Events and Leases.
//!
//! They change nothing in the cluster, and clients write them all the time: as operations of the session they would fill
//! its past. The two APIs of Events show one set of objects in their two forms (`pkg/apis/core/v1/conversion.go`).

use serde_json::{Map, Value, json};

use super::mirror::{Changes, Mirror, Served};
use super::status::has_changed;
use crate::api::{NamespacedName, Time};
use crate::driver::sandbox::requests::patch::patched;
use crate::driver::sandbox::requests::{ClientVerb, Deletion, Refusal};
use crate::driver::sandbox::resources::ResourceId;

/// So many Events are kept; then the oldest go.
const EVENTS_MAX: usize = 5_000;

/// The fields of an Event that have two names: in the core group, and in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Whether objects of a resource are the server's own.
pub(super) fn is_own(id: ResourceId) -> bool {
    matches!(id.get().kind, "Event" | "Lease")
}

fn is_event(id: ResourceId) -> bool {
    id.get().kind == "Event"
}

/// Both resources of Events.
fn event_resources() -> impl Iterator<Item = ResourceId> {
    ResourceId::all().filter(|id| is_event(*id))
}

/// An Event in the form of another group.
fn in_form_of(id: ResourceId, event: &Value) -> Value {
    let is_core = id.get().group.is_empty();
    let mut form = Map::new();
    for (field, value) in event.as_object().into_iter().flatten() {
        let renamed = EVENT_FIELDS.iter().find_map(|(core, other)| match is_core {
            true => (other == field).then_some(*core),
            false => (core == field).then_some(*other),
        });
        form.insert(renamed.unwrap_or(field).to_owned(), value.clone());
    }
    form.insert("apiVersion".to_owned(), id.get().api_version().into());
    if is_core {
        // kubectl counts and dates Events by the fields of the older API.
        let series = form.get("series").cloned();
        let at = form.get("eventTime").cloned();
        if let Some(series) = series {
            form.insert("count".to_owned(), series["count"].clone());
        }
        form.insert("eventTime".to_owned(), at.unwrap_or_default());
    }
    // Structures and times are written also where they are empty: what selects by them must find them.
    let always: &[(&str, Value)] = if is_core {
        &[
            ("involvedObject", json!({})),
            ("source", json!({})),
            ("firstTimestamp", Value::Null),
            ("lastTimestamp", Value::Null),
            ("reportingComponent", json!("")),
            ("reportingInstance", json!("")),
        ]
    } else {
        &[
            ("regarding", json!({})),
            ("eventTime", Value::Null),
            ("deprecatedSource", json!({})),
            ("deprecatedFirstTimestamp", Value::Null),
            ("deprecatedLastTimestamp", Value::Null),
        ]
    };
    for (field, empty) in always {
        form.entry(*field).or_insert_with(|| empty.clone());
    }
    Value::Object(form)
}

/// Puts an object in its place, an Event in both.
pub(super) fn put(changes: &mut Changes<'_>, id: ResourceId, document: &Value) {
    if !is_event(id) {
        changes.put(id, document.clone());
        return;
    }
    for form in event_resources() {
        changes.put(form, in_form_of(form, document));
        while changes.count(form) > EVENTS_MAX
            && let Some(oldest) = changes.oldest(form)
        {
            changes.remove(form, &oldest);
        }
    }
}

/// Takes an object away, an Event from both its places.
pub(super) fn remove(changes: &mut Changes<'_>, id: ResourceId, key: &NamespacedName) {
    if is_event(id) {
        event_resources().for_each(|form| _ = changes.remove(form, key));
    } else {
        changes.remove(id, key);
    }
}

/// A namespace is gone, and what was in it.
pub(super) fn remove_all_in(changes: &mut Changes<'_>, namespace: &str) {
    for id in ResourceId::all().filter(|id| is_own(*id)) {
        for key in changes.keys_in(id, namespace) {
            changes.remove(id, &key);
        }
    }
}

/// Writes an object of the server's own.
///
/// # Errors
/// Why it is not written.
pub(super) fn write(
    mirror: &Mirror,
    id: ResourceId,
    key: &NamespacedName,
    verb: &ClientVerb,
    now: Time,
) -> Result<std::sync::Arc<Served>, Refusal> {
    mirror.change(|changes| {
        let old = changes.get(id, key);
        let lost = || Refusal::not_found(id, &key.name);
        let new = match verb {
            ClientVerb::Create(_) if old.is_some() => {
                let message = format!("{} {:?} already exists", id.get().qualified(), key.name);
                return Err(Refusal::new(409, "AlreadyExists", message));
            }
            ClientVerb::Create(document) => {
                let mut document = Value::clone(document);
                let uid = format!("{}/{key}#{}", id.get().kind.to_lowercase(), now.as_nanos());
                give(&mut document, id, key, uid.into(), now.truncate_to_second().to_rfc3339().into());
                document
            }
            ClientVerb::Update(..) | ClientVerb::Patch { .. } => {
                let old = old.ok_or_else(lost)?;
                let was = old.document();
                let mut document = match verb {
                    ClientVerb::Patch { kind, patch, .. } => {
                        patched(&was, *kind, patch).map_err(Refusal::bad_request)?
                    }
                    ClientVerb::Update(document, _) => Value::clone(document),
                    _ => was.clone(),
                };
                let version = document.pointer("/metadata/resourceVersion").and_then(Value::as_str);
                if version.is_some_and(|version| !version.is_empty() && version != old.version.to_string()) {
                    return Err(has_changed(id, &key.name));
                }
                let metadata = |field: &str| was["metadata"][field].clone();
                give(&mut document, id, key, metadata("uid"), metadata("creationTimestamp"));
                document
            }
            ClientVerb::Delete(Deletion { .. }) => {
                let old = old.ok_or_else(lost)?;
                remove(changes, id, key);
                return Ok(old);
            }
            ClientVerb::DeleteMany(..) | ClientVerb::Bind { .. } | ClientVerb::Evict(_) => {
                return Err(Refusal::bad_request("this cannot be done with such an object"));
            }
        };
        put(changes, id, &new);
        changes.get(id, key).ok_or_else(lost)
    })
}

fn give(document: &mut Value, id: ResourceId, key: &NamespacedName, uid: Value, created: Value) {
    let Some(fields) = document.as_object_mut() else { return };
    fields.insert("apiVersion".to_owned(), id.get().api_version().into());
    fields.insert("kind".to_owned(), id.get().kind.into());
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(metadata) = metadata.as_object_mut() else { return };
    metadata.insert("name".to_owned(), key.name.to_string().into());
    metadata.insert("namespace".to_owned(), key.namespace.to_string().into());
    metadata.insert("uid".to_owned(), uid);
    metadata.insert("creationTimestamp".to_owned(), created);
    metadata.shift_remove("managedFields");
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn an_event_is_seen_through_both_apis() {
        let mirror = Mirror::new(0, Time::ZERO);
        let new = ResourceId::of("events.k8s.io", "events").unwrap();
        let core = ResourceId::of("", "events").unwrap();
        let key = NamespacedName::new("default", "web.1");
        let event = json!({
            "metadata": {"name": "web.1", "namespace": "default"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "regarding": {"kind": "Pod", "name": "web"}, "note": "0/1", "reason": "FailedScheduling",
            "reportingController": "default-scheduler",
        });
        write(&mirror, new, &key, &ClientVerb::Create(Arc::new(event)), Time::ZERO).unwrap();
        let seen = mirror.get(core, &key).unwrap().document();
        assert_eq!((&seen["message"], &seen["involvedObject"]["name"]), (&"0/1".into(), &"web".into()));
        assert_eq!(seen["reportingComponent"], "default-scheduler");
        for field in ["firstTimestamp", "lastTimestamp"] {
            assert_eq!(seen.get(field), Some(&Value::Null), "{field}");
        }
        assert_eq!((&seen["source"], &seen["reportingInstance"]), (&json!({}), &json!("")));
        let patch = json!({"series": {"count": 3, "lastObservedTime": "2026-01-01T00:01:00.000000Z"}});
        let verb = ClientVerb::Patch {
            kind: crate::driver::sandbox::requests::patch::PatchKind::Strategic,
            patch: Arc::new(patch),
            part: crate::driver::sandbox::documents::Part::Main,
        };
        write(&mirror, new, &key, &verb, Time::ZERO).unwrap();
        let seen = mirror.get(core, &key).unwrap().document();
        assert_eq!((&seen["count"], seen["apiVersion"].as_str()), (&3.into(), Some("v1")));
        write(&mirror, core, &key, &ClientVerb::Delete(Deletion::default()), Time::ZERO).unwrap();
        assert!(mirror.get(new, &key).is_none());
    }

    #[test]
    fn a_lease_is_written_only_over_the_version_that_was_seen() {
        let mirror = Mirror::new(0, Time::ZERO);
        let leases = ResourceId::of("coordination.k8s.io", "leases").unwrap();
        let key = NamespacedName::new("kube-system", "kube-scheduler");
        let write = |verb| write(&mirror, leases, &key, &verb, Time::ZERO);
        let lease = json!({"spec": {"holderIdentity": "a"}});
        let made = write(ClientVerb::Create(Arc::new(lease))).unwrap().document();
        let part = crate::driver::sandbox::documents::Part::Main;
        write(ClientVerb::Update(Arc::new(made.clone()), part)).unwrap();
        assert_eq!(write(ClientVerb::Update(Arc::new(made), part)).unwrap_err().code, 409);
    }
}
