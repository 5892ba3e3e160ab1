//! What the controllers have done, for people to read.

use std::collections::VecDeque;
use std::fmt;

use crate::api::{NamespacedName, Time};

/// How many deeds are kept.
const CAPACITY: usize = 1_000;

/// Something that a controller has done, or could not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deed {
    /// When.
    pub at: Time,
    /// Which controller.
    pub controller: &'static str,
    /// The kind of object that it is about, as manifests spell it.
    pub kind: &'static str,
    /// The object.
    pub object: NamespacedName,
    /// Whether it went wrong.
    pub is_warning: bool,
    /// Such as `ProvisioningSucceeded`; where the cluster's controllers write an Event, its reason.
    pub reason: &'static str,
    /// The sentence.
    pub note: String,
}

impl fmt::Display for Deed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { controller, kind, object, note, reason, .. } = self;
        write!(f, "{controller}: {kind} {object}: {note} ({reason})")
    }
}

/// Reason, sentence and gravity of a deed.
#[derive(Clone, Debug)]
pub(in crate::driver::sandbox) struct Said {
    is_warning: bool,
    is_progress: bool,
    /// Whether it is worth telling although it was the last thing told of the object.
    is_news: bool,
    reason: &'static str,
    note: String,
}

impl Said {
    /// Something is as it was wanted.
    pub(in crate::driver::sandbox) fn done(reason: &'static str, note: impl Into<String>) -> Self {
        Self { is_warning: false, is_progress: true, is_news: true, reason, note: note.into() }
    }

    /// Something has begun, or waits.
    pub(in crate::driver::sandbox) fn begun(reason: &'static str, note: impl Into<String>) -> Self {
        Self { is_progress: false, is_news: false, ..Self::done(reason, note) }
    }

    /// Something is wrong.
    pub(in crate::driver::sandbox) fn failed(reason: &'static str, note: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::begun(reason, note) }
    }

    /// The same, worth telling every time.
    pub(in crate::driver::sandbox) fn again(self) -> Self {
        Self { is_news: true, ..self }
    }
}

/// The last deeds of all controllers.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    deeds: VecDeque<Deed>,
    n_deeds: u64,
    n_progress: u64,
}

impl Journal {
    /// The deeds, the newest last.
    pub const fn deeds(&self) -> &VecDeque<Deed> {
        &self.deeds
    }

    /// How many deeds there have been, those included that are not kept any more.
    pub const fn n_deeds(&self) -> u64 {
        self.n_deeds
    }

    /// The deeds after the first so many, as far as they are kept.
    pub fn since(&self, n_deeds: u64) -> impl Iterator<Item = &Deed> {
        let n_new = usize::try_from(self.n_deeds.saturating_sub(n_deeds)).unwrap_or(usize::MAX);
        self.deeds.iter().skip(self.deeds.len().saturating_sub(n_new))
    }

    /// How many deeds have brought something forward.
    pub const fn n_progress(&self) -> u64 {
        self.n_progress
    }

    pub(in crate::driver::sandbox) fn add(
        &mut self,
        at: Time,
        controller: &'static str,
        kind: &'static str,
        object: &NamespacedName,
        said: Said,
    ) {
        let Said { is_warning, is_progress, is_news, reason, note } = said;
        let mut of_object =
            self.deeds.iter().rev().filter(|deed| deed.kind == kind && deed.object == *object);
        if !is_news && of_object.next().is_some_and(|last| last.reason == reason && last.note == note) {
            return;
        }
        let deed = Deed { at, controller, kind, object: object.clone(), is_warning, reason, note };
        self.n_deeds += 1;
        self.n_progress += u64::from(is_progress);
        if self.deeds.len() == CAPACITY {
            self.deeds.pop_front();
        }
        self.deeds.push_back(deed);
    }
}
