//! What would have to change for a node to be chosen: which rejection must go, or which plugin's points would do.
//!
//! Computed from the evidence of the attempt alone; no plugin is asked again. Each change is looked at by itself,
//! with everything else as it was: another score of one node can shift what a plugin's normalization gives the
//! others, and a pod that goes elsewhere changes the next attempt.

use crate::framework::{MAX_NODE_SCORE, Status};
use crate::scheduler::trace::{CycleTrace, FilterTrace, NodeVerdict, ScoreTrace, SelectionReason};
use crate::scheduler::weights::deciding_weights;

use super::cell::{CellPoint, cell, excluded, not_evaluated};
use super::{counted, listed};

/// What stands between a node and the choice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToWin {
    /// Nothing: it was chosen.
    Chosen,
    /// It shares the highest total: chance decided, or will.
    Tie {
        /// How many nodes share it.
        n_nodes: usize,
    },
    /// A plugin turned it down.
    Rejected {
        /// The plugin, or what an extender is called in the evidence.
        plugin: String,
        /// All reasons that it gave. Each of them must go.
        reasons: Vec<String>,
        /// What the numbers say of them.
        sentence: String,
        /// Filter plugins that were not asked because of it: they may have something against the node, too.
        not_asked: Vec<&'static str>,
    },
    /// It was not looked at, or not scored, for this reason.
    NotTried(String),
    /// It was scored and has less than the best.
    Behind(Behind),
}

/// A node that was scored and has less than the best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behind {
    /// The node with the highest total: the chosen one, if it has that.
    pub best: String,
    /// The totals of that node and of this one.
    pub totals: (i64, i64),
    /// By plugin, where this node has most to gain first; plugins that give both the same are left out.
    pub gaps: Vec<Gap>,
    /// What extenders add to the distance.
    pub by_extenders: i64,
    /// Plugins whose weight alone would decide for this node, with the nearest such weight.
    pub weights: Vec<(&'static str, i64, i64)>,
}

/// How far apart one plugin sets the best node and this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// The plugin.
    pub plugin: &'static str,
    /// Its weight.
    pub weight: i64,
    /// The normalized scores of the best node and of this one.
    pub scores: (i64, i64),
    /// By how many points the best node is ahead; below 0 if it is behind.
    pub points: i64,
    /// The least normalized score of this node that would make its total the highest; absent if 100 is not enough.
    pub needed: Option<i64>,
}

impl Behind {
    /// How many points are missing for a tie.
    pub const fn distance(&self) -> i64 {
        self.totals.0.saturating_sub(self.totals.1)
    }
}

/// What would have to change for `node` to be chosen; `None` as long as Filter has not run, or if there is no such
/// node.
pub fn to_win(trace: &CycleTrace, node: &str) -> Option<ToWin> {
    let position = trace.snapshot.position(node)?;
    let filter = trace.filter.as_ref()?;
    let selection = trace.selection.as_ref();
    if selection.is_some_and(|selection| selection.host.as_ref() == node) {
        return Some(ToWin::Chosen);
    }
    if let Some(status) = filter.by_extenders.get(node).filter(|status| !status.is_success()) {
        return Some(rejected(trace, filter, node, status));
    }
    match filter.verdicts.get(position)? {
        NodeVerdict::Rejected(status) => return Some(rejected(trace, filter, node, status)),
        NodeVerdict::Excluded => return Some(ToWin::NotTried(excluded(trace, node))),
        NodeVerdict::NotEvaluated => return Some(ToWin::NotTried(not_evaluated(filter))),
        NodeVerdict::Feasible => {}
    }
    match &trace.score {
        Some(score) => behind(trace, score, node),
        None => Some(ToWin::NotTried(match selection.map(|selection| (selection.reason, &selection.host)) {
            Some((SelectionReason::Nominated, host)) => {
                format!("It fits. The pod is nominated to {host}, which passed, so nothing was scored.")
            }
            Some((_, host)) => format!("It fits. {host} was taken without scores."),
            None => String::from("It fits. Score has not run."),
        })),
    }
}

fn rejected(trace: &CycleTrace, filter: &FilterTrace, node: &str, status: &Status) -> ToWin {
    let plugin = status.plugin();
    let at = filter.plugins.iter().position(|name| *name == plugin);
    let not_asked = match at {
        Some(at) => {
            let after = filter.plugins.iter().skip(at + 1).copied();
            after.filter(|plugin| !filter.skipped.contains(plugin)).collect()
        }
        None => Vec::new(),
    };
    ToWin::Rejected {
        plugin: if plugin.is_empty() { String::from("an extender") } else { plugin.to_owned() },
        reasons: status.reasons().to_vec(),
        sentence: match at {
            Some(_) => cell(trace, CellPoint::Filter, node, plugin).text(),
            None => String::new(),
        },
        not_asked,
    }
}

fn behind(trace: &CycleTrace, score: &ScoreTrace, node: &str) -> Option<ToWin> {
    let position = |node: &str| score.nodes.iter().position(|name| name.as_ref() == node);
    let totals = &score.scores.totals;
    let own = position(node)?;
    let highest = totals.iter().copied().max()?;
    let own_total = *totals.get(own)?;
    let n_best = totals.iter().filter(|total| **total == highest).count();
    if own_total == highest {
        return Some(match n_best {
            1 => ToWin::NotTried(String::from("It leads. The choice has not been made.")),
            n_nodes => ToWin::Tie { n_nodes },
        });
    }
    let chosen = trace.selection.as_ref().and_then(|selection| position(&selection.host));
    let chosen = chosen.filter(|chosen| totals.get(*chosen) == Some(&highest));
    let best = chosen.or_else(|| totals.iter().position(|total| *total == highest))?;
    let distance = highest.saturating_sub(own_total);
    let plugins = score.scores.plugins.iter();
    let mut gaps: Vec<Gap> = plugins
        .filter_map(|scores| {
            let pair = (*scores.normalized.get(best)?, *scores.normalized.get(own)?);
            let points = pair.0.saturating_sub(pair.1).saturating_mul(scores.weight);
            // One point more than a tie.
            let steps = if scores.weight > 0 { Some(distance / scores.weight + 1) } else { None };
            let needed = steps.map(|steps| pair.1.saturating_add(steps));
            Some(Gap {
                plugin: scores.plugin,
                weight: scores.weight,
                scores: pair,
                points,
                needed: needed.filter(|needed| *needed <= MAX_NODE_SCORE),
            })
        })
        .collect();
    let by_plugins: i64 = gaps.iter().map(|gap| gap.points).sum();
    gaps.retain(|gap| gap.points != 0 || gap.needed.is_some());
    gaps.sort_by_key(|gap| std::cmp::Reverse(gap.points));
    Some(ToWin::Behind(Behind {
        best: score.nodes.get(best)?.to_string(),
        totals: (highest, own_total),
        by_extenders: distance.saturating_sub(by_plugins),
        weights: deciding_weights(&score.scores, own),
        gaps,
    }))
}

impl ToWin {
    /// In sentences: the first is the answer, the others are how it comes about.
    pub fn lines(&self) -> Vec<String> {
        match self {
            Self::Chosen => vec![String::from("Nothing: it was chosen.")],
            Self::Tie { n_nodes } => {
                let n = counted(*n_nodes, "node");
                vec![format!(
                    "Luck: {n} have the highest total, and chance chooses. One point more would do."
                )]
            }
            Self::NotTried(why) => vec![why.clone()],
            Self::Rejected { plugin, reasons, sentence, not_asked } => {
                rejected_lines(plugin, reasons, sentence, not_asked)
            }
            Self::Behind(behind) => behind.lines(),
        }
    }
}

fn rejected_lines(plugin: &str, reasons: &[String], sentence: &str, not_asked: &[&str]) -> Vec<String> {
    let said = match reasons {
        [] => format!("{plugin} must no longer turn it down."),
        [only] => format!("{plugin} must no longer turn it down: {only}."),
        several => {
            format!("{plugin} must no longer turn it down, and for none of: {}.", several.join(", "))
        }
    };
    let mut lines = vec![said];
    if !sentence.is_empty() {
        lines.push(sentence.to_owned());
    }
    if not_asked.is_empty() {
        lines.push(String::from("No other filter is in the way. Then its scores would decide."));
    } else {
        lines.push(format!("Not asked, so not known: what {} would say.", listed(not_asked, 6)));
    }
    lines
}

impl Behind {
    fn lines(&self) -> Vec<String> {
        let (best, own) = self.totals;
        let distance = self.distance();
        let more = distance.saturating_add(1);
        let mut lines =
            vec![format!("{more} points more: it has {own}, {} has {best}, {distance} ahead.", self.best)];
        let sufficient: Vec<String> = self
            .gaps
            .iter()
            .filter_map(|gap| Some(format!("{} at {} instead of {}", gap.plugin, gap.needed?, gap.scores.1)))
            .collect();
        lines.push(match sufficient.as_slice() {
            [] => String::from("No plugin's score alone would do, not even at 100."),
            some => format!("One of these alone would do: {}.", listed(some, 8)),
        });
        for gap in self.gaps.iter().filter(|gap| gap.points != 0) {
            let Gap { plugin, weight, scores: (theirs, ours), points, .. } = gap;
            lines.push(format!("{plugin}: ({theirs} - {ours}) x {weight} = {points:+}"));
        }
        if self.by_extenders != 0 {
            lines.push(format!("extenders: {:+}", self.by_extenders));
        }
        for (plugin, now, then) in &self.weights {
            lines.push(format!("Or {plugin} with weight {then} instead of {now}, all scores as they are."));
        }
        lines
    }
}
