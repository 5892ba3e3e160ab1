//! The rows of the matrix: which nodes, in which order, and which of them stand for others that fared the same.
//!
//! Made once for an attempt and kept until the attempt or the way of looking at it changes: drawing then costs
//! only the rows that are visible, however many nodes there are.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::api::Str;
use crate::explain;
use crate::framework::{Code, Status};
use crate::scheduler::trace::{CycleTrace, NodeVerdict};
use crate::tui::panes::CellKind;
use crate::tui::panes::find::Find;
use crate::tui::widgets::text;

/// Up to so many feasible nodes are shown one by one.
const N_FEASIBLE_UNFOLDED: usize = 8;
/// From so many nodes of one class on, one of them stands for the others.
const N_FOLDED_FROM: usize = 3;

/// The order of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As the search visited the nodes.
    Visit,
    /// By name.
    Name,
    /// The best first: by total, or what fits before what does not.
    Best,
}

impl Order {
    /// The next one.
    pub(super) const fn next(self) -> Self {
        match self {
            Self::Visit => Self::Name,
            Self::Name => Self::Best,
            Self::Best => Self::Visit,
        }
    }

    /// In a word or two.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Visit => "in order of visit",
            Self::Name => "by name",
            Self::Best => "best first",
        }
    }
}

/// How the matrix is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) kind: CellKind,
    pub(super) order: Order,
    pub(super) folds: bool,
    /// Classes that are shown the other way than `folds` says.
    pub(super) turned: BTreeSet<String>,
    pub(super) find: Find,
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
    /// The widest name of a node.
    pub(super) name_width: usize,
}

/// What nodes of one class have in common.
type Class<'t> = (u8, &'t str, &'t [String]);

impl Model {
    /// Makes the rows.
    pub(super) fn new(trace: &CycleTrace, look: &Look) -> Self {
        match look.kind {
            CellKind::Filter => Self::of_verdicts(trace, look),
            CellKind::Score => Self::of_scores(trace, look),
        }
    }

    fn of_verdicts(trace: &CycleTrace, look: &Look) -> Self {
        let nodes = trace.nodes();
        let Some(filter) = &trace.filter else { return Self::default() };
        let verdicts = &filter.verdicts;
        let n_nodes = nodes.len().min(verdicts.len());
        let mut shown: Vec<usize> = (0..n_nodes)
            .map(|i| (i + filter.start_index) % n_nodes)
            .filter(|index| {
                let (_, plugin, reasons) = class(&verdicts[*index]);
                let texts = [nodes[*index].name().as_ref(), plugin];
                look.find.matches(texts.into_iter().chain(reasons.iter().map(String::as_str)))
            })
            .collect();
        match look.order {
            Order::Visit => {}
            Order::Name => shown.sort_by(|a, b| nodes[*a].name().cmp(nodes[*b].name())),
            Order::Best => shown.sort_by_key(|index| class(&verdicts[*index]).0),
        }
        let rows = if look.folds || !look.turned.is_empty() {
            folded(&shown, verdicts, look)
        } else {
            shown.into_iter().map(MatrixRow::Node).collect()
        };
        Self { rows, name_width: widest(nodes.iter().map(|node| node.name())) }
    }

    fn of_scores(trace: &CycleTrace, look: &Look) -> Self {
        let Some(score) = &trace.score else { return Self::default() };
        let total = |index: &usize| score.scores.totals.get(*index).copied().unwrap_or_default();
        let mut shown: Vec<usize> = (0..score.nodes.len())
            .filter(|index| look.find.matches([score.nodes[*index].as_ref()]))
            .collect();
        match look.order {
            Order::Visit => {}
            Order::Name => shown.sort_by(|a, b| score.nodes[*a].cmp(&score.nodes[*b])),
            Order::Best => shown.sort_by_key(|index| Reverse(total(index))),
        }
        let rows = shown.into_iter().map(MatrixRow::Node).collect();
        Self { rows, name_width: widest(score.nodes.iter()) }
    }

    /// What a row is.
    pub(super) fn key(&self, index: usize, trace: &CycleTrace, kind: CellKind) -> RowKey {
        match self.rows.get(index) {
            Some(MatrixRow::Node(node)) => RowKey::Node(node_name(trace, kind, *node)),
            Some(MatrixRow::Class { index, .. }) => RowKey::Class(class_name(trace, *index)),
            None => RowKey::Node(Str::from("")),
        }
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

/// The rows with classes folded, each where its first node stands.
fn folded(shown: &[usize], verdicts: &[NodeVerdict], look: &Look) -> Vec<MatrixRow> {
    let mut members: BTreeMap<Class<'_>, Vec<usize>> = BTreeMap::new();
    for index in shown {
        members.entry(class(&verdicts[*index])).or_default().push(*index);
    }
    let mut rows = Vec::new();
    for index in shown {
        let class = class(&verdicts[*index]);
        let all = members.get(&class).map_or(&[][..], Vec::as_slice);
        let is_turned = look.turned.contains(&name_of(class));
        let folds = look.folds && !(class.0 == FEASIBLE && all.len() <= N_FEASIBLE_UNFOLDED);
        if all.len() < N_FOLDED_FROM || !folds && !is_turned {
            rows.push(MatrixRow::Node(*index));
        } else if all.first() == Some(index) {
            let is_open = folds && is_turned;
            rows.push(MatrixRow::Node(*index));
            rows.push(MatrixRow::Class { index: *index, n: all.len() - 1, is_open });
            if is_open {
                rows.extend(all.iter().skip(1).map(|index| MatrixRow::Node(*index)));
            }
        }
    }
    rows
}

const FEASIBLE: u8 = 0;

/// The class of a verdict; lower ones are better.
fn class(verdict: &NodeVerdict) -> Class<'_> {
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

fn name_of((rank, plugin, reasons): Class<'_>) -> String {
    format!("{rank} {plugin} {}", reasons.join(", "))
}

/// The class of the node at `index` of the snapshot, as a key.
pub(super) fn class_name(trace: &CycleTrace, index: usize) -> String {
    let verdict = trace.filter.as_ref().and_then(|filter| filter.verdicts.get(index));
    verdict.map(|verdict| name_of(class(verdict))).unwrap_or_default()
}

/// Whether so many nodes fared like the one at `index` that they can fold.
pub(super) fn can_fold(trace: &CycleTrace, index: usize) -> bool {
    let Some(filter) = &trace.filter else { return false };
    let Some(wanted) = filter.verdicts.get(index).map(class) else { return false };
    filter.verdicts.iter().filter(|verdict| class(verdict) == wanted).take(N_FOLDED_FROM).count()
        == N_FOLDED_FROM
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

fn widest<'n>(names: impl Iterator<Item = &'n Str>) -> usize {
    names.map(|name| text::width(&text::clean(name))).max().unwrap_or_default()
}
