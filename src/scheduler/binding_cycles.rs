//! The binding cycles that are under way, in the order in which they began, and which of them have something to go on
//! with.
//!
//! Of very many that wait only those are looked at for which something has happened: what they wait for is kept beside
//! them. Upstream has a goroutine for each, which its channel, timer or call wakes.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{Kind, Time, Uid};

use super::cycle::BindingCycle;

/// The place of a binding cycle among the others.
pub(super) type BindingNumber = u64;

/// All binding cycles under way.
#[derive(Clone, Debug, Default)]
pub(super) struct BindingCycles {
    cycles: BTreeMap<BindingNumber, BindingCycle>,
    numbers: BTreeSet<(Uid, BindingNumber)>,
    next_number: BindingNumber,
    /// Those that may be able to go on.
    ready: BTreeSet<BindingNumber>,
    /// When those want to go on that wait for a time.
    wake_ups: BTreeSet<(Time, BindingNumber)>,
    /// Those that wait for a change of an object of some kind.
    watchers: BTreeSet<(Kind, BindingNumber)>,
}

impl BindingCycles {
    /// A new one, which can go on.
    pub fn push(&mut self, binding: BindingCycle) {
        let number = self.next_number;
        self.next_number += 1;
        self.ready.insert(number);
        self.put_back(number, binding);
    }

    /// Takes the cycle of a pod out, to change it. It counts as having gone on.
    pub fn take(&mut self, uid: &Uid) -> Option<(BindingNumber, BindingCycle)> {
        let number = self.number_of(uid)?;
        let binding = self.cycles.remove(&number)?;
        self.numbers.remove(&(uid.clone(), number));
        self.ready.remove(&number);
        if let Some(at) = binding.wake_at {
            self.wake_ups.remove(&(at, number));
        }
        for kind in &binding.watched {
            self.watchers.remove(&(*kind, number));
        }
        Some((number, binding))
    }

    /// Puts a cycle back into its place, to wait for what it says.
    pub fn put_back(&mut self, number: BindingNumber, binding: BindingCycle) {
        self.numbers.insert((binding.cycle.queued.uid().clone(), number));
        if let Some(at) = binding.wake_at {
            self.wake_ups.insert((at, number));
        }
        self.watchers.extend(binding.watched.iter().map(|kind| (*kind, number)));
        self.cycles.insert(number, binding);
    }

    fn number_of(&self, uid: &Uid) -> Option<BindingNumber> {
        let from = (uid.clone(), 0);
        self.numbers.range(from..).next().filter(|(found, _)| found == uid).map(|(_, number)| *number)
    }

    /// The cycle of a pod.
    pub fn get(&self, uid: &Uid) -> Option<&BindingCycle> {
        self.cycles.get(&self.number_of(uid)?)
    }

    /// The same, to change anything but what it waits for.
    pub fn get_mut(&mut self, uid: &Uid) -> Option<&mut BindingCycle> {
        let number = self.number_of(uid)?;
        self.cycles.get_mut(&number)
    }

    /// All of them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &BindingCycle> {
        self.cycles.values()
    }

    /// The same, to change anything but what they wait for.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut BindingCycle> {
        self.cycles.values_mut()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.cycles.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.cycles.is_empty()
    }

    /// The cycle of that pod, if there is one, has something to go on with.
    pub fn wake(&mut self, uid: &Uid) {
        self.ready.extend(self.number_of(uid));
    }

    /// Those whose time has come have something to go on with.
    pub fn wake_late(&mut self, now: Time) {
        let late = self.wake_ups.iter().take_while(|(at, _)| *at <= now);
        self.ready.extend(late.map(|(_, number)| *number));
    }

    /// Those that watch objects of that kind have something to go on with.
    pub fn wake_watchers(&mut self, kind: Kind) {
        let watchers = self.watchers.range((kind, 0)..=(kind, BindingNumber::MAX));
        self.ready.extend(watchers.map(|(_, number)| *number));
    }

    /// When the first one wants to go on by time.
    pub fn next_wake_up(&self) -> Option<Time> {
        self.wake_ups.first().map(|(at, _)| *at)
    }

    /// The first one from that place on that may be able to go on and that nobody steps.
    pub fn next_ready(&self, from: BindingNumber) -> Option<(BindingNumber, Uid)> {
        self.ready.range(from..).find_map(|number| {
            let binding = self.cycles.get(number).filter(|binding| !binding.cycle.is_stepped)?;
            Some((*number, binding.cycle.queued.uid().clone()))
        })
    }

    /// Those that may be able to go on; they count as having done so.
    pub fn take_ready(&mut self) -> Vec<Uid> {
        let ready = std::mem::take(&mut self.ready);
        let bindings = ready.iter().filter_map(|number| self.cycles.get(number));
        bindings.map(|binding| binding.cycle.queued.uid().clone()).collect()
    }

    /// Those that a person has stepped go on by themselves from now on.
    pub fn release(&mut self) {
        for (number, binding) in &mut self.cycles {
            if std::mem::take(&mut binding.cycle.is_stepped) {
                self.ready.insert(*number);
            }
        }
    }
}
