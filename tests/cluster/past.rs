//! Going back in a live session and forking it, against a real cluster that must not notice.

use std::sync::Arc;
use std::time::Duration;

use schedscope::api::Kind;
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::breakpoints::{Condition, DebugCommand};
use schedscope::driver::desk::Desk;
use schedscope::driver::extender::HttpTransport;
use schedscope::driver::live::connect::{self, Connection};
use schedscope::driver::live::engine::{Engine, Mode};
use schedscope::driver::live::plugin::Terminal;
use schedscope::driver::live::session::{LiveCommand, LiveSetup, SessionThread, now, spawn_with_past};
use schedscope::driver::live::steering::Steering;
use schedscope::driver::session::{
    Aside, BackTo, Edit, RecordTo, RunState, SessionCommand as Tell, SessionHandle, SessionView,
};
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{Header, Slim};
use schedscope::scheduler::SchedulerOptions;
use serde_json::Value;

use super::harness::{ControlPlane, Options, is_skipped, wait_for};

const LIMIT: Duration = Duration::from_secs(30);

/// A console's session without its screen, for the profile `ours`.
fn session(cluster: &ControlPlane) -> (SessionHandle, SessionThread) {
    let registry = in_tree_registry();
    let gates = FeatureGates::default();
    let has_plugin = |name: &str| registry.contains(name);
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                profiles:\n- schedulerName: ours\n";
    let config = SchedulerConfig::load(text, LoadOptions { gates: &gates, has_plugin: &has_plugin }).unwrap();
    let profiles = || {
        let made = build_profiles(&config.profiles, &registry, &config.gates).unwrap();
        made.into_values().collect::<Vec<_>>()
    };
    let options = SchedulerOptions::default();
    let header = Header::new(&config, &options, now(), "cluster").unwrap();
    let kinds = [Kind::Node, Kind::Pod, Kind::Namespace];
    let engine = Engine::new(profiles(), profiles(), options, &kinds, Mode::Observe).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let connection = Connection { kubeconfig: Some(cluster.kubeconfig()), ..Connection::default() };
    let (client, target) = runtime.block_on(async {
        let (config, target) = connect::configure(&connection).await.unwrap();
        (connect::client(config, &connection, &Terminal::default()).await.unwrap(), target)
    });
    let setup = LiveSetup {
        served: None,
        steering: Steering::default(),
        engine,
        kinds: kinds.to_vec(),
        target,
        qps: 50.0,
        burst: 100,
        host: "test".to_owned(),
        transport: Arc::new(HttpTransport::new(&[]).unwrap()),
        is_running: true,
        election: None,
        recording_file: "".into(),
        is_armed: false,
    };
    let desk = Desk::new(header, Slim::default(), None);
    spawn_with_past(setup, &client, runtime, desk).unwrap()
}

fn until(session: &SessionHandle, what: &str, holds: impl Fn(&SessionView) -> bool) -> Arc<SessionView> {
    wait_for(what, LIMIT, || holds(&session.view()));
    session.view()
}

/// Nodes and pods as the server has them, but for what it counts by itself.
fn objects(cluster: &ControlPlane) -> Vec<Value> {
    let mut all = cluster.pods();
    all.extend(cluster.list("v1", "Node", "nodes", None));
    all.sort_by_key(|object| object["metadata"]["name"].to_string());
    all
}

#[test]
fn a_fork_of_a_live_cluster_is_edited_and_the_cluster_does_not_change() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options { has_audit: true, ..Options::default() });
    for i in 0..3 {
        cluster.create_node(&format!("n{i}"), "z0");
    }
    let (session, thread) = session(&cluster);
    cluster.create_pod("one", "ours", "1");
    cluster.create_pod("two", "ours", "1");
    cluster.create_pod("big", "ours", "64");
    until(&session, "three attempts", |view| view.scheduler.counts.cycles >= 3);
    let before = objects(&cluster);

    session.send(Tell::Pause);
    until(&session, "it is paused", |view| view.run_state == RunState::Paused && view.aside.is_none());
    session.send(Tell::Back(BackTo::Cycle));
    let past = until(&session, "the past is shown", |view| matches!(view.aside, Some(Aside::Past { .. })));
    assert!(past.moment.is_past() && past.live.is_some());
    session.send(Tell::StepPhase);
    session.send(Tell::StepCycle);
    session.send(Tell::Back(BackTo::Start));
    until(&session, "the beginning", |view| view.scheduler.counts.cycles == 0 && view.aside.is_some());
    session.send(Tell::ToEnd);
    until(&session, "the live cluster", |view| view.aside.is_none() && view.scheduler.counts.cycles >= 3);

    session.send(Tell::Fork);
    until(&session, "the fork", |view| view.aside == Some(Aside::Fork));
    let text = "apiVersion: v1\nkind: Node\nmetadata: {name: huge}\n\
                status: {allocatable: {cpu: '128', memory: 64Gi, pods: '110'}}\n";
    session.send(Tell::Edit(Edit::Apply { source: "test".to_owned(), text: text.to_owned() }));
    session.send(Tell::Edit(Edit::Cordon("n0".into())));
    session.send(Tell::Edit(Edit::DeletePod(schedscope::api::NamespacedName::new("default", "two"))));
    session.send(Tell::SetSpeed(schedscope::driver::session::Speed::Max));
    session.send(Tell::Run);
    let is_on_huge = |view: &SessionView| {
        let huge = view.scheduler.nodes.iter().find(|node| &**node.name() == "huge");
        huge.is_some_and(|node| node.pods().iter().any(|info| &*info.pod.metadata.name == "big"))
    };
    until(&session, "the big pod is bound in the fork", |view| is_on_huge(view));

    // The live view goes on: what comes meanwhile is there when one comes back.
    cluster.create_node("n3", "z0");
    session.send(Tell::ToBranch(0));
    until(&session, "the live cluster", |view| view.aside.is_none() && view.scheduler.counts.nodes == 4);
    session.send(Tell::ToBranch(1));
    until(&session, "the fork again", |view| view.aside == Some(Aside::Fork) && is_on_huge(view));
    session.send(Tell::ToBranch(0));
    until(&session, "the live cluster", |view| view.aside.is_none());
    session.send(Tell::Quit);
    assert!(thread.wait());

    let after: Vec<Value> =
        objects(&cluster).into_iter().filter(|object| object["metadata"]["name"] != "n3").collect();
    assert_eq!(after, before, "nothing in the cluster has changed");
    let writes: Vec<String> = cluster
        .audit()
        .iter()
        .filter(|line| line["userAgent"].as_str().is_some_and(|agent| agent.starts_with("schedscope")))
        .filter(|line| !["get", "list", "watch"].contains(&line["verb"].as_str().unwrap_or_default()))
        .map(|line| format!("{} {}", line["verb"], line["requestURI"]))
        .collect();
    assert_eq!(writes, Vec::<String>::new());
}

#[test]
fn a_breakpoint_pauses_an_armed_scheduler_before_anything_is_bound() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let (session, thread) = session(&cluster);
    until(&session, "it has started", |view| view.live.as_ref().is_some_and(|live| live.has_started));
    let condition = Condition::parse("pod == stop && point == Score").unwrap();
    session.send(Tell::Debug(DebugCommand::Break { condition, is_once: true, n_ignored: 0 }));
    session.send(Tell::Live(LiveCommand::Arm));
    cluster.create_pod("go", "ours", "1");
    let node_of = |name: &str| cluster.pod(name).unwrap()["spec"].get("nodeName").cloned();
    wait_for("the first pod is bound", LIMIT, || node_of("go").is_some());
    cluster.create_node("n1", "z0");
    cluster.create_pod("stop", "ours", "1");
    cluster.create_pod("behind", "ours", "1");
    let view = until(&session, "it has stopped", |view| view.debug.stopped.is_some());
    assert_eq!(view.run_state, RunState::Paused);
    // The queue fills, and one can look at the past meanwhile.
    until(&session, "the queue fills", |view| view.scheduler.counts.active >= 1);
    session.send(Tell::Back(BackTo::Start));
    until(&session, "the past", |view| matches!(view.aside, Some(Aside::Past { .. })));
    session.send(Tell::StepCycle);
    session.send(Tell::StepCycle);
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!((node_of("stop"), node_of("behind")), (None, None));
    session.send(Tell::ToEnd);
    until(&session, "the live cluster", |view| view.aside.is_none());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("live.rec");
    session.send(Tell::Record(RecordTo::File(path.clone())));
    until(&session, "it is recorded", |view| view.known.recorder.is_some());
    session.send(Tell::Run);
    wait_for("both are bound", LIMIT, || node_of("stop").is_some() && node_of("behind").is_some());
    session.send(Tell::StopRecording);
    until(&session, "the recording has ended", |view| view.known.recorder.is_none());
    session.send(Tell::Quit);
    assert!(thread.wait());
    let checked = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["replay", "--check"])
        .arg(&path)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
