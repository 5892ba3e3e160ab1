//! The arrivals of a scenario file.

use super::tree::{Field, Table};
use super::{Elsewhere, manifest, read_file};
use crate::api::Duration;
use crate::api::manifest::{Source, load};
use crate::config::GoDuration;
use crate::driver::sandbox::scenario::arrivals::{ArrivalPlan, COMMON_DAY, HOURS, Lifetime, PEAK, Process};

/// The processes that there are.
const PROCESSES: &str = "every, poisson, bursts, diurnal or recording";
/// More at one arrival are a mistake.
const COPIES_MAX: u64 = 10_000;

/// All arrivals. `lasts` is how long the scenario goes on.
pub(super) fn read(field: &Field<'_>, lasts: Option<Duration>, elsewhere: Elsewhere<'_>) -> Vec<ArrivalPlan> {
    field.list().iter().filter_map(|field| one(field, lasts, elsewhere)).collect()
}

fn one(field: &Field<'_>, lasts: Option<Duration>, elsewhere: Elsewhere<'_>) -> Option<ArrivalPlan> {
    let table = field.table()?;
    let duration = |key| table.get(key).and_then(|field| field.duration());
    let name = table.get("name").and_then(|field| field.text());
    let name = name.unwrap_or_else(|| field.path.clone());
    let from = duration("from").unwrap_or_default();
    let until = duration("until").or(lasts);
    let count = table.get("count").and_then(|field| field.number());
    let copies = table.get("copies").and_then(|field| field.number()).unwrap_or(1);
    if !(1..=COPIES_MAX).contains(&copies) {
        table.wrong(format!("copies is from 1 to {COPIES_MAX}"));
    }
    let lifetime = table.get("lifetime").and_then(|field| lifetime(&field));
    let kind = match table.get("process") {
        Some(field) => field.text().map(|text| (field, text)),
        None => {
            table.wrong(format!("process is missing: {PROCESSES}"));
            None
        }
    };
    let process = kind.and_then(|(field, kind)| process(&table, &field, &kind, elsewhere));
    let template = template(&table, matches!(process, Some(Process::Recorded(_))), elsewhere);
    let is_bounded = until.is_some() || count.is_some() || matches!(process, Some(Process::Recorded(_)));
    if process.is_some() && !is_bounded {
        table.wrong("it never ends: say until or count, or lasts of the scenario");
    }
    table.finish();
    Some(ArrivalPlan {
        name: name.into(),
        process: process?,
        from,
        until,
        count,
        template: template?.into(),
        copies: u32::try_from(copies).unwrap_or(1),
        lifetime,
    })
}

fn process(table: &Table<'_>, field: &Field<'_>, kind: &str, elsewhere: Elsewhere<'_>) -> Option<Process> {
    match kind {
        "every" => Some(Process::Every(distance(table, "every")?)),
        "poisson" => Some(Process::Poisson(rate(table)?)),
        "diurnal" => {
            let begins = table.get("begins").and_then(|field| field.duration()).unwrap_or_default();
            Some(Process::Diurnal { at_peak: rate(table)?, hours: hours(table)?, begins })
        }
        "bursts" => {
            let size = match table.get("size") {
                Some(field) => size(&field)?,
                None => {
                    table.wrong("size is missing: how many come at once, such as 20 or 10-30");
                    return None;
                }
            };
            let within = table.get("within").and_then(|field| field.duration()).unwrap_or_default();
            let is_random = table.get("random").and_then(|field| field.flag()).unwrap_or(false);
            Some(Process::Bursts { every: distance(table, "every")?, is_random, size, within })
        }
        "recording" => {
            let Some(file) = table.get("recording") else {
                table.wrong("recording is missing: the file with the pods that came");
                return None;
            };
            let items = (elsewhere.recording)(&file.text()?);
            items.map(|items| Process::Recorded(items.into())).map_err(|error| file.wrong(error)).ok()
        }
        _ => {
            field.wrong(format!("{kind:?} is no process: {PROCESSES}"));
            None
        }
    }
}

/// A distance that is not nothing.
fn distance(table: &Table<'_>, key: &'static str) -> Option<Duration> {
    let Some(field) = table.get(key) else {
        table.wrong(format!("{key} is missing: a duration such as 30s"));
        return None;
    };
    let duration = field.duration()?;
    if duration < Duration::from_millis(1) {
        field.wrong("less than 1ms is too little");
        return None;
    }
    Some(duration)
}

/// `30/m`, `2/s`, `100/h`, `5/10m`: the mean distance.
fn rate(table: &Table<'_>) -> Option<Duration> {
    let Some(field) = table.get("rate") else {
        table.wrong("rate is missing: how many come in which time, such as 30/m");
        return None;
    };
    let text = field.text()?;
    let distance = text.split_once('/').and_then(|(n, per)| {
        let n = n.trim().parse::<f64>().ok().filter(|n| *n > 0.0 && n.is_finite())?;
        let per = per.trim();
        let per =
            if per.starts_with(|c: char| c.is_ascii_digit()) { per.to_owned() } else { format!("1{per}") };
        let per = GoDuration::parse(&per).filter(|per| per.0 > 0)?.to_std();
        let distance = per.div_f64(n);
        (distance >= Duration::from_micros(10) && distance <= Duration::from_secs(31_536_000))
            .then_some(distance)
    });
    if distance.is_none() {
        field.wrong("a rate such as 30/m, 2/s or 100/h is expected, at most 100000/s");
    }
    distance
}

/// How many come in each hour, as shares of the largest number.
fn hours(table: &Table<'_>) -> Option<[u32; HOURS]> {
    let Some(field) = table.get("hours") else { return Some(COMMON_DAY) };
    let numbers: Vec<u64> = field.list().iter().filter_map(|hour| hour.number()).collect();
    let most = numbers.iter().copied().max().unwrap_or(0);
    let shares: Vec<u32> = numbers
        .iter()
        .map(|n| u32::try_from(n.saturating_mul(u64::from(PEAK)) / most.max(1)).unwrap_or(PEAK))
        .collect();
    match <[u32; HOURS]>::try_from(shares) {
        Ok(shares) if most > 0 => Some(shares),
        _ => {
            field.wrong("24 numbers are expected, one for each hour, not all of them 0");
            None
        }
    }
}

fn size(field: &Field<'_>) -> Option<(u32, u32)> {
    let text = field.text()?;
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|n| *n <= 100_000);
    let size = match text.split_once('-') {
        Some((least, most)) => number(least).zip(number(most)),
        None => number(&text).map(|n| (n, n)),
    };
    let size = size.filter(|(least, most)| least <= most && *least > 0);
    if size.is_none() {
        field.wrong("a number such as 20 or 10-30 is expected, from 1 to 100000");
    }
    size
}

/// `10m`, `5m-20m`, or `mean 10m`.
fn lifetime(field: &Field<'_>) -> Option<Lifetime> {
    let text = field.text()?;
    let duration = |text: &str| GoDuration::parse(text.trim()).filter(|it| it.0 >= 0).map(GoDuration::to_std);
    let lifetime = if let Some(mean) = text.strip_prefix("mean ") {
        duration(mean).map(Lifetime::Mean)
    } else if let Some((least, most)) = text.split_once('-') {
        duration(least).zip(duration(most)).filter(|(a, b)| a <= b).map(|(a, b)| Lifetime::Between(a, b))
    } else {
        duration(&text).map(Lifetime::Fixed)
    };
    if lifetime.is_none() {
        field.wrong("a lifetime such as 10m, 5m-20m or \"mean 10m\" is expected");
    }
    lifetime
}

/// What comes: a file, or the manifest itself.
fn template(table: &Table<'_>, is_recorded: bool, elsewhere: Elsewhere<'_>) -> Option<String> {
    let (file, object) = (table.get("file"), table.get("object"));
    let (field, text) = match (file, object) {
        (None, None) if is_recorded => return Some(String::new()),
        (Some(field), None) => {
            let name = field.text()?;
            let text = read_file(&field, &name, elsewhere)?;
            (field, text)
        }
        (None, Some(field)) => {
            let text = manifest(&field)?.text;
            (field, text)
        }
        (None, None) | (Some(_), Some(_)) => {
            table.wrong("say what comes: file, or object");
            return None;
        }
    };
    // Whether it can be read is known before anything comes.
    let first = text.replace("${n}", "1").replace("${i}", "0");
    match load(&[Source { name: field.path.clone(), text: first }]) {
        Ok(loaded) if loaded.living_errors.total > 0 => {
            field.wrong(loaded.living_errors.to_string());
            None
        }
        Ok(loaded) if !loaded.living.is_empty() && !text.contains("${n}") => {
            field.wrong(
                "there is a workload in it: write ${n} into its name, so that each has one of its own",
            );
            None
        }
        Ok(loaded) if loaded.objects.is_empty() && loaded.living.is_empty() => {
            field.wrong("there is no object in it that is read");
            None
        }
        Ok(_) => Some(text),
        Err(errors) => {
            let first = errors.errors.first();
            field.wrong(first.map_or_else(String::new, |error| {
                let path = if error.path.is_empty() { String::new() } else { format!("{}: ", error.path) };
                format!("{} {path}{}", error.object, error.reason)
            }));
            None
        }
    }
}
