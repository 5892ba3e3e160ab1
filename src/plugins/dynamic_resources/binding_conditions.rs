//! Conditions that drivers have to report of devices before a pod may be bound (KEP-5007).
//!
//! Follows `isClaimReadyForBinding` and `isClaimTimeout` of `dynamicresources.go`.

use crate::api::objects::{AllocatedDeviceStatus, DeviceRequestAllocationResult, ResourceClaim};
use crate::api::{Duration, Str, Time};

/// The devices of an allocated claim.
pub(super) fn results(claim: &ResourceClaim) -> &[DeviceRequestAllocationResult] {
    claim.status.allocation.as_ref().map_or(&[], |allocation| &allocation.devices.results)
}

/// Whether a device has to be waited for.
pub(super) fn has_conditions(claim: &ResourceClaim) -> bool {
    results(claim).iter().any(|result| !result.binding_conditions.is_empty())
}

/// The conditions that a device has to have and has not yet, and those of its failure that it has.
pub(super) fn missing_and_failed(
    claim: &ResourceClaim,
    result: &DeviceRequestAllocationResult,
) -> (Vec<Str>, Vec<Str>) {
    let status = status_of(claim, result);
    let is_true = |type_: &Str| {
        let conditions = status.into_iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|condition| condition.type_ == **type_ && condition.status == "True")
    };
    let missing = result.binding_conditions.iter().filter(|type_| !is_true(type_));
    let failed = result.binding_failure_conditions.iter().filter(|type_| is_true(type_));
    (missing.cloned().collect(), failed.cloned().collect())
}

/// Whether a claim is allocated and its devices are ready.
///
/// # Errors
/// A driver says that a device will not become ready.
pub(super) fn is_ready(claim: &ResourceClaim) -> Result<bool, String> {
    if claim.status.allocation.is_none() {
        return Ok(false);
    }
    for result in results(claim).iter().filter(|result| !result.binding_conditions.is_empty()) {
        let Some(status) = status_of(claim, result) else { return Ok(false) };
        let condition = |type_: &str| status.conditions.iter().find(|condition| condition.type_ == type_);
        let failed = result.binding_failure_conditions.iter().filter_map(|type_| condition(type_));
        if let Some(failed) = failed.into_iter().find(|condition| condition.status == "True") {
            let (claim, reason, message) = (&claim.metadata.name, &failed.reason, &failed.message);
            return Err(format!(
                "device binding failed: claim={claim}, reason={reason}, message={message:?}"
            ));
        }
        let is_true = |type_: &str| condition(type_).is_some_and(|condition| condition.status == "True");
        if !result.binding_conditions.iter().all(|type_| is_true(type_)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn status_of<'a>(
    claim: &'a ResourceClaim,
    result: &DeviceRequestAllocationResult,
) -> Option<&'a AllocatedDeviceStatus> {
    claim.status.devices.iter().find(|status| {
        status.device == result.device && status.driver == result.driver && status.pool == result.pool
    })
}

/// Whether the devices of a claim have had their time.
pub(super) fn has_timed_out(claim: &ResourceClaim, timeout: Duration, now: Time) -> bool {
    let since = claim.status.allocation.as_ref().and_then(|allocation| allocation.allocation_timestamp);
    has_conditions(claim) && since.is_some_and(|since| since.saturating_add(timeout) < now)
}
