//! The rows of the queues pane: which columns there is room for, and what stands in them.

use ratatui::style::Style;

use super::Section;
use crate::api::objects::Pod;
use crate::api::time::human_duration;
use crate::scheduler::view::{BindingRow, QueueRow, WaitingRow};
use crate::tui::panes::find::Find;
use crate::tui::panes::{Cx, names};
use crate::tui::theme::Role;
use crate::tui::widgets::table::{Cell, Column, Width, cell, spans};
use crate::tui::widgets::{bar, text};

const PRIORITY: Width = Width::Fixed(7);
const TIME: Width = Width::Fixed(6);

pub(super) fn columns(section: Section, width: u16) -> Vec<Column> {
    let pod = Column::left("pod", Width::AtLeast(8));
    let priority = Column::right("prio", PRIORITY);
    // Nothing but the blank beside the frame.
    let edge = || Column::left("edge", Width::Fixed(0));
    let mut columns = Vec::new();
    if section != Section::Active {
        columns.push(edge());
    }
    match section {
        Section::Active => {
            columns.push(Column::right("place", Width::Fixed(if width < 30 { 2 } else { 3 })));
            columns.push(pod);
            if width >= 32 {
                columns.push(priority);
            }
            columns.push(Column::right("since", TIME));
            if width >= 40 {
                columns.push(Column::right("tries", TIME));
            }
        }
        Section::Backoff => {
            columns.push(pod);
            if width >= 60 {
                columns.push(priority);
            }
            if width >= 32 {
                columns.push(Column::left("bar", Width::Fixed(bar_width(width))));
            }
            columns.push(Column::right("left", TIME));
            if width >= 26 {
                columns.push(Column::left("why", Width::Fixed(6)));
            }
        }
        Section::Unschedulable => {
            columns.push(pod);
            if width >= 60 {
                columns.push(priority);
            }
            columns.push(Column::left("why", Width::Fixed((width * 2 / 5).min(40))));
            if width >= 30 {
                columns.push(Column::right("since", TIME));
            }
        }
        Section::InFlight => {
            columns.push(pod);
            columns.push(Column::left("where", Width::Fixed((width * 2 / 5).min(40))));
            if width >= 30 {
                columns.push(Column::right("time", Width::Fixed(8)));
            }
        }
    }
    columns.push(edge());
    columns
}

const fn bar_width(width: u16) -> u16 {
    if width < 60 { 5 } else { 10 }
}

/// Makes the cells of a row for the columns that there are room for.
pub(super) struct RowDrawer<'a> {
    pub(super) find: &'a Find,
    pub(super) width: usize,
    pub(super) columns: &'a [Column],
    pub(super) cx: &'a Cx<'a>,
}

impl RowDrawer<'_> {
    fn style(&self, role: Role) -> Style {
        self.cx.theme.style(role)
    }

    /// Where the others leave room for the pod's name.
    fn pod_width(&self) -> usize {
        let others: usize = self
            .columns
            .iter()
            .map(|column| match column.width {
                Width::Fixed(width) => usize::from(width) + 1,
                Width::AtLeast(_) => 0,
            })
            .sum();
        self.width.saturating_sub(others)
    }

    fn fixed_width(&self, header: &str) -> usize {
        let column = self.columns.iter().find(|column| column.header == header);
        match column.map(|column| column.width) {
            Some(Width::Fixed(width)) => usize::from(width),
            _ => 0,
        }
    }

    fn pod(&self, pod: &Pod, nominated: Option<&str>) -> Cell {
        let mut room = self.pod_width();
        let nomination = nominated.map(|node| format!(" {}{node}", self.cx.glyphs.arrow));
        let nomination = nomination.filter(|text| text::width(text) + 10 <= room);
        room -= nomination.as_deref().map_or(0, text::width);
        let mut parts = names::pod(&pod.key(), room, self.find, self.cx);
        if let Some(nomination) = nomination {
            parts.push(text::span(nomination, self.style(Role::Tie)));
        }
        spans(parts)
    }

    fn priority(&self, pod: &Pod) -> Cell {
        let priority = pod.priority();
        let role = if priority > 0 { Role::Number } else { Role::Muted };
        cell(names::priority(priority), self.style(role))
    }

    /// Puts the cells in the order of the columns; columns that are left out take no cell.
    fn row(&self, mut cells: Vec<(&'static str, Cell)>) -> Vec<Cell> {
        self.columns
            .iter()
            .map(|column| {
                let at = cells.iter().position(|(header, _)| *header == column.header);
                at.map(|at| cells.swap_remove(at).1).unwrap_or_default()
            })
            .collect()
    }

    pub(super) fn active(&self, index: usize, row: &QueueRow) -> Vec<Cell> {
        let waited = self.cx.view.scheduler.now.saturating_since(row.since);
        let tries = match row.attempts {
            0 => cell("new", self.style(Role::Muted)),
            n => cell(format!("try {}", n + 1), self.style(Role::Muted)),
        };
        self.row(vec![
            ("place", cell((index + 1).to_string(), self.style(Role::Muted))),
            ("pod", self.pod(&row.pod, row.nominated_node.as_deref())),
            ("prio", self.priority(&row.pod)),
            ("since", cell(human_duration(waited), self.style(Role::Number))),
            ("tries", tries),
        ])
    }

    pub(super) fn backoff(&self, row: &QueueRow) -> Vec<Cell> {
        let now = self.cx.view.scheduler.now;
        let left = row.backoff_expiration.map(|end| end.saturating_since(now)).unwrap_or_default();
        let all = row.backoff_duration.unwrap_or(left).max(left);
        let millis = |duration: crate::api::Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        let (role, why) = if row.is_error_backoff {
            (Role::StatusError, String::from("error"))
        } else {
            let plugins: Vec<&str> = row.unschedulable_plugins.iter().map(AsRef::as_ref).collect();
            (
                Role::StatusUnschedulable,
                plugins.first().map(|plugin| names::short(plugin).to_owned()).unwrap_or_default(),
            )
        };
        let width = bar_width(u16::try_from(self.width).unwrap_or(u16::MAX));
        self.row(vec![
            ("pod", self.pod(&row.pod, row.nominated_node.as_deref())),
            ("prio", self.priority(&row.pod)),
            ("bar", spans(bar::spans(width, millis(left), millis(all), Role::BarUsed, self.cx))),
            ("left", cell(human_duration(left), self.style(Role::Number))),
            ("why", cell(why, self.style(role))),
        ])
    }

    pub(super) fn unschedulable(&self, row: &QueueRow) -> Vec<Cell> {
        let since = self.cx.view.scheduler.now.saturating_since(row.since);
        let room = self.fixed_width("why");
        let why = match &row.gated_by {
            Some(plugin) => {
                let text =
                    format!("{} {}", self.cx.glyphs.gate, names::plugin(plugin, room.saturating_sub(3)));
                cell(text, self.style(Role::QueueGated))
            }
            None => {
                let plugins: Vec<&str> =
                    row.unschedulable_plugins.iter().chain(&row.pending_plugins).map(AsRef::as_ref).collect();
                let text = text::clean(&names::plugins(&plugins, room)).into_owned();
                spans(self.find.spans(&text, self.style(Role::StatusUnschedulable), self.cx))
            }
        };
        self.row(vec![
            ("pod", self.pod(&row.pod, row.nominated_node.as_deref())),
            ("prio", self.priority(&row.pod)),
            ("why", why),
            ("since", cell(human_duration(since), self.style(Role::Number))),
        ])
    }

    pub(super) fn waiting(&self, row: &WaitingRow) -> Vec<Cell> {
        let deadline = row.plugins.iter().map(|(_, deadline)| *deadline).min();
        let left = deadline.map(|at| human_duration(at.saturating_since(self.cx.view.scheduler.now)));
        let plugins: Vec<&str> = row.plugins.iter().map(|(plugin, _)| plugin.as_ref()).collect();
        let room = self.fixed_width("where");
        let place = match names::plugins(&plugins, room.saturating_sub(7)) {
            held if text::width(&held) + 7 <= room => format!("Permit {held}"),
            held => held,
        };
        self.row(vec![
            ("pod", self.pod(&row.pod, Some(&row.node))),
            ("where", cell(place, self.style(Role::StatusWait))),
            (
                "time",
                cell(left.map(|left| format!("in {left}")).unwrap_or_default(), self.style(Role::Number)),
            ),
        ])
    }

    pub(super) fn binding(&self, row: &BindingRow) -> Vec<Cell> {
        let since = self.cx.view.scheduler.now.saturating_since(row.since);
        self.row(vec![
            ("pod", self.pod(&row.pod, Some(&row.node))),
            ("where", cell(row.phase.as_str(), self.style(Role::StatusSuccess))),
            ("time", cell(human_duration(since), self.style(Role::Number))),
        ])
    }
}
