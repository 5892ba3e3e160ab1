//! What kube-scheduler-simulator has recorded and exported, as recordings.

use serde_json::{Value, json};

use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::sandbox::record::{ClusterRecord, is_record};

use super::checked;
use super::session::recorded;
use crate::support::world::pod_of;

fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "creationTimestamp": "2025-01-01T00:00:00Z"},
           "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "10"}}})
}

fn pod(name: &str, cpu: &str, created: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
           "spec": {"schedulerName": "default-scheduler",
                    "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}]}})
}

fn line(time: &str, event: &str, resource: &Value) -> String {
    json!({"time": time, "event": event, "resource": resource}).to_string()
}

/// A cluster with two nodes and a pod on one of them; later another pod comes and is put elsewhere than it goes here,
/// one that does not fit comes, and then the first one ends.
fn record() -> Vec<String> {
    let old = "2025-01-01T00:00:00Z";
    let mut running = pod("running", "1500m", old);
    running["spec"]["nodeName"] = "a".into();
    let mut bound = pod("new", "1", "2025-03-03T10:00:01Z");
    bound["spec"]["nodeName"] = "a".into();
    let mut done = running.clone();
    done["status"] = json!({"phase": "Succeeded"});
    let gone =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "running", "namespace": "default"}});
    vec![
        line("2025-03-03T19:00:00.1+09:00", "Add", &node("a")),
        line("2025-03-03T19:00:00.2+09:00", "Add", &node("b")),
        line("2025-03-03T19:00:00.3+09:00", "Add", &running),
        line("2025-03-03T19:00:01.5+09:00", "Add", &pod("new", "1", "2025-03-03T10:00:01Z")),
        line("2025-03-03T19:00:01.6+09:00", "Update", &bound),
        line("2025-03-03T19:00:02+09:00", "Add", &pod("large", "1500m", "2025-03-03T10:00:02Z")),
        line("2025-03-03T19:01:00+09:00", "Update", &done),
        line("2025-03-03T19:01:01+09:00", "Delete", &gone),
        line(
            "2025-03-03T19:05:00+09:00",
            "Add",
            &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}),
        ),
    ]
}

/// Plays a record in a sandbox that is recorded.
fn played(text: &str) -> (schedscope::driver::sandbox::simulator::Simulator, Vec<u8>) {
    let record = ClusterRecord::read("record.jsonl", text).unwrap();
    let manifest: Vec<String> = record
        .objects
        .iter()
        .map(|object| {
            let mut text = String::from("{\"apiVersion\": \"v1\", ");
            text.push_str(&format!("\"kind\": \"{}\", ", object.kind()));
            let mut fields = Vec::new();
            object.serialize_fields(&mut serde_json::Serializer::new(&mut fields)).unwrap();
            text.push_str(String::from_utf8(fields).unwrap().trim_start_matches('{'));
            text
        })
        .collect();
    let (mut simulator, recorder, memory) = recorded(&manifest.join("\n---\n"), RecorderOptions::default());
    record.play(&mut simulator).unwrap();
    simulator.finish_recording("the record ends");
    recorder.finish().unwrap();
    (simulator, memory.bytes())
}

#[test]
fn a_record_is_played_with_decisions_of_its_own() {
    let text = record().join("\n");
    assert!(is_record(&text));
    let (simulator, recording) = played(&text);
    let node = |name: &str| pod_of(&simulator, name).map(|pod| pod.spec.node_name.to_string());
    // Only b has room for it, wherever it went there.
    assert_eq!(node("new").as_deref(), Some("b"));
    // When the pod on a has ended there is room for the one that waited.
    assert_eq!(node("large").as_deref(), Some("a"));
    assert_eq!(node("running"), None);
    let (report, outcome) = checked(&recording);
    assert!(outcome.is_ok(), "{outcome:?}");
    assert!(report.inputs > 8);
}

#[test]
fn what_was_there_is_told_from_what_came() {
    let record = ClusterRecord::read("r", &record().join("\n")).unwrap();
    assert_eq!(record.objects.len(), 3);
    assert_eq!(record.start.to_rfc3339(), "2025-03-03T10:00:00Z");
    assert_eq!(record.notes, ["not read, since no plugin looks at them: v1/ConfigMap (1)"]);
}

#[test]
fn the_list_and_the_wrapped_object_of_earlier_versions_are_read() {
    let wrapped: Vec<Value> = record()
        .iter()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["resource"] = json!({"Object": line["resource"]});
            line
        })
        .collect();
    let list = serde_json::to_string_pretty(&wrapped).unwrap();
    assert!(is_record(&list));
    assert_eq!(
        ClusterRecord::read("r", &list).unwrap().objects,
        ClusterRecord::read("r", &record().join("\n")).unwrap().objects
    );
}

#[test]
fn an_error_names_file_line_object_and_field() {
    let error = |at: usize, text: &str| {
        let mut lines = record();
        lines[at] = text.to_owned();
        ClusterRecord::read("record.jsonl", &lines.join("\n")).unwrap_err().to_string()
    };
    let mut wrong = pod("wrong", "1", "2025-03-03T10:00:01Z");
    wrong["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "much".into();
    let text = error(3, &line("2025-03-03T19:00:01+09:00", "Add", &wrong));
    for part in ["record.jsonl: line 4", "Pod default/wrong", "spec.containers[0].resources.requests", "much"]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    assert!(error(1, "{\"time\": 1}").starts_with("record.jsonl: line 2: "));
    let text = error(4, &line("yesterday", "Add", &node("c")));
    assert_eq!(text, "record.jsonl: line 5: time: \"yesterday\" is no time");
    let text = error(4, &line("2025-03-03T19:00:01+09:00", "Rename", &node("c")));
    assert_eq!(text, "record.jsonl: line 5: event: \"Rename\" is none of Add, Update and Delete");
    let text = error(7, &line("2025-03-03T19:02:00+09:00", "Delete", &json!({"kind": "Pod"})));
    assert!(text.starts_with("record.jsonl: line 8: resource: missing field"), "{text}");
    assert_eq!(ClusterRecord::read("r", " \n").unwrap_err().to_string(), "r: there is no record in it");
}
