//! The timeline pane: when how many attempts were made, which failed and which evicted somebody, what is marked, and
//! where in all that the present moment is.
//!
//! The strip runs over simulated time, or over what was done in its order where time says little: attempts that a person
//! has stepped through lie microseconds apart.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::{Cx, Outcome, Pane, PaneId, Request, Subject};
use crate::api::Duration;
use crate::api::time::human_duration;
use crate::driver::replay::Ending;
use crate::driver::seek::SeekTo;
use crate::driver::session::SessionCommand;
use crate::driver::timeline::{Bin, Timeline, TimelineMark};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::{frame, text};

/// Less simulated time than this says little.
const TIME_MIN: Duration = Duration::from_secs(1);
/// Rows of the strip.
const STRIP: u16 = 3;
/// Where there are no more rows below it, the nearest marker is all that is shown there.
const NEAREST: u16 = 4;

/// What the strip runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Axis {
    Time,
    Order,
}

/// The timeline pane.
#[derive(Debug, Default)]
pub struct TimelinePane {
    /// As a person has chosen it.
    axis: Option<Axis>,
    cursor: Cursor<usize>,
    filter: Option<String>,
    strip: Rect,
    list: Rect,
    /// Which mark each row of the list belongs to.
    rows: Vec<usize>,
}

impl TimelinePane {
    /// With nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    fn axis(&self, timeline: &Timeline) -> Axis {
        self.axis.unwrap_or(if timeline.end.saturating_sub(timeline.begin) < TIME_MIN {
            Axis::Order
        } else {
            Axis::Time
        })
    }

    fn marks<'t>(&self, timeline: &'t Timeline) -> Vec<&'t TimelineMark> {
        let matches = |mark: &&TimelineMark| match &self.filter {
            Some(wanted) => mark.text.to_lowercase().contains(wanted),
            None => true,
        };
        timeline.marks.iter().filter(matches).collect()
    }

    /// Goes so many columns of the strip on.
    fn go(&self, columns: isize, cx: &Cx<'_>) -> Outcome {
        let moment = &cx.view.moment;
        let step = (moment.end / usize::from(self.strip.width.max(1))).max(1);
        let step = isize::try_from(step).unwrap_or(1);
        let to = moment.position.saturating_add_signed(columns.saturating_mul(step)).min(moment.end);
        Outcome::Request(Request::Session(SessionCommand::Seek(SeekTo::Position(to))))
    }

    fn draw_strip(&self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let timeline = &cx.view.known.timeline;
        let columns = Columns { timeline, axis: self.axis(timeline), width: usize::from(area.width) };
        let bins = columns.bins();
        let most = bins.iter().map(|bin| bin.attempts).max().unwrap_or(0);
        let here = columns.of_present(cx);
        let known = columns.of_known();
        for (i, bin) in bins.iter().enumerate() {
            let Ok(x) = u16::try_from(i).map(|i| area.x + i) else { break };
            let is_past = i <= here;
            let (level, role) = match (bin.attempts, i >= known) {
                (0, true) => (cx.glyphs.pending, Role::Muted),
                (0, false) => (cx.glyphs.skip, Role::Muted),
                (n, _) => {
                    (level(n, most, cx.glyphs.is_ascii), if is_past { Role::BarUsed } else { Role::Text })
                }
            };
            let mut put = |row: u16, sign: &str, role: Role| {
                if row < area.height {
                    text::put(buf, x, area.y + row, 1, sign, cx.theme.style(role), cx.glyphs);
                }
            };
            put(0, level, role);
            if bin.preempted > 0 {
                put(1, "P", Role::Danger);
            } else if bin.failed > 0 {
                put(1, cx.glyphs.failure, Role::StatusUnschedulable);
            }
            put(2, if cx.glyphs.is_ascii { "-" } else { "─" }, Role::Border);
        }
        if area.height < STRIP {
            return;
        }
        let mut put = |column: usize, sign: &str, role: Role| {
            let x = area.x + u16::try_from(column).unwrap_or(0).min(area.width.saturating_sub(1));
            text::put(buf, x, area.y + 2, 1, sign, cx.theme.style(role), cx.glyphs);
        };
        // A marker hides the notes that belong to it.
        let (notes, markers): (Vec<_>, Vec<_>) = timeline.marks.iter().partition(|mark| mark.is_note);
        for mark in notes.into_iter().chain(markers) {
            let sign = match (mark.is_note, cx.glyphs.is_ascii) {
                (true, _) => "'",
                (false, true) => "v",
                (false, false) => "▼",
            };
            put(columns.of(mark.position, mark.elapsed), sign, Role::Accent);
        }
        put(here, if cx.glyphs.is_ascii { "^" } else { "▲" }, Role::Winner);
    }

    /// The markers and notes one below the other, notes in full.
    fn draw_list(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let timeline = std::sync::Arc::clone(&cx.view.known.timeline);
        let marks = self.marks(&timeline);
        self.cursor.sync(marks.len(), |index| marks.get(index).map_or(0, |mark| mark.position));
        let here = cx.view.moment.position;
        let mut lines: Vec<(usize, String)> = Vec::new();
        let width = usize::from(area.width).saturating_sub(2);
        for (i, mark) in marks.iter().enumerate() {
            let at = text::right(&human_duration(mark.elapsed), 9, cx.glyphs);
            let said = text::clean(&mark.text).into_owned();
            let indent = if mark.is_note { 12 } else { 10 };
            let sign = match (mark.position == here, cx.glyphs.is_ascii) {
                (true, false) => "▲",
                (true, true) => "^",
                (false, _) => " ",
            };
            for (n, part) in
                text::wrap(&said, width.saturating_sub(indent + 2).max(8)).into_iter().enumerate()
            {
                let head = match (n, mark.is_note) {
                    (0, false) => format!("{at} {sign} "),
                    (0, true) => format!("{:9} {sign}   ", ""),
                    (_, is_note) => " ".repeat(if is_note { 14 } else { 12 }),
                };
                lines.push((i, format!("{head}{part}")));
            }
        }
        let selected = self.cursor.index();
        let height = usize::from(area.height);
        let last_of_selected = lines.iter().rposition(|(i, _)| Some(*i) == selected).unwrap_or(0);
        let offset = (last_of_selected + 1).saturating_sub(height);
        self.rows = lines.iter().skip(offset).take(height).map(|(i, _)| *i).collect();
        for (row, (i, line)) in lines.iter().skip(offset).take(height).enumerate() {
            let is_note = marks.get(*i).is_some_and(|mark| mark.is_note);
            let role = match (Some(*i) == selected && cx.focused, is_note) {
                (true, _) => Role::Selection,
                (false, true) => Role::Text,
                (false, false) => Role::Strong,
            };
            let y = area.y + u16::try_from(row).unwrap_or(0);
            text::put(
                buf,
                area.x + 1,
                y,
                area.width.saturating_sub(2),
                line,
                cx.theme.style(role),
                cx.glyphs,
            );
        }
        if marks.is_empty() {
            let key = |action: Action| cx.key(action);
            let why = format!("Nothing is marked here; {} marks this moment.", key(Action::AddMarker));
            frame::empty(area, buf, &why, cx);
        }
    }

    /// The marker that lies nearest before the present moment, with what is said there.
    fn draw_nearest(&self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let timeline = &cx.view.known.timeline;
        let here = cx.view.moment.position;
        let place =
            timeline.marks.iter().filter(|mark| mark.position <= here).map(|mark| mark.position).max();
        let Some(place) = place else { return };
        let width = usize::from(area.width);
        let mut lines: Vec<(String, Role)> = Vec::new();
        for mark in timeline.marks.iter().filter(|mark| mark.position == place) {
            let role = if mark.is_note { Role::Text } else { Role::Strong };
            lines.extend(text::wrap(&mark.text, width).into_iter().map(|line| (line, role)));
        }
        // Where there is not enough room, the name takes no line of its own.
        if lines.len() > usize::from(area.height) {
            lines.clear();
            let mut said = String::new();
            for mark in timeline.marks.iter().filter(|mark| mark.position == place) {
                // A name begins a new line, a note goes on behind its name.
                if !mark.is_note && !said.is_empty() {
                    lines.extend(text::wrap(&said, width).into_iter().map(|line| (line, Role::Text)));
                    said.clear();
                }
                let gap = if said.is_empty() {
                    ""
                } else if said.ends_with('.') {
                    " "
                } else {
                    ": "
                };
                said.push_str(gap);
                said.push_str(&mark.text);
            }
            lines.extend(text::wrap(&said, width).into_iter().map(|line| (line, Role::Text)));
        }
        for (row, (line, role)) in (0..area.height).zip(lines) {
            text::put(buf, area.x, area.y + row, area.width, &line, cx.theme.style(role), cx.glyphs);
        }
    }
}

/// Which column of the strip belongs to what.
struct Columns<'t> {
    timeline: &'t Timeline,
    axis: Axis,
    width: usize,
}

impl Columns<'_> {
    /// What happened in each column.
    fn bins(&self) -> Vec<Bin> {
        let mut columns = vec![Bin::default(); self.width];
        let (bins, whole) = match self.axis {
            Axis::Order => (&self.timeline.by_order, self.timeline.n as u128),
            Axis::Time => (&self.timeline.by_time, self.time()),
        };
        let per_bin = match self.axis {
            Axis::Order => self.timeline.per_bin as u128,
            Axis::Time => self.timeline.time_per_bin.as_nanos(),
        };
        for (i, bin) in bins.iter().enumerate() {
            let column = self.scaled(i as u128 * per_bin, whole);
            if let Some(at) = columns.get_mut(column) {
                *at = at.and(*bin);
            }
        }
        columns
    }

    /// Nanoseconds of the whole strip.
    fn time(&self) -> u128 {
        self.timeline.end.saturating_sub(self.timeline.begin).as_nanos() + 1
    }

    fn scaled(&self, at: u128, whole: u128) -> usize {
        let column = at * self.width as u128 / whole.max(1);
        usize::try_from(column).unwrap_or(usize::MAX).min(self.width.saturating_sub(1))
    }

    fn of(&self, position: usize, elapsed: Duration) -> usize {
        match self.axis {
            // A position lies behind the operation that led to it.
            Axis::Order => self.scaled(position.saturating_sub(1) as u128, self.timeline.n as u128),
            Axis::Time => {
                let begin = self.timeline.begin.min(elapsed);
                self.scaled((elapsed - begin).as_nanos(), self.time())
            }
        }
    }

    fn of_present(&self, cx: &Cx<'_>) -> usize {
        self.of(cx.view.moment.position, cx.view.elapsed)
    }

    /// The first column that was not looked at yet.
    fn of_known(&self) -> usize {
        match self.axis {
            _ if self.timeline.n_known >= self.timeline.n => self.width,
            Axis::Order => self.scaled(self.timeline.n_known as u128, self.timeline.n as u128),
            Axis::Time => {
                let known = self.timeline.time_per_bin.as_nanos() * self.timeline.by_time.len() as u128;
                self.scaled(known, self.time())
            }
        }
    }
}

/// A block whose height tells how many of the most there are.
fn level(n: u32, most: u32, is_ascii: bool) -> &'static str {
    const BLOCKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];
    const SIGNS: [&str; 8] = [".", ":", "-", "=", "+", "*", "%", "#"];
    let place = usize::try_from(u64::from(n) * 8 / (u64::from(most) + 1)).unwrap_or(0).min(7);
    if is_ascii { SIGNS[place] } else { BLOCKS[place] }
}

impl Pane for TimelinePane {
    fn id(&self) -> PaneId {
        PaneId::Timeline
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let timeline = &cx.view.known.timeline;
        let strong = cx.theme.style(Role::Strong);
        let mut spans = vec![Span::raw("timeline")];
        match self.axis(timeline) {
            Axis::Time => {
                spans.push(Span::styled(format!(" {}", human_duration(cx.view.elapsed)), strong));
                spans.push(Span::raw(format!(" of {}", human_duration(timeline.end))));
            }
            Axis::Order => {
                let moment = &cx.view.moment;
                spans.push(Span::styled(format!(" {}", moment.position), strong));
                spans.push(Span::raw(format!(" of {} steps", moment.end)));
            }
        }
        if let Some(replay) = &cx.view.known.replay {
            let dot = cx.glyphs.dot;
            if replay.divergence.is_some() {
                spans.push(Span::styled(
                    format!(" {dot} the replay differs here"),
                    cx.theme.style(Role::Error),
                ));
            }
            match &replay.ending {
                Ending::Complete(_) => {}
                Ending::Cut(_) => {
                    spans.push(Span::styled(format!(" {dot} cut off"), cx.theme.style(Role::Warning)));
                }
                Ending::Damaged(_) => {
                    spans.push(Span::styled(
                        format!(" {dot} damaged at the end"),
                        cx.theme.style(Role::Warning),
                    ));
                }
            }
            if replay.percent_known < 100 {
                spans.push(Span::raw(format!(" {dot} looked through to {} %", replay.percent_known)));
            }
        }
        spans.push(Span::raw(format!(" {} {} failed P evicted", cx.glyphs.dot, cx.glyphs.failure)));
        Line::from(spans)
    }

    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        let n = cx.view.known.timeline.marks.len();
        if n == 0 { String::new() } else { n.to_string() }
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Timeline, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let timeline = std::sync::Arc::clone(&cx.view.known.timeline);
        let marks = self.marks(&timeline);
        let key_at = |index: usize| marks.get(index).map_or(0, |mark| mark.position);
        self.cursor.sync(marks.len(), key_at);
        match action {
            Action::ScrollLeft => return self.go(-1, cx),
            Action::ScrollRight => return self.go(1, cx),
            Action::Open => {
                let mark = self.cursor.index().and_then(|index| marks.get(index));
                return match mark {
                    Some(mark) => {
                        let to = SeekTo::Position(mark.position);
                        Outcome::Request(Request::Session(SessionCommand::Seek(to)))
                    }
                    None => Outcome::Ignored,
                };
            }
            Action::NextMode | Action::PreviousMode => {
                self.axis = Some(match self.axis(&timeline) {
                    Axis::Time => Axis::Order,
                    Axis::Order => Axis::Time,
                });
                return Outcome::Changed;
            }
            _ => {}
        }
        match self.cursor.handle(action, key_at) {
            true => Outcome::Changed,
            false => Outcome::Ignored,
        }
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let area = area.intersection(buf.area);
        let inside = Rect { x: area.x + 1.min(area.width), width: area.width.saturating_sub(2), ..area };
        self.strip = Rect { height: inside.height.min(STRIP), ..inside };
        self.list = Rect { y: area.y + self.strip.height, height: area.height - self.strip.height, ..area };
        if inside.width == 0 {
            return;
        }
        if cx.view.known.timeline.n == 0 {
            let step = cx.key(Action::StepCycle);
            let why = format!("Nothing has happened yet: the first step ({step}) begins the past.");
            frame::empty(area, buf, &why, cx);
            return;
        }
        self.draw_strip(self.strip, buf, cx);
        match self.list.height {
            0 => {}
            1..=NEAREST => {
                self.draw_nearest(Rect { y: self.list.y, height: self.list.height, ..inside }, buf, cx);
            }
            _ => self.draw_list(self.list, buf, cx),
        }
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        if self.strip.contains(position) && self.axis(&cx.view.known.timeline) == Axis::Order {
            let column = usize::from(position.x - self.strip.x) + 1;
            let to = cx.view.moment.end * column / usize::from(self.strip.width.max(1));
            return Outcome::Request(Request::Session(SessionCommand::Seek(SeekTo::Position(to))));
        }
        let row = usize::from(position.y.saturating_sub(self.list.y));
        let Some(index) = self.rows.get(row).copied().filter(|_| self.list.contains(position)) else {
            return Outcome::Ignored;
        };
        let timeline = std::sync::Arc::clone(&cx.view.known.timeline);
        let marks = self.marks(&timeline);
        self.cursor.select(index, |index| marks.get(index).map_or(0, |mark| mark.position));
        Outcome::Changed
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.filter = filter.map(str::to_lowercase);
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        None
    }
}
