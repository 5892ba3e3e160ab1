//! How Go writes and reads numbers and values.

use super::map::Map;
use super::value::Value;

/// `%g`: the shortest text that gives the number again, with an exponent where it is small or large.
pub(super) fn go_general(value: f64) -> String {
    general(value, 21)
}

fn general(value: f64, largest: i32) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= largest {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{mantissa}e{sign}{:02}", exponent.abs());
    }
    plain_double(value)
}

/// Without an exponent, as short as possible.
pub(super) fn plain_double(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    format!("{value}")
}

/// `%v`: as errors show a value.
pub(super) fn shown(value: &Value) -> String {
    match value {
        value if value.weight() > 100_000 => "...".to_owned(),
        Value::Null => "0".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => value.to_string(),
        Value::Double(value) => go_general(*value),
        Value::String(text) => text.to_string(),
        Value::Bytes(bytes) => {
            let bytes: Vec<String> = bytes.iter().map(u8::to_string).collect();
            format!("[{}]", bytes.join(" "))
        }
        Value::List(list) => {
            let elements: Vec<String> = list.iter().map(|element| shown(&element)).collect();
            format!("[{}]", elements.join(", "))
        }
        Value::Map(map) => {
            let entries: Vec<String> = map
                .entries()
                .iter()
                .map(|(key, value)| format!("{}: {}", shown(key), shown(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
        Value::Optional(None) => "optional.none()".to_owned(),
        Value::Optional(Some(value)) => format!("optional({})", shown(value)),
        Value::Type(name) => name.to_string(),
        Value::Duration(nanos) => super::time::go_duration(*nanos),
        Value::Timestamp(value) => value.go_text(),
        Value::Quantity { amount, .. } => amount.to_string(),
        Value::Semver(version) => version.to_string(),
        Value::Ip(address) => address.to_string(),
        Value::Cidr { address, bits } => format!("{address}/{bits}"),
        Value::Url(url) => url.to_string(),
        Value::Format(name) => (*name).to_owned(),
    }
}

/// The name of the type that upstream keeps such a value in.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        Value::Bytes(_) => "types.Bytes",
        Value::List(list) if list.is_joined() => "*types.concatList",
        Value::List(_) => "*types.baseList",
        Value::Map(Map::Attributes(_) | Map::Capacities(_)) => "cel.mapper",
        Value::Map(_) => "*types.baseMap",
        Value::Optional(_) => "*types.Optional",
        Value::Type(_) => "*types.Type",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Quantity { computed: false, .. } => "cel.Quantity",
        Value::Quantity { computed: true, .. } => "*cel.Quantity",
        Value::Semver(_) => "cel.Semver",
        Value::Ip(_) => "cel.IP",
        Value::Cidr { .. } => "cel.CIDR",
        Value::Url(_) => "cel.URL",
        Value::Format(_) => "cel.Format",
    }
}

/// `strconv.ParseInt` with base 10.
pub(super) fn parse_int(text: &str) -> Option<i64> {
    text.parse().ok()
}

/// `strconv.ParseUint` with base 10.
pub(super) fn parse_uint(text: &str) -> Option<u64> {
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// `strconv.ParseBool`.
pub(super) fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// `strconv.ParseFloat`, without the rarer spellings with underscores and hexadecimal digits.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let named = ["inf", "infinity", "nan"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    if unsigned.eq_ignore_ascii_case("nan") && unsigned.len() != text.len() {
        return None;
    }
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-');
    if !named && !unsigned.chars().all(plain) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| named || value.is_finite())
}

/// Upstream's words where the result of a selector is no bool.
pub(super) fn not_a_bool(value: &Value) -> String {
    let name = value.type_name();
    let why = match value {
        Value::Optional(None) => "optional.none() dereference".to_owned(),
        Value::Optional(Some(inner)) => return not_a_bool(inner).replacen(inner.type_name(), name, 1),
        Value::Int(_) => "unsupported type conversion from 'int' to bool".to_owned(),
        Value::Uint(_) => "unsupported type conversion from 'uint' to bool".to_owned(),
        Value::Double(_) => "type conversion error from Double to 'bool'".to_owned(),
        Value::String(_) => "unsupported native conversion from string to 'bool'".to_owned(),
        Value::Bytes(_) => "type conversion error from Bytes to 'bool'".to_owned(),
        Value::List(_) => "type conversion error from list to 'bool'".to_owned(),
        Value::Map(_) => "type conversion error from map to 'bool'".to_owned(),
        Value::Type(_) => "type conversion not supported for 'type'".to_owned(),
        Value::Duration(_) => "type conversion error from 'Duration' to 'bool'".to_owned(),
        Value::Timestamp(_) => "type conversion error from 'Timestamp' to 'bool'".to_owned(),
        Value::Quantity { .. } => "type conversion error from 'Quantity' to 'bool'".to_owned(),
        Value::Semver(_) => "type conversion error from 'Semver' to 'bool'".to_owned(),
        Value::Ip(_) => "type conversion error from 'IP' to 'bool'".to_owned(),
        Value::Cidr { .. } => "type conversion error from 'CIDR' to 'bool'".to_owned(),
        Value::Url(_) => "type conversion error from 'URL' to 'bool'".to_owned(),
        Value::Format(_) => "type conversion error from 'Format' to 'bool'".to_owned(),
        Value::Null | Value::Bool(_) => "type conversion error from 'null_type' to 'bool'".to_owned(),
    };
    format!("CEL result of type {name} could not be converted to bool: {why}")
}

/// The type of a value with parameters.
pub(super) fn full_type(value: &Value) -> &'static str {
    match value {
        Value::Map(_) => "map(dyn, dyn)",
        Value::List(_) => "list(dyn)",
        other => other.type_name(),
    }
}
