//! Defaults of what the scheduler does not read, as far as clients rely on them.
//!
//! From `pkg/apis/*/v1/defaults.go` of Kubernetes v1.36: what kubectl or a controller would take amiss if it was absent.

use serde_json::{Map, Value, json};

use crate::driver::sandbox::resources::Resource;

/// Gives a document the defaults of its kind.
pub(in crate::driver::sandbox) fn default_document(resource: &Resource, document: &mut Value) {
    let Some(fields) = document.as_object_mut() else { return };
    let spec = fields.entry("spec");
    match (resource.group, resource.kind) {
        ("", "Pod") => {
            if let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() {
                default_pod(spec);
            }
        }
        ("apps", "Deployment") => {
            let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() else { return };
            put(spec, "replicas", json!(1));
            let strategy = spec.entry("strategy").or_insert_with(|| json!({}));
            if let Some(strategy) = strategy.as_object_mut() {
                put(strategy, "type", json!("RollingUpdate"));
                if strategy.get("type").and_then(Value::as_str) == Some("RollingUpdate") {
                    put(strategy, "rollingUpdate", json!({"maxUnavailable": "25%", "maxSurge": "25%"}));
                }
            }
            put(spec, "revisionHistoryLimit", json!(10));
            put(spec, "progressDeadlineSeconds", json!(600));
        }
        ("apps", "ReplicaSet") | ("", "ReplicationController") => default_field(spec, "replicas", json!(1)),
        ("apps", "StatefulSet") => {
            let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() else { return };
            put(spec, "replicas", json!(1));
            put(spec, "podManagementPolicy", json!("OrderedReady"));
            put(spec, "updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
            put(spec, "revisionHistoryLimit", json!(10));
        }
        ("apps", "DaemonSet") => {
            let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() else { return };
            let rolling =
                json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}});
            put(spec, "updateStrategy", rolling);
            put(spec, "revisionHistoryLimit", json!(10));
        }
        ("batch", "Job") => {
            let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() else { return };
            if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
                spec.insert("completions".to_owned(), json!(1));
            }
            put(spec, "parallelism", json!(1));
            put(spec, "backoffLimit", json!(6));
            put(spec, "completionMode", json!("NonIndexed"));
            put(spec, "suspend", json!(false));
        }
        ("batch", "CronJob") => {
            let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() else { return };
            put(spec, "concurrencyPolicy", json!("Allow"));
            put(spec, "suspend", json!(false));
            put(spec, "successfulJobsHistoryLimit", json!(3));
            put(spec, "failedJobsHistoryLimit", json!(1));
        }
        ("", "Service") => {
            let Some(spec) = spec.or_insert_with(|| json!({})).as_object_mut() else { return };
            put(spec, "type", json!("ClusterIP"));
            put(spec, "sessionAffinity", json!("None"));
        }
        _ => {}
    }
}

fn default_field(entry: serde_json::map::Entry<'_>, field: &str, value: Value) {
    if let Some(fields) = entry.or_insert_with(|| json!({})).as_object_mut() {
        put(fields, field, value);
    }
}

fn put(fields: &mut Map<String, Value>, field: &str, value: Value) {
    if fields.get(field).is_none_or(Value::is_null) {
        fields.insert(field.to_owned(), value);
    }
}

fn default_pod(spec: &mut Map<String, Value>) {
    put(spec, "restartPolicy", json!("Always"));
    put(spec, "dnsPolicy", json!("ClusterFirst"));
    put(spec, "terminationGracePeriodSeconds", json!(30));
    put(spec, "enableServiceLinks", json!(true));
    put(spec, "serviceAccountName", json!("default"));
    put(spec, "securityContext", json!({}));
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
            let name = image.rsplit('/').next().unwrap_or_default();
            let is_latest = name.ends_with(":latest") || !name.contains([':', '@']);
            put(container, "imagePullPolicy", json!(if is_latest { "Always" } else { "IfNotPresent" }));
            put(container, "terminationMessagePath", json!("/dev/termination-log"));
            put(container, "terminationMessagePolicy", json!("File"));
            put(container, "resources", json!({}));
            for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                if let Some(port) = port.as_object_mut() {
                    put(port, "protocol", json!("TCP"));
                }
            }
        }
    }
}
