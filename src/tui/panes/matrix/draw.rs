//! Drawing the matrix: a column of names that stays, columns of plugins that scroll, and the verdict at the end.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Points;
use super::facts::Facts;
use super::model::{Look, MatrixRow, Model, RowKey, node_name, verdict_text};
use crate::api::Str;
use crate::explain;
use crate::framework::{Code, MAX_NODE_SCORE};
use crate::scheduler::trace::{CycleTrace, FilterTrace, NodeVerdict, Phase, ScoreTrace, SelectionReason};
use crate::tui::panes::{CellKind, Cx, names};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::selection;
use crate::tui::widgets::{frame, text};

/// Sign of the winner, then the name.
const GUTTER: u16 = 2;
/// Between columns and verdict: a blank, a line, a blank.
const RULE: u16 = 3;
/// Total and distance to the best, and the total alone.
const TOTALS: u16 = 12;
const TOTAL: u16 = 5;
/// The widest head of a column.
const HEADER_MAX: u16 = 24;

/// Makes a plugin's name as short as it must be.
type Shorten = fn(&str) -> &str;

/// Where everything stands.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    first_row: u16,
    name_width: u16,
    /// All columns from left to right.
    order: Vec<usize>,
    /// Whether those that decide stand first.
    is_rearranged: bool,
    /// How many are scrolled away to the left.
    first: usize,
    /// Visible columns: which, where, how wide.
    columns: Vec<(usize, u16, u16)>,
    headers: Vec<String>,
    /// Where the verdict or the total begins, and how wide it may be; absent where there is no room.
    tail: Option<(u16, u16)>,
    hides_left: bool,
    hides_right: bool,
}

impl Geometry {
    pub(super) const fn first_column(&self) -> usize {
        self.first
    }

    pub(super) fn order(&self) -> &[usize] {
        &self.order
    }

    pub(super) const fn is_rearranged(&self) -> bool {
        self.is_rearranged
    }

    pub(super) fn column_at(&self, x: u16) -> Option<usize> {
        self.columns.iter().find(|(_, at, width)| (*at..at + width).contains(&x)).map(|(column, ..)| *column)
    }
}

/// What the matrix is drawn from.
pub(super) struct Drawer<'a> {
    pub(super) trace: &'a CycleTrace,
    pub(super) look: &'a Look,
    pub(super) facts: &'a Facts,
    pub(super) model: &'a Model,
    pub(super) points: Points,
    /// Whether the columns that decide stand first, if a person chose.
    pub(super) deciding_first: Option<bool>,
    pub(super) cx: &'a Cx<'a>,
}

impl Drawer<'_> {
    fn style(&self, role: Role) -> Style {
        self.cx.theme.style(role)
    }

    /// The heads of the columns in one of three lengths.
    fn headers(&self, form: Shorten) -> Vec<String> {
        match self.look.kind {
            CellKind::Filter => self
                .trace
                .filter
                .iter()
                .flat_map(|filter| &filter.plugins)
                .map(|plugin| text::clean(form(plugin)).into_owned())
                .collect(),
            CellKind::Score => self
                .trace
                .score
                .iter()
                .flat_map(|score| &score.scores.plugins)
                .map(|scores| {
                    let name = text::clean(form(scores.plugin)).into_owned();
                    match self.points {
                        Points::Weighted => format!("{name}{}{}", self.cx.glyphs.times, scores.weight),
                        Points::Normalized | Points::Raw => name,
                    }
                })
                .collect(),
        }
    }

    /// Places the columns: names in the longest form that fits beside a verdict of decent length, scrolled so
    /// that the selected one is visible.
    pub(super) fn geometry(
        &self,
        area: Rect,
        n_head: u16,
        selected: Option<usize>,
        first: usize,
    ) -> Geometry {
        let widest = u16::try_from(self.facts.name_width(self.trace, self.look.kind)).unwrap_or(u16::MAX);
        let name_width = widest.max(4).min((area.width / 3).max(8)).min(area.width.saturating_sub(GUTTER));
        let start = area.x + GUTTER + name_width + 1;
        let room = area.right().saturating_sub(start);
        let (least_tail, good_tail) = match self.look.kind {
            CellKind::Filter => (18, 26),
            CellKind::Score if room < 40 => (TOTAL, TOTALS),
            CellKind::Score => (TOTALS, TOTALS),
        };
        let forms: [(Shorten, u16); 3] =
            [(|name| name, good_tail), (names::medium, good_tail.min(20)), (names::short, least_tail)];
        let mut headers = Vec::new();
        let mut tail_width = 0;
        let fits = |headers: &[String], tail: u16| {
            let needed: u16 = headers.iter().map(|header| self.column_width(header) + 1).sum();
            needed + RULE + tail <= room
        };
        for (form, tail) in forms {
            headers = self.headers(form);
            tail_width = tail;
            let is_whole = headers.iter().all(|header| text::width(header) <= usize::from(HEADER_MAX));
            if is_whole && fits(&headers, tail) {
                break;
            }
        }
        if !fits(&headers, tail_width) {
            self.collapse_skipped(&mut headers);
        }
        let widths: Vec<u16> = headers.iter().map(|header| self.column_width(header)).collect();
        let needed: u16 = widths.iter().map(|width| width + 1).sum();
        // Where little room is left, the columns matter more than the verdict, but less than the total.
        let for_both = match self.look.kind {
            CellKind::Filter => RULE + tail_width + 8,
            CellKind::Score => RULE + tail_width,
        };
        let has_tail = room >= for_both || needed + RULE + tail_width <= room;
        let for_columns = if has_tail { room - RULE - tail_width } else { room };
        let is_rearranged = self.deciding_first.unwrap_or(needed > for_columns + 1);
        let order = match is_rearranged {
            true => self.facts.deciding(self.trace, self.look.kind).to_vec(),
            false => (0..widths.len()).collect(),
        };
        let in_order: Vec<u16> =
            order.iter().map(|column| widths.get(*column).copied().unwrap_or_default()).collect();
        let selected = selected.and_then(|selected| order.iter().position(|column| *column == selected));
        let first = first_visible(&in_order, for_columns, selected, first);
        let mut columns = Vec::new();
        let mut x = start;
        for (column, width) in order.iter().zip(&in_order).skip(first) {
            if x + width > start + for_columns {
                break;
            }
            columns.push((*column, x, *width));
            x += width + 1;
        }
        let hides_right = first + columns.len() < headers.len();
        let tail = has_tail.then(|| (x + 2, area.right().saturating_sub(x + 3)));
        Geometry {
            first_row: area.y + n_head,
            name_width,
            order,
            is_rearranged,
            first,
            columns,
            hides_left: first > 0,
            hides_right,
            headers,
            tail,
        }
    }

    /// Takes the heads from the columns of skipped plugins: they say nothing of the nodes.
    fn collapse_skipped(&self, headers: &mut [String]) {
        let Some(filter) = self.trace.filter.as_ref().filter(|_| self.look.kind == CellKind::Filter) else {
            return;
        };
        for (header, plugin) in headers.iter_mut().zip(&filter.plugins) {
            if filter.skipped.contains(plugin) {
                self.cx.glyphs.skip.clone_into(header);
            }
        }
    }

    fn column_width(&self, header: &str) -> u16 {
        if header == self.cx.glyphs.skip {
            return 1;
        }
        let least = match self.look.kind {
            CellKind::Filter => 3,
            CellKind::Score => 4,
        };
        u16::try_from(text::width(header)).unwrap_or(u16::MAX).clamp(least, HEADER_MAX)
    }

    pub(super) fn render(
        &self,
        area: Rect,
        buf: &mut Buffer,
        geometry: &Geometry,
        cursor: &Cursor<RowKey>,
        selected_column: Option<usize>,
    ) {
        if geometry.first_row >= area.y + 2 {
            let mut line = self.summary();
            if let Some(verdict) = cursor.index().and_then(|row| self.cut_verdict(row, geometry)) {
                line.push_span(Span::styled(format!(" {} ", self.cx.glyphs.dot), self.style(Role::Muted)));
                line.push_span(text::span(verdict, self.style(Role::Text)));
            }
            text::put_line(buf, area.x + 1, area.y, area.width.saturating_sub(2), &line, self.cx.glyphs);
        }
        self.render_header(area, buf, geometry, selected_column);
        let height = area.bottom().saturating_sub(geometry.first_row);
        let body = Rect { y: geometry.first_row, height, ..area };
        let last = self.model.rows.len().min(cursor.offset() + usize::from(height));
        for (index, y) in (cursor.offset()..last).zip(body.y..body.bottom()) {
            let line = Rect { y, height: 1, ..body };
            let is_selected = cursor.index() == Some(index);
            match &self.model.rows[index] {
                MatrixRow::Node(node) => self.render_node(*node, line, buf, geometry),
                MatrixRow::Class { index, n, is_open } => {
                    self.render_class(*index, *n, *is_open, line, buf, geometry)
                }
            }
            if is_selected {
                buf.set_style(line, selection(self.cx));
                self.mark_cell(line, buf, geometry, selected_column);
            }
        }
        frame::scrollbar(body, buf, cursor.offset(), self.model.rows.len(), self.cx);
    }

    /// The verdict of a row with its node, where it does not fit behind the row.
    fn cut_verdict(&self, row: usize, geometry: &Geometry) -> Option<String> {
        let (MatrixRow::Node(index) | MatrixRow::Class { index, .. }) = *self.model.rows.get(row)?;
        let filter = self.trace.filter.as_ref().filter(|_| self.look.kind == CellKind::Filter)?;
        let verdict = verdict_text(filter.verdicts.get(index)?);
        // Two columns are for its sign.
        let room = geometry.tail.map_or(0, |(_, width)| usize::from(width).saturating_sub(2));
        let node = node_name(self.trace, self.look.kind, index);
        (text::width(&verdict) > room).then(|| format!("{node}: {verdict}"))
    }

    /// The selected cell stands out from its row.
    fn mark_cell(&self, line: Rect, buf: &mut Buffer, geometry: &Geometry, selected: Option<usize>) {
        let Some((_, x, width)) = geometry.columns.iter().find(|(column, ..)| Some(*column) == selected)
        else {
            return;
        };
        if self.cx.focused {
            buf.set_style(Rect::new(*x, line.y, *width, 1), self.style(Role::Cursor));
        }
    }

    fn render_header(&self, area: Rect, buf: &mut Buffer, geometry: &Geometry, selected: Option<usize>) {
        let Some(y) = geometry.first_row.checked_sub(1).filter(|y| *y >= area.y && *y < area.bottom()) else {
            return;
        };
        let heading = self.style(Role::Heading);
        let glyphs = self.cx.glyphs;
        text::put(buf, area.x + GUTTER, y, geometry.name_width, "node", heading, glyphs);
        for (column, x, width) in &geometry.columns {
            let style = if Some(*column) == selected { self.style(Role::Accent) } else { heading };
            let header = geometry.headers.get(*column).map_or("", String::as_str);
            let shown = match self.look.kind {
                CellKind::Filter => centered(header, *width),
                CellKind::Score => text::right(header, usize::from(*width), glyphs),
            };
            text::put(buf, *x, y, *width, &shown, style, glyphs);
        }
        let muted = self.style(Role::Muted);
        if let Some((_, x, _)) = geometry.columns.first().filter(|_| geometry.hides_left) {
            text::put(buf, x - 1, y, 1, glyphs.more_left, muted, glyphs);
        }
        if let Some((_, x, width)) = geometry.columns.last().filter(|_| geometry.hides_right) {
            let x = (x + width).min(area.right() - 1);
            text::put(buf, x, y, 1, glyphs.more_right, muted, glyphs);
        }
        self.rule(y, buf, geometry);
        if let Some((x, width)) = geometry.tail {
            let title = match self.look.kind {
                CellKind::Filter => "verdict",
                CellKind::Score if width < TOTALS => "total",
                CellKind::Score => "total behind",
            };
            text::put(buf, x, y, width, title, heading, glyphs);
        }
    }

    fn rule(&self, y: u16, buf: &mut Buffer, geometry: &Geometry) {
        if let Some((x, _)) = geometry.tail {
            let line = self.cx.glyphs.border.vertical_left;
            text::put(buf, x - 2, y, 1, line, self.style(Role::Border), self.cx.glyphs);
        }
    }

    fn render_node(&self, index: usize, line: Rect, buf: &mut Buffer, geometry: &Geometry) {
        let name = node_name(self.trace, self.look.kind, index);
        let (sign, name_style) = self.mark(&name);
        let glyphs = self.cx.glyphs;
        text::put(buf, line.x, line.y, 1, sign, name_style, glyphs);
        let width = geometry.name_width;
        let cut = names::middle(&text::clean(&name), usize::from(width), glyphs).into_owned();
        let spans = self.look.query.find.spans(&cut, name_style, self.cx);
        text::put_line(buf, line.x + GUTTER, line.y, width, &Line::from(spans), glyphs);
        self.rule(line.y, buf, geometry);
        match self.look.kind {
            CellKind::Filter => {
                if let Some(filter) = &self.trace.filter {
                    self.verdict_cells(filter, index, line, buf, geometry);
                }
            }
            CellKind::Score => {
                if let Some(score) = &self.trace.score {
                    self.score_cells(score, index, line, buf, geometry);
                }
            }
        }
    }

    /// The sign before a node's name, and the style of the name.
    fn mark(&self, name: &Str) -> (&'static str, Style) {
        let Some(selection) = &self.trace.selection else { return (" ", self.style(Role::Name)) };
        if selection.host == *name {
            return (self.cx.glyphs.winner, self.style(Role::Winner));
        }
        if selection.reason == SelectionReason::Tie && selection.ties.binary_search(name).is_ok() {
            return (self.cx.glyphs.tie, self.style(Role::Tie));
        }
        (" ", self.style(Role::Name))
    }

    fn lit(&self, phase: Phase) -> Style {
        if self.cx.is_phase_lit(phase) { self.style(Role::Lit) } else { Style::new() }
    }

    fn verdict_cells(
        &self,
        filter: &FilterTrace,
        index: usize,
        line: Rect,
        buf: &mut Buffer,
        geometry: &Geometry,
    ) {
        let Some(verdict) = filter.verdicts.get(index) else { return };
        let rejecter = match verdict {
            NodeVerdict::Rejected(status) => {
                filter.plugins.iter().position(|plugin| *plugin == status.plugin())
            }
            NodeVerdict::Feasible | NodeVerdict::Excluded | NodeVerdict::NotEvaluated => None,
        };
        let was_asked = matches!(verdict, NodeVerdict::Feasible | NodeVerdict::Rejected(_));
        for (column, x, width) in &geometry.columns {
            let code = match (verdict, rejecter) {
                _ if !was_asked => continue,
                (_, Some(last)) if *column > last => continue,
                (NodeVerdict::Rejected(status), Some(last)) if *column == last => status.code(),
                _ => match filter.plugins.get(*column) {
                    Some(plugin) if filter.skipped.contains(plugin) => Code::Skip,
                    _ => Code::Success,
                },
            };
            let style = self.cx.theme.code(code).patch(self.lit(Phase::Filter));
            text::put(
                buf,
                *x,
                line.y,
                *width,
                &centered(self.cx.glyphs.code(code), *width),
                style,
                self.cx.glyphs,
            );
        }
        let Some((x, width)) = geometry.tail else { return };
        let style = match verdict {
            NodeVerdict::Feasible => self.style(Role::StatusSuccess),
            NodeVerdict::Rejected(status) => self.cx.theme.code(status.code()),
            NodeVerdict::Excluded | NodeVerdict::NotEvaluated => self.style(Role::Muted),
        };
        let style = style.patch(self.lit(Phase::Filter));
        let sign = match verdict {
            NodeVerdict::Feasible => self.cx.glyphs.success,
            NodeVerdict::Rejected(status) => self.cx.glyphs.code(status.code()),
            NodeVerdict::Excluded | NodeVerdict::NotEvaluated => " ",
        };
        let mut spans = vec![Span::styled(format!("{sign} "), style)];
        spans.extend(self.look.query.find.spans(&verdict_text(verdict), style, self.cx));
        text::put_line(buf, x, line.y, width, &Line::from(spans), self.cx.glyphs);
    }

    fn score_cells(
        &self,
        score: &ScoreTrace,
        index: usize,
        line: Rect,
        buf: &mut Buffer,
        geometry: &Geometry,
    ) {
        for (column, x, width) in &geometry.columns {
            let Some(scores) = score.scores.plugins.get(*column) else { continue };
            let (Some(raw), Some(normalized)) = (scores.raw.get(index), scores.normalized.get(index)) else {
                continue;
            };
            let shown = match self.points {
                Points::Weighted => normalized.saturating_mul(scores.weight),
                Points::Normalized => *normalized,
                Points::Raw => *raw,
            };
            let style = self.cx.theme.score(*normalized, MAX_NODE_SCORE).patch(self.lit(Phase::Score));
            let value = text::right(&shown.to_string(), usize::from(*width), self.cx.glyphs);
            text::put(buf, *x, line.y, *width, &value, style, self.cx.glyphs);
        }
        let (Some((x, width)), Some(total)) = (geometry.tail, score.scores.totals.get(index)) else { return };
        let best = self.facts.best.unwrap_or(*total);
        let behind = match best.saturating_sub(*total) {
            0 => String::new(),
            gap => format!("-{gap}"),
        };
        let name = node_name(self.trace, CellKind::Score, index);
        let (_, mut style) = self.mark(&name);
        style = style.patch(self.lit(Phase::Score));
        let end = text::put(buf, x, line.y, width, &format!("{total:>5}"), style, self.cx.glyphs);
        let rest = width.saturating_sub(end - x);
        if rest >= TOTALS - TOTAL {
            text::put(
                buf,
                end,
                line.y,
                rest,
                &format!("{behind:>7}"),
                self.style(Role::Muted),
                self.cx.glyphs,
            );
        }
    }

    fn render_class(
        &self,
        index: usize,
        n: usize,
        is_open: bool,
        line: Rect,
        buf: &mut Buffer,
        geometry: &Geometry,
    ) {
        let glyphs = self.cx.glyphs;
        let sign = if is_open { glyphs.unfolded } else { glyphs.folded };
        let name = node_name(self.trace, self.look.kind, index);
        let muted = self.style(Role::Muted);
        let words = format!("{sign} {n} more like {}", text::clean(&name));
        let columns_end = geometry.tail.map_or(line.right(), |(x, _)| x.saturating_sub(2));
        text::put(buf, line.x, line.y, columns_end.saturating_sub(line.x), &words, muted, glyphs);
        self.rule(line.y, buf, geometry);
        let said = match self.look.kind {
            CellKind::Filter => {
                let verdict = self.trace.filter.as_ref().and_then(|filter| filter.verdicts.get(index));
                verdict.map(|verdict| format!("  {}", verdict_text(verdict)))
            }
            CellKind::Score => {
                let total = self.trace.score.as_ref().and_then(|score| score.scores.totals.get(index));
                total.map(|total| format!("{total:>5}"))
            }
        };
        if let (Some((x, width)), Some(said)) = (geometry.tail, said) {
            text::put(buf, x, line.y, width, &said, muted, glyphs);
        }
    }

    /// The first line: what decides.
    fn summary(&self) -> Line<'static> {
        let muted = self.style(Role::Muted);
        let dot = format!(" {} ", self.cx.glyphs.dot);
        let mut spans = Vec::new();
        let Model { n_shown, n_nodes, .. } = self.model;
        if n_shown < n_nodes {
            spans.push(Span::styled(format!("{n_shown} of {n_nodes} shown"), self.style(Role::Match)));
            spans.push(Span::styled(dot.clone(), muted));
        }
        match self.look.kind {
            CellKind::Filter => {
                let Some(filter) = &self.trace.filter else { return Line::default() };
                let n_feasible = self.facts.n_feasible;
                let role = if n_feasible > 0 { Role::StatusSuccess } else { Role::StatusUnschedulable };
                let verb = if n_feasible == 1 { "fits" } else { "fit" };
                let counts = format!("{n_feasible} of {} {verb}", filter.verdicts.len());
                spans.push(Span::styled(counts, self.style(role)));
                for (plugin, n) in &self.facts.rejections {
                    spans.push(Span::styled(dot.clone(), muted));
                    spans.push(text::span(names::medium(plugin), self.style(Role::Text)));
                    spans.push(Span::styled(format!(" {n}"), self.style(Role::StatusUnschedulable)));
                }
            }
            CellKind::Score => {
                let role = if self.trace.selection.is_some() { Role::Winner } else { Role::Strong };
                let verdict = explain::selection(self.trace).unwrap_or_else(|| explain::leader(self.trace));
                spans.push(text::span(verdict, self.style(role)));
                for (plugin, margin) in &self.facts.margins {
                    spans.push(Span::styled(dot.clone(), muted));
                    spans.push(text::span(names::medium(plugin), self.style(Role::Text)));
                    spans.push(Span::styled(format!(" {margin:+}"), muted));
                }
            }
        }
        Line::from(spans)
    }
}

fn centered(text: &str, width: u16) -> String {
    let blank = usize::from(width).saturating_sub(text::width(text));
    format!("{}{text}", " ".repeat(blank / 2))
}

/// The first column to show so that the selected one is visible, moved as little as possible.
fn first_visible(widths: &[u16], room: u16, selected: Option<usize>, first: usize) -> usize {
    let whole: u32 = widths.iter().map(|width| u32::from(*width) + 1).sum();
    if whole <= u32::from(room) + 1 {
        return 0;
    }
    let mut first = first.min(widths.len().saturating_sub(1));
    let Some(selected) = selected else { return first };
    if selected < first {
        return selected;
    }
    let span = |from: usize| -> u32 {
        widths.iter().take(selected + 1).skip(from).map(|width| u32::from(*width) + 1).sum()
    };
    while first < selected && span(first) > u32::from(room) + 1 {
        first += 1;
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_column_is_visible_and_the_scroll_moves_no_further_than_needed() {
        let widths = [5, 5, 5, 5, 5];
        assert_eq!(first_visible(&widths, 29, Some(4), 0), 0);
        assert_eq!(first_visible(&widths, 17, Some(2), 0), 0);
        assert_eq!(first_visible(&widths, 17, Some(3), 0), 1);
        assert_eq!(first_visible(&widths, 17, Some(1), 2), 1);
        assert_eq!(first_visible(&widths, 17, Some(3), 2), 2);
        assert_eq!(first_visible(&widths, 0, Some(4), 0), 4);
    }
}
