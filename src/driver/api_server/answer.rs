//! Who asks for what, and the answer.

use std::sync::Arc;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Bytes, Incoming};
use serde_json::{Value, json};

use super::body::{Answer, answer, json_answer, read};
use super::discovery;
use super::filter::Filter;
use super::mirror::Mirror;
use super::publish::Writer;
use super::reading::{self, Form};
use super::route::{Query, Route, parse};
use super::status::{About, refuse};
use super::watch::watch;
use super::writing;
use crate::api::NamespacedName;
use crate::driver::sandbox::requests::Refusal;

/// What is served.
#[derive(Debug)]
pub(super) struct Served {
    pub(super) mirror: Arc<Mirror>,
    pub(super) writer: Writer,
    pub(super) token: String,
}

/// Answers a request.
pub(super) async fn answer_request(served: Arc<Served>, request: Request<Incoming>) -> Response<Answer> {
    let path = request.uri().path().to_owned();
    if matches!(path.as_str(), "/healthz" | "/livez" | "/readyz") {
        return answer(StatusCode::OK, "text/plain; charset=utf-8", Bytes::from_static(b"ok"));
    }
    if !is_known(&request, &served.token) {
        return refuse(&Refusal::new(401, "Unauthorized", "Unauthorized"), &About::default());
    }
    let query = Query::new(request.uri().query().unwrap_or_default());
    let accept = request.headers().get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or("*/*");
    let accept = accept.to_owned();
    if matches!(*request.method(), Method::GET | Method::HEAD)
        && let Some(found) = discovery::answer(&path, &accept)
    {
        return found;
    }
    match parse(&path) {
        Some(Route::Objects { resource, namespace, name, part }) => {
            let about = About { name: name.clone().unwrap_or_default(), resource: Some(resource) };
            let target = writing::Target { id: resource, namespace, name, part };
            let outcome = objects(&served, request, target, &query, &accept).await;
            outcome.unwrap_or_else(|refusal| refuse(&refusal, &about))
        }
        Some(Route::Review(group, resource)) => review(request, &group, &resource).await,
        _ => {
            let refusal =
                Refusal::new(404, "NotFound", "the server could not find the requested resource".to_owned());
            refuse(&refusal, &About::default())
        }
    }
}

/// Whether a request shows the token.
fn is_known(request: &Request<Incoming>, token: &str) -> bool {
    let shown = request.headers().get(AUTHORIZATION).and_then(|header| header.to_str().ok());
    let Some((scheme, shown)) = shown.and_then(|shown| shown.split_once(' ')) else { return false };
    let (shown, token) = (shown.trim().as_bytes(), token.as_bytes());
    // Every byte is looked at, so that the time tells nothing.
    let differences = shown.iter().zip(token).fold(0, |differences, (a, b)| differences | (a ^ b));
    scheme.eq_ignore_ascii_case("bearer") && shown.len() == token.len() && differences == 0
}

async fn objects(
    served: &Served,
    request: Request<Incoming>,
    target: writing::Target,
    query: &Query,
    accept: &str,
) -> Result<Response<Answer>, Refusal> {
    let form = Form::negotiate(accept, query);
    let writing::Target { id, namespace, name, part } = &target;
    let is_reading = matches!(*request.method(), Method::GET | Method::HEAD);
    if is_reading && part.is_none() && (name.is_none() || query.is_set("watch")) {
        let fields = query.get("fieldSelector");
        // One who watches an object by its path sees that one alone.
        let fields = match name {
            Some(name) => format!("metadata.name={name}"),
            None => fields.to_owned(),
        };
        let filter = Filter::new(*id, namespace.as_deref(), query.get("labelSelector"), &fields)
            .map_err(Refusal::bad_request)?;
        if query.is_set("watch") {
            return watch(&served.mirror, *id, namespace.as_deref(), filter, query, form);
        }
        return reading::list(&served.mirror, *id, namespace.as_deref(), &filter, query, form);
    }
    if is_reading {
        let key = NamespacedName::new(
            namespace.as_deref().unwrap_or_default(),
            name.as_deref().unwrap_or_default(),
        );
        return match part.as_deref() {
            None | Some("status") => reading::get(&served.mirror, *id, &key, form),
            Some("scale") if id.get().has_scale => {
                let object =
                    served.mirror.get(*id, &key).ok_or_else(|| Refusal::not_found(*id, &key.name))?;
                Ok(json_answer(StatusCode::OK, &writing::scale_of(&object.document())))
            }
            Some(part) => Err(writing::no_such_part(*id, part)),
        };
    }
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|header| header.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let method = request.method().clone();
    if let Some(part) = part.as_deref()
        && !writing::has_part(*id, part)
    {
        return Err(writing::no_such_part(*id, part));
    }
    let body = read(request.into_body(), &content_type).await?;
    writing::write(served, target, &method, query, &content_type, body, form).await
}

/// Everybody who has the token may do everything.
async fn review(request: Request<Incoming>, group: &str, resource: &str) -> Response<Answer> {
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|header| header.to_str().ok());
    let content_type = content_type.unwrap_or_default().to_owned();
    let is_post = request.method() == Method::POST;
    let body = match read(request.into_body(), &content_type).await {
        Ok(body) => body.unwrap_or_else(|| json!({})),
        Err(refusal) => return refuse(&refusal, &About::default()),
    };
    let user = json!({"username": "sandbox-admin", "groups": ["system:masters", "system:authenticated"]});
    let (kind, status) = match resource {
        "selfsubjectaccessreviews" => ("SelfSubjectAccessReview", json!({"allowed": true})),
        "subjectaccessreviews" => ("SubjectAccessReview", json!({"allowed": true})),
        "selfsubjectrulesreviews" => (
            "SelfSubjectRulesReview",
            json!({
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
                "incomplete": false,
            }),
        ),
        "selfsubjectreviews" => ("SelfSubjectReview", json!({"userInfo": user})),
        "tokenreviews" => ("TokenReview", json!({"authenticated": false})),
        _ => {
            let message = "the server could not find the requested resource";
            return refuse(&Refusal::new(404, "NotFound", message), &About::default());
        }
    };
    if !is_post {
        let message = "the server does not allow this method on the requested resource";
        return refuse(&Refusal::new(405, "MethodNotAllowed", message), &About::default());
    }
    let spec: Value = body.get("spec").cloned().unwrap_or_else(|| json!({}));
    json_answer(
        StatusCode::CREATED,
        &json!({
            "kind": kind, "apiVersion": format!("{group}/v1"), "metadata": {"creationTimestamp": null},
            "spec": spec, "status": status,
        }),
    )
}
