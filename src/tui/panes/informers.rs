//! The kinds pane: how the watch of each kind stands, what of it cannot be read, and which permission is missing.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::find::Find;
use super::{Cx, Outcome, Pane, PaneId, Request, Subject};
use crate::api::Kind;
use crate::api::time::human_duration;
use crate::driver::live::informers::InformerState;
use crate::driver::live::rules;
use crate::driver::live::view::{InformerRow, LiveView};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::{Column, Row, Table, Width, cell, spans};
use crate::tui::widgets::{frame, text};

/// From this width on there is a column for changes.
const CHANGES_FROM_WIDTH: u16 = 58;

/// The kinds pane.
#[derive(Debug, Default)]
pub struct InformersPane {
    find: Find,
    cursor: Cursor<Kind>,
    area: Rect,
    /// Whether the details of the selected kind have the whole pane.
    is_open: bool,
}

impl InformersPane {
    /// With nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    /// The kinds, those that somebody has to look at first.
    fn rows<'v>(&self, live: &'v LiveView) -> Vec<&'v InformerRow> {
        let found = |row: &&InformerRow| self.find.matches([row.kind.resource(), row.state.as_str()]);
        let mut rows: Vec<&InformerRow> = live.informers.iter().filter(found).collect();
        rows.sort_by_key(|row| (rank(row), row.kind.resource()));
        rows
    }
}

const fn rank(row: &InformerRow) -> u8 {
    match &row.state {
        InformerState::Forbidden { .. } => 0,
        InformerState::Lagging { .. } => 1,
        _ if row.n_unreadable > 0 => 2,
        InformerState::Starting | InformerState::Listing => 3,
        InformerState::Synced => 4,
        InformerState::Absent => 5,
    }
}

const fn role_of(row: &InformerRow) -> Role {
    match &row.state {
        InformerState::Forbidden { .. } => Role::Error,
        InformerState::Lagging { .. } => Role::Warning,
        _ if row.n_unreadable > 0 => Role::Warning,
        InformerState::Starting | InformerState::Listing => Role::StatusWait,
        InformerState::Synced => Role::StatusSuccess,
        InformerState::Absent => Role::Muted,
    }
}

fn key_at(rows: &[&InformerRow], index: usize) -> Kind {
    rows.get(index).map_or(Kind::Pod, |row| row.kind)
}

/// What there is to say of a kind, line by line.
fn details(row: &InformerRow, cx: &Cx<'_>) -> Vec<(String, Role)> {
    let now = cx.view.scheduler.now;
    let mut lines = Vec::new();
    let resource = row.kind.resource();
    match &row.state {
        InformerState::Starting => lines.push((format!("{resource}: nothing has come yet."), Role::Text)),
        InformerState::Listing => lines.push((format!("{resource}: the list is under way."), Role::Text)),
        InformerState::Synced => {
            lines.push((
                format!(
                    "{resource}: everything is known and changes come in ({} lists, {} changes).",
                    row.n_lists, row.n_changes
                ),
                Role::Text,
            ));
        }
        InformerState::Lagging { since, error } => {
            let age = human_duration(now.saturating_since(*since));
            lines.push((format!("{resource}: for {age} what is known may be old: {error}"), Role::Warning));
        }
        InformerState::Absent => {
            lines.push((format!("{resource}: this server does not have the kind."), Role::Text));
            lines.push((rules::lost_without(row.kind).to_owned(), Role::Muted));
        }
        InformerState::Forbidden { message } => {
            lines.push((rules::lost_without(row.kind).to_owned(), Role::Error));
            let copy = cx.key(Action::CopyName);
            lines.push((format!("Missing in a ClusterRole of this user ({copy} copies it):"), Role::Text));
            lines.extend(rules::rule(row.kind).lines().map(|line| (line.to_owned(), Role::Strong)));
            lines.push((format!("The server says: {message}"), Role::Muted));
        }
    }
    if row.n_unreadable > 0 {
        let n = row.n_unreadable;
        let objects = if n == 1 { "object cannot" } else { "objects cannot" };
        lines.push((format!("{n} {objects} be read, and is left as it was known:"), Role::Warning));
        lines.extend(row.unreadable.iter().map(|(key, error)| (format!("{key}: {error}"), Role::Text)));
        if n > row.unreadable.len() {
            lines.push((format!("and {} more", n - row.unreadable.len()), Role::Muted));
        }
    }
    lines
}

/// Writes lines, wrapped, into an area; what has no room is said to be there.
pub(super) fn put_details(area: Rect, buf: &mut Buffer, lines: &[(String, Role)], cx: &Cx<'_>) {
    let width = area.width.saturating_sub(2);
    let wrapped: Vec<(String, Role)> = lines
        .iter()
        .flat_map(|(line, role)| {
            let indent = line.len() - line.trim_start().len();
            let head = line.get(..indent).unwrap_or_default().to_owned();
            let room = usize::from(width).saturating_sub(indent);
            text::wrap(line.trim_start(), room).into_iter().map(move |part| (format!("{head}{part}"), *role))
        })
        .collect();
    let n_lines = usize::from(area.height);
    for (index, (y, (line, role))) in (area.y..area.bottom()).zip(&wrapped).enumerate() {
        if index + 1 == n_lines && wrapped.len() > n_lines {
            let rest = format!("{} {} more lines", cx.glyphs.ellipsis, wrapped.len() - index);
            text::put(buf, area.x + 1, y, width, &rest, cx.theme.style(Role::Muted), cx.glyphs);
        } else {
            text::put(buf, area.x + 1, y, width, line, cx.theme.style(*role), cx.glyphs);
        }
    }
}

/// How many lines they take.
pub(super) fn n_wrapped(lines: &[(String, Role)], width: u16) -> usize {
    let width = usize::from(width.saturating_sub(2)).max(1);
    lines.iter().map(|(line, _)| text::wrap(line, width).len()).sum()
}

/// How many lines of `height` the details below a list of `n_rows` get.
pub(super) fn details_height(height: u16, n_rows: usize, n_lines: usize) -> u16 {
    if height < 7 {
        return 0;
    }
    let wanted = u16::try_from(n_lines + 1).unwrap_or(u16::MAX).min(height * 3 / 5);
    let spare = height.saturating_sub(u16::try_from(n_rows + 1).unwrap_or(u16::MAX));
    wanted.max(spare.min(u16::try_from(n_lines + 1).unwrap_or(u16::MAX)))
}

impl Pane for InformersPane {
    fn id(&self) -> PaneId {
        PaneId::Informers
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let mut spans = vec![Span::raw("kinds")];
        let Some(live) = &cx.view.live else { return Line::from(spans) };
        let count = |word: &str| live.informers.iter().filter(|row| row.state.as_str() == word).count();
        for (word, role) in [
            ("synced", Role::Strong),
            ("listing", Role::StatusWait),
            ("lagging", Role::Warning),
            ("forbidden", Role::Error),
            ("absent", Role::Muted),
        ] {
            let n = count(word);
            if n > 0 {
                spans.push(Span::raw(format!(" {} {word} ", cx.glyphs.dot)));
                spans.push(Span::styled(n.to_string(), cx.theme.style(role)));
            }
        }
        Line::from(spans)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let Some(live) = &cx.view.live else { return Outcome::Ignored };
        let rows = self.rows(live);
        self.cursor.sync(rows.len(), |index| key_at(&rows, index));
        match action {
            Action::Open => self.is_open = !self.is_open,
            Action::Back if self.is_open => self.is_open = false,
            Action::CopyName => {
                let row = self.cursor.index().and_then(|index| rows.get(index));
                return match row {
                    Some(row) => Outcome::Request(Request::Copy(rules::rule(row.kind))),
                    None => Outcome::Ignored,
                };
            }
            action => {
                return match self.cursor.handle(action, |index| key_at(&rows, index)) {
                    true => Outcome::Changed,
                    false => Outcome::Ignored,
                };
            }
        }
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let area = area.intersection(buf.area);
        let Some(live) = &cx.view.live else {
            frame::empty(area, buf, "This is no live cluster: schedscope live.", cx);
            return;
        };
        let rows = self.rows(live);
        self.cursor.sync(rows.len(), |index| key_at(&rows, index));
        if rows.is_empty() {
            frame::empty(area, buf, "No kind matches: esc clears the filter.", cx);
            return;
        }
        let lines = self
            .cursor
            .index()
            .and_then(|index| rows.get(index))
            .map(|row| details(row, cx))
            .unwrap_or_default();
        if self.is_open {
            put_details(area, buf, &lines, cx);
            return;
        }
        let height = details_height(area.height, rows.len() + 1, n_wrapped(&lines, area.width));
        if height > 0 {
            let y = area.bottom() - height;
            let name = self.cursor.key().map(|kind| kind.resource().to_owned()).unwrap_or_default();
            frame::divider(area, y, buf, &Line::from(text::span(name, cx.theme.style(Role::Title))), cx);
            put_details(Rect { y: y + 1, height: height - 1, ..area }, buf, &lines, cx);
        }
        self.area = Rect { height: area.height - height, ..area };
        let columns = columns(area.width);
        let (find, now) = (&self.find, cx.view.scheduler.now);
        Table::new(&columns).render(self.area, buf, &mut self.cursor, cx, |index| {
            let Some(row) = rows.get(index) else { return Row::default() };
            let state = match row.n_unreadable {
                0 => row.state.as_str().to_owned(),
                n => format!("{} {n} bad", row.state.as_str()),
            };
            let last = row.last_report.map(|at| human_duration(now.saturating_since(at))).unwrap_or_default();
            let number = cx.theme.style(Role::Number);
            let mut cells = vec![
                Line::default(),
                spans(find.spans(row.kind.resource(), cx.theme.style(Role::Name), cx)),
                cell(state, cx.theme.style(role_of(row))),
                cell(row.n_objects.to_string(), number),
                cell(last, number),
            ];
            if columns.len() > 6 {
                cells.push(cell(row.n_changes.to_string(), number));
            }
            Row::new(cells)
        });
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        let Some(live) = &cx.view.live else { return Outcome::Ignored };
        let rows = self.rows(live);
        let columns = columns(self.area.width);
        match Table::new(&columns).row_at(self.area, position, &self.cursor) {
            Some(index) if !self.is_open => {
                self.cursor.select(index, |index| key_at(&rows, index));
                Outcome::Changed
            }
            _ => Outcome::Ignored,
        }
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        None
    }
}

fn columns(width: u16) -> Vec<Column> {
    let mut columns = vec![
        Column::left("", Width::Fixed(0)),
        Column::left("kind", Width::AtLeast(12)),
        Column::left("state", Width::Fixed(12)),
        Column::right("objects", Width::Fixed(7)),
        Column::right("last", Width::Fixed(6)),
    ];
    if width >= CHANGES_FROM_WIDTH {
        columns.push(Column::right("changes", Width::Fixed(8)));
    }
    columns.push(Column::left("", Width::Fixed(0)));
    columns
}
