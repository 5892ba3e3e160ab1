//! What a cluster's controllers do for volumes and devices, in simulated time.
//!
//! - [`volumes`]: the PV controller. Binds claims to volumes, finishes what the scheduler has begun, releases volumes.
//! - [`provisioner`]: the CSI drivers' part. Makes volumes, which takes time and can fail on request.
//! - [`pod_claims`]: claims of ephemeral volumes and of resource claim templates, made and taken back with their pods.
//! - [`protection`]: a claim that is being deleted stays while pods on nodes use it.
//! - [`resource_claims`]: devices are given back when the pods are gone that they were reserved for.
//! - [`device_drivers`]: slices of devices for the nodes, from a small file.
//!
//! A cluster that lives has a [`World`] beside them.
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

use crate::api::workloads::{Living, WorkloadKind};
use crate::api::{Kind, NamespacedName, Object, Rng, Str, Time, Uid};
use crate::scheduler::Scheduler;

use super::api::{SandboxApi, WatchEvent};
use super::world::{World, WorldOrder, WorldSettings, WorldView};
use device_drivers::DeviceDrivers;
pub(super) use journal::Said;
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
    /// Present where the cluster lives.
    world: Option<Box<World>>,
    /// What is to live from the start on.
    living: Vec<Living>,
    seed: u64,
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
            world: None,
            living: Vec::new(),
            seed,
        }
    }

    /// The same with these device drivers on the nodes.
    #[must_use]
    pub fn with_drivers(mut self, drivers: DeviceDrivers) -> Self {
        self.drivers = drivers;
        self
    }

    /// The same in a cluster that lives, with these workloads and node groups.
    #[must_use]
    pub fn with_world(mut self, settings: WorldSettings, living: Vec<Living>) -> Self {
        self.world = Some(Box::new(World::new(self.seed, settings)));
        self.living = living;
        self
    }

    /// The living part, if there is one.
    pub fn world(&self) -> Option<&World> {
        self.world.as_deref()
    }

    /// The same, to take what is to be told of it.
    pub(super) fn world_mut(&mut self) -> Option<&mut World> {
        self.world.as_deref_mut()
    }

    /// The object of a workload is gone, and what belonged to it stays.
    pub(super) fn orphan(&mut self, api: &mut SandboxApi, now: Time, of: (WorkloadKind, NamespacedName)) {
        if let Some(world) = &mut self.world {
            world.orphan(api, now, &mut self.journal, of);
        }
    }

    /// What there is to see of it.
    pub fn world_view(&self, api: &SandboxApi) -> Option<WorldView> {
        self.world.as_ref().map(|world| world.view(api, &self.journal))
    }

    /// Tells the living part something. Without one it begins to live, if that is what it is told.
    ///
    /// # Errors
    /// One sentence that says what is wrong.
    pub(super) fn order(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        order: &WorldOrder,
    ) -> Result<String, String> {
        if self.world.is_none() {
            let parts = match order {
                WorldOrder::Start(parts) => parts.as_str(),
                WorldOrder::Switch { part, is_on: true } => part.as_str(),
                _ => return Err("nothing lives in this sandbox; `:world on` starts it".to_owned()),
            };
            let settings = WorldSettings::default().with_parts(parts)?;
            self.begin_to_live(api, now, settings);
        }
        let Self { world, journal, .. } = self;
        world.as_mut().map_or_else(|| Ok(String::new()), |world| world.order(api, now, journal, order))
    }

    fn begin_to_live(&mut self, api: &mut SandboxApi, now: Time, settings: WorldSettings) {
        let mut world = Box::new(World::new(self.seed, settings));
        world.start(api, now, &mut self.journal, std::mem::take(&mut self.living));
        self.world = Some(world);
    }

    /// Adds or changes workloads and node groups; with the first of them the cluster begins to live.
    pub(super) fn apply_living(
        &mut self,
        api: &mut SandboxApi,
        now: Time,
        living: Vec<Living>,
    ) -> Vec<String> {
        if self.world.is_none() {
            self.begin_to_live(api, now, WorldSettings::default());
        }
        let Self { world, journal, .. } = self;
        world.as_mut().map(|world| world.apply(api, now, journal, living)).unwrap_or_default()
    }

    /// Whether the autoscaler wants to ask the scheduler.
    pub(super) fn wants_scan(&self) -> bool {
        self.world.as_ref().is_some_and(|world| world.wants_scan())
    }

    /// Lets the autoscaler ask the scheduler.
    pub(super) fn scan(&mut self, scheduler: &Scheduler, api: &mut SandboxApi, now: Time) {
        if let Some(world) = &mut self.world {
            world.scan(scheduler, api, now, &mut self.journal);
        }
    }

    /// What has been done, the newest last.
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }

    /// Begins with a cluster: everything in it is looked at.
    pub fn start(&mut self, api: &mut SandboxApi, now: Time) {
        api.set_has_controllers();
        for object in api.objects().iter() {
            self.observe_object(&WatchEvent::Added(object));
        }
        if let Some(world) = &mut self.world {
            world.start(api, now, &mut self.journal, std::mem::take(&mut self.living));
        }
        self.work(api, now);
    }

    /// A change was reported.
    pub fn observe(&mut self, event: &WatchEvent) {
        if let Some(world) = &mut self.world {
            world.observe(event);
        }
        self.observe_object(event);
    }

    fn observe_object(&mut self, event: &WatchEvent) {
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
        if let Some(world) = &mut self.world {
            world.work(api, now, &mut self.journal);
        }
    }

    /// When a controller does something by itself next, and what.
    pub fn next_timeout(&self) -> Option<(Time, Str)> {
        let world = self.world.as_ref().and_then(|world| world.next_timeout());
        [self.provisioner.next_timeout(), world].into_iter().flatten().min_by_key(|(at, _)| *at)
    }

    /// Whether something is on its way that is likely to get somewhere.
    pub(super) fn is_moving(&self) -> bool {
        self.provisioner.is_moving() || self.world.as_ref().is_some_and(|world| world.is_moving())
    }

    /// Time has gone on.
    pub fn advance(&mut self, api: &mut SandboxApi, now: Time) {
        let Self { due, journal, .. } = self;
        self.provisioner.advance(&mut Cx { api, now, journal, due });
        if let Some(world) = &mut self.world {
            world.advance(api, now, &mut self.journal);
        }
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
        self.journal.add(self.now, controller, kind.as_str(), key, said);
    }
}
