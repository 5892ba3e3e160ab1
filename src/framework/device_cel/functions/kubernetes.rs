//! Quantities and semantic versions.

use std::cmp::Ordering;
use std::sync::Arc;

use super::super::semver::Version;
use super::super::value::{Fault, Outcome, Value};
use super::Native;
use crate::api::Quantity;
use crate::api::quantity::{Format, QuantityReason};

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "string_to_quantity" => {
            |args| text(args, |text| parse(text).map(Value::quantity).map_err(Fault::new))
        }
        "is_quantity_string" => |args| text(args, |text| Ok(Value::Bool(parse(text).is_ok()))),
        "quantity_sign" => |args| amount(args, |a| Ok(Value::Int(i64::from(a.signum())))),
        "quantity_is_greater_than" => |args| compare(args, |order| Value::Bool(order.is_gt())),
        "quantity_is_less_than" => |args| compare(args, |order| Value::Bool(order.is_lt())),
        "quantity_compare_to" | "semver_compare_to" => |args| compare(args, |order| Value::Int(order as i64)),
        "semver_is_greater_than" => |args| compare(args, |order| Value::Bool(order.is_gt())),
        "semver_is_less_than" => |args| compare(args, |order| Value::Bool(order.is_lt())),
        "quantity_get_float" => |args| amount(args, |a| Ok(Value::Double(a.as_approximate_f64()))),
        "quantity_get_int" => |args| {
            amount(args, |a| {
                a.as_int64().map(Value::Int).ok_or_else(|| Fault::new("cannot convert value to integer"))
            })
        },
        "quantity_is_integer" => |args| amount(args, |a| Ok(Value::Bool(a.as_int64().is_some()))),
        "quantity_add" | "quantity_add_int" => |args| combine(args, |a, b| a + b),
        "quantity_sub" | "quantity_sub_int" => |args| combine(args, |a, b| a - b),
        "string_to_semver" | "string_bool_to_semver" => |args| {
            let version = semver(args)?.map_err(Fault::new)?;
            Ok(Value::Semver(Arc::new(version)))
        },
        "is_semver_string" | "is_semver_string_bool" => |args| Ok(Value::Bool(semver(args)?.is_ok())),
        "semver_major" => |args| part(args, |version| version.major),
        "semver_minor" => |args| part(args, |version| version.minor),
        "semver_patch" => |args| part(args, |version| version.patch),
        _ => return None,
    })
}

fn text(args: &[Value], apply: impl Fn(&str) -> Outcome) -> Outcome {
    match args {
        [Value::String(text)] => apply(text),
        _ => Err(Fault::no_overload()),
    }
}

fn parse(text: &str) -> Result<Quantity, &'static str> {
    text.parse().map_err(|error: crate::api::quantity::QuantityError| match error.reason {
        QuantityReason::Format => {
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        }
        QuantityReason::Number => "unable to parse numeric part of quantity",
        QuantityReason::Suffix(_) => "unable to parse quantity's suffix",
    })
}

fn amount(args: &[Value], apply: impl Fn(Quantity) -> Outcome) -> Outcome {
    match args {
        [Value::Quantity { amount, .. }] => apply(*amount),
        _ => Err(Fault::no_overload()),
    }
}

fn compare(args: &[Value], show: impl Fn(Ordering) -> Value) -> Outcome {
    match args {
        [Value::Quantity { amount: a, .. }, Value::Quantity { amount: b, .. }] => Ok(show(a.cmp(b))),
        [Value::Semver(a), Value::Semver(b)] => Ok(show(a.cmp(b))),
        _ => Err(Fault::no_overload()),
    }
}

fn combine(args: &[Value], apply: fn(Quantity, Quantity) -> Quantity) -> Outcome {
    let (a, b) = match args {
        [Value::Quantity { amount: a, .. }, Value::Quantity { amount: b, .. }] => (*a, *b),
        [Value::Quantity { amount, .. }, Value::Int(value)] => {
            (*amount, Quantity::from_value(*value).with_format(Format::DecimalExponent))
        }
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Quantity { amount: apply(a, b), computed: true })
}

fn semver(args: &[Value]) -> Result<Result<Version, String>, Fault> {
    match args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => Ok(Version::parse(text)),
        [Value::String(text), Value::Bool(true)] => Ok(Version::parse_tolerant(text)),
        _ => Err(Fault::no_overload()),
    }
}

fn part(args: &[Value], take: fn(&Version) -> u64) -> Outcome {
    match args {
        [Value::Semver(version)] => Ok(Value::Int(take(version).cast_signed())),
        _ => Err(Fault::no_overload()),
    }
}
