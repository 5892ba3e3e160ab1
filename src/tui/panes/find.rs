//! What a pane shows while a filter is set: rows that contain the text, no matter the case, with the place marked.

use ratatui::style::Style;
use ratatui::text::Span;

use crate::tui::panes::Cx;
use crate::tui::theme::Role;
use crate::tui::widgets::text;

/// The text that is looked for; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Find {
    needle: String,
}

impl Find {
    /// Looks for `text`, or for nothing.
    pub fn set(&mut self, text: Option<&str>) {
        self.needle = text.unwrap_or_default().to_lowercase();
    }

    /// Whether something is looked for.
    pub fn is_on(&self) -> bool {
        !self.needle.is_empty()
    }

    /// Whether all that it finds is found by the other, too.
    pub fn extends(&self, other: &Self) -> bool {
        other.is_on() && self.needle.starts_with(&other.needle)
    }

    /// Whether one of the texts of a row contains it; true if nothing is looked for.
    pub fn matches<'t>(&self, texts: impl IntoIterator<Item = &'t str>) -> bool {
        !self.is_on() || texts.into_iter().any(|text| self.find(text).is_some())
    }

    /// A cleaned text with the places found marked.
    pub fn spans(&self, text: &str, style: Style, cx: &Cx<'_>) -> Vec<Span<'static>> {
        let clean = text::clean(text);
        let mut spans = Vec::new();
        let mut rest: &str = &clean;
        while let Some((start, end)) = self.find(rest) {
            if start > 0 {
                spans.push(Span::styled(rest[..start].to_owned(), style));
            }
            spans.push(Span::styled(rest[start..end].to_owned(), style.patch(cx.theme.style(Role::Match))));
            rest = &rest[end..];
        }
        if !rest.is_empty() || spans.is_empty() {
            spans.push(Span::styled(rest.to_owned(), style));
        }
        spans
    }

    /// Where the text begins and ends, in bytes.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        if self.needle.is_empty() {
            return None;
        }
        if text.is_ascii() {
            let (text, needle) = (text.as_bytes(), self.needle.as_bytes());
            let start = text.windows(needle.len()).position(|part| part.eq_ignore_ascii_case(needle))?;
            return Some((start, start + needle.len()));
        }
        // Lower case can have another length than the text itself, so each beginning is tried.
        text.char_indices().find_map(|(start, _)| {
            let mut wanted = self.needle.chars();
            let mut next = wanted.next();
            for (offset, c) in text[start..].char_indices() {
                let mut lower = c.to_lowercase();
                while let (Some(want), Some(have)) = (next, lower.next()) {
                    if want != have {
                        return None;
                    }
                    next = wanted.next();
                }
                if next.is_none() {
                    return Some((start, start + offset + c.len_utf8()));
                }
            }
            None
        })
    }
}

/// The rows of a list that are shown, by their places in the whole list.
#[derive(Clone, Debug)]
pub enum Shown {
    /// All of so many.
    All(usize),
    /// These.
    Some(Vec<usize>),
}

impl Shown {
    /// The rows of `rows` that `find` finds; `texts` gives what is looked through.
    pub fn of<'r, R, T: IntoIterator<Item = &'r str>>(
        find: &Find,
        rows: &'r [R],
        texts: impl Fn(&'r R) -> T,
    ) -> Self {
        if !find.is_on() {
            return Self::All(rows.len());
        }
        let found = rows.iter().enumerate().filter(|(_, row)| find.matches(texts(row)));
        Self::Some(found.map(|(index, _)| index).collect())
    }

    /// The same, where it is known that all of them are among these.
    pub fn within<'r, R, T: IntoIterator<Item = &'r str>>(
        known: Option<&Self>,
        find: &Find,
        rows: &'r [R],
        texts: impl Fn(&'r R) -> T,
    ) -> Self {
        let Some(Self::Some(known)) = known else { return Self::of(find, rows, texts) };
        let is_found = |index: &usize| rows.get(*index).is_some_and(|row| find.matches(texts(row)));
        Self::Some(known.iter().copied().filter(is_found).collect())
    }

    /// How many.
    pub fn len(&self) -> usize {
        match self {
            Self::All(n) => *n,
            Self::Some(indexes) => indexes.len(),
        }
    }

    /// Whether none is shown.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The place in the whole list of the row that is shown at `index`.
    pub fn get(&self, index: usize) -> Option<usize> {
        match self {
            Self::All(n) => (index < *n).then_some(index),
            Self::Some(indexes) => indexes.get(index).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(needle: &str) -> Find {
        let mut find = Find::default();
        find.set(Some(needle));
        find
    }

    #[test]
    fn case_does_not_matter() {
        assert_eq!(find("CART").find("shop/cart-5"), Some((5, 9)));
        assert_eq!(find("straSSE").find("Große Strasse"), Some((7, 14)));
        assert_eq!(find("x").find("abc"), None);
        assert!(Find::default().matches(["anything"]));
        assert!(!find("x").matches(["a", "b"]));
    }

    #[test]
    fn letters_whose_lower_case_is_longer_do_not_break_the_text() {
        assert_eq!(find("i\u{307}x").find("aİx"), Some((1, 4)));
    }

    #[test]
    fn what_more_letters_find_is_looked_for_in_what_fewer_have_found() {
        let rows = ["a-1", "b-1", "a-2", "A-12"];
        let fewer = Shown::of(&find("a"), &rows, |row| [*row]);
        assert!(find("A-1").extends(&find("a")) && !find("b").extends(&find("a")));
        assert!(!find("a").extends(&Find::default()));
        let within = Shown::within(Some(&fewer), &find("a-1"), &rows, |row| [*row]);
        let all = Shown::of(&find("a-1"), &rows, |row| [*row]);
        assert_eq!(format!("{within:?}"), format!("{all:?}"));
    }

    #[test]
    fn only_found_rows_are_shown() {
        let rows = ["a-1", "b-1", "a-2"];
        let shown = Shown::of(&find("a-"), &rows, |row| [*row]);
        assert_eq!((shown.len(), shown.get(1), shown.get(2)), (2, Some(2), None));
        assert_eq!(Shown::of(&Find::default(), &rows, |row| [*row]).get(2), Some(2));
    }
}
