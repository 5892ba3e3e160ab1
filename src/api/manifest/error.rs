//! What is wrong with a manifest, where, and how a person finds the place.

use std::fmt;

use unicode_width::UnicodeWidthChar;

use crate::api::hidden::is_hidden;

/// How many errors are kept; of the others there is the number.
const ERRORS_KEPT: usize = 20;
/// Columns of a line that an excerpt shows on either side of the place.
const EXCERPT_SIDE: usize = 50;

/// One step of the path to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A key of a mapping.
    Key(Box<str>),
    /// A position in a list.
    Index(usize),
}

impl Segment {
    /// The steps of a path as the API server writes it: `spec.containers[0].resources.requests[cpu]`.
    pub fn path(text: &str) -> Vec<Self> {
        let mut path = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (step, behind) = match rest.strip_prefix('[') {
                Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            let position = step.parse().ok().filter(|_| rest.starts_with('['));
            path.push(position.map_or_else(|| Self::Key(step.into()), Self::Index));
            rest = behind.strip_prefix('.').unwrap_or(behind);
        }
        path
    }
}

/// Writes a path as people write it: `spec.containers[0].resources.requests.cpu`.
pub fn path_text(path: &[Segment]) -> String {
    let mut text = String::new();
    for segment in path {
        match segment {
            Segment::Index(position) => text.push_str(&format!("[{position}]")),
            Segment::Key(key)
                if key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !key.is_empty() =>
            {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Segment::Key(key) => text.push_str(&format!("[{key:?}]")),
        }
    }
    text
}

/// A place in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Counted from 1.
    pub line: usize,
    /// Counted from 1, in characters.
    pub column: usize,
    /// The line, or the part of a long one around the place. Characters that a terminal would act on are replaced.
    pub excerpt: String,
    /// How many terminal columns of the excerpt stand before the place.
    pub caret: usize,
}

impl Place {
    /// The place of a byte offset in a text.
    pub fn find(text: &str, offset: usize) -> Self {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let (before, after) = text.split_at(offset);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let left = before.get(line_start..).unwrap_or_default();
        let right = after.split('\n').next().unwrap_or_default().trim_end_matches('\r');
        let skipped = left.chars().count().saturating_sub(EXCERPT_SIDE);
        let mut excerpt = String::new();
        if skipped > 0 {
            excerpt.push('\u{2026}');
        }
        excerpt.extend(left.chars().skip(skipped).filter(|c| *c != '\u{feff}').map(printable));
        let caret = excerpt.chars().map(|c| c.width().unwrap_or(0)).sum();
        excerpt.extend(right.chars().take(EXCERPT_SIDE).map(printable));
        if right.chars().nth(EXCERPT_SIDE).is_some() {
            excerpt.push('\u{2026}');
        }
        Self {
            line: 1 + before.bytes().filter(|byte| *byte == b'\n').count(),
            column: 1 + left.chars().filter(|c| *c != '\u{feff}').count(),
            excerpt,
            caret,
        }
    }
}

/// A character that is safe to show in a terminal: what is hidden becomes U+FFFD, a tab becomes a space.
fn printable(c: char) -> char {
    match c {
        '\t' => ' ',
        c if is_hidden(c) => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

/// A text with its unsafe characters replaced.
pub(crate) fn printable_text(text: &str) -> String {
    text.chars().map(printable).collect()
}

/// Something wrong with one object, or with the text around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The file, or what else the source is called.
    pub source: String,
    /// The document, counted from 1.
    pub document: usize,
    /// The object, as far as it is known: `Pod default/web`.
    pub object: String,
    /// The field: `spec.containers[0].resources.requests.cpu`. Empty if the object as a whole is meant.
    pub path: String,
    /// What is wrong, in a sentence without a full stop.
    pub reason: String,
    /// Where it is, if that is known.
    pub place: Option<Place>,
}

impl std::error::Error for ManifestError {}

impl fmt::Display for ManifestError {
    /// One line, and an excerpt with a caret under the place if that is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&printable_text(&self.source))?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": document {}", self.document)?;
        for part in [&self.object, &self.path, &self.reason] {
            if !part.is_empty() {
                write!(f, ": {}", printable_text(part))?;
            }
        }
        if let Some(place) = &self.place {
            let number = place.line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n{margin} |\n{number} | {}\n{margin} | {}^", place.excerpt, " ".repeat(place.caret))?;
        }
        Ok(())
    }
}

/// All that is wrong with the sources.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ManifestErrors {
    /// The first of them, in the order of the sources.
    pub errors: Vec<ManifestError>,
    /// How many there are.
    pub total: usize,
}

impl std::error::Error for ManifestErrors {}

impl ManifestErrors {
    /// Adds an error; it is made only if it is among the first.
    pub(super) fn add(&mut self, error: impl FnOnce() -> ManifestError) {
        if self.errors.len() < ERRORS_KEPT {
            self.errors.push(error());
        }
        self.total += 1;
    }
}

impl FromIterator<ManifestError> for ManifestErrors {
    fn from_iter<I: IntoIterator<Item = ManifestError>>(iter: I) -> Self {
        let mut errors = Self::default();
        for error in iter {
            errors.add(|| error);
        }
        errors
    }
}

impl fmt::Display for ManifestErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, error) in self.errors.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        match self.total - self.errors.len() {
            0 => Ok(()),
            1 => f.write_str("\nand 1 more error"),
            more => write!(f, "\nand {more} more errors"),
        }
    }
}
