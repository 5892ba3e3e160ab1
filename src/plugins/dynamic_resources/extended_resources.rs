//! Extended resources that devices stand behind: the claim that a pod gets for them (KEP-5004).
//!
//! Follows `extendeddynamicresources.go`. Where a node offers the resource by a device plugin, nothing is claimed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::allocator::request::EXACT_COUNT;
use super::claim_store::SPECIAL_CLAIM_NAME;
use super::state::StateData;
use crate::api::objects::{
    Container, ContainerExtendedResourceRequest, DeviceRequest, ExactDeviceRequest, ObjectMeta,
    OwnerReference, Pod, ResourceClaim,
};
use crate::api::{ObjectStore, Str, Uid};
use crate::framework::{NodeInfo, PodResources, RequestOptions, Status};
use crate::plugins::helper::devices::{
    DeviceState, EXTENDED_RESOURCE_CLAIM_ANNOTATION, ExtendedResources, may_be_devices,
};

/// The claim for the extended resources of a pod, and its scalar resources; nothing if none of them is a device
/// (`preFilterExtendedResources`). A claim from an earlier attempt is given as it is.
pub(super) fn claim_of_pod(
    devices: &DeviceState,
    objects: &ObjectStore,
    pod: &Pod,
) -> Option<(Arc<ResourceClaim>, BTreeMap<Str, i64>)> {
    if devices.extended_resources.is_empty() {
        return None;
    }
    let requests = PodResources::with_options(pod, RequestOptions::default().of_spec()).requests;
    let is_device = |(name, amount): (&Str, &i64)| {
        *amount != 0 && may_be_devices(name) && devices.extended_resources.class(name).is_some()
    };
    if !requests.scalar_resources.iter().any(is_device) {
        return None;
    }
    let known = devices.claims.of_pod(objects, &pod.metadata.name, pod.uid());
    let claim = known.cloned().unwrap_or_else(|| Arc::new(new_claim(pod)));
    Some((claim, requests.scalar_resources))
}

/// A claim without requests, which each node fills in its own way.
fn new_claim(pod: &Pod) -> ResourceClaim {
    let owner = OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: pod.metadata.name.to_string(),
        uid: pod.uid().to_string(),
        controller: true,
    };
    let annotation = (Str::from(EXTENDED_RESOURCE_CLAIM_ANNOTATION), Str::from("true"));
    ResourceClaim {
        metadata: ObjectMeta {
            namespace: pod.metadata.namespace.clone(),
            name: Str::from(SPECIAL_CLAIM_NAME),
            // Stands for the claim among those in flight until the server gives it a UID of its own.
            uid: Uid::from(format!("extended-resources-of-{}", pod.uid())),
            owner_references: vec![owner],
            annotations: [annotation].into(),
            ..ObjectMeta::default()
        },
        ..ResourceClaim::default()
    }
}

/// The prefix of the name that a server gives the claim.
pub(super) fn generate_name(pod: &Pod) -> Str {
    Str::from(format!("{}-extended-resources-", pod.metadata.name))
}

/// The claim as a node needs it, and what its containers get.
pub(super) type NodeClaim = (Arc<ResourceClaim>, Vec<ContainerExtendedResourceRequest>);

/// The claim for extended resources on a node; nothing if none is needed there (`filterExtendedResources`).
///
/// # Errors
/// The node has a resource neither by a device plugin nor by devices, or the claim is a stale one.
pub(super) fn claim_on_node(
    state: &StateData,
    pod: &Pod,
    node: &NodeInfo,
) -> Result<Option<NodeClaim>, Status> {
    let Some(claim) = state.claims.special() else { return Ok(None) };
    if !claim.spec.devices.requests.is_empty() {
        return Err(Status::unresolvable("cannot schedule extended resource claim"));
    }
    let mut of_devices = BTreeSet::new();
    let requested =
        state.scalar_resources.iter().filter(|(name, amount)| **amount != 0 && may_be_devices(name));
    for (name, _) in requested {
        let allocatable = node.allocatable().scalar_resources.get(name);
        if allocatable.is_none_or(|amount| *amount == 0) && state.extended_resources.class(name).is_some() {
            of_devices.insert(name);
        } else if allocatable.is_none() {
            return Err(Status::unresolvable("cannot fit resource"));
        }
    }
    if state.claims.has_none_of_user() && of_devices.is_empty() || claim.status.allocation.is_some() {
        return Ok(None);
    }
    let (requests, mappings) = requests_and_mappings(pod, &of_devices, &state.extended_resources);
    let mut claim = ResourceClaim::clone(claim);
    claim.spec.devices.requests = requests;
    Ok(Some((Arc::new(claim), mappings)))
}

/// A request, and its place among those of the same resource.
struct Wanted {
    name: Str,
    count: i64,
}

/// The requests for devices, and which of them serve which container (`createRequestsAndMappings`). Containers that
/// run only at the start use devices of those that come later; those that are not enough are asked for once.
fn requests_and_mappings(
    pod: &Pod,
    resources: &BTreeSet<&Str>,
    classes: &ExtendedResources,
) -> (Vec<DeviceRequest>, Vec<ContainerExtendedResourceRequest>) {
    let n_init = pod.spec.init_containers.len();
    let containers: Vec<&Container> = pod.spec.init_containers.iter().chain(&pod.spec.containers).collect();
    let is_short_lived =
        |i: usize, container: &Container| i < n_init && container.restart_policy.as_deref() != Some("Always");
    let mut requests: Vec<DeviceRequest> = Vec::new();
    let mut mappings = Vec::new();
    for resource in resources {
        let Some(class) = classes.class(resource) else { continue };
        let request = |wanted: &Wanted| device_request(wanted, &class.metadata.name);
        let mut long_lived: Vec<Option<Wanted>> = Vec::with_capacity(containers.len());
        for (i, container) in containers.iter().enumerate() {
            if is_short_lived(i, container) {
                long_lived.push(None);
                continue;
            }
            let (wanted, of_container) = wanted_by(i, container, resource, &[]);
            long_lived.push(wanted);
            mappings.extend(of_container);
        }
        let mut largest: Option<Wanted> = None;
        let mut short_lived_names = BTreeSet::new();
        let mut short_lived = Vec::new();
        for (i, container) in containers.iter().enumerate().filter(|(i, c)| is_short_lived(*i, c)) {
            let reusable = long_lived.get(i..).unwrap_or_default();
            let (wanted, of_container) = wanted_by(i, container, resource, reusable);
            short_lived.extend(of_container);
            if let Some(wanted) = wanted {
                short_lived_names.insert(wanted.name.clone());
                if largest.as_ref().is_none_or(|largest| largest.count < wanted.count) {
                    largest = Some(wanted);
                }
            }
        }
        if let Some(largest) = &largest {
            for mapping in &mut short_lived {
                if short_lived_names.contains(&mapping.request_name) {
                    mapping.request_name = largest.name.clone();
                }
            }
        }
        requests.extend(largest.iter().map(request));
        requests.extend(long_lived.iter().flatten().map(request));
        mappings.extend(short_lived);
    }
    requests.sort_by(|a, b| a.name.cmp(&b.name));
    (requests, mappings)
}

fn device_request(wanted: &Wanted, class: &Str) -> DeviceRequest {
    DeviceRequest {
        name: wanted.name.clone(),
        exactly: Some(ExactDeviceRequest {
            device_class_name: class.clone(),
            allocation_mode: Str::from(EXACT_COUNT),
            count: wanted.count,
            ..ExactDeviceRequest::default()
        }),
        first_available: Vec::new(),
    }
}

/// What a container needs beyond devices that it can reuse, and all the requests that serve it.
fn wanted_by(
    index: usize,
    container: &Container,
    resource: &Str,
    reusable: &[Option<Wanted>],
) -> (Option<Wanted>, Vec<ContainerExtendedResourceRequest>) {
    let mut mappings = Vec::new();
    let Some(amount) = container.resources.requests.get(resource) else { return (None, mappings) };
    let Some(count) = amount.as_int64().filter(|count| *count != 0) else { return (None, mappings) };
    let mapping = |request: &Str| ContainerExtendedResourceRequest {
        container_name: container.name.clone(),
        resource_name: resource.clone(),
        request_name: request.clone(),
    };
    let mut sum = 0_i64;
    for other in reusable.iter().flatten() {
        sum = sum.saturating_add(other.count);
        mappings.push(mapping(&other.name));
        if sum >= count {
            return (None, mappings);
        }
    }
    let place = container.resources.requests.keys().position(|name| name == resource).unwrap_or(0);
    let name = Str::from(format!("container-{index}-request-{place}"));
    mappings.push(mapping(&name));
    (Some(Wanted { name, count: count - sum }), mappings)
}
