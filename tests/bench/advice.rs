//! How long explaining a pod and finding fixes for it takes on 5,000 nodes with 20,000 pods, cause by cause.

#![expect(clippy::unwrap_used, reason = "a benchmark may end at once")]

use std::ops::ControlFlow;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use schedscope::api::manifest::{Source, load};
use schedscope::api::{NamespacedName, Time};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::fix::{FixQuestion, find};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::explain::report::explain;
use schedscope::framework::runtime::build_profiles;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::SchedulerOptions;
use serde_json::{Value, json};

const N_NODES: usize = 5_000;
const N_PODS_PER_NODE: usize = 4;

fn node(i: usize) -> Value {
    let name = format!("node-{i}");
    let pool = if i.is_multiple_of(10) { "gpu" } else { "general" };
    let taints = if pool == "gpu" {
        json!([{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}])
    } else {
        json!([])
    };
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "kubernetes.io/hostname": name, "pool": pool,
            "topology.kubernetes.io/zone": format!("zone-{}", i % 3),
        }},
        "spec": {"taints": taints, "unschedulable": i % 50 == 7},
        "status": {"allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"}},
    })
}

fn pod(name: &str, cpu: &str, labels: &Value, spec: &Value) -> Value {
    let mut whole = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]},
    });
    for (key, value) in spec.as_object().unwrap() {
        whole["spec"][key] = value.clone();
    }
    whole
}

fn cluster() -> Simulator {
    let mut items: Vec<Value> = (0..N_NODES).map(node).collect();
    for i in 0..N_NODES {
        for n in 0..N_PODS_PER_NODE {
            let spec = json!({"nodeName": format!("node-{i}"), "priority": n});
            items.push(pod(&format!("running-{i}-{n}"), "7", &json!({"app": "web"}), &spec));
        }
    }
    let text = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let sources = [Source { name: "cluster.json".to_owned(), text }];
    let start = Time::from_secs(1_767_225_600);
    let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, start).unwrap();
    let (registry, gates) = (in_tree_registry(), FeatureGates::default());
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let config = SchedulerConfig::with_defaults(options);
    let profiles = build_profiles(&config.profiles, &registry, &config.gates).unwrap();
    let options = SchedulerOptions::default().configured(&config);
    Simulator::new(profiles.into_values().collect(), options, api, start).unwrap()
}

/// Pods that do not run, each for a common cause.
fn causes() -> Vec<(&'static str, Value)> {
    let none = json!({});
    let anti = json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}]}}});
    let spread = json!({"nodeSelector": {"topology.kubernetes.io/zone": "zone-1"}, "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
         "nodeAffinityPolicy": "Ignore", "labelSelector": {"matchLabels": {"app": "web"}}, "minDomains": 9}]});
    vec![
        ("cpu", pod("cpu", "6", &none, &none)),
        ("taint", pod("taint", "1", &none, &json!({"nodeSelector": {"pool": "gpu"}}))),
        ("selector", pod("selector", "1", &none, &json!({"nodeSelector": {"disk": "nvme"}}))),
        ("anti-affinity", pod("anti-affinity", "1", &none, &anti)),
        ("spread", pod("spread", "1", &json!({"app": "web"}), &spread)),
        ("gate", pod("gate", "1", &none, &json!({"schedulingGates": [{"name": "wait"}]}))),
    ]
}

fn advice(criterion: &mut Criterion) {
    let cluster = cluster();
    let mut with: Vec<(&str, Simulator)> = Vec::new();
    for (name, pod) in causes() {
        let mut copy = cluster.clone();
        copy.edit(&Edit::Apply { source: name.to_owned(), text: pod.to_string() }).unwrap();
        with.push((name, copy));
    }
    let mut group = criterion.benchmark_group("explain_5000_nodes");
    group.sample_size(10);
    for (name, simulator) in &with {
        let key = NamespacedName::new("default", *name);
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| explain(simulator.scheduler(), &key, None).unwrap());
        });
    }
    group.finish();
    let mut group = criterion.benchmark_group("fix_5000_nodes");
    group.sample_size(10);
    for (name, simulator) in &with {
        let question = FixQuestion::any(NamespacedName::new("default", *name));
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| {
                let report = find(simulator, &question, &mut |_| ControlFlow::Continue(())).unwrap();
                assert!(!report.fixes.is_empty());
                report
            });
        });
    }
    group.finish();
}

criterion_group!(benches, advice);
criterion_main!(benches);
