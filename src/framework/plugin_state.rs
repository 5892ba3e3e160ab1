//! What plugins remember from one attempt to the next: assume caches, in-flight allocations.
//!
//! Plugins themselves are immutable; what they keep beyond an attempt lives here, one value per type for the whole
//! scheduler. States are shared until written to, so that a copy of the scheduler costs a reference per state, and
//! they are part of its digest. What a state keeps per profile it keys by the profile's name.

use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use crate::api::{Digest, Digestible, Kind, Object, ObjectStore};

/// A change of an object as a watcher tells it: before and after. An absent `old` is a new object, an absent `new`
/// a deletion.
pub type ObjectChange = (Option<Object>, Option<Object>);

/// Which changes the scheduler's queue hears of in place of one that a watch has reported.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Told {
    /// The change itself.
    #[default]
    AsReported,
    /// These, in order; none if the state hides the change, as an assume cache does with one that is older than what
    /// it has assumed.
    Instead(Vec<ObjectChange>),
}

/// A state that a plugin keeps.
pub trait PluginState: Any + Clone + Send + Sync + fmt::Debug + Digestible {
    /// The kinds of objects whose changes it wants to hear of.
    fn kinds(&self) -> &'static [Kind] {
        &[]
    }

    /// A watch has reported a change of one of its kinds. `objects` have it already; queue and queueing hints have not
    /// heard of it.
    fn object_changed(
        &mut self,
        _objects: &ObjectStore,
        _old: Option<&Object>,
        _new: Option<&Object>,
    ) -> Told {
        Told::AsReported
    }
}

/// [`PluginState`] without what cannot be called through a reference to any of them.
trait AnyState: Send + Sync + fmt::Debug {
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
    fn copy(&self) -> Arc<dyn AnyState>;
    fn listens_to(&self, kind: Kind) -> bool;
    fn changed(&mut self, objects: &ObjectStore, old: Option<&Object>, new: Option<&Object>) -> Told;
    fn add_to_digest(&self, digest: &mut Digest);
}

impl<T: PluginState> AnyState for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
    fn copy(&self) -> Arc<dyn AnyState> {
        Arc::new(self.clone())
    }
    fn listens_to(&self, kind: Kind) -> bool {
        self.kinds().contains(&kind)
    }
    fn changed(&mut self, objects: &ObjectStore, old: Option<&Object>, new: Option<&Object>) -> Told {
        self.object_changed(objects, old, new)
    }
    fn add_to_digest(&self, digest: &mut Digest) {
        self.digest(digest);
    }
}

#[derive(Clone, Debug)]
struct Entry {
    type_id: TypeId,
    state: Arc<dyn AnyState>,
}

impl Entry {
    /// The state to change; copied first if another scheduler shares it.
    fn make_mut(&mut self) -> Option<&mut (dyn AnyState + 'static)> {
        if Arc::get_mut(&mut self.state).is_none() {
            self.state = self.state.copy();
        }
        Arc::get_mut(&mut self.state)
    }
}

/// The states of all plugins of a scheduler, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct PluginStates(RefCell<Vec<Entry>>);

impl PluginStates {
    /// Adds a state, unless there is one of that type already.
    pub fn add<T: PluginState>(&mut self, state: T) {
        let entries = self.0.get_mut();
        let type_id = TypeId::of::<T>();
        if entries.iter().all(|entry| entry.type_id != type_id) {
            entries.push(Entry { type_id, state: Arc::new(state) });
        }
    }

    /// Reads a state. Absent if no plugin has added one of that type. `read` must not ask for a state to change.
    pub fn read<T: PluginState, R>(&self, read: impl FnOnce(&T) -> R) -> Option<R> {
        let entries = self.0.borrow();
        let entry = entries.iter().find(|entry| entry.type_id == TypeId::of::<T>())?;
        entry.state.as_any().downcast_ref().map(read)
    }

    /// Changes a state. Absent if no plugin has added one of that type. `change` must not ask for any state.
    pub fn change<T: PluginState, R>(&self, change: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut entries = self.0.borrow_mut();
        let entry = entries.iter_mut().find(|entry| entry.type_id == TypeId::of::<T>())?;
        entry.make_mut()?.as_any_mut().downcast_mut().map(change)
    }

    /// Tells every state of a change that a watch has reported. The answer is what the queue hears of.
    pub fn object_changed(
        &mut self,
        objects: &ObjectStore,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Told {
        let mut told = Told::AsReported;
        let Some(kind) = old.or(new).map(Object::kind) else { return told };
        for entry in self.0.get_mut().iter_mut().filter(|entry| entry.state.listens_to(kind)) {
            let Some(state) = entry.make_mut() else { continue };
            match state.changed(objects, old, new) {
                Told::AsReported => {}
                instead @ Told::Instead(_) => told = instead,
            }
        }
        told
    }
}

impl Digestible for PluginStates {
    fn digest(&self, digest: &mut Digest) {
        let entries = self.0.borrow();
        digest.len(entries.len());
        for entry in entries.iter() {
            entry.state.add_to_digest(digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::api::objects::{Namespace, Node};

    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Heard(Vec<&'static str>);

    impl Digestible for Heard {
        fn digest(&self, digest: &mut Digest) {
            digest.len(self.0.len());
        }
    }

    impl PluginState for Heard {
        fn kinds(&self) -> &'static [Kind] {
            &[Kind::Namespace]
        }
        fn object_changed(&mut self, _: &ObjectStore, old: Option<&Object>, _: Option<&Object>) -> Told {
            self.0.push(if old.is_some() { "changed" } else { "added" });
            Told::Instead(Vec::new())
        }
    }

    fn heard(states: &PluginStates) -> Option<Heard> {
        states.read(|heard: &Heard| heard.clone())
    }

    #[test]
    fn a_copy_does_not_see_later_changes() {
        let mut states = PluginStates::default();
        states.add(Heard::default());
        let copy = states.clone();
        states.change(|heard: &mut Heard| heard.0.push("written"));
        assert_eq!(heard(&states), Some(Heard(vec!["written"])));
        assert_eq!(heard(&copy), Some(Heard::default()));
    }

    #[test]
    fn a_state_that_is_there_is_not_replaced() {
        let mut states = PluginStates::default();
        states.add(Heard(vec!["first"]));
        states.add(Heard(vec!["second"]));
        assert_eq!(heard(&states), Some(Heard(vec!["first"])));
    }

    #[test]
    fn what_was_not_added_is_absent() {
        assert_eq!(heard(&PluginStates::default()), None);
    }

    #[test]
    fn a_state_hears_of_changes_and_may_hide_them() {
        let mut states = PluginStates::default();
        let objects = ObjectStore::default();
        let namespace = Object::from(Namespace::default());
        assert_eq!(states.object_changed(&objects, None, Some(&namespace)), Told::AsReported);
        states.add(Heard::default());
        assert_eq!(states.object_changed(&objects, None, Some(&namespace)), Told::Instead(Vec::new()));
        assert_eq!(
            states.object_changed(&objects, None, Some(&Object::from(Node::default()))),
            Told::AsReported
        );
        assert_eq!(heard(&states), Some(Heard(vec!["added"])));
    }
}
