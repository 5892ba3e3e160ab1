//! Regular expressions with the syntax and the meaning of Go's `regexp` (RE2).
//!
//! The `regex` crate follows the same rules but for some details, which are translated: Perl classes and word
//! boundaries are of ASCII, there is `\Q..\E` and octal escapes, and a class has no classes and operators in it.

use std::iter::Peekable;
use std::str::CharIndices;

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) struct Regex(::regex::Regex);

/// The highest repetition count that RE2 allows.
const MAX_REPEAT: u32 = 1000;

impl Regex {
    /// Compiles an expression; the error has Go's words.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let translated =
            Translator::new(pattern).run().map_err(|error| format!("error parsing regexp: {error}"))?;
        let built = ::regex::RegexBuilder::new(&translated).size_limit(10 << 20).build();
        built.map(Self).map_err(|_| {
            // What the translator let pass, Go would name in words of its own.
            format!("error parsing regexp: invalid or unsupported Perl syntax: `{pattern}`")
        })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text)
    }

    /// The first match.
    pub(super) fn find<'t>(&self, text: &'t str) -> Option<&'t str> {
        self.0.find(text).map(|found| found.as_str())
    }

    /// All matches that do not overlap.
    pub(super) fn find_all<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.0.find_iter(text).map(|found| found.as_str())
    }
}

const DIGIT: &str = "0-9";
const NOT_DIGIT: &str = r"\x00-/:-\x{10FFFF}";
const SPACE: &str = r"\t\n\x0C\r ";
const NOT_SPACE: &str = r"\x00-\x08\x0B\x0E-\x1F!-\x{10FFFF}";
const WORD: &str = "0-9A-Za-z_";
const NOT_WORD: &str = r"\x00-/:-@\[-\^`\{-\x{10FFFF}";

struct Translator<'a> {
    pattern: &'a str,
    chars: Peekable<CharIndices<'a>>,
    out: String,
    groups: usize,
    /// Whether something stands before that can be repeated, and where a repetition began that came last.
    repeatable: bool,
    repeated_at: Option<usize>,
}

type Translated<T> = Result<T, String>;

impl<'a> Translator<'a> {
    fn new(pattern: &'a str) -> Self {
        Self {
            pattern,
            chars: pattern.char_indices().peekable(),
            out: String::with_capacity(pattern.len()),
            groups: 0,
            repeatable: false,
            repeated_at: None,
        }
    }

    fn at(&mut self) -> usize {
        self.chars.peek().map_or(self.pattern.len(), |(at, _)| *at)
    }

    fn since(&mut self, from: usize) -> &'a str {
        let to = self.at();
        self.pattern.get(from..to).unwrap_or_default()
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().map(|(_, c)| *c)
    }

    fn rest(&mut self) -> &'a str {
        let at = self.at();
        self.pattern.get(at..).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.chars.next();
        }
    }

    fn run(mut self) -> Translated<String> {
        while let Some((at, c)) = self.chars.next() {
            match c {
                '\\' => self.escape(at)?,
                '[' => self.class(at)?,
                '(' => self.group(at)?,
                ')' => {
                    if self.groups == 0 {
                        return Err(format!("unexpected ): `{}`", self.pattern));
                    }
                    self.groups -= 1;
                    self.out.push(')');
                    self.item();
                }
                '*' | '+' | '?' => self.repeat(at, &c.to_string(), at + 1)?,
                '{' => self.braces(at)?,
                '|' => {
                    self.out.push('|');
                    self.repeatable = false;
                    self.repeated_at = None;
                }
                '}' | ']' => {
                    self.out.push('\\');
                    self.out.push(c);
                    self.item();
                }
                c => {
                    self.out.push(c);
                    self.item();
                }
            }
        }
        if self.groups > 0 {
            return Err(format!("missing closing ): `{}`", self.pattern));
        }
        Ok(self.out)
    }

    /// Notes that something can be repeated.
    fn item(&mut self) {
        self.repeatable = true;
        self.repeated_at = None;
    }

    fn repeat(&mut self, at: usize, operator: &str, end: usize) -> Translated<()> {
        if let Some(before) = self.repeated_at {
            let lazy = usize::from(self.peek() == Some('?'));
            let shown = self.pattern.get(before..end + lazy).unwrap_or_default();
            return Err(format!("invalid nested repetition operator: `{shown}`"));
        }
        if !self.repeatable {
            let shown = self.pattern.get(at..end).unwrap_or_default();
            return Err(format!("missing argument to repetition operator: `{shown}`"));
        }
        self.out.push_str(operator);
        if self.peek() == Some('?') {
            self.skip(1);
            self.out.push('?');
        }
        self.repeated_at = Some(at);
        Ok(())
    }

    /// `{n}`, `{n,}` or `{n,m}`; other braces stand for themselves.
    fn braces(&mut self, at: usize) -> Translated<()> {
        let rest = self.rest();
        let counts = rest.split_once('}').map(|(inside, _)| inside);
        let number = |text: &str| -> Option<u32> {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
            (plain && (text == "0" || !text.starts_with('0'))).then(|| text.parse().unwrap_or(u32::MAX))
        };
        let parsed = counts.and_then(|inside| match inside.split_once(',') {
            None => number(inside).map(|n| (n, Some(n))),
            Some((low, "")) => number(low).map(|n| (n, None)),
            Some((low, high)) => Some((number(low)?, Some(number(high)?))),
        });
        let (Some((low, high)), Some(inside)) = (parsed, counts) else {
            self.out.push_str("\\{");
            self.item();
            return Ok(());
        };
        let end = at + inside.len() + 2;
        if low > MAX_REPEAT || high.is_some_and(|high| high > MAX_REPEAT || high < low) {
            let shown = self.pattern.get(at..end).unwrap_or_default();
            return Err(format!("invalid repeat count: `{shown}`"));
        }
        self.skip(inside.chars().count() + 1);
        self.repeat(at, &format!("{{{inside}}}"), end)
    }

    fn group(&mut self, at: usize) -> Translated<()> {
        self.groups += 1;
        self.repeatable = false;
        self.repeated_at = None;
        if self.peek() != Some('?') {
            self.out.push('(');
            return Ok(());
        }
        let rest = self.rest();
        for open in ["?P<", "?<"] {
            if let Some(name) = rest.strip_prefix(open) {
                let Some((name, _)) = name.split_once('>') else {
                    let shown = self.pattern.get(at..).unwrap_or_default();
                    return Err(format!("invalid named capture: `{shown}`"));
                };
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    let end = at + 1 + open.len() + name.len() + 1;
                    let shown = self.pattern.get(at..end).unwrap_or_default();
                    return Err(format!("invalid named capture: `{shown}`"));
                }
                self.skip(open.len() + name.len() + 1);
                // The name is of no use here, and the crate is stricter about names.
                self.out.push('(');
                return Ok(());
            }
        }
        let flags: String =
            rest.chars().skip(1).take_while(|c| matches!(c, 'i' | 'm' | 's' | 'U' | '-')).collect();
        let end = rest.chars().nth(1 + flags.chars().count());
        let minus = flags.matches('-').count();
        let valid = minus <= 1
            && !flags.ends_with('-')
            && (end == Some(':') || end == Some(')') && !flags.is_empty());
        if !valid {
            let shown: String =
                self.pattern.get(at..).unwrap_or_default().chars().take(flags.chars().count() + 3).collect();
            return Err(format!("invalid or unsupported Perl syntax: `{shown}`"));
        }
        self.skip(2 + flags.chars().count());
        self.out.push_str("(?");
        self.out.push_str(&flags);
        if end == Some(':') {
            self.out.push(':');
        } else {
            self.out.push(')');
            self.groups -= 1;
        }
        Ok(())
    }

    /// What a backslash at `at` begins, outside of classes.
    fn escape(&mut self, at: usize) -> Translated<()> {
        let Some((_, c)) = self.chars.next() else {
            return Err("trailing backslash at end of expression: ``".to_owned());
        };
        let class = |out: &mut String, inside: &str| {
            out.push('[');
            out.push_str(inside);
            out.push(']');
        };
        match c {
            'd' => class(&mut self.out, DIGIT),
            'D' => class(&mut self.out, NOT_DIGIT),
            's' => class(&mut self.out, SPACE),
            'S' => class(&mut self.out, NOT_SPACE),
            'w' => class(&mut self.out, WORD),
            'W' => class(&mut self.out, NOT_WORD),
            'b' => self.out.push_str(r"(?-u:\b)"),
            'B' => self.out.push_str(r"(?-u:\B)"),
            'A' => self.out.push_str(r"\A"),
            'z' => self.out.push_str(r"\z"),
            'Q' => {
                let rest = self.rest();
                let (literal, closed) = rest.split_once("\\E").map_or((rest, false), |(l, _)| (l, true));
                self.skip(literal.chars().count() + if closed { 2 } else { 0 });
                if literal.is_empty() {
                    return Ok(());
                }
                self.out.push_str(&::regex::escape(literal));
            }
            'p' | 'P' => {
                let text = self.unicode_class(at)?;
                self.out.push_str(&text);
            }
            c => {
                let value = self.character(at, c)?;
                push_literal(&mut self.out, value);
            }
        }
        self.item();
        Ok(())
    }

    /// `\pN` or `\p{Name}`.
    fn unicode_class(&mut self, at: usize) -> Translated<String> {
        let rest = self.rest();
        let length = if rest.starts_with('{') {
            rest.find('}').map_or(rest.len(), |end| end + 1)
        } else {
            rest.chars().next().map_or(0, char::len_utf8)
        };
        let name = rest.get(..length).unwrap_or_default();
        self.skip(name.chars().count());
        let text = self.since(at).to_owned();
        let negated = text.replace("{^", "{");
        let usable = if negated == text {
            text.clone()
        } else if text.starts_with("\\p") {
            negated.replacen("\\p", "\\P", 1)
        } else {
            negated.replacen("\\P", "\\p", 1)
        };
        if ::regex::Regex::new(&usable).is_err() {
            return Err(format!("invalid character class range: `{text}`"));
        }
        Ok(usable)
    }

    /// A single character written with a backslash.
    fn character(&mut self, at: usize, c: char) -> Translated<char> {
        let simple = match c {
            'a' => '\u{7}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '0'..='7' => return self.octal(at, c),
            'x' => return self.hexadecimal(at),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
            _ => return Err(self.invalid_escape(at)),
        };
        Ok(simple)
    }

    fn invalid_escape(&mut self, at: usize) -> String {
        format!("invalid escape sequence: `{}`", self.since(at))
    }

    fn octal(&mut self, at: usize, first: char) -> Translated<char> {
        // A single digit other than 0 would refer back to a group.
        if first != '0' && !matches!(self.peek(), Some('0'..='7')) {
            return Err(self.invalid_escape(at));
        }
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            value = value * 8 + digit;
            self.skip(1);
        }
        char::from_u32(value).ok_or_else(|| self.invalid_escape(at))
    }

    fn hexadecimal(&mut self, at: usize) -> Translated<char> {
        let rest = self.rest();
        let (digits, length) = match rest.strip_prefix('{') {
            Some(inside) => {
                let digits = inside.split_once('}').map_or("", |(digits, _)| digits);
                (digits, digits.chars().count() + 2)
            }
            None => (rest.get(..2).unwrap_or_default(), 2),
        };
        let value = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        let good = digits.bytes().all(|b| b.is_ascii_hexdigit());
        match value.filter(|_| good) {
            Some(value) => {
                self.skip(length);
                Ok(value)
            }
            None => {
                self.skip(1);
                Err(self.invalid_escape(at))
            }
        }
    }

    fn class(&mut self, at: usize) -> Translated<()> {
        self.out.push('[');
        if self.peek() == Some('^') {
            self.skip(1);
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let Some((start, c)) = self.chars.next() else {
                let shown = self.pattern.get(at..).unwrap_or_default();
                return Err(format!("missing closing ]: `{shown}`"));
            };
            if c == ']' && !first {
                break;
            }
            // A hyphen stands for itself at the ends only.
            if c == '-' && !first && !matches!(self.peek(), Some(']') | None) {
                let shown: String = self.pattern.get(start..).unwrap_or_default().chars().take(2).collect();
                return Err(format!("invalid character class range: `{shown}`"));
            }
            first = false;
            if c == '[' && self.peek() == Some(':') && self.named_class(start)? {
                continue;
            }
            if c == '\\' && self.perl_class(start)? {
                continue;
            }
            let low = self.class_character(start, c)?;
            push_literal(&mut self.out, low);
            let rest = self.rest();
            if rest.starts_with('-') && !rest.starts_with("-]") && rest.len() > 1 {
                self.skip(1);
                let Some((start_high, c)) = self.chars.next() else { continue };
                let high = self.class_character(start_high, c)?;
                if high < low {
                    return Err(format!("invalid character class range: `{}`", self.since(start)));
                }
                self.out.push('-');
                push_literal(&mut self.out, high);
            }
        }
        self.out.push(']');
        self.item();
        Ok(())
    }

    fn class_character(&mut self, at: usize, c: char) -> Translated<char> {
        if c != '\\' {
            return Ok(c);
        }
        match self.chars.next() {
            Some((_, c)) => self.character(at, c),
            None => Err("trailing backslash at end of expression: ``".to_owned()),
        }
    }

    /// `[:alpha:]` in a class.
    fn named_class(&mut self, at: usize) -> Translated<bool> {
        let rest = self.rest();
        let Some(end) = rest.find(":]") else { return Ok(false) };
        let text = rest.get(..end + 2).unwrap_or_default();
        let name = text.trim_start_matches(':').trim_start_matches('^').trim_end_matches(":]");
        self.skip(text.chars().count());
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
            "space", "upper", "word", "xdigit",
        ];
        if !NAMES.contains(&name) {
            return Err(format!("invalid character class range: `{}`", self.since(at)));
        }
        self.out.push('[');
        self.out.push_str(text);
        Ok(true)
    }

    /// `\d` and the like in a class.
    fn perl_class(&mut self, at: usize) -> Translated<bool> {
        let inside = match self.peek() {
            Some('d') => DIGIT,
            Some('D') => NOT_DIGIT,
            Some('s') => SPACE,
            Some('S') => NOT_SPACE,
            Some('w') => WORD,
            Some('W') => NOT_WORD,
            Some('p' | 'P') => {
                self.skip(1);
                let text = self.unicode_class(at)?;
                self.out.push_str(&text);
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.skip(1);
        self.out.push_str(inside);
        Ok(true)
    }
}

fn push_literal(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else {
        out.push_str(&format!("\\x{:02X}", u32::from(c)));
    }
}
