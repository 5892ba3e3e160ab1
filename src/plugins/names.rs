//! The names of the plugins, exactly as upstream's.
//!
//! They live with the configuration, which names plugins too; the plugins take them from here.

pub use crate::config::plugin_names::*;
