//! How plugins come to be: their names and the functions that make them.
//!
//! Mirrors `pkg/scheduler/framework/runtime/registry.go`. A registry is a value that is cheap to copy: what is made of it
//! (frameworks, schedulers) keeps the one that it was made of, so that a scheduler can be made again of a recording or
//! another configuration with the same plugins. Which plugins there are is decided where a program is put together.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::profile::extends;
use crate::config::{ExtensionPoint, FeatureGates, PluginCatalog};
use crate::framework::plugin::Plugin;

/// What a factory is told besides the plugin's arguments.
#[derive(Clone, Copy, Debug)]
pub struct FactoryContext<'a> {
    /// The feature gates.
    pub gates: &'a FeatureGates,
    /// `schedulerName` of the profile.
    pub profile_name: &'a str,
}

/// Makes a plugin from its `args`, which are absent where the configuration has none.
pub type PluginFactory = Arc<
    dyn Fn(Option<&serde_json::Value>, &FactoryContext<'_>) -> Result<Arc<dyn Plugin>, String> + Send + Sync,
>;

/// A plugin that is not kube-scheduler's, as a program adds it: its name, the function that makes it, and what else must
/// be known of it before it is made.
#[derive(Clone)]
pub struct PluginDefinition {
    name: String,
    factory: PluginFactory,
    points: Vec<ExtensionPoint>,
    annotations: Vec<String>,
}

impl PluginDefinition {
    /// A plugin of that name.
    pub fn new<P: Plugin + 'static>(
        name: impl Into<String>,
        factory: impl Fn(Option<&serde_json::Value>, &FactoryContext<'_>) -> Result<P, String>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let factory: PluginFactory = Arc::new(move |args, context| Ok(Arc::new(factory(args, context)?)));
        Self { name: name.into(), factory, points: Vec::new(), annotations: Vec::new() }
    }

    /// Says at which extension points the plugin is. Only one that cannot be made without arguments must say so: of the
    /// others it is seen.
    #[must_use]
    pub fn at(mut self, points: impl IntoIterator<Item = ExtensionPoint>) -> Self {
        self.points.extend(points);
        self
    }

    /// Says that the plugin reads an annotation of objects. Recordings keep the text of those alone.
    #[must_use]
    pub fn reads_annotation(mut self, key: impl Into<String>) -> Self {
        self.annotations.push(key.into());
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Debug for PluginDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PluginDefinition").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Plugins by name.
#[derive(Clone, Default)]
pub struct Registry {
    entries: Arc<BTreeMap<String, PluginDefinition>>,
}

/// Why a plugin could not be registered or made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Two plugins of one name.
    #[error("a plugin named {0} already exists")]
    Duplicate(String),
    /// A configuration names a plugin that is not there.
    #[error("{0:?} does not exist")]
    Unknown(String),
    /// The factory refused.
    #[error("initializing plugin {name:?}: {reason}")]
    Factory {
        /// The plugin.
        name: String,
        /// Why.
        reason: String,
    },
}

impl Registry {
    /// Adds a plugin.
    ///
    /// # Errors
    /// If there is one of that name.
    pub fn register(
        &mut self,
        name: &str,
        factory: impl Fn(Option<&serde_json::Value>, &FactoryContext<'_>) -> Result<Arc<dyn Plugin>, String>
        + Send
        + Sync
        + 'static,
    ) -> Result<(), RegistryError> {
        self.add(PluginDefinition {
            name: name.to_owned(),
            factory: Arc::new(factory),
            points: Vec::new(),
            annotations: Vec::new(),
        })
    }

    /// Adds a plugin with what else is known of it.
    ///
    /// # Errors
    /// If there is one of that name.
    pub fn add(&mut self, plugin: PluginDefinition) -> Result<(), RegistryError> {
        if self.contains(&plugin.name) {
            return Err(RegistryError::Duplicate(plugin.name));
        }
        Arc::make_mut(&mut self.entries).insert(plugin.name.clone(), plugin);
        Ok(())
    }

    /// Whether there is a plugin of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The annotations that plugins say they read, sorted.
    pub fn annotations(&self) -> impl Iterator<Item = &str> {
        let mut all: Vec<&str> =
            self.entries.values().flat_map(|plugin| &plugin.annotations).map(String::as_str).collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }

    /// The plugins that a configuration may enable: kube-scheduler's, and those that are only here, with their
    /// extension points.
    pub fn catalog(&self, gates: &FeatureGates) -> PluginCatalog {
        let others = self.entries.values().filter(|plugin| !PluginCatalog::default().knows(&plugin.name));
        others.fold(PluginCatalog::default(), |catalog, plugin| {
            let context = FactoryContext { gates, profile_name: "" };
            let made = if plugin.points.is_empty() { (plugin.factory)(None, &context).ok() } else { None };
            let points: Vec<ExtensionPoint> = match made {
                Some(made) => {
                    ExtensionPoint::ALL.into_iter().filter(|point| extends(made.as_ref(), *point)).collect()
                }
                None => plugin.points.clone(),
            };
            catalog.with(plugin.name.clone(), points)
        })
    }

    /// Makes the plugin of that name.
    ///
    /// # Errors
    /// If there is none, or its factory refuses the arguments.
    pub fn build(
        &self,
        name: &str,
        args: Option<&serde_json::Value>,
        context: &FactoryContext<'_>,
    ) -> Result<Arc<dyn Plugin>, RegistryError> {
        let plugin = self.entries.get(name).ok_or_else(|| RegistryError::Unknown(name.to_owned()))?;
        (plugin.factory)(args, context)
            .map_err(|reason| RegistryError::Factory { name: name.to_owned(), reason })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.entries.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::framework::{CycleState, FilterPlugin, Handle, NodeInfo, PodInfo, Status};

    #[derive(Debug)]
    struct Odd;

    impl Plugin for Odd {
        fn name(&self) -> &'static str {
            "Odd"
        }
        fn as_filter(&self) -> Option<&dyn FilterPlugin> {
            Some(self)
        }
    }

    impl FilterPlugin for Odd {
        fn filter(&self, _: &Handle<'_>, _: &CycleState, _: &PodInfo, _: &NodeInfo) -> Status {
            Status::SUCCESS
        }
    }

    #[test]
    fn a_copy_of_a_registry_does_not_change_with_it() {
        let mut registry = Registry::default();
        let copy = registry.clone();
        registry.add(PluginDefinition::new("Odd", |_, _| Ok(Odd)).reads_annotation("a/b")).unwrap();
        assert!(registry.contains("Odd") && !copy.contains("Odd"));
        assert_eq!(registry.annotations().collect::<Vec<_>>(), ["a/b"]);
        let again = registry.add(PluginDefinition::new("Odd", |_, _| Ok(Odd)));
        assert_eq!(again.unwrap_err().to_string(), "a plugin named Odd already exists");
    }

    #[test]
    fn the_points_of_a_plugin_are_seen_or_said() {
        let gates = FeatureGates::default();
        let mut registry = Registry::default();
        registry.add(PluginDefinition::new("Odd", |_, _| Ok(Odd))).unwrap();
        let needs_args = |args: Option<&serde_json::Value>, _: &FactoryContext<'_>| {
            args.map(|_| Odd).ok_or_else(|| "args are needed".to_owned())
        };
        registry.add(PluginDefinition::new("Strict", needs_args).at([ExtensionPoint::Filter])).unwrap();
        let catalog = registry.catalog(&gates);
        for name in ["Odd", "Strict"] {
            assert_eq!(catalog.points(name), Some(&[ExtensionPoint::Filter][..]), "{name}");
        }
        assert_eq!(catalog.points("Even"), None);
    }
}
