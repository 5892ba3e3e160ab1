//! A dump of a real-looking cluster, in every form in which kubectl writes one.
//!
//! It holds what such dumps hold: managedFields, custom resources, null fields, finished, evicted, terminating and
//! mirror pods, pods of another scheduler. Where the pods go was asked of kube-scheduler v1.36.3.

use serde_json::{Value, json};

use super::{Stage, placements, shop, text};

/// Pod, state, node.
const DECISIONS: [(&str, &str, &str); 9] = [
    ("batch/gang-0", "ignored", ""),
    ("batch/huge-1", "pending", ""),
    ("kube-system/debug-w-3", "pending", ""),
    ("ml/quota-0", "gated", ""),
    ("ml/train-0", "bound", "w-4"),
    ("ml/train-1", "pending", ""),
    ("shop/checkout-7b7c9d64f5-r4tzb", "bound", "w-3"),
    ("shop/search-0", "pending", ""),
    ("shop/web-5f6bb9c7d4-n8j2s", "bound", "w-2"),
];

fn items() -> Vec<Value> {
    let list: Value = serde_saphyr::from_str(&shop()).unwrap();
    list["items"].as_array().unwrap().clone()
}

#[track_caller]
fn assert_decides(stage: &Stage, args: &[&str]) {
    let report = stage.json(args);
    assert_eq!(placements(&report), DECISIONS, "{args:?}");
    assert_eq!(report["evicted"], json!(["batch/crunch-2938420-x2q7v"]));
}

#[test]
fn it_loads_and_is_scheduled_as_kube_scheduler_does() {
    let stage = Stage::with(&[("dump.yaml", &shop())]);
    assert_decides(&stage, &["-f", "dump.yaml"]);
    let report = stage.json(&["-f", "dump.yaml"]);
    let message = |name: &str| {
        let pods = report["pods"].as_array().unwrap();
        text(&pods.iter().find(|pod| pod["pod"] == name).unwrap()["message"]).to_owned()
    };
    for (pod, start) in [
        (
            "batch/huge-1",
            "0/7 nodes are available: 1 Insufficient memory, 1 node(s) were unschedulable, 3 Insufficient cpu, 3 node(s) had untolerated taint(s). ",
        ),
        (
            "shop/search-0",
            "0/7 nodes are available: 1 node(s) were unschedulable, 3 node(s) didn't match Pod's node affinity/selector, 3 node(s) had untolerated taint(s). ",
        ),
        (
            "ml/train-1",
            "0/7 nodes are available: 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s), 3 Insufficient cpu, 4 Insufficient memory, 4 Insufficient nvidia.com/gpu. ",
        ),
        (
            "kube-system/debug-w-3",
            "0/7 nodes are available: 1 node(s) didn't have free ports for the requested pod ports, 1 node(s) were unschedulable, 2 node(s) didn't match Pod's node affinity/selector, 3 node(s) had untolerated taint(s). ",
        ),
    ] {
        assert!(message(pod).starts_with(start), "{pod}: {}", message(pod));
    }
}

#[test]
fn kinds_that_nobody_reads_are_counted_and_named_once() {
    let stage = Stage::with(&[("dump.yaml", &shop())]);
    let done = stage.run(&["run", "-f", "dump.yaml"]);
    assert_eq!(done.code, 1);
    for kind in [
        "monitoring.coreos.com/v1/ServiceMonitor (2)",
        "cert-manager.io/v1/Certificate (1)",
        "cilium.io/v2/CiliumNode (1)",
        "v1/ConfigMap (1)",
    ] {
        assert_eq!(done.said.matches(kind).count(), 1, "{kind} in\n{}", done.said);
    }
    assert!(!done.out.contains("Certificate"), "{}", done.out);
}

#[test]
fn every_form_gives_the_same_answer() {
    let items = items();
    let list = |kind: &str, items: Vec<Value>| json!({"apiVersion": "v1", "kind": kind, "metadata": {"resourceVersion": ""}, "items": items});
    let stage = Stage::new();
    stage.write("dump.json", serde_json::to_string_pretty(&list("List", items.clone())).unwrap());
    stage.write("compact.json", serde_json::to_string(&list("List", items.clone())).unwrap());

    // Typed lists, whose items have neither kind nor apiVersion, as the API server sends them.
    let (nodes, rest): (Vec<_>, Vec<_>) = items.iter().cloned().partition(|item| item["kind"] == "Node");
    let (pods, rest): (Vec<_>, Vec<_>) = rest.into_iter().partition(|item| item["kind"] == "Pod");
    let bare = |items: Vec<Value>| -> Vec<Value> {
        let strip = |mut item: Value| {
            let map = item.as_object_mut().unwrap();
            map.remove("kind");
            map.remove("apiVersion");
            item
        };
        items.into_iter().map(strip).collect()
    };
    stage.write("typed/1-nodes.json", serde_json::to_string(&list("NodeList", bare(nodes))).unwrap());
    stage.write("typed/2-rest.json", serde_json::to_string(&list("List", rest)).unwrap());
    stage.write("typed/3-pods.json", serde_json::to_string(&list("PodList", bare(pods))).unwrap());

    // One document each; JSON is YAML.
    let documents: Vec<String> =
        items.iter().map(|item| serde_json::to_string_pretty(item).unwrap()).collect();
    stage.write("documents.yaml", documents.join("\n---\n"));
    for (i, document) in documents.iter().enumerate() {
        stage.write(&format!("folder/{i:03}.yaml"), document);
    }

    assert_decides(&stage, &["-f", "dump.json"]);
    assert_decides(&stage, &["-f", "compact.json"]);
    assert_decides(&stage, &["-f", "typed"]);
    assert_decides(
        &stage,
        &["-f", "typed/3-pods.json", "-f", "typed/1-nodes.json", "-f", "typed/2-rest.json"],
    );
    assert_decides(&stage, &["-f", "documents.yaml"]);
    assert_decides(&stage, &["-f", "folder"]);
    let done = stage.run_with(&["run", "-o", "json", "-f", "-"], shop().replace('\n', "\r\n"));
    assert_eq!(placements(&serde_json::from_str(&done.out).unwrap()), DECISIONS);
}

#[test]
fn pods_that_have_ended_take_no_room() {
    let stage = Stage::with(&[("dump.yaml", &shop())]);
    let report = stage.json(&["-f", "dump.yaml"]);
    let names: Vec<_> = placements(&report).into_iter().map(|(name, ..)| name.to_owned()).collect();
    assert!(!names.iter().any(|name| name.starts_with("batch/report")), "{names:?}");
}
