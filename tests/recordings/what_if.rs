//! A recording under another configuration; and sessions in which the configuration changes.

use schedscope::api::Duration;
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::driver::session::Edit;
use schedscope::driver::what_if::what_if;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::{CheckReport, Comparison, Standing, check, compare};

use super::default_configuration;
use super::session::{Session, recorded};
use crate::support::world::{apply, node, pod};

const PACKING: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}
  plugins:
    score:
      disabled: [{name: '*'}]
      enabled: [{name: NodeResourcesFit, weight: 1}]
";

fn configuration(text: &str) -> SchedulerConfig {
    let registry = in_tree_registry();
    let has_plugin = |name: &str| registry.contains(name);
    SchedulerConfig::load(text, LoadOptions { gates: &FeatureGates::default(), has_plugin: &has_plugin })
        .unwrap()
}

fn session(manifest: &str, act: impl FnOnce(&mut Simulator)) -> Vec<u8> {
    let (mut simulator, recorder, memory) = recorded(manifest, RecorderOptions::default());
    act(&mut simulator);
    run_to_rest(&mut simulator);
    simulator.finish_recording("at rest");
    recorder.finish().unwrap();
    memory.bytes()
}

fn under(recording: &[u8], config: &SchedulerConfig) -> (Comparison, Vec<u8>) {
    let registry = in_tree_registry();
    let other = what_if(&mut || Ok(recording), config, &registry).unwrap();
    let comparison = compare(&mut || Ok(recording), &mut || Ok(&*other.recording), &registry).unwrap();
    (comparison, other.recording)
}

fn manifest() -> String {
    let pods: String = (0..3).map(|n| pod(&format!("web-{n}"), "1", "", "")).collect();
    node("big", "16") + &node("small", "4") + &pods + &pod("huge", "100", "", "")
}

#[test]
fn under_its_own_configuration_a_session_comes_to_the_same() {
    let a = session(&manifest(), |simulator| {
        simulator.advance_to(simulator.now() + Duration::from_secs(5), |_| true);
        apply(simulator, &node("more", "200"));
    });
    let (comparison, other) = under(&a, &default_configuration());
    assert_eq!((comparison.moved.len(), comparison.n_equal), (0, 4), "{comparison:?}");
    let mut report = CheckReport::default();
    check(&mut || Ok(&*other), &in_tree_registry(), &mut report).expect("it is a recording itself");
    assert!(report.end.is_some());
}

#[test]
fn sessions_in_which_anything_happens_come_to_the_same_under_their_own_configuration() {
    for seed in 0..6 {
        let mut session = Session::new(seed, schedscope::recording::Compression::None);
        session.run(1_500);
        let a = session.finish();
        let (comparison, _) = under(&a, &default_configuration());
        let n = comparison.moved.len() + comparison.n_equal;
        assert_eq!(comparison.moved.len(), 0, "seed {seed}: {n} pods");
        assert_eq!(comparison.waits.0, comparison.waits.1, "seed {seed}");
    }
}

#[test]
fn under_another_configuration_pods_land_elsewhere_and_it_is_told_why() {
    let a = session(&manifest(), |_| {});
    let (comparison, _) = under(&a, &configuration(PACKING));
    assert!(!comparison.moved.is_empty());
    for moved in &comparison.moved {
        let node =
            |ending: &Option<schedscope::recording::Ending>| ending.as_ref().unwrap().node.clone().unwrap();
        assert_eq!((&*node(&moved.a), &*node(&moved.b)), ("big", "small"));
        let why = moved.why_b.as_ref().unwrap();
        let (Some(Standing::Feasible(here)), Some(Standing::Feasible(there))) = (&why.here, &why.there)
        else {
            panic!("{why:?}");
        };
        assert_eq!(here.plugins.len(), 1, "one plugin scores");
        assert!(here.total > there.total);
    }
    assert_eq!(comparison.nodes.len(), 2, "totals per node");
    assert_eq!((comparison.waits.0.n, comparison.waits.1.n), (3, 3));
    assert_eq!((comparison.waits.0.n_without, comparison.waits.1.n_without), (1, 1));
}

#[test]
fn evictions_are_not_taken_over() {
    let low: String = ["a", "b"]
        .into_iter()
        .map(|on| pod(&format!("low-{on}"), "2", "", &format!(", nodeName: {on}")))
        .collect();
    let cluster = node("a", "2") + &node("b", "2") + &low + &pod("high", "2", "", ", priority: 100");
    let a = session(&cluster, |_| {});
    let without = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {postFilter: {disabled: [{name: DefaultPreemption}]}}
";
    let (comparison, _) = under(&a, &configuration(without));
    let [moved] = &comparison.moved[..] else { panic!("{comparison:?}") };
    assert_eq!(moved.pod.to_string(), "default/high");
    assert!(moved.a.as_ref().unwrap().node.is_some() && moved.b.as_ref().unwrap().node.is_none());
    let pods: u64 = comparison.nodes.iter().map(|(_, _, b)| b.pods).sum();
    assert_eq!(pods, comparison.nodes.len() as u64, "whoever was evicted is still there");
}

#[test]
fn a_session_in_which_the_configuration_changes_replays() {
    let a = session(&manifest(), |simulator| {
        simulator.step_cycle();
        simulator.edit(&Edit::Weight { plugin: "NodeResourcesFit".into(), weight: 7 }).unwrap();
        simulator.step_cycle();
        simulator.edit(&Edit::Configure { source: "x".to_owned(), text: PACKING.to_owned() }).unwrap();
        simulator.step_cycle();
    });
    let mut report = CheckReport::default();
    check(&mut || Ok(&*a), &in_tree_registry(), &mut report).unwrap();
    let text = String::from_utf8(a.clone()).unwrap();
    assert!(text.contains(r#""in":"setWeight","plugin":"NodeResourcesFit","weight":7"#), "{text}");
    assert!(text.contains(r#""in":"configure""#));
    let memory = super::Memory::default();
    let (registry, compression) = (in_tree_registry(), schedscope::recording::Compression::None);
    schedscope::recording::redact(&mut || Ok(&*a), &mut || Ok(memory.clone()), compression, &registry)
        .unwrap();
    let redacted = memory.bytes();
    let mut report = CheckReport::default();
    check(&mut || Ok(&*redacted), &in_tree_registry(), &mut report).unwrap();
}
