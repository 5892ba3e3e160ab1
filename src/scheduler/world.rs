//! What plugins may read: everything of the scheduler but the queue, the cache and the cycles themselves.
//!
//! Kept apart from them, so that a queue operation can run plugins while the queue itself is being changed.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::{ObjectStore, Rng, Str, Time};
use crate::config::plugin_names::is_in_tree;
use crate::framework::explained::Explainers;
use crate::framework::extender::Extender;
use crate::framework::meter::Metering;
use crate::framework::pod_group::PodGroupStates;
use crate::framework::preemption::PreemptionState;
use crate::framework::runtime::waiting_pods::WaitingPods;
use crate::framework::{
    Answers, Framework, Handle, HandleRequest, PluginStates, RequestOptions, Snapshot, TieBreak,
};
use crate::queue::{Nominator, QueueEnv, QueueProfile};

use super::view::{Listeners, OwnPlugin};

/// The readable part of the scheduler.
#[derive(Clone, Debug)]
pub(super) struct World {
    pub now: Time,
    pub objects: ObjectStore,
    pub snapshot: Snapshot,
    pub nominator: Nominator,
    pub pod_groups: PodGroupStates,
    /// The group whose cycle runs, as its trial sees it.
    pub snapshot_pod_groups: PodGroupStates,
    pub waiting_pods: WaitingPods,
    pub preemption: PreemptionState,
    pub extenders: Arc<Vec<Extender>>,
    pub states: PluginStates,
    pub answers: RefCell<Answers>,
    pub tie_break: TieBreak,
    pub rng: RefCell<Rng>,
    pub requests: RefCell<Vec<HandleRequest>>,
    pub profiles: Arc<BTreeMap<Str, QueueProfile>>,
    /// Which of their plugins listen to which events, for the read model.
    pub listeners: Arc<Listeners>,
    /// The plugins that are not kube-scheduler's, for the read model.
    pub own_plugins: Arc<[OwnPlugin]>,
    /// How requests are counted under the feature gates.
    pub request_options: RequestOptions,
    /// Stands in where no profile is meant.
    no_framework: Arc<Framework>,
}

impl World {
    pub fn new(
        profiles: BTreeMap<Str, QueueProfile>,
        extenders: Vec<Extender>,
        seed: u64,
        tie_break: TieBreak,
        request_options: RequestOptions,
    ) -> Self {
        let mut states = PluginStates::default();
        for plugin in profiles.values().flat_map(|profile| &profile.framework.all) {
            plugin.add_states(&mut states);
        }
        Self {
            now: Time::ZERO,
            objects: ObjectStore::default(),
            snapshot: Snapshot::default(),
            nominator: Nominator::default(),
            pod_groups: PodGroupStates::default(),
            snapshot_pod_groups: PodGroupStates::default(),
            waiting_pods: WaitingPods::default(),
            preemption: PreemptionState::default(),
            states,
            answers: RefCell::default(),
            tie_break,
            rng: RefCell::new(Rng::new(seed)),
            requests: RefCell::new(Vec::new()),
            own_plugins: own_plugins(&profiles),
            listeners: Arc::new(super::waits::listeners(&profiles, !extenders.is_empty())),
            profiles: Arc::new(profiles),
            extenders: Arc::new(extenders),
            request_options,
            no_framework: Arc::new(Framework::default()),
        }
    }

    /// What a plugin of that framework sees.
    pub fn handle<'a>(&'a self, framework: &'a Framework) -> Handle<'a> {
        Handle {
            now: self.now,
            snapshot: &self.snapshot,
            objects: &self.objects,
            nominator: &self.nominator,
            pod_groups: &self.pod_groups,
            snapshot_pod_groups: &self.snapshot_pod_groups,
            framework,
            waiting_pods: &self.waiting_pods,
            preemption: &self.preemption,
            extenders: &self.extenders,
            states: &self.states,
            answers: &self.answers,
            tie_break: self.tie_break,
            rng: &self.rng,
            requests: &self.requests,
        }
    }

    /// Who measures what belongs to no profile alone.
    pub fn metering(&self) -> &Metering {
        &self.any_framework().metering
    }

    /// The plugins of a profile that explain themselves.
    pub fn explainers_of(&self, scheduler_name: &str) -> Explainers {
        self.profile(scheduler_name).map(|profile| profile.framework.explainers.clone()).unwrap_or_default()
    }

    /// The framework of the first profile, for what all have alike.
    pub fn any_framework(&self) -> &Framework {
        match self.profiles.values().next() {
            Some(profile) => &profile.framework,
            None => &self.no_framework,
        }
    }

    /// What a queue operation sees.
    pub fn queue_env(&self) -> QueueEnv<'_> {
        QueueEnv { handle: self.handle(&self.no_framework), profiles: &self.profiles }
    }

    /// The profile of that `schedulerName`.
    pub fn profile(&self, scheduler_name: &str) -> Option<&QueueProfile> {
        self.profiles.get(scheduler_name)
    }

    /// What plugins have asked for since the last call.
    pub fn take_requests(&self) -> Vec<HandleRequest> {
        std::mem::take(&mut *self.requests.borrow_mut())
    }
}

/// The plugins of all profiles that are not kube-scheduler's, by name.
fn own_plugins(profiles: &BTreeMap<Str, QueueProfile>) -> Arc<[OwnPlugin]> {
    let mut own: BTreeMap<&'static str, OwnPlugin> = BTreeMap::new();
    for plugin in profiles.values().flat_map(|profile| &profile.framework.all) {
        let name = plugin.name();
        if is_in_tree(name) {
            continue;
        }
        own.entry(name).or_insert_with(|| OwnPlugin {
            name,
            about: plugin.as_explain().map(|plugin| plugin.about()),
            filters: plugin.as_filter().is_some(),
            scores: plugin.as_score().is_some(),
        });
    }
    own.into_values().collect()
}
