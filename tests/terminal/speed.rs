//! How soon a key is answered while the scheduler runs as fast as it can, and how much a frame writes.
#![expect(clippy::disallowed_methods, reason = "what a person waits for is measured")]

use std::time::{Duration, Instant};

use crate::support::pty::Stage;

/// What a key may take until the screen shows it; without optimization, and on a machine that others use, far more.
const ANSWER: Duration = Duration::from_millis(if cfg!(debug_assertions) { 600 } else { 30 });

/// A cluster with so much to do that it does not come to rest.
fn manifest() -> String {
    let mut text = String::new();
    for i in 0..200 {
        text.push_str(&format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: node-{i:03}}}\n\
             status: {{allocatable: {{cpu: '64', memory: 256Gi, pods: '250'}}}}\n---\n"
        ));
    }
    for i in 0..6_000 {
        text.push_str(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: pod-{i:05}, namespace: shop}}\nspec: {{containers: \
             [{{name: c, image: i, resources: {{requests: {{cpu: 100m}}}}}}]}}\n---\n"
        ));
    }
    text
}

#[test]
fn a_key_is_answered_at_once_while_the_scheduler_runs_at_full_speed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cluster.yaml");
    std::fs::write(&path, manifest()).unwrap();
    let mut terminal = Stage::new(&["sandbox", "-f", &path.display().to_string()]).start();
    terminal.wait_console().wait_text("pending 6000");
    terminal.send(":speed max\r").wait_text("max");
    terminal.send("r").wait_text("running");
    let mut took = Vec::new();
    for _ in 0..15 {
        let started = Instant::now();
        terminal.send("?").wait_text("help · queues");
        took.push(started.elapsed());
        let started = Instant::now();
        terminal.send("\x1b").wait_gone("help · queues");
        took.push(started.elapsed());
    }
    took.sort_unstable();
    let median = took[took.len() / 2];
    assert!(median <= ANSWER, "{took:?}");
    assert!(terminal.text().contains("running"), "it was running all the while:\n{}", terminal.text());
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn a_frame_writes_what_has_changed_and_nothing_else() {
    let mut terminal = Stage::new(&[]).size(200, 60).start();
    terminal.wait_console().wait_quiet();
    let whole = terminal.n_bytes();
    for keys in ["j", "k", "j"] {
        let before = terminal.n_bytes();
        terminal.send(keys);
        terminal.wait_until("something to be written", || terminal.n_bytes() > before);
        terminal.wait_quiet();
        let n = terminal.n_bytes() - before;
        // Two rows of the queue and the details of another pod.
        assert!(n < whole / 2, "{n} bytes for a step of the selection, {whole} for the first frame");
    }
    // The same key where it moves nothing: at the first row there is nowhere to go.
    terminal.send("gg").wait_quiet();
    let before = terminal.n_bytes();
    terminal.send("k").wait_quiet();
    assert!(terminal.n_bytes() - before < 64, "a frame that shows the same is all but empty");
}
