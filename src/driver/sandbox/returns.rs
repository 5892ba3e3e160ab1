//! Pods of a controller come back: for one that is evicted or loses its node a new one is made, under a new name.
//!
//! Stands for the ReplicaSet, StatefulSet and Job controllers where their objects are not in the sandbox: the
//! `ownerReferences` of a pod say who would make the new one. A pod of a ReplicaSet or a Job is replaced as soon as it is
//! being deleted, one of a StatefulSet under its old name when it is gone, as upstream's controllers do. Pods of a
//! DaemonSet belong to their node and are not replaced, nor are mirror pods and pods without a controller.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::objects::{Pod, PodStatus};
use crate::api::{NamespacedName, Object, Rng, Str, Time, Uid};

use super::api::{SandboxApi, WatchEvent};
use super::world::World;

/// The letters of the ends of names (`k8s.io/apimachinery/pkg/util/rand`): no vowels, no digits that look like letters.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// How many letters an end has.
const END_LEN: usize = 5;

/// What becomes of a pod that is taken off its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// A new pod takes its place.
    ComesBack,
    /// It belongs to its node: a DaemonSet's, or the kubelet's own.
    OfItsNode,
    /// Nobody makes another one.
    Lost,
}

/// What becomes of a pod that is taken off its node.
pub fn fate(pod: &Pod) -> Fate {
    match pod.metadata.controller().map(|owner| owner.kind.as_str()) {
        None => Fate::Lost,
        Some("DaemonSet" | "Node") => Fate::OfItsNode,
        Some(_) => Fate::ComesBack,
    }
}

/// The pods that are awaited.
#[derive(Clone, Debug, Default)]
pub struct Returns {
    /// Pods that are replaced when they go, by uid.
    awaited: BTreeSet<Uid>,
    /// Pods that are to be made now.
    due: Vec<Pod>,
    /// Whether pods that the scheduler evicts come back, too.
    replaces_victims: bool,
    /// For each that was made, the pod whose place it takes.
    made: BTreeMap<NamespacedName, NamespacedName>,
}

impl Returns {
    /// Pods that the scheduler evicts come back from now on.
    pub(super) const fn replace_victims(&mut self) {
        self.replaces_victims = true;
    }

    /// For each pod that was made, the one whose place it takes.
    pub const fn made(&self) -> &BTreeMap<NamespacedName, NamespacedName> {
        &self.made
    }

    /// When this pod goes, another one is made, if somebody would who is not here to do it.
    pub(super) fn expect(&mut self, pod: &Pod, world: Option<&World>) {
        let is_made_here =
            || world.zip(pod.metadata.controller()).is_some_and(|(world, owner)| world.runs(owner));
        if fate(pod) == Fate::ComesBack && !is_made_here() {
            self.awaited.insert(pod.metadata.uid.clone());
        }
    }

    /// The scheduler evicts this pod.
    pub(super) fn evicted(&mut self, pod: &Pod, world: Option<&World>) {
        if self.replaces_victims {
            self.expect(pod, world);
        }
    }

    /// A change was reported.
    pub(super) fn observe(&mut self, event: &WatchEvent) {
        if self.awaited.is_empty() {
            return;
        }
        let (pod, is_gone) = match event {
            WatchEvent::Modified { new: Object::Pod(pod), .. } if pod.is_terminating() => (pod, false),
            WatchEvent::Deleted(Object::Pod(pod)) => (pod, true),
            _ => return,
        };
        let keeps_name = pod.metadata.controller().is_some_and(|owner| owner.kind == "StatefulSet");
        if (is_gone || !keeps_name) && self.awaited.remove(&pod.metadata.uid) {
            self.due.push(Pod::clone(pod));
        }
    }

    /// Makes what is to be made. Whether anything was.
    pub(super) fn work(&mut self, api: &mut SandboxApi, now: Time) -> bool {
        let due = std::mem::take(&mut self.due);
        let mut has_made = false;
        for old in due {
            let keeps_name = old.metadata.controller().is_some_and(|owner| owner.kind == "StatefulSet");
            let key = old.key();
            let name = if keeps_name { key.name.clone() } else { free_name(api, &old) };
            let new = fresh_copy(&old, name);
            let new_key = new.key();
            if api.create(new.into(), now).is_ok() {
                self.made.insert(new_key, key);
                has_made = true;
            }
        }
        has_made
    }
}

/// The pod as its controller would make it again.
pub fn fresh_copy(pod: &Pod, name: Str) -> Pod {
    let mut new = pod.clone();
    new.metadata.name = name;
    new.metadata.uid = Uid::from("");
    new.metadata.resource_version.clear();
    new.metadata.creation_timestamp = None;
    new.metadata.deletion_timestamp = None;
    new.metadata.finalizers.clear();
    new.spec.node_name = "".into();
    new.status = PodStatus::default();
    new
}

/// A name that is free: that of the pod with another end, as `generateName` makes them.
pub(super) fn free_name(api: &SandboxApi, pod: &Pod) -> Str {
    let key = pod.key();
    let base = match key.name.rsplit_once('-') {
        Some((base, _)) if pod.metadata.controller().is_some() => base,
        _ => &key.name,
    };
    // The same pod gets the same new name in every run.
    let text = format!("{key}/{}", pod.metadata.uid);
    let seed = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mut rng = Rng::new(seed);
    loop {
        let end: String = (0..END_LEN)
            .filter_map(|_| LETTERS.get(rng.below(LETTERS.len())))
            .map(|letter| char::from(*letter))
            .collect();
        let name = Str::from(format!("{base}-{end}"));
        if !api.objects().pods.contains_key(&NamespacedName::new(key.namespace.clone(), name.clone())) {
            return name;
        }
    }
}
