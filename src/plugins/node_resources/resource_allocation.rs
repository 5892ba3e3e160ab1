//! How much of each scored resource a node has, and how much of it is taken with and without the pod.
//!
//! Follows `plugins/noderesources/resource_allocation.go`.

use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::{Pod, ResourceList};
use crate::config::plugin_args::ResourceSpec;
use crate::framework::pod_resources::{non_zero_defaults, pod_requests};
use crate::framework::resource::{is_scalar_resource_name, names};
use crate::framework::{NodeInfo, RequestOptions, Resource};

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
    pub(super) fn new(resources: &[ResourceSpec], options: RequestOptions, use_requested: bool) -> Self {
        let scored = |spec: &ResourceSpec| ScoredResource {
            name: Str::from(spec.name.as_str()),
            amount: ScoredAmount::of(&spec.name),
            weight: spec.weight,
            is_scalar: is_scalar_resource_name(&spec.name),
        };
        Self { resources: resources.iter().map(scored).collect(), options, use_requested }
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
    ) -> impl Iterator<Item = Amounts> + Clone + 'a {
        self.resources.iter().zip(requests).filter_map(|(resource, request)| {
            if resource.is_scalar && *request == 0 {
                return None;
            }
            let (allocatable, allocated) = self.of_node(node, resource);
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
                let (allocatable, allocated) = self.of_node(node, resource);
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
    fn of_node(&self, node: &NodeInfo, resource: &ScoredResource) -> (i64, i64) {
        let (has, requested) = (node.allocatable(), node.requested());
        let taken = if self.use_requested { requested } else { node.non_zero_requested() };
        let scalar = |amounts: &Resource| amounts.scalar_resources.get(&resource.name).copied().unwrap_or(0);
        match resource.amount {
            ScoredAmount::Cpu => (has.milli_cpu, taken.milli_cpu),
            ScoredAmount::Memory => (has.memory, taken.memory),
            ScoredAmount::EphemeralStorage => (has.ephemeral_storage, requested.ephemeral_storage),
            ScoredAmount::Scalar => (scalar(has), scalar(requested)),
        }
    }
}
