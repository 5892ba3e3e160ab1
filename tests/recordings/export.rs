//! Films, pictures and reports of recordings: formats as their readers want them, and the same bytes each time.

use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use serde_json::Value;

use schedscope::api::Duration;
use schedscope::driver::playback::{Outline, Position};
use schedscope::driver::recorder::RecorderOptions;
use schedscope::driver::runner::run_to_rest;
use schedscope::driver::sandbox::sample;
use schedscope::plugins::registry::in_tree_registry;
use schedscope::recording::Compression;
use schedscope::tui::export::cast::{CastOptions, CastVersion, cast};
use schedscope::tui::export::markdown::{MarkdownOptions, markdown};
use schedscope::tui::export::picture::PictureOptions;
use schedscope::tui::export::svg::svg;
use schedscope::tui::export::{ExportError, Range, ansi};
use schedscope::tui::theme::{ColorDepth, Theme};

use super::session::{Session, recorded};

const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

fn picture() -> PictureOptions {
    PictureOptions {
        columns: COLUMNS,
        rows: ROWS,
        theme: Theme::dark(ColorDepth::TrueColor),
        is_ascii: false,
        keys: Vec::new(),
    }
}

/// The sample, scheduled, with a marker and a note after three attempts.
fn sample_recording() -> Vec<u8> {
    let (mut simulator, recorder, memory) = recorded(&sample::source().text, RecorderOptions::default());
    for _ in 0..3 {
        simulator.step_cycle();
    }
    simulator.mark("here");
    simulator.note("look | at <this>");
    run_to_rest(&mut simulator);
    simulator.finish_recording("at rest");
    recorder.finish().unwrap();
    memory.bytes()
}

fn film(bytes: &[u8], version: CastVersion, range: Range) -> Result<String, ExportError> {
    let options = CastOptions {
        picture: picture(),
        range,
        version,
        speed: 1,
        frame_min: Duration::from_millis(500),
        frame_max: Duration::from_secs(2),
    };
    let outline = Outline::read(bytes).unwrap();
    let mut out = Vec::new();
    cast(&outline, bytes, &in_tree_registry(), &options, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

/// Header and events.
fn parsed(film: &str) -> (Value, Vec<(f64, String, String)>) {
    let mut lines = film.lines();
    let header = serde_json::from_str(lines.next().unwrap()).unwrap();
    let events = lines.map(|line| {
        let event: (f64, String, String) = serde_json::from_str(line).unwrap();
        event
    });
    (header, events.collect())
}

fn terminal() -> vt100::Parser {
    let size = |length| std::num::NonZero::new(length).unwrap();
    vt100::Parser::new(size(ROWS), size(COLUMNS), 0)
}

#[test]
fn a_film_is_an_asciicast_of_either_version_with_the_same_pictures_at_the_same_times() {
    let recording = sample_recording();
    let (header, events) = parsed(&film(&recording, CastVersion::V3, Range::default()).unwrap());
    assert_eq!(header["version"], 3);
    assert_eq!(header["term"]["cols"], u64::from(COLUMNS));
    assert_eq!(header["term"]["rows"], u64::from(ROWS));
    assert_eq!(header["timestamp"], 1_767_225_600);
    assert_eq!(header["term"]["theme"]["palette"].as_str().unwrap().split(':').count(), 16);
    let (old_header, old_events) = parsed(&film(&recording, CastVersion::V2, Range::default()).unwrap());
    assert_eq!((&old_header["version"], &old_header["width"]), (&Value::from(2), &Value::from(COLUMNS)));
    // Intervals there, times since the beginning here; the exit status is of version 3 alone.
    let mut at = 0.0;
    assert_eq!(events.len(), old_events.len() + 1);
    assert_eq!(events.last().map(|(_, code, data)| (code.as_str(), data.as_str())), Some(("x", "0")));
    for ((interval, code, data), (time, old_code, old_data)) in events.iter().zip(&old_events) {
        assert!(*interval >= 0.0);
        at += interval;
        assert!((at - time).abs() < 1e-6, "{at} and {time}");
        assert_eq!((code, data), (old_code, old_data));
        assert!(["o", "m"].contains(&code.as_str()));
    }
    assert!(at > 1.0, "it takes its time");
}

#[test]
fn a_film_has_a_marker_at_each_attempt_and_at_what_was_said() {
    let recording = sample_recording();
    let (_, events) = parsed(&film(&recording, CastVersion::V3, Range::default()).unwrap());
    let markers: Vec<&str> =
        events.iter().filter(|(_, code, _)| code == "m").map(|(_, _, label)| label.as_str()).collect();
    assert!(markers.contains(&"marker: here") && markers.contains(&"note: look | at <this>"), "{markers:?}");
    let attempts: Vec<u64> = markers
        .iter()
        .filter_map(|label| label.strip_prefix("cycle ")?.split_once(':')?.0.parse().ok())
        .collect();
    assert!(attempts.len() > 10 && attempts.is_sorted(), "{attempts:?}");
    assert_eq!(attempts.first(), Some(&1));
    assert!(markers.iter().any(|label| label.contains(" bound to ")), "{markers:?}");
}

#[test]
fn a_film_that_is_played_shows_the_console() {
    let recording = sample_recording();
    let (_, events) = parsed(&film(&recording, CastVersion::V3, Range::default()).unwrap());
    let mut terminal = terminal();
    let n_output = events.iter().filter(|(_, code, _)| code == "o").count();
    let mut n_played = 0;
    for (_, _, data) in events.iter().filter(|(_, code, _)| code == "o") {
        n_played += 1;
        if n_played == n_output {
            break;
        }
        terminal.process(data.as_bytes());
        let screen = terminal.screen();
        assert!(screen.alternate_screen() && screen.hide_cursor());
        if n_played > 1 {
            assert!(screen.contents().contains("schedscope"), "{}", screen.contents());
        }
    }
    let last = terminal.screen().contents();
    assert!(last.contains("activeQ") && last.contains("unschedulable"), "{last}");
    let (_, _, end) = events.iter().rfind(|(_, code, _)| code == "o").unwrap();
    terminal.process(end.as_bytes());
    assert!(!terminal.screen().alternate_screen() && !terminal.screen().hide_cursor());
}

#[test]
fn the_same_recording_gives_the_same_film_compressed_or_not() {
    let recording = sample_recording();
    let one = film(&recording, CastVersion::V3, Range::default()).unwrap();
    assert!(one == film(&recording, CastVersion::V3, Range::default()).unwrap());
}

#[test]
fn a_range_begins_and_ends_where_it_should_and_what_is_not_there_is_told() {
    let recording = sample_recording();
    let range = |from, to| film(&recording, CastVersion::V3, Range { from, to });
    let markers = |film: String| {
        let (_, events) = parsed(&film);
        events.into_iter().filter(|(_, code, _)| code == "m").map(|(_, _, label)| label).collect::<Vec<_>>()
    };
    let some = markers(range(Position::Cycle(2), Position::Cycle(5)).unwrap());
    let is_cycle = |label: &&String| label.starts_with("cycle ");
    assert_eq!(some.iter().filter(is_cycle).count(), 3, "{some:?}");
    assert!(some.iter().any(|label| label.starts_with("cycle 5: ")), "{some:?}");
    let error = |from, to| range(from, to).unwrap_err().to_string();
    let nowhere = Position::Marker("nowhere".to_owned());
    assert_eq!(
        error(Position::Start, nowhere),
        "the recording has no marker \"nowhere\": its markers are here"
    );
    assert!(error(Position::Cycle(1_000_000), Position::End).contains("has no cycle 1000000: it has "));
    assert_eq!(error(Position::End, Position::Start), "start is not behind end");
    assert!(range(Position::Marker("here".to_owned()), Position::End).is_ok());
}

#[test]
fn a_recording_that_goes_back_is_shown_as_it_ended() {
    for seed in 0..3 {
        let mut session = Session::new(seed, Compression::Zstd);
        session.run(300);
        let bytes = session.finish();
        assert!(film(&bytes, CastVersion::V3, Range::default()).is_ok());
    }
}

/// The tags of a document that is well-formed, as far as these pictures go.
fn tags(xml: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let mut rest = xml;
    while let Some(at) = rest.find('<') {
        let text = &rest[..at];
        for entity in text.split('&').skip(1) {
            let name = entity.split(';').next().unwrap();
            assert!(["amp", "lt", "gt", "quot"].contains(&name), "{name}");
        }
        assert!(!text.contains('>'));
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert!(!tag.contains('<'));
        match tag.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop().as_deref(), Some(name)),
            None if tag.ends_with('/') => {}
            None => open.push(tag.split_whitespace().next().unwrap().to_owned()),
        }
        tags.push(tag.to_owned());
        rest = &rest[end + 1..];
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    tags
}

#[test]
fn a_picture_is_well_formed_and_shows_the_moment_that_was_asked_for() {
    let recording = sample_recording();
    let outline = Outline::read(&recording[..]).unwrap();
    let show = |at: &Position, theme: Theme| {
        let options = PictureOptions { theme, ..picture() };
        svg(&outline, &recording[..], &in_tree_registry(), at, &options).unwrap()
    };
    let dark = || Theme::dark(ColorDepth::TrueColor);
    let start = show(&Position::Start, dark());
    let third = show(&Position::Cycle(3), dark());
    let light = show(&Position::Cycle(3), Theme::light(ColorDepth::TrueColor));
    for xml in [&start, &third, &light] {
        let tags = tags(xml);
        assert!(tags.iter().filter(|tag| tag.starts_with("text ")).count() > 50);
        assert!(tags[0].contains("width=\"918\" height=\"558\""), "{}", tags[0]);
    }
    assert!(start != third && third != light);
    assert!(light.contains("fill=\"#fbfaf7\""), "the ground of the light theme");
    assert!(third == show(&Position::Cycle(3), dark()));
    // At the marker the same has been decided, and its name is shown.
    assert!(show(&Position::Marker("here".to_owned()), dark()).contains("marker"));
    let nowhere =
        svg(&outline, &recording[..], &in_tree_registry(), &Position::Input(10_000_000), &picture());
    assert!(nowhere.is_err());
}

fn report(bytes: &[u8], nodes_max: usize, range: Range) -> String {
    let outline = Outline::read(bytes).unwrap();
    let mut out = Vec::new();
    let options = MarkdownOptions { range, nodes_max };
    markdown(&outline, bytes, &in_tree_registry(), &options, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_report_has_verdicts_scores_and_outcome_of_each_attempt_and_what_was_said() {
    let recording = sample_recording();
    let text = report(&recording, 20, Range::default());
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## Cycle ")).collect();
    for (index, heading) in headings.iter().enumerate() {
        assert!(heading.starts_with(&format!("## Cycle {}: ", index + 1)), "{heading}");
    }
    assert!(headings.len() > 10);
    assert!(headings.iter().any(|heading| heading.contains(", bound to ")));
    assert!(headings.iter().any(|heading| heading.contains(", unschedulable")));
    assert!(text.contains("> **Marker here** at ") && text.contains("> look \\| at \\<this\\>\n"));
    assert!(text.contains("NodeResourcesFit") && text.contains("Insufficient"));
    let (before, after) = text.split_once("> **Marker here**").unwrap();
    assert!(
        before.contains("## Cycle 3: ") && !before.contains("## Cycle 4: ") && after.contains("## Cycle 4: ")
    );
    // Every table has as many cells in each row as in its header.
    let mut cells = None;
    for line in text.lines() {
        let n = line.replace("\\|", "").matches('|').count();
        if !line.starts_with('|') {
            cells = None;
            continue;
        }
        assert_eq!(*cells.get_or_insert(n), n, "{line}");
    }
}

#[test]
fn the_totals_of_a_report_are_the_sums_of_its_rows() {
    let text = report(&sample_recording(), 1000, Range::default());
    let mut lines = text.lines();
    let mut n_rows = 0;
    while let Some(line) = lines.next() {
        if !line.starts_with("### Score") {
            continue;
        }
        let table = lines.by_ref().skip(3).take_while(|line| line.starts_with('|'));
        for row in table {
            let cells: Vec<i64> =
                row.trim_matches('|').split('|').skip(1).map(|cell| cell.trim().parse().unwrap()).collect();
            let (total, parts) = cells.split_last().unwrap();
            assert_eq!(parts.iter().sum::<i64>(), *total, "{row}");
            n_rows += 1;
        }
    }
    assert!(n_rows > 10);
}

#[test]
fn nodes_with_the_same_verdict_share_a_row_where_there_are_many() {
    let recording = sample_recording();
    let short = report(&recording, 2, Range { from: Position::Cycle(1), to: Position::Cycle(4) });
    assert!(short.contains(" more | "), "{short}");
    assert!(short.len() < report(&recording, 50, Range::default()).len());
    assert!(!short.contains("## Cycle 5"));
}

fn any_cell() -> impl Strategy<Value = (&'static str, Style)> {
    let color = prop_oneof![
        Just(Color::Reset),
        Just(Color::Red),
        Just(Color::LightBlue),
        any::<u8>().prop_map(Color::Indexed),
        any::<(u8, u8, u8)>().prop_map(|(r, g, b)| Color::Rgb(r, g, b)),
    ];
    let modifier = prop_oneof![
        Just(Modifier::empty()),
        Just(Modifier::BOLD),
        Just(Modifier::DIM | Modifier::ITALIC),
        Just(Modifier::UNDERLINED | Modifier::REVERSED),
    ];
    let symbol = prop_oneof![Just("a"), Just(" "), Just("─"), Just("世"), Just("é"), Just("✓")];
    (symbol, color.clone(), color, modifier)
        .prop_map(|(symbol, fg, bg, modifier)| (symbol, Style::new().fg(fg).bg(bg).add_modifier(modifier)))
}

proptest! {
    #[test]
    fn what_is_written_between_two_screens_makes_one_of_the_other(
        screens in proptest::collection::vec(
            proptest::collection::vec((0..COLUMNS - 1, 0..ROWS, any_cell()), 0..60), 1..5)
    ) {
        let area = Rect::new(0, 0, COLUMNS, ROWS);
        let mut shown = Buffer::empty(area);
        let mut terminal = terminal();
        terminal.process(ansi::BEGIN.as_bytes());
        for cells in screens {
            let mut next = Buffer::empty(area);
            for (x, y, (symbol, style)) in cells {
                next.set_string(x, y, symbol, style);
            }
            terminal.process(ansi::difference(&shown, &next).as_bytes());
            let mut x_skipped = None;
            for position in area.positions() {
                if x_skipped == Some((position.x, position.y)) {
                    continue;
                }
                let ours = &next[position];
                let theirs = terminal.screen().cell(position.y, position.x).unwrap();
                if ours.symbol() == "世" {
                    x_skipped = Some((position.x + 1, position.y));
                }
                let symbol = if theirs.contents().is_empty() { " " } else { theirs.contents() };
                prop_assert_eq!(symbol, ours.symbol(), "at {}", position);
                // Terminals differ in what is both; this one lets the later one win.
                let is_bold = ours.modifier.contains(Modifier::BOLD) && !ours.modifier.contains(Modifier::DIM);
                prop_assert_eq!(theirs.bold(), is_bold);
                prop_assert_eq!(theirs.inverse(), ours.modifier.contains(Modifier::REVERSED));
                if let Color::Rgb(r, g, b) = ours.bg {
                    prop_assert_eq!(theirs.bgcolor(), vt100::Color::Rgb(r, g, b));
                }
            }
            shown = next;
        }
    }
}
