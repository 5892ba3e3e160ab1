//! A real kube-scheduler as a client that schedules in a sandbox.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{Api, ListParams, PostParams};

use super::harness::{Served, pod};
use crate::cluster::{built, is_skipped};

const N_NODES: usize = 100;
const N_PODS: usize = 1_000;

/// A scheduler that ends with the value.
struct Scheduler(Child);

impl Drop for Scheduler {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn cluster() -> String {
    let mut text = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n".to_owned();
    for n in 0..N_NODES {
        write!(
            text,
            "---\napiVersion: v1\nkind: Node\nmetadata: {{name: node-{n}, labels: {{kubernetes.io/hostname: node-{n}, \
             topology.kubernetes.io/zone: zone-{}}}}}\nstatus:\n  allocatable: {{cpu: \"8\", memory: 16Gi, pods: \
             \"110\"}}\n  conditions: [{{type: Ready, status: \"True\"}}]\n",
            n % 3
        )
        .unwrap();
    }
    text
}

#[test]
fn a_real_scheduler_schedules_a_thousand_pods_in_a_sandbox() {
    if is_skipped() {
        return;
    }
    let served = Served::start(&cluster(), &["--no-scheduler"]);
    let log = served.file("scheduler.log", "");
    let program = built().as_ref().unwrap();
    let flag = |name: &str| format!("--{name}={}", served.kubeconfig().display());
    let _scheduler = Scheduler(
        Command::new(program)
            .arg("kube-scheduler")
            .args([flag("kubeconfig"), flag("authentication-kubeconfig"), flag("authorization-kubeconfig")])
            .args(["--leader-elect=true", "--secure-port=0", "--kube-api-qps=2000", "--kube-api-burst=4000"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&log).unwrap())
            .spawn()
            .unwrap(),
    );
    served.until("leadership", || {
        let (_, lease) =
            served.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler");
        lease["spec"]["holderIdentity"].is_string()
    });
    let pods: Api<Pod> = Api::namespaced(served.client.clone(), "shop");
    let began = Instant::now();
    served.runtime.block_on(async {
        for n in 0..N_PODS {
            let new = serde_json::from_value(pod(&format!("p-{n}"), "100m")).unwrap();
            pods.create(&PostParams::default(), &new).await.unwrap();
        }
    });
    let made = began.elapsed();
    let unbound = ListParams::default().fields("spec.nodeName=");
    let n_unbound = || served.runtime.block_on(pods.list_metadata(&unbound)).unwrap().items.len();
    while n_unbound() > 0 {
        let said = std::fs::read_to_string(&log).unwrap_or_default();
        assert!(began.elapsed() < Duration::from_secs(180), "{} are not bound\n{said}", n_unbound());
        std::thread::sleep(Duration::from_millis(50));
    }
    let bound = began.elapsed();
    eprintln!("{N_PODS} pods were made in {made:.1?} and bound {bound:.1?} after the first");
    let mut per_node: BTreeMap<String, usize> = BTreeMap::new();
    for pod in served.runtime.block_on(pods.list(&ListParams::default())).unwrap() {
        let scheduled = pod.status.unwrap().conditions.unwrap();
        assert!(scheduled.iter().any(|it| it.type_ == "PodScheduled" && it.status == "True"));
        *per_node.entry(pod.spec.unwrap().node_name.unwrap()).or_default() += 1;
    }
    assert_eq!(per_node.len(), N_NODES);
    assert!(per_node.values().all(|n| (8..=12).contains(n)), "{per_node:?}");
    // One that fits nowhere, and one that makes room for itself.
    served.create_pod("big", "64");
    let events: Api<Event> = Api::namespaced(served.client.clone(), "shop");
    let failures = ListParams::default().fields("involvedObject.name=big,reason=FailedScheduling");
    served.until("a failure", || !served.runtime.block_on(events.list(&failures)).unwrap().items.is_empty());
    let class = serde_json::json!({"metadata": {"name": "high"}, "value": 1000});
    served.create("/apis/scheduling.k8s.io/v1/priorityclasses", &class);
    let mut high = pod("high", "7500m");
    high["spec"]["priorityClassName"] = "high".into();
    served.create("/api/v1/namespaces/shop/pods", &high);
    served.until("preemption", || {
        let (_, list) = served.get("/api/v1/namespaces/shop/pods");
        let items = list["items"].as_array().unwrap();
        items.iter().any(|pod| pod["metadata"]["deletionTimestamp"].is_string())
    });
    let (_, high) = served.get("/api/v1/namespaces/shop/pods/high");
    assert!(high["status"]["nominatedNodeName"].is_string(), "{high}");
}
