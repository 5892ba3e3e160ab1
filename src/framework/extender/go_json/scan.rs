//! Finds the end of the first JSON value of a text, or says what is wrong with it in the words of Go's
//! `encoding/json` (`scanner.go`, and `Decoder.readValue` of `stream.go`).

use std::ops::Range;

/// How deep containers may be nested.
const MAX_NESTING_DEPTH: usize = 10_000;

/// What is expected next.
#[derive(Clone, Copy)]
enum Expect {
    Value,
    /// A value or the end of an array.
    FirstElement,
    Key,
    /// A key or the end of an object.
    FirstKey,
    Colon,
    /// A comma or the end of the container.
    Next,
}

/// A container that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Open {
    Object,
    Array,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    open: Vec<Open>,
}

/// Where the first value of the text is. What follows it is not looked at.
///
/// # Errors
/// What Go's decoder says of a text that does not begin with a complete value.
pub(super) fn first_value(text: &str) -> Result<Range<usize>, String> {
    let mut scanner = Scanner { text: text.as_bytes(), at: 0, open: Vec::new() };
    scanner.skip_space();
    let start = scanner.at;
    match scanner.value() {
        Ok(()) => Ok(start..scanner.at),
        Err(Stop::Character(text)) => Err(text),
        Err(Stop::End) if start == text.len() => Err("EOF".to_owned()),
        Err(Stop::End) => Err("unexpected EOF".to_owned()),
    }
}

/// Why a value is not complete.
enum Stop {
    /// The text ends.
    End,
    /// A character that has no place there.
    Character(String),
}

impl Scanner<'_> {
    fn skip_space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Result<u8, Stop> {
        self.text.get(self.at).copied().ok_or(Stop::End)
    }

    fn unexpected<T>(&self, context: &str) -> Result<T, Stop> {
        let character = quote_char(self.peek()?);
        Err(Stop::Character(format!("invalid character {character} {context}")))
    }

    /// Goes past the value that begins here.
    fn value(&mut self) -> Result<(), Stop> {
        let mut expect = Expect::Value;
        loop {
            self.skip_space();
            let byte = self.peek()?;
            expect = match (expect, byte) {
                (Expect::FirstElement, b']') | (Expect::FirstKey, b'}') => {
                    self.close();
                    Expect::Next
                }
                (Expect::Value | Expect::FirstElement, _) => self.begin(byte)?,
                (Expect::Key | Expect::FirstKey, b'"') => {
                    self.string()?;
                    Expect::Colon
                }
                (Expect::Key | Expect::FirstKey, _) => {
                    return self.unexpected("looking for beginning of object key string");
                }
                (Expect::Colon, b':') => {
                    self.at += 1;
                    Expect::Value
                }
                (Expect::Colon, _) => return self.unexpected("after object key"),
                (Expect::Next, _) => self.next(byte)?,
            };
            if self.open.is_empty() {
                return Ok(());
            }
        }
    }

    fn close(&mut self) {
        self.at += 1;
        self.open.pop();
    }

    /// The beginning of a value, and all of it if it is no container.
    fn begin(&mut self, byte: u8) -> Result<Expect, Stop> {
        match byte {
            b'{' => return self.open(Open::Object),
            b'[' => return self.open(Open::Array),
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            b'n' => self.word("null")?,
            _ => return self.unexpected("looking for beginning of value"),
        }
        Ok(Expect::Next)
    }

    fn open(&mut self, container: Open) -> Result<Expect, Stop> {
        if self.open.len() == MAX_NESTING_DEPTH {
            return self.unexpected("exceeded max depth");
        }
        self.at += 1;
        self.open.push(container);
        Ok(if container == Open::Object { Expect::FirstKey } else { Expect::FirstElement })
    }

    /// What comes after a value in a container.
    fn next(&mut self, byte: u8) -> Result<Expect, Stop> {
        match (self.open.last(), byte) {
            (Some(Open::Object), b'}') | (Some(Open::Array), b']') => {
                self.close();
                return Ok(Expect::Next);
            }
            (_, b',') => self.at += 1,
            (Some(Open::Object), _) => return self.unexpected("after object key:value pair"),
            _ => return self.unexpected("after array element"),
        }
        Ok(if self.open.last() == Some(&Open::Object) { Expect::Key } else { Expect::Value })
    }

    fn word(&mut self, word: &str) -> Result<(), Stop> {
        self.at += 1;
        for expected in word.chars().skip(1) {
            if char::from(self.peek()?) != expected {
                return self.unexpected(&format!("in literal {word} (expecting '{expected}')"));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Stop> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    self.at += 1;
                    self.escape()?;
                }
                0..=0x1f => return self.unexpected("in string literal"),
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Ok(())
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<(), Stop> {
        match self.peek()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.peek()?.is_ascii_hexdigit() {
                        return self.unexpected("in \\u hexadecimal character escape");
                    }
                    self.at += 1;
                }
            }
            _ => return self.unexpected("in string escape code"),
        }
        Ok(())
    }

    /// Goes past digits, of which there must be one.
    fn digits(&mut self, context: &str) -> Result<(), Stop> {
        if !self.peek()?.is_ascii_digit() {
            return self.unexpected(context);
        }
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Stop> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits("in numeric literal")?;
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }
}

/// A byte as Go shows it: each byte of a longer character stands for the character of that number.
fn quote_char(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        0x07 => "'\\a'".to_owned(),
        0x08 => "'\\b'".to_owned(),
        0x0b => "'\\v'".to_owned(),
        0x0c => "'\\f'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        b'\\' => "'\\\\'".to_owned(),
        0..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        0x80..=0xa0 | 0xad => format!("'\\u{byte:04x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> String {
        match first_value(text) {
            Ok(range) => text.get(range).unwrap_or_default().to_owned(),
            Err(error) => error,
        }
    }

    #[test]
    fn only_the_first_value_is_read() {
        for (text, value) in [
            (" {} x", "{}"),
            ("null x", "null"),
            ("nullx", "null"),
            ("12x", "12"),
            ("01", "0"),
            ("\"a\" {", "\"a\""),
            ("[1,[2,{\"a\":[]}],-0.5e+3] ]", "[1,[2,{\"a\":[]}],-0.5e+3]"),
            ("\n\t[]\r\n", "[]"),
            (r#""\"\u00e9\\""#, r#""\"\u00e9\\""#),
        ] {
            assert_eq!(found(text), value, "{text}");
        }
    }

    /// What a Go 1.26 program says: `json.NewDecoder(strings.NewReader(text)).Decode(&value)`.
    #[test]
    fn what_is_wrong_is_told_in_the_words_of_go() {
        for (text, error) in [
            ("", "EOF"),
            (" \n", "EOF"),
            ("{", "unexpected EOF"),
            ("[1", "unexpected EOF"),
            ("\"a", "unexpected EOF"),
            ("nul", "unexpected EOF"),
            ("-", "unexpected EOF"),
            ("1.", "unexpected EOF"),
            ("1e", "unexpected EOF"),
            ("1e+", "unexpected EOF"),
            ("{\"a\":1", "unexpected EOF"),
            ("not json", "invalid character 'o' in literal null (expecting 'u')"),
            ("tru\"", "invalid character '\"' in literal true (expecting 'e')"),
            ("fAlse", "invalid character 'A' in literal false (expecting 'a')"),
            ("<html>", "invalid character '<' looking for beginning of value"),
            ("'x'", "invalid character '\\'' looking for beginning of value"),
            ("]", "invalid character ']' looking for beginning of value"),
            ("[,", "invalid character ',' looking for beginning of value"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1}", "invalid character '}' after array element"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1]", "invalid character ']' after object key:value pair"),
            ("{\"a\":01}", "invalid character '1' after object key:value pair"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u12g4\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("-a", "invalid character 'a' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("\\", "invalid character '\\\\' looking for beginning of value"),
            ("\u{1}", "invalid character '\\x01' looking for beginning of value"),
            ("\u{7f}", "invalid character '\\x7f' looking for beginning of value"),
            ("é", "invalid character 'Ã' looking for beginning of value"),
            ("\u{80}", "invalid character 'Â' looking for beginning of value"),
            ("\u{feff}{}", "invalid character 'ï' looking for beginning of value"),
        ] {
            assert_eq!(found(text), error, "{text:?}");
        }
    }

    #[test]
    fn nesting_has_a_limit() {
        assert_eq!(found(&"[".repeat(10_000)), "unexpected EOF");
        assert_eq!(found(&"[".repeat(10_001)), "invalid character '[' exceeded max depth");
    }
}
