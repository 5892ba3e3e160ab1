//! Colours where they are wanted, and no escape byte where there is no terminal.

use std::process::{Command, Output, Stdio};

use crate::support::pty::{Stage, Terminal, program};

/// The parameters of all SGR sequences that were written.
fn sgr(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let mut found = Vec::new();
    for part in text.split("\x1b[").skip(1) {
        let end = part.find(|c: char| !c.is_ascii_digit() && c != ';' && c != ':').unwrap_or(part.len());
        if part[end..].starts_with('m') {
            found.push(part[..end].to_owned());
        }
    }
    found
}

/// Whether the sequence sets a colour, rather than bold, reverse or the like.
fn is_colour(sgr: &str) -> bool {
    let first = sgr.split([';', ':']).next().unwrap_or_default().parse::<u8>().unwrap_or(0);
    matches!(first, 30..=38 | 40..=48 | 90..=97 | 100..=107)
}

fn drawn(stage: Stage) -> (Terminal, Vec<String>) {
    let mut terminal = stage.start();
    terminal.wait_console();
    terminal.send("n").wait_text("cycle 1").wait_quiet();
    let sequences = sgr(&terminal.bytes());
    (terminal, sequences)
}

#[test]
fn no_color_means_no_colour_and_keeps_what_is_selected_visible() {
    for stage in [
        Stage::new(&[]).env("NO_COLOR", "1"),
        Stage::new(&["--color", "never"]).env("COLORTERM", "truecolor"),
    ] {
        let (terminal, sequences) = drawn(stage);
        let colours: Vec<_> = sequences.iter().filter(|sequence| is_colour(sequence)).collect();
        assert!(colours.is_empty(), "{colours:?}");
        // An empty SGR would wipe bold and reverse.
        let screen = terminal.screen();
        let (rows, columns) = screen.size();
        let is_marked =
            |row, column| screen.cell(row, column).is_some_and(|cell| cell.inverse() || cell.bold());
        let n_marked = (0..rows.get())
            .flat_map(|row| (0..columns.get()).map(move |column| (row, column)))
            .filter(|(row, column)| is_marked(*row, *column))
            .count();
        assert!(n_marked > 10, "nothing is bold or reversed");
    }
}

#[test]
fn the_depth_follows_the_environment() {
    let has = |sequences: &[String], wanted: &str| sequences.iter().any(|sequence| sequence.contains(wanted));
    let (_, truecolor) = drawn(Stage::new(&[]).env("COLORTERM", "truecolor"));
    assert!(has(&truecolor, "8;2;"), "{truecolor:?}");
    let (_, ansi256) = drawn(Stage::new(&[]));
    assert!(has(&ansi256, "8;5;") && !has(&ansi256, "8;2;"), "{ansi256:?}");
    let (_, ansi16) = drawn(Stage::new(&["--color", "16"]));
    assert!(!has(&ansi16, "8;2;"), "{ansi16:?}");
    assert!(ansi16.iter().any(|sequence| is_colour(sequence)), "{ansi16:?}");
}

/// Terminals, multiplexers, the console of Linux, and what Windows Terminal and conhost look like through ssh, with the
/// most colours that each may be given: of 16, of 256, or exact ones.
const TERMS: [(&str, Option<&str>, u32); 11] = [
    ("xterm", None, 16),
    ("xterm-256color", None, 256),
    ("xterm-256color", Some("truecolor"), 1 << 24),
    ("xterm-direct", None, 1 << 24),
    ("screen", None, 16),
    ("screen-256color", None, 256),
    ("tmux", None, 16),
    ("tmux-256color", Some("truecolor"), 1 << 24),
    ("linux", None, 16),
    ("vt220", None, 16),
    ("cygwin", None, 16),
];

#[test]
fn every_kind_of_terminal_gets_no_more_colours_than_it_shows_and_no_sequence_that_it_does_not_know() {
    for (term, colorterm, most) in TERMS {
        let mut stage = Stage::new(&[]).env("TERM", term);
        if let Some(colorterm) = colorterm {
            stage = stage.env("COLORTERM", colorterm);
        }
        let (mut terminal, sequences) = drawn(stage);
        for sequence in sequences.iter().filter(|sequence| is_colour(sequence)) {
            assert!(most > 256 || !sequence.contains("8;2;"), "{term}: exact colours in {sequence}");
            let indexed = sequence.split_once("8;5;").map(|(_, rest)| rest);
            let index = indexed.and_then(|rest| rest.split(';').next()?.parse::<u32>().ok());
            assert!(index.is_none_or(|index| index < most), "{term}: colour of {sequence}");
        }
        assert!(sequences.iter().any(|sequence| is_colour(sequence)), "{term} has colours");
        assert_eq!(terminal.deeds().unwanted, Vec::<String>::new(), "{term}");
        terminal.send("q");
        assert_eq!(terminal.wait_exit(), 0, "{term}");
        terminal.assert_restored();
    }
}

#[test]
fn ascii_means_ascii() {
    for stage in [Stage::new(&["--ascii"]), Stage::new(&[]).env("LANG", "C")] {
        let (terminal, _) = drawn(stage);
        let text = terminal.text();
        assert!(text.is_ascii(), "{text}");
    }
}

#[test]
fn a_dumb_terminal_is_left_alone() {
    let terminal = Stage::new(&[]).env("TERM", "dumb").start();
    assert_eq!(terminal.wait_exit(), 2);
    terminal.wait_text("schedscope run");
    assert!(!terminal.bytes().contains(&0x1b), "{}", terminal.text());
    terminal.assert_restored();
}

fn without_a_terminal(args: &[&str]) -> Output {
    Command::new(program()).args(args).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn where_standard_output_is_no_terminal_there_is_a_hint_and_no_escape_byte() {
    for args in [&[][..], &["sandbox"]] {
        let output = without_a_terminal(args);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("not a terminal") && said.contains("schedscope run"), "{said}");
        assert!(!said.contains('\x1b'), "{said:?}");
    }
}

#[test]
fn what_is_wrong_is_said_before_the_terminal_is_touched() {
    let folder = tempfile::tempdir().unwrap();
    let broken = folder.path().join("broken.yaml");
    std::fs::write(&broken, "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, resources: {requests: {cpu: 1x}}}]}\n").unwrap();
    let keymap = folder.path().join("keys.toml");
    std::fs::write(&keymap, "[[global]]\non = \"q\"\nrun = \"fly-away\"\n").unwrap();
    let (broken, keymap) = (broken.to_string_lossy(), keymap.to_string_lossy());
    for (args, words) in [
        (
            &["sandbox", "-f", &*broken][..],
            &["spec.containers[0].resources.requests.cpu", "Pod web", "^"][..],
        ),
        (&["sandbox", "-f", "/nowhere.yaml"], &["/nowhere.yaml", "no such file"]),
        (&["--keymap", &*keymap], &["fly-away"]),
        (&["--theme", "mauve"], &["mauve", "dark", "light"]),
        (&["--log", "=,=,="], &["--log"]),
        (&["--log-file", "/nowhere/log"], &["--log-file", "/nowhere/log"]),
    ] {
        let terminal = Stage::new(args).start();
        assert_eq!(terminal.wait_exit(), 2, "{args:?}");
        let text = terminal.text();
        for word in words {
            assert!(text.contains(word), "{args:?}: {word} is not in\n{text}");
        }
        assert!(!terminal.bytes().contains(&0x1b), "{args:?} wrote an escape:\n{text}");
        terminal.assert_restored();
    }
}
