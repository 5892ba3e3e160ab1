//! A whole scheduler in a sandbox, with plugins of one's own beside kube-scheduler's.

use std::sync::Arc;

use crate::api::manifest::{Source, load};
use crate::api::{Duration, NamespacedName, Time};
use crate::config::{FeatureGates, ReadOptions, SchedulerConfig};
use crate::driver::runner::{RunSummary, run_to_rest};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::session::Edit;
use crate::framework::runtime::{PluginDefinition, Registry, build_profiles};
use crate::plugins::registry::in_tree_registry;
use crate::scheduler::SchedulerOptions;
use crate::scheduler::trace::CycleTrace;
use crate::scheduler::view::View;

use super::{NodeBuilder, PodBuilder, must};

/// When simulated time begins.
const START: Time = Time::from_secs(1_767_225_600);

/// A scheduler that is being put together, and then runs:
///
/// ```
/// use schedscope::testkit::{Rig, node, pod};
///
/// let mut rig = Rig::new();
/// rig.add_node(node("small").allocatable("1", "1Gi"));
/// rig.add_pod(pod("web").requests("2", "1Gi"));
/// rig.run();
/// assert_eq!(rig.node_of("web"), None);
/// assert!(rig.message_of("web").contains("Insufficient cpu"));
/// rig.add_node(node("large"));
/// rig.run();
/// assert_eq!(rig.node_of("web").as_deref(), Some("large"));
/// ```
#[derive(Debug)]
pub struct Rig {
    simulator: Simulator,
}

impl Default for Rig {
    fn default() -> Self {
        Self::new()
    }
}

impl Rig {
    /// kube-scheduler's plugins under the default configuration, and an empty cluster.
    pub fn new() -> Self {
        Self::build(&in_tree_registry(), None, "")
    }

    /// The same with plugins of one's own, under a `KubeSchedulerConfiguration` that enables them.
    ///
    /// # Panics
    /// If two plugins have one name, or no scheduler can be made of the configuration.
    #[track_caller]
    pub fn with_plugins(plugins: impl IntoIterator<Item = PluginDefinition>, configuration: &str) -> Self {
        Self::with_gates(plugins, configuration, "")
    }

    /// The same under feature gates, as kube-scheduler takes them.
    ///
    /// # Panics
    /// As [`Rig::with_plugins`], and if there is no such gate.
    #[track_caller]
    pub fn with_gates(
        plugins: impl IntoIterator<Item = PluginDefinition>,
        configuration: &str,
        gates: &str,
    ) -> Self {
        let mut registry = in_tree_registry();
        for plugin in plugins {
            must(registry.add(plugin), "adding a plugin");
        }
        Self::build(&registry, Some(configuration), gates)
    }

    #[track_caller]
    fn build(registry: &Registry, configuration: Option<&str>, gates: &str) -> Self {
        let gates = must(FeatureGates::parse(gates), "feature gates");
        let config = match configuration {
            None => SchedulerConfig::default_under(&gates),
            Some(text) => {
                let catalog = registry.catalog(&gates);
                let options = ReadOptions { source: "configuration", gates: &gates, catalog: &catalog };
                must(SchedulerConfig::read(text, options), "reading the configuration")
            }
        };
        let profiles = must(build_profiles(&config.profiles, registry, &gates), "building the profiles");
        let loaded = must(load(&[]), "an empty cluster");
        let (api, _) = must(SandboxApi::from_manifests(loaded, &[], START), "an empty cluster");
        let options =
            SchedulerOptions { is_tracing: true, ..SchedulerOptions::default() }.configured(&config);
        let simulator = Simulator::new(profiles.into_values().collect(), options, api, START);
        Self { simulator: must(simulator, "building the scheduler") }
    }

    /// Adds a node, or changes it.
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "a builder is written where it is used up")]
    pub fn add_node(&mut self, node: NodeBuilder) -> &mut Self {
        self.apply(&node.manifest())
    }

    /// Adds a pod, or changes it.
    #[track_caller]
    pub fn add_pod(&mut self, pod: PodBuilder) -> &mut Self {
        // The sandbox gives uids itself.
        self.apply(&pod.with("metadata.uid", serde_json::Value::Null).manifest())
    }

    /// Adds the objects of a manifest, or changes them.
    ///
    /// # Panics
    /// If it cannot be read.
    #[track_caller]
    pub fn apply(&mut self, manifest: &str) -> &mut Self {
        let source = Source { name: "manifest".to_owned(), text: manifest.to_owned() };
        self.edit(&Edit::Apply { source: source.name, text: source.text })
    }

    /// Deletes a pod.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn delete_pod(&mut self, pod: &str) -> &mut Self {
        self.edit(&Edit::DeletePod(key(pod)))
    }

    /// Changes the cluster as a person at the console can.
    ///
    /// # Panics
    /// If it cannot be done.
    #[track_caller]
    pub fn edit(&mut self, edit: &Edit) -> &mut Self {
        must(self.simulator.edit(edit), "changing the cluster");
        self
    }

    /// Goes on until nothing moves any more.
    pub fn run(&mut self) -> RunSummary {
        run_to_rest(&mut self.simulator)
    }

    /// Makes one attempt, and answers with its evidence; nothing if no pod can be tried.
    pub fn attempt(&mut self) -> Option<Arc<CycleTrace>> {
        self.simulator.step_cycle().then(|| self.view().cycle)?
    }

    /// Makes every attempt that can be made without time going on.
    pub fn settle(&mut self) -> &mut Self {
        while self.simulator.step_cycle() {}
        self
    }

    /// Lets time go on, with attempts wherever one can be made.
    pub fn wait(&mut self, time: Duration) -> &mut Self {
        let to = self.simulator.now() + time;
        self.settle();
        while self.simulator.next_timeout().is_some_and(|(at, _)| at <= to) {
            self.simulator.go_to_next_timeout();
            self.settle();
        }
        self.simulator.let_time_go_to(to);
        self.settle()
    }

    /// The node that a pod (`NAME`, or `NAMESPACE/NAME`) is bound to.
    pub fn node_of(&self, pod: &str) -> Option<String> {
        let pod = self.simulator.api().objects().pods.get(&key(pod))?;
        Some(pod.spec.node_name.to_string()).filter(|node| !node.is_empty())
    }

    /// What the last attempt for a pod that is pending said; empty if there is nothing.
    pub fn message_of(&self, pod: &str) -> String {
        let pods = &self.simulator.api().objects().pods;
        let message = pods.get(&key(pod)).and_then(|pod| self.simulator.scheduler().last_message(pod.uid()));
        message.map(ToString::to_string).unwrap_or_default()
    }

    /// The plugin that keeps a pod out of activeQ.
    pub fn gate_of(&self, pod: &str) -> Option<String> {
        let pod = self.simulator.api().objects().pods.get(&key(pod))?;
        self.simulator.scheduler().gating_plugin(pod.uid()).map(|plugin| plugin.to_string())
    }

    /// The pods that Permit plugins hold, by name.
    pub fn waiting(&self) -> Vec<String> {
        self.view().waiting.iter().map(|row| row.pod.metadata.name.to_string()).collect()
    }

    /// All that a person sees of the scheduler.
    pub fn view(&self) -> View {
        self.simulator.scheduler().view()
    }

    /// The sandbox, for what this kit has no word for.
    pub fn simulator(&mut self) -> &mut Simulator {
        &mut self.simulator
    }
}

fn key(pod: &str) -> NamespacedName {
    let (namespace, name) = pod.split_once('/').unwrap_or(("default", pod));
    NamespacedName::new(namespace, name)
}
