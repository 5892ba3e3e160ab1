//! The command line: one file per subcommand.
//!
//! Reads files and the terminal's nature, prints, and maps what happened to an exit code. Everything else is the
//! library's.

mod args;
mod config;
mod console;
mod input;
mod run;
mod sandbox;
mod setup;

use std::process::ExitCode;

use clap::Parser;

pub use args::{Cli, Command};

/// Exit codes, as documented in the help text.
mod exit {
    /// All went well.
    pub(super) const OK: u8 = 0;
    /// It went well, but some pods are pending.
    pub(super) const PENDING: u8 = 1;
    /// What was given is wrong.
    pub(super) const WRONG: u8 = 2;
    /// A signal ended it: this plus the signal's number.
    pub(super) const SIGNAL: u8 = 128;
}

/// Parses the command line and does what it says.
///
/// # Errors
/// With the text for a person; the exit code is then 2.
pub fn run() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    let code = match cli.command {
        None => sandbox::run(&args::SandboxArgs::default(), &cli.console)?,
        Some(Command::Sandbox(sandbox)) => sandbox::run(&sandbox, &cli.console)?,
        Some(Command::Run(run)) => run::run(&run)?,
        Some(Command::Config(config)) => config::run(&config)?,
    };
    Ok(ExitCode::from(code))
}
