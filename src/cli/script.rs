//! Scripts of the commands that kube-scheduler's own answers are made with: played and printed, or played into a recording
//! that the console opens on.

use std::io::Cursor;
use std::path::Path;

use anyhow::Context as _;

use super::args::{RunArgs, SandboxArgs, ScriptArgs};
use super::{Main, config, conformance, console, exit};
use crate::api::Str;
use crate::driver::conformance::run::{run_recorded, test_plugins};
use crate::driver::recorder::{Recorder, RecorderOptions};
use crate::driver::replay::RecordedSession;
use crate::driver::session::spawn_replay;
use crate::driver::what_if::Memory;
use crate::recording::Header;
use crate::tui::{self, ExitReason};

/// Plays a script and prints what happened after each command. The answer is the exit code.
pub(super) fn run(script: &Path, folder: &Path, args: &RunArgs) -> anyhow::Result<u8> {
    conformance::run(&ScriptArgs {
        script: script.to_owned(),
        config: args.input.config.clone(),
        gates: args.input.gates.clone(),
        folder: folder.to_owned(),
    })
}

/// Plays a script and opens the console on what happened, which can be left anywhere to go on by hand. The answer is the
/// exit code.
pub(super) fn show(script: &Path, folder: &Path, args: &SandboxArgs, program: &Main) -> anyhow::Result<u8> {
    let options = console::options(&args.console)?;
    let of = ScriptArgs {
        script: script.to_owned(),
        config: args.input.config.clone(),
        gates: args.input.gates.clone(),
        folder: folder.to_owned(),
    };
    let sources = conformance::script_sources(&of)?;
    let text = config::read_file(script)?.text;
    let read_file = |name: &str| {
        config::read_file(&folder.join(name)).map(|source| source.text).map_err(|error| format!("{error:#}"))
    };
    let memory = Memory::default();
    let mut recorder = None;
    let mut wrong = None;
    let name = script.file_name().map_or_else(|| "script".to_owned(), |it| it.to_string_lossy().into_owned());
    let played = run_recorded(&sources, &text, &read_file, &mut |_| {}, &mut |config, options, start| {
        let started =
            Header::new(config, options, start, &name).map_err(anyhow::Error::from).and_then(|header| {
                let sink = Box::new(memory.clone());
                Ok(Recorder::start(sink, &header, RecorderOptions::default())?)
            });
        match started {
            Ok((started, tap)) => {
                recorder = Some(started);
                Some(tap)
            }
            Err(error) => {
                wrong = Some(error);
                None
            }
        }
    });
    if let Some(error) = wrong {
        return Err(error.context("what happens cannot be kept"));
    }
    played?;
    if let Some(recorder) = recorder {
        recorder.finish()?;
    }
    tui::check(options.is_plain).map_err(|error| console::explain(&error))?;
    let session = RecordedSession::read(Cursor::new(memory.take())).context("reading what happened")?;
    let mut registry = program.registry().clone();
    test_plugins::register(&mut registry, &test_plugins::Calls::default())?;
    console::start_log(&args.console, &options.log)?;
    let handle = spawn_replay(&session, &registry, Str::from(name)).context("starting the session")?;
    match tui::run(handle, options).map_err(|error| console::explain(&error))? {
        ExitReason::Quit | ExitReason::TerminalGone => Ok(exit::OK),
        ExitReason::Signal(number) => Ok(exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))),
    }
}
