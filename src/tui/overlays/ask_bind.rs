//! The question about a bind that waits for a person.
//!
//! It lies at the foot of the screen, so that the matrix of that very attempt stays in view, and lets the keys that move
//! in the matrix through. What is answered is the bind that is drawn.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::api::time::human_duration;
use crate::driver::live::session::LiveCommand;
use crate::driver::live::view::{ConfirmRow, LiveView};
use crate::driver::session::{SessionCommand, SessionView};
use crate::explain;
use crate::scheduler::effect::EffectId;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, clear, put_hints};
use crate::tui::widgets::frame;

const CONTEXTS: &[Context] = &[Context::Ask, Context::Matrix, Context::List];
/// Lines with the frame.
const HEIGHT: u16 = 6;
/// How many of those that wait behind are named.
const NAMED: usize = 4;

/// The question.
#[derive(Default)]
pub struct AskBind {
    /// The bind that is drawn.
    shown: Option<EffectId>,
}

fn waiting(view: &SessionView) -> &[ConfirmRow] {
    view.live.as_deref().map_or(&[], |live: &LiveView| &live.to_confirm)
}

/// What is asked about the bind that has waited longest.
pub fn question(row: &ConfirmRow, view: &SessionView) -> String {
    let trace = view.scheduler.cycle.as_ref().filter(|trace| trace.pod_key() == row.pod);
    match trace.and_then(|trace| explain::selection(trace)) {
        Some(why) => format!("bind {} to {}?  {why}", row.pod, row.node),
        None => format!("bind {} to {}?", row.pod, row.node),
    }
}

impl Overlay for AskBind {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn is_over(&self, view: &SessionView) -> bool {
        waiting(view).is_empty()
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let tell = |command| OverlayOutcome::Tell(SessionCommand::Live(command));
        match (action, self.shown) {
            (Action::ConfirmBind, Some(id)) => tell(LiveCommand::Confirm { id, is_wanted: true }),
            (Action::DeclineBind, Some(id)) => tell(LiveCommand::Confirm { id, is_wanted: false }),
            (Action::ConfirmAllBinds, _) => tell(LiveCommand::ConfirmAll { is_wanted: true }),
            (Action::DeclineAllBinds, _) => tell(LiveCommand::ConfirmAll { is_wanted: false }),
            (Action::LeaveBinds, _) => OverlayOutcome::Close,
            (action, _) => OverlayOutcome::Pane(action),
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let rows = waiting(cx.view);
        let Some((first, others)) = rows.split_first() else { return };
        self.shown = Some(first.id);
        let screen = screen.intersection(buf.area);
        let height = HEIGHT.min(screen.height);
        let area = Rect { y: screen.bottom() - height, height, ..screen };
        clear(area, buf, cx);
        let title = Line::from(vec![
            Span::raw("bind? "),
            Span::styled(format!("1 of {}", rows.len()), cx.theme.style(Role::Strong)),
        ])
        .style(cx.theme.style(Role::TitleFocused));
        let inner = frame::frame(area, buf, &title, cx.theme.style(Role::ArmedBorder), cx.glyphs);
        let put = |y: u16, line: &str, role: Role, buf: &mut Buffer| {
            if y < inner.height {
                let width = inner.width.saturating_sub(2);
                text::put(buf, inner.x + 1, inner.y + y, width, line, cx.theme.style(role), cx.glyphs);
            }
        };
        put(0, &question(first, cx.view), Role::Danger, buf);
        let age = human_duration(first.age);
        put(
            1,
            &format!("It has waited {age}. Turned down, the pod is tried again after its backoff."),
            Role::Text,
            buf,
        );
        put(2, &behind(others, cx), Role::Muted, buf);
        let hints = [
            (Action::ConfirmBind, "bind"),
            (Action::DeclineBind, "decline"),
            (Action::ConfirmAllBinds, "bind all"),
            (Action::DeclineAllBinds, "decline all"),
            (Action::LeaveBinds, "later"),
        ];
        if inner.height > 3 {
            let line =
                Rect { x: inner.x + 1, y: inner.y + 3, width: inner.width.saturating_sub(2), height: 1 };
            put_hints(line, buf, &hints, CONTEXTS, cx);
        }
    }
}

/// The binds that wait behind the first.
fn behind(others: &[ConfirmRow], cx: &OverlayCx<'_>) -> String {
    if others.is_empty() {
        return "No other bind waits.".to_owned();
    }
    let named: Vec<String> = others
        .iter()
        .take(NAMED)
        .map(|row| format!("{} {} {}", row.pod, cx.glyphs.arrow, row.node))
        .collect();
    let rest = others.len().saturating_sub(NAMED);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    format!("behind it: {}{more}", named.join(", "))
}
