//! The rules of `extenders.yaml`: what each extender of a configuration answers.
//!
//! A call is answered by the first rule of its kind that is for the pod and not used up. What each key means stands
//! with the field; where a field is absent, nothing special is done.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::api::objects::Labels;
use crate::api::{Duration, Quantity, Str};
use crate::config::GoDuration;

/// The file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    pub extenders: Vec<Play>,
}

/// What one extender answers.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Play {
    /// What the player calls it.
    pub name: Str,
    /// Which one it is in the configuration.
    pub url_prefix: String,
    #[serde(default)]
    pub filter: Vec<Rule>,
    #[serde(default)]
    pub prioritize: Vec<Rule>,
    #[serde(default)]
    pub preempt: Vec<Rule>,
    #[serde(default)]
    pub bind: Vec<Rule>,
}

/// Has what is named, and what has all the labels; an empty one has everything.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Selection {
    pub names: Vec<String>,
    pub labels: Labels,
}

impl Selection {
    pub(super) fn has(&self, name: &str, labels: &Labels) -> bool {
        selects(&self.names, &self.labels, name, labels)
    }
}

fn selects(names: &[String], wanted: &Labels, name: &str, labels: &Labels) -> bool {
    if names.iter().any(|named| named == name) {
        return true;
    }
    if wanted.is_empty() {
        return names.is_empty();
    }
    wanted.iter().all(|(key, value)| labels.get(key) == Some(value))
}

/// How a call ends that gets no response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Fail {
    /// No answer in time.
    Timeout,
    /// No connection.
    Refused,
}

/// How the keys of an answer are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Keys {
    /// With a small letter at the beginning.
    Lower,
}

/// Which fields of an answer hold the nodes that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum AnswerKind {
    Nodes,
    NodeNames,
    Both,
    None,
}

impl AnswerKind {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Nodes => "nodes",
            Self::NodeNames => "nodeNames",
            Self::Both => "both",
            Self::None => "none",
        }
    }
}

/// A rule for any kind of call; each kind looks at its own fields.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Rule {
    /// For these pods only.
    pub pods: Option<Selection>,
    /// For so many calls, then it is passed over; 0 means for all.
    pub times: u32,
    /// How often it was used.
    #[serde(skip)]
    pub used: u32,

    /// This HTTP status without a body; 0 means none.
    pub status: u16,
    pub fail: Option<Fail>,
    /// Status 200 and this text.
    pub body: Option<String>,
    /// The answer, with its field `Error` set, where it has one.
    pub error: String,
    pub keys: Option<Keys>,

    /// Filter: for each node that was sent, the first of these that has it; a node that none has passes.
    pub reject: Vec<Rejection>,
    /// Filter: these pass too, whether they were sent or not.
    pub add: Vec<Str>,
    /// Filter: these are among the failed ones too, with the reason.
    pub add_failed: BTreeMap<Str, String>,
    /// Filter: in which form the nodes are that pass; as they were sent if it is absent.
    pub answer: Option<AnswerKind>,
    /// Filter: what is different about nodes that are given back whole.
    pub rewrite: BTreeMap<Str, Rewrite>,

    /// Prioritize: by node.
    pub scores: BTreeMap<Str, i64>,
    /// Prioritize: by a label's value, where `scores` has nothing.
    pub by_label: BTreeMap<Str, BTreeMap<Str, i64>>,
    /// Prioritize: where there is nothing else. A node without a score is not in the answer.
    pub default: Option<i64>,
    /// Prioritize: what comes after them.
    pub extra: Vec<HostScore>,

    /// Preempt: these candidates are left out.
    pub drop: Option<Selection>,
    /// Preempt: these nodes are candidates, whatever was sent.
    pub victims: BTreeMap<Str, PlayedVictims>,

    /// Bind: whether the extender binds the pod in the API. If it is absent, it does where its answer is good.
    pub binds: Option<bool>,
    /// Bind: to that node instead; the asked one if it is empty.
    pub node: String,
    /// Bind: how long it takes.
    #[serde(deserialize_with = "duration")]
    pub takes: Duration,
}

/// Why nodes do not pass.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Rejection {
    pub names: Vec<String>,
    pub labels: Labels,
    pub reason: String,
    #[serde(rename = "as")]
    pub kind: RejectionKind,
}

impl Rejection {
    pub(super) fn has(&self, name: &str, labels: &Labels) -> bool {
        selects(&self.names, &self.labels, name, labels)
    }
}

/// Where an answer names a node that does not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum RejectionKind {
    /// Among the failed ones.
    #[default]
    Failed,
    /// Among those that preemption would not help.
    Unresolvable,
    /// In both.
    Both,
    /// In neither.
    Silent,
    /// Among the failed ones, and it passes all the same.
    Listed,
}

/// What is different about a node.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Rewrite {
    pub labels: Labels,
    pub allocatable: BTreeMap<Str, Quantity>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HostScore {
    #[serde(default)]
    pub host: Str,
    #[serde(default)]
    pub score: i64,
}

/// Victims by name.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PlayedVictims {
    pub pods: Vec<String>,
    pub pdb_violations: i64,
}

/// A duration as Go writes it: `1.5s`, `1m30s`, `300ms`.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let duration = GoDuration::parse(&text).map(GoDuration::to_std);
    duration.ok_or_else(|| D::Error::custom(format_args!("{text:?} is not a duration like 1.5s")))
}
