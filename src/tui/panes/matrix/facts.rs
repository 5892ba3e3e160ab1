//! What an attempt comes to as a whole, counted once for an attempt and not for each frame.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use super::classes::Classes;
use super::query::points;
use crate::api::Str;
use crate::explain;
use crate::framework::NodeInfo;
use crate::scheduler::trace::{CycleTrace, ScoreTrace};
use crate::tui::panes::CellKind;
use crate::tui::widgets::text;

/// What is counted over all nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) n_feasible: usize,
    /// Plugins that turned nodes down and how many, the most first.
    pub(super) rejections: Vec<(&'static str, usize)>,
    /// The highest total.
    pub(super) best: Option<i64>,
    /// What sets the winner apart from the runner-up.
    pub(super) margins: Vec<(&'static str, i64)>,
    /// For verdicts and for scores, made when they are first asked for.
    of_kind: [OfKind; 2],
    scored: OnceLock<BTreeMap<Str, usize>>,
}

#[derive(Clone, Debug, Default)]
struct OfKind {
    /// The widest name of a node.
    width: OnceLock<usize>,
    /// The columns with those that decide first.
    deciding: OnceLock<Vec<usize>>,
    /// Which nodes fared the same.
    classes: OnceLock<Classes>,
}

impl Facts {
    /// What is the same as in the attempt before need not be counted again.
    pub(super) fn new(trace: &CycleTrace, before: Option<(&CycleTrace, &Self)>) -> Self {
        let mut rejections: Vec<(&'static str, usize)> = trace
            .filter
            .iter()
            .flat_map(|filter| filter.rejections())
            .map(|(plugin, n, _)| (plugin, n))
            .collect();
        rejections.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        Self {
            n_feasible: trace.filter.as_ref().map_or(0, |filter| filter.n_feasible()),
            best: trace.score.as_ref().and_then(|score| score.scores.totals.iter().copied().max()),
            rejections,
            margins: explain::margins(trace),
            of_kind: [CellKind::Filter, CellKind::Score].map(|kind| OfKind {
                width: before
                    .and_then(|before| known_width(trace, before, kind))
                    .map_or_else(OnceLock::new, OnceLock::from),
                ..OfKind::default()
            }),
            ..Self::default()
        }
    }

    pub(super) fn name_width(&self, trace: &CycleTrace, kind: CellKind) -> usize {
        *self.of_kind[kind as usize].width.get_or_init(|| match kind {
            CellKind::Filter => widest(trace.nodes().iter().map(|node| node.name())),
            CellKind::Score => widest(trace.score.iter().flat_map(|score| &score.nodes)),
        })
    }

    pub(super) fn classes(&self, trace: &CycleTrace, kind: CellKind) -> &Classes {
        self.of_kind[kind as usize].classes.get_or_init(|| match kind {
            CellKind::Filter => Classes::of_verdicts(trace),
            CellKind::Score => Classes::of_scores(trace),
        })
    }

    pub(super) fn deciding(&self, trace: &CycleTrace, kind: CellKind) -> &[usize] {
        self.of_kind[kind as usize].deciding.get_or_init(|| match (kind, &trace.score) {
            (CellKind::Filter, _) => deciding_filters(trace, &self.rejections),
            (CellKind::Score, Some(score)) => deciding_scores(score, &self.margins),
            (CellKind::Score, None) => Vec::new(),
        })
    }

    /// The places of the scored nodes.
    pub(super) fn scored(&self, trace: &CycleTrace) -> &BTreeMap<Str, usize> {
        self.scored.get_or_init(|| {
            let nodes = trace.score.iter().flat_map(|score| score.nodes.iter().enumerate());
            nodes.map(|(index, name)| (name.clone(), index)).collect()
        })
    }
}

/// The width of the names, where they are those of the attempt before.
fn known_width(trace: &CycleTrace, (before, facts): (&CycleTrace, &Facts), kind: CellKind) -> Option<usize> {
    let width = facts.of_kind[kind as usize].width.get().copied()?;
    let is_same = match kind {
        CellKind::Filter => {
            let (new, old) = (trace.nodes(), before.nodes());
            let same = |(a, b): (&Arc<NodeInfo>, &Arc<NodeInfo>)| Arc::ptr_eq(a, b) || a.name() == b.name();
            new.len() == old.len() && new.iter().zip(old).all(same)
        }
        CellKind::Score => {
            let (new, old) = (&trace.score.as_ref()?.nodes, &before.score.as_ref()?.nodes);
            new.len() == old.len() && new.iter().zip(old).all(|(a, b)| Str::ptr_eq(a, b) || a == b)
        }
    };
    is_same.then_some(width)
}

fn widest<'n>(names: impl Iterator<Item = &'n Str>) -> usize {
    names.map(|name| text::width(&text::clean(name))).max().unwrap_or_default()
}

/// Those that turned down most nodes first, those that were skipped last, the others in the profile's order.
fn deciding_filters(trace: &CycleTrace, rejections: &[(&'static str, usize)]) -> Vec<usize> {
    let Some(filter) = &trace.filter else { return Vec::new() };
    let mut columns: Vec<usize> = (0..filter.plugins.len()).collect();
    columns.sort_by_key(|column| {
        let plugin = filter.plugins[*column];
        let n = rejections.iter().find(|(other, _)| *other == plugin).map_or(0, |(_, n)| *n);
        (filter.skipped.contains(plugin), std::cmp::Reverse(n))
    });
    columns
}

/// Those that set the winner apart most first; then those whose points differ most from node to node.
fn deciding_scores(score: &ScoreTrace, margins: &[(&'static str, i64)]) -> Vec<usize> {
    let plugins = &score.scores.plugins;
    let spread = |column: usize| {
        let all = || (0..score.nodes.len()).filter_map(|at| points(score, column, at));
        all().max().unwrap_or_default().saturating_sub(all().min().unwrap_or_default())
    };
    let spreads: Vec<i64> = (0..plugins.len()).map(spread).collect();
    let mut columns: Vec<usize> = (0..plugins.len()).collect();
    columns.sort_by_key(|column| {
        let plugin = plugins[*column].plugin;
        let margin = margins.iter().find(|(other, _)| *other == plugin).map_or(0, |(_, margin)| margin.abs());
        std::cmp::Reverse((margin, spreads[*column]))
    });
    columns
}
