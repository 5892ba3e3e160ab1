//! Figures: time to the first frame, memory, speed of scheduling.
//!
//! Not run by `cargo test`: what it measures is a release build on a machine that does nothing else.
//!
//! ```console
//! $ cargo build --release
//! $ cargo test --test integration measure -- --ignored --nocapture --test-threads=1
//! ```
//!
//! `SCHEDSCOPE_PROGRAM` names another program to measure. The large cluster has 5,000 nodes, 1,000 running and
//! 5,000 pending pods, all pods alike.
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it measures time and prints what it found"
)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::pty::Stage;

/// So often each start is measured.
const ROUNDS: usize = 9;

fn program() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/release/schedscope");
    let program = std::env::var_os("SCHEDSCOPE_PROGRAM").map_or(built, PathBuf::from);
    assert!(program.exists(), "{} is not there: build it first", program.display());
    program
}

/// The large cluster.
fn large() -> String {
    let mut text = String::from(r#"{"apiVersion": "v1", "kind": "List", "items": [null"#);
    for i in 0..5000 {
        let _ = write!(
            text,
            r#",{{"apiVersion": "v1", "kind": "Node", "metadata": {{"name": "node-{i:05}", "labels": {{
               "kubernetes.io/hostname": "node-{i:05}", "topology.kubernetes.io/zone": "zone-{}"}}}}, "status": {{
               "allocatable": {{"cpu": "4", "memory": "32Gi", "pods": "110"}}}}}}"#,
            i % 3
        );
    }
    for i in 0..6000 {
        let (name, node) = if i < 1000 {
            (format!("running-{i:05}"), format!(r#", "nodeName": "node-{i:05}""#))
        } else {
            (format!("pending-{:05}", i - 1000), String::new())
        };
        let _ = write!(
            text,
            r#",{{"apiVersion": "v1", "kind": "Pod", "metadata": {{"name": "{name}", "namespace": "default"}}, "spec": {{
               "containers": [{{"name": "c", "image": "registry.k8s.io/pause:3.10", "resources": {{
               "requests": {{"cpu": "100m", "memory": "500Mi"}}}}}}]{node}}}}}"#
        );
    }
    text.push_str("]}");
    text.replace("[null,", "[")
}

/// A field of `/proc/PID/status` in MiB.
fn memory_mib(pid: u32, field: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// The times from the start of the program to its first whole frame, and its peak memory then and after a while of
/// running.
fn starts(args: &[&str]) -> (Vec<Duration>, u64, u64) {
    let mut times = Vec::new();
    let (mut at_start, mut after) = (0, 0);
    for _ in 0..ROUNDS {
        let mut terminal = Stage::of(&program(), args).start();
        terminal.wait_console();
        times.push(terminal.time_to_first_frame());
        at_start = memory_mib(terminal.pid(), "VmHWM");
        terminal.send(":speed max\r").wait_text("max");
        terminal.send("r");
        std::thread::sleep(Duration::from_secs(2));
        after = memory_mib(terminal.pid(), "VmHWM");
        terminal.send("q");
        assert_eq!(terminal.wait_exit(), 0);
    }
    times.sort();
    (times, at_start, after)
}

fn shown(times: &[Duration]) -> String {
    let ms = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1000.0);
    format!(
        "median {}, best {}, worst {}",
        ms(times[times.len() / 2]),
        ms(times[0]),
        ms(times[times.len() - 1])
    )
}

#[test]
#[ignore = "measures a release build"]
fn first_frame_and_memory_on_the_sample() {
    let (times, at_start, after) = starts(&[]);
    println!("first frame on the sample: {}", shown(&times));
    println!("peak memory on the sample: {at_start} MiB at the first frame, {after} MiB after running");
}

#[test]
#[ignore = "measures a release build"]
fn first_frame_and_memory_on_the_large_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.json");
    std::fs::write(&file, large()).unwrap();
    let (times, at_start, after) = starts(&["sandbox", "-f", &file.to_string_lossy()]);
    println!("first frame on the large cluster: {}", shown(&times));
    println!(
        "peak memory on the large cluster: {at_start} MiB at the first frame, {after} MiB after 2 s of running"
    );
}

#[test]
#[ignore = "measures a release build"]
fn cycles_per_second_of_run_on_the_large_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("large.json");
    std::fs::write(&file, large()).unwrap();
    let mut times = Vec::new();
    let mut attempts = 0;
    for _ in 0..3 {
        let start = Instant::now();
        let output = Command::new(program()).args(["run", "-o", "json", "-f"]).arg(&file).output().unwrap();
        times.push(start.elapsed());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        attempts = report["attempts"].as_u64().unwrap();
    }
    times.sort();
    let seconds = times[0].as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "attempts are few")]
    let rate = attempts as f64 / seconds;
    println!(
        "run on the large cluster: {attempts} attempts in {seconds:.2} s, reading included: {rate:.0} cycles/s"
    );
}
