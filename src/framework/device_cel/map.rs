//! Maps of expressions: those that they make, and those that a device is.
//!
//! A domain of attributes or capacities that a device does not have is an empty map, as upstream's
//! `newStringInterfaceMapWithDefault` makes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::device::Inner;
use super::value::Value;

/// A map.
#[derive(Clone, Debug)]
pub(super) enum Map {
    Entries(Arc<Entries>),
    /// The variable `device`.
    Device(Arc<Inner>),
    /// Attributes by domain.
    Attributes(Arc<Inner>),
    /// Capacities by domain.
    Capacities(Arc<Inner>),
    /// The attributes of one domain, by the index of the domain.
    AttributesOf(Arc<Inner>, usize),
    /// The capacities of one domain.
    CapacitiesOf(Arc<Inner>, usize),
}

/// Entries in the order in which they were made, and an index of those with simple keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    entries: Vec<(Value, Value)>,
    index: BTreeMap<Key, usize>,
    weight: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    /// The bits of a double other than NaN; both zeroes as one.
    Double(u64),
    String(Arc<str>),
    Duration(i64),
}

fn simple_key(value: &Value) -> Option<Key> {
    match value {
        Value::Null => Some(Key::Null),
        Value::Bool(value) => Some(Key::Bool(*value)),
        Value::Int(value) => Some(Key::Int(*value)),
        Value::Uint(value) => Some(Key::Uint(*value)),
        Value::Double(value) if value.is_nan() => None,
        Value::Double(value) => Some(Key::Double((value + 0.0).to_bits())),
        Value::String(value) => Some(Key::String(value.clone())),
        Value::Duration(value) => Some(Key::Duration(*value)),
        _ => None,
    }
}

impl Entries {
    /// Adds an entry or replaces the one with this very key.
    pub(super) fn put(&mut self, key: Value, value: Value) {
        self.weight = self.weight.saturating_add(key.weight()).saturating_add(value.weight());
        if let Some(simple) = simple_key(&key) {
            if let Some(known) = self.index.get(&simple).copied()
                && let Some(entry) = self.entries.get_mut(known)
            {
                entry.1 = value;
                return;
            }
            self.index.insert(simple, self.entries.len());
        }
        self.entries.push((key, value));
    }

    /// Takes away the entry with this very key.
    pub(super) fn remove(&mut self, key: &Value) {
        let Some(found) = simple_key(key).and_then(|simple| self.index.remove(&simple)) else { return };
        self.entries.remove(found);
        for index in self.index.values_mut().filter(|index| **index > found) {
            *index -= 1;
        }
    }

    fn get(&self, key: &Key) -> Option<Value> {
        let found = *self.index.get(key)?;
        self.entries.get(found).map(|(_, value)| value.clone())
    }

    /// The value of a key; a number finds keys of other types of numbers.
    fn find(&self, key: &Value) -> Option<Value> {
        if let Some(found) = simple_key(key).and_then(|simple| self.get(&simple)) {
            return Some(found);
        }
        match key {
            Value::Double(value) => {
                let as_int = whole(*value).and_then(|whole| i64::try_from(whole).ok());
                let as_uint = whole(*value).and_then(|whole| u64::try_from(whole).ok());
                as_int
                    .and_then(|value| self.get(&Key::Int(value)))
                    .or_else(|| as_uint.and_then(|value| self.get(&Key::Uint(value))))
            }
            Value::Int(value) => self.get(&Key::Uint(u64::try_from(*value).ok()?)),
            Value::Uint(value) => self.get(&Key::Int(i64::try_from(*value).ok()?)),
            _ => None,
        }
    }
}

/// The whole number that a double is exactly.
#[expect(clippy::cast_possible_truncation, reason = "checked to be whole and within 66 bits")]
pub(super) fn whole(value: f64) -> Option<i128> {
    (value.fract().abs() <= 0.0 && value.abs() < 7.0e19).then_some(value as i128)
}

impl Map {
    pub(super) fn new(entries: Entries) -> Self {
        Self::Entries(Arc::new(entries))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Entries(entries) => entries.entries.len(),
            Self::Device(_) => DEVICE_FIELDS.len(),
            Self::Attributes(device) => device.attributes.len(),
            Self::Capacities(device) => device.capacity.len(),
            Self::AttributesOf(device, domain) => device.attributes.get(*domain).map_or(0, |(_, d)| d.len()),
            Self::CapacitiesOf(device, domain) => device.capacity.get(*domain).map_or(0, |(_, d)| d.len()),
        }
    }

    /// How many values there are to go through in it. A device holds few.
    pub(super) fn weight(&self) -> u64 {
        match self {
            Self::Entries(entries) => entries.weight.saturating_add(1),
            _ => 1,
        }
    }

    /// Whether the key is in the map. Asked this way a domain that a device does not have is missing.
    pub(super) fn contains(&self, key: &Value) -> bool {
        match (self, key) {
            (Self::Attributes(device), Value::String(key)) => position(&device.attributes, key).is_some(),
            (Self::Capacities(device), Value::String(key)) => position(&device.capacity, key).is_some(),
            (Self::Attributes(_) | Self::Capacities(_), _) => false,
            _ => self.find(key).is_some(),
        }
    }

    /// The value of a key.
    pub(super) fn find(&self, key: &Value) -> Option<Value> {
        let name = match (self, key) {
            (Self::Entries(entries), _) => return entries.find(key),
            (_, Value::String(name)) => Some(name),
            _ => None,
        };
        match self {
            Self::Entries(_) => None,
            Self::Device(device) => device_field(device, name?),
            Self::Attributes(device) => {
                let domain = name.and_then(|name| position(&device.attributes, name));
                Some(Value::Map(match domain {
                    Some(domain) => Self::AttributesOf(device.clone(), domain),
                    None => Self::new(Entries::default()),
                }))
            }
            Self::Capacities(device) => {
                let domain = name.and_then(|name| position(&device.capacity, name));
                Some(Value::Map(match domain {
                    Some(domain) => Self::CapacitiesOf(device.clone(), domain),
                    None => Self::new(Entries::default()),
                }))
            }
            Self::AttributesOf(device, domain) => {
                let entries = &device.attributes.get(*domain)?.1;
                entries.get(position(entries, name?)?).map(|(_, value)| Value::attribute(value))
            }
            Self::CapacitiesOf(device, domain) => {
                let entries = &device.capacity.get(*domain)?.1;
                entries.get(position(entries, name?)?).map(|(_, amount)| Value::quantity(*amount))
            }
        }
    }

    /// The keys in order.
    pub(super) fn keys(&self) -> Vec<Value> {
        fn names<T>(entries: &[(Arc<str>, T)]) -> Vec<Value> {
            entries.iter().map(|(name, _)| Value::String(name.clone())).collect()
        }
        match self {
            Self::Entries(entries) => entries.entries.iter().map(|(key, _)| key.clone()).collect(),
            Self::Device(_) => DEVICE_FIELDS.iter().map(|name| Value::string(*name)).collect(),
            Self::Attributes(device) => names(&device.attributes),
            Self::Capacities(device) => names(&device.capacity),
            Self::AttributesOf(device, domain) => {
                device.attributes.get(*domain).map(|(_, entries)| names(entries)).unwrap_or_default()
            }
            Self::CapacitiesOf(device, domain) => {
                device.capacity.get(*domain).map(|(_, entries)| names(entries)).unwrap_or_default()
            }
        }
    }

    /// Keys and values in order.
    pub(super) fn entries(&self) -> Vec<(Value, Value)> {
        let value = |key: Value| self.find(&key).map(|value| (key, value));
        match self {
            Self::Entries(entries) => entries.entries.clone(),
            _ => self.keys().into_iter().filter_map(value).collect(),
        }
    }

    /// The map without what is special about it: a domain that a device does not have is missing.
    pub(super) fn plain(&self) -> Self {
        if !matches!(self, Self::Attributes(_) | Self::Capacities(_)) {
            return self.clone();
        }
        let mut entries = Entries::default();
        self.entries().into_iter().for_each(|(key, value)| entries.put(key, value));
        Self::new(entries)
    }

    pub(super) fn equal(&self, other: &Self) -> bool {
        self.len() == other.len()
            && self.entries().iter().all(|(key, value)| {
                // An error counts as equal here.
                other.find(key).is_some_and(|other| value.equal(&other) != Ok(false))
            })
    }

    /// The map with one more entry, or nothing if the key is taken.
    pub(super) fn inserted(self, key: Value, value: Value) -> Option<Self> {
        if self.find(&key).is_some() {
            return None;
        }
        let mut entries = match self {
            Self::Entries(entries) => entries,
            other => {
                let mut entries = Entries::default();
                other.entries().into_iter().for_each(|(key, value)| entries.put(key, value));
                Arc::new(entries)
            }
        };
        Arc::make_mut(&mut entries).put(key, value);
        Some(Self::Entries(entries))
    }
}

const DEVICE_FIELDS: [&str; 4] = ["allowMultipleAllocations", "attributes", "capacity", "driver"];

fn device_field(device: &Arc<Inner>, name: &str) -> Option<Value> {
    match name {
        "driver" => Some(Value::String(device.driver.clone())),
        "attributes" => Some(Value::Map(Map::Attributes(device.clone()))),
        "capacity" => Some(Value::Map(Map::Capacities(device.clone()))),
        "allowMultipleAllocations" => Some(Value::Bool(device.allow_multiple_allocations)),
        _ => None,
    }
}

/// The index of a name among sorted ones.
fn position<T>(entries: &[(Arc<str>, T)], name: &str) -> Option<usize> {
    entries.binary_search_by(|(known, _)| (**known).cmp(name)).ok()
}
