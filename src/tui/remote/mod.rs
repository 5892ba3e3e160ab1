//! Consoles at a distance: a scheduler that serves draws them, and `schedscope attach` shows them.
//!
//! They speak over a Unix socket. The guest sends a line of JSON about its terminal, then one for each key; the host
//! sends frames: a byte that says what it is, the length in four bytes, the bytes. Everything that a console holds is
//! held by the host, which draws the newest view whenever the guest has taken the frame before: a slow guest sees fewer
//! frames and holds nobody up.

pub mod guest;
pub mod host;

use super::keymap::load::KeymapSource;
use super::theme::library::Themes;
use serde::{Deserialize, Serialize};

/// The version of what is spoken.
pub const PROTOCOL: u32 = 1;

/// What a guest says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// Who it is, for the others.
    pub name: String,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The theme's name.
    pub theme: String,
    /// How many colours there are: `none`, `16`, `256` or `truecolor`.
    pub depth: String,
    /// Whether only ASCII is drawn.
    pub is_ascii: bool,
    /// Whether nothing is lit for a moment.
    pub is_motion_reduced: bool,
    /// The themes that can be chosen.
    pub themes: Themes,
    /// The keys.
    pub keymap: KeymapSource,
    /// Whether the controls are wanted.
    pub wants_controls: bool,
}

/// What a frame of the host is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Bytes for the terminal.
    Draw,
    /// The guest's program is to be stopped.
    Suspend,
    /// The console has ended; the text says why, if it was not asked for.
    End,
}

impl FrameKind {
    /// The byte.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Draw => b'D',
            Self::Suspend => b'S',
            Self::End => b'E',
        }
    }

    /// The kind of that byte.
    pub const fn of(byte: u8) -> Option<Self> {
        match byte {
            b'D' => Some(Self::Draw),
            b'S' => Some(Self::Suspend),
            b'E' => Some(Self::End),
            _ => None,
        }
    }
}
