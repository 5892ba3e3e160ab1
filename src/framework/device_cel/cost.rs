//! What calls cost.
//!
//! Follows `interpreter/runtimecost.go` of cel-go, the cost trackers of its list and set libraries, and
//! `library/cost.go` of `k8s.io/apiserver/pkg/cel`.

use super::syntax::ast::operator;
use super::value::{Outcome, Value};

/// What it costs to make a list that is not constant.
pub(super) const LIST_CREATE: u64 = 10;
/// What it costs to make a map that is not constant.
pub(super) const MAP_CREATE: u64 = 30;
/// More values than any affordable evaluation can have in one list. Beyond this an evaluation ends as if it had cost
/// too much.
// DIVERGES: kube-scheduler counts the cost of a call in a device selector after it, and can spend all time and
// memory before. Here such a call ends as if it had cost too much.
pub(super) const MAX_ELEMENTS: usize = 4_000_000;

/// Whether there is so much in an argument that no function is to go through it.
pub(super) fn too_heavy(function: &str, args: &[Value]) -> bool {
    let most = u64::try_from(MAX_ELEMENTS).unwrap_or(u64::MAX);
    !matches!(function, "size" | operator::ADD | "dyn" | "type") && args.iter().any(|arg| arg.weight() > most)
}

/// The size that the cost of a value depends on.
fn size(value: &Value) -> u64 {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.len(),
        Value::Map(map) => map.len(),
        Value::Ip(ip) => {
            if ip.is_ipv4() {
                4
            } else {
                16
            }
        }
        Value::Cidr { bits, .. } => usize::from(*bits).div_ceil(8),
        _ => 1,
    };
    u64::try_from(size).unwrap_or(u64::MAX)
}

/// As [`size`], but of what is in an optional.
fn inner_size(value: &Value) -> u64 {
    match value {
        Value::Optional(Some(value)) => inner_size(value),
        other => size(other),
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "upstream computes with doubles and rounds like this"
)]
fn scaled(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "upstream computes with doubles and cuts like this"
)]
fn cut(size: u64, factor: f64) -> u64 {
    (size as f64 * factor) as u64
}

const TRAVERSAL: f64 = 0.1;
const REGEX: f64 = 0.25;

fn regex_cost(text: u64, pattern: u64) -> u64 {
    scaled(text.saturating_add(1), TRAVERSAL).saturating_mul(scaled(pattern, REGEX))
}

fn traversal(value: &Value) -> u64 {
    match value {
        Value::String(text) => cut(u64::try_from(text.len()).unwrap_or(u64::MAX), TRAVERSAL),
        Value::Bytes(bytes) => cut(u64::try_from(bytes.len()).unwrap_or(u64::MAX), TRAVERSAL),
        Value::List(list) => list.iter().map(|element| traversal(&element)).fold(0, u64::saturating_add),
        Value::Map(map) => map
            .entries()
            .iter()
            .map(|(key, value)| traversal(key).saturating_add(traversal(value)))
            .fold(0, u64::saturating_add),
        _ => 1,
    }
}

fn allocating(size: u64, factor: f64) -> u64 {
    cut(size, factor).saturating_add(1 + LIST_CREATE)
}

/// The cost of comparing the elements of a list with each other.
fn self_compare(list: &Value) -> u64 {
    let size = size(list);
    let first = match list {
        Value::List(list) => list.get(0),
        _ => None,
    };
    let factor = match first {
        Some(Value::String(_) | Value::Bytes(_)) => 2.0 + TRAVERSAL,
        _ => 2.0,
    };
    allocating(size.saturating_mul(size), factor)
}

/// What a call cost.
pub(super) fn of_call(function: &str, overload: Option<&str>, args: &[Value], outcome: &Outcome) -> u64 {
    let arg = |index: usize| args.get(index).map_or(1, size);
    let result = outcome.as_ref().map_or(1, size);
    if let Some(cost) = overload.and_then(|overload| of_overload(overload, args, result)) {
        return cost;
    }
    match function {
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => args.first().map_or(1, traversal),
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "cidr" | "isIP" | "isCIDR"
        | "quantity" | "isQuantity" | "semver" | "isSemver" => scaled(arg(0), TRAVERSAL),
        "ip" if overload == Some("cidr_ip") => 1,
        "ip" => scaled(arg(0), TRAVERSAL),
        "replace" | "split" | "ip.isCanonical" => scaled(arg(0), 2.0 * TRAVERSAL),
        "join" => scaled(result, 2.0 * TRAVERSAL),
        "find" | "findAll" => regex_cost(arg(0), arg(1)),
        "containsIP" | "containsCIDR" => contains_cost(function, overload, arg(0), arg(1)),
        "validate" => match args.first() {
            Some(Value::Format(name)) => regex_cost(arg(1), super::functions::format_size(name)),
            _ => 1,
        },
        "fieldSelector" | "labelSelector" | "check" => 1,
        "_==_"
            if matches!(
                args.first(),
                Some(
                    Value::Quantity { .. }
                        | Value::Ip(_)
                        | Value::Cidr { .. }
                        | Value::Format(_)
                        | Value::Url(_)
                        | Value::Semver(_)
                )
            ) =>
        {
            1
        }
        // The interpreter gives the overload of these two itself.
        "_==_" | "_!=_" => smaller(args),
        _ => by_overload(overload, args),
    }
}

fn smaller(args: &[Value]) -> u64 {
    let arg = |index: usize| args.get(index).map_or(1, inner_size);
    scaled(arg(0).min(arg(1)), TRAVERSAL)
}

fn contains_cost(function: &str, overload: Option<&str>, cidr: u64, other: u64) -> u64 {
    let mut cost = scaled(cidr.saturating_mul(2), TRAVERSAL);
    if function == "containsCIDR" {
        cost += scaled(cidr, TRAVERSAL) + 1;
    }
    if matches!(overload, Some("cidr_contains_ip_string" | "cidr_contains_cidr_string")) {
        cost += scaled(other, TRAVERSAL);
    }
    cost
}

/// The cost of an overload that has a tracker of its own.
fn of_overload(overload: &str, args: &[Value], result: u64) -> Option<u64> {
    let arg = |index: usize| args.get(index).map_or(1, size);
    Some(match overload {
        "list_sets_contains_list" | "list_sets_intersects_list" => {
            arg(0).saturating_mul(arg(1)).saturating_add(1)
        }
        "list_sets_equivalent_list" => arg(0).saturating_mul(arg(1)).saturating_mul(2).saturating_add(1),
        "list_slice" | "lists_range" | "list_reverse" => allocating(result, 1.0),
        "list_flatten" => allocating(arg(0), 1.0),
        "list_flatten_int" => {
            let depth = match args.get(1) {
                Some(Value::Int(depth)) => *depth,
                _ => 1,
            };
            // A negative depth wraps around, as upstream's conversion does.
            arg(0).wrapping_mul(depth.cast_unsigned()).wrapping_add(1 + LIST_CREATE)
        }
        "list_distinct" => self_compare(args.first()?),
        _ if overload.starts_with("list_") && overload.ends_with("_sort") => self_compare(args.first()?),
        _ if overload.ends_with("_sortByAssociatedKeys") => self_compare(args.get(1)?),
        _ => return None,
    })
}

fn by_overload(overload: Option<&str>, args: &[Value]) -> u64 {
    let arg = |index: usize| args.get(index).map_or(1, inner_size);
    match overload.unwrap_or_default() {
        "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
        | "strings_quote" | "string_format" => scaled(arg(0), TRAVERSAL),
        "in_list" => arg(1),
        "less_string"
        | "greater_string"
        | "less_equals_string"
        | "greater_equals_string"
        | "less_bytes"
        | "greater_bytes"
        | "less_equals_bytes"
        | "greater_equals_bytes" => smaller(args),
        "add_string" | "add_bytes" => scaled(arg(0).saturating_add(arg(1)), TRAVERSAL),
        "matches_string" => regex_cost(arg(0), arg(1)),
        "contains_string" => scaled(arg(0), TRAVERSAL).saturating_mul(scaled(arg(1), TRAVERSAL)),
        _ => 1,
    }
}
