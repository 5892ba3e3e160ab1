//! What a pod asks of the node that it shall run on, rule by rule.

use crate::api::objects::Pod;
use crate::framework::host_ports;

use super::filter::describe_port;
use super::selectors::{describe_term, describe_toleration};

/// A rule: what kind of rule it is, and what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// In a word or two, such as `prefers`.
    pub kind: &'static str,
    /// What it says.
    pub text: String,
}

/// The rules of a pod beside its requests, in the order in which the plugins look at them.
pub fn rules(pod: &Pod) -> Vec<Rule> {
    let spec = &pod.spec;
    let mut rules = Vec::new();
    let mut add = |kind, text| rules.push(Rule { kind, text });
    for toleration in &spec.tolerations {
        add("tolerates", describe_toleration(toleration));
    }
    if !spec.node_selector.is_empty() {
        let labels: Vec<String> =
            spec.node_selector.iter().map(|(key, value)| format!("{key}={value}")).collect();
        add("selects", labels.join(", "));
    }
    if let Some(affinity) = spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref()) {
        let terms = affinity.required.iter().flat_map(|required| &required.node_selector_terms);
        for (i, term) in terms.enumerate() {
            add(if i == 0 { "requires" } else { "or" }, describe_term(term));
        }
        for preferred in &affinity.preferred {
            add("prefers", format!("{} (weight {})", describe_term(&preferred.preference), preferred.weight));
        }
    }
    let ports: Vec<String> = host_ports(pod).iter().map(describe_port).collect();
    if !ports.is_empty() {
        add("host ports", ports.join(", "));
    }
    for gate in &spec.scheduling_gates {
        add("gate", gate.name.clone());
    }
    rules
}
