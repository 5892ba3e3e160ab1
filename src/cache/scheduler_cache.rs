//! The cache itself.
//!
//! Mirrors `pkg/scheduler/backend/cache/cache.go`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::api::objects::{Node, Pod};
use crate::api::{Digest, Digestible, NamespacedName, Str, Uid};
use crate::framework::{NodeInfo, PodInfo, Snapshot};

use super::image_states::ImageStates;
use super::node_tree::NodeTree;

/// Why the cache did not do what it was told to. The cache is as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say it all")]
pub enum CacheError {
    #[error("cannot get cache key for pod with empty UID")]
    EmptyUid,
    #[error("pod {uid}({pod}) is in the cache, so can't be assumed")]
    AlreadyInCache { uid: Uid, pod: NamespacedName },
    #[error("pod {uid}({pod}) was already in added state")]
    AlreadyAdded { uid: Uid, pod: NamespacedName },
    #[error("pod {uid}({pod}) was assumed on {assumed} but assigned to {assigned}")]
    AssumedElsewhere { uid: Uid, pod: NamespacedName, assumed: Str, assigned: Str },
    #[error("pod {uid}({pod}) wasn't assumed so cannot be forgotten")]
    NotAssumed { uid: Uid, pod: NamespacedName },
    #[error("pod {uid}({pod}) is not added to scheduler cache, so cannot be updated")]
    UpdateOfUnknown { uid: Uid, pod: NamespacedName },
    #[error("assumed pod {uid}({pod}) should not be updated")]
    UpdateOfAssumed { uid: Uid, pod: NamespacedName },
    #[error("pod {uid}({pod}) is not found in scheduler cache, so cannot be removed from it")]
    RemovalOfUnknown { uid: Uid, pod: NamespacedName },
    #[error("pod {uid}({pod}) does not exist in scheduler cache")]
    UnknownPod { uid: Uid, pod: NamespacedName },
    #[error("node {name} is not found")]
    UnknownNode { name: Str },
}

/// A node, or a name that pods refer to.
#[derive(Clone, Debug)]
struct Entry {
    info: Arc<NodeInfo>,
    /// The number of its last change.
    generation: u64,
    /// The version of the image counts that `info` has; absent if the images changed since.
    image_version: Option<u64>,
    /// The digest of `info`, once it was asked for since the last change.
    digest: OnceLock<u64>,
}

impl Entry {
    fn digest(&self) -> u64 {
        *self.digest.get_or_init(|| {
            let mut digest = Digest::new();
            let node = self.info.node();
            digest.bool(node.is_some());
            digest.str(node.map_or("", |node| &node.metadata.uid));
            digest.str(node.map_or("", |node| &node.metadata.resource_version));
            digest.len(self.info.pods().len());
            for pod_info in self.info.pods() {
                digest.str(pod_info.uid()).str(&pod_info.pod.metadata.resource_version);
            }
            digest.finish()
        })
    }
}

/// The cache. A copy costs a few references until one of the two changes.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    nodes: Arc<BTreeMap<Str, Entry>>,
    /// Names by the number of their last change: what is new to a snapshot is at the end.
    by_generation: Arc<BTreeMap<u64, Str>>,
    generation: u64,
    tree: Arc<NodeTree>,
    images: Arc<ImageStates>,
    pods: Arc<FxHashMap<Uid, Arc<PodInfo>>>,
    assumed: BTreeSet<Uid>,
}

impl Cache {
    /// An empty cache.
    pub fn new() -> Self {
        Self::default()
    }

    /// A node is new (`AddNode`). Pods that came before it are on it already. Returns the node with its pods.
    pub fn add_node(&mut self, node: Arc<Node>) -> Arc<NodeInfo> {
        self.put_node(node)
    }

    /// A node changed (`UpdateNode`). Returns the node with its pods.
    pub fn update_node(&mut self, new: Arc<Node>) -> Arc<NodeInfo> {
        self.put_node(new)
    }

    fn put_node(&mut self, node: Arc<Node>) -> Arc<NodeInfo> {
        let name = node.name().clone();
        let images = Arc::make_mut(&mut self.images);
        if let Some(old) = self.nodes.get(&name).and_then(|entry| entry.info.node()) {
            images.remove_node(old);
        }
        images.add_node(&node);
        Arc::make_mut(&mut self.tree).add_or_update(&node);
        let entry = self.change_node(&name, |info| info.set_node(node));
        entry.image_version = None;
        Arc::clone(&entry.info)
    }

    /// A node is gone (`RemoveNode`). While pods are on it their sum is kept, since their own deletion may be
    /// reported later; such an entry is in no snapshot.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn remove_node(&mut self, node: &Node) -> Result<(), CacheError> {
        let name = node.name();
        let Some(old) = self.nodes.get(name).and_then(|entry| entry.info.node()).map(Arc::clone) else {
            return Err(CacheError::UnknownNode { name: name.clone() });
        };
        Arc::make_mut(&mut self.images).remove_node(&old);
        Arc::make_mut(&mut self.tree).remove(name);
        self.change_node(name, NodeInfo::remove_node);
        self.drop_if_unused(name);
        Ok(())
    }

    /// A pod is on a node (`AddPod`): either it is new, or an assumed one was bound, perhaps to another node.
    ///
    /// # Errors
    /// If the pod is there already and not assumed.
    pub fn add_pod(&mut self, pod_info: Arc<PodInfo>) -> Result<(), CacheError> {
        let uid = uid_of(&pod_info.pod)?;
        match self.pods.get(uid).map(Arc::clone) {
            None => {}
            Some(assumed) if self.assumed.contains(uid) => self.take_off(&assumed.pod),
            Some(_) => {
                return Err(CacheError::AlreadyAdded { uid: uid.clone(), pod: pod_info.pod.key() });
            }
        }
        self.put_on(pod_info);
        Ok(())
    }

    /// A pod on a node changed (`UpdatePod`).
    ///
    /// # Errors
    /// If the pod is not there, or only assumed: an assumed pod has to be added first.
    pub fn update_pod(&mut self, old: &Pod, new: Arc<PodInfo>) -> Result<(), CacheError> {
        let uid = uid_of(old)?;
        let Some(cached) = self.pods.get(uid).map(Arc::clone) else {
            return Err(CacheError::UpdateOfUnknown { uid: uid.clone(), pod: old.key() });
        };
        if self.assumed.contains(uid) {
            return Err(CacheError::UpdateOfAssumed { uid: uid.clone(), pod: old.key() });
        }
        // DIVERGES: kube-scheduler exits if the pod was on another node. Following the watch does no harm here.
        self.take_off(&cached.pod);
        self.put_on(new);
        Ok(())
    }

    /// A pod is gone from its node (`RemovePod`).
    ///
    /// # Errors
    /// If the pod is not there.
    pub fn remove_pod(&mut self, pod: &Pod) -> Result<(), CacheError> {
        let uid = uid_of(pod)?;
        let Some(cached) = self.pods.get(uid).map(Arc::clone) else {
            return Err(CacheError::RemovalOfUnknown { uid: uid.clone(), pod: pod.key() });
        };
        // DIVERGES: kube-scheduler exits if the pod was on another node. Following the watch does no harm here.
        self.take_off(&cached.pod);
        Ok(())
    }

    /// A node was chosen for the pod, which has its `spec.nodeName` (`AssumePod`): from now on it counts there.
    ///
    /// # Errors
    /// If the pod is there already.
    pub fn assume_pod(&mut self, pod_info: Arc<PodInfo>) -> Result<(), CacheError> {
        let uid = uid_of(&pod_info.pod)?.clone();
        if self.pods.contains_key(&uid) {
            return Err(CacheError::AlreadyInCache { uid, pod: pod_info.pod.key() });
        }
        self.put_on(pod_info);
        self.assumed.insert(uid);
        Ok(())
    }

    /// An assumed pod will not be bound after all (`ForgetPod`). A pod that is not there any more is forgotten.
    ///
    /// # Errors
    /// If the pod is there and not assumed, or on another node.
    pub fn forget_pod(&mut self, pod: &Pod) -> Result<(), CacheError> {
        let uid = uid_of(pod)?;
        let Some(cached) = self.pods.get(uid).map(Arc::clone) else { return Ok(()) };
        if cached.pod.spec.node_name != pod.spec.node_name {
            return Err(CacheError::AssumedElsewhere {
                uid: uid.clone(),
                pod: pod.key(),
                assumed: pod.spec.node_name.clone(),
                assigned: cached.pod.spec.node_name.clone(),
            });
        }
        if !self.assumed.contains(uid) {
            return Err(CacheError::NotAssumed { uid: uid.clone(), pod: pod.key() });
        }
        self.take_off(&cached.pod);
        Ok(())
    }

    /// How many pods are assumed.
    pub fn n_assumed(&self) -> usize {
        self.assumed.len()
    }

    /// Whether the pod is assumed.
    pub fn is_assumed_pod(&self, pod: &Pod) -> bool {
        self.assumed.contains(pod.uid())
    }

    /// The pod as the cache knows it, with its node; that may be gone already.
    ///
    /// # Errors
    /// If the pod is not there.
    pub fn get_pod(&self, pod: &Pod) -> Result<&Arc<PodInfo>, CacheError> {
        let uid = uid_of(pod)?;
        self.pods.get(uid).ok_or_else(|| CacheError::UnknownPod { uid: uid.clone(), pod: pod.key() })
    }

    /// The assumed pods in the order of their uids.
    pub fn assumed_pods(&self) -> impl Iterator<Item = &Arc<PodInfo>> {
        self.assumed.iter().filter_map(|uid| self.pods.get(uid))
    }

    /// How many nodes there are; names that only pods refer to count.
    pub fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// How many pods are on nodes, assumed ones included.
    pub fn pod_count(&self) -> usize {
        self.pods.len()
    }

    /// Every name with what is on it, in the order of the names; an entry without a node object is a name that only
    /// pods refer to. The image counts are those of the last snapshot.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<NodeInfo>> {
        self.nodes.values().map(|entry| &entry.info)
    }

    /// Whether there is a node of that name, or a pod that refers to it.
    pub fn has_entry(&self, name: &Str) -> bool {
        self.nodes.contains_key(name)
    }

    /// Brings a snapshot up to date (`UpdateSnapshot`). Only nodes that changed since the snapshot was last brought
    /// up to date are looked at; the order is made anew only when nodes have come or gone.
    pub fn update_snapshot(&mut self, snapshot: &mut Snapshot) {
        let first_new = snapshot.generation() + 1;
        if self.generation < first_new {
            return;
        }
        let nodes = Arc::make_mut(&mut self.nodes);
        let image_version = self.images.version();
        let mut has_come = false;
        for (_, name) in self.by_generation.range(first_new..) {
            let Some(entry) = nodes.get_mut(name) else { continue };
            let Some(node) = entry.info.node().map(Arc::clone) else { continue };
            if entry.image_version != Some(image_version) {
                entry.image_version = Some(image_version);
                let states = self.images.of_node(&node);
                if *entry.info.image_states() != states {
                    Arc::make_mut(&mut entry.info).set_image_states(states);
                }
            }
            has_come |= !snapshot.replace(Arc::clone(&entry.info));
        }
        if has_come || snapshot.num_nodes() != self.tree.len() {
            let list = self.tree.list().into_iter().filter_map(|name| nodes.get(name));
            *snapshot = Snapshot::new(list.map(|entry| Arc::clone(&entry.info)).collect());
        }
        snapshot.set_generation(self.generation);
    }

    fn put_on(&mut self, pod_info: Arc<PodInfo>) {
        Arc::make_mut(&mut self.pods).insert(pod_info.uid().clone(), Arc::clone(&pod_info));
        let name = pod_info.pod.spec.node_name.clone();
        self.change_node(&name, |info| info.add_pod(pod_info));
    }

    fn take_off(&mut self, pod: &Pod) {
        Arc::make_mut(&mut self.pods).remove(pod.uid());
        self.assumed.remove(pod.uid());
        let name = &pod.spec.node_name;
        self.change_node(name, |info| {
            info.remove_pod(pod);
        });
        self.drop_if_unused(name);
    }

    /// Changes an entry, which is made if it is not there.
    fn change_node(&mut self, name: &Str, change: impl FnOnce(&mut NodeInfo)) -> &mut Entry {
        self.generation += 1;
        let by_generation = Arc::make_mut(&mut self.by_generation);
        let entry = Arc::make_mut(&mut self.nodes).entry(name.clone()).or_insert_with(|| Entry {
            info: Arc::new(NodeInfo::new(name.clone())),
            generation: 0,
            image_version: None,
            digest: OnceLock::new(),
        });
        by_generation.remove(&entry.generation);
        by_generation.insert(self.generation, name.clone());
        entry.generation = self.generation;
        entry.digest = OnceLock::new();
        change(Arc::make_mut(&mut entry.info));
        entry
    }

    /// Drops an entry that has neither a node nor pods.
    fn drop_if_unused(&mut self, name: &Str) {
        let Some(entry) = self.nodes.get(name) else { return };
        if entry.info.node().is_none() && entry.info.pods().is_empty() {
            Arc::make_mut(&mut self.by_generation).remove(&entry.generation);
            Arc::make_mut(&mut self.nodes).remove(name);
        }
    }
}

fn uid_of(pod: &Pod) -> Result<&Uid, CacheError> {
    if pod.uid().is_empty() { Err(CacheError::EmptyUid) } else { Ok(pod.uid()) }
}

impl Digestible for Cache {
    fn digest(&self, digest: &mut Digest) {
        digest.len(self.nodes.len());
        for (name, entry) in self.nodes.iter() {
            digest.str(name).u64(entry.digest());
        }
        digest.len(self.assumed.len());
        for uid in &self.assumed {
            digest.str(uid);
        }
        let order = self.tree.list();
        digest.len(order.len());
        for name in order {
            digest.str(name);
        }
    }
}
