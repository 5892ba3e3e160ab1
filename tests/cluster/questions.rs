//! Questions about a cluster that is read once: what would be, and how configurations compare. It does not notice.

use std::process::{Command, Output};

use serde_json::{Value, json};

use super::harness::{ControlPlane, Options, is_skipped};

const TOKENS: &str = "asks,asker,asker,\"system:masters\"\n";

const PACKING: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
";

fn ask(cluster: &ControlPlane, args: &[&str]) -> (Output, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(args)
        .args(["--live", "-o", "json", "--kubeconfig"])
        .arg(cluster.kubeconfig_of("asks"))
        .output()
        .unwrap();
    let answer = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, answer)
}

/// A pod of a ReplicaSet that is on a node.
fn create_owned(cluster: &ControlPlane, name: &str, node: &str) {
    cluster.create(
        "pods",
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": name, "namespace": "default", "labels": {"app": "web"},
                "ownerReferences": [{
                    "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": true,
                }],
            },
            "spec": {
                "nodeName": node,
                "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1"}}}],
            },
        }),
    );
}

#[test]
fn a_cluster_is_asked_what_would_be_and_how_configurations_compare() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options { has_audit: true, tokens: TOKENS, ..Options::default() });
    cluster.create_node("a", "z1");
    cluster.create_node("b", "z2");
    for name in ["web-1-x", "web-1-y"] {
        create_owned(&cluster, name, "a");
    }
    cluster.create_pod("waits-1", "default-scheduler", "1");
    let (output, answer) = ask(&cluster, &["whatif", "drain", "a"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(answer["schema"], "schedscope.dev/whatif/v1");
    let moved: Vec<&Value> = answer["moved"].as_array().unwrap().iter().map(|it| &it["after"]).collect();
    assert!(moved.len() >= 2 && moved.iter().all(|node| *node == "b"), "{answer}");
    assert_eq!((&answer["after"]["placed"], &answer["after"]["pending"]), (&json!(3), &json!(0)));
    // Nobody has written its status.
    cluster.create(
        "poddisruptionbudgets",
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
        }),
    );
    let (output, answer) = ask(&cluster, &["whatif", "drain", "a"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let held: Vec<&Value> = answer["held"].as_array().unwrap().iter().map(|it| &it["pod"]).collect();
    assert_eq!(held, ["default/web-1-x", "default/web-1-y"], "{answer}");
    let packing = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(packing.path(), PACKING).unwrap();
    let configs = format!("default,{}", packing.path().display());
    let (output, answer) = ask(&cluster, &["compare", "--configs", &configs, "--reschedule"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let placed: Vec<&Value> =
        answer["configurations"].as_array().unwrap().iter().map(|it| &it["placed"]).collect();
    assert_eq!(placed, [&json!(3), &json!(3)], "{answer}");
    let empty = |at: usize| answer["configurations"][at]["emptyNodes"].as_u64().unwrap();
    assert!(empty(1) >= empty(0), "{answer}");
    let is_write = |line: &Value| !["get", "list", "watch"].contains(&line["verb"].as_str().unwrap());
    let audit = cluster.audit();
    let own = audit.iter().filter(|line| line["user"]["username"] == "asker");
    assert_eq!(own.filter(|line| is_write(line)).count(), 0);
    assert_eq!(cluster.pods().len(), 3);
}
