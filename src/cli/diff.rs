//! `schedscope diff`: two recordings side by side, or one and what it would have come to under another configuration.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{DiffArgs, OutputFormat};
use super::run::print;
use super::{Main, config, exit, tell};
use crate::api::Duration;
use crate::api::time::human_duration;
use crate::driver::recorder::new_file;
use crate::driver::what_if::{recorded_gates, what_if};
use crate::recording::{
    Comparison, Ending, Moved, NodeLoad, NodePoints, ReadError, Reason, Standing, Waits, compare,
};
use crate::scheduler::trace::SelectionReason;
use crate::tui::widgets::text::clean;

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/diff/v1";

/// Compares and prints. The answer is the exit code.
pub(super) fn run(args: &DiffArgs, program: &Main) -> anyhow::Result<u8> {
    if args.config.is_none() && (args.record.is_some() || !args.feature_gates.is_empty()) {
        bail!("--record and --feature-gates go with --config");
    }
    let registry = program.registry();
    let comparison = match (&args.config, &args.b) {
        (Some(config), _) => with_config(args, config, program)?,
        (None, Some(b)) => compare(&mut || open(&args.a), &mut || open(b), registry)
            .with_context(|| format!("comparing {} with {}", args.a.display(), b.display()))?,
        (None, None) => bail!("name another recording, or a configuration with --config"),
    };
    let text = match args.output {
        OutputFormat::Table => table(&comparison),
        OutputFormat::Json => serde_json::to_string(&document(&comparison))? + "\n",
    };
    print(&text)?;
    Ok(if comparison.moved.is_empty() { exit::OK } else { exit::DIFFERENT })
}

type Source = Box<dyn BufRead>;

fn open(path: &Path) -> Result<Source, ReadError> {
    let file = File::open(path);
    let file =
        file.map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display())));
    Ok(Box::new(BufReader::new(file?)))
}

/// The recording beside what it would have come to under another configuration.
fn with_config(args: &DiffArgs, config: &Path, program: &Main) -> anyhow::Result<Comparison> {
    let registry = program.registry();
    let reading = || format!("playing {}", args.a.display());
    let gates = if args.feature_gates.is_empty() {
        recorded_gates(&mut || open(&args.a)).with_context(reading)?
    } else {
        args.feature_gates.clone()
    };
    let mut configuration = config::load(Some(config), &gates, program)?.map_err(anyhow::Error::msg)?;
    configuration.leave_out_unbuilt(&|name| registry.contains(name));
    if !configuration.warnings.is_empty() {
        tell(&configuration.warnings.to_string());
    }
    let other = what_if(&mut || open(&args.a), &configuration, registry).with_context(reading)?;
    for note in &other.notes {
        tell(note);
    }
    if let Some(path) = &args.record {
        let mut file = new_file(path).with_context(|| path.display().to_string())?;
        file.write_all(&other.recording).with_context(|| path.display().to_string())?;
    }
    let recording: Arc<[u8]> = other.recording.into();
    let open_other = || -> Result<Source, ReadError> { Ok(Box::new(Cursor::new(Arc::clone(&recording)))) };
    Ok(compare(&mut || open(&args.a), &mut { open_other }, registry)?)
}

fn table(comparison: &Comparison) -> String {
    let mut text = String::new();
    for moved in &comparison.moved {
        text.push_str(&format!("{}\n", clean(&moved.pod.to_string())));
        for (name, ending, reason, other) in
            [("A", &moved.a, &moved.why_a, &moved.b), ("B", &moved.b, &moved.why_b, &moved.a)]
        {
            text.push_str(&format!("  {name}: {}\n", clean(&ending_text(ending.as_ref()))));
            if let Some(reason) = reason {
                let node = other.as_ref().and_then(|ending| ending.node.as_deref());
                for line in reason_lines(reason, node) {
                    text.push_str(&format!("     {}\n", clean(&line)));
                }
            }
        }
    }
    if !comparison.nodes.is_empty() {
        text.push_str("\nnode: pods, cpu, memory asked for, A then B\n");
        for (node, a, b) in &comparison.nodes {
            text.push_str(&format!("  {}: {} | {}\n", clean(node), load_text(a), load_text(b)));
        }
    }
    let (a, b) = &comparison.waits;
    text.push_str(&format!("\nwaits A: {}\nwaits B: {}\n", waits_text(a), waits_text(b)));
    let n = comparison.moved.len();
    text.push_str(&format!("{n} pods ended otherwise, {} alike\n", comparison.n_equal));
    text
}

fn ending_text(ending: Option<&Ending>) -> String {
    let Some(ending) = ending else { return "not there".to_owned() };
    let waited = human_duration(ending.waited);
    match &ending.node {
        Some(node) => format!("{node} after {waited}"),
        None if ending.is_gone => format!("deleted after {waited}"),
        None if ending.message.is_empty() => format!("pending for {waited}"),
        None => format!("pending for {waited}: {}", ending.message),
    }
}

/// Why the pod ended here, and how the other's node stood.
fn reason_lines(reason: &Reason, other: Option<&str>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(selection) = reason.selection {
        lines.push(format!("attempt {}: {}", reason.cycle, selection_text(selection)));
    }
    let Some(other) = other else { return lines };
    let standing = match (&reason.here, &reason.there) {
        (_, None) => return lines,
        (Some(Standing::Feasible(here)), Some(Standing::Feasible(there))) => points_text(here, there),
        (_, Some(Standing::Feasible(_))) => "it was feasible".to_owned(),
        (_, Some(Standing::Rejected { plugin, reason })) => format!("{plugin} turned it down: {reason}"),
        (_, Some(Standing::NotLookedAt)) => "it was not looked at: enough nodes were found before".to_owned(),
        (_, Some(Standing::Excluded)) => "PreFilter left it out".to_owned(),
        (_, Some(Standing::NotThere)) => "it was not there".to_owned(),
    };
    lines.push(format!("{other}: {standing}"));
    lines
}

/// Totals, and the plugins that see a difference, the largest first.
fn points_text(here: &NodePoints, there: &NodePoints) -> String {
    let (Some(mine), Some(theirs)) = (here.total, there.total) else {
        return "it was feasible, and nodes were not scored".to_owned();
    };
    let mut differences: Vec<(&str, i64)> = here
        .plugins
        .iter()
        .zip(&there.plugins)
        .map(|((plugin, mine), (_, theirs))| (plugin.as_str(), theirs - mine))
        .filter(|(_, difference)| *difference != 0)
        .collect();
    differences.sort_by_key(|(plugin, difference)| (-difference.abs(), *plugin));
    let differences: Vec<String> =
        differences.iter().map(|(plugin, difference)| format!("{plugin} {difference:+}")).collect();
    let why = if differences.is_empty() { String::new() } else { format!(" ({})", differences.join(", ")) };
    format!("{theirs} points against {mine}{why}")
}

const fn selection_text(selection: SelectionReason) -> &'static str {
    match selection {
        SelectionReason::OnlyFeasible => "the only feasible node",
        SelectionReason::Nominated => "nominated to it",
        SelectionReason::BatchHint => "as the ranking of the attempt before",
        SelectionReason::HighestTotal => "the highest total",
        SelectionReason::Tie => "by chance among the highest totals",
    }
}

fn load_text(load: &NodeLoad) -> String {
    let mebibytes = load.memory / (1 << 20);
    format!("{} pods, {}m, {mebibytes}Mi", load.pods, load.milli_cpu)
}

fn waits_text(waits: &Waits) -> String {
    let [median, p95, max] = [waits.median, waits.p95, waits.max].map(human_duration);
    format!("{} pods, median {median}, 95% {p95}, longest {max}; {} without a node", waits.n, waits.n_without)
}

fn document(comparison: &Comparison) -> Value {
    let (a, b) = &comparison.waits;
    json!({
        "schema": SCHEMA,
        "equal": comparison.n_equal,
        "moved": comparison.moved.iter().map(moved_document).collect::<Vec<_>>(),
        "nodes": comparison.nodes.iter().map(|(node, a, b)| {
            json!({"node": &**node, "a": load_document(a), "b": load_document(b)})
        }).collect::<Vec<_>>(),
        "waits": {"a": waits_document(a), "b": waits_document(b)},
    })
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn waits_document(waits: &Waits) -> Value {
    json!({
        "pods": waits.n,
        "medianMilliseconds": milliseconds(waits.median),
        "p95Milliseconds": milliseconds(waits.p95),
        "maxMilliseconds": milliseconds(waits.max),
        "withoutNode": waits.n_without,
    })
}

fn load_document(load: &NodeLoad) -> Value {
    json!({"pods": load.pods, "milliCpu": load.milli_cpu, "memoryBytes": load.memory})
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EndingDocument<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    deleted: bool,
    waited_milliseconds: u64,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<Value>,
}

fn moved_document(moved: &Moved) -> Value {
    let ending = |ending: &Option<Ending>, reason: &Option<Reason>| {
        let document = ending.as_ref().map(|ending| EndingDocument {
            node: ending.node.as_deref(),
            deleted: ending.is_gone,
            waited_milliseconds: milliseconds(ending.waited),
            message: &ending.message,
            why: reason.as_ref().map(reason_document),
        });
        serde_json::to_value(document).unwrap_or_default()
    };
    json!({
        "pod": moved.pod.to_string(),
        "a": ending(&moved.a, &moved.why_a),
        "b": ending(&moved.b, &moved.why_b),
    })
}

fn reason_document(reason: &Reason) -> Value {
    let standing = |standing: &Standing| match standing {
        Standing::Feasible(points) => {
            let plugins: serde_json::Map<String, Value> =
                points.plugins.iter().map(|(plugin, points)| (plugin.clone(), (*points).into())).collect();
            json!({"standing": "feasible", "total": points.total, "points": plugins})
        }
        Standing::Rejected { plugin, reason } => {
            json!({"standing": "rejected", "plugin": plugin, "reason": reason})
        }
        Standing::NotLookedAt => json!({"standing": "notLookedAt"}),
        Standing::Excluded => json!({"standing": "excluded"}),
        Standing::NotThere => json!({"standing": "notThere"}),
    };
    json!({
        "attempt": reason.cycle,
        "selection": reason.selection.map(selection_text),
        "here": reason.here.as_ref().map(standing),
        "there": reason.there.as_ref().map(standing),
    })
}
