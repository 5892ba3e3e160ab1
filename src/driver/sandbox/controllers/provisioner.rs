//! The part of the CSI drivers: volumes are made for claims, which takes time and can fail.
//!
//! Follows external-provisioner (`sig-storage-lib-external-provisioner`), as far as it meets the eye: a volume can be
//! reached from where the chosen node is, by the topology keys of the driver on that node; an error that says that
//! space has run out gives the choice of the node back to the scheduler, any other is tried again after a pause that
//! doubles. How long it takes, and how often it fails, can be asked for by annotations on the StorageClass.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::{
    CSIPersistentVolumeSource, CSIStorageCapacity, LabelSelector, Labels, NodeSelector,
    NodeSelectorRequirement, NodeSelectorTerm, ObjectMeta, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeSpec, PersistentVolumeStatus, StorageClass, VolumeNodeAffinity,
};
use crate::api::{Digest, Duration, Kind, NamespacedName, Quantity, Rng, Selector, Str, Time, Uid};
use crate::config::GoDuration;
use crate::plugins::helper::csi_translation::InTreePlugin;
use crate::plugins::volume_binding::SELECTED_NODE;

use super::Cx;
use super::journal::Said;
use super::volumes::reference_to;

const NAME: &str = "external-provisioner";

/// On a StorageClass: how long a volume takes, such as `5s`.
pub const PROVISIONING_TIME: &str = "sandbox.schedscope.dev/provisioning-time";
/// On a StorageClass: how many attempts fail for each claim, or `always`.
pub const PROVISIONING_FAILURES: &str = "sandbox.schedscope.dev/provisioning-failures";
/// On a StorageClass: the gRPC code of the failures. `ResourceExhausted`, if absent.
pub const PROVISIONING_ERROR: &str = "sandbox.schedscope.dev/provisioning-error";

/// On a volume that was made for a claim: by which driver.
const PROVISIONED_BY: &str = "pv.kubernetes.io/provisioned-by";
/// On a claim: which driver is to make its volume, under the old name of the annotation and the new one.
const PROVISIONER_OF_CLAIM: [&str; 2] =
    ["volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-provisioner"];
/// The provisioner of classes whose volumes are made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";
/// The code that gives the choice of the node back.
const EXHAUSTED: &str = "ResourceExhausted";

/// The first pause after a failure.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause after a failure.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);
/// After so many failures nobody expects the next attempt to succeed.
const HOPEFUL_FAILURES: u32 = 5;

/// A volume that is being made.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Attempt {
    claim: NamespacedName,
    /// The node that the scheduler has chosen.
    node: Option<Str>,
    due: Time,
}

/// The provisioners of all drivers.
#[derive(Clone, Debug)]
pub(super) struct Provisioner {
    rng: Rng,
    /// By the claim's uid.
    attempts: BTreeMap<Uid, Attempt>,
    /// How many attempts have failed, by the claim's uid.
    failures: BTreeMap<Uid, u32>,
}

/// Whether the volume was made for a claim and goes with it.
pub(super) fn is_made_to_order(volume: &PersistentVolume) -> bool {
    volume.metadata.annotations.contains_key(PROVISIONED_BY)
        && volume.spec.persistent_volume_reclaim_policy == "Delete"
}

impl Provisioner {
    pub(super) const fn new(rng: Rng) -> Self {
        Self { rng, attempts: BTreeMap::new(), failures: BTreeMap::new() }
    }

    /// When the next volume is ready, or fails.
    pub(super) fn next_timeout(&self) -> Option<(Time, Str)> {
        let next = self.attempts.values().min_by_key(|attempt| attempt.due)?;
        Some((next.due, Str::from(format!("a volume for claim {} is made", next.claim))))
    }

    /// Whether an attempt is under way that has not failed too often.
    pub(super) fn is_moving(&self) -> bool {
        self.attempts.keys().any(|uid| self.n_failed(uid) < HOPEFUL_FAILURES)
    }

    fn n_failed(&self, uid: &Uid) -> u32 {
        self.failures.get(uid).copied().unwrap_or_default()
    }

    /// Begins to make a volume. False if nobody can.
    pub(super) fn begin(&mut self, cx: &mut Cx<'_>, claim: &PersistentVolumeClaim) -> bool {
        let (uid, key) = (&claim.metadata.uid, claim.key());
        let node = claim.metadata.annotations.get(SELECTED_NODE).cloned();
        if self.attempts.get(uid).is_some_and(|attempt| attempt.node == node) {
            return true;
        }
        let name = claim.class();
        let Some(class) = cx.api.objects().storage_classes.get(&NamespacedName::cluster(name)).cloned()
        else {
            let note = format!("storageclass.storage.k8s.io {name:?} not found");
            cx.tell(NAME, Kind::PersistentVolumeClaim, &key, Said::failed("ProvisioningFailed", note));
            return false;
        };
        if *class.provisioner == *NO_PROVISIONER {
            return false;
        }
        assign(cx, claim, &driver_of(&class));
        let due = cx.now.saturating_add(self.time(cx, &class));
        self.attempts.insert(uid.clone(), Attempt { claim: key.clone(), node, due });
        let note = format!("External provisioner is provisioning volume for claim {:?}", key.to_string());
        cx.tell(NAME, Kind::PersistentVolumeClaim, &key, Said::begun("Provisioning", note).again());
        true
    }

    /// How long an attempt takes: what the class says, or one to three seconds.
    fn time(&mut self, cx: &mut Cx<'_>, class: &StorageClass) -> Duration {
        if let Some(text) = class.metadata.annotations.get(&Str::from(PROVISIONING_TIME)) {
            let nanos = GoDuration::parse(text).and_then(|duration| u64::try_from(duration.0).ok());
            if let Some(nanos) = nanos {
                return Duration::from_nanos(nanos);
            }
            let note = format!("{PROVISIONING_TIME}: {text:?} is not a duration such as 5s");
            let said = Said::failed("Misconfigured", note);
            cx.tell(NAME, Kind::StorageClass, &class.metadata.key(), said);
        }
        Duration::from_millis(1000 + u64::try_from(self.rng.below(2001)).unwrap_or_default())
    }

    /// Ends all attempts whose time has come.
    pub(super) fn advance(&mut self, cx: &mut Cx<'_>) {
        loop {
            let due = self.attempts.iter().filter(|(_, attempt)| attempt.due <= cx.now);
            // Of those that are due together the first by uid.
            let Some(uid) = due.min_by_key(|(_, attempt)| attempt.due).map(|(uid, _)| uid.clone()) else {
                return;
            };
            let Some(attempt) = self.attempts.remove(&uid) else { return };
            self.end(cx, &uid, attempt);
        }
    }

    fn end(&mut self, cx: &mut Cx<'_>, uid: &Uid, attempt: Attempt) {
        let objects = cx.api.objects();
        let claim = objects.persistent_volume_claims.get(&attempt.claim).cloned();
        let claim = claim.filter(|claim| {
            claim.metadata.uid == *uid
                && claim.spec.volume_name.is_empty()
                && claim.metadata.annotations.get(SELECTED_NODE) == attempt.node.as_ref()
        });
        // The claim is gone, has a volume, or is wanted elsewhere by now.
        let Some(claim) = claim else { return };
        let class = objects.storage_classes.get(&NamespacedName::cluster(claim.class())).cloned();
        let Some(class) = class else { return };
        match self.requested_failure(uid, &class).map_or_else(|| make(cx, &claim, &class), Err) {
            Ok(()) => {
                self.failures.remove(uid);
            }
            Err(error) => self.fail(cx, uid, attempt, &claim, &class, &error),
        }
    }

    /// The failure that the class asks for.
    fn requested_failure(&self, uid: &Uid, class: &StorageClass) -> Option<Failure> {
        let annotation = |key: &str| class.metadata.annotations.get(&Str::from(key)).map(|value| &**value);
        let n_wanted = match annotation(PROVISIONING_FAILURES)? {
            "always" => u32::MAX,
            // What is no number asks for nothing.
            text => text.parse().unwrap_or_default(),
        };
        (self.n_failed(uid) < n_wanted).then(|| Failure {
            code: annotation(PROVISIONING_ERROR).unwrap_or(EXHAUSTED).to_owned(),
            description: "the StorageClass asks for this failure".to_owned(),
        })
    }

    fn fail(
        &mut self,
        cx: &mut Cx<'_>,
        uid: &Uid,
        attempt: Attempt,
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        failure: &Failure,
    ) {
        let n_failed = self.failures.entry(uid.clone()).or_default();
        let pause = FIRST_PAUSE.saturating_mul(1 << (*n_failed).min(16)).min(LONGEST_PAUSE);
        *n_failed = n_failed.saturating_add(1);
        let note = format!(
            "failed to provision volume with StorageClass {:?}: rpc error: code = {} desc = {}",
            class.metadata.name, failure.code, failure.description
        );
        let said = Said::failed("ProvisioningFailed", note).again();
        cx.tell(NAME, Kind::PersistentVolumeClaim, &attempt.claim, said);
        if attempt.node.is_some() && failure.code == EXHAUSTED {
            let mut given_back = claim.clone();
            given_back.metadata.annotations.remove(&Str::from(SELECTED_NODE));
            cx.api.store(given_back.into());
            return;
        }
        let due = cx.now.saturating_add(pause).saturating_add(self.time(cx, class));
        self.attempts.insert(uid.clone(), Attempt { due, ..attempt });
    }
}

/// An error of a driver.
#[derive(Clone, Debug)]
struct Failure {
    code: String,
    description: String,
}

/// Writes onto the claim which driver is to make its volume (`setClaimProvisioner`).
fn assign(cx: &mut Cx<'_>, claim: &PersistentVolumeClaim, driver: &Str) {
    let mut assigned = claim.clone();
    for annotation in PROVISIONER_OF_CLAIM {
        assigned.metadata.annotations.insert(Str::from(annotation), driver.clone());
    }
    if assigned != *claim {
        cx.api.store(assigned.into());
    }
}

/// The driver of a class: the CSI driver in the place of an old plugin.
fn driver_of(class: &StorageClass) -> Str {
    InTreePlugin::by_name(&class.provisioner)
        .map_or_else(|| class.provisioner.clone(), |plugin| Str::from(plugin.driver()))
}

/// Makes a volume.
fn make(cx: &mut Cx<'_>, claim: &PersistentVolumeClaim, class: &StorageClass) -> Result<(), Failure> {
    let driver = driver_of(class);
    let node = claim.metadata.annotations.get(SELECTED_NODE);
    let size = claim.request().unwrap_or_default();
    let capacity = take_space(cx, &driver, class, node, size)?;
    let name = Str::from(format!("pvc-{:016x}", Digest::new().str(&claim.metadata.uid).finish()));
    let required = reach(cx, &driver, class, node, capacity.as_deref());
    let volume = PersistentVolume {
        metadata: ObjectMeta {
            name: name.clone(),
            annotations: [(Str::from(PROVISIONED_BY), driver.clone())].into_iter().collect(),
            ..ObjectMeta::default()
        },
        spec: PersistentVolumeSpec {
            capacity: [("storage".into(), size)].into_iter().collect(),
            access_modes: claim.spec.access_modes.clone(),
            claim_ref: Some(reference_to(claim)),
            storage_class_name: class.metadata.name.clone(),
            volume_mode: claim.spec.volume_mode.clone(),
            volume_attributes_class_name: claim.spec.volume_attributes_class_name.clone(),
            persistent_volume_reclaim_policy: class
                .reclaim_policy
                .clone()
                .unwrap_or_else(|| "Delete".to_owned()),
            node_affinity: required.map(|required| VolumeNodeAffinity { required: Some(required) }),
            csi: Some(CSIPersistentVolumeSource { driver, volume_handle: name.clone() }),
            ..PersistentVolumeSpec::default()
        },
        status: PersistentVolumeStatus::default(),
    };
    let internal = |error: String| Failure { code: "Internal".to_owned(), description: error };
    cx.api.create(volume.into(), cx.now).map_err(|error| internal(error.to_string()))?;
    let note = format!("Successfully provisioned volume {name}");
    let said = Said::done("ProvisioningSucceeded", note);
    cx.tell(NAME, Kind::PersistentVolumeClaim, &claim.key(), said);
    Ok(())
}

/// The capacities of a class that can be used from a node; without a node all of them.
fn capacities<'a>(
    cx: &'a Cx<'_>,
    class: &'a StorageClass,
    node: Option<&Str>,
) -> impl Iterator<Item = &'a Arc<CSIStorageCapacity>> {
    let labels: Option<&Labels> =
        node.and_then(|name| cx.api.objects().node(name)).map(|node| &node.metadata.labels);
    cx.api.objects().csi_storage_capacities.values().filter(move |capacity| {
        let is_reached = || {
            let selector = capacity.node_topology.as_ref()?;
            let selector = Selector::from_label_selector(Some(selector)).ok()?;
            Some(labels.is_none_or(|labels| selector.matches(labels)))
        };
        capacity.storage_class_name == class.metadata.name && is_reached() == Some(true)
    })
}

/// Takes the space out of the first capacity that has it. Without one it is an error only if the driver counts.
fn take_space(
    cx: &mut Cx<'_>,
    driver: &Str,
    class: &StorageClass,
    node: Option<&Str>,
    size: Quantity,
) -> Result<Option<Arc<CSIStorageCapacity>>, Failure> {
    let fits = |capacity: &&Arc<CSIStorageCapacity>| {
        let has = |limit: Option<Quantity>| limit.is_none_or(|limit| size <= limit);
        capacity.capacity.is_some() && has(capacity.capacity) && has(capacity.maximum_volume_size)
    };
    let found = capacities(cx, class, node).find(fits).cloned();
    let Some(known) = found else {
        let driver = cx.api.objects().csi_drivers.get(&NamespacedName::cluster(driver.clone()));
        if driver.is_some_and(|driver| driver.spec.storage_capacity == Some(true)) {
            let description = format!("there is no room for {size}");
            return Err(Failure { code: EXHAUSTED.to_owned(), description });
        }
        return Ok(None);
    };
    let mut less = CSIStorageCapacity::clone(&known);
    less.capacity = less.capacity.map(|capacity| capacity - size);
    cx.api.store(less.into());
    Ok(Some(known))
}

/// Gives the space of a volume back to the capacity that it came from, as far as that can be told.
pub(super) fn take_back(cx: &mut Cx<'_>, volume: &PersistentVolume) {
    let key = NamespacedName::cluster(volume.spec.storage_class_name.clone());
    let Some(class) = cx.api.objects().storage_classes.get(&key).cloned() else { return };
    let affinity = volume.spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let nodes = cx.api.objects().nodes.values();
    let reaches = |labels: &Labels| {
        affinity.is_none_or(|selector| {
            selector.node_selector_terms.iter().any(|term| {
                term.match_expressions.iter().all(|requirement| {
                    labels
                        .get(&Str::from(requirement.key.as_str()))
                        .is_some_and(|value| requirement.values.iter().any(|wanted| **wanted == **value))
                })
            })
        })
    };
    let node =
        nodes.filter(|node| reaches(&node.metadata.labels)).map(|node| node.metadata.name.clone()).next();
    let found = capacities(cx, &class, node.as_ref()).find(|capacity| capacity.capacity.is_some()).cloned();
    let (Some(capacity), Some(size)) = (found, volume.size()) else { return };
    let mut more = CSIStorageCapacity::clone(&capacity);
    more.capacity = more.capacity.map(|capacity| capacity + size);
    cx.api.store(more.into());
}

/// The nodes that reach the volume: those that are where the chosen node is, by the driver's topology keys; else what
/// the class allows; else those that reach the space that was taken. Absent means all.
fn reach(
    cx: &Cx<'_>,
    driver: &Str,
    class: &StorageClass,
    node: Option<&Str>,
    capacity: Option<&CSIStorageCapacity>,
) -> Option<NodeSelector> {
    let requirement = |key: &str, values: Vec<String>| NodeSelectorRequirement {
        key: key.to_owned(),
        operator: "In".to_owned(),
        values,
    };
    let term = |match_expressions: Vec<NodeSelectorRequirement>| NodeSelectorTerm {
        match_expressions,
        match_fields: Vec::new(),
    };
    let of_node = || {
        let name = node?;
        let labels = &cx.api.objects().node(name)?.metadata.labels;
        let csi_node = cx.api.objects().csi_nodes.get(&NamespacedName::cluster(name.clone()))?;
        let driver = csi_node.spec.drivers.iter().find(|known| known.name == *driver)?;
        let keys = driver.topology_keys.iter();
        let found = keys.filter_map(|key| {
            Some(requirement(key, vec![labels.get(&Str::from(key.as_str()))?.to_string()]))
        });
        Some(found.collect::<Vec<_>>()).filter(|found| !found.is_empty()).map(|found| vec![term(found)])
    };
    let of_class = || {
        let terms = class.allowed_topologies.iter().map(|allowed| {
            let expressions = allowed.match_label_expressions.iter();
            term(
                expressions
                    .map(|expression| requirement(&expression.key, expression.values.clone()))
                    .collect(),
            )
        });
        Some(terms.collect::<Vec<_>>()).filter(|terms| !terms.is_empty())
    };
    let of_capacity = || {
        let LabelSelector { match_labels, .. } = capacity?.node_topology.as_ref()?;
        let labels = match_labels.iter();
        let found: Vec<_> = labels.map(|(key, value)| requirement(key, vec![value.to_string()])).collect();
        (!found.is_empty()).then(|| vec![term(found)])
    };
    let node_selector_terms = of_node().or_else(of_class).or_else(of_capacity)?;
    Some(NodeSelector { node_selector_terms })
}
