//! What the plugins of one scheduling attempt remember from one extension point to the next.
//!
//! Upstream's `CycleState` is an untyped map; here each entry is found by the type of what is stored, so a plugin
//! gets back what it put in without a cast. Entries are shared until written to: a copy for a preemption dry run
//! costs a reference per entry.

use std::any::{Any, TypeId};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::api_write::{ApiWrite, WriteResult};

/// What a plugin may keep in a [`CycleState`]: `Debug` is shown to a person who inspects the cycle.
pub trait StateData: Any + Send + Sync + fmt::Debug {}

impl<T: Any + Send + Sync + fmt::Debug> StateData for T {}

#[derive(Clone)]
struct Entry {
    type_id: TypeId,
    plugin: &'static str,
    data: Arc<dyn Any + Send + Sync>,
    show: fn(&(dyn Any + Send + Sync), &mut fmt::Formatter<'_>) -> fmt::Result,
}

/// The memory of one scheduling attempt.
#[derive(Clone, Default)]
pub struct CycleState {
    entries: Vec<Entry>,
    /// Filter plugins whose PreFilter answered Skip.
    pub skip_filter_plugins: BTreeSet<&'static str>,
    /// The same as bits, by position among the profile's Filter plugins: the search asks for every node.
    pub(super) skip_filter_bits: u64,
    /// Score plugins whose PreScore answered Skip.
    pub skip_score_plugins: BTreeSet<&'static str>,
    /// PreBind plugins that may run beside each other.
    pub parallel_pre_bind_plugins: BTreeSet<&'static str>,
    /// PreBind plugins whose PreBindPreFlight answered Skip.
    pub skip_pre_bind_plugins: BTreeSet<&'static str>,
    /// The number of the pod group's cycle, if this is the trial of a member in it: the pod is assumed in the snapshot
    /// alone.
    pub pod_group_cycle: Option<u64>,
    /// Whether PostFilter is left out, for a trial that only asks whether the pod fits.
    pub skip_all_post_filter_plugins: bool,
    /// Whether each plugin's time is measured (`recordPluginMetrics`). Has no influence on anything.
    pub is_sample: bool,
    write_results: Vec<(&'static str, ApiWrite, WriteResult)>,
}

impl CycleState {
    /// An empty state.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, told whether each plugin's time is measured.
    pub fn sampled(is_sample: bool) -> Self {
        Self { is_sample, ..Self::default() }
    }

    /// Keeps `data` for `plugin`; replaces what was kept under the same type.
    pub fn write<T: StateData>(&mut self, plugin: &'static str, data: T) {
        self.delete::<T>();
        self.entries.push(Entry {
            type_id: TypeId::of::<T>(),
            plugin,
            data: Arc::new(data),
            show: |any, f| match any.downcast_ref::<T>() {
                Some(data) => fmt::Debug::fmt(data, f),
                None => Ok(()),
            },
        });
    }

    /// What is kept under the type `T`.
    pub fn read<T: StateData>(&self) -> Option<&T> {
        let entry = self.entries.iter().find(|entry| entry.type_id == TypeId::of::<T>())?;
        entry.data.downcast_ref()
    }

    /// The same for changing it; copies it first if another state shares it.
    pub fn read_mut<T: StateData + Clone>(&mut self) -> Option<&mut T> {
        let entry = self.entries.iter_mut().find(|entry| entry.type_id == TypeId::of::<T>())?;
        if Arc::get_mut(&mut entry.data).is_none() {
            let copy = entry.data.downcast_ref::<T>()?.clone();
            entry.data = Arc::new(copy);
        }
        Arc::get_mut(&mut entry.data)?.downcast_mut()
    }

    /// Forgets what is kept under the type `T`.
    pub fn delete<T: StateData>(&mut self) {
        self.entries.retain(|entry| entry.type_id != TypeId::of::<T>());
    }

    /// What came of a write that the plugin asked for in PreBind; the oldest one that it has not taken yet.
    pub fn take_write_result(&mut self, plugin: &str) -> Option<(ApiWrite, WriteResult)> {
        let index = self.write_results.iter().position(|(asked_by, ..)| *asked_by == plugin)?;
        let (_, write, result) = self.write_results.remove(index);
        Some((write, result))
    }

    /// A write that the plugin asked for has an outcome.
    pub fn put_write_result(&mut self, plugin: &'static str, write: ApiWrite, result: WriteResult) {
        self.write_results.push((plugin, write, result));
    }

    /// Every entry as a person reads it: plugin and contents, in the order of writing.
    pub fn entries(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.entries.iter().map(|entry| (entry.plugin, format!("{:#?}", Shown(entry))))
    }
}

struct Shown<'a>(&'a Entry);

impl fmt::Debug for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.0.show)(self.0.data.as_ref(), f)
    }
}

impl fmt::Debug for CycleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| (entry.plugin, Shown(entry)))).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_does_not_see_later_changes() {
        let mut state = CycleState::new();
        state.write("P", vec![1]);
        let copy = state.clone();
        if let Some(list) = state.read_mut::<Vec<i32>>() {
            list.push(2);
        }
        assert_eq!(state.read::<Vec<i32>>(), Some(&vec![1, 2]));
        assert_eq!(copy.read::<Vec<i32>>(), Some(&vec![1]));
    }

    #[test]
    fn what_was_not_written_is_not_there() {
        assert_eq!(CycleState::new().read::<u8>(), None);
    }
}
