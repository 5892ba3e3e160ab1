//! Opens the console: look, log, keymap, terminal.

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Arc, Mutex};

use anyhow::Context as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use super::args::ConsoleArgs;
use super::settings::SettingsFiles;
use crate::tui::log_lines::LogRing;
use crate::tui::settings::SettingsSource as _;
use crate::tui::widgets::text::clean;
use crate::tui::{TuiError, TuiOptions};

/// What the arguments and the environment say about the console. Everything that can be wrong with them is found
/// here, before the terminal is touched.
pub(super) fn options(args: &ConsoleArgs) -> anyhow::Result<TuiOptions> {
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let var = |name: &str| std::env::var(name).ok();
    let (files, fixed) = SettingsFiles::new(args, &var).map_err(anyhow::Error::msg)?;
    let appearance = files.read().map_err(anyhow::Error::msg)?;
    Ok(TuiOptions {
        appearance,
        source: Some(Arc::new(files)),
        depth: fixed.depth,
        has_mouse: fixed.has_mouse,
        is_plain: args.plain,
        log: LogRing::default(),
    })
}

/// Sends log lines to the console's log pane, and to a file if there is one.
pub(super) fn start_log(args: &ConsoleArgs, ring: &LogRing) -> anyhow::Result<()> {
    let filter = || EnvFilter::try_new(&args.log).with_context(|| format!("--log: {:?}", args.log));
    let file = match &args.log_file {
        None => None,
        Some(path) => {
            let file = OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .with_context(|| format!("--log-file: opening {}", path.display()))?;
            let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(Mutex::new(file));
            Some(layer.with_filter(filter()?))
        }
    };
    tracing_subscriber::registry()
        .with(ring.clone().with_filter(filter()?))
        .with(file)
        .try_init()
        .context("starting the log")
}

/// Sends log lines to standard error, where there is no console.
pub(super) fn start_plain_log(args: &ConsoleArgs) -> anyhow::Result<()> {
    // The client's own lines repeat what is said here.
    let filter = format!("kube_client=off,kube_runtime=off,{}", args.log);
    let filter = EnvFilter::try_new(filter).with_context(|| format!("--log: {:?}", args.log))?;
    let layer = tracing_subscriber::fmt::layer().with_ansi(false).with_writer(|| CleanLines);
    tracing_subscriber::registry().with(layer.with_filter(filter)).try_init().context("starting the log")
}

/// Standard error for lines that may quote a cluster's texts.
struct CleanLines;

impl Write for CleanLines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        writeln!(std::io::stderr(), "{}", clean(text.trim_end_matches('\n')))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

/// An error of the console with what a person can do about it.
pub(super) fn explain(error: &TuiError) -> anyhow::Error {
    let hint = match error {
        TuiError::NotATerminal | TuiError::DumbTerminal => {
            "; `--plain` prints lines of text instead of a screen, and `schedscope run` works without any"
        }
        TuiError::Io(_) => "",
    };
    anyhow::anyhow!("{error}{hint}")
}
