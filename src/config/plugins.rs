//! Sets of plugins: which are enabled and disabled at each extension point of a profile.
//!
//! Follows `Plugins`, `PluginSet` and `Plugin` of `pkg/scheduler/apis/config/types.go`.

use serde_json::{Map, Value, json};

use super::decode::{Decode, Encode, Fields, Findings, Path, object};
use super::document::Node;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    PlacementGenerate,
    PlacementScore,
}

impl ExtensionPoint {
    /// Every point, in the order of a pod's way through them; those of pod groups last.
    pub const ALL: [Self; 14] = [
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
        Self::PlacementGenerate,
        Self::PlacementScore,
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
            Self::PlacementGenerate => "PlacementGenerate",
            Self::PlacementScore => "PlacementScore",
        }
    }

    /// The name of the point's field in a configuration.
    pub const fn field_name(self) -> &'static str {
        match self {
            Self::PreEnqueue => "preEnqueue",
            Self::QueueSort => "queueSort",
            Self::PreFilter => "preFilter",
            Self::Filter => "filter",
            Self::PostFilter => "postFilter",
            Self::PreScore => "preScore",
            Self::Score => "score",
            Self::Reserve => "reserve",
            Self::Permit => "permit",
            Self::PreBind => "preBind",
            Self::Bind => "bind",
            Self::PostBind => "postBind",
            Self::PlacementGenerate => "placementGenerate",
            Self::PlacementScore => "placementScore",
        }
    }

    /// Whether plugins have weights at this point.
    pub const fn has_weights(self) -> bool {
        matches!(self, Self::Score | Self::PlacementScore)
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

object! {
    /// An entry of a set, as a file has it.
    pub struct Plugin {
        /// The plugin.
        pub name: String = "name" always,
        /// Its weight.
        pub weight: Option<i32> = "weight" empty,
    }
}

impl Decode for PluginSet {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        let mut fields = Fields::new(node, path, findings);
        let enabled: Vec<Plugin> = fields.take("enabled", findings);
        let disabled: Vec<Plugin> = fields.take("disabled", findings);
        fields.finish(findings);
        Self {
            enabled: enabled
                .into_iter()
                .map(|plugin| PluginRef { name: plugin.name, weight: plugin.weight.unwrap_or(0) })
                .collect(),
            disabled: disabled.into_iter().map(|plugin| plugin.name).collect(),
        }
    }
}

impl Encode for PluginSet {
    fn encode(&self) -> Value {
        let mut set = Map::new();
        let entry = |name: &str, weight: i32| json!({"name": name, "weight": weight});
        if !self.enabled.is_empty() {
            let enabled = self.enabled.iter().map(|plugin| entry(&plugin.name, plugin.weight));
            set.insert("enabled".to_owned(), enabled.collect());
        }
        if !self.disabled.is_empty() {
            let disabled = self.disabled.iter().map(|name| entry(name, 0));
            set.insert("disabled".to_owned(), disabled.collect());
        }
        set.into()
    }
}

impl Decode for Plugins {
    fn decode(node: &Node, path: &Path<'_>, findings: &mut Findings) -> Self {
        let mut fields = Fields::new(node, path, findings);
        let mut plugins = Self { multi_point: fields.take("multiPoint", findings), ..Self::default() };
        for point in ExtensionPoint::ALL {
            *plugins.at_mut(point) = fields.take(point.field_name(), findings);
        }
        fields.finish(findings);
        plugins
    }
}

impl Encode for Plugins {
    fn encode(&self) -> Value {
        let mut plugins = Map::new();
        plugins.insert("multiPoint".to_owned(), self.multi_point.encode());
        for point in ExtensionPoint::ALL {
            plugins.insert(point.field_name().to_owned(), self.at(point).encode());
        }
        plugins.into()
    }
}
