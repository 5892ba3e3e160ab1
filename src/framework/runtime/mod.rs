//! A profile's framework: its plugins by extension point, and how each point is run.
//!
//! Mirrors `pkg/scheduler/framework/runtime/framework.go`. What is not here: the order of the points within a
//! cycle, which is the scheduler's.

mod filter;
mod placement;
mod profile;
mod queueing_hints;
mod registry;
mod reserve;
mod score;
mod sign;
pub mod waiting_pods;

use std::sync::Arc;

use crate::api::Str;

use super::explained::Explainers;
use super::meter::{Meter, Metering};
use super::plugin::Plugin;

pub use filter::{PluginVerdict, PreFilterOutcome};
pub use placement::{PlacementPluginScores, PlacementScoreOutcome};
pub use profile::{ProfileError, build_profiles};
pub use queueing_hints::{QueueingHintFunction, QueueingHintMap};
pub use registry::{FactoryContext, PluginDefinition, PluginFactory, Registry, RegistryError};
pub use score::{PluginScores, ScoreOutcome};

/// A plugin at Score with its weight.
#[derive(Clone, Debug)]
pub struct WeightedPlugin {
    /// The plugin.
    pub plugin: Arc<dyn Plugin>,
    /// What its normalized scores are multiplied by.
    pub weight: i64,
}

/// The plugins of a profile, by extension point, in the order in which they run.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the fields are the extension points")]
pub struct PluginsByPoint {
    pub pre_enqueue: Vec<Arc<dyn Plugin>>,
    pub queue_sort: Vec<Arc<dyn Plugin>>,
    pub pre_filter: Vec<Arc<dyn Plugin>>,
    pub filter: Vec<Arc<dyn Plugin>>,
    pub post_filter: Vec<Arc<dyn Plugin>>,
    pub pre_score: Vec<Arc<dyn Plugin>>,
    pub score: Vec<WeightedPlugin>,
    pub reserve: Vec<Arc<dyn Plugin>>,
    pub permit: Vec<Arc<dyn Plugin>>,
    pub pre_bind: Vec<Arc<dyn Plugin>>,
    pub bind: Vec<Arc<dyn Plugin>>,
    pub post_bind: Vec<Arc<dyn Plugin>>,
    pub placement_generate: Vec<Arc<dyn Plugin>>,
    pub placement_score: Vec<WeightedPlugin>,
}

/// The framework of one profile.
#[derive(Clone, Debug, Default)]
pub struct Framework {
    /// `schedulerName` of the profile.
    pub profile_name: Str,
    /// The profile's own `percentageOfNodesToScore`.
    pub percentage_of_nodes_to_score: Option<i32>,
    /// The plugins.
    pub plugins: PluginsByPoint,
    /// Every plugin of the profile once, in the order in which they were configured.
    pub all: Vec<Arc<dyn Plugin>>,
    /// Who measures, if anybody does.
    pub metering: Metering,
    /// What the plugins were made of.
    pub registry: Registry,
    /// Those that explain themselves to people.
    pub explainers: Explainers,
}

impl Framework {
    /// The same with somebody who measures it.
    #[must_use]
    pub fn measured_by(mut self, meter: Arc<dyn Meter>) -> Self {
        self.metering = Metering::new(meter, self.plugins.filter.len());
        self
    }

    /// Whether any plugin filters.
    pub fn has_filter_plugins(&self) -> bool {
        !self.plugins.filter.is_empty()
    }

    /// Whether any plugin tries to make room.
    pub fn has_post_filter_plugins(&self) -> bool {
        !self.plugins.post_filter.is_empty()
    }

    /// Whether any plugin scores.
    pub fn has_score_plugins(&self) -> bool {
        !self.plugins.score.is_empty()
    }
}
