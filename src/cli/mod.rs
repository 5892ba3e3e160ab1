//! The command line: one file per subcommand.
//!
//! Reads files and the terminal's nature, prints, and maps what happened to an exit code. Everything else is the
//! library's.

mod args;
mod asked;
mod attach;
mod capacity;
mod compare;
mod completions;
mod config;
mod conformance;
mod console;
mod diff;
mod explain;
mod export;
mod fix;
mod generate;
mod import;
mod input;
mod klog;
mod learn;
mod live;
mod man;
mod program;
mod redact;
mod replay;
mod run;
mod sandbox;
mod scenario;
mod script;
mod serve;
mod serve_api;
mod serve_args;
mod settings;
mod setup;
mod tables;
mod whatif;
mod whatif_text;
mod world;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _};

use crate::tui::widgets::text::clean;

pub use args::{Cli, Command, ConformanceCommand};
pub use program::Main;

/// The name by which kubectl finds the program as its plugin.
const PLUGIN: &str = "kubectl-schedscope";

/// Exit codes, as documented in the help text.
mod exit {
    /// All went well.
    pub(super) const OK: u8 = 0;
    /// It went well, but some pods are pending.
    pub(super) const PENDING: u8 = 1;
    /// It went well, and two recordings differ.
    pub(super) const DIFFERENT: u8 = 1;
    /// It went well up to where the recording was cut off.
    pub(super) const CUT: u8 = 1;
    /// The lease of a scheduler that serves was lost.
    pub(super) const LEASE_LOST: u8 = 1;
    /// The instance that a console was attached to has gone.
    pub(super) const DETACHED: u8 = 1;
    /// What was given is wrong.
    pub(super) const WRONG: u8 = 2;
    /// A replay differs from its recording.
    pub(super) const DIFFERS: u8 = 3;
    /// A recording is damaged.
    pub(super) const DAMAGED: u8 = 4;
    /// A signal ended it: this plus the signal's number.
    pub(super) const SIGNAL: u8 = 128;
}

/// Parses the command line and does what it says with the plugins of that program. An error is the text for a person;
/// the exit code is then 2.
fn run<W: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = W>,
    program: &Main,
) -> anyhow::Result<ExitCode> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(words).unwrap_or_else(|error| error.exit());
    let cli =
        Cli::from_arg_matches_mut(&mut matches).unwrap_or_else(|error| error.format(&mut command).exit());
    let code = match cli.command {
        None => {
            sandbox::run(&args::InputArgs::default(), &args::RecordArgs::default(), &cli.console, program)?
        }
        Some(Command::Sandbox(sandbox)) if sandbox.api.is_wanted() => serve_api::run(&sandbox, program)?,
        Some(Command::Sandbox(sandbox)) => sandbox::run_any(&sandbox, program)?,
        Some(Command::Live(live)) => live::run(&live, program)?,
        Some(Command::Serve(serve)) => serve::run(&serve, program)?,
        Some(Command::Attach(attach)) => attach::run(&attach)?,
        Some(Command::Run(run)) => run::run(&run, program)?,
        Some(Command::Explain(explain)) => explain::run(&explain, program)?,
        Some(Command::Fix(fix)) => fix::run(&fix, program)?,
        Some(Command::Capacity(capacity)) => capacity::run(&capacity, program)?,
        Some(Command::Whatif(whatif)) => whatif::run(&whatif, program)?,
        Some(Command::Compare(args)) => compare::run(&args, program)?,
        Some(Command::Generate(args)) => generate::run(&args)?,
        Some(Command::Replay(replay)) => replay::run(&replay, program)?,
        Some(Command::Diff(diff)) => diff::run(&diff, program)?,
        Some(Command::Redact(redact)) => redact::run(&redact, program)?,
        Some(Command::Export(export)) => export::run(&export, program)?,
        Some(Command::Import(import)) => import::run(&import, program)?,
        Some(Command::Config(config)) => config::run(&config, program)?,
        Some(Command::Learn(learn)) => learn::run(&learn, program)?,
        Some(Command::Completions(args)) => completions::run(&args)?,
        Some(Command::Man(args)) => man::run(&args)?,
        Some(Command::Conformance(ConformanceCommand::Decide(decide))) => conformance::decide(&decide)?,
        Some(Command::Conformance(ConformanceCommand::Bench(bench))) => conformance::bench(&bench, program)?,
        Some(Command::Conformance(ConformanceCommand::Run(script))) => conformance::run(&script)?,
    };
    Ok(ExitCode::from(code))
}

/// The command line's grammar, with the name that the program was called by: as a plugin of kubectl, that is
/// `kubectl schedscope`.
fn command() -> clap::Command {
    let program = std::env::args_os().next().unwrap_or_default();
    let is_plugin = Path::new(&program)
        .file_stem()
        .is_some_and(|name| name == PLUGIN || name == PLUGIN.replace('-', "_").as_str());
    let command = Cli::command();
    if is_plugin { command.bin_name(PLUGIN.replacen('-', " ", 1)) } else { command }
}

/// Tells a person something on standard error. What is quoted from files and arguments may hold anything, so it is
/// cleaned; line feeds stay. If nobody can be told, there is nothing to do about it.
pub fn tell(text: &str) {
    let lines: Vec<_> = text.split('\n').map(clean).collect();
    let _ = writeln!(std::io::stderr(), "schedscope: {}", lines.join("\n"));
}
