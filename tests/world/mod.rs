//! A cluster that lives: what its kubelets, controllers and its autoscaler do, by the rules of the Kubernetes documents.

mod budgets;
mod documents;
mod nodes;
mod pods;
mod properties;
mod workloads;

use std::sync::Arc;

use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::Pod;
use schedscope::api::{Duration, NamespacedName, Time};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::controllers::Controllers;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::sandbox::world::{WorkloadRow, WorldOrder, WorldSettings};
use schedscope::driver::session::Edit;
use schedscope::scheduler::SchedulerOptions;

use crate::support::test_plugins::Calls;
use crate::support::world::{drain, frameworks};

const START: Time = Time::from_secs(1_767_225_600);
const SECOND: Duration = Duration::from_secs(1);

/// A cluster that lives, of that manifest.
fn living(manifest: &str) -> Simulator {
    living_with(manifest, "all", 1)
}

fn living_with(manifest: &str, parts: &str, seed: u64) -> Simulator {
    let sources = [Source { name: "test.yaml".to_owned(), text: manifest.to_owned() }];
    let mut loaded = load(&sources).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(loaded.living_errors.total, 0, "{}", loaded.living_errors);
    let living = std::mem::take(&mut loaded.living);
    let (mut api, _) =
        SandboxApi::from_manifests(loaded, &sources, START).expect("objects that are admitted");
    api.begin_to_live();
    let settings = WorldSettings::default().with_parts(parts).unwrap();
    let controllers = Controllers::new(seed).with_world(settings, living);
    let options = SchedulerOptions { seed, ..SchedulerOptions::default() };
    let mut simulator =
        Simulator::new(frameworks(None, &Calls::default(), &options.gates), options, api, START)
            .unwrap()
            .with_controllers(controllers);
    drain(&mut simulator);
    simulator
}

/// Makes attempts and lets time go, attempts first.
fn run_for(simulator: &mut Simulator, time: Duration) {
    run_checked(simulator, time, |_| {});
}

/// The same, with a look at every stop.
fn run_checked(simulator: &mut Simulator, time: Duration, mut check: impl FnMut(&Simulator)) {
    let end = simulator.now() + time;
    drain(simulator);
    check(simulator);
    while simulator.next_timeout().is_some_and(|(at, _)| at <= end) {
        simulator.go_to_next_timeout();
        check(simulator);
        drain(simulator);
        check(simulator);
    }
    simulator.let_time_go_to(end);
    drain(simulator);
    check(simulator);
}

fn pods(simulator: &Simulator, prefix: &str) -> Vec<Arc<Pod>> {
    let all = simulator.api().objects().pods.values();
    all.filter(|pod| pod.metadata.name.starts_with(prefix)).cloned().collect()
}

fn names(simulator: &Simulator, prefix: &str) -> Vec<String> {
    pods(simulator, prefix).iter().map(|pod| pod.metadata.name.to_string()).collect()
}

fn pod(simulator: &Simulator, name: &str) -> Option<Arc<Pod>> {
    simulator.api().objects().pods.get(&NamespacedName::new("default", name)).cloned()
}

fn is_ready(pod: &Pod) -> bool {
    pod.condition("Ready").is_some_and(|condition| condition.status == "True")
}

fn row(simulator: &Simulator, name: &str) -> WorkloadRow {
    let view = simulator.world_view().unwrap();
    view.workloads.into_iter().find(|row| *row.key.name == *name).unwrap()
}

fn order(simulator: &mut Simulator, order: WorldOrder) -> Result<String, String> {
    let said = simulator.edit(&Edit::World(order));
    drain(simulator);
    said
}

fn apply(simulator: &mut Simulator, text: &str) -> Result<String, String> {
    let edit = Edit::Apply { source: "test".to_owned(), text: text.to_owned() };
    let said = simulator.edit(&edit);
    drain(simulator);
    said
}

/// What was done, `reason object`.
fn deeds(simulator: &Simulator) -> Vec<String> {
    let journal = simulator.controllers().unwrap();
    journal.deeds().iter().map(|deed| format!("{} {}", deed.reason, deed.object.name)).collect()
}

/// Nodes `n-1` to `n-COUNT` with 4 cores each.
fn nodes(count: usize) -> String {
    (1..=count)
        .map(|n| {
            format!(
                "{{apiVersion: v1, kind: Node, metadata: {{name: n-{n}, labels: {{kubernetes.io/hostname: n-{n}}}}}, \
                 status: {{allocatable: {{cpu: '4', memory: 8Gi, pods: '20'}}, conditions: [{{type: Ready, status: 'True'}}]}}}}\n---\n"
            )
        })
        .collect()
}

/// A Deployment in the shape of the documentation's page on Deployments.
fn deployment(replicas: u32, image: &str, strategy: &str) -> String {
    format!(
        "
apiVersion: apps/v1
kind: Deployment
metadata:
  name: nginx-deployment
  labels:
    app: nginx
spec:
  replicas: {replicas}
  {strategy}
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      labels:
        app: nginx
    spec:
      containers:
      - name: nginx
        image: {image}
        ports:
        - containerPort: 80
        resources: {{requests: {{cpu: 100m}}}}
---
"
    )
}
