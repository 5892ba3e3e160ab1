//! PreFilter and Filter: whether a pod's claims are there, and whether a node has devices for them.
//!
//! Follows `PreFilter` and `Filter` of `dynamicresources.go`.

use std::sync::Arc;

use super::DynamicResources;
use super::allocator::request::Request;
use super::allocator::{AllocateError, Allocator};
use super::claim_store::{ClaimStore, pod_claims};
use super::state::{ClaimInformation, NodeAllocation, StateData, read};
use super::{binding_conditions, extended_resources, node_allocatable};
use crate::api::Time;
use crate::api::node_selector::NodeSelector;
use crate::api::objects::{AllocationResult, Node, Pod, ResourceClaim};
use crate::framework::{
    CycleState, FilterPlugin, Handle, NodeInfo, Plugin, PodInfo, PreFilterPlugin, PreFilterResult, Status,
};
use crate::plugins::helper::devices::DeviceState;

/// What Filter says where an allocated claim cannot be used.
pub(super) const NOT_AVAILABLE: &str = "resourceclaim not available on the node";

impl PreFilterPlugin for DynamicResources {
    fn pre_filter(
        &self,
        handle: &Handle<'_>,
        state: &mut CycleState,
        pod: &PodInfo,
        _: &[Arc<NodeInfo>],
    ) -> (Option<PreFilterResult>, Status) {
        let cycle = state.pod_group_cycle;
        let found = handle.state(|devices: &DeviceState| self.find_claims(handle, devices, &pod.pod, cycle));
        let (data, status) = match found.unwrap_or_else(|| Ok(StateData::default())) {
            Ok(data) if data.claims.is_empty() => (data, Status::skip()),
            Ok(data) => (data, Status::SUCCESS),
            // Later points find that there is nothing to do.
            Err(status) => (StateData::default(), status),
        };
        state.write(self.name(), data);
        (None, status)
    }
}

impl DynamicResources {
    /// The claims of a pod, and what is needed to allocate them.
    fn find_claims(
        &self,
        handle: &Handle<'_>,
        devices: &DeviceState,
        pod: &Pod,
        pod_group_cycle: Option<u64>,
    ) -> Result<StateData, Status> {
        let of_user = pod_claims(&devices.claims, handle.objects, pod).map_err(Status::unresolvable)?;
        let of_user = of_user.into_iter().map(|(_, claim)| claim).collect();
        let (special, scalar_resources) =
            extended_resources::claim_of_pod(devices, handle.objects, pod).unzip();
        let claims = ClaimStore::new(of_user, special);
        let mut data = StateData {
            scalar_resources: scalar_resources.unwrap_or_default(),
            extended_resources: Arc::clone(&devices.extended_resources),
            ..StateData::default()
        };
        for (index, claim) in claims.all().iter().enumerate() {
            let mut information = ClaimInformation::default();
            match &claim.status.allocation {
                Some(allocation) => {
                    if let Some(selector) = &allocation.node_selector {
                        let selector = NodeSelector::new(selector, "").map_err(Status::error)?;
                        information.available_on_nodes = Some(selector);
                    }
                }
                None => {
                    let shared = devices.claims.shared_allocation(&claim.metadata.uid, pod_group_cycle);
                    information.shared = shared.cloned();
                    if information.shared.is_none() {
                        self.check_unallocated(devices, claim, claims.is_special(index))?;
                    }
                }
            }
            data.information.push(information);
        }
        if claims.to_allocate().next().is_some() {
            data.allocator = Some(Arc::new(Allocator {
                features: self.features,
                allocated: devices.claims.allocated_state(),
                slices: Arc::clone(&devices.slices),
                classes: Arc::clone(&devices.classes),
                selectors: self.selectors.clone(),
                max_steps: self.max_steps,
            }));
        }
        data.claims = claims;
        Ok(data)
    }

    /// Whether a claim that is to be allocated can be allocated at all.
    fn check_unallocated(
        &self,
        devices: &DeviceState,
        claim: &ResourceClaim,
        is_special: bool,
    ) -> Result<(), Status> {
        let key = claim.metadata.key();
        if devices.claims.pending_allocation(&claim.metadata.uid).is_some() {
            let reason = format!("resource claim {key} is in the process of being allocated");
            return Err(Status::unresolvable(reason));
        }
        if is_special {
            return Ok(());
        }
        for request in &claim.spec.devices.requests {
            let name = &request.name;
            let has_lists = self.features.prioritized_list;
            if request.exactly.is_none() && !request.first_available.is_empty() && !has_lists {
                return Err(Status::unresolvable(format!(
                    "resource claim {key}, request {name}: has subrequests, but the DRAPrioritizedList feature is disabled"
                )));
            }
            if let Some(exactly) = &request.exactly {
                check_class(devices, &exactly.device_class_name, name)?;
            } else if request.first_available.is_empty() {
                let reason = format!("resource claim {key}, request {name}: unknown request type");
                return Err(Status::unresolvable(reason));
            }
            for alternative in Request::alternatives(request).filter(|_| request.exactly.is_none()) {
                check_class(devices, alternative.class, &alternative.full_name())?;
            }
        }
        Ok(())
    }
}

fn check_class(devices: &DeviceState, class: &str, request: &str) -> Result<(), Status> {
    if class.is_empty() {
        return Err(Status::error(format!("request {request}: unsupported request type")));
    }
    if devices.classes.contains_key(class) {
        return Ok(());
    }
    Err(Status::unresolvable(format!("request {request}: device class {class} does not exist")))
}

impl FilterPlugin for DynamicResources {
    fn filter(&self, handle: &Handle<'_>, state: &CycleState, pod: &PodInfo, node: &NodeInfo) -> Status {
        let found = read(state).and_then(|data| self.filter_node(handle, data, &pod.pod, node));
        found.err().unwrap_or_default()
    }
}

impl DynamicResources {
    fn filter_node(
        &self,
        handle: &Handle<'_>,
        data: &StateData,
        pod: &Pod,
        node_info: &NodeInfo,
    ) -> Result<(), Status> {
        let Some(node) = node_info.node().filter(|_| !data.claims.is_empty()) else { return Ok(()) };
        let (special, mappings) = extended_resources::claim_on_node(data, pod, node_info)?.unzip();
        if special.is_none() && data.claims.has_none_of_user() {
            return Ok(());
        }
        if self.node_allocatable {
            let claims = data.claims.all().iter().zip(&data.information);
            for (claim, information) in claims {
                if claim.status.allocation.is_some() && information.is_available_on(node) {
                    node_allocatable::check_sharing(pod, node_info, claim)?;
                }
            }
        }
        let mut allocation =
            NodeAllocation { special, mappings: mappings.unwrap_or_default(), ..Default::default() };
        if let Some(allocator) = &data.allocator {
            allocation.results = allocate(allocator, data, &allocation, node)?;
            if self.node_allocatable {
                allocation.statuses = node_allocatable::check(
                    handle,
                    data,
                    pod,
                    node_info,
                    &allocation.results,
                    self.pod_level,
                )?;
            }
        }
        if !self.unavailable_claims(data, node, handle.now).is_empty() {
            return Err(Status::unresolvable(NOT_AVAILABLE));
        }
        if data.allocator.is_some() {
            data.nodes.put(node.name(), allocation);
        }
        Ok(())
    }

    /// The allocated claims that cannot be used on the node: they are elsewhere, or their devices will not be ready.
    pub(super) fn unavailable_claims(&self, data: &StateData, node: &Node, now: Time) -> Vec<usize> {
        let is_unavailable = |claim: &ResourceClaim, information: &ClaimInformation| {
            if !information.is_available_on(node) {
                return true;
            }
            if claim.status.allocation.is_none() || !self.features.device_binding_and_status {
                return false;
            }
            match binding_conditions::is_ready(claim) {
                Ok(is_ready) => {
                    !is_ready && binding_conditions::has_timed_out(claim, self.binding_timeout, now)
                }
                Err(_) => true,
            }
        };
        let claims = data.claims.all().iter().zip(&data.information).enumerate();
        let claims = claims.filter(|(_, (claim, information))| is_unavailable(claim, information));
        claims.map(|(index, _)| index).collect()
    }
}

/// The allocations of the claims that need one: new ones, then those that are shared.
fn allocate(
    allocator: &Allocator,
    data: &StateData,
    on_node: &NodeAllocation,
    node: &Arc<Node>,
) -> Result<Vec<AllocationResult>, Status> {
    let shared = |index: usize| data.information.get(index)?.shared.as_ref();
    let claims: Vec<Arc<ResourceClaim>> = data
        .claims
        .to_allocate()
        .filter(|(index, _)| shared(*index).is_none())
        .map(|(index, claim)| match &on_node.special {
            Some(special) if data.claims.is_special(index) => Arc::clone(special),
            _ => Arc::clone(claim),
        })
        .collect();
    match allocator.allocate(node, &claims) {
        Ok(Some(mut results)) => {
            // What is shared comes last, wherever its claim stands.
            results.extend(data.claims.to_allocate().filter_map(|(index, _)| shared(index)).cloned());
            Ok(results)
        }
        Ok(None) => Err(Status::unresolvable("cannot allocate all claims")),
        Err(AllocateError::OnNode(reason)) => Err(Status::unresolvable(reason)),
        Err(error @ AllocateError::TimedOut) => Err(Status::error(format!("node {}: {error}", node.name()))),
        Err(AllocateError::Failed(reason)) => Err(Status::error(reason)),
    }
}
