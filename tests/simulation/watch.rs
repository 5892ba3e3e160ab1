//! What the scheduler is told, and when: a watch for each kind, as an informer keeps it.
//!
//! Changes of one kind come in their order, those of different kinds each in their own time. A watch that was lost
//! lists again, and tells what is different from what it told last: then a pod that was deleted and created anew comes
//! as a change, and one that came and went not at all.

use std::collections::{BTreeMap, VecDeque};

use schedscope::api::{Duration, Kind, NamespacedName, Object, ObjectStore, Time};
use schedscope::driver::sandbox::api::WatchEvent;
use schedscope::scheduler::input::Input;

/// The watch of one kind.
#[derive(Clone, Debug, Default)]
struct Watch {
    due: VecDeque<(Time, WatchEvent)>,
    /// The objects as they were told last, or are about to be.
    known: BTreeMap<NamespacedName, Object>,
    lag: Duration,
    /// When a lost watch lists again.
    lost_until: Option<Time>,
}

impl Watch {
    fn tell(&mut self, event: WatchEvent, now: Time) {
        let object = event.object();
        match &event {
            WatchEvent::Deleted(_) => self.known.remove(&object.key()),
            WatchEvent::Added(_) | WatchEvent::Modified { .. } => {
                self.known.insert(object.key(), object.clone())
            }
        };
        let last = self.due.back().map_or(now, |(at, _)| *at);
        self.due.push_back((last.max(now + self.lag), event));
    }

    fn list(&mut self, kind: Kind, objects: &ObjectStore, now: Time) {
        self.lost_until = None;
        for (key, old) in self.known.clone() {
            match objects.get(kind, &key) {
                None => self.tell(WatchEvent::Deleted(old), now),
                Some(new) => self.tell(WatchEvent::Modified { old, new }, now),
            }
        }
        for object in objects.iter().filter(|object| object.kind() == kind) {
            if !self.known.contains_key(&object.key()) {
                self.tell(WatchEvent::Added(object), now);
            }
        }
    }
}

/// The watches of a scheduler.
#[derive(Clone, Debug, Default)]
pub struct Watches {
    watches: BTreeMap<Kind, Watch>,
}

impl Watches {
    /// The API tells of a change.
    pub fn tell(&mut self, event: WatchEvent, now: Time) {
        let watch = self.watches.entry(event.object().kind()).or_default();
        if watch.lost_until.is_none() {
            watch.tell(event, now);
        }
    }

    pub fn set_lag(&mut self, kind: Kind, lag: Duration) {
        self.watches.entry(kind).or_default().lag = lag;
    }

    pub fn lose(&mut self, kind: Kind, until: Time) {
        self.watches.entry(kind).or_default().lost_until.get_or_insert(until);
    }

    /// Tells of everything once more.
    pub fn repeat(&mut self, kind: Kind, now: Time) {
        let watch = self.watches.entry(kind).or_default();
        for object in watch.known.values().cloned().collect::<Vec<_>>() {
            watch.tell(WatchEvent::Modified { old: object.clone(), new: object }, now);
        }
    }

    /// When the next change is told.
    pub fn next(&self) -> Option<Time> {
        let first = |watch: &Watch| {
            let due = watch.due.front().map(|(at, _)| *at);
            due.into_iter().chain(watch.lost_until).min()
        };
        self.watches.values().filter_map(first).min()
    }

    /// The next change whose time has come.
    pub fn take(&mut self, objects: &ObjectStore, now: Time) -> Option<Input> {
        for (kind, watch) in &mut self.watches {
            if watch.lost_until.is_some_and(|until| until <= now) {
                watch.list(*kind, objects, now);
            }
        }
        let due = |watch: &&mut Watch| watch.due.front().is_some_and(|(at, _)| *at <= now);
        let watches = self.watches.values_mut().filter(due);
        let watch = watches.min_by_key(|watch| watch.due.front().map(|(at, _)| *at))?;
        watch.due.pop_front().map(|(_, event)| match event {
            WatchEvent::Added(object) => Input::Added(object),
            WatchEvent::Modified { old, new } => Input::Updated { old, new },
            WatchEvent::Deleted(object) => Input::Deleted(object),
        })
    }

    /// All watches are well from now on.
    pub fn heal(&mut self, now: Time) {
        for watch in self.watches.values_mut() {
            watch.lag = Duration::ZERO;
            if watch.lost_until.is_some() {
                watch.lost_until = Some(now);
            }
        }
    }
}
