//! A golden case, read: the cluster as a scheduler knows it, the profiles, and the answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;
use schedscope::api::manifest::{Source, load};
use schedscope::api::objects::Pod;
use schedscope::api::{Object, ObjectStore, Str, Time, Uid};
use schedscope::cache::Cache;
use schedscope::config::plugin_args::DefaultPreemptionArgs;
use schedscope::config::{ExtensionPoint, FeatureGates, LoadOptions, SchedulerConfig};
use schedscope::driver::sandbox::admission::{PriorityClasses, admit};
use schedscope::framework::preemption::PreemptionState;
use schedscope::framework::runtime::build_profiles;
use schedscope::framework::testing::TestWorld;
use schedscope::framework::{Framework, NominatingInfo, PodInfo, RequestOptions, Snapshot};
use schedscope::plugins::default_preemption::DefaultPreemption;
use schedscope::queue::Nominator;

use super::absent::{full_registry, is_absent, plugins_at, without_absent};
use super::golden::Decision;

/// When the clusters' clock starts.
const EPOCH: &str = "2026-01-01T00:00:00Z";

/// A profile: what runs, and what would.
pub struct Profile {
    /// The plugins that are built.
    pub framework: Framework,
    /// Filter plugins that are not built.
    pub absent_filters: Vec<&'static str>,
    /// Score plugins that are not built.
    pub absent_scores: Vec<&'static str>,
    /// DefaultPreemption with its arguments, if it is at PostFilter.
    pub preemption: Option<DefaultPreemption>,
}

/// A cluster, its profiles and what kube-scheduler decides in it.
pub struct Case {
    pub name: String,
    pub objects: ObjectStore,
    pub snapshot: Snapshot,
    pub nominator: Nominator,
    pub profiles: IndexMap<Str, Profile>,
    pub options: RequestOptions,
    pub decisions: Vec<Decision>,
}

fn text(error: &impl ToString) -> String {
    error.to_string()
}

impl Case {
    /// Reads a case from its files.
    ///
    /// # Errors
    /// Why it cannot be compared.
    pub fn read(name: &str, files: &BTreeMap<String, String>) -> Result<Self, String> {
        // NodeResourcesFit and BalancedAllocation then count what DynamicResources knows of devices.
        for word in [
            "extendedResourceName:",
            "deviceclass.resource.kubernetes.io/",
            "DRANodeAllocatableResources=true",
        ] {
            if files.values().any(|text| text.contains(word)) {
                return Err(format!("devices count as resources ({})", word.trim_end_matches(':')));
            }
        }
        let gates = files.get("gates").map_or("", |gates| gates.trim());
        let gates = FeatureGates::parse(gates).map_err(|error| text(&error))?;
        let profiles = profiles(files.get("config.yaml").map(String::as_str), &gates)?;
        let objects = objects(files)?;
        let options = RequestOptions::from_gates(&gates);
        let lines = files.get("decisions.jsonl").ok_or("there is no decisions.jsonl")?.lines();
        let decisions: Result<_, _> = lines.map(serde_json::from_str).collect();
        let mut case = Self {
            name: name.to_owned(),
            objects,
            snapshot: Snapshot::default(),
            nominator: Nominator::default(),
            profiles,
            options,
            decisions: decisions.map_err(|error| text(&error))?,
        };
        case.place();
        Ok(case)
    }

    /// Puts the nodes and pods where a scheduler has them.
    fn place(&mut self) {
        let mut cache = Cache::new();
        for node in self.objects.nodes.values() {
            cache.add_node(Arc::clone(node));
        }
        for pod in self.objects.pods.values() {
            let info = Arc::new(PodInfo::with_options(Arc::clone(pod), self.options));
            if pod.is_assigned() {
                cache.add_pod(info).expect("every pod once");
            } else if self.is_queued(pod) {
                self.nominator.add_nominated_pod(&self.objects, info, &NominatingInfo::Noop);
            }
        }
        cache.update_snapshot(&mut self.snapshot);
    }

    /// Whether the pod enters activeQ: a profile has its name, and no plugin holds it.
    fn is_queued(&self, pod: &Arc<Pod>) -> bool {
        let Some(profile) = self.profiles.get(&pod.spec.scheduler_name) else { return false };
        let world = self.world(&profile.framework);
        let mut plugins = profile.framework.plugins.pre_enqueue.iter().filter_map(|p| p.as_pre_enqueue());
        plugins.all(|plugin| plugin.pre_enqueue(&world.handle(), pod).is_success())
    }

    /// What the plugins of a profile see.
    pub fn world(&self, framework: &Framework) -> TestWorld {
        TestWorld {
            now: Time::parse_rfc3339(EPOCH).expect("a time"),
            snapshot: self.snapshot.clone(),
            objects: self.objects.clone(),
            nominator: Box::new(self.nominator.clone()),
            framework: framework.clone(),
            preemption: PreemptionState::default(),
            ..TestWorld::default()
        }
    }
}

fn profiles(config: Option<&str>, gates: &FeatureGates) -> Result<IndexMap<Str, Profile>, String> {
    let registry = full_registry();
    let options = LoadOptions { gates, has_plugin: &|name| registry.contains(name) };
    let config = match config {
        Some(config) => SchedulerConfig::load(config, options).map_err(|error| text(&error))?,
        None => SchedulerConfig::with_defaults(options),
    };
    let built = build_profiles(&config.profiles, &registry, gates).map_err(|error| text(&error))?;
    let profile = |(name, framework): (Str, Framework)| {
        let absent_at = |point| {
            let names = plugins_at(&framework, point).into_iter().map(|(name, _)| name);
            names.filter(|name| is_absent(name)).collect::<Vec<_>>()
        };
        let args = config.profiles.iter().find(|profile| profile.scheduler_name == name);
        let args = args.and_then(|p| p.plugin_config.iter().find(|c| c.name == "DefaultPreemption"));
        let args =
            DefaultPreemptionArgs::from_value(args.map(|config| &config.args), "").expect("built before");
        let preempts = plugins_at(&framework, ExtensionPoint::PostFilter).contains(&("DefaultPreemption", 0));
        let profile = Profile {
            absent_filters: absent_at(ExtensionPoint::Filter),
            absent_scores: absent_at(ExtensionPoint::Score),
            preemption: preempts.then(|| DefaultPreemption::new(args, gates)),
            framework: without_absent(&framework),
        };
        (name, profile)
    };
    Ok(built.into_iter().map(profile).collect())
}

/// The objects as an API server would store them.
fn objects(files: &BTreeMap<String, String>) -> Result<ObjectStore, String> {
    let sources: Vec<Source> = ["cluster.yaml", "pending.yaml"]
        .into_iter()
        .filter_map(|name| Some(Source { name: name.to_owned(), text: files.get(name)?.clone() }))
        .collect();
    let loaded = load(&sources).map_err(|errors| format!("{errors:?}"))?;
    let mut stored = ObjectStore::default();
    for object in &loaded.objects {
        stored.insert(object.clone());
    }
    let now = Time::parse_rfc3339(EPOCH).expect("a time");
    let mut admitted = ObjectStore::default();
    for object in stored.iter() {
        let classes = PriorityClasses::new(&stored.priority_classes);
        let object = admit(object, &classes, now).map_err(|error| text(&error))?;
        match object {
            Object::Pod(pod) if pod.is_terminal() => {}
            Object::Pod(mut pod) => {
                if pod.metadata.uid.is_empty() {
                    Arc::make_mut(&mut pod).metadata.uid = Uid::from(format!("pod/{}", pod.key()));
                }
                admitted.insert(pod.into());
            }
            other => {
                admitted.insert(other);
            }
        }
    }
    Ok(admitted)
}
