//! Being the scheduler of a cluster.

use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{ControlPlane, Live, Options, configuration, is_bound, is_skipped, wait_for};

/// What is left of a pod's status when times are taken away.
pub fn status_of(pod: &Value) -> Value {
    let mut status = pod["status"].clone();
    for condition in status["conditions"].as_array_mut().into_iter().flatten() {
        condition["lastTransitionTime"] = Value::Null;
    }
    status
}

/// The Events about a pod without times, names and components, in the order of reason and note.
pub fn events_of(cluster: &ControlPlane, pod: &str) -> Vec<Value> {
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
    if is_skipped() {
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

#[test]
fn a_second_instance_stands_by_and_takes_over_when_the_leader_is_killed() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let config = configuration("ours", "");
    let arguments = ["--operate", "--config", config.path().to_str().unwrap()];
    let first = Live::start(&cluster.kubeconfig(), &arguments);
    cluster.create_pod("one", "ours", "10m");
    wait_for("the leader binds", Duration::from_secs(30), || is_bound(&cluster, "one"));
    let second = Live::start(&cluster.kubeconfig(), &arguments);
    std::thread::sleep(Duration::from_secs(3));
    first.kill();
    cluster.create_pod("two", "ours", "10m");
    wait_for("the second one takes over", Duration::from_secs(40), || is_bound(&cluster, "two"));
    let leases = cluster.list("coordination.k8s.io/v1", "Lease", "leases", Some("kube-system"));
    let lease = leases.iter().find(|lease| lease["metadata"]["name"] == "kube-scheduler").unwrap();
    assert_eq!(lease["spec"]["leaseTransitions"], 1);
    assert_eq!(second.end(), Some(0));
    // A leader that ends in peace gives the lease back.
    let leases = cluster.list("coordination.k8s.io/v1", "Lease", "leases", Some("kube-system"));
    let lease = leases.iter().find(|lease| lease["metadata"]["name"] == "kube-scheduler").unwrap();
    assert_eq!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default(), "");
}

#[test]
fn pods_are_bound_again_after_the_api_server_was_away() {
    if is_skipped() {
        return;
    }
    let mut cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let config = configuration("ours", "");
    let arguments = ["--operate", "--leader-elect=false", "--config", config.path().to_str().unwrap()];
    let live = Live::start(&cluster.kubeconfig(), &arguments);
    cluster.create_pod("before", "ours", "10m");
    wait_for("it binds", Duration::from_secs(30), || is_bound(&cluster, "before"));
    cluster.restart(Options::default());
    cluster.create_pod("after", "ours", "10m");
    cluster.delete_pod("before");
    wait_for("it binds again", Duration::from_secs(60), || is_bound(&cluster, "after"));
    assert_eq!(cluster.pods().len(), 1);
    assert_eq!(live.end(), Some(0));
}
