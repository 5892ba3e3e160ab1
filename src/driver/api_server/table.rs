//! `Table`: lists as kubectl prints them.
//!
//! The frame of `apimachinery/pkg/apis/meta/v1` Tables; what stands in the columns is in `super::tables`.

use serde_json::{Value, json};

use super::mirror::Served;
use super::tables::{cells, columns};
use crate::api::{Duration, Time};
use crate::driver::sandbox::resources::ResourceId;

/// How much of an object stands beside its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Include {
    None,
    Metadata,
    Object,
}

impl Include {
    pub(super) fn parse(text: &str) -> Self {
        match text {
            "None" => Self::None,
            "Object" => Self::Object,
            _ => Self::Metadata,
        }
    }
}

/// A column: its title, the type of its cells, and whether it is there only in wide tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) title: &'static str,
    pub(super) type_: &'static str,
    pub(super) is_wide: bool,
}

/// Objects as a table.
pub(super) fn table<'a>(
    id: ResourceId,
    objects: impl IntoIterator<Item = &'a Served>,
    metadata: &Value,
    include: Include,
    now: Time,
) -> Value {
    let columns: Vec<Value> = columns(id)
        .iter()
        .map(|Column { title, type_, is_wide }| {
            json!({
                "name": title,
                "type": type_,
                "format": if *title == "Name" { "name" } else { "" },
                "description": "",
                "priority": i32::from(*is_wide),
            })
        })
        .collect();
    let rows: Vec<Value> = objects.into_iter().map(|object| row(id, object, include, now)).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "columnDefinitions": columns,
        "rows": rows,
    })
}

fn row(id: ResourceId, object: &Served, include: Include, now: Time) -> Value {
    let document = object.document();
    let mut row = json!({"cells": cells(id, &document, now)});
    match include {
        Include::None => {}
        Include::Metadata => row["object"] = partial(&document),
        Include::Object => row["object"] = document,
    }
    row
}

/// An object's metadata alone.
pub(super) fn partial(document: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": document.get("metadata").cloned().unwrap_or_else(|| json!({})),
    })
}

/// How long ago a time was, in two figures or so (`duration.HumanDuration`).
pub(super) fn age(at: Option<&Value>, now: Time) -> String {
    let at = at.and_then(Value::as_str).and_then(Time::parse_rfc3339);
    let Some(at) = at else { return "<unknown>".to_owned() };
    if at > now + Duration::from_secs(2) {
        return "<invalid>".to_owned();
    }
    human(now - at.min(now))
}

/// A length of time in two figures or so.
pub(super) fn human(length: Duration) -> String {
    let seconds = length.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |high: u64, unit: &str, low: u64, lower: &str| match low {
        0 => format!("{high}{unit}"),
        _ => format!("{high}{unit}{low}{lower}"),
    };
    match (minutes, hours) {
        (0..2, _) => format!("{seconds}s"),
        (2..10, _) => two(minutes, "m", seconds % 60, "s"),
        (10..180, _) => format!("{minutes}m"),
        (_, 0..8) => two(hours, "h", minutes % 60, "m"),
        (_, 8..48) => format!("{hours}h"),
        (_, 48..192) => two(hours / 24, "d", hours % 24, "h"),
        (_, 192..17_520) => format!("{}d", hours / 24),
        (_, 17_520..70_080) => two(hours / 24 / 365, "y", hours / 24 % 365, "d"),
        _ => format!("{}y", hours / 24 / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_those_of_kubectl() {
        for (seconds, text) in [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (3_600, "60m"),
            (3 * 3_600, "3h"),
            (3 * 3_600 + 60, "3h1m"),
            (47 * 3_600, "47h"),
            (49 * 3_600, "2d1h"),
            (10 * 86_400, "10d"),
            (800 * 86_400, "2y70d"),
        ] {
            assert_eq!(human(Duration::from_secs(seconds)), text);
        }
        assert_eq!(age(None, Time::ZERO), "<unknown>");
        assert_eq!(age(Some(&"1970-01-01T00:01:00Z".into()), Time::ZERO), "<invalid>");
    }
}
