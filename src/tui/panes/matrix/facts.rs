//! What an attempt comes to as a whole, counted once for an attempt and not for each frame.

use std::collections::BTreeMap;

use super::classes::Classes;
use super::query::points;
use crate::api::Str;
use crate::explain;
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
    /// The widest name of a node, for verdicts and for scores.
    widths: [usize; 2],
    /// The columns with those that decide first, for verdicts and for scores.
    deciding: [Vec<usize>; 2],
    /// Which nodes fared the same, for verdicts and for scores.
    classes: [Classes; 2],
    /// The places of the scored nodes.
    pub(super) scored: BTreeMap<Str, usize>,
}

impl Facts {
    pub(super) fn new(trace: &CycleTrace) -> Self {
        let mut rejections: Vec<(&'static str, usize)> = trace
            .filter
            .iter()
            .flat_map(|filter| filter.rejections())
            .map(|(plugin, n, _)| (plugin, n))
            .collect();
        rejections.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let margins = explain::margins(trace);
        let scored: BTreeMap<Str, usize> = trace
            .score
            .iter()
            .flat_map(|score| score.nodes.iter().enumerate())
            .map(|(index, name)| (name.clone(), index))
            .collect();
        Self {
            n_feasible: trace.filter.as_ref().map_or(0, |filter| filter.n_feasible()),
            best: trace.score.as_ref().and_then(|score| score.scores.totals.iter().copied().max()),
            widths: [
                widest(trace.nodes().iter().map(|node| node.name())),
                widest(trace.score.iter().flat_map(|score| &score.nodes)),
            ],
            deciding: [
                deciding_filters(trace, &rejections),
                trace.score.as_ref().map(|score| deciding_scores(score, &margins)).unwrap_or_default(),
            ],
            classes: [Classes::of_verdicts(trace), Classes::of_scores(trace)],
            rejections,
            margins,
            scored,
        }
    }

    pub(super) const fn name_width(&self, kind: CellKind) -> usize {
        self.widths[kind as usize]
    }

    pub(super) const fn classes(&self, kind: CellKind) -> &Classes {
        &self.classes[kind as usize]
    }

    pub(super) fn deciding(&self, kind: CellKind) -> &[usize] {
        &self.deciding[kind as usize]
    }
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
