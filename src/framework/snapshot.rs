//! All nodes as one scheduling cycle sees them.
//!
//! Plain shared data: the cache brings it up to date between cycles, plugins read it. Mirrors
//! `pkg/scheduler/backend/cache/snapshot.go`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::Str;

use super::node_info::NodeInfo;

/// The nodes of one moment. Cloning costs a reference per node.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    nodes: Vec<Arc<NodeInfo>>,
    index: Arc<BTreeMap<Str, usize>>,
    generation: u64,
}

/// Equal are snapshots of equal nodes in the same order, whatever they went through.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

impl Snapshot {
    /// A snapshot of these nodes, in this order.
    pub fn new(nodes: Vec<Arc<NodeInfo>>) -> Self {
        let index = nodes.iter().enumerate().map(|(i, node)| (node.name().clone(), i)).collect();
        Self { nodes, index: Arc::new(index), generation: 0 }
    }

    /// The nodes, in the order in which a cycle visits them.
    pub fn list(&self) -> &[Arc<NodeInfo>] {
        &self.nodes
    }

    /// How many nodes there are.
    pub fn num_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The node of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<NodeInfo>> {
        self.nodes.get(self.position(name)?)
    }

    /// Where in [`Snapshot::list`] the node of that name is.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Puts a newer version of a node in the place of the old one. Returns false if there is no such node.
    pub fn replace(&mut self, node: Arc<NodeInfo>) -> bool {
        let Some(position) = self.position(node.name()) else { return false };
        match self.nodes.get_mut(position) {
            Some(slot) => *slot = node,
            None => return false,
        }
        true
    }

    /// The last change of the cache that this snapshot has taken in; 0 if it was not made by a cache.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Sets [`Snapshot::generation`].
    pub const fn set_generation(&mut self, generation: u64) {
        self.generation = generation;
    }
}
