//! schedscope: a terminal console with a complete Kubernetes scheduler inside it.

pub mod api;
pub mod cache;
pub mod cli;
pub mod config;
pub mod driver;
pub mod explain;
pub mod framework;
pub mod plugins;
pub mod queue;
pub mod scheduler;
pub mod tui;
