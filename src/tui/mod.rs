//! The console: panes, overlays, keys, themes and the loop that draws them.
//!
//! It sees the scheduler through [`SessionView`](crate::driver::session::SessionView)s and speaks to it through
//! a [`SessionHandle`]; it decides nothing about scheduling and knows no queue, cache or plugin. ratatui stays
//! inside this module, crossterm inside `terminal`, `event_loop` and `keymap::key`.
//!
//! [`event_loop`] owns clock, terminal and files and hands everything to the [`shell`], which knows none of them.
//! The shell routes keys through the [`keymap`] to [`action`]s, actions to [`overlays`] and [`panes`], and draws
//! them where the [`layout`] says, in the styles of the [`theme`].

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use thiserror::Error;

use crate::driver::session::SessionHandle;
use crate::lessons::Course;

pub mod action;
pub mod changes;
pub mod chrome;
pub mod commands;
pub mod event_loop;
pub mod export;
pub mod keymap;
mod known_commands;
pub mod layout;
pub mod lesson;
pub mod log_lines;
pub mod manifest;
pub mod mistake;
pub mod overlays;
pub mod panes;
pub mod plain;
pub mod remote;
pub mod settings;
pub mod shell;
pub mod signals;
pub mod suggest;
pub mod terminal;
pub mod theme;
pub mod widgets;
mod words;

use log_lines::LogRing;
use settings::{Appearance, SettingsSource};
use shell::{Look, Shell};
use theme::ColorDepth;
use widgets::glyphs::Glyphs;

/// How the console shall be.
#[derive(Clone, Debug)]
pub struct TuiOptions {
    /// Look and keys.
    pub appearance: Appearance,
    /// Where those are read again when files have changed.
    pub source: Option<Arc<dyn SettingsSource>>,
    /// How many colours the terminal shows.
    pub depth: ColorDepth,
    /// Whether the mouse is listened to.
    pub has_mouse: bool,
    /// Whether lines of text are read and printed instead of a screen.
    pub is_plain: bool,
    /// Where the program's own log lines come from.
    pub log: LogRing,
}

impl TuiOptions {
    /// What is right where nobody says otherwise: the dark theme, Unicode, the mouse, the built-in keys.
    pub fn new(depth: ColorDepth) -> Self {
        Self {
            appearance: Appearance::new(depth),
            source: None,
            depth,
            has_mouse: true,
            is_plain: false,
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
    /// The terminal failed. Trying again may help only if the terminal is another one.
    #[error("the terminal failed: {0}")]
    Io(#[from] io::Error),
}

/// Whether there is a terminal that a screen can be drawn on, where one is wanted.
///
/// # Errors
/// If there is none.
pub fn check(is_plain: bool) -> Result<(), TuiError> {
    if is_plain { Ok(()) } else { terminal::check() }
}

/// Opens the console on a session and runs it until it ends. The terminal is given back in every case.
pub fn run(session: SessionHandle, options: TuiOptions) -> Result<ExitReason, TuiError> {
    run_with(session, options, None)
}

/// The same with a course of lessons; the session must stand where its open lesson begins.
pub fn run_with(
    session: SessionHandle,
    options: TuiOptions,
    course: Option<Course>,
) -> Result<ExitReason, TuiError> {
    check(options.is_plain)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let Appearance {
        theme, themes, keymap, is_ascii, is_motion_reduced, layout, own_layout, warnings, ..
    } = options.appearance;
    for warning in warnings {
        tracing::warn!(target: "settings", "{warning}");
    }
    let look = Look {
        settings_theme: Some(theme.name().to_owned()),
        settings_layout: layout.as_ref().map(|(name, _)| name.clone()),
        own_layout,
        theme,
        themes,
        glyphs: Glyphs::new(is_ascii),
        depth: options.depth,
        is_motion_reduced,
    };
    let mut shell = Shell::new(session.view(), look, keymap);
    if let Some((_, layout)) = layout {
        shell.take_layout(layout);
    }
    if let Some(course) = course {
        shell.take_course(course);
    }
    if options.is_plain {
        let is_prompting = io::stdin().is_terminal() && io::stdout().is_terminal();
        let reason = runtime.block_on(plain::run(shell, session, options.log, is_prompting));
        // A read of a line that never comes is not waited for.
        runtime.shutdown_background();
        return match reason {
            // Nobody reads any more, such as `head` in a pipe.
            Err(TuiError::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(ExitReason::TerminalGone)
            }
            reason => reason,
        };
    }
    runtime.block_on(event_loop::run(shell, options.has_mouse, session, options.log, options.source))
}
