//! A pod's topology spread constraints and its terms of pod affinity, domain by domain, with what the next pod may do.
//!
//! Follows `podtopologyspread` and `interpodaffinity` on the nodes of a view. The plugins decide; a test compares what
//! this says of a domain with what they say of its nodes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::node_selector::RequiredNodeAffinity;
use crate::api::objects::{Labels, Node, Pod, PodAffinityTerm, TaintEffect, TopologySpreadConstraint};
use crate::api::{Selector, Str};
use crate::framework::{AffinityTerm, NodeInfo, PodInfo};

use super::selectors::tolerates;

/// A domain: the nodes with one value of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainRow {
    /// The value.
    pub name: Str,
    /// How many nodes count.
    pub n_nodes: usize,
    /// How many matching pods are there.
    pub n_pods: i64,
    /// By how many it would be above the domain with the fewest if the pod came here.
    pub skew: i64,
    /// Whether the pod may come here, as far as this constraint goes.
    pub is_allowed: bool,
}

/// A constraint with its domains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadView {
    /// The label of nodes whose values are the domains.
    pub key: Str,
    /// The largest skew that is allowed.
    pub max_skew: i32,
    /// Whether it keeps pods off nodes (`DoNotSchedule`) or counts in the score alone.
    pub is_hard: bool,
    /// Which pods count.
    pub selector: String,
    /// Whether the pod itself is one of them.
    pub counts_itself: bool,
    /// How many pods the domain with the fewest has; 0 if there are fewer domains than `minDomains`.
    pub minimum: i64,
    /// `minDomains`, if there are too few.
    pub too_few_domains: Option<i32>,
    /// The domains by name.
    pub domains: Vec<DomainRow>,
    /// Nodes that have no such label, or that do not count by the policies of the constraint.
    pub n_left_out: usize,
}

/// A term of pod affinity, or of anti-affinity, its own or that of pods that run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityView {
    /// `requires`, `avoids`, `prefers`, `would rather avoid` or `is kept away`.
    pub kind: &'static str,
    /// The label of nodes whose values are the domains.
    pub key: Str,
    /// Which pods it is about.
    pub about: String,
    /// The domains that have such pods, each with how many.
    pub domains: Vec<(Str, usize)>,
    /// Whether namespaces are chosen by their labels, which are not known here.
    pub is_partly_known: bool,
}

struct Constraint<'c> {
    of: &'c TopologySpreadConstraint,
    selector: Selector,
    /// Labels that matching pods share with the pod (`matchLabelKeys`).
    own: Labels,
}

impl Constraint<'_> {
    fn matches(&self, labels: &Labels) -> bool {
        self.selector.matches(labels) && self.own.iter().all(|(key, value)| labels.get(key) == Some(value))
    }

    fn is_hard(&self) -> bool {
        self.of.when_unsatisfiable == "DoNotSchedule"
    }

    fn counts(&self, pod: &Pod, required: &RequiredNodeAffinity, node: &Node) -> bool {
        let honors = |policy: &Option<String>, default: bool| {
            policy.as_ref().map_or(default, |policy| policy == "Honor")
        };
        if honors(&self.of.node_affinity_policy, true) && !required.matches(node) {
            return false;
        }
        let repels =
            |effect: &TaintEffect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
        let is_tolerated = || {
            let mut taints = node.spec.taints.iter().filter(|taint| repels(&taint.effect));
            taints.all(|taint| pod.spec.tolerations.iter().any(|toleration| tolerates(toleration, taint)))
        };
        !honors(&self.of.node_taints_policy, false) || is_tolerated()
    }
}

/// The spread constraints of a pod on these nodes. Constraints that the profile adds are not among them.
pub fn spreads(nodes: &[Arc<NodeInfo>], pod: &Pod) -> Vec<SpreadView> {
    let parsed: Vec<Constraint<'_>> = pod
        .spec
        .topology_spread_constraints
        .iter()
        .filter_map(|of| {
            let selector = Selector::from_label_selector(of.label_selector.as_ref()).ok()?;
            let labels = &pod.metadata.labels;
            let own = of.match_label_keys.iter().filter(|_| !selector.is_nothing());
            let own = own.filter_map(|key| labels.get_key_value(key.as_str()));
            let own = own.map(|(key, value)| (key.clone(), value.clone())).collect();
            Some(Constraint { of, selector, own })
        })
        .collect();
    parsed.iter().map(|constraint| spread(nodes, pod, constraint, &parsed)).collect()
}

fn spread(
    nodes: &[Arc<NodeInfo>],
    pod: &Pod,
    constraint: &Constraint<'_>,
    all: &[Constraint<'_>],
) -> SpreadView {
    let key = constraint.of.topology_key.as_str();
    let required = RequiredNodeAffinity::of(pod);
    // A node counts that has the labels of all constraints of its kind.
    let beside: Vec<&str> = all
        .iter()
        .filter(|other| other.is_hard() == constraint.is_hard())
        .map(|other| other.of.topology_key.as_str())
        .collect();
    let mut domains: BTreeMap<Str, (usize, i64)> = BTreeMap::new();
    let mut n_left_out = 0;
    for info in nodes {
        let Some(node) = info.node() else { continue };
        let value = node.metadata.labels.get(key);
        let has_all = beside.iter().all(|key| node.metadata.labels.contains_key(*key));
        let Some(value) = value.filter(|_| has_all && constraint.counts(pod, &required, node)) else {
            n_left_out += 1;
            continue;
        };
        let is_counted = |other: &Pod| {
            other.metadata.namespace == pod.metadata.namespace
                && !other.is_terminating()
                && (!constraint.selector.is_empty() || !constraint.own.is_empty())
                && constraint.matches(&other.metadata.labels)
        };
        let n_pods = info.pods().iter().filter(|other| is_counted(&other.pod)).count();
        let (n_nodes, pods) = domains.entry(value.clone()).or_default();
        *n_nodes += 1;
        *pods += i64::try_from(n_pods).unwrap_or(i64::MAX);
    }
    let min_domains = constraint.of.min_domains.unwrap_or(1);
    let is_too_few = domains.len() < usize::try_from(min_domains).unwrap_or_default();
    let fewest = domains.values().map(|(_, pods)| *pods).min().unwrap_or_default();
    let minimum = if is_too_few { 0 } else { fewest };
    let counts_itself = constraint.matches(&pod.metadata.labels);
    let max_skew = constraint.of.max_skew;
    let domains = domains
        .into_iter()
        .map(|(name, (n_nodes, n_pods))| {
            let skew = n_pods + i64::from(counts_itself) - minimum;
            let is_allowed = !constraint.is_hard() || skew <= i64::from(max_skew);
            DomainRow { name, n_nodes, n_pods, skew, is_allowed }
        })
        .collect();
    let own = constraint.own.iter().map(|(key, value)| format!("{key}={value}"));
    let selector: Vec<String> =
        [constraint.selector.to_string()].into_iter().filter(|text| !text.is_empty()).chain(own).collect();
    SpreadView {
        key: key.into(),
        max_skew,
        is_hard: constraint.is_hard(),
        selector: selector.join(","),
        counts_itself,
        minimum,
        too_few_domains: is_too_few.then_some(min_domains),
        domains,
        n_left_out,
    }
}

/// The terms of pod affinity that concern a pod on these nodes: its own, then the anti-affinity of pods that run.
pub fn affinities(nodes: &[Arc<NodeInfo>], pod: &PodInfo) -> Vec<AffinityView> {
    let spec = pod.pod.spec.affinity.as_ref();
    let mut views = Vec::new();
    let mut add = |kind, term: &PodAffinityTerm| {
        if let Ok(parsed) = AffinityTerm::new(&pod.pod.metadata.namespace, term) {
            views.push(own_term(nodes, kind, term, &parsed));
        }
    };
    if let Some(affinity) = spec.and_then(|affinity| affinity.pod_affinity.as_ref()) {
        affinity.required.iter().for_each(|term| add("requires", term));
        affinity.preferred.iter().for_each(|term| add("prefers", &term.pod_affinity_term));
    }
    if let Some(affinity) = spec.and_then(|affinity| affinity.pod_anti_affinity.as_ref()) {
        affinity.required.iter().for_each(|term| add("avoids", term));
        affinity.preferred.iter().for_each(|term| add("would rather avoid", &term.pod_affinity_term));
    }
    views.extend(kept_away(nodes, &pod.pod));
    views
}

fn own_term(
    nodes: &[Arc<NodeInfo>],
    kind: &'static str,
    term: &PodAffinityTerm,
    parsed: &AffinityTerm,
) -> AffinityView {
    let nothing = Labels::new();
    let mut domains: BTreeMap<Str, usize> = BTreeMap::new();
    for info in nodes {
        let Some(value) = info.node().and_then(|node| node.metadata.labels.get(parsed.topology_key())) else {
            continue;
        };
        let matches = |other: &&Arc<PodInfo>| {
            let metadata = &other.pod.metadata;
            parsed.matches(&metadata.namespace, &metadata.labels, &nothing)
        };
        let n = info.pods().iter().filter(matches).count();
        if n > 0 {
            *domains.entry(value.clone()).or_default() += n;
        }
    }
    let about = Selector::from_label_selector(term.label_selector.as_ref())
        .map(|selector| selector.to_string())
        .unwrap_or_default();
    AffinityView {
        kind,
        key: parsed.topology_key().clone(),
        about: if about.is_empty() { String::from("any pod") } else { about },
        domains: domains.into_iter().collect(),
        is_partly_known: term.namespace_selector.is_some(),
    }
}

/// Where the required anti-affinity of pods that run keeps the pod away.
fn kept_away(nodes: &[Arc<NodeInfo>], pod: &Pod) -> Vec<AffinityView> {
    let nothing = Labels::new();
    let metadata = &pod.metadata;
    let mut by_key: BTreeMap<Str, (BTreeMap<Str, usize>, BTreeSet<String>)> = BTreeMap::new();
    for info in nodes {
        let Some(node) = info.node() else { continue };
        for other in info.pods().iter().filter(|other| other.uid() != pod.uid()) {
            let terms = other.affinity.iter().flat_map(|affinity| &affinity.required_anti_affinity);
            for term in terms.filter(|term| term.matches(&metadata.namespace, &metadata.labels, &nothing)) {
                let Some(value) = node.metadata.labels.get(term.topology_key()) else { continue };
                let (domains, who) = by_key.entry(term.topology_key().clone()).or_default();
                *domains.entry(value.clone()).or_default() += 1;
                who.insert(other.pod.key().to_string());
            }
        }
    }
    by_key
        .into_iter()
        .map(|(key, (domains, who))| AffinityView {
            kind: "is kept away",
            key,
            about: super::listed(&who.into_iter().collect::<Vec<_>>(), 3),
            domains: domains.into_iter().collect(),
            is_partly_known: false,
        })
        .collect()
}
