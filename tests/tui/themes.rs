//! Every pane and every overlay in every theme at 80x24, 120x36 and 200x60: what stands there is the same in all of them,
//! and how it looks is kept.
//!
//! A snapshot has a line for each style that is on a screen and how many cells have it: a style that is lost, or that
//! goes where it does not belong, changes a number.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use ratatui::buffer::{Buffer, Cell};
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier};

use schedscope::driver::session::SessionView;
use schedscope::driver::work::WorkView;
use schedscope::tui::keymap::Key;
use schedscope::tui::keymap::key::{Code, parse_chord};
use schedscope::tui::shell::Shell;
use schedscope::tui::theme::library::Themes;
use schedscope::tui::theme::{ColorDepth, MONO, Theme};

use super::console::shell;
use super::fixture::{self, Stage, scheduler};
use super::harness::{describe, text_plane};
use super::live_view::on_live;
use super::overlays;

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 60)];

/// All themes that are there without a file of a person's own.
fn themes() -> Vec<Theme> {
    let built_in = Themes::default();
    built_in.names().map(|name| built_in.load(name, ColorDepth::TrueColor).unwrap().0).collect()
}

/// What is shown: the session, a command line to type, and keys.
struct Scene {
    name: &'static str,
    session: SessionView,
    line: &'static str,
    keys: &'static str,
}

fn scenes() -> Vec<Scene> {
    let at = |stage| fixture::session(scheduler(stage));
    let scene = |name, session, line, keys| Scene { name, session, line, keys };
    let compared =
        SessionView { comparison: Some((1, Arc::new(overlays::comparison()))), ..overlays::view() };
    vec![
        scene("the start", at(Stage::Filtered), "", ""),
        scene("queues", at(Stage::Filtered), "", "1 z"),
        scene("cycle", at(Stage::Preempted), "", "2 z"),
        scene("matrix of verdicts", at(Stage::Filtered), "", "3 z"),
        scene("matrix of scores", at(Stage::Scored), "", "3 z"),
        scene("waiting", at(Stage::Bound), "", "4 z"),
        scene("nodes", at(Stage::Filtered), "", "5 z"),
        scene("packing", at(Stage::Filtered), "", "5 m m z"),
        scene("details of a pod", at(Stage::Preempted), "", "1 enter z"),
        scene("details of a cell", at(Stage::Scored), "", "3 enter z"),
        scene("log", at(Stage::Bound), "", "7 z"),
        scene("timeline", at(Stage::Bound), "", "8 z"),
        scene("a live cluster", on_live(at(Stage::Filtered), false, ""), "", ""),
        scene("an armed live cluster", on_live(at(Stage::Filtered), true, ""), "", ""),
        scene("agreement", on_live(at(Stage::Filtered), false, ""), "", "9 z"),
        scene("kinds", on_live(at(Stage::Filtered), true, ""), "", "K z"),
        scene("arming", on_live(at(Stage::Filtered), false, ""), "arm", ""),
        scene("a question", at(Stage::Filtered), "delete pod shop/search-1", ""),
        scene("branches", overlays::view(), "branches", ""),
        scene("breakpoints", overlays::view(), "breaks", ""),
        scene("two branches", compared, "", ""),
        scene("help", at(Stage::Filtered), "", "?"),
        scene("command line", at(Stage::Filtered), "", ":"),
        scene("finder", at(Stage::Filtered), "", "ctrl-p"),
        scene("a word", at(Stage::Filtered), "explain backoffQ", ""),
    ]
}

fn stage(scene: &Scene, theme: Theme) -> Shell {
    let mut shell = shell(scene.session.clone(), theme, false);
    // An overlay that a view brings comes with a newer view.
    if scene.session.comparison.is_some() {
        let before = SessionView { comparison: None, ..scene.session.clone() };
        shell.on_view(Arc::new(before));
        shell.on_view(Arc::new(scene.session.clone()));
    }
    draw(&mut shell, SIZES[1]);
    if !scene.line.is_empty() {
        press(&mut shell, ":");
        for c in scene.line.chars() {
            shell.on_key(Key::plain(Code::Char(c)));
        }
        press(&mut shell, "enter");
    }
    if !scene.keys.is_empty() {
        press(&mut shell, scene.keys);
    }
    shell
}

fn press(shell: &mut Shell, keys: &str) {
    for key in parse_chord(keys).unwrap() {
        shell.on_key(key);
        draw(shell, SIZES[1]);
    }
}

fn draw(shell: &mut Shell, (width, height): (u16, u16)) -> Buffer {
    let mut buf = Buffer::empty(Rect::new(0, 0, width, height));
    shell.draw(&mut buf);
    buf
}

/// The styles of what is seen, the most common first.
fn styles(buf: &Buffer) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for cell in buf.content().iter().filter(|cell| cell.symbol() != " ") {
        *counts.entry(describe(&cell.style())).or_default() += 1;
    }
    let mut all: Vec<_> = counts.into_iter().collect();
    all.sort_by_key(|(style, n)| (std::cmp::Reverse(*n), style.clone()));
    all.into_iter().fold(String::new(), |mut out, (style, n)| {
        writeln!(out, "  {n:>5} {style}").ok();
        out
    })
}

#[test]
fn every_pane_and_overlay_looks_as_it_did_in_every_theme_at_every_size() {
    let scenes = scenes();
    let mut texts: BTreeMap<(usize, usize), String> = BTreeMap::new();
    for theme in themes() {
        let name = theme.name().to_owned();
        let mut report = String::new();
        for (at, scene) in scenes.iter().enumerate() {
            let mut shell = stage(scene, theme.clone());
            for (which, size) in SIZES.into_iter().enumerate() {
                let buf = draw(&mut shell, size);
                writeln!(report, "{} {}x{}", scene.name, size.0, size.1).ok();
                report.push_str(&styles(&buf));
                let text = text_plane(&buf);
                let first = texts.entry((at, which)).or_insert_with(|| text.clone());
                assert_eq!(*first, text, "{}: a theme changes what stands there", scene.name);
            }
        }
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(format!("theme_{name}"), report);
        });
    }
    let text: String = texts
        .iter()
        .map(|((at, which), text)| {
            let (width, height) = SIZES[*which];
            format!("{} {width}x{height}\n{text}", scenes[*at].name)
        })
        .collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("screens", text);
    });
}

/// Relative luminance, as the accessibility guidelines of the W3C have it.
fn luminance(color: Color) -> Option<f64> {
    let Color::Rgb(r, g, b) = color else { return None };
    let part = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.03928 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    Some(0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b))
}

#[test]
fn whatever_is_read_has_enough_contrast_in_every_theme() {
    let is_read = |symbol: &str| symbol.chars().any(char::is_alphanumeric);
    for theme in themes().into_iter().filter(|theme| theme.name() != MONO) {
        let name = theme.name().to_owned();
        for scene in scenes() {
            let mut shell = stage(&scene, theme.clone());
            let buf = draw(&mut shell, (120, 36));
            for cell in buf.content().iter().filter(|cell| is_read(cell.symbol())) {
                let (fg, bg) = (luminance(cell.fg).unwrap(), luminance(cell.bg).unwrap());
                let (light, dark) = (fg.max(bg), fg.min(bg));
                let ratio = (light + 0.05) / (dark + 0.05);
                assert!(
                    ratio >= 3.0,
                    "{name}, {}: {:?} is {} with a contrast of {ratio:.2}",
                    scene.name,
                    cell.symbol(),
                    describe(&cell.style())
                );
            }
        }
    }
}

#[test]
fn without_colours_what_is_selected_and_where_the_focus_is_are_seen_all_the_same() {
    for scene in scenes() {
        let mut shell = stage(&scene, Theme::mono());
        for size in SIZES {
            let buf = draw(&mut shell, size);
            let marks =
                |modifier| buf.content().iter().filter(|cell| cell.modifier.contains(modifier)).count();
            let no_colour = |cell: &Cell| cell.fg == Color::Reset && cell.bg == Color::Reset;
            assert!(buf.content().iter().all(no_colour), "{}", scene.name);
            assert!(marks(Modifier::BOLD) > 0, "{}: nothing stands out", scene.name);
            assert!(marks(Modifier::REVERSED) > 0, "{}: nothing is selected", scene.name);
        }
    }
}

#[test]
fn every_theme_of_the_folder_is_built_in_and_looked_at() {
    let mut files: Vec<String> = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/themes"))
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .chain([MONO.to_owned()])
        .collect();
    files.sort();
    let mut looked_at: Vec<String> = themes().iter().map(|theme| theme.name().to_owned()).collect();
    looked_at.sort();
    assert_eq!(files, looked_at);
}

#[test]
fn what_is_under_way_is_seen_in_every_theme_at_every_size() {
    for theme in themes() {
        let name = theme.name().to_owned();
        let scene = scenes().swap_remove(0);
        let mut shell = stage(&scene, theme);
        shell.set_work(Some(WorkView { number: 1, what: "going to 62 %".into(), done: 1, total: 4 }));
        for size in SIZES {
            let text = text_plane(&draw(&mut shell, size));
            assert!(text.contains("25 %  esc stops it"), "{name}: {text}");
        }
    }
}
