//! The order in which a cycle visits the nodes: one of each zone in turn, so that a search that ends early has
//! seen all zones.
//!
//! Mirrors `pkg/scheduler/backend/cache/node_tree.go` and `GetZoneKey` of
//! `k8s.io/component-helpers/node/topology`.

use std::collections::BTreeMap;

use crate::api::Str;
use crate::api::objects::Node;

/// Node names by zone; zones and the names in each are in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTree {
    zones: Vec<(String, Vec<Str>)>,
    zone_of: BTreeMap<Str, String>,
}

/// The region and zone of a node as one text; empty if it has neither. The labels of old come first.
fn zone_key(node: &Node) -> String {
    let label = |old, new| node.label(old).or_else(|| node.label(new)).unwrap_or("");
    let zone = label("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone");
    let region = label("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region");
    if region.is_empty() && zone.is_empty() { String::new() } else { format!("{region}:\0:{zone}") }
}

impl NodeTree {
    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.zone_of.len()
    }

    /// Adds a node at the end of its zone, or moves it there if it is in another one.
    pub(super) fn add_or_update(&mut self, node: &Node) {
        let zone = zone_key(node);
        if self.zone_of.get(node.name()) == Some(&zone) {
            return;
        }
        self.remove(node.name());
        match self.zones.iter_mut().find(|(key, _)| *key == zone) {
            Some((_, names)) => names.push(node.name().clone()),
            None => self.zones.push((zone.clone(), vec![node.name().clone()])),
        }
        self.zone_of.insert(node.name().clone(), zone);
    }

    /// Removes a node, and its zone if it was the last one there.
    pub(super) fn remove(&mut self, name: &str) {
        let Some(zone) = self.zone_of.remove(name) else { return };
        for (_, names) in self.zones.iter_mut().filter(|(key, _)| *key == zone) {
            names.retain(|other| other.as_ref() != name);
        }
        self.zones.retain(|(_, names)| !names.is_empty());
    }

    /// All names: the first of each zone, then the second of each zone, and so on.
    pub(super) fn list(&self) -> Vec<&Str> {
        let longest = self.zones.iter().map(|(_, names)| names.len()).max().unwrap_or(0);
        (0..longest).flat_map(|i| self.zones.iter().filter_map(move |(_, names)| names.get(i))).collect()
    }
}
