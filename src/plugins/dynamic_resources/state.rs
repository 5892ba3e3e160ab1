//! What the plugin remembers within an attempt (`stateData`).
//!
//! Filter may not change the state, so what it finds for a node goes into [`NodeAllocations`], which all copies of the
//! state share. That is safe since a finding follows from the state and the cycle's snapshot alone: whoever asks again
//! finds the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::allocator::Allocator;
use super::binding::Binding;
use super::claim_store::ClaimStore;
use crate::api::Str;
use crate::api::node_selector::NodeSelector;
use crate::api::objects::{
    AllocationResult, ContainerExtendedResourceRequest, Node, NodeAllocatableResourceClaimStatus,
    ResourceClaim,
};
use crate::framework::{CycleState, Status};
use crate::plugins::helper::devices::ExtendedResources;

/// What PreFilter has found, and what later points add.
#[derive(Clone, Debug, Default)]
pub(super) struct StateData {
    pub claims: ClaimStore,
    /// The scalar resources that the pod requests, if some are devices.
    pub scalar_resources: BTreeMap<Str, i64>,
    /// The classes behind extended resources.
    pub extended_resources: Arc<ExtendedResources>,
    /// Absent if all claims are allocated.
    pub allocator: Option<Arc<Allocator>>,
    /// One for each claim.
    pub information: Vec<ClaimInformation>,
    pub nodes: Arc<NodeAllocations>,
    /// How far PreBind has come.
    pub binding: Binding,
}

/// What is known of a claim.
#[derive(Clone, Debug, Default)]
pub(super) struct ClaimInformation {
    /// Where an allocated claim can be used.
    pub available_on_nodes: Option<NodeSelector>,
    /// What another member of the pod group has reserved for it in this cycle.
    pub shared: Option<AllocationResult>,
    /// What Reserve has taken for it, and PreBind writes.
    pub allocation: Option<AllocationResult>,
}

impl ClaimInformation {
    /// Whether the claim, if it is allocated, can be used on the node.
    pub(super) fn is_available_on(&self, node: &Node) -> bool {
        self.available_on_nodes.as_ref().is_none_or(|selector| selector.matches(node))
    }
}

/// What Filter has found for a node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeAllocation {
    /// One for each claim that is to be allocated.
    pub results: Vec<AllocationResult>,
    /// The claim for extended resources, as the node needs it.
    pub special: Option<Arc<ResourceClaim>>,
    /// Which container gets which device.
    pub mappings: Vec<ContainerExtendedResourceRequest>,
    /// What the devices take from the node's own resources.
    pub statuses: Vec<NodeAllocatableResourceClaimStatus>,
}

/// What Filter has found, by node.
#[derive(Debug, Default)]
pub(super) struct NodeAllocations(Mutex<BTreeMap<Str, Arc<NodeAllocation>>>);

impl NodeAllocations {
    /// Keeps what was found for a node.
    pub(super) fn put(&self, node: &Str, found: NodeAllocation) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.insert(node.clone(), Arc::new(found));
    }

    /// What was found for a node.
    pub(super) fn get(&self, node: &str) -> Option<Arc<NodeAllocation>> {
        let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.get(node).cloned()
    }
}

/// What PreFilter has left.
///
/// # Errors
/// PreFilter was not asked (`fwk.ErrNotFound`).
pub(super) fn read(state: &CycleState) -> Result<&StateData, Status> {
    state.read::<StateData>().ok_or_else(not_found)
}

/// The same, to change.
///
/// # Errors
/// PreFilter was not asked (`fwk.ErrNotFound`).
pub(super) fn read_mut(state: &mut CycleState) -> Result<&mut StateData, Status> {
    state.read_mut::<StateData>().ok_or_else(not_found)
}

fn not_found() -> Status {
    Status::error("not found")
}
