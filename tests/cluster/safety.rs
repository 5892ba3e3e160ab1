//! What keeps a cluster safe: a lost lease, another scheduler, caches that wait, and secrets that stay secret.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{ControlPlane, Live, Options, configuration, is_bound, is_skipped, wait_for};
use crate::support::pty::Stage;

const LIMIT: Duration = Duration::from_secs(30);

fn now() -> String {
    let now: String = k8s_openapi::jiff::Timestamp::now().to_string();
    format!("{}.000000Z", now.split(['.', 'Z']).next().unwrap())
}

fn lease(name: &str, holder: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": 3600, "renewTime": now()},
    })
}

/// The next notice that has this part.
fn notice(live: &Live, part: &str) -> String {
    while let Some(line) = live.next(LIMIT) {
        if let Some(text) = line["notice"].as_str().filter(|text| text.contains(part)) {
            return text.to_owned();
        }
    }
    panic!("nothing was said of {part:?}");
}

#[test]
fn a_lost_lease_stops_binding_at_once() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let config = configuration("ours", "");
    let live =
        Live::start(&cluster.kubeconfig(), &["--operate", "--config", config.path().to_str().unwrap()]);
    cluster.create_pod("before", "ours", "10m");
    wait_for("the leader binds", LIMIT, || is_bound(&cluster, "before"));
    let stolen =
        json!({"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 3600, "renewTime": now()}});
    cluster.patch("coordination.k8s.io/v1", "Lease", "leases", ("kube-system", "kube-scheduler"), stolen);
    assert!(notice(&live, "the lease is lost").contains("thief leads now"));
    cluster.create_pod("after", "ours", "10m");
    std::thread::sleep(Duration::from_secs(3));
    assert!(!is_bound(&cluster, "after"));
    assert_eq!(live.end(), Some(0));
}

#[test]
fn a_name_that_the_holder_of_another_lease_serves_is_refused_unless_told() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    cluster.create("leases", lease("kube-scheduler", "cp-1_9f"));
    cluster.create("leases", lease("ours", "other_1"));
    for (name, said) in [
        (
            "default-scheduler",
            "default-scheduler is served already: cp-1_9f holds the lease kube-system/kube-scheduler",
        ),
        ("ours", "ours is served already: other_1 holds the lease kube-system/ours"),
    ] {
        let config = configuration(name, "");
        let arguments = ["--operate", "--leader-elect=false", "--config", config.path().to_str().unwrap()];
        let live = Live::start_raw(&cluster.kubeconfig(), &arguments);
        assert!(notice(&live, "not armed").contains(said));
        cluster.create_pod(&format!("{name}-one"), name, "10m");
        std::thread::sleep(Duration::from_secs(2));
        assert!(!is_bound(&cluster, &format!("{name}-one")));
        assert_eq!(live.end(), Some(0));
        let arguments = [&arguments[..], &["--serve-anyway"]].concat();
        let live = Live::start(&cluster.kubeconfig(), &arguments);
        wait_for("it binds when told", LIMIT, || is_bound(&cluster, &format!("{name}-one")));
        assert_eq!(live.end(), Some(0));
    }
}

#[test]
fn nothing_is_listed_before_it_leads_if_caches_are_delayed() {
    if is_skipped() {
        return;
    }
    let options = Options {
        has_audit: true,
        tokens: "standby,standby,standby,\"system:masters\"\n",
        ..Options::default()
    };
    let cluster = ControlPlane::start(options);
    cluster.create_node("n0", "z0");
    cluster.create("leases", lease("kube-scheduler", "other_1"));
    cluster.create_pod("one", "ours", "10m");
    let config = configuration("ours", "delayCacheUntilActive: true\n");
    let arguments = ["--operate", "--config", config.path().to_str().unwrap()];
    let live = Live::start_raw(&cluster.kubeconfig_of("standby"), &arguments);
    notice(&live, "standing by: other_1 holds the lease");
    std::thread::sleep(Duration::from_secs(2));
    let has_listed = || {
        cluster
            .audit()
            .iter()
            .any(|line| line["user"]["username"] == "standby" && line["objectRef"]["resource"] == "nodes")
    };
    assert!(!has_listed());
    let freed = json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}});
    cluster.patch("coordination.k8s.io/v1", "Lease", "leases", ("kube-system", "kube-scheduler"), freed);
    wait_for("it lists and binds", LIMIT, || is_bound(&cluster, "one"));
    assert!(has_listed());
    assert_eq!(live.end(), Some(0));
}

/// Everything that must not be seen anywhere.
const SECRETS: [&str; 4] = ["tok-5ecret", "pass-5ecret", "plugin-5ecret", "noise-5ecret"];

fn assert_discreet(what: &str, text: &[u8]) {
    for secret in SECRETS {
        let found = text.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{secret} stands in {what}:\n{}", String::from_utf8_lossy(text));
    }
}

/// A kubeconfig whose user has these fields.
fn kubeconfig(cluster: &ControlPlane, folder: &Path, name: &str, user: Value) -> std::path::PathBuf {
    let text = std::fs::read_to_string(cluster.kubeconfig()).unwrap();
    let mut whole: Value = serde_saphyr::from_str(&text).unwrap();
    whole["users"][0]["user"] = user;
    let path = folder.join(format!("{name}.kubeconfig"));
    std::fs::write(&path, whole.to_string()).unwrap();
    path
}

#[test]
fn credentials_are_seen_nowhere_whatever_goes_wrong() {
    if is_skipped() {
        return;
    }
    let tokens = "tok-5ecret,ann,ann,\"system:masters\"\nplugin-5ecret,bob,bob,\"system:masters\"\n";
    let mut cluster = ControlPlane::start(Options { tokens, ..Options::default() });
    cluster.create_node("n0", "z0");
    let folder = tempfile::tempdir().unwrap();
    let script = |name: &str, body: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let credential = r#"echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"plugin-5ecret"}}'"#;
    let exec = |command: String| {
        json!({"exec": {
            "apiVersion": "client.authentication.k8s.io/v1", "command": command, "interactiveMode": "Never",
            "env": [{"name": "PLUGIN_PASSWORD", "value": "pass-5ecret"}],
        }})
    };
    let users = [
        ("token", json!({"token": "tok-5ecret"}), true),
        ("password", json!({"username": "ann", "password": "pass-5ecret"}), false),
        ("plugin", exec(script("plugin", credential)), true),
        ("failing", exec(script("failing", "echo noise-5ecret; echo noise-5ecret >&2; exit 3")), false),
        ("garbage", exec(script("garbage", "echo '{noise-5ecret: ['")), false),
    ];
    for (name, user, has_console) in users {
        let kubeconfig = kubeconfig(&cluster, folder.path(), name, user);
        let path = |suffix: &str| folder.path().join(format!("{name}.{suffix}"));
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let (log, audit, recording) = (path("log"), path("audit"), path("rec"));
        let arguments = [
            "live",
            "--kubeconfig",
            &text(&kubeconfig),
            "--leader-elect=false",
            "--log",
            "trace",
            "--log-file",
            &text(&log),
            "--audit",
            &text(&audit),
            "--record",
            &text(&recording),
        ]
        .map(ToOwned::to_owned);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        if !has_console {
            // Whom the server does not know may still be let in as nobody: that goes on until it is ended.
            let output = std::process::Command::new("timeout")
                .args(["8", env!("CARGO_BIN_EXE_schedscope")])
                .args(&arguments)
                .args(["-o", "json"])
                .env("RUST_BACKTRACE", "full")
                .output()
                .unwrap();
            assert!(!output.status.success(), "{name}");
            assert_discreet(&format!("{name}: stdout"), &output.stdout);
            assert_discreet(&format!("{name}: stderr"), &output.stderr);
            assert!(!output.stderr.is_empty() || !output.stdout.is_empty());
            continue;
        }
        let mut terminal = Stage::new(&arguments).env("RUST_BACKTRACE", "full").start();
        terminal.wait_text("observes only");
        terminal.send("K").wait_text("synced 1");
        terminal.send("A").wait_text("says so");
        terminal.send("test\r").wait_text(" ARMED ");
        // The server goes, so that everything fails that can fail.
        cluster.stop();
        terminal.send("K").wait_text("lagging");
        terminal.send("7").wait_quiet();
        assert_discreet(&format!("{name}: the screen"), terminal.text().as_bytes());
        terminal.send("q");
        assert_eq!(terminal.wait_exit(), 0);
        for file in [&log, &audit, &recording] {
            assert_discreet(&text(file), &std::fs::read(file).unwrap());
        }
        cluster.restart(Options { tokens, ..Options::default() });
    }
}
