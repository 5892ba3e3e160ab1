//! What goes wrong with consoles and signals: a viewer that takes nothing, a socket that was left behind, a second signal.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::{Duration, Instant};

use schedscope::tui::keymap::load::KeymapSource;
use schedscope::tui::remote::{Hello, PROTOCOL};
use schedscope::tui::theme::library::Themes;

use super::harness::{ControlPlane, Options, is_bound, is_skipped, wait_for};
use super::served::Served;
use crate::support::pty::{Stage, kill};

#[test]
fn a_viewer_that_takes_no_frames_is_dropped_and_holds_nobody_up() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let served = Served::start(&cluster, &["--leader-elect=false"]);
    let mut stuck = UnixStream::connect(served.socket()).unwrap();
    let hello = Hello {
        protocol: PROTOCOL,
        name: "stuck".to_owned(),
        // A frame that no socket holds.
        size: (1_000, 1_000),
        theme: "dark".to_owned(),
        depth: "truecolor".to_owned(),
        is_ascii: false,
        is_motion_reduced: false,
        themes: Themes::default(),
        keymap: KeymapSource::default(),
        wants_controls: true,
    };
    writeln!(stuck, "{}", serde_json::to_string(&hello).unwrap()).unwrap();
    wait_for("it is in", Duration::from_secs(10), || served.log().contains("Console attached"));
    let start = Instant::now();
    // While it is stuck with the controls, pods are bound and others look.
    cluster.create_pod("quick", "ours", "100m");
    wait_for("a pod is bound", Duration::from_secs(5), || is_bound(&cluster, "quick"));
    let path = served.socket();
    let mut viewer = Stage::new(&["attach", "--socket", path.to_str().unwrap()]).size(120, 36).start();
    viewer.wait_text("looking on");
    let dropped = || served.log().contains("Console dropped");
    wait_for("it is dropped", Duration::from_secs(20), dropped);
    assert!(start.elapsed() >= Duration::from_secs(8), "after {:?}", start.elapsed());
    assert!(served.log().contains("it takes no frames any more"), "{}", served.log());
    viewer.send(":take\r").wait_text("you operate");
}

#[test]
fn a_socket_that_was_left_behind_is_replaced_and_one_in_use_is_not() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("console.sock");
    let flags = ["--leader-elect=false", "--serve-anyway"];
    let mut killed = Served::start_at(&cluster, &socket, &flags);
    killed.kill();
    assert!(socket.exists());
    let served = Served::start_at(&cluster, &socket, &flags);
    let mut viewer = Stage::new(&["attach", "--socket", socket.to_str().unwrap()]).size(120, 36).start();
    viewer.wait_text("looking on");
    let output = Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["serve", "--secure-port", "0", "--leader-elect=false", "--kubeconfig"])
        .arg(cluster.kubeconfig())
        .arg("--console-socket")
        .arg(&socket)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("another instance has"), "{said}");
    viewer.send(":take\r").wait_text("you operate");
    drop(served);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let mut served = Served::start(&cluster, &[]);
    wait_for("it leads", Duration::from_secs(20), || served.log().contains("Successfully acquired lease"));
    // The lease cannot be given back while nobody answers.
    let pid = cluster.pid();
    kill("STOP", pid);
    let start = Instant::now();
    kill("TERM", served.pid());
    wait_for("it is about to end", Duration::from_secs(5), || {
        served.log().contains("Requested to terminate")
    });
    std::thread::sleep(Duration::from_millis(1_500));
    let still_runs = served.is_running();
    let second = Instant::now();
    kill("TERM", served.pid());
    let code = served.wait();
    let took = second.elapsed();
    kill("CONT", pid);
    assert!(still_runs, "it did not wait for the lease: {:?}", start.elapsed());
    assert_eq!(code, Some(1));
    assert!(took < Duration::from_secs(2), "{took:?}");
}
