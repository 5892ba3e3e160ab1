//! A pod with everything that is computed from it once, when it comes in.
//!
//! Mirrors `framework.PodInfo` and `QueuedPodInfo` of `pkg/scheduler/framework/types.go`.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str, Time, Uid};

use super::affinity_terms::PodAffinityTerms;
use super::events::ClusterEvent;
use super::pod_resources::{PodResources, RequestOptions};

/// A pod and what was computed from it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodInfo {
    /// The pod as it is in the API.
    pub pod: Arc<Pod>,
    /// What it asks for, as NodeInfo counts it.
    pub resources: PodResources,
    /// Its terms of pod affinity and anti-affinity, if it has any.
    pub affinity: Option<Arc<PodAffinityTerms>>,
    /// The claims that its volumes refer to by name, one for each such volume.
    pub claims: Vec<NamespacedName>,
}

impl PodInfo {
    /// Computes everything under the default feature gates.
    pub fn new(pod: Arc<Pod>) -> Self {
        Self::with_options(pod, RequestOptions::default())
    }

    /// Computes everything.
    pub fn with_options(pod: Arc<Pod>, options: RequestOptions) -> Self {
        let resources = PodResources::with_options(&pod, options);
        let affinity = PodAffinityTerms::of(&pod).map(Arc::new);
        let namespace = &pod.metadata.namespace;
        let claims = pod.claim_names().map(|name| NamespacedName::new(namespace.clone(), name)).collect();
        Self { resources, affinity, claims, pod }
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &Uid {
        self.pod.uid()
    }
}

/// A pod in the scheduling queue, with the state of its attempts.
#[derive(Clone, Debug, PartialEq)]
pub struct QueuedPodInfo {
    /// The pod.
    pub pod_info: Arc<PodInfo>,
    /// The pod when it was signed for batching: when it came, or changed while it was in the queue. What changed while
    /// it was in flight is not in it.
    pub signed_pod: Arc<Pod>,
    /// When it entered the queue, or failed last.
    pub timestamp: Time,
    /// Scheduling attempts so far.
    pub attempts: u32,
    /// When its backoff ends; zero if it has none.
    pub backoff_expiration: Time,
    /// Attempts that ended unschedulable since it last ran; decides the length of the backoff.
    pub unschedulable_count: u32,
    /// Errors in a row; above 0 they decide the length of the backoff instead.
    pub consecutive_errors_count: u32,
    /// Whether it was last moved by the flush of pods that waited too long.
    pub was_flushed_from_unschedulable: bool,
    /// When it first entered activeQ; absent while it has always been gated.
    pub initial_attempt_timestamp: Option<Time>,
    /// The plugins that turned it down.
    pub unschedulable_plugins: BTreeSet<Str>,
    /// The plugins that answered Pending.
    pub pending_plugins: BTreeSet<Str>,
    /// The PreEnqueue plugin that holds it; empty if none does.
    pub gating_plugin: Str,
    /// The events that the gating plugin listens to.
    pub gating_plugin_events: Vec<ClusterEvent>,
}

impl QueuedPodInfo {
    /// A pod that has just come in.
    pub fn new(pod_info: Arc<PodInfo>, now: Time) -> Self {
        Self {
            signed_pod: Arc::clone(&pod_info.pod),
            pod_info,
            timestamp: now,
            attempts: 0,
            backoff_expiration: Time::ZERO,
            unschedulable_count: 0,
            consecutive_errors_count: 0,
            was_flushed_from_unschedulable: false,
            initial_attempt_timestamp: None,
            unschedulable_plugins: BTreeSet::new(),
            pending_plugins: BTreeSet::new(),
            gating_plugin: Str::from(""),
            gating_plugin_events: Vec::new(),
        }
    }

    /// The pod.
    pub fn pod(&self) -> &Arc<Pod> {
        &self.pod_info.pod
    }

    /// `metadata.uid`.
    pub fn uid(&self) -> &Uid {
        self.pod_info.uid()
    }

    /// Whether a PreEnqueue plugin holds it.
    pub fn is_gated(&self) -> bool {
        !self.gating_plugin.is_empty()
    }

    /// Every plugin that turned it down, by whichever code.
    pub fn rejector_plugins(&self) -> impl Iterator<Item = &Str> {
        self.unschedulable_plugins.union(&self.pending_plugins)
    }
}
