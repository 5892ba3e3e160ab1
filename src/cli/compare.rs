//! `schedscope compare`: one cluster, recording or scenario under several configurations.

use std::io::{BufRead, Cursor};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::args::RecordArgs;
use super::asked::{Asked, AskedArgs};
use super::replay::Recorded;
use super::run::{json_text, print};
use super::setup::{self, Purpose};
use super::tables::{Form, bars, percent, table};
use super::whatif::{ReportFormat, totals_document};
use super::{Main, config, exit, scenario, tell, whatif_text};
use crate::api::time::human_duration;
use crate::api::{Duration, Object};
use crate::config::SchedulerConfig;
use crate::driver::outlook::recorded::totals_of;
use crate::driver::outlook::run::{Progress, run_out};
use crate::driver::outlook::what_if::Totals;
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Controllers;
use crate::driver::sandbox::returns::{Fate, fate};
use crate::driver::what_if::{recorded_gates, what_if};
use crate::recording::ReadError;

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/compare/v1";

/// `schedscope compare`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = "Each configuration schedules the same pods on a copy of the same cluster, with the same seed, until nothing \
                  moves. Of a recording without a moment (@T) the whole session is played under each. Waiting times mean \
                  most in a recording or a scenario: in files all pods are there from the beginning.\n\n\
                  Exit codes: 0 compared; 2 wrong input."
)]
pub struct CompareArgs {
    /// The configurations, separated by commas; `default` is the default one
    #[arg(long, value_name = "FILE,FILE,...", value_delimiter = ',', required = true)]
    pub configs: Vec<PathBuf>,
    /// A scenario in place of a cluster: a file, or the name of one that comes with the program
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["filenames", "rec", "live"])]
    pub scenario: Option<String>,
    /// Takes all pods off their nodes first, but those of DaemonSets, so that all of them are scheduled
    #[arg(long, conflicts_with = "scenario")]
    pub reschedule: bool,
    /// How it is printed
    #[arg(short = 'o', long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
    /// Where.
    #[command(flatten)]
    pub asked: AskedArgs,
}

/// What one configuration came to.
struct Compared {
    name: String,
    totals: Totals,
}

/// Compares and prints. The answer is the exit code.
pub(super) fn run(args: &CompareArgs, program: &Main) -> anyhow::Result<u8> {
    if args.asked.input.config.is_some() {
        bail!("--config: name the configurations with --configs");
    }
    let whole = args.asked.rec.as_ref().filter(|place| !args.reschedule && is_whole(place));
    let compared = match (&args.scenario, whole) {
        (Some(name), _) => of_scenario(args, name, program)?,
        (None, Some(file)) => of_recording(args, Path::new(file), program)?,
        (None, None) => of_cluster(args, program)?,
    };
    let text = match args.output {
        ReportFormat::Text => render(&compared, Form::Text),
        ReportFormat::Markdown => render(&compared, Form::Markdown),
        ReportFormat::Json => json_text(&document(&compared))?,
    };
    print(&text)?;
    Ok(exit::OK)
}

/// Whether a place of `--rec` is a recording as a whole.
fn is_whole(place: &str) -> bool {
    Path::new(place).exists() || !place.contains('@')
}

/// The configurations with their names.
fn configurations(
    args: &CompareArgs,
    gates: &str,
    program: &Main,
) -> anyhow::Result<Vec<(String, SchedulerConfig)>> {
    let one = |path: &PathBuf| {
        let is_default = path.as_os_str() == "default" && !path.exists();
        let file = (!is_default).then_some(path.as_path());
        let mut configuration = config::load(file, gates, program)?.map_err(anyhow::Error::msg)?;
        configuration.leave_out_unbuilt(&|name| program.registry().contains(name));
        for note in setup::configuration_notes(&configuration) {
            tell(&format!("{}: {note}", path.display()));
        }
        Ok((path.display().to_string(), configuration))
    };
    args.configs.iter().map(one).collect()
}

fn of_cluster(args: &CompareArgs, program: &Main) -> anyhow::Result<Vec<Compared>> {
    let input = &args.asked.input;
    let configurations = configurations(args, &input.gates.list, program)?;
    let mut asked = Asked::find(&args.asked, program)?;
    asked.simulator.leave_recording();
    let now = asked.simulator.now();
    let mut objects: Vec<Object> = asked.simulator.api().objects().iter().collect();
    if args.reschedule {
        objects.iter_mut().for_each(take_off);
    }
    let mut compared = Vec::new();
    for (name, configuration) in configurations {
        let options = setup::options(&configuration, input.seed, Purpose::Result);
        let api = SandboxApi::new(objects.clone(), now)?;
        let mut simulator = setup::simulator(&configuration, options, api, now, None, program)?;
        if !input.no_controllers {
            simulator = simulator.with_controllers(Controllers::new(input.seed));
        }
        let outcome = run_out(&mut simulator, &[], Duration::ZERO, &Progress::default())?;
        compared.push(Compared { name, totals: Totals::of(&outcome) });
    }
    Ok(compared)
}

/// Takes a pod off its node, unless it belongs there.
fn take_off(object: &mut Object) {
    let Object::Pod(pod) = object else { return };
    if !pod.is_assigned() || pod.is_terminating() || fate(pod) == Fate::OfItsNode {
        return;
    }
    let pod = Arc::make_mut(pod);
    pod.spec.node_name = "".into();
    pod.status = crate::api::objects::PodStatus::default();
}

fn of_scenario(args: &CompareArgs, name: &str, program: &Main) -> anyhow::Result<Vec<Compared>> {
    let file = scenario::load(name)?;
    let mut compared = Vec::new();
    for path in &args.configs {
        let mut input = args.asked.input.clone();
        let is_default = path.as_os_str() == "default" && !path.exists();
        input.config = (!is_default).then(|| path.clone());
        let setup = scenario::build(&file, &input, &RecordArgs::default(), Purpose::Result, program)?;
        let mut simulator = setup.simulator;
        let outcome = run_out(&mut simulator, &[], file.plan.attempt, &Progress::default())?;
        compared.push(Compared { name: path.display().to_string(), totals: Totals::of(&outcome) });
    }
    Ok(compared)
}

fn of_recording(args: &CompareArgs, file: &Path, program: &Main) -> anyhow::Result<Vec<Compared>> {
    let recorded = Recorded::find(file).map_err(anyhow::Error::msg)?;
    let reading = || format!("playing {}", recorded.name());
    let registry = program.registry();
    let gates = match args.asked.input.gates.list.as_str() {
        "" => recorded_gates(&mut || recorded.open()).with_context(reading)?,
        list => list.to_owned(),
    };
    let totals = totals_of(&mut || recorded.open(), registry).with_context(reading)?;
    let mut compared = vec![Compared { name: "as recorded".to_owned(), totals }];
    for (name, configuration) in configurations(args, &gates, program)? {
        let other = what_if(&mut || recorded.open(), &configuration, registry).with_context(reading)?;
        for note in &other.notes {
            tell(&format!("{name}: {note}"));
        }
        let bytes: Arc<[u8]> = other.recording.into();
        let mut open =
            || -> Result<Box<dyn BufRead>, ReadError> { Ok(Box::new(Cursor::new(Arc::clone(&bytes)))) };
        let totals = totals_of(&mut open, registry).with_context(|| name.clone())?;
        compared.push(Compared { name, totals });
    }
    Ok(compared)
}

fn render(compared: &[Compared], form: Form) -> String {
    let header = [
        "CONFIGURATION",
        "PLACED",
        "PENDING",
        "PREEMPTED",
        "ATTEMPTS",
        "CPU MEAN",
        "SD",
        "MEMORY MEAN",
        "SD",
        "EMPTY",
        "HOLE",
        "WAIT P50",
        "P90",
        "P99",
    ];
    let rows: Vec<Vec<String>> = compared
        .iter()
        .map(|Compared { name, totals }| {
            let of = |resource: &str| {
                let measure = totals.measures.resource(resource);
                let told = |value: Option<u64>| value.map_or_else(|| "-".to_owned(), percent);
                [told(measure.map(|it| it.mean)), told(measure.map(|it| it.deviation))]
            };
            let mut row = vec![
                name.clone(),
                totals.placed.to_string(),
                totals.pending.to_string(),
                totals.preempted.to_string(),
                totals.attempts.0.to_string(),
            ];
            row.extend(of("cpu"));
            row.extend(of("memory"));
            row.push(format!("{}/{}", totals.measures.empty_nodes, totals.measures.nodes));
            row.push(whatif_text::hole(totals));
            row.extend(whatif_text::waits(totals));
            row
        })
        .collect();
    let mut text = table(form, &header, &rows, 1);
    let mut charts = String::new();
    let deviation =
        |totals: &Totals, name: &str| totals.measures.resource(name).map_or(0, |measure| measure.deviation);
    type Number = fn(&Totals) -> u64;
    type Chart<'a> = (&'a str, Box<dyn Fn(&Totals) -> u64>, fn(u64) -> String);
    let millis = |totals: &Totals| u64::try_from(totals.waits.p90.as_millis()).unwrap_or(u64::MAX);
    let kinds: [Chart<'_>; 5] = [
        (
            "Balance: standard deviation of the nodes' cpu in use",
            Box::new(move |it| deviation(it, "cpu")),
            percent,
        ),
        ("The same of memory", Box::new(move |it| deviation(it, "memory")), percent),
        (
            "Fragmentation: free cpu outside of the largest hole",
            Box::new((|it| it.measures.fragmentation()) as Number),
            percent,
        ),
        ("Wait for a node, 90 of 100 pods", Box::new(millis), |n| human_duration(Duration::from_millis(n))),
        ("Pending pods", Box::new((|it| it.pending as u64) as Number), |n| n.to_string()),
    ];
    for (title, number, told) in &kinds {
        let values: Vec<(String, u64, String)> = compared
            .iter()
            .map(|Compared { name, totals }| (name.clone(), number(totals), told(number(totals))))
            .collect();
        charts.push_str(&format!("\n{}", bars(title, &values)));
    }
    match form {
        Form::Text => text.push_str(&charts),
        Form::Markdown => text.push_str(&format!("\n```text{charts}```\n")),
    }
    text
}

fn document(compared: &[Compared]) -> Value {
    let configurations = compared.iter().map(|Compared { name, totals }| {
        let mut of = totals_document(totals);
        if let Some(map) = of.as_object_mut() {
            map.insert("name".to_owned(), name.as_str().into());
        }
        of
    });
    json!({"schema": SCHEMA, "configurations": configurations.collect::<Vec<_>>()})
}
