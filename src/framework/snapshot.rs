//! All nodes as one scheduling cycle sees them.
//!
//! Plain shared data: the cache brings it up to date between cycles, plugins read it. Mirrors
//! `pkg/scheduler/backend/cache/snapshot.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use crate::api::objects::Node;
use crate::api::{NamespacedName, Str};

use super::affinity_terms::PodAffinityTerms;
use super::node_info::NodeInfo;
use super::pod_index::PodIndex;
use super::topology::Domains;

/// The nodes of one moment. Cloning costs a reference per node.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    nodes: Vec<Arc<NodeInfo>>,
    index: Arc<BTreeMap<Str, usize>>,
    generation: u64,
    lists: Option<Arc<NodeLists>>,
    derived: Derived,
}

/// Which nodes had pods of some kinds when the nodes were looked at, by position.
#[derive(Clone, Debug)]
struct NodeLists {
    with_affinity: Vec<bool>,
    with_required_anti_affinity: Vec<bool>,
    used_claims: BTreeSet<NamespacedName>,
}

/// What follows from the nodes and is kept at hand once somebody has asked for it. A copy of a snapshot starts
/// without it.
#[derive(Default)]
struct Derived {
    positions: OnceLock<FxHashMap<usize, usize>>,
    pods: OnceLock<PodIndex>,
    /// On how many nodes each claim is used.
    claims: OnceLock<FxHashMap<NamespacedName, usize>>,
    domains: Mutex<BTreeMap<Str, Arc<Domains>>>,
}

impl Clone for Derived {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derived").finish_non_exhaustive()
    }
}

impl Derived {
    /// The node at `position` has been replaced.
    fn follow(&mut self, position: usize, old: &NodeInfo, new: &NodeInfo) {
        if let (Some(old), Some(new)) = (old.node(), new.node())
            && !Arc::ptr_eq(old, new)
        {
            if let Some(positions) = self.positions.get_mut() {
                positions.remove(&address(old));
                positions.insert(address(new), position);
            }
            if old.metadata.labels != new.metadata.labels {
                self.domains.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
            }
        }
        if let Some(pods) = self.pods.get_mut() {
            pods.replace_node(position, old, new);
        }
        if let Some(claims) = self.claims.get_mut() {
            for claim in new.claims() {
                *claims.entry(claim.clone()).or_default() += 1;
            }
            for claim in old.claims() {
                if let Some(n_nodes) = claims.get_mut(claim) {
                    *n_nodes -= 1;
                    if *n_nodes == 0 {
                        claims.remove(claim);
                    }
                }
            }
        }
    }
}

/// Tells a node object from every other that exists at the same time.
fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node).addr()
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
        Self { nodes, index: Arc::new(index), generation: 0, lists: None, derived: Derived::default() }
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
            Some(slot) => {
                let old = std::mem::replace(slot, node);
                self.derived.follow(position, &old, slot);
            }
            None => return false,
        }
        true
    }

    /// Where in [`Snapshot::list`] this very node object is, whatever pods are on `node`. Quicker than a look at the
    /// name, and absent for a node that only has the same name.
    pub fn position_of(&self, node: &NodeInfo) -> Option<usize> {
        let positions = self.derived.positions.get_or_init(|| {
            let nodes = self.nodes.iter().enumerate();
            nodes.filter_map(|(position, info)| Some((address(info.node()?), position))).collect()
        });
        positions.get(&address(node.node()?)).copied()
    }

    /// The topology domains of a key.
    pub fn domains(&self, key: &str) -> Arc<Domains> {
        let mut known = self.derived.domains.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(domains) = known.get(key) {
            return Arc::clone(domains);
        }
        let key = Str::from(key);
        let domains = Arc::new(Domains::new(key.clone(), &self.nodes));
        known.insert(key, Arc::clone(&domains));
        domains
    }

    /// The pods on all nodes, by class.
    pub fn pods(&self) -> &PodIndex {
        self.derived.pods.get_or_init(|| PodIndex::new(&self.nodes))
    }

    /// From now on the lists of nodes that have pods with affinity, and that of used claims, stay as they are, whatever
    /// is put onto nodes in thought: kube-scheduler makes them when it looks at the nodes, and a group's trial changes
    /// nodes alone.
    pub fn keep_lists(&mut self) {
        let has = |node: &Arc<NodeInfo>, is_meant: fn(&PodAffinityTerms) -> bool| {
            node.pods().iter().any(|info| info.affinity.as_deref().is_some_and(is_meant))
        };
        let with_affinity = self.nodes.iter().map(|node| has(node, |_| true)).collect();
        let is_anti = |terms: &PodAffinityTerms| !terms.required_anti_affinity.is_empty();
        let with_required_anti_affinity = self.nodes.iter().map(|node| has(node, is_anti)).collect();
        let used_claims = self.nodes.iter().flat_map(|node| node.claims()).cloned().collect();
        self.lists = Some(Arc::new(NodeLists { with_affinity, with_required_anti_affinity, used_claims }));
    }

    /// The lists follow the nodes again.
    pub fn release_lists(&mut self) {
        self.lists = None;
    }

    /// Whether the node at a position is on the list of those that have pods with affinity, by position; absent if the
    /// list is what the nodes say (`HavePodsWithAffinityList`).
    pub fn list_with_affinity(&self) -> Option<&[bool]> {
        self.lists.as_ref().map(|lists| lists.with_affinity.as_slice())
    }

    /// The same for pods with required anti-affinity (`HavePodsWithRequiredAntiAffinityList`).
    pub fn list_with_required_anti_affinity(&self) -> Option<&[bool]> {
        self.lists.as_ref().map(|lists| lists.with_required_anti_affinity.as_slice())
    }

    /// Whether a pod on a node refers to that claim by name (`IsPVCUsedByPods`).
    pub fn is_claim_used(&self, claim: &NamespacedName) -> bool {
        if let Some(lists) = &self.lists {
            return lists.used_claims.contains(claim);
        }
        let claims = self.derived.claims.get_or_init(|| {
            let mut claims = FxHashMap::default();
            for claim in self.nodes.iter().flat_map(|node| node.claims()) {
                *claims.entry(claim.clone()).or_default() += 1;
            }
            claims
        });
        claims.contains_key(claim)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::objects::Pod;
    use crate::framework::PodInfo;

    fn node(name: &str, zone: &str) -> Arc<Node> {
        let mut node = Node::default();
        node.metadata.name = Str::from(name);
        node.metadata.labels.insert(Str::from("zone"), Str::from(zone));
        Arc::new(node)
    }

    #[test]
    fn a_position_is_that_of_the_node_object_itself() {
        let (a, b) = (node("a", "x"), node("b", "x"));
        let infos = [&a, &b].map(|node| Arc::new(NodeInfo::with_node(Arc::clone(node))));
        let mut snapshot = Snapshot::new(infos.into());
        assert_eq!(snapshot.position_of(&NodeInfo::with_node(Arc::clone(&b))), Some(1));
        let newer = NodeInfo::with_node(node("b", "x"));
        assert_eq!(snapshot.position_of(&newer), None, "only the name is the same");
        assert!(snapshot.replace(Arc::new(newer.clone())));
        assert_eq!(snapshot.position_of(&newer), Some(1));
        assert_eq!(snapshot.position_of(&NodeInfo::with_node(b)), None);
    }

    #[test]
    fn domains_follow_the_labels_of_the_nodes() {
        let mut snapshot = Snapshot::new(vec![Arc::new(NodeInfo::with_node(node("a", "x")))]);
        assert_eq!(snapshot.domains("zone").find("x"), Some(0));
        snapshot.replace(Arc::new(NodeInfo::with_node(node("a", "y"))));
        assert_eq!(snapshot.domains("zone").find("x"), None);
        assert_eq!(snapshot.domains("zone").find("y"), Some(0));
    }

    #[test]
    fn a_claim_is_used_as_long_as_a_pod_on_a_node_refers_to_it() {
        let pod = |uid: &str, claims: &[&str]| {
            let mut pod = Pod::default();
            pod.metadata.uid = Str::from(uid);
            pod.metadata.namespace = Str::from("shop");
            pod.spec.volumes = claims
                .iter()
                .map(|claim| {
                    let source = serde_json::json!({ "claimName": claim });
                    std::iter::once(("persistentVolumeClaim".to_owned(), source)).collect()
                })
                .collect();
            Arc::new(PodInfo::new(Arc::new(pod)))
        };
        let (one, two) = (pod("1", &["data", "logs", "data"]), pod("2", &["data"]));
        let mut a = NodeInfo::with_node(node("a", "x"));
        a.add_pod(Arc::clone(&one));
        let mut b = NodeInfo::with_node(node("b", "x"));
        b.add_pod(Arc::clone(&two));
        let mut snapshot = Snapshot::new(vec![Arc::new(a.clone()), Arc::new(b.clone())]);
        let used = |snapshot: &Snapshot| {
            ["data", "logs", "other"].map(|name| snapshot.is_claim_used(&NamespacedName::new("shop", name)))
        };
        assert_eq!(used(&snapshot), [true, true, false]);
        assert!(!snapshot.is_claim_used(&NamespacedName::new("other", "data")));
        a.remove_pod(&one.pod);
        snapshot.replace(Arc::new(a.clone()));
        assert_eq!(used(&snapshot), [true, false, false]);
        assert_eq!(a, NodeInfo::with_node(node("a", "x")), "nothing is left");
        b.remove_pod(&two.pod);
        snapshot.replace(Arc::new(b));
        assert_eq!(used(&snapshot), [false, false, false]);
    }
}
