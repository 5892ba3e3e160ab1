//! What happened when, counted into a few bins: what a strip of any width is drawn from.
//!
//! Counting goes on where it stopped, so it costs as much as what is new. Where there are too many bins, two become one.

use std::sync::Arc;

use crate::api::{Duration, Str, Time};

use super::sandbox::ops::SimulatorFact;

/// Bins at the most.
pub const BINS_MAX: usize = 1_024;
/// The first bins over time are so wide.
const BIN_WIDTH_MIN: Duration = Duration::from_micros(1);

/// What happened in a stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Attempts begun.
    pub attempts: u32,
    /// Attempts that have failed.
    pub failed: u32,
    /// Pods evicted to make room.
    pub preempted: u32,
    /// Pods bound.
    pub bound: u32,
}

impl Bin {
    /// Both together.
    pub fn and(self, other: Self) -> Self {
        Self {
            attempts: self.attempts.saturating_add(other.attempts),
            failed: self.failed.saturating_add(other.failed),
            preempted: self.preempted.saturating_add(other.preempted),
            bound: self.bound.saturating_add(other.bound),
        }
    }
}

/// A marker or a note on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineMark {
    /// Operations before it, from the first that is kept on.
    pub position: usize,
    /// Time since the start.
    pub elapsed: Duration,
    /// The marker's name or the note's text.
    pub text: Str,
    /// Whether it is a note.
    pub is_note: bool,
}

/// What happened when on the present way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Bins over the operations, in order.
    pub by_order: Vec<Bin>,
    /// Operations per bin.
    pub per_bin: usize,
    /// Bins over time.
    pub by_time: Vec<Bin>,
    /// Time per bin.
    pub time_per_bin: Duration,
    /// Time since the start at the first bin's begin.
    pub begin: Duration,
    /// Time since the start at the end.
    pub end: Duration,
    /// Operations in all.
    pub n: usize,
    /// How many of them were looked at.
    pub n_known: usize,
    /// Markers and notes on the way, in order.
    pub marks: Arc<Vec<TimelineMark>>,
}

/// Counts along a way.
#[derive(Clone, Debug)]
pub struct Counter {
    by_order: Vec<Bin>,
    per_bin: usize,
    by_time: Vec<Bin>,
    time_per_bin: Duration,
    begin: Option<Time>,
    last: Time,
    /// What was counted up to here.
    totals: (u64, u64, u64, u64),
    n: usize,
}

impl Default for Counter {
    fn default() -> Self {
        Self {
            by_order: Vec::new(),
            per_bin: 1,
            by_time: Vec::new(),
            time_per_bin: BIN_WIDTH_MIN,
            begin: None,
            last: Time::ZERO,
            totals: (0, 0, 0, 0),
            n: 0,
        }
    }
}

impl Counter {
    /// How many operations were counted.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Counts the next operation.
    pub fn add(&mut self, fact: &SimulatorFact) {
        let totals = (fact.cycles, fact.failed, fact.preempted, fact.bound);
        let grown = |now: u64, before: u64| u32::try_from(now.saturating_sub(before)).unwrap_or(u32::MAX);
        // What was there before the first operation that is kept is not counted.
        let before =
            if self.begin.is_none() && self.n == 0 { self.first_totals(totals) } else { self.totals };
        let bin = Bin {
            attempts: grown(totals.0, before.0),
            failed: grown(totals.1, before.1),
            preempted: grown(totals.2, before.2),
            bound: grown(totals.3, before.3),
        };
        self.totals = totals;
        let begin = *self.begin.get_or_insert(fact.at);
        self.last = self.last.max(fact.at);
        while self.n / self.per_bin >= BINS_MAX {
            halve(&mut self.by_order);
            self.per_bin *= 2;
        }
        add_at(&mut self.by_order, self.n / self.per_bin, bin);
        let place = |width: Duration| {
            let width = width.as_nanos().max(1);
            usize::try_from((fact.at - begin).as_nanos() / width).unwrap_or(usize::MAX)
        };
        while place(self.time_per_bin) >= BINS_MAX {
            halve(&mut self.by_time);
            self.time_per_bin = self.time_per_bin.saturating_mul(2);
        }
        add_at(&mut self.by_time, place(self.time_per_bin), bin);
        self.n += 1;
    }

    const fn first_totals(&self, totals: (u64, u64, u64, u64)) -> (u64, u64, u64, u64) {
        // A single operation adds few; many mean that the past was forgotten.
        if totals.0 > 1 { totals } else { (0, 0, 0, 0) }
    }

    /// What was counted, with what else there is on the way.
    pub fn timeline(&self, start: Time, n: usize, end: Time, marks: Arc<Vec<TimelineMark>>) -> Timeline {
        Timeline {
            by_order: self.by_order.clone(),
            per_bin: self.per_bin,
            by_time: self.by_time.clone(),
            time_per_bin: self.time_per_bin,
            begin: self.begin.unwrap_or(start) - start,
            end: end.max(self.last) - start,
            n,
            n_known: self.n,
            marks,
        }
    }
}

fn add_at(bins: &mut Vec<Bin>, place: usize, bin: Bin) {
    if bins.len() <= place {
        bins.resize(place + 1, Bin::default());
    }
    if let Some(at) = bins.get_mut(place) {
        *at = at.and(bin);
    }
}

fn halve(bins: &mut Vec<Bin>) {
    let halves = bins.chunks(2).map(|pair| pair.iter().copied().fold(Bin::default(), Bin::and)).collect();
    *bins = halves;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(at_ms: u64, cycles: u64, failed: u64) -> SimulatorFact {
        SimulatorFact {
            at: Time::from_secs(100) + Duration::from_millis(at_ms),
            cycles,
            bound: cycles - failed,
            preempted: 0,
            failed,
            is_in_cycle: false,
            attempt: None,
            changed: Box::default(),
        }
    }

    #[test]
    fn everything_is_counted_once_in_few_bins() {
        let mut counter = Counter::default();
        for i in 0..10_000_u64 {
            counter.add(&fact(i * 7, i + 1, i / 10));
        }
        let timeline = counter.timeline(Time::from_secs(100), 10_000, Time::ZERO, Arc::default());
        for bins in [&timeline.by_order, &timeline.by_time] {
            assert!(bins.len() <= BINS_MAX && bins.len() > BINS_MAX / 4, "{}", bins.len());
            let all = bins.iter().copied().fold(Bin::default(), Bin::and);
            assert_eq!((all.attempts, all.failed, all.bound), (10_000, 999, 9_001));
        }
        assert_eq!((timeline.n, timeline.n_known), (10_000, 10_000));
        assert_eq!(timeline.end, Duration::from_millis(9_999 * 7));
    }
}
