//! Operators and the functions that have one implementation for all types.

use std::cmp::Ordering;

use super::super::regex::Regex;
use super::super::syntax::ast::operator;
use super::super::value::{Fault, Outcome, Value};
use super::Native;

pub(super) fn singleton(function: &str) -> Option<Native> {
    Some(match function {
        operator::NOT => |args| match args {
            [Value::Bool(value)] => Ok(Value::Bool(!value)),
            _ => Err(Fault::no_overload()),
        },
        operator::EQUALS => |args| match args {
            [a, b] => a.equal(b).map(Value::Bool),
            _ => Err(Fault::no_overload()),
        },
        operator::NOT_EQUALS => |args| match args {
            [a, b] => Ok(Value::Bool(a.equal(b) != Ok(true))),
            _ => Err(Fault::no_overload()),
        },
        operator::ADD => add,
        operator::SUBTRACT => subtract,
        operator::MULTIPLY => multiply,
        operator::DIVIDE => divide,
        operator::MODULO => modulo,
        operator::NEGATE => negate,
        operator::LESS => |args| compare(operator::LESS, args, Ordering::is_lt),
        operator::LESS_EQUALS => |args| compare(operator::LESS_EQUALS, args, Ordering::is_le),
        operator::GREATER => |args| compare(operator::GREATER, args, Ordering::is_gt),
        operator::GREATER_EQUALS => |args| compare(operator::GREATER_EQUALS, args, Ordering::is_ge),
        operator::IN => |args| match args {
            [value, Value::List(list)] => Ok(Value::Bool(list.contains(value))),
            [value, Value::Map(map)] => Ok(Value::Bool(map.contains(value))),
            _ => Err(Fault::no_overload()),
        },
        "size" => size,
        "type" => |args| match args {
            [value] => Ok(Value::Type(value.type_name().into())),
            _ => Err(Fault::no_overload()),
        },
        "dyn" => |args| args.first().cloned().ok_or_else(Fault::no_overload),
        "matches" => |args| match args {
            [Value::String(text), Value::String(pattern)] => {
                let regex = Regex::new(pattern).map_err(Fault::new)?;
                Ok(Value::Bool(regex.is_match(text)))
            }
            [Value::String(_), _] => Err(Fault::no_overload()),
            [first, ..] => Err(lacking("matches", first)),
            [] => Err(Fault::no_overload()),
        },
        _ => return None,
    })
}

/// The error of an operator that the type of its first operand does not have.
pub(super) fn lacking(function: &str, first: &Value) -> Fault {
    match first {
        // These types are asked for the function by its name, and know none.
        Value::String(_) | Value::Duration(_) | Value::Timestamp(_) => Fault::no_overload(),
        _ => Fault::new(format!("no such overload: {function}")),
    }
}

fn int(value: Option<i64>) -> Outcome {
    value.map(Value::Int).ok_or_else(|| Fault::new("integer overflow"))
}

fn uint(value: Option<u64>) -> Outcome {
    value.map(Value::Uint).ok_or_else(|| Fault::new("unsigned integer overflow"))
}

fn duration(value: Option<i64>) -> Outcome {
    value.map(Value::Duration).ok_or_else(|| Fault::new("integer overflow"))
}

fn add(args: &[Value]) -> Outcome {
    match args {
        [Value::Int(a), Value::Int(b)] => int(a.checked_add(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_add(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a + b)),
        [Value::String(a), Value::String(b)] => Ok(Value::string(format!("{a}{b}"))),
        [Value::Bytes(a), Value::Bytes(b)] => Ok(Value::Bytes([&**a, &**b].concat().into())),
        [Value::List(a), Value::List(b)] => Ok(Value::List(a.clone().joined(b.clone()))),
        [Value::Duration(a), Value::Duration(b)] => duration(a.checked_add(*b)),
        [Value::Duration(by), Value::Timestamp(at)] | [Value::Timestamp(at), Value::Duration(by)] => {
            at.plus(i128::from(*by)).map(Value::Timestamp).map_err(Fault::new)
        }
        [first, _] => Err(missing(operator::ADD, first, has_add(first))),
        _ => Err(Fault::no_overload()),
    }
}

/// The error where the operands do not go together: it depends on whether the first one has the operator at all.
fn missing(function: &str, first: &Value, has: bool) -> Fault {
    if has { Fault::no_overload() } else { lacking(function, first) }
}

pub(super) fn has_add(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}

/// The sum of two values, for `sum`.
pub(super) fn sum(a: &Value, b: &Value) -> Outcome {
    add(&[a.clone(), b.clone()])
}

fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Uint(_) | Value::Double(_))
}

fn subtract(args: &[Value]) -> Outcome {
    match args {
        [Value::Int(a), Value::Int(b)] => int(a.checked_sub(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_sub(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a - b)),
        [Value::Duration(a), Value::Duration(b)] => duration(a.checked_sub(*b)),
        [Value::Timestamp(a), Value::Timestamp(b)] => duration(i64::try_from(a.nanos_since(b)).ok()),
        [Value::Timestamp(at), Value::Duration(by)] => {
            at.plus(-i128::from(*by)).map(Value::Timestamp).map_err(Fault::new)
        }
        [first, _] => {
            let has = is_number(first) || matches!(first, Value::Duration(_) | Value::Timestamp(_));
            Err(missing(operator::SUBTRACT, first, has))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn multiply(args: &[Value]) -> Outcome {
    match args {
        [Value::Int(a), Value::Int(b)] => int(a.checked_mul(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_mul(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a * b)),
        [first, _] => Err(missing(operator::MULTIPLY, first, is_number(first))),
        _ => Err(Fault::no_overload()),
    }
}

fn divide(args: &[Value]) -> Outcome {
    const BY_ZERO: &str = "division by zero";
    match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => Err(Fault::new(BY_ZERO)),
        [Value::Int(a), Value::Int(b)] => int(a.checked_div(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_div(*b)),
        [Value::Double(a), Value::Double(b)] => Ok(Value::Double(a / b)),
        [first, _] => Err(missing(operator::DIVIDE, first, is_number(first))),
        _ => Err(Fault::no_overload()),
    }
}

fn modulo(args: &[Value]) -> Outcome {
    const BY_ZERO: &str = "modulus by zero";
    match args {
        [Value::Int(_), Value::Int(0)] | [Value::Uint(_), Value::Uint(0)] => Err(Fault::new(BY_ZERO)),
        [Value::Int(a), Value::Int(b)] => int(a.checked_rem(*b)),
        [Value::Uint(a), Value::Uint(b)] => uint(a.checked_rem(*b)),
        [first, _] => Err(missing(operator::MODULO, first, matches!(first, Value::Int(_) | Value::Uint(_)))),
        _ => Err(Fault::no_overload()),
    }
}

fn negate(args: &[Value]) -> Outcome {
    match args {
        [Value::Int(value)] => int(value.checked_neg()),
        [Value::Double(value)] => Ok(Value::Double(-value)),
        [Value::Duration(value)] => duration(value.checked_neg()),
        [Value::Bool(_)] => Err(Fault::no_overload()),
        [first] => Err(lacking(operator::NEGATE, first)),
        _ => Err(Fault::no_overload()),
    }
}

fn compare(function: &str, args: &[Value], accept: fn(Ordering) -> bool) -> Outcome {
    match args {
        [a, b] if a.is_comparable() => a.compare(b).map(|order| Value::Bool(accept(order))),
        [a, _] => Err(lacking(function, a)),
        _ => Err(Fault::no_overload()),
    }
}

fn size(args: &[Value]) -> Outcome {
    let size = match args {
        [Value::String(text)] => text.chars().count(),
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(list)] => list.len(),
        [Value::Map(map)] => map.len(),
        [Value::Ip(_) | Value::Cidr { .. }] => return Err(Fault::new("no such overload: size")),
        [first, ..] => return Err(lacking("size", first)),
        [] => return Err(Fault::no_overload()),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}
