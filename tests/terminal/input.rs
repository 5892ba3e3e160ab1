//! What people, terminals and cats on keyboards send.

use crate::support::pty::{Stage, Terminal};

fn console() -> Terminal {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console();
    terminal
}

#[test]
fn garbage_is_endured() {
    let mut terminal = console();
    for garbage in [
        &b"\xff\xfe\x80\xc3\x28\xf0\x9f"[..],
        b"\x1b[999;999;999R\x1b[?62;1c\x1b[>0;276;0c",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1bP1+r544e\x1b\\",
        b"\x1b[I\x1b[O",
        b"\x1b[<0;999;999M\x1b[<64;-1;0M",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1bOP\x1b[24~\x1b[1;5A\x1b[27;5;9~\x1b[97;5u",
        b"\x00\x01\x02\x05\x06\x07\x0b\x0e\x0f\x10\x12\x13\x14\x16\x18\x19\x1c\x1d\x1e\x1f",
    ] {
        terminal.send(garbage);
        // The answers of terminals that nobody asked are keys to the console; one of them may have started it.
        terminal.send("\x1b\x1bp").wait_quiet();
        terminal.assert_taken();
    }
    terminal.escape().escape().escape().send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn keys_come_one_byte_at_a_time_or_all_at_once() {
    let mut terminal = console();
    // An escape that is followed by nothing is a key of its own, so a sequence that comes in pieces cannot be told from
    // several keys: terminals write each at once.
    terminal.send("\x1b[B").send("\x1b[B").send("\x1b[6~");
    for byte in "jjknn".bytes() {
        terminal.send([byte]);
    }
    terminal.wait_text("cycle 2");
    terminal.send("n".repeat(60)).wait_text("cycle 14");
    terminal.send("jjjjkkkkGgg".repeat(50)).wait_quiet();
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: pasted, namespace: shop}\nspec: {containers: [{name: c, image: i}]}\n";

fn paste(terminal: &mut Terminal, text: &str) {
    terminal.send("\x1b[200~").send(text).send("\x1b[201~");
}

#[test]
fn a_pasted_manifest_is_applied_after_asking() {
    let mut terminal = console();
    paste(&mut terminal, POD);
    terminal.wait_text("Apply the pasted manifest?");
    terminal.send("y").wait_text("pending 16");
}

#[test]
fn pasted_keys_are_no_commands() {
    let mut terminal = console();
    paste(&mut terminal, "qqq nnn :q\r");
    terminal.wait_quiet();
    terminal.assert_taken();
    terminal.wait_text("cycle 0");
    terminal.send("/");
    paste(&mut terminal, "train\x1b[31m\u{202e}");
    terminal.wait_text("train").wait_quiet();
    terminal.assert_taken();
    assert_eq!(terminal.deeds().unwanted, Vec::<String>::new());
}

#[test]
fn a_broken_manifest_that_is_pasted_is_shown_with_its_place() {
    let mut terminal = console();
    paste(&mut terminal, &POD.replace("name: c", "name: [c]"));
    terminal.wait_text("Apply the pasted manifest?");
    terminal.send("y").wait_text("spec.containers[0].name").wait_text("^");
    terminal.send("\x1b").wait_gone("not done");
    terminal.wait_text("pending 15");
}

#[test]
fn a_click_selects_and_the_wheel_scrolls() {
    let mut terminal = console();
    terminal.wait_text("db/redis-1").wait_quiet();
    let before = terminal.text();
    let row = before.lines().position(|line| line.contains("db/redis-1")).unwrap();
    terminal.send(format!("\x1b[<0;6;{}M\x1b[<0;6;{}m", row + 1, row + 1)).wait_quiet();
    terminal.send("y").wait_until_copied();
    assert_eq!(terminal.deeds().copied, ["ZGIvcmVkaXMtMQ=="]);
    terminal.send("\x1b[<65;6;5M").wait_quiet();
    terminal.assert_taken();
}

#[test]
fn without_the_mouse_the_terminal_keeps_it() {
    let terminal = Stage::new(&["--no-mouse"]).start();
    terminal.wait_console();
    let bytes = String::from_utf8_lossy(&terminal.bytes()).into_owned();
    assert!(!bytes.contains("\x1b[?1000h") && !bytes.contains("\x1b[?1006h"));
}

#[test]
fn a_terminal_that_reads_nothing_for_a_while_gets_the_newest_picture_in_the_end() {
    let mut terminal = console();
    terminal.hold(true);
    // The pipe to the terminal fills up; the scheduler does not wait for it.
    terminal.send(":speed max\r").send("r");
    for _ in 0..200 {
        terminal.send("\x0c");
    }
    terminal.hold(false);
    terminal.wait_text("at rest").wait_text("bound 9").wait_quiet();
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}
