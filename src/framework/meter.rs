//! Measuring from outside: what the scheduler tells whoever measures it.
//!
//! The scheduler reads no clock. A [`Meter`] has one, and the scheduler asks it for stamps that mean nothing here and
//! gives them back when what they began has ended. Nothing that a meter says is ever looked at otherwise, so that a
//! scheduler decides the same with one and without. What is told follows `pkg/scheduler/metrics`.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::status::Code;
use crate::api::{Duration, NamespacedName, Str};

/// A moment by the meter's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Stamp(pub u64);

/// What was measured.
#[derive(Clone, Copy, Debug)]
#[expect(
    missing_docs,
    reason = "the fields are the labels of the metrics, or said in the text of the variant"
)]
pub enum Measurement<'a> {
    /// All plugins of an extension point have run.
    Point { profile: &'a str, point: &'static str, code: Code, since: Stamp },
    /// A plugin has run, in an attempt that is a sample.
    Plugin { plugin: &'a str, point: &'static str, code: Code, since: Stamp },
    /// A plugin was asked `n` times.
    Evaluated { profile: &'a str, plugin: &'a str, point: &'static str, n: u64 },
    /// A node was found.
    Algorithm { since: Stamp },
    /// An attempt has failed: a rejection, or an error.
    Failed {
        profile: &'a str,
        pod: &'a NamespacedName,
        is_rejection: bool,
        message: &'a str,
        since: Option<Stamp>,
    },
    /// A pod is bound, after so many nodes were looked at and so many fitted. `first_tried` is how long it took since it
    /// first entered activeQ, `was_flushed` whether it was tried because it had waited too long.
    Bound {
        profile: &'a str,
        pod: &'a NamespacedName,
        node: &'a Str,
        evaluated: usize,
        feasible: usize,
        attempts: u32,
        first_tried: Option<Duration>,
        was_flushed: bool,
        since: Option<Stamp>,
    },
    /// A pod has waited at Permit.
    PermitWait { code: Code, since: Stamp },
    /// PostFilter of DefaultPreemption was asked.
    PreemptionTried,
    /// So many pods are to go to make room.
    PreemptionVictims { preemptor: &'a str, node: &'a str, n: usize },
    /// A preemption beside the attempts has ended.
    PreemptionEnded { is_success: bool, since: Option<Stamp> },
    /// A pod entered a queue because of an event.
    Entered { queue: &'static str, event: &'a str },
    /// A plugin was asked whether an event may help a pod: `Queue`, `QueueSkip` or `Error`.
    Hint { plugin: &'a str, event: &'a str, hint: &'static str, since: Stamp },
    /// An event was handled.
    EventHandled { event: &'a str, since: Stamp },
    /// The ranking of the attempt before was asked for a node.
    NodeHint { profile: &'a str, is_hinted: bool, since: Stamp },
    /// The ranking of an attempt was kept, and what had come of the hint: `hint_used` or `hint_not_used`.
    ResultsStored { profile: &'a str, hint: Option<&'static str>, since: Stamp },
    /// A ranking was thrown away.
    BatchFlushed { profile: &'a str, reason: &'static str },
}

/// Who measures.
pub trait Meter: fmt::Debug + Send + Sync {
    /// The present moment.
    fn stamp(&self) -> Stamp;

    /// Whether the attempt that begins is a sample, in which each plugin is measured.
    fn is_sample(&self) -> bool;

    /// Takes what was measured.
    fn take(&self, measurement: Measurement<'_>);
}

/// How often the search came to which of the Filter plugins, until that is told: the plugin at `i` was the last to be
/// asked for so many nodes. One addition for each node is all that it costs.
#[derive(Debug)]
struct FilterTally(Vec<AtomicU64>);

/// The meter of a profile, if there is one.
#[derive(Clone, Debug, Default)]
pub struct Metering(Option<(Arc<dyn Meter>, Arc<FilterTally>)>);

impl Metering {
    /// Measures with this meter a profile of so many Filter plugins.
    pub fn new(meter: Arc<dyn Meter>, n_filters: usize) -> Self {
        let tally = FilterTally((0..n_filters).map(|_| AtomicU64::new(0)).collect());
        Self(Some((meter, Arc::new(tally))))
    }

    /// Who measures, if anybody does.
    pub fn meter(&self) -> Option<Arc<dyn Meter>> {
        self.0.as_ref().map(|(meter, _)| Arc::clone(meter))
    }

    /// Whether anybody measures.
    pub fn is_there(&self) -> bool {
        self.0.is_some()
    }

    /// The present moment, if anybody measures.
    pub fn stamp(&self) -> Option<Stamp> {
        self.0.as_ref().map(|(meter, _)| meter.stamp())
    }

    /// The present moment, if anybody measures and the attempt is a sample.
    pub fn stamp_if(&self, is_sample: bool) -> Option<Stamp> {
        if is_sample { self.stamp() } else { None }
    }

    /// Whether the attempt that begins is a sample.
    pub fn is_sample(&self) -> bool {
        self.0.as_ref().is_some_and(|(meter, _)| meter.is_sample())
    }

    /// Tells what was measured, if anybody measures.
    pub fn take(&self, measurement: Measurement<'_>) {
        if let Some((meter, _)) = &self.0 {
            meter.take(measurement);
        }
    }

    /// The same for what takes time to put together.
    pub fn tell(&self, tell: impl FnOnce(&dyn Meter)) {
        if let Some((meter, _)) = &self.0 {
            tell(meter.as_ref());
        }
    }

    /// An extension point was run since then.
    pub fn point(&self, profile: &str, point: &'static str, code: Code, since: Option<Stamp>) {
        if let Some(since) = since {
            self.take(Measurement::Point { profile, point, code, since });
        }
    }

    /// A plugin was run since then.
    pub fn plugin(&self, plugin: &str, point: &'static str, code: Code, since: Option<Stamp>) {
        if let Some(since) = since {
            self.take(Measurement::Plugin { plugin, point, code, since });
        }
    }

    /// The ranking of the attempt before was asked for a node; what it answered, or why it had none.
    pub fn tell_node_hint(
        &self,
        profile: &str,
        hint: &Result<Str, Option<&'static str>>,
        since: Option<Stamp>,
    ) {
        let Some(since) = since else { return };
        if let Err(Some(reason)) = hint {
            self.take(Measurement::BatchFlushed { profile, reason });
        }
        self.take(Measurement::NodeHint { profile, is_hinted: hint.is_ok(), since });
    }

    /// The ranking of an attempt was kept, if its pod is signed and there are other nodes than the chosen one.
    pub fn tell_stored(
        &self,
        profile: &str,
        is_hint_used: Option<bool>,
        is_signed: bool,
        n_others: usize,
        since: Option<Stamp>,
    ) {
        let Some(since) = since else { return };
        let hint = is_hint_used.map(|is_used| if is_used { "hint_used" } else { "hint_not_used" });
        if is_hint_used != Some(true) && !(is_signed && n_others > 0) {
            let reason = if n_others == 0 { "empty_list" } else { "pod_not_batchable" };
            self.take(Measurement::BatchFlushed { profile, reason });
        }
        self.take(Measurement::ResultsStored { profile, hint, since });
    }

    /// A pod was popped. One that comes from backoffQ is counted as if it had been in activeQ.
    pub fn tell_popped(&self, is_from_backoff: bool) {
        if is_from_backoff {
            self.take(Measurement::Entered { queue: "Active", event: "PopFromBackoffQ" });
        }
    }

    /// A node was found for the attempt that began then.
    pub fn tell_algorithm(&self, since: Option<Stamp>) {
        if let Some(since) = since {
            self.take(Measurement::Algorithm { since });
        }
    }

    /// The Filter plugin at `position` was the last that was asked for a node.
    pub(super) fn filtered(&self, position: usize) {
        if let Some((_, tally)) = &self.0
            && let Some(count) = tally.0.get(position)
        {
            // One scheduler alone counts here, so nothing is lost.
            count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        }
    }

    /// Tells how often each Filter plugin was asked since the last time; `skipped` are those that were not.
    pub(super) fn tell_filtered<'a>(
        &self,
        profile: &str,
        plugins: impl DoubleEndedIterator<Item = &'a str> + ExactSizeIterator,
        is_skipped: impl Fn(&str) -> bool,
    ) {
        let Some((meter, tally)) = &self.0 else { return };
        let mut n = 0;
        for (plugin, count) in plugins.zip(&tally.0).rev() {
            n += count.swap(0, Ordering::Relaxed);
            if n > 0 && !is_skipped(plugin) {
                meter.take(Measurement::Evaluated { profile, plugin, point: "Filter", n });
            }
        }
    }
}
