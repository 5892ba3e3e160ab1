//! A text that does not fit into the footer: an error with its place, or what ended the session.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, moved, put_wrapped};

const WIDTH: u16 = 90;

/// A text.
pub struct Message {
    title: String,
    body: String,
    offset: usize,
    height: usize,
    n_lines: usize,
}

impl Message {
    /// With a title.
    pub const fn new(title: String, body: String) -> Self {
        Self { title, body, offset: 0, height: 1, n_lines: 0 }
    }
}

impl Overlay for Message {
    fn contexts(&self) -> &'static [Context] {
        &[Context::Overlay, Context::List]
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.n_lines.saturating_sub(self.height);
        if matches!(action, Action::Close | Action::Accept) {
            return OverlayOutcome::Close;
        }
        let Some(offset) = moved(action, self.offset, self.height, last) else {
            return OverlayOutcome::Ignored;
        };
        self.offset = offset;
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_lines = text::wrap(&self.body, usize::from(width)).len();
        let size = (width + 2, u16::try_from(n_lines).unwrap_or(u16::MAX));
        let inner = boxed(screen, size, 38, &Line::from(self.title.clone()), buf, cx);
        let area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        self.height = usize::from(area.height).max(1);
        self.n_lines = put_wrapped(area, buf, &self.body, self.offset, Role::Text, cx);
    }
}
