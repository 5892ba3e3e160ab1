//! A plugin of one's own that keeps a state and writes to the API, in PreBind and in PostFilter.

use std::sync::Arc;

use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::Namespace;
use schedscope::api::{Digest, Digestible, Kind, NamespacedName, Object, ObjectStore, Str};
use schedscope::config::{FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::sandbox::api::SandboxApi;
use schedscope::driver::sandbox::simulator::Simulator;
use schedscope::framework::{
    ApiWrite, CycleState, Framework, Handle, HandleRequest, NodeToStatus, Plugin, PluginState, PluginStates,
    PodInfo, PostFilterPlugin, PostFilterResult, PreBindPlugin, PreBindPreFlightResult, PreBindProgress,
    Status, Told, WriteVerb,
};
use schedscope::plugins::registry::in_tree_registry;
use schedscope::scheduler::SchedulerOptions;

use crate::support::world::{START, drain, events, node, node_of, pod};

/// Makes a namespace named after the pod before it is bound, and another one when it fits nowhere.
#[derive(Debug)]
struct NamespaceMaker;

/// The namespaces that the plugin knows of.
#[derive(Clone, Debug, Default)]
struct Known(Vec<Str>);

impl Digestible for Known {
    fn digest(&self, digest: &mut Digest) {
        self.0.iter().for_each(|name| {
            digest.str(name);
        });
    }
}

impl PluginState for Known {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::Namespace]
    }
    fn object_changed(&mut self, _: &ObjectStore, old: Option<&Object>, new: Option<&Object>) -> Told {
        if let (None, Some(new)) = (old, new) {
            self.0.push(new.metadata().name.clone());
        }
        Told::AsReported
    }
}

fn creation(name: &str) -> ApiWrite {
    let mut namespace = Namespace::default();
    namespace.metadata.name = name.into();
    ApiWrite { verb: WriteVerb::Create, object: Object::from(namespace) }
}

impl Plugin for NamespaceMaker {
    fn name(&self) -> &'static str {
        "NamespaceMaker"
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(Known::default());
    }
    fn as_pre_bind(&self) -> Option<&dyn PreBindPlugin> {
        Some(self)
    }
    fn as_post_filter(&self) -> Option<&dyn PostFilterPlugin> {
        Some(self)
    }
}

#[derive(Debug)]
struct Asked;

impl PreBindPlugin for NamespaceMaker {
    fn pre_bind_pre_flight(
        &self,
        _: &Handle<'_>,
        _: &mut CycleState,
        _: &PodInfo,
        _: &Str,
    ) -> (PreBindPreFlightResult, Status) {
        (PreBindPreFlightResult::default(), Status::SUCCESS)
    }

    fn pre_bind(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &Str,
        _: Option<&str>,
    ) -> PreBindProgress {
        if let Some((_, result)) = state.take_write_result(self.name()) {
            return PreBindProgress::Done(match result {
                Ok(_) => Status::SUCCESS,
                Err(failure) => Status::error(failure),
            });
        }
        if state.read::<Asked>().is_none() {
            state.write(self.name(), Asked);
            let write = creation(&format!("for-{}", pod.pod.metadata.name));
            handle.request(HandleRequest::Write { pod: pod.uid().clone(), plugin: self.name(), write });
        }
        PreBindProgress::Pending { wake_at: None }
    }
}

impl PostFilterPlugin for NamespaceMaker {
    fn post_filter(
        &self,
        handle: &Handle<'_>,
        _: &mut CycleState,
        pod: &PodInfo,
        _: &NodeToStatus,
    ) -> (Option<PostFilterResult>, Status) {
        let known = handle.state(|known: &Known| known.0.len()).expect("the plugin's state");
        let said = match handle.write(creation(&format!("stuck-{}", pod.pod.metadata.name))) {
            None => "nothing yet".to_owned(),
            Some(Ok(object)) => format!("made {}, {known} known", object.metadata().name),
            Some(Err(failure)) => failure.to_string(),
        };
        (None, Status::unschedulable(said))
    }
    fn may_write(&self, _: &CycleState) -> bool {
        true
    }
}

fn sandbox(manifest: &str) -> Simulator {
    const CONFIG: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: NamespaceMaker}]}}
";
    let mut registry = in_tree_registry();
    registry.register("NamespaceMaker", |_, _| Ok(Arc::new(NamespaceMaker))).unwrap();
    let gates = FeatureGates::default();
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let config = SchedulerConfig::load(CONFIG, options).unwrap();
    let profiles =
        config.profiles.iter().map(|profile| Framework::new(profile, &registry, &gates).unwrap()).collect();
    let sources = [Source { name: "test".to_owned(), text: manifest.to_owned() }];
    let (api, _) = SandboxApi::from_manifests(load(&sources).unwrap(), &sources, START).unwrap();
    Simulator::new(profiles, SchedulerOptions::default(), api, START).unwrap()
}

fn has_namespace(simulator: &Simulator, name: &str) -> bool {
    simulator.api().objects().namespaces.contains_key(&NamespacedName::cluster(name))
}

#[test]
fn a_pod_is_bound_when_what_pre_bind_writes_is_written() {
    let mut simulator = sandbox(&(node("a", "4") + &pod("web", "1", "", "")));
    drain(&mut simulator);
    assert!(has_namespace(&simulator, "for-web"));
    assert_eq!(node_of(&simulator, "web"), "a");
}

#[test]
fn a_refused_write_in_pre_bind_fails_the_attempt_with_the_words_of_the_server() {
    let taken = "apiVersion: v1\nkind: Namespace\nmetadata: {name: for-web}\n---\n";
    let mut simulator = sandbox(&(taken.to_owned() + &node("a", "4") + &pod("web", "1", "", "")));
    simulator.step_cycle();
    assert_eq!(
        events(&simulator),
        [
            "FailedScheduling default/web: running PreBind plugin \"NamespaceMaker\": namespaces \"for-web\" already \
          exists"
        ]
    );
    assert_eq!(node_of(&simulator, "web"), "");
}

#[test]
fn post_filter_is_run_again_with_the_outcome_of_its_write() {
    let mut simulator = sandbox(&(node("a", "4") + &pod("big", "8", "", "")));
    simulator.step_cycle();
    assert!(has_namespace(&simulator, "stuck-big"));
    let note = &events(&simulator)[0];
    assert!(note.contains("made stuck-big, 1 known"), "{note}");
}

#[test]
fn states_are_part_of_the_digest() {
    let simulator = sandbox(&node("a", "4"));
    let mut scheduler = simulator.scheduler().clone();
    let mut quiet = scheduler.clone();
    let Object::Namespace(namespace) = creation("later").object else { unreachable!() };
    let input = schedscope::scheduler::input::Input::Added(Object::Namespace(namespace));
    scheduler.handle(START, input);
    quiet.handle(START, schedscope::scheduler::input::Input::Timeout);
    assert_ne!(scheduler.digest(), quiet.digest());
}
