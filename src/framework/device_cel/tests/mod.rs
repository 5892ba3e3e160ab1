//! Selectors against upstream's answers.
#![expect(clippy::unwrap_used, reason = "tests")]

use serde_json::Value as Json;

use super::{Attribute, Device, DeviceSelector, Features};
use crate::api::Str;

/// A device as the API writes it.
fn device(json: &Json) -> Device {
    let object = |name: &str| json.get(name).and_then(Json::as_object).cloned().unwrap_or_default();
    let attributes = object("attributes");
    let capacity = object("capacity");
    let attributes = attributes.iter().map(|(name, value)| (name.as_str(), attribute(value)));
    let capacity = capacity.iter().map(|(name, value)| {
        let text = value.get("value").and_then(Json::as_str).unwrap_or("0");
        (name.as_str(), text.parse().unwrap())
    });
    let driver = json.get("driver").and_then(Json::as_str).unwrap_or_default();
    Device::new(driver, attributes, capacity, json.get("allowMultipleAllocations").and_then(Json::as_bool))
}

fn attribute(json: &Json) -> Attribute {
    let text = |value: &Json| Str::from(value.as_str().unwrap());
    let list = |name: &str| json.get(name).and_then(Json::as_array);
    if let Some(values) = list("ints") {
        return Attribute::Ints(values.iter().map(|v| v.as_i64().unwrap()).collect());
    }
    if let Some(values) = list("bools") {
        return Attribute::Bools(values.iter().map(|v| v.as_bool().unwrap()).collect());
    }
    if let Some(values) = list("strings") {
        return Attribute::Strings(values.iter().map(text).collect());
    }
    if let Some(values) = list("versions") {
        return Attribute::Versions(values.iter().map(text).collect());
    }
    if let Some(value) = json.get("int").and_then(Json::as_i64) {
        return Attribute::Int(value);
    }
    if let Some(value) = json.get("bool").and_then(Json::as_bool) {
        return Attribute::Bool(value);
    }
    if let Some(value) = json.get("string") {
        return Attribute::String(text(value));
    }
    json.get("version").map_or(Attribute::Unset, |value| Attribute::Version(text(value)))
}

/// What this program says of a case, in the form in which upstream's answers are kept.
fn answer(case: &Json) -> Json {
    let flag = |name: &str| case.get(name).and_then(Json::as_bool).unwrap_or(false);
    let features = Features { consumable_capacity: flag("consumable"), list_type_attributes: flag("lists") };
    let expression = case.get("expr").and_then(Json::as_str).unwrap();
    let selector = match DeviceSelector::compile(expression, features) {
        Ok(selector) => selector,
        Err(error) => return serde_json::json!({ "compileError": error.to_string() }),
    };
    let (result, cost) = selector.evaluate(&device(case.get("device").unwrap_or(&Json::Null)));
    match result {
        Ok(matches) => serde_json::json!({ "match": matches, "cost": cost }),
        Err(error) => serde_json::json!({ "error": error.to_string(), "cost": cost }),
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "dev")]
fn bulk() {
    let Ok(path) = std::env::var("CEL_PAIRS") else { return };
    let text = std::fs::read_to_string(path).unwrap();
    let mut out = String::new();
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let start = std::time::Instant::now();
        let a = std::panic::catch_unwind(|| answer(&case)).unwrap_or(serde_json::json!({"panic": true}));
        if start.elapsed().as_millis() > 3000 {
            println!("slow {} {:?}", case["expr"], start.elapsed());
        }
        out.push_str(&a.to_string());
        out.push('\n');
    }
    std::fs::write("/tmp/cel.rs.out", out).unwrap();
    println!("done");
}
