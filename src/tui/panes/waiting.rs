//! The waiting pane: pods that Permit plugins hold, and pods whose binding cycle runs.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::find::Find;
use super::{Cx, Outcome, Pane, PaneId, Request, Subject, names};
use crate::api::time::human_duration;
use crate::api::{NamespacedName, Time};
use crate::scheduler::view::{BindingRow, View, WaitingRow};
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

/// Who blocks: the first line.
fn who_blocks(view: &View) -> String {
    let first = view.waiting.iter().filter_map(first_deadline).min_by_key(|(_, deadline)| *deadline);
    let Some((plugin, deadline)) = first else {
        return match view.binding.len() {
            0 => String::new(),
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
        Line::from(vec![
            Span::raw("waiting"),
            Span::styled(format!(" {}", view.waiting.len()), number),
            Span::raw(format!(" {} binding", cx.glyphs.dot)),
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
        if entries.is_empty() {
            let why = if self.find.is_on() {
                "No pod here matches."
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
                &who_blocks(view),
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
        columns.push(Column::right("time", Width::Fixed(8)));
    }
    columns.push(Column::left("edge", Width::Fixed(0)));
    columns
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
            let millis =
                |duration: crate::api::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
            let gauge = bar::spans(BAR, millis(left), millis(all), Role::BarUsed, cx);
            (
                &row.node,
                format!("Permit {held}"),
                Role::StatusWait,
                gauge,
                format!("in {}", human_duration(left)),
            )
        }
        Entry::Binding(row) => {
            let since = human_duration(now.saturating_since(row.since));
            (&row.node, row.phase.to_string(), Role::StatusSuccess, Vec::new(), since)
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
