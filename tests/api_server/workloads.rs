//! Workloads and the objects of manifests as clients see them: what has ended, what is orphaned, what is written.

use serde_json::{Value, json};

use super::harness::{CLUSTER, Served};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const PODS: &str = "/api/v1/namespaces/shop/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/shop/jobs";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/shop/deployments";
const SETS: &str = "/apis/apps/v1/namespaces/shop/replicasets";

fn items(served: &Served, path: &str) -> Vec<Value> {
    served.get(path).1["items"].as_array().cloned().unwrap_or_default()
}

#[test]
fn pods_that_have_ended_are_seen_until_their_job_goes() {
    let served = Served::start(CLUSTER, &["--speed", "20"]);
    let job = json!({
        "metadata": {"name": "sums"},
        "spec": {"completions": 2, "parallelism": 2, "template": {
            "metadata": {"annotations": {"sandbox.schedscope.dev/run-time": "5s"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]},
        }},
    });
    served.create(JOBS, &job);
    let ended = || items(&served, &format!("{PODS}?fieldSelector=status.phase%3DSucceeded"));
    served.until("two pods that have succeeded", || ended().len() == 2);
    let pod = &ended()[0];
    let terminated = &pod["status"]["containerStatuses"][0]["state"]["terminated"];
    assert_eq!(
        (terminated["exitCode"].as_i64(), terminated["reason"].as_str()),
        (Some(0), Some("Completed"))
    );
    assert!(pod["spec"]["nodeName"].is_string());
    // A scheduler that selects as the real one does not see them.
    let selected = "status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed";
    assert_eq!(items(&served, &format!("{PODS}?fieldSelector={selected}")), [] as [Value; 0]);
    let accept = [("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table: Value = serde_json::from_str(&served.send("GET", PODS, &accept, b"").1).unwrap();
    let cells = |row: usize| &table["rows"][row]["cells"];
    assert_eq!((cells(0)[1].as_str(), cells(0)[2].as_str()), (Some("0/1"), Some("Completed")));
    assert_eq!(cells(1)[2], "Completed");
    // One goes when it is deleted, the other with its owner.
    let first = format!("{PODS}/{}", pod["metadata"]["name"].as_str().unwrap());
    assert_eq!(served.call("DELETE", &first, JSON, &Value::Null).0, 200);
    assert_eq!(served.get(&first).0, 404);
    assert_eq!(ended().len(), 1);
    assert_eq!(served.get(&format!("{JOBS}/sums")).1["status"]["succeeded"], 2);
    assert_eq!(served.call("DELETE", &format!("{JOBS}/sums"), JSON, &Value::Null).0, 200);
    served.until("their end", || items(&served, PODS).is_empty());
}

#[test]
fn what_an_orphaning_deletion_leaves_has_no_owner_and_is_kept() {
    let served = Served::start(CLUSTER, &["--speed", "20"]);
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        }},
    });
    served.create(DEPLOYMENTS, &deployment);
    served.until("two pods", || items(&served, PODS).len() == 2);
    let options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"});
    assert_eq!(served.call("DELETE", &format!("{DEPLOYMENTS}/web"), JSON, &options).0, 200);
    assert_eq!(served.get(&format!("{DEPLOYMENTS}/web")).0, 404);
    let sets = items(&served, SETS);
    assert_eq!(sets.len(), 1);
    assert!(sets[0]["metadata"]["ownerReferences"].as_array().is_none_or(Vec::is_empty));
    // The set looks after its pods still.
    let pods = items(&served, PODS);
    assert_eq!(pods.len(), 2);
    assert!(pods.iter().all(|pod| pod["metadata"]["deletionTimestamp"].is_null()));
    let first = format!("{PODS}/{}", pods[0]["metadata"]["name"].as_str().unwrap());
    served.call("DELETE", &format!("{first}?gracePeriodSeconds=0"), JSON, &Value::Null);
    served
        .until("another pod in its place", || served.get(&first).0 == 404 && items(&served, PODS).len() == 2);
}

#[test]
fn a_workload_is_checked_however_it_is_written_and_its_pods_have_all_of_its_template() {
    let served = Served::start(CLUSTER, &["--speed", "20"]);
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i:1", "env": [{"name": "A", "value": "1"}]}]},
        }},
    });
    served.create(DEPLOYMENTS, &deployment);
    served.until("its pod", || items(&served, PODS).len() == 1);
    let env = |object: &Value, pointer: &str| object.pointer(pointer).unwrap()[0]["name"].clone();
    assert_eq!(env(&items(&served, PODS)[0], "/spec/containers/0/env"), "A");
    assert_eq!(env(&items(&served, SETS)[0], "/spec/template/spec/containers/0/env"), "A");
    let (_, before) = served.get(&format!("{DEPLOYMENTS}/web"));
    let other = json!({"spec": {"template": {"metadata": {"labels": {"app": "other"}}}}});
    let (code, status) = served.call("PATCH", &format!("{DEPLOYMENTS}/web"), MERGE, &other);
    assert_eq!((code, status["reason"].as_str()), (422, Some("Invalid")), "{status}");
    assert_eq!(served.get(&format!("{DEPLOYMENTS}/web")).1["spec"], before["spec"]);
}

#[test]
fn objects_of_manifests_are_served_as_they_are_written() {
    let manifest = format!(
        "{CLUSTER}---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: shop, uid: 6f5e}}
data: {{mode: fast}}
---
apiVersion: v1
kind: Pod
metadata: {{name: runs, namespace: shop}}
spec: {{nodeName: node-1, containers: [{{name: c, image: i, env: [{{name: A, value: \"1\"}}]}}]}}
---
apiVersion: v1
kind: Pod
metadata: {{name: done, namespace: shop}}
spec: {{nodeName: node-1, containers: [{{name: c, image: i}}]}}
status: {{phase: Failed}}
"
    );
    let served = Served::start(&manifest, &["--no-scheduler"]);
    let (_, settings) = served.get("/api/v1/namespaces/shop/configmaps/settings");
    assert_eq!(
        (settings["data"]["mode"].as_str(), settings["metadata"]["uid"].as_str()),
        (Some("fast"), Some("6f5e"))
    );
    let (_, runs) = served.get(&format!("{PODS}/runs"));
    assert_eq!(runs["spec"]["containers"][0]["env"][0]["name"], "A");
    assert_eq!(runs["spec"]["nodeName"], "node-1");
    let (_, done) = served.get(&format!("{PODS}/done"));
    assert_eq!(done["status"]["phase"], "Failed");
}

#[test]
fn what_is_invalid_is_told_with_the_object_and_the_field() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}, "template": {
            "metadata": {"labels": {"app": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        }},
    });
    let (code, status) = served.call("POST", DEPLOYMENTS, JSON, &deployment);
    let details = &status["details"];
    assert_eq!((code, details["name"].as_str(), details["group"].as_str()), (422, Some("web"), Some("apps")));
    assert_eq!(details["causes"][0]["field"], "spec.template.metadata.labels");
    assert_eq!(details["causes"][0]["reason"], "FieldValueInvalid");

    let mut pod = super::harness::pod("q", "-2");
    let (code, status) = served.call("POST", PODS, JSON, &pod);
    let said = "Pod \"q\" is invalid: spec.containers[0].resources.requests[cpu]: Invalid value: \"-2\": must be \
                greater than or equal to 0";
    assert_eq!((code, status["message"].as_str()), (422, Some(said)));
    assert_eq!(status["details"]["name"], "q");
    assert_eq!(status["details"]["causes"][0]["field"], "spec.containers[0].resources.requests[cpu]");

    // Where nothing is known of the field, kubectl shows the sentence only if there is nothing else to show.
    pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "1".into();
    served.create(PODS, &pod);
    let patch = json!([{"op": "remove", "path": "/spec/lost"}]);
    let path = format!("{PODS}/q");
    let (code, status) = served.call("PATCH", &path, "application/json-patch+json", &patch);
    assert_eq!((code, &status["details"]), (422, &json!({})));
    assert!(status["message"].as_str().unwrap().contains("/spec/lost"), "{status}");
}

#[test]
fn a_file_is_applied_again_over_the_sandbox_that_was_made_of_it() {
    let own = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "own", "namespace": "shop"},
        "spec": {
            "containers": [{
                "name": "c", "image": "i:1", "ports": [{"containerPort": 80}],
                "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            }],
            "volumes": [{"name": "data", "emptyDir": {}}],
        },
    });
    let served = Served::start(&format!("{CLUSTER}---\n{own}\n"), &[]);
    served.until_bound("own");
    let path = format!("{PODS}/own");
    let (code, pod) = served.call("PATCH", &path, "application/strategic-merge-patch+json", &own);
    assert_eq!(code, 200, "{pod}");
    assert_eq!(pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"], "/data");
}

#[test]
fn a_node_that_a_client_deletes_takes_its_pods_with_it_and_their_controllers_make_new_ones() {
    let served = Served::start(CLUSTER, &["--speed", "50"]);
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": {
            "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]},
        }},
    });
    served.create(DEPLOYMENTS, &deployment);
    let on = |node: &str| items(&served, PODS).iter().filter(|pod| pod["spec"]["nodeName"] == node).count();
    served.until("pods on both nodes", || on("node-1") + on("node-2") == 4);
    assert_eq!(served.call("DELETE", "/api/v1/nodes/node-2", JSON, &Value::Null).0, 200);
    served.until("new pods", || on("node-1") == 4 && on("node-2") == 0);
}

#[test]
fn a_node_that_says_nothing_of_itself_is_shown_as_ready_since_pods_run_there() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    served.create(
        "/api/v1/nodes",
        &json!({"metadata": {"name": "bare"}, "status": {"capacity": {"cpu": "1"}}}),
    );
    let accept = [("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let (_, table) = served.send("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dbare", &accept, b"");
    let table: Value = serde_json::from_str(&table).unwrap();
    assert_eq!(table["rows"][0]["cells"][1], "Ready");
}
