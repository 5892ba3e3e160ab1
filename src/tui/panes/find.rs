//! What a pane shows while a filter is set: rows that contain the text, no matter the case, with the place marked.

use memchr::memchr2_iter;
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
            let first = *needle.first()?;
            let last_start = text.len().checked_sub(needle.len())?;
            let is_here = |start: &usize| {
                text.get(*start..start + needle.len()).is_some_and(|part| part.eq_ignore_ascii_case(needle))
            };
            let mut starts = memchr2_iter(first, first.to_ascii_uppercase(), text.get(..=last_start)?);
            return starts.find(is_here).map(|start| (start, start + needle.len()));
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

/// What a filter looks through: the texts of all rows in one piece. Rows of pods lie far apart, and with very many of
/// them each look at them all takes longer than a frame may.
#[derive(Clone, Debug, Default)]
pub struct Haystack {
    text: String,
    /// Where each row's texts end.
    ends: Vec<usize>,
}

impl Haystack {
    /// The texts of `rows`; `texts` gives those of one.
    pub fn new<'r, R: 'r, T: IntoIterator<Item = &'r str>>(
        rows: impl IntoIterator<Item = &'r R>,
        texts: impl Fn(&'r R) -> T,
    ) -> Self {
        let mut haystack = Self::default();
        for row in rows {
            for text in texts(row) {
                haystack.text.push_str(text);
                // Nobody can look for it.
                haystack.text.push('\n');
            }
            haystack.ends.push(haystack.text.len());
        }
        haystack
    }

    fn contains(&self, row: usize, find: &Find) -> bool {
        let start = row.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        let end = self.ends.get(row).copied();
        let text = start.zip(end).and_then(|(start, end)| self.text.get(start..end));
        text.is_some_and(|text| find.matches([text]))
    }
}

impl Shown {
    /// The rows that `find` finds. `known` are rows found by less, if all that are to be found are among them.
    pub fn of(find: &Find, haystack: &Haystack, known: Option<&Self>) -> Self {
        let is_found = |row: &usize| haystack.contains(*row, find);
        Self::Some(match known {
            Some(Self::Some(known)) => known.iter().copied().filter(is_found).collect(),
            _ => (0..haystack.ends.len()).filter(is_found).collect(),
        })
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

    fn shown(find: &Find, rows: &[&str], known: Option<&Shown>) -> Vec<usize> {
        let shown = Shown::of(find, &Haystack::new(rows, |row| [*row]), known);
        (0..shown.len()).filter_map(|index| shown.get(index)).collect()
    }

    #[test]
    fn what_more_letters_find_is_looked_for_in_what_fewer_have_found() {
        let rows = ["a-1", "b-1", "a-2", "A-12"];
        let fewer = Shown::of(&find("a"), &Haystack::new(&rows, |row| [*row]), None);
        assert!(find("A-1").extends(&find("a")) && !find("b").extends(&find("a")));
        assert!(!find("a").extends(&Find::default()));
        assert_eq!(shown(&find("a-1"), &rows, Some(&fewer)), [0, 3]);
        assert_eq!(shown(&find("a-1"), &rows, None), [0, 3]);
    }

    #[test]
    fn only_found_rows_are_shown() {
        let rows = ["a-1", "b-1", "a-2"];
        assert_eq!(shown(&find("a-"), &rows, None), [0, 2]);
        assert_eq!(shown(&Find::default(), &rows, None), [0, 1, 2]);
        let all = Shown::All(3);
        assert_eq!((all.len(), all.get(2), all.get(3)), (3, Some(2), None));
    }

    #[test]
    fn a_row_has_several_texts_and_nothing_is_found_across_two_of_them() {
        let haystack = Haystack::new(&[["cart", "shop"], ["opcart", "sh"]], |texts| *texts);
        assert!(matches!(Shown::of(&find("shop"), &haystack, None), Shown::Some(rows) if rows == [0]));
        assert!(matches!(Shown::of(&find("tsh"), &haystack, None), Shown::Some(rows) if rows.is_empty()));
    }
}
