//! The one way of text from a cluster or a file to the screen.
//!
//! Such text may hold anything: escape sequences, characters that turn the direction of reading, characters that
//! nobody sees. [`clean`] shows all of them as escapes. Everything else here counts in columns and never cuts a
//! character that a person sees as one.

use std::borrow::Cow;
use std::fmt::Write;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::glyphs::Glyphs;
use crate::api::hidden::is_hidden;

/// How many marks may stand on one character.
const MAX_MARKS: usize = 3;

/// The text with every control, direction-turning and invisible character shown as an escape such as `\n`,
/// `\x1b` or `\u{202e}`.
pub fn clean(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        let stands_alone = grapheme.width() == 0;
        for (position, c) in grapheme.chars().enumerate() {
            if stands_alone || is_hidden(c) || position > MAX_MARKS {
                escape(c, &mut out);
            } else {
                out.push(c);
            }
        }
    }
    Cow::Owned(out)
}

fn escape(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a String cannot fail.
        c if u32::from(c) < 0x100 => drop(write!(out, "\\x{:02x}", u32::from(c))),
        c => drop(write!(out, "\\u{{{:x}}}", u32::from(c))),
    }
}

/// How many columns a cleaned text takes.
pub fn width(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, 0x20..=0x7e)) { text.len() } else { text.width() }
}

/// The text in at most `columns` columns; what is cut off is replaced by the ellipsis.
pub fn truncate<'t>(text: &'t str, columns: usize, glyphs: &Glyphs) -> Cow<'t, str> {
    if text.width() <= columns {
        return Cow::Borrowed(text);
    }
    if columns == 0 {
        return Cow::Borrowed("");
    }
    let room = columns - glyphs.ellipsis.width().min(columns);
    let mut out = String::new();
    out.push_str(prefix(text, room));
    out.push_str(glyphs.ellipsis);
    Cow::Owned(out)
}

/// The longest beginning of the text that takes at most `columns` columns.
pub fn prefix(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme.width();
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// The text cut or padded to exactly `columns` columns, at the right end of them.
pub fn right(text: &str, columns: usize, glyphs: &Glyphs) -> String {
    let cut = truncate(text, columns, glyphs);
    let mut out = " ".repeat(columns.saturating_sub(cut.width()));
    out.push_str(&cut);
    out
}

/// The text cut or padded to exactly `columns` columns, at the left end of them.
pub fn left(text: &str, columns: usize, glyphs: &Glyphs) -> String {
    let mut out = truncate(text, columns, glyphs).into_owned();
    out.push_str(&" ".repeat(columns.saturating_sub(out.width())));
    out
}

/// Breaks a text into cleaned lines of at most `columns` columns, at blanks where it can. Line feeds of the text
/// stay.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let paragraph = clean(paragraph.strip_suffix('\r').unwrap_or(paragraph));
        let mut line = String::new();
        let mut used = 0;
        for word in words(&paragraph) {
            let word_width = word.width();
            if used + word_width <= columns {
                line.push_str(word);
                used += word_width;
                continue;
            }
            if used > 0 {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
                used = 0;
            }
            let mut rest = if word.trim().is_empty() { "" } else { word };
            while rest.width() > columns {
                let head = prefix(rest, columns);
                // A character wider than the whole line goes on a line of its own.
                let head = if head.is_empty() { rest.graphemes(true).next().unwrap_or(rest) } else { head };
                lines.push(head.to_owned());
                rest = &rest[head.len()..];
            }
            line.push_str(rest);
            used += rest.width();
        }
        lines.push(line.trim_end().to_owned());
    }
    lines
}

/// Words and the blanks between them, by turns.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_blank = rest.chars().next()?.is_whitespace();
        let end = rest.find(|c: char| c.is_whitespace() != is_blank).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// A span of text from outside, cleaned.
pub fn span(text: impl AsRef<str>, style: impl Into<Style>) -> Span<'static> {
    Span::styled(clean(text.as_ref()).into_owned(), style.into())
}

/// Writes a text, cleaned and cut to `max_width` columns. Returns the column after it. Nothing is written outside
/// of the buffer.
pub fn put(
    buf: &mut Buffer,
    x: u16,
    y: u16,
    max_width: u16,
    text: &str,
    style: Style,
    glyphs: &Glyphs,
) -> u16 {
    let room = room(buf, x, y, max_width);
    if room == 0 {
        return x;
    }
    let text = clean(text);
    let cut = truncate(&text, usize::from(room), glyphs);
    buf.set_stringn(x, y, &cut, usize::from(room), style).0
}

/// Writes a line of spans, which must be clean already, cut to `max_width` columns. Returns the column after it.
pub fn put_line(buf: &mut Buffer, x: u16, y: u16, max_width: u16, line: &Line<'_>, glyphs: &Glyphs) -> u16 {
    let room = room(buf, x, y, max_width);
    let is_cut = line.width() > usize::from(room);
    let mut rest =
        if is_cut { usize::from(room).saturating_sub(glyphs.ellipsis.width()) } else { usize::from(room) };
    let mut at = x;
    for span in &line.spans {
        let style = line.style.patch(span.style);
        let head = prefix(&span.content, rest);
        at = buf.set_stringn(at, y, head, rest, style).0;
        rest -= head.width().min(rest);
        if head.len() < span.content.len() {
            return buf.set_stringn(at, y, glyphs.ellipsis, usize::from(room), style).0;
        }
    }
    at
}

fn room(buf: &Buffer, x: u16, y: u16, max_width: u16) -> u16 {
    let area = buf.area.intersection(Rect::new(x, y, max_width, 1));
    if area.is_empty() || area.x != x { 0 } else { area.width }
}

#[cfg(test)]
mod tests {
    use super::super::glyphs::{ASCII, UNICODE};
    use super::*;

    #[test]
    fn plain_text_is_not_copied() {
        assert!(matches!(clean("shop/cart-5: 0/12 nodes are available"), Cow::Borrowed(_)));
        assert_eq!(clean("Grüße, 世界 é"), "Grüße, 世界 é");
    }

    #[test]
    fn what_could_steer_the_terminal_is_shown() {
        assert_eq!(clean("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
        assert_eq!(clean("a\r\nb\tc"), "a\\r\\nb\\tc");
        assert_eq!(clean("\u{9b}2J"), "\\x9b2J");
        assert_eq!(clean("\u{7f}"), "\\x7f");
    }

    #[test]
    fn what_turns_the_direction_or_cannot_be_seen_is_shown() {
        assert_eq!(clean("user\u{202e}txt.exe"), "user\\u{202e}txt.exe");
        assert_eq!(clean("a\u{2066}b\u{2069}"), "a\\u{2066}b\\u{2069}");
        assert_eq!(clean("a\u{200b}b\u{feff}"), "a\\u{200b}b\\u{feff}");
        assert_eq!(clean("a\u{ad}b"), "a\\xadb");
        assert_eq!(clean("\u{e0041}"), "\\u{e0041}");
    }

    #[test]
    fn marks_stay_on_their_letters_but_do_not_pile_up() {
        assert_eq!(clean("e\u{301}"), "e\u{301}");
        assert_eq!(clean("\u{301}e"), "\\u{301}e");
        assert_eq!(clean("e\u{301}\u{302}\u{303}\u{304}"), "e\u{301}\u{302}\u{303}\\u{304}");
    }

    #[test]
    fn cutting_counts_columns_and_keeps_characters_whole() {
        assert_eq!(truncate("abcdef", 6, &UNICODE), "abcdef");
        assert_eq!(truncate("abcdef", 4, &UNICODE), "abc…");
        assert_eq!(truncate("abcdef", 4, &ASCII), "abc~");
        assert_eq!(truncate("世界世界", 4, &UNICODE), "世…");
        assert_eq!(truncate("e\u{301}e\u{301}e\u{301}", 2, &UNICODE), "e\u{301}…");
        assert_eq!(truncate("abc", 1, &UNICODE), "…");
        assert_eq!(truncate("abc", 0, &UNICODE), "");
    }

    #[test]
    fn padding_fills_exactly() {
        assert_eq!(right("42", 5, &UNICODE), "   42");
        assert_eq!(left("世", 4, &UNICODE), "世  ");
        assert_eq!(right("世界世", 4, &UNICODE), " 世…");
    }

    #[test]
    fn wrapping_breaks_at_blanks_and_keeps_line_feeds() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("4000m (2800m asked for).", 12), ["4000m (2800m", "asked for)."]);
        assert_eq!(wrap("a\n\nb\x1b", 9), ["a", "", "b\\x1b"]);
        assert_eq!(wrap("世界", 1), ["世", "界", ""]);
    }

    #[test]
    fn a_line_of_spans_is_cut_once_at_its_end() {
        let area = Rect::new(0, 0, 5, 1);
        let line = Line::from(vec![Span::raw("ab"), Span::raw("cde"), Span::raw("fg")]);
        let mut buf = Buffer::empty(area);
        put_line(&mut buf, 0, 0, 5, &line, &UNICODE);
        assert_eq!(buf, Buffer::with_lines(["abcd…"]));
        let mut buf = Buffer::empty(Rect::new(0, 0, 8, 1));
        put_line(&mut buf, 0, 0, 8, &line, &UNICODE);
        assert_eq!(buf, Buffer::with_lines(["abcdefg "]));
    }

    #[test]
    fn nothing_is_written_outside_of_the_buffer() {
        let mut buf = Buffer::empty(Rect::new(0, 0, 3, 1));
        put(&mut buf, 7, 0, 5, "abc", Style::new(), &UNICODE);
        put(&mut buf, 0, 9, 5, "abc", Style::new(), &UNICODE);
        assert_eq!(put(&mut buf, 1, 0, 50, "abc", Style::new(), &UNICODE), 3);
        assert_eq!(buf, Buffer::with_lines([" a…"]));
    }
}
