//! schedscope: a terminal console with a complete Kubernetes scheduler inside it.

pub mod api;
pub mod cli;
pub mod driver;
pub mod framework;
