//! The arguments that say what lives in a sandbox, and what comes of them.

use anyhow::bail;
use clap::{Args, ValueEnum};

use super::setup::Purpose;
use crate::api::manifest::{Loaded, Source};
use crate::api::workloads::Living;
use crate::driver::sandbox::sample;
use crate::driver::sandbox::world::WorldSettings;

/// A cluster that is part of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ValueEnum)]
pub enum Sample {
    /// Twelve nodes and pods that show every outcome; nothing lives
    #[default]
    Still,
    /// Workloads of every kind, a budget and a node group
    Living,
}

/// What lives.
#[derive(Clone, Debug, Default, Args)]
pub struct WorldArgs {
    /// The embedded cluster to begin with, where no files are named
    #[arg(long, value_name = "NAME", value_enum, conflicts_with = "filenames")]
    pub sample: Option<Sample>,
    /// Lets the cluster live: kubelets, nodes, workloads, budgets, autoscaler, or all of them; -NAME leaves one out.
    /// In the console a cluster with workloads lives without it, unless it is none
    #[arg(
        long,
        value_name = "PARTS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        conflicts_with = "no_controllers"
    )]
    pub world: Option<String>,
}

/// What lives in a cluster.
#[derive(Debug)]
pub(super) struct Life {
    /// Which parts, and how.
    pub settings: WorldSettings,
    /// Workloads and node groups.
    pub living: Vec<Living>,
}

impl WorldArgs {
    /// What the embedded cluster is called on the screen.
    pub(super) fn name(&self) -> &'static str {
        match self.sample.unwrap_or_default() {
            Sample::Still => "sample",
            Sample::Living => "living sample",
        }
    }

    /// The embedded cluster that is meant.
    pub(super) fn source(&self) -> Source {
        match self.sample.unwrap_or_default() {
            Sample::Still => sample::source(),
            Sample::Living => sample::living_source(),
        }
    }

    /// What lives of what was read, if anything does.
    pub(super) fn life(&self, loaded: &mut Loaded, purpose: Purpose) -> anyhow::Result<Option<Life>> {
        let is_asked_for = self.world.as_deref().is_some_and(|parts| parts != "none");
        let lives_by_itself = self.world.is_none()
            && purpose == Purpose::Console
            && (!loaded.living.is_empty() || loaded.living_errors.total > 0);
        if !is_asked_for && !lives_by_itself {
            return Ok(None);
        }
        if loaded.living_errors.total > 0 {
            bail!(
                "{}\nWith `--world=none` the cluster is loaded without what lives in it.",
                loaded.living_errors
            );
        }
        let parts = self.world.as_deref().unwrap_or("all");
        let settings = WorldSettings::default().with_parts(parts);
        let settings = settings.map_err(|error| anyhow::anyhow!("--world: {error}"))?;
        loaded.report.lives();
        Ok(Some(Life { settings, living: std::mem::take(&mut loaded.living) }))
    }
}
