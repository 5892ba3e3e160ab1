//! The console on a real cluster, in a pseudo-terminal: predicting, arming, confirming, stepping, disarming.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::harness::{ControlPlane, Options, is_skipped, wait_for};
use crate::support::pty::{Stage, Terminal};

const LIMIT: Duration = Duration::from_secs(30);
/// What does not happen within this time does not happen.
const QUIET: Duration = Duration::from_millis(1_500);

fn config() -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                profiles:\n- schedulerName: ours\n";
    std::fs::write(file.path(), text).unwrap();
    file
}

fn node_of(cluster: &ControlPlane, pod: &str) -> Option<String> {
    cluster.pod(pod)?["spec"]["nodeName"].as_str().map(ToOwned::to_owned)
}

fn bound(cluster: &ControlPlane) -> usize {
    cluster.pods().iter().filter(|pod| pod["spec"].get("nodeName").is_some()).count()
}

fn console(cluster: &ControlPlane, config: &Path, audit: &Path) -> Terminal {
    let kubeconfig = cluster.kubeconfig();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (kubeconfig, config, audit) = (text(&kubeconfig), text(config), text(audit));
    let arguments = ["live", "--paused", "--kubeconfig", &kubeconfig, "--config", &config, "--audit", &audit];
    Stage::new(&arguments).start()
}

fn audit_lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Does one cycle as soon as a pod can be tried.
fn one_cycle(terminal: &mut Terminal) {
    terminal.wait_gone("activeQ 0");
    terminal.send("n");
}

#[test]
fn it_predicts_is_armed_by_name_steps_confirms_declines_pauses_and_is_disarmed() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let (config, folder) = (config(), tempfile::tempdir().unwrap());
    let audit = folder.path().join("audit.jsonl");
    let mut terminal = console(&cluster, config.path(), &audit);
    terminal.wait_text("observes only");

    // Observing: a cycle is a prediction, and says so.
    cluster.create_pod("one", "ours", "10m");
    one_cycle(&mut terminal);
    terminal.wait_text("would bind to n0").wait_text("foreseen 1");
    std::thread::sleep(QUIET);
    assert_eq!(node_of(&cluster, "one"), None);
    terminal.send("9").wait_text("agree").wait_text("open 1");

    // Arming names what it is about and wants the context's name.
    terminal.send("A").wait_text("Type test to arm it").wait_text("admin (the API server says so)");
    terminal.wait_text("nobody else holds a lease for these names");
    let text = terminal.text();
    for wanted in ["context  test", "serves   ours", "kube-system/kube-scheduler"] {
        assert!(text.contains(wanted), "{wanted} is missing:\n{text}");
    }
    terminal.send("yes\r").wait_text("That is not test");
    terminal.send("\x15test\r").wait_text("\u{2500} ARMED \u{2500}");

    // One cycle at a time, with its bind.
    cluster.create_pod("two", "ours", "10m");
    one_cycle(&mut terminal);
    wait_for("one pod is bound", LIMIT, || bound(&cluster) == 1);
    terminal.wait_text("to revert: kubectl");
    std::thread::sleep(QUIET);
    assert_eq!(bound(&cluster), 1, "one cycle binds one pod");

    // Each bind asks.
    terminal.send("Y").wait_text("each bind asks");
    one_cycle(&mut terminal);
    terminal.wait_text("1 bind waits for you");
    std::thread::sleep(QUIET);
    assert_eq!(bound(&cluster), 1, "nothing is bound before the answer");
    terminal.send("C").wait_text("bind? 1 of 1").wait_text("matrix");
    terminal.send("n").wait_gone("bind? 1 of 1");
    let last = ["one", "two"].into_iter().find(|pod| node_of(&cluster, pod).is_none()).unwrap();
    wait_for("the pod tells why", LIMIT, || {
        cluster.pod(last).unwrap()["status"]["conditions"]
            .to_string()
            .contains("the binding to n0 was turned down by the operator")
    });
    one_cycle(&mut terminal);
    terminal.wait_text("1 bind waits for you");
    terminal.send("C").wait_text("bind? 1 of 1");
    terminal.send("y").wait_gone("bind? 1 of 1");
    wait_for("it is bound after yes", LIMIT, || node_of(&cluster, last).is_some());

    // Paused nothing is bound, running everything is.
    terminal.send("Y").wait_gone("each bind asks");
    cluster.create_pod("three", "ours", "10m");
    terminal.wait_text("activeQ 1");
    std::thread::sleep(QUIET);
    assert_eq!(node_of(&cluster, "three"), None);
    terminal.send("r").wait_text("\u{25b6} running");
    wait_for("it runs", LIMIT, || node_of(&cluster, "three").is_some());
    terminal.send(":pause\r").wait_text("\u{2016} paused");
    cluster.create_pod("four", "ours", "10m");
    terminal.wait_text("activeQ 1");

    // Disarmed it predicts again.
    terminal.send("A").wait_text("observes only").wait_gone(" ARMED ");
    one_cycle(&mut terminal);
    std::thread::sleep(QUIET);
    assert_eq!(node_of(&cluster, "four"), None);
    terminal.send("q");
    assert_eq!(terminal.wait_exit(), 0);
    terminal.assert_restored();

    let lines = audit_lines(&audit);
    let n_of = |verb: &str, resource: &str, outcome: &str| {
        lines
            .iter()
            .filter(|line| line["verb"] == verb && line["resource"] == resource && line["outcome"] == outcome)
            .count()
    };
    assert_eq!((n_of("arm", "session", "done"), n_of("disarm", "session", "done")), (1, 1));
    assert_eq!(n_of("create", "pods/binding", "done"), 3);
    assert_eq!(n_of("create", "pods/binding", "declined"), 1);
    assert!(n_of("create", "pods/binding", "withheld") >= 2, "{lines:#?}");
    let confirmed: Vec<&Value> = lines.iter().filter(|line| line["resource"] == "pods/binding").collect();
    let asked = confirmed.iter().filter(|line| line["confirmedBy"].is_string()).count();
    assert_eq!(asked, 2, "the declined and the confirmed one name who said so");
    assert!(lines.iter().all(|line| line["context"] == "test"));
}
