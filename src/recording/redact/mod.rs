//! Recordings without names: every name, namespace, label, image and uid is replaced by a pseudonym, and every decision
//! stays what it was.
//!
//! That it does is not assumed. A second scheduler is given the inputs with pseudonyms, and after each of them its
//! deeds are compared with those of the first one. What the second one decides and is like is what is recorded, so the
//! result replays like any other recording.

mod documents;
mod live;
mod names;
mod pseudonyms;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Write};
use std::sync::Arc;

use serde_json::Value;

use super::check::Replay;
use super::decisions::decisions_check;
use super::header::{Header, HeaderError};
use super::reader::{ReadError, RecordingReader, places_gone_back_to};
use super::record::Record;
use super::slim::Slim;
use super::writer::{Compression, RecordingWriter};
use crate::api::objects::Pod;
use crate::api::{NamespacedName, Object, Str, Time};
use crate::framework::api_write::ApiFailure;
use crate::framework::extender::ExtenderAnswer;
use crate::framework::runtime::Registry;
use crate::scheduler::effect::{Effect, EffectKind};
use crate::scheduler::input::{Command, Input};
use crate::scheduler::turns::Strand;
pub use live::LiveRedaction;
use names::Names;

/// What remains after redaction, for people who decide whether to pass a recording on.
pub const WHAT_REMAINS: &[&str] = &[
    "how many objects there are, of which kinds, and the times of everything",
    "amounts of resources, priorities, taint effects, operators and all other words of the API",
    "the order in which names sort, and which names have a word in common",
    "label and taint keys, resources and annotations of kubernetes.io and k8s.io; values of labels that are whole \
     numbers; the operating system and the architecture of nodes",
    "the names of native resources, plugins, storage drivers and provisioners, volume modes and feature gates",
    "attributes, capacities and counters of devices, and the expressions that select them",
    "host IPs of ports, resource versions, and the name default-scheduler",
];

/// Why a recording cannot be redacted.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// The recording cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// No scheduler can be made of it, or of the redacted header.
    #[error("no scheduler can be made of the recording: {0}")]
    Header(#[from] HeaderError),
    /// An object cannot be redacted.
    #[error("input {input}: {reason}")]
    Object {
        /// The input, counted from 1.
        input: u64,
        /// Why.
        reason: String,
    },
    /// With pseudonyms the scheduler decides otherwise.
    #[error("input {input}: with pseudonyms the scheduler decides otherwise: {what}")]
    Diverged {
        /// The input, counted from 1.
        input: u64,
        /// What is different.
        what: String,
    },
    /// The result cannot be written.
    #[error("writing the result: {0}")]
    Write(#[from] std::io::Error),
}

/// Replaces names.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    names: Names,
}

impl Redactor {
    /// The header with pseudonyms.
    pub fn header(&mut self, header: &Header) -> Header {
        let mut header = header.clone();
        header.redacted = true;
        header.source = "redacted".to_owned();
        self.configuration(&mut header.configuration);
        header
    }

    fn configuration(&mut self, configuration: &mut Value) {
        let names = &mut self.names;
        let list = |configuration: &mut Value, key: &str| -> Vec<Value> {
            configuration.get_mut(key).and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default()
        };
        let mut profiles = list(configuration, "profiles");
        for profile in &mut profiles {
            if let Some(Value::String(name)) = profile.get_mut("schedulerName") {
                *name = names.scheduler(name);
            }
            for config in profile.get_mut("pluginConfig").and_then(Value::as_array_mut).into_iter().flatten()
            {
                if let Some(args) = config.get_mut("args") {
                    documents::arguments(names, args);
                }
            }
        }
        let mut extenders = list(configuration, "extenders");
        for (number, extender) in extenders.iter_mut().enumerate() {
            if let Some(Value::String(url)) = extender.get_mut("urlPrefix") {
                *url = format!("http://extender-{number}");
            }
            let resources = extender.get_mut("managedResources").and_then(Value::as_array_mut);
            for resource in resources.into_iter().flatten() {
                if let Some(Value::String(name)) = resource.get_mut("name") {
                    *name = names.resource(name);
                }
            }
        }
        if let Value::Object(configuration) = configuration {
            for (key, list) in [("profiles", profiles), ("extenders", extenders)] {
                if !list.is_empty() {
                    configuration.insert(key.to_owned(), list.into());
                }
            }
        }
    }

    /// An input with pseudonyms.
    ///
    /// # Errors
    /// If an object cannot be written and read again.
    pub fn input(&mut self, input: &Input) -> Result<Input, String> {
        Ok(match input {
            Input::Added(object) => Input::Added(self.object(object)?),
            Input::Updated { old, new } => Input::Updated { old: self.object(old)?, new: self.object(new)? },
            Input::Deleted(object) => Input::Deleted(self.object(object)?),
            Input::EffectDone { id, result } => {
                let result = match result {
                    Ok(()) => Ok(()),
                    Err(error) => Err(failure(error)),
                };
                Input::EffectDone { id: *id, result }
            }
            Input::ExtenderAnswered { id, answer } => {
                let answer = match answer {
                    ExtenderAnswer::Http { status, body } => ExtenderAnswer::Http {
                        status: *status,
                        body: documents::extender_body(&mut self.names, body),
                    },
                    ExtenderAnswer::Failed(_) => ExtenderAnswer::Failed("redacted".to_owned()),
                };
                Input::ExtenderAnswered { id: *id, answer }
            }
            Input::Written { id, result } => {
                let result = match result {
                    Ok(object) => Ok(self.object(object)?),
                    Err(error) => Err(failure(error)),
                };
                Input::Written { id: *id, result }
            }
            Input::Timeout => Input::Timeout,
            Input::Command(command) => Input::Command(self.command(command)?),
        })
    }

    fn object(&mut self, object: &Object) -> Result<Object, String> {
        documents::object(&mut self.names, object)
    }

    fn command(&mut self, command: &Command) -> Result<Command, String> {
        let mut uid = |uid: &Str| Str::from(self.names.uid(uid));
        Ok(match command {
            Command::ScheduleOne => Command::ScheduleOne,
            Command::NextPhase => Command::NextPhase,
            Command::GoOn(strand) => Command::GoOn(match strand {
                Strand::Preemption(pod) => Strand::Preemption(uid(pod)),
                Strand::Binding(pod) => Strand::Binding(uid(pod)),
                Strand::BackoffFlush => Strand::BackoffFlush,
                Strand::LeftoverFlush => Strand::LeftoverFlush,
            }),
            Command::Activate(pods) => {
                let pods: Result<Vec<Arc<Pod>>, String> = pods
                    .iter()
                    .map(|pod| match self.object(&Object::Pod(Arc::clone(pod)))? {
                        Object::Pod(pod) => Ok(pod),
                        other => Err(format!("a pod became a {}", other.kind())),
                    })
                    .collect();
                Command::Activate(pods?)
            }
            Command::SetWeight { plugin, weight } => {
                Command::SetWeight { plugin: plugin.clone(), weight: *weight }
            }
            Command::Configure { configuration } => {
                let mut document: Value =
                    serde_json::from_str(configuration).map_err(|error| error.to_string())?;
                self.configuration(&mut document);
                Command::Configure { configuration: document.to_string() }
            }
            Command::AllowWaitingPod { uid: pod, plugin } => {
                Command::AllowWaitingPod { uid: uid(pod), plugin: plugin.clone() }
            }
            Command::RejectWaitingPod { uid: pod, plugin, message } => {
                let pod = uid(pod);
                let message = self.names.message(message);
                Command::RejectWaitingPod { uid: pod, plugin: plugin.clone(), message }
            }
        })
    }

    /// How many words and uids were replaced so far.
    pub fn count(&self) -> (usize, usize) {
        self.names.count()
    }

    /// The deeds are not the same. It may be that one of the schedulers has found its own words in a condition that the
    /// recording began with, and the other has not: the words are remembered for another try.
    fn learn(&mut self, original: &[Effect], redacted: &[Effect]) {
        let notes = |effects: &[Effect]| -> Vec<String> {
            let notes = effects.iter().filter_map(|effect| match &effect.kind {
                EffectKind::Event(event) => Some(event.note.clone()),
                _ => None,
            });
            notes.collect()
        };
        for (message, instead) in notes(original).iter().zip(&notes(redacted)) {
            self.names.said(message, instead);
        }
    }

    /// Whether two deeds are the same but for names. What the scheduler says in them is remembered.
    fn matches(&mut self, original: &Effect, redacted: &Effect) -> bool {
        use EffectKind::{Bind, CallExtender, DeletePod, Event, PatchPodGroupStatus, PatchPodStatus, Write};
        let mut key = |key: &NamespacedName| (self.names.name(&key.namespace), self.names.name(&key.name));
        let found = |key: &NamespacedName| (key.namespace.to_string(), key.name.to_string());
        original.id == redacted.id
            && match (&original.kind, &redacted.kind) {
                (Bind { pod, node, .. }, Bind { pod: other, node: other_node, .. }) => {
                    key(pod) == found(other) && self.names.name(node) == **other_node
                }
                (DeletePod { pod, .. }, DeletePod { pod: other, .. }) => key(pod) == found(other),
                (CallExtender(call), CallExtender(other)) => {
                    (call.extender, call.verb) == (other.extender, other.verb)
                }
                (Write(write), Write(other)) => {
                    let what = (write.verb, write.object.kind());
                    // The server completes such a name, and the plugin has words of its own in it.
                    let is_prefix = write.object.metadata().name.ends_with('-');
                    what == (other.verb, other.object.kind())
                        && (is_prefix || key(&write.object.key()) == found(&other.object.key()))
                }
                (
                    PatchPodStatus { pod, condition, nominated_node_name, .. },
                    PatchPodStatus {
                        pod: other,
                        condition: other_condition,
                        nominated_node_name: other_node,
                        ..
                    },
                ) => {
                    let is_same_pod = key(pod) == found(other);
                    let is_same_condition = match (condition, other_condition) {
                        (Some(condition), Some(other)) => {
                            self.names.said(&condition.message, &other.message);
                            (&condition.type_, &condition.status, &condition.reason)
                                == (&other.type_, &other.status, &other.reason)
                        }
                        (one, other) => one.is_none() && other.is_none(),
                    };
                    let node = nominated_node_name.as_ref().map(|node| self.names.name(node));
                    is_same_pod && is_same_condition && node.as_deref() == other_node.as_deref()
                }
                (
                    PatchPodGroupStatus { pod_group, condition, .. },
                    PatchPodGroupStatus { pod_group: other_group, condition: other, .. },
                ) => {
                    let is_same_group = key(pod_group) == found(other_group);
                    self.names.said(&condition.message, &other.message);
                    is_same_group
                        && (&condition.type_, &condition.status, &condition.reason)
                            == (&other.type_, &other.status, &other.reason)
                }
                (Event(event), Event(other)) => {
                    self.names.said(&event.note, &other.note);
                    (event.type_, event.reason) == (other.type_, other.reason)
                }
                _ => false,
            }
    }
}

fn failure(failure: &ApiFailure) -> ApiFailure {
    ApiFailure { reason: failure.reason, message: "redacted".to_owned() }
}

/// A scheduler that is given the inputs with pseudonyms, beside one that is given the original ones.
#[derive(Clone, Debug)]
pub struct Shadow {
    redactor: Redactor,
    replay: Replay,
    n_markers: usize,
}

impl Shadow {
    /// The scheduler of the header with pseudonyms, and that header.
    ///
    /// # Errors
    /// If no scheduler can be made of it.
    pub fn new(header: &Header, registry: &Registry) -> Result<(Self, Header), HeaderError> {
        Self::knowing(Redactor::default(), header, registry)
    }

    /// The same with a redactor that knows messages already.
    fn knowing(
        mut redactor: Redactor,
        header: &Header,
        registry: &Registry,
    ) -> Result<(Self, Header), HeaderError> {
        let header = redactor.header(header);
        let replay = Replay::new(&header, registry, false)?;
        Ok((Self { redactor, replay, n_markers: 0 }, header))
    }

    /// Takes an input upon which the original scheduler did these deeds. The answer is the input with pseudonyms, and
    /// the checksum of what is decided upon it.
    ///
    /// # Errors
    /// If other deeds follow.
    pub fn input(
        &mut self,
        at: Time,
        input: &Input,
        deeds: &[Effect],
    ) -> Result<(Input, Option<u32>), RedactError> {
        let number = self.replay.inputs() + 1;
        let redacted =
            self.redactor.input(input).map_err(|reason| RedactError::Object { input: number, reason })?;
        self.replay.input(at, redacted.clone());
        let found = self.replay.effects();
        let mut is_same = found.len() == deeds.len();
        for (original, found) in deeds.iter().zip(found) {
            is_same = is_same && self.redactor.matches(original, found);
        }
        if !is_same {
            self.redactor.learn(deeds, found);
            let what = self.replay.describe_effects();
            return Err(RedactError::Diverged { input: number, what });
        }
        Ok((redacted, decisions_check(found)))
    }

    /// The name of the next marker; people may have put anything into the original one.
    pub fn marker(&mut self) -> String {
        self.n_markers += 1;
        format!("marker {}", self.n_markers)
    }

    /// The state of the scheduler.
    pub fn digest_parts(&self) -> Vec<(&'static str, u64)> {
        self.replay.scheduler().digest_parts()
    }

    /// How many words and uids were replaced so far.
    pub fn count(&self) -> (usize, usize) {
        self.redactor.count()
    }
}

/// What a redaction came to.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RedactReport {
    /// Inputs that were redacted; upon each the same was decided.
    pub inputs: u64,
    /// Words that were replaced.
    pub words: usize,
    /// Uids that were replaced.
    pub uids: usize,
    /// Where the recording was cut off, if it was. The result ends there.
    pub cut: Option<String>,
}

/// So often a redaction is tried that learns something from each try.
const TRIES: usize = 20;

/// Writes a recording with pseudonyms. `open` opens the original anew, `begin` gives an empty sink; the last one has the
/// result.
///
/// # Errors
/// If the original cannot be read or the result not written, or if something is decided otherwise.
pub fn redact<R: BufRead, W: Write>(
    open: &mut dyn FnMut() -> Result<R, ReadError>,
    begin: &mut dyn FnMut() -> std::io::Result<W>,
    compression: Compression,
    registry: &Registry,
) -> Result<RedactReport, RedactError> {
    let turns_back = places_gone_back_to(open()?)?;
    let mut redactor = Redactor::default();
    let mut tries = 1..=TRIES;
    loop {
        let reader = RecordingReader::new(open()?)?;
        let known = Redactor { names: redactor.names.with_messages_alone() };
        let (mut shadow, header) = Shadow::knowing(known, reader.header(), registry)?;
        let writer = RecordingWriter::new(begin()?, compression, &header, Slim::default())?;
        let outcome = redact_once(reader, writer, &mut shadow, &turns_back, registry);
        let has_learnt = shadow.redactor.names.n_messages() > redactor.names.n_messages();
        match outcome {
            Err(RedactError::Diverged { .. }) if has_learnt && tries.next().is_some() => {
                redactor = shadow.redactor;
            }
            outcome => return outcome,
        }
    }
}

fn redact_once<R: BufRead, W: Write>(
    mut reader: RecordingReader<R>,
    mut writer: RecordingWriter<W>,
    shadow: &mut Shadow,
    turns_back: &BTreeSet<u64>,
    registry: &Registry,
) -> Result<RedactReport, RedactError> {
    let mut original = Replay::new(reader.header(), registry, false)?;
    let mut kept = BTreeMap::new();
    let mut report = RedactReport::default();
    let mut is_compared = false;
    let reason = loop {
        if turns_back.contains(&report.inputs) && !kept.contains_key(&report.inputs) {
            kept.insert(report.inputs, (original.clone(), shadow.replay.clone()));
        }
        let entry = match reader.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break "the recording ended".to_owned(),
            Err(error @ ReadError::Cut { .. }) => {
                report.cut = Some(error.to_string());
                break "the original was cut off".to_owned();
            }
            Err(error) => return Err(error.into()),
        };
        // A look at the end is not taken twice.
        is_compared = match &entry.record {
            Record::End { .. } => is_compared,
            record => matches!(record, Record::Digest { .. }),
        };
        match entry.record {
            Record::Input { at, input, .. } => {
                original.input(at, (*input).clone());
                let (redacted, decided) = shadow.input(at, &input, original.effects())?;
                writer.input(at, &redacted, decided)?;
                report.inputs += 1;
            }
            Record::Digest { .. } => writer.digest(&shadow.digest_parts())?,
            Record::Marker { at, .. } => {
                writer.marker(at, &shadow.marker())?;
            }
            // What people have written may hold anything.
            Record::Note { .. } => {}
            Record::Rewind { input } => {
                if let Some((then, redacted_then)) = kept.get(&input) {
                    original = then.clone();
                    shadow.replay = redacted_then.clone();
                }
                writer.rewind(input)?;
            }
            Record::End { reason, .. } => break reason,
        }
    };
    if !is_compared {
        writer.digest(&shadow.digest_parts())?;
    }
    writer.end(&reason)?;
    (report.words, report.uids) = shadow.count();
    Ok(report)
}
