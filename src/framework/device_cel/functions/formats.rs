//! Named formats: `format.dns1123Label().validate(text)` and its like.
//!
//! Follows `library/format.go` of `k8s.io/apiserver/pkg/cel` and the rules of `k8s.io/apimachinery` for names.

use super::super::regex::Regex;
use super::super::time::Timestamp;
use super::super::url::Url;
use super::super::value::{Fault, Outcome, Value};
use super::Native;

const NAMES: [(&str, u64); 13] = [
    ("dns1123Label", 30),
    ("dns1123Subdomain", 60),
    ("dns1035Label", 30),
    ("qualifiedName", 60),
    ("dns1123LabelPrefix", 30),
    ("dns1123SubdomainPrefix", 60),
    ("dns1035LabelPrefix", 30),
    ("labelValue", 40),
    ("uri", 1_103),
    ("uuid", 70),
    ("byte", 84),
    ("date", 71),
    ("datetime", 71),
];

/// How long a regular expression the cost of a format assumes.
pub(in super::super) fn size(name: &str) -> u64 {
    NAMES.iter().find(|(known, _)| *known == name).map_or(1, |(_, size)| *size)
}

pub(super) fn native(overload: &str) -> Option<Native> {
    Some(match overload {
        "format-named" => |args| match args {
            [Value::String(name)] => {
                let found = NAMES.iter().find(|(known, _)| *known == &**name);
                Ok(Value::Optional(found.map(|(name, _)| Value::Format(name).into())))
            }
            _ => Err(Fault::no_overload()),
        },
        "format-validate" => validate,
        "format.dns1123Label" => |_| Ok(Value::Format("dns1123Label")),
        "format.dns1123Subdomain" => |_| Ok(Value::Format("dns1123Subdomain")),
        "format.dns1035Label" => |_| Ok(Value::Format("dns1035Label")),
        "format.qualifiedName" => |_| Ok(Value::Format("qualifiedName")),
        "format.dns1123LabelPrefix" => |_| Ok(Value::Format("dns1123LabelPrefix")),
        "format.dns1123SubdomainPrefix" => |_| Ok(Value::Format("dns1123SubdomainPrefix")),
        "format.dns1035LabelPrefix" => |_| Ok(Value::Format("dns1035LabelPrefix")),
        "format.labelValue" => |_| Ok(Value::Format("labelValue")),
        "format.uri" => |_| Ok(Value::Format("uri")),
        "format.uuid" => |_| Ok(Value::Format("uuid")),
        "format.byte" => |_| Ok(Value::Format("byte")),
        "format.date" => |_| Ok(Value::Format("date")),
        "format.datetime" => |_| Ok(Value::Format("datetime")),
        _ => return None,
    })
}

fn validate(args: &[Value]) -> Outcome {
    let [Value::Format(format), Value::String(text)] = args else { return Err(Fault::no_overload()) };
    let errors = errors(format, text);
    if errors.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(Value::list(errors.into_iter().map(Value::string).collect())))
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_1035: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

fn errors(format: &str, text: &str) -> Vec<String> {
    let prefix = format.strip_suffix("Prefix");
    // A prefix may end with a hyphen: what follows is thought of as a letter.
    let masked = match (prefix, text.strip_suffix('-')) {
        (Some(_), Some(rest)) if text.len() > 1 => format!("{rest}a"),
        _ => text.to_owned(),
    };
    match prefix.unwrap_or(format) {
        "dns1123Label" => label(&masked),
        "dns1123Subdomain" => subdomain(&masked),
        "dns1035Label" => label_1035(&masked),
        "qualifiedName" => qualified_name(text),
        "labelValue" => label_value(text),
        "uri" => Url::parse(text).err().into_iter().collect(),
        "uuid" => unless(
            matches(text, "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"),
            "does not match the UUID format",
        ),
        "byte" => unless(is_base64(text), "invalid base64"),
        "date" => {
            let complete = Timestamp::parse(&format!("{text}T00:00:00Z")).is_some();
            unless(text.len() == 10 && complete, "invalid date")
        }
        _ => unless(Timestamp::parse(text).is_some(), "invalid datetime"),
    }
}

fn unless(good: bool, error: &str) -> Vec<String> {
    if good { Vec::new() } else { vec![error.to_owned()] }
}

fn matches(text: &str, pattern: &str) -> bool {
    Regex::new(&format!("^(?:{pattern})$")).is_ok_and(|regex| regex.is_match(text))
}

fn too_long(most: usize, unit: &str) -> String {
    format!("must be no more than {most} {unit}")
}

/// The words for a text that does not have a form: examples, then the expression.
fn form(message: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}'")).collect();
    let examples =
        if examples.is_empty() { String::new() } else { format!("e.g. {}, ", examples.join(",  or ")) };
    format!("{message} ({examples}regex used for validation is '{pattern}')")
}

fn label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !matches(text, LABEL) {
        if matches(text, SUBDOMAIN) {
            errors.push("must not contain dots".to_owned());
        } else {
            errors.push(form(
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
                LABEL,
                &["my-name", "123-abc"],
            ));
        }
    }
    errors
}

fn label_1035(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "characters"));
    }
    if !matches(text, LABEL_1035) {
        errors.push(form(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
            LABEL_1035,
            &["my-name", "abc-123"],
        ));
    }
    errors
}

fn subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 253 {
        errors.push(too_long(253, "characters"));
    }
    if !matches(text, SUBDOMAIN) {
        errors.push(form(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
            SUBDOMAIN,
            &["example.com"],
        ));
    }
    errors
}

const QUALIFIED_FORM: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

fn qualified_name(text: &str) -> Vec<String> {
    let examples = ["MyName", "my.name", "123-abc"];
    let mut errors = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => name,
        [prefix, name] => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                errors.extend(subdomain(prefix).into_iter().map(|error| format!("prefix part {error}")));
            }
            name
        }
        _ => {
            let text = form(&format!("a qualified name {QUALIFIED_FORM}"), QUALIFIED, &examples);
            return vec![format!(
                "{text} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !matches(name, QUALIFIED) {
        errors.push(format!("name part {}", form(QUALIFIED_FORM, QUALIFIED, &examples)));
    }
    errors
}

fn label_value(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > 63 {
        errors.push(too_long(63, "bytes"));
    }
    if !matches(text, VALUE) {
        errors.push(form(
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
            VALUE,
            &["MyValue", "my_value", "12345"],
        ));
    }
    errors
}

fn is_base64(text: &str) -> bool {
    text.len().is_multiple_of(4)
        && matches(text, "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})")
}
