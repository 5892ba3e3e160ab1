//! Another configuration, or another weight, in the middle of a session.

use std::collections::{BTreeMap, BTreeSet};

use super::simulator::Simulator;
use crate::api::Str;
use crate::recording::without_keys;
use crate::scheduler::Scheduler;
use crate::scheduler::input::{Command, Input};

/// The largest weight of a plugin: totals stay far from what a number can hold.
const WEIGHT_MAX: i64 = 1_000_000;

impl Simulator {
    /// Gives a Score plugin another weight, in every profile that has it.
    pub(super) fn set_weight(&mut self, plugin: &str, weight: i64) -> Result<String, String> {
        if !(1..=WEIGHT_MAX).contains(&weight) {
            return Err(format!("{weight} is not a weight: a number from 1 to {WEIGHT_MAX}"));
        }
        let before: Vec<i64> = self
            .scheduler()
            .weights()
            .filter(|(_, name, _)| *name == plugin)
            .map(|(_, _, weight)| weight)
            .collect();
        let Some(first) = before.first() else {
            let mut names: Vec<&str> = self.scheduler().weights().map(|(_, name, _)| name).collect();
            names.sort_unstable();
            names.dedup();
            return Err(format!("{plugin:?} does not score; {} do", names.join(", ")));
        };
        if before.iter().all(|known| *known == weight) {
            return Ok(format!("{plugin} has weight {weight} already"));
        }
        let said = format!("{plugin} has weight {weight} now, before {first}");
        self.input(Input::Command(Command::SetWeight { plugin: plugin.to_owned(), weight }));
        Ok(said)
    }

    /// Gives Score plugins the weights that they have in another scheduler.
    pub(super) fn take_weights_of(&mut self, other: &Scheduler) {
        let own: BTreeSet<(Str, &str, i64)> = self
            .scheduler()
            .weights()
            .map(|(profile, plugin, weight)| (profile.clone(), plugin, weight))
            .collect();
        let wanted: BTreeMap<&str, i64> = other
            .weights()
            .filter(|(profile, plugin, weight)| !own.contains(&((*profile).clone(), *plugin, *weight)))
            .map(|(_, plugin, weight)| (plugin, weight))
            .collect();
        for (plugin, weight) in wanted {
            self.input(Input::Command(Command::SetWeight { plugin: plugin.to_owned(), weight }));
        }
    }

    /// Starts the scheduler again under another configuration.
    pub(super) fn configure(&mut self, source: &str, text: &str) -> Result<String, String> {
        let config = self.scheduler().read_configuration(text).map_err(|error| error.to_string())?;
        let configuration = without_keys(config.document.to_document()).to_string();
        // What is recorded must be read as this was.
        let read = self.scheduler().read_configuration(&configuration).map_err(|error| error.to_string())?;
        if read.profiles != config.profiles {
            return Err("the configuration cannot be written so that it is read as it is".to_owned());
        }
        self.configuration = Some(configuration.as_str().into());
        self.input(Input::Command(Command::Configure { configuration }));
        let warnings =
            if config.warnings.is_empty() { String::new() } else { format!("; {}", config.warnings) };
        Ok(format!("the scheduler has started again under {source}{warnings}"))
    }
}
