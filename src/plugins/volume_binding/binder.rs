//! What is to be bound or made for a pod on one node, and how that is assumed and taken back.
//!
//! Follows `FindPodVolumes`, `AssumePodVolumes` and `RevertAssumedPodVolumes` of `plugins/volumebinding/binder.go` and
//! `GetBindVolumeToClaim` of `component-helpers/storage/volume/pv_helpers.go`.

use std::sync::Arc;

use crate::api::objects::{
    CSIStorageCapacity, Node, ObjectReference, PersistentVolume, PersistentVolumeClaim, Pod,
};
use crate::api::{Kind, ObjectStore, Str};

use super::assume_cache::Assumed;
use super::claims::{DelayedClaim, PodVolumeClaims, are_all_bound};
use super::matching::is_bound_to;
use super::provisioning::Provisioned;
use super::{BOUND_BY_CONTROLLER, SELECTED_NODE};

/// The node does not reach a volume that is bound.
pub const NODE_CONFLICT: &str = "node(s) didn't match PersistentVolume's node affinity";
/// There is no volume for a claim, and none can be made.
pub const BIND_CONFLICT: &str = "node(s) didn't find available persistent volumes to bind";
/// There is no room for a new volume.
pub const NOT_ENOUGH_SPACE: &str = "node(s) did not have enough free storage";
/// A volume that a claim is bound to is not there.
pub const VOLUME_MISSING: &str = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

/// A volume for a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The volume; bound to the claim once that is assumed.
    pub volume: Arc<PersistentVolume>,
    /// The claim.
    pub claim: Arc<PersistentVolumeClaim>,
}

/// A claim for which a volume is made.
#[derive(Clone, Debug, PartialEq)]
pub struct Provision {
    /// The claim; with the selected node once that is assumed.
    pub claim: Arc<PersistentVolumeClaim>,
    /// Where there is room, if that was asked for; no longer there once the claim is assumed.
    pub capacity: Option<Arc<CSIStorageCapacity>>,
}

/// What is to be done for a pod on a node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PodVolumes {
    /// Volumes that are bound to claims.
    pub bindings: Vec<Binding>,
    /// Volumes that are made.
    pub provisions: Vec<Provision>,
}

/// What Filter finds out about a node.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Found {
    /// Why the node will not do; empty if it will.
    pub reasons: Vec<&'static str>,
    /// What is to be done.
    pub volumes: PodVolumes,
}

impl PodVolumeClaims {
    /// What is to be done for the claims on a node.
    ///
    /// # Errors
    /// A volume cannot be translated to CSI, or a claim's selector cannot be parsed.
    pub fn find_on(&self, node: &Node) -> Result<Found, String> {
        let mut found = Found::default();
        let (is_reached, is_there) = self.check_bound(node)?;
        let (is_matched, has_room) = self.find_for_delayed(node, &mut found.volumes)?;
        let reasons = [
            (is_reached, NODE_CONFLICT),
            (is_matched, BIND_CONFLICT),
            (has_room, NOT_ENOUGH_SPACE),
            (is_there, VOLUME_MISSING),
        ];
        found.reasons = reasons.into_iter().filter(|(holds, _)| !holds).map(|(_, reason)| reason).collect();
        Ok(found)
    }

    /// Whether the node reaches all bound volumes, and whether they are there (`checkBoundClaims`).
    fn check_bound(&self, node: &Node) -> Result<(bool, bool), String> {
        for bound in &self.bound {
            let Some(volume) = &bound.volume else { return Ok((true, false)) };
            if self.migrated.reach_on(node.name(), volume)?.check(&node.metadata.labels).is_err() {
                return Ok((false, true));
            }
        }
        Ok((true, true))
    }

    /// Whether every delayed claim gets a volume, and whether there is room for those that are made.
    fn find_for_delayed(&self, node: &Node, into: &mut PodVolumes) -> Result<(bool, bool), String> {
        let mut to_provision: Vec<&DelayedClaim> = Vec::new();
        for delayed in &self.delayed {
            match &delayed.selected_node {
                Some(selected) if selected != node.name() => return Ok((false, true)),
                Some(_) => to_provision.push(delayed),
                None => {}
            }
        }
        let labels = &node.metadata.labels;
        let mut taken: Vec<Str> = Vec::new();
        let mut is_matched = true;
        for delayed in self.to_match.iter().filter_map(|index| self.delayed.get(*index)) {
            match delayed.candidates.as_ref().map_err(Clone::clone)?.find(labels, &taken) {
                Some(candidate) => {
                    taken.push(candidate.volume.name().clone());
                    let volume = Arc::clone(&candidate.volume);
                    into.bindings.push(Binding { volume, claim: Arc::clone(&delayed.claim) });
                }
                None => {
                    to_provision.push(delayed);
                    is_matched = false;
                }
            }
        }
        if to_provision.is_empty() {
            return Ok((is_matched, true));
        }
        let mut provisions = Vec::with_capacity(to_provision.len());
        for delayed in to_provision {
            match delayed.provisioning.check(labels) {
                Provisioned::Yes(capacity) => {
                    provisions.push(Provision { claim: Arc::clone(&delayed.claim), capacity });
                }
                Provisioned::NotSupported | Provisioned::WrongTopology => return Ok((false, true)),
                Provisioned::NoRoom => return Ok((true, false)),
            }
        }
        into.provisions = provisions;
        Ok((true, true))
    }
}

/// The volume bound to the claim, and whether that changes it (`GetBindVolumeToClaim`).
pub fn bind_to_claim(
    volume: &Arc<PersistentVolume>,
    claim: &PersistentVolumeClaim,
) -> (Arc<PersistentVolume>, bool) {
    let was_bound = is_bound_to(volume, claim);
    let names_claim = was_bound
        && volume.spec.claim_ref.as_ref().is_some_and(|reference| reference.uid == claim.metadata.uid);
    let is_marked = was_bound || volume.metadata.annotations.contains_key(BOUND_BY_CONTROLLER);
    if names_claim && is_marked {
        return (Arc::clone(volume), false);
    }
    let mut bound = PersistentVolume::clone(volume);
    if !names_claim {
        bound.spec.claim_ref = Some(ObjectReference {
            kind: Kind::PersistentVolumeClaim.as_str().to_owned(),
            api_version: Kind::PersistentVolumeClaim.api_version().to_owned(),
            namespace: claim.metadata.namespace.clone(),
            name: claim.metadata.name.clone(),
            uid: claim.metadata.uid.clone(),
            resource_version: claim.metadata.resource_version.clone(),
        });
    }
    if !is_marked {
        bound.metadata.annotations.insert(Str::from(BOUND_BY_CONTROLLER), Str::from("yes"));
    }
    (Arc::new(bound), true)
}

impl PodVolumes {
    /// Assumes what is to be done. The answer is whether there is nothing to do, since all claims are bound.
    ///
    /// # Errors
    /// A volume or a claim is gone or has changed since Filter saw it; nothing is assumed then.
    pub fn assume(
        &mut self,
        pod: &Pod,
        node_name: &Str,
        objects: &ObjectStore,
        assumed: &mut Assumed,
    ) -> Result<bool, String> {
        if are_all_bound(pod, objects, assumed) {
            return Ok(true);
        }
        let mut done = Self::default();
        if let Err(error) = self.assume_each(node_name, objects, assumed, &mut done) {
            done.revert(assumed);
            return Err(error);
        }
        *self = done;
        Ok(false)
    }

    fn assume_each(
        &self,
        node_name: &Str,
        objects: &ObjectStore,
        assumed: &mut Assumed,
        done: &mut Self,
    ) -> Result<(), String> {
        for Binding { volume, claim } in &self.bindings {
            let (volume, is_changed) = bind_to_claim(volume, claim);
            if is_changed {
                assumed.assume_volume(objects, Arc::clone(&volume))?;
            }
            done.bindings.push(Binding { volume, claim: Arc::clone(claim) });
        }
        for Provision { claim, .. } in &self.provisions {
            let mut claim = PersistentVolumeClaim::clone(claim);
            claim.metadata.annotations.insert(Str::from(SELECTED_NODE), node_name.clone());
            let claim = Arc::new(claim);
            assumed.assume_claim(objects, Arc::clone(&claim))?;
            done.provisions.push(Provision { claim, capacity: None });
        }
        Ok(())
    }

    /// Takes back what was assumed.
    pub fn revert(&self, assumed: &mut Assumed) {
        for binding in &self.bindings {
            assumed.restore_volume(&binding.volume);
        }
        for provision in &self.provisions {
            assumed.restore_claim(&provision.claim);
        }
    }
}
