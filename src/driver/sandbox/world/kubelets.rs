//! The kubelets: pods start when their images are there, run, end or are restarted, and stop in time.
//!
//! A stand-in for `pkg/kubelet`, not a copy: one step after the other with times that annotations of the pod set
//! (docs/world.md). What other parts see of it is as real kubelets write it: phase, conditions, the images of the node.
//! A container that ends is restarted as the pod's restartPolicy says, with the waits of CrashLoopBackOff
//! (10 s, doubled up to 5 min, from the start again after 10 min of running). A pod that has ended leaves the sandbox,
//! since the watch of a scheduler leaves it out; its owner is told, and clients of the API still see it. A node that is
//! down does nothing and says nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use super::alarms::Alarm;
use super::images::Images;
use super::pods::{annotation, is_ready, set_condition};
use super::settings::Part;
use super::{Item, Wx};
use crate::api::objects::{Container, Pod};
use crate::api::time::parse_human_duration;
use crate::api::{Duration, Kind, NamespacedName, Str, Time, Uid};
use crate::driver::sandbox::api::grace_period;
use crate::driver::sandbox::controllers::Said;

pub(super) const NAME: &str = "kubelet";

const BACKOFF_FIRST: Duration = Duration::from_secs(10);
const BACKOFF_MAX: Duration = Duration::from_secs(300);
/// Whoever has run for so long is restarted at once again.
const BACKOFF_FORGOTTEN: Duration = Duration::from_secs(600);

/// Where a pod on a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Its images are pulled, its containers made.
    Starting,
    Running,
    /// A container has ended and is restarted later.
    BackOff,
    Stopping,
}

/// A pod on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PodRun {
    uid: Uid,
    stage: Stage,
    /// When its containers were started last.
    started: Time,
    ready_at: Option<Time>,
    ends_at: Option<Time>,
    restarts: u32,
    /// Restarts since it last ran for long.
    in_a_row: u32,
}

/// How a pod has ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ended {
    /// As it was last.
    pub pod: Arc<Pod>,
    pub has_succeeded: bool,
}

/// All kubelets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kubelets {
    runs: BTreeMap<NamespacedName, PodRun>,
    pub(super) images: Images,
    /// The nodes that are down.
    down: BTreeMap<Str, Time>,
}

impl Kubelets {
    /// Whether a node is down.
    pub(super) fn is_down(&self, node: &str) -> bool {
        self.down.contains_key(node)
    }

    /// Whether a pod is on its way somewhere: one that is restarted again and again is not.
    pub(super) fn is_moving(&self) -> bool {
        self.runs.values().any(|run| match run.stage {
            Stage::Starting | Stage::Stopping => true,
            Stage::Running => run.restarts == 0 && run.next().is_some(),
            Stage::BackOff => false,
        })
    }

    /// How often containers of a pod were restarted.
    pub(super) fn restarts(&self, pod: &NamespacedName) -> u32 {
        self.runs.get(pod).map_or(0, |run| run.restarts)
    }

    /// Looks at a pod that has changed.
    pub(super) fn sync_pod(&mut self, wx: &mut Wx<'_>, key: &NamespacedName) {
        let pod = wx.pod(key).filter(|pod| pod.is_assigned());
        let known = self.runs.get(key);
        if known.is_some_and(|run| pod.as_ref().is_none_or(|pod| *pod.uid() != run.uid)) {
            self.forget_pod(wx, key);
        }
        let Some(pod) = pod else { return };
        if self.is_down(&pod.spec.node_name) {
            wx.alarms.cancel(&Alarm::Pod(key.clone()));
            return;
        }
        let stage = self.runs.get(key).map(|run| run.stage);
        let is_planned = wx.alarms.at(&Alarm::Pod(key.clone())).is_some();
        match stage {
            Some(Stage::Stopping) if is_planned => {}
            _ if pod.is_terminating() => self.stop(wx, key, &pod),
            None if pod.status.phase == "Running" => self.take_over(wx, key, &pod),
            None => self.start(wx, key, &pod),
            Some(_) => {}
        }
    }

    fn forget_pod(&mut self, wx: &mut Wx<'_>, key: &NamespacedName) {
        self.runs.remove(key);
        wx.alarms.cancel(&Alarm::Pod(key.clone()));
    }

    /// A pod that runs already goes on running.
    fn take_over(&mut self, wx: &mut Wx<'_>, key: &NamespacedName, pod: &Arc<Pod>) {
        let ends_at = run_time(wx, pod).map(|time| wx.now + time);
        let run = PodRun {
            uid: pod.uid().clone(),
            stage: Stage::Running,
            started: wx.now,
            ready_at: None,
            ends_at,
            restarts: 0,
            in_a_row: 0,
        };
        if let Some(at) = ends_at {
            wx.alarms.set(Alarm::Pod(key.clone()), at);
        }
        self.runs.insert(key.clone(), run);
        if pod.condition("Ready").is_none() {
            let mut ready = Pod::clone(pod);
            set_condition(&mut ready, "Ready", true, "", wx.now);
            wx.update(pod, ready);
        }
    }

    fn start(&mut self, wx: &mut Wx<'_>, key: &NamespacedName, pod: &Arc<Pod>) {
        let pulled = self.images.pull_all(wx, pod);
        let base = duration(pod, "start-time").unwrap_or(wx.settings.start_time);
        let starts_at = pulled + base + wx.up_to(base);
        if pulled > wx.now {
            let said = Said::begun("Pulling", format!("pulls its images onto {}", pod.spec.node_name));
            wx.tell(NAME, Kind::Pod.as_str(), key, said);
        }
        let run = PodRun {
            uid: pod.uid().clone(),
            stage: Stage::Starting,
            started: starts_at,
            ready_at: None,
            ends_at: None,
            restarts: 0,
            in_a_row: 0,
        };
        self.runs.insert(key.clone(), run);
        wx.alarms.set(Alarm::Pod(key.clone()), starts_at);
    }

    fn stop(&mut self, wx: &mut Wx<'_>, key: &NamespacedName, pod: &Arc<Pod>) {
        let latest = pod.metadata.deletion_timestamp.unwrap_or(wx.now).max(wx.now);
        let time = duration(pod, "stop-time").unwrap_or(wx.settings.stop_time).min(grace_period(pod));
        let gone_at = latest.min(wx.now + time);
        let run = self.runs.entry(key.clone()).or_insert_with(|| PodRun {
            uid: pod.uid().clone(),
            stage: Stage::Stopping,
            started: wx.now,
            ready_at: None,
            ends_at: None,
            restarts: 0,
            in_a_row: 0,
        });
        run.stage = Stage::Stopping;
        wx.alarms.set(Alarm::Pod(key.clone()), gone_at);
    }

    /// The time of a pod has come.
    pub(super) fn step_pod(&mut self, wx: &mut Wx<'_>, key: &NamespacedName) -> Option<Ended> {
        let pod = wx.pod(key).filter(|pod| !self.is_down(&pod.spec.node_name))?;
        // With a node its kubelet is gone.
        wx.api.objects().node(&pod.spec.node_name)?;
        let run = self.runs.get_mut(key)?;
        match run.stage {
            Stage::Stopping => {
                self.runs.remove(key);
                wx.api.remove(Kind::Pod, key);
                None
            }
            Stage::Starting | Stage::BackOff => {
                let is_restart = run.stage == Stage::BackOff;
                run.stage = Stage::Running;
                run.started = wx.now;
                let wait = duration(&pod, "ready-time").filter(|wait| !wait.is_zero());
                run.ready_at = wait.map(|wait| wx.now + wait);
                run.ends_at = run_time(wx, &pod).map(|time| wx.now + time);
                let is_ready = run.ready_at.is_none();
                if let Some(next) = run.next() {
                    wx.alarms.set(Alarm::Pod(key.clone()), next);
                }
                self.runs_now(wx, key, &pod, is_ready);
                let (reason, note) = if is_restart {
                    ("Restarted", "its container is started again".to_owned())
                } else {
                    ("Started", format!("runs on {}", pod.spec.node_name))
                };
                wx.tell(NAME, Kind::Pod.as_str(), key, Said::done(reason, note));
                None
            }
            Stage::Running => {
                if run.ready_at.is_some_and(|at| at <= wx.now) {
                    run.ready_at = None;
                    if let Some(next) = run.next() {
                        wx.alarms.set(Alarm::Pod(key.clone()), next);
                    }
                    self.runs_now(wx, key, &pod, true);
                    return None;
                }
                if run.ends_at.is_some_and(|at| at <= wx.now) { self.end(wx, key, &pod) } else { None }
            }
        }
    }

    /// Writes that a pod runs.
    fn runs_now(&mut self, wx: &mut Wx<'_>, key: &NamespacedName, old: &Arc<Pod>, is_ready: bool) {
        let mut pod = Pod::clone(old);
        "Running".clone_into(&mut pod.status.phase);
        pod.status.start_time.get_or_insert(wx.now);
        let reason = if is_ready { "" } else { "ContainersNotReady" };
        set_condition(&mut pod, "Initialized", true, "", wx.now);
        set_condition(&mut pod, "ContainersReady", is_ready, reason, wx.now);
        set_condition(&mut pod, "Ready", is_ready, reason, wx.now);
        wx.update(old, pod);
        wx.due.insert(Item::Owner(key.clone()));
    }

    /// The containers of a pod have ended.
    fn end(&mut self, wx: &mut Wx<'_>, key: &NamespacedName, pod: &Arc<Pod>) -> Option<Ended> {
        let has_succeeded = succeeds(wx, pod);
        let policy = pod.spec.restart_policy();
        let is_restarted = policy == "Always" || (policy == "OnFailure" && !has_succeeded);
        let kind = Kind::Pod.as_str();
        if !is_restarted {
            let run = self.runs.get(key).cloned();
            self.forget_pod(wx, key);
            let said = if has_succeeded {
                Said::done("Completed", "has succeeded")
            } else {
                Said::failed("Failed", "has failed").again()
            };
            wx.tell(NAME, kind, key, said);
            let mut last = Pod::clone(pod);
            let phase = if has_succeeded { "Succeeded" } else { "Failed" };
            phase.clone_into(&mut last.status.phase);
            let reason = if has_succeeded { "PodCompleted" } else { "PodFailed" };
            set_condition(&mut last, "ContainersReady", false, reason, wx.now);
            set_condition(&mut last, "Ready", false, reason, wx.now);
            let containers = run.map(|run| run.ended(pod, has_succeeded, wx.now));
            wx.api.end_pod(last.clone(), containers);
            return Some(Ended { pod: Arc::new(last), has_succeeded });
        }
        let run = self.runs.get_mut(key)?;
        if wx.now.saturating_since(run.started) >= BACKOFF_FORGOTTEN {
            run.in_a_row = 0;
        }
        let wait = match run.in_a_row {
            0 => Duration::ZERO,
            n => BACKOFF_FIRST.saturating_mul(2_u32.saturating_pow(n - 1)).min(BACKOFF_MAX),
        };
        run.restarts += 1;
        run.in_a_row += 1;
        run.stage = Stage::BackOff;
        run.ends_at = None;
        let at = wx.now + wait + wx.settings.start_time;
        wx.alarms.set(Alarm::Pod(key.clone()), at);
        if !wait.is_zero() {
            let said = Said::failed("BackOff", "back-off restarting its failed container").again();
            wx.tell(NAME, kind, key, said);
        }
        let mut waiting = Pod::clone(pod);
        set_condition(&mut waiting, "ContainersReady", false, "ContainersNotReady", wx.now);
        set_condition(&mut waiting, "Ready", false, "ContainersNotReady", wx.now);
        wx.update(pod, waiting);
        wx.due.insert(Item::Owner(key.clone()));
        None
    }

    /// A node is cut off: nothing on it starts, ends or is told.
    ///
    /// # Errors
    /// If it is down already, or not there.
    pub(super) fn node_down(&mut self, wx: &mut Wx<'_>, node: &Str) -> Result<String, String> {
        if wx.api.objects().node(node).is_none() {
            return Err(format!("nodes {:?} not found", &**node));
        }
        if self.down.insert(node.clone(), wx.now).is_some() {
            return Err(format!("node {node} is down already; `:node-up {node}` brings it back"));
        }
        for pod in wx.pods_on(node) {
            wx.alarms.cancel(&Alarm::Pod(pod.key()));
        }
        wx.alarms.set(Alarm::Silence(node.clone()), wx.now + wx.settings.node_monitor_grace);
        let grace = crate::api::time::go_duration(wx.settings.node_monitor_grace);
        Ok(if wx.settings.has(Part::Nodes) {
            format!("node {node} is down; the cluster will notice in {grace}")
        } else {
            format!("node {node} is down; nobody will notice, since the part nodes is off")
        })
    }

    /// A node is back and goes on from where it was.
    ///
    /// # Errors
    /// If it is not down.
    pub(super) fn node_up(&mut self, wx: &mut Wx<'_>, node: &Str) -> Result<String, String> {
        if self.down.remove(node).is_none() {
            return Err(format!("node {node} is not down"));
        }
        wx.alarms.cancel(&Alarm::Silence(node.clone()));
        super::nodes::is_heard_of(wx, node);
        for pod in wx.pods_on(node) {
            let key = pod.key();
            if pod.is_terminating() || !self.runs.contains_key(&key) {
                self.sync_pod(wx, &key);
                continue;
            }
            let Some(run) = self.runs.get(&key) else { continue };
            let is_up = run.stage == Stage::Running && run.ready_at.is_none();
            let next = if run.stage == Stage::Running { run.next() } else { Some(run.started.max(wx.now)) };
            if let Some(at) = next {
                wx.alarms.set(Alarm::Pod(key.clone()), at.max(wx.now));
            }
            if is_up && !is_ready(&pod) {
                self.runs_now(wx, &key, &pod, true);
            }
        }
        self.images.report_soon(wx, node);
        Ok(format!("node {node} is back"))
    }

    /// Kubelets act again: what they have missed is due now.
    pub(super) fn resume(&mut self, wx: &mut Wx<'_>) {
        for (key, run) in &self.runs {
            let alarm = Alarm::Pod(key.clone());
            let next = if run.stage == Stage::Running { run.next() } else { Some(run.started) };
            if let Some(at) = next.filter(|_| wx.alarms.at(&alarm).is_none()) {
                wx.alarms.set(alarm, at.max(wx.now));
            }
        }
    }

    /// A node is gone.
    pub(super) fn forget_node(&mut self, wx: &mut Wx<'_>, node: &Str) {
        self.down.remove(node);
        self.images.forget_node(node);
        wx.alarms.cancel(&Alarm::Silence(node.clone()));
        wx.alarms.cancel(&Alarm::Report(node.clone()));
    }
}

impl PodRun {
    /// When something happens to a running pod next.
    fn next(&self) -> Option<Time> {
        [self.ready_at, self.ends_at].into_iter().flatten().min()
    }

    /// `status.containerStatuses` of the pod when its containers have ended for good.
    fn ended(&self, pod: &Pod, has_succeeded: bool, now: Time) -> serde_json::Value {
        let status = |container: &Container| {
            json!({
                "name": &*container.name, "image": &*container.image, "ready": false, "started": false,
                "restartCount": self.restarts,
                "state": {"terminated": {
                    "exitCode": i32::from(!has_succeeded),
                    "reason": if has_succeeded { "Completed" } else { "Error" },
                    "startedAt": self.started.truncate_to_second().to_rfc3339(),
                    "finishedAt": now.truncate_to_second().to_rfc3339(),
                }},
            })
        };
        pod.spec.containers.iter().map(status).collect()
    }
}

/// A length of time in an annotation; one that cannot be read counts as absent.
fn duration(pod: &Pod, name: &str) -> Option<Duration> {
    annotation(pod, name).and_then(parse_human_duration)
}

/// How long the pod runs; absent for ever. `30s`, or a range such as `10s-2m` of which any length is equally likely.
fn run_time(wx: &mut Wx<'_>, pod: &Pod) -> Option<Duration> {
    if let Some(text) = annotation(pod, "run-time") {
        let (from, to) = text.split_once('-').unwrap_or((text, text));
        let (from, to) = (parse_human_duration(from.trim())?, parse_human_duration(to.trim())?);
        return Some(from + wx.up_to(to.saturating_sub(from)));
    }
    let is_of_job = pod.metadata.controller().is_some_and(|owner| owner.kind == "Job");
    let half = wx.settings.job_time / 2;
    is_of_job.then(|| half + wx.up_to(wx.settings.job_time))
}

/// How the pod ends: `Succeeded`, `Failed`, or the share of failures such as `20%`.
fn succeeds(wx: &mut Wx<'_>, pod: &Pod) -> bool {
    let Some(text) = annotation(pod, "outcome") else { return true };
    match text.strip_suffix('%').and_then(|percent| percent.trim().parse::<usize>().ok()) {
        Some(percent) => wx.rng.below(100) >= percent,
        None => !text.eq_ignore_ascii_case("failed"),
    }
}
