//! `schedscope whatif`: what would be if the cluster changed.

use std::path::Path;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::asked::{Asked, AskedArgs};
use super::run::{json_text, print};
use super::tables::Form;
use super::{Main, config, exit, whatif_text};
use crate::driver::outlook::run::Progress;
use crate::driver::outlook::what_if::{PodChange, PodLost, Totals, WhatIf, what_if};
use crate::driver::sandbox::words::{self, FORMS};

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/whatif/v1";

/// `schedscope whatif`.
#[derive(Clone, Debug, Args)]
#[command(
    after_help = after_help(),
)]
pub struct WhatIfArgs {
    /// The changes, one after the other, such as: drain node-1 scale deployment/web 5
    #[arg(value_name = "CHANGE", required = true, num_args = 1..)]
    pub words: Vec<String>,
    /// How it is printed
    #[arg(short = 'o', long, value_enum, default_value_t = ReportFormat::Text)]
    pub output: ReportFormat,
    /// Where.
    #[command(flatten)]
    pub asked: AskedArgs,
}

/// The changes with what they do, and the exit codes.
fn after_help() -> String {
    let mut text = "Changes:\n".to_owned();
    for (form, about) in FORMS {
        text.push_str(&format!("  {form:38} {about}\n"));
    }
    text.push_str(
        "\nWithout -f, --live or --rec the embedded sample is asked. The scheduler runs on copies, until nothing moves: once \
         as the cluster is and once with the changes. Nothing is written to any cluster.\n\n\
         Exit codes: 0 no pod is worse off; 1 pods no longer fit, are lost or evicted, or are held by disruption \
         budgets; 2 wrong input.",
    );
    text
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For a terminal.
    Text,
    /// For programs.
    Json,
    /// For an issue or a chat.
    Markdown,
}

/// Reads a file that a change names.
pub(super) fn read_file(name: &str) -> Result<String, String> {
    config::read_file(Path::new(name)).map(|source| source.text).map_err(|error| format!("{error:#}"))
}

/// Asks and prints. The answer is the exit code.
pub(super) fn run(args: &WhatIfArgs, program: &Main) -> anyhow::Result<u8> {
    // `--` or quotes may have kept words together.
    let split: Vec<&str> = args.words.iter().flat_map(|word| word.split_whitespace()).collect();
    let edits = words::parse(&split, &read_file).map_err(anyhow::Error::msg)?;
    let mut asked = Asked::find(&args.asked, program)?;
    asked.simulator.leave_recording();
    let answer = what_if(&asked.simulator, &edits, &Progress::default())?;
    let text = match args.output {
        ReportFormat::Text => whatif_text::render(&answer, Form::Text),
        ReportFormat::Markdown => whatif_text::render(&answer, Form::Markdown),
        ReportFormat::Json => json_text(&document(&answer))?,
    };
    print(&text)?;
    Ok(if is_worse(&answer) { exit::PENDING } else { exit::OK })
}

fn is_worse(answer: &WhatIf) -> bool {
    !(answer.stuck.is_empty()
        && answer.lost.is_empty()
        && answer.evicted.is_empty()
        && answer.held.is_empty()
        && answer.budgets.is_empty())
}

fn document(answer: &WhatIf) -> Value {
    let changes = |list: &[PodChange]| list.iter().map(change).collect::<Vec<_>>();
    let lost = |list: &[PodLost]| {
        let one = |lost: &PodLost| json!({"pod": lost.pod.to_string(), "node": lost.node.as_deref()});
        list.iter().map(one).collect::<Vec<_>>()
    };
    let budgets = answer.budgets.iter().map(|budget| {
        let evicted: Vec<String> = budget.evicted.iter().map(ToString::to_string).collect();
        json!({"budget": budget.budget.to_string(), "allowed": budget.allowed, "evicted": evicted})
    });
    let held = answer
        .held
        .iter()
        .map(|held| json!({"pod": held.pod.to_string(), "node": &*held.node, "cause": held.cause}));
    let [before, after] = &answer.totals;
    json!({
        "schema": SCHEMA,
        "changes": answer.changes,
        "said": answer.said,
        "noLongerFit": changes(&answer.stuck),
        "moved": changes(&answer.moved),
        "newlyPlaced": changes(&answer.freed),
        "added": changes(&answer.added),
        "lost": lost(&answer.lost),
        "goneWithNode": lost(&answer.with_node),
        "evicted": lost(&answer.evicted),
        "held": held.collect::<Vec<_>>(),
        "budgets": budgets.collect::<Vec<_>>(),
        "same": answer.n_same,
        "before": totals_document(before),
        "after": totals_document(after),
    })
}

fn change(change: &PodChange) -> Value {
    json!({
        "pod": change.pod.to_string(),
        "insteadOf": change.instead_of.as_ref().map(ToString::to_string),
        "before": change.before.as_deref(),
        "after": change.after.as_deref(),
        "priority": change.priority,
        "message": change.message,
    })
}

/// An outcome in numbers.
pub(super) fn totals_document(totals: &Totals) -> Value {
    let millis = |duration: crate::api::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let measures = &totals.measures;
    let resources = measures.resources.iter().map(|resource| {
        json!({
            "resource": &*resource.resource,
            "requested": resource.requested,
            "allocatable": resource.allocatable,
            "meanPermille": resource.mean,
            "deviationPermille": resource.deviation,
            "highestPermille": resource.highest,
        })
    });
    let hole = measures.largest_hole.map(|(cpu, memory)| json!({"milliCpu": cpu, "memoryBytes": memory}));
    json!({
        "placed": totals.placed,
        "pending": totals.pending,
        "preempted": totals.preempted,
        "attempts": totals.attempts.0,
        "failedAttempts": totals.attempts.1,
        "simulatedMilliseconds": millis(totals.simulated),
        "waits": {
            "pods": totals.waits.n,
            "p50Milliseconds": millis(totals.waits.p50),
            "p90Milliseconds": millis(totals.waits.p90),
            "p99Milliseconds": millis(totals.waits.p99),
            "maxMilliseconds": millis(totals.waits.max),
        },
        "nodes": measures.nodes,
        "emptyNodes": measures.empty_nodes,
        "resources": resources.collect::<Vec<_>>(),
        "largestHole": hole,
        "freeMilliCpu": measures.free.0,
        "freeMemoryBytes": measures.free.1,
        "strandedMilliCpu": measures.stranded.0,
        "strandedMemoryBytes": measures.stranded.1,
        "fragmentationPermille": measures.fragmentation(),
    })
}
