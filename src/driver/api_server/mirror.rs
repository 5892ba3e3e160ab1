//! What clients of the API see of a sandbox: its objects as JSON, and what has changed of late.
//!
//! Resource versions are the mirror's own. They go on when a sandbox is taken back, so that no version ever stands for two
//! states; whoever watches from before that is told that the version is too old, and lists anew. The version of the
//! sandbox's own objects is kept beside, as the precondition of writes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::watch;

use crate::api::objects::Labels;
use crate::api::{NamespacedName, Str, Time};
use crate::driver::sandbox::documents::key_of;
use crate::driver::sandbox::resources::ResourceId;

/// So many changes of a resource are kept for those who watch.
const LOG_LENGTH: usize = 8_192;

/// An object as clients see it.
#[derive(Debug, PartialEq)]
pub struct Served {
    /// Namespace and name.
    pub key: NamespacedName,
    /// The object, with its version.
    pub json: Bytes,
    /// Its labels.
    pub labels: Labels,
    /// The values of the fields that it can be selected by, besides name and namespace.
    pub fields: Box<[(&'static str, String)]>,
    /// Its version here.
    pub version: u64,
    /// Its version in the sandbox.
    pub inner_version: String,
    /// `metadata.uid`.
    pub uid: String,
}

impl Served {
    fn new(id: ResourceId, mut document: Value, version: u64) -> Self {
        let text = |pointer: &str| document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let inner_version = text("/metadata/resourceVersion").to_owned();
        let uid = text("/metadata/uid").to_owned();
        let labels = document.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels
            .into_iter()
            .flatten()
            .map(|(key, value)| (Str::from(key.as_str()), Str::from(value.as_str().unwrap_or_default())))
            .collect();
        let fields = super::filter::fields_of(id, &document).into();
        let key = key_of(&document);
        if let Some(metadata) = document.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.insert("resourceVersion".to_owned(), version.to_string().into());
        }
        let json = Bytes::from(serde_json::to_vec(&document).unwrap_or_default());
        Self { key, json, labels, fields, version, inner_version, uid }
    }

    /// The object, read.
    pub fn document(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }
}

/// A change that a watch tells of.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its version.
    pub version: u64,
    /// The object as it was; absent if it is new.
    pub old: Option<Arc<Served>>,
    /// The object as it is, or was last.
    pub now: Arc<Served>,
    /// Whether it is gone.
    pub is_gone: bool,
}

/// The objects of a resource.
#[derive(Debug, Default)]
struct Shelf {
    objects: BTreeMap<NamespacedName, Arc<Served>>,
    log: VecDeque<Change>,
    /// Changes up to this version are no longer known.
    forgotten: u64,
}

#[derive(Debug)]
struct State {
    version: u64,
    /// Nothing is known of what was before it.
    start: u64,
    now: Time,
    shelves: BTreeMap<ResourceId, Shelf>,
}

/// What is seen of a sandbox.
#[derive(Debug)]
pub struct Mirror {
    state: Mutex<State>,
    /// Tells of the newest version.
    news: watch::Sender<u64>,
}

/// The objects of a list, and its version.
#[derive(Debug)]
pub struct Listed {
    /// In the order of their keys.
    pub objects: Vec<Arc<Served>>,
    /// The version of the list.
    pub version: u64,
    /// Simulated time.
    pub now: Time,
}

/// The changes that were asked for are no longer known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooOld {
    /// The first version from which on they are.
    pub known_from: u64,
}

impl Mirror {
    /// An empty one. Versions begin behind `version`.
    pub fn new(version: u64, now: Time) -> Arc<Self> {
        let state = State { version, start: version, now, shelves: BTreeMap::new() };
        Arc::new(Self { state: Mutex::new(state), news: watch::Sender::new(version) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who wants to hear of newer versions.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Simulated time.
    pub fn now(&self) -> Time {
        self.state().now
    }

    /// The newest version.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// An object.
    pub fn get(&self, id: ResourceId, key: &NamespacedName) -> Option<Arc<Served>> {
        self.state().shelves.get(&id)?.objects.get(key).cloned()
    }

    /// The objects of a resource, in one namespace or in all.
    pub fn list(&self, id: ResourceId, namespace: Option<&str>) -> Listed {
        let state = self.state();
        let objects = state.shelves.get(&id).map(|shelf| &shelf.objects);
        let objects = match (objects, namespace) {
            (None, _) => Vec::new(),
            (Some(objects), None) => objects.values().cloned().collect(),
            (Some(objects), Some(namespace)) => objects
                .range(NamespacedName::new(namespace, "")..)
                .take_while(|(key, _)| &*key.namespace == namespace)
                .map(|(_, object)| Arc::clone(object))
                .collect(),
        };
        Listed { objects, version: state.version, now: state.now }
    }

    /// What has changed of a resource since a version, and the newest version.
    ///
    /// # Errors
    /// If that is no longer known.
    pub fn changes_since(&self, id: ResourceId, version: u64) -> Result<(Vec<Change>, u64), TooOld> {
        let state = self.state();
        let shelf = state.shelves.get(&id);
        let known_from = shelf.map_or(0, |shelf| shelf.forgotten).max(state.start);
        if version < known_from {
            return Err(TooOld { known_from });
        }
        let Some(shelf) = shelf else { return Ok((Vec::new(), state.version)) };
        let from = shelf.log.partition_point(|change| change.version <= version);
        Ok((shelf.log.range(from..).cloned().collect(), state.version))
    }

    /// Changes what is seen, all at once.
    pub fn change<T>(&self, change: impl FnOnce(&mut Changes<'_>) -> T) -> T {
        let mut state = self.state();
        let outcome = change(&mut Changes { state: &mut state });
        let version = state.version;
        drop(state);
        self.news.send_if_modified(|known| {
            let is_newer = *known != version;
            *known = version;
            is_newer
        });
        outcome
    }
}

/// A change of what is seen that is under way.
#[derive(Debug)]
pub struct Changes<'a> {
    state: &'a mut State,
}

impl Changes<'_> {
    /// Time goes on.
    pub fn set_now(&mut self, now: Time) {
        self.state.now = now;
    }

    /// An object as it is.
    pub fn get(&self, id: ResourceId, key: &NamespacedName) -> Option<Arc<Served>> {
        self.state.shelves.get(&id)?.objects.get(key).cloned()
    }

    /// The objects of a resource in a namespace.
    pub fn keys_in(&self, id: ResourceId, namespace: &str) -> Vec<NamespacedName> {
        let Some(shelf) = self.state.shelves.get(&id) else { return Vec::new() };
        let from = shelf.objects.range(NamespacedName::new(namespace, "")..);
        from.map(|(key, _)| key).take_while(|key| &*key.namespace == namespace).cloned().collect()
    }

    /// How many objects of a resource there are.
    pub fn count(&self, id: ResourceId) -> usize {
        self.state.shelves.get(&id).map_or(0, |shelf| shelf.objects.len())
    }

    /// The object of a resource that was written first.
    pub fn oldest(&self, id: ResourceId) -> Option<NamespacedName> {
        let objects = self.state.shelves.get(&id)?.objects.values();
        objects.min_by_key(|object| object.version).map(|object| object.key.clone())
    }

    /// Whether the objects of a resource are exactly these, in the order of their keys.
    pub fn is_as(&self, id: ResourceId, documents: &[(NamespacedName, Arc<Value>)]) -> bool {
        let none = BTreeMap::new();
        let objects = self.state.shelves.get(&id).map_or(&none, |shelf| &shelf.objects);
        objects.len() == documents.len()
            && objects.values().zip(documents).all(|(object, (key, document))| {
                let is = |pointer: &str, text: &str| document.pointer(pointer).is_some_and(|it| it == text);
                object.key == *key
                    && is("/metadata/resourceVersion", &object.inner_version)
                    && is("/metadata/uid", &object.uid)
            })
    }

    /// Puts an object in its place, under a new version.
    pub fn put(&mut self, id: ResourceId, document: Value) -> Arc<Served> {
        self.state.version += 1;
        let version = self.state.version;
        let now = Arc::new(Served::new(id, document, version));
        let shelf = self.state.shelves.entry(id).or_default();
        let old = shelf.objects.insert(now.key.clone(), Arc::clone(&now));
        shelf.note(Change { version, old, now: Arc::clone(&now), is_gone: false });
        now
    }

    /// Takes an object away, under a new version.
    pub fn remove(&mut self, id: ResourceId, key: &NamespacedName) -> Option<Arc<Served>> {
        let shelf = self.state.shelves.get_mut(&id)?;
        let old = shelf.objects.remove(key)?;
        self.state.version += 1;
        let version = self.state.version;
        let now = Arc::new(Served::new(id, old.document(), version));
        shelf.note(Change { version, old: Some(old), now: Arc::clone(&now), is_gone: true });
        Some(now)
    }

    /// Replaces all objects of a resource. Nothing that was before is known any more.
    pub fn replace(&mut self, id: ResourceId, documents: &[(NamespacedName, Arc<Value>)]) {
        let mut shelf = Shelf::default();
        for (key, document) in documents {
            self.state.version += 1;
            let object = Served::new(id, Value::clone(document), self.state.version);
            shelf.objects.insert(key.clone(), Arc::new(object));
        }
        self.state.version += 1;
        shelf.forgotten = self.state.version;
        self.state.shelves.insert(id, shelf);
    }
}

impl Shelf {
    fn note(&mut self, change: Change) {
        self.log.push_back(change);
        if self.log.len() > LOG_LENGTH
            && let Some(oldest) = self.log.pop_front()
        {
            self.forgotten = oldest.version;
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn maps() -> ResourceId {
        ResourceId::of("", "configmaps").unwrap()
    }

    fn map(name: &str, inner: u64) -> Value {
        json!({"metadata": {"name": name, "namespace": "a", "uid": name, "resourceVersion": inner.to_string()}})
    }

    #[test]
    fn every_change_has_a_version_of_its_own() {
        let mirror = Mirror::new(100, Time::ZERO);
        let mut news = mirror.news();
        let first = mirror.change(|changes| changes.put(maps(), map("m", 1)));
        assert_eq!(
            (first.version, first.document()["metadata"]["resourceVersion"].as_str()),
            (101, Some("101"))
        );
        mirror.change(|changes| changes.put(maps(), map("m", 2)));
        mirror.change(|changes| changes.remove(maps(), &NamespacedName::new("a", "m"))).unwrap();
        assert!(news.has_changed().unwrap());
        assert_eq!(*news.borrow_and_update(), 103);
        let (changes, version) = mirror.changes_since(maps(), 101).unwrap();
        assert_eq!(version, 103);
        let told: Vec<(u64, bool, bool)> =
            changes.iter().map(|change| (change.version, change.old.is_some(), change.is_gone)).collect();
        assert_eq!(told, [(102, true, false), (103, true, true)]);
        assert_eq!(changes[1].now.document()["metadata"]["resourceVersion"], "103");
    }

    #[test]
    fn what_was_before_a_replacement_is_too_old() {
        let mirror = Mirror::new(0, Time::ZERO);
        mirror.change(|changes| changes.put(maps(), map("m", 7)));
        let key = NamespacedName::new("a", "n");
        let documents = [(key.clone(), Arc::new(map("n", 3)))];
        mirror.change(|changes| {
            assert!(!changes.is_as(maps(), &documents));
            changes.replace(maps(), &documents);
            assert!(changes.is_as(maps(), &documents));
        });
        assert_eq!(mirror.changes_since(maps(), 1), Err(TooOld { known_from: 3 }));
        let listed = mirror.list(maps(), Some("a"));
        assert_eq!((listed.objects.len(), listed.version), (1, 3));
        assert!(mirror.changes_since(maps(), 3).unwrap().0.is_empty());
        assert_eq!(mirror.get(maps(), &key).unwrap().inner_version, "3");
    }

    #[test]
    fn what_was_before_the_beginning_is_too_old_also_where_there_is_nothing() {
        let mirror = Mirror::new(100, Time::ZERO);
        assert_eq!(mirror.changes_since(maps(), 5), Err(TooOld { known_from: 100 }));
        assert!(mirror.changes_since(maps(), 100).unwrap().0.is_empty());
    }

    #[test]
    fn of_very_many_changes_the_last_ones_are_known() {
        let mirror = Mirror::new(0, Time::ZERO);
        for n in 0..=LOG_LENGTH as u64 {
            mirror.change(|changes| changes.put(maps(), map("m", n)));
        }
        assert_eq!(mirror.changes_since(maps(), 0), Err(TooOld { known_from: 1 }));
        assert_eq!(mirror.changes_since(maps(), 1).unwrap().0.len(), LOG_LENGTH);
    }
}
