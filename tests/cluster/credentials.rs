//! A credential plugin beside a console: it may ask before the screen opens, and is neither seen nor heard on it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::{ControlPlane, Options, is_skipped, wait_for};
use crate::support::pty::Stage;

/// A plugin that says on every way that it runs, asks for a word where it may, and whose token is good for five seconds.
const PLUGIN: &str = r#"#!/bin/sh
case $KUBERNETES_EXEC_INFO in *'"interactive":true'*) may=asks ;; *) may=silent ;; esac
echo "noise of the plugin" >&2
word=
if [ $may = asks ]; then printf 'which word? ' >&2; read -r word; fi
echo "$may $word" >> "$0.log"
until=$(date -u -d '+5 seconds' +%Y-%m-%dT%H:%M:%SZ)
echo '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
       "status": {"token": "schedscope-test-admin", "expirationTimestamp": "'$until'"}}'
"#;

fn kubeconfig(cluster: &ControlPlane, folder: &Path, mode: &str) -> String {
    let plugin = folder.join("plugin");
    std::fs::write(&plugin, PLUGIN).unwrap();
    std::fs::set_permissions(&plugin, std::fs::Permissions::from_mode(0o755)).unwrap();
    let user = json!({"exec": {
        "apiVersion": "client.authentication.k8s.io/v1", "command": plugin, "interactiveMode": mode,
    }});
    let path = folder.join(format!("kubeconfig-{mode}"));
    std::fs::write(&path, cluster.kubeconfig_text(&user)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What the plugin was let do, each time.
fn asked(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("plugin.log")).unwrap_or_default();
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn a_plugin_asks_before_the_screen_opens_and_never_writes_on_it() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = kubeconfig(&cluster, folder.path(), "IfAvailable");
    let mut terminal = Stage::new(&["live", "--kubeconfig", &kubeconfig]).start();
    terminal.wait_text("which word?");
    terminal.send("sesame\r").wait_text("observes only");
    assert_eq!(asked(folder.path()), ["asks sesame"]);
    // Requests go on after the token has run out, such as those of a person who looks who else serves.
    wait_for("it is asked again", Duration::from_secs(30), || {
        terminal.send("A").wait_text("says so");
        terminal.send("\x1b").wait_quiet();
        assert!(!terminal.text().contains("noise"), "{}", terminal.text());
        asked(folder.path()).len() >= 3
    });
    assert!(asked(folder.path()).iter().skip(1).all(|line| line == "silent"), "{:?}", asked(folder.path()));
    cluster.create_pod("p", "default-scheduler", "100m");
    terminal.wait_text("default/p");
    assert!(!terminal.text().contains("noise") && !terminal.text().contains("which word"));
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();
}

#[test]
fn a_plugin_that_must_ask_is_refused_while_the_console_has_the_terminal() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = kubeconfig(&cluster, folder.path(), "Always");
    // Without a terminal it is refused at once.
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["live", "-o", "json", "--kubeconfig", &kubeconfig])
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("standard input is no terminal"), "{said}");
    assert_eq!(asked(folder.path()), Vec::<String>::new());

    let log = folder.path().join("log");
    let arguments = ["live", "--kubeconfig", &kubeconfig, "--log-file", log.to_str().unwrap()];
    let mut terminal = Stage::new(&arguments).start();
    terminal.wait_text("which word?");
    terminal.send("sesame\r").wait_text("observes only");
    std::thread::sleep(Duration::from_secs(6));
    // Who else serves is not known without a credential, and it is said what to do.
    terminal.send("A").wait_text("wants to ask something");
    terminal.send("\x1b").wait_quiet();
    assert!(!terminal.text().contains("noise"), "{}", terminal.text());
    assert_eq!(asked(folder.path()), ["asks sesame"]);
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
}

#[test]
fn a_server_that_does_not_answer_is_waited_for_as_long_as_was_said() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let start = Instant::now();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_schedscope"))
        .args(["live", "-o", "json", "--server", &server, "--request-timeout", "2s"])
        .env("KUBECONFIG", "/nonexistent")
        .env("HOME", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("has not answered within 2s (--request-timeout)"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}
