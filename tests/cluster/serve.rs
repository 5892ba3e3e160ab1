//! A scheduler without a terminal: health, metrics, who may see them, its end, and the consoles that attach.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::harness::{ControlPlane, Options, is_skipped, wait_for};
use super::served::Served;
use crate::support::pty::{Stage, kill};

const ADMIN: &str = "schedscope-test-admin";

pub(super) fn mode_of(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn it_schedules_answers_whom_it_may_and_gives_the_lease_back() {
    if is_skipped() {
        return;
    }
    let cluster =
        ControlPlane::start(Options { tokens: "nobody,nobody,nobody,\"\"\n", ..Options::default() });
    cluster.create_node("n0", "z0");
    let mut served = Served::start(&cluster, &[]);
    cluster.create_pod("fits", "ours", "100m");
    cluster.create_pod("big", "ours", "64");
    let is_bound = || cluster.pod("fits").is_some_and(|pod| pod["spec"].get("nodeName").is_some());
    wait_for("it binds", Duration::from_secs(30), is_bound);

    let ready = "[+]leaderElection ok\n[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n";
    assert_eq!(served.get(&cluster, ADMIN, "/readyz?verbose"), Some((200, ready.to_owned())));
    assert_eq!(served.get(&cluster, "", "/livez"), Some((200, "ok".to_owned())));
    assert_eq!(served.status(&cluster, ADMIN, "/debug/pprof/"), Some(404));
    assert_eq!(served.status(&cluster, "wrong", "/livez"), Some(401));
    let (status, text) = served.get(&cluster, "", "/metrics").unwrap();
    let refusal: Value = serde_json::from_str(&text).unwrap();
    let message = "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"";
    assert_eq!((status, refusal["message"].as_str()), (403, Some(message)));
    assert_eq!(served.status(&cluster, "nobody", "/metrics"), Some(403));

    let metric = |line: &str| {
        let (_, text) = served.get(&cluster, ADMIN, "/metrics").unwrap();
        text.lines().any(|known| known == line)
    };
    wait_for("the attempts are counted", Duration::from_secs(10), || {
        metric("scheduler_schedule_attempts_total{profile=\"ours\",result=\"scheduled\"} 1")
            && metric("scheduler_pending_pods{queue=\"unschedulable\"} 1")
            && metric("scheduler_unschedulable_pods{plugin=\"NodeResourcesFit\",profile=\"ours\"} 1")
            && metric("leader_election_master_status{name=\"kube-scheduler\"} 1")
    });
    let (_, resources) = served.get(&cluster, ADMIN, "/metrics/resources").unwrap();
    assert!(resources.contains("kube_pod_resource_request{namespace=\"default\",node=\"n0\",pod=\"fits\""));
    let (_, configz) = served.get(&cluster, ADMIN, "/configz").unwrap();
    let configz: Value = serde_json::from_str(&configz).unwrap();
    assert_eq!(configz["componentconfig"]["profiles"][0]["schedulerName"], "ours");

    assert_eq!(served.end(), Some(0), "{}", served.log());
    let leases = cluster.list("coordination.k8s.io/v1", "Lease", "leases", Some("kube-system"));
    let lease = leases.iter().find(|lease| lease["metadata"]["name"] == "kube-scheduler").unwrap();
    assert_eq!(lease["spec"]["holderIdentity"].as_str().unwrap_or_default(), "");
    let log = served.log();
    assert!(log.contains("\"Successfully bound pod to node\" pod=\"default/fits\" node=\"n0\""), "{log}");
    assert!(!log.contains(ADMIN), "a token is in the log");
}

#[test]
fn a_lost_lease_ends_it() {
    if is_skipped() {
        return;
    }
    let mut cluster = ControlPlane::start(Options::default());
    let flags = [
        "--leader-elect-lease-duration=4s",
        "--leader-elect-renew-deadline=3s",
        "--leader-elect-retry-period=1s",
    ];
    let mut served = Served::start(&cluster, &flags);
    wait_for("it leads", Duration::from_secs(20), || served.log().contains("Successfully acquired lease"));
    cluster.stop();
    assert_eq!(served.wait(), Some(1));
    assert!(served.log().contains("\"Leaderelection lost\""), "{}", served.log());
}

#[test]
fn consoles_attach_and_one_of_them_has_the_controls() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    let mut served = Served::start(&cluster, &["--leader-elect=false"]);
    cluster.create_pod("big", "ours", "64");
    let socket = served.socket();
    assert_eq!((mode_of(&socket), mode_of(socket.parent().unwrap())), (0o600, 0o700));
    let path = socket.to_str().unwrap();
    let mut operator = Stage::new(&["attach", "--operate", "--socket", path]).size(120, 36).start();
    operator.wait_text("default/big").wait_text("you operate");
    let mut viewer = Stage::new(&["attach", "--socket", path]).size(120, 36).start();
    viewer.wait_text("default/big");
    viewer.wait_text("looking on");
    viewer.send(":take\r").wait_text("has the controls");
    operator.send(":release\r").wait_text("looking on");
    viewer.send(":take\r").wait_text("you operate");
    // A console that is killed gives them back.
    kill("KILL", viewer.pid());
    wait_for("it is noticed", Duration::from_secs(10), || served.log().matches("Console d").count() == 1);
    operator.send(":take\r").wait_text("you operate");
    assert_eq!(served.end(), Some(0), "{}", served.log());
    assert!(!socket.exists());
    operator.wait_exit();
    operator.assert_restored();
}
