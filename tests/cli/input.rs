//! Where clusters come from.

use super::{DOES_NOT_FIT, FITS, NODE, Stage, placements};

fn both() -> String {
    format!("{NODE}---\n{FITS}")
}

#[test]
fn the_sample_is_what_there_is_without_a_file() {
    let report = Stage::new().json(&[]);
    assert_eq!(placements(&report).len(), 15);
    assert_eq!(placements(&report).iter().filter(|(_, state, _)| *state == "bound").count(), 9);
}

#[test]
fn files_folders_and_standard_input_add_up() {
    let stage = Stage::with(&[
        ("node.yaml", NODE),
        ("pods/a.yml", FITS),
        ("pods/b.json", "{}"),
        ("pods/notes.txt", "{"),
    ]);
    stage.write(
        "pods/b.json",
        r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "json"}, "spec": {"containers": []}}"#,
    );
    let done =
        stage.run_with(&["run", "-o", "json", "-f", "node.yaml", "-f", "pods", "-f", "-"], DOES_NOT_FIT);
    assert_eq!(done.code, 1, "{done:?}");
    let report = serde_json::from_str(&done.out).unwrap();
    assert_eq!(
        placements(&report),
        [("default/json", "bound", "n1"), ("shop/huge", "pending", ""), ("shop/web", "bound", "n1")]
    );
}

#[test]
fn text_from_windows_is_read() {
    let stage = Stage::new();
    let crlf = both().replace('\n', "\r\n");
    stage.write("crlf.yaml", &crlf);
    stage.write("bom.yaml", format!("\u{feff}{crlf}"));
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(crlf.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    stage.write("utf16.yaml", utf16);
    for name in ["crlf.yaml", "bom.yaml", "utf16.yaml"] {
        assert_eq!(placements(&stage.json(&["-f", name])), [("shop/web", "bound", "n1")], "{name}");
    }
}

#[test]
fn nothing_at_all_is_refused_and_an_empty_list_is_not() {
    let stage = Stage::with(&[("empty.yaml", ""), ("comments.yaml", "# nothing yet\n---\n---\n")]);
    for args in [&["run", "-f", "empty.yaml"][..], &["run", "-f", "comments.yaml"], &["run", "-f", "-"]] {
        let done = stage.run(args);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{args:?}: {done:?}");
        assert!(done.said.contains("no object"), "{done:?}");
    }
    let done = stage.run_with(&["run", "-f", "-"], "apiVersion: v1\nkind: List\nitems: []\n");
    assert_eq!(done.code, 0, "{done:?}");
}

#[test]
fn a_cluster_without_nodes_or_without_pods_is_a_cluster() {
    let stage = Stage::with(&[("pod.yaml", FITS), ("node.yaml", NODE)]);
    let report = stage.json(&["-f", "pod.yaml"]);
    assert_eq!(placements(&report), [("shop/web", "pending", "")]);
    assert_eq!(report["pods"][0]["message"], "no nodes available to schedule pods");
    assert_eq!(placements(&stage.json(&["-f", "node.yaml"])), []);
}

#[test]
fn priority_comes_from_the_class_as_at_admission() {
    let text = "apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: '1', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: a-first}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: z-important}
spec: {priorityClassName: high, containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}
";
    let stage = Stage::with(&[("c.yaml", text)]);
    let report = stage.json(&["-f", "c.yaml"]);
    assert_eq!(
        placements(&report),
        [("default/a-first", "pending", ""), ("default/z-important", "bound", "n1")]
    );
}

#[test]
fn the_same_seed_gives_the_same_answer_and_another_seed_may_not() {
    let mut text = String::new();
    for i in 0..8 {
        text.push_str(&NODE.replace("n1", &format!("n{i}")));
        text.push_str("---\n");
    }
    text.push_str(FITS);
    let stage = Stage::with(&[("c.yaml", &text)]);
    let node = |seed: &str| placements(&stage.json(&["-f", "c.yaml", "--seed", seed]))[0].2.to_owned();
    assert_eq!(node("7"), node("7"));
    let nodes: std::collections::BTreeSet<_> = (1..12).map(|seed| node(&seed.to_string())).collect();
    assert!(nodes.len() > 1, "eight equal nodes, eleven seeds, one answer: {nodes:?}");
}

#[test]
fn of_an_object_that_is_there_twice_the_last_counts_and_that_is_told() {
    let twice = format!("{NODE}---\n{DOES_NOT_FIT}---\n{}", DOES_NOT_FIT.replace("'64'", "'2'"));
    let stage = Stage::with(&[("c.yaml", &twice)]);
    let done = stage.run(&["run", "-f", "c.yaml"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.said.contains("document 3: Pod shop/huge was there before"), "{}", done.said);
}

#[test]
fn what_does_nothing_without_a_living_cluster_is_said() {
    let stage = Stage::with(&[(
        "workloads.yaml",
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {selector: {matchLabels: {a: b}}, \
         serviceName: db, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}\n---\n\
         apiVersion: v1\nkind: Pod\nmetadata: {name: lost}\nspec: {nodeName: ghost, containers: [{name: c, image: i}]}\n",
    )]);
    let done = stage.run(&["run", "-f", "workloads.yaml"]);
    assert!(
        done.said.contains("no pods are made for StatefulSet (1): they come into being with --world"),
        "{done:?}"
    );
    assert!(done.said.contains("on nodes that do not exist: default/lost on ghost"), "{done:?}");
    let living = stage.run(&["run", "-f", "workloads.yaml", "--world"]);
    assert!(!living.said.contains("no pods are made"), "{living:?}");
}
