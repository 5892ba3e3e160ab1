//! How much of each scored resource a node has, and how much of it is taken with and without the pod.
//!
//! Follows `plugins/noderesources/resource_allocation.go`.

use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::{DeviceClass, Node, Pod, ResourceList};
use crate::config::plugin_args::ResourceSpec;
use crate::config::{FeatureGates, Gate};
use crate::framework::device_cel::{self, SelectorCache};
use crate::framework::pod_resources::{non_zero_defaults, pod_requests};
use crate::framework::resource::{is_scalar_resource_name, names};
use crate::framework::{Handle, NodeInfo, RequestOptions, Resource};
use crate::plugins::helper::devices::{
    AllocatedState, DeviceSlices, DeviceState, ExtendedResources, IndexedSlice, PoolId, device_matches,
    may_be_devices, node_matches,
};

/// One resource of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Amounts {
    /// Taken, with the pod.
    pub requested: i64,
    /// Taken, without the pod.
    pub allocated: i64,
    /// What the node has; never 0.
    pub allocatable: i64,
    /// The resource's weight.
    pub weight: i64,
}

impl Amounts {
    const fn none(weight: i64) -> Self {
        Self { requested: 0, allocated: 0, allocatable: 0, weight }
    }
}

/// The resources that count in a score, and how.
#[derive(Clone, Debug)]
pub(super) struct ResourceAllocationScorer {
    resources: Vec<ScoredResource>,
    options: RequestOptions,
    /// Requests that are absent count as such; otherwise CPU and memory have defaults.
    use_requested: bool,
    selectors: SelectorCache,
}

/// What the devices behind scored resources are judged by.
#[derive(Clone, Debug)]
pub(super) struct ScoredDevices {
    allocated: AllocatedState,
    slices: Arc<DeviceSlices>,
    classes: Arc<ExtendedResources>,
}

#[derive(Clone, Debug)]
struct ScoredResource {
    name: Str,
    amount: ScoredAmount,
    weight: i64,
    /// Such a resource does not count where the pod does not request it.
    is_scalar: bool,
}

/// Where the amount of a resource stands; found out once, for it is asked of every node.
#[derive(Clone, Copy, Debug)]
enum ScoredAmount {
    Cpu,
    Memory,
    EphemeralStorage,
    Scalar,
}

impl ScoredAmount {
    fn of(name: &str) -> Self {
        match name {
            names::CPU => Self::Cpu,
            names::MEMORY => Self::Memory,
            names::EPHEMERAL_STORAGE => Self::EphemeralStorage,
            _ => Self::Scalar,
        }
    }
}

impl ResourceAllocationScorer {
    /// The scorer of these resources; `options` tell how the pod to schedule counts.
    pub(super) fn new(
        resources: &[ResourceSpec],
        options: RequestOptions,
        use_requested: bool,
        gates: &FeatureGates,
    ) -> Self {
        let scored = |spec: &ResourceSpec| ScoredResource {
            name: Str::from(spec.name.as_str()),
            amount: ScoredAmount::of(&spec.name),
            weight: spec.weight,
            is_scalar: is_scalar_resource_name(&spec.name),
        };
        let selectors = SelectorCache::new(device_cel::Features {
            consumable_capacity: gates.is_enabled(Gate::DRAConsumableCapacity),
            list_type_attributes: gates.is_enabled(Gate::DRAListTypeAttributes),
        });
        Self { resources: resources.iter().map(scored).collect(), options, use_requested, selectors }
    }

    /// The devices as they are now, if a scored resource is one of devices.
    pub(super) fn devices(&self, handle: &Handle<'_>) -> Option<ScoredDevices> {
        let mut scalars = self.resources.iter().filter(|resource| resource.is_scalar).peekable();
        scalars.peek()?;
        let found = handle.state(|devices: &DeviceState| {
            let is_backed = |resource: &ScoredResource| {
                may_be_devices(&resource.name) && devices.extended_resources.class(&resource.name).is_some()
            };
            scalars.any(is_backed).then(|| ScoredDevices {
                allocated: devices.claims.allocated_state(),
                slices: Arc::clone(&devices.slices),
                classes: Arc::clone(&devices.extended_resources),
            })
        });
        found.flatten()
    }

    /// What the pod requests of each resource, in their order.
    pub(super) fn requests_of(&self, pod: &Pod) -> Vec<i64> {
        let defaults = (!self.use_requested).then(non_zero_defaults);
        let requests: ResourceList = pod_requests(pod, self.options, defaults.as_ref());
        let amount = |name: &str| match requests.get(name) {
            None => 0,
            Some(quantity) if name == names::CPU => quantity.milli_value(),
            Some(quantity) => quantity.value(),
        };
        self.resources.iter().map(|resource| amount(&resource.name)).collect()
    }

    /// The resources that count on this node: those that it has, and of the scalar ones those that the pod
    /// requests.
    pub(super) fn amounts<'a>(
        &'a self,
        node: &'a NodeInfo,
        requests: &'a [i64],
        devices: Option<&'a ScoredDevices>,
    ) -> impl Iterator<Item = Amounts> + Clone + 'a {
        self.resources.iter().zip(requests).filter_map(move |(resource, request)| {
            if resource.is_scalar && *request == 0 {
                return None;
            }
            let (allocatable, allocated) = self.of_node(node, resource, devices);
            (allocatable != 0).then(|| Amounts {
                requested: allocated.wrapping_add(*request),
                allocated,
                allocatable,
                weight: resource.weight,
            })
        })
    }

    /// The resources that count on several nodes taken together, with these pods on them.
    pub(super) fn amounts_of_all<'a>(
        &self,
        pods: impl Iterator<Item = &'a Pod>,
        nodes: &[Arc<NodeInfo>],
    ) -> Vec<Amounts> {
        let mut sums: Vec<Amounts> =
            self.resources.iter().map(|resource| Amounts::none(resource.weight)).collect();
        for pod in pods {
            for (sum, request) in sums.iter_mut().zip(self.requests_of(pod)) {
                sum.requested = sum.requested.wrapping_add(request);
            }
        }
        for node in nodes {
            for (sum, resource) in sums.iter_mut().zip(&self.resources) {
                if resource.is_scalar && sum.requested == 0 {
                    continue;
                }
                let (allocatable, allocated) = self.of_node(node, resource, None);
                if allocatable != 0 {
                    sum.allocatable = sum.allocatable.wrapping_add(allocatable);
                    sum.allocated = sum.allocated.wrapping_add(allocated);
                    sum.requested = sum.requested.wrapping_add(allocated);
                }
            }
        }
        sums.retain(|sum| sum.allocatable != 0);
        sums
    }

    /// What the node has of a resource, and what is taken of it.
    fn of_node(
        &self,
        node: &NodeInfo,
        resource: &ScoredResource,
        devices: Option<&ScoredDevices>,
    ) -> (i64, i64) {
        let (has, requested) = (node.allocatable(), node.requested());
        let taken = if self.use_requested { requested } else { node.non_zero_requested() };
        let scalar = |amounts: &Resource| amounts.scalar_resources.get(&resource.name).copied().unwrap_or(0);
        match resource.amount {
            ScoredAmount::Cpu => (has.milli_cpu, taken.milli_cpu),
            ScoredAmount::Memory => (has.memory, taken.memory),
            ScoredAmount::EphemeralStorage => (has.ephemeral_storage, requested.ephemeral_storage),
            ScoredAmount::Scalar => match devices.filter(|_| scalar(has) == 0) {
                Some(devices) => self.of_devices(devices, node, &resource.name),
                None => (scalar(has), scalar(requested)),
            },
        }
    }

    /// The devices of the node behind a resource, and those of them that are allocated; none where that cannot be
    /// found out (`calculateDRAExtendedResourceAllocatableRequest`).
    fn of_devices(&self, devices: &ScoredDevices, node: &NodeInfo, resource: &str) -> (i64, i64) {
        // DIVERGES: kube-scheduler exits where NodeResourcesBalancedAllocation scores devices of a class with selectors.
        let (Some(class), Some(node)) = (devices.classes.class(resource), node.node()) else { return (0, 0) };
        self.count_devices(devices, node, class).unwrap_or((0, 0))
    }

    fn count_devices(
        &self,
        devices: &ScoredDevices,
        node: &Node,
        class: &DeviceClass,
    ) -> Result<(i64, i64), String> {
        let (mut capacity, mut allocated) = (0, 0);
        for slice in devices.slices.for_node(node.name()) {
            let spec = &slice.slice.spec;
            let is_per_device = spec.per_device_node_selection == Some(true);
            let is_named = spec.node_name.as_ref().is_some_and(|name| !name.is_empty());
            let (name, selector) = (spec.node_name.as_ref(), spec.node_selector.as_ref());
            if !is_per_device
                && (is_named || selector.is_some())
                && spec.all_nodes != Some(true)
                && !node_matches(node, name, None, selector)?
            {
                continue;
            }
            let in_use = devices.allocated.pool(&PoolId::of(&slice.slice));
            for (index, device) in spec.devices.iter().enumerate() {
                if is_per_device && !device_matches(node, device)? {
                    continue;
                }
                if self.is_of_class(slice, index, class)? {
                    capacity += 1;
                    let is_allocated =
                        in_use.iter().flatten().any(|of_pool| of_pool.is_allocated(&device.name));
                    allocated += i64::from(is_allocated);
                }
            }
        }
        Ok((capacity, allocated))
    }

    fn is_of_class(&self, slice: &IndexedSlice, index: usize, class: &DeviceClass) -> Result<bool, String> {
        for selector in class.spec.selectors.iter().filter_map(|selector| selector.cel.as_ref()) {
            let selector = self.selectors.get_or_compile(&selector.expression);
            let selector = selector.map_err(|error| error.to_string())?;
            if !slice.matches_as_whole(index, &selector).map_err(|error| error.to_string())? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
