//! The branches of a session: where each left another and by what, and two of them side by side.
//!
//! To compare two branches both are gone along once more on copies, from where they part, and on from their ends until
//! nothing moves, so that what is known of one and not of the other makes no difference. Neither changes. What differs is
//! told pod by pod: the first attempt that went another way, and what the plugins said in it on both sides.

use std::collections::{BTreeMap, BTreeSet};

use super::history::{BranchId, History};
use super::phases::{each_attempt, in_phases};
use super::sandbox::ops::SimulatorOp;
use super::sandbox::simulator::Simulator;
use super::session::Edit;
use super::work::Work;
use crate::api::{Duration, NamespacedName, Str};
use crate::recording::{NodePoints, Reason, Standing, reason_of};
use crate::scheduler::trace::{CycleTrace, SelectionReason};

/// So many attempts are made beyond the end of a branch, at the most.
const ATTEMPTS_MAX: usize = 2_000;
/// So many differences are explained; the others are counted.
const EXPLAINED_MAX: usize = 200;

/// A branch as a person sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchView {
    /// Its number.
    pub number: usize,
    /// The branch that it left.
    pub parent: Option<usize>,
    /// Operations before it left.
    pub from: usize,
    /// Simulated time at which it left.
    pub from_elapsed: Duration,
    /// What was done otherwise then.
    pub change: String,
    /// Operations of its own.
    pub n_ops: usize,
    /// Pods bound, attempts that failed, and attempts, up to its end.
    pub totals: (u64, u64, u64),
}

/// A pod that went different ways.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The pod.
    pub pod: NamespacedName,
    /// Where it ended in each.
    pub ends: [PodEnd; 2],
    /// Which of its attempts, from 1, is the first that differs.
    pub attempt: usize,
    /// The cycle of that attempt and what was decided in it, in each; absent where there was none.
    pub decided: [Option<Decided>; 2],
}

/// Where a pod ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodEnd {
    /// It is on that node.
    On(Str),
    /// It has no node.
    Pending,
    /// It is not there.
    Gone,
}

/// What was decided in an attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The cycle.
    pub cycle: u64,
    /// The chosen node, if one was.
    pub node: Option<Str>,
    /// How that node stood, and that which the other branch took.
    pub reason: Option<Reason>,
}

/// Two branches side by side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchComparison {
    /// Their numbers.
    pub branches: [usize; 2],
    /// Operations before they part.
    pub parted_at: usize,
    /// Attempts that were made on copies beyond the end of each.
    pub beyond: [usize; 2],
    /// Pods that went the same way.
    pub n_equal: usize,
    /// Pods that did not, by name.
    pub differences: Vec<Difference>,
    /// Pods bound in each.
    pub bound: [u64; 2],
    /// Attempts that failed in each.
    pub failed: [u64; 2],
}

/// Every branch.
pub(super) fn views(history: &History<Simulator>) -> Vec<BranchView> {
    let start = history.machine().start();
    let parents: Vec<Option<(BranchId, usize)>> = history.branches().map(|(_, parent, _)| parent).collect();
    // A branch that was begun where another one begins has left the same one as that.
    let left = |mut parent: BranchId, at: usize| loop {
        match parents.get(parent.0).copied().flatten() {
            Some((before, first)) if at <= first => parent = before,
            Some(_) | None => return parent,
        }
    };
    history
        .branches()
        .map(|(id, parent, end)| {
            let from = parent.map_or(history.start(), |(_, at)| at);
            let before = from.checked_sub(1).and_then(|position| history.entry_in(id, position));
            let last = end.checked_sub(1).and_then(|position| history.entry_in(id, position));
            // From the middle of an attempt the phases up to there come first.
            let own = || (from..end).filter_map(|position| history.entry_in(id, position));
            let change = own().map(|entry| &entry.op).find(|op| matches!(op, SimulatorOp::Edit(_)));
            let change = match (parent, change.or_else(|| own().map(|entry| &entry.op).next())) {
                (None, _) if history.is_given_branch(id) => "the recording".to_owned(),
                (None, _) => "the session".to_owned(),
                (Some(_), op) => op.map(change_text).unwrap_or_default(),
            };
            BranchView {
                number: id.0,
                parent: parent.map(|(parent, at)| left(parent, at).0),
                from: from - history.start().min(from),
                from_elapsed: before.map_or(Duration::ZERO, |entry| entry.fact.at - start),
                change,
                n_ops: end - from.min(end),
                totals: last
                    .map(|entry| (entry.fact.bound, entry.fact.failed, entry.fact.cycles))
                    .unwrap_or_default(),
            }
        })
        .collect()
}

/// What was done, in a few words.
fn change_text(op: &SimulatorOp) -> String {
    match op {
        SimulatorOp::Recorded(_) => "went on as recorded".to_owned(),
        SimulatorOp::Leave(_) => "went on by itself".to_owned(),
        SimulatorOp::Anew(_) => "began the scheduler anew".to_owned(),
        SimulatorOp::StepPhase => "stepped by phases".to_owned(),
        SimulatorOp::StepCycle => "made an attempt".to_owned(),
        SimulatorOp::NextTimeout | SimulatorOp::TimeTo(_) => "let time go on".to_owned(),
        SimulatorOp::Request(request) => request.text(),
        SimulatorOp::Edit(edit) => match edit {
            Edit::Apply { source, .. } => format!("applied {source}"),
            Edit::DeletePod(pod) => format!("deleted pod {pod}"),
            Edit::Delete { kind, key } => format!("deleted {} {key}", kind.as_str().to_lowercase()),
            Edit::DeleteNode(node) => format!("deleted node {node}"),
            Edit::Cordon(node) => format!("cordoned {node}"),
            Edit::Uncordon(node) => format!("uncordoned {node}"),
            Edit::Taint { node, taint } => format!("tainted {node} {taint}"),
            Edit::Label { node, label } => format!("labeled {node} {label}"),
            Edit::Change(change) => change.past(),
            Edit::Weight { plugin, weight } => format!("gave {plugin} weight {weight}"),
            Edit::Configure { source, .. } => format!("configured by {source}"),
            Edit::Allow(pod) => format!("allowed {pod}"),
            Edit::Reject(pod) => format!("turned {pod} down"),
            Edit::Activate(pod) => format!("had {pod} tried at once"),
            Edit::Several { what, .. } => what.clone(),
            Edit::World(order) => order.describe(),
        },
    }
}

/// Two branches side by side; absent if there is no such branch, or if the work was called off.
pub(super) fn compare(
    history: &History<Simulator>,
    branches: [usize; 2],
    work: &Work,
) -> Option<BranchComparison> {
    let ids = branches.map(BranchId);
    let parted_at = parted_at(history, ids)?;
    let ways = [Way::take(history, ids[0], parted_at, work)?, Way::take(history, ids[1], parted_at, work)?];
    let mut comparison = BranchComparison {
        branches,
        parted_at: parted_at - history.start().min(parted_at),
        beyond: [ways[0].beyond, ways[1].beyond],
        n_equal: 0,
        differences: Vec::new(),
        bound: [ways[0].bound, ways[1].bound],
        failed: [ways[0].failed, ways[1].failed],
    };
    let pods: BTreeSet<&NamespacedName> = ways.iter().flat_map(|way| way.ends.keys()).collect();
    for pod in pods {
        let ends = [ways[0].end(pod), ways[1].end(pod)];
        if ends[0] == ends[1] {
            comparison.n_equal += 1;
            continue;
        }
        let attempts = [ways[0].attempts_of(pod), ways[1].attempts_of(pod)];
        let same = attempts[0].iter().zip(attempts[1]).take_while(|(a, b)| a.1 == b.1).count();
        let decided = attempts.map(|attempts| {
            attempts.get(same).map(|(cycle, node)| Decided {
                cycle: *cycle,
                node: node.clone(),
                reason: None,
            })
        });
        comparison.differences.push(Difference { pod: pod.clone(), ends, attempt: same + 1, decided });
    }
    for side in [0, 1] {
        explain(history, ids[side], parted_at, side, &mut comparison.differences, work)?;
    }
    Some(comparison)
}

/// After how many operations two branches part.
fn parted_at(history: &History<Simulator>, [a, b]: [BranchId; 2]) -> Option<usize> {
    let parents: BTreeMap<BranchId, (Option<(BranchId, usize)>, usize)> =
        history.branches().map(|(id, parent, end)| (id, (parent, end))).collect();
    // Each branch on the way to it, with where that is left.
    let line = |mut id: BranchId| {
        let mut line = BTreeMap::new();
        let mut until = parents.get(&id)?.1;
        loop {
            line.insert(id, until);
            match parents.get(&id)?.0 {
                Some((parent, at)) => {
                    until = until.min(at);
                    id = parent;
                }
                None => return Some(line),
            }
        }
    };
    let (a, b) = (line(a)?, line(b)?);
    a.iter().filter_map(|(id, until)| Some((*until).min(*b.get(id)?))).max()
}

/// An attempt of a pod: the cycle, and the node if one was chosen.
type Attempt = (u64, Option<Str>);

/// What came of a branch.
struct Way {
    attempts: BTreeMap<NamespacedName, Vec<Attempt>>,
    ends: BTreeMap<NamespacedName, PodEnd>,
    beyond: usize,
    bound: u64,
    failed: u64,
}

impl Way {
    fn take(history: &History<Simulator>, branch: BranchId, from: usize, work: &Work) -> Option<Self> {
        let mut attempts: BTreeMap<NamespacedName, Vec<Attempt>> = BTreeMap::new();
        let (simulator, beyond) = walk(history, branch, from, work, |trace| {
            let node = trace.selection.as_ref().map(|selection| selection.host.clone());
            let known = attempts.entry(trace.pod_key()).or_default();
            match known.last_mut() {
                Some(last) if last.0 == trace.number => last.1 = node.or_else(|| last.1.take()),
                _ => known.push((trace.number, node)),
            }
            true
        })?;
        let objects = simulator.api().objects();
        let ends = objects.pods.iter().map(|(key, pod)| {
            let end =
                if pod.is_assigned() { PodEnd::On(pod.spec.node_name.clone()) } else { PodEnd::Pending };
            (key.clone(), end)
        });
        let counts = simulator.scheduler().counts();
        Some(Self { attempts, ends: ends.collect(), beyond, bound: counts.bound, failed: counts.failed })
    }

    fn end(&self, pod: &NamespacedName) -> PodEnd {
        self.ends.get(pod).cloned().unwrap_or(PodEnd::Gone)
    }

    fn attempts_of(&self, pod: &NamespacedName) -> &[Attempt] {
        self.attempts.get(pod).map_or(&[], Vec::as_slice)
    }
}

/// Goes along a branch from a position on a copy, and on from its end until nothing moves. `see` is shown the newest
/// attempt after each step, and ends the way by answering false. The copy, and attempts beyond the end of the branch;
/// nothing if the work was called off.
fn walk(
    history: &History<Simulator>,
    branch: BranchId,
    from: usize,
    work: &Work,
    mut see: impl FnMut(&CycleTrace) -> bool,
) -> Option<(Simulator, usize)> {
    let (start, mut copy) = history.copy_before(branch, from)?;
    copy.scheduler_mut().set_tracing(true);
    let mut position = start;
    loop {
        // How many attempts are made beyond the end nobody knows before.
        if !work.goes_on(position - start, 0) {
            return None;
        }
        let next = history.entry_in(branch, position).filter(|_| position >= from);
        let in_phases = next.and_then(|entry| in_phases(&copy, entry));
        let n_before = copy.scheduler().counts().cycles;
        let Some(entry) = history.redo(&mut copy, branch, position) else { break };
        let is_step = entry.op.is_step();
        position += 1;
        if position <= from || !is_step {
            continue;
        }
        // Members of a pod group are tried in one go.
        let goes_on = match in_phases.filter(|_| copy.scheduler().counts().cycles > n_before + 1) {
            Some(mut alone) => each_attempt(&mut alone, &mut see),
            None => copy.scheduler().newest_trace().is_none_or(&mut see),
        };
        if !goes_on {
            return Some((copy, 0));
        }
    }
    // What comes after a recording is up to a sandbox.
    copy.leave_recording();
    let has_groups = !copy.scheduler().objects().pod_groups.is_empty();
    let mut beyond = 0;
    while beyond < ATTEMPTS_MAX {
        if !work.goes_on(position - start + beyond, 0) {
            return None;
        }
        let goes_on = if copy.can_step() && has_groups {
            beyond += 1;
            each_attempt(&mut copy, &mut see)
        } else if copy.step_cycle() {
            beyond += 1;
            copy.scheduler().newest_trace().is_none_or(&mut see)
        } else {
            !copy.is_at_rest() && copy.go_to_next_timeout()
        };
        if !goes_on {
            break;
        }
    }
    Some((copy, beyond))
}

/// Goes the way of one side again and keeps what plugins said in the attempts that differ.
fn explain(
    history: &History<Simulator>,
    branch: BranchId,
    from: usize,
    side: usize,
    differences: &mut [Difference],
    work: &Work,
) -> Option<()> {
    // The members of a pod group share the number of their attempt.
    let mut wanted: BTreeMap<(u64, NamespacedName), usize> = differences
        .iter()
        .enumerate()
        .filter_map(|(index, difference)| {
            let cycle = difference.decided.get(side)?.as_ref()?.cycle;
            Some(((cycle, difference.pod.clone()), index))
        })
        .take(EXPLAINED_MAX)
        .collect();
    if wanted.is_empty() {
        return Some(());
    }
    let walked = walk(history, branch, from, work, |trace| {
        let key = (trace.number, trace.pod_key());
        let host = trace.selection.as_ref().map(|selection| &selection.host);
        if let Some(index) = wanted.get(&key).copied()
            && let Some(difference) = differences.get_mut(index)
            && difference
                .decided
                .get(side)
                .and_then(Option::as_ref)
                .is_some_and(|it| it.node.as_ref() == host)
        {
            wanted.remove(&key);
            let node = |side: usize| {
                let decided = difference.decided.get(side).and_then(Option::as_ref);
                let chosen = decided.and_then(|decided| decided.node.clone());
                chosen.or_else(|| match difference.ends.get(side) {
                    Some(PodEnd::On(node)) => Some(node.clone()),
                    _ => None,
                })
            };
            let (here, there) = (node(side), node(1 - side));
            let reason = reason_of(trace, here.as_ref(), there.as_ref());
            if let Some(Some(decided)) = difference.decided.get_mut(side) {
                decided.reason = Some(reason);
            }
        }
        !wanted.is_empty()
    });
    walked.map(drop)
}

impl Difference {
    /// Why the two went different ways: who turned a node down in one of them, or whose points changed the winner. One
    /// sentence each, the one that weighs most first.
    pub fn why(&self, names: [&str; 2]) -> Vec<String> {
        let mut lines = Vec::new();
        let reasons = self.decided.each_ref().map(|decided| decided.as_ref()?.reason.as_ref());
        let nodes = [self.node(0), self.node(1)];
        for side in [0, 1] {
            let (Some(reason), Some(other)) = (reasons[side], nodes[1 - side]) else { continue };
            let name = names[side];
            match &reason.there {
                Some(Standing::Rejected { plugin, reason }) => {
                    lines.push(format!("{name}: {plugin} turns {other} down: {reason}"));
                }
                Some(Standing::NotThere) => lines.push(format!("{name}: there is no {other}")),
                Some(Standing::Excluded) => lines.push(format!("{name}: PreFilter leaves {other} out")),
                Some(Standing::NotLookedAt) => {
                    lines.push(format!("{name}: {other} is not looked at, enough nodes were found before"));
                }
                Some(Standing::Feasible(_)) | None => {}
            }
        }
        if let (Some((a, b)), Some(a_node), Some(b_node)) = (self.points(), nodes[0], nodes[1]) {
            lines.extend(turned_by_points(a, b, [a_node, b_node], names));
        }
        for side in [0, 1] {
            if self.decided[side].is_none() {
                lines.push(format!("{}: the pod is not tried again", names[side]));
            }
        }
        lines
    }

    /// The plugins that turned it, the one that weighs most first.
    pub fn turned_by(&self) -> Vec<String> {
        let rejecting = self.decided.iter().flatten().filter_map(|decided| {
            match decided.reason.as_ref()?.there.as_ref()? {
                Standing::Rejected { plugin, .. } => Some(plugin.clone()),
                Standing::NotThere => Some("the node is not there".to_owned()),
                _ => None,
            }
        });
        let mut names: Vec<String> = rejecting.collect();
        if names.is_empty() {
            let points = self.points();
            names.extend(
                points.iter().flat_map(|(a, b)| turned(*a, *b)).map(|(plugin, ..)| plugin.to_owned()),
            );
        }
        names.dedup();
        names
    }

    /// Whether chance decided in one of the two.
    pub fn is_by_chance(&self) -> bool {
        let mut reasons = self.decided.iter().flatten().filter_map(|decided| decided.reason.as_ref());
        reasons.any(|reason| reason.selection == Some(SelectionReason::Tie))
    }

    /// The points of the node of the first and that of the second branch, in each; where both were feasible in both.
    fn points(&self) -> Option<([&NodePoints; 2], [&NodePoints; 2])> {
        let [Some(a), Some(b)] = self.decided.each_ref().map(|decided| decided.as_ref()?.reason.as_ref())
        else {
            return None;
        };
        match (&a.here, &a.there, &b.there, &b.here) {
            (
                Some(Standing::Feasible(a_here)),
                Some(Standing::Feasible(a_there)),
                Some(Standing::Feasible(b_there)),
                Some(Standing::Feasible(b_here)),
            ) => Some(([a_here, a_there], [b_there, b_here])),
            _ => None,
        }
    }

    fn node(&self, side: usize) -> Option<&str> {
        let decided = self.decided.get(side)?.as_ref().and_then(|decided| decided.node.as_deref());
        decided.or(match self.ends.get(side)? {
            PodEnd::On(node) => Some(node),
            PodEnd::Pending | PodEnd::Gone => None,
        })
    }
}

/// The plugins whose points speak more for the second node in the second branch than in the first, with by how much the
/// first node leads in each. The one that weighs most comes first.
fn turned<'p>(a: [&'p NodePoints; 2], b: [&'p NodePoints; 2]) -> Vec<(&'p str, i64, i64)> {
    let lead = |points: [&NodePoints; 2], plugin: &str| {
        let of = |points: &NodePoints| {
            points.plugins.iter().find(|(name, _)| name == plugin).map_or(0, |(_, points)| *points)
        };
        of(points[0]).saturating_sub(of(points[1]))
    };
    let plugins: BTreeSet<&str> =
        a.into_iter().chain(b).flat_map(|points| &points.plugins).map(|(name, _)| name.as_str()).collect();
    let mut turned: Vec<(&str, i64, i64)> =
        plugins.into_iter().map(|plugin| (plugin, lead(a, plugin), lead(b, plugin))).collect();
    turned.retain(|(_, in_a, in_b)| in_b < in_a);
    turned.sort_by_key(|(plugin, in_a, in_b)| (in_b.saturating_sub(*in_a), *plugin));
    turned
}

fn turned_by_points(
    a: [&NodePoints; 2],
    b: [&NodePoints; 2],
    nodes: [&str; 2],
    names: [&str; 2],
) -> Vec<String> {
    let mut lines: Vec<String> = turned(a, b)
        .iter()
        .take(3)
        .map(|(plugin, in_a, in_b)| {
            format!(
                "{plugin}: {} against {} is {in_a:+} in {}, {in_b:+} in {}",
                nodes[0], nodes[1], names[0], names[1]
            )
        })
        .collect();
    let total = |points: [&NodePoints; 2]| Some((points[0].total?, points[1].total?));
    if let (Some(in_a), Some(in_b)) = (total(a), total(b)) {
        lines.push(format!(
            "totals of {} and {}: {} and {} in {}, {} and {} in {}",
            nodes[0], nodes[1], in_a.0, in_a.1, names[0], in_b.0, in_b.1, names[1]
        ));
    }
    lines
}
