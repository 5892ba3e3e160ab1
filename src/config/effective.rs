//! What each profile really runs: the plugins of every extension point in order, with their weights.
//!
//! Follows `pkg/scheduler/profile` and `buildExtenders` of `pkg/scheduler/scheduler.go`. Nothing is made here; what would fail when it is made is told in the same words.

use serde_json::{Map, Value, json};

use super::expansion::{EffectivePlugins, ExpansionError};
use super::extenders;
use super::gates::FeatureGates;
use super::go_text::quoted;
use super::plugin_names::PluginCatalog;
use super::plugins::{ExtensionPoint, PluginRef, Plugins};
use super::v1::{KubeSchedulerConfiguration, KubeSchedulerProfile, PluginArgs};
use super::validation::Validate as _;
use crate::api::field::FieldErrors;

impl EffectivePlugins {
    /// The part of the document `effectivePlugins` that is about this profile.
    pub fn to_document(&self) -> Value {
        let mut points = Map::new();
        for point in ExtensionPoint::ALL {
            let entry = |plugin: &PluginRef| match plugin.weight {
                0 => json!({"name": plugin.name}),
                weight => json!({"name": plugin.name, "weight": weight}),
            };
            let plugins: Vec<Value> = self.at(point).iter().map(entry).collect();
            if !plugins.is_empty() {
                points.insert(point.field_name().to_owned(), plugins.into());
            }
        }
        points.into()
    }
}

/// Why a scheduler cannot be made of a configuration that is valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BuildProblem {
    /// kube-scheduler's sentence.
    pub text: String,
    /// What in the file it is about.
    pub subject: Subject,
}

impl BuildProblem {
    /// Whether a profile is at fault, not an extender.
    pub(super) const fn is_about_profiles(&self) -> bool {
        !matches!(self.subject, Subject::Fields(_))
    }
}

/// What in the file a problem is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// Fields, by their paths.
    Fields(Vec<String>),
    /// Fields of the arguments of a plugin of a profile.
    Args { profile: usize, plugin: String, fields: Vec<String> },
    /// A plugin of a profile, at a point or at `multiPoint`.
    Plugin { profile: usize, point: &'static str, plugin: String },
    /// All plugins at a point of a profile.
    Point { profile: usize, point: &'static str },
}

/// Works out the plugins of every profile.
///
/// # Errors
/// What keeps the scheduler from being made.
pub(super) fn effective_plugins(
    config: &KubeSchedulerConfiguration,
    gates: &FeatureGates,
    catalog: &PluginCatalog,
) -> Result<Vec<EffectivePlugins>, Vec<BuildProblem>> {
    let mut profiles = config.profiles.clone();
    let problems = extenders::check(&config.extenders, &mut profiles);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut effective = Vec::new();
    let mut problems = Vec::new();
    let mut first = None;
    for (i, profile) in profiles.iter().enumerate() {
        match Builder::new(profile, i, catalog).build(gates) {
            Ok(plugins) => {
                problems.extend(check_queue_sort(profile, i, &plugins, &mut first));
                effective.push(plugins);
            }
            Err(found) => problems.extend(found.into_iter().map(|problem| {
                let name = profile.scheduler_name.as_deref().unwrap_or("");
                let text = format!("creating profile for scheduler name {name}: {}", problem.text);
                BuildProblem { text, ..problem }
            })),
        }
    }
    if problems.is_empty() {
        return Ok(effective);
    }
    for problem in &mut problems {
        problem.text.insert_str(0, "initializing profiles: ");
    }
    Err(problems)
}

/// All profiles share the queue, so all must sort it as the first one does.
fn check_queue_sort<'a>(
    profile: &'a KubeSchedulerProfile,
    index: usize,
    plugins: &EffectivePlugins,
    first: &mut Option<(String, Option<&'a PluginArgs>)>,
) -> Option<BuildProblem> {
    let sorter = plugins.at(ExtensionPoint::QueueSort).first().map(|plugin| plugin.name.clone());
    let sorter = sorter.unwrap_or_default();
    let config = profile.plugin_config.iter().find(|config| config.name == sorter);
    // Arguments that are null are none.
    let args = config.map(|config| &config.args).filter(|args| **args != PluginArgs::default());
    let name = quoted(profile.scheduler_name.as_deref().unwrap_or(""));
    match first {
        None => {
            *first = Some((sorter, args));
            None
        }
        Some((other, _)) if *other != sorter => {
            let (own, other) = (quoted(&sorter), quoted(other));
            let text = format!("different queue sort plugins for profile {name}: {own}, first: {other}");
            let subject = Subject::Point { profile: index, point: "queueSort" };
            Some(BuildProblem { text, subject })
        }
        Some((_, other)) if *other != args => {
            let text = format!("different queue sort plugin args for profile {name}");
            let subject = Subject::Args { profile: index, plugin: sorter, fields: Vec::new() };
            Some(BuildProblem { text, subject })
        }
        Some(_) => None,
    }
}

/// Works out the plugins of one profile.
struct Builder<'a> {
    profile: &'a KubeSchedulerProfile,
    index: usize,
    plugins: Plugins,
    catalog: &'a PluginCatalog,
}

impl<'a> Builder<'a> {
    fn new(profile: &'a KubeSchedulerProfile, index: usize, catalog: &'a PluginCatalog) -> Self {
        let plugins = profile.plugins.clone().unwrap_or_default();
        Self { profile, index, plugins, catalog }
    }

    /// Either the plugins, or all arguments that are refused, or the first other problem.
    fn build(&self, gates: &FeatureGates) -> Result<EffectivePlugins, Vec<BuildProblem>> {
        let refused = self.refused_args(gates);
        if !refused.is_empty() {
            return Err(refused);
        }
        self.expand().map_err(|problem| vec![problem])
    }

    /// The plugins that refuse their arguments.
    fn refused_args(&self, gates: &FeatureGates) -> Vec<BuildProblem> {
        let enabled = self.plugins.enabled_names();
        let is_made = |name: &str| enabled.contains(&name) && self.catalog.points(name).is_some();
        let configs = self.profile.plugin_config.iter().filter(|config| is_made(&config.name));
        let refused = configs.filter_map(|config| {
            let errors = FieldErrors(config.args.validate("", gates));
            let fields: Vec<String> = errors.0.iter().map(|error| error.path.clone()).collect();
            let text = format!("initializing plugin {}: {errors}", quoted(&config.name));
            let subject =
                Subject::Args { profile: self.index, plugin: config.name.clone(), fields: fields.clone() };
            (!fields.is_empty()).then_some(BuildProblem { text, subject })
        });
        refused.collect()
    }

    fn expand(&self) -> Result<EffectivePlugins, BuildProblem> {
        let name = self.profile.scheduler_name.as_deref().unwrap_or("");
        let extends = |name: &str, point| self.catalog.points(name).map(|points| points.contains(&point));
        EffectivePlugins::expand(&self.plugins, name, &extends)
            .map_err(|error| BuildProblem { text: error.to_string(), subject: self.subject(error) })
    }

    fn subject(&self, error: ExpansionError) -> Subject {
        let profile = self.index;
        match error {
            ExpansionError::Unknown { place }
            | ExpansionError::NotExtended { place }
            | ExpansionError::Repeated { place } => {
                Subject::Plugin { profile, point: place.field_name(), plugin: place.plugin }
            }
            ExpansionError::QueueSort { .. } => Subject::Point { profile, point: "queueSort" },
            ExpansionError::NoBind { .. } => Subject::Point { profile, point: "bind" },
            ExpansionError::PlacementGenerate { .. } => {
                Subject::Point { profile, point: "placementGenerate" }
            }
            ExpansionError::ScoreOverflow { point, negative: Some(plugin) } => {
                Subject::Plugin { profile, point: point.field_name(), plugin }
            }
            ExpansionError::ScoreOverflow { point, negative: None } => {
                Subject::Point { profile, point: point.field_name() }
            }
        }
    }
}
