//! Times in RFC 3339 as Go's `time.Parse` reads them, and what it says of others.

use std::fmt::Write;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// The numbers of the date and the time of day: what stands before each, how the layout spells it, how many digits
/// it has (0: one or two), the greatest that is in range, and its name.
const NUMBERS: [(&str, &str, usize, i16, &str); 6] = [
    ("", "2006", 4, 9999, "year"),
    ("-", "01", 2, 12, "month"),
    ("-", "02", 2, 99, "day"),
    ("T", "15", 0, 23, "hour"),
    (":", "04", 2, 59, "minute"),
    (":", "05", 2, 59, "second"),
];

/// Why a text is no time.
enum Bad<'a> {
    /// This part of the text does not fit that part of the layout.
    Part(&'a str, &'static str),
    /// Something else.
    Message(String),
}

/// The time in UTC and whole seconds, as the API server writes it.
///
/// # Errors
/// What Go says of a text that is no time.
pub(super) fn normalize(text: &str) -> Result<String, String> {
    parse(text).map(|time| time.to_string()).map_err(|bad| match bad {
        Bad::Part(rest, part) => format!(
            "parsing time {} as {}: cannot parse {} as {}",
            quote(text),
            quote(LAYOUT),
            quote(rest),
            quote(part)
        ),
        Bad::Message(message) => format!("parsing time {}: {message}", quote(text)),
    })
}

fn parse(text: &str) -> Result<Timestamp, Bad<'_>> {
    let mut rest = text;
    let mut found = [0i16; 6];
    for ((prefix, part, digits, max, name), slot) in NUMBERS.into_iter().zip(&mut found) {
        rest = rest.strip_prefix(prefix).ok_or(Bad::Part(rest, prefix))?;
        let (number, after) = number(rest, digits).ok_or(Bad::Part(rest, part))?;
        if number > max || (name == "month" && number == 0) {
            return Err(Bad::Message(format!("{name} out of range")));
        }
        *slot = number;
        rest = after;
    }
    // A fraction is read though the layout has none.
    if let Some(fraction) = rest.strip_prefix(['.', ','])
        && fraction.starts_with(|character: char| character.is_ascii_digit())
    {
        rest = fraction.trim_start_matches(|character: char| character.is_ascii_digit());
    }
    let (offset, after) = zone(rest)?;
    if !after.is_empty() {
        return Err(Bad::Message(format!("extra text: {}", quote(after))));
    }
    let [year, month, day, hour, minute, second] = found;
    let small = |number: i16| i8::try_from(number).unwrap_or(i8::MAX);
    let civil = DateTime::new(year, small(month), small(day), small(hour), small(minute), small(second), 0);
    let time = civil.and_then(|civil| TimeZone::UTC.to_timestamp(civil));
    let time = time.and_then(|time| time.checked_sub(SignedDuration::from_secs(offset)));
    time.map_err(|_| Bad::Message("day out of range".to_owned()))
}

/// A number of so many digits, or of one or two where that is 0, and what follows it.
fn number(text: &str, digits: usize) -> Option<(i16, &str)> {
    let is_digit = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
    let length = match digits {
        0 if is_digit(1) => 2,
        0 => 1,
        _ => digits,
    };
    let number = text.get(..length).filter(|_| (0..length).all(is_digit))?;
    Some((number.parse().ok()?, text.get(length..)?))
}

/// The offset of the zone in seconds, and what follows it.
fn zone(text: &str) -> Result<(i64, &str), Bad<'_>> {
    if let Some(after) = text.strip_prefix('Z') {
        return Ok((0, after));
    }
    let bad = || Bad::Part(text, "Z07:00");
    let (clock, after) = text.split_at_checked(6).ok_or_else(bad)?;
    let sign = match clock.as_bytes().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(bad()),
    };
    let (hours, minutes) = clock.get(1..).and_then(|clock| clock.split_once(':')).ok_or_else(bad)?;
    let (hours, _) = number(hours, 2).ok_or_else(bad)?;
    let (minutes, _) = number(minutes, 2).ok_or_else(bad)?;
    if minutes > 60 {
        return Err(Bad::Message("time zone offset minute out of range".to_owned()));
    }
    if hours > 24 {
        return Err(Bad::Message("time zone offset hour out of range".to_owned()));
    }
    Ok((sign * (i64::from(hours) * 60 + i64::from(minutes)) * 60, after))
}

/// The text in quotation marks, with what is not printable ASCII as bytes.
fn quote(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            ' '..='\u{7f}' => quoted.push(character),
            _ => {
                for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                    // Writing to a string does not fail.
                    let _ = write!(quoted, "\\x{byte:02x}");
                }
            }
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        normalize(text).unwrap_or_else(|error| error)
    }

    #[test]
    fn times_are_turned_into_utc() {
        for (text, time) in [
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
            ("2026-01-01T01:30:05.25+01:30", "2026-01-01T00:00:05Z"),
            ("2025-12-31T3:00:00-21:00", "2026-01-01T00:00:00Z"),
            ("2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00Z"),
            ("2026-01-01T1:00:00Z", "2026-01-01T01:00:00Z"),
        ] {
            assert_eq!(told(text), time);
        }
    }

    /// What a Go 1.26 program says: `time.Parse(time.RFC3339, text)`.
    #[test]
    fn what_is_wrong_is_told_in_the_words_of_go() {
        for (text, error) in [
            ("yesterday", "as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\""),
            ("", "as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"2006\""),
            ("2026/01/01", "as \"2006-01-02T15:04:05Z07:00\": cannot parse \"/01/01\" as \"-\""),
            ("2026-1-01", "as \"2006-01-02T15:04:05Z07:00\": cannot parse \"1-01\" as \"01\""),
            (
                "2026-01-01 00:00:00Z",
                "as \"2006-01-02T15:04:05Z07:00\": cannot parse \" 00:00:00Z\" as \"T\"",
            ),
            ("2026-01-01T00:00:00", "as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\" as \"Z07:00\""),
            (
                "2026-01-01T00:00:00+0100",
                "as \"2006-01-02T15:04:05Z07:00\": cannot parse \"+0100\" as \"Z07:00\"",
            ),
        ] {
            assert_eq!(told(text), format!("parsing time \"{text}\" {error}"));
        }
        for (text, error) in [
            ("2026-13-01T00:00:00Z", "month out of range"),
            ("2026-00-01T00:00:00Z", "month out of range"),
            ("2026-02-29T00:00:00Z", "day out of range"),
            ("2026-01-00T00:00:00Z", "day out of range"),
            ("2026-01-01T24:00:00Z", "hour out of range"),
            ("2026-01-01T00:60:00Z", "minute out of range"),
            ("2026-01-01T00:00:60Z", "second out of range"),
            ("2026-01-01T00:00:00+25:00", "time zone offset hour out of range"),
            ("2026-01-01T00:00:00+01:61", "time zone offset minute out of range"),
            ("2026-01-01T00:00:00Z!", "extra text: \"!\""),
        ] {
            assert_eq!(told(text), format!("parsing time \"{text}\": {error}"));
        }
        assert_eq!(
            told("é\"\n"),
            "parsing time \"\\xc3\\xa9\\\"\\x0a\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"\\xc3\\xa9\\\"\\x0a\" as \"2006\""
        );
    }
}
