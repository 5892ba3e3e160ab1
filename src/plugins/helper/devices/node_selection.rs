//! Which nodes a slice or a device serves.
//!
//! Follows `NodeMatches` of `k8s.io/dynamic-resource-allocation/structured`.

use crate::api::Str;
use crate::api::node_selector::NodeSelector;
use crate::api::objects::{self, Device, Node};

/// Whether a node is meant (`NodeMatches`).
///
/// # Errors
/// A selector that cannot be parsed.
pub fn node_matches(
    node: &Node,
    name: Option<&Str>,
    all_nodes: Option<bool>,
    selector: Option<&objects::NodeSelector>,
) -> Result<bool, String> {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        return Ok(node.name() == name);
    }
    if all_nodes == Some(true) {
        return Ok(true);
    }
    let Some(selector) = selector else { return Ok(false) };
    match NodeSelector::new(selector, "") {
        Ok(selector) => Ok(selector.matches(node)),
        Err(errors) => Err(format!("failed to parse node selector {}: {errors}", go_string(selector))),
    }
}

/// A node selector as Go's generated `String` writes it.
fn go_string(selector: &objects::NodeSelector) -> String {
    let requirements = |list: &[objects::NodeSelectorRequirement]| {
        let one = |r: &objects::NodeSelectorRequirement| {
            let (key, operator, values) = (&r.key, &r.operator, r.values.join(" "));
            format!("NodeSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
        };
        format!("[]NodeSelectorRequirement{{{}}}", list.iter().map(one).collect::<String>())
    };
    let term = |term: &objects::NodeSelectorTerm| {
        let (expressions, fields) = (requirements(&term.match_expressions), requirements(&term.match_fields));
        format!("NodeSelectorTerm{{MatchExpressions:{expressions},MatchFields:{fields},}},")
    };
    let terms: String = selector.node_selector_terms.iter().map(term).collect();
    format!("&NodeSelector{{NodeSelectorTerms:[]NodeSelectorTerm{{{terms}}},}}")
}

/// Whether a device of a slice with a selection per device serves the node.
///
/// # Errors
/// A selector that cannot be parsed.
pub fn device_matches(node: &Node, device: &Device) -> Result<bool, String> {
    node_matches(node, device.node_name.as_ref(), device.all_nodes, device.node_selector.as_ref())
}
