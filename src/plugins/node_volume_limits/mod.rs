//! NodeVolumeLimits: a node can have only so many volumes of a CSI driver attached.
//!
//! Follows `plugins/nodevolumelimits/csi.go`. How many says the node's `CSINode`; volumes count that pods on the node
//! use, that are attached to it, and that the pod brings. A claim without a volume counts for the provisioner of its
//! class, an in-tree volume for the driver that has taken over. Inline CSI volumes do not count.

mod attachments;
mod explain;
mod hints;
mod on_node;
mod usage;

use std::sync::Arc;

pub use explain::{DriverUse, NewVolume, explain_limits};

use attachments::Attachments;
use explain::Seen;
use on_node::{OnNode, OnNodes, per_driver};
use usage::{Counted, Lookup, Problem, Volumes};

use super::helper::signers;
use super::names;
use crate::api::objects::{CSINode, Pod};
use crate::api::{NamespacedName, ObjectStore, Str};
use crate::config::{FeatureGates, Gate};
use crate::framework::{
    ActionType, ClusterEvent, ClusterEventWithHint, CycleState, EnqueueExtensions, EventResource,
    FilterPlugin, Handle, NodeInfo, Plugin, PluginStates, PodInfo, PreFilterPlugin, PreFilterResult,
    SignFragment, SignPlugin, Status,
};

const REASON: &str = "node(s) exceed max volume count";

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeVolumeLimits {
    /// The gate VolumeLimitScaling: a node without the driver is refused if the driver wants it so.
    needs_driver: bool,
}

impl NodeVolumeLimits {
    /// The plugin under these gates.
    pub const fn new(gates: &FeatureGates) -> Self {
        Self { needs_driver: gates.is_enabled(Gate::VolumeLimitScaling) }
    }
}

/// The volumes that the pod brings, on nodes with and without a `CSINode`.
#[derive(Clone, Debug)]
struct OwnVolumes {
    with_csi_node: Result<Arc<Volumes>, Problem>,
    without: Result<Arc<Volumes>, Problem>,
}

impl OwnVolumes {
    fn of(pod: &Pod, objects: &ObjectStore) -> Self {
        let volumes = |has_csi_node| {
            let mut volumes = Volumes::new();
            Lookup { objects, has_csi_node }.add_new(pod, &mut volumes)?;
            Ok(Arc::new(volumes))
        };
        Self { with_csi_node: volumes(true), without: volumes(false) }
    }

    const fn on(&self, has_csi_node: bool) -> &Result<Arc<Volumes>, Problem> {
        if has_csi_node { &self.with_csi_node } else { &self.without }
    }
}

impl From<Problem> for Status {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::NoClaim(text) => Self::unresolvable(text),
            Problem::Other(text) => Self::error(text),
        }
    }
}

/// Whether the driver may be missing on the node, or is there. Without a `CSIDriver` nobody knows that it is one.
fn is_driver_fine(driver: &Str, csi_node: Option<&CSINode>, objects: &ObjectStore) -> bool {
    let found = objects.csi_drivers.get(&NamespacedName::cluster(driver.clone()));
    let must_be_there = found.and_then(|found| found.spec.prevent_pod_scheduling_if_missing) == Some(true);
    !must_be_there || csi_node.is_some_and(|node| node.spec.drivers.iter().any(|own| own.name == *driver))
}

/// What counts on the node before the pod comes.
fn look_at(handle: &Handle<'_>, node: &NodeInfo) -> Arc<OnNode> {
    if let Some(kept) = handle.state(|known: &OnNodes| known.get(node)).flatten() {
        return kept;
    }
    let of = |attachments: &Attachments| OnNode::of(node, handle.objects, attachments);
    let found = handle.state(|known: &OnNodes| of(&known.attachments));
    let found = Arc::new(found.unwrap_or_else(|| of(&Attachments::default())));
    handle.change_state(|known: &mut OnNodes| known.keep(node.name(), Arc::clone(&found)));
    found
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        names::NODE_VOLUME_LIMITS
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(OnNodes::default());
    }
    fn as_pre_filter(&self) -> Option<&dyn PreFilterPlugin> {
        Some(self)
    }
    fn as_filter(&self) -> Option<&dyn FilterPlugin> {
        Some(self)
    }
    fn as_enqueue_extensions(&self) -> Option<&dyn EnqueueExtensions> {
        Some(self)
    }
    fn as_sign(&self) -> Option<&dyn SignPlugin> {
        Some(self)
    }
}

impl PreFilterPlugin for NodeVolumeLimits {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        if pod.pod.spec.volumes.iter().all(|volume| Counted::of(volume).is_none()) {
            return (None, Status::skip());
        }
        state.write(self.name(), OwnVolumes::of(&pod.pod, handle.objects));
        (None, Status::SUCCESS)
    }
}

impl FilterPlugin for NodeVolumeLimits {
    fn filter(&self, handle: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        if pod.pod.spec.volumes.is_empty() {
            return Status::SUCCESS;
        }
        let on_node = look_at(handle, node);
        // A profile may have the plugin here and not at PreFilter.
        let looked_up;
        let own = match state.read::<OwnVolumes>() {
            Some(own) => own,
            None => {
                looked_up = OwnVolumes::of(&pod.pod, handle.objects);
                &looked_up
            }
        };
        match own.on(on_node.csi_node.is_some()) {
            Ok(own) => self.check(own, &on_node, handle.objects),
            Err(problem) => problem.clone().into(),
        }
    }

    fn keep_evidence(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        _: &PodInfo,
        nodes: &[Arc<NodeInfo>],
    ) {
        if state.read::<OwnVolumes>().is_some() {
            let seen = handle.state(|known: &OnNodes| Seen::of(known, nodes)).unwrap_or_default();
            state.write(self.name(), seen);
        }
    }
}

impl NodeVolumeLimits {
    /// Whether the node can take these volumes too.
    fn check(&self, own: &Volumes, on_node: &OnNode, objects: &ObjectStore) -> Status {
        let csi_node = on_node.csi_node.as_deref();
        if self.needs_driver
            && let Some(driver) = own.values().find(|driver| !is_driver_fine(driver, csi_node, objects))
        {
            return Status::unschedulable(format!("{driver} CSI driver is not installed on the node"));
        }
        if own.is_empty() || on_node.limits.is_empty() {
            return Status::SUCCESS;
        }
        let used = match &on_node.used {
            Ok(used) => used,
            Err(problem) => return Status::error(problem.as_str()),
        };
        let new =
            per_driver(own.iter().filter(|(name, _)| !used.contains_key(*name)).map(|(_, driver)| driver));
        let is_exceeded = new.into_iter().any(|(driver, count)| {
            let present = on_node.present.get(&driver).copied().unwrap_or_default();
            on_node.limits.get(&driver).is_some_and(|limit| present + count > *limit)
        });
        if is_exceeded { Status::unschedulable(REASON) } else { Status::SUCCESS }
    }
}

impl EnqueueExtensions for NodeVolumeLimits {
    fn events_to_register(&self) -> Vec<ClusterEventWithHint> {
        let event = ClusterEvent::new;
        vec![
            ClusterEventWithHint::always(event(EventResource::CsiNode, ActionType::ADD)),
            ClusterEventWithHint::hinted(
                event(EventResource::CsiNode, ActionType::UPDATE),
                |_, _, old, new| hints::after_csi_node_updated(old, new),
            ),
            ClusterEventWithHint::hinted(event(EventResource::Pod, ActionType::DELETE), |_, _, old, new| {
                hints::after_pod_deleted(old, new)
            }),
            ClusterEventWithHint::hinted(
                event(EventResource::PersistentVolumeClaim, ActionType::ADD),
                |_, pod, old, new| hints::after_claim_added(pod, old, new),
            ),
            ClusterEventWithHint::hinted(
                event(EventResource::VolumeAttachment, ActionType::DELETE),
                |_, pod, old, new| hints::after_attachment_deleted(pod, old, new),
            ),
        ]
    }
}

impl SignPlugin for NodeVolumeLimits {
    fn sign_pod(&self, pod: &Pod) -> Result<Vec<SignFragment>, Status> {
        Ok(vec![signers::volumes(pod)?])
    }
}

#[cfg(test)]
mod tests;
