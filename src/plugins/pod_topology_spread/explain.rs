//! The numbers behind an answer of Filter and behind a score, for a person: nothing here decides.

use super::filtering;
use super::scoring;
use crate::api::Str;
use crate::framework::{CycleState, NodeInfo, Snapshot};

/// How the pods that one constraint speaks of are spread, as Filter sees it from a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpreadOnNode {
    /// The topology key.
    pub key: Str,
    /// `maxSkew`.
    pub max_skew: i32,
    /// `minDomains`; at least 1.
    pub min_domains: i32,
    /// The node's domain; absent if it lacks the label.
    pub domain: Option<Str>,
    /// Matching pods in that domain.
    pub n_pods: i64,
    /// 1 if the pod matches its own selector.
    pub own: i64,
    /// What the fewest are that a domain has, 0 where there are too few domains.
    pub fewest: i64,
    /// The domain that has the fewest, if there are domains enough.
    pub fewest_in: Option<Str>,
    /// How many domains count.
    pub n_domains: usize,
    /// Every domain that has matching pods, with their number.
    pub domains: Vec<(Str, i64)>,
}

impl SpreadOnNode {
    /// By how many matching pods the node's domain would be above the fewest, with the pod on it.
    pub const fn skew(&self) -> i64 {
        self.n_pods.saturating_add(self.own).saturating_sub(self.fewest)
    }

    /// Whether the constraint admits the node.
    pub fn is_kept(&self) -> bool {
        self.domain.is_some() && self.skew() <= i64::from(self.max_skew)
    }
}

/// What one constraint adds to a node's score.
#[derive(Clone, Debug, PartialEq)]
pub struct SpreadScore {
    /// The topology key.
    pub key: Str,
    /// The node's domain; absent if it lacks the label, so that the constraint adds nothing.
    pub domain: Option<Str>,
    /// Matching pods in that domain.
    pub n_pods: i64,
    /// What each of them counts: the logarithm of the number of domains and two.
    pub weight: f64,
    /// `maxSkew`.
    pub max_skew: i32,
    /// What it adds to the raw score.
    pub points: f64,
}

/// How each `DoNotSchedule` constraint sees a node; `None` if the plugin was skipped.
pub fn explain_spread(state: &CycleState, snapshot: &Snapshot, node: &NodeInfo) -> Option<Vec<SpreadOnNode>> {
    filtering::explain(state, snapshot, node)
}

/// What each `ScheduleAnyway` constraint adds to the score of a node; `None` if the plugin was skipped, or if the node
/// gets no score because it lacks a key.
pub fn explain_spread_score(
    state: &CycleState,
    snapshot: &Snapshot,
    node: &NodeInfo,
) -> Option<Vec<SpreadScore>> {
    scoring::explain(state, snapshot, node)
}
