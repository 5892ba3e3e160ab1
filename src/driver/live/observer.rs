//! What the embedded scheduler would have done beside what the cluster's own scheduler did.
//!
//! Each prediction is kept until the cluster decides about the pod, and is then compared. Where the two differ, the
//! pod is looked at again on the cluster as it was just before the other decision, on all nodes: that tells chance
//! (equal totals), timing (the same rule on another state), sampling (`percentageOfNodesToScore`) and a real difference
//! apart, and names the plugin and the scores of the latter.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Str, Time, Uid};
use crate::scheduler::trace::{CycleOutcome, CycleTrace, NodeVerdict};

/// How many comparisons are kept to be looked at.
const COMPARISONS_KEPT: usize = 1_000;
/// How many plugins are named.
const PLUGINS_NAMED: usize = 3;

/// What a scheduler has decided about a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes to that node.
    Node(Str),
    /// It fits nowhere.
    Unschedulable(Str),
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => f.write_str(node),
            Self::Unschedulable(_) => f.write_str("unschedulable"),
        }
    }
}

/// How two decisions relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    /// They are the same.
    Same,
    /// Both nodes have the highest total, so chance decides.
    Tie,
    /// On the state that the cluster's scheduler decided on, this one decides the same.
    Timing,
    /// The cluster's scheduler need not have looked at the better node (`percentageOfNodesToScore`).
    Sampling,
    /// This scheduler had not come to the pod yet; on that state it decides the same.
    Untried,
    /// They differ, and none of the above explains it.
    Different,
}

impl Agreement {
    /// Every one of them.
    pub const ALL: [Self; 6] =
        [Self::Same, Self::Tie, Self::Timing, Self::Sampling, Self::Untried, Self::Different];

    /// In one word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Tie => "tie",
            Self::Timing => "timing",
            Self::Sampling => "sampling",
            Self::Untried => "untried",
            Self::Different => "different",
        }
    }
}

/// One pod, two decisions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// Comparisons are numbered from 1.
    pub number: u64,
    /// When the cluster's decision was seen.
    pub at: Time,
    /// The pod.
    pub pod: NamespacedName,
    /// What this scheduler would have done, if it had come to it.
    pub ours: Option<Decision>,
    /// What the cluster's scheduler has done.
    pub theirs: Decision,
    /// How they relate.
    pub agreement: Agreement,
    /// Why, in one sentence.
    pub why: Str,
}

/// What this scheduler would do with a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Prediction {
    pod: NamespacedName,
    decision: Decision,
    at: Time,
}

/// Two decisions that are not the same, before it is known why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The pod.
    pub pod: NamespacedName,
    /// What this scheduler would have done, if it had come to it.
    pub ours: Option<Decision>,
    /// What the cluster's scheduler has done.
    pub theirs: Decision,
    /// When that was seen.
    pub at: Time,
}

/// All predictions and what came of them.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    predictions: BTreeMap<Uid, Prediction>,
    /// What the cluster's scheduler last said of pods that it cannot place, so that each word is compared once.
    said: BTreeMap<Uid, Decision>,
    comparisons: VecDeque<Comparison>,
    counts: BTreeMap<Agreement, u64>,
    n_forgotten: u64,
}

impl Observer {
    /// This scheduler has decided about a pod.
    pub fn predict(&mut self, pod: &Pod, decision: Decision, at: Time) {
        let prediction = Prediction { pod: pod.key(), decision, at };
        self.predictions.insert(pod.uid().clone(), prediction);
    }

    /// The pod is gone, and nobody has decided about it.
    pub fn forget(&mut self, uid: &Uid) {
        self.predictions.remove(uid);
        self.said.remove(uid);
    }

    /// What this scheduler would do with the pod, and since when.
    pub fn prediction(&self, uid: &Uid) -> Option<(&Decision, Time)> {
        self.predictions.get(uid).map(|prediction| (&prediction.decision, prediction.at))
    }

    /// The predictions that the cluster has not answered, by pod.
    pub fn open(&self, now: Time) -> impl Iterator<Item = (&NamespacedName, &Decision, Duration)> {
        self.predictions.values().map(move |open| (&open.pod, &open.decision, now - open.at))
    }

    /// The cluster's scheduler has decided about a pod. The answer is what is still to be explained: nothing if both
    /// agree, or if this word was compared already.
    pub fn observe(&mut self, pod: &Pod, theirs: Decision, at: Time) -> Option<Case> {
        let uid = pod.uid();
        if self.said.get(uid) == Some(&theirs) {
            return None;
        }
        let ours = match &theirs {
            Decision::Node(_) => {
                self.said.remove(uid);
                self.predictions.remove(uid).map(|prediction| prediction.decision)
            }
            Decision::Unschedulable(_) => {
                self.said.insert(uid.clone(), theirs.clone());
                self.predictions.get(uid).map(|prediction| prediction.decision.clone())
            }
        };
        let is_same = match (&ours, &theirs) {
            (Some(Decision::Node(ours)), Decision::Node(theirs)) => ours == theirs,
            (Some(Decision::Unschedulable(_)), Decision::Unschedulable(_)) => true,
            _ => false,
        };
        let case = Case { pod: pod.key(), ours, theirs, at };
        if is_same {
            self.record(case, Agreement::Same, String::new());
            return None;
        }
        Some(case)
    }

    /// Keeps how two decisions relate.
    pub fn record(&mut self, case: Case, agreement: Agreement, why: String) {
        *self.counts.entry(agreement).or_default() += 1;
        if self.comparisons.len() == COMPARISONS_KEPT {
            self.comparisons.pop_front();
            self.n_forgotten += 1;
        }
        let Case { pod, ours, theirs, at } = case;
        let number = self.counts.values().sum();
        self.comparisons.push_back(Comparison { number, at, pod, ours, theirs, agreement, why: why.into() });
    }

    /// The comparisons that are kept, the newest last.
    pub fn comparisons(&self) -> impl DoubleEndedIterator<Item = &Comparison> {
        self.comparisons.iter()
    }

    /// How many comparisons came to what.
    pub fn count(&self, agreement: Agreement) -> u64 {
        self.counts.get(&agreement).copied().unwrap_or_default()
    }

    /// How many comparisons are not kept any more.
    pub const fn n_forgotten(&self) -> u64 {
        self.n_forgotten
    }

    /// Of the decisions that both have made, how many are the same or explained by chance, timing or sampling, in
    /// percent. Absent before the first one.
    pub fn rate(&self) -> Option<f64> {
        let n: u64 = self.counts.values().sum();
        let different = self.count(Agreement::Different);
        #[expect(clippy::cast_precision_loss, reason = "a percentage for people")]
        (n > 0).then(|| (n - different) as f64 * 100.0 / n as f64)
    }
}

/// Why two decisions differ, by a look at the pod on the state that theirs was made on.
pub(super) fn explain(
    ours: Option<&Decision>,
    theirs: &Decision,
    trace: Option<&CycleTrace>,
) -> (Agreement, String) {
    let Some(trace) = trace else {
        return (Agreement::Different, "the pod could not be looked at again".to_owned());
    };
    let had_tried = ours.is_some();
    let later = if had_tried { Agreement::Timing } else { Agreement::Untried };
    let same_rule = |what: &str| {
        let why = if had_tried {
            format!("on the cluster's state at that moment this scheduler {what} as well")
        } else {
            format!("this scheduler had not come to the pod; it {what} as well")
        };
        (later, why)
    };
    match (&trace.outcome, theirs) {
        (CycleOutcome::Unschedulable { .. }, Decision::Unschedulable(_)) => same_rule("finds no node"),
        (CycleOutcome::Unschedulable { message, .. }, Decision::Node(node)) => {
            let why = rejection(trace, node).unwrap_or_else(|| message.clone());
            (Agreement::Different, format!("{node} does not do: {why}"))
        }
        (_, Decision::Unschedulable(message)) => {
            let host =
                trace.selection.as_ref().map_or_else(|| "some node".into(), |choice| choice.host.clone());
            (Agreement::Different, format!("{host} would do; the cluster's scheduler says: {message}"))
        }
        (_, Decision::Node(node)) => explain_node(ours, node, trace, same_rule),
    }
}

fn explain_node(
    ours: Option<&Decision>,
    theirs: &Str,
    trace: &CycleTrace,
    same_rule: impl Fn(&str) -> (Agreement, String),
) -> (Agreement, String) {
    let Some(selection) = &trace.selection else {
        return (Agreement::Different, "no node was chosen in the second look".to_owned());
    };
    if selection.host == *theirs && selection.ties.len() <= 1 {
        return same_rule(&format!("chooses {theirs}"));
    }
    if selection.ties.contains(theirs) {
        let n = selection.ties.len();
        let is_ours_among = matches!(ours, Some(Decision::Node(ours)) if selection.ties.contains(ours));
        return match ours {
            Some(_) if !is_ours_among => same_rule(&format!("has {theirs} among the best {n}")),
            _ => (Agreement::Tie, format!("{n} nodes share the highest total, {theirs} among them")),
        };
    }
    if let Some(why) = rejection(trace, theirs) {
        return (Agreement::Different, format!("{theirs} does not do: {why}"));
    }
    let Some(margin) = Margin::between(trace, &selection.host, theirs) else {
        return (Agreement::Different, format!("{theirs} was not scored"));
    };
    let is_sampled = trace.filter.as_ref().is_some_and(|filter| filter.n_feasible() > SAMPLED_FROM);
    if is_sampled {
        return (Agreement::Sampling, format!("{margin}, but not every node need have been looked at"));
    }
    (Agreement::Different, margin.to_string())
}

/// With fewer feasible nodes than this every scheduler finds them all.
const SAMPLED_FROM: usize = 100;

fn rejection(trace: &CycleTrace, node: &Str) -> Option<String> {
    let position = trace.snapshot.position(node)?;
    match trace.filter.as_ref()?.verdicts.get(position)? {
        NodeVerdict::Rejected(status) => Some(format!("{}: {}", status.plugin(), status.message())),
        NodeVerdict::Excluded => Some("PreFilter leaves it out".to_owned()),
        NodeVerdict::Feasible | NodeVerdict::NotEvaluated => None,
    }
}

/// By what one node leads another.
struct Margin {
    leader: Str,
    other: Str,
    total: i64,
    /// The plugins that make the difference, the greatest first.
    by_plugin: Vec<(&'static str, i64)>,
}

impl Margin {
    fn between(trace: &CycleTrace, leader: &Str, other: &Str) -> Option<Self> {
        let score = trace.score.as_ref()?;
        let position = |name: &Str| score.nodes.iter().position(|node| node == name);
        let (a, b) = (position(leader)?, position(other)?);
        let at = |scores: &[i64], position: usize| scores.get(position).copied();
        let total = at(&score.scores.totals, a)? - at(&score.scores.totals, b)?;
        let mut by_plugin: Vec<(&'static str, i64)> = score
            .scores
            .plugins
            .iter()
            .filter_map(|plugin| {
                Some((
                    plugin.plugin,
                    plugin.weight * (at(&plugin.normalized, a)? - at(&plugin.normalized, b)?),
                ))
            })
            .filter(|(_, difference)| *difference != 0)
            .collect();
        by_plugin.sort_by_key(|(plugin, difference)| (-difference.abs(), *plugin));
        Some(Self { leader: leader.clone(), other: other.clone(), total, by_plugin })
    }
}

impl fmt::Display for Margin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} leads {} by {}", self.leader, self.other, self.total)?;
        for (i, (plugin, difference)) in self.by_plugin.iter().take(PLUGINS_NAMED).enumerate() {
            write!(f, "{} {plugin} {difference:+}", if i == 0 { ":" } else { "," })?;
        }
        Ok(())
    }
}
