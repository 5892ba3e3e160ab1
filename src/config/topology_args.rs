//! The arguments of the plugins that look at where other pods are.

pub use super::plugin_args::{InterPodAffinityArgs, PodTopologySpreadArgs};
