//! The plugins of a profile, point by point: those that are enabled at a point and those that MultiPoint adds.
//!
//! Follows `NewFramework`, `expandMultiPointPlugins` and `getValidScoreWeights` of
//! `pkg/scheduler/framework/runtime/framework.go`. What plugins there are is the caller's to know: configurations ask
//! a catalog, frameworks the plugins that they have made.

use super::go_text::quoted;
use super::plugins::{ExtensionPoint, PluginRef, Plugins};

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

/// Tells whether a plugin has an extension point; `None` if there is no plugin of that name.
pub type ExtendsFn<'a> = &'a dyn Fn(&str, ExtensionPoint) -> Option<bool>;

/// The plugins of a profile by extension point, in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct EffectivePlugins {
    /// In the order of [`ExtensionPoint::ALL`].
    by_point: [Vec<PluginRef>; ExtensionPoint::ALL.len()],
}

/// Why plugins cannot be put at their points. The texts are kube-scheduler's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionError {
    /// A plugin is enabled and there is none of that name.
    #[error("{}Plugin {} does not exist", place.point.as_str(), quoted(&place.plugin))]
    Unknown {
        /// Where it is enabled.
        place: Place,
    },
    /// A plugin is enabled at a point that it does not have.
    #[error("plugin {} does not extend {}Plugin plugin", quoted(&place.plugin), place.point.as_str())]
    NotExtended {
        /// Where it is enabled.
        place: Place,
    },
    /// A plugin is enabled twice.
    #[error("plugin {} already registered as \"{}Plugin\"", quoted(&place.plugin), place.point.as_str())]
    Repeated {
        /// Where it is enabled.
        place: Place,
    },
    /// There must be one plugin that sorts the queue.
    #[error(
        "only one queue sort plugin required for profile with scheduler name {}, but got {count}",
        quoted(profile)
    )]
    QueueSort {
        /// The profile.
        profile: String,
        /// How many there are.
        count: usize,
    },
    /// There is no plugin that binds.
    #[error("at least one bind plugin is needed for profile with scheduler name {}", quoted(profile))]
    NoBind {
        /// The profile.
        profile: String,
    },
    /// Only one plugin may propose placements.
    #[error(
        "at most one placement generate plugin is allowed for profile with scheduler name {}",
        quoted(profile)
    )]
    PlacementGenerate {
        /// The profile.
        profile: String,
    },
    /// Scores could add up to more than a number holds, or a weight before this one is negative.
    #[error("{}: total score of Score plugins could overflow", score_plugins(*point))]
    ScoreOverflow {
        /// The point.
        point: ExtensionPoint,
        /// The plugin whose weight is negative.
        negative: Option<String>,
    },
}

/// Where a plugin is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The point that was being filled.
    pub point: ExtensionPoint,
    /// Whether it is enabled at `multiPoint` and not at the point itself.
    pub is_multi_point: bool,
    /// The plugin.
    pub plugin: String,
}

impl Place {
    fn at_point(point: ExtensionPoint, plugin: &str) -> Self {
        Self { point, is_multi_point: false, plugin: plugin.to_owned() }
    }

    fn at_multi_point(point: ExtensionPoint, plugin: &str) -> Self {
        Self { point, is_multi_point: true, plugin: plugin.to_owned() }
    }

    /// The field that enables it.
    pub const fn field_name(&self) -> &'static str {
        if self.is_multi_point { "multiPoint" } else { self.point.field_name() }
    }
}

const fn score_plugins(point: ExtensionPoint) -> &'static str {
    match point {
        ExtensionPoint::PlacementScore => "placement score plugins",
        _ => "score plugins",
    }
}

impl EffectivePlugins {
    /// Works out the plugins of a profile.
    ///
    /// # Errors
    /// The first thing that kube-scheduler would stumble over.
    pub fn expand(
        plugins: &Plugins,
        profile_name: &str,
        extends: ExtendsFn<'_>,
    ) -> Result<Self, ExpansionError> {
        // All points are checked by themselves before MultiPoint is expanded at any of them.
        for point in BUILD_ORDER {
            check_point(plugins, point, extends)?;
        }
        let mut effective = Self::default();
        for point in BUILD_ORDER {
            effective.by_point[point as usize] = expanded_at(plugins, point, extends)?;
        }
        let count = |point| effective.at(point).len();
        let profile = profile_name.to_owned();
        match count(ExtensionPoint::QueueSort) {
            1 => {}
            count => return Err(ExpansionError::QueueSort { profile, count }),
        }
        if count(ExtensionPoint::Bind) == 0 {
            return Err(ExpansionError::NoBind { profile });
        }
        if count(ExtensionPoint::PlacementGenerate) > 1 {
            return Err(ExpansionError::PlacementGenerate { profile });
        }
        for point in [ExtensionPoint::Score, ExtensionPoint::PlacementScore] {
            effective.set_weights(plugins, point, extends)?;
        }
        Ok(effective)
    }

    /// The plugins of a point. Their weights are those that count at Score and PlacementScore, and 0 elsewhere.
    pub fn at(&self, point: ExtensionPoint) -> &[PluginRef] {
        &self.by_point[point as usize]
    }

    /// Gives each plugin of a point its weight: that of the point, else that of MultiPoint; 0 means 1.
    ///
    /// The sum is that of every plugin that has the point, whether it runs there or not, and is checked as
    /// kube-scheduler does it, so that a second plugin after a negative weight is refused.
    fn set_weights(
        &mut self,
        plugins: &Plugins,
        point: ExtensionPoint,
        extends: ExtendsFn<'_>,
    ) -> Result<(), ExpansionError> {
        let mut weights: Vec<(&str, i32)> = Vec::new();
        let mut total: i64 = 0;
        for plugin in plugins.at(point).enabled.iter().chain(&plugins.multi_point.enabled) {
            let is_known = weights.iter().any(|(name, _)| *name == plugin.name);
            if is_known || extends(&plugin.name, point) != Some(true) {
                continue;
            }
            let weight = if plugin.weight == 0 { 1 } else { plugin.weight };
            let highest = i64::from(weight) * SCORE_MAX;
            if highest > i64::MAX.wrapping_sub(total) {
                let negative = weights.iter().find(|(_, weight)| *weight < 0);
                let negative = negative.map(|(name, _)| (*name).to_owned());
                return Err(ExpansionError::ScoreOverflow { point, negative });
            }
            total = total.wrapping_add(highest);
            weights.push((&plugin.name, weight));
        }
        for plugin in &mut self.by_point[point as usize] {
            plugin.weight =
                weights.iter().find(|(name, _)| *name == plugin.name).map_or(1, |(_, weight)| *weight);
        }
        Ok(())
    }
}

/// Whether the plugins that are enabled at the point itself are there, have it, and are named once.
fn check_point(
    plugins: &Plugins,
    point: ExtensionPoint,
    extends: ExtendsFn<'_>,
) -> Result<(), ExpansionError> {
    let enabled = &plugins.at(point).enabled;
    for (i, PluginRef { name, .. }) in enabled.iter().enumerate() {
        let place = Place::at_point(point, name);
        match extends(name, point) {
            None => return Err(ExpansionError::Unknown { place }),
            Some(false) => return Err(ExpansionError::NotExtended { place }),
            Some(true) if enabled[..i].iter().any(|earlier| earlier.name == *name) => {
                return Err(ExpansionError::Repeated { place });
            }
            Some(true) => {}
        }
    }
    Ok(())
}

/// The plugins of a point with those that MultiPoint adds: first those that are enabled in both places, in the order
/// of the point, then those of MultiPoint, then the others.
fn expanded_at(
    plugins: &Plugins,
    point: ExtensionPoint,
    extends: ExtendsFn<'_>,
) -> Result<Vec<PluginRef>, ExpansionError> {
    let set = plugins.at(point);
    let own: Vec<&str> = set.enabled.iter().map(|plugin| plugin.name.as_str()).collect();
    let refs = |names: Vec<&str>| names.into_iter().map(PluginRef::new).collect();
    if set.disabled.iter().any(|name| name == "*") {
        return Ok(refs(own));
    }
    let mut in_both: Vec<&str> = Vec::new();
    let mut added: Vec<&str> = Vec::new();
    for PluginRef { name, .. } in &plugins.multi_point.enabled {
        let place = Place::at_multi_point(point, name);
        let Some(has_point) = extends(name, point) else {
            return Err(ExpansionError::Unknown { place });
        };
        if !has_point || set.disabled.contains(name) {
            continue;
        }
        if own.contains(&name.as_str()) {
            in_both.push(name);
        } else if added.contains(&name.as_str()) {
            return Err(ExpansionError::Repeated { place });
        } else {
            added.push(name);
        }
    }
    let (first, last): (Vec<&str>, Vec<&str>) = own.into_iter().partition(|name| in_both.contains(name));
    Ok(refs(first.into_iter().chain(added).chain(last).collect()))
}
