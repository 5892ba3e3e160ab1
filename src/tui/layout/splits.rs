//! How large the parts of a layout are: by default, and as a person has moved the borders.
//!
//! Sizes are kept in hundredths of what is divided, by the pane whose place it is, so that they fit any screen.

use ratatui::layout::Rect;

use super::Place;
use crate::tui::panes::PaneId;

/// The least width of a pane, its frame included, where there is room for that.
const WIDTH_MIN: u16 = 16;
/// The least height of a pane, its frame included.
const HEIGHT_MIN: u16 = 4;
/// Rows of the strip below, with its frame.
const STRIP: u16 = 8;
/// The most hundredths that a pane is larger or smaller by.
const MOST: i8 = 80;

/// In which direction a size is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From left to right.
    Width,
    /// From top to bottom.
    Height,
}

/// How much larger or smaller than by default panes are, in hundredths; of the strip below, in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splits {
    widths: [i8; PaneId::COUNT],
    heights: [i8; PaneId::COUNT],
}

impl Default for Splits {
    fn default() -> Self {
        Self::NONE
    }
}

impl Splits {
    /// Everything as by default.
    pub const NONE: Self = Self { widths: [0; PaneId::COUNT], heights: [0; PaneId::COUNT] };

    /// What differs from the default: pane, width, height.
    pub fn differing(&self) -> impl Iterator<Item = (PaneId, i8, i8)> + '_ {
        PaneId::ALL
            .into_iter()
            .zip(self.widths)
            .zip(self.heights)
            .map(|((pane, width), height)| (pane, width, height))
            .filter(|(_, width, height)| (*width, *height) != (0, 0))
    }

    /// Sets the difference of a pane.
    pub fn set(&mut self, pane: PaneId, width: i8, height: i8) {
        self.widths[pane.index()] = width.clamp(-MOST, MOST);
        self.heights[pane.index()] = height.clamp(-MOST, MOST);
    }

    /// Makes a pane larger by so many hundredths, and its neighbour smaller, or the other way round. False if it has no
    /// neighbour in that direction.
    pub fn grow(&mut self, places: &[Place], pane: PaneId, axis: Axis, by: i8) -> bool {
        let Some(place) = places.iter().find(|place| place.pane == pane) else { return false };
        let behind = places.iter().find(|other| follows(place, other, axis));
        let Some(other) = behind.or_else(|| places.iter().find(|other| follows(other, place, axis))) else {
            return false;
        };
        self.move_border(place.slot, other.slot, axis, by);
        true
    }

    /// Moves the border between two panes that stand one after the other.
    pub fn move_border(&mut self, first: PaneId, second: PaneId, axis: Axis, by: i8) {
        let kept = match axis {
            Axis::Width => &mut self.widths,
            Axis::Height => &mut self.heights,
        };
        for (pane, by) in [(first, by), (second, by.saturating_neg())] {
            let value = &mut kept[pane.index()];
            *value = value.saturating_add(by).clamp(-MOST, MOST);
        }
    }

    /// The height of the strip below a body of that height.
    pub(super) fn strip(&self, body: u16) -> u16 {
        let wanted = i32::from(STRIP) + i32::from(self.heights[PaneId::Timeline.index()]);
        let most = i32::from(body.saturating_sub(4 * HEIGHT_MIN).max(STRIP));
        u16::try_from(wanted.clamp(i32::from(HEIGHT_MIN), most)).unwrap_or(STRIP)
    }
}

/// Whether `second` begins where `first` ends, with a border that both have a part of.
pub(super) fn follows(first: &Place, second: &Place, axis: Axis) -> bool {
    let (a, b) = (first.area, second.area);
    match axis {
        Axis::Width => a.right() == b.x && a.y < b.bottom() && b.y < a.bottom(),
        Axis::Height => a.bottom() == b.y && a.x < b.right() && b.x < a.right(),
    }
}

/// The border at a position, if there is one between two panes: what is before it, what is behind it, and in which
/// direction it can be moved.
pub fn border_at(places: &[Place], x: u16, y: u16) -> Option<(Place, Place, Axis)> {
    let pairs = places.iter().flat_map(|first| places.iter().map(move |second| (first, second)));
    for (first, second) in pairs {
        let (a, b) = (first.area, second.area);
        let is_within = |from: u16, to: u16, at: u16| (from..to).contains(&at);
        // Both frames touch: either side of the border takes hold of it.
        if follows(first, second, Axis::Width)
            && (x + 1 == b.x || x == b.x)
            && is_within(a.y.max(b.y) + 1, a.bottom().min(b.bottom()).saturating_sub(1), y)
        {
            return Some((*first, *second, Axis::Width));
        }
        if follows(first, second, Axis::Height)
            && y + 1 == b.y
            && is_within(a.x.max(b.x) + 1, a.right().min(b.right()).saturating_sub(1), x)
        {
            return Some((*first, *second, Axis::Height));
        }
    }
    None
}

/// Cuts an area into columns by hundredths, each with the panes that stand in it; the last one gets what is left.
pub(super) fn columns<const N: usize>(
    area: Rect,
    shares: [(i32, &[PaneId]); N],
    splits: &Splits,
) -> [Rect; N] {
    let shares = shares.map(|(share, panes)| {
        let moved: i32 = panes.iter().map(|pane| i32::from(splits.widths[pane.index()])).sum();
        share + moved
    });
    let mut x = area.x;
    cut(area.width, shares, WIDTH_MIN).map(|width| {
        let column = Rect { x, width, ..area };
        x += width;
        column
    })
}

/// Cuts an area into rows by hundredths; the last one gets what is left.
pub(super) fn rows<const N: usize>(area: Rect, shares: [(i32, PaneId); N], splits: &Splits) -> [Rect; N] {
    let shares = shares.map(|(share, pane)| share + i32::from(splits.heights[pane.index()]));
    let mut y = area.y;
    cut(area.height, shares, HEIGHT_MIN).map(|height| {
        let row = Rect { y, height, ..area };
        y += height;
        row
    })
}

/// Divides a length by shares, none smaller than `min` if there is enough for that.
fn cut<const N: usize>(total: u16, shares: [i32; N], min: u16) -> [u16; N] {
    let shares = shares.map(|share| u64::try_from(share).unwrap_or(0));
    let sum = shares.iter().sum::<u64>().max(1);
    let mut parts = shares.map(|share| u16::try_from(u64::from(total) * share / sum).unwrap_or(total));
    let Some(last) = parts.last_mut() else { return parts };
    *last = 0;
    let used: u16 = parts.iter().sum();
    if let Some(last) = parts.last_mut() {
        *last = total.saturating_sub(used);
    }
    let min = min.min(total / u16::try_from(N).unwrap_or(1));
    // What is too small takes from the largest, which has more than `min` as long as something has less.
    while let Some(small) = (0..N).find(|i| parts[*i] < min) {
        let Some(large) = (0..N).max_by_key(|i| parts[*i]) else { break };
        let given = (min - parts[small]).min(parts[large].saturating_sub(min));
        if given == 0 {
            break;
        }
        parts[large] -= given;
        parts[small] += given;
    }
    parts
}
