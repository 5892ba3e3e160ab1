//! Decides pending pods one by one, each as the first thing that happens in its cluster, and tells everything that was
//! answered on the way: the same questions that kube-scheduler's own plugins are asked where the golden decisions come
//! from, answered in the same form.
//!
//! A plugin that is asked alone is asked outside any attempt ([`Scheduler::ask`]); outcome, host, message and evictions
//! are those of a real attempt of the core on a scheduler of its own. No server, no clock: every cluster is as it was
//! before the first line.

mod attempt;
mod bench;
mod decision;
mod questions;
pub mod run;
mod stage;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::manifest::{ManifestErrors, Source, load};
use crate::api::objects::Pod;
use crate::api::{NamespacedName, Object, ObjectStore, Str, Time, Uid};
use crate::config::plugin_args::DefaultPreemptionArgs;
use crate::config::{Complaints, FeatureGates, GateErrors, PluginCatalog, ReadOptions, SchedulerConfig};
use crate::framework::extender::Extender;
use crate::framework::runtime::{ProfileError, build_profiles};
use crate::framework::{Framework, PodInfo, RequestOptions};
use crate::plugins::default_preemption::DefaultPreemption;
use crate::plugins::names;
use crate::plugins::registry::in_tree_registry;
use crate::scheduler::input::Input;
use crate::scheduler::{Scheduler, SchedulerError, SchedulerOptions};

use super::extender::PlayerError;
use super::sandbox::admission::{PriorityClasses, admit};
use super::sandbox::api::ApiError;
use attempt::{Attempt, ChosenFirst};
use stage::Stage;

pub use bench::BenchReport;
pub use decision::{Answer, Decision, DryRun, ExtenderCalled, PreFilterAnswer, Score};

/// When the clusters' clock starts and stays: 2026-01-01T00:00:00Z.
pub const EPOCH: Time = Time::from_secs(1_767_225_600);
/// When the pods are tried. The oracle has a clock of its own, which stands at [`EPOCH`], but preemption and the
/// time-out of devices read the machine's clock, which is later than anything in a case.
const WALL_CLOCK: Time = Time::from_secs(1_798_761_600);

/// What a case is made of.
#[derive(Clone, Debug, Default)]
pub struct CaseSources {
    /// The manifests: what exists, and the pods in question.
    pub manifests: Vec<Source>,
    /// The configuration; without it the defaults hold.
    pub config: Option<Source>,
    /// What the configuration's extenders answer (`extenders.yaml`); without it there must be none.
    pub extenders: Option<Source>,
    /// Feature gates as `--feature-gates` takes them.
    pub feature_gates: String,
}

/// Why a case cannot be decided.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The feature gates are refused.
    #[error(transparent)]
    Gates(#[from] GateErrors),
    /// The configuration is refused.
    #[error(transparent)]
    Config(#[from] Complaints),
    /// What extenders answer cannot be read, or speaks of others than the configuration.
    #[error("{name}: {error}")]
    Extenders {
        /// The file.
        name: String,
        /// Why.
        error: PlayerError,
    },
    /// Nothing says what the extenders answer.
    #[error("the configuration has extenders, and there is no extenders.yaml that says what they answer")]
    NoRules,
    /// A call to an extender is not one that can be played.
    #[error(transparent)]
    Call(#[from] PlayerError),
    /// A manifest cannot be read.
    #[error(transparent)]
    Manifest(#[from] ManifestErrors),
    /// An object would not be admitted.
    #[error(transparent)]
    Admission(#[from] ApiError),
    /// A profile cannot be built.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The profiles do not make a scheduler.
    #[error(transparent)]
    Scheduler(#[from] SchedulerError),
    /// The core did not try the pod.
    #[error("no attempt was made")]
    NoAttempt,
    /// A pod that is to be decided is not in the queue.
    #[error("pod {0}: is not in the scheduling queue")]
    NotInQueue(NamespacedName),
}

/// A cluster with its profiles.
#[derive(Clone, Debug)]
pub struct Case {
    gates: FeatureGates,
    percentage_of_nodes_to_score: i32,
    profiles: Vec<CaseProfile>,
    /// The objects, admitted, in the order in which a server lists them, kind by kind.
    objects: Vec<Object>,
    pending: Vec<NamespacedName>,
    /// The extenders, if there are any.
    stage: Option<Stage>,
}

/// A profile, with DefaultPreemption at hand if it is at PostFilter.
#[derive(Clone, Debug)]
struct CaseProfile {
    framework: Framework,
    preemption: Option<DefaultPreemption>,
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// Why it cannot be decided.
    pub fn new(sources: &CaseSources) -> Result<Self, CaseError> {
        let gates = FeatureGates::parse(sources.feature_gates.trim())?;
        let config = read_config(sources.config.as_ref(), &gates)?;
        let registry = in_tree_registry();
        let frameworks = build_profiles(&config.profiles, &registry, &gates)?;
        let profiles = frameworks.into_values().zip(&config.profiles).map(|(framework, profile)| {
            let args = profile.plugin_config.iter().find(|config| config.name == names::DEFAULT_PREEMPTION);
            // The profile is built, so its arguments are good.
            let args =
                DefaultPreemptionArgs::from_value(args.map(|config| &config.args), "").unwrap_or_default();
            let mut post_filter = framework.plugins.post_filter.iter();
            let preempts = post_filter.any(|plugin| plugin.name() == names::DEFAULT_PREEMPTION);
            CaseProfile { framework, preemption: preempts.then(|| DefaultPreemption::new(args, &gates)) }
        });
        let profiles = profiles.collect();
        let (objects, pending) = read_objects(&sources.manifests)?;
        let extenders = Extender::all_from_config(&config.extenders);
        let stage = match &sources.extenders {
            _ if extenders.is_empty() => None,
            None => return Err(CaseError::NoRules),
            Some(Source { name, text }) => {
                let mut api = ObjectStore::default();
                for object in &objects {
                    api.insert(object.clone());
                }
                let error = |error| CaseError::Extenders { name: name.clone(), error };
                Some(Stage::new(extenders, text, api).map_err(error)?)
            }
        };
        Ok(Self {
            gates,
            percentage_of_nodes_to_score: config.percentage_of_nodes_to_score,
            profiles,
            objects,
            pending,
            stage,
        })
    }

    /// The pods to decide, in the order of the manifests.
    pub fn pending(&self) -> &[NamespacedName] {
        &self.pending
    }

    /// How many nodes there are.
    pub fn num_nodes(&self) -> usize {
        self.objects.iter().filter(|object| matches!(object, Object::Node(_))).count()
    }

    /// Decides one pod.
    ///
    /// # Errors
    /// If the pod is none of [`Case::pending`], or no scheduler can be made.
    pub fn decide(&self, key: &NamespacedName) -> Result<Decision, CaseError> {
        let pod = self.pod(key).ok_or_else(|| CaseError::NotInQueue(key.clone()))?;
        let scheduler_name = &pod.spec.scheduler_name;
        let profile = self.profiles.iter().find(|profile| profile.framework.profile_name == *scheduler_name);
        let mut decision =
            Decision { pod: key.to_string(), profile: scheduler_name.to_string(), ..Decision::default() };
        let Some(profile) = profile else {
            decision.no_profile = true;
            decision.outcome = "ignored".to_owned();
            return Ok(decision);
        };
        let mut scheduler = self.scheduler(pod.uid())?;
        let pod = PodInfo::with_options(Arc::clone(pod), RequestOptions::from_gates(&self.gates));
        let asked = scheduler.ask(scheduler_name, |handle, framework| {
            questions::ask(&mut decision, handle, framework, &pod, self.stage.clone())
        });
        if let Some(asked) = asked.filter(|_| decision.outcome.is_empty()) {
            let attempt =
                Attempt { pod: &pod, preemption: profile.preemption.as_ref(), stage: self.stage.as_ref() };
            attempt.make(&mut decision, scheduler, asked)?;
        }
        Ok(decision)
    }

    /// A scheduler that knows the cluster and has tried nothing; the pod would be the first.
    ///
    /// # Errors
    /// If the pod is not in the cluster, or no scheduler can be made.
    pub fn untried(&self, key: &NamespacedName) -> Result<Scheduler, CaseError> {
        let pod = self.pod(key).ok_or_else(|| CaseError::NotInQueue(key.clone()))?;
        Ok(self.scheduler(pod.uid())?)
    }

    fn pod(&self, key: &NamespacedName) -> Option<&Arc<Pod>> {
        self.objects.iter().find_map(|object| match object {
            Object::Pod(pod) if pod.key() == *key => Some(pod),
            _ => None,
        })
    }

    /// A scheduler that knows the cluster and tries the pod of that uid first.
    fn scheduler(&self, first: &Uid) -> Result<Scheduler, SchedulerError> {
        let profiles = self.profiles.iter().map(|profile| {
            let mut framework = profile.framework.clone();
            framework.plugins.queue_sort = vec![Arc::new(ChosenFirst { uid: first.clone() })];
            framework
        });
        let options = SchedulerOptions {
            percentage_of_nodes_to_score: self.percentage_of_nodes_to_score,
            gates: self.gates,
            extenders: self.stage.as_ref().map(|stage| stage.extenders.clone()).unwrap_or_default(),
            // Each pod is decided on by itself.
            is_grouping: false,
            ..SchedulerOptions::default()
        };
        let mut scheduler = Scheduler::new(profiles.collect(), options)?;
        for object in &self.objects {
            scheduler.handle(WALL_CLOCK, Input::Added(object.clone()));
            while scheduler.poll_effect().is_some() {}
        }
        Ok(scheduler)
    }
}

fn read_config(config: Option<&Source>, gates: &FeatureGates) -> Result<SchedulerConfig, CaseError> {
    match config {
        None => Ok(SchedulerConfig::default_under(gates)),
        Some(Source { name, text }) => {
            let catalog = PluginCatalog::default();
            Ok(SchedulerConfig::read(text, ReadOptions { source: name, gates, catalog: &catalog })?)
        }
    }
}

/// The objects as an API server would list them, and the pods that wait to be scheduled in the order of the
/// manifests. An object that comes twice is created and then updated: it keeps its uid and its creation time.
fn read_objects(manifests: &[Source]) -> Result<(Vec<Object>, Vec<NamespacedName>), CaseError> {
    let loaded = load(manifests)?;
    let mut classes = BTreeMap::new();
    for object in &loaded.objects {
        if let Object::PriorityClass(class) = object {
            classes.insert(object.key(), Arc::clone(class));
        }
    }
    let classes = PriorityClasses::new(&classes);
    let mut admitted: BTreeMap<(usize, Str), Object> = BTreeMap::new();
    let mut pending: Vec<NamespacedName> = Vec::new();
    for (kind, object) in loaded.objects.into_iter().map(|object| (object.kind(), object)) {
        let mut object = admit(object, &classes, EPOCH)?;
        object.metadata_mut().creation_timestamp.get_or_insert(EPOCH);
        let key = object.key();
        // A server lists in the order of the keys in its store, where the two parts of a name are one text.
        let place = (kind as usize, Str::from(format!("{}/{}", key.namespace, key.name)));
        if matches!(&object, Object::Pod(pod) if pod.is_terminal()) {
            admitted.remove(&place);
            pending.retain(|known| *known != key);
            continue;
        }
        match admitted.get(&place) {
            Some(known) => {
                let (uid, created) = (known.metadata().uid.clone(), known.metadata().creation_timestamp);
                object.metadata_mut().uid = uid;
                object.metadata_mut().creation_timestamp = created;
            }
            None if object.metadata().uid.is_empty() => {
                object.metadata_mut().uid = Uid::from(format!("{kind}/{key}"));
            }
            None => {}
        }
        pending.retain(|known| kind != crate::api::Kind::Pod || *known != key);
        if matches!(&object, Object::Pod(pod) if !pod.is_assigned() && !pod.is_terminating()) {
            pending.push(key);
        }
        admitted.insert(place, object);
    }
    Ok((admitted.into_values().collect(), pending))
}
