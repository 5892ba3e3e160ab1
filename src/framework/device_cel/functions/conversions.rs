//! Conversions between types.

use std::sync::Arc;

use super::super::text::{go_general, parse_bool, parse_double, parse_int, parse_uint, plain_double};
use super::super::time::{Timestamp, parse_duration};
use super::super::value::{Fault, Outcome, Value};
use super::Native;

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "bool_to_bool"
        | "bytes_to_bytes"
        | "double_to_double"
        | "duration_to_duration"
        | "int64_to_int64"
        | "string_to_string"
        | "timestamp_to_timestamp"
        | "uint64_to_uint64" => |args| args.first().cloned().ok_or_else(Fault::no_overload),
        "string_to_bool" => |args| from_text(args, "bool", |text| parse_bool(text).map(Value::Bool)),
        "string_to_bytes" => {
            |args| from_text(args, "bytes", |text| Some(Value::Bytes(text.as_bytes().into())))
        }
        "string_to_double" => |args| from_text(args, "double", |text| parse_double(text).map(Value::Double)),
        "string_to_int64" => |args| from_text(args, "int", |text| parse_int(text).map(Value::Int)),
        "string_to_uint64" => |args| from_text(args, "uint", |text| parse_uint(text).map(Value::Uint)),
        "string_to_duration" => |args| {
            from_text(args, "google.protobuf.Duration", |text| parse_duration(text).map(Value::Duration))
        },
        "string_to_timestamp" => string_to_timestamp,
        "int64_to_duration" => |_| Err(conversion_error("int", "google.protobuf.Duration")),
        "int64_to_timestamp" => |args| match args {
            [Value::Int(value)] => Timestamp::new(*value, 0).map(Value::Timestamp).map_err(Fault::new),
            _ => Err(Fault::no_overload()),
        },
        "int64_to_double" | "uint64_to_double" => to_double,
        "double_to_int64" | "duration_to_int64" | "timestamp_to_int64" | "uint64_to_int64" => to_int,
        "double_to_uint64" | "int64_to_uint64" => to_uint,
        "bool_to_string"
        | "bytes_to_string"
        | "double_to_string"
        | "duration_to_string"
        | "int64_to_string"
        | "timestamp_to_string"
        | "uint64_to_string" => to_string,
        _ => return None,
    })
}

fn conversion_error(from: &str, to: &str) -> Fault {
    Fault::new(format!("type conversion error from '{from}' to '{to}'"))
}

fn from_text(args: &[Value], to: &str, convert: impl Fn(&str) -> Option<Value>) -> Outcome {
    match args {
        [Value::String(text)] => convert(text).ok_or_else(|| conversion_error("string", to)),
        _ => Err(Fault::no_overload()),
    }
}

fn string_to_timestamp(args: &[Value]) -> Outcome {
    let [Value::String(text)] = args else { return Err(Fault::no_overload()) };
    match Timestamp::parse(text) {
        None => Err(conversion_error("string", "google.protobuf.Timestamp")),
        Some(Ok(value)) => Ok(Value::Timestamp(value)),
        Some(Err(error)) => Err(Fault::new(error)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a conversion that rounds is what was asked for")]
fn to_double(args: &[Value]) -> Outcome {
    match args {
        [Value::Int(value)] => Ok(Value::Double(*value as f64)),
        [Value::Uint(value)] => Ok(Value::Double(*value as f64)),
        _ => Err(Fault::no_overload()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "checked to be in range; the limits are upstream's"
)]
fn to_int(args: &[Value]) -> Outcome {
    match args {
        [Value::Double(value)]
            if value.is_nan() || *value <= i64::MIN as f64 || *value >= i64::MAX as f64 =>
        {
            Err(Fault::new("integer overflow"))
        }
        [Value::Double(value)] => Ok(Value::Int(*value as i64)),
        [Value::Duration(value)] => Ok(Value::Int(*value)),
        [Value::Timestamp(value)] => Ok(Value::Int(value.seconds())),
        [Value::Uint(value)] => {
            i64::try_from(*value).map(Value::Int).map_err(|_| Fault::new("integer overflow"))
        }
        _ => Err(Fault::no_overload()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "checked to be in range; the limits are upstream's"
)]
fn to_uint(args: &[Value]) -> Outcome {
    const OVERFLOW: &str = "unsigned integer overflow";
    match args {
        [Value::Double(value)] if value.is_nan() || *value < 0.0 || *value >= u64::MAX as f64 => {
            Err(Fault::new(OVERFLOW))
        }
        [Value::Double(value)] => Ok(Value::Uint(*value as u64)),
        [Value::Int(value)] => u64::try_from(*value).map(Value::Uint).map_err(|_| Fault::new(OVERFLOW)),
        _ => Err(Fault::no_overload()),
    }
}

fn to_string(args: &[Value]) -> Outcome {
    let text = match args {
        [Value::Bool(value)] => value.to_string(),
        [Value::Int(value)] => value.to_string(),
        [Value::Uint(value)] => value.to_string(),
        [Value::Double(value)] => go_general(*value),
        [Value::Bytes(value)] => match std::str::from_utf8(value) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(Fault::new("invalid UTF-8 in bytes, cannot convert to string")),
        },
        [Value::Duration(value)] => format!("{}s", plain_double(seconds(*value))),
        [Value::Timestamp(value)] => value.to_string(),
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::String(Arc::from(text)))
}

/// A duration in seconds, as Go computes it.
#[expect(clippy::cast_precision_loss, reason = "both parts are small or rounded as upstream does")]
pub(super) fn seconds(nanos: i64) -> f64 {
    (nanos / 1_000_000_000) as f64 + (nanos % 1_000_000_000) as f64 / 1e9
}
