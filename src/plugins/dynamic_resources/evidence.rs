//! Why a node has or has not the devices that a pod claims: every request against every device, for a person.
//!
//! Decides nothing. It looks at each device by itself: whether a combination of devices satisfies constraints, counters
//! and the other requests is what the search finds out.

use std::sync::Arc;

use super::allocator::capacity::has_capacity_left;
use super::allocator::request::Request;
use super::allocator::{Allocator, Pool, is_repelled};
use super::binding_conditions;
use super::extended_resources;
use super::state::{self, StateData};
use crate::api::objects::{Device, DeviceTaint, Node, Pod, ResourceClaim};
use crate::api::{NamespacedName, Quantity, Str, Time};
use crate::framework::{CycleState, NodeInfo};
use crate::plugins::helper::devices::{AllocatedState, DeviceId, IndexedSlice, PoolId, device_matches};

/// The devices of a node as the claims of a pod see them.
#[derive(Clone, Debug, PartialEq)]
pub struct DevicesEvidence {
    /// The pools with devices for the node, in the order in which they are searched.
    pub pools: Vec<PoolEvidence>,
    /// The claims of the pod.
    pub claims: Vec<ClaimEvidence>,
}

/// A pool, and why nothing is taken from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEvidence {
    /// Driver and name.
    pub id: PoolId,
    /// Absent if devices can be taken.
    pub problem: Option<String>,
}

/// A claim of the pod.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimEvidence {
    /// Which claim; the one for extended resources may exist only in memory.
    pub claim: NamespacedName,
    /// How far its allocation has come.
    pub allocation: AllocationEvidence,
    /// What it asks for; empty if it is allocated.
    pub requests: Vec<RequestEvidence>,
}

/// How far the allocation of a claim has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocationEvidence {
    /// It has these devices.
    Allocated {
        /// The devices.
        devices: Vec<DeviceId>,
        /// Whether they can be used on the node.
        is_available: bool,
    },
    /// Devices are to be found.
    Needed,
}

/// A request, or an alternative of one, against every device.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestEvidence {
    /// `request` or `request/alternative`.
    pub name: Str,
    /// The class.
    pub class: Str,
    /// `ExactCount` or `All`.
    pub mode: Str,
    /// How many, with `ExactCount`.
    pub count: i64,
    /// The devices, in the order in which they are tried.
    pub devices: Vec<DeviceEvidence>,
}

/// A device in the eyes of a request.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceEvidence {
    /// The device.
    pub id: DeviceId,
    /// What each selector says, those of the class first.
    pub selectors: Vec<SelectorEvidence>,
    /// Whether the device serves the node, where that is said for each device.
    pub is_on_node: bool,
    /// The claims that have it, or a share of it.
    pub holders: Vec<NamespacedName>,
    /// Whether a claim has all of it.
    pub is_taken: bool,
    /// The taint that keeps it away, as `key=value:effect`.
    pub taint: Option<String>,
    /// What it would take from counters, and what is left of them.
    pub counters: Vec<CounterEvidence>,
    /// Whether enough of its capacity is left.
    pub has_capacity: bool,
    /// Whether the request could take it if it needed no other device.
    pub is_usable: bool,
}

/// A selector and its verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorEvidence {
    /// The expression.
    pub expression: Str,
    /// Whether it is the class's, not the request's.
    pub is_of_class: bool,
    /// What it says, or why it says nothing.
    pub verdict: Result<bool, String>,
}

/// A counter that a device takes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterEvidence {
    /// The counter set.
    pub set: Str,
    /// The counter.
    pub counter: Str,
    /// How much the device takes.
    pub needed: Quantity,
    /// How much is left; may be less than nothing.
    pub left: Quantity,
}

/// What the claims of a pod find on a node, by what the plugin keeps during the attempt; absent if PreFilter has not got
/// to it or the pod has no claims. `holders` tells which claims have a device.
///
/// # Errors
/// Why the claims cannot be looked at: a node selector of a slice cannot be read.
pub fn explain(
    state: &CycleState,
    pod: &Pod,
    node_info: &NodeInfo,
    holders: impl Fn(&DeviceId) -> Vec<NamespacedName>,
) -> Option<Result<DevicesEvidence, String>> {
    let data = state::read(state).ok().filter(|data| !data.claims.is_empty())?;
    let node = node_info.node()?;
    let explainer = Explainer { data, node, holders };
    Some(explainer.explain(pod, node_info))
}

/// A pod in PreBind that waits for its devices (KEP-5007).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceWait {
    /// When the plugin gives up.
    pub until: Time,
    /// When it looks again.
    pub next_look: Time,
    /// The devices that have conditions.
    pub devices: Vec<WaitingDevice>,
}

/// A device that has to become ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingDevice {
    /// Which device.
    pub id: DeviceId,
    /// The conditions that are not true yet.
    pub missing: Vec<Str>,
    /// The conditions of failure that are true.
    pub failed: Vec<Str>,
}

/// What the pod of this state waits for, if PreBind waits for devices; as of the last look.
pub fn device_wait(state: &CycleState) -> Option<DeviceWait> {
    let data = state::read(state).ok()?;
    let (until, next_look) = data.binding.wait_for_devices()?;
    let mut devices = Vec::new();
    for claim in data.claims.all() {
        let results = binding_conditions::results(claim).iter();
        for result in results.filter(|result| !result.binding_conditions.is_empty()) {
            let (missing, failed) = binding_conditions::missing_and_failed(claim, result);
            devices.push(WaitingDevice { id: DeviceId::of(result), missing, failed });
        }
    }
    Some(DeviceWait { until, next_look, devices })
}

/// Where a device stands.
#[derive(Clone, Copy)]
struct DevicePlace<'a> {
    pool: &'a Pool<'a>,
    slice: &'a IndexedSlice,
    index: usize,
    device: &'a Device,
}

struct Explainer<'a, H> {
    data: &'a StateData,
    node: &'a Node,
    holders: H,
}

impl<H: Fn(&DeviceId) -> Vec<NamespacedName>> Explainer<'_, H> {
    fn explain(&self, pod: &Pod, node_info: &NodeInfo) -> Result<DevicesEvidence, String> {
        let data = self.data;
        let mut claims: Vec<Arc<ResourceClaim>> = data.claims.of_user().to_vec();
        if data.claims.special().is_some()
            && let Ok(Some((claim, _))) = extended_resources::claim_on_node(data, pod, node_info)
        {
            claims.push(claim);
        }
        // Without an allocator all claims have their devices.
        let pools = match &data.allocator {
            Some(allocator) => allocator.pools(self.node).map_err(|error| error.to_string())?,
            None => Vec::new(),
        };
        let of_pool = |pool: &Pool<'_>| PoolEvidence { id: pool.id.clone(), problem: problem(pool) };
        Ok(DevicesEvidence {
            pools: pools.iter().map(of_pool).collect(),
            claims: claims.iter().map(|claim| self.claim(claim, &pools)).collect(),
        })
    }

    fn claim(&self, claim: &ResourceClaim, pools: &[Pool<'_>]) -> ClaimEvidence {
        let allocation = match &claim.status.allocation {
            Some(allocation) => AllocationEvidence::Allocated {
                devices: allocation.devices.results.iter().map(DeviceId::of).collect(),
                is_available: allocation.node_selector.as_ref().is_none_or(|selector| {
                    let selector = crate::api::node_selector::NodeSelector::new(selector, "");
                    selector.is_ok_and(|selector| selector.matches(self.node))
                }),
            },
            None => AllocationEvidence::Needed,
        };
        let is_needed = allocation == AllocationEvidence::Needed;
        let requests = claim.spec.devices.requests.iter().filter(|_| is_needed);
        let requests = requests.flat_map(Request::alternatives);
        let allocator = self.data.allocator.as_deref();
        let requests =
            requests.filter_map(|request| Some(self.request(allocator?, &request, pools))).collect();
        ClaimEvidence { claim: claim.metadata.key(), allocation, requests }
    }

    fn request(&self, allocator: &Allocator, request: &Request<'_>, pools: &[Pool<'_>]) -> RequestEvidence {
        let mut devices = Vec::new();
        for pool in pools.iter().filter(|pool| pool.is_usable()) {
            let counters = pool.available_counters(&allocator.allocated);
            for slice in pool.device_slices() {
                for (index, device) in slice.slice.spec.devices.iter().enumerate() {
                    let left = |set: &str, counter: &str| {
                        counters.get(set).and_then(|counters| counters.get(counter)).copied()
                    };
                    let place = DevicePlace { pool, slice, index, device };
                    devices.push(self.device(allocator, request, place, left));
                }
            }
        }
        RequestEvidence {
            name: request.full_name(),
            class: request.class.clone(),
            mode: Str::from(request.mode),
            count: request.count,
            devices,
        }
    }

    fn device(
        &self,
        allocator: &Allocator,
        request: &Request<'_>,
        DevicePlace { pool, slice, index, device }: DevicePlace<'_>,
        left: impl Fn(&str, &str) -> Option<Quantity>,
    ) -> DeviceEvidence {
        let id = DeviceId { pool: pool.id.clone(), device: device.name.clone() };
        let selectors = selectors(allocator, request, slice, index);
        let is_per_device = slice.slice.spec.per_device_node_selection == Some(true);
        let is_on_node = !is_per_device || device_matches(self.node, device).unwrap_or(false);
        let features = allocator.features;
        let taint = if features.device_taints { repelling(&device.taints, request) } else { None };
        let counters: Vec<CounterEvidence> = device
            .consumes_counters
            .iter()
            .flat_map(|taken| {
                taken.counters.iter().map(move |(name, counter)| (&taken.counter_set, name, counter))
            })
            .map(|(set, counter, taken)| CounterEvidence {
                set: set.clone(),
                counter: counter.clone(),
                needed: taken.value,
                left: left(set, counter).unwrap_or(Quantity::ZERO),
            })
            .collect();
        let AllocatedState { by_claims, in_flight } = &allocator.allocated;
        let in_use = [by_claims.pool(&pool.id), in_flight.pool(&pool.id)];
        let consumed = in_use.map(|of_pool| of_pool?.capacity.get(&device.name));
        let has_capacity =
            !features.consumable_capacity || has_capacity_left(&consumed, request.capacity, &device.capacity);
        let is_free = request.is_admin()
            || !in_use.iter().flatten().any(|of_pool| of_pool.devices.contains(&device.name));
        let is_usable = selectors.iter().all(|selector| selector.verdict == Ok(true))
            && is_on_node
            && is_free
            && taint.is_none()
            && has_capacity
            && counters.iter().all(|counter| counter.left >= counter.needed);
        let holders = (self.holders)(&id);
        DeviceEvidence {
            id,
            selectors,
            is_on_node,
            holders,
            is_taken: !is_free,
            taint,
            counters,
            has_capacity,
            is_usable,
        }
    }
}

fn selectors(
    allocator: &Allocator,
    request: &Request<'_>,
    slice: &IndexedSlice,
    index: usize,
) -> Vec<SelectorEvidence> {
    let class = allocator.classes.get(request.class);
    let of_class = class.iter().flat_map(|class| &class.spec.selectors).map(|selector| (selector, true));
    let of_request = request.selectors.iter().map(|selector| (selector, false));
    of_class
        .chain(of_request)
        .filter_map(|(selector, is_of_class)| {
            let expression = selector.cel.as_ref()?.expression.clone();
            let compiled = allocator.selectors.get_or_compile(&expression);
            let verdict = compiled
                .map_err(|error| error.to_string())
                .and_then(|selector| slice.matches(index, &selector).map_err(|error| error.to_string()));
            Some(SelectorEvidence { expression, is_of_class, verdict })
        })
        .collect()
}

fn problem(pool: &Pool<'_>) -> Option<String> {
    if pool.is_incomplete { Some("slices are missing".to_owned()) } else { pool.invalid.clone() }
}

/// The first taint that keeps a device from the request.
fn repelling(taints: &[DeviceTaint], request: &Request<'_>) -> Option<String> {
    let taint = taints.iter().find(|taint| is_repelled(std::slice::from_ref(*taint), request.tolerations))?;
    Some(format!("{}={}:{}", taint.key, taint.value, taint.effect))
}
