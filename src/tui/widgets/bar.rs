//! Bars: how much of something is taken.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

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

/// Draws a bar in the first line of `area` that is `part` of `whole`, in the style of `role` (see [`level`]).
/// Anything above 0 shows at least half a column, anything below the whole leaves at least half a column free.
pub fn bar(area: Rect, buf: &mut Buffer, part: i64, whole: i64, role: Role, cx: &Cx<'_>) {
    let halves = halves(area.width, part, whole);
    let (used, free) = (cx.theme.style(role), cx.theme.style(Role::BarFree));
    if area.is_empty() {
        return;
    }
    for column in 0..area.width {
        let Some(cell) = buf.cell_mut((area.x.saturating_add(column), area.y)) else { break };
        let here = halves.saturating_sub(u32::from(column) * 2);
        match here {
            0 => cell.set_symbol(cx.glyphs.bar_free).set_style(free),
            1 => cell.set_symbol(cx.glyphs.bar_half).set_style(used),
            _ => cell.set_symbol(cx.glyphs.bar_used).set_style(used),
        };
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
