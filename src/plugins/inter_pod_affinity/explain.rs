//! The numbers behind an answer of Filter and behind a score, for a person: nothing here decides.

use super::counts::TopologyCounts;
use super::filtering;
use super::scoring;
use crate::api::Str;
use crate::framework::{CycleState, NodeInfo, Snapshot};

/// How many pods of a kind there are in a node's domain of one topology key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodsInDomain {
    /// The topology key.
    pub key: Str,
    /// The node's domain; absent if it lacks the label.
    pub domain: Option<Str>,
    /// The number of pods, or the sum of the weights.
    pub number: i64,
    /// How many of the pod's own terms have that key; their numbers are one sum.
    pub n_terms: usize,
}

/// What the three rules of Filter see from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AffinityOnNode {
    /// For the pod's required affinity: pods that match all its terms.
    pub affinity: Vec<PodsInDomain>,
    /// Whether no pod anywhere matches and the pod matches its own terms, so that it may be the first.
    pub may_be_first: bool,
    /// For the pod's required anti-affinity: pods that match a term of it.
    pub anti_affinity: Vec<PodsInDomain>,
    /// Pods whose own anti-affinity the pod would violate.
    pub existing_anti_affinity: Vec<PodsInDomain>,
}

impl AffinityOnNode {
    /// Whether the node passes.
    pub fn is_kept(&self) -> bool {
        let has_all = self.affinity.iter().all(|pods| pods.domain.is_some() && pods.number > 0);
        let has_keys = self.affinity.iter().all(|pods| pods.domain.is_some());
        let has_none = |pods: &[PodsInDomain]| pods.iter().all(|pods| pods.number <= 0);
        (has_all || has_keys && self.may_be_first)
            && has_none(&self.anti_affinity)
            && has_none(&self.existing_anti_affinity)
    }
}

pub(super) fn in_domains(
    counts: &TopologyCounts,
    position: Option<usize>,
    n_terms: impl Fn(&str) -> usize,
) -> Vec<PodsInDomain> {
    let keys = counts.keys().map(|(domains, counts)| {
        let domain = position.and_then(|position| domains.at(position));
        PodsInDomain {
            key: domains.key().clone(),
            domain: domain.and_then(|domain| domains.values().get(domain as usize).cloned()),
            number: domain.map_or(0, |domain| counts.get(domain)),
            n_terms: n_terms(domains.key()),
        }
    });
    keys.collect()
}

/// What the rules of Filter see from a node; `None` if the plugin was skipped.
pub fn explain_affinity(state: &CycleState, snapshot: &Snapshot, node: &NodeInfo) -> Option<AffinityOnNode> {
    filtering::explain(state, snapshot.position(node.name()))
}

/// The sums of the weights in the node's domains, which add up to its raw score; `None` if the plugin was skipped.
pub fn explain_affinity_score(
    state: &CycleState,
    snapshot: &Snapshot,
    node: &NodeInfo,
) -> Option<Vec<PodsInDomain>> {
    scoring::explain(state, snapshot.position(node.name()))
}
