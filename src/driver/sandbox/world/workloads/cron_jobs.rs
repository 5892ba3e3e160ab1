//! CronJobs: a job at every time of a schedule.
//!
//! Follows `pkg/controller/cronjob/cronjob_controllerv2.go`: of several times that were missed the last one counts; a
//! late one beyond startingDeadlineSeconds does not; Forbid leaves a time out while a job runs, Replace ends that job.
//! Times are UTC; another timeZone is told of and not heeded.

use std::sync::Arc;

use super::super::alarms::Alarm;
use super::cron::Schedule;
use super::{Managed, Workloads, controller_name};
use crate::api::objects::ObjectMeta;
use crate::api::workloads::{CronJobSpec, Workload, WorkloadKind, WorkloadSpec, WorkloadStatus};
use crate::api::{Duration, Str, Time};
use crate::driver::sandbox::controllers::Said;
use crate::driver::sandbox::world::Wx;

/// A schedule that was not looked at for so many of its times has missed too many.
const MISSED_MAX: usize = 10_000;

pub(super) fn note(item: &Managed, spec: &CronJobSpec) -> String {
    let last = item.last_schedule.map_or_else(|| "never".to_owned(), Time::to_rfc3339);
    if spec.suspend {
        format!("{}; suspended", spec.schedule)
    } else {
        format!("{}; last {last}", spec.schedule)
    }
}

fn tell(wx: &mut Wx<'_>, item: &Managed, said: Said) {
    wx.tell(controller_name(WorkloadKind::CronJob), "CronJob", &item.workload.key(), said);
}

pub(super) fn sync(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &CronJobSpec) {
    let key = (WorkloadKind::CronJob, item.workload.key());
    let jobs = all.owned_by(WorkloadKind::Job, item);
    clean_up(all, wx, spec, &jobs);
    let schedule = match Schedule::parse(&spec.schedule) {
        Ok(schedule) => schedule,
        Err(error) => {
            return tell(
                wx,
                item,
                Said::failed("UnparseableSchedule", format!("unparseable schedule: {error}")),
            );
        }
    };
    if !matches!(spec.time_zone.as_str(), "" | "UTC" | "Etc/UTC") {
        let note =
            format!("its times are taken as UTC: there are no time zones here, such as {}", spec.time_zone);
        tell(wx, item, Said::failed("UnknownTimeZone", note));
    }
    if spec.suspend {
        return;
    }
    let last = item.last_schedule.unwrap_or_else(|| item.created()).min(wx.now);
    let mut due = None;
    let mut next = schedule.next(last);
    for _ in 0..MISSED_MAX {
        match next {
            Some(at) if at <= wx.now => {
                due = Some(at);
                next = schedule.next(at);
            }
            _ => break,
        }
    }
    if let Some(at) = next {
        wx.alarms.set(Alarm::Workload(key.0, key.1.clone()), at);
    }
    let Some(at) = due else { return };
    all.edit(&key, |item| item.last_schedule = Some(at));
    let deadline = spec.starting_deadline_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    if deadline.is_some_and(|seconds| at + Duration::from_secs(seconds) < wx.now) {
        return tell(
            wx,
            item,
            Said::failed(
                "MissSchedule",
                format!("Missed scheduled time to start a job: {}", at.to_rfc3339()),
            ),
        );
    }
    let running: Vec<&Arc<Managed>> = jobs.iter().filter(|job| job.job.finished.is_none()).collect();
    match spec.concurrency_policy.as_str() {
        "Forbid" if !running.is_empty() => {
            return tell(
                wx,
                item,
                Said::begun(
                    "JobAlreadyActive",
                    "Not starting job because prior execution is running and concurrency policy is Forbid",
                ),
            );
        }
        "Replace" => {
            for job in running {
                let _ = all.delete(wx, &(WorkloadKind::Job, job.workload.key()));
            }
        }
        _ => {}
    }
    let template = &spec.job_template;
    let name = format!("{}-{}", item.workload.metadata.name, at.as_nanos() / 60_000_000_000);
    let metadata = ObjectMeta {
        name: Str::from(name),
        namespace: item.workload.metadata.namespace.clone(),
        labels: template.metadata.labels.clone(),
        annotations: template.metadata.annotations.clone(),
        ..ObjectMeta::default()
    };
    let job = Workload {
        metadata,
        spec: WorkloadSpec::Job(Box::new(template.spec.clone())),
        status: WorkloadStatus::default(),
    };
    if all.get(&(WorkloadKind::Job, job.key())).is_none() {
        all.add_owned(wx, item, job, None);
    }
}

/// Finished jobs beyond the limits go, the oldest first.
fn clean_up(all: &mut Workloads, wx: &mut Wx<'_>, spec: &CronJobSpec, jobs: &[Arc<Managed>]) {
    for (is_well, limit) in [
        (true, spec.successful_jobs_history_limit.unwrap_or(3)),
        (false, spec.failed_jobs_history_limit.unwrap_or(1)),
    ] {
        let mut over: Vec<&Arc<Managed>> = jobs
            .iter()
            .filter(|job| job.job.finished.as_ref().is_some_and(|(_, well, _)| *well == is_well))
            .collect();
        over.sort_by_key(|job| (job.created(), job.workload.metadata.name.clone()));
        let surplus = over.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        for job in over.into_iter().take(surplus) {
            let _ = all.delete(wx, &(WorkloadKind::Job, job.workload.key()));
        }
    }
}
