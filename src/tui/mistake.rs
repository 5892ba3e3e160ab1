//! A mistake in one of a person's own files: keys and settings.

use std::ops::Range;

use thiserror::Error;

/// A mistake in a file that a person wrote. Reading it again gives the same.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct Mistake {
    /// The file's name.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl Mistake {
    /// A mistake at that place of `text`, in bytes.
    pub(super) fn at(file: &str, text: &str, span: &Range<usize>, message: String) -> Self {
        let (line, column) = position(text, span);
        Self { file: file.to_owned(), line, column, message }
    }
}

/// Line and column, both from 1.
pub(super) fn position(text: &str, span: &Range<usize>) -> (usize, usize) {
    let before = text.get(..span.start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// All of them, a line each.
pub fn lines(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}
