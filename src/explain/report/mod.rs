//! The explanation of a pod as a document: why it is pending or where it is, in sentences, numbers and codes.
//!
//! One model ([`Explanation`]) is made from the scheduler and written as text, Markdown or JSON. The JSON has a
//! versioned schema (`docs/explain.schema.json`); its reason codes are the closed list of [`codes`]. The words of
//! kube-scheduler v1.36 (`FitError.Error`, the plugins' reasons) stand in it to the letter.

mod build;
pub mod codes;
mod pair;
mod render;

use serde::Serialize;

pub use build::{explain, reasons};
pub use render::{Form, render};

/// The version of the JSON form.
pub const SCHEMA: &str = "schedscope.dev/explain/v1";

/// Why there is no explanation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The scheduler does not know the pod.
    #[error("there is no pod {0}")]
    NoPod(String),
    /// The scheduler does not know the node.
    #[error("there is no node {0}")]
    NoNode(String),
}

/// How a pod stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PodStatus {
    /// It is on a node, or on its way to one.
    Placed,
    /// An attempt would give it a node now.
    WouldBePlaced,
    /// No node will do.
    Pending,
    /// It is not tried: a PreEnqueue plugin holds it.
    Gated,
    /// It has a node and is held at Permit.
    WaitingAtPermit,
    /// No profile of the scheduler is responsible for it.
    Ignored,
    /// An attempt ends with an error.
    Error,
}

impl PodStatus {
    /// Whether the pod has a node or gets one by itself.
    pub const fn is_placed(self) -> bool {
        matches!(self, Self::Placed | Self::WouldBePlaced)
    }

    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::WouldBePlaced => "would be placed",
            Self::Pending => "pending",
            Self::Gated => "gated",
            Self::WaitingAtPermit => "waiting at Permit",
            Self::Ignored => "ignored",
            Self::Error => "in error",
        }
    }
}

/// Everything that is told of a pod.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The version of the form.
    pub schema: &'static str,
    /// Namespace and name.
    pub pod: String,
    /// Its `schedulerName`.
    pub profile: String,
    /// Its priority.
    pub priority: i32,
    /// What it asks for, such as `cpu 500m`.
    pub requests: Vec<String>,
    /// How it stands.
    pub status: PodStatus,
    /// The answer in a sentence.
    pub headline: String,
    /// What would move it, or when; empty where nothing is known.
    pub next: String,
    /// Whether the pod is in no cluster and only thought of.
    pub is_hypothetical: bool,
    /// The node that it is on, where it is on one. All below is told as if it were not there and had to find a place
    /// now; what decided then may have been something else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned_to: Option<String>,
    /// Where it is in the scheduling queue, if it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueReport>,
    /// What an attempt would come to now. Absent without a profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<AttemptReport>,
    /// Why nodes are refused, as the FailedScheduling event counts it: for each node the first plugin that does.
    pub reasons: Vec<ReasonCount>,
    /// What PreFilter plugins answered that was not a plain yes.
    pub pre_filter: Vec<PreFilterReport>,
    /// By plugin how many nodes it refuses, whatever others say.
    pub refusers: Vec<RefuserReport>,
    /// The nodes that exactly one plugin refuses, those where the least is missing first.
    pub one_change_away: Vec<OneChangeReport>,
    /// Why this node and no other, where one would be chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<ChoiceReport>,
    /// What stands between the pod and the node that was asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<AgainstReport>,
    /// Whom preemption would cost, or why it does not help. Absent where it is not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<PreemptionReport>,
    /// The gang in a sentence, if the pod is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gang: Option<String>,
    /// Each node.
    pub nodes: Vec<NodeReport>,
    /// What the reader ought to know of how this was found.
    pub notes: Vec<String>,
}

/// Where a pod is in the scheduling queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueReport {
    /// `activeQ`, `backoffQ`, `unschedulablePods`, `inFlight`, `waitingAtPermit` or `binding`.
    pub place: &'static str,
    /// Attempts so far.
    pub attempts: u32,
    /// For how many seconds it has been there.
    pub seconds: f64,
    /// Seconds until its backoff ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff_seconds_left: Option<f64>,
    /// The PreEnqueue plugin that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gated_by: Option<String>,
    /// The plugins that turned it down last.
    pub rejected_by: Vec<String>,
    /// The plugins that hold it at Permit, or answered Pending.
    pub pending_plugins: Vec<String>,
    /// The node that it is nominated to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nominated_node: Option<String>,
    /// What its last attempt said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_message: Option<String>,
}

/// What an attempt would come to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AttemptReport {
    /// `fits`, `unschedulable` or `error`.
    pub outcome: &'static str,
    /// The text of the FailedScheduling event, or of the error; empty where it fits.
    pub message: String,
    /// How many nodes there are.
    pub nodes: usize,
    /// How many of them pass every filter.
    pub feasible: usize,
}

/// How often a reason was given.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReasonCount {
    /// One of [`codes::CODES`].
    pub code: &'static str,
    /// The plugin; empty where an extender or nobody is named.
    pub plugin: String,
    /// Its words.
    pub reason: String,
    /// How many nodes.
    pub nodes: usize,
    /// Whether evicting pods may help there (the answer was Unschedulable).
    pub preemption_may_help: bool,
    /// The first of these nodes.
    pub examples: Vec<String>,
}

/// What a PreFilter plugin answered.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreFilterReport {
    /// The plugin.
    pub plugin: &'static str,
    /// The code of its answer, as upstream spells it.
    pub code: &'static str,
    /// One of [`codes::CODES`]; absent where it only narrows the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason_code: Option<&'static str>,
    /// What it said.
    pub message: String,
    /// The nodes to which it narrows the search.
    pub nodes: Vec<String>,
}

/// How often a plugin refuses.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefuserReport {
    /// The plugin.
    pub plugin: &'static str,
    /// How many nodes it refuses.
    pub nodes: usize,
    /// How many of them nobody else refuses.
    pub alone: usize,
    /// Its most frequent reason.
    pub reason: String,
}

/// A node that one change away fits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OneChangeReport {
    /// The node.
    pub node: String,
    /// The plugin.
    pub plugin: &'static str,
    /// One of [`codes::CODES`], of its first reason.
    pub code: &'static str,
    /// What is missing, in a few words.
    pub what: String,
    /// What the plugin's rule finds there, in sentences; only for the first nodes of the list.
    pub why: String,
    /// The resources that fall short.
    pub shortfalls: Vec<Shortfall>,
}

/// A resource of which a node has too little.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shortfall {
    /// The resource; `pods` is the number of pods.
    pub resource: String,
    /// What the pod asks for: millicores of cpu, bytes, or a count.
    pub requested: i64,
    /// What is not asked for by others.
    pub free: i64,
    /// What the node has in all.
    pub allocatable: i64,
    /// What is missing.
    pub short: i64,
}

/// Why a node was chosen.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChoiceReport {
    /// The node.
    pub node: String,
    /// `onlyFeasible`, `nominated`, `batchHint`, `highestTotal` or `tie`.
    pub by: &'static str,
    /// The same in a sentence.
    pub sentence: String,
    /// Its total, where nodes were scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// All nodes with the highest total, where several share it: chance decides among them.
    pub ties: Vec<String>,
    /// The best node below the highest total.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runner_up: Option<String>,
    /// The plugin that sets the two furthest apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive: Option<&'static str>,
    /// The points of the chosen node and of the runner-up.
    pub points: Vec<PairPoints>,
    /// The best nodes by their totals, the chosen one first.
    pub ranking: Vec<Ranked>,
}

/// A node and its total.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ranked {
    /// The node.
    pub node: String,
    /// Its total.
    pub total: i64,
}

/// What a Score plugin gives two nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PairPoints {
    /// The plugin, or an extender.
    pub plugin: String,
    /// Its weight; 1 for an extender, whose points are weighted already.
    pub weight: i64,
    /// The one node.
    pub first: Points,
    /// The other.
    pub second: Points,
    /// By how many weighted points the first is ahead.
    pub difference: i64,
}

/// The score of a node by a plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Points {
    /// What Score returned.
    pub raw: i64,
    /// The same after NormalizeScore, from 0 to 100.
    pub normalized: i64,
    /// The same times the weight.
    pub weighted: i64,
}

/// What stands between a pod and a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgainstReport {
    /// The node.
    pub node: String,
    /// `chosen`, `tie`, `behind`, `refused` or `notScored`.
    pub verdict: &'static str,
    /// The answer in a sentence.
    pub headline: String,
    /// How it comes about.
    pub lines: Vec<String>,
    /// Every plugin that refuses it.
    pub refusals: Vec<RefusalReport>,
    /// The node that it is compared with by points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared_with: Option<String>,
    /// The totals of that one and of this one; of a refused node, as if nobody refused it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<[i64; 2]>,
    /// The plugin that sets the two furthest apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decisive: Option<&'static str>,
    /// The points of the two, the one that it is compared with first.
    pub points: Vec<PairPoints>,
}

/// A plugin's no.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RefusalReport {
    /// The plugin.
    pub plugin: String,
    /// The code of its answer, as upstream spells it.
    pub status: &'static str,
    /// One of [`codes::CODES`] for each of its reasons.
    pub codes: Vec<&'static str>,
    /// Its words.
    pub reasons: Vec<String>,
    /// What its rule finds, in sentences; empty in the list of all nodes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The numbers that lead to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arithmetic: Vec<String>,
    /// Whether it says so only beside the more important pods that are nominated to the node.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_for_nominated: bool,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeReport {
    /// Its name.
    pub node: String,
    /// `feasible`, `refused`, `excluded` (by PreFilter) or `notEvaluated`.
    pub verdict: &'static str,
    /// Its total, where it was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
    /// The plugin that an attempt hears of first; absent where the node is not refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused_by: Option<RefusalReport>,
    /// Every plugin that refuses it, each asked whatever the others say.
    pub all_refusals: Vec<RefusalReport>,
}

/// What preemption comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PreemptionReport {
    /// `wouldPreempt`, `noCandidates`, `notEligible`, `notInProfile` or `failed`.
    pub outcome: &'static str,
    /// The answer in a sentence.
    pub sentence: String,
    /// What the plugin adds to the FailedScheduling message.
    pub message: String,
    /// The node that the pod would be nominated to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The pods that would have to go from there, the most important first.
    pub victims: Vec<VictimReport>,
    /// How many of them go against disruption budgets.
    pub budget_violations: i64,
    /// The rule that chose among several nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub criterion: Option<&'static str>,
    /// The nodes where it would help, with how many pods each would cost.
    pub candidates: Vec<CandidateReport>,
    /// Why it does not help, with how many nodes.
    pub no_help: Vec<NoHelp>,
}

/// A pod that would be evicted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VictimReport {
    /// Namespace and name.
    pub pod: String,
    /// Its priority.
    pub priority: i32,
}

/// A node where preemption would help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CandidateReport {
    /// The node.
    pub node: String,
    /// How many pods would go.
    pub victims: usize,
    /// How many of them against disruption budgets.
    pub budget_violations: i64,
}

/// A reason why preemption does not help.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NoHelp {
    /// The reason.
    pub reason: String,
    /// On how many nodes that were tried.
    pub nodes: usize,
}
