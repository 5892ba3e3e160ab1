//! The API of the sandbox: objects in memory, written as an API server writes them.
//!
//! Every write gets a new resourceVersion and is told as a watch event. Answers and refusals are those of
//! kube-apiserver v1.36 (`pkg/registry/core/pod`), to the letter where a scheduler passes them on. Pods that have
//! ended are not kept: the watch of a scheduler selects those that have not. There is no kubelet, but a pod that is
//! deleted with a grace period goes when that is over. Nothing here reads a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::api::manifest::{LoadReport, Loaded, ManifestErrors, Segment, Source};
use crate::api::objects::{Condition, Pod, PodCondition, PodGroup, PodStatus};
use crate::api::{Duration, Kind, NamespacedName, Object, ObjectStore, Str, Time, Uid};

use super::admission::{DEFAULT_GRACE_PERIOD, PriorityClasses, admit};
use super::documents::Documents;
use super::world::default_tolerations;
use super::writes::keep_bindings;

/// A change, as a watch tells it.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchEvent {
    /// A new object.
    Added(Object),
    /// An object that has changed.
    Modified {
        /// As it was.
        old: Object,
        /// As it is.
        new: Object,
    },
    /// An object that is gone, as it was last.
    Deleted(Object),
}

impl WatchEvent {
    /// The object as it is now, or was last.
    pub const fn object(&self) -> &Object {
        match self {
            Self::Added(object) | Self::Modified { new: object, .. } | Self::Deleted(object) => object,
        }
    }
}

/// Why a write is refused. The texts are those of the API server.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApiError {
    /// There is no such object.
    #[error("{resource} {name:?} not found")]
    NotFound {
        /// The resource with its group, such as `pods`.
        resource: String,
        /// The object's name.
        name: Str,
    },
    /// The object is not as the writer believes.
    #[error("Operation cannot be fulfilled on {resource} {name:?}: {reason}")]
    Conflict {
        /// The resource, such as `pods/binding`.
        resource: String,
        /// The object's name.
        name: Str,
        /// In what way it differs.
        reason: String,
    },
    /// There is such an object already.
    #[error("{resource} {name:?} already exists")]
    AlreadyExists {
        /// The resource with its group.
        resource: String,
        /// The object's name.
        name: Str,
    },
    /// A field has a value that it cannot have.
    #[error("{kind} {name:?} is invalid: {field}: {reason}")]
    Invalid {
        /// The object's kind.
        kind: &'static str,
        /// The object's name.
        name: Str,
        /// The field's path.
        field: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// An object that a sandbox cannot be built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionError {
    /// Its position among those that were given.
    pub index: usize,
    /// Its kind.
    pub kind: Kind,
    /// Its namespace and name.
    pub key: NamespacedName,
    /// What is wrong with it.
    pub error: ApiError,
}

/// All objects that a sandbox cannot be built with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionErrors {
    /// The errors, in the order in which the objects were given.
    pub errors: Vec<AdmissionError>,
}

impl std::error::Error for AdmissionErrors {}

impl fmt::Display for AdmissionErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, AdmissionError { error, .. }) in self.errors.iter().take(20).enumerate() {
            write!(f, "{}{error}", if position > 0 { "\n" } else { "" })?;
        }
        if self.errors.len() > 20 {
            write!(f, "\nand {} more errors", self.errors.len() - 20)?;
        }
        Ok(())
    }
}

/// What an `apply` did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The object is new.
    Created,
    /// The object has changed.
    Configured,
    /// The object was like that.
    Unchanged,
    /// The object is a pod that has ended: it is not kept.
    Ended,
}

impl Applied {
    /// The word that kubectl prints.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Ended => "ended",
        }
    }
}

/// The API of a simulated cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SandboxApi {
    objects: ObjectStore,
    events: Vec<WatchEvent>,
    version: u64,
    /// How many objects of a name there have been, for names whose object is gone.
    gone: BTreeMap<(Kind, NamespacedName), u32>,
    /// The pods that are being deleted, by the time at which they go.
    terminating: BTreeSet<(Time, NamespacedName)>,
    /// Whether controllers run, who take finalizers away in time.
    has_controllers: bool,
    /// Whole objects, as far as any came in whole.
    pub(super) documents: Documents,
    /// Whether kubelets run, who end pods themselves.
    has_kubelets: bool,
    /// Whether somebody looks after pods of lost nodes: new ones get the tolerations that clusters give them.
    gives_tolerations: bool,
    /// Whether clients see it, so that whole objects are kept.
    is_served: bool,
    /// The namespaces that go when they are empty.
    pub(super) ending_namespaces: BTreeSet<Str>,
}

impl SandboxApi {
    /// A cluster with these objects. They are admitted and stored; watch events are not made of them, since a watch
    /// begins with a list.
    ///
    /// # Errors
    /// All objects that are refused.
    pub fn new(objects: Vec<Object>, now: Time) -> Result<Self, AdmissionErrors> {
        let mut api = Self::default();
        let mut errors = Vec::new();
        // Classes first: pods refer to them, wherever they stand.
        let (classes, others): (Vec<_>, Vec<_>) =
            objects.into_iter().enumerate().partition(|(_, object)| object.kind() == Kind::PriorityClass);
        for (index, object) in classes.into_iter().chain(others) {
            let (kind, key) = (object.kind(), object.key());
            if let Err(error) = api.create(object, now) {
                errors.push(AdmissionError { index, kind, key, error });
            }
        }
        api.events.clear();
        errors.sort_by_key(|error| error.index);
        if errors.is_empty() { Ok(api) } else { Err(AdmissionErrors { errors }) }
    }

    /// A cluster that goes on from these objects as they are. Pods that are being deleted go at their time.
    pub(super) fn resumed(objects: ObjectStore, now: Time) -> Self {
        let version_of = |object: &Object| object.metadata().resource_version.parse().unwrap_or(0);
        let version = objects.iter().map(|object| version_of(&object)).max().unwrap_or(0);
        let due = |pod: &Arc<Pod>| Some((pod.metadata.deletion_timestamp?.max(now), pod.key()));
        let terminating = objects.pods.values().filter_map(due).collect();
        Self { objects, version, terminating, ..Self::default() }
    }

    /// A cluster with the objects of manifests, and what was read.
    ///
    /// # Errors
    /// All objects that are refused, with their places in the sources.
    pub fn from_manifests(
        loaded: Loaded,
        sources: &[Source],
        now: Time,
    ) -> Result<(Self, LoadReport), ManifestErrors> {
        let Loaded { objects, origins, report, .. } = loaded;
        let placed = |AdmissionError { index, kind, key, error }: AdmissionError| {
            let (path, reason) = match &error {
                ApiError::Invalid { field, reason, .. } => (field.as_str(), reason.clone()),
                _ => ("", error.to_string()),
            };
            Some(origins.get(index)?.error(sources, kind, &key, &Segment::path(path), reason))
        };
        match Self::new(objects, now) {
            Ok(api) => Ok((api, report)),
            Err(refused) => Err(refused.errors.into_iter().filter_map(placed).collect()),
        }
    }

    /// The objects as they are.
    pub const fn objects(&self) -> &ObjectStore {
        &self.objects
    }

    /// Whether controllers run, so that finalizers count.
    pub const fn has_controllers(&self) -> bool {
        self.has_controllers
    }

    /// Controllers run from now on.
    pub(super) const fn set_has_controllers(&mut self) {
        self.has_controllers = true;
    }

    /// Whether clients see it, so that whole objects are kept.
    pub(super) const fn is_served(&self) -> bool {
        self.is_served
    }

    /// Whether kubelets run, who end pods themselves.
    pub(super) const fn has_kubelets(&self) -> bool {
        self.has_kubelets
    }

    /// Whether pods of nodes that are gone are collected in their time.
    pub(super) const fn collects_pods(&self) -> bool {
        self.gives_tolerations
    }

    /// Clients see it from now on.
    pub(super) const fn set_served(&mut self) {
        self.is_served = true;
    }

    /// Whether kubelets run from now on, and whether pods are evicted from nodes that are lost.
    pub(super) const fn set_lives(&mut self, has_kubelets: bool, evicts: bool) {
        self.has_kubelets = has_kubelets;
        self.gives_tolerations = evicts;
    }

    /// The cluster will live: the pods that are there get the tolerations that it gives to new ones. Nothing is told of
    /// it, since nobody watches yet.
    pub fn begin_to_live(&mut self) {
        self.gives_tolerations = true;
        for pod in self.objects.pods.values_mut() {
            default_tolerations(Arc::make_mut(pod));
        }
    }

    /// Whether something has changed since [`Self::take_events`] was last called.
    pub(super) const fn has_events(&self) -> bool {
        !self.events.is_empty() || self.documents.has_changes()
    }

    /// The changes since this was last asked, in their order.
    pub fn take_events(&mut self) -> Vec<WatchEvent> {
        std::mem::take(&mut self.events)
    }

    /// Adds an object.
    ///
    /// # Errors
    /// `AlreadyExists`, or what admission says.
    pub fn create(&mut self, object: Object, now: Time) -> Result<Applied, ApiError> {
        let (kind, key) = (object.kind(), object.key());
        if self.objects.get(kind, &key).is_some() {
            return Err(ApiError::AlreadyExists { resource: resource(kind), name: key.name });
        }
        let mut object = admit(object, &PriorityClasses::new(&self.objects.priority_classes), now)?;
        if has_ended(&object) {
            return Ok(Applied::Ended);
        }
        if let Object::Pod(pod) = &mut object
            && self.gives_tolerations
        {
            default_tolerations(Arc::make_mut(pod));
        }
        if kind == Kind::Pod {
            // One that has ended makes room.
            self.drop_ended_of_name(&key);
        }
        let uid = self.next_uid(kind, &key);
        let metadata = object.metadata_mut();
        if metadata.uid.is_empty() {
            metadata.uid = uid;
        }
        metadata.creation_timestamp.get_or_insert(now.truncate_to_second());
        if let Object::Pod(pod) = &object
            && let Some(asked) = pod.metadata.deletion_timestamp
        {
            // The clock of a dump is another one: beyond the grace period its time means nothing here.
            let latest = now + grace_period(pod);
            let due = if asked > now && asked < latest { asked } else { latest };
            self.terminating.insert((due, key));
        }
        self.write(object);
        Ok(Applied::Created)
    }

    /// Adds an object or replaces it. A replaced one keeps its uid and age, and a pod its node, its deletion and
    /// what the new status leaves out.
    ///
    /// # Errors
    /// What admission says.
    pub fn apply(&mut self, object: Object, now: Time) -> Result<Applied, ApiError> {
        let Some(old) = self.objects.get(object.kind(), &object.key()) else {
            return self.create(object, now);
        };
        let mut new =
            admit(keep_owned(&old, object), &PriorityClasses::new(&self.objects.priority_classes), now)?;
        if let Object::Pod(pod) = &new
            && pod.is_terminal()
        {
            self.end_pod(Pod::clone(pod), None);
            return Ok(Applied::Ended);
        }
        if let Object::Pod(pod) = &mut new
            && self.gives_tolerations
        {
            default_tolerations(Arc::make_mut(pod));
        }
        let metadata = new.metadata_mut();
        metadata.uid = old.metadata().uid.clone();
        metadata.creation_timestamp = old.metadata().creation_timestamp;
        metadata.resource_version.clone_from(&old.metadata().resource_version);
        if new == old {
            return Ok(Applied::Unchanged);
        }
        self.write(new);
        Ok(Applied::Configured)
    }

    /// Takes an object away: a pod in its own time ([`Self::delete_pod`]), everything else when its finalizers are
    /// gone ([`Self::delete_object`]).
    ///
    /// # Errors
    /// `NotFound`.
    pub fn delete(&mut self, kind: Kind, key: &NamespacedName, now: Time) -> Result<(), ApiError> {
        match kind {
            Kind::Pod => self.delete_pod(key, now),
            _ => self.delete_object(kind, key, now),
        }
    }

    /// Deletes a pod as a person does. With a node it is terminating until its grace period is over, without one it
    /// is gone at once; a second deletion changes nothing.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn delete_pod(&mut self, key: &NamespacedName, now: Time) -> Result<(), ApiError> {
        let pod = self.pod(key)?;
        if pod.is_terminating() {
            return Ok(());
        }
        let grace = grace_period(&pod);
        self.delete_pod_within(key, grace, now)
    }

    /// Deletes a pod that may take so long to end. A shorter time shortens a deletion that has begun.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn delete_pod_within(
        &mut self,
        key: &NamespacedName,
        grace: Duration,
        now: Time,
    ) -> Result<(), ApiError> {
        let pod = self.pod(key)?;
        if pod.metadata.deletion_timestamp.is_some_and(|due| due <= now + grace) {
            return Ok(());
        }
        if grace.is_zero() || !pod.is_assigned() {
            self.remove(Kind::Pod, key);
            return Ok(());
        }
        let due = now + grace;
        if pod.is_terminating() {
            self.terminating.retain(|(_, pod)| pod != key);
        }
        self.terminating.insert((due, key.clone()));
        let mut pod = Arc::unwrap_or_clone(pod);
        pod.metadata.deletion_timestamp = Some(due);
        self.write(pod.into());
        Ok(())
    }

    /// Deletes that very pod to make room, as DefaultPreemption does.
    ///
    /// # Errors
    /// `NotFound`, or `Conflict` if another pod has that name now.
    pub fn evict_pod(&mut self, key: &NamespacedName, uid: &Uid, now: Time) -> Result<(), ApiError> {
        let found = self.pod(key)?.metadata.uid.clone();
        if found != *uid {
            return Err(ApiError::Conflict {
                resource: "Pod".to_owned(),
                name: key.name.clone(),
                reason: format!(
                    "the UID in the precondition ({uid}) does not match the UID in record ({found}). The object \
                     might have been deleted and then recreated"
                ),
            });
        }
        self.delete_pod(key, now)
    }

    /// Binds a pod to a node. Whether there is such a node is not asked.
    ///
    /// # Errors
    /// `NotFound`, or `Conflict` if the pod is another one, is bound, gated or terminating.
    pub fn bind(&mut self, key: &NamespacedName, uid: &Uid, node: &Str, now: Time) -> Result<(), ApiError> {
        let pod = self.pod_with_uid(key, uid)?;
        let name = &key.name;
        let refusal = if pod.is_terminating() {
            Some(format!("pod {name} is being deleted, cannot be assigned to a host"))
        } else if pod.is_assigned() {
            Some(format!("pod {name} is already assigned to node {:?}", pod.spec.node_name))
        } else if !pod.spec.scheduling_gates.is_empty() {
            Some(format!("pod {name} has non-empty .spec.schedulingGates"))
        } else {
            None
        };
        if let Some(reason) = refusal {
            return Err(ApiError::Conflict {
                resource: "pods/binding".to_owned(),
                name: name.clone(),
                reason,
            });
        }
        let mut pod = Arc::unwrap_or_clone(pod);
        pod.spec.node_name = node.clone();
        pod.status.nominated_node_name = Str::from("");
        // A kubelet would do so in a moment; preemption asks who has run for longer.
        pod.status.start_time.get_or_insert(now);
        let scheduled = PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "True".to_owned(),
            ..PodCondition::default()
        };
        set_condition(&mut pod.status, scheduled, now);
        self.write(pod.into());
        Ok(())
    }

    /// Changes a pod's status as the scheduler does: a condition, the nominated node (empty clears it), or both.
    ///
    /// # Errors
    /// `NotFound`, or `Conflict` if another pod has that name now.
    pub fn patch_pod_status(
        &mut self,
        key: &NamespacedName,
        uid: &Uid,
        condition: Option<PodCondition>,
        nominated_node_name: Option<Str>,
        now: Time,
    ) -> Result<(), ApiError> {
        let old = self.pod_with_uid(key, uid)?;
        let mut pod = Pod::clone(&old);
        if let Some(condition) = condition {
            set_condition(&mut pod.status, condition, now);
        }
        if let Some(node) = nominated_node_name {
            pod.status.nominated_node_name = node;
        }
        if pod != *old {
            self.write(pod.into());
        }
        Ok(())
    }

    /// Changes a pod group's status as the scheduler does.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn patch_pod_group_status(
        &mut self,
        key: &NamespacedName,
        mut condition: Condition,
        now: Time,
    ) -> Result<(), ApiError> {
        let old = self.objects.pod_groups.get(key).ok_or_else(|| not_found(Kind::PodGroup, key))?;
        let mut group = PodGroup::clone(old);
        let conditions = &mut group.status.conditions;
        match conditions.iter_mut().find(|known| known.type_ == condition.type_) {
            Some(known) => {
                let has_changed = known.status != condition.status;
                condition.last_transition_time =
                    if has_changed { Some(now) } else { known.last_transition_time };
                *known = condition;
            }
            None => {
                condition.last_transition_time = Some(now);
                conditions.push(condition);
            }
        }
        self.write(group.into());
        Ok(())
    }

    /// When the next terminating pod goes.
    pub fn next_timeout(&self) -> Option<Time> {
        self.terminating.first().filter(|_| !self.has_kubelets).map(|(due, _)| *due)
    }

    /// Takes the pods away whose grace period is over.
    pub fn advance(&mut self, now: Time) {
        self.end_namespaces();
        if self.has_kubelets {
            return;
        }
        while let Some((due, key)) = self.terminating.first().cloned() {
            if due > now {
                break;
            }
            self.terminating.pop_first();
            self.remove(Kind::Pod, &key);
        }
        self.end_namespaces();
    }

    pub(super) fn pod(&self, key: &NamespacedName) -> Result<Arc<Pod>, ApiError> {
        self.objects.pods.get(key).cloned().ok_or_else(|| not_found(Kind::Pod, key))
    }

    fn pod_with_uid(&self, key: &NamespacedName, uid: &Uid) -> Result<Arc<Pod>, ApiError> {
        let pod = self.pod(key)?;
        if pod.metadata.uid == *uid {
            return Ok(pod);
        }
        Err(ApiError::Conflict {
            resource: "pods".to_owned(),
            name: key.name.clone(),
            reason: format!(
                "StorageError: invalid object, Code: 4, Key: /registry/pods/{key}, ResourceVersion: 0, \
                 AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                pod.metadata.uid
            ),
        })
    }

    /// The version that the next write gets.
    pub(super) const fn next_version(&self) -> u64 {
        self.version + 1
    }

    /// Takes the version for a write.
    pub(super) const fn take_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Stores an object under a new version and tells of it.
    pub(super) fn write(&mut self, mut object: Object) {
        self.version += 1;
        object.metadata_mut().resource_version = self.version.to_string();
        let event = match self.objects.insert(object.clone()) {
            None => WatchEvent::Added(object),
            Some(old) => WatchEvent::Modified { old, new: object },
        };
        self.events.push(event);
    }

    /// Takes an object away at once, as when somebody else has seen to its end. False if it is not there.
    pub fn take_away(&mut self, kind: Kind, key: &NamespacedName) -> bool {
        self.remove(kind, key)
    }

    /// Takes an object away and tells of it. False if it is not there.
    pub(super) fn remove(&mut self, kind: Kind, key: &NamespacedName) -> bool {
        let Some(object) = self.objects.remove(kind, key) else { return false };
        self.documents.forget(kind, key);
        if kind == Kind::Pod && object.metadata().deletion_timestamp.is_some() {
            self.terminating.retain(|(_, pod)| pod != key);
        }
        self.version += 1;
        *self.gone.entry((kind, key.clone())).or_default() += 1;
        self.events.push(WatchEvent::Deleted(object));
        true
    }

    /// `pod/shop/web`, and `pod/shop/web#2` for the second of that name.
    fn next_uid(&self, kind: Kind, key: &NamespacedName) -> Uid {
        let name = format!("{}/{}/{}", kind.as_str().to_lowercase(), key.namespace, key.name);
        match self.gone.get(&(kind, key.clone())) {
            None => Uid::from(name),
            Some(gone) => Uid::from(format!("{name}#{}", gone + 1)),
        }
    }
}

fn has_ended(object: &Object) -> bool {
    matches!(object, Object::Pod(pod) if pod.is_terminal())
}

/// The resource with its group, as the server's answers name it.
pub(super) fn resource(kind: Kind) -> String {
    match kind.api_version().rsplit_once('/') {
        Some((group, _)) => format!("{}.{group}", kind.resource()),
        None => kind.resource().to_owned(),
    }
}

pub(in crate::driver) fn not_found(kind: Kind, key: &NamespacedName) -> ApiError {
    ApiError::NotFound { resource: resource(kind), name: key.name.clone() }
}

/// How long a pod may take to end (`CheckGracefulDelete`).
pub(super) fn grace_period(pod: &Pod) -> Duration {
    if !pod.is_assigned() {
        return Duration::ZERO;
    }
    let seconds = pod.spec.termination_grace_period_seconds.unwrap_or(DEFAULT_GRACE_PERIOD);
    Duration::from_secs(u64::try_from(seconds).unwrap_or(1))
}

/// `UpdatePodCondition`: the time of the last transition stays where the status does.
pub(super) fn set_condition(status: &mut PodStatus, mut condition: PodCondition, now: Time) {
    let known = status.conditions.iter_mut().find(|known| known.type_ == condition.type_);
    match known {
        Some(known) => {
            condition.last_transition_time =
                if known.status == condition.status { known.last_transition_time } else { Some(now) };
            *known = condition;
        }
        None => {
            condition.last_transition_time = Some(now);
            status.conditions.push(condition);
        }
    }
}

/// What a manifest's status of a pod leaves out stays as it was.
pub fn keep_status(status: &mut PodStatus, kept: &PodStatus) {
    if status.phase.is_empty() {
        status.phase.clone_from(&kept.phase);
    }
    if status.conditions.is_empty() {
        status.conditions.clone_from(&kept.conditions);
    }
    if status.nominated_node_name.is_empty() {
        status.nominated_node_name = kept.nominated_node_name.clone();
    }
    status.start_time = status.start_time.or(kept.start_time);
    if status.container_statuses.is_empty() {
        status.container_statuses.clone_from(&kept.container_statuses);
    }
    if status.init_container_statuses.is_empty() {
        status.init_container_statuses.clone_from(&kept.init_container_statuses);
    }
    if status.allocated_resources.is_empty() {
        status.allocated_resources.clone_from(&kept.allocated_resources);
    }
    if status.resources.is_none() {
        status.resources.clone_from(&kept.resources);
    }
    if status.resource_claim_statuses.is_empty() {
        status.resource_claim_statuses.clone_from(&kept.resource_claim_statuses);
    }
    if status.extended_resource_claim_status.is_none() {
        status.extended_resource_claim_status.clone_from(&kept.extended_resource_claim_status);
    }
    if status.node_allocatable_resource_claim_statuses.is_empty() {
        let statuses = &kept.node_allocatable_resource_claim_statuses;
        status.node_allocatable_resource_claim_statuses.clone_from(statuses);
    }
}

/// The new object with what a manifest cannot change about the old one.
fn keep_owned(old: &Object, new: Object) -> Object {
    let (Object::Pod(old), Object::Pod(new)) = (old, &new) else { return keep_bindings(old, new) };
    let mut pod = Pod::clone(new);
    if pod.spec.node_name.is_empty() {
        pod.spec.node_name = old.spec.node_name.clone();
    }
    if pod.spec.priority.is_none() && pod.spec.priority_class_name == old.spec.priority_class_name {
        pod.spec.priority = old.spec.priority;
    }
    pod.metadata.deletion_timestamp = old.metadata.deletion_timestamp;
    keep_status(&mut pod.status, &old.status);
    pod.into()
}

#[cfg(test)]
mod tests;
