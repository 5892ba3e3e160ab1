//! Devices that count against the node's own resources, such as CPU (KEP-5517, gate DRANodeAllocatableResources).
//!
//! Follows `nodeallocatabledynamicresources.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::binding::latest_pod;
use super::hints::claims_of;
use super::state::{StateData, read};
use crate::api::objects::{
    AllocationResult, Device, DeviceRequestAllocationResult, NodeAllocatableResourceClaimStatus, Pod,
    ResourceClaim, ResourceList,
};
use crate::api::{NamespacedName, Quantity, Str, Uid};
use crate::framework::pod_resources::pod_requests;
use crate::framework::{Code, CycleState, Handle, NodeInfo, RequestOptions, Resource, Status};
use crate::plugins::helper::devices::DeviceSlices;

/// What the devices that Filter has found on a node take from it; nothing where the plugin was not asked
/// (`ExtractPodNodeAllocatableResourceClaimStatus`).
pub fn node_allocatable_claim_statuses(
    state: &CycleState,
    node_name: &str,
) -> Vec<NodeAllocatableResourceClaimStatus> {
    let found = read(state).ok().and_then(|data| data.nodes.get(node_name));
    found.map(|found| found.statuses.clone()).unwrap_or_default()
}

/// Whether the devices of an allocated claim are not used by another pod of the node
/// (`validateNodeAllocatableDRAClaimSharing`).
///
/// # Errors
/// They are.
pub(super) fn check_sharing(pod: &Pod, node: &NodeInfo, claim: &ResourceClaim) -> Result<(), Status> {
    let name = &claim.metadata.name;
    let uses = |other: &Pod| {
        other.metadata.namespace == pod.metadata.namespace
            && other
                .status
                .node_allocatable_resource_claim_statuses
                .iter()
                .any(|status| status.resource_claim_name == *name)
    };
    let users: Vec<&Uid> =
        node.pods().iter().filter(|other| uses(&other.pod)).map(|other| other.uid()).collect();
    match users.as_slice() {
        [] => Ok(()),
        [one] if *one == pod.uid() => Ok(()),
        [_] => Err(Status::unresolvable(format!(
            "node allocatable resource claim {name} is already used by another pod"
        ))),
        _ => Err(Status::unresolvable(format!(
            "node allocatable resource claim {name} shared by multiple pods"
        ))),
    }
}

/// Whether the node has room for the pod with what its devices take, and how much that is
/// (`calculateAndCheckNodeAllocatableResources`).
///
/// # Errors
/// It has not, or it cannot be known.
pub(super) fn check(
    handle: &Handle<'_>,
    data: &StateData,
    pod: &Pod,
    node: &NodeInfo,
    results: &[AllocationResult],
    pod_level: bool,
) -> Result<Vec<NodeAllocatableResourceClaimStatus>, Status> {
    let Some(allocator) = &data.allocator else { return Ok(Vec::new()) };
    let slices = &allocator.slices;
    let has_mappings = |result: &DeviceRequestAllocationResult| {
        find_device(slices, &result.pool, &result.device)
            .is_ok_and(|device| !device.node_allocatable_resource_mappings.is_empty())
    };
    let is_shared = |index: usize| data.information.get(index).is_some_and(|of| of.shared.is_some());
    let (shared, new): (Vec<_>, Vec<_>) = data.claims.to_allocate().partition(|(index, _)| is_shared(*index));
    let claims: Vec<(&Arc<ResourceClaim>, &AllocationResult)> = new
        .into_iter()
        .chain(shared)
        .map(|(_, claim)| claim)
        .zip(results)
        .filter(|(_, allocation)| allocation.devices.results.iter().any(has_mappings))
        .collect();
    if claims.is_empty() {
        return Ok(Vec::new());
    }
    let named = claims_of(handle, pod)
        .map_err(|error| Status::error(format!("processing pod resource claims: {error}")))?;
    let named: BTreeMap<&str, Uid> =
        named.into_iter().map(|(name, claim)| (name, claim.metadata.uid.clone())).collect();
    let statuses = statuses(slices, pod, &claims, &named).map_err(Status::error)?;
    if let Some(unused) = statuses.iter().find(|status| status.containers.is_empty()) {
        return Err(Status::unresolvable(format!(
            "claim {}: node-allocatable resource claim not referenced by any container within the pod",
            unused.resource_claim_name
        )));
    }
    let mut with_devices = pod.clone();
    with_devices.status.node_allocatable_resource_claim_statuses = statuses.clone();
    let options =
        RequestOptions { use_status: false, pod_level, pod_level_status: false, device_claims: true };
    let total = pod_requests(&with_devices, options, None);
    check_pod_level(&with_devices, &total, options)?;
    fits(node, &Resource::from_list(&total))?;
    Ok(statuses)
}

/// A device by the names of its pool and its own; the driver does not count.
fn find_device<'a>(slices: &'a DeviceSlices, pool: &Str, name: &Str) -> Result<&'a Device, String> {
    let of_pool = slices.iter().filter(|slice| slice.spec.pool.name == *pool);
    let mut devices = of_pool.flat_map(|slice| &slice.spec.devices);
    devices
        .find(|device| device.name == *name)
        .ok_or_else(|| format!("device {name} not found in pool {pool}"))
}

/// What the devices of each claim take, and which containers use them (`buildNodeAllocatableDRAInfo`).
fn statuses(
    slices: &DeviceSlices,
    pod: &Pod,
    claims: &[(&Arc<ResourceClaim>, &AllocationResult)],
    named: &BTreeMap<&str, Uid>,
) -> Result<Vec<NodeAllocatableResourceClaimStatus>, String> {
    let mut all = Vec::new();
    for (claim, allocation) in claims {
        let mut resources = ResourceList::new();
        for result in &allocation.devices.results {
            let key = NamespacedName {
                namespace: pod.metadata.namespace.clone(),
                name: claim.metadata.name.clone(),
            };
            let of_device = |error: String| format!("claim {key}, device {}: {error}", result.device);
            let device = find_device(slices, &result.pool, &result.device).map_err(of_device)?;
            for (resource, amount) in amounts(device, result).map_err(of_device)? {
                resources.entry(resource).and_modify(|sum| *sum += amount).or_insert(amount);
            }
        }
        if resources.is_empty() {
            continue;
        }
        let uses = |name: &str| named.get(name) == Some(&claim.metadata.uid);
        let containers = pod.spec.init_containers.iter().chain(&pod.spec.containers);
        let containers = containers.flat_map(|container| {
            let used = container.resources.claims.iter().filter(|claim| uses(&claim.name));
            used.map(|_| container.name.clone())
        });
        all.push(NodeAllocatableResourceClaimStatus {
            resource_claim_name: claim.metadata.name.clone(),
            containers: containers.collect(),
            resources,
        });
    }
    all.sort_by(|a, b| a.resource_claim_name.cmp(&b.resource_claim_name));
    Ok(all)
}

/// What a device takes of each resource.
fn amounts(device: &Device, result: &DeviceRequestAllocationResult) -> Result<Vec<(Str, Quantity)>, String> {
    let mut amounts = Vec::new();
    for (resource, mapping) in &device.node_allocatable_resource_mappings {
        let Some(key) = mapping.capacity_key.as_ref().filter(|key| !key.is_empty()) else {
            amounts.push((resource.clone(), mapping.allocation_multiplier.unwrap_or(Quantity::ZERO)));
            continue;
        };
        if result.consumed_capacity.is_empty() {
            return Err(format!(
                "ConsumedCapacity is nil, but Capacity key '{key}' is set in NodeAllocatableResourceMappings for \
                 resource {resource}"
            ));
        }
        if let Some(consumed) = result.consumed_capacity.get(key) {
            let amount =
                mapping.allocation_multiplier.map_or(*consumed, |factor| consumed.multiplied(factor));
            amounts.push((resource.clone(), amount));
        }
    }
    Ok(amounts)
}

/// Whether what is requested for the pod as a whole covers its containers and devices.
fn check_pod_level(pod: &Pod, total: &ResourceList, options: RequestOptions) -> Result<(), Status> {
    let has_requests = pod.spec.resources.as_ref().is_some_and(|resources| !resources.requests.is_empty());
    if !options.pod_level || !has_requests {
        return Ok(());
    }
    let of_parts = pod_requests(pod, RequestOptions { pod_level: false, ..options }, None);
    let exceeds = |(name, of_pod): &(&Str, &Quantity)| of_parts.get(*name).is_some_and(|sum| sum > *of_pod);
    match total.iter().find(exceeds) {
        None => Ok(()),
        Some((name, _)) => Err(Status::unresolvable(format!(
            "pod level request for {name} is insufficient to cover the aggregated container and node-allocatable DRA \
             requests"
        ))),
    }
}

/// Whether that much is free on the node.
fn fits(node: &NodeInfo, requests: &Resource) -> Result<(), Status> {
    let (has, used) = (node.allocatable(), node.requested());
    let mut reasons = Vec::new();
    let mut code = Code::Unschedulable;
    let mut check = |name: &str, requested: i64, used: i64, capacity: i64, is_needed: bool| {
        if is_needed && requested > capacity.saturating_sub(used) {
            reasons.push(format!("Insufficient {name}"));
            if requested > capacity {
                code = Code::UnschedulableAndUnresolvable;
            }
        }
    };
    let is_some = |amount: i64| amount > 0;
    check("cpu", requests.milli_cpu, used.milli_cpu, has.milli_cpu, is_some(requests.milli_cpu));
    check("memory", requests.memory, used.memory, has.memory, is_some(requests.memory));
    check(
        "ephemeral-storage",
        requests.ephemeral_storage,
        used.ephemeral_storage,
        has.ephemeral_storage,
        is_some(requests.ephemeral_storage),
    );
    for (name, requested) in &requests.scalar_resources {
        let amount = |resource: &Resource| resource.scalar_resources.get(name).copied().unwrap_or(0);
        check(name, *requested, amount(used), amount(has), name.starts_with("hugepages-"));
    }
    if reasons.is_empty() { Ok(()) } else { Err(Status::with_reasons(code, reasons)) }
}

/// The pod with what its devices take in its status.
///
/// # Errors
/// The pod was assumed with something else.
pub(super) fn status_patch(
    handle: &Handle<'_>,
    pod: &Pod,
    statuses: Vec<NodeAllocatableResourceClaimStatus>,
) -> Result<Pod, Status> {
    if pod.status.node_allocatable_resource_claim_statuses != statuses {
        return Err(Status::error("assumed pod status does not match calculated status to be patched"));
    }
    let mut patched = latest_pod(handle, pod);
    patched.status.node_allocatable_resource_claim_statuses = statuses;
    Ok(patched)
}
