//! Recordings on the command line: what is written, said and answered with which exit code.

use std::fs;

use super::{Stage, shop, text};

/// A folder with the shop and a recording of it.
fn recorded(name: &str) -> Stage {
    let stage = Stage::with(&[("shop.yaml", &shop())]);
    let done = stage.run(&["run", "-f", "shop.yaml", "--record", name]);
    assert!(done.said.contains(&format!(" inputs to {name}")), "{done:?}");
    stage
}

#[test]
fn a_recording_is_checked_and_the_exit_code_tells() {
    for name in ["a.rec", "a.rec.zst"] {
        let stage = recorded(name);
        let done = stage.run(&["replay", "--check", name]);
        assert_eq!((done.code, &*done.said), (0, ""), "{done:?}");
        assert!(
            done.out.starts_with("equal: ") && done.out.ends_with("the recording ends: at rest\n"),
            "{done:?}"
        );

        let whole = fs::read(stage.path().join(name)).unwrap();
        stage.write("cut.rec", &whole[..whole.len() - 30]);
        let done = stage.run(&["replay", "--check", "cut.rec"]);
        assert_eq!(done.code, 1, "{done:?}");
        assert!(done.said.contains("it was cut off at byte"), "{done:?}");

        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 1;
        stage.write("damaged.rec", &damaged);
        let done = stage.run(&["replay", "--check", "damaged.rec"]);
        assert_eq!(done.code, 4, "{done:?}");
        assert!(done.said.contains("is damaged"), "{done:?}");
    }
    let stage = recorded("a.rec");
    let text = fs::read_to_string(stage.path().join("a.rec")).unwrap();
    let seed_of_another = resealed(&text.replacen("\"seed\":1", "\"seed\":2", 1));
    stage.write("other.rec", seed_of_another);
    let done = stage.run(&["replay", "--check", "other.rec"]);
    assert_eq!(done.code, 3, "{done:?}");
    assert!(done.said.contains("the replay differs: input "), "{done:?}");
    let done = stage.run(&["replay", "--check", "shop.yaml"]);
    assert_eq!((done.code, &*done.out), (2, ""), "{done:?}");
    let done = stage.run(&["replay", "--check", "nowhere.rec"]);
    assert_eq!(done.code, 2, "{done:?}");
}

/// The text with checksums that are right.
fn resealed(text: &str) -> String {
    let mut sum = 0;
    let lines = text.lines().map(|line| {
        let body = line.rsplit_once(",\"crc\"").unwrap().0;
        let mut hasher = crc32fast::Hasher::new_with_initial(sum);
        hasher.update(body.as_bytes());
        sum = hasher.finalize();
        format!("{body},\"crc\":\"{sum:08x}\"}}\n")
    });
    lines.collect()
}

#[test]
fn the_json_of_a_check_has_a_schema() {
    let stage = recorded("a.rec");
    let done = stage.run(&["replay", "--check", "-o", "json", "a.rec"]);
    let report: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(text(&report["schema"]), "schedscope.dev/replay-check/v1");
    assert_eq!(text(&report["result"]), "equal");
    assert!(report["inputs"].as_u64().unwrap() > 10 && report["error"].is_null());
}

#[test]
fn recording_changes_nothing_and_replaces_no_file() {
    let stage = recorded("a.rec");
    let plain = stage.run(&["run", "-f", "shop.yaml"]);
    let second = stage.run(&["run", "-f", "shop.yaml", "--record", "b.rec"]);
    assert_eq!((plain.code, &plain.out), (second.code, &second.out));
    let read = |name: &str| fs::read(stage.path().join(name)).unwrap();
    assert!(read("a.rec") == read("b.rec"), "equal runs give equal recordings");
    let third = stage.run(&["run", "-f", "shop.yaml", "--record", "b.rec"]);
    assert_eq!(third.code, 2);
    assert!(third.said.contains("b.rec: it is there already"), "{third:?}");
    assert!(read("a.rec") == read("b.rec"));
}

#[test]
fn a_redacted_recording_is_checked_like_any_other() {
    let stage = recorded("a.rec");
    let done = stage.run(&["redact", "a.rec", "b.rec.zst"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("the same is decided as before\nwhat remains:\n- "), "{done:?}");
    assert_eq!(stage.run(&["replay", "--check", "b.rec.zst"]).code, 0);
    let at_once = stage.run(&["run", "-f", "shop.yaml", "--record", "c.rec", "--redact"]);
    assert!(at_once.said.contains(" inputs to c.rec"), "{at_once:?}");
    assert_eq!(stage.run(&["replay", "--check", "c.rec"]).code, 0);
    let again = stage.run(&["redact", "a.rec", "c.rec"]);
    assert_eq!(again.code, 2, "{again:?}");
    let none = stage.run(&["redact", "shop.yaml", "d.rec"]);
    assert_eq!(none.code, 2, "{none:?}");
    assert!(!stage.path().join("d.rec").exists(), "nothing is left of what failed");
}

#[test]
fn two_recordings_are_compared() {
    let stage = recorded("a.rec");
    let done = stage.run(&["run", "-f", "shop.yaml", "--seed", "99", "--record", "b.rec"]);
    assert!(done.code <= 1);
    let same = stage.run(&["diff", "a.rec", "a.rec"]);
    assert_eq!(same.code, 0, "{same:?}");
    assert!(same.out.contains("0 pods ended otherwise, "), "{same:?}");
    let other = stage.run(&["diff", "a.rec", "b.rec", "-o", "json"]);
    assert!(other.code <= 1, "{other:?}");
    let report: serde_json::Value = serde_json::from_str(&other.out).unwrap();
    assert_eq!(text(&report["schema"]), "schedscope.dev/diff/v1");
    assert_eq!(report["moved"].as_array().unwrap().is_empty(), other.code == 0);
    assert_eq!(stage.run(&["diff", "a.rec", "shop.yaml"]).code, 2);
}

const PACKING: &str = "apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  plugins:
    score:
      disabled: [{name: '*'}]
      enabled: [{name: NodeResourcesFit}]
";

/// Two nodes of different sizes and a few pods.
fn two_nodes() -> String {
    use crate::support::world::{node, pod};
    let pods: String = (0..3).map(|n| pod(&format!("web-{n}"), "1", "", "")).collect();
    node("big", "16") + &node("small", "4") + &pods
}

#[test]
fn a_recording_is_compared_with_what_another_configuration_makes_of_it() {
    let stage = Stage::with(&[("two.yaml", &two_nodes()), ("packing.yaml", PACKING)]);
    stage.run(&["run", "-f", "two.yaml", "--record", "a.rec"]);
    let done = stage.run(&["diff", "--config", "packing.yaml", "a.rec"]);
    assert_eq!(done.code, 1, "{done:?}");
    for line in [
        "default/web-0\n  A: big after",
        "  B: small after",
        "     attempt 1: the highest total\n     big: ",
        " points against ",
        "(NodeResourcesFit -",
        "\nnode: pods, cpu, memory asked for, A then B\n  big: 3 pods, 3000m, 0Mi | 0 pods, 0m, 0Mi\n",
        "\nwaits A: 3 pods, median ",
        "3 pods ended otherwise, 0 alike\n",
    ] {
        assert!(done.out.contains(line), "{line:?}: {}", done.out);
    }
    let json = stage.run(&["diff", "--config", "packing.yaml", "-o", "json", "--record", "b.rec", "a.rec"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document["schema"], "schedscope.dev/diff/v1");
    assert_eq!(document["moved"][0]["a"]["node"], "big");
    assert!(document["moved"][0]["b"]["why"]["here"]["points"]["NodeResourcesFit"].is_i64());
    assert_eq!(document["nodes"].as_array().map(Vec::len), Some(2));
    assert_eq!(document["waits"]["b"]["pods"], 3);
    // What was kept is a recording, and compared with the first one it says the same.
    let check = stage.run(&["replay", "--check", "b.rec"]);
    assert_eq!(check.code, 0, "{check:?}");
    let again = stage.run(&["diff", "a.rec", "b.rec"]);
    assert_eq!((again.code, again.out), (1, done.out));
}

#[test]
fn the_own_configuration_makes_the_same_of_it() {
    let stage = recorded("a.rec");
    stage
        .write("own.yaml", b"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n");
    let done = stage.run(&["diff", "--config", "own.yaml", "a.rec"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("0 pods ended otherwise"), "{done:?}");
    for wrong in [
        &["diff", "a.rec"][..],
        &["diff", "--config", "own.yaml", "a.rec", "a.rec"],
        &["diff", "--config", "nowhere.yaml", "a.rec"],
        &["diff", "--record", "c.rec", "a.rec", "a.rec"],
    ] {
        let done = stage.run(wrong);
        assert_eq!((done.code, &*done.out), (2, ""), "{wrong:?}: {done:?}");
    }
}

#[test]
fn a_replay_says_how_what_goes_on_from_it_is_recorded() {
    let done = Stage::with(&[]).run(&["replay", "preemption-pdb", "--record", "x.rec"]);
    assert_eq!((done.code, done.out.as_str()), (2, ""), "{done:?}");
    assert!(done.said.contains(":record after :leave"), "{done:?}");
}
