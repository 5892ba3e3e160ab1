//! What profiles have assumed of volumes and claims and the API server does not know yet.
//!
//! Follows `plugins/volumebinding/passive_assume_cache.go` and `assume_cache.go`: an assumed object stands in for the
//! one that a watch has reported as long as both have the same version. Each profile has assumptions of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::api::objects::{PersistentVolume, PersistentVolumeClaim};
use crate::api::{Digest, Digestible, Kind, NamespacedName, Object, ObjectStore, OfKind, Str};
use crate::framework::{PluginState, Told};

use super::volumes::KnownVolumes;

/// An object that can be assumed.
trait Assumable: OfKind {
    /// `metadata.resourceVersion`.
    fn version(&self) -> &str;
    /// Namespace and name.
    fn object_key(&self) -> NamespacedName;
    /// The object as a watch last reported it.
    fn reported<'a>(objects: &'a ObjectStore, key: &NamespacedName) -> Option<&'a Arc<Self>>;
}

impl Assumable for PersistentVolume {
    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
    fn object_key(&self) -> NamespacedName {
        self.metadata.key()
    }
    fn reported<'a>(objects: &'a ObjectStore, key: &NamespacedName) -> Option<&'a Arc<Self>> {
        objects.persistent_volumes.get(key)
    }
}

impl Assumable for PersistentVolumeClaim {
    fn version(&self) -> &str {
        &self.metadata.resource_version
    }
    fn object_key(&self) -> NamespacedName {
        self.metadata.key()
    }
    fn reported<'a>(objects: &'a ObjectStore, key: &NamespacedName) -> Option<&'a Arc<Self>> {
        objects.persistent_volume_claims.get(key)
    }
}

/// The words of the API for an object that is not there, as it names it by its resource.
pub fn not_found(kind: Kind, key: &NamespacedName) -> String {
    format!("{} {:?} not found", kind.resource(), key.to_string())
}

/// Assumed objects of one kind by key.
#[derive(Clone, Debug)]
struct AssumeCache<T>(BTreeMap<NamespacedName, Arc<T>>);

impl<T> Default for AssumeCache<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Assumable> AssumeCache<T> {
    /// The object as it is or is assumed to be.
    fn latest<'a>(&'a self, reported: &'a Arc<T>) -> &'a Arc<T> {
        if self.0.is_empty() {
            return reported;
        }
        let assumed = self.0.get(&reported.object_key());
        assumed.filter(|assumed| assumed.version() == reported.version()).unwrap_or(reported)
    }

    fn assume(&mut self, objects: &ObjectStore, object: Arc<T>) -> Result<(), String> {
        let key = object.object_key();
        let reported = T::reported(objects, &key).ok_or_else(|| not_found(T::KIND, &key))?;
        if reported.version() != object.version() {
            return Err(format!(
                "{:?} is out of sync (stored: {}, assume: {})",
                key.to_string(),
                reported.version(),
                object.version()
            ));
        }
        self.0.insert(key, object);
        Ok(())
    }

    fn restore(&mut self, object: &T) {
        let key = object.object_key();
        if self.0.get(&key).is_some_and(|assumed| assumed.version() == object.version()) {
            self.0.remove(&key);
        }
    }

    /// A watch has reported a change: what was assumed of an older version is over.
    fn may_expire(&mut self, key: &NamespacedName, new: Option<&T>) {
        let is_current = |assumed: &Arc<T>| {
            new.is_some_and(|new| new.object_key() == *key && new.version() == assumed.version())
        };
        if self.0.get(key).is_some_and(|assumed| !is_current(assumed)) {
            self.0.remove(key);
        }
    }

    fn digest(&self, digest: &mut Digest, add: impl Fn(&T, &mut Digest)) {
        digest.len(self.0.len());
        for (key, object) in &self.0 {
            digest.str(&key.namespace).str(&key.name).str(object.version());
            add(object, digest);
        }
    }
}

/// What one profile has assumed.
#[derive(Clone, Debug, Default)]
pub struct Assumed {
    volumes: AssumeCache<PersistentVolume>,
    claims: AssumeCache<PersistentVolumeClaim>,
}

impl Assumed {
    /// The volume as it is, or is assumed to be.
    pub fn volume<'a>(&'a self, reported: &'a Arc<PersistentVolume>) -> &'a Arc<PersistentVolume> {
        self.volumes.latest(reported)
    }

    /// The claim as it is, or is assumed to be; absent if there is none.
    pub fn claim<'a>(
        &'a self,
        objects: &'a ObjectStore,
        key: &NamespacedName,
    ) -> Option<&'a Arc<PersistentVolumeClaim>> {
        objects.persistent_volume_claims.get(key).map(|reported| self.claims.latest(reported))
    }

    /// Takes the volume to be like this from now on.
    ///
    /// # Errors
    /// It is gone, or has changed since.
    pub fn assume_volume(
        &mut self,
        objects: &ObjectStore,
        volume: Arc<PersistentVolume>,
    ) -> Result<(), String> {
        self.volumes.assume(objects, volume)
    }

    /// Takes the claim to be like this from now on.
    ///
    /// # Errors
    /// It is gone, or has changed since.
    pub fn assume_claim(
        &mut self,
        objects: &ObjectStore,
        claim: Arc<PersistentVolumeClaim>,
    ) -> Result<(), String> {
        self.claims.assume(objects, claim)
    }

    /// Takes back what was assumed of that version of the volume.
    pub fn restore_volume(&mut self, volume: &PersistentVolume) {
        self.volumes.restore(volume);
    }

    /// Takes back what was assumed of that version of the claim.
    pub fn restore_claim(&mut self, claim: &PersistentVolumeClaim) {
        self.claims.restore(claim);
    }

    /// Whether nothing is assumed.
    pub fn is_empty(&self) -> bool {
        self.volumes.0.is_empty() && self.claims.0.is_empty()
    }

    /// The volumes that are assumed to be bound, in the order of their names.
    pub fn volumes(&self) -> impl Iterator<Item = &Arc<PersistentVolume>> {
        self.volumes.0.values()
    }

    /// The claims that are assumed to have a node, in the order of their keys.
    pub fn claims(&self) -> impl Iterator<Item = &Arc<PersistentVolumeClaim>> {
        self.claims.0.values()
    }
}

/// What the plugin remembers from one attempt to the next.
#[derive(Clone, Debug, Default)]
pub struct VolumeState {
    /// The volumes and capacities that watches have reported.
    pub known: Arc<KnownVolumes>,
    assumed: BTreeMap<Str, Assumed>,
    nothing: Assumed,
}

impl VolumeState {
    /// What the profile has assumed.
    pub fn assumed(&self, profile: &str) -> &Assumed {
        self.assumed.get(profile).unwrap_or(&self.nothing)
    }

    /// The same, to change it.
    pub fn assumed_mut(&mut self, profile: &Str) -> &mut Assumed {
        self.assumed.entry(profile.clone()).or_default()
    }
}

impl PluginState for VolumeState {
    fn kinds(&self) -> &'static [Kind] {
        &[Kind::PersistentVolume, Kind::PersistentVolumeClaim, Kind::CSIStorageCapacity, Kind::CSINode]
    }

    fn object_changed(&mut self, _: &ObjectStore, old: Option<&Object>, new: Option<&Object>) -> Told {
        let Some(key) = new.or(old).map(Object::key) else { return Told::AsReported };
        match old.or(new).map(Object::kind) {
            Some(Kind::PersistentVolume) => {
                let (old, new) = (old.and_then(OfKind::of), new.and_then(OfKind::of));
                Arc::make_mut(&mut self.known).put_volume(old.map(AsRef::as_ref), new);
                for assumed in self.assumed.values_mut() {
                    assumed.volumes.may_expire(&key, new.map(AsRef::as_ref));
                }
            }
            Some(Kind::PersistentVolumeClaim) => {
                let new = new.and_then(OfKind::of).map(AsRef::as_ref);
                for assumed in self.assumed.values_mut() {
                    assumed.claims.may_expire(&key, new);
                }
            }
            Some(Kind::CSIStorageCapacity) => {
                let old = old.and_then(OfKind::of).map(AsRef::as_ref);
                Arc::make_mut(&mut self.known).put_capacity(old, new.and_then(OfKind::of));
            }
            Some(Kind::CSINode) => {
                let new = new.and_then(OfKind::of).map(AsRef::as_ref);
                Arc::make_mut(&mut self.known).put_csi_node(&key.name, new);
            }
            _ => {}
        }
        Told::AsReported
    }
}

impl Digestible for VolumeState {
    fn digest(&self, digest: &mut Digest) {
        let used = || self.assumed.iter().filter(|(_, assumed)| !assumed.is_empty());
        digest.len(used().count());
        for (profile, assumed) in used() {
            digest.str(profile);
            assumed.volumes.digest(digest, |volume, digest| {
                let claim = volume.spec.claim_ref.as_ref();
                digest.str(claim.map_or("", |claim| &claim.uid));
            });
            assumed.claims.digest(digest, |claim, digest| {
                digest.str(claim.metadata.annotations.get(super::SELECTED_NODE).map_or("", AsRef::as_ref));
            });
        }
    }
}
