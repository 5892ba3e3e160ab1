//! Being the scheduler of a cluster.

use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{ControlPlane, Live, Options, skipped, wait_for};

/// What is left of a pod's status when times are taken away.
fn status_of(pod: &Value) -> Value {
    let mut status = pod["status"].clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = Value::Null;
    }
    status
}

/// The Events about a pod without times, names and components, in the order of reason and note.
fn events_of(cluster: &ControlPlane, pod: &str) -> Vec<Value> {
    let mut events: Vec<Value> = cluster
        .list("events.k8s.io/v1", "Event", "events", Some("default"))
        .into_iter()
        .filter(|event| event["regarding"]["name"] == pod)
        .map(|event| {
            let note = event["note"].as_str().unwrap().replace(pod, "POD");
            json!({
                "type": event["type"], "reason": event["reason"], "action": event["action"], "note": note,
                "kind": event["regarding"]["kind"], "version": event["regarding"]["apiVersion"],
                "related": event["related"]["kind"],
            })
        })
        .collect();
    events.sort_by_key(ToString::to_string);
    events
}

#[test]
fn pods_get_the_same_status_and_events_as_from_the_real_scheduler() {
    if let Some(why) = skipped() {
        eprintln!("skipped: {why}");
        return;
    }
    let cluster = ControlPlane::start(Options { has_scheduler: true, ..Options::default() });
    // The twins may each go to one node only, so that there is no choice.
    cluster.create_node("n0", "z0");
    let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                  profiles:\n- schedulerName: ours\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), config).unwrap();
    let path = file.path().to_str().unwrap();
    let live = Live::start(&cluster.kubeconfig(), &["--operate", "--config", path]);
    for (suffix, scheduler) in [("real", "default-scheduler"), ("ours", "ours")] {
        cluster.create_pod(&format!("fits-{suffix}"), scheduler, "100m");
        cluster.create_pod(&format!("big-{suffix}"), scheduler, "64");
        let no_node = json!({"nodeSelector": {"disk": "none"}});
        cluster.create_pod_with(&format!("picky-{suffix}"), scheduler, "1m", no_node);
        let gated = json!({"schedulingGates": [{"name": "example.com/gate"}]});
        cluster.create_pod_with(&format!("gated-{suffix}"), scheduler, "1m", gated);
    }
    let is_told = |name: &str| {
        let pod = cluster.pod(name).unwrap_or_default();
        pod["spec"].get("nodeName").is_some() || !pod["status"]["conditions"].is_null()
    };
    for name in ["fits-real", "fits-ours", "big-real", "big-ours", "picky-real", "picky-ours"] {
        wait_for(name, Duration::from_secs(30), || is_told(name));
        wait_for(name, Duration::from_secs(30), || !events_of(&cluster, name).is_empty());
    }
    for name in ["fits", "big", "picky", "gated"] {
        let (real, ours) = (format!("{name}-real"), format!("{name}-ours"));
        let (real_pod, our_pod) = (cluster.pod(&real).unwrap(), cluster.pod(&ours).unwrap());
        assert_eq!(status_of(&our_pod), status_of(&real_pod), "{name}");
        assert_eq!(our_pod["spec"].get("nodeName"), real_pod["spec"].get("nodeName"), "{name}");
        assert_eq!(events_of(&cluster, &ours), events_of(&cluster, &real), "{name}");
    }
    assert_eq!(live.end(), Some(0));
}
