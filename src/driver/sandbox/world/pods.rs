//! What the controllers of a living cluster ask of pods, and how their conditions are written.

use std::sync::Arc;

use super::Wx;
use crate::api::objects::{Pod, PodCondition};
use crate::api::{Duration, NamespacedName, Time};
use crate::driver::sandbox::api::SandboxApi;

/// The prefix of the annotations that say how a pod behaves here.
const PREFIX: &str = "sandbox.schedscope.dev/";

/// The value of an annotation of the sandbox.
pub(super) fn annotation<'a>(pod: &'a Pod, name: &str) -> Option<&'a str> {
    pod.metadata.annotations.get(format!("{PREFIX}{name}").as_str()).map(AsRef::as_ref)
}

/// Whether the pod counts: it has not ended and is not on its way out.
pub(super) fn is_active(pod: &Pod) -> bool {
    !pod.is_terminal() && !pod.is_terminating()
}

/// The condition Ready as kubelets write it. A running pod without one is from a manifest that leaves it out.
pub(super) fn is_ready(pod: &Pod) -> bool {
    match pod.condition("Ready") {
        Some(condition) => condition.status == "True",
        None => pod.status.phase == "Running",
    }
}

/// Whether it counts as ready; where there are no kubelets, one that has a node does, unless it says otherwise.
pub(super) fn counts_as_ready(api: &SandboxApi, pod: &Pod) -> bool {
    if api.has_kubelets() {
        is_ready(pod)
    } else {
        pod.is_assigned() && pod.condition("Ready").is_none_or(|condition| condition.status == "True")
    }
}

/// Since when it is ready; absent where that is not known.
pub(super) fn ready_since(pod: &Pod) -> Option<Time> {
    pod.condition("Ready").and_then(|condition| condition.last_transition_time)
}

impl Wx<'_> {
    /// Whether a pod counts as ready.
    pub(super) fn is_ready(&self, pod: &Pod) -> bool {
        counts_as_ready(self.api, pod)
    }

    /// Whether a pod has been ready for so long, and if not when it will have been.
    pub(super) fn is_available(&self, pod: &Pod, seconds: u64) -> Result<(), Option<Time>> {
        if !self.is_ready(pod) {
            return Err(None);
        }
        let Some(since) = ready_since(pod).filter(|_| seconds > 0) else { return Ok(()) };
        let at = since + Duration::from_secs(seconds);
        if at <= self.now { Ok(()) } else { Err(Some(at)) }
    }

    /// The pod, if it is there.
    pub(super) fn pod(&self, key: &NamespacedName) -> Option<Arc<Pod>> {
        self.api.objects().pods.get(key).cloned()
    }

    /// Writes a pod if it has changed.
    pub(super) fn update(&mut self, old: &Pod, new: Pod) {
        if *old != new {
            self.api.write(new.into());
        }
    }
}

/// Sets a condition as a kubelet does.
pub(super) fn set_condition(pod: &mut Pod, type_: &str, is_true: bool, reason: &str, now: Time) {
    let status = if is_true { "True" } else { "False" };
    let condition = PodCondition {
        type_: type_.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        ..PodCondition::default()
    };
    crate::driver::sandbox::api::set_condition(&mut pod.status, condition, now);
}
