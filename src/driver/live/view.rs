//! What a person sees of a live session beside the scheduler.

use std::sync::Arc;

use crate::api::{Duration, Kind, NamespacedName, Str, Time};
use crate::scheduler::effect::EffectId;

use super::connect::Target;
use super::engine::{Engine, Mode, Operated};
use super::informers::InformerState;
use super::observer::{Agreement, Comparison, Decision};
use super::steering::SteeringView;

/// How many comparisons are shown.
const COMPARISONS_SHOWN: usize = 200;
/// How many predictions are shown that the cluster has not answered.
const PREDICTIONS_SHOWN: usize = 200;

/// How many objects of a kind are shown that cannot be read.
const UNREADABLE_SHOWN: usize = 20;

/// One kind of object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InformerRow {
    /// The kind.
    pub kind: Kind,
    /// How its watch stands.
    pub state: InformerState,
    /// How many objects are known.
    pub n_objects: usize,
    /// How many objects could not be read.
    pub n_unreadable: usize,
    /// The first of them, with what is wrong.
    pub unreadable: Vec<(NamespacedName, Str)>,
    /// When it last reported anything.
    pub last_report: Option<Time>,
    /// How often it has listed.
    pub n_lists: u64,
    /// How many changes it has seen.
    pub n_changes: u64,
}

/// A bind that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfirmRow {
    /// Names it.
    pub id: EffectId,
    /// The pod.
    pub pod: NamespacedName,
    /// The node.
    pub node: Str,
    /// How long it has waited.
    pub age: Duration,
}

/// A live session at one moment.
#[derive(Clone, Debug)]
pub struct LiveView {
    /// The cluster.
    pub target: Target,
    /// The profiles whose pods are scheduled.
    pub profiles: Vec<Str>,
    /// Whether anything is written.
    pub mode: Mode,
    /// Whether each bind waits for a person.
    pub is_confirming: bool,
    /// The binds that wait, the oldest first.
    pub to_confirm: Vec<ConfirmRow>,
    /// The kinds.
    pub informers: Vec<InformerRow>,
    /// Whether every kind is known, so that pods are tried.
    pub has_started: bool,
    /// The last comparisons, the newest first.
    pub comparisons: Arc<Vec<Comparison>>,
    /// How many comparisons came to what.
    pub counts: Vec<(Agreement, u64)>,
    /// How many of them agree or are explained, in percent.
    pub rate: Option<f64>,
    /// What this scheduler would do with pods that the cluster has not decided about.
    pub open: Vec<(NamespacedName, Decision, Duration)>,
    /// Deeds that were not done, since it only observes.
    pub n_withheld: u64,
    /// When it was armed.
    pub operated: Vec<Operated>,
    /// What was done and who may do it.
    pub steering: Arc<SteeringView>,
}

impl LiveView {
    /// Whether an attempt was a prediction: nothing of it was done.
    pub fn is_predicted(&self, number: u64) -> bool {
        !self.operated.iter().any(|time| time.first <= number && time.last.is_none_or(|last| number <= last))
    }

    /// Whether what the scheduler wanted to write at a time was written.
    pub fn was_writing(&self, at: Time) -> bool {
        self.operated.iter().any(|time| time.from < at && time.to.is_none_or(|to| at < to))
    }

    /// The session as it is now.
    pub fn new(engine: &Engine, target: &Target, steering: SteeringView) -> Self {
        let observer = engine.observer();
        let objects = engine.informers().objects();
        let informers = engine
            .informers()
            .iter()
            .map(|(kind, informer)| InformerRow {
                kind,
                state: informer.state.clone(),
                n_objects: objects.count(kind),
                n_unreadable: informer.unreadable.len(),
                unreadable: informer
                    .unreadable
                    .iter()
                    .take(UNREADABLE_SHOWN)
                    .map(|(key, error)| (key.clone(), error.as_str().into()))
                    .collect(),
                last_report: informer.last_report,
                n_lists: informer.n_lists,
                n_changes: informer.n_changes,
            })
            .collect();
        Self {
            target: target.clone(),
            profiles: engine.scheduler().profiles().map(|profile| profile.profile_name.clone()).collect(),
            mode: engine.mode(),
            is_confirming: engine.is_confirming(),
            to_confirm: engine
                .to_confirm()
                .map(|bind| ConfirmRow {
                    id: bind.id,
                    pod: bind.pod.clone(),
                    node: bind.node.clone(),
                    age: super::session::now().saturating_since(bind.since),
                })
                .collect(),
            informers,
            has_started: engine.informers().has_started(),
            comparisons: Arc::new(observer.comparisons().rev().take(COMPARISONS_SHOWN).cloned().collect()),
            counts: Agreement::ALL.iter().map(|agreement| (*agreement, observer.count(*agreement))).collect(),
            rate: observer.rate(),
            open: observer
                .open(engine.now())
                .take(PREDICTIONS_SHOWN)
                .map(|(pod, decision, age)| (pod.clone(), decision.clone(), age))
                .collect(),
            n_withheld: engine.n_withheld(),
            operated: engine.operated().to_vec(),
            steering: Arc::new(steering),
        }
    }
}
