//! One line that completes a command: the add-pod form, a duration to advance by.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::TextInput];
const WIDTH: u16 = 72;

/// A line to type.
pub struct Input {
    title: &'static str,
    /// What stands before the typed text in the command line.
    command: &'static str,
    help: &'static str,
    editor: LineEditor,
}

impl Input {
    /// The arguments of `command`, with `text` to begin with; `help` is shown below.
    pub fn new(title: &'static str, command: &'static str, text: String, help: &'static str) -> Self {
        Self { title, command, help, editor: LineEditor::new(text) }
    }
}

impl Overlay for Input {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        match action {
            Action::Accept if self.editor.text().trim().is_empty() => OverlayOutcome::Close,
            Action::Accept => OverlayOutcome::Command(format!("{} {}", self.command, self.editor.text())),
            Action::Cancel => OverlayOutcome::Close,
            action if self.editor.handle(action) => OverlayOutcome::Changed,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn insert(&mut self, text: &str, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        self.editor.insert(text);
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_help = text::wrap(self.help, usize::from(width)).len();
        let height = u16::try_from(n_help + 4).unwrap_or(u16::MAX);
        let inner = boxed(screen, (width + 2, height), 38, &Line::from(self.title), buf, cx);
        let area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let line = Rect { height: area.height.min(1), ..area };
        let prompt = format!("{} ", cx.glyphs.prompt);
        let x = text::put(buf, line.x, line.y, line.width, &prompt, cx.theme.style(Role::Accent), cx.glyphs);
        let field = Rect { x, width: area.right().saturating_sub(x), ..line };
        self.editor.render(field, buf, cx.theme, cx.glyphs);
        let rest = Rect { y: area.y + 2.min(area.height), height: area.height.saturating_sub(2), ..area };
        let n_help = put_wrapped(rest, buf, self.help, 0, Role::Muted, cx);
        let n_help = u16::try_from(n_help + 1).unwrap_or(u16::MAX).min(rest.height);
        let hints = Rect { y: rest.y + n_help, height: rest.height - n_help, ..rest };
        if !hints.is_empty() {
            put_hints(hints, buf, &[(Action::Accept, "do it"), (Action::Cancel, "cancel")], CONTEXTS, cx);
        }
    }
}
