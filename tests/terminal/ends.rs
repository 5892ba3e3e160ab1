//! Every way in which the console ends leaves the terminal as it was.
#![expect(clippy::disallowed_methods, reason = "a signal comes some time after the start")]

use crate::support::pty::{Stage, Terminal, is_running};

fn console() -> Terminal {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console();
    terminal.assert_taken();
    terminal
}

/// The console ends with this exit code after that was done to it.
#[track_caller]
fn ends(deed: impl FnOnce(&mut Terminal), code: u32) {
    let mut terminal = console();
    deed(&mut terminal);
    assert_eq!(terminal.wait_exit(), code);
    terminal.assert_restored();
    assert_eq!(terminal.deeds().unwanted, Vec::<String>::new());
}

#[test]
fn the_quit_key() {
    ends(
        |terminal| {
            terminal.send("q");
        },
        0,
    );
}

#[test]
fn the_quit_command() {
    ends(
        |terminal| {
            terminal.send(":q\r");
        },
        0,
    );
}

#[test]
fn control_c() {
    ends(
        |terminal| {
            terminal.send("\x03");
        },
        0,
    );
}

#[test]
fn quitting_while_it_runs_flat_out() {
    ends(
        |terminal| {
            terminal.send(":speed max\r").wait_text("max");
            terminal.send("r").send("q");
        },
        0,
    );
}

#[test]
fn sigterm() {
    ends(|terminal| terminal.signal("TERM"), 128 + 15);
}

#[test]
fn sighup() {
    ends(|terminal| terminal.signal("HUP"), 128 + 1);
}

#[test]
fn sigint() {
    ends(|terminal| terminal.signal("INT"), 128 + 2);
}

#[test]
fn a_signal_while_an_overlay_is_open() {
    ends(
        |terminal| {
            terminal.send(":cor").wait_text("cordon");
            terminal.signal("TERM");
        },
        128 + 15,
    );
}

#[test]
fn a_signal_right_after_the_start() {
    // Whenever it comes, nothing is left behind.
    for ms in (0..40).step_by(4) {
        let terminal = Stage::new(&[]).start();
        std::thread::sleep(std::time::Duration::from_millis(ms));
        terminal.signal("TERM");
        assert_eq!(terminal.wait_exit(), 128 + 15);
        terminal.assert_restored();
    }
}

#[test]
fn a_terminal_that_is_closed() {
    let mut terminal = console();
    let pid = terminal.pid();
    terminal.close();
    terminal.wait_until("the program to end", || !is_running(pid));
}

#[test]
fn a_terminal_that_is_closed_while_it_runs() {
    let mut terminal = console();
    let pid = terminal.pid();
    terminal.send("r").wait_text("running");
    terminal.close();
    terminal.wait_until("the program to end", || !is_running(pid));
}

#[test]
fn sigterm_while_the_terminal_takes_nothing() {
    let mut terminal = console();
    let pid = terminal.pid();
    terminal.hold(true);
    // More than the kernel keeps for a terminal that does not read.
    for _ in 0..20 {
        terminal.send("\x0c");
    }
    terminal.signal("TERM");
    terminal.wait_until("the program to end", || !is_running(pid));
    terminal.hold(false);
    assert_eq!(terminal.wait_exit(), 128 + 15);
}
