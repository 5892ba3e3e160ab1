//! What happens at a token that does not fit: which words are said, and where reading goes on.
//!
//! After ANTLR's default error strategy as cel-go limits it: one superfluous token is skipped, one missing token is
//! made up, and else everything up to something that can follow is skipped. Between an error and the next token that
//! fits nothing is told.

use super::lexer::{Kind, Token};
use super::source::{Issue, Source};

/// A set of kinds of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Set(u64);

impl Set {
    pub(super) const fn of(kinds: &[Kind]) -> Self {
        let mut bits = 0;
        let mut i = 0;
        while i < kinds.len() {
            bits |= 1 << kinds[i] as u8;
            i += 1;
        }
        Self(bits)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn has(self, kind: Kind) -> bool {
        self.0 >> (kind as u8) & 1 == 1
    }

    fn text(self) -> String {
        let names: Vec<&str> = ALL.iter().filter(|kind| self.has(**kind)).map(|kind| kind.name()).collect();
        match names.as_slice() {
            [one] => (*one).to_owned(),
            many => format!("{{{}}}", many.join(", ")),
        }
    }
}

const ALL: [Kind; 36] = [
    Kind::Eof,
    Kind::Equals,
    Kind::NotEquals,
    Kind::In,
    Kind::Less,
    Kind::LessEquals,
    Kind::GreaterEquals,
    Kind::Greater,
    Kind::And,
    Kind::Or,
    Kind::LeftBracket,
    Kind::RightBracket,
    Kind::LeftBrace,
    Kind::RightBrace,
    Kind::LeftParen,
    Kind::RightParen,
    Kind::Dot,
    Kind::Comma,
    Kind::Minus,
    Kind::Not,
    Kind::Question,
    Kind::Colon,
    Kind::Plus,
    Kind::Star,
    Kind::Slash,
    Kind::Percent,
    Kind::True,
    Kind::False,
    Kind::Null,
    Kind::Float,
    Kind::Int,
    Kind::Uint,
    Kind::String,
    Kind::Bytes,
    Kind::Ident,
    Kind::EscapedIdent,
];

/// Why a rule of the grammar could not be read to its end.
#[derive(Debug)]
pub(super) enum Failed {
    /// The token at hand is none of these.
    Mismatch(Set),
    /// No alternative fits what begins at this token; the second one is the token that ruled out the last.
    NoAlternative { from: usize, at: usize },
    /// Reading ends here altogether.
    Abort,
}

/// The tokens, and the state of recovery from errors.
pub(super) struct Tokens<'a> {
    source: &'a Source,
    tokens: Vec<Token>,
    at: usize,
    pub(super) issues: Vec<Issue>,
    recovering: bool,
    attempts: usize,
    syntax_errors: usize,
    last_error: Option<usize>,
    last_rules: u32,
}

/// After how many recoveries reading ends.
const MAX_ATTEMPTS: usize = 30;
/// After how many syntax errors reading ends.
const MAX_ERRORS: usize = 100;
/// How many tokens one recovery skips at most.
const MAX_SKIPPED: usize = 256;

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a Source, tokens: Vec<Token>, issues: Vec<Issue>) -> Self {
        Self {
            source,
            tokens,
            at: 0,
            syntax_errors: issues.len(),
            issues,
            recovering: false,
            attempts: 0,
            last_error: None,
            last_rules: 0,
        }
    }

    fn token(&self, ahead: usize) -> Token {
        let last = Token { kind: Kind::Eof, start: self.source.chars.len(), end: self.source.chars.len() };
        self.tokens.get(self.at + ahead).copied().unwrap_or(last)
    }

    pub(super) fn kind(&self, ahead: usize) -> Kind {
        self.token(ahead).kind
    }

    pub(super) fn current(&self) -> Token {
        self.token(0)
    }

    pub(super) fn index(&self) -> usize {
        self.at
    }

    pub(super) fn text(&self, token: Token) -> String {
        self.source.chars.get(token.start..token.end).unwrap_or_default().iter().collect()
    }

    /// Takes the token at hand, which fits.
    pub(super) fn take(&mut self) -> Token {
        self.recovering = false;
        self.last_error = None;
        self.last_rules = 0;
        self.skip()
    }

    fn skip(&mut self) -> Token {
        let token = self.current();
        if token.kind != Kind::Eof {
            self.at += 1;
        }
        token
    }

    /// Takes the token at hand if it is of this kind.
    pub(super) fn take_if(&mut self, kind: Kind) -> Option<Token> {
        (self.kind(0) == kind).then(|| self.take())
    }

    /// Takes a token that has to be there; `follow` are those that may come after it.
    pub(super) fn expect(&mut self, kind: Kind, follow: Set) -> Result<Token, Failed> {
        if self.kind(0) == kind {
            return Ok(self.take());
        }
        self.count_attempt()?;
        if self.superfluous(Set::of(&[kind]))? {
            return Ok(self.take());
        }
        let token = self.current();
        if follow.has(token.kind) {
            self.complain(token, |shown| format!("missing {} at {shown}", kind.name()))?;
            return Ok(Token { kind, start: token.start, end: token.start });
        }
        Err(Failed::Mismatch(Set::of(&[kind])))
    }

    /// Looks whether the token at hand is one of these, and skips one that is too much.
    pub(super) fn sync(&mut self, expected: Set) -> Result<(), Failed> {
        if self.recovering || expected.has(self.kind(0)) || self.superfluous(expected)? {
            return Ok(());
        }
        Err(Failed::Mismatch(expected))
    }

    /// Looks whether what follows a repeated token fits, and if not, skips until something does.
    pub(super) fn sync_repeated(&mut self, expected: Set, recovery: Set) -> Result<(), Failed> {
        if !self.recovering && !expected.has(self.kind(0)) {
            let token = self.current();
            self.complain(token, |shown| format!("extraneous input {shown} expecting {}", expected.text()))?;
            self.skip_until(expected.and(recovery))?;
        }
        Ok(())
    }

    /// Skips the token at hand if the next one is what is expected.
    fn superfluous(&mut self, expected: Set) -> Result<bool, Failed> {
        let token = self.current();
        if token.kind == Kind::Eof || !expected.has(self.kind(1)) {
            return Ok(false);
        }
        self.complain(token, |shown| format!("extraneous input {shown} expecting {}", expected.text()))?;
        self.skip();
        self.recovering = false;
        self.last_error = None;
        self.last_rules = 0;
        Ok(true)
    }

    fn count_attempt(&mut self) -> Result<(), Failed> {
        if self.attempts == MAX_ATTEMPTS {
            let place = Some(self.current().start);
            let message = format!("Syntax error: error recovery attempt limit exceeded: {MAX_ATTEMPTS}");
            self.issues.push(Issue { place, message });
            return Err(Failed::Abort);
        }
        self.attempts += 1;
        Ok(())
    }

    fn complain(&mut self, token: Token, message: impl FnOnce(String) -> String) -> Result<(), Failed> {
        if self.recovering {
            return Ok(());
        }
        self.recovering = true;
        let shown = self.shown(token);
        self.syntax_error(token, &message(shown))
    }

    fn syntax_error(&mut self, token: Token, message: &str) -> Result<(), Failed> {
        let place = Some(token.start);
        if self.syntax_errors >= MAX_ERRORS {
            let message = format!("Syntax error: More than {MAX_ERRORS} syntax errors");
            self.issues.push(Issue { place, message });
            return Err(Failed::Abort);
        }
        self.syntax_errors += 1;
        self.issues.push(Issue { place, message: format!("Syntax error: {message}") });
        Ok(())
    }

    fn shown(&self, token: Token) -> String {
        let text = if token.kind == Kind::Eof { "<EOF>".to_owned() } else { self.text(token) };
        format!("'{}'", escaped(&text))
    }

    /// Tells why a rule failed, and skips to something that can follow it. `rule` is a number for the rule.
    pub(super) fn recover(&mut self, failed: &Failed, rule: u32, recovery: Set) -> Result<(), Failed> {
        match *failed {
            Failed::Abort => return Err(Failed::Abort),
            Failed::Mismatch(expected) => {
                let token = self.current();
                self.complain(token, |shown| {
                    format!("mismatched input {shown} expecting {}", expected.text())
                })?;
            }
            Failed::NoAlternative { from, at } => {
                let end = self.token(at - self.at);
                let start = self.token(from - self.at).start;
                let text: String = self.source.chars.get(start..end.end).unwrap_or_default().iter().collect();
                let reserved = ["true", "false", "null"]
                    .into_iter()
                    .find(|word| text.chars().count() == word.len() + 1 && text.ends_with(word));
                self.complain(end, |_| match reserved {
                    Some(word) => format!("mismatched input '{word}' expecting IDENTIFIER"),
                    None => format!("no viable alternative at input '{}'", escaped(&text)),
                })?;
            }
        }
        self.count_attempt()?;
        if self.last_error == Some(self.at) && self.last_rules >> rule & 1 == 1 {
            self.skip();
        }
        self.last_error = Some(self.at);
        self.last_rules |= 1 << rule;
        self.skip_until(recovery)
    }

    fn skip_until(&mut self, stop: Set) -> Result<(), Failed> {
        let mut skipped = 0;
        while self.kind(0) != Kind::Eof && !stop.has(self.kind(0)) {
            if skipped >= MAX_SKIPPED {
                let message = format!("error recovery token lookahead limit exceeded: {MAX_SKIPPED}");
                self.issues.push(Issue { place: None, message });
                return Err(Failed::Abort);
            }
            skipped += 1;
            self.skip();
        }
        Ok(())
    }
}

/// A text with line ends and tabs made visible.
pub(super) fn escaped(text: &str) -> String {
    text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}
