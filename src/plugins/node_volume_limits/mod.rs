//! NodeVolumeLimits: a node can have only so many volumes of a CSI driver attached.
//!
//! Follows `plugins/nodevolumelimits/csi.go`. How many says the node's `CSINode`; volumes count that pods on the node
//! use, that are attached to it, and that the pod brings. A claim without a volume counts for the provisioner of its
//! class, an in-tree volume for the driver that has taken over. Inline CSI volumes do not count.

mod attachments;
mod hints;
mod usage;

use std::collections::BTreeMap;
use std::sync::Arc;

use attachments::Attachments;
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

    fn on(self, has_csi_node: bool) -> Result<Arc<Volumes>, Problem> {
        if has_csi_node { self.with_csi_node } else { self.without }
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

/// How many volumes of each driver the node can have; drivers without a limit are left out.
fn limits(csi_node: &CSINode) -> BTreeMap<&Str, i64> {
    let drivers = csi_node.spec.drivers.iter();
    drivers.filter_map(|driver| Some((&driver.name, driver.allocatable?.count?.into()))).collect()
}

/// Whether the driver may be missing on the node, or is there. Without a `CSIDriver` nobody knows that it is one.
fn is_driver_fine(driver: &Str, csi_node: Option<&CSINode>, objects: &ObjectStore) -> bool {
    let found = objects.csi_drivers.get(&NamespacedName::cluster(driver.clone()));
    let must_be_there = found.and_then(|found| found.spec.prevent_pod_scheduling_if_missing) == Some(true);
    !must_be_there || csi_node.is_some_and(|node| node.spec.drivers.iter().any(|own| own.name == *driver))
}

fn per_driver<'a>(drivers: impl IntoIterator<Item = &'a Str>) -> BTreeMap<&'a Str, i64> {
    let mut counts = BTreeMap::new();
    for driver in drivers {
        *counts.entry(driver).or_default() += 1;
    }
    counts
}

impl Plugin for NodeVolumeLimits {
    fn name(&self) -> &'static str {
        names::NODE_VOLUME_LIMITS
    }
    fn add_states(&self, states: &mut PluginStates) {
        states.add(Attachments::default());
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
        let objects = handle.objects;
        let csi_node =
            objects.csi_nodes.get(&NamespacedName::cluster(node.name().clone())).map(AsRef::as_ref);
        // A profile may have the plugin here and not at PreFilter.
        let own = state.read::<OwnVolumes>().cloned().unwrap_or_else(|| OwnVolumes::of(&pod.pod, objects));
        match own.on(csi_node.is_some()) {
            Ok(own) => self.check(&own, csi_node, handle, node),
            Err(problem) => problem.into(),
        }
    }
}

impl NodeVolumeLimits {
    /// Whether the node can take these volumes too.
    fn check(
        &self,
        own: &Volumes,
        csi_node: Option<&CSINode>,
        handle: &Handle<'_>,
        node: &NodeInfo,
    ) -> Status {
        let objects = handle.objects;
        if self.needs_driver
            && let Some(driver) = own.values().find(|driver| !is_driver_fine(driver, csi_node, objects))
        {
            return Status::unschedulable(format!("{driver} CSI driver is not installed on the node"));
        }
        let limits = csi_node.map(limits).unwrap_or_default();
        if own.is_empty() || limits.is_empty() {
            return Status::SUCCESS;
        }
        let mut used = Volumes::new();
        let lookup = Lookup { objects, has_csi_node: csi_node.is_some() };
        for pod in node.pods() {
            if let Err(problem) = lookup.add_existing(&pod.pod, &mut used) {
                return Status::error(problem.text());
            }
        }
        let attached =
            handle.state(|index: &Attachments| index.volumes(node.name(), objects)).unwrap_or_default();
        // A volume counts once, however many pods use it.
        let not_used =
            attached.iter().filter(|(name, _)| !used.contains_key(*name)).map(|(_, driver)| driver);
        let present = per_driver(used.values().chain(not_used));
        let new =
            per_driver(own.iter().filter(|(name, _)| !used.contains_key(*name)).map(|(_, driver)| driver));
        let is_exceeded = new.into_iter().any(|(driver, count)| {
            let present = present.get(driver).copied().unwrap_or_default();
            limits.get(driver).is_some_and(|limit| present + count > *limit)
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
