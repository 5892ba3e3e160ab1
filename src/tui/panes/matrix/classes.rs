//! Which nodes fared the same: equal verdicts, or equal scores from every plugin.

use std::collections::BTreeMap;
use std::hash::Hasher as _;

use rustc_hash::{FxHashMap, FxHasher};

use crate::framework::Code;
use crate::scheduler::trace::{CycleTrace, NodeVerdict, ScoreTrace};
use crate::tui::panes::CellKind;

/// Up to so many feasible nodes are shown one by one.
const N_FEASIBLE_UNFOLDED: usize = 8;
/// From so many nodes of one class on, one of them stands for the others.
pub(super) const N_FOLDED_FROM: usize = 3;

const FEASIBLE: u8 = 0;

/// What nodes of one class have in common.
type Verdict<'t> = (u8, &'t str, &'t [String]);

/// The classes of the nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Classes {
    /// Of each node.
    of: Vec<usize>,
    all: Vec<Class>,
}

#[derive(Clone, Copy, Debug)]
struct Class {
    /// The place of its first member. What it is called is told by that, since hardly any is ever called by its name.
    first: usize,
    n_nodes: usize,
    /// Up to how many members stand one by one in any case.
    n_unfolded: usize,
}

impl Classes {
    pub(super) fn of_verdicts(trace: &CycleTrace) -> Self {
        let mut known: BTreeMap<Verdict<'_>, usize> = BTreeMap::new();
        let mut classes = Self::default();
        let mut last = None;
        for (at, verdict) in verdicts(trace).iter().map(class).enumerate() {
            // Neighbours often fared the same.
            let class = match last {
                Some((known, class)) if known == verdict => class,
                _ => {
                    let n_unfolded = if verdict.0 == FEASIBLE { N_FEASIBLE_UNFOLDED } else { 0 };
                    *known.entry(verdict).or_insert_with(|| classes.begin(at, n_unfolded))
                }
            };
            last = Some((verdict, class));
            classes.add(class);
        }
        classes
    }

    /// The chosen node is in a class of its own, so that it is always seen.
    pub(super) fn of_scores(trace: &CycleTrace) -> Self {
        let Some(score) = &trace.score else { return Self::default() };
        let chosen = chosen(trace, score);
        // With every node in a class of its own there are as many as nodes: they are told apart without a copy.
        let mut known: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        let mut classes = Self::default();
        for at in 0..score.nodes.len() {
            if chosen == Some(at) {
                let class = classes.begin(at, 0);
                classes.add(class);
                continue;
            }
            let mut hasher = FxHasher::default();
            scores(score, at).for_each(|points| hasher.write_i64(points));
            let alike = known.entry(hasher.finish()).or_default();
            let is_same = |class: &&usize| {
                classes.all.get(**class).is_some_and(|class| scores(score, class.first).eq(scores(score, at)))
            };
            let class = match alike.iter().find(is_same) {
                Some(class) => *class,
                None => {
                    let class = classes.begin(at, 0);
                    alike.push(class);
                    class
                }
            };
            classes.add(class);
        }
        classes
    }

    fn begin(&mut self, first: usize, n_unfolded: usize) -> usize {
        self.all.push(Class { first, n_nodes: 0, n_unfolded });
        self.all.len() - 1
    }

    fn add(&mut self, class: usize) {
        if let Some(class) = self.all.get_mut(class) {
            class.n_nodes += 1;
        }
        self.of.push(class);
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The class of the node at a place.
    pub(super) fn of(&self, index: usize) -> usize {
        self.of.get(index).copied().unwrap_or_default()
    }

    /// What the members of the class of the node at a place have in common, as a key that holds from attempt to attempt.
    pub(super) fn name_of(&self, index: usize, trace: &CycleTrace, kind: CellKind) -> String {
        self.name(self.of(index), trace, kind)
    }

    /// The same of a class.
    pub(super) fn name(&self, class: usize, trace: &CycleTrace, kind: CellKind) -> String {
        let Some(first) = self.all.get(class).map(|class| class.first) else { return String::new() };
        match (kind, &trace.score) {
            (CellKind::Filter, _) => {
                let (rank, plugin, reasons) =
                    verdicts(trace).get(first).map_or((0, "", &[][..]), self::class);
                format!("{rank} {plugin} {}", reasons.join(", "))
            }
            (CellKind::Score, Some(score)) => {
                let is_chosen = chosen(trace, score) == Some(first);
                format!("{is_chosen} {:?}", scores(score, first).collect::<Vec<_>>())
            }
            (CellKind::Score, None) => String::new(),
        }
    }

    /// Whether so many nodes fared like the one at `index` that they can fold.
    pub(super) fn can_fold(&self, index: usize) -> bool {
        self.all.get(self.of(index)).is_some_and(|class| class.n_nodes >= N_FOLDED_FROM)
    }

    /// Whether so many members of a class stand one by one although others fold.
    pub(super) fn stays_unfolded(&self, class: usize, n_members: usize) -> bool {
        self.all.get(class).is_none_or(|class| n_members <= class.n_unfolded)
    }
}

fn verdicts(trace: &CycleTrace) -> &[NodeVerdict] {
    trace.filter.as_ref().map_or(&[], |filter| &filter.verdicts)
}

/// The place of the chosen node among the scored ones.
fn chosen(trace: &CycleTrace, score: &ScoreTrace) -> Option<usize> {
    let host = &trace.selection.as_ref()?.host;
    score.nodes.iter().position(|node| node == host)
}

/// What every plugin gave a node: raw and normalized, as both are looked at, and the total.
fn scores(score: &ScoreTrace, at: usize) -> impl Iterator<Item = i64> {
    let of = move |values: &[i64]| values.get(at).copied().unwrap_or_default();
    let plugins = score.scores.plugins.iter();
    plugins
        .flat_map(move |scores| [of(&scores.raw), of(&scores.normalized)])
        .chain([of(&score.scores.totals)])
}

/// How good a verdict is; lower is better.
pub(super) fn rank(verdict: &NodeVerdict) -> u8 {
    class(verdict).0
}

fn class(verdict: &NodeVerdict) -> Verdict<'_> {
    match verdict {
        NodeVerdict::Feasible => (FEASIBLE, "", &[]),
        NodeVerdict::Rejected(status) => match status.code() {
            Code::Unschedulable | Code::Pending => (1, status.plugin(), status.reasons()),
            Code::UnschedulableAndUnresolvable => (2, status.plugin(), status.reasons()),
            Code::Success | Code::Error | Code::Wait | Code::Skip => (3, status.plugin(), status.reasons()),
        },
        NodeVerdict::Excluded => (4, "", &[]),
        NodeVerdict::NotEvaluated => (5, "", &[]),
    }
}
