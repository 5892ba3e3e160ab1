//! TopologyPlacementGenerator: a group that wants one value of a node label for all its pods is tried in each of the
//! label's domains (KEP-5732). Behind the gate TopologyAwareWorkloadScheduling, off by default.
//!
//! Follows `plugins/topologyaware/topology_placement.go`. Placements come in the order of their domains.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names;
use crate::api::objects::Pod;
use crate::api::{NamespacedName, Str};
use crate::framework::pod_group::{Placement, PodGroupInfo};
use crate::framework::{Handle, NodeInfo, PlacementGeneratePlugin, Plugin, Status};

/// The plugin.
#[derive(Clone, Copy, Debug, Default)]
pub struct TopologyPlacement;

impl Plugin for TopologyPlacement {
    fn name(&self) -> &'static str {
        names::TOPOLOGY_PLACEMENT_GENERATOR
    }
    fn as_placement_generate(&self) -> Option<&dyn PlacementGeneratePlugin> {
        Some(self)
    }
}

fn domain<'a>(node: &'a NodeInfo, topology_key: &str) -> Option<&'a Str> {
    node.node()?.metadata.labels.get(topology_key)
}

/// The one domain in which all these pods are; absent without pods.
fn domain_of_pods<'a>(
    handle: &Handle<'a>,
    topology_key: &str,
    pods: impl Iterator<Item = &'a Arc<Pod>>,
) -> Result<Option<&'a Str>, String> {
    let mut found: Option<&Str> = None;
    for pod in pods {
        let node_name = &pod.spec.node_name;
        let node = handle.snapshot.get(node_name).ok_or_else(|| {
            format!("getting node for pod {}: nodeinfo not found for node name {node_name:?}", pod.key())
        })?;
        let domain = domain(node, topology_key)
            .ok_or_else(|| format!("no topology domain found for pod {}", pod.key()))?;
        if let Some(other) = found.filter(|other| *other != domain) {
            return Err(format!("more than 1 domain found for pod group: {other}, {domain}"));
        }
        found = Some(domain);
    }
    Ok(found)
}

impl PlacementGeneratePlugin for TopologyPlacement {
    fn generate_placements(
        &self,
        handle: &Handle<'_>,
        group: &PodGroupInfo,
        parent: &Placement,
    ) -> Result<Vec<Placement>, Status> {
        let key = NamespacedName { namespace: group.namespace.clone(), name: group.name.clone() };
        let Some(object) = handle.objects.pod_groups.get(&key) else {
            return Err(Status::error(format!("podgroup.scheduling.k8s.io {:?} not found", group.name)));
        };
        let Some(topology_key) = object.topology_key() else { return Ok(vec![parent.clone()]) };
        let state = handle.snapshot_pod_groups.get(&group.namespace, &group.name).map_err(Status::error)?;
        let required = domain_of_pods(handle, topology_key, state.scheduled_pods()).map_err(|error| {
            Status::error(format!("cannot determine domain for already scheduled pods: {error}"))
        })?;
        let mut domains: BTreeMap<&Str, Vec<Arc<NodeInfo>>> = BTreeMap::new();
        for node in &parent.nodes {
            let Some(domain) = domain(node, topology_key) else { continue };
            if required.is_none_or(|required| required == domain) {
                domains.entry(domain).or_default().push(Arc::clone(node));
            }
        }
        let placement = |(name, nodes): (&Str, Vec<Arc<NodeInfo>>)| Placement { name: name.clone(), nodes };
        Ok(domains.into_iter().map(placement).collect())
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::Object;
    use crate::api::objects::PodGroup;
    use crate::plugins::fixtures::world;

    /// The placements of the group `train`, `domain: nodes`, or the error. `scheduled` are its pods' nodes.
    fn placements(constraints: &str, scheduled: &[&str]) -> Result<Vec<String>, String> {
        let nodes = [
            "{metadata: {name: a1, labels: {rack: a}}}",
            "{metadata: {name: a2, labels: {rack: a}}}",
            "{metadata: {name: b1, labels: {rack: b}}}",
            "{metadata: {name: x1}}",
        ];
        let pods: Vec<String> = scheduled
            .iter()
            .enumerate()
            .map(|(i, node)| {
                format!(
                    "{{metadata: {{name: p{i}, namespace: default}}, spec: {{nodeName: {node}, schedulingGroup: \
                     {{podGroupName: train}}}}}}"
                )
            })
            .collect();
        let mut world = world(&nodes, &pods.iter().map(String::as_str).collect::<Vec<_>>());
        let group: PodGroup = serde_saphyr::from_str(&format!(
            "{{metadata: {{name: train, namespace: default}}, spec: {{schedulingConstraints: {constraints}}}}}"
        ))
        .unwrap();
        world.objects.insert(Object::from(group));
        let members: Vec<Arc<Pod>> = world.objects.pods.values().cloned().collect();
        for pod in &members {
            world.pod_groups.put(pod);
        }
        if members.is_empty() {
            let waiting =
                "{metadata: {name: w, namespace: default}, spec: {schedulingGroup: {podGroupName: train}}}";
            world.pod_groups.put(&crate::plugins::fixtures::pod(waiting));
        }
        let info =
            PodGroupInfo { namespace: "default".into(), name: "train".into(), unscheduled_pods: Vec::new() };
        let parent = Placement { name: "all".into(), nodes: world.snapshot.list().to_vec() };
        let found = TopologyPlacement.generate_placements(&world.handle(), &info, &parent);
        let found = found.map_err(|status| status.message())?;
        let text = |placement: &Placement| {
            let nodes: Vec<&str> = placement.nodes.iter().map(|node| node.name().as_ref()).collect();
            format!("{}: {}", placement.name, nodes.join(" "))
        };
        Ok(found.iter().map(text).collect())
    }

    #[test]
    fn a_group_without_constraints_has_all_nodes() {
        assert_eq!(placements("null", &[]).unwrap(), ["all: a1 a2 b1 x1"]);
    }

    #[test]
    fn each_domain_is_a_placement_and_nodes_without_the_label_are_in_none() {
        assert_eq!(placements("{topology: [{key: rack}]}", &[]).unwrap(), ["a: a1 a2", "b: b1"]);
        assert!(placements("{topology: [{key: row}]}", &[]).unwrap().is_empty());
    }

    #[test]
    fn the_rest_of_a_group_goes_where_its_first_pods_are() {
        assert_eq!(placements("{topology: [{key: rack}]}", &["b1"]).unwrap(), ["b: b1"]);
        let error = |nodes: &[&str]| placements("{topology: [{key: rack}]}", nodes).unwrap_err();
        assert_eq!(
            error(&["a1", "b1"]),
            "cannot determine domain for already scheduled pods: more than 1 domain found for pod group: a, b"
        );
        assert_eq!(
            error(&["x1"]),
            "cannot determine domain for already scheduled pods: no topology domain found for pod default/p0"
        );
    }
}
