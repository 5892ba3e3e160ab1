//! Which requirement of a node selector a node misses, and which toleration covers a taint.
//!
//! Follows `k8s.io/component-helpers/scheduling/corev1/nodeaffinity` and `Toleration.ToleratesTaint`. The plugins
//! decide; this says in words what they compared.

use crate::api::objects::{Node, NodeSelectorRequirement, NodeSelectorTerm, Taint, Toleration};

/// The field that `matchFields` can name.
const METADATA_NAME: &str = "metadata.name";

/// What is missing on a node for one term.
pub(super) struct Mismatch {
    /// The requirement as a person writes it.
    pub(super) requirement: String,
    /// What the node has instead.
    pub(super) found: String,
}

/// The first requirement of a term that the node does not meet; `None` if it meets all.
pub(super) fn first_mismatch(term: &NodeSelectorTerm, node: &Node) -> Option<Mismatch> {
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return Some(Mismatch {
            requirement: String::from("nothing"),
            found: String::from("an empty term matches no node"),
        });
    }
    let by_label = term.match_expressions.iter().find_map(|requirement| {
        let value = node.label(&requirement.key);
        mismatch(requirement, value, "label")
    });
    by_label.or_else(|| {
        term.match_fields.iter().find_map(|requirement| {
            let value = (requirement.key == METADATA_NAME).then(|| node.name().as_ref());
            mismatch(requirement, value, "field")
        })
    })
}

fn mismatch(requirement: &NodeSelectorRequirement, value: Option<&str>, what: &str) -> Option<Mismatch> {
    if is_met(requirement, value) {
        return None;
    }
    let key = &requirement.key;
    let found = match value {
        None => format!("the node has no {what} {key}"),
        Some("") => format!("the node's {what} {key} is empty"),
        Some(value) => format!("the node has {key}={value}"),
    };
    Some(Mismatch { requirement: describe(requirement), found })
}

/// Whether a value (absent if the node has no such label) meets a requirement.
fn is_met(requirement: &NodeSelectorRequirement, value: Option<&str>) -> bool {
    let is_listed = |value: &str| requirement.values.iter().any(|wanted| wanted == value);
    match requirement.operator.as_str() {
        "In" => value.is_some_and(is_listed),
        "NotIn" => !value.is_some_and(is_listed),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared(requirement, value).is_some_and(|(found, bound)| found > bound),
        "Lt" => compared(requirement, value).is_some_and(|(found, bound)| found < bound),
        _ => false,
    }
}

fn compared(requirement: &NodeSelectorRequirement, value: Option<&str>) -> Option<(i64, i64)> {
    let bound = requirement.values.first()?;
    Some((value?.parse().ok()?, bound.parse().ok()?))
}

/// A requirement as a person writes it: `zone In [a, b]`, `disk Exists`.
pub(super) fn describe(requirement: &NodeSelectorRequirement) -> String {
    let NodeSelectorRequirement { key, operator, values } = requirement;
    match operator.as_str() {
        "Exists" | "DoesNotExist" => format!("{key} {operator}"),
        "Gt" | "Lt" => format!("{key} {operator} {}", values.join(", ")),
        _ => format!("{key} {operator} [{}]", values.join(", ")),
    }
}

/// A term as a person writes it.
pub(super) fn describe_term(term: &NodeSelectorTerm) -> String {
    let requirements: Vec<String> =
        term.match_expressions.iter().chain(&term.match_fields).map(describe).collect();
    if requirements.is_empty() { String::from("an empty term") } else { requirements.join(", ") }
}

/// Whether a toleration covers a taint, without the comparison operators that are off by default.
pub(super) fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    let same_effect = toleration.effect.is_empty() || toleration.effect == taint.effect.as_str();
    let same_key = toleration.key.is_empty() || toleration.key == taint.key;
    let same_value = match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        _ => false,
    };
    same_effect && same_key && same_value
}

/// A toleration as a person writes it: `gpu=true:NoSchedule`, `spot (any value)`, `everything`.
pub(super) fn describe_toleration(toleration: &Toleration) -> String {
    let effect = if toleration.effect.is_empty() { String::new() } else { format!(":{}", toleration.effect) };
    let key = &toleration.key;
    match (toleration.operator.as_str(), key.is_empty()) {
        ("Exists", true) => format!("everything{effect}"),
        ("Exists", false) => format!("{key}{effect} (any value)"),
        ("" | "Equal", _) => format!("{key}={}{effect}", toleration.value),
        (operator, _) => format!("{key} {operator} {}{effect}", toleration.value),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::objects::TaintEffect;

    fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeSelectorRequirement {
        NodeSelectorRequirement {
            key: key.into(),
            operator: operator.into(),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }
    }

    fn node(labels: &[(&str, &str)]) -> Node {
        let mut node = Node::default();
        for (key, value) in labels {
            node.metadata.labels.insert(Arc::from(*key), Arc::from(*value));
        }
        node
    }

    #[test]
    fn a_mismatch_names_the_label_and_the_value_of_the_node() {
        let term = NodeSelectorTerm {
            match_expressions: vec![
                requirement("disk", "Exists", &[]),
                requirement("zone", "In", &["a", "b"]),
            ],
            match_fields: Vec::new(),
        };
        let found = first_mismatch(&term, &node(&[("zone", "c"), ("disk", "ssd")]));
        let found = found.map(|found| (found.requirement, found.found));
        assert_eq!(found, Some(("zone In [a, b]".into(), "the node has zone=c".into())));
        let found = first_mismatch(&term, &node(&[])).map(|found| found.found);
        assert_eq!(found.as_deref(), Some("the node has no label disk"));
        assert!(first_mismatch(&term, &node(&[("zone", "b"), ("disk", "")])).is_none());
    }

    #[test]
    fn an_absent_label_meets_not_in_and_no_comparison() {
        assert!(is_met(&requirement("zone", "NotIn", &["a"]), None));
        assert!(!is_met(&requirement("cores", "Gt", &["4"]), None));
        assert!(is_met(&requirement("cores", "Gt", &["4"]), Some("8")));
        assert!(is_met(&requirement("cores", "Lt", &["4"]), Some("2")));
    }

    #[test]
    fn a_toleration_without_a_key_covers_every_key_only_with_exists() {
        let taint = Taint { key: "gpu".into(), value: "true".into(), effect: TaintEffect::NoSchedule };
        let toleration = |key: &str, operator: &str, value: &str, effect: &str| Toleration {
            key: key.into(),
            operator: operator.into(),
            value: value.into(),
            effect: effect.into(),
            toleration_seconds: None,
        };
        assert!(tolerates(&toleration("", "Exists", "", ""), &taint));
        assert!(tolerates(&toleration("gpu", "", "true", "NoSchedule"), &taint));
        assert!(!tolerates(&toleration("gpu", "Equal", "false", ""), &taint));
        assert!(!tolerates(&toleration("gpu", "Exists", "", "NoExecute"), &taint));
    }
}
