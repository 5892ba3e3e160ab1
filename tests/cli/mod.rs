//! The command line: what goes in, what comes out, on which stream and with which exit code.

mod advice;
mod config;
mod dump;
mod export;
mod gallery;
mod help;
mod input;
mod learn;
mod outlook;
mod output;
#[cfg(unix)]
mod readme;
mod recording;
mod refused;
mod shells;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A folder of its own, and the program run in it.
struct Stage {
    folder: tempfile::TempDir,
}

/// What the program did.
#[derive(Debug)]
struct Done {
    code: i32,
    out: String,
    said: String,
}

impl Stage {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// With these files in the folder.
    fn with(files: &[(&str, &str)]) -> Self {
        let stage = Self::new();
        for (name, text) in files {
            stage.write(name, text);
        }
        stage
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    /// Runs the program without a terminal and with nothing on standard input.
    fn run(&self, args: &[&str]) -> Done {
        self.run_with(args, "")
    }

    /// The same with something on standard input.
    fn run_with(&self, args: &[&str], stdin: impl AsRef<[u8]>) -> Done {
        let mut child = Command::new(env!("CARGO_BIN_EXE_schedscope"))
            .args(args)
            .current_dir(self.path())
            .env_remove("SCHEDSCOPE_THEME")
            .env("COLUMNS", "100")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A program that fails before it reads closes the pipe.
        let _ = child.stdin.take().unwrap().write_all(stdin.as_ref());
        done(child.wait_with_output().unwrap())
    }

    /// What `schedscope run -o json` prints.
    #[track_caller]
    fn json(&self, args: &[&str]) -> Value {
        let done = self.run(&[&["run", "-o", "json"], args].concat());
        assert!(done.code < 2, "{done:?}");
        serde_json::from_str(&done.out).unwrap()
    }
}

fn done(output: Output) -> Done {
    Done {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        said: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Each pod with its state and its node.
fn placements(report: &Value) -> Vec<(&str, &str, &str)> {
    report["pods"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| (text(&pod["pod"]), text(&pod["state"]), pod["node"].as_str().unwrap_or("")))
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

fn dumps() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/dumps")
}

/// A dump of a cluster as `kubectl get nodes,pods,... -A -o yaml` prints it.
fn shop() -> String {
    std::fs::read_to_string(dumps().join("shop.yaml")).unwrap()
}

const NODE: &str = "apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}
";
const FITS: &str = "apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '1'}}}]}
";
const DOES_NOT_FIT: &str = "apiVersion: v1
kind: Pod
metadata: {name: huge, namespace: shop}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: '64'}}}]}
";
