//! What an unquoted scalar is: text, a number, a boolean or null.
//!
//! Follows YAML 1.1 as `kubectl` reads it (go.yaml.in/yaml/v2 behind sigs.k8s.io/yaml): `yes`, `on` and `y` are
//! booleans, `010` is octal, `1_000` is a number, `1:30` is text. The scalars of JSON are a subset of these.

/// The meaning of an unquoted scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// A whole number above `i64::MAX`.
    Large(u64),
    Float(f64),
    Text,
}

/// Finds out what an unquoted scalar means.
pub(crate) fn resolve(text: &str) -> Scalar {
    let Some(first) = text.bytes().next() else { return Scalar::Null };
    match first {
        b'0'..=b'9' | b'+' | b'-' | b'.' => number(text),
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        _ => Scalar::Text,
    }
}

fn word(text: &str) -> Scalar {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    match text.strip_prefix(['+', '-']).unwrap_or(text) {
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" => return Scalar::Float(f64::NAN),
        _ => {}
    }
    let without_separators;
    let plain = if text.contains('_') && !text.starts_with('.') {
        without_separators = text.replace('_', "");
        without_separators.as_str()
    } else {
        text
    };
    if let Some(whole) = whole(plain) {
        return whole;
    }
    match plain.parse::<f64>() {
        Ok(float) if is_float(plain) && float.is_finite() => Scalar::Float(float),
        _ => Scalar::Text,
    }
}

/// A whole number in base 10, or in another base with its prefix; a leading zero means octal.
fn whole(text: &str) -> Option<Scalar> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (16, digits.get(2..)?),
        [b'0', b'b' | b'B', _, ..] => (2, digits.get(2..)?),
        [b'0', b'o' | b'O', _, ..] => (8, digits.get(2..)?),
        [b'0', _, ..] => (8, digits.get(1..)?),
        _ => (10, digits),
    };
    // A second sign is not part of a number.
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let size = u64::from_str_radix(digits, radix).ok()?;
    match (negative, i64::try_from(size)) {
        (false, Ok(number)) => Some(Scalar::Int(number)),
        (false, Err(_)) => Some(Scalar::Large(size)),
        (true, _) => 0_i64.checked_sub_unsigned(size).map(Scalar::Int),
    }
}

/// Whether the text has the form of a decimal fraction, with an exponent or not.
fn is_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What go.yaml.in/yaml/v2 makes of the same scalars.
    #[test]
    fn unquoted_scalars_mean_what_kubectl_takes_them_for() {
        for (text, meaning) in [
            ("", Scalar::Null),
            ("~", Scalar::Null),
            ("null", Scalar::Null),
            ("nULL", Scalar::Text),
            ("yes", Scalar::Bool(true)),
            ("On", Scalar::Bool(true)),
            ("y", Scalar::Bool(true)),
            ("no", Scalar::Bool(false)),
            ("OFF", Scalar::Bool(false)),
            ("yEs", Scalar::Text),
            ("0", Scalar::Int(0)),
            ("+5", Scalar::Int(5)),
            ("-5", Scalar::Int(-5)),
            ("1_000", Scalar::Int(1000)),
            ("010", Scalar::Int(8)),
            ("0o17", Scalar::Int(15)),
            ("0x1F", Scalar::Int(31)),
            ("-0b11", Scalar::Int(-3)),
            ("08", Scalar::Float(8.0)),
            ("9223372036854775808", Scalar::Large(9_223_372_036_854_775_808)),
            ("-9223372036854775808", Scalar::Int(i64::MIN)),
            ("99999999999999999999", Scalar::Float(1e20)),
            ("0.5", Scalar::Float(0.5)),
            (".5", Scalar::Float(0.5)),
            ("1.", Scalar::Float(1.0)),
            ("12e6", Scalar::Float(12e6)),
            ("1.5E+3", Scalar::Float(1500.0)),
            ("1e400", Scalar::Text),
            ("1:30", Scalar::Text),
            ("1.2.3", Scalar::Text),
            ("2026-01-01T00:00:00Z", Scalar::Text),
            ("100m", Scalar::Text),
            ("1Gi", Scalar::Text),
            ("--1", Scalar::Text),
            ("-", Scalar::Text),
            ("0x", Scalar::Text),
            ("0x+1", Scalar::Text),
            ("infinity", Scalar::Text),
            ("-inf", Scalar::Text),
            ("+nan", Scalar::Text),
        ] {
            assert_eq!(resolve(text), meaning, "{text:?}");
        }
        assert!(matches!(resolve("-.inf"), Scalar::Float(float) if !float.is_finite()));
    }
}
