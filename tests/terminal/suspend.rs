//! Stopping and continuing.

use crate::support::pty::{Stage, Terminal, state};

fn console() -> Terminal {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console();
    terminal
}

/// The program stops with the terminal given back; continued, it draws everything again.
#[track_caller]
fn stops_and_continues(deed: impl FnOnce(&mut Terminal)) {
    let mut terminal = console();
    terminal.send("n").wait_text("cycle 1").wait_quiet();
    let before = terminal.text();
    let pid = terminal.pid();
    deed(&mut terminal);
    terminal.wait_until("the program to be stopped", || state(pid) == Some('T'));
    terminal
        .wait("the terminal to be given back", |screen| !screen.alternate_screen() && !screen.hide_cursor());
    terminal.assert_restored();
    let at = terminal.n_bytes();
    terminal.signal("CONT");
    terminal.wait("the console again", |screen| screen.alternate_screen() && screen.contents() == before);
    terminal.assert_taken();
    // What is on the screen does not come from the emulator's memory.
    let drawn = String::from_utf8_lossy(&terminal.bytes()[at..]).into_owned();
    for text in ["schedscope", "activeQ", "unschedulable"] {
        assert!(drawn.contains(text), "{text} was not drawn again");
    }
    terminal.send("n").wait_text("cycle 2");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[cfg(target_os = "linux")]
#[test]
fn sigtstp_stops_and_sigcont_continues() {
    stops_and_continues(|terminal| terminal.signal("TSTP"));
}

#[cfg(target_os = "linux")]
#[test]
fn control_z_stops_and_sigcont_continues() {
    stops_and_continues(|terminal| {
        terminal.send("\x1a");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn after_sigstop_which_nobody_can_answer_everything_is_drawn_again() {
    let mut terminal = console();
    let pid = terminal.pid();
    terminal.signal("STOP");
    terminal.wait_until("the program to be stopped", || state(pid) == Some('T'));
    let n = terminal.n_frames();
    terminal.signal("CONT");
    terminal.wait_frame(n).wait_text("activeQ").assert_taken();
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn a_shell_with_job_control_gets_the_terminal_and_fg_gives_it_back() {
    let mut terminal = Stage::new(&[]).start_shell();
    terminal.send("$program\n").wait_console();
    terminal.wait_text("activeQ 14");
    for _ in 0..2 {
        terminal.send("\x1a").wait("the shell", |screen| {
            !screen.alternate_screen() && !screen.hide_cursor() && screen.contents().trim_end().ends_with('$')
        });
        terminal.send("echo still $((40 + 2))\n").wait_text("still 42");
        terminal.send("fg\n").wait_console();
        terminal.wait_text("activeQ 14");
    }
    terminal.send("q").wait("the shell", |screen| !screen.alternate_screen());
    terminal.send("echo code $? end\n").wait_text("code 0 end");
    terminal.send("exit\n");
}
