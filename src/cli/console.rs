//! Opens the console: look, log, keymap, terminal.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Mutex;

use anyhow::{Context as _, bail};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _};

use super::args::{ColorWhen, ConsoleArgs};
use crate::tui::log_lines::LogRing;
use crate::tui::theme::{ColorDepth, Theme};
use crate::tui::widgets::text::clean;
use crate::tui::{TuiError, TuiOptions};

/// What the arguments and the environment say about the console. Everything that can be wrong with them is found
/// here, before the terminal is touched.
pub(super) fn options(args: &ConsoleArgs) -> anyhow::Result<TuiOptions> {
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let var = |name| std::env::var(name).ok();
    let depth = match args.color {
        ColorWhen::Auto => ColorDepth::from_env(
            var("NO_COLOR").as_deref(),
            var("COLORTERM").as_deref(),
            var("TERM").as_deref(),
        ),
        ColorWhen::Never => ColorDepth::None,
        ColorWhen::Ansi16 => ColorDepth::Ansi16,
        ColorWhen::Ansi256 => ColorDepth::Ansi256,
        ColorWhen::Truecolor => ColorDepth::TrueColor,
    };
    let Some(theme) = Theme::built_in(&args.theme, depth) else {
        bail!("--theme: there is no theme {:?}; there are dark and light", args.theme);
    };
    let keymap = match &args.keymap {
        None => None,
        Some(path) => {
            let name = path.display().to_string();
            let text = fs::read_to_string(path).with_context(|| format!("--keymap: reading {name}"))?;
            Some((name, text))
        }
    };
    let is_utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(var)
        .find(|value| !value.is_empty())
        .is_none_or(|value| {
            let value = value.to_ascii_lowercase();
            value.contains("utf-8") || value.contains("utf8")
        });
    Ok(TuiOptions {
        theme,
        depth,
        is_ascii: args.ascii || !is_utf8,
        has_mouse: !args.no_mouse,
        keymap,
        is_motion_reduced: args.reduced_motion,
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
            "; `schedscope run` does the same without a screen"
        }
        TuiError::Keymap(_) | TuiError::Io(_) => "",
    };
    anyhow::anyhow!("{error}{hint}")
}
