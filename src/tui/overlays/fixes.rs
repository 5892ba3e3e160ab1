//! What would let a pod run: the fixes by their cost, and for the selected one what it does to others and how it is done
//! with kubectl. One can be done here, where the pod is seen to be placed.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::driver::advice::Advice;
use crate::driver::fix::{Fix, FixReport};
use crate::driver::session::{SessionCommand, SessionView};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Overlay, Context::List];
const WIDTH: u16 = 120;
/// Lines for the selected fix.
const DETAILS: u16 = 12;

/// The list.
#[derive(Default)]
pub struct FixesOverlay {
    cursor: Cursor<usize>,
}

fn report(view: &SessionView) -> Option<&FixReport> {
    match view.known.advice.as_ref().map(|(_, advice)| advice.as_ref()) {
        Some(Advice::Fix(report)) => Some(report),
        Some(Advice::Capacity(_)) | None => None,
    }
}

impl Overlay for FixesOverlay {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let Some(report) = report(cx.view) else { return OverlayOutcome::Close };
        self.cursor.sync(report.fixes.len(), |index| index);
        match (action, self.cursor.index()) {
            (Action::Close, _) => OverlayOutcome::Close,
            (Action::CopyCommands, Some(index)) => copied(report, index, cx),
            (Action::Accept, Some(index)) => OverlayOutcome::Session(SessionCommand::TryFix(index)),
            _ if self.cursor.handle(action, |index| index) => OverlayOutcome::Changed,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn is_over(&self, view: &SessionView) -> bool {
        report(view).is_none()
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let Some(report) = report(cx.view) else { return };
        self.cursor.sync(report.fixes.len(), |index| index);
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_rows = u16::try_from(report.fixes.len()).unwrap_or(u16::MAX).max(1);
        let title = Line::from(format!("what lets {} run", text::clean(&report.question.pod.to_string())));
        let size = (width + 2, n_rows.saturating_add(DETAILS + 6));
        let inner = boxed(screen, size, 30, &title, buf, cx);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        if inner.height < 3 {
            return;
        }
        let summary = summary(report);
        let n = put_wrapped(Rect { height: inner.height.min(3), ..inner }, buf, &summary, 0, Role::Text, cx);
        let top = u16::try_from(n).unwrap_or(1).min(3) + 1;
        let hints = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        let hint = [(Action::Accept, "do it here"), (Action::CopyCommands, "copy"), (Action::Close, "close")];
        put_hints(hints, buf, &hint, CONTEXTS, cx);
        let Some(room) = inner.height.checked_sub(top + 2) else { return };
        // What the list does not need is for the selected one.
        let n_list = n_rows.min(room - DETAILS.min(room / 2));
        let n_details = room - n_list;
        let list = Rect { y: inner.y + top, height: n_list, ..inner };
        self.put_list(list, buf, report, cx);
        let Some(fix) = self.cursor.index().and_then(|index| report.fixes.get(index)) else { return };
        let area = Rect { y: list.bottom() + 1, height: n_details, ..inner };
        put_wrapped(area, buf, &details(fix, report, cx), 0, Role::Text, cx);
    }
}

impl FixesOverlay {
    fn put_list(&mut self, area: Rect, buf: &mut Buffer, report: &FixReport, cx: &OverlayCx<'_>) {
        self.cursor.set_height(usize::from(area.height));
        let style = |role| cx.theme.style(role);
        let shown = report.fixes.iter().enumerate().skip(self.cursor.offset());
        for ((index, fix), y) in shown.zip(area.y..area.bottom()) {
            let row = Rect { y, height: 1, ..area };
            if self.cursor.index() == Some(index) {
                buf.set_style(row, style(Role::Selection));
            }
            let cost = format!("{:>4}  ", fix.cost);
            let x = text::put(buf, row.x, y, row.width, &cost, style(Role::Number), cx.glyphs);
            let node = format!("  {} {}", cx.glyphs.arrow, fix.node);
            let node_width = u16::try_from(text::width(&node)).unwrap_or(0).min(row.width / 3);
            let room = row.right().saturating_sub(x + node_width);
            let title = fix.title();
            let x = text::put(buf, x, y, room, &title, style(Role::Text), cx.glyphs);
            text::put(buf, x, y, row.right().saturating_sub(x), &node, style(Role::Name), cx.glyphs);
        }
    }
}

fn summary(report: &FixReport) -> String {
    let progress = &report.progress;
    let cut = report.cut.map(|why| format!(" The search ended early: {why}.")).unwrap_or_default();
    format!(
        "By cost; each was run in a copy until nothing moved ({} runs for {} sets of changes).{cut}",
        progress.n_runs, progress.n_candidates
    )
}

fn details(fix: &Fix, report: &FixReport, cx: &OverlayCx<'_>) -> String {
    let alike = match fix.n_alike {
        0 => String::new(),
        n => format!("; the same would do for {n} more nodes"),
    };
    let mut lines = vec![format!("{}: runs on {}{alike}", fix.title(), fix.node)];
    lines.extend(fix.effects.lines());
    if let Some(pod) = pod_of(report, cx) {
        lines.extend(fix.commands(&pod, "kubectl"));
    }
    lines.join("\n")
}

fn copied(report: &FixReport, index: usize, cx: &OverlayCx<'_>) -> OverlayOutcome {
    let Some((fix, pod)) = report.fixes.get(index).zip(pod_of(report, cx)) else {
        return OverlayOutcome::Ignored;
    };
    let commands = fix.commands(&pod, "kubectl");
    let said = match commands.as_slice() {
        [] => return OverlayOutcome::Ignored,
        [only] => format!("copied {only}"),
        several => format!("copied {} command lines", several.len()),
    };
    OverlayOutcome::Copy(commands.join("\n"), said)
}

/// The pod as the view has it.
fn pod_of(report: &FixReport, cx: &OverlayCx<'_>) -> Option<crate::api::objects::Pod> {
    let place = crate::explain::place_of(&cx.view.scheduler, &report.question.pod)?;
    Some(place.pod().as_ref().clone())
}
