//! A person's own settings, keys and themes: read at the start, and again when they change.

use std::fs;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::pty::{Stage, Terminal, program};

/// A folder of settings with these files.
fn settings(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("themes")).unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn console(folder: &TempDir) -> Terminal {
    Stage::new(&["--settings", &folder.path().display().to_string()]).env("COLORTERM", "truecolor").start()
}

/// The first line of what it says when it does not start.
fn refusal(folder: &TempDir) -> (String, Option<i32>) {
    let output = Command::new(program())
        .args(["sandbox", "--settings"])
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code())
}

#[test]
fn a_theme_that_changes_on_disk_changes_on_the_screen() {
    let folder = settings(&[
        ("settings.toml", "theme = \"mine\"\n"),
        ("themes/mine.toml", "inherits = \"dark\"\n[roles]\nstatus-bar-name = { fg = \"#010203\" }\n"),
    ]);
    let terminal = console(&folder);
    terminal.wait_console();
    let has = |terminal: &Terminal, sgr: &str| String::from_utf8_lossy(&terminal.bytes()).contains(sgr);
    assert!(has(&terminal, "38;2;1;2;3"));
    assert!(!has(&terminal, "38;2;4;5;6"));
    let changed = "inherits = \"dark\"\n[roles]\nstatus-bar-name = { fg = \"#040506\" }\n";
    fs::write(folder.path().join("themes/mine.toml"), changed).unwrap();
    terminal.wait_text("were read again");
    terminal.wait_until("the new colour", || has(&terminal, "38;2;4;5;6"));
}

#[test]
fn keys_that_change_on_disk_count_at_once_and_mistakes_change_nothing() {
    let folder = settings(&[("keys.toml", "[[stepper]]\non = \"Y\"\nrun = \"step-cycle\"\n")]);
    let mut terminal = console(&folder);
    terminal.wait_console();
    terminal.send("Y").wait_text("cycle 1");
    fs::write(folder.path().join("keys.toml"), "[[stepper]]\non = \"Y\"\nrun = \"stp-cycle\"\n").unwrap();
    terminal.wait_text("keys.toml:3:7: unknown action \"stp-cycle\"");
    terminal.send("\x1b").wait_gone("unknown action");
    terminal.send("Y").wait_text("cycle 2");
    fs::write(folder.path().join("keys.toml"), "[[stepper]]\non = \"K\"\nrun = \"step-cycle\"\n").unwrap();
    terminal.wait_text("were read again");
    terminal.send("YK").wait_text("cycle 3");
}

#[test]
fn the_arrows_preset_steps_by_function_keys() {
    let folder = settings(&[("settings.toml", "keys = \"arrows\"\nreduced-motion = true\n")]);
    let mut terminal = console(&folder);
    terminal.wait_console();
    terminal.send("\x1b[17~").wait_text("cycle 1");
}

#[test]
fn mistakes_in_files_are_told_before_the_terminal_is_touched() {
    let cases = [
        (("settings.toml", "\ntheem = \"dark\"\n"), "settings.toml:2:1: unknown field `theem`"),
        (
            ("settings.toml", "theme = \"drak\"\n"),
            "theme: there is no theme \"drak\"; did you mean \"dark\"?",
        ),
        (("settings.toml", "keys = \"emacs\"\n"), "keys: there is no keymap preset \"emacs\""),
        (("settings.toml", "color = \"17\"\n"), "color: \"17\" is none of auto, never, 16, 256, truecolor"),
        (("keys.toml", "[[list]]\non = \"j\"\nrun = \"opne\"\n"), "keys.toml:3:7: unknown action \"opne\""),
    ];
    for (file, expected) in cases {
        let (said, code) = refusal(&settings(&[file]));
        assert!(said.contains(expected), "{said}");
        assert_eq!(code, Some(2), "{said}");
        assert!(!said.contains('\x1b'), "{said:?}");
    }
}

#[test]
fn the_command_line_wins_over_the_file() {
    let folder = settings(&[("settings.toml", "theme = \"light\"\ncolor = \"truecolor\"\n")]);
    let path = folder.path().display().to_string();
    let light = Stage::new(&["--settings", &path]).start();
    light.wait_console();
    assert!(String::from_utf8_lossy(&light.bytes()).contains("48;2;251;250;247"), "the light ground");
    let dark = Stage::new(&["--settings", &path, "--theme", "dark"]).start();
    dark.wait_console();
    assert!(String::from_utf8_lossy(&dark.bytes()).contains("48;2;18;21;28"), "the dark ground");
}

#[test]
fn command_lines_are_remembered_for_their_owner_unless_that_is_not_wanted() {
    use std::os::unix::fs::PermissionsExt as _;

    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("schedscope/history");
    let start = |folder: &TempDir| {
        let path = folder.path().display().to_string();
        let terminal = Stage::new(&["--settings", &path])
            .env("XDG_STATE_HOME", &state.path().display().to_string())
            .start();
        terminal.wait_console();
        terminal
    };
    let (wanted, unwanted) = (settings(&[]), settings(&[("settings.toml", "history = false\n")]));
    let mut off = start(&unwanted);
    off.send(":speed 7\r").wait_text("×7");
    off.send("q");
    assert_eq!(off.wait_exit(), 0);
    assert!(!file.exists());
    let mut on = start(&wanted);
    on.send(":speed 60\r").wait_text("×60");
    on.send("q");
    assert_eq!(on.wait_exit(), 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), "speed 60\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let mut again = start(&wanted);
    again.send(":\x1b[A").wait_text("speed 60");
    again.send("\r").wait_text("×60");
    again.send("q");
    assert_eq!(again.wait_exit(), 0);
}
