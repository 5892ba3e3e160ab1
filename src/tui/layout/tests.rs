//! Sizes, presets and moved borders.

use super::*;

const START: Arrangement = Arrangement::START;

fn visible(width: u16, height: u16, arrangement: &Arrangement) -> Vec<PaneId> {
    match layout(Rect::new(0, 0, width, height), arrangement) {
        Layout::TooSmall => Vec::new(),
        Layout::Panes { panes, .. } => panes.into_iter().map(|place| place.pane).collect(),
    }
}

#[test]
fn a_large_screen_shows_everything_and_a_small_one_the_focused_pane() {
    assert_eq!(visible(200, 60, &START).len(), PaneId::of(false).len());
    let live = Arrangement { is_live: true, ..START };
    assert_eq!(visible(200, 60, &live).len(), PaneId::of(true).len());
    assert_eq!(visible(120, 36, &START), [PaneId::Queues, PaneId::Cycle, PaneId::Matrix, PaneId::Details]);
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
fn teaching_shows_the_attempt_and_one_more_and_debugging_four() {
    let teach = Arrangement { preset: Preset::Teach, ..START };
    assert_eq!(visible(200, 60, &teach), [PaneId::Cycle, PaneId::Matrix]);
    assert_eq!(visible(80, 24, &teach), [PaneId::Cycle, PaneId::Matrix]);
    assert_eq!(visible(80, 12, &teach), [PaneId::Queues]);
    let mut details = teach;
    details.focus_on(PaneId::Details);
    assert_eq!(visible(120, 36, &details), [PaneId::Cycle, PaneId::Details]);
    let debug = Arrangement { preset: Preset::Debug, ..START };
    assert_eq!(visible(120, 36, &debug), [PaneId::Cycle, PaneId::Matrix, PaneId::Details, PaneId::Log]);
    assert_eq!(visible(80, 24, &debug), [PaneId::Queues]);
}

/// Every preset with the focus on each pane, zoomed or not, live or not, with or without the strip.
fn arrangements() -> Vec<Arrangement> {
    let mut all = Vec::new();
    for preset in Preset::ALL {
        for is_live in [false, true] {
            for pane in PaneId::of(is_live) {
                let mut arrangement = Arrangement { preset, is_live, ..START };
                arrangement.focus_on(*pane);
                for (is_zoomed, has_strip) in [(false, false), (true, false), (false, true)] {
                    all.push(Arrangement { is_zoomed, has_strip, ..arrangement });
                }
            }
        }
    }
    all
}

/// What must be true of every layout.
fn check(width: u16, height: u16, arrangement: &Arrangement) {
    let area = Rect::new(0, 0, width, height);
    let Layout::Panes { status, tabs, panes, footer } = layout(area, arrangement) else {
        assert!(width < MIN_WIDTH || height < MIN_HEIGHT);
        return;
    };
    let mut all: Vec<Rect> = panes.iter().map(|place| place.area).collect();
    all.extend([status, footer]);
    all.extend(tabs);
    let covered: u32 = all.iter().map(|part| part.area()).sum();
    assert_eq!(covered, area.area(), "{width}x{height} {arrangement:?}: a hole or an overlap");
    for (i, part) in all.iter().enumerate() {
        assert_eq!(area.intersection(*part), *part);
        assert!(all[i + 1..].iter().all(|other| !part.intersects(*other)), "{width}x{height}: an overlap");
    }
    for place in &panes {
        assert!(place.area.width >= 4 && place.area.height >= 4, "{width}x{height} {arrangement:?}");
        assert_eq!(panes.iter().filter(|other| other.pane == place.pane).count(), 1, "{arrangement:?}");
    }
    assert!(panes.iter().any(|place| place.pane == arrangement.focus), "{width}x{height} {arrangement:?}");
}

#[test]
fn at_every_size_panes_lie_inside_do_not_overlap_and_leave_no_hole() {
    for arrangement in arrangements() {
        for width in (0..=250).step_by(if arrangement.is_live { 5 } else { 1 }) {
            for height in 0..=80 {
                check(width, height, &arrangement);
            }
        }
    }
}

#[test]
fn the_same_is_true_however_the_borders_were_moved() {
    let mut rng = crate::api::rng::Rng::new(7);
    let mut random = |n: usize| rng.below(n);
    for _ in 0..20_000 {
        let all = arrangements();
        let mut arrangement = all[random(all.len())];
        for pane in PaneId::ALL {
            let mut delta = || i8::try_from(i64::try_from(random(161)).unwrap() - 80).unwrap();
            let (width, height) = (delta(), delta());
            arrangement.splits.set(pane, width, height);
        }
        let (width, height) = (random(251), random(81));
        check(u16::try_from(width).unwrap(), u16::try_from(height).unwrap(), &arrangement);
    }
}

#[test]
fn a_border_moves_by_what_it_is_moved_by() {
    let area = Rect::new(0, 0, 120, 36);
    let places = |arrangement: &Arrangement| match layout(area, arrangement) {
        Layout::Panes { panes, .. } => panes,
        Layout::TooSmall => Vec::new(),
    };
    let mut moved = START;
    let before = places(&moved);
    assert!(moved.splits.grow(&before, PaneId::Queues, Axis::Width, 10));
    let after = places(&moved);
    assert_eq!(after[0].area.width, before[0].area.width + 12);
    // The last one grows against the one before it.
    assert!(moved.splits.grow(&after, PaneId::Details, Axis::Height, 10));
    let last = places(&moved);
    assert!(last[3].area.height > after[3].area.height);
    assert!(!moved.splits.grow(&last, PaneId::Queues, Axis::Height, 10), "it has no neighbour there");
    let (first, second, axis) = splits::border_at(&before, before[0].area.right(), 10).unwrap();
    assert_eq!((first.pane, second.pane, axis), (PaneId::Queues, PaneId::Cycle, Axis::Width));
}
