//! One informer's network: list, watch, and again.
//!
//! The kube crate's watcher does the work: watch-list where the server has it, bookmarks, a new list after 410, and a
//! growing pause after a failure. Objects are read into the fields that the scheduler reads as they come, and the rest
//! of them is dropped.

use futures::StreamExt as _;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::mpsc::Sender;

use crate::api::{Kind, NamespacedName, Object};

use super::connect::words;
use super::informers::Report;
use super::kept::{drop_unread, drop_unread_of_pod};
use super::pool::Pool;

/// The API server ends a watch after so long; the next one begins where it ended.
const WATCH_TIMEOUT_SECS: u32 = 290;

/// Which of two ways the first objects come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Listing {
    /// As the beginning of the watch (`sendInitialEvents`).
    Streamed,
    /// By a list in pages before the watch.
    Paged,
}

/// Reports everything about a kind until nobody listens any more.
pub async fn feed(client: Client, kind: Kind, reports: Sender<(Kind, Report)>) {
    let mut listing = Listing::Streamed;
    let mut pool = Pool::default();
    loop {
        match watch(&client, kind, listing, &reports, &mut pool).await {
            Ended::NobodyListens => return,
            Ended::NoStreamedLists => listing = Listing::Paged,
        }
    }
}

/// Why a watch was given up.
enum Ended {
    NobodyListens,
    /// The server does not know watch-list.
    NoStreamedLists,
}

async fn watch(
    client: &Client,
    kind: Kind,
    listing: Listing,
    reports: &Sender<(Kind, Report)>,
    pool: &mut Pool,
) -> Ended {
    let resource = api_resource(kind);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let mut config = watcher::Config::default().timeout(WATCH_TIMEOUT_SECS);
    if kind == Kind::Pod {
        // Pods that have ended do not exist for the scheduler.
        config = config.fields("status.phase!=Succeeded,status.phase!=Failed");
    }
    if listing == Listing::Streamed {
        config = config.streaming_lists();
    }
    let mut stream = std::pin::pin!(watcher::watcher(api, config).default_backoff());
    while let Some(event) = stream.next().await {
        let report = match event {
            Ok(Event::Init) => Report::Listing,
            Ok(Event::InitApply(object)) => {
                shared(kind, object, pool).map_or_else(unreadable, Report::Listed)
            }
            Ok(Event::InitDone) => Report::ListDone,
            Ok(Event::Apply(object)) => shared(kind, object, pool).map_or_else(unreadable, Report::Applied),
            Ok(Event::Delete(object)) => Report::Deleted(key_of(&object)),
            Err(error) if listing == Listing::Streamed && refuses_streamed_lists(&error) => {
                return Ended::NoStreamedLists;
            }
            Err(error) => failure(&error),
        };
        if reports.send((kind, report)).await.is_err() {
            return Ended::NobodyListens;
        }
    }
    Ended::NobodyListens
}

pub(super) fn api_resource(kind: Kind) -> ApiResource {
    let (group, version) = kind.api_version().split_once('/').unwrap_or(("", kind.api_version()));
    let gvk = GroupVersionKind::gvk(group, version, kind.as_str());
    ApiResource::from_gvk_with_plural(&gvk, kind.resource())
}

fn key_of(object: &DynamicObject) -> NamespacedName {
    let name = object.metadata.name.clone().unwrap_or_default();
    match &object.metadata.namespace {
        Some(namespace) => NamespacedName::new(namespace.as_str(), name),
        None => NamespacedName::cluster(name),
    }
}

fn unreadable((key, error): (NamespacedName, String)) -> Report {
    Report::Unreadable { key, error }
}

/// Reads the fields that the scheduler reads, with one copy of each text.
fn shared(kind: Kind, object: DynamicObject, pool: &mut Pool) -> Result<Object, (NamespacedName, String)> {
    let mut object = read(kind, object)?;
    pool.share(&mut object);
    Ok(object)
}

/// Reads the fields that the scheduler reads.
pub fn read(kind: Kind, object: DynamicObject) -> Result<Object, (NamespacedName, String)> {
    let key = key_of(&object);
    let mut metadata = object.metadata;
    metadata.managed_fields = None;
    let result = serde_json::to_value(metadata).and_then(|metadata| {
        let mut whole = match object.data {
            Value::Object(fields) => fields,
            _ => serde_json::Map::new(),
        };
        whole.insert("metadata".to_owned(), metadata);
        match kind {
            Kind::Pod => drop_unread_of_pod(&mut whole),
            _ => drop_unread(&mut whole),
        }
        Object::deserialize_kind(kind, Value::Object(whole))
    });
    result.map_err(|error| (key, error.to_string()))
}

fn status_of(error: &watcher::Error) -> Option<&kube::core::Status> {
    match error {
        watcher::Error::WatchError(status) => Some(status),
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status)) => Some(status),
        _ => None,
    }
}

fn refuses_streamed_lists(error: &watcher::Error) -> bool {
    status_of(error).is_some_and(|status| {
        matches!(status.code, 400 | 422) || status.message.contains("sendInitialEvents")
    })
}

fn failure(error: &watcher::Error) -> Report {
    match status_of(error) {
        Some(status) if matches!(status.code, 401 | 403) => {
            Report::Forbidden { message: status.message.clone() }
        }
        Some(status) if status.code == 404 => Report::Absent,
        Some(status) => Report::Failing { error: status.message.clone() },
        None => Report::Failing { error: words(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_scheduler_reads_is_kept_and_a_wrong_field_is_named() {
        let object = |cpu: Value| {
            let text = serde_json::json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": "n1", "managedFields": [{"manager": "kubelet"}]},
                "status": {"allocatable": {"cpu": cpu}, "nodeInfo": {"machineID": "x"}},
            });
            serde_json::from_value::<DynamicObject>(text)
        };
        let good = object(Value::from("4")).map(|object| read(Kind::Node, object));
        let node = good.ok().and_then(Result::ok);
        assert_eq!(node.map(|node| node.key().to_string()), Some("n1".to_owned()));
        let bad = object(Value::from("four")).map(|object| read(Kind::Node, object));
        let told = bad.ok().and_then(Result::err).map(|(key, error)| format!("{key}: {error}"));
        assert!(told.as_deref().is_some_and(|told| told.starts_with("n1: ")), "{told:?}");
    }
}
