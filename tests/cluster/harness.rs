//! A real etcd and kube-apiserver to test against, and a real kube-scheduler beside.
//!
//! Built with Go from `peer/`; where Go or `SCHEDSCOPE_E2E=1` is missing, tests say so and are skipped.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use kube::api::{Api, DeleteParams, DynamicObject, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// Why tests against a real cluster are skipped, if they are.
pub fn skipped() -> Option<String> {
    if std::env::var("SCHEDSCOPE_E2E").as_deref() != Ok("1") {
        return Some("SCHEDSCOPE_E2E is not 1".to_owned());
    }
    built().as_ref().err().cloned()
}

/// The program that is etcd, kube-apiserver and kube-scheduler, built once.
pub fn built() -> &'static Result<PathBuf, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(|| {
        if let Some(path) = std::env::var_os("SCHEDSCOPE_CONTROLPLANE") {
            return Ok(PathBuf::from(path));
        }
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/peer");
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("controlplane");
        let built = Command::new("go")
            .args(["build", "-o"])
            .arg(&target)
            .arg("./controlplane")
            .current_dir(source)
            .status()
            .map_err(|error| format!("Go is not here: {error}"))?;
        if built.success() { Ok(target) } else { Err("the control plane cannot be built".to_owned()) }
    })
}

/// What a control plane is started with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options<'a> {
    /// Whether the real kube-scheduler runs, too.
    pub has_scheduler: bool,
    /// Whether every request is written down.
    pub has_audit: bool,
    /// Feature gates.
    pub gates: &'a str,
    /// Further tokens, as `--token-auth-file` has them.
    pub tokens: &'a str,
    /// Further flags of the API server, with blanks between them.
    pub flags: &'a str,
}

/// One control plane is enough for a small machine.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A control plane. It ends with the value; until then no other test has one.
pub struct ControlPlane {
    child: Child,
    dir: TempDir,
    port: u16,
    runtime: Runtime,
    client: Client,
    _turn: MutexGuard<'static, ()>,
}

impl ControlPlane {
    /// Starts one and waits until it is ready.
    pub fn start(options: Options<'_>) -> Self {
        let turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let dir = TempDir::new().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if !options.tokens.is_empty() {
            std::fs::write(dir.path().join("more-tokens.csv"), options.tokens).unwrap();
        }
        let child = spawn(dir.path(), port, options);
        let runtime = Runtime::new().unwrap();
        let client = client(&runtime, &dir.path().join("kubeconfig"));
        Self { child, dir, port, runtime, client, _turn: turn }
    }

    /// Stops it and starts it again on the same data and the same port.
    pub fn restart(&mut self, options: Options<'_>) {
        self.stop();
        self.child = spawn(self.dir.path(), self.port, options);
    }

    /// Stops it.
    pub fn stop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }

    /// The kubeconfig of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// A kubeconfig for another token.
    pub fn kubeconfig_of(&self, token: &str) -> PathBuf {
        let text = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let path = self.dir.path().join(format!("kubeconfig-{token}"));
        std::fs::write(&path, text.replace("schedscope-test-admin", token)).unwrap();
        path
    }

    /// The same with a name of its own, for a token that is long.
    pub fn kubeconfig_named(&self, name: &str, token: &str) -> PathBuf {
        let text = std::fs::read_to_string(self.kubeconfig()).unwrap();
        let path = self.dir.path().join(format!("kubeconfig-{name}"));
        std::fs::write(&path, text.replace("schedscope-test-admin", token)).unwrap();
        path
    }

    /// A kubeconfig for a user who is described as one describes users.
    pub fn kubeconfig_text(&self, user: &Value) -> String {
        let server = format!("https://127.0.0.1:{}", self.port);
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": server, "insecure-skip-tls-verify": true}}],
            "users": [{"name": "somebody", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "somebody"}}],
        })
        .to_string()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a request as an administrator.
    pub fn send(&self, method: &str, path: &str, content_type: &str, body: &Value) -> Result<Value, String> {
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(serde_json::to_vec(body).unwrap())
            .unwrap();
        self.runtime.block_on(self.client.request(request)).map_err(|error| error.to_string())
    }

    /// The audit log's lines.
    pub fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.dir.path().join("audit.log")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Asks another server that shows a certificate of its own making; `None` if it does not answer.
    pub fn get(&self, url: &str, token: &str) -> Option<(u16, String)> {
        use http_body_util::BodyExt as _;
        let uri: http::Uri = url.parse().unwrap();
        self.runtime.block_on(async {
            let mut base = uri.clone().into_parts();
            base.path_and_query = Some(http::uri::PathAndQuery::from_static("/"));
            let mut config = Config::new(http::Uri::from_parts(base).unwrap());
            config.accept_invalid_certs = true;
            if !token.is_empty() {
                config.auth_info.token = Some(token.to_owned().into());
            }
            let client = Client::try_from(config).unwrap();
            let path = uri.path_and_query().unwrap().as_str();
            let request = http::Request::get(path).body(kube::client::Body::empty()).unwrap();
            let response = client.send(request).await.ok()?;
            let status = response.status().as_u16();
            let bytes = response.into_body().collect().await.ok()?.to_bytes();
            Some((status, String::from_utf8(bytes.to_vec()).unwrap()))
        })
    }

    /// What requests run on.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    /// A client of an administrator.
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    fn api(&self, version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Api<DynamicObject> {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let gvk = GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk_with_plural(&gvk, plural);
        match namespace {
            Some(namespace) => Api::namespaced_with(self.client(), namespace, &resource),
            None => Api::all_with(self.client(), &resource),
        }
    }

    /// Creates an object of any kind.
    pub fn create(&self, plural: &str, object: Value) -> Value {
        let version = object["apiVersion"].as_str().unwrap().to_owned();
        let kind = object["kind"].as_str().unwrap().to_owned();
        let namespace = object["metadata"]["namespace"].as_str().map(ToOwned::to_owned);
        let api = self.api(&version, &kind, plural, namespace.as_deref());
        let object: DynamicObject = serde_json::from_value(object).unwrap();
        let created = self.runtime.block_on(api.create(&PostParams::default(), &object)).unwrap();
        serde_json::to_value(created).unwrap()
    }

    /// Makes a node with four CPUs, 8Gi and 110 pods, ready and without taints.
    pub fn create_node(&self, name: &str, zone: &str) {
        self.create(
            "nodes",
            json!({
                "apiVersion": "v1", "kind": "Node",
                "metadata": {"name": name, "labels": {
                    "kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone,
                }},
            }),
        );
        let room = json!({"cpu": "4", "memory": "8Gi", "pods": "110"});
        let status = json!({"status": {
            "allocatable": room, "capacity": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        }});
        let nodes = self.api("v1", "Node", "nodes", None);
        let patch = Patch::Merge(&status);
        self.runtime.block_on(nodes.patch_status(name, &PatchParams::default(), &patch)).unwrap();
        let untainted = json!({"spec": {"taints": null}});
        let patch = Patch::Merge(&untainted);
        self.runtime.block_on(nodes.patch(name, &PatchParams::default(), &patch)).unwrap();
    }

    /// Makes a pod in `default` that asks for that much CPU.
    pub fn create_pod(&self, name: &str, scheduler: &str, cpu: &str) {
        self.create_pod_with(name, scheduler, cpu, json!({}));
    }

    /// The same, with more in its spec.
    pub fn create_pod_with(&self, name: &str, scheduler: &str, cpu: &str, more: Value) {
        let mut spec = json!({
            "schedulerName": scheduler,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}],
        });
        for (key, value) in more.as_object().unwrap() {
            spec[key] = value.clone();
        }
        self.create(
            "pods",
            json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": "default", "labels": {"app": name.split('-').next()}},
                "spec": spec,
            }),
        );
    }

    /// Says of a volume what its controller says of a new one.
    pub fn make_available(&self, volume: &str) {
        let path = format!("/api/v1/persistentvolumes/{volume}/status");
        let status = json!({"status": {"phase": "Available"}});
        self.send("PATCH", &path, "application/merge-patch+json", &status).unwrap();
    }

    /// Deletes a pod of `default`.
    pub fn delete_pod(&self, name: &str) {
        let pods = self.api("v1", "Pod", "pods", Some("default"));
        self.runtime.block_on(pods.delete(name, &DeleteParams::default())).unwrap();
    }

    /// A pod of `default`.
    pub fn pod(&self, name: &str) -> Option<Value> {
        let pods = self.api("v1", "Pod", "pods", Some("default"));
        let pod = self.runtime.block_on(pods.get_opt(name)).unwrap()?;
        Some(serde_json::to_value(pod).unwrap())
    }

    /// Changes an object by a merge patch.
    pub fn patch(&self, version: &str, kind: &str, plural: &str, key: (&str, &str), patch: Value) {
        let api = self.api(version, kind, plural, Some(key.0));
        let patch = Patch::Merge(&patch);
        self.runtime.block_on(api.patch(key.1, &PatchParams::default(), &patch)).unwrap();
    }

    /// All pods of `default`.
    pub fn pods(&self) -> Vec<Value> {
        self.list("v1", "Pod", "pods", Some("default"))
    }

    /// All objects of a kind.
    pub fn list(&self, version: &str, kind: &str, plural: &str, namespace: Option<&str>) -> Vec<Value> {
        let api = self.api(version, kind, plural, namespace);
        let list = self.runtime.block_on(api.list(&kube::api::ListParams::default())).unwrap();
        list.items.into_iter().map(|object| serde_json::to_value(object).unwrap()).collect()
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(dir: &Path, port: u16, options: Options<'_>) -> Child {
    let program = built().as_ref().unwrap();
    let mut command = Command::new(program);
    command.arg("--dir").arg(dir).arg(format!("--port={port}"));
    if options.has_scheduler {
        command.arg("--scheduler");
    }
    if options.has_audit {
        command.arg("--audit");
    }
    if !options.gates.is_empty() {
        command.arg(format!("--feature-gates={}", options.gates));
    }
    if !options.tokens.is_empty() {
        command.arg("--tokens").arg(dir.join("more-tokens.csv"));
    }
    if !options.flags.is_empty() {
        command.arg(format!("--apiserver-flags={}", options.flags));
    }
    let log = std::fs::File::create(dir.join("controlplane.log")).unwrap();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(
        line.contains("kubeconfig"),
        "the control plane did not start: {}",
        std::fs::read_to_string(dir.join("controlplane.log")).unwrap_or_default()
    );
    child
}

fn client(runtime: &Runtime, kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    runtime.block_on(async {
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    })
}

/// Whether tests against a real cluster are skipped; says why.
pub fn is_skipped() -> bool {
    let why = skipped();
    if let Some(why) = &why {
        eprintln!("skipped: {why}");
    }
    why.is_some()
}

/// A configuration with one profile of this name and a lease that is short; `more` are further lines.
pub fn configuration(name: &str, more: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n{more}\
         leaderElection:\n  leaseDuration: 4s\n  renewDeadline: 3s\n  retryPeriod: 1s\n\
         profiles:\n- schedulerName: {name}\n"
    );
    std::fs::write(file.path(), text).unwrap();
    file
}

/// Whether a pod has its node.
pub fn is_bound(cluster: &ControlPlane, name: &str) -> bool {
    cluster.pod(name).is_some_and(|pod| pod["spec"].get("nodeName").is_some())
}

/// Limits are for a quiet machine; one that runs everything at once gets so many times as long. Only what fails takes
/// it.
pub const SLOWNESS: u32 = 4;

/// Waits until something holds.
#[track_caller]
pub fn wait_for(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let limit = limit * SLOWNESS;
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "after {limit:?} still not: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A running `schedscope live -o json`.
pub struct Live {
    child: Child,
    lines: std::sync::mpsc::Receiver<Value>,
}

impl Live {
    /// Starts it and waits until every kind is known.
    pub fn start(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let live = Self::start_raw(kubeconfig, arguments);
        // Notices may come before.
        while live.next(Duration::from_secs(60)).expect("it did not start").get("started").is_none() {}
        live
    }

    /// Starts it.
    pub fn start_raw(kubeconfig: &Path, arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .args(["live", "-o", "json", "--kubeconfig"])
            .arg(kubeconfig)
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { child, lines }
    }

    /// The next line, if one comes in time.
    pub fn next(&self, limit: Duration) -> Option<Value> {
        self.lines.recv_timeout(limit * SLOWNESS).ok()
    }

    /// The next `n` comparisons, or as many as come in time.
    pub fn comparisons(&self, n: usize, limit: Duration) -> Vec<Value> {
        let end = Instant::now() + limit;
        let mut comparisons = Vec::new();
        while comparisons.len() < n
            && let Some(line) = self.next(end.saturating_duration_since(Instant::now()))
        {
            if line.get("agreement").is_some() {
                comparisons.push(line);
            }
        }
        comparisons
    }

    /// Ends it as a signal does, and waits.
    pub fn end(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        self.child.wait().unwrap().code()
    }

    /// Ends it as a crash does.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        let _ = self.child.wait();
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
