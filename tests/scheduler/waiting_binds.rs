//! PreBind plugins that wait: when they are asked again, and what becomes of those beside one that fails.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use schedscope::api::objects::{Namespace, StorageClass};
use schedscope::api::{Duration, Kind, NamespacedName, Object, Str, Time};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::framework::{
    CycleState, Framework, Handle, Plugin, PodInfo, PreBindPlugin, PreBindPreFlightResult, PreBindProgress,
    Status,
};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::input::Input;
use schedscope::scheduler::{Scheduler, SchedulerOptions};

use crate::support::test_plugins::parse_duration;
use crate::support::world::{START, drain, events, node, pod};

/// What each plugin was asked for each pod: the reason to stop, if there was one.
type Asked = Arc<Mutex<BTreeMap<(&'static str, Str), Vec<String>>>>;

/// Waits as the pod's annotation with the plugin's name says: until an object `Namespace` of the pod's name is there
/// (`namespace`), or for some time, after which it ends well (`5s`) or fails (`fail=5s`).
#[derive(Debug)]
struct Waiter {
    name: &'static str,
    asked: Asked,
}

#[derive(Debug)]
struct Since(Time);

impl Plugin for Waiter {
    fn name(&self) -> &'static str {
        self.name
    }
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }
}

impl PreBindPlugin for Waiter {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        pod: &PodInfo,
        _: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        let has_work = pod.pod.metadata.annotations.contains_key(self.name);
        let result = PreBindPreFlightResult { allow_parallel: self.name != "Alone" };
        (result, if has_work { Status::SUCCESS } else { Status::skip() })
    }

    fn watched_kinds(&self) -> &'static [Kind] {
        &[Kind::Namespace]
    }

    fn pre_bind(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &Str,
        cancelled: Option<&str>,
    ) -> PreBindProgress {
        let key = (self.name, pod.pod.metadata.name.clone());
        let mut asked = self.asked.lock().unwrap();
        asked.entry(key).or_default().push(cancelled.unwrap_or_default().to_owned());
        if let Some(reason) = cancelled {
            return PreBindProgress::Done(Status::error(reason));
        }
        let wish = pod.pod.metadata.annotations.get(self.name).unwrap();
        if &**wish == "namespace" {
            let name = NamespacedName::cluster(pod.pod.metadata.name.clone());
            return match handle.objects.namespaces.contains_key(&name) {
                true => PreBindProgress::Done(Status::SUCCESS),
                false => PreBindProgress::Pending { wake_at: None },
            };
        }
        if state.read::<Since>().is_none() {
            state.write(self.name, Since(handle.now));
        }
        let since = state.read::<Since>().unwrap().0;
        let until = since + parse_duration(wish.trim_start_matches("fail="));
        if handle.now < until {
            return PreBindProgress::Pending { wake_at: Some(until) };
        }
        PreBindProgress::Done(match wish.starts_with("fail") {
            true => Status::error(format!("{} fails", self.name)),
            false => Status::SUCCESS,
        })
    }
}

fn sandbox(manifest: &str) -> (Simulator, Asked) {
    sandbox_with(manifest, SchedulerOptions::default())
}

fn sandbox_with(manifest: &str, options: SchedulerOptions) -> (Simulator, Asked) {
    const CONFIG: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: First}, {name: Second}, {name: Alone}]}}
";
    let asked = Asked::default();
    let mut registry = in_tree_registry();
    for name in ["First", "Second", "Alone"] {
        let asked = Arc::clone(&asked);
        registry
            .register(name, move |_, _| Ok(Arc::new(Waiter { name, asked: Arc::clone(&asked) })))
            .unwrap();
    }
    let gates = FeatureGates::default();
    let load_options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let config = SchedulerConfig::load(CONFIG, load_options).unwrap();
    let profiles =
        config.profiles.iter().map(|profile| Framework::new(profile, &registry, &gates).unwrap()).collect();
    let sources = [schedscope::api::manifest::Source { name: "test".to_owned(), text: manifest.to_owned() }];
    let loaded = schedscope::api::manifest::load(&sources).unwrap();
    let (api, _) = SandboxApi::from_manifests(loaded, &sources, START).unwrap();
    (Simulator::new(profiles, options, api, START).unwrap(), asked)
}

fn waiting_pod(name: &str, wishes: &[(&str, &str)]) -> String {
    let wishes: Vec<String> = wishes.iter().map(|(plugin, wish)| format!("{plugin}: {wish}")).collect();
    pod(name, "1m", &format!(", annotations: {{{}}}", wishes.join(", ")), "")
}

/// The reasons to stop with which a plugin was asked for a pod, one for each time.
fn asked_for(asked: &Asked, plugin: &'static str, pod: &str) -> Vec<String> {
    asked.lock().unwrap().get(&(plugin, Str::from(pod))).cloned().unwrap_or_default()
}

fn n_asked(asked: &Asked) -> usize {
    asked.lock().unwrap().values().map(Vec::len).sum()
}

fn go_on(simulator: &mut Simulator, seconds: u64) {
    let to = simulator.now() + Duration::from_secs(seconds);
    simulator.advance_to(to, |_| false);
}

/// A scheduler with that many pods in PreBind, each of which waits for a namespace of its own.
fn with_waiting_pods(n: usize) -> (Scheduler, Asked) {
    let nodes: String = (0..n.div_ceil(100)).map(|i| node(&format!("n{i}"), "64")).collect();
    let pods: String = (0..n).map(|i| waiting_pod(&format!("p{i}"), &[("First", "namespace")])).collect();
    let (mut simulator, asked) = sandbox(&(nodes + &pods));
    while simulator.step_cycle() {}
    (simulator.scheduler().clone(), asked)
}

fn give(scheduler: &mut Scheduler, object: Object) {
    scheduler.handle(START, Input::Added(object));
    while scheduler.poll_effect().is_some() {}
    scheduler.poll_timeout();
}

fn class(i: usize) -> Object {
    let mut class = StorageClass::default();
    class.metadata.name = format!("class-{i}").into();
    class.into()
}

fn namespace(name: &str) -> Object {
    let mut namespace = Namespace::default();
    namespace.metadata.name = name.into();
    namespace.into()
}

#[test]
fn what_waits_is_asked_once_however_much_else_happens() {
    let (mut scheduler, asked) = with_waiting_pods(150);
    assert_eq!(n_asked(&asked), 150);
    for i in 0..500 {
        give(&mut scheduler, class(i));
    }
    assert_eq!(n_asked(&asked), 150);
}

#[test]
fn what_waits_is_asked_again_when_an_object_of_a_watched_kind_changes() {
    let (mut scheduler, asked) = with_waiting_pods(3);
    give(&mut scheduler, namespace("p1"));
    let asked: Vec<usize> = ["p0", "p1", "p2"].map(|pod| asked_for(&asked, "First", pod).len()).into();
    assert_eq!(asked, [2, 2, 2]);
    assert_eq!(scheduler.view().binding.len(), 3, "p1 is being bound, the others still wait");
    assert_eq!(
        scheduler.trace_of(&NamespacedName::new("default", "p1")).unwrap().next.unwrap().as_str(),
        "Bind"
    );
}

#[test]
fn what_waits_for_a_time_is_asked_again_then() {
    let (mut simulator, asked) = sandbox(&(node("a", "4") + &waiting_pod("p", &[("First", "20s")])));
    drain(&mut simulator);
    for _ in 0..19 {
        go_on(&mut simulator, 1);
    }
    assert_eq!(asked_for(&asked, "First", "p"), [""]);
    go_on(&mut simulator, 1);
    assert_eq!(asked_for(&asked, "First", "p"), ["", ""]);
    assert_eq!(events(&simulator), ["Scheduled default/p: Successfully assigned default/p to a"]);
}

#[test]
fn the_failure_of_one_cancels_those_that_run_beside_it() {
    for (failing, waiting) in [("First", "Second"), ("Second", "First")] {
        let wishes = [(failing, "fail=5s"), (waiting, "namespace")];
        let (mut simulator, asked) = sandbox(&(node("a", "4") + &waiting_pod("p", &wishes)));
        drain(&mut simulator);
        go_on(&mut simulator, 5);
        let cancelled = "some other PreBind operation failed";
        assert_eq!(asked_for(&asked, waiting, "p").last().unwrap(), cancelled);
        assert_eq!(
            events(&simulator)[0],
            format!("FailedScheduling default/p: running PreBind plugin {failing:?}: {failing} fails")
        );
    }
}

#[test]
fn what_may_not_run_beside_others_begins_when_they_have_ended() {
    let wishes = [("First", "5s"), ("Second", "namespace"), ("Alone", "1s")];
    let (mut simulator, asked) = sandbox(&(node("a", "4") + &waiting_pod("p", &wishes)));
    drain(&mut simulator);
    go_on(&mut simulator, 5);
    assert_eq!(asked_for(&asked, "Alone", "p"), [""; 0]);
    crate::support::world::apply(&mut simulator, "apiVersion: v1\nkind: Namespace\nmetadata: {name: p}\n");
    assert_eq!(asked_for(&asked, "Alone", "p"), [""]);
}

#[test]
fn no_more_run_beside_each_other_than_parallelism_allows() {
    let wishes = [("First", "namespace"), ("Second", "5s")];
    let options = SchedulerOptions { parallelism: 1, ..SchedulerOptions::default() };
    let (mut simulator, asked) = sandbox_with(&(node("a", "4") + &waiting_pod("p", &wishes)), options);
    drain(&mut simulator);
    go_on(&mut simulator, 5);
    assert_eq!(asked_for(&asked, "Second", "p"), [""; 0]);
    crate::support::world::apply(&mut simulator, "apiVersion: v1\nkind: Namespace\nmetadata: {name: p}\n");
    assert_eq!(asked_for(&asked, "Second", "p"), [""]);
}
