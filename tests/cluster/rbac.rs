//! The roles under `deploy/` allow all that is done, and nothing that is not.
//!
//! A real API server with RBAC decides. With the whole roles everything works and its audit log names each rule; with a
//! rule taken away something is refused, and the program names the rule.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::harness::{ControlPlane, Options, SLOWNESS, is_skipped, wait_for};
use super::manifests::{apply_all, configuration, objects};

/// One verb on one resource of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rule {
    group: String,
    resource: String,
    verb: String,
}

impl Rule {
    /// As the program names it.
    fn words(&self) -> String {
        let Self { group, resource, verb } = self;
        format!("{{apiGroups: [{group:?}], resources: [{resource:?}], verbs: [{verb:?}]}}")
    }
}

fn role(file: &str, kind: &str) -> Value {
    objects(file).into_iter().find(|object| object["kind"] == kind).unwrap()
}

fn rules(role: &Value) -> Vec<Rule> {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
    };
    let mut all = Vec::new();
    for rule in role["rules"].as_array().unwrap() {
        for group in texts(&rule["apiGroups"]) {
            for resource in texts(&rule["resources"]) {
                for verb in texts(&rule["verbs"]) {
                    all.push(Rule { group: group.clone(), resource: resource.clone(), verb });
                }
            }
        }
    }
    all
}

/// Gives a user the rules everywhere.
fn allow(cluster: &ControlPlane, user: &str, rules: &[Rule]) {
    let rules: Vec<Value> = rules
        .iter()
        .map(|rule| json!({"apiGroups": [rule.group], "resources": [rule.resource], "verbs": [rule.verb]}))
        .collect();
    cluster.create(
        "clusterroles",
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": user}, "rules": rules,
        }),
    );
    cluster.create(
        "clusterrolebindings",
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": user},
            "subjects": [{"kind": "User", "name": user}],
        }),
    );
}

/// A running program of which every line is kept.
struct Program {
    child: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Program {
    fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .args(["live", "-o", "json", "--kubeconfig"])
            .arg(kubeconfig)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let streams: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(child.stdout.take().unwrap()), Box::new(child.stderr.take().unwrap())];
        for stream in streams {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
        }
        Self { child, lines, said: Vec::new() }
    }

    /// Waits until a line has these words. Without it what was said is told.
    #[track_caller]
    fn says(&mut self, words: &str, limit: Duration) -> String {
        let end = Instant::now() + limit * SLOWNESS;
        loop {
            if let Some(line) = self.said.iter().find(|line| line.contains(words)) {
                return line.clone();
            }
            match self.lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(_) => panic!("{words:?} was not said:\n{}", self.said.join("\n")),
            }
        }
    }

    /// Ends it as a signal does. The answer is everything that was said.
    fn end(mut self) -> Vec<String> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        let _ = self.child.wait();
        self.said.extend(self.lines.iter());
        std::mem::take(&mut self.said)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a user has asked of the API server, by its audit log, but what every user may ask.
fn used(cluster: &ControlPlane, user: &str) -> BTreeSet<Rule> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    cluster
        .audit()
        .iter()
        .filter(|line| line["user"]["username"] == user && line.get("objectRef").is_some())
        .map(|line| {
            let of = &line["objectRef"];
            let mut resource = text(&of["resource"]);
            if !text(&of["subresource"]).is_empty() {
                resource = format!("{resource}/{}", text(&of["subresource"]));
            }
            Rule { group: text(&of["apiGroup"]), resource, verb: text(&line["verb"]) }
        })
        .filter(|rule| !rule.resource.starts_with("selfsubject"))
        .collect()
}

/// A token of a service account of the namespace `schedscope`.
fn service_account(cluster: &ControlPlane, name: &str) -> std::path::PathBuf {
    let path = format!("/api/v1/namespaces/schedscope/serviceaccounts/{name}/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = cluster.send("POST", &path, "application/json", &request).unwrap();
    cluster.kubeconfig_named(name, answer["status"]["token"].as_str().unwrap())
}

/// Tokens for as many users, named so.
fn tokens(prefix: &str, n: usize) -> String {
    (0..n).map(|i| format!("{prefix}{i},{prefix}{i},{prefix}{i},\"\"\n")).collect()
}

#[test]
fn watching_uses_each_rule_of_its_role_and_misses_each_that_is_taken_away() {
    if is_skipped() {
        return;
    }
    let all = rules(&role("observe.yaml", "ClusterRole"));
    let resources: BTreeSet<(String, String)> =
        all.iter().map(|rule| (rule.group.clone(), rule.resource.clone())).collect();
    let tokens = tokens("without", resources.len());
    // A server without watch-list is asked for a list before each watch.
    let options =
        Options { has_audit: true, tokens: &tokens, gates: "WatchList=false", ..Options::default() };
    let cluster = ControlPlane::start(options);
    apply_all(&cluster);
    let mut whole = Program::start(&service_account(&cluster, "schedscope-observe"), &[]);
    let started: Value = serde_json::from_str(&whole.says("\"started\"", Duration::from_secs(60))).unwrap();
    let states = started["informers"].as_object().unwrap();
    assert!(states.len() >= 18 && states.values().all(|state| state == "synced"), "{started}");
    let said = whole.end();
    assert!(!said.iter().any(|line| line.contains("forbidden")), "{said:#?}");
    let user = "system:serviceaccount:schedscope:schedscope-observe";
    assert_eq!(used(&cluster, user), all.iter().cloned().collect(), "what was used, and what is allowed");

    let resources: Vec<_> = resources.into_iter().enumerate().collect();
    for batch in resources.chunks(6) {
        let programs: Vec<_> = batch
            .iter()
            .map(|(i, (group, resource))| {
                let user = format!("without{i}");
                let is_left = |rule: &&Rule| (&rule.group, &rule.resource) != (group, resource);
                let left: Vec<Rule> = all.iter().filter(is_left).cloned().collect();
                allow(&cluster, &user, &left);
                (resource, Program::start(&cluster.kubeconfig_of(&user), &[]))
            })
            .collect();
        for (resource, mut program) in programs {
            program.says(&format!("cannot watch resource \"{resource}\""), Duration::from_secs(60));
            let started = program.says("\"started\"", Duration::from_secs(60));
            let started: Value = serde_json::from_str(&started).unwrap();
            for (kind, state) in started["informers"].as_object().unwrap() {
                let wanted = if kind == resource { "forbidden" } else { "synced" };
                assert_eq!(state, wanted, "{kind} without {resource}");
            }
        }
    }
}

/// Nodes, devices, volumes and pods that make a scheduler do all that it ever does. Everything is named after `id`.
struct Stage<'a> {
    cluster: &'a ControlPlane,
    id: String,
    scheduler: String,
}

impl Stage<'_> {
    fn name(&self, what: &str) -> String {
        format!("{what}-{}", self.id)
    }

    /// What is needed once for all stages.
    fn common(cluster: &ControlPlane) {
        for (name, provisioner) in [("local", "kubernetes.io/no-provisioner"), ("made", "example.com/made")] {
            cluster.create(
                "storageclasses",
                json!({
                    "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
                    "provisioner": provisioner, "volumeBindingMode": "WaitForFirstConsumer",
                }),
            );
        }
        cluster.create(
            "priorityclasses",
            json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": "high"}, "value": 1000,
            }),
        );
    }

    fn set_up(&self) {
        let cluster = self.cluster;
        let node = self.name("n");
        let driver = format!("{}.example.com", self.id);
        cluster.create_node(&node, "z0");
        cluster.create(
            "resourceslices",
            json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node},
                "spec": {
                    "driver": driver, "nodeName": node,
                    "pool": {"name": node, "generation": 1, "resourceSliceCount": 1},
                    "devices": [{"name": "d0"}, {"name": "d1"}, {"name": "d2"}, {"name": "d3"}],
                },
            }),
        );
        cluster.create(
            "deviceclasses",
            json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": self.id},
                "spec": {
                    "selectors": [{"cel": {"expression": format!("device.driver == '{driver}'")}}],
                    "extendedResourceName": format!("example.com/{}", self.id),
                },
            }),
        );
        cluster.create(
            "resourceclaims",
            json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
                "metadata": {"name": self.name("claim"), "namespace": "default"},
                "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": self.id}}]}},
            }),
        );
        cluster.create(
            "persistentvolumes",
            json!({
                "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": self.name("pv")},
                "spec": {
                    "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "storageClassName": "local",
                    "local": {"path": "/data"},
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                        {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]},
                    ]}]}},
                },
            }),
        );
        cluster.make_available(&self.name("pv"));
        for (name, class) in [("local", "local"), ("made", "made"), ("never", "made")] {
            cluster.create(
                "persistentvolumeclaims",
                json!({
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim",
                    "metadata": {"name": self.name(name), "namespace": "default"},
                    "spec": {
                        "accessModes": ["ReadWriteOnce"], "storageClassName": class,
                        "resources": {"requests": {"storage": "1Gi"}},
                    },
                }),
            );
        }
    }

    fn pod(&self, what: &str, cpu: &str, more: Value) {
        let mut spec = json!({"nodeSelector": {"kubernetes.io/hostname": self.name("n")}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.cluster.create_pod_with(&self.name(what), &self.scheduler, cpu, spec);
    }

    fn pods(&self) {
        let volume = |claim: &str| {
            let claim = self.name(claim);
            json!({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]})
        };
        let device = json!({"containers": [{"name": "c", "image": "x", "resources": {
            "requests": {format!("example.com/{}", self.id): "1"},
            "limits": {format!("example.com/{}", self.id): "1"},
        }}]});
        self.pod("low", "3", json!({}));
        self.pod("big", "64", json!({}));
        self.pod(
            "claims",
            "1m",
            json!({"resourceClaims": [{"name": "r", "resourceClaimName": self.name("claim")}]}),
        );
        self.pod("extended", "1m", device.clone());
        self.pod("local", "1m", volume("local"));
        self.pod("made", "1m", volume("made"));
        // Devices are got, the volume never comes, and so the claim for the devices is given up.
        let mut both = device;
        both["volumes"] = volume("never")["volumes"].clone();
        self.pod("gives-up", "1m", both);
    }

    fn is_bound(&self, what: &str) -> bool {
        self.cluster.pod(&self.name(what)).is_some_and(|pod| pod["spec"].get("nodeName").is_some())
    }

    fn preempt(&self) {
        self.pod("high", "3", json!({"priorityClassName": "high"}));
    }

    /// Makes the scheduler say the same thing about `big` again.
    fn wake(&self, i: usize) {
        let name = format!("short{i}");
        self.pod(&name, "1m", json!({}));
        wait_for("a short pod is bound", Duration::from_secs(30), || self.is_bound(&name));
        self.cluster.delete_pod(&self.name(&name));
    }
}

/// The configuration of `deploy/` for another schedulerName, with less patience.
fn hasty(scheduler: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = configuration().replace("schedulerName: schedscope", &format!("schedulerName: {scheduler}"));
    let text = format!(
        "{text}    pluginConfig:\n      - name: VolumeBinding\n        args: {{bindTimeoutSeconds: 2}}\n"
    );
    std::fs::write(file.path(), text).unwrap();
    file
}

const OWNERS: &str = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";

#[test]
fn operating_works_with_its_role_and_uses_each_rule_of_it() {
    if is_skipped() {
        return;
    }
    let options = Options { has_audit: true, flags: OWNERS, gates: "WatchList=false", ..Options::default() };
    let cluster = ControlPlane::start(options);
    apply_all(&cluster);
    Stage::common(&cluster);
    let stage = Stage { cluster: &cluster, id: "all".to_owned(), scheduler: "schedscope".to_owned() };
    stage.set_up();
    let config = hasty("schedscope");
    let arguments = ["--operate", "--config", config.path().to_str().unwrap()];
    let mut program = Program::start(&service_account(&cluster, "schedscope"), &arguments);
    program.says("\"started\"", Duration::from_secs(60));
    stage.pods();
    for what in ["low", "claims", "extended"] {
        wait_for(what, Duration::from_secs(30), || stage.is_bound(what));
    }
    stage.preempt();
    wait_for("the important pod takes the place", Duration::from_secs(30), || stage.is_bound("high"));
    assert_eq!(cluster.pod(&stage.name("low")), None);
    let series = || {
        cluster.list("events.k8s.io/v1", "Event", "events", Some("default")).iter().any(|event| {
            event["regarding"]["name"] == stage.name("big") && event["series"]["count"].as_u64() > Some(1)
        })
    };
    let mut i = 0;
    wait_for("the same is said again", Duration::from_secs(60), || {
        i += 1;
        stage.wake(i);
        series()
    });
    wait_for("the volume is kept for the claim", Duration::from_secs(30), || {
        let volumes = cluster.list("v1", "PersistentVolume", "persistentvolumes", None);
        volumes.iter().any(|volume| volume["spec"]["claimRef"]["name"] == stage.name("local"))
    });
    wait_for("a volume is asked for", Duration::from_secs(30), || {
        let claims = cluster.list("v1", "PersistentVolumeClaim", "persistentvolumeclaims", Some("default"));
        claims.iter().any(|claim| {
            claim["metadata"]["name"] == stage.name("made")
                && claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"] == stage.name("n")
        })
    });
    let user = "system:serviceaccount:schedscope:schedscope";
    let delete =
        Rule { group: "resource.k8s.io".into(), resource: "resourceclaims".into(), verb: "delete".into() };
    wait_for("a claim is given up", Duration::from_secs(30), || used(&cluster, user).contains(&delete));
    let said = program.end();
    assert!(!said.iter().any(|line| line.contains("forbidden")), "{said:#?}");
    let mut allowed: BTreeSet<Rule> = rules(&role("observe.yaml", "ClusterRole")).into_iter().collect();
    allowed.extend(rules(&role("operate.yaml", "ClusterRole")));
    allowed.extend(rules(&role("operate.yaml", "Role")));
    // This is looked up by the API server itself when an object is written.
    allowed.retain(|rule| rule.resource != "resourceclaims/binding");
    assert_eq!(used(&cluster, user), allowed, "what was used, and what is allowed");
}

#[test]
fn operating_misses_each_rule_that_is_taken_away_and_names_it() {
    if is_skipped() {
        return;
    }
    let reading = rules(&role("observe.yaml", "ClusterRole"));
    let writing = rules(&role("operate.yaml", "ClusterRole"));
    let leasing = rules(&role("operate.yaml", "Role"));
    let tokens = tokens("without", writing.len()) + &tokens("lease", leasing.len());
    let cluster = ControlPlane::start(Options { tokens: &tokens, flags: OWNERS, ..Options::default() });
    apply_all(&cluster);
    Stage::common(&cluster);
    let mut running = Vec::new();
    for (i, missing) in writing.iter().enumerate() {
        let user = format!("without{i}");
        let stage = Stage { cluster: &cluster, id: user.clone(), scheduler: user.clone() };
        stage.set_up();
        let left: Vec<Rule> =
            reading.iter().chain(writing.iter().filter(|rule| *rule != missing)).cloned().collect();
        allow(&cluster, &user, &left);
        let config = hasty(&user);
        let arguments = ["--operate", "--leader-elect=false", "--config", config.path().to_str().unwrap()];
        let mut program = Program::start(&cluster.kubeconfig_of(&user), &arguments);
        program.says("\"started\"", Duration::from_secs(60));
        stage.pods();
        running.push((missing, stage, program, config));
    }
    for (missing, stage, program, _) in &mut running {
        match (&*missing.resource, &*missing.verb) {
            ("pods", "delete") => {
                wait_for("it is bound", Duration::from_secs(30), || stage.is_bound("low"));
                stage.preempt();
            }
            ("events", "patch") => (0..4).for_each(|i| stage.wake(i)),
            ("resourceclaims/binding", _) => {
                program.says("cannot update resource \"resourceclaims/binding\"", Duration::from_secs(60));
                continue;
            }
            _ => {}
        }
        let line = program.says(&missing.words(), Duration::from_secs(60));
        assert!(line.contains("forbidden"), "{line}");
    }
    drop(running);
    // The first one has to make the lease, the others find it.
    let mut found = BTreeMap::new();
    for (i, missing) in leasing.iter().enumerate() {
        let user = format!("lease{i}");
        let left: Vec<Rule> =
            reading.iter().chain(&writing).chain(&leasing).filter(|rule| *rule != missing).cloned().collect();
        allow(&cluster, &user, &left);
        let config = hasty("schedscope");
        let arguments = ["--operate", "--config", config.path().to_str().unwrap()];
        let mut program = Program::start(&cluster.kubeconfig_of(&user), &arguments);
        let words = format!("cannot {} resource \\\"leases\\\"", missing.verb);
        found.insert(missing, program.says(&words, Duration::from_secs(60)));
        drop(program);
        if missing.verb == "create" {
            // Made for those that come.
            cluster.create(
                "leases",
                json!({
                    "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                    "metadata": {"name": "schedscope", "namespace": "schedscope"}, "spec": {"leaseDurationSeconds": 1},
                }),
            );
        }
    }
    assert_eq!(found.len(), leasing.len());
}
