//! The metrics beside those of the real kube-scheduler, which does the same work in the same cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::harness::{ControlPlane, Options, built, is_bound, is_skipped, wait_for};
use super::served::Served;

const ADMIN: &str = "schedscope-test-admin";

/// What is printed of a metric, without its numbers.
#[derive(Debug, Default, PartialEq, Eq)]
struct Printed {
    help: String,
    kind: String,
    labels: BTreeSet<String>,
    /// Upper bounds, in the order in which they are printed.
    bounds: Vec<String>,
    /// Values of labels that say what happened.
    words: BTreeSet<String>,
}

/// Labels whose values do not depend on names of people's objects.
const WORDS: &[&str] =
    &["extension_point", "operation", "queue", "result", "stability_level", "status", "type"];

fn parse(text: &str) -> BTreeMap<String, Printed> {
    let mut families: BTreeMap<String, Printed> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some((known, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            known.clone_into(&mut name);
            families.entry(name.clone()).or_default().help = help.trim().to_owned();
            continue;
        }
        let family = families.entry(name.clone()).or_default();
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            rest.split(' ').nth(1).unwrap_or_default().clone_into(&mut family.kind);
            continue;
        }
        let Some((_, labels)) = line.split_once('{') else { continue };
        let (labels, _) = labels.rsplit_once('}').unwrap();
        for pair in labels.trim_end_matches(',').strip_suffix('"').unwrap_or(labels).split("\",") {
            let (label, value) = pair.split_once("=\"").unwrap();
            if label == "le" {
                if !family.bounds.iter().any(|known| known == value) {
                    family.bounds.push(value.to_owned());
                }
                continue;
            }
            family.labels.insert(label.to_owned());
            if WORDS.contains(&label) {
                family.words.insert(format!("{label}={value}"));
            }
        }
    }
    families
}

struct Real {
    child: Child,
    port: u16,
}

impl Real {
    fn start(cluster: &ControlPlane) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let kubeconfig = cluster.kubeconfig();
        let child = Command::new(built().as_ref().unwrap())
            .arg("kube-scheduler")
            .args(
                ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
                    .map(|flag| format!("--{flag}={}", kubeconfig.display())),
            )
            .args(["--bind-address=127.0.0.1", "--leader-elect-resource-name=the-real-one"])
            .arg(format!("--secure-port={port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, port }
    }

    fn get(&self, cluster: &ControlPlane, path: &str) -> Option<String> {
        let (status, text) = cluster.get(&format!("https://127.0.0.1:{}{path}", self.port), ADMIN)?;
        (status == 200).then_some(text)
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Is in the program of the tests only because that is an API server as well, or says nothing about a scheduler.
fn is_of_an_api_server(name: &str) -> bool {
    ["apiserver_", "apiextensions_", "aggregator_", "etcd_"].iter().any(|prefix| name.starts_with(prefix))
}

#[test]
fn every_stable_and_beta_metric_and_all_of_the_scheduler_are_those_of_the_real_one() {
    if is_skipped() {
        return;
    }
    let cluster = ControlPlane::start(Options::default());
    cluster.create_node("n0", "z0");
    cluster.create_node("n1", "z1");
    let real = Real::start(&cluster);
    let ours = Served::start(&cluster, &[]);
    wait_for("the real one is ready", Duration::from_secs(30), || real.get(&cluster, "/readyz").is_some());
    for (who, scheduler) in [("real", "default-scheduler"), ("ours", "ours")] {
        for i in 0..3 {
            cluster.create_pod(&format!("{who}-{i}"), scheduler, "100m");
        }
        cluster.create_pod(&format!("{who}-big"), scheduler, "64");
        let gated = json!({"schedulingGates": [{"name": "example.com/wait"}]});
        cluster.create_pod_with(&format!("{who}-gated"), scheduler, "100m", gated);
        let are_bound = || (0..3).all(|i| is_bound(&cluster, &format!("{who}-{i}")));
        wait_for("the pods are bound", Duration::from_secs(30), are_bound);
    }
    let mut compared = 0;
    for path in ["/metrics", "/metrics/slis", "/metrics/resources"] {
        // What is counted after the bind comes a moment later; the second of two answers tells of the first.
        std::thread::sleep(Duration::from_secs(2));
        for who in ["/livez", "/readyz", path] {
            assert!(real.get(&cluster, who).is_some());
            assert_eq!(ours.status(&cluster, ADMIN, who), Some(200));
        }
        let theirs = parse(&real.get(&cluster, path).unwrap());
        let (_, text) = ours.get(&cluster, ADMIN, path).unwrap();
        let own = parse(&text);
        for (name, their) in &theirs {
            let is_promised = their.help.starts_with("[STABLE]") || their.help.starts_with("[BETA]");
            if is_of_an_api_server(name) || !(is_promised || name.starts_with("scheduler_")) {
                continue;
            }
            let own = own.get(name).unwrap_or_else(|| panic!("{path} lacks {name}"));
            assert_eq!((&own.help, &own.kind), (&their.help, &their.kind), "{name}");
            assert_eq!((&own.labels, &own.bounds), (&their.labels, &their.bounds), "{name}");
            // Differences that docs/metrics.md names; who was chosen by chance to be measured; whether somebody asked
            // for its health before it was well.
            let differs = [
                "kubernetes_healthchecks_total",
                "registered_metrics_total",
                "scheduler_goroutines",
                "scheduler_plugin_execution_duration_seconds",
            ];
            if !differs.contains(&name.as_str()) {
                assert_eq!(own.words, their.words, "{name}");
            }
            compared += 1;
        }
    }
    assert!(compared >= 35, "{compared} metrics were compared");
}
