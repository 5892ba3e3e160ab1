//! Which pane stands where: a pure function of the size and of what has the focus.
//!
//! It knows nothing of what the panes show. At every size at least 40 columns by 10 rows something useful is
//! visible; below that one line says what is needed.

use ratatui::layout::Rect;

use super::panes::PaneId;

mod saved;
mod splits;

pub use saved::SavedLayout;
pub use splits::{Axis, Splits, border_at};

use splits::{columns, rows};

/// The least size that the console works in.
pub const MIN_WIDTH: u16 = 40;
/// See [`MIN_WIDTH`].
pub const MIN_HEIGHT: u16 = 10;

/// Which panes stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// As many panes as there is room for.
    #[default]
    Operate,
    /// The attempt and one more, large: for a projector.
    Teach,
    /// The attempt, the matrix, the details, and what happened: for one's own plugin.
    Debug,
}

impl Preset {
    /// Every preset.
    pub const ALL: [Self; 3] = [Self::Operate, Self::Teach, Self::Debug];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operate => "operate",
            Self::Teach => "teach",
            Self::Debug => "debug",
        }
    }

    /// What it is for.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Operate => "As many panes as there is room for",
            Self::Teach => "The attempt and one more pane, large",
            Self::Debug => "The attempt, the matrix, the details, and what happened",
        }
    }

    /// The preset of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.as_str() == name)
    }

    /// The one after it.
    pub fn next(self) -> Self {
        match self {
            Self::Operate => Self::Teach,
            Self::Teach => Self::Debug,
            Self::Debug => Self::Operate,
        }
    }
}

/// What the layout depends on besides the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrangement {
    /// Which panes stand together.
    pub preset: Preset,
    /// How much larger or smaller than by default panes are.
    pub splits: Splits,
    /// The pane that has the focus.
    pub focus: PaneId,
    /// Whether it has the whole screen.
    pub is_zoomed: bool,
    /// Which of [`SHARED`] had the focus last: it is shown where there is room for one of them.
    pub shared: PaneId,
    /// Which pane other than the queues had the focus last: it stands beside them where there are two columns.
    pub beside: PaneId,
    /// Which pane other than the attempt had the focus last: it stands beside it in [`Preset::Teach`].
    pub taught: PaneId,
    /// Which pane had the focus last of those that have no place of their own in [`Preset::Debug`].
    pub extra: PaneId,
    /// Whether the timeline stands below the grid of medium size; below the large one it always does.
    pub has_strip: bool,
    /// Whether the panes about a live cluster are there.
    pub is_live: bool,
}

impl Arrangement {
    /// How the console begins.
    pub const START: Self = Self {
        preset: Preset::Operate,
        splits: Splits::NONE,
        focus: PaneId::Queues,
        is_zoomed: false,
        shared: PaneId::Matrix,
        beside: PaneId::Cycle,
        taught: PaneId::Matrix,
        extra: PaneId::Log,
        has_strip: false,
        is_live: false,
    };

    /// Gives a pane the focus, and with it a place.
    pub fn focus_on(&mut self, id: PaneId) {
        self.focus = id;
        if SHARED.contains(&id) {
            self.shared = id;
        }
        if id != PaneId::Queues {
            self.beside = id;
        }
        if id != PaneId::Cycle {
            self.taught = id;
        }
        if !matches!(id, PaneId::Cycle | PaneId::Matrix | PaneId::Details) {
            self.extra = id;
        }
    }
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

/// A place on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The pane that is shown there.
    pub pane: PaneId,
    /// The pane that it is the place of by default, under which its size is kept.
    pub slot: PaneId,
    /// Where it is.
    pub area: Rect,
}

impl Place {
    const fn of(pane: PaneId, area: Rect) -> Self {
        Self { pane, slot: pane, area }
    }
}

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
        panes: Vec<Place>,
        /// The line at the bottom.
        footer: Rect,
    },
}

/// The layout for an area.
pub fn layout(area: Rect, arrangement: &Arrangement) -> Layout {
    if area.width < MIN_WIDTH || area.height < MIN_HEIGHT {
        return Layout::TooSmall;
    }
    let status = Rect { height: 1, ..area };
    let footer = Rect { y: area.bottom() - 1, height: 1, ..area };
    let body = Rect { y: area.y + 1, height: area.height - 2, ..area };
    let shape = if arrangement.is_zoomed { Shape::One } else { Shape::of(area, arrangement.preset) };
    let has_tabs = !matches!(shape, Shape::Grid | Shape::Wide);
    let tabs = has_tabs.then_some(Rect { height: 1, ..body });
    let body = if has_tabs { Rect { y: body.y + 1, height: body.height - 1, ..body } } else { body };
    let splits = &arrangement.splits;
    let panes = match shape {
        Shape::One => vec![Place::of(arrangement.focus, body)],
        Shape::Two => {
            let [left, right] = columns(body, [(38, &[PaneId::Queues]), (62, &[PaneId::Cycle])], splits);
            let beside = Place { slot: PaneId::Cycle, ..Place::of(arrangement.beside, right) };
            vec![Place::of(PaneId::Queues, left), beside]
        }
        Shape::Grid if arrangement.has_strip => {
            let shared =
                if arrangement.shared == PaneId::Timeline { PaneId::Matrix } else { arrangement.shared };
            with_strip(body, splits, |body| grid(body, shared, splits))
        }
        Shape::Grid => grid(body, arrangement.shared, splits),
        Shape::Wide if arrangement.is_live => with_strip(body, splits, |body| wide_live(body, splits)),
        Shape::Wide => with_strip(body, splits, |body| wide(body, splits)),
        Shape::Halves { is_stacked } => {
            let shares = [(50, PaneId::Cycle), (50, PaneId::Matrix)];
            let [first, second] = if is_stacked {
                rows(body, shares, splits)
            } else {
                columns(body, [(50, &[PaneId::Cycle]), (50, &[PaneId::Matrix])], splits)
            };
            let taught = Place { slot: PaneId::Matrix, ..Place::of(arrangement.taught, second) };
            vec![Place::of(PaneId::Cycle, first), taught]
        }
        Shape::Quarters => quarters(body, arrangement.extra, splits),
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
    /// The attempt and another one, beside or below it, and tabs.
    Halves { is_stacked: bool },
    /// The attempt, the matrix, the details and another one, and tabs.
    Quarters,
}

impl Shape {
    const fn of(area: Rect, preset: Preset) -> Self {
        match (preset, area.width, area.height) {
            (Preset::Teach, 110.., 16..) => Self::Halves { is_stacked: false },
            (Preset::Teach, _, 18..) => Self::Halves { is_stacked: true },
            (Preset::Teach, ..) => Self::One,
            (Preset::Debug, 110.., 24..) => Self::Quarters,
            (Preset::Operate, 170.., 40..) => Self::Wide,
            (Preset::Operate, 120.., 30..) => Self::Grid,
            (Preset::Operate | Preset::Debug, 100.., 18..) => Self::Two,
            _ => Self::One,
        }
    }
}

/// The timeline below the rest.
fn with_strip(body: Rect, splits: &Splits, rest: impl FnOnce(Rect) -> Vec<Place>) -> Vec<Place> {
    let height = splits.strip(body.height);
    let strip = Rect { y: body.bottom() - height, height, ..body };
    let mut panes = rest(Rect { height: body.height - height, ..body });
    panes.push(Place::of(PaneId::Timeline, strip));
    panes
}

fn grid(body: Rect, shared: PaneId, splits: &Splits) -> Vec<Place> {
    use PaneId::{Cycle, Details, Matrix, Queues};
    let [queues, right] = columns(body, [(37, &[Queues]), (63, &[Cycle, Matrix, Details])], splits);
    let [cycle, middle, details] = rows(right, [(37, Cycle), (34, Matrix), (29, Details)], splits);
    vec![
        Place::of(Queues, queues),
        Place::of(Cycle, cycle),
        Place { slot: Matrix, ..Place::of(shared, middle) },
        Place::of(Details, details),
    ]
}

fn quarters(body: Rect, extra: PaneId, splits: &Splits) -> Vec<Place> {
    use PaneId::{Cycle, Details, Log, Matrix};
    let [left, right] = columns(body, [(48, &[Cycle, Log]), (52, &[Matrix, Details])], splits);
    let [cycle, below] = rows(left, [(60, Cycle), (40, Log)], splits);
    let [matrix, details] = rows(right, [(50, Matrix), (50, Details)], splits);
    vec![
        Place::of(Cycle, cycle),
        Place::of(Matrix, matrix),
        Place::of(Details, details),
        Place { slot: Log, ..Place::of(extra, below) },
    ]
}

fn wide(body: Rect, splits: &Splits) -> Vec<Place> {
    use PaneId::{Cycle, Details, Log, Matrix, Nodes, Queues, Waiting};
    let shares: [(i32, &[PaneId]); 3] =
        [(26, &[Queues]), (42, &[Cycle, Matrix, Details]), (32, &[Nodes, Waiting, Log])];
    let [left, middle, right] = columns(body, shares, splits);
    let mut places = stack(left, [(100, Queues)], splits).to_vec();
    places.extend(stack(middle, [(34, Cycle), (33, Matrix), (33, Details)], splits));
    places.extend(stack(right, [(50, Nodes), (16, Waiting), (34, Log)], splits));
    places
}

/// The same with the panes about the cluster.
fn wide_live(body: Rect, splits: &Splits) -> Vec<Place> {
    use PaneId::{Agreement, Cycle, Details, Informers, Log, Matrix, Nodes, Queues, Waiting};
    let shares: [(i32, &[PaneId]); 3] = [
        (26, &[Queues, Informers]),
        (42, &[Cycle, Matrix, Details]),
        (32, &[Nodes, Waiting, Agreement, Log]),
    ];
    let [left, middle, right] = columns(body, shares, splits);
    let mut places = stack(left, [(58, Queues), (42, Informers)], splits).to_vec();
    places.extend(stack(middle, [(34, Cycle), (33, Matrix), (33, Details)], splits));
    places.extend(stack(right, [(30, Nodes), (14, Waiting), (32, Agreement), (24, Log)], splits));
    places
}

/// Panes one below the other.
fn stack<const N: usize>(area: Rect, shares: [(i32, PaneId); N], splits: &Splits) -> [Place; N] {
    let mut areas = rows(area, shares, splits).into_iter();
    shares.map(|(_, pane)| Place::of(pane, areas.next().unwrap_or_default()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a pane without a place is a failure of the test")]
mod tests;
