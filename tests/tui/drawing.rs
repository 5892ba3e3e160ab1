//! Every pane and overlay at whatever size, in every theme and layout, with a cluster in which every word is hostile:
//! nothing panics, nothing stands outside of its area, and no character reaches a cell that would steer a terminal or
//! turn the direction of reading.

use std::sync::Arc;

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use schedscope::api::hidden::is_hidden;
use schedscope::api::{NamespacedName, Str};
use schedscope::config::FeatureGates;
use schedscope::driver::session::{Aside, SessionView};
use schedscope::driver::work::WorkView;
use schedscope::scheduler::SchedulerOptions;
use schedscope::scheduler::view::View;
use schedscope::tui::keymap::Key;
use schedscope::tui::keymap::key::{Code, parse_chord};
use schedscope::tui::panes::{CellKind, PaneId, Subject, set};
use schedscope::tui::shell::Shell;
use schedscope::tui::theme::load::BUILT_IN;
use schedscope::tui::theme::{ColorDepth, Theme};

use super::console::shell;
use super::fixture;
use super::harness::Screen;
use super::live_view::on_live;
use super::overlays;
use crate::support::test_plugins::Calls;
use crate::support::world::build;
use crate::terminal::hostile;

/// More of what names can be made of: wide, combining, read from the right, joined, and very long.
const NAMES: [&str; 6] = ["世界の果て", "e\u{301}\u{302}\u{303}\u{304}\u{305}", "שלום", "👩‍👩‍👧‍👦", "مرحبا", ""];

/// A hostile cluster before anything, in the middle of an attempt, after a few, and at rest.
fn views() -> Vec<View> {
    let mut manifest = hostile::manifest();
    for (i, name) in NAMES.iter().enumerate() {
        let long = "x".repeat(i * 40);
        manifest.push_str(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: \"{name}{long}{i}\", namespace: \"{name}ns\"}}\n\
             spec: {{containers: [{{name: c, image: i, resources: {{requests: {{cpu: '{i}'}}}}}}]}}\n---\n"
        ));
    }
    let options =
        SchedulerOptions { is_tracing: true, gates: FeatureGates::default(), ..SchedulerOptions::default() };
    let mut simulator = build(&manifest, None, &Calls::default(), options);
    let mut views = vec![View::default(), simulator.scheduler().view()];
    for _ in 0..3 {
        simulator.step_phase();
        views.push(simulator.scheduler().view());
    }
    for _ in 0..6 {
        simulator.step_cycle();
    }
    views.push(simulator.scheduler().view());
    for _ in 0..200 {
        if !simulator.step_cycle() {
            break;
        }
    }
    views.push(simulator.scheduler().view());
    views
}

#[track_caller]
fn assert_clean(buf: &Buffer, what: &str) {
    for cell in buf.content() {
        let symbol = cell.symbol();
        let is_misleading = |c: char| c.is_control() || (is_hidden(c) && c != '\u{200d}');
        assert!(!symbol.chars().any(is_misleading), "{what}: {symbol:?}");
    }
}

fn press(shell: &mut Shell, keys: &str) {
    for key in parse_chord(keys).unwrap() {
        shell.on_key(key);
    }
}

fn type_text(shell: &mut Shell, text: &str) {
    for c in text.chars() {
        shell.on_key(Key::plain(Code::Char(c)));
    }
}

/// Ways to whatever can lie over the panes, and to every state that a pane is drawn in.
const WAYS: [&str; 24] = [
    "",
    ":",
    "?",
    "ctrl-p",
    "ctrl-b",
    "x",
    "T",
    "a",
    "@",
    "ctrl-f",
    "/",
    "L",
    "L L",
    "z",
    "enter",
    "enter l",
    "m",
    "m m",
    "S",
    "{",
    "}",
    "g",
    "d m",
    "alt-right alt-down",
];

fn draw(shell: &mut Shell, (width, height): (u16, u16), what: &str) {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    shell.draw(&mut buf);
    assert_clean(&buf, what);
}

#[test]
fn every_way_in_every_pane_is_clean_at_common_sizes() {
    let views = views();
    let view = views.last().unwrap();
    for (i, pane) in "12345678".chars().enumerate() {
        // Every pane in every second way, each way in every second pane.
        for way in WAYS.into_iter().skip(i % 2).step_by(2) {
            let mut shell = shell(fixture::session(view.clone()), Theme::dark(ColorDepth::TrueColor), false);
            draw(&mut shell, (120, 36), way);
            press(&mut shell, &pane.to_string());
            draw(&mut shell, (120, 36), way);
            for key in parse_chord(if way.is_empty() { "esc" } else { way }).unwrap() {
                shell.on_key(key);
                draw(&mut shell, (120, 36), way);
            }
            type_text(&mut shell, "e");
            for size in [(80, 24), (200, 60), (120, 36)] {
                draw(&mut shell, size, way);
            }
        }
    }
}

#[test]
fn every_small_size_is_drawn_with_every_pane_and_with_something_over_it() {
    let views = views();
    let view = views.last().unwrap();
    for (pane, way) in "12345678".chars().zip(["", "?", ":", "ctrl-p", "x", "L", "/", "L L"]) {
        let mut shell = shell(fixture::session(view.clone()), Theme::dark(ColorDepth::Ansi256), false);
        draw(&mut shell, (80, 24), way);
        press(&mut shell, &pane.to_string());
        if !way.is_empty() {
            press(&mut shell, way);
        }
        for width in 0..=46 {
            for height in 0..=14 {
                draw(&mut shell, (width, height), way);
            }
        }
    }
}

#[test]
fn every_theme_draws_every_pane() {
    let views = views();
    for name in BUILT_IN {
        for depth in [ColorDepth::TrueColor, ColorDepth::Ansi256, ColorDepth::Ansi16, ColorDepth::None] {
            let theme = Theme::built_in(name, depth).unwrap();
            let mut shell = shell(fixture::session(views[4].clone()), theme, depth == ColorDepth::None);
            for keys in ["1", "2", "3", "4", "5", "6", "7", "8", "?"] {
                press(&mut shell, keys);
                draw(&mut shell, (200, 60), name);
            }
        }
    }
}

/// What steers a terminal or turns the direction of reading, at the end of every name of a live view.
const HOSTILE: &str = "\u{202e}\x1b[31m世界";

/// Command lines that open a page or an overlay.
const LINES: [&str; 18] = [
    "arm",
    "arm anyway",
    "confirm on",
    "branches",
    "compare 0 1",
    "breaks",
    "delete pod a/b",
    "delete node n",
    "open pvc a/b",
    "open sc fast",
    "open pdb a/b",
    "open podgroup a/b",
    "open profile default-scheduler",
    "internals",
    "why a/b",
    "plugin NodeResourcesFit",
    "explain backoffQ",
    "nonsense",
];

/// Everything that can be selected, of things that are there and that are not.
fn subjects(view: &View) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = vec![Subject::Attempt(1), Subject::Attempt(99)];
    subjects.extend(schedscope::scheduler::trace::Phase::ALL.map(Subject::Phase));
    subjects.extend(view.unschedulable_pods.iter().take(20).map(|row| Subject::Pod(row.pod.key())));
    subjects.push(Subject::Pod(NamespacedName::new("gone\u{202e}", "\x1b[2J")));
    for node in view.nodes.iter().take(2) {
        subjects.push(Subject::Node(node.name().clone()));
        for kind in [CellKind::Filter, CellKind::Score] {
            for plugin in schedscope::config::plugin_names::ALL {
                let plugin = Str::from(*plugin);
                subjects.push(Subject::Cell { node: node.name().clone(), plugin, kind });
            }
        }
    }
    subjects.extend(view.events.iter().take(12).map(|event| Subject::Event(Box::new(event.clone()))));
    subjects
}

#[test]
fn the_details_of_everything_are_clean() {
    for view in views().into_iter().rev().step_by(3) {
        let subjects = subjects(&view);
        let mut shell = shell(fixture::session(view), Theme::dark(ColorDepth::TrueColor), false);
        press(&mut shell, "6 z");
        for subject in subjects {
            shell.select(subject.clone());
            draw(&mut shell, (70, 30), &format!("{subject:?}"));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn at_any_size_nothing_hostile_is_drawn(
        sizes in proptest::collection::vec((0u16..=250, 0u16..=80), 1..4),
        ways in proptest::collection::vec(0..WAYS.len(), 1..4),
        pane in 1u8..=8,
        theme in 0..BUILT_IN.len(),
        at in 0usize..7,
        is_ascii: bool,
        typed in "\\PC{0,6}",
    ) {
        thread_local!(static VIEWS: Arc<Vec<View>> = Arc::new(views()));
        let view = VIEWS.with(|views| views[at % views.len()].clone());
        let theme = Theme::built_in(BUILT_IN[theme], ColorDepth::TrueColor).unwrap();
        let mut shell = shell(fixture::session(view), theme, is_ascii);
        press(&mut shell, &pane.to_string());
        for way in ways {
            draw(&mut shell, sizes[0], WAYS[way]);
            if !WAYS[way].is_empty() {
                press(&mut shell, WAYS[way]);
            }
            type_text(&mut shell, &typed);
            for size in &sizes {
                draw(&mut shell, *size, WAYS[way]);
            }
        }
    }

    #[test]
    fn at_any_size_live_views_branches_pages_and_questions_are_clean(
        sizes in proptest::collection::vec((0u16..=250, 0u16..=80), 1..4),
        lines in proptest::collection::vec(0..LINES.len(), 1..3),
        pane in 0usize..10,
        theme in 0..BUILT_IN.len(),
        at in 0usize..7,
        is_ascii: bool,
        kind in 0usize..4,
        work in 0u64..3,
    ) {
        thread_local!(static VIEWS: Arc<Vec<View>> = Arc::new(views()));
        let view = fixture::session(VIEWS.with(|views| views[at % views.len()].clone()));
        let branched = SessionView {
            comparison: Some((1, Arc::new(overlays::comparison()))),
            ..overlays::view()
        };
        let session = match kind {
            0 => on_live(view, false, HOSTILE),
            1 => on_live(view, true, HOSTILE),
            2 => SessionView { scheduler: view.scheduler, ..branched },
            _ => SessionView { aside: Some(Aside::Fork), ..on_live(view, true, HOSTILE) },
        };
        let theme = Theme::built_in(BUILT_IN[theme], ColorDepth::TrueColor).unwrap();
        let mut shell = shell(session, theme, is_ascii);
        if work > 0 {
            let what = Str::from(format!("going to {HOSTILE}").as_str());
            shell.set_work(Some(WorkView { number: 1, what, done: work, total: 2 * (work - 1) }));
        }
        press(&mut shell, ["1", "2", "3", "4", "5", "6", "7", "8", "9", "K"][pane]);
        for line in lines {
            draw(&mut shell, sizes[0], LINES[line]);
            press(&mut shell, ":");
            type_text(&mut shell, LINES[line]);
            press(&mut shell, "enter");
            for size in &sizes {
                draw(&mut shell, *size, LINES[line]);
            }
        }
    }

    #[test]
    fn a_pane_stays_inside_of_its_area(width in 0u16..=250, height in 0u16..=80, at in 0usize..7) {
        thread_local!(static VIEWS: Arc<Vec<View>> = Arc::new(views()));
        let view = VIEWS.with(|views| views[at % views.len()].clone());
        for (id, pane) in PaneId::ALL.into_iter().zip(set::all()) {
            let mut screen = Screen::boxed(pane, view.clone(), width, height);
            screen.selected = view.nodes.first().map(|node| Subject::Node(node.name().clone()));
            prop_assert!(screen.stays_inside(), "{id:?} at {width}x{height}");
        }
    }
}
