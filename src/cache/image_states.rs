//! Which images are on how many nodes.
//!
//! Mirrors `addNodeImageStates`, `removeNodeImageStates` of `pkg/scheduler/backend/cache/cache.go` and
//! `ImageStateSummary.Snapshot`: the count that a node shows is that of the moment at which the node itself was
//! last taken into a snapshot.

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use crate::api::Str;
use crate::api::objects::Node;
use crate::framework::ImageStateSummary;

/// All images by each of their names.
#[derive(Clone, Debug, Default)]
pub(super) struct ImageStates {
    by_name: FxHashMap<Str, ImageStateSummary>,
    version: u64,
}

/// The names of the images on a node, each once.
fn names(node: &Node) -> BTreeSet<&Str> {
    node.status.images.iter().flat_map(|image| &image.names).collect()
}

impl ImageStates {
    /// Grows whenever any count changes.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// A node has come. An image that is known has the size that the first node reported.
    pub(super) fn add_node(&mut self, node: &Node) {
        let mut counted: BTreeSet<&Str> = BTreeSet::new();
        for image in &node.status.images {
            for name in image.names.iter().filter(|name| counted.insert(name)) {
                self.by_name
                    .entry(name.clone())
                    .or_insert(ImageStateSummary { size: image.size_bytes, num_nodes: 0 })
                    .num_nodes += 1;
            }
        }
        self.version += u64::from(!counted.is_empty());
    }

    /// A node that was added has gone.
    pub(super) fn remove_node(&mut self, node: &Node) {
        let names = names(node);
        for name in &names {
            let Some(state) = self.by_name.get_mut(*name) else { continue };
            state.num_nodes = state.num_nodes.saturating_sub(1);
            if state.num_nodes == 0 {
                self.by_name.remove(*name);
            }
        }
        self.version += u64::from(!names.is_empty());
    }

    /// The images on a node with the counts of this moment.
    pub(super) fn of_node(&self, node: &Node) -> BTreeMap<Str, ImageStateSummary> {
        names(node)
            .into_iter()
            .filter_map(|name| self.by_name.get(name).map(|state| (name.clone(), *state)))
            .collect()
    }
}
