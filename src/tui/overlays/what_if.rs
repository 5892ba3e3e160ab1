//! What would be, beside what is: the pods that fare otherwise, and the cluster in numbers.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::api::NamespacedName;
use crate::driver::outlook::budgets::Held;
use crate::driver::outlook::task::{Answer, WhatIfView};
use crate::driver::outlook::what_if::{PodChange, PodLost, Totals, WhatIf};
use crate::driver::session::{SessionCommand, SessionView};
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Overlay, Context::List];
const WIDTH: u16 = 150;
/// Columns of the numbers, where they stand beside the pods.
const NUMBERS: u16 = 46;
/// From so many columns on they do.
const WIDE: u16 = 100;
/// Lines for what is said of the selected pod.
const SAID: u16 = 3;

/// A pod, and what becomes of it.
struct Row<'a> {
    what: &'static str,
    pod: &'a NamespacedName,
    from: &'a str,
    to: &'a str,
    said: String,
    role: Role,
}

fn changes<'a>(rows: &mut Vec<Row<'a>>, list: &'a [PodChange], what: &'static str, role: Role) {
    rows.extend(list.iter().map(|change| {
        let for_whom =
            change.instead_of.as_ref().map(|old| format!("Takes the place of {old}. ")).unwrap_or_default();
        Row {
            what,
            pod: &change.pod,
            from: change.before.as_deref().unwrap_or("-"),
            to: change.after.as_deref().unwrap_or("pending"),
            said: format!("{for_whom}{}", change.message),
            role,
        }
    }));
}

fn held<'a>(rows: &mut Vec<Row<'a>>, list: &'a [Held]) {
    rows.extend(list.iter().map(|held| Row {
        what: "is held",
        pod: &held.pod,
        from: &held.node,
        to: &held.node,
        said: format!("{}.", held.cause.trim_end_matches('.')),
        role: Role::StatusError,
    }));
}

fn lost<'a>(rows: &mut Vec<Row<'a>>, list: &'a [PodLost], what: &'static str, said: &str, role: Role) {
    rows.extend(list.iter().map(|lost| Row {
        what,
        pod: &lost.pod,
        from: lost.node.as_deref().unwrap_or("-"),
        to: "gone",
        said: said.to_owned(),
        role,
    }));
}

/// The worst first.
fn rows(answer: &WhatIf) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    changes(&mut rows, &answer.stuck, "does not fit", Role::StatusUnschedulable);
    held(&mut rows, &answer.held);
    lost(
        &mut rows,
        &answer.lost,
        "lost",
        "It has no controller that would make it again.",
        Role::StatusError,
    );
    lost(&mut rows, &answer.evicted, "evicted", "It makes room for a more important pod.", Role::StatusError);
    changes(&mut rows, &answer.moved, "moves", Role::Text);
    changes(&mut rows, &answer.freed, "gets a node", Role::StatusSuccess);
    changes(&mut rows, &answer.added, "new", Role::StatusSuccess);
    lost(&mut rows, &answer.with_node, "with its node", "It belongs to its node.", Role::Muted);
    rows
}

fn percent(thousandths: u64) -> String {
    format!("{}.{}%", thousandths / 10, thousandths % 10)
}

/// The numbers of an outcome with their names.
fn numbers(totals: &Totals) -> Vec<(&'static str, String)> {
    let measures = &totals.measures;
    let of = |resource: &str, number: fn(&crate::driver::outlook::measures::ResourceMeasure) -> u64| {
        measures.resource(resource).map_or_else(|| "-".to_owned(), |measure| percent(number(measure)))
    };
    vec![
        ("pods on nodes", totals.placed.to_string()),
        ("pending pods", totals.pending.to_string()),
        ("evicted", totals.preempted.to_string()),
        ("nodes, empty", format!("{}, {}", measures.nodes, measures.empty_nodes)),
        ("cpu in use, mean", of("cpu", |measure| measure.mean)),
        ("  deviation", of("cpu", |measure| measure.deviation)),
        ("memory in use, mean", of("memory", |measure| measure.mean)),
        ("  deviation", of("memory", |measure| measure.deviation)),
        ("free cpu in pieces", percent(measures.fragmentation())),
    ]
}

/// The page.
#[derive(Default)]
pub struct WhatIfOverlay {
    cursor: Cursor<(usize, NamespacedName)>,
}

impl WhatIfOverlay {
    fn sync(&mut self, rows: &[Row<'_>]) {
        self.cursor.sync(rows.len(), |index| key_at(rows, index));
    }

    fn put_pods(&mut self, area: Rect, buf: &mut Buffer, rows: &[Row<'_>], cx: &OverlayCx<'_>) {
        let style = |role| cx.theme.style(role);
        let at = [0, 14, 14 + area.width.saturating_sub(14) / 2, 14 + area.width.saturating_sub(14) * 3 / 4];
        let put = |buf: &mut Buffer, y: u16, column: usize, cell: &str, role: Role| {
            let x = area.x + at.get(column).copied().unwrap_or(0);
            let end = at.get(column + 1).map_or(area.right(), |next| area.x + next - 1);
            text::put(buf, x, y, end.saturating_sub(x), cell, style(role), cx.glyphs);
        };
        if area.height == 0 {
            return;
        }
        for (column, header) in ["", "pod", "today", "then"].into_iter().enumerate() {
            put(buf, area.y, column, header, Role::Heading);
        }
        let body = Rect { y: area.y + 1, height: area.height - 1, ..area };
        if rows.is_empty() && body.height > 0 {
            put_wrapped(body, buf, "Every pod stays where it is.", 0, Role::Muted, cx);
        }
        self.cursor.set_height(usize::from(body.height));
        for ((index, row), y) in rows.iter().enumerate().skip(self.cursor.offset()).zip(body.y..body.bottom())
        {
            if self.cursor.index() == Some(index) {
                buf.set_style(Rect { y, height: 1, ..body }, style(Role::Selection));
            }
            put(buf, y, 0, row.what, row.role);
            put(buf, y, 1, &row.pod.to_string(), Role::Name);
            put(buf, y, 2, row.from, Role::Text);
            put(buf, y, 3, row.to, row.role);
        }
    }
}

fn key_at(rows: &[Row<'_>], index: usize) -> (usize, NamespacedName) {
    rows.get(index).map_or_else(|| (0, NamespacedName::cluster("")), |row| (index, row.pod.clone()))
}

fn put_numbers(area: Rect, buf: &mut Buffer, answer: &WhatIf, cx: &OverlayCx<'_>) {
    let [before, after] = &answer.totals;
    let (first, second) = (area.width.saturating_sub(24), area.width.saturating_sub(11));
    let mut put = |y: u16, x: u16, width: u16, cell: &str, role: Role| {
        text::put(
            buf,
            area.x + x,
            y,
            width.min(area.width.saturating_sub(x)),
            cell,
            cx.theme.style(role),
            cx.glyphs,
        );
    };
    if area.height == 0 {
        return;
    }
    put(area.y, first, 12, "today", Role::Heading);
    put(area.y, second, 11, "then", Role::Heading);
    for (((name, today), (_, then)), y) in
        numbers(before).iter().zip(numbers(after)).zip(area.y + 1..area.bottom())
    {
        put(y, 0, first, name, Role::KeyLabel);
        put(y, first, 12, today, Role::Number);
        let role = if *today == then { Role::Number } else { Role::StatusPending };
        put(y, second, 11, &then, role);
    }
}

/// Budgets that the scheduler would break to make room, in a sentence.
fn budgets(answer: &WhatIf) -> String {
    let told = answer.budgets.iter().map(|budget| {
        format!("{} allows {} and {} would go", budget.budget, budget.allowed, budget.evicted.len())
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() {
        String::new()
    } else {
        format!("Preemption would break disruption budgets: {}.", told.join("; "))
    }
}

impl Overlay for WhatIfOverlay {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn is_over(&self, view: &SessionView) -> bool {
        view.known.what_if.is_none()
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let Some(view) = &cx.view.known.what_if else { return OverlayOutcome::Close };
        match (action, &view.answer) {
            (Action::Close, _) => OverlayOutcome::Session(SessionCommand::ForgetWhatIf),
            (Action::Accept, Answer::Known(_)) => OverlayOutcome::Session(SessionCommand::TakeWhatIf),
            (_, Answer::Known(answer)) => {
                let rows = rows(answer);
                self.sync(&rows);
                if self.cursor.handle(action, |index| key_at(&rows, index)) {
                    OverlayOutcome::Changed
                } else {
                    OverlayOutcome::Ignored
                }
            }
            _ => OverlayOutcome::Ignored,
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let Some(view) = &cx.view.known.what_if else { return };
        match &view.answer {
            Answer::Known(answer) => self.render_answer(screen, buf, view, answer, cx),
            Answer::Underway(attempts) => {
                let body =
                    format!("The scheduler runs on two copies of the cluster: {attempts} attempts so far.");
                put_message(screen, buf, view, &body, "cancel", cx);
            }
            Answer::Failed(error) => put_message(screen, buf, view, error, "close", cx),
        }
    }
}

fn title(view: &WhatIfView) -> Line<'static> {
    Line::from(format!("what if: {}", text::clean(&view.text)))
}

fn put_message(
    screen: Rect,
    buf: &mut Buffer,
    view: &WhatIfView,
    body: &str,
    close: &str,
    cx: &OverlayCx<'_>,
) {
    let inner = boxed(screen, (62, 5), 30, &title(view), buf, cx);
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    put_wrapped(Rect { height: inner.height.saturating_sub(1), ..inner }, buf, body, 0, Role::Text, cx);
    let hints = Rect { y: inner.bottom().saturating_sub(1), height: inner.height.min(1), ..inner };
    put_hints(hints, buf, &[(Action::Close, close)], CONTEXTS, cx);
}

impl WhatIfOverlay {
    fn render_answer(
        &mut self,
        screen: Rect,
        buf: &mut Buffer,
        view: &WhatIfView,
        answer: &WhatIf,
        cx: &OverlayCx<'_>,
    ) {
        let rows = rows(answer);
        self.sync(&rows);
        let budgets = budgets(answer);
        let n_numbers = u16::try_from(numbers(&answer.totals[0]).len()).unwrap_or(0) + 1;
        let n_rows = u16::try_from(rows.len()).unwrap_or(u16::MAX).max(1).saturating_add(1);
        let width = WIDTH.min(screen.width.saturating_sub(4));
        let is_wide = width >= WIDE;
        let height = if is_wide { n_rows.max(n_numbers) } else { n_rows.saturating_add(n_numbers + 1) };
        let size = (width, height.saturating_add(SAID + 4));
        let inner = boxed(screen, size, 20, &title(view), buf, cx);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        if inner.height < 4 {
            return;
        }
        let hints = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        put_hints(
            hints,
            buf,
            &[(Action::Accept, "go to that branch"), (Action::Close, "close")],
            CONTEXTS,
            cx,
        );
        let n_budgets = u16::from(!budgets.is_empty());
        if n_budgets > 0 {
            let area = Rect { height: 1, ..inner };
            put_wrapped(area, buf, &budgets, 0, Role::StatusError, cx);
        }
        let n_said = SAID.min(inner.height / 4);
        let room = inner.height.saturating_sub(n_budgets + n_said + 2);
        let body = Rect { y: inner.y + n_budgets, height: room, ..inner };
        let (pods, numbers_area) = if is_wide {
            let left = body.width.saturating_sub(NUMBERS + 2);
            (
                Rect { width: left, ..body },
                Rect { x: body.x + left + 2, width: NUMBERS.min(body.width), ..body },
            )
        } else {
            let below = n_numbers.min(body.height / 2);
            (
                Rect { height: body.height.saturating_sub(below + 1), ..body },
                Rect { y: body.bottom() - below, height: below, ..body },
            )
        };
        self.put_pods(pods, buf, &rows, cx);
        put_numbers(numbers_area, buf, answer, cx);
        if let Some(row) = self.cursor.index().and_then(|index| rows.get(index)) {
            let area = Rect { y: hints.y.saturating_sub(n_said), height: n_said, ..inner };
            put_wrapped(area, buf, &format!("{}: {}. {}", row.pod, row.what, row.said), 0, Role::Text, cx);
        }
    }
}
