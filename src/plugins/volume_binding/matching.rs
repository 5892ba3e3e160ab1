//! Which volume a claim gets that is not bound yet.
//!
//! Follows `FindMatchingVolume` of `component-helpers/storage/volume/pv_helpers.go`: a volume that is reserved for the
//! claim is taken or nothing, otherwise the smallest one that fits. What does not depend on the node is found out once
//! for all nodes.

use std::fmt;
use std::sync::Arc;

use crate::api::objects::{Labels, PersistentVolume, PersistentVolumeClaim};
use crate::api::{Quantity, Selector, Str};

use super::assume_cache::Assumed;
use super::by_label::ByLabel;
use super::volumes::{KnownVolume, KnownVolumes};

/// How many volumes a person is shown.
const SHOWN: usize = 10;

/// What a claim asks for.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    claim: &'a PersistentVolumeClaim,
    selector: Option<Selector>,
}

/// Why a volume is not for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is bound to or reserved for another claim.
    OtherClaim(String),
    /// It is smaller than what is requested.
    TooSmall {
        /// How large it is.
        size: Quantity,
        /// What is requested.
        requested: Quantity,
    },
    /// One is for file systems, the other for blocks.
    VolumeMode {
        /// The volume's mode.
        volume: String,
        /// The claim's mode.
        claim: String,
    },
    /// They name different VolumeAttributesClasses.
    AttributesClass {
        /// The volume's.
        volume: String,
        /// The claim's.
        claim: String,
    },
    /// Its deletion has begun.
    Deleting,
    /// It is not in the phase Available.
    Phase(String),
    /// The claim's selector does not match its labels.
    Selector(String),
    /// It is of another class.
    Class(String),
    /// It cannot be mounted in all the ways that the claim asks for.
    AccessModes(Vec<String>),
    /// The node does not reach it.
    NodeAffinity,
    /// Another claim of the same pod takes it.
    Taken,
    /// It would do, but another one that would do is smaller, or as large and before it by name.
    NotSmallest,
    /// It would do, but the claim has a volume reserved for it.
    NotReserved,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherClaim(claim) => write!(f, "belongs to claim {claim}"),
            Self::TooSmall { size, requested } => write!(f, "has {size}, the claim requests {requested}"),
            Self::VolumeMode { volume, claim } => {
                write!(f, "has the mode {volume}, the claim asks for {claim}")
            }
            Self::AttributesClass { volume, claim } => {
                let named = |class: &str| {
                    if class.is_empty() { "no VolumeAttributesClass".to_owned() } else { class.to_owned() }
                };
                write!(f, "has {}, the claim asks for {}", named(volume), named(claim))
            }
            Self::Deleting => f.write_str("is being deleted"),
            Self::Phase(phase) => write!(f, "is {phase}, not Available"),
            Self::Selector(selector) => write!(f, "its labels do not match {selector}"),
            Self::Class(class) => write!(f, "is of class {class:?}"),
            Self::AccessModes(missing) => write!(f, "does not offer {}", missing.join(", ")),
            Self::NodeAffinity => f.write_str("cannot be reached from this node"),
            Self::Taken => f.write_str("goes to another claim of the pod"),
            Self::NotSmallest => f.write_str("would do, but a smaller one does too"),
            Self::NotReserved => f.write_str("would do, but another one is reserved for the claim"),
        }
    }
}

/// What a volume is to a claim, whatever the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// It is reserved for the claim, or bound to it.
    Reserved,
    /// The claim may have it.
    Available,
}

/// A volume that a claim may have, if the node reaches it.
#[derive(Clone)]
pub struct Candidate {
    /// The volume as it is or is assumed to be.
    pub volume: Arc<PersistentVolume>,
    /// The same with its selectors parsed.
    pub known: Arc<KnownVolume>,
}

/// The volumes that a claim may have.
#[derive(Clone, Default)]
pub struct Candidates {
    /// Those that are reserved for it, by name.
    reserved: Vec<Candidate>,
    /// The others, the smallest first.
    available: Vec<Candidate>,
    by_label: ByLabel,
}

/// The volumes by their names.
impl fmt::Debug for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, volumes) in [("reserved", &self.reserved), ("available", &self.available)] {
            let names: Vec<&str> = volumes.iter().take(SHOWN).map(|one| &**one.volume.name()).collect();
            write!(f, "{} {what}: {}; ", volumes.len(), names.join(" "))?;
        }
        Ok(())
    }
}

impl<'a> Wanted<'a> {
    /// What the claim asks for.
    ///
    /// # Errors
    /// Its selector cannot be parsed.
    pub fn by(claim: &'a PersistentVolumeClaim) -> Result<Self, String> {
        let selector = claim.spec.selector.as_ref();
        let selector = selector.map(|selector| Selector::from_label_selector(Some(selector)));
        let selector = selector.transpose().map_err(|error| {
            format!("error creating internal label selector for claim: {}: {error}", claim.key())
        })?;
        Ok(Self { claim, selector })
    }

    /// What the volume is to the claim.
    ///
    /// # Errors
    /// Why it is not for the claim.
    pub fn judge(&self, volume: &PersistentVolume) -> Result<Match, Mismatch> {
        let (claim, spec) = (self.claim, &volume.spec);
        let is_reserved = is_bound_to(volume, claim);
        if let Some(other) = &spec.claim_ref
            && !is_reserved
        {
            return Err(Mismatch::OtherClaim(other.key().to_string()));
        }
        let (size, requested) = (volume.size().unwrap_or_default(), claim.request().unwrap_or_default());
        if size < requested {
            return Err(Mismatch::TooSmall { size, requested });
        }
        let (mode, wanted) = (mode(spec.volume_mode.as_deref()), mode(claim.spec.volume_mode.as_deref()));
        if mode != wanted {
            return Err(Mismatch::VolumeMode { volume: mode.to_owned(), claim: wanted.to_owned() });
        }
        let attributes = spec.volume_attributes_class_name.as_deref().unwrap_or_default();
        let wanted = claim.spec.volume_attributes_class_name.as_deref().unwrap_or_default();
        if attributes != wanted {
            let (volume, claim) = (attributes.to_owned(), wanted.to_owned());
            return Err(Mismatch::AttributesClass { volume, claim });
        }
        if volume.metadata.deletion_timestamp.is_some() {
            return Err(Mismatch::Deleting);
        }
        if is_reserved {
            return Ok(Match::Reserved);
        }
        if volume.status.phase != "Available" {
            return Err(Mismatch::Phase(volume.status.phase.clone()));
        }
        if let Some(selector) = &self.selector
            && !selector.matches(&volume.metadata.labels)
        {
            return Err(Mismatch::Selector(selector.to_string()));
        }
        if &**volume.class() != claim.class() {
            return Err(Mismatch::Class(volume.class().to_string()));
        }
        let missing: Vec<String> = claim
            .spec
            .access_modes
            .iter()
            .filter(|mode| !spec.access_modes.contains(mode))
            .cloned()
            .collect();
        if !missing.is_empty() {
            return Err(Mismatch::AccessModes(missing));
        }
        Ok(Match::Available)
    }
}

/// The mode of a volume or claim (`CheckVolumeModeMismatches`).
fn mode(mode: Option<&str>) -> &str {
    mode.unwrap_or("Filesystem")
}

/// Whether the volume is reserved for the claim or bound to it (`IsVolumeBoundToClaim`).
pub fn is_bound_to(volume: &PersistentVolume, claim: &PersistentVolumeClaim) -> bool {
    volume.spec.claim_ref.as_ref().is_some_and(|reference| {
        reference.name == claim.metadata.name
            && reference.namespace == claim.metadata.namespace
            && (reference.uid.is_empty() || reference.uid == claim.metadata.uid)
    })
}

impl Candidates {
    /// The volumes that the claim may have.
    ///
    /// # Errors
    /// The claim's selector cannot be parsed.
    pub fn of(
        claim: &PersistentVolumeClaim,
        known: &KnownVolumes,
        assumed: &Assumed,
    ) -> Result<Self, String> {
        let wanted = Wanted::by(claim)?;
        let mut found = Self::default();
        for volume in known.of_class(claim.class()) {
            let latest = assumed.volume(&volume.volume);
            let into = match wanted.judge(latest) {
                Ok(Match::Reserved) => &mut found.reserved,
                Ok(Match::Available) => &mut found.available,
                Err(_) => continue,
            };
            into.push(Candidate { volume: Arc::clone(latest), known: Arc::clone(volume) });
        }
        // Of equal ones the first stays before the others.
        found.available.sort_by_cached_key(|candidate| candidate.volume.size().unwrap_or_default());
        found.by_label = ByLabel::of(&found.available, |candidate| candidate.known.reach.needed_label());
        Ok(found)
    }

    /// The volume that the claim gets on a node with these labels; `taken` are those of other claims of the pod.
    pub fn find(&self, labels: &Labels, taken: &[Str]) -> Option<&Candidate> {
        let mut reserved = self.reserved.iter().filter(|candidate| !candidate.is_in(taken));
        if let Some(reserved) = reserved.next() {
            return reserved.is_reached(labels).then_some(reserved);
        }
        let will_do = |candidate: &Candidate| !candidate.is_in(taken) && candidate.is_reached(labels);
        let will_do = |position: usize| self.available.get(position).is_some_and(will_do);
        self.by_label.first(labels, will_do).and_then(|position| self.available.get(position))
    }
}

impl Candidate {
    fn is_in(&self, taken: &[Str]) -> bool {
        taken.contains(self.volume.name())
    }

    fn is_reached(&self, labels: &Labels) -> bool {
        self.known.reach.check(labels).is_ok()
    }
}
