//! The few kinds that clients write in Kubernetes' protobuf, read as the JSON that they stand for.
//!
//! client-go's typed clients, kube-scheduler among them, write Bindings, Events, Leases, options of deletions and evictions
//! so by default (`clientConnection.contentType: application/vnd.kubernetes.protobuf`). Field numbers are those of the
//! `generated.proto` files of Kubernetes v1.36. What is answered is always JSON, which such clients read as well.

use serde_json::{Map, Value, json};

use crate::api::{Duration, Time};
use crate::driver::sandbox::requests::Refusal;

/// What comes before every message.
const MAGIC: &[u8] = b"k8s\0";
/// Messages inside messages, at most.
const DEPTH_MAX: usize = 16;

/// What a field holds.
#[derive(Clone, Copy)]
enum Type {
    Text,
    Number,
    Bool,
    /// To the second.
    Time,
    /// To the microsecond.
    MicroTime,
    Message(&'static [Field]),
    /// A map of texts.
    Map,
    Texts,
    Messages(&'static [Field]),
}

type Field = (u64, &'static str, Type);

const OWNER: &[Field] = &[
    (5, "apiVersion", Type::Text),
    (1, "kind", Type::Text),
    (3, "name", Type::Text),
    (4, "uid", Type::Text),
    (6, "controller", Type::Bool),
    (7, "blockOwnerDeletion", Type::Bool),
];
const METADATA: &[Field] = &[
    (1, "name", Type::Text),
    (2, "generateName", Type::Text),
    (3, "namespace", Type::Text),
    (5, "uid", Type::Text),
    (6, "resourceVersion", Type::Text),
    (7, "generation", Type::Number),
    (8, "creationTimestamp", Type::Time),
    (9, "deletionTimestamp", Type::Time),
    (11, "labels", Type::Map),
    (12, "annotations", Type::Map),
    (13, "ownerReferences", Type::Messages(OWNER)),
    (14, "finalizers", Type::Texts),
];
const REFERENCE: &[Field] = &[
    (1, "kind", Type::Text),
    (2, "namespace", Type::Text),
    (3, "name", Type::Text),
    (4, "uid", Type::Text),
    (5, "apiVersion", Type::Text),
    (6, "resourceVersion", Type::Text),
    (7, "fieldPath", Type::Text),
];
const BINDING: &[Field] =
    &[(1, "metadata", Type::Message(METADATA)), (2, "target", Type::Message(REFERENCE))];
const SERIES: &[Field] = &[(1, "count", Type::Number), (2, "lastObservedTime", Type::MicroTime)];
const SOURCE: &[Field] = &[(1, "component", Type::Text), (2, "host", Type::Text)];
const EVENT: &[Field] = &[
    (1, "metadata", Type::Message(METADATA)),
    (2, "eventTime", Type::MicroTime),
    (3, "series", Type::Message(SERIES)),
    (4, "reportingController", Type::Text),
    (5, "reportingInstance", Type::Text),
    (6, "action", Type::Text),
    (7, "reason", Type::Text),
    (8, "regarding", Type::Message(REFERENCE)),
    (9, "related", Type::Message(REFERENCE)),
    (10, "note", Type::Text),
    (11, "type", Type::Text),
    (12, "deprecatedSource", Type::Message(SOURCE)),
    (13, "deprecatedFirstTimestamp", Type::Time),
    (14, "deprecatedLastTimestamp", Type::Time),
    (15, "deprecatedCount", Type::Number),
];
const CORE_EVENT: &[Field] = &[
    (1, "metadata", Type::Message(METADATA)),
    (2, "involvedObject", Type::Message(REFERENCE)),
    (3, "reason", Type::Text),
    (4, "message", Type::Text),
    (5, "source", Type::Message(SOURCE)),
    (6, "firstTimestamp", Type::Time),
    (7, "lastTimestamp", Type::Time),
    (8, "count", Type::Number),
    (9, "type", Type::Text),
    (10, "eventTime", Type::MicroTime),
    (11, "series", Type::Message(SERIES)),
    (12, "action", Type::Text),
    (13, "related", Type::Message(REFERENCE)),
    (14, "reportingComponent", Type::Text),
    (15, "reportingInstance", Type::Text),
];
const LEASE_SPEC: &[Field] = &[
    (1, "holderIdentity", Type::Text),
    (2, "leaseDurationSeconds", Type::Number),
    (3, "acquireTime", Type::MicroTime),
    (4, "renewTime", Type::MicroTime),
    (5, "leaseTransitions", Type::Number),
    (6, "strategy", Type::Text),
    (7, "preferredHolder", Type::Text),
];
const LEASE: &[Field] = &[(1, "metadata", Type::Message(METADATA)), (2, "spec", Type::Message(LEASE_SPEC))];
const PRECONDITIONS: &[Field] = &[(1, "uid", Type::Text), (2, "resourceVersion", Type::Text)];
const DELETE_OPTIONS: &[Field] = &[
    (1, "gracePeriodSeconds", Type::Number),
    (2, "preconditions", Type::Message(PRECONDITIONS)),
    (3, "orphanDependents", Type::Bool),
    (4, "propagationPolicy", Type::Text),
    (5, "dryRun", Type::Texts),
];
const EVICTION: &[Field] =
    &[(1, "metadata", Type::Message(METADATA)), (2, "deleteOptions", Type::Message(DELETE_OPTIONS))];
const TOKEN_REVIEW_SPEC: &[Field] = &[(1, "token", Type::Text), (2, "audiences", Type::Texts)];
const TOKEN_REVIEW: &[Field] =
    &[(1, "metadata", Type::Message(METADATA)), (2, "spec", Type::Message(TOKEN_REVIEW_SPEC))];
const ACCESS_REVIEW: &[Field] = &[(1, "metadata", Type::Message(METADATA))];

const TYPE_META: &[Field] = &[(1, "apiVersion", Type::Text), (2, "kind", Type::Text)];

fn fields_of(api_version: &str, kind: &str) -> Option<&'static [Field]> {
    Some(match (api_version, kind) {
        ("v1", "Binding") => BINDING,
        ("v1", "Event") => CORE_EVENT,
        ("events.k8s.io/v1", "Event") => EVENT,
        ("coordination.k8s.io/v1", "Lease") => LEASE,
        (_, "DeleteOptions") => DELETE_OPTIONS,
        ("policy/v1", "Eviction") => EVICTION,
        ("authentication.k8s.io/v1", "TokenReview") => TOKEN_REVIEW,
        (_, "SubjectAccessReview" | "SelfSubjectAccessReview") => ACCESS_REVIEW,
        _ => return None,
    })
}

/// Reads a message.
///
/// # Errors
/// 415 if it is of another kind; 400 if it cannot be read.
pub(super) fn decode(bytes: &[u8]) -> Result<Value, Refusal> {
    let malformed = || Refusal::bad_request("the protobuf in the request cannot be read");
    let envelope = bytes.strip_prefix(MAGIC).ok_or_else(malformed)?;
    let (mut type_meta, mut raw) = (json!({}), None);
    for entry in Entries(envelope) {
        match entry.ok_or_else(malformed)? {
            (1, Wire::Bytes(bytes)) => type_meta = message(TYPE_META, bytes, 0).ok_or_else(malformed)?,
            (2, Wire::Bytes(bytes)) => raw = Some(bytes),
            _ => {}
        }
    }
    let text = |field: &str| type_meta[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let Some(fields) = fields_of(api_version, kind) else {
        let message = format!(
            "{kind} in {api_version} is not read in protobuf here: let the client write application/json \
             (clientConnection.contentType: application/json in a KubeSchedulerConfiguration)"
        );
        return Err(Refusal::new(415, "UnsupportedMediaType", message));
    };
    let mut value = message(fields, raw.unwrap_or_default(), 0).ok_or_else(malformed)?;
    value["apiVersion"] = api_version.into();
    value["kind"] = kind.into();
    Ok(value)
}

/// What stands on the wire.
#[derive(Clone, Copy)]
enum Wire<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Eight or four bytes, which no field here has.
    Fixed,
}

/// The fields of a message one after the other; `None` where it is broken.
struct Entries<'a>(&'a [u8]);

impl<'a> Entries<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..70).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn entry(&mut self) -> Option<(u64, Wire<'a>)> {
        let tag = self.varint()?;
        let wire = match tag & 7 {
            0 => Wire::Number(self.varint()?),
            1 => self.take(8).map(|_| Wire::Fixed)?,
            2 => {
                let n = usize::try_from(self.varint()?).ok()?;
                Wire::Bytes(self.take(n)?)
            }
            5 => self.take(4).map(|_| Wire::Fixed)?,
            _ => return None,
        };
        Some((tag >> 3, wire))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Option<(u64, Wire<'a>)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let entry = self.entry();
        if entry.is_none() {
            self.0 = &[];
        }
        Some(entry)
    }
}

fn message(fields: &[Field], bytes: &[u8], depth: usize) -> Option<Value> {
    if depth > DEPTH_MAX {
        return None;
    }
    let mut value = Map::new();
    for entry in Entries(bytes) {
        let (number, wire) = entry?;
        let Some((_, name, type_)) = fields.iter().find(|(known, ..)| *known == number) else { continue };
        let text = |bytes: &[u8]| std::str::from_utf8(bytes).ok().map(Value::from);
        match (type_, wire) {
            (Type::Number, Wire::Number(number)) => {
                value.insert((*name).to_owned(), number.cast_signed().into());
            }
            (Type::Bool, Wire::Number(number)) => _ = value.insert((*name).to_owned(), (number != 0).into()),
            (Type::Text, Wire::Bytes(bytes)) => {
                let text = text(bytes)?;
                // What is not set is written as an empty text.
                if text != "" {
                    value.insert((*name).to_owned(), text);
                }
            }
            (Type::Time | Type::MicroTime, Wire::Bytes(bytes)) => {
                if let Some(at) = time(bytes)? {
                    let is_micro = matches!(type_, Type::MicroTime);
                    let text = if is_micro { at.to_rfc3339_micros() } else { at.to_rfc3339() };
                    value.insert((*name).to_owned(), text.into());
                }
            }
            (Type::Message(fields), Wire::Bytes(bytes)) => {
                value.insert((*name).to_owned(), message(fields, bytes, depth + 1)?);
            }
            (Type::Messages(fields), Wire::Bytes(bytes)) => {
                let element = message(fields, bytes, depth + 1)?;
                value.entry(*name).or_insert_with(|| json!([])).as_array_mut()?.push(element);
            }
            (Type::Texts, Wire::Bytes(bytes)) => {
                let element = text(bytes)?;
                value.entry(*name).or_insert_with(|| json!([])).as_array_mut()?.push(element);
            }
            (Type::Map, Wire::Bytes(bytes)) => {
                let entry = message(&[(1, "key", Type::Text), (2, "value", Type::Text)], bytes, depth + 1)?;
                let [key, held] = ["key", "value"].map(|field| entry[field].as_str().unwrap_or_default());
                let map = value.entry(*name).or_insert_with(|| json!({})).as_object_mut()?;
                map.insert(key.to_owned(), held.into());
            }
            // A wire type that does not fit the field.
            _ => return None,
        }
    }
    Some(Value::Object(value))
}

/// Seconds and nanoseconds; `Some(None)` where there is no time.
fn time(bytes: &[u8]) -> Option<Option<Time>> {
    let (mut seconds, mut nanos) = (0, 0);
    for entry in Entries(bytes) {
        match entry? {
            (1, Wire::Number(number)) => seconds = number.cast_signed(),
            (2, Wire::Number(number)) => nanos = number,
            _ => {}
        }
    }
    // Go's zero time lies before 1970.
    let Ok(seconds) = u64::try_from(seconds) else { return Some(None) };
    if (seconds, nanos) == (0, 0) {
        return Some(None);
    }
    Some(Some(Time::from_secs(seconds) + Duration::from_nanos(nanos.min(999_999_999))))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let mut field = vec![number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        field.extend_from_slice(bytes);
        field
    }

    fn sealed(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let meta = [field(1, api_version.as_bytes()), field(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), field(1, &meta), field(2, raw)].concat()
    }

    #[test]
    fn a_binding_is_read() {
        let metadata = [field(1, b"web"), field(3, b"shop"), field(5, b"u"), field(2, b"")].concat();
        let raw = [field(1, &metadata), field(2, &[field(1, b"Node"), field(3, b"n1")].concat())].concat();
        assert_eq!(
            decode(&sealed("v1", "Binding", &raw)).unwrap(),
            json!({
                "metadata": {"name": "web", "namespace": "shop", "uid": "u"},
                "target": {"kind": "Node", "name": "n1"},
                "apiVersion": "v1", "kind": "Binding",
            })
        );
    }

    #[test]
    fn times_lists_and_maps_are_read() {
        let label = field(11, &[field(1, b"a"), field(2, b"b")].concat());
        let metadata = [field(1, b"l"), label, field(14, b"x/y"), field(14, b"z")].concat();
        // 1,000,000 s as a varint.
        let at = field(4, &[vec![1 << 3, 0xc0, 0x84, 0x3d], vec![2 << 3, 0xe8, 0x07]].concat());
        let spec = field(2, &[field(1, b"me"), vec![2 << 3, 15], at].concat());
        let lease = decode(&sealed("coordination.k8s.io/v1", "Lease", &[field(1, &metadata), spec].concat()))
            .unwrap();
        assert_eq!(lease["metadata"]["labels"], json!({"a": "b"}));
        assert_eq!(lease["metadata"]["finalizers"], json!(["x/y", "z"]));
        assert_eq!(lease["spec"]["leaseDurationSeconds"], 15);
        assert_eq!(lease["spec"]["renewTime"], "1970-01-12T13:46:40.000001Z");
    }

    #[test]
    fn what_is_not_known_is_refused_and_what_is_broken_too() {
        let refusal = decode(&sealed("v1", "Pod", b"")).unwrap_err();
        assert_eq!((refusal.code, refusal.message.contains("contentType: application/json")), (415, true));
        assert_eq!(decode(b"{}").unwrap_err().code, 400);
        let good = sealed("v1", "Binding", &field(1, &field(1, b"web")));
        for end in MAGIC.len() + 1..good.len() {
            if let Err(refusal) = decode(&good[..end]) {
                assert!(matches!(refusal.code, 400 | 415), "{end}");
            }
        }
        assert_eq!(decode(&sealed("v1", "Binding", &[0xff; 12])).unwrap_err().code, 400);
    }
}
