//! Pod groups as plugins see them: how far the pods of each group have come, and the places that a whole group may
//! be given.
//!
//! Mirrors `pkg/scheduler/backend/cache/podgroupstate.go` and `PodGroupInfo`, `Placement` and `PodGroupAssignments`
//! of `staging/src/k8s.io/kube-scheduler/framework/types.go` (KEP-4671). The core keeps the states while the gate
//! GenericWorkload is on. Not here: the scheduling cycle of a whole group, which is the scheduler's.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::Pod;
use crate::api::{Digest, Digestible, NamespacedName, Str, Uid};

use super::node_info::NodeInfo;

/// How far a pod of a group has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodGroupStage {
    /// It waits to be scheduled.
    Unscheduled,
    /// The scheduler has found it a node and not bound it yet.
    Assumed,
    /// It is bound.
    Assigned,
}

/// The pods of one group that the scheduler knows, in the order of their uids.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PodGroupState {
    pods: BTreeMap<Uid, (PodGroupStage, Arc<Pod>)>,
    /// Which pod came when.
    arrivals: BTreeMap<Uid, u64>,
}

impl PodGroupState {
    /// How many there are.
    pub fn all_pods_count(&self) -> usize {
        self.pods.len()
    }

    /// How many of them are assumed or assigned.
    pub fn scheduled_pods_count(&self) -> usize {
        self.scheduled_pods().count()
    }

    /// Those that are assumed, with the chosen node in their spec, or assigned.
    pub fn scheduled_pods(&self) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().filter(|(stage, _)| *stage != PodGroupStage::Unscheduled).map(|(_, pod)| pod)
    }

    /// Those at that stage.
    pub fn pods_at(&self, wanted: PodGroupStage) -> impl Iterator<Item = &Arc<Pod>> {
        self.pods.values().filter(move |(stage, _)| *stage == wanted).map(|(_, pod)| pod)
    }

    /// The place of a pod in the order in which pods of groups came; the last one if it is unknown.
    pub fn arrival(&self, uid: &Uid) -> u64 {
        self.arrivals.get(uid).copied().unwrap_or(u64::MAX)
    }

    fn put(&mut self, stage: PodGroupStage, pod: Arc<Pod>) {
        self.pods.insert(pod.uid().clone(), (stage, pod));
    }
}

/// The states of all groups that have pods.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PodGroupStates {
    groups: BTreeMap<NamespacedName, PodGroupState>,
    n_arrived: u64,
}

fn group_of(pod: &Pod) -> Option<NamespacedName> {
    let name = pod.pod_group_name()?.clone();
    Some(NamespacedName { namespace: pod.metadata.namespace.clone(), name })
}

impl PodGroupStates {
    /// The state of a group.
    ///
    /// # Errors
    /// In upstream's words, if the group has no pod.
    pub fn get(&self, namespace: &Str, name: &Str) -> Result<&PodGroupState, String> {
        let key = NamespacedName { namespace: namespace.clone(), name: name.clone() };
        self.groups.get(&key).ok_or_else(|| format!("pod group state not found for pod group {key}"))
    }

    /// The state of that group alone, as it is now: what the cycle of a group sees and changes.
    pub fn snapshot_of(&self, namespace: &Str, name: &Str) -> Self {
        let key = NamespacedName { namespace: namespace.clone(), name: name.clone() };
        let group = self.groups.get(&key).map(|group| (key, group.clone()));
        Self { groups: group.into_iter().collect(), n_arrived: self.n_arrived }
    }

    /// A pod came or changed; whether it is assigned, it says itself. One that is assumed stays so until it is.
    pub fn put(&mut self, pod: &Arc<Pod>) {
        let Some(key) = group_of(pod) else { return };
        let group = self.groups.entry(key).or_default();
        if !group.arrivals.contains_key(pod.uid()) {
            self.n_arrived += 1;
            group.arrivals.insert(pod.uid().clone(), self.n_arrived);
        }
        if pod.is_assigned() {
            group.put(PodGroupStage::Assigned, Arc::clone(pod));
        } else if group.pods.get(pod.uid()).is_none_or(|(stage, _)| *stage != PodGroupStage::Assumed) {
            group.put(PodGroupStage::Unscheduled, Arc::clone(pod));
        }
    }

    /// A pod is gone.
    pub fn remove(&mut self, pod: &Pod) {
        let Some(key) = group_of(pod) else { return };
        let Some(group) = self.groups.get_mut(&key) else { return };
        group.pods.remove(pod.uid());
        group.arrivals.remove(pod.uid());
        if group.pods.is_empty() {
            self.groups.remove(&key);
        }
    }

    /// The scheduler has found the pod a node in the snapshot, which its spec names. A pod that is gone is left out.
    pub fn assume_known(&mut self, pod: &Arc<Pod>) {
        self.change(pod, PodGroupStage::Assumed);
    }

    /// The scheduler has found the pod a node, which its spec names.
    ///
    /// A pod that was the last of its group and is gone since its attempt began brings the group back, and counts as
    /// assigned from then on, as upstream has it.
    pub fn assume(&mut self, pod: &Arc<Pod>) {
        let is_known = group_of(pod).is_none_or(|key| self.groups.contains_key(&key));
        if is_known {
            self.assume_known(pod);
        } else {
            self.put(pod);
        }
    }

    /// The scheduler has given the pod's node up; `pod` is as the API has it.
    pub fn forget(&mut self, pod: &Arc<Pod>) {
        self.change(pod, PodGroupStage::Unscheduled);
    }

    fn change(&mut self, pod: &Arc<Pod>, stage: PodGroupStage) {
        let Some(group) = group_of(pod).and_then(|key| self.groups.get_mut(&key)) else { return };
        // A pod that is gone, or that somebody has bound, is what it is.
        if group.pods.get(pod.uid()).is_some_and(|(stage, _)| *stage != PodGroupStage::Assigned) {
            group.put(stage, Arc::clone(pod));
        }
    }
}

impl Digestible for PodGroupStates {
    fn digest(&self, digest: &mut Digest) {
        digest.len(self.groups.len()).u64(self.n_arrived);
        for (key, group) in &self.groups {
            digest.str(&key.namespace).str(&key.name).len(group.pods.len());
            for (uid, (stage, _)) in &group.pods {
                digest.str(uid).u64(*stage as u64);
            }
        }
    }
}

/// A group that is to be scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct PodGroupInfo {
    /// Its namespace.
    pub namespace: Str,
    /// Its name.
    pub name: Str,
    /// The pods that are to be scheduled, in the order in which they are tried.
    pub unscheduled_pods: Vec<Arc<Pod>>,
}

/// The nodes that a whole group might be given.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// What it is called, for people.
    pub name: Str,
    /// The nodes.
    pub nodes: Vec<Arc<NodeInfo>>,
}

/// Where the pods of a group would go in a placement.
#[derive(Clone, Debug, Default)]
pub struct PodGroupAssignments {
    /// The placement.
    pub placement: Placement,
    /// Each pod with the name of its node.
    pub proposed: Vec<(Arc<Pod>, Str)>,
}

/// How good a placement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementScore {
    /// The placement's name.
    pub name: Str,
    /// The score: anything before normalization, 0 to 100 after it.
    pub score: i64,
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::api::objects::PodSchedulingGroup;

    fn pod(name: &str, node: &str) -> Arc<Pod> {
        let mut pod = Pod::default();
        pod.metadata.name = name.into();
        pod.metadata.namespace = "default".into();
        pod.metadata.uid = name.into();
        pod.spec.node_name = node.into();
        pod.spec.scheduling_group = Some(PodSchedulingGroup { pod_group_name: "g".into() });
        Arc::new(pod)
    }

    fn counts(states: &PodGroupStates) -> (usize, usize) {
        let group = states.get(&"default".into(), &"g".into()).unwrap();
        (group.all_pods_count(), group.scheduled_pods_count())
    }

    #[test]
    fn assumed_and_assigned_pods_are_scheduled() {
        let mut states = PodGroupStates::default();
        states.put(&pod("a", ""));
        states.put(&pod("b", ""));
        states.put(&pod("c", "n"));
        assert_eq!(counts(&states), (3, 1));
        states.assume(&pod("a", "n"));
        assert_eq!(counts(&states), (3, 2));
        states.put(&pod("a", ""));
        assert_eq!(counts(&states), (3, 2), "an update of an assumed pod");
        states.forget(&pod("a", ""));
        assert_eq!(counts(&states), (3, 1));
        states.put(&pod("b", "n"));
        states.forget(&pod("b", ""));
        assert_eq!(counts(&states), (3, 2), "a pod that is bound cannot be given up");
    }

    #[test]
    fn a_group_without_pods_is_not_there() {
        let mut states = PodGroupStates::default();
        states.put(&pod("a", ""));
        states.remove(&pod("a", ""));
        states.assume_known(&pod("a", "n"));
        assert_eq!(
            states.get(&"default".into(), &"g".into()).unwrap_err(),
            "pod group state not found for pod group default/g"
        );
    }
    #[test]
    fn the_last_pod_of_a_group_that_is_deleted_before_it_is_assumed_brings_the_group_back() {
        let mut states = PodGroupStates::default();
        states.put(&pod("a", ""));
        states.remove(&pod("a", ""));
        states.assume(&pod("a", "n"));
        assert_eq!(counts(&states), (1, 1));
        states.forget(&pod("a", ""));
        assert_eq!(counts(&states), (1, 1), "nothing reports its end");
    }

    #[test]
    fn a_pod_that_is_deleted_before_it_is_assumed_does_not_count_while_its_group_has_others() {
        let mut states = PodGroupStates::default();
        states.put(&pod("a", ""));
        states.put(&pod("b", ""));
        states.remove(&pod("a", ""));
        states.assume(&pod("a", "n"));
        assert_eq!(counts(&states), (1, 0));
    }
}
