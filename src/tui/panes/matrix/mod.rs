//! The matrix pane: nodes against Filter plugins, then nodes against scores.
//!
//! A row ends with the first plugin that turned the node down; nodes that fared the same fold into one row. With
//! scores, the columns are points and the rows stand in the order of their totals.

mod classes;
mod draw;
mod facts;
mod model;
mod query;

use std::collections::BTreeSet;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use self::draw::{Drawer, Geometry};
use self::facts::Facts;
use self::model::{Look, MatrixRow, Model, Order, RowKey, node_name};
use self::query::Query;
use super::{CellKind, Cx, Outcome, Pane, PaneId, Request, Subject};
use crate::api::Str;
use crate::explain;
use crate::scheduler::trace::{CycleTrace, NodeVerdict};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::{frame, text};

/// The plugin whose cell is looked at where no other decided.
const FIT: &str = "NodeResourcesFit";

/// Which of its three numbers a score shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Points {
    /// Normalized, times the plugin's weight: what adds up to the total.
    #[default]
    Weighted,
    /// 0 to 100.
    Normalized,
    /// As the plugin gave it.
    Raw,
}

impl Points {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Weighted => "weighted",
            Self::Normalized => "normalized",
            Self::Raw => "raw",
        }
    }
}

/// The matrix pane.
#[derive(Debug, Default)]
pub struct MatrixPane {
    query: Query,
    /// Verdicts or scores, if a person chose in this attempt; otherwise what the attempt has come to.
    chosen: Option<(u64, CellKind)>,
    points: Points,
    verdict_order: Option<Order>,
    score_order: Option<Order>,
    is_reversed: bool,
    /// Whether the columns that decide stand first, if a person chose; otherwise they do when not all are visible.
    deciding_first: Option<bool>,
    /// Whether classes fold, if a person chose; otherwise they do when the nodes do not fit.
    folds: Option<bool>,
    turned: BTreeSet<String>,
    cursor: Cursor<RowKey>,
    /// The plugin whose cell is selected, if a person chose one; otherwise the one that decided.
    column: Option<Str>,
    /// How many columns are scrolled away to the left.
    first_column: usize,
    area: Rect,
    drawn: Option<Geometry>,
    cache: Option<Cache>,
}

/// What was made of an attempt, and from what: drawing the same again costs only what is visible.
#[derive(Debug)]
struct Cache {
    trace: Arc<CycleTrace>,
    look: Look,
    facts: Arc<Facts>,
    model: Model,
}

impl Cache {
    fn key(&self, index: usize) -> RowKey {
        self.model.key(index, &self.trace, self.look.kind, &self.facts)
    }
}

impl MatrixPane {
    /// Following the attempt, with nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Verdicts or scores.
    fn kind(&self, trace: &CycleTrace) -> CellKind {
        match self.chosen {
            Some((number, kind)) if number == trace.number => kind,
            _ if trace.score.is_some() => CellKind::Score,
            _ => CellKind::Filter,
        }
    }

    fn look(&self, trace: &CycleTrace) -> Look {
        let kind = self.kind(trace);
        let order = match kind {
            CellKind::Filter => self.verdict_order.clone().unwrap_or(Order::Visit),
            CellKind::Score => self.score_order.clone().unwrap_or(Order::Best),
        };
        let n_nodes = match (kind, &trace.score) {
            (CellKind::Score, Some(score)) => score.nodes.len(),
            _ => trace.nodes().len(),
        };
        let fits = n_nodes <= usize::from(self.area.height);
        Look {
            kind,
            order,
            is_reversed: self.is_reversed,
            folds: self.folds.unwrap_or(!fits),
            turned: self.turned.clone(),
            query: self.query.clone(),
        }
    }

    /// Brings rows and selection up to date; the attempt, if it has rows.
    fn sync(&mut self, cx: &Cx<'_>) -> Option<Arc<CycleTrace>> {
        let trace = cx.view.scheduler.cycle.as_ref()?;
        let look = self.look(trace);
        let known = self.cache.as_ref().filter(|cache| Arc::ptr_eq(&cache.trace, trace));
        if known.is_none_or(|cache| cache.look != look) {
            let facts = known.map(|cache| Arc::clone(&cache.facts));
            let before = self.cache.as_ref().map(|cache| (&*cache.trace, &*cache.facts));
            let facts = facts.unwrap_or_else(|| Arc::new(Facts::new(trace, before)));
            let model = Model::new(trace, &look, &facts);
            self.cache = Some(Cache { trace: Arc::clone(trace), look, facts, model });
        }
        let cache = self.cache.as_ref()?;
        self.cursor.sync(cache.model.rows.len(), |index| cache.key(index));
        Some(Arc::clone(trace))
    }

    fn plugins(&self, trace: &CycleTrace) -> Vec<&'static str> {
        match self.kind(trace) {
            CellKind::Filter => {
                trace.filter.as_ref().map(|filter| filter.plugins.clone()).unwrap_or_default()
            }
            CellKind::Score => trace
                .score
                .as_ref()
                .map(|score| score.scores.plugins.iter().map(|scores| scores.plugin).collect())
                .unwrap_or_default(),
        }
    }

    /// The selected node, or the one that stands for the selected class; by its place.
    fn selected_index(&self) -> Option<usize> {
        let cache = self.cache.as_ref()?;
        match cache.model.rows.get(self.cursor.index()?)? {
            MatrixRow::Node(index) | MatrixRow::Class { index, .. } => Some(*index),
        }
    }

    /// The column of the selected cell, and whether that column was chosen or decided rather than taken for want
    /// of a better one.
    fn selected_column(&self, trace: &CycleTrace) -> Option<(usize, bool)> {
        let plugins = self.plugins(trace);
        let position = |name: &str| plugins.iter().position(|plugin| *plugin == name);
        if let Some(column) = self.column.as_ref().and_then(|column| position(column)) {
            return Some((column, true));
        }
        let decided = match self.kind(trace) {
            CellKind::Filter => {
                let verdict = trace.filter.as_ref()?.verdicts.get(self.selected_index()?)?;
                match verdict {
                    NodeVerdict::Rejected(status) => position(status.plugin()),
                    NodeVerdict::Feasible | NodeVerdict::Excluded | NodeVerdict::NotEvaluated => None,
                }
            }
            CellKind::Score => {
                let facts = &self.cache.as_ref()?.facts;
                facts.margins.first().and_then(|(plugin, _)| position(plugin))
            }
        };
        if let Some(column) = decided {
            return Some((column, true));
        }
        // Room is what a person asks for first.
        let column = position(FIT).unwrap_or_default();
        (!plugins.is_empty()).then_some((column, false))
    }

    fn move_column(&mut self, trace: &CycleTrace, forward: bool) {
        let plugins = self.plugins(trace);
        let Some((at, _)) = self.selected_column(trace) else { return };
        // To the neighbour as the columns stand on the screen.
        let order: Vec<usize> = match &self.drawn {
            Some(drawn) if drawn.order().len() == plugins.len() => drawn.order().to_vec(),
            _ => (0..plugins.len()).collect(),
        };
        let at = order.iter().position(|column| *column == at).unwrap_or_default();
        let to = if forward { at + 1 } else { at.saturating_sub(1) };
        if let Some(plugin) = order.get(to).and_then(|column| plugins.get(*column)) {
            self.column = Some(Str::from(*plugin));
        }
    }

    fn set_order(&mut self, trace: &CycleTrace, order: Order) {
        match self.kind(trace) {
            CellKind::Filter => self.verdict_order = Some(order),
            CellKind::Score => self.score_order = Some(order),
        }
        self.is_reversed = false;
    }

    /// Whether the columns that decide stand first.
    fn puts_deciding_first(&self) -> bool {
        self.deciding_first.unwrap_or_else(|| self.drawn.as_ref().is_some_and(Geometry::is_rearranged))
    }

    /// Verdicts, weighted, normalized and raw scores, one after the other.
    fn next_mode(&mut self, trace: &CycleTrace, forward: bool) {
        const MODES: [(CellKind, Points); 4] = [
            (CellKind::Filter, Points::Weighted),
            (CellKind::Score, Points::Weighted),
            (CellKind::Score, Points::Normalized),
            (CellKind::Score, Points::Raw),
        ];
        let kind = self.kind(trace);
        let at = MODES
            .iter()
            .position(|(k, points)| *k == kind && (kind == CellKind::Filter || *points == self.points))
            .unwrap_or_default();
        let to = if forward { at + 1 } else { at + MODES.len() - 1 } % MODES.len();
        let (kind, points) = MODES[to];
        self.chosen = Some((trace.number, kind));
        self.points = points;
    }

    /// Folds or unfolds the class of the selected row.
    fn toggle_class(&mut self) {
        let (Some(index), Some(cache)) = (self.selected_index(), &self.cache) else { return };
        let classes = cache.facts.classes(&cache.trace, cache.look.kind);
        if !classes.can_fold(index) {
            return;
        }
        let class = classes.name_of(index, &cache.trace, cache.look.kind);
        if !self.turned.remove(&class) {
            self.turned.insert(class.clone());
        }
        if let Some(RowKey::Node(_)) = self.cursor.key() {
            // The row itself may be folded away; the line that stands for it is there either way.
            self.select_key(&RowKey::Class(class));
        }
    }

    fn select_key(&mut self, key: &RowKey) -> bool {
        let Some(cache) = &self.cache else { return false };
        self.cursor.select_key(key, |index| cache.key(index))
    }

    fn is_open_class(&self) -> Option<bool> {
        let cache = self.cache.as_ref()?;
        match cache.model.rows.get(self.cursor.index()?)? {
            MatrixRow::Class { is_open, .. } => Some(*is_open),
            MatrixRow::Node(_) => None,
        }
    }

    fn subject(&self) -> Option<Subject> {
        let Cache { trace, look, .. } = self.cache.as_ref()?;
        let node = node_name(trace, look.kind, self.selected_index()?);
        let plugin =
            self.plugins(trace).get(self.selected_column(trace)?.0).map(|plugin| Str::from(*plugin))?;
        Some(Subject::Cell { node, plugin, kind: look.kind })
    }
}

impl Pane for MatrixPane {
    fn id(&self) -> PaneId {
        PaneId::Matrix
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let muted = cx.theme.style(Role::Muted);
        let dot = cx.glyphs.dot;
        let mut spans = vec![Span::raw("matrix")];
        if let Some(trace) = &cx.view.scheduler.cycle {
            let look = self.look(trace);
            let mut parts = match look.kind {
                CellKind::Filter => {
                    let n = explain::counted(trace.nodes().len(), "node");
                    format!(" {dot} filter {dot} {n}")
                }
                CellKind::Score => {
                    let n = trace.score.as_ref().map_or(0, |score| score.nodes.len());
                    let n = explain::counted(n, "node");
                    format!(" {dot} score {dot} {} {dot} {n}", self.points.as_str())
                }
            };
            parts.push_str(&format!(" {dot} {}", look.order.text(look.is_reversed)));
            spans.push(Span::styled(parts, muted));
        }
        if let Some(mistake) = &self.query.mistake {
            spans.push(Span::styled(format!(" {dot} "), muted));
            spans.push(text::span(mistake, cx.theme.style(Role::Error)));
        }
        Line::from(spans)
    }

    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        let filter = cx.view.scheduler.cycle.as_ref().and_then(|trace| trace.filter.as_ref());
        filter.map(|filter| format!("{}/{}", filter.n_feasible(), filter.verdicts.len())).unwrap_or_default()
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Matrix, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let Some(trace) = self.sync(cx) else { return Outcome::Ignored };
        match action {
            Action::ScrollLeft => self.move_column(&trace, false),
            Action::ScrollRight => self.move_column(&trace, true),
            Action::NextMode => self.next_mode(&trace, true),
            Action::PreviousMode => self.next_mode(&trace, false),
            Action::NextSection | Action::PreviousSection => {
                let other = match self.kind(&trace) {
                    CellKind::Filter => CellKind::Score,
                    CellKind::Score => CellKind::Filter,
                };
                self.chosen = Some((trace.number, other));
            }
            Action::NextSort => {
                let next = self.look(&trace).order.next();
                self.set_order(&trace, next);
            }
            Action::SortByColumn => {
                let plugins = self.plugins(&trace);
                let Some(plugin) = self.selected_column(&trace).and_then(|(at, _)| plugins.get(at)) else {
                    return Outcome::Ignored;
                };
                let order = Order::Column(Str::from(*plugin));
                if self.look(&trace).order == order {
                    self.is_reversed = !self.is_reversed;
                } else {
                    self.set_order(&trace, order);
                }
            }
            Action::ReverseSort => self.is_reversed = !self.is_reversed,
            Action::DecidingFirst => self.deciding_first = Some(!self.puts_deciding_first()),
            Action::ToggleFold => self.toggle_class(),
            Action::Fold if self.is_open_class() != Some(false) => self.toggle_class(),
            Action::Unfold if self.is_open_class() == Some(false) => self.toggle_class(),
            Action::FoldAll | Action::UnfoldAll => {
                self.folds = Some(action == Action::FoldAll);
                self.turned.clear();
            }
            Action::Open if self.is_open_class().is_some() => self.toggle_class(),
            Action::Open => {
                return match self.subject() {
                    Some(subject) => Outcome::Request(Request::OpenDetails(subject)),
                    None => Outcome::Ignored,
                };
            }
            _ => {
                let Some(cache) = &self.cache else { return Outcome::Ignored };
                if !self.cursor.handle(action, |index| cache.key(index)) {
                    return Outcome::Ignored;
                }
            }
        }
        self.sync(cx);
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let area = area.intersection(buf.area);
        self.drawn = None;
        if area.is_empty() {
            return;
        }
        let n_head = if area.height > 4 { 2 } else { 1 };
        self.area =
            Rect { y: area.y + n_head.min(area.height), height: area.height.saturating_sub(n_head), ..area };
        let Some(trace) = self.sync(cx) else {
            let (phase, cycle) = (cx.key(Action::StepPhase), cx.key(Action::StepCycle));
            let why =
                format!("No pod has been tried yet. Press {phase} for one phase, {cycle} for a whole cycle.");
            frame::empty(area, buf, &why, cx);
            return;
        };
        let selected_column = self.selected_column(&trace).filter(|(_, is_marked)| *is_marked);
        let selected_column = selected_column.map(|(column, _)| column);
        // Only a choice scrolls: with the rows' own columns the matrix would go to and fro.
        let wanted_column = selected_column.filter(|_| self.column.is_some());
        let Some(Cache { look, facts, model, .. }) = &self.cache else { return };
        if let Some(why) = why_empty(&trace, look, model, cx) {
            frame::empty(area, buf, &why, cx);
            return;
        }
        self.cursor.set_height(usize::from(self.area.height));
        let points = self.points;
        let drawer =
            Drawer { trace: &trace, look, facts, model, points, deciding_first: self.deciding_first, cx };
        let geometry = drawer.geometry(area, n_head, wanted_column, self.first_column);
        self.first_column = geometry.first_column();
        drawer.render(area, buf, &geometry, &self.cursor, selected_column);
        self.drawn = Some(geometry);
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        let Some(trace) = self.sync(cx) else { return Outcome::Ignored };
        let (Some(geometry), Some(cache)) = (&self.drawn, &self.cache) else {
            return Outcome::Ignored;
        };
        let plugin =
            geometry.column_at(position.x).and_then(|column| self.plugins(&trace).get(column).copied());
        let row = usize::from(position.y.saturating_sub(self.area.y)) + self.cursor.offset();
        if !self.area.contains(position) || row >= cache.model.rows.len() {
            return Outcome::Ignored;
        }
        let was_selected = self.cursor.index() == Some(row);
        self.cursor.select(row, |index| cache.key(index));
        if let Some(plugin) = plugin {
            self.column = Some(Str::from(plugin));
        }
        if was_selected && self.is_open_class().is_some() {
            self.toggle_class();
        }
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.query = Query::parse(filter.unwrap_or_default());
    }

    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) -> bool {
        let Some(node) = subject.node() else { return false };
        let Some(trace) = cx.view.scheduler.cycle.clone() else { return false };
        if let Subject::Cell { plugin, kind, .. } = subject {
            let is_made = match kind {
                CellKind::Filter => trace.filter.is_some(),
                CellKind::Score => trace.score.is_some(),
            };
            if is_made {
                self.chosen = Some((trace.number, *kind));
                self.column = Some(plugin.clone());
            }
        }
        self.sync(cx);
        let key = RowKey::Node(node.clone());
        if self.select_key(&key) {
            return true;
        }
        // It may be folded away with others that fared the same.
        let class = self.cache.as_ref().and_then(|cache| {
            let at = match cache.look.kind {
                CellKind::Filter => trace.snapshot.position(node)?,
                CellKind::Score => trace.score.as_ref()?.nodes.iter().position(|name| name == node)?,
            };
            let classes = cache.facts.classes(&trace, cache.look.kind);
            classes.can_fold(at).then(|| classes.name_of(at, &trace, cache.look.kind))
        });
        let Some(class) = class.filter(|class| !self.turned.contains(class)) else { return false };
        self.turned.insert(class.clone());
        self.sync(cx);
        let is_there = self.select_key(&key);
        if !is_there {
            // The filter leaves it out.
            self.turned.remove(&class);
            self.sync(cx);
        }
        is_there
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        self.subject()
    }
}

/// Why there are no rows, if there are none.
fn why_empty(trace: &CycleTrace, look: &Look, model: &Model, cx: &Cx<'_>) -> Option<String> {
    if !model.rows.is_empty() {
        return None;
    }
    let why = match look.kind {
        _ if look.query.is_on() => return Some(String::from("No node matches.")),
        CellKind::Filter if trace.filter.is_none() => explain::no_filter(trace),
        CellKind::Score if trace.score.is_none() => explain::no_scores(trace),
        CellKind::Filter | CellKind::Score => return Some(String::from("There are no nodes.")),
    };
    Some(match explain::next_phase(trace) {
        Some(next) => format!("{why} Press {} for {next}.", cx.key(Action::StepPhase)),
        None => why,
    })
}
