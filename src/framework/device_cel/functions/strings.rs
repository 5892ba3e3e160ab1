//! Functions of text.
//!
//! cel-go's strings library in version 2, and `find` and `findAll` of Kubernetes. Positions count characters.

use std::sync::Arc;

use super::super::cost::MAX_ELEMENTS;
use super::super::regex::Regex;
use super::super::text::shown;
use super::super::value::{Fatal, Fault, Outcome, Value};
use super::{Native, printf};

/// More bytes than any affordable evaluation makes in one text: beyond this it ends, before upstream would count the
/// cost of what it made.
const MAX_TEXT: usize = 32 << 20;

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "contains_string" => |args| both(args, |a, b| Ok(Value::Bool(a.contains(b)))),
        "starts_with_string" => |args| both(args, |a, b| Ok(Value::Bool(a.starts_with(b)))),
        "ends_with_string" => |args| both(args, |a, b| Ok(Value::Bool(a.ends_with(b)))),
        "string_char_at_int" => char_at,
        "string_index_of_string" | "string_index_of_string_int" => index_of,
        "string_last_index_of_string" | "string_last_index_of_string_int" => last_index_of,
        "string_lower_ascii" => |args| one(args, |text| Ok(Value::string(text.to_ascii_lowercase()))),
        "string_upper_ascii" => |args| one(args, |text| Ok(Value::string(text.to_ascii_uppercase()))),
        "string_trim" => |args| one(args, |text| Ok(Value::string(text.trim()))),
        "string_replace_string_string" | "string_replace_string_string_int" => replace,
        "string_split_string" | "string_split_string_int" => split,
        "string_substring_int" | "string_substring_int_int" => substring,
        "string_format" => format,
        "strings_quote" => |args| one(args, |text| Ok(Value::string(quote(text)))),
        "list_join" | "list_join_string" => join,
        "string_find_string" => find,
        "string_find_all_string" | "string_find_all_string_int" => find_all,
        _ => return None,
    })
}

fn one(args: &[Value], apply: impl Fn(&str) -> Outcome) -> Outcome {
    match args {
        [Value::String(text)] => apply(text),
        _ => Err(Fault::no_overload()),
    }
}

fn both(args: &[Value], apply: impl Fn(&str, &str) -> Outcome) -> Outcome {
    match args {
        [Value::String(a), Value::String(b)] => apply(a, b),
        _ => Err(Fault::no_overload()),
    }
}

fn out_of_range(index: i64) -> Fault {
    Fault::new(format!("index out of range: {index}"))
}

fn number(index: usize) -> Value {
    Value::Int(i64::try_from(index).unwrap_or(i64::MAX))
}

fn char_at(args: &[Value]) -> Outcome {
    let [Value::String(text), Value::Int(index)] = args else { return Err(Fault::no_overload()) };
    let length = text.chars().count();
    let at = usize::try_from(*index).ok().filter(|at| *at <= length).ok_or_else(|| out_of_range(*index))?;
    Ok(Value::string(text.chars().nth(at).map(String::from).unwrap_or_default()))
}

fn matches_at(text: &[char], part: &[char], at: usize) -> bool {
    text.get(at..at + part.len()) == Some(part)
}

fn index_of(args: &[Value]) -> Outcome {
    let (text, part, offset) = match args {
        [Value::String(text), Value::String(part)] => (text, part, 0),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, *offset),
        _ => return Err(Fault::no_overload()),
    };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    let from = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    let text: Vec<char> = text.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let found = (from..text.len()).find(|at| matches_at(&text, &part, *at));
    Ok(found.map_or(Value::Int(-1), number))
}

fn last_index_of(args: &[Value]) -> Outcome {
    let (text, part, offset) = match args {
        [Value::String(text), Value::String(part)] => (text, part, None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => (text, part, Some(*offset)),
        _ => return Err(Fault::no_overload()),
    };
    let chars: Vec<char> = text.chars().collect();
    let offset = match offset {
        Some(offset) => offset,
        None if part.is_empty() => return Ok(number(chars.len())),
        None if text.len() < part.len() => return Ok(Value::Int(-1)),
        None => i64::try_from(chars.len()).unwrap_or(i64::MAX) - 1,
    };
    if part.is_empty() {
        return Ok(Value::Int(offset));
    }
    let from = usize::try_from(offset).map_err(|_| out_of_range(offset))?;
    if from >= chars.len() {
        return Ok(Value::Int(-1));
    }
    let part: Vec<char> = part.chars().collect();
    let Some(last) = chars.len().checked_sub(part.len()) else { return Ok(Value::Int(-1)) };
    let found = (0..=from.min(last)).rev().find(|at| matches_at(&chars, &part, *at));
    Ok(found.map_or(Value::Int(-1), number))
}

fn replace(args: &[Value]) -> Outcome {
    let (text, old, new, limit) = match args {
        [Value::String(text), Value::String(old), Value::String(new)] => (text, old, new, -1),
        [Value::String(text), Value::String(old), Value::String(new), Value::Int(limit)] => {
            (text, old, new, *limit)
        }
        _ => return Err(Fault::no_overload()),
    };
    let places = if old.is_empty() { text.len() + 1 } else { text.len() / old.len() };
    if places.saturating_mul(new.len()).saturating_add(text.len()) > MAX_TEXT {
        return Err(Fault::Fatal(Fatal::CostLimit));
    }
    Ok(Value::string(match usize::try_from(limit) {
        Ok(limit) => text.replacen(&**old, new, limit),
        Err(_) => text.replace(&**old, new),
    }))
}

fn split(args: &[Value]) -> Outcome {
    let (text, separator, limit) = match args {
        [Value::String(text), Value::String(separator)] => (text, separator, -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => (text, separator, *limit),
        _ => return Err(Fault::no_overload()),
    };
    if text.len() > MAX_ELEMENTS {
        return Err(Fault::Fatal(Fatal::CostLimit));
    }
    let limit = usize::try_from(limit).ok();
    let parts: Vec<Value> = match limit {
        Some(0) => Vec::new(),
        _ if separator.is_empty() => explode(text, limit),
        Some(limit) => text.splitn(limit, &**separator).map(Value::string).collect(),
        None => text.split(&**separator).map(Value::string).collect(),
    };
    Ok(Value::list(parts))
}

/// The characters; the last part has all that is beyond the limit.
fn explode(text: &str, limit: Option<usize>) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if limit.is_some_and(|limit| parts.len() + 1 == limit) {
            parts.push(Value::string(rest));
            return parts;
        }
        let (first, after) = rest.split_at(c.len_utf8());
        parts.push(Value::string(first));
        rest = after;
    }
    parts
}

fn substring(args: &[Value]) -> Outcome {
    let (text, start, end) = match args {
        [Value::String(text), Value::Int(start)] => (text, *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text, *start, Some(*end)),
        _ => return Err(Fault::no_overload()),
    };
    let length = text.chars().count();
    if let Some(end) = end.filter(|end| start > *end) {
        return Err(Fault::new(format!("invalid substring range. start: {start}, end: {end}")));
    }
    let within = |index: i64| {
        usize::try_from(index).ok().filter(|at| *at <= length).ok_or_else(|| out_of_range(index))
    };
    let from = within(start)?;
    let to = end.map_or(Ok(length), within)?;
    Ok(Value::string(text.chars().skip(from).take(to - from).collect::<String>()))
}

fn format(args: &[Value]) -> Outcome {
    match args {
        [Value::String(pattern), Value::List(values)] => {
            let text = printf::format(pattern, values).map_err(Fault::new)?;
            Ok(Value::string(text))
        }
        _ => Err(Fault::no_overload()),
    }
}

fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

fn join(args: &[Value]) -> Outcome {
    let (list, separator) = match args {
        [Value::List(list)] => (list, Arc::from("")),
        [Value::List(list), Value::String(separator)] => (list, separator.clone()),
        _ => return Err(Fault::no_overload()),
    };
    let mut out = String::new();
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(&separator);
        }
        let Value::String(text) = element else {
            return Err(Fault::new(format!("join: invalid input: {}", shown(&element))));
        };
        out.push_str(&text);
        if out.len() > MAX_TEXT {
            return Err(Fault::Fatal(Fatal::CostLimit));
        }
    }
    Ok(Value::string(out))
}

fn compile(pattern: &str) -> Result<Regex, Fault> {
    Regex::new(pattern).map_err(|error| Fault::new(format!("Illegal regex: {error}")))
}

fn find(args: &[Value]) -> Outcome {
    both(args, |text, pattern| Ok(Value::string(compile(pattern)?.find(text).unwrap_or_default())))
}

fn find_all(args: &[Value]) -> Outcome {
    match args {
        [Value::String(text), Value::String(pattern)] => Ok(found(&compile(pattern)?, text, -1)),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => {
            Ok(found(&compile(pattern)?, text, *limit))
        }
        _ => Err(Fault::no_overload()),
    }
}

/// The first matches up to the limit; all if it is negative.
pub(super) fn found(regex: &Regex, text: &str, limit: i64) -> Value {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    Value::list(regex.find_all(text).take(limit).map(Value::string).collect())
}
