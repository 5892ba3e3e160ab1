//! The cycle pane: the attempt under way, or the last one, as a tree of extension points and plugins.
//!
//! It shows what the trace holds and nothing else: a phase that has not been done has no verdict, and the one that
//! comes next is marked. An attempt that is part of a pod group's cycle has that above it.

mod group;

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::StatefulWidget;
use tui_tree_widget::{Tree, TreeItem, TreeState};

use super::find::Find;
use super::{Cx, Outcome, Pane, PaneId, Request, Subject, names, predicted};
use crate::api::time::human_duration;
use crate::api::{NamespacedName, Str};
use crate::explain;
use crate::framework::preemption::{Candidate, PreemptionEvidence};
use crate::framework::runtime::{PluginScores, PluginVerdict};
use crate::framework::{Code, Status};
use crate::scheduler::pod_group_trace::GroupTrace;
use crate::scheduler::trace::{CycleOutcome, CycleTrace, FilterTrace, Phase, ScoreTrace};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::table::selection;
use crate::tui::widgets::{frame, text};

/// How wide the names of phases are.
const PHASE_WIDTH: usize = 13;
/// How wide the names of plugins are where there is room.
const PLUGIN_WIDTH: usize = 18;
/// What the pane's number takes of the frame, where it stands there.
const NUMBER_WIDTH: usize = 4;
/// How wide the pod's name may be in the title while the pane's width is not known, and at least.
const POD_WIDTH: usize = 40;
const POD_WIDTH_MIN: usize = 8;
/// The least columns that a tree can be drawn in: its indentation.
const MIN_WIDTH: u16 = 10;

/// What a row of the tree stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RowId {
    Phase(Phase),
    Plugin(Phase, Str),
    Candidate(Str),
    Victim(Str),
    Note(Phase),
    /// A pod group's cycle.
    Group,
    Placement(usize),
    Member(usize, NamespacedName),
    Search,
    GroupVictim(NamespacedName),
}

/// The cycle pane.
#[derive(Debug)]
pub struct CyclePane {
    find: Find,
    tree: TreeState<RowId>,
    /// Where the tree was last drawn.
    area: Rect,
    /// The attempt and the phase that were drawn last.
    shown: Option<(u64, Phase)>,
    /// The group's cycle and the placement that were unfolded last.
    unfolded: Option<(u64, usize)>,
}

impl Default for CyclePane {
    fn default() -> Self {
        let mut tree = TreeState::default();
        for phase in Phase::ALL.into_iter().filter(|phase| *phase != Phase::PreScore) {
            tree.open(vec![RowId::Phase(phase)]);
        }
        tree.open(vec![RowId::Group]);
        Self { find: Find::default(), tree, area: Rect::default(), shown: None, unfolded: None }
    }
}

impl CyclePane {
    /// With the phases unfolded and nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    /// The placement that is being tried is unfolded once, and the one before it folded.
    fn unfold_new_placement(&mut self, trace: &CycleTrace, cx: &Cx<'_>) {
        let run = group_of(trace, cx).and_then(|group| Some((group.number, group.schedule_run()?)));
        let newest = run.and_then(|(number, run)| Some((number, run.placements.len().checked_sub(1)?)));
        if newest == self.unfolded {
            return;
        }
        let id = |index| vec![RowId::Group, RowId::Placement(index)];
        if let Some((_, index)) = self.unfolded {
            self.tree.close(&id(index));
        }
        if let Some((_, index)) = newest {
            self.tree.open(id(index));
        }
        self.unfolded = newest;
    }

    fn subject(&self, trace: &CycleTrace) -> Option<Subject> {
        match self.tree.selected().last()? {
            RowId::Phase(phase) | RowId::Note(phase) => Some(Subject::Phase(*phase)),
            RowId::Plugin(phase, plugin) => Some(Subject::Plugin { plugin: plugin.clone(), phase: *phase }),
            RowId::Candidate(node) => Some(Subject::Node(node.clone())),
            RowId::Member(_, pod) | RowId::GroupVictim(pod) => Some(Subject::Pod(pod.clone())),
            RowId::Group | RowId::Placement(_) | RowId::Search => None,
            RowId::Victim(uid) => {
                let evidence = trace.post_filter.as_ref()?.evidence.as_ref()?;
                let mut victims = evidence.candidates.iter().flat_map(|candidate| &candidate.victims.pods);
                victims.find(|victim| victim.uid() == uid).map(|victim| Subject::Pod(victim.pod.key()))
            }
        }
    }
}

impl Pane for CyclePane {
    fn id(&self) -> PaneId {
        PaneId::Cycle
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let Some(trace) = &cx.view.scheduler.cycle else { return Line::from("cycle") };
        let muted = cx.theme.style(Role::Muted);
        let dot = format!(" {} ", cx.glyphs.dot);
        let number = format!("cycle {}", trace.number);
        let priority = format!("prio {}", names::priority(trace.pod_info.pod.priority()));
        let attempt = format!("try {}", trace.attempt);
        // However long the pod's name is, what follows it stays on the screen: two blanks and the pane's number
        // stand in the frame, too.
        let others: usize = [&number, &priority, &attempt].iter().map(|part| text::width(part)).sum();
        let others = others + 3 * text::width(&dot) + 6;
        let room = match usize::from(self.area.width) {
            0 => POD_WIDTH,
            width => width.saturating_sub(others).max(POD_WIDTH_MIN),
        };
        let pod = text::clean(&trace.pod_key().to_string()).into_owned();
        let pod = text::truncate(&pod, room, cx.glyphs).into_owned();
        // The profile has what is left, if that is enough for it, the pane's number left aside.
        let profile = trace.profile.to_string();
        let with_profile = text::width(&pod) + text::width(&dot) + text::width(&profile);
        let has_profile = self.area.width == 0 || with_profile <= room + NUMBER_WIDTH;
        let mut spans = vec![
            Span::raw(number),
            Span::styled(dot.clone(), muted),
            Span::styled(pod, cx.theme.style(Role::Name)),
        ];
        for part in [priority, attempt].into_iter().chain(has_profile.then_some(profile)) {
            spans.push(Span::styled(dot.clone(), muted));
            spans.push(text::span(part, muted));
        }
        Line::from(spans)
    }

    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        cx.view.scheduler.cycle.as_ref().map(|trace| trace.number.to_string()).unwrap_or_default()
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Cycle, Context::List]
    }

    fn min_size(&self) -> Size {
        Size::new(20, 4)
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let Some(trace) = &cx.view.scheduler.cycle else { return Outcome::Ignored };
        let page = usize::from(self.area.height.saturating_sub(1).max(1));
        let tree = &mut self.tree;
        match action {
            Action::SelectNext => tree.key_down(),
            Action::SelectPrevious => tree.key_up(),
            Action::SelectFirst => tree.select_first(),
            Action::SelectLast => tree.select_last(),
            Action::PageDown => tree.select_relative(|at| at.map_or(0, |at| at.saturating_add(page))),
            Action::PageUp => tree.select_relative(|at| at.map_or(0, |at| at.saturating_sub(page))),
            Action::Fold | Action::ScrollLeft => tree.key_left(),
            Action::Unfold | Action::ScrollRight => tree.key_right(),
            Action::ToggleFold => tree.toggle_selected(),
            Action::FoldAll => {
                tree.close_all();
                let top: Vec<RowId> = tree.selected().iter().take(1).cloned().collect();
                tree.select(top)
            }
            Action::UnfoldAll => {
                for phase in Phase::ALL {
                    tree.open(vec![RowId::Phase(phase)]);
                }
                tree.open(vec![RowId::Group]);
                let group = group_of(trace, cx).and_then(|group| group.schedule_run());
                for index in 0..group.map_or(0, |run| run.placements.len()) {
                    tree.open(vec![RowId::Group, RowId::Placement(index)]);
                }
                for candidate in candidates(trace) {
                    let id = RowId::Candidate(candidate.node_name.clone());
                    tree.open(vec![RowId::Phase(Phase::PostFilter), id]);
                }
                true
            }
            Action::Open => {
                return match self.subject(trace) {
                    Some(subject) => Outcome::Request(Request::OpenDetails(subject)),
                    // What has no page of its own is opened where it stands.
                    None if self.tree.toggle_selected() => Outcome::Changed,
                    None => Outcome::Ignored,
                };
            }
            _ => return Outcome::Ignored,
        };
        self.tree.scroll_selected_into_view();
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let area = area.intersection(buf.area);
        let Some(trace) = &cx.view.scheduler.cycle else {
            frame::empty(area, buf, &nothing_yet(cx), cx);
            return;
        };
        if area.width < MIN_WIDTH || area.height == 0 {
            return;
        }
        let header = u16::from(area.height > 3);
        if header > 0 {
            render_verdict(Rect { height: 1, ..area }, buf, trace, cx);
        }
        // Wherever the tree is scrolled to, it is to be seen how the group stands.
        let group = group_of(trace, cx).filter(|_| area.height > 5);
        if let Some(group) = group {
            group::render_standing(Rect { y: area.y + 1, height: 1, ..area }, buf, group, cx);
        }
        let header = header + u16::from(group.is_some());
        let (y, height) = (area.y + header, area.height - header);
        self.area = Rect { x: area.x + 1, y, width: area.width - 2, height };
        self.unfold_new_placement(trace, cx);
        let drawer = TreeDrawer { trace, find: &self.find, width: usize::from(self.area.width), cx };
        let items = drawer.items();
        if items.is_empty() && self.find.is_on() {
            frame::empty(
                self.area,
                buf,
                "No phase or plugin of this attempt matches: esc clears the filter.",
                cx,
            );
            return;
        }
        // The identifiers of siblings differ by construction.
        let Ok(tree) = Tree::new(&items) else { return };
        let (open, closed) = (format!("{} ", cx.glyphs.unfolded), format!("{} ", cx.glyphs.folded));
        let tree = tree
            .node_open_symbol(&open)
            .node_closed_symbol(&closed)
            .node_no_children_symbol("  ")
            .highlight_style(selection(cx));
        if self.shown != Some((trace.number, trace.phase)) {
            self.shown = Some((trace.number, trace.phase));
            // The widget scrolls no further than to the last row that it has drawn, so it must have drawn these.
            StatefulWidget::render(tree.clone(), self.area, &mut Buffer::empty(self.area), &mut self.tree);
            show_phase(&mut self.tree, &items, trace.phase, usize::from(height));
        }
        StatefulWidget::render(tree, self.area, buf, &mut self.tree);
        let n_rows = self.tree.flatten(&items).len();
        let beside_frame = Rect { width: self.area.width + 1, ..self.area };
        frame::scrollbar(beside_frame, buf, self.tree.get_offset(), n_rows, cx);
    }

    fn hit(&mut self, position: Position, _cx: &Cx<'_>) -> Outcome {
        let Some(row) = self.tree.rendered_at(position).map(<[RowId]>::to_vec) else {
            return Outcome::Ignored;
        };
        let is_on_symbol = usize::from(position.x.saturating_sub(self.area.x)) < row.len() * 2;
        if is_on_symbol {
            self.tree.toggle(row.clone());
        }
        self.tree.select(row);
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) -> bool {
        let Some(trace) = &cx.view.scheduler.cycle else { return false };
        let path = match subject {
            Subject::Phase(phase) => vec![RowId::Phase(*phase)],
            Subject::Plugin { plugin, phase } => {
                // PreScore has no row of its own.
                let root = if *phase == Phase::PreScore { Phase::Score } else { *phase };
                vec![RowId::Phase(root), RowId::Plugin(*phase, plugin.clone())]
            }
            _ => return false,
        };
        let is_reached = match path.first() {
            Some(RowId::Phase(phase)) => *phase <= trace.phase,
            _ => false,
        };
        if is_reached {
            self.tree.open(path[..1].to_vec());
            self.tree.select(path);
        }
        is_reached
    }

    fn selected(&self, cx: &Cx<'_>) -> Option<Subject> {
        self.subject(cx.view.scheduler.cycle.as_ref()?)
    }
}

fn nothing_yet(cx: &Cx<'_>) -> String {
    if cx.view.scheduler.active_q.is_empty() {
        let (add, advance) = (cx.key(Action::AddPod), cx.key(Action::AdvanceToTimeout));
        format!(
            "No pod has been tried yet, and activeQ is empty. Press {add} to add a pod, {advance} to let time pass."
        )
    } else {
        let (phase, cycle) = (cx.key(Action::StepPhase), cx.key(Action::StepCycle));
        format!("No pod has been tried yet. Press {phase} for one phase, {cycle} for a whole cycle.")
    }
}

/// The first line: the verdict so far at the left, the next phase at the right.
fn render_verdict(area: Rect, buf: &mut Buffer, trace: &CycleTrace, cx: &Cx<'_>) {
    let role = match &trace.outcome {
        CycleOutcome::Bound { .. } => Role::StatusSuccess,
        CycleOutcome::Unschedulable { .. } => Role::StatusUnschedulable,
        CycleOutcome::Error { .. } => Role::StatusError,
        CycleOutcome::Waiting { .. } => Role::StatusWait,
        CycleOutcome::InProgress
        | CycleOutcome::Tried { .. }
        | CycleOutcome::Binding { .. }
        | CycleOutcome::Skipped { .. } => Role::Strong,
    };
    let next = match explain::next_phase(trace) {
        Some(phase) => format!("{} next: {phase}", cx.glyphs.next),
        None => String::new(),
    };
    let mut room = area.width.saturating_sub(2);
    let next_width = u16::try_from(text::width(&next)).unwrap_or(u16::MAX);
    if !next.is_empty() && next_width + 20 <= room {
        let x = area.right() - 1 - next_width;
        text::put(buf, x, area.y, next_width, &next, cx.theme.style(Role::Accent), cx.glyphs);
        room -= next_width + 1;
    }
    let verdict = predicted::of_attempt(explain::verdict_so_far(trace), trace.number, cx);
    text::put(buf, area.x + 1, area.y, room, &verdict, cx.theme.style(role), cx.glyphs);
}

/// Scrolls, no further than needed, so that the rows of a phase are visible, and the row after them.
fn show_phase(tree: &mut TreeState<RowId>, items: &[Item], phase: Phase, height: usize) {
    let rows: Vec<RowId> =
        tree.flatten(items).into_iter().filter_map(|row| row.identifier.first().cloned()).collect();
    let is_of_phase = |row: &RowId| *row == RowId::Phase(phase);
    let Some(first) = rows.iter().position(is_of_phase) else { return };
    let last = rows.iter().rposition(is_of_phase).unwrap_or(first);
    let end = (last + 2).min(rows.len());
    let offset = tree.get_offset().min(rows.len().saturating_sub(height));
    let wanted = offset.max(end.saturating_sub(height)).min(first);
    tree.scroll_up(tree.get_offset().saturating_sub(wanted));
    if wanted > tree.get_offset() {
        tree.scroll_down(wanted - tree.get_offset());
    }
}

/// The cycle of the pod group that the attempt is part of.
fn group_of<'a>(trace: &CycleTrace, cx: &Cx<'a>) -> Option<&'a GroupTrace> {
    let group = cx.view.scheduler.group.as_deref()?;
    let is_member = group.members.iter().any(|member| member.uid == *trace.uid());
    (is_member && trace.number >= group.number && trace.started >= group.started).then_some(group)
}

fn candidates(trace: &CycleTrace) -> &[Candidate] {
    let evidence = trace.post_filter.as_ref().and_then(|post_filter| post_filter.evidence.as_deref());
    evidence.map_or(&[], |evidence| &evidence.candidates)
}

/// The phases that this attempt goes through, as far as it can be known.
fn phases(trace: &CycleTrace) -> Vec<Phase> {
    let fails = trace.post_filter.is_some()
        || trace.next == Some(Phase::PostFilter)
        || trace.filter.as_ref().is_some_and(|filter| filter.n_feasible() == 0);
    let is_cut_short = trace.next.is_none() && !matches!(trace.outcome, CycleOutcome::Bound { .. });
    Phase::ALL
        .into_iter()
        .filter(|phase| match phase {
            Phase::Pop | Phase::PreFilter | Phase::Filter => true,
            Phase::PostFilter => fails,
            Phase::WaitOnPermit => {
                trace.phase == Phase::WaitOnPermit
                    || trace.next == Some(Phase::WaitOnPermit)
                    || trace.permit.iter().flatten().any(|verdict| verdict.status.is_wait())
            }
            _ => !fails,
        })
        .filter(|phase| !is_cut_short || *phase <= trace.phase)
        .collect()
}

/// Builds the rows.
struct TreeDrawer<'a> {
    trace: &'a CycleTrace,
    find: &'a Find,
    width: usize,
    cx: &'a Cx<'a>,
}

type Item = TreeItem<'static, RowId>;

impl TreeDrawer<'_> {
    fn style(&self, role: Role) -> Style {
        self.cx.theme.style(role)
    }

    fn items(&self) -> Vec<Item> {
        let group = group_of(self.trace, self.cx).and_then(|group| self.group(group));
        let phases = phases(self.trace).into_iter().filter_map(|phase| self.phase(phase));
        group.into_iter().chain(phases).collect()
    }

    fn phase(&self, phase: Phase) -> Option<Item> {
        let children = self.children(phase);
        let is_found = self.find.matches([phase.as_str()]);
        if self.find.is_on() && !is_found && children.is_empty() {
            return None;
        }
        let is_done = phase <= self.trace.phase;
        let is_next = explain::next_phase(self.trace) == Some(phase);
        let name_style = if is_next {
            self.style(Role::Accent)
        } else if is_done {
            self.style(Role::Strong)
        } else {
            self.style(Role::Muted)
        };
        let mut spans = self.find.spans(phase.as_str(), name_style, self.cx);
        let summary = if is_done { self.summary(phase) } else { None };
        let mut used = text::width(phase.as_str());
        let mut pad = |spans: &mut Vec<Span<'static>>, to: usize| {
            spans.push(Span::raw(" ".repeat(to.saturating_sub(used))));
            used = used.max(to);
        };
        if let Some((text, role)) = summary {
            pad(&mut spans, PHASE_WIDTH);
            spans.push(text::span(text, self.style(role)));
        } else if is_next {
            pad(&mut spans, PHASE_WIDTH);
            spans.push(Span::styled(format!("{} next", self.cx.glyphs.next), self.style(Role::Accent)));
        }
        let line = self.line(spans, 0, self.cx.is_phase_lit(phase));
        TreeItem::new(RowId::Phase(phase), line, children).ok()
    }

    /// A line of the tree, cut to what is left at that depth, and lit as a whole if the last step did it.
    fn line(&self, spans: Vec<Span<'static>>, depth: usize, is_lit: bool) -> Line<'static> {
        let room = self.width.saturating_sub(depth * 2 + 2);
        let mut out: Vec<Span<'static>> = Vec::new();
        let mut left = room;
        let whole: usize = spans.iter().map(Span::width).sum();
        for span in spans {
            let width = span.width();
            if whole > room && width >= left {
                let cut = text::truncate(&span.content, left, self.cx.glyphs);
                let mut cut = cut.into_owned();
                if !cut.ends_with(self.cx.glyphs.ellipsis) && left > 0 {
                    let kept = text::prefix(&cut, left.saturating_sub(1)).to_owned();
                    cut = kept + self.cx.glyphs.ellipsis;
                }
                left -= text::width(&cut).min(left);
                out.push(Span::styled(cut, span.style));
                break;
            }
            left -= width.min(left);
            out.push(span);
        }
        if !is_lit {
            return Line::from(out);
        }
        out.push(Span::raw(" ".repeat(left)));
        Line::from(out).style(self.style(Role::Lit))
    }

    /// What a phase came to.
    fn summary(&self, phase: Phase) -> Option<(String, Role)> {
        let trace = self.trace;
        match phase {
            Phase::Pop => {
                let after = human_duration(trace.queued_for);
                Some((format!("from {} after {after}", trace.popped_from.as_str()), Role::Muted))
            }
            Phase::PreFilter => {
                let n = trace.nodes().len();
                let narrowed =
                    trace.pre_filter.iter().flatten().filter_map(|verdict| verdict.node_names.as_ref());
                Some(match narrowed.map(std::collections::BTreeSet::len).min() {
                    Some(few) => (format!("{few} of {} to look at", n_nodes(n)), Role::Text),
                    None => (n_nodes(n), Role::Muted),
                })
            }
            Phase::Filter => {
                let filter = trace.filter.as_ref()?;
                let n_feasible = filter.n_feasible();
                let verb = if n_feasible == 1 { "fits" } else { "fit" };
                let role = if n_feasible > 0 { Role::StatusSuccess } else { Role::StatusUnschedulable };
                Some((format!("{n_feasible} of {} {verb}", filter.verdicts.len()), role))
            }
            Phase::PostFilter => {
                let post_filter = trace.post_filter.as_ref()?;
                Some(match &post_filter.nominated_node {
                    Some(node) => (format!("nominated to {node}"), Role::StatusSuccess),
                    None => (String::from("no room can be made"), Role::StatusUnschedulable),
                })
            }
            Phase::PreScore | Phase::Score if trace.score.is_none() && trace.selection.is_some() => {
                Some((String::from("not needed"), Role::Muted))
            }
            Phase::PreScore => None,
            Phase::Score => {
                let score = trace.score.as_ref()?;
                let n_plugins = score.scores.plugins.len();
                let plugins = if n_plugins == 1 { "plugin" } else { "plugins" };
                Some((format!("{}, {n_plugins} {plugins}", n_nodes(score.nodes.len())), Role::Text))
            }
            Phase::Select => Some((explain::selection(trace)?, Role::Winner)),
            Phase::Assume => {
                let node = &trace.selection.as_ref()?.host;
                Some((format!("on {node}"), Role::Text))
            }
            Phase::Reserve => summed(trace.reserve.as_deref()?),
            Phase::Permit => summed(trace.permit.as_deref()?),
            Phase::WaitOnPermit => match &trace.outcome {
                CycleOutcome::Waiting { .. } => Some((String::from("held"), Role::StatusWait)),
                _ => Some((String::from("let go"), Role::StatusSuccess)),
            },
            Phase::PreBind => summed(trace.pre_bind.as_deref()?),
            Phase::Bind => match &trace.outcome {
                CycleOutcome::Bound { node } => {
                    let text = format!("bound to {node}");
                    Some((predicted::of_attempt(text, trace.number, self.cx), Role::StatusSuccess))
                }
                _ => summed(trace.bind.as_deref()?),
            },
            Phase::PostBind => match trace.post_bind.as_deref()? {
                [] => Some((String::from("no plugin"), Role::Muted)),
                plugins => Some((plugins.join(", "), Role::Muted)),
            },
        }
    }

    fn children(&self, phase: Phase) -> Vec<Item> {
        let trace = self.trace;
        let verdicts =
            |verdicts: &Option<Vec<PluginVerdict>>| self.verdicts(phase, verdicts.as_deref().unwrap_or(&[]));
        match phase {
            Phase::PreFilter => verdicts(&trace.pre_filter),
            Phase::Filter => trace.filter.as_ref().map(|filter| self.filters(filter)).unwrap_or_default(),
            Phase::PostFilter => self.post_filter(),
            Phase::PreScore => verdicts(&trace.pre_score),
            Phase::Score => trace.score.as_ref().map(|score| self.scores(score)).unwrap_or_default(),
            Phase::Reserve => verdicts(&trace.reserve),
            Phase::Permit => verdicts(&trace.permit),
            Phase::PreBind => verdicts(&trace.pre_bind),
            Phase::Bind => verdicts(&trace.bind),
            Phase::Pop | Phase::Select | Phase::Assume | Phase::WaitOnPermit | Phase::PostBind => Vec::new(),
        }
    }

    /// How wide the column of plugin names is.
    fn name_width(&self) -> usize {
        PLUGIN_WIDTH.min(self.width.saturating_sub(6) / 2).max(8)
    }

    /// A row for a plugin: sign, name, what is counted, and a reason.
    fn plugin(&self, phase: Phase, plugin: &str, code: Code, count: &str, note: &str) -> Option<Item> {
        let name_width = self.name_width();
        if !self.find.matches([plugin, phase.as_str(), note]) {
            return None;
        }
        let quiet = matches!(code, Code::Skip);
        let name_style = self.style(if quiet { Role::Muted } else { Role::Text });
        let name = names::plugin(plugin, name_width);
        let mut spans =
            vec![Span::styled(format!("{} ", self.cx.glyphs.code(code)), self.cx.theme.code(code))];
        spans.extend(self.find.spans(
            &text::truncate(&text::clean(name), name_width, self.cx.glyphs),
            name_style,
            self.cx,
        ));
        let shown = text::width(name).min(name_width);
        if !count.is_empty() || !note.is_empty() {
            spans.push(Span::raw(" ".repeat(name_width - shown + 1)));
        }
        if !count.is_empty() {
            spans.push(Span::styled(format!("{count} "), self.style(Role::Number)));
        }
        if !note.is_empty() {
            let role = if quiet || code == Code::Success {
                self.style(Role::Muted)
            } else {
                self.cx.theme.code(code)
            };
            spans.push(text::span(note, role));
        }
        let line = self.line(spans, 1, self.cx.is_phase_lit(phase));
        Some(TreeItem::new_leaf(RowId::Plugin(phase, Str::from(plugin)), line))
    }

    fn verdicts(&self, phase: Phase, verdicts: &[PluginVerdict]) -> Vec<Item> {
        verdicts
            .iter()
            .filter_map(|verdict| {
                let code = verdict.status.code();
                let note = match (&verdict.node_names, code) {
                    (Some(names), _) => format!("only {}", n_nodes(names.len())),
                    (None, Code::Skip) => String::from("skip"),
                    (None, _) => verdict.status.message(),
                };
                self.plugin(phase, verdict.plugin, code, "", &note)
            })
            .collect()
    }

    fn filters(&self, filter: &FilterTrace) -> Vec<Item> {
        let rejections = filter.rejections();
        let count_width = rejections.iter().map(|(_, n, _)| n.to_string().len()).max().unwrap_or(1);
        filter
            .plugins
            .iter()
            .filter_map(|plugin| {
                if filter.skipped.contains(plugin) {
                    return self.plugin(Phase::Filter, plugin, Code::Skip, "", "skip");
                }
                let Some((_, n, reason)) = rejections.iter().find(|(name, ..)| name == plugin) else {
                    return self.plugin(Phase::Filter, plugin, Code::Success, "", "");
                };
                let code = softest_code(filter, plugin);
                let nodes = if *n == 1 { "node " } else { "nodes" };
                let count = format!("{n:>count_width$} {nodes}");
                let reason = explain::short_reason(reason);
                self.plugin(Phase::Filter, plugin, code, &count, reason)
            })
            .collect()
    }

    fn scores(&self, score: &ScoreTrace) -> Vec<Item> {
        let skipped = score.skipped.iter().copied();
        let rows = score.scores.plugins.iter().filter_map(|scores| {
            let (low, high) = range(scores)?;
            let times = format!("{}{}", self.cx.glyphs.times, scores.weight);
            let count = format!("{times:>4}");
            let note = match leader(score, scores) {
                _ if low == high => format!("{low} for all"),
                Some(node) => format!("{low} to {high}, {node} ahead"),
                None => format!("{low} to {high}"),
            };
            self.plugin(Phase::Score, scores.plugin, Code::Success, &count, &note)
        });
        let skips = skipped.filter_map(|plugin| self.plugin(Phase::Score, plugin, Code::Skip, "", "skip"));
        rows.chain(skips).collect()
    }

    fn post_filter(&self) -> Vec<Item> {
        let Some(post_filter) = &self.trace.post_filter else { return Vec::new() };
        let mut items = self.verdicts(Phase::PostFilter, &post_filter.verdicts);
        let Some(evidence) = &post_filter.evidence else { return items };
        items.extend(evidence.candidates.iter().filter_map(|candidate| self.candidate(evidence, candidate)));
        if let Some(criterion) = evidence.criterion {
            let spans = vec![
                Span::styled("decided by ", self.style(Role::Muted)),
                Span::styled(criterion.as_str(), self.style(Role::Strong)),
            ];
            items.push(TreeItem::new_leaf(RowId::Note(Phase::PostFilter), self.line(spans, 1, false)));
        }
        items
    }

    fn candidate(&self, evidence: &Arc<PreemptionEvidence>, candidate: &Candidate) -> Option<Item> {
        let is_chosen = evidence.selected.as_ref() == Some(&candidate.node_name);
        let victims = &candidate.victims;
        let sign = if is_chosen { self.cx.glyphs.winner } else { " " };
        let style = self.style(if is_chosen { Role::Winner } else { Role::Name });
        let highest = victims.pods.iter().map(|victim| victim.pod.priority()).max();
        let n = victims.pods.len();
        let mut note = format!("  {n} {}", if n == 1 { "victim" } else { "victims" });
        if let Some(highest) = highest {
            note.push_str(&format!(", prio up to {}", names::priority(highest)));
        }
        if victims.num_pdb_violations > 0 {
            note.push_str(&format!(", {} against PDBs", victims.num_pdb_violations));
        }
        let spans = vec![
            Span::styled(format!("{sign} "), style),
            text::span(&candidate.node_name, style),
            Span::styled(note, self.style(Role::Muted)),
        ];
        let children = victims
            .pods
            .iter()
            .map(|victim| {
                let key = victim.pod.key();
                let priority = format!("  prio {}", names::priority(victim.pod.priority()));
                let spans = vec![
                    text::span(key.to_string(), self.style(Role::Name)),
                    Span::styled(priority, self.style(Role::Muted)),
                ];
                TreeItem::new_leaf(RowId::Victim(victim.uid().clone()), self.line(spans, 2, false))
            })
            .collect();
        let id = RowId::Candidate(candidate.node_name.clone());
        TreeItem::new(id, self.line(spans, 1, self.cx.is_phase_lit(Phase::PostFilter)), children).ok()
    }
}

fn n_nodes(n: usize) -> String {
    if n == 1 { String::from("1 node") } else { format!("{n} nodes") }
}

/// The worst answer of a phase's plugins, or that there was none.
fn summed(verdicts: &[PluginVerdict]) -> Option<(String, Role)> {
    let bad = verdicts.iter().find(|verdict| !verdict.status.is_success() && !verdict.status.is_skip());
    Some(match bad {
        None if verdicts.is_empty() => (String::from("no plugin"), Role::Muted),
        None => (String::from("done"), Role::Text),
        Some(verdict) if verdict.status.is_wait() => {
            (format!("{} holds the pod", verdict.plugin), Role::StatusWait)
        }
        Some(verdict) => (format!("{} fails", verdict.plugin), Role::StatusError),
    })
}

/// The most hopeful code with which a plugin turned nodes down: where one may be helped by preemption, that shows.
fn softest_code(filter: &FilterTrace, plugin: &str) -> Code {
    let statuses = filter.verdicts.iter().filter_map(|verdict| match verdict {
        crate::scheduler::trace::NodeVerdict::Rejected(status) if status.plugin() == plugin => Some(status),
        _ => None,
    });
    statuses.map(Status::code).min().unwrap_or(Code::Unschedulable)
}

/// The lowest and the highest weighted score of a plugin.
fn range(scores: &PluginScores) -> Option<(i64, i64)> {
    let weighted = || scores.normalized.iter().map(|score| score.saturating_mul(scores.weight));
    Some((weighted().min()?, weighted().max()?))
}

/// The node that alone has the highest score of a plugin.
fn leader<'a>(score: &'a ScoreTrace, scores: &PluginScores) -> Option<&'a Str> {
    let best = scores.normalized.iter().copied().max()?;
    let mut leaders = score.nodes.iter().zip(&scores.normalized).filter(|(_, score)| **score == best);
    let (node, _) = leaders.next()?;
    leaders.next().is_none().then_some(node)
}
