//! A sandbox from a few lines of manifest.

use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::Pod;
use schedscope::api::{NamespacedName, Time};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::framework::Framework;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::SchedulerOptions;

use super::test_plugins::{Calls, register};

/// Where simulated time begins in tests.
pub const START: Time = Time::from_secs(1_767_225_600);

/// A profile with the default plugins and, behind them, the test plugins.
pub const WITH_TEST_PLUGINS: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled:
      - name: TestReserveA
      - name: TestReserveB
      - name: TestPermitA
      - name: TestPermitB
      - name: TestPreBind
      - name: TestPostBind
";

/// The profiles of a configuration, with the test plugins at hand.
pub fn frameworks(config: Option<&str>, calls: &Calls, gates: &FeatureGates) -> Vec<Framework> {
    let mut registry = in_tree_registry();
    register(&mut registry, calls).unwrap();
    let options = LoadOptions { gates, has_plugin: &|name| registry.contains(name) };
    let config = match config {
        Some(text) => SchedulerConfig::load(text, options).expect("a configuration"),
        None => SchedulerConfig::with_defaults(options),
    };
    config.profiles.iter().map(|profile| Framework::new(profile, &registry, gates).unwrap()).collect()
}

/// A sandbox on a manifest with the default profile.
pub fn sandbox(manifest: &str) -> Simulator {
    build(manifest, None, &Calls::default(), SchedulerOptions::default())
}

/// A sandbox on a manifest whose profile has the test plugins too.
pub fn sandbox_with_test_plugins(manifest: &str) -> (Simulator, Calls) {
    let calls = Calls::default();
    let simulator = build(manifest, Some(WITH_TEST_PLUGINS), &calls, SchedulerOptions::default());
    (simulator, calls)
}

/// A sandbox on a manifest.
pub fn build(manifest: &str, config: Option<&str>, calls: &Calls, options: SchedulerOptions) -> Simulator {
    let sources = [Source { name: "test".to_owned(), text: manifest.to_owned() }];
    let loaded = load(&sources).expect("a manifest");
    let (api, _) = SandboxApi::from_manifests(loaded, &sources, START).expect("objects that are admitted");
    let profiles = frameworks(config, calls, &options.gates);
    Simulator::new(profiles, options, api, START).expect("a scheduler")
}

/// Changes the cluster.
pub fn apply(simulator: &mut Simulator, manifest: &str) {
    let edit = Edit::Apply { source: "test".to_owned(), text: manifest.to_owned() };
    simulator.edit(&edit).expect("an edit");
}

/// A node with that much CPU and plenty of the rest.
pub fn node(name: &str, cpu: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata: {{name: {name}, labels: {{kubernetes.io/hostname: {name}}}}}\n\
         status: {{allocatable: {{cpu: '{cpu}', memory: 64Gi, pods: '110'}}}}\n---\n"
    )
}

/// A pod that asks for that much CPU; `extra` goes into its metadata and spec: `annotations`, `priority` and so on.
pub fn pod(name: &str, cpu: &str, metadata: &str, spec: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{metadata}}}\nspec: {{containers: [{{name: c, image: i, \
         resources: {{requests: {{cpu: '{cpu}'}}}}}}]{spec}}}\n---\n"
    )
}

/// Annotations for the test plugins.
pub fn annotations(pairs: &[(&str, &str)]) -> String {
    let pairs: Vec<String> =
        pairs.iter().map(|(key, value)| format!("'test.schedscope.dev/{key}': '{value}'")).collect();
    format!(", annotations: {{{}}}", pairs.join(", "))
}

/// A pod of the namespace `default` as the API has it.
pub fn pod_of(simulator: &Simulator, name: &str) -> Option<Pod> {
    simulator.api().objects().pods.get(&NamespacedName::new("default", name)).map(|pod| (**pod).clone())
}

/// The node of a pod, empty while it has none.
pub fn node_of(simulator: &Simulator, name: &str) -> String {
    pod_of(simulator, name).map(|pod| pod.spec.node_name.to_string()).unwrap_or_default()
}

/// Attempts until none can be made.
pub fn drain(simulator: &mut Simulator) {
    for _ in 0..200 {
        if !simulator.step_cycle() {
            return;
        }
    }
    panic!("attempts do not end");
}

/// The notes of the Events so far, `reason: note`.
pub fn events(simulator: &Simulator) -> Vec<String> {
    simulator
        .scheduler()
        .view()
        .events
        .iter()
        .map(|event| format!("{} {}: {}", event.reason, event.regarding, event.note))
        .collect()
}
