//! What has to hold between the devices of a claim: `matchAttribute` and `distinctAttribute`.
//!
//! Follows `constraint.go` and `matchAttributeConstraint` of the allocator in
//! `k8s.io/dynamic-resource-allocation/structured`, with what is odd there: a device of an unknown attribute type is
//! taken if it is the first, and `distinctAttribute` remembers one device per request, the last one.

use std::collections::BTreeMap;

use super::request::Request;
use crate::api::Str;
use crate::api::objects::{Device, DeviceAttribute, DeviceConstraint};

/// A constraint, and the devices that it has seen.
#[derive(Clone, Debug)]
pub(super) struct Constraint<'a> {
    requests: &'a [Str],
    attribute: &'a str,
    n_devices: usize,
    seen: Seen<'a>,
}

#[derive(Clone, Debug)]
enum Seen<'a> {
    /// The value that all have.
    Match(Option<&'a DeviceAttribute>),
    /// The value of the last device of each request.
    Distinct(BTreeMap<&'a str, &'a DeviceAttribute>),
}

impl<'a> Constraint<'a> {
    /// The constraint over no devices; absent if its kind is not known. `with_distinct` says whether
    /// `distinctAttribute` is.
    pub(super) fn new(constraint: &'a DeviceConstraint, with_distinct: bool) -> Option<Self> {
        let (attribute, seen) = match (&constraint.match_attribute, &constraint.distinct_attribute) {
            (Some(attribute), _) => (attribute, Seen::Match(None)),
            (None, Some(attribute)) if with_distinct => (attribute, Seen::Distinct(BTreeMap::new())),
            _ => return None,
        };
        Some(Self { requests: &constraint.requests, attribute, n_devices: 0, seen })
    }

    /// Whether the constraint is about the devices of a request.
    fn applies_to(&self, request: &Request<'a>) -> bool {
        let has = |name: &str| self.requests.iter().any(|request| request.as_ref() == name);
        self.requests.is_empty()
            || has(request.base_name())
            || request.parent.is_some() && has(&request.full_name())
    }

    /// Whether the device may be added; it is counted if so.
    pub(super) fn add(&mut self, request: &Request<'a>, device: &'a Device, driver: &str) -> bool {
        if !self.applies_to(request) {
            return true;
        }
        let Some(value) = lookup(device, driver, self.attribute) else { return false };
        match &mut self.seen {
            Seen::Match(known) => {
                if self.n_devices == 0 {
                    *known = Some(value);
                } else if !known.is_some_and(|known| is_same(value, known)) {
                    return false;
                }
            }
            Seen::Distinct(known) => {
                let is_like = |known: &DeviceAttribute| !is_known(value) || is_same(value, known);
                if self.n_devices > 0 && known.values().any(|known| is_like(known)) {
                    return false;
                }
                known.insert(request.base_name(), value);
            }
        }
        self.n_devices += 1;
        true
    }

    /// Takes back a device that was added.
    pub(super) fn remove(&mut self, request: &Request<'a>) {
        if !self.applies_to(request) {
            return;
        }
        if let Seen::Distinct(known) = &mut self.seen {
            known.remove(request.base_name());
        }
        self.n_devices = self.n_devices.saturating_sub(1);
    }
}

/// An attribute by its full name; the driver's own attributes may stand without their domain.
fn lookup<'a>(device: &'a Device, driver: &str, name: &str) -> Option<&'a DeviceAttribute> {
    if let Some(attribute) = device.attributes.get(name) {
        return Some(attribute);
    }
    let (domain, id) = name.split_once('/')?;
    if domain == driver { device.attributes.get(id) } else { None }
}

fn is_known(value: &DeviceAttribute) -> bool {
    value.string.is_some() || value.int.is_some() || value.bool.is_some() || value.version.is_some()
}

/// Whether two values are of the same type and equal; the type is that of the first.
fn is_same(value: &DeviceAttribute, other: &DeviceAttribute) -> bool {
    if value.string.is_some() {
        value.string == other.string
    } else if value.int.is_some() {
        value.int == other.int
    } else if value.bool.is_some() {
        value.bool == other.bool
    } else {
        // Versions are in their shortest form, so that equal ones are written alike.
        value.version.is_some() && value.version == other.version
    }
}
