//! One line of text that is typed.
//!
//! The cursor moves by what a person sees as characters. Pasted line feeds become blanks, so that a paste never
//! does anything by itself.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation;

use super::glyphs::Glyphs;
use super::text;
use crate::tui::action::Action;
use crate::tui::theme::{Role, Theme};

/// A line and a cursor in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineEditor {
    text: String,
    /// In bytes; always between two characters.
    cursor: usize,
}

impl LineEditor {
    /// With the cursor at the end.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { cursor: text.len(), text }
    }

    /// What is typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether nothing is typed.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether the cursor is at the end.
    pub fn is_at_end(&self) -> bool {
        self.cursor == self.text.len()
    }

    /// Replaces everything; the cursor goes to the end.
    pub fn set(&mut self, text: impl Into<String>) {
        *self = Self::new(text);
    }

    /// Puts text in at the cursor.
    pub fn insert(&mut self, text: &str) {
        let one_line: String = text
            .trim_end_matches(['\n', '\r'])
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        self.text.insert_str(self.cursor, &one_line);
        self.cursor += one_line.len();
    }

    /// Does the actions of editing. False if the action is not one of them.
    pub fn handle(&mut self, action: Action) -> bool {
        match action {
            Action::CursorLeft => self.cursor = self.before(),
            Action::CursorRight => self.cursor = self.after(),
            Action::CursorWordLeft => self.cursor = self.word_start(),
            Action::CursorWordRight => self.cursor = self.word_end(),
            Action::CursorStart => self.cursor = 0,
            Action::CursorEnd => self.cursor = self.text.len(),
            Action::DeleteBackward => self.delete(self.before(), self.cursor),
            Action::DeleteForward => self.delete(self.cursor, self.after()),
            Action::DeleteWord => self.delete(self.word_start(), self.cursor),
            Action::DeleteToStart => self.delete(0, self.cursor),
            Action::DeleteToEnd => self.delete(self.cursor, self.text.len()),
            _ => return false,
        }
        true
    }

    /// Draws the line with its cursor; what is around the cursor is visible.
    pub fn render(&self, area: Rect, buf: &mut Buffer, theme: &Theme, glyphs: &Glyphs) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        let style = theme.style(Role::Input);
        let before = text::clean(&self.text[..self.cursor]).into_owned();
        let at = &self.text[self.cursor..self.after()];
        let at = if at.is_empty() { " ".to_owned() } else { text::clean(at).into_owned() };
        let rest = text::clean(&self.text[self.after()..]).into_owned();
        let room = usize::from(area.width);
        let mut start = before.as_str();
        // What is far to the left of the cursor is scrolled away.
        while text::width(start) + text::width(&at) > room {
            match start.graphemes(true).next() {
                Some(first) => start = &start[first.len()..],
                None => break,
            }
        }
        let (x, _) = buf.set_stringn(area.x, area.y, start, room, style);
        let room_at = usize::from(area.right().saturating_sub(x));
        let (x, _) = buf.set_stringn(x, area.y, &at, room_at, theme.style(Role::Cursor));
        text::put(buf, x, area.y, area.right().saturating_sub(x), &rest, style, glyphs);
    }

    fn delete(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    fn before(&self) -> usize {
        self.text[..self.cursor].grapheme_indices(true).next_back().map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        let rest = &self.text[self.cursor..];
        self.cursor + rest.graphemes(true).next().map_or(0, str::len)
    }

    /// Where the word before the cursor begins. Words are what stands between blanks.
    fn word_start(&self) -> usize {
        let head = self.text[..self.cursor].trim_end();
        head.rfind(char::is_whitespace)
            .map_or(0, |at| at + head[at..].chars().next().map_or(1, char::len_utf8))
    }

    fn word_end(&self) -> usize {
        let rest = &self.text[self.cursor..];
        let blanks = rest.len() - rest.trim_start().len();
        let word = &rest[blanks..];
        self.cursor + blanks + word.find(char::is_whitespace).unwrap_or(word.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::widgets::glyphs::UNICODE;

    fn after(text: &str, actions: &[Action]) -> (String, usize) {
        let mut editor = LineEditor::new(text);
        for action in actions {
            assert!(editor.handle(*action));
        }
        (editor.text, editor.cursor)
    }

    #[test]
    fn characters_are_what_a_person_sees() {
        assert_eq!(after("ae\u{301}", &[Action::DeleteBackward]), ("a".into(), 1));
        assert_eq!(after("世界", &[Action::CursorLeft, Action::DeleteForward]), ("世".into(), 3));
        assert_eq!(after("", &[Action::DeleteBackward, Action::CursorRight]), (String::new(), 0));
    }

    #[test]
    fn words_stand_between_blanks() {
        assert_eq!(after("web-1 cpu=500m", &[Action::DeleteWord]), ("web-1 ".into(), 6));
        assert_eq!(after("web-1  ", &[Action::DeleteWord]), (String::new(), 0));
        assert_eq!(after("a b", &[Action::CursorStart, Action::CursorWordRight]), ("a b".into(), 1));
        assert_eq!(after("a b", &[Action::CursorWordLeft, Action::DeleteToEnd]), ("a ".into(), 2));
        assert_eq!(after("a b", &[Action::CursorWordLeft, Action::DeleteToStart]), ("b".into(), 0));
    }

    #[test]
    fn a_paste_stays_on_the_line() {
        let mut editor = LineEditor::new("ab");
        editor.handle(Action::CursorLeft);
        editor.insert("x\ny\n");
        assert_eq!((editor.text(), editor.is_at_end()), ("ax yb", false));
    }

    #[test]
    fn the_cursor_is_always_visible() {
        let area = Rect::new(0, 0, 4, 1);
        let draw = |editor: &LineEditor| {
            let mut buf = Buffer::empty(area);
            editor.render(area, &mut buf, &Theme::mono(), &UNICODE);
            buf.content().iter().map(|cell| cell.symbol().to_owned()).collect::<String>()
        };
        let mut editor = LineEditor::new("abcdef");
        assert_eq!(draw(&editor), "def ");
        editor.handle(Action::CursorStart);
        assert_eq!(draw(&editor), "abc…");
    }
}
