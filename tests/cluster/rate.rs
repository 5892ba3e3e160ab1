//! How fast pods are bound, beside the real scheduler on the same machine in the same run.
//!
//! Each scheduler gets a control plane of its own with the same nodes and pods, which are there before it starts. The
//! figure is pods a second between the first and the last bind. `SCHEDSCOPE_BIN` names the program that is measured,
//! such as a release build; the one that was built for tests is slow, and is only held to binding everything.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use super::harness::{ControlPlane, Options, built, is_skipped};

/// So long all pods have to be bound.
const PATIENCE: Duration = Duration::from_secs(280);

/// How large the cluster is.
#[derive(Clone, Copy)]
struct Size {
    nodes: usize,
    pods: usize,
}

/// What is measured.
const WHOLE: Size = Size { nodes: 500, pods: 2_000 };
/// What a build for tests is held to.
const SMALL: Size = Size { nodes: 50, pods: 200 };

fn api(cluster: &ControlPlane, kind: &str, plural: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("", "v1", kind), plural);
    match kind {
        "Pod" => Api::namespaced_with(cluster.client(), "default", &resource),
        _ => Api::all_with(cluster.client(), &resource),
    }
}

fn create_all(cluster: &ControlPlane, kind: &str, plural: &str, objects: impl Iterator<Item = Value>) {
    let api = api(cluster, kind, plural);
    cluster.runtime().block_on(async {
        stream::iter(objects)
            .map(|object| {
                let api = api.clone();
                async move {
                    let object: DynamicObject = serde_json::from_value(object).unwrap();
                    api.create(&PostParams::default(), &object).await.unwrap();
                }
            })
            .buffer_unordered(16)
            .for_each(|()| async {})
            .await;
    });
}

fn fill(cluster: &ControlPlane, size: Size) {
    let room = json!({"cpu": "8", "memory": "32Gi", "pods": "110"});
    let nodes = (0..size.nodes).map(|i| {
        let name = format!("n{i}");
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {
                "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": format!("z{}", i % 3),
            }},
            // A node may bring its status along.
            "status": {"allocatable": room, "capacity": room, "conditions": [{"type": "Ready", "status": "True"}]},
        })
    });
    create_all(cluster, "Node", "nodes", nodes);
    let pods = (0..size.pods).map(|i| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": format!("p{i}"), "namespace": "default", "labels": {"app": format!("a{}", i % 20)}},
            "spec": {"containers": [{"name": "c", "image": "x", "resources": {
                "requests": {"cpu": format!("{}m", 50 + i % 7 * 10), "memory": "64Mi"},
            }}]},
        })
    });
    create_all(cluster, "Pod", "pods", pods);
}

/// A scheduler that ends with the value, whatever happens to the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Pods a second between the first bind and the last one.
fn measure(size: Size, start: impl FnOnce(&ControlPlane, &Path) -> Child) -> f64 {
    let cluster = ControlPlane::start(Options::default());
    fill(&cluster, size);
    let config = tempfile::NamedTempFile::new().unwrap();
    let text = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": cluster.kubeconfig(), "qps": 5_000, "burst": 5_000},
        "leaderElection": {"leaderElect": false},
    });
    std::fs::write(config.path(), text.to_string()).unwrap();
    let _scheduler = Running(start(&cluster, config.path()));
    let pods = api(&cluster, "Pod", "pods");
    cluster.runtime().block_on(async {
        let watched = WatchParams::default().fields("spec.nodeName!=").timeout(290);
        let (mut bound, mut first) = (BTreeSet::new(), None);
        let end = Instant::now() + PATIENCE;
        // The server ends a watch that it has to wait for; a new one tells of all again.
        while Instant::now() < end {
            let Ok(events) = pods.watch(&watched, "0").await else { continue };
            let mut events = events.boxed();
            while let Ok(Some(event)) = events.try_next().await {
                let (WatchEvent::Added(pod) | WatchEvent::Modified(pod)) = event else { continue };
                bound.insert(pod.metadata.name.unwrap());
                let first = first.get_or_insert_with(Instant::now);
                if bound.len() == size.pods {
                    return (size.pods - 1) as f64 / first.elapsed().as_secs_f64();
                }
            }
        }
        panic!("{} of {} pods are bound", bound.len(), size.pods);
    })
}

#[test]
fn two_thousand_pods_are_bound_to_500_nodes_about_as_fast_as_by_the_real_scheduler() {
    if is_skipped() {
        return;
    }
    let measured = std::env::var_os("SCHEDSCOPE_BIN").map(PathBuf::from);
    let program = measured.clone().unwrap_or_else(|| env!("CARGO_BIN_EXE_schedscope").into());
    let size = if measured.is_some() { WHOLE } else { SMALL };
    let ours = measure(size, |cluster, config| {
        Command::new(&program)
            .args(["live", "-o", "json", "--log", "error", "--operate", "--kubeconfig"])
            .arg(cluster.kubeconfig())
            .arg("--config")
            .arg(config)
            .stdout(Stdio::null())
            .spawn()
            .unwrap()
    });
    let theirs = measure(size, |_, config| {
        Command::new(built().as_ref().unwrap())
            .args(["kube-scheduler", "--bind-address=127.0.0.1", "--secure-port=0", "--config"])
            .arg(config)
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    });
    let ratio = ours / theirs;
    eprintln!("{ours:.0} pods/s, the real scheduler {theirs:.0} pods/s: {ratio:.2}");
    if measured.is_some() {
        assert!(ratio > 0.5, "{ratio:.2}");
    }
    // Whoever binds faster than pods can be told apart has measured nothing.
    assert!(ours < 100_000.0 && Duration::from_secs_f64(size.pods as f64 / ours) > Duration::from_millis(5));
}
