//! What is kept of objects that come in by the thousand.
//!
//! Objects are read into the fields that plugins read (`api::objects`), so managedFields, environment, arguments and the
//! like are never kept. Of a pod that has its node plugins read less still: such a pod is counted and matched, and never
//! placed again. In a large cluster nearly every pod is one of these.

use serde_json::{Map, Value};

/// An annotation that repeats the whole object.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Volumes that are on every node and limited nowhere.
const PLAIN_VOLUMES: &[&str] =
    &["configMap", "secret", "projected", "downwardAPI", "emptyDir", "hostPath", "nfs"];
/// Conditions that no plugin looks at.
const UNREAD_CONDITIONS: &[&str] = &["ContainersReady", "Initialized", "PodReadyToStartContainers", "Ready"];

/// What a person who looks at a pod that has its node has to know, in short lines.
pub const NOT_KEPT: &[&str] = &[
    "not kept of a pod that has its node: annotations, limits, statuses of",
    "containers, volumes of files (configMap, secret, emptyDir, ...), and the",
    "conditions Ready, ContainersReady, Initialized, PodReadyToStartContainers;",
    "kubectl get -o yaml has them",
];

/// Takes out of an object what would only take up room.
pub fn drop_unread(object: &mut Map<String, Value>) {
    if let Some(annotations) = map_in(object, &["metadata", "annotations"]) {
        annotations.remove(LAST_APPLIED);
    }
}

/// The same for a pod.
pub fn drop_unread_of_pod(pod: &mut Map<String, Value>) {
    drop_unread(pod);
    let node = map_in(pod, &["spec"]).and_then(|spec| spec.get("nodeName")?.as_str().map(str::is_empty));
    if node != Some(false) {
        return;
    }
    if let Some(metadata) = map_in(pod, &["metadata"]) {
        metadata.remove("annotations");
    }
    for (containers, statuses) in
        [("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")]
    {
        let requests = requests_by_name(pod, containers);
        retain(pod, "status", statuses, |status| is_resized(status, &requests));
        // Requests that were not given are the limits already.
        for container in list_in(pod, "spec", containers).into_iter().flatten() {
            if let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) {
                resources.remove("limits");
            }
        }
    }
    retain(pod, "spec", "volumes", |volume| !PLAIN_VOLUMES.iter().any(|kind| volume.get(*kind).is_some()));
    retain(pod, "status", "conditions", |condition| {
        condition.get("type").and_then(Value::as_str).is_none_or(|type_| !UNREAD_CONDITIONS.contains(&type_))
    });
}

/// What each container asks for.
fn requests_by_name(pod: &mut Map<String, Value>, containers: &str) -> Map<String, Value> {
    let containers = list_in(pod, "spec", containers).into_iter().flatten();
    containers
        .filter_map(|container| {
            let name = container.get("name")?.as_str()?.to_owned();
            Some((name, container.pointer("/resources/requests").cloned().unwrap_or_default()))
        })
        .collect()
}

/// Whether what a container was given is not what it asks for, as during a resize.
fn is_resized(status: &Value, requests: &Map<String, Value>) -> bool {
    let name = status.get("name").and_then(Value::as_str).unwrap_or_default();
    let asked = requests.get(name).unwrap_or(&Value::Null);
    let differs = |given: Option<&Value>| given.is_some_and(|given| given != asked);
    differs(status.get("allocatedResources")) || differs(status.pointer("/resources/requests"))
}

fn map_in<'a>(object: &'a mut Map<String, Value>, path: &[&str]) -> Option<&'a mut Map<String, Value>> {
    path.iter().try_fold(object, |object, field| object.get_mut(*field)?.as_object_mut())
}

fn list_in<'a>(pod: &'a mut Map<String, Value>, part: &str, list: &str) -> Option<&'a mut Vec<Value>> {
    map_in(pod, &[part])?.get_mut(list)?.as_array_mut()
}

fn retain(pod: &mut Map<String, Value>, part: &str, list: &str, is_kept: impl FnMut(&Value) -> bool) {
    if let Some(list) = list_in(pod, part, list) {
        list.retain(is_kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pod(node: &str) -> Value {
        json!({
            "metadata": {"name": "p", "annotations": {"a": "b", LAST_APPLIED: "{}"}},
            "spec": {
                "nodeName": node,
                "containers": [
                    {"name": "same", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},
                    {"name": "resized", "resources": {"requests": {"cpu": "1"}}},
                ],
                "volumes": [
                    {"name": "c", "configMap": {"name": "c"}},
                    {"name": "v", "persistentVolumeClaim": {"claimName": "v"}},
                    {"name": "d", "gcePersistentDisk": {"pdName": "d"}},
                ],
            },
            "status": {
                "conditions": [
                    {"type": "Ready", "status": "True"},
                    {"type": "DisruptionTarget", "status": "True"},
                    {"type": "PodResizePending", "status": "True"},
                ],
                "containerStatuses": [
                    {"name": "same", "allocatedResources": {"cpu": "1"}, "resources": {"requests": {"cpu": "1"}}},
                    {"name": "resized", "allocatedResources": {"cpu": "2"}},
                ],
            },
        })
    }

    fn kept(mut pod: Value) -> Value {
        if let Value::Object(fields) = &mut pod {
            drop_unread_of_pod(fields);
        }
        pod
    }

    #[test]
    fn of_a_pod_without_a_node_everything_counts() {
        let mut wanted = pod("");
        wanted["metadata"]["annotations"] = json!({"a": "b"});
        assert_eq!(kept(pod("")), wanted);
    }

    #[test]
    fn of_a_pod_with_a_node_stays_what_is_counted_matched_and_limited() {
        assert_eq!(
            kept(pod("n1")),
            json!({
                "metadata": {"name": "p"},
                "spec": {
                    "nodeName": "n1",
                    "containers": [
                        {"name": "same", "resources": {"requests": {"cpu": "1"}}},
                        {"name": "resized", "resources": {"requests": {"cpu": "1"}}},
                    ],
                    "volumes": [
                        {"name": "v", "persistentVolumeClaim": {"claimName": "v"}},
                        {"name": "d", "gcePersistentDisk": {"pdName": "d"}},
                    ],
                },
                "status": {
                    "conditions": [
                        {"type": "DisruptionTarget", "status": "True"},
                        {"type": "PodResizePending", "status": "True"},
                    ],
                    "containerStatuses": [{"name": "resized", "allocatedResources": {"cpu": "2"}}],
                },
            })
        );
    }

    #[test]
    fn odd_shapes_are_left_for_whoever_reads_them() {
        let odd =
            json!({"metadata": 1, "spec": {"nodeName": "n", "containers": {}, "volumes": "x"}, "status": []});
        assert_eq!(kept(odd.clone()), odd);
    }
}
