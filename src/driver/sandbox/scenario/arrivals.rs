//! What comes into a cluster by itself as time goes on, one process for each kind of work.
//!
//! Every process has random numbers of its own, which start from the scenario's seed and its place in the file, so that
//! one more process changes nothing about the others. Chance is drawn from whole numbers alone: the same seed gives the
//! same moments on every machine.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::api::manifest::{Source, load};
use crate::api::{Duration, Kind, Object, Rng, Str, Time};

/// The hours of a day.
pub const HOURS: usize = 24;
const HOUR_NANOS: u64 = 3_600_000_000_000;
/// How many parts the peak of a day has.
pub const PEAK: u32 = 1_000;
/// A common day: quiet at night, a hill before noon, a higher one in the evening; thousandths of the peak.
pub const COMMON_DAY: [u32; HOURS] = [
    250, 180, 140, 120, 120, 160, 260, 420, 600, 720, 780, 800, 780, 740, 720, 720, 740, 800, 900, 980,
    1_000, 900, 650, 400,
];

/// When things come.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// At even distances.
    Every(Duration),
    /// At random, independently of each other: a Poisson process with that mean distance.
    Poisson(Duration),
    /// Many at once.
    Bursts {
        /// From the beginning of one burst to the next; the mean of it if that is random.
        every: Duration,
        /// Whether bursts begin at random.
        is_random: bool,
        /// The fewest and the most of a burst.
        size: (u32, u32),
        /// All of a burst come within so long.
        within: Duration,
    },
    /// At random, more or fewer by the hour of the day.
    Diurnal {
        /// The mean distance at the peak.
        at_peak: Duration,
        /// How many come in each hour, in thousandths of the peak; between two hours it changes evenly.
        hours: [u32; HOURS],
        /// The time of day at which the scenario begins.
        begins: Duration,
    },
    /// As in a recording: so long after the beginning came these.
    Recorded(Arc<[(Duration, Object)]>),
}

/// How long something stays once it is on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// So long.
    Fixed(Duration),
    /// Between these.
    Between(Duration, Duration),
    /// At random, so long on average: many short ones, few long ones.
    Mean(Duration),
}

/// What comes, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrivalPlan {
    /// What it is called.
    pub name: Str,
    /// When.
    pub process: Process,
    /// Nothing comes before so long after the start.
    pub from: Duration,
    /// Nothing comes after so long after the start.
    pub until: Option<Duration>,
    /// So many at the most.
    pub count: Option<u64>,
    /// A manifest. `${n}` in it is the number of the arrival, from 1 on; without it that stands behind every name.
    pub template: Arc<str>,
    /// So many times the template at each arrival; `${i}` in it is which, from 0 on.
    pub copies: u32,
    /// How long its pods stay on a node; absent: nothing here takes them away.
    pub lifetime: Option<Lifetime>,
}

/// A process under way.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    pub plan: Arc<ArrivalPlan>,
    /// The template as objects, if their names alone change.
    objects: Option<Arc<[Object]>>,
    rng: Rng,
    start: Time,
    next: Option<Time>,
    /// When the last burst has begun.
    burst_at: Time,
    /// The rest of a burst.
    burst: VecDeque<Time>,
    n: u64,
}

impl Arrivals {
    /// A process that begins at `start`.
    pub fn new(plan: Arc<ArrivalPlan>, seed: u64, start: Time) -> Self {
        let is_named = plan.template.contains("${n}") || plan.template.contains("${i}");
        let source = Source { name: plan.name.to_string(), text: plan.template.to_string() };
        let objects = (!is_named).then(|| load(&[source]).ok().map(|loaded| loaded.objects.into())).flatten();
        let begin = start + plan.from;
        let mut arrivals = Self {
            plan,
            objects,
            rng: Rng::new(seed),
            start,
            next: None,
            burst_at: begin,
            burst: VecDeque::new(),
            n: 0,
        };
        // A first distance, so that the beginning is not special.
        let first = match &arrivals.plan.process {
            Process::Bursts { is_random: false, .. } | Process::Every(_) => Some(begin),
            _ => None,
        };
        match (first, arrivals.plan.process.clone()) {
            (Some(first), Process::Bursts { size, within, .. }) => {
                arrivals.fill_burst(first, size, within);
                arrivals.next = arrivals.burst.pop_front();
            }
            (Some(first), _) => arrivals.next = Some(first),
            (None, _) => arrivals.next = arrivals.draw(begin),
        }
        arrivals.keep_within_bounds();
        arrivals
    }

    /// When something comes next.
    pub const fn next(&self) -> Option<Time> {
        self.next
    }

    /// How many times something came.
    pub const fn n(&self) -> u64 {
        self.n
    }

    /// What comes now: a manifest, or objects. The next moment is drawn.
    pub fn arrive(&mut self) -> Came {
        let Some(at) = self.next else { return Came::Objects(Vec::new()) };
        self.n += 1;
        let came = self.what_comes();
        self.next = self.draw(at);
        self.keep_within_bounds();
        came
    }

    fn keep_within_bounds(&mut self) {
        let is_late = |next: &Time| self.plan.until.is_some_and(|until| *next > self.start + until);
        if self.plan.count.is_some_and(|count| self.n >= count) || self.next.as_ref().is_some_and(is_late) {
            self.next = None;
        }
    }

    fn what_comes(&self) -> Came {
        if let Process::Recorded(items) = &self.plan.process {
            let index = usize::try_from(self.n - 1).unwrap_or(usize::MAX);
            return Came::Objects(items.get(index).map(|(_, object)| object.clone()).into_iter().collect());
        }
        let number = self.n.to_string();
        match &self.objects {
            Some(objects) => Came::Objects(
                (0..self.plan.copies)
                    .flat_map(|copy| {
                        let number = &number;
                        objects.iter().map(move |object| {
                            let mut object = object.clone();
                            let copy = if self.plan.copies > 1 { format!("-{copy}") } else { String::new() };
                            if object.kind() != Kind::Namespace && object.kind() != Kind::PriorityClass {
                                let metadata = object.metadata_mut();
                                metadata.name = Str::from(format!("{}-{number}{copy}", metadata.name));
                            }
                            object
                        })
                    })
                    .collect(),
            ),
            None => {
                let one = |copy: u32| {
                    self.plan.template.replace("${n}", &number).replace("${i}", &copy.to_string())
                };
                let copies: Vec<String> = (0..self.plan.copies).map(one).collect();
                Came::Manifest(copies.join("\n---\n"))
            }
        }
    }

    /// The first moment behind `after` at which something comes.
    fn draw(&mut self, after: Time) -> Option<Time> {
        match self.plan.process.clone() {
            Process::Every(distance) => Some(after + distance),
            Process::Poisson(mean) => Some(after + self.exponential(mean)),
            Process::Bursts { every, is_random, size, within } => {
                if self.burst.is_empty() {
                    let distance = if is_random { self.exponential(every) } else { every };
                    self.fill_burst(self.burst_at + distance, size, within);
                }
                self.burst.pop_front().map(|at| at.max(after))
            }
            Process::Diurnal { at_peak, hours, begins } => {
                // Thinning: as many as at the peak are drawn, and the hour says how many of them come.
                let mut at = after;
                let end = self.plan.until.map(|until| self.start + until);
                loop {
                    at += self.exponential(at_peak);
                    if end.is_some_and(|end| at > end) {
                        return None;
                    }
                    let of_day = (begins + (at - self.start)).as_nanos();
                    let share = share_at(&hours, u64::try_from(of_day).unwrap_or(u64::MAX));
                    if self.rng.below(PEAK as usize) < share as usize {
                        return Some(at);
                    }
                }
            }
            Process::Recorded(items) => {
                let index = usize::try_from(self.n).unwrap_or(usize::MAX);
                items.get(index).map(|(offset, _)| self.start + self.plan.from + *offset)
            }
        }
    }

    fn fill_burst(&mut self, at: Time, (fewest, most): (u32, u32), within: Duration) {
        self.burst_at = at;
        let spread = usize::try_from(most.saturating_sub(fewest)).unwrap_or(0) + 1;
        let size = fewest as usize + self.rng.below(spread);
        let room = usize::try_from(within.as_micros()).unwrap_or(usize::MAX);
        let mut moments: Vec<u64> =
            (0..size.max(1)).map(|_| self.rng.below(room.saturating_add(1)) as u64).collect();
        moments.sort_unstable();
        self.burst = moments.into_iter().map(|micros| at + Duration::from_micros(micros)).collect();
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        exponential(&mut self.rng, mean)
    }

    /// How long what came now stays.
    pub fn lifetime(&mut self) -> Option<Duration> {
        Some(match self.plan.lifetime? {
            Lifetime::Fixed(duration) => duration,
            Lifetime::Between(least, most) => {
                let room = usize::try_from((most.saturating_sub(least)).as_millis()).unwrap_or(usize::MAX);
                least + Duration::from_millis(self.rng.below(room.saturating_add(1)) as u64)
            }
            Lifetime::Mean(mean) => self.exponential(mean),
        })
    }
}

/// What came.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Came {
    /// A manifest's text.
    Manifest(String),
    /// Objects.
    Objects(Vec<Object>),
}

/// A length that is distributed exponentially, to the microsecond. By von Neumann's comparison of uniform numbers, which
/// needs no logarithm, whose last bit depends on the machine.
fn exponential(rng: &mut Rng, mean: Duration) -> Duration {
    let mut whole: u64 = 0;
    loop {
        let first = rng.next_u64();
        let mut last = first;
        let mut is_odd = true;
        loop {
            let next = rng.next_u64();
            if next >= last {
                break;
            }
            last = next;
            is_odd = !is_odd;
        }
        if is_odd {
            let mean = mean.as_nanos();
            let part = (mean * u128::from(first >> 32)) >> 32;
            let nanos = mean * u128::from(whole) + part;
            return Duration::from_micros(u64::try_from(nanos / 1_000).unwrap_or(u64::MAX));
        }
        whole += 1;
    }
}

/// How many come at a moment of the day, in thousandths of the peak.
fn share_at(hours: &[u32; HOURS], of_day: u64) -> u32 {
    let hour = usize::try_from(of_day / HOUR_NANOS).unwrap_or(0) % HOURS;
    let into = of_day % HOUR_NANOS;
    let at = |hour: usize| u64::from(hours.get(hour % HOURS).copied().unwrap_or(PEAK));
    let (here, there) = (at(hour), at(hour + 1));
    // In seconds, so that nothing overflows.
    let (into, whole) = (into / 1_000_000_000, 3_600);
    u32::try_from((here * (whole - into) + there * into) / whole).unwrap_or(PEAK)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    const START: Time = Time::from_secs(1_767_225_600);
    const POD: &str =
        "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: c, image: i}]}}";

    fn plan(process: Process) -> ArrivalPlan {
        ArrivalPlan {
            name: "web".into(),
            process,
            from: Duration::ZERO,
            until: Some(Duration::from_secs(3_600)),
            count: None,
            template: POD.into(),
            copies: 1,
            lifetime: None,
        }
    }

    fn moments(plan: ArrivalPlan, seed: u64) -> Vec<Duration> {
        let mut arrivals = Arrivals::new(Arc::new(plan), seed, START);
        std::iter::from_fn(|| {
            let at = arrivals.next()?;
            arrivals.arrive();
            Some(at - START)
        })
        .collect()
    }

    #[test]
    fn a_poisson_process_has_its_rate_over_many_seeds() {
        let process = Process::Poisson(Duration::from_secs(10));
        let counts: Vec<usize> = (0..200).map(|seed| moments(plan(process.clone()), seed).len()).collect();
        // 360 are expected in an hour, and the variance of a Poisson process is its mean.
        let mean = counts.iter().sum::<usize>() as f64 / 200.0;
        let variance = counts.iter().map(|count| (*count as f64 - mean).powi(2)).sum::<f64>() / 199.0;
        // Four standard errors: sqrt(360 / 200) for the mean, 360 * sqrt(2 / 199) for the variance.
        assert!((mean - 360.0).abs() < 4.0 * 1.342, "{mean}");
        assert!((variance - 360.0).abs() < 4.0 * 36.1, "{variance}");
    }

    #[test]
    fn distances_are_exponential() {
        let mut rng = Rng::new(3);
        let mean = Duration::from_secs(1);
        let drawn: Vec<f64> = (0..20_000).map(|_| exponential(&mut rng, mean).as_secs_f64()).collect();
        // The distribution function at some places: 1 - e^-x. Four standard errors are at most 0.0142.
        for (x, expected) in [(0.1, 0.0952), (0.5, 0.3935), (1.0, 0.6321), (2.0, 0.8647), (4.0, 0.9817)] {
            let share = drawn.iter().filter(|drawn| **drawn < x).count() as f64 / 20_000.0;
            assert!((share - expected).abs() < 0.0142, "{x}: {share}");
        }
    }

    #[test]
    fn equal_seeds_give_equal_moments_and_others_do_not() {
        let process = Process::Poisson(Duration::from_secs(7));
        assert_eq!(moments(plan(process.clone()), 5), moments(plan(process.clone()), 5));
        assert_ne!(moments(plan(process.clone()), 5), moments(plan(process), 6));
    }

    #[test]
    fn even_distances_begin_at_the_beginning_and_end_in_time() {
        let early = ArrivalPlan {
            from: Duration::from_secs(60),
            until: Some(Duration::from_secs(120)),
            ..plan(Process::Every(Duration::from_secs(30)))
        };
        assert_eq!(moments(early.clone(), 1), [60, 90, 120].map(Duration::from_secs));
        assert_eq!(moments(ArrivalPlan { count: Some(2), ..early }, 1).len(), 2);
    }

    #[test]
    fn a_burst_comes_within_its_time() {
        let process = Process::Bursts {
            every: Duration::from_secs(600),
            is_random: false,
            size: (5, 8),
            within: Duration::from_secs(10),
        };
        let moments = moments(plan(process), 9);
        for burst in 0..6_u64 {
            let begin = Duration::from_secs(600 * burst);
            let n =
                moments.iter().filter(|at| **at >= begin && **at <= begin + Duration::from_secs(10)).count();
            assert!((5..=8).contains(&n), "burst {burst}: {n}");
        }
        assert!(moments.is_sorted());
    }

    #[test]
    fn a_day_has_its_hours() {
        let mut hours = [0; HOURS];
        hours[9] = PEAK;
        hours[10] = PEAK;
        let process =
            Process::Diurnal { at_peak: Duration::from_secs(10), hours, begins: Duration::from_secs(0) };
        let day = ArrivalPlan { until: Some(Duration::from_secs(86_400)), ..plan(process) };
        let moments = moments(day, 4);
        let hour = |n: u64| moments.iter().filter(|at| at.as_secs() / 3_600 == n).count();
        assert_eq!((hour(7), hour(12)), (0, 0));
        // The full hour: 360 of them, with a standard deviation of 19; half of that in the hours beside it.
        assert!((284..436).contains(&hour(9)), "{}", hour(9));
        assert!((126..234).contains(&hour(8)), "{}", hour(8));
    }

    #[test]
    fn names_are_numbered_and_marks_are_filled_in() {
        let mut arrivals = Arrivals::new(Arc::new(plan(Process::Every(Duration::from_secs(1)))), 1, START);
        arrivals.arrive();
        let Came::Objects(objects) = arrivals.arrive() else { unreachable!() };
        assert_eq!(&*objects.first().unwrap().key().name, "web-2");
        let marked = ArrivalPlan {
            template: "{name: 'job-${n}-${i}'}".into(),
            copies: 2,
            ..plan(Process::Every(Duration::from_secs(1)))
        };
        let mut arrivals = Arrivals::new(Arc::new(marked), 1, START);
        assert_eq!(arrivals.arrive(), Came::Manifest("{name: 'job-1-0'}\n---\n{name: 'job-1-1'}".to_owned()));
    }
}
