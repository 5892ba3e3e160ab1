//! Whole objects in a sandbox.

use serde_json::json;

use super::*;
use crate::driver::sandbox::api::WatchEvent;

const NOW: Time = Time::from_secs(1_000_000);

fn id(group: &str, plural: &str) -> ResourceId {
    ResourceId::of(group, plural).unwrap()
}

fn pods() -> ResourceId {
    id("", "pods")
}

fn web() -> Value {
    json!({
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"hostname": "h", "containers": [{
            "name": "c", "image": "i", "env": [{"name": "E", "value": "1"}],
            "resources": {"limits": {"cpu": "1"}},
        }]},
    })
}

#[test]
fn a_pod_keeps_what_the_scheduler_does_not_read_and_gets_what_the_server_gives_it() {
    let mut api = SandboxApi::default();
    let made = api.create_document(pods(), web(), NOW).unwrap();
    assert_eq!(made["spec"]["hostname"], "h");
    assert_eq!(made["spec"]["containers"][0]["env"][0]["value"], "1");
    assert_eq!(made["spec"]["containers"][0]["resources"]["requests"]["cpu"], "1", "limits are requests");
    assert_eq!(made["status"]["phase"], "Pending");
    assert_eq!(made["metadata"]["uid"], "pod/default/web");
    assert_eq!(made["metadata"]["generation"], 1);
    let again = api.create_document(pods(), web(), NOW).unwrap_err();
    assert_eq!(again.to_string(), "pods \"web\" already exists");
    let key = NamespacedName::new("default", "web");
    api.bind(&key, &"pod/default/web".into(), &"n".into(), NOW).unwrap();
    let bound = api.document(pods(), &key).unwrap();
    assert_eq!(bound["spec"]["nodeName"], "n");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    assert_eq!(bound["spec"]["containers"][0]["env"][0]["value"], "1");
    assert_ne!(bound["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
}

#[test]
fn a_stale_write_is_refused_and_a_write_of_the_status_changes_nothing_else() {
    let mut api = SandboxApi::default();
    let made = api.create_document(pods(), web(), NOW).unwrap();
    let mut labelled = Value::clone(&made);
    labelled["metadata"]["labels"]["tier"] = "x".into();
    labelled["status"]["phase"] = "Running".into();
    let changed = api.update_document(pods(), labelled, Part::Main, NOW).unwrap();
    assert_eq!(changed["metadata"]["labels"]["tier"], "x");
    assert_eq!(changed["status"]["phase"], "Pending");
    let error = api.update_document(pods(), Value::clone(&made), Part::Main, NOW).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Operation cannot be fulfilled on pods \"web\": the object has been modified; please apply your changes to \
         the latest version and try again"
    );
    let status = json!({
        "metadata": {"name": "web", "labels": {}},
        "spec": {},
        "status": {"phase": "Running", "podIP": "10.0.0.1"},
    });
    let changed = api.update_document(pods(), status, Part::Status, NOW).unwrap();
    assert_eq!(changed["status"]["podIP"], "10.0.0.1");
    assert_eq!(changed["status"]["phase"], "Running");
    assert_eq!(changed["metadata"]["labels"]["tier"], "x");
    assert_eq!(api.objects().pods.values().next().unwrap().status.phase, "Running");
}

#[test]
fn a_kind_that_the_scheduler_does_not_read_is_kept_whole_and_told_of() {
    let mut api = SandboxApi::default();
    let deployments = id("apps", "deployments");
    let deployment = json!({"metadata": {"name": "d", "namespace": "shop"}, "spec": {"replicas": 2}});
    let made = api.create_document(deployments, deployment, NOW).unwrap();
    assert_eq!(made["metadata"]["generation"], 1);
    assert_eq!(made["apiVersion"], "apps/v1");
    let mut more = Value::clone(&made);
    more["spec"]["replicas"] = 3.into();
    let changed = api.update_document(deployments, more.clone(), Part::Main, NOW).unwrap();
    assert_eq!(changed["metadata"]["generation"], 2);
    assert!(api.update_document(deployments, more, Part::Main, NOW).is_err(), "its version is stale");
    let mut status = json!({"metadata": {"name": "d", "namespace": "shop"}});
    status["status"] = json!({"replicas": 3});
    let changed = api.update_document(deployments, status, Part::Status, NOW).unwrap();
    assert_eq!((&changed["metadata"]["generation"], &changed["spec"]["replicas"]), (&2.into(), &3.into()));
    let key = NamespacedName::new("shop", "d");
    api.delete_document(deployments, &key, None, NOW).unwrap();
    assert!(api.document(deployments, &key).is_none());
    let told: Vec<(bool, bool)> = api
        .take_document_changes()
        .iter()
        .map(|change| (change.old.is_some(), change.new.is_some()))
        .collect();
    assert_eq!(told, [(false, true), (true, true), (true, true), (true, false)]);
    assert!(api.take_events().is_empty());
}

#[test]
fn an_object_with_a_finalizer_goes_when_that_is_gone() {
    let mut api = SandboxApi::default();
    let maps = id("", "configmaps");
    let held = json!({"metadata": {"name": "m", "finalizers": ["a/b"]}});
    api.create_document(maps, held, NOW).unwrap();
    let key = NamespacedName::new("default", "m");
    api.delete_document(maps, &key, None, NOW).unwrap();
    let mut held = Value::clone(&api.document(maps, &key).unwrap());
    assert!(held["metadata"]["deletionTimestamp"].is_string());
    held["metadata"]["finalizers"] = json!([]);
    api.update_document(maps, held, Part::Main, NOW).unwrap();
    assert!(api.document(maps, &key).is_none());
}

#[test]
fn an_object_without_a_document_is_told_as_the_scheduler_has_it() {
    let mut api = SandboxApi::default();
    api.apply_text("test", "{apiVersion: v1, kind: Node, metadata: {name: n1}}", NOW).unwrap();
    let nodes = id("", "nodes");
    let node = api.document(nodes, &NamespacedName::cluster("n1")).unwrap();
    assert_eq!((&node["kind"], &node["metadata"]["name"]), (&"Node".into(), &"n1".into()));
    let mut tainted = Value::clone(&node);
    tainted["spec"] = json!({"podCIDR": "10.0.0.0/24", "taints": [{"key": "a", "effect": "NoSchedule"}]});
    api.update_document(nodes, tainted, Part::Main, NOW).unwrap();
    api.taint(&"n1".into(), "a-").unwrap();
    let node = api.document(nodes, &NamespacedName::cluster("n1")).unwrap();
    assert_eq!(node["spec"], json!({"podCIDR": "10.0.0.0/24"}));
}

#[test]
fn a_deletion_without_grace_is_done_at_once() {
    let mut api = SandboxApi::default();
    let mut bound = web();
    bound["spec"]["nodeName"] = "n".into();
    api.create_document(pods(), bound, NOW).unwrap();
    let key = NamespacedName::new("default", "web");
    api.delete_document(pods(), &key, None, NOW).unwrap();
    assert!(api.document(pods(), &key).unwrap()["metadata"]["deletionTimestamp"].is_string());
    api.take_events();
    api.delete_document(pods(), &key, Some(0), NOW).unwrap();
    assert!(matches!(api.take_events().as_slice(), [WatchEvent::Deleted(_)]));
    assert!(api.document(pods(), &key).is_none());
    assert_eq!(api.next_timeout(), None);
}

#[test]
fn what_cannot_be_is_refused() {
    let mut api = SandboxApi::default();
    let mut said = |id: ResourceId, document: Value| {
        api.create_document(id, document, NOW).map(drop).unwrap_err().to_string()
    };
    assert!(said(pods(), json!([])).contains("is an object"));
    assert!(said(pods(), json!({"metadata": 1})).contains("metadata is no object"));
    assert!(said(pods(), json!({"metadata": {"name": "A"}})).contains("RFC 1123"));
    assert!(
        said(pods(), json!({"metadata": {"name": "a"}, "spec": {"nodeName": 7}}))
            .contains("cannot be handled")
    );
    assert!(said(id("", "configmaps"), json!({})).contains("name or generateName is required"));
}
