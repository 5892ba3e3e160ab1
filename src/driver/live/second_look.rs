//! Why two schedulers differ, where a look at the present state does not tell.
//!
//! A scheduler decides on what it knows, and that is more than what the API server shows: its own bindings that are
//! still on their way count for it already. Bindings also arrive in another order than they were decided in. So a
//! decision that looks different waits a moment for what comes after it, and is then looked at again on the states that
//! the other scheduler may have decided on: with bindings that arrived just after it, and without some that arrived
//! just before.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Duration, Object, Time, Uid};
use crate::scheduler::Scheduler;
use crate::scheduler::input::Input;

use super::observer::{Agreement, Case, explain};

/// How many bindings before a decision are looked at: kube-scheduler has this many requests on their way at most, by
/// its default `clientConnection`, that can overtake each other.
const BEFORE: usize = 16;
/// How many bindings after it.
const AFTER: usize = 12;
/// How long is waited for those.
const PATIENCE: Duration = Duration::from_millis(1_500);
/// Looks at nodes that are spent on one decision at the most, and the fewest and most looks that makes.
const NODES: usize = 20_000;
const LOOKS: (usize, usize) = (8, 120);

/// A binding that the cluster has reported.
#[derive(Clone, Debug)]
struct Binding {
    old: Arc<Pod>,
    new: Arc<Pod>,
}

/// A decision that waits to be looked at again.
#[derive(Clone, Debug)]
struct Waiting {
    case: Case,
    uid: Uid,
    /// The pod before the decision.
    pod: Arc<Pod>,
    /// The judge when the decision arrived.
    state: Scheduler,
    /// The bindings that arrived before, the newest last.
    before: Vec<Arc<Pod>>,
    /// The bindings that arrived after.
    after: Vec<Binding>,
    /// What the first look came to.
    first: String,
}

/// A decision with its explanation.
#[derive(Clone, Debug)]
pub(super) struct Explained {
    pub(super) case: Case,
    pub(super) agreement: Agreement,
    pub(super) why: String,
}

/// The decisions that wait, and the last bindings.
#[derive(Clone, Debug, Default)]
pub(super) struct SecondLooks {
    waiting: VecDeque<Waiting>,
    recent: VecDeque<Arc<Pod>>,
}

impl SecondLooks {
    /// Looks at a decision at once; if that does not explain it, it waits. `judge` knows nothing of the decision yet,
    /// `pod` is the pod before it.
    pub(super) fn take(&mut self, case: Case, pod: &Arc<Pod>, judge: &Scheduler) -> Option<Explained> {
        let (agreement, why) = explain(case.ours.as_ref(), &case.theirs, judge.evaluate(pod).as_ref());
        if agreement != Agreement::Different {
            return Some(Explained { case, agreement, why });
        }
        self.waiting.push_back(Waiting {
            case,
            uid: pod.uid().clone(),
            pod: Arc::clone(pod),
            state: judge.clone(),
            before: self.recent.iter().cloned().collect(),
            after: Vec::new(),
            first: why,
        });
        None
    }

    /// The cluster has bound a pod.
    pub(super) fn bound(&mut self, old: &Arc<Pod>, new: &Arc<Pod>) {
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.uid != *new.uid()) {
            waiting.after.push(Binding { old: Arc::clone(old), new: Arc::clone(new) });
        }
        if self.recent.len() == BEFORE {
            self.recent.pop_front();
        }
        self.recent.push_back(Arc::clone(new));
    }

    /// When the next decision has waited long enough.
    pub(super) fn due(&self) -> Option<Time> {
        self.waiting.front().map(|waiting| waiting.case.at + PATIENCE)
    }

    /// The next decision that has waited long enough, explained as well as can be.
    pub(super) fn next(&mut self, now: Time) -> Option<Explained> {
        let first = self.waiting.front()?;
        if first.after.len() < AFTER && first.case.at + PATIENCE > now {
            return None;
        }
        self.waiting.pop_front().map(Waiting::explain)
    }
}

impl Waiting {
    fn explain(self) -> Explained {
        let n_nodes = self.state.objects().nodes.len().max(1);
        let n_looks = (NODES / n_nodes).clamp(LOOKS.0, LOOKS.1);
        for state in self.states().into_iter().take(n_looks) {
            let trace = self.with(&state).evaluate(&self.pod);
            let (agreement, _) = explain(self.case.ours.as_ref(), &self.case.theirs, trace.as_ref());
            if agreement != Agreement::Different {
                let why = format!(
                    "{}, it is the choice of this scheduler, too; otherwise {}",
                    self.words(&state),
                    self.first
                );
                return Explained { case: self.case, agreement: Agreement::Timing, why };
            }
        }
        Explained { case: self.case, agreement: Agreement::Different, why: self.first }
    }

    /// The states that the other scheduler may have decided on, the likeliest first.
    fn states(&self) -> Vec<State> {
        let (n_after, n_before) = (self.after.len().min(AFTER), self.before.len());
        let newest = |n: usize| (n_before - n..n_before).collect::<Vec<_>>();
        let mut states = Vec::new();
        let mut add = |with: Vec<usize>, without: Vec<usize>| states.push(State { with, without });
        (1..=n_after).for_each(|n| add((0..n).collect(), Vec::new()));
        (1..=n_before).for_each(|n| add(Vec::new(), newest(n)));
        (1..n_after).for_each(|i| add(vec![i], Vec::new()));
        (0..n_before.saturating_sub(1)).rev().for_each(|i| add(Vec::new(), vec![i]));
        for n in 1..=n_after.min(4) {
            (0..n_before).rev().for_each(|i| add((0..n).collect(), vec![i]));
        }
        for n in 1..=n_before.min(4) {
            (1..n_after).for_each(|i| add(vec![i], newest(n)));
        }
        states
    }

    fn with(&self, state: &State) -> Scheduler {
        let mut scheduler = self.state.clone();
        let after = state.with.iter().filter_map(|i| self.after.get(*i)).map(|binding| Input::Updated {
            old: Object::Pod(Arc::clone(&binding.old)),
            new: Object::Pod(Arc::clone(&binding.new)),
        });
        let before = state.without.iter().filter_map(|i| self.before.get(*i));
        for input in after.chain(before.map(|pod| Input::Deleted(Object::Pod(Arc::clone(pod))))) {
            scheduler.handle(self.case.at, input);
        }
        scheduler
    }

    fn words(&self, state: &State) -> String {
        let with: Vec<String> = state
            .with
            .iter()
            .filter_map(|i| self.after.get(*i))
            .map(|binding| format!("{} on {}", binding.new.key(), binding.new.spec.node_name))
            .collect();
        let without: Vec<String> = state
            .without
            .iter()
            .filter_map(|i| self.before.get(*i))
            .map(|pod| pod.key().to_string())
            .collect();
        match (with.is_empty(), without.is_empty()) {
            (false, true) => format!("with what was on its way ({})", with.join(", ")),
            (true, _) => format!("before {} was bound", without.join(", ")),
            (false, false) => {
                format!(
                    "with what was on its way ({}) and before {} was bound",
                    with.join(", "),
                    without.join(", ")
                )
            }
        }
    }
}

/// A state beside the one that was seen: with some bindings that came later, without some that came before.
#[derive(Clone, Debug)]
struct State {
    with: Vec<usize>,
    without: Vec<usize>,
}
