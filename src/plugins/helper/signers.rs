//! Parts of a pod's signature that more than one plugin has.
//!
//! Follows `staging/src/k8s.io/kube-scheduler/framework/signers.go`. Only equality of signatures counts, so the
//! texts are JSON of our own making, sorted where the order has no meaning.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::volumes as helper_volumes;
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
/// The volumes.
pub const VOLUMES: &str = "v1.Pod.Spec.Volumes.NonSyntheticSources()";
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

/// The sources of all volumes but configMap and secret, which are for single pods and are seen by no plugin.
///
/// # Errors
/// They cannot be written as JSON.
pub fn volumes(pod: &Pod) -> Result<SignFragment, Status> {
    let is_there = |(name, source): &(&String, &Value)| *name != "name" && !source.is_null();
    let mut volumes: Vec<String> = pod
        .spec
        .volumes
        .iter()
        .filter(|volume| !["configMap", "secret"].iter().any(|source| helper_volumes::has(volume, source)))
        .map(|volume| {
            let sources: BTreeMap<&String, Value> =
                volume.iter().filter(is_there).map(|(name, source)| (name, sorted(source))).collect();
            serde_json::to_string(&sources).map_err(Status::error)
        })
        .collect::<Result<_, _>>()?;
    volumes.sort_unstable();
    fragment(VOLUMES, &volumes)
}

/// The same value with the keys of all maps in order and without what is `null`.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let entries = map.iter().filter(|(_, value)| !value.is_null());
            let entries: BTreeMap<String, Value> =
                entries.map(|(key, value)| (key.clone(), sorted(value))).collect();
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(sorted).collect()),
        other => other.clone(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugins::fixtures::pod;

    /// The signature of the volumes of a pod.
    fn signed(list: &str) -> String {
        let pod = pod(&format!("{{spec: {{volumes: {list}}}}}"));
        volumes(&pod).map(|fragment| fragment.value).unwrap_or_default()
    }

    #[test]
    fn volumes_are_signed_by_their_sources_but_config_maps_and_secrets() {
        let base = signed("[{name: a, emptyDir: {}}, {name: b, csi: {driver: d, readOnly: true}}]");
        assert_eq!(signed("[{name: x, csi: {readOnly: true, driver: d}}, {name: y, emptyDir: {}}]"), base);
        assert_eq!(
            signed(
                "[{name: c, configMap: {name: m}}, {name: s, secret: {}}, {name: a, emptyDir: {}}, {name: b, csi: {driver: d, readOnly: true}}]"
            ),
            base
        );
        assert_ne!(signed("[{name: a, emptyDir: {}}, {name: b, csi: {driver: e, readOnly: true}}]"), base);
    }
}
