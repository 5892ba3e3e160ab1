//! The bytes that reach a terminal, read back by a terminal: what it shows is what was drawn.

use std::io::Write;

use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use schedscope::tui::keymap::Key;
use schedscope::tui::keymap::key::Code;
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::{session, shell};

const WIDTH: u16 = 120;
const HEIGHT: u16 = 36;

fn drawn(theme: Theme) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, WIDTH, HEIGHT));
    let mut shell = shell(session(9), theme, false);
    // The palette lies over the panes: everything that the console draws is on the screen.
    shell.on_key(Key::plain(Code::Char(':')));
    shell.draw(&mut buf);
    buf
}

/// What a terminal shows after the bytes of a frame.
fn shown(buf: &Buffer) -> vt100::Parser {
    let mut bytes = Vec::new();
    let mut backend = CrosstermBackend::new(&mut bytes);
    let empty = Buffer::empty(buf.area);
    backend.draw(empty.diff(buf).into_iter()).expect("writing to memory");
    Write::flush(&mut backend).expect("writing to memory");
    let size = |length| std::num::NonZero::new(length).expect("a screen is not empty");
    let mut parser = vt100::Parser::new(size(HEIGHT), size(WIDTH), 0);
    parser.process(&bytes);
    parser
}

fn color(color: Color) -> vt100::Color {
    use vt100::Color::{Default, Idx, Rgb};
    match color {
        Color::Reset => Default,
        Color::Black => Idx(0),
        Color::Red => Idx(1),
        Color::Green => Idx(2),
        Color::Yellow => Idx(3),
        Color::Blue => Idx(4),
        Color::Magenta => Idx(5),
        Color::Cyan => Idx(6),
        Color::Gray => Idx(7),
        Color::DarkGray => Idx(8),
        Color::LightRed => Idx(9),
        Color::LightGreen => Idx(10),
        Color::LightYellow => Idx(11),
        Color::LightBlue => Idx(12),
        Color::LightMagenta => Idx(13),
        Color::LightCyan => Idx(14),
        Color::White => Idx(15),
        Color::Indexed(index) => Idx(index),
        Color::Rgb(r, g, b) => Rgb(r, g, b),
    }
}

fn compare(name: &str, buf: &Buffer) {
    let terminal = shown(buf);
    for position in buf.area.positions() {
        let ours: &Cell = &buf[position];
        let theirs = terminal.screen().cell(position.y, position.x).expect("a cell of the screen");
        if theirs.is_wide_continuation() {
            continue;
        }
        let at = format!("{name} at {position}: {ours:?}");
        let symbol = if theirs.contents().is_empty() { " " } else { theirs.contents() };
        assert_eq!(symbol, ours.symbol(), "{at}");
        assert_eq!(theirs.fgcolor(), color(ours.fg), "{at}");
        assert_eq!(theirs.bgcolor(), color(ours.bg), "{at}");
        let modifiers = [
            (Modifier::BOLD, theirs.bold()),
            (Modifier::DIM, theirs.dim()),
            (Modifier::ITALIC, theirs.italic()),
            (Modifier::UNDERLINED, theirs.underline()),
            (Modifier::REVERSED, theirs.inverse()),
        ];
        for (modifier, is_on) in modifiers {
            assert_eq!(is_on, ours.modifier.contains(modifier), "{modifier:?} of {at}");
        }
    }
}

#[test]
fn a_terminal_shows_what_was_drawn_at_every_depth_of_colour() {
    crossterm::style::force_color_output(true);
    for depth in [ColorDepth::TrueColor, ColorDepth::Ansi256, ColorDepth::Ansi16, ColorDepth::None] {
        compare(&format!("dark at {depth:?}"), &drawn(Theme::dark(depth)));
        compare(&format!("light at {depth:?}"), &drawn(Theme::light(depth)));
    }
    // What NO_COLOR does to crossterm: without colours nothing may depend on it.
    crossterm::style::force_color_output(false);
    let buf = drawn(Theme::mono());
    assert!(
        buf.content().iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)),
        "a selection is visible"
    );
    compare("mono under NO_COLOR", &buf);
    crossterm::style::force_color_output(true);
}
