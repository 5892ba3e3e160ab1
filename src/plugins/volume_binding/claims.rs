//! The claims of a pod, sorted by what is to be done for them.
//!
//! Follows `podHasPVCs` of `plugins/volumebinding/volume_binding.go`, `GetPodVolumeClaims` of `binder.go` and
//! `component-helpers/storage/ephemeral`. Everything that Filter needs is looked up here once, so that its answer for a
//! node depends on nothing but the node.

use std::fmt;
use std::sync::Arc;

use crate::api::objects::{PersistentVolumeClaim, Pod, StorageClass};
use crate::api::{NamespacedName, ObjectStore, Str};
use crate::plugins::helper::sort::sort_slice;
use crate::plugins::helper::volumes::{EPHEMERAL, Volume, claim_name, has};

use super::assume_cache::{Assumed, VolumeState};
use super::matching::Candidates;
use super::provisioning::Provisioning;
use super::volumes::{KnownVolume, KnownVolumes, MigratedPlugins};
use super::{BIND_COMPLETED, SELECTED_NODE};

/// A claim as a pod refers to it.
struct ClaimOfPod {
    name: String,
    /// It was made for the pod.
    is_ephemeral: bool,
}

fn claim_of(pod: &Pod, volume: &Volume) -> Option<ClaimOfPod> {
    if let Some(name) = claim_name(volume) {
        return Some(ClaimOfPod { name: name.to_owned(), is_ephemeral: false });
    }
    has(volume, EPHEMERAL).then(|| {
        let volume = volume.get("name").and_then(serde_json::Value::as_str).unwrap_or_default();
        ClaimOfPod { name: format!("{}-{volume}", pod.metadata.name), is_ephemeral: true }
    })
}

/// The names of the claims that the pod uses.
pub fn claim_names(pod: &Pod) -> impl Iterator<Item = String> {
    pod.spec.volumes.iter().filter_map(|volume| claim_of(pod, volume)).map(|claim| claim.name)
}

/// Whether the claim was made for the pod (`VolumeIsForPod`).
fn check_owner(pod: &Pod, claim: &PersistentVolumeClaim) -> Result<(), String> {
    let owner = claim.metadata.controller();
    let is_owner = owner.is_some_and(|owner| owner.uid == **pod.uid());
    if is_owner && claim.metadata.namespace == pod.metadata.namespace {
        return Ok(());
    }
    Err(format!("PVC {} was not created for pod {} (pod is not owner)", claim.key(), pod.key()))
}

/// Whether the pod has claims, all of which must be there and in order.
///
/// # Errors
/// A claim is missing, lost, being deleted or another pod's.
pub fn pod_has_claims(pod: &Pod, objects: &ObjectStore) -> Result<bool, String> {
    let mut has_claims = false;
    for used in pod.spec.volumes.iter().filter_map(|volume| claim_of(pod, volume)) {
        has_claims = true;
        let name = &used.name;
        let key = NamespacedName::new(pod.metadata.namespace.clone(), name.as_str());
        let Some(claim) = objects.persistent_volume_claims.get(&key) else {
            return Err(if used.is_ephemeral {
                format!(
                    "waiting for ephemeral volume controller to create the persistentvolumeclaim {name:?}"
                )
            } else {
                format!("persistentvolumeclaim {name:?} not found")
            });
        };
        if claim.status.phase == "Lost" {
            return Err(format!(
                "persistentvolumeclaim {name:?} bound to non-existent persistentvolume {:?}",
                claim.spec.volume_name
            ));
        }
        if claim.metadata.deletion_timestamp.is_some() {
            return Err(format!("persistentvolumeclaim {name:?} is being deleted"));
        }
        if used.is_ephemeral {
            check_owner(pod, claim)?;
        }
    }
    Ok(has_claims)
}

/// Whether the controller has finished binding the claim (`isPVCFullyBound`).
pub fn is_fully_bound(claim: &PersistentVolumeClaim) -> bool {
    !claim.spec.volume_name.is_empty() && claim.metadata.annotations.contains_key(BIND_COMPLETED)
}

/// Whether all claims of the pod are bound (`arePodVolumesBound`).
pub fn are_all_bound(pod: &Pod, objects: &ObjectStore, assumed: &Assumed) -> bool {
    let mut used = pod.spec.volumes.iter().filter_map(|volume| claim_of(pod, volume));
    used.all(|used| {
        let key = NamespacedName::new(pod.metadata.namespace.clone(), used.name);
        assumed.claim(objects, &key).is_some_and(|claim| {
            is_fully_bound(claim) && (!used.is_ephemeral || check_owner(pod, claim).is_ok())
        })
    })
}

/// A claim that is bound, with its volume if that is there.
#[derive(Clone)]
pub struct BoundClaim {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The volume.
    pub volume: Option<Arc<KnownVolume>>,
}

/// A claim that is bound when its pod has a node.
#[derive(Clone)]
pub struct DelayedClaim {
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
    /// The node that was selected for its volume, which is being made.
    pub selected_node: Option<Str>,
    /// The volumes that it may have, or why they cannot be told.
    pub candidates: Result<Candidates, String>,
    /// What it takes to make one.
    pub provisioning: Provisioning,
}

impl fmt::Debug for BoundClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is bound to {}", self.claim.key(), self.claim.spec.volume_name)
    }
}

impl fmt::Debug for DelayedClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DelayedClaim")
            .field("claim", &self.claim.key())
            .field("selected_node", &self.selected_node)
            .field("candidates", &self.candidates)
            .field("provisioning", &self.provisioning)
            .finish()
    }
}

/// A claim that should be bound before its pod is looked at, and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnboundClaim {
    /// The claim.
    pub claim: NamespacedName,
    /// Why it does not wait for its pod.
    pub why: WhyImmediate,
}

/// Why a claim is bound whether or not a pod needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WhyImmediate {
    /// It names its volume.
    NamesVolume(Str),
    /// It has no class.
    NoClass,
    /// Its class is not there.
    ClassMissing(Str),
    /// Its class binds at once.
    Class(Str),
}

impl fmt::Display for UnboundClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claim = &self.claim;
        match &self.why {
            WhyImmediate::NamesVolume(volume) => {
                write!(f, "{claim} names volume {volume}, and the binding is not complete")
            }
            WhyImmediate::NoClass => write!(f, "{claim} has no class and no volume"),
            WhyImmediate::ClassMissing(class) => {
                write!(f, "{claim} has no volume, and its class {class} does not exist")
            }
            WhyImmediate::Class(class) => {
                write!(f, "{claim} has no volume, and its class {class} binds at once (Immediate)")
            }
        }
    }
}

impl UnboundClaim {
    fn of(claim: &PersistentVolumeClaim, objects: &ObjectStore) -> Self {
        let class = Str::from(claim.class());
        let why = if !claim.spec.volume_name.is_empty() {
            WhyImmediate::NamesVolume(claim.spec.volume_name.clone())
        } else if class.is_empty() {
            WhyImmediate::NoClass
        } else if objects.storage_classes.contains_key(&NamespacedName::cluster(class.clone())) {
            WhyImmediate::Class(class)
        } else {
            WhyImmediate::ClassMissing(class)
        };
        Self { claim: claim.metadata.key(), why }
    }
}

/// The claims of a pod.
#[derive(Clone, Debug, Default)]
pub struct PodVolumeClaims {
    /// The volumes and capacities that there were, for the evidence.
    pub known: Arc<KnownVolumes>,
    /// What the profile had assumed of them, for the evidence.
    pub assumed: Assumed,
    /// What nodes have gone over to.
    pub migrated: MigratedPlugins,
    /// Those that are bound.
    pub bound: Vec<BoundClaim>,
    /// Those that wait for their pod's node, in the order of the pod's volumes.
    pub delayed: Vec<DelayedClaim>,
    /// The same without those that have a node, by their place in `delayed`: those that ask for least come first.
    pub to_match: Vec<usize>,
    /// Those that should be bound already and are not.
    pub unbound_immediate: Vec<UnboundClaim>,
}

/// The class of the claim, if claims of that class wait for their pods' nodes (`IsDelayBindingMode`).
fn delaying_class<'a>(
    claim: &PersistentVolumeClaim,
    objects: &'a ObjectStore,
) -> Result<Option<&'a Arc<StorageClass>>, String> {
    let name = claim.class();
    if name.is_empty() {
        return Ok(None);
    }
    let Some(class) = objects.storage_classes.get(&NamespacedName::cluster(name)) else { return Ok(None) };
    match class.volume_binding_mode.as_deref() {
        None => Err(format!("VolumeBindingMode not set for StorageClass {name:?}")),
        Some(mode) => Ok((mode == "WaitForFirstConsumer").then_some(class)),
    }
}

impl PodVolumeClaims {
    /// Sorts the claims of a pod (`GetPodVolumeClaims`).
    ///
    /// # Errors
    /// A claim is missing or another pod's, or a class does not say when its volumes are bound.
    pub fn of(pod: &Pod, objects: &ObjectStore, state: &VolumeState, profile: &str) -> Result<Self, String> {
        let (known, assumed) = (&state.known, state.assumed(profile));
        let migrated = known.migrated().clone();
        let mut found =
            Self { known: Arc::clone(known), assumed: assumed.clone(), migrated, ..Self::default() };
        for used in pod.spec.volumes.iter().filter_map(|volume| claim_of(pod, volume)) {
            let key = NamespacedName::new(pod.metadata.namespace.clone(), used.name);
            let claim = assumed.claim(objects, &key).ok_or_else(|| {
                let not_found = super::assume_cache::not_found(crate::api::Kind::PersistentVolumeClaim, &key);
                format!("error getting PVC {:?}: {not_found}", key.to_string())
            })?;
            if used.is_ephemeral {
                check_owner(pod, claim)?;
            }
            found.add(claim, objects, known, assumed)?;
        }
        found.to_match = (0..found.delayed.len()).collect();
        found.to_match.retain(|index| found.delayed[*index].selected_node.is_none());
        let requests: Vec<_> =
            found.delayed.iter().map(|delayed| delayed.claim.request().unwrap_or_default()).collect();
        sort_slice(&mut found.to_match, |a, b| requests[*a] < requests[*b]);
        Ok(found)
    }

    /// Lets go of what is there for the evidence alone: who holds it makes every change of a volume dearer.
    pub fn forget_evidence(&mut self) {
        self.known = Arc::default();
        self.assumed = Assumed::default();
    }

    fn add(
        &mut self,
        claim: &Arc<PersistentVolumeClaim>,
        objects: &ObjectStore,
        known: &KnownVolumes,
        assumed: &Assumed,
    ) -> Result<(), String> {
        let claim = Arc::clone(claim);
        if is_fully_bound(&claim) {
            let volume = known.volume(&claim.spec.volume_name).cloned();
            self.bound.push(BoundClaim { claim, volume });
            return Ok(());
        }
        match delaying_class(&claim, objects)? {
            // One that names its volume is bound at once by the controller.
            Some(class) if claim.spec.volume_name.is_empty() => self.delayed.push(DelayedClaim {
                selected_node: claim.metadata.annotations.get(SELECTED_NODE).cloned(),
                candidates: Candidates::of(&claim, known, assumed),
                provisioning: Provisioning::of(&claim, class, objects, known),
                claim,
            }),
            _ => self.unbound_immediate.push(UnboundClaim::of(&claim, objects)),
        }
        Ok(())
    }
}
