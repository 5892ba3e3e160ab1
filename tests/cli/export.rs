//! `export` and `import` on the command line.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::{Stage, shop};

fn recorded() -> Stage {
    let stage = Stage::with(&[("shop.yaml", &shop())]);
    let done = stage.run(&["run", "-f", "shop.yaml", "--record", "a.rec"]);
    assert!(done.said.contains(" inputs to a.rec"), "{done:?}");
    stage
}

#[test]
fn a_recording_becomes_a_film_a_report_and_a_picture() {
    let stage = recorded();
    let film = stage.run(&["export", "a.rec", "--cast"]);
    assert_eq!((film.code, &*film.said), (0, ""));
    let header: Value = serde_json::from_str(film.out.lines().next().unwrap()).unwrap();
    assert_eq!((&header["version"], &header["term"]["cols"]), (&json!(3), &json!(120)));
    let report = stage.run(&["export", "a.rec", "--markdown", "--from", "1", "--to", "cycle:2"]);
    assert_eq!(report.code, 0, "{report:?}");
    assert!(report.out.starts_with("# shop.yaml\n") && report.out.contains("## Summary: "), "{report:?}");
    let done = stage.run(&[
        "export", "a.rec", "--svg", "--at", "1", "--size", "80x24", "--theme", "light", "-o", "a.svg",
    ]);
    assert_eq!((done.code, &*done.out, &*done.said), (0, "", ""));
    let picture = fs::read_to_string(stage.path().join("a.svg")).unwrap();
    assert!(picture.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"738\""));
    let again = stage.run(&["export", "a.rec", "--svg", "-o", "a.svg"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert_eq!(fs::read_to_string(stage.path().join("a.svg")).unwrap(), picture, "nothing is replaced");
}

#[test]
fn what_cannot_be_exported_is_told_and_leaves_no_file() {
    let stage = recorded();
    let refused = |args: &[&str], code: i32, words: &str| {
        let mut all = vec!["export"];
        all.extend(args);
        all.extend(["-o", "out"]);
        let done = stage.run(&all);
        assert_eq!(done.code, code, "{args:?}: {done:?}");
        assert!(done.said.contains(words), "{args:?}: {done:?}");
        assert!(!stage.path().join("out").exists(), "{args:?}");
    };
    refused(&["a.rec", "--cast", "--to", "marker:x"], 2, "has no marker \"x\": it has no markers");
    refused(&["a.rec", "--cast", "--size", "20x5"], 2, "--size: \"20x5\" is not a size such as 120x36");
    refused(&["a.rec", "--svg", "--at", "soon"], 2, "--at: \"soon\" is not a duration");
    refused(&["a.rec", "--svg", "--theme", "pink"], 2, "there is no theme \"pink\"");
    refused(&["a.rec"], 2, "<--cast|--markdown|--svg>");
    refused(&["a.rec", "--cast", "--svg"], 2, "cannot be used with");
    refused(&["shop.yaml", "--cast"], 2, "it is not a recording");
    let mut bytes = fs::read(stage.path().join("a.rec")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    stage.write("damaged.rec", &bytes);
    refused(&["damaged.rec", "--markdown"], 4, "is damaged");
}

#[test]
fn a_cut_recording_is_exported_up_to_the_cut() {
    let stage = recorded();
    let bytes = fs::read(stage.path().join("a.rec")).unwrap();
    stage.write("cut.rec", &bytes[..bytes.len() - 40]);
    let done = stage.run(&["export", "cut.rec", "--markdown"]);
    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.said.contains("it was cut off at byte"), "{done:?}");
    assert!(done.out.contains("The recording is not whole: it was cut off"), "{done:?}");
}

#[test]
fn recordings_and_films_are_the_same_in_every_time_zone_language_and_on_one_cpu() {
    let stage = recorded();
    let program = env!("CARGO_BIN_EXE_schedscope");
    let has_taskset =
        Command::new("taskset").arg("--version").output().is_ok_and(|done| done.status.success());
    let places: &[&[(&str, &str)]] = &[
        &[("TZ", "Asia/Kathmandu"), ("LANG", "tr_TR.UTF-8"), ("LC_ALL", "tr_TR.UTF-8")],
        &[("TZ", "America/St_Johns"), ("LANG", "C"), ("LC_ALL", "C"), ("NO_COLOR", "1"), ("TERM", "dumb")],
        &[("TZ", "UTC"), ("COLORTERM", "truecolor"), ("LC_ALL", "ar_EG.UTF-8"), ("COLUMNS", "40")],
    ];
    let film = stage.run(&["export", "a.rec", "--cast"]).out;
    let checked = stage.run(&["replay", "--check", "a.rec"]).out;
    for (number, place) in places.iter().enumerate() {
        let run = |args: &[&str]| {
            let mut command = if has_taskset { Command::new("taskset") } else { Command::new(program) };
            if has_taskset {
                command.args(["-c", "0", program]);
            }
            let done =
                command.args(args).current_dir(stage.path()).envs(place.iter().copied()).output().unwrap();
            String::from_utf8(done.stdout).unwrap()
        };
        assert_eq!(run(&["replay", "--check", "a.rec"]), checked);
        assert!(run(&["export", "a.rec", "--cast"]) == film, "{place:?}");
        let name = format!("{number}.rec");
        run(&["run", "-f", "shop.yaml", "--record", &name]);
        let read = |name: &str| fs::read(stage.path().join(name)).unwrap();
        assert!(read(&name) == read("a.rec"), "{place:?}");
    }
}

/// What the simulator exports, with items that do not name their kind.
fn snapshot() -> Value {
    json!({
        "pods": [{"metadata": {"name": "web", "namespace": "shop"},
                  "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}}],
        "nodes": [{"metadata": {"name": "n1"}, "status": {"allocatable": {"cpu": "4", "memory": "1Gi", "pods": "9"}}}],
        "pvs": [], "pvcs": null,
        "storageClasses": [{"metadata": {"name": "slow"}, "provisioner": "x"}],
        "priorityClasses": [{"metadata": {"name": "high"}, "value": 1000}],
        "namespaces": [{"metadata": {"name": "shop"}}],
        "schedulerConfig": {"parallelism": 16, "profiles": [{"schedulerName": "default-scheduler"}]}
    })
}

#[test]
fn a_snapshot_of_the_simulator_is_a_cluster_and_becomes_a_recording() {
    let stage = Stage::with(&[("snapshot.json", &snapshot().to_string())]);
    let done = stage.run(&["run", "-f", "snapshot.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.out.contains("shop/web") && done.out.contains("1 bound, 0 pending"), "{done:?}");
    assert!(done.said.contains("snapshot.json: its schedulerConfig is not read"), "{done:?}");
    let done = stage.run(&["import", "snapshot.json", "-o", "a.rec"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.said.contains(" inputs to a.rec"), "{done:?}");
    assert_eq!(stage.run(&["replay", "--check", "a.rec"]).code, 0);

    let mut wrong = snapshot();
    wrong["nodes"][0]["status"]["allocatable"]["cpu"] = "lots".into();
    wrong["pods"][0]["metadata"]["name"] = Value::Null;
    stage.write("wrong.json", serde_json::to_string_pretty(&wrong).unwrap());
    for args in [&["run", "-f", "wrong.json"] as &[&str], &["import", "wrong.json", "-o", "wrong.rec"]] {
        let done = stage.run(args);
        assert_eq!(done.code, 2, "{done:?}");
        for word in ["wrong.json", "Node n1", "status.allocatable", "lots", "Pod pods[0]", ":30:18"] {
            assert!(done.said.contains(word), "{word} is not in {}", done.said);
        }
        assert!(!stage.path().join("wrong.rec").exists());
    }
    let mut wrong = snapshot();
    wrong["schedulerConfig"]["profiles"][0]["plugins"] = json!({"fliter": {}});
    stage.write("config.json", wrong.to_string());
    let done = stage.run(&["import", "config.json", "-o", "b.rec"]);
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.said.contains("config.json: schedulerConfig") && done.said.contains("fliter"), "{done:?}");
    assert!(done.said.contains("--config"), "{done:?}");
    assert!(!stage.path().join("b.rec").exists());
}

#[test]
fn a_record_of_the_simulator_becomes_a_recording_with_its_times() {
    let line = |time: &str, event: &str, resource: Value| {
        json!({"time": time, "event": event, "resource": resource}).to_string() + "\n"
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "creationTimestamp": "2025-01-01T00:00:00Z"},
                      "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}});
    let pod = |name: &str, created: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
               "spec": {"schedulerName": "default-scheduler", "containers":
                        [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}})
    };
    let text = line("2025-03-03T16:28:00.957176231+09:00", "Add", node)
        + &line("2025-03-03T16:28:10+09:00", "Add", pod("one", "2025-03-03T07:28:10Z"))
        + &line("2025-03-03T16:28:20+09:00", "Add", pod("two", "2025-03-03T07:28:20Z"))
        + &line(
            "2025-03-03T16:33:20+09:00",
            "Delete",
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", "namespace": "default"}}),
        );
    let stage = Stage::with(&[("record.jsonl", &text)]);
    let done = stage.run(&["import", "record.jsonl", "-o", "a.rec"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(stage.run(&["replay", "--check", "a.rec"]).code, 0);
    let recording = fs::read_to_string(stage.path().join("a.rec")).unwrap();
    assert!(recording.contains("\"start\":\"1740986880.957176231\""), "{recording}");
    let report = stage.run(&["export", "a.rec", "--markdown"]).out;
    assert!(report.contains(": default/one, bound to n1\n"), "{report}");
    assert!(report.contains(": default/two, unschedulable\n"), "{report}");
    let bound = report.lines().find(|line| line.contains("default/two | bound to n1")).expect(&report);
    // It got the place of the other one, five minutes later.
    assert!(bound.contains("| 5m1"), "{bound}");
    let again = stage.run(&["import", "record.jsonl", "-o", "a.rec"]);
    assert_eq!(again.code, 2, "{again:?}");
    assert_eq!(fs::read_to_string(stage.path().join("a.rec")).unwrap(), recording, "nothing is replaced");
}
