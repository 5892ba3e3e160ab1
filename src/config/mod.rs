//! The configuration of a scheduler: profiles, their plugins and arguments, and feature gates.
//!
//! Text comes in as a `&str` and goes out as checked values; files are the caller's affair.

pub mod default_plugins;
pub mod gates;
pub mod load;
pub mod plugin_args;
pub mod plugin_names;
pub mod topology_args;
pub mod types;

pub use gates::{FeatureGates, Gate, GateError};
pub use load::{ConfigError, LoadOptions};
pub use types::{ExtensionPoint, PluginConfig, PluginRef, PluginSet, Plugins, Profile, SchedulerConfig};
