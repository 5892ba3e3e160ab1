//! JSON text as events: one value, or several one after the other.
//!
//! Strict as RFC 8259 has it. A lone half of a surrogate pair becomes U+FFFD, as Go reads it.

use std::borrow::Cow;

use super::event::{Event, Events, Syntax, Token};

/// Reads a part of a source.
pub(crate) struct Json<'a> {
    text: &'a str,
    /// Where the reader is, in bytes of `text`.
    at: usize,
    /// Where the part begins in the source.
    base: usize,
    /// The containers that are open: whether each is a mapping.
    open: Vec<bool>,
    expect: Expect,
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    /// A value at the top, or the end.
    Document,
    /// A value; the closing bracket is allowed too just after the opening one.
    Value { first: bool },
    /// A key; the closing brace is allowed too just after the opening one.
    Key { first: bool },
    /// A comma or the end of the container.
    Next,
}

impl<'a> Json<'a> {
    /// A reader of `text`, which begins at byte `base` of its source.
    pub(crate) fn new(text: &'a str, base: usize) -> Self {
        Self { text, at: 0, base, open: Vec::new(), expect: Expect::Document }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error<T>(&self, reason: impl Into<String>) -> Result<T, Syntax> {
        Err(Syntax { reason: reason.into(), offset: self.base + self.at })
    }

    /// Says that something else was expected here.
    fn unexpected<T>(&self, expected: &str) -> Result<T, Syntax> {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            None => self.error(format!("the JSON ends where {expected} is expected")),
            Some(found) => self.error(format!("{expected} is expected here, not {found:?}")),
        }
    }

    /// After a complete value: back to the container that holds it.
    fn value_done(&mut self) {
        self.expect = if self.open.is_empty() { Expect::Document } else { Expect::Next };
    }

    fn open(&mut self, map: bool) -> Event<'a> {
        self.at += 1;
        self.open.push(map);
        self.expect = if map { Expect::Key { first: true } } else { Expect::Value { first: true } };
        if map { Event::MapStart } else { Event::SeqStart }
    }

    fn close(&mut self) -> Event<'a> {
        self.at += 1;
        let map = self.open.pop();
        self.value_done();
        if map == Some(true) { Event::MapEnd } else { Event::SeqEnd }
    }

    fn key(&mut self) -> Result<Event<'a>, Syntax> {
        if self.peek() != Some(b'"') {
            return self.unexpected("a key in double quotes");
        }
        let key = self.string()?;
        self.skip_space();
        if self.peek() != Some(b':') {
            return self.unexpected("a colon");
        }
        self.at += 1;
        self.expect = Expect::Value { first: false };
        Ok(Event::Text(key))
    }

    fn value(&mut self) -> Result<Event<'a>, Syntax> {
        let event = match self.peek() {
            Some(b'{') => return Ok(self.open(true)),
            Some(b'[') => return Ok(self.open(false)),
            Some(b'"') => Event::Text(self.string()?),
            Some(b'-' | b'0'..=b'9') => Event::Plain(Cow::Borrowed(self.number()?)),
            _ => Event::Plain(Cow::Borrowed(self.word()?)),
        };
        self.value_done();
        Ok(event)
    }

    fn word(&mut self) -> Result<&'a str, Syntax> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        for word in ["null", "true", "false"] {
            if rest.starts_with(word) {
                self.at += word.len();
                return Ok(word);
            }
        }
        self.unexpected("a value")
    }

    fn digits(&mut self) -> Result<(), Syntax> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.unexpected("a digit");
        }
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<&'a str, Syntax> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    /// A string, borrowed where it has no escapes.
    fn string(&mut self) -> Result<Cow<'a, str>, Syntax> {
        self.at += 1;
        let mut start = self.at;
        let mut unescaped = String::new();
        loop {
            match self.peek() {
                None => return self.error("the JSON ends inside a string"),
                Some(b'"') => break,
                Some(b'\\') => {
                    unescaped.push_str(self.text.get(start..self.at).unwrap_or_default());
                    self.at += 1;
                    unescaped.push(self.escape()?);
                    start = self.at;
                }
                Some(0..=0x1f) => return self.error("a control character inside a string must be escaped"),
                Some(_) => self.at += 1,
            }
        }
        let rest = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        if unescaped.is_empty() {
            return Ok(Cow::Borrowed(rest));
        }
        unescaped.push_str(rest);
        Ok(Cow::Owned(unescaped))
    }

    fn escape(&mut self) -> Result<char, Syntax> {
        let Some(letter) = self.peek() else { return self.error("the JSON ends inside a string") };
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return self.unexpected("one of \" \\ / b f n r t u after a backslash"),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, Syntax> {
        let high = self.hex()?;
        if (0xd800..0xdc00).contains(&high) && self.text.as_bytes().get(self.at..self.at + 2) == Some(b"\\u")
        {
            let before = self.at;
            self.at += 1;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = before;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    /// The four digits after `u`.
    fn hex(&mut self) -> Result<u32, Syntax> {
        let digits = self.text.get(self.at + 1..self.at + 5).unwrap_or_default();
        let valid = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        match u32::from_str_radix(digits, 16) {
            Ok(code) if valid => {
                self.at += 5;
                Ok(code)
            }
            _ => self.error("four hexadecimal digits are expected after \\u"),
        }
    }
}

impl<'a> Events<'a> for Json<'a> {
    fn next(&mut self) -> Result<Option<Token<'a>>, Syntax> {
        self.skip_space();
        if self.expect == Expect::Next {
            match (self.peek(), self.open.last()) {
                (Some(b','), Some(map)) => {
                    self.at += 1;
                    self.expect =
                        if *map { Expect::Key { first: false } } else { Expect::Value { first: false } };
                    self.skip_space();
                }
                (Some(b'}'), Some(true)) | (Some(b']'), Some(false)) => {}
                (_, Some(true)) => return self.unexpected("a comma or a closing brace"),
                _ => return self.unexpected("a comma or a closing bracket"),
            }
        }
        let offset = self.base + self.at;
        let event = match (self.expect, self.peek()) {
            (Expect::Document, None) => return Ok(None),
            (Expect::Document | Expect::Value { .. }, Some(byte)) if byte != b']' => self.value()?,
            (Expect::Key { first: true }, Some(b'}'))
            | (Expect::Value { first: true }, Some(b']'))
            | (Expect::Next, _) => self.close(),
            (Expect::Key { .. }, _) => self.key()?,
            _ => return self.unexpected("a value"),
        };
        Ok(Some(Token { event, offset, anchor: 0 }))
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn events(text: &str) -> Result<Vec<Event<'_>>, Syntax> {
        let mut reader = Json::new(text, 0);
        let mut events = Vec::new();
        while let Some(token) = reader.next()? {
            events.push(token.event);
        }
        Ok(events)
    }

    fn plain(text: &str) -> Event<'_> {
        Event::Plain(Cow::Borrowed(text))
    }

    fn text(text: &str) -> Event<'_> {
        Event::Text(Cow::Borrowed(text))
    }

    #[test]
    fn values_become_events() {
        let found = events(r#" {"a":[1,-2.5e+3,true,null],"b":{},"c":"x"} [] "#).unwrap();
        assert_eq!(
            found,
            [
                Event::MapStart,
                text("a"),
                Event::SeqStart,
                plain("1"),
                plain("-2.5e+3"),
                plain("true"),
                plain("null"),
                Event::SeqEnd,
                text("b"),
                Event::MapStart,
                Event::MapEnd,
                text("c"),
                text("x"),
                Event::MapEnd,
                Event::SeqStart,
                Event::SeqEnd,
            ]
        );
    }

    #[test]
    fn escapes_are_resolved() {
        let found = events(r#""a\n\"\\\/\u0041\ud83d\ude00\ud83dx""#).unwrap();
        assert_eq!(found, [text("a\n\"\\/A\u{1f600}\u{fffd}x")]);
    }

    #[test]
    fn what_is_not_json_is_refused_at_its_place() {
        for (input, offset) in [
            ("{", 1),
            ("{\"a\"}", 4),
            ("{\"a\":}", 5),
            ("{\"a\":1,}", 7),
            ("{a:1}", 1),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("[1}", 2),
            ("{\"a\":1]", 6),
            ("]", 0),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("1e", 2),
            ("nul", 0),
            ("\"a", 2),
            ("\"\\x\"", 2),
            ("\"\\u12g4\"", 2),
            ("\"\\u+123\"", 2),
            ("\"a\u{1}\"", 2),
        ] {
            let found = events(input);
            let expected = if input == "01" { None } else { Some(offset) };
            assert_eq!(found.err().map(|error| error.offset), expected, "{input}");
        }
    }
}
