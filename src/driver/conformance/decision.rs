//! A decision: everything that was answered about one pod, in the order in which it is written.
//!
//! Fields that would be empty, 0 or false are left out, except those of a score.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::driver::extender::PlayedAnswer;
use crate::framework::preemption::Victims;
use crate::framework::{Code, Status};

/// What a plugin or the framework answers.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// The code.
    pub code: String,
    /// The reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Who says it, where that is not clear from the place.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub plugin: String,
}

impl DryRun {
    /// Victims that were found.
    pub(super) fn of(victims: &Victims) -> Self {
        Self {
            victims: victims.pods.iter().map(|victim| victim.pod.key().to_string()).collect(),
            pdb_violations: victims.num_pdb_violations,
            code: Code::Success.as_str().to_owned(),
            reasons: Vec::new(),
        }
    }
}

impl Answer {
    /// A status, with the plugin that it names.
    pub(super) fn of(status: &Status) -> Self {
        Self {
            code: status.code().as_str().to_owned(),
            reasons: status.reasons().to_vec(),
            plugin: status.plugin().to_owned(),
        }
    }
}

/// What a PreFilter plugin answers when it is asked alone.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PreFilterAnswer {
    /// The plugin.
    pub plugin: String,
    /// The code.
    pub code: String,
    /// The reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// The names to which it narrows the search, if it does. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
}

/// The scores that a plugin gives a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Score {
    /// The plugin.
    pub plugin: String,
    /// What Score returns.
    pub raw: i64,
    /// The same after NormalizeScore.
    pub normalized: i64,
    /// The same times the weight.
    pub weighted: i64,
}

/// What DefaultPreemption finds on a node.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DryRun {
    /// The pods that would have to go, the most important first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub victims: Vec<String>,
    /// How many of them violate a disruption budget.
    pub pdb_violations: i64,
    /// The code.
    pub code: String,
    /// The reasons.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
}

/// A call to an extender.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ExtenderCalled {
    /// The extender.
    pub extender: String,
    /// What it was asked for.
    pub verb: String,
    /// In which form.
    pub sent: String,
    /// The nodes that were sent. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// What it answered.
    pub answer: String,
}

impl ExtenderCalled {
    /// A call that was played.
    pub(super) fn of(played: PlayedAnswer) -> Self {
        Self {
            extender: played.extender.to_string(),
            verb: played.verb.as_str().to_owned(),
            sent: played.sent.to_owned(),
            nodes: played.nodes,
            answer: played.text,
        }
    }
}

/// Everything about one pod.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Decision {
    /// Namespace and name.
    pub pod: String,
    /// `schedulerName` of the pod.
    pub profile: String,
    /// No profile has that name: the pod is never queued.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_profile: bool,
    /// The verdict of the plugin that keeps the pod out of the queue.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_enqueue: Vec<Answer>,
    /// Every PreFilter plugin asked alone; only answers that are not plain Success or Skip.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_filter: Vec<PreFilterAnswer>,
    /// Node and plugin: every Filter plugin that is not skipped, asked alone; Success is left out.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub filter: BTreeMap<String, BTreeMap<String, Answer>>,
    /// Node: the first plugin that fails, with nominated pods taken into account.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub verdict: BTreeMap<String, Answer>,
    /// Plugins whose PreFilter said Skip. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_filters: Vec<String>,
    /// Plugins whose PreScore said Skip. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped_scores: Vec<String>,
    /// The scores of all feasible nodes, plugins in the profile's order.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub scores: BTreeMap<String, Vec<Score>>,
    /// Their weighted sums.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: BTreeMap<String, i64>,
    /// The nodes with the highest total. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub best: Vec<String>,
    /// How many nodes the attempt found.
    #[serde(skip_serializing_if = "is_zero")]
    pub feasible_nodes: usize,
    /// The chosen node, where there is no chance in it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub host: String,
    /// `fits`, `unschedulable`, `gated`, `ignored` or `error`.
    pub outcome: String,
    /// The text of the FailedScheduling event and of the condition.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What the pod is filed under. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unschedulable_plugins: Vec<String>,
    /// What the pod is filed under as pending. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pending_plugins: Vec<String>,
    /// The node that preemption took.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nominated_node: String,
    /// The nodes that are equal by all of preemption's rules. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nominated_tie: Vec<String>,
    /// The pods that were deleted. Sorted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evicted: Vec<String>,
    /// What DefaultPreemption finds on each node that it may try.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub preemption_by_node: BTreeMap<String, DryRun>,
    /// What extenders leave of that, where any was asked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub preemption_after_extenders: BTreeMap<String, DryRun>,
    /// Node and extender: what it adds to the total.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub extender_scores: BTreeMap<String, BTreeMap<String, i64>>,
    /// The calls to extenders of the attempt and its preemption, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extender_calls: Vec<ExtenderCalled>,
    /// Why the attempt ended, with the outcome `error`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(value: &usize) -> bool {
    *value == 0
}
