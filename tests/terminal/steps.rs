//! Opening the console, stepping, and changing the cluster, by keys.

use crate::support::pty::{Stage, Terminal};

fn console() -> Terminal {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console();
    terminal
}

#[test]
fn the_first_screen_shows_the_queues_of_the_paused_sample() {
    let terminal = console();
    terminal.assert_taken();
    let text = terminal.text();
    for wanted in [
        "sandbox",
        "sample",
        "paused",
        "cycle 0",
        "pending 15",
        "nodes 12",
        "activeQ 14",
        "backoffQ 0",
        "unschedulable 1",
    ] {
        assert!(text.contains(wanted), "{wanted} is not on the first screen:\n{text}");
    }
    assert_eq!(terminal.deeds().unwanted, Vec::<String>::new());
}

#[test]
fn n_does_one_attempt_and_s_one_phase() {
    let mut terminal = console();
    terminal.send("n").wait_text("cycle 1").wait_text("bound 1");
    // The phases of one attempt belong to one cycle.
    terminal.send("s").wait_text("cycle 2");
    terminal.send("ss").wait_quiet();
    assert!(terminal.text().contains("cycle 2"), "{}", terminal.text());
    // n ends the attempt that is under way before it begins another.
    terminal.send("n").wait_quiet();
    assert!(terminal.text().contains("cycle 2"), "{}", terminal.text());
    terminal.send("n").wait_text("cycle 3");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn it_runs_to_rest_and_pauses() {
    let mut terminal = console();
    terminal.send(":speed max\r").wait_text("max");
    terminal.send("r").wait_text("at rest");
    terminal.wait_text("paused").wait_text("bound 9");
}

#[test]
fn the_cluster_is_changed_by_commands() {
    let mut terminal = console();
    terminal.send(":add-node d-1 cpu=64 memory=256Gi\r").wait_text("nodes 13");
    terminal.send(":add-pod shop/extra cpu=1 memory=1Gi priority=9000\r").wait_text("pending 16");
    terminal.send(":cordon d-1\r").wait_text("cordon");
    terminal.send(":taint d-1 dedicated=mine:NoSchedule\r").wait_quiet();
    terminal.send(":label d-1 disk=ssd\r").wait_quiet();
    terminal.send(":delete pod shop/extra\r").wait_text("Delete pod shop/extra?");
    terminal.send("y").wait_text("pending 15");
    terminal.send(":delete node d-1\r").wait_text("Delete node d-1?");
    terminal.send("y").wait_text("nodes 12");
    terminal.send(":nonsense\r").wait_text("unknown command");
}

#[test]
fn a_name_is_copied_through_the_terminal() {
    let mut terminal = console();
    terminal.send("y").wait_until_copied();
    let copied = &terminal.deeds().copied;
    // kube-system/log-agent-b-4 is the first in the queue.
    assert_eq!(copied, &["a3ViZS1zeXN0ZW0vbG9nLWFnZW50LWItNA=="]);
}

#[test]
fn a_manifest_is_read_from_standard_input_and_keys_from_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("one.yaml");
    let manifest = "apiVersion: v1\nkind: Node\nmetadata: {name: alone}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n";
    std::fs::write(&file, manifest).unwrap();
    let mut terminal = Stage::new(&["sandbox", "-f", "-"])
        .env("FILE", &file.to_string_lossy())
        .redirect("< \"$FILE\"")
        .start();
    terminal.wait_console().wait_text("nodes 1 ").wait_text("stdin");
    terminal.send(":add-pod p cpu=1\r").wait_text("pending 1");
    terminal.send("n").wait_text("bound 1");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn a_speed_that_no_machine_reaches_can_be_stopped() {
    let mut terminal = console();
    terminal.send(":speed 4294967295\r").wait_text("×4294967295");
    terminal.send("r").wait_text("running").wait_text("bound 9");
    terminal.send("p").wait_text("paused");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
}
