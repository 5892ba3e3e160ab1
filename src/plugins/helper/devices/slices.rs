//! The slices of devices, found by node and by pool, with what selectors have said of their devices.
//!
//! Follows the lister of ResourceSlices that upstream's allocator is made with (`NewAllocator`). The verdicts are
//! remembered beyond an attempt: they depend on nothing but slice and selector.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::allocated::PoolId;
use crate::api::Str;
use crate::api::objects::{Device, DeviceAttribute, ResourceSlice};
use crate::framework::device_cel::{self, Attribute, DeviceSelector, EvalError};

/// How many selectors a slice remembers the verdicts of; beyond that it begins anew.
const REMEMBERED_SELECTORS: usize = 16;

/// What is known of a device and a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Unknown,
    Yes,
    No,
}

/// The verdicts of one selector on the devices of a slice, in their order.
type Verdicts = (Arc<str>, Vec<Verdict>);

/// A slice with its devices prepared for selectors.
#[derive(Debug)]
pub struct IndexedSlice {
    /// The slice.
    pub slice: Arc<ResourceSlice>,
    prepared: OnceLock<Vec<device_cel::Device>>,
    verdicts: Mutex<Vec<Verdicts>>,
}

impl IndexedSlice {
    fn new(slice: Arc<ResourceSlice>) -> Self {
        Self { slice, prepared: OnceLock::new(), verdicts: Mutex::default() }
    }

    /// Whether a selector accepts the device at `index`; false if there is none.
    ///
    /// # Errors
    /// The selector gives no answer for the device.
    pub fn matches(&self, index: usize, selector: &DeviceSelector) -> Result<bool, EvalError> {
        let expression = selector.expression();
        {
            let verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
            let known = verdicts.iter().find(|(known, _)| known.as_ref() == expression);
            match known.and_then(|(_, verdicts)| verdicts.get(index)) {
                Some(Verdict::Yes) => return Ok(true),
                Some(Verdict::No) => return Ok(false),
                Some(Verdict::Unknown) | None => {}
            }
        }
        let devices = &self.slice.spec.devices;
        let prepared = self
            .prepared
            .get_or_init(|| devices.iter().map(|device| prepare(&self.slice.spec.driver, device)).collect());
        let Some(device) = prepared.get(index) else { return Ok(false) };
        let accepts = selector.matches(device)?;
        let mut verdicts = self.verdicts.lock().unwrap_or_else(PoisonError::into_inner);
        let position = verdicts.iter().position(|(known, _)| known.as_ref() == expression);
        let position = position.unwrap_or_else(|| {
            if verdicts.len() >= REMEMBERED_SELECTORS {
                verdicts.clear();
            }
            verdicts.push((expression.into(), vec![Verdict::Unknown; devices.len()]));
            verdicts.len() - 1
        });
        if let Some(known) = verdicts.get_mut(position).and_then(|(_, verdicts)| verdicts.get_mut(index)) {
            *known = if accepts { Verdict::Yes } else { Verdict::No };
        }
        Ok(accepts)
    }
}

impl IndexedSlice {
    /// The same for a device that is taken as a whole, which says nothing of sharing it.
    ///
    /// # Errors
    /// The selector gives no answer for the device.
    pub fn matches_as_whole(&self, index: usize, selector: &DeviceSelector) -> Result<bool, EvalError> {
        match self.slice.spec.devices.get(index) {
            Some(device) if device.allow_multiple_allocations == Some(true) => {
                let whole = Device { allow_multiple_allocations: None, ..device.clone() };
                selector.matches(&prepare(&self.slice.spec.driver, &whole))
            }
            _ => self.matches(index, selector),
        }
    }
}

/// What a selector sees of a device.
fn prepare(driver: &Str, device: &Device) -> device_cel::Device {
    let attributes = device.attributes.iter().map(|(name, value)| (name.as_ref(), attribute(value)));
    let capacity = device.capacity.iter().map(|(name, capacity)| (name.as_ref(), capacity.value));
    device_cel::Device::new(driver.clone(), attributes, capacity, device.allow_multiple_allocations)
}

/// The value that is set, in the order in which upstream looks for one (`getAttributeValue`).
fn attribute(value: &DeviceAttribute) -> Attribute {
    if !value.ints.is_empty() {
        Attribute::Ints(value.ints.clone())
    } else if !value.bools.is_empty() {
        Attribute::Bools(value.bools.clone())
    } else if !value.strings.is_empty() {
        Attribute::Strings(value.strings.clone())
    } else if !value.versions.is_empty() {
        Attribute::Versions(value.versions.clone())
    } else if let Some(int) = value.int {
        Attribute::Int(int)
    } else if let Some(bool) = value.bool {
        Attribute::Bool(bool)
    } else if let Some(string) = &value.string {
        Attribute::String(string.clone())
    } else if let Some(version) = &value.version {
        Attribute::Version(version.clone())
    } else {
        Attribute::Unset
    }
}

/// Slices by their names.
type ByName = BTreeMap<Str, Arc<IndexedSlice>>;

/// All slices.
#[derive(Clone, Default)]
pub struct DeviceSlices {
    on_node: BTreeMap<Str, ByName>,
    shared: ByName,
    by_pool: BTreeMap<PoolId, ByName>,
}

impl fmt::Debug for DeviceSlices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceSlices({})", self.iter().count())
    }
}

impl DeviceSlices {
    /// Puts a slice in; one of its name must have been removed.
    pub fn insert(&mut self, slice: Arc<ResourceSlice>) {
        let name = slice.metadata.name.clone();
        let slice = Arc::new(IndexedSlice::new(slice));
        match node_of(&slice.slice) {
            Some(node) => {
                self.on_node.entry(node.clone()).or_default().insert(name.clone(), Arc::clone(&slice))
            }
            None => self.shared.insert(name.clone(), Arc::clone(&slice)),
        };
        self.by_pool.entry(PoolId::of(&slice.slice)).or_default().insert(name, slice);
    }

    /// Takes a slice out.
    pub fn remove(&mut self, slice: &ResourceSlice) {
        let name = &slice.metadata.name;
        match node_of(slice) {
            Some(node) => take_out(&mut self.on_node, node, name),
            None => drop(self.shared.remove(name)),
        }
        take_out(&mut self.by_pool, &PoolId::of(slice), name);
    }

    /// The slices that can matter to a node.
    pub fn for_node(&self, node: &str) -> impl Iterator<Item = &Arc<IndexedSlice>> {
        let on_node = self.on_node.get(node).into_iter().flat_map(BTreeMap::values);
        on_node.chain(self.shared.values())
    }

    /// The slices of a pool, of all generations.
    pub fn of_pool(&self, id: &PoolId) -> impl Iterator<Item = &Arc<IndexedSlice>> {
        self.by_pool.get(id).into_iter().flat_map(BTreeMap::values)
    }

    /// All slices, pool by pool.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<ResourceSlice>> {
        self.by_pool.values().flat_map(BTreeMap::values).map(|slice| &slice.slice)
    }
}

/// The one node whose devices are in the slice.
fn node_of(slice: &ResourceSlice) -> Option<&Str> {
    let node = slice.spec.node_name.as_ref().filter(|node| !node.is_empty());
    node.filter(|_| slice.spec.shared_counters.is_empty())
}

fn take_out<K: Ord>(map: &mut BTreeMap<K, ByName>, key: &K, name: &Str) {
    if let Some(slices) = map.get_mut(key) {
        slices.remove(name);
        if slices.is_empty() {
            map.remove(key);
        }
    }
}
