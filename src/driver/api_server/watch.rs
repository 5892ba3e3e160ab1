//! Watches: what has changed since a version, told as it happens.
//!
//! As the watch cache of kube-apiserver has it: without a version the present objects are told first; with
//! `sendInitialEvents` a bookmark says where they end. An object that leaves the selection is told as deleted, one that
//! enters it as added. Whoever has fallen behind what is known is told so and has to list again.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::json;
use tokio::time::Instant;

use super::body::{Answer, answer};
use super::filter::Filter;
use super::mirror::{Change, Mirror, Served};
use super::reading::Form;
use super::route::Query;
use super::status::{About, failure};
use crate::api::Time;
use crate::driver::sandbox::requests::Refusal;
use crate::driver::sandbox::resources::ResourceId;

/// How long a watch lasts if its client does not say.
const LENGTH: Duration = Duration::from_secs(45 * 60);
/// How often a client that wants them gets bookmarks.
const BOOKMARK_INTERVAL: Duration = Duration::from_secs(30);

/// What is watched, and how far it was told.
struct Watch {
    mirror: Arc<Mirror>,
    id: ResourceId,
    namespace: Option<String>,
    filter: Filter,
    form: Form,
    version: u64,
    /// What is to be sent.
    pending: VecDeque<Bytes>,
    news: tokio::sync::watch::Receiver<u64>,
    has_bookmarks: bool,
    next_bookmark: Instant,
    end: Instant,
    is_over: bool,
}

/// Begins a watch.
///
/// # Errors
/// What is wrong with the parameters.
pub(super) fn watch(
    mirror: &Arc<Mirror>,
    id: ResourceId,
    namespace: Option<&str>,
    filter: Filter,
    query: &Query,
    form: Form,
) -> Result<Response<Answer>, Refusal> {
    let asked = query.get("resourceVersion");
    let has_initial = query.is_set("sendInitialEvents");
    let version = match asked {
        "" | "0" => None,
        text => Some(text.parse::<u64>().map_err(|_| {
            Refusal::bad_request(format!("resourceVersion: Invalid value: {text:?}: it is no number"))
        })?),
    };
    if has_initial && query.get("resourceVersionMatch") != "NotOlderThan" {
        return Err(Refusal::new(
            422,
            "Invalid",
            "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: sendInitialEvents requires \
             setting resourceVersionMatch to NotOlderThan",
        ));
    }
    let length = match query.get("timeoutSeconds").parse::<u64>() {
        Ok(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => LENGTH,
    };
    let has_bookmarks = query.is_set("allowWatchBookmarks");
    let now = Instant::now();
    let mut watch = Watch {
        mirror: Arc::clone(mirror),
        id,
        namespace: namespace.map(str::to_owned),
        filter,
        form,
        version: version.unwrap_or_default(),
        pending: VecDeque::new(),
        news: mirror.news(),
        has_bookmarks,
        next_bookmark: now + BOOKMARK_INTERVAL,
        end: now + length.min(Duration::from_secs(24 * 3600)),
        is_over: false,
    };
    if has_initial || (version.is_none() && query.get("sendInitialEvents") != "false") {
        watch.begin_with_all(has_initial && has_bookmarks);
    } else if version.is_none() {
        watch.version = watch.mirror.version();
    }
    let frames = futures::stream::unfold(watch, |mut watch| async move {
        let bytes = watch.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(bytes)), watch))
    });
    let mut response = answer(StatusCode::OK, "application/json", Bytes::new());
    *response.body_mut() = StreamBody::new(frames).boxed_unsync();
    Ok(response)
}

impl Watch {
    fn begin_with_all(&mut self, says_where_it_ends: bool) {
        let listed = self.mirror.list(self.id, self.namespace.as_deref());
        self.version = listed.version;
        for object in listed.objects.iter().filter(|object| self.filter.matches(object)) {
            self.pending.push_back(self.line("ADDED", object, listed.now));
        }
        if says_where_it_ends {
            self.pending.push_back(self.bookmark(true));
        }
    }

    fn line(&self, type_: &str, object: &Served, now: Time) -> Bytes {
        let object = self.form.one(self.id, object, now);
        let mut line = Vec::with_capacity(object.len() + 40);
        line.extend_from_slice(format!("{{\"type\":\"{type_}\",\"object\":").as_bytes());
        line.extend_from_slice(&object);
        line.extend_from_slice(b"}\n");
        Bytes::from(line)
    }

    fn bookmark(&self, is_end_of_initial: bool) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.version.to_string(), "creationTimestamp": null});
        if is_end_of_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let object = match self.form {
            Form::Whole => json!({
                "kind": self.id.get().kind, "apiVersion": self.id.get().api_version(), "metadata": metadata,
            }),
            Form::Metadata => json!({
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
            }),
            Form::Table(_) => json!({
                "kind": "Table", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"resourceVersion": self.version.to_string()}, "columnDefinitions": null,
                "rows": [{"cells": [], "object": {
                    "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                }}],
            }),
        };
        Bytes::from(format!("{}\n", json!({"type": "BOOKMARK", "object": object})))
    }

    /// The next piece; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.pending.is_empty() {
                return Some(self.all_pending());
            }
            if self.is_over {
                return None;
            }
            // Whatever comes from now on wakes it.
            self.news.borrow_and_update();
            self.look();
            if !self.pending.is_empty() || self.is_over {
                continue;
            }
            let until = if self.has_bookmarks { self.next_bookmark.min(self.end) } else { self.end };
            tokio::select! {
                changed = self.news.changed() => if changed.is_err() {
                    return None;
                },
                () = tokio::time::sleep_until(until) => {
                    if until >= self.end {
                        self.is_over = true;
                        if self.has_bookmarks {
                            self.pending.push_back(self.bookmark(false));
                        }
                    } else {
                        self.next_bookmark = until + BOOKMARK_INTERVAL;
                        self.pending.push_back(self.bookmark(false));
                    }
                }
            }
        }
    }

    /// Many small pieces as one.
    fn all_pending(&mut self) -> Bytes {
        if self.pending.len() == 1 {
            return self.pending.pop_front().unwrap_or_default();
        }
        let mut whole = Vec::new();
        while whole.len() < 1 << 16
            && let Some(piece) = self.pending.pop_front()
        {
            whole.extend_from_slice(&piece);
        }
        Bytes::from(whole)
    }

    fn look(&mut self) {
        match self.mirror.changes_since(self.id, self.version) {
            Ok((changes, version)) => {
                let now = self.mirror.now();
                for change in &changes {
                    if let Some((type_, object)) = self.told(change) {
                        let line = self.line(type_, object, now);
                        self.pending.push_back(line);
                    }
                }
                self.version = self.version.max(version);
            }
            Err(too_old) => {
                let message = format!("too old resource version: {} ({})", self.version, too_old.known_from);
                let status = failure(&Refusal::new(410, "Expired", message), &About::default());
                let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
                self.pending.push_back(Bytes::from(line));
                self.is_over = true;
            }
        }
    }

    /// What a change is to one who sees only what is selected.
    fn told<'a>(&self, change: &'a Change) -> Option<(&'static str, &'a Served)> {
        let was = change.old.as_ref().is_some_and(|old| self.filter.matches(old));
        let is = !change.is_gone && self.filter.matches(&change.now);
        let type_ = match (was, is) {
            (false, false) => return None,
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
        };
        Some((type_, &change.now))
    }
}
