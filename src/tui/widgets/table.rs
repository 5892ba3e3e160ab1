//! A table that builds only the rows that are visible.
//!
//! The cost of drawing does not depend on how many rows there are. The header stays, the first columns may stay,
//! the others scroll by whole columns.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::cursor::Cursor;
use super::{frame, text};
use crate::tui::panes::Cx;
use crate::tui::theme::Role;

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// At the left: names and sentences.
    Left,
    /// At the right: numbers and times.
    Right,
    /// In the middle: signs.
    Center,
}

/// How wide a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// So many columns of the screen.
    Fixed(u16),
    /// At least so many; columns of this kind share what is left in equal parts.
    AtLeast(u16),
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its header.
    pub header: String,
    /// How wide it is.
    pub width: Width,
    /// Where its text stands.
    pub align: Align,
}

impl Column {
    /// A column with its text at the left.
    pub fn left(header: impl Into<String>, width: Width) -> Self {
        Self { header: header.into(), width, align: Align::Left }
    }

    /// A column with its text at the right.
    pub fn right(header: impl Into<String>, width: Width) -> Self {
        Self { header: header.into(), width, align: Align::Right }
    }

    /// A column with its text in the middle.
    pub fn center(header: impl Into<String>, width: Width) -> Self {
        Self { header: header.into(), width, align: Align::Center }
    }
}

/// A cell: cleaned spans, see [`text::span`].
pub type Cell = Line<'static>;

/// A cell of one style from any text.
pub fn cell(text: impl AsRef<str>, style: impl Into<Style>) -> Cell {
    Line::from(text::span(text, style))
}

/// A row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// A cell for each column; missing ones are empty.
    pub cells: Vec<Cell>,
    /// The style of the whole row, below that of the cells.
    pub style: Style,
    /// Whether the last step changed it.
    pub is_lit: bool,
}

impl Row {
    /// A row without a style of its own.
    pub fn new(cells: Vec<Cell>) -> Self {
        Self { cells, ..Self::default() }
    }

    /// The same row, lit or not.
    #[must_use]
    pub fn lit(mut self, is_lit: bool) -> Self {
        self.is_lit = is_lit;
        self
    }
}

/// What a table looks like, apart from its rows.
#[derive(Clone, Debug)]
pub struct Table<'a> {
    /// The columns.
    pub columns: &'a [Column],
    /// Whether the header is drawn.
    pub has_header: bool,
    /// How many columns stay when the others scroll.
    pub n_frozen: usize,
    /// Whether the selected row is marked.
    pub has_selection: bool,
}

impl<'a> Table<'a> {
    /// A table with a header, whose first column stays.
    pub const fn new(columns: &'a [Column]) -> Self {
        Self { columns, has_header: true, n_frozen: 1, has_selection: true }
    }

    /// The same table without a header.
    #[must_use]
    pub const fn without_header(mut self) -> Self {
        self.has_header = false;
        self
    }

    /// The same table with or without a mark on the selected row.
    #[must_use]
    pub const fn with_selection(mut self, has_selection: bool) -> Self {
        self.has_selection = has_selection;
        self
    }

    /// How many lines the header takes.
    pub const fn header_height(&self) -> u16 {
        if self.has_header { 1 } else { 0 }
    }

    /// Draws the header and the visible rows. `cursor` must be in step with the rows; `row_at` is asked for the
    /// visible ones only.
    pub fn render<K: Clone + PartialEq>(
        &self,
        area: Rect,
        buf: &mut Buffer,
        cursor: &mut Cursor<K>,
        cx: &Cx<'_>,
        row_at: impl Fn(usize) -> Row,
    ) {
        let area = area.intersection(buf.area);
        let header_height = self.header_height().min(area.height);
        let body = Rect { y: area.y + header_height, height: area.height - header_height, ..area };
        if area.is_empty() {
            return;
        }
        cursor.set_height(usize::from(body.height));
        let slots = self.slots(area, cursor);
        if header_height > 0 {
            self.render_header(area, buf, &slots, cursor.column(), cx);
        }
        let last = cursor.n_rows().min(cursor.offset() + usize::from(body.height));
        for (index, y) in (cursor.offset()..last).zip(body.y..body.bottom()) {
            let line = Rect { y, height: 1, ..body };
            let row = row_at(index);
            buf.set_style(line, row.style);
            for slot in &slots {
                if let Some(cell) = row.cells.get(slot.column) {
                    put_cell(buf, slot, y, cell, self.columns[slot.column].align, cx);
                }
            }
            if row.is_lit {
                buf.set_style(line, cx.theme.style(Role::Lit));
            }
            if self.has_selection && cursor.index() == Some(index) {
                buf.set_style(line, selection(cx));
            }
        }
        frame::scrollbar(body, buf, cursor.offset(), cursor.n_rows(), cx);
    }

    /// The row at a position of the area that the table was last drawn in.
    pub fn row_at<K: Clone + PartialEq>(
        &self,
        area: Rect,
        position: Position,
        cursor: &Cursor<K>,
    ) -> Option<usize> {
        let line = position.y.checked_sub(area.y)?.checked_sub(self.header_height())?;
        let index = cursor.offset() + usize::from(line);
        (area.contains(position) && index < cursor.n_rows()).then_some(index)
    }

    /// The column at a position of the area that the table was last drawn in.
    pub fn column_at<K: Clone + PartialEq>(
        &self,
        area: Rect,
        position: Position,
        cursor: &mut Cursor<K>,
    ) -> Option<usize> {
        self.slots(area, cursor)
            .iter()
            .find(|slot| (slot.x..slot.x + slot.width).contains(&position.x))
            .map(|slot| slot.column)
    }

    fn render_header(&self, area: Rect, buf: &mut Buffer, slots: &[Slot], n_hidden: usize, cx: &Cx<'_>) {
        let style = cx.theme.style(Role::Heading);
        for slot in slots {
            let column = &self.columns[slot.column];
            put_cell(buf, slot, area.y, &cell(&column.header, style), column.align, cx);
        }
        let muted = cx.theme.style(Role::Muted);
        if n_hidden > 0
            && let Some(gap) = slots.get(self.n_frozen).and_then(|slot| slot.x.checked_sub(1))
        {
            text::put(buf, gap, area.y, 1, cx.glyphs.more_left, muted, cx.glyphs);
        }
        if slots.last().is_some_and(|slot| slot.column + 1 < self.columns.len() || slot.is_cut) {
            text::put(buf, area.right() - 1, area.y, 1, cx.glyphs.more_right, muted, cx.glyphs);
        }
    }

    /// Where each visible column stands. Puts the scroll back where everything fits.
    fn slots<K: Clone + PartialEq>(&self, area: Rect, cursor: &mut Cursor<K>) -> Vec<Slot> {
        let n_frozen = self.n_frozen.min(self.columns.len());
        let widths = self.widths(area.width);
        let needed: u32 = widths.iter().map(|width| u32::from(*width) + 1).sum();
        let scrolls = needed.saturating_sub(1) > u32::from(area.width);
        let n_scrolling = self.columns.len() - n_frozen;
        cursor.set_max_column(if scrolls { n_scrolling.saturating_sub(1) } else { 0 });
        let visible = (0..n_frozen).chain(n_frozen + cursor.column()..self.columns.len());
        let mut slots = Vec::new();
        let mut x = area.x;
        for column in visible {
            let wanted = widths[column];
            // A column of no width needs no room: it only keeps its neighbour off the frame.
            let Some(room) = area.right().checked_sub(x).filter(|room| *room > 0 || wanted == 0) else {
                break;
            };
            slots.push(Slot { column, x, width: wanted.min(room), is_cut: wanted > room });
            x = x.saturating_add(wanted).saturating_add(1);
        }
        slots
    }

    fn widths(&self, whole: u16) -> Vec<u16> {
        let gaps = u16::try_from(self.columns.len().saturating_sub(1)).unwrap_or(u16::MAX);
        let least = |column: &Column| match column.width {
            Width::Fixed(width) | Width::AtLeast(width) => width,
        };
        let taken = self.columns.iter().map(least).fold(gaps, u16::saturating_add);
        let n_growing =
            self.columns.iter().filter(|column| matches!(column.width, Width::AtLeast(_))).count();
        let n_growing = u16::try_from(n_growing).unwrap_or(u16::MAX);
        let spare = whole.saturating_sub(taken);
        let mut n_done = 0;
        let mut grow = |column: &Column| match column.width {
            Width::Fixed(width) => width,
            Width::AtLeast(width) => {
                n_done += 1;
                // The first ones get what does not divide.
                width + spare / n_growing + u16::from(n_done <= spare % n_growing)
            }
        };
        self.columns.iter().map(&mut grow).collect()
    }
}

/// The style of the selected row.
pub fn selection(cx: &Cx<'_>) -> Style {
    cx.theme.style(if cx.focused { Role::Selection } else { Role::SelectionUnfocused })
}

struct Slot {
    column: usize,
    x: u16,
    width: u16,
    is_cut: bool,
}

fn put_cell(buf: &mut Buffer, slot: &Slot, y: u16, cell: &Line<'_>, align: Align, cx: &Cx<'_>) {
    let room = usize::from(slot.width).saturating_sub(cell.width());
    let indent = match align {
        Align::Left => 0,
        Align::Right => room,
        Align::Center => room / 2,
    };
    let indent = u16::try_from(indent).unwrap_or(0);
    text::put_line(buf, slot.x + indent, y, slot.width - indent, cell, cx.glyphs);
}

/// Several spans in one cell.
pub fn spans(spans: Vec<Span<'static>>) -> Cell {
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell as Counter;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::api::Str;
    use crate::driver::session::{RunState, SessionView, Speed};
    use crate::scheduler::view::View;
    use crate::tui::action::Action;
    use crate::tui::changes::Changes;
    use crate::tui::keymap::load::built_in;
    use crate::tui::log_lines::LogLines;
    use crate::tui::theme::Theme;
    use crate::tui::widgets::glyphs::UNICODE;

    fn with_cx(test: impl FnOnce(&Cx<'_>)) {
        let view = SessionView {
            known: Default::default(),
            moment: Default::default(),
            live: None,
            aside: None,
            source: Str::from(""),
            run_state: RunState::Paused,
            speed: Speed::Max,
            elapsed: Duration::ZERO,
            next_timeout: None,
            scheduler: Arc::new(View::default()),
            notice: None,
            debug: Default::default(),
            branches: Default::default(),
            comparison: None,
            failure: None,
        };
        test(&Cx {
            view: &view,
            theme: &Theme::mono(),
            glyphs: &UNICODE,
            focused: true,
            changed: &Changes::default(),
            now: Duration::ZERO,
            selected: None,
            log: &LogLines::default(),
            shown: &[],
            keymap: &built_in(),
        });
    }

    fn columns() -> [Column; 4] {
        [
            Column::left("name", Width::AtLeast(6)),
            Column::right("cpu", Width::Fixed(4)),
            Column::center("ok", Width::Fixed(2)),
            Column::left("why", Width::Fixed(4)),
        ]
    }

    fn row(index: usize) -> Row {
        let plain = Style::new();
        Row::new(vec![
            cell(format!("n-{index}"), plain),
            cell("1500m", plain),
            cell("+", plain),
            cell("fits", plain),
        ])
    }

    fn cursor(n_rows: usize) -> Cursor<usize> {
        let mut cursor = Cursor::default();
        cursor.sync(n_rows, |index| index);
        cursor
    }

    fn lines(buf: &Buffer) -> Vec<String> {
        let rows = buf.content().chunks(usize::from(buf.area.width));
        rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn only_the_visible_rows_are_asked_for() {
        with_cx(|cx| {
            let (columns, n_asked) = (columns(), Counter::new(0));
            let mut buf = Buffer::empty(Rect::new(0, 0, 20, 5));
            Table::new(&columns).render(buf.area, &mut buf, &mut cursor(100_000), cx, |index| {
                n_asked.set(n_asked.get() + 1);
                row(index)
            });
            assert_eq!(n_asked.get(), 4);
        });
    }

    #[test]
    fn columns_have_their_widths_and_what_is_cut_says_so() {
        with_cx(|cx| {
            let columns = columns();
            let mut buf = Buffer::empty(Rect::new(0, 0, 22, 2));
            Table::new(&columns).render(buf.area, &mut buf, &mut cursor(1), cx, row);
            // The first column takes the three columns that are left over.
            assert_eq!(lines(&buf), ["name       cpu ok why", "n-0       150… +  fits"]);
        });
    }

    #[test]
    fn the_first_column_stays_while_the_others_scroll() {
        with_cx(|cx| {
            let columns = columns();
            let mut cursor = cursor(1);
            let mut buf = Buffer::empty(Rect::new(0, 0, 12, 2));
            Table::new(&columns).render(buf.area, &mut buf, &mut cursor, cx, row);
            assert_eq!(lines(&buf), ["name    cpu›", "n-0    150…"]);
            cursor.handle(Action::ScrollRight, |index| index);
            let mut buf = Buffer::empty(Rect::new(0, 0, 12, 2));
            Table::new(&columns).render(buf.area, &mut buf, &mut cursor, cx, row);
            assert_eq!(lines(&buf), ["name  ‹ok w›", "n-0    +  f…"]);
        });
    }

    #[test]
    fn a_position_leads_to_its_row() {
        let columns = columns();
        let table = Table::new(&columns);
        let area = Rect::new(2, 1, 20, 5);
        let mut cursor = cursor(9);
        cursor.set_height(4);
        cursor.select(8, |index| index);
        assert_eq!(table.row_at(area, Position::new(3, 1), &cursor), None, "the header is no row");
        assert_eq!(table.row_at(area, Position::new(3, 2), &cursor), Some(5));
        assert_eq!(table.row_at(area, Position::new(0, 2), &cursor), None);
        assert_eq!(table.row_at(area, Position::new(3, 9), &cursor), None);
    }

    #[test]
    fn nothing_panics_without_room() {
        with_cx(|cx| {
            let columns = columns();
            for (width, height) in [(0, 0), (1, 1), (0, 9), (9, 0), (3, 2)] {
                let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
                Table::new(&columns).render(Rect::new(0, 0, 50, 50), &mut buf, &mut cursor(3), cx, row);
            }
        });
    }
}
