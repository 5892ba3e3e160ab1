//! Watching a cluster whose own scheduler decides.

use std::time::Duration;

use serde_json::json;

use super::harness::{ControlPlane, Live, Options, is_skipped};

#[test]
fn decisions_about_300_mixed_pods_are_the_same_or_explained_and_nothing_is_written() {
    if is_skipped() {
        return;
    }
    let options = Options {
        has_scheduler: true,
        has_audit: true,
        tokens: "watcher,watcher,watcher,\"system:masters\"\n",
        ..Options::default()
    };
    let cluster = ControlPlane::start(options);
    for i in 0..12 {
        cluster.create_node(&format!("n{i}"), &format!("z{}", i % 3));
    }
    let live = Live::start(&cluster.kubeconfig_of("watcher"), &[]);
    for i in 0..300 {
        let more = match i % 6 {
            0 => json!({"nodeSelector": {"topology.kubernetes.io/zone": format!("z{}", i % 3)}}),
            1 => json!({"topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "p"}},
            }]}),
            2 => {
                json!({"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
                    "weight": 10,
                    "podAffinityTerm": {
                        "topologyKey": "kubernetes.io/hostname",
                        "labelSelector": {"matchLabels": {"app": "p"}},
                    },
                }]}}})
            }
            3 => json!({"nodeSelector": {"disk": "none"}}),
            _ => json!({}),
        };
        cluster.create_pod_with(
            &format!("p-{i}"),
            "default-scheduler",
            &format!("{}m", 20 + i % 7 * 10),
            more,
        );
    }
    let comparisons = live.comparisons(300, Duration::from_secs(120));
    assert_eq!(comparisons.len(), 300, "a comparison for each pod");
    let different: Vec<_> = comparisons.iter().filter(|line| line["agreement"] == "different").collect();
    assert!(different.is_empty(), "{different:#?}");
    let mut counts = std::collections::BTreeMap::new();
    for line in &comparisons {
        *counts.entry(line["agreement"].as_str().unwrap().to_owned()).or_insert(0) += 1;
    }
    eprintln!("agreement: {counts:?}");
    assert_eq!(live.end(), Some(0));
    let writes: Vec<_> = cluster
        .audit()
        .into_iter()
        .filter(|line| line["user"]["username"] == "watcher")
        .filter(|line| !["get", "list", "watch"].contains(&line["verb"].as_str().unwrap()))
        .collect();
    assert!(writes.is_empty(), "{writes:#?}");
}

#[test]
fn a_kind_that_is_forbidden_is_named_and_the_rest_goes_on() {
    if is_skipped() {
        return;
    }
    let options = Options { tokens: "nodesonly,nodesonly,nodesonly,\"\"\n", ..Options::default() };
    let cluster = ControlPlane::start(options);
    cluster.create(
        "clusterroles",
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "nodesonly"},
            "rules": [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]}],
        }),
    );
    cluster.create(
        "clusterrolebindings",
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "nodesonly"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "nodesonly"},
            "subjects": [{"kind": "User", "name": "nodesonly"}],
        }),
    );
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["live", "-o", "json", "--kubeconfig"])
        .arg(cluster.kubeconfig_of("nodesonly"))
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut stdout = std::io::BufReader::new(child.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut stdout, &mut line).unwrap();
    child.kill().unwrap();
    let _ = child.wait();
    let first: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(first["informers"]["nodes"], "synced");
    assert_eq!(first["informers"]["persistentvolumes"], "forbidden");
}
