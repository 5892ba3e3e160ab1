//! Scores in words: raw, normalized, weighted, and the formula where it gives exactly the plugin's numbers.
//!
//! The formulas are upstream's (`noderesources`, `imagelocality`, `tainttoleration`, `nodeaffinity`,
//! `helper.DefaultNormalizeScore`). A profile can configure others, and this module does not see the
//! configuration: so a formula is shown only if it reproduces the raw scores of every node of the attempt.

use std::sync::Arc;

use crate::api::objects::TaintEffect;
use crate::framework::resource::{Resource, names as resources};
use crate::framework::runtime::PluginScores;
use crate::framework::{Asked, Code, MAX_NODE_SCORE, NodeInfo, PodInfo};
use crate::plugins::dynamic_resources::explain_points;
use crate::scheduler::trace::{CycleTrace, ScoreTrace};

use super::amount::{bytes_short, comparable};
use super::cell::{CellExplanation, asked};
use super::selectors::{describe_term, first_mismatch, tolerates};
use super::{counted, names, placement, volumes};

const MI: i64 = 1 << 20;
/// Below this sum an image counts for nothing (`minThreshold`).
const IMAGE_MIN: i64 = 23 * MI;
/// Above this sum for each container more bytes count for nothing (`maxContainerThreshold`).
const IMAGE_MAX_PER_CONTAINER: i64 = 1000 * MI;

pub(super) fn cell(trace: &CycleTrace, node: &NodeInfo, plugin: &str) -> CellExplanation {
    let Some(score) = &trace.score else { return CellExplanation::not_asked(no_scores(trace)) };
    if score.skipped.contains(plugin) {
        return CellExplanation {
            code: Some(Code::Skip),
            ..CellExplanation::not_asked(format!("{plugin} skipped: {}.", skip_reason(plugin)))
        };
    }
    let Some(scores) = score.scores.plugins.iter().find(|scores| scores.plugin == plugin) else {
        return CellExplanation::not_asked(format!("{plugin} does not score in this profile."));
    };
    let index = score.nodes.iter().position(|name| name == node.name());
    let Some((index, raw, normalized)) = index.and_then(|index| {
        Some((index, scores.raw.get(index).copied()?, scores.normalized.get(index).copied()?))
    }) else {
        return CellExplanation::not_asked("Not scored: the node did not pass the filters.");
    };
    let weighted = normalized.saturating_mul(scores.weight);
    let normalizing = if raw == normalized { String::new() } else { format!("{raw} raw, ") };
    let sentence = format!(
        "{normalizing}{normalized} of {MAX_NODE_SCORE}, times weight {} = {}. {}",
        scores.weight,
        counted_points(weighted),
        rank(score, scores, normalized)
    );
    let mut arithmetic = formula(trace, score, scores, node);
    arithmetic.extend(normalization(scores, index));
    CellExplanation::new(Code::Success, sentence).with_arithmetic(arithmetic)
}

fn counted_points(points: i64) -> String {
    if points == 1 { String::from("1 point") } else { format!("{points} points") }
}

/// Where the node stands among the others.
fn rank(score: &ScoreTrace, scores: &PluginScores, normalized: i64) -> String {
    let best = scores.normalized.iter().copied().max().unwrap_or(normalized);
    let n_best = scores.normalized.iter().filter(|score| **score == best).count();
    if scores.normalized.iter().all(|other| *other == normalized) {
        return String::from("All nodes have the same.");
    }
    if normalized == best {
        return match n_best {
            1 => String::from("No node has as much."),
            2 => String::from("1 other node has as much, none more."),
            n => format!("{} other nodes have as much, none more.", n - 1),
        };
    }
    let leader = scores.normalized.iter().position(|score| *score == best);
    match leader.and_then(|leader| score.nodes.get(leader)) {
        Some(name) if n_best == 1 => format!("{name} has the most: {}.", best.saturating_mul(scores.weight)),
        _ => format!("{} have the most: {}.", counted(n_best, "node"), best.saturating_mul(scores.weight)),
    }
}

/// Why there are no scores in an attempt.
pub fn no_scores(trace: &CycleTrace) -> String {
    match &trace.filter {
        Some(filter) if trace.next.is_none() || trace.selection.is_some() => match filter.n_feasible() {
            0 => String::from("Not scored: no node passed the filters."),
            1 => String::from("Not scored: only one node passed the filters."),
            _ if filter.nominated_node.is_some() => {
                String::from("Not scored: the nominated node passed the filters and is taken at once.")
            }
            _ => String::from("Not scored: the profile has no score plugins."),
        },
        _ => String::from("Score has not run yet."),
    }
}

fn skip_reason(plugin: &str) -> &'static str {
    match plugin {
        names::NODE_AFFINITY => "the pod prefers no nodes and the profile adds no preference",
        names::BALANCED_ALLOCATION => "the pod requests none of the resources that it balances",
        "InterPodAffinity" => "neither the pod nor any pod that runs here has a preference about the other",
        "PodTopologySpread" => "the pod has no constraint that only prefers nodes",
        "VolumeBinding" => "the pod has no volume whose capacity would count",
        _ => "it had nothing to compare for this pod",
    }
}

/// How the raw score came about; empty if that cannot be said for certain.
fn formula(trace: &CycleTrace, score: &ScoreTrace, scores: &PluginScores, node: &NodeInfo) -> Vec<String> {
    let pod = &trace.pod_info;
    let raw = score.nodes.iter().position(|name| name == node.name()).and_then(|at| scores.raw.get(at));
    if let (Some(own), Some(raw)) = (trace.explainers.get(scores.plugin), raw) {
        return own.explain_score(&Asked { state: &trace.cycle_state, ..asked(trace, node) }, *raw);
    }
    match (scores.plugin, raw) {
        (names::POD_TOPOLOGY_SPREAD, Some(raw)) => {
            return placement::spread_score(trace, node, *raw).unwrap_or_default();
        }
        (names::INTER_POD_AFFINITY, Some(raw)) => {
            return placement::affinity_score(trace, node, *raw).unwrap_or_default();
        }
        (names::VOLUME_BINDING, Some(raw)) => return volumes::score(trace, node, *raw),
        (names::DYNAMIC_RESOURCES, Some(raw)) => return alternatives(trace, node, *raw),
        _ => {}
    }
    let candidates: &[Formula] = match scores.plugin {
        names::FIT => &[least_allocated, most_allocated],
        names::BALANCED_ALLOCATION => &[balanced_allocation],
        names::IMAGE_LOCALITY => &[image_locality],
        names::TAINT_TOLERATION => &[intolerable_taints],
        names::NODE_AFFINITY => &[preferred_terms],
        _ => &[],
    };
    let reproduces = |formula: &&Formula| {
        let mut nodes = InOrder { trace, next: 0 };
        score.nodes.iter().zip(&scores.raw).all(|(name, raw)| {
            nodes.get(name).is_some_and(|node| formula(trace, pod, node, &mut Lines::NotWanted) == *raw)
        })
    };
    let mut lines = Lines::Wanted(Vec::new());
    if let Some(formula) = candidates.iter().find(reproduces) {
        formula(trace, pod, node, &mut lines);
    }
    match lines {
        Lines::Wanted(lines) => lines,
        Lines::NotWanted => Vec::new(),
    }
}

/// Which alternatives of requests the node gives, and the points for each; empty if that does not lead to its points.
fn alternatives(trace: &CycleTrace, node: &NodeInfo, raw: i64) -> Vec<String> {
    let Some(given) = explain_points(&trace.cycle_state, node.name()) else { return Vec::new() };
    if given.iter().map(|given| given.points).sum::<i64>() != raw {
        return Vec::new();
    }
    if given.is_empty() {
        return vec!["No request of the pod's claims has alternatives: 0 points on every node.".to_owned()];
    }
    let mut lines: Vec<String> = given
        .iter()
        .map(|given| {
            let place = given.place + 1;
            format!(
                "claim {}: {} is alternative {place}, 8 - {} = {}",
                given.claim, given.request, given.place, given.points
            )
        })
        .collect();
    if given.len() > 1 {
        lines.push(format!("together {raw}"));
    }
    lines
}

/// Finds nodes by name, fast if they are asked for in about the order of the snapshot.
struct InOrder<'t> {
    trace: &'t CycleTrace,
    next: usize,
}

impl<'t> InOrder<'t> {
    fn get(&mut self, name: &str) -> Option<&'t NodeInfo> {
        const N_TRIED: usize = 16;
        let nodes = self.trace.nodes();
        let near = nodes.iter().skip(self.next).take(N_TRIED).position(|node| node.name().as_ref() == name);
        let position = match near {
            Some(ahead) => self.next + ahead,
            None => self.trace.snapshot.position(name)?,
        };
        self.next = position + 1;
        nodes.get(position).map(AsRef::as_ref)
    }
}

/// A formula: computes a raw score, and says how if that is wanted.
type Formula = fn(&CycleTrace, &Arc<PodInfo>, &NodeInfo, &mut Lines) -> i64;

/// The lines that lead to a number. They are made for one node; for the others the number alone is compared.
enum Lines {
    NotWanted,
    Wanted(Vec<String>),
}

impl Lines {
    fn add(&mut self, line: impl FnOnce() -> String) {
        if let Self::Wanted(lines) = self {
            lines.push(line());
        }
    }
}

/// A resource as the scoring strategies see it: what is asked for with and without the pod, and what there is.
struct Share {
    resource: &'static str,
    without_pod: i64,
    with_pod: i64,
    allocatable: i64,
}

/// CPU and memory, the resources that the default configuration scores; those that the node lacks are left out.
fn shares(pod: &PodInfo, node: &NodeInfo, assume_defaults: bool) -> impl Iterator<Item = Share> + Clone {
    let used: &Resource = if assume_defaults { node.non_zero_requested() } else { node.requested() };
    let requests = &pod.resources.requests;
    let (cpu, memory) = if assume_defaults {
        (pod.resources.non_zero_milli_cpu, pod.resources.non_zero_memory)
    } else {
        (requests.milli_cpu, requests.memory)
    };
    let there = node.allocatable();
    [
        (resources::CPU, used.milli_cpu, cpu, there.milli_cpu),
        (resources::MEMORY, used.memory, memory, there.memory),
    ]
    .into_iter()
    .filter(|(.., allocatable)| *allocatable > 0)
    .map(|(resource, used, wanted, allocatable)| Share {
        resource,
        without_pod: used,
        with_pod: used.saturating_add(wanted),
        allocatable,
    })
}

fn least_allocated(_: &CycleTrace, pod: &Arc<PodInfo>, node: &NodeInfo, lines: &mut Lines) -> i64 {
    let value =
        |share: &Share| scaled(share.allocatable.saturating_sub(share.with_pod).max(0), share.allocatable);
    mean_of_shares("least allocated", shares(pod, node, true), lines, value, |share| {
        let shown = comparable(share.resource, &[share.allocatable, share.with_pod]);
        let [there, used] = shown.as_slice() else { return String::new() };
        format!("{}: ({there} - {used}) x 100 / {there}", share.resource)
    })
}

fn most_allocated(_: &CycleTrace, pod: &Arc<PodInfo>, node: &NodeInfo, lines: &mut Lines) -> i64 {
    let value = |share: &Share| scaled(share.with_pod.min(share.allocatable), share.allocatable);
    mean_of_shares("most allocated", shares(pod, node, true), lines, value, |share| {
        let shown = comparable(share.resource, &[share.allocatable, share.with_pod.min(share.allocatable)]);
        let [there, used] = shown.as_slice() else { return String::new() };
        format!("{}: {used} x 100 / {there}", share.resource)
    })
}

fn mean_of_shares(
    strategy: &str,
    shares: impl Iterator<Item = Share> + Clone,
    lines: &mut Lines,
    score: impl Fn(&Share) -> i64,
    say: impl Fn(&Share) -> String,
) -> i64 {
    let (mut sum, mut n) = (0_i64, 0_i64);
    for share in shares.clone() {
        lines.add(|| format!("{} = {}", say(&share), score(&share)));
        sum = sum.saturating_add(score(&share));
        n += 1;
    }
    let value = if n == 0 { 0 } else { sum / n };
    lines.add(|| {
        let values: Vec<String> = shares.map(|share| score(&share).to_string()).collect();
        format!("{strategy}: ({}) / {n} = {value}", values.join(" + "))
    });
    value
}

fn scaled(part: i64, whole: i64) -> i64 {
    let value = i128::from(part) * i128::from(MAX_NODE_SCORE) / i128::from(whole.max(1));
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn balanced_allocation(_: &CycleTrace, pod: &Arc<PodInfo>, node: &NodeInfo, lines: &mut Lines) -> i64 {
    let shares = shares(pod, node, false);
    let two = {
        let mut shares = shares.clone();
        shares.next().zip(shares.next())
    };
    let fraction = |share: &Share, amount: i64| (as_f64(amount) / as_f64(share.allocatable)).min(1.0);
    let balance = |amount: fn(&Share) -> i64| {
        // With two resources the standard deviation is half their distance, and with one it is 0.
        let deviation = match &two {
            Some((a, b)) => ((fraction(a, amount(a)) - fraction(b, amount(b))) / 2.0).abs(),
            None => 0.0,
        };
        truncated((1.0 - deviation) * 100.0)
    };
    let shown = |amount: fn(&Share) -> i64| {
        let percent = |share: &Share| fraction(share, amount(share)) * 100.0;
        let all: Vec<String> =
            shares.clone().map(|share| format!("{} {:.1}%", share.resource, percent(&share))).collect();
        all.join(", ")
    };
    let (with, without) = (balance(|share| share.with_pod), balance(|share| share.without_pod));
    let half = MAX_NODE_SCORE / 2;
    let value = half + (half + with - without) / 2;
    lines
        .add(|| format!("with the pod: {}; 100 - half the distance = {with}", shown(|share| share.with_pod)));
    lines.add(|| {
        format!("without it: {}; 100 - half the distance = {without}", shown(|share| share.without_pod))
    });
    lines.add(|| format!("{half} + ({half} + {with} - {without}) / 2 = {value}"));
    value
}

#[expect(clippy::cast_precision_loss, reason = "upstream divides in float64, too")]
const fn as_f64(amount: i64) -> f64 {
    amount as f64
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "upstream cuts off after the point; the value is 0 to 100"
)]
const fn truncated(value: f64) -> i64 {
    value as i64
}

fn image_locality(trace: &CycleTrace, pod: &Arc<PodInfo>, node: &NodeInfo, lines: &mut Lines) -> i64 {
    let spec = &pod.pod.spec;
    let n_nodes = trace.nodes().len().max(1);
    let mut sum: i64 = 0;
    let containers = spec.init_containers.iter().chain(&spec.containers);
    let volumes = spec.volumes.iter().filter_map(|volume| volume.get("image")?.get("reference")?.as_str());
    for image in containers.map(|container| container.image.as_ref()).chain(volumes) {
        let image = with_tag(image);
        let Some(state) = node.image_states().get(image.as_str()) else {
            lines.add(|| format!("{image} is not here"));
            continue;
        };
        let spread = as_f64(i64::try_from(state.num_nodes).unwrap_or(i64::MAX))
            / as_f64(i64::try_from(n_nodes).unwrap_or(i64::MAX));
        let counted = truncated(as_f64(state.size) * spread);
        sum = sum.saturating_add(counted);
        lines.add(|| {
            let (size, of_nodes) = (bytes_short(state.size), super::counted(n_nodes, "node"));
            format!("{image}: {size} x {} of {of_nodes} = {}", state.num_nodes, bytes_short(counted))
        });
    }
    let n_containers = i64::try_from(spec.init_containers.len() + spec.containers.len()).unwrap_or(1).max(1);
    let max = IMAGE_MAX_PER_CONTAINER.saturating_mul(n_containers);
    let capped = sum.clamp(IMAGE_MIN, max);
    let value = scaled(capped - IMAGE_MIN, max - IMAGE_MIN);
    lines.add(|| format!("0 up to {}, 100 from {}: {value}", bytes_short(IMAGE_MIN), bytes_short(max)));
    value
}

/// An image's name as nodes report it: with a tag (`normalizedImageName`).
fn with_tag(image: &str) -> String {
    let has_tag = image.rfind(':').is_some_and(|colon| image.rfind('/').is_none_or(|slash| colon > slash));
    if has_tag { image.to_owned() } else { format!("{image}:latest") }
}

fn intolerable_taints(_: &CycleTrace, pod: &Arc<PodInfo>, node: &NodeInfo, lines: &mut Lines) -> i64 {
    let tolerations = &pod.pod.spec.tolerations;
    let taints = node.node().map_or(&[][..], |node| &node.spec.taints);
    let soft = taints.iter().filter(|taint| taint.effect == TaintEffect::PreferNoSchedule);
    let mut value = 0;
    for taint in soft {
        let is_covered = tolerations.iter().any(|toleration| tolerates(toleration, taint));
        if !is_covered {
            value += 1;
        }
        lines.add(|| {
            format!("{taint} is {}", if is_covered { "tolerated" } else { "not tolerated: counts 1" })
        });
    }
    value
}

fn preferred_terms(_: &CycleTrace, pod: &Arc<PodInfo>, node: &NodeInfo, lines: &mut Lines) -> i64 {
    let affinity = pod.pod.spec.affinity.as_ref().and_then(|affinity| affinity.node_affinity.as_ref());
    let mut value = 0;
    for preferred in affinity.map_or(&[][..], |affinity| &affinity.preferred) {
        let missing = node.node().and_then(|node| first_mismatch(&preferred.preference, node));
        if missing.is_none() {
            value += i64::from(preferred.weight);
        }
        lines.add(|| {
            let term = describe_term(&preferred.preference);
            match &missing {
                None => format!("{term}: {}", preferred.weight),
                Some(missing) => format!("{term}: 0, {}", missing.found),
            }
        });
    }
    value
}

/// How the normalized score came from the raw one, if it is upstream's common rule.
fn normalization(scores: &PluginScores, index: usize) -> Option<String> {
    if scores.raw == scores.normalized {
        return None;
    }
    let (raw, normalized) = (scores.raw.get(index)?, scores.normalized.get(index)?);
    let max = scores.raw.iter().copied().max()?.max(0);
    let all = |rule: &dyn Fn(i64) -> i64| {
        scores.raw.iter().zip(&scores.normalized).all(|(raw, normalized)| rule(*raw) == *normalized)
    };
    if max == 0 {
        return all(&|_| MAX_NODE_SCORE)
            .then(|| format!("normalized: nothing counts on any node, so all have {MAX_NODE_SCORE}"));
    }
    let min = scores.raw.iter().copied().min().unwrap_or_default();
    match scores.plugin {
        names::POD_TOPOLOGY_SPREAD if all(&|raw| MAX_NODE_SCORE * (max + min - raw) / max) => {
            return Some(format!(
                "normalized: 100 x ({max} (the highest) + {min} (the lowest) - {raw}) / {max} = {normalized}"
            ));
        }
        names::INTER_POD_AFFINITY if max > min => {
            return Some(format!(
                "normalized: 100 x ({raw} - {min} (the lowest)) / ({max} (the highest) - {min}) = {normalized}"
            ));
        }
        _ => {}
    }
    if all(&|raw| MAX_NODE_SCORE * raw / max) {
        return Some(format!("normalized: 100 x {raw} / {max} (the highest raw score) = {normalized}"));
    }
    if all(&|raw| MAX_NODE_SCORE - MAX_NODE_SCORE * raw / max) {
        return Some(format!("normalized: 100 - 100 x {raw} / {max} (the highest raw score) = {normalized}"));
    }
    None
}
