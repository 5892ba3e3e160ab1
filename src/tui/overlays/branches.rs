//! The branches as a tree: where each left another, by what, how long it is, and what came of it. One can be gone to, and
//! one can be put beside the present one.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::api::time::human_duration;
use crate::driver::branches::BranchView;
use crate::driver::session::SessionCommand;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Overlay, Context::List];
const WIDTH: u16 = 100;
/// Branches are indented so deep at the most.
const DEPTH_MAX: usize = 12;

/// The tree.
#[derive(Default)]
pub struct BranchesOverlay {
    cursor: Cursor<usize>,
    is_placed: bool,
}

/// The branches in the order of the tree, each with how deep it is.
fn rows(branches: &[BranchView]) -> Vec<(usize, &BranchView)> {
    let mut rows: Vec<(usize, &BranchView)> = Vec::new();
    // A branch begins later than the one that it left, so its place is known by then.
    for branch in branches {
        let parent =
            branch.parent.and_then(|parent| rows.iter().position(|(_, known)| known.number == parent));
        let Some(at) = parent else {
            rows.push((0, branch));
            continue;
        };
        let depth = rows.get(at).map_or(0, |(depth, _)| *depth) + 1;
        let end = rows.iter().skip(at + 1).position(|(other, _)| *other < depth);
        rows.insert(end.map_or(rows.len(), |n| at + 1 + n), (depth, branch));
    }
    rows
}

impl BranchesOverlay {
    fn sync(&mut self, rows: &[(usize, &BranchView)], here: usize) {
        let key_at = |index: usize| rows.get(index).map_or(0, |(_, branch)| branch.number);
        self.cursor.sync(rows.len(), key_at);
        if !self.is_placed {
            self.is_placed = self.cursor.select_key(&here, key_at);
        }
    }
}

impl Overlay for BranchesOverlay {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let rows = rows(&cx.view.branches);
        let here = cx.view.moment.branch;
        self.sync(&rows, here);
        let key_at = |index: usize| rows.get(index).map_or(0, |(_, branch)| branch.number);
        match (action, self.cursor.key().copied()) {
            (Action::Close, _) => OverlayOutcome::Close,
            (Action::Accept, Some(branch)) => OverlayOutcome::Session(SessionCommand::ToBranch(branch)),
            (Action::CompareBranch, Some(branch)) if branch != here => {
                OverlayOutcome::Tell(SessionCommand::Compare(here.min(branch), here.max(branch)))
            }
            _ if self.cursor.handle(action, key_at) => OverlayOutcome::Changed,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let rows = rows(&cx.view.branches);
        let here = cx.view.moment.branch;
        self.sync(&rows, here);
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_lines = u16::try_from(rows.len()).unwrap_or(u16::MAX).max(3);
        let title = Line::from(format!("branches {} {}", cx.glyphs.dot, rows.len().max(1)));
        let inner = boxed(screen, (width + 2, n_lines.saturating_add(2)), 30, &title, buf, cx);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let Some(height) = inner.height.checked_sub(2) else { return };
        let body = Rect { height, ..inner };
        if rows.is_empty() {
            let why = "There is one branch only. Go back, change something (a node, a pod, :weight, :config), and \
                       another begins; the first stays as it was.";
            put_wrapped(body, buf, why, 0, Role::Muted, cx);
        }
        self.cursor.set_height(usize::from(body.height));
        let shown = rows.iter().enumerate().skip(self.cursor.offset());
        for ((index, (depth, branch)), y) in shown.zip(body.y..body.bottom()) {
            let area = Rect { y, height: 1, ..body };
            if self.cursor.index() == Some(index) {
                buf.set_style(area, cx.theme.style(Role::Selection));
            }
            put_branch(area, buf, *depth, branch, branch.number == here, cx);
        }
        let hints = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..inner };
        let hint =
            [(Action::Accept, "go there"), (Action::CompareBranch, "compare"), (Action::Close, "close")];
        put_hints(hints, buf, &hint, CONTEXTS, cx);
    }
}

fn put_branch(
    area: Rect,
    buf: &mut Buffer,
    depth: usize,
    branch: &BranchView,
    is_here: bool,
    cx: &OverlayCx<'_>,
) {
    let style = |role| cx.theme.style(role);
    let (bound, failed, _) = branch.totals;
    let ops = if branch.n_ops == 1 { "1 step".to_owned() } else { format!("{} steps", branch.n_ops) };
    let end = format!("{ops}, {bound} bound, {failed} failed");
    let end_width = u16::try_from(text::width(&end)).unwrap_or(0).min(area.width / 2);
    let room = |x: u16| area.right().saturating_sub(x + end_width + 2);
    let lead = "  ".repeat(depth.min(DEPTH_MAX).saturating_sub(1));
    let arm = if depth == 0 {
        String::new()
    } else {
        format!("{lead}{} ", if cx.glyphs.is_ascii { "`-" } else { "└─" })
    };
    let x = text::put(buf, area.x, area.y, room(area.x), &arm, style(Role::Muted), cx.glyphs);
    let role = if is_here { Role::Accent } else { Role::Number };
    let number = format!("{} ", branch.number);
    let x = text::put(buf, x, area.y, room(x), &number, style(role), cx.glyphs);
    let what = if is_here { format!("{} (here)", branch.change) } else { branch.change.clone() };
    let role = if is_here { Role::Strong } else { Role::Text };
    let mut x = text::put(buf, x, area.y, room(x), &what, style(role), cx.glyphs);
    if branch.parent.is_some() {
        let left = format!("  at step {}, {}", branch.from, human_duration(branch.from_elapsed));
        x = text::put(buf, x, area.y, room(x), &left, style(Role::Muted), cx.glyphs);
    }
    let start = area.right().saturating_sub(end_width).max(x);
    text::put(buf, start, area.y, area.right().saturating_sub(start), &end, style(Role::Muted), cx.glyphs);
}
