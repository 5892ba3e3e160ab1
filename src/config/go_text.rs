//! Values as Go writes and reads them: numbers, durations, quoted text, base64.
//!
//! The documents and complaints of kube-scheduler are made of these forms. Follows `encoding/json`, `strconv`,
//! `time` and `encoding/base64` of Go's library as far as a configuration meets them.

use std::fmt;

const SECOND: u64 = 1_000_000_000;
const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];

/// A length of time that may be negative, as `metav1.Duration` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct GoDuration(pub i64);

impl GoDuration {
    /// That many seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs.saturating_mul(SECOND as i64))
    }

    /// Reads a form such as `1h15m30.5s`, `-1.5h` or `300ms`; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (is_negative, mut rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        if rest == "0" {
            return Some(Self(0));
        }
        if rest.is_empty() {
            return None;
        }
        let mut total: u64 = 0;
        while !rest.is_empty() {
            let (amount, unit, tail) = split_amount(rest)?;
            let part = amount.in_nanos(unit)?;
            total = total.checked_add(part).filter(|total| *total <= 1 << 63)?;
            rest = tail;
        }
        match (is_negative, i64::try_from(total)) {
            (true, _) => 0_i64.checked_sub_unsigned(total).map(Self),
            (false, Ok(nanos)) => Some(Self(nanos)),
            (false, Err(_)) => None,
        }
    }

    /// The same as a length that is not negative.
    pub fn to_std(self) -> crate::api::Duration {
        crate::api::Duration::from_nanos(u64::try_from(self.0).unwrap_or(0))
    }
}

/// A decimal number before a unit.
struct Amount<'a> {
    whole: &'a str,
    fraction: &'a str,
}

impl Amount<'_> {
    fn in_nanos(&self, unit: u64) -> Option<u64> {
        let whole = if self.whole.is_empty() { 0 } else { self.whole.parse::<u64>().ok()? };
        let nanos = whole.checked_mul(unit).filter(|nanos| *nanos <= 1 << 63)?;
        // Digits beyond what 63 bits hold are dropped, and the product is a float, as in Go.
        let (mut digits, mut scale) = (0_u64, 1_f64);
        for digit in self.fraction.bytes().map(|byte| u64::from(byte - b'0')) {
            match digits
                .checked_mul(10)
                .and_then(|ten| ten.checked_add(digit))
                .filter(|next| *next <= 1 << 63)
            {
                Some(next) => {
                    digits = next;
                    scale *= 10.0;
                }
                None => break,
            }
        }
        nanos.checked_add((digits as f64 * (unit as f64 / scale)) as u64)
    }
}

/// The first number with its unit, and what follows.
fn split_amount(text: &str) -> Option<(Amount<'_>, u64, &str)> {
    let end_of_digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(end_of_digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(end_of_digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name)?;
    Some((Amount { whole, fraction }, *unit, rest))
}

impl fmt::Display for GoDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        if nanos == 0 {
            return f.write_str("0s");
        }
        let (unit, digits, name) = match nanos {
            0..1_000 => (1, 0, "ns"),
            1_000..1_000_000 => (1_000, 3, "\u{b5}s"),
            1_000_000..SECOND => (1_000_000, 6, "ms"),
            _ => (SECOND, 9, "s"),
        };
        let whole = nanos / unit;
        let (hours, minutes) = if unit == SECOND { (whole / 3_600, whole / 60 % 60) } else { (0, 0) };
        if hours > 0 {
            write!(f, "{hours}h")?;
        }
        if hours > 0 || minutes > 0 {
            write!(f, "{minutes}m")?;
        }
        let whole = if unit == SECOND { whole % 60 } else { whole };
        let fraction = format!("{:0digits$}", nanos % unit);
        let fraction = fraction.trim_end_matches('0');
        if digits == 0 || fraction.is_empty() {
            write!(f, "{whole}{name}")
        } else {
            write!(f, "{whole}.{fraction}{name}")
        }
    }
}

/// A finite number as `encoding/json` writes it: `0.1`, `100`, `1e+21`, `5e-7`.
pub(super) fn json_number(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return signed_exponent(&format!("{number:e}"));
    }
    format!("{number}")
}

/// The same for a number of 32 bits.
pub(super) fn json_number32(number: f32) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        return signed_exponent(&format!("{number:e}"));
    }
    format!("{number}")
}

fn signed_exponent(text: &str) -> String {
    match text.split_once('e') {
        Some((digits, exponent)) if !exponent.starts_with('-') => format!("{digits}e+{exponent}"),
        _ => text.to_owned(),
    }
}

/// A finite number as go-yaml writes it: with an exponent of two digits below 0.0001 and from a million on.
pub(super) fn yaml_number(number: f64) -> String {
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let Ok(exponent) = exponent.parse::<i32>() else { return text };
    if number == 0.0 || (-4..6).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// Text in double quotes, as `%q` writes it.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            // Those that would act on a terminal are escaped; all others stand for themselves.
            c if c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}') =>
            {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |i: usize| u32::from(group.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let digit = (bits >> (18 - 6 * i)) & 63;
            text.push(if i <= group.len() { char::from(BASE64[digit as usize]) } else { '=' });
        }
    }
    text
}

/// The bytes of a base64 text; line breaks are allowed, missing padding is not. The error is the place of the
/// first byte that is wrong.
pub(super) fn parse_base64(text: &str) -> Result<Vec<u8>, usize> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut digits: Vec<u32> = Vec::with_capacity(4);
    let mut padding = 0;
    let mut is_done = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' | b'\r' => {}
            _ if is_done => return Err(at),
            b'=' if digits.len() + padding >= 2 && digits.len() + padding < 4 => padding += 1,
            _ if padding > 0 => return Err(at),
            _ => {
                let digit = BASE64.iter().position(|digit| *digit == byte).ok_or(at)?;
                digits.push(u32::try_from(digit).map_err(|_| at)?);
            }
        }
        if digits.len() + padding == 4 && !digits.is_empty() {
            let bits = digits.iter().chain(&[0; 4]).take(4).fold(0, |bits, digit| bits << 6 | digit);
            let group = [(bits >> 16) as u8, (bits >> 8) as u8, bits as u8];
            bytes.extend_from_slice(group.get(..digits.len() - 1).unwrap_or_default());
            digits.clear();
            is_done = padding > 0;
        }
    }
    if digits.is_empty() { Ok(bytes) } else { Err(text.len()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_and_written_as_go_does() {
        for (text, nanos, written) in [
            ("0", 0, "0s"),
            ("15s", 15_000_000_000, "15s"),
            ("10m", 600_000_000_000, "10m0s"),
            ("1h2m3.5s", 3_723_500_000_000, "1h2m3.5s"),
            ("1500ms", 1_500_000_000, "1.5s"),
            ("-1.5h", -5_400_000_000_000, "-1h30m0s"),
            ("3us", 3_000, "3\u{b5}s"),
            ("999ms", 999_000_000, "999ms"),
            ("1.5ms", 1_500_000, "1.5ms"),
            (".5s", 500_000_000, "500ms"),
            ("+5ns", 5, "5ns"),
            ("9223372036.854775807s", i64::MAX, "2562047h47m16.854775807s"),
            ("-9223372036.854775808s", i64::MIN, "-2562047h47m16.854775808s"),
        ] {
            let duration = GoDuration::parse(text);
            assert_eq!(duration, Some(GoDuration(nanos)), "{text}");
            assert_eq!(GoDuration(nanos).to_string(), written);
        }
        for text in ["", "15", "15 s", "s", ".s", "-", "1d", "9223372036.854775808s", "1h-2m", "99999999999h"]
        {
            assert_eq!(GoDuration::parse(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_written_as_go_does() {
        for (number, json, yaml) in [
            (0.0, "0", "0"),
            (0.5, "0.5", "0.5"),
            (100.0, "100", "100"),
            (1_234_567.5, "1234567.5", "1.2345675e+06"),
            (1e21, "1e+21", "1e+21"),
            (1e20, "100000000000000000000", "1e+20"),
            (5e-7, "5e-7", "5e-07"),
            (0.000_05, "0.00005", "5e-05"),
            (-1.5e-9, "-1.5e-9", "-1.5e-09"),
        ] {
            assert_eq!(json_number(number), json);
            assert_eq!(yaml_number(number), yaml);
        }
        assert_eq!(json_number32(0.1), "0.1");
        assert_eq!(json_number32(123_456_789.0), "123456790");
    }

    #[test]
    fn base64_has_its_padding() {
        for (bytes, text) in [("", ""), ("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("abcd", "YWJjZA==")]
        {
            assert_eq!(base64(bytes.as_bytes()), text);
            assert_eq!(parse_base64(text), Ok(bytes.as_bytes().to_vec()));
        }
        assert_eq!(parse_base64("YW\nJj"), Ok(b"abc".to_vec()));
        for text in ["!!!", "YQ", "YQ=", "=", "YQ==x", "YQ==="] {
            assert!(parse_base64(text).is_err(), "{text}");
        }
    }

    #[test]
    fn quotes_are_those_of_go() {
        assert_eq!(quoted("a\"b\\\n\u{1}\u{e9}"), r#""a\"b\\\n\x01é""#);
    }
}
