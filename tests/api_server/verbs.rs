//! Every verb, with the kube crate.

use std::os::unix::fs::PermissionsExt as _;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Node, Pod};
use kube::api::{
    Api, DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams, PropagationPolicy,
};
use kube::discovery::{Discovery, Scope};
use serde_json::{Value, json};

use super::harness::{CLUSTER, Served, pod};

const JSON: &str = "application/json";

fn refusal(error: kube::Error) -> (u16, String, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.reason.clone(), status.message.clone()),
        other => panic!("{other}"),
    }
}

#[test]
fn discovery_finds_every_group_in_both_forms() {
    let served = Served::start(CLUSTER, &[]);
    served.runtime.block_on(async {
        for discovery in [
            Discovery::new(served.client.clone()).run().await.unwrap(),
            Discovery::new(served.client.clone()).run_aggregated().await.unwrap(),
        ] {
            let find = |group: &str, version: &str, kind: &str| {
                let gvk = kube::core::GroupVersionKind::gvk(group, version, kind);
                discovery.resolve_gvk(&gvk).unwrap_or_else(|| panic!("{kind} is not found"))
            };
            let (pods, capabilities) = find("", "v1", "Pod");
            assert_eq!((pods.plural.as_str(), capabilities.scope), ("pods", Scope::Namespaced));
            assert!(
                capabilities
                    .subresources
                    .iter()
                    .any(|(part, _)| part.plural == "pods/eviction" || part.plural == "eviction")
            );
            find("apps", "v1", "Deployment");
            find("policy", "v1", "PodDisruptionBudget");
            find("storage.k8s.io", "v1", "CSINode");
        }
        let version = served.client.apiserver_version().await.unwrap();
        assert!(version.git_version.starts_with("v1.36"), "{}", version.git_version);
    });
}

#[test]
fn objects_are_made_read_changed_and_deleted() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client.clone(), "shop");
    served.runtime.block_on(async {
        let map = |name: &str, value: &str| -> ConfigMap {
            serde_json::from_value(json!({"metadata": {"name": name}, "data": {"a": value}})).unwrap()
        };
        let params = PostParams::default();
        let made = maps.create(&params, &map("m", "1")).await.unwrap();
        assert!(made.metadata.uid.is_some() && made.metadata.creation_timestamp.is_some());
        let (code, reason, message) = refusal(maps.create(&params, &map("m", "1")).await.unwrap_err());
        assert_eq!((code, reason.as_str()), (409, "AlreadyExists"));
        assert_eq!(message, "configmaps \"m\" already exists");
        let mut changed = made.clone();
        changed.data.as_mut().unwrap().insert("b".to_owned(), "2".to_owned());
        let changed = maps.replace("m", &params, &changed).await.unwrap();
        assert_ne!(changed.metadata.resource_version, made.metadata.resource_version);
        let (code, reason, _) = refusal(maps.replace("m", &params, &made).await.unwrap_err());
        assert_eq!((code, reason.as_str()), (409, "Conflict"));
        assert_eq!(maps.get("m").await.unwrap(), changed);
        maps.delete("m", &DeleteParams::default()).await.unwrap();
        let (code, reason, message) = refusal(maps.get("m").await.unwrap_err());
        assert_eq!(
            (code, reason.as_str(), message.as_str()),
            (404, "NotFound", "configmaps \"m\" not found")
        );
        assert!(maps.get_opt("m").await.unwrap().is_none());
    });
    let generated = json!({"metadata": {"generateName": "g-"}});
    let names: Vec<String> = (0..20)
        .map(|_| served.create("/api/v1/namespaces/shop/configmaps", &generated))
        .map(|made| made["metadata"]["name"].as_str().unwrap().to_owned())
        .collect();
    let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(distinct.len(), 20);
    assert!(names.iter().all(|name| name.len() == 7 && name.starts_with("g-")));
    let (code, _) = served.call("DELETE", "/api/v1/namespaces/shop/configmaps", JSON, &Value::Null);
    assert_eq!(code, 200);
    assert_eq!(served.get("/api/v1/namespaces/shop/configmaps").1["items"], json!([]));
}

#[test]
fn what_cannot_be_is_refused_as_by_the_real_server() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let pods = "/api/v1/namespaces/shop/pods";
    let refused = |method: &str, path: &str, content_type: &str, body: &Value| {
        let (code, status) = served.call(method, path, content_type, body);
        assert_eq!((status["kind"].as_str(), status["status"].as_str()), (Some("Status"), Some("Failure")));
        (
            code,
            status["reason"].as_str().unwrap_or_default().to_owned(),
            status["message"].as_str().unwrap().to_owned(),
        )
    };
    let invalid = json!({"metadata": {"name": "a"}, "spec": {}});
    assert_eq!(
        refused("POST", pods, JSON, &invalid),
        (422, "Invalid".to_owned(), "Pod \"a\" is invalid: spec.containers: Required value".to_owned())
    );
    let lost = "/api/v1/namespaces/lost/pods";
    assert_eq!(refused("POST", lost, JSON, &pod("a", "1")).2, "namespaces \"lost\" not found");
    let mut classy = pod("a", "1");
    classy["spec"]["priorityClassName"] = "lost".into();
    let (code, reason, message) = refused("POST", pods, JSON, &classy);
    assert_eq!((code, reason.as_str()), (403, "Forbidden"));
    assert_eq!(message, "pods \"a\" is forbidden: no PriorityClass with name lost was found");
    let kind = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}});
    assert_eq!(refused("POST", pods, JSON, &kind).0, 400);
    assert_eq!(refused("POST", pods, "text/plain", &pod("a", "1")).0, 415);
    assert_eq!(refused("GET", "/apis/example.com/v1/widgets", JSON, &Value::Null).0, 404);
    assert_eq!(refused("PUT", pods, JSON, &pod("a", "1")).0, 405);
    served.create_pod("a", "1");
    let (code, _, message) = refused("GET", "/api/v1/namespaces/shop/pods/a/log", JSON, &Value::Null);
    assert_eq!((code, message.contains("no container runs in a sandbox")), (400, true));
    let (code, status) = served.get(&format!("{pods}?fieldSelector=spec.color%3Dred"));
    assert_eq!((code, status["message"].as_str()), (400, Some("field label not supported: spec.color")));
    let moved = json!({"spec": {"nodeName": "node-1"}});
    let (code, reason, message) =
        refused("PATCH", &format!("{pods}/a"), "application/merge-patch+json", &moved);
    assert_eq!((code, reason.as_str()), (422, "Invalid"));
    assert!(message.contains("pod updates may not change fields other than"), "{message}");
}

#[test]
fn nobody_writes_without_the_token_and_the_file_is_its_owners() {
    let served = Served::start(CLUSTER, &[]);
    let mode = std::fs::metadata(served.kubeconfig()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = std::fs::read_to_string(served.kubeconfig()).unwrap();
    let config: Value = serde_json::from_str(&text).unwrap();
    let token = config["users"][0]["user"]["token"].as_str().unwrap();
    for (wrong, code) in [
        (String::new(), 401),
        (token.replace(|c: char| c.is_ascii_digit(), "0"), 401),
        (token.to_owned(), 200),
    ] {
        let mut kubeconfig = config.clone();
        kubeconfig["users"][0]["user"]["token"] = wrong.into();
        let kubeconfig: kube::config::Kubeconfig = serde_json::from_value(kubeconfig).unwrap();
        let found = served.runtime.block_on(async {
            let options = kube::config::KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            let client = kube::Client::try_from(config).unwrap();
            let request = http::Request::get("/api/v1/pods").body(kube::client::Body::empty()).unwrap();
            client.send(request).await.unwrap().status().as_u16()
        });
        assert_eq!(found, code);
    }
    let elsewhere = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["sandbox", "--no-console", "--serve-api", "0.0.0.0:0"])
        .output()
        .unwrap();
    assert_eq!(elsewhere.status.code(), Some(2));
    let said = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert!(said.contains("is no loopback address"), "{said}");
    let other = served.file("other", "clusters: []");
    let refused = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["sandbox", "--no-console", "--serve-api", "--kubeconfig-out"])
        .arg(&other)
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(other).unwrap(), "clusters: []", "a file of somebody else stays");
}

#[test]
fn lists_are_selected_and_read_in_parts() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    for n in 0..5 {
        served.create_pod(&format!("p{n}"), "1");
    }
    let bind = json!({"target": {"kind": "Node", "name": "node-1"}});
    let (code, status) = served.call("POST", "/api/v1/namespaces/shop/pods/p3/binding", JSON, &bind);
    assert_eq!((code, status["status"].as_str()), (201, Some("Success")));
    let pods: Api<Pod> = Api::all(served.client.clone());
    let names = |params: ListParams| -> Vec<String> {
        let list = served.runtime.block_on(pods.list(&params)).unwrap();
        list.items.into_iter().filter_map(|pod| pod.metadata.name).collect()
    };
    assert_eq!(names(ListParams::default().fields("spec.nodeName=node-1")), ["p3"]);
    assert_eq!(names(ListParams::default().fields("metadata.name=p1")), ["p1"]);
    assert_eq!(names(ListParams::default().labels("app in (web),!x").fields("spec.nodeName=")).len(), 4);
    assert!(names(ListParams::default().labels("app=db")).is_empty());
    let mut seen = Vec::new();
    let mut params = ListParams::default().limit(2);
    loop {
        let list = served.runtime.block_on(pods.list(&params)).unwrap();
        assert!(list.items.len() <= 2);
        seen.extend(list.items.into_iter().filter_map(|pod| pod.metadata.name));
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = ListParams::default().limit(2).continue_token(&token),
            None => break,
        }
    }
    assert_eq!(seen, ["p0", "p1", "p2", "p3", "p4"]);
    let metadata = served.runtime.block_on(pods.list_metadata(&ListParams::default())).unwrap();
    assert_eq!(metadata.items.len(), 5);
}

#[test]
fn patches_of_every_kind_are_applied() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    served.create_pod("a", "1");
    let pods: Api<Pod> = Api::namespaced(served.client.clone(), "shop");
    let nodes: Api<Node> = Api::all(served.client.clone());
    let params = PatchParams::default();
    served.runtime.block_on(async {
        let image = json!({"spec": {"containers": [{"name": "c", "image": "i:2"}]}});
        let pod = pods.patch("a", &params, &Patch::Strategic(image)).await.unwrap();
        let container = &pod.spec.as_ref().unwrap().containers[0];
        assert_eq!(container.image.as_deref(), Some("i:2"));
        assert_eq!(container.env.as_ref().unwrap().len(), 1, "what the scheduler does not read stays");
        let label = json!({"metadata": {"labels": {"tier": "x", "app": null}}});
        let pod = pods.patch("a", &params, &Patch::Merge(label)).await.unwrap();
        assert_eq!(pod.metadata.labels.unwrap().keys().collect::<Vec<_>>(), ["tier"]);
        let operations = serde_json::from_value(json!([
            {"op": "add", "path": "/metadata/annotations", "value": {"k": "v"}},
        ]))
        .unwrap();
        let pod = pods.patch("a", &params, &Patch::Json::<()>(operations)).await.unwrap();
        assert_eq!(pod.metadata.annotations.unwrap()["k"], "v");
        let conditions = json!({"status": {"conditions": [{"type": "Mine", "status": "True"}]}});
        let pod = pods.patch_status("a", &params, &Patch::Strategic(conditions)).await.unwrap();
        let types: Vec<String> =
            pod.status.unwrap().conditions.unwrap().into_iter().map(|condition| condition.type_).collect();
        assert!(types.contains(&"Mine".to_owned()), "{types:?}");
        let taint =
            json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}], "unschedulable": true}});
        let node = nodes.patch("node-1", &params, &Patch::Strategic(taint)).await.unwrap();
        assert_eq!(node.spec.unwrap().taints.unwrap().len(), 1);
        let applied = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "shop"},
            "data": {"a": "1"},
        });
        let maps: Api<ConfigMap> = Api::namespaced(served.client.clone(), "shop");
        let map = maps.patch("m", &PatchParams::apply("test"), &Patch::Apply(applied)).await.unwrap();
        assert_eq!(map.data.unwrap()["a"], "1");
        let lost = pods.patch("lost", &params, &Patch::Merge(json!({}))).await.unwrap_err();
        assert_eq!(refusal(lost).0, 404);
    });
}

#[test]
fn pods_are_scheduled_and_evicted_and_budgets_are_kept() {
    let served = Served::start(CLUSTER, &["--speed", "10"]);
    served.create_pod("a", "1");
    served.create_pod("b", "1");
    served.until_bound("a");
    served.until_bound("b");
    let budget = json!({
        "metadata": {"name": "web"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
    });
    served.create("/apis/policy/v1/namespaces/shop/poddisruptionbudgets", &budget);
    let pods: Api<Pod> = Api::namespaced(served.client.clone(), "shop");
    let evict = || served.runtime.block_on(pods.evict("a", &EvictParams::default()));
    let (code, reason, message) = refusal(evict().unwrap_err());
    assert_eq!((code, reason.as_str()), (429, "TooManyRequests"));
    assert_eq!(message, "Cannot evict pod as it would violate the pod's disruption budget.");
    served.call("DELETE", "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web", JSON, &Value::Null);
    evict().unwrap();
    served.until("its end", || served.get("/api/v1/namespaces/shop/pods/a").0 == 404);
    // Nothing is left of a pod that may take no time.
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    served.runtime.block_on(pods.delete("b", &now)).unwrap();
    assert_eq!(served.get("/api/v1/namespaces/shop/pods/b").0, 404);
}

#[test]
fn a_namespace_goes_with_what_is_in_it() {
    let served = Served::start(CLUSTER, &["--speed", "5"]);
    served.create_pod("a", "1");
    served.until_bound("a");
    let (code, namespace) = served.call("DELETE", "/api/v1/namespaces/shop", JSON, &Value::Null);
    assert_eq!((code, namespace["status"]["phase"].as_str()), (200, Some("Terminating")));
    assert_eq!(served.call("POST", "/api/v1/namespaces/shop/pods", JSON, &pod("b", "1")).0, 403);
    served.until("its end", || served.get("/api/v1/namespaces/shop").0 == 404);
    assert_eq!(served.get("/api/v1/namespaces/default").1["metadata"]["name"], "default");
}

#[test]
fn a_deployment_is_scaled_and_what_it_owns_goes_with_it() {
    let served = Served::start(CLUSTER, &["--no-scheduler", "--no-controllers"]);
    let deployments: Api<Deployment> = Api::namespaced(served.client.clone(), "shop");
    let template =
        json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template},
    }))
    .unwrap();
    served.runtime.block_on(async {
        let made = deployments.create(&PostParams::default(), &deployment).await.unwrap();
        assert_eq!(made.spec.unwrap().replicas, Some(1), "the default");
        let scale = deployments.get_scale("d").await.unwrap();
        assert_eq!(scale.spec.unwrap().replicas, Some(1));
        let params = PatchParams::default();
        let patch = Patch::Merge(json!({"spec": {"replicas": 3}}));
        let scale = deployments.patch_scale("d", &params, &patch).await.unwrap();
        assert_eq!(scale.spec.unwrap().replicas, Some(3));
        let deployment = deployments.get("d").await.unwrap();
        assert_eq!((deployment.spec.unwrap().replicas, deployment.metadata.generation), (Some(3), Some(2)));
        let mut owned = pod("owned", "1");
        owned["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": deployment.metadata.uid}]);
        let pods: Api<Pod> = Api::namespaced(served.client.clone(), "shop");
        pods.create(&PostParams::default(), &serde_json::from_value(owned).unwrap()).await.unwrap();
        let background =
            DeleteParams { propagation_policy: Some(PropagationPolicy::Background), ..DeleteParams::default() };
        deployments.delete("d", &background).await.unwrap();
        assert!(pods.get_opt("owned").await.unwrap().is_none());
    });
}

#[test]
fn a_dry_run_changes_nothing() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    let path = "/api/v1/namespaces/shop/pods";
    let (code, made) = served.call("POST", &format!("{path}?dryRun=All"), JSON, &pod("a", "1"));
    assert_eq!((code, made["spec"]["schedulerName"].as_str()), (201, Some("default-scheduler")));
    assert_eq!(served.get(&format!("{path}/a")).0, 404);
    served.create_pod("a", "1");
    assert_eq!(served.call("DELETE", &format!("{path}/a?dryRun=All"), JSON, &Value::Null).0, 200);
    assert_eq!(served.get(&format!("{path}/a")).0, 200);
}

#[test]
fn tables_have_the_columns_of_kubectl() {
    let served = Served::start(CLUSTER, &["--no-scheduler"]);
    served.create_pod("a", "1");
    let accept = [("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json")];
    let table =
        |path: &str| -> Value { serde_json::from_str(&served.send("GET", path, &accept, b"").1).unwrap() };
    let pods = table("/api/v1/namespaces/shop/pods");
    assert_eq!(pods["kind"], "Table");
    let titles = |table: &Value, wide: bool| -> Vec<String> {
        let columns = table["columnDefinitions"].as_array().unwrap().iter();
        let columns = columns.filter(|column| wide || column["priority"] == 0);
        columns.map(|column| column["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(titles(&pods, false), ["Name", "Ready", "Status", "Restarts", "Age"]);
    assert_eq!(pods["rows"][0]["cells"][0], "a");
    assert_eq!(pods["rows"][0]["cells"][2], "Pending");
    assert_eq!(pods["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let nodes = table("/api/v1/nodes?includeObject=None");
    assert_eq!(titles(&nodes, false), ["Name", "Status", "Roles", "Age", "Version"]);
    assert_eq!(nodes["rows"][1]["cells"][1], "Ready");
    assert!(nodes["rows"][0].get("object").is_none());
    let one = table("/api/v1/namespaces/shop/pods/a");
    assert_eq!(one["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn a_deployment_lives_and_its_pods_come_and_go() {
    let served = Served::start(CLUSTER, &["--speed", "20"]);
    let path = "/apis/apps/v1/namespaces/shop/deployments";
    let deployment = json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {
                "terminationGracePeriodSeconds": 1, "containers": [{"name": "c", "image": "i", "env": [{"name": "A"}]}],
            }},
        },
    });
    served.create(path, &deployment);
    let ready = |n: i64| {
        served.until("ready pods", || {
            let status = &served.get(&format!("{path}/web")).1["status"];
            (status["readyReplicas"].as_i64(), status["replicas"].as_i64()) == (Some(n), Some(n))
        });
        let (_, pods) = served.get("/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb");
        let pods = pods["items"].as_array().unwrap().clone();
        pods.iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).count()
    };
    assert_eq!(ready(2), 2);
    let (_, sets) = served.get("/apis/apps/v1/namespaces/shop/replicasets");
    assert_eq!(sets["items"][0]["spec"]["replicas"], 2);
    assert_eq!(sets["items"][0]["metadata"]["ownerReferences"][0]["name"], "web");
    let scale = json!({"spec": {"replicas": 3}});
    let (code, _) =
        served.call("PATCH", &format!("{path}/web/scale"), "application/merge-patch+json", &scale);
    assert_eq!((code, ready(3)), (200, 3));
    let (_, kept) = served.get(&format!("{path}/web"));
    assert_eq!(kept["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "A");
    let wrong =
        json!({"metadata": {"name": "x"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {}}});
    assert_eq!(served.call("POST", path, JSON, &wrong).0, 422);
    assert_eq!(served.call("DELETE", &format!("{path}/web"), JSON, &Value::Null).0, 200);
    served.until("their end", || {
        served.get("/api/v1/namespaces/shop/pods").1["items"].as_array().unwrap().is_empty()
    });
    assert_eq!(served.get("/apis/apps/v1/namespaces/shop/replicasets").1["items"], json!([]));
}
