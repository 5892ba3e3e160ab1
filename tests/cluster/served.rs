//! A running `schedscope serve`, for tests.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::harness::{ControlPlane, wait_for};

/// A running `schedscope serve`.
pub struct Served {
    child: Child,
    /// Where it answers.
    pub port: u16,
    socket: PathBuf,
    dir: TempDir,
}

impl Served {
    /// Starts it as an administrator, and waits until it is ready.
    pub fn start(cluster: &ControlPlane, more: &[&str]) -> Self {
        Self::launch(cluster, &cluster.kubeconfig(), None, more)
    }

    /// The same as somebody else.
    pub fn start_as(cluster: &ControlPlane, kubeconfig: &Path, more: &[&str]) -> Self {
        Self::launch(cluster, kubeconfig, None, more)
    }

    /// The same with that socket for consoles.
    pub fn start_at(cluster: &ControlPlane, socket: &Path, more: &[&str]) -> Self {
        Self::launch(cluster, &cluster.kubeconfig(), Some(socket), more)
    }

    fn launch(cluster: &ControlPlane, kubeconfig: &Path, socket: Option<&Path>, more: &[&str]) -> Self {
        let dir = TempDir::new().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let config = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
                      profiles:\n- schedulerName: ours\n";
        std::fs::write(dir.path().join("config.yaml"), config).unwrap();
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let socket = socket.map_or_else(|| dir.path().join("run/console.sock"), Path::to_owned);
        let child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .args(["serve", "-v", "2", "--bind-address", "127.0.0.1", "--secure-port", &port.to_string()])
            .arg("--config")
            .arg(dir.path().join("config.yaml"))
            .arg("--console-socket")
            .arg(&socket)
            .args(
                ["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"]
                    .map(|flag| format!("--{flag}={}", kubeconfig.display())),
            )
            .args(more)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let served = Self { child, port, socket, dir };
        wait_for("it is ready", Duration::from_secs(30), || {
            served.status(cluster, "", "/readyz") == Some(200)
        });
        served
    }

    /// Asks it with a token.
    pub fn get(&self, cluster: &ControlPlane, token: &str, path: &str) -> Option<(u16, String)> {
        cluster.get(&format!("https://127.0.0.1:{}{path}", self.port), token)
    }

    /// The status of the answer.
    pub fn status(&self, cluster: &ControlPlane, token: &str, path: &str) -> Option<u16> {
        self.get(cluster, token, path).map(|(status, _)| status)
    }

    /// The socket for consoles.
    pub fn socket(&self) -> PathBuf {
        self.socket.clone()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end. The answer is the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Ends it as a signal does.
    pub fn end(&mut self) -> Option<i32> {
        Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        self.wait()
    }

    /// Ends it as a crash does.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.kill();
    }
}
