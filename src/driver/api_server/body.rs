//! Bodies of answers and requests.

use std::convert::Infallible;

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use serde_json::Value;

use super::protobuf;
use crate::driver::sandbox::requests::Refusal;

/// What is answered: one piece, or a stream.
pub(super) type Answer = UnsyncBoxBody<Bytes, Infallible>;

/// Larger requests are refused, as by the real server.
const BODY_MAX: usize = 3 << 20;

/// An answer with a body.
pub(super) fn answer(code: StatusCode, content_type: &'static str, bytes: Bytes) -> Response<Answer> {
    let mut response = Response::new(Full::new(bytes).boxed_unsync());
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer in JSON.
pub(super) fn json_answer(code: StatusCode, value: &Value) -> Response<Answer> {
    answer(code, "application/json", Bytes::from(serde_json::to_vec(value).unwrap_or_default()))
}

/// Reads a body as the value that it stands for; `None` if it is empty. What it is written in stands in its content type.
///
/// # Errors
/// If it is too long or cannot be read.
pub(super) async fn read(body: Incoming, content_type: &str) -> Result<Option<Value>, Refusal> {
    let collected = Limited::new(body, BODY_MAX).collect().await.map_err(|error| {
        Refusal::new(413, "RequestEntityTooLarge", format!("the request cannot be read: {error}"))
    })?;
    let bytes = collected.to_bytes();
    if bytes.is_empty() {
        return Ok(None);
    }
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let value = match kind {
        "application/vnd.kubernetes.protobuf" => protobuf::decode(&bytes)?,
        "application/yaml" | "application/apply-patch+yaml" => {
            let text =
                std::str::from_utf8(&bytes).map_err(|error| Refusal::bad_request(error.to_string()))?;
            // JSON is YAML, and read faster.
            serde_json::from_str(text)
                .or_else(|_| serde_saphyr::from_str(text))
                .map_err(|error| Refusal::bad_request(format!("error decoding YAML: {error}")))?
        }
        "" | "application/json" => json(&bytes)?,
        kind if kind.ends_with("+json") => json(&bytes)?,
        other => {
            let message = format!(
                "the body of the request was in an unknown format - accepted media types include: \
                                   application/json, application/yaml, application/vnd.kubernetes.protobuf; not {other}"
            );
            return Err(Refusal::new(415, "UnsupportedMediaType", message));
        }
    };
    Ok(Some(value))
}

fn json(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes)
        .map_err(|error| Refusal::bad_request(format!("error decoding JSON: {error}")))
}
