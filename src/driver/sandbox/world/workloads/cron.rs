//! Schedules of CronJobs, as `github.com/robfig/cron/v3` reads them, which the controller uses.
//!
//! Five fields (minute, hour, day of the month, month, day of the week) with lists, ranges, steps and names, `?` for `*`,
//! and the words `@hourly` to `@yearly` and `@every DURATION`. A day counts if it is one of either kind, unless one of
//! the two is open. All times are UTC: there is no table of time zones here. The crates `cron` and `croner` read other
//! languages (seconds and years, `L`, `W` and `#`, other rules for days), and what they take beyond this one would have to be
//! refused here all the same.

use std::collections::BTreeSet;

use crate::api::time::parse_human_duration;
use crate::api::{Duration, Time};

const MONTHS: &[&str] = &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: &[&str] = &["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
/// A schedule that names no day that comes, such as the 30th of February, has none in so many days.
const DAYS_MAX: usize = 366 * 5;

/// When something happens again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Schedule {
    /// At these times.
    Fields(Box<Fields>),
    /// So long after the last time.
    Every(Duration),
}

/// The values that each field allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Fields {
    minutes: BTreeSet<u32>,
    hours: BTreeSet<u32>,
    days: Field,
    months: BTreeSet<u32>,
    weekdays: Field,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    values: BTreeSet<u32>,
    is_open: bool,
}

impl Schedule {
    /// Reads a schedule.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(in super::super) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(word) = text.strip_prefix('@') {
            let fields = match word {
                "yearly" | "annually" => "0 0 1 1 *",
                "monthly" => "0 0 1 * *",
                "weekly" => "0 0 * * 0",
                "daily" | "midnight" => "0 0 * * *",
                "hourly" => "0 * * * *",
                _ => {
                    let every =
                        word.strip_prefix("every ").and_then(|text| parse_human_duration(text.trim()));
                    let every = every.ok_or_else(|| format!("unrecognized descriptor: {text:?}"))?;
                    // Shorter ones are one second, and parts of seconds are cut off.
                    return Ok(Self::Every(Duration::from_secs(every.as_secs().max(1))));
                }
            };
            return Self::parse(fields);
        }
        let parts: Vec<&str> = text.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = parts.as_slice() else {
            return Err(format!("expected exactly 5 fields, found {}: {text:?}", parts.len()));
        };
        Ok(Self::Fields(Box::new(Fields {
            minutes: field(minute, 0, 59, &[])?.values,
            hours: field(hour, 0, 23, &[])?.values,
            days: field(day, 1, 31, &[])?,
            months: field(month, 1, 12, MONTHS)?.values,
            weekdays: field(weekday, 0, 6, DAYS)?,
        })))
    }

    /// The first time after `after`, in UTC.
    pub(in super::super) fn next(&self, after: Time) -> Option<Time> {
        let seconds = after.as_nanos() / 1_000_000_000;
        match self {
            Self::Every(every) => Some(Time::from_secs(seconds + every.as_secs())),
            Self::Fields(fields) => {
                let minute = seconds / 60 + 1;
                let first_day = minute / 1_440;
                let mut from = minute % 1_440;
                for day in (first_day..).take(DAYS_MAX) {
                    if fields.has_day(day) {
                        let first = fields.first_minute(from);
                        if let Some(first) = first {
                            return Some(Time::from_secs((day * 1_440 + first) * 60));
                        }
                    }
                    from = 0;
                }
                None
            }
        }
    }
}

impl Fields {
    /// Whether a day, counted from 1970-01-01, is one of them.
    fn has_day(&self, day: u64) -> bool {
        let (month, day_of_month) = civil(day);
        if !self.months.contains(&month) {
            return false;
        }
        // 1970-01-01 was a Thursday.
        let weekday = u32::try_from((day + 4) % 7).unwrap_or(0);
        let is_day = self.days.values.contains(&day_of_month);
        let is_weekday = self.weekdays.values.contains(&weekday);
        if self.days.is_open || self.weekdays.is_open { is_day && is_weekday } else { is_day || is_weekday }
    }

    /// The first minute of a day from that one on.
    fn first_minute(&self, from: u64) -> Option<u64> {
        let times =
            self.hours.iter().flat_map(|hour| self.minutes.iter().map(move |minute| hour * 60 + minute));
        times.map(u64::from).find(|minute| *minute >= from)
    }
}

/// Month and day of the month of a day counted from 1970-01-01, by the rule of the Gregorian calendar.
fn civil(day: u64) -> (u32, u32) {
    // Years begin in March here, so that the leap day is the last one; 400 years have 146,097 days.
    let day_of_era = (day + 719_468) % 146_097;
    let year = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (u32::try_from(month).unwrap_or(1), u32::try_from(day_of_month).unwrap_or(1))
}

fn field(text: &str, min: u32, max: u32, names: &[&str]) -> Result<Field, String> {
    let mut values = BTreeSet::new();
    let mut is_open = false;
    for part in text.split(',') {
        let (range, step) = match part.split_once('/') {
            None => (part, None),
            Some((range, step)) => {
                let step: u32 = step.parse().map_err(|_| format!("{step:?} is no step in {text:?}"))?;
                if step == 0 {
                    return Err(format!("step of range should be a positive number: {text:?}"));
                }
                (range, Some(step))
            }
        };
        let number = |word: &str| {
            let name = names.iter().position(|name| name.eq_ignore_ascii_case(word));
            let number = match name {
                // Months count from 1, days of the week from 0, as their smallest values do.
                Some(at) => u32::try_from(at).ok().map(|at| at + min),
                None => word.parse().ok(),
            };
            number.ok_or_else(|| format!("{word:?} is no value in {text:?}"))
        };
        let (from, to) = if range == "*" || range == "?" {
            // With a step it is open no more.
            is_open |= step.is_none_or(|step| step == 1);
            (min, max)
        } else if let Some((from, to)) = range.split_once('-') {
            (number(from)?, number(to)?)
        } else {
            let only = number(range)?;
            (only, if step.is_some() { max } else { only })
        };
        if from < min || to > max || from > to {
            return Err(format!("{range:?} is not within {min} to {max} in {text:?}"));
        }
        values.extend((from..=to).step_by(usize::try_from(step.unwrap_or(1)).unwrap_or(1)));
    }
    Ok(Field { values, is_open })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn next(schedule: &str, after: &str) -> String {
        let after = Time::parse_rfc3339(after).unwrap();
        Schedule::parse(schedule).unwrap().next(after).unwrap().to_rfc3339()
    }

    /// Dates of the calendar, and the examples of the CronJob page of the Kubernetes documentation.
    #[test]
    fn the_next_time_is_the_first_that_fits() {
        assert_eq!(next("* * * * *", "2026-01-01T00:00:00Z"), "2026-01-01T00:01:00Z");
        assert_eq!(next("*/5 * * * *", "2026-01-01T00:03:10Z"), "2026-01-01T00:05:00Z");
        assert_eq!(next("0 3 * * 1", "2026-01-01T00:00:00Z"), "2026-01-05T03:00:00Z");
        assert_eq!(next("0 0 13 * 5", "2026-01-01T00:00:00Z"), "2026-01-02T00:00:00Z");
        assert_eq!(next("0 0 13 * *", "2026-01-14T00:00:00Z"), "2026-02-13T00:00:00Z");
        assert_eq!(next("30 8 29 2 *", "2026-01-01T00:00:00Z"), "2028-02-29T08:30:00Z");
        assert_eq!(next("0 9-17/4 * feb mon", "2026-01-01T00:00:00Z"), "2026-02-02T09:00:00Z");
        assert_eq!(next("@monthly", "2026-01-01T00:00:00Z"), "2026-02-01T00:00:00Z");
        assert_eq!(next("@weekly", "2026-01-01T00:00:00Z"), "2026-01-04T00:00:00Z");
        assert_eq!(next("@every 1h30m", "2026-01-01T00:10:00Z"), "2026-01-01T01:40:00Z");
        assert_eq!(next("59 23 31 12 ?", "2026-12-31T23:59:00Z"), "2027-12-31T23:59:00Z");
    }

    #[test]
    fn what_is_no_schedule_is_said() {
        for wrong in [
            "",
            "* * * *",
            "60 * * * *",
            "* * 0 * *",
            "*/0 * * * *",
            "a * * * *",
            "5-1 * * * *",
            "@often",
            "* * * * 7",
        ] {
            assert!(Schedule::parse(wrong).is_err(), "{wrong}");
        }
        assert_eq!(Schedule::parse("0 0 30 2 *").unwrap().next(Time::from_secs(1_767_225_600)), None);
    }
}
