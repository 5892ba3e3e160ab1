//! `Status`: how the server says what went wrong, or that nothing did.

use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::body::{Answer, json_answer};
use crate::driver::sandbox::requests::Refusal;
use crate::driver::sandbox::resources::ResourceId;

/// What a refusal is about.
#[derive(Clone, Debug, Default)]
pub(super) struct About {
    pub(super) name: String,
    pub(super) resource: Option<ResourceId>,
}

/// A refusal as a `Status`.
pub(super) fn failure(refusal: &Refusal, about: &About) -> Value {
    let mut details = json!({});
    let name = if about.name.is_empty() { &refusal.name } else { &about.name };
    // kubectl shows the message of what is invalid only if nothing else is said of it.
    let is_bare = refusal.reason == "Invalid" && refusal.causes.is_empty();
    if !name.is_empty() && !is_bare {
        details["name"] = name.clone().into();
    }
    if let Some(resource) = about.resource.filter(|_| !is_bare) {
        if !resource.get().group.is_empty() {
            details["group"] = resource.get().group.into();
        }
        // The server puts the resource there for some reasons, and the kind for others.
        let is_of_kind = refusal.reason == "Invalid";
        details["kind"] = if is_of_kind { resource.get().kind } else { resource.get().plural }.into();
    }
    if !refusal.causes.is_empty() {
        details["causes"] = refusal.causes.clone().into();
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": refusal.message,
        "reason": refusal.reason, "details": details, "code": refusal.code,
    })
}

/// The same as an answer.
pub(super) fn refuse(refusal: &Refusal, about: &About) -> Response<Answer> {
    let code = StatusCode::from_u16(refusal.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json_answer(code, &failure(refusal, about))
}

/// The object is gone, or bound.
pub(super) fn success(code: StatusCode, about: &About, uid: &str) -> Response<Answer> {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    if let Some(resource) = about.resource {
        let mut details = json!({"name": about.name, "kind": resource.get().plural});
        if !resource.get().group.is_empty() {
            details["group"] = resource.get().group.into();
        }
        if !uid.is_empty() {
            details["uid"] = uid.into();
        }
        status["details"] = details;
    }
    if code == StatusCode::CREATED {
        status["code"] = 201.into();
    }
    json_answer(code, &status)
}

/// The object is not the one that the client has seen.
pub(super) fn has_changed(id: ResourceId, name: &str) -> Refusal {
    let message = format!(
        "Operation cannot be fulfilled on {} {name:?}: the object has been modified; please apply your changes to the \
         latest version and try again",
        id.get().qualified()
    );
    Refusal::new(409, "Conflict", message)
}
