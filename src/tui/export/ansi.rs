//! From one screen to the next, as the bytes that a terminal needs.
//!
//! Only what every terminal since the VT220 understands: cursor positions, and SGR with 24-bit or indexed colours.
//! Unlike the console's own output nothing of it depends on the environment.

use std::fmt::Write as _;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// Goes to an empty alternate screen without a cursor.
pub const BEGIN: &str = "\x1b[?1049h\x1b[?25l\x1b[0m\x1b[2J";
/// Goes back to the screen as it was.
pub const END: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// How a cell looks.
type Look = (Color, Color, Modifier);

/// Writes what turns `before` into `after`; nothing if they are equal. Both have the same size.
///
/// What stood under a wide character is written again when that character goes: terminals differ in how they leave it.
pub fn difference(before: &Buffer, after: &Buffer) -> String {
    let mut out = String::new();
    let mut look: Option<Look> = None;
    let mut cursor = None;
    for y in 0..after.area.height {
        // Up to here cells are written whatever they were, and up to here they are covered by a wide one.
        let (mut stale_to, mut covered_to) = (0, 0);
        for x in 0..after.area.width {
            let (Some(old), Some(cell)) = (before.cell((x, y)), after.cell((x, y))) else { continue };
            let is_stale = old != cell || x < stale_to;
            if is_stale {
                stale_to = stale_to.max(x + columns(old).max(columns(cell)));
            }
            if x < covered_to {
                continue;
            }
            covered_to = x + columns(cell);
            if !is_stale {
                continue;
            }
            if cursor != Some((x, y)) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\x1b[{};{}H", y + 1, x + 1);
            }
            let wanted = (cell.fg, cell.bg, cell.modifier);
            if look != Some(wanted) {
                select(&mut out, wanted);
                look = Some(wanted);
            }
            out.push_str(cell.symbol());
            cursor = Some((covered_to, y));
        }
    }
    if !out.is_empty() {
        out.push_str("\x1b[0m");
    }
    out
}

fn columns(cell: &Cell) -> u16 {
    u16::try_from(unicode_width::UnicodeWidthStr::width(cell.symbol())).unwrap_or(1).max(1)
}

fn select(out: &mut String, (fg, bg, modifier): Look) {
    out.push_str("\x1b[0");
    let codes = [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::ITALIC, ";3"),
        (Modifier::UNDERLINED, ";4"),
        (Modifier::REVERSED, ";7"),
        (Modifier::CROSSED_OUT, ";9"),
    ];
    for (_, code) in codes.iter().filter(|(flag, _)| modifier.contains(*flag)) {
        out.push_str(code);
    }
    color(out, fg, 38, 30);
    color(out, bg, 48, 40);
    out.push('m');
}

/// Adds a colour: `wide` introduces one of many, `narrow` is black.
fn color(out: &mut String, color: Color, wide: u8, narrow: u8) {
    match color {
        Color::Reset => {}
        Color::Rgb(r, g, b) => _ = write!(out, ";{wide};2;{r};{g};{b}"),
        Color::Indexed(index) => _ = write!(out, ";{wide};5;{index}"),
        named => {
            let index = named_index(named);
            let code = if index < 8 { narrow + index } else { narrow + 60 + index - 8 };
            let _ = write!(out, ";{code}");
        }
    }
}

/// The number of one of the sixteen colours that have names.
pub(super) const fn named_index(color: Color) -> u8 {
    match color {
        Color::Red => 1,
        Color::Green => 2,
        Color::Yellow => 3,
        Color::Blue => 4,
        Color::Magenta => 5,
        Color::Cyan => 6,
        Color::Gray => 7,
        Color::DarkGray => 8,
        Color::LightRed => 9,
        Color::LightGreen => 10,
        Color::LightYellow => 11,
        Color::LightBlue => 12,
        Color::LightMagenta => 13,
        Color::LightCyan => 14,
        Color::White => 15,
        Color::Black | Color::Reset | Color::Rgb(..) | Color::Indexed(_) => 0,
    }
}
