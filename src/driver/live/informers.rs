//! What the watches have reported, and what that means for the scheduler.
//!
//! One informer per kind: it lists, it watches, it lists again after it has lost its place. This is their state without
//! their network: reports go in, inputs for the core come out. As with client-go nothing is handed on before every kind
//! has been listed once, and an object that a new list does not have any more counts as deleted then.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{Kind, NamespacedName, Object, ObjectStore, Time};
use crate::scheduler::input::Input;

/// What an informer reports of its kind.
#[derive(Clone, Debug)]
pub enum Report {
    /// A list begins: the first one, or another one since the watch has lost its place.
    Listing,
    /// An object of the list.
    Listed(Object),
    /// The list is complete.
    ListDone,
    /// An object is new or has changed.
    Applied(Object),
    /// An object is gone.
    Deleted(NamespacedName),
    /// An object cannot be read.
    Unreadable {
        /// Which one.
        key: NamespacedName,
        /// What is wrong with it.
        error: String,
    },
    /// The server refuses.
    Forbidden {
        /// The server's words.
        message: String,
    },
    /// The server does not know the kind.
    Absent,
    /// The list or the watch has failed and is tried again.
    Failing {
        /// Why.
        error: String,
    },
}

/// How an informer stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InformerState {
    /// Nothing has come yet.
    Starting,
    /// The list is under way.
    Listing,
    /// Everything is known and changes come in.
    Synced,
    /// The last list or watch has failed; what is known may be old.
    Lagging {
        /// Since when.
        since: Time,
        /// Why.
        error: String,
    },
    /// The server refuses to show this kind.
    Forbidden {
        /// The server's words.
        message: String,
    },
    /// The server does not have this kind.
    Absent,
}

impl InformerState {
    /// Whether the kind does not hold up the start.
    const fn is_settled(&self) -> bool {
        matches!(self, Self::Synced | Self::Forbidden { .. } | Self::Absent)
    }

    /// In one word.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Listing => "listing",
            Self::Synced => "synced",
            Self::Lagging { .. } => "lagging",
            Self::Forbidden { .. } => "forbidden",
            Self::Absent => "absent",
        }
    }
}

/// One kind.
#[derive(Clone, Debug)]
pub struct Informer {
    /// How it stands.
    pub state: InformerState,
    /// When it last reported anything.
    pub last_report: Option<Time>,
    /// How often it has listed.
    pub n_lists: u64,
    /// How many changes the watch has reported.
    pub n_changes: u64,
    /// The objects that could not be read, with what is wrong with them.
    pub unreadable: BTreeMap<NamespacedName, String>,
    /// What the list under way has had so far.
    listed: BTreeSet<NamespacedName>,
}

/// All kinds.
#[derive(Clone, Debug)]
pub struct Informers {
    informers: BTreeMap<Kind, Informer>,
    objects: ObjectStore,
    has_started: bool,
}

impl Informers {
    /// Informers for the kinds that are watched.
    pub fn new(kinds: &[Kind]) -> Self {
        let informer = Informer {
            state: InformerState::Starting,
            last_report: None,
            n_lists: 0,
            n_changes: 0,
            unreadable: BTreeMap::new(),
            listed: BTreeSet::new(),
        };
        Self {
            informers: kinds.iter().map(|kind| (*kind, informer.clone())).collect(),
            objects: ObjectStore::default(),
            has_started: false,
        }
    }

    /// How each kind stands.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &Informer)> {
        self.informers.iter().map(|(kind, informer)| (*kind, informer))
    }

    /// The objects as the watches last reported them.
    pub fn objects(&self) -> &ObjectStore {
        &self.objects
    }

    /// Whether every kind has been listed, so that the scheduler has been told.
    pub const fn has_started(&self) -> bool {
        self.has_started
    }

    /// Takes a report. The answer is what the scheduler is to be told, in this order.
    pub fn take(&mut self, kind: Kind, report: Report, now: Time) -> Vec<Input> {
        let Some(informer) = self.informers.get_mut(&kind) else { return Vec::new() };
        informer.last_report = Some(now);
        let mut inputs = Vec::new();
        match report {
            Report::Listing => {
                informer.n_lists += 1;
                informer.listed.clear();
                informer.unreadable.clear();
                if !matches!(informer.state, InformerState::Lagging { .. } | InformerState::Synced) {
                    informer.state = InformerState::Listing;
                }
            }
            Report::Listed(object) => {
                informer.listed.insert(object.key());
                inputs.extend(self.put(object));
            }
            Report::ListDone => {
                informer.state = InformerState::Synced;
                let listed = std::mem::take(&mut informer.listed);
                let unreadable = &informer.unreadable;
                let gone: Vec<NamespacedName> = self
                    .objects
                    .iter()
                    .filter(|object| object.kind() == kind)
                    .map(|object| object.key())
                    .filter(|key| !listed.contains(key) && !unreadable.contains_key(key))
                    .collect();
                inputs
                    .extend(gone.iter().filter_map(|key| self.objects.remove(kind, key)).map(Input::Deleted));
            }
            Report::Applied(object) => {
                informer.state = InformerState::Synced;
                informer.n_changes += 1;
                informer.unreadable.remove(&object.key());
                inputs.extend(self.put(object));
            }
            Report::Deleted(key) => {
                informer.state = InformerState::Synced;
                informer.n_changes += 1;
                informer.unreadable.remove(&key);
                inputs.extend(self.objects.remove(kind, &key).map(Input::Deleted));
            }
            Report::Unreadable { key, error } => {
                informer.listed.insert(key.clone());
                informer.unreadable.insert(key, error);
            }
            Report::Forbidden { message } => informer.state = InformerState::Forbidden { message },
            Report::Absent => informer.state = InformerState::Absent,
            Report::Failing { error } => {
                let since = match &informer.state {
                    InformerState::Lagging { since, .. } => *since,
                    _ => now,
                };
                informer.state = InformerState::Lagging { since, error };
            }
        }
        if self.has_started {
            return inputs;
        }
        if self.informers.values().all(|informer| informer.state.is_settled()) {
            self.has_started = true;
            return self.everything();
        }
        Vec::new()
    }

    fn put(&mut self, object: Object) -> Option<Input> {
        // A new list repeats what has not changed; the scheduler keeps what it has, and so does this.
        let version = &object.metadata().resource_version;
        let known = self.objects.get(object.kind(), &object.key());
        if !version.is_empty() && known.is_some_and(|known| known.metadata().resource_version == *version) {
            return None;
        }
        match self.objects.insert(object.clone()) {
            None => Some(Input::Added(object)),
            Some(old) => Some(Input::Updated { old, new: object }),
        }
    }

    /// Everything that is known, what others refer to first, pods that wait to be scheduled last and the oldest of
    /// them first.
    fn everything(&self) -> Vec<Input> {
        let is_pending =
            |object: &Object| matches!(object, Object::Pod(pod) if !pod.is_assigned() && !pod.is_terminal());
        let (mut pending, settled): (Vec<_>, Vec<_>) = self.objects.iter().partition(is_pending);
        pending.sort_by_key(|object| object.metadata().creation_timestamp);
        settled.into_iter().chain(pending).map(Input::Added).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::api::objects::{Node, ObjectMeta, Pod};

    const NOW: Time = Time::from_secs(1_000);

    fn meta(name: &str, version: &str) -> ObjectMeta {
        ObjectMeta { name: name.into(), resource_version: version.into(), ..ObjectMeta::default() }
    }

    fn node(name: &str, version: &str) -> Object {
        Object::Node(Arc::new(Node { metadata: meta(name, version), ..Node::default() }))
    }

    fn pod(name: &str, node: &str) -> Object {
        let mut pod = Pod { metadata: meta(name, "1"), ..Pod::default() };
        pod.spec.node_name = node.into();
        pod.into()
    }

    fn names(inputs: &[Input]) -> Vec<String> {
        inputs
            .iter()
            .map(|input| match input {
                Input::Added(object) => format!("+{}", object.metadata().name),
                Input::Updated { new, .. } => format!("~{}", new.metadata().name),
                Input::Deleted(object) => format!("-{}", object.metadata().name),
                other => format!("{other:?}"),
            })
            .collect()
    }

    fn listed(informers: &mut Informers, kind: Kind, objects: Vec<Object>) -> Vec<Input> {
        let mut inputs = informers.take(kind, Report::Listing, NOW);
        for object in objects {
            inputs.extend(informers.take(kind, Report::Listed(object), NOW));
        }
        inputs.extend(informers.take(kind, Report::ListDone, NOW));
        inputs
    }

    #[test]
    fn the_scheduler_hears_nothing_before_every_kind_is_listed_and_then_of_pending_pods_last() {
        let mut informers = Informers::new(&[Kind::Node, Kind::Pod]);
        let early = listed(&mut informers, Kind::Pod, vec![pod("pending", ""), pod("running", "n1")]);
        assert_eq!(names(&early), Vec::<String>::new());
        let all = listed(&mut informers, Kind::Node, vec![node("n1", "1")]);
        assert_eq!(names(&all), ["+n1", "+running", "+pending"]);
    }

    #[test]
    fn a_forbidden_and_an_absent_kind_do_not_hold_up_the_start() {
        let mut informers = Informers::new(&[Kind::Node, Kind::PodGroup, Kind::CSINode]);
        informers.take(Kind::PodGroup, Report::Absent, NOW);
        informers.take(Kind::CSINode, Report::Forbidden { message: "no".to_owned() }, NOW);
        assert_eq!(names(&listed(&mut informers, Kind::Node, vec![node("n1", "1")])), ["+n1"]);
        assert!(informers.has_started());
    }

    #[test]
    fn a_failing_kind_holds_up_the_start_until_it_is_listed() {
        let mut informers = Informers::new(&[Kind::Node, Kind::Pod]);
        informers.take(Kind::Pod, Report::Failing { error: "refused".to_owned() }, NOW);
        assert_eq!(names(&listed(&mut informers, Kind::Node, vec![node("n1", "1")])), Vec::<String>::new());
        assert!(!informers.has_started());
    }

    #[test]
    fn a_new_list_deletes_what_it_lacks_changes_what_has_changed_and_repeats_nothing() {
        let mut informers = Informers::new(&[Kind::Node]);
        listed(&mut informers, Kind::Node, vec![node("gone", "1"), node("same", "1"), node("changed", "1")]);
        informers.take(Kind::Node, Report::Failing { error: "410 Gone".to_owned() }, NOW);
        let again = listed(&mut informers, Kind::Node, vec![node("same", "1"), node("changed", "2")]);
        assert_eq!(names(&again), ["~changed", "-gone"]);
    }

    #[test]
    fn an_object_that_cannot_be_read_stays_as_it_was_known() {
        let mut informers = Informers::new(&[Kind::Node]);
        listed(&mut informers, Kind::Node, vec![node("n1", "1")]);
        let key = NamespacedName::cluster("n1");
        informers.take(Kind::Node, Report::Listing, NOW);
        let report = Report::Unreadable { key: key.clone(), error: "no quantity".to_owned() };
        informers.take(Kind::Node, report, NOW);
        assert_eq!(names(&informers.take(Kind::Node, Report::ListDone, NOW)), Vec::<String>::new());
        assert!(informers.objects().get(Kind::Node, &key).is_some());
        let told = informers.iter().next().map(|(_, informer)| informer.unreadable.len());
        assert_eq!(told, Some(1));
    }
}
