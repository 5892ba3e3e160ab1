//! The nodes pane: zone by zone, how much of each node is asked for, and what keeps pods away.

mod packing;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use self::packing::Picture;
use super::find::Find;
use super::{Cx, Outcome, Pane, PaneId, Request, Subject, names};
use crate::api::Str;
use crate::explain::amount;
use crate::explain::{self, Packing, ResourceUse};
use crate::framework::NodeInfo;
use crate::framework::resource::names as resources;
use crate::scheduler::view::View;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::{Cell, Column, Row, Table, Width, cell, spans};
use crate::tui::widgets::{bar, frame, text};

/// The label that names a node's zone.
const ZONE_LABEL: &str = "topology.kubernetes.io/zone";
/// What a cordoned node's own taint is called.
const CORDON_TAINT: &str = "node.kubernetes.io/unschedulable";

/// What a row is, for the selection.
#[derive(Clone, Debug, PartialEq, Eq)]
enum RowKey {
    Zone(Str),
    Node(Str),
}

/// How the nodes are looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Look {
    /// All in one list instead of by zone.
    is_flat: bool,
    /// A block for each node instead of a row; by zone.
    is_picture: bool,
    /// The scarcest first instead of by name.
    by_scarcity: bool,
    folded: BTreeSet<Str>,
    find: Find,
}

#[derive(Clone, Debug)]
enum NodeRow {
    Zone(Zone),
    /// A node by its place in the view.
    Node(usize),
}

/// The nodes of one zone together.
#[derive(Clone, Debug)]
struct Zone {
    name: Str,
    n_nodes: usize,
    sums: [ResourceUse; 3],
}

/// What rows are made of. Most nodes are the same objects from one view to the next and are not looked at again.
#[derive(Clone, Debug, Default)]
struct NodeFacts {
    /// In the order of the view.
    nodes: Vec<NodeFact>,
    /// The numbers of zones, by name.
    zones: BTreeMap<Str, usize>,
}

#[derive(Clone, Debug)]
struct NodeFact {
    node: Arc<NodeInfo>,
    zone: usize,
    name_width: usize,
    /// What is asked for of what there is: CPU, memory, pods.
    uses: [(i64, i64); 3],
    /// In per cent.
    scarcity: i64,
    /// What a filter looks through, a line each: its name, its zone and the keys of its taints.
    texts: Box<str>,
}

impl NodeFacts {
    /// Brings them up to date; the answer is how many nodes had to be looked at.
    fn update(&mut self, nodes: &[Arc<NodeInfo>]) -> usize {
        let before = std::mem::take(&mut self.nodes);
        let mut known = before.into_iter().peekable();
        let mut n_new = 0;
        self.nodes.reserve(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            // Where nodes came or went, the others have moved to the side.
            if known.len() > nodes.len() - at {
                known.next_if(|fact| !Arc::ptr_eq(&fact.node, node));
            }
            let is_here = known.peek().is_some_and(|fact| Arc::ptr_eq(&fact.node, node));
            let is_known = is_here || known.len() >= nodes.len() - at;
            let fact = if is_known { known.next().filter(|_| is_here) } else { None };
            let fact = fact.unwrap_or_else(|| {
                n_new += 1;
                self.fact(node)
            });
            self.nodes.push(fact);
        }
        n_new
    }

    fn fact(&mut self, node: &Arc<NodeInfo>) -> NodeFact {
        let zone = node.node().and_then(|node| node.metadata.labels.get(ZONE_LABEL)).cloned();
        let zone = zone.unwrap_or_else(|| Str::from(""));
        let n_zones = self.zones.len();
        let zone = *self.zones.entry(zone).or_insert(n_zones);
        let (used, there) = (node.requested(), node.allocatable());
        let n_pods = i64::try_from(node.pods().len()).unwrap_or(i64::MAX);
        NodeFact {
            node: Arc::clone(node),
            zone,
            name_width: text::width(&text::clean(node.name())),
            uses: [
                (used.milli_cpu, there.milli_cpu),
                (used.memory, there.memory),
                (n_pods, there.allowed_pod_number),
            ],
            scarcity: scarcity(node),
            texts: texts(node),
        }
    }
}

/// Rows, made once for a view.
#[derive(Clone, Debug)]
struct Model {
    rows: Vec<NodeRow>,
    name_width: usize,
    /// How many nodes the filter lets through, folded ones included.
    n_shown: usize,
}

/// The nodes pane.
#[derive(Debug, Default)]
pub struct NodesPane {
    look: Look,
    cursor: Cursor<RowKey>,
    area: Rect,
    cache: Option<(Arc<View>, Look, Model)>,
    facts: NodeFacts,
    /// Where the blocks stand, where they are shown.
    picture: Picture,
    /// What is told above them, made once for a view.
    sums: Option<(Arc<View>, Packing)>,
}

impl NodesPane {
    /// By zone and name, nothing folded.
    pub fn new() -> Self {
        Self::default()
    }

    fn sync(&mut self, cx: &Cx<'_>) {
        let view = &cx.view.scheduler;
        let is_current = self
            .cache
            .as_ref()
            .is_some_and(|(known, look, _)| Arc::ptr_eq(known, view) && *look == self.look);
        if !is_current {
            self.facts.update(&view.nodes);
            let model = Model::new(view, &self.facts, &self.look);
            self.cache = Some((Arc::clone(view), self.look.clone(), model));
        }
        if let Some((view, _, model)) = &self.cache {
            self.cursor.sync(model.rows.len(), |index| model.key(index, view));
        }
    }

    /// By zone, all in one list, as a picture, and so on.
    fn next_mode(&mut self) {
        let look = &mut self.look;
        (look.is_flat, look.is_picture) = match (look.is_flat, look.is_picture) {
            (false, false) => (true, false),
            (true, false) => (false, true),
            (_, true) => (false, false),
        };
    }

    fn step_by(&mut self, step: Action, n: usize) {
        let Some((view, _, model)) = &self.cache else { return };
        for _ in 0..n {
            self.cursor.handle(step, |index| model.key(index, view));
        }
    }

    /// The zone of the selected row.
    fn selected_zone(&self) -> Option<Str> {
        let (_, _, model) = self.cache.as_ref()?;
        let at = self.cursor.index()?;
        model.rows.iter().take(at + 1).rev().find_map(|row| match row {
            NodeRow::Zone(zone) => Some(zone.name.clone()),
            NodeRow::Node(_) => None,
        })
    }

    fn fold(&mut self, cx: &Cx<'_>, fold: impl Fn(bool) -> bool) {
        let Some(zone) = self.selected_zone() else { return };
        if fold(self.look.folded.contains(&zone)) {
            self.look.folded.insert(zone.clone());
        } else {
            self.look.folded.remove(&zone);
        }
        self.sync(cx);
        if let Some((view, _, model)) = self.cache.as_ref().filter(|_| self.look.folded.contains(&zone)) {
            self.cursor.select_key(&RowKey::Zone(zone), |index| model.key(index, view));
        }
    }
}

impl Model {
    fn new(view: &View, facts: &NodeFacts, look: &Look) -> Self {
        let mut zones: Vec<Vec<usize>> = vec![Vec::new(); facts.zones.len()];
        for (index, fact) in facts.nodes.iter().enumerate() {
            let is_shown = look.find.matches([&*fact.texts]);
            if let Some(zone) = zones.get_mut(fact.zone).filter(|_| is_shown) {
                zone.push(index);
            }
        }
        let names = facts.zones.iter().map(|(zone, at)| (zone, *at));
        let zones: Vec<(&Str, Vec<usize>)> = names
            .map(|(name, at)| (name, zones.get_mut(at).map(std::mem::take).unwrap_or_default()))
            .filter(|(_, nodes)| !nodes.is_empty())
            .collect();
        let has_zones = zones.iter().any(|(zone, _)| !zone.is_empty());
        let n_shown = zones.iter().map(|(_, nodes)| nodes.len()).sum();
        let mut rows = Vec::with_capacity(n_shown + zones.len());
        let fact = |index: &usize| facts.nodes.get(*index);
        let sorted = |mut indexes: Vec<usize>| {
            if look.by_scarcity {
                indexes.sort_by_key(|index| std::cmp::Reverse(fact(index).map_or(0, |fact| fact.scarcity)));
            }
            indexes
        };
        if look.is_flat || !has_zones {
            let mut all: Vec<usize> = zones.into_iter().flat_map(|(_, nodes)| nodes).collect();
            all.sort_unstable();
            rows.extend(sorted(all).into_iter().map(NodeRow::Node));
        } else {
            for (name, indexes) in zones {
                let is_folded = look.folded.contains(name) && !look.is_picture;
                let sums = sums(indexes.iter().filter_map(fact));
                rows.push(NodeRow::Zone(Zone { name: name.clone(), n_nodes: indexes.len(), sums }));
                if !is_folded {
                    rows.extend(sorted(indexes).into_iter().map(NodeRow::Node));
                }
            }
        }
        debug_assert_eq!(view.nodes.len(), facts.nodes.len());
        let name_width = facts.nodes.iter().map(|fact| fact.name_width).max().unwrap_or_default();
        Self { rows, name_width, n_shown }
    }

    fn key(&self, index: usize, view: &View) -> RowKey {
        match self.rows.get(index) {
            Some(NodeRow::Zone(zone)) => RowKey::Zone(zone.name.clone()),
            Some(NodeRow::Node(index)) => {
                RowKey::Node(view.nodes.get(*index).map_or_else(|| Str::from(""), |node| node.name().clone()))
            }
            None => RowKey::Node(Str::from("")),
        }
    }
}

/// What a filter looks through. It stands in one piece, since looking at 5,000 nodes takes a frame's time.
fn texts(node: &NodeInfo) -> Box<str> {
    let zone = node.node().and_then(|node| node.metadata.labels.get(ZONE_LABEL));
    let taints = node.node().map_or(&[][..], |node| &node.spec.taints);
    let texts = [node.name().as_ref(), zone.map(AsRef::as_ref).unwrap_or_default()];
    let taints = taints.iter().map(|taint| taint.key.as_ref());
    texts.into_iter().chain(taints).collect::<Vec<&str>>().join("\n").into_boxed_str()
}

fn nothing(resource: &'static str) -> ResourceUse {
    ResourceUse { resource: resource.into(), requested: 0, allocatable: 0 }
}

fn sums<'n>(nodes: impl Iterator<Item = &'n NodeFact>) -> [ResourceUse; 3] {
    let mut sums = [resources::CPU, resources::MEMORY, resources::PODS].map(nothing);
    for fact in nodes {
        for (sum, (requested, allocatable)) in sums.iter_mut().zip(fact.uses) {
            sum.requested = sum.requested.saturating_add(requested);
            sum.allocatable = sum.allocatable.saturating_add(allocatable);
        }
    }
    sums
}

/// How much of the scarcest resource is asked for, in per cent.
fn scarcity(node: &NodeInfo) -> i64 {
    explain::resource_uses(node).iter().filter_map(ResourceUse::percent).max().unwrap_or_default()
}

impl Pane for NodesPane {
    fn id(&self) -> PaneId {
        PaneId::Nodes
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let muted = cx.theme.style(Role::Muted);
        let nodes = &cx.view.scheduler.nodes;
        let n_shown = match &self.cache {
            Some((known, _, model)) if Arc::ptr_eq(known, &cx.view.scheduler) => model.n_shown,
            _ => nodes.len(),
        };
        let count = if n_shown < nodes.len() {
            format!(" {n_shown} of {}", nodes.len())
        } else {
            format!(" {}", nodes.len())
        };
        let mut spans = vec![Span::raw("nodes"), Span::styled(count, cx.theme.style(Role::Strong))];
        if self.look.is_picture {
            spans.push(Span::styled(format!(" {} packing", cx.glyphs.dot), muted));
        }
        if self.look.by_scarcity {
            spans.push(Span::styled(format!(" {} scarcest first", cx.glyphs.dot), muted));
        }
        Line::from(spans)
    }

    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        cx.view.scheduler.counts.nodes.to_string()
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Nodes, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        self.sync(cx);
        match action {
            Action::NextMode => self.next_mode(),
            Action::PreviousMode => {
                // Of three modes the one before is the next but one.
                self.next_mode();
                self.next_mode();
            }
            Action::ScrollLeft if self.look.is_picture => self.step_by(Action::SelectPrevious, 1),
            Action::ScrollRight if self.look.is_picture => self.step_by(Action::SelectNext, 1),
            Action::SelectNext | Action::SelectPrevious if self.look.is_picture => {
                self.step_by(action, self.picture.per_line());
            }
            Action::NextSort => self.look.by_scarcity = !self.look.by_scarcity,
            Action::Fold => self.fold(cx, |_| true),
            Action::Unfold => self.fold(cx, |_| false),
            Action::ToggleFold => self.fold(cx, |is_folded| !is_folded),
            Action::FoldAll => {
                let Some((_, _, model)) = &self.cache else { return Outcome::Ignored };
                self.look.folded.extend(model.rows.iter().filter_map(|row| match row {
                    NodeRow::Zone(zone) => Some(zone.name.clone()),
                    NodeRow::Node(_) => None,
                }));
            }
            Action::UnfoldAll => self.look.folded.clear(),
            Action::Open => match self.cursor.key() {
                Some(RowKey::Node(node)) => {
                    return Outcome::Request(Request::OpenDetails(Subject::Node(node.clone())));
                }
                Some(RowKey::Zone(_)) => self.fold(cx, |is_folded| !is_folded),
                None => return Outcome::Ignored,
            },
            _ => {
                let Some((view, _, model)) = &self.cache else { return Outcome::Ignored };
                if !self.cursor.handle(action, |index| model.key(index, view)) {
                    return Outcome::Ignored;
                }
            }
        }
        self.sync(cx);
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        self.area = area.intersection(buf.area);
        self.sync(cx);
        let Some((view, look, model)) = &self.cache else { return };
        if model.rows.is_empty() {
            let why = if look.find.is_on() {
                "No node matches: esc clears the filter."
            } else {
                &format!(
                    "There are no nodes: no pod can be scheduled. Press {} and name a file that has some.",
                    cx.key(Action::AddPod)
                )
            };
            frame::empty(self.area, buf, why, cx);
            return;
        }
        if look.is_picture {
            if self.sums.as_ref().is_none_or(|(known, _)| !Arc::ptr_eq(known, view)) {
                let wanted = view.cycle.as_ref().map(|cycle| &cycle.pod_info.resources.requests);
                self.sums = Some((Arc::clone(view), explain::packing(view, wanted)));
            }
            if let Some((_, sums)) = &self.sums {
                let rows = (view.as_ref(), model, sums);
                self.picture = packing::render(self.area, buf, rows, self.cursor.index(), cx);
            }
            return;
        }
        let shape = Shape::of(self.area.width, model, look);
        let columns = shape.columns();
        let drawer = NodeDrawer { shape, look, cx };
        table(&columns).render(self.area, buf, &mut self.cursor, cx, |index| match model.rows.get(index) {
            Some(NodeRow::Zone(zone)) => drawer.zone(zone),
            Some(NodeRow::Node(index)) => match view.nodes.get(*index) {
                Some(node) => drawer.node(node).lit(cx.is_node_lit(node.name())),
                None => Row::default(),
            },
            None => Row::default(),
        });
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        self.sync(cx);
        let Some((view, look, model)) = &self.cache else { return Outcome::Ignored };
        let columns = Shape::of(self.area.width, model, look).columns();
        let index = if look.is_picture {
            self.picture.row_at(position)
        } else {
            table(&columns).row_at(self.area, position, &self.cursor)
        };
        let Some(index) = index else { return Outcome::Ignored };
        let was_selected = self.cursor.index() == Some(index);
        self.cursor.select(index, |index| model.key(index, view));
        if was_selected && matches!(self.cursor.key(), Some(RowKey::Zone(_))) {
            self.fold(cx, |is_folded| !is_folded);
        }
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.look.find.set(filter);
    }

    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) -> bool {
        let Some(node) = subject.node() else { return false };
        self.sync(cx);
        let Some((view, _, model)) = &self.cache else { return false };
        self.cursor.select_key(&RowKey::Node(node.clone()), |index| model.key(index, view))
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        match self.cursor.key()? {
            RowKey::Node(node) => Some(Subject::Node(node.clone())),
            RowKey::Zone(_) => None,
        }
    }
}

fn table(columns: &[Column]) -> Table<'_> {
    Table { n_frozen: 2, ..Table::new(columns) }
}

/// How a use is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gauge {
    /// `70%`
    Percent,
    /// A bar of so many columns and `70%`.
    Bar(u16),
    /// A bar of so many columns, and what is asked for of what there is.
    Amounts(u16),
}

impl Gauge {
    const fn width(self, amounts: u16) -> u16 {
        match self {
            Self::Percent => 4,
            Self::Bar(bar) => bar + 5,
            Self::Amounts(bar) => bar + 1 + amounts,
        }
    }
}

/// Which columns there are, by the width.
#[derive(Clone, Copy, Debug)]
struct Shape {
    name_width: u16,
    gauge: Gauge,
    has_pods: bool,
    has_pods_bar: bool,
    has_rest: bool,
}

const CPU_AMOUNTS: u16 = 11;
const MEMORY_AMOUNTS: u16 = 13;

impl Shape {
    fn of(width: u16, model: &Model, look: &Look) -> Self {
        let indent = if look.is_flat { 0 } else { 2 };
        let longest = u16::try_from(model.name_width).unwrap_or(u16::MAX).saturating_add(indent);
        let (gauge, has_pods, has_rest) = match width {
            0..36 => (Gauge::Percent, false, false),
            36..52 => (Gauge::Bar(5), true, false),
            52..74 => (Gauge::Bar(6), true, true),
            74..110 => (Gauge::Amounts(6), true, true),
            _ => (Gauge::Amounts(12), true, true),
        };
        Self {
            name_width: longest.clamp(8, (width / 3).max(8)),
            gauge,
            has_pods,
            has_pods_bar: width >= 110,
            has_rest,
        }
    }

    fn columns(self) -> Vec<Column> {
        let fixed = |width| Width::Fixed(width);
        let name = if self.has_rest { fixed(self.name_width) } else { Width::AtLeast(self.name_width) };
        let mut columns = vec![
            Column::left("", fixed(0)),
            Column::left("node", name),
            Column::left(self.head("cpu"), fixed(self.gauge.width(CPU_AMOUNTS))),
            Column::left(self.head("memory"), fixed(self.gauge.width(MEMORY_AMOUNTS))),
        ];
        if self.has_pods {
            let pods = if self.has_pods_bar { Gauge::Amounts(6).width(7) } else { 7 };
            columns.push(Column {
                align: crate::tui::widgets::table::Align::Right,
                ..Column::left("pods", fixed(pods))
            });
        }
        if self.has_rest {
            columns.push(Column::left("", fixed(0)));
            columns.push(Column::left("keeps away", Width::AtLeast(8)));
        } else {
            columns.push(Column::left("", fixed(0)));
        }
        columns
    }

    fn head(self, name: &'static str) -> &'static str {
        match (self.gauge, name) {
            (Gauge::Percent, "memory") => "mem",
            _ => name,
        }
    }
}

/// `999`, `55k`: what the pods of a zone come to fits its column.
fn thousands(n: i64) -> String {
    if n < 1_000 { n.to_string() } else { format!("{}k", n / 1_000) }
}

struct NodeDrawer<'a> {
    shape: Shape,
    look: &'a Look,
    cx: &'a Cx<'a>,
}

impl NodeDrawer<'_> {
    fn style(&self, role: Role) -> Style {
        self.cx.theme.style(role)
    }

    fn zone(&self, zone: &Zone) -> Row {
        let glyphs = self.cx.glyphs;
        let sign = if self.look.folded.contains(&zone.name) { glyphs.folded } else { glyphs.unfolded };
        let name = if zone.name.is_empty() { "no zone" } else { &zone.name };
        let room = usize::from(self.shape.name_width).saturating_sub(2);
        let heading = self.style(Role::Heading);
        let mut title = vec![Span::styled(format!("{sign} "), heading)];
        let clean = text::clean(name).into_owned();
        title.extend(self.look.find.spans(&names::middle(&clean, room, glyphs), heading, self.cx));
        let mut cells = vec![Line::default(), spans(title)];
        cells.extend(self.gauges(&zone.sums));
        if self.shape.has_rest {
            let n = zone.n_nodes;
            let count = format!("{n} {}", if n == 1 { "node" } else { "nodes" });
            cells.push(Line::default());
            cells.push(cell(count, self.style(Role::Muted)));
        }
        Row::new(cells)
    }

    fn node(&self, info: &NodeInfo) -> Row {
        let is_cordoned = info.node().is_some_and(|node| node.spec.unschedulable);
        let name_style = self.style(if is_cordoned { Role::Muted } else { Role::Name });
        let indent = if self.look.is_flat { "" } else { "  " };
        let room = usize::from(self.shape.name_width).saturating_sub(indent.len());
        let clean = text::clean(info.name()).into_owned();
        let mut name = vec![Span::raw(indent)];
        name.extend(self.look.find.spans(&names::middle(&clean, room, self.cx.glyphs), name_style, self.cx));
        let mut cells = vec![Line::default(), spans(name)];
        cells.extend(self.gauges(&explain::main_uses(info)));
        if self.shape.has_rest {
            cells.push(Line::default());
            cells.push(self.rest(info, is_cordoned));
        }
        Row::new(cells)
    }

    fn gauges(&self, uses: &[ResourceUse; 3]) -> Vec<Cell> {
        let [cpu, memory, pods] = uses;
        let mut cells = vec![
            self.gauge(cpu, self.shape.gauge, CPU_AMOUNTS),
            self.gauge(memory, self.shape.gauge, MEMORY_AMOUNTS),
        ];
        if self.shape.has_pods_bar {
            cells.push(self.gauge(pods, Gauge::Amounts(6), 7));
        } else if self.shape.has_pods {
            let role = match bar::level(pods.requested, pods.allocatable) {
                Role::BarFull => Role::StatusUnschedulable,
                _ => Role::Number,
            };
            let shown = format!("{}/{}", thousands(pods.requested), thousands(pods.allocatable));
            cells.push(cell(shown, self.style(role)));
        }
        cells
    }

    fn gauge(&self, used: &ResourceUse, gauge: Gauge, amounts: u16) -> Cell {
        let level = bar::level(used.requested, used.allocatable);
        let number = match level {
            Role::BarHigh | Role::BarFull => self.style(level),
            _ => self.style(Role::Number),
        };
        let percent = used.percent().map_or_else(|| String::from("-"), |percent| format!("{percent}%"));
        let bar_of = |width| bar::spans(width, used.requested, used.allocatable, level, self.cx);
        match gauge {
            Gauge::Percent => cell(format!("{percent:>4}"), number),
            Gauge::Bar(width) => {
                let mut parts = bar_of(width);
                parts.push(Span::styled(format!(" {percent:>4}"), number));
                spans(parts)
            }
            Gauge::Amounts(width) => {
                let short = |value| amount::short(&used.resource, value);
                let shown = format!("{}/{}", short(used.requested), short(used.allocatable));
                let mut parts = bar_of(width);
                let shown = text::right(&shown, usize::from(amounts), self.cx.glyphs);
                parts.push(Span::styled(format!(" {shown}"), number));
                spans(parts)
            }
        }
    }

    /// Cordon, taints and extended resources.
    fn rest(&self, info: &NodeInfo, is_cordoned: bool) -> Cell {
        let muted = self.style(Role::Muted);
        let mut parts: Vec<Span<'static>> = Vec::new();
        let mut push = |span: Span<'static>| {
            if !parts.is_empty() {
                parts.push(Span::styled(format!(" {} ", self.cx.glyphs.dot), muted));
            }
            parts.push(span);
        };
        if is_cordoned {
            let sign = self.cx.glyphs.unresolvable;
            push(Span::styled(format!("{sign} cordoned"), self.style(Role::StatusUnresolvable)));
        }
        for taint in info.node().map_or(&[][..], |node| &node.spec.taints) {
            if is_cordoned && taint.key.as_ref() == CORDON_TAINT {
                continue;
            }
            let (sign, role) = match taint.effect.as_str() {
                "PreferNoSchedule" => ("~", Role::Muted),
                "NoExecute" => ("!", Role::StatusUnresolvable),
                _ => ("", Role::StatusUnschedulable),
            };
            let shown = if self.shape.has_pods_bar {
                taint.to_string()
            } else {
                // The last part of the key tells taints apart where there is no room for the domain.
                let key = taint.key.rsplit('/').next().unwrap_or(&taint.key);
                let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
                format!("{sign}{key}{value}")
            };
            push(text::span(shown, self.style(role)));
        }
        for used in explain::resource_uses(info).iter().skip(3) {
            let name = used.resource.rsplit('/').next().unwrap_or(&used.resource);
            let short = |value| amount::short(&used.resource, value);
            let role = match bar::level(used.requested, used.allocatable) {
                Role::BarFull => Role::StatusUnschedulable,
                _ => Role::Number,
            };
            let shown = format!("{name} {}/{}", short(used.requested), short(used.allocatable));
            push(text::span(shown, self.style(role)));
        }
        spans(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::objects::{Node, ObjectMeta};

    fn node(name: &str, zone: &str) -> Arc<NodeInfo> {
        let labels = [(Str::from(ZONE_LABEL), Str::from(zone))].into_iter().collect();
        let metadata = ObjectMeta { name: Str::from(name), labels, ..ObjectMeta::default() };
        Arc::new(NodeInfo::with_node(Arc::new(Node { metadata, ..Node::default() })))
    }

    #[test]
    fn only_nodes_that_changed_are_looked_at_again() {
        let mut nodes: Vec<_> =
            (0..100).map(|i| node(&format!("n-{i:03}"), &format!("z-{}", i % 3))).collect();
        let mut facts = NodeFacts::default();
        assert_eq!(facts.update(&nodes), 100);
        assert_eq!(facts.update(&nodes), 0);
        nodes[7] = node("n-007", "z-9");
        assert_eq!(facts.update(&nodes), 1);
        nodes.remove(50);
        assert_eq!(facts.update(&nodes), 0);
        nodes.insert(20, node("n-019a", "z-1"));
        assert_eq!(facts.update(&nodes), 1);
        let names: Vec<_> = facts.nodes.iter().map(|fact| fact.node.name().clone()).collect();
        let wanted: Vec<_> = nodes.iter().map(|node| node.name().clone()).collect();
        assert_eq!(names, wanted);
        assert_eq!(facts.nodes[7].zone, facts.zones["z-9"]);
        // A cluster that is another one altogether.
        nodes.reverse();
        facts.update(&nodes);
        assert!(facts.nodes.iter().zip(&nodes).all(|(fact, node)| Arc::ptr_eq(&fact.node, node)));
    }
}
