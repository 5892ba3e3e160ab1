//! Pod garbage collection: pods of nodes that do not exist are deleted.
//!
//! Follows `gcOrphaned` of `pkg/controller/podgc/gc_controller.go`: a node must be missing for the quarantine (40 s), then
//! its pods are marked as failed, with the condition DisruptionTarget, and deleted at once. What upstream looks for every
//! 20 s is done here when the quarantine is over. Left out: the threshold of pods that have ended, and pods that are
//! terminating without a node or on one that is out of service.

use super::Wx;
use super::alarms::Alarm;
use super::kubelets::Ended;
use super::settings::Part;
use super::workloads::Workloads;
use crate::api::objects::{Pod, PodCondition};
use crate::api::{Duration, Kind, Str};
use crate::driver::sandbox::api::set_condition;
use crate::driver::sandbox::controllers::Said;

const NAME: &str = "pod-garbage-collector";

/// How long a node must be missing.
pub(in crate::driver::sandbox) const QUARANTINE: Duration = Duration::from_secs(40);

/// A node has come or gone, or has got a pod. Whether it has come back to pods that were waiting for their end.
pub(super) fn look(wx: &mut Wx<'_>, node: &Str) -> bool {
    let alarm = Alarm::Orphans(node.clone());
    if wx.api.objects().node(node).is_some() {
        let was_missing = wx.alarms.at(&alarm).is_some();
        wx.alarms.cancel(&alarm);
        return was_missing;
    }
    let has_pods =
        !wx.pods_on(node).is_empty() || wx.api.ended_pods().any(|(_, pod)| pod["spec"]["nodeName"] == **node);
    if wx.settings.has(Part::Nodes) && has_pods && wx.alarms.at(&alarm).is_none() {
        wx.alarms.set(alarm, wx.now + QUARANTINE);
    }
    false
}

/// The quarantine of a node is over.
pub(super) fn collect(wx: &mut Wx<'_>, workloads: &mut Workloads, node: &Str) {
    if wx.api.objects().node(node).is_some() || !wx.settings.has(Part::Nodes) {
        return;
    }
    for pod in wx.pods_on(node) {
        let key = pod.key();
        let mut last = Pod::clone(&pod);
        "Failed".clone_into(&mut last.status.phase);
        let condition = PodCondition {
            type_: "DisruptionTarget".to_owned(),
            status: "True".to_owned(),
            reason: "DeletionByPodGC".to_owned(),
            message: "PodGC: node no longer exists".to_owned(),
            ..PodCondition::default()
        };
        set_condition(&mut last.status, condition, wx.now);
        wx.api.end_pod(last.clone(), None);
        workloads.ended(wx, &Ended { pod: last.into(), has_succeeded: false });
        let said = Said::done("DeletionByPodGC", format!("is deleted: its node {node} no longer exists"));
        wx.tell(NAME, Kind::Pod.as_str(), &key, said);
    }
    wx.api.drop_ended(|pod| pod["spec"]["nodeName"] == **node);
}
