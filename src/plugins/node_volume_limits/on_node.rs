//! What counts on each node before a pod comes: kept until something that it follows from changes.
//!
//! Upstream works it out for every pod and node. Here an attempt works it out for those nodes alone on which pods,
//! claims, volumes, attachments or limits have changed since the last one.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::attachments::Attachments;
use super::usage::{Counted, Lookup, Volumes, name_of};
use crate::api::objects::{CSINode, Pod};
use crate::api::{Digest, Digestible, Kind, NamespacedName, Object, ObjectStore, Str};
use crate::framework::{NodeInfo, PluginState, PodInfo, Told};
use crate::plugins::helper::ephemeral;

/// A node before the pod comes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OnNode {
    /// The pods that were looked at; as long as they are held, another pod cannot be taken for one of them.
    pods: Vec<Arc<PodInfo>>,
    /// What the node says of its drivers.
    pub(super) csi_node: Option<Arc<CSINode>>,
    /// How many volumes of each driver it can have; drivers without a limit are left out.
    pub(super) limits: BTreeMap<Str, i64>,
    /// The volumes that pods there use, or why they cannot be told. Not looked for without limits.
    pub(super) used: Result<Volumes, String>,
    /// The volumes that are attached and that no pod there uses.
    pub(super) attached: Volumes,
    /// How many there are of each driver, used and attached.
    pub(super) present: BTreeMap<Str, i64>,
    /// The claims and volumes that it follows from, whether or not they are there.
    claims: Vec<NamespacedName>,
    volumes: Vec<Str>,
}

/// How many volumes of each driver the node can have.
fn limits(csi_node: &CSINode) -> BTreeMap<Str, i64> {
    let drivers = csi_node.spec.drivers.iter();
    drivers.filter_map(|driver| Some((driver.name.clone(), driver.allocatable?.count?.into()))).collect()
}

/// How many volumes there are of each driver.
pub(super) fn per_driver<'a>(drivers: impl IntoIterator<Item = &'a Str>) -> BTreeMap<Str, i64> {
    let mut counts = BTreeMap::new();
    for driver in drivers {
        match counts.get_mut(driver) {
            Some(count) => *count += 1,
            None => {
                counts.insert(driver.clone(), 1);
            }
        }
    }
    counts
}

/// The claim that a volume of a pod counts by.
fn claim_of(pod: &Pod, counted: Counted<'_>, volume_name: &str) -> Option<NamespacedName> {
    let namespace = pod.metadata.namespace.clone();
    match counted {
        Counted::Claim(name) => Some(NamespacedName::new(namespace, name)),
        Counted::Ephemeral => Some(NamespacedName::new(namespace, ephemeral::claim_name(pod, volume_name))),
        Counted::Inline(_) => None,
    }
}

impl OnNode {
    /// Looks everything up.
    pub(super) fn of(node: &NodeInfo, objects: &ObjectStore, attachments: &Attachments) -> Self {
        let csi_node = objects.csi_nodes.get(&NamespacedName::cluster(node.name().clone())).cloned();
        let mut found = Self {
            pods: node.pods().to_vec(),
            limits: csi_node.as_deref().map(limits).unwrap_or_default(),
            csi_node,
            used: Ok(Volumes::new()),
            attached: Volumes::new(),
            present: BTreeMap::new(),
            claims: Vec::new(),
            volumes: Vec::new(),
        };
        if !found.limits.is_empty() {
            found.look_for_volumes(node, objects, attachments);
        }
        found
    }

    fn look_for_volumes(&mut self, node: &NodeInfo, objects: &ObjectStore, attachments: &Attachments) {
        let lookup = Lookup { objects, has_csi_node: self.csi_node.is_some() };
        let mut used = Volumes::new();
        let mut problem = None;
        for pod in node.pods() {
            let counted = pod.pod.spec.volumes.iter();
            let counted =
                counted.filter_map(|volume| claim_of(&pod.pod, Counted::of(volume)?, name_of(volume)));
            self.claims.extend(counted);
            if let Err(found) = lookup.add_existing(&pod.pod, &mut used) {
                problem.get_or_insert(found.text());
            }
        }
        let claims = self.claims.iter().filter_map(|claim| objects.persistent_volume_claims.get(claim));
        self.volumes.extend(claims.map(|claim| claim.spec.volume_name.clone()));
        self.volumes.extend(attachments.volume_names(node.name(), objects).cloned());
        self.attached = attachments.volumes(node.name(), objects);
        // A volume counts once, however many pods use it.
        self.attached.retain(|name, _| !used.contains_key(name));
        self.present = per_driver(used.values().chain(self.attached.values()));
        self.used = problem.map_or(Ok(used), Err);
    }

    fn is_of(&self, node: &NodeInfo) -> bool {
        let pods = node.pods();
        self.pods.len() == pods.len() && self.pods.iter().zip(pods).all(|(own, pod)| Arc::ptr_eq(own, pod))
    }
}

/// What the plugin keeps from one attempt to the next.
#[derive(Clone, Debug, Default)]
pub(super) struct OnNodes {
    /// The attachments of each node.
    pub(super) attachments: Attachments,
    kept: FxHashMap<Str, Arc<OnNode>>,
    /// The nodes for which a claim or a volume counts.
    by_claim: FxHashMap<NamespacedName, Vec<Str>>,
    by_volume: FxHashMap<Str, Vec<Str>>,
}

impl OnNodes {
    /// What is known of a node with exactly these pods.
    pub(super) fn get(&self, node: &NodeInfo) -> Option<Arc<OnNode>> {
        self.kept.get(node.name()).filter(|kept| kept.is_of(node)).cloned()
    }

    /// Keeps what was found for a node.
    pub(super) fn keep(&mut self, name: &Str, found: Arc<OnNode>) {
        self.forget(name);
        for claim in &found.claims {
            self.by_claim.entry(claim.clone()).or_default().push(name.clone());
        }
        for volume in &found.volumes {
            self.by_volume.entry(volume.clone()).or_default().push(name.clone());
        }
        self.kept.insert(name.clone(), found);
    }

    fn forget(&mut self, node: &Str) {
        fn without<K: std::hash::Hash + Eq>(index: &mut FxHashMap<K, Vec<Str>>, key: &K, node: &Str) {
            if let Some(nodes) = index.get_mut(key) {
                nodes.retain(|other| other != node);
                if nodes.is_empty() {
                    index.remove(key);
                }
            }
        }
        let Some(found) = self.kept.remove(node) else { return };
        found.claims.iter().for_each(|claim| without(&mut self.by_claim, claim, node));
        found.volumes.iter().for_each(|volume| without(&mut self.by_volume, volume, node));
    }

    fn changed(&mut self, object: &Object) {
        let nodes = match object {
            Object::VolumeAttachment(attachment) => vec![attachment.spec.node_name.clone()],
            Object::CSINode(node) => vec![node.metadata.name.clone()],
            Object::PersistentVolumeClaim(claim) => {
                self.by_claim.get(&claim.metadata.key()).cloned().unwrap_or_default()
            }
            Object::PersistentVolume(volume) => {
                self.by_volume.get(volume.name()).cloned().unwrap_or_default()
            }
            // Many claims may be of the class, and classes hardly change.
            _ => {
                self.kept.clear();
                self.by_claim.clear();
                self.by_volume.clear();
                return;
            }
        };
        nodes.iter().for_each(|node| self.forget(node));
    }
}

/// It follows from the objects.
impl Digestible for OnNodes {
    fn digest(&self, digest: &mut Digest) {
        digest.len(self.attachments.len());
    }
}

impl PluginState for OnNodes {
    fn kinds(&self) -> &'static [Kind] {
        &[
            Kind::CSINode,
            Kind::PersistentVolume,
            Kind::PersistentVolumeClaim,
            Kind::StorageClass,
            Kind::VolumeAttachment,
        ]
    }

    fn object_changed(&mut self, _: &ObjectStore, old: Option<&Object>, new: Option<&Object>) -> Told {
        self.attachments.changed(old, new);
        for object in old.into_iter().chain(new) {
            self.changed(object);
        }
        Told::AsReported
    }
}
