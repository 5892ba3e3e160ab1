//! Points in time and lengths of time of the scheduler core.
//!
//! The core reads no clock: the driver passes a [`Time`] with every input. `Time` counts nanoseconds since the
//! Unix epoch, is totally ordered and can be written to a recording, which `std::time::Instant` cannot.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

pub use std::time::Duration;

/// A point in time: nanoseconds since 1970-01-01T00:00:00Z. Times before that do not occur in a cluster and
/// are read as zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(u64);

impl Time {
    /// The Unix epoch.
    pub const ZERO: Self = Self(0);
    /// Later than every other time.
    pub const MAX: Self = Self(u64::MAX);

    /// The time that lies `nanos` nanoseconds after the Unix epoch.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The time that lies `secs` seconds after the Unix epoch.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// This time cut down to the whole second, as the scheduling queue's backoff windows are.
    pub const fn truncate_to_second(self) -> Self {
        Self(self.0 - self.0 % 1_000_000_000)
    }

    /// How long after `earlier` this time is; zero if it is not.
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This time plus `by`, at most [`Time::MAX`].
    pub fn saturating_add(self, by: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// Reads an RFC 3339 timestamp as the API server writes it; `None` if it is not one.
    pub fn parse_rfc3339(text: &str) -> Option<Self> {
        let timestamp: jiff::Timestamp = text.parse().ok()?;
        Some(Self(u64::try_from(timestamp.as_nanosecond()).unwrap_or(0)))
    }

    /// The RFC 3339 form in UTC with whole seconds, as the API server writes `metav1.Time`.
    pub fn to_rfc3339(self) -> String {
        self.truncate_to_second().to_rfc3339_nanos()
    }

    /// The RFC 3339 form in UTC with six digits behind the second (`metav1.MicroTime`).
    pub fn to_rfc3339_micros(self) -> String {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(timestamp) => format!("{timestamp:.6}"),
            Err(_) => String::from("-"),
        }
    }

    /// The RFC 3339 form in UTC with as many digits behind the second as there are.
    pub fn to_rfc3339_nanos(self) -> String {
        match jiff::Timestamp::from_nanosecond(i128::from(self.0)) {
            Ok(timestamp) => timestamp.to_string(),
            Err(_) => String::from("-"),
        }
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

impl Add<Duration> for Time {
    type Output = Self;
    fn add(self, by: Duration) -> Self {
        self.saturating_add(by)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, by: Duration) {
        *self = self.saturating_add(by);
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        self.saturating_since(earlier)
    }
}

impl serde::Serialize for Time {
    /// Whole seconds for people and API servers; elsewhere nothing is lost.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_human_readable = serializer.is_human_readable();
        serializer.serialize_str(&if is_human_readable { self.to_rfc3339() } else { self.to_rfc3339_nanos() })
    }
}

impl<'de> serde::Deserialize<'de> for Time {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse_rfc3339(&text).ok_or_else(|| {
            serde::de::Error::custom(format_args!(
                "{text:?} is not an RFC 3339 time like 2026-01-01T00:00:00Z"
            ))
        })
    }
}

/// A duration in a person's units as Kubernetes tools print it: `350ms`, `4.2s`, `4m12s`, `3h05m`, `2d4h`.
pub fn human_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    let secs = duration.as_secs();
    match secs {
        0 => format!("{millis}ms"),
        1..=9 => format!("{}.{}s", secs, (millis % 1000) / 100),
        10..=59 => format!("{secs}s"),
        60..=3599 => format!("{}m{:02}s", secs / 60, secs % 60),
        3600..=86_399 => format!("{}h{:02}m", secs / 3600, secs % 3600 / 60),
        _ => format!("{}d{}h", secs / 86_400, secs % 86_400 / 3600),
    }
}

/// A duration as a person writes it: `90` (seconds), `1m30s`, `500ms`, `1.5h`, `2d`. Nothing if it is none, or longer than
/// can be told.
pub fn parse_human_duration(text: &str) -> Option<Duration> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Duration::try_from_secs_f64(text.parse().ok()?).ok();
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, behind) =
            rest.split_at_checked(rest.find(|c: char| !c.is_ascii_digit() && c != '.')?)?;
        let unit_end = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at_checked(unit_end)?;
        let seconds = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3_600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        let number: f64 = number.parse().ok()?;
        total = total.checked_add(Duration::try_from_secs_f64(number * seconds).ok()?)?;
        rest = behind;
    }
    (!text.is_empty()).then_some(total)
}

/// A duration as Go prints it, which is how upstream's messages have it: `500ms`, `1.5s`, `10s`, `1m30s`, `15m0s`.
pub fn go_duration(duration: Duration) -> String {
    let nanos = duration.as_nanos();
    let with_fraction = |unit: u128, suffix: &str| {
        let fraction = format!("{:0width$}", nanos % unit, width = unit.ilog10() as usize);
        let fraction = fraction.trim_end_matches('0');
        let dot = if fraction.is_empty() { "" } else { "." };
        format!("{}{dot}{fraction}{suffix}", nanos / unit)
    };
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => with_fraction(1_000, "µs"),
        1_000_000..1_000_000_000 => with_fraction(1_000_000, "ms"),
        _ => {
            let (hours, minutes) = (duration.as_secs() / 3600, duration.as_secs() / 60 % 60);
            let rest = go_seconds(nanos % 60_000_000_000);
            match (hours, minutes) {
                (0, 0) => rest,
                (0, _) => format!("{minutes}m{rest}"),
                (_, _) => format!("{hours}h{minutes}m{rest}"),
            }
        }
    }
}

fn go_seconds(nanos: u128) -> String {
    let fraction = format!("{:09}", nanos % 1_000_000_000);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{}{dot}{fraction}s", nanos / 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc3339_round_trips_at_whole_seconds() {
        let time = Time::parse_rfc3339("2026-01-01T00:00:00Z");
        assert_eq!(time.map(Time::to_rfc3339).as_deref(), Some("2026-01-01T00:00:00Z"));
        assert_eq!(Time::parse_rfc3339("yesterday"), None);
    }

    #[test]
    fn rfc3339_with_nanoseconds_loses_nothing() {
        for nanos in [0, 1, 1_500_000_000, 1_767_225_600_000_000_001, u64::MAX] {
            let time = Time::from_nanos(nanos);
            assert_eq!(Time::parse_rfc3339(&time.to_rfc3339_nanos()), Some(time));
        }
    }

    #[test]
    fn backoff_windows_are_cut_to_the_second() {
        assert_eq!(Time::from_nanos(3_999_999_999).truncate_to_second(), Time::from_secs(3));
    }

    #[test]
    fn go_durations_read_as_go_prints_them() {
        let show = |nanos| go_duration(Duration::from_nanos(nanos));
        assert_eq!(show(0), "0s");
        assert_eq!(show(1_500), "1.5µs");
        assert_eq!(show(500_000_000), "500ms");
        assert_eq!(show(1_500_000_000), "1.5s");
        assert_eq!(show(90_000_000_000), "1m30s");
        assert_eq!(show(900_000_000_000), "15m0s");
        assert_eq!(show(3_600_000_000_000), "1h0m0s");
    }

    #[test]
    fn a_person_writes_durations_in_several_ways() {
        let seconds = |text: &str| parse_human_duration(text).map(|duration| duration.as_secs_f64());
        assert_eq!(seconds("90"), Some(90.0));
        assert_eq!(seconds("1.5"), Some(1.5));
        assert_eq!(seconds("1m30s"), Some(90.0));
        assert_eq!(seconds("1.5h"), Some(5_400.0));
        assert_eq!(seconds("500ms"), Some(0.5));
        assert_eq!(seconds("2d"), Some(172_800.0));
        for wrong in ["", "s", ".", "1x", "-1s", "1m30", "inf", "1e5", "99999999999999999999"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations_read_like_kubectl() {
        let show = |ms| human_duration(Duration::from_millis(ms));
        assert_eq!(show(350), "350ms");
        assert_eq!(show(4_250), "4.2s");
        assert_eq!(show(252_000), "4m12s");
        assert_eq!(show(11_100_000), "3h05m");
        assert_eq!(show(187_200_000), "2d4h");
    }
}
