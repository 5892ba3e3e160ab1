//! Points in time and durations of expressions.
//!
//! Follows Go's `time` package as cel-go uses it: RFC 3339 with an offset, durations like `1h30m`.

use std::fmt;

/// A point in time from the year 1 to the year 9999, with the offset from UTC in which it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamp {
    seconds: i64,
    nanos: u32,
    /// Seconds east of UTC.
    offset: i32,
}

const MIN_SECONDS: i64 = -62_135_596_800;
const MAX_SECONDS: i64 = 253_402_300_799;
const OVERFLOW: &str = "timestamp overflow";
const DAY: i64 = 86_400;

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Timestamp {}

impl PartialOrd for Timestamp {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timestamp {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.seconds, self.nanos).cmp(&(other.seconds, other.nanos))
    }
}

/// The parts of a date and time.
pub(super) struct Civil {
    pub(super) year: i64,
    /// From 1.
    pub(super) month: u32,
    /// From 1.
    pub(super) day: u32,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// From 0, Sunday.
    pub(super) weekday: i64,
    /// From 0.
    pub(super) day_of_year: i64,
}

impl Timestamp {
    pub(super) fn new(seconds: i64, nanos: u32) -> Result<Self, &'static str> {
        if (MIN_SECONDS..=MAX_SECONDS).contains(&seconds) {
            Ok(Self { seconds, nanos, offset: 0 })
        } else {
            Err(OVERFLOW)
        }
    }

    pub(super) fn seconds(self) -> i64 {
        self.seconds
    }

    pub(super) fn millis(self) -> i64 {
        i64::from(self.nanos / 1_000_000)
    }

    /// Whether it is what Go calls the zero time.
    pub(super) fn is_go_zero(self) -> bool {
        self.seconds == MIN_SECONDS && self.nanos == 0
    }

    pub(super) fn at_offset(self, offset: i32) -> Self {
        Self { offset, ..self }
    }

    fn total(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanos)
    }

    pub(super) fn nanos_since(self, other: &Self) -> i128 {
        self.total() - other.total()
    }

    pub(super) fn plus(self, nanos: i128) -> Result<Self, &'static str> {
        let total = self.total() + nanos;
        let seconds = i64::try_from(total.div_euclid(1_000_000_000)).map_err(|_| OVERFLOW)?;
        let nanos = u32::try_from(total.rem_euclid(1_000_000_000)).map_err(|_| OVERFLOW)?;
        Self::new(seconds, nanos).map(|at| Self { offset: self.offset, ..at })
    }

    /// Reads RFC 3339. Nothing if it is not that; an error if it is out of range.
    pub(super) fn parse(text: &str) -> Option<Result<Self, &'static str>> {
        let number = |range: std::ops::Range<usize>| -> Option<i64> {
            let part = text.get(range)?;
            part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok()).flatten()
        };
        let is = |at: usize, c: char| text.get(at..at + 1).is_some_and(|s| s.starts_with(c));
        if !(is(4, '-') && is(7, '-') && is(10, 'T') && is(13, ':') && is(16, ':')) {
            return None;
        }
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        let mut rest = text.get(19..)?;
        let mut nanos = 0;
        if let Some(fraction) = rest.strip_prefix(['.', ',']) {
            let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 {
                return None;
            }
            let shown: String = fraction.chars().take(digits.min(9)).collect();
            nanos = format!("{shown:0<9}").parse().ok()?;
            rest = fraction.get(digits..)?;
        }
        let offset = parse_offset(rest)?;
        let days_in_month = days_in_month(year, month)?;
        if !(1..=days_in_month).contains(&day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_from_civil(year, month, day);
        let seconds = days * DAY + hour * 3600 + minute * 60 + second - i64::from(offset);
        Some(Self::new(seconds, nanos).map(|at| Self { offset, ..at }))
    }

    pub(super) fn civil(self) -> Civil {
        let local = self.seconds + i64::from(self.offset);
        let days = local.div_euclid(DAY);
        let (year, month, day) = civil_from_days(days);
        let of_day = local.rem_euclid(DAY);
        Civil {
            year,
            month,
            day,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            weekday: (days + 4).rem_euclid(7),
            day_of_year: days - days_from_civil(year, 1, 1),
        }
    }

    fn fraction(self) -> String {
        if self.nanos == 0 {
            return String::new();
        }
        format!(".{:09}", self.nanos).trim_end_matches('0').to_owned()
    }

    /// As Go's `String` writes it.
    pub(super) fn go_text(self) -> String {
        let c = self.civil();
        let (sign, minutes) = (if self.offset < 0 { '-' } else { '+' }, self.offset.abs() / 60);
        let offset = format!("{sign}{:02}{:02}", minutes / 60, minutes % 60);
        let zone = if self.offset == 0 { "UTC" } else { offset.as_str() };
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02}{} {offset} {zone}",
            c.year,
            c.month,
            c.day,
            c.hour,
            c.minute,
            c.second,
            self.fraction()
        )
    }
}

/// RFC 3339 with as many digits as needed.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = self.civil();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}",
            c.year,
            c.month,
            c.day,
            c.hour,
            c.minute,
            c.second,
            self.fraction()
        )?;
        if self.offset == 0 {
            return f.write_str("Z");
        }
        let (sign, minutes) = (if self.offset < 0 { '-' } else { '+' }, self.offset.abs() / 60);
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

fn parse_offset(text: &str) -> Option<i32> {
    if text == "Z" {
        return Some(0);
    }
    let sign = match text.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let (hours, minutes) = text.get(1..)?.split_once(':')?;
    let two = |part: &str| -> Option<i32> {
        (part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit())).then(|| part.parse().ok()).flatten()
    };
    let (hours, minutes) = (two(hours)?, two(minutes)?);
    (hours <= 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn days_in_month(year: i64, month: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => return None,
    })
}

/// Days since 1970-01-01 of the proleptic Gregorian calendar.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

/// Reads a duration such as `-1.5h` or `2m3s`, in nanoseconds.
pub(super) fn parse_duration(text: &str) -> Option<i64> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let limit = i128::from(i64::MAX) + 1;
    let mut total: i128 = 0;
    let mut rest = rest;
    while !rest.is_empty() {
        let number = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (amount, after) = rest.split_at_checked(number)?;
        let unit_length = after.bytes().take_while(|b| !b.is_ascii_digit() && *b != b'.').count();
        let (unit, after) = after.split_at_checked(unit_length)?;
        let unit: i128 = match unit {
            "ns" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        let (whole, fraction) = amount.split_once('.').unwrap_or((amount, ""));
        if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
            return None;
        }
        let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        if whole > limit / unit {
            return None;
        }
        total += whole * unit + fraction_of(fraction, unit);
        if total > limit {
            return None;
        }
        rest = after;
    }
    let total = if negative { -total } else { total };
    i64::try_from(total).ok()
}

fn fraction_of(digits: &str, unit: i128) -> i128 {
    let shown: String = digits.chars().take(18).collect();
    let scale = 10_i128.pow(u32::try_from(shown.len()).unwrap_or(0));
    shown.parse::<i128>().map_or(0, |value| value * unit / scale)
}

/// As Go's `String` writes a duration.
pub(super) fn go_duration(nanos: i64) -> String {
    let amount = nanos.unsigned_abs();
    let sign = if nanos < 0 { "-" } else { "" };
    let decimal = |value: u64, unit: u64, digits: usize| {
        let fraction = format!("{:0digits$}", value % unit);
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        format!("{}{dot}{fraction}", value / unit)
    };
    if amount == 0 {
        return "0s".to_owned();
    }
    if amount < 1_000 {
        return format!("{sign}{amount}ns");
    }
    if amount < 1_000_000 {
        return format!("{sign}{}\u{b5}s", decimal(amount, 1_000, 3));
    }
    if amount < 1_000_000_000 {
        return format!("{sign}{}ms", decimal(amount, 1_000_000, 6));
    }
    let minutes = amount / 60_000_000_000;
    let seconds = decimal(amount % 60_000_000_000, 1_000_000_000, 9);
    match (minutes / 60, minutes % 60) {
        (0, 0) => format!("{sign}{seconds}s"),
        (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
        (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
    }
}
