//! A lesson's overlays: its whole text, the question to be answered, and the list of lessons.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::tui::action::{Action, Context};
use crate::tui::lesson::{LessonLine, put_lines};
use crate::tui::theme::Role;
use crate::tui::widgets::line_editor::LineEditor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, moved, put_hints};

const WIDTH: u16 = 84;
const READING: &[Context] = &[Context::Overlay, Context::List];
/// What a text does not use itself goes to the console below it.
const OVER_THE_PANES: &[Context] = &[Context::Overlay, Context::List, Context::Stepper, Context::Global];
const TYPING: &[Context] = &[Context::TextInput];

/// Makes the lines of a lesson for a width.
pub type LessonText = Box<dyn Fn(usize) -> Vec<LessonLine>>;

/// Everything that there is to read now.
pub struct Card {
    text: LessonText,
    offset: usize,
    height: usize,
    n_lines: usize,
    /// Whether its end is to be seen first.
    is_at_end: bool,
}

impl Card {
    /// With its text; `is_at_end` where what is new is at the end.
    pub fn new(text: LessonText, is_at_end: bool) -> Self {
        Self { text, offset: 0, height: 1, n_lines: 0, is_at_end }
    }
}

impl Overlay for Card {
    fn contexts(&self) -> &'static [Context] {
        OVER_THE_PANES
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.n_lines.saturating_sub(self.height);
        if matches!(action, Action::Close | Action::Accept) {
            return OverlayOutcome::Close;
        }
        let Some(offset) = moved(action, self.offset, self.height, last) else {
            return OverlayOutcome::Through(action);
        };
        self.offset = offset;
        self.is_at_end = false;
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let lines = (self.text)(usize::from(width));
        self.n_lines = lines.len();
        let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let inner = boxed(screen, (width + 2, height), 38, &Line::from("lesson"), buf, cx);
        let Some(room) = inner.height.checked_sub(2) else { return };
        let area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), height: room, ..inner };
        self.height = usize::from(area.height).max(1);
        if self.is_at_end {
            self.offset = self.n_lines.saturating_sub(self.height);
        }
        put_lines(area, buf, &lines, self.offset, cx.theme, cx.glyphs);
        let hints = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..area };
        let more = self.n_lines > self.height;
        let scroll = [
            (Action::Close, "to the console"),
            (Action::SelectNext, "more below"),
            (Action::SelectPrevious, "above"),
        ];
        put_hints(hints, buf, if more { &scroll } else { &scroll[..1] }, READING, cx);
    }
}

/// The question, with a line for the answer.
pub struct AskAnswer {
    text: LessonText,
    n_choices: usize,
    chosen: Option<usize>,
    editor: LineEditor,
}

impl AskAnswer {
    /// With the question and its choices.
    pub fn new(text: LessonText, n_choices: usize) -> Self {
        Self { text, n_choices, chosen: None, editor: LineEditor::new("") }
    }

    fn choose(&mut self, chosen: usize) -> OverlayOutcome {
        let letter = ('a'..='i').nth(chosen).unwrap_or('a');
        self.chosen = Some(chosen);
        self.editor.set(letter.to_string());
        OverlayOutcome::Changed
    }
}

impl Overlay for AskAnswer {
    fn contexts(&self) -> &'static [Context] {
        TYPING
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.n_choices.saturating_sub(1);
        match action {
            Action::Accept if self.editor.text().trim().is_empty() => OverlayOutcome::Close,
            Action::Accept => OverlayOutcome::Command(format!("answer {}", self.editor.text())),
            Action::Cancel => OverlayOutcome::Close,
            Action::HistoryNext if self.n_choices > 0 => {
                self.choose(self.chosen.map_or(0, |chosen| (chosen + 1).min(last)))
            }
            Action::HistoryPrevious if self.n_choices > 0 => {
                self.choose(self.chosen.map_or(last, |chosen| chosen.saturating_sub(1)))
            }
            action if self.editor.handle(action) => OverlayOutcome::Changed,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn insert(&mut self, text: &str, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        self.editor.insert(text);
        let typed = self.editor.text().trim().to_lowercase();
        self.chosen = ('a'..='i').take(self.n_choices).position(|letter| typed == letter.to_string());
        OverlayOutcome::Changed
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let mut lines = (self.text)(usize::from(width));
        for line in &mut lines {
            line.is_chosen = line.choice.is_some() && line.choice == self.chosen;
        }
        let height = u16::try_from(lines.len() + 4).unwrap_or(u16::MAX);
        let inner = boxed(screen, (width + 2, height), 38, &Line::from("answer"), buf, cx);
        let Some(room) = inner.height.checked_sub(4) else { return };
        let area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), height: room, ..inner };
        let offset = lines.len().saturating_sub(usize::from(room));
        put_lines(area, buf, &lines, offset, cx.theme, cx.glyphs);
        let line = Rect { y: inner.bottom().saturating_sub(3), height: 1, ..area };
        let prompt = format!("{} ", cx.glyphs.prompt);
        let x = text::put(buf, line.x, line.y, line.width, &prompt, cx.theme.style(Role::Accent), cx.glyphs);
        let field = Rect { x, width: area.right().saturating_sub(x), ..line };
        self.editor.render(field, buf, cx.theme, cx.glyphs);
        let hints = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..area };
        put_hints(hints, buf, &[(Action::Accept, "answer"), (Action::Cancel, "look again")], TYPING, cx);
    }
}

/// A lesson in the list.
#[derive(Clone, Debug)]
pub struct ListedLesson {
    /// Its title and topic.
    pub title: String,
    /// What was answered right at the first try, of how many; absent if it is not done.
    pub done: Option<(usize, usize)>,
}

/// The lessons.
pub struct LessonList {
    lessons: Vec<ListedLesson>,
    at: usize,
    height: usize,
}

impl LessonList {
    /// With the open one selected.
    pub const fn new(lessons: Vec<ListedLesson>, at: usize) -> Self {
        Self { lessons, at, height: 1 }
    }
}

impl Overlay for LessonList {
    fn contexts(&self) -> &'static [Context] {
        READING
    }

    fn handle(&mut self, action: Action, _cx: &OverlayCx<'_>) -> OverlayOutcome {
        let last = self.lessons.len().saturating_sub(1);
        match action {
            Action::Close => OverlayOutcome::Close,
            Action::Accept => OverlayOutcome::Command(format!("lesson {}", self.at + 1)),
            action => match moved(action, self.at, self.height, last) {
                Some(at) => {
                    self.at = at;
                    OverlayOutcome::Changed
                }
                None => OverlayOutcome::Ignored,
            },
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let height = u16::try_from(self.lessons.len() + 2).unwrap_or(u16::MAX);
        let n_done = self.lessons.iter().filter(|lesson| lesson.done.is_some()).count();
        let title = Line::from(format!("lessons {} {n_done} of {} done", cx.glyphs.dot, self.lessons.len()));
        let inner = boxed(screen, (width + 2, height), 30, &title, buf, cx);
        let Some(room) = inner.height.checked_sub(2) else { return };
        let area = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), height: room, ..inner };
        self.height = usize::from(room).max(1);
        let offset = (self.at + 1).saturating_sub(self.height);
        for ((i, lesson), y) in self.lessons.iter().enumerate().skip(offset).zip(area.y..area.bottom()) {
            if i == self.at {
                buf.set_style(Rect { y, height: 1, ..area }, cx.theme.style(Role::Selection));
            }
            let (sign, role) = match lesson.done {
                Some(_) => (cx.glyphs.success, Role::StatusSuccess),
                None => (" ", Role::Muted),
            };
            let x = text::put(buf, area.x, y, 2, sign, cx.theme.style(role), cx.glyphs);
            let number = format!(" {:>2}  ", i + 1);
            let x = text::put(buf, x.max(area.x + 1), y, 5, &number, cx.theme.style(Role::Number), cx.glyphs);
            let score = lesson.done.map(|(right, of)| format!("{right}/{of}")).unwrap_or_default();
            let room = area.right().saturating_sub(x + 6);
            text::put(buf, x, y, room, &lesson.title, cx.theme.style(Role::Text), cx.glyphs);
            let at = area.right().saturating_sub(u16::try_from(score.len()).unwrap_or(0));
            text::put(buf, at, y, 6, &score, cx.theme.style(Role::Muted), cx.glyphs);
        }
        let hints = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..area };
        put_hints(hints, buf, &[(Action::Accept, "open"), (Action::Close, "close")], READING, cx);
    }
}
