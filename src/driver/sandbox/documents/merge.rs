//! What has changed of the fields that the scheduler reads, carried over into the whole document.
//!
//! Of three trees: the document as its owner wrote it, what a slim object keeps of that document, and the slim object
//! as it is now. Where the last two are equal the document stays as it is; where they differ, it takes the difference.

use serde_json::{Map, Value};

/// What tells the elements of a list apart.
const IDENTITIES: [&str; 6] = ["name", "type", "key", "uid", "topologyKey", "device"];

/// The document with every difference between `before` and `after` carried over.
pub(super) fn carry_over(document: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return document.clone();
    }
    match (document, before, after) {
        (Value::Object(document), Value::Object(before), Value::Object(after)) => {
            Value::Object(carry_over_fields(document, before, after))
        }
        (Value::Array(document), Value::Array(before), Value::Array(after))
            if document.len() == before.len() =>
        {
            Value::Array(carry_over_elements(document, before, after))
        }
        _ => after.clone(),
    }
}

fn carry_over_fields(
    document: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut merged = Map::new();
    for (field, value) in document {
        match (before.get(field), after.get(field)) {
            (Some(_), None) => {}
            (Some(before), Some(after)) => {
                merged.insert(field.clone(), carry_over(value, before, after));
            }
            (None, Some(after)) => {
                // The slim object left it out as empty.
                merged.insert(field.clone(), carry_over(value, &empty_like(after), after));
            }
            (None, None) => {
                merged.insert(field.clone(), value.clone());
            }
        }
    }
    for (field, after) in after {
        if !document.contains_key(field) && before.get(field) != Some(after) {
            merged.insert(field.clone(), after.clone());
        }
    }
    merged
}

fn empty_like(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    }
}

fn carry_over_elements(document: &[Value], before: &[Value], after: &[Value]) -> Vec<Value> {
    let mut is_used = vec![false; before.len()];
    let mut find = |matches: &dyn Fn(&Value) -> bool| {
        let at = before.iter().zip(&is_used).position(|(value, used)| !used && matches(value))?;
        if let Some(used) = is_used.get_mut(at) {
            *used = true;
        }
        Some((document.get(at)?, before.get(at)?))
    };
    let mut merged = Vec::with_capacity(after.len());
    for value in after {
        let found = find(&|known| known == value).or_else(|| find(&|known| is_same(known, value)));
        merged.push(match found {
            Some((document, before)) => carry_over(document, before, value),
            None => value.clone(),
        });
    }
    merged
}

/// Whether two elements of a list are the same one, before and after a change.
fn is_same(a: &Value, b: &Value) -> bool {
    let identity = IDENTITIES.iter().find(|field| a.get(field).is_some() && b.get(field).is_some());
    identity.is_some_and(|field| a.get(field) == b.get(field))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_read_stays_and_what_changed_is_taken() {
        let document = json!({
            "metadata": {"name": "a", "annotations": {"x": "y"}},
            "spec": {"hostname": "h", "containers": [{"name": "c", "env": [{"name": "E", "value": "1"}]}]},
        });
        let before = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}});
        let after = json!({
            "metadata": {"name": "a", "uid": "u"},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]},
            "status": {"phase": "Pending"},
        });
        assert_eq!(
            carry_over(&document, &before, &after),
            json!({
                "metadata": {"name": "a", "annotations": {"x": "y"}, "uid": "u"},
                "spec": {
                    "hostname": "h",
                    "containers": [{
                        "name": "c",
                        "env": [{"name": "E", "value": "1"}],
                        "resources": {"requests": {"cpu": "1"}},
                    }],
                    "nodeName": "n",
                },
                "status": {"phase": "Pending"},
            })
        );
    }

    #[test]
    fn elements_that_are_gone_go_and_new_ones_come() {
        let document = json!({"taints": [{"key": "a", "timeAdded": "t"}, {"key": "b", "timeAdded": "t"}]});
        let before = json!({"taints": [{"key": "a"}, {"key": "b"}]});
        let after = json!({"taints": [{"key": "b"}, {"key": "c"}]});
        assert_eq!(
            carry_over(&document, &before, &after),
            json!({"taints": [{"key": "b", "timeAdded": "t"}, {"key": "c"}]})
        );
        assert_eq!(carry_over(&document, &before, &json!({})), json!({}));
    }
}
