//! The cluster as a packing picture: each node a small block, filled by its scarcest resource; and what room is left.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::{Model, NodeRow};
use crate::explain::amount;
use crate::explain::{self, Packing, ResourceUse};
use crate::framework::NodeInfo;
use crate::framework::resource::names as resources;
use crate::scheduler::view::View;
use crate::tui::panes::Cx;
use crate::tui::theme::Role;
use crate::tui::widgets::{bar, text};

/// How wide a block is: the level, the letter of the scarcest resource, a blank.
const BLOCK: u16 = 3;
/// From which height on room is told for several sizes.
const ROOMY: u16 = 14;

const LEVELS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Where blocks stand: lines, each with the place of its first row in the model and how many rows it has.
#[derive(Clone, Debug, Default)]
pub(super) struct Picture {
    /// The part of the pane that has the blocks.
    area: Rect,
    lines: Vec<PictureLine>,
    first_line: usize,
}

#[derive(Clone, Copy, Debug)]
enum PictureLine {
    /// The head of a zone, by its row.
    Zone(usize),
    /// Blocks: the first row, and how many.
    Blocks(usize, usize),
}

impl Picture {
    /// The row of the model that was drawn at a position.
    pub(super) fn row_at(&self, position: Position) -> Option<usize> {
        if !self.area.contains(position) {
            return None;
        }
        let line = self.lines.get(self.first_line + usize::from(position.y - self.area.y))?;
        match *line {
            PictureLine::Zone(row) => Some(row),
            PictureLine::Blocks(first, n) => {
                let at = usize::from((position.x - self.area.x) / BLOCK);
                (at < n).then_some(first + at)
            }
        }
    }

    /// How many rows a line of blocks has: what a step up or down moves by.
    pub(super) fn per_line(&self) -> usize {
        usize::from(self.area.width / BLOCK).max(1)
    }
}

/// Draws the sums at the top and the blocks below; `selected` is a row of the model.
pub(super) fn render(
    area: Rect,
    buf: &mut Buffer,
    (view, model, sums): (&View, &Model, &Packing),
    selected: Option<usize>,
    cx: &Cx<'_>,
) -> Picture {
    let inside = Rect { x: area.x + area.width.min(1), width: area.width.saturating_sub(2), ..area };
    let mut lines = head(sums, inside, cx);
    lines.truncate(usize::from(area.height.saturating_sub(2)));
    for (line, y) in lines.iter().zip(inside.y..inside.bottom()) {
        text::put_line(buf, inside.x, y, inside.width, line, cx.glyphs);
    }
    let n_head = u16::try_from(lines.len()).unwrap_or(u16::MAX).min(inside.height);
    let blocks = Rect { y: inside.y + n_head, height: inside.height - n_head, ..inside };
    let mut picture = Picture { area: blocks, lines: lines_of(model, blocks.width), first_line: 0 };
    let is_in = |line: &PictureLine, row: usize| match *line {
        PictureLine::Zone(zone) => zone == row,
        PictureLine::Blocks(first, n) => (first..first + n).contains(&row),
    };
    let at = selected.and_then(|row| picture.lines.iter().position(|line| is_in(line, row)));
    let height = usize::from(blocks.height);
    let last_first = picture.lines.len().saturating_sub(height);
    picture.first_line = at.unwrap_or_default().saturating_sub(height / 2).min(last_first);
    for (line, y) in picture.lines.iter().skip(picture.first_line).zip(blocks.y..blocks.bottom()) {
        let drawn = match *line {
            PictureLine::Zone(row) => zone_line(model, row, selected == Some(row), cx),
            PictureLine::Blocks(first, n) => block_line(view, model, (first, n), selected, cx),
        };
        text::put_line(buf, blocks.x, y, blocks.width, &drawn, cx.glyphs);
    }
    picture
}

fn lines_of(model: &Model, width: u16) -> Vec<PictureLine> {
    let per_line = usize::from(width / BLOCK).max(1);
    let mut lines: Vec<PictureLine> = Vec::new();
    for (index, row) in model.rows.iter().enumerate() {
        match (row, lines.last_mut()) {
            (NodeRow::Zone(_), _) => lines.push(PictureLine::Zone(index)),
            (NodeRow::Node(_), Some(PictureLine::Blocks(_, n))) if *n < per_line => *n += 1,
            (NodeRow::Node(_), _) => lines.push(PictureLine::Blocks(index, 1)),
        }
    }
    lines
}

fn head(packing: &Packing, area: Rect, cx: &Cx<'_>) -> Vec<Line<'static>> {
    let style = |role| cx.theme.style(role);
    let mut lines = Vec::new();
    let label_width = if area.width >= 60 { 18 } else { 8 };
    for used in packing.usage.iter().filter(|used| used.allocatable > 0) {
        let label = text::left(&text::clean(&used.resource), label_width, cx.glyphs);
        let level = bar::level(used.requested, used.allocatable);
        let short = |value| amount::short(&used.resource, value);
        let percent = used.percent().unwrap_or_default();
        let mut spans = vec![Span::styled(format!("{label} "), style(Role::Label))];
        spans.extend(bar::spans(
            if area.width >= 60 { 20 } else { 8 },
            used.requested,
            used.allocatable,
            level,
            cx,
        ));
        let amounts = format!(" {percent:>3}%  {} of {}", short(used.requested), short(used.allocatable));
        spans.push(Span::styled(amounts, style(Role::Number)));
        lines.push(Line::from(spans));
    }
    if let Some((cpu, memory)) = packing.largest {
        let said = format!(
            "largest hole: cpu {} beside memory {}; stranded: cpu {}, memory {}",
            amount::cpu_short(cpu),
            amount::bytes_short(memory),
            amount::cpu_short(packing.stranded.0),
            amount::bytes_short(packing.stranded.1)
        );
        lines.extend(wrapped(&said, area.width, style(Role::Text)));
    }
    let n_sizes = if area.height >= ROOMY { packing.room.len() } else { 1 };
    let rooms: Vec<String> = packing
        .room
        .iter()
        .take(n_sizes)
        .map(|room| {
            let whose = if room.is_wanted { " (as the pod tried)" } else { "" };
            let split = if room.n_in_one > room.n {
                format!(" ({} if all were in one)", room.n_in_one)
            } else {
                String::new()
            };
            {
                let nodes = explain::counted(room.n_nodes, "node");
                format!("{}{whose}: {} on {nodes}{split}", room.size, room.n)
            }
        })
        .collect();
    if !rooms.is_empty() {
        let said = format!("room by requests alone: {}", rooms.join("; "));
        lines.extend(wrapped(&said, area.width, style(Role::Text)));
    }
    let legend = "a block is a node: how full its scarcest is, and which: c cpu, m memory, p pods, x other";
    lines.extend(wrapped(legend, area.width, style(Role::Muted)));
    lines
}

fn wrapped(said: &str, width: u16, style: ratatui::style::Style) -> Vec<Line<'static>> {
    text::wrap(said, usize::from(width))
        .into_iter()
        .map(|line| Line::from(Span::styled(line, style)))
        .collect()
}

fn zone_line(model: &Model, row: usize, is_selected: bool, cx: &Cx<'_>) -> Line<'static> {
    let Some(NodeRow::Zone(zone)) = model.rows.get(row) else { return Line::default() };
    let name = if zone.name.is_empty() { "no zone" } else { &zone.name };
    let [cpu, memory, _] = &zone.sums;
    let percent = |used: &ResourceUse| used.percent().map_or_else(|| String::from("-"), |n| format!("{n}%"));
    let heading = if is_selected { Role::Selection } else { Role::Heading };
    Line::from(vec![
        Span::styled(text::clean(name).into_owned(), cx.theme.style(heading)),
        Span::styled(
            format!("  {} nodes, cpu {}, memory {}", zone.n_nodes, percent(cpu), percent(memory)),
            cx.theme.style(Role::Muted),
        ),
    ])
}

/// The scarcest resource of a node: its letter, its role, and how full it is in hundredths.
fn scarcest(node: &NodeInfo) -> (&'static str, Role, i64) {
    let uses = explain::resource_uses(node);
    let scarcest = uses
        .iter()
        .enumerate()
        .filter_map(|(index, used)| Some((used.percent()?, std::cmp::Reverse(index), used)))
        .max_by_key(|(percent, index, _)| (*percent, *index));
    let Some((percent, _, used)) = scarcest else { return ("?", Role::Muted, 0) };
    match used.resource.as_ref() {
        resources::CPU => ("c", Role::Accent, percent),
        resources::MEMORY => ("m", Role::Heading, percent),
        resources::PODS => ("p", Role::StatusWait, percent),
        _ => ("x", Role::StatusUnschedulable, percent),
    }
}

fn block_line(
    view: &View,
    model: &Model,
    (first, n): (usize, usize),
    selected: Option<usize>,
    cx: &Cx<'_>,
) -> Line<'static> {
    let mut spans = Vec::new();
    for index in first..first + n {
        let Some(NodeRow::Node(node)) = model.rows.get(index) else { continue };
        let Some(node) = view.nodes.get(*node).map(Arc::as_ref) else { continue };
        let (letter, role, percent) = scarcest(node);
        let level = if cx.glyphs.is_ascii {
            // Tenths; full is #.
            match percent {
                100.. => String::from("#"),
                percent => (percent.max(0) / 10).to_string(),
            }
        } else {
            let eighths = usize::try_from(percent.clamp(0, 100) * 8).unwrap_or_default().div_ceil(100);
            LEVELS.get(eighths).copied().unwrap_or("█").to_owned()
        };
        let style = cx.theme.style(role);
        let style =
            if selected == Some(index) { style.patch(cx.theme.style(Role::Selection)) } else { style };
        let is_cordoned = node.node().is_some_and(|node| node.spec.unschedulable);
        let after = if is_cordoned { cx.glyphs.unresolvable } else { " " };
        spans.push(Span::styled(format!("{level}{letter}"), style));
        spans.push(Span::styled(after.to_owned(), cx.theme.style(Role::StatusUnresolvable)));
    }
    Line::from(spans)
}
