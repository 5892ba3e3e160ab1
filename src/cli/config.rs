//! `schedscope config view|diff|validate`: a KubeSchedulerConfiguration, as kube-scheduler understands it.

use std::io::{Write as _, stderr};
use std::path::{Path, PathBuf};

use super::args::{ConfigArgs, ConfigCommand, ConfigFormat};
use super::run::print;
use super::{Main, exit, input};
use crate::api::manifest::Source;
use crate::config::{FeatureGates, ReadOptions, SchedulerConfig, view};
use crate::framework::runtime::build_profiles;

/// Does what the subcommand says. The answer is the exit code.
pub(super) fn run(args: &ConfigArgs, program: &Main) -> anyhow::Result<u8> {
    match &args.command {
        ConfigCommand::View(args) => {
            let Some(config) = read(args.file.file.as_deref(), &args.file.gates.list, program)? else {
                return Ok(exit::WRONG);
            };
            print(&match args.output {
                ConfigFormat::Table => view::table(&config),
                ConfigFormat::Yaml => view::yaml(&config),
            })?;
        }
        ConfigCommand::Diff(args) => {
            let Some(config) = read(args.file.as_deref(), &args.gates.list, program)? else {
                return Ok(exit::WRONG);
            };
            let diff = view::diff(&config);
            print(if diff.is_empty() { "nothing differs from the default configuration\n" } else { &diff })?;
        }
        ConfigCommand::Validate(args) => {
            let Some(config) = read(Some(&args.file), &args.gates.list, program)? else {
                return Ok(exit::WRONG);
            };
            print(&view::summary(&config))?;
        }
    }
    Ok(exit::OK)
}

/// Reads a configuration, the default one without a file. What is wrong with it has been told if there is none.
fn read(file: Option<&Path>, gates: &str, program: &Main) -> anyhow::Result<Option<SchedulerConfig>> {
    match load(file, gates, program)? {
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

/// Reads a configuration, the program's default one without a file: it, or all that is wrong with it or with the gates.
///
/// # Errors
/// The file cannot be read.
pub(super) fn load(
    file: Option<&Path>,
    gates: &str,
    program: &Main,
) -> anyhow::Result<Result<SchedulerConfig, String>> {
    let gates = match FeatureGates::parse(gates) {
        Ok(gates) => gates,
        Err(errors) => {
            let lines: Vec<String> =
                errors.0.iter().map(|error| format!("--feature-gates: {error}")).collect();
            return Ok(Err(lines.join("\n")));
        }
    };
    let source = match (file, program.configuration()) {
        (Some(file), _) => read_file(file)?,
        (None, Some(text)) => {
            Source { name: "the program's configuration".to_owned(), text: text.to_owned() }
        }
        (None, None) => return Ok(Ok(SchedulerConfig::default_under(&gates))),
    };
    Ok(parse(&source, &gates, program))
}

/// Reads a configuration for the plugins of a program: it, or all that is wrong with it.
pub(super) fn parse(
    source: &Source,
    gates: &FeatureGates,
    program: &Main,
) -> Result<SchedulerConfig, String> {
    let catalog = program.registry().catalog(gates);
    let options = ReadOptions { source: &source.name, gates, catalog: &catalog };
    let config = SchedulerConfig::read(&source.text, options).map_err(|complaints| complaints.to_string())?;
    // What plugins say of their arguments that are not kube-scheduler's, only they know.
    if catalog.has_others() {
        build_profiles(&config.profiles, program.registry(), gates)
            .map_err(|error| format!("{}: {error}", source.name))?;
    }
    Ok(config)
}

pub(super) fn read_file(path: &Path) -> anyhow::Result<Source> {
    if path.is_dir() {
        anyhow::bail!("{}: it is a folder, and one file is needed", path.display());
    }
    let paths: [PathBuf; 1] = [path.to_owned()];
    let mut sources = input::read_sources(&paths)?;
    sources.pop().ok_or_else(|| anyhow::anyhow!("{}: there is nothing to read", path.display()))
}
