//! The console: panes, overlays, keys, themes and the loop that draws them.
//!
//! It sees the scheduler through [`SessionView`](crate::driver::session::SessionView)s and speaks to it through
//! a [`SessionHandle`]; it decides nothing about scheduling and knows no queue, cache or plugin. ratatui stays
//! inside this module, crossterm inside `terminal`, `event_loop` and `keymap::key`.
//!
//! [`event_loop`] owns clock, terminal and files and hands everything to the [`shell`], which knows none of them.
//! The shell routes keys through the [`keymap`] to [`action`]s, actions to [`overlays`] and [`panes`], and draws
//! them where the [`layout`] says, in the styles of the [`theme`].

use std::io;

use thiserror::Error;

use crate::driver::session::SessionHandle;

pub mod action;
pub mod changes;
pub mod chrome;
pub mod commands;
pub mod event_loop;
pub mod export;
pub mod keymap;
mod known_commands;
pub mod layout;
pub mod log_lines;
pub mod manifest;
pub mod overlays;
pub mod panes;
pub mod remote;
pub mod shell;
pub mod signals;
pub mod suggest;
pub mod terminal;
pub mod theme;
pub mod widgets;

use keymap::load::KeymapError;
use log_lines::LogRing;
use shell::{Look, Shell};
use theme::{ColorDepth, Theme};
use widgets::glyphs::Glyphs;

/// How the console shall be.
#[derive(Clone, Debug)]
pub struct TuiOptions {
    /// The theme, converted to `depth`.
    pub theme: Theme,
    /// How many colours the terminal shows.
    pub depth: ColorDepth,
    /// Whether only ASCII is drawn.
    pub is_ascii: bool,
    /// Whether the mouse is listened to.
    pub has_mouse: bool,
    /// A person's own keymap: the file's name and its text.
    pub keymap: Option<(String, String)>,
    /// Whether nothing is lit for a moment.
    pub is_motion_reduced: bool,
    /// Where the program's own log lines come from.
    pub log: LogRing,
}

impl TuiOptions {
    /// What is right where nobody says otherwise: the dark theme, Unicode, the mouse, the built-in keys.
    pub fn new(depth: ColorDepth) -> Self {
        Self {
            theme: Theme::dark(depth),
            depth,
            is_ascii: false,
            has_mouse: true,
            keymap: None,
            is_motion_reduced: false,
            log: LogRing::default(),
        }
    }
}

/// Why the console ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// Somebody quit.
    Quit,
    /// A signal of that number ended it.
    Signal(i32),
    /// The terminal went away.
    TerminalGone,
}

/// Why there is no console. Whatever it is, the terminal is as it was before.
#[derive(Debug, Error)]
pub enum TuiError {
    /// Standard output is no terminal. Something that works in a pipe is what is wanted.
    #[error("standard output is not a terminal")]
    NotATerminal,
    /// The terminal says that it can do nothing (`TERM=dumb`).
    #[error("the terminal can show plain lines only (TERM=dumb)")]
    DumbTerminal,
    /// The keymap file has mistakes.
    #[error("{}", .0.iter().map(KeymapError::to_string).collect::<Vec<_>>().join("\n"))]
    Keymap(Vec<KeymapError>),
    /// The terminal failed. Trying again may help only if the terminal is another one.
    #[error("the terminal failed: {0}")]
    Io(#[from] io::Error),
}

/// Opens the console on a session and runs it until it ends. The terminal is given back in every case.
pub fn run(session: SessionHandle, options: TuiOptions) -> Result<ExitReason, TuiError> {
    let keymap = match &options.keymap {
        None => keymap::load::built_in(),
        Some((file, text)) => keymap::load::with_overrides(file, text).map_err(TuiError::Keymap)?,
    };
    terminal::check()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let look = Look {
        theme: options.theme,
        glyphs: Glyphs::new(options.is_ascii),
        depth: options.depth,
        is_motion_reduced: options.is_motion_reduced,
    };
    let shell = Shell::new(session.view(), look, keymap);
    runtime.block_on(event_loop::run(shell, options.has_mouse, session, options.log))
}
