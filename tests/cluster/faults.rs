//! Busy servers, broken connections, lost watches, and others who bind: nothing is lost, nothing is bound twice.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::harness::{ControlPlane, Live, Options, is_skipped, wait_for};
use super::proxy::{Fault, Proxy, binding, binding_to};

const PATIENCE: Duration = Duration::from_secs(60);

/// A cluster, the way to it, and a scheduler named `ours`.
struct World {
    cluster: ControlPlane,
    proxy: Proxy,
    live: Option<Live>,
    _config: tempfile::NamedTempFile,
}

impl World {
    fn new(nodes: &[&str]) -> Self {
        let cluster = ControlPlane::start(Options::default());
        for node in nodes {
            cluster.create_node(node, "z0");
        }
        let proxy = Proxy::start(&cluster);
        let config = tempfile::NamedTempFile::new().unwrap();
        let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                    leaderElection: {leaderElect: false}\nprofiles:\n- schedulerName: ours\n";
        std::fs::write(config.path(), text).unwrap();
        Self { cluster, proxy, live: None, _config: config }
    }

    fn start(&mut self) {
        let path: &Path = self._config.path();
        let arguments = ["--operate", "--config", path.to_str().unwrap()];
        self.live = Some(Live::start(self.proxy.kubeconfig(), &arguments));
    }

    fn pod(&self, name: &str, cpu: &str) {
        self.cluster.create_pod(name, "ours", cpu);
    }

    fn node_of(&self, name: &str) -> Option<String> {
        Some(self.cluster.pod(name)?["spec"]["nodeName"].as_str()?.to_owned())
    }

    #[track_caller]
    fn wait_bound(&self, name: &str) {
        wait_for(&format!("{name} is bound"), PATIENCE, || self.node_of(name).is_some());
    }

    /// How often the server has bound a pod for this scheduler, and how often it was asked to, here or there.
    fn binds(&self, name: &str) -> (usize, usize) {
        let all = self.proxy.exchanges("POST", &binding(name));
        (all.iter().filter(|exchange| exchange.status == 201).count(), all.len())
    }

    fn events(&self, name: &str, reason: &str) -> usize {
        let events = self.cluster.list("events.k8s.io/v1", "Event", "events", Some("default"));
        events.iter().filter(|event| event["regarding"]["name"] == name && event["reason"] == reason).count()
    }

    fn end(mut self) {
        assert_eq!(self.live.take().unwrap().end(), Some(0));
    }
}

#[test]
fn what_a_busy_server_puts_off_is_sent_again_when_it_says_so() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0"]);
    world.start();
    for (name, fault) in [
        ("many", Fault::Answer(429, Some(1))),
        ("down", Fault::Answer(503, Some(1))),
        ("slow", Fault::Answer(504, Some(1))),
    ] {
        world.proxy.fault("POST", &[&binding(name)], fault, 2);
        let start = Instant::now();
        world.pod(name, "10m");
        world.wait_bound(name);
        assert!(
            start.elapsed() >= Duration::from_secs(2),
            "{name}: the server asked for two pauses of a second"
        );
        assert_eq!(world.binds(name), (1, 3), "{name}");
        assert_eq!(world.events(name, "FailedScheduling"), 0, "{name}: the attempt has not failed");
    }
    // Client-go gives up after ten: then the attempt fails, and the next one binds.
    world.proxy.fault("POST", &[&binding("never")], Fault::Answer(429, Some(0)), 11);
    world.pod("never", "10m");
    world.wait_bound("never");
    assert_eq!(world.binds("never"), (1, 12));
    wait_for("the failure is told", PATIENCE, || world.events("never", "FailedScheduling") == 1);
    world.end();
}

#[test]
fn a_bind_that_fails_is_tried_anew_and_the_pod_is_bound_once() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0"]);
    world.start();
    for (name, fault, binds) in [
        ("conflict", Fault::Answer(409, None), (1, 2)),
        ("internal", Fault::Answer(500, None), (1, 2)),
        ("unavailable", Fault::Answer(503, None), (1, 2)),
        ("broken", Fault::Broken, (1, 2)),
        // The server has done it, and nobody knows: what the watch says counts, and nothing is bound again.
        ("unheard", Fault::AnswerLost, (0, 1)),
    ] {
        world.proxy.fault("POST", &[&binding(name)], fault, 1);
        world.pod(name, "10m");
        world.wait_bound(name);
        if binds.1 == 2 {
            wait_for(name, PATIENCE, || world.binds(name) == binds);
            wait_for(name, PATIENCE, || world.events(name, "FailedScheduling") == 1);
        } else {
            std::thread::sleep(Duration::from_secs(3));
            assert_eq!(world.binds(name), binds, "{name}");
        }
    }
    // The condition is what it is for, however often the server says no on the way.
    for (name, fault) in [
        ("patch-conflict", Fault::Answer(409, None)),
        ("patch-internal", Fault::Answer(500, None)),
        ("patch-busy", Fault::Answer(429, Some(1))),
    ] {
        world.proxy.fault("PATCH", &[&format!("/pods/{name}/status")], fault, 3);
        world.pod(name, "64");
        wait_for("the pod is told why it waits", PATIENCE, || {
            let pod = world.cluster.pod(name).unwrap();
            pod["status"]["conditions"][0]["reason"] == "Unschedulable"
        });
        assert_eq!(world.proxy.exchanges("PATCH", &format!("/pods/{name}/status")).len(), 4, "{name}");
    }
    world.end();
}

#[test]
fn after_410_the_kind_is_listed_anew_and_what_was_missed_counts() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0"]);
    world.start();
    world.pod("first", "3");
    world.wait_bound("first");
    wait_for("the bind is answered", PATIENCE, || world.binds("first").0 == 1);
    // While nobody watches, the room of the first pod becomes free and a pod comes that needs it.
    world.proxy.fault("GET", &["/api/v1/pods", "watch=true"], Fault::Broken, 2);
    world.proxy.fault("GET", &["/api/v1/pods", "watch=true"], Fault::Gone, 1);
    world.proxy.cut();
    world.cluster.delete_pod("first");
    world.pod("second", "3");
    world.wait_bound("second");
    let gone =
        world.proxy.exchanges("GET", "/api/v1/pods").iter().filter(|exchange| exchange.status == 410).count();
    assert_eq!(gone, 1, "the watch was told 410");
    assert_eq!(world.binds("second").0, 1);
    assert_eq!(world.binds("first"), (1, 1), "nothing is bound that is gone");
    world.end();
}

/// The scheduler says that a pod has no room, and before that is written there is room: the pod is bound, and what was
/// said of it before does not come after that.
#[test]
fn what_is_said_of_a_pod_never_overtakes_its_bind() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0"]);
    let held = Duration::from_secs(2);
    world.proxy.fault("PATCH", &["/pods/second/status"], Fault::Held(held), 1);
    world.start();
    world.pod("first", "3");
    world.wait_bound("first");
    wait_for("the bind is answered", PATIENCE, || world.binds("first").0 == 1);
    world.pod("second", "3");
    let said = || !world.proxy.exchanges("PATCH", "/pods/second/status").is_empty();
    wait_for("there is no room", PATIENCE, || world.events("second", "FailedScheduling") > 0);
    assert!(!said(), "what is said of it is held");
    world.cluster.delete_pod("first");
    world.wait_bound("second");
    wait_for("what is said of it is written", PATIENCE, said);
    let status = world.cluster.pod("second").unwrap()["status"].clone();
    let conditions = status["conditions"].as_array().unwrap();
    let scheduled = conditions.iter().find(|condition| condition["type"] == "PodScheduled").unwrap();
    assert_eq!(scheduled["status"], "True", "{status}");
    world.end();
}

#[test]
fn slow_watches_make_no_node_too_full() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0"]);
    world.proxy.fault("GET", &["/api/v1/pods", "watch=true"], Fault::Slow(Duration::from_millis(400)), 100);
    world.start();
    let names: Vec<String> = (0..8).map(|i| format!("p{i}")).collect();
    for name in &names {
        world.pod(name, "1");
    }
    let bound = || names.iter().filter(|name| world.node_of(name).is_some()).count();
    wait_for("the node is full", PATIENCE, || bound() == 4);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(bound(), 4, "the node has four CPUs");
    for name in &names {
        assert!(world.binds(name).0 <= 1, "{name}");
        if world.node_of(name).is_some() {
            world.cluster.delete_pod(name);
        }
    }
    wait_for("the others follow", PATIENCE, || bound() == 4);
    world.end();
}

#[test]
fn a_pod_that_is_deleted_during_its_bind_leaves_its_room_to_the_next() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0"]);
    world.start();
    world.proxy.fault("POST", &[&binding("doomed")], Fault::Held(Duration::from_secs(2)), 1);
    world.pod("doomed", "3");
    std::thread::sleep(Duration::from_millis(800));
    world.cluster.delete_pod("doomed");
    world.pod("next", "3");
    world.wait_bound("next");
    wait_for("the bind is answered", PATIENCE, || world.binds("doomed").1 == 1);
    assert_eq!(world.binds("doomed"), (0, 1));
    assert_eq!(world.proxy.exchanges("POST", &binding("doomed"))[0].status, 404);
    assert_eq!(world.binds("next").0, 1);
    world.end();
}

#[test]
fn a_pod_that_another_scheduler_binds_first_stays_where_it_is() {
    if is_skipped() {
        return;
    }
    let mut world = World::new(&["n0", "n1"]);
    world.start();
    world.proxy.fault("POST", &[&binding("wanted")], Fault::Held(Duration::from_secs(2)), 1);
    // There is room on n0 alone.
    world.cluster.create_pod_with(
        "wanted",
        "ours",
        "3",
        json!({"nodeSelector": {"kubernetes.io/hostname": "n0"}}),
    );
    std::thread::sleep(Duration::from_millis(800));
    let path = "/api/v1/namespaces/default/pods/wanted/binding";
    world.cluster.send("POST", path, "application/json", &binding_to("wanted", "n1")).unwrap();
    wait_for("ours is answered", PATIENCE, || world.binds("wanted").1 == 1);
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(world.proxy.exchanges("POST", &binding("wanted"))[0].status, 409);
    assert_eq!(world.binds("wanted"), (0, 1), "it is not tried again");
    assert_eq!(world.node_of("wanted").as_deref(), Some("n1"));
    // It counts where it is, and not where it was to go.
    world.pod("next", "3");
    world.wait_bound("next");
    assert_eq!(world.node_of("next").as_deref(), Some("n0"));
    world.end();
}

#[test]
fn pods_that_are_being_bound_while_the_server_restarts_are_all_bound_once() {
    if is_skipped() {
        return;
    }
    let names: Vec<String> = (0..3).map(|i| format!("n{i}")).collect();
    let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = World::new(&nodes);
    // Requests are spread over some seconds, so that the server goes away in the middle of them.
    for i in 0..120 {
        world.pod(&format!("p{i}"), "10m");
    }
    world.start();
    wait_for("some are bound", PATIENCE, || !world.proxy.exchanges("POST", "/binding").is_empty());
    world.cluster.restart(Options::default());
    let bound = |pods: &[Value]| pods.iter().filter(|pod| pod["spec"].get("nodeName").is_some()).count();
    wait_for("all are bound", Duration::from_secs(120), || bound(&world.cluster.pods()) == 120);
    for i in 0..120 {
        assert!(world.binds(&format!("p{i}")).0 <= 1, "p{i} was bound twice");
    }
    // Nothing is left behind: the nodes take exactly what is left of their room.
    world.pod("large", "3");
    world.wait_bound("large");
    world.end();
}
