//! The search: sets of changes by their cost, asked about, then run.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use super::change::{Change, ChangeKind, edits, patched};
use super::outcome::effects;
use super::remedies::{Cx, Short, is_cured_by_empty_copy, pin_to, remedies, shortages, spelled};
use super::{Fix, FixError, FixProgress, FixQuestion, FixReport, additions};
use crate::api::objects::Pod;
use crate::api::{Duration, NamespacedName, Str};
use crate::driver::runner::run_watched;
use crate::driver::sandbox::simulator::Simulator;
use crate::driver::session::Edit;
use crate::framework::NodeInfo;
use crate::plugins::names;
use crate::scheduler::Scheduler;
use crate::scheduler::reading::{PodReading, Probe, Refusal};
use crate::scheduler::trace::CycleOutcome;
use crate::scheduler::weights::deciding_weights;

/// Why a search ended that somebody has ended.
const TIME_OVER: &str = "the time was over";
/// The same before there was anything to compare with.
const NOT_AT_REST: &str = "the time was over before the other pods that wait had come to rest";
/// How many plugins may refuse a node that is still thought of.
const N_REFUSALS: usize = 3;
/// How many sets of the same sorts are kept for different nodes.
const N_PER_SORT: usize = 4;
/// How many proven fixes of the same sorts are kept.
const N_PROVEN_PER_SORT: usize = 2;

/// Looks for what would let the pod run. `go_on` hears of every step and may end the search; what was proven by then is
/// kept.
///
/// # Errors
/// If there is nothing to look for.
pub fn find(
    start: &Simulator,
    question: &FixQuestion,
    go_on: &mut dyn FnMut(&FixProgress) -> ControlFlow<()>,
) -> Result<FixReport, FixError> {
    let pod = known(start.scheduler(), question)?;
    let start = &copy_of(start);
    let mut base = start.clone();
    let progress = FixProgress { n_runs: 1, ..FixProgress::default() };
    let is_at_rest = run_watched(&mut base, Duration::ZERO, &mut |_, _| go_on(&progress).is_continue());
    let mut report = FixReport {
        question: question.clone(),
        is_fine_on: None,
        message: String::new(),
        fixes: Vec::new(),
        progress,
        cut: None,
        tried: Vec::new(),
        unanswered: Vec::new(),
        too_large: Vec::new(),
    };
    if !is_at_rest {
        report.cut = Some(NOT_AT_REST);
    }
    let Some(at_rest) = base.api().objects().pods.get(&question.pod).cloned() else {
        return Err(FixError::NoPod(question.pod.clone()));
    };
    let is_where_wanted = question.onto.as_ref().is_none_or(|onto| at_rest.spec.node_name == *onto);
    if at_rest.is_assigned() && is_where_wanted {
        report.is_fine_on = Some(at_rest.spec.node_name.clone());
        return Ok(report);
    }
    // Where it got to another node than the one that is wanted, it is asked about before it got there.
    let asked = if at_rest.is_assigned() { start } else { &base };
    let subject = if at_rest.is_assigned() { Arc::clone(&pod) } else { at_rest };
    let mut search = Search {
        start,
        base: &base,
        question,
        pod: &pod,
        probe: asked.scheduler().probe(&subject),
        report,
        go_on,
    };
    let mut sets = search.sets(asked.scheduler(), &subject);
    sets.sort();
    search.report.progress.n_candidates = sets.len();
    if is_at_rest {
        search.try_all(sets);
    }
    let mut report = search.report;
    report.fixes.sort_by_key(|fix| (fix.cost, fix.changes.len(), fix.title()));
    Ok(report)
}

fn known(scheduler: &Scheduler, question: &FixQuestion) -> Result<Arc<Pod>, FixError> {
    let pod = scheduler.objects().pods.get(&question.pod);
    let pod = pod.ok_or_else(|| FixError::NoPod(question.pod.clone()))?;
    if let Some(onto) = question.onto.as_ref().filter(|onto| !scheduler.caches_node(onto)) {
        return Err(FixError::NoNode(onto.clone()));
    }
    if !scheduler.has_profile(&pod.spec.scheduler_name) {
        return Err(FixError::Ignored(question.pod.clone(), pod.spec.scheduler_name.clone()));
    }
    if pod.is_assigned() && question.onto.as_ref().is_none_or(|onto| pod.spec.node_name != *onto) {
        return Err(FixError::Placed(question.pod.clone(), pod.spec.node_name.clone()));
    }
    Ok(Arc::clone(pod))
}

/// A copy that is run and thrown away: nobody looks at evidence.
fn copy_of(simulator: &Simulator) -> Simulator {
    let mut copy = simulator.clone();
    copy.leave_recording();
    copy.scheduler_mut().set_tracing(false);
    copy
}

/// Changes that are tried together.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Set {
    cost: u32,
    changes: Vec<Change>,
    /// The node that it is meant for; empty where it is any.
    node: Str,
    n_alike: usize,
}

impl Set {
    fn of(changes: Vec<Change>, node: &Str) -> Self {
        // Something that is done twice is done once.
        let mut own: Vec<Change> = Vec::new();
        for change in changes {
            if !own.contains(&change) {
                own.push(change);
            }
        }
        let cost = own.iter().map(|change| change.cost).sum();
        Self { cost, changes: own, node: node.clone(), n_alike: 0 }
    }

    fn sorts(&self) -> Vec<ChangeKind> {
        let mut sorts: Vec<ChangeKind> = self.changes.iter().map(|change| change.kind).collect();
        sorts.sort_unstable();
        sorts
    }

    /// What it does, whatever the node.
    fn texts(&self) -> BTreeSet<&str> {
        self.changes.iter().map(|change| change.what.as_str()).collect()
    }
}

impl PartialOrd for Set {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Set {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |set: &Self| (set.cost, set.changes.len());
        key(self)
            .cmp(&key(other))
            .then_with(|| self.changes.iter().map(|c| &c.what).cmp(other.changes.iter().map(|c| &c.what)))
            .then_with(|| self.node.cmp(&other.node))
    }
}

/// Sets by their sorts, the cheapest few of each.
#[derive(Default)]
struct Sets {
    by_sort: BTreeMap<Vec<ChangeKind>, Vec<Set>>,
    n_by_sort: BTreeMap<Vec<ChangeKind>, usize>,
    /// What no change is known against, with on how many nodes.
    unanswered: BTreeMap<String, usize>,
}

impl Sets {
    fn leave_unanswered(&mut self, what: String) {
        *self.unanswered.entry(what).or_default() += 1;
    }

    fn add(&mut self, set: Set) {
        let kept = self.by_sort.entry(set.sorts()).or_default();
        if let Some(known) = kept.iter_mut().find(|known| known.texts() == set.texts()) {
            // The same changes help on several nodes.
            known.n_alike += 1;
            return;
        }
        *self.n_by_sort.entry(set.sorts()).or_default() += 1;
        let at = kept.partition_point(|known| *known < set);
        if at < N_PER_SORT {
            kept.insert(at, set);
            kept.truncate(N_PER_SORT);
        }
    }
}

struct Search<'a> {
    start: &'a Simulator,
    /// The same without any change, at rest.
    base: &'a Simulator,
    question: &'a FixQuestion,
    /// The pod as it is at the start.
    pod: &'a Arc<Pod>,
    probe: Probe,
    report: FixReport,
    go_on: &'a mut dyn FnMut(&FixProgress) -> ControlFlow<()>,
}

impl Search<'_> {
    /// Everything that is thought of.
    fn sets(&mut self, scheduler: &Scheduler, subject: &Arc<Pod>) -> Vec<Set> {
        let Some(reading) = scheduler.read_to_the_end(subject) else { return Vec::new() };
        self.report.message = match &reading.trace.outcome {
            CycleOutcome::Unschedulable { message, .. } | CycleOutcome::Error { message } => message.clone(),
            _ => scheduler.last_message(subject.uid()).map(ToString::to_string).unwrap_or_default(),
        };
        let cx = Cx {
            trace: &reading.trace,
            pod: subject,
            start: self.start.scheduler().objects(),
            objects: scheduler.objects(),
        };
        let mut sets = Sets::default();
        // What must be there in every set: a gated pod is not tried at all.
        let first: Vec<Change> = additions::remove_gates(subject).into_iter().collect();
        if !first.is_empty() {
            self.report.message = "the pod has scheduling gates".to_owned();
            sets.add(Set::of(first.clone(), &Str::from("")));
        }
        for change in additions::quorum(&cx) {
            sets.add(Set::of(first.iter().cloned().chain([change]).collect(), &Str::from("")));
        }
        if self.question.onto.is_some() {
            for set in self.by_points(scheduler, subject, &reading) {
                sets.add(set);
            }
        }
        self.by_node(&cx, &reading, &first, &mut sets);
        if self.question.onto.is_none() && may_preemption_help(&reading) {
            let change = additions::priority(&cx, &self.probe);
            sets.by_sort.entry(vec![ChangeKind::RaisePriority]).or_default().extend(
                change.map(|change| Set::of(first.iter().cloned().chain([change]).collect(), &Str::from(""))),
            );
        }
        let names =
            |sorts: &Vec<ChangeKind>| sorts.iter().map(|sort| sort.code()).collect::<Vec<_>>().join(" + ");
        let mut unanswered: Vec<(String, usize)> = std::mem::take(&mut sets.unanswered).into_iter().collect();
        unanswered.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        self.report.unanswered = unanswered;
        self.report.too_large = too_large(&cx);
        self.report.tried = sets.n_by_sort.iter().map(|(sorts, n)| (names(sorts), *n)).collect();
        sets.by_sort.into_values().flatten().collect()
    }

    fn by_node(&self, cx: &Cx<'_>, reading: &PodReading, first: &[Change], sets: &mut Sets) {
        let mut shapes: BTreeSet<String> = BTreeSet::new();
        for node in &reading.nodes {
            if self.question.onto.as_ref().is_some_and(|onto| *onto != node.node) {
                continue;
            }
            let Some(info) = reading.trace.snapshot.get(&node.node) else { continue };
            let pin = self.question.onto.as_ref().and_then(|_| pin_to(cx.pod, info));
            if node.refusals.len() > N_REFUSALS {
                sets.leave_unanswered(format!("more than {N_REFUSALS} plugins that refuse a node"));
            }
            if node.refusals.len() <= N_REFUSALS && !node.refusals.is_empty() {
                let ways: Vec<Vec<Change>> =
                    node.refusals.iter().map(|refusal| remedies(cx, info, refusal)).collect();
                for (refusal, _) in node.refusals.iter().zip(&ways).filter(|(_, way)| way.is_empty()) {
                    let reasons = refusal.status.reasons().join(", ");
                    sets.leave_unanswered(format!("{}: {reasons}", refusal.plugin));
                }
                for changes in combinations(&ways) {
                    let changes: Vec<Change> = first.iter().cloned().chain(changes).collect();
                    if let Some(pin) = &pin {
                        let pinned = changes.iter().cloned().chain([pin.clone()]).collect();
                        sets.add(Set::of(pinned, &node.node));
                    }
                    sets.add(Set::of(changes, &node.node));
                }
            } else if node.refusals.is_empty()
                && let Some(pin) = pin
            {
                sets.add(Set::of(first.iter().cloned().chain([pin]).collect(), &node.node));
            }
            if self.question.onto.is_none()
                && !node.refusals.is_empty()
                && shapes.insert(additions::shape(info))
            {
                self.by_copy(cx, info, &node.refusals, first, sets);
            }
        }
    }

    /// A copy of the node, with what would still refuse it.
    fn by_copy(&self, cx: &Cx<'_>, info: &NodeInfo, refusals: &[Refusal], first: &[Change], sets: &mut Sets) {
        let left: Vec<&Refusal> =
            refusals.iter().filter(|refusal| !is_cured_by_empty_copy(refusal)).collect();
        if left.len() >= N_REFUSALS {
            return;
        }
        let Some(copy) = additions::node_like(cx, info) else { return };
        let of_pod = |refusal: &&Refusal| -> Vec<Change> {
            let all = remedies(cx, info, refusal);
            all.into_iter().filter(|change| !change.ops().is_empty()).collect()
        };
        let ways: Vec<Vec<Change>> = left.iter().map(of_pod).collect();
        for changes in combinations(&ways) {
            let changes = first.iter().cloned().chain([copy.clone()]).chain(changes).collect();
            sets.add(Set::of(changes, &Str::from("")));
        }
    }

    /// Weights with which the wanted node would have most points.
    fn by_points(&self, scheduler: &Scheduler, subject: &Arc<Pod>, reading: &PodReading) -> Vec<Set> {
        let Some(onto) = &self.question.onto else { return Vec::new() };
        let Some(Ok(scores)) = scheduler.read(subject, Some(onto)).and_then(|pair| pair.scores) else {
            return Vec::new();
        };
        let fits = reading.nodes.iter().any(|node| node.node == *onto && node.refusals.is_empty());
        if !fits {
            return Vec::new();
        }
        let weights = deciding_weights(&scores.outcome, scores.at);
        let sets = weights.into_iter().filter(|(_, _, then)| *then > 0).map(|(plugin, now, then)| {
            let edits = vec![Edit::Weight { plugin: plugin.into(), weight: then }];
            let command =
                format!("# KubeSchedulerConfiguration: weight {then} in place of {now} for {plugin}");
            let what = format!("give {plugin} weight {then} in place of {now}");
            Set::of(vec![Change::of_cluster(ChangeKind::SetWeight, what, 5, edits, vec![command])], onto)
        });
        sets.collect()
    }

    fn tell(&mut self) -> bool {
        if (self.go_on)(&self.report.progress).is_break() {
            self.report.cut = Some(TIME_OVER);
        }
        self.report.cut.is_some()
    }

    fn try_all(&mut self, sets: Vec<Set>) {
        let mut n_by_sort: BTreeMap<Vec<ChangeKind>, usize> = BTreeMap::new();
        for set in sets {
            if self.report.fixes.len() >= self.question.n_wanted {
                return;
            }
            if self.report.progress.n_runs >= self.question.n_runs_max {
                self.report.cut = Some("the number of runs was over");
                return;
            }
            if self.tell() {
                return;
            }
            let has_smaller = self.report.fixes.iter().any(|fix| {
                fix.changes.iter().all(|change| set.changes.iter().any(|own| own.what == change.what))
            });
            if has_smaller || n_by_sort.get(&set.sorts()).is_some_and(|n| *n >= N_PROVEN_PER_SORT) {
                continue;
            }
            self.report.progress.n_asked += 1;
            if !self.is_promising(&set) {
                continue;
            }
            self.report.progress.n_runs += 1;
            if let Some(fix) = self.prove(&set) {
                *n_by_sort.entry(set.sorts()).or_default() += 1;
                self.report.progress.n_proven += 1;
                self.report.fixes.push(fix);
            }
        }
    }

    /// Asks the plugins about the pod as it would be, where only the pod changes.
    fn is_promising(&self, set: &Set) -> bool {
        let is_pod_alone = set.changes.iter().all(|change| !change.ops().is_empty());
        if !is_pod_alone || set.node.is_empty() {
            return true;
        }
        let Some(pod) = patched(self.pod, &set.changes) else { return false };
        self.probe.ask(&Arc::new(pod), &set.node).is_some_and(|refusals| refusals.is_empty())
    }

    /// Does it in a copy and lets that run.
    fn prove(&mut self, set: &Set) -> Option<Fix> {
        let edits = edits(self.pod, &set.changes)?;
        let mut copy = self.start.clone();
        for edit in &edits {
            copy.edit(edit).ok()?;
        }
        let (go_on, progress) = (&mut self.go_on, &self.report.progress);
        if !run_watched(&mut copy, Duration::ZERO, &mut |_, _| go_on(progress).is_continue()) {
            self.report.cut = Some(TIME_OVER);
            return None;
        }
        let node = node_of(&copy, &self.question.pod)?;
        if self.question.onto.as_ref().is_some_and(|onto| *onto != node) {
            return None;
        }
        let effects = effects(self.start, self.base, &copy, &self.question.pod);
        let n_asked: usize = set.changes.iter().map(|change| change.evicts.len()).sum();
        let cost = set.cost.saturating_add(effects.cost(n_asked));
        Some(Fix { changes: set.changes.clone(), cost, node, effects, edits, n_alike: set.n_alike })
    }
}

/// Resources of which the pod asks for more than any node has.
fn too_large(cx: &Cx<'_>) -> Vec<String> {
    let empty = |node: &Arc<NodeInfo>| node.node().map(|node| NodeInfo::with_node(Arc::clone(node)));
    let nodes: Vec<Vec<Short>> =
        cx.trace.nodes().iter().filter_map(empty).map(|node| shortages(cx.info(), &node)).collect();
    let Some(first) = nodes.first() else { return Vec::new() };
    let told = first.iter().filter_map(|short| {
        let most = nodes.iter().map(|node| {
            let of_node = node.iter().find(|other| other.resource == short.resource);
            of_node.map(|other| other.allocatable)
        });
        // A node without a shortage has enough.
        let most = most.collect::<Option<Vec<i64>>>()?.into_iter().max()?;
        let resource = &short.resource;
        let most = if most > 0 { format!("more than {}", spelled(resource, most)) } else { "any".to_owned() };
        Some(format!("It asks for {resource} {}, and no node has {most}", spelled(resource, short.requested)))
    });
    told.collect()
}

fn node_of(simulator: &Simulator, pod: &NamespacedName) -> Option<Str> {
    let pod = simulator.api().objects().pods.get(pod)?;
    pod.is_assigned().then(|| pod.spec.node_name.clone())
}

fn may_preemption_help(reading: &PodReading) -> bool {
    let is_in_profile = |plugin: &str| plugin == names::DEFAULT_PREEMPTION;
    reading
        .trace
        .post_filter
        .as_ref()
        .is_some_and(|post_filter| post_filter.verdicts.iter().any(|verdict| is_in_profile(verdict.plugin)))
}

/// One of each, in every way.
fn combinations(ways: &[Vec<Change>]) -> Vec<Vec<Change>> {
    let mut all: Vec<Vec<Change>> = vec![Vec::new()];
    for way in ways {
        all = all
            .iter()
            .flat_map(|set| {
                way.iter().map(move |change| set.iter().cloned().chain([change.clone()]).collect())
            })
            .collect();
    }
    all
}
