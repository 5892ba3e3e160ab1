//! Objects and lists, in the form that a client asks for.

use http::{Response, StatusCode};
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::body::{Answer, answer, json_answer};
use super::filter::Filter;
use super::mirror::{Listed, Mirror, Served};
use super::route::Query;
use super::table::{Include, partial, table};
use crate::api::NamespacedName;
use crate::driver::sandbox::requests::Refusal;
use crate::driver::sandbox::resources::ResourceId;

/// How objects are to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As they are.
    Whole,
    /// As rows of a table.
    Table(Include),
    /// As their metadata.
    Metadata,
}

impl Form {
    /// The first form of an Accept header that is known here.
    pub(super) fn negotiate(accept: &str, query: &Query) -> Self {
        for clause in accept.split(',') {
            let parts: Vec<&str> = clause.split(';').map(str::trim).collect();
            let asked = parts.iter().find_map(|part| part.strip_prefix("as="));
            match asked {
                Some("Table") if parts.contains(&"v=v1") => {
                    return Self::Table(Include::parse(query.get("includeObject")));
                }
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") if parts.contains(&"v=v1") => {
                    return Self::Metadata;
                }
                Some(_) => {}
                None if matches!(parts.first(), Some(&("application/json" | "application/*" | "*/*"))) => {
                    return Self::Whole;
                }
                None => {}
            }
        }
        Self::Whole
    }

    /// One object, as a client gets it or a watch tells of it.
    pub(super) fn one(self, id: ResourceId, object: &Served, now: crate::api::Time) -> Bytes {
        match self {
            Self::Whole => object.json.clone(),
            Self::Table(include) => {
                let metadata = json!({"resourceVersion": object.version.to_string()});
                bytes(&table(id, [object], &metadata, include, now))
            }
            Self::Metadata => bytes(&partial(&object.document())),
        }
    }
}

fn bytes(value: &Value) -> Bytes {
    Bytes::from(serde_json::to_vec(value).unwrap_or_default())
}

/// GET of an object.
///
/// # Errors
/// If it is not there.
pub(super) fn get(
    mirror: &Mirror,
    id: ResourceId,
    key: &NamespacedName,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let object = mirror.get(id, key).ok_or_else(|| Refusal::not_found(id, &key.name))?;
    Ok(answer(StatusCode::OK, "application/json", form.one(id, &object, mirror.now())))
}

/// GET of a list.
///
/// # Errors
/// If the version that is asked for is not the present one, or `continue` is none of ours.
pub(super) fn list(
    mirror: &Mirror,
    id: ResourceId,
    namespace: Option<&str>,
    filter: &Filter,
    query: &Query,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let Listed { objects, version, now } = mirror.list(id, namespace);
    check_version(query, version)?;
    let mut objects: Vec<_> = objects.into_iter().filter(|object| filter.matches(object)).collect();
    let from = query.get("continue");
    if !from.is_empty() {
        let from = from.split_once('/').ok_or_else(|| Refusal::bad_request("continue key is not valid"))?;
        let from = NamespacedName::new(from.0, from.1);
        objects.retain(|object| object.key > from);
    }
    let mut metadata = json!({"resourceVersion": version.to_string()});
    let limit = match query.get("limit") {
        "" => 0,
        limit => limit.parse().map_err(|_| Refusal::bad_request(format!("limit: {limit:?} is no number")))?,
    };
    if limit > 0 && objects.len() > limit {
        metadata["remainingItemCount"] = (objects.len() - limit).into();
        objects.truncate(limit);
        let last = objects.last().map(|object| format!("{}/{}", object.key.namespace, object.key.name));
        metadata["continue"] = last.into();
    }
    let api_version = id.get().api_version();
    Ok(match form {
        Form::Table(include) => {
            let objects = objects.iter().map(AsRef::as_ref);
            json_answer(StatusCode::OK, &table(id, objects, &metadata, include, now))
        }
        Form::Metadata => {
            let items: Vec<Value> = objects.iter().map(|object| partial(&object.document())).collect();
            json_answer(
                StatusCode::OK,
                &json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                    "items": items,
                }),
            )
        }
        Form::Whole => {
            let head = format!(
                "{{\"kind\":\"{}List\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":[",
                id.get().kind
            );
            let length: usize = objects.iter().map(|object| object.json.len() + 1).sum();
            let mut whole = Vec::with_capacity(head.len() + length + 2);
            whole.extend_from_slice(head.as_bytes());
            for (n, object) in objects.iter().enumerate() {
                if n > 0 {
                    whole.push(b',');
                }
                whole.extend_from_slice(&object.json);
            }
            whole.extend_from_slice(b"]}");
            answer(StatusCode::OK, "application/json", Bytes::from(whole))
        }
    })
}

/// Whether the present version will do for one who asks for another.
fn check_version(query: &Query, version: u64) -> Result<(), Refusal> {
    let asked = query.get("resourceVersion");
    if asked.is_empty() || asked == "0" || !query.get("continue").is_empty() {
        return Ok(());
    }
    let asked: u64 = asked.parse().map_err(|_| {
        Refusal::bad_request(format!("resourceVersion: Invalid value: {asked:?}: it is no number"))
    })?;
    if asked > version {
        let message = format!("Too large resource version: {asked}, current: {version}");
        let causes =
            vec![json!({"reason": "ResourceVersionTooLarge", "message": "Too large resource version"})];
        return Err(Refusal { causes, ..Refusal::new(504, "Timeout", message) });
    }
    if asked < version && query.get("resourceVersionMatch") == "Exact" {
        return Err(Refusal::new(410, "Expired", format!("the version {asked} is no longer known")));
    }
    Ok(())
}
