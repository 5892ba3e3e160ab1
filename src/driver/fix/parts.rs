//! The smaller changes of affinity: one expression of a term is dropped, or one term, where the whole need not go.
//!
//! Terms of node affinity are alternatives whose expressions must all hold, so a term is met without those that the node
//! does not meet; terms of pod affinity and anti-affinity must all hold, so each can be the one too many.

use super::change::{Change, ChangeKind};
use super::patch::PatchOp;
use crate::api::Str;
use crate::api::node_selector::LazyNodeSelector;
use crate::api::objects::{
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodAffinityTerm,
};

/// Where the required terms of a kind of affinity stand.
fn required(which: &str) -> String {
    format!("/spec/affinity/{which}/requiredDuringSchedulingIgnoredDuringExecution")
}

/// For each term that the node meets in part: what it does not meet is dropped. A term that would be empty meets nothing.
pub(super) fn of_node_affinity(selector: &NodeSelector, node: &Node) -> Vec<Change> {
    let mut changes = Vec::new();
    for (at, term) in selector.node_selector_terms.iter().enumerate() {
        let root = format!("{}/nodeSelectorTerms/{at}", required("nodeAffinity"));
        let is_met = |field: bool, requirement: &NodeSelectorRequirement| {
            let mut alone = NodeSelectorTerm::default();
            let list = if field { &mut alone.match_fields } else { &mut alone.match_expressions };
            list.push(requirement.clone());
            let alone = NodeSelector { node_selector_terms: vec![alone] };
            LazyNodeSelector::new(&alone, "").matches(node)
        };
        let lists = [("matchExpressions", &term.match_expressions), ("matchFields", &term.match_fields)];
        let (mut ops, mut texts) = (Vec::new(), Vec::new());
        for (list, requirements) in lists {
            // From the last on, so that places stay what they are.
            for (place, requirement) in requirements.iter().enumerate().rev() {
                if !is_met(list == "matchFields", requirement) {
                    ops.push(PatchOp::remove(format!("{root}/{list}/{place}")));
                    texts.push(told(requirement));
                }
            }
        }
        if ops.is_empty() || ops.len() == term.match_expressions.len() + term.match_fields.len() {
            continue;
        }
        texts.reverse();
        let what = format!("drop {} from the required node affinity", texts.join(", "));
        changes.push(Change::of_pod(ChangeKind::DropNodeAffinity, what, cost(ops.len()), ops));
    }
    changes
}

/// One required term of pod affinity is dropped, where there are several: which one stands before it is found by trying.
pub(super) fn of_pod_affinity(pod: &Pod) -> Vec<Change> {
    let terms = pod.spec.affinity.as_ref().and_then(|affinity| affinity.pod_affinity.as_ref());
    let terms = terms.map_or(&[][..], |affinity| &affinity.required);
    let places = (0..terms.len()).filter(|_| terms.len() > 1);
    places
        .filter_map(|at| {
            without(ChangeKind::DropPodAffinity, "podAffinity", "required pod affinity", terms, &[at])
        })
        .collect()
}

/// Required terms of pod anti-affinity over these topology keys are dropped: each alone, and all of them.
pub(super) fn of_pod_anti_affinity(pod: &Pod, keys: &[&Str]) -> Vec<Change> {
    let terms = pod.spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let terms = terms.map_or(&[][..], |affinity| &affinity.required);
    let is_close = |term: &PodAffinityTerm| keys.iter().any(|key| ***key == *term.topology_key);
    let close: Vec<usize> =
        terms.iter().enumerate().filter(|(_, term)| is_close(term)).map(|(at, _)| at).collect();
    let mut sets: Vec<Vec<usize>> = close.iter().map(|at| vec![*at]).collect();
    if close.len() > 1 {
        sets.push(close);
    }
    sets.retain(|set| set.len() < terms.len());
    let drop = |set: &Vec<usize>| {
        without(ChangeKind::DropPodAntiAffinity, "podAntiAffinity", "required pod anti-affinity", terms, set)
    };
    sets.iter().filter_map(drop).collect()
}

fn without(
    kind: ChangeKind,
    which: &str,
    what: &str,
    terms: &[PodAffinityTerm],
    places: &[usize],
) -> Option<Change> {
    let root = required(which);
    let ops: Vec<PatchOp> = places.iter().rev().map(|at| PatchOp::remove(format!("{root}/{at}"))).collect();
    let texts: Option<Vec<String>> = places
        .iter()
        .map(|at| Some(format!("term {} (over {})", at + 1, terms.get(*at)?.topology_key)))
        .collect();
    Some(Change::of_pod(kind, format!("drop {} of the {what}", texts?.join(", ")), cost(ops.len()), ops))
}

/// One is cheaper than the whole, and never are several dearer than it.
fn cost(n: usize) -> u32 {
    if n == 1 { 4 } else { 5 }
}

fn told(requirement: &NodeSelectorRequirement) -> String {
    let NodeSelectorRequirement { key, operator, values } = requirement;
    if values.is_empty() {
        format!("{key} {operator}")
    } else {
        format!("{key} {operator} [{}]", values.join(", "))
    }
}
