//! Patches: RFC 6902, RFC 7386, and Kubernetes' strategic merge.
//!
//! Follows `apimachinery/pkg/util/strategicpatch`. Which lists are merged, and by which field, is known by their names
//! alone: those of the kinds that the sandbox keeps. A list without a known key is replaced, as atomic lists are.

use serde_json::{Map, Value};

/// In which language a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    /// `application/json-patch+json`.
    Json,
    /// `application/merge-patch+json`.
    Merge,
    /// `application/strategic-merge-patch+json`.
    Strategic,
    /// `application/apply-patch+yaml`: merged like a strategic patch, and created where there is nothing to patch.
    Apply,
}

/// The document with the patch applied.
///
/// # Errors
/// What is wrong with the patch, or does not fit the document.
pub fn patched(document: &Value, kind: PatchKind, patch: &Value) -> Result<Value, String> {
    let mut result = document.clone();
    match kind {
        PatchKind::Json => json_patch(&mut result, patch)?,
        PatchKind::Merge => merge_patch(&mut result, patch),
        PatchKind::Strategic | PatchKind::Apply => strategic(&mut result, patch)?,
    }
    Ok(result)
}

fn merge_patch(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (field, value) in patch {
        if value.is_null() {
            fields.shift_remove(field);
        } else {
            merge_patch(fields.entry(field.clone()).or_insert(Value::Null), value);
        }
    }
}

fn json_patch(document: &mut Value, patch: &Value) -> Result<(), String> {
    let operations = patch.as_array().ok_or("a JSON patch is a list of operations")?;
    for operation in operations {
        let text = |field: &str| operation.get(field).and_then(Value::as_str);
        let path = text("path").ok_or("an operation of a JSON patch has no path")?;
        let from = || text("from").ok_or_else(|| format!("operation at {path}: \"from\" is missing"));
        let value = || {
            let value = operation.get("value").cloned();
            value.ok_or_else(|| format!("operation at {path}: \"value\" is missing"))
        };
        match text("op").unwrap_or_default() {
            "add" => add_at(document, path, value()?)?,
            "remove" => _ = remove_at(document, path)?,
            "replace" => {
                let value = value()?;
                *document.pointer_mut(path).ok_or_else(|| lost(path))? = value;
            }
            "move" => {
                let value = remove_at(document, from()?)?;
                add_at(document, path, value)?;
            }
            "copy" => {
                let from = from()?;
                let value = document.pointer(from).cloned().ok_or_else(|| lost(from))?;
                add_at(document, path, value)?;
            }
            "test" => {
                if document.pointer(path) != Some(&value()?) {
                    return Err(format!("testing value {path} failed"));
                }
            }
            other => return Err(format!("{other:?} is no operation of a JSON patch")),
        }
    }
    Ok(())
}

fn lost(path: &str) -> String {
    format!("path does not exist: {path}")
}

/// The place that holds what a path points at, and its name there.
fn holder<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let (parent, last) = path.rsplit_once('/').ok_or_else(|| lost(path))?;
    let name = last.replace("~1", "/").replace("~0", "~");
    Ok((document.pointer_mut(parent).ok_or_else(|| lost(path))?, name))
}

fn add_at(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match holder(document, path)? {
        (Value::Object(fields), name) => _ = fields.insert(name, value),
        (Value::Array(elements), name) => {
            let at = if name == "-" { elements.len() } else { name.parse().map_err(|_| lost(path))? };
            if at > elements.len() {
                return Err(lost(path));
            }
            elements.insert(at, value);
        }
        _ => return Err(lost(path)),
    }
    Ok(())
}

fn remove_at(document: &mut Value, path: &str) -> Result<Value, String> {
    match holder(document, path)? {
        (Value::Object(fields), name) => fields.shift_remove(&name).ok_or_else(|| lost(path)),
        (Value::Array(elements), name) => {
            let at: usize = name.parse().map_err(|_| lost(path))?;
            if at < elements.len() { Ok(elements.remove(at)) } else { Err(lost(path)) }
        }
        _ => Err(lost(path)),
    }
}

/// The fields that tell the elements of a list apart, by the list's name; the first that an element has counts.
fn merge_keys(list: &str) -> &'static [&'static str] {
    match list {
        "containers"
        | "initContainers"
        | "ephemeralContainers"
        | "volumes"
        | "env"
        | "imagePullSecrets"
        | "schedulingGates"
        | "resourceClaims"
        | "resourceClaimStatuses"
        | "secrets" => &["name"],
        "conditions" | "addresses" => &["type"],
        "ownerReferences" => &["uid"],
        "ports" => &["containerPort", "port"],
        "volumeMounts" => &["mountPath"],
        "volumeDevices" => &["devicePath"],
        "topologySpreadConstraints" => &["topologyKey"],
        "hostAliases" | "podIPs" | "hostIPs" => &["ip"],
        _ => &[],
    }
}

fn strategic(target: &mut Value, patch: &Value) -> Result<(), String> {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return Ok(());
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            let rest = patch.iter().filter(|(field, _)| *field != "$patch");
            *target = Value::Object(rest.map(|(field, value)| (field.clone(), value.clone())).collect());
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => return Err(format!("unknown patch type {other:?}")),
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return Ok(()) };
    if let Some(kept) = patch.get("$retainKeys").and_then(Value::as_array) {
        fields.retain(|field, _| kept.iter().any(|kept| kept.as_str() == Some(field)));
    }
    for (field, value) in patch {
        if let Some(list) = field.strip_prefix("$deleteFromPrimitiveList/") {
            let unwanted = value.as_array().cloned().unwrap_or_default();
            if let Some(Value::Array(elements)) = fields.get_mut(list) {
                elements.retain(|element| !unwanted.contains(element));
            }
        } else if field.starts_with('$') {
            continue;
        } else if value.is_null() {
            fields.shift_remove(field);
        } else if let Value::Array(changes) = value {
            let order = patch.get(&format!("$setElementOrder/{field}")).and_then(Value::as_array);
            let elements = fields.entry(field.clone()).or_insert_with(|| Value::Array(Vec::new()));
            merge_list(field, elements, changes, order)?;
        } else {
            strategic(fields.entry(field.clone()).or_insert(Value::Null), value)?;
        }
    }
    // An order may be given for a list that is not changed otherwise.
    for (field, order) in patch {
        if let (Some(list), Some(order)) = (field.strip_prefix("$setElementOrder/"), order.as_array())
            && !patch.contains_key(list)
            && let Some(Value::Array(elements)) = fields.get_mut(list)
        {
            set_order(list, elements, order);
        }
    }
    Ok(())
}

fn merge_list(
    list: &str,
    target: &mut Value,
    changes: &[Value],
    order: Option<&Vec<Value>>,
) -> Result<(), String> {
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Value::Array(elements) = target else { return Ok(()) };
    let directive = |change: &Value| change.get("$patch").and_then(Value::as_str).map(str::to_owned);
    let replaces = |change: &Value| {
        directive(change).as_deref() == Some("replace")
            && change.as_object().is_some_and(|map| map.len() == 1)
    };
    if changes.iter().any(replaces) {
        *elements = changes.iter().filter(|change| !replaces(change)).cloned().collect();
        return Ok(());
    }
    if list == "finalizers" {
        for change in changes {
            if !elements.contains(change) {
                elements.push(change.clone());
            }
        }
        return Ok(());
    }
    let keys = merge_keys(list);
    if keys.is_empty() || changes.iter().any(|change| !change.is_object()) {
        *elements = changes.to_vec();
        return Ok(());
    }
    for change in changes {
        let key = keys.iter().find(|key| change.get(key).is_some());
        let Some(key) = key else {
            return Err(format!("an element of {list} in the patch has no {}", keys.join(" or ")));
        };
        // A service has two ports of one number, for two protocols.
        let protocol = (list == "ports").then(|| change.get("protocol")).flatten();
        let is_same = |element: &Value| {
            element.get(key) == change.get(key)
                && protocol.is_none_or(|protocol| {
                    element.get("protocol").and_then(Value::as_str).unwrap_or("TCP")
                        == protocol.as_str().unwrap_or("TCP")
                })
        };
        if directive(change).as_deref() == Some("delete") {
            elements.retain(|element| !is_same(element));
            continue;
        }
        match elements.iter_mut().find(|element| is_same(element)) {
            Some(element) => strategic(element, change)?,
            None => {
                let mut element = Value::Object(Map::new());
                strategic(&mut element, change)?;
                elements.push(element);
            }
        }
    }
    if let Some(order) = order {
        set_order(list, elements, order);
    }
    Ok(())
}

/// Puts the elements that an order names into it; others stay behind them, as they were.
fn set_order(list: &str, elements: &mut [Value], order: &[Value]) {
    let keys = merge_keys(list);
    let place = |element: &Value| {
        let is_it = |named: &Value| {
            keys.iter().any(|key| named.get(key).is_some() && named.get(key) == element.get(key))
                || (keys.is_empty() && named == element)
        };
        order.iter().position(is_it).unwrap_or(order.len())
    };
    elements.sort_by_key(place);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn done(kind: PatchKind, document: &Value, patch: &Value) -> Result<Value, String> {
        patched(document, kind, patch)
    }

    #[test]
    fn a_json_patch_does_what_rfc_6902_says() {
        let document = json!({"a": {"b/c": 1}, "l": [1, 2]});
        let patch = json!([
            {"op": "test", "path": "/a/b~1c", "value": 1},
            {"op": "add", "path": "/l/-", "value": 3},
            {"op": "add", "path": "/l/0", "value": 0},
            {"op": "remove", "path": "/l/1"},
            {"op": "replace", "path": "/a/b~1c", "value": 2},
            {"op": "copy", "from": "/a/b~1c", "path": "/x"},
            {"op": "move", "from": "/a", "path": "/y"},
        ]);
        assert_eq!(
            done(PatchKind::Json, &document, &patch),
            Ok(json!({"l": [0, 2, 3], "x": 2, "y": {"b/c": 2}}))
        );
        for (patch, wrong) in [
            (json!([{"op": "test", "path": "/l/0", "value": 9}]), "testing value /l/0 failed"),
            (json!([{"op": "remove", "path": "/z"}]), "path does not exist: /z"),
            (json!([{"op": "add", "path": "/l/9", "value": 1}]), "path does not exist: /l/9"),
            (json!([{"op": "twist", "path": "/l"}]), "\"twist\" is no operation of a JSON patch"),
            (json!({}), "a JSON patch is a list of operations"),
        ] {
            assert_eq!(done(PatchKind::Json, &document, &patch), Err(wrong.to_owned()));
        }
    }

    #[test]
    fn a_merge_patch_replaces_lists_and_null_takes_away() {
        let document = json!({"a": {"b": 1, "c": 2}, "l": [1, 2]});
        let patch = json!({"a": {"b": null, "d": 3}, "l": [3]});
        assert_eq!(done(PatchKind::Merge, &document, &patch), Ok(json!({"a": {"c": 2, "d": 3}, "l": [3]})));
    }

    #[test]
    fn a_strategic_patch_merges_lists_by_their_keys() {
        let document = json!({
            "metadata": {"finalizers": ["a"]},
            "spec": {
                "containers": [{"name": "c", "image": "1", "args": ["x"]}, {"name": "d", "image": "1"}],
                "taints": [{"key": "a"}],
            },
            "status": {"conditions": [{"type": "Ready", "status": "False"}]},
        });
        let patch = json!({
            "metadata": {"finalizers": ["b"], "$deleteFromPrimitiveList/finalizers": ["a"]},
            "spec": {
                "$setElementOrder/containers": [{"name": "e"}, {"name": "c"}],
                "containers": [
                    {"name": "c", "image": "2"},
                    {"name": "d", "$patch": "delete"},
                    {"name": "e", "image": "1"},
                ],
                "taints": [{"key": "b"}],
            },
            "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "New", "status": "True"}]},
        });
        assert_eq!(
            done(PatchKind::Strategic, &document, &patch),
            Ok(json!({
                "metadata": {"finalizers": ["b"]},
                "spec": {
                    "containers": [{"name": "e", "image": "1"}, {"name": "c", "image": "2", "args": ["x"]}],
                    "taints": [{"key": "b"}],
                },
                "status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "New", "status": "True"}]},
            }))
        );
    }

    #[test]
    fn a_map_can_be_replaced_and_told_which_keys_stay() {
        let document = json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}, "labels": {"a": "b"}});
        let patch = json!({
            "strategy": {"$retainKeys": ["type"], "type": "Recreate"},
            "labels": {"$patch": "replace", "c": "d"},
        });
        assert_eq!(
            done(PatchKind::Strategic, &document, &patch),
            Ok(json!({"strategy": {"type": "Recreate"}, "labels": {"c": "d"}}))
        );
        assert!(done(PatchKind::Strategic, &json!({}), &json!({"containers": [{"image": "i"}]})).is_err());
    }
}
