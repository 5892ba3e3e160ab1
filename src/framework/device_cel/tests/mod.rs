//! Selectors against the answers of `k8s.io/dynamic-resource-allocation/cel` v0.36.3.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod bounds;
mod devices;
mod robustness;

use serde_json::Value as Json;

use super::{Attribute, Device, DeviceSelector, Features};
use crate::api::Str;

/// Devices as the API writes them, one per line.
const DEVICES: &str = include_str!("devices.jsonl");
/// Expressions, the number of the device they are asked of, and what upstream answers: `match`, `error` or
/// `compileError`, and the cost of the evaluation.
const ANSWERS: &str = include_str!("answers.jsonl");

/// A device from its line.
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
    let (kind, value) = json.as_object().unwrap().iter().next().unwrap();
    let list = || value.as_array().unwrap().iter();
    match kind.as_str() {
        "ints" => Attribute::Ints(list().map(|v| v.as_i64().unwrap()).collect()),
        "bools" => Attribute::Bools(list().map(|v| v.as_bool().unwrap()).collect()),
        "strings" => Attribute::Strings(list().map(text).collect()),
        "versions" => Attribute::Versions(list().map(text).collect()),
        "int" => Attribute::Int(value.as_i64().unwrap()),
        "bool" => Attribute::Bool(value.as_bool().unwrap()),
        "string" => Attribute::String(text(value)),
        _ => Attribute::Version(text(value)),
    }
}

/// What this program answers, in the form in which upstream's answers are kept.
fn answer(expression: &str, features: Features, device: &Device) -> Json {
    let selector = match DeviceSelector::compile(expression, features) {
        Ok(selector) => selector,
        Err(error) => return serde_json::json!({ "compileError": error.to_string() }),
    };
    let (result, cost) = selector.evaluate(device);
    match result {
        Ok(matches) => serde_json::json!({ "match": matches, "cost": cost }),
        Err(error) => serde_json::json!({ "error": error.to_string(), "cost": cost }),
    }
}

#[test]
fn every_answer_and_every_cost_is_upstreams() {
    let devices: Vec<Device> =
        DEVICES.lines().map(|line| device(&serde_json::from_str(line).unwrap())).collect();
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in ANSWERS.lines() {
        let mut expected: Json = serde_json::from_str(line).unwrap();
        let fields = expected.as_object_mut().unwrap();
        let expression = fields.shift_remove("expr").unwrap();
        let expression = expression.as_str().unwrap();
        let on = fields.shift_remove("on").and_then(|on| on.as_u64()).unwrap();
        let lists = fields.shift_remove("lists").is_some();
        let features = Features { list_type_attributes: lists, ..Features::default() };
        let mut actual = answer(expression, features, &devices[usize::try_from(on).unwrap()]);
        if !fields.contains_key("cost") {
            // A device that cannot be read costs nothing to refuse, and upstream then tells no cost.
            actual.as_object_mut().unwrap().shift_remove("cost");
        }
        count += 1;
        if actual != expected {
            wrong.push(format!("{expression}\n  expected {expected}\n  got      {actual}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 1000, "the answers are there");
}
