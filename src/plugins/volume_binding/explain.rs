//! Which volumes were tried for each claim of a pod on a node, and why each was not taken.
//!
//! Evidence for a person, worked out on request from what the scheduler knows now; Filter and Reserve do not use it.

use std::fmt;

use crate::api::objects::{Node, PersistentVolumeClaim};
use crate::api::{NamespacedName, Quantity, Str};
use crate::framework::CycleState;

use super::binder::PodVolumes;
use super::claims::{BoundClaim, DelayedClaim, PodVolumeClaims, UnboundClaim};
use super::matching::{Match, Mismatch, Wanted};
use super::provisioning::{Provisioned, is_large_enough, volume_limit};
use super::scoring::{ClassUse, Scoring};
use super::{StateData, UnboundImmediate};

/// What becomes of a claim if its pod goes to a node.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimExplanation {
    /// The claim.
    pub claim: NamespacedName,
    /// What becomes of it.
    pub outcome: ClaimOutcome,
    /// The volumes of its class by name, if it is not bound yet.
    pub tried: Vec<VolumeTried>,
    /// The capacities of its class, if a volume would have to be made and there must be room for it.
    pub capacities: Vec<CapacityTried>,
}

/// What becomes of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// It is bound, and the node reaches the volume.
    Bound(Str),
    /// It is bound to a volume that is not there.
    VolumeMissing(Str),
    /// It is bound to a volume that the node does not reach.
    OutOfReach {
        /// The volume.
        volume: Str,
        /// Why not.
        reason: String,
    },
    /// It would be bound to this volume.
    Matched(Str),
    /// A volume would be made for it.
    Provisioned {
        /// Its class.
        class: Str,
        /// The capacity with room for it, if that was asked for.
        capacity: Option<NamespacedName>,
    },
    /// Another node was selected for its volume.
    OtherNode(Str),
    /// There is no volume for it and none can be made.
    Unmatched(NotProvisioned),
    /// Another claim of the pod has failed before this one's turn.
    NotReached,
    /// It cannot be told.
    Failed(String),
}

/// Why no volume can be made for a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotProvisioned {
    /// Nobody makes volumes of the class.
    NoProvisioner,
    /// The class does not allow the node's place.
    WrongTopology,
    /// No capacity that the node reaches is large enough.
    NoRoom,
}

/// A volume that was tried for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeTried {
    /// The volume.
    pub volume: Str,
    /// How large it is.
    pub size: Option<Quantity>,
    /// Why it is not taken; absent if it is.
    pub mismatch: Option<Mismatch>,
}

/// A capacity that was looked at for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityTried {
    /// The capacity.
    pub capacity: NamespacedName,
    /// The largest volume that it has room for.
    pub limit: Option<Quantity>,
    /// Whether that is enough.
    pub is_large_enough: bool,
    /// Whether the node reaches it.
    pub is_reached: bool,
}

impl fmt::Display for ClaimOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bound(volume) => write!(f, "is bound to {volume}, which the node reaches"),
            Self::VolumeMissing(volume) => write!(f, "is bound to {volume}, which does not exist"),
            Self::OutOfReach { volume, reason } => {
                write!(f, "is bound to {volume}, which the node does not reach: {reason}")
            }
            Self::Matched(volume) => write!(f, "gets {volume}"),
            Self::Provisioned { class, capacity: None } => write!(f, "gets a new volume of class {class}"),
            Self::Provisioned { class, capacity: Some(capacity) } => {
                write!(f, "gets a new volume of class {class}, for which {capacity} has room")
            }
            Self::OtherNode(node) => write!(f, "gets a new volume on {node}, which was selected before"),
            Self::Unmatched(why) => write!(f, "gets no volume: none of its class will do, and {why}"),
            Self::NotReached => {
                f.write_str("was not looked at, since another claim of the pod gets no volume")
            }
            Self::Failed(error) => f.write_str(error),
        }
    }
}

impl fmt::Display for NotProvisioned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoProvisioner => "nobody makes volumes of the class",
            Self::WrongTopology => "the class does not allow the node's place",
            Self::NoRoom => "no capacity that the node reaches has room for a new one",
        })
    }
}

impl fmt::Display for CapacityTried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limit = self.limit.map_or_else(|| "no limit".to_owned(), |limit| limit.to_string());
        write!(f, "{}: {limit}", self.capacity)?;
        match (self.is_reached, self.is_large_enough) {
            (true, true) => f.write_str(", which is enough"),
            (true, false) => f.write_str(", which is too little"),
            (false, _) => f.write_str(", which the node does not reach"),
        }
    }
}

/// The claims that should be bound already and are not; none unless PreFilter has turned the pod down for that.
pub fn explain_unbound(state: &CycleState) -> &[UnboundClaim] {
    state.read::<UnboundImmediate>().map_or(&[], |unbound| &unbound.0)
}

/// What becomes of each claim of a pod on a node, bound ones first, by what the plugin keeps during the attempt; absent
/// if PreFilter has not got to it or the pod has no claims. Once Reserve is over, what was tried is forgotten.
pub fn explain_match(state: &CycleState, node: &Node) -> Option<Vec<ClaimExplanation>> {
    let claims = state.read::<StateData>()?.claims.as_ref()?;
    let mut all: Vec<ClaimExplanation> =
        claims.bound.iter().map(|bound| explain_bound(claims, bound, node)).collect();
    // What fails is told with the claim that it fails for.
    let found = claims.find_on(node).ok().map(|found| found.volumes);
    let (has_failed, volumes) = (found.is_none(), found.unwrap_or_default());
    let scene = Scene { node, claims, volumes: &volumes };
    let outcomes = scene.outcomes(has_failed);
    for (delayed, outcome) in claims.delayed.iter().zip(outcomes) {
        all.push(scene.explain_delayed(delayed, outcome));
    }
    Some(all)
}

/// How storage scores on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacityScore {
    /// What each class contributes.
    pub classes: Vec<ClassUse>,
    /// The points of the profile's shape: utilization and score, each from 0 to 100.
    pub shape: Vec<(i64, i64)>,
}

/// What each class of storage contributes to the score of a node, and the points of the profile's shape; absent where
/// storage is not scored.
pub fn explain_capacity(state: &CycleState, node: &Node) -> Option<CapacityScore> {
    let Scoring(scorer) = state.read::<Scoring>()?;
    let claims = state.read::<StateData>()?.claims.as_ref()?;
    let found = claims.find_on(node).ok()?;
    Some(CapacityScore { classes: scorer.classes(&found.volumes), shape: scorer.points() })
}

fn explain_bound(claims: &PodVolumeClaims, bound: &BoundClaim, node: &Node) -> ClaimExplanation {
    let name = bound.claim.spec.volume_name.clone();
    let outcome = match &bound.volume {
        None => ClaimOutcome::VolumeMissing(name),
        Some(volume) => match claims.migrated.reach_on(node.name(), volume) {
            Err(error) => ClaimOutcome::Failed(error),
            Ok(reach) => match reach.check(&node.metadata.labels) {
                Ok(()) => ClaimOutcome::Bound(name),
                Err(reason) => ClaimOutcome::OutOfReach { volume: name, reason },
            },
        },
    };
    ClaimExplanation { claim: bound.claim.key(), outcome, tried: Vec::new(), capacities: Vec::new() }
}

/// What the explanation of a delayed claim depends on.
struct Scene<'a> {
    node: &'a Node,
    claims: &'a PodVolumeClaims,
    volumes: &'a PodVolumes,
}

impl Scene<'_> {
    /// What becomes of each delayed claim.
    fn outcomes(&self, has_failed: bool) -> Vec<ClaimOutcome> {
        let node_name = self.node.name();
        let mut outcomes = vec![ClaimOutcome::NotReached; self.claims.delayed.len()];
        let mut is_elsewhere = false;
        for (delayed, outcome) in self.claims.delayed.iter().zip(&mut outcomes) {
            if let Some(selected) = delayed.selected_node.as_ref().filter(|selected| *selected != node_name) {
                *outcome = ClaimOutcome::OtherNode(selected.clone());
                is_elsewhere = true;
            }
            if let Err(error) = &delayed.candidates {
                *outcome = ClaimOutcome::Failed(error.clone());
            }
        }
        if is_elsewhere || has_failed {
            return outcomes;
        }
        let selected = self.claims.delayed.iter().enumerate().filter(|(_, one)| one.selected_node.is_some());
        let order = selected.map(|(index, _)| index).chain(self.claims.to_match.iter().copied());
        let mut has_failed = false;
        for index in order {
            let (Some(delayed), Some(outcome)) = (self.claims.delayed.get(index), outcomes.get_mut(index))
            else {
                continue;
            };
            let bound =
                self.volumes.bindings.iter().find(|binding| binding.claim.key() == delayed.claim.key());
            if let Some(binding) = bound {
                *outcome = ClaimOutcome::Matched(binding.volume.name().clone());
            } else if !has_failed {
                *outcome = match delayed.provisioning.check(&self.node.metadata.labels) {
                    Provisioned::Yes(capacity) => ClaimOutcome::Provisioned {
                        class: delayed.claim.class().into(),
                        capacity: capacity.map(|capacity| capacity.metadata.key()),
                    },
                    Provisioned::NotSupported => ClaimOutcome::Unmatched(NotProvisioned::NoProvisioner),
                    Provisioned::WrongTopology => ClaimOutcome::Unmatched(NotProvisioned::WrongTopology),
                    Provisioned::NoRoom => ClaimOutcome::Unmatched(NotProvisioned::NoRoom),
                };
                has_failed = matches!(outcome, ClaimOutcome::Unmatched(_));
            }
        }
        outcomes
    }

    fn explain_delayed(&self, delayed: &DelayedClaim, outcome: ClaimOutcome) -> ClaimExplanation {
        let tried =
            if delayed.selected_node.is_none() { self.volumes_tried(&delayed.claim) } else { Vec::new() };
        let made = matches!(
            outcome,
            ClaimOutcome::Provisioned { .. } | ClaimOutcome::Unmatched(NotProvisioned::NoRoom)
        );
        let bytes = delayed.provisioning.bytes().filter(|_| made);
        let capacities =
            bytes.map_or_else(Vec::new, |bytes| self.capacities_tried(delayed.claim.class(), bytes));
        ClaimExplanation { claim: delayed.claim.key(), outcome, tried, capacities }
    }

    fn volumes_tried(&self, claim: &PersistentVolumeClaim) -> Vec<VolumeTried> {
        let Ok(wanted) = Wanted::by(claim) else { return Vec::new() };
        let assumed = &self.claims.assumed;
        let volumes = self.claims.known.of_class(claim.class());
        let judged: Vec<_> = volumes
            .map(|known| {
                let latest = assumed.volume(&known.volume);
                (known, latest, wanted.judge(latest))
            })
            .collect();
        let has_reserved = judged.iter().any(|(_, _, judged)| *judged == Ok(Match::Reserved));
        let mut bindings = self.volumes.bindings.iter();
        let taken = bindings.find(|binding| binding.claim.key() == claim.key());
        let taken = taken.map(|binding| binding.volume.name());
        let explain = |(known, latest, judged): (_, &std::sync::Arc<_>, Result<Match, Mismatch>)| {
            let known: &std::sync::Arc<super::KnownVolume> = known;
            let latest: &crate::api::objects::PersistentVolume = latest;
            let is_taken = |other: &Str| self.volumes.bindings.iter().any(|one| one.volume.name() == other);
            let mismatch = match judged {
                Err(mismatch) => Some(mismatch),
                Ok(_) if taken == Some(latest.name()) => None,
                Ok(Match::Available) if has_reserved => Some(Mismatch::NotReserved),
                Ok(_) if known.reach.check(&self.node.metadata.labels).is_err() => {
                    Some(Mismatch::NodeAffinity)
                }
                Ok(_) if is_taken(latest.name()) => Some(Mismatch::Taken),
                Ok(_) => Some(Mismatch::NotSmallest),
            };
            VolumeTried { volume: latest.name().clone(), size: latest.size(), mismatch }
        };
        judged.into_iter().map(explain).collect()
    }

    fn capacities_tried(&self, class: &str, bytes: i64) -> Vec<CapacityTried> {
        let known = self.claims.known.capacities(class);
        let tried = known.map(|known| CapacityTried {
            capacity: known.capacity.metadata.key(),
            limit: volume_limit(&known.capacity),
            is_large_enough: is_large_enough(&known.capacity, bytes),
            is_reached: known.nodes.matches(&self.node.metadata.labels),
        });
        tried.collect()
    }
}
