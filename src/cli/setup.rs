//! From manifests to a sandbox: read, admit, build.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::args::InputArgs;
use super::input;
use crate::api::manifest::load;
use crate::api::{Str, Time};
use crate::config::{FeatureGates, LoadOptions, SchedulerConfig};
use crate::driver::extender::HttpTransport;
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::sample;
use crate::driver::sandbox::simulator::Simulator;
use crate::framework::Framework;
use crate::framework::extender::Extender;
use crate::plugins::registry::in_tree_registry;
use crate::scheduler::SchedulerOptions;

/// Where simulated time begins: a round date, so that two runs of one cluster are alike.
const START: Time = Time::from_secs(1_767_225_600);

/// A sandbox that is ready to go.
pub(super) struct Setup {
    /// The sandbox.
    pub simulator: Simulator,
    /// What it is called on the screen.
    pub source: Str,
    /// What is to be told about what was read.
    pub notes: Vec<String>,
}

/// Builds the sandbox that the arguments describe; the embedded sample without any.
pub(super) fn build(args: &InputArgs, is_tracing: bool) -> anyhow::Result<Setup> {
    let (sources, name) = if args.filenames.is_empty() {
        (vec![sample::source()], Str::from("sample"))
    } else {
        (input::read_sources(&args.filenames)?, source_name(&args.filenames))
    };
    let loaded = load(&sources)?;
    if loaded.report.documents == 0 {
        // Most likely the program that should have written it has failed.
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        bail!("there is no object in {}", names.join(", "));
    }
    let (api, report) = SandboxApi::from_manifests(loaded, &sources, START)?;
    let gates = FeatureGates::default();
    let registry = in_tree_registry();
    let options = LoadOptions { gates: &gates, has_plugin: &|name| registry.contains(name) };
    let configuration = SchedulerConfig::with_defaults(options);
    let profiles: Vec<Framework> = configuration
        .profiles
        .iter()
        .map(|profile| Framework::new(profile, &registry, &gates))
        .collect::<Result<_, _>>()
        .context("building the default profile")?;
    let extenders = Extender::all_from_config(&configuration.extenders);
    let transport = HttpTransport::new(&extenders)?;
    let options = SchedulerOptions { seed: args.seed, is_tracing, extenders, ..SchedulerOptions::default() };
    let simulator = Simulator::new(profiles, options, api, START)
        .context("building the scheduler")?
        .with_transport(Arc::new(transport));
    Ok(Setup { simulator, source: name, notes: report.notes() })
}

fn source_name(paths: &[PathBuf]) -> Str {
    let first = paths.first().map(|path| match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    });
    let first = first.unwrap_or_default();
    let first = if first == "-" { "stdin".to_owned() } else { first };
    Str::from(if paths.len() > 1 { format!("{first} +{}", paths.len() - 1) } else { first })
}
