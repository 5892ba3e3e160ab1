//! Consumable capacity: how much of a device a request takes, and whether that much is left (KEP-5075).
//!
//! Follows `consumable_capacity.go` of the allocator in `k8s.io/dynamic-resource-allocation/structured`.

use std::collections::BTreeMap;

use crate::api::objects::{
    CapacityRequestPolicy, CapacityRequestPolicyRange, CapacityRequirements, DeviceCapacity,
};
use crate::api::quantity::Format;
use crate::api::{Quantity, Str};
use crate::plugins::helper::devices::ConsumedCapacity;

/// Whether a request can be served beside what is consumed already (`CmpRequestOverCapacity`). A request for a
/// capacity that the device does not have cannot.
pub fn has_capacity_left(
    consumed: &[Option<&ConsumedCapacity>],
    requested: Option<&CapacityRequirements>,
    capacity: &BTreeMap<Str, DeviceCapacity>,
) -> bool {
    if requested.is_some_and(|wanted| wanted.requests.keys().any(|name| !capacity.contains_key(name))) {
        return false;
    }
    capacity.iter().all(|(name, offered)| {
        let mut amount = consumed_by(amount_of(requested, name), offered);
        if violates_policy(amount, offered.request_policy.as_ref()) {
            return false;
        }
        for consumed in consumed.iter().flatten() {
            if let Some(more) = consumed.get(name) {
                amount += *more;
            }
        }
        amount <= offered.value
    })
}

/// What a request takes of each capacity of a device (`GetConsumedCapacityFromRequest`).
pub fn capacity_for_request(
    requested: Option<&CapacityRequirements>,
    capacity: &BTreeMap<Str, DeviceCapacity>,
) -> ConsumedCapacity {
    let consumed = |name: &Str, offered| consumed_by(amount_of(requested, name), offered);
    capacity.iter().map(|(name, offered)| (name.clone(), consumed(name, offered))).collect()
}

fn amount_of(requested: Option<&CapacityRequirements>, name: &Str) -> Option<Quantity> {
    requested?.requests.get(name).copied()
}

/// What is taken when `requested` is asked for: the default or all where nothing is, else the next amount that the
/// policy has.
fn consumed_by(requested: Option<Quantity>, capacity: &DeviceCapacity) -> Quantity {
    let policy = capacity.request_policy.as_ref();
    let Some(requested) = requested else {
        return policy.and_then(|policy| policy.default).unwrap_or(capacity.value);
    };
    let Some(policy) = policy else { return requested };
    match &policy.valid_range {
        Some(range) if range.min.is_some() => round_up_to_range(requested, range),
        _ => policy.valid_values.iter().copied().find(|valid| requested <= *valid).unwrap_or(requested),
    }
}

fn round_up_to_range(requested: Quantity, range: &CapacityRequestPolicyRange) -> Quantity {
    let min = range.min.unwrap_or(Quantity::ZERO);
    if requested < min {
        return min;
    }
    let Some(step) = range.step.map(Quantity::value).filter(|step| *step != 0) else { return requested };
    let (min, added) = (min.value(), requested.value().wrapping_sub(min.value()));
    let steps = (added / step).wrapping_add(i64::from(added % step != 0));
    Quantity::from_value(min.wrapping_add(step.wrapping_mul(steps))).with_format(Format::BinarySi)
}

fn violates_policy(amount: Quantity, policy: Option<&CapacityRequestPolicy>) -> bool {
    let Some(policy) = policy else { return false };
    // Upstream compares how the two are written, not how much they are: a default that is outside of its own policy
    // counts only where it is taken as it stands.
    let is_default = |default: Quantity| default == amount && default.to_string() == amount.to_string();
    if policy.default.is_some_and(is_default) {
        return false;
    }
    match &policy.valid_range {
        Some(range) => violates_range(amount, range),
        None => !policy.valid_values.is_empty() && !policy.valid_values.contains(&amount),
    }
}

fn violates_range(amount: Quantity, range: &CapacityRequestPolicyRange) -> bool {
    if range.max.is_some_and(|max| amount > max) {
        return true;
    }
    let min = range.min.map_or(0, Quantity::value);
    let step = range.step.map(Quantity::value).filter(|step| *step != 0);
    step.is_some_and(|step| amount.value().wrapping_sub(min) % step != 0)
}
