//! Scenarios on the command line: the file or one that comes with the program, and the sandbox that it plays in.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::args::{InputArgs, RecordArgs};
use super::replay::Recorded;
use super::setup::{self, Ground, Purpose, START, Setup};
use super::tables::Form;
use super::world::Life;
use super::{Main, config};
use crate::api::manifest::Loaded;
use crate::api::time::human_duration;
use crate::api::{Duration, Object, Str};
use crate::config::{FeatureGates, SchedulerConfig};
use crate::driver::outlook::recorded::arrivals_of;
use crate::driver::sandbox::scenario::Scenario;
use crate::driver::sandbox::scenario::bundled::{self, BUNDLED};
use crate::driver::sandbox::scenario::file::{Elsewhere, ScenarioFile, read};
use crate::tui::widgets::text::clean;

/// What happens by itself.
#[derive(Clone, Debug, Default, Args)]
pub struct ScenarioArgs {
    /// A scenario: a file (TOML or YAML), or the name of one that comes with the program; it has its own cluster
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "filenames")]
    pub scenario: Option<String>,
    /// A script of commands such as apply, delete, wait, cycle, for the one folder of -f with cluster.yaml, pending.yaml
    /// and config.yaml
    #[arg(long, value_name = "FILE", requires = "filenames", conflicts_with = "scenario")]
    pub script: Option<PathBuf>,
}

/// Reads a scenario: a file, or one that comes with the program.
pub(super) fn load(name: &str) -> anyhow::Result<ScenarioFile> {
    let path = Path::new(name);
    let (source, text) = if path.exists() {
        (name.to_owned(), config::read_file(path)?.text)
    } else if let Some(bundled) = bundled::find(name) {
        (format!("{name}.toml"), bundled.text.to_owned())
    } else {
        let known: Vec<String> =
            BUNDLED.iter().map(|bundled| format!("  {:14} {}", bundled.name, bundled.about)).collect();
        anyhow::bail!(
            "{name}: there is no such file, and no scenario of that name comes with the program. These do:\n{}",
            known.join("\n")
        );
    };
    // Files are named as seen from the scenario.
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let file = |name: &str| -> Result<String, String> {
        config::read_file(&folder.join(name)).map(|source| source.text).map_err(|error| format!("{error:#}"))
    };
    let recording = |name: &str| -> Result<Vec<(Duration, Object)>, String> {
        let inside = folder.join(name);
        let recorded = Recorded::find(if inside.exists() { &inside } else { Path::new(name) })?;
        arrivals_of(&mut || recorded.open()).map_err(|error| format!("{name}: {error}"))
    };
    Ok(read(&source, &text, Elsewhere { file: &file, recording: &recording })?)
}

/// The configuration of a scenario; flags of the command line come first.
pub(super) fn configuration(
    file: &ScenarioFile,
    args: &InputArgs,
    program: &Main,
) -> anyhow::Result<SchedulerConfig> {
    let gates = if args.gates.list.is_empty() { &file.feature_gates } else { &args.gates.list };
    let mut configuration = match (&args.config, &file.config) {
        (Some(_), _) | (None, None) => {
            config::load(args.config.as_deref(), gates, program)?.map_err(anyhow::Error::msg)?
        }
        (None, Some(source)) => {
            let gates = FeatureGates::parse(gates).context("featureGates")?;
            config::parse(source, &gates, program).map_err(anyhow::Error::msg)?
        }
    };
    configuration.leave_out_unbuilt(&|name| program.registry().contains(name));
    Ok(configuration)
}

/// Builds the sandbox that a scenario plays in.
pub(super) fn build(
    file: &ScenarioFile,
    args: &InputArgs,
    record: &RecordArgs,
    purpose: Purpose,
    program: &Main,
) -> anyhow::Result<Setup> {
    let configuration = configuration(file, args, program)?;
    // A seed on the command line is that of the whole.
    let mut args = args.clone();
    let mut plan = (*file.plan).clone();
    if args.seed == InputArgs::SEED {
        args.seed = plan.seed;
    } else {
        plan.seed = args.seed;
    }
    let name = plan.name.clone();
    let manifests = file.manifests.clone();
    // What the command line says of life comes first; otherwise a scenario lives only if it says so.
    let life = |loaded: &mut Loaded| match (&args.world.world, &file.world) {
        (Some(_), _) => args.world.life(loaded, purpose),
        (None, None) => Ok(None),
        (None, Some(settings)) => {
            loaded.report.lives();
            Ok(Some(Life { settings: settings.clone(), living: std::mem::take(&mut loaded.living) }))
        }
    };
    let ground = Ground {
        sources: manifests,
        name,
        start: START,
        life: Box::new(life),
        prepare: Box::new(|_, _, _| {}),
    };
    let mut setup = setup::assemble(configuration, ground, &args, record, purpose, program)?;
    setup.simulator = setup.simulator.with_scenario(plan.into());
    Ok(setup)
}

/// What came of a scenario: what was expected and was not so, and what could not be done. The second is how many
/// expectations were not met.
pub(super) fn report(name: &Str, scenario: &Scenario, form: Form) -> (String, usize) {
    let mut text = String::new();
    let bullet = if form == Form::Markdown { "- " } else { "  " };
    for (arrivals, n) in scenario.arrived() {
        text.push_str(&format!("{bullet}{}: came {n} times\n", clean(arrivals)));
    }
    for said in scenario.said().filter(|said| said.is_error) {
        text.push_str(&format!("{bullet}at {}: {}\n", human_duration(said.at), clean(&said.text)));
    }
    let (n, n_failed) = (scenario.findings().len(), scenario.n_failed());
    let verdict = match (n, n_failed) {
        (0, _) => "nothing was expected".to_owned(),
        (n, 0) => format!("all {n} expectations are met"),
        (n, failed) => format!("{failed} of {n} expectations are not met"),
    };
    text.push_str(&format!("{}: {verdict}\n", clean(name)));
    (text, n_failed)
}
