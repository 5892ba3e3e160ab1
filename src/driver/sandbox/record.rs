//! What the recorder of kube-scheduler-simulator has written of a cluster (`record.jsonl`), and how it goes on in a
//! sandbox.
//!
//! A record is a line `{"time", "event", "resource"}` with the event `Add`, `Update` or `Delete`, as in its
//! simulator/recorder/recorder.go; earlier versions wrote one list of them, or put the resource into an `Object`. The
//! changes are made at their times; the scheduler that decides is the sandbox's own. So where the recorded cluster says
//! that a pod that waits here was put onto a node, that is left out, as it is by the simulator's own replay: otherwise
//! there would be nothing to decide. That pods end or are deleted is taken over.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::api::{Applied, SandboxApi};
use super::simulator::Simulator;
use crate::api::manifest::{ManifestErrors, Source, load};
use crate::api::objects::Pod;
use crate::api::{Kind, NamespacedName, Object, Time};

/// Attempts at one time, per pod that waits: more are no progress.
const ATTEMPTS_PER_POD: usize = 2;
/// The length of the lines that are shown in errors.
const SHOWN: usize = 60;

/// Why a record cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A line is no record.
    #[error("{file}: line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// A resource is wrong.
    #[error("{0}")]
    Resource(ManifestErrors),
    /// The sandbox refuses a change.
    #[error("{file}: line {line}: {object}: {reason}")]
    Refused {
        /// The file.
        file: String,
        /// The line.
        line: usize,
        /// The object.
        object: String,
        /// Why.
        reason: String,
    },
    /// There is nothing to import.
    #[error("{0}: there is no record in it")]
    Empty(String),
}

/// What happened to an object.
#[derive(Clone, Debug, PartialEq)]
enum Deed {
    Add(Object),
    Update(Object),
    Delete(Kind, NamespacedName),
}

#[derive(Clone, Debug, PartialEq)]
struct Change {
    line: usize,
    at: Time,
    deed: Deed,
}

/// A record of a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterRecord {
    file: String,
    /// What was there when it began.
    pub objects: Vec<Object>,
    /// When it began.
    pub start: Time,
    changes: Vec<Change>,
    /// What a person should know of it.
    pub notes: Vec<String>,
}

#[derive(Deserialize)]
struct Line<'a> {
    time: String,
    event: String,
    #[serde(borrow)]
    resource: &'a RawValue,
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(rename = "Object", borrow)]
    object: &'a RawValue,
}

/// The name of an object, without anything else of it.
#[derive(Deserialize)]
struct Named {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
}

/// What a program has written of the changes in a cluster, by its beginning.
pub fn is_record(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let first = text.strip_prefix('[').unwrap_or(text).trim_start();
    let end = first.find('\n').unwrap_or(first.len()).min(1 << 16);
    let head = first.get(..end).unwrap_or(first);
    text.starts_with('[')
        || (head.starts_with('{') && head.contains("\"event\"") && head.contains("\"time\""))
}

impl ClusterRecord {
    /// Reads a record.
    ///
    /// # Errors
    /// The first line that is no record, or resource that does not fit.
    pub fn read(file: &str, text: &str) -> Result<Self, RecordError> {
        let mut changes = Vec::new();
        let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
        let mut n_late = 0;
        let mut last = None;
        for (line, text) in lines(file, text)? {
            let wrong = |reason: String| RecordError::Line { file: file.to_owned(), line, reason };
            let record: Line<'_> =
                serde_json::from_str(text).map_err(|error| wrong(format!("{error}: {}", shown(text))))?;
            let at = Time::parse_rfc3339(&record.time)
                .ok_or_else(|| wrong(format!("time: {:?} is no time", record.time)))?;
            // Several informers write into one file, so records may be a little out of order.
            let at = last.filter(|last| *last > at).inspect(|_| n_late += 1).unwrap_or(at);
            last = Some(at);
            let resource = serde_json::from_str::<Wrapped<'_>>(record.resource.get())
                .map_or_else(|_| record.resource.get(), |wrapped| wrapped.object.get());
            let deed = match record.event.as_str() {
                "Add" => read_object(file, line, resource, &mut unknown)?.map(Deed::Add),
                "Update" => read_object(file, line, resource, &mut unknown)?.map(Deed::Update),
                "Delete" => read_name(resource, &mut unknown)
                    .map_err(|reason| wrong(format!("resource: {reason}")))?,
                other => return Err(wrong(format!("event: {other:?} is none of Add, Update and Delete"))),
            };
            changes.extend(deed.map(|deed| Change { line, at, deed }));
        }
        let Some(start) = changes.first().map(|change| change.at) else {
            return Err(RecordError::Empty(file.to_owned()));
        };
        let mut notes = Vec::new();
        if !unknown.is_empty() {
            let kinds: Vec<String> = unknown.iter().map(|(kind, n)| format!("{kind} ({n})")).collect();
            notes.push(format!("not read, since no plugin looks at them: {}", kinds.join(", ")));
        }
        if n_late > 0 {
            notes.push(format!(
                "{n_late} records are out of order; they are taken at the time of the one before"
            ));
        }
        // What was there before is listed first. Whatever was made later came meanwhile.
        let was_there = |change: &Change| match &change.deed {
            Deed::Add(object) => object
                .metadata()
                .creation_timestamp
                .is_none_or(|created| created < start.truncate_to_second()),
            Deed::Update(_) | Deed::Delete(..) => false,
        };
        let n_there = changes.iter().take_while(|change| was_there(change)).count();
        let mut objects: BTreeMap<(Kind, NamespacedName), Object> = BTreeMap::new();
        for change in changes.drain(..n_there) {
            if let Deed::Add(object) = change.deed {
                objects.insert((object.kind(), object.key()), object);
            }
        }
        let objects = objects.into_values().collect();
        Ok(Self { file: file.to_owned(), objects, start, changes, notes })
    }

    /// Makes the changes in a sandbox that has the objects of the beginning, with attempts in between.
    ///
    /// # Errors
    /// A change that the sandbox refuses.
    pub fn play(&self, simulator: &mut Simulator) -> Result<(), RecordError> {
        schedule(simulator);
        for change in &self.changes {
            if change.at > simulator.now() {
                simulator.advance_to(change.at, |simulator| {
                    schedule(simulator);
                    true
                });
            }
            let deed = taken_over(change.deed.clone(), simulator);
            simulator.change(|api, now| make(api, &deed, now)).map_err(|reason| {
                let object = match &change.deed {
                    Deed::Add(object) | Deed::Update(object) => format!("{} {}", object.kind(), object.key()),
                    Deed::Delete(kind, key) => format!("{kind} {key}"),
                };
                RecordError::Refused { file: self.file.clone(), line: change.line, object, reason }
            })?;
            schedule(simulator);
        }
        Ok(())
    }
}

/// The lines of a file with their numbers; of a list its elements, with the lines on which they begin.
fn lines<'t>(file: &str, text: &'t str) -> Result<Vec<(usize, &'t str)>, RecordError> {
    let text = text.trim_start_matches('\u{feff}');
    if !text.trim_start().starts_with('[') {
        let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
        return Ok(lines.filter(|(_, line)| !line.trim().is_empty()).collect());
    }
    let elements: Vec<&RawValue> = serde_json::from_str(text).map_err(|error| RecordError::Line {
        file: file.to_owned(),
        line: error.line(),
        reason: error.to_string(),
    })?;
    let (mut line, mut from) = (1, 0);
    Ok(elements
        .into_iter()
        .map(|element| {
            // An element is a part of the text.
            let at = element.get().as_ptr() as usize - text.as_ptr() as usize;
            line += text.get(from..at).unwrap_or_default().matches('\n').count();
            from = at;
            (line, element.get())
        })
        .collect())
}

fn shown(text: &str) -> String {
    let head: String = text.chars().take(SHOWN).collect();
    format!("{head:?}")
}

/// Reads a resource; none if its kind is not read.
fn read_object(
    file: &str,
    line: usize,
    resource: &str,
    unknown: &mut BTreeMap<String, usize>,
) -> Result<Option<Object>, RecordError> {
    let source = Source { name: format!("{file}: line {line}: resource"), text: resource.to_owned() };
    let mut loaded = load(&[source]).map_err(RecordError::Resource)?;
    for (kind, n) in loaded.report.unknown {
        *unknown.entry(kind).or_default() += n;
    }
    Ok(loaded.objects.pop())
}

/// Reads of which object it is said that it is gone; none if its kind is not read.
fn read_name(resource: &str, unknown: &mut BTreeMap<String, usize>) -> Result<Option<Deed>, String> {
    let named: Named = serde_json::from_str(resource).map_err(|error| error.to_string())?;
    let kind = Kind::ALL.iter().copied().find(|kind| kind.as_str() == named.kind);
    let Some(kind) = kind else {
        *unknown.entry(format!("{}/{}", named.api_version, named.kind)).or_default() += 1;
        return Ok(None);
    };
    let key = NamespacedName::new(named.metadata.namespace.as_str(), named.metadata.name.as_str());
    Ok(Some(Deed::Delete(kind, key)))
}

/// A deed without what the recorded scheduler has decided.
fn taken_over(deed: Deed, simulator: &Simulator) -> Deed {
    let own = |pod: &Pod| simulator.scheduler().has_profile(&pod.spec.scheduler_name);
    match deed {
        Deed::Update(Object::Pod(pod)) if own(&pod) => {
            let here = simulator.api().objects().pods.get(&pod.key());
            let mut pod = Pod::clone(&pod);
            pod.spec.node_name = here.map(|here| here.spec.node_name.clone()).unwrap_or_default();
            pod.status.nominated_node_name =
                here.map(|here| here.status.nominated_node_name.clone()).unwrap_or_default();
            Deed::Update(pod.into())
        }
        other => other,
    }
}

/// Makes a change.
fn make(api: &mut SandboxApi, deed: &Deed, now: Time) -> Result<(), String> {
    match deed {
        Deed::Add(object) | Deed::Update(object) => {
            let (kind, key) = (object.kind(), object.key());
            let is_going = matches!(object, Object::Pod(pod) if pod.is_terminating());
            let applied = api.apply(object.clone(), now).map_err(|error| error.to_string())?;
            let is_going_here = api.objects().pods.get(&key).is_none_or(|pod| pod.is_terminating());
            if kind == Kind::Pod && is_going && !is_going_here && applied != Applied::Ended {
                api.delete_pod(&key, now).map_err(|error| error.to_string())?;
            }
        }
        Deed::Delete(kind, key) => {
            // It may be gone already: pods end here in their own time.
            api.remove(*kind, key);
        }
    }
    Ok(())
}

/// Makes attempts until nothing can be tried at this time.
fn schedule(simulator: &mut Simulator) {
    let most = ATTEMPTS_PER_POD * (simulator.scheduler().n_pending() + 1);
    for _ in 0..most {
        if !simulator.step_cycle() {
            break;
        }
    }
}
