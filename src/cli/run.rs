//! `schedscope run`: schedules until nothing moves and prints where each pod went.

use std::io::{IsTerminal as _, Write as _, stdout};

use anyhow::Context as _;
use serde::Serialize;

use super::args::{OutputFormat, RunArgs};
use super::setup::{self, Purpose, Recording};
use super::tables::Form;
use super::{Main, exit, scenario, script, tell};
use crate::api::Duration;
use crate::api::hidden::is_hidden;
use crate::driver::runner::{PodState, RunSummary, run_and_see};
use crate::driver::sandbox::scenario::Scenario;
use crate::driver::sandbox::simulator::Simulator;
use crate::tui::widgets::text;

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/run/v1";

/// Runs and prints. The answer is the exit code.
pub(super) fn run(args: &RunArgs, program: &Main) -> anyhow::Result<u8> {
    if let (Some(script), [folder]) = (&args.scenario.script, args.input.filenames.as_slice()) {
        return script::run(script, folder, args);
    }
    let scenario = args.scenario.scenario.as_deref().map(scenario::load).transpose()?;
    let mut setup = match &scenario {
        Some(file) => scenario::build(file, &args.input, &args.record, Purpose::Result, program)?,
        None => setup::build(&args.input, &args.record, Purpose::Result, program)?,
    };
    for line in &setup.notes {
        tell(line);
    }
    let attempt = scenario.as_ref().map_or(Duration::ZERO, |file| file.plan.attempt);
    // What comes after the end of a scenario is nobody's wish.
    let goes_on = |simulator: &Simulator| !simulator.scenario().is_some_and(Scenario::is_over);
    let summary = run_and_see(&mut setup.simulator, attempt, &mut |simulator, _| goes_on(simulator));
    setup.simulator.finish_recording("at rest");
    setup.recorder.map(Recording::finish).transpose()?;
    let text = match args.output {
        OutputFormat::Table => table(&summary),
        OutputFormat::Json => json(&summary)?,
    };
    print(&text)?;
    if let Some(scenario) = setup.simulator.scenario() {
        let (report, n_failed) = scenario::report(&scenario.plan().name, scenario, Form::Text);
        // What a program reads is the JSON alone.
        match args.output {
            OutputFormat::Table => print(&format!("\n{report}"))?,
            OutputFormat::Json => report.lines().for_each(tell),
        }
        return Ok(if n_failed > 0 { exit::PENDING } else { exit::OK });
    }
    let has_pending = summary.pods.iter().any(|pod| pod.state.is_pending());
    Ok(if has_pending { exit::PENDING } else { exit::OK })
}

/// Writes to standard output; a reader that has had enough is no error.
pub(super) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("writing to standard output"),
    }
}

fn table(summary: &RunSummary) -> String {
    let rows: Vec<[String; 4]> = summary
        .pods
        .iter()
        .map(|pod| {
            let node = pod.node.as_deref().unwrap_or("-").to_owned();
            let message = match &pod.nominated_node {
                Some(nominated) if pod.node.is_none() => {
                    format!("{} (nominated to {nominated})", pod.message)
                }
                _ => pod.message.clone(),
            };
            [visible(&pod.pod.to_string()), visible(&node), pod.state.as_str().to_owned(), visible(&message)]
        })
        .collect();
    let header = ["POD", "NODE", "STATE", "MESSAGE"];
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| text::width(cell));
        cells.chain(header.get(column).map(|title| title.len())).max().unwrap_or(0)
    };
    let widths = [width(0), width(1), width(2), 0];
    let mut table = String::new();
    let mut line = |cells: [&str; 4]| {
        let mut row = String::new();
        for (cell, width) in cells.into_iter().zip(widths) {
            row.push_str(cell);
            // Columns of the terminal, not characters.
            row.push_str(&" ".repeat(2 + width.saturating_sub(text::width(cell))));
        }
        table.push_str(row.trim_end());
        table.push('\n');
    };
    line(header);
    for [a, b, c, d] in &rows {
        line([a, b, c, d]);
    }
    table.push_str(&format!("\n{}\n", closing_line(summary)));
    table
}

/// Bound, pending, evicted, attempts, simulated time, in one line.
fn closing_line(summary: &RunSummary) -> String {
    let count = |wanted: PodState| summary.pods.iter().filter(|pod| pod.state == wanted).count();
    let pending = summary.pods.iter().filter(|pod| pod.state.is_pending()).count();
    let mut text = format!("{} bound, {pending} pending", count(PodState::Bound));
    if !summary.evicted.is_empty() {
        let names: Vec<String> = summary.evicted.iter().map(|key| visible(&key.to_string())).collect();
        text.push_str(&format!(", {} evicted ({})", names.len(), names.join(", ")));
    }
    let simulated = crate::api::Duration::from_millis(summary.simulated_ms);
    let simulated = crate::api::time::human_duration(simulated);
    text.push_str(&format!("; {} attempts, {simulated} simulated", summary.cycles));
    text
}

/// Text from a manifest as a terminal may have it. In a pipe it is the same, so that nobody is surprised later.
fn visible(text: &str) -> String {
    text::clean(text).into_owned()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    schema: &'static str,
    pods: Vec<PodReport<'a>>,
    evicted: Vec<String>,
    attempts: u64,
    simulated_milliseconds: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PodReport<'a> {
    pod: String,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nominated_node: Option<&'a str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
}

fn json(summary: &RunSummary) -> anyhow::Result<String> {
    let report = Report {
        schema: SCHEMA,
        pods: summary
            .pods
            .iter()
            .map(|pod| PodReport {
                pod: pod.pod.to_string(),
                state: pod.state.as_str(),
                node: pod.node.as_deref(),
                nominated_node: pod.nominated_node.as_deref().filter(|_| pod.node.is_none()),
                message: &pod.message,
            })
            .collect(),
        evicted: summary.evicted.iter().map(ToString::to_string).collect(),
        attempts: summary.cycles,
        simulated_milliseconds: summary.simulated_ms,
    };
    json_text(&report)
}

/// JSON as it is printed: with line breaks on a terminal, in one line elsewhere.
pub(super) fn json_text(report: &impl Serialize) -> anyhow::Result<String> {
    let text = if stdout().is_terminal() {
        serde_json::to_string_pretty(report)?
    } else {
        serde_json::to_string(report)?
    };
    Ok(visible_json(&text) + "\n")
}

/// Lines as a terminal may have them.
pub(super) fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// The same JSON with escapes for what a terminal would act on and serde_json leaves as it is.
fn visible_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) && c != '\n' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}
