//! What lives in the cluster: the workloads with their pods wanted, there, ready and without a node, the node groups and
//! the parts that are on. Enter on a workload shows its pods, enter on a pod goes to it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::api::NamespacedName;
use crate::api::workloads::WorkloadKind;
use crate::driver::sandbox::controllers::Deed;
use crate::driver::sandbox::world::{WorkloadRow, WorldView};
use crate::driver::session::SessionView;
use crate::tui::action::{Action, Context};
use crate::tui::panes::Subject;
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Overlay, Context::List];
const WIDTH: u16 = 110;
const WIDTH_OF_KIND: u16 = 12;
const WIDTH_OF_NUMBER: u16 = 8;
/// What was done with a workload is shown so far back.
const DEEDS_MAX: usize = 6;
const NUMBERS: [&str; 4] = ["WANTED", "THERE", "READY", "NO NODE"];

type Key = (WorkloadKind, NamespacedName);

/// The page.
#[derive(Default)]
pub struct WorkloadsOverlay {
    cursor: Cursor<Option<Key>>,
    /// The workload whose pods are shown.
    open: Option<Key>,
    pods: Cursor<Option<NamespacedName>>,
}

fn world(view: &SessionView) -> Option<&WorldView> {
    view.known.world.as_deref()
}

/// What belongs to something else stands behind that.
fn rows(view: &SessionView) -> Vec<(usize, &WorkloadRow)> {
    let all = world(view).map(|world| world.workloads.as_slice()).unwrap_or_default();
    let is_owner = |owner: &WorkloadRow, row: &WorkloadRow| {
        row.key.namespace == owner.key.namespace
            && row
                .owner
                .as_ref()
                .is_some_and(|(kind, name)| kind == owner.kind.as_str() && *name == owner.key.name)
    };
    let mut rows = Vec::new();
    for top in all.iter().filter(|row| !all.iter().any(|owner| is_owner(owner, row))) {
        rows.push((0, top));
        rows.extend(all.iter().filter(|row| is_owner(top, row)).map(|row| (1, row)));
    }
    rows
}

impl WorkloadsOverlay {
    fn opened<'v>(&self, view: &'v SessionView) -> Option<&'v WorkloadRow> {
        let open = self.open.as_ref()?;
        world(view)?.workloads.iter().find(|row| (row.kind, &row.key) == (open.0, &open.1))
    }
}

impl Overlay for WorkloadsOverlay {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        if let Some(row) = self.opened(cx.view) {
            let pod_at = |index: usize| row.pods.get(index).cloned();
            self.pods.sync(row.pods.len(), pod_at);
            return match (action, self.pods.key().cloned().flatten()) {
                (Action::Close, _) => {
                    self.open = None;
                    OverlayOutcome::Changed
                }
                (Action::Accept, Some(pod)) => OverlayOutcome::GoTo(Subject::Pod(pod)),
                _ if self.pods.handle(action, pod_at) => OverlayOutcome::Changed,
                _ => OverlayOutcome::Ignored,
            };
        }
        let rows = rows(cx.view);
        let key_at = |index: usize| rows.get(index).map(|(_, row)| (row.kind, row.key.clone()));
        self.cursor.sync(rows.len(), key_at);
        match (action, self.cursor.key().cloned().flatten()) {
            (Action::Close, _) => OverlayOutcome::Close,
            (Action::Accept, Some(key)) => {
                self.open = Some(key);
                self.pods = Cursor::default();
                OverlayOutcome::Changed
            }
            _ if self.cursor.handle(action, key_at) => OverlayOutcome::Changed,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let width = WIDTH.min(screen.width.saturating_sub(6));
        if let Some(row) = self.opened(cx.view) {
            let title =
                format!("{} {} {} pods of it", row.kind.as_str().to_lowercase(), row.key, cx.glyphs.dot);
            let pod_at = |index: usize| row.pods.get(index).cloned();
            self.pods.sync(row.pods.len(), pod_at);
            let deeds = deeds_of(cx.view, row);
            let n_lines = row.pods.len().max(2) + deeds.len() + usize::from(!deeds.is_empty());
            let body = frame(screen, buf, &title, n_lines, width, "go to the pod", cx);
            let body = put_deeds(body, buf, &deeds, cx);
            if row.pods.is_empty() {
                put_wrapped(body, buf, "It has no pods now.", 0, Role::Muted, cx);
            }
            self.pods.set_height(usize::from(body.height));
            let shown = row.pods.iter().enumerate().skip(self.pods.offset());
            for ((index, pod), y) in shown.zip(body.y..body.bottom()) {
                let area = Rect { y, height: 1, ..body };
                if self.pods.index() == Some(index) {
                    buf.set_style(area, cx.theme.style(Role::Selection));
                }
                put_pod(area, buf, pod, cx);
            }
            return;
        }
        let rows = rows(cx.view);
        let key_at = |index: usize| rows.get(index).map(|(_, row)| (row.kind, row.key.clone()));
        self.cursor.sync(rows.len(), key_at);
        let footer = footer(cx.view, cx.glyphs.dot);
        let title = format!("workloads {} {}", cx.glyphs.dot, rows.len());
        let n_lines = rows.len().max(2) + 2 + footer.len();
        let body = frame(screen, buf, &title, n_lines, width, "show its pods", cx);
        if body.height < 2 {
            return;
        }
        put_header(Rect { height: 1, ..body }, buf, cx);
        let n_footer = u16::try_from(footer.len()).unwrap_or(0).min(body.height.saturating_sub(2));
        let list = Rect { y: body.y + 1, height: body.height - 1 - n_footer, ..body };
        if rows.is_empty() {
            let why = "There are no workloads. `:apply FILE` adds those of a manifest: Deployment, StatefulSet, DaemonSet, \
                       Job, CronJob.";
            put_wrapped(list, buf, why, 0, Role::Muted, cx);
        }
        self.cursor.set_height(usize::from(list.height));
        let shown = rows.iter().enumerate().skip(self.cursor.offset());
        for ((index, (depth, row)), y) in shown.zip(list.y..list.bottom()) {
            let area = Rect { y, height: 1, ..list };
            if self.cursor.index() == Some(index) {
                buf.set_style(area, cx.theme.style(Role::Selection));
            }
            put_row(area, buf, *depth, row, cx);
        }
        for (line, y) in footer.iter().zip(list.bottom()..body.bottom()) {
            text::put(buf, body.x, y, body.width, line, cx.theme.style(Role::Muted), cx.glyphs);
        }
    }
}

/// What was done with a workload last, the newest last.
fn deeds_of<'v>(view: &'v SessionView, row: &WorkloadRow) -> Vec<&'v Deed> {
    let all = world(view).map(|world| world.deeds.as_slice()).unwrap_or_default();
    let is_of = |deed: &&Deed| deed.kind == row.kind.as_str() && deed.object == row.key;
    let mut deeds: Vec<&Deed> = all.iter().rev().filter(is_of).take(DEEDS_MAX).collect();
    deeds.reverse();
    deeds
}

/// Writes them at the foot of the page, if there is room, and returns the rest of it.
fn put_deeds(body: Rect, buf: &mut Buffer, deeds: &[&Deed], cx: &OverlayCx<'_>) -> Rect {
    let n = u16::try_from(deeds.len()).unwrap_or(0);
    let Some(height) = body.height.checked_sub(n + 1).filter(|height| *height >= 2 && n > 0) else {
        return body;
    };
    let start = cx.view.scheduler.now;
    let elapsed = cx.view.elapsed;
    for (deed, y) in deeds.iter().zip(body.y + height + 1..body.bottom()) {
        let ago = start.saturating_since(deed.at);
        let at = elapsed.saturating_sub(ago).as_secs();
        let time = format!("{:02}:{:02}:{:02}  ", at / 3_600, at / 60 % 60, at % 60);
        let x = text::put(buf, body.x, y, body.width, &time, cx.theme.style(Role::Muted), cx.glyphs);
        let role = if deed.is_warning { Role::Warning } else { Role::Text };
        text::put(buf, x, y, body.right().saturating_sub(x), &deed.note, cx.theme.style(role), cx.glyphs);
    }
    Rect { height, ..body }
}

/// The parts and the node groups.
fn footer(view: &SessionView, dot: &str) -> Vec<String> {
    let Some(world) = world(view) else { return Vec::new() };
    let off: Vec<&str> =
        world.parts.iter().filter(|(_, is_on)| !is_on).map(|(part, _)| part.as_str()).collect();
    let parts = if off.is_empty() {
        "all parts are on; `:world PART off` switches one off".to_owned()
    } else {
        format!("off: {}; `:world PART on` switches one on", off.join(", "))
    };
    let group = |row: &crate::driver::sandbox::world::GroupRow| {
        let booting = if row.booting > 0 { format!(", {} on the way", row.booting) } else { String::new() };
        format!(
            "node group {} {dot} {} nodes{booting} of {} to {}",
            row.name, row.size, row.bounds.0, row.bounds.1
        )
    };
    world.groups.iter().map(group).chain([parts]).collect()
}

/// An empty page with its title and hints, and its inside.
fn frame(
    screen: Rect,
    buf: &mut Buffer,
    title: &str,
    n_lines: usize,
    width: u16,
    accept: &'static str,
    cx: &OverlayCx<'_>,
) -> Rect {
    let n_lines = u16::try_from(n_lines).unwrap_or(u16::MAX);
    let title = Line::from(text::clean(title).into_owned());
    let inner = boxed(screen, (width + 2, n_lines.saturating_add(2)), 30, &title, buf, cx);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    let hints = Rect { y: inner.bottom().saturating_sub(1), height: inner.height.min(1), ..inner };
    put_hints(hints, buf, &[(Action::Accept, accept), (Action::Close, "close")], CONTEXTS, cx);
    Rect { height: inner.height.saturating_sub(2), ..inner }
}

/// Where the numbers begin.
fn numbers_at(area: Rect) -> u16 {
    let numbers = WIDTH_OF_NUMBER * 4;
    let name = area.width.saturating_sub(WIDTH_OF_KIND + numbers);
    area.x + WIDTH_OF_KIND + name.min(name / 2 + 8)
}

fn put_header(area: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
    let style = cx.theme.style(Role::Label);
    text::put(buf, area.x, area.y, area.width, "KIND", style, cx.glyphs);
    let x = area.x + WIDTH_OF_KIND.min(area.width);
    text::put(buf, x, area.y, area.right().saturating_sub(x), "NAME", style, cx.glyphs);
    let mut x = numbers_at(area);
    for title in NUMBERS {
        let title = format!("{title:>7} ");
        x = text::put(buf, x, area.y, area.right().saturating_sub(x), &title, style, cx.glyphs);
    }
}

fn put_row(area: Rect, buf: &mut Buffer, depth: usize, row: &WorkloadRow, cx: &OverlayCx<'_>) {
    let style = |role| cx.theme.style(role);
    let start = numbers_at(area);
    let kind = if depth > 0 {
        format!("{} {}", if cx.glyphs.is_ascii { "`-" } else { "└─" }, short(row.kind))
    } else {
        row.kind.as_str().to_owned()
    };
    text::put(buf, area.x, area.y, WIDTH_OF_KIND - 1, &kind, style(Role::Muted), cx.glyphs);
    let x = area.x + WIDTH_OF_KIND.min(area.width);
    let name = row.key.to_string();
    text::put(buf, x, area.y, start.saturating_sub(x + 1), &name, style(Role::Text), cx.glyphs);
    let mut x = start;
    let is_short = row.ready < row.desired;
    for (number, role) in [
        (row.desired, Role::Number),
        (row.current, Role::Number),
        (row.ready, if is_short { Role::Warning } else { Role::Number }),
        (row.pending, if row.pending > 0 { Role::Warning } else { Role::Muted }),
    ] {
        let number = format!("{number:>7} ");
        x = text::put(buf, x, area.y, area.right().saturating_sub(x), &number, style(role), cx.glyphs);
    }
    text::put(
        buf,
        x + 1,
        area.y,
        area.right().saturating_sub(x + 1),
        &row.note,
        style(Role::Muted),
        cx.glyphs,
    );
}

const fn short(kind: WorkloadKind) -> &'static str {
    match kind {
        WorkloadKind::ReplicaSet => "set",
        WorkloadKind::Job => "job",
        _ => kind.as_str(),
    }
}

/// A pod with its node, or where it waits.
fn put_pod(area: Rect, buf: &mut Buffer, pod: &NamespacedName, cx: &OverlayCx<'_>) {
    let view = &cx.view.scheduler;
    let x =
        text::put(buf, area.x, area.y, area.width, &pod.to_string(), cx.theme.style(Role::Text), cx.glyphs);
    let on = view.nodes.iter().find(|node| node.pods().iter().any(|known| known.pod.key() == *pod));
    let place = match on {
        Some(node) => format!("  on {}", node.name()),
        None => "  has no node".to_owned(),
    };
    text::put(buf, x, area.y, area.right().saturating_sub(x), &place, cx.theme.style(Role::Muted), cx.glyphs);
}
