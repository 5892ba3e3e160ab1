//! Where nothing happens, nothing is done.
#![cfg(target_os = "linux")]
#![expect(clippy::disallowed_methods, reason = "idleness is measured over time")]

use std::thread::sleep;
use std::time::Duration;

use crate::support::pty::{Stage, Terminal, cpu_ticks, wake_ups};

/// Over how long idleness is measured.
const WINDOW: Duration = Duration::from_millis(1500);

/// Fails unless the program neither writes, nor works, nor wakes up.
#[track_caller]
fn assert_idle(terminal: &Terminal) {
    terminal.wait_quiet();
    // What lights up after a step goes out, and notices go, by themselves; then there is nothing left to come.
    let (pid, n_bytes) = (terminal.pid(), terminal.n_bytes());
    let (ticks, wakes) = (cpu_ticks(pid), wake_ups(pid));
    sleep(WINDOW);
    assert_eq!(terminal.n_bytes(), n_bytes, "bytes were written");
    assert_eq!(cpu_ticks(pid), ticks, "processor time was used");
    assert_eq!(wake_ups(pid), wakes, "a thread woke up");
}

#[test]
fn a_paused_console_is_idle() {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console();
    assert_idle(&terminal);
}

#[test]
fn it_is_idle_again_after_a_step_and_with_an_overlay() {
    let mut terminal = Stage::new(&[]).start();
    terminal.wait_console();
    terminal.send("n").wait_text("cycle 1");
    // A chord that was begun shows its continuations after a moment, and then waits.
    terminal.send("g").wait_text("Select the last row");
    terminal.send("\x1b").wait_gone("Select the last row");
    terminal.send("?").wait_quiet();
    // The light of the step is out within a second.
    sleep(Duration::from_millis(700));
    assert_idle(&terminal);
}

#[test]
fn without_a_terminal_at_the_other_end_of_the_keys_it_does_not_spin() {
    // Standard input that is at its end is no reason to look at it again and again.
    let terminal = Stage::new(&[]).redirect("< /dev/null").start();
    terminal.wait_console();
    assert_idle(&terminal);
}
