//! Frames, dividers, scrollbars and the word for what is empty.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::glyphs::Glyphs;
use super::text;
use crate::tui::panes::Cx;
use crate::tui::theme::Role;

/// Draws the frame of a pane and returns its inside.
pub fn frame(area: Rect, buf: &mut Buffer, title: &Line<'_>, border: Style, glyphs: &Glyphs) -> Rect {
    let area = area.intersection(buf.area);
    if area.width < 2 || area.height < 2 {
        return Rect::new(area.x, area.y, 0, 0);
    }
    let set = &glyphs.border;
    let (left, right, top, bottom) = (area.x, area.right() - 1, area.y, area.bottom() - 1);
    for x in left + 1..right {
        buf[(x, top)].set_symbol(set.horizontal_top).set_style(border);
        buf[(x, bottom)].set_symbol(set.horizontal_bottom).set_style(border);
    }
    for y in top + 1..bottom {
        buf[(left, y)].set_symbol(set.vertical_left).set_style(border);
        buf[(right, y)].set_symbol(set.vertical_right).set_style(border);
    }
    buf[(left, top)].set_symbol(set.top_left).set_style(border);
    buf[(right, top)].set_symbol(set.top_right).set_style(border);
    buf[(left, bottom)].set_symbol(set.bottom_left).set_style(border);
    buf[(right, bottom)].set_symbol(set.bottom_right).set_style(border);
    put_title(area, buf, title, glyphs);
    Rect::new(left + 1, top + 1, area.width - 2, area.height - 2)
}

/// Draws a divider with a title across the inside of a pane at row `y`, joined to the frame on both sides where
/// there is one.
pub fn divider(area: Rect, y: u16, buf: &mut Buffer, title: &Line<'_>, cx: &Cx<'_>) {
    if y < area.y || y >= area.bottom() || area.is_empty() {
        return;
    }
    let style = cx.theme.style(if cx.focused { Role::BorderFocused } else { Role::Border });
    let set = &cx.glyphs.border;
    for x in area.x..area.right() {
        if let Some(cell) = buf.cell_mut((x, y)) {
            cell.set_symbol(set.horizontal_top).set_style(style);
        }
    }
    let mut join = |x: Option<u16>, frame: &str, joined: &'static str| {
        if let Some(cell) = x.and_then(|x| buf.cell_mut((x, y))).filter(|cell| cell.symbol() == frame) {
            cell.set_symbol(joined).set_style(style);
        }
    };
    join(area.x.checked_sub(1), set.vertical_left, cx.glyphs.join_left);
    join(Some(area.right()), set.vertical_right, cx.glyphs.join_right);
    let line = Rect { x: area.x.saturating_sub(1), y, width: area.width.saturating_add(2), height: 1 };
    put_title(line, buf, title, cx.glyphs);
}

/// Shows on the right side of the frame which part of `n_rows` is visible; nothing if all are.
pub fn scrollbar(area: Rect, buf: &mut Buffer, offset: usize, n_rows: usize, cx: &Cx<'_>) {
    let height = usize::from(area.height);
    if n_rows <= height || height == 0 {
        return;
    }
    let length = (height * height / n_rows).clamp(1, height);
    let start = (offset * (height - length)).div_ceil((n_rows - height).max(1)).min(height - length);
    let style = cx.theme.style(Role::Scrollbar);
    for row in start..start + length {
        let y = area.y.saturating_add(u16::try_from(row).unwrap_or(u16::MAX));
        if let Some(cell) = buf.cell_mut((area.right(), y))
            && cell.symbol() == cx.glyphs.border.vertical_right
        {
            cell.set_symbol(cx.glyphs.thumb).set_style(style);
        }
    }
}

/// Says why a pane or a section is empty.
pub fn empty(area: Rect, buf: &mut Buffer, why: &str, cx: &Cx<'_>) {
    let style = cx.theme.style(Role::Muted);
    let inner = Rect { x: area.x.saturating_add(1), width: area.width.saturating_sub(2), ..area };
    let lines = text::wrap(why, usize::from(inner.width));
    for (line, y) in lines.iter().zip(inner.y..inner.bottom()) {
        text::put(buf, inner.x, y, inner.width, line, style, cx.glyphs);
    }
}

/// Writes a title onto the upper side of a frame that is drawn.
pub fn put_title(area: Rect, buf: &mut Buffer, title: &Line<'_>, glyphs: &Glyphs) {
    if area.width < 6 || area.height == 0 || title.width() == 0 {
        return;
    }
    let at = area.x + 2;
    let end = text::put_line(buf, at, area.y, area.width - 4, title, glyphs);
    for x in [at - 1, end] {
        if let Some(cell) = buf.cell_mut((x, area.y)) {
            cell.set_symbol(" ");
        }
    }
}
