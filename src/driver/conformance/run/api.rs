//! The API of a run: objects in memory, written as the reference's own API in memory writes them.
//!
//! It is plainer than the sandbox's: a Binding is taken whatever the pod's state, a name is enough to delete or patch,
//! and every write is a new version, also where nothing changes. A patch goes through JSON, which cuts all times of
//! the object to whole seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::api::objects::{Condition, ObjectMeta, Pod, PodCondition, PodGroup};
use crate::api::{Kind, NamespacedName, Object, ObjectStore, Str, Time, Uid};
use crate::driver::sandbox::admission::{PriorityClasses, admit_spec};
use crate::driver::sandbox::api::{ApiError, WatchEvent, keep_status, not_found};
use crate::framework::{ApiWrite, WriteVerb};

use super::script::Graceful;

/// The objects, and what watches have not been told yet.
#[derive(Clone, Debug, Default)]
pub(super) struct RunApi {
    objects: ObjectStore,
    events: Vec<WatchEvent>,
    version: u64,
    /// How often an object of that name was created.
    born: BTreeMap<(Kind, NamespacedName), u32>,
}

impl RunApi {
    /// The objects as they are.
    pub fn objects(&self) -> &ObjectStore {
        &self.objects
    }

    /// The changes since this was last asked, in their order.
    pub fn take_events(&mut self) -> Vec<WatchEvent> {
        std::mem::take(&mut self.events)
    }

    /// Creates an object or replaces it; `has_status` tells whether a claim says anything about its status.
    pub fn apply(
        &mut self,
        object: Object,
        has_status: bool,
        classes: &PriorityClasses<'_>,
        now: Time,
    ) -> Result<(), ApiError> {
        let mut object = admit_spec(object, classes, now)?;
        let (kind, key) = (object.kind(), object.key());
        if matches!(&object, Object::Pod(pod) if pod.is_terminal()) {
            // The scheduler's watch selects pods that have not ended: to it, this one is gone.
            self.remove(kind, &key);
            return Ok(());
        }
        let Some(old) = self.objects.get(kind, &key) else {
            self.create(object, now);
            return Ok(());
        };
        let metadata = object.metadata_mut();
        metadata.uid = old.metadata().uid.clone();
        metadata.creation_timestamp = old.metadata().creation_timestamp;
        self.write(keep_owned(&old, object, has_status));
        Ok(())
    }

    fn create(&mut self, mut object: Object, now: Time) {
        let (kind, key) = (object.kind(), object.key());
        let metadata = object.metadata_mut();
        if metadata.uid.is_empty() {
            let born = self.born.entry((kind, key.clone())).or_default();
            *born += 1;
            let count = if *born > 1 { format!("#{born}") } else { String::new() };
            let name = format!("{}/{}/{}", kind.as_str().to_lowercase(), key.namespace, key.name);
            metadata.uid = Uid::from(format!("{name}{count}"));
        }
        metadata.creation_timestamp.get_or_insert(now);
        self.write(object);
    }

    /// Takes an object away at once.
    pub fn delete(&mut self, kind: Kind, key: &NamespacedName) -> Result<(), ApiError> {
        if self.remove(kind, key) { Ok(()) } else { Err(not_found(kind, key)) }
    }

    /// Begins the graceful deletion of a pod; one without a node is gone at once.
    pub fn terminate(&mut self, key: &NamespacedName, now: Time) -> Result<(), ApiError> {
        let mut pod = self.pod(key)?;
        if !pod.is_assigned() {
            return self.delete(Kind::Pod, key);
        }
        pod.metadata.deletion_timestamp = Some(now);
        self.write(pod.into());
        Ok(())
    }

    /// An eviction.
    pub fn evict(&mut self, key: &NamespacedName, graceful: Graceful, now: Time) -> Result<(), ApiError> {
        match graceful {
            Graceful::Off => self.delete(Kind::Pod, key),
            Graceful::On | Graceful::For(_) => self.terminate(key, now),
        }
    }

    /// Somebody else binds a pod.
    pub fn bind_elsewhere(&mut self, key: &NamespacedName, node: &str, now: Time) -> Result<(), ApiError> {
        let mut pod = self.pod(key)?;
        pod.spec.node_name = Str::from(node);
        pod.status.start_time = Some(now);
        self.write(pod.into());
        Ok(())
    }

    /// A Binding.
    pub fn bind(&mut self, key: &NamespacedName, node: &Str, now: Time) -> Result<(), ApiError> {
        let mut pod = self.pod(key)?;
        pod.spec.node_name = node.clone();
        pod.status.nominated_node_name = Str::from("");
        pod.status.start_time.get_or_insert(now);
        self.write(pod.into());
        Ok(())
    }

    /// Changes a pod's status: the given fields of a condition, and the nomination (empty clears it).
    pub fn patch_status(
        &mut self,
        key: &NamespacedName,
        condition: Option<&ConditionPatch>,
        nominated_node_name: Option<&Str>,
    ) -> Result<(), ApiError> {
        let mut pod = self.pod(key)?;
        if let Some(condition) = condition {
            condition.apply(&mut pod);
        }
        if let Some(node) = nominated_node_name {
            pod.status.nominated_node_name = node.clone();
        }
        cut_times(&mut pod);
        self.write(pod.into());
        Ok(())
    }

    /// Sets a condition of a pod group.
    pub fn patch_group_status(
        &mut self,
        key: &NamespacedName,
        mut condition: Condition,
        now: Time,
    ) -> Result<(), ApiError> {
        let old = self.objects.pod_groups.get(key).ok_or_else(|| not_found(Kind::PodGroup, key))?;
        let mut group = PodGroup::clone(old);
        let conditions = &mut group.status.conditions;
        condition.last_transition_time = Some(now.truncate_to_second());
        match conditions.iter_mut().find(|known| known.type_ == condition.type_) {
            Some(known) => *known = condition,
            None => conditions.push(condition),
        }
        self.write(group.into());
        Ok(())
    }

    /// The pods that have been terminating for as long as `graceful` says, in byte order of `namespace/name`.
    pub fn ended(&self, graceful: Graceful, now: Time) -> Vec<NamespacedName> {
        let Graceful::For(grace) = graceful else { return Vec::new() };
        let has_ended = |pod: &&Arc<Pod>| {
            let since = pod.metadata.deletion_timestamp.map(cut_to_millis);
            since.is_some_and(|since| !grace.is_zero() && since + grace <= now)
        };
        let mut keys: Vec<NamespacedName> =
            self.objects.pods.values().filter(has_ended).map(|pod| pod.key()).collect();
        keys.sort_by_cached_key(ToString::to_string);
        keys
    }

    /// A write that a plugin wants.
    pub fn carry_out_write(&mut self, write: &ApiWrite, now: Time) -> Result<Object, ApiError> {
        let (kind, key) = (write.object.kind(), write.object.key());
        let find = |api: &Self| api.objects.get(kind, &key).ok_or_else(|| not_found(kind, &key));
        match write.verb {
            WriteVerb::Create => {
                let mut object = write.object.clone();
                if object.metadata().name.ends_with('-') {
                    // Nobody generates names here.
                    object.metadata_mut().name = Str::from("");
                }
                let key = object.key();
                self.create(object, now);
                self.objects.get(kind, &key).ok_or_else(|| not_found(kind, &key))
            }
            WriteVerb::Delete => {
                let old = find(self)?;
                self.remove(kind, &key);
                Ok(old)
            }
            WriteVerb::Update | WriteVerb::UpdateStatus => {
                find(self)?;
                self.write(write.object.clone());
                find(self)
            }
            WriteVerb::PatchStatus => {
                self.write(patched(find(self)?, &write.object));
                find(self)
            }
        }
    }

    /// A pod, to change.
    pub fn pod(&self, key: &NamespacedName) -> Result<Pod, ApiError> {
        self.objects.pods.get(key).map(|pod| Pod::clone(pod)).ok_or_else(|| not_found(Kind::Pod, key))
    }

    fn write(&mut self, mut object: Object) {
        self.version += 1;
        object.metadata_mut().resource_version = self.version.to_string();
        self.events.push(match self.objects.insert(object.clone()) {
            None => WatchEvent::Added(object),
            Some(old) => WatchEvent::Modified { old, new: object },
        });
    }

    fn remove(&mut self, kind: Kind, key: &NamespacedName) -> bool {
        let Some(object) = self.objects.remove(kind, key) else { return false };
        self.version += 1;
        self.events.push(WatchEvent::Deleted(object));
        true
    }
}

/// The fields of a condition that change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ConditionPatch {
    pub type_: String,
    pub status: Option<String>,
    pub reason: Option<String>,
    pub message: Option<String>,
    pub observed_generation: Option<i64>,
}

impl ConditionPatch {
    /// What is different in `new` from the condition of that type in `base`.
    pub fn between(base: &Pod, new: &PodCondition) -> Self {
        let none = PodCondition::default();
        let old = base.condition(&new.type_).unwrap_or(&none);
        let changed = |old: &String, new: &String| (old != new).then(|| new.clone());
        Self {
            type_: new.type_.clone(),
            status: changed(&old.status, &new.status),
            reason: changed(&old.reason, &new.reason),
            message: changed(&old.message, &new.message),
            observed_generation: (old.observed_generation != new.observed_generation)
                .then_some(new.observed_generation),
        }
    }

    fn apply(&self, pod: &mut Pod) {
        let conditions = &mut pod.status.conditions;
        let known = conditions.iter().position(|condition| condition.type_ == self.type_);
        let index = known.unwrap_or_else(|| {
            conditions.push(PodCondition { type_: self.type_.clone(), ..PodCondition::default() });
            conditions.len() - 1
        });
        let Some(condition) = conditions.get_mut(index) else { return };
        let set = |field: &mut String, new: &Option<String>| {
            if let Some(new) = new {
                field.clone_from(new);
            }
        };
        set(&mut condition.status, &self.status);
        set(&mut condition.reason, &self.reason);
        set(&mut condition.message, &self.message);
        if let Some(generation) = self.observed_generation {
            condition.observed_generation = generation;
        }
    }
}

/// A time cut to milliseconds.
pub(super) fn cut_to_millis(time: Time) -> Time {
    Time::from_nanos(time.as_nanos() - time.as_nanos() % 1_000_000)
}

/// JSON has times in whole seconds.
fn cut_times(pod: &mut Pod) {
    let times = [
        &mut pod.metadata.creation_timestamp,
        &mut pod.metadata.deletion_timestamp,
        &mut pod.status.start_time,
    ];
    for time in times.into_iter().flatten() {
        *time = time.truncate_to_second();
    }
}

/// The object with the status of a claim, or with what the status of a pod says about its devices.
fn patched(mut object: Object, new: &Object) -> Object {
    match (&mut object, new) {
        (Object::Pod(pod), Object::Pod(new)) => {
            let pod = Arc::make_mut(pod);
            let (status, new) = (&mut pod.status, &new.status);
            status.extended_resource_claim_status.clone_from(&new.extended_resource_claim_status);
            status
                .node_allocatable_resource_claim_statuses
                .clone_from(&new.node_allocatable_resource_claim_statuses);
            cut_times(pod);
        }
        (Object::ResourceClaim(claim), Object::ResourceClaim(new)) => {
            let claim = Arc::make_mut(claim);
            claim.status = new.status.clone();
            if let Some(allocation) = &mut claim.status.allocation {
                let at = allocation.allocation_timestamp.map(Time::truncate_to_second);
                allocation.allocation_timestamp = at;
            }
        }
        (object, new) => *object = new.clone(),
    }
    object
}

/// The claims of a manifest that say something about their status, though there be nothing in it: `reservedFor: []`.
pub(super) fn claims_with_status(text: &str) -> BTreeSet<NamespacedName> {
    #[derive(Deserialize)]
    struct Document {
        #[serde(default)]
        kind: String,
        #[serde(default)]
        metadata: ObjectMeta,
        #[serde(default)]
        status: Option<BTreeMap<String, IgnoredAny>>,
    }
    let documents: Vec<Document> = serde_saphyr::from_multiple(text).unwrap_or_default();
    let claims = documents.into_iter().filter(|document| document.kind == Kind::ResourceClaim.as_str());
    let with_status = claims.filter(|claim| claim.status.as_ref().is_some_and(|status| !status.is_empty()));
    with_status
        .map(|claim| {
            let mut key = claim.metadata.key();
            if key.namespace.is_empty() {
                key.namespace = Str::from("default");
            }
            key
        })
        .collect()
}

/// The new object with what a manifest cannot change: a pod's node and deletion, and what its status leaves out; the
/// status of a claim, if it leaves out all of that.
fn keep_owned(old: &Object, mut new: Object, has_status: bool) -> Object {
    if let (Object::ResourceClaim(old), Object::ResourceClaim(new)) = (old, &mut new)
        && !has_status
    {
        Arc::make_mut(new).status = old.status.clone();
    }
    let (Object::Pod(old), Object::Pod(new)) = (old, &new) else { return new };
    let mut pod = Pod::clone(new);
    if pod.spec.node_name.is_empty() {
        pod.spec.node_name = old.spec.node_name.clone();
    }
    pod.metadata.deletion_timestamp = pod.metadata.deletion_timestamp.or(old.metadata.deletion_timestamp);
    keep_status(&mut pod.status, &old.status);
    pod.into()
}
