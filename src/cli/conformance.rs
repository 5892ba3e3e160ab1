//! `schedscope conformance decide`: decides each pending pod by itself and prints the answers, a line of JSON for each.
//! `schedscope conformance run`: plays a script against a cluster and prints what happened.
//! `schedscope conformance bench`: schedules them all and prints what that costs, a line of JSON for each cluster.
//!
//! For comparisons with kube-scheduler's own answers in the same form; not for people. A folder stands for its
//! cluster.yaml, pending.yaml (or .json) and extenders.yaml, and for its config.yaml where no other is given.

use std::io::{ErrorKind, Write as _, stdout};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::args::{BenchArgs, DecideArgs, ScriptArgs};
use super::{Main, exit, input};
use crate::api::NamespacedName;
use crate::config::{FeatureGates, LoadOptions, SchedulerConfig};
use crate::driver::conformance::{Case, CaseSources, EPOCH, run};
use crate::driver::recorder::{Recorder, RecorderOptions};
use crate::recording::{Compression, Header};

/// The manifests of a folder, in the order in which they are read.
const MANIFESTS: [&str; 4] = ["cluster.yaml", "cluster.json", "pending.yaml", "pending.json"];
/// The configuration of a folder.
const CONFIG: &str = "config.yaml";
/// What the extenders of a folder's configuration answer.
const EXTENDERS: &str = "extenders.yaml";

/// Decides and prints. The answer is the exit code.
pub(super) fn decide(args: &DecideArgs) -> anyhow::Result<u8> {
    let case = Case::new(&sources(args)?)?;
    let mut out = stdout().lock();
    for key in case.pending().iter().filter(|key| is_wanted(args, key)) {
        let decision = case.decide(key).with_context(|| format!("pod {key}"))?;
        let mut line = serde_json::to_string(&decision)?;
        line.push('\n');
        match out.write_all(line.as_bytes()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(exit::OK),
            other => other?,
        }
    }
    Ok(exit::OK)
}

/// Schedules and prints. The answer is the exit code.
pub(super) fn bench(args: &BenchArgs, program: &Main) -> anyhow::Result<u8> {
    for folder in &args.folders {
        let manifests = files_in(folder, &MANIFESTS);
        anyhow::ensure!(!manifests.is_empty(), "{}: there is no cluster", folder.display());
        let sources = CaseSources {
            manifests: input::read_sources(&manifests)?,
            config: input::read_sources(&files_in(folder, &[CONFIG]))?.pop(),
            extenders: None,
            feature_gates: String::new(),
        };
        let case = Case::new(&sources)?;
        let report = match &args.record {
            None if args.metered => serde_json::to_value(case.bench_metering()?)?,
            None => {
                drop(sources);
                serde_json::to_value(case.bench().with_context(|| folder.display().to_string())?)?
            }
            Some(file) => bench_recording(case, &sources, file, program)?,
        };
        writeln!(stdout(), "{report}")?;
    }
    Ok(exit::OK)
}

/// What recording costs, and how long the end of the recording is waited for.
fn bench_recording(
    case: Case,
    sources: &CaseSources,
    file: &Path,
    program: &Main,
) -> anyhow::Result<serde_json::Value> {
    let gates = FeatureGates::default();
    let configuration = match &sources.config {
        None => SchedulerConfig::default_under(&gates),
        Some(source) => {
            let has_plugin = |name: &str| program.registry().contains(name);
            SchedulerConfig::load(&source.text, LoadOptions { gates: &gates, has_plugin: &has_plugin })?
        }
    };
    let header = Header::new(&configuration, &case.bench_options(), EPOCH, "bench")?;
    let options = RecorderOptions {
        compression: Compression::of_name(&file.to_string_lossy()),
        ..RecorderOptions::default()
    };
    let report = case.bench_recording(Recorder::create(file, &header, options)?)?;
    Ok(serde_json::to_value(report)?)
}

/// Plays a script and prints. The answer is the exit code.
pub(super) fn run(args: &ScriptArgs) -> anyhow::Result<u8> {
    let folder = &args.folder;
    let sources = script_sources(args)?;
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| path.display().to_string());
    let script = read(&args.script)?;
    let read_file = |name: &str| read(&folder.join(name)).map_err(|error| format!("{error:#}"));
    let mut text = String::new();
    let played = run::run(&sources, &script, &read_file, &mut |line| {
        text.push_str(line);
        text.push('\n');
    });
    match stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        other => other?,
    }
    played?;
    Ok(exit::OK)
}

/// What a script plays in.
pub(super) fn script_sources(args: &ScriptArgs) -> anyhow::Result<CaseSources> {
    let folder = &args.folder;
    let config: Vec<PathBuf> =
        args.config.clone().or_else(|| files_in(folder, &[CONFIG]).pop()).into_iter().collect();
    let manifests = files_in(folder, &MANIFESTS);
    anyhow::ensure!(!manifests.is_empty(), "{}: there is no {}", folder.display(), MANIFESTS.join(" or "));
    Ok(CaseSources {
        manifests: input::read_sources(&manifests)?,
        config: input::read_sources(&config)?.pop(),
        extenders: input::read_sources(&files_in(folder, &[EXTENDERS]))?.pop(),
        feature_gates: args.gates.list.clone(),
    })
}

fn is_wanted(args: &DecideArgs, key: &NamespacedName) -> bool {
    let named = |wanted: &String| *wanted == key.to_string() || **wanted == *key.name;
    args.pods.is_empty() || args.pods.iter().any(named)
}

fn sources(args: &DecideArgs) -> anyhow::Result<CaseSources> {
    let mut manifests: Vec<PathBuf> = Vec::new();
    let mut config = args.config.clone();
    let mut extenders: Vec<PathBuf> = Vec::new();
    for path in &args.paths {
        if path.is_dir() {
            manifests.extend(files_in(path, &MANIFESTS));
            config = config.or_else(|| files_in(path, &[CONFIG]).pop());
            extenders.extend(files_in(path, &[EXTENDERS]));
        } else {
            manifests.push(path.clone());
        }
    }
    let config: Vec<PathBuf> = config.into_iter().collect();
    Ok(CaseSources {
        manifests: input::read_sources(&manifests)?,
        config: input::read_sources(&config)?.pop(),
        extenders: input::read_sources(&extenders)?.pop(),
        feature_gates: args.gates.list.clone(),
    })
}

fn files_in(folder: &Path, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| folder.join(name)).filter(|path| path.is_file()).collect()
}
