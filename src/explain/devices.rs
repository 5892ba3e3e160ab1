//! Devices in words: what each claim of a pod finds on a node, request by device, and why a device is not taken.

use std::collections::BTreeMap;

use crate::api::NamespacedName;
use crate::api::objects::ResourceClaim;
use crate::framework::NodeInfo;
use crate::plugins::dynamic_resources::evidence::{
    self, AllocationEvidence, ClaimEvidence, DeviceEvidence, DevicesEvidence, RequestEvidence,
};
use crate::plugins::helper::devices::DeviceId;
use crate::scheduler::trace::CycleTrace;
use crate::scheduler::view::View;

use super::{counted, listed, names};

/// How many devices are told one by one for each request.
const DEVICES_TOLD: usize = 40;
/// How many holders of a device are named.
const N_HOLDERS: usize = 3;

/// Whether a plugin decides about devices, so that [`devices`] tells what it saw.
pub fn is_about_devices(plugin: &str) -> bool {
    plugin == names::DYNAMIC_RESOURCES
}

/// What a claim finds on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimStory {
    /// How it stands.
    pub headline: String,
    /// Its requests; none if it is allocated.
    pub requests: Vec<RequestStory>,
}

/// A request against the devices of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestStory {
    /// What it asks for, and how many devices would do.
    pub headline: String,
    /// The selectors that decide, those of the class first, each with a letter by which the devices refer to it.
    pub selectors: Vec<(char, String)>,
    /// The devices, those that would do first.
    pub devices: Vec<DeviceStory>,
    /// How many more there are.
    pub n_more: usize,
}

/// A device in the eyes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceStory {
    /// Driver, pool and name.
    pub device: String,
    /// Whether the request could take it if it needed no other device.
    pub is_usable: bool,
    /// What each selector says, such as `a yes, b no`; empty without selectors.
    pub verdicts: String,
    /// Why it is not taken; empty if it could be.
    pub why_not: Vec<String>,
}

/// What the claims of the attempt's pod find on a node: problems of pools first, then claim by claim; absent if the pod
/// has no claims, or PreFilter ended the attempt because of them.
///
/// Devices and what is left of them are as the attempt saw them, who has them as it is now.
pub fn devices(view: &View, trace: &CycleTrace, node: &NodeInfo) -> Option<(Vec<String>, Vec<ClaimStory>)> {
    let holders = holders(view);
    let of_device = |id: &DeviceId| holders.get(id).cloned().unwrap_or_default();
    let state = if trace.filter.is_some() { &trace.filter_state } else { &trace.cycle_state };
    let evidence = evidence::explain(state, &trace.pod_info.pod, node, of_device)?;
    Some(match evidence {
        Ok(evidence) => (pools(&evidence), evidence.claims.iter().map(claim).collect()),
        Err(error) => (vec![error], Vec::new()),
    })
}

/// Which claims have which devices now. Who only looks (admin access) has none.
fn holders(view: &View) -> BTreeMap<DeviceId, Vec<NamespacedName>> {
    let mut holders: BTreeMap<DeviceId, Vec<NamespacedName>> = BTreeMap::new();
    for claim in &view.device_claims {
        for id in devices_of(claim) {
            let of_device = holders.entry(id).or_default();
            if !of_device.contains(&claim.metadata.key()) {
                of_device.push(claim.metadata.key());
            }
        }
    }
    holders
}

fn devices_of(claim: &ResourceClaim) -> impl Iterator<Item = DeviceId> + '_ {
    let results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.filter(|result| result.admin_access != Some(true)).map(DeviceId::of)
}

fn pools(evidence: &DevicesEvidence) -> Vec<String> {
    let needs = evidence.claims.iter().any(|claim| claim.allocation == AllocationEvidence::Needed);
    if evidence.pools.is_empty() && needs {
        return vec!["No pool has devices for this node.".to_owned()];
    }
    let problems = evidence.pools.iter().filter_map(|pool| {
        let problem = pool.problem.as_ref()?;
        Some(format!("Pool {} is not used: {problem}.", pool.id))
    });
    problems.collect()
}

fn claim(evidence: &ClaimEvidence) -> ClaimStory {
    let name = &evidence.claim;
    let headline = match &evidence.allocation {
        AllocationEvidence::Allocated { devices, is_available } => {
            let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
            let what = if devices.is_empty() {
                "is allocated".to_owned()
            } else {
                format!("has {}", listed(&devices, 4))
            };
            let here = if *is_available { "which this node can use" } else { "which this node cannot use" };
            format!("Claim {name} {what}, {here}.")
        }
        AllocationEvidence::Needed => format!("Claim {name} needs devices."),
    };
    ClaimStory { headline, requests: evidence.requests.iter().map(request).collect() }
}

fn request(evidence: &RequestEvidence) -> RequestStory {
    let n_usable = evidence.devices.iter().filter(|device| device.is_usable).count();
    let wants = match evidence.mode.as_ref() {
        "All" => "all devices".to_owned(),
        _ => counted(usize::try_from(evidence.count).unwrap_or_default(), "device"),
    };
    let headline = format!(
        "Request {}: {wants} of class {}; {n_usable} of {} would do by itself.",
        evidence.name,
        evidence.class,
        counted(evidence.devices.len(), "device"),
    );
    let first = evidence.devices.first();
    let selectors = first.map_or(&[][..], |device| device.selectors.as_slice()).iter().zip('a'..='z');
    let selectors = selectors.map(|(selector, letter)| {
        let whose = if selector.is_of_class { "class" } else { "request" };
        (letter, format!("{} ({whose})", selector.expression))
    });
    let mut devices: Vec<&DeviceEvidence> = evidence.devices.iter().collect();
    devices.sort_by_key(|device| !device.is_usable);
    let n_more = devices.len().saturating_sub(DEVICES_TOLD);
    RequestStory {
        headline,
        selectors: selectors.collect(),
        devices: devices.into_iter().take(DEVICES_TOLD).map(device).collect(),
        n_more,
    }
}

fn device(evidence: &DeviceEvidence) -> DeviceStory {
    let mut why_not = Vec::new();
    let verdicts =
        evidence.selectors.iter().zip('a'..='z').map(|(selector, letter)| match &selector.verdict {
            Ok(true) => format!("{letter} true"),
            Ok(false) => format!("{letter} false"),
            Err(_) => format!("{letter} error"),
        });
    let verdicts: Vec<String> = verdicts.collect();
    for (selector, letter) in evidence.selectors.iter().zip('a'..='z') {
        match &selector.verdict {
            Ok(true) => {}
            Ok(false) => why_not.push(format!("selector {letter} says no")),
            Err(error) => why_not.push(format!("selector {letter} fails: {error}")),
        }
    }
    if !evidence.is_on_node {
        why_not.push("it is not on this node".to_owned());
    }
    if evidence.is_taken {
        let holders: Vec<String> = evidence.holders.iter().map(|claim| format!("claim {claim}")).collect();
        why_not.push(match holders.as_slice() {
            [] => "it was taken when the attempt looked".to_owned(),
            holders => format!("{} has it", listed(holders, N_HOLDERS)),
        });
    }
    if let Some(taint) = &evidence.taint {
        why_not.push(format!("taint {taint} is not tolerated"));
    }
    for counter in &evidence.counters {
        if counter.left < counter.needed {
            why_not.push(format!(
                "counter {}/{}: {} needed, {} left",
                counter.set, counter.counter, counter.needed, counter.left
            ));
        }
    }
    if !evidence.has_capacity {
        let holders: Vec<String> = evidence.holders.iter().map(|claim| format!("claim {claim}")).collect();
        why_not.push(match holders.as_slice() {
            [] => "it has too little capacity".to_owned(),
            holders => format!("too little of its capacity is left beside {}", listed(holders, N_HOLDERS)),
        });
    }
    DeviceStory {
        device: evidence.id.to_string(),
        is_usable: evidence.is_usable,
        verdicts: verdicts.join(", "),
        why_not,
    }
}
