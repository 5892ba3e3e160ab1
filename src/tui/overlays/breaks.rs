//! The breakpoints and watches as a list: switch them, take them away, see how often each was hit, and where last.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::driver::breakpoints::{DebugCommand, DebugView};
use crate::driver::session::SessionCommand;
use crate::tui::action::{Action, Context};
use crate::tui::theme::Role;
use crate::tui::widgets::cursor::Cursor;
use crate::tui::widgets::text;

use super::{Overlay, OverlayCx, OverlayOutcome, boxed, put_hints, put_wrapped};

const CONTEXTS: &[Context] = &[Context::Overlay, Context::List];
const WIDTH: u16 = 96;
/// Lines of an entry: the condition, and where it was true last.
const LINES: u16 = 2;

/// The list.
#[derive(Default)]
pub struct BreaksOverlay {
    cursor: Cursor<u32>,
}

/// An entry of it.
struct Entry<'v> {
    number: u32,
    state: &'static str,
    is_on: bool,
    hits: String,
    what: &'v str,
    below: String,
}

fn entries(view: &DebugView) -> Vec<Entry<'_>> {
    let breaks = view.breaks.iter().map(|known| {
        let hits = if known.n_hits == 1 { "1 hit".to_owned() } else { format!("{} hits", known.n_hits) };
        let mut below = String::new();
        if known.is_once {
            below.push_str("once; ");
        }
        if known.n_ignored > 0 {
            below.push_str(&format!("lets {} hits go by; ", known.n_ignored));
        }
        below.push_str(known.last_hit.as_deref().unwrap_or("not hit yet"));
        let state = if known.is_enabled { "on" } else { "off" };
        Entry { number: known.number, state, is_on: known.is_enabled, hits, what: &known.condition, below }
    });
    let watches = view.watches.iter().map(|watch| {
        let before = watch.before.as_deref();
        let before = before.map(|old| format!("; before cycle {}: {old}", watch.changed_in));
        let below = format!("is {}{}", watch.value, before.unwrap_or_default());
        Entry {
            number: watch.number,
            state: "watch",
            is_on: true,
            hits: String::new(),
            what: &watch.what,
            below,
        }
    });
    breaks.chain(watches).collect()
}

impl Overlay for BreaksOverlay {
    fn contexts(&self) -> &'static [Context] {
        CONTEXTS
    }

    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let entries = entries(&cx.view.debug);
        let key_at = |index: usize| entries.get(index).map_or(0, |entry| entry.number);
        self.cursor.sync(entries.len(), key_at);
        let selected = self.cursor.key().copied();
        let tell = |command| OverlayOutcome::Tell(SessionCommand::Debug(command));
        match (action, selected) {
            (Action::Close, _) => OverlayOutcome::Close,
            (Action::ToggleBreak | Action::Accept, Some(number)) => tell(DebugCommand::Toggle(number)),
            (Action::DeleteBreak, Some(number)) => tell(DebugCommand::Delete(number)),
            _ if self.cursor.handle(action, key_at) => OverlayOutcome::Changed,
            _ => OverlayOutcome::Ignored,
        }
    }

    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
        let entries = entries(&cx.view.debug);
        self.cursor.sync(entries.len(), |index| entries.get(index).map_or(0, |entry| entry.number));
        let width = WIDTH.min(screen.width.saturating_sub(6));
        let n_lines = u16::try_from(entries.len()).unwrap_or(u16::MAX).saturating_mul(LINES).max(3);
        let title = Line::from(format!("breakpoints and watches {} {}", cx.glyphs.dot, entries.len()));
        let inner = boxed(screen, (width + 2, n_lines.saturating_add(2)), 30, &title, buf, cx);
        let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
        let Some(body_height) = inner.height.checked_sub(2) else { return };
        let body = Rect { height: body_height, ..inner };
        if entries.is_empty() {
            let why = "No breakpoint is set: write :break CONDITION, such as :break node == a-1 && code == \
                       Unschedulable, or select something and press the key for a breakpoint.";
            put_wrapped(body, buf, why, 0, Role::Muted, cx);
        }
        self.cursor.set_height(usize::from(body.height / LINES));
        let shown = entries.iter().enumerate().skip(self.cursor.offset());
        for ((index, entry), slot) in shown.zip(0..body.height / LINES) {
            let area = Rect { y: body.y + slot * LINES, height: LINES, ..body };
            if self.cursor.index() == Some(index) {
                buf.set_style(Rect { height: 1, ..area }, cx.theme.style(Role::Selection));
            }
            put_entry(area, buf, entry, cx);
        }
        let hints = Rect { y: inner.bottom() - 1, height: 1, ..inner };
        let hint =
            [(Action::ToggleBreak, "on or off"), (Action::DeleteBreak, "delete"), (Action::Close, "close")];
        put_hints(hints, buf, &hint, CONTEXTS, cx);
    }
}

fn put_entry(area: Rect, buf: &mut Buffer, entry: &Entry<'_>, cx: &OverlayCx<'_>) {
    let style = |role| cx.theme.style(role);
    let number = format!("{:>3} ", entry.number);
    let room = |x: u16| area.right().saturating_sub(x);
    let x = text::put(buf, area.x, area.y, area.width, &number, style(Role::Number), cx.glyphs);
    let state = if entry.is_on { Role::StatusSuccess } else { Role::Muted };
    text::put(buf, x, area.y, room(x).min(5), entry.state, style(state), cx.glyphs);
    let hits = u16::try_from(text::width(&entry.hits)).unwrap_or(0);
    let what = area.x + 11;
    let role = if entry.is_on { Role::Strong } else { Role::Muted };
    text::put(buf, what, area.y, room(what).saturating_sub(hits + 2), entry.what, style(role), cx.glyphs);
    let x = area.right().saturating_sub(hits);
    text::put(buf, x, area.y, hits, &entry.hits, style(Role::Number), cx.glyphs);
    text::put(buf, what, area.y + 1, room(what), &entry.below, style(Role::Muted), cx.glyphs);
}
