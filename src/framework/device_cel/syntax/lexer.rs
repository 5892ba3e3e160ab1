//! Tokens of an expression.
//!
//! As ANTLR's lexer: the longest match counts, and where nothing matches, the text up to the character that ended the
//! last hope is told and skipped.

use super::source::{Issue, Source};

/// Kinds of tokens, in the order in which ANTLR lists them in messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Kind {
    Eof,
    Equals,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float,
    Int,
    Uint,
    String,
    Bytes,
    Ident,
    EscapedIdent,
}

/// Symbols, longer ones before their prefixes.
const SYMBOLS: [(&str, Kind); 24] = [
    ("==", Kind::Equals),
    ("!=", Kind::NotEquals),
    ("<=", Kind::LessEquals),
    (">=", Kind::GreaterEquals),
    ("&&", Kind::And),
    ("||", Kind::Or),
    ("<", Kind::Less),
    (">", Kind::Greater),
    ("[", Kind::LeftBracket),
    ("]", Kind::RightBracket),
    ("{", Kind::LeftBrace),
    ("}", Kind::RightBrace),
    ("(", Kind::LeftParen),
    (")", Kind::RightParen),
    (".", Kind::Dot),
    (",", Kind::Comma),
    ("-", Kind::Minus),
    ("!", Kind::Not),
    ("?", Kind::Question),
    (":", Kind::Colon),
    ("+", Kind::Plus),
    ("*", Kind::Star),
    ("/", Kind::Slash),
    ("%", Kind::Percent),
];

impl Kind {
    /// How messages name it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Eof => "<EOF>",
            Self::Equals => "'=='",
            Self::NotEquals => "'!='",
            Self::In => "'in'",
            Self::Less => "'<'",
            Self::LessEquals => "'<='",
            Self::GreaterEquals => "'>='",
            Self::Greater => "'>'",
            Self::And => "'&&'",
            Self::Or => "'||'",
            Self::LeftBracket => "'['",
            Self::RightBracket => "']'",
            Self::LeftBrace => "'{'",
            Self::RightBrace => "'}'",
            Self::LeftParen => "'('",
            Self::RightParen => "')'",
            Self::Dot => "'.'",
            Self::Comma => "','",
            Self::Minus => "'-'",
            Self::Not => "'!'",
            Self::Question => "'?'",
            Self::Colon => "':'",
            Self::Plus => "'+'",
            Self::Star => "'*'",
            Self::Slash => "'/'",
            Self::Percent => "'%'",
            Self::True => "'true'",
            Self::False => "'false'",
            Self::Null => "'null'",
            Self::Float => "NUM_FLOAT",
            Self::Int => "NUM_INT",
            Self::Uint => "NUM_UINT",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Ident => "IDENTIFIER",
            Self::EscapedIdent => "ESC_IDENTIFIER",
        }
    }
}

/// A token: a kind and where it stands, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// All tokens, ended by [`Kind::Eof`].
pub(super) fn tokens(source: &Source, issues: &mut Vec<Issue>) -> Vec<Token> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < source.chars.len() {
        let scan = Scan { chars: &source.chars, start: at };
        if let Some(end) = scan.hidden() {
            at = end;
            continue;
        }
        match scan.token() {
            Ok(token) => {
                at = token.end;
                out.push(token);
            }
            Err(failed) => {
                let end = (failed + 1).min(source.chars.len());
                let text: String = source.chars.get(at..end).unwrap_or_default().iter().collect();
                let message = format!(
                    "Syntax error: token recognition error at: '{}'",
                    super::recovery::escaped(&text)
                );
                issues.push(Issue { place: Some(at), message });
                at = end.max(at + 1);
            }
        }
    }
    out.push(Token { kind: Kind::Eof, start: source.chars.len(), end: source.chars.len() });
    out
}

struct Scan<'a> {
    chars: &'a [char],
    start: usize,
}

impl Scan<'_> {
    fn at(&self, index: usize) -> Option<char> {
        self.chars.get(index).copied()
    }

    fn while_from(&self, from: usize, accept: impl Fn(char) -> bool) -> usize {
        let rest = self.chars.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|c| accept(**c)).count()
    }

    fn starts(&self, at: usize, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.at(at + i) == Some(c))
    }

    /// White space or a comment: its end.
    fn hidden(&self) -> Option<usize> {
        if self.starts(self.start, "//") {
            return Some(self.while_from(self.start, |c| c != '\n'));
        }
        let end = self.while_from(self.start, |c| matches!(c, '\t' | ' ' | '\r' | '\n' | '\u{c}'));
        (end > self.start).then_some(end)
    }

    /// The longest token here, or the index of the character at which all hope was lost.
    fn token(&self) -> Result<Token, usize> {
        let mut failed = self.start;
        let mut best: Option<(Kind, usize)> = None;
        let mut offer = |kind, result: Result<usize, usize>| match result {
            Ok(end) if best.is_none_or(|(_, longest)| end > longest) => best = Some((kind, end)),
            Ok(_) => {}
            Err(at) => failed = failed.max(at),
        };
        for (symbol, kind) in SYMBOLS {
            if self.starts(self.start, symbol) {
                offer(kind, Ok(self.start + symbol.len()));
            } else if symbol.len() == 2 && self.at(self.start) == symbol.chars().next() {
                offer(kind, Err(self.start + 1));
            }
        }
        offer(Kind::Ident, self.ident());
        for (word, kind) in
            [("in", Kind::In), ("true", Kind::True), ("false", Kind::False), ("null", Kind::Null)]
        {
            // Of two matches of one length the rule that is written first counts: a keyword is no identifier.
            if self.starts(self.start, word) && self.ident() == Ok(self.start + word.len()) {
                return Ok(Token { kind, start: self.start, end: self.start + word.len() });
            }
        }
        for (kind, end) in self.numbers() {
            offer(kind, Ok(end));
        }
        let bytes = matches!(self.at(self.start), Some('b' | 'B'));
        let (kind, from) = if bytes { (Kind::Bytes, self.start + 1) } else { (Kind::String, self.start) };
        offer(kind, self.string(from));
        offer(Kind::EscapedIdent, self.escaped_ident());
        match best {
            Some((kind, end)) => Ok(Token { kind, start: self.start, end }),
            None => Err(failed),
        }
    }

    fn ident(&self) -> Result<usize, usize> {
        match self.at(self.start) {
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                Ok(self.while_from(self.start, |c| c.is_ascii_alphanumeric() || c == '_'))
            }
            _ => Err(self.start),
        }
    }

    fn escaped_ident(&self) -> Result<usize, usize> {
        if self.at(self.start) != Some('`') {
            return Err(self.start);
        }
        let inside = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
        let end = self.while_from(self.start + 1, inside);
        if end > self.start + 1 && self.at(end) == Some('`') { Ok(end + 1) } else { Err(end) }
    }

    fn numbers(&self) -> Vec<(Kind, usize)> {
        let mut found = Vec::new();
        let whole = self.while_from(self.start, |c| c.is_ascii_digit());
        let mut integer = |end: usize| {
            found.push((Kind::Int, end));
            if matches!(self.at(end), Some('u' | 'U')) {
                found.push((Kind::Uint, end + 1));
            }
        };
        if whole > self.start {
            integer(whole);
        }
        if self.starts(self.start, "0x") {
            let end = self.while_from(self.start + 2, |c| c.is_ascii_hexdigit());
            if end > self.start + 2 {
                integer(end);
            }
        }
        let fraction = match self.at(whole) {
            Some('.') => self.while_from(whole + 1, |c| c.is_ascii_digit()),
            _ => whole,
        };
        let has_fraction = fraction > whole + 1;
        if has_fraction {
            found.push((Kind::Float, fraction));
        }
        if has_fraction || whole > self.start {
            let mantissa = if has_fraction { fraction } else { whole };
            if matches!(self.at(mantissa), Some('e' | 'E')) {
                let digits = mantissa + if matches!(self.at(mantissa + 1), Some('+' | '-')) { 2 } else { 1 };
                let end = self.while_from(digits, |c| c.is_ascii_digit());
                if end > digits {
                    found.push((Kind::Float, end));
                }
            }
        }
        found
    }

    fn string(&self, from: usize) -> Result<usize, usize> {
        let raw = matches!(self.at(from), Some('r' | 'R'));
        let open = if raw { from + 1 } else { from };
        let Some(quote @ ('"' | '\'')) = self.at(open) else { return Err(open) };
        let short = self.quoted(open + 1, quote, raw, false);
        if self.at(open + 1) == Some(quote) && self.at(open + 2) == Some(quote) {
            // Three quotes: the long form if it ends, else the empty string before them.
            return self.quoted(open + 3, quote, raw, true).or(short);
        }
        short
    }

    /// The end of a string whose content begins at `at`.
    fn quoted(&self, mut at: usize, quote: char, raw: bool, triple: bool) -> Result<usize, usize> {
        loop {
            let Some(c) = self.at(at) else { return Err(at) };
            if c == quote {
                if !triple {
                    return Ok(at + 1);
                }
                if self.at(at + 1) == Some(quote) && self.at(at + 2) == Some(quote) {
                    return Ok(at + 3);
                }
            }
            at = match c {
                '\\' if !raw => self.escape(at + 1)?,
                '\n' | '\r' if !triple => return Err(at),
                _ => at + 1,
            };
        }
    }

    /// The end of an escape sequence whose backslash stands before `at`.
    fn escape(&self, at: usize) -> Result<usize, usize> {
        let digits = |from: usize, count: usize, radix: u32| {
            let bad = (from..from + count).find(|i| !self.at(*i).is_some_and(|c| c.is_digit(radix)));
            bad.map_or(Ok(from + count), Err)
        };
        match self.at(at) {
            Some('a' | 'b' | 'f' | 'n' | 'r' | 't' | 'v' | '"' | '\'' | '\\' | '?' | '`') => Ok(at + 1),
            Some('x' | 'X') => digits(at + 1, 2, 16),
            Some('u') => digits(at + 1, 4, 16),
            Some('U') => digits(at + 1, 8, 16),
            Some('0'..='3') => digits(at + 1, 2, 8),
            _ => Err(at),
        }
    }
}
