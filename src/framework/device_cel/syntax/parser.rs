//! The parser: a function per rule of cel-go's grammar.

use std::sync::Arc;

use super::super::deep::deep;
use super::ast::{Element, Entry, Expr, ExprKind, Field, Id, Literal, operator};
use super::escape::unescape;
use super::lexer::{Kind, Token, tokens};
use super::recovery::{Failed, Set, Tokens};
use super::source::{Issue, Place, Source};

/// How long an expression may be, in characters.
const MAX_LENGTH: usize = 100_000;
/// How deep rules, and how deep nodes, may be nested.
const MAX_DEPTH: u32 = 250;

/// A parsed expression: the tree, and the place of every node.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) root: Expr,
    pub(crate) places: Vec<Place>,
}

/// Reads an expression.
pub(crate) fn parse(source: &Source) -> Result<Parsed, Vec<Issue>> {
    if source.chars.len() > MAX_LENGTH {
        let message = format!(
            "expression code point size exceeds limit: size: {}, limit {MAX_LENGTH}",
            source.chars.len()
        );
        return Err(vec![Issue { place: None, message }]);
    }
    let mut issues = Vec::new();
    let list = tokens(source, &mut issues);
    let mut parser = Parser {
        tokens: Tokens::new(source, list, issues),
        places: Vec::new(),
        depth: [0; 5],
        after: Set::of(&[Kind::Eof]),
        recovery: Set::of(&[Kind::Eof]),
    };
    let root = parser.start();
    let issues = parser.tokens.issues;
    match root {
        Ok(root) if issues.is_empty() => Ok(Parsed { root, places: parser.places }),
        _ => Err(issues),
    }
}

/// A node, and how deep it nests nodes that count for the limit.
pub(super) struct Node {
    pub(super) expr: Expr,
    depth: u32,
}

pub(super) struct Parser<'a> {
    tokens: Tokens<'a>,
    pub(super) places: Vec<Place>,
    depth: [u32; 5],
    /// What may come right after the expression that is being read.
    after: Set,
    /// Where reading can go on after an error: all that any enclosing rule waits for.
    recovery: Set,
}

/// The rules whose depth counts, and those that recover.
#[derive(Clone, Copy)]
enum Rule {
    Expr,
    Relation,
    Calc,
    Member,
    Primary,
    Unary,
    Start,
    FieldName,
}

const FIRST: Set = Set::of(&[
    Kind::LeftBracket,
    Kind::LeftBrace,
    Kind::LeftParen,
    Kind::Dot,
    Kind::Minus,
    Kind::Not,
    Kind::True,
    Kind::False,
    Kind::Null,
    Kind::Float,
    Kind::Int,
    Kind::Uint,
    Kind::String,
    Kind::Bytes,
    Kind::Ident,
]);
const RELATION: Set = Set::of(&[
    Kind::Less,
    Kind::LessEquals,
    Kind::GreaterEquals,
    Kind::Greater,
    Kind::Equals,
    Kind::NotEquals,
    Kind::In,
]);
const SUMS: Set = Set::of(&[Kind::Plus, Kind::Minus]);
const PRODUCTS: Set = Set::of(&[Kind::Star, Kind::Slash, Kind::Percent]);
const OPERATORS: Set = RELATION.and(SUMS).and(PRODUCTS).and(Set::of(&[Kind::And, Kind::Or]));
const SUFFIX: Set = Set::of(&[Kind::Dot, Kind::LeftBracket]);
const QUESTION: Set = Set::of(&[Kind::Question]);
const NAMES: Set = Set::of(&[Kind::Ident, Kind::EscapedIdent]);

/// Names that may not be used for variables and functions.
const RESERVED: [&str; 21] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

type Read<T> = Result<T, Failed>;

impl Parser<'_> {
    pub(super) fn new_id(&mut self, place: Place) -> Id {
        self.places.push(place);
        self.places.len() - 1
    }

    pub(super) fn place(&self, id: Id) -> Place {
        self.places.get(id).copied().flatten()
    }

    fn leaf(&mut self, place: usize, kind: ExprKind) -> Node {
        self.node(Some(place), kind, 0)
    }

    fn node(&mut self, place: Place, kind: ExprKind, depth: u32) -> Node {
        Node { expr: Expr { id: self.new_id(place), kind }, depth }
    }

    /// Tells an error that is none of syntax.
    fn report(&mut self, place: Place, message: String) -> Node {
        self.tokens.issues.push(Issue { place, message });
        self.node(place, ExprKind::Broken, 0)
    }

    fn start(&mut self) -> Read<Expr> {
        let node = self.expr()?;
        if let Err(failed) = self.tokens.expect(Kind::Eof, Set::of(&[])) {
            self.tokens.recover(&failed, Rule::Start as u32, Set::of(&[]))?;
        }
        if node.depth > MAX_DEPTH {
            self.report(None, "max recursion depth exceeded".to_owned());
        }
        Ok(node.expr)
    }

    fn enter(&mut self, rule: Rule) -> Read<()> {
        let Some(depth) = self.depth.get_mut(rule as usize) else { return Ok(()) };
        *depth += 1;
        if *depth > MAX_DEPTH {
            let message = format!("expression recursion limit exceeded: {MAX_DEPTH}");
            self.tokens.issues.push(Issue { place: None, message });
            return Err(Failed::Abort);
        }
        Ok(())
    }

    fn leave(&mut self, rule: Rule) {
        if let Some(depth) = self.depth.get_mut(rule as usize) {
            *depth = depth.saturating_sub(1);
        }
    }

    /// Ends a rule: recovers from its failure.
    fn finish(&mut self, rule: Rule, recovery: Set, result: Read<Node>) -> Read<Node> {
        match result {
            Ok(node) => Ok(node),
            Err(failed) => {
                let place = self.tokens.current().start;
                self.tokens.recover(&failed, rule as u32, recovery)?;
                Ok(self.leaf(place, ExprKind::Broken))
            }
        }
    }

    /// Reads something that is followed by one of `after`.
    fn followed_by<T>(&mut self, after: Set, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        let (outer_after, outer_recovery) = (self.after, self.recovery);
        self.after = after;
        self.recovery = outer_recovery.and(after).and(OPERATORS);
        let result = read(self);
        (self.after, self.recovery) = (outer_after, outer_recovery);
        result
    }

    /// What may come after a complete operand here.
    fn operand_follow(&self) -> Set {
        SUFFIX.and(OPERATORS).and(self.after)
    }

    fn expr(&mut self) -> Read<Node> {
        self.enter(Rule::Expr)?;
        let result = deep(|| self.conditional());
        self.leave(Rule::Expr);
        self.finish(Rule::Expr, self.recovery, result)
    }

    fn conditional(&mut self) -> Read<Node> {
        let after = self.after;
        let condition = self.followed_by(after.and(QUESTION), Self::or)?;
        let Some(question) = self.tokens.take_if(Kind::Question) else { return Ok(condition) };
        let id = self.new_id(Some(question.start));
        let yes = self.followed_by(Set::of(&[Kind::Colon]), Self::or)?;
        self.tokens.expect(Kind::Colon, FIRST)?;
        let no = self.expr()?;
        let depth = 1 + condition.depth.max(yes.depth).max(no.depth);
        let args = vec![condition.expr, yes.expr, no.expr];
        let expr = self.call_or_macro(id, operator::CONDITIONAL.to_owned(), None, args);
        Ok(Node { expr, depth })
    }

    fn or(&mut self) -> Read<Node> {
        self.logical(Kind::Or, operator::OR, |parser| {
            parser.logical(Kind::And, operator::AND, Self::relation)
        })
    }

    /// Terms between `&&` or `||`, made into a balanced tree.
    fn logical(&mut self, kind: Kind, function: &str, term: impl Fn(&mut Self) -> Read<Node>) -> Read<Node> {
        let first = term(self)?;
        let mut depth = first.depth;
        let mut terms = vec![Some(first.expr)];
        let mut operators = Vec::new();
        while let Some(token) = self.tokens.take_if(kind) {
            let next = term(self)?;
            depth = depth.max(next.depth);
            terms.push(Some(next.expr));
            operators.push(self.new_id(Some(token.start)));
        }
        Ok(Node { expr: balanced(function, &mut terms, &operators), depth })
    }

    fn relation(&mut self) -> Read<Node> {
        self.enter(Rule::Relation)?;
        let mut left = self.calc(0)?;
        while RELATION.has(self.tokens.kind(0)) {
            let token = self.tokens.take();
            let function = match token.kind {
                Kind::Less => operator::LESS,
                Kind::LessEquals => operator::LESS_EQUALS,
                Kind::Greater => operator::GREATER,
                Kind::GreaterEquals => operator::GREATER_EQUALS,
                Kind::Equals => operator::EQUALS,
                Kind::NotEquals => operator::NOT_EQUALS,
                _ => operator::IN,
            };
            let id = self.new_id(Some(token.start));
            self.enter(Rule::Relation)?;
            let right = self.calc(0)?;
            self.leave(Rule::Relation);
            left = self.binary(id, function, left, right);
        }
        self.leave(Rule::Relation);
        Ok(left)
    }

    fn binary(&mut self, id: Id, function: &str, left: Node, right: Node) -> Node {
        let depth = 1 + left.depth.max(right.depth);
        let expr = self.call_or_macro(id, function.to_owned(), None, vec![left.expr, right.expr]);
        Node { expr, depth }
    }

    /// Sums (`level` 0) or products (`level` 1).
    fn calc(&mut self, level: u32) -> Read<Node> {
        self.enter(Rule::Calc)?;
        let mut left = self.unary()?;
        loop {
            let kind = self.tokens.kind(0);
            if !(PRODUCTS.has(kind) || level == 0 && SUMS.has(kind)) {
                break;
            }
            let token = self.tokens.take();
            let (function, right_level) = match token.kind {
                Kind::Plus => (operator::ADD, 1),
                Kind::Minus => (operator::SUBTRACT, 1),
                Kind::Star => (operator::MULTIPLY, 2),
                Kind::Slash => (operator::DIVIDE, 2),
                _ => (operator::MODULO, 2),
            };
            let id = self.new_id(Some(token.start));
            let right = if right_level == 1 { self.calc(1)? } else { self.factor()? };
            left = self.binary(id, function, left, right);
        }
        self.leave(Rule::Calc);
        Ok(left)
    }

    fn factor(&mut self) -> Read<Node> {
        self.enter(Rule::Calc)?;
        let result = self.unary();
        self.leave(Rule::Calc);
        result
    }

    fn unary(&mut self) -> Read<Node> {
        let result = self.unary_inner();
        self.finish(Rule::Unary, self.recovery, result)
    }

    fn unary_inner(&mut self) -> Read<Node> {
        self.tokens.sync(FIRST)?;
        let kind = self.tokens.kind(0);
        let next = self.tokens.kind(1);
        if kind == Kind::Minus && !FIRST_PRIMARY.has(next) {
            let at = self.tokens.index();
            return Err(Failed::NoAlternative { from: at, at: at + 1 });
        }
        let function = match kind {
            Kind::Not => operator::NOT,
            Kind::Minus if !matches!(next, Kind::Int | Kind::Float) => operator::NEGATE,
            _ => return self.member(),
        };
        let mut operators = Vec::new();
        while self.tokens.kind(0) == kind {
            operators.push(self.tokens.take());
            let operand = if kind == Kind::Not { FIRST } else { FIRST_AFTER_MINUS };
            self.tokens.sync_repeated(operand, self.recovery)?;
        }
        let operand = self.member()?;
        match operators.first() {
            Some(first) if operators.len() % 2 == 1 => {
                let id = self.new_id(Some(first.start));
                let expr = self.call_or_macro(id, function.to_owned(), None, vec![operand.expr]);
                Ok(Node { expr, depth: operand.depth })
            }
            _ => Ok(operand),
        }
    }

    fn member(&mut self) -> Read<Node> {
        self.enter(Rule::Member)?;
        let result = self.member_inner();
        self.leave(Rule::Member);
        self.finish(Rule::Member, self.recovery, result)
    }

    fn member_inner(&mut self) -> Read<Node> {
        let mut node = self.primary()?;
        loop {
            if !SUFFIX.has(self.tokens.kind(0)) {
                return Ok(node);
            }
            let at = self.tokens.index();
            let next = self.tokens.kind(1);
            if self.tokens.kind(0) == Kind::Dot && next != Kind::Question && !NAMES.has(next) {
                return Err(Failed::NoAlternative { from: at, at: at + 1 });
            }
            node = if self.tokens.kind(0) == Kind::LeftBracket {
                self.index_of(node)?
            } else if next == Kind::Ident && self.tokens.kind(2) == Kind::LeftParen {
                self.member_call(node)?
            } else {
                self.select(node)?
            };
        }
    }

    fn select(&mut self, operand: Node) -> Read<Node> {
        let dot = self.tokens.take();
        let optional = self.tokens.take_if(Kind::Question).is_some();
        let depth = operand.depth + 1;
        let (token, field) = self.field_name()?;
        if optional {
            let id = self.new_id(Some(dot.start));
            let field = self.leaf(token.start, ExprKind::Literal(Literal::String(field.into())));
            let kind = ExprKind::Call {
                target: None,
                function: operator::OPTIONAL_SELECT.to_owned(),
                args: vec![operand.expr, field.expr],
            };
            return Ok(Node { expr: Expr { id, kind }, depth });
        }
        let kind = ExprKind::Select { operand: Box::new(operand.expr), field, test_only: false };
        Ok(self.node(Some(dot.start), kind, depth))
    }

    /// The name of a field, after a dot or in a message.
    fn field_name(&mut self) -> Read<(Token, String)> {
        if let Err(failed) = self.tokens.sync(NAMES) {
            let token = self.tokens.current();
            self.tokens.recover(&failed, Rule::FieldName as u32, self.recovery.and(SUFFIX))?;
            return Ok((token, String::new()));
        }
        let token = self.tokens.take();
        let text = self.tokens.text(token);
        if token.kind == Kind::EscapedIdent {
            self.report(Some(token.start), "unsupported syntax: '`'".to_owned());
            return Ok((token, String::new()));
        }
        Ok((token, text))
    }

    fn member_call(&mut self, target: Node) -> Read<Node> {
        self.tokens.take();
        let name = self.tokens.take();
        let function = self.tokens.text(name);
        let open = self.tokens.take();
        let id = self.new_id(Some(open.start));
        let (args, depth) = self.arguments()?;
        let depth = 1 + depth.max(target.depth);
        let expr = self.call_or_macro(id, function, Some(target.expr), args);
        Ok(Node { expr, depth })
    }

    fn index_of(&mut self, target: Node) -> Read<Node> {
        let open = self.tokens.take();
        let id = self.new_id(Some(open.start));
        self.tokens.sync(FIRST.and(QUESTION))?;
        let optional = self.tokens.take_if(Kind::Question).is_some();
        let index = self.followed_by(Set::of(&[Kind::RightBracket]), Self::expr)?;
        self.tokens.expect(Kind::RightBracket, self.operand_follow())?;
        let function = if optional { operator::OPTIONAL_INDEX } else { operator::INDEX };
        Ok(self.binary(id, function, target, index))
    }

    /// Arguments of a call up to the closing parenthesis, and how deep they are.
    fn arguments(&mut self) -> Read<(Vec<Expr>, u32)> {
        let close = Set::of(&[Kind::RightParen]);
        self.tokens.sync(FIRST.and(close))?;
        let mut args = Vec::new();
        let mut depth = 0;
        if FIRST.has(self.tokens.kind(0)) {
            loop {
                let node = self.followed_by(close.and(Set::of(&[Kind::Comma])), Self::expr)?;
                depth = depth.max(node.depth);
                args.push(node.expr);
                if self.tokens.take_if(Kind::Comma).is_none() {
                    break;
                }
            }
        }
        self.tokens.expect(Kind::RightParen, self.operand_follow())?;
        Ok((args, depth))
    }

    fn primary(&mut self) -> Read<Node> {
        self.enter(Rule::Primary)?;
        let result = self.primary_inner();
        self.leave(Rule::Primary);
        self.finish(Rule::Primary, self.recovery.and(SUFFIX), result)
    }

    fn primary_inner(&mut self) -> Read<Node> {
        self.tokens.sync(FIRST_PRIMARY)?;
        let token = self.tokens.current();
        match token.kind {
            Kind::Dot | Kind::Ident => self.named(),
            Kind::LeftParen => {
                self.tokens.take();
                let node = self.followed_by(Set::of(&[Kind::RightParen]), Self::expr)?;
                self.tokens.expect(Kind::RightParen, self.operand_follow())?;
                Ok(node)
            }
            Kind::LeftBracket => self.list(),
            Kind::LeftBrace => self.map(),
            Kind::Minus if !matches!(self.tokens.kind(1), Kind::Int | Kind::Float) => {
                let at = self.tokens.index();
                Err(Failed::NoAlternative { from: at, at: at + 1 })
            }
            Kind::Minus | Kind::Int | Kind::Float => Ok(self.number()),
            Kind::Uint => {
                self.tokens.take();
                let text = self.tokens.text(token);
                let value = unsigned(text.trim_end_matches(['u', 'U']));
                Ok(match value {
                    Some(value) => self.leaf(token.start, ExprKind::Literal(Literal::Uint(value))),
                    None => self.report(Some(token.start), "invalid uint literal".to_owned()),
                })
            }
            Kind::String | Kind::Bytes => Ok(self.text_literal()),
            Kind::True | Kind::False | Kind::Null => {
                self.tokens.take();
                let literal = match token.kind {
                    Kind::Null => Literal::Null,
                    kind => Literal::Bool(kind == Kind::True),
                };
                Ok(self.leaf(token.start, ExprKind::Literal(literal)))
            }
            _ => Err(Failed::Mismatch(FIRST_PRIMARY)),
        }
    }

    fn number(&mut self) -> Node {
        let first = self.tokens.take();
        let negative = first.kind == Kind::Minus;
        let token = if negative { self.tokens.take() } else { first };
        let text = self.tokens.text(token);
        let sign = if negative { "-" } else { "" };
        if token.kind == Kind::Float {
            let value: Option<f64> = format!("{sign}{text}").parse().ok().filter(|v: &f64| v.is_finite());
            return match value {
                Some(value) => self.leaf(first.start, ExprKind::Literal(Literal::Double(value))),
                None => self.report(Some(first.start), "invalid double literal".to_owned()),
            };
        }
        let value = match text.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(&format!("{sign}{digits}"), 16),
            None => format!("{sign}{text}").parse(),
        };
        match value {
            Ok(value) => self.leaf(first.start, ExprKind::Literal(Literal::Int(value))),
            Err(_) => self.report(Some(first.start), "invalid int literal".to_owned()),
        }
    }

    fn text_literal(&mut self) -> Node {
        let token = self.tokens.take();
        let text = self.tokens.text(token);
        let bytes = token.kind == Kind::Bytes;
        let literal = if bytes { text.get(1..).unwrap_or_default() } else { &text };
        let value = match unescape(literal, bytes) {
            Ok(value) => value,
            Err(message) => return self.report(Some(token.start), message.to_owned()),
        };
        let literal = if bytes {
            Literal::Bytes(value.into())
        } else {
            Literal::String(Arc::from(String::from_utf8_lossy(&value)))
        };
        self.leaf(token.start, ExprKind::Literal(literal))
    }

    /// A variable, a function call or a message, perhaps with a leading dot.
    fn named(&mut self) -> Read<Node> {
        let first = self.tokens.current();
        let at = self.tokens.index();
        let lead = usize::from(first.kind == Kind::Dot);
        if lead == 1 && self.tokens.kind(1) != Kind::Ident {
            return Err(Failed::NoAlternative { from: at, at: at + 1 });
        }
        let mut last = lead;
        while self.tokens.kind(last + 1) == Kind::Dot && self.tokens.kind(last + 2) == Kind::Ident {
            last += 2;
        }
        if self.tokens.kind(last + 1) == Kind::LeftBrace {
            return self.message(lead == 1, last);
        }
        if lead == 1 {
            self.tokens.take();
        }
        let token = self.tokens.take();
        let name = self.tokens.text(token);
        let reserved = RESERVED.contains(&name.as_str());
        let full = if lead == 1 { format!(".{name}") } else { name.clone() };
        let Some(open) = self.tokens.take_if(Kind::LeftParen) else {
            return Ok(if reserved {
                self.report(Some(first.start), format!("reserved identifier: {name}"))
            } else {
                self.leaf(token.start, ExprKind::Ident(full))
            });
        };
        if reserved {
            self.report(Some(first.start), format!("reserved identifier: {name}"));
        }
        let id = self.new_id(Some(open.start));
        let (args, depth) = self.arguments()?;
        Ok(Node { expr: self.call_or_macro(id, full, None, args), depth })
    }

    fn list(&mut self) -> Read<Node> {
        let open = self.tokens.take();
        let id = self.new_id(Some(open.start));
        let close = Set::of(&[Kind::Comma, Kind::RightBracket]);
        let element = FIRST.and(QUESTION);
        self.tokens.sync(element.and(close))?;
        let mut elements = Vec::new();
        let mut depth = 0;
        if element.has(self.tokens.kind(0)) {
            loop {
                let optional = self.tokens.take_if(Kind::Question).is_some();
                let node = self.followed_by(close, Self::expr)?;
                depth = depth.max(node.depth);
                elements.push(Element { value: node.expr, optional });
                if self.tokens.kind(0) != Kind::Comma || !element.has(self.tokens.kind(1)) {
                    break;
                }
                self.tokens.take();
            }
        }
        self.tokens.sync(close)?;
        self.tokens.take_if(Kind::Comma);
        self.tokens.expect(Kind::RightBracket, self.operand_follow())?;
        Ok(Node { expr: Expr { id, kind: ExprKind::List(elements) }, depth })
    }

    fn map(&mut self) -> Read<Node> {
        let open = self.tokens.take();
        let id = self.new_id(Some(open.start));
        let close = Set::of(&[Kind::Comma, Kind::RightBrace]);
        let key = FIRST.and(QUESTION);
        self.tokens.sync(key.and(close))?;
        let mut entries = Vec::new();
        let mut depth = 0;
        if key.has(self.tokens.kind(0)) {
            loop {
                let optional = self.tokens.take_if(Kind::Question).is_some();
                let key_node = self.followed_by(Set::of(&[Kind::Colon]), Self::expr)?;
                self.tokens.expect(Kind::Colon, FIRST)?;
                let value = self.followed_by(close, Self::expr)?;
                depth = depth.max(key_node.depth).max(value.depth);
                entries.push(Entry { key: key_node.expr, value: value.expr, optional });
                if self.tokens.kind(0) != Kind::Comma || !key.has(self.tokens.kind(1)) {
                    break;
                }
                self.tokens.take();
            }
        }
        self.tokens.sync(close)?;
        self.tokens.take_if(Kind::Comma);
        self.tokens.expect(Kind::RightBrace, self.operand_follow())?;
        Ok(Node { expr: Expr { id, kind: ExprKind::Map(entries) }, depth })
    }

    /// A message whose name ends with the token at `last`.
    fn message(&mut self, leading_dot: bool, last: usize) -> Read<Node> {
        let mut name = String::new();
        for index in 0..=last {
            let token = self.tokens.take();
            if index > 0 || leading_dot || token.kind == Kind::Ident {
                name.push_str(&self.tokens.text(token));
            }
        }
        let open = self.tokens.take();
        let id = self.new_id(Some(open.start));
        let close = Set::of(&[Kind::Comma, Kind::RightBrace]);
        let first = NAMES.and(QUESTION);
        self.tokens.sync(first.and(close))?;
        let mut fields = Vec::new();
        let mut depth = 0;
        if first.has(self.tokens.kind(0)) {
            loop {
                let optional = self.tokens.take_if(Kind::Question).is_some();
                let (_, field) = self.field_name()?;
                let colon = self.tokens.expect(Kind::Colon, FIRST)?;
                let field_id = self.new_id(Some(colon.start));
                let value = self.followed_by(close, Self::expr)?;
                depth = depth.max(value.depth);
                fields.push(Field { id: field_id, name: field, value: value.expr, optional });
                if self.tokens.kind(0) != Kind::Comma || !first.has(self.tokens.kind(1)) {
                    break;
                }
                self.tokens.take();
            }
        }
        self.tokens.sync(close)?;
        self.tokens.take_if(Kind::Comma);
        self.tokens.expect(Kind::RightBrace, self.operand_follow())?;
        Ok(Node { expr: Expr { id, kind: ExprKind::Struct { name, fields } }, depth })
    }

    fn call_or_macro(&mut self, id: Id, function: String, target: Option<Expr>, args: Vec<Expr>) -> Expr {
        match self.expand(id, function, target, args) {
            Ok(expr) => expr,
            Err(issue) => self.report(issue.place, issue.message).expr,
        }
    }
}

const FIRST_PRIMARY: Set = Set::of(&[
    Kind::LeftBracket,
    Kind::LeftBrace,
    Kind::LeftParen,
    Kind::Dot,
    Kind::Minus,
    Kind::True,
    Kind::False,
    Kind::Null,
    Kind::Float,
    Kind::Int,
    Kind::Uint,
    Kind::String,
    Kind::Bytes,
    Kind::Ident,
]);
const FIRST_AFTER_MINUS: Set = FIRST_PRIMARY;

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The tree over `terms` with as few levels as possible. Every term is taken once.
fn balanced(function: &str, terms: &mut [Option<Expr>], operators: &[Id]) -> Expr {
    if operators.is_empty() {
        let broken = Expr { id: 0, kind: ExprKind::Broken };
        return terms.first_mut().and_then(Option::take).unwrap_or(broken);
    }
    let middle = operators.len() / 2;
    let (left_terms, right_terms) = terms.split_at_mut(middle + 1);
    let (left_operators, rest) = operators.split_at(middle);
    let (id, right_operators) = rest.split_first().map_or((0, rest), |(id, rest)| (*id, rest));
    let left = balanced(function, left_terms, left_operators);
    let right = balanced(function, right_terms, right_operators);
    let kind = ExprKind::Call { target: None, function: function.to_owned(), args: vec![left, right] };
    Expr { id, kind }
}
