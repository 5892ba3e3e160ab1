//! Which devices are allocated, kept up to date by single claims so that no cycle reads all of them.
//!
//! Follows `allocateddevices.go` and `structured/schedulerapi`. A device with admin access does not count. With the
//! gate DRAConsumableCapacity a share of a device counts by what it consumes; without it, as the whole device.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::api::objects::{DeviceRequestAllocationResult, ResourceClaim, ResourceSlice};
use crate::api::{Digest, Digestible, Quantity, Str, Uid};

/// Amounts by the name of the capacity.
pub type ConsumedCapacity = BTreeMap<Str, Quantity>;

/// Adds amounts to amounts.
pub fn add_capacity(sum: &mut ConsumedCapacity, more: &ConsumedCapacity) {
    for (name, amount) in more {
        sum.entry(name.clone()).and_modify(|sum| *sum += *amount).or_insert(*amount);
    }
}

/// Takes amounts from amounts; what is not there is left out.
pub fn subtract_capacity(sum: &mut ConsumedCapacity, less: &ConsumedCapacity) {
    for (name, amount) in less {
        if let Some(sum) = sum.get_mut(name) {
            *sum -= *amount;
        }
    }
}

/// Whether nothing is consumed.
pub fn is_empty_capacity(consumed: &ConsumedCapacity) -> bool {
    consumed.values().all(|amount| amount.is_zero())
}

/// Driver and name of a pool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId {
    /// The driver.
    pub driver: Str,
    /// The pool.
    pub pool: Str,
}

impl PoolId {
    /// The pool of a slice.
    pub fn of(slice: &ResourceSlice) -> Self {
        Self { driver: slice.spec.driver.clone(), pool: slice.spec.pool.name.clone() }
    }
}

impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.driver, self.pool)
    }
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId {
    /// Its pool.
    pub pool: PoolId,
    /// Its name in the pool.
    pub device: Str,
}

impl DeviceId {
    /// The device of a result.
    pub fn of(result: &DeviceRequestAllocationResult) -> Self {
        Self {
            pool: PoolId { driver: result.driver.clone(), pool: result.pool.clone() },
            device: result.device.clone(),
        }
    }
}

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.pool, self.device)
    }
}

/// What is allocated of the devices of one pool, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PoolUse {
    /// Devices that one claim has for itself.
    pub devices: BTreeSet<Str>,
    /// The shares of other devices.
    pub shares: BTreeMap<Str, BTreeSet<Uid>>,
    /// What those shares consume.
    pub capacity: BTreeMap<Str, ConsumedCapacity>,
}

impl PoolUse {
    /// Whether the device is allocated, as a whole or in part.
    pub fn is_allocated(&self, device: &str) -> bool {
        self.devices.contains(device)
            || self.shares.contains_key(device)
            || self.capacity.contains_key(device)
    }

    fn is_empty(&self) -> bool {
        self.devices.is_empty() && self.shares.is_empty() && self.capacity.is_empty()
    }
}

/// The devices that claims have.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct AllocatedDevices {
    pools: BTreeMap<PoolId, PoolUse>,
}

impl AllocatedDevices {
    /// What is allocated of a pool.
    pub fn pool(&self, id: &PoolId) -> Option<&PoolUse> {
        self.pools.get(id)
    }

    /// Whether no device is allocated.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// Adds the devices of a claim. `shares` is the gate DRAConsumableCapacity.
    pub fn add(&mut self, claim: &ResourceClaim, shares: bool) {
        for result in allocated(claim) {
            let id = DeviceId::of(result);
            let of_pool = self.pools.entry(id.pool).or_default();
            match result.share_id.as_ref().filter(|_| shares) {
                None => {
                    of_pool.devices.insert(id.device);
                }
                Some(share) => {
                    of_pool.shares.entry(id.device.clone()).or_default().insert(share.clone());
                    if !result.consumed_capacity.is_empty() {
                        add_capacity(
                            of_pool.capacity.entry(id.device).or_default(),
                            &result.consumed_capacity,
                        );
                    }
                }
            }
        }
    }

    /// Takes the devices of a claim out.
    pub fn remove(&mut self, claim: &ResourceClaim, shares: bool) {
        for result in allocated(claim) {
            let id = DeviceId::of(result);
            let Some(of_pool) = self.pools.get_mut(&id.pool) else { continue };
            match result.share_id.as_ref().filter(|_| shares) {
                None => {
                    of_pool.devices.remove(&id.device);
                }
                Some(share) => {
                    if let Some(known) = of_pool.shares.get_mut(&id.device) {
                        known.remove(share);
                        if known.is_empty() {
                            of_pool.shares.remove(&id.device);
                        }
                    }
                    if let Some(consumed) = of_pool.capacity.get_mut(&id.device) {
                        subtract_capacity(consumed, &result.consumed_capacity);
                        if is_empty_capacity(consumed) {
                            of_pool.capacity.remove(&id.device);
                        }
                    }
                }
            }
            if of_pool.is_empty() {
                self.pools.remove(&id.pool);
            }
        }
    }
}

/// The devices of a claim that others cannot have.
fn allocated(claim: &ResourceClaim) -> impl Iterator<Item = &DeviceRequestAllocationResult> {
    let allocation = claim.status.allocation.iter();
    let results = allocation.flat_map(|allocation| &allocation.devices.results);
    results.filter(|result| result.admin_access != Some(true))
}

impl Digestible for AllocatedDevices {
    fn digest(&self, digest: &mut Digest) {
        digest.len(self.pools.len());
        for (id, of_pool) in &self.pools {
            digest.str(&id.driver).str(&id.pool);
            digest.len(of_pool.devices.len());
            for device in &of_pool.devices {
                digest.str(device);
            }
            digest.len(of_pool.shares.len());
            for (device, shares) in &of_pool.shares {
                digest.str(device).len(shares.len());
                for share in shares {
                    digest.str(share);
                }
            }
            digest.len(of_pool.capacity.len());
            for (device, consumed) in &of_pool.capacity {
                digest.str(device).len(consumed.len());
                for (name, amount) in consumed {
                    digest.str(name).str(&amount.to_string());
                }
            }
        }
    }
}

/// What is allocated by claims, and beside it what is only in flight.
#[derive(Clone, Debug, Default)]
pub struct AllocatedState {
    /// By claims as they are known.
    pub by_claims: Arc<AllocatedDevices>,
    /// By claims whose allocation has not been written yet.
    pub in_flight: Arc<AllocatedDevices>,
}

impl AllocatedState {
    /// What is allocated of a pool: by claims, and in flight.
    pub fn pool(&self, id: &PoolId) -> [Option<&PoolUse>; 2] {
        [self.by_claims.pool(id), self.in_flight.pool(id)]
    }
}
