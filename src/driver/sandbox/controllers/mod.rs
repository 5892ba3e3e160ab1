//! What a cluster's controllers do for volumes and devices, in simulated time.
//!
//! - [`volumes`]: the PV controller. Binds claims to volumes, finishes what the scheduler has begun, releases volumes.
//! - [`provisioner`]: the CSI drivers' part. Makes volumes, which takes time and can fail on request.
//! - [`pod_claims`]: claims of ephemeral volumes and of resource claim templates, made and taken back with their pods.
//! - [`protection`]: a claim that is being deleted stays while pods on nodes use it.
//! - [`resource_claims`]: devices are given back when the pods are gone that they were reserved for.
//! - [`device_drivers`]: slices of devices for the nodes, from a small file.
//!
//! All but the making of volumes is done at once, at the moment of the change that calls for it. A controller looks at
//! one object at a time and can look as often as it likes: where nothing is to be done, nothing is written. What was
//! done is kept as [`Deed`]s.

pub mod device_drivers;
mod journal;
pub mod pod_claims;
pub mod protection;
pub mod provisioner;
pub mod resource_claims;
pub mod volumes;

use std::collections::BTreeSet;

use crate::api::{Kind, NamespacedName, Object, Rng, Str, Time, Uid};

use super::api::{SandboxApi, WatchEvent};
use device_drivers::DeviceDrivers;
pub use journal::{Deed, Journal};
use provisioner::Provisioner;

/// What has to be looked at, in the order in which it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Node(NamespacedName),
    Pod(NamespacedName),
    Volume(NamespacedName),
    VolumeClaim(NamespacedName),
    ResourceClaim(NamespacedName),
    /// What belonged to a pod that is gone.
    Orphans {
        namespace: Str,
        owner: Uid,
    },
}

/// What a controller works on.
struct Cx<'a> {
    api: &'a mut SandboxApi,
    now: Time,
    journal: &'a mut Journal,
    due: &'a mut BTreeSet<Item>,
}

/// The controllers of a sandbox.
#[derive(Clone, Debug)]
pub struct Controllers {
    due: BTreeSet<Item>,
    /// Claims for which there was no volume and no way to make one: looked at again when volumes or classes change.
    waiting_claims: BTreeSet<NamespacedName>,
    /// Pods whose resource claim template is missing.
    waiting_pods: BTreeSet<NamespacedName>,
    provisioner: Provisioner,
    drivers: DeviceDrivers,
    journal: Journal,
}

impl Controllers {
    /// Controllers whose random numbers start from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            due: BTreeSet::new(),
            waiting_claims: BTreeSet::new(),
            waiting_pods: BTreeSet::new(),
            provisioner: Provisioner::new(Rng::new(seed)),
            drivers: DeviceDrivers::default(),
            journal: Journal::default(),
        }
    }

    /// The same with these device drivers on the nodes.
    #[must_use]
    pub fn with_drivers(mut self, drivers: DeviceDrivers) -> Self {
        self.drivers = drivers;
        self
    }

    /// What has been done, the newest last.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Begins with a cluster: everything in it is looked at.
    pub fn start(&mut self, api: &mut SandboxApi, now: Time) {
        api.set_has_controllers();
        for object in api.objects().iter() {
            self.observe(&WatchEvent::Added(object));
        }
        self.work(api, now);
    }

    /// A change was reported.
    pub fn observe(&mut self, event: &WatchEvent) {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified { new: object, .. } => self.changed(object),
            WatchEvent::Deleted(object) => self.gone(object),
        }
    }

    fn changed(&mut self, object: &Object) {
        let key = object.key();
        match object {
            Object::Node(_) => {
                self.due.insert(Item::Node(key));
            }
            Object::Pod(pod) if pod_claims::needs_claims(pod) => {
                self.due.insert(Item::Pod(key));
            }
            Object::PersistentVolumeClaim(_) => {
                self.due.insert(Item::VolumeClaim(key));
            }
            Object::PersistentVolume(volume) => {
                if volume.spec.claim_ref.is_none() {
                    self.retry_claims();
                }
                self.due.insert(Item::Volume(key));
            }
            Object::StorageClass(_) => self.retry_claims(),
            Object::ResourceClaim(_) => {
                self.due.insert(Item::ResourceClaim(key));
            }
            Object::ResourceClaimTemplate(_) => {
                self.due.extend(std::mem::take(&mut self.waiting_pods).into_iter().map(Item::Pod));
            }
            _ => {}
        }
    }

    fn gone(&mut self, object: &Object) {
        match object {
            Object::Node(_) => {
                self.due.insert(Item::Node(object.key()));
            }
            Object::Pod(pod) => {
                let namespace = &pod.metadata.namespace;
                self.due.extend(protection::claims_of(pod).map(Item::VolumeClaim));
                self.due.extend(resource_claims::claims_of(pod).map(Item::ResourceClaim));
                if pod_claims::needs_claims(pod) || pod.status.extended_resource_claim_status.is_some() {
                    let owner = pod.uid().clone();
                    self.due.insert(Item::Orphans { namespace: namespace.clone(), owner });
                }
            }
            Object::PersistentVolumeClaim(_) => {
                self.waiting_claims.remove(&object.key());
                self.due.insert(Item::VolumeClaim(object.key()));
            }
            Object::PersistentVolume(volume) => {
                if let Some(claim) = &volume.spec.claim_ref {
                    self.due.insert(Item::VolumeClaim(claim.key()));
                }
            }
            _ => {}
        }
    }

    fn retry_claims(&mut self) {
        self.due.extend(std::mem::take(&mut self.waiting_claims).into_iter().map(Item::VolumeClaim));
    }

    /// Looks at everything that has changed, and at what came of that. Changes made elsewhere meanwhile are for the
    /// next time.
    pub fn work(&mut self, api: &mut SandboxApi, now: Time) {
        while let Some(item) = self.due.pop_first() {
            let Self { due, journal, .. } = self;
            let cx = &mut Cx { api, now, journal, due };
            match item {
                Item::Node(key) => self.drivers.sync_node(cx, &key.name),
                Item::Pod(key) => {
                    if !pod_claims::sync_pod(cx, &key) {
                        self.waiting_pods.insert(key);
                    }
                }
                Item::Volume(key) => volumes::sync_volume(cx, &key),
                Item::VolumeClaim(key) => {
                    protection::sync_claim(cx, &key);
                    if volumes::sync_claim(cx, &mut self.provisioner, &key) == volumes::Outcome::Waits {
                        self.waiting_claims.insert(key);
                    }
                }
                Item::ResourceClaim(key) => resource_claims::sync_claim(cx, &key),
                Item::Orphans { namespace, owner } => pod_claims::collect_orphans(cx, &namespace, &owner),
            }
        }
    }

    /// When a controller does something by itself next, and what.
    pub fn next_timeout(&self) -> Option<(Time, Str)> {
        self.provisioner.next_timeout()
    }

    /// Whether something is on its way that is likely to get somewhere.
    pub(super) fn is_moving(&self) -> bool {
        self.provisioner.is_moving()
    }

    /// Time has gone on.
    pub fn advance(&mut self, api: &mut SandboxApi, now: Time) {
        let Self { due, journal, .. } = self;
        self.provisioner.advance(&mut Cx { api, now, journal, due });
    }
}

/// The objects of a kind that are in a namespace, in the order of their names.
fn in_namespace<'a, T>(
    objects: &'a std::collections::BTreeMap<NamespacedName, T>,
    namespace: &'a Str,
) -> impl Iterator<Item = &'a T> {
    let first = NamespacedName::new(namespace.clone(), "");
    objects.range(first..).take_while(move |(key, _)| key.namespace == *namespace).map(|(_, object)| object)
}

impl Cx<'_> {
    /// Writes down what was done, or could not be.
    fn tell(&mut self, controller: &'static str, kind: Kind, key: &NamespacedName, said: journal::Said) {
        self.journal.add(self.now, controller, kind, key, said);
    }
}
