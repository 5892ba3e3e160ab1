//! `schedscope sandbox`, and `schedscope` alone: the console on a simulated cluster.

use anyhow::Context as _;

use super::args::{ConsoleArgs, InputArgs};
use super::{console, exit, setup};
use crate::driver::session::spawn_sandbox;
use crate::tui::{self, ExitReason, terminal};

/// Opens the console. The answer is the exit code.
pub(super) fn run(input: &InputArgs, console: &ConsoleArgs) -> anyhow::Result<u8> {
    // Everything that can be wrong is found before the terminal is touched.
    let options = console::options(console)?;
    let setup = setup::build(input, true)?;
    terminal::check().map_err(|error| console::explain(&error))?;
    console::start_log(console, &options.log)?;
    for line in &setup.notes {
        tracing::info!(target: "load", "{line}");
    }
    let session = spawn_sandbox(setup.simulator, setup.source).context("starting the session")?;
    match tui::run(session, options).map_err(|error| console::explain(&error))? {
        ExitReason::Quit | ExitReason::TerminalGone => Ok(exit::OK),
        ExitReason::Signal(number) => Ok(exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))),
    }
}
