//! A scheduler's configuration in its internal form: every default is filled in.
//!
//! Follows `pkg/scheduler/apis/config/types.go`.

use crate::api::{Duration, Str};

/// The whole configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerConfig {
    /// How many nodes are looked at side by side; a figure that has no effect on any decision.
    pub parallelism: i32,
    /// After which part of all nodes (in percent) the search for feasible ones ends; 0 lets the size of the
    /// cluster decide.
    pub percentage_of_nodes_to_score: i32,
    /// The backoff after the first failed attempt.
    pub pod_initial_backoff: Duration,
    /// The longest backoff.
    pub pod_max_backoff: Duration,
    /// The profiles, each with a name of its own.
    pub profiles: Vec<Profile>,
    /// Default plugins of kube-scheduler that are not built here and that no profile has therefore. Sorted.
    pub left_out: Vec<String>,
}

/// What pods of one `schedulerName` are scheduled with.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The `schedulerName` of the pods.
    pub scheduler_name: Str,
    /// The profile's own [`SchedulerConfig::percentage_of_nodes_to_score`].
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The plugins; the default ones are merged in, MultiPoint is not expanded.
    pub plugins: Plugins,
    /// The arguments of the plugins that have any.
    pub plugin_config: Vec<PluginConfig>,
}

/// The arguments of a plugin, as they came.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    /// The plugin.
    pub name: String,
    /// Its arguments.
    pub args: serde_json::Value,
}

/// A plugin that is enabled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginRef {
    /// The plugin.
    pub name: String,
    /// The weight of its scores; 0 means that none is given.
    pub weight: i32,
}

impl PluginRef {
    /// A plugin without a weight of its own.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), weight: 0 }
    }
}

/// The plugins of one extension point.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PluginSet {
    /// Those that are enabled, in order.
    pub enabled: Vec<PluginRef>,
    /// The names of default plugins that are disabled; `*` disables all of them.
    pub disabled: Vec<String>,
}

/// The extension points at which plugins are configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the Scheduling Framework")]
pub enum ExtensionPoint {
    PreEnqueue,
    QueueSort,
    PreFilter,
    Filter,
    PostFilter,
    PreScore,
    Score,
    Reserve,
    Permit,
    PreBind,
    Bind,
    PostBind,
}

impl ExtensionPoint {
    /// Every point, in the order of a pod's way through them.
    pub const ALL: [Self; 12] = [
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];

    /// The point's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreEnqueue => "PreEnqueue",
            Self::QueueSort => "QueueSort",
            Self::PreFilter => "PreFilter",
            Self::Filter => "Filter",
            Self::PostFilter => "PostFilter",
            Self::PreScore => "PreScore",
            Self::Score => "Score",
            Self::Reserve => "Reserve",
            Self::Permit => "Permit",
            Self::PreBind => "PreBind",
            Self::Bind => "Bind",
            Self::PostBind => "PostBind",
        }
    }
}

/// The plugins of a profile.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Plugins {
    /// Plugins that are enabled at every point that they have.
    pub multi_point: PluginSet,
    /// The plugins of each point, in the order of [`ExtensionPoint::ALL`].
    by_point: [PluginSet; ExtensionPoint::ALL.len()],
}

impl Plugins {
    /// The plugins of a point.
    pub fn at(&self, point: ExtensionPoint) -> &PluginSet {
        &self.by_point[point as usize]
    }

    /// The same for changing them.
    pub fn at_mut(&mut self, point: ExtensionPoint) -> &mut PluginSet {
        &mut self.by_point[point as usize]
    }

    /// The names of all plugins that are enabled anywhere, MultiPoint first, each once.
    pub fn enabled_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let sets = std::iter::once(&self.multi_point).chain(&self.by_point);
        for plugin in sets.flat_map(|set| &set.enabled) {
            if !names.contains(&plugin.name.as_str()) {
                names.push(&plugin.name);
            }
        }
        names
    }
}
