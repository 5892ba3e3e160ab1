//! What follows a failed attempt: back into the queue, the nomination, the event, the condition.
//!
//! Mirrors `handleSchedulingFailure` and `updatePod` of `pkg/scheduler/schedule_one.go`, in their order.

use std::sync::Arc;

use crate::api::Str;
use crate::api::objects::{Pod, PodCondition};
use crate::framework::meter::Measurement;
use crate::framework::{NominatingInfo, PodInfo};

use super::Scheduler;
use super::cycle::{Cycle, Failure};
use super::effect::{EffectId, EffectKind};
use super::pending::PendingEffect;
use super::trace::CycleOutcome;
use super::view::ObjectEvent;

/// The longest note of an Event, in bytes (`validation.NoteLengthLimit`).
const NOTE_LENGTH_LIMIT: usize = 1024;

impl Scheduler {
    /// Ends a failed attempt. The answer is the patch that reports it, if there is anything to report.
    pub(super) fn handle_scheduling_failure(
        &mut self,
        mut cycle: Cycle,
        failure: Failure,
        nominating_info: &NominatingInfo,
    ) -> Option<EffectId> {
        self.counts.failed += 1;
        let message = failure.message();
        let is_rejection = failure.is_rejection();
        let mut queued = cycle.queued.clone();
        queued.unschedulable_plugins.clear();
        queued.pending_plugins.clear();
        if let Failure::Fit(fit_error) = failure {
            queued.unschedulable_plugins = fit_error.diagnosis.unschedulable_plugins;
            queued.pending_plugins = fit_error.diagnosis.pending_plugins;
        }

        let known = self.world.objects.pods.get(&queued.pod().key()).cloned();
        let mut pod_info = Arc::clone(&queued.pod_info);
        match known {
            Some(known) if !known.is_assigned() => {
                if known.uid() != queued.uid() {
                    // Created anew under the same name meanwhile: that one is in the queue by itself.
                    self.queue.done(queued.uid());
                    self.finish_failed(cycle, message, is_rejection, nominating_info);
                    return None;
                }
                pod_info = Arc::new(PodInfo::with_options(known, self.world.request_options));
                queued.pod_info = Arc::clone(&pod_info);
                let env = self.world.queue_env();
                let uid = queued.uid().clone();
                if let Err(error) = self.queue.add_unschedulable_pod_if_not_present(&env, queued) {
                    self.note_problem(&error.to_string());
                    self.queue.done(&uid);
                }
            }
            // Gone, or bound by somebody else.
            Some(_) | None => self.queue.done(queued.uid()),
        }
        self.world.nominator.add_nominated_pod(&self.world.objects, Arc::clone(&pod_info), nominating_info);

        let pod = &pod_info.pod;
        self.record_event(ObjectEvent {
            at: self.world.now,
            type_: "Warning",
            reason: "FailedScheduling",
            action: "Scheduling",
            regarding: pod.key(),
            related: None,
            note: truncate_message(&message),
        });
        let condition = PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: if is_rejection { "Unschedulable" } else { "SchedulerError" }.to_owned(),
            message: message.clone(),
            last_transition_time: None,
            observed_generation: pod.metadata.generation,
        };
        let report = self.patch_pod(pod, Some(condition), nominating_info);
        if self.world.objects.pods.contains_key(&pod.key()) {
            self.last_messages.insert(pod.uid().clone(), Str::from(message.as_str()));
        }
        cycle.queued.pod_info = pod_info;
        self.finish_failed(cycle, message, is_rejection, nominating_info);
        report
    }

    fn finish_failed(
        &mut self,
        mut cycle: Cycle,
        message: String,
        is_rejection: bool,
        nominating_info: &NominatingInfo,
    ) {
        cycle.note(|trace| trace.next = None);
        self.world.metering().tell(|meter| {
            let (profile, pod) = (&*cycle.profile_name, &cycle.queued.pod().key());
            let (message, since) = (message.as_str(), cycle.stamp);
            if let (None, Some(since)) = (&cycle.host, since) {
                meter.take(Measurement::Algorithm { since });
            }
            meter.take(Measurement::Failed { profile, pod, is_rejection, message, since });
        });
        let outcome = if is_rejection {
            let nominated_node = match nominating_info {
                NominatingInfo::Override(node) if !node.is_empty() => Some(node.clone()),
                NominatingInfo::Override(_) | NominatingInfo::Noop => None,
            };
            CycleOutcome::Unschedulable { message, nominated_node }
        } else {
            CycleOutcome::Error { message }
        };
        self.finish_trace(cycle, outcome);
    }

    /// Writes a condition and the nomination, where they differ from what the pod has (`updatePod`); `None` if
    /// neither does.
    pub(super) fn patch_pod(
        &mut self,
        pod: &Arc<Pod>,
        condition: Option<PodCondition>,
        nominating_info: &NominatingInfo,
    ) -> Option<EffectId> {
        let condition = condition.filter(|new| is_new_condition(pod, new));
        let nominated_node_name = match nominating_info {
            NominatingInfo::Override(node) if *node != pod.status.nominated_node_name => Some(node.clone()),
            NominatingInfo::Override(_) | NominatingInfo::Noop => None,
        };
        if condition.is_none() && nominated_node_name.is_none() {
            return None;
        }
        let id = self.emit(EffectKind::PatchPodStatus {
            pod: pod.key(),
            uid: pod.uid().clone(),
            condition,
            nominated_node_name,
            base: Arc::clone(pod),
        });
        let what = Str::from(format!("updating the status of pod {}", pod.key()));
        self.pending_effects.insert(id, PendingEffect::Report { what });
        Some(id)
    }
}

/// Whether setting the condition would change the pod (`podutil.UpdatePodCondition`).
pub(super) fn is_new_condition(pod: &Pod, new: &PodCondition) -> bool {
    pod.condition(&new.type_)
        .is_none_or(|old| old.status != new.status || old.reason != new.reason || old.message != new.message)
}

fn truncate_message(message: &str) -> String {
    const SUFFIX: &str = " ...";
    if message.len() <= NOTE_LENGTH_LIMIT {
        return message.to_owned();
    }
    let mut end = NOTE_LENGTH_LIMIT - SUFFIX.len();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    let kept = message.get(..end).unwrap_or_default();
    format!("{kept}{SUFFIX}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_notes_end_with_dots_within_the_limit() {
        assert_eq!(truncate_message("short"), "short");
        let long = truncate_message(&"x".repeat(2000));
        assert_eq!(long.len(), NOTE_LENGTH_LIMIT);
        assert!(long.ends_with("x ..."));
    }
}
