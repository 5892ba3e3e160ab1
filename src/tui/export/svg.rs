//! A screen as a picture in SVG 1.1: a grid of characters, drawn by hand, without scripts, fonts or links.
//!
//! Each run of characters that look alike is one `text` with a fixed length, so that columns stay columns in whatever
//! monospaced font the viewer has.

use std::fmt::Write as _;
use std::io::BufRead;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

use super::picture::{Picture, PictureOptions};
use super::{ExportError, Range, ansi, play_range, session_view};
use crate::driver::playback::{Outline, Position};
use crate::driver::session::{RunState, Speed};
use crate::framework::runtime::Registry;
use crate::tui::widgets::text::clean;

/// The sixteen colours that have names, as xterm shows them.
pub(super) const PALETTE: [(u8, u8, u8); 16] = [
    (0, 0, 0),
    (205, 0, 0),
    (0, 205, 0),
    (205, 205, 0),
    (0, 0, 238),
    (205, 0, 205),
    (0, 205, 205),
    (229, 229, 229),
    (127, 127, 127),
    (255, 0, 0),
    (0, 255, 0),
    (255, 255, 0),
    (92, 92, 255),
    (255, 0, 255),
    (0, 255, 255),
    (255, 255, 255),
];

/// The size of a cell, in pixels.
const CELL: (u32, u32) = (9, 18);
/// The size of the characters.
const FONT_SIZE: u32 = 15;
/// Where the characters stand in a row.
const BASELINE: u32 = 14;
/// The room around the screen.
const MARGIN: u32 = 9;

type Rgb = (u8, u8, u8);

/// A picture of a recording at a moment.
///
/// # Errors
/// If the recording cannot be played or has no such moment.
pub fn svg(
    outline: &Outline,
    reader: impl BufRead,
    registry: &Registry,
    at: &Position,
    options: &PictureOptions,
) -> Result<String, ExportError> {
    let range = Range { from: at.clone(), to: at.clone() };
    let mut view = None;
    play_range(outline, reader, registry, &range, &mut |moment| {
        view = Some(session_view(moment, RunState::Paused, Speed::Times(1), &mut 0));
        Ok(())
    })?;
    let Some(view) = view else {
        return Err(ExportError::NoSuchPlace {
            position: at.clone(),
            there: "it ends before that".to_owned(),
        });
    };
    let mut picture = Picture::new(view, options, true);
    Ok(draw(picture.draw(), options, &format!("{} at {at}", clean(&outline.header.source))))
}

/// A buffer as a picture.
pub fn draw(buffer: &Buffer, options: &PictureOptions, title: &str) -> String {
    let (columns, rows) = (u32::from(buffer.area.width), u32::from(buffer.area.height));
    let (width, height) = (columns * CELL.0 + 2 * MARGIN, rows * CELL.1 + 2 * MARGIN);
    let (fg, bg) = options.colors();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"'DejaVu Sans Mono', 'Cascadia Mono', Menlo, Consolas, \
         monospace\" font-size=\"{FONT_SIZE}\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>",
        escape(title),
        hex(bg)
    );
    let (mut grounds, mut texts) = (String::new(), String::new());
    for y in 0..buffer.area.height {
        let runs = runs(buffer, y);
        for run in runs {
            let (run_fg, run_bg) = run.colors(fg, bg);
            let (x, top) = (MARGIN + run.x * CELL.0, MARGIN + u32::from(y) * CELL.1);
            let length = run.columns * CELL.0;
            if run_bg != bg {
                let _ = writeln!(
                    grounds,
                    "<rect x=\"{x}\" y=\"{top}\" width=\"{length}\" height=\"{}\" fill=\"{}\"/>",
                    CELL.1,
                    hex(run_bg)
                );
            }
            if run.text.trim().is_empty() && !run.modifier.contains(Modifier::UNDERLINED) {
                continue;
            }
            let _ = writeln!(
                texts,
                "<text x=\"{x}\" y=\"{}\" textLength=\"{length}\" lengthAdjust=\"spacingAndGlyphs\" \
                 xml:space=\"preserve\" fill=\"{}\"{}>{}</text>",
                top + BASELINE,
                hex(run_fg),
                run.attributes(),
                escape(&run.text)
            );
        }
    }
    out.push_str(&grounds);
    out.push_str(&texts);
    out.push_str("</svg>\n");
    out
}

/// Neighbouring cells that look alike.
struct Run {
    x: u32,
    columns: u32,
    text: String,
    fg: Color,
    bg: Color,
    modifier: Modifier,
}

impl Run {
    fn colors(&self, fg: Rgb, bg: Rgb) -> (Rgb, Rgb) {
        let own = (rgb(self.fg, fg), rgb(self.bg, bg));
        if self.modifier.contains(Modifier::REVERSED) { (own.1, own.0) } else { own }
    }

    fn attributes(&self) -> String {
        let attributes = [
            (Modifier::BOLD, " font-weight=\"bold\""),
            (Modifier::DIM, " opacity=\"0.6\""),
            (Modifier::ITALIC, " font-style=\"italic\""),
            (Modifier::UNDERLINED, " text-decoration=\"underline\""),
            (Modifier::CROSSED_OUT, " text-decoration=\"line-through\""),
        ];
        attributes.iter().filter(|(flag, _)| self.modifier.contains(*flag)).map(|(_, text)| *text).collect()
    }
}

/// The runs of a row. Between words that look alike a run goes on; what is not ASCII stands alone, since another font
/// may have it in another width.
fn runs(buffer: &Buffer, y: u16) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut x = 0;
    while x < buffer.area.width {
        let Some(cell) = buffer.cell((x, y)) else { break };
        let columns = u16::try_from(cell.symbol().width()).unwrap_or(1).max(1);
        let is_alike = |run: &Run| {
            (run.fg, run.bg, run.modifier) == (cell.fg, cell.bg, cell.modifier)
                && kind(run.text.chars().last()) == kind(cell.symbol().chars().next())
                && kind(run.text.chars().last()) != Kind::Other
                && columns == 1
                && cell.symbol().chars().count() == 1
        };
        match runs.last_mut().filter(|run| is_alike(run)) {
            Some(run) => {
                run.text.push_str(cell.symbol());
                run.columns += u32::from(columns);
            }
            None => runs.push(new_run(x, columns, cell)),
        }
        x += columns;
    }
    runs
}

/// Characters of one kind have the same width in any font.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ascii,
    Line,
    Block,
    /// Each of its own.
    Other,
}

fn kind(c: Option<char>) -> Kind {
    match c {
        Some(c) if c.is_ascii() => Kind::Ascii,
        Some('\u{2500}'..='\u{257f}') => Kind::Line,
        Some('\u{2580}'..='\u{259f}') => Kind::Block,
        _ => Kind::Other,
    }
}

fn new_run(x: u16, columns: u16, cell: &Cell) -> Run {
    Run {
        x: u32::from(x),
        columns: u32::from(columns),
        text: cell.symbol().to_owned(),
        fg: cell.fg,
        bg: cell.bg,
        modifier: cell.modifier,
    }
}

fn rgb(color: Color, default: Rgb) -> Rgb {
    match color {
        Color::Reset => default,
        Color::Rgb(r, g, b) => (r, g, b),
        Color::Indexed(index @ 16..=231) => {
            let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
            let n = index - 16;
            (level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        Color::Indexed(index @ 232..) => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
        Color::Indexed(index) => PALETTE.get(usize::from(index)).copied().unwrap_or(default),
        named => PALETTE.get(usize::from(ansi::named_index(named))).copied().unwrap_or(default),
    }
}

fn hex((r, g, b): Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A text as XML has it. What XML 1.0 cannot hold becomes a replacement character.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => {
                out.push(c)
            }
            _ => out.push('\u{fffd}'),
        }
    }
    out
}
