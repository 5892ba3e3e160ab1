//! `schedscope attach`: the console of a scheduler that serves on this machine.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::serve_args::AttachArgs;
use super::{console, exit, tell};
use crate::tui::remote::guest::{Detached, attach};
use crate::tui::remote::{Hello, PROTOCOL};
use crate::tui::theme::ColorDepth;
use crate::tui::{ExitReason, TuiError, terminal};

/// Shows the console. The answer is the exit code.
pub(super) fn run(args: &AttachArgs) -> anyhow::Result<u8> {
    let options = console::options(&args.console)?;
    let path = socket(args.socket.as_ref())?;
    terminal::check().map_err(|error| anyhow::anyhow!("{error}"))?;
    #[expect(clippy::disallowed_methods, reason = "the command line reads the environment")]
    let user = std::env::var("USER").unwrap_or_else(|_| "somebody".to_owned());
    let hello = Hello {
        protocol: PROTOCOL,
        name: format!("{user} (process {})", std::process::id()),
        size: (0, 0),
        theme: options.appearance.theme.name().to_owned(),
        depth: match options.depth {
            ColorDepth::None => "none",
            ColorDepth::Ansi16 => "16",
            ColorDepth::Ansi256 => "256",
            ColorDepth::TrueColor => "truecolor",
        }
        .to_owned(),
        is_ascii: options.appearance.is_ascii,
        is_motion_reduced: options.appearance.is_motion_reduced,
        themes: options.appearance.themes,
        keymap: options.appearance.keymap_source,
        wants_controls: args.operate,
    };
    let detached = attach(&path, hello, options.has_mouse).map_err(|error| match error {
        TuiError::Io(error) => anyhow::anyhow!(
            "{}: {error}; `schedscope serve --console-socket` opens the socket",
            path.display()
        ),
        other => anyhow::anyhow!("{other}"),
    })?;
    Ok(match detached {
        Detached::Here(ExitReason::Quit | ExitReason::TerminalGone) => exit::OK,
        Detached::Here(ExitReason::Signal(number)) => {
            exit::SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0))
        }
        Detached::There(why) => {
            tell(&why);
            exit::DETACHED
        }
    })
}

/// The socket: the one that is named, else the one in `XDG_RUNTIME_DIR`.
pub(super) fn socket(path: Option<&PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(path) = path {
        return Ok(path.clone());
    }
    match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(folder) if !folder.is_empty() => Ok(Path::new(&folder).join("schedscope/console.sock")),
        _ => bail!("XDG_RUNTIME_DIR is not set: name the socket"),
    }
}
