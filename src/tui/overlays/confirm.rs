//! A question before something is taken away. It names what it is about and is asked once.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::driver::session::SessionCommand;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Confirm];
const WIDTH: u16 = 60;

/// A question.
pub struct Confirm {
    question: String,
    detail: String,
    command: SessionCommand,
}

impl Confirm {
    /// Asks `question`; `command` is sent if the answer is yes.
    pub const fn new(question: String, detail: String, command: SessionCommand) -> Self {
        Self { question, detail, command }
    }
}

impl Overlay for Confirm {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        match action {
            Action::Accept => OverlayOutcome::Session(self.command.clone()),
            Action::Refuse => OverlayOutcome::Close,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_question = text::wrap(&self.question, usize::from(width)).len();
        let n_detail = text::wrap(&self.detail, usize::from(width)).len();
        let height = u16::try_from(n_question + n_detail + 3).unwrap_or(u16::MAX);
        let inner = boxed(screen, (width + 2, height), 38, &Line::from("sure?"), buf, cx);
        let mut area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let n = put_wrapped(area, buf, &self.question, 0, Role::Danger, cx);
        area = below(area, n + 1);
        let n = put_wrapped(area, buf, &self.detail, 0, Role::Text, cx);
        area = below(area, n + 1);
        put_hints(area, buf, &[(Action::Accept, "yes"), (Action::Refuse, "no")], CONTEXTS, cx);
    }
}

fn below(area: Rect, n: usize) -> Rect {
    let n = u16::try_from(n).unwrap_or(u16::MAX).min(area.height);
    Rect { y: area.y + n, height: area.height - n, ..area }
}
