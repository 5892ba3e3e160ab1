//! The PV controller: claims are bound to volumes, and volumes are released.
//!
//! Follows `pkg/controller/volume/persistentvolume/pv_controller.go`. A claim whose class waits for the first consumer
//! is bound only to a volume that is reserved for it: by hand, by a provisioner, or by the scheduler. Left out:
//! recycling, migration annotations, and what concerns volumes that have failed.

use std::sync::Arc;

use crate::api::objects::{ObjectReference, PersistentVolume, PersistentVolumeClaim, StorageClass};
use crate::api::{Kind, NamespacedName, Quantity, Str};
use crate::plugins::volume_binding::{
    BIND_COMPLETED, BOUND_BY_CONTROLLER, Match, SELECTED_NODE, Wanted, is_bound_to,
};

use super::Cx;
use super::journal::Said;
use super::provisioner::{self, Provisioner};

const NAME: &str = "persistentvolume-controller";

/// On the class that claims get which name none.
const IS_DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";

/// What has become of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It waits for a volume or a class.
    Waits,
    /// Nothing is to be done until it changes itself.
    Settled,
}

/// Brings a claim forward.
pub(super) fn sync_claim(cx: &mut Cx<'_>, provisioner: &mut Provisioner, key: &NamespacedName) -> Outcome {
    let Some(claim) = cx.api.objects().persistent_volume_claims.get(key).cloned() else {
        release_volumes_of(cx, key);
        return Outcome::Settled;
    };
    if claim.metadata.annotations.contains_key(BIND_COMPLETED) {
        sync_bound(cx, &claim);
        return Outcome::Settled;
    }
    if claim.metadata.deletion_timestamp.is_some() {
        return Outcome::Settled;
    }
    if claim.spec.volume_name.is_empty() {
        sync_unbound(cx, provisioner, &claim)
    } else {
        sync_wanting(cx, &claim)
    }
}

/// A claim that has been bound once.
fn sync_bound(cx: &mut Cx<'_>, claim: &Arc<PersistentVolumeClaim>) {
    let key = NamespacedName::cluster(claim.spec.volume_name.clone());
    let volume = cx.api.objects().persistent_volumes.get(&key).cloned();
    let lost = match &volume {
        None if claim.spec.volume_name.is_empty() => Some((
            "ClaimLost",
            "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
        )),
        None => Some(("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!")),
        Some(volume) => match &volume.spec.claim_ref {
            Some(reference) if reference.uid != claim.metadata.uid => Some((
                "ClaimMisbound",
                "Two claims are bound to the same volume, this one is bound incorrectly",
            )),
            Some(_) | None => None,
        },
    };
    match (lost, volume) {
        (Some((reason, note)), _) => {
            if claim.status.phase != "Lost" {
                let mut lost = PersistentVolumeClaim::clone(claim);
                lost.status.phase = "Lost".to_owned();
                cx.api.store(lost.into());
                cx.tell(NAME, Kind::PersistentVolumeClaim, &claim.key(), Said::failed(reason, note));
            }
        }
        (None, Some(volume)) => bind(cx, &volume, claim),
        (None, None) => {}
    }
}

/// A claim that takes what it gets.
fn sync_unbound(
    cx: &mut Cx<'_>,
    provisioner: &mut Provisioner,
    claim: &Arc<PersistentVolumeClaim>,
) -> Outcome {
    let key = claim.key();
    let is_delayed = is_delayed(cx, claim);
    match best_match(cx, claim, is_delayed) {
        Ok(Some(volume)) => {
            bind(cx, &volume, claim);
            return Outcome::Settled;
        }
        Ok(None) => {}
        Err(error) => {
            cx.tell(NAME, Kind::PersistentVolumeClaim, &key, Said::failed("FailedBinding", error));
            return Outcome::Settled;
        }
    }
    if let Some(class) = default_class(cx, claim) {
        let mut with_class = PersistentVolumeClaim::clone(claim);
        with_class.spec.storage_class_name = Some(class.clone());
        cx.api.store(with_class.into());
        let note = format!("gets the default class {class}");
        cx.tell(NAME, Kind::PersistentVolumeClaim, &key, Said::done("Classified", note));
        return Outcome::Settled;
    }
    let has_node = claim.metadata.annotations.contains_key(SELECTED_NODE);
    if is_delayed && !has_node {
        // The scheduler writes when it is time.
        return Outcome::Waits;
    }
    if claim.class().is_empty() {
        let note = "no persistent volumes available for this claim and no storage class is set";
        cx.tell(NAME, Kind::PersistentVolumeClaim, &key, Said::begun("FailedBinding", note));
        return Outcome::Waits;
    }
    if provisioner.begin(cx, claim) { Outcome::Settled } else { Outcome::Waits }
}

/// A claim that names its volume.
fn sync_wanting(cx: &mut Cx<'_>, claim: &Arc<PersistentVolumeClaim>) -> Outcome {
    let name = &claim.spec.volume_name;
    let key = NamespacedName::cluster(name.clone());
    let Some(volume) = cx.api.objects().persistent_volumes.get(&key).cloned() else { return Outcome::Waits };
    let refusal = match &volume.spec.claim_ref {
        Some(_) if is_bound_to(&volume, claim) => None,
        Some(_) => Some(("FailedBinding", format!("volume {name:?} already bound to a different claim."))),
        None => unsatisfying(&volume, claim)
            .map(|why| ("VolumeMismatch", format!("Cannot bind to requested volume {name:?}: {why}"))),
    };
    match refusal {
        None => {
            bind(cx, &volume, claim);
            Outcome::Settled
        }
        Some((reason, note)) => {
            cx.tell(NAME, Kind::PersistentVolumeClaim, &claim.key(), Said::failed(reason, note));
            Outcome::Waits
        }
    }
}

/// Why a volume that the claim names does not do (`checkVolumeSatisfyClaim`).
fn unsatisfying(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> Option<String> {
    let modes = (volume.spec.volume_mode.as_deref(), claim.spec.volume_mode.as_deref());
    let has_mode = |mode: &String| volume.spec.access_modes.contains(mode);
    if volume.metadata.deletion_timestamp.is_some() {
        Some(format!("the volume is marked for deletion {:?}", volume.metadata.name))
    } else if volume.size().unwrap_or_default() < claim.request().unwrap_or_default() {
        Some("requested PV is too small".to_owned())
    } else if &**volume.class() != claim.class() {
        Some("storageClassName does not match".to_owned())
    } else if volume.spec.volume_attributes_class_name.as_deref().unwrap_or_default()
        != claim.spec.volume_attributes_class_name.as_deref().unwrap_or_default()
    {
        Some("volumeAttributesClassName does not match".to_owned())
    } else if modes.0.unwrap_or("Filesystem") != modes.1.unwrap_or("Filesystem") {
        Some("incompatible volumeMode".to_owned())
    } else if !claim.spec.access_modes.iter().all(has_mode) {
        Some("incompatible accessMode".to_owned())
    } else {
        None
    }
}

/// Whether the claim's class waits for the first consumer.
fn is_delayed(cx: &Cx<'_>, claim: &PersistentVolumeClaim) -> bool {
    let class = cx.api.objects().storage_classes.get(&NamespacedName::cluster(claim.class()));
    class.is_some_and(|class| class.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer"))
}

/// The newest default class, for a claim that names none.
fn default_class(cx: &Cx<'_>, claim: &PersistentVolumeClaim) -> Option<Str> {
    let has_class = claim.spec.storage_class_name.is_some() || !claim.class().is_empty();
    if has_class {
        return None;
    }
    let is_default = |class: &&Arc<StorageClass>| {
        class.metadata.annotations.get(IS_DEFAULT_CLASS).is_some_and(|value| **value == *"true")
    };
    let classes = cx.api.objects().storage_classes.values().filter(is_default);
    // Of equally old ones the first by name.
    let newest = classes.rev().max_by_key(|class| class.metadata.creation_timestamp);
    newest.map(|class| class.metadata.name.clone())
}

/// The volume that is reserved for the claim; else, if nobody else decides, the smallest of those with the fewest
/// access modes.
fn best_match(
    cx: &Cx<'_>,
    claim: &PersistentVolumeClaim,
    is_delayed: bool,
) -> Result<Option<Arc<PersistentVolume>>, String> {
    let wanted = Wanted::by(claim)?;
    let volumes = cx.api.objects().persistent_volumes.values();
    let mut best: Option<(Rank, &Arc<PersistentVolume>)> = None;
    for volume in volumes {
        let rank = match wanted.judge(volume) {
            Ok(Match::Reserved) => return Ok(Some(Arc::clone(volume))),
            Ok(Match::Available) if !is_delayed => {
                (volume.spec.access_modes.len(), volume.size().unwrap_or_default())
            }
            Ok(Match::Available) | Err(_) => continue,
        };
        if best.as_ref().is_none_or(|(known, _)| rank < *known) {
            best = Some((rank, volume));
        }
    }
    Ok(best.map(|(_, volume)| Arc::clone(volume)))
}

/// How many access modes a volume has, and how large it is.
type Rank = (usize, Quantity);

/// Makes volume and claim each other's. What is right already is not written.
fn bind(cx: &mut Cx<'_>, volume: &Arc<PersistentVolume>, claim: &Arc<PersistentVolumeClaim>) {
    let (mut bound, was_reserved) = (PersistentVolume::clone(volume), is_bound_to(volume, claim));
    let is_complete = volume.spec.claim_ref.as_ref().is_some_and(|known| known.uid == claim.metadata.uid);
    if !is_complete {
        bound.spec.claim_ref = Some(reference_to(claim));
    }
    if !was_reserved {
        annotate(&mut bound.metadata.annotations, BOUND_BY_CONTROLLER, "yes");
    }
    "Bound".clone_into(&mut bound.status.phase);
    let mut owner = PersistentVolumeClaim::clone(claim);
    if owner.spec.volume_name != volume.metadata.name {
        owner.spec.volume_name = volume.metadata.name.clone();
        annotate(&mut owner.metadata.annotations, BOUND_BY_CONTROLLER, "yes");
    }
    annotate(&mut owner.metadata.annotations, BIND_COMPLETED, "yes");
    "Bound".clone_into(&mut owner.status.phase);
    owner.status.access_modes.clone_from(&volume.spec.access_modes);
    owner.status.capacity.clone_from(&volume.spec.capacity);
    if bound != **volume {
        cx.api.store(bound.into());
    }
    if owner != **claim {
        let is_news = !claim.metadata.annotations.contains_key(BIND_COMPLETED);
        cx.api.store(owner.into());
        if is_news {
            let note = format!("is bound to volume {}", volume.metadata.name);
            cx.tell(NAME, Kind::PersistentVolumeClaim, &claim.key(), Said::done("Bound", note));
        }
    }
}

/// How a volume names its claim.
pub(super) fn reference_to(claim: &PersistentVolumeClaim) -> ObjectReference {
    ObjectReference {
        kind: "PersistentVolumeClaim".to_owned(),
        api_version: "v1".to_owned(),
        namespace: claim.metadata.namespace.clone(),
        name: claim.metadata.name.clone(),
        uid: claim.metadata.uid.clone(),
        resource_version: claim.metadata.resource_version.clone(),
    }
}

fn annotate(annotations: &mut crate::api::objects::Labels, key: &str, value: &str) {
    annotations.entry(Str::from(key)).or_insert_with(|| Str::from(value));
}

/// A claim is gone: the volumes that were its own have to be looked at.
fn release_volumes_of(cx: &mut Cx<'_>, claim: &NamespacedName) {
    let volumes = cx.api.objects().persistent_volumes.iter();
    let own =
        volumes.filter(|(_, volume)| volume.spec.claim_ref.as_ref().is_some_and(|own| own.key() == *claim));
    cx.due.extend(own.map(|(key, _)| super::Item::Volume(key.clone())));
}

/// Brings a volume forward.
pub(super) fn sync_volume(cx: &mut Cx<'_>, key: &NamespacedName) {
    let Some(volume) = cx.api.objects().persistent_volumes.get(key).cloned() else { return };
    let Some(reference) = volume.spec.claim_ref.clone() else { return set_phase(cx, &volume, "Available") };
    let claim_key = reference.key();
    if reference.uid.is_empty() {
        set_phase(cx, &volume, "Available");
        // A claim that is not there yet finds the volume by itself.
        if cx.api.objects().persistent_volume_claims.contains_key(&claim_key) {
            cx.due.insert(super::Item::VolumeClaim(claim_key));
        }
        return;
    }
    let claim = cx.api.objects().persistent_volume_claims.get(&claim_key);
    match claim.filter(|claim| claim.metadata.uid == reference.uid) {
        None => release(cx, &volume),
        Some(claim) if claim.spec.volume_name.is_empty() => {
            cx.due.insert(super::Item::VolumeClaim(claim_key));
        }
        Some(claim) if claim.spec.volume_name == volume.metadata.name => set_phase(cx, &volume, "Bound"),
        Some(_) if provisioner::is_made_to_order(&volume) => release(cx, &volume),
        Some(_) => unbind(cx, &volume),
    }
}

fn set_phase(cx: &mut Cx<'_>, volume: &Arc<PersistentVolume>, phase: &str) {
    if volume.status.phase != phase {
        let mut volume = PersistentVolume::clone(volume);
        phase.clone_into(&mut volume.status.phase);
        cx.api.store(volume.into());
    }
}

/// The claim has another volume: this one is free again, but for the name of the claim if a person wrote that.
fn unbind(cx: &mut Cx<'_>, volume: &Arc<PersistentVolume>) {
    let mut free = PersistentVolume::clone(volume);
    if free.metadata.annotations.remove(&Str::from(BOUND_BY_CONTROLLER)).is_some() {
        free.spec.claim_ref = None;
    } else if let Some(reference) = &mut free.spec.claim_ref {
        reference.uid = Str::from("");
        reference.resource_version.clear();
    }
    "Available".clone_into(&mut free.status.phase);
    cx.api.store(free.into());
    let key = volume.metadata.key();
    let said = Said::done("Unbound", "is free again: its claim has another volume");
    cx.tell(NAME, Kind::PersistentVolume, &key, said);
}

/// The claim is gone: the volume goes too, or keeps its data for a person to look at.
fn release(cx: &mut Cx<'_>, volume: &Arc<PersistentVolume>) {
    let key = volume.metadata.key();
    if provisioner::is_made_to_order(volume) {
        provisioner::take_back(cx, volume);
        cx.api.remove(Kind::PersistentVolume, &key);
        cx.tell(NAME, Kind::PersistentVolume, &key, Said::done("Deleted", "is deleted: its claim is gone"));
    } else if volume.status.phase != "Released" && volume.status.phase != "Failed" {
        set_phase(cx, volume, "Released");
        let note = "is released: its claim is gone, the data stay";
        cx.tell(NAME, Kind::PersistentVolume, &key, Said::done("Released", note));
    }
}
