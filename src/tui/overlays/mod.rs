//! What lies over the panes: the palette, the help, questions, messages, lines that are typed.
//!
//! Overlays are a stack; the top one gets keys first, and nothing below it gets any. An overlay does nothing
//! itself: it answers with an [`OverlayOutcome`], and the shell acts.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;

use crate::driver::session::{SessionCommand, SessionView};

use super::action::{Action, Context};
use super::keymap::Keymap;
use super::panes::{PaneId, Subject};
use super::theme::library::Themes;
use super::theme::{Role, Theme};
use super::widgets::frame;
use super::widgets::glyphs::Glyphs;
use super::widgets::text;

pub mod arm;
pub mod ask_bind;
pub mod branches;
pub mod breaks;
pub mod compare;
pub mod confirm;
pub mod filter;
pub mod finder;
pub mod fixes;
pub mod help;
pub mod input;
pub mod lesson;
pub mod message;
pub mod palette;
pub mod what_if;
pub mod which_key;
pub mod workloads;

/// What an overlay is told.
#[derive(Clone, Copy)]
pub struct OverlayCx<'a> {
    /// The newest view.
    pub view: &'a SessionView,
    /// Styles by role.
    pub theme: &'a Theme,
    /// The themes that can be chosen.
    pub themes: &'a Themes,
    /// Signs.
    pub glyphs: &'a Glyphs,
    /// The keys.
    pub keymap: &'a Keymap,
    /// What is selected in the console.
    pub selected: Option<&'a Subject>,
    /// The pane below that has the focus.
    pub pane: PaneId,
    /// The contexts of that pane, global ones included.
    pub pane_contexts: &'a [Context],
    /// Command lines typed before, the newest last.
    pub history: &'a [String],
}

/// What came of an action or of typed text.
#[derive(Clone, Debug, PartialEq)]
pub enum OverlayOutcome {
    /// Nothing.
    Ignored,
    /// It must be drawn again.
    Changed,
    /// It is done.
    Close,
    /// It is done, and a command line is to be carried out.
    Command(String),
    /// It is done, and the session is to be told something.
    Session(SessionCommand),
    /// It is done, and a command line is to be finished.
    Type(String),
    /// It is done, and a thing is to be gone to.
    GoTo(Subject),
    /// The session is to be told something; the overlay stays.
    Tell(SessionCommand),
    /// The focused pane shows only what matches, or everything; the overlay stays.
    Filter(Option<String>),
    /// The focused pane gets an action; the overlay stays.
    Pane(Action),
    /// A text is to be copied, and that said; the overlay stays.
    Copy(String, String),
    /// It is done, and the action is done as if it had not been there.
    Through(Action),
}

/// Something over the panes.
pub trait Overlay {
    /// Where its keys are looked up. If the first is [`Context::TextInput`], keys without a binding there are
    /// typed.
    fn contexts(&self) -> &'static [Context];

    /// Does an action.
    fn handle(&mut self, action: Action, cx: &OverlayCx<'_>) -> OverlayOutcome;

    /// Takes text that was typed or pasted.
    fn insert(&mut self, text: &str, cx: &OverlayCx<'_>) -> OverlayOutcome {
        let _ = (text, cx);
        OverlayOutcome::Ignored
    }

    /// Whether what it is about has ended, so that it goes by itself.
    fn is_over(&self, view: &SessionView) -> bool {
        let _ = view;
        false
    }

    /// Draws it somewhere on the screen.
    fn render(&mut self, screen: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>);
}

/// Draws an empty box of at most that size with a title in the middle of the screen, `top` parts in a hundred from
/// above, and returns its inside.
fn boxed(
    screen: Rect,
    size: (u16, u16),
    top: u16,
    title: &Line<'_>,
    buf: &mut Buffer,
    cx: &OverlayCx<'_>,
) -> Rect {
    let screen = screen.intersection(buf.area);
    let width = size.0.saturating_add(2).min(screen.width.saturating_sub(2));
    let height = size.1.saturating_add(2).min(screen.height.saturating_sub(2));
    let spare = u32::from(screen.height - height);
    let y = screen.y + u16::try_from(spare * u32::from(top) / 100).unwrap_or(0);
    let area = Rect { x: screen.x + (screen.width - width) / 2, y, width, height };
    clear(area, buf, cx);
    let title = title.clone().style(cx.theme.style(Role::TitleFocused));
    frame::frame(area, buf, &title, cx.theme.style(Role::OverlayBorder), cx.glyphs)
}

/// Where a list or a text stands after an action: `at` before, `page` lines at once, `last` at most. Absent if the action
/// does not move it.
fn moved(action: Action, at: usize, page: usize, last: usize) -> Option<usize> {
    let to = match action {
        Action::SelectNext => at + 1,
        Action::SelectPrevious => at.saturating_sub(1),
        Action::PageDown => at + page,
        Action::PageUp => at.saturating_sub(page),
        Action::SelectFirst => 0,
        Action::SelectLast => last,
        _ => return None,
    };
    Some(to.min(last))
}

fn clear(area: Rect, buf: &mut Buffer, cx: &OverlayCx<'_>) {
    let area = area.intersection(buf.area);
    for position in area.positions() {
        if let Some(cell) = buf.cell_mut(position) {
            cell.reset();
        }
    }
    buf.set_style(area, cx.theme.style(Role::Screen));
    buf.set_style(area, cx.theme.style(Role::Overlay));
}

/// Writes wrapped lines into an area from `offset` on, and returns how many there are. The last one that has room is marked
/// where others follow.
fn put_wrapped(
    area: Rect,
    buf: &mut Buffer,
    body: &str,
    offset: usize,
    role: Role,
    cx: &OverlayCx<'_>,
) -> usize {
    let lines = text::wrap(body, usize::from(area.width));
    let goes_on = lines.len().saturating_sub(offset) > usize::from(area.height);
    for (line, y) in lines.iter().skip(offset).zip(area.y..area.bottom()) {
        let mark = if goes_on && y + 1 == area.bottom() { cx.glyphs.ellipsis } else { "" };
        text::put(buf, area.x, y, area.width, &format!("{line}{mark}"), cx.theme.style(role), cx.glyphs);
    }
    lines.len()
}

/// The first key of an action in some contexts, for hints.
fn key(action: Action, contexts: &[Context], cx: &OverlayCx<'_>) -> String {
    cx.keymap.key_for(action, contexts).unwrap_or_default()
}

/// Writes hints such as `enter accept  esc cancel` into the first line of an area.
fn put_hints(
    area: Rect,
    buf: &mut Buffer,
    hints: &[(Action, &str)],
    contexts: &[Context],
    cx: &OverlayCx<'_>,
) {
    let mut x = area.x;
    for (action, label) in hints {
        let key = key(*action, contexts, cx);
        let needed = text::width(&key) + 1 + text::width(label);
        if key.is_empty() || needed > usize::from(area.right().saturating_sub(x)) {
            continue;
        }
        x = text::put(buf, x, area.y, area.right() - x, &key, cx.theme.style(Role::Key), cx.glyphs);
        x = text::put(buf, x + 1, area.y, area.right() - x, label, cx.theme.style(Role::KeyLabel), cx.glyphs)
            + 2;
    }
}
