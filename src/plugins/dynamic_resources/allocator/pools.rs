//! Which pools have devices for a node, and whether they can be trusted.
//!
//! Follows `pools_incubating.go` of the allocator in `k8s.io/dynamic-resource-allocation/structured`. A pool is made of
//! the slices of its highest generation. It is incomplete while slices are missing, and invalid where names clash or
//! counters do not exist. Pools come in the order of driver and name, those with binding conditions last; slices in
//! the order of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::counters::{self, CounterSets};
use super::{AllocateError, Features};
use crate::api::objects::{CounterSet, Node, ResourceSlice};
use crate::plugins::helper::devices::{
    AllocatedState, DeviceSlices, IndexedSlice, PoolId, device_matches, node_matches,
};

/// A slice, shared by all cycles.
pub(super) type SliceRef<'a> = &'a Arc<IndexedSlice>;

/// A pool as a node sees it.
#[derive(Clone, Debug)]
pub struct Pool<'a> {
    /// Driver and name.
    pub id: PoolId,
    /// Not all of its slices are there.
    pub is_incomplete: bool,
    /// Why it cannot be used at all.
    pub invalid: Option<String>,
    /// The slices whose devices may serve the node.
    pub(super) device_slices: Vec<SliceRef<'a>>,
    /// The other slices; their devices take from the same counters.
    pub(super) other_slices: Vec<SliceRef<'a>>,
    /// The counters.
    pub(super) counter_sets: BTreeMap<&'a str, &'a CounterSet>,
}

impl Pool<'_> {
    /// Whether devices can be taken from it.
    pub const fn is_usable(&self) -> bool {
        !self.is_incomplete && self.invalid.is_none()
    }

    /// The slices whose devices may serve the node, in the order in which they are searched.
    pub fn device_slices(&self) -> impl Iterator<Item = &IndexedSlice> {
        self.device_slices.iter().map(|slice| slice.as_ref())
    }

    /// What is left of the pool's counters.
    pub fn available_counters(&self, allocated: &AllocatedState) -> CounterSets<'_> {
        counters::available(self, allocated)
    }

    fn has_binding_conditions(&self) -> bool {
        let mut devices = self.device_slices.iter().flat_map(|slice| &slice.slice.spec.devices);
        devices.any(|device| !device.binding_conditions.is_empty())
    }
}

/// Whether the node needs a slice to know its pool.
fn is_relevant(slice: &ResourceSlice, node: &Node) -> Result<bool, AllocateError> {
    let spec = &slice.spec;
    if !spec.shared_counters.is_empty() {
        return Ok(true);
    }
    let by_slice = spec.node_name.as_ref().is_some_and(|name| !name.is_empty())
        || spec.all_nodes == Some(true)
        || spec.node_selector.is_some();
    if by_slice {
        let matches =
            node_matches(node, spec.node_name.as_ref(), spec.all_nodes, spec.node_selector.as_ref());
        return matches.map_err(|error| {
            let name = &slice.metadata.name;
            gathering(&format!("failed to perform node selection for slice {name}: {error}"))
        });
    }
    if spec.per_device_node_selection != Some(true) {
        return Ok(false);
    }
    for device in &spec.devices {
        let matches = device_matches(node, device).map_err(|error| {
            let (device, slice) = (&device.name, &slice.metadata.name);
            gathering(&format!(
                "failed to perform node selection for device {device} in slice {slice}: {error}"
            ))
        })?;
        if matches {
            return Ok(true);
        }
    }
    Ok(false)
}

fn gathering(error: &str) -> AllocateError {
    AllocateError::Failed(format!("gather pool information: {error}"))
}

/// The pools with devices for a node.
pub(super) fn gather_pools<'a>(
    all: &'a DeviceSlices,
    node: &Node,
    features: Features,
) -> Result<Vec<Pool<'a>>, AllocateError> {
    let mut found: BTreeMap<PoolId, Vec<SliceRef<'a>>> = BTreeMap::new();
    for slice in all.for_node(node.name()) {
        let spec = &slice.slice.spec;
        let is_partitioned = spec.per_device_node_selection.is_some() || !spec.shared_counters.is_empty();
        if is_partitioned && !features.partitionable_devices || !is_relevant(&slice.slice, node)? {
            continue;
        }
        let of_pool = found.entry(PoolId::of(&slice.slice)).or_default();
        match of_pool.first().map(|first| first.slice.spec.pool.generation) {
            Some(newest) if spec.pool.generation < newest => continue,
            Some(newest) if spec.pool.generation > newest => of_pool.clear(),
            _ => {}
        }
        of_pool.push(slice);
    }
    let (mut pools, mut binding) = (Vec::new(), Vec::new());
    for (id, slices) in found {
        let Some(pool) = judge(id, slices, all, features) else { continue };
        if pool.has_binding_conditions() { binding.push(pool) } else { pools.push(pool) }
    }
    pools.append(&mut binding);
    Ok(pools)
}

/// The pool that these slices make up, or part of it; absent if the node sees an old generation.
fn judge<'a>(
    id: PoolId,
    slices: Vec<SliceRef<'a>>,
    all: &'a DeviceSlices,
    features: Features,
) -> Option<Pool<'a>> {
    let (generation, count) = slices
        .first()
        .map(|slice| (slice.slice.spec.pool.generation, slice.slice.spec.pool.resource_slice_count))?;
    let is_all = |n: usize| i64::try_from(n) == Ok(count);
    if is_all(slices.len()) {
        return Some(build(id, slices, &[], features));
    }
    if all.of_pool(&id).any(|slice| slice.slice.spec.pool.generation > generation) {
        return None;
    }
    let current: Vec<SliceRef<'a>> =
        all.of_pool(&id).filter(|slice| slice.slice.spec.pool.generation == generation).collect();
    if !is_all(current.len()) {
        return Some(Pool { is_incomplete: true, ..empty(id) });
    }
    Some(build(id, slices, &current, features))
}

const fn empty<'a>(id: PoolId) -> Pool<'a> {
    Pool {
        id,
        is_incomplete: false,
        invalid: None,
        device_slices: Vec::new(),
        other_slices: Vec::new(),
        counter_sets: BTreeMap::new(),
    }
}

/// A complete pool. `all` are its slices where the node does not see all of them.
fn build<'a>(
    id: PoolId,
    mut slices: Vec<SliceRef<'a>>,
    all: &[SliceRef<'a>],
    features: Features,
) -> Pool<'a> {
    slices.sort_by(|a, b| a.slice.metadata.name.cmp(&b.slice.metadata.name));
    let mut pool = empty(id);
    pool.invalid = fill(&mut pool, &slices, all, features).err();
    if pool.invalid.is_some() {
        pool.device_slices.clear();
    }
    pool
}

fn fill<'a>(
    pool: &mut Pool<'a>,
    slices: &[SliceRef<'a>],
    all: &[SliceRef<'a>],
    features: Features,
) -> Result<(), String> {
    let has_counters = |slice: &SliceRef<'_>| !slice.slice.spec.shared_counters.is_empty();
    let is_for_devices = |slice: &&SliceRef<'_>| !features.partitionable_devices || !has_counters(slice);
    pool.device_slices.extend(slices.iter().filter(is_for_devices));
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for device in pool.device_slices.iter().flat_map(|slice| &slice.slice.spec.devices) {
        if !names.insert(&device.name) {
            return Err(format!("duplicate device name {}", device.name));
        }
    }
    if !features.partitionable_devices {
        return Ok(());
    }
    for set in slices.iter().flat_map(|slice| &slice.slice.spec.shared_counters) {
        if pool.counter_sets.insert(&set.name, set).is_some() {
            return Err(format!("duplicate counter set name {}", set.name));
        }
    }
    check_consumption(&pool.counter_sets, slices)?;
    if all.len() == slices.len() {
        return Ok(());
    }
    let targeting: BTreeSet<&str> = slices.iter().map(|slice| slice.slice.metadata.name.as_ref()).collect();
    let others = all.iter().filter(|slice| !targeting.contains(slice.slice.metadata.name.as_ref()));
    pool.other_slices.extend(others);
    check_consumption(&pool.counter_sets, &pool.other_slices)
}

/// Whether devices take only from counters that exist.
fn check_consumption(sets: &BTreeMap<&str, &CounterSet>, slices: &[SliceRef<'_>]) -> Result<(), String> {
    for device in slices.iter().flat_map(|slice| &slice.slice.spec.devices) {
        for consumption in &device.consumes_counters {
            let Some(set) = sets.get(consumption.counter_set.as_ref()) else {
                return Err(format!("counter set {} not found", consumption.counter_set));
            };
            for counter in consumption.counters.keys() {
                if !set.counters.contains_key(counter) {
                    return Err(format!("counter {counter} not found in counter set {}", set.name));
                }
            }
        }
    }
    Ok(())
}
