//! Workloads as clients of the API see them: whole objects beside the ones that the controllers work with.
//!
//! What a client writes is read and applied; what the controllers do to a workload (a size, a status, a replica set or a
//! job that they make) is written into its document. A document's version tells which of the two has written last.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Wx;
use super::pods::is_active;
use super::workloads::{Key, Managed, Workloads};
use crate::api::Str;
use crate::api::objects::Pod;
use crate::api::workloads::{Workload, WorkloadKind, WorkloadSpec};
use crate::driver::sandbox::api::SandboxApi;
use crate::driver::sandbox::documents::Part;
use crate::driver::sandbox::resources::ResourceId;

/// The resource of a kind.
fn resource(kind: WorkloadKind) -> Option<ResourceId> {
    ResourceId::of_kind(kind.api_version(), kind.as_str())
}

/// The kind of workload of a resource, if it is one.
pub(super) fn kind_of(resource: ResourceId) -> Option<WorkloadKind> {
    WorkloadKind::find(&resource.get().api_version(), resource.get().kind)
}

fn version_of(document: &Value) -> Str {
    Str::from(document.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default())
}

/// All workloads that clients have written.
pub(super) fn keys(api: &SandboxApi) -> Vec<Key> {
    let of_kind = |kind: &WorkloadKind| {
        let documents = resource(*kind).map(|id| api.documents(id)).unwrap_or_default();
        let whole = documents.into_iter().filter(|(_, document)| has_template(document));
        whole.map(|(key, _)| (*kind, key)).collect::<Vec<Key>>()
    };
    WorkloadKind::ALL.iter().flat_map(of_kind).collect()
}

/// Whether a document says what pods there are to be; a slim object alone does not.
fn has_template(document: &Value) -> bool {
    ["/spec/template", "/spec/jobTemplate"].iter().any(|path| document.pointer(path).is_some())
}

/// Reads what a client has written of a workload, or that it is gone.
pub(super) fn read(wx: &mut Wx<'_>, workloads: &mut Workloads, key: &Key) {
    let Some(id) = resource(key.0) else { return };
    let known = workloads.get(key).cloned();
    let Some(document) = wx.api.document(id, &key.1) else {
        if known.is_some() {
            let _ = workloads.delete(wx, key);
        }
        return;
    };
    let version = version_of(&document);
    if !has_template(&document) || known.is_some_and(|known| known.published.as_ref() == Some(&version)) {
        return;
    }
    match Workload::deserialize_kind(key.0, &*document) {
        Ok(mut workload) => {
            workload.text = document.get("spec").cloned().map(Arc::new);
            workload.metadata.namespace = key.1.namespace.clone();
            workloads.apply(wx, workload);
            workloads.set_published(key, version);
        }
        Err(error) => {
            let said = super::Said::failed("Unreadable", format!("is not understood: {error}"));
            wx.tell("workloads", key.0.as_str(), &key.1, said);
        }
    }
}

/// Writes what has become of a workload into its document.
pub(super) fn publish(wx: &mut Wx<'_>, workloads: &mut Workloads, key: &Key) {
    let Some(item) = workloads.get(key).cloned() else { return unpublish(wx, key) };
    let (Some(id), Some(text)) = (resource(key.0), item.workload.text.clone()) else { return };
    let old = wx.api.document(id, &key.1);
    let mut new = old.as_deref().cloned().unwrap_or_else(|| json!({}));
    let Some(fields) = new.as_object_mut() else { return };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    put_metadata(metadata, &item);
    fields.insert("spec".to_owned(), spec(&item, &text));
    let status = status(wx, workloads, &item);
    let known = fields.entry("status").or_insert_with(|| json!({}));
    if let (Some(known), Value::Object(status)) = (known.as_object_mut(), status) {
        known.extend(status);
    }
    if old.as_deref() == Some(&new) {
        return;
    }
    let written = match old {
        Some(_) => {
            if let Some(metadata) = new.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.shift_remove("resourceVersion");
            }
            wx.api.update_document(id, new, Part::Whole, wx.now)
        }
        None => wx.api.create_document(id, new, wx.now),
    };
    if let Ok(document) = written {
        workloads.set_published(key, version_of(&document));
    }
}

/// The workload is gone, and so is its document.
fn unpublish(wx: &mut Wx<'_>, key: &Key) {
    let Some(id) = resource(key.0) else { return };
    if id.get().slim.is_none() && wx.api.document(id, &key.1).is_some() {
        let _ = wx.api.delete_document(id, &key.1, None, wx.now);
    }
}

fn put_metadata(metadata: &mut Value, item: &Managed) {
    let Some(fields) = metadata.as_object_mut() else { return };
    let own = &item.workload.metadata;
    fields.insert("name".to_owned(), json!(&*own.name));
    fields.insert("namespace".to_owned(), json!(&*own.namespace));
    for (field, map) in [("labels", &own.labels), ("annotations", &own.annotations)] {
        if !map.is_empty() {
            fields.insert(field.to_owned(), json!(map));
        }
    }
    if !own.owner_references.is_empty() {
        fields.insert("ownerReferences".to_owned(), json!(own.owner_references));
    }
}

/// The text of the spec with the size and the template's metadata as they are.
fn spec(item: &Managed, text: &Value) -> Value {
    let mut spec = text.clone();
    let Some(fields) = spec.as_object_mut() else { return spec };
    let size = match &item.workload.spec {
        WorkloadSpec::Job(_) => Some("parallelism"),
        WorkloadSpec::CronJob(_) | WorkloadSpec::DaemonSet(_) => None,
        _ => Some("replicas"),
    };
    if let (Some(field), Some(replicas)) = (size, item.workload.replicas()) {
        fields.insert(field.to_owned(), replicas.into());
    }
    let annotations = &item.workload.template().metadata.annotations;
    if item.kind() != WorkloadKind::CronJob && !annotations.is_empty() {
        let template = fields.entry("template").or_insert_with(|| json!({}));
        let metadata = template.as_object_mut().map(|template| template.entry("metadata"));
        let metadata = metadata.map(|entry| entry.or_insert_with(|| json!({})));
        if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
            metadata.insert("annotations".to_owned(), json!(annotations));
        }
    }
    spec
}

/// The status as the kind has it.
fn status(wx: &Wx<'_>, workloads: &Workloads, item: &Managed) -> Value {
    let pods = workloads.all_pods_of(wx.api, item);
    let active: Vec<&Arc<Pod>> = pods.iter().filter(|pod| is_active(pod)).collect();
    let ready = active.iter().filter(|pod| wx.is_ready(pod)).count();
    let seconds = item.workload.min_ready_seconds();
    let available = active.iter().filter(|pod| wx.is_available(pod, seconds).is_ok()).count();
    let updated = active.iter().filter(|pod| workloads.is_current(item, pod)).count();
    let total = active.len();
    let generation = item.workload.metadata.generation;
    match &item.workload.spec {
        WorkloadSpec::Deployment(spec) => {
            let wanted = usize::try_from(spec.replicas.unwrap_or(1)).unwrap_or(0);
            json!({
                "observedGeneration": generation, "replicas": total, "updatedReplicas": updated,
                "readyReplicas": ready, "availableReplicas": available,
                "unavailableReplicas": wanted.max(total).saturating_sub(available),
            })
        }
        WorkloadSpec::ReplicaSet(_) => json!({
            "observedGeneration": generation, "replicas": total, "fullyLabeledReplicas": total,
            "readyReplicas": ready, "availableReplicas": available,
        }),
        WorkloadSpec::StatefulSet(_) => json!({
            "observedGeneration": generation, "replicas": total, "readyReplicas": ready,
            "availableReplicas": available, "currentReplicas": total - updated, "updatedReplicas": updated,
            "updateRevision": &*item.revision,
        }),
        WorkloadSpec::DaemonSet(_) => {
            let desired = workloads.desired(wx.api, item);
            json!({
                "observedGeneration": generation, "desiredNumberScheduled": desired,
                "currentNumberScheduled": total, "numberMisscheduled": 0, "numberReady": ready,
                "numberAvailable": available, "updatedNumberScheduled": updated,
            })
        }
        WorkloadSpec::Job(_) => job_status(item, total, ready),
        WorkloadSpec::CronJob(_) => {
            let mut status = Map::new();
            if let Some(at) = item.last_schedule {
                status.insert("lastScheduleTime".to_owned(), at.to_rfc3339().into());
            }
            Value::Object(status)
        }
    }
}

fn job_status(item: &Managed, active: usize, ready: usize) -> Value {
    let job = &item.job;
    let mut status = Map::new();
    status.insert("active".to_owned(), active.into());
    status.insert("ready".to_owned(), ready.into());
    status.insert("succeeded".to_owned(), job.succeeded.into());
    status.insert("failed".to_owned(), job.failed.into());
    if let Some(at) = job.started() {
        status.insert("startTime".to_owned(), at.to_rfc3339().into());
    }
    if let Some((at, is_well, reason)) = &job.finished {
        let at = at.to_rfc3339();
        let type_ = if *is_well { "Complete" } else { "Failed" };
        if *is_well {
            status.insert("completionTime".to_owned(), at.clone().into());
        }
        status.insert(
            "conditions".to_owned(),
            json!([{"type": type_, "status": "True", "reason": &**reason, "lastTransitionTime": at}]),
        );
    }
    Value::Object(status)
}

/// The text of a replica set of a Deployment.
pub(super) fn replica_set_text(deployment: &Workload, label: &str, hash: &str) -> Option<Arc<Value>> {
    let text = deployment.text.as_ref()?;
    let mut template = text.get("template").cloned().unwrap_or_else(|| json!({}));
    let mut selector = text.get("selector").cloned().unwrap_or_else(|| json!({}));
    put_in(&mut template, &["metadata", "labels"], label, hash);
    put_in(&mut selector, &["matchLabels"], label, hash);
    let mut spec = json!({"selector": selector, "template": template});
    if let (Some(seconds), Some(fields)) = (text.get("minReadySeconds"), spec.as_object_mut()) {
        fields.insert("minReadySeconds".to_owned(), seconds.clone());
    }
    Some(Arc::new(spec))
}

/// The text of a job of a CronJob.
pub(super) fn job_text(cron_job: &Workload) -> Option<Arc<Value>> {
    cron_job.text.as_ref()?.pointer("/jobTemplate/spec").cloned().map(Arc::new)
}

fn put_in(value: &mut Value, path: &[&str], field: &str, text: &str) {
    let mut at = value;
    for key in path {
        let Some(fields) = at.as_object_mut() else { return };
        at = fields.entry(*key).or_insert_with(|| json!({}));
    }
    if let Some(fields) = at.as_object_mut() {
        fields.insert(field.to_owned(), text.into());
    }
}
