//! Why a pod fits nowhere.
//!
//! Mirrors `framework.Diagnosis`, `NodeToStatus` and `FitError` of `pkg/scheduler/framework/types.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::api::Str;

use super::node_info::NodeInfo;
use super::status::{Code, Status};

/// The status of each node that was looked at; nodes without an entry have the `absent` status.
#[derive(Clone, Debug, Default)]
pub struct NodeToStatus {
    /// In the order in which they were set, which is that of the visit.
    statuses: Vec<(Str, Status)>,
    /// Where a node is in `statuses`, once somebody has asked: most attempts end without a look at a single node.
    positions: OnceLock<FxHashMap<Str, usize>>,
    absent: Status,
}

impl PartialEq for NodeToStatus {
    fn eq(&self, other: &Self) -> bool {
        self.statuses == other.statuses && self.absent == other.absent
    }
}

impl NodeToStatus {
    /// No entries; nodes without an entry count as UnschedulableAndUnresolvable, as upstream's default has it.
    pub fn new() -> Self {
        Self { absent: Status::bare(Code::UnschedulableAndUnresolvable), ..Self::default() }
    }

    fn position(&self, node_name: &str) -> Option<usize> {
        // Asked for the node to which a pod is nominated, which for most pods is none.
        if node_name.is_empty() || self.statuses.is_empty() {
            return None;
        }
        let positions = self.positions.get_or_init(|| {
            self.statuses.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect()
        });
        positions.get(node_name).copied()
    }

    /// Sets the status of a node.
    pub fn set(&mut self, node_name: Str, status: Status) {
        let position = self.position(&node_name);
        match position.and_then(|position| self.statuses.get_mut(position)) {
            Some((_, old)) => *old = status,
            None => {
                if let Some(positions) = self.positions.get_mut() {
                    positions.insert(node_name.clone(), self.statuses.len());
                }
                self.statuses.push((node_name, status));
            }
        }
    }

    /// Sets the statuses of nodes each of which comes once. Quicker than one by one where there are none yet.
    pub fn set_each(&mut self, statuses: impl Iterator<Item = (Str, Status)>) {
        if self.statuses.is_empty() {
            self.positions = OnceLock::new();
            self.statuses.extend(statuses);
        } else {
            statuses.for_each(|(node_name, status)| self.set(node_name, status));
        }
    }

    /// The status of a node.
    pub fn get(&self, node_name: &str) -> &Status {
        let known = self.position(node_name).and_then(|position| self.statuses.get(position));
        known.map_or(&self.absent, |(_, status)| status)
    }

    /// The status of all nodes without an entry.
    pub const fn absent(&self) -> &Status {
        &self.absent
    }

    /// Sets the status of all nodes without an entry.
    pub fn set_absent(&mut self, status: Status) {
        self.absent = status;
    }

    /// How many nodes have an entry.
    pub fn len(&self) -> usize {
        self.statuses.len()
    }

    /// Whether no node has an entry.
    pub fn is_empty(&self) -> bool {
        self.statuses.is_empty()
    }

    /// The entries in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, &Status)> {
        self.statuses.iter().map(|(node_name, status)| (node_name, status))
    }

    /// The statuses with the number of nodes that follow each other with that very status.
    pub fn runs(&self) -> impl Iterator<Item = (&Status, usize)> {
        let runs = self.statuses.chunk_by(|(_, a), (_, b)| a.is_same_as(b));
        runs.filter_map(|run| run.first().map(|(_, status)| (status, run.len())))
    }

    /// The nodes of `nodes` whose status has that code, in their order (`NodesForStatusCode`).
    pub fn nodes_for_status_code(&self, nodes: &[Arc<NodeInfo>], code: Code) -> Vec<Arc<NodeInfo>> {
        if self.absent.code() != code && self.runs().all(|(status, _)| status.code() != code) {
            return Vec::new();
        }
        nodes.iter().filter(|node| self.get(node.name()).code() == code).cloned().collect()
    }
}

/// Everything that is known about why a pod fits nowhere.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Diagnosis {
    /// By node.
    pub node_to_status: NodeToStatus,
    /// Plugins that answered Unschedulable or UnschedulableAndUnresolvable.
    pub unschedulable_plugins: BTreeSet<Str>,
    /// Plugins that answered Pending.
    pub pending_plugins: BTreeSet<Str>,
    /// What PreFilter said, if it ended the attempt.
    pub pre_filter_msg: String,
    /// What PostFilter said.
    pub post_filter_msg: String,
}

impl Diagnosis {
    /// Notes the plugin that said `status` (`AddPluginStatus`).
    pub fn add_plugin_status(&mut self, status: &Status) {
        if status.plugin().is_empty() {
            return;
        }
        if !status.is_rejected() {
            return;
        }
        // Called for every node that is turned down, nearly always with a plugin that is there already.
        if !self.unschedulable_plugins.contains(status.plugin()) {
            self.unschedulable_plugins.insert(Str::from(status.plugin()));
        }
        if status.code() == Code::Pending && !self.pending_plugins.contains(status.plugin()) {
            self.pending_plugins.insert(Str::from(status.plugin()));
        }
    }
}

/// A pod that fits on none of the nodes, with its diagnosis.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FitError {
    /// How many nodes there are.
    pub num_all_nodes: usize,
    /// Why none will do.
    pub diagnosis: Diagnosis,
}

impl FitError {
    /// The text of the FailedScheduling event and of the condition (`FitError.Error`).
    pub fn message(&self) -> String {
        let diagnosis = &self.diagnosis;
        let mut text = format!("0/{} nodes are available:", self.num_all_nodes);
        if diagnosis.pre_filter_msg.is_empty() {
            let histogram = self.sorted_reasons();
            if !histogram.is_empty() {
                text.push_str(&format!(" {}.", histogram.join(", ")));
            }
        } else {
            text.push_str(&format!(" {}.", diagnosis.pre_filter_msg));
        }
        if !diagnosis.post_filter_msg.is_empty() {
            text.push_str(&format!(" {}", diagnosis.post_filter_msg));
        }
        text
    }

    /// `count reason` for every reason of every node, sorted as text.
    fn sorted_reasons(&self) -> Vec<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (status, n_nodes) in self.diagnosis.node_to_status.runs() {
            for reason in status.reasons() {
                *counts.entry(reason).or_default() += n_nodes;
            }
        }
        let statuses = &self.diagnosis.node_to_status;
        if let Some(n_absent) = self.num_all_nodes.checked_sub(statuses.len()).filter(|n| *n > 0) {
            for reason in statuses.absent().reasons() {
                *counts.entry(reason).or_default() += n_absent;
            }
        }
        let mut lines: Vec<String> =
            counts.into_iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        lines.sort_unstable();
        lines
    }
}
