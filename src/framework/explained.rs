//! What a plugin says of itself to people: what it is, and why it answered as it did.
//!
//! kube-scheduler's plugins are explained by this program. One of somebody's own explains itself, by
//! [`ExplainPlugin`]: the console's glossary, its cells and its details show those words where they show its own of the
//! others. Nothing in the scheduler reads them, and a plugin without them works as well.

use std::sync::Arc;

use crate::api::Time;

use super::cycle_state::CycleState;
use super::node_info::NodeInfo;
use super::plugin::Plugin;
use super::pod_info::PodInfo;
use super::snapshot::Snapshot;
use super::status::Status;

/// What a plugin is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Two sentences: what it does, and what a person should know of it.
    pub text: &'static str,
    /// Where there is more, such as the address of its documentation; may be empty.
    pub see: &'static str,
}

/// A person's question about an answer, with what the answer was made from.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// When the attempt began.
    pub now: Time,
    /// What plugins remembered when the extension point was over.
    pub state: &'a CycleState,
    /// The nodes as the attempt saw them.
    pub snapshot: &'a Snapshot,
    /// The pod.
    pub pod: &'a PodInfo,
    /// The node that the answer was about.
    pub node: &'a NodeInfo,
}

/// A plugin's own words about an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PluginWords {
    /// One or two sentences.
    pub sentence: String,
    /// The numbers that lead to it, a line each.
    pub arithmetic: Vec<String>,
    /// What would change it.
    pub hint: Option<String>,
}

/// Explains a plugin and its answers to people. Every method must be a function of what it is given: it is called when
/// somebody looks, in any order, for attempts that are long over.
pub trait ExplainPlugin: Plugin {
    /// What the plugin is.
    fn about(&self) -> About;

    /// Why Filter turned the node down with that status, or let it pass; `None` leaves the reasons of the status.
    fn explain_filter(&self, _asked: &Asked<'_>, _refusal: Option<&Status>) -> Option<PluginWords> {
        None
    }

    /// How the raw score of a node comes about, a line for each step.
    fn explain_score(&self, _asked: &Asked<'_>, _raw: i64) -> Vec<String> {
        Vec::new()
    }
}

/// The plugins of a profile that explain themselves.
#[derive(Clone, Debug, Default)]
pub struct Explainers(Arc<[Arc<dyn Plugin>]>);

impl Explainers {
    /// Those among these plugins.
    pub fn of(plugins: &[Arc<dyn Plugin>]) -> Self {
        Self(plugins.iter().filter(|plugin| plugin.as_explain().is_some()).cloned().collect())
    }

    /// The one of that name.
    pub fn get(&self, name: &str) -> Option<&dyn ExplainPlugin> {
        self.0.iter().find(|plugin| plugin.name() == name)?.as_explain()
    }
}
