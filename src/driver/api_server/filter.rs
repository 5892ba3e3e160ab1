//! Label and field selectors of lists and watches.
//!
//! Labels in the grammar of `apimachinery/pkg/labels`, fields in that of `pkg/fields`; which fields a kind can be selected
//! by follows the field label conversions of kube-apiserver v1.36.

use serde_json::Value;

use super::mirror::Served;
use crate::api::selector::{Operator, Requirement};
use crate::api::{NamespacedName, Selector};
use crate::driver::sandbox::resources::ResourceId;

/// The fields that objects of a resource can be selected by, with where they stand.
const fn selectable(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind.as_bytes() {
        b"Pod" => &[
            ("spec.nodeName", "/spec/nodeName"),
            ("spec.restartPolicy", "/spec/restartPolicy"),
            ("spec.schedulerName", "/spec/schedulerName"),
            ("spec.serviceAccountName", "/spec/serviceAccountName"),
            ("spec.hostNetwork", "/spec/hostNetwork"),
            ("status.phase", "/status/phase"),
            ("status.podIP", "/status/podIP"),
            ("status.nominatedNodeName", "/status/nominatedNodeName"),
        ],
        b"Node" => &[("spec.unschedulable", "/spec/unschedulable")],
        b"Namespace" => &[("status.phase", "/status/phase")],
        b"Secret" => &[("type", "/type")],
        b"Job" => &[("status.successful", "/status/succeeded")],
        b"ReplicaSet" | b"ReplicationController" => &[("status.replicas", "/status/replicas")],
        b"ResourceSlice" => &[("spec.nodeName", "/spec/nodeName"), ("spec.driver", "/spec/driver")],
        b"Event" => &[
            ("involvedObject.kind", "/involvedObject/kind"),
            ("involvedObject.namespace", "/involvedObject/namespace"),
            ("involvedObject.name", "/involvedObject/name"),
            ("involvedObject.uid", "/involvedObject/uid"),
            ("involvedObject.apiVersion", "/involvedObject/apiVersion"),
            ("involvedObject.resourceVersion", "/involvedObject/resourceVersion"),
            ("involvedObject.fieldPath", "/involvedObject/fieldPath"),
            ("regarding.kind", "/regarding/kind"),
            ("regarding.namespace", "/regarding/namespace"),
            ("regarding.name", "/regarding/name"),
            ("regarding.uid", "/regarding/uid"),
            ("regarding.apiVersion", "/regarding/apiVersion"),
            ("regarding.resourceVersion", "/regarding/resourceVersion"),
            ("regarding.fieldPath", "/regarding/fieldPath"),
            ("reason", "/reason"),
            ("type", "/type"),
            ("reportingComponent", "/reportingComponent"),
            ("reportingController", "/reportingController"),
            ("source", "/source/component"),
        ],
        _ => &[],
    }
}

/// The values of the fields that an object can be selected by.
pub(super) fn fields_of(id: ResourceId, document: &Value) -> Vec<(&'static str, String)> {
    let text = |pointer: &str| match document.pointer(pointer) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        _ if pointer == "/spec/unschedulable" || pointer == "/spec/hostNetwork" => "false".to_owned(),
        _ => String::new(),
    };
    selectable(id.get().kind).iter().map(|(field, pointer)| (*field, text(pointer))).collect()
}

/// What of a resource is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    namespace: Option<String>,
    labels: Selector,
    /// Field, whether it must be equal, value.
    fields: Vec<(String, bool, String)>,
}

impl Filter {
    /// Reads the selectors.
    ///
    /// # Errors
    /// What is wrong with one.
    pub(super) fn new(
        id: ResourceId,
        namespace: Option<&str>,
        labels: &str,
        fields: &str,
    ) -> Result<Self, String> {
        let fields = parse_fields(fields)?;
        let known = selectable(id.get().kind);
        for (field, ..) in &fields {
            let is_known = matches!(field.as_str(), "metadata.name" | "metadata.namespace")
                || known.iter().any(|(known, _)| known == field);
            if !is_known {
                return Err(format!("field label not supported: {field}"));
            }
        }
        let labels = parse_labels(labels).map_err(|wrong| format!("unable to parse requirement: {wrong}"))?;
        Ok(Self { namespace: namespace.map(str::to_owned), labels, fields })
    }

    /// Whether an object is among what is asked for.
    pub(super) fn matches(&self, object: &Served) -> bool {
        let NamespacedName { namespace, name } = &object.key;
        self.namespace.as_ref().is_none_or(|wanted| **wanted == **namespace)
            && self.fields.iter().all(|(field, is_equal, wanted)| {
                let found = match field.as_str() {
                    "metadata.name" => name,
                    "metadata.namespace" => &**namespace,
                    field => {
                        let found = object.fields.iter().find(|(known, _)| *known == field);
                        found.map_or("", |(_, value)| value.as_str())
                    }
                };
                (found == wanted) == *is_equal
            })
            && self.labels.matches(&object.labels)
    }
}

/// `a=b,c!=d`; a backslash stands before a comma, an equals sign or a backslash that is meant.
fn parse_fields(text: &str) -> Result<Vec<(String, bool, String)>, String> {
    let mut terms = vec![String::new()];
    let mut is_escaped = false;
    for c in text.chars() {
        match c {
            ',' if !is_escaped => terms.push(String::new()),
            _ => {
                if let Some(term) = terms.last_mut() {
                    term.push(c);
                }
            }
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    let plain = |text: &str| {
        let mut plain = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            plain.push(if c == '\\' { chars.next().unwrap_or('\\') } else { c });
        }
        plain
    };
    let mut fields = Vec::new();
    for term in terms.iter().filter(|term| !term.trim().is_empty()) {
        let (field, is_equal, value) = if let Some((field, value)) = term.split_once("!=") {
            (field, false, value)
        } else if let Some((field, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
            (field, true, value)
        } else {
            return Err(format!("invalid field selector: {term:?}; can't understand {term:?}"));
        };
        fields.push((field.trim().to_owned(), is_equal, plain(value)));
    }
    Ok(fields)
}

/// `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.
fn parse_labels(text: &str) -> Result<Selector, String> {
    let mut terms = Vec::new();
    let (mut depth, mut begin) = (0_u32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                terms.push(text.get(begin..at).unwrap_or_default());
                begin = at + 1;
            }
            _ => {}
        }
    }
    terms.push(text.get(begin..).unwrap_or_default());
    let mut requirements = Vec::new();
    for term in terms.into_iter().map(str::trim).filter(|term| !term.is_empty()) {
        requirements.push(parse_requirement(term)?);
    }
    Ok(Selector::new(requirements))
}

fn parse_requirement(term: &str) -> Result<Requirement, String> {
    let new = |key: &str, operator: Operator, values: &[String]| {
        Requirement::new(key.trim(), operator, values, "").map_err(|errors| format!("{term:?}: {errors:?}"))
    };
    let one = |value: &str| [value.trim().to_owned()];
    if let Some(key) = term.strip_prefix('!') {
        return new(key, Operator::DoesNotExist, &[]);
    }
    for (word, operator) in [(" notin", Operator::NotIn), (" in", Operator::In)] {
        let Some((key, rest)) = term.split_once(word) else { continue };
        let list = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        if let Some(list) = list {
            let values: Vec<String> = list.split(',').map(|value| value.trim().to_owned()).collect();
            return new(key, operator, &values);
        }
    }
    if let Some((key, value)) = term.split_once("!=") {
        return new(key, Operator::NotIn, &one(value));
    }
    if let Some((key, value)) = term.split_once("==").or_else(|| term.split_once('=')) {
        return new(key, Operator::In, &one(value));
    }
    if let Some((key, value)) = term.split_once('>') {
        return new(key, Operator::GreaterThan, &one(value));
    }
    if let Some((key, value)) = term.split_once('<') {
        return new(key, Operator::LessThan, &one(value));
    }
    new(term, Operator::Exists, &[])
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::Time;
    use crate::driver::api_server::mirror::Mirror;

    fn matches(labels: &str, fields: &str) -> Result<bool, String> {
        let pods = ResourceId::of("", "pods").unwrap();
        let pod = json!({
            "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "tier": "front", "n": "5"}},
            "spec": {"nodeName": "a"},
            "status": {"phase": "Running"},
        });
        let served = Mirror::new(0, Time::ZERO).change(|changes| changes.put(pods, pod));
        Filter::new(pods, Some("shop"), labels, fields).map(|filter| filter.matches(&served))
    }

    #[test]
    fn labels_are_selected_as_kubectl_writes_it() {
        for (selector, is_match) in [
            ("", true),
            ("app=web", true),
            ("app==web, tier!=back", true),
            ("app in (web, db),tier", true),
            ("app notin (web)", false),
            ("!lost", true),
            ("!app", false),
            ("lost!=x", true),
            ("n>4", true),
            ("n<4", false),
        ] {
            assert_eq!(matches(selector, ""), Ok(is_match), "{selector}");
        }
        assert!(matches("a b", "").is_err());
        assert!(matches("app=web=db", "").is_err());
    }

    #[test]
    fn fields_are_those_of_the_kind() {
        for (selector, is_match) in [
            ("metadata.name=web", true),
            ("spec.nodeName=a,status.phase!=Pending", true),
            ("spec.nodeName=", false),
            ("status.phase==Running", true),
        ] {
            assert_eq!(matches("", selector), Ok(is_match), "{selector}");
        }
        assert_eq!(matches("", "spec.color=red"), Err("field label not supported: spec.color".to_owned()));
        assert!(matches("", "nonsense").is_err());
    }
}
