//! Manifests and dumps as objects.
//!
//! Reads what `kubectl get -o yaml|json` writes and what people write by hand: multi-document YAML, `kind: List`,
//! typed lists, JSON, several JSON values in a row, snapshots of kube-scheduler-simulator. Kinds that the program does not read are counted. Every object
//! that is wrong is told of, with file, document, field and place; nothing is loaded then. There is no I/O here, and
//! no defaulting beyond the namespace: that is the work of admission.
//!
//! Text becomes events (`yaml`, `json`), events become the values of one object after the other (`tree`), and those
//! are read into the object's type (`decode`).

mod decode;
mod document;
mod error;
pub(crate) mod event;
pub(crate) mod json;
pub(crate) mod scalar;
mod tree;
pub(crate) mod yaml;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::workloads::Living;
use super::{Kind, NamespacedName, Object};
pub(crate) use error::printable_text;
pub use error::{ManifestError, ManifestErrors, Place, Segment, path_text};

/// How many warnings are kept; of the others there is the number.
const WARNINGS_KEPT: usize = 20;

/// A text with a name, such as a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What errors call it.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// Where an object came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The position of the source among those that were loaded.
    pub source: usize,
    /// The document, counted from 1.
    pub document: usize,
    /// Where the object begins, in bytes.
    pub offset: usize,
}

/// What the sources hold.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The objects, in the order of the sources. No two have the same kind, namespace and name.
    pub objects: Vec<Object>,
    /// Where each object came from.
    pub origins: Vec<Origin>,
    /// What was read.
    pub report: LoadReport,
    /// Workloads and node groups, which a living sandbox reads; those of kinds that no plugin looks at are counted in
    /// the report as not read, too ([`LoadReport::lives`]).
    pub living: Vec<Living>,
    /// What is wrong among those; no error where nothing lives.
    pub living_errors: ManifestErrors,
}

/// What was read, in numbers and names.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct LoadReport {
    /// How many sources.
    pub sources: usize,
    /// How many documents that were not empty.
    pub documents: usize,
    /// How many objects of each kind.
    pub objects: BTreeMap<Kind, usize>,
    /// How many objects of kinds that the program does not read, by `apiVersion/kind`.
    pub unknown: BTreeMap<String, usize>,
    /// How many pods among the objects have ended: to a scheduler they do not exist.
    pub finished_pods: usize,
    /// What is odd but no error; at most 20.
    pub warnings: Vec<String>,
    /// How many warnings there are in all.
    pub warnings_total: usize,
}

impl LoadReport {
    fn warn(&mut self, warning: impl FnOnce() -> String) {
        if self.warnings.len() < WARNINGS_KEPT {
            self.warnings.push(warning());
        }
        self.warnings_total += 1;
    }

    /// What a person should know of it, a sentence a line; nothing if all is as usual.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.unknown.is_empty() {
            let kinds: Vec<String> =
                self.unknown.iter().map(|(kind, count)| format!("{kind} ({count})")).collect();
            notes.push(format!("not read, since no plugin looks at them: {}", kinds.join(", ")));
        }
        if self.finished_pods > 0 {
            notes.push(format!("left out, since they have ended: Pod ({})", self.finished_pods));
        }
        notes.extend(self.warnings.iter().cloned());
        if self.warnings_total > self.warnings.len() {
            notes.push(format!("and {} more warnings", self.warnings_total - self.warnings.len()));
        }
        notes
    }
}

impl LoadReport {
    /// The cluster lives: what its controllers read counts as read.
    pub fn lives(&mut self) {
        self.unknown.retain(|kind, _| {
            let (version, kind) = kind.rsplit_once('/').unwrap_or(("", kind));
            super::workloads::LivingKind::find(version, kind).is_none()
        });
    }
}

impl Origin {
    /// An error about an object that was loaded well and turned out wrong. It points at the field, or else at the
    /// object.
    pub fn error(
        &self,
        sources: &[Source],
        kind: Kind,
        key: &NamespacedName,
        path: &[Segment],
        reason: String,
    ) -> ManifestError {
        let source = sources.get(self.source);
        let place = source.map(|source| {
            let offset = document::locate(&source.text, self.offset, path).unwrap_or(self.offset);
            Place::find(&source.text, offset)
        });
        ManifestError {
            source: source.map(|source| source.name.clone()).unwrap_or_default(),
            document: self.document,
            object: format!("{kind} {key}"),
            path: path_text(path),
            reason,
            place,
        }
    }
}

/// `Pod default/web`.
fn object_text(object: &Object) -> String {
    format!("{} {}", object.kind(), object.key())
}

/// Every object of the sources as it is written, with its `apiVersion` and `kind`, whether its kind is known or not.
pub fn whole(sources: &[Source]) -> impl Iterator<Item = serde_json::Value> {
    let documents = sources.iter().flat_map(|source| document::read(&source.text, true));
    documents.flat_map(|document| document.whole.unwrap_or_default())
}

/// Reads all sources.
///
/// # Errors
/// Every document that cannot be read and every object that does not fit, from all sources.
pub fn load(sources: &[Source]) -> Result<Loaded, ManifestErrors> {
    let mut loaded = Loaded::default();
    let mut errors = ManifestErrors::default();
    let mut known: FxHashMap<(Kind, NamespacedName), usize> = FxHashMap::default();
    for (index, source) in sources.iter().enumerate() {
        loaded.report.sources += 1;
        for document in document::read(&source.text, false) {
            loaded.report.documents += 1;
            for problem in document.problems {
                errors.add(|| ManifestError {
                    source: source.name.clone(),
                    document: document.number,
                    object: problem.object,
                    path: path_text(&problem.path),
                    reason: problem.reason,
                    place: Some(Place::find(&source.text, problem.offset)),
                });
            }
            for problem in document.living_problems {
                loaded.living_errors.add(|| ManifestError {
                    source: source.name.clone(),
                    document: document.number,
                    object: problem.object,
                    path: path_text(&problem.path),
                    reason: problem.reason,
                    place: Some(Place::find(&source.text, problem.offset)),
                });
            }
            loaded.living.extend(document.living);
            if document.has_configuration {
                loaded.report.warn(|| {
                    format!(
                        "{}: its schedulerConfig is not read; `schedscope import` uses it, or give it with --config",
                        source.name
                    )
                });
            }
            for (kind, count) in document.unknown {
                *loaded.report.unknown.entry(kind).or_default() += count;
            }
            for found in document.objects {
                let origin = Origin { source: index, document: document.number, offset: found.offset };
                if found.namespace_dropped {
                    loaded.report.warn(|| {
                        format!(
                            "{}: {} is not in a namespace, its metadata.namespace is ignored",
                            source.name,
                            object_text(&found.object)
                        )
                    });
                }
                add(&mut loaded, &mut known, found.object, origin, source);
            }
        }
    }
    let is_finished = |object: &&Object| matches!(object, Object::Pod(pod) if pod.is_terminal());
    loaded.report.finished_pods = loaded.objects.iter().filter(is_finished).count();
    if errors.total > 0 { Err(errors) } else { Ok(loaded) }
}

/// Adds an object; of two with the same name the later one stays, in the place of the earlier.
fn add(
    loaded: &mut Loaded,
    known: &mut FxHashMap<(Kind, NamespacedName), usize>,
    object: Object,
    origin: Origin,
    source: &Source,
) {
    let position = *known.entry((object.kind(), object.key())).or_insert(loaded.objects.len());
    match (loaded.objects.get_mut(position), loaded.origins.get_mut(position)) {
        (Some(earlier), Some(earlier_origin)) => {
            loaded.report.warn(|| {
                format!(
                    "{}: document {}: {} was there before, this one counts",
                    source.name,
                    origin.document,
                    object_text(&object)
                )
            });
            *earlier = object;
            *earlier_origin = origin;
        }
        _ => {
            *loaded.report.objects.entry(object.kind()).or_default() += 1;
            loaded.objects.push(object);
            loaded.origins.push(origin);
        }
    }
}
