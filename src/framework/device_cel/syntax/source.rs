//! The text of an expression as errors show it: lines, columns, and a mark under the place.

use std::fmt::Write as _;

/// A place in the text: an offset in characters, or nowhere.
pub(crate) type Place = Option<usize>;

/// Something that is wrong at a place.
#[derive(Clone, Debug)]
pub(crate) struct Issue {
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// The characters of an expression, and where its lines begin.
pub(crate) struct Source {
    pub(crate) chars: Vec<char>,
    line_starts: Vec<usize>,
}

/// How many errors are told before the rest is only counted.
const MAX_ISSUES: usize = 100;
/// The longest line in bytes that is shown below an error.
const MAX_SNIPPET: usize = 16_384;

impl Source {
    pub(crate) fn new(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let breaks = chars.iter().enumerate().filter(|(_, c)| **c == '\n').map(|(i, _)| i + 1);
        let line_starts = std::iter::once(0).chain(breaks).collect();
        Self { chars, line_starts }
    }

    /// Line and column from 0.
    fn position(&self, offset: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.line_starts.get(line).copied().unwrap_or(0);
        (line, offset.saturating_sub(start))
    }

    fn line(&self, line: usize) -> Option<String> {
        let start = *self.line_starts.get(line)?;
        let end = self.line_starts.get(line + 1).map_or(self.chars.len(), |next| next - 1);
        (!self.chars.is_empty()).then(|| self.chars.get(start..end).unwrap_or_default().iter().collect())
    }

    /// All errors in the order of their places, as cel-go writes them.
    pub(crate) fn render(&self, mut issues: Vec<Issue>) -> String {
        let total = issues.len();
        issues.truncate(MAX_ISSUES);
        issues.sort_by_key(|issue| issue.place.map(|offset| self.position(offset)));
        let mut texts: Vec<String> = issues.iter().map(|issue| self.render_one(issue)).collect();
        if total > MAX_ISSUES {
            texts.push(format!("{} more errors were truncated", total - MAX_ISSUES));
        }
        texts.join("\n")
    }

    fn render_one(&self, issue: &Issue) -> String {
        let Some(offset) = issue.place else { return format!("ERROR: <input>:-1:0: {}", issue.message) };
        let (line, column) = self.position(offset);
        let shown_column = if self.chars.is_empty() { 0 } else { column + 1 };
        let mut text = format!("ERROR: <input>:{}:{shown_column}: {}", line + 1, issue.message);
        let Some(snippet) = self.line(line).filter(|line| line.len() <= MAX_SNIPPET) else { return text };
        let snippet = snippet.replace('\t', " ");
        let _ = write!(text, "\n | {snippet}\n | ");
        let mut chars = snippet.chars();
        text.extend(chars.by_ref().take(column).map(|c| if c.is_ascii() { '.' } else { '\u{ff0e}' }));
        text.push(if chars.next().is_none_or(|c| c.is_ascii()) { '^' } else { '\u{ff3e}' });
        text
    }
}
