//! Bars: how much of something is taken.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::tui::panes::Cx;
use crate::tui::theme::Role;

/// From which part on little is left, in hundredths.
const HIGH: i64 = 85;

/// The role of a bar that is `part` of `whole`: ordinary, little left, nothing left.
pub fn level(part: i64, whole: i64) -> Role {
    if part <= 0 {
        Role::BarFree
    } else if part >= whole {
        Role::BarFull
    } else if part.saturating_mul(100) >= whole.saturating_mul(HIGH) {
        Role::BarHigh
    } else {
        Role::BarUsed
    }
}

/// A bar of `width` columns for a line of text that is `part` of `whole`, in the style of `role` (see [`level`]).
/// Anything above 0 shows at least half a column, anything below the whole leaves at least half a column free.
pub fn spans(width: u16, part: i64, whole: i64, role: Role, cx: &Cx<'_>) -> Vec<Span<'static>> {
    let halves = halves(width, part, whole);
    let n_used = usize::try_from(halves / 2).unwrap_or(usize::MAX);
    let n_half = usize::try_from(halves % 2).unwrap_or_default();
    let n_free = usize::from(width).saturating_sub(n_used + n_half);
    let used = cx.glyphs.bar_used.repeat(n_used) + &cx.glyphs.bar_half.repeat(n_half);
    vec![
        Span::styled(used, cx.theme.style(role)),
        Span::styled(cx.glyphs.bar_free.repeat(n_free), cx.theme.style(Role::BarFree)),
    ]
}

/// Draws the same bar in the first line of `area`.
pub fn bar(area: Rect, buf: &mut Buffer, part: i64, whole: i64, role: Role, cx: &Cx<'_>) {
    let area = area.intersection(buf.area);
    if !area.is_empty() {
        let line = Line::from(spans(area.width, part, whole, role, cx));
        buf.set_line(area.x, area.y, &line, area.width);
    }
}

/// How many half columns are taken.
fn halves(width: u16, part: i64, whole: i64) -> u32 {
    let all = u32::from(width) * 2;
    if part <= 0 || all == 0 {
        return 0;
    }
    if part >= whole {
        return all;
    }
    let share = i128::from(part) * i128::from(all) / i128::from(whole);
    u32::try_from(share).unwrap_or(all).clamp(1, all - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_nothing_looks_empty_and_only_all_looks_full() {
        assert_eq!(halves(10, 0, 1000), 0);
        assert_eq!(halves(10, 1, 1000), 1);
        assert_eq!(halves(10, 500, 1000), 10);
        assert_eq!(halves(10, 999, 1000), 19);
        assert_eq!(halves(10, 1000, 1000), 20);
        assert_eq!(halves(10, 5, 0), 20);
        assert_eq!(halves(0, 5, 10), 0);
        assert_eq!(halves(10, i64::MAX - 1, i64::MAX), 19);
    }

    #[test]
    fn levels_tell_scarcity() {
        assert_eq!(level(0, 100), Role::BarFree);
        assert_eq!(level(84, 100), Role::BarUsed);
        assert_eq!(level(85, 100), Role::BarHigh);
        assert_eq!(level(100, 100), Role::BarFull);
        assert_eq!(level(120, 100), Role::BarFull);
    }
}
