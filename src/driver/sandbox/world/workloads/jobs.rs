//! Jobs: pods that run until so many have succeeded.
//!
//! Follows `pkg/controller/job/job_controller.go`: completions and parallelism, work queues, indexes, the limit of
//! failures with its waits (10 s, doubled up to 10 min), deadlines, suspension, and the time after which a finished job
//! goes. Left out: policies of pod failures and of success, and limits per index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::alarms::Alarm;
use super::super::kubelets::{Ended, Kubelets};
use super::{Managed, Workloads, controller_name, replica_sets, templates};
use crate::api::objects::Pod;
use crate::api::workloads::{JobSpec, Workload, WorkloadKind};
use crate::api::{Duration, NamespacedName, Str, Time, Uid};
use crate::driver::sandbox::controllers::Said;
use crate::driver::sandbox::world::Wx;

const INDEX: &str = "batch.kubernetes.io/job-completion-index";
const BACKOFF_LIMIT: i32 = 6;
const BACKOFF_FIRST: Duration = Duration::from_secs(10);
const BACKOFF_MAX: Duration = Duration::from_secs(600);

/// What has become of a job.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(in super::super) struct JobState {
    pub succeeded: i32,
    pub failed: i32,
    completed: BTreeSet<i32>,
    started: Option<Time>,
    /// When it was over, whether well, and why.
    pub finished: Option<(Time, bool, Str)>,
    last_failure: Option<Time>,
    failures_in_a_row: u32,
    /// Pods that are counted and not gone yet, or that do not count.
    counted: BTreeSet<Uid>,
}

impl JobState {
    /// What a dump says of a job.
    pub(super) fn of(workload: &Workload, now: Time) -> Self {
        let status = &workload.status;
        let over = status.conditions.iter().find(|condition| {
            condition.status == "True" && matches!(condition.type_.as_str(), "Complete" | "Failed")
        });
        let finished = over.map(|condition| {
            let at = condition.last_transition_time.unwrap_or(now).min(now);
            (at, condition.type_ == "Complete", Str::from(condition.reason.as_str()))
        });
        Self {
            succeeded: status.succeeded,
            failed: status.failed,
            completed: read_indexes(&status.completed_indexes),
            started: status.start_time.map(|at| at.min(now)),
            finished,
            ..Self::default()
        }
    }

    /// When it began.
    pub(super) const fn started(&self) -> Option<Time> {
        self.started
    }

    /// A pod has ended by itself.
    pub(super) fn pod_has_ended(&mut self, ended: &Ended, now: Time) {
        if self.finished.is_some() || !self.counted.insert(ended.pod.uid().clone()) {
            return;
        }
        if ended.has_succeeded {
            self.failures_in_a_row = 0;
            match index_of(&ended.pod) {
                Some(index) => {
                    self.completed.insert(index);
                    self.succeeded = i32::try_from(self.completed.len()).unwrap_or(i32::MAX);
                }
                None => self.succeeded += 1,
            }
        } else {
            self.fail(now);
        }
    }

    fn fail(&mut self, now: Time) {
        self.failed += 1;
        self.failures_in_a_row += 1;
        self.last_failure = Some(now);
    }

    /// A pod is gone; one that had not ended was a failure.
    pub(super) fn pod_is_gone(&mut self, pod: &Pod) {
        if !self.counted.remove(pod.uid()) && self.finished.is_none() {
            self.failed += 1;
        }
    }
}

/// `0-2,5` as the status writes it.
fn read_indexes(text: &str) -> BTreeSet<i32> {
    let mut indexes = BTreeSet::new();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(from), Ok(to)) = (from.parse::<i32>(), to.parse::<i32>()) {
            indexes.extend(from..=to.min(from.saturating_add(100_000)));
        }
    }
    indexes
}

fn index_of(pod: &Pod) -> Option<i32> {
    pod.metadata.annotations.get(INDEX)?.parse().ok()
}

/// How many pods a job wants at the same time.
pub(super) fn desired(item: &Managed, spec: &JobSpec) -> i32 {
    if spec.suspend || item.job.finished.is_some() {
        return 0;
    }
    let parallelism = spec.parallelism.unwrap_or(1);
    match completions(spec) {
        Some(completions) => parallelism.min(completions - item.job.succeeded).max(0),
        None if item.job.succeeded > 0 => 0,
        None => parallelism,
    }
}

/// Without completions and with a parallelism a job is a work queue; without either it is one pod.
fn completions(spec: &JobSpec) -> Option<i32> {
    match (spec.completions, spec.parallelism) {
        (None, None) => Some(1),
        (completions, _) => completions,
    }
}

pub(super) fn note(item: &Managed, spec: &JobSpec) -> String {
    let JobState { succeeded, failed, finished, .. } = &item.job;
    let of = completions(spec).map_or(String::new(), |completions| format!(" of {completions}"));
    let failed = if *failed > 0 { format!(", {failed} failed") } else { String::new() };
    match finished {
        Some((_, true, _)) => format!("complete: {succeeded} succeeded{failed}"),
        Some((_, false, reason)) => format!("failed: {reason}{failed}"),
        None if spec.suspend => "suspended".to_owned(),
        None => format!("{succeeded}{of} succeeded{failed}"),
    }
}

pub(super) fn sync(
    all: &mut Workloads,
    wx: &mut Wx<'_>,
    kubelets: &Kubelets,
    item: &Managed,
    spec: &JobSpec,
) {
    let key = (WorkloadKind::Job, item.workload.key());
    let pods = all.pods_of(wx.api, item.uid());
    let now = wx.now;
    // Pods that are being deleted by others have failed.
    let lost: Vec<Uid> =
        pods.iter().filter(|pod| pod.is_terminating()).map(|pod| pod.uid().clone()).collect();
    all.edit(&key, |item| {
        for uid in lost {
            if item.job.counted.insert(uid) && item.job.finished.is_none() {
                item.job.fail(now);
            }
        }
        if !spec.suspend {
            item.job.started.get_or_insert(now);
        }
    });
    let Some(item) = all.get(&key).cloned() else { return };
    let mut active = all.active_pods_of(wx.api, item.uid());
    if let Some((at, ..)) = &item.job.finished {
        delete_all(all, wx, &item, &active);
        if let Some(ttl) = spec.ttl_seconds_after_finished {
            let due = *at + Duration::from_secs(u64::try_from(ttl).unwrap_or(0));
            if due <= now {
                let said = Said::done("Deleted", "is deleted: its time after the end is over");
                wx.tell("ttl-after-finished-controller", "Job", &key.1, said);
                let _ = all.delete(wx, &key);
            } else {
                wx.alarms.set_by(Alarm::Workload(key.0, key.1), due);
            }
        }
        return;
    }
    if spec.suspend {
        return delete_all(all, wx, &item, &active);
    }
    if let Some(reason) = failure(wx, kubelets, &item, spec, &active) {
        return finish(all, wx, &key, &active, false, reason);
    }
    let is_complete = match completions(spec) {
        Some(completions) => item.job.succeeded >= completions,
        None => item.job.succeeded > 0 && active.is_empty(),
    };
    if is_complete {
        return finish(all, wx, &key, &active, true, "CompletionsReached");
    }
    let wanted = match completions(spec) {
        // A work queue that has a success makes no more pods, and stops none.
        None if item.job.succeeded > 0 => active.len(),
        _ => usize::try_from(desired(&item, spec)).unwrap_or(0),
    };
    if active.len() > wanted {
        replica_sets::sort_for_deletion(wx, kubelets, &mut active, &[]);
        let surplus = active.len() - wanted;
        let surplus: Vec<Arc<Pod>> = active.into_iter().take(surplus).collect();
        return delete_all(all, wx, &item, &surplus);
    }
    if active.len() < wanted {
        if let Some(last) = item.job.last_failure.filter(|_| item.job.failures_in_a_row > 0) {
            let doubled = 2_u32.saturating_pow(item.job.failures_in_a_row - 1);
            let at = last + BACKOFF_FIRST.saturating_mul(doubled).min(BACKOFF_MAX);
            if at > now {
                return wx.alarms.set_by(Alarm::Workload(key.0, key.1), at);
            }
        }
        create(all, wx, &item, spec, &active, wanted - active.len());
    }
}

/// Why the job has failed, if it has.
fn failure(
    wx: &mut Wx<'_>,
    kubelets: &Kubelets,
    item: &Managed,
    spec: &JobSpec,
    active: &[Arc<Pod>],
) -> Option<&'static str> {
    let limit = spec.backoff_limit.unwrap_or(BACKOFF_LIMIT);
    let restarts: u32 = if spec.template.spec.restart_policy() == "OnFailure" {
        active.iter().map(|pod| kubelets.restarts(&pod.key())).sum()
    } else {
        0
    };
    let restarts = i32::try_from(restarts).unwrap_or(i32::MAX);
    let is_over = item.job.failed > limit || (restarts > 0 && (limit == 0 || restarts >= limit));
    if is_over {
        return Some("BackoffLimitExceeded");
    }
    let (started, seconds) = item.job.started.zip(spec.active_deadline_seconds)?;
    let at = started + Duration::from_secs(u64::try_from(seconds).unwrap_or(0));
    if at <= wx.now {
        return Some("DeadlineExceeded");
    }
    wx.alarms.set_by(Alarm::Workload(WorkloadKind::Job, item.workload.key()), at);
    None
}

fn finish(
    all: &mut Workloads,
    wx: &mut Wx<'_>,
    key: &super::Key,
    active: &[Arc<Pod>],
    is_well: bool,
    reason: &'static str,
) {
    let now = wx.now;
    all.edit(key, |item| item.job.finished = Some((now, is_well, Str::from(reason))));
    let Some(item) = all.get(key).cloned() else { return };
    delete_all(all, wx, &item, active);
    let said = if is_well {
        Said::done("Completed", "Job completed")
    } else {
        Said::failed(reason, "Job has failed").again()
    };
    wx.tell(controller_name(WorkloadKind::Job), "Job", &key.1, said);
    wx.due.insert(super::Item::Workload(key.0, key.1.clone()));
    if let Some((kind, owner)) = item.workload.metadata.controller().and_then(|owner| all.owner_of(owner)) {
        wx.due.insert(super::Item::Workload(*kind, owner.clone()));
    }
}

/// Deletes pods that are not wanted; they do not count as failures.
fn delete_all(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, pods: &[Arc<Pod>]) {
    let key = (WorkloadKind::Job, item.workload.key());
    let uids: Vec<Uid> = pods.iter().map(|pod| pod.uid().clone()).collect();
    all.edit(&key, |item| item.job.counted.extend(uids));
    for pod in pods {
        all.delete_pod(wx, item, pod);
    }
}

fn create(
    all: &mut Workloads,
    wx: &mut Wx<'_>,
    item: &Managed,
    spec: &JobSpec,
    active: &[Arc<Pod>],
    count: usize,
) {
    let is_indexed = spec.completion_mode == "Indexed";
    let taken: BTreeSet<i32> = active.iter().filter_map(|pod| index_of(pod)).collect();
    let total = if is_indexed { spec.completions.unwrap_or(0) } else { 0 };
    let free = (0..total).filter(|index| !taken.contains(index) && !item.job.completed.contains(index));
    let free: Vec<Option<i32>> =
        if is_indexed { free.map(Some).take(count).collect() } else { vec![None; count] };
    for index in free {
        let name = match index {
            None => replica_sets::free_name(wx, item),
            Some(index) => indexed_name(wx, item, index),
        };
        let mut pod = templates::pod(item, name);
        for (label, value) in labels(item) {
            pod.metadata.labels.entry(label).or_insert(value);
        }
        if let Some(index) = index {
            let index = Str::from(index.to_string());
            pod.metadata.annotations.insert(Str::from(INDEX), index.clone());
            pod.metadata.labels.insert(Str::from(INDEX), index);
        }
        if !all.create_pod(wx, item, pod) {
            return;
        }
    }
}

/// `JOB-INDEX-` and five characters.
fn indexed_name(wx: &mut Wx<'_>, item: &Managed, index: i32) -> Str {
    let prefix = format!("{}-{index}-", item.workload.metadata.name);
    loop {
        let name = templates::generated_name(wx.rng, &prefix);
        let key = NamespacedName::new(item.workload.metadata.namespace.clone(), name.clone());
        if !wx.api.objects().pods.contains_key(&key) {
            return name;
        }
    }
}

/// The labels that tell the pods of a job.
fn labels(item: &Managed) -> BTreeMap<Str, Str> {
    let (name, uid) = (item.workload.metadata.name.clone(), item.uid().clone());
    [
        ("batch.kubernetes.io/job-name", name.clone()),
        ("batch.kubernetes.io/controller-uid", uid.clone()),
        ("job-name", name),
        ("controller-uid", uid),
    ]
    .into_iter()
    .map(|(label, value)| (Str::from(label), value))
    .collect()
}
