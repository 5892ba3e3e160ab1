//! `schedscope config view|diff|validate`: a KubeSchedulerConfiguration, as kube-scheduler understands it.

use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};

use super::args::{ConfigArgs, ConfigCommand, ConfigFormat};
use super::run::print;
use super::{exit, input};
use crate::api::manifest::Source;
use crate::config::{FeatureGates, PluginCatalog, ReadOptions, SchedulerConfig, view};

/// Does what the subcommand says. The answer is the exit code.
pub(super) fn run(args: &ConfigArgs) -> anyhow::Result<u8> {
    match &args.command {
        ConfigCommand::View(args) => {
            let Some(config) = read(args.file.file.as_deref(), &args.file.gates.list)? else {
                return Ok(exit::WRONG);
            };
            print(&match args.output {
                ConfigFormat::Table => view::table(&config),
                ConfigFormat::Yaml => view::yaml(&config),
            })?;
        }
        ConfigCommand::Diff(args) => {
            let Some(config) = read(args.file.as_deref(), &args.gates.list)? else {
                return Ok(exit::WRONG);
            };
            let diff = view::diff(&config);
            print(if diff.is_empty() { "nothing differs from the default configuration\n" } else { &diff })?;
        }
        ConfigCommand::Validate(args) => {
            let Some(config) = read(Some(&args.file), &args.gates.list)? else {
                return Ok(exit::WRONG);
            };
            print(&view::summary(&config))?;
        }
    }
    Ok(exit::OK)
}

/// Reads a configuration, the default one without a file. What is wrong with it has been told if there is none.
pub(super) fn read(file: Option<&Path>, gates: &str) -> anyhow::Result<Option<SchedulerConfig>> {
    let gates = match FeatureGates::parse(gates) {
        Ok(gates) => gates,
        Err(errors) => {
            for error in &errors.0 {
                writeln!(stderr(), "--feature-gates: {error}")?;
            }
            return Ok(None);
        }
    };
    let Some(file) = file else { return Ok(Some(SchedulerConfig::default_under(&gates))) };
    let source = read_file(file)?;
    let catalog = PluginCatalog::default();
    let options = ReadOptions { source: &source.name, gates: &gates, catalog: &catalog };
    match SchedulerConfig::read(&source.text, options) {
        Ok(config) => {
            if !config.warnings.is_empty() {
                writeln!(stderr(), "{}", config.warnings)?;
            }
            Ok(Some(config))
        }
        Err(complaints) => {
            writeln!(stderr(), "{complaints}")?;
            Ok(None)
        }
    }
}

fn read_file(path: &Path) -> anyhow::Result<Source> {
    if path.is_dir() {
        anyhow::bail!("{}: it is a folder, and one file is needed", path.display());
    }
    let paths: [PathBuf; 1] = [path.to_owned()];
    let mut sources = input::read_sources(&paths)?;
    sources.pop().ok_or_else(|| anyhow::anyhow!("{}: there is nothing to read", path.display()))
}
