//! Recordings in a terminal: one that comes with the program, gone through by keys, and one made by keys.

use crate::support::pty::{Stage, Terminal};

fn replay(name: &str, columns: u16, rows: u16) -> Terminal {
    let terminal = Stage::new(&["replay", name]).size(columns, rows).start();
    terminal.wait_console();
    terminal
}

#[test]
fn a_bundled_recording_is_played_stepped_and_searched() {
    let mut terminal = replay("preemption-pdb", 160, 40);
    terminal.wait_text("replay").wait_text("preemption-pdb").wait_text("timeline");
    terminal.wait_text("three full nodes");
    terminal.send("\'").wait_text("the choice").wait_text("cycle 1");
    terminal.send("b").wait_text("cycle 0");
    terminal.send(")").wait_text("cycle 1").wait_text("evicted 1");
    terminal.send(":goto the end\r").wait_text("evicted 3");
    terminal.send("n").wait_text("the recording ends here");
    terminal.send("0").wait_text("at 0/");
    terminal.send(":search critical-2\r").wait_text("critical-2");
    terminal.send(":leave\r").wait_text("branch 1");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn on_a_small_screen_the_timeline_is_a_tab() {
    let mut terminal = replay("flush-only", 80, 24);
    terminal.send("8").wait_text("timeline").wait_text("beside its peer");
    terminal.send("jj\r").wait_text("cycle 1");
    terminal.send(":speed max\r").wait_text("max");
    terminal.send("r").wait_text("the recording ends here");
}

#[test]
fn a_session_is_recorded_by_keys_and_played_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made.rec");
    let name = file.to_str().unwrap().to_owned();
    let mut terminal = Stage::new(&[]).size(160, 40).start();
    terminal.wait_console();
    terminal.send("nn").wait_text("cycle 2");
    terminal.send(&*format!(":record {name}\r")).wait_text("rec ");
    terminal.send("n").wait_text("cycle 3");
    terminal.send(":mark here it is\r").wait_text("marked as");
    terminal.send("R").wait_text("recorded ");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    let mut terminal = replay(&name, 120, 36);
    terminal.wait_text("pending 15");
    terminal.send("'").wait_text("here it is").wait_text("cycle 3");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
}
