//! StatefulSets: pods with numbers, names and claims of their own.
//!
//! Follows `pkg/controller/statefulset/stateful_set_control.go`: with OrderedReady one pod after the other, up and down;
//! Parallel all at once; updates from the largest number down to the partition, one at a time. Left out:
//! maxUnavailable of updates, and revisions of pods that are made again below the partition.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::alarms::Alarm;
use super::{Managed, REVISION_HASH, Workloads, is_of_revision, templates};
use crate::api::objects::{PersistentVolumeClaim, Pod};
use crate::api::workloads::{StatefulSetSpec, WorkloadSpec};
use crate::api::{Kind, NamespacedName, Str};
use crate::driver::sandbox::world::Wx;

/// The number at the end of a pod's name.
pub(super) fn ordinal(set: &str, pod: &str) -> Option<i32> {
    pod.strip_prefix(set)?.strip_prefix('-')?.parse().ok()
}

pub(super) fn sync(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &StatefulSetSpec) {
    let set = item.workload.metadata.name.clone();
    let pods: BTreeMap<i32, Arc<Pod>> = all
        .pods_of(wx.api, item.uid())
        .into_iter()
        .filter(|pod| !pod.is_terminal())
        .filter_map(|pod| Some((ordinal(&set, &pod.metadata.name)?, pod)))
        .collect();
    let start = spec.ordinals.start;
    let wanted = start..start.saturating_add(spec.replicas.unwrap_or(1));
    let is_ordered = spec.pod_management_policy != "Parallel";
    let is_healthy = |wx: &mut Wx<'_>, pod: &Pod| {
        if pod.is_terminating() {
            return false;
        }
        match wx.is_available(pod, item.workload.min_ready_seconds()) {
            Ok(()) => true,
            Err(at) => {
                if let Some(at) = at {
                    wx.alarms.set_by(Alarm::Workload(item.kind(), item.workload.key()), at);
                }
                false
            }
        }
    };
    for number in wanted.clone() {
        match pods.get(&number) {
            None => {
                let is_made = create(all, wx, item, spec, number);
                if is_ordered || !is_made {
                    return;
                }
            }
            Some(pod) if is_ordered && !is_healthy(wx, pod) => return,
            Some(_) => {}
        }
    }
    // The rest goes, the largest number first.
    let condemned: Vec<&Arc<Pod>> =
        pods.iter().rev().filter(|(number, _)| !wanted.contains(number)).map(|(_, pod)| pod).collect();
    for pod in &condemned {
        if pod.is_terminating() {
            if is_ordered {
                return;
            }
            continue;
        }
        all.delete_pod(wx, item, pod);
        if spec.persistent_volume_claim_retention_policy.when_scaled == "Delete" {
            delete_claims(wx, item, spec, &pod.metadata.name);
        }
        if is_ordered {
            return;
        }
    }
    if !condemned.is_empty() || spec.update_strategy.type_ == "OnDelete" {
        return;
    }
    let partition = start.saturating_add(spec.update_strategy.rolling_update.partition);
    for (number, pod) in pods.iter().rev().filter(|(number, _)| wanted.contains(number)) {
        if *number < partition {
            break;
        }
        if !is_of_revision(item, pod) && !pod.is_terminating() {
            all.delete_pod(wx, item, pod);
            return;
        }
        if !is_healthy(wx, pod) {
            return;
        }
    }
}

fn create(all: &mut Workloads, wx: &mut Wx<'_>, item: &Managed, spec: &StatefulSetSpec, number: i32) -> bool {
    let name = Str::from(format!("{}-{number}", item.workload.metadata.name));
    let mut pod = templates::pod(item, name.clone());
    templates::set_label(&mut pod, "statefulset.kubernetes.io/pod-name", name.clone());
    templates::set_label(&mut pod, "apps.kubernetes.io/pod-index", number.to_string());
    templates::set_label(&mut pod, REVISION_HASH, item.revision.clone());
    for template in &spec.volume_claim_templates {
        let claim_name = claim_name(template, &name);
        create_claim(wx, item, template, &claim_name);
        let volume = template.metadata.name.to_string();
        pod.spec.volumes.retain(|known| known.get("name").and_then(|name| name.as_str()) != Some(&volume));
        let volume =
            serde_json::json!({"name": volume, "persistentVolumeClaim": {"claimName": &*claim_name}});
        if let serde_json::Value::Object(fields) = volume {
            pod.spec.volumes.push(fields.into_iter().collect());
        }
    }
    all.create_pod(wx, item, pod)
}

/// `TEMPLATE-SET-NUMBER`.
fn claim_name(template: &PersistentVolumeClaim, pod: &str) -> Str {
    Str::from(format!("{}-{pod}", template.metadata.name))
}

/// A claim that is there already is used again.
fn create_claim(wx: &mut Wx<'_>, item: &Managed, template: &PersistentVolumeClaim, name: &Str) {
    let namespace = item.workload.metadata.namespace.clone();
    let key = NamespacedName::new(namespace.clone(), name.clone());
    if wx.api.objects().persistent_volume_claims.contains_key(&key) {
        return;
    }
    let mut claim = PersistentVolumeClaim::clone(template);
    claim.metadata.name = name.clone();
    claim.metadata.namespace = namespace;
    if let Some(selector) = item.workload.label_selector() {
        claim.metadata.labels.extend(selector.match_labels.clone());
    }
    // There is none of that name.
    let _ = wx.api.create(claim.into(), wx.now);
}

fn delete_claims(wx: &mut Wx<'_>, item: &Managed, spec: &StatefulSetSpec, pod: &str) {
    for template in &spec.volume_claim_templates {
        let name = claim_name(template, pod);
        let key = NamespacedName::new(item.workload.metadata.namespace.clone(), name);
        let _ = wx.api.delete_object(Kind::PersistentVolumeClaim, &key, wx.now);
    }
}

/// The set is deleted: its claims stay, unless they are to go with it.
pub(super) fn release_claims(wx: &mut Wx<'_>, item: &Managed) {
    let WorkloadSpec::StatefulSet(spec) = &item.workload.spec else { return };
    if spec.persistent_volume_claim_retention_policy.when_deleted != "Delete" {
        return;
    }
    let start = spec.ordinals.start;
    for number in start..start.saturating_add(spec.replicas.unwrap_or(1)) {
        let pod = format!("{}-{number}", item.workload.metadata.name);
        delete_claims(wx, item, spec, &pod);
    }
}
