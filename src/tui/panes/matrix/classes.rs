//! Which nodes fared the same: equal verdicts, or equal scores from every plugin.

use std::collections::BTreeMap;

use crate::framework::Code;
use crate::scheduler::trace::{CycleTrace, NodeVerdict, ScoreTrace};

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

#[derive(Clone, Debug)]
struct Class {
    /// What its members have in common, as a key that holds from attempt to attempt.
    name: String,
    n_nodes: usize,
    /// Up to how many members stand one by one in any case.
    n_unfolded: usize,
}

impl Classes {
    pub(super) fn of_verdicts(trace: &CycleTrace) -> Self {
        let verdicts = trace.filter.as_ref().map_or(&[][..], |filter| &filter.verdicts);
        let name = |(rank, plugin, reasons): &Verdict<'_>| format!("{rank} {plugin} {}", reasons.join(", "));
        let n_unfolded = |key: &Verdict<'_>| if key.0 == FEASIBLE { N_FEASIBLE_UNFOLDED } else { 0 };
        Self::by(verdicts.iter().map(class), name, n_unfolded)
    }

    /// The chosen node is in a class of its own, so that it is always seen.
    pub(super) fn of_scores(trace: &CycleTrace) -> Self {
        let Some(score) = &trace.score else { return Self::default() };
        let host = trace.selection.as_ref().map(|selection| &selection.host);
        let keys = score.nodes.iter().enumerate().map(|(at, name)| (host == Some(name), scores(score, at)));
        let name = |(is_chosen, scores): &(bool, Vec<i64>)| format!("{is_chosen} {scores:?}");
        Self::by(keys, name, |_| 0)
    }

    fn by<K: Ord>(
        keys: impl Iterator<Item = K>,
        name: impl Fn(&K) -> String,
        n_unfolded: impl Fn(&K) -> usize,
    ) -> Self {
        let mut known: BTreeMap<K, usize> = BTreeMap::new();
        let mut classes = Self::default();
        for key in keys {
            let class = match known.get(&key) {
                Some(class) => *class,
                None => {
                    let (name, n_unfolded) = (name(&key), n_unfolded(&key));
                    classes.all.push(Class { name, n_nodes: 0, n_unfolded });
                    known.insert(key, classes.all.len() - 1);
                    classes.all.len() - 1
                }
            };
            classes.all[class].n_nodes += 1;
            classes.of.push(class);
        }
        classes
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The class of the node at a place.
    pub(super) fn of(&self, index: usize) -> usize {
        self.of.get(index).copied().unwrap_or_default()
    }

    /// The class of the node at a place, as a key.
    pub(super) fn name_of(&self, index: usize) -> &str {
        self.all.get(self.of(index)).map_or("", |class| class.name.as_str())
    }

    pub(super) fn name(&self, class: usize) -> &str {
        self.all.get(class).map_or("", |class| class.name.as_str())
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

/// What every plugin gave a node: raw and normalized, as both are looked at.
fn scores(score: &ScoreTrace, at: usize) -> Vec<i64> {
    let of = |values: &[i64]| values.get(at).copied().unwrap_or_default();
    let plugins = score.scores.plugins.iter();
    let mut all: Vec<i64> = plugins.flat_map(|scores| [of(&scores.raw), of(&scores.normalized)]).collect();
    all.push(of(&score.scores.totals));
    all
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
