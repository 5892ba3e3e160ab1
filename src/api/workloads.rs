//! The workloads whose controllers make pods: Deployment, ReplicaSet, StatefulSet, DaemonSet, Job and CronJob.
//!
//! A scheduler reads none of them, but for the selectors of two kinds, which are kinds of their own in
//! [`super::objects`]. A living sandbox runs them, and the node groups of its autoscaler, a kind of its own. Each has the fields that its controller reads here; the pod template
//! is read as the pod that it becomes. Field names and meaning are those of the Kubernetes API v1.36.

use std::fmt;

use serde::{Deserialize, Deserializer};

use super::objects::{
    Condition, IntOrString, LabelSelector, Node, ObjectMeta, PersistentVolumeClaim, PodSpec, nullable,
};
use super::{NamespacedName, Selector, Str, Time};

/// A kind of workload, in the order in which owners come before what they own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// Makes jobs on a schedule.
    CronJob,
    /// Runs pods until so many have succeeded.
    Job,
    /// Keeps so many pods running and rolls changes out.
    Deployment,
    /// Keeps so many pods running.
    ReplicaSet,
    /// Keeps pods with names and volumes of their own running.
    StatefulSet,
    /// Keeps a pod on every node.
    DaemonSet,
}

impl WorkloadKind {
    /// Every kind.
    pub const ALL: &'static [Self] =
        &[Self::CronJob, Self::Job, Self::Deployment, Self::ReplicaSet, Self::StatefulSet, Self::DaemonSet];

    /// The kind as manifests spell it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CronJob => "CronJob",
            Self::Job => "Job",
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
        }
    }

    /// The API group and version.
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::CronJob | Self::Job => "batch/v1",
            Self::Deployment | Self::ReplicaSet | Self::StatefulSet | Self::DaemonSet => "apps/v1",
        }
    }

    /// The kind of that name in that group, in whatever version.
    pub fn find(api_version: &str, kind: &str) -> Option<Self> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_it =
            |known: &Self| known.as_str() == kind && known.api_version().split('/').next() == Some(group);
        Self::ALL.iter().copied().find(is_it)
    }

    /// The kind that a person means, by its name, its plural or kubectl's short name.
    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        let short = |kind: Self| match kind {
            Self::CronJob => "cj",
            Self::Job => "job",
            Self::Deployment => "deploy",
            Self::ReplicaSet => "rs",
            Self::StatefulSet => "sts",
            Self::DaemonSet => "ds",
        };
        Self::ALL.iter().copied().find(|kind| {
            let name = kind.as_str().to_ascii_lowercase();
            word == name || word == short(*kind) || word.strip_suffix('s') == Some(&name)
        })
    }
}

impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A workload of any kind, as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: WorkloadSpec,
    /// What had become of it where it was written down.
    pub status: WorkloadStatus,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the kinds are those of the Kubernetes API reference")]
pub enum WorkloadSpec {
    CronJob(Box<CronJobSpec>),
    Job(Box<JobSpec>),
    Deployment(Box<DeploymentSpec>),
    ReplicaSet(Box<ReplicaSetSpec>),
    StatefulSet(Box<StatefulSetSpec>),
    DaemonSet(Box<DaemonSetSpec>),
}

/// `status` of any workload, as far as a controller cannot find it out again.
#[derive(Clone, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct WorkloadStatus {
    #[serde(default, deserialize_with = "nullable")]
    pub succeeded: i32,
    #[serde(default, deserialize_with = "nullable")]
    pub failed: i32,
    #[serde(default, deserialize_with = "nullable")]
    pub completed_indexes: String,
    #[serde(default, deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    #[serde(default)]
    pub start_time: Option<Time>,
    #[serde(default)]
    pub last_schedule_time: Option<Time>,
}

/// The pods that a workload makes.
#[derive(Clone, Debug, PartialEq, Default, Deserialize, serde::Serialize)]
#[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
pub struct PodTemplate {
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable")]
    pub spec: PodSpec,
}

macro_rules! specs {
    ($($(#[$doc:meta])* $name:ident { $($(#[$attr:meta])* $field:ident: $type:ty),+ $(,)? })+) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Default, Deserialize, serde::Serialize)]
        #[serde(rename_all = "camelCase")]
        #[expect(missing_docs, reason = "the fields are those of the Kubernetes API reference")]
        pub struct $name {
            $(#[serde(default, deserialize_with = "nullable")] $(#[$attr])* pub $field: $type),+
        })+
    };
}

specs! {
    /// `spec` of a Deployment.
    DeploymentSpec {
        replicas: Option<i32>,
        selector: Option<LabelSelector>,
        template: PodTemplate,
        strategy: Strategy,
        min_ready_seconds: i32,
        revision_history_limit: Option<i32>,
        paused: bool,
    }
    /// How a change reaches the pods: `type` is `RollingUpdate`, `Recreate` or `OnDelete`, as the kind has it.
    Strategy {
        #[serde(rename = "type")]
        type_: String,
        rolling_update: RollingUpdate,
    }
    /// How many pods may be too many or too few meanwhile; `partition` is of stateful sets.
    RollingUpdate {
        max_surge: Option<IntOrString>,
        max_unavailable: Option<IntOrString>,
        partition: i32,
    }
    /// `spec` of a ReplicaSet.
    ReplicaSetSpec {
        replicas: Option<i32>,
        selector: Option<LabelSelector>,
        template: PodTemplate,
        min_ready_seconds: i32,
    }
    /// `spec` of a StatefulSet.
    StatefulSetSpec {
        replicas: Option<i32>,
        selector: Option<LabelSelector>,
        template: PodTemplate,
        volume_claim_templates: Vec<PersistentVolumeClaim>,
        pod_management_policy: String,
        update_strategy: Strategy,
        ordinals: Ordinals,
        persistent_volume_claim_retention_policy: ClaimRetention,
        min_ready_seconds: i32,
    }
    /// The number of the first pod of a StatefulSet.
    Ordinals { start: i32 }
    /// Whether the claims of a StatefulSet go with the set and with pods: `Retain` or `Delete`.
    ClaimRetention {
        when_deleted: String,
        when_scaled: String,
    }
    /// `spec` of a DaemonSet.
    DaemonSetSpec {
        selector: Option<LabelSelector>,
        template: PodTemplate,
        update_strategy: Strategy,
        min_ready_seconds: i32,
    }
    /// `spec` of a Job.
    JobSpec {
        parallelism: Option<i32>,
        completions: Option<i32>,
        backoff_limit: Option<i32>,
        completion_mode: String,
        active_deadline_seconds: Option<i64>,
        ttl_seconds_after_finished: Option<i64>,
        suspend: bool,
        manual_selector: bool,
        selector: Option<LabelSelector>,
        template: PodTemplate,
    }
    /// `spec` of a CronJob.
    CronJobSpec {
        schedule: String,
        time_zone: String,
        starting_deadline_seconds: Option<i64>,
        concurrency_policy: String,
        suspend: bool,
        job_template: JobTemplate,
        successful_jobs_history_limit: Option<i32>,
        failed_jobs_history_limit: Option<i32>,
    }
    /// The jobs that a CronJob makes.
    JobTemplate {
        metadata: ObjectMeta,
        spec: JobSpec,
    }
}

/// What is wrong with a workload: the path of the field, and the sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadProblem {
    /// Such as `spec.selector`.
    pub path: String,
    /// The sentence.
    pub reason: String,
}

#[derive(Deserialize)]
struct Whole<S: Default> {
    #[serde(default, deserialize_with = "nullable")]
    metadata: ObjectMeta,
    #[serde(default, deserialize_with = "nullable", bound(deserialize = "S: Deserialize<'de>"))]
    spec: S,
    #[serde(default, deserialize_with = "nullable")]
    status: WorkloadStatus,
}

impl Workload {
    /// Reads a workload whose kind is known.
    ///
    /// # Errors
    /// What the deserializer says about a field that does not fit.
    pub fn deserialize_kind<'de, D: Deserializer<'de>>(
        kind: WorkloadKind,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        fn read<'de, D, S>(
            deserializer: D,
            make: impl FnOnce(Box<S>) -> WorkloadSpec,
        ) -> Result<Workload, D::Error>
        where
            D: Deserializer<'de>,
            S: Default + Deserialize<'de>,
        {
            let Whole { metadata, spec, status } = Whole::<S>::deserialize(deserializer)?;
            Ok(Workload { metadata, spec: make(Box::new(spec)), status })
        }
        match kind {
            WorkloadKind::CronJob => read(deserializer, WorkloadSpec::CronJob),
            WorkloadKind::Job => read(deserializer, WorkloadSpec::Job),
            WorkloadKind::Deployment => read(deserializer, WorkloadSpec::Deployment),
            WorkloadKind::ReplicaSet => read(deserializer, WorkloadSpec::ReplicaSet),
            WorkloadKind::StatefulSet => read(deserializer, WorkloadSpec::StatefulSet),
            WorkloadKind::DaemonSet => read(deserializer, WorkloadSpec::DaemonSet),
        }
    }

    /// Its kind.
    pub const fn kind(&self) -> WorkloadKind {
        match &self.spec {
            WorkloadSpec::CronJob(_) => WorkloadKind::CronJob,
            WorkloadSpec::Job(_) => WorkloadKind::Job,
            WorkloadSpec::Deployment(_) => WorkloadKind::Deployment,
            WorkloadSpec::ReplicaSet(_) => WorkloadKind::ReplicaSet,
            WorkloadSpec::StatefulSet(_) => WorkloadKind::StatefulSet,
            WorkloadSpec::DaemonSet(_) => WorkloadKind::DaemonSet,
        }
    }

    /// Namespace and name.
    pub fn key(&self) -> NamespacedName {
        self.metadata.key()
    }

    /// The template of its pods; of a CronJob that of the pods of its jobs.
    pub fn template(&self) -> &PodTemplate {
        match &self.spec {
            WorkloadSpec::CronJob(spec) => &spec.job_template.spec.template,
            WorkloadSpec::Job(spec) => &spec.template,
            WorkloadSpec::Deployment(spec) => &spec.template,
            WorkloadSpec::ReplicaSet(spec) => &spec.template,
            WorkloadSpec::StatefulSet(spec) => &spec.template,
            WorkloadSpec::DaemonSet(spec) => &spec.template,
        }
    }

    /// The same, to change.
    pub fn template_mut(&mut self) -> &mut PodTemplate {
        match &mut self.spec {
            WorkloadSpec::CronJob(spec) => &mut spec.job_template.spec.template,
            WorkloadSpec::Job(spec) => &mut spec.template,
            WorkloadSpec::Deployment(spec) => &mut spec.template,
            WorkloadSpec::ReplicaSet(spec) => &mut spec.template,
            WorkloadSpec::StatefulSet(spec) => &mut spec.template,
            WorkloadSpec::DaemonSet(spec) => &mut spec.template,
        }
    }

    /// The selector of its pods, where its kind has one.
    pub fn label_selector(&self) -> Option<&LabelSelector> {
        match &self.spec {
            WorkloadSpec::CronJob(_) => None,
            WorkloadSpec::Job(spec) => spec.selector.as_ref(),
            WorkloadSpec::Deployment(spec) => spec.selector.as_ref(),
            WorkloadSpec::ReplicaSet(spec) => spec.selector.as_ref(),
            WorkloadSpec::StatefulSet(spec) => spec.selector.as_ref(),
            WorkloadSpec::DaemonSet(spec) => spec.selector.as_ref(),
        }
    }

    /// The same, ready to be asked; one that is missing or wrong selects nothing.
    pub fn selector(&self) -> Selector {
        let selector = self.label_selector().map(|selector| Selector::from_label_selector(Some(selector)));
        selector.and_then(Result::ok).unwrap_or_else(Selector::nothing)
    }

    /// How many pods are wanted, where that is written in the object.
    pub fn replicas(&self) -> Option<i32> {
        match &self.spec {
            WorkloadSpec::Deployment(spec) => Some(spec.replicas.unwrap_or(1)),
            WorkloadSpec::ReplicaSet(spec) => Some(spec.replicas.unwrap_or(1)),
            WorkloadSpec::StatefulSet(spec) => Some(spec.replicas.unwrap_or(1)),
            WorkloadSpec::Job(spec) => Some(spec.parallelism.unwrap_or(1)),
            WorkloadSpec::CronJob(_) | WorkloadSpec::DaemonSet(_) => None,
        }
    }

    /// How long a pod must be ready before it counts as available.
    pub fn min_ready_seconds(&self) -> u64 {
        let seconds = match &self.spec {
            WorkloadSpec::Deployment(spec) => spec.min_ready_seconds,
            WorkloadSpec::ReplicaSet(spec) => spec.min_ready_seconds,
            WorkloadSpec::StatefulSet(spec) => spec.min_ready_seconds,
            WorkloadSpec::DaemonSet(spec) => spec.min_ready_seconds,
            WorkloadSpec::CronJob(_) | WorkloadSpec::Job(_) => 0,
        };
        u64::try_from(seconds).unwrap_or(0)
    }

    /// What an API server would refuse it for: the first thing.
    ///
    /// # Errors
    /// The field and what is wrong with it.
    pub fn check(&self) -> Result<(), WorkloadProblem> {
        let wrong = |path: &str, reason: String| Err(WorkloadProblem { path: path.to_owned(), reason });
        if let Some((field, reason)) = self.template().spec.negative_amount() {
            let template =
                if self.kind() == WorkloadKind::CronJob { "spec.jobTemplate.spec" } else { "spec" };
            return wrong(&format!("{template}.template.spec.{field}"), reason);
        }
        let negative = self.replicas().filter(|replicas| *replicas < 0);
        if let Some(replicas) = negative {
            let path = if self.kind() == WorkloadKind::Job { "spec.parallelism" } else { "spec.replicas" };
            return wrong(path, format!("{replicas} is negative"));
        }
        let restart = self.template().spec.restart_policy();
        match &self.spec {
            WorkloadSpec::CronJob(_) | WorkloadSpec::Job(_) => {
                if restart == "Always" {
                    let path = if self.kind() == WorkloadKind::Job {
                        "spec.template.spec.restartPolicy"
                    } else {
                        "spec.jobTemplate.spec.template.spec.restartPolicy"
                    };
                    return wrong(path, "the pods of a job need OnFailure or Never here".to_owned());
                }
                if let WorkloadSpec::Job(spec) = &self.spec
                    && spec.completion_mode == "Indexed"
                    && spec.completions.is_none()
                {
                    return wrong("spec.completions", "it is missing: an Indexed job needs it".to_owned());
                }
                Ok(())
            }
            _ => {
                if restart != "Always" {
                    let path = "spec.template.spec.restartPolicy";
                    return wrong(path, format!("{restart:?} is not supported here, only Always is"));
                }
                let Some(selector) = self.label_selector() else {
                    return wrong("spec.selector", "it is missing".to_owned());
                };
                match Selector::from_label_selector(Some(selector)) {
                    Err(error) => wrong("spec.selector", error.to_string()),
                    Ok(selector) if selector.is_empty() => {
                        wrong("spec.selector", "it is empty: it would select every pod".to_owned())
                    }
                    Ok(selector) if !selector.matches(&self.template().metadata.labels) => {
                        let reason = "the selector does not match the labels of the template".to_owned();
                        wrong("spec.template.metadata.labels", reason)
                    }
                    Ok(_) => Ok(()),
                }
            }
        }
    }
}

/// The API version of the sandbox's own kinds.
pub const SANDBOX_API_VERSION: &str = "sandbox.schedscope.dev/v1alpha1";

/// Nodes that are alike and come and go as they are needed.
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
pub struct NodeGroup {
    /// Its name.
    #[serde(default, deserialize_with = "nullable")]
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default, deserialize_with = "nullable")]
    pub spec: NodeGroupSpec,
}

/// `spec` of a [`NodeGroup`].
#[derive(Clone, Debug, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeGroupSpec {
    /// The fewest nodes.
    #[serde(default)]
    pub min: u32,
    /// The most nodes.
    pub max: u32,
    /// Seconds from the wish for a node until it is there; 60 without it.
    #[serde(default)]
    pub boot_seconds: Option<u64>,
    /// Seconds for which a node is not needed before it goes; 600 without it.
    #[serde(default)]
    pub idle_seconds: Option<u64>,
    /// What its nodes are like.
    #[serde(default, deserialize_with = "nullable")]
    pub template: Node,
}

/// An object that a living sandbox reads and a scheduler does not.
#[derive(Clone, Debug, PartialEq)]
pub enum Living {
    /// A workload.
    Workload(Box<Workload>),
    /// A group of nodes.
    NodeGroup(Box<NodeGroup>),
}

/// The kind of a [`Living`] object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LivingKind {
    /// A workload of that kind.
    Workload(WorkloadKind),
    /// A group of nodes.
    NodeGroup,
}

impl LivingKind {
    /// The kind of that name, if it is one.
    pub fn find(api_version: &str, kind: &str) -> Option<Self> {
        let is_own = api_version.split('/').next() == SANDBOX_API_VERSION.split('/').next();
        match WorkloadKind::find(api_version, kind) {
            Some(kind) => Some(Self::Workload(kind)),
            None => (is_own && kind == "NodeGroup").then_some(Self::NodeGroup),
        }
    }

    /// Whether objects of the kind are in a namespace.
    pub const fn is_namespaced(self) -> bool {
        matches!(self, Self::Workload(_))
    }
}

impl Living {
    /// Reads an object whose kind is known.
    ///
    /// # Errors
    /// What the deserializer says about a field that does not fit.
    pub fn deserialize_kind<'de, D: Deserializer<'de>>(
        kind: LivingKind,
        deserializer: D,
    ) -> Result<Self, D::Error> {
        match kind {
            LivingKind::Workload(kind) => {
                let workload = Workload::deserialize_kind(kind, deserializer)?;
                Ok(Self::Workload(Box::new(workload)))
            }
            LivingKind::NodeGroup => Ok(Self::NodeGroup(Box::new(NodeGroup::deserialize(deserializer)?))),
        }
    }

    /// Its metadata.
    pub fn metadata_mut(&mut self) -> &mut ObjectMeta {
        match self {
            Self::Workload(workload) => &mut workload.metadata,
            Self::NodeGroup(group) => &mut group.metadata,
        }
    }

    /// `deployment/web`.
    pub fn label(&self) -> String {
        match self {
            Self::Workload(workload) => {
                format!("{}/{}", workload.kind().as_str().to_lowercase(), workload.metadata.name)
            }
            Self::NodeGroup(group) => format!("nodegroup/{}", group.metadata.name),
        }
    }

    /// What an API server would refuse it for: the first thing.
    ///
    /// # Errors
    /// The field and what is wrong with it.
    pub fn check(&self) -> Result<(), WorkloadProblem> {
        match self {
            Self::Workload(workload) => workload.check(),
            Self::NodeGroup(group) if group.spec.max < group.spec.min => Err(WorkloadProblem {
                path: "spec.max".to_owned(),
                reason: format!("{} is less than min, which is {}", group.spec.max, group.spec.min),
            }),
            Self::NodeGroup(group)
                if group.spec.template.status.allocatable.is_empty()
                    && group.spec.template.status.capacity.is_empty() =>
            {
                let path = "spec.template.status.allocatable".to_owned();
                Err(WorkloadProblem {
                    path,
                    reason: "it is missing: nodes of the group would be empty".to_owned(),
                })
            }
            Self::NodeGroup(_) => Ok(()),
        }
    }
}

impl NodeGroup {
    /// Its name.
    pub const fn name(&self) -> &Str {
        &self.metadata.name
    }
}
