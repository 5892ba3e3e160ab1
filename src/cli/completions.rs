//! `schedscope completions`: what a shell offers when a person presses tab.

use std::io::Write as _;

use clap::CommandFactory as _;

use super::args::{Cli, CompletionsArgs};
use super::exit;

/// Prints the completions of a shell. The answer is the exit code.
pub(super) fn run(args: &CompletionsArgs) -> anyhow::Result<u8> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "schedscope", &mut text);
    std::io::stdout().write_all(&text)?;
    Ok(exit::OK)
}
