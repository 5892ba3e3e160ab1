//! A log of what the queue did, for people: which pod moved where, because of what.
//!
//! Nothing in the scheduler reads it back, and it is no part of the queue's digest. The entries are those that
//! kube-scheduler logs as "Pod moved to an internal scheduling queue", and what the plugins answered.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::api::NamespacedName;
use crate::framework::ClusterEvent;

use super::{QueueName, QueueingStrategy};

/// How many entries are kept; older ones are dropped.
const CAPACITY: usize = 16 * 1024;

/// How a plugin judged an event for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintResult {
    /// The event cannot help.
    Skip,
    /// It may help.
    Queue,
    /// The judging failed, which counts as Queue.
    Error(String),
}

/// A plugin's answer to an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HintAnswer {
    /// The plugin.
    pub plugin: &'static str,
    /// What it answered; if it was asked several times, the answer that weighs most.
    pub result: HintResult,
}

/// Something that the queue did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueueMove {
    /// A pod entered a queue. A pod that comes back from its attempt, was worth a retry, and is then held by
    /// PreEnqueue enters unschedulablePods twice.
    Entered {
        /// The pod.
        pod: NamespacedName,
        /// The queue.
        queue: QueueName,
        /// Because of what.
        event: ClusterEvent,
    },
    /// An event was judged for a pod.
    Judged {
        /// The pod.
        pod: NamespacedName,
        /// The event.
        event: ClusterEvent,
        /// The object that it is about, if it is about one.
        object: Option<NamespacedName>,
        /// Whether it came while the pod was in flight, and was judged when the pod came back.
        in_flight: bool,
        /// What the plugins that turned the pod down answer, in the order of their names; empty if no plugin had
        /// turned it down, which always moves it.
        answers: Vec<HintAnswer>,
        /// What that comes to.
        strategy: QueueingStrategy,
    },
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum MoveLogLevel {
    /// Nothing.
    Off,
    /// Pods that enter a queue.
    #[default]
    Moves,
    /// Also every judgement. All plugins that turned a pod down are then asked about every event, where the queue
    /// itself stops as soon as it knows enough.
    Judgements,
}

/// The newest entries.
#[derive(Clone, Debug, Default)]
pub(super) struct MoveLog {
    entries: Arc<VecDeque<QueueMove>>,
    pub(super) level: MoveLogLevel,
}

impl MoveLog {
    pub(super) fn entered(&mut self, pod: &NamespacedName, queue: QueueName, event: ClusterEvent) {
        if self.level >= MoveLogLevel::Moves {
            self.push(QueueMove::Entered { pod: pod.clone(), queue, event });
        }
    }

    pub(super) fn extend(&mut self, entry: Option<QueueMove>) {
        if let Some(entry) = entry {
            self.push(entry);
        }
    }

    fn push(&mut self, entry: QueueMove) {
        let entries = Arc::make_mut(&mut self.entries);
        if entries.len() >= CAPACITY {
            entries.pop_front();
        }
        entries.push_back(entry);
    }

    pub(super) fn take(&mut self) -> Vec<QueueMove> {
        if self.entries.is_empty() {
            return Vec::new();
        }
        Arc::unwrap_or_clone(std::mem::take(&mut self.entries)).into()
    }
}

/// Collects answers, one per plugin.
#[derive(Debug, Default)]
pub(super) struct Answers(BTreeMap<&'static str, HintResult>);

impl Answers {
    pub(super) fn add(&mut self, plugin: &'static str, result: HintResult) {
        let weight = |result: &HintResult| match result {
            HintResult::Skip => 0,
            HintResult::Queue => 1,
            HintResult::Error(_) => 2,
        };
        let kept = self.0.entry(plugin).or_insert(HintResult::Skip);
        if weight(&result) > weight(kept) {
            *kept = result;
        }
    }

    pub(super) fn into_vec(self) -> Vec<HintAnswer> {
        self.0.into_iter().map(|(plugin, result)| HintAnswer { plugin, result }).collect()
    }
}
