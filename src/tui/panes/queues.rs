//! The queues pane: activeQ, backoffQ and unschedulablePods one below the other, and what is on its way to a node.
//!
//! One selection goes through all sections. It stays on its pod, also when the pod moves to another section.

mod row;

use std::cell::RefCell;
use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect, Size};
use ratatui::text::{Line, Span};

use self::row::{RowDrawer, columns};
use super::find::{Find, Haystack, Shown};
use super::{Cx, Outcome, Pane, PaneId, Request, Subject};
use crate::api::NamespacedName;
use crate::api::objects::Pod;
use crate::explain;
use crate::scheduler::view::{QueueRow, View};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::table::{Row, Table};
use crate::tui::widgets::{frame, text};

const N_SECTIONS: usize = 4;
/// From this height on there is room for what is on its way to a node.
const IN_FLIGHT_FROM_HEIGHT: u16 = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Active,
    Backoff,
    Unschedulable,
    InFlight,
}

impl Section {
    const ALL: [Self; N_SECTIONS] = [Self::Active, Self::Backoff, Self::Unschedulable, Self::InFlight];

    /// How much of the height is its own, in relation to the others.
    const fn share(self) -> u16 {
        match self {
            Self::Active | Self::Unschedulable => 4,
            Self::Backoff | Self::InFlight => 2,
        }
    }
}

/// The queues pane.
#[derive(Debug, Default)]
pub struct QueuesPane {
    find: Find,
    /// The selected pod, in the sections laid end to end.
    cursor: Cursor<NamespacedName>,
    /// The part of each section that is visible.
    windows: [Cursor<NamespacedName>; N_SECTIONS],
    layout: Layout,
    /// The selected pod as it was when it was looked at last.
    last: Option<Arc<Pod>>,
    /// The pod that each section's window follows.
    firsts: [Option<Arc<Pod>>; N_SECTIONS],
    /// The rows that were made last, and from what.
    known: RefCell<Option<Known>>,
}

/// Rows are made once for a view: a filter looks at every pod.
#[derive(Clone, Debug)]
struct Known {
    view: Arc<View>,
    find: Find,
    has_pane: bool,
    shown: Arc<[Shown; N_SECTIONS]>,
    /// What is looked through, once a filter was set.
    haystacks: Option<Arc<[Haystack; N_SECTIONS]>>,
}

/// The heights of the sections. They change as little as they can when the data changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Layout {
    area: Rect,
    n_sections: usize,
    heights: [u16; N_SECTIONS],
}

/// The rows of each section that the filter lets through.
struct Rows<'v> {
    view: &'v View,
    shown: Arc<[Shown; N_SECTIONS]>,
}

impl<'v> Rows<'v> {
    fn new(cx: &Cx<'v>, find: &Find, known: &RefCell<Option<Known>>) -> Self {
        let view: &'v Arc<View> = &cx.view.scheduler;
        // What has a pane of its own on the screen is not said twice.
        let has_pane = cx.shown.contains(&PaneId::Waiting);
        let before =
            known.take().filter(|known| Arc::ptr_eq(&known.view, view) && known.has_pane == has_pane);
        let made = match before {
            Some(before) if before.find == *find => before,
            before => {
                let haystacks = before.as_ref().and_then(|before| before.haystacks.clone());
                let haystacks =
                    haystacks.or_else(|| find.is_on().then(|| Arc::new(Self::haystacks(view, has_pane))));
                // While somebody types, only rows that were found by less are looked at.
                let fewer = before.filter(|before| find.extends(&before.find)).map(|before| before.shown);
                let shown = match &haystacks {
                    Some(haystacks) if find.is_on() => std::array::from_fn(|section| {
                        Shown::of(find, &haystacks[section], fewer.as_ref().map(|fewer| &fewer[section]))
                    }),
                    _ => {
                        let n_in_flight = if has_pane { 0 } else { view.waiting.len() + view.binding.len() };
                        let n_queued =
                            [&view.active_q, &view.backoff_q, &view.unschedulable_pods].map(Vec::len);
                        let [active, backoff, unschedulable] = n_queued;
                        [active, backoff, unschedulable, n_in_flight].map(Shown::All)
                    }
                };
                Known {
                    view: Arc::clone(view),
                    find: find.clone(),
                    has_pane,
                    shown: Arc::new(shown),
                    haystacks,
                }
            }
        };
        let shown = Arc::clone(&made.shown);
        known.replace(Some(made));
        Self { view, shown }
    }

    fn haystacks(view: &View, has_pane: bool) -> [Haystack; N_SECTIONS] {
        fn texts(row: &QueueRow) -> impl Iterator<Item = &str> {
            let plugins = row.unschedulable_plugins.iter().chain(&row.gated_by).map(AsRef::as_ref);
            pod_texts(&row.pod).into_iter().chain(plugins)
        }
        let waiting = view.waiting.iter().map(|row| &row.pod);
        let in_flight = waiting.chain(view.binding.iter().map(|row| &row.pod)).filter(|_| !has_pane);
        [
            Haystack::new(&view.active_q, texts),
            Haystack::new(&view.backoff_q, texts),
            Haystack::new(&view.unschedulable_pods, texts),
            Haystack::new(in_flight, |pod| pod_texts(pod)),
        ]
    }

    fn len(&self, section: Section) -> usize {
        self.shown[section as usize].len()
    }

    fn total(&self) -> usize {
        self.shown.iter().map(Shown::len).sum()
    }

    /// Section and place in it of a row of all sections laid end to end.
    fn locate(&self, index: usize) -> Option<(Section, usize)> {
        let mut rest = index;
        for section in Section::ALL {
            match rest.checked_sub(self.len(section)) {
                None => return Some((section, rest)),
                Some(behind) => rest = behind,
            }
        }
        None
    }

    /// Where a section begins when all are laid end to end.
    fn start(&self, section: Section) -> usize {
        self.shown.iter().take(section as usize).map(Shown::len).sum()
    }

    fn queue(&self, section: Section) -> &'v [QueueRow] {
        match section {
            Section::Active => &self.view.active_q,
            Section::Backoff => &self.view.backoff_q,
            Section::Unschedulable => &self.view.unschedulable_pods,
            Section::InFlight => &[],
        }
    }

    fn pod(&self, section: Section, local: usize) -> Option<&'v Arc<Pod>> {
        let index = self.shown[section as usize].get(local)?;
        if section != Section::InFlight {
            return self.queue(section).get(index).map(|row| &row.pod);
        }
        let n_waiting = self.view.waiting.len();
        match index.checked_sub(n_waiting) {
            None => self.view.waiting.get(index).map(|row| &row.pod),
            Some(index) => self.view.binding.get(index).map(|row| &row.pod),
        }
    }

    fn key(&self, section: Section, local: usize) -> NamespacedName {
        self.pod(section, local).map_or_else(|| NamespacedName::cluster(""), |pod| pod.key())
    }

    /// The place of a pod in a section.
    fn find_in(&self, section: Section, key: &NamespacedName) -> Option<usize> {
        let order = |row: &QueueRow| {
            let metadata = &row.pod.metadata;
            (&*metadata.namespace, &*metadata.name).cmp(&(&*key.namespace, &*key.name))
        };
        if let (Section::Unschedulable, Shown::All(_)) = (section, &self.shown[section as usize]) {
            // They stand by their names, and there can be very many.
            return self.view.unschedulable_pods.binary_search_by(order).ok();
        }
        (0..self.len(section)).find(|local| {
            let metadata = self.pod(section, *local).map(|pod| &pod.metadata);
            metadata.is_some_and(|metadata| metadata.name == key.name && metadata.namespace == key.namespace)
        })
    }

    /// The same for a pod of which an object is at hand: looking at no other is faster than comparing names.
    fn find_object_in(&self, section: Section, pod: &Arc<Pod>) -> Option<usize> {
        (0..self.len(section)).find(|local| self.pod(section, *local).is_some_and(|it| Arc::ptr_eq(it, pod)))
    }

    /// The place of a pod in all sections laid end to end. `last` is the object that it was.
    fn find(&self, key: &NamespacedName, last: Option<&Arc<Pod>>) -> Option<usize> {
        const LONG_LAST: [Section; N_SECTIONS] =
            [Section::Unschedulable, Section::InFlight, Section::Backoff, Section::Active];
        let at = |section, local| Some(self.start(section) + local);
        if let Some(pod) = last {
            let find = |section| at(section, self.find_object_in(section, pod)?);
            if let Some(found) = [Section::Active, Section::Backoff].into_iter().find_map(find) {
                return Some(found);
            }
            // A pod is in one place alone.
            if self.view.in_flight.iter().any(|it| Arc::ptr_eq(it, pod)) {
                return at(Section::InFlight, self.find_in(Section::InFlight, key)?);
            }
        }
        LONG_LAST.into_iter().find_map(|section| at(section, self.find_in(section, key)?))
    }

    fn key_at(&self, index: usize) -> NamespacedName {
        match self.locate(index) {
            Some((section, local)) => self.key(section, local),
            None => NamespacedName::cluster(""),
        }
    }
}

/// How many sections are shown in that height.
fn n_sections(height: u16, cx: &Cx<'_>) -> usize {
    match height {
        0..=4 => 1,
        IN_FLIGHT_FROM_HEIGHT.. if !cx.shown.contains(&PaneId::Waiting) => N_SECTIONS,
        _ => N_SECTIONS - 1,
    }
}

fn pod_texts(pod: &Pod) -> [&str; 2] {
    [&pod.metadata.name, &pod.metadata.namespace]
}

impl QueuesPane {
    /// With nothing selected.
    pub fn new() -> Self {
        Self::default()
    }

    fn sync(&mut self, rows: &Rows<'_>) {
        let last = self.last.take();
        self.cursor.sync_by(rows.total(), |index| rows.key_at(index), |key| rows.find(key, last.as_ref()));
        let at = self.cursor.index().and_then(|index| rows.locate(index));
        self.last = at.and_then(|(section, local)| rows.pod(section, local)).map(Arc::clone);
    }

    /// The first row of the next section that has one, or of the one before.
    fn go_to_section(&mut self, rows: &Rows<'_>, forward: bool) {
        let at = self.cursor.index().and_then(|index| rows.locate(index));
        let Some((section, local)) = at else { return };
        let has_rows = |section: &Section| rows.len(*section) > 0;
        let target = if forward {
            Section::ALL.into_iter().skip(section as usize + 1).find(has_rows)
        } else if local > 0 {
            Some(section)
        } else {
            Section::ALL.into_iter().take(section as usize).rfind(has_rows)
        };
        if let Some(target) = target {
            self.cursor.select(rows.start(target), |index| rows.key_at(index));
        }
    }
}

impl Pane for QueuesPane {
    fn id(&self) -> PaneId {
        PaneId::Queues
    }

    fn title(&self, cx: &Cx<'_>) -> Line<'static> {
        let view = &cx.view.scheduler;
        let mut title = section_title(Section::Active, &Rows::new(cx, &self.find, &self.known), cx);
        if !view.active_q.is_empty() {
            let why = format!(" {} {}", cx.glyphs.dot, explain::first_in_queue(view));
            title.spans.push(text::span(why, cx.theme.style(Role::Muted)));
        }
        title
    }

    fn tab_counts(&self, cx: &Cx<'_>) -> String {
        let counts = &cx.view.scheduler.counts;
        let dot = cx.glyphs.dot;
        format!("{}{dot}{}{dot}{}", counts.active, counts.backoff, counts.unschedulable)
    }

    fn contexts(&self) -> &'static [Context] {
        &[Context::Queues, Context::List]
    }

    fn min_size(&self) -> Size {
        Size::new(20, 5)
    }

    fn handle(&mut self, action: Action, cx: &Cx<'_>) -> Outcome {
        let rows = Rows::new(cx, &self.find, &self.known);
        self.sync(&rows);
        match action {
            Action::NextSection => self.go_to_section(&rows, true),
            Action::PreviousSection => self.go_to_section(&rows, false),
            Action::Open => {
                return match self.cursor.key() {
                    Some(key) => Outcome::Request(Request::OpenDetails(Subject::Pod(key.clone()))),
                    None => Outcome::Ignored,
                };
            }
            _ => {
                if !self.cursor.handle(action, |index| rows.key_at(index)) {
                    return Outcome::Ignored;
                }
            }
        }
        Outcome::Changed
    }

    fn render(&mut self, area: Rect, buf: &mut Buffer, cx: &Cx<'_>) {
        let area = area.intersection(buf.area);
        if area.is_empty() {
            return;
        }
        let rows = Rows::new(cx, &self.find, &self.known);
        self.sync(&rows);
        let needs = Section::ALL.map(|section| u16::try_from(rows.len(section)).unwrap_or(u16::MAX));
        let n_sections = n_sections(area.height, cx);
        self.layout = self.layout.adapted(area, n_sections, needs);
        // Pages are as long as the section that the selection is in.
        let selected = self.cursor.index().and_then(|index| rows.locate(index));
        if let Some((section, _)) = selected {
            self.cursor.set_height(usize::from(self.layout.heights[section as usize]));
        }
        let mut y = area.y;
        for section in Section::ALL {
            let height = self.layout.heights[section as usize];
            if height == 0 {
                continue;
            }
            if section != Section::Active {
                frame::divider(area, y, buf, &section_title(section, &rows, cx), cx);
                y += 1;
            }
            let body = Rect { y, height, ..area };
            let here = selected.filter(|(at, _)| *at == section).map(|(_, local)| local);
            self.render_section(section, here, body, buf, &rows, cx);
            y += height;
        }
    }

    fn hit(&mut self, position: Position, cx: &Cx<'_>) -> Outcome {
        let rows = Rows::new(cx, &self.find, &self.known);
        self.sync(&rows);
        let mut y = self.layout.area.y;
        for section in Section::ALL {
            let height = self.layout.heights[section as usize];
            if height == 0 {
                continue;
            }
            y += u16::from(section != Section::Active);
            let body = Rect { y, height, ..self.layout.area };
            let line = usize::from(position.y.saturating_sub(y));
            let local = self.windows[section as usize].offset() + line;
            if body.contains(position) && local < rows.len(section) {
                self.cursor.select(rows.start(section) + local, |index| rows.key_at(index));
                return Outcome::Changed;
            }
            y += height;
        }
        Outcome::Ignored
    }

    fn set_filter(&mut self, filter: Option<&str>) {
        self.find.set(filter);
    }

    fn reveal(&mut self, subject: &Subject, cx: &Cx<'_>) -> bool {
        let Some(pod) = subject.pod() else { return false };
        let rows = Rows::new(cx, &self.find, &self.known);
        self.sync(&rows);
        let found = rows.find(pod, None);
        if let Some(index) = found {
            self.cursor.select(index, |index| rows.key_at(index));
        }
        found.is_some()
    }

    fn selected(&self, _cx: &Cx<'_>) -> Option<Subject> {
        self.cursor.key().cloned().map(Subject::Pod)
    }
}

impl QueuesPane {
    fn render_section(
        &mut self,
        section: Section,
        selected: Option<usize>,
        area: Rect,
        buf: &mut Buffer,
        rows: &Rows<'_>,
        cx: &Cx<'_>,
    ) {
        let n_rows = rows.len(section);
        if n_rows == 0 {
            frame::empty(area, buf, &why_empty(section, self.find.is_on(), cx), cx);
            return;
        }
        let window = &mut self.windows[section as usize];
        // What scrolls by itself follows an object as long as that is the same; names of very many are not compared.
        let first = self.firsts[section as usize].take();
        let find = |_: &NamespacedName| first.as_ref().and_then(|pod| rows.find_object_in(section, pod));
        window.sync_by(n_rows, |local| rows.key(section, local), find);
        if let Some(local) = selected {
            window.set_height(usize::from(area.height));
            window.select(local, |local| rows.key(section, local));
        }
        self.firsts[section as usize] =
            window.index().and_then(|local| rows.pod(section, local)).map(Arc::clone);
        let columns = columns(section, area.width);
        let table = Table::new(&columns).without_header().with_selection(selected.is_some());
        let drawer = RowDrawer { find: &self.find, width: usize::from(area.width), columns: &columns, cx };
        table.render(area, buf, window, cx, |local| {
            let Some(index) = rows.shown[section as usize].get(local) else { return Row::default() };
            let cells = match section {
                Section::Active => rows.view.active_q.get(index).map(|row| drawer.active(index, row)),
                Section::Backoff => rows.view.backoff_q.get(index).map(|row| drawer.backoff(row)),
                Section::Unschedulable => {
                    rows.view.unschedulable_pods.get(index).map(|row| drawer.unschedulable(row))
                }
                Section::InFlight => match index.checked_sub(rows.view.waiting.len()) {
                    None => rows.view.waiting.get(index).map(|row| drawer.waiting(row)),
                    Some(index) => rows.view.binding.get(index).map(|row| drawer.binding(row)),
                },
            };
            Row::new(cells.unwrap_or_default()).lit(cx.is_pod_lit(&rows.key(section, local)))
        });
    }
}

impl Layout {
    /// The heights for that area and that many rows. Sections keep what they have; one that needs more takes from
    /// those that have lines to spare, and gives nothing back until another needs it.
    fn adapted(self, area: Rect, n_sections: usize, needs: [u16; N_SECTIONS]) -> Self {
        let n_dividers = u16::try_from(n_sections - 1).unwrap_or(0);
        let room = area.height.saturating_sub(n_dividers);
        let is_same = self.area.height == area.height && self.n_sections == n_sections;
        let heights = if is_same { self.heights } else { Self::shares(room, n_sections) };
        let mut layout = Self { area, n_sections, heights };
        for section in 0..n_sections {
            while layout.heights[section] < needs[section] {
                let spare = |at: &usize| layout.heights[*at].saturating_sub(needs[*at].max(1));
                let Some(giver) =
                    (0..n_sections).filter(|at| *at != section).max_by_key(spare).filter(|at| spare(at) > 0)
                else {
                    break;
                };
                layout.heights[giver] -= 1;
                layout.heights[section] += 1;
            }
        }
        layout
    }

    /// The lines divided among the sections by their shares, at least one for each as long as there are lines.
    fn shares(room: u16, n_sections: usize) -> [u16; N_SECTIONS] {
        let mut heights = [0; N_SECTIONS];
        let sections = &Section::ALL[..n_sections];
        let whole: u16 = sections.iter().map(|section| section.share()).sum();
        let mut left = room;
        for section in sections {
            let wanted = u32::from(room) * u32::from(section.share()) / u32::from(whole);
            let height = u16::try_from(wanted).unwrap_or(room).max(1).min(left);
            heights[*section as usize] = height;
            left -= height;
        }
        heights[0] += left;
        heights
    }
}

fn section_title(section: Section, rows: &Rows<'_>, cx: &Cx<'_>) -> Line<'static> {
    let view = rows.view;
    let (name, role) = match section {
        Section::Active => ("activeQ", Role::QueueActive),
        Section::Backoff => ("backoffQ", Role::QueueBackoff),
        Section::Unschedulable => ("unschedulable", Role::QueueUnschedulable),
        Section::InFlight => ("waiting", Role::StatusWait),
    };
    let number = cx.theme.style(Role::Strong);
    let muted = cx.theme.style(Role::Muted);
    let mut spans = vec![Span::styled(name, cx.theme.style(role))];
    if section == Section::InFlight {
        spans.push(Span::styled(format!(" {}", view.waiting.len()), number));
        spans.push(Span::styled(format!(" {} binding", cx.glyphs.dot), cx.theme.style(role)));
        spans.push(Span::styled(format!(" {}", view.binding.len()), number));
        return Line::from(spans);
    }
    let n_all = rows.queue(section).len();
    let n_shown = rows.len(section);
    if n_shown < n_all {
        spans.push(Span::styled(format!(" {n_shown} of {n_all}"), number));
    } else {
        spans.push(Span::styled(format!(" {n_all}"), number));
    }
    if section == Section::Unschedulable && view.counts.gated > 0 {
        spans.push(Span::styled(format!(" {} {} gated", cx.glyphs.dot, view.counts.gated), muted));
    }
    Line::from(spans)
}

fn why_empty(section: Section, is_filtered: bool, cx: &Cx<'_>) -> String {
    if is_filtered {
        return String::from("Nothing here matches. Esc shows all again.");
    }
    String::from(match section {
        Section::Active => {
            let add = cx.key(Action::AddPod);
            return format!("activeQ is empty: no pod is ready to be tried. Press {add} to add one.");
        }
        Section::Backoff => "backoffQ is empty: no pod waits for a retry.",
        Section::Unschedulable => "No pod is unschedulable.",
        Section::InFlight => "No pod is on its way to a node.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(height: u16) -> Rect {
        Rect::new(0, 0, 40, height)
    }

    #[test]
    fn every_section_has_a_line_as_long_as_there_are_lines() {
        for height in 0..60_u16 {
            for n_sections in [3, 4] {
                let layout = Layout::default().adapted(area(height), n_sections, [0; 4]);
                let n_dividers = u16::try_from(n_sections - 1).unwrap_or(0);
                let sum: u16 = layout.heights.iter().sum();
                assert_eq!(sum, height.saturating_sub(n_dividers), "{height}");
                if height > 2 * n_dividers + 2 {
                    assert!(layout.heights.iter().take(n_sections).all(|height| *height > 0));
                }
            }
        }
    }

    #[test]
    fn a_long_section_borrows_and_boundaries_stay_when_rows_go() {
        let first = Layout::default().adapted(area(15), 3, [2, 1, 1, 0]);
        let grown = first.adapted(area(15), 3, [9, 1, 1, 0]);
        assert_eq!(grown.heights, [9, 2, 2, 0]);
        assert_eq!(grown.adapted(area(15), 3, [1, 1, 1, 0]), grown);
    }
}
