//! The events that both readers, YAML and JSON, make of their text.

use std::borrow::Cow;

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event<'a> {
    /// An unquoted scalar, whose meaning depends on its spelling.
    Plain(Cow<'a, str>),
    /// A quoted or block scalar: always text.
    Text(Cow<'a, str>),
    /// The start of a mapping; keys and values follow in turns.
    MapStart,
    /// The end of a mapping.
    MapEnd,
    /// The start of a list.
    SeqStart,
    /// The end of a list.
    SeqEnd,
    /// The value of that anchor once more.
    Alias(usize),
}

/// An event with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub event: Event<'a>,
    /// Byte offset in the source.
    pub offset: usize,
    /// The anchor that the value bears, 0 for none.
    pub anchor: usize,
}

/// A text that is neither YAML nor JSON, or that goes beyond a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// What is wrong, in a sentence without a full stop.
    pub reason: String,
    /// Byte offset in the source.
    pub offset: usize,
}

/// A reader of events. Starts and ends of documents are not told: a document is one value.
pub(crate) trait Events<'a> {
    /// The next event; `None` at the end of the text.
    fn next(&mut self) -> Result<Option<Token<'a>>, Syntax>;
}
