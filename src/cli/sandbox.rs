//! `schedscope sandbox`, and `schedscope` alone: the console on a simulated cluster.

use anyhow::Context as _;

use super::args::{ConsoleArgs, InputArgs, RecordArgs, SandboxArgs};
use super::setup::{self, Purpose, Recording, Setup};
use super::{Main, console, exit, scenario, script};
use crate::driver::session::spawn_sandbox;
use crate::tui::{self, ExitReason, TuiOptions};

/// Opens the console on files, a scenario or a script. The answer is the exit code.
pub(super) fn run_any(args: &SandboxArgs, program: &Main) -> anyhow::Result<u8> {
    let SandboxArgs { input, record, console, scenario, api: _ } = args;
    if let (Some(script), [folder]) = (&scenario.script, input.filenames.as_slice()) {
        return script::show(script, folder, args, program);
    }
    let Some(name) = &scenario.scenario else { return run(input, record, console, program) };
    let options = console::options(console)?;
    let file = scenario::load(name)?;
    let setup = scenario::build(&file, input, record, Purpose::Console, program)?;
    open(setup, options, console)
}

/// Opens the console on files. The answer is the exit code.
pub(super) fn run(
    input: &InputArgs,
    record: &RecordArgs,
    console: &ConsoleArgs,
    program: &Main,
) -> anyhow::Result<u8> {
    // Everything that can be wrong is found before the terminal is touched.
    let options = console::options(console)?;
    let setup = setup::build(input, record, Purpose::Console, program)?;
    open(setup, options, console)
}

fn open(setup: Setup, options: TuiOptions, console: &ConsoleArgs) -> anyhow::Result<u8> {
    tui::check(options.is_plain).map_err(|error| console::explain(&error))?;
    console::start_log(console, &options.log)?;
    for line in &setup.notes {
        tracing::info!(target: "load", "{line}");
    }
    let session = spawn_sandbox(setup.simulator, setup.source, setup.desk).context("starting the session")?;
    let reason = tui::run(session, options).map_err(|error| console::explain(&error));
    // The session has gone with the console, and with it what it had to tell the recorder.
    setup.recorder.map(Recording::finish).transpose()?;
    match reason? {
        ExitReason::Quit | ExitReason::TerminalGone => Ok(exit::OK),
        ExitReason::Signal(number) => Ok(exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))),
    }
}
