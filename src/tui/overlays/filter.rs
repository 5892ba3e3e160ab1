//! The filter of the focused pane while it is typed, in the place of the footer.
//!
//! It works with every key; accepting it only gives the keys back to the pane. Up and down move in the pane.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, clear, put_hints};

const CONTEXTS: &[Context] = &[Context::TextInput];

/// A filter that is typed.
pub struct Filter {
    editor: LineEditor,
}

impl Filter {
    /// Begins with what the pane is filtered by.
    pub fn new(current: Option<&str>) -> Self {
        Self { editor: LineEditor::new(current.unwrap_or_default()) }
    }

    fn outcome(&self) -> OverlayOutcome {
        OverlayOutcome::Filter((!self.editor.is_empty()).then(|| self.editor.text().to_owned()))
    }
}

impl Overlay for Filter {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        match action {
            Action::Accept => OverlayOutcome::Close,
            Action::Cancel if self.editor.is_empty() => OverlayOutcome::Close,
            Action::Cancel => {
                self.editor.set("");
                self.outcome()
            }
            Action::DeleteBackward if self.editor.is_empty() => OverlayOutcome::Close,
            Action::HistoryPrevious => OverlayOutcome::Pane(Action::SelectPrevious),
            Action::HistoryNext => OverlayOutcome::Pane(Action::SelectNext),
            action if self.editor.handle(action) => self.outcome(),
            _ => OverlayOutcome::Ignored,
        }
    }

    fn insert(&mut self, text: &str, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        self.editor.insert(text);
        self.outcome()
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let Some(y) = screen.bottom().checked_sub(1) else { return };
        let line = Rect { y, height: 1, ..screen };
        clear(line, buf, cx);
        let label = format!(" find in {} ", cx.pane.as_str());
        let x = text::put(buf, line.x, y, line.width, &label, cx.theme.style(Role::KeyLabel), cx.glyphs);
        let x = text::put(buf, x, y, line.right() - x, "/", cx.theme.style(Role::Accent), cx.glyphs);
        let rest = line.right().saturating_sub(x);
        let hints_width = if rest > 60 { 26 } else { 0 };
        let field = Rect { x, width: rest - hints_width, ..line };
        self.editor.render(field, buf, cx.theme, cx.glyphs);
        let hints = Rect { x: field.right(), width: hints_width, ..line };
        put_hints(hints, buf, &[(Action::Accept, "keep"), (Action::Cancel, "clear")], CONTEXTS, cx);
    }
}
