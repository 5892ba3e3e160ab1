//! YAML text as events.
//!
//! The scanner is granit-parser. A tag makes a scalar text, as kubectl has it, unless it names another scalar type
//! of the core schema; the tags of mappings and lists are ignored.

use granit_parser::{Event as Granit, Parser, ScalarStyle, ScanError, StrInput, Tag};

use super::event::{Event, Events, Syntax, Token};
use super::tree::MAX_DEPTH;

/// Reads a part of a source.
pub(crate) struct Yaml<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// Where the part begins in the source.
    base: usize,
    /// Bytes of the part.
    len: usize,
}

impl<'a> Yaml<'a> {
    /// A reader of `text`, which begins at byte `base` of its source.
    pub(crate) fn new(text: &'a str, base: usize) -> Self {
        let options = granit_parser::options! {
            emit_comments: false,
            flow_nesting_limit: MAX_DEPTH,
            block_nesting_limit: MAX_DEPTH,
        };
        Self { parser: Parser::new_from_str_with_options(text, options), base, len: text.len() }
    }

    fn syntax(&self, error: &ScanError) -> Syntax {
        let offset = error.marker().byte_offset().unwrap_or(self.len).min(self.len);
        Syntax { reason: error.info(), offset: self.base + offset }
    }
}

fn is_text(style: ScalarStyle, tag: Option<&Tag>) -> bool {
    match tag {
        None => style != ScalarStyle::Plain,
        Some(tag) => !matches!(tag.core_suffix(), Some("int" | "float" | "bool" | "null")),
    }
}

impl<'a> Events<'a> for Yaml<'a> {
    fn next(&mut self) -> Result<Option<Token<'a>>, Syntax> {
        loop {
            let (event, span) = match self.parser.next_event() {
                None => return Ok(None),
                Some(Ok(event)) => event,
                Some(Err(error)) => return Err(self.syntax(&error)),
            };
            let (event, anchor) = match event {
                Granit::Scalar(text, style, anchor, tag) if is_text(style, tag.as_deref()) => {
                    (Event::Text(text), anchor)
                }
                Granit::Scalar(text, _, anchor, _) => (Event::Plain(text), anchor),
                Granit::MappingStart(_, anchor, _) => (Event::MapStart, anchor),
                Granit::MappingEnd => (Event::MapEnd, 0),
                Granit::SequenceStart(_, anchor, _) => (Event::SeqStart, anchor),
                Granit::SequenceEnd => (Event::SeqEnd, 0),
                Granit::Alias(id) => (Event::Alias(id), 0),
                Granit::StreamEnd => return Ok(None),
                _ => continue,
            };
            let offset = span.start.byte_offset().unwrap_or(self.len).min(self.len);
            return Ok(Some(Token { event, offset: self.base + offset, anchor }));
        }
    }
}
