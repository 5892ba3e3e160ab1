//! The parts of points in time and durations.

use super::super::time::{Civil, Timestamp};
use super::super::value::{Fault, Outcome, Value};
use super::Native;

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "timestamp_to_year" | "timestamp_to_year_with_tz" => |args| part(args, |c, _| c.year),
        "timestamp_to_month" | "timestamp_to_month_with_tz" => {
            |args| part(args, |c, _| i64::from(c.month) - 1)
        }
        "timestamp_to_day_of_year" | "timestamp_to_day_of_year_with_tz" => {
            |args| part(args, |c, _| c.day_of_year)
        }
        "timestamp_to_day_of_month" | "timestamp_to_day_of_month_with_tz" => {
            |args| part(args, |c, _| i64::from(c.day) - 1)
        }
        "timestamp_to_day_of_month_1_based" | "timestamp_to_day_of_month_1_based_with_tz" => {
            |args| part(args, |c, _| i64::from(c.day))
        }
        "timestamp_to_day_of_week" | "timestamp_to_day_of_week_with_tz" => {
            |args| part(args, |c, _| c.weekday)
        }
        "timestamp_to_hours" | "timestamp_to_hours_with_tz" => |args| part(args, |c, _| c.hour),
        "timestamp_to_minutes" | "timestamp_to_minutes_with_tz" => |args| part(args, |c, _| c.minute),
        "timestamp_to_seconds" | "timestamp_to_seconds_tz" => |args| part(args, |c, _| c.second),
        "timestamp_to_milliseconds" | "timestamp_to_milliseconds_with_tz" => {
            |args| part(args, |_, at| at.millis())
        }
        "duration_to_hours" => |args| whole(args, 3_600_000_000_000),
        "duration_to_minutes" => |args| whole(args, 60_000_000_000),
        "duration_to_seconds" => |args| whole(args, 1_000_000_000),
        "duration_to_milliseconds" => |args| whole(args, 1_000_000),
        _ => return None,
    })
}

fn whole(args: &[Value], unit: i64) -> Outcome {
    match args {
        [Value::Duration(nanos)] => Ok(Value::Int(nanos / unit)),
        _ => Err(Fault::no_overload()),
    }
}

fn part(args: &[Value], take: fn(&Civil, Timestamp) -> i64) -> Outcome {
    let at = match args {
        [Value::Timestamp(at)] => at.at_offset(0),
        [Value::Timestamp(at), Value::String(zone)] => at.at_offset(offset(zone).map_err(Fault::new)?),
        _ => return Err(Fault::no_overload()),
    };
    Ok(Value::Int(take(&at.civil(), at)))
}

/// The offset of a time zone: `UTC`, or hours and minutes.
// DIVERGES: kube-scheduler knows time zones in device selectors by the names of the machine's database. Here only
// UTC and offsets are known, so that the answer does not depend on the machine.
fn offset(zone: &str) -> Result<i32, String> {
    if matches!(zone, "" | "UTC") {
        return Ok(0);
    }
    let Some((hours, minutes)) = zone.split_once(':') else {
        return Err(format!("unknown time zone {zone}"));
    };
    let number = |text: &str| {
        text.parse::<i32>().map_err(|_| {
            let text = crate::config::go_quoted(text);
            format!("strconv.Atoi: parsing {text}: invalid syntax")
        })
    };
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    let total = hours.saturating_mul(60);
    let total =
        if zone.starts_with('-') { total.saturating_sub(minutes) } else { total.saturating_add(minutes) };
    Ok(total.saturating_mul(60).clamp(-1_000_000, 1_000_000))
}
