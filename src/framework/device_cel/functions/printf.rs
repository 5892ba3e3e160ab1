//! `string.format`: clauses like `%s`, `%d` and `%.2f`.
//!
//! After cel-go's `ext/formatting.go` with the locale `en_US`.

use super::super::checker::Checked;
use super::super::syntax::ast::{Expr, ExprKind, Id};
use super::super::text::{go_general, plain_double};
use super::super::types::Type;
use super::super::value::{List, Value};
use super::conversions::seconds;
use crate::config::go_quoted;

/// One clause of a format.
#[derive(Clone, Copy, Debug)]
enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Hex(bool),
    Octal,
}

/// A piece of a format.
enum Piece {
    Literal(String),
    Clause(Clause),
}

const DEFAULT_PRECISION: usize = 6;
/// A precision beyond this is cut: no double has more digits.
const MAX_PRECISION: usize = 1100;

/// Takes a format apart. `count` is how many arguments there are.
fn pieces(pattern: &str, count: usize) -> Result<Vec<Piece>, String> {
    let mut out = Vec::new();
    let mut literal = String::new();
    let mut used = 0;
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            literal.push(c);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            literal.push('%');
            continue;
        }
        if used >= count {
            return Err(format!("index {used} out of range"));
        }
        used += 1;
        let Some(mut kind) = chars.next() else { return Err("unexpected end of string".to_owned()) };
        let failed = |why: String| Err(format!("could not parse formatting clause: {why}"));
        let mut precision = DEFAULT_PRECISION;
        if kind == '.' {
            let mut digits = String::new();
            loop {
                match chars.next() {
                    None => {
                        return failed(
                            "error while parsing precision: could not find end of precision specifier"
                                .to_owned(),
                        );
                    }
                    Some(c) if c.is_ascii_digit() => digits.push(c),
                    Some(c) => {
                        kind = c;
                        break;
                    }
                }
            }
            let Ok(number) = digits.parse::<i64>() else {
                let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
                return failed(format!(
                    "error while parsing precision: error while converting precision to integer: strconv.Atoi: \
                     parsing {}: {why}",
                    go_quoted(&digits)
                ));
            };
            precision = usize::try_from(number).unwrap_or(0).min(MAX_PRECISION);
        }
        let clause = match kind {
            's' => Clause::Text,
            'd' => Clause::Decimal,
            'f' => Clause::Fixed(precision),
            'e' => Clause::Scientific(precision),
            'b' => Clause::Binary,
            'x' => Clause::Hex(false),
            'X' => Clause::Hex(true),
            'o' => Clause::Octal,
            other => return failed(format!("unrecognized formatting clause \"{other}\"")),
        };
        out.push(Piece::Literal(std::mem::take(&mut literal)));
        out.push(Piece::Clause(clause));
    }
    out.push(Piece::Literal(literal));
    Ok(out)
}

/// The text of a format with values.
pub(super) fn format(pattern: &str, values: &List) -> Result<String, String> {
    let mut out = String::new();
    let mut values = (values.len(), values.iter());
    for piece in pieces(pattern, values.0)? {
        match piece {
            Piece::Literal(text) => out.push_str(&text),
            Piece::Clause(clause) => {
                let value = values.1.next().unwrap_or(Value::Null);
                let text =
                    apply(clause, &value).map_err(|error| format!("error during formatting: {error}"))?;
                out.push_str(&text);
            }
        }
    }
    Ok(out)
}

/// The words of an error about a type that a clause does not take.
fn wrong_type(clause: Clause, name: &str) -> String {
    let what = match clause {
        Clause::Text => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        Clause::Decimal => "decimal clause can only be used on integers",
        Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
        Clause::Scientific(_) => "scientific clause can only be used on doubles",
        Clause::Binary => "only integers and bools can be formatted as binary",
        Clause::Hex(_) => "only integers, byte buffers, and strings can be formatted as hex",
        Clause::Octal => "octal clause can only be used on integers",
    };
    format!("{what}, was given {name}")
}

fn apply(clause: Clause, value: &Value) -> Result<String, String> {
    let wrong = || Err(wrong_type(clause, value.type_name()));
    Ok(match (clause, value) {
        (Clause::Text, value) => return as_text(value),
        (Clause::Decimal, Value::Int(value)) => value.to_string(),
        (Clause::Decimal, Value::Uint(value)) => value.to_string(),
        (Clause::Fixed(precision), value) => match number(value) {
            Some(number) => fixed(number, precision),
            None => return wrong(),
        },
        (Clause::Scientific(precision), value) => match number(value) {
            Some(number) => scientific(number, precision),
            None => return wrong(),
        },
        (Clause::Binary, Value::Int(value)) => signed(*value, |n| format!("{n:b}")),
        (Clause::Binary, Value::Uint(value)) => format!("{value:b}"),
        (Clause::Binary, Value::Bool(value)) => u8::from(*value).to_string(),
        (Clause::Hex(upper), Value::Int(value)) => cased(upper, signed(*value, |n| format!("{n:x}"))),
        (Clause::Hex(upper), Value::Uint(value)) => cased(upper, format!("{value:x}")),
        (Clause::Hex(upper), Value::String(text)) => cased(upper, hex(text.as_bytes())),
        (Clause::Hex(upper), Value::Bytes(bytes)) => cased(upper, hex(bytes)),
        (Clause::Octal, Value::Int(value)) => signed(*value, |n| format!("{n:o}")),
        (Clause::Octal, Value::Uint(value)) => format!("{value:o}"),
        _ => return wrong(),
    })
}

fn signed(value: i64, digits: impl Fn(u64) -> String) -> String {
    format!("{}{}", if value < 0 { "-" } else { "" }, digits(value.unsigned_abs()))
}

fn cased(upper: bool, text: String) -> String {
    if upper { text.to_ascii_uppercase() } else { text }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Double(value) => Some(*value),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn special(value: f64) -> Option<String> {
    if value.is_nan() {
        Some("NaN".to_owned())
    } else if value.is_infinite() {
        Some(if value > 0.0 { "∞" } else { "-∞" }.to_owned())
    } else {
        None
    }
}

/// With thousands set apart, as English does.
fn fixed(value: f64, precision: usize) -> String {
    special(value).unwrap_or_else(|| {
        let text = format!("{value:.precision$}");
        let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(w, f)| (w, Some(f)));
        let mut out = sign.to_owned();
        for (i, c) in whole.chars().enumerate() {
            if i > 0 && (whole.len() - i) % 3 == 0 {
                out.push(',');
            }
            out.push(c);
        }
        if let Some(fraction) = fraction {
            out.push('.');
            out.push_str(fraction);
        }
        out
    })
}

/// As English writes powers of ten.
fn scientific(value: f64, precision: usize) -> String {
    special(value).unwrap_or_else(|| {
        let text = format!("{value:.precision$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let negative = exponent.starts_with('-');
        let digits = exponent.trim_start_matches('-');
        let raised: String = format!("{digits:0>2}")
            .chars()
            .filter_map(|c| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(c.to_digit(10)? as usize))
            .collect();
        format!("{mantissa}\u{202f}×\u{202f}10{}{raised}", if negative { "⁻" } else { "" })
    })
}

fn as_text(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::List(list) => {
            let elements: Result<Vec<String>, String> = list.iter().map(|element| nested(&element)).collect();
            format!("[{}]", elements?.join(", "))
        }
        Value::Map(map) => {
            let mut entries = Vec::new();
            for (key, value) in map.entries() {
                let key = match &key {
                    Value::String(text) => go_quoted(text),
                    Value::Bool(_) | Value::Int(_) | Value::Uint(_) => as_text(&key)?,
                    other => {
                        return Err(format!(
                            "no formatting function for map key of type {}",
                            other.type_name()
                        ));
                    }
                };
                entries.push((key, nested(&value)?));
            }
            entries.sort();
            let entries: Vec<String> =
                entries.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => go_general(*value),
        Value::Bool(value) => value.to_string(),
        Value::String(text) => text.to_string(),
        Value::Timestamp(value) => value.to_string(),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err("could not convert argument \"invalid UTF-8\" to string".to_owned()),
        },
        Value::Duration(nanos) => format!("{}s", plain_double(seconds(*nanos))),
        Value::Type(name) => name.to_string(),
        Value::Null => "null".to_owned(),
        other => return Err(wrong_type(Clause::Text, other.type_name())),
    })
}

/// A value inside a list or map.
fn nested(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::String(text) => go_quoted(text),
        Value::Bytes(_) => format!("b{}", go_quoted(&as_text(value)?)),
        Value::Timestamp(_) => format!("timestamp({})", go_quoted(&as_text(value)?)),
        Value::Duration(_) => format!("duration({})", go_quoted(&as_text(value)?)),
        Value::Double(value) if value.is_nan() => go_quoted("NaN"),
        Value::Double(value) if value.is_infinite() => go_quoted(if *value > 0.0 { "+Inf" } else { "-Inf" }),
        Value::Double(value) => format!("{value:.6}"),
        Value::Int(_)
        | Value::Uint(_)
        | Value::Bool(_)
        | Value::Null
        | Value::Type(_)
        | Value::List(_)
        | Value::Map(_) => as_text(value)?,
        other => return Err(format!("no formatting function for {}", other.type_name())),
    })
}

/// What is wrong with a constant format and the types of its arguments: at which node, in which words.
pub(in super::super) fn check(
    call: Id,
    pattern: &str,
    args: &[&Expr],
    checked: &Checked,
) -> Option<(Id, String)> {
    let pieces = match pieces(pattern, args.len()) {
        Ok(pieces) => pieces,
        Err(error) => return Some((call, error)),
    };
    let clauses: Vec<Clause> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Clause(clause) => Some(*clause),
            Piece::Literal(_) => None,
        })
        .collect();
    for (clause, arg) in clauses.iter().zip(args) {
        if let Some(bad) = unfit(*clause, arg, checked) {
            let name = checked.types.get(bad).map(Type::name).unwrap_or_default();
            return Some((bad, format!("error during formatting: {}", wrong_type(*clause, &name))));
        }
    }
    (args.len() > clauses.len()).then(|| {
        let message = format!(
            "too many arguments supplied to string.format (expected {}, got {})",
            clauses.len(),
            args.len()
        );
        (call, message)
    })
}

/// The node whose type a clause does not take.
fn unfit(clause: Clause, arg: &Expr, checked: &Checked) -> Option<Id> {
    let of = checked.types.get(arg.id)?;
    let fits = matches!(of, Type::Dyn)
        || match clause {
            Clause::Text => {
                if let ExprKind::List(elements) = &arg.kind {
                    return elements.iter().find_map(|element| unfit(clause, &element.value, checked));
                }
                if let ExprKind::Map(entries) = &arg.kind {
                    return entries.iter().find_map(|entry| {
                        unfit(clause, &entry.key, checked).or_else(|| unfit(clause, &entry.value, checked))
                    });
                }
                matches!(
                    of,
                    Type::List(_)
                        | Type::Map(..)
                        | Type::Int
                        | Type::Uint
                        | Type::Double
                        | Type::Bool
                        | Type::String
                        | Type::Timestamp
                        | Type::Bytes
                        | Type::Duration
                        | Type::Type(_)
                        | Type::Null
                )
            }
            Clause::Decimal | Clause::Octal => matches!(of, Type::Int | Type::Uint),
            Clause::Fixed(_) | Clause::Scientific(_) => matches!(of, Type::Double | Type::String),
            Clause::Binary => matches!(of, Type::Int | Type::Uint | Type::Bool),
            Clause::Hex(_) => matches!(of, Type::Int | Type::Uint | Type::String | Type::Bytes),
        };
    (!fits).then_some(arg.id)
}
