//! The scheduler's deeds as requests to the API server, as kube-scheduler writes them.
//!
//! Nothing is sent here. What the scheduler knows of an object is a part of it, so an update is made on the whole object
//! as the server has it: the difference between what was known and what is wanted is laid upon that.

use serde_json::{Map, Value, json};

use crate::api::objects::{Condition, Pod, PodCondition, PodGroup};
use crate::api::{Kind, NamespacedName, Object, Str, Time, Uid};
use crate::framework::WriteVerb;

/// What is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiRequest {
    /// The HTTP method.
    pub method: &'static str,
    /// The path on the server.
    pub path: String,
    /// The body's type, if there is a body.
    pub content_type: &'static str,
    /// The body.
    pub body: Value,
}

const JSON: &str = "application/json";
const STRATEGIC_MERGE: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";

/// The path of an object, with a subresource unless that is empty.
pub fn path_of(kind: Kind, key: &NamespacedName, subresource: &str) -> String {
    let mut path = collection(kind, &key.namespace);
    path.push('/');
    path.push_str(&key.name);
    if !subresource.is_empty() {
        path.push('/');
        path.push_str(subresource);
    }
    path
}

fn collection(kind: Kind, namespace: &str) -> String {
    let version = kind.api_version();
    let root = if version.contains('/') { "apis" } else { "api" };
    let resource = kind.resource();
    if kind.is_namespaced() {
        format!("/{root}/{version}/namespaces/{namespace}/{resource}")
    } else {
        format!("/{root}/{version}/{resource}")
    }
}

/// The RBAC rule that a request needs, as it stands in a role.
pub fn rule(request: &ApiRequest) -> String {
    let mut parts = request.path.split('/').skip(1);
    let group = match parts.next() {
        Some("apis") => parts.next().unwrap_or_default(),
        _ => "",
    };
    // The version.
    parts.next();
    let mut rest: Vec<&str> = parts.collect();
    if rest.first() == Some(&"namespaces") && rest.len() > 2 {
        rest.drain(..2);
    }
    let resource = match rest.as_slice() {
        [resource, _, subresource] => format!("{resource}/{subresource}"),
        [resource, ..] => (*resource).to_owned(),
        [] => String::new(),
    };
    let verb = match request.method {
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "get",
    };
    format!("{{apiGroups: [{group:?}], resources: [{resource:?}], verbs: [{verb:?}]}}")
}

/// POST of a Binding (`DefaultBinder`).
pub fn bind(pod: &NamespacedName, uid: &Uid, node: &Str) -> ApiRequest {
    ApiRequest {
        method: "POST",
        path: path_of(Kind::Pod, pod, "binding"),
        content_type: JSON,
        body: json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"namespace": &*pod.namespace, "name": &*pod.name, "uid": &**uid},
            "target": {"kind": "Node", "name": &**node},
        }),
    }
}

/// DELETE of a pod that makes room. Its uid is a precondition, so that a new pod of that name is not hit.
pub fn delete_pod(pod: &NamespacedName, uid: &Uid) -> ApiRequest {
    ApiRequest {
        method: "DELETE",
        path: path_of(Kind::Pod, pod, ""),
        content_type: JSON,
        body: json!({"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": &**uid}}),
    }
}

/// How a strategic merge patch says in which order a list ends up; without it new ones come first.
const ORDER: &str = "$setElementOrder/conditions";

/// The conditions that there are, and a new one behind them.
fn order(conditions: &[PodCondition], type_: &str) -> Value {
    let is_new = conditions.iter().all(|condition| condition.type_ != type_);
    let types = conditions.iter().map(|condition| condition.type_.as_str()).chain(is_new.then_some(type_));
    types.map(|type_| json!({"type": type_})).collect()
}

/// PATCH of a pod's status: a condition, if there is one, and the nominated node, if that changes
/// (`podutil.UpdatePodCondition`). Absent if nothing changes.
pub fn patch_pod_status(
    pod: &NamespacedName,
    base: &Pod,
    condition: Option<&PodCondition>,
    nominated_node_name: Option<&Str>,
    now: Time,
) -> Option<ApiRequest> {
    let mut status = Map::new();
    if let Some(condition) = condition {
        let old = base.status.conditions.iter().find(|old| old.type_ == condition.type_);
        let mut condition = condition.clone();
        condition.last_transition_time = match old {
            Some(old) if old.status == condition.status => old.last_transition_time,
            _ => Some(now),
        };
        if old != Some(&condition) {
            let mut value = serde_json::to_value(&condition).unwrap_or_default();
            if let Value::Object(fields) = &mut value {
                // What is not set any more must not stay.
                for field in ["reason", "message"] {
                    fields.entry(field).or_insert(Value::Null);
                }
            }
            status.insert(ORDER.to_owned(), order(&base.status.conditions, &condition.type_));
            status.insert("conditions".to_owned(), Value::Array(vec![value]));
        }
    }
    if let Some(node) = nominated_node_name.filter(|node| **node != base.status.nominated_node_name) {
        let value = if node.is_empty() { Value::Null } else { Value::from(&**node) };
        status.insert("nominatedNodeName".to_owned(), value);
    }
    (!status.is_empty()).then(|| ApiRequest {
        method: "PATCH",
        path: path_of(Kind::Pod, pod, "status"),
        content_type: STRATEGIC_MERGE,
        body: json!({"status": status}),
    })
}

/// PATCH of a pod group's status: a condition.
pub fn patch_pod_group_status(
    group: &NamespacedName,
    base: &PodGroup,
    condition: &Condition,
    now: Time,
) -> ApiRequest {
    let old = base.status.conditions.iter().find(|old| old.type_ == condition.type_);
    let mut condition = condition.clone();
    condition.last_transition_time = match old {
        Some(old) if old.status == condition.status => old.last_transition_time,
        _ => Some(now),
    };
    ApiRequest {
        method: "PATCH",
        path: path_of(Kind::PodGroup, group, "status"),
        content_type: STRATEGIC_MERGE,
        body: json!({"status": {"conditions": [condition]}}),
    }
}

/// POST of a new object. A name that ends with `-` is a prefix.
pub fn create(object: &Object) -> ApiRequest {
    let kind = object.kind();
    let mut body = whole(object);
    if object.metadata().name.ends_with('-')
        && let Some(Value::Object(metadata)) = body.get_mut("metadata")
        && let Some(name) = metadata.remove("name")
    {
        metadata.insert("generateName".to_owned(), name);
    }
    let namespace = &object.metadata().namespace;
    ApiRequest { method: "POST", path: collection(kind, namespace), content_type: JSON, body }
}

/// DELETE of an object; its uid is a precondition, if it has one.
pub fn delete(object: &Object) -> ApiRequest {
    let uid = &object.metadata().uid;
    let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
    if !uid.is_empty() {
        body["preconditions"] = json!({"uid": &**uid});
    }
    let path = path_of(object.kind(), &object.key(), "");
    ApiRequest { method: "DELETE", path, content_type: JSON, body }
}

/// PATCH of the fields of the status that the object has set.
pub fn patch_status(object: &Object) -> ApiRequest {
    let status = whole(object).get("status").cloned().unwrap_or_default();
    ApiRequest {
        method: "PATCH",
        path: path_of(object.kind(), &object.key(), "status"),
        content_type: MERGE,
        body: json!({"status": status}),
    }
}

/// PUT of an object or its status. `server` is the whole object as the server has it, `known` the part of it that the
/// scheduler reads.
pub fn update(verb: WriteVerb, server: Value, known: &Object, wanted: &Object) -> ApiRequest {
    let subresource = if verb == WriteVerb::UpdateStatus { "status" } else { "" };
    let mut body = server;
    lay_upon(&mut body, &whole(known), &whole(wanted));
    let path = path_of(wanted.kind(), &wanted.key(), subresource);
    ApiRequest { method: "PUT", path, content_type: JSON, body }
}

/// The object with its apiVersion and kind.
fn whole(object: &Object) -> Value {
    let mut fields = object.serialize_fields(serde_json::value::Serializer).unwrap_or_default();
    if let Value::Object(fields) = &mut fields {
        fields.insert("apiVersion".to_owned(), Value::from(object.kind().api_version()));
        fields.insert("kind".to_owned(), Value::from(object.kind().as_str()));
    }
    fields
}

/// Makes the change from `old` to `new` in `target`, which has everything that `old` has and more.
fn lay_upon(target: &mut Value, old: &Value, new: &Value) {
    if old == new {
        return;
    }
    let (Value::Object(target), Value::Object(old), Value::Object(new)) = (&mut *target, old, new) else {
        *target = new.clone();
        return;
    };
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        target.remove(key);
    }
    for (key, value) in new {
        let before = old.get(key).unwrap_or(&Value::Null);
        if before == value {
            continue;
        }
        let entry = target.entry(key.clone()).or_insert(Value::Null);
        lay_upon(entry, before, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::objects::{ObjectReference, PersistentVolume};

    #[test]
    fn paths_are_those_of_the_api() {
        let key = NamespacedName::new("ns", "p");
        assert_eq!(path_of(Kind::Pod, &key, "binding"), "/api/v1/namespaces/ns/pods/p/binding");
        let node = NamespacedName::cluster("n1");
        assert_eq!(path_of(Kind::Node, &node, ""), "/api/v1/nodes/n1");
        let claim = path_of(Kind::ResourceClaim, &key, "status");
        assert_eq!(claim, "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/p/status");
    }

    #[test]
    fn the_rule_of_a_request_is_that_of_its_resource_and_verb() {
        let (pod, uid, node) = (NamespacedName::new("namespaces", "p"), Uid::from("u"), Str::from("n"));
        assert_eq!(
            rule(&bind(&pod, &uid, &node)),
            r#"{apiGroups: [""], resources: ["pods/binding"], verbs: ["create"]}"#
        );
        let claim = |verb, subresource| ApiRequest {
            method: verb,
            path: path_of(Kind::ResourceClaim, &pod, subresource),
            content_type: JSON,
            body: Value::Null,
        };
        assert_eq!(
            rule(&claim("PUT", "status")),
            r#"{apiGroups: ["resource.k8s.io"], resources: ["resourceclaims/status"], verbs: ["update"]}"#
        );
        let volume = ApiRequest {
            path: path_of(Kind::PersistentVolume, &NamespacedName::cluster("v"), ""),
            ..claim("GET", "")
        };
        assert_eq!(rule(&volume), r#"{apiGroups: [""], resources: ["persistentvolumes"], verbs: ["get"]}"#);
    }

    #[test]
    fn an_update_keeps_what_the_scheduler_does_not_read() {
        let server = json!({
            "apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": "v", "managedFields": [{"manager": "x"}], "annotations": {"a": "b"}},
            "spec": {"capacity": {"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Retain"},
        });
        let known =
            Object::deserialize_kind(Kind::PersistentVolume, server.clone()).unwrap_or_else(|error| {
                unreachable!("{error}");
            });
        let Object::PersistentVolume(volume) = &known else { unreachable!() };
        let mut wanted = PersistentVolume::clone(volume);
        wanted.spec.claim_ref =
            Some(ObjectReference { name: "c".into(), namespace: "ns".into(), ..ObjectReference::default() });
        let request = update(WriteVerb::Update, server, &known, &wanted.into());
        assert_eq!(request.body["spec"]["persistentVolumeReclaimPolicy"], "Retain");
        assert_eq!(request.body["metadata"]["managedFields"][0]["manager"], "x");
        assert_eq!(request.body["metadata"]["annotations"]["a"], "b");
        assert_eq!(request.body["spec"]["claimRef"]["name"], "c");
        assert_eq!(request.path, "/api/v1/persistentvolumes/v");
    }

    #[test]
    fn a_status_patch_that_changes_nothing_is_none() {
        let condition = PodCondition {
            type_: "PodScheduled".into(),
            status: "False".into(),
            reason: "Unschedulable".into(),
            ..PodCondition::default()
        };
        let mut pod = Pod::default();
        let key = NamespacedName::new("ns", "p");
        let now = Time::from_secs(10);
        let first = patch_pod_status(&key, &pod, Some(&condition), None, now);
        let text = first.map(|request| request.body["status"]["conditions"][0]["type"].clone());
        assert_eq!(text, Some(Value::from("PodScheduled")));
        pod.status.conditions.push(PodCondition { last_transition_time: Some(now), ..condition.clone() });
        assert_eq!(patch_pod_status(&key, &pod, Some(&condition), Some(&Str::from("")), now), None);
        let nominated = patch_pod_status(&key, &pod, None, Some(&Str::from("n1")), now);
        assert_eq!(
            nominated.map(|request| request.body),
            Some(json!({"status": {"nominatedNodeName": "n1"}}))
        );
    }
}
