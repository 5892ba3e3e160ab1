//! Parts of a pod's signature that more than one plugin has.
//!
//! Follows `staging/src/k8s.io/kube-scheduler/framework/signers.go`. Only equality of signatures counts, so the
//! texts are JSON of our own making, sorted where the order has no meaning.

use serde::Serialize;

use crate::api::objects::{NodeSelectorRequirement, NodeSelectorTerm, Pod};
use crate::framework::{Resource, SignFragment, Status};

/// The features that the pod needs.
pub const FEATURES: &str = "v1.Pod.Spec.RequiredFeatures()";
/// The labels.
pub const LABELS: &str = "v1.Pod.Labels";
/// The name of the pod's node.
pub const NODE_NAME: &str = "v1.Pod.Spec.NodeName";
/// The node affinity.
pub const NODE_AFFINITY: &str = "v1.Pod.Spec.Affinity.NodeAffinity";
/// The node selector.
pub const NODE_SELECTOR: &str = "v1.Pod.Spec.Affinity.NodeSelector";
/// The host ports.
pub const HOST_PORTS: &str = "v1.Pod.Spec.HostPorts()";
/// The images.
pub const IMAGE_NAMES: &str = "v1.Pod.Spec.CanonicalImageNames()";
/// The requests.
pub const RESOURCES: &str = "v1.Pod.Spec.ContainerRequestsAndOverheads()";
/// The tolerations.
pub const TOLERATIONS: &str = "v1.Pod.Spec.Tolerations";

/// A fragment with `value` as JSON.
///
/// # Errors
/// The value cannot be written as JSON.
pub fn fragment(key: &'static str, value: &impl Serialize) -> Result<SignFragment, Status> {
    let value = serde_json::to_string(value).map_err(Status::error)?;
    Ok(SignFragment { key, value })
}

/// The tolerations, by key and value.
///
/// # Errors
/// They cannot be written as JSON.
pub fn tolerations(pod: &Pod) -> Result<SignFragment, Status> {
    let mut tolerations: Vec<_> = pod.spec.tolerations.iter().collect();
    tolerations.sort_by(|a, b| (&a.key, &a.value).cmp(&(&b.key, &b.value)));
    fragment(TOLERATIONS, &tolerations)
}

/// The numbers of all host ports, of init containers too.
///
/// # Errors
/// They cannot be written as JSON.
pub fn host_ports(pod: &Pod) -> Result<SignFragment, Status> {
    let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
    let ports = containers.flat_map(|container| &container.ports).map(|port| port.host_port);
    let mut ports: Vec<i32> = ports.filter(|port| *port != 0).collect();
    ports.sort_unstable();
    ports.dedup();
    fragment(HOST_PORTS, &ports)
}

/// The requests, by resource.
///
/// # Errors
/// They cannot be written as JSON.
pub fn resources(requests: &Resource) -> Result<SignFragment, Status> {
    let named = (requests.milli_cpu, requests.memory, requests.ephemeral_storage);
    fragment(RESOURCES, &(named, &requests.scalar_resources))
}

/// The required and the preferred node affinity, terms and expressions sorted.
///
/// # Errors
/// They cannot be written as JSON.
pub fn node_affinity(pod: &Pod) -> Result<SignFragment, Status> {
    let requirements = |list: &[NodeSelectorRequirement]| {
        let mut list: Vec<(String, String, Vec<String>)> = list
            .iter()
            .map(|requirement| {
                let mut values = requirement.values.clone();
                values.sort_unstable();
                (requirement.key.clone(), requirement.operator.clone(), values)
            })
            .collect();
        list.sort_unstable();
        list
    };
    let term =
        |term: &NodeSelectorTerm| (requirements(&term.match_expressions), requirements(&term.match_fields));
    let affinity = pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let sorted = affinity.map(|affinity| {
        let required = affinity.required.iter().flat_map(|required| &required.node_selector_terms);
        let mut required: Vec<_> = required.map(term).collect();
        required.sort_unstable();
        let preferred = affinity.preferred.iter().map(|term_| (term_.weight, term(&term_.preference)));
        let mut preferred: Vec<_> = preferred.collect();
        preferred.sort_unstable();
        (required, preferred)
    });
    fragment(NODE_AFFINITY, &sorted)
}
