//! Whether a volume can be made for a claim where a node reaches it.
//!
//! Follows `checkVolumeProvisions` and `hasEnoughCapacity` of `plugins/volumebinding/binder.go`, and
//! `MatchTopologySelectorTerms`.

use std::fmt;
use std::sync::Arc;

use crate::api::objects::{
    CSIStorageCapacity, Labels, PersistentVolumeClaim, StorageClass, TopologySelectorTerm,
};
use crate::api::selector::{Operator, Requirement};
use crate::api::{NamespacedName, ObjectStore, Quantity, Selector};

use super::by_label::ByLabel;
use super::volumes::{KnownCapacity, KnownVolumes};

/// How many capacities a person is shown.
const SHOWN: usize = 10;
/// The provisioner of classes whose volumes are only made by hand.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// What it takes to make a volume for a claim.
#[derive(Clone, Debug)]
pub enum Provisioning {
    /// The class has nobody who makes volumes.
    NotSupported,
    /// Somebody makes them.
    By {
        /// Where.
        topologies: Topologies,
        /// Whether there must be room.
        room: Room,
    },
}

/// The places that a class allows.
#[derive(Clone, Debug)]
pub struct Topologies(Option<Vec<Selector>>);

/// The room that there must be for a new volume.
#[derive(Clone)]
pub enum Room {
    /// Nobody asks.
    NotAsked,
    /// One of these, which are all large enough, must be reached by the node.
    Within {
        /// How many bytes are looked for.
        bytes: i64,
        /// The capacities.
        capacities: Vec<Arc<KnownCapacity>>,
        /// Their places, by label.
        by_label: ByLabel,
    },
}

/// The capacities by their names.
impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAsked => f.write_str("NotAsked"),
            Self::Within { bytes, capacities, .. } => {
                let names =
                    capacities.iter().take(SHOWN).map(|known| known.capacity.metadata.key().to_string());
                let names: Vec<String> = names.collect();
                write!(f, "{bytes} bytes in one of {} capacities: {}", capacities.len(), names.join(" "))
            }
        }
    }
}

/// What comes of making a volume.
#[derive(Clone, Debug, PartialEq)]
pub enum Provisioned {
    /// It can be made, with the room in this capacity if that was asked for.
    Yes(Option<Arc<CSIStorageCapacity>>),
    /// Nobody makes volumes of the class.
    NotSupported,
    /// The class does not allow the node's place.
    WrongTopology,
    /// No capacity that the node reaches is large enough.
    NoRoom,
}

impl Topologies {
    fn new(terms: &[TopologySelectorTerm]) -> Self {
        if terms.is_empty() {
            return Self(None);
        }
        // A term that is empty or cannot be parsed matches nothing.
        let parsed =
            terms.iter().filter(|term| !term.match_label_expressions.is_empty()).filter_map(|term| {
                let requirements = term.match_label_expressions.iter().map(|expression| {
                    Requirement::new(&expression.key, Operator::In, &expression.values, "")
                });
                Some(Selector::new(requirements.collect::<Result<_, _>>().ok()?))
            });
        Self(Some(parsed.collect()))
    }

    fn allow(&self, labels: &Labels) -> bool {
        self.0.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(labels)))
    }
}

/// The largest volume that a capacity has room for, if it says so (`volumeLimit`).
pub fn volume_limit(capacity: &CSIStorageCapacity) -> Option<Quantity> {
    capacity.maximum_volume_size.or(capacity.capacity)
}

/// Whether a capacity has room for that many bytes.
pub fn is_large_enough(capacity: &CSIStorageCapacity, bytes: i64) -> bool {
    volume_limit(capacity).is_some_and(|limit| limit.value() >= bytes)
}

/// How many bytes must be free for a volume of the claim; absent if nobody asks.
fn bytes_to_look_for(
    claim: &PersistentVolumeClaim,
    class: &StorageClass,
    objects: &ObjectStore,
) -> Option<i64> {
    let request = claim.request()?;
    let driver = objects.csi_drivers.get(&NamespacedName::cluster(class.provisioner.clone()))?;
    (driver.spec.storage_capacity == Some(true)).then(|| request.value())
}

impl Provisioning {
    /// What it takes to make a volume of the class for the claim.
    pub fn of(
        claim: &PersistentVolumeClaim,
        class: &StorageClass,
        objects: &ObjectStore,
        known: &KnownVolumes,
    ) -> Self {
        if class.provisioner.is_empty() || &*class.provisioner == NO_PROVISIONER {
            return Self::NotSupported;
        }
        let room = match bytes_to_look_for(claim, class, objects) {
            None => Room::NotAsked,
            Some(bytes) => {
                let of_class = known.capacities(&class.metadata.name);
                let large_enough = of_class.filter(|known| is_large_enough(&known.capacity, bytes));
                let capacities: Vec<_> = large_enough.cloned().collect();
                let by_label = ByLabel::of(&capacities, |known| known.nodes.needed_label());
                Room::Within { bytes, capacities, by_label }
            }
        };
        Self::By { topologies: Topologies::new(&class.allowed_topologies), room }
    }

    /// How many bytes of room are looked for; absent if nobody asks.
    pub const fn bytes(&self) -> Option<i64> {
        match self {
            Self::By { room: Room::Within { bytes, .. }, .. } => Some(*bytes),
            Self::By { room: Room::NotAsked, .. } | Self::NotSupported => None,
        }
    }

    /// Whether a volume can be made that a node with these labels reaches.
    pub fn check(&self, labels: &Labels) -> Provisioned {
        let Self::By { topologies, room } = self else { return Provisioned::NotSupported };
        if !topologies.allow(labels) {
            return Provisioned::WrongTopology;
        }
        match room {
            Room::NotAsked => Provisioned::Yes(None),
            Room::Within { capacities, by_label, .. } => {
                let is_reached = |position: usize| {
                    capacities.get(position).is_some_and(|known| known.nodes.matches(labels))
                };
                match by_label.first(labels, is_reached).and_then(|position| capacities.get(position)) {
                    Some(known) => Provisioned::Yes(Some(Arc::clone(&known.capacity))),
                    None => Provisioned::NoRoom,
                }
            }
        }
    }
}
