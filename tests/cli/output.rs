//! What `schedscope run` prints, and how it ends.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use serde_json::json;

use super::{DOES_NOT_FIT, FITS, NODE, Stage, text};

fn both() -> Stage {
    Stage::with(&[
        ("fits.yaml", &format!("{NODE}---\n{FITS}")),
        ("mixed.yaml", &format!("{NODE}---\n{FITS}---\n{DOES_NOT_FIT}")),
        ("broken.yaml", "kind: ["),
    ])
}

#[test]
fn the_exit_code_says_whether_all_pods_have_a_node() {
    let stage = both();
    assert_eq!(stage.run(&["run", "-f", "fits.yaml"]).code, 0);
    assert_eq!(stage.run(&["run", "-f", "mixed.yaml"]).code, 1);
    assert_eq!(stage.run(&["run", "-f", "broken.yaml"]).code, 2);
    assert_eq!(stage.run(&["run", "-o", "json", "-f", "fits.yaml"]).code, 0);
    assert_eq!(stage.run(&["run", "-o", "json", "-f", "mixed.yaml"]).code, 1);
}

#[test]
fn the_table_is_for_people() {
    let done = both().run(&["run", "-f", "mixed.yaml"]);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines[0], "POD        NODE  STATE    MESSAGE");
    assert!(
        lines[1].starts_with("shop/huge  -     pending  0/1 nodes are available: 1 Insufficient cpu. "),
        "{}",
        lines[1]
    );
    assert_eq!(lines[2], "shop/web   n1    bound");
    assert_eq!(lines[3], "");
    assert!(lines[4].starts_with("1 bound, 1 pending; "), "{}", lines[4]);
    assert_eq!(lines.len(), 5);
    assert_eq!(done.said, "");
    assert!(done.out.lines().all(|line| line == line.trim_end()), "blanks at the end of a line");
}

#[test]
fn the_json_has_a_schema_that_programs_can_rely_on() {
    let stage = both();
    let done = stage.run(&["run", "-o", "json", "-f", "mixed.yaml"]);
    assert_eq!((done.out.lines().count(), done.said.as_str()), (1, ""));
    let report = stage.json(&["-f", "mixed.yaml"]);
    let keys: Vec<_> = report.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["schema", "pods", "evicted", "attempts", "simulatedMilliseconds"]);
    assert_eq!(report["schema"], "schedscope.dev/run/v1");
    assert_eq!(report["pods"][1], json!({"pod": "shop/web", "state": "bound", "node": "n1"}));
    let pending = report["pods"][0].as_object().unwrap();
    assert_eq!(pending.keys().collect::<Vec<_>>(), ["pod", "state", "message"]);
    assert!(text(&pending["message"]).starts_with("0/1 nodes are available: 1 Insufficient cpu."));
    assert_eq!(report["evicted"], json!([]));
    assert!(report["attempts"].is_u64() && report["simulatedMilliseconds"].is_u64());
}

#[test]
fn in_the_sample_every_key_and_only_known_states_occur() {
    let report = Stage::new().json(&[]);
    let states: BTreeSet<_> =
        report["pods"].as_array().unwrap().iter().map(|pod| text(&pod["state"])).collect();
    assert_eq!(states, BTreeSet::from(["bound", "gated", "pending"]));
    for pod in report["pods"].as_array().unwrap() {
        for key in pod.as_object().unwrap().keys() {
            assert!(["pod", "state", "node", "nominatedNode", "message"].contains(&key.as_str()), "{key}");
        }
        assert_eq!(pod["state"] == "bound", pod.get("node").is_some());
        assert_eq!(pod["state"] == "bound", pod.get("message").is_none());
    }
    assert!(!report["evicted"].as_array().unwrap().is_empty());
}

#[test]
fn equal_inputs_give_equal_bytes() {
    let stage = Stage::new();
    for format in ["table", "json"] {
        let args = ["run", "-o", format];
        assert_eq!(stage.run(&args).out, stage.run(&args).out);
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    for format in ["table", "json"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .args(["run", "-o", format])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
        assert_eq!(output.status.code(), Some(1));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_is_an_error_and_so_is_one_that_cannot_be_told() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let run = |args: &[&str], out: Stdio, said: Stdio| {
        Command::new(env!("CARGO_BIN_EXE_schedscope")).args(args).stdout(out).stderr(said).output().unwrap()
    };
    let output = run(&["run"], full().into(), Stdio::piped());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("standard output"));
    // Words that nobody can read are no reason to fail differently.
    assert_eq!(run(&["run"], Stdio::piped(), full().into()).status.code(), Some(1));
    assert_eq!(run(&["run", "-f", "/nowhere"], Stdio::piped(), full().into()).status.code(), Some(2));
    let note = both();
    note.write(
        "crd.yaml",
        format!("{NODE}---\n{FITS}---\napiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: t}}\n"),
    );
    let path = note.path().join("crd.yaml").to_string_lossy().into_owned();
    assert_eq!(run(&["run", "-f", &path], Stdio::piped(), full().into()).status.code(), Some(0));
}

#[test]
fn other_sets_of_bytes_in_the_environment_change_nothing() {
    let plain = Command::new(env!("CARGO_BIN_EXE_schedscope")).arg("run").output().unwrap();
    let odd = Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .arg("run")
        .envs([
            ("LANG", "tr_TR.ISO-8859-9"),
            ("LC_ALL", ""),
            ("TERM", ""),
            ("NO_COLOR", ""),
            ("COLUMNS", "1"),
            ("TZ", "Asia/Kathmandu"),
        ])
        .output()
        .unwrap();
    assert_eq!(plain.stdout, odd.stdout);
}
