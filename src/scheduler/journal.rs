//! What the scheduler remembers for people: past attempts, Events, moves between queues. Bounded, counted where
//! lines are let go, and no part of the digest.

use std::collections::VecDeque;
use std::sync::Arc;

use super::pod_group_trace::GroupTrace;
use super::pod_log::PodLogs;
use super::trace::CycleTrace;
use super::view::{CycleSummary, ObjectEvent, QueueMoveLine};

/// Lines kept of each kind.
const LINES_MAX: usize = 2_000;

/// The memory for people.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    pub history: Arc<VecDeque<CycleSummary>>,
    pub events: Arc<VecDeque<ObjectEvent>>,
    pub moves: Arc<VecDeque<QueueMoveLine>>,
    /// The last attempt that has left the scheduling cycle.
    pub last_trace: Option<Arc<CycleTrace>>,
    /// The last cycle of a pod group that is over.
    pub last_group: Option<Arc<GroupTrace>>,
    /// What is remembered of each pod.
    pub pods: PodLogs,
    /// How many moves there have been.
    pub n_moves: u64,
    /// Whether attempts have their lines although no evidence of them is kept.
    pub is_lean: bool,
    /// Lines let go.
    pub n_dropped: u64,
}

impl Journal {
    pub fn add_history(&mut self, line: CycleSummary) {
        self.n_dropped += push_bounded(&mut self.history, line);
    }

    pub fn add_event(&mut self, event: ObjectEvent) {
        self.n_dropped += push_bounded(&mut self.events, event);
    }

    pub fn add_move(&mut self, line: QueueMoveLine) {
        self.n_moves += 1;
        self.n_dropped += push_bounded(&mut self.moves, line);
    }
}

/// Appends a line and returns how many were let go for it.
fn push_bounded<T: Clone>(lines: &mut Arc<VecDeque<T>>, line: T) -> u64 {
    let lines = Arc::make_mut(lines);
    lines.push_back(line);
    if lines.len() > LINES_MAX {
        lines.pop_front();
        return 1;
    }
    0
}
