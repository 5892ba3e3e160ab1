//! The allocator: finds devices for claims on one node (KEP-4381 and those that extend it).
//!
//! Follows `k8s.io/dynamic-resource-allocation/structured` v0.36.3. Upstream has three allocators and takes the oldest
//! one that has what the feature gates ask for: under the default gates of v1.36 that is the one called incubating.
//! Here is one, which leaves out under older gates what the one called stable leaves out ([`Features::is_incubating`]).
//! The scheduler never asks for the list attributes of the experimental one.
//!
//! The search is exhaustive and takes the first solution: claims, requests and alternatives in their order, devices in
//! the order of `pools`. Upstream stops a search after a time; the core has no clock, so here it is a number of steps
//! ([`STEPS_PER_SECOND`]), with the same answer.

pub mod capacity;
mod constraints;
mod counters;
mod pools;
pub mod request;
mod result;
mod search;

use std::fmt;
use std::sync::Arc;

pub use pools::Pool;
pub(super) use search::is_repelled;

use crate::api::Duration;
use crate::api::objects::{AllocationResult, Node, ResourceClaim};
use crate::config::{FeatureGates, Gate};
use crate::framework::device_cel::SelectorCache;
use crate::plugins::helper::devices::{AllocatedState, DeviceClasses, DeviceSlices};
use search::Search;

/// How many devices a claim can have at most (`AllocationResultsMaxSize`).
pub const MAX_DEVICES: i64 = 32;
/// How many devices are looked at in the time that upstream calls a second.
pub const STEPS_PER_SECOND: u64 = 100_000;
/// After how many steps a search ends that no time-out ends.
const MAX_STEPS: u64 = 200 * STEPS_PER_SECOND;

/// Which parts of the allocator are in force (`structured.Features`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "one for each gate")]
pub struct Features {
    /// `DRAAdminAccess`.
    pub admin_access: bool,
    /// `DRAConsumableCapacity`.
    pub consumable_capacity: bool,
    /// `DRADeviceBindingConditions` with `DRAResourceClaimDeviceStatus`.
    pub device_binding_and_status: bool,
    /// `DRADeviceTaints`.
    pub device_taints: bool,
    /// `DRAPartitionableDevices`.
    pub partitionable_devices: bool,
    /// `DRAPrioritizedList`.
    pub prioritized_list: bool,
}

impl Features {
    /// What the gates ask for (`AllocatorFeatures`).
    pub fn new(gates: &FeatureGates) -> Self {
        Self {
            admin_access: gates.is_enabled(Gate::DRAAdminAccess),
            consumable_capacity: gates.is_enabled(Gate::DRAConsumableCapacity),
            device_binding_and_status: gates.is_enabled(Gate::DRADeviceBindingConditions)
                && gates.is_enabled(Gate::DRAResourceClaimDeviceStatus),
            device_taints: gates.is_enabled(Gate::DRADeviceTaints),
            partitionable_devices: gates.is_enabled(Gate::DRAPartitionableDevices),
            prioritized_list: gates.is_enabled(Gate::DRAPrioritizedList),
        }
    }

    /// Whether upstream takes its newer allocator, which knows `distinctAttribute` and `bindsToNode`.
    pub const fn is_incubating(self) -> bool {
        self.consumable_capacity || self.device_binding_and_status
    }
}

/// Why claims were not allocated, other than that they cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AllocateError {
    /// The search took too many steps.
    #[error("timed out trying to allocate devices")]
    TimedOut,
    /// On this node; others may do (`ErrFailedAllocationOnNode`).
    #[error("{0}")]
    OnNode(String),
    /// Something is wrong with a claim, a class or a slice.
    #[error("{0}")]
    Failed(String),
}

/// Finds devices for claims. Its answers depend on nothing but what is in it.
#[derive(Clone)]
pub struct Allocator {
    /// What is in force.
    pub features: Features,
    /// What is allocated already.
    pub allocated: AllocatedState,
    /// The devices.
    pub slices: Arc<DeviceSlices>,
    /// The classes of devices.
    pub classes: Arc<DeviceClasses>,
    /// The compiled selectors.
    pub selectors: SelectorCache,
    /// How many steps a search may take.
    pub max_steps: u64,
}

impl fmt::Debug for Allocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Allocator")
            .field("features", &self.features)
            .field("max_steps", &self.max_steps)
            .finish_non_exhaustive()
    }
}

/// The steps that a search may take in this time; 0 stands for no limit.
pub fn steps_within(timeout: Duration) -> u64 {
    if timeout.is_zero() {
        return MAX_STEPS;
    }
    let millis = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
    (millis.saturating_mul(STEPS_PER_SECOND) / 1000).clamp(1, MAX_STEPS)
}

impl Allocator {
    /// The allocations of the claims on a node, in their order; `None` if they cannot be allocated there.
    ///
    /// # Errors
    /// See [`AllocateError`].
    pub fn allocate(
        &self,
        node: &Node,
        claims: &[Arc<ResourceClaim>],
    ) -> Result<Option<Vec<AllocationResult>>, AllocateError> {
        let pools = pools::gather_pools(&self.slices, node, self.features)?;
        let mut search = Search::new(self, node, claims, &pools);
        search.validate()?;
        if search.run()? {
            return search.into_results(node).map(Some);
        }
        if pools.iter().any(|pool| pool.invalid.is_some()) {
            return Err(AllocateError::OnNode("invalid resource pools were encountered".to_owned()));
        }
        Ok(None)
    }

    /// The pools with devices for a node.
    ///
    /// # Errors
    /// A node selector of a slice cannot be parsed.
    pub fn pools(&self, node: &Node) -> Result<Vec<Pool<'_>>, AllocateError> {
        pools::gather_pools(&self.slices, node, self.features)
    }
}

#[cfg(test)]
mod tests;
