//! The pods that are nominated to nodes: others of no higher priority leave them their place.
//!
//! Mirrors `pkg/scheduler/backend/queue/nominator.go`. A nomination can be in memory before the API has it, and a
//! pod's `status.nominatedNodeName` can be newer than the one here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Digest, Digestible, ObjectStore, Str, Uid};
use crate::framework::{NominatingInfo, PodInfo, PodNominator, PodResources};

/// The nominated pods by node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Nominator {
    pods_by_node: BTreeMap<Str, Vec<Arc<PodInfo>>>,
    node_by_pod: BTreeMap<Uid, Str>,
    /// The members of the pod group whose cycle runs. Being in no queue, they are known by name alone.
    in_flight: BTreeSet<Uid>,
}

/// What an operation of the queue means for the nominations, in order. Give it to [`Nominator::apply`].
#[derive(Clone, Debug, PartialEq, Default)]
#[must_use = "the nominator has to follow the queue"]
pub struct NominationChanges(pub(super) Vec<NominationChange>);

#[derive(Clone, Debug, PartialEq)]
pub(super) enum NominationChange {
    /// The pod entered activeQ: its status decides.
    Add(Arc<PodInfo>),
    /// The pod has a newer version.
    Update { old: Arc<Pod>, new: Arc<PodInfo> },
    /// The pod is gone.
    Delete(Uid),
}

impl NominationChanges {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Nominator {
    /// Follows the queue. `objects` are the pods as the watchers last reported them.
    pub fn apply(&mut self, objects: &ObjectStore, changes: NominationChanges) {
        for change in changes.0 {
            match change {
                NominationChange::Add(pod_info) => {
                    self.add_nominated_pod(objects, pod_info, &NominatingInfo::Noop);
                }
                NominationChange::Update { old, new } => self.update_nominated_pod(objects, &old, new),
                NominationChange::Delete(uid) => self.delete(&uid),
            }
        }
    }

    /// Nominates a pod to the node that `info` names, or its status if `info` is [`NominatingInfo::Noop`]; takes an
    /// earlier nomination back in any case. A pod that is gone from `objects` or has a node is not nominated.
    pub fn add_nominated_pod(
        &mut self,
        objects: &ObjectStore,
        pod_info: Arc<PodInfo>,
        info: &NominatingInfo,
    ) {
        self.delete(pod_info.uid());
        let node_name = match info {
            NominatingInfo::Override(node_name) => node_name.clone(),
            NominatingInfo::Noop => pod_info.pod.status.nominated_node_name.clone(),
        };
        // An override by the empty name nominates to no node, which upstream files under that name.
        if node_name.is_empty() {
            return;
        }
        if objects.pods.get(&pod_info.pod.key()).is_none_or(|pod| pod.is_assigned()) {
            return;
        }
        self.node_by_pod.insert(pod_info.uid().clone(), node_name.clone());
        let is_in_flight = self.in_flight.contains(pod_info.uid());
        let pod_info = if is_in_flight { Arc::new(bare(&pod_info)) } else { pod_info };
        self.pods_by_node.entry(node_name).or_default().push(pod_info);
    }

    /// The cycle of a pod group begins: kube-scheduler looks nominated pods up in its queues, so that those of its
    /// members that are nominated count as pods without requests, labels or priority.
    pub fn know_by_name(&mut self, members: impl Iterator<Item = Uid>) {
        self.in_flight = members.collect();
        for pod_info in self.pods_by_node.values_mut().flatten() {
            if self.in_flight.contains(pod_info.uid()) {
                *pod_info = Arc::new(bare(pod_info));
            }
        }
    }

    /// The members go back to the queue, or on their way.
    pub fn know_again(&mut self) {
        self.in_flight.clear();
    }

    /// Puts a newer version of a pod in. A nomination that neither version has in its status was made in memory
    /// and stays.
    pub fn update_nominated_pod(&mut self, objects: &ObjectStore, old: &Pod, new: Arc<PodInfo>) {
        let in_memory = self.node_by_pod.get(old.uid()).filter(|_| {
            old.status.nominated_node_name.is_empty() && new.pod.status.nominated_node_name.is_empty()
        });
        let info = in_memory.map_or(NominatingInfo::Noop, |node| NominatingInfo::Override(node.clone()));
        self.delete(old.uid());
        self.add_nominated_pod(objects, new, &info);
    }

    /// Takes a nomination back.
    pub fn delete_nominated_pod_if_exists(&mut self, pod: &Pod) {
        self.delete(pod.uid());
    }

    fn delete(&mut self, uid: &str) {
        let Some(node_name) = self.node_by_pod.remove(uid) else { return };
        let Some(pods) = self.pods_by_node.get_mut(&node_name) else { return };
        pods.retain(|pod| pod.uid().as_ref() != uid);
        if pods.is_empty() {
            self.pods_by_node.remove(&node_name);
        }
    }

    /// The node that a pod is nominated to.
    pub fn nominated_node_of(&self, uid: &str) -> Option<&Str> {
        self.node_by_pod.get(uid)
    }

    /// Every nomination: by node, and for a node in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = (&Str, &Arc<PodInfo>)> {
        self.pods_by_node.iter().flat_map(|(node, pods)| pods.iter().map(move |pod| (node, pod)))
    }

    /// How many pods are nominated.
    pub fn len(&self) -> usize {
        self.node_by_pod.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.node_by_pod.is_empty()
    }
}

/// What is left of a pod of which only the name is known.
fn bare(pod_info: &PodInfo) -> PodInfo {
    let mut pod = Pod::default();
    pod.metadata.namespace = pod_info.pod.metadata.namespace.clone();
    pod.metadata.name = pod_info.pod.metadata.name.clone();
    pod.metadata.uid = pod_info.uid().clone();
    PodInfo { pod: Arc::new(pod), resources: PodResources::default(), affinity: None, claims: Vec::new() }
}

impl PodNominator for Nominator {
    fn nominated_pods_for_node(&self, node_name: &str) -> &[Arc<PodInfo>] {
        self.pods_by_node.get(node_name).map_or(&[], Vec::as_slice)
    }
}

impl Digestible for Nominator {
    fn digest(&self, digest: &mut Digest) {
        digest.len(self.len());
        for (node, pod) in self.iter() {
            digest.str(node).str(pod.uid());
        }
    }
}
