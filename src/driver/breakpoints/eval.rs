//! Whether a condition is true of a moment. What is not known makes a comparison neither true nor false.

use super::expr::{Expr, Field, Op, Operand};
use super::scene::{Row, Scene, Value};
use crate::api::Duration;
use crate::api::time::human_duration;

/// Where and with which values a condition is true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The moment.
    pub place: String,
    /// The fields that the condition names, with their values.
    pub values: Vec<(String, String)>,
}

impl std::fmt::Display for Hit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place)?;
        for (i, (field, value)) in self.values.iter().enumerate() {
            write!(f, "{} {field} {value}", if i == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}

/// Whether it is true.
pub(super) fn is_true(expr: &Expr, scene: &Scene<'_>) -> bool {
    match eval(expr, scene, None) {
        Some(is_true) => is_true,
        // More may be known of one of the rows.
        None => scene.rows(&mut |row| eval(expr, scene, Some(row)) == Some(true)),
    }
}

/// The first row with which it is true, or the moment alone.
pub(super) fn hit(expr: &Expr, scene: &Scene<'_>) -> Option<Hit> {
    match eval(expr, scene, None) {
        Some(true) => return Some(told(expr, scene, None)),
        Some(false) => return None,
        None => {}
    }
    let mut found = None;
    scene.rows(&mut |row| {
        let is_it = eval(expr, scene, Some(row)) == Some(true);
        if is_it {
            found = Some(told(expr, scene, Some(row)));
        }
        is_it
    });
    found
}

fn told(expr: &Expr, scene: &Scene<'_>, row: Option<&Row<'_>>) -> Hit {
    let mut values: Vec<(String, String)> = Vec::new();
    expr.fields(&mut |operand| {
        let is_field = matches!(operand, Operand::Field(_) | Operand::Label(_) | Operand::Score(..));
        let name = operand.to_string();
        if is_field
            && values.iter().all(|(known, _)| *known != name)
            && let Some(value) = value(operand, scene, row)
        {
            values.push((name, text(&value)));
        }
    });
    // Of whom it was said is worth knowing, also where nobody has asked for it.
    for field in [Field::Plugin, Field::Node, Field::Reason] {
        let operand = Operand::Field(field);
        let is_told = values.iter().any(|(known, _)| *known == field.name());
        if row.is_some()
            && !is_told
            && let Some(value) = value(&operand, scene, row)
        {
            values.push((field.name().to_owned(), text(&value)));
        }
    }
    values.retain(|(_, value)| !value.is_empty());
    Hit { place: scene.place(), values }
}

/// What a field is in the newest scene in which it is known: one value, or those of several nodes.
pub(super) fn show(operand: &Operand, scenes: &[Scene<'_>]) -> String {
    const SHOWN: usize = 6;
    for scene in scenes.iter().rev() {
        if let Some(value) = value(operand, scene, None) {
            return text(&value);
        }
        let mut known: Vec<String> = Vec::new();
        let mut n = 0;
        scene.rows(&mut |row| {
            let Some(found) = value(operand, scene, Some(row)) else { return false };
            let node = scene.field(Field::Node, Some(row)).map(|node| text(&node));
            let found = match node {
                Some(node) if *operand != Operand::Field(Field::Node) => {
                    format!("{node} {}", text(&found))
                }
                _ => text(&found),
            };
            if !known.contains(&found) {
                n += 1;
                if known.len() < SHOWN {
                    known.push(found);
                }
            }
            n > SHOWN
        });
        if !known.is_empty() {
            let more = if n > known.len() { ", …" } else { "" };
            return known.join(", ") + more;
        }
    }
    "-".to_owned()
}

fn value<'a>(operand: &'a Operand, scene: &Scene<'a>, row: Option<&Row<'a>>) -> Option<Value<'a>> {
    Some(match operand {
        Operand::Field(field) => return scene.field(*field, row),
        Operand::Label(key) => return scene.label(key),
        Operand::Score(kind, plugin) => return scene.score(*kind, plugin, row),
        Operand::Text(text) => Value::Text(text),
        Operand::Number(number) => Value::Number(*number),
        Operand::Millis(millis) => Value::Millis(*millis),
        Operand::Flag(flag) => Value::Flag(*flag),
    })
}

fn text(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) => (*text).to_owned(),
        Value::Reasons(reasons) => reasons.join("; "),
        Value::Name("", name) => (*name).to_owned(),
        Value::Name(namespace, name) => format!("{namespace}/{name}"),
        Value::Event(event) => event.text(),
        Value::Number(number) => number.to_string(),
        Value::Millis(millis) => {
            human_duration(Duration::from_millis(u64::try_from(*millis).unwrap_or_default()))
        }
        Value::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
    }
}

fn eval<'a>(expr: &'a Expr, scene: &Scene<'a>, row: Option<&Row<'a>>) -> Option<bool> {
    match expr {
        Expr::Not(inner) => eval(inner, scene, row).map(|is_true| !is_true),
        Expr::And(left, right) => match eval(left, scene, row) {
            Some(false) => Some(false),
            left => match (left, eval(right, scene, row)) {
                (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
        },
        Expr::Or(left, right) => match eval(left, scene, row) {
            Some(true) => Some(true),
            left => match (left, eval(right, scene, row)) {
                (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
        },
        Expr::Compare { left, op, right } => {
            compare(&value(left, scene, row)?, *op, &value(right, scene, row)?)
        }
        Expr::Is(operand) => Some(match value(operand, scene, row)? {
            Value::Flag(flag) => flag,
            Value::Number(number) | Value::Millis(number) => number != 0,
            other => !text(&other).is_empty(),
        }),
    }
}

fn compare(left: &Value<'_>, op: Op, right: &Value<'_>) -> Option<bool> {
    Some(match op {
        Op::Equal => is_equal(left, right),
        Op::NotEqual => !is_equal(left, right),
        Op::Like => is_like(left, right),
        Op::NotLike => !is_like(left, right),
        Op::Less => number(left)? < number(right)?,
        Op::LessOrEqual => number(left)? <= number(right)?,
        Op::Greater => number(left)? > number(right)?,
        Op::GreaterOrEqual => number(left)? >= number(right)?,
    })
}

fn number(value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Number(number) | Value::Millis(number) => Some(*number),
        _ => None,
    }
}

fn is_equal(left: &Value<'_>, right: &Value<'_>) -> bool {
    match (left, right) {
        (Value::Name(namespace, name), Value::Text(text)) => match text.split_once('/') {
            Some((wanted_namespace, wanted)) => *namespace == wanted_namespace && *name == wanted,
            None => name == text,
        },
        (Value::Event(event), Value::Text(text)) => event.is_meant_by(text),
        (Value::Reasons(reasons), Value::Text(text)) => reasons.iter().any(|reason| reason == text),
        (Value::Text(left), Value::Text(right)) => left.eq_ignore_ascii_case(right),
        _ => match (number(left), number(right)) {
            (Some(left), Some(right)) => left == right,
            _ => text(left) == text(right),
        },
    }
}

fn is_like(left: &Value<'_>, right: &Value<'_>) -> bool {
    let pattern = text(right);
    match left {
        Value::Reasons(reasons) => reasons.iter().any(|reason| matches(&pattern, reason)),
        // The name alone is enough.
        Value::Name(_, name) if !pattern.contains('/') => matches(&pattern, name),
        other => matches(&pattern, &text(other)),
    }
}

/// Whether a text is like a pattern: `*` stands for any characters, `?` for one; without either it is a part of it. The
/// case does not count.
fn matches(pattern: &str, text: &str) -> bool {
    let lower = |text: &str| text.to_lowercase().chars().collect::<Vec<char>>();
    let (pattern, text) = (lower(pattern), lower(text));
    if !pattern.iter().any(|c| matches!(c, '*' | '?')) {
        return pattern.is_empty() || text.windows(pattern.len()).any(|part| part == pattern);
    }
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || text.get(t) == Some(c) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == '*')
}
