//! Two recordings side by side: which pods landed elsewhere, why, what each node got, how long pods waited.
//!
//! Where pods are is read from the inputs alone. For the pods that differ both recordings are played once more with
//! evidence, and their scores on the two nodes are kept. Pods are told apart by namespace and name, so recordings of
//! different sessions on the same cluster can be compared.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;
use std::sync::Arc;

use super::check::{Replay, ReplayError};
use super::reader::{ReadError, RecordingReader, places_gone_back_to};
use super::record::Record;
use crate::api::{Duration, Kind, NamespacedName, Object, ObjectStore, Str, Time};
use crate::framework::PodInfo;
use crate::framework::runtime::Registry;
use crate::scheduler::effect::EffectKind;
use crate::scheduler::input::Input;
use crate::scheduler::trace::{CycleTrace, NodeVerdict, SelectionReason};

/// Where a pod that waited ended in a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The node that it came to.
    pub node: Option<Str>,
    /// Whether it was deleted.
    pub is_gone: bool,
    /// How long it waited for a node; up to the end of the recording if it got none.
    pub waited: Duration,
    /// What was said of it last, if it has no node.
    pub message: String,
}

/// The points of a node in an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodePoints {
    /// The sum, if nodes were scored.
    pub total: Option<i64>,
    /// Weighted points of each plugin and extender, in order.
    pub plugins: Vec<(String, i64)>,
}

/// What became of a node in an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It passed the filters.
    Feasible(NodePoints),
    /// A plugin turned it down.
    Rejected {
        /// The plugin.
        plugin: String,
        /// Its reasons.
        reason: String,
    },
    /// The attempt ended before it was looked at.
    NotLookedAt,
    /// PreFilter had left it out.
    Excluded,
    /// It was not there.
    NotThere,
}

/// The attempt that brought a pod to its node, or failed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Its number.
    pub cycle: u64,
    /// Why that node was chosen, if one was.
    pub selection: Option<SelectionReason>,
    /// How the node that was chosen here stood.
    pub here: Option<Standing>,
    /// How the node that was chosen in the other recording stood.
    pub there: Option<Standing>,
}

/// A pod that ended in one place in one recording and in another in the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The pod.
    pub pod: NamespacedName,
    /// In the first recording; absent if it is not in it.
    pub a: Option<Ending>,
    /// In the second one.
    pub b: Option<Ending>,
    /// Why it ended there in the first one, as far as that is known.
    pub why_a: Option<Reason>,
    /// Why it ended there in the second one.
    pub why_b: Option<Reason>,
}

/// What is on a node at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct NodeLoad {
    /// Pods.
    pub pods: u64,
    /// Thousandths of a core that they ask for.
    pub milli_cpu: i64,
    /// Bytes that they ask for.
    pub memory: i64,
}

/// How long pods waited for a node that got one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Waits {
    /// How many they are.
    pub n: usize,
    /// Half of them waited no longer.
    pub median: Duration,
    /// 95 of 100 waited no longer.
    pub p95: Duration,
    /// The longest wait.
    pub max: Duration,
    /// How many got none.
    pub n_without: usize,
}

/// Two recordings side by side.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Comparison {
    /// Pods that ended alike.
    pub n_equal: usize,
    /// Pods that did not, by name.
    pub moved: Vec<Moved>,
    /// Nodes on which the two end differently, by name.
    pub nodes: Vec<(Str, NodeLoad, NodeLoad)>,
    /// How long pods waited in each.
    pub waits: (Waits, Waits),
}

/// Opens a recording anew.
pub type Open<'a, R> = &'a mut dyn FnMut() -> Result<R, ReadError>;

/// Compares two recordings. One that was cut off is taken as far as it goes.
///
/// # Errors
/// If one of them cannot be read, or this build can make no scheduler of it.
pub fn compare<R: BufRead>(
    open_a: Open<'_, R>,
    open_b: Open<'_, R>,
    registry: &Registry,
) -> Result<Comparison, ReplayError> {
    let (a, b) = (Course::read(open_a)?, Course::read(open_b)?);
    let mut comparison = Comparison { waits: (a.waits(), b.waits()), ..Comparison::default() };
    let pods: BTreeSet<&NamespacedName> = a.pods.keys().chain(b.pods.keys()).collect();
    for pod in pods {
        let ending = |course: &Course| course.pods.get(pod).map(|pod| pod.ending(course.last));
        let (ending_a, ending_b) = (ending(&a), ending(&b));
        let place = |ending: &Option<Ending>| ending.as_ref().map(|ending| ending.node.clone());
        if place(&ending_a) == place(&ending_b) {
            comparison.n_equal += 1;
        } else {
            let pod = (*pod).clone();
            comparison.moved.push(Moved { pod, a: ending_a, b: ending_b, why_a: None, why_b: None });
        }
    }
    let (loads_a, loads_b) = (a.loads(), b.loads());
    let nodes: BTreeSet<&Str> = loads_a.keys().chain(loads_b.keys()).collect();
    for node in nodes {
        let load = |loads: &BTreeMap<Str, NodeLoad>| loads.get(node).copied().unwrap_or_default();
        if load(&loads_a) != load(&loads_b) {
            comparison.nodes.push((node.clone(), load(&loads_a), load(&loads_b)));
        }
    }
    if !comparison.moved.is_empty() {
        let node = |ending: &Option<Ending>| ending.as_ref().and_then(|ending| ending.node.clone());
        let here: BTreeMap<NamespacedName, (Option<Str>, Option<Str>)> = comparison
            .moved
            .iter()
            .map(|moved| (moved.pod.clone(), (node(&moved.a), node(&moved.b))))
            .collect();
        let there = here.iter().map(|(pod, (a, b))| (pod.clone(), (b.clone(), a.clone()))).collect();
        let mut reasons_a = reasons(open_a, registry, &here)?;
        let mut reasons_b = reasons(open_b, registry, &there)?;
        for moved in &mut comparison.moved {
            moved.why_a = reasons_a.remove(&moved.pod);
            moved.why_b = reasons_b.remove(&moved.pod);
        }
    }
    Ok(comparison)
}

/// What the inputs of a recording say of a pod that had to wait.
#[derive(Clone, Debug)]
struct Waited {
    since: Time,
    node: Option<(Str, Time)>,
    gone_at: Option<Time>,
    message: String,
}

impl Waited {
    fn ending(&self, last: Time) -> Ending {
        let until = self.node.as_ref().map(|(_, at)| *at).or(self.gone_at).unwrap_or(last);
        Ending {
            node: self.node.as_ref().map(|(node, _)| node.clone()),
            is_gone: self.gone_at.is_some(),
            waited: until - self.since,
            message: self.message.clone(),
        }
    }
}

/// What the inputs of a recording say.
#[derive(Clone, Debug, Default)]
struct Course {
    pods: BTreeMap<NamespacedName, Waited>,
    objects: ObjectStore,
    last: Time,
}

impl Course {
    /// Reads a recording. Where it goes back, what came after that place does not count.
    fn read<R: BufRead>(open: Open<'_, R>) -> Result<Self, ReadError> {
        let places = places_gone_back_to(open()?)?;
        let mut reader = RecordingReader::new(open()?)?;
        let mut course = Self::default();
        let mut kept = BTreeMap::new();
        let mut number = 0;
        loop {
            if places.contains(&number) {
                kept.entry(number).or_insert_with(|| course.clone());
            }
            match reader.next_entry() {
                Ok(Some(entry)) => match entry.record {
                    Record::Input { at, input, .. } => {
                        number += 1;
                        course.input(at, *input);
                    }
                    Record::Rewind { input } => course = kept.get(&input).cloned().unwrap_or_default(),
                    _ => {}
                },
                Ok(None) | Err(ReadError::Cut { .. }) => return Ok(course),
                Err(error) => return Err(error),
            }
        }
    }

    fn input(&mut self, at: Time, input: Input) {
        self.last = at;
        match input {
            Input::Added(object) | Input::Updated { new: object, .. } => self.is_now(at, object),
            Input::Deleted(object) => {
                let key = object.key();
                if let (Kind::Pod, Some(pod)) = (object.kind(), self.pods.get_mut(&key)) {
                    pod.gone_at = Some(at);
                }
                self.objects.remove(object.kind(), &key);
            }
            _ => {}
        }
    }

    fn is_now(&mut self, at: Time, object: Object) {
        if let Object::Pod(pod) = &object {
            let waits = !pod.is_assigned() && !pod.is_terminal();
            let new = || Waited { since: at, node: None, gone_at: None, message: String::new() };
            if waits {
                let waited = self.pods.entry(pod.key()).or_insert_with(new);
                if waited.gone_at.is_some() {
                    *waited = new();
                }
                if let Some(condition) = pod.condition("PodScheduled") {
                    waited.message.clone_from(&condition.message);
                }
            } else if let Some(waited) = self.pods.get_mut(&pod.key())
                && waited.node.is_none()
                && pod.is_assigned()
            {
                waited.node = Some((pod.spec.node_name.clone(), at));
                waited.message.clear();
            }
        }
        self.objects.insert(object);
    }

    fn loads(&self) -> BTreeMap<Str, NodeLoad> {
        let mut loads: BTreeMap<Str, NodeLoad> = BTreeMap::new();
        let assigned = self.objects.pods.values().filter(|pod| pod.is_assigned() && !pod.is_terminal());
        for pod in assigned {
            let load = loads.entry(pod.spec.node_name.clone()).or_default();
            let info = PodInfo::new(Arc::clone(pod));
            load.pods += 1;
            load.milli_cpu = load.milli_cpu.saturating_add(info.resources.requests.milli_cpu);
            load.memory = load.memory.saturating_add(info.resources.requests.memory);
        }
        loads
    }

    fn waits(&self) -> Waits {
        let mut waits: Vec<Duration> =
            self.pods.values().filter_map(|pod| pod.node.as_ref().map(|(_, at)| *at - pod.since)).collect();
        waits.sort_unstable();
        let at = |percent: usize| {
            let rank = (waits.len() * percent).div_ceil(100).saturating_sub(1);
            waits.get(rank).copied().unwrap_or_default()
        };
        let n_without = self.pods.values().filter(|pod| pod.node.is_none() && pod.gone_at.is_none()).count();
        Waits { n: waits.len(), median: at(50), p95: at(95), max: at(100), n_without }
    }
}

/// Plays a recording with evidence. For each of the pods the reason of its last attempt is kept, with the standing of
/// two nodes: where it came to here, and there.
fn reasons<R: BufRead>(
    open: Open<'_, R>,
    registry: &Registry,
    pods: &BTreeMap<NamespacedName, (Option<Str>, Option<Str>)>,
) -> Result<BTreeMap<NamespacedName, Reason>, ReplayError> {
    let places = places_gone_back_to(open()?)?;
    let mut reader = RecordingReader::new(open()?)?;
    let mut replay = Replay::new(reader.header(), registry, true)?;
    let mut reasons = BTreeMap::new();
    let mut kept = BTreeMap::new();
    let mut number = 0;
    loop {
        if places.contains(&number) {
            kept.entry(number).or_insert_with(|| (replay.clone(), reasons.clone()));
        }
        let (at, input) = match reader.next_entry() {
            Ok(Some(entry)) => match entry.record {
                Record::Input { at, input, .. } => (at, input),
                Record::Rewind { input } => {
                    if let Some((then, known)) = kept.get(&input) {
                        replay = then.clone();
                        reasons = known.clone();
                    }
                    continue;
                }
                _ => continue,
            },
            Ok(None) | Err(ReadError::Cut { .. }) => return Ok(reasons),
            Err(error) => return Err(error.into()),
        };
        number += 1;
        replay.input(at, *input);
        let decided = replay.effects().iter().filter_map(|effect| match &effect.kind {
            EffectKind::Bind { pod, .. } | EffectKind::PatchPodStatus { pod, .. } => Some(pod),
            _ => None,
        });
        for pod in decided {
            let Some((here, there)) = pods.get(pod) else { continue };
            if let Some(trace) = replay.scheduler().trace_of(pod) {
                reasons.insert(pod.clone(), reason_of(trace, here.as_ref(), there.as_ref()));
            }
        }
    }
}

/// What an attempt has come to, and how two nodes stood in it: the one that counts here, and the one that counts there.
pub fn reason_of(trace: &CycleTrace, here: Option<&Str>, there: Option<&Str>) -> Reason {
    Reason {
        cycle: trace.number,
        selection: trace.selection.as_ref().map(|selection| selection.reason),
        here: here.map(|node| standing(trace, node)),
        there: there.map(|node| standing(trace, node)),
    }
}

fn standing(trace: &CycleTrace, node: &Str) -> Standing {
    let Some(index) = trace.nodes().iter().position(|info| info.name() == node) else {
        return Standing::NotThere;
    };
    let by_extenders = trace.filter.as_ref().and_then(|filter| filter.by_extenders.get(node));
    if let Some(status) = by_extenders {
        return Standing::Rejected {
            plugin: status.plugin().to_owned(),
            reason: status.reasons().join("; "),
        };
    }
    match trace.filter.as_ref().and_then(|filter| filter.verdicts.get(index)) {
        Some(NodeVerdict::Feasible) => Standing::Feasible(points(trace, node)),
        Some(NodeVerdict::Rejected(status)) => {
            Standing::Rejected { plugin: status.plugin().to_owned(), reason: status.reasons().join("; ") }
        }
        Some(NodeVerdict::Excluded) => Standing::Excluded,
        Some(NodeVerdict::NotEvaluated) | None => Standing::NotLookedAt,
    }
}

fn points(trace: &CycleTrace, node: &Str) -> NodePoints {
    let scored = trace.score.as_ref().and_then(|score| {
        let index = score.nodes.iter().position(|name| name == node)?;
        let plugins = score.scores.plugins.iter().filter_map(|plugin| {
            let points = plugin.normalized.get(index)?.saturating_mul(plugin.weight);
            Some((plugin.plugin.to_owned(), points))
        });
        let extenders =
            score.extenders.iter().filter_map(|(name, points)| Some((name.to_string(), *points.get(index)?)));
        Some(NodePoints {
            total: score.scores.totals.get(index).copied(),
            plugins: plugins.chain(extenders).collect(),
        })
    });
    scored.unwrap_or(NodePoints { total: None, plugins: Vec::new() })
}
