//! The command palette: a line to type, what it can become, and what was typed before.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::action::{Action, Context};
use crate::tui::commands::{Candidate, CommandCx, can_mean, complete};
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, key};

const WIDTH: u16 = 96;
const N_VISIBLE: u16 = 12;

/// The palette.
pub struct Palette {
    editor: LineEditor,
    candidates: Vec<Candidate>,
    chosen: usize,
    offset: usize,
    /// How far back in the history the line is from; 0 is what was typed.
    back: usize,
}

impl Palette {
    /// With something typed, or nothing.
    pub fn new(typed: &str, cx: &OverlayCx<'_>) -> Self {
        let editor = LineEditor::new(typed);
        let mut palette = Self { editor, candidates: Vec::new(), chosen: 0, offset: 0, back: 0 };
        palette.refresh(cx);
        palette
    }

    fn refresh(&mut self, cx: &OverlayCx<'_>) {
        self.candidates = complete(
            self.editor.text(),
            &CommandCx { view: cx.view, selected: cx.selected, themes: cx.themes },
        );
        self.chosen = 0;
        self.offset = 0;
    }

    fn candidate(&self) -> Option<&Candidate> {
        self.candidates.get(self.chosen)
    }

    /// Takes the candidate over into the line.
    fn take_over(&mut self, cx: &OverlayCx<'_>) {
        let Some(candidate) = self.candidate() else { return };
        let blank = if candidate.is_complete && candidate.arguments.is_empty() { "" } else { " " };
        self.editor.set(format!("{}{blank}", candidate.line));
        self.refresh(cx);
    }

    fn accept(&mut self, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let typed = self.editor.text().trim();
        if typed.is_empty() && self.chosen == 0 {
            return OverlayOutcome::Close;
        }
        // A name that is not finished stands for the candidate; arguments stand for themselves unless another
        // candidate was moved to.
        let is_name = !self.editor.text().trim_start().contains(char::is_whitespace);
        match self.candidate() {
            Some(candidate) if self.chosen > 0 || (is_name && can_mean(candidate, typed)) => {
                if candidate.is_complete {
                    OverlayOutcome::Command(candidate.line.clone())
                } else {
                    self.take_over(cx);
                    OverlayOutcome::Changed
                }
            }
            _ => OverlayOutcome::Command(typed.to_owned()),
        }
    }

    fn recall(&mut self, back: usize, cx: &OverlayCx<'_>) {
        let line = back.checked_sub(1).and_then(|n| cx.history.iter().rev().nth(n));
        match (back, line) {
            (0, _) => self.editor.set(""),
            (_, Some(line)) => self.editor.set(line.clone()),
            (_, None) => return,
        }
        self.back = back;
        self.refresh(cx);
    }
}

impl Overlay for Palette {
    fn contexts(&self) -> &'static [Context] {
        &[Context::TextInput, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.candidates.len().saturating_sub(1);
        match action {
            Action::Accept => return self.accept(cx),
            Action::Cancel => return OverlayOutcome::Close,
            Action::DeleteBackward if self.editor.is_empty() => return OverlayOutcome::Close,
            Action::Complete => self.take_over(cx),
            Action::HistoryPrevious if self.chosen > 0 && self.back == 0 => self.chosen -= 1,
            Action::HistoryPrevious => self.recall(self.back + 1, cx),
            Action::HistoryNext if self.back > 0 => self.recall(self.back - 1, cx),
            Action::HistoryNext => self.chosen = (self.chosen + 1).min(last),
            Action::PageDown => self.chosen = (self.chosen + usize::from(N_VISIBLE)).min(last),
            Action::PageUp => self.chosen = self.chosen.saturating_sub(usize::from(N_VISIBLE)),
            action if self.editor.handle(action) => {
                self.back = 0;
                self.refresh(cx);
            }
            _ => return OverlayOutcome::Ignored,
        }
        OverlayOutcome::Changed
    }

    fn insert(&mut self, text: &str, cx: &OverlayCx<'_>) -> OverlayOutcome {
        self.editor.insert(text);
        self.back = 0;
        self.refresh(cx);
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let n_rows = u16::try_from(self.candidates.len()).unwrap_or(u16::MAX).min(N_VISIBLE);
        let width = WIDTH.min(screen.width.saturating_sub(4));
        // The box keeps its size while the list grows shorter, so that nothing jumps.
        let inner = boxed(screen, (width, N_VISIBLE + 2), 30, &Line::from("command"), buf, cx);
        if inner.height == 0 {
            return;
        }
        let line = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), height: 1, ..inner };
        let x = text::put(buf, line.x, line.y, line.width, ":", cx.theme.style(Role::Accent), cx.glyphs);
        let field = Rect { x, width: line.right().saturating_sub(x), ..line };
        self.editor.render(field, buf, cx.theme, cx.glyphs);
        self.render_ghost(field, buf, cx);
        let list = Rect { y: inner.y + 2.min(inner.height), height: inner.height.saturating_sub(2), ..inner };
        let height = usize::from(list.height.min(n_rows)).max(1);
        self.offset = self.offset.clamp((self.chosen + 1).saturating_sub(height), self.chosen);
        let rows = self.candidates.iter().enumerate().skip(self.offset);
        for ((index, candidate), y) in rows.zip(list.y..list.bottom()) {
            self.render_row(Rect { y, height: 1, ..list }, buf, candidate, index == self.chosen, cx);
        }
        if self.candidates.is_empty() {
            let why = self.why_empty();
            text::put(buf, line.x, list.y, line.width, &why, cx.theme.style(Role::Muted), cx.glyphs);
        }
    }
}

impl Palette {
    /// What stands where there is nothing to choose: what the command takes.
    fn why_empty(&self) -> String {
        let typed = self.editor.text().trim_start();
        let Some((name, _)) = typed.split_once(char::is_whitespace) else {
            return String::from("nothing begins like this");
        };
        match crate::tui::commands::COMMANDS.iter().find(|info| info.name == name) {
            Some(info) if info.arguments.is_empty() => format!(":{name} takes no arguments"),
            Some(info) => format!(":{name} {}", info.arguments),
            None => format!("there is no command {name:?}"),
        }
    }

    /// Shows behind a finished command name what arguments it takes.
    fn render_ghost(&self, field: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let typed = self.editor.text();
        let name = typed.split_whitespace().next().unwrap_or_default();
        let exact = crate::tui::commands::COMMANDS.iter().find(|info| info.name == name);
        let Some(info) = exact.filter(|_| typed.trim() == name && self.editor.is_at_end()) else { return };
        let x = field.x.saturating_add(u16::try_from(text::width(typed) + 1).unwrap_or(u16::MAX));
        let room = field.right().saturating_sub(x);
        text::put(buf, x, field.y, room, info.arguments, cx.theme.style(Role::Muted), cx.glyphs);
    }

    fn render_row(
        &self,
        row: Rect,
        buf: &mut Buffer,
        candidate: &Candidate,
        is_chosen: bool,
        cx: &OverlayCx<'_>,
    ) {
        let style = |role| cx.theme.style(role);
        let keys = candidate.action.map(|action| key(action, cx.pane_contexts, cx)).unwrap_or_default();
        let keys_width = u16::try_from(text::width(&keys)).unwrap_or(0);
        let name_width = if row.width < 60 { row.width.saturating_sub(keys_width + 3) } else { 38 };
        let name = Line::from(vec![
            text::span(&candidate.line, style(Role::Name)),
            Span::raw(" "),
            Span::styled(candidate.arguments, style(Role::Muted)),
        ]);
        let x = row.x + 1;
        let end =
            text::put_line(buf, x, row.y, name_width.min(row.width.saturating_sub(1)), &name, cx.glyphs);
        let x = end.max(x + name_width) + 1;
        let room = row.right().saturating_sub(x).saturating_sub(keys_width + 2);
        text::put(buf, x, row.y, room, &candidate.description, style(Role::Muted), cx.glyphs);
        let at = row.right().saturating_sub(keys_width + 1);
        text::put(buf, at, row.y, keys_width, &keys, style(Role::Key), cx.glyphs);
        if is_chosen {
            buf.set_style(row, style(Role::Selection));
        }
    }
}
