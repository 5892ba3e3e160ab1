//! The agreement pane: what this scheduler would do beside what the cluster's does, and what this one has done itself.
//!
//! Three modes: comparisons, predictions that the cluster has not answered, and deeds with how to take them back.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::{Line, Span};

use super::find::Find;
use super::informers::{details_height, n_wrapped, put_details};
use super::{Cx, Outcome, Pane, PaneId, Request, Subject, names};
use crate::api::time::human_duration;
use crate::api::{Duration, NamespacedName};
use crate::driver::live::deed::{DeedRow, Outcome as DeedOutcome};
use crate::driver::live::engine::Mode as LiveMode;
use crate::driver::live::observer::{Agreement, Comparison, Decision};
use crate::driver::live::view::LiveView;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::{Column, Row, Table, Width, cell, spans};
use crate::tui::widgets::{frame, text};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Compared,
    Differing,
    Open,
    Deeds,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Compared, Self::Differing, Self::Open, Self::Deeds];

    fn by(self, steps: usize) -> Self {
        let at = Self::ALL.iter().position(|mode| *mode == self).unwrap_or(0);
        Self::ALL[(at + steps) % Self::ALL.len()]
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Compared => "compared",
            Self::Differing => "not the same",
            Self::Open => "open",
            Self::Deeds => "done",
        }
    }

    const fn why_empty(self) -> &'static str {
        match self {
            Self::Compared => {
                "Nothing to compare yet: the cluster's own scheduler has decided about no pod since this began."
            }
            Self::Differing => "No decision differs.",
            Self::Open => "No prediction is open: the cluster has decided about every pod that was tried.",
            Self::Deeds => "Nothing was written.",
        }
    }
}

/// The agreement pane.
#[derive(Debug, Default)]
pub struct AgreementPane {
    find: Find,
    cursor: Cursor<(u64, NamespacedName)>,
    area: Rect,
    /// What a person has chosen; before that it goes by what the session does.
    mode: Option<Mode>,
    /// Whether the details of the selected row have the whole pane.
    is_open: bool,
}

/// A row of any mode.
#[derive(Clone)]
enum Entry<'v> {
    Comparison(&'v Comparison),
    Open(&'v (NamespacedName, Decision, Duration)),
    Deed(&'v Arc<DeedRow>),
}

impl Entry<'_> {
    fn key(&self) -> (u64, NamespacedName) {
        match self {
            Self::Comparison(comparison) => (comparison.number, comparison.pod.clone()),
            Self::Open((pod, ..)) => (0, pod.clone()),
            Self::Deed(row) => (row.number, row.deed.object.clone()),
        }
    }
}

impl AgreementPane {
    /// With nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    fn mode(&self, live: &LiveView) -> Mode {
        self.mode.unwrap_or(match live.mode {
            LiveMode::Observe => Mode::Compared,
            LiveMode::Operate => Mode::Deeds,
        })
    }

    fn entries<'v>(&self, live: &'v LiveView) -> Vec<Entry<'v>> {
        let of_pod = |pod: &NamespacedName, word: &str| {
            self.find.matches([pod.name.as_ref(), pod.namespace.as_ref(), word])
        };
        let compared = |differing: bool| {
            let rows =
                live.comparisons.iter().filter(move |row| !differing || row.agreement != Agreement::Same);
            rows.filter(|row| of_pod(&row.pod, row.agreement.as_str())).map(Entry::Comparison).collect()
        };
        match self.mode(live) {
            Mode::Compared => compared(false),
            Mode::Differing => compared(true),
            Mode::Open => live.open.iter().filter(|(pod, ..)| of_pod(pod, "open")).map(Entry::Open).collect(),
            Mode::Deeds => live
                .steering
                .deeds
                .iter()
                .filter(|row| self.find.matches([row.deed.what.as_str(), row.outcome.as_str()]))
                .map(Entry::Deed)
                .collect(),
        }
    }

    fn sync(&mut self, entries: &[Entry<'_>]) {
        self.cursor.sync(entries.len(), |index| key_at(entries, index));
    }
}

fn key_at(entries: &[Entry<'_>], index: usize) -> (u64, NamespacedName) {
    entries.get(index).map_or_else(|| (0, NamespacedName::cluster("")), Entry::key)
}

const fn role_of(agreement: Agreement) -> Role {
    match agreement {
        Agreement::Same => Role::StatusSuccess,
        Agreement::Tie | Agreement::Timing | Agreement::Sampling | Agreement::Untried => Role::StatusWait,
        Agreement::Different => Role::Error,
    }
}

/// What an agreement means, in one sentence.
const fn meaning(agreement: Agreement) -> &'static str {
    match agreement {
        Agreement::Same => "Both decide the same.",
        Agreement::Tie => "Chance decides: both nodes have the highest total.",
        Agreement::Timing => {
            "Timing: on the state that the cluster's scheduler saw this one decides the same."
        }
        Agreement::Sampling => {
            "Sampling: the cluster's scheduler need not have looked at the better node (percentageOfNodesToScore)."
        }
        Agreement::Untried => "This scheduler had not come to the pod; it would decide the same.",
        Agreement::Different => "Neither chance nor timing explains it.",
    }
}

fn would(decision: &Decision) -> String {
    match decision {
        Decision::Node(node) => format!("would bind to {node}"),
        Decision::Unschedulable(_) => "would find no node".to_owned(),
    }
}

fn did(decision: &Decision) -> String {
    match decision {
        Decision::Node(node) => format!("the cluster's scheduler bound it to {node}"),
        Decision::Unschedulable(_) => "the cluster's scheduler found no node".to_owned(),
    }
}

fn details(entry: &Entry<'_>) -> Vec<(String, Role)> {
    let mut lines = Vec::new();
    let reason = |decision: &Decision| match decision {
        Decision::Unschedulable(message) if !message.is_empty() => Some(message.to_string()),
        _ => None,
    };
    match entry {
        Entry::Comparison(row) => {
            let ours = row.ours.as_ref().map_or_else(|| "had not come to it".to_owned(), would);
            lines.push((format!("{}: this scheduler {ours}; {}.", row.pod, did(&row.theirs)), Role::Strong));
            lines.push((meaning(row.agreement).to_owned(), role_of(row.agreement)));
            if !row.why.is_empty() {
                lines.push((row.why.to_string(), Role::Text));
            }
            if let Some(text) = row.ours.as_ref().and_then(reason) {
                lines.push((format!("this scheduler: {text}"), Role::Muted));
            }
            lines.extend(reason(&row.theirs).map(|text| (format!("the cluster's: {text}"), Role::Muted)));
        }
        Entry::Open((pod, decision, age)) => {
            let age = human_duration(*age);
            lines.push((
                format!("{pod}: this scheduler {}; foreseen {age} ago.", would(decision)),
                Role::Strong,
            ));
            lines.push(("The cluster has not decided. Nothing is written.".to_owned(), Role::Text));
            lines.extend(reason(decision).map(|text| (text, Role::Muted)));
        }
        Entry::Deed(row) => {
            let (word, role) = outcome_words(&row.outcome);
            lines.push((format!("{}: {word}", row.deed.what), role));
            if let (Some(undo), DeedOutcome::Done | DeedOutcome::Unknown) = (&row.deed.undo, &row.outcome) {
                match &undo.command {
                    Some(command) => lines.push((format!("to revert: {command}"), Role::Strong)),
                    None => lines.push(("It cannot be taken back.".to_owned(), Role::Warning)),
                }
                lines.push((undo.note.clone(), Role::Muted));
            }
        }
    }
    lines
}

fn outcome_words(outcome: &DeedOutcome) -> (String, Role) {
    match outcome {
        DeedOutcome::Done => ("done".to_owned(), Role::StatusSuccess),
        DeedOutcome::Sent => ("sent".to_owned(), Role::Text),
        DeedOutcome::Failed(error) => (format!("failed: {error}"), Role::Error),
        DeedOutcome::Withheld => ("not done: nothing is written".to_owned(), Role::Muted),
        DeedOutcome::Declined => ("turned down".to_owned(), Role::Warning),
        DeedOutcome::Unknown => ("nobody knows: there was no answer".to_owned(), Role::Warning),
    }
}

/// How everything stands, in one line.
fn summary(live: &LiveView, mode: Mode, cx: &Cx<'_>) -> Vec<Span<'static>> {
    let muted = cx.theme.style(Role::Muted);
    if mode == Mode::Deeds {
        let audit = match &live.steering.audit {
            Some((path, None)) => (format!("audit file {path}"), Role::Muted),
            Some((path, Some(failure))) => (format!("audit file {path}: {failure}"), Role::Error),
            None if live.mode == LiveMode::Operate => ("there is no audit file".to_owned(), Role::Warning),
            None => (format!("nothing is written; {} deeds were withheld", live.n_withheld), Role::Muted),
        };
        return vec![text::span(audit.0, cx.theme.style(audit.1))];
    }
    let mut line = Vec::new();
    for (agreement, n) in
        live.counts.iter().filter(|(agreement, n)| *n > 0 || *agreement == Agreement::Different)
    {
        if !line.is_empty() {
            line.push(Span::styled(format!(" {} ", cx.glyphs.dot), muted));
        }
        let role = if *n > 0 { role_of(*agreement) } else { Role::Muted };
        line.push(Span::styled(format!("{} ", agreement.as_str()), muted));
        line.push(Span::styled(n.to_string(), cx.theme.style(role)));
    }
    line
}

impl Pane for AgreementPane {
    fn id(&self) -> PaneId {
        PaneId::Agreement
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let Some(live) = &cx.view.live else { return Line::from("agree") };
        let number = cx.theme.style(Role::Strong);
        let dot = cx.glyphs.dot;
        let mut spans = vec![Span::raw("agree")];
        if let Some(rate) = live.rate {
            let n: u64 = live.counts.iter().map(|(_, n)| n).sum();
            spans.push(Span::styled(format!(" {rate:.1} %"), number));
            spans.push(Span::raw(format!(" of {n}")));
        }
        spans.push(Span::raw(format!(" {dot} open")));
        spans.push(Span::styled(format!(" {}", live.open.len()), number));
        if live.steering.n_deeds > 0 {
            spans.push(Span::raw(format!(" {dot} done")));
            spans.push(Span::styled(format!(" {}", live.steering.n_deeds), number));
        }
        spans.push(Span::styled(format!(" {dot} {}", self.mode(live).as_str()), cx.theme.style(Role::Muted)));
        Line::from(spans)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Agreement, Context::List]
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let Some(live) = &cx.view.live else { return Outcome::Ignored };
        let mode = self.mode(live);
        match action {
            Action::NextMode => self.mode = Some(mode.by(1)),
            Action::PreviousMode => self.mode = Some(mode.by(Mode::ALL.len() - 1)),
            Action::Open => self.is_open = !self.is_open,
            Action::Back if self.is_open => self.is_open = false,
            action => {
                let entries = self.entries(live);
                self.sync(&entries);
                let entry = self.cursor.index().and_then(|index| entries.get(index));
                if let (Action::CopyName, Some(Entry::Deed(row))) = (action, entry)
                    && let Some(command) = row.deed.undo.as_ref().and_then(|undo| undo.command.clone())
                {
                    return Outcome::Request(Request::Copy(command));
                }
                return match self.cursor.handle(action, |index| key_at(&entries, index)) {
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
        let mode = self.mode(live);
        let entries = self.entries(live);
        self.sync(&entries);
        let lines = self.cursor.index().and_then(|index| entries.get(index)).map(details).unwrap_or_default();
        if self.is_open && !lines.is_empty() {
            put_details(area, buf, &lines, cx);
            return;
        }
        let head = u16::from(area.height > 2);
        if head > 0 {
            let line = Line::from(summary(live, mode, cx));
            text::put_line(buf, area.x + 1, area.y, area.width.saturating_sub(2), &line, cx.glyphs);
        }
        let area = Rect { y: area.y + head, height: area.height - head, ..area };
        if entries.is_empty() {
            let why =
                if self.find.is_on() { "No row matches: esc clears the filter." } else { mode.why_empty() };
            frame::empty(area, buf, why, cx);
            return;
        }
        let height = details_height(area.height, entries.len(), n_wrapped(&lines, area.width));
        if height > 0 {
            let y = area.bottom() - height;
            let name = self.cursor.key().map(|(_, name)| name.to_string()).unwrap_or_default();
            frame::divider(area, y, buf, &Line::from(text::span(name, cx.theme.style(Role::Title))), cx);
            put_details(Rect { y: y + 1, height: height - 1, ..area }, buf, &lines, cx);
        }
        self.area = Rect { height: area.height - height, ..area };
        let columns = columns(mode, area.width);
        let find = &self.find;
        let table = Table::new(&columns).without_header();
        table.render(self.area, buf, &mut self.cursor, cx, |index| match entries.get(index) {
            Some(entry) => row(entry, &columns, area.width, find, cx),
            None => Row::default(),
        });
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        let Some(live) = &cx.view.live else { return Outcome::Ignored };
        let entries = self.entries(live);
        self.sync(&entries);
        let columns = columns(self.mode(live), self.area.width);
        match Table::new(&columns).without_header().row_at(self.area, position, &self.cursor) {
            Some(index) if !self.is_open => {
                self.cursor.select(index, |index| key_at(&entries, index));
                Outcome::Changed
            }
            _ => Outcome::Ignored,
        }
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn selected(&self, cx: &Cx<'_>) -> Option<Subject> {
        let live = cx.view.live.as_ref()?;
        let (_, key) = self.cursor.key()?;
        let is_pod = match self.mode(live) {
            Mode::Deeds => live
                .steering
                .deeds
                .iter()
                .any(|row| row.deed.object == *key && row.deed.resource.starts_with("pods")),
            _ => true,
        };
        is_pod.then(|| Subject::Pod(key.clone()))
    }
}

fn columns(mode: Mode, width: u16) -> Vec<Column> {
    let mut columns = vec![Column::left("", Width::Fixed(0)), Column::left("what", Width::AtLeast(8))];
    if mode != Mode::Deeds {
        columns.push(Column::left("nodes", Width::Fixed((width * 2 / 5).clamp(8, 40))));
    }
    columns.push(Column::left("how", Width::Fixed(9)));
    if width >= 40 {
        columns.push(Column::right("age", Width::Fixed(6)));
    }
    columns.push(Column::left("", Width::Fixed(0)));
    columns
}

fn row(entry: &Entry<'_>, columns: &[Column], width: u16, find: &Find, cx: &Cx<'_>) -> Row {
    let now = cx.view.scheduler.now;
    let fixed: usize = columns
        .iter()
        .map(|column| match column.width {
            Width::Fixed(width) => usize::from(width) + 1,
            Width::AtLeast(_) => 0,
        })
        .sum();
    let room = usize::from(width).saturating_sub(fixed);
    let text_style = cx.theme.style(Role::Text);
    let mut cells = vec![Line::default()];
    let (how, role, age) = match entry {
        Entry::Comparison(row) => {
            cells.push(spans(names::pod(&row.pod, room, find, cx)));
            let ours = row.ours.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
            let nodes = match row.agreement {
                Agreement::Same => ours,
                _ => format!("{ours} {} {}", cx.glyphs.arrow, row.theirs),
            };
            cells.push(cell(nodes, text_style));
            (row.agreement.as_str(), role_of(row.agreement), now.saturating_since(row.at))
        }
        Entry::Open((pod, decision, age)) => {
            cells.push(spans(names::pod(pod, room, find, cx)));
            cells.push(cell(would(decision), text_style));
            ("open", Role::StatusWait, *age)
        }
        Entry::Deed(row) => {
            cells.push(spans(find.spans(&row.deed.what, cx.theme.style(Role::Name), cx)));
            let (_, role) = outcome_words(&row.outcome);
            (row.outcome.as_str(), role, now.saturating_since(row.at))
        }
    };
    cells.push(cell(how, cx.theme.style(role)));
    if columns.iter().any(|column| column.header == "age") {
        cells.push(cell(human_duration(age), cx.theme.style(Role::Number)));
    }
    Row::new(cells)
}
