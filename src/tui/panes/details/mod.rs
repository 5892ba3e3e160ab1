//! The details pane: everything about the selected thing, in sentences first and numbers below.
//!
//! It follows what is selected in the whole console, unless it is told to stay.

mod attempt;
mod devices;
mod internals;
mod links;
mod now;
mod object;
mod objects;
mod page;
mod pod;
mod preemption;
mod reading;
mod rules;

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use self::links::{Link, links, marked};
use self::page::Page;
use super::find::Find;
use super::{CellKind, Cx, Outcome, Pane, PaneId, Request, Subject};
use crate::api::{Duration, Time};
use crate::driver::inspect::Inspected;
use crate::driver::live::view::LiveView;
use crate::driver::session::NoticeLevel;
use crate::explain;
use crate::scheduler::view::View;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::{frame, text};

/// What is shown of a thing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Sentences and numbers.
    #[default]
    Page,
    /// Of a pod: its rules about other pods, domain by domain.
    Rules,
    /// The object.
    Yaml,
}

impl Mode {
    const fn next(self, is_pod: bool) -> Self {
        match self {
            Self::Page if is_pod => Self::Rules,
            Self::Page | Self::Rules => Self::Yaml,
            Self::Yaml => Self::Page,
        }
    }

    const fn previous(self, is_pod: bool) -> Self {
        match self {
            Self::Yaml if is_pod => Self::Rules,
            Self::Yaml | Self::Rules => Self::Page,
            Self::Page => Self::Yaml,
        }
    }
}

/// The details pane.
#[derive(Debug, Default)]
pub struct DetailsPane {
    find: Find,
    /// What it stays at, if it does not follow the selection.
    pinned: Option<Subject>,
    /// What was drawn last, and how far it was scrolled.
    shown: Option<Subject>,
    offset: usize,
    mode: Mode,
    n_lines: usize,
    /// The names on the page that can be gone to, and which of them is selected.
    links: Vec<Link>,
    link: Option<usize>,
    area: Rect,
    kept: Option<Kept>,
}

/// A page, made once for what it is made of: it can cost more than a frame may.
#[derive(Debug)]
struct Kept {
    made_of: MadeOf,
    answer: Option<Arc<Inspected>>,
    view: Arc<View>,
    live: Option<Arc<LiveView>>,
    page: Page,
}

#[derive(Debug, PartialEq)]
struct MadeOf {
    subject: Subject,
    mode: Mode,
    is_ascii: bool,
    /// Answers, simulated time, and the scheduler's.
    moment: (u64, Duration, Time),
}

impl DetailsPane {
    /// Following the selection.
    pub fn new() -> Self {
        Self::default()
    }

    fn subject<'a>(&'a self, cx: &Cx<'a>) -> Option<&'a Subject> {
        self.pinned.as_ref().or(cx.selected)
    }

    /// Makes the page of a subject, unless it is there.
    fn keep(&mut self, subject: &Subject, cx: &Cx<'_>) {
        let made_of = MadeOf {
            subject: subject.clone(),
            mode: self.mode,
            is_ascii: cx.glyphs.is_ascii,
            moment: (cx.view.known.n_answered, cx.view.elapsed, cx.view.scheduler.now),
        };
        let is_same = |kept: &Kept| {
            let answer = cx.view.known.inspected.as_ref();
            kept.made_of == made_of
                && Arc::ptr_eq(&kept.view, &cx.view.scheduler)
                && kept.answer.as_ref().map(Arc::as_ptr) == answer.map(Arc::as_ptr)
                && kept.live.as_ref().map(Arc::as_ptr) == cx.view.live.as_ref().map(Arc::as_ptr)
        };
        if self.kept.as_ref().is_some_and(is_same) {
            return;
        }
        let page = match (self.mode, subject) {
            (Mode::Yaml, _) => objects::yaml(subject, cx),
            (Mode::Rules, Subject::Pod(key)) => rules::rules(key, cx),
            (Mode::Page | Mode::Rules, _) => page_of(subject, cx),
        };
        self.kept = Some(Kept {
            made_of,
            answer: cx.view.known.inspected.clone(),
            view: Arc::clone(&cx.view.scheduler),
            live: cx.view.live.clone(),
            page,
        });
    }

    /// Where the page can be scrolled to at most.
    fn last_offset(&self) -> usize {
        self.n_lines.saturating_sub(usize::from(self.area.height))
    }

    /// Selects the next name or the one before: from the selected one if that is visible, else from what is.
    fn move_link(&mut self, is_next: bool) {
        let height = usize::from(self.area.height).max(1);
        let visible = self.offset..self.offset + height;
        let from =
            self.link.filter(|at| self.links.get(*at).is_some_and(|link| visible.contains(&link.line)));
        let is_below = |link: &Link| link.line >= visible.start;
        self.link = match (from, is_next) {
            (Some(at), true) => Some((at + 1).min(self.links.len().saturating_sub(1))),
            (Some(at), false) => Some(at.saturating_sub(1)),
            (None, true) => self.links.iter().position(is_below).or(self.links.len().checked_sub(1)),
            (None, false) => {
                let last = self.links.iter().rposition(|link| link.line < visible.end);
                last.or((!self.links.is_empty()).then_some(0))
            }
        };
        if let Some(link) = self.link.and_then(|at| self.links.get(at)) {
            self.offset = self.offset.min(link.line).max((link.line + 1).saturating_sub(height));
        }
    }

    /// Goes to the selected name.
    fn follow_link(&mut self, cx: &Cx<'_>) -> Outcome {
        if let Some(link) = self.link.and_then(|at| self.links.get(at)) {
            self.pinned = None;
            return Outcome::Request(Request::OpenDetails(link.to.clone()));
        }
        let sentence = if self.links.is_empty() {
            "No name here can be gone to.".to_owned()
        } else {
            let key = cx.keymap.key_for(Action::NextLink, &[Context::Details]);
            let key = key.unwrap_or_else(|| ":next-link".to_owned());
            format!("No name is selected: {key} selects the next one, and enter goes there.")
        };
        Outcome::Request(Request::Notice(NoticeLevel::Info, sentence))
    }
}

impl Pane for DetailsPane {
    fn id(&self) -> PaneId {
        PaneId::Details
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let muted = cx.theme.style(Role::Muted);
        let dot = cx.glyphs.dot;
        let mut spans = vec![Span::raw("details")];
        if let Some(subject) = self.subject(cx) {
            spans.push(Span::styled(format!(" {dot} "), muted));
            spans.push(text::span(subject_title(subject, cx), muted));
        }
        match self.mode {
            Mode::Page => {}
            Mode::Rules => spans.push(Span::styled(format!(" {dot} spread and affinity"), muted)),
            Mode::Yaml => spans.push(Span::styled(format!(" {dot} YAML"), muted)),
        }
        if self.pinned.is_some() {
            spans.push(Span::styled(format!(" {dot} pinned"), cx.theme.style(Role::Accent)));
        }
        Line::from(spans)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Details, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let page = usize::from(self.area.height).saturating_sub(1).max(1);
        let last = self.last_offset();
        self.offset = match action {
            Action::SelectNext => self.offset + 1,
            Action::SelectPrevious => self.offset.saturating_sub(1),
            Action::PageDown => self.offset + page,
            Action::PageUp => self.offset.saturating_sub(page),
            Action::SelectFirst => 0,
            Action::SelectLast => last,
            Action::NextMode | Action::PreviousMode => {
                let is_pod = matches!(self.subject(cx), Some(Subject::Pod(_)));
                let is_next = action == Action::NextMode;
                self.mode = if is_next { self.mode.next(is_pod) } else { self.mode.previous(is_pod) };
                0
            }
            Action::NextLink | Action::PreviousLink => {
                self.move_link(action == Action::NextLink);
                return Outcome::Changed;
            }
            Action::Open if self.link.is_none() => {
                return match self.subject(cx).and_then(|subject| full_reading(subject, cx)) {
                    Some(subject) => Outcome::Request(Request::OpenDetails(subject)),
                    None => self.follow_link(cx),
                };
            }
            Action::Open => return self.follow_link(cx),
            Action::ToggleFollow => {
                self.pinned = match self.pinned {
                    Some(_) => None,
                    None => cx.selected.cloned(),
                };
                self.offset
            }
            _ => return Outcome::Ignored,
        };
        if !matches!(action, Action::NextMode | Action::PreviousMode | Action::ToggleFollow) {
            self.offset = self.offset.min(last);
        }
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        self.area = area.intersection(buf.area);
        let subject = self.subject(cx).cloned();
        if self.shown != subject {
            self.offset = 0;
            self.link = None;
            self.shown.clone_from(&subject);
        }
        let Some(subject) = subject else {
            self.links.clear();
            let why = "Nothing is selected: select a pod, a node or a cell, and all about it stands here.";
            frame::empty(self.area, buf, why, cx);
            return;
        };
        let width = usize::from(self.area.width.saturating_sub(2));
        if width == 0 || self.area.height == 0 {
            return;
        }
        self.keep(&subject, cx);
        let Some(Kept { page, .. }) = &self.kept else { return };
        let lines = page.lines(width, &self.find, cx);
        self.n_lines = lines.len();
        self.links = if cx.focused && self.mode != Mode::Yaml {
            links(&lines, &subject, page.names(), cx)
        } else {
            Vec::new()
        };
        self.link = self.link.filter(|at| *at < self.links.len());
        self.offset = self.offset.min(self.last_offset());
        if lines.is_empty() {
            frame::empty(self.area, buf, "No line matches: esc clears the filter.", cx);
            return;
        }
        let link = self.link.and_then(|at| self.links.get(at));
        for ((at, line), y) in lines.iter().enumerate().skip(self.offset).zip(self.area.y..self.area.bottom())
        {
            let marked = link.filter(|link| link.line == at).map(|link| marked(line, link, cx));
            let line = marked.as_ref().unwrap_or(line);
            text::put_line(buf, self.area.x + 1, y, self.area.width.saturating_sub(2), line, cx.glyphs);
        }
        frame::scrollbar(self.area, buf, self.offset, self.n_lines, cx);
    }

    fn hit(&mut self, position: Position, _cx: &Cx<'_>) -> Outcome {
        let line = self.offset + usize::from(position.y.saturating_sub(self.area.y));
        let on_line = self.links.iter().position(|link| link.line == line);
        if on_line.is_some() {
            self.link = on_line;
        }
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        None
    }
}

/// Where all plugins are asked about what is shown.
fn full_reading(subject: &Subject, cx: &Cx<'_>) -> Option<Subject> {
    let tried = || cx.view.scheduler.cycle.as_ref().map(|cycle| cycle.pod_key());
    match subject {
        Subject::Pod(pod) => Some(Subject::Reading(pod.clone(), None)),
        Subject::Node(node) | Subject::Cell { node, .. } => {
            Some(Subject::Reading(tried()?, Some(node.clone())))
        }
        Subject::Reading(..) | Subject::Internals | Subject::Object(..) | Subject::Profile(_) => {
            Some(subject.clone())
        }
        Subject::Plugin { .. } | Subject::Phase(_) | Subject::Attempt(_) | Subject::Event(_) => None,
    }
}

fn subject_title(subject: &Subject, cx: &Cx<'_>) -> String {
    match subject {
        Subject::Pod(pod) => format!("pod {pod}"),
        Subject::Node(node) => format!("node {node}"),
        Subject::Cell { node, plugin, kind } => {
            let what = match kind {
                CellKind::Filter => "",
                CellKind::Score => " score",
            };
            format!("{node} {} {plugin}{what}", cx.glyphs.times)
        }
        Subject::Plugin { plugin, phase } => format!("{plugin} at {phase}"),
        Subject::Phase(phase) => phase.to_string(),
        Subject::Attempt(number) => format!("attempt {number}"),
        Subject::Event(event) => format!("event {}", event.reason),
        Subject::Reading(pod, None) => format!("why {pod}"),
        Subject::Reading(pod, Some(node)) => format!("why {pod} {} {node}", cx.glyphs.times),
        Subject::Internals => String::from("internals"),
        Subject::Object(kind, key) => format!("{} {key}", explain::kind_word(*kind)),
        Subject::Profile(name) => format!("profile {name}"),
    }
}

fn page_of(subject: &Subject, cx: &Cx<'_>) -> Page {
    let mut page = Page::default();
    match subject {
        Subject::Pod(key) => pod::pod(&mut page, key, cx),
        Subject::Node(name) => {
            objects::node(&mut page, name, cx);
            pod::lived(&mut page, "Node", &crate::api::NamespacedName::cluster(name.clone()), cx);
        }
        Subject::Event(event) => objects::event(&mut page, event, cx),
        Subject::Cell { node, plugin, kind } => attempt::cell(&mut page, node, plugin, *kind, cx),
        Subject::Plugin { plugin, phase } => attempt::plugin(&mut page, plugin, *phase, cx),
        Subject::Phase(phase) => attempt::phase(&mut page, *phase, cx),
        Subject::Attempt(number) => attempt::past(&mut page, *number, cx),
        Subject::Reading(pod, node) => reading::reading(&mut page, pod, node.as_ref(), cx),
        Subject::Internals => internals::internals(&mut page, cx),
        Subject::Object(kind, key) => object::object(&mut page, *kind, key, cx),
        Subject::Profile(name) => object::profile(&mut page, name, cx),
    }
    page
}
