//! `schedscope import`: a recording of what kube-scheduler-simulator has recorded of a cluster, or exported of itself.

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::args::{ImportArgs, RecordArgs};
use super::setup::{self, Purpose, Recording};
use super::{Main, config, exit, tell};
use crate::api::manifest::{Source, load};
use crate::config::{FeatureGates, ReadOptions, SchedulerConfig};
use crate::driver::recorder::RecorderError;
use crate::driver::runner::run_to_rest;
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Controllers;
use crate::driver::sandbox::record::{ClusterRecord, is_record};
use crate::recording::Header;

/// Imports. The answer is the exit code.
pub(super) fn run(args: &ImportArgs, program: &Main) -> anyhow::Result<u8> {
    if args.output.exists() {
        bail!("{}: it is there already, and a recording replaces nothing", args.output.display());
    }
    let source = config::read_file(&args.file)?;
    let outcome = if is_record(&source.text) {
        record(args, &source, program)
    } else {
        snapshot(args, source, program)
    };
    if let Err(error) = &outcome
        && args.output.exists()
        && !error.is::<RecorderError>()
    {
        // What is there is not what was asked for.
        std::fs::remove_file(&args.output)
            .with_context(|| format!("{error:#}; and removing {}", args.output.display()))?;
    }
    outcome
}

/// Plays a record of a cluster.
fn record(args: &ImportArgs, source: &Source, program: &Main) -> anyhow::Result<u8> {
    let record = ClusterRecord::read(&source.name, &source.text)?;
    let configuration = configuration(args, None, program)?;
    let api = SandboxApi::new(record.objects.clone(), record.start)
        .with_context(|| format!("{}: the objects of its beginning", source.name))?;
    for note in record.notes.iter().chain(&setup::configuration_notes(&configuration)) {
        tell(note);
    }
    let options = setup::options(&configuration, args.seed, Purpose::Result);
    let name = setup::source_name(std::slice::from_ref(&args.file));
    let header = Header::new(&configuration, &options, record.start, &name);
    let recording = setup::start_recording(&record_args(args), &header, Purpose::Result, program)?;
    let (recording, tap) = recording.unzip();
    let mut simulator = setup::simulator(&configuration, options, api, record.start, tap, program)?;
    record.play(&mut simulator)?;
    simulator.finish_recording("the record ends");
    recording.map(Recording::finish).transpose()?;
    Ok(exit::OK)
}

/// Schedules a snapshot until nothing moves, under its own configuration.
fn snapshot(args: &ImportArgs, source: Source, program: &Main) -> anyhow::Result<u8> {
    let own: Option<Value> = serde_json::from_str::<Value>(&source.text)
        .ok()
        .and_then(|mut snapshot| snapshot.get_mut("schedulerConfig").map(Value::take))
        .filter(|own| !own.is_null());
    let configuration = configuration(args, own.map(|own| (source.name.clone(), own)), program)?;
    let name = setup::source_name(std::slice::from_ref(&args.file));
    let sources = [source];
    let loaded = load(&sources)?;
    if loaded.objects.is_empty() {
        bail!("{}: it is no record, and there is no object in it", args.file.display());
    }
    let (api, _) = SandboxApi::from_manifests(loaded, &sources, setup::START)?;
    for note in setup::configuration_notes(&configuration) {
        tell(&note);
    }
    let options = setup::options(&configuration, args.seed, Purpose::Result);
    let header = Header::new(&configuration, &options, setup::START, &name);
    let recording = setup::start_recording(&record_args(args), &header, Purpose::Result, program)?;
    let (recording, tap) = recording.unzip();
    let simulator = setup::simulator(&configuration, options, api, setup::START, tap, program)?;
    let mut simulator = simulator.with_controllers(Controllers::new(args.seed));
    run_to_rest(&mut simulator);
    simulator.finish_recording("at rest");
    recording.map(Recording::finish).transpose()?;
    Ok(exit::OK)
}

fn record_args(args: &ImportArgs) -> RecordArgs {
    RecordArgs { file: Some(args.output.clone()), ..RecordArgs::default() }
}

/// The configuration that the arguments name, else the one that came with a snapshot, else the default one.
fn configuration(
    args: &ImportArgs,
    own: Option<(String, Value)>,
    program: &Main,
) -> anyhow::Result<SchedulerConfig> {
    let mut configuration = match own {
        Some((name, mut own)) if args.config.is_none() => {
            // What is exported has no type of its own.
            if let Some(fields) = own.as_object_mut() {
                fields.entry("apiVersion").or_insert_with(|| "kubescheduler.config.k8s.io/v1".into());
                fields.entry("kind").or_insert_with(|| "KubeSchedulerConfiguration".into());
            }
            let gates = FeatureGates::parse(&args.gates.list).map_err(|errors| {
                let lines: Vec<String> =
                    errors.0.iter().map(|error| format!("--feature-gates: {error}")).collect();
                anyhow::anyhow!(lines.join("\n"))
            })?;
            let source = format!("{name}: schedulerConfig");
            let catalog = program.registry().catalog(&gates);
            let options = ReadOptions { source: &source, gates: &gates, catalog: &catalog };
            SchedulerConfig::read(&own.to_string(), options).map_err(|complaints| {
                anyhow::anyhow!("{complaints}\n(another configuration can be given with --config)")
            })?
        }
        _ => config::load(args.config.as_deref(), &args.gates.list, program)?.map_err(anyhow::Error::msg)?,
    };
    configuration.leave_out_unbuilt(&|name| program.registry().contains(name));
    Ok(configuration)
}
