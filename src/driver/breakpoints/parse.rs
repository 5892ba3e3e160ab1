//! Reads conditions. Whatever is typed, it answers with a condition or with what is wrong and where.
//!
//! ```text
//! or      = and { ("||" | "or") and }
//! and     = not { ("&&" | "and") not }
//! not     = ("!" | "not") not | "(" or ")" | term
//! term    = operand [ ("==" | "=" | "!=" | "~" | "!~" | "<" | "<=" | ">" | ">=") operand ]
//! operand = field | function "(" word ")" | word | "text" | number | duration
//! ```

use std::fmt;
use std::ops::Range;

use super::expr::{Expr, Field, Kind, Op, Operand, ScoreKind};
use crate::scheduler::trace::Phase;

/// How deep parentheses and negations may go.
const DEPTH_MAX: usize = 64;
/// How long a condition may be, in bytes.
const LENGTH_MAX: usize = 4_096;

/// Why a text is no condition. Its display form has the text with a caret under the place, and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    text: String,
    /// The place in the text, in bytes.
    pub at: Range<usize>,
    /// What is wrong.
    pub what: String,
}

impl ParseError {
    /// The column of the place, from 0.
    pub fn column(&self) -> usize {
        self.text.get(..self.at.start).map_or(0, |before| before.chars().count())
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marked = self.text.get(self.at.clone()).map_or(0, |part| part.chars().count());
        let indent = " ".repeat(self.column());
        write!(f, "{}\n{indent}{}\n{}", self.text, "^".repeat(marked.max(1)), self.what)
    }
}

impl std::error::Error for ParseError {}

/// Reads a condition.
pub(super) fn condition(text: &str) -> Result<Expr, ParseError> {
    let mut parser = Parser::new(text)?;
    if parser.tokens.is_empty() {
        return Err(parser.error(0..0, "there is no condition; write one such as node == a-1"));
    }
    let expr = parser.or(0)?;
    match parser.peek() {
        None => Ok(expr),
        Some(token) => {
            let at = token.at.clone();
            Err(parser.error(at, "&& or || is missing before this"))
        }
    }
}

/// Reads a field by itself, if the text is one.
pub(super) fn value(text: &str) -> Option<Operand> {
    let mut parser = Parser::new(text).ok()?;
    let operand = parser.operand(Side::Left).ok()?;
    parser.peek().is_none().then_some(operand)
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kinded {
    Word(String),
    Quoted(String),
    Op(Op),
    And,
    Or,
    Not,
    Open,
    Close,
}

#[derive(Clone, Debug)]
struct Token {
    what: Kinded,
    at: Range<usize>,
}

/// On which side of a comparison an operand stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
}

/// What may be in a word without quotes: names, labels, patterns, `Node/Update`.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '*' | '?' | ':' | '@' | '%' | '+')
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, ParseError> {
        let mut parser = Self { text, tokens: Vec::new(), next: 0 };
        if text.len() > LENGTH_MAX {
            return Err(parser.error(0..0, "this is longer than 4096 bytes"));
        }
        let mut rest = text.char_indices().peekable();
        while let Some((start, c)) = rest.next() {
            let mut then = |wanted: char| rest.next_if(|(_, c)| *c == wanted).is_some();
            let what = match c {
                c if c.is_whitespace() => continue,
                '(' => Kinded::Open,
                ')' => Kinded::Close,
                '&' => {
                    then('&');
                    Kinded::And
                }
                '|' => {
                    then('|');
                    Kinded::Or
                }
                '!' if then('=') => Kinded::Op(Op::NotEqual),
                '!' if then('~') => Kinded::Op(Op::NotLike),
                '!' => Kinded::Not,
                '=' => {
                    if then('~') {
                        Kinded::Op(Op::Like)
                    } else {
                        then('=');
                        Kinded::Op(Op::Equal)
                    }
                }
                '~' => Kinded::Op(Op::Like),
                '<' if then('=') => Kinded::Op(Op::LessOrEqual),
                '<' => Kinded::Op(Op::Less),
                '>' if then('=') => Kinded::Op(Op::GreaterOrEqual),
                '>' => Kinded::Op(Op::Greater),
                '"' | '\'' => {
                    let mut quoted = String::new();
                    loop {
                        match rest.next() {
                            Some((_, end)) if end == c => break,
                            Some((_, other)) => quoted.push(other),
                            None => {
                                return Err(parser.error(start..text.len(), "this text has no end"));
                            }
                        }
                    }
                    Kinded::Quoted(quoted)
                }
                c if is_word(c) => {
                    let mut word = String::from(c);
                    while let Some((_, c)) = rest.next_if(|(_, c)| is_word(*c)) {
                        word.push(c);
                    }
                    match word.as_str() {
                        "and" | "AND" => Kinded::And,
                        "or" | "OR" => Kinded::Or,
                        "not" | "NOT" => Kinded::Not,
                        _ => Kinded::Word(word),
                    }
                }
                other => {
                    let wrong = format!("{other:?} has no meaning here; put names with it in quotes");
                    return Err(parser.error(start..start + other.len_utf8(), wrong));
                }
            };
            let end = rest.peek().map_or(text.len(), |(at, _)| *at);
            parser.tokens.push(Token { what, at: start..end });
        }
        Ok(parser)
    }

    fn error(&self, at: Range<usize>, what: impl Into<String>) -> ParseError {
        ParseError { text: self.text.to_owned(), at, what: what.into() }
    }

    fn end(&self) -> Range<usize> {
        self.text.len()..self.text.len()
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.next).cloned();
        self.next += 1;
        token
    }

    fn take_if(&mut self, wanted: &Kinded) -> bool {
        let is_it = self.peek().is_some_and(|token| token.what == *wanted);
        self.next += usize::from(is_it);
        is_it
    }

    fn or(&mut self, depth: usize) -> Result<Expr, ParseError> {
        let mut left = self.and(depth)?;
        while self.take_if(&Kinded::Or) {
            left = Expr::Or(Box::new(left), Box::new(self.and(depth)?));
        }
        Ok(left)
    }

    fn and(&mut self, depth: usize) -> Result<Expr, ParseError> {
        let mut left = self.not(depth)?;
        while self.take_if(&Kinded::And) {
            left = Expr::And(Box::new(left), Box::new(self.not(depth)?));
        }
        Ok(left)
    }

    fn not(&mut self, depth: usize) -> Result<Expr, ParseError> {
        let at = self.peek().map_or_else(|| self.end(), |token| token.at.clone());
        if depth > DEPTH_MAX {
            return Err(self.error(at, "this is nested too deep"));
        }
        if self.take_if(&Kinded::Not) {
            return Ok(Expr::Not(Box::new(self.not(depth + 1)?)));
        }
        if self.take_if(&Kinded::Open) {
            let inner = self.or(depth + 1)?;
            if self.take_if(&Kinded::Close) {
                return Ok(inner);
            }
            let here = self.peek().map_or_else(|| self.end(), |token| token.at.clone());
            return Err(self.error(here, "a closing parenthesis is missing"));
        }
        self.term()
    }

    fn term(&mut self) -> Result<Expr, ParseError> {
        let left_at = self.peek().map_or_else(|| self.end(), |token| token.at.clone());
        let left = self.operand(Side::Left)?;
        let Some(Token { what: Kinded::Op(op), at }) = self.peek().cloned() else {
            return Ok(Expr::Is(left));
        };
        self.next += 1;
        let right_at = self.peek().map_or_else(|| self.end(), |token| token.at.clone());
        let right = self.operand(Side::Right)?;
        let right = self.fitting(&left, op, &at, right, right_at)?;
        if matches!(left, Operand::Field(_) | Operand::Label(_) | Operand::Score(..)) {
            return Ok(Expr::Compare { left, op, right });
        }
        Err(self.error(left_at, "a field stands at the left, such as pod, node or plugin"))
    }

    fn operand(&mut self, side: Side) -> Result<Operand, ParseError> {
        let wanted = if side == Side::Left { "a field such as pod or node" } else { "a value" };
        let Some(token) = self.take() else {
            return Err(self.error(self.end(), format!("{wanted} is missing here")));
        };
        let word = match token.what {
            Kinded::Word(word) => word,
            Kinded::Quoted(text) if side == Side::Right => return Ok(Operand::Text(text)),
            _ => return Err(self.error(token.at, format!("{wanted} stands here"))),
        };
        if self.peek().is_some_and(|next| next.what == Kinded::Open)
            && let Some(function) = Function::named(&word)
        {
            self.next += 1;
            return self.argument(function);
        }
        if let Some(field) = Field::named(&word) {
            return Ok(Operand::Field(field));
        }
        if side == Side::Right {
            return Ok(literal(word));
        }
        if Function::named(&word).is_some() {
            let at = token.at.end..token.at.end;
            return Err(self.error(at, format!("write {word}(PLUGIN), or label(KEY)")));
        }
        let fields: Vec<&str> = Field::ALL.iter().map(|field| field.name()).collect();
        let hint = nearest(&word, &fields).map_or_else(
            || format!("fields are {}", fields.join(", ")),
            |near| format!("did you mean {near}?"),
        );
        Err(self.error(token.at, format!("{word:?} is no field; {hint}")))
    }

    fn argument(&mut self, function: Function) -> Result<Operand, ParseError> {
        let argument = match self.take() {
            Some(Token { what: Kinded::Word(word) | Kinded::Quoted(word), .. }) => word,
            Some(token) => return Err(self.error(token.at, "a name stands between the parentheses")),
            None => return Err(self.error(self.end(), "a name stands between the parentheses")),
        };
        if !self.take_if(&Kinded::Close) {
            let at = self.peek().map_or_else(|| self.end(), |token| token.at.clone());
            return Err(self.error(at, "a closing parenthesis is missing"));
        }
        Ok(match function {
            Function::Label => Operand::Label(argument),
            Function::Score(kind) => Operand::Score(kind, argument),
        })
    }

    /// The right side as the left one wants it.
    fn fitting(
        &self,
        left: &Operand,
        op: Op,
        op_at: &Range<usize>,
        right: Operand,
        at: Range<usize>,
    ) -> Result<Operand, ParseError> {
        let kind = match left {
            Operand::Field(field) => field.kind(),
            Operand::Score(..) => Kind::Number,
            _ => Kind::Text,
        };
        let is_order = matches!(op, Op::Less | Op::LessOrEqual | Op::Greater | Op::GreaterOrEqual);
        let is_pattern = matches!(op, Op::Like | Op::NotLike);
        let is_amount = matches!(kind, Kind::Number | Kind::Duration);
        if is_order && !is_amount || is_pattern && (is_amount || kind == Kind::Flag) {
            let wanted = if is_order { "== or ~" } else { "==, < or >" };
            return Err(self.error(op_at.clone(), format!("{left} is compared by {wanted}")));
        }
        // A field as `chosen != last` has it.
        if matches!(right, Operand::Field(_) | Operand::Label(_) | Operand::Score(..)) {
            return Ok(right);
        }
        let wrong = |what: String| Err(self.error(at.clone(), what));
        let one_of = |names: &[&str], text: &str| {
            let known = names.iter().find(|name| name.eq_ignore_ascii_case(text));
            match known {
                Some(name) => Ok(Operand::Text((*name).to_owned())),
                None => wrong(format!("{text:?} is none of {}", names.join(", "))),
            }
        };
        match (kind, right) {
            (Kind::Number, number @ Operand::Number(_)) => Ok(number),
            (Kind::Number, _) => wrong(format!("{left} is a number")),
            (Kind::Duration, millis @ Operand::Millis(_)) => Ok(millis),
            (Kind::Duration, Operand::Number(seconds)) => Ok(Operand::Millis(seconds.saturating_mul(1_000))),
            (Kind::Duration, _) => wrong(format!("{left} is a duration such as 10s or 500ms")),
            (Kind::Flag, flag @ Operand::Flag(_)) => Ok(flag),
            (Kind::Flag, _) => wrong(format!("{left} is true or false")),
            (Kind::Code, Operand::Text(text)) if !is_pattern => one_of(&CODES, &text),
            (Kind::Outcome, Operand::Text(text)) if !is_pattern => one_of(&OUTCOMES, &text),
            (Kind::Point, Operand::Text(text)) if !is_pattern => {
                one_of(&Phase::ALL.map(Phase::as_str), &text)
            }
            (_, Operand::Text(text)) => Ok(Operand::Text(text)),
            // Names may look like numbers.
            (_, _) => Ok(Operand::Text(self.text.get(at).unwrap_or_default().trim().to_owned())),
        }
    }
}

/// The codes of a status.
const CODES: [&str; 7] =
    ["Success", "Error", "Unschedulable", "UnschedulableAndUnresolvable", "Wait", "Skip", "Pending"];
/// How attempts end.
const OUTCOMES: [&str; 4] = ["Bound", "Unschedulable", "Error", "Skipped"];

#[derive(Clone, Copy)]
enum Function {
    Label,
    Score(ScoreKind),
}

impl Function {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "label" => Self::Label,
            "score" => Self::Score(ScoreKind::Normalized),
            "raw" => Self::Score(ScoreKind::Raw),
            "weighted" => Self::Score(ScoreKind::Weighted),
            _ => return None,
        })
    }
}

fn literal(word: String) -> Operand {
    if let Ok(number) = word.parse() {
        return Operand::Number(number);
    }
    match word.as_str() {
        "true" | "yes" => return Operand::Flag(true),
        "false" | "no" => return Operand::Flag(false),
        _ => {}
    }
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];
    let duration = units.into_iter().find_map(|(unit, millis)| {
        let number: i64 = word.strip_suffix(unit)?.parse().ok()?;
        Some(number.saturating_mul(millis))
    });
    duration.map_or(Operand::Text(word), Operand::Millis)
}

/// The name that is nearest to what was typed, if one is near.
fn nearest<'n>(typed: &str, names: &[&'n str]) -> Option<&'n str> {
    let begins = |name: &&&str| typed.len() > 1 && name.starts_with(typed);
    if let Some(name) = names.iter().find(begins) {
        return Some(name);
    }
    let distances = names.iter().map(|name| (distance(typed, name), *name));
    distances.filter(|(distance, name)| *distance <= 1 + name.len() / 4).min().map(|(_, name)| name)
}

/// How many letters have to be changed, put in or left out.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        if let Some(first) = row.first_mut() {
            *first = left;
        }
        for (cell, y) in row.iter_mut().skip(1).zip(&b) {
            let changed = diagonal + usize::from(x != *y);
            diagonal = *cell;
            left = changed.min(diagonal + 1).min(left + 1);
            *cell = left;
        }
    }
    row.last().copied().unwrap_or_default()
}
