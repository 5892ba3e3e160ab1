//! How plugins come to be: their names and the functions that make them.
//!
//! Mirrors `pkg/scheduler/framework/runtime/registry.go`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::config::FeatureGates;
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

/// Plugins by name.
#[derive(Clone, Default)]
pub struct Registry {
    factories: BTreeMap<String, PluginFactory>,
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
        if self.contains(name) {
            return Err(RegistryError::Duplicate(name.to_owned()));
        }
        self.factories.insert(name.to_owned(), Arc::new(factory));
        Ok(())
    }

    /// Whether there is a plugin of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.factories.contains_key(name)
    }

    /// The names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(String::as_str)
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
        let factory = self.factories.get(name).ok_or_else(|| RegistryError::Unknown(name.to_owned()))?;
        factory(args, context).map_err(|reason| RegistryError::Factory { name: name.to_owned(), reason })
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.factories.keys()).finish()
    }
}
