//! Counters that devices share: what is left of them for more devices (KEP-4815).
//!
//! Follows `checkAvailableCounters` of the allocator in `k8s.io/dynamic-resource-allocation/structured`. As there,
//! counters are kept by the name of the pool alone: of two pools of one name only the first one that is asked about
//! has its counters checked.

use std::collections::BTreeMap;

use super::pools::Pool;
use crate::api::Quantity;
use crate::api::objects::{Counter, Device};
use crate::plugins::helper::devices::AllocatedState;

/// Amounts by counter set and counter.
pub type CounterSets<'a> = BTreeMap<&'a str, BTreeMap<&'a str, Quantity>>;

/// The counters of all pools during one allocation.
#[derive(Debug, Default)]
pub(super) struct Counters<'a> {
    available: BTreeMap<&'a str, CounterSets<'a>>,
    consumed: BTreeMap<&'a str, CounterSets<'a>>,
}

impl<'a> Counters<'a> {
    /// Takes what the device consumes, if that much is left.
    pub(super) fn take(
        &mut self,
        pool: &'a Pool<'_>,
        device: &'a Device,
        allocated: &AllocatedState,
    ) -> bool {
        let name: &str = &pool.id.pool;
        let available = self.available.entry(name).or_insert_with(|| available(pool, allocated));
        let consumed = self.consumed.entry(name).or_default();
        for_each(device, |set, counter, amount| {
            let sum = consumed.entry(set).or_default().entry(counter).or_insert(Quantity::ZERO);
            *sum += amount;
        });
        // A counter may have less than nothing left where more was allocated than there is: then every device that
        // consumes counters of the pool is refused, even with others.
        let is_enough = available.iter().all(|(set, counters)| {
            counters.iter().all(|(counter, available)| {
                let consumed = consumed.get(set).and_then(|counters| counters.get(counter));
                *available >= consumed.copied().unwrap_or(Quantity::ZERO)
            })
        });
        if !is_enough {
            self.give_back(pool, device);
        }
        is_enough
    }

    /// Gives back what the device consumes.
    pub(super) fn give_back(&mut self, pool: &'a Pool<'_>, device: &'a Device) {
        let name: &str = &pool.id.pool;
        let consumed = self.consumed.entry(name).or_default();
        for_each(device, |set, counter, amount| {
            let sum = consumed.entry(set).or_default().entry(counter).or_insert(Quantity::ZERO);
            *sum -= amount;
        });
    }
}

fn for_each<'a>(device: &'a Device, mut take: impl FnMut(&'a str, &'a str, Quantity)) {
    for consumption in &device.consumes_counters {
        for (counter, Counter { value }) in &consumption.counters {
            take(&consumption.counter_set, counter, *value);
        }
    }
}

/// The counters of a pool without what its allocated devices take. May be less than nothing.
pub(super) fn available<'a>(pool: &'a Pool<'_>, allocated: &AllocatedState) -> CounterSets<'a> {
    let mut sets: CounterSets<'a> = BTreeMap::new();
    for (name, set) in &pool.counter_sets {
        let counters = set.counters.iter().map(|(name, counter)| (name.as_ref(), counter.value));
        sets.insert(*name, counters.collect());
    }
    let in_use = allocated.pool(&pool.id);
    let slices = pool.device_slices.iter().chain(&pool.other_slices);
    for device in slices.flat_map(|slice| &slice.slice.spec.devices) {
        if in_use.iter().flatten().any(|in_use| in_use.is_allocated(&device.name)) {
            for_each(device, |set, counter, amount| {
                if let Some(left) = sets.get_mut(set).and_then(|counters| counters.get_mut(counter)) {
                    *left -= amount;
                }
            });
        }
    }
    sets
}
