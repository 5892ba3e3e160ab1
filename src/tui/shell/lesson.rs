//! A lesson in the shell: the panel beside the panes, and what keys and commands do with it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::driver::session::{NoticeLevel, SessionCommand};
use crate::lessons::{Block, Course, CourseStep};
use crate::tui::action::{Action, Context};
use crate::tui::commands::LessonDeed;
use crate::tui::lesson::{self, Part};
use crate::tui::overlays::lesson::{AskAnswer, Card, LessonList, ListedLesson};
use crate::tui::panes::{PaneId, Subject};
use crate::tui::theme::Role;
use crate::tui::widgets::{frame, text};

use super::{Effect, Shell};

/// From so many columns on the panel stands beside the panes, and not above them.
const BESIDE_FROM: u16 = 118;
/// The panes keep so many columns.
const PANES_WIDTH: u16 = 80;
/// The panel beside them has so many at the least and at the most.
const PANEL_WIDTH: (u16, u16) = (38, 58);
/// The panel above them has so many lines at the most, frame and keys included.
const STRIP_HEIGHT: u16 = 10;
/// The panes keep so many lines.
const PANES_HEIGHT: u16 = 13;

/// A course with how it is shown.
#[derive(Debug)]
pub(super) struct OpenCourse {
    course: Course,
    is_hidden: bool,
    /// The text of the panel, as it was drawn last.
    drawn: DrawnText,
    /// Whether there is something new that a person has to read before the panes.
    is_news: bool,
}

/// Which part of a text is seen.
#[derive(Clone, Copy, Debug, Default)]
struct DrawnText {
    /// The first line, where a person has chosen it; else what is new is seen.
    chosen: Option<usize>,
    first: usize,
    height: usize,
    n_lines: usize,
}

impl DrawnText {
    const fn has_room(self) -> bool {
        self.n_lines <= self.height
    }

    /// Where what is not seen goes on; behind the end it begins again. A line stays for the eye.
    fn next(self) -> usize {
        if self.first + self.height >= self.n_lines {
            return 0;
        }
        (self.first + self.height.saturating_sub(1).max(1)).min(self.n_lines.saturating_sub(self.height))
    }
}

impl Shell {
    /// Takes a course; the session must stand where its lesson begins.
    pub fn take_course(&mut self, course: Course) {
        let step = course.step();
        self.course =
            Some(OpenCourse { course, is_hidden: false, drawn: DrawnText::default(), is_news: true });
        self.look_at(&step);
    }

    /// Divides the screen: the panel, if there is one, and the rest.
    pub(super) fn lesson_area(&self, screen: Rect) -> (Rect, Rect) {
        let nothing = Rect { width: 0, ..screen };
        let Some(open) = self.course.as_ref().filter(|open| !open.is_hidden) else {
            return (nothing, screen);
        };
        if screen.width >= BESIDE_FROM {
            let width = (screen.width - PANES_WIDTH).clamp(PANEL_WIDTH.0, PANEL_WIDTH.1);
            let width = if screen.width < 170 { width.min(screen.width - PANES_WIDTH) } else { width };
            let rest = Rect { width: screen.width - width, ..screen };
            return (Rect { x: rest.right(), width, ..screen }, rest);
        }
        let n_lines =
            lesson::lines(&open.course.blocks(), Part::Body, self.strip_width(screen), &self.look.glyphs)
                .len();
        let wanted = u16::try_from(n_lines + 3).unwrap_or(u16::MAX).min(STRIP_HEIGHT);
        let height = wanted.min(screen.height.saturating_sub(PANES_HEIGHT));
        if height < 5 {
            return (nothing, screen);
        }
        (Rect { height, ..screen }, Rect { y: screen.y + height, height: screen.height - height, ..screen })
    }

    fn strip_width(&self, screen: Rect) -> usize {
        usize::from(screen.width.saturating_sub(4))
    }

    /// Draws the panel. Where there is none, what is new is shown over the panes, once; so is a situation that has no
    /// room in it.
    pub(super) fn draw_lesson(&mut self, area: Rect, buf: &mut Buffer) {
        let Some(open) = &self.course else { return };
        let blocks = open.course.blocks();
        let (theme, glyphs) = (&self.look.theme, &self.look.glyphs);
        let mut drawn =
            DrawnText { chosen: open.drawn.chosen.filter(|_| !open.is_news), ..DrawnText::default() };
        if !area.is_empty() {
            let inner =
                frame::frame(area, buf, &self.panel_title(&blocks), theme.style(Role::Border), glyphs);
            let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
            let body = Rect { height: inner.height.saturating_sub(1), ..inner };
            let lines = lesson::lines(&blocks, Part::Body, usize::from(body.width), glyphs);
            (drawn.height, drawn.n_lines) = (usize::from(body.height), lines.len());
            let last = drawn.n_lines.saturating_sub(drawn.height);
            drawn.first = drawn.chosen.unwrap_or_else(|| lesson::offset(&lines, drawn.height)).min(last);
            lesson::put_lines(body, buf, &lines, drawn.first, theme, glyphs);
            let keys = Rect { y: inner.bottom().saturating_sub(1), height: 1, ..inner };
            self.draw_lesson_keys(keys, drawn, buf);
        }
        let is_situation = blocks.iter().any(|block| matches!(block, Block::Text(_)))
            && !blocks
                .iter()
                .any(|block| matches!(block, Block::Hint(_) | Block::Wrong(..) | Block::Right(..)));
        let needs_card = area.is_empty() || (is_situation && !drawn.has_room());
        if let Some(open) = &mut self.course {
            open.drawn = drawn;
            if std::mem::take(&mut open.is_news) && needs_card && self.overlays.is_empty() {
                self.open_card(self.course.as_ref().is_some_and(|open| open.course.is_told()));
            }
        }
    }

    fn panel_title(&self, blocks: &[Block]) -> Line<'static> {
        let theme = &self.look.theme;
        let Some(Block::Title(number, n, title)) = blocks.first() else { return Line::from("lesson") };
        let lead = text::span(format!("lesson {number}/{n} "), theme.style(Role::TitleFocused));
        Line::from(vec![lead, text::span(title, theme.style(Role::Title))])
    }

    fn draw_lesson_keys(&self, area: Rect, drawn: DrawnText, buf: &mut Buffer) {
        let Some(open) = &self.course else { return };
        let has_more = open.course.has_next() || !open.course.is_done();
        let label = match (open.course.is_told(), has_more) {
            (false, _) => Some("answer"),
            (true, true) => Some("go on"),
            (true, false) => None,
        };
        let mut hints = Vec::new();
        hints.extend(label.map(|label| (Action::LessonAnswer, label)));
        if !drawn.has_room() {
            hints.push((Action::LessonMore, if drawn.next() == 0 { "from the top" } else { "more" }));
        }
        if !open.course.is_told() {
            hints.push((Action::LessonHint, "hint"));
            hints.push((Action::LessonReveal, "tell me"));
        }
        hints.push((Action::LessonAgain, "again"));
        hints.push((Action::LessonList, "list"));
        let mut spans: Vec<Span<'static>> = Vec::new();
        let mut used = 0;
        for (action, label) in hints {
            let Some(key) = self.keys.keymap.key_for(action, &[Context::Global]) else { continue };
            let needed = text::width(&key) + text::width(label) + 3;
            if used + needed > usize::from(area.width) + 2 {
                break;
            }
            used += needed;
            spans.push(text::span(key, self.look.theme.style(Role::Key)));
            spans.push(text::span(format!(" {label}  "), self.look.theme.style(Role::KeyLabel)));
        }
        text::put_line(buf, area.x, area.y, area.width, &Line::from(spans), &self.look.glyphs);
    }

    fn open_card(&mut self, is_at_end: bool) {
        let Some(open) = &self.course else { return };
        let (blocks, glyphs) = (open.course.blocks(), self.look.glyphs);
        let text = Box::new(move |width| lesson::lines(&blocks, Part::All, width, &glyphs));
        self.overlays.push(Box::new(Card::new(text, is_at_end)));
    }

    fn ask_for_answer(&mut self) {
        let Some(open) = &self.course else { return };
        let n_choices = open.course.question().map_or(0, |question| question.choices.len());
        let (blocks, glyphs) = (open.course.blocks(), self.look.glyphs);
        let text = Box::new(move |width| lesson::lines(&blocks, Part::Question, width, &glyphs));
        self.overlays.push(Box::new(AskAnswer::new(text, n_choices)));
    }

    fn open_list(&mut self) {
        let Some(open) = &self.course else { return };
        let course = &open.course;
        let lessons = course.lessons().iter().map(|lesson| ListedLesson {
            title: format!("{} ({})", lesson.title, lesson.topic),
            done: course.progress().of(&lesson.id).map(|done| (done.right, done.of)),
        });
        let list = LessonList::new(lessons.collect(), course.at());
        self.overlays.push(Box::new(list));
    }

    /// Does an action of lessons; nothing where it is none.
    pub(super) fn perform_lesson(&mut self, action: Action) -> Vec<Effect> {
        let deed = match action {
            Action::LessonAnswer => LessonDeed::AnswerOrGoOn,
            Action::LessonText => LessonDeed::Text,
            Action::LessonMore => LessonDeed::More,
            Action::LessonHint => LessonDeed::Hint,
            Action::LessonReveal => LessonDeed::Reveal,
            Action::LessonNext => LessonDeed::Next,
            Action::LessonPrevious => LessonDeed::Previous,
            Action::LessonAgain => LessonDeed::Again,
            Action::LessonList => LessonDeed::List,
            Action::LessonPanel => LessonDeed::Panel,
            _ => return Vec::new(),
        };
        self.lesson(deed)
    }

    /// Does something with the lesson.
    pub(super) fn lesson(&mut self, deed: LessonDeed) -> Vec<Effect> {
        let Some(open) = &mut self.course else {
            let text = "no lesson is open here: `schedscope learn` opens one".to_owned();
            self.notify(NoticeLevel::Info, text);
            return Vec::new();
        };
        let course = &mut open.course;
        let done = match deed {
            LessonDeed::AnswerOrGoOn if course.is_told() => course.go_on(),
            LessonDeed::AnswerOrGoOn => {
                self.ask_for_answer();
                return Vec::new();
            }
            LessonDeed::Text => {
                self.open_card(false);
                return Vec::new();
            }
            LessonDeed::More => {
                if !open.drawn.has_room() {
                    open.drawn.chosen = Some(open.drawn.next());
                }
                return Vec::new();
            }
            LessonDeed::List => {
                self.open_list();
                return Vec::new();
            }
            LessonDeed::Panel => {
                open.is_hidden = !open.is_hidden;
                return Vec::new();
            }
            LessonDeed::Answer(typed) => course.answer(&typed),
            LessonDeed::Hint => course.hint(),
            LessonDeed::Reveal => course.reveal(),
            LessonDeed::Next => course.next_lesson(),
            LessonDeed::Previous => course.previous_lesson(),
            LessonDeed::Again => Ok(course.again()),
            LessonDeed::GoTo(word) => match course.find(&word) {
                Some(at) => course.go_to(at),
                None => Err(format!("there is no lesson {word:?}: write its number or its name")),
            },
        };
        match done {
            Ok(step) => {
                open.is_news = true;
                self.overlays.clear();
                self.look_at(&step);
                // What was said of the answer before is over.
                self.notice = None;
                if let Some(notice) = step.notice {
                    self.notify(NoticeLevel::Warning, notice);
                }
                step.stage.map(|stage| Effect::Session(SessionCommand::Stage(stage))).into_iter().collect()
            }
            Err(said) => {
                self.notify(NoticeLevel::Warning, said);
                Vec::new()
            }
        }
    }

    /// Puts the eye where the lesson wants it.
    fn look_at(&mut self, step: &CourseStep) {
        if let Some(pane) = step.look.as_deref().and_then(pane_named) {
            self.focus_pane(pane);
        }
        if let Some(pod) = &step.pod {
            self.select(Subject::Pod(pod.clone()));
        }
    }

    /// What is new of the lesson, as lines for the plain mode; nothing if nothing is.
    pub fn take_lesson_news(&mut self) -> Vec<String> {
        let Some(open) = &mut self.course else { return Vec::new() };
        if !std::mem::take(&mut open.is_news) {
            return Vec::new();
        }
        let lines = lesson::lines(&open.course.blocks(), Part::All, 100, &self.look.glyphs);
        let line = |line: lesson::LessonLine| -> String {
            let joined: String = line.parts.into_iter().map(|(_, part)| part).collect();
            joined.trim_end().to_owned()
        };
        lines.into_iter().map(line).collect()
    }
}

/// The pane of that name.
fn pane_named(name: &str) -> Option<PaneId> {
    PaneId::ALL.into_iter().find(|id| id.as_str() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pane_that_a_lesson_may_name_is_there() {
        for name in crate::lessons::file::PANES {
            assert!(pane_named(name).is_some(), "{name}");
        }
    }
}
