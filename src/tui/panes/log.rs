//! The log pane: Kubernetes Events, moves between queues and the program's own lines in one order of time.
//!
//! Times are those of the session. A line of the program stands at the session's time when the console took it.

use std::collections::VecDeque;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::find::Find;
use super::{Cx, Outcome, Pane, PaneId, Request, Subject, predicted};
use crate::api::Time;
use crate::scheduler::trace::CycleOutcome;
use crate::scheduler::view::{CycleSummary, ObjectEvent, QueueMoveLine};
use crate::tui::action::{Action, Context};
use crate::tui::log_lines::{LogLevel, LogLine};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::selection;
use crate::tui::widgets::{frame, text};

/// How far a step to the side scrolls.
const SIDE_STEP: usize = 8;
/// `00:02:14`.
const TIME_WIDTH: u16 = 8;
/// The widest kind.
const KIND_WIDTH: u16 = 7;
/// Below this width a line has no kind.
const KIND_FROM_WIDTH: u16 = 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Attempt,
    Move,
    Event,
    Program,
}

/// Which lines are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// Events, moves and the program's lines.
    #[default]
    All,
    Events,
    Moves,
    Attempts,
    Program,
}

impl Mode {
    const ALL: [Self; 5] = [Self::All, Self::Events, Self::Moves, Self::Attempts, Self::Program];

    const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Events => "events",
            Self::Moves => "moves",
            Self::Attempts => "attempts",
            Self::Program => "program",
        }
    }

    const fn shows(self, kind: Kind) -> bool {
        match self {
            Self::All => !matches!(kind, Kind::Attempt),
            Self::Events => matches!(kind, Kind::Event),
            Self::Moves => matches!(kind, Kind::Move),
            Self::Attempts => matches!(kind, Kind::Attempt),
            Self::Program => matches!(kind, Kind::Program),
        }
    }

    fn by(self, steps: usize) -> Self {
        let at = Self::ALL.iter().position(|mode| *mode == self).unwrap_or_default();
        Self::ALL[(at + steps) % Self::ALL.len()]
    }
}

/// A line by its place in the list that it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Time,
    kind: Kind,
    index: usize,
    /// Which one of those of the same time and kind.
    nth: usize,
}

type Key = (Time, Kind, usize);

impl Entry {
    const fn key(&self) -> Key {
        (self.at, self.kind, self.nth)
    }
}

/// The log pane.
#[derive(Debug)]
pub struct LogPane {
    find: Find,
    mode: Mode,
    /// Whether the newest line stays selected.
    follows: bool,
    /// Columns of the text that are scrolled away to the left.
    side: usize,
    cursor: Cursor<Key>,
    area: Rect,
}

impl Default for LogPane {
    fn default() -> Self {
        Self {
            find: Find::default(),
            mode: Mode::All,
            follows: true,
            side: 0,
            cursor: Cursor::default(),
            area: Rect::default(),
        }
    }
}

impl LogPane {
    /// Showing everything and following.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries(&self, cx: &Cx<'_>) -> Vec<Entry> {
        let view = &cx.view.scheduler;
        let mut entries = Vec::new();
        let mut add = |kind: Kind, times: &mut dyn Iterator<Item = (Time, bool)>| {
            if !self.mode.shows(kind) {
                return;
            }
            let mut last = Time::ZERO;
            let mut nth = 0;
            for (index, (at, is_found)) in times.enumerate() {
                nth = if at == last { nth + 1 } else { 0 };
                last = at;
                if is_found {
                    entries.push(Entry { at, kind, index, nth });
                }
            }
        };
        let find = &self.find;
        let attempts = view.history.iter();
        add(
            Kind::Attempt,
            &mut attempts.map(|line| {
                let text = || outcome_text(&line.outcome);
                let found = find.matches([line.pod.name.as_ref(), line.pod.namespace.as_ref()])
                    || find.matches([text().as_str()]);
                (line.started, found)
            }),
        );
        let moves = view.moves.iter();
        add(
            Kind::Move,
            &mut moves.map(|line| {
                (
                    line.at,
                    find.matches([line.pod.name.as_ref(), line.pod.namespace.as_ref(), line.text.as_str()]),
                )
            }),
        );
        let events = view.events.iter();
        add(
            Kind::Event,
            &mut events.map(|event| {
                let texts = [
                    event.regarding.name.as_ref(),
                    event.regarding.namespace.as_ref(),
                    event.reason,
                    &event.note,
                ];
                (event.at, find.matches(texts))
            }),
        );
        let lines = cx.log.lines.iter();
        add(
            Kind::Program,
            &mut lines.map(|line| (line.seen, find.matches([line.text.as_str(), line.target.as_str()]))),
        );
        // Each list is in order already, which makes the sort a merge; of the same time, causes come first.
        entries.sort_by_key(|entry| (entry.at, entry.kind));
        entries
    }

    fn sync(&mut self, entries: &[Entry]) {
        let key_at = |index: usize| key_at(entries, index);
        self.cursor.sync(entries.len(), key_at);
        if self.follows {
            self.cursor.handle(Action::SelectLast, key_at);
        }
    }

    fn subject(&self, entries: &[Entry], cx: &Cx<'_>) -> Option<Subject> {
        let entry = entries.get(self.cursor.index()?)?;
        let view = &cx.view.scheduler;
        match entry.kind {
            Kind::Attempt => view.history.get(entry.index).map(|line| Subject::Attempt(line.number)),
            Kind::Move => view.moves.get(entry.index).map(|line| Subject::Pod(line.pod.clone())),
            Kind::Event => view.events.get(entry.index).map(|event| Subject::Event(Box::new(event.clone()))),
            Kind::Program => None,
        }
    }
}

fn key_at(entries: &[Entry], index: usize) -> Key {
    entries.get(index).map_or((Time::ZERO, Kind::Program, 0), Entry::key)
}

impl Pane for LogPane {
    fn id(&self) -> PaneId {
        PaneId::Log
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let muted = cx.theme.style(Role::Muted);
        let dot = cx.glyphs.dot;
        let mut parts = format!(" {dot} {}", self.mode.as_str());
        if self.follows {
            parts.push_str(&format!(" {dot} following"));
        }
        let mut spans = vec![Span::raw("log"), Span::styled(parts, muted)];
        let n_dropped = cx.view.scheduler.n_dropped.saturating_add(cx.log.n_dropped);
        if n_dropped > 0 {
            let dropped = format!(" {dot} {n_dropped} older ones dropped");
            spans.push(Span::styled(dropped, cx.theme.style(Role::Warning)));
        }
        Line::from(spans)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Log, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let entries = self.entries(cx);
        self.sync(&entries);
        match action {
            Action::ToggleFollow => self.follows = !self.follows,
            Action::NextMode => self.mode = self.mode.by(1),
            Action::PreviousMode => self.mode = self.mode.by(Mode::ALL.len() - 1),
            Action::ScrollLeft => self.side = self.side.saturating_sub(SIDE_STEP),
            Action::ScrollRight => self.side = self.side.saturating_add(SIDE_STEP),
            Action::Open => {
                return match self.subject(&entries, cx) {
                    Some(subject) => Outcome::Request(Request::OpenDetails(subject)),
                    None => Outcome::Changed,
                };
            }
            _ => {
                if !self.cursor.handle(action, |index| key_at(&entries, index)) {
                    return Outcome::Ignored;
                }
                self.follows = self.cursor.index().is_some_and(|index| index + 1 == entries.len())
                    && matches!(action, Action::SelectNext | Action::SelectLast | Action::PageDown);
            }
        }
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        self.area = area.intersection(buf.area);
        let entries = self.entries(cx);
        self.sync(&entries);
        if entries.is_empty() {
            let mut why = why_empty(self.mode, self.find.is_on()).to_owned();
            if self.mode == Mode::All && !self.find.is_on() {
                why.push_str(&format!(" Press {} for a whole cycle.", cx.key(Action::StepCycle)));
            }
            frame::empty(self.area, buf, &why, cx);
            return;
        }
        self.cursor.set_height(usize::from(self.area.height));
        let drawer = LineDrawer { find: &self.find, area: self.area, cx };
        // The side scroll ends where the longest visible line does.
        let first = self.cursor.offset();
        let visible = || entries.iter().skip(first).take(usize::from(self.area.height));
        let longest = visible().map(|entry| drawer.length(entry)).max().unwrap_or_default();
        self.side = self.side.min(longest.saturating_sub(usize::from(drawer.text_width()) / 2));
        for (entry, y) in visible().zip(self.area.y..) {
            drawer.draw(entry, y, self.side, buf);
        }
        if let Some(row) = self.cursor.index().and_then(|index| index.checked_sub(first)) {
            let y = self.area.y.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
            buf.set_style(Rect { y, height: 1, ..self.area }.intersection(self.area), selection(cx));
        }
        frame::scrollbar(self.area, buf, first, entries.len(), cx);
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        let entries = self.entries(cx);
        self.sync(&entries);
        let row = usize::from(position.y.saturating_sub(self.area.y)) + self.cursor.offset();
        if !self.area.contains(position) || row >= entries.len() {
            return Outcome::Ignored;
        }
        self.follows = row + 1 == entries.len();
        self.cursor.select(row, |index| key_at(&entries, index));
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn selected(&self, cx: &Cx<'_>) -> Option<Subject> {
        self.subject(&self.entries(cx), cx)
    }
}

const fn why_empty(mode: Mode, is_filtered: bool) -> &'static str {
    if is_filtered {
        return "No line matches: esc clears the filter.";
    }
    match mode {
        Mode::All => "Nothing has happened yet.",
        Mode::Events => "No Event has been written yet.",
        Mode::Moves => "No pod has moved between queues yet.",
        Mode::Attempts => "No attempt has been made yet.",
        Mode::Program => "The program has logged nothing.",
    }
}

/// How an attempt ended, in a line.
pub(in crate::tui) fn outcome_text(outcome: &CycleOutcome) -> String {
    match outcome {
        CycleOutcome::InProgress => String::from("under way"),
        CycleOutcome::Tried { node } => format!("fits on {node}"),
        CycleOutcome::Waiting { node } => format!("waits at Permit for {node}"),
        CycleOutcome::Binding { node } => format!("being bound to {node}"),
        CycleOutcome::Bound { node } => format!("bound to {node}"),
        CycleOutcome::Unschedulable { message, nominated_node: Some(node) } => {
            format!("nominated to {node}: {message}")
        }
        CycleOutcome::Unschedulable { message, nominated_node: None } => format!("unschedulable: {message}"),
        CycleOutcome::Error { message } => format!("error: {message}"),
        CycleOutcome::Skipped { reason } => format!("not tried: {reason}"),
    }
}

struct LineDrawer<'a> {
    find: &'a Find,
    area: Rect,
    cx: &'a Cx<'a>,
}

impl LineDrawer<'_> {
    fn has_kind(&self) -> bool {
        self.area.width >= KIND_FROM_WIDTH
    }

    fn text_start(&self) -> u16 {
        1 + TIME_WIDTH + 1 + if self.has_kind() { KIND_WIDTH + 1 } else { 0 }
    }

    fn text_width(&self) -> u16 {
        self.area.width.saturating_sub(self.text_start() + 1)
    }

    fn draw(&self, entry: &Entry, y: u16, side: usize, buf: &mut Buffer) {
        let glyphs = self.cx.glyphs;
        let x = self.area.x + 1;
        let muted = self.cx.theme.style(Role::Muted);
        text::put(
            buf,
            x,
            y,
            TIME_WIDTH.min(self.area.width.saturating_sub(1)),
            &self.time(entry.at),
            muted,
            glyphs,
        );
        let (kind, style, line) = self.parts(entry);
        if self.has_kind() {
            text::put(buf, x + TIME_WIDTH + 1, y, KIND_WIDTH, kind, style, glyphs);
        }
        let (line, has_more_left) = if side == 0 { (line, false) } else { (scrolled(line, side), true) };
        let start = self.area.x.saturating_add(self.text_start());
        if self.text_width() > 0 {
            text::put_line(buf, start, y, self.text_width(), &Line::from(line), glyphs);
            if has_more_left {
                text::put(buf, start.saturating_sub(1), y, 1, glyphs.more_left, muted, glyphs);
            }
        }
    }

    fn length(&self, entry: &Entry) -> usize {
        self.parts(entry).2.iter().map(Span::width).sum()
    }

    /// Hours, minutes and seconds since the session began.
    fn time(&self, at: Time) -> String {
        let ago = self.cx.view.scheduler.now.saturating_since(at);
        let secs = self.cx.view.elapsed.saturating_sub(ago).as_secs();
        format!("{:02}:{:02}:{:02}", secs / 3600, secs / 60 % 60, secs % 60)
    }

    fn parts(&self, entry: &Entry) -> (&'static str, Style, Vec<Span<'static>>) {
        let view = &self.cx.view.scheduler;
        let get = |role| self.cx.theme.style(role);
        let nothing = || ("", Style::new(), Vec::new());
        match entry.kind {
            Kind::Attempt => view.history.get(entry.index).map_or_else(nothing, |line| self.attempt(line)),
            Kind::Move => view
                .moves
                .get(entry.index)
                .map_or_else(nothing, |line| ("move", get(Role::QueueBackoff), self.about(line))),
            Kind::Event => view.events.get(entry.index).map_or_else(nothing, |event| self.event(event)),
            Kind::Program => self.line(&self.cx.log.lines, entry.index).unwrap_or_else(nothing),
        }
    }

    fn attempt(&self, line: &CycleSummary) -> (&'static str, Style, Vec<Span<'static>>) {
        let role = match &line.outcome {
            CycleOutcome::Bound { .. } => Role::StatusSuccess,
            CycleOutcome::Unschedulable { .. } => Role::StatusUnschedulable,
            CycleOutcome::Error { .. } => Role::StatusError,
            CycleOutcome::Waiting { .. } => Role::StatusWait,
            CycleOutcome::InProgress
            | CycleOutcome::Tried { .. }
            | CycleOutcome::Binding { .. }
            | CycleOutcome::Skipped { .. } => Role::Text,
        };
        let style = self.cx.theme.style(role);
        let muted = self.cx.theme.style(Role::Muted);
        let mut spans = vec![Span::styled(format!("#{} ", line.number), muted)];
        spans.extend(self.find.spans(&line.pod.to_string(), self.cx.theme.style(Role::Name), self.cx));
        spans.push(Span::raw(" "));
        let text = predicted::of_attempt(outcome_text(&line.outcome), line.number, self.cx);
        spans.extend(self.find.spans(&text, style, self.cx));
        ("attempt", self.cx.theme.style(Role::QueueActive), spans)
    }

    fn about(&self, line: &QueueMoveLine) -> Vec<Span<'static>> {
        let mut spans = self.find.spans(&line.pod.to_string(), self.cx.theme.style(Role::Name), self.cx);
        spans.push(Span::raw(" "));
        spans.extend(self.find.spans(&line.text, self.cx.theme.style(Role::Text), self.cx));
        spans
    }

    fn event(&self, event: &ObjectEvent) -> (&'static str, Style, Vec<Span<'static>>) {
        let role = if event.type_ == "Warning" { Role::Warning } else { Role::StatusSuccess };
        let style = self.cx.theme.style(role);
        let mut spans = self.find.spans(event.reason, style, self.cx);
        spans.push(Span::raw(" "));
        spans.extend(self.find.spans(&event.regarding.to_string(), self.cx.theme.style(Role::Name), self.cx));
        spans.push(Span::raw(" "));
        let note = predicted::note(event, self.cx);
        spans.extend(self.find.spans(&note, self.cx.theme.style(Role::Text), self.cx));
        ("event", style, spans)
    }

    fn line(
        &self,
        lines: &VecDeque<LogLine>,
        index: usize,
    ) -> Option<(&'static str, Style, Vec<Span<'static>>)> {
        let line = lines.get(index)?;
        let (kind, role) = match line.level {
            LogLevel::Trace => ("trace", Role::LogTrace),
            LogLevel::Debug => ("debug", Role::LogDebug),
            LogLevel::Info => ("info", Role::LogInfo),
            LogLevel::Warn => ("warn", Role::LogWarn),
            LogLevel::Error => ("error", Role::LogError),
        };
        let style = self.cx.theme.style(role);
        let mut spans = self.find.spans(&line.text, style, self.cx);
        spans.push(text::span(format!("  {}", line.target), self.cx.theme.style(Role::Muted)));
        Some((kind, style, spans))
    }
}

/// A line without its first columns.
fn scrolled(spans: Vec<Span<'static>>, columns: usize) -> Vec<Span<'static>> {
    let mut left = columns;
    spans
        .into_iter()
        .filter_map(|span| {
            let width = span.width();
            if left >= width {
                left -= width;
                return None;
            }
            let skipped = text::prefix(&span.content, left).len();
            left = 0;
            Some(Span::styled(span.content[skipped..].to_owned(), span.style))
        })
        .collect()
}
