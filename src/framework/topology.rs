//! Topology domains: the values of a node label that say where a node is, numbered for counting.
//!
//! Upstream counts in maps of label values. Here each value of a topology key has a number that holds for one
//! [`Snapshot`](super::Snapshot), so that counting and looking up are steps in a vector.

use std::fmt;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::api::Str;

use super::node_info::NodeInfo;

/// The number of a domain among those of its key.
pub type DomainId = u32;

/// In which domain a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// In none: it lacks the label.
    Absent,
    /// In this one.
    Known(DomainId),
    /// In one that no node of the snapshot is in.
    Foreign,
}

/// The domains of one topology key and the nodes in them.
#[derive(Clone, Debug, Default)]
pub struct Domains {
    key: Str,
    values: Vec<Str>,
    by_value: FxHashMap<Str, DomainId>,
    of_position: Vec<Option<DomainId>>,
}

impl Domains {
    /// Numbers the domains of a key in the order in which the nodes have them.
    pub fn new(key: Str, nodes: &[Arc<NodeInfo>]) -> Self {
        let mut domains = Self { key, of_position: Vec::with_capacity(nodes.len()), ..Self::default() };
        for node in nodes {
            let id = label(node, &domains.key).map(|value| match domains.by_value.get(value) {
                Some(id) => *id,
                None => {
                    let id = DomainId::try_from(domains.values.len()).unwrap_or(DomainId::MAX);
                    domains.values.push(value.clone());
                    domains.by_value.insert(value.clone(), id);
                    id
                }
            });
            domains.of_position.push(id);
        }
        domains
    }

    /// The topology key.
    pub const fn key(&self) -> &Str {
        &self.key
    }

    /// How many domains there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether no node has the key.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The label values, by number.
    pub fn values(&self) -> &[Str] {
        &self.values
    }

    /// The domain of the node at a position of the snapshot; absent if it lacks the label.
    pub fn at(&self, position: usize) -> Option<DomainId> {
        self.of_position.get(position).copied().flatten()
    }

    /// The domains of all nodes, by position.
    pub fn of_positions(&self) -> &[Option<DomainId>] {
        &self.of_position
    }

    /// The domain of that label value.
    pub fn find(&self, value: &str) -> Option<DomainId> {
        self.by_value.get(value).copied()
    }

    /// The domain of a node; `position` is where the snapshot has this very node object, if it does.
    pub fn of(&self, node: &NodeInfo, position: Option<usize>) -> Domain {
        match position {
            Some(position) => self.at(position).map_or(Domain::Absent, Domain::Known),
            None => match label(node, &self.key) {
                None => Domain::Absent,
                Some(value) => self.find(value).map_or(Domain::Foreign, Domain::Known),
            },
        }
    }
}

fn label<'a>(node: &'a NodeInfo, key: &str) -> Option<&'a Str> {
    node.node()?.metadata.labels.get(key)
}

/// A number for each domain of a key. A copy shares the numbers and keeps its own changes apart, so that a dry
/// run which puts a few pods elsewhere costs little.
#[derive(Clone, Default)]
pub struct DomainCounts {
    base: Arc<Vec<i64>>,
    changes: Vec<(DomainId, i64)>,
}

impl DomainCounts {
    /// The counts of the domains, by number.
    pub fn new(counts: Vec<i64>) -> Self {
        Self { base: Arc::new(counts), changes: Vec::new() }
    }

    /// The count of a domain.
    pub fn get(&self, domain: DomainId) -> i64 {
        let base = self.base.get(domain as usize).copied().unwrap_or(0);
        let change = self.changes.iter().find(|(changed, _)| *changed == domain);
        base + change.map_or(0, |(_, change)| *change)
    }

    /// Changes the count of a domain and returns the new one.
    pub fn add(&mut self, domain: DomainId, change: i64) -> i64 {
        match self.changes.iter_mut().find(|(changed, _)| *changed == domain) {
            Some((_, total)) => *total += change,
            None => self.changes.push((domain, change)),
        }
        self.get(domain)
    }

    /// Every domain that has a count other than 0, with it, by number.
    pub fn iter(&self) -> impl Iterator<Item = (DomainId, i64)> + '_ {
        (0..)
            .zip(self.base.iter())
            .map(|(domain, _)| (domain, self.get(domain)))
            .filter(|(_, count)| *count != 0)
    }
}

impl fmt::Debug for DomainCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Shows the counts of a key's domains by label value: those that are not 0, up to a number that a person reads.
#[derive(Clone, Copy)]
pub struct ShowCounts<'a> {
    /// The domains.
    pub domains: &'a Domains,
    /// Their counts.
    pub counts: &'a DomainCounts,
}

impl fmt::Debug for ShowCounts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN_MAX: usize = 20;
        let mut map = f.debug_map();
        for (domain, count) in self.counts.iter().take(SHOWN_MAX) {
            let value = self.domains.values().get(domain as usize).map_or("", AsRef::as_ref);
            map.entry(&format_args!("{}={value}", self.domains.key()), &count);
        }
        if self.counts.iter().nth(SHOWN_MAX).is_some() { map.finish_non_exhaustive() } else { map.finish() }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::objects::Node;

    fn node(zone: Option<&str>) -> NodeInfo {
        let mut node = Node::default();
        node.metadata.labels.extend(zone.map(|zone| (Str::from("zone"), Str::from(zone))));
        NodeInfo::with_node(Arc::new(node))
    }

    #[test]
    fn each_value_of_the_label_is_a_domain() {
        let nodes: Vec<_> = [Some("a"), None, Some("b"), Some("a")].map(|zone| Arc::new(node(zone))).into();
        let zones = Domains::new(Str::from("zone"), &nodes);
        assert_eq!(zones.of_positions(), [Some(0), None, Some(1), Some(0)]);
        assert_eq!(zones.of(&node(Some("b")), None), Domain::Known(1));
        assert_eq!(zones.of(&node(Some("c")), None), Domain::Foreign);
        assert_eq!(zones.of(&node(None), None), Domain::Absent);
    }

    #[test]
    fn a_copy_of_counts_does_not_see_later_changes() {
        let mut counts = DomainCounts::new(vec![1, 0, 5]);
        let copy = counts.clone();
        assert_eq!(counts.add(0, -1), 0);
        assert_eq!(counts.add(1, 2), 2);
        assert_eq!(counts.iter().collect::<Vec<_>>(), [(1, 2), (2, 5)]);
        assert_eq!(copy.iter().collect::<Vec<_>>(), [(0, 1), (2, 5)]);
        let zones = Domains::new(Str::from("zone"), &[Arc::new(node(Some("a")))]);
        assert_eq!(format!("{:?}", ShowCounts { domains: &zones, counts: &copy }), "{zone=a: 1, zone=: 5}");
        assert_eq!(zones.find("a").unwrap(), 0);
    }
}
