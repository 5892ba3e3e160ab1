//! Scenario files: TOML (a name that ends in `.toml`) or YAML, as `docs/scenarios.md` describes them.
//!
//! Reading is strict: a field that is not known, is there twice or has a value that it cannot have is told with file, line
//! and field, all of them at once. Manifests are looked at as a whole when they are loaded. Other files are read by
//! whoever asks.

mod arrivals;
mod expect;
mod steps;
mod tree;

use std::sync::Arc;

use super::plan::Plan;
use crate::api::Duration;
use crate::api::manifest::Source;
use crate::driver::sandbox::generate::{self, GenerateOptions};
use crate::driver::sandbox::sample;
use crate::driver::sandbox::words::ReadFile;
use crate::driver::sandbox::world::WorldSettings;
use tree::{Field, Text};

pub use tree::{ScenarioError, ScenarioErrors};

/// Finds what came in a recording, with the times since its beginning.
pub type ReadArrivals<'a> = &'a dyn Fn(&str) -> Result<Vec<(Duration, crate::api::Object)>, String>;

/// Reads what the scenario has from elsewhere.
#[derive(Clone, Copy)]
pub struct Elsewhere<'a> {
    /// The text of a file.
    pub file: ReadFile<'a>,
    /// The pods of a recording with the times at which they came, since its beginning.
    pub recording: ReadArrivals<'a>,
}

impl std::fmt::Debug for Elsewhere<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Elsewhere").finish_non_exhaustive()
    }
}

/// A scenario as its file has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScenarioFile {
    /// The cluster at the start.
    pub manifests: Vec<Source>,
    /// The configuration of the scheduler, if it is not the default one.
    pub config: Option<Source>,
    /// Its feature gates.
    pub feature_gates: String,
    /// Where the random numbers of the scheduler start.
    pub seed: u64,
    /// How the cluster lives, if it does.
    pub world: Option<WorldSettings>,
    /// What happens.
    pub plan: Arc<Plan>,
}

/// How much simulated time an attempt takes, if nothing else is said.
const ATTEMPT: Duration = Duration::from_millis(10);

/// So long it goes on after the last step, if nothing else is said: pods find their nodes meanwhile.
const SETTLING: Duration = Duration::from_secs(60);

/// Reads a scenario.
///
/// # Errors
/// All that is wrong with it.
pub fn read(name: &str, text: &str, elsewhere: Elsewhere<'_>) -> Result<ScenarioFile, ScenarioErrors> {
    let of = Text { file: name, text, errors: std::cell::RefCell::default() };
    let tree = of.tree();
    let file = tree.as_ref().map(|root| {
        let root = Field { of: &of, node: root, offset: root.offset, path: String::new() };
        read_root(&root, name, elsewhere)
    });
    let mut errors = of.errors.into_inner();
    match file.flatten() {
        Some(file) if errors.is_empty() => Ok(file),
        _ => {
            errors.sort_by_key(|error| error.line);
            Err(ScenarioErrors(errors))
        }
    }
}

fn read_root(root: &Field<'_>, name: &str, elsewhere: Elsewhere<'_>) -> Option<ScenarioFile> {
    let table = root.table()?;
    let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
    let text = |key| table.get(key).and_then(|field| field.text());
    let name = text("name").unwrap_or_else(|| stem.to_owned());
    let about = text("about").unwrap_or_default();
    let seed = table.get("seed").and_then(|field| field.number()).unwrap_or(1);
    let lasts = table.get("lasts").and_then(|field| field.duration());
    let attempt = table.get("attempt").and_then(|field| field.duration()).unwrap_or(ATTEMPT);
    let feature_gates = text("featureGates").unwrap_or_default();
    let config = table.get("config").and_then(|field| config(&field, elsewhere));
    let manifests = match table.get("cluster") {
        Some(field) => cluster(&field, seed, elsewhere),
        None => {
            table.wrong("cluster is missing: files, objects, generate or sample");
            Vec::new()
        }
    };
    let world = table.get("world").and_then(|field| world(&field));
    let steps = table.get("steps").map(|field| steps::read(&field, elsewhere)).unwrap_or_default();
    let end_of_steps = steps.last().map_or(Duration::ZERO, |step| step.at);
    let arrivals =
        table.get("arrivals").map(|field| arrivals::read(&field, lasts, elsewhere)).unwrap_or_default();
    let end_of_arrivals = arrivals.iter().filter_map(|plan| plan.until).max().unwrap_or_default();
    let finally =
        table.get("finally").map(|field| field.one_or_more().iter().filter_map(expect::read).collect());
    table.finish();
    let plan = Plan {
        name: name.into(),
        about: about.into(),
        steps,
        arrivals: arrivals.into_iter().map(Arc::new).collect(),
        finally: finally.unwrap_or_default(),
        attempt,
        lasts: lasts.unwrap_or(end_of_steps.max(end_of_arrivals) + SETTLING),
        seed,
    };
    Some(ScenarioFile { manifests, config, feature_gates, seed, world, plan: Arc::new(plan) })
}

/// A file's name, or the configuration itself.
fn config(field: &Field<'_>, elsewhere: Elsewhere<'_>) -> Option<Source> {
    if !field.is_text() {
        field.table()?;
        return Some(Source { name: format!("{}:{}", field.of.file, field.line()), text: field.json() });
    }
    let name = field.text()?;
    let text = read_file(field, &name, elsewhere)?;
    Some(Source { name, text })
}

fn read_file(field: &Field<'_>, name: &str, elsewhere: Elsewhere<'_>) -> Option<String> {
    (elsewhere.file)(name).map_err(|error| field.wrong(error)).ok()
}

fn cluster(field: &Field<'_>, seed: u64, elsewhere: Elsewhere<'_>) -> Vec<Source> {
    let Some(table) = field.table() else { return Vec::new() };
    let mut sources = Vec::new();
    if table.get("sample").and_then(|field| field.flag()).unwrap_or(false) {
        sources.push(sample::source());
    }
    for file in table.get("files").map(|field| field.one_or_more()).unwrap_or_default() {
        if let Some(name) = file.text()
            && let Some(text) = read_file(&file, &name, elsewhere)
        {
            sources.push(Source { name, text });
        }
    }
    if let Some(options) = table.get("generate").and_then(|field| generate_options(&field, seed)) {
        let text = generate::manifests(&options).concat();
        sources.push(Source { name: "generated".to_owned(), text });
    }
    if let Some(objects) = table.get("objects") {
        sources.extend(manifest(&objects));
    }
    if sources.is_empty() {
        table.wrong("there is no object: name files, objects, generate or sample");
    }
    table.finish();
    sources
}

/// A manifest: its text, one object, or a list of both.
fn manifest(field: &Field<'_>) -> Option<Source> {
    let mut parts = Vec::new();
    for part in field.one_or_more() {
        if part.is_text() {
            parts.push(part.text()?);
        } else {
            part.table()?;
            parts.push(part.json());
        }
    }
    let name = format!("{}:{}", field.of.file, field.line());
    Some(Source { name, text: parts.join("\n---\n") })
}

/// `all`, or names of parts as on the command line; or a mapping with `parts` and how long things take.
fn world(field: &Field<'_>) -> Option<WorldSettings> {
    let parts = |field: &Field<'_>, settings: WorldSettings| {
        let text = field.text()?;
        settings.with_parts(&text).map_err(|error| field.wrong(error)).ok()
    };
    if field.is_text() {
        return parts(field, WorldSettings::default());
    }
    let table = field.table()?;
    let mut settings = WorldSettings::default();
    if let Some(field) = table.get("parts") {
        settings = parts(&field, settings)?;
    }
    let duration = |key, known: Duration| table.get(key).and_then(|it| it.duration()).unwrap_or(known);
    settings.start_time = duration("startTime", settings.start_time);
    settings.stop_time = duration("stopTime", settings.stop_time);
    settings.job_time = duration("jobTime", settings.job_time);
    settings.node_monitor_grace = duration("nodeMonitorGrace", settings.node_monitor_grace);
    if let Some(bytes) = table.get("pullBytesPerSecond").and_then(|field| field.number()) {
        settings.pull_bytes_per_second = bytes.max(1);
    }
    table.finish();
    Some(settings)
}

fn generate_options(field: &Field<'_>, seed: u64) -> Option<GenerateOptions> {
    let table = field.table()?;
    let mut options = GenerateOptions { seed, ..GenerateOptions::default() };
    let number = |key| table.get(key).and_then(|field| field.number());
    let small = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    options.nodes = number("nodes").map_or(options.nodes, small);
    options.pods = number("pods").map_or(options.pods, small);
    options.zones = number("zones").map_or(options.zones, small);
    options.seed = number("seed").unwrap_or(options.seed);
    if let Some(share) = table.get("utilization").and_then(|field| field.share()) {
        options.utilization = share;
    }
    if let Some(n) = number("pending") {
        options.pending = small(n);
    }
    if let Some(field) = table.get("mix") {
        let words: Vec<String> = field.one_or_more().iter().filter_map(|word| word.text()).collect();
        match generate::parse_mix(&words.join(",")) {
            Ok(mix) => options.mix = mix,
            Err(error) => field.wrong(error),
        }
    }
    if let Err(error) = options.check() {
        table.wrong(error);
    }
    table.finish();
    Some(options)
}
