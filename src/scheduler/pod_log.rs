//! What the scheduler remembers of each pod, for people: how its attempts ended node by node, and what became of the
//! events since the last one.
//!
//! An output, as a trace is: kept only while traces are, read back by nothing, and no part of the digest. Everything is
//! bounded: attempts and moves per pod, pods that are bound, and the verdicts of all pods together.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::{NamespacedName, Str, Time};
use crate::framework::{ClusterEvent, Status};
use crate::queue::{HintAnswer, PoppedFrom, QueueMove, QueueName, QueueingStrategy};

use super::trace::{CycleOutcome, CycleTrace, FilterTrace, NodeVerdict};

/// Attempts kept for each pod.
const ATTEMPTS_MAX: usize = 12;
/// Moves kept for each pod.
const MOVES_MAX: usize = 24;
/// Pods whose log is kept after they are bound.
const BOUND_MAX: usize = 1_000;
/// Bytes of verdicts of all pods together; the oldest go first.
const VERDICT_BYTES_MAX: usize = 16 << 20;
/// Kinds of verdicts that are told apart in an attempt.
const CLASSES_MAX: usize = 250;

/// What the scheduler remembers of a pod.
#[derive(Clone, Debug, Default)]
pub struct PodLog {
    /// Its attempts that are over, the oldest first.
    pub attempts: VecDeque<Arc<Attempt>>,
    /// How many older attempts are no longer there.
    pub n_older_attempts: u64,
    /// What brought about the attempt that is under way, if one is.
    pub under_way: Option<Wake>,
    /// What the queue did with it since its last attempt began, the oldest first.
    pub moves: VecDeque<PodMove>,
    /// How many older moves are no longer there.
    pub n_older_moves: u64,
}

/// Something that the queue did with the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodMove {
    /// When; if it was several times, the last time.
    pub at: Time,
    /// How often in a row an event was judged alike; `entry` has the last one.
    pub times: u64,
    /// What it was.
    pub entry: QueueMove,
}

/// What brought about an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wake {
    /// When the pod was put where it was popped from, or into backoffQ before that.
    pub at: Time,
    /// The event; `ScheduleAttemptFailure` if the pod was to be retried in any case.
    pub event: ClusterEvent,
    /// The object that the event was about, where the event was judged.
    pub object: Option<NamespacedName>,
    /// What the plugins that had turned the pod down answered to it.
    pub answers: Vec<HintAnswer>,
}

/// An attempt that is over.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// Its number among all attempts.
    pub number: u64,
    /// When it began.
    pub started: Time,
    /// How often the pod had been tried, this time included.
    pub attempt: u32,
    /// Where the pod was popped from.
    pub popped_from: PoppedFrom,
    /// What brought it about; absent if that is no longer known.
    pub woken_by: Option<Wake>,
    /// How it ended.
    pub outcome: CycleOutcome,
    /// What Filter concluded; absent if it did not come to that, or if that is no longer known.
    pub verdicts: Option<NodeVerdicts>,
}

/// What Filter concluded for each node, in little room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeVerdicts {
    /// The nodes in the order of the attempt.
    pub nodes: Arc<[Str]>,
    /// The different verdicts.
    pub classes: Arc<[VerdictClass]>,
    /// For each node the place of its verdict in `classes`.
    of_node: Arc<[u8]>,
}

/// A verdict that several nodes can share.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VerdictClass {
    /// Every plugin agreed.
    Feasible,
    /// A plugin or an extender refused.
    Rejected {
        /// Which one.
        plugin: Str,
        /// Its reasons.
        reason: Str,
    },
    /// PreFilter had left the node out.
    Excluded,
    /// The search ended before it came to the node.
    NotEvaluated,
    /// One of very many verdicts, which are not told apart.
    Other,
}

/// Where a verdict stands among the different ones.
fn place_of(classes: &mut Vec<VerdictClass>, class: VerdictClass) -> usize {
    if let Some(at) = classes.iter().position(|known| *known == class) {
        return at;
    }
    match classes.len() {
        CLASSES_MAX => classes.push(VerdictClass::Other),
        n if n < CLASSES_MAX => classes.push(class),
        _ => {}
    }
    classes.len() - 1
}

impl VerdictClass {
    fn of(verdict: &NodeVerdict) -> Self {
        match verdict {
            NodeVerdict::Feasible => Self::Feasible,
            NodeVerdict::Rejected(status) => Self::rejected(status),
            NodeVerdict::Excluded => Self::Excluded,
            NodeVerdict::NotEvaluated => Self::NotEvaluated,
        }
    }

    fn rejected(status: &Status) -> Self {
        Self::Rejected { plugin: status.plugin().into(), reason: status.message().into() }
    }
}

impl NodeVerdicts {
    /// From the evidence of an attempt.
    pub fn new(nodes: Arc<[Str]>, filter: &FilterTrace) -> Self {
        let mut classes: Vec<VerdictClass> = Vec::new();
        // Many nodes share a verdict: its text is made once.
        let mut seen: Vec<(&NodeVerdict, usize)> = Vec::new();
        let of_node = nodes.iter().zip(&filter.verdicts).map(|(node, verdict)| {
            let by_extender = match verdict {
                NodeVerdict::Feasible => filter.by_extenders.get(node),
                _ => None,
            };
            let known = seen.iter().find(|(seen, _)| *seen == verdict).map(|(_, at)| *at);
            let at = match (by_extender, known) {
                (Some(status), _) => place_of(&mut classes, VerdictClass::rejected(status)),
                (None, Some(at)) => at,
                (None, None) => {
                    let at = place_of(&mut classes, VerdictClass::of(verdict));
                    seen.push((verdict, at));
                    at
                }
            };
            u8::try_from(at).unwrap_or(u8::MAX)
        });
        let of_node = of_node.collect();
        Self { nodes, classes: classes.into(), of_node }
    }

    /// The nodes with their verdicts, in the order of the attempt.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, &VerdictClass)> {
        let classes = self.of_node.iter().map(|at| self.classes.get(usize::from(*at)));
        self.nodes.iter().zip(classes).filter_map(|(node, class)| Some((node, class?)))
    }

    /// The verdict of the node at that place of `nodes`.
    pub fn at(&self, place: usize) -> Option<&VerdictClass> {
        self.classes.get(usize::from(*self.of_node.get(place)?))
    }

    /// How many nodes have each verdict, the most frequent first.
    pub fn counts(&self) -> Vec<(&VerdictClass, usize)> {
        let mut counts = vec![0_usize; self.classes.len()];
        for at in self.of_node.iter() {
            if let Some(count) = counts.get_mut(usize::from(*at)) {
                *count += 1;
            }
        }
        let mut all: Vec<_> = self.classes.iter().zip(counts).filter(|(_, count)| *count > 0).collect();
        all.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
        all
    }
}

/// The logs of all pods.
#[derive(Clone, Debug, Default)]
pub(super) struct PodLogs {
    pub logs: Arc<BTreeMap<NamespacedName, Arc<PodLog>>>,
    /// Bound pods, those bound first in front.
    bound: VecDeque<NamespacedName>,
    /// The nodes of the last attempt; mostly those of the next one, too.
    nodes: Option<Arc<[Str]>>,
    /// Verdicts that are kept, the oldest in front: of which attempt of which pod, and how many bytes.
    verdicts: VecDeque<(NamespacedName, u64, usize)>,
    n_verdict_bytes: usize,
}

impl PodLogs {
    fn log_mut(&mut self, pod: &NamespacedName) -> &mut PodLog {
        Arc::make_mut(Arc::make_mut(&mut self.logs).entry(pod.clone()).or_default())
    }

    /// The queue has done something with a pod.
    pub fn add_move(&mut self, at: Time, pod: &NamespacedName, entry: &QueueMove) {
        let log = self.log_mut(pod);
        if let Some(last) = log.moves.back_mut()
            && is_judged_alike(&last.entry, entry)
        {
            *last = PodMove { at, times: last.times + 1, entry: entry.clone() };
            return;
        }
        log.moves.push_back(PodMove { at, times: 1, entry: entry.clone() });
        if log.moves.len() > MOVES_MAX {
            log.n_older_moves += log.moves.pop_front().map_or(0, |dropped| dropped.times);
        }
    }

    /// An attempt for a pod begins.
    pub fn begin_attempt(&mut self, pod: &NamespacedName) {
        let log = self.log_mut(pod);
        log.under_way = wake(&log.moves);
        log.moves.clear();
        log.n_older_moves = 0;
    }

    /// An attempt is over. Nothing is kept for a pod that is gone.
    pub fn end_attempt(&mut self, trace: &CycleTrace) {
        let pod = trace.pod_key();
        if !self.logs.contains_key(&pod) {
            return;
        }
        let verdicts = trace.filter.as_ref().map(|filter| NodeVerdicts::new(self.nodes_of(trace), filter));
        let woken_by = self.log_mut(&pod).under_way.take();
        let attempt = Attempt {
            number: trace.number,
            started: trace.started,
            attempt: trace.attempt,
            popped_from: trace.popped_from,
            woken_by,
            outcome: trace.outcome.clone(),
            verdicts,
        };
        self.keep(&pod, attempt);
        if matches!(trace.outcome, CycleOutcome::Bound { .. }) {
            self.log_mut(&pod).moves.clear();
            self.keep_bound(pod);
        }
    }

    fn keep(&mut self, pod: &NamespacedName, mut attempt: Attempt) {
        let number = attempt.number;
        // What is shared counts for each attempt: less is kept than could be, never more.
        let n_bytes = attempt.verdicts.as_ref().map_or(0, |verdicts| verdicts.of_node.len());
        let log = self.log_mut(pod);
        let last = log.attempts.back().and_then(|last| last.verdicts.as_ref());
        if let Some(last) = last.filter(|last| attempt.verdicts.as_ref() == Some(*last)) {
            attempt.verdicts = Some(last.clone());
        }
        log.attempts.push_back(Arc::new(attempt));
        if log.attempts.len() > ATTEMPTS_MAX {
            log.attempts.pop_front();
            log.n_older_attempts += 1;
        }
        self.verdicts.push_back((pod.clone(), number, n_bytes));
        self.n_verdict_bytes += n_bytes;
        self.drop_old_verdicts();
    }

    /// A pod is gone.
    pub fn forget(&mut self, pod: &NamespacedName) {
        if self.logs.contains_key(pod) {
            Arc::make_mut(&mut self.logs).remove(pod);
        }
    }

    fn nodes_of(&mut self, trace: &CycleTrace) -> Arc<[Str]> {
        let names = || trace.nodes().iter().map(|node| node.name());
        let nodes = self.nodes.take().filter(|nodes| nodes.iter().eq(names()));
        let nodes = nodes.unwrap_or_else(|| names().cloned().collect());
        self.nodes = Some(Arc::clone(&nodes));
        nodes
    }

    fn keep_bound(&mut self, pod: NamespacedName) {
        self.bound.push_back(pod);
        if self.bound.len() <= BOUND_MAX {
            return;
        }
        let Some(oldest) = self.bound.pop_front() else { return };
        // A pod of that name may be waiting again.
        let is_bound = |log: &Arc<PodLog>| {
            let last = log.attempts.back();
            log.moves.is_empty()
                && last.is_some_and(|last| matches!(last.outcome, CycleOutcome::Bound { .. }))
        };
        if self.logs.get(&oldest).is_some_and(is_bound) {
            self.forget(&oldest);
        }
    }

    fn drop_old_verdicts(&mut self) {
        // Of pods that are gone and of attempts that were let go nothing is left to drop.
        if self.verdicts.len() > 2 * ATTEMPTS_MAX * self.logs.len() {
            let logs = Arc::clone(&self.logs);
            let is_kept = |pod: &NamespacedName, number: u64| {
                logs.get(pod).is_some_and(|log| log.attempts.iter().any(|attempt| attempt.number == number))
            };
            self.verdicts.retain(|(pod, number, _)| is_kept(pod, *number));
            self.n_verdict_bytes = self.verdicts.iter().map(|(.., n_bytes)| n_bytes).sum();
        }
        while self.n_verdict_bytes > VERDICT_BYTES_MAX {
            let Some((pod, number, n_bytes)) = self.verdicts.pop_front() else { return };
            self.n_verdict_bytes -= n_bytes;
            if !self.logs.contains_key(&pod) {
                continue;
            }
            let log = self.log_mut(&pod);
            if let Some(attempt) = log.attempts.iter_mut().find(|attempt| attempt.number == number) {
                Arc::make_mut(attempt).verdicts = None;
            }
        }
    }
}

/// Whether an event was judged as another one of its kind was, and the pod stayed where it was.
fn is_judged_alike(a: &QueueMove, b: &QueueMove) -> bool {
    match (a, b) {
        (
            QueueMove::Judged { event: a, in_flight: a_flies, answers: a_said, strategy: a_is, .. },
            QueueMove::Judged { event: b, in_flight: b_flies, answers: b_said, strategy: b_is, .. },
        ) => {
            *a_is == QueueingStrategy::Skip
                && a_is == b_is
                && a == b
                && a_flies == b_flies
                && a_said == b_said
        }
        _ => false,
    }
}

/// What moved the pod to where it is tried from.
fn wake(moves: &VecDeque<PodMove>) -> Option<Wake> {
    let entered = moves.iter().enumerate().rev().find_map(|(index, moved)| match &moved.entry {
        QueueMove::Entered { queue: QueueName::Active | QueueName::Backoff, event, .. }
            if *event != ClusterEvent::BACKOFF_COMPLETE =>
        {
            Some((index, moved.at, *event))
        }
        _ => None,
    });
    let (index, at, event) = entered?;
    // A pod that comes back may do so for an event that came while it was in flight.
    let is_any = event == ClusterEvent::SCHEDULE_ATTEMPT_FAILURE;
    let judged = moves.iter().take(index).rev().find_map(|moved| match &moved.entry {
        QueueMove::Judged { event: judged, strategy, object, answers, .. }
            if *strategy != QueueingStrategy::Skip && (is_any || *judged == event) =>
        {
            Some((*judged, object.clone(), answers.clone()))
        }
        _ => None,
    });
    let (event, object, answers) = judged.unwrap_or((event, None, Vec::new()));
    Some(Wake { at, event, object, answers })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn filter(verdicts: Vec<NodeVerdict>) -> FilterTrace {
        FilterTrace {
            plugins: Vec::new(),
            skipped: BTreeSet::new(),
            verdicts,
            by_extenders: BTreeMap::new(),
            start_index: 0,
            n_to_find: 1,
            node_hint: None,
            nominated_node: None,
        }
    }

    fn names(n: usize) -> Arc<[Str]> {
        (0..n).map(|n| Str::from(format!("n-{n}"))).collect()
    }

    fn rejected(reason: &str) -> NodeVerdict {
        NodeVerdict::Rejected(Status::unschedulable(reason).with_plugin("NodeResourcesFit"))
    }

    #[test]
    fn verdicts_are_grouped_and_counted() {
        let verdicts =
            vec![NodeVerdict::Feasible, rejected("Insufficient cpu"), rejected("Insufficient cpu")];
        let kept = NodeVerdicts::new(names(3), &filter(verdicts));
        assert_eq!(kept.classes.len(), 2);
        let counts: Vec<usize> = kept.counts().iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [2, 1]);
    }

    #[test]
    fn what_an_extender_refused_does_not_count_as_fitting() {
        let mut filter = filter(vec![NodeVerdict::Feasible, NodeVerdict::Feasible]);
        let status = Status::unschedulable("no licence").with_plugin("Extender");
        filter.by_extenders.insert("n-1".into(), status);
        let kept = NodeVerdicts::new(names(2), &filter);
        let classes: Vec<&VerdictClass> = kept.iter().map(|(_, class)| class).collect();
        assert_eq!(*classes[0], VerdictClass::Feasible);
        assert!(matches!(classes[1], VerdictClass::Rejected { plugin, .. } if **plugin == *"Extender"));
    }

    #[test]
    fn very_many_verdicts_are_not_told_apart() {
        let verdicts = (0..1_000).map(|n| rejected(&format!("reason {n}"))).collect();
        let kept = NodeVerdicts::new(names(1_000), &filter(verdicts));
        assert_eq!(kept.iter().count(), 1_000);
        let others = kept.iter().filter(|(_, class)| **class == VerdictClass::Other).count();
        assert_eq!(others, 1_000 - CLASSES_MAX);
    }

    #[test]
    fn on_five_thousand_nodes_the_verdicts_of_all_pods_together_stay_within_bounds() {
        let (nodes, mut logs) = (names(5_000), PodLogs::default());
        let pod = |n: u64| NamespacedName::new("default", format!("p-{n}"));
        let outcome = || CycleOutcome::Error { message: String::new() };
        // Each attempt of a pod differs from the one before it.
        for number in 0..6_000 {
            let verdicts = vec![rejected(&format!("reason {number}")); 5_000];
            let attempt = Attempt {
                number,
                started: Time::ZERO,
                attempt: 1,
                popped_from: PoppedFrom::ActiveQ,
                woken_by: None,
                outcome: outcome(),
                verdicts: Some(NodeVerdicts::new(Arc::clone(&nodes), &filter(verdicts))),
            };
            logs.keep(&pod(number % 2_000), attempt);
        }
        let kept = logs.logs.values().flat_map(|log| &log.attempts);
        let kept: Vec<_> =
            kept.filter_map(|attempt| Some((attempt.number, attempt.verdicts.as_ref()?))).collect();
        let n_bytes: usize = kept.iter().map(|(_, verdicts)| verdicts.of_node.len()).sum();
        assert!(n_bytes <= VERDICT_BYTES_MAX, "{n_bytes}");
        assert_eq!(kept.len(), VERDICT_BYTES_MAX / 5_000);
        // The newest ones are there.
        let oldest = kept.iter().map(|(number, _)| *number).min();
        assert_eq!(oldest, Some(6_000 - u64::try_from(kept.len()).unwrap_or_default()));
    }
}
