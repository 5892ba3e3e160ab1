//! The plain mode: lines in, lines out.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::support::pty::{Stage, program};

/// What is printed when these lines are typed, and the exit code.
fn plain(args: &[&str], lines: &[&str]) -> (String, Option<i32>) {
    let mut child = Command::new(program())
        .args(args)
        .args(["--plain", "--settings", "/nonexistent"])
        .env("TERM", "dumb")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(lines.join("\n").as_bytes()).unwrap();
    stdin.write_all(b"\n").unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    (String::from_utf8(output.stdout).unwrap(), output.status.code())
}

#[test]
fn commands_are_answered_in_lines_without_escapes() {
    let (printed, code) = plain(&["sandbox"], &["cycle", "cycle", "back cycle", ":cycle", "where", "quit"]);
    assert_eq!(code, Some(0));
    assert!(!printed.contains('\x1b'), "{printed:?}");
    assert!(printed.starts_with("sample, paused, time 0ms: cycle 0, 0 bound"), "{printed}");
    let attempts: Vec<&str> = printed.lines().filter(|line| line.starts_with("Attempt ")).collect();
    assert_eq!(attempts.len(), 4, "{printed}");
    assert!(attempts[0].starts_with("Attempt 1, kube-system/log-agent-b-4: bound to b-4"), "{printed}");
    assert!(attempts[1].starts_with("Attempt 2, monitoring/node-exporter-2: "), "{printed}");
    assert!(attempts[2].starts_with("Attempt 1, "), "one step back: {printed}");
    assert_eq!(attempts[3], attempts[1], "the same again: {printed}");
    assert!(printed.contains("cycle 2, 1 bound, "), "{printed}");
}

#[test]
fn every_pane_can_be_printed_and_filtered() {
    let (printed, _) = plain(&["sandbox"], &["show nodes c-4"]);
    assert!(printed.contains("\nnodes "), "{printed}");
    assert!(printed.contains("c-4") && !printed.contains("c-3"), "{printed}");
    let (printed, _) = plain(&["sandbox"], &["cycle", "show matrix", "select pod db/redis-1"]);
    assert!(printed.contains("matrix "), "{printed}");
    assert!(printed.contains("pod db/redis-1"), "{printed}");
    assert!(!printed.contains(['╭', '│', '─']), "no frames: {printed}");
    let (printed, _) = plain(&["sandbox"], &["show quees"]);
    assert!(printed.contains("There is no pane \"quees\"; did you mean \"queues\"?"), "{printed}");
}

#[test]
fn what_takes_something_away_is_asked_for() {
    let lines = ["delete node a-1", "maybe", "no", "where", "delete node a-1", "yes", "where"];
    let (printed, _) = plain(&["sandbox"], &lines);
    assert!(printed.contains("a-1") && printed.contains("yes or no?"), "{printed}");
    assert!(printed.contains("Answer yes or no."), "{printed}");
    let counts: Vec<&str> = printed.lines().filter(|line| line.ends_with(" nodes.")).collect();
    assert!(counts[1].ends_with("12 nodes.") && counts[2].ends_with("11 nodes."), "{counts:?}");
}

#[test]
fn what_is_asked_is_told_whole() {
    let lines = ["delete node a-1", "no", "delete pod shop/nope", "whatif drain zz", "whatif drain b-2"];
    let (printed, code) = plain(&["sandbox"], &lines);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("All come back only if you add\nthem again.\n"), "{printed}");
    assert!(printed.contains("there is no pod shop/nope"), "{printed}");
    assert!(printed.contains("nodes \"zz\" not found"), "{printed}");
    assert!(printed.contains("what if: drain b-2") && printed.contains("moves "), "{printed}");
}

#[test]
fn a_page_that_is_gone_to_is_printed() {
    let (printed, _) = plain(&["sandbox"], &["internals", "why db/redis-1", "why db/redis-1"]);
    assert!(printed.contains("cache, snapshot, API"), "{printed}");
    assert_eq!(printed.matches("pod db/redis-1, every plugin, each node").count(), 2, "{printed}");
}

#[test]
fn a_file_with_control_characters_prints_none() {
    let (printed, _) = plain(&["sandbox"], &["apply /no/such\x07file", "search \x1b[2J"]);
    assert!(printed.chars().all(|c| c == '\n' || !c.is_control()), "{printed:?}");
}

#[test]
fn a_recording_is_walked_through_in_the_same_way() {
    let (printed, code) = plain(&["replay", "preemption-pdb"], &["cycle", "next preemption", "end", "quit"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("Attempt 1, "), "{printed}");
}

#[test]
fn a_person_gets_a_prompt_and_a_signal_ends_it() {
    let mut terminal = Stage::new(&["sandbox", "--plain"]).env("TERM", "dumb").start();
    terminal.wait_text("Type help for the commands");
    terminal.send("cycle\r").wait_text("Attempt 1, kube-system/log-agent-b-4");
    terminal.signal("TERM");
    assert_eq!(terminal.wait_exit(), 143);
}
