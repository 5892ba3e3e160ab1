//! What can follow on the keys of a chord that has begun.
//!
//! It is no overlay of the stack: it takes no keys, and it goes when the chord ends.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::action::Action;
use crate::tui::keymap::Key;
use crate::tui::keymap::key::chord_to_string;
use crate::tui::theme::Role;
use crate::tui::widgets::{frame, text};

use super::{OverlayCx, clear};

/// How long a chord may wait before it is helped.
pub const PATIENCE: Duration = Duration::from_millis(300);

const WIDTH: u16 = 44;

/// Draws the list above the footer, at the right.
pub fn render(screen: Rect, buf: &mut Buffer, pending: &[Key], cx: &OverlayCx<'_>) {
    let rows: Vec<(String, String)> = cx
        .keymap
        .continuations(cx.pane_contexts, pending)
        .into_iter()
        .map(|(keys, binding)| {
            let description = binding.action.map_or("", |action: Action| action.info().description);
            (keys, binding.description.clone().unwrap_or_else(|| description.to_owned()))
        })
        .collect();
    let height =
        u16::try_from(rows.len()).unwrap_or(u16::MAX).saturating_add(2).min(screen.height.saturating_sub(2));
    let width = WIDTH.min(screen.width);
    if height < 3 || width < 10 {
        return;
    }
    let y = screen.bottom().saturating_sub(height + 1);
    let area = Rect { x: screen.right() - width, y, width, height };
    clear(area, buf, cx);
    let title = ratatui::text::Line::styled(chord_to_string(pending), cx.theme.style(Role::TitleFocused));
    let inner = frame::frame(area, buf, &title, cx.theme.style(Role::OverlayBorder), cx.glyphs);
    for ((keys, description), y) in rows.iter().zip(inner.y..inner.bottom()) {
        text::put(buf, inner.x + 1, y, 6, keys, cx.theme.style(Role::Key), cx.glyphs);
        let x = inner.x + 8;
        text::put(
            buf,
            x,
            y,
            inner.right().saturating_sub(x),
            description,
            cx.theme.style(Role::KeyLabel),
            cx.glyphs,
        );
    }
}
