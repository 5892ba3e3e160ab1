//! The workloads of a living cluster and their whole documents, kept in step with each other.
//!
//! What a client writes about a workload goes to the world, which brings pods into being; what the world knows of
//! workloads (also of those that came from files or that it has made itself) is written into their documents: how many
//! there are, how many are ready, which job is over. Only a sandbox whose API is served has such documents.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::controllers::Controllers;
use super::documents::{Part, default_document};
use super::requests::patch::patched;
use super::requests::{ClientRequest, ClientVerb, Refusal};
use super::resources::ResourceId;
use super::simulator::Simulator;
use super::world::{WorkloadState, WorldOrder, is_written_as, template_pointer};
use crate::api::workloads::{Living, LivingKind, Workload, WorkloadKind, WorkloadProblem, WorkloadSpec};
use crate::api::{Kind, NamespacedName, Time};

/// The kind of a resource whose objects the world looks after.
fn workload_kind(id: ResourceId) -> Option<WorkloadKind> {
    WorkloadKind::find(&id.get().api_version(), id.get().kind)
}

fn resource_of(kind: WorkloadKind) -> Option<ResourceId> {
    ResourceId::of_kind(kind.api_version(), kind.as_str())
}

fn read(kind: WorkloadKind, document: &Value) -> Result<Living, serde_json::Error> {
    Living::deserialize_kind(LivingKind::Workload(kind), document)
}

impl Simulator {
    /// Whether a workload as it is to be is one that can be looked after.
    pub(super) fn check_workload(&self, request: &ClientRequest) -> Result<(), Refusal> {
        let Some(kind) = workload_kind(request.resource).filter(|_| self.controllers.is_some()) else {
            return Ok(());
        };
        let document = match &request.verb {
            ClientVerb::Create(document) | ClientVerb::Update(document, Part::Main | Part::Whole) => {
                Arc::clone(document)
            }
            ClientVerb::Patch { kind, patch, part: Part::Main | Part::Whole } => {
                match self.api.document(request.resource, &request.key) {
                    None => Arc::clone(patch),
                    Some(old) => match patched(&old, *kind, patch) {
                        Ok(new) => Arc::new(new),
                        // The API says what is wrong with it.
                        Err(_) => return Ok(()),
                    },
                }
            }
            _ => return Ok(()),
        };
        let living = read(kind, &document)
            .map_err(|error| Refusal::bad_request(format!("{kind} {:?}: {error}", &*request.key.name)))?;
        living.check().map_err(|problem| {
            let name = &*request.key.name;
            let WorkloadProblem { path, reason } = &problem;
            let message =
                format!("{} {name:?} is invalid: {path}: {reason}", request.resource.get().qualified_kind());
            Refusal::with_field(message, path, reason)
        })
    }

    /// Lets the world know what a client has written about workloads.
    pub(super) fn tell_world(&mut self, request: &ClientRequest) {
        let Some(controllers) = &mut self.controllers else { return };
        match &request.verb {
            ClientVerb::Create(_)
            | ClientVerb::Update(_, Part::Main | Part::Whole)
            | ClientVerb::Patch { part: Part::Main | Part::Whole, .. } => {
                let Some(kind) = workload_kind(request.resource) else { return };
                let Some(document) = self.api.document(request.resource, &request.key) else { return };
                if let Ok(living) = read(kind, &document) {
                    controllers.apply_living(&mut self.api, self.now, vec![living]);
                    // Its status tells that it was seen, also where nothing has changed for the world.
                    if let Some(world) = controllers.world_mut() {
                        world.touch(kind, request.key.clone());
                    }
                }
            }
            ClientVerb::Delete(deletion) | ClientVerb::DeleteMany(_, deletion) => {
                let is_workload = workload_kind(request.resource).is_some();
                if is_workload || request.resource.get().slim == Some(Kind::Namespace) {
                    self.end_workloads(deletion.is_orphaning);
                }
            }
            _ => {}
        }
    }

    /// The world lets go of workloads whose documents are gone, and of what belongs to them unless it is to stay.
    fn end_workloads(&mut self, is_orphaning: bool) {
        let Some(controllers) = &mut self.controllers else { return };
        let Some(world) = controllers.world() else { return };
        let is_there = |kind: WorkloadKind, key: &NamespacedName| {
            resource_of(kind).is_none_or(|id| self.api.has_document(id, key))
        };
        let all = world.workloads().cloned();
        let gone: Vec<(WorkloadKind, NamespacedName)> =
            all.filter(|(kind, key)| !is_there(*kind, key)).collect();
        for (kind, key) in gone {
            if is_orphaning {
                controllers.orphan(&mut self.api, self.now, (kind, key));
            } else {
                // One may have gone with another.
                let _ = controllers.order(&mut self.api, self.now, &WorldOrder::Delete { kind, key });
            }
        }
    }

    /// Brings the documents of workloads up to date, if anybody sees them. Whether there was anything to do.
    pub(super) fn tell_of_workloads(&mut self) -> bool {
        if self.told.is_none() {
            return false;
        }
        let world = self.controllers.as_mut().and_then(Controllers::world_mut);
        let touched = world.map(|world| world.take_touched(&self.api)).unwrap_or_default();
        for (kind, key, state) in &touched {
            let Some(id) = resource_of(*kind) else { continue };
            let old = self.api.document(id, key);
            // Nothing that the world keeps is refused; were it, the document would stay as it is.
            let _ = match state {
                Some(state) => {
                    let new = document_of(state, old.as_deref(), self.template_of_owner(state));
                    match old {
                        None => self.api.create_document(id, new, self.now).map(drop),
                        Some(old) if *old != new => {
                            self.api.update_document(id, new, Part::Whole, self.now).map(drop)
                        }
                        Some(_) => Ok(()),
                    }
                }
                // The slim objects of the others are the world's own business.
                None if id.get().slim.is_none() && old.is_some() => {
                    self.api.delete_document(id, key, None, self.now)
                }
                None => Ok(()),
            };
        }
        !touched.is_empty()
    }

    /// The template of the owner of a workload, as it is written.
    fn template_of_owner(&self, state: &WorkloadState) -> Option<Value> {
        let owner = state.workload.metadata.controller()?;
        let kind = WorkloadKind::find(&owner.api_version, &owner.kind)?;
        let key = NamespacedName::new(state.row.key.namespace.clone(), owner.name.as_str());
        self.api.written(resource_of(kind)?, &key)?.pointer(template_pointer(kind)).cloned()
    }
}

/// The document of a workload as the world has it. What it does not read stays as it was; of a new one it is as in the
/// template of its owner.
fn document_of(state: &WorkloadState, old: Option<&Value>, template: Option<Value>) -> Value {
    let workload = &state.workload;
    let mut document = old.cloned().unwrap_or_else(|| {
        json!({
            "apiVersion": state.row.kind.api_version(), "kind": state.row.kind.as_str(),
            "metadata": plain(serde_json::to_value(&workload.metadata)),
        })
    });
    let own = defaulted(workload);
    if !says(&document, workload, own.as_ref()) {
        let spec = spec_of(workload);
        // Most often it is scaled, and the rest is as it was.
        let mut scaled = document.clone();
        for field in ["replicas", "parallelism"] {
            if let Some(number) = spec.get(field) {
                put(&mut scaled, "spec", field, number.clone());
            }
        }
        let mut plain = document;
        if let Some(fields) = plain.as_object_mut() {
            fields.insert("spec".to_owned(), spec);
        }
        let whole = template.map(|template| with_template(plain.clone(), template));
        let fits = [Some(scaled), whole].into_iter().flatten().find(|it| says(it, workload, own.as_ref()));
        document = fits.unwrap_or(plain);
    }
    for (name, value) in &workload.metadata.annotations {
        let annotations = document["metadata"].as_object_mut().map(|metadata| metadata.entry("annotations"));
        let annotations = annotations.and_then(|it| it.or_insert_with(|| json!({})).as_object_mut());
        if let Some(annotations) = annotations {
            annotations.insert(name.to_string(), value.to_string().into());
        }
    }
    let generation = match old {
        None => 1,
        Some(old) => {
            let has_changed = old.get("spec") != document.get("spec");
            old["metadata"]["generation"].as_i64().unwrap_or(1) + i64::from(has_changed)
        }
    };
    for (field, value) in status_of(state, generation) {
        put(&mut document, "status", field, value);
    }
    document
}

/// The document with another template, which gets the labels of its own.
fn with_template(mut document: Value, mut template: Value) -> Value {
    let labels = document.pointer("/spec/template/metadata/labels").cloned().unwrap_or_else(|| json!({}));
    put(&mut template, "metadata", "labels", labels);
    put(&mut document, "spec", "template", template);
    document
}

/// Whether a document wants what a workload of the world wants, in its words or with the defaults of the API server.
fn says(document: &Value, workload: &Workload, defaulted: Option<&Workload>) -> bool {
    let Ok(Living::Workload(written)) = read(workload.kind(), document) else { return false };
    let is_as = |own: &Workload| is_written_as(own, Workload::clone(&written));
    is_as(workload) || defaulted.is_some_and(is_as)
}

fn spec_of(workload: &Workload) -> Value {
    plain(match &workload.spec {
        WorkloadSpec::CronJob(spec) => serde_json::to_value(spec),
        WorkloadSpec::Job(spec) => serde_json::to_value(spec),
        WorkloadSpec::Deployment(spec) => serde_json::to_value(spec),
        WorkloadSpec::ReplicaSet(spec) => serde_json::to_value(spec),
        WorkloadSpec::StatefulSet(spec) => serde_json::to_value(spec),
        WorkloadSpec::DaemonSet(spec) => serde_json::to_value(spec),
    })
}

/// A workload with the defaults that the API server adds.
fn defaulted(workload: &Workload) -> Option<Workload> {
    let mut document = json!({"spec": spec_of(workload)});
    default_document(resource_of(workload.kind())?.get(), &mut document);
    match read(workload.kind(), &document) {
        Ok(Living::Workload(workload)) => Some(*workload),
        _ => None,
    }
}

fn put(document: &mut Value, part: &str, field: &str, value: Value) {
    let part = document.as_object_mut().map(|fields| fields.entry(part));
    if let Some(part) = part.and_then(|part| part.or_insert_with(|| json!({})).as_object_mut()) {
        part.insert(field.to_owned(), value);
    }
}

/// A value without what is empty, which a manifest would not have.
fn plain(value: Result<Value, serde_json::Error>) -> Value {
    fn without_empty(value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let is_kept = |value: &Value| match value {
                    Value::Null => false,
                    Value::String(text) => !text.is_empty(),
                    Value::Array(elements) => !elements.is_empty(),
                    Value::Object(fields) => !fields.is_empty(),
                    _ => true,
                };
                let fields = fields.into_iter().map(|(field, value)| (field, without_empty(value)));
                Value::Object(fields.filter(|(_, value)| is_kept(value)).collect::<Map<_, _>>())
            }
            Value::Array(elements) => Value::Array(elements.into_iter().map(without_empty).collect()),
            other => other,
        }
    }
    without_empty(value.unwrap_or_default())
}

/// The fields of the status that the world knows.
fn status_of(state: &WorkloadState, generation: i64) -> Vec<(&'static str, Value)> {
    let row = &state.row;
    let condition = |type_: &str, is_so: bool, reason: &str| json!({"type": type_, "status": if is_so { "True" } else { "False" }, "reason": reason});
    let seen = ("observedGeneration", json!(generation));
    let is_complete = [state.updated, row.current, row.ready].iter().all(|count| *count == row.desired);
    match row.kind {
        WorkloadKind::Deployment => vec![
            seen,
            ("replicas", json!(row.current)),
            ("updatedReplicas", json!(state.updated)),
            ("readyReplicas", json!(row.ready)),
            ("availableReplicas", json!(row.ready)),
            ("unavailableReplicas", json!((row.desired - row.ready).max(0))),
            (
                "conditions",
                json!([
                    if row.ready >= row.desired {
                        condition("Available", true, "MinimumReplicasAvailable")
                    } else {
                        condition("Available", false, "MinimumReplicasUnavailable")
                    },
                    if is_complete {
                        condition("Progressing", true, "NewReplicaSetAvailable")
                    } else {
                        condition("Progressing", true, "ReplicaSetUpdated")
                    },
                ]),
            ),
        ],
        WorkloadKind::ReplicaSet => vec![
            seen,
            ("replicas", json!(row.current)),
            ("fullyLabeledReplicas", json!(row.current)),
            ("readyReplicas", json!(row.ready)),
            ("availableReplicas", json!(row.ready)),
        ],
        WorkloadKind::StatefulSet => vec![
            seen,
            ("replicas", json!(row.current)),
            ("currentReplicas", json!(row.current)),
            ("updatedReplicas", json!(state.updated)),
            ("readyReplicas", json!(row.ready)),
            ("availableReplicas", json!(row.ready)),
        ],
        WorkloadKind::DaemonSet => vec![
            seen,
            ("desiredNumberScheduled", json!(row.desired)),
            ("currentNumberScheduled", json!(row.current)),
            ("updatedNumberScheduled", json!(state.updated)),
            ("numberReady", json!(row.ready)),
            ("numberAvailable", json!(row.ready)),
            ("numberMisscheduled", json!(0)),
        ],
        WorkloadKind::Job => {
            let time = |at: Time| json!(at.truncate_to_second().to_rfc3339());
            let mut status = vec![
                ("active", json!(row.current)),
                ("ready", json!(row.ready)),
                ("succeeded", json!(state.ended.0)),
                ("failed", json!(state.ended.1)),
            ];
            status.extend(state.started.map(|at| ("startTime", time(at))));
            if let Some((at, is_well, reason)) = &state.finished {
                let mut over = condition(if *is_well { "Complete" } else { "Failed" }, true, reason);
                over["lastTransitionTime"] = time(*at);
                status.push(("conditions", json!([over])));
                if *is_well {
                    status.push(("completionTime", time(*at)));
                }
            }
            status
        }
        WorkloadKind::CronJob => {
            let last = state.last_schedule.map(|at| json!(at.truncate_to_second().to_rfc3339()));
            last.map(|last| ("lastScheduleTime", last)).into_iter().collect()
        }
    }
}
