//! `schedscope sandbox`, and `schedscope` alone: the console on a simulated cluster.

use std::fs::OpenOptions;
use std::sync::Mutex;

use anyhow::Context as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use super::args::{ConsoleArgs, SandboxArgs};
use super::{exit, setup};
use crate::driver::session::spawn_sandbox;
use crate::tui;

/// Opens the console. The answer is the exit code.
pub(super) fn run(args: &SandboxArgs, console: &ConsoleArgs) -> anyhow::Result<u8> {
    // Everything that can be wrong is found before the terminal is touched.
    let options = tui_options(console)?;
    tui::check_terminal()?;
    let setup = setup::build(&args.input, true)?;
    start_log(console, options.log_ring.clone())?;
    for line in setup.report.notes() {
        tracing::info!(target: "load", "{line}");
    }
    let session = spawn_sandbox(setup.simulator, setup.source).context("starting the session")?;
    tui::run(session, options)?;
    Ok(exit::OK)
}
