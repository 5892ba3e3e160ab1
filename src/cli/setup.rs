//! From manifests to a sandbox: read, admit, build.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::args::{InputArgs, RecordArgs};
use super::world::Life;
use super::{Main, config, input, tell};
use crate::api::manifest::{Loaded, Source, load};
use crate::api::time::human_duration;
use crate::api::workloads::Living;
use crate::api::{Duration, Object, Str, Time};
use crate::config::SchedulerConfig;
use crate::driver::desk::Desk;
use crate::driver::extender::HttpTransport;
use crate::driver::recorder::{Recorder, RecorderOptions, RecordingTap};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Controllers;
use crate::driver::sandbox::controllers::device_drivers::DeviceDrivers;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::sandbox::world::Part;
use crate::framework::runtime::build_profiles;
use crate::recording::{Compression, Header, HeaderError, Slim};
use crate::scheduler::SchedulerOptions;

/// Where simulated time begins: a round date, so that two runs of one cluster are alike.
pub(super) const START: Time = Time::from_secs(1_767_225_600);

/// A sandbox that is ready to go.
pub(super) struct Setup {
    /// The sandbox.
    pub simulator: Simulator,
    /// What it is called on the screen.
    pub source: Str,
    /// What is to be told about what was read.
    pub notes: Vec<String>,
    /// The recording, if there is to be one.
    pub recorder: Option<Recording>,
    /// What recordings are made with while the console is open.
    pub desk: Option<Desk>,
}

/// What a sandbox is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// A person looks at it, so evidence is kept. The console answers signals.
    Console,
    /// Its result is printed.
    Result,
}

/// A recording that is being written.
#[derive(Debug)]
pub(super) struct Recording {
    recorder: Recorder,
    file: PathBuf,
}

impl Recording {
    /// Waits until everything is written, and tells what was.
    pub fn finish(self) -> anyhow::Result<()> {
        let file = self.file.display();
        let stats = self.recorder.finish().with_context(|| file.to_string())?;
        let waited = if stats.waits == 0 {
            String::new()
        } else {
            let waited = human_duration(Duration::from_nanos(stats.waited_ns));
            format!("; waited {} times for the file, {waited} in all", stats.waits)
        };
        tell(&format!("recorded {} inputs to {file}{waited}", stats.inputs));
        Ok(())
    }
}

/// Builds the sandbox that the arguments describe; the embedded sample without any.
pub(super) fn build(
    args: &InputArgs,
    record: &RecordArgs,
    purpose: Purpose,
    program: &Main,
) -> anyhow::Result<Setup> {
    build_prepared(args, record, purpose, program, START, |_, _, _| {})
}

/// The same, beginning at another time, with a configuration and a cluster to which something is done first.
pub(super) fn build_prepared(
    args: &InputArgs,
    record: &RecordArgs,
    purpose: Purpose,
    program: &Main,
    start: Time,
    prepare: impl FnOnce(&mut SchedulerConfig, &mut SandboxApi, &[Source]),
) -> anyhow::Result<Setup> {
    let configuration = read_configuration(args, program)?;
    let (sources, name) = if args.filenames.is_empty() {
        (vec![args.world.source()], Str::from(args.world.name()))
    } else {
        (input::read_sources(&args.filenames)?, source_name(&args.filenames))
    };
    let life = |loaded: &mut Loaded| match args.no_controllers {
        true => Ok(None),
        false => args.world.life(loaded, purpose),
    };
    let ground = Ground { sources, name, start, life: Box::new(life), prepare: Box::new(prepare) };
    assemble(configuration, ground, args, record, purpose, program)
}

/// Says what lives in a cluster that was read.
type FindLife<'a> = dyn FnOnce(&mut Loaded) -> anyhow::Result<Option<Life>> + 'a;
/// Does something to a configuration and the cluster of these manifests before a sandbox is made of them.
type Prepare<'a> = dyn FnOnce(&mut SchedulerConfig, &mut SandboxApi, &[Source]) + 'a;

/// What a sandbox stands on.
pub(super) struct Ground<'a> {
    /// The manifests.
    pub sources: Vec<Source>,
    /// What they are called on the screen.
    pub name: Str,
    /// When simulated time begins.
    pub start: Time,
    /// Says what lives in the cluster.
    pub life: Box<FindLife<'a>>,
    /// What is done to the configuration and the cluster first.
    pub prepare: Box<Prepare<'a>>,
}

/// Builds a sandbox on manifests, under a configuration.
pub(super) fn assemble(
    mut configuration: SchedulerConfig,
    ground: Ground<'_>,
    args: &InputArgs,
    record: &RecordArgs,
    purpose: Purpose,
    program: &Main,
) -> anyhow::Result<Setup> {
    let Ground { sources, name, start, life, prepare } = ground;
    let mut loaded = load(&sources)?;
    if loaded.report.documents == 0 {
        // Most likely the program that should have written it has failed.
        let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        bail!("there is no object in {}", names.join(", "));
    }
    let life = life(&mut loaded)?;
    let lifeless = if life.is_none() { lifeless_note(&loaded) } else { None };
    let (mut api, report) = SandboxApi::from_manifests(loaded, &sources, start)?;
    if life.as_ref().is_some_and(|life| life.settings.has(Part::Nodes)) {
        api.begin_to_live();
    }
    prepare(&mut configuration, &mut api, &sources);
    let mut notes = report.notes();
    notes.extend(lifeless);
    notes.extend(lost_note(&api));
    notes.extend(configuration_notes(&configuration));
    let options = options(&configuration, args.seed, purpose);
    let header = Header::new(&configuration, &options, start, &name);
    let (recorder, tap) = start_recording(record, &header, purpose, program)?.unzip();
    let (tap, desk) = match (purpose, header) {
        (Purpose::Console, Ok(header)) => {
            let tap = tap.map_or_else(RecordingTap::in_memory, RecordingTap::with_memory);
            (
                Some(tap),
                Some(
                    Desk::new(header, slim(record, program), record.file.as_deref()).nameless(record.redact),
                ),
            )
        }
        (Purpose::Console | Purpose::Result, _) => (tap, None),
    };
    let controllers = controllers(args)?.map(|controllers| match life {
        Some(Life { settings, living }) => controllers.with_world(settings, living),
        None => controllers,
    });
    let mut simulator = simulator(&configuration, options, api, start, tap, program)?;
    if let Some(controllers) = controllers {
        simulator = simulator.with_controllers(controllers);
    }
    Ok(Setup { simulator, source: name, notes, recorder, desk })
}

/// Workloads that bring no pods into being, since nothing lives. Those of a cluster that was dumped have theirs.
fn lifeless_note(loaded: &Loaded) -> Option<String> {
    let has_owner =
        |object: &Object| matches!(object, Object::Pod(pod) if pod.metadata.controller().is_some());
    if loaded.objects.iter().any(has_owner) {
        return None;
    }
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for living in &loaded.living {
        if let Living::Workload(workload) = living {
            *kinds.entry(workload.kind().as_str()).or_default() += 1;
        }
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, n)| format!("{kind} ({n})")).collect();
    let told = format!("no pods are made for {}: they come into being with --world", kinds.join(", "));
    (!kinds.is_empty()).then_some(told)
}

/// Pods on nodes that do not exist.
fn lost_note(api: &SandboxApi) -> Option<String> {
    /// So many are named.
    const NAMED: usize = 3;
    let objects = api.objects();
    let lost: Vec<String> = objects
        .pods
        .values()
        .filter(|pod| pod.is_assigned() && objects.node(&pod.spec.node_name).is_none())
        .map(|pod| format!("{} on {}", pod.key(), pod.spec.node_name))
        .collect();
    let more = lost.len().checked_sub(NAMED).filter(|more| *more > 0);
    let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
    let named: Vec<&str> = lost.iter().take(NAMED).map(String::as_str).collect();
    (!lost.is_empty()).then(|| format!("on nodes that do not exist: {}{more}", named.join(", ")))
}

/// What the scheduler is made with.
pub(super) fn options(configuration: &SchedulerConfig, seed: u64, purpose: Purpose) -> SchedulerOptions {
    SchedulerOptions { seed, is_tracing: purpose == Purpose::Console, ..SchedulerOptions::default() }
        .configured(configuration)
}

/// The configuration that the arguments name, for the plugins that are there.
fn read_configuration(args: &InputArgs, program: &Main) -> anyhow::Result<SchedulerConfig> {
    let is_stdin = |path: &PathBuf| path.as_os_str() == "-";
    if args.config.as_ref().is_some_and(is_stdin) && args.filenames.iter().any(is_stdin) {
        bail!("--config and --filename cannot both be read from standard input");
    }
    let mut configuration =
        config::load(args.config.as_deref(), &args.gates.list, program)?.map_err(anyhow::Error::msg)?;
    configuration.leave_out_unbuilt(&|name| program.registry().contains(name));
    Ok(configuration)
}

/// The controllers that the arguments ask for.
fn controllers(args: &InputArgs) -> anyhow::Result<Option<Controllers>> {
    if args.no_controllers {
        return Ok(None);
    }
    let controllers = Controllers::new(args.seed);
    let Some(path) = &args.device_drivers else { return Ok(Some(controllers)) };
    let source = config::read_file(path)?;
    let drivers = DeviceDrivers::parse(&source.text)
        .with_context(|| format!("reading drivers from {}", path.display()))?;
    Ok(Some(controllers.with_drivers(drivers)))
}

pub(super) fn configuration_notes(configuration: &SchedulerConfig) -> Vec<String> {
    let mut notes = Vec::new();
    if !configuration.warnings.is_empty() {
        notes.push(configuration.warnings.to_string());
    }
    if !configuration.left_out.is_empty() {
        let plugins = configuration.left_out.join(", ");
        notes.push(format!("left out of all profiles, since they are not built yet: {plugins}"));
    }
    notes
}

/// Begins the recording, if one is wanted.
pub(super) fn start_recording(
    args: &RecordArgs,
    header: &Result<Header, HeaderError>,
    purpose: Purpose,
    program: &Main,
) -> anyhow::Result<Option<(Recording, RecordingTap)>> {
    let Some(file) = &args.file else { return Ok(None) };
    let header = header.as_ref().map_err(|error| anyhow::anyhow!("recording: {error}"))?;
    let recorder_options = RecorderOptions {
        compression: Compression::of_name(&file.to_string_lossy()),
        slim: slim(args, program),
        ends_program_on_signal: purpose == Purpose::Result,
        redact_with: args.redact.then(|| program.registry().clone()),
        ..RecorderOptions::default()
    };
    let (recorder, tap) = Recorder::create(file, header, recorder_options)?;
    Ok(Some((Recording { recorder, file: file.clone() }, tap)))
}

/// What is kept of objects.
pub(super) fn slim(args: &RecordArgs, program: &Main) -> Slim {
    let read = program.registry().annotations().map(str::to_owned);
    Slim { kept_annotations: args.annotations.iter().cloned().chain(read).collect() }
}

pub(super) fn simulator(
    configuration: &SchedulerConfig,
    options: SchedulerOptions,
    api: SandboxApi,
    start: Time,
    recording: Option<RecordingTap>,
    program: &Main,
) -> anyhow::Result<Simulator> {
    let profiles = build_profiles(&configuration.profiles, program.registry(), &configuration.gates)
        .context("building the profiles")?
        .into_values()
        .collect();
    let transport = HttpTransport::new(&options.extenders)?;
    Ok(Simulator::recorded(profiles, options, api, start, recording)
        .context("building the scheduler")?
        .with_transport(Arc::new(transport)))
}

pub(super) fn source_name(paths: &[PathBuf]) -> Str {
    let first = paths.first().map(|path| match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => path.to_string_lossy().into_owned(),
    });
    let first = first.unwrap_or_default();
    let first = if first == "-" { "stdin".to_owned() } else { first };
    Str::from(if paths.len() > 1 { format!("{first} +{}", paths.len() - 1) } else { first })
}
