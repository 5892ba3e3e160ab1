//! Which pods are where, by what affinity and spreading tell apart.
//!
//! Most pods of a cluster are copies of a few: same namespace, same labels, same affinity. Such pods form a
//! [`PodClass`], and a rule about pods needs one look per class instead of one per pod. Upstream keeps lists of
//! the nodes that have pods with affinity (`HavePodsWithAffinityList`) and looks at every pod there; the index
//! serves the same plugins. It follows the nodes of a [`Snapshot`](super::Snapshot) step by step and is at all
//! times what it would be if it were made anew, up to the order of the classes.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::api::Str;
use crate::api::objects::Labels;

use super::affinity_terms::PodAffinityTerms;
use super::node_info::NodeInfo;
use super::pod_info::PodInfo;

/// Pods that no rule about pods can tell apart.
#[derive(Clone, Debug)]
pub struct PodClass {
    /// One of them; it may be gone already.
    sample: Arc<PodInfo>,
    /// Positions of nodes with the number of these pods there, by position.
    nodes: Vec<(u32, u32)>,
}

impl PodClass {
    /// `metadata.namespace`.
    pub fn namespace(&self) -> &Str {
        &self.sample.pod.metadata.namespace
    }

    /// `metadata.labels`.
    pub fn labels(&self) -> &Labels {
        &self.sample.pod.metadata.labels
    }

    /// Whether their deletion has begun.
    pub fn is_terminating(&self) -> bool {
        self.sample.pod.is_terminating()
    }

    /// Their terms of pod affinity and anti-affinity, if they have any.
    pub fn affinity(&self) -> Option<&PodAffinityTerms> {
        self.sample.affinity.as_deref()
    }

    /// The nodes that have such pods: position in the snapshot and number of pods, by position.
    pub fn nodes(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.nodes.iter().map(|(position, count)| (*position as usize, i64::from(*count)))
    }

    fn holds(&self, pod: &PodInfo) -> bool {
        let (own, other) = (&self.sample, pod);
        own.pod.metadata.labels == other.pod.metadata.labels
            && own.pod.metadata.namespace == other.pod.metadata.namespace
            && own.pod.is_terminating() == other.pod.is_terminating()
            && own.affinity == other.affinity
    }
}

/// The pods of all nodes of a snapshot, by class.
#[derive(Clone, Debug, Default)]
pub struct PodIndex {
    /// Classes without nodes are free to be used again.
    classes: Vec<PodClass>,
    free: Vec<u32>,
    /// Classes by the hash of namespace and labels.
    by_hash: FxHashMap<u64, Vec<u32>>,
    /// The class of each pod, by the node's position and the pod's place on the node.
    of_pods: Vec<Vec<u32>>,
}

impl PodIndex {
    /// Looks at all pods.
    pub fn new(nodes: &[Arc<NodeInfo>]) -> Self {
        let mut index = Self { of_pods: Vec::with_capacity(nodes.len()), ..Self::default() };
        for (position, node) in nodes.iter().enumerate() {
            let classes = node.pods().iter().map(|pod| index.enter(position, pod)).collect();
            index.of_pods.push(classes);
        }
        index
    }

    /// The classes that have pods, in no particular order that would mean anything.
    pub fn classes(&self) -> impl Iterator<Item = &PodClass> {
        self.classes.iter().filter(|class| !class.nodes.is_empty())
    }

    /// The pods of the node at `position` have changed.
    pub fn replace_node(&mut self, position: usize, old: &NodeInfo, new: &NodeInfo) {
        let Some(slot) = self.of_pods.get_mut(position) else { return };
        let (old_pods, old_classes) = (old.pods(), std::mem::take(slot));
        let mut classes = Vec::with_capacity(new.pods().len());
        for (i, pod) in new.pods().iter().enumerate() {
            let same = old_pods.get(i).zip(old_classes.get(i)).filter(|(old, _)| Arc::ptr_eq(old, pod));
            classes.push(match same {
                Some((_, class)) => *class,
                None => self.enter(position, pod),
            });
        }
        for (i, class) in old_classes.into_iter().enumerate() {
            let is_kept =
                old_pods.get(i).zip(new.pods().get(i)).is_some_and(|(old, new)| Arc::ptr_eq(old, new));
            if !is_kept {
                self.leave(position, class);
            }
        }
        if let Some(slot) = self.of_pods.get_mut(position) {
            *slot = classes;
        }
    }

    /// Counts a pod on the node at `position` and returns its class.
    fn enter(&mut self, position: usize, pod: &Arc<PodInfo>) -> u32 {
        let hash = hash_of(pod);
        let candidates = self.by_hash.entry(hash).or_default();
        let known = candidates
            .iter()
            .copied()
            .find(|id| self.classes.get(*id as usize).is_some_and(|c| c.holds(pod)));
        let id = known.unwrap_or_else(|| {
            let class = PodClass { sample: Arc::clone(pod), nodes: Vec::new() };
            let id = match self.free.pop() {
                Some(id) => {
                    if let Some(slot) = self.classes.get_mut(id as usize) {
                        *slot = class;
                    }
                    id
                }
                None => {
                    self.classes.push(class);
                    as_u32(self.classes.len() - 1)
                }
            };
            candidates.push(id);
            id
        });
        if let Some(class) = self.classes.get_mut(id as usize) {
            let position = as_u32(position);
            match class.nodes.binary_search_by_key(&position, |(position, _)| *position) {
                Ok(i) => class.nodes[i].1 += 1,
                Err(i) => class.nodes.insert(i, (position, 1)),
            }
        }
        id
    }

    /// Takes a pod of that class off the node at `position`.
    fn leave(&mut self, position: usize, id: u32) {
        let Some(class) = self.classes.get_mut(id as usize) else { return };
        let position = as_u32(position);
        let Ok(i) = class.nodes.binary_search_by_key(&position, |(position, _)| *position) else { return };
        class.nodes[i].1 -= 1;
        if class.nodes[i].1 == 0 {
            class.nodes.remove(i);
        }
        if class.nodes.is_empty() {
            let hash = hash_of(&class.sample);
            if let Some(classes) = self.by_hash.get_mut(&hash) {
                classes.retain(|other| *other != id);
                if classes.is_empty() {
                    self.by_hash.remove(&hash);
                }
            }
            self.free.push(id);
        }
    }
}

fn hash_of(pod: &PodInfo) -> u64 {
    let mut hasher = FxHasher::default();
    pod.pod.metadata.namespace.hash(&mut hasher);
    pod.pod.metadata.labels.hash(&mut hasher);
    hasher.finish()
}

/// Positions and numbers of classes; there are never as many nodes or pods.
fn as_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Equal are indexes of equal classes on equal nodes, whatever the order of the classes.
impl PartialEq for PodIndex {
    fn eq(&self, other: &Self) -> bool {
        let is_in = |class: &PodClass| {
            other.classes().any(|candidate| candidate.holds(&class.sample) && candidate.nodes == class.nodes)
        };
        self.classes().count() == other.classes().count() && self.classes().all(is_in)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::Rng;
    use crate::api::objects::{Node, Pod};

    fn pod(uid: &str, app: &str, rest: &str) -> Arc<PodInfo> {
        let yaml = format!(
            "{{metadata: {{name: {uid}, uid: {uid}, namespace: ns, labels: {{app: {app}}}}}, spec: {{{rest}}}}}"
        );
        Arc::new(PodInfo::new(Arc::new(serde_saphyr::from_str::<Pod>(&yaml).unwrap())))
    }

    fn empty_nodes(n: usize) -> Vec<Arc<NodeInfo>> {
        (0..n).map(|_| Arc::new(NodeInfo::with_node(Arc::new(Node::default())))).collect()
    }

    #[test]
    fn copies_of_a_pod_are_one_class() {
        let mut nodes = empty_nodes(2);
        Arc::make_mut(&mut nodes[1]).add_pod(pod("a", "web", ""));
        Arc::make_mut(&mut nodes[1]).add_pod(pod("b", "web", "nodeName: n"));
        Arc::make_mut(&mut nodes[0]).add_pod(pod("c", "web", ""));
        Arc::make_mut(&mut nodes[0]).add_pod(pod("d", "web", "affinity: {podAffinity: {}}"));
        let index = PodIndex::new(&nodes);
        let mut classes: Vec<_> =
            index.classes().map(|c| (c.affinity().is_some(), c.nodes().collect::<Vec<_>>())).collect();
        classes.sort();
        assert_eq!(classes, [(false, vec![(0, 1), (1, 2)]), (true, vec![(0, 1)])]);
    }

    #[test]
    fn following_the_nodes_gives_what_a_new_look_gives() {
        let mut rng = Rng::new(7);
        let mut nodes = empty_nodes(5);
        let mut index = PodIndex::new(&nodes);
        for step in 0..500_u32 {
            let position = rng.below(5);
            let old = Arc::clone(&nodes[position]);
            let node = Arc::make_mut(&mut nodes[position]);
            if rng.below(2) == 0 || node.pods().is_empty() {
                let app = ["web", "db", "cache"][rng.below(3)];
                let affinity = ["", "affinity: {podAffinity: {}}"][rng.below(2)];
                node.add_pod(pod(&step.to_string(), app, affinity));
            } else {
                let i = rng.below(node.pods().len());
                let gone = Arc::clone(&node.pods()[i].pod);
                node.remove_pod(&gone).unwrap();
            }
            index.replace_node(position, &old, &nodes[position]);
            assert_eq!(index, PodIndex::new(&nodes), "after step {step}");
        }
        assert!(index.classes.len() <= 6, "classes that are empty are used again");
    }
}
