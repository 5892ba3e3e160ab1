//! Writes a document as `sigs.k8s.io/yaml` does: keys in natural order, lists not indented, quotes only where a
//! reader of YAML 1.1 needs them.
//!
//! Follows go-yaml v2 (`encode.go`, `emitterc.go`, `sorter.go`). Long lines are not folded.

use std::cmp::Ordering;

use serde_json::Value;

use super::go_text::yaml_number;
use crate::api::hidden::is_hidden;
use crate::api::manifest::scalar::{Scalar, resolve};

/// The document as YAML, with a line break at its end.
pub(super) fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    if is_block(value) {
        write_block(&mut text, value, 0);
    } else {
        write_inline(&mut text, value, 0);
        text.push('\n');
    }
    text
}

/// Whether the value takes lines of its own.
fn is_block(value: &Value) -> bool {
    match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        _ => false,
    }
}

fn write_block(text: &mut String, value: &Value, indent: usize) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_by(|(a, _), (b, _)| key_order(a, b));
            for (key, value) in entries {
                text.push_str(&margin);
                if !is_simple_key(key) {
                    text.push_str(&format!("? {}\n{margin}: ", scalar(key, indent, false)));
                    write_nested(text, value, indent);
                    continue;
                }
                text.push_str(&scalar(key, indent, true));
                text.push(':');
                match value {
                    Value::Array(_) if is_block(value) => {
                        text.push('\n');
                        write_block(text, value, indent);
                    }
                    _ if is_block(value) => {
                        text.push('\n');
                        write_block(text, value, indent + 2);
                    }
                    _ => {
                        text.push(' ');
                        write_nested(text, value, indent);
                    }
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                text.push_str(&margin);
                text.push_str("- ");
                write_nested(text, item, indent);
            }
        }
        _ => {}
    }
}

/// A value that begins on the line of an indicator.
fn write_nested(text: &mut String, value: &Value, indent: usize) {
    if is_block(value) {
        let mut block = String::new();
        write_block(&mut block, value, indent + 2);
        text.push_str(block.get(indent + 2..).unwrap_or_default());
    } else {
        write_inline(text, value, indent);
        text.push('\n');
    }
}

/// Whether a key may stand before its colon without an indicator of its own.
fn is_simple_key(key: &str) -> bool {
    key.len() <= 128 && !key.chars().any(is_break)
}

fn write_inline(text: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() => text.push_str(&yaml_number(float)),
            _ => text.push_str(&number.to_string()),
        },
        Value::String(value) => text.push_str(&scalar(value, indent, false)),
        Value::Array(_) => text.push_str("[]"),
        Value::Object(_) => text.push_str("{}"),
    }
}

/// What a text consists of, as far as it decides how it may be written.
#[derive(Default)]
struct Traits {
    /// It would be taken for something else where it stands without quotes.
    has_indicator: bool,
    has_break: bool,
    /// A character that only an escape can write, or a space before a break.
    needs_escapes: bool,
    has_space_after_break: bool,
    starts_or_ends_blank: bool,
    ends_with_space: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let mut traits =
            Self { has_indicator: text.starts_with("---") || text.starts_with("..."), ..Self::default() };
        let mut previous = None;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let next = chars.peek().copied();
            let is_followed_by_blank = next.is_none_or(|next| next == ' ' || next == '\t');
            traits.has_indicator |= match (previous, c) {
                (
                    None,
                    '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@'
                    | '`',
                ) => true,
                (None, '?' | ':' | '-') | (Some(_), ':') => is_followed_by_blank,
                (Some(before), '#') => is_blank_or_break(before),
                _ => false,
            };
            traits.needs_escapes |= !is_printable(c);
            if c == ' ' {
                traits.starts_or_ends_blank |= previous.is_none() || next.is_none();
                traits.ends_with_space |= next.is_none();
                traits.has_space_after_break |= previous.is_some_and(is_break);
            } else if is_break(c) {
                traits.has_break = true;
                traits.starts_or_ends_blank |= previous.is_none() || next.is_none();
                traits.needs_escapes |= previous == Some(' ');
            }
            previous = Some(c);
        }
        traits
    }
}

const fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

const fn is_blank_or_break(c: char) -> bool {
    matches!(c, ' ' | '\t') || is_break(c)
}

/// Whether the character may stand as it is. go-yaml lets some through that nobody sees or that turn the direction
/// of reading; as escapes they are the same text.
fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~')
        || (matches!(c, '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fefe}' | '\u{ff00}'..='\u{fffd}')
            && !is_hidden(c))
}

/// A text as a scalar: plain, in single or double quotes, or as a block of lines.
fn scalar(text: &str, indent: usize, is_key: bool) -> String {
    let traits = Traits::of(text);
    if text.contains('\n') {
        return if is_key || traits.needs_escapes || traits.ends_with_space {
            double_quoted(text)
        } else {
            literal(text, indent)
        };
    }
    if is_something_else(text) {
        return double_quoted(text);
    }
    if traits.needs_escapes || traits.has_space_after_break {
        return double_quoted(text);
    }
    if traits.has_indicator || traits.has_break || traits.starts_or_ends_blank {
        return format!("'{}'", text.replace('\'', "''"));
    }
    text.to_owned()
}

/// Whether a text without quotes would be read as a number, a time, a boolean or null.
fn is_something_else(text: &str) -> bool {
    resolve(text) != Scalar::Text || is_base_60(text) || is_timestamp(text)
}

/// Whether a text is a number such as `1:30` to some readers.
fn is_base_60(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut parts = whole.split(':');
    let is_digit = |c: char| c.is_ascii_digit() || c == '_';
    let is_first = parts
        .next()
        .is_some_and(|first| first.starts_with(|c: char| c.is_ascii_digit()) && first.chars().all(is_digit));
    let mut others = parts.peekable();
    is_first
        && others.peek().is_some()
        && others.all(|part| matches!(part.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']))
        && fraction.chars().all(is_digit)
}

/// Whether a text is a date, with or without a time of day.
fn is_timestamp(text: &str) -> bool {
    let Some((year, rest)) = text.split_once('-') else { return false };
    let Some((month, rest)) = rest.split_once('-') else { return false };
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (day, time) = rest.split_at(end);
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse::<i16>().ok().filter(|_| is_number)
    };
    let date = number(year, 4..=4).zip(number(month, 1..=2)).zip(number(day, 1..=2));
    let is_date = date.is_some_and(|((year, month), day)| {
        let (month, day) = (i8::try_from(month).unwrap_or(0), i8::try_from(day).unwrap_or(0));
        jiff::civil::Date::new(year, month, day).is_ok()
    });
    is_date && (time.is_empty() || is_time_of_day(time))
}

fn is_time_of_day(text: &str) -> bool {
    let (clock, needs_zone) = match text.strip_prefix(['T', 't']) {
        Some(clock) => (clock, true),
        None => match text.strip_prefix(' ') {
            Some(clock) => (clock, false),
            None => return false,
        },
    };
    let zone_at = clock.find(['Z', '+', '-']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    let is_part = |text: &str, max: u8| {
        (1..=2).contains(&text.len()) && text.parse::<u8>().is_ok_and(|value| value <= max)
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let parts: Vec<&str> = clock.split(':').collect();
    let is_clock = matches!(parts.as_slice(), [hour, minute, second]
        if is_part(hour, 23) && is_part(minute, 59) && is_part(second, 59))
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let is_zone = match zone.strip_prefix(['+', '-']).map(|zone| zone.split_once(':')) {
        Some(Some((hour, minute))) => {
            hour.len() == 2 && minute.len() == 2 && is_part(hour, 24) && is_part(minute, 60)
        }
        Some(None) => false,
        None => zone == if needs_zone { "Z" } else { "" },
    };
    is_clock && is_zone && (needs_zone || zone.is_empty())
}

fn double_quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\0' => quoted.push_str("\\0"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\t' => quoted.push_str("\\t"),
            '\n' => quoted.push_str("\\n"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            '\r' => quoted.push_str("\\r"),
            '\u{1b}' => quoted.push_str("\\e"),
            '\u{85}' => quoted.push_str("\\N"),
            '\u{2028}' => quoted.push_str("\\L"),
            '\u{2029}' => quoted.push_str("\\P"),
            c if is_printable(c) => quoted.push(c),
            c => {
                let code = u32::from(c);
                quoted.push_str(&match code {
                    0..=0xff => format!("\\x{code:02X}"),
                    0x100..=0xffff => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                });
            }
        }
    }
    quoted.push('"');
    quoted
}

/// A text of several lines. The last line break of the document's line is the caller's.
fn literal(text: &str, indent: usize) -> String {
    let mut block = String::from("|");
    if text.starts_with([' ', '\n']) {
        block.push('2');
    }
    let body = match text.strip_suffix('\n') {
        None => {
            block.push('-');
            text
        }
        Some(body) if body.is_empty() || body.ends_with('\n') => {
            block.push('+');
            body
        }
        Some(body) => body,
    };
    let margin = " ".repeat(indent + 2);
    for line in body.split('\n') {
        block.push('\n');
        if !line.is_empty() {
            block.push_str(&margin);
            block.push_str(line);
        }
    }
    block
}

/// The order of keys: letters by their code and after everything else, digits by the number that they make.
fn key_order(a: &str, b: &str) -> Ordering {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let Some(i) = a.iter().zip(&b).position(|(a, b)| a != b) else { return a.len().cmp(&b.len()) };
    let (Some(x), Some(y)) = (a.get(i).copied(), b.get(i).copied()) else { return a.len().cmp(&b.len()) };
    match (x.is_alphabetic(), y.is_alphabetic()) {
        (true, true) => return x.cmp(&y),
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    // A number that began before this place and is not made of zeros alone counts as a digit of its own here.
    let is_inside = (x == '0' || y == '0')
        && a.iter().take(i).rev().take_while(|c| c.is_ascii_digit()).any(|c| *c != '0');
    let number = |chars: &[char]| {
        let digits = chars.iter().skip(i).take_while(|c| c.is_ascii_digit());
        let fold = |number: u64, c: &char| {
            number.wrapping_mul(10).wrapping_add(u64::from(u32::from(*c) - u32::from('0')))
        };
        (digits.clone().fold(u64::from(is_inside), fold), digits.count())
    };
    number(&a).cmp(&number(&b)).then(x.cmp(&y))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn blocks_have_the_form_of_kubernetes_documents() {
        assert_eq!(
            to_yaml(&json!({"b": [1, {"x": {}, "w": [[1, 2], []]}], "a": {"c": null}, "d": []})),
            "a:\n  c: null\nb:\n- 1\n- w:\n  - - 1\n    - 2\n  - []\n  x: {}\nd: []\n"
        );
        assert_eq!(to_yaml(&json!([])), "[]\n");
        assert_eq!(
            to_yaml(&json!({"x": {"a\nb": [1, {"c": 1}], "d\ne": {}, "f\ng": 3}})),
            "x:\n  ? |-\n    a\n    b\n  : - 1\n    - c: 1\n  ? |-\n    d\n    e\n  : {}\n  ? |-\n    f\n    g\n  : 3\n"
        );
    }

    /// What go-yaml v2 writes for the same texts.
    #[test]
    fn texts_are_quoted_only_where_they_must_be() {
        for (text, written) in [
            ("plain", "plain"),
            ("", "\"\""),
            ("*", "'*'"),
            ("%s", "'%s'"),
            ("x: y", "'x: y'"),
            ("http://a:80/b#c", "http://a:80/b#c"),
            ("a #b", "'a #b'"),
            ("-", "'-'"),
            ("-a", "-a"),
            ("?", "'?'"),
            ("yes", "\"yes\""),
            ("null", "\"null\""),
            ("5", "\"5\""),
            ("0x1F", "\"0x1F\""),
            ("1:30", "\"1:30\""),
            ("1:99", "1:99"),
            ("2020-01-01", "\"2020-01-01\""),
            ("2020-13-01", "2020-13-01"),
            ("2020-01-01T00:00:00Z", "\"2020-01-01T00:00:00Z\""),
            ("2020-01-01 1:2:3.5", "\"2020-01-01 1:2:3.5\""),
            ("15s", "15s"),
            (" a", "' a'"),
            ("a'b", "a'b"),
            ("'a", "'''a'"),
            ("a\tb", "\"a\\tb\""),
            ("\u{e9}", "\u{e9}"),
            ("\u{1f600}", "\"\\U0001F600\""),
            ("---", "'---'"),
            ("<<", "<<"),
            ("+1:30", "\"+1:30\""),
            ("1_0:3.5", "\"1_0:3.5\""),
            ("2020-1-1t1:1:1+01:00", "\"2020-1-1t1:1:1+01:00\""),
            ("2020-02-30", "2020-02-30"),
            ("2001-01-01T10:00:00", "2001-01-01T10:00:00"),
            ("2001-01-01 10:00:00", "\"2001-01-01 10:00:00\""),
            ("a\u{a0}b", "a\u{a0}b"),
            ("a: ", "'a: '"),
            ("a:", "'a:'"),
            (":a", ":a"),
            ("?a", "?a"),
            ("a]b", "a]b"),
            ("]", "']'"),
            ("!a", "'!a'"),
            ("a ", "'a '"),
            ("12e03", "\"12e03\""),
            ("1e400", "1e400"),
            ("0o8", "0o8"),
            ("08", "\"08\""),
            ("0b1", "\"0b1\""),
            ("1.", "\"1.\""),
            ("-.5", "\"-.5\""),
            (".inf", "\".inf\""),
            ("+", "+"),
            (".", "."),
            ("=", "="),
            ("~", "\"~\""),
            ("N", "\"N\""),
            ("\u{2028}", "\"\\L\""),
            ("\u{feff}", "\"\\uFEFF\""),
            ("a\rb", "\"a\\rb\""),
            ("x\n\n", "|+\n  x\n"),
            ("\nx", "|2-\n\n  x"),
            (" x\ny", "|2-\n   x\n  y"),
            ("x \ny", "\"x \\ny\""),
            ("x\n y", "|-\n  x\n   y"),
        ] {
            assert_eq!(scalar(text, 0, false), written);
        }
        assert_eq!(to_yaml(&json!({"a": "x\ny\n", "b": "x\ny"})), "a: |\n  x\n  y\nb: |-\n  x\n  y\n");
    }

    #[test]
    fn keys_are_in_natural_order() {
        let mut keys = [
            "a10", "a9", "a", "b", "A", "a-b", "_", "10", "9", "a09", "a0", "a00", "ab", "a.b", "\u{e9}",
            "a_b",
        ];
        keys.sort_by(|a, b| key_order(a, b));
        assert_eq!(
            keys,
            [
                "_", "9", "10", "A", "a", "a-b", "a.b", "a_b", "a0", "a00", "a9", "a09", "a10", "ab", "b",
                "\u{e9}"
            ]
        );
    }
}
