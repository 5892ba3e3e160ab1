//! A person's word for pods that Permit plugins hold.
//!
//! It goes the way of the plugins' own (`waitingPod.Allow`, `waitingPod.Reject`): inputs of the core, recorded and
//! replayed as such. Nothing is decided here.

use super::session::Edit;
use crate::api::{NamespacedName, Uid};
use crate::scheduler::Scheduler;
use crate::scheduler::input::{Command, Input};

/// What the attempt of a pod ends with that a person has turned down.
const MESSAGE: &str = "rejected by hand";

/// The inputs that carry out [`Edit::Allow`] or [`Edit::Reject`], and the sentence that says so.
///
/// # Errors
/// One sentence if the pod does not wait, or if the edit is another one.
pub(super) fn signals(scheduler: &Scheduler, edit: &Edit) -> Result<(Vec<Input>, String), String> {
    let (Edit::Allow(key) | Edit::Reject(key)) = edit else {
        return Err("this is no word for a waiting pod".to_owned());
    };
    let (uid, plugins) = held(scheduler, key)
        .ok_or_else(|| format!("pod {key} does not wait at Permit: there is nothing to allow or reject"))?;
    if matches!(edit, Edit::Allow(_)) {
        let said = format!("pod {key} was allowed, in the name of {}", plugins.join(", "));
        let allow = |plugin| Input::Command(Command::AllowWaitingPod { uid: uid.clone(), plugin });
        return Ok((plugins.into_iter().map(allow).collect(), said));
    }
    let plugin = plugins.into_iter().next().unwrap_or_default();
    let said = format!("pod {key} was turned down, in the name of {plugin}");
    let message = MESSAGE.to_owned();
    Ok((vec![Input::Command(Command::RejectWaitingPod { uid, plugin, message })], said))
}

/// The uid of a pod that waits, and the plugins that hold it.
fn held(scheduler: &Scheduler, key: &NamespacedName) -> Option<(Uid, Vec<String>)> {
    let waiting = scheduler.waiting_pods().iter().find(|waiting| {
        let metadata = &waiting.pod_info.pod.metadata;
        waiting.signal.is_none() && metadata.name == key.name && metadata.namespace == key.namespace
    })?;
    let plugins = waiting.pending_plugins.keys().map(ToString::to_string).collect();
    Some((waiting.pod_info.uid().clone(), plugins))
}
