//! A sandbox that is served, and a client of it.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A node and a namespace.
pub const CLUSTER: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {zone: a, kubernetes.io/hostname: node-1}}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
---
apiVersion: v1
kind: Node
metadata: {name: node-2, labels: {zone: b, kubernetes.io/hostname: node-2}}
status:
  allocatable: {cpu: "4", memory: 8Gi, pods: "110"}
  conditions: [{type: Ready, status: "True"}]
"#;

/// A sandbox that is served. It ends with the value.
pub struct Served {
    child: Child,
    dir: TempDir,
    pub runtime: Runtime,
    pub client: Client,
}

impl Served {
    /// Serves a cluster without a console.
    pub fn start(manifest: &str, args: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("cluster.yaml");
        std::fs::write(&file, manifest).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .args(["sandbox", "--no-console", "--serve-api", "--kubeconfig-out"])
            .arg(dir.path().join("kubeconfig"))
            .arg("-f")
            .arg(&file)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("https://127.0.0.1:"), "{line}");
        let runtime = Runtime::new().unwrap();
        let kubeconfig = Kubeconfig::read_from(dir.path().join("kubeconfig")).unwrap();
        let client = runtime.block_on(async {
            let options = KubeConfigOptions::default();
            let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
            // What is refused for now is looked at, too.
            config.default_retry = false;
            Client::try_from(config).unwrap()
        });
        Self { child, dir, runtime, client }
    }

    /// The file for clients.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.path().join("kubeconfig")
    }

    /// A file in the test's folder.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Sends a request. The answer is its code and its body.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
        let mut request = http::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::from(body.to_vec())).unwrap();
        self.runtime.block_on(async {
            let response = self.client.send(request).await.unwrap();
            let status = response.status().as_u16();
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            (status, String::from_utf8(bytes.to_vec()).unwrap())
        })
    }

    /// The same in JSON.
    pub fn call(&self, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let bytes = if body.is_null() { Vec::new() } else { serde_json::to_vec(body).unwrap() };
        let (code, text) = self.send(method, path, &[("Content-Type", content_type)], &bytes);
        (code, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// GET.
    pub fn get(&self, path: &str) -> (u16, Value) {
        self.call("GET", path, "application/json", &Value::Null)
    }

    /// POST of what must be taken.
    pub fn create(&self, path: &str, object: &Value) -> Value {
        let (code, made) = self.call("POST", path, "application/json", object);
        assert_eq!(code, 201, "{made}");
        made
    }

    /// A pod of the namespace `shop`.
    pub fn create_pod(&self, name: &str, cpu: &str) -> Value {
        self.create("/api/v1/namespaces/shop/pods", &pod(name, cpu))
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let began = Instant::now();
        while !is_so() {
            assert!(began.elapsed() < Duration::from_secs(30), "{what} has not come");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until a pod of the namespace `shop` is on a node.
    pub fn until_bound(&self, name: &str) {
        let path = format!("/api/v1/namespaces/shop/pods/{name}");
        self.until("a bind", || self.get(&path).1["spec"]["nodeName"].is_string());
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

/// A pod that asks for that much.
pub fn pod(name: &str, cpu: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{
            "name": "c", "image": "i:1", "env": [{"name": "E", "value": "1"}], "resources": {"requests": {"cpu": cpu}},
        }]},
    })
}
