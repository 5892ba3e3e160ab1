//! Writes: from a request to an operation of the session, and its answer.
//!
//! A resourceVersion of a client is one of the mirror. It is compared with what the mirror shows, and goes on as the
//! version that the sandbox knows, which looks again.

use std::sync::Arc;

use http::{Method, Response, StatusCode};
use serde_json::{Value, json};

use super::answer::Served;
use super::body::{Answer, answer, json_answer};
use super::filter::Filter;
use super::own;
use super::reading::Form;
use super::route::Query;
use super::status::{About, has_changed, success};
use crate::api::{Kind, NamespacedName, Rng, Str};
use crate::driver::sandbox::documents::Part;
use crate::driver::sandbox::names::name_end;
use crate::driver::sandbox::requests::patch::{PatchKind, patched};
use crate::driver::sandbox::requests::{ClientRequest, ClientVerb, Deletion, Refusal};
use crate::driver::sandbox::resources::ResourceId;

/// What a path stands for.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) id: ResourceId,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) part: Option<String>,
}

impl Target {
    fn key(&self) -> NamespacedName {
        let text = |text: &Option<String>| Str::from(text.as_deref().unwrap_or_default());
        NamespacedName { namespace: text(&self.namespace), name: text(&self.name) }
    }
}

/// Whether objects of a resource have that part.
pub(super) fn has_part(id: ResourceId, part: &str) -> bool {
    let resource = id.get();
    match part {
        "status" => resource.has_status,
        "scale" => resource.has_scale,
        "binding" | "eviction" => resource.slim == Some(Kind::Pod),
        "finalize" => resource.slim == Some(Kind::Namespace),
        _ => false,
    }
}

/// What is said of a part that is not there.
pub(super) fn no_such_part(id: ResourceId, part: &str) -> Refusal {
    if id.get().slim == Some(Kind::Pod) && matches!(part, "log" | "exec" | "attach" | "portforward" | "proxy")
    {
        let message =
            format!("pods/{part}: no container runs in a sandbox, so there is nothing to read or to talk to");
        return Refusal::bad_request(message);
    }
    Refusal::new(404, "NotFound", "the server could not find the requested resource")
}

/// Carries out a write.
///
/// # Errors
/// Why it is not.
pub(super) async fn write(
    served: &Served,
    target: Target,
    method: &Method,
    query: &Query,
    content_type: &str,
    body: Option<Value>,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let id = target.id;
    let not_allowed = || {
        Refusal::new(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    };
    let required = |body: Option<Value>| body.ok_or_else(|| Refusal::bad_request("the request has no body"));
    match (method.as_str(), &target.name, target.part.as_deref()) {
        ("POST", None, None) => create(served, target, query, required(body)?, form).await,
        ("POST", Some(_), Some("binding")) => bind(served, &target, query, &required(body)?).await,
        ("POST", Some(_), Some("eviction")) => {
            let body = required(body)?;
            let options = body.get("deleteOptions").cloned().unwrap_or_else(|| json!({}));
            let deletion = deletion(served, &target, query, &options)?;
            let is_dry_run = query.is_dry_run() || is_dry_run(&options);
            let request =
                ClientRequest { resource: id, key: target.key(), verb: ClientVerb::Evict(deletion) };
            served.writer.write(request, is_dry_run).await?;
            Ok(success(StatusCode::CREATED, &About::default(), ""))
        }
        ("PUT", Some(_), Some("scale")) => {
            let replicas = required(body)?.pointer("/spec/replicas").cloned().unwrap_or_else(|| json!(0));
            scale(served, &target, query, &json!({"spec": {"replicas": replicas}}), PatchKind::Merge).await
        }
        ("PATCH", Some(_), Some("scale")) => {
            let kind = patch_kind(content_type)?;
            scale(served, &target, query, &required(body)?, kind).await
        }
        ("PUT", Some(_), None | Some("status" | "finalize")) => {
            let mut document = required(body)?;
            inner_version(served, &target, &mut document)?;
            let verb = ClientVerb::Update(Arc::new(document), part(&target));
            change(served, &target, query, verb, form).await
        }
        ("PATCH", Some(_), None | Some("status")) => {
            let kind = patch_kind(content_type)?;
            let mut patch = required(body)?;
            inner_version(served, &target, &mut patch)?;
            let verb = ClientVerb::Patch { kind, patch: Arc::new(patch), part: part(&target) };
            change(served, &target, query, verb, form).await
        }
        ("DELETE", Some(_), None) => {
            delete(served, &target, query, &body.unwrap_or_else(|| json!({})), form).await
        }
        ("DELETE", None, None) => {
            delete_collection(served, &target, query, &body.unwrap_or_else(|| json!({}))).await
        }
        _ => Err(not_allowed()),
    }
}

fn part(target: &Target) -> Part {
    if target.part.as_deref() == Some("status") { Part::Status } else { Part::Main }
}

fn patch_kind(content_type: &str) -> Result<PatchKind, Refusal> {
    match content_type.split(';').next().unwrap_or_default().trim() {
        "application/json-patch+json" => Ok(PatchKind::Json),
        "application/merge-patch+json" => Ok(PatchKind::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchKind::Strategic),
        "application/apply-patch+yaml" | "application/apply-patch+json" => Ok(PatchKind::Apply),
        other => Err(Refusal::new(
            415,
            "UnsupportedMediaType",
            format!(
                "{other:?} is no patch: application/json-patch+json, application/merge-patch+json, \
                     application/strategic-merge-patch+json and application/apply-patch+yaml are"
            ),
        )),
    }
}

/// Puts the sandbox's version in the place of the mirror's, where a client gives one.
fn inner_version(served: &Served, target: &Target, document: &mut Value) -> Result<(), Refusal> {
    if own::is_own(target.id) {
        return Ok(());
    }
    let Some(version) = document.pointer_mut("/metadata/resourceVersion") else { return Ok(()) };
    let asked = version.as_str().unwrap_or_default();
    if asked.is_empty() {
        return Ok(());
    }
    let key = target.key();
    // What is not there is told by who would have to change it.
    let Some(seen) = served.mirror.get(target.id, &key) else { return Ok(()) };
    if seen.version.to_string() != asked {
        return Err(has_changed(target.id, &key.name));
    }
    *version = seen.inner_version.clone().into();
    Ok(())
}

async fn create(
    served: &Served,
    mut target: Target,
    query: &Query,
    mut document: Value,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let id = target.id;
    let resource = id.get();
    let field = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (field("apiVersion"), field("kind"));
    if kind == "Binding" && resource.slim == Some(Kind::Pod) {
        return Err(Refusal::bad_request("a Binding is posted to pods/NAME/binding"));
    }
    if !kind.is_empty() && (kind != resource.kind || api_version != resource.api_version()) {
        return Err(Refusal::bad_request(format!(
            "the API version in the data ({api_version}, {kind}) does not match the expected one ({}, {})",
            resource.api_version(),
            resource.kind
        )));
    }
    let metadata = |field: &str| {
        document.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    if resource.is_namespaced {
        let given = metadata("namespace");
        match &target.namespace {
            Some(namespace) if !given.is_empty() && given != *namespace => {
                return Err(Refusal::bad_request(
                    "the namespace of the provided object does not match the namespace sent on the request",
                ));
            }
            Some(_) => {}
            None if given.is_empty() => {
                return Err(Refusal::bad_request("an empty namespace may not be set during creation"));
            }
            None => target.namespace = Some(given),
        }
    }
    let (name, prefix) = (metadata("name"), metadata("generateName"));
    let name = if name.is_empty() && !prefix.is_empty() {
        // The next version makes it a name of its own.
        let key = |n: u64| format!("{prefix}{}", suffix(served.mirror.version().wrapping_add(n)));
        let is_free = |name: &String| {
            let key = NamespacedName::new(target.namespace.as_deref().unwrap_or_default(), name.as_str());
            served.mirror.get(id, &key).is_none()
        };
        (0..1_000).map(key).find(is_free).unwrap_or_default()
    } else {
        name
    };
    target.name = Some(name);
    if let Some(fields) = document.get_mut("metadata").and_then(Value::as_object_mut) {
        fields.shift_remove("resourceVersion");
    }
    let verb = ClientVerb::Create(Arc::new(document));
    let name = target.name.as_deref().unwrap_or_default();
    let made = change(served, &target, query, verb, form).await;
    let mut response = made.map_err(|refusal| refusal.named(name))?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// The end of a generated name, another one for another number.
fn suffix(number: u64) -> String {
    name_end(&mut Rng::new(number))
}

/// Has an object changed, and answers with it.
async fn change(
    served: &Served,
    target: &Target,
    query: &Query,
    verb: ClientVerb,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let (id, key) = (target.id, target.key());
    let now = served.mirror.now();
    if own::is_own(id) {
        if key.name.is_empty() {
            let (field, reason) = ("metadata.name", "Required value: name or generateName is required");
            return Err(Refusal::with_field(format!("{field}: {reason}"), field, reason));
        }
        let object = if query.is_dry_run() {
            served.mirror.get(id, &key).ok_or_else(|| Refusal::not_found(id, &key.name))?
        } else {
            own::write(&served.mirror, id, &key, &verb, now)?
        };
        return Ok(answer(StatusCode::OK, "application/json", form.one(id, &object, now)));
    }
    let is_apply = matches!(&verb, ClientVerb::Patch { kind: PatchKind::Apply, .. });
    let was_there = served.mirror.get(id, &key).is_some();
    let request = ClientRequest { resource: id, key: key.clone(), verb };
    let written = served.writer.write(request, query.is_dry_run()).await?;
    let code = if is_apply && !was_there { StatusCode::CREATED } else { StatusCode::OK };
    if form != Form::Whole
        && let Some(object) = served.mirror.get(id, &key)
    {
        return Ok(answer(code, "application/json", form.one(id, &object, now)));
    }
    Ok(answer(code, "application/json", written.object.unwrap_or_default()))
}

async fn bind(
    served: &Served,
    target: &Target,
    query: &Query,
    binding: &Value,
) -> Result<Response<Answer>, Refusal> {
    let text =
        |pointer: &str| binding.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = text("/target/kind").unwrap_or("Node");
    let Some(node) = text("/target/name").filter(|_| kind == "Node") else {
        let message = "Binding is invalid: target: a Node with a name is required";
        return Err(Refusal::new(422, "Invalid", message));
    };
    let verb = ClientVerb::Bind { node: node.into(), uid: text("/metadata/uid").map(Str::from) };
    let request = ClientRequest { resource: target.id, key: target.key(), verb };
    served.writer.write(request, query.is_dry_run()).await?;
    Ok(success(StatusCode::CREATED, &About::default(), ""))
}

/// How something is to be deleted: the body has the word, else the query.
fn deletion(served: &Served, target: &Target, query: &Query, options: &Value) -> Result<Deletion, Refusal> {
    let text = |pointer: &str| options.pointer(pointer).and_then(Value::as_str);
    let policy = text("/propagationPolicy").unwrap_or_else(|| query.get("propagationPolicy"));
    let orphans = options.get("orphanDependents").and_then(Value::as_bool);
    let grace = match options.get("gracePeriodSeconds").and_then(Value::as_i64) {
        Some(seconds) => Some(seconds),
        None => query.get("gracePeriodSeconds").parse().ok(),
    };
    let resource_version = match text("/preconditions/resourceVersion") {
        Some(version) if !own::is_own(target.id) => {
            let seen = served.mirror.get(target.id, &target.key());
            let seen = seen.filter(|seen| seen.version.to_string() == version);
            Some(
                seen.ok_or_else(|| has_changed(target.id, target.name.as_deref().unwrap_or_default()))?
                    .inner_version
                    .clone(),
            )
        }
        _ => None,
    };
    Ok(Deletion {
        grace_seconds: grace.map(|seconds| u64::try_from(seconds).unwrap_or(1)),
        is_orphaning: policy == "Orphan" || orphans == Some(true),
        uid: text("/preconditions/uid").map(str::to_owned),
        resource_version,
    })
}

fn is_dry_run(options: &Value) -> bool {
    options["dryRun"].as_array().is_some_and(|dry_run| !dry_run.is_empty())
}

async fn delete(
    served: &Served,
    target: &Target,
    query: &Query,
    options: &Value,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let (id, key) = (target.id, target.key());
    let deletion = deletion(served, target, query, options)?;
    let is_dry_run = query.is_dry_run() || is_dry_run(options);
    let about = About { name: key.name.to_string(), resource: Some(id) };
    let seen = served.mirror.get(id, &key);
    let uid = seen.map(|seen| seen.uid.clone()).unwrap_or_default();
    if own::is_own(id) {
        if !is_dry_run {
            own::write(&served.mirror, id, &key, &ClientVerb::Delete(deletion), served.mirror.now())?;
        }
        return Ok(success(StatusCode::OK, &about, &uid));
    }
    let request = ClientRequest { resource: id, key: key.clone(), verb: ClientVerb::Delete(deletion) };
    let written = served.writer.write(request, is_dry_run).await?;
    // One whose end takes its time is told as it is; pods always are.
    if written.is_there || id.get().slim == Some(Kind::Pod) {
        if form != Form::Whole
            && let Some(object) = served.mirror.get(id, &key)
        {
            return Ok(answer(
                StatusCode::OK,
                "application/json",
                form.one(id, &object, served.mirror.now()),
            ));
        }
        return Ok(answer(StatusCode::OK, "application/json", written.object.unwrap_or_default()));
    }
    Ok(success(StatusCode::OK, &about, &uid))
}

async fn delete_collection(
    served: &Served,
    target: &Target,
    query: &Query,
    options: &Value,
) -> Result<Response<Answer>, Refusal> {
    let id = target.id;
    let filter =
        Filter::new(id, target.namespace.as_deref(), query.get("labelSelector"), query.get("fieldSelector"))
            .map_err(Refusal::bad_request)?;
    let listed = served.mirror.list(id, target.namespace.as_deref());
    let keys: Vec<NamespacedName> = listed
        .objects
        .iter()
        .filter(|object| filter.matches(object))
        .map(|object| object.key.clone())
        .collect();
    let deletion = deletion(served, target, query, options)?;
    let is_dry_run = query.is_dry_run() || is_dry_run(options);
    if own::is_own(id) {
        served.mirror.change(|changes| keys.iter().for_each(|key| own::remove(changes, id, key)));
    } else if !keys.is_empty() {
        let verb = ClientVerb::DeleteMany(keys.into(), deletion);
        served.writer.write(ClientRequest { resource: id, key: target.key(), verb }, is_dry_run).await?;
    }
    Ok(success(StatusCode::OK, &About { name: String::new(), resource: Some(id) }, ""))
}

/// The `Scale` of an object.
pub(super) fn scale_of(document: &Value) -> Value {
    let at = |pointer: &str| document.pointer(pointer).cloned();
    let metadata = |field: &str| at(&format!("/metadata/{field}")).unwrap_or_default();
    let selector = at("/spec/selector").unwrap_or_default();
    let labels = selector.get("matchLabels").unwrap_or(&selector).as_object().cloned().unwrap_or_default();
    let labels: Vec<String> =
        labels.iter().filter_map(|(key, value)| Some(format!("{key}={}", value.as_str()?))).collect();
    json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata("name"), "namespace": metadata("namespace"), "uid": metadata("uid"),
            "resourceVersion": metadata("resourceVersion"), "creationTimestamp": metadata("creationTimestamp"),
        },
        "spec": {"replicas": at("/spec/replicas").unwrap_or_else(|| json!(0))},
        "status": {
            "replicas": at("/status/replicas").unwrap_or_else(|| json!(0)), "selector": labels.join(","),
        },
    })
}

/// Changes how many there should be: the patch is one of the `Scale`.
async fn scale(
    served: &Served,
    target: &Target,
    query: &Query,
    patch: &Value,
    kind: PatchKind,
) -> Result<Response<Answer>, Refusal> {
    let (id, key) = (target.id, target.key());
    let lost = || Refusal::not_found(id, &key.name);
    let object = served.mirror.get(id, &key).ok_or_else(lost)?;
    let scale = scale_of(&object.document());
    let wanted = patched(&scale, kind, patch).map_err(Refusal::bad_request)?;
    let version = wanted.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    if version.is_some_and(|version| !version.is_empty() && version != object.version.to_string()) {
        return Err(has_changed(id, &key.name));
    }
    let replicas = wanted.pointer("/spec/replicas").cloned().unwrap_or_else(|| json!(0));
    if replicas.as_i64().is_none_or(|replicas| replicas < 0) {
        let message = format!("Scale {:?} is invalid: spec.replicas: Invalid value: {replicas}", &*key.name);
        return Err(Refusal::new(422, "Invalid", message));
    }
    let patch = Arc::new(json!({"spec": {"replicas": replicas}}));
    let verb = ClientVerb::Patch { kind: PatchKind::Merge, patch, part: Part::Main };
    let request = ClientRequest { resource: id, key: key.clone(), verb };
    let written = served.writer.write(request, query.is_dry_run()).await?;
    let document: Value =
        written.object.and_then(|object| serde_json::from_slice(&object).ok()).ok_or_else(lost)?;
    Ok(json_answer(StatusCode::OK, &scale_of(&document)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::suffix;

    #[test]
    fn generated_names_differ_and_look_as_they_do() {
        let names: BTreeSet<String> = (0..2_000).map(suffix).collect();
        assert!(names.len() > 1_990, "{}", names.len());
        assert!(names.iter().all(|name| name.len() == 5 && name.chars().all(|c| c.is_ascii_alphanumeric())));
    }
}
