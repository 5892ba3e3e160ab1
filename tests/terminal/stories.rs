//! Whole stories, by keys: what a person wants, in as few keys as it should take.

use std::path::Path;

use crate::support::pty::{Stage, Terminal, is_running, kill, parent};

const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: NAME, labels: {zone: z}}\n\
                    status: {allocatable: {cpu: '2', memory: 8Gi, pods: '110'}}\n---\n";

/// A console on a cluster of so many nodes, one pod too large for them, and one that fits.
fn console(folder: &Path, n_nodes: usize, size: (u16, u16)) -> Terminal {
    let mut manifest = String::new();
    for i in 0..n_nodes {
        manifest.push_str(&NODE.replace("NAME", &format!("node-{i:04}")));
    }
    for (name, cpu) in [("huge", 64), ("small", 1)] {
        manifest.push_str(&format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: shop}}\nspec: {{priority: {cpu}, \
             containers: [{{name: c, image: i, resources: {{requests: {{cpu: '{cpu}'}}}}}}]}}\n---\n"
        ));
    }
    let path = folder.join("cluster.yaml");
    std::fs::write(&path, manifest).unwrap();
    let terminal = Stage::new(&["sandbox", "-f", &path.display().to_string()]).size(size.0, size.1).start();
    terminal.wait_console().wait_text("huge");
    terminal
}

/// Presses keys one after the other, and counts them.
fn press(terminal: &mut Terminal, keys: &[&str]) -> usize {
    for key in keys {
        terminal.send(key).wait_quiet();
    }
    keys.len()
}

#[test]
fn why_a_pod_is_pending_is_known_after_two_keys() {
    for size in [(80, 24), (120, 36), (200, 60)] {
        let folder = tempfile::tempdir().unwrap();
        let mut terminal = console(folder.path(), 3, size);
        let n = press(&mut terminal, &["n", "\r"]);
        assert!(n <= 4);
        terminal.wait_text("0/3 nodes are available: 3 Insufficient cpu");
        terminal.send("q");
        assert_eq!(terminal.wait_exit(), 0);
        terminal.assert_restored();
    }
}

/// A recording is looked through while it is shown; what is gone to before that is done is not found.
fn go(terminal: &mut Terminal, key: &str, to: &str) {
    for _ in 0..10 {
        if terminal.send(key).seen_soon(to) {
            return;
        }
    }
    terminal.wait_text(to);
}

#[test]
fn a_pending_pod_of_the_sample_is_explained_in_four_keys() {
    let mut terminal = Stage::new(&["replay", "preemption-pdb"]).start();
    terminal.wait_console();
    // The next failure, the queues, and the pod.
    go(&mut terminal, ">", "cycle 1");
    let n = 1 + press(&mut terminal, &["1", "\r"]);
    assert!(n <= 4);
    terminal.wait_text("none of 3 nodes fits: 3 Insufficient cpu");
}

#[test]
fn a_preemption_is_gone_to_and_stepped_through() {
    let mut terminal = Stage::new(&["replay", "preemption-pdb"]).start();
    terminal.wait_console();
    go(&mut terminal, ")", "cycle 1");
    press(&mut terminal, &["2"]);
    terminal.wait_text("DefaultPreemption");
    // Back before it, and through it again phase by phase.
    press(&mut terminal, &["b"]);
    for _ in 0..6 {
        terminal.send("s").wait_quiet();
        if terminal.text().contains("DefaultPreemption") {
            break;
        }
    }
    terminal.wait_text("DefaultPreemption");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn one_of_five_thousand_nodes_is_found_by_a_part_of_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = console(folder.path(), 5_000, (120, 36));
    terminal.send("5").wait_text("node-0000");
    terminal.send("/4321").wait_text("node-4321").wait_text("1 of 5000");
    terminal.send("\r\r").wait_text("node node-4321");
    // Back to all of them; and again without the pane, by name.
    press(&mut terminal, &["\x1b", "\x1b"]);
    terminal.wait_text("nodes 5000").wait_gone("/4321");
    terminal.send("\x10node-1234").wait_text("of 5");
    terminal.send("\r").wait_text("node node-1234");
    terminal.send("[").wait_gone("node node-1234");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn a_word_is_looked_up_and_a_layout_is_saved_for_the_next_time() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let mut terminal = Stage::new(&["--settings", &path]).start();
    terminal.wait_console();
    terminal.send(":explain backoffQ\r").wait_text("podInitialBackoffSeconds");
    terminal.send("\x1b").wait_gone("podInitialBackoffSeconds");
    terminal.send(":layout debug\r").wait_gone("backoffQ is empty");
    terminal.send(":layout save\r").wait_text("layout.toml");
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    std::fs::write(folder.path().join("settings.toml"), "layout = \"own\"\n").unwrap();
    let mut again = Stage::new(&["--settings", &path]).start();
    again.wait_console().wait_text("cycle 0");
    assert!(!again.text().contains("backoffQ is empty"), "{}", again.text());
    again.send("q");
    assert_eq!(again.wait_exit(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn when_the_shell_that_started_it_is_killed_it_ends() {
    let terminal = Stage::new(&[]).start();
    terminal.wait_console();
    let pid = terminal.pid();
    kill("KILL", parent(pid).unwrap());
    terminal.wait_until("the program to end", || !is_running(pid));
}

#[test]
fn long_work_tells_how_far_it_is_and_esc_stops_it() {
    let folder = tempfile::tempdir().unwrap();
    let mut terminal = console(folder.path(), 16, (120, 36));
    terminal.send(":speed max\r").wait_text("max");
    let (mut n_bound, mut cycle) = (1, String::new());
    // How much work is long depends on the machine.
    for (round, count) in [60, 150, 300, 600].into_iter().enumerate() {
        n_bound += count;
        terminal.send(format!(":add-pod shop/w{round} cpu=1m count={count}\r")).wait_quiet();
        terminal.send("r").wait_text(&format!("bound {n_bound} "));
        terminal.wait_text("paused");
        let end = terminal.text();
        cycle = end.split("cycle ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();
        // Nothing was ever like that, so every attempt is looked at once more.
        terminal.send(":run-back-to node == nowhere\r");
        if !terminal.seen_soon("esc stops it") {
            continue;
        }
        let told = terminal.text();
        assert!(told.contains("going back to node == nowhere") && told.contains("% "), "{told}");
        terminal.send("\x1b");
        if terminal.seen_soon("stopped: everything is as it was before") {
            break;
        }
    }
    terminal.wait_text("stopped: everything is as it was before");
    terminal.wait_text(&format!("cycle {cycle}"));
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}
