//! Terminals that change their size, and tiny ones.

use crate::support::pty::Stage;

#[test]
fn a_storm_of_sizes_ends_in_the_right_picture() {
    let mut terminal = Stage::new(&[]).start();
    terminal.wait_console().wait_quiet();
    let before = terminal.text();
    let mut size = 7_u32;
    for round in 0..150 {
        size = size.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (columns, rows) = ((size >> 8) % 230, (size >> 20) % 70);
        terminal.resize(u16::try_from(columns).unwrap(), u16::try_from(rows).unwrap());
        if round % 10 == 0 {
            terminal.send("\t");
        }
    }
    // Which pane a shared place shows depends on the size when it is chosen.
    terminal.resize(120, 36);
    terminal.wait_quiet();
    terminal.send("31").wait("the screen as it was", |screen| screen.contents() == before);
    terminal.send("n").wait_text("cycle 1");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_modes_restored();
}

#[test]
fn a_terminal_that_is_too_small_says_so_and_grows_into_a_console() {
    let mut terminal = Stage::new(&[]).size(30, 6).start();
    terminal.wait("a word about the size", |screen| {
        screen.contents().contains("40") && screen.alternate_screen()
    });
    terminal.resize(80, 24);
    terminal.wait_text("activeQ");
    terminal.resize(1, 1);
    terminal.send("n").wait_quiet();
    terminal.resize(80, 24);
    terminal.wait_text("cycle 1");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_modes_restored();
}

#[test]
fn terminals_without_rows_or_columns_are_endured() {
    for size in [(0, 0), (0, 24), (80, 0), (1, 1), (65_535, 1), (400, 150)] {
        let mut terminal = Stage::new(&[]).size(size.0, size.1).start();
        terminal.wait("the alternate screen", vt100::Screen::alternate_screen).wait_quiet();
        terminal.send("nq\x03");
        terminal.resize(80, 24);
        assert_eq!(terminal.wait_exit(), 0, "at {size:?}");
    }
}

#[test]
fn eighty_by_twenty_four_shows_one_pane_and_tabs() {
    let terminal = Stage::new(&[]).size(80, 24).start();
    terminal.wait_console().wait_text("activeQ");
    for name in ["cycle", "matrix", "waiting", "nodes", "log"] {
        terminal.wait_text(name);
    }
}

#[test]
fn what_a_small_moment_has_cut_off_is_drawn_again() {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console().wait_quiet();
    let before = terminal.text();
    for _ in 0..20 {
        // The size is the same again before the program can look.
        terminal.resize(3, 2);
        terminal.resize(120, 36);
        terminal.wait("the screen as it was", |screen| screen.contents() == before);
    }
}
