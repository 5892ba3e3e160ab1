//! `schedscope replay`: a recording on the screen, or compared without one.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;

use super::args::{ConsoleArgs, OutputFormat, ReplayArgs};
use super::run::print;
use super::{Main, console, exit, tell};
use crate::api::Str;
use crate::driver::replay::RecordedSession;
use crate::driver::replay::bundled::{self, BUNDLED, Bundled};
use crate::driver::session::spawn_replay;
use crate::recording::{CheckReport, Divergence, ReadError, ReplayError, check};
use crate::tui::{self, ExitReason, TuiError};

/// The version of the JSON form.
const SCHEMA: &str = "schedscope.dev/replay-check/v1";

/// A recording that can be opened again and again.
#[derive(Clone, Debug)]
pub(super) enum Recorded {
    File(PathBuf),
    Bundled(&'static Bundled),
}

impl Recorded {
    /// The one that is meant: a file, or one that comes with the program.
    pub(super) fn find(name: &Path) -> Result<Self, String> {
        if name.exists() {
            return Ok(Self::File(name.to_owned()));
        }
        match name.to_str().and_then(bundled::find) {
            Some(found) => Ok(Self::Bundled(found)),
            None => Err(format!(
                "{}: there is no such file, and no recording of that name comes with the program",
                name.display()
            )),
        }
    }

    pub(super) fn open(&self) -> Result<Box<dyn BufRead>, ReadError> {
        Ok(match self {
            Self::File(path) => Box::new(BufReader::new(File::open(path)?)),
            Self::Bundled(bundled) => Box::new(bundled.bytes),
        })
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::File(path) => match path.file_name() {
                Some(name) => name.to_string_lossy().into_owned(),
                None => path.display().to_string(),
            },
            Self::Bundled(bundled) => bundled.name.to_owned(),
        }
    }
}

/// Opens the console on a recording, or compares it. The answer is the exit code.
pub(super) fn run(args: &ReplayArgs, program: &Main) -> anyhow::Result<u8> {
    if args.record.is_some() {
        tell(
            "--record: a replay is a recording already; what goes on from it is recorded in the console, with :record \
             after :leave or a change",
        );
        return Ok(exit::WRONG);
    }
    let Some(file) = &args.file else {
        print(&list())?;
        return Ok(exit::OK);
    };
    let recorded = match Recorded::find(file) {
        Ok(recorded) => recorded,
        Err(said) => {
            tell(&format!("{said}\n{}", list().trim_end()));
            return Ok(exit::WRONG);
        }
    };
    if args.check { compare(args, &recorded, program) } else { show(&args.console, &recorded, program) }
}

/// The recordings that come with the program.
fn list() -> String {
    let mut text = "Recordings that come with the program, for `schedscope replay NAME`:\n".to_owned();
    for bundled in BUNDLED {
        text.push_str(&format!("  {:18} {}\n", bundled.name, bundled.about));
    }
    text
}

/// The console.
fn show(args: &ConsoleArgs, recorded: &Recorded, program: &Main) -> anyhow::Result<u8> {
    // Everything that can be wrong is found before the terminal is touched.
    let options = console::options(args)?;
    tui::check(options.is_plain).map_err(|error| explain(&error))?;
    let session = recorded.open().and_then(RecordedSession::read).with_context(|| recorded.name())?;
    console::start_log(args, &options.log)?;
    let source = Str::from(recorded.name());
    let handle = spawn_replay(&session, program.registry(), source).with_context(|| recorded.name())?;
    drop(session);
    match tui::run(handle, options).map_err(|error| explain(&error))? {
        ExitReason::Quit | ExitReason::TerminalGone => Ok(exit::OK),
        ExitReason::Signal(number) => Ok(exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))),
    }
}

/// An error of the console with what a person can do about it.
fn explain(error: &TuiError) -> anyhow::Error {
    match error {
        TuiError::NotATerminal | TuiError::DumbTerminal => {
            anyhow::anyhow!("{error}; `schedscope replay --check` compares without a screen")
        }
        TuiError::Io(_) => console::explain(error),
    }
}

/// Plays, compares and prints.
fn compare(args: &ReplayArgs, recorded: &Recorded, program: &Main) -> anyhow::Result<u8> {
    let mut open = || recorded.open();
    let mut report = CheckReport::default();
    let outcome = check(&mut open, program.registry(), &mut report);
    let (code, word) = match &outcome {
        Ok(()) => (exit::OK, "equal"),
        Err(ReplayError::Read(ReadError::Cut { .. })) => (exit::CUT, "cut"),
        Err(ReplayError::Diverged(_) | ReplayError::RewindAhead { .. }) => (exit::DIFFERS, "differs"),
        Err(ReplayError::Read(ReadError::Damaged { .. })) => (exit::DAMAGED, "damaged"),
        Err(ReplayError::Header(_) | ReplayError::Read(_)) => (exit::WRONG, "unreadable"),
    };
    let file = args.file.as_deref().unwrap_or(Path::new("")).display();
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
    } else if report.lines > 0 {
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
