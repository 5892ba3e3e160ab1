//! Builds the framework of a profile: makes its plugins and puts each at its extension points.
//!
//! Follows `NewFramework` of `pkg/scheduler/framework/runtime/framework.go`, and `pkg/scheduler/profile`.

use std::collections::BTreeMap;
use std::sync::Arc;

use indexmap::IndexMap;

use super::registry::{FactoryContext, Registry, RegistryError};
use super::{Framework, PluginsByPoint, WeightedPlugin};
use crate::api::Str;
use crate::config::{EffectivePlugins, ExpansionError, ExtensionPoint, FeatureGates, Profile};
use crate::framework::explained::Explainers;
use crate::framework::plugin::Plugin;

/// Why a profile cannot be built. The texts are kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// Two entries of arguments for one plugin.
    #[error("repeated config for plugin {0}")]
    RepeatedConfig(String),
    /// A plugin's factory refused.
    #[error(transparent)]
    Factory(RegistryError),
    /// The plugins cannot be put at their points.
    #[error(transparent)]
    Expansion(#[from] ExpansionError),
    /// One of several profiles cannot be built.
    #[error("creating profile for scheduler name {profile}: {error}")]
    InProfile {
        /// The profile.
        profile: Str,
        /// Why.
        error: Box<Self>,
    },
    /// Pods could not name the profile.
    #[error("scheduler name is needed")]
    NoName,
    /// Two profiles of one name.
    #[error("duplicate profile with scheduler name {0:?}")]
    Duplicate(Str),
    /// All profiles share the queue, so all must sort it in the same way.
    #[error("different queue sort plugins for profile {profile:?}: {plugin:?}, first: {first:?}")]
    OtherQueueSort {
        /// The profile.
        profile: Str,
        /// Its plugin.
        plugin: &'static str,
        /// The plugin of the first profile.
        first: &'static str,
    },
    /// The same with different arguments.
    #[error("different queue sort plugin args for profile {0:?}")]
    OtherQueueSortArgs(Str),
}

/// Whether the plugin takes part at that point.
pub(super) fn extends(plugin: &dyn Plugin, point: ExtensionPoint) -> bool {
    match point {
        ExtensionPoint::PreEnqueue => plugin.as_pre_enqueue().is_some(),
        ExtensionPoint::QueueSort => plugin.as_queue_sort().is_some(),
        ExtensionPoint::PreFilter => plugin.as_pre_filter().is_some(),
        ExtensionPoint::Filter => plugin.as_filter().is_some(),
        ExtensionPoint::PostFilter => plugin.as_post_filter().is_some(),
        ExtensionPoint::PreScore => plugin.as_pre_score().is_some(),
        ExtensionPoint::Score => plugin.as_score().is_some(),
        ExtensionPoint::Reserve => plugin.as_reserve().is_some(),
        ExtensionPoint::Permit => plugin.as_permit().is_some(),
        ExtensionPoint::PreBind => plugin.as_pre_bind().is_some(),
        ExtensionPoint::Bind => plugin.as_bind().is_some(),
        ExtensionPoint::PostBind => plugin.as_post_bind().is_some(),
        ExtensionPoint::PlacementGenerate => plugin.as_placement_generate().is_some(),
        ExtensionPoint::PlacementScore => plugin.as_placement_score().is_some(),
    }
}

/// The plugins of a profile by name.
type Instances = BTreeMap<String, Arc<dyn Plugin>>;

impl Framework {
    /// Makes the plugins of a profile and puts them at their extension points.
    ///
    /// # Errors
    /// A plugin is not there, does not have the point, is enabled twice or refuses its arguments, or the profile
    /// lacks what every profile needs: exactly one QueueSort plugin and a Bind plugin.
    pub fn new(profile: &Profile, registry: &Registry, gates: &FeatureGates) -> Result<Self, ProfileError> {
        let mut args = BTreeMap::new();
        for config in &profile.plugin_config {
            if args.insert(config.name.as_str(), &config.args).is_some() {
                return Err(ProfileError::RepeatedConfig(config.name.clone()));
            }
        }
        let context = FactoryContext { gates, profile_name: &profile.scheduler_name };
        let mut instances = Instances::new();
        let mut all = Vec::new();
        for name in profile.plugins.enabled_names() {
            match registry.build(name, args.get(name).copied(), &context) {
                Ok(plugin) => {
                    all.push(Arc::clone(&plugin));
                    instances.insert(name.to_owned(), plugin);
                }
                // The point at which it is enabled is told below.
                Err(RegistryError::Unknown(_)) => {}
                Err(error) => return Err(ProfileError::Factory(error)),
            }
        }
        let mut framework = Self {
            profile_name: profile.scheduler_name.clone(),
            percentage_of_nodes_to_score: profile.percentage_of_nodes_to_score,
            explainers: Explainers::of(&all),
            all,
            registry: registry.clone(),
            ..Self::default()
        };
        let has_point = |name: &str, point| instances.get(name).map(|plugin| extends(plugin.as_ref(), point));
        let effective = EffectivePlugins::expand(&profile.plugins, &profile.scheduler_name, &has_point)?;
        let at = |point| -> Vec<Arc<dyn Plugin>> {
            effective.at(point).iter().filter_map(|plugin| instances.get(&plugin.name).cloned()).collect()
        };
        let weighted = |point| -> Vec<WeightedPlugin> {
            let weights = effective.at(point).iter().map(|plugin| i64::from(plugin.weight));
            at(point)
                .into_iter()
                .zip(weights)
                .map(|(plugin, weight)| WeightedPlugin { weight, plugin })
                .collect()
        };
        framework.plugins = PluginsByPoint {
            pre_enqueue: at(ExtensionPoint::PreEnqueue),
            queue_sort: at(ExtensionPoint::QueueSort),
            pre_filter: at(ExtensionPoint::PreFilter),
            filter: at(ExtensionPoint::Filter),
            post_filter: at(ExtensionPoint::PostFilter),
            pre_score: at(ExtensionPoint::PreScore),
            score: weighted(ExtensionPoint::Score),
            reserve: at(ExtensionPoint::Reserve),
            permit: at(ExtensionPoint::Permit),
            pre_bind: at(ExtensionPoint::PreBind),
            bind: at(ExtensionPoint::Bind),
            post_bind: at(ExtensionPoint::PostBind),
            placement_generate: at(ExtensionPoint::PlacementGenerate),
            placement_score: weighted(ExtensionPoint::PlacementScore),
        };
        Ok(framework)
    }
}

/// Builds the frameworks of all profiles, by `schedulerName`, in the order of the profiles (`profile.NewMap`).
///
/// # Errors
/// A profile cannot be built, two have one name, or they do not sort the queue in the same way.
pub fn build_profiles(
    profiles: &[Profile],
    registry: &Registry,
    gates: &FeatureGates,
) -> Result<IndexMap<Str, Framework>, ProfileError> {
    let mut built: IndexMap<Str, Framework> = IndexMap::new();
    let mut first_sort = None;
    for profile in profiles {
        let name = profile.scheduler_name.clone();
        let framework = Framework::new(profile, registry, gates)
            .map_err(|error| ProfileError::InProfile { profile: name.clone(), error: Box::new(error) })?;
        if name.is_empty() {
            return Err(ProfileError::NoName);
        }
        if built.contains_key(&name) {
            return Err(ProfileError::Duplicate(name));
        }
        let plugin = framework.plugins.queue_sort.first().map_or("", |plugin| plugin.name());
        let args = profile.plugin_config.iter().find(|config| config.name == plugin).map(|c| &c.args);
        match first_sort {
            None => first_sort = Some((plugin, args)),
            Some((first, _)) if first != plugin => {
                return Err(ProfileError::OtherQueueSort { profile: name, plugin, first });
            }
            Some((_, first_args)) if first_args != args => {
                return Err(ProfileError::OtherQueueSortArgs(name));
            }
            Some(_) => {}
        }
        built.insert(name, framework);
    }
    Ok(built)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::config::{PluginRef, Plugins};
    use crate::framework::{
        BindAction, BindPlugin, CycleState, FilterPlugin, Handle, NodeInfo, PodInfo, QueueSortPlugin,
        QueuedPodInfo, ScorePlugin, Status,
    };

    /// A plugin that has every point that the tests need, or only those of a name.
    #[derive(Debug)]
    struct Fake(&'static str);

    impl Plugin for Fake {
        fn name(&self) -> &'static str {
            self.0
        }
        fn as_queue_sort(&self) -> Option<&dyn QueueSortPlugin> {
            self.0.starts_with("Sort").then_some(self)
        }
        fn as_filter(&self) -> Option<&dyn FilterPlugin> {
            self.0.starts_with("Filter").then_some(self)
        }
        fn as_score(&self) -> Option<&dyn ScorePlugin> {
            self.0.starts_with("Filter").then_some(self)
        }
        fn as_bind(&self) -> Option<&dyn BindPlugin> {
            self.0.starts_with("Bind").then_some(self)
        }
    }

    impl QueueSortPlugin for Fake {
        fn less(&self, _: &QueuedPodInfo, _: &QueuedPodInfo) -> bool {
            false
        }
    }

    impl FilterPlugin for Fake {
        fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Status {
            Status::SUCCESS
        }
    }

    impl ScorePlugin for Fake {
        fn score(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Result<i64, Status> {
            Ok(0)
        }
    }

    impl BindPlugin for Fake {
        fn bind(&self, _: &Handle<'_>, _: &mut CycleState, _: &PodInfo, _: &Str) -> BindAction {
            BindAction::Skip
        }
    }

    const NAMES: [&str; 6] = ["Sort", "Sort2", "FilterA", "FilterB", "FilterC", "Bind"];

    fn registry() -> Registry {
        let mut registry = Registry::default();
        for name in NAMES {
            registry.register(name, move |_, _| Ok(Arc::new(Fake(name)))).unwrap();
        }
        registry
    }

    fn refs(names: &[&str]) -> Vec<PluginRef> {
        names.iter().map(|name| PluginRef::new(*name)).collect()
    }

    fn profile(name: &str, multi_point: &[&str]) -> Profile {
        let mut plugins = Plugins::default();
        plugins.multi_point.enabled = refs(multi_point);
        Profile {
            scheduler_name: Str::from(name),
            percentage_of_nodes_to_score: None,
            plugins,
            plugin_config: Vec::new(),
        }
    }

    fn build(profile: &Profile) -> Result<Framework, ProfileError> {
        Framework::new(profile, &registry(), &FeatureGates::default())
    }

    fn filters(profile: &Profile) -> Vec<&'static str> {
        build(profile).unwrap().plugins.filter.iter().map(|plugin| plugin.name()).collect()
    }

    #[test]
    fn multi_point_enables_a_plugin_at_every_point_that_it_has() {
        let framework = build(&profile("p", &["Sort", "FilterA", "Bind"])).unwrap();
        assert_eq!(framework.plugins.filter.len(), 1);
        assert_eq!(framework.plugins.score.len(), 1);
        assert_eq!(framework.plugins.bind.len(), 1);
        assert_eq!(framework.all.len(), 3);
    }

    #[test]
    fn a_point_puts_its_own_order_before_that_of_multi_point() {
        let mut profile = profile("p", &["Sort", "FilterA", "FilterB", "Bind"]);
        profile.plugins.at_mut(ExtensionPoint::Filter).enabled = refs(&["FilterC", "FilterB"]);
        assert_eq!(filters(&profile), ["FilterB", "FilterA", "FilterC"]);
        profile.plugins.at_mut(ExtensionPoint::Filter).disabled = vec!["FilterA".into()];
        assert_eq!(filters(&profile), ["FilterB", "FilterC"]);
        profile.plugins.at_mut(ExtensionPoint::Filter).disabled = vec!["*".into()];
        assert_eq!(filters(&profile), ["FilterC", "FilterB"]);
    }

    #[test]
    fn the_weight_at_score_goes_before_that_at_multi_point_and_0_is_1() {
        let mut profile = profile("p", &["Sort", "FilterA", "FilterB", "Bind"]);
        profile.plugins.multi_point.enabled[1].weight = 7;
        let weights = |profile: &Profile| -> Vec<i64> {
            build(profile).unwrap().plugins.score.iter().map(|weighted| weighted.weight).collect()
        };
        assert_eq!(weights(&profile), [7, 1]);
        // Enabled at Score without a weight, the plugin has weight 1 although MultiPoint gives it one.
        profile.plugins.at_mut(ExtensionPoint::Score).enabled = refs(&["FilterA"]);
        assert_eq!(weights(&profile), [1, 1]);
    }

    #[test]
    fn a_negative_weight_is_an_overflow() {
        let mut profile = profile("p", &["Sort", "FilterA", "FilterB", "Bind"]);
        profile.plugins.multi_point.enabled[1].weight = -3;
        let error = build(&profile).unwrap_err().to_string();
        assert_eq!(error, "score plugins: total score of Score plugins could overflow");
    }

    #[test]
    fn what_cannot_be_built_is_told_in_upstreams_words() {
        let error = |profile: &Profile| build(profile).unwrap_err().to_string();
        assert_eq!(
            error(&profile("p", &["FilterA", "Bind"])),
            "only one queue sort plugin required for profile with scheduler name \"p\", but got 0"
        );
        assert_eq!(
            error(&profile("p", &["Sort"])),
            "at least one bind plugin is needed for profile with scheduler name \"p\""
        );
        assert_eq!(error(&profile("p", &["Sort", "Bind", "X"])), "PreFilterPlugin \"X\" does not exist");
        assert_eq!(
            error(&profile("p", &["Sort", "Bind", "FilterA", "FilterA"])),
            "plugin \"FilterA\" already registered as \"FilterPlugin\""
        );
        let mut wrong_point = profile("p", &["Sort", "Bind"]);
        wrong_point.plugins.at_mut(ExtensionPoint::Filter).enabled = refs(&["Bind"]);
        assert_eq!(error(&wrong_point), "plugin \"Bind\" does not extend FilterPlugin plugin");
    }

    #[test]
    fn all_profiles_sort_the_queue_in_the_same_way() {
        let gates = FeatureGates::default();
        let one = profile("one", &["Sort", "Bind"]);
        let two = profile("two", &["Sort2", "Bind"]);
        let error = build_profiles(&[one.clone(), two], &registry(), &gates).unwrap_err().to_string();
        assert_eq!(error, "different queue sort plugins for profile \"two\": \"Sort2\", first: \"Sort\"");
        let error = build_profiles(&[one.clone(), one], &registry(), &gates).unwrap_err().to_string();
        assert_eq!(error, "duplicate profile with scheduler name \"one\"");
    }
}
