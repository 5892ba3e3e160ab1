//! Two branches side by side: the pods that went different ways, and for the selected one what turned it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::api::NamespacedName;
use crate::driver::branches::{BranchComparison, Difference, PodEnd};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Overlay, Context::List];
const WIDTH: u16 = 120;
/// Lines for the reasons of the selected pod.
const REASONS: u16 = 6;

/// The table.
#[derive(Default)]
pub struct CompareOverlay {
    cursor: Cursor<NamespacedName>,
}

impl CompareOverlay {
    fn sync(&mut self, comparison: &BranchComparison) {
        let pods = &comparison.differences;
        self.cursor.sync(pods.len(), |index| key_at(pods, index));
    }
}

fn key_at(differences: &[Difference], index: usize) -> NamespacedName {
    differences.get(index).map_or_else(|| NamespacedName::cluster(""), |difference| difference.pod.clone())
}

fn end_text(end: &PodEnd) -> String {
    match end {
        PodEnd::On(node) => node.to_string(),
        PodEnd::Pending => "pending".to_owned(),
        PodEnd::Gone => "not there".to_owned(),
    }
}

fn names(comparison: &BranchComparison) -> [String; 2] {
    comparison.branches.map(|branch| format!("branch {branch}"))
}

impl Overlay for CompareOverlay {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        if matches!(action, Action::Close | Action::Accept) {
            return OverlayOutcome::Close;
        }
        let Some((_, comparison)) = &cx.view.comparison else { return OverlayOutcome::Close };
        self.sync(comparison);
        if self.cursor.handle(action, |index| key_at(&comparison.differences, index)) {
            return OverlayOutcome::Changed;
        }
        OverlayOutcome::Ignored
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let Some((_, comparison)) = &cx.view.comparison else { return };
        self.sync(comparison);
        let names = names(comparison);
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_rows = u16::try_from(comparison.differences.len()).unwrap_or(u16::MAX).max(1);
        let title = Line::from(format!("{} and {}", names[0], names[1]));
        let size = (width + 2, n_rows.saturating_add(REASONS + 6));
        let inner = boxed(screen, size, 30, &title, buf, cx);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        if inner.height < 3 {
            return;
        }
        let summary = summary(comparison);
        let n = put_wrapped(Rect { height: inner.height.min(2), ..inner }, buf, &summary, 0, Role::Text, cx);
        let top = u16::try_from(n).unwrap_or(1).min(2) + 1;
        let hints = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        put_hints(hints, buf, &[(Action::Close, "close")], CONTEXTS, cx);
        let Some(room) = inner.height.checked_sub(top + 2) else { return };
        let n_reasons = REASONS.min(room / 2);
        let table = Rect { y: inner.y + top, height: room - n_reasons, ..inner };
        self.put_table(table, buf, comparison, cx);
        let selected = self.cursor.index().and_then(|index| comparison.differences.get(index));
        if let Some(difference) = selected {
            let area = Rect { y: table.bottom() + 1, height: n_reasons, ..inner };
            let lines = difference.why([&names[0], &names[1]]);
            let attempt = format!("{}, attempt {}", difference.pod, difference.attempt);
            let body = if lines.is_empty() {
                format!("{attempt}: what plugins said of it is the same; chance, or another pod, decided")
            } else {
                format!("{attempt}\n{}", lines.join("\n"))
            };
            put_wrapped(area, buf, &body, 0, Role::Text, cx);
        }
    }
}

impl CompareOverlay {
    fn put_table(&mut self, area: Rect, buf: &mut Buffer, comparison: &BranchComparison, cx: &OverlayCx<'_>) {
        let style = |role| cx.theme.style(role);
        let names = names(comparison);
        // The pod has a third, the two nodes a fifth each, the reason the rest.
        let at = [0, area.width * 3 / 10, area.width * 9 / 20, area.width * 3 / 5, area.width * 7 / 10];
        let put = |buf: &mut Buffer, y: u16, column: usize, cell: &str, role: Role| {
            let x = area.x + at.get(column).copied().unwrap_or(0);
            let end = at.get(column + 1).map_or(area.right(), |next| area.x + next - 1);
            text::put(buf, x, y, end.saturating_sub(x), cell, style(role), cx.glyphs);
        };
        if area.height == 0 {
            return;
        }
        for (column, header) in ["pod", &names[0], &names[1], "try", "by"].into_iter().enumerate() {
            put(buf, area.y, column, header, Role::Heading);
        }
        let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if comparison.differences.is_empty() && body.height > 0 {
            text::put(
                buf,
                body.x,
                body.y,
                body.width,
                "All pods go the same way.",
                style(Role::Muted),
                cx.glyphs,
            );
        }
        self.cursor.set_height(usize::from(body.height));
        let shown = comparison.differences.iter().enumerate().skip(self.cursor.offset());
        for ((index, difference), y) in shown.zip(body.y..body.bottom()) {
            if self.cursor.index() == Some(index) {
                buf.set_style(Rect { y, height: 1, ..body }, style(Role::Selection));
            }
            put(buf, y, 0, &difference.pod.to_string(), Role::Name);
            for (column, end) in (1..).zip(&difference.ends) {
                let role = if matches!(end, PodEnd::On(_)) { Role::Text } else { Role::StatusUnschedulable };
                put(buf, y, column, &end_text(end), role);
            }
            put(buf, y, 3, &difference.attempt.to_string(), Role::Number);
            let by = difference.turned_by();
            if by.is_empty() {
                let what = if difference.is_by_chance() { "chance" } else { "what came before" };
                put(buf, y, 4, what, Role::Muted);
            } else {
                put(buf, y, 4, &by.join(", "), Role::Text);
            }
        }
    }
}

fn summary(comparison: &BranchComparison) -> String {
    let n = comparison.differences.len();
    let [bound_a, bound_b] = comparison.bound;
    let [failed_a, failed_b] = comparison.failed;
    let mut text = format!(
        "{n} of {} pods go other ways; bound {bound_a} and {bound_b}, failed attempts {failed_a} and {failed_b}. They \
         part at step {}",
        n + comparison.n_equal,
        comparison.parted_at
    );
    match comparison.beyond {
        [0, 0] => text.push('.'),
        [a, b] => text.push_str(&format!("; {a} and {b} attempts were made on copies beyond their ends.")),
    }
    text
}
