//! Which pane stands where: a pure function of the size and of what has the focus.
//!
//! It knows nothing of what the panes show. At every size at least 40 columns by 10 rows something useful is
//! visible; below that one line says what is needed.

use ratatui::layout::Rect;

use super::panes::PaneId;

/// The least size that the console works in.
pub const MIN_WIDTH: u16 = 40;
/// See [`MIN_WIDTH`].
pub const MIN_HEIGHT: u16 = 10;

/// What the layout depends on besides the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// The pane that has the focus.
    pub focus: PaneId,
    /// Whether it has the whole screen.
    pub is_zoomed: bool,
    /// Which of [`SHARED`] had the focus last: it is shown where there is room for one of them.
    pub shared: PaneId,
    /// Which pane other than the queues had the focus last: it stands beside them where there are two columns.
    pub beside: PaneId,
    /// Whether the timeline stands below the grid of medium size; below the large one it always does.
    pub has_strip: bool,
    /// Whether the panes about a live cluster are there.
    pub is_live: bool,
}

/// The panes that share one place in the grid of medium size.
pub const SHARED: [PaneId; 7] = [
    PaneId::Matrix,
    PaneId::Waiting,
    PaneId::Nodes,
    PaneId::Log,
    PaneId::Timeline,
    PaneId::Agreement,
    PaneId::Informers,
];

/// Where everything stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Layout {
    /// There is no room.
    TooSmall,
    /// There is.
    Panes {
        /// The line on top.
        status: Rect,
        /// The row of tabs, where not all panes can be seen.
        tabs: Option<Rect>,
        /// The panes that are visible; they do not overlap.
        panes: Vec<(PaneId, Rect)>,
        /// The line at the bottom.
        footer: Rect,
    },
}

impl Layout {
    /// The pane at a position.
    pub fn pane_at(&self, x: u16, y: u16) -> Option<(PaneId, Rect)> {
        let Self::Panes { panes, .. } = self else { return None };
        panes.iter().copied().find(|(_, area)| area.contains((x, y).into()))
    }
}

/// The layout for an area.
pub fn layout(area: Rect, arrangement: &Arrangement) -> Layout {
    if area.width < MIN_WIDTH || area.height < MIN_HEIGHT {
        return Layout::TooSmall;
    }
    let status = Rect { height: 1, ..area };
    let footer = Rect { y: area.bottom() - 1, height: 1, ..area };
    let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
    let shape = if arrangement.is_zoomed { Shape::One } else { Shape::of(area) };
    let has_tabs = matches!(shape, Shape::One | Shape::Two);
    let tabs = has_tabs.then_some(Rect { height: 1, ..body });
    let body = if has_tabs { Rect { y: body.y + 1, height: body.height - 1, ..body } } else { body };
    let panes = match shape {
        Shape::One => vec![(arrangement.focus, body)],
        Shape::Two => {
            let [left, right] = columns(body, [38, 62]);
            vec![(PaneId::Queues, left), (arrangement.beside, right)]
        }
        Shape::Grid if arrangement.has_strip => {
            let shared =
                if arrangement.shared == PaneId::Timeline { PaneId::Matrix } else { arrangement.shared };
            with_strip(body, |body| grid(body, shared))
        }
        Shape::Grid => grid(body, arrangement.shared),
        Shape::Wide if arrangement.is_live => with_strip(body, wide_live),
        Shape::Wide => with_strip(body, wide),
    };
    Layout::Panes { status, tabs, panes, footer }
}

/// How many panes there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// One, and tabs.
    One,
    /// The queues and one beside them, and tabs.
    Two,
    /// Four, one of them by choice.
    Grid,
    /// All.
    Wide,
}

impl Shape {
    const fn of(area: Rect) -> Self {
        match (area.width, area.height) {
            (170.., 40..) => Self::Wide,
            (120.., 30..) => Self::Grid,
            (100.., 18..) => Self::Two,
            _ => Self::One,
        }
    }
}

/// The timeline below the rest.
fn with_strip(body: Rect, rest: impl FnOnce(Rect) -> Vec<(PaneId, Rect)>) -> Vec<(PaneId, Rect)> {
    /// Rows with the frame.
    const STRIP: u16 = 8;
    let strip = Rect { y: body.bottom() - STRIP, height: STRIP, ..body };
    let mut panes = rest(Rect { height: body.height - STRIP, ..body });
    panes.push((PaneId::Timeline, strip));
    panes
}

fn grid(body: Rect, shared: PaneId) -> Vec<(PaneId, Rect)> {
    let [queues, right] = columns(body, [37, 63]);
    let [cycle, middle, details] = rows(right, [37, 34, 29]);
    vec![(PaneId::Queues, queues), (PaneId::Cycle, cycle), (shared, middle), (PaneId::Details, details)]
}

fn wide(body: Rect) -> Vec<(PaneId, Rect)> {
    let [queues, middle, right] = columns(body, [26, 42, 32]);
    let [cycle, matrix, details] = rows(middle, [34, 33, 33]);
    let [nodes, waiting, log] = rows(right, [50, 16, 34]);
    vec![
        (PaneId::Queues, queues),
        (PaneId::Cycle, cycle),
        (PaneId::Matrix, matrix),
        (PaneId::Waiting, waiting),
        (PaneId::Nodes, nodes),
        (PaneId::Details, details),
        (PaneId::Log, log),
    ]
}

/// The same with the panes about the cluster.
fn wide_live(body: Rect) -> Vec<(PaneId, Rect)> {
    let [left, middle, right] = columns(body, [26, 42, 32]);
    let [queues, kinds] = rows(left, [58, 42]);
    let [cycle, matrix, details] = rows(middle, [34, 33, 33]);
    let [nodes, waiting, agreement, log] = rows(right, [30, 14, 32, 24]);
    vec![
        (PaneId::Queues, queues),
        (PaneId::Cycle, cycle),
        (PaneId::Matrix, matrix),
        (PaneId::Waiting, waiting),
        (PaneId::Nodes, nodes),
        (PaneId::Details, details),
        (PaneId::Log, log),
        (PaneId::Agreement, agreement),
        (PaneId::Informers, kinds),
    ]
}

/// Cuts an area into columns by hundredths; the last one gets what is left.
fn columns<const N: usize>(area: Rect, shares: [u16; N]) -> [Rect; N] {
    let mut x = area.x;
    let mut n_left = N;
    shares.map(|share| {
        n_left -= 1;
        let width = if n_left == 0 { area.right() - x } else { portion(area.width, share) };
        let column = Rect { x, width, ..area };
        x += width;
        column
    })
}

/// Cuts an area into rows by hundredths; the last one gets what is left.
fn rows<const N: usize>(area: Rect, shares: [u16; N]) -> [Rect; N] {
    let mut y = area.y;
    let mut n_left = N;
    shares.map(|share| {
        n_left -= 1;
        let height = if n_left == 0 { area.bottom() - y } else { portion(area.height, share) };
        let row = Rect { y, height, ..area };
        y += height;
        row
    })
}

fn portion(whole: u16, share: u16) -> u16 {
    u16::try_from(u32::from(whole) * u32::from(share) / 100).unwrap_or(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Arrangement = Arrangement {
        focus: PaneId::Queues,
        is_zoomed: false,
        shared: PaneId::Matrix,
        beside: PaneId::Cycle,
        has_strip: false,
        is_live: false,
    };

    fn visible(width: u16, height: u16, arrangement: &Arrangement) -> Vec<PaneId> {
        match layout(Rect::new(0, 0, width, height), arrangement) {
            Layout::TooSmall => Vec::new(),
            Layout::Panes { panes, .. } => panes.into_iter().map(|(id, _)| id).collect(),
        }
    }

    #[test]
    fn a_large_screen_shows_everything_and_a_small_one_the_focused_pane() {
        assert_eq!(visible(200, 60, &START).len(), PaneId::of(false).len());
        let live = Arrangement { is_live: true, ..START };
        assert_eq!(visible(200, 60, &live).len(), PaneId::of(true).len());
        assert_eq!(
            visible(120, 36, &START),
            [PaneId::Queues, PaneId::Cycle, PaneId::Matrix, PaneId::Details]
        );
        let nodes = Arrangement { shared: PaneId::Nodes, ..START };
        assert!(visible(120, 36, &nodes).contains(&PaneId::Nodes));
        assert_eq!(visible(110, 30, &START), [PaneId::Queues, PaneId::Cycle]);
        assert_eq!(visible(80, 24, &START), [PaneId::Queues]);
        assert_eq!(visible(39, 24, &START), []);
        assert_eq!(visible(80, 9, &START), []);
    }

    #[test]
    fn zoom_gives_the_focused_pane_the_whole_screen() {
        let zoomed = Arrangement { focus: PaneId::Log, is_zoomed: true, ..START };
        assert_eq!(visible(200, 60, &zoomed), [PaneId::Log]);
    }

    #[test]
    fn at_every_size_panes_lie_inside_and_do_not_overlap() {
        for width in 0..=250 {
            for height in 0..=80 {
                for is_zoomed in [false, true] {
                    let area = Rect::new(0, 0, width, height);
                    let Layout::Panes { status, tabs, panes, footer } = layout(
                        area,
                        &Arrangement {
                            is_zoomed,
                            has_strip: width % 2 == 0,
                            is_live: width % 3 == 0,
                            ..START
                        },
                    ) else {
                        continue;
                    };
                    let mut all: Vec<Rect> = panes.iter().map(|(_, area)| *area).collect();
                    all.extend([status, footer]);
                    all.extend(tabs);
                    let covered: u32 = all.iter().map(|part| part.area()).sum();
                    assert_eq!(covered, area.area(), "{width}x{height}: a hole or an overlap");
                    assert!(all.iter().all(|part| area.intersection(*part) == *part));
                    assert!(
                        panes.iter().all(|(_, area)| area.width >= 4 && area.height >= 4),
                        "{width}x{height}"
                    );
                }
            }
        }
    }
}
