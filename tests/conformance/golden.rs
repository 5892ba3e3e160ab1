//! A golden decision. The fields are those of `data/README.md`; ours are computed in the same form.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What a plugin or the framework answers.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub code: String,
    pub reasons: Vec<String>,
    pub plugin: String,
}

impl Answer {
    /// The same with the reasons in the order in which they are compared.
    pub fn sorted(mut self) -> Self {
        self.reasons.sort();
        self
    }
}

/// What a PreFilter plugin answers when it is asked alone.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct PreFilterAnswer {
    pub plugin: String,
    pub code: String,
    pub reasons: Vec<String>,
    pub nodes: Vec<String>,
}

/// The scores that a plugin gives a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
pub struct Score {
    pub plugin: String,
    pub raw: i64,
    pub normalized: i64,
    pub weighted: i64,
}

/// What DefaultPreemption finds on a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DryRun {
    pub victims: Vec<String>,
    pub pdb_violations: i64,
    pub code: String,
    pub reasons: Vec<String>,
}

/// A decision about one pod.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Decision {
    pub pod: String,
    pub profile: String,
    pub no_profile: bool,
    pub pre_enqueue: Vec<Answer>,
    pub pre_filter: Vec<PreFilterAnswer>,
    pub filter: BTreeMap<String, BTreeMap<String, Answer>>,
    pub verdict: BTreeMap<String, Answer>,
    pub skipped_filters: Vec<String>,
    pub skipped_scores: Vec<String>,
    pub scores: BTreeMap<String, Vec<Score>>,
    pub totals: BTreeMap<String, i64>,
    pub best: Vec<String>,
    pub feasible_nodes: usize,
    pub host: String,
    pub outcome: String,
    pub message: String,
    pub unschedulable_plugins: Vec<String>,
    pub pending_plugins: Vec<String>,
    pub preemption_by_node: BTreeMap<String, DryRun>,
    pub nominated_tie: Vec<String>,
    pub nominated_node: String,
    pub evicted: Vec<String>,
    pub error: String,
}
