//! Recordings of schedulers with a plugin of somebody's own: the program that has it replays them, another one refuses.

use schedscope::api::manifest::{Source, load};
use schedscope::config::{FeatureGates, ReadOptions, SchedulerConfig};
use schedscope::driver::recorder::{Recorder, RecorderOptions};
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::framework::runtime::{PluginDefinition, Registry, build_profiles};
use schedscope::framework::{CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, Status};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{CheckReport, Slim, check};
use schedscope::scheduler::SchedulerOptions;

use super::{Memory, checked, header_of};
use crate::support::world::START;

const KEY: &str = "example.com/room";
const CONFIGURATION: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{plugins: {multiPoint: {enabled: [{name: Rooms}]}}}]
";
const CLUSTER: &str = "
apiVersion: v1
kind: Node
metadata: {name: a, annotations: {example.com/room: red}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Node
metadata: {name: b, annotations: {example.com/room: blue}}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
---
apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {example.com/room: blue}}
spec: {containers: [{name: main, image: app}]}
";

/// A pod goes to nodes with the same annotation.
#[derive(Debug)]
struct Rooms;

impl Plugin for Rooms {
    fn name(&self) -> &'static str {
        "Rooms"
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
}

impl FilterPlugin for Rooms {
    fn filter(&self, _: &Handle<'_>, _: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let room = node.node().and_then(|node| node.metadata.annotations.get(KEY));
        if pod.pod.metadata.annotations.get(KEY) == room {
            return Status::SUCCESS;
        }
        Status::unresolvable("node(s) were in another room")
    }
}

fn registry() -> Registry {
    let mut registry = in_tree_registry();
    registry.add(PluginDefinition::new("Rooms", |_, _| Ok(Rooms)).reads_annotation(KEY)).unwrap();
    registry
}

fn configuration(registry: &Registry) -> SchedulerConfig {
    let gates = FeatureGates::default();
    let catalog = registry.catalog(&gates);
    SchedulerConfig::read(CONFIGURATION, ReadOptions { source: "test", gates: &gates, catalog: &catalog })
        .unwrap()
}

fn recorded() -> Vec<u8> {
    let registry = registry();
    let config = configuration(&registry);
    let memory = Memory::default();
    let slim = Slim { kept_annotations: registry.annotations().map(str::to_owned).collect() };
    let options = RecorderOptions { slim, ..RecorderOptions::default() };
    let (recorder, tap) = Recorder::start(Box::new(memory.clone()), &header_of(&config), options).unwrap();
    let sources = [Source { name: "test".to_owned(), text: CLUSTER.to_owned() }];
    let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, START).unwrap();
    let profiles = build_profiles(&config.profiles, &registry, &config.gates).unwrap();
    let profiles = profiles.into_values().collect();
    let mut simulator =
        Simulator::recorded(profiles, SchedulerOptions::default(), api, START, Some(tap)).unwrap();
    // Another start under the same configuration has the plugin, too.
    let again = Edit::Configure { source: "test".to_owned(), text: CONFIGURATION.to_owned() };
    simulator.edit(&again).unwrap();
    let summary = run_to_rest(&mut simulator);
    assert_eq!(summary.pods[0].node.as_deref(), Some("b"));
    simulator.finish_recording("at rest");
    recorder.finish().unwrap();
    memory.bytes()
}

#[test]
fn a_program_with_the_plugin_replays_what_it_has_recorded() {
    let bytes = recorded();
    let mut report = CheckReport::default();
    check(&mut || Ok(&*bytes), &registry(), &mut report).unwrap();
    assert!(report.digests > 0);
}

#[test]
fn a_program_without_it_refuses_in_a_sentence() {
    let (_, outcome) = checked(&recorded());
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "no scheduler can be made of the recording: it was made with the plugin Rooms, which this program has not: use the program that it was made with"
    );
}
