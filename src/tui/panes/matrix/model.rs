//! The rows of the matrix: which nodes, in which order, and which of them stand for others that fared the same.
//!
//! Made once for an attempt and kept until the attempt or the way of looking at it changes: drawing then costs
//! only the rows that are visible, however many nodes there are.

use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

use super::classes::{Classes, N_FOLDED_FROM, rank};
use super::facts::Facts;
use super::query::{Asked, Filter, Query, ZONE_LABEL, label, points};
use crate::api::Str;
use crate::explain;
use crate::framework::{Code, NodeInfo, Status};
use crate::scheduler::trace::{CycleTrace, FilterTrace, NodeVerdict};
use crate::tui::panes::{CellKind, names};

/// The order of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As the search visited the nodes.
    Visit,
    /// By name.
    Name,
    /// By zone, then by name.
    Zone,
    /// The best first: by total, or what fits before what does not.
    Best,
    /// By what one plugin said: the most points first, or what it let through first.
    Column(Str),
}

impl Order {
    /// The next one.
    pub(super) const fn next(&self) -> Self {
        match self {
            Self::Visit => Self::Name,
            Self::Name => Self::Zone,
            Self::Zone => Self::Best,
            Self::Best | Self::Column(_) => Self::Visit,
        }
    }

    /// In a word or two.
    pub(super) fn text(&self, is_reversed: bool) -> String {
        let words = match self {
            Self::Visit if is_reversed => return String::from("last visited first"),
            Self::Best if is_reversed => return String::from("worst first"),
            Self::Visit => "in order of visit",
            Self::Name => "by name",
            Self::Zone => "by zone",
            Self::Best => "best first",
            Self::Column(plugin) => &format!("by {}", names::medium(plugin)),
        };
        if is_reversed { format!("{words}, reversed") } else { words.to_owned() }
    }
}

/// How the matrix is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) kind: CellKind,
    pub(super) order: Order,
    pub(super) is_reversed: bool,
    pub(super) folds: bool,
    /// Classes that are shown the other way than `folds` says.
    pub(super) turned: BTreeSet<String>,
    pub(super) query: Query,
}

/// What a row is, for the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RowKey {
    /// A node.
    Node(Str),
    /// The line that stands for the other nodes of a class.
    Class(String),
}

/// A row.
#[derive(Clone, Debug)]
pub(super) enum MatrixRow {
    /// A node by its place: in the snapshot for verdicts, among the scored nodes for scores.
    Node(usize),
    /// `n` more fared like the node at `index`; they follow if it is open.
    Class { index: usize, n: usize, is_open: bool },
}

/// All rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) rows: Vec<MatrixRow>,
    /// How many nodes are shown or folded away, and how many there are.
    pub(super) n_shown: usize,
    pub(super) n_nodes: usize,
}

impl Model {
    /// Makes the rows.
    pub(super) fn new(trace: &CycleTrace, look: &Look, facts: &Facts) -> Self {
        match look.kind {
            CellKind::Filter => Self::of_verdicts(trace, look, facts),
            CellKind::Score => Self::of_scores(trace, look, facts),
        }
    }

    fn of_verdicts(trace: &CycleTrace, look: &Look, facts: &Facts) -> Self {
        let nodes = trace.nodes();
        let Some(filter) = &trace.filter else { return Self::default() };
        let verdicts = &filter.verdicts;
        let n_nodes = nodes.len().min(verdicts.len());
        let asked = Filter::new(&look.query, trace);
        let mut shown: Vec<usize> = (0..n_nodes)
            .map(|i| (i + filter.start_index) % n_nodes)
            .filter(|index| {
                let node = &nodes[*index];
                let scored =
                    look.query.is_on().then(|| facts.scored(trace).get(node.name()).copied()).flatten();
                let verdict = Some(&verdicts[*index]);
                asked.admits(Asked { name: node.name(), node: Some(node), verdict, scored })
            })
            .collect();
        let by_name = |a: &usize, b: &usize| nodes[*a].name().cmp(nodes[*b].name());
        match &look.order {
            Order::Visit if look.is_reversed => shown.reverse(),
            Order::Visit => {}
            Order::Name => sort(&mut shown, look, by_name),
            Order::Zone => sort(&mut shown, look, |a, b| {
                zone(Some(&nodes[*a])).cmp(&zone(Some(&nodes[*b]))).then_with(|| by_name(a, b))
            }),
            Order::Best => {
                sort(&mut shown, look, |a, b| rank(&verdicts[*a]).cmp(&rank(&verdicts[*b])));
            }
            Order::Column(plugin) => {
                let column = filter.plugins.iter().position(|other| **other == **plugin);
                let key = |index: &usize| answer_of(filter, &verdicts[*index], column);
                sort(&mut shown, look, |a, b| key(a).cmp(&key(b)));
            }
        }
        let n_shown = shown.len();
        Self { rows: rows(shown, trace, look, facts), n_shown, n_nodes }
    }

    fn of_scores(trace: &CycleTrace, look: &Look, facts: &Facts) -> Self {
        let Some(score) = &trace.score else { return Self::default() };
        let asked = Filter::new(&look.query, trace);
        let n_nodes = score.nodes.len();
        let needs_nodes = look.query.is_on() || look.order == Order::Zone;
        let positions: Vec<Option<usize>> = if needs_nodes {
            score.nodes.iter().map(|name| trace.snapshot.position(name)).collect()
        } else {
            Vec::new()
        };
        let node = |index: usize| {
            let position = positions.get(index).copied().flatten()?;
            trace.nodes().get(position).map(AsRef::as_ref)
        };
        let verdict = |index: usize| {
            let position = positions.get(index).copied().flatten()?;
            trace.filter.as_ref()?.verdicts.get(position)
        };
        let mut shown: Vec<usize> = (0..n_nodes)
            .filter(|index| {
                let name = &score.nodes[*index];
                let (node, verdict) = (node(*index), verdict(*index));
                asked.admits(Asked { name, node, verdict, scored: Some(*index) })
            })
            .collect();
        let total = |index: &usize| score.scores.totals.get(*index).copied().unwrap_or_default();
        let by_name = |a: &usize, b: &usize| score.nodes[*a].cmp(&score.nodes[*b]);
        match &look.order {
            Order::Visit if look.is_reversed => shown.reverse(),
            Order::Visit => {}
            Order::Name => sort(&mut shown, look, by_name),
            Order::Zone => {
                sort(&mut shown, look, |a, b| {
                    zone(node(*a)).cmp(&zone(node(*b))).then_with(|| by_name(a, b))
                });
            }
            Order::Best => sort(&mut shown, look, |a, b| total(b).cmp(&total(a))),
            Order::Column(plugin) => {
                let column = score.scores.plugins.iter().position(|scores| *scores.plugin == **plugin);
                let key = |index: &usize| column.and_then(|column| points(score, column, *index));
                // Of equal points the better total stands first.
                sort(&mut shown, look, |a, b| (key(b), total(b)).cmp(&(key(a), total(a))));
            }
        }
        let n_shown = shown.len();
        Self { rows: rows(shown, trace, look, facts), n_shown, n_nodes }
    }

    /// What a row is.
    pub(super) fn key(&self, index: usize, trace: &CycleTrace, kind: CellKind, facts: &Facts) -> RowKey {
        match self.rows.get(index) {
            Some(MatrixRow::Node(node)) => RowKey::Node(node_name(trace, kind, *node)),
            Some(MatrixRow::Class { index, .. }) => {
                RowKey::Class(facts.classes(trace, kind).name_of(*index, trace, kind))
            }
            None => RowKey::Node(Str::from("")),
        }
    }
}

/// Sorts, keeping the order of equals.
fn sort(shown: &mut [usize], look: &Look, compare: impl Fn(&usize, &usize) -> Ordering) {
    shown.sort_by(|a, b| if look.is_reversed { compare(b, a) } else { compare(a, b) });
}

fn zone(node: Option<&NodeInfo>) -> Option<&str> {
    node.and_then(|node| label(node, ZONE_LABEL))
}

/// What the plugin of a column said of a node, the best first: nothing against it, a rejection, or it was not asked.
fn answer_of<'t>(
    filter: &FilterTrace,
    verdict: &'t NodeVerdict,
    column: Option<usize>,
) -> (u8, Reverse<u8>, &'t [String]) {
    const PASSED: u8 = 0;
    const REJECTED: u8 = 1;
    const NOT_ASKED: u8 = 2;
    let Some(column) = column else { return (NOT_ASKED, Reverse(0), &[]) };
    match verdict {
        NodeVerdict::Feasible => (PASSED, Reverse(0), &[]),
        NodeVerdict::Rejected(status) => {
            let last = filter.plugins.iter().position(|plugin| *plugin == status.plugin());
            match last.map(|last| column.cmp(&last)) {
                Some(Ordering::Equal) => {
                    let is_hopeless = status.code() == Code::UnschedulableAndUnresolvable;
                    (REJECTED, Reverse(u8::from(!is_hopeless)), status.reasons())
                }
                Some(Ordering::Greater) => (NOT_ASKED, Reverse(0), &[]),
                Some(Ordering::Less) | None => (PASSED, Reverse(0), &[]),
            }
        }
        NodeVerdict::Excluded | NodeVerdict::NotEvaluated => (NOT_ASKED, Reverse(0), &[]),
    }
}

/// The name of a node by its place.
pub(super) fn node_name(trace: &CycleTrace, kind: CellKind, index: usize) -> Str {
    let name = match kind {
        CellKind::Filter => trace.nodes().get(index).map(|node| node.name()),
        CellKind::Score => trace.score.as_ref().and_then(|score| score.nodes.get(index)),
    };
    name.cloned().unwrap_or_else(|| Str::from(""))
}

fn rows(shown: Vec<usize>, trace: &CycleTrace, look: &Look, facts: &Facts) -> Vec<MatrixRow> {
    if look.folds || !look.turned.is_empty() {
        folded(&shown, trace, facts.classes(trace, look.kind), look)
    } else {
        shown.into_iter().map(MatrixRow::Node).collect()
    }
}

/// The rows with classes folded, each where its first node stands.
fn folded(shown: &[usize], trace: &CycleTrace, classes: &Classes, look: &Look) -> Vec<MatrixRow> {
    // Counted first: a vector for each class would be one for each node where no two fared the same.
    let mut n_shown = vec![0_usize; classes.len()];
    for index in shown {
        if let Some(n) = n_shown.get_mut(classes.of(*index)) {
            *n += 1;
        }
    }
    let mut is_begun = vec![false; classes.len()];
    let is_turned = |class: usize| look.turned.contains(&classes.name(class, trace, look.kind));
    let is_turned: Vec<bool> =
        if look.turned.is_empty() { Vec::new() } else { (0..classes.len()).map(is_turned).collect() };
    let mut rows = Vec::new();
    for index in shown {
        let class = classes.of(*index);
        let n = n_shown.get(class).copied().unwrap_or_default();
        let is_turned = is_turned.get(class) == Some(&true);
        let folds = look.folds && !classes.stays_unfolded(class, n);
        if n < N_FOLDED_FROM || !folds && !is_turned {
            rows.push(MatrixRow::Node(*index));
        } else if let Some(is_begun) = is_begun.get_mut(class).filter(|is_begun| !**is_begun) {
            *is_begun = true;
            let is_open = folds && is_turned;
            rows.push(MatrixRow::Node(*index));
            rows.push(MatrixRow::Class { index: *index, n: n - 1, is_open });
            if is_open {
                let others = shown.iter().filter(|other| classes.of(**other) == class).skip(1);
                rows.extend(others.map(|index| MatrixRow::Node(*index)));
            }
        }
    }
    rows
}

/// A verdict in a few words.
pub(super) fn verdict_text(verdict: &NodeVerdict) -> String {
    match verdict {
        NodeVerdict::Feasible => String::from("fits"),
        NodeVerdict::Rejected(status) => said(status),
        NodeVerdict::Excluded => String::from("left out by PreFilter"),
        NodeVerdict::NotEvaluated => String::from("not looked at"),
    }
}

fn said(status: &Status) -> String {
    const INSUFFICIENT: &str = "Insufficient ";
    let mut text = String::new();
    for reason in status.reasons() {
        let reason = explain::short_reason(reason);
        // The sign before it says that it did not match.
        let reason = reason.strip_prefix("didn't match ").unwrap_or(reason);
        let reason = reason.strip_prefix("Pod's ").unwrap_or(reason);
        // `Insufficient cpu, memory` is as clear, and fits where the whole would not.
        let rest = reason.strip_prefix(INSUFFICIENT).filter(|_| text.starts_with(INSUFFICIENT));
        text.push_str(if text.is_empty() { "" } else { ", " });
        text.push_str(rest.unwrap_or(reason));
    }
    if text.is_empty() { status.code().to_string() } else { text }
}
