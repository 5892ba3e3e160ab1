//! Allocation results: devices, configuration, and the nodes where they can be used.
//!
//! Follows the end of `Allocate` in `k8s.io/dynamic-resource-allocation/structured`.

use std::collections::BTreeMap;

use super::AllocateError;
use super::search::{RequestData, Search, Taken};
use crate::api::node_selector::METADATA_NAME;
use crate::api::objects::{
    AllocationResult, DeviceAllocationConfiguration, DeviceAllocationResult, DeviceRequestAllocationResult,
    Node, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, ResourceClaim,
};
use crate::api::{Digest, Str, Uid};

/// Where a configuration comes from.
const FROM_CLASS: &str = "FromClass";
/// The same.
const FROM_CLAIM: &str = "FromClaim";

impl Search<'_> {
    /// The allocations of the solution, one for each claim.
    pub(super) fn into_results(self, node: &Node) -> Result<Vec<AllocationResult>, AllocateError> {
        let claims = self.claims.iter().zip(&self.requests).zip(&self.results);
        let result = claims.map(|((claim, requests), taken)| {
            let selector = self.node_selector(taken, node).map_err(|error| {
                let name = &claim.metadata.name;
                AllocateError::Failed(format!("create NodeSelector for claim {name}: {error}"))
            })?;
            let results = taken.iter().enumerate().map(|(i, taken)| self.device_result(claim, i, taken));
            let devices =
                DeviceAllocationResult { results: results.collect(), config: configuration(claim, requests) };
            Ok(AllocationResult { devices, node_selector: selector, allocation_timestamp: None })
        });
        result.collect()
    }

    fn device_result(
        &self,
        claim: &ResourceClaim,
        index: usize,
        taken: &Taken<'_>,
    ) -> DeviceRequestAllocationResult {
        let (id, device) = (taken.candidate.id(), taken.candidate.device);
        let with_conditions = self.features().device_binding_and_status;
        let conditions = |conditions: &[Str]| if with_conditions { conditions.to_vec() } else { Vec::new() };
        DeviceRequestAllocationResult {
            request: taken.request.full_name(),
            admin_access: taken.request.is_admin().then_some(true),
            tolerations: taken.request.tolerations.to_vec(),
            binding_conditions: conditions(&device.binding_conditions),
            binding_failure_conditions: conditions(&device.binding_failure_conditions),
            share_id: taken.consumed.is_some().then(|| share_id(claim, index, &id.to_string())),
            consumed_capacity: taken.consumed.clone().unwrap_or_default(),
            driver: id.pool.driver,
            pool: id.pool.pool,
            device: id.device,
        }
    }

    /// The nodes where all of the devices can be used; all nodes if absent.
    fn node_selector(&self, taken: &[Taken<'_>], node: &Node) -> Result<Option<NodeSelector>, String> {
        let mut all = NodeSelectorTerm::default();
        for Taken { candidate, .. } in taken {
            let (device, spec) = (candidate.device, &candidate.slice.slice.spec);
            let (name, selector) = if spec.per_device_node_selection == Some(true) {
                (&device.node_name, &device.node_selector)
            } else {
                (&spec.node_name, &spec.node_selector)
            };
            let binds = self.features().is_incubating() && device.binds_to_node == Some(true);
            if name.is_some() || binds {
                return Ok(Some(only(node)));
            }
            match selector.as_ref().map_or(&[][..], |selector| &selector.node_selector_terms) {
                [] => {}
                [term] => {
                    add_new(&term.match_fields, &mut all.match_fields);
                    add_new(&term.match_expressions, &mut all.match_expressions);
                }
                terms => {
                    let n = terms.len();
                    return Err(format!("unsupported ResourceSlice.NodeSelector with {n} terms"));
                }
            }
        }
        let is_anywhere = all.match_fields.is_empty() && all.match_expressions.is_empty();
        Ok((!is_anywhere).then(|| NodeSelector { node_selector_terms: vec![all] }))
    }
}

/// The ID of a share. Upstream draws one at random; this one follows from what it is for, so that a search leaves no
/// trace in the core's random numbers.
fn share_id(claim: &ResourceClaim, index: usize, device: &str) -> Uid {
    let key = claim.metadata.key();
    let half = |which: &str| {
        let mut digest = Digest::new();
        digest.str(which).str(&key.namespace).str(&key.name).str(&claim.metadata.uid);
        digest.str(device).len(index).finish()
    };
    let (high, low) = (half("high"), half("low"));
    Uid::from(format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xfff,
        low >> 48 & 0x3fff | 0x8000,
        low & 0xffff_ffff_ffff
    ))
}

/// That node alone.
fn only(node: &Node) -> NodeSelector {
    let name = NodeSelectorRequirement {
        key: METADATA_NAME.to_owned(),
        operator: "In".to_owned(),
        values: vec![node.name().to_string()],
    };
    NodeSelector {
        node_selector_terms: vec![NodeSelectorTerm {
            match_fields: vec![name],
            match_expressions: Vec::new(),
        }],
    }
}

/// Adds the requirements that are not there yet; the order of values does not matter.
fn add_new(from: &[NodeSelectorRequirement], to: &mut Vec<NodeSelectorRequirement>) {
    let is_in = |values: &[String], others: &[String]| values.iter().all(|value| others.contains(value));
    for requirement in from {
        let is_same = |known: &NodeSelectorRequirement| {
            known.key == requirement.key
                && known.operator == requirement.operator
                && is_in(&known.values, &requirement.values)
                && is_in(&requirement.values, &known.values)
        };
        if !to.iter().any(is_same) {
            to.push(requirement.clone());
        }
    }
}

/// The configuration of a claim: that of each class once, then its own for the requests that were taken.
fn configuration(
    claim: &ResourceClaim,
    requests: &[Vec<RequestData<'_>>],
) -> Vec<DeviceAllocationConfiguration> {
    let mut all: Vec<DeviceAllocationConfiguration> = Vec::new();
    let mut of_class: BTreeMap<&str, std::ops::Range<usize>> = BTreeMap::new();
    for alternatives in requests {
        let Some(data) = taken(alternatives) else { continue };
        let name = data.request.full_name();
        if let Some(known) = of_class.get(data.class.metadata.name.as_ref()) {
            for config in all.get_mut(known.clone()).into_iter().flatten() {
                config.requests.push(name.clone());
            }
            continue;
        }
        let start = all.len();
        all.extend(data.class.spec.config.iter().map(|config| DeviceAllocationConfiguration {
            source: Str::from(FROM_CLASS),
            requests: vec![name.clone()],
            opaque: config.opaque.clone(),
        }));
        of_class.insert(&data.class.metadata.name, start..all.len());
    }
    for config in &claim.spec.devices.config {
        let copy = || DeviceAllocationConfiguration {
            source: Str::from(FROM_CLAIM),
            requests: config.requests.clone(),
            opaque: config.opaque.clone(),
        };
        if config.requests.is_empty() {
            all.push(copy());
            continue;
        }
        for (request, alternatives) in claim.spec.devices.requests.iter().zip(requests) {
            let is_meant = config.requests.contains(&request.name)
                || taken(alternatives).is_some_and(|data| {
                    data.request.parent.is_some() && config.requests.contains(&data.request.full_name())
                });
            if is_meant {
                all.push(copy());
            }
        }
    }
    all
}

/// The alternative that was taken.
fn taken<'d, 's>(alternatives: &'d [RequestData<'s>]) -> Option<&'d RequestData<'s>> {
    alternatives.get(alternatives.first()?.selected)
}
