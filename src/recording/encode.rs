//! From records to lines.

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;

use crate::api::{Object, ObjectStore, Time};
use crate::framework::api_write::{ApiFailure, ApiFailureReason};
use crate::framework::extender::ExtenderAnswer;
use crate::scheduler::input::{Command, Input};
use crate::scheduler::turns::Strand;

use super::exact::Exact;
use super::header::time_text;
use super::slim::Slim;

/// A line in the making: a JSON object without its closing brace.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) bytes: Vec<u8>,
}

impl Line {
    /// Begins a line.
    fn begin(&mut self) -> &mut Self {
        self.bytes.clear();
        self
    }

    fn key(&mut self, key: &str) -> &mut Self {
        self.bytes.extend_from_slice(if self.bytes.is_empty() { b"{\"" } else { b",\"" });
        self.bytes.extend_from_slice(key.as_bytes());
        self.bytes.extend_from_slice(b"\":");
        self
    }

    /// Adds a value. None of the types that come here is one that JSON cannot hold.
    fn value(&mut self, value: &(impl Serialize + ?Sized)) -> &mut Self {
        let before = self.bytes.len();
        if serde_json::to_writer(&mut self.bytes, &Exact(value)).is_err() {
            self.bytes.truncate(before);
            self.bytes.extend_from_slice(b"null");
        }
        self
    }

    fn field(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> &mut Self {
        self.key(key).value(value)
    }

    fn time(&mut self, at: Time) -> &mut Self {
        self.field("t", &time_text::text(at))
    }

    fn object(&mut self, object: &Object, slim: &Slim) -> &mut Self {
        let object = slim.object(object);
        let kind = object.kind();
        self.bytes.extend_from_slice(b"{\"apiVersion\":\"");
        self.bytes.extend_from_slice(kind.api_version().as_bytes());
        self.bytes.extend_from_slice(b"\",\"kind\":\"");
        self.bytes.extend_from_slice(kind.as_str().as_bytes());
        let at = self.bytes.len();
        self.value(&OwnFields(&object));
        // The brace that opens the object's own fields ends the kind.
        if self.bytes.get(at..).is_some_and(|fields| fields.starts_with(b"{\"")) {
            self.bytes.splice(at..=at, *b"\",");
        } else {
            self.bytes.truncate(at);
            self.bytes.extend_from_slice(b"\"}");
        }
        self
    }

    /// An input. `known` are the objects as they were last recorded; the input changes them.
    pub(super) fn input(
        &mut self,
        at: Time,
        input: &Input,
        decided: Option<u32>,
        known: &mut ObjectStore,
        slim: &Slim,
    ) -> &mut Self {
        self.begin().time(at).key("in");
        match input {
            Input::Added(object) => {
                self.value("added").key("object").object(object, slim);
                known.insert(object.clone());
            }
            Input::Updated { old, new } => {
                self.value("updated").key("object").object(new, slim);
                if !is_known(known, old) || old.key() != new.key() || old.kind() != new.kind() {
                    self.key("old").object(old, slim);
                }
                known.insert(new.clone());
            }
            Input::Deleted(object) => {
                self.value("deleted");
                if is_known(known, object) {
                    let metadata = object.metadata();
                    self.field("kind", object.kind().as_str());
                    self.field("namespace", &*metadata.namespace).field("name", &*metadata.name);
                } else {
                    self.key("object").object(object, slim);
                }
                known.remove(object.kind(), &object.key());
            }
            Input::EffectDone { id, result } => {
                self.value("done").field("id", &id.0);
                if let Err(failure) = result {
                    self.failure(failure);
                }
            }
            Input::ExtenderAnswered { id, answer } => {
                self.value("answered").field("id", &id.0);
                match answer {
                    ExtenderAnswer::Http { status, body } => self.field("status", status).field("body", body),
                    ExtenderAnswer::Failed(text) => self.field("message", text),
                };
            }
            Input::Written { id, result } => {
                self.value("written").field("id", &id.0);
                match result {
                    Ok(object) => self.key("object").object(object, slim),
                    Err(failure) => self.failure(failure),
                };
            }
            Input::Timeout => {
                self.value("timeout");
            }
            Input::Command(command) => self.command(command, slim),
        }
        if let Some(decided) = decided {
            self.field("decided", &format!("{decided:08x}"));
        }
        self
    }

    fn failure(&mut self, failure: &ApiFailure) -> &mut Self {
        let reason = match failure.reason {
            ApiFailureReason::NotFound => "NotFound",
            ApiFailureReason::Conflict => "Conflict",
            ApiFailureReason::Other => "Other",
        };
        self.field("failure", reason).field("message", &failure.message)
    }

    fn command(&mut self, command: &Command, slim: &Slim) {
        match command {
            Command::ScheduleOne => {
                self.value("scheduleOne");
            }
            Command::NextPhase => {
                self.value("nextPhase");
            }
            Command::GoOn(strand) => {
                let (name, uid) = match strand {
                    Strand::Preemption(uid) => ("preemption", Some(uid)),
                    Strand::Binding(uid) => ("binding", Some(uid)),
                    Strand::BackoffFlush => ("backoffFlush", None),
                    Strand::LeftoverFlush => ("leftoverFlush", None),
                };
                self.value("goOn").field("strand", name);
                if let Some(uid) = uid {
                    self.field("uid", &**uid);
                }
            }
            Command::Activate(pods) => {
                self.value("activate").key("objects");
                for (i, pod) in pods.iter().enumerate() {
                    self.bytes.push(if i == 0 { b'[' } else { b',' });
                    self.object(&Object::Pod(Arc::clone(pod)), slim);
                }
                self.bytes.extend_from_slice(if pods.is_empty() { b"[]" } else { b"]" });
            }
            Command::SetWeight { plugin, weight } => {
                self.value("setWeight").field("plugin", plugin).field("weight", weight);
            }
            Command::Configure { configuration } => {
                self.value("configure").field("configuration", configuration);
            }
            Command::AllowWaitingPod { uid, plugin } => {
                self.value("allow").field("uid", &**uid).field("plugin", plugin);
            }
            Command::RejectWaitingPod { uid, plugin, message } => {
                self.value("reject").field("uid", &**uid).field("plugin", plugin).field("message", message);
            }
        }
    }

    pub(super) fn digest(&mut self, inputs: u64, parts: &[(&'static str, u64)]) -> &mut Self {
        let parts: IndexMap<&str, String> =
            parts.iter().map(|(name, digest)| (*name, format!("{digest:016x}"))).collect();
        self.begin().field("digest", &parts).field("inputs", &inputs)
    }

    pub(super) fn marker(&mut self, at: Time, name: &str) -> &mut Self {
        self.begin().time(at).field("marker", name)
    }

    pub(super) fn note(&mut self, at: Time, text: &str) -> &mut Self {
        self.begin().time(at).field("note", text)
    }

    pub(super) fn rewind(&mut self, input: u64) -> &mut Self {
        self.begin().field("rewind", &input)
    }

    pub(super) fn end(&mut self, inputs: u64, reason: &str) -> &mut Self {
        self.begin().field("end", reason).field("inputs", &inputs)
    }
}

/// Whether the object is the one that was recorded last under its key.
fn is_known(known: &ObjectStore, object: &Object) -> bool {
    known.get(object.kind(), &object.key()).is_some_and(|last| last == *object)
}

/// An object without its kind.
pub(super) struct OwnFields<'a>(pub &'a Object);

impl Serialize for OwnFields<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize_fields(serializer)
    }
}
