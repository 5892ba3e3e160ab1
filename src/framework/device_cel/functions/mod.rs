//! The functions of expressions, by overload.

mod conversions;
mod formats;
mod kubernetes;
mod lists;
mod network;
mod operators;
mod printf;
mod strings;
mod times;

use super::declarations::Overload;
use super::regex::Regex;
use super::types::{self, Type};
use super::value::{Fault, Outcome, Value};

pub(super) use formats::size as format_size;
pub(super) use lists::index_of;
pub(super) use printf::check as check_format;

/// The implementation of an overload.
pub(super) type Native = fn(&[Value]) -> Outcome;

/// The implementation of a function that is one for all its overloads.
pub(super) fn singleton(function: &str) -> Option<Native> {
    operators::singleton(function).or_else(|| lists::singleton(function))
}

/// The implementation of an overload.
pub(super) fn native(overload: &str) -> Option<Native> {
    conversions::native(overload)
        .or_else(|| strings::native(overload))
        .or_else(|| lists::native(overload))
        .or_else(|| kubernetes::native(overload))
        .or_else(|| network::native(overload))
        .or_else(|| formats::native(overload))
        .or_else(|| times::native(overload))
}

/// Whether values can be the arguments of an overload.
pub(super) fn fits(overload: &Overload, args: &[Value]) -> bool {
    overload.args.len() == args.len() && overload.args.iter().zip(args).all(|(of, arg)| is_a(arg, of))
}

/// Whether a value is of a type; of lists and maps the first element tells.
fn is_a(value: &Value, of: &Type) -> bool {
    match (of, value) {
        (Type::Dyn | Type::Any | Type::Param(_) | Type::Var(_), _)
        | (Type::Null, Value::Null)
        | (Type::Bool, Value::Bool(_))
        | (Type::Int, Value::Int(_))
        | (Type::Uint, Value::Uint(_))
        | (Type::Double, Value::Double(_))
        | (Type::String, Value::String(_))
        | (Type::Bytes, Value::Bytes(_))
        | (Type::Duration, Value::Duration(_))
        | (Type::Timestamp, Value::Timestamp(_))
        | (Type::Type(_), Value::Type(_)) => true,
        (Type::List(of), Value::List(list)) => list.get(0).is_none_or(|first| is_a(&first, of)),
        (Type::Map(key, of), Value::Map(map)) => {
            let first = map.keys().into_iter().next();
            first.is_none_or(|first| {
                is_a(&first, key) && map.find(&first).is_none_or(|value| is_a(&value, of))
            })
        }
        (Type::Opaque(types::OPTIONAL, _), Value::Optional(_)) => true,
        (Type::Opaque(name, _) | Type::Struct(name), value) => *name == value.type_name(),
        _ => false,
    }
}

/// A call with a pattern that was compiled before.
pub(super) fn with_regex(function: &str, regex: &Regex, args: &[Value]) -> Outcome {
    let Some(Value::String(text)) = args.first() else { return Err(Fault::no_overload()) };
    match (function, args) {
        ("matches", [_, _]) => Ok(Value::Bool(regex.is_match(text))),
        ("find", [_, _]) => Ok(Value::string(regex.find(text).unwrap_or_default())),
        ("findAll", [_, _]) => Ok(strings::found(regex, text, -1)),
        ("findAll", [_, _, Value::Int(limit)]) => Ok(strings::found(regex, text, *limit)),
        _ => Err(Fault::no_overload()),
    }
}
