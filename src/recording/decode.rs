//! From lines to records.

use std::borrow::Cow;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::objects::Pod;
use crate::api::{Kind, NamespacedName, Object, ObjectStore, Str, Time};
use crate::framework::api_write::{ApiFailure, ApiFailureReason};
use crate::framework::extender::ExtenderAnswer;
use crate::scheduler::effect::EffectId;
use crate::scheduler::input::{Command, Input};
use crate::scheduler::turns::Strand;

use super::header::time_text;
use super::record::Record;

/// All fields that a line may have.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    t: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "in")]
    input: Option<Cow<'a, str>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old: Option<&'a RawValue>,
    #[serde(borrow)]
    objects: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    namespace: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    strand: Option<Cow<'a, str>>,
    id: Option<u64>,
    status: Option<u16>,
    #[serde(borrow)]
    body: Option<Cow<'a, str>>,
    #[serde(borrow)]
    failure: Option<Cow<'a, str>>,
    #[serde(borrow)]
    message: Option<Cow<'a, str>>,
    #[serde(borrow)]
    uid: Option<Cow<'a, str>>,
    #[serde(borrow)]
    plugin: Option<Cow<'a, str>>,
    weight: Option<i64>,
    #[serde(borrow)]
    configuration: Option<Cow<'a, str>>,
    #[serde(borrow)]
    decided: Option<Cow<'a, str>>,
    digest: Option<IndexMap<String, String>>,
    inputs: Option<u64>,
    #[serde(borrow)]
    marker: Option<Cow<'a, str>>,
    #[serde(borrow)]
    note: Option<Cow<'a, str>>,
    rewind: Option<u64>,
    #[serde(borrow)]
    end: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct KindOf<'a> {
    #[serde(borrow)]
    kind: Cow<'a, str>,
}

/// Reads a line whose checksum is right. `known` are the objects as they were last recorded; an input changes them.
pub(super) fn record(line: &[u8], known: &mut ObjectStore) -> Result<Record, String> {
    let fields: Fields<'_> = serde_json::from_slice(line).map_err(|error| error.to_string())?;
    let inputs = || fields.inputs.ok_or("inputs is missing");
    if fields.input.is_some() {
        let at = fields.time()?;
        let decided = fields.decided.as_deref().map(checksum).transpose()?;
        let input = Box::new(fields.into_input(known)?);
        return Ok(Record::Input { at, input, decided });
    }
    if let Some(digest) = &fields.digest {
        let parts = digest.iter().map(|(name, text)| Ok((name.clone(), digest_number(text)?)));
        return Ok(Record::Digest { inputs: inputs()?, parts: parts.collect::<Result<_, String>>()? });
    }
    if let Some(name) = &fields.marker {
        return Ok(Record::Marker { at: fields.time()?, name: name.clone().into_owned() });
    }
    if let Some(text) = &fields.note {
        return Ok(Record::Note { at: fields.time()?, text: text.clone().into_owned() });
    }
    if let Some(input) = fields.rewind {
        *known = ObjectStore::default();
        return Ok(Record::Rewind { input });
    }
    match &fields.end {
        Some(reason) => Ok(Record::End { inputs: inputs()?, reason: reason.clone().into_owned() }),
        None => Err("it is no kind of line that this version knows".to_owned()),
    }
}

fn checksum(text: &str) -> Result<u32, String> {
    u32::from_str_radix(text, 16).map_err(|_| format!("{text:?} is not a checksum"))
}

fn digest_number(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16).map_err(|_| format!("{text:?} is not a digest"))
}

fn text(field: Option<Cow<'_, str>>, name: &str) -> Result<String, String> {
    field.map(Cow::into_owned).ok_or_else(|| format!("{name} is missing"))
}

fn object(raw: &RawValue) -> Result<Object, String> {
    let KindOf { kind } = serde_json::from_str(raw.get()).map_err(|error| error.to_string())?;
    let kind = kind_named(&kind)?;
    let mut deserializer = serde_json::Deserializer::from_str(raw.get());
    Object::deserialize_kind(kind, &mut deserializer).map_err(|error| error.to_string())
}

fn kind_named(name: &str) -> Result<Kind, String> {
    let kind = Kind::ALL.iter().find(|kind| kind.as_str() == name);
    kind.copied().ok_or_else(|| format!("{name:?} is not a kind that this version knows"))
}

impl Fields<'_> {
    fn time(&self) -> Result<Time, String> {
        let text = self.t.as_deref().ok_or("t is missing")?;
        time_text::parse(text).ok_or_else(|| format!("{text:?} is not a time"))
    }

    fn object(&self) -> Result<Object, String> {
        object(self.object.ok_or("object is missing")?)
    }

    fn effect_id(&self) -> Result<EffectId, String> {
        self.id.map(EffectId).ok_or_else(|| "id is missing".to_owned())
    }

    fn failure(self) -> Result<ApiFailure, String> {
        let reason = match self.failure.as_deref() {
            Some("NotFound") => ApiFailureReason::NotFound,
            Some("Conflict") => ApiFailureReason::Conflict,
            Some("Other") => ApiFailureReason::Other,
            other => return Err(format!("{other:?} is not the reason of a failure")),
        };
        Ok(ApiFailure { reason, message: text(self.message, "message")? })
    }

    fn into_input(self, known: &mut ObjectStore) -> Result<Input, String> {
        let input = match self.input.as_deref().unwrap_or_default() {
            "added" => {
                let object = self.object()?;
                known.insert(object.clone());
                Input::Added(object)
            }
            "updated" => {
                let new = self.object()?;
                let old = match self.old {
                    Some(old) => object(old)?,
                    None => known
                        .get(new.kind(), &new.key())
                        .ok_or_else(|| format!("{} {} was not there before", new.kind(), new.key()))?,
                };
                known.insert(new.clone());
                Input::Updated { old, new }
            }
            "deleted" => Input::Deleted(self.deleted(known)?),
            "done" => {
                let id = self.effect_id()?;
                let result = if self.failure.is_some() { Err(self.failure()?) } else { Ok(()) };
                Input::EffectDone { id, result }
            }
            "answered" => {
                let id = self.effect_id()?;
                let answer = match self.status {
                    Some(status) => ExtenderAnswer::Http { status, body: text(self.body, "body")? },
                    None => ExtenderAnswer::Failed(text(self.message, "message")?),
                };
                Input::ExtenderAnswered { id, answer }
            }
            "written" => {
                let id = self.effect_id()?;
                let result = if self.failure.is_some() { Err(self.failure()?) } else { Ok(self.object()?) };
                Input::Written { id, result }
            }
            "timeout" => Input::Timeout,
            "scheduleOne" => Input::Command(Command::ScheduleOne),
            "nextPhase" => Input::Command(Command::NextPhase),
            "goOn" => Input::Command(Command::GoOn(self.strand()?)),
            "activate" => Input::Command(Command::Activate(self.pods()?)),
            "setWeight" => Input::Command(Command::SetWeight {
                plugin: text(self.plugin, "plugin")?,
                weight: self.weight.ok_or("weight is missing")?,
            }),
            "configure" => Input::Command(Command::Configure {
                configuration: text(self.configuration, "configuration")?,
            }),
            "allow" => Input::Command(Command::AllowWaitingPod {
                uid: Str::from(text(self.uid, "uid")?),
                plugin: text(self.plugin, "plugin")?,
            }),
            "reject" => Input::Command(Command::RejectWaitingPod {
                uid: Str::from(text(self.uid, "uid")?),
                plugin: text(self.plugin, "plugin")?,
                message: text(self.message, "message")?,
            }),
            other => return Err(format!("{other:?} is not an input that this version knows")),
        };
        Ok(input)
    }

    fn strand(self) -> Result<Strand, String> {
        let uid = |uid: Option<Cow<'_, str>>| text(uid, "uid").map(Str::from);
        match self.strand.as_deref() {
            Some("preemption") => Ok(Strand::Preemption(uid(self.uid)?)),
            Some("binding") => Ok(Strand::Binding(uid(self.uid)?)),
            Some("backoffFlush") => Ok(Strand::BackoffFlush),
            Some("leftoverFlush") => Ok(Strand::LeftoverFlush),
            other => Err(format!("{other:?} is nothing that goes on")),
        }
    }

    fn deleted(self, known: &mut ObjectStore) -> Result<Object, String> {
        let object = match self.object {
            Some(raw) => object(raw)?,
            None => {
                let kind = kind_named(self.kind.as_deref().unwrap_or_default())?;
                let namespace = self.namespace.as_deref().unwrap_or_default();
                let key = NamespacedName::new(namespace, self.name.as_deref().unwrap_or_default());
                let object = known.get(kind, &key);
                object.ok_or_else(|| format!("{kind} {key} was not there before"))?
            }
        };
        known.remove(object.kind(), &object.key());
        Ok(object)
    }

    fn pods(&self) -> Result<Vec<std::sync::Arc<Pod>>, String> {
        let objects = self.objects.as_ref().ok_or("objects is missing")?;
        let pod = |raw: &&RawValue| match object(raw)? {
            Object::Pod(pod) => Ok(pod),
            other => Err(format!("{} stands where pods stand", other.kind())),
        };
        objects.iter().map(pod).collect()
    }
}
