//! A live cluster read once: a list of every kind, nothing watched, nothing written.

use kube::api::ListParams;
use kube::{Api, Client};

use super::connect::words;
use super::feed::{api_resource, read};
use crate::api::{Kind, Object};

/// Objects in a page of a list.
const PAGE: u32 = 500;

/// What was read.
#[derive(Debug, Default)]
pub struct ReadOnce {
    /// The objects.
    pub objects: Vec<Object>,
    /// What could not be read, in sentences.
    pub notes: Vec<String>,
}

/// Why the cluster cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("listing {resource}: {error}")]
pub struct ReadOnceError {
    /// Which resource.
    pub resource: &'static str,
    /// Why.
    pub error: String,
}

/// Lists every one of the kinds. A kind that the server does not have, or does not show, is told in a note.
///
/// # Errors
/// If a list fails, or nodes or pods are not shown.
pub async fn read_once(client: &Client, kinds: &[Kind]) -> Result<ReadOnce, ReadOnceError> {
    let mut found = ReadOnce::default();
    for kind in kinds {
        list(client, *kind, &mut found).await?;
    }
    Ok(found)
}

async fn list(client: &Client, kind: Kind, found: &mut ReadOnce) -> Result<(), ReadOnceError> {
    let api: Api<kube::api::DynamicObject> = Api::all_with(client.clone(), &api_resource(kind));
    let mut params = ListParams::default().limit(PAGE);
    if kind == Kind::Pod {
        // Pods that have ended do not exist for the scheduler.
        params = params.fields("status.phase!=Succeeded,status.phase!=Failed");
    }
    loop {
        let page = match api.list(&params).await {
            Ok(page) => page,
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
                if matches!(kind, Kind::Node | Kind::Pod) {
                    return Err(ReadOnceError { resource: kind.resource(), error: status.message.clone() });
                }
                let why = if status.code == 404 { "the server does not have them" } else { &status.message };
                found.notes.push(format!("{} are left out: {why}", kind.resource()));
                return Ok(());
            }
            Err(error) => return Err(ReadOnceError { resource: kind.resource(), error: words(&error) }),
        };
        for object in page.items {
            match read(kind, object) {
                Ok(object) => found.objects.push(object),
                Err((key, error)) => {
                    found.notes.push(format!("{} {key} is left out: {error}", kind.as_str().to_lowercase()));
                }
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(()),
        }
    }
}
