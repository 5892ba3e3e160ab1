//! `explain`, `fix` and `capacity`: exit codes, where the question is asked, and the form for programs.

use serde_json::Value;

use super::{DOES_NOT_FIT, FITS, NODE, Stage, text};

fn stage() -> Stage {
    let bound = FITS.replace("spec: {", "spec: {nodeName: n1, ");
    Stage::with(&[
        ("cluster.yaml", &format!("{NODE}---\n{FITS}---\n{DOES_NOT_FIT}")),
        ("node.yaml", NODE),
        ("big.yaml", &format!("{NODE}---\n{bound}---\n{}", DOES_NOT_FIT.replace("64", "3500m"))),
        ("pod.yaml", FITS),
        ("huge.yaml", DOES_NOT_FIT),
    ])
}

fn json(out: &str) -> Value {
    serde_json::from_str(out).unwrap()
}

#[test]
fn explain_ends_with_whether_the_pod_has_or_gets_a_node() {
    let stage = stage();
    for (args, code) in [
        (&["explain", "web", "-f", "cluster.yaml"] as &[&str], 0),
        (&["explain", "shop/huge", "-f", "cluster.yaml"], 1),
        (&["explain", "huge", "-n", "shop", "-f", "cluster.yaml"], 1),
        (&["explain", "--pod", "pod.yaml", "-f", "node.yaml"], 0),
        (&["explain", "--pod", "huge.yaml", "-f", "node.yaml"], 1),
        (&["explain", "lost", "-f", "cluster.yaml"], 2),
        (&["explain", "web", "--against", "lost", "-f", "cluster.yaml"], 2),
        (&["explain", "web", "-f", "lost.yaml"], 2),
        (&["explain", "--pod", "pod.yaml", "-f", "cluster.yaml"], 2),
    ] {
        let done = stage.run(args);
        assert_eq!(done.code, code, "{args:?}: {done:?}");
    }
    let lost = stage.run(&["explain", "lost", "-f", "cluster.yaml"]);
    assert_eq!(lost.said, "schedscope: there is no pod default/lost\n");
}

#[test]
fn the_json_of_explain_is_of_the_published_schema() {
    let schema = json(include_str!("../../docs/explain.schema.json"));
    let validator = jsonschema::validator_for(&schema).unwrap();
    let stage = stage();
    for args in [
        &["explain", "huge", "-f", "cluster.yaml", "-o", "json"] as &[&str],
        &["explain", "web", "-f", "cluster.yaml", "-o", "json", "--against", "n1"],
        &["explain", "--pod", "pod.yaml", "-f", "node.yaml", "-o", "json"],
        &["explain", "web-5", "-o", "json", "--run", "--against", "a-4"],
        &["explain", "release-1", "-o", "json"],
        &["explain", "critical-0", "-o", "json", "--rec", "preemption-pdb@three full nodes"],
    ] {
        let document = json(&stage.run(args).out);
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{args:?}: {errors:?}");
    }
}

#[test]
fn a_recording_is_asked_at_a_moment() {
    let stage = Stage::new();
    let ask = |place: &str| {
        let done = stage.run(&["explain", "critical-0", "-o", "json", "--rec", place]);
        assert!(done.code < 2, "{done:?}");
        json(&done.out)
    };
    let start = ask("preemption-pdb@three full nodes");
    assert_eq!(text(&start["status"]), "pending");
    assert_eq!(text(&start["preemption"]["node"]), "n-3");
    assert_eq!(text(&start["preemption"]["victims"][0]["pod"]), "default/batch-0");
    let end = ask("preemption-pdb");
    assert_eq!(text(&end["status"]), "placed");
    assert_eq!(text(&end["assignedTo"]), "n-3");
    assert_eq!(text(&ask("preemption-pdb@100%")["status"]), "placed");
    assert_eq!(text(&ask("preemption-pdb@1h")["status"]), "placed");
    let done = stage.run(&["explain", "critical-0", "--rec", "preemption-pdb@nowhere"]);
    assert_eq!(done.code, 2);
    assert!(done.said.contains("\"nowhere\" is no place of preemption-pdb"), "{}", done.said);
}

#[test]
fn fix_ends_with_whether_there_is_one() {
    let stage = stage();
    let done = stage.run(&["fix", "huge", "-f", "big.yaml", "-o", "json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let report = json(&done.out);
    assert_eq!((text(&report["schema"]), text(&report["outcome"])), ("schedscope.dev/fix/v1", "found"));
    assert_eq!(text(&report["fixes"][0]["node"]), "n1");
    // Less than a tenth of what it asks for is no fix.
    assert_eq!(stage.run(&["fix", "huge", "-f", "cluster.yaml"]).code, 1);
    let fine = stage.run(&["fix", "web", "-f", "cluster.yaml"]);
    assert_eq!(
        (fine.code, fine.out.as_str()),
        (0, "Nothing needs to change: pod shop/web gets to n1 by itself.\n")
    );
    assert_eq!(stage.run(&["fix", "huge", "-f", "big.yaml", "--budget", "1run"]).code, 1);
    assert_eq!(stage.run(&["fix", "huge", "-f", "big.yaml", "--budget", "soon"]).code, 2);
    assert_eq!(stage.run(&["fix", "lost", "-f", "cluster.yaml"]).code, 2);
}

#[test]
fn capacity_counts_pods_of_a_manifest() {
    let stage = stage();
    let done = stage.run(&["capacity", "--pod", "pod.yaml", "-f", "node.yaml", "-o", "json"]);
    let report = json(&done.out);
    assert_eq!(text(&report["schema"]), "schedscope.dev/capacity/v1");
    assert_eq!(done.code, 0);
    assert!(report["fits"].as_u64().unwrap() > 0);
    let none = stage.run(&["capacity", "--pod", "huge.yaml", "-f", "node.yaml"]);
    assert_eq!(none.code, 1);
    assert!(none.out.starts_with("0 more pods fit like shop/huge."), "{}", none.out);
}
