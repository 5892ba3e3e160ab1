//! A manifest may hold anything: nothing of it acts on the terminal.

use std::path::Path;
use std::process::Command;

use crate::support::pty::{Stage, Terminal, program};

/// What a terminal must not get: titles, bells, the clipboard, a reset, another screen, turned reading, and
/// characters that nobody sees.
const PAYLOADS: [&str; 8] = [
    r"\e]2;pwned\a",
    r"\e]52;c;cHduZWQ=\a",
    r"\ec",
    r"\e[?1049l",
    r"\u009b31m",
    r"\u202etxt.exe\u2066",
    r"\r\n\t\b\x7f",
    r"\u200b\ufeff\u00ad",
];

/// A cluster in which every word that can be one of them is one.
pub fn manifest() -> String {
    let mut text = String::new();
    for (i, payload) in PAYLOADS.iter().enumerate() {
        text.push_str(&format!(
            "apiVersion: v1\nkind: Node\nmetadata:\n  name: \"node{i}{payload}\"\n  labels: {{\"l{payload}\": \"v{payload}\", \
             topology.kubernetes.io/zone: \"z{payload}\"}}\n\
             spec: {{taints: [{{key: \"t{payload}\", value: \"v{payload}\", effect: PreferNoSchedule}}]}}\n\
             status: {{allocatable: {{cpu: '2', memory: 4Gi, pods: '10', \"example.com/r{payload}\": '1'}}, \
             images: [{{names: [\"image{payload}\"], sizeBytes: 100000000}}]}}\n---\n"
        ));
        text.push_str(&format!(
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {{name: \"class{i}{payload}\"}}\nvalue: {i}\n---\n"
        ));
        for (name, spec) in [
            ("fits", String::new()),
            ("gated", format!("schedulingGates: [{{name: \"gate{payload}\"}}]")),
            ("selects", format!("nodeSelector: {{\"s{payload}\": \"v{payload}\"}}")),
            ("alien", format!("schedulerName: \"other{payload}\"")),
            ("named", format!("nodeName: \"node{i}{payload}\"")),
        ] {
            let spec = if spec.is_empty() { spec } else { format!("{spec}, ") };
            text.push_str(&format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: \"{name}{i}{payload}\", namespace: \"ns{payload}\", \
                 labels: {{\"l{payload}\": \"v{payload}\"}}}}\nspec: {{{spec}priorityClassName: \"class{i}{payload}\", \
                 containers: [{{name: \"c{payload}\", image: \"image{payload}\", resources: {{requests: {{cpu: '1', \
                 \"example.com/r{payload}\": '1'}}}}}}]}}\n---\n"
            ));
        }
        // More of a resource than there is: its name stands in the message.
        text.push_str(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: \"greedy{i}{payload}\", namespace: \"ns{payload}\"}}\n\
             spec: {{containers: [{{name: c, image: i, resources: {{requests: {{\"example.com/r{payload}\": '9'}}}}}}]}}\n---\n"
        ));
        text.push_str(&format!(
            "apiVersion: \"evil.example.com/v1{payload}\"\nkind: \"Kind{payload}\"\nmetadata: {{name: \"k{payload}\"}}\n---\n"
        ));
    }
    text
}

/// Whether a terminal or a reader would be misled by the character.
fn is_hostile(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[track_caller]
fn assert_clean(what: &str, text: &str) {
    let found: Vec<_> = text.char_indices().filter(|(_, c)| is_hostile(*c)).take(5).collect();
    assert!(found.is_empty(), "{what}: {found:?} in\n{:?}", text.chars().take(3000).collect::<String>());
}

fn file(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn run_shows_it_and_never_sends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "evil\u{1b}]2;pwned\u{7}\u{202e}.yaml", &manifest());
    for format in ["table", "json"] {
        let output = Command::new(program()).args(["run", "-o", format, "-f", &path]).output().unwrap();
        let (out, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert_clean(&format!("standard output as {format}"), &out);
        assert_clean("standard error", &said);
        assert!(out.contains("greedy0") && said.contains("Kind"), "{out}\n{said}");
    }
}

#[test]
fn what_is_refused_is_quoted_without_it() {
    let folder = tempfile::tempdir().unwrap();
    for payload in PAYLOADS {
        for text in [
            format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: \"web{payload}\"}}\nspec: {{containers: [{{name: c, resources: {{requests: {{cpu: \"1{payload}\"}}}}}}]}}\n"
            ),
            format!(
                "apiVersion: v1\nkind: Pod\nmetadata: {{name: \"web{payload}\"}}\nspec: {{priorityClassName: \"lost{payload}\", containers: []}}\n"
            ),
            format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: web}}\nspec: [\"{payload}\"]\n"),
        ] {
            let path = file(folder.path(), "evil\u{1b}]2;pwned\u{7}\u{202e}.yaml", &text);
            let output = Command::new(program()).args(["run", "-f", &path]).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{text}\n{said}");
            assert!(output.stdout.is_empty());
            assert_clean("standard error", &said);
        }
    }
    // Raw bytes in the place of escapes, in YAML and in JSON.
    for text in
        ["a: \u{1b}]2;pwned\u{7}", "{\"kind\": \"\u{1b}]2;pwned\u{7}\"}", "kind: \u{9b}31m\napiVersion: [\n"]
    {
        let path = file(folder.path(), "raw.yaml", text);
        let output = Command::new(program()).args(["run", "-f", &path]).output().unwrap();
        assert_clean("standard error", &String::from_utf8(output.stderr).unwrap());
    }
}

#[test]
fn names_of_files_and_arguments_are_no_better() {
    let evil = "\u{1b}]2;pwned\u{7}\u{202e}";
    for args in [
        &["run", "-f", &format!("/nowhere/{evil}")][..],
        &["sandbox", "-f", &format!("/nowhere/{evil}")],
        &["--keymap", &format!("/nowhere/{evil}")],
        &["--theme", evil],
        &["--log-file", &format!("/nowhere/{evil}")],
    ] {
        let output = Command::new(program()).args(args).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_clean(&format!("{args:?}"), &String::from_utf8(output.stderr).unwrap());
    }
}

/// Looks at everything that the console has to show.
fn look_around(terminal: &mut Terminal) {
    for keys in ["n", "1jjj", "2", "jjjj", "3", "m", "m", "4", "5", "jj", "\r", "6", "jj", "7", "m", "m"] {
        terminal.send(keys).wait_quiet();
        check(terminal);
    }
}

#[track_caller]
fn check(terminal: &Terminal) {
    terminal.wait("the console", vt100::Screen::alternate_screen);
    assert_clean("the screen", &terminal.text());
    let deeds = terminal.deeds();
    assert_eq!(deeds.unwanted, Vec::<String>::new());
    assert_eq!(deeds.copied, Vec::<String>::new());
}

#[test]
fn the_console_shows_it_and_never_sends_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "evil\u{1b}]2;pwned\u{7}\u{202e}.yaml", &manifest());
    let mut terminal = Stage::new(&["sandbox", "-f", &path]).size(160, 50).start();
    terminal.wait_console();
    look_around(&mut terminal);
    terminal.send(":speed max\r").wait_text("max");
    terminal.send("r").wait_text("at rest").wait_quiet();
    look_around(&mut terminal);
    // One pane on the whole screen, line by line, with details of what is selected.
    for pane in ["1", "2", "3", "4", "5", "6", "7"] {
        terminal.send(pane).send("z").wait_quiet();
        check(&terminal);
        terminal.send("z").wait_quiet();
    }
    // Questions, completions and answers quote names too.
    terminal.send("1").send("x").wait_quiet();
    check(&terminal);
    terminal.escape().send(":delete pod ns").wait_quiet();
    check(&terminal);
    terminal.escape().send(":cordon node").send("\t\r").wait_quiet();
    check(&terminal);
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
    let text = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!text.contains("\x1b]"), "an operating system command was sent");
}

#[test]
fn wide_characters_keep_the_columns_in_line() {
    let folder = tempfile::tempdir().unwrap();
    let text = "apiVersion: v1\nkind: Node\nmetadata: {name: \"世界の果て\"}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: \"ポッド👩‍🚀-1\"}\nspec: {containers: [{name: c, image: i}]}\n---\n\
                apiVersion: v1\nkind: Pod\nmetadata: {name: \"plain\"}\nspec: {containers: [{name: c, image: i}]}\n";
    let path = file(folder.path(), "wide.yaml", text);
    let mut terminal = Stage::new(&["sandbox", "-f", &path]).start();
    terminal.wait_console().wait_text("ポッド").wait_quiet();
    terminal.send("n").wait_text("bound 1").wait_quiet();
    // The borders stand below one another whatever stands between them.
    let screen = terminal.screen();
    let corner =
        (0..120).find(|column| screen.cell(1, *column).is_some_and(|cell| cell.contents() == "╮")).unwrap();
    for row in 2..10 {
        let border = screen.cell(row, corner).map(|cell| cell.contents().to_owned()).unwrap_or_default();
        assert!(
            "│┤├╯╮┼".contains(&border) && !border.is_empty(),
            "row {row}: {border:?}\n{}",
            screen.contents()
        );
    }
    let output = Command::new(program()).args(["run", "-f", &path]).output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    let rows: Vec<&str> = out.lines().take_while(|line| !line.is_empty()).collect();
    let state_at =
        |line: &&str| unicode_width::UnicodeWidthStr::width(line.split_once("bound").unwrap_or_default().0);
    assert_eq!(state_at(&rows[1]), state_at(&rows[2]), "{out}");
}
