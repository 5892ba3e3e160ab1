//! A sandbox run on until nothing moves, with what is told of the way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::measures::{Measures, Waits, measure};
use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Object, Time, Uid};
use crate::driver::runner::{PodResult, pod_result, run_watched};
use crate::driver::sandbox::api::WatchEvent;
use crate::driver::sandbox::scenario::Scenario;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::sandbox::words::told;
use crate::driver::session::Edit;

/// How far a run has come, for whoever waits, and whether they still do.
#[derive(Debug, Default)]
pub struct Progress {
    /// Attempts so far.
    attempts: AtomicU64,
    is_cancelled: AtomicBool,
}

impl Progress {
    /// Ends the run as soon as it is noticed.
    pub fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    /// Attempts so far, in all runs.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Relaxed)
    }

    /// Whether nobody waits any more.
    pub fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A change cannot be made.
    #[error("{change}: {reason}")]
    Change {
        /// The change.
        change: String,
        /// Why not.
        reason: String,
    },
    /// Nobody waited any more.
    #[error("it was cancelled")]
    Cancelled,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Every pod that is there in the end.
    pub pods: BTreeMap<NamespacedName, PodResult>,
    /// Every pod that is not, as it was last.
    pub gone: BTreeMap<NamespacedName, Arc<Pod>>,
    /// Pods that the scheduler has evicted to make room, in order.
    pub victims: Vec<Arc<Pod>>,
    /// For each pod that was made for one that has gone, that one.
    pub made_for: BTreeMap<NamespacedName, NamespacedName>,
    /// What the changes said.
    pub said: Vec<String>,
    /// The nodes in the end.
    pub measures: Measures,
    /// How long pods waited.
    pub waits: Waits,
    /// Attempts, and those that failed.
    pub attempts: (u64, u64),
    /// Simulated time that went by.
    pub simulated: Duration,
}

impl Outcome {
    /// Pods on nodes.
    pub fn n_placed(&self) -> usize {
        self.pods.values().filter(|pod| pod.node.is_some()).count()
    }

    /// Pods without a node.
    pub fn n_pending(&self) -> usize {
        self.pods.len() - self.n_placed()
    }
}

/// Watches a run.
struct Watcher {
    /// Pods that wait, since when.
    waiting: BTreeMap<Uid, Time>,
    waits: Vec<Duration>,
    gone: BTreeMap<NamespacedName, Arc<Pod>>,
    victims: Vec<Arc<Pod>>,
}

impl Watcher {
    fn new(simulator: &Simulator) -> Self {
        let now = simulator.now();
        let pods = simulator.api().objects().pods.values();
        let waiting = pods
            .filter(|pod| !pod.is_assigned() && !pod.is_terminal())
            .map(|pod| (pod.metadata.uid.clone(), now));
        Self { waiting: waiting.collect(), waits: Vec::new(), gone: BTreeMap::new(), victims: Vec::new() }
    }

    /// Takes in what was reported last.
    fn see(&mut self, simulator: &Simulator) {
        let now = simulator.now();
        for event in simulator.last_events() {
            match event {
                WatchEvent::Added(Object::Pod(pod)) => {
                    self.gone.remove(&pod.key());
                    if !pod.is_assigned() {
                        self.waiting.insert(pod.metadata.uid.clone(), now);
                    }
                }
                WatchEvent::Modified { old: Object::Pod(old), new: Object::Pod(new) } => {
                    if new.is_assigned()
                        && let Some(since) = self.waiting.remove(&new.metadata.uid)
                    {
                        self.waits.push(now - since);
                    }
                    if new.is_terminating() && !old.is_terminating() {
                        self.goes(new);
                    }
                }
                WatchEvent::Deleted(Object::Pod(pod)) => {
                    self.waiting.remove(&pod.metadata.uid);
                    if !pod.is_terminating() {
                        self.goes(pod);
                    }
                    self.gone.insert(pod.key(), Arc::clone(pod));
                }
                _ => {}
            }
        }
    }

    fn goes(&mut self, pod: &Arc<Pod>) {
        if pod.is_preempted() {
            self.victims.push(Arc::clone(pod));
        }
    }
}

/// Makes changes to a sandbox and runs it on until nothing moves; one with a scenario, until that is over. `attempt` is
/// the simulated time that an attempt takes.
///
/// # Errors
/// A change that cannot be made, or nobody waits any more.
pub fn run_out(
    simulator: &mut Simulator,
    changes: &[Edit],
    attempt: Duration,
    progress: &Progress,
) -> Result<Outcome, RunError> {
    let start = simulator.now();
    let before = simulator.scheduler().counts();
    let mut watcher = Watcher::new(simulator);
    let mut said = Vec::new();
    for change in changes {
        let done = simulator.noting(|simulator| simulator.edit(change));
        watcher.see(simulator);
        said.push(done.map_err(|reason| RunError::Change { change: told(change), reason })?);
    }
    let is_done = run_watched(simulator, attempt, &mut |simulator, op| {
        if op.is_step() {
            progress.attempts.fetch_add(1, Ordering::Relaxed);
        }
        watcher.see(simulator);
        // What comes after the end of a scenario is nobody's wish.
        let is_over = simulator.scenario().is_some_and(Scenario::is_over);
        !progress.is_cancelled() && !is_over
    });
    if !is_done && progress.is_cancelled() {
        return Err(RunError::Cancelled);
    }
    let counts = simulator.scheduler().counts();
    let pods = simulator.api().objects().pods.iter();
    let pods = pods.map(|(key, pod)| (key.clone(), pod_result(simulator, key, &pod.metadata.uid)));
    Ok(Outcome {
        pods: pods.collect(),
        gone: watcher.gone,
        victims: watcher.victims,
        made_for: simulator.returns().made().clone(),
        said,
        measures: measure(&simulator.scheduler().view().nodes),
        waits: Waits::of(watcher.waits),
        attempts: (counts.cycles - before.cycles, counts.failed - before.failed),
        simulated: simulator.now() - start,
    })
}
