//! Names in objects, in the arguments of plugins and in the answers of extenders, found by the fields that they are in.
//!
//! A text in a field that is not known is taken for a name. What has to stay is listed.

use serde_json::{Map, Value};

use super::names::Names;
use crate::api::{Kind, Object};
use crate::recording::encode::OwnFields;
use crate::recording::exact::Exact;
use crate::recording::slim::READ_ANNOTATIONS;

/// Fields whose texts stay as they are: words of the API, versions, times, amounts, and what drivers are called.
const KEPT: &[&str] = &[
    "accessModes",
    "action",
    "allocationMode",
    "allocationTimestamp",
    "apiGroup",
    "apiVersion",
    "attacher",
    "bindingTimeout",
    "capacity",
    "creationTimestamp",
    "declaredFeatures",
    "defaultingType",
    "deletionTimestamp",
    "driver",
    "effect",
    "expression",
    "filterTimeout",
    "hostIP",
    "kind",
    "lastTransitionTime",
    "maximumVolumeSize",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    "operator",
    "persistentVolumeReclaimPolicy",
    "phase",
    "preemptionPolicy",
    "protocol",
    "provisioner",
    "reason",
    "reclaimPolicy",
    "resource",
    "resourceVersion",
    "restartPolicy",
    "shape",
    "source",
    "startTime",
    "status",
    "type",
    "volumeBindingMode",
    "timeAdded",
    "volumeMode",
    "whenUnsatisfiable",
];
/// Fields of which nothing is changed: what devices are like, which their selectors look at.
const KEPT_WHOLE: &[&str] = &[
    "attributes",
    "consumedCapacity",
    "consumesCounters",
    "counters",
    "distinctAttribute",
    "matchAttribute",
    "maxUnavailable",
    "minAvailable",
    "sharedCounters",
];
/// Maps from resources to amounts.
const RESOURCES: &[&str] =
    &["allocatable", "allocatedResources", "capacity", "limits", "overhead", "requests"];
/// Maps of labels.
const LABELS: &[&str] = &["labels", "matchLabels", "nodeSelector", "selector"];
/// Maps of what drivers are told. Their texts are hidden already.
const OPTIONS: &[&str] = &["options", "volumeAttributes"];
/// Lists of keys of labels, or one.
const LABEL_KEYS: &[&str] = &["key", "matchLabelKeys", "mismatchLabelKeys", "topologyKey", "topologyKeys"];
/// Annotations whose texts are names.
const NAME_ANNOTATIONS: &[&str] = &[
    "resource.kubernetes.io/pod-claim-name",
    "volume.beta.kubernetes.io/storage-class",
    "volume.kubernetes.io/selected-node",
];

/// The object with pseudonyms.
///
/// # Errors
/// If it cannot be written and read, which none of the kinds gives a reason for.
pub(super) fn object(names: &mut Names, object: &Object) -> Result<Object, String> {
    let text = |error: serde_json::Error| error.to_string();
    let mut document = serde_json::to_value(Exact(&OwnFields(object))).map_err(text)?;
    fields(names, &mut document, Some(object.kind()));
    Object::deserialize_kind(object.kind(), document).map_err(text)
}

/// The arguments of a plugin, or a part of them.
pub(super) fn arguments(names: &mut Names, args: &mut Value) {
    fields(names, args, None);
}

fn fields(names: &mut Names, document: &mut Value, kind: Option<Kind>) {
    let keeps_name = matches!(kind, Some(Kind::CSIDriver));
    let Value::Object(map) = document else { return };
    for (key, value) in map.iter_mut() {
        if key == "metadata" && keeps_name {
            let name = value.get("name").cloned();
            field(names, key, value, kind);
            if let (Some(name), Some(metadata)) = (name, value.as_object_mut()) {
                metadata.insert("name".to_owned(), name);
            }
        } else {
            field(names, key, value, kind);
        }
    }
}

fn field(names: &mut Names, key: &str, value: &mut Value, kind: Option<Kind>) {
    if KEPT.contains(&key) && !value.is_object() || KEPT_WHOLE.contains(&key) {
        return;
    }
    // Capacities of devices have names of their drivers'.
    let is_of_devices =
        matches!(kind, Some(Kind::ResourceSlice | Kind::ResourceClaim | Kind::ResourceClaimTemplate));
    if key == "capacity" && is_of_devices {
        return;
    }
    match value {
        Value::String(text) => *text = single(names, key, text),
        Value::Array(items) => {
            for item in items {
                element(names, key, item, kind);
            }
        }
        Value::Object(map) if key == "annotations" => annotations(names, map),
        Value::Object(map) if LABELS.contains(&key) && map.values().all(Value::is_string) => {
            labels(names, map)
        }
        Value::Object(map) if RESOURCES.contains(&key) => {
            if !map.values().any(Value::is_object) {
                rename(map, |resource| names.resource(resource));
            }
        }
        Value::Object(map) if key == "disruptedPods" => rename(map, |pod| names.name(pod)),
        Value::Object(map) if OPTIONS.contains(&key) => {
            fields_of(names, map, kind);
            rename(map, |option| names.name(option));
        }
        // A requirement: what its values are depends on its key.
        Value::Object(_) => requirement_or_fields(names, value, kind),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An element of a list.
fn element(names: &mut Names, key: &str, item: &mut Value, kind: Option<Kind>) {
    match item {
        Value::String(text) => *text = single(names, key, text),
        Value::Object(map) if key == "drivers" && kind == Some(Kind::CSINode) => {
            let name = map.get("name").cloned();
            requirement_or_fields(names, item, kind);
            if let (Some(name), Some(map)) = (name, item.as_object_mut()) {
                map.insert("name".to_owned(), name);
            }
        }
        Value::Object(map) if key == "resources" => {
            if let Some(Value::String(name)) = map.get_mut("name") {
                *name = names.resource(name);
            }
        }
        Value::Object(_) => requirement_or_fields(names, item, kind),
        Value::Array(items) => items.iter_mut().for_each(|item| element(names, key, item, kind)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A requirement, a taint or a toleration has a key; everything else is an object like others.
fn requirement_or_fields(names: &mut Names, value: &mut Value, kind: Option<Kind>) {
    let Value::Object(map) = value else { return };
    let Some(key) = map.get("key").and_then(Value::as_str).map(str::to_owned) else {
        fields_of(names, map, kind);
        return;
    };
    let is_field = key == "metadata.name";
    let value_of = |names: &mut Names, text: &str| {
        if is_field { names.name(text) } else { names.label_value(&key, text) }
    };
    for (field_key, value) in map.iter_mut() {
        match (field_key.as_str(), value) {
            ("key", Value::String(text)) => {
                if !is_field {
                    *text = names.label_key(text);
                }
            }
            ("value", Value::String(text)) => *text = value_of(names, text),
            ("values", Value::Array(items)) => {
                for item in items {
                    if let Value::String(text) = item {
                        *text = value_of(names, text);
                    }
                }
            }
            (_, value) => field(names, field_key, value, kind),
        }
    }
}

fn fields_of(names: &mut Names, map: &mut Map<String, Value>, kind: Option<Kind>) {
    for (key, value) in map.iter_mut() {
        field(names, key, value, kind);
    }
}

/// A text in a field, or in a list there.
fn single(names: &mut Names, key: &str, text: &str) -> String {
    match key {
        _ if KEPT.contains(&key) => text.to_owned(),
        "uid" => names.uid(text),
        "image" | "reference" | "names" => names.image(text),
        "message" => names.message(text),
        "schedulerName" => names.scheduler(text),
        "extendedResourceName" | "ignoredResources" => names.resource(text),
        _ if LABEL_KEYS.contains(&key) => names.label_key(text),
        _ => names.name(text),
    }
}

fn labels(names: &mut Names, map: &mut Map<String, Value>) {
    for (key, value) in map.iter_mut() {
        if let Value::String(text) = value {
            *text = names.label_value(key, text);
        }
    }
    rename(map, |key| names.label_key(key));
}

fn annotations(names: &mut Names, map: &mut Map<String, Value>) {
    for (key, value) in map.iter_mut() {
        if let Value::String(text) = value {
            if NAME_ANNOTATIONS.contains(&key.as_str()) {
                *text = names.name(text);
            } else if !READ_ANNOTATIONS.contains(&key.as_str()) {
                // Hidden texts have a digest that could be guessed.
                *text = names.message(text);
            }
        }
    }
    rename(map, |key| names.label_key(key));
}

fn rename(map: &mut Map<String, Value>, mut new_key: impl FnMut(&str) -> String) {
    *map = std::mem::take(map).into_iter().map(|(key, value)| (new_key(&key), value)).collect();
}

/// The body of an extender's answer. One that is no JSON stays none.
pub(super) fn extender_body(names: &mut Names, body: &str) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(body) else { return "{".to_owned() };
    match &mut answer {
        Value::Array(priorities) => {
            for priority in priorities.iter_mut().filter_map(Value::as_object_mut) {
                for (key, value) in priority.iter_mut() {
                    if let (true, Value::String(host)) = (key.eq_ignore_ascii_case("host"), value) {
                        *host = names.name(host);
                    }
                }
            }
        }
        Value::Object(result) => {
            for (key, value) in result.iter_mut() {
                extender_field(names, &key.to_ascii_lowercase(), value);
            }
        }
        Value::String(text) => *text = names.message(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    answer.to_string()
}

fn extender_field(names: &mut Names, key: &str, value: &mut Value) {
    match (key, value) {
        ("error", Value::String(text)) => *text = names.message(text),
        ("nodenames", Value::Array(nodes)) => {
            for node in nodes {
                if let Value::String(node) = node {
                    *node = names.name(node);
                }
            }
        }
        ("failednodes" | "failedandunresolvablenodes", Value::Object(nodes)) => {
            for reason in nodes.values_mut() {
                if let Value::String(text) = reason {
                    *text = names.message(text);
                }
            }
            rename(nodes, |node| names.name(node));
        }
        ("nodes", Value::Object(list)) => {
            for (key, items) in list.iter_mut() {
                if let (true, Value::Array(items)) = (key.eq_ignore_ascii_case("items"), items) {
                    items.iter_mut().for_each(|node| fields(names, node, Some(Kind::Node)));
                }
            }
        }
        ("nodenametometavictims" | "nodenametovictims", Value::Object(nodes)) => {
            for victims in nodes.values_mut().filter_map(Value::as_object_mut) {
                for pods in victims.values_mut().filter_map(Value::as_array_mut) {
                    pods.iter_mut().filter_map(Value::as_object_mut).for_each(|pod| victim(names, pod));
                }
            }
            rename(nodes, |node| names.name(node));
        }
        _ => {}
    }
}

fn victim(names: &mut Names, pod: &mut Map<String, Value>) {
    for (key, value) in pod.iter_mut() {
        if let (true, Value::String(uid)) = (key.eq_ignore_ascii_case("uid"), value) {
            *uid = names.uid(uid);
        }
    }
}
