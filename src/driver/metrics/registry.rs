//! A registry of metrics and its text form, as `component-base/metrics` prints it for Prometheus.
//!
//! Labels are given in the order of their names, which is also the order in which they are printed. A metric with labels
//! is printed when it has a value, one without from the start on.

use std::fmt::Write as _;
use std::hash::{Hash as _, Hasher as _};
use std::sync::{Mutex, PoisonError};

use rustc_hash::{FxHashMap, FxHasher};

use super::families::{FAMILIES, Metric};

/// What kind of metric it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// It grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Values in buckets with these upper bounds; one without a bound comes last.
    Histogram(&'static [f64]),
}

impl Kind {
    /// The word in the text form.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

/// What upstream promises about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// Nothing is said.
    None,
    /// May change at any time.
    Alpha,
    /// Changes with a warning.
    Beta,
    /// Stays.
    Stable,
}

impl Stability {
    /// The word before the text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Alpha => "ALPHA",
            Self::Beta => "BETA",
            Self::Stable => "STABLE",
        }
    }
}

/// A metric without its values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// What upstream promises.
    pub stability: Stability,
    /// Its labels, by name.
    pub labels: &'static [&'static str],
    /// Its text.
    pub help: &'static str,
}

#[derive(Clone, Debug)]
enum Value {
    Number(f64),
    Histogram { counts: Vec<u64>, sum: f64, count: u64 },
}

/// So many places are remembered where the series of labels was found that lie at the same address.
const RECENT: usize = 256;

#[derive(Debug)]
struct Series {
    /// Where the series was found last, by the addresses of the labels: nearly all of them are constants. What is found
    /// there is compared, for another text may lie at an address by now.
    recent: [u32; RECENT],
    /// Where the series of these label values is, by their hash; two of one hash are told apart by the values.
    index: FxHashMap<u64, usize>,
    values: Vec<(Vec<String>, Value)>,
}

impl Default for Series {
    fn default() -> Self {
        Self { recent: [u32::MAX; RECENT], index: FxHashMap::default(), values: Vec::new() }
    }
}

/// Which of the remembered places is asked for labels at these addresses.
fn place_of(labels: &[&str]) -> usize {
    let mixed = labels.iter().fold(0_u64, |mixed, label| {
        (mixed.rotate_left(5) ^ label.as_ptr().addr() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    usize::try_from(mixed >> 56).unwrap_or_default()
}

impl Series {
    fn value_of(&mut self, family: &Family, labels: &[&str]) -> &mut Value {
        debug_assert_eq!(labels.len(), family.labels.len(), "{}", family.name);
        let place = place_of(labels);
        let at = match self.recent.get(place).and_then(|at| usize::try_from(*at).ok()) {
            Some(at) if self.values.get(at).is_some_and(|(known, _)| is_same(known, labels)) => at,
            _ => {
                let at = self.find(family, labels);
                if let (Some(recent), Ok(at)) = (self.recent.get_mut(place), u32::try_from(at)) {
                    *recent = at;
                }
                at
            }
        };
        #[expect(clippy::indexing_slicing, reason = "the place was found or made just now")]
        &mut self.values[at].1
    }

    /// Where the series of these labels is; it is made if there is none.
    fn find(&mut self, family: &Family, labels: &[&str]) -> usize {
        let mut hasher = FxHasher::default();
        labels.hash(&mut hasher);
        let hash = hasher.finish();
        let known = self.index.get(&hash).copied();
        let found =
            known.filter(|at| self.values.get(*at).is_some_and(|(values, _)| is_same(values, labels)));
        let at = found.or_else(|| self.values.iter().position(|(values, _)| is_same(values, labels)));
        let at = at.unwrap_or_else(|| {
            let value = match family.kind {
                Kind::Histogram(bounds) => {
                    Value::Histogram { counts: vec![0; bounds.len()], sum: 0.0, count: 0 }
                }
                Kind::Counter | Kind::Gauge => Value::Number(0.0),
            };
            self.values.push((labels.iter().map(|label| (*label).to_owned()).collect(), value));
            self.values.len() - 1
        });
        if known.is_none() {
            self.index.insert(hash, at);
        }
        at
    }
}

fn is_same(known: &[String], labels: &[&str]) -> bool {
    known.len() == labels.len() && known.iter().zip(labels).all(|(known, label)| known == label)
}

/// All metrics with their values.
#[derive(Debug)]
pub struct Registry(Vec<Mutex<Series>>);

impl Default for Registry {
    fn default() -> Self {
        let registry = Self(FAMILIES.iter().map(|_| Mutex::default()).collect());
        for (metric, family) in FAMILIES {
            if family.labels.is_empty() {
                registry.touch(*metric, &[]);
            }
        }
        registry
    }
}

impl Registry {
    fn with(&self, metric: Metric, labels: &[&str], change: impl FnOnce(&Family, &mut Value)) {
        let at = metric as usize;
        let (Some(series), Some((_, family))) = (self.0.get(at), FAMILIES.get(at)) else { return };
        let mut series = series.lock().unwrap_or_else(PoisonError::into_inner);
        change(family, series.value_of(family, labels));
    }

    /// Sees that it is printed, if only with 0.
    pub fn touch(&self, metric: Metric, labels: &[&str]) {
        self.with(metric, labels, |_, _| {});
    }

    /// Says how many metrics there are (`registered_metrics_total`).
    pub fn count_families(&self) {
        for (_, family) in FAMILIES.iter().filter(|(_, family)| family.stability != Stability::None) {
            self.add(Metric::RegisteredMetricsTotal, &["", family.stability.as_str()], 1.0);
        }
    }

    /// Adds to a counter or a gauge.
    pub fn add(&self, metric: Metric, labels: &[&str], by: f64) {
        self.with(metric, labels, |_, value| {
            if let Value::Number(number) = value {
                *number += by;
            }
        });
    }

    /// Sets a gauge.
    pub fn set(&self, metric: Metric, labels: &[&str], to: f64) {
        self.with(metric, labels, |_, value| *value = Value::Number(to));
    }

    /// Sets all that there is of a gauge to 0.
    pub fn zero(&self, metric: Metric) {
        let Some(series) = self.0.get(metric as usize) else { return };
        let mut series = series.lock().unwrap_or_else(PoisonError::into_inner);
        for (_, value) in &mut series.values {
            *value = Value::Number(0.0);
        }
    }

    /// Puts a value into a histogram.
    pub fn observe(&self, metric: Metric, labels: &[&str], observed: f64) {
        self.with(metric, labels, |family, value| {
            let (Kind::Histogram(bounds), Value::Histogram { counts, sum, count }) = (family.kind, value)
            else {
                return;
            };
            *sum += observed;
            *count += 1;
            if let Some(bucket) = counts.get_mut(bounds.partition_point(|bound| *bound < observed)) {
                *bucket += 1;
            }
        });
    }

    /// The value of a counter or a gauge, or how many values a histogram has; 0 where there is none.
    pub fn get(&self, metric: Metric, labels: &[&str]) -> f64 {
        let Some(series) = self.0.get(metric as usize) else { return 0.0 };
        let series = series.lock().unwrap_or_else(PoisonError::into_inner);
        let known = series.values.iter().find(|(values, _)| values.iter().eq(labels.iter()));
        match known {
            Some((_, Value::Number(number))) => *number,
            #[expect(clippy::cast_precision_loss, reason = "counts are small")]
            Some((_, Value::Histogram { count, .. })) => *count as f64,
            None => 0.0,
        }
    }

    /// The text form of those metrics that are wanted.
    pub fn text(&self, is_wanted: impl Fn(&Family) -> bool) -> String {
        let mut text = String::new();
        for ((_, family), series) in FAMILIES.iter().zip(&self.0) {
            let series = series.lock().unwrap_or_else(PoisonError::into_inner);
            if !is_wanted(family) || series.values.is_empty() {
                continue;
            }
            head(&mut text, family);
            let mut values: Vec<_> = series.values.iter().collect();
            values.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (labels, value) in values {
                let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
                print(&mut text, family, &labels, value);
            }
        }
        text
    }
}

/// The two lines before the values of a metric.
pub fn head(text: &mut String, family: &Family) {
    let stability = match family.stability {
        Stability::None => String::new(),
        stability => format!("[{}] ", stability.as_str()),
    };
    let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
    let (name, kind) = (family.name, family.kind.as_str());
    let _ = writeln!(text, "# HELP {name} {stability}{help}\n# TYPE {name} {kind}");
}

/// A line with a number.
pub fn line(text: &mut String, name: &str, labels: &[(&str, &str)], number: f64) {
    text.push_str(name);
    for (i, (label, value)) in labels.iter().enumerate() {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(text, "{}{label}=\"{value}\"", if i == 0 { '{' } else { ',' });
    }
    if !labels.is_empty() {
        text.push('}');
    }
    let _ = writeln!(text, " {}", go_float(number));
}

fn print(text: &mut String, family: &Family, values: &[&str], value: &Value) {
    let labels: Vec<(&str, &str)> = family.labels.iter().copied().zip(values.iter().copied()).collect();
    match value {
        Value::Number(number) => line(text, family.name, &labels, *number),
        Value::Histogram { counts, sum, count } => {
            let Kind::Histogram(bounds) = family.kind else { return };
            let name = format!("{}_bucket", family.name);
            let mut so_far = 0;
            for (bound, n) in bounds.iter().zip(counts) {
                so_far += n;
                let bound = go_float(*bound);
                let labels: Vec<_> = labels.iter().copied().chain([("le", bound.as_str())]).collect();
                line(text, &name, &labels, count_as_f64(so_far));
            }
            let labels_inf: Vec<_> = labels.iter().copied().chain([("le", "+Inf")]).collect();
            line(text, &name, &labels_inf, count_as_f64(*count));
            line(text, &format!("{}_sum", family.name), &labels, *sum);
            line(text, &format!("{}_count", family.name), &labels, count_as_f64(*count));
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn count_as_f64(count: u64) -> f64 {
    count as f64
}

/// A number as Go's `strconv.FormatFloat(number, 'g', -1, 64)` writes it.
pub fn go_float(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if !(-4..6).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    format!("{number}")
}

#[cfg(test)]
#[expect(clippy::expect_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_go_writes_them() {
        let expected = [
            (0.0, "0"),
            (3.0, "3"),
            (20_000.0, "20000"),
            (67_108_864.0, "6.7108864e+07"),
            (1_000_000.0, "1e+06"),
            (0.001, "0.001"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (524_415_259.0, "5.24415259e+08"),
            (f64::INFINITY, "+Inf"),
        ];
        for (number, text) in expected {
            assert_eq!(go_float(number), text);
        }
    }

    #[test]
    fn a_metric_is_where_its_name_says() {
        for (at, (metric, family)) in FAMILIES.iter().enumerate() {
            assert_eq!(*metric as usize, at, "{}", family.name);
            assert!(family.labels.is_sorted(), "{}", family.name);
        }
        let names = FAMILIES.iter().map(|(_, family)| family.name);
        assert!(names.is_sorted());
    }

    #[test]
    fn a_value_counts_in_every_bucket_whose_bound_it_does_not_exceed() {
        let registry = Registry::default();
        registry.observe(Metric::PreemptionVictims, &[], 2.0);
        registry.observe(Metric::PreemptionVictims, &[], 100.0);
        let text = registry.text(|family| family.name == "scheduler_preemption_victims");
        let lines: Vec<&str> = text.lines().skip(2).collect();
        let bucket =
            |bound: &str, n: u64| format!("scheduler_preemption_victims_bucket{{le=\"{bound}\"}} {n}");
        let head = [bucket("1", 0), bucket("2", 1), bucket("4", 1)];
        assert_eq!(lines.get(..3).expect("three buckets"), head);
        let tail = [
            bucket("64", 1),
            bucket("+Inf", 2),
            "scheduler_preemption_victims_sum 102".to_owned(),
            "scheduler_preemption_victims_count 2".to_owned(),
        ];
        assert_eq!(lines.get(6..).expect("four lines more"), tail);
    }

    /// The list was made from what kube-scheduler v1.36.3 printed after it had bound, turned down and preempted pods, and
    /// from its own list of metrics.
    #[test]
    fn names_kinds_labels_buckets_and_texts_are_those_of_the_real_scheduler_or_it_is_said_why_not() {
        let list = include_str!("../../../tests/data/metrics-v1.36.3.txt");
        let documentation = include_str!("../../../docs/metrics.md");
        let (_, left_out) = documentation.split_once("## What is left out").expect("the part is there");
        let is_left_out = |name: &str| left_out.contains(&format!("| `{name}` |"));
        let mut lines = list.lines().filter(|line| !line.starts_with('#'));
        let (mut n, mut n_left_out, mut promised) = (0, 0, Vec::new());
        while let (Some(line), Some(help)) = (lines.next(), lines.next()) {
            let name = line.split(' ').next().unwrap_or_default();
            let found = FAMILIES.iter().map(|(_, family)| family).find(|family| family.name == name);
            let Some(family) = found else {
                assert!(is_left_out(name), "{name} is missing, and docs/metrics.md does not say why");
                n_left_out += 1;
                if line.contains(" STABLE ") || line.contains(" BETA ") {
                    promised.push(name);
                }
                continue;
            };
            assert!(!is_left_out(name), "{name} is not left out");
            let or_none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
            let buckets = match family.kind {
                Kind::Histogram(bounds) => {
                    let bounds = bounds.iter().map(|bound| go_float(*bound));
                    bounds.chain(["+Inf".to_owned()]).collect::<Vec<_>>().join(",")
                }
                Kind::Counter | Kind::Gauge => String::new(),
            };
            let ours = format!(
                "{name} {} {} labels={} buckets={}",
                family.kind.as_str(),
                or_none(family.stability.as_str().to_owned()),
                or_none(family.labels.join(",")),
                or_none(buckets)
            );
            assert_eq!(ours, line);
            assert_eq!(family.help.trim(), help.trim(), "{name}");
            n += 1;
        }
        assert_eq!(n, FAMILIES.len(), "a metric is here that kube-scheduler has not");
        assert_eq!(left_out.matches("\n| `").count(), n_left_out, "of what is left out, all is in the list");
        // None of these says anything about a scheduler.
        let unsaid = [
            "apiserver_validation_declarative_validation_mismatch_total",
            "apiserver_validation_declarative_validation_panic_total",
            "running_managed_controllers",
        ];
        assert_eq!(promised, unsaid);
    }

    #[test]
    fn a_series_is_found_by_what_its_labels_say_and_not_by_where_they_lie() {
        let registry = Registry::default();
        let mut label = String::from("one");
        for text in ["one", "two", "one", "six"] {
            // At the same address.
            label.clear();
            label.push_str(text);
            registry.add(Metric::ScheduleAttemptsTotal, &[&label, "scheduled"], 1.0);
        }
        let get = |text| registry.get(Metric::ScheduleAttemptsTotal, &[text, "scheduled"]);
        assert_eq!((get("one"), get("two"), get("six")), (2.0, 1.0, 1.0));
    }

    #[test]
    fn labels_are_escaped() {
        let registry = Registry::default();
        registry.add(Metric::ScheduleAttemptsTotal, &["a\"b\\c\nd", "scheduled"], 1.0);
        let text = registry.text(|family| family.name == "scheduler_schedule_attempts_total");
        let line = text.lines().last().unwrap_or_default();
        let expected = r#"scheduler_schedule_attempts_total{profile="a\"b\\c\nd",result="scheduled"} 1"#;
        assert_eq!(line, expected);
    }
}
