//! `schedscope replay --check`: plays a recording without a screen and compares everything.

use std::fs::File;
use std::io::BufReader;

use serde::Serialize;

use super::args::{OutputFormat, ReplayArgs};
use super::run::print;
use super::{exit, tell};
use crate::plugins::registry::in_tree_registry;
use crate::recording::{CheckReport, Divergence, ReadError, ReplayError, check};

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/replay-check/v1";

/// Plays, compares and prints. The answer is the exit code.
pub(super) fn run(args: &ReplayArgs) -> anyhow::Result<u8> {
    let mut open = || Ok(BufReader::new(File::open(&args.file)?));
    let mut report = CheckReport::default();
    let outcome = check(&mut open, &in_tree_registry(), &mut report);
    let (code, word) = match &outcome {
        Ok(()) => (exit::OK, "equal"),
        Err(ReplayError::Read(ReadError::Cut { .. })) => (exit::CUT, "cut"),
        Err(ReplayError::Diverged(_) | ReplayError::RewindAhead { .. }) => (exit::DIFFERS, "differs"),
        Err(ReplayError::Read(ReadError::Damaged { .. })) => (exit::DAMAGED, "damaged"),
        Err(ReplayError::Header(_) | ReplayError::Read(_)) => (exit::WRONG, "unreadable"),
    };
    let file = args.file.display();
    if let Err(error) = &outcome {
        tell(&format!("{file}: {error}"));
    }
    match args.output {
        OutputFormat::Table if code == exit::WRONG => {}
        OutputFormat::Table => print(&format!("{}\n", line(&report, word)))?,
        OutputFormat::Json => {
            let found = Report::new(&report, word, outcome.as_ref().err());
            print(&format!("{}\n", serde_json::to_string(&found)?))?;
        }
    }
    Ok(code)
}

/// What was found, in one line.
fn line(report: &CheckReport, word: &str) -> String {
    let mut text = format!("{word}: {} inputs", report.inputs);
    if report.compares_digests {
        text.push_str(&format!(", {} comparisons of the whole state", report.digests));
    } else {
        text.push_str(", decisions alone compared, since states are digested in another way in this version");
    }
    match &report.end {
        Some(reason) => text.push_str(&format!("; the recording ends: {reason}")),
        None => text.push_str("; the recording has no end"),
    }
    text
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    schema: &'static str,
    result: &'static str,
    lines: u64,
    inputs: u64,
    state_comparisons: u64,
    rewinds: u64,
    marks: u64,
    last_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    divergence: Option<DivergenceReport>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DivergenceReport {
    input: u64,
    component: String,
    recorded: String,
    found: String,
    equal_after_input: u64,
}

impl<'a> Report<'a> {
    fn new(report: &'a CheckReport, result: &'static str, error: Option<&ReplayError>) -> Self {
        let divergence = match error {
            Some(ReplayError::Diverged(divergence)) => Some(divergence.into()),
            _ => None,
        };
        Self {
            schema: SCHEMA,
            result,
            lines: report.lines,
            inputs: report.inputs,
            state_comparisons: report.digests,
            rewinds: report.rewinds,
            marks: report.marks,
            last_time: report.last.to_rfc3339_nanos(),
            end: report.end.as_deref(),
            error: error.map(ToString::to_string),
            divergence,
        }
    }
}

impl From<&Divergence> for DivergenceReport {
    fn from(divergence: &Divergence) -> Self {
        match divergence {
            Divergence::Decision { input, recorded, found_check, .. } => {
                let text =
                    |check: &Option<u32>| check.map(|check| format!("{check:08x}")).unwrap_or_default();
                Self {
                    input: *input,
                    component: "decisions".to_owned(),
                    recorded: text(recorded),
                    found: text(found_check),
                    equal_after_input: input - 1,
                }
            }
            Divergence::Component { input, component, recorded, found, since, .. } => Self {
                input: *input,
                component: component.clone(),
                recorded: format!("{recorded:016x}"),
                found: format!("{found:016x}"),
                equal_after_input: *since,
            },
            Divergence::Count { recorded, found } => Self {
                input: *found,
                component: "inputs".to_owned(),
                recorded: recorded.to_string(),
                found: found.to_string(),
                equal_after_input: *found,
            },
        }
    }
}
