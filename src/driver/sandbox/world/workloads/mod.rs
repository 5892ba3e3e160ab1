//! The controllers of workloads, one file per kind, and what they share.
//!
//! - [`deployments`], [`replica_sets`], [`stateful_sets`], [`daemon_sets`], [`jobs`], [`cron_jobs`]
//! - [`cron`] reads schedules
//! - [`templates`] makes pods from templates, and the names that they get
//!
//! A controller looks at one workload and brings the cluster one step nearer to what is wanted; what changes calls for
//! the next look. Pods that are there already are taken over with the revision that their labels name.

pub(super) mod cron;
pub(super) mod cron_jobs;
pub(super) mod daemon_sets;
pub(super) mod deployments;
pub(super) mod jobs;
pub(super) mod replica_sets;
pub(super) mod stateful_sets;
pub(super) mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::kubelets::{Ended, Kubelets};
use super::pods::{counts_as_ready, is_active};
use super::{Item, Wx};
use crate::api::objects::{OwnerReference, Pod, ReplicaSet, SelectingSpec, StatefulSet};
use crate::api::workloads::{ReplicaSetSpec, Workload, WorkloadKind, WorkloadSpec};
use crate::api::{Kind, NamespacedName, Object, Str, Time, Uid};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::controllers::Said;
use crate::driver::sandbox::documents::is_owned_by;
use crate::driver::sandbox::resources::ResourceId;
use jobs::JobState;

/// On pods of a Deployment and its replica sets.
const TEMPLATE_HASH: &str = "pod-template-hash";
/// On pods of a StatefulSet or a DaemonSet.
const REVISION_HASH: &str = "controller-revision-hash";
/// How often a Deployment has been rolled out, on it and on its replica sets.
const REVISION: &str = "deployment.kubernetes.io/revision";

/// Which workload.
pub(super) type Key = (WorkloadKind, NamespacedName);

/// A workload that is looked after.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Managed {
    pub workload: Arc<Workload>,
    /// What the labels of pods of its present template say.
    pub revision: Str,
    /// Of a replica set how many pods its Deployment wanted when it was scaled last; of a daemon set on how many nodes
    /// it belongs.
    pub desired: Option<i32>,
    pub job: JobState,
    /// When a CronJob has made a job last.
    pub last_schedule: Option<Time>,
}

impl Managed {
    pub(super) fn uid(&self) -> &Uid {
        &self.workload.metadata.uid
    }

    pub(super) fn kind(&self) -> WorkloadKind {
        self.workload.kind()
    }

    fn created(&self) -> Time {
        self.workload.metadata.creation_timestamp.unwrap_or(Time::ZERO)
    }

    fn replicas(&self) -> i32 {
        self.workload.replicas().unwrap_or(0)
    }
}

/// All workloads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Workloads {
    items: BTreeMap<Key, Arc<Managed>>,
    by_uid: BTreeMap<Uid, Key>,
    /// The pods that name a controller, by its uid.
    pods: BTreeMap<Uid, BTreeSet<NamespacedName>>,
    /// How many of a name there have been, for names whose workload is gone.
    gone: BTreeMap<Key, u32>,
    /// Those that may have come to something else since they were told of last, where anybody is told.
    touched: BTreeSet<Key>,
}

/// What a workload has come to, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadRow {
    /// Its kind.
    pub kind: WorkloadKind,
    /// Namespace and name.
    pub key: NamespacedName,
    /// The workload that it belongs to, if any.
    pub owner: Option<(String, Str)>,
    /// How many pods are wanted.
    pub desired: i32,
    /// How many pods there are that do not end.
    pub current: i32,
    /// How many of them are ready.
    pub ready: i32,
    /// How many of them have no node.
    pub pending: i32,
    /// What else there is to say, such as `rolling out: 2 of 4 updated`.
    pub note: String,
    /// Its pods, in the order of their names.
    pub pods: Vec<NamespacedName>,
}

/// A workload as it is, with what it has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkloadState {
    /// What is wanted.
    pub workload: Arc<Workload>,
    /// Its pods in numbers.
    pub row: WorkloadRow,
    /// How many of them are of the newest template.
    pub updated: i32,
    /// Of a job how many pods have succeeded, and how many have failed.
    pub ended: (i32, i32),
    /// When a job began.
    pub started: Option<Time>,
    /// When a job was over, whether well, and why.
    pub finished: Option<(Time, bool, Str)>,
    /// When a CronJob has made a job last.
    pub last_schedule: Option<Time>,
}

/// Whether a workload that was read from a document wants what one of the world wants.
pub(in crate::driver::sandbox) fn is_written_as(own: &Workload, mut written: Workload) -> bool {
    templates::default_template(written.template_mut());
    written.spec == own.spec
}

impl Workloads {
    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Managed>> {
        self.items.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<Managed>)> {
        self.items.iter()
    }

    /// The workload that controls an object.
    pub(super) fn owner_of(&self, owner: &OwnerReference) -> Option<&Key> {
        self.by_uid.get(owner.uid.as_str())
    }

    fn edit(&mut self, key: &Key, change: impl FnOnce(&mut Managed)) {
        if let Some(item) = self.items.get_mut(key) {
            change(Arc::make_mut(item));
        }
    }

    /// The workloads of a kind that belong to another one.
    fn owned_by(&self, kind: WorkloadKind, owner: &Managed) -> Vec<Arc<Managed>> {
        let namespace = &owner.workload.metadata.namespace;
        let first = (kind, NamespacedName::new(namespace.clone(), ""));
        let in_namespace = self.items.range(first..);
        let in_namespace =
            in_namespace.take_while(|((of_kind, key), _)| *of_kind == kind && key.namespace == *namespace);
        let is_owned = |item: &&Arc<Managed>| {
            item.workload.metadata.controller().is_some_and(|own| *own.uid == **owner.uid())
        };
        in_namespace.map(|(_, item)| item).filter(is_owned).cloned().collect()
    }

    /// The pods that name that controller, in the order of their names.
    fn pods_of(&self, api: &SandboxApi, uid: &Uid) -> Vec<Arc<Pod>> {
        let keys = self.pods.get(uid).into_iter().flatten();
        keys.filter_map(|key| api.objects().pods.get(key))
            .filter(|pod| pod.metadata.controller().is_some_and(|owner| *owner.uid == **uid))
            .cloned()
            .collect()
    }

    fn active_pods_of(&self, api: &SandboxApi, uid: &Uid) -> Vec<Arc<Pod>> {
        let mut pods = self.pods_of(api, uid);
        pods.retain(|pod| is_active(pod));
        pods
    }

    /// Its pods, those of its replica sets and jobs included.
    fn all_pods_of(&self, api: &SandboxApi, item: &Managed) -> Vec<Arc<Pod>> {
        let mut pods = self.pods_of(api, item.uid());
        if matches!(item.kind(), WorkloadKind::Deployment | WorkloadKind::CronJob) {
            for kind in [WorkloadKind::ReplicaSet, WorkloadKind::Job] {
                for owned in self.owned_by(kind, item) {
                    pods.extend(self.pods_of(api, owned.uid()));
                }
            }
        }
        pods
    }

    /// How many pods are wanted.
    fn desired(&self, api: &SandboxApi, item: &Managed) -> i32 {
        match &item.workload.spec {
            // Counted when it was looked at last.
            WorkloadSpec::DaemonSet(_) => item.desired.unwrap_or_else(|| daemon_sets::desired(api, item)),
            WorkloadSpec::Job(spec) => jobs::desired(item, spec),
            WorkloadSpec::CronJob(_) => 0,
            _ => item.replicas(),
        }
    }

    /// How many pods the controller of a pod wants: of a replica set that a Deployment owns, what the Deployment wants.
    pub(super) fn scale_of(
        &self,
        api: &SandboxApi,
        namespace: &Str,
        owner: &OwnerReference,
    ) -> Option<(Uid, i32)> {
        if let Some(item) = self.owner_of(owner).and_then(|key| self.items.get(key)) {
            let above = item.workload.metadata.controller().and_then(|above| self.owner_of(above));
            let top = above
                .and_then(|key| self.items.get(key))
                .filter(|top| top.kind() == WorkloadKind::Deployment);
            let top = top.unwrap_or(item);
            // As upstream: daemon sets and jobs have no scale.
            return top
                .workload
                .replicas()
                .filter(|_| top.kind() != WorkloadKind::Job)
                .map(|scale| (top.uid().clone(), scale));
        }
        let key = NamespacedName::new(namespace.clone(), owner.name.as_str());
        let controller = api.objects().replication_controllers.get(&key);
        controller
            .filter(|known| *known.metadata.uid == *owner.uid)
            .map(|known| (known.metadata.uid.clone(), 1))
    }

    /// A pod was reported.
    pub(super) fn observe_pod(&mut self, pod: &Pod, is_gone: bool, due: &mut BTreeSet<Item>) {
        let Some(owner) = pod.metadata.controller() else { return };
        let (uid, key) = (Uid::from(owner.uid.as_str()), pod.key());
        if is_gone {
            if let Some(keys) = self.pods.get_mut(&uid) {
                keys.remove(&key);
                if keys.is_empty() {
                    self.pods.remove(&uid);
                }
            }
        } else {
            self.pods.entry(uid.clone()).or_default().insert(key);
        }
        let Some(own) = self.by_uid.get(&uid).cloned() else { return };
        if is_gone && own.0 == WorkloadKind::Job {
            self.edit(&own, |item| item.job.pod_is_gone(pod));
        }
        let above = self.items.get(&own).and_then(|item| item.workload.metadata.controller());
        let above = above.and_then(|above| self.owner_of(above)).cloned();
        due.extend(above.map(|(kind, key)| Item::Workload(kind, key)));
        due.insert(Item::Workload(own.0, own.1));
    }

    /// A node was reported: daemon sets look at it.
    pub(super) fn observe_node(&self, due: &mut BTreeSet<Item>) {
        let first = (WorkloadKind::DaemonSet, NamespacedName::new("", ""));
        let keys = self.items.range(first..).map(|((kind, key), _)| Item::Workload(*kind, key.clone()));
        due.extend(keys);
    }

    /// A pod has ended by itself.
    pub(super) fn ended(&mut self, wx: &mut Wx<'_>, ended: &Ended) {
        let owner = ended.pod.metadata.controller().and_then(|owner| self.owner_of(owner)).cloned();
        let Some(key) = owner else { return };
        if key.0 == WorkloadKind::Job {
            let now = wx.now;
            self.edit(&key, |item| item.job.pod_has_ended(ended, now));
        }
        wx.due.insert(Item::Workload(key.0, key.1));
    }

    /// Adds a workload or changes it. The sentence is what kubectl prints.
    pub(super) fn apply(&mut self, wx: &mut Wx<'_>, mut workload: Workload) -> &'static str {
        let key = (workload.kind(), workload.key());
        templates::default_template(workload.template_mut());
        let Some(old) = self.items.get(&key).cloned() else {
            self.add(wx, workload, None);
            return "created";
        };
        let metadata = &mut workload.metadata;
        metadata.uid = old.uid().clone();
        metadata.creation_timestamp = old.workload.metadata.creation_timestamp;
        metadata.generation = old.workload.metadata.generation;
        metadata.owner_references.clone_from(&old.workload.metadata.owner_references);
        for (name, value) in &old.workload.metadata.annotations {
            metadata.annotations.entry(name.clone()).or_insert_with(|| value.clone());
        }
        workload.status.clone_from(&old.workload.status);
        if workload == *old.workload {
            return "unchanged";
        }
        self.change(wx, &key, workload);
        "configured"
    }

    /// Stores what a workload is now. A changed template is a new revision.
    fn change(&mut self, wx: &mut Wx<'_>, key: &Key, mut workload: Workload) {
        let Some(old) = self.items.get(key) else { return };
        workload.metadata.generation += 1;
        let has_new_template = old.workload.template() != workload.template();
        let revision = has_new_template.then(|| templates::revision(&workload));
        self.edit(key, |item| {
            item.workload = Arc::new(workload);
            if let Some(revision) = revision {
                item.revision = revision;
            }
        });
        wx.due.insert(Item::Workload(key.0, key.1.clone()));
    }

    /// Adds a workload that is not there.
    fn add(&mut self, wx: &mut Wx<'_>, mut workload: Workload, revision: Option<Str>) {
        let key = (workload.kind(), workload.key());
        let now = wx.now;
        let created = workload.metadata.creation_timestamp.filter(|created| *created <= now);
        workload.metadata.creation_timestamp = Some(created.unwrap_or_else(|| now.truncate_to_second()));
        workload.metadata.generation = workload.metadata.generation.max(1);
        if workload.metadata.uid.is_empty() {
            workload.metadata.uid = self.next_uid(&key);
        }
        self.mirror(wx, &mut workload);
        let uid = workload.metadata.uid.clone();
        let revision = revision.unwrap_or_else(|| templates::revision(&workload));
        let job = JobState::of(&workload, now);
        let last_schedule = workload.status.last_schedule_time.map(|at| at.min(now));
        let managed = Managed { workload: Arc::new(workload), revision, desired: None, job, last_schedule };
        self.by_uid.insert(uid, key.clone());
        self.items.insert(key.clone(), Arc::new(managed));
        self.adopt_orphans(wx, &key);
        self.take_over_revision(wx, &key);
        wx.due.insert(Item::Workload(key.0, key.1));
    }

    /// The slim object that the scheduler reads of a replica set or a stateful set, and its uid.
    fn mirror(&self, wx: &mut Wx<'_>, workload: &mut Workload) {
        let spec = SelectingSpec { selector: workload.label_selector().cloned() };
        let metadata = workload.metadata.clone();
        let object: Object = match workload.kind() {
            WorkloadKind::ReplicaSet => ReplicaSet { metadata, spec }.into(),
            WorkloadKind::StatefulSet => StatefulSet { metadata, spec }.into(),
            _ => return,
        };
        if let Some(known) = wx.api.objects().get(object.kind(), &object.key()) {
            workload.metadata.uid = known.metadata().uid.clone();
            return;
        }
        // It is not there, and nothing is asked of it that could be refused.
        let _ = wx.api.create(object, wx.now);
    }

    fn next_uid(&self, key: &Key) -> Uid {
        let name = format!("{}/{}/{}", key.0.as_str().to_lowercase(), key.1.namespace, key.1.name);
        match self.gone.get(key) {
            None => Uid::from(name),
            Some(gone) => Uid::from(format!("{name}#{}", gone + 1)),
        }
    }

    /// Takes pods that its selector matches and that nobody controls (`ControllerRefManager`).
    fn adopt_orphans(&mut self, wx: &mut Wx<'_>, key: &Key) {
        let Some(item) = self.items.get(key).cloned() else { return };
        let is_direct =
            matches!(key.0, WorkloadKind::ReplicaSet | WorkloadKind::StatefulSet | WorkloadKind::DaemonSet);
        if !is_direct {
            return;
        }
        let selector = item.workload.selector();
        let orphans: Vec<Arc<Pod>> = in_namespace(wx, &key.1.namespace)
            .filter(|pod| pod.metadata.controller().is_none() && is_active(pod))
            .filter(|pod| selector.matches(&pod.metadata.labels))
            .filter(|pod| {
                key.0 != WorkloadKind::StatefulSet
                    || stateful_sets::ordinal(&key.1.name, &pod.metadata.name).is_some()
            })
            .cloned()
            .collect();
        for pod in orphans {
            let mut own = Pod::clone(&pod);
            own.metadata.owner_references.push(templates::owner_reference(&item.workload));
            self.pods.entry(item.uid().clone()).or_default().insert(pod.key());
            wx.update(&pod, own);
        }
    }

    /// The pods that are there are of the revision that their labels name: nothing is rolled out for having been read.
    fn take_over_revision(&mut self, wx: &Wx<'_>, key: &Key) {
        let Some(item) = self.items.get(key).cloned() else { return };
        if !matches!(key.0, WorkloadKind::StatefulSet | WorkloadKind::DaemonSet) {
            return;
        }
        let mut counts: BTreeMap<Option<Str>, usize> = BTreeMap::new();
        for pod in self.active_pods_of(wx.api, item.uid()) {
            *counts.entry(pod.metadata.labels.get(REVISION_HASH).cloned()).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        if let Some((label, _)) = most {
            // Without labels all of them count as being of the present revision: an empty text matches none.
            self.edit(key, |item| item.revision = label.unwrap_or_else(|| Str::from("")));
        }
    }

    /// Takes over what a cluster has: workloads as they were read, their replica sets and pods.
    pub(super) fn take_over(&mut self, wx: &mut Wx<'_>, workloads: Vec<Workload>) {
        let pods: Vec<Arc<Pod>> = wx.api.objects().pods.values().cloned().collect();
        let mut unused = BTreeSet::new();
        for pod in &pods {
            self.observe_pod(pod, false, &mut unused);
        }
        let (deployments, others): (Vec<_>, Vec<_>) =
            workloads.into_iter().partition(|workload| workload.kind() == WorkloadKind::Deployment);
        for mut workload in others {
            templates::default_template(workload.template_mut());
            let key = (workload.kind(), workload.key());
            if self.items.contains_key(&key) {
                self.apply(wx, workload);
                continue;
            }
            let hash = workload.metadata.labels.get(TEMPLATE_HASH).cloned();
            self.add(wx, workload, hash);
        }
        for mut deployment in deployments {
            templates::default_template(deployment.template_mut());
            if self.items.contains_key(&(WorkloadKind::Deployment, deployment.key())) {
                self.apply(wx, deployment);
                continue;
            }
            let revision = deployments::take_over(self, wx, &mut deployment, &pods);
            self.add(wx, deployment, revision);
        }
    }

    /// A workload is looked after no longer.
    fn forget(&mut self, wx: &mut Wx<'_>, key: &Key) -> Option<Arc<Managed>> {
        let item = self.items.remove(key)?;
        self.by_uid.remove(item.uid());
        *self.gone.entry(key.clone()).or_default() += 1;
        wx.alarms.cancel(&super::alarms::Alarm::Workload(key.0, key.1.clone()));
        if wx.api.is_served() {
            self.touch(key.clone());
        }
        Some(item)
    }

    /// A workload is gone whose owner wants what belongs to it to stay: its workloads have no owner any more. The pods
    /// have lost theirs with the object.
    pub(super) fn orphan(&mut self, wx: &mut Wx<'_>, key: &Key) {
        let Some(item) = self.forget(wx, key) else { return };
        for kind in [WorkloadKind::ReplicaSet, WorkloadKind::Job] {
            for owned in self.owned_by(kind, &item) {
                self.edit(&(kind, owned.workload.key()), |owned| {
                    let metadata = &mut Arc::make_mut(&mut owned.workload).metadata;
                    metadata.owner_references.retain(|own| *own.uid != **item.uid());
                });
            }
        }
    }

    /// Takes a workload away, and in the background what belongs to it.
    ///
    /// # Errors
    /// If it is not there.
    pub(super) fn delete(&mut self, wx: &mut Wx<'_>, key: &Key) -> Result<String, String> {
        let Some(item) = self.forget(wx, key) else {
            let resource = format!("{}s", key.0.as_str().to_lowercase());
            return Err(format!("{resource} {:?} not found", &*key.1.name));
        };
        for kind in [WorkloadKind::ReplicaSet, WorkloadKind::Job] {
            for owned in self.owned_by(kind, &item) {
                let _ = self.delete(wx, &(kind, owned.workload.key()));
            }
        }
        for pod in self.active_pods_of(wx.api, item.uid()) {
            let _ = wx.api.delete_pod(&pod.key(), wx.now);
        }
        wx.api.drop_ended(|pod| is_owned_by(pod, item.uid()));
        if key.0 == WorkloadKind::StatefulSet {
            stateful_sets::release_claims(wx, &item);
        }
        let slim = match key.0 {
            WorkloadKind::ReplicaSet => Some(Kind::ReplicaSet),
            WorkloadKind::StatefulSet => Some(Kind::StatefulSet),
            _ => None,
        };
        if let Some(kind) = slim {
            wx.api.remove(kind, &key.1);
        }
        Ok(format!("{} {:?} deleted", key.0.as_str().to_lowercase(), &*key.1.name))
    }

    /// `kubectl scale`.
    ///
    /// # Errors
    /// If there is no such workload, or it has no scale.
    pub(super) fn scale(&mut self, wx: &mut Wx<'_>, key: &Key, replicas: i32) -> Result<String, String> {
        let mut workload = Workload::clone(&self.found(key)?.workload);
        match &mut workload.spec {
            WorkloadSpec::Deployment(spec) => spec.replicas = Some(replicas),
            WorkloadSpec::ReplicaSet(spec) => spec.replicas = Some(replicas),
            WorkloadSpec::StatefulSet(spec) => spec.replicas = Some(replicas),
            WorkloadSpec::Job(spec) => spec.parallelism = Some(replicas),
            WorkloadSpec::CronJob(_) | WorkloadSpec::DaemonSet(_) => {
                return Err(format!("a {} cannot be scaled", key.0));
            }
        }
        if self.found(key)?.workload.replicas() != Some(replicas) {
            self.change(wx, key, workload);
        }
        Ok(format!("{}/{} scaled", key.0.as_str().to_lowercase(), key.1.name))
    }

    /// `kubectl rollout restart`.
    ///
    /// # Errors
    /// If there is no such workload, or its kind is not rolled out.
    pub(super) fn restart(&mut self, wx: &mut Wx<'_>, key: &Key) -> Result<String, String> {
        let mut workload = Workload::clone(&self.found(key)?.workload);
        if !matches!(key.0, WorkloadKind::Deployment | WorkloadKind::StatefulSet | WorkloadKind::DaemonSet) {
            return Err(format!("a {} is not rolled out", key.0));
        }
        let at = Str::from(wx.now.to_rfc3339_nanos());
        workload
            .template_mut()
            .metadata
            .annotations
            .insert(Str::from("kubectl.kubernetes.io/restartedAt"), at);
        self.change(wx, key, workload);
        Ok(format!("{}/{} restarted", key.0.as_str().to_lowercase(), key.1.name))
    }

    fn found(&self, key: &Key) -> Result<&Arc<Managed>, String> {
        let resource = || format!("{}s", key.0.as_str().to_lowercase());
        self.items.get(key).ok_or_else(|| format!("{} {:?} not found", resource(), &*key.1.name))
    }

    /// Looks at a workload.
    pub(super) fn sync(&mut self, wx: &mut Wx<'_>, kubelets: &Kubelets, key: &Key) {
        let Some(item) = self.items.get(key).cloned() else { return };
        match &item.workload.spec {
            WorkloadSpec::Deployment(spec) => deployments::sync(self, wx, &item, spec),
            WorkloadSpec::ReplicaSet(spec) => replica_sets::sync(self, wx, kubelets, &item, spec),
            WorkloadSpec::StatefulSet(spec) => stateful_sets::sync(self, wx, &item, spec),
            WorkloadSpec::DaemonSet(spec) => daemon_sets::sync(self, wx, &item, spec),
            WorkloadSpec::Job(spec) => jobs::sync(self, wx, kubelets, &item, spec),
            WorkloadSpec::CronJob(spec) => cron_jobs::sync(self, wx, &item, spec),
        }
    }

    /// Makes a pod for a workload. False if the server refuses it; it is tried again then.
    fn create_pod(&mut self, wx: &mut Wx<'_>, item: &Managed, pod: Pod) -> bool {
        let key = pod.key();
        match wx.api.create(pod.into(), wx.now) {
            Ok(_) => {
                if let Some(template) = self.written_template(wx.api, item) {
                    wx.api.keep_template(&key, &template);
                }
                self.pods.entry(item.uid().clone()).or_default().insert(key.clone());
                let said = Said::done("SuccessfulCreate", format!("created pod {}", key.name));
                wx.tell(controller_name(item.kind()), item.kind().as_str(), &item.workload.key(), said);
                true
            }
            Err(error) => {
                let said = Said::failed("FailedCreate", format!("Error creating: {error}"));
                wx.tell(controller_name(item.kind()), item.kind().as_str(), &item.workload.key(), said);
                let alarm = super::alarms::Alarm::Workload(item.kind(), item.workload.key());
                wx.alarms.set_by(alarm, wx.now + crate::api::Duration::from_secs(15));
                false
            }
        }
    }

    /// The template of a workload as it is written, in its own document or in its owner's, where clients see it.
    fn written_template(&self, api: &SandboxApi, item: &Managed) -> Option<serde_json::Value> {
        if !api.is_served() {
            return None;
        }
        template_in(api, item).or_else(|| {
            let owner = self.owner_of(item.workload.metadata.controller()?)?;
            template_in(api, self.items.get(owner)?)
        })
    }

    fn delete_pod(&self, wx: &mut Wx<'_>, item: &Managed, pod: &Pod) {
        if wx.api.delete_pod(&pod.key(), wx.now).is_ok() {
            let said = Said::done("SuccessfulDelete", format!("deleted pod {}", pod.metadata.name));
            wx.tell(controller_name(item.kind()), item.kind().as_str(), &item.workload.key(), said);
        }
    }

    /// A replica set or a job that belongs to another workload.
    fn add_owned(&mut self, wx: &mut Wx<'_>, owner: &Managed, mut workload: Workload, revision: Option<Str>) {
        workload.metadata.owner_references = vec![templates::owner_reference(&owner.workload)];
        let (kind, name) = (workload.kind(), workload.metadata.name.clone());
        self.add(wx, workload, revision);
        let said = Said::done("SuccessfulCreate", format!("created {} {name}", kind.as_str().to_lowercase()));
        wx.tell(controller_name(owner.kind()), owner.kind().as_str(), &owner.workload.key(), said);
    }

    /// A workload may have come to something else.
    pub(super) fn touch(&mut self, key: Key) {
        self.touched.insert(key);
    }

    /// The workloads that may have come to something else since this was last asked.
    pub(super) fn take_touched(&mut self) -> BTreeSet<Key> {
        std::mem::take(&mut self.touched)
    }

    /// A workload as it is, with what it has come to.
    pub(super) fn state(&self, key: &Key, api: &SandboxApi) -> Option<WorkloadState> {
        let item = self.items.get(key)?;
        let row = self.row(item, api);
        Some(WorkloadState {
            workload: Arc::clone(&item.workload),
            updated: self.updated(api, item).unwrap_or(row.current),
            row,
            ended: (item.job.succeeded, item.job.failed),
            started: item.job.started(),
            finished: item.job.finished.clone(),
            last_schedule: item.last_schedule,
        })
    }

    /// What the workloads that people see have come to.
    pub(super) fn rows(&self, api: &SandboxApi) -> Vec<WorkloadRow> {
        let rows = self.items.values().map(|item| self.row(item, api));
        // Replica sets that a Deployment has left behind are of no interest.
        rows.filter(|row| {
            row.kind != WorkloadKind::ReplicaSet || row.desired > 0 || row.current > 0 || row.owner.is_none()
        })
        .collect()
    }

    fn row(&self, item: &Managed, api: &SandboxApi) -> WorkloadRow {
        let mut pods = self.all_pods_of(api, item);
        pods.retain(|pod| is_active(pod));
        pods.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        let owner = item.workload.metadata.controller();
        WorkloadRow {
            kind: item.kind(),
            key: item.workload.key(),
            owner: owner.map(|own| (own.kind.clone(), own.name.as_str().into())),
            desired: self.desired(api, item),
            current: count(pods.len()),
            ready: count(pods.iter().filter(|pod| counts_as_ready(api, pod)).count()),
            pending: count(pods.iter().filter(|pod| !pod.is_assigned()).count()),
            note: self.note(api, item),
            pods: pods.iter().map(|pod| pod.key()).collect(),
        }
    }

    /// How many pods are of the newest template, of a workload that rolls changes out.
    fn updated(&self, api: &SandboxApi, item: &Managed) -> Option<i32> {
        match &item.workload.spec {
            WorkloadSpec::Deployment(_) => Some(deployments::updated(self, api, item)),
            WorkloadSpec::StatefulSet(_) | WorkloadSpec::DaemonSet(_) => {
                let pods = self.active_pods_of(api, item.uid());
                Some(count(pods.iter().filter(|pod| is_of_revision(item, pod)).count()))
            }
            WorkloadSpec::ReplicaSet(_) | WorkloadSpec::Job(_) | WorkloadSpec::CronJob(_) => None,
        }
    }

    fn note(&self, api: &SandboxApi, item: &Managed) -> String {
        match &item.workload.spec {
            WorkloadSpec::Deployment(spec) => deployments::note(self, api, item, spec),
            WorkloadSpec::Job(spec) => jobs::note(item, spec),
            WorkloadSpec::CronJob(spec) => cron_jobs::note(item, spec),
            WorkloadSpec::StatefulSet(_) | WorkloadSpec::DaemonSet(_) => {
                let there = count(self.active_pods_of(api, item.uid()).len());
                match self.updated(api, item) {
                    Some(updated) if updated < there => format!("rolling out: {updated} of {there} updated"),
                    _ => String::new(),
                }
            }
            WorkloadSpec::ReplicaSet(_) => String::new(),
        }
    }
}

/// The template in the document of a workload.
fn template_in(api: &SandboxApi, item: &Managed) -> Option<serde_json::Value> {
    let id = ResourceId::of_kind(item.kind().api_version(), item.kind().as_str())?;
    api.written(id, &item.workload.key())?.pointer(template_pointer(item.kind())).cloned()
}

/// Where the template of the pods stands in the document of a workload.
pub(in crate::driver::sandbox) const fn template_pointer(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::CronJob => "/spec/jobTemplate/spec/template",
        _ => "/spec/template",
    }
}

fn count(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// Whether a pod of a stateful or daemon set is of the present template.
fn is_of_revision(item: &Managed, pod: &Pod) -> bool {
    pod.metadata.labels.get(REVISION_HASH).map_or("", AsRef::as_ref) == &*item.revision
}

/// The pods of a namespace.
fn in_namespace<'a>(wx: &'a Wx<'_>, namespace: &'a Str) -> impl Iterator<Item = &'a Arc<Pod>> {
    let first = NamespacedName::new(namespace.clone(), "");
    wx.api
        .objects()
        .pods
        .range(first..)
        .take_while(move |(key, _)| key.namespace == *namespace)
        .map(|(_, pod)| pod)
}

/// The name of a kind's controller, as its Events have it.
const fn controller_name(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::CronJob => "cronjob-controller",
        WorkloadKind::Job => "job-controller",
        WorkloadKind::Deployment => "deployment-controller",
        WorkloadKind::ReplicaSet => "replicaset-controller",
        WorkloadKind::StatefulSet => "statefulset-controller",
        WorkloadKind::DaemonSet => "daemonset-controller",
    }
}

/// A replica set with a template and a hash.
fn replica_set_spec(
    spec: &crate::api::workloads::DeploymentSpec,
    hash: &Str,
    replicas: i32,
) -> ReplicaSetSpec {
    let mut selector = spec.selector.clone().unwrap_or_default();
    selector.match_labels.insert(Str::from(TEMPLATE_HASH), hash.clone());
    let mut template = spec.template.clone();
    template.metadata.labels.insert(Str::from(TEMPLATE_HASH), hash.clone());
    ReplicaSetSpec {
        replicas: Some(replicas),
        selector: Some(selector),
        template,
        min_ready_seconds: spec.min_ready_seconds,
    }
}
