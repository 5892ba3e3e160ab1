//! The configuration of a scheduler: profiles, their plugins and arguments, extenders, and feature gates.
//!
//! Text comes in as a `&str` and goes out as checked values, or as all complaints about it; files are the caller's
//! affair. A text becomes a tree of values with their places (`document`), that becomes the types of the API (`v1`,
//! `decode`), which are filled up and checked (`validation`), and what each profile runs is worked out (`effective`).

mod complaint;
mod decode;
pub mod default_plugins;
pub(crate) mod document;
mod effective;
mod expansion;
mod extenders;
pub mod gates;
mod go_text;
mod load;
pub mod plugin_args;
pub mod plugin_names;
mod plugins;
mod scheduler_config;
pub mod topology_args;
pub mod v1;
mod validation;
pub mod view;
mod warnings;
mod yaml_writer;

pub use complaint::{Complaint, Complaints, Step};
pub use decode::{Bytes, Slice};
pub use expansion::{EffectivePlugins, ExpansionError, ExtendsFn, Place};
pub use gates::{FeatureGates, Gate, GateError, GateErrors, Stage};
pub use go_text::{GoDuration, quoted as go_quoted};
pub use load::{LoadOptions, ReadOptions};
pub use plugin_names::PluginCatalog;
pub use plugins::{ExtensionPoint, PluginRef, PluginSet, Plugins};
pub use scheduler_config::{PluginConfig, Profile, SchedulerConfig};
