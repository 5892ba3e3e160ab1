//! The waiting pane: pods that Permit plugins hold, pods whose binding cycle runs, and what is assumed meanwhile of
//! their volumes and claims.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::find::Find;
use super::{Cx, Outcome, Pane, PaneId, Request, Subject, names, predicted};
use crate::api::time::human_duration;
use crate::api::{Duration, NamespacedName, Time};
use crate::driver::live::view::LiveView;
use crate::driver::session::NoticeLevel;
use crate::scheduler::view::{Assumption, BindingRow, View, WaitingRow};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::{Column, Row, Table, Width, cell, spans};
use crate::tui::widgets::{bar, frame, text};

/// From this width on there is a bar for the time that is left.
const BAR_FROM_WIDTH: u16 = 64;
const BAR: u16 = 10;

/// The waiting pane.
#[derive(Debug, Default)]
pub struct WaitingPane {
    find: Find,
    cursor: Cursor<NamespacedName>,
    area: Rect,
}

/// A row: a pod that waits, or one that is being bound.
#[derive(Clone, Copy)]
enum Entry<'v> {
    Waiting(&'v WaitingRow),
    Binding(&'v BindingRow),
}

impl Entry<'_> {
    fn key(&self) -> NamespacedName {
        match self {
            Self::Waiting(row) => row.pod.key(),
            Self::Binding(row) => row.pod.key(),
        }
    }
}

impl WaitingPane {
    /// With nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    fn entries<'v>(&self, view: &'v View) -> Vec<Entry<'v>> {
        let waiting = view.waiting.iter().map(Entry::Waiting);
        let binding = view.binding.iter().map(Entry::Binding);
        waiting
            .chain(binding)
            .filter(|entry| {
                let (pod, node) = match entry {
                    Entry::Waiting(row) => (&row.pod, &row.node),
                    Entry::Binding(row) => (&row.pod, &row.node),
                };
                self.find.matches([
                    pod.metadata.name.as_ref(),
                    pod.metadata.namespace.as_ref(),
                    node.as_ref(),
                ])
            })
            .collect()
    }

    /// Draws what is assumed at the foot, and returns what is left of the area.
    fn render_assumptions(&self, area: Rect, buf: &mut Buffer, n_entries: usize, cx: &Cx<'_>) -> Rect {
        let shown: Vec<&Assumption> = cx
            .view
            .scheduler
            .assumptions
            .iter()
            .filter(|assumption| {
                let (kind, key) = (assumption.kind.as_str(), assumption.object.to_string());
                self.find.matches([kind, key.as_str(), assumption.what.as_str()])
            })
            .collect();
        let n_shown = u16::try_from(shown.len()).unwrap_or(u16::MAX);
        // The pods come first: they keep two lines out of three.
        let needed = u16::try_from(n_entries).unwrap_or(u16::MAX).saturating_add(1);
        let room = area.height.saturating_sub(needed.min(area.height * 2 / 3));
        if n_shown == 0 || room < 2 || area.width < 12 {
            return area;
        }
        let height = n_shown.saturating_add(1).min(room);
        let y = area.bottom() - height;
        let title = Line::from(vec![
            Span::styled("assumed", cx.theme.style(Role::StatusWait)),
            Span::styled(format!(" {n_shown}"), cx.theme.style(Role::Strong)),
            Span::styled(
                format!(" {} not reported by a watch yet", cx.glyphs.dot),
                cx.theme.style(Role::Muted),
            ),
        ]);
        frame::divider(area, y, buf, &title, cx);
        let n_lines = usize::from(height - 1);
        for (index, line_y) in (y + 1..area.bottom()).enumerate() {
            let is_last = index + 1 == n_lines && shown.len() > n_lines;
            let spans = match shown.get(index) {
                Some(_) if is_last => {
                    let rest = shown.len() - index;
                    vec![Span::styled(format!("and {rest} more"), cx.theme.style(Role::Muted))]
                }
                Some(assumption) => {
                    let mut spans =
                        vec![Span::styled(format!("{} ", assumption.kind), cx.theme.style(Role::Label))];
                    let name = assumption.object.to_string();
                    spans.extend(self.find.spans(&name, cx.theme.style(Role::Name), cx));
                    let what = format!("  {}", assumption.what);
                    spans.extend(self.find.spans(&what, cx.theme.style(Role::Text), cx));
                    spans
                }
                None => Vec::new(),
            };
            let width = area.width.saturating_sub(2);
            text::put_line(buf, area.x + 1, line_y, width, &Line::from(spans), cx.glyphs);
        }
        Rect { height: area.height - height, ..area }
    }

    fn sync(&mut self, entries: &[Entry<'_>]) {
        self.cursor.sync(entries.len(), |index| key_at(entries, index));
    }
}

fn key_at(entries: &[Entry<'_>], index: usize) -> NamespacedName {
    entries.get(index).map_or_else(|| NamespacedName::cluster(""), Entry::key)
}

/// The plugin that gives up first, and when.
fn first_deadline(row: &WaitingRow) -> Option<(&str, Time)> {
    row.plugins
        .iter()
        .min_by_key(|(_, deadline)| *deadline)
        .map(|(plugin, deadline)| (plugin.as_ref(), *deadline))
}

/// The PreBind plugin that gives up first, and when.
fn first_give_up(row: &BindingRow) -> Option<(&str, Time)> {
    let waits = row.waits.iter().filter_map(|wait| Some((wait.plugin, wait.until?)));
    waits.min_by_key(|(_, until)| *until)
}

/// Who blocks: the first line.
fn who_blocks(view: &View, cx: &Cx<'_>) -> String {
    let first = view.waiting.iter().filter_map(first_deadline);
    let first = first.chain(view.binding.iter().filter_map(first_give_up)).min_by_key(|(_, at)| *at);
    let Some((plugin, deadline)) = first else {
        return match view.binding.len() {
            0 => String::new(),
            n if predicted::observes(cx) => {
                format!("no pod is held; {n} would be bound, and the cluster has not decided")
            }
            1 => String::from("no pod is held; 1 is being bound"),
            n => format!("no pod is held; {n} are being bound"),
        };
    };
    let left = human_duration(deadline.saturating_since(view.now));
    format!("{plugin} gives up first, in {left}")
}

impl Pane for WaitingPane {
    fn id(&self) -> PaneId {
        PaneId::Waiting
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let view = &cx.view.scheduler;
        let number = cx.theme.style(Role::Strong);
        let binding = if predicted::observes(cx) { "foreseen" } else { "binding" };
        Line::from(vec![
            Span::raw("waiting"),
            Span::styled(format!(" {}", view.waiting.len()), number),
            Span::raw(format!(" {} {binding}", cx.glyphs.dot)),
            Span::styled(format!(" {}", view.binding.len()), number),
        ])
    }

    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        let counts = &cx.view.scheduler.counts;
        format!("{}{}{}", counts.waiting, cx.glyphs.dot, counts.binding)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Waiting, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let entries = self.entries(&cx.view.scheduler);
        self.sync(&entries);
        if action == Action::Open {
            return match self.cursor.key() {
                Some(key) => Outcome::Request(Request::OpenDetails(Subject::Pod(key.clone()))),
                None => Outcome::Ignored,
            };
        }
        if let Action::AllowWaiting | Action::RejectWaiting = action {
            let verb = if action == Action::AllowWaiting { "allow" } else { "reject" };
            return Outcome::Request(match self.cursor.key() {
                Some(key) => Request::Command(format!("{verb} {key}")),
                None => Request::Notice(NoticeLevel::Info, format!("No pod waits here: nothing to {verb}.")),
            });
        }
        match self.cursor.handle(action, |index| key_at(&entries, index)) {
            true => Outcome::Changed,
            false => Outcome::Ignored,
        }
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let area = area.intersection(buf.area);
        let view = &cx.view.scheduler;
        let entries = self.entries(view);
        self.sync(&entries);
        let area = self.render_assumptions(area, buf, entries.len(), cx);
        if entries.is_empty() {
            let why = if self.find.is_on() {
                "No pod here matches: esc clears the filter."
            } else {
                "No pod waits at Permit, and none is being bound."
            };
            frame::empty(area, buf, why, cx);
            return;
        }
        let head = u16::from(area.height > 3);
        if head > 0 {
            let style = cx.theme.style(Role::Muted);
            text::put(
                buf,
                area.x + 1,
                area.y,
                area.width.saturating_sub(2),
                &who_blocks(view, cx),
                style,
                cx.glyphs,
            );
        }
        self.area = Rect { y: area.y + head, height: area.height - head, ..area };
        let columns = columns(area.width);
        let table = Table::new(&columns).without_header();
        let find = &self.find;
        table.render(self.area, buf, &mut self.cursor, cx, |index| match entries.get(index) {
            Some(entry) => row(*entry, &columns, area.width, find, cx),
            None => Row::default(),
        });
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        let entries = self.entries(&cx.view.scheduler);
        self.sync(&entries);
        let columns = columns(self.area.width);
        match Table::new(&columns).without_header().row_at(self.area, position, &self.cursor) {
            Some(index) => {
                self.cursor.select(index, |index| key_at(&entries, index));
                Outcome::Changed
            }
            None => Outcome::Ignored,
        }
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) -> bool {
        let Some(pod) = subject.pod() else { return false };
        let entries = self.entries(&cx.view.scheduler);
        self.sync(&entries);
        self.cursor.select_key(pod, |index| key_at(&entries, index))
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        self.cursor.key().cloned().map(Subject::Pod)
    }
}

fn columns(width: u16) -> Vec<Column> {
    let mut columns = vec![
        Column::left("edge", Width::Fixed(0)),
        Column::left("pod", Width::AtLeast(8)),
        Column::left("place", Width::Fixed((width * 2 / 5).clamp(7, 34))),
    ];
    if width >= BAR_FROM_WIDTH {
        columns.push(Column::left("bar", Width::Fixed(BAR)));
    }
    if width >= 30 {
        columns.push(Column::right("time", Width::Fixed(9)));
    }
    columns.push(Column::left("edge", Width::Fixed(0)));
    columns
}

/// How much of a wait is left.
fn gauge(left: Duration, all: Duration, cx: &Cx<'_>) -> Vec<Span<'static>> {
    let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
    bar::spans(BAR, millis(left), millis(all), Role::BarUsed, cx)
}

/// Where a pod stands whose plugins are done: what its bind waits for.
fn place_of_bind(key: &NamespacedName, phase: String, cx: &Cx<'_>) -> String {
    let asks = |live: &LiveView| live.to_confirm.iter().any(|bind| bind.pod == *key);
    if cx.view.live.as_ref().is_some_and(|live| asks(live)) {
        return String::from("waits for you");
    }
    if predicted::observes(cx) && phase == "Bind" { String::from("would bind") } else { phase }
}

fn row(entry: Entry<'_>, columns: &[Column], width: u16, find: &Find, cx: &Cx<'_>) -> Row {
    let now = cx.view.scheduler.now;
    let key = entry.key();
    let place_width = columns.get(2).map_or(0, |column| match column.width {
        Width::Fixed(width) | Width::AtLeast(width) => usize::from(width),
    });
    let others: usize = columns
        .iter()
        .map(|column| match column.width {
            Width::Fixed(width) => usize::from(width) + 1,
            Width::AtLeast(_) => 0,
        })
        .sum();
    let (node, place, role, gauge, time) = match entry {
        Entry::Waiting(row) => {
            let plugins: Vec<&str> = row.plugins.iter().map(|(plugin, _)| plugin.as_ref()).collect();
            let held = names::plugins(&plugins, place_width.saturating_sub(7));
            let deadline = first_deadline(row).map(|(_, deadline)| deadline);
            let left = deadline.map(|deadline| deadline.saturating_since(now)).unwrap_or_default();
            let all = deadline.map(|deadline| deadline.saturating_since(row.since)).unwrap_or_default();
            let gauge = gauge(left, all, cx);
            (
                &row.node,
                format!("Permit {held}"),
                Role::StatusWait,
                gauge,
                format!("in {}", human_duration(left)),
            )
        }
        Entry::Binding(row) => {
            let plugins: Vec<&str> = row.waits.iter().map(|wait| wait.plugin).collect();
            let phase = row.phase.to_string();
            let place = match plugins.as_slice() {
                [] => place_of_bind(&key, phase, cx),
                plugins => {
                    let room = place_width.saturating_sub(phase.len() + 1);
                    format!("{phase} {}", names::plugins(plugins, room))
                }
            };
            match first_give_up(row) {
                Some((_, until)) => {
                    let left = until.saturating_since(now);
                    let gauge = gauge(left, until.saturating_since(row.since), cx);
                    (&row.node, place, Role::StatusWait, gauge, format!("in {}", human_duration(left)))
                }
                None => {
                    let since = human_duration(now.saturating_since(row.since));
                    (&row.node, place, Role::StatusSuccess, Vec::new(), since)
                }
            }
        }
    };
    let mut room = usize::from(width).saturating_sub(others);
    let to = format!(" {}{node}", cx.glyphs.arrow);
    let fits = text::width(&to) + 10 <= room;
    room -= if fits { text::width(&to) } else { 0 };
    let mut pod = names::pod(&key, room, find, cx);
    if fits {
        pod.push(text::span(to, cx.theme.style(Role::Tie)));
    }
    let mut cells = vec![Line::default(), spans(pod), cell(place, cx.theme.style(role))];
    if columns.iter().any(|column| column.header == "bar") {
        cells.push(spans(gauge));
    }
    cells.push(cell(time, cx.theme.style(Role::Number)));
    Row::new(cells).lit(cx.is_pod_lit(&key))
}
