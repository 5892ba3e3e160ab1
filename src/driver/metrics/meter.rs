//! The meter of a scheduler that serves: its clock, its samples, and what it makes of what it is told.

#![expect(clippy::disallowed_methods, reason = "a meter has a clock")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use crate::framework::Framework;
use crate::framework::meter::{Measurement, Meter, Stamp};

use super::families::Metric;
use super::registry::Registry;

/// One attempt in so many is a sample (`pluginMetricsSamplePercent`, 10).
const SAMPLE_EVERY: u64 = 10;
/// From so many attempts on they are counted together.
const ATTEMPTS_TOLD_MAX: u32 = 15;

/// Measures a scheduler into a registry, and logs what kube-scheduler logs of attempts.
#[derive(Debug)]
pub struct SchedulerMeter {
    registry: Arc<Registry>,
    epoch: Instant,
    n_asked: AtomicU64,
}

impl SchedulerMeter {
    /// A meter that counts from now on.
    pub fn new(registry: Arc<Registry>) -> Self {
        for queue in ["active", "backoff", "gated", "unschedulable"] {
            registry.touch(Metric::PendingPods, &[queue]);
        }
        registry.touch(Metric::InflightEvents, &["PodPopped"]);
        registry.touch(Metric::Goroutines, &["binding"]);
        Self { registry, epoch: Instant::now(), n_asked: AtomicU64::new(0) }
    }

    /// Sees that what the plugins of a profile may count is printed from the start on.
    pub fn expect_profile(&self, framework: &Framework) {
        let points = &framework.plugins;
        let scores = points.score.iter().map(|weighted| weighted.plugin.name());
        let counted = [
            ("PreFilter", points.pre_filter.iter().map(|plugin| plugin.name()).collect::<Vec<_>>()),
            ("Filter", points.filter.iter().map(|plugin| plugin.name()).collect()),
            ("PreScore", points.pre_score.iter().map(|plugin| plugin.name()).collect()),
            ("Score", scores.collect()),
        ];
        for (point, plugins) in counted {
            for plugin in plugins {
                let labels = [point, plugin, &framework.profile_name];
                self.registry.touch(Metric::PluginEvaluationTotal, &labels);
            }
        }
    }

    fn seconds_since(&self, since: Stamp) -> f64 {
        let now = self.stamp().0;
        std::time::Duration::from_nanos(now.saturating_sub(since.0)).as_secs_f64()
    }

    fn attempt(&self, profile: &str, result: &str, since: Option<Stamp>) {
        self.registry.add(Metric::ScheduleAttemptsTotal, &[profile, result], 1.0);
        if let Some(since) = since {
            let seconds = self.seconds_since(since);
            self.registry.observe(Metric::SchedulingAttemptDurationSeconds, &[profile, result], seconds);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
impl Meter for SchedulerMeter {
    fn stamp(&self) -> Stamp {
        Stamp(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn is_sample(&self) -> bool {
        self.n_asked.fetch_add(1, Ordering::Relaxed).is_multiple_of(SAMPLE_EVERY)
    }

    fn take(&self, measurement: Measurement<'_>) {
        let registry = &self.registry;
        match measurement {
            Measurement::Point { profile, point, code, since } => {
                let labels = [point, profile, code.as_str()];
                let seconds = self.seconds_since(since);
                registry.observe(Metric::FrameworkExtensionPointDurationSeconds, &labels, seconds);
            }
            Measurement::Plugin { plugin, point, code, since } => {
                let labels = [point, plugin, code.as_str()];
                let seconds = self.seconds_since(since);
                registry.observe(Metric::PluginExecutionDurationSeconds, &labels, seconds);
            }
            Measurement::Evaluated { profile, plugin, point, n } => {
                registry.add(Metric::PluginEvaluationTotal, &[point, plugin, profile], n as f64);
            }
            Measurement::Algorithm { since } => {
                let seconds = self.seconds_since(since);
                registry.observe(Metric::SchedulingAlgorithmDurationSeconds, &[], seconds);
            }
            Measurement::Failed { profile, pod, is_rejection, message, since } => {
                if is_rejection {
                    self.attempt(profile, "unschedulable", since);
                    tracing::info!(v = 2, pod = %pod, err = message, "Unable to schedule pod; no fit; waiting");
                } else {
                    self.attempt(profile, "error", since);
                    tracing::error!(pod = %pod, err = message, "Error scheduling pod; retrying");
                }
            }
            Measurement::Bound { profile, pod, node, evaluated, feasible, .. } => {
                self.bound(measurement, profile);
                tracing::info!(
                    v = 2,
                    pod = %pod,
                    node = %node,
                    evaluatedNodes = evaluated,
                    feasibleNodes = feasible,
                    "Successfully bound pod to node"
                );
            }
            Measurement::PermitWait { code, since } => {
                let seconds = self.seconds_since(since);
                registry.observe(Metric::PermitWaitDurationSeconds, &[code.as_str()], seconds);
            }
            Measurement::PreemptionTried => registry.add(Metric::PreemptionAttemptsTotal, &[], 1.0),
            Measurement::PreemptionVictims { preemptor, node, n } => {
                registry.observe(Metric::PreemptionVictims, &[], n as f64);
                tracing::info!(v = 2, preemptor, node, numVictims = n, "Start the preemption asynchronously");
            }
            Measurement::PreemptionEnded { is_success, since } => {
                let result = if is_success { "success" } else { "error" };
                registry.add(Metric::PreemptionGoroutinesExecutionTotal, &[result], 1.0);
                if let Some(since) = since {
                    let seconds = self.seconds_since(since);
                    registry.observe(Metric::PreemptionGoroutinesDurationSeconds, &[result], seconds);
                }
            }
            Measurement::Entered { queue, event } => {
                let queue = match queue {
                    "Active" => "active",
                    "Backoff" => "backoff",
                    _ => "unschedulable",
                };
                registry.add(Metric::QueueIncomingPodsTotal, &[event, queue], 1.0);
            }
            Measurement::Hint { plugin, event, hint, since } => {
                let seconds = self.seconds_since(since);
                let labels = [event, hint, plugin];
                registry.observe(Metric::QueueingHintExecutionDurationSeconds, &labels, seconds);
            }
            Measurement::EventHandled { event, since } => {
                let seconds = self.seconds_since(since);
                registry.observe(Metric::EventHandlingDurationSeconds, &[event], seconds);
            }
            Measurement::NodeHint { profile, is_hinted, since } => {
                let hinted = if is_hinted { "hint" } else { "no_hint" };
                let seconds = self.seconds_since(since);
                registry.observe(Metric::GetNodeHintDurationSeconds, &[hinted, profile], seconds);
                if !is_hinted {
                    registry.add(Metric::BatchAttemptsTotal, &[profile, "no_hint"], 1.0);
                }
            }
            Measurement::ResultsStored { profile, hint, since } => {
                let seconds = self.seconds_since(since);
                registry.observe(Metric::StoreScheduleResultsDurationSeconds, &[profile], seconds);
                if let Some(hint) = hint {
                    registry.add(Metric::BatchAttemptsTotal, &[profile, hint], 1.0);
                }
            }
            Measurement::BatchFlushed { profile, reason } => {
                registry.add(Metric::BatchCacheFlushedTotal, &[profile, reason], 1.0);
            }
        }
    }
}

impl SchedulerMeter {
    fn bound(&self, measurement: Measurement<'_>, profile: &str) {
        let Measurement::Bound { attempts, first_tried, was_flushed, since, .. } = measurement else {
            return;
        };
        let registry = &self.registry;
        self.attempt(profile, "scheduled", since);
        registry.observe(Metric::PodSchedulingAttempts, &[], f64::from(attempts));
        if let Some(took) = first_tried {
            let label = if attempts >= ATTEMPTS_TOLD_MAX {
                format!("{ATTEMPTS_TOLD_MAX}+")
            } else {
                attempts.to_string()
            };
            let seconds = took.as_secs_f64();
            registry.observe(Metric::PodSchedulingSliDurationSeconds, &[&label], seconds);
        }
        if was_flushed {
            registry.add(Metric::PodScheduledAfterFlushTotal, &[], 1.0);
        }
    }
}
