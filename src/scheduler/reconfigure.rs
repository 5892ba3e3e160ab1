//! Another configuration in the middle of a session.
//!
//! kube-scheduler reads its configuration when it starts, so another one means a start: a new scheduler hears of every
//! object as from its first watch, pods that wait to be scheduled last. What is only in memory is lost as it is there
//! (backoffs, attempts, what waits at Permit); for people the counts and the history go on. The weight of a Score plugin
//! can also be changed by itself, and then nothing else changes.

use std::sync::Arc;

use super::input::Input;
use super::{Scheduler, SchedulerOptions};
use crate::api::{Duration, Object, Str};
use crate::config::{LoadOptions, SchedulerConfig};
use crate::framework::runtime::build_profiles;

/// Why a configuration is not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigureError {
    /// It cannot be read.
    #[error("{0}")]
    Configuration(String),
    /// Its plugins cannot be made.
    #[error("the profiles cannot be built: {0}")]
    Profiles(String),
    /// It has extenders.
    #[error("extenders cannot be added while a session runs: start one with --config")]
    Extenders,
}

impl Scheduler {
    /// The Score plugins of each profile with their weights.
    pub fn weights(&self) -> impl Iterator<Item = (&Str, &'static str, i64)> {
        self.profiles().flat_map(|framework| {
            let plugins = framework.plugins.score.iter();
            plugins.map(|scored| (&framework.profile_name, scored.plugin.name(), scored.weight))
        })
    }

    /// The feature gates.
    pub fn gates(&self) -> &crate::config::FeatureGates {
        &self.options.gates
    }

    /// Another weight for a Score plugin, in every profile that has it.
    pub(super) fn set_weight(&mut self, plugin: &str, weight: i64) {
        for profile in Arc::make_mut(&mut self.world.profiles).values_mut() {
            for scored in &mut profile.framework.plugins.score {
                if scored.plugin.name() == plugin {
                    scored.weight = weight;
                }
            }
        }
        // A ranking by the old weights serves nobody.
        self.batches.clear();
    }

    /// Starts again under another configuration. One that cannot be taken changes nothing.
    pub(super) fn configure(&mut self, configuration: &str) {
        match self.started_again(configuration) {
            Ok(fresh) => *self = fresh,
            Err(error) => self.note_problem(&error.to_string()),
        }
    }

    /// Whether a configuration can be taken, and as it is read: all defaults filled in.
    ///
    /// # Errors
    /// Why it cannot.
    pub fn read_configuration(&self, text: &str) -> Result<SchedulerConfig, ReconfigureError> {
        let registry = self.registry();
        let has_plugin = |name: &str| registry.contains(name);
        let options = LoadOptions { gates: &self.options.gates, has_plugin: &has_plugin };
        let config = SchedulerConfig::load(text, options)
            .map_err(|complaints| ReconfigureError::Configuration(complaints.to_string()))?;
        if !config.extenders.is_empty() {
            return Err(ReconfigureError::Extenders);
        }
        build_profiles(&config.profiles, registry, &config.gates)
            .map_err(|error| ReconfigureError::Profiles(error.to_string()))?;
        Ok(config)
    }

    fn started_again(&self, configuration: &str) -> Result<Self, ReconfigureError> {
        let config = self.read_configuration(configuration)?;
        let wrong = |error: &dyn std::fmt::Display| ReconfigureError::Profiles(error.to_string());
        let profiles = build_profiles(&config.profiles, self.registry(), &config.gates)
            .map_err(|error| wrong(&error))?;
        let is_batching = self.options.is_batching;
        let options = SchedulerOptions { is_batching, ..self.options.clone().configured(&config) };
        let mut fresh =
            Self::new(profiles.into_values().collect(), options).map_err(|error| wrong(&error))?;
        fresh.measured_as(self);
        fresh.world.rng = self.world.rng.clone();
        fresh.next_effect_id = self.next_effect_id;
        fresh.counts = self.counts;
        fresh.n_outcomes = self.n_outcomes;
        fresh.journal = self.journal.clone();
        fresh.problems = self.problems.clone();
        let is_pending =
            |object: &Object| matches!(object, Object::Pod(pod) if !pod.is_assigned() && !pod.is_terminal());
        let (pending, settled): (Vec<Object>, Vec<Object>) = self.world.objects.iter().partition(is_pending);
        let mut now = self.world.now;
        for object in settled {
            fresh.handle(now, Input::Added(object));
        }
        for object in pending {
            // No two pods have the same time in the queue.
            now += Duration::from_nanos(1);
            fresh.handle(now, Input::Added(object));
        }
        fresh.effects.extend(self.effects.iter().cloned());
        Ok(fresh)
    }
}
