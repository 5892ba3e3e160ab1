//! The console without a terminal: a size, a look, keys that are pressed first, and a buffer to draw into.

use std::sync::Arc;
use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Color;

use crate::driver::session::SessionView;
use crate::tui::keymap::{self, Key};
use crate::tui::shell::{Look, Shell};
use crate::tui::theme::{Role, Theme, Variant};

/// How the console is drawn.
#[derive(Clone, Debug)]
pub struct PictureOptions {
    /// Columns.
    pub columns: u16,
    /// Rows.
    pub rows: u16,
    /// The theme.
    pub theme: Theme,
    /// Whether only ASCII is drawn.
    pub is_ascii: bool,
    /// What is pressed before the first picture, such as `3` for the third pane.
    pub keys: Vec<Key>,
}

impl PictureOptions {
    /// Text and ground where a cell has none of its own.
    pub(super) fn colors(&self) -> ((u8, u8, u8), (u8, u8, u8)) {
        let style = self.theme.style(Role::Screen);
        let rgb = |color: Option<Color>| match color {
            Some(Color::Rgb(r, g, b)) => Some((r, g, b)),
            _ => None,
        };
        let (fg, bg) = match self.theme.variant() {
            Variant::Dark => ((0xd0, 0xd0, 0xd0), (0x14, 0x16, 0x1a)),
            Variant::Light => ((0x20, 0x20, 0x20), (0xff, 0xff, 0xff)),
        };
        (rgb(style.fg).unwrap_or(fg), rgb(style.bg).unwrap_or(bg))
    }
}

/// A console that is drawn off-screen.
pub(super) struct Picture {
    shell: Shell,
    buffer: Buffer,
    keys: Vec<Key>,
}

impl Picture {
    pub(super) fn new(view: SessionView, options: &PictureOptions, is_motion_reduced: bool) -> Self {
        let look = Look { is_motion_reduced, ..Look::new(options.theme.clone(), options.is_ascii) };
        let shell = Shell::new(Arc::new(view), look, keymap::load::built_in());
        let buffer = Buffer::empty(Rect::new(0, 0, options.columns, options.rows));
        Self { shell, buffer, keys: options.keys.clone() }
    }

    /// Takes a newer view, at a time of the console's own clock.
    pub(super) fn show(&mut self, view: SessionView, now: Duration) {
        self.shell.set_now(now);
        self.shell.on_view(Arc::new(view));
    }

    /// Lets time pass.
    pub(super) fn wait(&mut self, now: Duration) {
        self.shell.set_now(now);
    }

    /// When the screen changes by itself next.
    pub(super) fn deadline(&self) -> Option<Duration> {
        self.shell.deadline()
    }

    /// Draws. Keys are pressed once the console has been drawn for the first time, as panes then know their sizes;
    /// what they ask of the session is not done.
    pub(super) fn draw(&mut self) -> &Buffer {
        self.shell.draw(&mut self.buffer);
        for key in std::mem::take(&mut self.keys) {
            self.shell.on_key(key);
            self.shell.draw(&mut self.buffer);
        }
        &self.buffer
    }
}
