//! A test kit for plugins: a small world that hands out a [`Handle`].

use std::cell::RefCell;

use crate::api::{Kind, NamespacedName, Object, ObjectStore, Rng, Time};

use super::answers::Answers;
use super::extender::Extender;
use super::handle::{Handle, HandleRequest, NoNominations, PodNominator, TieBreak};
use super::plugin_state::PluginStates;
use super::pod_group::PodGroupStates;
use super::preemption::PreemptionState;
use super::runtime::Framework;
use super::runtime::waiting_pods::WaitingPods;
use super::snapshot::Snapshot;

/// Everything that a [`Handle`] refers to, owned.
pub struct TestWorld {
    /// The time of every call.
    pub now: Time,
    /// The nodes.
    pub snapshot: Snapshot,
    /// The objects.
    pub objects: ObjectStore,
    /// The nominated pods.
    pub nominator: Box<dyn PodNominator>,
    /// How far the pods of each group have come.
    pub pod_groups: PodGroupStates,
    /// The framework that plugins may run.
    pub framework: Framework,
    /// The waiting pods.
    pub waiting_pods: WaitingPods,
    /// The preemptions under way.
    pub preemption: PreemptionState,
    /// The extenders.
    pub extenders: Vec<Extender>,
    /// What plugins remember.
    pub states: PluginStates,
    /// Answers from outside.
    pub answers: RefCell<Answers>,
    /// The random numbers.
    pub rng: RefCell<Rng>,
    /// What was asked for.
    pub requests: RefCell<Vec<HandleRequest>>,
}

impl Default for TestWorld {
    fn default() -> Self {
        Self {
            now: Time::from_secs(1_767_225_600),
            snapshot: Snapshot::default(),
            objects: ObjectStore::default(),
            nominator: Box::new(NoNominations),
            pod_groups: PodGroupStates::default(),
            framework: Framework::default(),
            waiting_pods: WaitingPods::default(),
            preemption: PreemptionState::default(),
            extenders: Vec::new(),
            states: PluginStates::default(),
            answers: RefCell::default(),
            rng: RefCell::new(Rng::new(0)),
            requests: RefCell::new(Vec::new()),
        }
    }
}

impl TestWorld {
    /// Puts an object in, as a watch that reports it does.
    pub fn put(&mut self, object: impl Into<Object>) {
        let object = object.into();
        let old = self.objects.insert(object.clone());
        self.states.object_changed(&self.objects, old.as_ref(), Some(&object));
    }

    /// Takes an object out, as a watch that reports its end does.
    pub fn remove(&mut self, kind: Kind, key: &NamespacedName) {
        if let Some(old) = self.objects.remove(kind, key) {
            self.states.object_changed(&self.objects, Some(&old), None);
        }
    }

    /// The handle that a plugin gets.
    pub fn handle(&self) -> Handle<'_> {
        Handle {
            now: self.now,
            snapshot: &self.snapshot,
            objects: &self.objects,
            nominator: self.nominator.as_ref(),
            pod_groups: &self.pod_groups,
            snapshot_pod_groups: &self.pod_groups,
            framework: &self.framework,
            waiting_pods: &self.waiting_pods,
            preemption: &self.preemption,
            extenders: &self.extenders,
            states: &self.states,
            answers: &self.answers,
            tie_break: TieBreak::Random,
            rng: &self.rng,
            requests: &self.requests,
        }
    }
}
