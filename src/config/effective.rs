//! What each profile really runs: the plugins of every extension point in order, with their weights.
//!
//! Follows `NewFramework`, `expandMultiPointPlugins` and `getValidScoreWeights` of
//! `pkg/scheduler/framework/runtime/framework.go`, `pkg/scheduler/profile`, and `buildExtenders` of
//! `pkg/scheduler/scheduler.go`. Nothing is made here; what would fail when it is made is told in the same words.

use serde_json::{Map, Value, json};

use super::extenders;
use super::gates::FeatureGates;
use super::go_text::quoted;
use super::plugin_names::PluginCatalog;
use super::plugins::{ExtensionPoint, PluginRef, Plugins};
use super::v1::{KubeSchedulerConfiguration, KubeSchedulerProfile, PluginArgs};
use super::validation::Validate as _;
use crate::api::field::FieldErrors;

/// The points in the order in which kube-scheduler fills them, which decides the first error.
const BUILD_ORDER: [ExtensionPoint; 14] = [
    ExtensionPoint::PreFilter,
    ExtensionPoint::Filter,
    ExtensionPoint::PostFilter,
    ExtensionPoint::Reserve,
    ExtensionPoint::PreScore,
    ExtensionPoint::Score,
    ExtensionPoint::PreBind,
    ExtensionPoint::Bind,
    ExtensionPoint::PostBind,
    ExtensionPoint::Permit,
    ExtensionPoint::PreEnqueue,
    ExtensionPoint::QueueSort,
    ExtensionPoint::PlacementGenerate,
    ExtensionPoint::PlacementScore,
];

/// A score of a plugin, before its weight, at the most.
const SCORE_MAX: i64 = 100;

/// The plugins of a profile by extension point, in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EffectivePlugins {
    /// In the order of [`ExtensionPoint::ALL`].
    by_point: [Vec<PluginRef>; ExtensionPoint::ALL.len()],
}

impl EffectivePlugins {
    /// The plugins of a point. Their weights are those that count at Score and PlacementScore, and 0 elsewhere.
    pub fn at(&self, point: ExtensionPoint) -> &[PluginRef] {
        &self.by_point[point as usize]
    }

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

    fn problem(&self, text: String, point: &'static str, plugin: Option<&str>) -> BuildProblem {
        let profile = self.index;
        let subject = match plugin {
            Some(plugin) => Subject::Plugin { profile, point, plugin: plugin.to_owned() },
            None => Subject::Point { profile, point },
        };
        BuildProblem { text, subject }
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
        // All points are checked by themselves before MultiPoint is expanded at any of them.
        for point in BUILD_ORDER {
            self.check_point(point)?;
        }
        let mut effective = EffectivePlugins::default();
        for point in BUILD_ORDER {
            effective.by_point[point as usize] = self.expanded_at(point)?;
        }
        let name = quoted(self.profile.scheduler_name.as_deref().unwrap_or(""));
        let count = |point| effective.at(point).len();
        let sorters = count(ExtensionPoint::QueueSort);
        if sorters != 1 {
            let text = format!(
                "only one queue sort plugin required for profile with scheduler name {name}, but got {sorters}"
            );
            return Err(self.problem(text, "queueSort", None));
        }
        if count(ExtensionPoint::Bind) == 0 {
            let text = format!("at least one bind plugin is needed for profile with scheduler name {name}");
            return Err(self.problem(text, "bind", None));
        }
        if count(ExtensionPoint::PlacementGenerate) > 1 {
            let text = format!(
                "at most one placement generate plugin is allowed for profile with scheduler name {name}"
            );
            return Err(self.problem(text, "placementGenerate", None));
        }
        self.set_weights(&mut effective, ExtensionPoint::Score, "score plugins")?;
        self.set_weights(&mut effective, ExtensionPoint::PlacementScore, "placement score plugins")?;
        Ok(effective)
    }

    /// Whether the plugins that are enabled at the point itself are there, have it, and are named once.
    fn check_point(&self, point: ExtensionPoint) -> Result<(), BuildProblem> {
        let enabled = &self.plugins.at(point).enabled;
        for (i, PluginRef { name, .. }) in enabled.iter().enumerate() {
            let interface = point.as_str();
            let text = if self.catalog.points(name).is_none() {
                format!("{interface}Plugin {} does not exist", quoted(name))
            } else if !self.catalog.extends(name, point) {
                format!("plugin {} does not extend {interface}Plugin plugin", quoted(name))
            } else if enabled[..i].iter().any(|earlier| earlier.name == *name) {
                format!("plugin {} already registered as \"{interface}Plugin\"", quoted(name))
            } else {
                continue;
            };
            return Err(self.problem(text, point.field_name(), Some(name)));
        }
        Ok(())
    }

    /// The plugins of a point with those that MultiPoint adds: first those that are enabled in both places, in the
    /// order of the point, then those of MultiPoint, then the others.
    fn expanded_at(&self, point: ExtensionPoint) -> Result<Vec<PluginRef>, BuildProblem> {
        let set = self.plugins.at(point);
        let own: Vec<&str> = set.enabled.iter().map(|plugin| plugin.name.as_str()).collect();
        let refs = |names: Vec<&str>| names.into_iter().map(PluginRef::new).collect();
        if set.disabled.iter().any(|name| name == "*") {
            return Ok(refs(own));
        }
        let mut in_both: Vec<&str> = Vec::new();
        let mut added: Vec<&str> = Vec::new();
        for PluginRef { name, .. } in &self.plugins.multi_point.enabled {
            let interface = point.as_str();
            if self.catalog.points(name).is_none() {
                let text = format!("{interface}Plugin {} does not exist", quoted(name));
                return Err(self.problem(text, "multiPoint", Some(name)));
            }
            if !self.catalog.extends(name, point) || set.disabled.contains(name) {
                continue;
            }
            if own.contains(&name.as_str()) {
                in_both.push(name);
            } else if added.contains(&name.as_str()) {
                let text = format!("plugin {} already registered as \"{interface}Plugin\"", quoted(name));
                return Err(self.problem(text, "multiPoint", Some(name)));
            } else {
                added.push(name);
            }
        }
        let (first, last): (Vec<&str>, Vec<&str>) = own.into_iter().partition(|name| in_both.contains(name));
        Ok(refs(first.into_iter().chain(added).chain(last).collect()))
    }

    /// Gives each plugin of a point its weight: that of the point, else that of MultiPoint; 0 means 1.
    ///
    /// The sum is that of every plugin that has the point, whether it runs there or not, and is checked as
    /// kube-scheduler does it, so that a second plugin after a negative weight is refused.
    fn set_weights(
        &self,
        effective: &mut EffectivePlugins,
        point: ExtensionPoint,
        what: &str,
    ) -> Result<(), BuildProblem> {
        let mut weights: Vec<(&str, i32)> = Vec::new();
        let mut total: i64 = 0;
        for plugin in self.plugins.at(point).enabled.iter().chain(&self.plugins.multi_point.enabled) {
            let is_known = weights.iter().any(|(name, _)| *name == plugin.name);
            if is_known || !self.catalog.extends(&plugin.name, point) {
                continue;
            }
            let weight = if plugin.weight == 0 { 1 } else { plugin.weight };
            let highest = i64::from(weight) * SCORE_MAX;
            if highest > i64::MAX.wrapping_sub(total) {
                let text = format!("{what}: total score of Score plugins could overflow");
                let negative = weights.iter().find(|(_, weight)| *weight < 0).map(|(name, _)| *name);
                return Err(self.problem(text, point.field_name(), negative));
            }
            total = total.wrapping_add(highest);
            weights.push((&plugin.name, weight));
        }
        for plugin in &mut effective.by_point[point as usize] {
            plugin.weight =
                weights.iter().find(|(name, _)| *name == plugin.name).map_or(1, |(_, weight)| *weight);
        }
        Ok(())
    }
}
