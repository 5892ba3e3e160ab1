//! The strip of watches above the footer: a line for each, what it is and what it was.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::tui::layout::MIN_HEIGHT;
use crate::tui::theme::Role;
use crate::tui::widgets::text;

use super::Shell;

/// Lines at the most.
const LINES_MAX: usize = 5;
/// Below this height of the screen the strip has one line.
const HEIGHT_FOR_MORE: u16 = 30;

impl Shell {
    /// How many lines the strip has on a screen.
    pub(super) fn n_watch_lines(&self, screen: Rect) -> u16 {
        let room = screen.height.saturating_sub(MIN_HEIGHT);
        let most = if screen.height < HEIGHT_FOR_MORE { 2 } else { LINES_MAX };
        let n = self.world.view.debug.watches.len().min(most);
        u16::try_from(n).unwrap_or(0).min(room)
    }

    /// Draws it.
    pub(super) fn draw_watches(&self, area: Rect, buf: &mut Buffer) {
        let (theme, glyphs) = (&self.look.theme, &self.look.glyphs);
        let debug = &self.world.view.debug;
        let cycle = self.world.view.scheduler.counts.cycles;
        // The newest ones, where there is no room for all.
        let skipped = debug.watches.len().saturating_sub(usize::from(area.height));
        for (watch, y) in debug.watches.iter().skip(skipped).zip(area.y..area.bottom()) {
            buf.set_style(Rect { y, height: 1, ..area }, theme.style(Role::Footer));
            let room = |x: u16| area.right().saturating_sub(x + 1);
            let put = |x: u16, line: &str, role: Role, buf: &mut Buffer| {
                text::put(buf, x, y, room(x), line, theme.style(role), glyphs)
            };
            let x = put(area.x + 1, &format!("watch {} ", watch.number), Role::Label, buf);
            let x = put(x, &format!("{} ", watch.what), Role::Name, buf);
            let is_new = watch.changed_in == cycle && watch.before.is_some();
            let x = put(x, &watch.value, if is_new { Role::Strong } else { Role::Text }, buf);
            if let Some(before) = &watch.before {
                put(x, &format!("  (until cycle {}: {before})", watch.changed_in), Role::Muted, buf);
            }
        }
    }
}
