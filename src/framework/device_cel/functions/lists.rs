//! Functions of lists, sets, maps and optional values.

use std::cmp::Ordering;

use super::super::cost::MAX_ELEMENTS;
use super::super::map::whole;
use super::super::syntax::ast::operator;
use super::super::text::{full_type, go_general, shown};
use super::super::value::{Fatal, Fault, List, Outcome, Value};
use super::{Native, operators};

pub(super) fn singleton(function: &str) -> Option<Native> {
    Some(match function {
        "sort" => |args| match args {
            [Value::List(list)] => sort_by(list, list),
            [first] => Err(operators::lacking("sort", first)),
            _ => Err(Fault::no_overload()),
        },
        operator::SORT_BY_KEYS => |args| match args {
            [Value::List(list), Value::List(keys)] => sort_by(list, keys),
            [first, _] => Err(operators::lacking(operator::SORT_BY_KEYS, first)),
            _ => Err(Fault::no_overload()),
        },
        _ => return None,
    })
}

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "list_a_index_of_int" => |args| position(args, false),
        "list_a_last_index_of_int" => |args| position(args, true),
        "list_slice" => slice,
        "list_flatten" | "list_flatten_int" => flatten,
        "lists_range" => range,
        "list_reverse" => reverse,
        "list_distinct" => distinct,
        "list_first" => |args| end(args, |_| 0),
        "list_last" => |args| end(args, |length| length - 1),
        "list_sets_contains_list" => |args| sets(args, contains_all),
        "list_sets_equivalent_list" => |args| sets(args, |a, b| contains_all(a, b) && contains_all(b, a)),
        "list_sets_intersects_list" => |args| sets(args, |a, b| a.iter().any(|element| b.contains(&element))),
        "optional_of" => |args| match args {
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Fault::no_overload()),
        },
        "optional_ofNonZeroValue" => |args| match args {
            [value] if value.is_zero() => Ok(Value::Optional(None)),
            [value] => Ok(Value::some(value.clone())),
            _ => Err(Fault::no_overload()),
        },
        "optional_none" => |_| Ok(Value::Optional(None)),
        "optional_value" => |args| match args {
            [Value::Optional(Some(value))] => Ok((**value).clone()),
            [Value::Optional(None)] => Err(Fault::new("optional.none() dereference")),
            _ => Err(Fault::no_overload()),
        },
        "optional_hasValue" => |args| match args {
            [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
            _ => Err(Fault::no_overload()),
        },
        "optional_unwrap" | "optional_unwrapOpt" => unwrap,
        "@mapInsert_map_key_value" | "@mapInsert_map_map" => insert,
        "dra_includes_dyn_dyn" => includes,
        _ => return by_element(overload),
    })
}

/// The functions that are declared once for every type of elements.
fn by_element(overload: &str) -> Option<Native> {
    let rest = overload.strip_prefix("list_")?;
    let (of, function) = rest.split_once('_')?;
    Some(match function {
        "is_sorted_bool" => is_sorted,
        _ if function.starts_with("max_") => |args| extreme(args, "max", Ordering::Less),
        _ if function.starts_with("min_") => |args| extreme(args, "min", Ordering::Greater),
        _ if function.starts_with("sum_") => match of {
            "int" => |args| sum(args, Value::Int(0)),
            "uint" => |args| sum(args, Value::Uint(0)),
            "double" => |args| sum(args, Value::Double(0.0)),
            "duration" => |args| sum(args, Value::Duration(0)),
            _ => return None,
        },
        _ => return None,
    })
}

/// A value as an index of a list.
pub(in super::super) fn index_of(value: &Value) -> Result<i64, Fault> {
    let unsupported = |shown: String| Fault::new(format!("unsupported index value {shown} in list"));
    match value {
        Value::Int(index) => Ok(*index),
        Value::Uint(index) => i64::try_from(*index).map_err(|_| unsupported(index.to_string())),
        Value::Double(index) => whole(*index)
            .and_then(|whole| i64::try_from(whole).ok())
            .ok_or_else(|| unsupported(go_general(*index))),
        other => Err(Fault::new(format!("unsupported index type '{}' in list", other.type_name()))),
    }
}

fn is_sorted(args: &[Value]) -> Outcome {
    let [Value::List(list)] = args else { return Err(Fault::no_overload()) };
    let mut previous: Option<Value> = None;
    for value in list.iter() {
        if !value.is_comparable() {
            return Err(Fault::no_overload());
        }
        if previous.is_some_and(|previous| previous.compare(&value) == Ok(Ordering::Greater)) {
            return Ok(Value::Bool(false));
        }
        previous = Some(value);
    }
    Ok(Value::Bool(true))
}

fn sum(args: &[Value], zero: Value) -> Outcome {
    let [Value::List(list)] = args else { return Err(Fault::no_overload()) };
    let mut total = zero;
    for value in list.iter() {
        if !operators::has_add(&value) {
            return Err(Fault::no_overload());
        }
        total = operators::sum(&total, &value)?;
    }
    Ok(total)
}

/// The first of the elements that no other one beats; one beats another if the other compares as `loses` to it.
fn extreme(args: &[Value], name: &str, loses: Ordering) -> Outcome {
    let [Value::List(list)] = args else { return Err(Fault::no_overload()) };
    let mut best: Option<Value> = None;
    for value in list.iter() {
        if !value.is_comparable() {
            return Err(Fault::no_overload());
        }
        if best.as_ref().is_none_or(|best| best.compare(&value) == Ok(loses)) {
            best = Some(value);
        }
    }
    best.ok_or_else(|| Fault::new(format!("{name} called on empty list")))
}

fn position(args: &[Value], last: bool) -> Outcome {
    let [Value::List(list), wanted] = args else { return Err(Fault::no_overload()) };
    let mut matching =
        list.iter().enumerate().filter(|(_, value)| value.equal_method(wanted) == Ok(true)).map(|(i, _)| i);
    let found = if last { matching.last() } else { matching.next() };
    Ok(Value::Int(found.map_or(-1, |index| i64::try_from(index).unwrap_or(i64::MAX))))
}

fn slice(args: &[Value]) -> Outcome {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = args else {
        return Err(Fault::no_overload());
    };
    let failed = |why: String| Err(Fault::new(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return failed("negative indexes not supported".to_owned());
    };
    if from > to {
        return failed("start index must be less than or equal to end index".to_owned());
    }
    if list.len() < to {
        return failed(format!("list is length {}", list.len()));
    }
    Ok(Value::list(list.iter().skip(from).take(to - from).collect()))
}

fn flatten(args: &[Value]) -> Outcome {
    let (list, depth) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        [first] => return Err(Fault::new(format!("no such overload: {}.flatten()", full_type(first)))),
        [first, second] => {
            let (first, second) = (full_type(first), full_type(second));
            return Err(Fault::new(format!("no such overload: {first}.flatten({second})")));
        }
        _ => return Err(Fault::no_overload()),
    };
    if depth < 0 {
        return Err(Fault::new("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(list, depth, &mut out)?;
    Ok(Value::list(out))
}

fn flatten_into(list: &List, depth: i64, out: &mut Vec<Value>) -> Result<(), Fault> {
    for value in list.iter() {
        match value {
            Value::List(inner) if depth > 0 => flatten_into(&inner, depth - 1, out)?,
            value => out.push(value),
        }
        if out.len() > MAX_ELEMENTS {
            return Err(Fault::Fatal(Fatal::CostLimit));
        }
    }
    Ok(())
}

/// Puts the elements in the order of their keys. Elements with equal keys keep their order; upstream's sort does not
/// promise that.
fn sort_by(list: &List, keys: &List) -> Outcome {
    if list.len() != keys.len() {
        return Err(Fault::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} \
             elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let Some(first) = keys.get(0) else { return Ok(Value::List(list.clone())) };
    if !first.is_comparable() {
        return Err(Fault::new("list elements must be comparable"));
    }
    let mut pairs: Vec<(Value, Value)> = keys.iter().zip(list.iter()).collect();
    if pairs.len() > 1 && pairs.iter().any(|(key, _)| key.type_name() != first.type_name()) {
        return Err(Fault::new("list elements must have the same type"));
    }
    pairs.sort_by(|(a, _), (b, _)| a.compare(b).unwrap_or(Ordering::Equal));
    Ok(Value::list(pairs.into_iter().map(|(_, value)| value).collect()))
}

fn range(args: &[Value]) -> Outcome {
    let [Value::Int(end)] = args else { return Err(Fault::no_overload()) };
    if usize::try_from(*end).is_ok_and(|end| end > MAX_ELEMENTS) {
        return Err(Fault::Fatal(Fatal::CostLimit));
    }
    Ok(Value::list((0..*end).map(Value::Int).collect()))
}

fn reverse(args: &[Value]) -> Outcome {
    let [Value::List(list)] = args else { return Err(Fault::no_overload()) };
    let mut values: Vec<Value> = list.iter().collect();
    values.reverse();
    Ok(Value::list(values))
}

fn distinct(args: &[Value]) -> Outcome {
    let [Value::List(list)] = args else { return Err(Fault::no_overload()) };
    // The cost is twice the square of the length: what is longer than this is beyond the limit.
    if list.len() > 10_000 {
        return Err(Fault::Fatal(Fatal::CostLimit));
    }
    let mut out: Vec<Value> = Vec::new();
    for value in list.iter() {
        if !out.iter().any(|known| value.equal_method(known) == Ok(true)) {
            out.push(value);
        }
    }
    Ok(Value::list(out))
}

fn end(args: &[Value], index: fn(usize) -> usize) -> Outcome {
    match args {
        [Value::List(list)] if list.len() == 0 => Ok(Value::Optional(None)),
        [Value::List(list)] => list.get(index(list.len())).map(Value::some).ok_or_else(Fault::no_overload),
        _ => Err(Fault::no_overload()),
    }
}

fn sets(args: &[Value], holds: fn(&List, &List) -> bool) -> Outcome {
    let [Value::List(a), Value::List(b)] = args else { return Err(Fault::no_overload()) };
    // What is compared costs as much: beyond this the limit is passed.
    if a.len().saturating_mul(b.len()) > MAX_ELEMENTS {
        return Err(Fault::Fatal(Fatal::CostLimit));
    }
    Ok(Value::Bool(holds(a, b)))
}

fn contains_all(list: &List, sublist: &List) -> bool {
    sublist.iter().all(|element| list.contains(&element))
}

fn unwrap(args: &[Value]) -> Outcome {
    let [Value::List(list)] = args else { return Err(Fault::no_overload()) };
    let mut out = Vec::new();
    for value in list.iter() {
        match value {
            Value::Optional(value) => out.extend(value.map(|value| (*value).clone())),
            other => return Err(Fault::new(format!("value {} is not optional", shown(&other)))),
        }
    }
    Ok(Value::list(out))
}

fn insert(args: &[Value]) -> Outcome {
    let (mut map, added) = match args {
        [Value::Map(map), key, value] => (map.clone(), vec![(key.clone(), value.clone())]),
        [Value::Map(map), Value::Map(added)] => (map.clone(), added.entries()),
        _ => return Err(Fault::no_overload()),
    };
    for (key, value) in added {
        let name = shown(&key);
        map = map
            .inserted(key, value)
            .ok_or_else(|| Fault::new(format!("insert failed: key {name} already exists")))?;
    }
    Ok(Value::Map(map))
}

/// How many values of an attribute `includes` looks at.
const MAX_ATTRIBUTE_VALUES: usize = 48;

fn includes(args: &[Value]) -> Outcome {
    match args {
        [Value::List(list), wanted] => {
            for (index, value) in list.iter().enumerate() {
                if index >= MAX_ATTRIBUTE_VALUES {
                    return Err(Fault::new(format!(
                        "'includes' function cannot be applied to lists longer than {MAX_ATTRIBUTE_VALUES} values"
                    )));
                }
                if value.equal_method(wanted) == Ok(true) {
                    return Ok(Value::Bool(true));
                }
            }
            Ok(Value::Bool(false))
        }
        [value, wanted] => Ok(Value::Bool(value.equal_method(wanted) == Ok(true))),
        _ => Err(Fault::no_overload()),
    }
}
