//! How long plugins and extension points take, measured for the console: a [`Meter`] with a clock, and what it has
//! counted. The scheduler decides the same with it and without.

#![expect(clippy::disallowed_methods, reason = "a meter has a clock")]

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::api::Duration;
use crate::framework::meter::{Measurement, Meter, Stamp};

/// In the first so many attempts each plugin is measured, behind them in one of [`SAMPLE_EVERY`].
pub const SAMPLED_AT_FIRST: u64 = 64;
/// See [`SAMPLED_AT_FIRST`].
pub const SAMPLE_EVERY: u64 = 10;
/// How many attempts back the rate of attempts goes.
const RATE_OVER: usize = 256;
/// Buckets of a histogram: the first ends at 1 microsecond, each next one at four times as much, the last has no end.
const BUCKETS: usize = 10;

/// How long something took, over many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How often.
    pub n: u64,
    /// All of it together.
    pub sum: Duration,
    /// The longest.
    pub longest: Duration,
    /// How often within each bucket; see [`Histogram::upper`].
    pub buckets: [u64; BUCKETS],
}

impl Histogram {
    /// Where a bucket ends; absent for the last.
    pub fn upper(bucket: usize) -> Option<Duration> {
        let doublings = u32::try_from(bucket * 2).ok()?;
        (bucket + 1 < BUCKETS).then(|| Duration::from_nanos(1_000 << doublings))
    }

    /// The mean.
    pub fn mean(&self) -> Duration {
        let n = u128::from(self.n.max(1));
        Duration::from_nanos(u64::try_from(self.sum.as_nanos() / n).unwrap_or(u64::MAX))
    }

    fn add(&mut self, took: Duration) {
        self.n += 1;
        self.sum = self.sum.saturating_add(took);
        self.longest = self.longest.max(took);
        let bucket = (0..BUCKETS).find(|bucket| Self::upper(*bucket).is_none_or(|upper| took < upper));
        if let Some(count) = bucket.and_then(|bucket| self.buckets.get_mut(bucket)) {
            *count += 1;
        }
    }
}

/// What was measured so far.
#[derive(Clone, Debug, Default)]
pub struct LatencyView {
    /// Whole extension points, in the order of their names.
    pub points: BTreeMap<&'static str, Histogram>,
    /// Plugins at extension points, in the sampled attempts.
    pub plugins: BTreeMap<(String, &'static str), Histogram>,
    /// Attempts a second of wall-clock time over the last of them; absent before there are two.
    pub attempts_per_second: Option<f64>,
}

#[derive(Debug, Default)]
struct Counted {
    view: LatencyView,
    attempts: VecDeque<u64>,
}

/// The meter.
#[derive(Debug)]
pub struct Latencies {
    epoch: Instant,
    n_attempts: AtomicU64,
    counted: Mutex<Counted>,
}

impl Latencies {
    /// A meter that counts from now on.
    pub fn new() -> Arc<Self> {
        Arc::new(Self { epoch: Instant::now(), n_attempts: AtomicU64::new(0), counted: Mutex::default() })
    }

    /// What was measured so far.
    pub fn view(&self) -> LatencyView {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut view = counted.view.clone();
        if let (Some(first), Some(last)) = (counted.attempts.front(), counted.attempts.back()) {
            let span = Duration::from_nanos(last.saturating_sub(*first));
            let n = u32::try_from(counted.attempts.len() - 1).unwrap_or(u32::MAX);
            view.attempts_per_second = (n > 0 && !span.is_zero()).then(|| f64::from(n) / span.as_secs_f64());
        }
        view
    }
}

impl Meter for Latencies {
    fn stamp(&self) -> Stamp {
        Stamp(u64::try_from(self.epoch.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn is_sample(&self) -> bool {
        let n = self.n_attempts.fetch_add(1, Ordering::Relaxed);
        let at = self.stamp().0;
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        if counted.attempts.len() == RATE_OVER {
            counted.attempts.pop_front();
        }
        counted.attempts.push_back(at);
        n < SAMPLED_AT_FIRST || n.is_multiple_of(SAMPLE_EVERY)
    }

    fn take(&self, measurement: Measurement<'_>) {
        let since = match &measurement {
            Measurement::Point { since, .. } | Measurement::Plugin { since, .. } => since.0,
            _ => return,
        };
        let took = Duration::from_nanos(self.stamp().0.saturating_sub(since));
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let view = &mut counted.view;
        match measurement {
            Measurement::Point { point, .. } => view.points.entry(point).or_default().add(took),
            Measurement::Plugin { plugin, point, .. } => {
                view.plugins.entry((plugin.to_owned(), point)).or_default().add(took);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_took_longer_than_every_bound_is_in_the_last_bucket() {
        let mut histogram = Histogram::default();
        for took in [0, 999, 1_000, 3_999, 4_000, 65_536_000, u64::MAX / 4] {
            histogram.add(Duration::from_nanos(took));
        }
        assert_eq!(histogram.n, 7);
        assert_eq!(histogram.buckets, [2, 2, 1, 0, 0, 0, 0, 0, 0, 2]);
        assert_eq!(Histogram::upper(0), Some(Duration::from_nanos(1_000)));
        assert_eq!(Histogram::upper(8), Some(Duration::from_nanos(65_536_000)));
        assert_eq!(Histogram::upper(9), None);
    }

    #[test]
    fn the_first_attempts_are_samples_and_then_one_in_ten() {
        let meter = Latencies::new();
        let samples: Vec<bool> = (0..100).map(|_| meter.is_sample()).collect();
        assert!(samples[..64].iter().all(|is_sample| *is_sample));
        assert_eq!(samples[64..].iter().filter(|is_sample| **is_sample).count(), 3);
        meter.take(Measurement::Point {
            profile: "default-scheduler",
            point: "Filter",
            code: crate::framework::Code::Success,
            since: meter.stamp(),
        });
        let view = meter.view();
        assert_eq!(view.points.get("Filter").map(|histogram| histogram.n), Some(1));
        assert!(view.attempts_per_second.is_some_and(|rate| rate > 0.0));
    }
}
